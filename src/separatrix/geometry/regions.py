# SPDX-License-Identifier: BSD-3-Clause
"""Decision regions. Those of a linear machine are convex, hence singly connected.                 PRML §4.1.2

R_k = {x: a_k(x) >= a_j(x) for all j} is the intersection of K - 1 half-spaces

    (w_j - w_k)'x  <=  w_k0 - w_j0,     j ≠ k                                                    (4.10)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_number
from separatrix._array import Array, Codes, Float, Rows
from separatrix.exceptions import DataError
from separatrix.geometry.linear_model import linear_functions
from separatrix.rows import Source, as_source, as_table
from separatrix.stats import extent, require_finite

__all__ = ["Grid", "GridValues", "LinearRegions", "grid_predictions", "grid_values"]

LP_TOLERANCE = 1e-10  # the finest that HiGHS accepts
NARROWEST = 1e-9  # a region narrower than this share of its surroundings is none
NEARLY_PARALLEL = 1e-6  # planes whose normals differ by less meet too far away to matter
FARTHEST = 1e6  # as far as a region is looked for where no box is given, in units of the distances between planes


@dataclass(frozen=True, eq=False)
class LinearRegions:
    """The K regions of a_k(x) = w_k'x + w_k0, largest wins.

    Parameters
    ----------
    coef : array-like of shape (K, D)
        W.
    intercept : array-like of shape (K,)
        w0.

    Examples
    --------
    >>> from separatrix.geometry import LinearRegions
    >>> regions = LinearRegions([[1.0], [0.0], [-1.0]], [-1.0, 0.0, -1.0])
    >>> regions.contains(1, [[0.0], [0.9], [1.1]]).tolist()
    [True, True, False]
    >>> regions.is_empty(1), regions.is_empty(1, within=[[2.0], [5.0]])
    (False, True)
    """

    coef: Float
    intercept: Float

    def __post_init__(self) -> None:
        W, w0 = np.array(self.coef, dtype=np.float64), np.array(self.intercept, dtype=np.float64)
        if W.ndim != 2 or len(W) < 2 or w0.shape != (len(W),):
            raise ValueError(
                f"LinearRegions: coef of shape {W.shape} and intercept of shape {w0.shape}; "
                "they must be (K, D) and (K,), one row for each of K >= 2 classes."
            )
        if not (np.isfinite(W).all() and np.isfinite(w0).all()):
            raise ValueError("LinearRegions: coef and intercept must be finite.")
        for name, value in (("coef", W), ("intercept", w0)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, model: Any) -> LinearRegions:
        """The regions of a fitted linear model; two classes are a machine with a_0 = 0."""
        W, w0 = linear_functions(model)
        if len(W) == 1:
            W, w0 = np.vstack([np.zeros_like(W), W]), np.append(0.0, w0)
        return cls(W, w0)

    def __eq__(self, other: object) -> bool:
        """Whether all coefficients are the same numbers."""
        if not isinstance(other, LinearRegions):
            return NotImplemented
        return np.array_equal(self.coef, other.coef) and np.array_equal(self.intercept, other.intercept)

    def __hash__(self) -> int:
        return hash((*self.coef.ravel().tolist(), *self.intercept.tolist()))

    def half_spaces(self, k: int) -> tuple[Float, Float]:
        """A (K-1, D) and b (K-1,) with R_k = {x: A x <= b}."""
        others = self._others(k)
        return self.coef[others] - self.coef[k], self.intercept[k] - self.intercept[others]

    def contains(self, k: int, X: Any) -> Array:
        """Whether each row lies in R_k, its walls included."""
        self._others(k)
        return self._open(X).map(lambda rows: (a := self._activations(rows)).max(axis=1) == a[:, k])

    def of_rows(self, X: Any) -> Codes:
        """The region of each row; on a wall, the one of the lower class."""
        return self._open(X).map(lambda rows: self._activations(rows).argmax(axis=1))

    def interior_point(self, k: int, *, within: Any = None) -> Float | None:
        """A point of R_k away from its boundary, or None if R_k has no interior.

        A linear program, max r subject to A x + r |A_j| <= b, in coordinates that the columns' units and origin do not
        change: those of the box that the rows of ``within`` span, where x has to be, or else those of the planes.
        A region that the rounding of the coefficients could make or break counts as none.
        """
        others = self._others(k)
        planes = _Planes(
            *self.half_spaces(k),
            np.abs(self.coef[others]) + np.abs(self.coef[k]),
            np.abs(self.intercept[others]) + np.abs(self.intercept[k]),
        )
        parallel = ~planes.A.any(axis=1)
        if (planes.b[parallel] < 0).any():  # another class is ahead by the same amount everywhere
            return None
        planes = _Planes(*(part[~parallel] for part in planes))
        box = _box_of_planes(planes) if within is None else _box_of_rows(self._open(within))
        return _deepest(planes, box)

    def is_empty(self, k: int, *, within: Any = None) -> bool:
        """Whether class k is predicted nowhere, or nowhere in the box that the rows of ``within`` span.

        So it happens to a class that others mask.
        """
        return self.interior_point(k, within=within) is None

    def _activations(self, rows: Rows) -> Float:
        return np.asarray(rows @ self.coef.T + self.intercept)

    def _others(self, k: int) -> Codes:
        if check_count("LinearRegions", "k", k, least=0) >= len(self.coef):
            raise ValueError(f"LinearRegions: there is no class {k}, only 0 to {len(self.coef) - 1}.")
        return np.flatnonzero(np.arange(len(self.coef)) != k)

    def _open(self, X: Any) -> Source:
        source = as_source(X)
        if len(source.columns) != self.coef.shape[1]:
            raise DataError(f"X has {len(source.columns)} columns, but the regions have {self.coef.shape[1]}.")
        require_finite(source)
        return source


class _Planes(NamedTuple):
    """A x = b. Both are differences, of numbers as large as ``A_size`` and ``b_size``."""

    A: Float
    b: Float
    A_size: Float
    b_size: Float

    def rounding(self, x: Float) -> Float:
        """What rounding may have done to b - A x."""
        return np.asarray(4 * np.finfo(np.float64).eps * (self.b_size + self.A_size @ np.abs(x)))


class _Box(NamedTuple):
    """Points centre + scale u, |u_d| <= reach."""

    centre: Float
    scale: Float
    reach: float


def _box_of_rows(source: Source) -> _Box:
    """The box that rows span. A column that holds one value is given the width 1."""
    with np.errstate(over="ignore"):  # in the radius, which is not used
        reach = source.reduce(extent)
    half = reach.high / 2 - reach.low / 2
    return _Box(reach.low + half, np.where(half > 0, half, 0.5), 1.0)


def _box_of_planes(planes: _Planes) -> _Box:
    """About the point that is nearest to all planes; the unit is the distance of the farthest one from there.

    Columns are first measured so that the largest of their weights is 1: then their units do not matter.
    """
    A, D = planes.A, planes.A.shape[1]
    if not len(A):
        return _Box(np.zeros(D), np.ones(D), 1.0)
    units = 1 / np.where(A.any(axis=0), np.abs(A).max(axis=0), 1.0)
    length = np.linalg.norm(A * units, axis=1)
    centre = units * np.linalg.lstsq(A * units / length[:, None], planes.b / length, rcond=NEARLY_PARALLEL)[0]
    distance = np.maximum(np.abs(planes.b - A @ centre), planes.rounding(centre)) / length
    return _Box(centre, units * (distance.max() or 1.0), FARTHEST)


def _deepest(planes: _Planes, box: _Box) -> Float | None:
    """The u in the box that is farthest from all planes, but no more than 1; None if it is not even NARROWEST."""
    from scipy.optimize import linprog

    A, D = planes.A * box.scale, len(box.centre)
    length = np.linalg.norm(A, axis=1)
    room = planes.b - planes.A @ box.centre - planes.rounding(box.centre)
    answer = linprog(
        np.append(np.zeros(D), -1.0),
        A_ub=np.column_stack([A / length[:, None], np.ones(len(A))]),
        b_ub=room / length,
        bounds=[(-box.reach, box.reach)] * D + [(None, 1.0)],
        method="highs",
        options={"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE},
    )
    if answer.status != 0:
        raise ArithmeticError(f"HiGHS did not solve a linear program of shape {A.shape}: {answer.message}")
    return np.asarray(box.centre + box.scale * answer.x[:D]) if answer.x[-1] > NARROWEST else None


@dataclass(frozen=True, eq=False)
class Grid:
    """Coordinates x (n,), y (n,) and the predicted class code of each point, codes (n, n), rows along y.

    Codes are positions in ``classes_``; K is for everything else, such as a reject label.
    """

    x: Float
    y: Float
    codes: Codes


def grid_predictions(model: Any, X: Any, *, resolution: int = 200, margin: float = 0.08) -> Grid:
    """What a classifier of two columns predicts on a regular grid around the rows of X.

    Parameters
    ----------
    model : classifier
        Fitted on two columns; any classifier, linear or not.
    X : table of shape (N, 2)
        Rows that the grid must hold.
    resolution : int, default 200
        Points along each axis.
    margin : float, default 0.08
        Room on each side, as a share of the range of the column.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [3.0, 3.0]], ["a", "a", "b", "b"]
    >>> grid = sx.geometry.grid_predictions(sx.LeastSquaresClassifier().fit(X, y), X, resolution=3, margin=0)
    >>> grid.x.tolist(), grid.codes.tolist()
    ([0.0, 1.5, 3.0], [[0, 1, 1], [0, 0, 1], [0, 0, 1]])
    """
    at = grid_values(model.predict, X, resolution=resolution, margin=margin)
    return Grid(at.x, at.y, codes_of(at.values.ravel(), model.classes_).reshape(at.values.shape))


class GridValues(NamedTuple):
    """Coordinates x (n,), y (n,), and a function of each point, values (n, n) or (n, n, ...), rows along y."""

    x: Float
    y: Float
    values: Array


def grid_values(function: Callable[[Any], Array], X: Any, *, resolution: int = 200, margin: float = 0.08) -> GridValues:
    """A function of rows of two columns, such as ``model.predict_proba``, on a regular grid around the rows of X.

    Examples
    --------
    >>> from separatrix.geometry.regions import grid_values
    >>> grid_values(lambda points: points.sum(axis=1), [[0.0, 0.0], [2.0, 4.0]], resolution=3, margin=0).values
    array([[0., 1., 2.],
           [2., 3., 4.],
           [4., 5., 6.]])
    """
    resolution = check_count("grid_values", "resolution", resolution, least=2)
    margin = check_number("grid_values", "margin", margin, low=0.0)
    X = as_table(X)  # which is read for its extent, and again for its column names
    source = as_source(X)
    if len(source.columns) != 2:
        raise DataError(f"A picture of the plane needs two columns, but X has {len(source.columns)}.")
    require_finite(source)
    with np.errstate(over="ignore"):  # in the radius, which is not used
        reach = source.reduce(extent)
    room = margin * np.where(reach.high > reach.low, reach.high - reach.low, 1.0)
    x, y = np.linspace(reach.low - room, reach.high + room, resolution).T
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    values = np.asarray(function(_like(points, X)))
    return GridValues(x, y, values.reshape(resolution, resolution, *values.shape[1:]))


def codes_of(labels: Array, classes: Array) -> Codes:
    """The position of each label among K classes, and K for a label that is none of them."""
    codes = np.full(len(labels), len(classes), dtype=np.intp)
    for k, label in enumerate(classes):
        codes[labels == label] = k
    return codes


def _like(points: Float, X: Any) -> Any:
    """The points with the column names of X, where it has some that a model may ask for."""
    import narwhals as nw

    if not nw.dependencies.is_into_dataframe(X):
        return points
    frame = nw.from_native(X, eager_only=True)
    columns = dict(zip(frame.columns, points.T, strict=True))
    return nw.from_dict(columns, backend=nw.get_native_namespace(frame)).to_native()
