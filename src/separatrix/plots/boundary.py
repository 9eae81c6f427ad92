# SPDX-License-Identifier: BSD-3-Clause
"""Where one class gives way to another: a number for each class and point of a grid, zero on the outline of its region.

Codes of predictions alone would draw stairs. The difference between the score of a class and the best of its rivals is
smooth, crosses zero where the prediction changes, and a contour of it is a line. A rule that does not decide for the
largest score, as one of costs or one that rejects, has no such number: there, codes are blurred by a cell or so.

----

What a classifier says at each point of the plane: its class, how probable that is, and how sure of it the fit is.

"regions"       the class predicted                                                            PRML figure 4.3
"probability"   p(C_1 | x), or of K classes that of the most probable one                      PRML figure 4.12
"uncertainty"   width of the 95 % credible interval of that probability: what the posterior of the weights adds
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
from separatrix.plots.drawing import (
    COLOURS,
    REJECTED,
    class_style,
    look,
    new_axes,
    new_panels,
    read_rows,
    require_colours,
    scatter_classes,
)
from separatrix.rows import as_source, as_table

BLUR = 0.9  # cells


def margins(model: Any, X: Any, codes: Codes, resolution: int) -> Float:
    """(n, n, K + 1): above zero in the region of each class, and last in the one where the model rejects."""
    K = len(model.classes_)
    for name in ("decision_function", "predict_proba"):
        ask = getattr(model, name, None)
        if ask is None:
            continue
        scores = _of_classes(np.asarray(grid_values(ask, X, resolution=resolution).values, dtype=np.float64))
        lead = _lead(scores)
        decided = np.take_along_axis(lead, np.minimum(codes, K - 1)[..., None], axis=-1)[..., 0]
        if scores.shape[-1] == K and (codes < K).all() and (decided >= 0).all():
            return np.concatenate([lead, np.full((*codes.shape, 1), -1.0)], axis=-1)
    return blurred(codes, K)


def blurred(codes: Codes, n_classes: int) -> Float:
    """The same from codes alone: a half less than the share of each class around each point."""
    from scipy.ndimage import gaussian_filter

    inside = [gaussian_filter((codes == k).astype(np.float64), BLUR, mode="nearest") for k in range(n_classes + 1)]
    return np.stack(inside, axis=-1) - 0.5


def _of_classes(scores: Float) -> Float:
    """One for each class: of two, a single activation is for the second and against the first."""
    return np.stack([-scores, scores], axis=-1) if scores.ndim == 2 else scores


def _lead(scores: Float) -> Float:
    """Each score less the largest of the others."""
    order = np.sort(scores, axis=-1)
    best, second = order[..., -1:], order[..., -2:-1]
    return np.asarray(scores - np.where(scores == best, second, best))


RESPONSES = ("regions", "probability", "uncertainty")
LEVEL = 0.95  # of the credible interval
CONTOURS = (0.1, 0.3, 0.5, 0.7, 0.9)
N_ABREAST = 6  # entries of the legend
N_CROWDED = 4  # classes, beyond which one contour is enough
CLOSEST = 0.008  # of the picture, between two contours; nearer ones would merge


@dataclass(eq=False, repr=False)
class DecisionBoundaryDisplay:
    """Which class a fitted model predicts at each point of the plane, and how sure it is.

    Build it with `from_estimator`, which computes; `plot` only draws, and keeps its artists in ``ax_`` and ``figure_``.
    Where the model predicts none of its classes, as a reject label is, the plane is grey and hatched. A figure of its
    own has a legend; in axes that were given, ``ax.legend()`` draws one, of the same entries.

    Attributes
    ----------
    grid : the points and the predicted codes, K where the model rejects
    classes : ndarray of shape (K,)
    points : ndarray of shape (N, 2) or None, the rows to draw
    codes : ndarray of shape (N,) or None, their classes
    columns : names of the two columns
    response : "regions", "probability" or "uncertainty"
    values : ndarray of shape (n, n) or None, the probability or the width of its interval at each point of the grid
    margins : ndarray of shape (n, n, K + 1) or None, above zero in the region of each class, and in that of rejects
    """

    grid: Grid
    classes: Array
    points: Float | None
    codes: Codes | None
    columns: tuple[str, str]
    response: str = "regions"
    values: Float | None = None
    margins: Float | None = None

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
        """Predict over the plane that holds the rows of X, and draw.

        Parameters
        ----------
        model : classifier
            Fitted, of two columns.
        X : table of shape (N, 2)
            Sets the extent; drawn on top if ``y`` is given.
        y : array-like of shape (N,), optional
            The true classes of the rows.
        response : {"regions", "probability", "uncertainty"}, default "regions"
            The predicted class; the probability of the second of two classes, or of the most probable of K; or the
            width of its 95 % credible interval, for models that have a posterior.
        resolution : int, default 300
            Points along each axis.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        title : str, optional
            Above the picture.
        """
        return cls._of(model, X, y, response, resolution).plot(ax, title=title)

    @classmethod
    def map_and_posterior(
        cls, model: Any, X: Any, y: Any = None, *, resolution: int = 200, axes: Any = None
    ) -> tuple[DecisionBoundaryDisplay, DecisionBoundaryDisplay]:
        """Probabilities at the mode of the posterior beside those averaged over it, of one Bayesian fit.

        Averaging leaves the contour of one half where it was, and moves the others apart: most where rows are few.

        Parameters
        ----------
        model : BayesianLogisticRegression
            Fitted, of two columns; it is not changed.
        X : table of shape (N, 2)
            Sets the extent; drawn on top if ``y`` is given.
        y : array-like of shape (N,), optional
            The true classes of the rows.
        resolution : int, default 200
            Points along each axis.
        axes : two matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        if "predictive" not in model.get_params():
            raise DataError(
                f"{type(model).__name__} has no posterior to average over; fit a BayesianLogisticRegression instead."
            )
        averaged = "exact" if model.predictive == "map" else model.predictive
        X = as_table(X)  # which is read for both
        left, right = (
            cls._of(copy(model).set_params(predictive=rule), X, y, "probability", resolution)
            for rule in ("map", averaged)
        )
        one, two = new_panels(1, 2)[0] if axes is None else axes
        return left.plot(one, title="most probable weights (MAP)"), right.plot(two, title="averaged over the posterior")

    @classmethod
    def _of(cls, model: Any, X: Any, y: Any, response: str, resolution: int) -> DecisionBoundaryDisplay:
        check_option(cls.__name__, "response", response, RESPONSES)
        require_colours(model.classes_)
        X = as_table(X)  # which is read more than once
        grid = grid_predictions(model, X, resolution=resolution)
        first, second = as_source(X).columns
        points, codes = (None, None) if y is None else read_rows(X, y, model.classes_)[:2]
        values = None if response == "regions" else _values(model, X, response, resolution)
        inside = margins(model, X, grid.codes, resolution)
        return cls(grid, model.classes_, points, codes, (first, second), response, values, inside)

    def plot(self, ax: Any = None, *, title: str | None = None) -> DecisionBoundaryDisplay:
        """Draw the response, the boundaries and the rows."""
        is_own, ax = ax is None, new_axes(ax)
        with look():
            self._draw(ax)
            handles, labels = ax.get_legend_handles_labels()
            if is_own and handles:
                ncols = min(len(handles), N_ABREAST)
                ax.figure.legend(handles, labels, loc="outside lower center", ncols=ncols, markerscale=1.6)
        ax.set(xlabel=self.columns[0], ylabel=self.columns[1], title=title or "")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any) -> None:
        if self.response == "regions":
            for k in np.unique(self.grid.codes):
                self._draw_region(ax, int(k))
        else:
            self._draw_values(ax)
        if self.points is not None and self.codes is not None:
            scatter_classes(ax, self.points, self.codes, self.classes)
        elif self.response != "uncertainty":
            self._name_regions(ax)
        if (self.grid.codes == len(self.classes)).any() and self.response == "regions":
            ax.fill([], [], label="rejected", **REJECTED)

    def _draw_region(self, ax: Any, k: int) -> None:
        """One region and its outline: apart from the others, since codes have no order to draw levels by."""
        inside = self._inside(k)
        where, levels = (self.grid.x, self.grid.y, inside), [0.0, max(float(inside.max()), 0.0) + 1.0]
        if k < len(self.classes):
            style = class_style(k)
            area = ax.contourf(*where, levels=levels, colors=[style.colour], hatches=[style.hatch or None], alpha=0.25)
            area.set(linewidth=0.0)
        else:
            area = ax.contourf(*where, levels=levels, colors=[REJECTED["facecolor"]], hatches=[REJECTED["hatch"]])
            area.set(edgecolor=REJECTED["edgecolor"], linewidth=REJECTED["linewidth"], alpha=REJECTED["alpha"])
        self._draw_outline(ax, inside, width=1.0)

    def _inside(self, k: int) -> Float:
        """Above zero in the region of class k."""
        every = blurred(self.grid.codes, len(self.classes)) if self.margins is None else self.margins
        return np.asarray(every[..., k])

    def _draw_outline(self, ax: Any, inside: Float, *, width: float) -> None:
        if inside.min() < 0 < inside.max():
            ax.contour(self.grid.x, self.grid.y, inside, levels=[0.0], colors="black", linewidths=width)

    def _name_regions(self, ax: Any) -> None:
        """Entries of the legend, where no rows are drawn that would have them."""
        for k in np.unique(self.grid.codes[self.grid.codes < len(self.classes)]).tolist():
            style = class_style(k)
            ax.fill([], [], color=style.colour, alpha=0.4, hatch=style.hatch, label=str(self.classes[k]))

    def _draw_values(self, ax: Any) -> None:
        """Shades, labelled contours, boundaries, and what the numbers are."""
        where = self.grid.x, self.grid.y, self.values
        if self.response == "probability" and len(self.classes) > 2:
            self._draw_blend(ax)
            self._draw_hatches(ax)
        else:
            shades = ax.contourf(*where, levels=np.linspace(0.0, 1.0, 11), cmap=self._ramp(), alpha=0.5)
            ax.figure.colorbar(shades, ax=ax, label=self._said(), ticks=CONTOURS)
        levels = CONTOURS if len(self.classes) <= N_CROWDED else CONTOURS[-1:]
        lines = ax.contour(*where[:2], self._gentle(), levels=levels, colors="black", linewidths=0.7)
        ax.clabel(lines, fontsize=9, fmt="%.1f")
        for k in range(len(self.classes) if len(self.classes) > 2 else 1):
            self._draw_outline(ax, self._inside(k), width=2.0)

    def _gentle(self) -> Any:
        """The values, but for where they rise so steeply that contours would merge."""
        assert self.values is not None, "a response with values"
        from scipy.ndimage import maximum_filter

        slope = maximum_filter(
            np.hypot(*np.gradient(self.values)), 5
        )  # for each cell; around it, so that lines end once
        apart = np.diff(CONTOURS)[0] / len(self.grid.x)  # as steep as contours that are the width of the picture apart
        return np.ma.masked_where(slope > apart / CLOSEST, self.values)

    def _draw_blend(self, ax: Any) -> None:
        """Each region in the colour of its class, the paler the less probable that class is."""
        from matplotlib.colors import to_rgb

        assert self.values is not None, "a response with values"
        K = len(self.classes)
        strength = 0.55 * np.clip((self.values - 1 / K) / (1 - 1 / K), 0, 1)[..., None]
        palette = [*(class_style(k).colour for k in range(K)), REJECTED["facecolor"]]
        colours = np.array([to_rgb(colour) for colour in palette])[self.grid.codes]
        x, y = self.grid.x, self.grid.y
        look = {"origin": "lower", "aspect": "auto", "interpolation": "bilinear"}
        ax.imshow(1 - strength * (1 - colours), extent=(x[0], x[-1], y[0], y[-1]), **look)

    def _draw_hatches(self, ax: Any) -> None:
        """Over the regions of classes whose colour another one has, too."""
        for k in range(len(COLOURS), len(self.classes)):
            inside = self._inside(k)
            if inside.max() > 0:
                levels = [0.0, float(inside.max()) + 1.0]
                area = ax.contourf(
                    self.grid.x, self.grid.y, inside, levels=levels, colors="none", hatches=[class_style(k).hatch]
                )
                area.set(edgecolor="white", linewidth=0.0)

    def _ramp(self) -> Any:
        """Two classes: from the colour of one over white to that of the other; a width in grey."""
        from matplotlib.colors import LinearSegmentedColormap

        if self.response == "uncertainty":
            return "Greys"
        return LinearSegmentedColormap.from_list("classes", [COLOURS[0], "white", COLOURS[1]])

    def _said(self) -> str:
        if self.response == "uncertainty":
            return f"width of the {LEVEL:.0%} interval of the probability"
        return f"p({self.classes[1]} | x)"


def _values(model: Any, X: Any, response: str, resolution: int) -> Float:
    """p(C_1 | x), the largest p(C_k | x), or the widest interval of any of them, on the grid: (n, n)."""
    if response == "probability":
        P = grid_values(_method(model, "predict_proba", "probabilities"), X, resolution=resolution).values
        return np.asarray(P[..., 1] if P.shape[-1] == 2 else P.max(axis=-1))
    interval = _method(model, "predict_interval", "intervals for its probabilities")
    bounds = grid_values(lambda points: interval(points, LEVEL), X, resolution=resolution).values
    width = bounds[..., 1] - bounds[..., 0]
    return np.asarray(width if width.ndim == 2 else width.max(axis=-1))


def _method(model: Any, name: str, what: str) -> Any:
    method = getattr(model, name, None)
    if method is None:
        raise DataError(
            f"{type(model).__name__} has no {name}, so there are no {what} to draw. Draw the regions of its classes "
            "instead (response='regions', or the kind 'boundary' on the command line), or fit a "
            "BayesianLogisticRegression."
        )
    return method
