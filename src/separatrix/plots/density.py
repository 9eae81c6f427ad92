# SPDX-License-Identifier: BSD-3-Clause
"""Class densities of one column, and the class probabilities that result from them.             PRML §1.5.1, §4.2

p(C_k | x) = p(x | C_k) p(C_k) / Σ_j p(x | C_j) p(C_j)                               (4.57), (4.62)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_count
from separatrix._array import Array, Codes, Float, to_dense
from separatrix.exceptions import DataError
from separatrix.geometry import points_like
from separatrix.plots import drawing
from separatrix.rows import as_source, as_table

COUNT_FAMILIES = frozenset({"poisson", "bernoulli"})  # families of whole numbers, which have no density
TICK_HEIGHT = 0.028  # height of the ticks of one class, as a fraction of the axes
SIDE_MARGIN = 0.1  # empty space on each side, as a fraction of the range


class DrawnRows(NamedTuple):
    """Values (N,), class codes (N,), and a histogram with edges (B + 1,) and heights (K, B).

    Heights are on the scale of p(x | C_k) p(C_k): the bars of class k have the area N_k/N.
    """

    x: Float
    codes: Codes
    edges: Float
    heights: Float


@dataclass(eq=False, repr=False)
class ClassDensityDisplay:
    """Class densities of one column, each multiplied by its prior, and the class probabilities below.

    If the model has no ``log_density``, the upper panel shows only the histogram of the rows. Vertical lines mark where
    the most probable class changes. The axes are in ``ax_`` (the densities) and ``axes_``, the figure in ``figure_``.

    Attributes
    ----------
    x : ndarray of shape (G,)
        Points of the horizontal axis; integers if the model has a density of counts.
    joint : ndarray of shape (G, K) or None
        p(x | C_k) p(C_k).
    posterior : ndarray of shape (G, K)
        p(C_k | x).
    boundaries : ndarray
        The values of x at which the most probable class changes.
    classes : ndarray of shape (K,)
        The labels.
    rows : DrawnRows or None
        The rows to draw and their histogram.
    column : str
        Name of the column.
    is_count : bool
        Whether x contains integers.
    """

    x: Float
    joint: Float | None
    posterior: Float
    boundaries: Float
    classes: Array
    rows: DrawnRows | None
    column: str
    is_count: bool

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        resolution: int = 400,
        n_bins: int = 20,
        ax: Any = None,
        title: str | None = None,
    ) -> ClassDensityDisplay:
        """Evaluate densities and class probabilities over the range of the rows, and draw them.

        Parameters
        ----------
        model : classifier
            Fitted to one column. It needs ``predict_proba``; a generative model also has ``log_density``.
        X, y : table of shape (N, 1), and optional array-like of shape (N,)
            The axis covers the rows of X. The rows are drawn if their classes y are given.
        resolution : int, default 400
            Number of points along the axis.
        n_bins : int, default 20
            Number of bars of the histogram.
        ax, title : matplotlib axes (one, or one per panel) and str, optional
            Axes to draw in (a new figure by default), and the title.

        Examples
        --------
        >>> import separatrix as sx
        >>> X, y = sx.datasets.load_lobsters(return_X_y=True, as_frame=True)
        >>> model = sx.LinearDiscriminantAnalysis().fit(X, y)
        >>> sx.plots.ClassDensityDisplay.from_estimator(model, X, y).boundaries.round(1)
        array([40.4])
        """
        check_count("ClassDensityDisplay", "resolution", resolution, least=2)
        check_count("ClassDensityDisplay", "n_bins", n_bins)
        drawing.require_colours(model.classes_)
        X = as_table(X)
        source = as_source(X)
        if len(source.columns) != 1:
            raise DataError(
                f"ClassDensityDisplay needs one column, but X has {len(source.columns)}: "
                f"{', '.join(source.columns[:6])}. Fit the model to one of them."
            )
        rows, column = np.asarray(source.map(to_dense)[:, 0], dtype=np.float64), source.columns[0]
        seen = np.isfinite(rows)
        if not seen.any():
            raise DataError("X has no finite value, so there is no range to draw.")
        low, high = float(rows[seen].min()), float(rows[seen].max())
        is_count = bool(COUNT_FAMILIES & set(getattr(model, "families_", ())))
        room = SIDE_MARGIN * (high - low or 1.0)
        x = np.arange(low, high + 1.0) if is_count else np.linspace(low - room, high + room, resolution)
        points, joint = points_like(x[:, None], X), None
        posterior = np.asarray(model.predict_proba(points), dtype=np.float64)
        has_logs, has_density = (callable(getattr(model, name, None)) for name in ("predict_log_proba", "log_density"))
        with np.errstate(divide="ignore", under="ignore"):
            log_P = np.asarray(model.predict_log_proba(points), np.float64) if has_logs else np.log(posterior)
            if has_density:  # p(x, C_k) = p(C_k | x) p(x)
                joint = np.exp(log_P + np.asarray(model.log_density(points))[:, None])
        # Log-odds are interpolated linearly between grid points.
        winner = log_P.argmax(axis=1)
        i = np.flatnonzero(winner[1:] != winner[:-1])
        left, right = (log_P[i + step, winner[i]] - log_P[i + step, winner[i + 1]] for step in (0, 1))
        finite = np.isfinite(left) & np.isfinite(right) & (left > right)
        fraction = np.where(finite, left, 0.5) / np.where(finite, left - right, 1.0)
        boundaries = np.asarray(x[i] + fraction * (x[i + 1] - x[i]))
        classes, drawn = np.asarray(model.classes_), None
        if y is not None:
            codes = drawing.true_codes(y, classes, len(rows))
            edges = np.arange(low - 0.5, high + 1.0) if is_count else np.histogram_bin_edges(rows[seen], n_bins)
            counts = np.stack([np.histogram(rows[seen & (codes == k)], edges)[0] for k in range(len(classes))])
            drawn = DrawnRows(rows, codes, edges, counts / (seen.sum() * np.diff(edges)))
        display = cls(x, joint, posterior, boundaries, classes, drawn, column, is_count)
        return display.plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> ClassDensityDisplay:
        """Draw densities and rows in the upper panel, and class probabilities in the lower panel."""
        axes = drawing.split_axes(ax, [1.4, 1.0], size=(6.4, 5.6))
        with drawing.look():
            for k, label in enumerate(self.classes):
                style = drawing.class_style(k)
                if self.rows is not None:  # a histogram, and a line of ticks at the bottom
                    text = drawing.in_legend(label) if self.joint is None else None
                    bars = {"fill": True, "color": style.colour, "alpha": 0.3, "label": text}
                    axes[0].stairs(self.rows.heights[k], self.rows.edges, **bars)
                    x = self.rows.x[self.rows.codes == k]
                    ticks = {"color": style.colour, "ms": 7, "mew": 1.0, "transform": axes[0].get_xaxis_transform()}
                    axes[0].plot(x, np.full(len(x), TICK_HEIGHT * (k + 0.8)), "|", **ticks)
                # Neighbouring classes, and classes that reuse a colour, get different dashes.
                dashes = drawing.LINES[(k + k // len(drawing.COLOURS)) % len(drawing.LINES)]
                line: dict[str, Any] = {"color": style.colour, "ls": dashes, "label": drawing.in_legend(label)}
                if self.is_count:
                    line |= {"marker": style.marker, "lw": 1.0}
                if self.joint is not None:
                    axes[0].plot(self.x, self.joint[:, k], **line)
                axes[1].plot(self.x, self.posterior[:, k], **line)
            for panel in axes:
                for at in self.boundaries:
                    panel.axvline(at, color=drawing.MUTED, lw=1.2, ls="--")
            what = "probability" if self.is_count else f"density ({drawing.per_unit(self.column)})"
            axes[0].set(ylabel=what, title=drawing.in_title(title), ylim=(0.0, None))
            axes[0].legend(loc="best", title="p(x | class) p(class)" if self.joint is not None else "rows of class")
            axes[1].set(xlabel=drawing.in_text(self.column), ylabel="p(class | x)", ylim=(-0.03, 1.03))
            room = 0.5 if self.is_count else 0.0
            axes[1].set_xlim(self.x[0] - room, self.x[-1] + room)
        self.ax_, self.axes_, self.figure_ = axes[0], axes, axes[0].figure
        return self
