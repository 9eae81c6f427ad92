# SPDX-License-Identifier: BSD-3-Clause
"""Survey: what one pass tells a basis about the rows. Their extent, and some of the rows themselves.

The rows wanted are drawn by number before the pass, uniformly and without replacement, so the sample does
not depend on how the rows are blocked, and two workers need not agree on anything but the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from separatrix._array import Codes, Float, Rows, is_sparse, to_dense
from separatrix.exceptions import DataError
from separatrix.rows import Block, Source
from separatrix.stats import Extent, extent, require_finite

__all__ = ["Excerpt", "Survey", "require_varying", "survey", "whole"]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some rows of a source, with the number of each. A monoid under union."""

    pieces: tuple[tuple[Codes, Rows], ...] = ()

    def __add__(self, other: Excerpt) -> Excerpt:
        """The rows of both."""
        return Excerpt(self.pieces + other.pieces)

    def stack(self) -> Rows:
        """All rows in the order of their numbers; sparse where every piece is."""
        if len(self.pieces) == 1:
            return self.pieces[0][1]
        number = np.concatenate([numbers for numbers, _ in self.pieces])
        rows = _stack([rows for _, rows in self.pieces])
        in_order = bool(np.all(number[1:] > number[:-1]))
        return rows if in_order else rows[np.argsort(number)]


def _stack(parts: list[Rows]) -> Rows:
    if all(map(is_sparse, parts)):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate([to_dense(part) for part in parts])


@dataclass(frozen=True, slots=True)
class Survey:
    """The extent of all rows, and a sample of them (n, D)."""

    extent: Extent
    excerpt: Excerpt

    def __add__(self, other: Survey) -> Survey:
        """The survey of both sets of rows together."""
        return Survey(self.extent + other.extent, self.excerpt + other.excerpt)

    @property
    def sample(self) -> Float:
        """The rows drawn, float64, in the order of the table."""
        return np.asarray(to_dense(self.excerpt.stack()), dtype=np.float64)


def survey(source: Source, n_sample: int = 0, rng: np.random.Generator | None = None) -> Survey:
    """One pass: the extent, and ``n_sample`` rows drawn uniformly (all, if there are no more than that).

    Raises
    ------
    DataError
        Where a value is NaN or infinite; the message names the columns.
    """
    if rng is None or n_sample >= source.n_rows:
        wanted = np.arange(min(n_sample, source.n_rows))
    else:
        wanted = np.sort(rng.choice(source.n_rows, n_sample, replace=False, shuffle=False))
    found = source.reduce(partial(_survey_block, wanted=wanted))
    if not np.isfinite([found.extent.low, found.extent.high]).all():
        require_finite(source)
    return found


def require_varying(found: Extent, source: Source) -> None:
    """Raise, naming the column, where centres or knots spread over its range would coincide."""
    constant = np.flatnonzero(found.low == found.high)
    if len(constant):
        d = constant[0]
        raise DataError(
            f"Column {source.columns[d]!r} is constant ({found.low[d]:g} in every row; "
            f"n_samples = {source.n_rows}), so nothing can be spread over its range. Drop the column."
        )


def whole(source: Source) -> Rows:
    """Every row as one array, sparse where the rows are: for a table that is wanted whole."""
    return source.map(lambda X: X)


def _survey_block(block: Block, wanted: Codes) -> Survey:
    here = _positions(block.row, wanted)
    return Survey(extent(block), Excerpt(((_numbers(block.row)[here], block.X[here]),) if len(here) else ()))


def _positions(row: Codes | range, wanted: Codes) -> Codes:
    """Where in a block the wanted rows are; a span is looked up without writing out its numbers."""
    if isinstance(row, range):
        low, high = np.searchsorted(wanted, (row.start, row.stop))
        return wanted[low:high] - row.start
    return np.flatnonzero(np.isin(row, wanted))


def _numbers(row: Codes | range) -> Codes:
    return np.arange(row.start, row.stop) if isinstance(row, range) else row
