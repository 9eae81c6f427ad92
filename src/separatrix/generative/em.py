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
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.special import logsumexp

from separatrix._array import Array, Float, to_dense
from separatrix.exceptions import ConvergenceWarning, DataError
from separatrix.families import Moments
from separatrix.generative.covariance import NormalClasses, condition
from separatrix.rows import Block, Source, Summed
from separatrix.solvers import Solution, Status
from separatrix.stats import ClassMoments, ClassScatter, PooledScatter, class_moments, has_missing, label_weights

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Expectation(Summed, Generic[F]):
    """Expected statistics, the log likelihood of the observed values, and the total weight of the rows."""

    facts: F
    log_likelihood: float
    weight: float = 0.0


def maximise_expectation(
    source: Source,
    start: F,
    expect: Callable[..., Expectation[F]],
    parameters: Callable[[F], Any],
    *,
    tol: float = 1e-8,
    max_steps: int = 500,
) -> Solution[F]:
    """Iterate ``facts <- expect(block, parameters(facts))`` until the log likelihood rises by at most tol per row.

    ``solution.trace`` contains the log likelihood before each step, which never decreases.
    """
    facts, trace = start, []
    for _ in range(max_steps):
        step: Callable[[Block], Expectation[F]] = partial(expect, parameters=parameters(facts))
        expected = source.reduce(step)
        facts = expected.facts
        trace.append(expected.log_likelihood)
        if not np.isfinite(trace[-1]):
            raise DataError(
                f"The log likelihood is {trace[-1]} in step {len(trace)} of EM: a row has density zero. "
                "Use shrinkage or a prior, or remove outliers."
            )
        # The likelihood falls only if columns become collinear, because it then describes fewer columns.
        if len(trace) > 1 and abs(trace[-1] - trace[-2]) <= tol * (expected.weight or source.n_rows):
            status = Status.LIKELIHOOD
            break
    else:
        status = Status.MAX_STEPS
        warnings.warn(
            f"EM stopped after {max_steps} passes while the log likelihood still increased by "
            f"{trace[-1] - trace[-2]:.3g} per pass. The result is usable; EM converges faster with fewer missing "
            "values or more labels.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return Solution(facts, status, len(trace), len(trace), tuple(trace))


def available_moments(block: Block, n_classes: int) -> Moments:
    """Count, mean and scatter of the observed values, for each class and column of the labelled rows."""
    labelled = block.take(block.codes >= 0)
    return Moments.of(to_dense(labelled.X), label_weights(labelled, n_classes))


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
    incomplete, labelled, all_rows = has_missing(X), block.codes >= 0, classes.total
    facts: ClassMoments[Any] = class_moments(block.take(labelled & ~incomplete), len(log_pi), scatter)
    total = 0.0
    for k in range(len(log_pi)):
        own = block.codes == k
        if own.any():
            added, log_density = _conditioned(
                X[own], weight[own], k, classes, all_rows, scatter, counted=incomplete[own]
            )
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
        added, _ = _conditioned(X[r > 0], r[r > 0], k, classes, all_rows, scatter, counted=np.ones((r > 0).sum(), bool))
        facts = facts + added
    return Expectation(facts, total + float(w @ evidence), float(weight.sum()))


def _conditioned(
    X: Array, weight: Float, k: int, classes: NormalClasses, total: Float | None, scatter: type[Any], *, counted: Array
) -> tuple[ClassMoments[Any], Float]:
    """Expected moments of the ``counted`` rows in class k, and ln p(observed values | C_k) of all rows."""
    counts = np.where(counted, weight, 0.0)
    marginal, filled, covariance = condition(X, classes.mean[k], classes.of_class(k).matrix, counts, total)
    n = int(counted.sum())
    rows = Block(filled[counted], np.full(n, k), counts[counted], range(n))
    moments: ClassMoments[Any] = class_moments(rows, len(classes.mean), scatter)
    return replace(moments, scatter=moments.scatter.plus(k, covariance)), classes.density_at(k, *marginal)
