# SPDX-License-Identifier: BSD-3-Clause
"""The Gaussian that is nearest to the posterior in KL(q || p): its bound on the evidence, and a Newton method for it.

    ln p(D) ≥ L(m, S) = Σ_n weight_n E_q[ln p(t_n | a_n)] - KL(N(m, S) || prior)                      PRML (10.2 - 10.4)

The expectations are integrals over one activation a_n ~ N(mu_n, var_n) each, whatever the number of weights. With the
derivatives of ln p averaged in the same way, slope_n and curvature_n,

    ∂L/∂m = Σ_n weight_n slope_n φ̃_n - Λ (m - m0),        H = Λ + Σ_n weight_n curvature_n φ̃_n φ̃_n'

and S⁻¹ = H at the maximum. This is Newton's method on a likelihood moderated by what q does not know: one pass for
both, as for the mode. Undamped it swings, because S moves while m is computed. So both move together, by a share of the
natural gradient for which the bound does not fall (`ascent`).

Beside expectation propagation it is too narrow and its evidence too low, but it is a bound, and every step raises it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise

import numpy as np
from scipy import special

from separatrix._arguments import check_count, check_positive
from separatrix._array import Array, Float
from separatrix._special import LOG_SQRT_2PI
from separatrix.bayesian.posterior.approximation import Approximation, row_squares
from separatrix.bayesian.predictive.two_classes import expected, expected_logit
from separatrix.bayesian.variational.ascent import Bound
from separatrix.likelihoods import Derivatives, Likelihood, Logit
from separatrix.rows import Block
from separatrix.solvers import Posterior
from separatrix.stats import ValueGradHess

__all__ = ["variational"]

WIDE = 4.0  # a variance of an activation, up to which Gauss-Hermite quadrature has nine digits
TURN, REACH, NODES = 12.0, 8.0, 48  # where every likelihood has turned; standard deviations; nodes of a panel
SHORTEST = 2.0**-12  # of a step, which lowers the bound by rounding alone


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
    >>> from separatrix.bayesian.posterior.approximation import laplace
    >>> from separatrix.rows import as_source
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
            "variational_softmax is for a softmax."
        )
    bound = _bound(objective)
    here = bound.at(start.mean, start.factor)
    steps, share, distance = 0, 1.0, here.distance()
    while distance > tol and steps < max_steps:
        moved = bound.ascend(here, min(1.0, 2 * share))
        if moved is None:
            break
        here, share = moved
        steps, distance = steps + 1, here.distance()
    return bound.approximation(here, steps, is_converged=distance <= tol)


def _bound(objective: Posterior) -> Bound:
    return Bound(objective, partial(_averages, objective=objective), SHORTEST)


def _averages(block: Block, mean: Float, root: Float, objective: Posterior) -> ValueGradHess:
    design = objective.design
    mu = design.activate(block, mean)
    var = row_squares(design.regressors(block.X) @ root)
    log_p, slope, curvature = _moderated(objective.likelihood, mu, var, block.codes)
    if block.weight is not None:
        log_p, slope, curvature = (block.weight * part for part in (log_p, slope, curvature))
    return ValueGradHess(float(log_p.sum()), design.collect(block, slope), design.gram(block, curvature))


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
