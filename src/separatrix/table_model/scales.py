# SPDX-License-Identifier: BSD-3-Clause
"""Tune the prior scales of logistic regression by cross-validation: one for each group of columns.

A model at the mode, without a posterior, needs no matrix of its weights: a fit to sparse rows takes a few passes. This
makes cross-validation affordable for tens of thousands of words.

The folds depend on the values of the rows alone. Equal rows of a class are in the same fold, so a weight acts like a
repetition, the order of rows does not matter, and copies of a message are not predicted from each other.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from separatrix._array import Codes, Float, Rows
from separatrix._threads import single_thread_blas
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import Source, as_source
from separatrix.solvers import LBFGS, Posterior, pose
from separatrix.stats import collect_sample, value_grad

N_FOLDS = 5
MAX_TUNING_ROWS = 20_000  # of a larger table, a sample determines the scales
LOG10_SCALES = np.arange(-6, 9) / 4  # of the scales that are tried, from strong to weak priors
N_WORSE = 3  # scales in a row that predict worse than the best, after which weaker priors are not tried
LOG10_STEP = 0.5  # of the factor between the scales of two groups
MAX_STEPS = 4  # in each direction
FOLD_TOL = 1e-5  # of the gradient per row; a looser tolerance acts like a stronger prior
MAX_FOLD_STEPS, FOLD_PAIRS = 200, 15  # steps and memory of L-BFGS


def tuned_scales(source: Source, unit: Float, groups: Sequence[Any]) -> Float:
    """Prior scale of each column (M,): ``unit`` times the factor of its group with the smallest held-out log-loss.

    First all groups have the same factor; then the factor of each group is changed as long as that improves it.
    """
    sample = collect_sample(source, MAX_TUNING_ROWS).as_block()
    X: Any = sample.X if sparse.issparse(sample.X) else np.asarray(sample.X, dtype=np.float64)
    codes = np.asarray(sample.t, dtype=np.intp)
    weight = np.ones(len(codes)) if sample.weight is None else np.asarray(sample.weight)
    live = np.flatnonzero(weight > 0)
    X, codes, weight = X[live], codes[live], weight[live]
    folds = fold_numbers(X, codes)
    labels = list(dict.fromkeys(groups))
    of_column = np.array([labels.index(label) for label in groups], dtype=np.intp)
    tried: dict[tuple[float, ...], float] = {}

    def losses(relative: Float, log10_scales: Float) -> None:
        """Held-out log-losses of scales, each times the relative scales of the groups (G,)."""
        scaled = X @ sparse.diags_array(unit * 10.0 ** relative[of_column])
        for at, loss in zip(log10_scales.tolist(), _losses(scaled, codes, weight, folds, log10_scales), strict=False):
            tried[tuple((relative + at).tolist())] = loss

    def best() -> Float:
        return np.array(min(tried, key=tried.__getitem__))

    with single_thread_blas():
        losses(np.zeros(len(labels)), LOG10_SCALES)
        for g in range(len(labels) if len(labels) > 1 else 0):
            for direction in (1.0, -1.0):
                for _ in range(MAX_STEPS):
                    start = best()
                    moved = start + direction * LOG10_STEP * (np.arange(len(labels)) == g)
                    losses(moved, np.zeros(1))
                    if np.array_equal(best(), start):
                        break
    return np.asarray(unit * 10.0 ** best()[of_column])


def fold_numbers(X: Rows, codes: Codes) -> Codes:
    """Fold of each row, from a hash of its values; the distinct rows of each class are spread evenly."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        X.sort_indices()
        parts = [
            (X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in zip(X.indptr, X.indptr[1:], strict=False)
        ]
    else:
        parts = [(row.tobytes(), b"") for row in np.ascontiguousarray(X)]
    hashes = np.array([zlib.crc32(values, zlib.crc32(at)) for at, values in parts], dtype=np.uint64)
    folds: Codes = np.empty(len(codes), dtype=np.intp)
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        folds[rows] = np.unique(hashes[rows], return_inverse=True)[1] % N_FOLDS
    return folds


def _losses(X: Rows, codes: Codes, weight: Float, folds: Codes, log10_scales: Float) -> list[float]:
    """Mean log-loss per row for each scale; the last ones are left out if they would be worse."""
    K = int(codes.max()) + 1
    likelihood, solver = Logit() if K == 2 else Softmax(K), LBFGS(FOLD_TOL, MAX_FOLD_STEPS, FOLD_PAIRS)

    def rows_of(at: Codes) -> Source:
        return as_source(X[at]).with_numbers(codes[at], weight[at])

    pairs: list[tuple[Posterior, Posterior]] = []  # the objective of the training rows, and of the held-out rows
    for fold in range(N_FOLDS):
        train = np.flatnonzero(folds != fold)
        # A class of a single distinct row cannot be predicted from the others.
        test = np.flatnonzero((folds == fold) & np.isin(codes, codes[train]))
        if len(test) and (codes[train] != codes[train[0]]).any():
            objective = pose(rows_of(train), likelihood, Gaussian(1.0), fit_intercept=True)
            pairs.append((objective, replace(objective, source=rows_of(test))))
    thetas = [np.zeros(objective.shape) for objective, _ in pairs]
    found: list[float] = []
    for log10_scale in log10_scales:
        total = 0.0
        for i, (objective, held) in enumerate(pairs):
            prior = replace(objective.prior, precision=10.0 ** (-2 * log10_scale) * objective.prior.precision)
            thetas[i] = solver.minimise(replace(objective, prior=prior), thetas[i]).value
            total += float(held.reduce(value_grad, theta=thetas[i]).value)
        found.append(total / weight.sum())
        if len(found) - 1 - int(np.argmin(found)) >= N_WORSE:
            break
    return found
