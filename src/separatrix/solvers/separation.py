# SPDX-License-Identifier: BSD-3-Clause
"""Can hyperplanes separate the classes? Decided by linear programs over a few of the rows.

A linear machine a_k(x) = w_k'x + w_k0 separates the rows

    completely          a_t(x) - a_j(x) >  0   for every row x of class t and every rival j ≠ t
    quasi-completely    a_t(x) - a_j(x) >= 0   for all of these, and > 0 for some
    not at all          otherwise: the classes overlap

and exactly in the last case the likelihood of a logistic or softmax model has a maximum (Albert & Anderson 1984).
Each difference is linear, g'b, in the weights b relative to those of class 0 (one function added to every class changes
nothing). With one row of G for each difference:

    widest gap    max δ          subject to   G b >= δ,  Σ |b_d| <= 1      complete if δ > 0
    largest sum   max Σ_k ḡ_k'b  subject to   G b >= 0,    |b_d| <= 1      quasi-complete if > 0     (Konis 2007)

ḡ_k is the mean of the rows of G that belong to class k. G b >= 0 makes ḡ_k'b >= 0, and 0 only if all those rows lie on
the plane, so the means stand for the sum over all rows.

**Columns at fault.** The direction b of the largest sum takes any column along that adds to it: of a factor with a
column for each level, one of which separates, it takes all. So, of the directions that separate the rows that b
separates clearly, the one of least Σ |b_d| is returned:

    fewest columns    min Σ |b_d|  subject to   G b' >= 0,  g'b' >= h where g'b >= h,  h = min(1, max G b)/e

**Constraint generation.** G has N (K - 1) rows; a program sees only those that matter. It starts from the class means.
One pass finds, for each pair of classes, the rows that the current b violates most; they join, until none is violated
(then b is the proof) or until the few rows alone admit no b (then they are).

**Tolerance.** Columns are brought to [-1, 1], so the answer does not depend on units or origin. A gap below 1e-9 of a
column's range is none, and a row on the wrong side by less than ten times that lies on the plane. Where an offset is so
much larger than the range that data are rounded more coarsely, the tolerance is that rounding, but never above 1e-6.

**Cost.** Some passes, and programs of (K - 1)(M + 1) unknowns with a few times as many rows: milliseconds for tens of
columns, a second for hundreds. Where the columns are so collinear that the answer is lost in rounding, or so many that
half a minute of computing is not enough, the status is "unknown".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import thread_time
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from separatrix._array import Codes, Float
from separatrix._threads import single_thread_blas
from separatrix.rows import Source
from separatrix.solvers.directions import Split, fewest_columns, largest_sum, some_gap
from separatrix.solvers.hinge import UndecidedError
from separatrix.solvers.worst_rows import Demand, Frame, WorstRows, survey, worst_rows
from separatrix.stats import ClassMoments, require_finite

__all__ = ["Separability", "SeparationStatus", "separability"]

SeparationStatus = Literal["complete", "quasi-complete", "overlapping", "unknown"]

LEFT = 10  # tolerances by which a solution of a program may violate a row
CLEARLY = 1 / np.e  # of the range of a column, or of the largest margin: no ratio that data are likely to have
SECONDS = 30.0  # of computing, passes apart, after which the answer is "unknown"
SHARE = 1e-6  # a column takes part in a direction if its weight is more than this share of the largest


@dataclass(frozen=True, eq=False)
class Separability:
    """The answer, a direction that proves it, and what it cost.

    ``coef`` (1, M) for two classes, (K, M) otherwise, and ``intercept`` are in the user's units and scaled to
    Σ coef² = 1; they are zero where the classes overlap. ``columns`` are those with a weight in it. ``n_on_plane`` is
    the number of rows that the direction leaves on a boundary, ``n_cuts`` the number that the programs had to see.
    The status is unknown where nobody asked the programs, or where they did not know: a hyperplane may separate the
    classes, but if so, with a gap that is lost in the rounding of nearly collinear columns.
    """

    status: SeparationStatus
    coef: Float
    intercept: Float
    columns: tuple[str, ...]
    n_on_plane: int
    n_cuts: int
    n_passes: int

    def __bool__(self) -> bool:
        """Whether the classes are separable, completely or quasi-completely."""
        return self.status in ("complete", "quasi-complete")


def separability(source: Source, n_classes: int, *, fit_intercept: bool = True) -> Separability:
    """Decide whether linear functions separate the classes of the rows that have weight.

    A row may come several times, with several labels, and a class may have no rows.
    """
    first = source.reduce(partial(survey, n_classes=n_classes))
    if not np.isfinite(first.moments.mean).all():
        require_finite(source)
    frame = Frame.of(first.extent, fit_intercept=fit_intercept)
    search = _Search(source, frame, first.moments)
    with single_thread_blas():  # NumPy and SciPy bring a BLAS each, and their threads wait on each other
        try:
            status, B, n_on_plane = _decide(search)
        except UndecidedError:
            status, B, n_on_plane = "unknown", search.nothing, 0
    weight = np.abs(B[:, : len(frame.scale)]).max(axis=0)
    return Separability(
        status,
        *_canonical(*frame.in_user_units(B)),
        columns=tuple(source.columns[d] for d in np.flatnonzero(weight > SHARE * weight.max())),
        n_on_plane=n_on_plane,
        n_cuts=search.cuts.shape[0],
        n_passes=1 + search.passes,
    )


def _decide(search: _Search) -> tuple[SeparationStatus, Float, int]:
    """The status, a direction B (K, P) in the frame, and the number of rows on its boundaries."""
    tol, slack = search.frame.tolerance, search.frame.rounding
    apart = search.run(partial(some_gap, split=search.split, least=2 * tol, until=search.until), floor=tol)
    if apart is not None and apart.worst.least >= tol:
        return "complete", apart.B, 0
    c = search.means.sum(axis=0)
    best = search.run(partial(largest_sum, c=c, slack=slack, least=tol, until=search.until), floor=-tol)
    if best is None or not search.agrees(best.worst):
        return "overlapping", search.nothing, 0
    demand = Demand(best.B, CLEARLY * min(1.0, best.worst.largest))
    named = search.run(partial(search.few_columns, best=best.b, demand=demand), -tol, demand)
    if named is None or not search.agrees(named.worst):
        named = best
    return "quasi-complete", named.B, named.worst.n_near


class _Direction(NamedTuple):
    """A direction that every row agrees with, and the pass that showed it."""

    b: Float
    B: Float
    worst: WorstRows


class _Search:
    """Constraint generation in progress: the rows of G seen so far, and the passes taken."""

    def __init__(self, source: Source, frame: Frame, classes: ClassMoments[Any]) -> None:
        self.source, self.frame, self.n_classes = source, frame, len(classes.count)
        is_pair = ~np.eye(self.n_classes, dtype=bool) & (classes.count > 0)[:, None]  # a class without rows has no mean
        own, rival = np.nonzero(is_pair)
        self.means = self.cuts = _differences(frame.rows(classes.mean[own]), own, rival, self.n_classes)
        self.split = Split(np.tile(np.arange(frame.width) < len(frame.scale), self.n_classes - 1))
        self.most = max(8, frame.width // (self.n_classes - 1))
        self.seen = np.zeros(0, dtype=np.intp)
        self.passes = 0
        self.until = thread_time() + SECONDS
        self.nothing = np.zeros((self.n_classes, frame.width))

    def run(
        self, program: Callable[..., Float | None], floor: float, demand: Demand | None = None
    ) -> _Direction | None:
        """Add violated rows until every difference is at least ``floor``; None once the program has no solution.

        Where even an exact solution violates rows that it has seen, it is within the accuracy of the program.
        """
        exact = False
        while (b := program(self.cuts, exact=exact)) is not None:
            B = np.vstack([np.zeros(self.frame.width), b.reshape(self.n_classes - 1, -1)])
            look = partial(worst_rows, B=B, frame=self.frame, below=floor, most=self.most, demand=demand)
            worst = self.source.reduce(look)
            self.passes += 1
            has_new = self._add(worst)
            if (worst.least >= floor and self.agrees(worst)) or (exact and not has_new):
                return _Direction(b, B, worst)
            exact = not has_new
        return None

    def few_columns(self, G: Any, best: Float, demand: Demand, exact: bool) -> Float | None:
        """A direction with the fewest columns among those that do what is demanded; every answer is ``exact``."""
        h = demand.of(G @ best)
        h[: self.means.shape[0]] = 0.0  # the means are no rows
        return fewest_columns(G, h, self.split, self.frame.rounding)

    def agrees(self, worst: WorstRows) -> bool:
        """Whether no row is on the wrong side by more than programs leave, beside how far rows are on the right one."""
        return worst.least >= -LEFT * self.frame.tolerance * worst.largest

    def _add(self, worst: WorstRows) -> bool:
        """Whether some of the rows are new."""
        differences = (worst.row * self.n_classes + worst.t) * self.n_classes + worst.rival
        new = ~np.isin(differences, self.seen)
        self.seen = np.append(self.seen, differences[new])
        rows = self.frame.rows(worst.X[new])
        self.cuts = sparse.vstack(
            [self.cuts, _differences(rows, worst.t[new], worst.rival[new], self.n_classes)], format="csr"
        )
        return bool(new.any())


def _differences(Z: Any, t: Codes, rival: Codes, n_classes: int) -> Any:
    """Rows g of G with g'b = a_t - a_rival at the rows of Z; b holds the weights of classes 1 .. K-1."""
    sign = np.eye(n_classes)[t] - np.eye(n_classes)[rival]
    return sparse.hstack([sparse.diags_array(sign[:, k]) @ Z for k in range(1, n_classes)], format="csr")


def _canonical(coef: Float, intercept: Float) -> tuple[Float, Float]:
    """One row for two classes, rows that sum to zero for more; Σ coef² = 1."""
    if len(coef) == 2:
        coef, intercept = coef[1:], intercept[1:]
    else:
        coef, intercept = coef - coef.mean(axis=0), intercept - intercept.mean()
    largest = np.abs(coef).max() or 1.0  # first, lest squares overflow
    length = np.linalg.norm(coef / largest) or 1.0
    return coef / largest / length, intercept / largest / length
