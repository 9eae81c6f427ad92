# SPDX-License-Identifier: BSD-3-Clause
"""Ramps: curves along some columns, the others left as they are.

    φ_j(x) = (x - ξ_j) / (ξ_j+1 - ξ_j),  held between 0 and 1

between knots ξ_0 < ξ_1 < ... of one column. A sum Σ w_j φ_j is any broken line through those knots, level beyond the
ends, and w_j is how much it rises from ξ_j to ξ_j+1: a weight that can be read. Independent Gaussians on the w_j make
it a walk from knot to knot with random steps. Inside of a model with standardised columns the steps have one scale s
per standard deviation of φ_j: w_j ~ N(0, s²/var φ_j). With a share q of the rows beyond ξ_j, that is about
s²/(q (1 - q)): steps near the ends, where few rows are on one side, may be larger than those in the middle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from separatrix._arguments import check_count, generator
from separatrix._array import Array, Codes, Float, Rows, is_sparse, to_dense
from separatrix.basis import AbstractBasis, Survey, survey
from separatrix.exceptions import DataError
from separatrix.rows import RowMap, Source

__all__ = ["RampFunctions", "Ramps", "marks"]

SAMPLE = 20_000  # rows whose quantiles stand for those of all
FEWEST, MOST = 4, 24  # knots along a column that the number of rows may call for
STRAIGHT = 2  # distinct values, through which a line goes anyway


@dataclass(frozen=True, eq=False)
class RampFunctions:
    """Columns ``straight`` as they are; then a ramp for each of ``bent`` (J,), from ``low`` to ``high`` (J,)."""

    straight: Codes
    bent: Codes
    low: Float
    high: Float

    @classmethod
    def through(cls, knots: Mapping[int, Float], n_columns: int) -> RampFunctions:
        """Ramps between the knots of some columns, out of so many."""
        bent = np.repeat(np.array(list(knots), dtype=np.intp), [len(at) - 1 for at in knots.values()])
        low, high = (np.concatenate([np.empty(0), *(at[part] for at in knots.values())]) for part in _ENDS)
        return cls(np.setdiff1d(np.arange(n_columns), bent), bent, low, high)

    @property
    def knots(self) -> dict[int, Float]:
        """By column."""
        return {int(d): np.append(self.low[self.bent == d], self.high[self.bent == d][-1]) for d in _once(self.bent)}

    @property
    def sources(self) -> Codes:
        """The column that each function is one of, (M,)."""
        return np.concatenate([self.straight, self.bent])

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M); sparse where X is."""
        if is_sparse(X):
            ramps = sparse.csr_array(self._ramps(to_dense(X[:, self.bent])))
            return sparse.csr_array(sparse.hstack([X[:, self.straight], ramps], format="csr"))
        return np.concatenate([X[:, self.straight], self._ramps(X[:, self.bent])], axis=1)

    def _ramps(self, x: Array) -> Array:
        """In place; what is not finite must not end up at one of the ends."""
        ramps = (x - self.low.astype(x.dtype)) / (self.high - self.low).astype(x.dtype)
        finite = np.isfinite(ramps).all()
        wrong = None if finite else ~np.isfinite(ramps)
        np.clip(ramps, 0.0, 1.0, out=ramps)
        if wrong is not None:
            ramps[wrong] = np.nan
        return np.asarray(ramps)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """``age``, and ``age from 30 to 37`` for a ramp."""
        text = {d: _texts(np.union1d(self.low[self.bent == d], self.high[self.bent == d])) for d in set(self.bent)}
        ramps = [
            f"{columns[d]} from {text[d][low]} to {text[d][high]}"
            for d, low, high in zip(self.bent, self.low, self.high, strict=True)
        ]
        return (*(columns[d] for d in self.straight), *ramps)


class Ramps(AbstractBasis):
    """Broken lines along some columns; the others as they are, before them.

    Parameters
    ----------
    columns : sequence of int
        Positions of the columns to bend. One of two values or fewer stays as it is.
    n_knots : int, optional
        The most knots along a column; by default a third of the root of the number of rows, from 4 to 24. They are at
        its values where those are few, and else at those that many rows share and at quantiles of the others.
    knots : sequence of sequences of float, optional
        The knots of each of the columns, rising; nothing is then looked up in the rows.

    Attributes
    ----------
    functions_ : the fitted functions: ``straight``, ``bent``, ``low``, ``high``, ``sources``

    Examples
    --------
    >>> from separatrix.tables import Ramps
    >>> basis = Ramps([0]).fit([[0.0, 5.0], [1.0, 6.0], [3.0, 5.0]])
    >>> basis.transform([[2.0, 5.0], [9.0, 5.0]])
    array([[5. , 1. , 0.5],
           [5. , 1. , 1. ]])
    >>> basis.get_feature_names_out().tolist()
    ['x1', 'x0 from 0 to 1', 'x0 from 1 to 3']
    """

    functions_: RampFunctions

    def __init__(
        self, columns: Sequence[int], n_knots: int | None = None, knots: Sequence[Sequence[float]] | None = None
    ) -> None:
        self.columns = columns
        self.n_knots = n_knots
        self.knots = knots

    def frozen(self) -> Ramps:
        """The same functions for whatever rows: a basis, not yet fitted, that no pass is needed to fit."""
        knots = self.functions_.knots
        return Ramps(tuple(knots), knots=tuple(tuple(at.tolist()) for at in knots.values()))

    def _functions(self, source: Source) -> RowMap:
        D = len(source.columns)
        wrong = [d for d in self.columns if not 0 <= d < D]
        if wrong:
            raise DataError(f"Ramps(columns=...) names column {wrong[0]}, but there are {D}, from 0 to {D - 1}.")
        if self.knots is not None:
            return RampFunctions.through(self._given_knots(self.knots), D)
        n = self._most_knots(source.n_rows)
        found = survey(source, SAMPLE, generator(None))
        knots = {int(d): _knots(found, int(d), n) for d in self.columns}
        return RampFunctions.through({d: at for d, at in knots.items() if len(at) > STRAIGHT}, D)

    def _given_knots(self, knots: Sequence[Sequence[float]]) -> dict[int, Float]:
        if len(knots) != len(self.columns):
            raise ValueError(f"Ramps has {len(self.columns)} columns and knots for {len(knots)}; give as many.")
        found = {int(d): np.asarray(at, dtype=np.float64) for d, at in zip(self.columns, knots, strict=True)}
        for d, at in found.items():
            if at.ndim != 1 or len(at) < 2 or not np.isfinite(at).all() or not (np.diff(at) > 0).all():
                raise ValueError(f"Ramps(knots=...): those of column {d} are {at.tolist()}; give two or more, rising.")
        return found

    def _most_knots(self, n_rows: int) -> int:
        if self.n_knots is None:
            return int(np.clip(np.sqrt(n_rows) / 3, FEWEST, MOST))
        return check_count("Ramps", "n_knots", self.n_knots, least=3)


_ENDS = (slice(None, -1), slice(1, None))


def _once(codes: Codes) -> list[int]:
    """Each once, in the order in which they come."""
    return list(dict.fromkeys(codes.tolist()))


def _knots(found: Survey, d: int, n: int) -> Float:
    """The marks of a sample, and the ends of the whole."""
    reach = [found.extent.low[d], found.extent.high[d]]
    return np.union1d(reach, marks(found.sample[:, d], n))


def marks(x: Float, n: int) -> Float:
    """At most n places along a column: every value where they are few, else the frequent ones and quantiles.

    >>> marks(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 5.0, 9.0]), 3)
    array([0., 1., 9.])
    """
    distinct, counts = np.unique(x, return_counts=True)
    if len(distinct) <= n:
        return distinct
    shared = distinct[counts * n > len(x)]  # more rows than there would be between two quantiles
    rest = x[~np.isin(x, shared)]
    # Without interpolation, a mark is a value that rows have, and ties cannot make two that differ by rounding.
    ranks = np.linspace(0, 1, max(n - len(shared), 2))
    return np.union1d(shared, np.quantile(rest, ranks, method="nearest"))


def _texts(knots: Float) -> dict[float, str]:
    """Whole numbers as they are; others as short as they can be told apart."""
    if (knots == np.floor(knots)).all() and np.abs(knots).max() < 1e15:
        return {float(knot): str(int(knot)) for knot in knots}
    for digits in range(3, 18):
        texts = {float(knot): f"{knot:.{digits}g}" for knot in knots}
        if len(set(texts.values())) == len(knots):
            break
    return texts
