# SPDX-License-Identifier: BSD-3-Clause
"""Likelihoods of generalised linear models: a `Response` whose mean is a function of the activation, μ = μ(a).

    ln p = -½ d(t, μ(a)),     slope (t - μ) μ'/V,     expected curvature μ'²/V              PRML §4.3.6

``log_p`` is minus half the unit deviance, so its maximum is 0. It omits large terms in t alone, which would cancel if
large counts are fitted well. Deviances are computed from a, not from μ, because 1 - μ and ln μ are imprecise in the
tails.

A mean beyond e^600 is treated as infinite: ``log_p`` is -infinity, so that a solver rejects the step, and slopes are
bounded, so that no sum over rows overflows. The same holds outside the domain of the inverse link.

`LIKELIHOODS` lists the links of each response; the first is canonical and the default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import factorial
from typing import ClassVar, Protocol

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix.likelihoods.base import Derivatives, Likelihood, LogConcave, MeanDerivatives
from separatrix.likelihoods.cloglog import CLogLog, cloglog
from separatrix.likelihoods.logit import Logit
from separatrix.likelihoods.probit import Probit
from separatrix.likelihoods.response import MAX_LOG_MEAN, Binary, Binomial, Gamma, Normal, Poisson, Response, rate

MIN_INVERSE_MEAN = np.exp(-0.5 * MAX_LOG_MEAN)  # keeps the squared mean below e^600
EXP_SERIES = [1 / factorial(k) for k in range(2, 17)]  # series of (e^z - 1 - z)/z², exact to rounding for |z| < ½


class MeanLikelihood(Likelihood, Protocol):
    """Likelihood of a generalised linear model: one activation per row, which determines the mean."""

    @property
    def response(self) -> Response:
        """Distribution of the targets about the mean."""

    @property
    def link(self) -> str:
        """Name of the link function a(μ)."""

    def mean(self, a: Array) -> Float:
        """μ(a)."""

    def mean_derivatives(self, a: Array) -> MeanDerivatives:
        """μ(a), μ'(a) and μ''(a)."""

    def activation(self, mu: Array) -> Float:
        """a(μ), the link function."""

    def expected_curvature(self, a: Array) -> Float:
        """E[-∂² ln p/∂a²] = μ'²/V, Fisher's information about a."""


class LogLink:
    """ln μ = a."""

    __slots__ = ()

    link: ClassVar[str] = "log"

    def mean(self, a: Array) -> Float:
        """e^a."""
        with np.errstate(over="ignore"):
            return np.exp(a)

    def mean_derivatives(self, a: Array) -> MeanDerivatives:
        """e^a, three times."""
        return MeanDerivatives(*[self.mean(a)] * 3)

    def activation(self, mu: Array) -> Float:
        """ln μ."""
        return np.log(mu)


@dataclass(frozen=True, slots=True)
class NormalIdentity(LogConcave):
    """Least squares: μ = a."""

    response: ClassVar[Normal] = Normal()
    link: ClassVar[str] = "identity"

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """-½ (t - a)², t - a, 1."""
        rest = t - a
        with np.errstate(over="ignore"):
            return Derivatives(-0.5 * rest**2, rest, np.ones(len(a)))

    def expected_curvature(self, a: Array) -> Float:
        """1."""
        return np.ones(len(a))

    def mean(self, a: Array) -> Float:
        """The activation."""
        return np.asarray(a)

    def mean_derivatives(self, a: Array) -> MeanDerivatives:
        """a, 1, 0."""
        return MeanDerivatives(np.asarray(a), np.ones(len(a)), np.zeros(len(a)))

    def activation(self, mu: Array) -> Float:
        """The mean."""
        return np.asarray(mu)


@dataclass(frozen=True, slots=True)
class NormalLog(LogLink):
    """Normal targets of constant variance with mean μ = e^a. Not log-concave."""

    response: ClassVar[Normal] = Normal()
    n_outputs: ClassVar[int] = 1
    is_log_concave: ClassVar[bool] = False

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """-½ (t - μ)², (t - μ) μ, (2μ - t) μ."""
        mu = np.exp(np.minimum(a, 0.5 * MAX_LOG_MEAN))  # keeps the squared mean below e^600
        rest = t - mu
        log_p = np.where(a > 0.5 * MAX_LOG_MEAN, -np.inf, -0.5 * rest**2)
        return Derivatives(log_p, rest * mu, (mu - rest) * mu)

    def safe_curvature(self, a: Array, t: Array) -> Float:
        """The expected curvature."""
        return self.expected_curvature(a)

    def expected_curvature(self, a: Array) -> Float:
        """μ²."""
        return rate(2.0 * a)


@dataclass(frozen=True, slots=True)
class PoissonLog(LogLink, LogConcave):
    """Counts with rates μ = e^a; the canonical link."""

    response: ClassVar[Poisson] = Poisson()

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """-[t ln t/μ - t + μ], t - μ, μ."""
        mu = rate(a)
        counted = t > 0
        z = np.where(counted, a - np.log(np.where(counted, t, 1.0)), 0.0)  # ln μ/t
        near = counted & (np.abs(z) < 0.5)
        half = np.where(near, t * _series(np.where(near, z, 0.0)), mu - t - t * z)
        return Derivatives(np.where(a > MAX_LOG_MEAN, -np.inf, -half), t - mu, mu)

    def expected_curvature(self, a: Array) -> Float:
        """μ."""
        return rate(a)


@dataclass(frozen=True, slots=True)
class GammaInverse(LogConcave):
    """Positive targets with mean μ = 1/a, a > 0; the canonical link."""

    response: ClassVar[Gamma] = Gamma()
    link: ClassVar[str] = "inverse"

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """-[t/μ - 1 - ln t/μ], μ - t, μ²; log_p is minus infinity if a is not positive."""
        inside = a >= MIN_INVERSE_MEAN
        b = np.where(inside, a, 1.0)
        z = np.where(inside, np.log(t) + np.log(b), 0.0)
        mu = 1.0 / b
        log_p = np.where(inside, -_excess(z), -np.inf)
        return Derivatives(log_p, mu - t, mu**2)

    def expected_curvature(self, a: Array) -> Float:
        """μ²."""
        return np.asarray(np.where(a >= MIN_INVERSE_MEAN, a, 1.0) ** -2.0)

    def mean(self, a: Array) -> Float:
        """1/a; NaN if a is not positive, because no mean exists."""
        inside = a >= MIN_INVERSE_MEAN
        return np.where(inside, 1.0 / np.where(inside, a, 1.0), np.nan)

    def mean_derivatives(self, a: Array) -> MeanDerivatives:
        """μ, -μ², 2 μ³."""
        mu = self.mean(a)
        return MeanDerivatives(mu, -(mu**2), 2.0 * mu**3)

    def activation(self, mu: Array) -> Float:
        """1/μ."""
        return np.asarray(1.0 / mu)


@dataclass(frozen=True, slots=True)
class GammaLog(LogLink, LogConcave):
    """Positive targets with mean μ = e^a."""

    response: ClassVar[Gamma] = Gamma()

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """-[t/μ - 1 - ln t/μ], t/μ - 1, t/μ."""
        z = np.log(t) - a
        ratio = rate(z)
        return Derivatives(-_excess(z), ratio - 1.0, ratio)

    def expected_curvature(self, a: Array) -> Float:
        """1."""
        return np.ones(len(a))


@dataclass(frozen=True)
class Bernoulli(LogConcave):
    """Binary targets or fractions, with a binary likelihood: logit, probit or cloglog.

    ``quantile`` is the inverse of its ``probability``.
    """

    binary: Logit | Probit | CLogLog
    link: str
    quantile: Callable[[Array], Array] = field(repr=False)  # an address would differ between runs
    response: Binary

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """Derivatives of the binary likelihood. ln p is relative to its maximum, at which μ is the fraction t."""
        found = self.binary.derivatives(a, t)
        if t.dtype.kind != "f":
            return found
        return found._replace(log_p=found.log_p - Binary().saturated(t, 1.0))

    def expected_curvature(self, a: Array) -> Float:
        """μ'/μ times μ'/(1-μ), as minus the product of the slopes for targets 1 and 0, without subtraction."""
        ones = np.ones(len(a), dtype=np.intp)
        return -self.binary.derivatives(a, ones).slope * self.binary.derivatives(a, 0 * ones).slope

    def mean(self, a: Array) -> Float:
        """p(t = 1 | a)."""
        return np.asarray(self.binary.probability(a))

    def mean_derivatives(self, a: Array) -> MeanDerivatives:
        """p(t = 1 | a), p' and p''."""
        return self.binary.mean_derivatives(a)

    def activation(self, mu: Array) -> Float:
        """The quantile of μ."""
        return np.asarray(self.quantile(mu))


def _excess(z: Array) -> Float:
    """e^z - 1 - z, exact to rounding near zero, never negative, and infinite for z > 600."""
    near = np.abs(z) < 0.5
    far = np.where(z > MAX_LOG_MEAN, np.inf, rate(z) - 1.0 - z)
    return np.where(near, _series(np.where(near, z, 0.0)), far)


def _series(z: Array) -> Float:
    return np.asarray(z * z * np.polynomial.polynomial.polyval(z, EXP_SERIES))


# Module functions instead of ufuncs, because pickling a ufunc is slow.
def log_odds(mu: Array) -> Array:
    """ln μ/(1 - μ)."""
    return np.asarray(special.logit(mu))


def normal_quantile(mu: Array) -> Array:
    """Φ⁻¹(μ)."""
    return np.asarray(special.ndtri(mu))


def _binary(response: Binary) -> dict[str, Callable[[], MeanLikelihood]]:
    return {
        "logit": lambda: Bernoulli(Logit(), "logit", log_odds, response),
        "probit": lambda: Bernoulli(Probit(), "probit", normal_quantile, response),
        "cloglog": lambda: Bernoulli(CLogLog(), "cloglog", cloglog, response),
    }


LIKELIHOODS: dict[str, dict[str, Callable[[], MeanLikelihood]]] = {
    "gaussian": {"identity": NormalIdentity, "log": NormalLog},
    "bernoulli": _binary(Binary()),
    "binomial": _binary(Binomial()),
    "poisson": {"log": PoissonLog},
    "gamma": {"inverse": GammaInverse, "log": GammaLog},
}


def mean_likelihood(family: str, link: str | None = None) -> MeanLikelihood:
    """Likelihood of a response with a link, by default the canonical link."""
    links = LIKELIHOODS[family]
    return links[next(iter(links)) if link is None else link]()
