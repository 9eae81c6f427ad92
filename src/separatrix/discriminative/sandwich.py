# SPDX-License-Identifier: BSD-3-Clause
"""Covariances of a maximum-likelihood estimate that hold if the model is only approximately right.

With the scores s_n = ∂ ln p_n/∂a_n (C,) of the rows, the weights θ (CP,) and the information H, the covariance is

    H⁻¹ M H⁻¹,        M = Σ_n weight_n u_n u_n',     u_n = s_n ⊗ φ̃_n                    (Huber 1967, White 1980)

Without M = H, which holds if the model is right, errors remain correct for a wrong variance. `KINDS`:

    HC0      the formula itself
    HC1      times N/(N - P), with the number P of weights that the data identify
    HC3      with (1 - C_n V_n)⁻¹ s_n instead of s_n: the change of θ̂ if the row is left out, in one Newton step, with
             the curvature C_n (C, C) of the row and the covariance V_n of its activations; s_n/(1 - h_n) for one output
    cluster  M = Σ_g (Σ_n∈g u_n) (Σ_n∈g u_n)', times G/(G - 1) (N - 1)/(N - P), for rows that depend on each other
             within each of G groups. For two groupings, the sum of both minus that of their intersections, with
             negative eigenvalues set to zero                              (Cameron, Gelbach & Miller 2011)

A frequency weight of k counts as k rows. Precision and probability weights belong to one row each, so that M has the
factor weight² instead of weight, N is the number of rows, and leaving a row out removes all of its weight. For
probability weights, which represent rows that were not sampled, the covariance is HC0 times N/(N - 1) unless another is
chosen (`SURVEY`). Each covariance takes one pass over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, sparse

from separatrix._array import Codes, Float, to_dense
from separatrix._text import counted
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError
from separatrix.likelihoods import Covariances
from separatrix.rows import Block, Source, Summed, in_memory, is_missing
from separatrix.solvers import Posterior
from separatrix.stats import Design
from separatrix.weights import NormalApproximation

KINDS = ("nonrobust", "HC0", "HC1", "HC3")
SURVEY = "probability weights"
CHOICES = f"choose {', '.join(map(repr, KINDS))}, ('cluster', groups) or ('cluster', groups, other_groups)"


@dataclass(frozen=True, eq=False)
class Sandwich:
    """A robust covariance (CP, CP), its name for tables, and the number of groups minus one (infinite if none)."""

    covariance: Float
    name: str
    freedom: float


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums (m, CP) of the scores of some groups, given by their codes; a code may occur more than once."""

    codes: Codes
    sums: Float
    n_groups: int

    def __add__(self, other: GroupSums) -> GroupSums:
        both = GroupSums(np.append(self.codes, other.codes), np.vstack([self.sums, other.sums]), self.n_groups)
        return both.merged() if len(both.codes) > 2 * self.n_groups else both

    def merged(self) -> GroupSums:
        """The same sums, with each code once."""
        codes, at = np.unique(self.codes, return_inverse=True)
        member = sparse.csr_array((np.ones(len(at)), (at, np.arange(len(at)))), shape=(len(codes), len(at)))
        return GroupSums(codes, np.asarray(member @ self.sums), self.n_groups)

    @property
    def products(self) -> Float:
        """Σ_g S_g S_g', (CP, CP)."""
        S = self.merged().sums
        return np.asarray(S.T @ S)


@dataclass(frozen=True, eq=False)
class Meat(Summed):
    """Number of rows, Σ_n weight_n u_n u_n', and the sums of the groups of each grouping."""

    total: float
    products: Float
    groups: Any


@dataclass(frozen=True, eq=False)
class Groupings:
    """Sums for several groupings, which add up one by one."""

    parts: tuple[GroupSums, ...]

    def __add__(self, other: Groupings) -> Groupings:
        return Groupings(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


def parse_kind(kind: Any) -> tuple[str, tuple[Any, ...]]:
    """Name of a covariance, and the groups of its clusters."""
    if isinstance(kind, str) and kind in KINDS:
        return kind, ()
    if isinstance(kind, tuple | list) and len(kind) in (2, 3) and isinstance(kind[0], str) and kind[0] == "cluster":
        return "cluster", tuple(kind[1:])
    shown = repr(kind) if isinstance(kind, str) else f"a {type(kind).__name__}"
    raise ValueError(f"with_covariance(kind={shown}): {CHOICES}.")


def sandwich(
    objective: Posterior, estimate: NormalApproximation, kind: Any, *, expected: bool, is_frequency: bool
) -> Sandwich:
    """Robust covariance of an estimate θ (C, P) with the covariance H⁻¹, in one pass over the rows of the objective.

    ``expected`` says that H is the sum of expected curvatures, as for the mean of a response. ``kind`` may be `SURVEY`.
    """
    theta, bread = estimate.mean, estimate.covariance
    name, groups = (SURVEY, ()) if isinstance(kind, str) and kind == SURVEY else parse_kind(kind)
    codes = [group_codes(each, objective.source) for each in groups]
    if len(codes) == 2:  # the third grouping are the intersections
        codes.append(np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].ravel())
    statistic = partial(
        meat,
        theta=theta,
        design=objective.design,
        likelihood=objective.likelihood,
        codes=tuple(codes),
        bread=bread if name == "HC3" else None,
        expected=expected,
        is_frequency=is_frequency,
    )
    found: Meat = objective.source.sized_for(2.0 * theta.size).reduce(statistic)
    N, n_weights = found.total, estimate.n_identified
    if name != "cluster":
        factor = {"HC1": N / (N - n_weights), SURVEY: N / (N - 1)}.get(name, 1.0)
        return Sandwich(bread @ (factor * found.products) @ bread, name, np.inf)
    M, counts = np.zeros_like(bread), [int(each.max()) + 1 for each in codes]
    for sign, part, G in zip((1.0, 1.0, -1.0), found.groups.parts, counts, strict=False):
        M += sign * G / (G - 1.0) * (N - 1.0) / (N - n_weights) * part.products
    covariance = bread @ M @ bread
    if len(codes) == 3:
        covariance = without_negative_eigenvalues(covariance)
    described = " and ".join(counted(G, "group") for G in counts[:2])
    return Sandwich(covariance, f"clusters of {described}", min(counts[:2]) - 1.0)


def meat(
    block: Block,
    theta: Float,
    design: Design,
    likelihood: Any,
    codes: tuple[Codes, ...],
    bread: Float | None,
    expected: bool,
    is_frequency: bool,
) -> Meat:
    """Σ weight u u' of one block, or the sums of u by group."""
    block = block.weighted()
    weight = np.ones(len(block)) if block.weight is None else block.weight
    of_one = 1.0 if is_frequency else weight  # what leaving a row out removes
    Phi, C = to_dense(design.regressors(block.X)), len(theta)
    a = design.activate(block, theta)
    derivatives = likelihood.derivatives(a, block.targets)
    slope = derivatives.slope.reshape(len(block), C)
    if bread is not None:
        V = np.einsum("np,cpdq,nq->ncd", Phi, bread.reshape(C, Phi.shape[1], C, Phi.shape[1]), Phi, optimize=True)
        curvature = likelihood.expected_curvature(a) if expected else derivatives.curvature
        left = np.eye(C) - np.reshape(of_one, (-1, 1, 1)) * curvatures(curvature, C) @ V
        slope = np.linalg.solve(left, slope[:, :, None])[:, :, 0]
    U = (slope[:, :, None] * Phi[:, None, :]).reshape(len(block), -1)
    weighted, row = U * weight[:, None], np.asarray(block.row)
    parts = tuple(GroupSums(each[row], weighted, int(each.max()) + 1).merged() for each in codes)
    products = np.zeros((0, 0)) if codes else U.T @ (weighted * np.broadcast_to(of_one, len(block))[:, None])
    return Meat(float(weight.sum() if is_frequency else len(block)), products, Groupings(parts))


def curvatures(curvature: Any, C: int) -> Float:
    """Curvature of each row as a matrix, (n, C, C)."""
    if isinstance(curvature, Covariances):
        return np.stack([np.stack([curvature.block(j, k) for k in range(C)], axis=1) for j in range(C)], axis=1)
    return np.asarray(curvature)[:, None, None]


def group_codes(groups: Any, source: Source) -> Codes:
    """Number of the group of each row, from 0; groups are an array, or the name of a column of a scan."""
    where = "with_covariance(('cluster', groups))"
    if isinstance(groups, str):
        if source.store is None:
            raise ValueError(
                f"{where}: groups={groups!r} is the name of a column, and the model was not fitted to a scan. Pass the "
                f"values of the column, such as table[{groups!r}]."
            )
        groups = source.store.column(groups)  # raises with the names of the columns if there is no such column
    values = np.asarray(in_memory(groups)[0])
    if values.shape != (source.n_rows,):
        raise DataError(f"{where}: groups.shape == {values.shape}, expected {(source.n_rows,)}: a group for each row.")
    missing = np.flatnonzero([is_missing(value) for value in values.tolist()])
    if len(missing):
        raise DataError(f"{where}: the group of row {missing[0] + 1} (counted from 1) is missing. Drop such rows.")
    labels, codes = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
    if len(labels) < 2:
        raise DataError(f"{where}: all rows are in one group, {labels.tolist()[0]!r}. Clusters need at least 2 groups.")
    return codes.ravel()


def without_negative_eigenvalues(covariance: Float) -> Float:
    """Nearest matrix without negative eigenvalues, in units of the standard deviations."""
    scale = np.sqrt(np.abs(np.diag(covariance)))
    unit = np.where(scale > 0, scale, 1.0)
    with single_thread_blas():
        values, V = linalg.eigh(covariance / np.outer(unit, unit))
    return np.asarray((V * np.maximum(values, 0.0)) @ V.T * np.outer(unit, unit))
