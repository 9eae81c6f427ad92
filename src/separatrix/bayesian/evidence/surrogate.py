# SPDX-License-Identifier: BSD-3-Clause
"""The evidence as a function of the prior, from one fit and without another pass.

An approximate posterior N(m, A⁻¹) under a prior N(m0, Λ0⁻¹) says that the log likelihood looks like a parabola there:

    ln p(D | m + δ) ≈ ln p(D | m) + δ'Λ0 (m - m0) - ½ δ'H δ,        H = A - Λ0,

its slope being what holds against the pull of the prior. Under another prior Λ such a likelihood has its mode at
δ = (H + Λ)⁻¹ (Λ0 - Λ)(m - m0) and its evidence in closed form: algebra of size CP, however many rows there are. With
many rows that is nearly the truth; in any case it predicts mode and curvature well enough to start the next fit from.

What the parabola misses of the gradient of the evidence, where it was made and where the search was before, is added
as a quadratic in η: a straight line, so that the surrogate is stationary only where the evidence is, and symmetric
updates of rank one (SR1) that reproduce the earlier gradients. Without those, the search creeps wherever the curvature
of the likelihood changes much with the scale, as it does with as many columns as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix._linalg import SingularError
from separatrix.bayesian.evidence.gradient import stationary_slope_of, well_determined
from separatrix.bayesian.evidence.hyper import Hyper
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.priors import Penalty
from separatrix.solvers import Factor, factorise

__all__ = ["Best", "Look", "Parabola", "Surrogate"]

FADED = 0.05  # of a group's weights, that the data determine: below, its scale hardly matters any more
HOPELESS = 1e10  # stands for minus infinity where a line search has to come back from it
EVALUATIONS = 200
SMALLEST = 1e-8  # cosine between a step and what it taught that still says something


@dataclass(frozen=True, eq=False)
class Parabola:
    """The log likelihood around m: its curvature H (CP, CP), and the prior and value it was seen under."""

    mean: Float
    curvature: Float
    prior: Penalty
    log_likelihood: float

    @classmethod
    def of(cls, approximation: Approximation, prior: Penalty) -> Parabola:
        """What an approximation knows of the likelihood."""
        H = approximation.factor.matrix - prior.matrix()
        return cls(approximation.mean, H, prior, approximation.log_likelihood)

    def under(self, prior: Penalty) -> Approximation:
        """Posterior and evidence under another prior; minus infinity where there is none."""
        C = len(self.mean)
        away = self.mean - prior.mean
        pull = self.prior.dot(away)
        A = prior.add_to(self.curvature.copy())
        factor = factorise(A, C, prior.free) if (A.diagonal() > 0).all() else _no_factor(A)
        if factor.singular is not None:
            return Approximation(self.mean, factor, -np.inf, -np.inf, "parabola")
        delta = factor.solve(pull - prior.dot(away))
        flat = delta.ravel()
        rise = float(np.vdot(pull, delta)) - 0.5 * float(flat @ (self.curvature @ flat))
        log_likelihood = self.log_likelihood + rise
        held = prior.value_grad(self.mean + delta)[0]
        log_evidence = log_likelihood - held + 0.5 * prior.log_det() - 0.5 * factor.log_det
        return Approximation(self.mean + delta, factor, log_likelihood, log_evidence, "parabola")


def _no_factor(A: Float) -> Factor:
    """Of a matrix that curves downwards somewhere, which the parabola of a likelihood that is not concave may."""
    down = [int(i) for i in np.flatnonzero(A.diagonal() <= 0)]
    return Factor(np.ones(len(A)), np.eye(0), SingularError(down, {}), A)


class Best(NamedTuple):
    """Where a surrogate is largest, what it gains on the point it was made at, and the posterior it predicts there."""

    eta: Float
    gain: float
    prediction: Approximation


class Look(NamedTuple):
    """The parabola at some η: posterior, log evidence, its gradient, and the share of each group that is determined."""

    posterior: Approximation
    value: float
    gradient: Float
    share: Float


class Surrogate:
    """q(η) = ln p(D | η) of a parabola and a quadratic: equal to the evidence in value and gradient at ``eta``.

    ``earlier`` holds points η and gradients of the evidence there, oldest first.
    """

    def __init__(
        self,
        hyper: Hyper,
        eta: Float,
        approximation: Approximation,
        gradient: Float,
        earlier: Sequence[tuple[Float, Float]] = (),
    ) -> None:
        self.hyper, self.eta = hyper, eta
        self.parabola = Parabola.of(approximation, hyper.prior(eta))
        here = self._judge(eta, approximation)
        self._looks = {eta.tobytes(): here}
        self.level = here.value
        self.line, self.bend = gradient - here.gradient, np.zeros((len(eta), len(eta)))
        for point, slope in earlier[-len(eta) :]:  # one number has one curvature
            self._learn(point, slope)

    def maximise(self, low: Float, high: Float, floor: Float, slack: float) -> Best:
        """The largest value in a box. Groups that have faded go on to the ``floor`` if that loses less than ``slack``.

        Near the floor the surrogate is so flat that no gradient leads there, and nothing depends on it. Faded is what
        is so here as well as there: a fit must have seen it, because many a column fades on the way past a maximum.
        """
        eta = self._along_a_line(low, high, slack) if len(self.eta) == 1 else None
        if eta is None:
            eta = self._in_a_box(low, high, slack)
        value = self.value_gradient(eta)[0]
        faded = (self._look(self.eta).share < FADED) & (self._look(eta).share < FADED)
        lower = np.where(faded, floor, eta)
        if (lower < eta).any() and self._look(lower).value >= self._look(eta).value - slack:
            eta, value = lower, max(value, self._look(lower).value)
        return Best(eta, value - self.level, self._look(eta).posterior)

    def value_gradient(self, eta: Float) -> tuple[float, Float]:
        """q and its gradient; minus something large where the parabola has no posterior."""
        look = self._look(eta)
        if not np.isfinite(look.value):
            return -HOPELESS, np.zeros_like(eta)
        step = eta - self.eta
        extra = self.bend @ step
        return look.value + float(self.line @ step) + 0.5 * float(step @ extra), look.gradient + self.line + extra

    def _in_a_box(self, low: Float, high: Float, slack: float) -> Float:
        from scipy import optimize

        def descent(eta: Float) -> tuple[float, Float]:
            value, gradient = self.value_gradient(eta)
            return self.level - value, -gradient

        found = optimize.minimize(
            descent,
            np.clip(self.eta, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"maxfun": EVALUATIONS, "ftol": 0.0, "gtol": 0.05 * np.sqrt(slack)},
        )
        return np.asarray(np.clip(found.x, low, high))

    def _along_a_line(self, low: Float, high: Float, slack: float) -> Float | None:
        """For one number: uphill to the bound, or to where the slope changes its sign; None where neither is a rise.

        A third of the evaluations of a search in many dimensions.
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

    def _learn(self, point: Float, gradient: Float) -> None:
        """Bend q so that its gradient at an earlier point is what it was."""
        s = point - self.eta
        r = gradient - self.value_gradient(point)[1]
        along = float(r @ s)
        if abs(along) > SMALLEST * np.linalg.norm(r) * np.linalg.norm(s):
            self.bend += np.outer(r, r) / along

    def _look(self, eta: Float) -> Look:
        """The parabola at η, remembered."""
        key = eta.tobytes()
        if key not in self._looks:
            self._looks[key] = self._judge(eta, self.parabola.under(self.hyper.prior(eta)))
        return self._looks[key]

    def _judge(self, eta: Float, posterior: Approximation) -> Look:
        if not np.isfinite(posterior.log_evidence):
            return Look(posterior, -np.inf, np.zeros_like(eta), np.ones_like(eta))
        prior = self.hyper.prior(eta)
        gradient = self.hyper.gradient(eta, stationary_slope_of(prior, posterior))
        weights = self.hyper.sums(np.full(len(self.hyper.groups), float(len(posterior.mean))))
        share = self.hyper.sums(well_determined(posterior, prior)) / weights
        return Look(posterior, posterior.log_evidence, gradient, share)
