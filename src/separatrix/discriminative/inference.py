# SPDX-License-Identifier: BSD-3-Clause
"""Tests and profile intervals of a maximum-likelihood estimate.

**Tests.** The hypothesis is that q linear functions of the weights are zero, A θ = 0. With the deviance D, the gradient
U of the log likelihood, and a hat for the full fit, the statistics

    Wald                θ̂'A' (A cov θ̂ A')⁻¹ A θ̂
    likelihood ratio    (D(restricted) - D̂)/φ̂
    score               U' I⁻¹ U/φ,  all at the restricted fit                               (Rao 1948)

are asymptotically χ² with q degrees of freedom. If the dispersion is estimated, the first two divided by q are F with
(q, N - P) degrees of freedom, and for one coefficient √F is Student's t. These distributions are exact for the normal
model with identity link.

**Profile intervals** contain every value b of a coefficient that a likelihood-ratio test does not reject:

    √[(D(a'θ = b) - D̂)/φ̂] <= reach,       D minimised over all θ with this coefficient

The left-hand side is nearly linear in b on each side of the estimate, so the secant method finds the limits in a few
restricted fits.

**Restricted fits** minimise D subject to A θ = values by Newton's method. A step along which A does not change solves
the same equations if A'WA is added to the Hessian H, which also makes directions definite that only A determines:

    δ = -K⁻¹ [g - A' (A K⁻¹ A')⁻¹ A K⁻¹ g],       K = H + A'WA

They start from the conditional mean given by the covariance of the full fit, so they need few steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, special

from separatrix._arguments import as_float
from separatrix._array import Float
from separatrix._output import Tabular
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError
from separatrix.solvers import Posterior, descend, factorise
from separatrix.weights import WeightDistribution, interval_tails

PROFILE_TOL = 1e-7  # relative tolerance of the limits of a profile interval
RESTRICTED_TOL = 1e-9  # predicted decrease of the deviance, in dispersions, at which a restricted fit stops
MAX_RESTRICTED_STEPS = 100


@dataclass(frozen=True, repr=False)
class TestResult(Tabular):
    """Test whether coefficients have the values of a ``hypothesis``, {name: value}.

    ``p_value`` is the probability of a statistic at least this large under the hypothesis. ``residual`` is the residual
    degrees of freedom of an F statistic, and infinite for χ².
    """

    __test__ = False  # not a test case for pytest

    method: str
    hypothesis: Mapping[str, float]
    statistic: float
    degrees_of_freedom: int
    residual: float
    p_value: float

    @property
    def names(self) -> tuple[str]:
        """The hypothesis as text, such as "age, income = 0"."""
        if not any(self.hypothesis.values()):
            return (f"{', '.join(self.hypothesis)} = 0",)
        return (", ".join(f"{name} = {value:g}" for name, value in self.hypothesis.items()),)

    @property
    def columns(self) -> dict[str, Any]:
        """The numbers by name."""
        freedom = {"degrees_of_freedom": [self.degrees_of_freedom]}
        if np.isinf(self.residual):
            return {"chi2": [self.statistic], **freedom, "p": [self.p_value]}
        return {"F": [self.statistic], **freedom, "residual": [self.residual], "p": [self.p_value]}

    @property
    def title(self) -> str:
        """The kind of test."""
        return f"{self.method} test"

    notes, formats = (), {"p": "p", "degrees_of_freedom": "d"}

    def __str__(self) -> str:
        q, left = self.degrees_of_freedom, self.residual
        law = f"chi2({q})" if np.isinf(left) else f"F({q}, {left:g})"
        return f"{self.title} of {self.names[0]}: {law} = {self.statistic:.5g}, p = {self.p_value:.3g}"


@dataclass(frozen=True, eq=False)
class Estimate:
    """A maximum-likelihood estimate θ̂ (C, P) with what tests need.

    Half the deviance is the objective. ``covariance`` (CP, CP) does not include the ``dispersion``. ``residual`` are
    the degrees of freedom of Student's t, infinite if the dispersion is known. ``null`` are the weights of the model
    without columns. ``at_score`` returns I⁻¹ and the dispersion at the weights of a fit with q restrictions.
    """

    objective: Posterior
    theta: Float
    covariance: Float
    deviance: float
    dispersion: float
    residual: float
    null: Float
    at_score: Callable[[Float, int], tuple[Float, float]]

    def conditional_mean(self, A: Float, values: Float) -> Float:
        """Normal approximation of a restricted fit: the conditional mean given A θ = values."""
        S, gap = self.covariance, values - A @ self.theta.ravel()
        with single_thread_blas():
            return np.asarray(self.theta + (S @ A.T @ linalg.lstsq(A @ S @ A.T, gap)[0]).reshape(self.theta.shape))

    def restricted(self, A: Float, values: Float, *starts: Float) -> tuple[float, Float] | None:
        """Deviance and weights of the fit with A θ = values, from the best start; None if all deviances are infinite.

        Each start is moved as little as possible, in units of the columns, to satisfy A θ = values.
        """
        objective, shape = self.objective, self.theta.shape
        inverse = np.tile(1.0 / objective.column_units, len(self.theta))
        back = inverse[:, None] * linalg.pinv(A * inverse)
        thetas = [start + (back @ (values - A @ start.ravel())).reshape(shape) for start in starts]
        value, theta = min(((objective.value_grad(theta).value, theta) for theta in thetas), key=lambda at: at[0])
        if not np.isfinite(value):
            return None
        here = objective.value_grad_hess(theta)
        for _ in range(MAX_RESTRICTED_STEPS):
            step = self._step(A, here, theta)
            if -2.0 * float(np.vdot(here.grad, step)) <= RESTRICTED_TOL * self.dispersion:
                break
            moved, _ = descend(objective.value_grad_hess, theta, here, step, rounding=objective.units.rounding)
            if moved is None:
                break
            theta, here = moved
        return 2.0 * here.value, theta

    def _step(self, A: Float, here: Any, theta: Float) -> Float:
        """Newton's step among weights with the same A θ."""
        (C, P), hess, likelihood = theta.shape, here.hess, self.objective.likelihood
        if not likelihood.is_log_concave:
            is_definite = linalg.lapack.dpotrf(hess, lower=True)[1] == 0
            hess = hess if is_definite else self.objective.value_grad_hess(theta, exact=False).hess
        size = hess.diagonal() + np.finfo(np.float64).tiny
        factor = factorise(hess + (A.T / (A**2 / size).sum(axis=1)) @ A, C, np.ones(P, dtype=bool))
        plain, along = factor.solve(here.grad).ravel(), np.stack([factor.solve(a) for a in A], axis=1)
        with single_thread_blas():
            push = linalg.lstsq(A @ along, A @ plain)[0]
        return np.asarray(along @ push - plain).reshape(C, P)


def _fit_without(fit: Estimate, A: Float, values: Float) -> tuple[float, Float] | None:
    """Deviance and weights of the model in which A θ has the values."""
    return fit.restricted(A, values, fit.conditional_mean(A, values), fit.null)


def ratio_statistic(fit: Estimate, A: Float, values: Float) -> float:
    """(D(restricted) - D̂)/φ̂."""
    found = _fit_without(fit, A, values)
    return np.nan if found is None else max(found[0] - fit.deviance, 0.0) / fit.dispersion


def score_statistic(fit: Estimate, A: Float, values: Float) -> float:
    """U' I⁻¹ U/φ at the restricted fit."""
    found = _fit_without(fit, A, values)
    if found is None:
        return np.nan
    U = fit.objective.value_grad(found[1]).grad.ravel()
    inverse, phi = fit.at_score(found[1], len(A))
    return float(U @ inverse @ U) / phi


TESTS = ("wald", "likelihood-ratio", "score")
STATISTICS = {"likelihood-ratio": ratio_statistic, "score": score_statistic}


def wald_test(distribution: WeightDistribution, A: Float, values: Float, hypothesis: Mapping[str, float]) -> TestResult:
    """Test whether A θ has the values, by the distribution of the estimate alone: (A θ̂)' (A cov θ̂ A')⁻¹ A θ̂."""
    estimate: Any = distribution.approximation
    S, gap = A @ estimate.covariance @ A.T, A @ estimate.mean.ravel() - values
    with single_thread_blas():
        chi2 = float(gap @ np.linalg.solve(S, gap)) if np.isfinite(S).all() and S.any() else np.nan
    return result_of("wald", chi2, len(A), estimate.freedom, hypothesis)


def run_test(fit: Estimate, A: Float, values: Float, hypothesis: Mapping[str, float], method: str) -> TestResult:
    """Test whether A θ has the values, by one of `STATISTICS`."""
    # The dispersion of a perfect fit is zero, and with too few rows it is unknown.
    chi2 = STATISTICS[method](fit, A, values) if fit.dispersion > 0 else np.nan
    # A score statistic is χ², because φ is also estimated under the hypothesis.
    return result_of(method, chi2, len(A), np.inf if method == "score" else fit.residual, hypothesis)


def result_of(method: str, chi2: float, q: int, freedom: float, hypothesis: Mapping[str, float]) -> TestResult:
    """Result of a test of q restrictions: F if the dispersion has finite degrees of ``freedom``, otherwise χ²."""
    if np.isinf(freedom):
        return TestResult(method, hypothesis, chi2, q, np.inf, float(special.chdtrc(q, chi2)))
    return TestResult(method, hypothesis, chi2 / q, q, freedom, float(special.fdtrc(q, freedom, chi2 / q)))


def half_width(level: float, residual: float) -> float:
    """Half-width of an interval in standard errors: a quantile of Student's t or of the normal distribution."""
    tail = interval_tails("summary", level)[1]
    return float(special.ndtri(tail) if np.isinf(residual) else special.stdtrit(residual, tail))


def hypothesis_of(columns: Any, names: tuple[str, ...]) -> tuple[Float, dict[str, float]]:
    """Linear functions (q, P) of the coefficients, and their values under a hypothesis by name.

    Coefficients are given by name or position, in a list or as a mapping to values; ``"a = b"`` states that two are
    equal.
    """
    listed = [columns] if isinstance(columns, str | int | np.integer) else columns
    wanted = columns if isinstance(columns, Mapping) else dict.fromkeys(map(plain, listed), 0.0)
    rows: dict[str, Float] = {}
    for column in wanted:
        left, equals, right = ("", "", "") if column in names else str(column).rpartition(" = ")
        pair = (left, right) if equals else (column,)
        known = [c in names if isinstance(c, str) else type(c) is not bool and 0 <= c < len(names) for c in pair]
        if not all(known):
            break
        at = [names.index(c) if isinstance(c, str) else int(c) for c in pair]
        row = np.eye(len(names))[at[0]] - (np.eye(len(names))[at[1]] if equals else 0.0)
        rows[" - ".join(names[c] for c in at)] = row
    if not rows or len(rows) < len(wanted):
        raise ValueError(
            f"columns={columns!r}: choose from {', '.join(map(repr, names))}, or their positions; 'a = b' tests "
            "whether two coefficients are equal, and {name: value} whether one has a value."
        )
    values = [as_float(value) for value in wanted.values()]
    if not np.isfinite(values).all():
        raise ValueError(f"columns={columns!r}: the values of a hypothesis must be finite numbers.")
    return np.stack(list(rows.values())), dict(zip(rows, values, strict=True))


def plain(column: Any) -> Any:
    """The column itself if it is a name or a position; otherwise, as for an array, a text that is neither."""
    return column if isinstance(column, str | int | np.integer) else repr(column)


def profile_interval(fit: Estimate, a: Float, reach: float) -> tuple[float, float]:
    """All b - a'θ̂ with √[(D(a'θ = b) - D̂)/φ̂] <= reach; infinite if the deviance never rises that much."""
    error = float(np.sqrt(fit.dispersion * (a @ fit.covariance @ a)))
    if not (error > 0 and np.isfinite(reach)):  # perfect fit, or too few rows to estimate the dispersion
        return -reach * error, reach * error
    below, above = (profile_distance(fit, a, side, reach, reach * error) for side in (-1.0, 1.0))
    return -below, above


def profile_distance(fit: Estimate, a: Float, side: float, reach: float, first: float) -> float:
    """The x with √[(D(a'θ = a'θ̂ ± x) - D̂)/φ̂] = reach, by the secant method in a bracket.

    The first trial is x = ``first``, and each fit starts from the nearest fit inside the interval.
    """
    A, center = a[None], float(a @ fit.theta.ravel())
    theta, tangent = fit.theta, fit.conditional_mean(A, np.array([center + side])) - fit.theta
    low, high = (0.0, 0.0), (np.inf, np.inf)
    x, before = first, (0.0, 0.0)
    for _ in range(100):
        starts = theta + (x - low[0]) * tangent, theta
        found = fit.restricted(A, np.array([center + side * x]), *starts)
        z = np.inf if found is None else float(np.sqrt(max(found[0] - fit.deviance, 0.0) / fit.dispersion))
        if abs(z - reach) <= PROFILE_TOL * reach:
            return x
        if found is not None and z < reach:
            low, theta = (x, z), found[1]
            if np.isinf(high[1]):  # a fit there failed from a farther start: try again from here
                high = (np.inf, np.inf)
        else:
            high = (x, z)
        slope = (z - before[1]) / (x - before[0]) if np.isfinite(z) and x != before[0] else 0.0
        guess = x + (reach - z) / slope if slope > 0 else np.inf
        before = (x, z) if np.isfinite(z) else low
        if not low[0] < guess < high[0] or guess > 4.0 * low[0] + first:
            guess = 0.5 * (low[0] + high[0]) if np.isfinite(high[0]) else 4.0 * low[0]
        if guess > 1e8 * first:
            return np.inf
        x = guess
    raise DataError(f"100 fits did not find the limit of the profile interval, more than {low[0]:g} from the estimate.")
