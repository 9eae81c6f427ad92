# SPDX-License-Identifier: BSD-3-Clause
"""Steps up the bound on the evidence that a Gaussian q = N(m, S) gives, for any likelihood that can be averaged over q.

    L(m, S) = Σ_n weight_n E_q[ln p(t_n | a_n)] - KL(q || prior)                                      PRML (10.2 - 10.4)

With slope and curvature of ln p averaged in the same way, its gradient in m is g = Σ_n slope_n φ̃_n' - Λ (m - m0), and
where it is stationary in S the precision S⁻¹ is H = Λ + Σ_n curvature_n ⊗ φ̃_n φ̃_n'. A step is a share s of the natural
gradient in both,

    S⁻¹ ← (1 - s) S⁻¹ + s H,        m ← m + s S g

a direction in which L rises, at first by s times |R'g|² + ½ |R'HR - I|², S = R R'; s is halved until it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from separatrix._array import Float
from separatrix.bayesian.posterior.approximation import Approximation, row_squares
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import Factor, Posterior, factorise
from separatrix.stats import ValueGradHess

__all__ = ["Average", "Bound", "Point"]

ROUNDING = 1e-12  # of the bound, relative


@dataclass(frozen=True, eq=False)
class Point:
    """q = N(mean, A⁻¹), the bound there, its gradient in the mean (C, P), and the precision H that it asks for."""

    mean: Float
    factor: Factor
    bound: float
    grad: Float
    hess: Float

    def distance(self) -> float:
        """A whole step in units of q: of the mean in standard deviations, of the precision relatively."""
        root = self.factor.root
        change = root.T @ self.hess @ root - np.eye(len(root))
        return float(max(np.linalg.norm(root.T @ self.grad.ravel()), np.linalg.norm(change)))


class Average(Protocol):
    """What a likelihood is to a bound."""

    def __call__(self, block: Block, mean: Float, root: Float) -> ValueGradHess:
        """E[ln p] of the rows of a block, its gradient, and minus its Hessian.

        Under q with the mean (C, P) and a root (CP, CP) of the covariance.
        """


@dataclass(frozen=True, eq=False)
class Bound:
    """L of the rows and the prior of an objective; no step is a smaller share of a whole one than ``shortest``."""

    objective: Posterior
    average: Average
    shortest: float

    def at(self, mean: Float, factor: Factor) -> Point:
        """The bound and its derivatives at q: one pass."""
        prior, root = self.objective.prior, factor.root
        here = self.objective.source.reduce(partial(self.average, mean=mean, root=root))
        value, pull = prior.value_grad(mean)
        # KL = ½ ((m - m0)'Λ(m - m0) + tr ΛS - CP - ln |Λ| + ln |S⁻¹|)
        kl = value + 0.5 * (_trace(prior, root) - len(root) - prior.log_det() + factor.log_det)
        return Point(mean, factor, here.value - kl, here.grad - pull, prior.add_to(here.hess))

    def ascend(self, here: Point, share: float) -> tuple[Point, float] | None:
        """A step that does not lower the bound, and the share of a whole one that it is; None where there is none."""
        A, noise = here.factor.matrix, ROUNDING * abs(here.bound)
        while share >= self.shortest:
            factor = self._factor((1 - share) * A + share * here.hess)
            if factor is not None:
                there = self.at(here.mean + share * factor.solve(here.grad), factor)
                if there.bound >= here.bound - noise:
                    return there, share
            share /= 2
        return None

    def approximation(self, here: Point, steps: int, *, is_converged: bool) -> Approximation:
        """q as a posterior whose log evidence is its bound: one pass for ln p(D | mean)."""
        penalty, _ = self.objective.prior.value_grad(here.mean)
        log_likelihood = penalty - self.objective.value_grad(here.mean).value
        return Approximation(
            here.mean, here.factor, log_likelihood, here.bound, "variational", steps, is_converged=is_converged
        )

    def _factor(self, A: Float) -> Factor | None:
        """A precision factorised, if it is one."""
        if not (np.diag(A) > 0).all():
            return None
        factor = factorise(A, self.objective.shape[0], self.objective.prior.free)
        return factor if factor.singular is None else None


def _trace(prior: Penalty, root: Float) -> float:
    """tr ΛS, S = R R'."""
    precision, size = prior.precision, len(prior.precision)
    parts = [root[start : start + size] for start in range(0, len(root), size)]
    if precision.ndim == 1:
        return float(sum(precision @ row_squares(part) for part in parts))
    return float(sum(np.vdot(precision @ part, part) for part in parts))
