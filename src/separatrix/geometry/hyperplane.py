# SPDX-License-Identifier: BSD-3-Clause
"""A hyperplane y(x) = w'x + w0 = 0, and distances from it.                                           PRML §4.1.1

signed distance of x      r = (w'x + w0) / |w|                                                      (4.7)
distance from the origin  -w0 / |w|                                                                 (4.5)
foot of the perpendicular x - r w / |w|                                                             (4.6)

Only the ratio of w0 to w matters, so w is divided by its largest entry. Squares then cannot overflow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array, Codes, Float, Rows
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.rows import as_source, encode_labels
from separatrix.stats import extent, require_finite

MAX_SQUARABLE = 1e15  # even in float32, values between 1e-15 and 1e15 can be squared and summed
MARGIN_TOLERANCE = 1e-9  # distances count as equal if they differ by less than this fraction of the largest distance


def linear_functions(model: Any) -> tuple[Float, Float]:
    """Weights W (C, D) and intercepts w0 (C,) of a fitted linear model; C = 1 for two classes, otherwise C = K."""
    check_is_fitted(model)
    name = type(model).__name__
    if getattr(model, "basis_", None) is not None:
        raise DataError(
            f"{name} was fitted with a basis, so its boundaries are not planes in the space of x. Use "
            "grid_predictions, or fit it without a basis."
        )
    W, w0 = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if W is None or w0 is None:
        raise DataError(f"{name} has no coef_ and intercept_: its boundaries are not planes.")
    W = np.atleast_2d(np.asarray(W, dtype=np.float64))
    return W, np.broadcast_to(np.asarray(w0, dtype=np.float64), len(W))


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """The plane w'x + w0 = 0; w points to the side of the second class.

    Examples
    --------
    >>> plane = Hyperplane([3.0, 4.0], -10.0)
    >>> plane.distance_from_origin
    2.0
    >>> plane.signed_distance([[0.0, 0.0], [3.0, 4.0]]).tolist()
    [-2.0, 3.0]
    >>> plane.foot([[0.0, 0.0]]).round(2).tolist()
    [[1.2, 1.6]]
    """

    w: Float
    w0: float

    def __post_init__(self) -> None:
        w, w0 = np.array(self.w, dtype=np.float64), float(self.w0)
        if w.ndim != 1 or not np.isfinite(w).all() or not w.any():
            raise ValueError(f"Hyperplane(w={self.w!r}): w must be a vector of finite numbers, not all zero.")
        if not np.isfinite(w0 / float(np.abs(w).max())):
            raise ValueError(
                f"Hyperplane(w0={self.w0!r}): w0 and w0 / |w|, the distance from the origin, must be finite numbers; "
                f"the largest entry of w is {np.abs(w).max():g}."
            )
        w.setflags(write=False)
        object.__setattr__(self, "w", w)
        object.__setattr__(self, "w0", w0)

    @classmethod
    def of(cls, model: Any) -> Hyperplane:
        """The boundary of a fitted linear model of two classes."""
        W, w0 = linear_functions(model)
        if len(W) != 1:
            raise DataError(f"A model of {len(W)} classes has no single plane; use LinearRegions.of(model).")
        return cls(W[0], float(w0[0]))

    @property
    def normal(self) -> Float:
        """Unit normal vector w / |w|."""
        direction = self.w / np.abs(self.w).max()
        return np.asarray(direction / np.linalg.norm(direction))

    @property
    def distance_from_origin(self) -> float:
        """Signed distance -w0 / |w|, positive if the origin is on the negative side."""
        largest = float(np.abs(self.w).max())
        return -self.w0 / largest / float(np.linalg.norm(self.w / largest))

    def signed_distance(self, X: Any) -> Float:
        """Signed distance r of each row, (N,); positive on the side that w points to."""
        unit, offset = self.normal, self.distance_from_origin
        return self._map(X, lambda rows: np.asarray(rows @ unit - offset))

    def foot(self, X: Any) -> Float:
        """Point of the plane that is nearest to each row, (N, D)."""
        unit, offset = self.normal, self.distance_from_origin
        return self._map(X, lambda rows: np.asarray(rows - np.outer(rows @ unit - offset, unit)))

    def side(self, X: Any) -> Array:
        """Side of each row, (N,): +1 or -1; 0 for rows on the plane."""
        return np.sign(self.signed_distance(X)).astype(int)

    def _map(self, X: Any, row_function: Callable[[Rows], Float]) -> Float:
        """Apply a function to every row; raises if X has the wrong number of columns or non-finite values."""
        source = as_source(X)
        if len(source.columns) != len(self.w):
            raise DataError(
                f"X has {counted(len(source.columns), 'column')}, but the plane has {counted(len(self.w), 'weight')}."
            )
        with np.errstate(invalid="ignore", over="ignore"):
            answer = source.map(row_function)
        if not np.isfinite(answer).all():
            require_finite(source)
        return answer


def margin(plane: Hyperplane, X: Any, y: Any) -> float:
    """γ = min_n t_n r_n: the distance of the nearest row, negative if some row lies on the wrong side.

    Parameters
    ----------
    plane : Hyperplane
        A plane whose positive side belongs to the larger label.
    X, y : table of shape (N, D) and array-like of shape (N,)
        Rows and their labels; there must be two classes.

    Examples
    --------
    >>> from separatrix.geometry import Hyperplane, margin
    >>> margin(Hyperplane([1.0], 0.0), [[-3.0], [-1.0], [2.0]], ["no", "no", "yes"])
    1.0
    """
    return float(_own_distance(plane, X, y).min())


def nearest_rows(plane: Hyperplane, X: Any, y: Any) -> Codes:
    """Indices of the rows nearest to the plane; for the plane with the widest margin, these are the support vectors.

    Parameters as in `margin`.

    Examples
    --------
    >>> from separatrix.geometry import Hyperplane, nearest_rows
    >>> nearest_rows(Hyperplane([1.0], 0.0), [[-3.0], [-1.0], [1.0]], ["no", "no", "yes"]).tolist()
    [1, 2]
    """
    own = _own_distance(plane, X, y)
    return np.flatnonzero(own - own.min() <= MARGIN_TOLERANCE * np.abs(own).max())


def _own_distance(plane: Hyperplane, X: Any, y: Any) -> Float:
    """t_n r_n (N,): distance of each row from the plane, negative on the wrong side."""
    classes, codes = encode_labels(y)
    if len(classes) != 2:
        raise DataError(f"A margin needs two classes, but y has {len(classes)}: {classes[:6].tolist()}.")
    r = plane.signed_distance(X)
    if len(codes) != len(r):
        raise DataError(
            f"X has {counted(len(r), 'row')} but y has {counted(len(codes), 'label')}. Pass one label per row."
        )
    return np.asarray((2 * codes - 1) * r)


def radius(X: Any) -> float:
    """R = max_n |x_n|, the radius of the smallest ball around the origin that contains every row."""
    source = as_source(X)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        reach = source.reduce(extent)
    largest = float(np.maximum(np.abs(reach.low), np.abs(reach.high)).max())
    if not np.isfinite(largest):
        require_finite(source)
    if largest == 0 or 1 / MAX_SQUARABLE < largest < MAX_SQUARABLE:
        return reach.radius
    scaled = source.reduce(lambda block: extent(replace(block, X=block.X.astype(np.float64) / largest)))
    return scaled.radius * largest
