# SPDX-License-Identifier: BSD-3-Clause
"""Decide by linear programs over a few rows whether hyperplanes separate the classes.

A linear machine a_k(x) = w_k'x + w_k0 separates the rows

    completely          a_t(x) - a_j(x) >  0   for every row x of class t and every rival j ≠ t
    quasi-completely    a_t(x) - a_j(x) >= 0   for all of these, and > 0 for some
    not at all          otherwise: the classes overlap

Each difference is a linear function g'b of the weights b relative to those of class 0; these g' are the rows of G.
docs/geometry.md ("How the answer is found") explains the programs: the widest margin decides whether the separation is
complete, the largest sum of the means of G whether it is quasi-complete (Konis 2007). The direction b of the largest
sum includes every column that increases the sum. The direction b' returned has the smallest Σ |b_d| among directions
that separate the rows that b separates clearly:

    fewest columns    min Σ |b_d|  subject to   G b' >= 0,  g'b' >= h if g'b >= h,  h = min(1, max G b)/e

**Constraint generation.** G has N (K - 1) rows. A program contains only a few of them, beginning with the class means.
The margin of a row x of class t over a rival j is a_t(x) - a_j(x). One pass finds the rows with the smallest margins
under the current b, for each pair (t, j). These rows are added until no row is violated (then b is the proof) or until
the program has no solution (then its rows are the proof). Rows of weight 0 are ignored.

**Tolerance.** Columns are scaled to [-1, 1], so units and origins do not matter. A margin below 1e-9 of the range does
not count, and a row on the wrong side by less than ten times that lies on the plane. If the offset of a column is
so large that the data are rounded more coarsely, the tolerance is that rounding error, at most 1e-6.

**Cost.** A decision takes a few passes, and programs with (K - 1)(M + 1) unknowns: milliseconds for tens of columns, a
second for hundreds. The status is "unknown" if columns are so nearly collinear that rounding hides the result, or if
the programs take more than 30 seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import thread_time
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from separatrix._array import Codes, Float, Rows, is_sparse, to_dense
from separatrix._threads import single_thread_blas
from separatrix.rows import Block, Source, Summed
from separatrix.separation.directions import UndecidedError, fewest_columns, find_margin, furthest, largest_sum
from separatrix.stats import ClassMoments, DiagonalScatter, Extent, class_moments, extent, require_finite

SeparationStatus = Literal["complete", "quasi-complete", "overlapping", "unknown"]

MIN_MARGIN_OF_RANGE = 1e-9  # smallest margin that counts, as a fraction of the range of the columns
MAX_ROUNDING_OF_RANGE = 1e-6  # largest tolerance, for data with coarse rounding
MAX_VIOLATION_IN_TOLERANCES = 10  # larger violations of a row are not rounding error
CLEAR_MARGIN = 1 / np.e  # fraction of the range or of the largest margin; irrational, so ties are unlikely
MAX_SECONDS = 30.0  # processor time, without passes, after which the status is "unknown"
ANY_VALUE = 2  # neither sign: the function takes any value along directions that separate the rows
MIN_RELATIVE_WEIGHT = 1e-6  # a column is part of a direction if its weight exceeds this fraction of the largest


@dataclass(frozen=True, eq=False)
class Separability:
    """Whether the classes are separable, with a direction that proves it.

    ``coef`` (1, M) for two classes, (K, M) otherwise, and ``intercept`` are in the user's units and scaled to
    Σ coef² = 1; they are zero if the classes overlap. ``columns`` are those with a nonzero weight. ``n_on_plane`` is
    the number of rows on a boundary of the direction, and ``n_cuts`` the number of rows in the programs.
    The status is "unknown" if no program was run, or if rounding hides the result because columns are nearly collinear.
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


@dataclass(frozen=True, slots=True)
class Survey(Summed):
    """Class means and the extent of the rows."""

    moments: ClassMoments[DiagonalScatter]
    extent: Extent


def survey_classes(block: Block, n_classes: int) -> Survey:
    """Class means and extent of one block."""
    kept, M = _with_weight(block), block.X.shape[1]
    empty = Extent(np.full(M, np.inf), np.full(M, -np.inf), 0.0)
    with np.errstate(invalid="ignore", over="ignore"):  # the caller checks the sums
        return Survey(class_moments(block, n_classes, DiagonalScatter), extent(kept) if len(kept) else empty)


@dataclass(frozen=True, slots=True)
class Frame:
    """Coordinates z = (x - centre) / scale in [-1, 1], followed by a 1 if there is an intercept.

    A column whose range contains zero is not centred, so sparse rows stay sparse. A constant column is redundant if
    there is an intercept: its scale is infinite and its coordinate 0. ``rounding`` bounds the effect of rounded data on
    an activation with weights in [-1, 1].
    """

    centre: Float
    scale: Float
    fit_intercept: bool
    rounding: float = 0.0

    @classmethod
    def of(cls, rows: Extent, *, fit_intercept: bool) -> Frame:
        """Coordinates for rows of this extent. Without an intercept, columns are not centred."""
        low, high = rows.low, rows.high
        reach = np.maximum(np.abs(low), np.abs(high))
        stays = ((low <= 0) & (high >= 0)) | (not fit_intercept)
        centre = np.where(stays, 0.0, low / 2 + high / 2)
        scale = np.where(stays, reach, high / 2 - low / 2)
        scale[scale < np.finfo(np.float64).tiny] = np.inf
        rounding = 4 * np.finfo(np.float64).eps * float((reach / scale).sum())
        return cls(centre, scale, fit_intercept, min(rounding, MAX_ROUNDING_OF_RANGE))

    @property
    def width(self) -> int:
        """Number P of coordinates."""
        return len(self.scale) + self.fit_intercept

    @property
    def tolerance(self) -> float:
        """Smallest margin that is more than rounding error."""
        return MIN_MARGIN_OF_RANGE + self.rounding

    def rows(self, X: Rows) -> Any:
        """Z (n, P) of the rows X, as a CSR array."""
        ones = sparse.csr_array(np.ones((X.shape[0], 1)))
        moved = X - ones @ sparse.csr_array(self.centre[None]) if is_sparse(X) else X - self.centre
        Z = sparse.csr_array(moved) @ sparse.diags_array(1 / self.scale)
        return sparse.hstack([Z, ones], format="csr") if self.fit_intercept else Z

    def in_user_units(self, B: Float, *, about_centre: bool = False) -> tuple[Float, Float]:
        """Weights B (K, P) as coefficients (K, M) and intercepts (K,) of the columns, or of columns - centre."""
        M = len(self.scale)
        W, w0 = B[:, :M] / self.scale, B[:, M] if self.fit_intercept else np.zeros(len(B))
        return W, w0 if about_centre else w0 - W @ self.centre

    def margins(self, X: Rows, t: Codes, B: Float) -> Float:
        """a_t - a_j (n, K) of the rows X of the classes t under the weights B (K, P)."""
        W, w0 = self.in_user_units(B, about_centre=not is_sparse(X))
        a = np.asarray((X if is_sparse(X) else X - self.centre) @ W.T + w0)
        return np.asarray(np.take_along_axis(a, t[:, None], axis=1) - a)


class MarginConstraint(NamedTuple):
    """Require a margin of ``least`` for every row that has it under the weights ``B`` (K, P), and 0 for other rows."""

    B: Float
    least: float

    def of(self, margins: Float) -> Float:
        """Required margins of rows that have these margins under ``B``."""
        return np.where(margins >= self.least, self.least, 0.0)


@dataclass(frozen=True, slots=True)
class WorstRows:
    """Rows ``X`` with the smallest margins, at most ``most`` for each pair (class ``t``, ``rival``).

    ``least`` is the minimum and ``largest`` the maximum over all rows. Required margins are subtracted from ``margin``
    and ``least``. ``n_near`` counts rows within the frame's tolerance of a boundary or on its wrong side.
    """

    X: Rows
    t: Codes
    rival: Codes
    row: Codes
    margin: Float
    most: int
    least: float
    largest: float
    n_near: int

    def __add__(self, other: WorstRows) -> WorstRows:
        X = sparse.vstack([self.X, other.X], format="csr") if is_sparse(self.X) else np.vstack([self.X, other.X])
        t, rival = np.append(self.t, other.t), np.append(self.rival, other.rival)
        row, margin = np.append(self.row, other.row), np.append(self.margin, other.margin)
        keep = _smallest(t, rival, margin, row, self.most)
        least, largest = min(self.least, other.least), max(self.largest, other.largest)
        n_near = self.n_near + other.n_near
        return WorstRows(X[keep], t[keep], rival[keep], row[keep], margin[keep], self.most, least, largest, n_near)


def worst_rows(
    block: Block, B: Float, frame: Frame, *, below: float, most: int, demand: MarginConstraint | None = None
) -> WorstRows:
    """Rows of one block with the smallest margins, less the required margins, if they are under ``below``."""
    block = _with_weight(block)
    X, t = block.X.astype(np.float64, copy=False), block.codes
    margins = frame.margins(X, t, B)
    is_rival = np.arange(len(B)) != t[:, None]
    near = margins.min(axis=1, initial=np.inf, where=is_rival) <= frame.tolerance
    largest = float(margins.max(initial=-np.inf, where=is_rival))
    if demand is not None:
        margins -= demand.of(frame.margins(X, t, demand.B))
    n, rival = np.nonzero((margins < below) & is_rival)
    row, margin = np.asarray(block.row)[n], margins[n, rival]
    keep = _smallest(t[n], rival, margin, row, most)
    n, rival, row, margin = n[keep], rival[keep], row[keep], margin[keep]
    least = float(margins.min(initial=np.inf, where=is_rival))
    n_near = len(np.unique(np.asarray(block.row)[near]))  # a row with several labels is repeated
    return WorstRows(X[n], t[n], rival, row, margin, most, least, largest, n_near)


def _smallest(t: Codes, rival: Codes, margin: Float, row: Codes, most: int) -> Codes:
    """Positions of the smallest margins of each pair. Rows with equal margins are most likely copies: one is kept."""
    order = np.lexsort((row, margin, rival, t))
    t, rival, margin = t[order], rival[order], margin[order]
    next_pair = np.append(True, (np.diff(t) != 0) | (np.diff(rival) != 0))[: len(order)]
    fresh = next_pair | np.append(True, np.diff(margin) != 0)[: len(order)]
    pair = np.cumsum(next_pair)[fresh]
    rank = np.arange(len(pair)) - np.searchsorted(pair, pair)
    return np.asarray(order[fresh][rank < most])


def _with_weight(block: Block) -> Block:
    return block if block.weight is None or block.weight.all() else block.take(np.flatnonzero(block.weight > 0))


def separability(source: Source, n_classes: int, *, fit_intercept: bool = True) -> Separability:
    """Decide whether linear functions separate the classes of the rows with positive weight.

    A row may occur several times with different labels, and a class may have no rows.
    """
    first = source.reduce(partial(survey_classes, n_classes=n_classes))
    if not np.isfinite(first.moments.mean).all():
        require_finite(source)
    frame = Frame.of(first.extent, fit_intercept=fit_intercept)
    search = _Search(source, frame, first.moments)
    with single_thread_blas():  # NumPy and SciPy each load a BLAS, and their threads wait for each other
        try:
            status, B, n_on_plane = search.decide()
        except UndecidedError:
            status, B, n_on_plane = "unknown", search.nothing, 0
    weight = np.abs(B[:, : len(frame.scale)]).max(axis=0)
    coef, intercept = frame.in_user_units(B)
    if n_classes == 2:
        coef, intercept = coef[1:], intercept[1:]
    else:
        coef, intercept = coef - coef.mean(axis=0), intercept - intercept.mean()
    largest = np.abs(coef).max() or 1.0  # divided out first, so that squares do not overflow
    length = largest * (np.linalg.norm(coef / largest) or 1.0)
    columns = tuple(source.columns[d] for d in np.flatnonzero(weight > MIN_RELATIVE_WEIGHT * weight.max()))
    n_cuts, n_passes = search.cuts.shape[0], 1 + search.passes
    return Separability(status, coef / length, intercept / length, columns, n_on_plane, n_cuts, n_passes)


def signs_at_infinity(source: Source, n_classes: int, L: Any, Q: Float, *, fit_intercept: bool = True) -> Codes:
    """Sign of each linear function of the weights along directions that separate the rows, or lie on their boundary.

    Functions are the contrasts Q (k, K) of the classes (for two classes, of the second) of l'(w, w0), for the rows l of
    L (n, M + 1) in the user's units; results (k n,) are class after class. 0 is a function that does not change along
    any direction, and `ANY_VALUE` one that rises along some and falls along others.
    """
    first = source.reduce(partial(survey_classes, n_classes=n_classes))
    frame = Frame.of(first.extent, fit_intercept=fit_intercept)
    search, M = _Search(source, frame, first.moments), len(frame.scale)
    l = to_dense(L)  # noqa: E741  # l_n of the formula
    scaled = l[:, :M] / frame.scale
    if fit_intercept:
        scaled = np.column_stack([(l[:, :M] - l[:, M:] * frame.centre) / frame.scale, l[:, M]])
    contrasts = Q if len(Q[0]) == 1 else Q[:, 1:]  # class 0 has no weights in a program
    signs = []
    with single_thread_blas():
        for c in np.kron(contrasts, scaled):
            rises, falls = (search.reaches(side * c) if c.any() else False for side in (1.0, -1.0))
            signs.append(ANY_VALUE if rises and falls else int(rises) - int(falls))
    return np.array(signs, dtype=np.intp)


class _Direction(NamedTuple):
    """A direction that no row violates, and its rows with the smallest margins."""

    b: Float
    B: Float
    worst: WorstRows


class _Search:
    """State of the constraint generation: the rows of G in the programs, and the number of passes."""

    def __init__(self, source: Source, frame: Frame, classes: ClassMoments[Any]) -> None:
        self.source, self.frame, self.n_classes = source, frame, len(classes.count)
        is_pair = ~np.eye(self.n_classes, dtype=bool) & (classes.count > 0)[:, None]  # a class without rows has no mean
        own, rival = np.nonzero(is_pair)
        self.means = self.cuts = self._differences(classes.mean[own], own, rival)
        self.is_weight = np.tile(np.arange(frame.width) < len(frame.scale), self.n_classes - 1)
        self.seen = np.zeros(0, dtype=np.intp)
        self.passes = 0
        self.nothing = np.zeros((self.n_classes, frame.width))

    def decide(self) -> tuple[SeparationStatus, Float, int]:
        """Status, a direction B (K, P) in scaled coordinates, and the number of rows on its boundaries."""
        tol, slack, until = self.frame.tolerance, self.frame.rounding, thread_time() + MAX_SECONDS
        apart = self._run(partial(find_margin, is_weight=self.is_weight, least=2 * tol, until=until), floor=tol)
        if apart is not None and apart.worst.least >= tol:
            return "complete", apart.B, 0
        c = self.means.sum(axis=0)
        best = self._run(partial(largest_sum, c=c, slack=slack, least=tol, until=until), floor=-tol)
        if best is None or not self._agrees(best.worst):
            return "overlapping", self.nothing, 0
        demand = MarginConstraint(best.B, CLEAR_MARGIN * min(1.0, best.worst.largest))

        def few_columns(G: Any) -> Float | None:
            h = demand.of(G @ best.b)
            h[: self.means.shape[0]] = 0.0  # the means are not rows
            return fewest_columns(G, h, self.is_weight, slack)

        named = self._run(few_columns, -tol, demand)
        if named is None or not self._agrees(named.worst):
            named = best
        return "quasi-complete", named.B, named.worst.n_near

    def reaches(self, c: Float) -> bool:
        """Whether c'b > 0 for a direction b that no row violates."""
        tol, slack = self.frame.tolerance, self.frame.rounding
        return self._run(partial(furthest, c=c, slack=slack, least=tol), floor=-tol) is not None

    def _run(
        self, program: Callable[[Any], Float | None], floor: float, demand: MarginConstraint | None = None
    ) -> _Direction | None:
        """Add violated rows until every margin is at least ``floor``; return None if the program has no solution.

        A violation of rows that the program already contains is within the accuracy of the program.
        """
        most = max(8, self.frame.width // (self.n_classes - 1))
        find = partial(worst_rows, frame=self.frame, below=floor, most=most, demand=demand)
        while (b := program(self.cuts)) is not None:
            B = np.vstack([np.zeros(self.frame.width), b.reshape(self.n_classes - 1, -1)])
            worst = self.source.reduce(partial(find, B=B))
            self.passes += 1
            differences = (worst.row * self.n_classes + worst.t) * self.n_classes + worst.rival
            new = ~np.isin(differences, self.seen)
            self.seen = np.append(self.seen, differences[new])
            rows = self._differences(worst.X[new], worst.t[new], worst.rival[new])
            self.cuts = sparse.vstack([self.cuts, rows], format="csr")
            if (worst.least >= floor and self._agrees(worst)) or not new.any():
                return _Direction(b, B, worst)
        return None

    def _agrees(self, worst: WorstRows) -> bool:
        """Whether violations are within the accuracy of a program, relative to the largest margin."""
        return worst.least >= -MAX_VIOLATION_IN_TOLERANCES * self.frame.tolerance * worst.largest

    def _differences(self, X: Any, t: Codes, rival: Codes) -> Any:
        """Rows g of G with g'b = a_t - a_rival at the rows X; b contains the weights of classes 1 .. K-1."""
        Z, identity = self.frame.rows(X), np.eye(self.n_classes)
        sign = identity[t] - identity[rival]
        return sparse.hstack([sparse.diags_array(sign[:, k]) @ Z for k in range(1, self.n_classes)], format="csr")
