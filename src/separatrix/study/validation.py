# SPDX-License-Identifier: BSD-3-Clause
"""Repeated stratified cross-validation, for tables of up to 20 000 rows if the time suffices.

Every row is predicted by models that were fitted without it, encoding included. race.py fits them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy import sparse

from separatrix._array import Codes, Rows, to_dense
from separatrix.comparison import Fold
from separatrix.reductions import take_rows
from separatrix.rows import NamedRows
from separatrix.study.records import LabelledTable
from separatrix.table import NumberPlan, Schema, TableEncoder, TableStatistics, infer_types, table_statistics

ALWAYS_VALIDATED_ROWS = 1000  # smaller tables are cross-validated, whatever the time
MAX_VALIDATED_ROWS = 20_000  # larger tables are split, because a fifth of their rows gives precise scores
MAX_VALIDATION_FRACTION = 0.8  # of the time left, for the first fits of all candidates
N_FIRST_FITS = 2  # of each candidate: to all rows, and in the first fold
MAX_REPEAT_FRACTION = 0.25  # of the time left, if folds are repeated
N_SCORED_ROWS, MIN_REPEATS, MAX_REPEATS = 500, 2, 4  # rows times repeats, so that the choice hardly depends on the seed
MAX_FOLD_CELLS = 3e7  # cells that are encoded for each fold, 250 MB
MAX_REPEAT_SECONDS = 5.0  # after this time, a model is repeated only if it is near the best one


class Split(NamedTuple):
    """Positions of training and test rows, and how their features are put together.

    ``parts`` are columns of all rows: those that are the same in every split, which are stored once, and those that are
    encoded by the training rows. ``place`` are the columns of both that are features.
    """

    schema: Schema
    table: LabelledTable
    train: Codes
    test: Codes
    parts: tuple[Rows, ...]
    place: list[int]

    def fold(self, at: Codes) -> Fold:
        stacked: Any = sparse.hstack if sparse.issparse(self.parts[0]) else np.hstack
        X = stacked([part[at] for part in self.parts])
        if sparse.issparse(X):
            X = X.tocsr()
        weight = None if self.table.weight is None else self.table.weight[at]
        return Fold(NamedRows(X[:, self.place], self.schema.columns), self.table.codes[at], self.table.rows[at], weight)


def n_folds_of(codes: Codes, test_share: float) -> int:
    """Number of folds: 1 / test_share, but at most the mean number of rows per class, and at least two."""
    return int(max(2, min(round(1 / test_share), len(codes) // len(np.unique(codes)))))


def n_repeats_of(n_rows: int, n_encoded: int, n_folds: int, seconds_of: Callable[[int], float], time: float) -> int:
    """How often the rows are cross-validated; 0 if one set of held-out rows has to replace the cross-validation.

    ``n_encoded`` is the number of features that depend on the training rows, 0 if they are sparse. ``seconds_of``
    returns the expected time of all candidates for a number of fits, and ``time`` is the time left.
    """
    if n_rows > MAX_VALIDATED_ROWS:
        return 0
    n_cells = n_rows * n_encoded * n_folds
    for n_repeats in range(int(np.clip(-(-N_SCORED_ROWS // n_rows), MIN_REPEATS, MAX_REPEATS)), 0, -1):
        n_fits, most = 1 + n_folds * n_repeats, MAX_REPEAT_FRACTION
        if n_repeats == 1:  # the first fold of all candidates, after which those that are behind stop
            n_fits, most = N_FIRST_FITS, MAX_VALIDATION_FRACTION
        if n_repeats * n_cells <= MAX_FOLD_CELLS and seconds_of(n_fits) <= most * time:
            return n_repeats
    return int(n_rows < ALWAYS_VALIDATED_ROWS)


def fold_numbers(codes: Codes, n_folds: int, rng: np.random.Generator) -> Codes:
    """Random fold of each row; the rows of each class are spread evenly.

    Every class with at least two rows keeps a training row in each split.
    """
    folds: Codes = np.empty(len(codes), dtype=np.intp)
    folds[np.lexsort([rng.random(len(codes)), codes])] = np.arange(len(codes)) % n_folds
    return folds


def has_new_levels(schema: Schema) -> bool:
    """Whether the final model is fitted again after a cross-validation: it has indicators of new levels."""
    return bool(schema.with_new_levels(keep_pooled=True).new_levels)


def complete_numbers(schema: Schema) -> list[str]:
    """Columns of numbers without missing values: their features do not depend on the training rows."""
    return [
        plan.column
        for plan in schema.plans
        if isinstance(plan, NumberPlan) and plan.kind == "number" and not plan.indicator and not plan.constant
    ]


def splits_of(
    table: LabelledTable,
    encoder: TableEncoder,
    of_all: TableStatistics,
    features: Rows,
    n_folds: int,
    n_repeats: int,
    rng: np.random.Generator,
) -> list[list[Split]]:
    """Splits of each repeat; means and levels of each split come from its training rows, types from all rows.

    ``features`` are all rows, encoded. Numbers without missing values are the same in every split, and are not encoded
    again; a number that is constant in the training rows of a split is left out.
    """
    schema = encoder.schema_
    same = complete_numbers(schema)
    numbers = to_dense(features[:, [schema.groups[column].start for column in same]])
    given = set(same)
    others = [column for column in schema.inputs if column not in given]
    rest = nw.from_native(table.X, eager_only=True).select(others).to_native()
    of_rest = TableStatistics({column: of_all.columns[column] for column in others}, of_all.n_rows)
    types = {column: kind for column, kind in (encoder.types or {}).items() if column in others}
    as_sparse = sparse.issparse(features)
    shared: Rows = sparse.csr_array(numbers) if as_sparse else numbers
    repeats = []
    for _ in range(n_repeats):
        folds, splits = fold_numbers(table.codes, n_folds, rng), []
        for fold in range(n_folds):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            plans = {plan.column: plan for plan in schema.plans}
            place = {same[d]: [d] for d in np.flatnonzero(np.ptp(numbers[train], axis=0)).tolist()}
            parts: tuple[Rows, ...] = (shared,)
            if others:
                own = infer_types(of_rest, types, training=table_statistics(take_rows(rest, table.copies(train))))
                plans |= {plan.column: plan for plan in own.plans}
                place |= {column: [len(same) + d for d in at] for column, at in own.groups.items()}
                parts = (shared, own.encode(rest, sparse=as_sparse))
            if not place:  # nothing varies: only the class proportions can be fitted
                constant = NumberPlan(schema.inputs[0], "number", "", 0.0, indicator=False, constant=False, words={})
                plans, place = {constant.column: constant}, {constant.column: [0]}
                parts = (np.zeros((table.n_rows, 1)),)
            kept = [column for column in plans if column in place]
            own = Schema(tuple(plans[column] for column in kept), len(train))
            used = [d for column in kept for d in place[column]]
            splits.append(Split(own, table, train, test, parts, used))
        repeats.append(splits)
    return repeats


def sampled_fold(fold: Fold, schema: Schema, most: int) -> Fold:
    """Random sample of at most ``most`` encoded rows; at least two rows of every class are kept."""
    if len(fold.codes) <= most:
        return fold
    at = stratified_sample(fold.codes, most, np.random.default_rng(0))
    weight = None if fold.weight is None else fold.weight[at]
    return Fold(NamedRows(fold.X.array[at], schema.columns), fold.codes[at], fold.rows[at], weight)


def stratified_sample(codes: Codes, n: int, rng: np.random.Generator) -> Codes:
    """Positions of n rows drawn at random, with two rows of every class, if it has two."""
    order = np.lexsort([rng.random(len(codes)), codes])
    place = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])  # position within the class
    pairs, rest = np.flatnonzero(place < 2), np.flatnonzero(place >= 2)
    drawn = rng.choice(rest, min(max(n - len(pairs), 0), len(rest)), replace=False)
    return np.sort(order[np.concatenate([pairs, drawn])])
