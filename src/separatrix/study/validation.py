# SPDX-License-Identifier: BSD-3-Clause
"""Repeated stratified cross-validation, for tables that are too small for one set of held-out rows.

Every row is predicted by models that were fitted without it, encoding included. The log-likelihood of a row is its mean
over the repeats, and standard errors are over rows, because the repeats of a row are not independent.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from separatrix import metrics
from separatrix._array import Array, Codes
from separatrix.comparison import Fold, Trial, predicted_rows, scores_of
from separatrix.rows import NamedRows
from separatrix.study.candidates import PriorOnly
from separatrix.study.classifier import TableClassifier
from separatrix.study.records import LabelledTable
from separatrix.table import Schema, TableEncoder, table_statistics

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


def splits_of(table: LabelledTable, encoder: TableEncoder, n_folds: int, rng: np.random.Generator) -> list[list[Split]]:
    """Splits of each repeat; means and levels of each split come from its training rows, types from all rows."""
    n_outputs = max(1, len(table.classes) - 1)
    is_large = table.n_rows * len(encoder.schema_.columns) * n_outputs > MAX_REPEATED_CELLS
    n_repeats = 1 if is_large else int(np.clip(-(-N_SCORED_ROWS // table.n_rows), MIN_REPEATS, MAX_REPEATS))
    repeats, of_all = [], table.statistics(encoder.unread())
    for _ in range(n_repeats):
        folds, splits = fold_numbers(table.codes, n_folds, rng), []
        for fold in range(n_folds):
            at = np.flatnonzero(folds == fold)
            train, test = table.take(np.flatnonzero(folds != fold)), table.take(at)
            of_train = table_statistics(train.X, unread=encoder.unread())
            own = TableEncoder(types=encoder.types).fit_statistics(of_all, train.X, of_train)
            columns = own.schema_.columns
            parts = [Fold(NamedRows(own.transform(part.X), columns), part.codes, part.rows) for part in (train, test)]
            splits.append(Split(own.schema_, parts[0], parts[1], at))
        repeats.append(splits)
    return repeats


def cross_validated(
    trial: Trial, model: TableClassifier, repeats: list[list[Split]], codes: Codes, classes: Array
) -> Trial:
    """The trial with scores and probabilities of rows that were predicted by models fitted without them.

    The probabilities are means over repeats. If a fit fails, the trial is a failed one.
    """
    try:
        return _repeated(trial, model, repeats, codes, classes)
    except Exception as error:  # the comparison continues if a model raises
        return Trial.failed(trial.name, error)


def _repeated(trial: Trial, model: TableClassifier, repeats: list[list[Split]], codes: Codes, classes: Array) -> Trial:
    start, P_sum, rows_sum, n = perf_counter(), np.zeros((len(codes), len(classes))), np.zeros(len(codes)), 0
    for splits in repeats:
        if n and perf_counter() - start > MAX_REPEAT_SECONDS:
            break
        for split in splits:
            estimator: Any = model.configured(split.schema, split.train.X.array)[0]
            estimator.fit(split.train.X, classes[split.train.codes])
            P, rows = predicted_rows(estimator, split.test, classes)
            P_sum[split.at] += P
            rows_sum[split.at] += rows
        n += 1
    P, fold = P_sum / n, Fold(None, codes, np.arange(len(codes)))
    if isinstance(estimator, PriorOnly):  # otherwise, the different class proportions of the folds would rank rows
        P = np.tile(P.mean(axis=0), (len(P), 1))
    return replace(trial, test=scores_of(P, rows_sum / n, metrics.accuracy(P, codes), fold), P=P)
