# SPDX-License-Identifier: BSD-3-Clause
"""Rows meet their labels and weights: what is checked, and what the codes stand for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array, Float, bincount
from separatrix.exceptions import DataError
from separatrix.rows.labels import encode_labels, encode_shares, is_shares
from separatrix.rows.source import Source

__all__ = ["LabelRules", "Labelled", "Targets", "among", "check_weight", "pair", "require_classes", "require_weight"]


class LabelRules(NamedTuple):
    """What a model takes for labels.

    ``unlabelled`` says which rows have none (see `encode_labels`); ``soft``, that y may have a column of probabilities
    for each class; ``known`` are the classes among which labels must be; ``least`` how many there must be.
    """

    unlabelled: Any = "error"
    soft: bool = False
    known: Array | None = None
    least: int = 2


class Targets(NamedTuple):
    """Class codes (N,), -1 without a label; or soft targets, (N, K) and of two classes (N,). And checked weights."""

    classes: Array
    t: Array
    weight: Float | None

    @property
    def is_soft(self) -> bool:
        """Whether targets are probabilities."""
        return self.t.dtype.kind == "f"


class Labelled(NamedTuple):
    """A source of rows with class codes and weights, and what the codes stand for."""

    source: Source
    classes: Array
    n_unlabelled: int = 0
    is_soft: bool = False


def pair(y: Any, sample_weight: Any, n_rows: int, rules: LabelRules) -> Targets:
    """Labels and weights in memory, checked against the number of rows.

    Raises
    ------
    DataError
        Where they do not pair up, or a class has no row or no weight.
    """
    t: Array
    if rules.soft and is_shares(y):
        classes, t = encode_shares(y)
    else:
        classes, t = encode_labels(y, unlabelled=rules.unlabelled)
    if rules.known is not None:
        classes, t = among(rules.known, classes, t)
    if t.ndim == 2 and len(classes) == 2:
        t = t[:, 1]
    if len(t) != n_rows:
        raise DataError(f"X has {n_rows} rows but y has {len(t)} labels; they must pair up.")
    require_classes(classes, rules.least)
    targets = Targets(classes, t, check_weight(sample_weight, n_rows))
    require_weight(targets.weight, t if rules.known is None and not targets.is_soft else None, classes)
    return targets


def among(known: Array, classes: Array, codes: Array) -> tuple[Array, Array]:
    """Codes, or shares, of labels among the classes known, some of which this table may not have."""
    require_known(classes, known)
    order = np.argsort(known)
    place = order[np.searchsorted(known, classes, sorter=order)]
    if codes.ndim == 1:
        return known, place[codes]
    shares = np.zeros((len(codes), len(known)))
    shares[:, place] = codes
    return known, shares


def require_known(classes: Array, known: Array) -> None:
    """Raise where a class is not one of those known."""
    unknown = classes[~np.isin(classes, known)]
    if len(unknown):
        raise DataError(
            f"Label {unknown.tolist()[0]!r} is not one of the classes: {', '.join(map(repr, known[:8].tolist()))}. "
            "Name all classes at the first call: partial_fit(X, y, classes=...)."
        )


def check_weight(sample_weight: Any, n_rows: int) -> Float | None:
    """Weights as float64, or None where every row counts once."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}.")
    if len(weight) != n_rows:
        raise DataError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one weight for each row of X.")
    if not np.isfinite(weight).all():
        raise DataError(f"sample_weight contains NaN or infinity ({int((~np.isfinite(weight)).sum())} of {n_rows}).")
    if (weight < 0).any():
        worst = int(weight.argmin())
        raise DataError(
            f"sample_weight[{worst}] is {weight[worst]:g}; weights must not be negative. Use 0 to leave a row out."
        )
    return None if (weight == 1.0).all() else weight


def require_classes(classes: Array, least: int = 2, where: str = "") -> None:
    """Raise where there are too few classes to tell apart; ``where`` says in which column."""
    if len(classes) == 0:
        raise DataError("y has no labels (0 rows). Give rows of at least two classes.")
    if len(classes) < least:
        raise DataError(
            f"Classifier can't train when only one class is present: every label{where} is {classes.tolist()[0]!r}. "
            "Give rows of at least two classes."
        )


def require_weight(weight: Float | None, codes: Array | None, classes: Array) -> None:
    """Raise where every row, or every row of a class, has weight zero; rows without ``codes`` belong to all classes."""
    if weight is None:
        return
    if not weight.any():
        raise DataError("Every sample_weight is zero; give at least one row of each class a positive weight.")
    if codes is None:
        return
    labelled = codes >= 0
    empty = classes[bincount(codes[labelled], weight[labelled], len(classes)) == 0]
    if len(empty):
        raise DataError(
            f"Every row of class {', '.join(map(repr, empty.tolist()))} has weight 0. "
            "Leave those rows out, or give them weight."
        )
