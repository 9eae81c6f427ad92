# SPDX-License-Identifier: BSD-3-Clause
"""Repeated stratified cross-validation, for tables that are too small for one set of held-out rows.

Every row is predicted by models that were fitted without it, encoding included. The log-likelihood of a row is its mean
over the repeats, and standard errors are over rows, because the repeats of a row are not independent.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy import sparse

from separatrix import metrics
from separatrix._array import Array, Codes, Rows, to_dense
from separatrix.comparison import Fold, Trial, predicted_rows, scores_of
from separatrix.generative import NaiveBayes
from separatrix.reductions import take_rows
from separatrix.rows import NamedRows
from separatrix.study.candidates import PriorOnly
from separatrix.study.classifier import TableClassifier
from separatrix.study.records import LabelledTable
from separatrix.table import NumberPlan, Schema, TableEncoder, TableStatistics, infer_types, table_statistics

MIN_SPLIT_ROWS = 1000  # smaller tables are cross-validated
N_SCORED_ROWS, MIN_REPEATS, MAX_REPEATS = 500, 2, 4  # rows times repeats, so that the choice hardly depends on the seed
MAX_REPEATED_CELLS = 10_000  # of the encoded table, times classes minus one; above it, rows are not repeated
MAX_REPEAT_SECONDS = 5.0  # no model starts another repeat after this time


class Split(NamedTuple):
    """Encoded training and test rows; ``at`` are the positions of the test rows among all rows."""

    schema: Schema
    train: Fold
    test: Fold
    at: Codes


def n_folds_of(codes: Codes, test_share: float) -> int:
    """Number of folds: 1 / test_share, but at most the mean number of rows per class, and at least two."""
    return int(max(2, min(round(1 / test_share), len(codes) // len(np.unique(codes)))))


def fold_numbers(codes: Codes, n_folds: int, rng: np.random.Generator) -> Codes:
    """Random fold of each row; the rows of each class are spread evenly.

    Every class with at least two rows keeps a training row in each split.
    """
    folds: Codes = np.empty(len(codes), dtype=np.intp)
    folds[np.lexsort([rng.random(len(codes)), codes])] = np.arange(len(codes)) % n_folds
    return folds


def splits_of(
    table: LabelledTable,
    encoder: TableEncoder,
    of_all: TableStatistics,
    features: Rows,
    n_folds: int,
    rng: np.random.Generator,
) -> list[list[Split]]:
    """Splits of each repeat; means and levels of each split come from its training rows, types from all rows.

    ``features`` are all rows, encoded. Numbers without missing values are the same in every split, and are not encoded
    again; a number that is constant in the training rows of a split is left out.
    """
    schema, n_outputs = encoder.schema_, max(1, len(table.classes) - 1)
    is_large = table.n_rows * len(schema.columns) * n_outputs > MAX_REPEATED_CELLS
    n_repeats = 1 if is_large else int(np.clip(-(-N_SCORED_ROWS // table.n_rows), MIN_REPEATS, MAX_REPEATS))
    same = [
        plan.column
        for plan in schema.plans
        if isinstance(plan, NumberPlan) and plan.kind == "number" and not plan.indicator and not plan.constant
    ]
    numbers = to_dense(features[:, [schema.groups[column].start for column in same]])
    others = [column for column in schema.inputs if column not in set(same)]
    rest = nw.from_native(table.X, eager_only=True).select(others).to_native()
    of_rest = TableStatistics({column: of_all.columns[column] for column in others}, of_all.n_rows)
    types = {column: kind for column, kind in (encoder.types or {}).items() if column in others}
    as_sparse = sparse.issparse(features)
    repeats = []
    for _ in range(n_repeats):
        folds, splits = fold_numbers(table.codes, n_folds, rng), []
        for fold in range(n_folds):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            plans = {plan.column: plan for plan in schema.plans}
            place = {same[d]: [d] for d in np.flatnonzero(np.ptp(numbers[train], axis=0)).tolist()}
            X = sparse.csr_array(numbers) if as_sparse else numbers
            if others:
                own = infer_types(of_rest, types, training=table_statistics(take_rows(rest, train)))
                plans |= {plan.column: plan for plan in own.plans}
                place |= {column: [len(same) + d for d in at] for column, at in own.groups.items()}
                X = (sparse.hstack if as_sparse else np.hstack)([X, own.encode(rest, sparse=as_sparse)])
            if not place:  # nothing varies: only the class proportions can be fitted
                constant = NumberPlan(schema.inputs[0], "number", "", 0.0, indicator=False, constant=False, words={})
                plans, place, X = {constant.column: constant}, {constant.column: [0]}, np.zeros((table.n_rows, 1))
            kept = [column for column in plans if column in place]
            own = Schema(tuple(plans[column] for column in kept), len(train))
            X = X[:, [d for column in kept for d in place[column]]]
            parts = [Fold(NamedRows(X[at], own.columns), table.codes[at], table.rows[at]) for at in (train, test)]
            splits.append(Split(own, parts[0], parts[1], test))
        repeats.append(splits)
    return repeats


def cross_validated(
    trial: Trial, model: TableClassifier, repeats: list[list[Split]], codes: Codes, classes: Array
) -> Trial:
    """The trial with scores and probabilities of rows that were predicted by models fitted without them.

    The probabilities are means over repeats. The families of naive Bayes are types of columns, and come from all rows.
    If a fit fails, the trial is a failed one.
    """
    start, P_sum, rows_sum, n = perf_counter(), np.zeros((len(codes), len(classes))), np.zeros(len(codes)), 0
    try:
        for splits in repeats:
            if n and perf_counter() - start > MAX_REPEAT_SECONDS:
                break
            for split in splits:
                estimator: Any = model.configured(split.schema, split.train.X.array, split.train.codes).model
                if isinstance(estimator, NaiveBayes):  # otherwise, test rows may be outside the support of a family
                    chosen = {choice.column: choice.family for choice in trial.model.choices_}
                    estimator.set_params(families={name: chosen.get(name, "auto") for name in split.schema.columns})
                estimator.fit(split.train.X, classes[split.train.codes])
                P, rows = predicted_rows(estimator, split.test, classes)
                P_sum[split.at] += P
                rows_sum[split.at] += rows
            n += 1
    except Exception as error:  # the comparison continues if a model raises
        return Trial.failed(trial.name, error)
    P, fold = P_sum / n, Fold(None, codes, np.arange(len(codes)))
    if isinstance(estimator, PriorOnly):  # otherwise, the different class proportions of the folds would rank rows
        P = np.tile(P.mean(axis=0), (len(P), 1))
    return replace(trial, test=scores_of(P, rows_sum / n, metrics.accuracy(P, codes), fold), P=P)
