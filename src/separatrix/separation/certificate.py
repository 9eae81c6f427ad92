# SPDX-License-Identifier: BSD-3-Clause
"""Check after a fit whether the maximum of its likelihood exists.

Without a prior, a logistic or softmax model has a maximum exactly if no hyperplane separates the classes, completely
or with some rows on it (Albert & Anderson 1984). A solver does not detect this: the gradient tends to zero while the
weights grow without limit. Most fits end with a proof that the classes overlap, for the cost of a gradient or less;
only if there is no proof, a linear program decides (`program`).

**Proof of overlap.** A direction d separates if d'φ̃_n s_n >= 0 for all rows (s_n = ±1), and not all are zero. No such
d exists if positive numbers v_n satisfy Σ v_n s_n φ̃_n = 0 (Stiemke 1915). The slopes q_n = |∂ ln p_n/∂a| nearly do:
at any θ, Σ q_n s_n φ̃_n = -g, the gradient of the likelihood. The rest is made up by v_n = q_n (1 + δ_n) with δ_n =
s_n r_n φ̃_n'Δ / q_n and H Δ = g, because Σ r_n φ̃_n φ̃_n' = H with curvatures r_n. So if the Newton step Δ changes no
slope by its whole size, every v_n is positive and the classes overlap. For the logit |δ_n| < |φ̃_n'Δ|: no activation
moves by one. Along a separating direction Newton steps do not get shorter than that, however small the gradient is.
For K classes the same holds with p_nj, j ≠ t_n, in place of q_n. The bound used is one half instead of one, which
leaves room for rounding.

In two cases the argument would be wrong, and both are excluded:

- H is of other rows or at another θ: the preconditioner of a first-order method still has curvature along a separating
  direction after the true curvature has vanished.
- H is singular: collinear columns are harmless, but curvature also vanishes if rows are separated. So no row may move
  along a null direction of H.

**A few rows are enough.** If a subset of the rows overlaps, a direction that separates all rows has d'φ̃_n = 0 on the
subset; and if the subset spans the space, d = 0. So if a solver has no Hessian, Newton's method on a few rows per
weight finds a proof at a small fraction of the cost of a pass.

**Soft targets and counts.** Weights can grow along d if no row objects and some row gains:

    label k                    objects unless   d_k'φ̃ >= d_j'φ̃   for every class j
    probabilities t_k          objects unless   the same holds for every k with t_k > 0
    count t = 0                objects unless   d'φ̃ <= 0, like a row labelled 0
    count t > 0                objects unless   d'φ̃  = 0, like one row labelled 0 and one labelled 1

So every target has a set of labels, its `Support`, and the question is the same for rows repeated with each of their
labels. A row with all labels forces d'φ̃_n = 0, and its v_n may have any sign: only the other rows bound the Newton
step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float
from separatrix._linalg import SingularError
from separatrix._threads import single_thread_blas
from separatrix.exceptions import CollinearWarning, SeparationWarning, warn
from separatrix.priors import Penalty
from separatrix.rows import Block, Source
from separatrix.separation.program import Separability, separability
from separatrix.solvers import MAX_JOINT_WEIGHTS, Factor, Newton, Posterior, Solution, factorise
from separatrix.stats import Design, Largest, collect_sample, largest_share, least_lead

MAX_CHEAP_WEIGHTS, MAX_CHEAP_ROWS = 200, 20_000  # up to here a program is run although a prior keeps weights finite
MAX_SLOPE_CHANGE = 0.5
ROWS_PER_WEIGHT = 20  # rows of the subset that is tried first
SUBSET_TOL, SUBSET_STEPS = 1e-3, 12  # a proof needs no more precise optimum
MIN_OF_PRIOR = 1e-3  # curvature relative to that of the prior, below which their difference is imprecise
MIN_EIGENVALUE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}  # relative; smaller ones may be rounding
MAX_NULL_ACTIVATION = 1e-9  # in standard deviations: rows that move less along a direction lie on its plane
MAX_NAMED_COLUMNS = 6
NO_MAXIMUM = (
    "The maximum-likelihood estimate does not exist: the weights are those at which the solver stopped, and would grow "
    "without limit. Set a prior (alpha > 0), or drop or combine those columns."
)
UNDECIDED = (
    "Whether a hyperplane separates the classes could not be decided: the columns are too many, or so nearly collinear "
    "that rounding hides the result. If one does, the maximum-likelihood estimate does not exist, and the weights are "
    "those at which the solver stopped. Set a prior (alpha > 0), or use fewer columns or narrower basis functions."
)


@dataclass(frozen=True, slots=True)
class Support:
    """Labels of a target: probabilities (n,) of the second of two classes or (n, K) of all, or counts (n,)."""

    is_count: bool = False

    def of(self, t: Array) -> Array:
        """Whether each row (n,) has each label (K,)."""
        if t.ndim == 2:
            return np.asarray(t > 0)
        return np.column_stack([np.ones(len(t), dtype=bool) if self.is_count else t < 1, t > 0])

    def repeat(self, block: Block) -> Block:
        """Each row once with each of its labels."""
        n, label = np.nonzero(self.of(block.targets))
        return replace(block.take(n), t=label)

    def partial(self, block: Block) -> Block:
        """Rows that lack a label."""
        return block.take(np.flatnonzero((~self.of(block.targets)).any(axis=1)))


def check_separation(
    objective: Posterior, solution: Solution[Float], n_classes: int, *, support: Support | None = None
) -> Separability:
    """Whether the classes are separable, with a warning if the weights therefore have no maximum.

    If every weight has a prior, a maximum exists, and a large problem without a proof gets the status "unknown".
    Targets that are not labels have a ``support``.
    """
    needs_maximum = has_free_weights(objective)
    (C, P), M = objective.shape, len(objective.design.origin)
    overlaps = is_overlapping(objective, solution, support=support)
    is_cheap = C * P <= MAX_CHEAP_WEIGHTS and objective.source.n_rows <= MAX_CHEAP_ROWS
    if overlaps or not (needs_maximum or is_cheap):
        found = Separability("overlapping" if overlaps else "unknown", np.zeros((C, M)), np.zeros(C), (), 0, 0, 0)
    else:
        source = objective.source if support is None else objective.source.viewed(support.repeat)
        found = separability(source, n_classes, fit_intercept=objective.design.bias)
    if found.status == "unknown" and support is None:
        lead = objective.source.reduce(partial(least_lead, theta=solution.value, design=objective.design))
        if lead.value < 0:  # the weights put every row on its own side
            coef, intercept = objective.design.in_user_units(solution.value)
            length = np.linalg.norm(coef)
            found = Separability("complete", coef / length, intercept / length, objective.source.columns, 0, 0, 1)
    if needs_maximum and found.status == "unknown":
        warn(UNDECIDED, SeparationWarning)
    if needs_maximum and found:
        columns, n = found.columns, found.n_on_plane
        more = f" and {len(columns) - MAX_NAMED_COLUMNS} more columns" if len(columns) > MAX_NAMED_COLUMNS else ""
        along = (", ".join(map(repr, columns[:MAX_NAMED_COLUMNS])) or "the bias") + more
        if support is not None and support.is_count:
            what = f"Every count on one side of a hyperplane is 0, and the other {n} rows lie on it, along {along}"
        else:
            rest = f", except for {n} rows that lie on it" if n else ""
            what = f"A hyperplane separates the classes (status {found.status!r}{rest}), along {along}"
        warn(f"{what}. {NO_MAXIMUM}", SeparationWarning)
    return found


def has_free_weights(objective: Posterior) -> bool:
    """Whether some weights have no prior, so that separation would leave them without a maximum."""
    return bool(objective.prior.free[: len(objective.design.origin)].any())


def is_overlapping(objective: Posterior, solution: Solution[Float], *, support: Support | None = None) -> bool:
    """Whether the classes are proven to overlap.

    The Hessian of the solver is tried first, then Newton's method on a few rows, then, if some weight has no prior, the
    Hessian of all rows.
    """
    if not objective.likelihood.is_log_concave:
        return False
    (C, P), prior, theta = objective.shape, objective.prior, solution.value
    flat = replace(objective, prior=Penalty(np.zeros((C, P)), np.zeros(P)))
    proves = partial(_proves, everything=objective.source, support=support)
    if solution.end is not None and solution.end.is_exact:
        grad, factor = solution.end.grad - prior.value_grad(theta)[1], solution.end.inverse
        if prior.precision.any():
            whole = factor.matrix
            hess = -prior.add_to(-whole)
            is_precise = (np.diag(hess) > MIN_OF_PRIOR * np.diag(whole)).all()
            factor = factorise(hess, C, np.ones(P, dtype=bool)) if is_precise else None
        proven = factor is not None and proves(flat, theta, grad, factor)
        if proven or not prior.precision.any():
            return proven
    if C * P > MAX_JOINT_WEIGHTS:
        return False
    source: Source = objective.source if objective.sample is None else objective.sample
    rows = ROWS_PER_WEIGHT * C * P
    few = replace(flat, source=source if source.n_rows < 2 * rows else collect_sample(source, rows), sample=None)
    near = Newton(SUBSET_TOL, SUBSET_STEPS).minimise(few, theta)
    if near.end is not None and proves(few, near.value, near.end.grad, near.end.inverse):
        return True
    if not has_free_weights(objective):
        return False
    here = flat.value_grad_hess(theta, exact=False)
    return proves(flat, theta, here.grad, factorise(here.hess, C, flat.prior.free))


def _proves(
    flat: Posterior, theta: Float, grad: Float, factor: Factor, *, everything: Source, support: Support | None
) -> bool:
    """Whether a Newton step changes no slope by half of it, and no row moves along a null direction of the Hessian."""
    step = factor.solve(grad)
    bounding = flat
    if support is not None:
        bounding = replace(flat, source=flat.source.viewed(support.partial))
    if not np.isfinite(step).all() or bounding.reduce(largest_share, theta=theta, V=step).value >= MAX_SLOPE_CHANGE:
        return False
    smallest = MIN_EIGENVALUE[flat.units.dtype]
    if factor.singular is None:
        with single_thread_blas():
            return bool(linalg.lapack.dpocon(factor.L, 1.0, uplo="L")[0] > smallest)  # 1 / |C⁻¹| of correlations C
    hess, units = factor.matrix, np.tile(flat.column_units, flat.shape[0])
    scale = np.sqrt(np.maximum(np.diag(hess), 0.0))
    inverse = np.divide(1.0, scale, out=1.0 / units, where=scale > 0)
    with single_thread_blas():
        values, V = linalg.eigh(hess * np.outer(inverse, inverse))
    U = (inverse[:, None] * V[:, values <= smallest * values[-1]]).T
    U = (U / np.abs(U * units).max(axis=1, keepdims=True)).reshape(-1, flat.shape[1])
    largest = everything.reduce(partial(largest_activation, U=U, design=flat.design))
    return largest.value <= MAX_NULL_ACTIVATION


def largest_activation(block: Block, U: Float, design: Design) -> Largest:
    """max |u'φ̃_n| over the rows of a block with weight and the rows u of U (r, P)."""
    rows = block if block.weight is None else block.take(block.weight > 0)
    return Largest(float(np.abs(design.activate(replace(rows, offset=None), U)).max(initial=0.0)))


def warn_if_collinear(objective: Posterior, solution: Solution[Float]) -> None:
    """Warn if collinear columns without a prior make the coefficients ambiguous."""
    inverse: Any = None if solution.end is None else solution.end.inverse
    if not (isinstance(inverse, Factor) and inverse.singular is not None and has_free_weights(objective)):
        return
    columns = (*objective.source.columns, "the bias")[: objective.design.width]
    width, singular = len(columns), inverse.singular
    # The weights of every class have the same columns: name each combination once.
    combinations: dict[frozenset[int], int] = {}
    for j, others in singular.combination.items():
        together = frozenset(i % width for i in (j, *others))
        if len(together) > 1:
            combinations.setdefault(together, j % width)
    named = SingularError(
        sorted({j % width for j in singular.constant}),
        {j: sorted(together - {j}) for together, j in combinations.items()},
    )
    warn(
        f"Collinear columns: {named.describe(columns)}. Predictions are not affected, but the coefficients are not "
        "unique: short ones (in units of standard deviations) are returned. Drop those columns, or set alpha > 0.",
        CollinearWarning,
    )
