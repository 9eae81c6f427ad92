# SPDX-License-Identifier: BSD-3-Clause
"""Proximal Newton steps, for priors that make most weights exactly zero.

    F(θ) = E(θ) + Σ_g λ_g |θ_g|,       E(θ) = -Σ_n weight_n ln p(t_n | θ φ̃_n) + ½ θ'Λθ

A group g is a single weight (the lasso of Tibshirani 1996; with Λ > 0, the elastic net of Zou & Hastie 2005) or several
(the group lasso of Yuan & Lin 2006). At the minimum,

    ∂E/∂θ_g = -λ_g θ_g / |θ_g|     if θ_g ≠ 0
    |∂E/∂θ_g| <= λ_g               if θ_g = 0

and the size of a violation plays the part that the size of the gradient has in the other solvers.

**A step** (Lee, Sun & Saunders 2014) leads to the minimum of the parabola of E at θ plus the penalty. The Hessian is
computed anew only if the last step shrank the violation by less than ten times, so most steps take a single gradient. A
large table starts from the fit to a sample, and with its Hessian.

**The minimum of the parabola** is found by sweeps over the groups, and, when the sweeps no longer change which groups
are zero, by Newton's method over the others.

**Working sets** (Johnson & Guestrin 2015). In a wide table, steps are taken over the few columns that violate the
conditions most. A pass over all columns then shows whether others violate them. So the Hessians are small however many
columns there are, and all rows need not fit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import linalg

from separatrix._array import Codes, Float, Rows
from separatrix._threads import single_thread_blas
from separatrix.priors import Corner, Penalty
from separatrix.solvers.newton import ARMIJO
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import Limits, Solution, Status, Step, status_at_rest
from separatrix.stats import ValueGrad

SAMPLE_TOL = 1e-3  # tolerance of the fit to a sample, smaller than the sampling noise
MIN_CONTRACTION = 0.1  # a step that leaves a larger part of the violation calls for a new Hessian
PARABOLA_TOL = 0.03  # accuracy of the minimum of a parabola, relative to the violation
SET_TOL = 0.1  # accuracy of the minimum over a working set, relative to the violation over all columns
FIRST_COLUMNS = 30  # number of columns in the first working set
MAX_WEIGHTS = 300  # with fewer weights, a working set saves nothing ...
MAX_WEIGHTS_OF_MANY_ROWS = 1500  # ... or with fewer weights and ten times more rows than weights per class
MAX_HALVINGS, MAX_SWEEPS, SWEEPS_PER_ATTEMPT, MAX_GROUP_STEPS = 30, 1000, 5, 8


@dataclass(frozen=True)
class ProximalNewton(Limits):
    """Proximal Newton steps; see the module docstring.

    ``tol`` bounds the violation, per row and per standard deviation of each column.
    """

    tol: float = 1e-8
    max_steps: int = 500
    trace: bool = False

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """Minimise from ``start`` (C, P)."""
        if objective.sample is None:
            return self._step(objective, start) if has_few_weights(objective) else self._widen(objective, start)
        sample = objective.of_sample()
        near = replace(self, tol=max(self.tol, SAMPLE_TOL), trace=False).minimise(sample, start).value
        if not has_few_weights(objective):
            return self._widen(objective, near)
        return self._step(objective, near, sample.value_grad_hess(near, exact=False, single=True).hess)

    def _widen(self, objective: Posterior, start: Float) -> Solution[Float]:
        """Minimise over growing sets of columns, until no other column violates the conditions of the minimum."""
        corner, M = corner_of(objective), len(objective.design.origin)
        found, trace = Solution(start, Status.MAX_STEPS, 0, 0), []
        while True:
            theta, here = found.value, objective.value_grad(found.value)
            violation = np.abs(corner.violation(theta, here.grad) / objective.column_units)
            size = float(violation.max(initial=0.0)) / objective.units.total
            if self.trace:
                trace.append(Step(theta, here.value + corner.value(theta), size))
            if size <= self.tol or found.steps >= self.max_steps:
                status = Status.GRADIENT if size <= self.tol else found.status
                return replace(found, status=status, passes=found.passes + 1, trace=tuple(trace))
            is_used = (theta[:, :M] != 0).any(axis=0)
            n_columns = min(max(FIRST_COLUMNS, 2 * int(is_used.sum())), M)
            rank = np.where(is_used, np.inf, violation[:, :M].max(axis=0))
            if corner.groups is not None:  # the columns of a group enter together
                of_group = np.zeros(M)
                np.maximum.at(of_group, corner.groups[:M], rank)
                rank = of_group[corner.groups[:M]]
            kept = np.flatnonzero(rank >= np.partition(rank, M - n_columns)[M - n_columns])
            weights = np.append(kept, M) if objective.design.bias else kept
            rest = replace(self, tol=max(self.tol, SET_TOL * size), max_steps=self.max_steps - found.steps, trace=False)
            part = rest._step(on_columns(objective, kept, weights), theta[:, weights])
            theta = np.zeros_like(theta)
            theta[:, weights] = part.value
            found = replace(found, passes=found.passes + 1).followed_by(replace(part, value=theta))

    def _step(self, objective: Posterior, theta: Float, hess: Float | None = None) -> Solution[Float]:
        """Take proximal Newton steps over all columns; ``hess`` is the first Hessian, if known."""
        corner = corner_of(objective)
        here, passes, is_new = objective.value_grad(theta), 1, False
        size = objective.gradient_size(corner.violation(theta, here.grad))
        trace, end = [], Status.MAX_STEPS
        for step in range(self.max_steps + 1):
            if self.trace:
                trace.append(Step(theta, here.value + corner.value(theta), size))
            if size <= self.tol:
                end = Status.GRADIENT
            if size <= self.tol or step == self.max_steps:
                break
            if hess is None:
                hess, passes, is_new = objective.value_grad_hess(theta, exact=False).hess, passes + 1, True
            goal = minimum_of_parabola(objective, theta, here.grad, hess, PARABOLA_TOL * size)
            moved, trials = descend_to(objective, theta, here, goal)
            passes += trials
            if moved is None and is_new:
                end = status_at_rest(size, self.tol)
                break
            before = size
            if moved is not None:
                (theta, here), is_new = moved, False
                size = objective.gradient_size(corner.violation(theta, here.grad))
            if moved is None or size > MIN_CONTRACTION * before:
                hess = None
        return Solution(theta, end, step, passes, tuple(trace))


def corner_of(objective: Posterior) -> Corner:
    """The corner of the prior; without one, the corner with every λ = 0."""
    return objective.prior.corner or Corner(np.zeros(objective.shape[1]))


def has_few_weights(objective: Posterior) -> bool:
    """Whether steps over all columns are cheap enough."""
    C, P = objective.shape
    is_tall = objective.source.n_rows >= 10 * P
    return (MAX_WEIGHTS_OF_MANY_ROWS if is_tall else MAX_WEIGHTS) >= C * P


def descend_to(
    objective: Posterior, theta: Float, here: ValueGrad, goal: Float
) -> tuple[tuple[Float, ValueGrad] | None, int]:
    """Point reached from θ towards ``goal``, or None if no step lowers F; and the number of passes."""
    corner, direction = corner_of(objective), goal - theta
    value = corner.value(theta)
    promised = float(np.vdot(here.grad, direction)) + corner.value(goal) - value
    noise = objective.units.rounding * (abs(here.value) + value)
    for halvings in range(MAX_HALVINGS):
        s = 0.5**halvings
        trial = goal if halvings == 0 else theta + s * direction  # the goal itself keeps its zeros exact
        there = objective.value_grad(trial)
        rise = there.value - here.value + corner.value(trial) - value
        if rise <= ARMIJO * s * min(promised, 0.0) or (abs(s * promised) <= noise and rise <= noise):
            return (trial, there), halvings + 1
    return None, MAX_HALVINGS


def minimum_of_parabola(objective: Posterior, theta: Float, grad: Float, hess: Float, tol: float) -> Float:
    """Minimum x (C, P) of g'(x - θ) + ½ (x - θ)'H(x - θ) + Σ_g λ_g |x_g|; ``tol`` bounds its violation."""
    from separatrix.solvers._kernels import sweep

    corner, (C, P) = corner_of(objective), theta.shape
    if C > 1:  # a bias common to all classes does not change E, so added curvature does not change the minimum
        blocks = hess.reshape(C, P, C, P)
        typical = np.einsum("kpkp->p", blocks) / C**2 * objective.prior.free
        hess = (blocks + np.diag(typical)[None, :, None, :]).reshape(hess.shape)
    groups = np.arange(C * P) if corner.groups is None else np.tile(corner.groups, C)
    members = np.argsort(groups, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(groups)))
    threshold = np.tile(corner.threshold, C)[members[bounds[:-1]]]
    curvature = hess.diagonal().copy()
    if corner.groups is not None:
        parts = [members[start:stop] for start, stop in pairwise(bounds)]
        curvature = np.array([linalg.eigvalsh(hess[np.ix_(part, part)])[-1] for part in parts])
    unit = np.tile(objective.column_units, C) * objective.units.total
    x, slope, zeros = theta.ravel().copy(), grad.ravel().copy(), np.zeros(0)
    for count in range(1, MAX_SWEEPS):
        largest = sweep(hess, slope, x, bounds, members, threshold, curvature, unit)
        if largest <= tol:
            break
        if count % SWEEPS_PER_ATTEMPT == 0:
            before, zeros = zeros, x == 0
            exact = exact_minimum(theta, grad, hess, x.reshape(C, P), corner) if np.array_equal(before, zeros) else None
            if exact is not None:
                rest = corner.violation(exact, slope_at(exact, theta, grad, hess))
                if objective.gradient_size(rest) <= tol:
                    return exact
    return x.reshape(C, P)


def slope_at(x: Float, theta: Float, grad: Float, hess: Float) -> Float:
    """Gradient g + H (x - θ) of the parabola at x."""
    return grad + (hess @ (x - theta).ravel()).reshape(theta.shape)


def exact_minimum(theta: Float, grad: Float, hess: Float, x: Float, corner: Corner) -> Float | None:
    """The minimum over the nonzero groups of x, by Newton's method; None if it has other signs or is not unique."""
    is_live = (corner.lengths(x) > 0) | (corner.threshold == 0)
    live, x = np.flatnonzero(is_live), x.copy()
    H = hess[np.ix_(live, live)]
    for _ in range(1 if corner.groups is None else MAX_GROUP_STEPS):  # without groups, one step is exact
        pull = slope_at(x, theta, grad, hess) + corner.threshold * corner.directions(x)
        curvature = H if corner.groups is None else H + _curvature(x, corner)[np.ix_(live, live)]
        try:
            with single_thread_blas():
                step = linalg.cho_solve(linalg.cho_factor(curvature, lower=True), pull[is_live])
        except linalg.LinAlgError:
            return None
        before = x.copy()
        x[is_live] -= step
        if corner.groups is None and (before * x < 0).any(where=corner.threshold > 0):
            return None
    return x


def _curvature(x: Float, corner: Corner) -> Float:
    """∂²/∂x∂x' of Σ_g λ_g |x_g|: λ_g/|x_g| (I - u u') with the unit vector u = x_g/|x_g| for each nonzero group."""
    assert corner.groups is not None
    length, u = corner.lengths(x), corner.directions(x).ravel()
    factor = np.where(length > 0, corner.threshold / np.where(length > 0, length, 1.0), 0.0).ravel()
    groups = np.tile(corner.groups, len(x))
    return np.diag(factor) - np.where(groups[:, None] == groups, factor[:, None] * np.outer(u, u), 0.0)


@dataclass(frozen=True)
class Selection:
    """Selects some of the columns of each row."""

    kept: Codes

    def evaluate(self, X: Rows) -> Rows:
        """Return the selected columns."""
        return X[:, self.kept]

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the selected columns."""
        return tuple(columns[j] for j in self.kept)


def on_columns(objective: Posterior, kept: Codes, weights: Codes) -> Posterior:
    """The same objective over the columns ``kept``, whose parameters are ``weights`` (with the bias, if any)."""
    prior, units, design = objective.prior, objective.units, objective.design
    spread = None if design.spread is None else design.spread[kept]
    return replace(
        objective,
        source=objective.source.mapped(Selection(kept)),
        prior=Penalty(prior.mean[:, weights], prior.precision[weights], corner_of(objective).on_columns(weights)),
        design=replace(design, origin=design.origin[kept], spread=spread),
        units=replace(units, mean=units.mean[kept], spread=units.spread[kept]),
        sample=None,
    )
