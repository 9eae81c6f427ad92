# SPDX-License-Identifier: BSD-3-Clause
"""Decision regions over two columns, with the rows on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Codes, Float, to_dense
from separatrix.data import as_source, as_table
from separatrix.exceptions import DataError
from separatrix.geometry import Grid, grid_predictions
from separatrix.geometry.regions import codes_of
from separatrix.meta import listed
from separatrix.plots.style import COLOURS, MARKERS, REJECTED, new_axes

__all__ = ["DecisionBoundaryDisplay"]

MOST_CLASSES = len(COLOURS)


@dataclass(eq=False, repr=False)
class DecisionBoundaryDisplay:
    """Which class a fitted model predicts at each point of the plane.

    Build it with `from_estimator`, which computes; `plot` only draws, and keeps its artists in ``ax_`` and ``figure_``.
    Where the model predicts none of its classes, as a reject label is, the plane is grey and hatched.

    Attributes
    ----------
    grid : the points and the predicted codes, K where the model rejects
    classes : ndarray of shape (K,)
    points : ndarray of shape (N, 2) or None, the rows to draw
    codes : ndarray of shape (N,) or None, their classes
    columns : names of the two columns
    """

    grid: Grid
    classes: Array
    points: Float | None
    codes: Codes | None
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
        X = as_table(X)  # which is read more than once
        grid = grid_predictions(model, X, resolution=resolution)
        source = as_source(X)
        points, codes = None, None
        if y is not None:
            points, codes = source.map(to_dense), _true_codes(y, model.classes_, source.n_rows)
        display = cls(grid, model.classes_, points, codes, (source.columns[0], source.columns[1]))
        return display.plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> DecisionBoundaryDisplay:
        """Draw regions, boundaries and rows."""
        ax = new_axes(ax)
        for k in np.unique(self.grid.codes):
            self._draw_region(ax, int(k))
        if self.points is not None:
            look = {"s": 18, "edgecolors": "white", "linewidths": 0.4}
            for k, label in enumerate(self.classes):
                x, y = self.points[self.codes == k].T
                ax.scatter(x, y, color=COLOURS[k], marker=MARKERS[k], label=str(label), **look)
        if (self.grid.codes == len(self.classes)).any():
            ax.fill([], [], label="rejected", **REJECTED)
        ax.set(xlabel=self.columns[0], ylabel=self.columns[1], title=title or "")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_region(self, ax: Any, k: int) -> None:
        """One region and its outline: apart from the others, since codes have no order to draw levels by."""
        inside = (self.grid.codes == k).astype(float)
        where = self.grid.x, self.grid.y, inside
        if k < len(self.classes):
            ax.contourf(*where, levels=[0.5, 1.5], colors=[COLOURS[k]], alpha=0.25)
        else:
            area = ax.contourf(*where, levels=[0.5, 1.5], colors=[REJECTED["facecolor"]], hatches=[REJECTED["hatch"]])
            area.set(edgecolor=REJECTED["edgecolor"], linewidth=REJECTED["linewidth"], alpha=REJECTED["alpha"])
        if not inside.all():
            ax.contour(*where, levels=[0.5], colors="black", linewidths=0.8)


def _true_codes(y: Any, classes: Array, n_rows: int) -> Codes:
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows but y has shape {labels.shape}; they must pair up.")
    codes = codes_of(labels, classes)
    unknown = list(dict.fromkeys(labels[codes == len(classes)].tolist()))
    if unknown:
        raise DataError(
            f"y has labels that the model never saw: {listed(unknown)}. It knows {listed(classes.tolist())}."
        )
    return codes
