# SPDX-License-Identifier: BSD-3-Clause
"""Find the most probable scales of a prior, given the data.                                     PRML §3.5, §4.4

    η* = argmax ln p(D | η) + ln p(η),        η = logarithms of scales, p(η) their own prior (`PriorScales`)

Every evaluation of the evidence p(D | η) is a fit, and fits are expensive. From a fit at η, `Surrogate` predicts the
evidence nearby without reading the rows; its value and gradient at η are exact. The maximum of the surrogate within a
trust region is the next η. The fit there starts at the predicted mode and curvature and takes a few gradients. A step
is accepted only if p(D, η) rises (`Search`). With many rows the prediction is so accurate that two fits are enough. One
scale for many columns is tuned in the directions that the data identify (`evidence.rotate`).

The search ends if the surrogate predicts a gain below ``tol`` nats. The result reports which columns are irrelevant, or
that the classes are separable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from separatrix._array import Array, Float
from separatrix._linalg import SingularError
from separatrix._threads import single_thread_blas
from separatrix.bayesian.evidence import (
    MAX_CURVATURE_CHANGE,
    MAX_RELATIVE_CHANGE,
    MAX_SCALE,
    FitLaplace,
    Fitter,
    PriorScales,
    evidence_slope,
    is_represented,
    is_rotatable,
    log_det_gradient,
    prior_scales,
    rotate,
)
from separatrix.bayesian.posterior import Approximation
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import MAX_FIRST_LENGTH, Factor, Posterior, change_of_curvature, factorise
from separatrix.stats import Design, Largest
from separatrix.weights import row_squares

MAX_TUNED_WEIGHTS = 6000  # weights whose full precision is factorised for each fit
MAX_NAMED_COLUMNS = 5  # columns named in a note

# The trust region; radii are in units of η, the logarithm of a scale
MAX_RADIUS = 2.0
FLAT_GRADIENT = 0.05  # gradient in η, in nats, that counts as zero


class TuningStatus(Enum):
    """Reason why tuning stopped; the value is part of a message to the user."""

    CONVERGED = "converged: no change of the scales promises a gain in evidence worth a fit"
    STALLED = "stopped: a gain in evidence is predicted, but no step, however short, achieves it"
    MAX_STEPS = "stopped at the limit of steps"


class TuningStep(NamedTuple):
    """Logarithms η of the factors (G,), ln p(D, η), and its gradient (G,)."""

    eta: Float
    log_evidence: float
    gradient: Float


class Limit(Enum):
    """Limit that a scale reached; the value is a message to the user, with places for the columns and a verb."""

    NARROW = "Tuning found that {names} {are} irrelevant: the data are more probable if these weights are zero."
    WIDE = "The prior scale of {names} reached the largest value that is tried: the prior is not needed."
    SEPARATED = (
        "The prior scale of {names} grew very large: the classes are separable, so the evidence hardly depends on "
        "scales this large."
    )


class Boundary(NamedTuple):
    """A group of columns whose scale reached a limit."""

    label: Any
    columns: tuple[str, ...]
    limit: Limit

    def describe(self) -> str:
        """Return a message for the user."""
        more = len(self.columns) - MAX_NAMED_COLUMNS
        names = ", ".join(map(repr, self.columns[:MAX_NAMED_COLUMNS])) + (f" and {more} more" if more > 0 else "")
        return self.limit.value.format(names=names, are="is" if len(self.columns) == 1 else "are")


@dataclass(frozen=True, eq=False)
class TuningReport:
    """Report on the search for the prior with the highest evidence.

    Attributes
    ----------
    labels, factors : tuple and array of shape (G,)
        Groups of columns, and the factors by which their scales were multiplied.
    column_factors : array of shape (M,)
        Factor of each column.
    gradient : array of shape (G,)
        ∂ ln p(D, scales)/∂ ln factor at the end.
    status : TuningStatus
    boundary : tuple of Boundary
        The groups whose scale reached a limit.
    trace : tuple of TuningStep
        The start and all accepted steps, along which ln p(D, scales) rises.
    fits : int
        Number of posteriors fitted, including rejected steps.
    """

    labels: tuple[Any, ...]
    factors: Float
    column_factors: Float
    gradient: Float
    status: TuningStatus
    boundary: tuple[Boundary, ...]
    trace: tuple[TuningStep, ...]
    fits: int

    @property
    def is_incomplete(self) -> bool:
        """Whether the search stopped at a gradient, in nats, so large that more tuning would change predictions."""
        return self.status is not TuningStatus.CONVERGED and bool((np.abs(self.gradient) > 1).any())


class Tuned(NamedTuple):
    """Objective with the tuned prior, approximation of its posterior and its ∂ ln |A|/∂θ if known, and a report."""

    objective: Posterior
    approximation: Approximation
    report: TuningReport
    log_det_slope: Float | None


def tune_scales(
    objective: Posterior,
    groups: str | Sequence[Any] | None = None,
    *,
    fitter: Fitter | None = None,
    start: Approximation | None = None,
    curved_at: Float | None = None,
    like: PriorScales | None = None,
    tol: float = 1e-3,
    max_steps: int = 50,
) -> Tuned:
    """Multiply the scales of a prior by the most probable factors, one for each group of columns.

    The search starts at the given prior; ``start`` is its posterior, if already known, and ``curved_at`` (C, P) the
    point at which its curvature was computed, if that is not the mode. ``groups`` is None for one group
    of all columns, "columns" for one group per column (automatic relevance determination), or a label for each column:
    columns with the same label share a factor. ``like`` is described in `prior_scales`. The search ends if the
    expected gain is below ``tol`` nats. ``max_steps`` is the largest number of fits after the first.
    """
    fitter = FitLaplace() if fitter is None else fitter
    with single_thread_blas():
        scales = prior_scales(objective, groups, like)
        found, back = _maximise(objective, scales, fitter, start, tol, max_steps, curved_at)
        tuned = replace(objective, prior=scales.prior(found.eta))
        if back is not None:
            whole = fitter.fit(tuned, back(found.approximation.mean))
            found = found._replace(approximation=whole, fits=found.fits + 1)
        typical = scales.typical * np.exp(found.eta)
        is_zero = log_odds_of_zero(found.approximation, tuned.prior, scales) > 0
        is_narrow = is_zero & (typical < scales.median)  # of a wide prior, the Gaussian is poor at zero
        limits = reached_limits(tuned, scales, typical, found.approximation.mean, is_narrow)
    factors = np.exp(found.eta)
    of_columns = factors[scales.groups[: len(objective.design.origin)]]
    search = found.trace, found.fits
    report = TuningReport(scales.labels, factors, of_columns, found.gradient, found.status, limits, *search)
    return Tuned(tuned, found.approximation, report, found.slope if back is None else None)


def reached_limits(
    tuned: Posterior, scales: PriorScales, typical: Float, mean: Float, is_narrow: Array
) -> tuple[Boundary, ...]:
    """Return the groups whose tuned scale ``typical`` (G,), per standard deviation of a column, reached a limit.

    The classes are separable if every row's own label has a probability above ½ at the mean of the weights.
    """
    sharp, boundary = typical > 10.0, list[Boundary]()
    is_wide = typical >= MAX_SCALE * (1 - 1e-9)  # a prior that was tuned before has rounding errors
    is_separated = bool(sharp.any()) and tuned.reduce(largest_loss, theta=mean).value < np.log(2)
    for g, label in enumerate(scales.labels):
        limit = Limit.SEPARATED if sharp[g] and is_separated else Limit.WIDE if is_wide[g] else None
        limit = Limit.NARROW if is_narrow[g] else limit
        if limit is not None:
            columns = tuple(tuned.source.columns[m] for m in np.flatnonzero(scales.groups == g))
            boundary.append(Boundary(label, columns, limit))
    return tuple(boundary)


def profile_scale(
    objective: Posterior, *, fitter: Fitter | None = None, tol: float = 1e-3, max_steps: int = 50
) -> SearchResult:
    """Tune one factor for all scales, to compare bases and likelihoods. The posterior may be in rotated coordinates."""
    with single_thread_blas():
        scales = prior_scales(objective)
        return _maximise(objective, scales, FitLaplace() if fitter is None else fitter, None, tol, max_steps)[0]


def _maximise(
    objective: Posterior,
    scales: PriorScales,
    fitter: Fitter,
    start: Approximation | None,
    tol: float,
    max_steps: int,
    curved_at: Float | None = None,
) -> tuple[SearchResult, Callable[[Float], Float] | None]:
    """Return the best scales, and the map back to θ if the search used rotated coordinates."""
    bounds = scales.bounds(objective)
    if not has_full_evidence(objective, scales):
        C, P = objective.shape
        raise DataError(
            f"tune='evidence' needs the full precision of the posterior for groups= and for a prior with a full "
            f"covariance, and {C} x {P} weights are more than {MAX_TUNED_WEIGHTS}. Leave groups=None, give a prior "
            "with one scale, or use fewer columns."
        )
    if is_rotatable(objective, scales):
        small, back = rotate(objective, scales, widest=float(np.exp(bounds[1][0])))
        return Search(small, prior_scales(small, like=scales), fitter, bounds=bounds, tol=tol).run(
            None, max_steps
        ), back
    return Search(objective, scales, fitter, bounds=bounds, tol=tol).run(start, max_steps, curved_at), None


def has_full_evidence(objective: Posterior, scales: PriorScales) -> bool:
    """Whether the full precision of the posterior, in rotated coordinates if possible, is small enough for a search."""
    (C, P), N = objective.shape, objective.source.n_rows
    return C * (min(N + 1, P) if is_rotatable(objective, scales) else P) <= MAX_TUNED_WEIGHTS


def scale_of_sample(objective: Posterior, scales: PriorScales, eta: Float) -> tuple[Float, Float]:
    """Return η of one scale, near that of the highest evidence of the sample, and the mode (C, P) predicted there.

    The log-likelihood is taken to be a parabola, from its derivatives at zero to the weights of linear discriminant
    analysis, as in the first step of `Newton`. The sample counts as its own rows in MacKay's equation, PRML (3.92).
    """
    C, sample = objective.shape[0], objective.of_sample()
    posed = replace(sample, prior=scales.prior(eta))
    here = posed.value_grad_hess(np.zeros(objective.shape))
    R2 = float(np.vdot(here.grad, factorise(here.hess, C, posed.prior.free).solve(here.grad))) / objective.units.total
    curvature = (here.hess - posed.prior.matrix()) * max(1 - R2, 1 / MAX_FIRST_LENGTH)
    pull = posed.prior.value_grad(np.zeros(objective.shape))[1] - here.grad

    def under(eta: Float, fraction: float) -> tuple[Factor, Float, Penalty]:
        """Return the precision and mode if the rows of the sample count as this fraction of their weight."""
        prior = scales.prior(eta)
        factor = factorise(prior.add_to(fraction * curvature), C, prior.free)
        return factor, factor.solve(fraction * pull + prior.dot(prior.mean)), prior

    low, high = scales.bounds(objective)
    for _ in range(3):
        factor, mode, prior = under(eta, sample.source.n_rows / objective.source.n_rows)
        precision = prior.precision - scales.fixed
        determined = scales.sums(1 - precision * row_squares(factor.root))
        squares = scales.sums(precision * (mode - prior.mean)[0] ** 2)
        ratio = np.maximum(squares, 1e-3) / np.maximum(determined, 1e-3)
        eta = np.clip(eta + np.clip(0.5 * np.log(ratio), -MAX_RADIUS, MAX_RADIUS), low, high)
    return eta, under(eta, 1.0)[1]


def log_odds_of_zero(approximation: Approximation, prior: Penalty, scales: PriorScales) -> Float:
    """Return ln p(D | w_g = m0_g) - ln p(D) for the weights w_g of each group, (G,), by the Savage-Dickey ratio.

    p(D | w_g = m0)/p(D) is the ratio of the densities of w_g at m0 under the posterior and under the prior. The
    covariance of a small group is computed, and for a large group the precision of all other weights.
    """
    C, found = len(approximation.mean), np.empty(len(scales.labels))
    A, root = approximation.factor.matrix, approximation.factor.root
    tuned = prior.precision - scales.fixed  # the precision of w after the bias is integrated out
    for g in range(len(found)):
        one = scales.groups == g
        at, d = np.tile(one, C), (approximation.mean - prior.mean)[:, one].ravel()
        if 2 * at.sum() <= len(at):
            S = root[at] @ root[at].T
            log_det, square = np.linalg.slogdet(S)[1], d @ np.linalg.solve(S, d)
        else:
            pull, others = A[:, at] @ d, A[np.ix_(~at, ~at)]
            log_det = np.linalg.slogdet(others)[1] - approximation.factor.log_det
            square = d @ pull[at] - pull[~at] @ np.linalg.solve(others, pull[~at])
        of_prior = np.log(tuned[one]).sum() if tuned.ndim == 1 else np.linalg.slogdet(tuned[np.ix_(one, one)])[1]
        found[g] = -0.5 * (C * of_prior + log_det + square)
    return found


def largest_loss(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> Largest:
    """Return max_n -ln p(t_n | a_n) over rows with a positive weight."""
    rows = block if block.weight is None else block.take(block.weight > 0)
    log_p = likelihood.derivatives(design.activate(rows, theta), rows.codes).log_p
    return Largest(float(-log_p.min(initial=0.0)))


class SearchResult(NamedTuple):
    """Result of a search: best η and its fit, the reason to stop, the accepted steps and the number of fits.

    ``slope`` is ∂ ln |A|/∂θ of the fit. ``objective`` has the prior at η, in the coordinates of the search, and
    ``scales`` start at η.
    """

    eta: Float
    approximation: Approximation
    gradient: Float
    slope: Float
    status: TuningStatus
    trace: tuple[TuningStep, ...]
    fits: int
    objective: Posterior
    scales: PriorScales


class FitAt(NamedTuple):
    """A fit at η, the gradient of ln p(D, η), and ∂ ln |A|/∂θ."""

    eta: Float
    approximation: Approximation
    gradient: Float
    slope: Float


class Kept(NamedTuple):
    """A fit, its v = ∂ ln |A|/∂θ, and the change of -½ ln |A| since the point at which its curvature was computed."""

    fit: Approximation
    slope: Float
    change: float
    curved_at: Float


class Search:
    """Maximise ln p(D, η) between bounds (low, high), from η = 0, in a trust region around the best fit."""

    def __init__(
        self, objective: Posterior, scales: PriorScales, fitter: Fitter, *, bounds: tuple[Float, Float], tol: float
    ) -> None:
        self.objective, self.scales, self.fitter, self.tol = objective, scales, fitter, tol
        self.low, self.high = bounds
        self.trace: list[TuningStep] = []
        self.fits, self.keeps_curvature = 0, fitter.keeps_curvature(objective)
        self.accepted: Kept | None = None
        self.trial: Kept | None = None

    def run(self, start: Approximation | None, max_steps: int, curved_at: Float | None = None) -> SearchResult:
        """Run the search. ``start`` is the fit at η = 0, if known, with the curvature of ``curved_at`` or its mode."""
        eta = np.clip(np.zeros(len(self.scales.labels)), self.low, self.high)
        if start is None or eta.any():
            start = self._fit(eta, start)
        elif curved_at is not None:
            slope = self._log_det_slope(self.objective, start)
            change = -0.5 * float(np.vdot(slope, start.mean - curved_at))
            start = replace(start, log_evidence=start.log_evidence + change)
            self.trial = Kept(start, slope, change, curved_at)
        here, radius = self._accept(eta, start), MAX_RADIUS
        for _ in range(max_steps):
            best = self._predict(here, radius)
            is_fitted = self.fitter.is_rough or here.approximation.is_converged  # a rough start is always fitted again
            if best.gain < self.tol and is_fitted:
                break
            gain, level = -np.inf, self.trace[-1].log_evidence
            try:
                there = self._fit(best.eta, best.prediction)
                if there.name == here.approximation.name:
                    gain = there.log_evidence + self.scales.log_density(best.eta)[0] - level
                else:  # expectation propagation did not converge, and another method's evidence is not comparable
                    radius /= 4
            except DataError:  # without log-concavity there may be no mode
                if self.objective.likelihood.is_log_concave:
                    raise
            if gain > -1e-10 * abs(level) or not is_fitted:  # rounding of a sum over rows
                here = self._accept(best.eta, there)
            if gain < 0.25 * best.gain:
                radius /= 4
            radius = min(2 * radius, MAX_RADIUS) if gain > 0.75 * best.gain else radius
            if radius < 1e-3:
                break
        else:
            return self._result(here, TuningStatus.MAX_STEPS)
        outwards = ((here.eta <= self.low) & (here.gradient < 0)) | ((here.eta >= self.high) & (here.gradient > 0))
        flat = np.abs(np.where(outwards, 0.0, here.gradient)).max() < FLAT_GRADIENT
        converged = flat or radius >= MAX_RADIUS or self._predict(here, MAX_RADIUS).gain < self.tol
        return self._result(here, TuningStatus.CONVERGED if converged else TuningStatus.STALLED)

    def predicted_gain(self, start: Approximation, slope: Float | None = None) -> float:
        """Return the gain in ln p(D, η) that the first step promises, without a fit.

        ``slope`` is ∂ ln |A|/∂θ of the fit at η = 0; if it is not given, it takes a pass.
        """
        if slope is not None:
            self.trial = Kept(start, slope, 0.0, start.mean)
        return self._predict(self._accept(np.zeros(len(self.scales.labels)), start), MAX_RADIUS).gain

    def _result(self, here: FitAt, status: TuningStatus) -> SearchResult:
        prior, typical = self.scales.prior(here.eta), self.scales.typical * np.exp(here.eta)
        scales = replace(self.scales, tuned=prior.precision - self.scales.fixed, typical=typical)
        objective = replace(self.objective, prior=prior)
        return SearchResult(*here, status, tuple(self.trace), self.fits, objective, scales)

    def _predict(self, here: FitAt, radius: float) -> SurrogateMaximum:
        """Return the maximum of the surrogate within ``radius``."""
        earlier = [(step.eta, step.gradient) for step in self.trace[-9:-1]]
        is_exact = here.approximation.name == "laplace"
        # A fixed point that stops early has an error in its gradient, which differences of gradients magnify.
        pairs = [pair for pair in earlier if is_exact or (pair[1] - here.gradient) @ (pair[0] - here.eta) < 0]
        surrogate = Surrogate(self.scales, *here[:3], pairs if is_exact or len(here.eta) == 1 else ())
        low, high = np.maximum(self.low, here.eta - radius), np.minimum(self.high, here.eta + radius)
        return surrogate.maximise(low, high, slack=self.tol)

    def _fit(self, eta: Float, near: Approximation | None) -> Approximation:
        """Fit the posterior at η, starting from a prediction if given."""
        self.fits += 1
        here = replace(self.objective, prior=self.scales.prior(eta))
        if near is None:
            return self.fitter.fit(here)
        if self.keeps_curvature and self.accepted is not None:
            return self._refit(here, near, self.accepted)
        return self.fitter.fit(here, near.mean, near.factor)

    def _refit(self, here: Posterior, near: Approximation, before: Kept) -> Approximation:
        """Fit with the curvature of an earlier point, unless it or ln |A|, by the trapezoid rule, has changed much.

        The slope at the old mode alone may be small although the curvature changes: at zero weights it vanishes.
        """
        curved_at = before.curved_at
        if change_of_curvature(here, near.factor, curved_at, near.mean - curved_at) > MAX_RELATIVE_CHANGE:
            return self.fitter.fit(here, near.mean, near.factor)
        predicted = before.change - 0.5 * float(np.vdot(before.slope, near.mean - before.fit.mean))
        found = self.fitter.refit(here, near, predicted)
        if found.factor is not near.factor:
            return found
        step, slope = found.mean - before.fit.mean, before.slope
        if self.objective.sample is None or found.factor.square(step) > 4:  # two standard deviations
            slope = self._log_det_slope(here, found)
        change = before.change - 0.25 * float(np.vdot(before.slope + slope, step))
        relative = change_of_curvature(here, found.factor, curved_at, found.mean - curved_at)
        if abs(change) > MAX_CURVATURE_CHANGE or relative > MAX_RELATIVE_CHANGE:
            return self.fitter.fit(here, found.mean, found.factor)
        found = replace(found, log_evidence=found.log_evidence + change - predicted)
        self.trial = Kept(found, slope, change, curved_at)
        return found

    def _log_det_slope(self, here: Posterior, approximation: Approximation) -> Float:
        sampled = here.sample is not None and len(self.scales.labels) <= 20
        if sampled and approximation.name == "laplace":
            sampled = is_represented(here, approximation)
        return log_det_gradient(here, approximation, sampled=sampled)

    def _accept(self, eta: Float, approximation: Approximation) -> FitAt:
        """Record a fit and the gradient of ln p(D, η)."""
        here, trial = replace(self.objective, prior=self.scales.prior(eta)), self.trial
        if trial is None or trial.fit is not approximation:
            trial = Kept(approximation, self._log_det_slope(here, approximation), 0.0, approximation.mean)
        self.accepted = trial
        slope = evidence_slope(here.prior, approximation, approximation.factor.solve(trial.slope))
        log_density, pull = self.scales.log_density(eta)
        gradient = self.scales.gradient(eta, slope) + pull
        self.trace.append(TuningStep(eta, approximation.log_evidence + log_density, gradient))
        return FitAt(eta, approximation, gradient, trial.slope)


class Parabola:
    """Quadratic approximation of the log-likelihood around the mean m of a fit, with curvature H (CP, CP).

    An approximate posterior N(m, A⁻¹) under a prior N(m0, Λ0⁻¹) implies

        ln p(D | m + δ) ≈ c + δ'Λ0 (m - m0) - ½ δ'H δ,        H = A - Λ0,

    because the gradients of log-likelihood and log prior cancel at m. The height c follows from the evidence of the
    fit. It is ln p(D | m) for Laplace's approximation; for expectation propagation it is the height of all sites. Under
    another prior Λ, the mode of the posterior is at δ = (H + Λ)⁻¹ (Λ0 - Λ)(m - m0), and the evidence is algebra of size
    CP, for any number of rows. With many rows it is nearly exact; with few, mode and curvature are good enough to start
    a fit.
    """

    def __init__(self, approximation: Approximation, prior: Penalty) -> None:
        self.mean, self.prior = approximation.mean, prior
        self.curvature = approximation.factor.matrix - prior.matrix()
        occam = 0.5 * (prior.log_det() - approximation.factor.log_det) - prior.value_grad(self.mean)[0]  # (4.137)
        self.height = approximation.log_evidence - occam

    def under(self, prior: Penalty) -> Approximation:
        """Return the posterior under another prior. Its evidence is minus infinity if there is no posterior."""
        away = self.mean - prior.mean
        pull = self.prior.dot(away)
        A = prior.add_to(self.curvature.copy())
        negative = [int(i) for i in np.flatnonzero(A.diagonal() <= 0)]
        if negative:  # possible if the likelihood is not log-concave
            factor = Factor(np.ones(len(A)), np.eye(0), SingularError(negative, {}), A)
        else:
            factor = factorise(A, len(self.mean), prior.free)
        if factor.singular is not None:
            return Approximation(self.mean, factor, -np.inf, -np.inf, "parabola")
        delta = factor.solve(pull - prior.dot(away))
        flat = delta.ravel()
        rise = float(np.vdot(pull, delta)) - 0.5 * float(flat @ (self.curvature @ flat))
        log_likelihood = self.height + rise
        penalty = prior.value_grad(self.mean + delta)[0]
        log_evidence = log_likelihood - penalty + 0.5 * prior.log_det() - 0.5 * factor.log_det
        return Approximation(self.mean + delta, factor, log_likelihood, log_evidence, "parabola")


class SurrogateMaximum(NamedTuple):
    """Maximum of a surrogate, predicted gain over the current fit, and predicted posterior at the maximum."""

    eta: Float
    gain: float
    prediction: Approximation


class Evaluated(NamedTuple):
    """Prediction by the parabola at η: posterior, ln p(D, η) and its gradient."""

    posterior: Approximation
    value: float
    gradient: Float


class Surrogate:
    """q(η): ln p(D, η) by a `Parabola` plus a quadratic in η, with the true value and gradient at ``eta``.

    The linear term of the quadratic corrects the gradient at ``eta``, so that the surrogate is stationary there only if
    the evidence is. Its matrix consists of symmetric rank-one (SR1) updates that reproduce earlier gradients. Without
    them the search is slow if the curvature of the likelihood changes much with the scale, as it does with as many
    columns as rows.

    ``earlier`` holds points η and gradients of the evidence there, oldest first.
    """

    def __init__(
        self,
        scales: PriorScales,
        eta: Float,
        approximation: Approximation,
        gradient: Float,
        earlier: Sequence[tuple[Float, Float]] = (),
    ) -> None:
        self.scales, self.eta = scales, eta
        self.parabola = Parabola(approximation, scales.prior(eta))
        self._evaluated: dict[bytes, Evaluated] = {}
        here = self._at(eta, approximation)
        self.level = here.value
        self.line, self.bend = gradient - here.gradient, np.zeros((len(eta), len(eta)))
        for point, slope in earlier[-len(eta) :]:  # G points determine G curvatures
            s = point - self.eta
            r = slope - self.value_gradient(point)[1]
            along = float(r @ s)
            if abs(along) > 1e-8 * np.linalg.norm(r) * np.linalg.norm(s):  # SR1 skips other updates
                self.bend += np.outer(r, r) / along  # now the gradient at that point is reproduced

    def maximise(self, low: Float, high: Float, slack: float) -> SurrogateMaximum:
        """Maximise q in a box, until a gain below ``slack`` nats is left."""

        def descent(eta: Float) -> tuple[float, Float]:
            value, gradient = self.value_gradient(eta)
            return self.level - value, -gradient

        limits = {"maxfun": 200, "ftol": 0.0, "gtol": 0.05 * np.sqrt(slack)}
        box, start = list(zip(low, high, strict=True)), np.clip(self.eta, low, high)
        found = optimize.minimize(descent, start, jac=True, method="L-BFGS-B", bounds=box, options=limits)
        eta = np.asarray(np.clip(found.x, low, high))
        return SurrogateMaximum(eta, self.value_gradient(eta)[0] - self.level, self._at(eta).posterior)

    def value_gradient(self, eta: Float) -> tuple[float, Float]:
        """Return q and its gradient; q is large and negative if the parabola has no posterior."""
        here = self._at(eta)
        if not np.isfinite(here.value):
            return -1e10, np.zeros_like(eta)  # a line search could not return from infinity
        step = eta - self.eta
        extra = self.bend @ step
        return here.value + float(self.line @ step) + 0.5 * float(step @ extra), here.gradient + self.line + extra

    def _at(self, eta: Float, posterior: Approximation | None = None) -> Evaluated:
        """Return the parabola's prediction at η, cached; ``posterior`` is computed unless given."""
        key = eta.tobytes()
        if key not in self._evaluated:
            prior = self.scales.prior(eta)
            posterior = self.parabola.under(prior) if posterior is None else posterior
            found = Evaluated(posterior, -np.inf, np.zeros_like(eta))
            if np.isfinite(posterior.log_evidence):
                log_density, pull = self.scales.log_density(eta)
                gradient = self.scales.gradient(eta, evidence_slope(prior, posterior)) + pull
                found = Evaluated(posterior, posterior.log_evidence + log_density, gradient)
            self._evaluated[key] = found
        return self._evaluated[key]
