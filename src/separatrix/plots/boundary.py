# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of a classifier with two columns, drawn over the plane.

"regions"       the predicted class                                                            PRML figure 4.3
"probability"   p(C_1 | x) for two classes, the largest p(C_k | x) for K classes               PRML figure 4.10
"uncertainty"   width of the 95 % credible interval of that probability

The outline of a region is the zero contour of its margin, the score of the class minus the largest score of the other
classes. Contours of the predicted codes would be staircases. If a model does not predict the class with the largest
score (because of a cost matrix or a reject option), margins are computed by blurring the codes by about one grid cell.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._arguments import check_option
from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.geometry import Grid, grid_predictions, grid_values
from separatrix.plots import drawing
from separatrix.plots.drawing import COLOURS, REJECTED, class_style
from separatrix.rows import as_source, as_table

BLUR_IN_CELLS = 0.9
RESPONSES = ("regions", "probability", "uncertainty")
INTERVAL_LEVEL = 0.95
CONTOURS = (0.1, 0.3, 0.5, 0.7, 0.9)
LEGEND_COLUMNS = 6
MAX_CLASSES_WITH_CONTOURS = 4  # with more classes only the outermost contour is drawn
MIN_CONTOUR_DISTANCE = 0.008  # fraction of the picture; closer contours would merge


def margins(model: Any, X: Any, codes: Codes, resolution: int) -> Float:
    """Margins (n, n, K + 1), positive inside the region of each class; the last margin is for rejected points."""
    K = len(model.classes_)
    for name in ("decision_function", "predict_proba"):
        score = getattr(model, name, None)
        if score is None:
            continue
        scores = np.asarray(grid_values(score, X, resolution=resolution).values, dtype=np.float64)
        scores = np.stack([-scores, scores], axis=-1) if scores.ndim == 2 else scores  # two classes have one activation
        order = np.sort(scores, axis=-1)
        best, second = order[..., -1:], order[..., -2:-1]
        lead = scores - np.where(scores == best, second, best)  # each score minus the largest of the others
        decided = np.take_along_axis(lead, np.minimum(codes, K - 1)[..., None], axis=-1)[..., 0]
        if scores.shape[-1] == K and (codes < K).all() and (decided >= 0).all():
            return np.concatenate([lead, np.full((*codes.shape, 1), -1.0)], axis=-1)
    return blurred(codes, K)


def blurred(codes: Codes, n_classes: int) -> Float:
    """Margins computed from the codes: the fraction of each class around each point, minus one half."""
    from scipy.ndimage import gaussian_filter

    inside = (codes[..., None] == np.arange(n_classes + 1)).astype(np.float64)
    return np.asarray(gaussian_filter(inside, BLUR_IN_CELLS, mode="nearest", axes=(0, 1)) - 0.5)


@dataclass(eq=False, repr=False)
class DecisionBoundaryDisplay:
    """Predicted class, probability or uncertainty at each point of the plane.

    Points that the model rejects are grey and hatched. A new figure gets a legend; in your own axes, call
    ``ax.legend()``. The axes are in ``ax_``, the figure in ``figure_``.

    Attributes
    ----------
    grid : Grid
        The points and the predicted codes; the code K means rejected.
    classes : ndarray of shape (K,)
        The labels.
    points : ndarray of shape (N, 2) or None
        The rows to draw.
    codes : ndarray of shape (N,) or None
        The classes of these rows.
    columns : tuple of str
        Names of the two columns.
    response : str
        "regions", "probability" or "uncertainty".
    values : ndarray of shape (n, n) or None
        The probability, or the width of its interval, at each point of the grid.
    margins : ndarray of shape (n, n, K + 1)
        Positive inside the region of each class and of rejected points.
    """

    grid: Grid
    classes: Array
    points: Float | None
    codes: Codes | None
    columns: tuple[str, str]
    response: str
    values: Float | None
    margins: Float

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        response: str = "regions",
        resolution: int = 300,
        ax: Any = None,
        title: str | None = None,
    ) -> DecisionBoundaryDisplay:
        """Predict on a grid around the rows of X, and draw.

        Parameters
        ----------
        model : classifier
            Fitted to two columns.
        X, y : table of shape (N, 2), and optional array-like of shape (N,)
            The grid covers the rows of X. The rows are drawn if their classes y are given.
        response : {"regions", "probability", "uncertainty"}, default "regions"
            Draw the predicted class, the probability of the second of two classes (of the most probable of K), or the
            width of the 95 % credible interval of that probability, for models with a posterior.
        resolution : int, default 300
            Number of points along each axis.
        ax, title : matplotlib axes and str, optional
            Axes to draw in (a new figure by default), and the title.
        """
        return cls._of(model, X, y, response, resolution).plot(ax, title=title)

    @classmethod
    def map_and_posterior(
        cls, model: Any, X: Any, y: Any = None, *, resolution: int = 200, axes: Any = None
    ) -> tuple[DecisionBoundaryDisplay, DecisionBoundaryDisplay]:
        """Draw probabilities at the posterior mode, and next to them probabilities averaged over the posterior.

        Averaging does not move the contour p = 0.5. It moves the other contours away from p = 0.5, most in regions
        with few rows.

        Parameters
        ----------
        model : BayesianLogisticRegression
            Fitted to two columns. The model is not changed.
        X, y, resolution
            As in `from_estimator`.
        axes : two matplotlib axes, optional
            Axes to draw in; a new figure by default.
        """
        if "predictive" not in model.get_params():
            raise DataError(
                f"{type(model).__name__} has no posterior to average over; fit a BayesianLogisticRegression instead."
            )
        averaged = "exact" if model.predictive == "map" else model.predictive
        X = as_table(X)  # a stream can be read only once, but X is read several times
        left, right = (
            cls._of(copy(model).set_params(predictive=rule), X, y, "probability", resolution)
            for rule in ("map", averaged)
        )
        one, two = drawing.new_panels(1, 2)[0] if axes is None else axes
        return left.plot(one, title="at the mean activation"), right.plot(two, title="averaged over the posterior")

    @classmethod
    def _of(cls, model: Any, X: Any, y: Any, response: str, resolution: int) -> DecisionBoundaryDisplay:
        check_option(cls.__name__, "response", response, RESPONSES)
        drawing.require_colours(model.classes_)
        X = as_table(X)  # a stream can be read only once, but X is read several times
        grid = grid_predictions(model, X, resolution=resolution)
        first, second = as_source(X).columns
        points, codes = (None, None) if y is None else drawing.read_rows(X, y, model.classes_)[:2]
        values = None
        if response != "regions":
            name = "predict_proba" if response == "probability" else "predict_interval"
            method = getattr(model, name, None)
            if method is None:
                raise DataError(
                    f"{type(model).__name__} has no {name}, which response={response!r} needs. Use response='regions' "
                    "(on the command line: --kind boundary), or fit a BayesianLogisticRegression."
                )
            arguments = () if response == "probability" else (INTERVAL_LEVEL,)
            found = grid_values(lambda points: method(points, *arguments), X, resolution=resolution).values
            if response == "uncertainty":
                width = found[..., 1] - found[..., 0]
                values = width if width.ndim == 2 else width.max(axis=-1)  # the widest interval of any class
            else:
                values = found[..., 1] if found.shape[-1] == 2 else found.max(axis=-1)
        inside = margins(model, X, grid.codes, resolution)
        return cls(grid, model.classes_, points, codes, (first, second), response, values, inside)

    def plot(self, ax: Any = None, *, title: str | None = None) -> DecisionBoundaryDisplay:
        """Draw the response, the boundaries and the rows."""
        is_own, ax, K = ax is None, drawing.new_axes(ax), len(self.classes)
        shown = np.unique(self.grid.codes).tolist()
        with drawing.look():
            if self.response != "regions":
                self._draw_values(ax)
            for k in shown if self.response == "regions" else ():
                inside = self.margins[..., k]
                if k < K:
                    style = {"facecolor": class_style(k).colour, "hatch": class_style(k).hatch, "alpha": 0.25}
                else:
                    style = dict(REJECTED)
                colour, hatch = style.pop("facecolor"), style.pop("hatch") or None
                levels = [0.0, max(float(inside.max()), 0.0) + 1.0]
                where = self.grid.x, self.grid.y, inside
                ax.contourf(*where, levels=levels, colors=[colour], hatches=[hatch]).set(**{"linewidth": 0.0} | style)
                self._draw_outline(ax, inside, width=1.0)
            if self.points is not None and self.codes is not None:
                drawing.scatter_classes(ax, self.points, self.codes, self.classes)
            elif self.response != "uncertainty":  # legend entries of the regions
                for k in (k for k in shown if k < K):
                    colour, hatch = class_style(k).colour, class_style(k).hatch
                    ax.fill([], [], color=colour, alpha=0.4, hatch=hatch, label=drawing.in_legend(self.classes[k]))
            if K in shown and self.response == "regions":
                ax.fill([], [], label="rejected", **REJECTED)
            handles, labels = ax.get_legend_handles_labels()
            if is_own and handles:
                ncols = drawing.legend_columns(labels, ax.figure.get_size_inches()[0], LEGEND_COLUMNS)
                ax.figure.legend(handles, labels, loc="outside lower center", ncols=ncols, markerscale=1.6)
        first, second = map(drawing.in_text, self.columns)
        ax.set(xlabel=first, ylabel=second, title=drawing.in_title(title))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_outline(self, ax: Any, inside: Float, *, width: float) -> None:
        if inside.min() < 0 < inside.max():
            ax.contour(self.grid.x, self.grid.y, inside, levels=[0.0], colors="black", linewidths=width)

    def _draw_values(self, ax: Any) -> None:
        """Draw shades, labelled contours, boundaries and a colour bar."""
        from matplotlib.colors import LinearSegmentedColormap, to_rgb
        from scipy.ndimage import maximum_filter

        assert self.values is not None, "only the response 'regions' has no values"
        K, x, y = len(self.classes), self.grid.x, self.grid.y
        if self.response == "probability" and K > 2:
            # Each region has the colour of its class, paler if the probability is smaller; reused colours are hatched.
            strength = 0.55 * np.clip((self.values - 1 / K) / (1 - 1 / K), 0, 1)[..., None]
            palette = [*(class_style(k).colour for k in range(K)), REJECTED["facecolor"]]
            colours = np.array([to_rgb(colour) for colour in palette])[self.grid.codes]
            image = {"origin": "lower", "aspect": "auto", "interpolation": "bilinear"}
            ax.imshow(1 - strength * (1 - colours), extent=(x[0], x[-1], y[0], y[-1]), **image)
            for k in range(len(COLOURS), K):
                inside = self.margins[..., k]
                if inside.max() > 0:
                    levels, hatch = [0.0, float(inside.max()) + 1.0], class_style(k).hatch
                    area = ax.contourf(x, y, inside, levels=levels, colors="none", hatches=[hatch])
                    area.set(edgecolor="white", linewidth=0.0)
        else:
            is_width = self.response == "uncertainty"
            two_classes = LinearSegmentedColormap.from_list("classes", [COLOURS[0], "white", COLOURS[1]])
            cmap = "Greys" if is_width else two_classes
            shades = ax.contourf(x, y, self.values, levels=np.linspace(0.0, 1.0, 11), cmap=cmap, alpha=0.5)
            width = f"width of the {INTERVAL_LEVEL:.0%} interval of the probability"
            label = width if is_width else f"p({drawing.in_text(self.classes[1])} | x)"
            ax.figure.colorbar(shades, ax=ax, label=label, ticks=CONTOURS)
        # Contours are masked at cells where they would merge, and in a neighbourhood of two cells, to avoid fragments.
        slope = maximum_filter(np.hypot(*np.gradient(self.values)), 5)
        one_picture_apart = np.diff(CONTOURS)[0] / len(x)
        gentle = np.ma.masked_where(slope > one_picture_apart / MIN_CONTOUR_DISTANCE, self.values)
        shown = CONTOURS if K <= MAX_CLASSES_WITH_CONTOURS else CONTOURS[-1:]
        ax.clabel(ax.contour(x, y, gentle, levels=shown, colors="black", linewidths=0.7), fontsize=9, fmt="%.1f")
        for k in range(K if K > 2 else 1):
            self._draw_outline(ax, self.margins[..., k], width=2.0)
