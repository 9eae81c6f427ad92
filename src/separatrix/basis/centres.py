# SPDX-License-Identifier: BSD-3-Clause
"""Where the centres c_m of radial functions go, and a width that suits them. One pass each.

Widths, where the user gives none: between the centres of a grid, their largest spacing; otherwise the
median distance between two rows, over √2, so that a typical pair of rows has φ = 1/e.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import threadpoolctl

from separatrix._arguments import generator
from separatrix._array import Float
from separatrix.basis.marks import even_marks
from separatrix.basis.survey import survey
from separatrix.exceptions import DataError
from separatrix.rows import Source

__all__ = ["PLACEMENTS", "Centres", "given", "grid", "median_width"]

PER_COLUMN = 5  # centres along each column of a grid
CENTRES = 100  # centres drawn from the rows
SAMPLE = 10_000  # rows that k-means sees
PAIRS = 1_000  # rows whose distances set the width
MOST_ROWS = 20_000  # rows that may all be centres
MOST_CENTRES = 100_000


@dataclass(frozen=True, slots=True)
class Centres:
    """Centres (M, D) with what tells their width: the spacing of a grid, or else a sample of rows."""

    points: Float
    spacing: float | None = None
    sample: Float | None = None

    @property
    def width(self) -> float:
        """The width that suits them, found only when asked for."""
        if self.spacing is not None:
            return self.spacing
        assert self.sample is not None, "centres come with a spacing or a sample"
        return median_width(self.sample)


def grid(source: Source, n: int | None, rng: np.random.Generator) -> Centres:
    """n points along each column, from its smallest to its largest value: n^D in all."""
    n, D = n or PER_COLUMN, len(source.columns)
    if n**D > MOST_CENTRES:
        raise DataError(
            f"A grid of {n} centres along each of D = {D} columns has {n}^{D} points; the most is "
            f"{MOST_CENTRES}. Use a smaller n_centres, fewer columns, or RBF(centres='kmeans')."
        )
    marks = even_marks(source, max(n, 2))
    axes = marks if n > 1 else marks.mean(axis=0, keepdims=True)
    digit = np.arange(n**D)[:, None] // n ** np.arange(D)[::-1] % n  # the m-th point in base n
    spacing = (marks[-1] - marks[0]) / max(n - 1, 1)
    return Centres(axes[digit, np.arange(D)], spacing=float(spacing.max()))


def every_row(source: Source, n: int | None, rng: np.random.Generator) -> Centres:
    """All training rows."""
    if n is not None:
        raise ValueError(
            f"RBF(centres='data', n_centres={n}): 'data' makes every row a centre. "
            "Leave n_centres out, or choose centres='random' or 'kmeans'."
        )
    if source.n_rows > MOST_ROWS:
        raise DataError(
            f"RBF(centres='data') would make each of {source.n_rows} rows a centre; the most is {MOST_ROWS}. "
            "Choose centres='random' or 'kmeans' with n_centres."
        )
    rows = survey(source, source.n_rows).sample
    return Centres(rows, sample=rows)


def random_rows(source: Source, n: int | None, rng: np.random.Generator) -> Centres:
    """n rows, drawn uniformly without replacement."""
    n = _at_most_rows(n, source.n_rows)
    rows = survey(source, max(n, PAIRS), rng).sample
    chosen = rng.choice(len(rows), n, replace=False, shuffle=False)
    return Centres(rows[np.sort(chosen)], sample=rows)


def kmeans(source: Source, n: int | None, rng: np.random.Generator) -> Centres:
    """The n means of scikit-learn's ``KMeans`` on a uniform sample of rows."""
    from sklearn.cluster import KMeans

    k = _at_most_rows(n, source.n_rows)
    rows = survey(source, max(SAMPLE, k), rng).sample
    distinct = len(np.unique(rows, axis=0))
    if n is not None and distinct < n:
        raise DataError(
            f"RBF(centres='kmeans', n_centres={n}): only {distinct} of {len(rows)} rows are distinct. "
            f"Ask for at most {distinct} centres."
        )
    model = KMeans(min(k, distinct), n_init=1, random_state=int(rng.integers(2**31)))
    with threadpoolctl.threadpool_limits(1, user_api="openmp"):  # its sums depend on the number of threads
        model.fit(rows)
    return Centres(model.cluster_centers_, sample=rows)


PLACEMENTS = {"data": every_row, "grid": grid, "kmeans": kmeans, "random": random_rows}


def given(source: Source, centres: Any, rng: np.random.Generator) -> Centres:
    """The user's own centres, one per row."""
    points, D = np.asarray(centres, dtype=np.float64), len(source.columns)
    if points.ndim != 2 or len(points) == 0 or points.shape[1] != D:
        raise ValueError(
            f"RBF(centres=array of shape {points.shape}): the table has {D} columns, so centres must have "
            f"shape (n_centres, {D}), one centre per row."
        )
    if not np.isfinite(points).all():
        bad = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise ValueError(f"RBF(centres=array): centre {bad} is {points[bad]}; centres must be finite.")
    return Centres(points, sample=survey(source, PAIRS, rng).sample)


def median_width(rows: Float) -> float:
    """The median distance between two rows that differ, over √2; 1 where all rows are equal."""
    from scipy.spatial.distance import pdist

    if len(rows) > PAIRS:
        rows = rows[generator(None).choice(len(rows), PAIRS, replace=False, shuffle=False)]
    distance = pdist(rows)  # of differences, so an offset common to all rows costs no digits
    distance = distance[distance > 0]
    return float(np.median(distance) / np.sqrt(2)) if len(distance) else 1.0


def _at_most_rows(n: int | None, n_rows: int) -> int:
    if n is None:
        return min(CENTRES, n_rows)
    if n > n_rows:
        raise DataError(f"RBF(n_centres={n}): the table has n_samples = {n_rows}. Ask for at most that many centres.")
    return n
