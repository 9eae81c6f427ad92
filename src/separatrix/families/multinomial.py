# SPDX-License-Identifier: BSD-3-Clause
"""Multinomial: a row of D counts that share T trials, such as the words of a text.   PRML §2.2, (2.34)

    p(x | μ) = T!/Π_d x_d! · Π_d μ_d^x_d,   T = Σ_d x_d,   Σ_d μ_d = 1
    u(x) = x,   h(x) = T!/Π x_d!,   η = ln μ,   A = T ln Σ_d e^η_d,   E[u] = T μ

The density is conditional on the total T of the row, which differs from row to row. μ is estimated as the fraction of
each column in Σ_n x_n. Fractional counts, such as TF-IDF weights, are allowed: x! is then Γ(x + 1). The density no
longer sums to one, but classes are compared as before, because h(x) is the same for all of them.

Conjugate prior    μ ~ Dirichlet(α), equivalent to Σα earlier trials:  χ = α/Σα            (2.38)
Posterior          Dirichlet(α + Σ_n x_n)                                                  (2.41)
Predictive         Dirichlet-multinomial, Γ(Σα)/Γ(Σα + T) Π_d Γ(α_d + x_d)/Γ(α_d) · h(x)
Marginal           the same ratio of gamma functions with x = Σ_n x_n, times Π_n h(x_n)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import log_rising
from separatrix.families.dirichlet import Dirichlet
from separatrix.families.family import Density, Family, Prior, Size, reject, reject_missing, shape_of, weigh
from separatrix.families.sufficient_statistics import FactsError, Sums

PARTS_OF_A_ROW = "The columns are parts of one total. Drop those rows, or give each column its own family."


@dataclass(frozen=True)
class Multinomial(Family[Sums]):
    """p(x | T) = T!/Π x_d! Π μ_d^x_d for D counts x, whole or fractional; ``log_probability`` is ln μ (..., D).

    ``trials`` is the total T of the rows that `sample` draws. The density uses the total of x.
    """

    log_probability: Float
    trials: Float = field(default_factory=lambda: np.asarray(1.0))
    event = (1, 0)
    vector = True

    @property
    def probability(self) -> Float:
        """Probabilities μ, (..., D)."""
        return np.exp(self.log_probability)

    @staticmethod
    def u(x: Any) -> Float:
        return np.asarray(x, dtype=np.float64)

    @staticmethod
    def log_h(x: Any) -> Float:
        x = np.asarray(x, dtype=np.float64)
        return np.asarray(special.gammaln(x.sum(axis=-1) + 1) - special.gammaln(x + 1).sum(axis=-1))

    @property
    def natural(self) -> Float:
        return self.log_probability

    @property
    def log_normaliser(self) -> Float:
        return np.asarray(self.trials * special.logsumexp(self.log_probability, axis=-1))

    @property
    def mean_u(self) -> Float:
        return self.trials[..., None] * self.probability

    mean = mean_u

    @property
    def variance(self) -> Float:
        mu = self.probability
        covariance = mu[..., :, None] * (np.eye(mu.shape[-1]) - mu[..., None, :])
        return self.trials[..., None, None] * covariance

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        return cls(special.log_softmax(eta, axis=-1))

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """The distribution in which μ_d is the fraction of column d in the mean counts, and T is their sum."""
        mean_u = np.asarray(mean_u, dtype=np.float64)
        total = mean_u.sum(axis=-1)
        with np.errstate(divide="ignore"):
            return cls(np.log(mean_u / total[..., None]), total)

    def log_density(self, x: Any) -> Float:
        """Σ_d x_d ln μ_d + ln h(x)."""
        x = np.asarray(x, dtype=np.float64)
        ok = np.asarray((np.isfinite(x) & (x >= 0)).all(axis=-1))
        x = np.where(ok[..., None], x, 0.0)
        terms = np.where(x > 0, x * np.where(x > 0, self.log_probability, 0.0), 0.0)
        return np.where(ok, terms.sum(axis=-1) + self.log_h(x), -np.inf)

    def log_density_sum(self, x: Array) -> Float:
        x = np.asarray(x, dtype=np.float64)
        return weigh(x, self.log_probability) + self.log_h(x)[:, None]

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw rows with the total ``trials``, rounded to an integer."""
        trials = np.rint(self.trials).astype(np.int64)
        mu = self.probability / self.probability.sum(axis=-1, keepdims=True)
        return rng.multinomial(trials, mu, size=shape_of(size, self.batch)).astype(np.float64)

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        reject_missing(x, columns, remedy=PARTS_OF_A_ROW)
        remedy = "Correct the value, or use another family for it."
        reject(~(np.isfinite(x) & (x >= 0)), x, columns, want="counts must be finite and not negative", remedy=remedy)

    @classmethod
    def facts(cls, x: Array, R: Array) -> Sums:
        x, R = np.asarray(x, dtype=np.float64), np.asarray(R, dtype=np.float64)
        reject_missing(x, [str(d) for d in range(x.shape[1])], remedy=PARTS_OF_A_ROW)
        return Sums(R.sum(axis=0), R.T @ x, R.T @ cls.log_h(x))

    @classmethod
    def ml(cls, facts: Sums) -> Self:
        """Maximum likelihood: μ_d is the fraction of column d in the total; ``trials`` is the mean total."""
        facts.require_some()
        remedy = "drop the class, or use a prior"
        FactsError.unless(facts.total_u.sum(axis=-1) > 0, "no counts above zero", remedy)
        return cls.of_mean_u(facts.mean_u)


@dataclass(frozen=True)
class DirichletMultinomial(Prior[Multinomial, Sums], of=Multinomial):
    """Prior μ ~ Dirichlet(α), equivalent to ``alpha`` α_d > 0 earlier trials in column d. ``trials`` is the mean total
    of ``rows`` earlier rows; only `sample` uses it.
    """

    alpha: Float
    trials: Float = field(default_factory=lambda: np.asarray(1.0))
    rows: Float = field(default_factory=lambda: np.asarray(1.0))
    event = (1, 0, 0)
    positive = ("alpha",)

    @classmethod
    def weak(cls, facts: Sums, worth: float = 1.0) -> Self:
        """Prior with a pseudo-count of ``worth`` in each column; a pseudo-count of 1 is Laplace's correction."""
        pooled = facts.overall()
        return cls(np.full_like(pooled.total_u, worth), pooled.mean_u.sum(axis=-1))

    def updated(self, facts: Sums) -> Self:
        rows = self.rows + facts.count
        trials = (self.rows * self.trials + facts.total_u.sum(axis=-1)) / rows
        return type(self)(self.alpha + facts.total_u, trials, rows)

    @property
    def mode(self) -> Multinomial:
        """μ = α/Σα, which is the posterior mean of μ."""
        return Multinomial(Multinomial.of_mean_u(self.alpha).log_probability, self.trials)

    def predictive(self) -> DirichletMultinomialPredictive:
        """The Dirichlet-multinomial, which is overdispersed relative to a multinomial."""
        return DirichletMultinomialPredictive(self.alpha, self.trials)

    def log_marginal(self, facts: Sums) -> Float:
        """The marginal likelihood above, computed from rising factorials of each column."""
        return _log_polya(self.alpha, facts.total_u) + facts.log_h


@dataclass(frozen=True)
class DirichletMultinomialPredictive(Density):
    """The Dirichlet-multinomial (Pólya) distribution of a row given its total."""

    alpha: Float
    trials: Float
    event = (1, 0)
    vector = True

    def log_density(self, x: Any) -> Float:
        """The predictive above, computed from rising factorials and ln h(x)."""
        x = np.asarray(x, dtype=np.float64)
        ok = np.asarray((np.isfinite(x) & (x >= 0)).all(axis=-1))
        x = np.where(ok[..., None], x, 0.0)
        return np.where(ok, _log_polya(self.alpha, x) + Multinomial.log_h(x), -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw μ from the Dirichlet, then the counts given μ."""
        mu = Dirichlet(self.alpha).sample(rng, size)
        return Multinomial(np.log(mu), self.trials).sample(rng)


def _log_polya(alpha: Float, x: Float) -> Float:
    return np.asarray(log_rising(alpha, x).sum(axis=-1) - log_rising(alpha.sum(axis=-1), x.sum(axis=-1)))
