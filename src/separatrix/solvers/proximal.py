# SPDX-License-Identifier: BSD-3-Clause
"""Proximal Newton steps, for priors that make most weights exactly zero.

    F(θ) = E(θ) + Σ_g λ_g |θ_g|,       E(θ) = -Σ_n weight_n ln p(t_n | θ φ̃_n) + ½ θ'Λθ

A group g is a single weight (the lasso of Tibshirani 1996; with Λ > 0, the elastic net of Zou & Hastie 2005) or several
(the group lasso of Yuan & Lin 2006). At the minimum,

    ∂E/∂θ_g = -λ_g θ_g / |θ_g|     if θ_g ≠ 0
    |∂E/∂θ_g| <= λ_g               if θ_g = 0

and the size of a violation plays the part that the size of the gradient has in the other solvers.

**A step** (Lee, Sun & Saunders 2014) leads to the minimum of the parabola of E at θ plus the penalty (`parabola`). The
Hessian is recomputed only if the last step shrank the violation by less than ten times, so most steps take a single
gradient. A large table starts from the fit to a sample, and with its Hessian.

**Working sets** (Johnson & Guestrin 2015). In a wide dense table, steps are taken over the few columns that violate the
conditions most; these columns are copied to memory, if they fit. A pass over all columns then shows whether others
violate the conditions. So Hessians are small however many columns there are, and the rows need not fit in memory.

**Many nonzero weights.** A Hessian has (CP)² entries. With more than 1500 weights, or more weights than rows, it is not
formed, and the minimum of the parabola is found through the rows: all of them, or as many as fit in memory. Sparse rows
are stored by column once, without the columns that are far from entering.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix._array import Codes, Float, Rows
from separatrix.priors import Penalty
from separatrix.rows import Block, NamedRows, as_source
from separatrix.solvers.hessian import MAX_JOINT_WEIGHTS
from separatrix.solvers.newton import ARMIJO, MAX_IDLE_NEWTON_STEPS, Progress
from separatrix.solvers.parabola import KEPT_THRESHOLD, Columns, Matrix, Parabola, corner_of, near_weights
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import Limits, Solution, Status, Step, status_at_rest
from separatrix.stats import ValueGrad, collect_sample, representative_sample

SAMPLE_TOL = 1e-3  # tolerance of the fit to a sample, smaller than the sampling noise
MIN_CONTRACTION = 0.1  # a step that leaves a larger part of the violation calls for a new Hessian
PARABOLA_TOL = 0.03  # accuracy of the minimum of a parabola, relative to the violation
ROWS_PARABOLA_TOL = 0.1  # the same accuracy with `ByRows`, where a sweep takes as long as a pass
SET_TOL = 0.3  # accuracy of the minimum over a working set, relative to the violation over all columns
FIRST_COLUMNS = 60  # number of columns in the first working set
MAX_CHEAP_WEIGHTS = 300  # with fewer weights, neither a working set nor a Hessian of sparse rows is expensive
MIN_ROWS_PER_WEIGHT = 10  # with fewer rows per weight, most weights are zero and a working set saves time
MAX_COPIED_ENTRIES = 2**24  # entries of the columns of a working set that are copied to memory (128 MiB)
MAX_HALVINGS = 30


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
        if objective.sample is not None:
            near = replace(self, tol=max(self.tol, SAMPLE_TOL), trace=False)
            start = near.minimise(objective.of_sample(), start).value
        (C, P), n_rows = objective.shape, objective.source.n_rows
        is_small = C * P <= MAX_CHEAP_WEIGHTS or (has_hessian(objective) and n_rows >= MIN_ROWS_PER_WEIGHT * P)
        is_sparse = not objective.units.has_fast_products and n_rows <= rows_in_memory(objective, P)
        return self._step(objective, start) if is_small or is_sparse else self._widen(objective, start)

    def _widen(self, objective: Posterior, start: Float) -> Solution[Float]:
        """Minimise over growing sets of columns, until no other column violates the conditions of the minimum."""
        corner, M = corner_of(objective), len(objective.design.origin)
        found, trace, progress = Solution(start, Status.MAX_STEPS, 0, 0), [], Progress(MAX_IDLE_NEWTON_STEPS)
        while True:
            theta, here = found.value, objective.value_grad(found.value)
            violation = np.abs(corner.violation(theta, here.grad) / objective.column_units) / objective.units.total
            size = float(violation.max(initial=0.0))
            value = here.value + corner.value(theta)
            if self.trace:
                trace.append(Step(theta, value, size))
            is_idle = progress.ends(value, size)
            if size <= self.tol or is_idle or found.steps >= self.max_steps:
                status = status_at_rest(size, self.tol) if is_idle else Status.MAX_STEPS
                status = Status.GRADIENT if size <= self.tol else status
                return replace(found, status=status, passes=found.passes + 1, trace=tuple(trace))
            is_used = (theta[:, :M] != 0).any(axis=0)
            rank = np.where(is_used, np.inf, violation[:, :M].max(axis=0))
            if corner.groups is not None:  # the columns of a group enter together
                of_group = np.zeros(M)
                np.maximum.at(of_group, corner.groups[:M], rank)
                rank = of_group[corner.groups[:M]]
            n_columns = min(max(FIRST_COLUMNS, 2 * int(is_used.sum())), M)
            kept = np.flatnonzero(rank)
            if len(kept) > n_columns:
                kept = kept[rank[kept] >= np.sort(rank[kept])[-n_columns]]
            rest = replace(self, tol=max(self.tol, SET_TOL * size), max_steps=self.max_steps - found.steps, trace=False)
            part = on_columns(objective, kept)
            weights = np.append(kept, M) if objective.design.bias else kept
            solution = rest._step(part, theta[:, weights], ValueGrad(here.value, here.grad[:, weights]))
            theta = np.zeros_like(theta)
            theta[:, weights] = solution.value
            found = replace(found, passes=found.passes + 1).followed_by(replace(solution, value=theta))

    def _step(self, objective: Posterior, theta: Float, known: ValueGrad | None = None) -> Solution[Float]:
        """Take proximal Newton steps over all columns. The first Hessian is from the sample, if there is one.

        If value and gradient at θ are ``known``, a pass is saved.
        """
        corner, rows = corner_of(objective), objective if objective.sample is None else objective.of_sample()
        here, passes = known or objective.value_grad(theta), 0 if known else 1
        size = objective.gradient_size(corner.violation(theta, here.grad))
        parabola: Parabola | None = None
        columns: Columns | None = None
        trace, end, progress = [], Status.MAX_STEPS, Progress(MAX_IDLE_NEWTON_STEPS)
        for step in range(self.max_steps + 1):
            if self.trace:
                trace.append(Step(theta, here.value + corner.value(theta), size))
            if size <= self.tol:
                end = Status.GRADIENT
            if size <= self.tol or step == self.max_steps:
                break
            if progress.ends(here.value + corner.value(theta), size):
                end = status_at_rest(size, self.tol)
                break
            is_new = parabola is None and rows is objective
            if parabola is None and has_hessian(objective):
                parabola = Matrix(rows.value_grad_hess(theta, exact=False, single=rows is not objective).hess)
                passes += is_new
            elif parabola is None:
                if columns is None or not columns.include(near_weights(objective, theta, here.grad)):
                    kept = np.any(near_weights(objective, theta, here.grad, KEPT_THRESHOLD), axis=0)
                    columns = Columns.of(rows, copied_rows(rows), kept)
                parabola = columns.at(rows, theta)
            assert parabola is not None
            accuracy = PARABOLA_TOL if isinstance(parabola, Matrix) else ROWS_PARABOLA_TOL
            goal = parabola.minimum(objective, theta, here.grad, accuracy * size)
            moved, trials = descend_to(objective, theta, here, goal)
            passes += trials
            if moved is None and is_new:
                end = status_at_rest(size, self.tol)
                break
            before = size
            if moved is not None:
                theta, here = moved
                size = objective.gradient_size(corner.violation(theta, here.grad))
            if moved is None or size > MIN_CONTRACTION * before:
                parabola, columns = None, columns if rows is objective else None
                rows = objective
        return Solution(theta, end, step, passes, tuple(trace))


def has_hessian(objective: Posterior) -> bool:
    """Whether a Hessian of all weights is cheaper than products with the rows."""
    C, P = objective.shape
    limit = min(MAX_JOINT_WEIGHTS, objective.source.n_rows) if objective.units.has_fast_products else 0
    return max(MAX_CHEAP_WEIGHTS, limit) >= C * P


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


@dataclass(frozen=True)
class Selection:
    """Selects some of the columns of each row."""

    kept: Codes

    def evaluate(self, X: Rows) -> Rows:
        """Return the selected columns."""
        return np.take(X, self.kept, axis=1) if isinstance(X, np.ndarray) else X[:, self.kept]  # in the order of rows

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the selected columns."""
        return tuple(map(columns.__getitem__, self.kept.tolist()))


def on_columns(objective: Posterior, kept: Codes) -> Posterior:
    """The same objective over the columns ``kept`` and the bias. Their rows are copied to memory, if they fit."""
    prior, units, design = objective.prior, objective.units, objective.design
    weights = np.append(kept, len(design.origin)) if design.bias else kept
    spread = None if design.spread is None else design.spread[kept]
    source = objective.source.mapped(Selection(kept))
    if len(kept) and source.n_rows <= rows_in_memory(objective, len(kept)):
        if source.n_stored is not None:
            block = source.as_block()
            source = as_source(NamedRows(block.X, source.columns)).with_numbers(block.t, block.weight, block.offset)
        else:
            source = representative_sample(source, source.n_rows, 0) or source
    return replace(
        objective,
        source=source,
        prior=Penalty(prior.mean[:, weights], prior.precision[weights], corner_of(objective).on_columns(weights)),
        design=replace(design, origin=design.origin[kept], spread=spread),
        units=replace(units, mean=units.mean[kept], spread=units.spread[kept]),
        sample=objective.sample and objective.sample.mapped(Selection(kept)),
    )


def rows_in_memory(objective: Posterior, n_columns: int) -> int:
    """Largest number of rows of this many columns that may be copied."""
    stored = getattr(objective.source.partitions[0], "numbers_per_row", n_columns)  # fewer if the rows are sparse
    return int(MAX_COPIED_ENTRIES / max(1.0, min(stored, n_columns)))


def copied_rows(objective: Posterior) -> Block:
    """As many rows as fit in memory, as one block."""
    n_rows = rows_in_memory(objective, objective.shape[1])
    if objective.source.n_stored is not None and objective.source.n_rows <= n_rows:
        return objective.source.as_block().weighted()
    return collect_sample(objective.source, n_rows).as_block()
