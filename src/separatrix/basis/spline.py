# SPDX-License-Identifier: BSD-3-Clause
"""B-splines along each column: piecewise polynomials that join smoothly at the knots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._arguments import check_count, check_option
from separatrix._array import Array, Float, Rows, to_dense
from separatrix.basis.base import AbstractBasis
from separatrix.basis.marks import MARKS
from separatrix.basis.wrapped import transformed
from separatrix.exceptions import DataError
from separatrix.rows import RowMap, Source

__all__ = ["Spline"]

EXTRAPOLATION = ("constant", "linear", "continue", "periodic")


@dataclass(frozen=True)
class BSplines:
    """All B-splines of each column but the last, by a fitted ``sklearn.preprocessing.SplineTransformer``."""

    transformer: Any
    knots: Float

    def evaluate(self, X: Rows) -> Array:
        """Φ (n, M); the transformer would answer zeros for NaN, and an end of the range for infinity."""
        X = to_dense(X)
        Phi = np.asarray(transformed(self.transformer, X, assume_finite=True))
        finite = np.isfinite(X).all(axis=1)
        if not finite.all():
            Phi[~finite] = np.nan
        return Phi

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """``x0_sp_0, x0_sp_1, ...``: the column, and which of its functions."""
        return tuple(self.transformer.get_feature_names_out(np.asarray(columns, dtype=object)))


class Spline(AbstractBasis):
    """A smooth curve along each column: the B-splines B_m(x_d) of ``degree`` over ``n_knots`` knots.

    Σ_m B_m(x_d) = 1 for every column d, which is the model's intercept again, so the last B-spline of each
    column is left out. The constant φ_0 = 1 is the model's ``fit_intercept``. M = D (n_knots + degree - 2),
    and D (n_knots - 2) for periodic splines.

    Parameters
    ----------
    n_knots
        Knots per column, the two ends of its range included; at least 2.
    degree
        Degree of the pieces; 3 joins them with two continuous derivatives.
    knots
        ``"grid"`` (equally far apart) or ``"quantile"`` (with equally many rows between them, from a sample
        of 10 000 rows).
    extrapolation
        Beyond the range seen in training: ``"constant"``, ``"linear"``, ``"continue"`` (the last polynomial)
        or ``"periodic"`` (the range is one period).

    Attributes
    ----------
    knots_ : ndarray (n_knots, D)

    Examples
    --------
    >>> from separatrix.basis import Spline
    >>> Spline(n_knots=3, degree=1).fit_transform([[0.0], [0.25], [1.0]])
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 0. ]])
    """

    def __init__(self, n_knots: int = 5, degree: int = 3, knots: str = "grid", extrapolation: str = "constant") -> None:
        self.n_knots = n_knots
        self.degree = degree
        self.knots = knots
        self.extrapolation = extrapolation

    functions_: BSplines

    @property
    def knots_(self) -> Float:
        """The knots along each column."""
        return self.functions_.knots

    def _functions(self, source: Source) -> RowMap:
        from sklearn.preprocessing import SplineTransformer

        n, degree = self._sizes()
        mark = MARKS[check_option("Spline", "knots", self.knots, MARKS)]
        check_option("Spline", "extrapolation", self.extrapolation, EXTRAPOLATION)
        knots = _distinct(mark(source, n), source.columns)
        splines = SplineTransformer(degree=degree, knots=knots, extrapolation=self.extrapolation, include_bias=False)
        return BSplines(splines.fit(knots), knots)  # with knots given, rows are asked for their width alone

    def _sizes(self) -> tuple[int, int]:
        n = check_count("Spline", "n_knots", self.n_knots, least=2)
        degree = check_count("Spline", "degree", self.degree)
        if self.extrapolation == "periodic" and n <= max(degree, 2):
            raise ValueError(
                f"Spline(n_knots={n}, degree={degree}, extrapolation='periodic'): a period needs more knots "
                f"than the degree, and at least 3. Use n_knots={max(degree, 2) + 1} or more."
            )
        return n, degree


def _distinct(knots: Float, columns: tuple[str, ...]) -> Float:
    """The knots, if they differ along every column."""
    tied = np.flatnonzero((np.diff(knots, axis=0) <= 0).any(axis=0))
    if len(tied):
        raise DataError(
            f"Column {columns[tied[0]]!r} has too few distinct values for {len(knots)} knots at its "
            "quantiles. Use Spline(knots='grid'), or a smaller n_knots."
        )
    return knots
