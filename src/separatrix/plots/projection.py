# SPDX-License-Identifier: BSD-3-Clause
"""Rows projected onto the weight vector of a linear model.                                   PRML §4.1.4, figure 4.6

For two classes, the plot shows a histogram of each class along w. The scale is invariant to the length of w and to
units: the distance from the threshold in within-class standard deviations,

    z_n = (w'x_n + w0) / s,      s² = Σ_k Σ_{n in C_k} (w'x_n - w'm_k)² / N

The distance d between the two class means gives Fisher's criterion (4.26), J = d² N_0 N_1 / N², which is largest for
Fisher's direction.

For K classes, it shows a scatter plot along the first two discriminants, scaled so that S_W is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count
from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.geometry import linear_functions
from separatrix.plots import drawing
from separatrix.plots.drawing import Rows
from separatrix.rows import as_table

AXIS_UNIT = "within-class s.d."
BAR_HATCHES = ("///", "\\\\\\", "...", "xx", "||", "--", "++", "oo")  # distinguish overlapping bars, even in print


@dataclass(eq=False, repr=False)
class ProjectionDisplay:
    """Histograms of the classes along one direction, or a scatter plot along two.

    Attributes
    ----------
    z : ndarray of shape (N, 1) or (N, 2)
        Coordinates of the rows in within-class standard deviations, relative to the threshold (two classes) or to the
        mean of all rows (K classes).
    codes, classes : ndarrays of shape (N,) and (K,)
        The class code of each row (N,), and the labels (K,).
    means : ndarray of shape (K, 1) or (K, 2)
        The mean of z in each class.
    direction : ndarray of shape (D,) or None
        Unit vector of the projection; None for K classes or with a basis.
    n_bins : int
        Number of bars.

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
        """Project the rows onto the weights or discriminants of a fitted model, and draw them.

        Parameters
        ----------
        model : linear classifier of two classes, FisherDiscriminant, or a TableClassifier of one of these
            A fitted model. If it has a basis, w is a direction in the space of basis functions; the w of a
            TableClassifier is a direction in the space of encoded columns.
        X, y : table of shape (N, D) and array-like of shape (N,)
            Rows and their classes.
        n_bins : int, default 30
            Number of bars.
        ax, title : matplotlib axes and str, optional
            Axes to draw in (a new figure by default), and the title.
        """
        return cls._of(model, X, y, n_bins).plot(ax, title=title)

    @classmethod
    def beside_difference_of_means(
        cls, model: Any, X: Any, y: Any, *, n_bins: int = 30, axes: Any = None
    ) -> tuple[ProjectionDisplay, ProjectionDisplay]:
        """Draw the projection onto the difference of the class means, and next to it the projection onto w.

        The class means are farthest apart along m_1 - m_0, but if columns are correlated, the classes are wide along
        that direction and overlap. The threshold along m_1 - m_0 is halfway between the means.

        Parameters
        ----------
        model : linear classifier of two classes, or a TableClassifier of one
            A fitted model without a basis.
        X, y, n_bins
            As in `from_estimator`.
        axes : two matplotlib axes, optional
            Axes to draw in; a new figure by default.
        """
        model, X = _encoded(model, X)
        linear_functions(model)  # raises if the model has a basis
        rows, fitted = drawing.read_rows(X, y, model.classes_), cls._of(model, X, y, n_bins)
        m = _class_means(rows.points, rows.codes, len(model.classes_))
        w = m[1] - m[0]
        a = (rows.points - m.mean(axis=0)) @ w
        plain = cls._along(a, rows, model.classes_, w / np.linalg.norm(w), n_bins)
        left, right = drawing.new_panels(1, 2)[0] if axes is None else axes
        plain.plot(left, title="along the difference of means")
        return plain, fitted.plot(right, title=f"along w of {type(model).__name__}")

    @classmethod
    def _of(cls, model: Any, X: Any, y: Any, n_bins: int) -> ProjectionDisplay:
        check_count(cls.__name__, "n_bins", n_bins, least=2)
        model, X = _encoded(model, X)
        drawing.require_colours(model.classes_)
        rows = drawing.read_rows(X, y, model.classes_)
        if len(model.classes_) == 2:
            W = np.asarray(model.coef_, dtype=np.float64).ravel()
            direction = W / np.linalg.norm(W) if len(W) == rows.points.shape[1] else None
            return cls._along(model.decision_function(X), rows, model.classes_, direction, n_bins)
        transform = getattr(model, "transform", None)
        if transform is None:
            raise DataError(
                f"{type(model).__name__} with {len(model.classes_)} classes has no discriminants to project onto. Fit "
                "a FisherDiscriminant, or two classes."
            )
        z = np.asarray(transform(X), dtype=np.float64)[:, :2]
        return cls(z, rows.codes, model.classes_, _class_means(z, rows.codes, len(model.classes_)), None, n_bins)

    @classmethod
    def _along(cls, a: Float, rows: Rows, classes: Array, direction: Float | None, n_bins: int) -> ProjectionDisplay:
        """Display of the activations ``a`` of two classes, in within-class standard deviations."""
        mean = _class_means(a[:, None], rows.codes, 2)
        spread = float(np.sqrt(np.mean((a - mean[rows.codes, 0]) ** 2)))
        if not spread > 0:
            raise DataError("All rows of each class have the same value of w'x, so there is no histogram to draw.")
        return cls(a[:, None] / spread, rows.codes, classes, mean / spread, direction, n_bins)

    @property
    def distance(self) -> float:
        """Distance between the first two class means, in within-class standard deviations."""
        return float(np.linalg.norm(self.means[1] - self.means[0]))

    @property
    def wrong(self) -> float:
        """Fraction of rows on the wrong side of the threshold (two classes)."""
        return float(np.mean((self.z[:, 0] > 0) != (self.codes == 1)))

    @property
    def edges(self) -> Float:
        """Edges (n_bins + 1,) of the bars, shared by all classes."""
        return np.histogram_bin_edges(self.z[:, 0], bins=self.n_bins)

    @property
    def counts(self) -> Codes:
        """Number of rows of each class in each bar, (K, n_bins)."""
        edges = self.edges
        return np.array([np.histogram(self.z[self.codes == k, 0], edges)[0] for k in range(len(self.classes))])

    def plot(self, ax: Any = None, *, title: str | None = None) -> ProjectionDisplay:
        """Draw the histograms and the threshold, or the scatter plot."""
        ax, is_pair, is_histogram = drawing.new_axes(ax), len(self.classes) == 2, self.z.shape[1] == 1
        with drawing.look():
            if is_histogram:
                counts, edges = self.counts, self.edges
                for k, label in enumerate(self.classes):
                    colour, hatch = drawing.class_style(k).colour, BAR_HATCHES[k % len(BAR_HATCHES)]
                    ax.stairs(counts[k], edges, fill=True, color=colour, alpha=0.35)
                    ax.stairs(
                        counts[k], edges, color=colour, hatch=hatch, linewidth=1.5, label=drawing.in_legend(label)
                    )
                if is_pair:
                    ax.vlines(0, 0, 1.08 * counts.max(), color="black", linestyle="--", label="threshold")
                origin = "threshold" if is_pair else "mean of all rows"
                labels = ax.get_legend_handles_labels()[1]
                n_columns = drawing.legend_columns(labels, ax.get_window_extent().width / ax.figure.dpi, 3)
                height = (0, (1.1 + 0.1 * -(-len(labels) // n_columns)) * counts.max())  # leaves room for the legend
                ax.set(xlabel=f"{AXIS_UNIT}, from the {origin}", ylabel="rows", ylim=height)
                ax.yaxis.get_major_locator().set_params(integer=True)
            else:
                drawing.scatter_classes(ax, self.z, self.codes, self.classes)
                ax.scatter(*self.means.T, marker="+", s=160, color="black", linewidths=2, zorder=4, label="class means")
                ax.set(xlabel=f"first discriminant, {AXIS_UNIT}", ylabel=f"second discriminant, {AXIS_UNIT}")
            found = f"means {self.distance:.1f} s.d. apart, {self.wrong:.1%} of rows misclassified" if is_pair else None
            ax.set_title("\n".join(filter(None, (drawing.in_title(title), found))), fontsize="medium")
            location = {"loc": "upper center", "ncols": n_columns} if is_histogram else {"loc": "best"}
            ax.legend(frameon=False, fontsize="small", **location)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _class_means(values: Float, codes: Codes, n_classes: int) -> Float:
    return np.array([values[codes == k].mean(axis=0) for k in range(n_classes)])


def _encoded(model: Any, X: Any) -> tuple[Any, Any]:
    """The model that has the weights, and its rows: those of a TableClassifier are encoded."""
    check_is_fitted(model)
    named = {*vars(model), *dir(type(model))}
    if named.isdisjoint({"coef_", "encoder_", "transform"}):
        raise DataError(
            f"{type(model).__name__} has no weights to project onto. Pass a linear model, or a TableClassifier of one, "
            "such as the model that a wrapper was made of."
        )
    encoder = getattr(model, "encoder_", None)
    # A stream can be read only once, but the rows are read several times.
    return (model, as_table(X)) if encoder is None else (model.estimator_, encoder.transform(X))
