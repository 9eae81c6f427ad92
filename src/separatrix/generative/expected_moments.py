# SPDX-License-Identifier: BSD-3-Clause
"""EM for normal classes: where it starts, and its E step as a statistic.                            PRML §9.3, §2.3.1

Rows that are complete and labelled count as they are. A row with gaps counts as its expectation plus its conditional
covariance; a row without a label counts for every class, by its responsibility.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from separatrix._array import Array, Float, device_aware, to_dense
from separatrix.exceptions import DataError
from separatrix.families import Moments
from separatrix.generative.em import Expectation, one_hot
from separatrix.generative.missing import condition
from separatrix.generative.normal_classes import NormalClasses, rows_with_gaps
from separatrix.rows import Block
from separatrix.stats import ClassMoments, ClassScatter, PooledScatter, class_moments

__all__ = ["FirstLook", "available", "expected", "first_look", "require_values", "uncorrelated"]


@dataclass(frozen=True)
class FirstLook:
    """Moments of the labelled rows, and how many rows had no label."""

    moments: ClassMoments[Any]
    n_open: int

    def __add__(self, other: FirstLook) -> FirstLook:
        return FirstLook(self.moments + other.moments, self.n_open + other.n_open)

    @property
    def is_whole(self) -> bool:
        """Every row had a label and no gap."""
        return self.n_open == 0 and bool(np.isfinite(self.moments.mean).all()) and self.moments.scatter.is_finite()


@device_aware
def first_look(block: Block, n_classes: int, scatter: type[Any]) -> FirstLook:
    """Moments of the rows that have a label; NaN shows in them."""
    labelled = block.codes >= 0
    if labelled.all():
        return FirstLook(class_moments(block, n_classes, scatter), 0)
    return FirstLook(class_moments(block.take(labelled), n_classes, scatter), int((~labelled).sum()))


def available(block: Block, n_classes: int) -> Moments:
    """Count, mean and scatter of whatever was seen, for each class and column of the labelled rows."""
    labelled = block.take(block.codes >= 0)
    return Moments.of(to_dense(labelled.X), one_hot(labelled, n_classes))


def uncorrelated(start: Moments, scatter: type[Any]) -> ClassMoments[Any]:
    """Where EM begins: available means, available variances, no correlation."""
    variance = start.scatter / start.count
    count = start.count.max(axis=1)
    diagonals = np.einsum("km,ml->kml", count[:, None] * variance, np.eye(variance.shape[1]))
    kept = ClassScatter(diagonals) if scatter is ClassScatter else PooledScatter(diagonals.sum(axis=0))
    return ClassMoments(count, start.mean, kept)


def expected(block: Block, parameters: tuple[NormalClasses, Float], scatter: type[Any]) -> Expectation[Any]:
    """The E step of one block: expected moments, and the log likelihood of what was seen."""
    classes, log_pi = parameters
    X = np.asarray(to_dense(block.X), dtype=np.float64)
    weight = np.ones(len(block)) if block.weight is None else block.weight
    gaps, labelled = rows_with_gaps(X), block.codes >= 0
    facts: ClassMoments[Any] = class_moments(block.take(labelled & ~gaps), len(log_pi), scatter)
    total = 0.0
    for k in range(len(log_pi)):
        own = block.codes == k
        if own.any():
            added, log_density = _conditioned(X[own], weight[own], k, classes, scatter, counted=gaps[own])
            facts = facts + added
            total += float(weight[own] @ (log_density + _finite(log_pi[k])))
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
    """Moments that rows add to class k, those ``counted`` completed, and ln p(x seen | C_k) of all of them."""
    counts = np.where(counted, weight, 0.0)
    part = condition(X, classes.mean[k], classes.of_class(k).matrix, counts)
    filled = Block(part.X[counted], np.full(int(counted.sum()), k), counts[counted], range(int(counted.sum())))
    moments: ClassMoments[Any] = class_moments(filled, len(classes.mean), scatter)
    log_density = classes.density_at(k, part.squared_distance, part.log_det, part.n_seen)
    return moments.plus_scatter(k, part.covariance), log_density


def _finite(log_pi: float) -> float:
    """A class that is given probability zero but has rows adds a constant to the likelihood, not minus infinity."""
    return log_pi if np.isfinite(log_pi) else 0.0


def require_values(start: Moments, columns: tuple[str, ...], classes: Array) -> None:
    """A class and column without a single value cannot be learnt."""
    for k, m in np.argwhere(start.count == 0)[:1]:
        where = "any class" if (start.count[:, m] == 0).all() else f"class {classes.tolist()[k]!r}"
        raise DataError(f"Column {columns[m]!r} has no value in {where}. Drop the column, or the class.")
