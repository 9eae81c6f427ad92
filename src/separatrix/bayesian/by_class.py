# SPDX-License-Identifier: BSD-3-Clause
"""Tune the prior of K classes by Laplace's evidence, without a matrix of all weights.                   PRML §3.5, §4.4

The full precision H of C classes is a (CP, CP) matrix. Its Gaussian without coupling between contrasts, with precision
M (`ByClassApproximation`), takes 1/C² of the time, but the evidence with |M| in place of |H| is too low. The difference

    ½ (ln |M| - ln |H|) = -½ tr ln E,        E = R' H R,        R R' = M⁻¹

is tens of nats and grows with the scale of the prior, so that the best scale would be too small. The trace is estimated
by Lanczos' method: for a vector z of random signs, z' ln(E) z has the mean tr ln E, and k products with E give a
tridiagonal matrix (k, k) whose eigenvalues and eigenvectors integrate ln over the spectrum of E that z sees. All
eigenvalues of E are near one. A few products are therefore enough, and a product is a sum over rows.

**A scale for each column.** The same products solve E x = z. They give the diagonal of H⁻¹ - M⁻¹ = R (E⁻¹ - I) R', and
u = H⁻¹v for the slope v of the log determinant, and so the gradient of ln p(D) in all scales (see `evidence_slope`):

    ∂ ln p(D)/∂η_j = λ_j Σ_c [(M⁻¹)_cjj + (H⁻¹ - M⁻¹)_cjj + d_cj (d_cj - u_cj)] - C

Second derivatives follow from M. Two or three Newton steps find the most probable scales of hundreds of columns.

**Alignment** with the correlations of the columns (`alignment`) is tried last, in units of these scales. The evidence
includes the uncertainty of the differences that it adds to the scales (`shapes`).

Each is kept only if its evidence, integrated over the scales, is higher than that of one scale. Ubaru, Chen &
Saad (2017) estimate ln |E| in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from separatrix._array import Float, device_aware
from separatrix.bayesian.alignment import LOG_ODDS, MAX_DETERMINED, Directions, promising
from separatrix.bayesian.averaging import MAX_SPREAD
from separatrix.bayesian.evidence import GROUP_STD, PriorScales, effective_parameters, prior_scales
from separatrix.bayesian.sampling import Products
from separatrix.bayesian.tuning import TuningReport, TuningStatus, TuningStep, reached_limits
from separatrix.bayesian.uncoupled import (
    ByClassApproximation,
    DiagonalApproximation,
    UncoupledApproximation,
    laplace_by_class,
    laplace_diagonal,
)
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.rows import Block, DeviceRows
from separatrix.solvers import LBFGS, RENEWAL_STEPS, Auto, Posterior
from separatrix.stats import MAX_DEVICE_SPREAD, Design, Grad, device_activations
from separatrix.weights import MAX_DRAW_ACTIVATIONS, row_squares

# Random signs, and products with E for each of them. Half of them changes the evidence of four classes of words by 0.06
# and 0.3 nats, and a probability by 0.005 and 0.011.
N_PROBES, N_LANCZOS_STEPS = 16, 12
LOG_DET_TOL = 0.2  # nats: Lanczos' method ends if another product changes ln |E| by less
MIN_OFF_DIAGONAL = 1e-6  # entry of the tridiagonal matrix below which a probe has no further part of the spectrum
# First and largest step of the logarithm of a scale. Other values end in another maximum of the noisy evidence: twice
# the largest step changes that of words by 2.9 nats, and a probability by 0.08.
MIN_LEVEL_STEP, MAX_LEVEL_STEP = 0.35, 1.4

# Shapes
MAX_SHAPED_PRODUCTS = 2e10  # multiplications of a fit above which the shape of the prior is not tuned: it takes seconds
MAX_COLUMN_STEP = 1.0  # largest change of ln scale in one step
COLUMN_TOL = 0.5  # nats: smallest predicted gain that is worth a fit
MIN_PRECISION = 0.5 / GROUP_STD**2  # smallest curvature that a step assumes: half of that of the hyperprior
MIN_GAIN_FRACTION = 0.05  # predicted gain of a step over that of all steps so far, below which the search ends.
# With 0.1, the evidence of words is 1.6 nats lower.

# Mean
MODERATE_SHIFT = 0.3  # sd up to which the corrected mean is accurate enough if a better approximation is expensive


@dataclass(frozen=True, eq=False)
class CoupledFit:
    """The Gaussian at the mode of an objective; its log evidence includes coupling.

    For gradients, ``spread`` (P,) is the diagonal of Λ (H⁻¹ - M⁻¹), summed over classes, for the tuned part Λ of the
    prior, and ``drift`` (C, P) is H⁻¹v with v = ∂ ln |M|/∂θ; they are zero unless requested.
    """

    objective: Posterior
    gaussian: UncoupledApproximation
    spread: Float
    drift: Float

    @property
    def log_evidence(self) -> float:
        """ln p(D)."""
        return self.gaussian.log_evidence


class TunedByClass(NamedTuple):
    """Objective with the tuned prior, a mode (C, P), a report, factors of all scales (M,), and the prior's shape.

    The hyperprior of the differences of scales is ``widening`` times as wide as that of the first prior.
    """

    objective: Posterior
    mode: Float
    report: TuningReport
    factors: Float
    shape: Float | None = None
    widening: float = 1.0

    def with_scales(self, tuned: TunedColumns) -> TunedByClass:
        """Return the result with a scale for each group instead of one."""
        factors, of_columns = (each * self.factors[0] for each in (tuned.factors, tuned.column_factors))
        common = float(np.exp(np.log(of_columns).mean()))
        report = replace(
            self.report,
            labels=tuned.labels,
            factors=factors,
            column_factors=of_columns,
            gradient=tuned.gradient,
            fits=self.report.fits + tuned.steps,
        )
        shape, mode = np.diag((of_columns / common) ** 2), tuned.fit.gaussian.mean
        return TunedByClass(tuned.fit.objective, mode, report, np.full(len(of_columns), common), shape)


def tune_by_class(
    objective: Posterior,
    tol: float,
    *,
    groups: str | Sequence[Any] | None = None,
    is_shaped: bool = False,
    is_diagonal: bool = False,
) -> TunedByClass:
    """Tune one scale, or a scale for each group of columns.

    If ``is_shaped``, the evidence chooses between one scale and a scale for each column, and may align the prior. If
    ``is_diagonal``, M is diagonal, so that a single scale is not aligned.
    """
    scales, (C, P), M = prior_scales(objective), objective.shape, len(objective.design.origin)
    may_shape = groups is not None or (is_shaped and M > 1 and has_cheap_shape(objective))
    first = float(np.log(scales.median / scales.typical[0])) if is_diagonal else 0.0  # 1 is too wide for many columns
    level = tune_level(objective, scales, tol, first=first, is_diagonal=is_diagonal, is_rough=may_shape)
    tuned, fit = replace(objective, prior=scales.prior(np.log(level.report.factors))), level.fit
    found = TunedByClass(tuned, fit.gaussian.mean, level.report, level.report.column_factors)
    if groups is not None:
        found = level.found().with_scales(tune_columns(fit, groups, tol, level.slope))
        found = found._replace(factors=found.report.column_factors, shape=None)
    elif may_shape and effective_parameters(fit.gaussian, fit.objective.prior) <= MAX_DETERMINED * P * (C - 1):
        found = shape_by_class(level, tol) or found
    scales = prior_scales(objective, "columns" if groups is None and len(found.report.labels) > 1 else groups)
    typical, no = scales.typical * found.report.factors, np.zeros(len(scales.labels), dtype=bool)
    limits = reached_limits(found.objective, scales, typical, found.mode, no)
    return found._replace(report=replace(found.report, boundary=limits))


def has_cheap_shape(objective: Posterior) -> bool:
    """Whether a fit takes seconds, so that the scales of groups can be tuned."""
    (C, P), N = objective.shape, objective.source.n_rows
    return 2.0 * C * P**2 * (N + 4 * P) <= MAX_SHAPED_PRODUCTS


def shape_by_class(level: Level, tol: float) -> TunedByClass | None:
    """Give each column a scale, and then align the prior, if the evidence rises; None if neither does."""
    fit, found = level.fit, level.found()
    columns = tune_columns(fit, "columns", tol, level.slope, is_rough=True)
    if by_column := columns.gain > LOG_ODDS:
        fit, found = columns.fit, found.with_scales(columns)
    aligned = align_by_class(fit, tol, by_column=by_column)
    if aligned is None:
        return None if fit is level.fit else found
    (fit, shape, factor, widening), report = aligned, found.report
    own = np.ones(len(shape)) if found.shape is None else np.sqrt(np.diag(found.shape))
    of_columns = factor * report.column_factors
    report = replace(report, factors=factor * report.factors, column_factors=of_columns, fits=report.fits + 1)
    shape = shape * np.outer(own, own)
    return TunedByClass(fit.objective, fit.gaussian.mean, report, factor * found.factors, shape, widening)


def retune_by_class(
    start: CoupledFit, objective: Posterior, scales: PriorScales, groups: Any, tol: float
) -> CoupledFit:
    """Move the scales of a prior by one Newton step, for a part of the rows, and predict the posterior there.

    ``start`` is a fit with another prior, and ``scales`` have the hyperprior.
    """
    fit = coupled_fit(objective, start, tol, with_slope=True)
    here = scale_derivatives(fit, groups, like=scales)
    step, _ = newton_step(here, objective)
    prior, parabola = here.scales.prior(step), fit.gaussian.parabola(objective.prior)
    gaussian = fit.gaussian if parabola is None else parabola.under(prior)
    return replace(fit, objective=replace(objective, prior=prior), gaussian=gaussian)


class Level(NamedTuple):
    """Report of the search for one scale; its best fit, and η and the slope of ln p(D, η) there."""

    report: TuningReport
    fit: CoupledFit
    eta: float
    slope: float

    def found(self) -> TunedByClass:
        """Return the best fit as a result."""
        of_columns = np.full(len(self.report.column_factors), np.exp(self.eta))
        report = replace(self.report, factors=np.exp([self.eta]), column_factors=of_columns)
        return TunedByClass(self.fit.objective, self.fit.gaussian.mean, report, of_columns)


def tune_level(
    objective: Posterior,
    scales: PriorScales,
    tol: float,
    *,
    first: float = 0.0,
    is_diagonal: bool = False,
    is_rough: bool = False,
    max_fits: int = 12,
) -> Level:
    """Find the most probable η of one scale by Laplace's evidence; the search begins at ``first``.

    ln p(D, η) is nearly a parabola. The first step is along the gradient, whose error varies little with η. So the
    evidence of two fits and the difference of their gradients determine the parabola. As soon as the best fit has a
    neighbour on each side, the parabola goes through the evidence of these three. The search ends if the vertex is
    hardly higher than the best fit; the result is the vertex. If ``is_rough``, the search ends earlier, because a scale
    for each column may follow.
    """
    low, high = (float(bound[0]) for bound in scales.bounds(objective))
    eta = best = float(np.clip(first, low, high))
    status, slope = TuningStatus.MAX_STEPS, 0.0
    fits, slopes, values = dict[float, CoupledFit](), dict[float, float](), dict[float, float]()
    while len(fits) < max_fits:
        here = replace(objective, prior=scales.prior(np.array([eta])))
        start = fits[best] if fits else np.zeros(objective.shape)
        fit = fits[eta] = coupled_fit(here, start, tol, with_slope=True, is_diagonal=is_diagonal)
        derivatives = scale_derivatives(fit, None)
        slopes[eta] = float(derivatives.gradient[0])
        values[eta] = fit.log_evidence + scales.log_density(np.array([eta]))[0]
        if np.spacing(abs(fit.log_evidence)) > 1:  # nats
            raise DataError(
                f"The log evidence is about {fit.log_evidence:.1g}, so that its rounding error hides the effect of the "
                "prior, and the prior cannot be tuned. Divide the sample weights by a constant, or use tune=None."
            )
        x, best = sorted(values), max(values, key=values.__getitem__)
        at = x.index(best)
        if len(x) == 1:
            length = abs(slopes[eta]) / float(derivatives.precision[0, 0])
            step = float(np.copysign(np.clip(length, MIN_LEVEL_STEP, MAX_LEVEL_STEP), slopes[eta]))
        else:
            left, right = x[max(at - 1, 0)], x[min(at + 1, len(x) - 1)]
            if left < best < right:
                rise = (values[best] - values[left]) / (best - left)
                fall = (values[right] - values[best]) / (right - best)
                curvature = 2 * (rise - fall) / (right - left)
            else:
                rise = (values[right] - values[left]) / (right - left)
                curvature = (slopes[left] - slopes[right]) / (right - left)
            slope = rise - 0.5 * curvature * (best - left) if best > left else rise + 0.5 * curvature * (right - left)
            step = slope / curvature if curvature > 0 else np.copysign(np.inf, slope)
            step = float(np.clip(step, -MAX_LEVEL_STEP, MAX_LEVEL_STEP))
        is_outside = len(x) > 2 and not 0 < at < len(x) - 1
        if is_outside:  # the curvature falls there, so that the parabola is too low
            step = float(np.copysign(max(abs(step), 2 * MIN_LEVEL_STEP), 1.0 if at else -1.0))
        eta = float(np.clip(best + step, low, high))
        gain = 0.5 * abs(slope * (eta - best))
        is_near = len(x) > 1 and abs(eta - best) <= MIN_LEVEL_STEP
        if (is_near and gain < (0.5 if is_rough else 0.2)) or eta in values:  # nats
            status = TuningStatus.CONVERGED
            break
    factor = np.exp([eta if status is TuningStatus.CONVERGED else best])
    trace = tuple(TuningStep(np.array([each]), values[each], np.full(1, np.nan)) for each in (next(iter(values)), best))
    of_columns = np.full(len(objective.design.origin), factor[0])
    unknown = np.full(1, np.nan)  # the gradient has an error, which is corrected only for the scales of columns
    report = TuningReport(scales.labels, factor, of_columns, unknown, status, (), trace, len(values))
    return Level(report, fits[best], best, slope)


def coupled_fit(
    objective: Posterior,
    start: Float | CoupledFit,
    tol: float,
    *,
    with_slope: bool = False,
    is_diagonal: bool = False,
    of_sample: bool = True,
) -> CoupledFit:
    """Find the mode, the Gaussian there and its evidence; if ``with_slope``, also what a gradient needs.

    The search starts at weights (C, P), or at the prediction of a fit with another prior, whose M is a preconditioner.
    If ``of_sample`` and the table is large, coupling is computed from a sample of the rows. The coupling of a large
    table hardly depends on the prior, and products with E would take most of the time.
    """
    mode = rough_mode(objective, start, max(tol, 1e-5))  # log determinants are linear in the error of a mode
    approximate = partial(laplace_diagonal, contrasts=True) if is_diagonal else laplace_by_class
    found = q = approximate(objective, mode)
    posed, sample = objective, objective.sample
    if of_sample and sample is not None and sample.n_rows >= 5 * mode.size:  # enough rows for the coupling
        posed = objective.of_sample()
        q = approximate(posed, mode)
    start = random_signs(q)
    if with_slope:
        v = posed.reduce(log_det_slope_by_class, theta=mode, q=q)
        start = np.concatenate([start, q.to_unit_slope(v.grad[None])])
    n_probes = len(start) - with_slope

    def product(V: Float) -> Float:
        """Return H V for vectors V (S, C, P)."""
        curved = posed.reduce(curvature_products, theta=mode, V=V).grad
        return np.asarray(curved + posed.prior.dot(V.reshape(-1, V.shape[2])).reshape(V.shape))

    solved, log_det_ratio = lanczos(product, q, start, n_probes)
    found = replace(found, log_evidence=found.log_evidence - 0.5 * log_det_ratio)
    if not with_slope:
        return CoupledFit(objective, found, np.zeros(mode.shape[1]), np.zeros(mode.shape))
    here, there = (q.from_unit(z) - q.mean for z in (start[:n_probes], (solved - start)[:n_probes]))
    weighted = times(prior_scales(objective).tuned, here.swapaxes(1, 2))
    spread = np.einsum("spc,scp->p", weighted, there) / n_probes
    return CoupledFit(objective, found, spread, (q.from_unit(solved[n_probes:]) - q.mean)[0])


def rough_mode(objective: Posterior, start: Float | CoupledFit, tol: float) -> Float:
    """Return the mode (C, P) to a tolerance, from weights or from a fit with another prior."""
    if not isinstance(start, CoupledFit):
        return Auto(tol).minimise(objective, start).value
    parabola = start.gaussian.parabola(start.objective.prior)
    if parabola is None:
        return Auto(tol).minimise(objective, start.gaussian.mean).value
    near = parabola.under(objective.prior)
    found = LBFGS(tol, RENEWAL_STEPS).minimise(objective, near.mean, inverse=near)
    if found.is_converged:
        return found.value
    return Auto(tol).minimise(objective, found.value).value


def random_signs(q: UncoupledApproximation) -> Float:
    """Return random signs for all weights (probes, CP), always the same, in coordinates of the axes."""
    n_probes = N_PROBES
    if not q.couples_columns:
        n_probes = int(np.clip(2**20 // q.mean.size, 4, 32))  # averages over more weights need fewer probes
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(n_probes, q.mean.size))


def lanczos(
    product: Callable[[Float], Float], q: UncoupledApproximation, start: Float, n_probes: int
) -> tuple[Float, float]:
    """Return E⁻¹ z for vectors z (S, CP), and ln |E|; the first ``n_probes`` vectors are random signs.

    ``product`` returns H V for vectors V (S, C, P), and E = R' H R with the covariance R R' of ``q``.

    The steps end if ln |E| changes by less than `LOG_DET_TOL`. The solutions are updated with each step (Saad 2003,
    algorithm 6.16), so that few vectors are in memory. Every z'Ez has the mean tr E = CP, because M consists of
    diagonal blocks of H. It explains most of the noise of z' ln(E) z, which is therefore regressed on it.
    """
    S, D, log_det = *start.shape, 0.0
    size = np.sqrt(row_squares(start))
    z = start / size[:, None]
    before, beta, pivot = np.zeros_like(z), np.zeros(S), np.ones(S)
    solved, direction = np.zeros_like(z), np.zeros_like(z)
    T = np.zeros((S, N_LANCZOS_STEPS, N_LANCZOS_STEPS))
    for k in range(N_LANCZOS_STEPS):
        v = q.from_unit(z) - q.mean
        w = q.to_unit_slope(product(v)) - beta[:, None] * before
        alpha = np.einsum("sd,sd->s", z, w)
        w -= alpha[:, None] * z
        T[:, k, k] = np.where((beta > MIN_OFF_DIAGONAL) | (k == 0), alpha, 1.0)  # such a vector has no weight here
        size = size if k == 0 else -size * beta / pivot
        direction = z - beta[:, None] * direction
        pivot = T[:, k, k] - beta**2 / pivot
        direction /= pivot[:, None]
        solved += size[:, None] * direction
        values, vectors = np.linalg.eigh(T[:n_probes, : k + 1, : k + 1])
        of_probes = (vectors[:, 0] ** 2 * np.log(np.maximum(values, np.finfo(float).tiny))).sum(axis=1)
        known = T[:n_probes, 0, 0] - 1.0
        away = known - known.mean()
        slope = float(of_probes @ away) / max(float(away @ away), np.finfo(float).tiny)
        last, log_det = log_det, D * float((of_probes - slope * known).mean())
        if k + 1 == N_LANCZOS_STEPS or (k >= 4 and abs(log_det - last) < LOG_DET_TOL):
            break
        beta = np.sqrt(row_squares(w))
        beta[beta <= MIN_OFF_DIAGONAL] = 0.0
        T[:, k, k + 1] = T[:, k + 1, k] = beta
        before, z = z, np.divide(w, beta[:, None], out=np.zeros_like(w), where=beta[:, None] > 0)
    return solved, log_det


class TunedColumns(NamedTuple):
    """Fit with a scale for each group: labels and factors (G,), gradient of ln p(D, η) (G,), and number of fits.

    ``gain`` is the gain in ln p(D), integrated over the scales, relative to one scale.
    """

    fit: CoupledFit
    labels: tuple[Any, ...]
    factors: Float
    column_factors: Float
    gradient: Float
    steps: int
    gain: float


def tune_columns(
    start: CoupledFit, groups: str | Sequence[Any], tol: float, slope: float = 0.0, *, is_rough: bool = False
) -> TunedColumns:
    """Tune a scale for each group of columns by Newton's method.

    ``start`` is a fit near the best common scale, whose evidence has a known ``slope``. This corrects the largest error
    of the gradient, that of u, by a factor. If ``is_rough``, the search ends as soon as these scales are better than a
    common one, because the first step has most of the gain.
    """
    here, one = scale_derivatives(start, groups), prior_scales(start.objective)
    tuned = here.scales.tuned
    moved = float((tuned * (start.gaussian.mean - here.scales.mean) * start.drift).sum())
    rate = 1.0 + (float(here.gradient.sum()) - slope) / moved if moved else 1.0
    rate = float(np.clip(rate, 1 / 3, 3))  # larger corrections are noise
    here = scale_derivatives(start, groups, rate)
    level_precision = np.array([[float(here.precision.sum())]])
    alone = start.log_evidence + one.log_density(np.zeros(1))[0] + log_volume(level_precision)
    fit, factors, steps, risen = start, np.ones(len(here.gradient)), 0, 0.0
    while steps < 4:
        step, gain = newton_step(here, fit.objective)
        is_better = fit.log_evidence + here.log_density + log_volume(here.precision) - alone > LOG_ODDS
        if gain < (max(COLUMN_TOL, MIN_GAIN_FRACTION * risen) if is_rough and is_better else COLUMN_TOL):
            break
        there = replace(fit.objective, prior=here.scales.prior(step))
        moved_fit, steps = coupled_fit(there, fit, tol, with_slope=True), steps + 1
        rise = here.scales.log_density(step)[0] - here.log_density
        rise += moved_fit.log_evidence - fit.log_evidence
        if rise <= 0:
            break
        fit, factors, risen = moved_fit, factors * np.exp(step), risen + rise
        here = scale_derivatives(fit, groups, rate)
    gain = fit.log_evidence + here.log_density + log_volume(here.precision) - alone
    of_columns = factors[here.scales.groups[: len(fit.objective.design.origin)]]
    return TunedColumns(fit, here.scales.labels, factors, of_columns, here.gradient, steps, gain)


def newton_step(here: ScaleDerivatives, objective: Posterior) -> tuple[Float, float]:
    """Return Newton's step of η within the bounds, and its predicted gain."""
    values, axes = linalg.eigh(here.precision)
    values = np.maximum(values, MIN_PRECISION)
    step = axes @ (axes.T @ here.gradient / values)
    low, high = here.scales.bounds(objective)
    step = np.clip(step, np.maximum(low, -MAX_COLUMN_STEP), np.minimum(high, MAX_COLUMN_STEP))
    return step, float(here.gradient @ step - 0.5 * values @ (axes.T @ step) ** 2)


class ScaleDerivatives(NamedTuple):
    """Scales relative to a fit (η = 0), their log density, the gradient of ln p(D, η) (G,), and minus its Hessian."""

    scales: PriorScales
    log_density: float
    gradient: Float
    precision: Float


def scale_derivatives(
    fit: CoupledFit, groups: str | Sequence[Any] | None, rate: float = 1.0, like: PriorScales | None = None
) -> ScaleDerivatives:
    """Return the derivatives of ln p(D, η) in the logarithms of the scales of groups; ``rate`` multiplies the drift.

    For second derivatives, the log-likelihood is a parabola and its log determinant linear in θ. With e = d - u,
    b = Λd, c = Λe, Q = ΛS and R = ΛSΛ, an axis adds

        ∂ ln p(D)/∂η_j        = Q_jj + ½ (d_j c_j + b_j e_j) - 1
        -∂² ln p(D)/∂η_j∂η_k = [j = k] (Q_jj + ½ (d_j c_j + b_j e_j)) + Λ_jk (S_jk + ½ (d_j e_k + e_j d_k))
                               - Q_jk Q_kj - S_jk R_jk - ½ (X_jk + X_kj),
        X_jk = S_jk b_j c_k + Q_kj b_j e_k + Q_jk d_j c_k + R_jk d_j e_k
    """
    q, scales = fit.gaussian, prior_scales(fit.objective, groups, like)
    tuned, C, G = scales.tuned, len(q.mean), len(scales.labels)
    d = q.mean - scales.mean
    D, E = q.axes.T @ d, q.axes.T @ (d - rate * fit.drift)
    B, F = times(tuned, D.T).T, times(tuned, E.T).T
    each = 0.5 * (D * F + B * E)
    if isinstance(q, DiagonalApproximation):
        each += tuned / q.precision
        curvature = (2 * each - 2 * (tuned / q.precision) * (tuned / q.precision + 2 * D * F)).sum(axis=0)
    else:
        curvature = np.zeros((len(tuned), len(tuned)))
        prior = tuned if tuned.ndim == 2 else np.diag(tuned)
        for i, (factor, d, e, b, c) in enumerate(zip(q.factors, D, E, B, F, strict=True)):
            S = factor.root @ factor.root.T
            Q = times(tuned, S)
            R = times(tuned, Q.T)
            each[i] += Q.diagonal()
            X = S * np.outer(b, c) + Q.T * np.outer(b, e) + Q * np.outer(d, c) + R * np.outer(d, e)
            curvature -= Q * Q.T + S * R + 0.5 * (X + X.T) - prior * (S + 0.5 * (np.outer(d, e) + np.outer(e, d)))
        curvature += np.diag(each.sum(axis=0))
    log_density, pull = scales.log_density(np.zeros(G))
    gradient = scales.sums(each.sum(axis=0) + fit.spread - C) + pull
    if curvature.ndim == 1:
        bend = np.diag(scales.sums(curvature))
    else:
        at = (scales.groups[:, None] == np.arange(G)).astype(np.float64)
        bend = at.T @ curvature @ at
    return ScaleDerivatives(scales, log_density, gradient, bend + scales.log_density_precision())


def times(precision: Float, matrix: Float) -> Float:
    """Return Λ A for a precision Λ, (P, P) or its diagonal, and a matrix A (..., P, n)."""
    return np.asarray(precision @ matrix if precision.ndim == 2 else precision[:, None] * matrix)


def log_volume(precision: Float) -> float:
    """Return ln ∫ exp(-½ η'Pη) dη for the precision P (G, G) of the scales, whose spread is limited."""
    values = np.maximum(linalg.eigvalsh(precision), MAX_SPREAD**-2.0)
    return 0.5 * float(np.log(2 * np.pi / values).sum())


def widening_gain(found: CoupledFit, power: float) -> float:
    """Return the change of ln p(D), integrated over the scales of columns, by a hyperprior 1 + b times as wide."""
    here = scale_derivatives(found, "columns")
    wide = replace(here.scales, group_std=max(1.0, 1.0 + power) * here.scales.group_std)
    precision = here.precision - here.scales.log_density_precision() + wide.log_density_precision()
    rise = wide.log_density(np.zeros(len(precision)))[0] - here.log_density
    return rise + log_volume(precision) - log_volume(here.precision)


def align_by_class(
    found: CoupledFit, tol: float, *, by_column: bool = False
) -> tuple[CoupledFit, Float, float, float] | None:
    """Return the fit with the best alignment, its shape (M, M), the factor of the scale and that of the hyperprior.

    The result is None if b = 0 is best.

    Independent weights are not aligned: their precision is diagonal under every prior. If each column has a tuned scale
    (``by_column``), an alignment also multiplies the differences of the scales, as in `shapes`: the evidence counts
    that, and an alignment without the correlations is tried, too. Parabolas of all axes predict the scale of each
    alignment. Their slope in η is corrected by that at b = 0, where it should be zero.
    """
    objective, scales = found.objective, prior_scales(found.objective)
    parabola = found.gaussian.parabola(objective.prior)
    if scales.fixed.ndim > 1 or parabola is None:
        return None
    directions = Directions.of(objective, scales)
    uncoupled = replace(found, spread=np.zeros_like(found.spread), drift=np.zeros_like(found.drift))
    here = scale_derivatives(uncoupled, None)
    tilt = -float(here.gradient[0])
    predicted = parabola.under(objective.prior).log_evidence + here.log_density
    level = found.log_evidence + here.log_density
    candidates = promising(directions, scales, parabola, predicted, by_column=by_column, tilt=tilt, tol=0.2)
    gains = [widening_gain(found, each.power) if by_column else 0.0 for each in candidates]
    for each, gain in sorted(zip(candidates, gains, strict=True), key=lambda pair: -pair[0].gain - pair[1]):
        fit = coupled_fit(replace(objective, prior=each.prior), found, tol)
        height = fit.log_evidence + scales.log_density(np.array([each.eta]))[0] + gain
        if height > level + LOG_ODDS:
            return fit, each.shape, each.factor, max(1.0, 1.0 + each.power) if by_column else 1.0
        if height < level:  # the others promise less
            break
    return None


def corrected_by_class(
    objective: Posterior, q: ByClassApproximation, tol: float, *, max_shift: float = MODERATE_SHIFT
) -> tuple[ByClassApproximation, float] | None:
    """Move Laplace's Gaussian from the mode to the first-order estimate of the mean, -½ H⁻¹v from there.

    Return it with the largest shift in standard deviations, or None if that is more than ``max_shift``. No weight moves
    by more than one standard deviation, because the estimate is unreliable beyond that. The log evidence includes
    coupling. An estimate by M in place of H takes one pass, and decides whether the other is worth its time.
    """
    v = objective.reduce(log_det_slope_by_class, theta=q.mean, q=q).grad
    rough = q.from_unit(q.to_unit_slope(v[None]))[0] - q.mean
    if np.abs(0.5 * rough / q.std).max() > 2 * max_shift:
        return None
    fit = coupled_fit(objective, q.mean, tol, with_slope=True, of_sample=False)
    largest = float(np.abs(0.5 * fit.drift / q.std).max())
    if largest > max_shift:
        return None
    mean = fit.gaussian.mean - 0.5 * fit.drift / max(largest, 1.0)
    log_likelihood = objective.prior.value_grad(mean)[0] - objective.value_grad(mean).value
    return replace(q, mean=mean, log_likelihood=log_likelihood, log_evidence=fit.log_evidence), largest


@device_aware
def log_det_slope_by_class(
    block: Block, theta: Float, likelihood: Any, design: Design, q: UncoupledApproximation
) -> Grad:
    """Return ∂ ln |M|/∂θ of one block, (C, P), for the covariance S_i of M along each axis q_i.

    With var_n = φ̃'Sφ̃ and the mean and variance of q over the classes, ∂(q'C_n q)/∂a_k = p_k [(q_k - mean)² - variance].
    """
    a = design.activate(block, theta)
    if len(theta) == 1:
        change = likelihood.skew(a, block.targets) * q.activations(block.X, design).variance
        return Grad(design.collect(block, change if block.weight is None else block.weight * change))
    p = likelihood.derivatives(a, block.targets).curvature.p
    change = np.zeros(p.shape)
    variances = q.contrast_variances(block.X, design)
    for axis, var in zip(q.axes.T[1:], variances.T, strict=True):  # the first axis is the mean over classes
        square = (axis - (p @ axis)[:, None]) ** 2
        change += var[:, None] * p * (square - (p * square).sum(axis=1, keepdims=True))
    return Grad(design.collect(block, change if block.weight is None else block.weight[:, None] * change))


@device_aware
def curvature_products(block: Block, theta: Float, V: Float, likelihood: Likelihood, design: Design) -> Grad:
    """Return H V of one block, without the prior, for the Hessian at θ and vectors V (S, C, P)."""
    S, C, P = V.shape
    is_on_device = isinstance(block.X, DeviceRows)
    most = MAX_DEVICE_SPREAD if is_on_device else MAX_DRAW_ACTIVATIONS
    total, step = np.zeros(V.shape), max(1, most // (S * C))
    for start in range(0, len(block), step):
        rows = block.take(slice(start, start + step))
        curvature = likelihood.derivatives(design.activate(rows, theta), rows.targets).curvature
        if is_on_device:
            A = device_activations(replace(rows, offset=None), V.reshape(S * C, P), design).reshape(-1, S, C)
            if C == 1:
                bend = curvature if rows.weight is None else curvature * rows.weight
                total += design.collect(rows, A[:, :, 0] * rows.X.on(bend)[:, None])[:, None]
                continue
            p, weight = rows.X.on(curvature.p)[:, None], rows.X.on(rows.weight)
            A = p * (A - (p * A).sum(dim=2, keepdim=True)) * (1.0 if weight is None else weight[:, None, None])
            total += design.collect(rows, A.reshape(-1, S * C)).reshape(V.shape)
            continue
        products = Products(rows.X, design, single=True)
        A = products.activations(V.swapaxes(0, 1).reshape(C * S, P)).reshape(C, S, len(rows))
        p = curvature[None] if C == 1 else curvature.p.T
        p = np.where(p > 1e-30, p, 0.0).astype(np.float32)[:, None]  # products of subnormal numbers may be slow
        if C > 1:
            A -= (p * A).sum(axis=0)
        A *= p if rows.weight is None else p * rows.weight.astype(np.float32)
        total += products.sums(A.reshape(C * S, -1)).reshape(C, S, P).swapaxes(0, 1)
    return Grad(total)
