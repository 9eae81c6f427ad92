# SPDX-License-Identifier: BSD-3-Clause
"""Survey: the range of each column and a random sample of rows, from one pass; centres or knots along each column.

The row numbers of the sample are drawn before the pass, uniformly and without replacement, so the sample does not
depend on how the rows are split into blocks or among workers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._arguments import generator
from separatrix._array import MIN_STD, Codes, Float, Rows, device_aware, to_dense
from separatrix.exceptions import DataError
from separatrix.rows import Block, DeviceRows, Source, Summed
from separatrix.stats import MAX_MAGNITUDE, Extent, extent, require_finite, require_squares

MARKS = ("grid", "quantile")
SURVEY_ROWS = 10_000  # rows sampled for k-means and for quantiles, whose rank is then accurate to about 0.01


@dataclass(frozen=True, slots=True)
class Survey(Summed):
    """Range of each column over rows with a weight, and a sample of rows with their row numbers and weights."""

    extent: Extent
    pieces: tuple[tuple[Codes, Rows, Float], ...] = ()

    @property
    def sample(self) -> Float:
        """The sampled rows (n, D), float64, in the order of the table."""
        rows: Float = np.concatenate([to_dense(rows) for _, rows, _ in self.pieces]).astype(np.float64, copy=False)
        number = np.concatenate([numbers for numbers, _, _ in self.pieces])
        in_order = bool(np.all(number[1:] > number[:-1]))
        return rows if in_order else rows[np.argsort(number)]

    @property
    def repeats(self) -> Float:
        """How often each sampled row counts, (n,): whole weights are repetitions, and others are relative."""
        weight = np.concatenate([weight for _, _, weight in self.pieces])
        weight = weight[np.argsort(np.concatenate([numbers for numbers, _, _ in self.pieces]), kind="stable")]
        return weight if (weight == np.round(weight)).all() else weight / weight.mean()


def survey(source: Source, n_sample: int = 0, rng: np.random.Generator | None = None) -> Survey:
    """Find the range of each column, and draw ``n_sample`` rows uniformly (all rows if there are fewer), in one pass.

    Raises DataError if a value is NaN, infinite, or too large to square.
    """
    if rng is None or n_sample >= source.n_rows:
        wanted = np.arange(min(n_sample, source.n_rows))
    else:
        wanted = np.sort(rng.choice(source.n_rows, n_sample, replace=False, shuffle=False))

    @device_aware
    def of_block(block: Block) -> Survey:
        row = block.row
        if isinstance(row, range):  # avoids an array of all row numbers
            low, high = np.searchsorted(wanted, (row.start, row.stop))
            positions = wanted[low:high] - row.start
        else:
            positions = np.flatnonzero(np.isin(row, wanted))
        sampled = block.take(positions).weighted()
        rows = np.asarray(sampled.X) if isinstance(sampled.X, DeviceRows) else sampled.X
        weight = np.ones(len(sampled)) if sampled.weight is None else np.asarray(sampled.weight, dtype=np.float64)
        piece = (np.asarray(sampled.row), rows, weight)
        return Survey(extent(block.weighted()), (piece,) if len(sampled) else ())

    with np.errstate(over="ignore"):
        found = source.reduce(of_block)
    reach = np.abs([found.extent.low, found.extent.high])
    if not (reach <= MAX_MAGNITUDE).all():
        require_finite(source)
        require_squares(source)
    return found


def marks(kind: str, source: Source, n: int) -> Float:
    """Choose n points along each column, from its smallest to its largest value, in one pass; returns (n, D).

    With ``"grid"`` the points are evenly spaced; with ``"quantile"`` about equally many rows lie between neighbours,
    estimated from a sample. Raises DataError if a column is constant.
    """
    found = survey(source, SURVEY_ROWS if kind == "quantile" else 0, generator(None))
    low, high = found.extent.low, found.extent.high
    constant = np.flatnonzero(high - low <= MIN_STD)
    if len(constant):
        d = constant[0]
        raise DataError(
            f"Column {source.columns[d]!r} is constant ({low[d]:g} in every row; n_samples = {source.n_rows}), so "
            "centres or knots cannot be spread over its range. Drop the column."
        )
    if kind == "grid":
        return np.linspace(low, high, n)
    quantiles = np.quantile(found.sample, np.linspace(0, 1, n), axis=0)
    quantiles[0], quantiles[-1] = low, high
    return np.asarray(quantiles)
