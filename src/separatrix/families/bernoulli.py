# SPDX-License-Identifier: BSD-3-Clause
"""Bernoulli: x in {0, 1}, the outcome of one trial.                                   PRML §2.1, (2.2)

    p(x | μ) = μ^x (1 - μ)^(1-x)
    u(x) = x,   h(x) = 1,   η = ln μ/(1-μ),   A = ln(1 + e^η),   E[u] = μ = σ(η)

The stored parameter is η, because 1 - μ loses its precision if μ is near one.

Conjugate prior    μ ~ Beta(a, b):  ν = a + b,  χ = a/(a + b)                              (2.13)
Posterior          Beta(a + Σx, b + n - Σx)                                                (2.17)
Predictive         Bernoulli with μ = a/(a + b); with a = b = 1 it is Laplace's (n_1 + 1)/(n + 2)
Marginal           B(a + Σx, b + n - Σx) / B(a, b)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import log_rising
from separatrix.families.family import Family, Prior, Size, reject, shape_of, weigh
from separatrix.families.sufficient_statistics import Sums


@dataclass(frozen=True)
class Bernoulli(Family[Sums]):
    """p(x) = μ^x (1 - μ)^(1-x), stored as ``log_odds`` η = ln μ/(1-μ); μ = 0 is -inf, μ = 1 is inf."""

    log_odds: Float
    statistics = Sums

    @classmethod
    def of_probability(cls, probability: Any) -> Self:
        """The distribution with P(x = 1) = μ."""
        return cls(special.logit(probability))

    @property
    def probability(self) -> Float:
        """Probability μ that x = 1."""
        return np.asarray(special.expit(self.log_odds))

    mean = probability

    @property
    def natural(self) -> Float:
        return self.log_odds[..., None]

    @property
    def log_normaliser(self) -> Float:
        return -np.asarray(special.log_expit(-self.log_odds))

    @property
    def variance(self) -> Float:
        return np.asarray(self.probability * special.expit(-self.log_odds))

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        return cls(np.asarray(eta)[..., 0])

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        return cls.of_probability(np.asarray(mean_u)[..., 0])

    def log_density(self, x: Any) -> Float:
        """ln σ(η) at x = 1, ln σ(-η) at x = 0."""
        x = np.asarray(x, dtype=np.float64)
        heads, tails = special.log_expit(self.log_odds), special.log_expit(-self.log_odds)
        return np.where(x == 1, heads, np.where(x == 0, tails, -np.inf))

    def log_density_sum(self, x: Array) -> Float:
        """Σ_d x ln μ + (1 - x) ln(1 - μ) as two matrix products."""
        x = np.asarray(x, dtype=np.float64)
        missing = np.isnan(x)
        ones, zeros = (np.where(missing, 0.0, x), np.where(missing, 0.0, 1.0 - x)) if missing.any() else (x, 1.0 - x)
        heads, tails = special.log_expit(self.log_odds), special.log_expit(-self.log_odds)
        return weigh(ones, heads) + weigh(zeros, tails)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        return (rng.random(shape_of(size, self.batch)) < self.probability).astype(np.float64)

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        bad = ~(np.isnan(x) | (x == 0) | (x == 1))
        remedy = "Recode the column as 0 and 1, or use another family for it."
        reject(bad, x, columns, want="a Bernoulli column must contain only 0 and 1", remedy=remedy)

    @classmethod
    def ml(cls, facts: Sums) -> Self:
        """Maximum likelihood: η = ln(number of ones / number of zeros)."""
        facts.require_some()
        with np.errstate(divide="ignore"):  # -inf or inf if all values are equal
            return cls(np.log(facts.total_u[..., 0]) - np.log(facts.count - facts.total_u[..., 0]))


@dataclass(frozen=True)
class BetaBernoulli(Prior[Bernoulli, Sums], of=Bernoulli):
    """Prior μ ~ Beta(a, b), equivalent to a earlier ones and b earlier zeros, both > 0."""

    a: Float
    b: Float
    positive = ("a", "b")

    @classmethod
    def weak(cls, facts: Sums, worth: float = 1.0) -> Self:
        """Beta(worth, worth), equivalent to ``worth`` observations of each outcome."""
        each = np.full_like(facts.overall().count, worth)
        return cls(each, each)

    def updated(self, facts: Sums) -> Self:
        ones = facts.total_u[..., 0]
        return type(self)(self.a + ones, self.b + (facts.count - ones))

    @property
    def mode(self) -> Bernoulli:
        """μ = a/(a + b), which is the posterior mean of μ."""
        return Bernoulli(np.log(self.a) - np.log(self.b))

    def log_marginal(self, facts: Sums) -> Float:
        """ln B(a + ones, b + zeros) - ln B(a, b), computed from rising factorials."""
        ones = facts.total_u[..., 0]
        zeros = facts.count - ones
        return log_rising(self.a, ones) + log_rising(self.b, zeros) - log_rising(self.a + self.b, ones + zeros)
