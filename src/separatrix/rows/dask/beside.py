# SPDX-License-Identifier: BSD-3-Clause
"""Labels and weights that are Dask collections themselves: checked where they are, and kept beside their rows.

    encode      each partition of y finds its own classes and codes               the codes stay with the workers
    unite       the classes of all partitions                                     a few labels travel
    cut         codes and weights in pieces as long as the partitions of X        nothing travels to the client

A class code takes a byte or two, a weight eight. They are persisted: labels are read once, and not in each pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array
from separatrix.exceptions import DataError
from separatrix.rows.dask import tasks
from separatrix.rows.dask.collection import is_dask, open_vector
from separatrix.rows.dask.graph import compute, persist, shared, task
from separatrix.rows.dask.part import Beside
from separatrix.rows.labels import UNLABELLED, encode_labels, is_shares
from separatrix.rows.pairing import LabelRules, among, check_weight, pair, require_classes, require_weight

__all__ = ["Census", "census", "split"]


class Census(NamedTuple):
    """For each partition of X a lazy `Beside`; the classes, and what the labels are."""

    beside: tuple[Any, ...]
    classes: Array
    n_unlabelled: int
    is_soft: bool


class Column(NamedTuple):
    """Lazy arrays with a value for each row, in partitions of their own lengths."""

    parts: Sequence[Any]
    lengths: tuple[int, ...]


class Labels(NamedTuple):
    """Codes or shares of each row, and what they stand for."""

    t: Column
    classes: Array
    n_unlabelled: int
    is_soft: bool


def census(y: Any, sample_weight: Any, lengths: tuple[int, ...], rules: LabelRules) -> Census:
    """Labels and weights, Dask collections or in memory, beside the rows of partitions of these lengths.

    Raises
    ------
    DataError
        Where they do not pair up, or a class has no row or no weight.
    """
    n_rows = sum(lengths)
    labels = (_lazy_labels if is_dask(y) else _labels)(y, n_rows, rules)
    weight = _lazy_weight(sample_weight, n_rows) if is_dask(sample_weight) else _weight(sample_weight, n_rows)
    beside = _persisted(_cut(labels.t, lengths), None if weight is None else _cut(weight, lengths))
    if weight is not None:
        _require_weight(beside, labels.classes, by_class=not labels.is_soft and rules.known is None)
    return Census(beside, labels.classes, labels.n_unlabelled, labels.is_soft)


def split(numbers: Sequence[Array | None], lengths: tuple[int, ...]) -> tuple[Any, ...]:
    """Arrays in memory, cut where the rows are cut; each piece goes to the workers once."""
    numbers = [tasks.narrow(each) if each is not None and each.dtype.kind == "i" else each for each in numbers]
    spans = [slice(*ends) for ends in pairwise(accumulate(lengths, initial=0))]
    pieces = [Beside(*(None if each is None else each[span] for each in numbers)) for span in spans]
    return persist(*(shared(piece) for piece in pieces))


def _labels(y: Any, n_rows: int, rules: LabelRules) -> Labels:
    """Labels in memory, in one piece."""
    targets = pair(y, None, n_rows, rules)
    t = targets.t if targets.is_soft else tasks.narrow(targets.t)
    column = Column([shared(t)], (n_rows,))
    return Labels(column, targets.classes, int(np.count_nonzero(targets.t < 0)), targets.is_soft)


def _lazy_labels(y: Any, n_rows: int, rules: LabelRules) -> Labels:
    soft = rules.soft and is_shares(y)
    encode, facts_of, place = map(task, (tasks.encode, tasks.facts, tasks.place_shares if soft else tasks.place))
    parts = open_vector(y, "y").parts
    coded = persist(*(encode(part, i, rules.unlabelled, soft) for i, part in enumerate(parts)))
    facts: tuple[tasks.Facts, ...] = compute(*map(facts_of, coded))
    lengths = tuple(fact.n_rows for fact in facts)
    if sum(lengths) != n_rows:
        raise DataError(f"X has {n_rows} rows but y has {sum(lengths)} labels; they must pair up.")
    found = facts[0].classes if soft else _united(facts, rules.unlabelled)
    classes, at = found, np.arange(len(found))
    if rules.known is not None:
        classes, at = among(rules.known, found, at)
    require_classes(classes, rules.least)
    if soft:
        placed = [place(part, at, len(classes)) for part in coded]
    else:
        placed = [place(part, _positions(found, fact.classes, at)) for part, fact in zip(coded, facts, strict=True)]
    return Labels(Column(placed, lengths), classes, sum(fact.n_unlabelled for fact in facts), soft)


def _united(facts: Sequence[tasks.Facts], unlabelled: Any) -> Array:
    """The classes of all partitions; an error where they cannot be compared."""
    some = [fact.classes for fact in facts if len(fact.classes)]
    if not some:
        n = sum(fact.n_rows for fact in facts)
        raise DataError(f"Not one of {n} rows has a label (unlabelled={unlabelled!r}).")
    kinds = {"numbers" if classes.dtype.kind in "biuf" else classes.dtype.kind for classes in some}
    # NumPy would make words of numbers, and find them all comparable.
    every = np.concatenate(some if len(kinds) == 1 else [classes.astype(object) for classes in some])
    return encode_labels(every)[0]


def _positions(found: Array, classes: Array, at: Array) -> Array:
    """For each code of a partition the code among all classes; the last one is for -1, which is no label."""
    here = at[np.searchsorted(found, classes)] if len(classes) else np.empty(0, np.intp)
    return tasks.narrow(np.append(here, UNLABELLED))


def _weight(sample_weight: Any, n_rows: int) -> Column | None:
    weight = check_weight(sample_weight, n_rows)
    return None if weight is None else Column([shared(weight)], (n_rows,))


def _lazy_weight(sample_weight: Any, n_rows: int) -> Column | None:
    """None where every weight is one, as for weights in memory."""
    check, facts_of = task(tasks.weigh), task(tasks.weight_facts)
    parts = open_vector(sample_weight, "sample_weight").parts
    checked = persist(*(check(part, i) for i, part in enumerate(parts)))
    lengths, ones = zip(*compute(*map(facts_of, checked)), strict=True)
    if sum(lengths) != n_rows:
        raise DataError(f"sample_weight has {sum(lengths)} values, expected {n_rows}: one weight for each row of X.")
    return None if all(ones) else Column(checked, lengths)


def _cut(column: Column, lengths: tuple[int, ...]) -> Sequence[Any]:
    """The same values in pieces of other lengths."""
    if column.lengths == lengths:
        return column.parts
    join = task(tasks.join)
    ends = np.cumsum(column.lengths)
    starts = ends - column.lengths
    pieces = []
    for low, high in pairwise(accumulate(lengths, initial=0)):
        first, last = np.searchsorted(ends, (low, high), side="right")[0], np.searchsorted(starts, high)
        some = range(first, max(last, first + 1)) if high > low else range(1)  # of nothing, a piece of the first
        spans = [slice(max(low - starts[j], 0), max(high - starts[j], 0) if high > low else 0) for j in some]
        pieces.append(join([column.parts[j] for j in some], spans))
    return pieces


def _persisted(t: Sequence[Any], weight: Sequence[Any] | None) -> tuple[Any, ...]:
    beside = task(Beside)
    return persist(*(beside(t[i], None if weight is None else weight[i]) for i in range(len(t))))


def _require_weight(beside: tuple[Any, ...], classes: Array, *, by_class: bool) -> None:
    totals = compute(*(task(tasks.class_weight)(part, len(classes) if by_class else 0) for part in beside))
    require_weight(np.sum(totals, axis=0), np.arange(len(classes)) if by_class else None, classes)
