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

from separatrix._array import Array, Float, to_dense
from separatrix.data import Block
from separatrix.exceptions import DataError
from separatrix.families.facts import Moments
from separatrix.generative.em import Expectation, one_hot
from separatrix.generative.missing import complete
from separatrix.generative.normal_classes import NormalClasses
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
    K = len(log_pi)
    X = np.asarray(to_dense(block.X), dtype=np.float64)
    weight = np.ones(len(block)) if block.weight is None else block.weight
    joint = classes.log_density(X) + log_pi
    labelled = block.codes >= 0
    total = np.where(labelled, joint[np.arange(len(X)), block.codes], logsumexp(joint, axis=1))
    easy = labelled & ~np.isnan(X).any(axis=1)
    facts: ClassMoments[Any] = class_moments(block.take(easy), K, scatter)
    hard = ~easy
    R = np.where(labelled[:, None], np.arange(K) == block.codes[:, None], np.exp(joint - total[:, None]))
    for k in range(K) if hard.any() else ():
        rows = hard & (R[:, k] > 0)
        r = weight[rows] * R[rows, k]
        done = complete(X[rows], classes.mean[k], classes.of_class(k).matrix, r)
        filled = Block(done.X, np.full(len(r), k), r, range(len(r)))
        facts = facts + class_moments(filled, K, scatter).plus_scatter(k, done.covariance)
    return Expectation(facts, float(weight @ total))


def require_values(start: Moments, columns: tuple[str, ...], classes: Array) -> None:
    """A class and column without a single value cannot be learnt."""
    for k, m in np.argwhere(start.count == 0)[:1]:
        where = "any class" if (start.count[:, m] == 0).all() else f"class {classes.tolist()[k]!r}"
        raise DataError(f"Column {columns[m]!r} has no value in {where}. Drop the column, or the class.")
