# SPDX-License-Identifier: BSD-3-Clause
"""Sparse weights: the maximum of a posterior whose prior has a corner at zero.

    F(θ) = E(θ) + Σ_g λ_g |θ_g|,       E(θ) = -Σ_n weight_n ln p(t_n | θ φ̃_n) + ½ θ'Λθ

A group g is a single weight (the lasso of Tibshirani 1996, and with Λ > 0 the elastic net of Zou & Hastie 2005) or
several (the group lasso of Yuan & Lin 2006). θ is the minimum if no group can be improved:

    ∂E/∂θ_g = -λ_g θ_g / |θ_g|     if θ_g ≠ 0
    |∂E/∂θ_g| <= λ_g               if θ_g = 0

**Proximal Newton** (Lee, Sun & Saunders 2014). E is replaced by its parabola at θ, and the minimum of the parabola plus
the penalty gives the direction of a step. The Hessian is kept as long as each step shrinks the gradient tenfold, so
most steps take one pass for the gradient alone; a large table begins with the Hessian of a sample.

**The parabola** is minimised by sweeps over the groups. As soon as they agree on which groups are zero, a few Newton
steps over the others give its minimum to the last digits.

**Working set** (Johnson & Guestrin 2015). Most weights of a wide table stay zero. Steps are taken over the columns that
violate the conditions most, and a pass over all columns shows whether others do. So Hessians stay small however many
columns there are, and every pass is still a sum over rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from separatrix._array import Array, Codes, Float, Rows
from separatrix._threads import single_thread_blas
from separatrix.priors import Corner, Penalty
from separatrix.solvers.newton import ARMIJO
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import Limits, Solution, Status, Step, status_at_rest
from separatrix.stats import ValueGrad

SAMPLE_TOL = 1e-3  # tolerance of the fit to a sample, smaller than the sampling noise
MIN_CONTRACTION = 0.1  # a step that shrinks the gradient by less asks for a new Hessian
INNER_TOL = 0.03  # relative accuracy of the minimum of the parabola
SWEEPS = 5  # sweeps between two attempts at the exact minimum
MAX_SWEEPS = 1000
SUBSET_TOL = 0.1  # accuracy over a working set, relative to the violation over all columns
FIRST_COLUMNS = 30  # columns of the first working set
MAX_TRIALS = 30  # halvings of a step


@dataclass(frozen=True)
class ProximalNewton(Limits):
    """Proximal Newton steps over a growing set of columns; see the module docstring."""

    tol: float = 1e-8
    max_steps: int = 500
    trace: bool = False

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """Minimise from ``start`` (C, P)."""
        hess = None
        if objective.sample is not None:
            sample = objective.of_sample()
            start = replace(self, tol=max(self.tol, SAMPLE_TOL), trace=False).minimise(sample, start).value
            if has_small_hessian(objective):
                hess = sample.value_grad_hess(start, exact=False, single=True).hess
        if has_small_hessian(objective):
            return self._descend(objective, start, hess)
        return self._over_working_sets(objective, start)

    def _over_working_sets(self, objective: Posterior, theta: Float) -> Solution[Float]:
        """Minimise over a few columns at a time, until no other column violates the conditions of the minimum."""
        found, M = Solution(theta, Status.MAX_STEPS, 0, 0), len(objective.design.origin)
        n_columns, corner = FIRST_COLUMNS, objective.corner
        while True:
            theta = found.value
            here = objective.value_grad(theta)
            found = replace(found, passes=found.passes + 1)
            violation = np.abs(corner.violation(theta, here.grad) / objective.column_units)
            size = float(violation.max()) / objective.units.total
            if size <= self.tol or found.steps >= self.max_steps:
                return replace(found, status=Status.GRADIENT if size <= self.tol else found.status)
            used = (theta[:, :M] != 0).any(axis=0)
            n_columns = max(n_columns, 2 * int(used.sum()))
            rank = np.where(used, np.inf, violation[:, :M].max(axis=0))
            if corner.groups is not None:  # groups enter as a whole
                rank = _largest_of_group(rank, corner.groups[:M])
            least = np.partition(rank, -n_columns)[-n_columns] if n_columns < M else 0.0
            kept = np.flatnonzero((rank >= least) & (rank > 0))
            part = replace(self, tol=max(self.tol, SUBSET_TOL * size), max_steps=self.max_steps - found.steps)
            inner = part._descend(on_columns(objective, kept), take(theta, kept, objective.design.bias))
            whole = np.zeros_like(theta)
            put(whole, inner.value, kept, objective.design.bias)
            found = found.followed_by(replace(inner, value=whole, trace=()))
            n_columns *= 2

    def _descend(self, objective: Posterior, theta: Float, hess: Float | None = None) -> Solution[Float]:
        """Take proximal Newton steps over all columns, with ``hess`` as the first Hessian."""
        corner = objective.corner
        assert corner is not None
        here, passes, is_new = objective.value_grad(theta), 1, False
        size = objective.gradient_size(corner.violation(theta, here.grad))
        trace, end = [], Status.MAX_STEPS
        for step in range(self.max_steps + 1):
            if self.trace:
                trace.append(Step(theta, here.value + corner.value(theta), size))
            if size <= self.tol:
                end = Status.GRADIENT
                break
            if step == self.max_steps:
                break
            if hess is None:
                hess, passes, is_new = objective.value_grad_hess(theta, exact=False).hess, passes + 1, True
            goal = minimum_of_parabola(objective, hess, here.grad, theta, INNER_TOL * size)
            moved, trials = line_search(objective, theta, here, goal - theta)
            passes += trials
            if moved is None and is_new:
                end = status_at_rest(size, self.tol)
                break
            if moved is not None:
                theta, here = moved
                before, size = size, objective.gradient_size(corner.violation(theta, here.grad))
            if moved is None or size > MIN_CONTRACTION * before:
                hess = None
            is_new = False
        return Solution(theta, end, step, passes, tuple(trace))


def line_search(
    objective: Posterior, theta: Float, here: ValueGrad, direction: Float
) -> tuple[tuple[Float, ValueGrad] | None, int]:
    """Point reached along ``direction``, or None if no step lowers F; and the number of passes."""
    corner = objective.corner
    assert corner is not None
    value = corner.value(theta)
    change = float(np.vdot(here.grad, direction)) + corner.value(theta + direction) - value
    noise = objective.units.rounding * (abs(here.value) + value)
    s = 1.0
    for trial in range(MAX_TRIALS):
        there = objective.value_grad(theta + s * direction)
        rise = there.value - here.value + corner.value(theta + s * direction) - value
        if rise <= ARMIJO * s * min(change, 0.0) or (-s * change <= noise and rise <= noise):
            return (theta + s * direction, there), trial + 1
        s *= 0.5
    return None, MAX_TRIALS


def minimum_of_parabola(objective: Posterior, hess: Float, grad: Float, theta: Float, tol: float) -> Float:
    """Minimum x (C, P) of g'(x - θ) + ½ (x - θ)'H(x - θ) + Σ_g λ_g |x_g|, to ``tol`` as a size of gradient."""
    from separatrix.solvers._kernels import sweep

    corner, (C, P) = objective.corner, theta.shape
    assert corner is not None
    if C > 1:  # a bias added to all classes changes nothing, so curvature along it does not change the minimum
        blocks, free = hess.reshape(C, P, C, P), (corner.threshold == 0) & objective.prior.free
        typical = np.einsum("kpkp->p", blocks) / C**2 * free
        hess = (blocks + np.diag(typical)[None, :, None, :]).reshape(hess.shape)
    members, bounds, threshold = corner.layout(C)
    if corner.groups is None:
        curvature = hess.diagonal().copy()
    else:
        parts = (members[start:stop] for start, stop in zip(bounds[:-1], bounds[1:], strict=True))
        curvature = np.array([linalg.eigvalsh(hess[np.ix_(part, part)])[-1] for part in parts])
    unit = np.tile(objective.column_units, C) * objective.units.total
    x, slope = theta.ravel().copy(), grad.ravel().copy()
    before = x != 0
    for count in range(MAX_SWEEPS):
        largest = sweep(hess, slope, x, bounds, members, threshold, curvature, unit)
        if largest <= tol:
            break
        now = x != 0
        if count % SWEEPS == SWEEPS - 1:
            if (now == before).all():
                exact = _polish(hess, grad, theta, x.reshape(C, P), corner)
                if exact is not None and objective.gradient_size(corner.violation(exact, _slope(hess, grad, exact - theta))) <= tol:
                    return exact
            before = now
    return x.reshape(C, P)


def _slope(hess: Float, grad: Float, step: Float) -> Float:
    return grad + (hess @ step.ravel()).reshape(step.shape)


def _polish(hess: Float, grad: Float, theta: Float, x: Float, corner: Corner) -> Float | None:
    """Newton steps over the nonzero weights of x; None if the matrix is singular or a weight crosses zero."""
    free = np.flatnonzero(corner.lengths(x).ravel() + (np.broadcast_to(corner.threshold, x.shape).ravel() == 0))
    A = hess[np.ix_(free, free)]
    for _ in range(1 if corner.groups is None else 5):
        pull = (_slope(hess, grad, x - theta) + corner.threshold * corner.directions(x)).ravel()[free]
        B = A if corner.groups is None else A + corner_curvature(corner, x)[np.ix_(free, free)]
        try:
            with single_thread_blas():
                step = linalg.cho_solve(linalg.cho_factor(B, lower=True), pull)
        except linalg.LinAlgError:
            return None
        new = x.ravel().copy()
        new[free] -= step
        new = new.reshape(x.shape)
        if corner.groups is None and (new * x < 0).any(where=corner.threshold > 0):
            return None
        x = new
    return x


def corner_curvature(corner: Corner, x: Float) -> Float:
    """Second derivative of Σ λ_g |x_g| at nonzero groups."""
    flat, length = x.ravel(), corner.lengths(x).ravel()
    groups = np.tile(corner.groups, len(x))
    factor = np.where(length > 0, np.tile(corner.threshold, len(x)) / np.where(length > 0, length, 1.0), 0.0)
    unit = corner.directions(x).ravel()
    same = groups[:, None] == groups
    return np.diag(factor) - factor[:, None] * np.outer(unit, unit) * same


@dataclass(frozen=True)
class Taken:
    """Some of the columns."""

    kept: Codes

    def evaluate(self, X: Rows) -> Rows:
        return X[:, self.kept]

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(columns[j] for j in self.kept)


def has_small_hessian(objective: Posterior) -> bool:
    """Whether a Hessian of all weights is small enough that a working set saves nothing."""
    C, P = objective.shape
    return C * P <= 300 or (C * P <= 1500 and objective.source.n_rows > 10 * P)


def on_columns(objective: Posterior, kept: Codes) -> Posterior:
    """The same objective with only some of the columns."""
    weights = np.append(kept, objective.shape[1] - 1) if objective.design.bias else kept
    prior, units, design = objective.prior, objective.units, objective.design
    return replace(
        objective,
        source=objective.source.mapped(Taken(kept)),
        prior=Penalty(prior.mean[:, weights], prior.precision[weights]),
        design=replace(design, origin=design.origin[kept], spread=None if design.spread is None else design.spread[kept]),
        units=replace(units, mean=units.mean[kept], spread=units.spread[kept]),
        corner=objective.corner.on_columns(weights),
        sample=None,
    )


def take(theta: Float, kept: Codes, bias: bool) -> Float:
    return theta[:, np.append(kept, theta.shape[1] - 1) if bias else kept]


def put(whole: Float, part: Float, kept: Codes, bias: bool) -> None:
    whole[:, np.append(kept, whole.shape[1] - 1) if bias else kept] = part


def _largest_of_group(rank: Float, groups: Codes) -> Float:
    top = np.zeros(groups.max() + 1)
    np.maximum.at(top, groups, rank)
    return top[groups]
