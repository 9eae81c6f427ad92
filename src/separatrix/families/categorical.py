# SPDX-License-Identifier: BSD-3-Clause
"""Categorical: x is one of L levels, coded 0 .. L-1.                                PRML §2.2, (2.26)

    p(x | μ) = μ_x,   Σ_l μ_l = 1
    u(x) = one-hot of x,   h(x) = 1,   η_l = ln μ_l,   A = ln Σ_l e^η_l,   E[u] = μ = softmax(η)

η is over-complete: adding a constant to it changes nothing.

Conjugate prior    μ ~ Dirichlet(α):  ν = Σα,  χ = α/Σα                                    (2.38)
Posterior          Dirichlet(α + counts)                                                   (2.41)
Predictive         categorical with μ = α/Σα
Marginal           Π_l Γ(α_l + n_l)/Γ(α_l) · Γ(Σα)/Γ(Σα + n)

Columns may differ in their number of levels: arrays are padded to the largest. A code beyond a column's
levels was never seen. Maximum likelihood gives it probability zero; a prior gives it what it gives a level
with count zero, (pseudo-count)/Σα: a defined answer, on top of probabilities that sum to one without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import log_rising
from separatrix.families.facts import LevelCounts, one_hot
from separatrix.families.family import Family, Prior, Size, reject, shape_of
from separatrix.families.record import FactsError, require

__all__ = ["Categorical", "DirichletCategorical"]


@dataclass(frozen=True)
class Categorical(Family[LevelCounts]):
    """p(x) = μ_x.

    Parameters
    ----------
    log_probability
        ln μ (..., L); -inf for impossible levels and for padding.
    log_unseen
        What a code that is no level of its column gets.

    Examples
    --------
    >>> Categorical.of_mean_u([0.5, 0.25, 0.25]).log_density([0, 2, 7]).round(4).tolist()
    [-0.6931, -1.3863, -inf]
    """

    log_probability: Float
    log_unseen: Float = field(default_factory=lambda: np.asarray(-np.inf))
    event: ClassVar[tuple[int, ...]] = (1, 0)

    @property
    def probability(self) -> Float:
        """μ (..., L)."""
        return np.exp(self.log_probability)

    @staticmethod
    def u(x: Any) -> Float:
        """One-hot, with as many levels as x needs."""
        x = np.asarray(x, dtype=np.float64)
        return np.asarray((x[..., None] == np.arange(1 + x.max(initial=0.0))).astype(np.float64))

    def log_h(self, x: Any) -> Float:
        """Zero."""
        return np.zeros(np.shape(x))

    @property
    def natural(self) -> Float:
        """ln μ."""
        return self.log_probability

    @property
    def log_normaliser(self) -> Float:
        """Zero: ln μ is already normalised."""
        return np.asarray(special.logsumexp(self.log_probability, axis=-1))

    @property
    def mean_u(self) -> Float:
        """μ."""
        return self.probability

    @property
    def mean(self) -> Float:
        """The mean of the code, which means something for ordered levels only."""
        return np.asarray(self.probability @ np.arange(self.probability.shape[-1]))

    @property
    def variance(self) -> Float:
        """The variance of the code."""
        codes = np.arange(self.probability.shape[-1])
        return np.asarray((self.probability * (codes - self.mean[..., None]) ** 2).sum(axis=-1))

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        """Normalise."""
        return cls(special.log_softmax(eta, axis=-1))

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """μ = the share of each level."""
        with np.errstate(divide="ignore"):
            return cls(np.log(np.asarray(mean_u, dtype=np.float64)))

    @property
    def _table(self) -> Float:
        """ln p of every code 0 .. L, where L stands for all codes beyond."""
        unseen = self.log_unseen[..., None]
        padded = np.where(np.isneginf(self.log_probability), unseen, self.log_probability)
        return np.concatenate([padded, unseen], axis=-1)

    def log_density(self, x: Any) -> Float:
        """Look it up."""
        x = np.asarray(x, dtype=np.float64)
        L = self.log_probability.shape[-1]
        shape = np.broadcast_shapes(x.shape, self.batch)
        table = np.broadcast_to(self._table, (*shape, L + 1))
        codes = np.broadcast_to(np.clip(x, 0, L).astype(np.intp), shape)
        found = np.take_along_axis(table, codes[..., None], axis=-1)[..., 0]
        return np.where((x >= 0) & (x == np.floor(x)), found, -np.inf)

    def log_density_sum(self, x: Array) -> Float:
        """One product of the sparse indicators with the table."""
        x, table = np.asarray(x, dtype=np.float64), self._table
        return np.asarray(one_hot(x, table.shape[-1]) @ table.reshape(len(table), -1).T)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Codes, by inverting the distribution function."""
        ladder = np.cumsum(self.probability, axis=-1)
        level = rng.random(shape_of(size, self.batch)) * ladder[..., -1]
        return np.asarray((level[..., None] >= ladder).sum(axis=-1).astype(np.float64))

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        """Codes are whole numbers from zero."""
        with np.errstate(invalid="ignore"):
            bad = ~(np.isnan(x) | ((x >= 0) & (x == np.floor(x)) & np.isfinite(x)))
        remedy = "Code the categories as 0, 1, 2, ... (sklearn.preprocessing.OrdinalEncoder)."
        reject(bad, x, columns, want="category codes are whole numbers from 0", remedy=remedy)

    @classmethod
    def facts(cls, x: Array, R: Array) -> LevelCounts:
        """How often each code."""
        return LevelCounts.of(x, R)

    @classmethod
    def ml(cls, facts: LevelCounts) -> Self:
        """Shares."""
        facts.require_some()
        return cls.of_mean_u(facts.counts / facts.total[..., None])

    @classmethod
    def weak_prior(cls, facts: LevelCounts) -> DirichletCategorical:
        """One of each level seen in any class."""
        return DirichletCategorical.weak(facts)


@dataclass(frozen=True)
class DirichletCategorical(Prior[Categorical, LevelCounts]):
    """μ ~ Dirichlet(α): α_l earlier observations of level l.

    Parameters
    ----------
    alpha
        (..., L); zero where a column has no such level.
    unseen
        The pseudo-count that a level never seen would have had.
    """

    alpha: Float
    unseen: Float
    event: ClassVar[tuple[int, ...]] = (1, 0)

    def _check(self) -> None:
        require(self, "alpha", self.alpha >= 0, "zero or positive")
        require(self, "unseen", self.unseen > 0, "positive")

    @classmethod
    def weak(cls, facts: LevelCounts) -> Self:
        """One of each level seen in any class."""
        facts.overall()
        return cls.symmetric(1.0, facts.levels)

    @classmethod
    def symmetric(cls, alpha: float, levels: Any) -> Self:
        """The same pseudo-count for each of ``levels`` (D,) levels; for one class, (1, D, L)."""
        levels = np.asarray(levels)
        real = np.arange(max(1, levels.max(initial=1))) < levels[..., None]
        return cls(np.where(real, alpha, 0.0)[None], np.full((1, *levels.shape), alpha))

    def updated(self, facts: LevelCounts) -> Self:
        """Add the counts."""
        return type(self)(self.alpha + self._counts(facts), self.unseen)

    def _counts(self, facts: LevelCounts) -> Float:
        """The counts, over the levels that this prior has."""
        L = self.alpha.shape[-1]
        counts = facts.padded(max(L, facts.counts.shape[-1]))
        extra = (counts[..., L:] > 0).any(axis=-1) | ((counts[..., :L] > 0) & (self.alpha == 0)).any(axis=-1)
        FactsError.unless(~extra, "a code that the prior has no level for", "give the prior more levels")
        return counts[..., :L]

    @property
    def mode(self) -> Categorical:
        """μ = α/Σα, also the mean of μ."""
        total = self.alpha.sum(axis=-1)
        probability = Categorical.of_mean_u(self.alpha / total[..., None])
        return Categorical(probability.log_probability, np.log(self.unseen / total))

    def predictive(self) -> Categorical:
        """The next x: the same."""
        return self.mode

    def log_marginal(self, facts: LevelCounts) -> Float:
        """Rising factorials, level by level."""
        counts, real = self._counts(facts), self.alpha > 0
        levels = np.where(real, log_rising(np.where(real, self.alpha, 1.0), counts), 0.0)
        return np.asarray(levels.sum(axis=-1) - log_rising(self.alpha.sum(axis=-1), counts.sum(axis=-1)))
