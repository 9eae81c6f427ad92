# SPDX-License-Identifier: BSD-3-Clause
"""The Gaussian that is nearest to the posterior in KL(q || p): its bound on the evidence, and a Newton method for it.

    ln p(D) ≥ L(m, S) = Σ_n weight_n E_q[ln p(t_n | a_n)] - KL(N(m, S) || prior)                      PRML (10.2 - 10.4)

The expectations are integrals over one activation a_n ~ N(mu_n, var_n) each, whatever the number of weights. With the
derivatives of ln p averaged in the same way, slope_n and curvature_n,

    ∂L/∂m = Σ_n weight_n slope_n φ̃_n - Λ (m - m0),        H = Λ + Σ_n weight_n curvature_n φ̃_n φ̃_n'

and S⁻¹ = H at the maximum. This is Newton's method on a likelihood moderated by what q does not know: one pass for
both, as for the mode. Undamped it swings, because S moves while m is computed. So both move together, by a share s of
the natural gradient,

    S⁻¹ ← (1 - s) S⁻¹ + s H,        m ← m + s S ∂L/∂m

a direction in which L rises, and s is halved until it does: the bound never falls on an accepted step.

Beside expectation propagation it is too narrow and its evidence too low, but it is a bound, and every step raises it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

import numpy as np
from scipy import special

from separatrix._arguments import check_count, check_positive
from separatrix._array import Array, Float
from separatrix._special import LOG_SQRT_2PI
from separatrix.bayesian.approximation import Approximation, row_squares
from separatrix.bayesian.predictive import expected, expected_logit
from separatrix.data import Block
from separatrix.likelihoods import Derivatives, Likelihood, Logit
from separatrix.solvers.factor import Factor, factorise
from separatrix.solvers.posterior import Posterior

__all__ = ["variational"]

WIDE = 4.0  # a variance of an activation, up to which Gauss-Hermite quadrature has nine digits
TURN, REACH, NODES = 12.0, 8.0, 48  # where every likelihood has turned; standard deviations; nodes of a panel
SHORTEST = 2.0**-12  # of a step, which lowers the bound by rounding alone
ROUNDING = 1e-12  # of the bound, relative


def variational(
    objective: Posterior, start: Approximation, *, tol: float = 1e-4, max_steps: int = 100
) -> Approximation:
    """The maximum of the bound, for a likelihood of one activation.

    Parameters
    ----------
    objective : Posterior
        Rows, likelihood and prior.
    start : Approximation
        A Gaussian to begin with.
    tol : float, default 1e-4
        How far one more step may move the mean, in posterior standard deviations, and the precision, relatively.
    max_steps : int, default 100
        Steps after which the result is returned as it is, with ``is_converged`` false.

    Returns
    -------
    Approximation
        Named "variational"; its log evidence is the bound.

    Examples
    --------
    >>> from separatrix.bayesian.approximation import laplace
    >>> from separatrix.data import as_source
    >>> from separatrix.priors import Gaussian
    >>> from separatrix.solvers import Newton, pose
    >>> source = as_source(np.array([[1.0], [2.0], [3.0]]), np.array([1, 1, 1]))
    >>> objective = pose(source, Logit(), Gaussian(scale=2.0), fit_intercept=False)
    >>> mode = laplace(objective, Newton().minimise(objective, np.zeros((1, 1))).value)
    >>> found = variational(objective, mode)
    >>> found.mean.round(3), found.std.round(3), round(found.log_evidence, 3)
    (array([[1.973]]), array([[1.088]]), -1.141)
    """
    check_positive("variational", "tol", tol)
    check_count("variational", "max_steps", max_steps)
    if objective.shape[0] != 1:
        raise ValueError(
            f"variational is for one activation per row, and {objective.likelihood} has {objective.shape[0]}; "
            'use "laplace" or "importance".'
        )
    here = _evaluate(objective, start.mean, start.factor)
    steps, share, distance = 0, 1.0, here.distance()
    while distance > tol and steps < max_steps:
        moved = _ascend(objective, here, min(1.0, 2 * share))
        if moved is None:
            break
        here, share = moved
        steps, distance = steps + 1, here.distance()
    log_likelihood = objective.prior.value_grad(here.mean)[0] - objective.value_grad(here.mean).value
    return Approximation(
        here.mean, here.factor, log_likelihood, here.bound, "variational", steps, is_converged=distance <= tol
    )


@dataclass(frozen=True, eq=False)
class _Point:
    """q = N(mean, A⁻¹), the bound there, its gradient in the mean (1, P), and the precision H that it asks for."""

    mean: Float
    factor: Factor
    bound: float
    grad: Float
    hess: Float

    def distance(self) -> float:
        """A whole step in units of q: of the mean in standard deviations, of the precision relatively."""
        root = self.factor.root
        change = root.T @ self.hess @ root - np.eye(len(root))
        return float(max(np.linalg.norm(root.T @ self.grad[0]), np.linalg.norm(change)))


@dataclass(frozen=True, slots=True)
class _Averages:
    """Sums over rows of what is expected under q: ln p, its gradient (1, P) and the Hessian (P, P)."""

    value: float
    grad: Float
    hess: Float

    def __add__(self, other: _Averages) -> _Averages:
        return _Averages(self.value + other.value, self.grad + other.grad, self.hess + other.hess)


def _ascend(objective: Posterior, here: _Point, share: float) -> tuple[_Point, float] | None:
    """A step that does not lower the bound, and the share of a whole one that it is; None where there is none."""
    A, noise = here.factor.matrix, ROUNDING * abs(here.bound)
    while share >= SHORTEST:
        factor = _positive((1 - share) * A + share * here.hess, objective)
        if factor is not None:
            there = _evaluate(objective, here.mean + share * factor.solve(here.grad), factor)
            if there.bound >= here.bound - noise:
                return there, share
        share /= 2
    return None


def _positive(A: Float, objective: Posterior) -> Factor | None:
    """A precision factorised, if it is one."""
    if not (np.diag(A) > 0).all():
        return None
    factor = factorise(A, 1, objective.prior.free)
    return factor if factor.singular is None else None


def _evaluate(objective: Posterior, mean: Float, factor: Factor) -> _Point:
    """The bound and its derivatives at q: one pass."""
    prior, root = objective.prior, factor.root
    at = objective.source.reduce(partial(_averages, mean=mean, root=root, objective=objective))
    value, pull = prior.value_grad(mean)
    spread = prior.add_to(np.zeros_like(at.hess))
    # KL = ½ ((m - m0)'Λ(m - m0) + tr ΛS - P - ln |Λ| + ln |S⁻¹|)
    kl = value + 0.5 * (float(np.vdot(spread @ root, root)) - len(root) - prior.log_det() + factor.log_det)
    return _Point(mean, factor, at.value - kl, at.grad - pull, at.hess + spread)


def _averages(block: Block, mean: Float, root: Float, objective: Posterior) -> _Averages:
    design = objective.design
    mu = design.activate(block, mean)
    var = row_squares(design.regressors(block.X) @ root)
    log_p, slope, curvature = _moderated(objective.likelihood, mu, var, block.codes)
    if block.weight is not None:
        log_p, slope, curvature = (block.weight * part for part in (log_p, slope, curvature))
    return _Averages(float(log_p.sum()), design.collect(block, slope), design.gram(block, curvature))


def _moderated(likelihood: Likelihood, mu: Float, var: Float, t: Array) -> Derivatives:
    """ln p, slope and curvature averaged over a ~ N(mu, var)."""
    if isinstance(likelihood, Logit):
        return expected_logit(mu, var, t)
    found = np.empty((3, len(mu)))
    wide = var > WIDE
    for rows, average in ((~wide, expected), (wide, _over_panels)):
        if rows.any():
            found[:, rows] = average(partial(_together, likelihood=likelihood, t=t[rows]), mu[rows], var[rows])
    return Derivatives(*found)


def _together(a: Float, likelihood: Likelihood, t: Array) -> Array:
    """ln p, slope and curvature of every row, (3, n)."""
    return np.stack(likelihood.derivatives(a, t))


def _over_panels(function: Callable[[Float], Array], mu: Float, var: Float) -> Float:
    """E[g(a)] for g that turns near zero on a scale of one, where Hermite's nodes lie too far apart to see it.

    Gauss-Legendre to the left of the turn, across it, and to the right of it.
    """
    s = np.sqrt(var)
    low, high = mu - REACH * s, mu + REACH * s
    ends = [low, np.clip(-TURN, low, high), np.clip(TURN, low, high), high]
    total = np.zeros((3, len(mu)))
    for left, right in pairwise(ends):
        half = 0.5 * (right - left)
        for x, weight in zip(*_legendre(), strict=True):
            a = left + half * (1.0 + x)
            total += weight * half / s * np.exp(-0.5 * ((a - mu) / s) ** 2 - LOG_SQRT_2PI) * function(a)
    return total


@cache
def _legendre() -> tuple[Float, Float]:
    x, weight = special.roots_legendre(NODES)
    return x, weight
