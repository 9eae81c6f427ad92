# SPDX-License-Identifier: BSD-3-Clause
"""Was there a maximum to find? Asked after every fit, and answered by a linear program only in doubt.

Without a prior, a logistic or softmax model has a maximum exactly if no hyperplane separates the classes, completely or
with some rows on it (Albert & Anderson 1984). A solver does not notice: the gradient goes to zero all the same, along
weights that grow without end.

**A proof that there is one, for the price of a gradient.** A direction d separates if d'φ̃_n s_n >= 0 for all rows
(s_n = ±1), and not all zero. No such d exists if some positive numbers v_n make Σ v_n s_n φ̃_n = 0 (Stiemke). The slopes
q_n = |∂ ln p_n/∂a| nearly do: at any θ, Σ q_n s_n φ̃_n = -g, the gradient of the likelihood. What is missing is made up
by v_n = q_n (1 + δ_n) with δ_n = s_n r_n φ̃_n'Δ / q_n and H Δ = g, because Σ r_n φ̃_n φ̃_n' = H with curvatures r_n. So
if the Newton step Δ changes no slope by its whole size or more, every v_n is positive, and the classes overlap. For the
logit |δ_n| < |φ̃_n'Δ|: no activation moves by one. Along a separating direction Newton steps do not shrink below that,
however small the gradient is.

For K classes the same holds with p_nj, j ≠ t_n, in place of q_n. A bound of one half instead of one leaves room for an
inverse that is nearly H⁻¹. Where the proof fails, `separability` decides.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from separatrix._array import Float
from separatrix.exceptions import CollinearWarning, SeparationWarning
from separatrix.solvers import Posterior, Separability, Solution, separability
from separatrix.solvers.factor import Factor, factorise
from separatrix.solvers.precondition import Inverse

__all__ = ["examine", "is_overlapping"]

HALF = 0.5
SMALL = 200  # unknowns up to which a linear program is asked although a prior keeps the weights finite
FEW = 20_000  # rows, likewise


def examine(objective: Posterior, solution: Solution[Float], n_classes: int, *, is_soft: bool = False) -> Separability:
    """Whether the classes are separable; a warning where that leaves the weights without a maximum.

    With a prior on every weight nothing is at stake, so a large problem in doubt is left "unknown". Soft targets are
    not labels that a hyperplane could separate.
    """
    at_stake = bool(objective.prior.free[: len(objective.design.origin)].any())
    if is_soft:
        return _unproven(objective, "unknown")
    if is_overlapping(objective, solution, at_stake=at_stake):
        found = _unproven(objective, "overlapping")
    elif at_stake or _is_cheap(objective):
        found = separability(objective.source, n_classes, fit_intercept=objective.design.bias)
    else:
        found = _by_weights(objective, solution.value)
    if at_stake:
        _warn(objective, solution, found)
    return found


def is_overlapping(objective: Posterior, solution: Solution[Float], *, at_stake: bool) -> bool:
    """Whether a Newton step on the likelihood alone proves that the classes overlap."""
    if solution.end is None:
        return False
    grad, inverse = solution.end.grad, solution.end.inverse
    grad = grad - objective.prior.value_grad(solution.value)[1]  # of the likelihood
    if isinstance(inverse, Factor) and (objective.shape[0] == 1 or objective.sample is None):
        step = _likelihood_factor(objective, inverse).solve(grad)
    elif at_stake:
        step = _newton_step(objective, solution.value, grad, inverse)
    else:
        return False
    return bool(np.isfinite(step).all()) and objective.largest_share(solution.value, step) < HALF


def _likelihood_factor(objective: Posterior, inverse: Factor) -> Factor:
    """The factor of the Hessian without the prior."""
    prior, (C, P) = objective.prior, objective.shape
    if not prior.precision.any():
        return inverse
    hess = inverse.matrix - prior.add_to(np.zeros((C * P, C * P)))
    return factorise(hess, C, np.ones(P, dtype=bool))


def _newton_step(objective: Posterior, theta: Float, grad: Float, inverse: Inverse, most: int = 20) -> Float:
    """H⁻¹ g by conjugate gradients, to a tenth: products with H are passes, and nothing is factorised."""
    x, r = np.zeros_like(grad), grad.copy()
    z = inverse.solve(r)
    direction, rz = z, float(np.vdot(r, z))
    start = rz
    for _ in range(most):
        if rz <= 0.01 * start:
            break
        product = objective.hess_dot(theta, direction) - objective.prior.dot(direction)
        share = rz / float(np.vdot(direction, product))
        x, r = x + share * direction, r - share * product
        z = inverse.solve(r)
        before, rz = rz, float(np.vdot(r, z))
        direction = z + (rz / before) * direction
    return x


def _is_cheap(objective: Posterior) -> bool:
    return objective.shape[0] * objective.shape[1] <= SMALL and objective.source.n_rows <= FEW


def _by_weights(objective: Posterior, theta: Float) -> Separability:
    """Complete, if the fitted weights themselves separate all rows."""
    if not objective.separates(theta):
        return _unproven(objective, "unknown")
    coef, intercept = objective.design.in_user_units(theta)
    length = np.linalg.norm(coef)
    return Separability("complete", coef / length, intercept / length, objective.source.columns, 0, 0, 1)


def _unproven(objective: Posterior, status: Literal["overlapping", "unknown"]) -> Separability:
    C, M = objective.shape[0], len(objective.design.origin)
    return Separability(status, np.zeros((C, M)), np.zeros(C), (), 0, 0, 0)


def _warn(objective: Posterior, solution: Solution[Float], found: Separability) -> None:
    if found:
        rest = f", but for {found.n_on_plane} rows that lie on it" if found.n_on_plane else ""
        warnings.warn(
            f"A hyperplane separates the classes (status {found.status!r}{rest}), along {_listed(found.columns)}. The "
            "likelihood has no maximum: the weights are those at which the solver stopped, and they would grow without "
            "end. Give the weights a prior (alpha > 0), or drop or combine those columns.",
            SeparationWarning,
            stacklevel=5,
        )
        return
    inverse = None if solution.end is None else solution.end.inverse
    if isinstance(inverse, Factor) and inverse.singular is not None:
        columns = (*objective.source.columns, "the bias")[: objective.design.width]
        warnings.warn(
            f"Collinear columns: {inverse.singular.describe(columns * objective.shape[0])}. Predictions are "
            "unaffected, but coefficients are not unique: short ones (in standard-deviation units) are returned. "
            "Drop those columns, or set alpha > 0.",
            CollinearWarning,
            stacklevel=5,
        )


def _listed(columns: tuple[str, ...]) -> str:
    more = f" and {len(columns) - 6} more columns" if len(columns) > 6 else ""
    return ", ".join(map(repr, columns[:6])) + more
