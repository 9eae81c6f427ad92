# SPDX-License-Identifier: BSD-3-Clause
"""What is done to the labels and weights of one partition, by the worker that has them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array, Float, bincount
from separatrix.exceptions import DataError
from separatrix.rows.dask.part import Beside
from separatrix.rows.labels import UNLABELLED, encode_labels, encode_shares, is_unlabelled
from separatrix.rows.pairing import check_weight

__all__ = ["Coded", "Facts", "class_weight", "encode", "facts", "join", "narrow", "place", "place_shares", "weigh"]


class Coded(NamedTuple):
    """The classes of a partition, and the position of each of its labels among them; or the share of each class."""

    classes: Array
    t: Array


class Facts(NamedTuple):
    """What the client must know of the labels of a partition."""

    classes: Array
    n_rows: int
    n_unlabelled: int


def encode(y: Any, partition: int, unlabelled: Any, soft: bool) -> Coded:
    """Labels as codes; soft targets as they are, checked."""
    try:
        return Coded(*encode_shares(y)) if soft else _encode_labels(_one_column(y), unlabelled)
    except DataError as error:
        raise DataError(f"In partition {partition} of y: {error}") from error


def _encode_labels(labels: Array, unlabelled: Any) -> Coded:
    """Of a partition in which no row may have a label, though some row of another does."""
    if is_unlabelled(labels, unlabelled).all():
        return Coded(labels[:0], np.full(len(labels), UNLABELLED, np.int8))
    classes, codes = encode_labels(labels, unlabelled=unlabelled)
    return Coded(classes, narrow(codes))


def facts(coded: Coded) -> Facts:
    """Without the codes."""
    return Facts(coded.classes, len(coded.t), int(np.count_nonzero(coded.t < 0)))


def place(coded: Coded, position: Array) -> Array:
    """Codes among the classes of all partitions; the last ``position`` is that of no label."""
    return np.asarray(position[coded.t])


def place_shares(coded: Coded, at: Array, n_classes: int) -> Array:
    """Shares (n, K) of all classes; (n,) of the second of two."""
    shares = np.zeros((len(coded.t), n_classes))
    shares[:, at] = coded.t
    return shares[:, 1] if n_classes == 2 else shares


def weigh(weight: Any, partition: int) -> Float:
    """Weights as float64, none of them negative."""
    values = np.asarray(_one_column(weight), dtype=np.float64)
    try:
        check_weight(values, len(values))
    except DataError as error:
        raise DataError(f"In partition {partition} of sample_weight: {error}") from error
    return values


def weight_facts(weight: Float) -> tuple[int, bool]:
    """How many there are, and whether all are one."""
    return len(weight), bool((weight == 1.0).all())


def join(parts: list[Array], spans: list[slice]) -> Array:
    """Stretches of several arrays, one after another."""
    return np.concatenate([part[span] for part, span in zip(parts, spans, strict=True)])


def class_weight(beside: Beside, n_classes: int) -> Float:
    """The weight of each class; of all rows together where no classes are asked for."""
    assert beside.t is not None, "a partition without labels"
    assert beside.weight is not None, "a partition without weights"
    if not n_classes:
        return np.array([beside.weight.sum()])
    labelled = beside.t >= 0
    return np.asarray(bincount(beside.t[labelled], beside.weight[labelled], n_classes))


def narrow(codes: Array) -> Array:
    """Whole numbers in as few bytes as they fit."""
    return codes.astype(np.min_scalar_type(-1 - int(codes.max(initial=0))))  # of the least number: signed, then


def _one_column(y: Any) -> Array:
    values = np.asarray(y)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
