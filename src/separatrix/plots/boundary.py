# SPDX-License-Identifier: BSD-3-Clause
"""Decision regions over two columns, with the rows on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, to_dense
from separatrix.data import as_source, encode_labels
from separatrix.geometry import Grid, grid_predictions
from separatrix.plots.style import COLOURS, MARKERS, new_axes

__all__ = ["DecisionBoundaryDisplay"]

MOST_CLASSES = len(COLOURS)


@dataclass
class DecisionBoundaryDisplay:
    """Which class a fitted model predicts at each point of the plane.

    Build it with `from_estimator`, which computes; `plot` only draws, and keeps its artists in ``ax_`` and ``figure_``.

    Attributes
    ----------
    grid : the points and the predicted codes
    classes : ndarray of shape (K,)
    points : ndarray of shape (N, 2) or None, the rows to draw
    codes : ndarray of shape (N,) or None, their classes
    columns : names of the two columns
    """

    grid: Grid
    classes: Array
    points: Array | None
    codes: Array | None
    columns: tuple[str, str]

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, resolution: int = 300, ax: Any = None, title: str | None = None
    ) -> DecisionBoundaryDisplay:
        """Predict over the plane that holds the rows of X, and draw.

        Parameters
        ----------
        model : classifier
            Fitted, of two columns.
        X : table of shape (N, 2)
            Sets the extent; drawn on top if ``y`` is given.
        y : array-like of shape (N,), optional
            The true classes of the rows.
        resolution : int, default 300
            Points along each axis.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        title : str, optional
            Above the picture.
        """
        if len(model.classes_) > MOST_CLASSES:
            raise ValueError(f"{len(model.classes_)} classes; only {MOST_CLASSES} can be told apart by colour.")
        source = as_source(X)
        points, codes = None, None
        if y is not None:
            classes, own = encode_labels(y)
            points, codes = source.map(to_dense), np.searchsorted(model.classes_, classes)[own]
        grid = grid_predictions(model, X, resolution=resolution)
        display = cls(grid, model.classes_, points, codes, (source.columns[0], source.columns[1]))
        return display.plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> DecisionBoundaryDisplay:
        """Draw regions, boundaries and rows."""
        ax = new_axes(ax)
        K = len(self.classes)
        levels = np.arange(K + 1) - 0.5
        ax.contourf(self.grid.x, self.grid.y, self.grid.codes, levels=levels, colors=COLOURS[:K], alpha=0.25)
        ax.contour(self.grid.x, self.grid.y, self.grid.codes, levels=levels[1:-1], colors="black", linewidths=0.8)
        if self.points is not None:
            look = {"s": 18, "edgecolors": "white", "linewidths": 0.4}
            for k, (colour, marker) in enumerate(zip(COLOURS[:K], MARKERS[:K], strict=True)):
                x, y = self.points[self.codes == k].T
                ax.scatter(x, y, color=colour, marker=marker, label=str(self.classes[k]), **look)
        ax.set(xlabel=self.columns[0], ylabel=self.columns[1], title=title or "")
        self.ax_, self.figure_ = ax, ax.figure
        return self
