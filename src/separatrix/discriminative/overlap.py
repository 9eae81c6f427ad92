# SPDX-License-Identifier: BSD-3-Clause
"""A proof that classes overlap, for the price of a gradient or less.

A direction d separates if d'φ̃_n s_n >= 0 for all rows (s_n = ±1), and not all zero. No such d exists if some positive
numbers v_n make Σ v_n s_n φ̃_n = 0 (Stiemke). The slopes q_n = |∂ ln p_n/∂a| nearly do: at any θ, Σ q_n s_n φ̃_n = -g,
the gradient of the likelihood. What is missing is made up by v_n = q_n (1 + δ_n) with δ_n = s_n r_n φ̃_n'Δ / q_n and
H Δ = g, because Σ r_n φ̃_n φ̃_n' = H with curvatures r_n. So if the Newton step Δ changes no slope by its whole size or
more, every v_n is positive, and the classes overlap. For the logit |δ_n| < |φ̃_n'Δ|: no activation moves by one. Along
a separating direction Newton steps do not shrink below that, however small the gradient is.

For K classes the same holds with p_nj, j ≠ t_n, in place of q_n. A bound of one half instead of one leaves room for
rounding. Two things would make a false proof of it, and are ruled out:

- an H that is not that of these rows at this θ. The preconditioner of a first-order method still shows curvature along
  a separating direction when there is none left.
- a singular H. Columns that are collinear in every row are harmless; curvature that has gone because rows are separated
  is the very thing that is looked for. So none of all rows may move along a null direction of H.

**A few of the rows will do.** If they overlap, a direction that separates all rows has d'φ̃_n = 0 on those few; and if
they span the space, d = 0. So where a solver leaves no Hessian behind, Newton's method on a few rows for each weight
finds one, at a small part of the price of a pass.

**Shares and counts.** A row that has all labels at once (`support`) holds d'φ̃_n to zero, and its v_n may have any sign.
Only the others bound the Newton step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import linalg

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.discriminative.support import Seen, Support
from separatrix.priors import Penalty
from separatrix.rows import Block, Source
from separatrix.solvers import Factor, Newton, Posterior, Solution, factorise
from separatrix.stats import Design, Largest, collect_sample

__all__ = ["is_overlapping"]

HALF = 0.5
JOINT = 1500  # weights in all, up to which a Hessian of all of them costs less than a linear program
PER_WEIGHT = 20  # rows that are looked at first, for each weight
ROUGH, STEPS = 1e-3, 12  # how near to their optimum: a proof needs no more
DWARFED = 1e-3  # a curvature beside that of the prior, below which their difference has too few digits
SURE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}  # a smallest eigenvalue that is no rounding
NULL = 1e-9  # a combination of columns, in standard deviations, that is zero in every row but for rounding


def is_overlapping(
    objective: Posterior, solution: Solution[Float], *, at_stake: bool, support: Support | None = None
) -> bool:
    """Whether the classes are proven to overlap.

    By the Hessian that the solver left; else by a few rows; else, if much is ``at_stake``, by all of them. Targets that
    are no labels have a ``support``.
    """
    if not objective.likelihood.is_log_concave:
        return False
    C, P = objective.shape
    flat = replace(objective, prior=Penalty(np.zeros((C, P)), np.zeros(P)))
    proves = partial(_proves, everything=objective.source, support=support)
    if solution.end is not None and solution.end.is_exact:
        grad = solution.end.grad - objective.prior.value_grad(solution.value)[1]
        factor = _without(objective.prior, solution.end.inverse)
        proven = factor is not None and proves(flat, solution.value, grad, factor)
        if proven or not objective.prior.precision.any():
            return proven
    if C * P > JOINT:
        return False
    return _by_few_rows(flat, solution.value, proves) or (at_stake and _by_all_rows(flat, solution.value, proves))


def _by_few_rows(flat: Posterior, theta: Float, proves: Callable[..., bool]) -> bool:
    """By Newton's method on some of the rows, from the optimum of all."""
    few = replace(flat, source=_few_rows(flat), sample=None)
    near = Newton(ROUGH, STEPS).minimise(few, theta)
    return near.end is not None and proves(few, near.value, near.end.grad, near.end.inverse)


def _few_rows(objective: Posterior) -> Source:
    """A few rows for each weight, or all where there are not many more."""
    source: Source = objective.source if objective.sample is None else objective.sample
    rows = PER_WEIGHT * objective.shape[0] * objective.shape[1]
    return source if source.n_rows < 2 * rows else collect_sample(source, rows)


def _by_all_rows(flat: Posterior, theta: Float, proves: Callable[..., bool]) -> bool:
    """By the Hessian of all rows."""
    here = flat.value_grad_hess(theta, exact=False)
    return proves(flat, theta, here.grad, factorise(here.hess, flat.shape[0], flat.prior.free))


def _without(prior: Penalty, factor: Factor) -> Factor | None:
    """The factor of the Hessian without the prior; None where little more than rounding is left of it."""
    if not prior.precision.any():
        return factor
    C, P = prior.mean.shape
    whole = factor.matrix
    hess = whole - prior.add_to(np.zeros((C * P, C * P)))
    return factorise(hess, C, np.ones(P, dtype=bool)) if (np.diag(hess) > DWARFED * np.diag(whole)).all() else None


def _proves(
    flat: Posterior, theta: Float, grad: Float, factor: Factor, *, everything: Source, support: Support | None
) -> bool:
    """Whether a Newton step changes no slope by half of it, and leaves out no direction that a row of all moves in."""
    step = factor.solve(grad)
    bounding = flat if support is None else replace(flat, source=Seen(flat.source, support.partial))
    if not np.isfinite(step).all() or bounding.largest_share(theta, step) >= HALF:
        return False
    if factor.singular is None:
        with single_thread_blas():
            least = linalg.lapack.dpocon(factor.L, 1.0, uplo="L")[0]  # 1 / |C⁻¹|, C in correlation units
        return bool(least > SURE[flat.units.dtype])
    reach = partial(largest_reach, U=_null_directions(flat, factor), design=flat.design)
    return everything.reduce(reach).value <= NULL


def _null_directions(flat: Posterior, factor: Factor) -> Float:
    """The directions (r, P) without curvature, one for each output; the largest weight is one standard deviation."""
    hess, units = factor.matrix, np.tile(flat.column_units, flat.shape[0])
    scale = np.sqrt(np.maximum(np.diag(hess), 0.0))
    inverse = np.divide(1.0, scale, out=1.0 / units, where=scale > 0)
    with single_thread_blas():
        values, V = linalg.eigh(hess * np.outer(inverse, inverse))
    U = (inverse[:, None] * V[:, values <= SURE[flat.units.dtype] * values[-1]]).T
    return np.asarray(U / np.abs(U * units).max(axis=1, keepdims=True)).reshape(-1, flat.shape[1])


def largest_reach(block: Block, U: Float, design: Design) -> Largest:
    """max |u'φ̃_n| over the rows of a block and the rows u of U (r, P)."""
    rows = block if block.weight is None else block.take(block.weight > 0)
    return Largest(float(np.abs(design.activate(replace(rows, offset=None), U)).max(initial=0.0)))
