# SPDX-License-Identifier: BSD-3-Clause
"""Ramps: a basis of piecewise linear curves along some columns; the other columns are unchanged.

    φ_j(x) = (x - ξ_j) / (ξ_j+1 - ξ_j),  clipped to [0, 1]

between knots ξ_0 < ξ_1 < ... of one column. A sum Σ w_j φ_j is any piecewise linear function through those knots,
constant beyond the first and the last, and w_j is its rise from ξ_j to ξ_j+1: a weight that can be interpreted.
Independent Gaussian priors on the w_j make the function a random walk from knot to knot. In a model with standardised
features, all w_j share one scale s per standard deviation of φ_j: w_j ~ N(0, s²/var φ_j). If a fraction q of the rows
lies beyond ξ_j, this variance is about s²/(q (1 - q)), so w_j may be larger near the ends, with few rows on one side.

Interactions are products of such functions of two columns (`RampProducts`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from separatrix._arguments import INTEGERS, check_count, check_numbers, generator
from separatrix._array import Codes, Float, Rows, is_sparse, to_dense
from separatrix.basis import AbstractBasis, survey
from separatrix.exceptions import DataError
from separatrix.rows import RowMap, Source

TIMES = " × "  # between the names of two columns
CURVE_OF = "curve of "  # before the name of a column, in the names of prior scales
KNOT_SAMPLE_ROWS = 20_000  # rows whose quantiles become knots
MIN_DEFAULT_KNOTS, MAX_DEFAULT_KNOTS = 4, 24


def pair_name(a: str, b: str, columns: Collection[str]) -> str:
    """Name of a pair of columns, ``a × b``, which no column has: a name that contains × is quoted.

    >>> from separatrix.table_model.ramps import pair_name
    >>> pair_name("a", "b × c", ("a", "b × c")), pair_name("a", "b", ("a", "b", "a × b"))
    ("a × 'b × c'", "'a' × 'b'")
    """
    name = TIMES.join(repr(each) if TIMES in each else each for each in (a, b))
    return TIMES.join(map(repr, (a, b))) if name in columns else name


def default_n_knots(n_rows: int) -> int:
    """Largest number of knots along a column of N rows: sqrt(N)/3, between 4 and 24."""
    return int(np.clip(np.sqrt(n_rows) / 3, MIN_DEFAULT_KNOTS, MAX_DEFAULT_KNOTS))


@dataclass(frozen=True, eq=False)
class RampProducts:
    """Products of two factors along different columns. A factor is an average of ramps, minus its mean over rows:

        ψ_q(x) = g_l(x) g_r(x),        g_f = 1/|J_f| Σ_j∈J_f φ_j - mean_f

    A single ramp is a factor of a tensor product of two curves. The average of all ramps of a column rises by the same
    amount between any two quantiles, like ranks, so that outliers do not matter. An indicator is a ramp from 0 to 1.

    Ramp j rises from ``low[j]`` to ``high[j]`` along ``column[j]``. Factor f averages the ramps from ``first[f]`` up
    to, but excluding, ``stop[f]``. Product q multiplies the factors ``left[q]`` and ``right[q]``.
    """

    column: Codes
    low: Float
    high: Float
    first: Codes
    stop: Codes
    mean: Float
    left: Codes
    right: Codes

    @property
    def averages(self) -> Float:
        """Weights (J, F) of the ramps in the factors."""
        j = np.arange(len(self.column))[:, None]
        return np.where((self.first <= j) & (j < self.stop), 1.0 / (self.stop - self.first), 0.0)

    @property
    def pairs(self) -> Codes:
        """Positions of the two columns of each product, (Q, 2)."""
        of_factor = self.column[self.first]
        return np.column_stack([of_factor[self.left], of_factor[self.right]])

    def factors(self, X: Rows) -> Float:
        """Values of the factors, (n, F)."""
        ramps = _ramps(X, self.column, self.low, self.high)
        return np.asarray(ramps @ self.averages.astype(ramps.dtype) - self.mean.astype(ramps.dtype))

    def evaluate(self, X: Rows) -> Float:
        """Ψ (n, Q)."""
        G = self.factors(X)
        return np.asarray(G[:, self.left] * G[:, self.right])

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names such as ``age × hours``, or ``age from 30 to 37 × hours from 20 to 40`` for a product of two ramps."""
        texts = _knot_texts(self.column, self.low, self.high)
        factors = []
        for first, stop in zip(self.first, self.stop, strict=True):
            d = int(self.column[first])
            is_whole = (self.column == d).sum() == stop - first
            factors.append(columns[d] if is_whole else f"{columns[d]} from {texts[first][0]} to {texts[first][1]}")
        return tuple(pair_name(factors[a], factors[b], columns) for a, b in zip(self.left, self.right, strict=True))


@dataclass(frozen=True, eq=False)
class RampFunctions:
    """Unchanged columns ``straight``, then J ramps: ramp j rises from ``low[j]`` to ``high[j]`` along ``bent[j]``.

    The ``products`` of two columns come last.
    """

    straight: Codes
    bent: Codes
    low: Float
    high: Float
    products: RampProducts | None = None

    @property
    def knots(self) -> dict[int, Float]:
        """Knots by position of the column."""
        columns = dict.fromkeys(self.bent.tolist())
        return {d: np.append(self.low[self.bent == d], self.high[self.bent == d][-1]) for d in columns}

    @property
    def sources(self) -> Codes:
        """The two columns that each function depends on, (M, 2): twice the same, except for products."""
        alone = np.concatenate([self.straight, self.bent])
        twice = np.column_stack([alone, alone])
        return twice if self.products is None else np.concatenate([twice, self.products.pairs])

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M); sparse if X is."""
        parts = [_ramps(X, self.bent, self.low, self.high)]
        if self.products is not None:
            parts.append(self.products.evaluate(X))
        if is_sparse(X):
            dense = sparse.csr_array(np.concatenate(parts, axis=1))
            return sparse.csr_array(sparse.hstack([X[:, self.straight], dense], format="csr"))
        return np.concatenate([X[:, self.straight], *parts], axis=1)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names such as ``age``, or ``age from 30 to 37`` for a ramp, with the fewest digits that distinguish knots."""
        texts = _knot_texts(self.bent, self.low, self.high)
        ramps = (f"{columns[d]} from {low} to {high}" for d, (low, high) in zip(self.bent, texts, strict=True))
        products = () if self.products is None else self.products.names(columns)
        return (*(columns[d] for d in self.straight), *ramps, *products)


def _ramps(X: Rows, column: Codes, low: Float, high: Float) -> Float:
    """Ramps (n, J) along the given columns."""
    x = to_dense(X[:, column])
    ramps = (x - low.astype(x.dtype)) / (high - low).astype(x.dtype)
    ramps[~np.isfinite(ramps)] = np.nan  # infinite input must not be clipped to 0 or 1
    return np.asarray(np.clip(ramps, 0.0, 1.0, out=ramps))


def _knot_texts(column: Codes, low: Float, high: Float) -> list[tuple[str, str]]:
    """Ends of each ramp as text, with the fewest digits that distinguish the knots of its column."""
    found: list[tuple[str, str]] = []
    for d in dict.fromkeys(column.tolist()):
        knots = np.append(low[column == d], high[column == d][-1])
        is_whole = (knots == np.floor(knots)).all() and np.abs(knots).max() < 1e15
        for form in ["z.0f"] if is_whole else [f".{digits}g" for digits in range(3, 18)]:
            texts = [f"{knot:{form}}" for knot in knots]
            if len(set(texts)) == len(texts):
                break
        found += pairwise(texts)
    return found


class Ramps(AbstractBasis):
    """Piecewise linear functions along some columns, after the other columns, which are unchanged.

    Parameters
    ----------
    columns : sequence of int
        Positions of the columns with ramps. A column with at most two distinct values is not changed.
    n_knots : int, optional
        Largest number of knots along a column; by default sqrt(N)/3 for N rows, between 4 and 24. A column with at most
        this many distinct values has a knot at each value; otherwise the knots are its frequent values and quantiles.
    knots : sequence of sequences of float, optional
        Increasing knots for each of the columns; the fit then uses no rows.
    products : RampProducts, optional
        Products of functions of two columns, which are appended.

    >>> from separatrix.table_model import Ramps
    >>> basis = Ramps([0]).fit([[0.0, 5.0], [1.0, 6.0], [3.0, 5.0]])
    >>> basis.transform([[2.0, 5.0], [9.0, 5.0]])
    array([[5. , 1. , 0.5],
           [5. , 1. , 1. ]])
    >>> basis.get_feature_names_out().tolist()
    ['x1', 'x0 from 0 to 1', 'x0 from 1 to 3']
    """

    functions_: RampFunctions

    def __init__(
        self,
        columns: Sequence[int],
        n_knots: int | None = None,
        knots: Sequence[Sequence[float]] | None = None,
        products: RampProducts | None = None,
    ) -> None:
        self.columns = columns
        self.n_knots = n_knots
        self.knots = knots
        self.products = products

    def frozen(self, products: RampProducts | None = None) -> Ramps:
        """Unfitted basis with the same knots, which a later fit keeps for any rows, and with these or its products."""
        knots, products = self.functions_.knots, products or self.products
        return Ramps(tuple(knots), knots=tuple(tuple(at.tolist()) for at in knots.values()), products=products)

    def _functions(self, source: Source) -> RowMap:
        D, columns = len(source.columns), positions("Ramps", self.columns, len(source.columns))
        if not isinstance(self.knots, list | tuple | None):
            raise ValueError(f"Ramps(knots={self.knots!r}): pass None, or a list of knots for each column.")
        if not isinstance(self.products, RampProducts | None):
            raise ValueError(f"Ramps(products={self.products!r}): products must be None or RampProducts.")
        if self.knots is not None:
            if len(self.knots) != len(columns):
                raise ValueError(
                    f"Ramps has {len(columns)} columns and knots for {len(self.knots)}; pass one list for each."
                )
            pairs = zip(columns, self.knots, strict=True)
            knots = {d: check_numbers("Ramps", "knots", at) for d, at in pairs}
            for d, at in knots.items():
                if at.ndim != 1 or len(at) < 2 or not np.isfinite(at).all() or not (np.diff(at) > 0).all():
                    raise ValueError(f"Ramps: column {d} has the knots {at.tolist()}; pass two or more, increasing.")
        else:
            given = self.n_knots
            found = survey(source, KNOT_SAMPLE_ROWS, generator(None))
            repeats = found.repeats
            n_rows = source.n_rows if source.n_rows > KNOT_SAMPLE_ROWS else int(repeats.sum())
            n = default_n_knots(n_rows) if given is None else check_count("Ramps", "n_knots", given, least=3)
            ends = {d: (found.extent.low[d], found.extent.high[d]) for d in columns}
            knots = {d: np.union1d(ends[d], knots_of(found.sample[:, d], n, repeats)) for d in ends}
            knots = {d: at for d, at in knots.items() if len(at) > 2}
        bent = np.repeat(np.array(list(knots), dtype=np.intp), [len(at) - 1 for at in knots.values()])
        low = np.concatenate([np.empty(0), *(at[:-1] for at in knots.values())])
        high = np.concatenate([np.empty(0), *(at[1:] for at in knots.values())])
        return RampFunctions(np.setdiff1d(np.arange(D), bent), bent, low, high, self.products)


def positions(owner: str, columns: Any, n_columns: int) -> list[int]:
    """Positions of columns as a list; raises unless they are positions of a table with so many columns."""
    if not isinstance(columns, list | tuple | range | np.ndarray) or getattr(columns, "ndim", 1) != 1:
        raise ValueError(f"{owner}(columns={columns!r}): pass a list of positions of columns.")
    for d in columns:
        if not isinstance(d, INTEGERS) or not 0 <= int(d) < n_columns:
            raise DataError(
                f"{owner}(columns=...) names column {d!r}, but there are {n_columns} columns, 0 to {n_columns - 1}."
            )
    return [int(d) for d in columns]


def knots_of(x: Float, n: int, repeats: Float | None = None) -> Float:
    """At most n knots along a column: every value if there are at most n, else frequent values and quantiles.

    Value i occurs ``repeats[i]`` times.
    """
    distinct, code = np.unique(x, return_inverse=True)
    if len(distinct) <= n:
        return distinct
    counts = np.bincount(code, weights=repeats)
    is_frequent = counts * n > counts.sum()  # more rows than the average between two knots
    # Quantiles without interpolation are values of the column, so two knots never differ by rounding only.
    ranks = np.linspace(0, 1, max(n - int(is_frequent.sum()), 2))
    rest, reached = distinct[~is_frequent], np.cumsum(counts[~is_frequent])
    at = np.searchsorted(reached, np.round(ranks * (reached[-1] - 1)), side="right")
    return np.union1d(distinct[is_frequent], rest[np.minimum(at, len(rest) - 1)])
