# SPDX-License-Identifier: BSD-3-Clause
"""Are some coefficients zero? Three tests.

For q coefficients w_s of P, with D the deviance, U the gradient of the log likelihood and ^ the full fit,

    Wald                ŵ_s' (cov ŵ)_ss⁻¹ ŵ_s
    likelihood ratio    (D(restricted) - D̂)/φ̂
    score               U' I⁻¹ U/φ,  all of it at the restricted fit                        (Rao 1948)

are each χ² with q degrees of freedom for many rows. Where the dispersion is estimated, the first two over q are F with
(q, N - P) degrees of freedom, and for one coefficient √F is Student's t: exactly so for the normal model with identity
link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.discriminative.glm_fit import GLMFit, collect_goodness, inverse
from separatrix.discriminative.restricted import fit_restricted, foretold, null_coefficients

__all__ = ["TESTS", "TestResult", "each_coefficient", "positions", "quantile", "run_test", "wald_tests"]


@dataclass(frozen=True)
class TestResult:
    """Whether some coefficients are all zero.

    ``p_value`` is the probability of a statistic at least this large if they are. ``residual`` is the degrees of
    freedom of the dispersion for an F statistic, and infinite for χ².
    """

    __test__ = False  # not a test case, whatever pytest reads into its name

    method: str
    names: tuple[str, ...]
    statistic: float
    degrees_of_freedom: int
    residual: float
    p_value: float

    def __str__(self) -> str:
        """One line."""
        q, left = self.degrees_of_freedom, self.residual
        law = f"chi2({q})" if np.isinf(left) else f"F({q}, {left:g})"
        which = ", ".join(self.names)
        return f"{self.method} test of {which} = 0: {law} = {self.statistic:.5g}, p = {self.p_value:.3g}"


def wald_statistic(fit: GLMFit, fixed: list[int]) -> tuple[float, bool]:
    """ŵ_s' (cov ŵ)_ss⁻¹ ŵ_s, and that it is one over an estimated dispersion."""
    S, w = fit.dispersion * fit.user_covariance[np.ix_(fixed, fixed)], fit.coefficients[fixed]
    with single_thread_blas():
        return float(w @ np.linalg.solve(S, w)), True


def ratio_statistic(fit: GLMFit, fixed: list[int]) -> tuple[float, bool]:
    """(D(restricted) - D̂)/φ̂."""
    found = _without(fit, fixed)
    return (np.nan if found is None else max(found[0] - fit.goodness.deviance, 0.0) / fit.dispersion), True


def score_statistic(fit: GLMFit, fixed: list[int]) -> tuple[float, bool]:
    """U' I⁻¹ U/φ, all three at the restricted fit; so the dispersion is that of the hypothesis, and this is χ²."""
    found = _without(fit, fixed)
    if found is None:
        return np.nan, False
    theta = fit.of_user_units(found[1])
    here = collect_goodness(fit.posterior, theta)
    U = fit.posterior.value_grad(theta).grad[0]
    phi = fit.dispersion_of(here.pearson, fit.degrees_of_freedom + len(fixed))
    return float(U @ inverse(here.information, fit) @ U) / phi, False


def _without(fit: GLMFit, fixed: list[int]) -> tuple[float, Float] | None:
    """Deviance and coefficients of the model in which some are zero."""
    zero = np.zeros(len(fixed))
    return fit_restricted(fit, fixed, zero, foretold(fit, fixed, zero), null_coefficients(fit))


Statistic = Callable[[GLMFit, list[int]], tuple[float, bool]]
TESTS: dict[str, Statistic] = {
    "wald": wald_statistic,
    "likelihood-ratio": ratio_statistic,
    "score": score_statistic,
}


def run_test(fit: GLMFit, fixed: list[int], method: str) -> TestResult:
    """Whether some coefficients are all zero, by one of `TESTS`."""
    # A perfect fit has no dispersion to compare with, and too few rows have an unknown one.
    chi2, over_dispersion = TESTS[method](fit, fixed) if fit.dispersion > 0 else (np.nan, True)
    q = len(fixed)
    names = tuple(fit.names[j] for j in fixed)
    if over_dispersion and fit.likelihood.response.has_dispersion:
        left = fit.degrees_of_freedom
        return TestResult(method, names, chi2 / q, q, left, float(special.fdtrc(q, left, chi2 / q)))
    return TestResult(method, names, chi2, q, np.inf, float(special.chdtrc(q, chi2)))


def wald_tests(coefficients: Float, errors: Float, residual: float) -> tuple[str, Float, Float]:
    """Name, statistics and p values of coefficients one by one: Student's t, or z where the dispersion is known."""
    statistic = np.divide(coefficients, errors, out=np.full_like(errors, np.nan), where=errors > 0)
    if np.isinf(residual):
        return "z", statistic, 2.0 * special.ndtr(-np.abs(statistic))
    return "t", statistic, 2.0 * special.stdtr(residual, -np.abs(statistic))


def each_coefficient(fit: GLMFit, method: str) -> tuple[str, Float, Float]:
    """Name, statistics and p values of coefficients one by one, by one of `TESTS`."""
    found = [run_test(fit, [j], method) for j in range(len(fit.names))]
    name = "chi2" if np.isinf(found[0].residual) else "F"
    return name, np.array([one.statistic for one in found]), np.array([one.p_value for one in found])


def quantile(level: float, residual: float) -> float:
    """How many standard errors an interval reaches to either side: Student's t, or the normal."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level!r}: choose a number between 0 and 1, for example 0.95.")
    tail = 0.5 * (1.0 + level)
    return float(special.ndtri(tail) if np.isinf(residual) else special.stdtrit(residual, tail))


def positions(columns: Any, names: tuple[str, ...]) -> list[int]:
    """Positions of coefficients given by name or number, one or many."""
    asked = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    known = [c in names if isinstance(c, str) else 0 <= c < len(names) for c in asked]
    if not asked or not all(known):
        raise ValueError(f"columns={columns!r}: choose from {', '.join(map(repr, names))}, or their positions.")
    return sorted({names.index(c) if isinstance(c, str) else int(c) for c in asked})
