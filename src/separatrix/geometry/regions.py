# SPDX-License-Identifier: BSD-3-Clause
"""Decision regions. Those of a linear machine are convex and singly connected.                        PRML §4.1.2

R_k = {x: a_k(x) >= a_j(x) for all j} is an intersection of half-spaces (w_j - w_k)'x <= w_k0 - w_j0.     (4.10)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array, Float
from separatrix.data import as_source
from separatrix.exceptions import DataError
from separatrix.stats import extent, require_finite

__all__ = ["Grid", "LinearRegions", "grid_predictions"]


@dataclass(frozen=True)
class LinearRegions:
    """The K regions of a_k(x) = w_k'x + w_k0, largest wins.

    Examples
    --------
    >>> regions = LinearRegions([[1.0], [0.0], [-1.0]], [-1.0, 0.0, -1.0])
    >>> regions.contains(1, [[0.0], [0.9], [1.1]]).tolist()
    [True, True, False]
    """

    coef: Float
    intercept: Float

    def __post_init__(self) -> None:
        object.__setattr__(self, "coef", np.atleast_2d(np.asarray(self.coef, dtype=np.float64)))
        object.__setattr__(self, "intercept", np.ravel(np.asarray(self.intercept, dtype=np.float64)))

    @classmethod
    def of(cls, model: Any) -> LinearRegions:
        """The regions of a fitted linear model; two classes are a machine with a_0 = 0."""
        check_is_fitted(model)
        if getattr(model, "basis_", None) is not None:
            raise DataError("The regions are linear in basis functions, not in x.")
        W, w0 = np.atleast_2d(model.coef_), np.ravel(model.intercept_)
        if len(W) == 1:
            W, w0 = np.vstack([np.zeros_like(W), W]), np.append(0.0, w0)
        return cls(W, w0)

    def half_spaces(self, k: int) -> tuple[Float, Float]:
        """A (K-1, D) and b (K-1,) with R_k = {x: A x <= b}."""
        others = np.arange(len(self.coef)) != k
        return self.coef[others] - self.coef[k], self.intercept[k] - self.intercept[others]

    def contains(self, k: int, X: Any) -> Array:
        """Whether each row lies in R_k, boundary included."""
        A, b = self.half_spaces(k)
        return as_source(X).map(lambda rows: np.asarray((rows @ A.T <= b).all(axis=1)))

    def interior_point(self, k: int, box: float = 1e6) -> Float | None:
        """The centre of the largest ball inside R_k within |x_d| <= box; None if R_k has no interior there.

        A linear program: max r subject to A x + r |A_j| <= b.
        """
        from scipy.optimize import linprog

        A, b = self.half_spaces(k)
        D = A.shape[1]
        length = np.linalg.norm(A, axis=1)
        walls = np.vstack([np.eye(D), -np.eye(D)])
        answer = linprog(
            np.append(np.zeros(D), -1.0),
            A_ub=np.vstack([np.column_stack([A, length]), np.column_stack([walls, np.ones(2 * D)])]),
            b_ub=np.append(b, np.full(2 * D, box)),
            bounds=[(None, None)] * D + [(0, None)],
            method="highs",
        )
        return np.asarray(answer.x[:D]) if answer.status == 0 and answer.x[-1] > 1e-9 * box else None

    def is_empty(self, k: int, box: float = 1e6) -> bool:
        """Whether class k is predicted nowhere inside the box, as happens to a class masked by others."""
        return self.interior_point(k, box) is None


class Grid(NamedTuple):
    """Coordinates x (n,), y (n,) and the predicted class code of each point, codes (n, n), rows along y."""

    x: Float
    y: Float
    codes: Array


def grid_predictions(model: Any, X: Any, *, resolution: int = 200, margin: float = 0.08) -> Grid:
    """What a classifier of two columns predicts on a regular grid around the rows of X."""
    source = as_source(X)
    if len(source.columns) != 2:
        raise DataError(f"A picture of regions needs two columns, but X has {len(source.columns)}.")
    reach = source.reduce(extent)
    if not np.isfinite(reach.low + reach.high).all():
        require_finite(source)
    room = margin * np.where(reach.high > reach.low, reach.high - reach.low, 1.0)
    x, y = np.linspace(reach.low - room, reach.high + room, resolution).T
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    return Grid(x, y, np.searchsorted(model.classes_, model.predict(_like(points, X))).reshape(resolution, resolution))


def _like(points: Float, X: Any) -> Any:
    """The points with the column names of X, where it has some that a model may ask for."""
    import narwhals as nw

    if not nw.dependencies.is_into_dataframe(X):
        return points
    frame = nw.from_native(X, eager_only=True)
    columns = dict(zip(frame.columns, points.T, strict=True))
    return nw.from_dict(columns, backend=nw.get_native_namespace(frame)).to_native()
