# SPDX-License-Identifier: BSD-3-Clause
"""Decision regions; the regions of a linear classifier are convex, hence singly connected.          PRML §4.1.2

R_k = {x: a_k(x) >= a_j(x) for all j} is the intersection of K - 1 half-spaces

    (w_j - w_k)'x  <=  w_k0 - w_j0,     j ≠ k                                                    (4.10)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_number
from separatrix._array import Array, Codes, Float, Rows
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.geometry.hyperplane import linear_functions
from separatrix.rows import Source, as_frame, as_source, as_table
from separatrix.stats import Extent, extent, require_finite

LP_TOLERANCE = 1e-10  # the smallest tolerance that HiGHS accepts
MIN_REGION_WIDTH = 1e-9  # in the scaled coordinates of the linear program; a narrower region counts as empty
PARALLEL_TOLERANCE = 1e-6  # planes whose normals differ by less than this intersect too far away to matter
MAX_SEARCH_DISTANCE = 1e6  # half width of the default box, in units of the distance to the farthest plane


@dataclass(frozen=True, eq=False)
class LinearRegions:
    """The K regions in which a_k(x) = w_k'x + w_k0 is largest.

    Parameters
    ----------
    coef, intercept : array-like of shape (K, D) and (K,)
        Weights W and intercepts w0.

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
        """The regions of a fitted linear model; if it has two classes, a_0 = 0."""
        W, w0 = linear_functions(model)
        if len(W) == 1:
            W, w0 = np.vstack([np.zeros_like(W), W]), np.append(0.0, w0)
        return cls(W, w0)

    def half_spaces(self, k: int) -> tuple[Float, Float]:
        """The matrix A (K-1, D) and the vector b (K-1,) of the inequalities R_k = {x: A x <= b}."""
        others = self._others(k)
        return self.coef[others] - self.coef[k], self.intercept[k] - self.intercept[others]

    def contains(self, k: int, X: Any) -> Array:
        """Whether each row is in R_k, including its boundary."""
        self._others(k)
        return self._open(X).map(lambda rows: (a := self._activations(rows)).max(axis=1) == a[:, k])

    def of_rows(self, X: Any) -> Codes:
        """Index of the region that contains each row, (N,); a row on a boundary gets the lower class."""
        return self._open(X).map(lambda rows: self._activations(rows).argmax(axis=1))

    def interior_point(self, k: int, *, within: Any = None) -> Float | None:
        """A point in the interior of R_k, or None if R_k has no interior.

        Solves the linear program max r subject to A_j'x + r |A_j| <= b_j. The search is restricted to the bounding box
        of ``within``; by default, to a box around the planes. The program is scaled to this box, so the result does
        not depend on units or origin. A region that exists only because of rounding errors counts as empty.
        """
        from scipy.optimize import linprog

        others, (A, b) = self._others(k), self.half_spaces(k)
        # A and b are differences; the magnitudes of their terms bound the rounding error of b - A x.
        A_size = np.abs(self.coef[others]) + np.abs(self.coef[k])
        b_size = np.abs(self.intercept[others]) + np.abs(self.intercept[k])
        parallel = ~A.any(axis=1)
        if (b[parallel] < 0).any():  # another class has a larger activation everywhere
            return None
        A, b, A_size, b_size = (part[~parallel] for part in (A, b, A_size, b_size))

        def rounding(x: Float) -> Float:
            return np.asarray(4 * np.finfo(np.float64).eps * (b_size + A_size @ np.abs(x)))

        # The program is solved for u, with x = centre + scale u and |u_d| <= reach.
        if within is not None:
            bounds = bounding_box(self._open(within))
            half = bounds.high / 2 - bounds.low / 2
            centre, scale, reach = bounds.low + half, np.where(half > 0, half, 0.5), 1.0
        elif not len(A):
            centre, scale, reach = np.zeros(A.shape[1]), np.ones(A.shape[1]), 1.0
        else:
            # A box around the least-squares point of all planes; its scale is the distance to the farthest plane. In
            # units that make the largest weight of each column 1, the box does not depend on the units of x.
            units = 1 / np.where(A.any(axis=0), np.abs(A).max(axis=0), 1.0)
            length = np.linalg.norm(A * units, axis=1)
            centre = units * np.linalg.lstsq(A * units / length[:, None], b / length, rcond=PARALLEL_TOLERANCE)[0]
            distance = np.maximum(np.abs(b - A @ centre), rounding(centre)) / length
            scale, reach = units * (distance.max() or 1.0), MAX_SEARCH_DISTANCE
        length, D = np.linalg.norm(A * scale, axis=1), len(centre)
        answer = linprog(
            np.append(np.zeros(D), -1.0),
            A_ub=np.column_stack([A * scale / length[:, None], np.ones(len(A))]),
            b_ub=(b - A @ centre - rounding(centre)) / length,
            bounds=[(-reach, reach)] * D + [(None, 1.0)],
            method="highs",
            options={"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE},
        )
        if answer.status != 0:
            raise ArithmeticError(f"HiGHS did not solve a linear program of shape {A.shape}: {answer.message}")
        return np.asarray(centre + scale * answer.x[:D]) if answer.x[-1] > MIN_REGION_WIDTH else None

    def is_empty(self, k: int, *, within: Any = None) -> bool:
        """Whether class k is never predicted (in the bounding box of ``within``, if given): other classes mask it."""
        return self.interior_point(k, within=within) is None

    def _activations(self, rows: Rows) -> Float:
        return np.asarray(rows @ self.coef.T + self.intercept)

    def _others(self, k: int) -> Codes:
        if check_count("LinearRegions", "k", k, least=0) >= len(self.coef):
            raise ValueError(f"LinearRegions: there is no class {k}; classes are numbered 0 to {len(self.coef) - 1}.")
        return np.flatnonzero(np.arange(len(self.coef)) != k)

    def _open(self, X: Any) -> Source:
        source = as_source(X)
        if len(source.columns) != self.coef.shape[1]:
            raise DataError(
                f"X has {counted(len(source.columns), 'column')}, but the regions have {self.coef.shape[1]}."
            )
        require_finite(source)
        return source


def bounding_box(source: Source) -> Extent:
    """Smallest and largest value of every column."""
    return source.reduce(partial(extent, with_radius=False))


@dataclass(frozen=True, eq=False)
class Grid:
    """Coordinates x (n,) and y (n,), and predicted codes (n, n) with one row per value of y.

    Codes are indices into ``classes_``; the code K stands for any other label, such as a reject label.
    """

    x: Float
    y: Float
    codes: Codes


def grid_predictions(model: Any, X: Any, *, resolution: int = 200, margin: float = 0.08) -> Grid:
    """Predict on a regular grid around the rows of X, with a classifier fitted on two columns.

    Parameters
    ----------
    model : classifier
        Any classifier, linear or not, fitted on two columns.
    X : table of shape (N, 2)
        Rows that the grid covers.
    resolution : int, default 200
        Number of points along each axis.
    margin : float, default 0.08
        Margin on each side, as a fraction of the range of the column.

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
    """Coordinates x (n,) and y (n,), and values (n, n, ...) of a function, with one row per value of y."""

    x: Float
    y: Float
    values: Array


def grid_values(function: Callable[[Any], Array], X: Any, *, resolution: int = 200, margin: float = 0.08) -> GridValues:
    """Evaluate a function such as ``model.predict_proba`` on a regular grid around the rows of X.

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
    X = as_table(X)  # because a stream can be read only once
    source = as_source(X)
    if len(source.columns) != 2:
        raise DataError(f"A plot of the plane needs two columns, but X has {len(source.columns)}.")
    require_finite(source)
    reach = bounding_box(source)
    room = margin * np.where(reach.high > reach.low, reach.high - reach.low, 1.0)
    x, y = np.linspace(reach.low - room, reach.high + room, resolution).T
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    values = np.asarray(function(points_like(points, X)))
    return GridValues(x, y, values.reshape(resolution, resolution, *values.shape[1:]))


def codes_of(labels: Array, classes: Array) -> Codes:
    """Index of each label among the K classes; K for any other label."""
    codes = np.full(len(labels), len(classes), dtype=np.intp)
    for k, label in enumerate(classes):
        codes[labels == label] = k
    return codes


def points_like(points: Float, X: Any) -> Any:
    """Return points (N, D) as a data frame if X is one, because a model may check column names."""
    import narwhals as nw

    if not nw.dependencies.is_into_dataframe(X):
        return points
    frame = as_frame(X)
    columns = dict(zip(frame.columns, points.T, strict=True))
    return nw.from_dict(columns, backend=nw.get_native_namespace(frame)).to_native()
