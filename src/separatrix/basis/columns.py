# SPDX-License-Identifier: BSD-3-Clause
"""Functions of one column each, centred at points along the column.

The functions of `Sigmoid` are logistic steps φ_m(x) = σ((x_d - c_m) / s_d), PRML (3.5), (3.6). Those of `Spline` are
B-splines: piecewise polynomials that join smoothly at the knots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from separatrix._arguments import check_count, check_option, check_positive
from separatrix._array import Array, Codes, Float, Rows, to_dense
from separatrix.basis.base import MAX_FUNCTIONS, AbstractBasis, transformed
from separatrix.basis.survey import MARKS, marks
from separatrix.exceptions import DataError
from separatrix.rows import DeviceRows, RowMap, Source

MAX_DEGREE = 100  # of splines: the time of one value grows with the square of the degree
EXTRAPOLATION = ("constant", "linear", "continue", "periodic")


@dataclass(frozen=True)
class Sigmoids:
    """Function m depends on column ``column[m]``, is 1/2 at ``centre[m]`` and has scale ``width[m]``."""

    column: Codes
    centre: Float
    width: Float
    is_device_aware: ClassVar[bool] = True

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M)."""
        if isinstance(X, DeviceRows):
            return X.mapped(sigmoids, self.column, self.centre, self.width)
        X = to_dense(X)
        X = X + (X - X)  # infinity becomes NaN; σ would return 0 or 1 and hide it
        A = X[:, self.column]
        np.subtract(A, self.centre, out=A)  # computed in float64, then rounded if X is float32
        A /= self.width.astype(X.dtype, copy=False)
        return np.asarray(expit(A, out=A))

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names ``x0_sigmoid0``, ``x0_sigmoid1``, ..., with the column and the number of the function."""
        first = np.searchsorted(self.column, self.column)
        return tuple(f"{columns[d]}_sigmoid{m - first[m]}" for m, d in enumerate(self.column))


def sigmoids(X: Any, column: Any, centre: Any, width: Any) -> Any:
    """`Sigmoids` of a tensor."""
    X = X + (X - X)  # infinity becomes NaN
    return ((X[:, column] - centre).to(X.dtype) / width.to(X.dtype)).sigmoid_()


class Sigmoid(AbstractBasis):
    """Smooth steps along each column: φ_m(x) = σ((x_d - c_m) / s_d), with σ(a) = 1 / (1 + exp(-a)).

    Each step separates low from high values of one column. A sum of steps can approximate any smooth function of that
    column. The constant φ_0 = 1 is the model's ``fit_intercept``.

    Parameters
    ----------
    centres : str
        Centres of the steps: ``"grid"`` (evenly spaced in the range of the column) or ``"quantile"`` (with equally
        many rows between them, from a sample of 10 000 rows).
    n_centres : int
        Number of steps per column; with ``"quantile"``, a column of few distinct values gets fewer.
    width : float, optional
        Width s_d of every column. None: the grid spacing, (max - min) / (n_centres + 1).

    Attributes
    ----------
    centres_ : list of D ndarrays
        Centres of the steps of each column.

    Examples
    --------
    >>> from separatrix.basis import Sigmoid
    >>> Sigmoid(n_centres=1).fit_transform([[-2.0], [0.0], [2.0]]).round(4).ravel().tolist()
    [0.2689, 0.5, 0.7311]
    """

    def __init__(self, centres: str = "grid", n_centres: int = 5, width: float | None = None) -> None:
        self.centres = centres
        self.n_centres = n_centres
        self.width = width

    functions_: Sigmoids

    @property
    def centres_(self) -> list[Float]:
        """Centres of each column."""
        return [self.functions_.centre[self.functions_.column == d] for d in range(self.n_features_in_)]

    def _functions(self, source: Source) -> RowMap:
        n = check_count("Sigmoid", "n_centres", self.n_centres, most=MAX_FUNCTIONS)
        kind = check_option("Sigmoid", "centres", self.centres, MARKS)
        width = None if self.width is None else check_positive("Sigmoid", "width", self.width)
        ends = marks(kind, source, n + 2)  # no step is centred at the ends of the range
        centres = [np.unique(along) for along in ends[1:-1].T]
        column = np.repeat(np.arange(len(centres)), [len(c) for c in centres])
        spacing = (ends[-1] - ends[0]) / (n + 1)
        return Sigmoids(
            column, np.concatenate(centres), spacing[column] if width is None else np.full(len(column), width)
        )


@dataclass(frozen=True)
class BSplines:
    """The B-splines of each column without the last, from a fitted ``sklearn.preprocessing.SplineTransformer``."""

    transformer: Any
    knots: Float

    def evaluate(self, X: Rows) -> Array:
        """Φ (n, M). Rows with NaN or infinity give NaN, which the transformer alone would hide."""
        X = to_dense(X)
        Phi = np.asarray(transformed(self.transformer, X, assume_finite=True))
        finite = np.isfinite(X).all(axis=1)
        if not finite.all():
            Phi[~finite] = np.nan
        return Phi

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names ``x0_sp_0``, ``x0_sp_1``, ..., with the column and the number of the function."""
        return tuple(self.transformer.get_feature_names_out(np.asarray(columns, dtype=object)))


class Spline(AbstractBasis):
    """A smooth curve along each column: the B-splines B_m(x_d) of ``degree`` over ``n_knots`` knots.

    All B-splines of a column sum to 1, Σ_m B_m(x_d) = 1, which would duplicate the model's intercept. The last B-spline
    of each column is therefore left out. The constant φ_0 = 1 is the model's ``fit_intercept``. There are
    M = D (n_knots + degree - 2) functions, or D (n_knots - 2) for periodic splines.

    Parameters
    ----------
    n_knots : int
        Number of knots per column, including the two ends of its range; at least 2.
    degree : int
        Degree of the polynomials; with degree 3, the first two derivatives are continuous.
    knots : str
        ``"grid"`` (evenly spaced) or ``"quantile"`` (with equally many rows between them, from a sample
        of 10 000 rows).
    extrapolation : str
        Continuation outside the range of the training rows: ``"constant"``, ``"linear"``, ``"continue"`` (the last
        polynomial) or ``"periodic"`` (the range is one period).

    Attributes
    ----------
    knots_ : ndarray (n_knots, D)
        The knots of each column.

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
        """Knots of each column, (n_knots, D)."""
        return self.functions_.knots

    def _functions(self, source: Source) -> RowMap:
        from sklearn.preprocessing import SplineTransformer

        n = check_count("Spline", "n_knots", self.n_knots, least=2, most=MAX_FUNCTIONS)
        degree = check_count("Spline", "degree", self.degree, most=MAX_DEGREE)
        kind = check_option("Spline", "knots", self.knots, MARKS)
        check_option("Spline", "extrapolation", self.extrapolation, EXTRAPOLATION)
        if self.extrapolation == "periodic" and n <= max(degree, 2):
            raise ValueError(
                f"Spline(n_knots={n}, degree={degree}, extrapolation='periodic'): a period needs more knots "
                f"than the degree, and at least 3. Use n_knots={max(degree, 2) + 1} or more."
            )
        knots = marks(kind, source, n)
        tied = np.flatnonzero((np.diff(knots, axis=0) <= 0).any(axis=0))
        if len(tied):
            raise DataError(
                f"Column {source.columns[tied[0]]!r} has too few distinct values for {n} knots at its quantiles. Use "
                "Spline(knots='grid'), or a smaller n_knots."
            )
        splines = SplineTransformer(degree=degree, knots=knots, extrapolation=self.extrapolation, include_bias=False)
        return BSplines(splines.fit(knots), knots)  # because knots are given, fit only uses the number of columns
