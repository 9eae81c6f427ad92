# SPDX-License-Identifier: BSD-3-Clause
"""Rows seen along the direction that a linear model looks in.                               PRML §4.1.4, figure 4.6

Two classes: a histogram of each along w, on a scale that neither the length of w nor the units of the columns change,

    z_n = (w'x_n + w0) / s,      s² = Σ_k Σ_{n in C_k} (w'x_n - w'm_k)² / N

standard deviations within the classes, from the threshold. The distance d of the two class means is then what Fisher's
criterion (4.26) is about, J = d² N_0 N_1 / N², and no direction has a larger one than Fisher's.

K classes: a scatter of the rows along the first two discriminants, where S_W is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._arguments import check_count
from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.geometry import linear_functions
from separatrix.plots.drawing import (
    Rows,
    class_style,
    look,
    new_axes,
    new_panels,
    read_rows,
    require_colours,
    scatter_classes,
)
from separatrix.rows import as_table

__all__ = ["ProjectionDisplay"]

UNIT = "s.d. within classes"

HATCHES = ("///", "\\\\\\", "...", "xx", "||", "--", "++", "oo")  # where histograms overlap, and in print


@dataclass(eq=False, repr=False)
class ProjectionDisplay:
    """Histograms of the classes along one direction, or a scatter along two.

    Attributes
    ----------
    z : ndarray of shape (N, 1) or (N, 2)
        Coordinates of the rows: in standard deviations within the classes, from the threshold (or, for K classes, from
        the mean of all rows).
    codes, classes : the class of each row (N,), and the labels (K,)
    means : ndarray of shape (K, 1) or (K, 2)
    direction : ndarray of shape (D,) or None
        The unit vector that two classes are seen along, where that is one in the space of the columns.
    n_bins : int

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.datasets import make_overlapping
    >>> from separatrix.plots.projection import ProjectionDisplay
    >>> X, y = make_overlapping(400, 5, distance=3.0)
    >>> display = ProjectionDisplay.from_estimator(sx.FisherDiscriminant().fit(X, y), X, y)
    >>> round(display.distance, 1), round(display.wrong, 2)
    (3.0, 0.06)
    """

    z: Float
    codes: Codes
    classes: Array
    means: Float
    direction: Float | None
    n_bins: int = 30

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, n_bins: int = 30, ax: Any = None, title: str | None = None
    ) -> ProjectionDisplay:
        """Project the rows as a fitted model does, and draw.

        Parameters
        ----------
        model : linear classifier of two classes, or FisherDiscriminant
            Fitted. A basis is welcome: w is then a direction in the space of basis functions.
        X : table of shape (N, D)
            Rows.
        y : array-like of shape (N,)
            Their classes.
        n_bins : int, default 30
            Bars of a histogram.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        title : str, optional
            Above the picture.
        """
        return cls._of(model, X, y, n_bins).plot(ax, title=title)

    @classmethod
    def beside_difference_of_means(
        cls, model: Any, X: Any, y: Any, *, n_bins: int = 30, axes: Any = None
    ) -> tuple[ProjectionDisplay, ProjectionDisplay]:
        """The direction m_1 - m_0, with a threshold halfway, beside that of a fitted model of two classes.

        The means lie farthest apart along the first, in the units of the columns; but where columns are correlated
        the classes are wide along it, and overlap.

        Parameters
        ----------
        model : linear classifier of two classes
            Fitted, without a basis.
        X : table of shape (N, D)
            Rows.
        y : array-like of shape (N,)
            Their classes.
        n_bins : int, default 30
            Bars of a histogram.
        axes : two matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        linear_functions(model)  # or an error: directions in two spaces do not compare
        X = as_table(X)  # which is read for both
        plain, fitted = cls._of_means(X, y, model.classes_, n_bins), cls._of(model, X, y, n_bins)
        left, right = new_panels(1, 2)[0] if axes is None else axes
        return plain.plot(left, title="along the difference of means"), fitted.plot(
            right, title=f"along w of {type(model).__name__}"
        )

    @classmethod
    def _of(cls, model: Any, X: Any, y: Any, n_bins: int) -> ProjectionDisplay:
        check_count(cls.__name__, "n_bins", n_bins, least=2)
        require_colours(model.classes_)
        X = as_table(X)  # which is read more than once
        rows = read_rows(X, y, model.classes_)
        if len(model.classes_) == 2:
            W = np.asarray(model.coef_, dtype=np.float64).ravel()
            direction = W / np.linalg.norm(W) if len(W) == rows.points.shape[1] else None
            return cls._along(model.decision_function(X), rows, model.classes_, direction, n_bins)
        z = _discriminants(model, X)[:, :2]
        return cls(z, rows.codes, model.classes_, _class_means(z, rows.codes, len(model.classes_)), None, n_bins)

    @classmethod
    def _of_means(cls, X: Any, y: Any, classes: Array, n_bins: int) -> ProjectionDisplay:
        rows = read_rows(X, y, classes)
        m = _class_means(rows.points, rows.codes, len(classes))
        w = m[1] - m[0]
        a = (rows.points - m.mean(axis=0)) @ w
        return cls._along(a, rows, classes, w / np.linalg.norm(w), n_bins)

    @classmethod
    def _along(cls, a: Float, rows: Rows, classes: Array, direction: Float | None, n_bins: int) -> ProjectionDisplay:
        """Activations of two classes, in standard deviations within them."""
        mean = _class_means(a[:, None], rows.codes, 2)
        spread = float(np.sqrt(np.mean((a - mean[rows.codes, 0]) ** 2)))
        if not spread > 0:
            raise DataError("All rows of a class lie at one point along w, so there is no histogram to draw.")
        return cls(a[:, None] / spread, rows.codes, classes, mean / spread, direction, n_bins)

    @property
    def distance(self) -> float:
        """Of the first two class means, in standard deviations within the classes."""
        return float(np.linalg.norm(self.means[1] - self.means[0]))

    @property
    def wrong(self) -> float:
        """Share of rows on the wrong side of the threshold; of two classes."""
        return float(np.mean((self.z[:, 0] > 0) != (self.codes == 1)))

    @property
    def edges(self) -> Float:
        """Between the bars of the histograms, which all classes share: (n_bins + 1,)."""
        return np.histogram_bin_edges(self.z[:, 0], bins=self.n_bins)

    @property
    def counts(self) -> Codes:
        """Rows of each class in each bar, (K, n_bins)."""
        edges = self.edges
        return np.array([np.histogram(self.z[self.codes == k, 0], edges)[0] for k in range(len(self.classes))])

    def plot(self, ax: Any = None, *, title: str | None = None) -> ProjectionDisplay:
        """Draw the histograms and the threshold, or the scatter."""
        ax = new_axes(ax)
        with look():
            self._draw(ax, title)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any, title: str | None) -> None:
        if self.z.shape[1] == 1:
            self._draw_histograms(ax)
        else:
            scatter_classes(ax, self.z, self.codes, self.classes)
            ax.scatter(*self.means.T, marker="+", s=160, color="black", linewidths=2, zorder=4, label="class means")
            ax.set(xlabel=f"first discriminant, {UNIT}", ylabel=f"second discriminant, {UNIT}")
        said = f"means {self.distance:.1f} s.d. apart, {self.wrong:.1%} of rows wrong" if len(self.classes) == 2 else ""
        ax.set_title("\n".join(filter(None, (title, said))), fontsize="medium")
        place = "upper center" if self.z.shape[1] == 1 else "best"
        ax.legend(frameon=False, loc=place, ncols=3 if self.z.shape[1] == 1 else 1, fontsize="small")

    def _draw_histograms(self, ax: Any) -> None:
        counts, edges = self.counts, self.edges
        for k, label in enumerate(self.classes):
            colour, hatch = class_style(k).colour, HATCHES[k % len(HATCHES)]
            ax.stairs(counts[k], edges, fill=True, color=colour, alpha=0.35)
            ax.stairs(counts[k], edges, color=colour, hatch=hatch, linewidth=1.5, label=str(label))
        if len(self.classes) == 2:
            ax.vlines(0, 0, 1.08 * counts.max(), color="black", linestyle="--", label="threshold")
        place = "threshold" if len(self.classes) == 2 else "mean of all rows"
        ax.set(xlabel=f"{UNIT}, from the {place}", ylabel="rows", ylim=(0, 1.2 * counts.max()))  # room for the legend
        ax.yaxis.get_major_locator().set_params(integer=True)


def _class_means(values: Float, codes: Codes, n_classes: int) -> Float:
    return np.array([values[codes == k].mean(axis=0) for k in range(n_classes)])


def _discriminants(model: Any, X: Any) -> Float:
    transform = getattr(model, "transform", None)
    if transform is None:
        raise DataError(
            f"{type(model).__name__} of {len(model.classes_)} classes has no discriminants to project on. Fit a "
            "FisherDiscriminant, or two classes."
        )
    return np.asarray(transform(X), dtype=np.float64)
