# SPDX-License-Identifier: BSD-3-Clause
"""A hyperplane y(x) = w'x + w0 = 0, and distances from it.                                           PRML §4.1.1

signed distance of x      r = (w'x + w0) / |w|                                                      (4.7)
distance from the origin  -w0 / |w|                                                                 (4.5)
foot of the perpendicular x - r w / |w|                                                             (4.6)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array, Float
from separatrix.data import as_source, encode_labels
from separatrix.exceptions import DataError
from separatrix.stats import extent

__all__ = ["Hyperplane", "margin", "radius"]


@dataclass(frozen=True)
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
        w = np.asarray(self.w, dtype=np.float64)
        if w.ndim != 1 or not np.isfinite(w).all() or not w.any():
            raise ValueError(f"Hyperplane(w={self.w!r}): w must be a vector of finite numbers, not all zero.")
        object.__setattr__(self, "w", w)
        object.__setattr__(self, "w0", float(self.w0))

    @classmethod
    def of(cls, model: Any) -> Hyperplane:
        """The boundary of a fitted linear model of two classes."""
        check_is_fitted(model)
        if getattr(model, "basis_", None) is not None:
            raise DataError("The boundary is a plane in the space of basis functions, not in that of x.")
        coef = np.atleast_2d(model.coef_)
        if len(coef) != 1:
            raise DataError(f"A model of {len(coef)} classes has no single plane; see LinearRegions.")
        return cls(coef[0], float(np.ravel(model.intercept_)[0]))

    @property
    def normal(self) -> Float:
        """w / |w|."""
        return np.asarray(self.w / np.linalg.norm(self.w))

    @property
    def distance_from_origin(self) -> float:
        """-w0 / |w|, positive where the origin lies on the negative side."""
        return float(-self.w0 / np.linalg.norm(self.w))

    def signed_distance(self, X: Any) -> Float:
        """r (N,), positive on the side that w points to."""
        unit, offset = self.normal, self.distance_from_origin
        return as_source(X).map(lambda rows: np.asarray(rows @ unit - offset))

    def foot(self, X: Any) -> Float:
        """The nearest point of the plane to each row, (N, D)."""
        unit, offset = self.normal, self.distance_from_origin
        return as_source(X).map(lambda rows: np.asarray(rows - np.outer(rows @ unit - offset, unit)))

    def side(self, X: Any) -> Array:
        """+1, -1, or 0 on the plane itself."""
        return np.sign(self.signed_distance(X)).astype(int)


def margin(plane: Hyperplane, X: Any, y: Any) -> float:
    """γ = min_n t_n r_n: the distance of the nearest row, negative if some row lies on the wrong side.

    Parameters
    ----------
    plane : Hyperplane
        Its positive side is that of the larger label.
    X : table of shape (N, D)
        Rows.
    y : array-like of shape (N,)
        Labels of two classes.
    """
    classes, codes = encode_labels(y)
    if len(classes) != 2:
        raise DataError(f"A margin is between two classes, but y has {len(classes)}: {classes[:6].tolist()}.")
    return float(((2 * codes - 1) * plane.signed_distance(X)).min())


def radius(X: Any) -> float:
    """R = max_n |x_n|, the radius of the smallest ball about the origin that holds every row."""
    return as_source(X).reduce(extent).radius
