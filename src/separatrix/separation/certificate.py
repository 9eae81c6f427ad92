# SPDX-License-Identifier: BSD-3-Clause
"""Check after a fit whether the maximum-likelihood estimate exists.

Without a prior, the likelihood of a logistic or softmax model has a maximum exactly if no hyperplane separates the
classes, completely or with some rows on it (Albert & Anderson 1984). A solver does not detect separation: the gradient
tends to zero while the weights grow without limit. For most fits, a proof that the classes overlap costs a gradient or
less. Only if there is no such proof, a linear program decides (`program`).

**Proof of overlap.** docs/geometry.md ("How the answer is found") has the proof: the classes overlap if every number
v_n = q_n (1 + δ_n) with δ_n = s_n r_n φ̃_n'Δ / q_n is positive. Here Δ is the Newton step, s_n = ±1 the class, q_n the
size of the slope, and r_n the curvature. For K classes the same holds with p_nj, j ≠ t_n, in place of q_n. The bound in
use is |δ_n| < 1/2 instead of 1, to allow for rounding.

In two cases the argument would be wrong, and both are excluded:

- H is from other rows, or at another θ with δ_n computed from the curvatures at this θ. The preconditioner of a
  first-order method still has curvature along a separating direction after the true curvature has vanished. With the
  curvatures r_n of which H is the sum, δ_n grows as the slopes q_n vanish, and the argument holds for any θ.
- H is singular. This may be due to collinear columns, which are harmless, or to separated rows. So the activation of
  every row must be constant along the null directions of H.

**A few rows are enough.** If a subset of the rows overlaps, a direction that separates all rows has d'φ̃_n = 0 on the
subset; and if the subset spans the space, d = 0. So if a solver has no Hessian, Newton's method on a few rows per
weight finds a proof at a small fraction of the cost of a pass. One Hessian is usually enough: the first Newton step
makes the gradient small, and Newton's method goes on only if the slopes there still change too much.

**Soft targets and counts.** Weights can grow along d if it lowers the likelihood of no row and raises that of some row.
The likelihood of a row with this target does not fall along d if

    label k                    d_k'φ̃ >= d_j'φ̃   for every class j
    probabilities t_k          the same holds for every k with t_k > 0
    count t = 0                d'φ̃ <= 0, as for a row labelled 0
    count t > 0                d'φ̃  = 0, as for one row labelled 0 and one labelled 1

So every target has a set of labels, its `Support`, and each row is repeated with each of its labels. A row with all
labels forces d'φ̃_n = 0, and its v_n may have any sign. Only the other rows bound the Newton step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float, device_aware
from separatrix._linalg import SingularError
from separatrix._text import counted, first_few
from separatrix._threads import single_thread_blas
from separatrix.exceptions import CollinearWarning, SeparationWarning, warn
from separatrix.priors import Penalty
from separatrix.rows import Block, DeviceRows, Source
from separatrix.separation.program import Separability, separability
from separatrix.solvers import MAX_JOINT_WEIGHTS, Factor, Newton, Posterior, Solution, factorise
from separatrix.stats import (
    Design,
    Largest,
    collect_sample,
    device_activations,
    max_slope_change,
    negative_smallest_margin,
    representative_sample,
)

MAX_CHEAP_WEIGHTS, MAX_CHEAP_ROWS = 200, 20_000  # if all weights have priors, no larger program is run
MAX_PROOF_OPERATIONS = 4e9  # if all weights of K classes have priors, no Hessian of more operations is computed
MAX_SLOPE_CHANGE = 0.5  # bound on |δ_n|
ROWS_PER_WEIGHT = 50  # size of the subset that is tried first
CHORD_STEPS = 2  # steps with the first Hessian of the subset
SUBSET_TOL, SUBSET_STEPS = 1e-3, 12  # limits for the subset; a proof needs no precise optimum
MIN_OF_PRIOR = 1e-3  # smallest fraction of H due to the rows, so that H minus the prior is precise
MIN_EIGENVALUE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}  # relative; smaller values may be rounding
MAX_NULL_ACTIVATION = 1e-9  # in standard deviations; smaller changes of an activation are rounding error
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
    """Labels of targets: counts (n,), probabilities of the second of two classes (n,) or of all classes (n, K)."""

    is_count: bool = False

    def of(self, t: Array) -> Array:
        """Whether each row (n,) has each label (K,)."""
        if t.ndim == 2:
            return np.asarray(t > 0)
        return np.column_stack([np.ones(len(t), dtype=bool) if self.is_count else t < 1, t > 0])

    def repeat(self, block: Block) -> Block:
        """Repeat each row with each of its labels."""
        n, label = np.nonzero(self.of(block.targets))
        return replace(block.take(n), t=label)

    def partial(self, block: Block) -> Block:
        """Rows that do not have all labels."""
        return block.take(np.flatnonzero((~self.of(block.targets)).any(axis=1)))


def check_separation(
    objective: Posterior, solution: Solution[Float], n_classes: int, *, support: Support | None = None
) -> Separability:
    """Decide whether the classes are separable; warn if the estimate of the weights therefore does not exist.

    If every weight has a prior, the estimate exists. A large problem without a proof then has the status "unknown".
    ``support`` is required for targets that are not labels.
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
        lead = partial(negative_smallest_margin, theta=solution.value, design=objective.design)
        coef, intercept = objective.design.in_user_units(solution.value)
        length = linalg.norm(coef)
        sources = (objective.sample, objective.source)  # a sample usually has a row that is classified wrongly
        if length and all(source is None or source.reduce(lead).value < 0 for source in sources):
            found = Separability("complete", coef / length, intercept / length, objective.source.columns, 0, 0, 1)
    if needs_maximum and found.status == "unknown":
        warn(UNDECIDED, SeparationWarning)
    if needs_maximum and found:
        along = first_few(list(map(repr, found.columns)), MAX_NAMED_COLUMNS) or "the bias"
        n = found.n_on_plane
        rows, lie = counted(n, "row"), "lies" if n == 1 else "lie"
        if support is not None and support.is_count:
            what = f"Every count on one side of a hyperplane is 0, and the other {rows} {lie} on it, along {along}"
        else:
            rest = f", except for {rows} that {lie} on it" if n else ""
            what = f"A hyperplane separates the classes (status {found.status!r}{rest}), along {along}"
        warn(f"{what}. {NO_MAXIMUM}", SeparationWarning)
    return found


def has_free_weights(objective: Posterior) -> bool:
    """Whether some weights have no prior, so that their estimate does not exist if the classes are separable."""
    return bool(objective.prior.free[: len(objective.design.origin)].any())


def is_overlapping(objective: Posterior, solution: Solution[Float], *, support: Support | None = None) -> bool:
    """Whether the classes are proven to overlap.

    The proof is tried with the Hessian of the solver, with Newton's method on a few rows and, if some weight has no
    prior, with the Hessian of all rows.
    """
    if not objective.likelihood.is_log_concave:
        return False
    (C, P), prior, theta = objective.shape, objective.prior, solution.value
    proves = partial(_proves, everything=objective.source, support=support)
    if solution.end is not None and solution.end.is_exact:
        grad, factor = solution.end.grad, solution.end.inverse
        if objective.is_flat:
            return proves(objective, theta, grad, factor)
        whole = factor.matrix
        hess = -prior.add_to(-whole)
        is_precise = (hess.diagonal() > MIN_OF_PRIOR * whole.diagonal()).all()
        factor = factorise(hess, C, np.ones(P, dtype=bool)) if is_precise else None
        if factor is not None and proves(objective, theta, grad - prior.value_grad(theta)[1], factor):
            return True
    source: Source = objective.source if objective.sample is None else objective.sample
    rows = ROWS_PER_WEIGHT * C * P
    is_cheap = min(source.n_rows, 2 * rows) * (C * P) ** 2 <= MAX_PROOF_OPERATIONS
    is_pointless = C > 1 and not (is_cheap or has_free_weights(objective))  # the estimate exists anyway
    if C * P > MAX_JOINT_WEIGHTS or is_pointless or (prior.corner is not None and objective.source.n_rows <= P):
        return False  # in the last case, hyperplanes abound
    if source.n_rows >= 2 * rows:  # rows on a device stay there
        source = representative_sample(source, rows, P) or collect_sample(source, rows)
    flat = replace(objective, prior=Penalty(np.zeros((C, P)), np.zeros(P)))
    proven = _few_rows_prove(replace(flat, source=source, sample=None), theta, proves)
    if proven or not has_free_weights(objective):
        return proven
    here = flat.value_grad_hess(theta, exact=False)
    return proves(flat, theta, here.grad, factorise(here.hess, C, flat.prior.free))


def _few_rows_prove(few: Posterior, theta: Float, proves: Callable[..., bool]) -> bool:
    """Whether a subset of the rows proves overlap: after a step or two with one Hessian, or by Newton's method."""
    here = few.value_grad_hess(theta, exact=False)
    factor, at, grad = factorise(here.hess, len(theta), few.prior.free), theta, here.grad
    for _ in range(CHORD_STEPS if factor.singular is None else 0):
        at = at - factor.solve(grad)
        grad = few.value_grad(at).grad
        if proves(few, at, grad, factor, curved_at=theta):
            return True
    near = Newton(SUBSET_TOL, SUBSET_STEPS).minimise(few, theta)
    return near.end is not None and proves(few, near.value, near.end.grad, near.end.inverse)


def _proves(
    objective: Posterior,
    theta: Float,
    grad: Float,
    factor: Factor,
    *,
    everything: Source,
    support: Support | None,
    curved_at: Float | None = None,
) -> bool:
    """Whether all |δ_n| < 1/2, and all activations are constant along the null directions of the Hessian.

    ``grad`` and ``factor`` refer to the likelihood at θ; with ``curved_at``, the Hessian is computed there instead.
    """
    step = factor.solve(grad)
    bounding = objective if support is None else replace(objective, source=objective.source.viewed(support.partial))
    if not np.isfinite(step).all():
        return False
    change = partial(max_slope_change, V=step, curved_at=curved_at, enough=MAX_SLOPE_CHANGE)
    if not bounding.reduce(change, theta=theta, Z=bounding.regressors).value < MAX_SLOPE_CHANGE:
        return False
    smallest = MIN_EIGENVALUE[objective.units.dtype]
    if factor.singular is None:
        with single_thread_blas():
            return bool(linalg.lapack.dpocon(factor.L, 1.0, uplo="L")[0] > smallest)  # 1 / |C⁻¹|, correlations C
    hess, units = factor.matrix, np.tile(objective.column_units, objective.shape[0])
    scale = np.sqrt(np.maximum(np.diag(hess), 0.0))
    inverse = np.divide(1.0, scale, out=1.0 / units, where=scale > 0)
    with single_thread_blas():
        values, V = linalg.eigh(hess * inverse[:, None] * inverse)
    U = (inverse[:, None] * V[:, values <= smallest * values[-1]]).T
    U = (U / np.abs(U * units).max(axis=1, keepdims=True)).reshape(-1, objective.shape[1])
    largest = everything.reduce(partial(largest_activation, U=U, design=objective.design))
    return largest.value <= MAX_NULL_ACTIVATION


@device_aware
def largest_activation(block: Block, U: Float, design: Design) -> Largest:
    """Maximum of |u'φ̃_n| over the rows n of positive weight and the rows u of U (r, P)."""
    rows = replace(block if block.weight is None else block.take(block.weight > 0), offset=None)
    if isinstance(rows.X, DeviceRows) and len(rows):
        return Largest(max(float(device_activations(rows, u[None], design).abs().max()) for u in U))
    return Largest(float(np.abs(design.activate(rows, U)).max(initial=0.0)))


def warn_if_collinear(objective: Posterior, solution: Solution[Float]) -> None:
    """Warn if collinear columns without a prior make the coefficients ambiguous."""
    inverse: Any = None if solution.end is None else solution.end.inverse
    if not (isinstance(inverse, Factor) and inverse.singular is not None and has_free_weights(objective)):
        return
    columns = (*objective.source.columns, "the bias")[: objective.design.width]
    width, singular = len(columns), inverse.singular
    # All classes have the same columns, so each combination is named only once.
    combinations: dict[frozenset[int], int] = {}
    for j, others in singular.combination.items():
        together = frozenset(i % width for i in (j, *others))
        if len(together) > 1:
            combinations.setdefault(together, j % width)
    dependent = {j: sorted(together - {j}) for together, j in combinations.items()}
    named = SingularError(sorted({j % width for j in singular.constant}), dependent)
    warn(
        f"Collinear columns: {named.describe(columns)}. Predictions are not affected, but the coefficients are not "
        "unique; one solution with small coefficients is returned. Drop those columns, or set alpha > 0.",
        CollinearWarning,
    )
