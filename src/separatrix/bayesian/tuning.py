# SPDX-License-Identifier: BSD-3-Clause
"""The scales of a prior that make the data most probable: type-II maximum likelihood.        PRML §3.5, §4.4

    η* = argmax ln p(D | η),        η = logarithms of scales

Every evaluation of the evidence is a fit, and fits are expensive. From a fit, `Surrogate` predicts the evidence near η
by algebra alone, with the correct value and gradient at η. Its maximum within a trust region is the next η, where the
fit starts at the predicted mode with the predicted curvature and takes a few gradients. A step counts only if the
evidence itself rises (`Search`). With many rows the prediction is so accurate that the second fit is the last. One
scale for many columns is tuned in the directions that the data identify (`evidence.rotate`).

The search ends when the surrogate predicts a gain below ``tol`` nats. A scale that reaches a bound is not a failure:
the columns are irrelevant, or the prior is not needed, or the classes are separable. The result reports which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix._linalg import SingularError
from separatrix._threads import single_thread_blas
from separatrix.bayesian.evidence import (
    MAX_SCALE,
    FitLaplace,
    Fitter,
    PriorScales,
    evidence_slope,
    is_rotatable,
    prior_scales,
    rotate,
    stationary_slope,
    well_determined,
)
from separatrix.bayesian.posterior import Approximation
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import Factor, Posterior, factorise
from separatrix.stats import Design, Largest

MAX_TUNED_WEIGHTS = 6000
BOUND_TOL = 1e-9  # distance of η from a bound that is rounding, as after tuning a tuned prior
SHARP_SCALE = 10.0  # per standard deviation of a column, from which separation of the classes is checked
MAX_NAMED_COLUMNS = 5  # in a note

# The trust region, in logarithms of a scale
MAX_RADIUS, MIN_RADIUS = 2.0, 1e-3
POOR_RATIO, GOOD_RATIO = 0.25, 0.75  # of the actual to the predicted gain
EVIDENCE_ROUNDING = 1e-10  # relative: it is a sum over rows
FLAT_GRADIENT = 0.05  # nats per factor of e in a scale
N_EARLIER_GRADIENTS = 8  # that the surrogate reproduces
MAX_SAMPLED_GROUPS = 20  # for which a sample of the rows gives the effect of the shift of the mode

# The surrogate
FADED_FRACTION = 0.05  # of a group's weights, determined by the data: below, its scale hardly matters
UNREACHABLE = 1e10  # in place of infinity, from which a line search can return
MAX_SURROGATE_EVALUATIONS = 200
MIN_COSINE = 1e-8  # between a step and the change of the gradient, to learn a curvature from


# -- the result --------------------------------------------------------------------------------------------------


class TuningStatus(Enum):
    """Why tuning stopped; the value is a sentence for the user."""

    CONVERGED = "converged: no change of the scales promises a gain in evidence worth a fit"
    STALLED = "stopped: a gain in evidence is predicted, but no step, however short, achieves it"
    MAX_STEPS = "stopped at the limit of steps"


class TuningStep(NamedTuple):
    """Logarithms of the factors (G,), log evidence, and its gradient (G,)."""

    eta: Float
    log_evidence: float
    gradient: Float


class Limit(Enum):
    """The limit that a scale reached; the value says what that means for its columns."""

    NARROW = "irrelevant: the data are most probable with their weights at the prior mean"
    WIDE = "without a limit to the scale: it grew to the largest that is tried, and the prior is not needed"
    SEPARATED = (
        "without a limit to the scale: the classes are separable, and the evidence hardly depends on scales this large"
    )


class Boundary(NamedTuple):
    """A group of columns whose scale reached a limit."""

    label: Any
    columns: tuple[str, ...]
    limit: Limit

    def describe(self) -> str:
        """Return a sentence for the user."""
        more = len(self.columns) - MAX_NAMED_COLUMNS
        names = ", ".join(map(repr, self.columns[:MAX_NAMED_COLUMNS])) + (f" and {more} more" if more > 0 else "")
        return f"Tuning ran to the boundary: {names} {'is' if len(self.columns) == 1 else 'are'} {self.limit.value}."


@dataclass(frozen=True, eq=False)
class TuningReport:
    """How the prior of highest evidence was found.

    Attributes
    ----------
    labels, factors : tuple and array of shape (G,)
        The groups of columns, and the factor by which each widened its scales.
    column_factors : array of shape (M,)
        The factor of each column.
    gradient : array of shape (G,)
        ∂ ln p(D)/∂ ln factor at the end.
    status : TuningStatus
    boundary : tuple of Boundary
        The groups whose scale reached a limit.
    trace : tuple of TuningStep
        The start, and every accepted step: the evidence rises along it.
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


class Tuned(NamedTuple):
    """The objective under the tuned prior, the approximation of its posterior, and how they were found."""

    objective: Posterior
    approximation: Approximation
    report: TuningReport


# -- tuning ------------------------------------------------------------------------------------------------------


def tune_scales(
    objective: Posterior,
    groups: str | Sequence[Any] | None = None,
    *,
    fitter: Fitter | None = None,
    start: Approximation | None = None,
    tol: float = 1e-3,
    max_steps: int = 50,
) -> Tuned:
    """Multiply the scales of a prior, in one or more groups of columns, so that the evidence is largest.

    The search starts at the given prior, whose posterior is ``start`` if it is known already. Columns of a group share
    a factor. ``groups`` is None for one group of all columns, "columns" for one each (automatic relevance
    determination), or a label for each column. A gain below ``tol`` nats is not worth a fit; ``max_steps`` is the
    largest number of fits after the first.

    Raises
    ------
    DataError
        If the prior has no scale to tune, or the groups do not match the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.rows import as_source
    >>> from separatrix.likelihoods import Logit
    >>> from separatrix.priors import Gaussian
    >>> from separatrix.solvers import pose
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> t = (X[:, 0] + np.random.default_rng(1).logistic(size=400) > 0).astype(int)
    >>> objective = pose(as_source(X, t), Logit(), Gaussian(1.0, intercept_scale=10.0), fit_intercept=True)
    >>> report = tune_scales(objective, "columns").report
    >>> report.status.name, [group.columns for group in report.boundary]
    ('CONVERGED', [('x1',)])
    """
    fitter = FitLaplace() if fitter is None else fitter
    with single_thread_blas():
        scales = prior_scales(objective, groups)
        found, back = _maximise(objective, scales, fitter, start, tol, max_steps)
        tuned = replace(objective, prior=scales.prior(found.eta))
        if back is not None:
            whole = fitter.fit(tuned, back(found.approximation.mean))
            found = found._replace(approximation=whole, fits=found.fits + 1)
        low, high = scales.bounds(objective)
        sharp, separated = MAX_SCALE * np.exp(found.eta - high) > SHARP_SCALE, False
        if sharp.any():  # check whether the own label of every row is more probable than the others
            separated = bool(tuned.reduce(largest_loss, theta=found.approximation.mean).value < np.log(2))
        boundary = []
        for g, label in enumerate(scales.labels):
            is_wide = found.eta[g] >= high[g] - BOUND_TOL
            limit = Limit.SEPARATED if sharp[g] and separated else Limit.WIDE if is_wide else None
            limit = Limit.NARROW if found.eta[g] <= low[g] + BOUND_TOL else limit
            if limit is not None:
                columns = tuple(tuned.source.columns[m] for m in np.flatnonzero(scales.groups == g))
                boundary.append(Boundary(label, columns, limit))
    factors = np.exp(found.eta)
    of_columns = factors[scales.groups[: len(objective.design.origin)]]
    limits, search = tuple(boundary), (found.trace, found.fits)
    report = TuningReport(scales.labels, factors, of_columns, found.gradient, found.status, limits, *search)
    return Tuned(tuned, found.approximation, report)


def profile_scale(
    objective: Posterior, *, fitter: Fitter | None = None, tol: float = 1e-3, max_steps: int = 50
) -> Found:
    """Tune one factor without the posterior in all coordinates, to compare bases and likelihoods."""
    with single_thread_blas():
        scales = prior_scales(objective)
        return _maximise(objective, scales, FitLaplace() if fitter is None else fitter, None, tol, max_steps)[0]


def _maximise(
    objective: Posterior, scales: PriorScales, fitter: Fitter, start: Approximation | None, tol: float, max_steps: int
) -> tuple[Found, Callable[[Float], Float] | None]:
    """The scales, and the map back to θ if they were sought in rotated coordinates."""
    bounds = scales.bounds(objective)
    if is_rotatable(objective, scales):
        small = rotate(objective, scales, widest=float(np.exp(bounds[1][0])))
        search = Search(small.objective, prior_scales(small.objective), fitter, bounds=bounds, tol=tol)
        return search.run(None, max_steps), small.back
    C, P = objective.shape
    if C * P > MAX_TUNED_WEIGHTS:
        raise DataError(
            f"tune='evidence' needs the full precision of the posterior, and {C} x {P} weights are more than "
            f"{MAX_TUNED_WEIGHTS}. Tune with fewer basis functions or columns, or choose the scale on held-out rows."
        )
    return Search(objective, scales, fitter, bounds=bounds, tol=tol).run(start, max_steps), None


def largest_loss(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> Largest:
    """max_n -ln p(t_n | a_n) over rows with a positive weight."""
    rows = block if block.weight is None else block.take(block.weight > 0)
    log_p = likelihood.derivatives(design.activate(rows, theta), rows.codes).log_p
    return Largest(float(-log_p.min(initial=0.0)))


# -- the trust region --------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The end of a search, the reason for it, the accepted steps and the number of fits."""

    eta: Float
    approximation: Approximation
    gradient: Float
    status: TuningStatus
    trace: tuple[TuningStep, ...]
    fits: int


class FitAt(NamedTuple):
    """A fit at η, and the gradient of its evidence."""

    eta: Float
    approximation: Approximation
    gradient: Float


class Search:
    """Maximise ln p(D | η) between bounds (low, high), from η = 0, in a trust region around the best fit."""

    def __init__(
        self, objective: Posterior, scales: PriorScales, fitter: Fitter, *, bounds: tuple[Float, Float], tol: float
    ) -> None:
        self.objective, self.scales, self.fitter, self.tol = objective, scales, fitter, tol
        self.low, self.high = bounds
        self.trace: list[TuningStep] = []
        self.fits = 0

    def run(self, start: Approximation | None, max_steps: int) -> Found:
        """Search; ``start`` is the fit at η = 0 if it is known."""
        eta = np.clip(np.zeros(len(self.scales.labels)), self.low, self.high)
        if start is None or eta.any():
            start = self._fit(eta, start)
        here, radius = self._accept(eta, start), MAX_RADIUS
        for _ in range(max_steps):
            best = self._predict(here, radius)
            removes = bool(((best.eta == self.low) & (here.eta > self.low)).any())  # a group that is switched off now
            if best.gain < self.tol and not removes:
                break
            level = here.approximation.log_evidence
            loss = max(EVIDENCE_ROUNDING * abs(level), self.tol if removes else 0.0)
            gain = -np.inf
            try:
                there = self._fit(best.eta, best.prediction)
                gain = there.log_evidence - level
            except DataError:  # without log-concavity the posterior may have no mode there
                if self.objective.likelihood.is_log_concave:
                    raise
            if gain > -loss:
                here = self._accept(best.eta, there)
            if best.gain >= self.tol or gain <= -loss:  # else no gain was predicted
                if gain < POOR_RATIO * best.gain:
                    radius /= 4
                elif gain > GOOD_RATIO * best.gain:
                    radius = min(2 * radius, MAX_RADIUS)
            if radius < MIN_RADIUS:
                break
        else:
            return Found(*here, TuningStatus.MAX_STEPS, tuple(self.trace), self.fits)
        outwards = ((here.eta <= self.low) & (here.gradient < 0)) | ((here.eta >= self.high) & (here.gradient > 0))
        flat = np.abs(np.where(outwards, 0.0, here.gradient)).max() < FLAT_GRADIENT
        converged = flat or radius >= MAX_RADIUS or self._predict(here, MAX_RADIUS).gain < self.tol
        status = TuningStatus.CONVERGED if converged else TuningStatus.STALLED  # stalled: a gain is predicted far away
        return Found(*here, status, tuple(self.trace), self.fits)

    def _predict(self, here: FitAt, radius: float) -> Best:
        """The maximum of the surrogate within ``radius``."""
        earlier = [(step.eta, step.gradient) for step in self.trace[-1 - N_EARLIER_GRADIENTS : -1]]
        surrogate = Surrogate(self.scales, *here, earlier)
        low, high = np.maximum(self.low, here.eta - radius), np.minimum(self.high, here.eta + radius)
        if len(low) == 1:  # never past a point whose gradient points back
            low = max([low, *(eta for eta, slope in earlier if slope > 0 and low < eta < here.eta)])
            high = min([high, *(eta for eta, slope in earlier if slope < 0 and here.eta < eta < high)])
        return surrogate.maximise(low, high, floor=self.low, slack=self.tol)

    def _fit(self, eta: Float, near: Approximation | None) -> Approximation:
        """The posterior at η, from a prediction of it."""
        self.fits += 1
        here = replace(self.objective, prior=self.scales.prior(eta))
        return self.fitter.fit(here) if near is None else self.fitter.fit(here, near.mean, near.factor)

    def _accept(self, eta: Float, approximation: Approximation) -> FitAt:
        """Record a fit and the gradient of its evidence."""
        here = replace(self.objective, prior=self.scales.prior(eta))
        slope = evidence_slope(here, approximation, sampled=len(eta) <= MAX_SAMPLED_GROUPS)
        gradient = self.scales.gradient(eta, slope)
        self.trace.append(TuningStep(eta, approximation.log_evidence, gradient))
        return FitAt(eta, approximation, gradient)


# -- the surrogate -----------------------------------------------------------------------------------------------


class Parabola:
    """The log likelihood around the mean m of a fit as a parabola with curvature H (CP, CP).

    An approximate posterior N(m, A⁻¹) under a prior N(m0, Λ0⁻¹) implies

        ln p(D | m + δ) ≈ ln p(D | m) + δ'Λ0 (m - m0) - ½ δ'H δ,        H = A - Λ0,

    because the slope of the log likelihood balances the pull of the prior. Under another prior Λ such a likelihood has
    its mode at δ = (H + Λ)⁻¹ (Λ0 - Λ)(m - m0) and its evidence in closed form: algebra of size CP, for any number of
    rows. With many rows it is nearly exact; in any case it predicts mode and curvature well enough to start a fit.
    """

    def __init__(self, approximation: Approximation, prior: Penalty) -> None:
        self.mean, self.log_likelihood, self.prior = approximation.mean, approximation.log_likelihood, prior
        self.curvature = approximation.factor.matrix - prior.matrix()

    def under(self, prior: Penalty) -> Approximation:
        """Posterior and evidence under another prior; minus infinity if there is no posterior."""
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
        log_likelihood = self.log_likelihood + rise
        penalty = prior.value_grad(self.mean + delta)[0]
        log_evidence = log_likelihood - penalty + 0.5 * prior.log_det() - 0.5 * factor.log_det
        return Approximation(self.mean + delta, factor, log_likelihood, log_evidence, "parabola")


class Best(NamedTuple):
    """The maximum of a surrogate, its gain over the point it was made at, and the predicted posterior there."""

    eta: Float
    gain: float
    prediction: Approximation


class Evaluated(NamedTuple):
    """The parabola at some η: posterior, log evidence, its gradient, and the determined fraction of each group."""

    posterior: Approximation
    value: float
    gradient: Float
    determined: Float


class Surrogate:
    """q(η) = ln p(D | η) of a parabola plus a quadratic: equal to the evidence in value and gradient at ``eta``.

    The quadratic in η adds the part of the gradient that the parabola misses: a straight line, so that the surrogate is
    stationary only where the evidence is, and symmetric updates of rank one (SR1) that reproduce earlier gradients.
    Without those, the search is slow if the curvature of the likelihood changes much with the scale, as it does with as
    many columns as rows.

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
        for point, slope in earlier[-len(eta) :]:  # one number has one curvature
            s = point - self.eta
            r = slope - self.value_gradient(point)[1]
            along = float(r @ s)
            if abs(along) > MIN_COSINE * np.linalg.norm(r) * np.linalg.norm(s):
                self.bend += np.outer(r, r) / along  # the gradient at that point becomes the earlier one

    def maximise(self, low: Float, high: Float, floor: Float, slack: float) -> Best:
        """Maximise in a box. Faded groups move on to the ``floor`` if that loses less than ``slack``.

        Near the floor the surrogate is so flat that no gradient leads there, and nothing depends on it. A group is
        faded only if it is so here as well as there: columns may fade temporarily on the way past a maximum.
        """
        from scipy import optimize

        def descent(eta: Float) -> tuple[float, Float]:
            value, gradient = self.value_gradient(eta)
            return self.level - value, -gradient

        eta = self._along_a_line(low, high, slack) if len(self.eta) == 1 else None
        if eta is None:
            box = list(zip(low, high, strict=True))
            limits = {"maxfun": MAX_SURROGATE_EVALUATIONS, "ftol": 0.0, "gtol": 0.05 * np.sqrt(slack)}
            start = np.clip(self.eta, low, high)
            found = optimize.minimize(descent, start, jac=True, method="L-BFGS-B", bounds=box, options=limits)
            eta = np.asarray(np.clip(found.x, low, high))
        value = self.value_gradient(eta)[0]
        faded = (self._at(self.eta).determined < FADED_FRACTION) & (self._at(eta).determined < FADED_FRACTION)
        lower = np.where(faded, floor, eta)
        if (lower < eta).any() and self._at(lower).value >= self._at(eta).value - slack:
            eta, value = lower, max(value, self._at(lower).value)
        return Best(eta, value - self.level, self._at(eta).posterior)

    def value_gradient(self, eta: Float) -> tuple[float, Float]:
        """q and its gradient; a large negative value if the parabola has no posterior."""
        here = self._at(eta)
        if not np.isfinite(here.value):
            return -UNREACHABLE, np.zeros_like(eta)
        step = eta - self.eta
        extra = self.bend @ step
        return here.value + float(self.line @ step) + 0.5 * float(step @ extra), here.gradient + self.line + extra

    def _along_a_line(self, low: Float, high: Float, slack: float) -> Float | None:
        """For one number: uphill to the bound or to where the slope changes sign, or None if q does not rise.

        It takes a third of the evaluations of a search in many dimensions.
        """
        from scipy import optimize

        here = self.value_gradient(self.eta)[1][0]
        edge = high if here > 0 else low
        value, slope = self.value_gradient(edge)
        if slope[0] * here < 0:
            xtol = 0.02 * np.sqrt(slack)
            top = optimize.brentq(lambda x: self.value_gradient(np.array([x]))[1][0], self.eta[0], edge[0], xtol=xtol)
            edge = np.array([top])
            value = self.value_gradient(edge)[0]
        return edge if value >= self.level else None

    def _at(self, eta: Float, posterior: Approximation | None = None) -> Evaluated:
        """The parabola at η, cached; its posterior there is computed unless it is known."""
        key = eta.tobytes()
        if key not in self._evaluated:
            prior = self.scales.prior(eta)
            posterior = self.parabola.under(prior) if posterior is None else posterior
            found = Evaluated(posterior, -np.inf, np.zeros_like(eta), np.ones_like(eta))
            if np.isfinite(posterior.log_evidence):
                gradient = self.scales.gradient(eta, stationary_slope(prior, posterior))
                weights = self.scales.sums(np.full(len(self.scales.groups), float(len(posterior.mean))))
                determined = self.scales.sums(well_determined(posterior, prior)) / weights
                found = Evaluated(posterior, posterior.log_evidence, gradient, determined)
            self._evaluated[key] = found
        return self._evaluated[key]
