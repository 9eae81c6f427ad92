# SPDX-License-Identifier: BSD-3-Clause
"""Decision regions. Those of a linear machine are convex, hence singly connected.                 PRML §4.1.2

R_k = {x: a_k(x) >= a_j(x) for all j} is the intersection of K - 1 half-spaces

    (w_j - w_k)'x  <=  w_k0 - w_j0,     j ≠ k                                                    (4.10)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_number
from separatrix._array import Array, Codes, Float, Rows
from separatrix.data import Source, as_source
from separatrix.exceptions import DataError
from separatrix.geometry.linear_model import linear_functions
from separatrix.stats import extent, require_finite

__all__ = ["Grid", "LinearRegions", "grid_predictions"]

THIN = 1e-9  # a region has no interior if its balls are smaller than this share of the distances of its walls


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
    >>> regions = LinearRegions([[1.0], [0.0], [-1.0]], [-1.0, 0.0, -3.0])
    >>> regions.contains(1, [[0.0], [0.9], [1.1]]).tolist()
    [True, True, False]
    >>> regions.interior_point(1).tolist()
    [-1.0]
    """

    coef: Float
    intercept: Float

    def __post_init__(self) -> None:
        W, w0 = np.asarray(self.coef, dtype=np.float64), np.asarray(self.intercept, dtype=np.float64)
        if W.ndim != 2 or len(W) < 2 or w0.shape != W.shape[:1] or not np.isfinite(np.column_stack([W, w0])).all():
            raise ValueError(
                f"LinearRegions(coef of shape {W.shape}, intercept of shape {w0.shape}): needs finite numbers, (K, D) "
                "and (K,) for K >= 2 classes."
            )
        object.__setattr__(self, "coef", W)
        object.__setattr__(self, "intercept", w0)

    @classmethod
    def of(cls, model: Any) -> LinearRegions:
        """The regions of a fitted linear model; two classes are a machine with a_0 = 0."""
        W, w0 = linear_functions(model)
        if len(W) == 1:
            W, w0 = np.vstack([np.zeros_like(W), W]), np.append(0.0, w0)
        return cls(W, w0)

    def half_spaces(self, k: int) -> tuple[Float, Float]:
        """A (K-1, D) and b (K-1,) with R_k = {x: A x <= b}."""
        self._check_class(k)
        others = np.arange(len(self.coef)) != k
        return self.coef[others] - self.coef[k], self.intercept[k] - self.intercept[others]

    def contains(self, k: int, X: Any) -> Array:
        """Whether each row lies in R_k, its walls included."""
        self._check_class(k)
        return self._open(X).map(lambda rows: (a := self._activations(rows)).max(axis=1) == a[:, k])

    def of_rows(self, X: Any) -> Codes:
        """The region of each row; on a wall, the one of the lower class."""
        return self._open(X).map(lambda rows: self._activations(rows).argmax(axis=1))

    def interior_point(self, k: int, *, low: Any = None, high: Any = None) -> Float | None:
        """A point well inside R_k; None where R_k has no interior.

        The centre of the largest ball inside R_k and the box ``low <= x <= high``: max r with A_j x + r |A_j| <= b_j.
        Where no box bounds the ball, it need not be larger than the walls are far from the origin.
        """
        from scipy.optimize import linprog

        A, b, scale = self._walls(k, low, high)
        length = np.linalg.norm(A, axis=1)
        if ((length == 0) & (b <= 0)).any():  # another class is nowhere behind
            return None
        D = A.shape[1]
        bounds = [(None, None)] * D + [(0.0, 1.0)]
        found = linprog(-np.eye(D + 1)[D], np.column_stack([A, length]), b / scale, bounds=bounds, method="highs")
        return np.asarray(found.x[:D] * scale) if found.status == 0 and found.x[D] > THIN else None

    def is_empty(self, k: int) -> bool:
        """Whether class k wins nowhere: it is masked by the others."""
        return self.interior_point(k) is None

    def _walls(self, k: int, low: Any, high: Any) -> tuple[Float, Float, float]:
        """The half-spaces of R_k and of the box, and the largest distance of a wall from the origin."""
        A, b = self.half_spaces(k)
        for sign, limit in ((-1.0, low), (1.0, high)):
            if limit is not None:
                A = np.vstack([A, sign * np.eye(self.coef.shape[1])])
                b = np.append(b, sign * np.broadcast_to(np.asarray(limit, dtype=np.float64), self.coef.shape[1]))
        length = np.linalg.norm(A, axis=1)
        far = np.abs(b[length > 0]) / length[length > 0]
        return A, b, float(far.max(initial=0.0)) or 1.0

    def _activations(self, rows: Rows) -> Float:
        return np.asarray(rows @ self.coef.T + self.intercept)

    def _check_class(self, k: int) -> None:
        if not 0 <= k < len(self.coef):
            raise ValueError(f"There is no region {k!r}: regions are numbered 0 to {len(self.coef) - 1}.")

    def _open(self, X: Any) -> Source:
        source = as_source(X)
        if len(source.columns) != self.coef.shape[1]:
            raise DataError(
                f"X has {len(source.columns)} columns, but the regions lie in {self.coef.shape[1]} dimensions."
            )
        require_finite(source)
        return source


class Grid(NamedTuple):
    """Coordinates x (n,), y (n,) and the predicted class code of each point, codes (n, n), rows along y."""

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
    resolution = check_count("grid_predictions", "resolution", resolution, least=2)
    margin = check_number("grid_predictions", "margin", margin, low=0.0)
    source = as_source(X)
    if len(source.columns) != 2:
        raise DataError(f"A picture of regions needs two columns, but X has {len(source.columns)}.")
    require_finite(source)
    reach = source.reduce(extent)
    room = margin * np.where(reach.high > reach.low, reach.high - reach.low, 1.0)
    x, y = np.linspace(reach.low - room, reach.high + room, resolution).T
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    codes = np.searchsorted(model.classes_, model.predict(_like(points, X)))
    return Grid(x, y, codes.reshape(resolution, resolution))


def _like(points: Float, X: Any) -> Any:
    """The points with the column names of X, where it has some that a model may ask for."""
    import narwhals as nw

    if not nw.dependencies.is_into_dataframe(X):
        return points
    frame = nw.from_native(X, eager_only=True)
    columns = dict(zip(frame.columns, points.T, strict=True))
    return nw.from_dict(columns, backend=nw.get_native_namespace(frame)).to_native()
