# SPDX-License-Identifier: BSD-3-Clause
"""Beta: x in (0, 1), a proportion.                                                   PRML (2.13)

    p(x | a, b) = x^(a-1) (1-x)^(b-1) / B(a, b)
    u(x) = (ln x, ln(1-x)),   h(x) = 1/(x (1-x)),   η = (a, b),   A = ln B(a, b),
    E[u] = (ψ(a) - ψ(a+b), ψ(b) - ψ(a+b))

It is the Dirichlet distribution of (x, 1-x): statistics and equations are shared with `dirichlet`.

Conjugate prior    exp(ν a χ_1 + ν b χ_2) / B(a, b)^ν: ν observations with mean logs χ
Posterior          the same with the observations added
Predictive, marginal: ratios of the normaliser, a double integral over ln a and ln b computed by the trapezoidal rule
                   on a sinh-spaced grid to 1e-8 (about a millisecond for each value of the predictive)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from separatrix._array import Array, Float
from separatrix._special import log_beta, log_minus_digamma
from separatrix.families.dirichlet import (
    ConjugateSimplex,
    centre,
    log_gamma_draws,
    log_kernel,
    maximum,
    maximum_likelihood,
)
from separatrix.families.family import Family, Size, reject, shape_of
from separatrix.families.sufficient_statistics import LogMoments


@dataclass(frozen=True)
class Beta(Family[LogMoments]):
    """p(x) = x^(a-1) (1-x)^(b-1) / B(a, b).

    Parameters
    ----------
    a, b
        Both > 0; the mean is a/(a+b).

    Examples
    --------
    >>> Beta(2.0, 1.0).log_density([0.25, 1.5]).round(4).tolist()
    [-0.6931, -inf]
    """

    a: Float
    b: Float
    positive = ("a", "b")

    @staticmethod
    def u(x: Any) -> Float:
        x = np.asarray(x, dtype=np.float64)
        return np.stack([np.log(x), np.log1p(-x)], axis=-1)

    def log_h(self, x: Any) -> Float:
        return -np.asarray(self.u(x).sum(axis=-1))

    @property
    def natural(self) -> Float:
        return np.stack([self.a, self.b], axis=-1)

    @property
    def log_normaliser(self) -> Float:
        return log_beta(self.a, self.b)

    @property
    def mean_u(self) -> Float:
        alpha = self.natural
        s = alpha.sum(axis=-1, keepdims=True)
        return np.asarray(np.log(alpha / s) - log_minus_digamma(alpha) + log_minus_digamma(s))

    @property
    def mean(self) -> Float:
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> Float:
        s = self.a + self.b
        return (self.a / s) * (self.b / s) / (s + 1)

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        eta = np.asarray(eta)
        return cls(eta[..., 0], eta[..., 1])

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """From the mean logs; `ml` is more accurate if x hardly varies."""
        return cls.of_natural(maximum(*centre(np.asarray(mean_u, dtype=np.float64))))

    def log_density(self, x: Any) -> Float:
        """The kernel at (x, 1-x), and ln h."""
        x = np.asarray(x, dtype=np.float64)
        ok = (x > 0) & (x < 1)
        parts = ConjugateBeta.parts(np.where(ok, x, 0.5))
        inside = log_kernel(self.natural, parts, np.zeros(2)) - np.log(parts).sum(axis=-1)
        return np.where(ok, inside, -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Proportions; draws that round to 0 or 1 are replaced by the nearest float inside (0, 1)."""
        draws = log_gamma_draws(rng, self.natural, shape_of(size, (*self.batch, 2)))
        x = 1.0 / (1.0 + np.exp(np.minimum(draws[..., 1] - draws[..., 0], 700.0)))
        return np.clip(x, np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        remedy = "Divide percentages by 100; for exact 0 or 1 use another family (normal, or bernoulli)."
        reject(
            ~(np.isnan(x) | ((x > 0) & (x < 1))),
            x,
            columns,
            want="a beta column must contain values strictly between 0 and 1",
            remedy=remedy,
        )

    @classmethod
    def facts(cls, x: Array, R: Array) -> LogMoments:
        return LogMoments.of(ConjugateBeta.parts(np.asarray(x, dtype=np.float64)), R)

    @classmethod
    def ml(cls, facts: LogMoments) -> Self:
        """ψ(a) - ψ(a+b) = mean ln x, and the same for 1-x."""
        return cls.of_natural(maximum_likelihood(facts))


@dataclass(frozen=True)
class ConjugateBeta(ConjugateSimplex[Beta], of=Beta):
    """p(a, b) ∝ exp(ν a χ_1 + ν b χ_2) / B(a, b)^ν: ``count`` ν observations, the ``mean`` of (x, 1-x) and their
    ``gap``, ν (ln mean - χ), both (..., 2).
    """

    count: Float
    mean: Float
    gap: Float

    @staticmethod
    def parts(x: Any) -> Float:
        return np.stack([x, 1.0 - np.asarray(x)], axis=-1)

    @staticmethod
    def distribution(alpha: Float) -> Beta:
        return Beta.of_natural(alpha)
