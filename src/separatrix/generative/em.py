# SPDX-License-Identifier: BSD-3-Clause
"""Expectation maximisation with one pass per step, and its E step for normal classes.               PRML §9.3, §2.3.1

The E step computes the expected sufficient statistics of the rows under the current parameters, as a sum over blocks.
The M step computes parameters from these statistics, as if they had been observed. The likelihood of the observed
values never decreases.

For normal classes, complete rows with a label contribute as usual. A row with missing values contributes its
conditional mean and covariance. A row without a label contributes to every class, weighted by its responsibility.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.special import logsumexp

from separatrix._array import Array, Float, to_dense
from separatrix._text import counted
from separatrix._threads import single_thread_blas
from separatrix.exceptions import ConvergenceWarning, DataError
from separatrix.families import Moments
from separatrix.generative.covariance import NormalClasses, condition
from separatrix.rows import Block, Source, Summed
from separatrix.solvers import Solution, Status
from separatrix.stats import (
    ClassMoments,
    ClassScatter,
    PooledScatter,
    Sample,
    class_moments,
    draw,
    has_missing,
    label_weights,
)

F = TypeVar("F")

MIN_DAMPING = 1e-3  # smallest damping of a scoring step, needed because rows may determine the information badly
DAMPING_FACTOR = 10.0


@dataclass(frozen=True, slots=True)
class Expectation(Summed, Generic[F]):
    """Expected statistics, the log likelihood of the observed values, and the total weight of the rows."""

    facts: F
    log_likelihood: float
    weight: float = 0.0


def maximise_expectation(
    source: Source,
    start: F,
    expect: Callable[[F], Callable[[Block], Expectation[F]]],
    step: Callable[[F, F, float], tuple[F, float]] = lambda now, expected, damping: (expected, 0.0),
    *,
    tol: float = 1e-8,
    max_steps: int = 500,
) -> Solution[F]:
    """Iterate ``facts <- source.reduce(expect(facts))`` until the log likelihood rises by at most ``tol`` per row.

    ``step(now, expected, damping)`` returns the next statistics and the increase of the likelihood that it predicts,
    0 if it is a step of EM. If the likelihood falls or rises less than predicted, damping grows up to 1, which is EM.
    ``solution.trace`` contains the log likelihood before each step, which never decreases.
    """
    facts, predicted, damping, trace, status = start, 0.0, MIN_DAMPING, list[float](), Status.LIKELIHOOD
    before = source.passes
    for _ in range(max_steps):
        found = source.reduce(expect(facts))
        gain = found.log_likelihood - trace[-1] if trace else np.inf
        if predicted == 0 or gain >= 0:
            now, expected = facts, found
            trace.append(found.log_likelihood)
            if not np.isfinite(trace[-1]):
                raise DataError(
                    f"The log likelihood is {trace[-1]} in step {len(trace)} of EM: a row has density zero. "
                    "Use shrinkage or a prior, or remove outliers."
                )
        # The likelihood falls after a step of EM only if columns become collinear: it then describes fewer columns.
        if max(abs(gain), predicted) <= tol * (found.weight or source.n_rows):
            break
        if not gain >= 0.25 * predicted:
            damping = min(1.0, damping * DAMPING_FACTOR)
        elif gain > 0.75 * predicted:
            damping = max(MIN_DAMPING, damping / DAMPING_FACTOR)
        with single_thread_blas():  # results must not depend on the number of threads
            facts, predicted = step(now, expected.facts, damping) if damping < 1 else (expected.facts, 0.0)
    else:
        status = Status.MAX_STEPS
        warnings.warn(
            f"EM stopped after {counted(max_steps, 'pass')} while the log likelihood still increased by "
            f"{trace[-1] - trace[-2]:.3g} per pass. The result is usable; EM converges faster with fewer missing "
            "values or more labels.",
            ConvergenceWarning,
            stacklevel=4,
        )
    passes = source.passes - before
    return Solution(expected.facts, status, passes, passes, tuple(trace))


@dataclass(frozen=True, slots=True)
class Available(Summed):
    """Count, mean and scatter of the observed values, for each class and column, and a sample of the rows."""

    moments: Moments
    sample: Sample


def available_moments(block: Block, n_classes: int, stride: int) -> Available:
    """Moments of the labelled rows, and one row of each ``stride`` rows."""
    labelled = block.take(block.codes >= 0)
    moments = Moments.of(to_dense(labelled.X), label_weights(labelled, n_classes))
    return Available(moments, draw(block, stride))


def uncorrelated(start: Moments, scatter: type[Any]) -> ClassMoments[Any]:
    """Initial statistics of EM: means and variances of the observed values, without correlations."""
    variance = start.scatter / start.count
    count = start.count.max(axis=1)
    diagonals = np.einsum("km,ml->kml", count[:, None] * variance, np.eye(variance.shape[1]))
    matrices = ClassScatter(diagonals) if scatter is ClassScatter else PooledScatter(diagonals.sum(axis=0))
    return ClassMoments(count, start.mean, matrices)


def expected_moments(block: Block, parameters: tuple[NormalClasses, Float], scatter: type[Any]) -> Expectation[Any]:
    """E step of one block: the expected moments, and the log likelihood of the observed values."""
    classes, log_pi = parameters
    X = np.asarray(to_dense(block.X), dtype=np.float64)
    weight = np.ones(len(block)) if block.weight is None else block.weight
    incomplete, labelled = has_missing(X), block.codes >= 0
    facts: ClassMoments[Any] = class_moments(block.take(labelled & ~incomplete), len(log_pi), scatter)
    total = 0.0
    for k in range(len(log_pi)):
        own = block.codes == k
        if own.any():
            added, log_density = _conditioned(X[own], weight[own], k, classes, scatter, counted=incomplete[own])
            facts = facts + added
            # If a class with rows has prior zero, ln 0 is a constant of the objective and is omitted.
            total += float(weight[own] @ (log_density + (log_pi[k] if np.isfinite(log_pi[k]) else 0.0)))
    if labelled.all():
        return Expectation(facts, total, float(weight.sum()))
    X, w = X[~labelled], weight[~labelled]
    joint = classes.log_density(X) + log_pi
    evidence = logsumexp(joint, axis=1)
    for k in range(len(log_pi)):
        r = w * np.exp(joint[:, k] - evidence)
        added, _ = _conditioned(X[r > 0], r[r > 0], k, classes, scatter, counted=np.ones((r > 0).sum(), bool))
        facts = facts + added
    return Expectation(facts, total + float(w @ evidence), float(weight.sum()))


def _conditioned(
    X: Array, weight: Float, k: int, classes: NormalClasses, scatter: type[Any], *, counted: Array
) -> tuple[ClassMoments[Any], Float]:
    """Expected moments of the ``counted`` rows in class k, and ln p(observed values | C_k) of all rows."""
    counts = np.where(counted, weight, 0.0)
    marginal, filled, covariance = condition(X, classes.mean[k], classes.of_class(k).matrix, counts, classes.total)
    n = int(counted.sum())
    rows = Block(filled[counted], np.full(n, k), counts[counted], range(n))
    moments: ClassMoments[Any] = class_moments(rows, len(classes.mean), scatter)
    return replace(moments, scatter=moments.scatter.plus(k, covariance)), classes.density_at(k, *marginal)
