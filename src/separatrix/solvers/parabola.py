# SPDX-License-Identifier: BSD-3-Clause
"""The inner problem of `proximal`: the minimum x of a parabola plus a penalty with corners,

    g'(x - θ) + ½ (x - θ)'H(x - θ) + Σ_g λ_g |x_g|

Sweeps minimise over one group g after the other. With a bound c on the eigenvalues of the group's block of H and the
slope s of the parabola at x, the new x_g is the shrunken z = x_g - s_g/c,

    x_g ← max(0, 1 - λ_g / (c |z|)) z

which is exact for a group of one weight (soft thresholding; Friedman, Hastie & Tibshirani 2010).

When the sweeps no longer change which groups are zero, Newton's method finds the minimum over the others.

    Matrix    H (CP, CP) itself
    ByRows    H = Σ_n R_n ⊗ φ̃_n φ̃_n' as a product with rows in memory. A sweep takes C operations per entry of the
              rows, so that there may be many weights. If the sweeps converge slowly, H of the nonzero weights is
              formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg, sparse

from separatrix._array import Array, Codes, Float, is_sparse
from separatrix._threads import single_thread_blas
from separatrix.likelihoods import Covariances
from separatrix.priors import Corner
from separatrix.rows import Block
from separatrix.solvers.hessian import MAX_JOINT_WEIGHTS
from separatrix.solvers.posterior import Posterior

MAX_SWEEPS = 1000
SWEEPS_PER_ATTEMPT, SWEEPS_OF_ANY_ZEROS = 5, 20  # sweeps before Newton's method, if the zeros stay the same or change
MAX_NEWTON_STEPS = 8
MAX_NEWTON_HALVINGS = 6
ADDED_CURVATURE = 1e-11  # relative to the diagonal; larger than rounding errors, and too small to change a step
NEGLIGIBLE_DECREASE = 1e-9  # Newton's method over groups ends at a smaller decrease, relative to the steps before
NEAR_THRESHOLD = 0.9  # fraction of its threshold that the gradient of a zero weight must exceed to take part in sweeps
KEPT_THRESHOLD = 0.7  # fraction of the threshold above which sparse columns are stored, so that few are added later
MAX_ROW_SWEEPS, SWEEPS_OF_NONZERO = 20, 10  # sweeps over all weights, each followed by sweeps over nonzero weights


class Parabola(Protocol):
    """The Hessian of a parabola, in any form."""

    def minimum(self, objective: Posterior, theta: Float, grad: Float, tol: float) -> Float:
        """Minimum x (C, P) for the gradient g (C, P) at θ; ``tol`` bounds its violation, as `gradient_size` has it."""


def corner_of(objective: Posterior) -> Corner:
    """The corner of the prior; without one, the corner with every λ = 0."""
    return objective.prior.corner or Corner(np.zeros(objective.shape[1]))


def near_weights(objective: Posterior, theta: Float, grad: Float, fraction: float = NEAR_THRESHOLD) -> Array:
    """Whether each weight (C, P) is not zero, or its gradient exceeds this fraction of its threshold."""
    corner = in_one_row(corner_of(objective), len(theta))
    is_near = corner.lengths(grad.reshape(1, -1)) >= fraction * corner.threshold
    return np.asarray(is_near | (corner.lengths(theta.reshape(1, -1)) > 0)).reshape(theta.shape)


def in_one_row(corner: Corner, C: int) -> Corner:
    """The same penalty on the weights (1, CP) of all C classes."""
    return Corner(np.tile(corner.threshold, C), None if corner.groups is None else np.tile(corner.groups, C))


class Partition(NamedTuple):
    """Group g has the weights ``members[bounds[g] : bounds[g + 1]]`` and the threshold λ_g."""

    members: Codes
    bounds: Codes
    threshold: Float

    @classmethod
    def of(cls, corner: Corner) -> Partition:
        """The groups of a corner; without groups, each weight is one."""
        groups = np.arange(len(corner.threshold)) if corner.groups is None else corner.groups
        members, bounds = np.argsort(groups, kind="stable"), np.append(0, np.cumsum(np.bincount(groups)))
        return cls(members, bounds, corner.threshold[members[bounds[:-1]]])

    def only(self, is_live: Array) -> Partition:
        """The groups whose weights are live (P,); all weights of a group are, or none."""
        kept = np.flatnonzero(is_live[self.members[self.bounds[:-1]]])
        sizes = np.diff(self.bounds)[kept]
        return Partition(self.members[is_live[self.members]], np.append(0, np.cumsum(sizes)), self.threshold[kept])

    def parts(self) -> list[Codes]:
        """The weights of each group."""
        return [self.members[start:stop] for start, stop in pairwise(self.bounds)]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A Hessian H (CP, CP)."""

    hess: Float

    def minimum(self, objective: Posterior, theta: Float, grad: Float, tol: float) -> Float:
        """Minimum by sweeps, and by Newton's method over the nonzero groups."""
        (C, P), hess = theta.shape, self.hess
        if C > 1:  # a bias common to all classes does not change E, so added curvature does not change the minimum
            blocks = hess.reshape(C, P, C, P)
            typical = np.einsum("kpkp->p", blocks) / C**2 * objective.prior.free
            hess = (blocks + np.diag(typical)[None, :, None, :]).reshape(hess.shape)
        unit = np.tile(objective.column_units, C) * objective.units.total
        goal = minimum_of_matrix(hess, grad.ravel(), theta.ravel(), in_one_row(corner_of(objective), C), unit, tol)
        return goal.reshape(C, P)


def minimum_of_matrix(hess: Float, grad: Float, theta: Float, corner: Corner, unit: Float, tol: float) -> Float:
    """Minimum x (P,) for the gradient g (P,) at θ (P,); ``tol`` bounds the violation, divided by ``unit`` (P,)."""
    from separatrix.solvers._kernels import sweep_matrix

    groups, bound = Partition.of(corner), hess.diagonal().copy()
    if corner.groups is not None:
        bound = np.array([linalg.eigvalsh(hess[np.ix_(part, part)])[-1] for part in groups.parts()])
    x, slope, zeros = theta.copy(), grad.copy(), np.zeros(0)
    for count in range(1, MAX_SWEEPS):
        if sweep_matrix(hess, slope, x, *groups, bound, unit) <= tol:
            break
        if count % SWEEPS_PER_ATTEMPT == 0:
            before, zeros = zeros, x == 0
            if np.array_equal(before, zeros) or count % SWEEPS_OF_ANY_ZEROS == 0:
                lower = _over_nonzero(hess, slope, x, corner)
                slope += hess @ (lower - x)
                x = lower
    return x


def _over_nonzero(hess: Float, slope: Float, x: Float, corner: Corner) -> Float:
    """A lower point, by Newton's method over the nonzero groups of x, where ``slope`` is the gradient of the parabola.

    Without groups, one step leads to the minimum. If it changes the sign of a weight, it ends where the first such
    weight is zero, and another step over the others follows (an active-set method; Lawson & Hanson 1974). With groups,
    a step is halved until it leads to a lower point.
    """

    def height(y: Float) -> float:
        moved = y - x
        return float(slope @ moved + 0.5 * moved @ hess @ moved) + corner.value(y[None])

    live = np.flatnonzero((corner.lengths(x[None])[0] > 0) | (corner.threshold == 0))
    y, start = x.copy(), height(x)
    lowest = start
    for _ in range(MAX_NEWTON_STEPS):
        part, here = corner.on_columns(live), y[live]
        u = part.directions(here[None])[0]
        pull = slope[live] + hess[live] @ (y - x) + part.threshold * u
        curvature = hess[np.ix_(live, live)]
        if part.groups is not None:  # λ/|y_g| (I - u u') for each group
            factor = part.threshold / np.where(u == 0, 1.0, part.lengths(here[None])[0])
            is_same = part.groups[:, None] == part.groups
            curvature += np.diag(factor * (u != 0)) - np.where(is_same, factor[:, None] * np.outer(u, u), 0.0)
        # Equal changes in all classes have no curvature; along them, the penalty falls until a weight is zero.
        curvature[np.diag_indices_from(curvature)] *= 1 + ADDED_CURVATURE
        try:
            with single_thread_blas():
                step = -linalg.cho_solve(linalg.cho_factor(curvature, lower=True), pull)
        except linalg.LinAlgError:  # the minimum is not unique
            break
        if part.groups is not None:
            for s in 0.5 ** np.arange(MAX_NEWTON_HALVINGS):
                y[live] = here + s * step
                if (reached := height(y)) < lowest:
                    break
            else:
                y[live] = here
                break
            lowest, before = reached, lowest
            if before - lowest <= NEGLIGIBLE_DECREASE * (start - lowest):
                break
            continue
        room = np.full(len(live), np.inf)  # as a multiple of the step, until a weight is zero
        np.divide(-here, step, out=room, where=(here * step < 0) & (part.threshold > 0))
        first = int(room.argmin())
        y[live] += min(1.0, room[first]) * step
        if room[first] >= 1:
            break
        y[live[first]], live = 0.0, np.delete(live, first)
    return y if height(y) < start else x


@dataclass(frozen=True, eq=False)
class Columns:
    """The regressors of rows in memory, by column; the last column of ones is the bias, if any.

    ``regressors`` (N, P) is dense and centred, or sparse with the origin ``shift`` (M,) that was not subtracted. Then
    the parabola has the bias at that origin, b - w'shift, which has no penalty either. Sparse columns that are not
    ``kept`` (P,) have no entries, so that their weights stay zero.
    """

    block: Block
    regressors: Any
    shift: Float
    kept: Array

    def include(self, weights: Array) -> bool:
        """Whether the columns of all these weights (C, P) are kept."""
        return not (weights & ~self.kept).any()

    @classmethod
    def of(cls, objective: Posterior, block: Block, kept: Array) -> Columns:
        """Copy the rows of a block; constant columns become zero."""
        design, M, varies = objective.design, len(objective.design.origin), np.ones(objective.design.width)
        varies[:M] = objective.units.spread > 0
        if not is_sparse(block.X):
            return cls(block, np.asfortranarray(design.regressors(block.X) * varies), np.zeros(M), np.ones_like(kept))
        X, rest = design.shifted(block.X.astype(np.float64, copy=False))
        from separatrix.solvers._kernels import by_column

        is_stored = (varies[:M] > 0) & kept[:M]
        Z = sparse.csc_array(by_column(X.data, X.indices, X.indptr, is_stored, design.bias), (X.shape[0], design.width))
        return cls(block, Z, rest * varies[:M], kept)

    def at(self, objective: Posterior, theta: Float) -> ByRows:
        """The curvature of every row at θ."""
        a, weight = objective.design.activate(self.block, theta), self.block.weight
        curvature = objective.likelihood.safe_curvature(a, self.block.targets)
        p = curvature.p.T if isinstance(curvature, Covariances) else np.zeros((1, len(a)))
        r = p if isinstance(curvature, Covariances) else curvature[None]
        return ByRows(self, np.ascontiguousarray(p), np.ascontiguousarray(r if weight is None else r * weight))


@dataclass(frozen=True, eq=False)
class ByRows:
    """H = Σ_n R_n ⊗ φ̃_n φ̃_n' with R_n = diag r_n - r_n p_n' (C, C); ``p`` and ``r`` are (C, N).

    For a softmax, p are the probabilities and r = weight p; for one output, p = 0 and r is the curvature.
    """

    columns: Columns
    p: Float
    r: Float

    def minimum(self, objective: Posterior, theta: Float, grad: Float, tol: float) -> Float:
        """Minimum by sweeps over all weights, alternating with sweeps over the nonzero weights.

        Weights that are zero and whose gradient is far below the threshold stay zero.
        """
        from separatrix.solvers._kernels import column_squares, sweep_rows

        (C, P), Z, shift = theta.shape, self.columns.regressors, self.columns.shift
        M, corner, ridge = len(shift), in_one_row(corner_of(objective), C), np.tile(objective.prior.precision, C)
        groups = Partition.of(corner).only((near_weights(objective, theta, grad) & self.columns.kept).ravel())
        none, variance = np.zeros(0, np.int32), self.r - self.r * self.p
        entries = (Z.data, Z.indices, Z.indptr) if is_sparse(Z) else (Z.T.ravel(), none, none)
        if corner.groups is None:
            bound = column_squares(*entries, variance, groups.members, P) + ridge[groups.members]
        else:  # no eigenvalue of R_n is above its largest sum of absolute values in a row
            largest = variance.max(axis=0) * (1 if C == 1 else 2)
            parts = [np.unique(part % P) for part in groups.parts()]
            bound = np.array([linalg.eigvalsh(_gram(Z[:, part], largest, Z[:, part]))[-1] for part in parts])
            bound += ridge[groups.members[groups.bounds[:-1]]]
        slope, start = grad.copy(), theta.copy()
        if objective.design.bias:
            slope[:, :M] += shift * grad[:, M:]
            start[:, M] -= theta[:, :M] @ shift
        linear, x = slope.ravel() - ridge * theta.ravel(), start.flatten()
        unit = np.tile(objective.column_units, C) * objective.units.total
        U, q = np.zeros_like(self.p), np.zeros(0 if C == 1 else self.p.shape[1])  # see the kernel
        rest = (linear, ridge, x, *groups, bound, unit)
        for _ in range(MAX_ROW_SWEEPS):
            if sweep_rows((*entries, self.p, self.r, U, q), *rest, False) <= tol:
                break
            for _ in range(SWEEPS_OF_NONZERO):
                if sweep_rows((*entries, self.p, self.r, U, q), *rest, True) <= tol:
                    break
            else:
                live = np.flatnonzero((corner.lengths(x[None])[0] > 0) | (corner.threshold == 0))
                if len(live) > MAX_JOINT_WEIGHTS:
                    continue
                here = linear + ridge * x + (Z.T @ (U if C == 1 else self.r * (U - q)).T).T.ravel()
                H = self.matrix(live // P, live % P) + np.diag(ridge[live])
                if C > 1:  # as in Matrix: a bias common to all classes has no curvature
                    is_bias = live % P == M
                    H[np.ix_(is_bias, is_bias)] += np.diag(H)[is_bias].sum() / C**2
                x[live] = minimum_of_matrix(H, here[live], x[live], corner.on_columns(live), unit[live], tol)
                U = np.ascontiguousarray((Z @ (x.reshape(C, P) - start).T).T)
                U, q = (self.r * U, q) if C == 1 else (U, np.einsum("kn,kn->n", self.p, U))
        goal = x.reshape(C, P)
        if objective.design.bias:
            goal[:, M] += goal[:, :M] @ shift
        return goal

    def matrix(self, k: Codes, j: Codes) -> Float:
        """The rows and columns of H for some weights, of class k and column j (L,)."""
        H, Z = np.empty((len(k), len(k))), self.columns.regressors
        parts = {int(c): np.flatnonzero(k == c) for c in np.unique(k)}
        for (a, of_a), (b, of_b) in product(parts.items(), repeat=2):
            curvature = (a == b) * self.r[a] - self.r[a] * self.p[b]
            H[np.ix_(of_a, of_b)] = _gram(Z[:, j[of_a]], curvature, Z[:, j[of_b]])
        return H


def _gram(Z: Any, weight: Float, Y: Any) -> Float:
    """Z' diag(weight) Y, dense."""
    found = Z.T @ (sparse.diags_array(weight) @ Y if is_sparse(Y) else weight[:, None] * Y)
    return np.asarray(found.toarray() if is_sparse(found) else found)
