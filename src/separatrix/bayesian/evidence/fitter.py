# SPDX-License-Identifier: BSD-3-Clause
"""How tuning sees a way to approximate posteriors: a fit, and how its evidence changes with the prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from separatrix._array import Float
from separatrix.bayesian.ep.fixed_point import expectation_propagation
from separatrix.bayesian.evidence.gradient import laplace_slope, stationary_slope
from separatrix.bayesian.posterior.approximation import Approximation, laplace
from separatrix.solvers import LBFGS, Auto, Factor, Inverse, Posterior, is_small

__all__ = ["FitEP", "FitLaplace", "Fitter", "Guess"]

ROUGH = 1e-2  # of a standard deviation: fixed points for tuning, whose evidence is right to the square of it
PATIENCE = 50  # gradient steps from a guess of the mode; after so many it was no good guess


class Guess(NamedTuple):
    """Where a posterior is expected: its mean (C, P), and g -> A⁻¹ g for its precision A where that is known."""

    mean: Float
    inverse: Inverse | None

    @classmethod
    def of(cls, approximation: Approximation) -> Guess | None:
        """An approximation as a guess; None where it is none, its precision not being positive definite."""
        return None if approximation.factor.singular else cls(approximation.mean, approximation.factor)


class Fitter(Protocol):
    """A way to approximate a posterior."""

    def fit(self, objective: Posterior, guess: Guess | None) -> Approximation:
        """The approximation, sought from a guess where there is one."""

    def slope(self, objective: Posterior, approximation: Approximation, *, few: bool) -> Float:
        """∂ ln p(D)/∂Λ, (P,) where Λ is diagonal, else (P, P).

        Where only a ``few`` sums of it are needed, a part that is a small correction may come from a sample of rows.
        """


@dataclass(frozen=True)
class FitLaplace:
    """Laplace's approximation: the mode to ``tol``, then one Hessian."""

    tol: float = 1e-8

    def fit(self, objective: Posterior, guess: Guess | None) -> Approximation:
        """By `Auto`; from a guess, by gradients alone as long as they lead somewhere.

        Where Hessians cost nothing they do not: Newton's steps forget how the last sums were rounded, and a memory of
        gradients, where a wide prior leaves a direction all but free, makes 1e-6 nats of it.
        """
        start, steps = np.zeros(objective.shape) if guess is None else guess.mean, 0
        if guess is not None and guess.inverse is not None and not is_small(objective):
            near = LBFGS(self.tol, PATIENCE).minimise(objective, start, inverse=guess.inverse)
            if near.is_converged:
                return laplace(objective, near.value, steps=near.steps)
            start, steps = near.value, near.steps
        solution = Auto(self.tol).minimise(objective, start)
        return laplace(objective, solution.value, steps=steps + solution.steps)

    def slope(self, objective: Posterior, approximation: Approximation, *, few: bool) -> Float:
        """With the movement of the mode."""
        return laplace_slope(objective, approximation, sampled=few)


@dataclass(frozen=True)
class FitEP:
    """Expectation propagation, from Laplace's mode. Its evidence is stationary in the sites: no pass for the slope."""

    tol: float = 1e-8

    def fit(self, objective: Posterior, guess: Guess | None) -> Approximation:
        """The fixed point; Laplace's Gaussian where there is none.

        Near a fixed point of another prior the mode is not needed to begin with.
        """
        if guess is not None and isinstance(guess.inverse, Factor):
            near = Approximation(guess.mean, guess.inverse, np.nan, np.nan, "guess")
            found = expectation_propagation(objective, near, tol=ROUGH, corrected=False)
            if found.is_converged:
                return found
        first = FitLaplace(self.tol).fit(objective, guess)
        found = expectation_propagation(objective, first, tol=ROUGH, corrected=False)
        return found if found.is_converged else first

    def slope(self, objective: Posterior, approximation: Approximation, *, few: bool) -> Float:
        """With the sites fixed."""
        if approximation.name != "ep":
            return FitLaplace(self.tol).slope(objective, approximation, few=few)
        return stationary_slope(objective, approximation)
