# SPDX-License-Identifier: BSD-3-Clause
"""The scales of a prior that make the data most probable: type-II maximum likelihood.        PRML §3.5, §4.4

    η* = argmax ln p(D | η),        η = logarithms of scales

Every evaluation of the evidence is a fit, so few are made. From a fit, the evidence near η is predicted by algebra
alone (`surrogate`), right in value and gradient at η. Its maximum within a trust region is the next η, where the fit
starts at the predicted mode with the predicted curvature and takes a few gradients. A step counts only if the evidence
itself has risen. With many rows the prediction is so good that the second fit is the last.

The search ends where the surrogate promises less than ``tol`` nats. A scale that runs to a bound is no failure, but it
is news: the columns are irrelevant, or the prior is not needed, or the classes are separable. The result says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.approximation import Approximation
from separatrix.bayesian.fitter import FitLaplace, Fitter
from separatrix.bayesian.hyper import Hyper, hyper
from separatrix.bayesian.surrogate import Best, Surrogate
from separatrix.bayesian.tuned import Boundary, Tuned, TuningStatus, TuningStep
from separatrix.exceptions import DataError
from separatrix.solvers.posterior import Posterior

__all__ = ["tune_scales"]

RADIUS = 2.0  # of the first step, in logarithms of a scale: a factor of seven
LARGEST, SMALLEST = 8.0, 1e-3
POOR, GOOD = 0.25, 0.75  # shares of the promised gain that came true
ROUNDING = 1e-10  # of the log evidence, relative: it is a sum over rows
FEW = 20  # groups, for which a sample of the rows tells how the movement of the mode changes the evidence


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

    Parameters
    ----------
    objective : Posterior
        Whose prior is where the search begins.
    groups : None, "columns" or sequence of M labels
        Which columns share a factor: all, none (automatic relevance determination), or those with the same label.
    fitter : Fitter, default FitLaplace()
        How posteriors are approximated.
    start : Approximation, optional
        Of the posterior as it is, where that is known already.
    tol : float
        Gain in nats that is not worth a fit.
    max_steps : int
        Fits after the first.

    Returns
    -------
    Tuned

    Raises
    ------
    DataError
        Where the prior has no scale to tune, or the groups do not fit the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data import as_source
    >>> from separatrix.likelihoods import Logit
    >>> from separatrix.priors import Gaussian
    >>> from separatrix.solvers import pose
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> t = (X[:, 0] + np.random.default_rng(1).logistic(size=400) > 0).astype(int)
    >>> objective = pose(as_source(X, t), Logit(), Gaussian(1.0, intercept_scale=10.0), fit_intercept=True)
    >>> tuned = tune_scales(objective, "columns")
    >>> tuned.status.name, [group.columns for group in tuned.boundary]
    ('CONVERGED', [('x1',), ('x2',)])
    """
    with single_thread_blas():
        over = hyper(objective, groups)
        search = _Search(objective, over, FitLaplace() if fitter is None else fitter, tol)
        here, status = search.run(start, max_steps)
    return Tuned(
        here.objective,
        here.approximation,
        over.labels,
        np.exp(here.eta),
        np.exp(over.per_weight(here.eta))[: len(objective.design.origin)],
        here.gradient,
        status,
        search.boundary(here.eta),
        tuple(search.trace),
        search.fits,
    )


class _Point(NamedTuple):
    """A fit at η, and the gradient of its evidence."""

    eta: Float
    objective: Posterior
    approximation: Approximation
    gradient: Float

    @property
    def value(self) -> float:
        return self.approximation.log_evidence


class _Search:
    """A trust region around the best fit so far."""

    def __init__(self, objective: Posterior, over: Hyper, fitter: Fitter, tol: float) -> None:
        self.objective, self.over, self.fitter, self.tol = objective, over, fitter, tol
        self.low, self.high = over.bounds(objective)
        self.trace: list[TuningStep] = []
        self.fits = 0

    def run(self, start: Approximation | None, max_steps: int) -> tuple[_Point, TuningStatus]:
        """From η = 0 to a maximum."""
        eta = np.clip(np.zeros(self.over.size), self.low, self.high)
        known = start is not None and not eta.any()
        here = self._point(eta, start if start is not None and known else self._fit(eta, start))
        radius = RADIUS
        for _ in range(max_steps):
            best = self._promise(here, radius)
            if best.gain < self.tol and not ((best.eta == self.low) & (here.eta > self.low)).any():
                return here, self._verdict(here, radius)
            there = self._try(best)
            gain = -np.inf if there is None else there.log_evidence - here.value
            if there is not None and gain > -ROUNDING * abs(here.value):
                here = self._point(best.eta, there)
            radius = _next_radius(radius, gain, best.gain)
            if radius < SMALLEST:
                return here, TuningStatus.STALLED
        return here, TuningStatus.MAX_STEPS

    def boundary(self, eta: Float) -> tuple[Boundary, ...]:
        """The groups that stand at a bound."""
        names = self.objective.source.columns
        return tuple(
            Boundary(self.over.labels[g], self.over.columns(g, names), bool(eta[g] <= self.low[g]))
            for g in np.flatnonzero((eta <= self.low) | (eta >= self.high))
        )

    def _promise(self, here: _Point, radius: float) -> Best:
        """The maximum of the surrogate, not further than ``radius``."""
        surrogate = Surrogate(self.over, here.eta, here.approximation, here.gradient)
        low, high = np.maximum(self.low, here.eta - radius), np.minimum(self.high, here.eta + radius)
        return surrogate.maximise(low, high, floor=self.low)

    def _verdict(self, here: _Point, radius: float) -> TuningStatus:
        """Whether there is nothing to gain, or only nothing so near."""
        if radius >= RADIUS or self._promise(here, RADIUS).gain < self.tol:
            return TuningStatus.CONVERGED
        return TuningStatus.STALLED

    def _try(self, best: Best) -> Approximation | None:
        """The fit at a trial point; None where the posterior has no Gaussian there, as without concavity it may not."""
        try:
            return self._fit(best.eta, best.prediction)
        except DataError:
            if self.objective.likelihood.is_log_concave:
                raise
            return None

    def _fit(self, eta: Float, guess: Approximation | None) -> Approximation:
        self.fits += 1
        return self.fitter.fit(self._at(eta), guess)

    def _at(self, eta: Float) -> Posterior:
        return replace(self.objective, prior=self.over.prior(eta))

    def _point(self, eta: Float, approximation: Approximation) -> _Point:
        objective = self._at(eta)
        slope = self.fitter.slope(objective, approximation, few=self.over.size <= FEW)
        gradient = self.over.gradient(eta, slope)
        self.trace.append(TuningStep(eta, approximation.log_evidence, gradient))
        return _Point(eta, objective, approximation, gradient)


def _next_radius(radius: float, gain: float, promised: float) -> float:
    """Wider where promises come true, narrower where they do not; a step that promised nothing says nothing."""
    if gain < POOR * promised:
        return radius / 4
    return min(2 * radius, LARGEST) if gain > GOOD * promised else radius
