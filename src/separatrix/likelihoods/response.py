# SPDX-License-Identifier: BSD-3-Clause
"""Responses: the distribution of targets about their mean, exponential dispersion models.  McCullagh & Nelder (1989)

    ln p(t | μ, φ) = -d(t, μ)/2φ + c(t, φ),        E t = μ,  var t = φ V(μ)

The unit deviance d is zero at μ = t and positive elsewhere. V is the variance function. c is the log density at μ = t,
the part of the log likelihood that is not in the deviance. Each response computes both (``deviance``, ``saturated``),
and raises an error that names the row of an impossible target (``check_targets``), or if no finite activation has the
mean of the targets (``check_mean``). If it has no dispersion, φ is 1.

No large logarithms are subtracted: for Poisson, gamma and binomial densities, c is computed from the error of
Stirling's formula (`_special.stirling_error`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import LOG_SQRT_2PI, divergence, stirling_error
from separatrix.exceptions import DataError

MAX_TARGET = 1e130  # sums of squares of larger targets overflow
MAX_LOG_MEAN = 600.0  # means beyond e^600 are treated as infinite


def rate(a: Array) -> Float:
    """e^a, at most e^600."""
    return np.exp(np.minimum(a, MAX_LOG_MEAN), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal targets of constant variance: V = 1."""

    name: ClassVar[str] = "gaussian"
    has_dispersion: ClassVar[bool] = True

    def deviance(self, t: Array, mu: Array) -> Float:
        """(t - μ)²."""
        return np.asarray((t - mu) ** 2)

    def saturated(self, t: Array, dispersion: float | Float, trials: Array | None = None) -> Float:
        """-½ ln 2πφ."""
        with np.errstate(divide="ignore"):  # a perfect fit has φ = 0 and an infinite density
            return np.full(np.shape(t), -LOG_SQRT_2PI - 0.5 * np.log(dispersion))

    def check_targets(self, t: Array) -> None:
        """Raise if targets are too large to sum their squares."""
        _refuse_large(t)

    def check_mean(self, mean: float) -> None:
        """Any mean is possible."""


@dataclass(frozen=True, slots=True)
class Binary:
    """Targets 0 and 1, or fractions in between: V = μ (1 - μ)."""

    name: ClassVar[str] = "bernoulli"
    has_dispersion: ClassVar[bool] = False
    remedy: ClassVar[str] = "Code the two classes as 0 and 1, or use fractions."

    def deviance(self, t: Array, mu: Array) -> Float:
        """2 [t ln t/μ + (1 - t) ln (1-t)/(1-μ)]."""
        return 2.0 * (divergence(t, mu) + divergence(1.0 - t, 1.0 - mu))

    def saturated(self, t: Array, dispersion: float | Float, trials: Array | None = None) -> Float:
        """t ln t + (1 - t) ln (1 - t): zero for a 0 or a 1."""
        return np.asarray(special.xlogy(t, t) + special.xlogy(1.0 - t, 1.0 - t))

    def check_targets(self, t: Array) -> None:
        """Raise if a target is outside [0, 1]."""
        _refuse(t, ~((t >= 0) & (t <= 1)), "outside [0, 1]", self.remedy)

    def check_mean(self, mean: float) -> None:
        """Raise if all targets are 0 or all are 1."""
        if mean in (0.0, 1.0):
            raise DataError(
                f"Every target in y (of positive weight) is {mean:g}: the likelihood increases without limit as the "
                f"intercept goes to {'-' if mean == 0 else '+'}infinity. Both kinds of rows are needed."
            )
        _refuse_small_mean(mean)


@dataclass(frozen=True, slots=True)
class Binomial(Binary):
    """Fractions k/n of n trials. The trials are weights, so only c differs from `Binary`."""

    name: ClassVar[str] = "binomial"
    remedy: ClassVar[str] = (
        "Use fractions of successes with the trials as sample_weight, or two columns: successes and failures."
    )

    def saturated(self, t: Array, dispersion: float | Float, trials: Array | None = None) -> Float:
        """ln [C(n, k) (k/n)^k (1 - k/n)^(n-k)]; zero for k = 0 and for k = n."""
        n = np.ones(np.shape(t)) if trials is None else trials
        k, rest = n * t, n * (1.0 - t)
        inside = (k > 0) & (rest > 0)
        n, k, rest = (np.where(inside, count, 1.0) for count in (n, k, rest))
        left = stirling_error(n) - stirling_error(k) - stirling_error(rest)
        return np.where(inside, left + 0.5 * (np.log(n) - np.log(k) - np.log(rest)) - LOG_SQRT_2PI, 0.0)


@dataclass(frozen=True, slots=True)
class Poisson:
    """Counts, or rates with their exposure as weights: V = μ."""

    name: ClassVar[str] = "poisson"
    has_dispersion: ClassVar[bool] = False

    def deviance(self, t: Array, mu: Array) -> Float:
        """2 [t ln t/μ - t + μ]."""
        return 2.0 * divergence(t, mu)

    def saturated(self, t: Array, dispersion: float | Float, trials: Array | None = None) -> Float:
        """ln [t^t e^-t / t!]; zero for t = 0."""
        safe = np.where(t > 0, t, 1.0)
        return np.where(t > 0, -LOG_SQRT_2PI - 0.5 * np.log(safe) - stirling_error(safe), 0.0)

    def check_targets(self, t: Array) -> None:
        """Raise if a count is negative, or too large."""
        _refuse(t, ~(t >= 0), "negative", "Counts are 0, 1, 2, ...")
        _refuse_large(t)

    def check_mean(self, mean: float) -> None:
        """Raise if all counts are 0."""
        if mean == 0.0:
            raise DataError(
                "Every count in y (of positive weight) is 0: the likelihood increases without limit as the intercept "
                "goes to -infinity. Rows with events are needed."
            )
        _refuse_small_mean(mean)


@dataclass(frozen=True, slots=True)
class Gamma:
    """Positive targets with a constant coefficient of variation √s: V = μ²."""

    name: ClassVar[str] = "gamma"
    has_dispersion: ClassVar[bool] = True

    def deviance(self, t: Array, mu: Array) -> Float:
        """2 [t/μ - 1 - ln t/μ]."""
        return 2.0 * divergence(1.0, t / mu)

    def saturated(self, t: Array, dispersion: float | Float, trials: Array | None = None) -> Float:
        """k ln k - k - lnΓ(k) - ln t with k = 1/φ."""
        with np.errstate(divide="ignore"):
            k = np.float64(1.0) / dispersion
        return np.asarray(0.5 * np.log(k) - LOG_SQRT_2PI - stirling_error(k) - np.log(t))

    def check_targets(self, t: Array) -> None:
        """Raise if a target is not positive, or if its square or its inverse is too large."""
        _refuse(t, ~(t > 0), "not positive", "Drop rows of 0, or model separately whether a target is 0.")
        _refuse(t, t < 1 / MAX_TARGET, "too small to invert", "Multiply y by a constant.")
        _refuse_large(t)

    def check_mean(self, mean: float) -> None:
        """Any mean of positive targets is possible."""


Response = Normal | Binary | Poisson | Gamma


def _refuse_small_mean(mean: float) -> None:
    if mean < 1 / MAX_TARGET:  # the variances of the coefficients would overflow
        raise DataError(f"The mean of y is {mean:.3g}, which is too close to 0 for a fit. Check the unit of y.")


def _refuse_large(t: Array) -> None:
    _refuse(t, np.abs(t) > MAX_TARGET, "too large to square", "Divide y by a constant.")


def _refuse(t: Array, wrong: Array, what: str, remedy: str) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        value = f"y is {t[rows[0]]:g} in row {rows[0] + 1} (counted from 1)"
        raise DataError(f"{value}, which is {what} ({len(rows)} of {len(t)} rows). {remedy}")
