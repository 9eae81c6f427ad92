# SPDX-License-Identifier: BSD-3-Clause
"""A trust region around the best fit so far: the maximum of an evidence that is dear, by a surrogate that is cheap."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix.bayesian.evidence.fitter import Fitter, Guess
from separatrix.bayesian.evidence.hyper import Hyper
from separatrix.bayesian.evidence.surrogate import Best, Surrogate
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.bayesian.tuning.report import TuningStatus, TuningStep
from separatrix.exceptions import DataError
from separatrix.solvers import Posterior

__all__ = ["Found", "Search"]

RADIUS = 2.0  # of a step at most, in logarithms of a scale: a factor of seven
SMALLEST = 1e-3
POOR, GOOD = 0.25, 0.75  # shares of the promised gain that came true
ROUNDING = 1e-10  # of the log evidence, relative: it is a sum over rows
FLAT = 0.05  # nats for each factor of e in a scale: a gradient below needs no promise to be called zero
MEMORY = 8  # earlier gradients that the surrogate is made to reproduce
FEW = 20  # groups, for which a sample of the rows tells how the movement of the mode changes the evidence


class Found(NamedTuple):
    """Where a search ended, why, the steps that it took and the fits that it made."""

    eta: Float
    approximation: Approximation
    gradient: Float
    status: TuningStatus
    trace: tuple[TuningStep, ...]
    fits: int


class Point(NamedTuple):
    """A fit at η, and the gradient of its evidence."""

    eta: Float
    approximation: Approximation
    gradient: Float


class Search:
    """From η = 0 to a maximum of ln p(D | η) between bounds (low, high)."""

    def __init__(
        self, objective: Posterior, over: Hyper, fitter: Fitter, *, bounds: tuple[Float, Float], tol: float
    ) -> None:
        self.objective, self.over, self.fitter, self.tol = objective, over, fitter, tol
        self.low, self.high = bounds
        self.trace: list[TuningStep] = []
        self.fits = 0

    def run(self, start: Approximation | None, max_steps: int) -> Found:
        """The search; ``start`` is the fit at η = 0 where it is known."""
        here, status = self._climb(self._begin(start), max_steps)
        return Found(*here, status, tuple(self.trace), self.fits)

    def _begin(self, start: Approximation | None) -> Point:
        eta = np.clip(np.zeros(self.over.size), self.low, self.high)
        if start is not None and not eta.any():
            return self._arrive(eta, start)
        return self._arrive(eta, self._fit(eta, None if start is None else Guess.of(start)))

    def _climb(self, here: Point, max_steps: int) -> tuple[Point, TuningStatus]:
        radius = RADIUS
        for _ in range(max_steps):
            best = self._promise(here, radius)
            leaves = bool(((best.eta == self.low) & (here.eta > self.low)).any())  # a group that is switched off now
            if best.gain < self.tol and not leaves:
                return here, self._verdict(here, radius)
            there = self._try(best)
            gain = -np.inf if there is None else there.log_evidence - here.approximation.log_evidence
            loss = max(ROUNDING * abs(here.approximation.log_evidence), self.tol if leaves else 0.0)
            if there is not None and gain > -loss:
                here = self._arrive(best.eta, there)
            if best.gain >= self.tol or gain <= -loss:  # else nothing was promised
                radius = _next_radius(radius, gain, best.gain)
            if radius < SMALLEST:
                return here, self._verdict(here, radius)
        return here, TuningStatus.MAX_STEPS

    def _promise(self, here: Point, radius: float) -> Best:
        """The maximum of the surrogate, not further than ``radius``."""
        earlier = [(step.eta, step.gradient) for step in self.trace[-1 - MEMORY : -1]]
        surrogate = Surrogate(self.over, *here, earlier)
        low, high = np.maximum(self.low, here.eta - radius), np.minimum(self.high, here.eta + radius)
        if self.over.size == 1:  # never past a point whose gradient points back
            low = max([low, *(eta for eta, slope in earlier if slope > 0 and low < eta < here.eta)])
            high = min([high, *(eta for eta, slope in earlier if slope < 0 and here.eta < eta < high)])
        return surrogate.maximise(low, high, floor=self.low, slack=self.tol)

    def _verdict(self, here: Point, radius: float) -> TuningStatus:
        """Whether there is nothing to gain, or only nothing so near."""
        outwards = ((here.eta <= self.low) & (here.gradient < 0)) | ((here.eta >= self.high) & (here.gradient > 0))
        flat = np.abs(np.where(outwards, 0.0, here.gradient)).max() < FLAT
        if flat or radius >= RADIUS or self._promise(here, RADIUS).gain < self.tol:
            return TuningStatus.CONVERGED
        return TuningStatus.STALLED

    def _try(self, best: Best) -> Approximation | None:
        """The fit at a trial point; None where the posterior has no Gaussian there, as without concavity it may not."""
        try:
            return self._fit(best.eta, Guess.of(best.prediction))
        except DataError:
            if self.objective.likelihood.is_log_concave:
                raise
            return None

    def _fit(self, eta: Float, guess: Guess | None) -> Approximation:
        self.fits += 1
        return self.fitter.fit(self._at(eta), guess)

    def _arrive(self, eta: Float, approximation: Approximation) -> Point:
        slope = self.fitter.slope(self._at(eta), approximation, few=self.over.size <= FEW)
        gradient = self.over.gradient(eta, slope)
        self.trace.append(TuningStep(eta, approximation.log_evidence, gradient))
        return Point(eta, approximation, gradient)

    def _at(self, eta: Float) -> Posterior:
        return replace(self.objective, prior=self.over.prior(eta))


def _next_radius(radius: float, gain: float, promised: float) -> float:
    """Wider where promises come true, narrower where they do not."""
    if gain < POOR * promised:
        return radius / 4
    return min(2 * radius, RADIUS) if gain > GOOD * promised else radius
