# SPDX-License-Identifier: BSD-3-Clause
"""Prediction of a Dask collection: a lazy array, a chunk of answers for each partition. Nothing is gathered.

Dask wants to know the shape and type of answers that are yet to be computed. A row of zeros tells; where a model has
no answer to it (a gamma density has none), the first row of the table does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError
from separatrix.rows.dask.collection import Collection, is_dask
from separatrix.rows.dask.graph import as_array, compute, for_each, task
from separatrix.rows.dask.part import opened_part, part_rows
from separatrix.rows.source import Source

__all__ = ["gathered", "labels_of", "lazy_answers"]


class Form(NamedTuple):
    """Of the answer to one row: its shape, and the type of its numbers."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def lazy_answers(collection: Collection, answer: Callable[[Source], Array]) -> Any:
    """A Dask array of ``answer`` to each partition; chunks of unknown length where those of the rows are unknown."""
    form = _form(collection, answer)
    answered, for_all, likeness = task(answer_part), for_each(answer), for_each(collection.likeness)
    lengths = collection.lengths or (np.nan,) * len(collection.parts)
    chunks = [answered(part, likeness, number, for_all, form) for number, part in enumerate(collection.parts)]
    return as_array(chunks, lengths, form.shape, form.dtype)


def answer_part(table: Any, likeness: Any, partition: int, answer: Callable[[Source], Array], form: Form) -> Array:
    """The answers to one partition, which may be empty."""
    if not table.shape[0]:
        return np.empty((0, *form.shape), form.dtype)
    with single_thread_blas():
        return answer(opened_part(table, likeness, partition))


def labels_of(classes: Array, codes: Any) -> Array:
    """What each code stands for; lazy where the codes are."""
    if not is_dask(codes):
        return np.asarray(classes[codes])
    return codes.map_blocks(classes.__getitem__, dtype=classes.dtype, meta=classes[:0])  # type: ignore[no-any-return]


def gathered(*values: Any) -> tuple[Any, ...]:
    """The values in memory; those that are not lazy are as they were."""
    return tuple(compute(value)[0] if is_dask(value) else value for value in values)


def _form(collection: Collection, answer: Callable[[Source], Array]) -> Form:
    try:
        return _asked(answer, _zeros(collection.likeness))
    except ValueError:
        return _asked(answer, _first_row(collection))


def _asked(answer: Callable[[Source], Array], row: Any) -> Form:
    found = answer(part_rows(row))
    return Form(found.shape[1:], found.dtype)


def _zeros(likeness: Any) -> Any:
    """One row of zeros with the columns of the table."""
    if isinstance(likeness, np.ndarray):
        return np.zeros((1, likeness.shape[1]), likeness.dtype)
    return likeness.reindex([0]).fillna(0).astype(likeness.dtypes)


def _first_row(collection: Collection) -> Any:
    for part in collection.parts:
        (row,) = compute(task(_head)(part))
        if row.shape[0]:
            return row
    raise DataError("Found a Dask collection with 0 sample(s) while a minimum of 1 is required.")


def _head(table: Any) -> Any:
    return table[:1]
