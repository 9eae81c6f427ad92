# SPDX-License-Identifier: BSD-3-Clause
"""Passes for constraint generation: ranges and class means of the rows, then the rows with the smallest margins.

The margin of a row x of class t over a rival class j is a_t(x) - a_j(x). Each pass returns the rows with the smallest
margins for every pair (t, j); a solver needs no others. If a `Demand` sets margins above zero, the excess over the
demanded margin counts instead. Rows of weight 0 are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from separatrix._array import Codes, Float, Rows, is_sparse
from separatrix.rows import Block
from separatrix.stats import ClassMoments, DiagonalScatter, Extent, class_moments, extent

MIN_GAP_OF_RANGE = 1e-9  # narrowest gap that counts, as a fraction of the range of the columns
MAX_ROUNDING_OF_RANGE = 1e-6  # upper limit of the tolerance for data that are rounded more coarsely


@dataclass(frozen=True, slots=True)
class Survey:
    """Class means and the extent of the rows."""

    moments: ClassMoments[DiagonalScatter]
    extent: Extent

    def __add__(self, other: Survey) -> Survey:
        return Survey(self.moments + other.moments, self.extent + other.extent)


def survey_classes(block: Block, n_classes: int) -> Survey:
    """Class means and extent of one block."""
    kept, M = _with_weight(block), block.X.shape[1]
    empty = Extent(np.full(M, np.inf), np.full(M, -np.inf), 0.0)
    with np.errstate(invalid="ignore", over="ignore"):  # the caller checks the sums
        return Survey(class_moments(block, n_classes, DiagonalScatter), extent(kept) if len(kept) else empty)


@dataclass(frozen=True, slots=True)
class Frame:
    """Coordinates z = (x - centre) / scale in [-1, 1], followed by a 1 if there is an intercept.

    A column whose range contains zero is not moved, so sparse rows stay sparse. A column with a single value adds
    nothing to an intercept: its scale is infinite and its coordinate 0. ``rounding`` bounds the effect of the rounding
    of the data on an activation with weights in [-1, 1].
    """

    centre: Float
    scale: Float
    fit_intercept: bool
    rounding: float

    @classmethod
    def of(cls, rows: Extent, *, fit_intercept: bool) -> Frame:
        """Frame filled by rows of this extent. Without an intercept the origin has a meaning and is kept."""
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
        return MIN_GAP_OF_RANGE + self.rounding

    def rows(self, X: Rows) -> Any:
        """Z (n, P) of the rows X, as a CSR array."""
        ones = sparse.csr_array(np.ones((X.shape[0], 1)))
        moved = X - ones @ sparse.csr_array(self.centre[None]) if is_sparse(X) else X - self.centre
        Z = sparse.csr_array(moved) @ sparse.diags_array(1 / self.scale)
        return sparse.hstack([Z, ones], format="csr") if self.fit_intercept else Z

    def activations(self, X: Rows, B: Float) -> Float:
        """Activations (n, K) of the rows X under the weights B (K, P)."""
        if is_sparse(X):
            W, w0 = self.in_user_units(B)
            return np.asarray(X @ W.T + w0)
        W, w0 = self._weights(B)
        return np.asarray((X - self.centre) @ W.T + w0)

    def in_user_units(self, B: Float) -> tuple[Float, Float]:
        """The same functions as coefficients (K, M) and intercepts (K,) in the user's units."""
        W, w0 = self._weights(B)
        return W, w0 - W @ self.centre

    def _weights(self, B: Float) -> tuple[Float, Float]:
        M = len(self.scale)
        return B[:, :M] / self.scale, B[:, M] if self.fit_intercept else np.zeros(len(B))


class Demand(NamedTuple):
    """A margin of ``least`` is demanded of every row that has it under the weights ``B`` (K, P), and none of others."""

    B: Float
    least: float

    def of(self, margins: Float) -> Float:
        """Demanded margins of rows that have these margins under ``B``."""
        return np.where(margins >= self.least, self.least, 0.0)


@dataclass(frozen=True, slots=True)
class WorstRows:
    """Rows ``X`` with the smallest margins, at most ``most`` for each pair (class ``t``, ``rival``).

    ``least`` and ``largest`` are over the margins of all rows (``largest`` ignores what is demanded); ``n_near`` counts
    the rows within the frame's tolerance of a boundary or on its wrong side.
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
    block: Block, B: Float, frame: Frame, *, below: float, most: int, demand: Demand | None = None
) -> WorstRows:
    """Rows of one block with the smallest margins, less the demanded ones, among margins under ``below``."""
    block = _with_weight(block)
    X, t = block.X.astype(np.float64, copy=False), block.codes
    margins = _margins(X, t, B, frame)
    is_rival = np.arange(len(B)) != t[:, None]
    near = margins.min(axis=1, initial=np.inf, where=is_rival) <= frame.tolerance
    largest = float(margins.max(initial=-np.inf, where=is_rival))
    if demand is not None:
        margins -= demand.of(_margins(X, t, demand.B, frame))
    n, rival = np.nonzero((margins < below) & is_rival)
    row, margin = np.asarray(block.row)[n], margins[n, rival]
    keep = _smallest(t[n], rival, margin, row, most)
    n, rival, row, margin = n[keep], rival[keep], row[keep], margin[keep]
    least = float(margins.min(initial=np.inf, where=is_rival))
    n_near = len(np.unique(np.asarray(block.row)[near]))  # a row with several labels occurs several times
    return WorstRows(X[n], t[n], rival, row, margin, most, least, largest, n_near)


def _margins(X: Rows, t: Codes, B: Float, frame: Frame) -> Float:
    """a_t - a_j (n, K)."""
    a = frame.activations(X, B)
    return np.asarray(np.take_along_axis(a, t[:, None], axis=1) - a)


def _smallest(t: Codes, rival: Codes, margin: Float, row: Codes, most: int) -> Codes:
    """Positions of the smallest margins of each pair; of rows with equal margins, almost surely copies, one is kept."""
    order = np.lexsort((row, margin, rival, t))
    t, rival, margin = t[order], rival[order], margin[order]
    next_pair = np.append(True, (np.diff(t) != 0) | (np.diff(rival) != 0))[: len(order)]
    fresh = next_pair | np.append(True, np.diff(margin) != 0)[: len(order)]
    pair = np.cumsum(next_pair)[fresh]
    rank = np.arange(len(pair)) - np.searchsorted(pair, pair)
    return np.asarray(order[fresh][rank < most])


def _with_weight(block: Block) -> Block:
    return block if block.weight is None or block.weight.all() else block.take(np.flatnonzero(block.weight > 0))
