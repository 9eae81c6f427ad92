# SPDX-License-Identifier: BSD-3-Clause
"""The evidence as a function of the prior, from one fit and without another pass.

An approximate posterior N(m, A⁻¹) under a prior N(m0, Λ0⁻¹) says that the log likelihood looks like a parabola there:

    ln p(D | m + δ) ≈ ln p(D | m) + δ'Λ0 (m - m0) - ½ δ'H δ,        H = A - Λ0,

its slope being what holds against the pull of the prior. Under another prior Λ such a likelihood has its mode at
δ = (H + Λ)⁻¹ (Λ0 - Λ)(m - m0) and its evidence in closed form: algebra of size CP, however many rows there are. With
many rows that is nearly the truth; in any case it predicts mode and curvature well enough to start the next fit from.

What the parabola misses of the gradient of the evidence where it was made is added as a straight line, so that the
surrogate is stationary only where the evidence is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from separatrix._array import Array, Float
from separatrix.bayesian.approximation import Approximation
from separatrix.bayesian.evidence import stationary_slope_of, well_determined
from separatrix.bayesian.hyper import Hyper
from separatrix.priors import Penalty
from separatrix.solvers.factor import factorise

__all__ = ["Best", "Parabola", "Surrogate"]

FADED = 0.05  # of a group's weights, that the data determine: below, its scale hardly matters any more
HOPELESS = 1e10  # stands for minus infinity where a line search has to come back from it
EVALUATIONS = 200


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
        factor = factorise(prior.add_to(self.curvature.copy()), C, prior.free)
        if factor.singular is not None:
            return Approximation(self.mean, factor, -np.inf, -np.inf, "parabola")
        delta = factor.solve(pull - prior.dot(away))
        flat = delta.ravel()
        rise = float(np.vdot(pull, delta)) - 0.5 * float(flat @ (self.curvature @ flat))
        log_likelihood = self.log_likelihood + rise
        held = prior.value_grad(self.mean + delta)[0]
        log_evidence = log_likelihood - held + 0.5 * prior.log_det() - 0.5 * factor.log_det
        return Approximation(self.mean + delta, factor, log_likelihood, log_evidence, "parabola")


class Best(NamedTuple):
    """Where a surrogate is largest, what it gains on the point it was made at, and the posterior it predicts there."""

    eta: Float
    gain: float
    prediction: Approximation


class Surrogate:
    """q(η) = ln p(D | η) of a parabola, and a line: equal to the evidence in value and gradient at ``eta``."""

    def __init__(self, hyper: Hyper, eta: Float, approximation: Approximation, gradient: Float) -> None:
        self.hyper, self.eta = hyper, eta
        self.parabola = Parabola.of(approximation, hyper.prior(eta))
        self.line = np.zeros_like(eta)
        self.level, here = self._value_gradient(eta)
        self.line = gradient - here

    def maximise(self, low: Float, high: Float, floor: Float) -> Best:
        """The largest value in a box. A group that fades on the way goes on to the ``floor`` if that is no worse.

        Near the floor the surrogate is so flat that no gradient leads there, and nothing depends on it.
        """
        from scipy import optimize

        found = optimize.minimize(
            self._descent,
            np.clip(self.eta, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"maxfun": EVALUATIONS, "ftol": 1e-12, "gtol": 1e-7},
        )
        eta = np.clip(found.x, low, high)
        value = self._value_gradient(eta)[0]
        lower = np.where(self.fades(eta), floor, eta)
        if (lower < eta).any():
            there = self._value_gradient(lower)[0]
            if there >= value:
                eta, value = lower, there
        return Best(eta, value - self.level, self.parabola.under(self.hyper.prior(eta)))

    def fades(self, eta: Float) -> Array:
        """Which groups the data hardly determine at η, and which would rather be narrower."""
        prior = self.hyper.prior(eta)
        approximation = self.parabola.under(prior)
        weights = self.hyper.sums(np.full(len(self.hyper.groups), float(len(approximation.mean))))
        share = self.hyper.sums(well_determined(approximation, prior)) / weights
        return np.asarray((share < FADED) & (self._value_gradient(eta)[1] < 0))

    def _value_gradient(self, eta: Float) -> tuple[float, Float]:
        prior = self.hyper.prior(eta)
        approximation = self.parabola.under(prior)
        if not np.isfinite(approximation.log_evidence):
            return -HOPELESS, np.zeros_like(eta)
        slope = self.hyper.gradient(eta, stationary_slope_of(prior, approximation))
        return approximation.log_evidence + float(self.line @ (eta - self.eta)), slope + self.line

    def _descent(self, eta: Float) -> tuple[float, Float]:
        value, gradient = self._value_gradient(eta)
        return self.level - value, -gradient
