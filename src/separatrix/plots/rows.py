# SPDX-License-Identifier: BSD-3-Clause
"""Rows in a picture: read once, checked against the classes of the model, and drawn the same way everywhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float, to_dense
from separatrix.plots.labels import true_codes
from separatrix.plots.style import MOST_CLASSES, class_style, new_figure
from separatrix.rows import as_source

__all__ = ["Rows", "new_panels", "read_rows", "require_colours", "scatter_classes"]


class Rows(NamedTuple):
    """Points (N, D), their class codes (N,), and the names of the D columns."""

    points: Float
    codes: Codes
    columns: tuple[str, ...]


def read_rows(X: Any, y: Any, classes: Array) -> Rows:
    """The rows of X with codes for the labels y, which must be among ``classes``."""
    source = as_source(X)
    codes = true_codes(y, classes, source.n_rows)
    return Rows(source.map(to_dense).astype(np.float64), codes, source.columns)


def require_colours(classes: Array) -> None:
    """Raise where there are more classes than a picture can tell apart."""
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"{len(classes)} classes are more than the {MOST_CLASSES} that a picture can tell apart by colour, marker "
            "and hatch. Fit and draw fewer of them, or one against the rest."
        )


def scatter_classes(ax: Any, points: Float, codes: Codes, classes: Array, *, size: float = 18) -> None:
    """Draw points (N, 2), each class with its colour, its marker and its entry in the legend."""
    for k, label in enumerate(classes):
        x, y = points[codes == k].T
        style = class_style(k)
        look = {"color": style.colour, "marker": style.marker, "edgecolors": "white", "linewidths": 0.4}
        ax.scatter(x, y, s=size, label=str(label), zorder=3, **look)


def new_panels(n_rows: int, n_columns: int, *, size: tuple[float, float] = (4.4, 3.8)) -> Array:
    """Axes side by side in a new figure, (n_rows, n_columns), each of ``size`` inches."""
    axes = new_figure(n_rows, n_columns, size=(size[0] * n_columns, size[1] * n_rows))[1]
    return np.reshape(axes, (n_rows, n_columns))
