# SPDX-License-Identifier: BSD-3-Clause
"""Tests and intervals of a generalised linear model.

**Tests.** The hypothesis is that q of P coefficients, w_s, are zero. With the deviance D, the gradient U of the log
likelihood, and a hat for the full fit, the statistics

    Wald                ŵ_s' (cov ŵ)_ss⁻¹ ŵ_s
    likelihood ratio    (D(restricted) - D̂)/φ̂
    score               U' I⁻¹ U/φ,  all at the restricted fit                               (Rao 1948)

are asymptotically χ² with q degrees of freedom. If the dispersion is estimated, the first two divided by q are F with
(q, N - P) degrees of freedom, and for one coefficient √F is Student's t. These distributions are exact for the normal
model with identity link.

**Profile intervals** contain every value b of a coefficient that a likelihood-ratio test does not reject:

    √[(D(w_j = b) - D̂)/φ̂] <= reach,       D minimised over all other coefficients

The left-hand side is nearly linear in b on each side of the estimate, so the secant method finds the limits in a few
restricted fits.

**Restricted fits** move the columns of the fixed coefficients to the offset. They start from the conditional mean
given by the covariance of the full fit, so they need few steps. Coefficients here are vectors (w, w0) in the user's
units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from separatrix._arguments import as_float
from separatrix._array import Codes, Float
from separatrix._threads import single_thread_blas
from separatrix.discriminative.glm_fit import GLMFit
from separatrix.exceptions import DataError
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import Posterior, Units
from separatrix.stats import Design

PROFILE_TOL = 1e-7  # relative tolerance of the limits of a profile interval


@dataclass(frozen=True)
class TestResult:
    """Test whether some coefficients are all zero.

    ``p_value`` is the probability of a statistic at least this large if they are zero. ``residual`` is the residual
    degrees of freedom of an F statistic, and infinite for χ².
    """

    __test__ = False  # not a test case for pytest

    method: str
    names: tuple[str, ...]
    statistic: float
    degrees_of_freedom: int
    residual: float
    p_value: float

    def __str__(self) -> str:
        q, left = self.degrees_of_freedom, self.residual
        law = f"chi2({q})" if np.isinf(left) else f"F({q}, {left:g})"
        which = ", ".join(self.names)
        return f"{self.method} test of {which} = 0: {law} = {self.statistic:.5g}, p = {self.p_value:.3g}"


def fit_restricted(fit: GLMFit, fixed: list[int], values: Float, *starts: Float) -> tuple[float, Float] | None:
    """Deviance and coefficients of the fit with some coefficients fixed to given values, from the best start.

    Return None if the deviance is infinite at every start.
    """
    full = fit.posterior
    P, M = full.design.width, len(full.design.origin)
    free = np.setdiff1d(np.arange(P), fixed)
    w = np.zeros(P)
    w[fixed] = values
    m, held, bias = free[free < M], np.array([j for j in fixed if j < M], dtype=np.intp), M in free
    view = partial(hold_columns, free=m, held=held, values=w[held], constant=float(w[M:].sum()))
    source = full.source.viewed(view, tuple(full.source.columns[j] for j in m))
    mean, spread = full.units.mean[m], full.units.spread[m]
    if full.design.bias and not bias:
        spread = np.hypot(mean, spread)  # without a bias, columns are not centred
    units: Units = replace(full.units, mean=mean, spread=spread)
    design = Design(full.design.origin[m], True, full.design.subtract) if bias else Design(np.zeros(len(m)), False)
    prior = Penalty(np.zeros((1, len(free))), np.zeros(len(free)))
    model = Posterior(source, full.likelihood, prior, design, units)
    thetas = [design.of_user_units(start[m][None], start[M : M + bias]) for start in starts]
    value, theta = min(((model.value_grad(theta).value, theta) for theta in thetas), key=lambda point: point[0])
    if not np.isfinite(value):
        return None
    if theta.size:
        solution = replace(fit.solver, trace=True).minimise(model, theta)
        value, theta = solution.trace[-1].value, solution.value
    coef, intercept = design.in_user_units(theta)
    w[free] = np.append(coef[0], intercept)[: len(free)]
    return 2.0 * value, w


def hold_columns(block: Block, free: Codes, held: Codes, values: Float, constant: float) -> Block:
    """Keep the free columns; add the held columns times their coefficients to the offset."""
    known = np.asarray(block.X[:, held] @ values, dtype=np.float64) + constant
    return replace(block, X=block.X[:, free], offset=known if block.offset is None else block.offset + known)


def conditional_mean(fit: GLMFit, fixed: list[int], values: Float) -> Float:
    """Normal approximation of a restricted fit: the conditional mean given the fixed coefficients."""
    S, w = fit.user_covariance, fit.coefficients
    with single_thread_blas():
        pull = np.linalg.solve(S[np.ix_(fixed, fixed)], values - w[fixed])
    moved = w + S[:, fixed] @ pull
    moved[fixed] = values
    return np.asarray(moved)


def _fit_without(fit: GLMFit, fixed: list[int]) -> tuple[float, Float] | None:
    """Deviance and coefficients of the model in which some coefficients are zero."""
    zero, null = np.zeros(len(fixed)), np.zeros(fit.posterior.design.width)
    null[len(fit.posterior.design.origin) :] = fit.null.activation
    return fit_restricted(fit, fixed, zero, conditional_mean(fit, fixed, zero), null)


def wald_statistic(fit: GLMFit, fixed: list[int]) -> float:
    """ŵ_s' (cov ŵ)_ss⁻¹ ŵ_s."""
    S, w = fit.dispersion * fit.user_covariance[np.ix_(fixed, fixed)], fit.coefficients[fixed]
    with single_thread_blas():
        return float(w @ np.linalg.solve(S, w))


def ratio_statistic(fit: GLMFit, fixed: list[int]) -> float:
    """(D(restricted) - D̂)/φ̂."""
    found = _fit_without(fit, fixed)
    return np.nan if found is None else max(found[0] - fit.goodness.deviance, 0.0) / fit.dispersion


def score_statistic(fit: GLMFit, fixed: list[int]) -> float:
    """U' I⁻¹ U/φ at the restricted fit."""
    found = _fit_without(fit, fixed)
    if found is None:
        return np.nan
    M = len(fit.posterior.design.origin)
    theta = fit.posterior.design.of_user_units(found[1][None, :M], found[1][M:])
    here = fit.goodness_at(theta)
    U = fit.posterior.value_grad(theta).grad[0]
    phi = fit.dispersion_of(here.pearson, fit.degrees_of_freedom + len(fixed))
    return float(U @ fit.inverse(here.information) @ U) / phi


TESTS: dict[str, Callable[[GLMFit, list[int]], float]] = {
    "wald": wald_statistic,
    "likelihood-ratio": ratio_statistic,
    "score": score_statistic,
}


def run_test(fit: GLMFit, fixed: list[int], method: str) -> TestResult:
    """Test whether some coefficients are all zero, by one of `TESTS`."""
    # The dispersion of a perfect fit is zero, and with too few rows it is unknown.
    chi2 = TESTS[method](fit, fixed) if fit.dispersion > 0 else np.nan
    q, names = len(fixed), tuple(fit.names[j] for j in fixed)
    # A score statistic is χ², because φ is also estimated under the hypothesis.
    if method != "score" and fit.likelihood.response.has_dispersion:
        left = fit.degrees_of_freedom
        return TestResult(method, names, chi2 / q, q, left, float(special.fdtrc(q, left, chi2 / q)))
    return TestResult(method, names, chi2, q, np.inf, float(special.chdtrc(q, chi2)))


def each_coefficient(fit: GLMFit, method: str) -> dict[str, Float]:
    """Statistics and p values of single coefficients, by one of `TESTS`."""
    found = [run_test(fit, [j], method) for j in range(len(fit.names))]
    name = "chi2" if np.isinf(found[0].residual) else "F"
    return {name: np.array([one.statistic for one in found]), "p": np.array([one.p_value for one in found])}


def quantile(level: float, residual: float) -> float:
    """Half-width of an interval in standard errors: a quantile of Student's t or of the normal distribution."""
    if not 0.0 < as_float(level) < 1.0:
        raise ValueError(f"level={level!r}: choose a number between 0 and 1, for example 0.95.")
    tail = 0.5 * (1.0 + float(level))
    return float(special.ndtri(tail) if np.isinf(residual) else special.stdtrit(residual, tail))


def positions(columns: Any, names: tuple[str, ...]) -> list[int]:
    """Positions of one or several coefficients, given by name or position."""
    wanted = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    known = [c in names if isinstance(c, str) else 0 <= c < len(names) for c in wanted]
    if not wanted or not all(known):
        raise ValueError(f"columns={columns!r}: choose from {', '.join(map(repr, names))}, or their positions.")
    return sorted({names.index(c) if isinstance(c, str) else int(c) for c in wanted})


def profile_interval(fit: GLMFit, j: int, reach: float) -> tuple[float, float]:
    """All b with √[(D(w_j = b) - D̂)/φ̂] <= reach; a limit is infinite if the deviance never rises that much."""
    center = float(fit.coefficients[j])
    error = float(np.sqrt(fit.dispersion * fit.user_covariance[j, j]))
    if not (error > 0 and np.isfinite(reach)):  # perfect fit, or too few rows to estimate the dispersion
        return center - reach * error, center + reach * error
    below, above = (_distance(fit, j, side, reach, error) for side in (-1.0, 1.0))
    return center - below, center + above


def _distance(fit: GLMFit, j: int, side: float, reach: float, error: float) -> float:
    """The x with √[(D(w_j = ŵ_j ± x) - D̂)/φ̂] = reach, by the secant method in a bracket.

    Each fit starts from the nearest fit inside the interval.
    """
    w, center = fit.coefficients, float(fit.coefficients[j])
    tangent = conditional_mean(fit, [j], np.array([center + side])) - w
    low, high = (0.0, 0.0), (np.inf, np.inf)
    x, before = reach * error, (0.0, 0.0)
    for _ in range(100):
        found = fit_restricted(fit, [j], np.array([center + side * x]), w + (x - low[0]) * tangent, w)
        z = np.inf if found is None else float(np.sqrt(max(found[0] - fit.goodness.deviance, 0.0) / fit.dispersion))
        if abs(z - reach) <= PROFILE_TOL * reach:
            return x
        if found is not None and z < reach:
            low, w = (x, z), found[1]
            if np.isinf(high[1]):  # a fit there failed from a farther start: try again from here
                high = (np.inf, np.inf)
        else:
            high = (x, z)
        slope = (z - before[1]) / (x - before[0]) if np.isfinite(z) and x != before[0] else 0.0
        guess = x + (reach - z) / slope if slope > 0 else np.inf
        before = (x, z) if np.isfinite(z) else low
        if not low[0] < guess < high[0] or guess > 4.0 * low[0] + reach * error:
            guess = 0.5 * (low[0] + high[0]) if np.isfinite(high[0]) else 4.0 * low[0]
        if guess > 1e8 * reach * error:
            return np.inf
        x = guess
    raise DataError(f"100 fits did not find the limit of the profile interval, more than {low[0]:g} from the estimate.")
