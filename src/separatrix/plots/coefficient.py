# SPDX-License-Identifier: BSD-3-Clause
"""Plot of the weights of a linear model with their intervals, sorted by absolute size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count
from separatrix._array import Float, to_dense
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.likelihoods import Probit
from separatrix.plots.drawing import (
    COLOURS,
    MARKERS,
    MUTED,
    SHORT_NAME_LETTERS,
    in_legend,
    in_text,
    in_title,
    look,
    new_figure,
    text_inches,
)
from separatrix.rows import as_source, as_table

WEIGHT_INCHES = 0.34  # height of the figure per weight
MIN_AXIS_INCHES = 3.6  # width of the figure without the names of columns and classes


@dataclass(eq=False, repr=False)
class CoefficientDisplay:
    """Effect of each column on the log-odds (or activation), with intervals if the model has them.

    Create it with `from_estimator`, `from_summary` or `from_values`. The intercept is not drawn. The axes are in
    ``ax_``, the figure in ``figure_``.

    Attributes
    ----------
    names : tuple of P str
        Names of the coefficients, sorted by absolute weight, largest first.
    weight, lower, upper : ndarray of shape (C, P)
        Weights and their intervals, one row per class (C = 1 for two classes). Those of more than two classes are
        differences from the mean of the classes. Intervals are NaN if the model has none.
    labels : tuple of C str
        The class to whose log-odds each row of weights refers.
    level : float
        Level of the intervals; NaN if the model has no intervals.
    per_spread : bool
        Whether weights are per standard deviation of their column instead of per unit.
    n_left_out : int
        Number of smaller weights that are not drawn.
    quantity : str
        "log-odds", or "activation" if the log-odds of the model are not linear; with more than two classes, against the
        mean of the classes.
    is_ranked_by_spread : bool
        Whether weights per unit are sorted by their effect per standard deviation of the column.
    """

    names: tuple[str, ...]
    weight: Float
    lower: Float
    upper: Float
    labels: tuple[str, ...]
    level: float
    per_spread: bool = False
    n_left_out: int = 0
    quantity: str = "log-odds"
    is_ranked_by_spread: bool = False

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, *, level: float = 0.95, most: int = 20, ax: Any = None, title: str | None = None
    ) -> CoefficientDisplay:
        """Draw the weights of a fitted linear model.

        Parameters
        ----------
        model : classifier
            A fitted model with ``coef_``, or a `TableClassifier` around such a model. A `TableClassifier` shows the
            levels of a category relative to their average over the rows. Intervals come from the model's ``summary``.
        X : table of shape (N, D), optional
            Training rows. If given, weights are per standard deviation of each column, which makes them comparable;
            otherwise they are per unit. They are sorted by their size per standard deviation if the model contains the
            standard deviations.
        level : float, default 0.95
            Level of the intervals.
        most : int, default 20
            Maximum number of weights to draw. The largest are drawn.
        ax, title : matplotlib axes and str, optional
            Axes to draw in (a new figure by default), and the title.

        Examples
        --------
        >>> import separatrix as sx
        >>> from sklearn.datasets import load_iris
        >>> iris = load_iris(as_frame=True)
        >>> model = sx.BayesianLogisticRegression().fit(iris.data, iris.target_names[iris.target])
        >>> display = sx.plots.CoefficientDisplay.from_estimator(model, iris.data)
        >>> display.names[0], display.labels
        ('petal length (cm)', ('setosa', 'versicolor', 'virginica'))
        """
        check_is_fitted(model)
        inner = getattr(model, "estimator_", model)
        if getattr(inner, "coef_", None) is None:
            raise DataError(f"{type(inner).__name__} has no weights (coef_) to draw.")
        lower = upper = None
        drawn: Any = slice(None)
        if getattr(model, "contrasts", None) is not None:  # a TableClassifier compares levels with their average
            found, drawn = model.contrasts(), ~model.is_new_level_  # weights of new levels follow the prior
            names = tuple(np.array(found.names, dtype=object)[drawn])
            W, (lower, upper) = found.weight[:, drawn], (bound[:, drawn] for bound in found.interval(level))
        else:
            W = np.atleast_2d(np.asarray(inner.coef_, dtype=np.float64))
            W = W - W.mean(axis=0) if len(W) > 1 else W  # adding a vector to all classes changes no prediction
            basis, stated = getattr(inner, "basis_", None), getattr(inner, "feature_names_in_", None)
            columns = tuple(f"x{d}" for d in range(inner.n_features_in_)) if stated is None else tuple(map(str, stated))
            names = columns if basis is None else tuple(basis.names(columns))
            if len(names) != W.shape[1]:
                problem = f"{counted(W.shape[1], 'weight')} but {len(names)} column names. Use from_values."
                raise DataError(f"{type(inner).__name__} has {problem}")
            try:
                found = inner.summary(level=level)  # lists the intercept of each class followed by its weights
            except (AttributeError, ValueError):  # no intervals, or they need rows that a saved model does not have
                found = None
            if found is not None and np.isfinite(found.coefficient).all():  # separated classes have infinite weights
                columns = (found.coefficient, found.lower, found.upper)
                W, lower, upper = (np.asarray(each).reshape(len(W), -1)[:, -W.shape[1] :] for each in columns)
        classes = getattr(inner, "classes_", None)
        labels = [""] if classes is None else classes[1:] if len(W) == 1 else classes
        # Log-odds are linear in x for every model with probabilities except the probit.
        is_probit = isinstance(getattr(inner, "likelihood_", None), Probit)
        quantity = "activation" if is_probit or getattr(inner, "predict_proba", None) is None else "log-odds"
        quantity += " against the mean of the classes" if len(W) > 1 else ""
        spread = None
        if X is not None:  # standard deviation of each feature after encoding and basis
            encoder, basis = getattr(model, "encoder_", None), getattr(inner, "basis_", None)
            source = as_source(as_table(X) if encoder is None else encoder.transform(X))
            spread = np.std((source if basis is None else source.mapped(basis)).map(to_dense), axis=0)[drawn]
        return cls.from_values(
            names, W, lower, upper, labels=labels, level=level, spread=spread, most=most,
            quantity=quantity, ranked_by=_spread_of(model, inner, drawn) if spread is None else None,
            ax=ax, title=title,
        )  # fmt: skip

    @classmethod
    def from_summary(
        cls, summary: Any, *, most: int = 20, ax: Any = None, title: str | None = None
    ) -> CoefficientDisplay:
        """Draw the result of ``model.summary()``; weights are per unit of each column.

        Examples
        --------
        >>> import separatrix as sx
        >>> X, y = sx.datasets.load_lobsters(return_X_y=True, as_frame=True)
        >>> display = sx.plots.CoefficientDisplay.from_summary(sx.BayesianLogisticRegression().fit(X, y).summary())
        >>> display.names, display.weight.round(2)
        (('size (mm)',), array([[0.19]]))
        """
        kept = [j for j, name in enumerate(summary.names) if name.rpartition(": ")[2] != "intercept"]
        columns = (np.asarray(c)[kept] for c in (summary.coefficient, summary.lower, summary.upper))
        names = [summary.names[j] for j in kept]
        return cls.from_values(
            names, *columns, level=summary.level, most=most, quantity="activation", ax=ax, title=title
        )

    @classmethod
    def from_values(
        cls,
        names: Sequence[str],
        weight: ArrayLike,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        labels: Sequence[Any] = ("",),
        level: float = 0.95,
        spread: ArrayLike | None = None,
        most: int = 20,
        quantity: str = "log-odds",
        ranked_by: ArrayLike | None = None,
        ax: Any = None,
        title: str | None = None,
    ) -> CoefficientDisplay:
        """Sort weights by absolute size, and draw them.

        Parameters
        ----------
        names, labels : sequences of P and C str
            Names of the columns, and one label per row of weights.
        weight, lower, upper : arrays of shape (P,) or (C, P)
            Weights and their intervals.
        spread : array of shape (P,), optional
            Standard deviation of each column, by which its weights are multiplied.
        quantity : str, default "log-odds"
            Label of the axis.
        ranked_by : array of shape (P,), optional
            Standard deviation of each column, if weights per unit are to be sorted by their effect per standard
            deviation.
        level, most, ax, title
            As in `from_estimator`.
        """
        check_count("CoefficientDisplay", "most", most)
        W = np.atleast_2d(np.asarray(weight, dtype=np.float64))
        bounds = [np.full_like(W, np.nan) if b is None else np.reshape(b, W.shape) for b in (lower, upper)]
        shape = len(labels), len(names)
        if W.shape != shape:
            raise DataError(f"weight has shape {W.shape}, expected {shape}: one row per label, one column per name.")
        if spread is not None and np.shape(spread) != shape[1:]:
            raise DataError(f"spread has shape {np.shape(spread)}, expected {shape[1:]}: one value per name.")
        if len(labels) > len(COLOURS):
            raise ValueError(f"There are {len(labels)} classes, but only {len(COLOURS)} colours. Draw fewer classes.")
        unit = 1.0 if spread is None else np.asarray(spread, dtype=np.float64)
        rank = unit if ranked_by is None else np.asarray(ranked_by, dtype=np.float64)
        order = np.argsort(-np.abs(W * rank).max(axis=0), kind="stable")[:most]
        W, low, high = ((values * unit)[:, order] for values in (W, *bounds))
        display = cls(
            tuple(names[j] for j in order), W, low, high, tuple(map(str, labels)),
            level if np.isfinite(low).any() else np.nan, spread is not None, len(names) - len(order), quantity,
            ranked_by is not None,
        )  # fmt: skip
        return display.plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> CoefficientDisplay:
        """Draw a dot and a whisker for each weight, and a line at zero."""
        C, P = self.weight.shape
        names, has_classes = [in_text(name) for name in self.names], self.labels != ("",)
        entries = [in_legend(label) if has_classes else None for label in self.labels]
        if ax is None:
            room = text_inches(names) + (text_inches(map(str, entries)) if C > 1 else 0.0)
            size = max(6.4, MIN_AXIS_INCHES + room), 1.4 + WEIGHT_INCHES * P * max(1.0, C / 2)
            ax = new_figure(size=size)[1]
        whose = f" of {in_text(self.labels[0], SHORT_NAME_LETTERS)}" if C == 1 and has_classes else ""
        unit = "standard deviation of the column" if self.per_spread else "unit of the column"
        bars = [] if np.isnan(self.level) else [f"bars: {100 * self.level:g} % interval, hollow if it contains zero"]
        rest = [f"{self.n_left_out} smaller weights are not shown"] if self.n_left_out else []
        rest += ["sorted by the weight of one standard deviation"] if self.is_ranked_by_spread else []
        with look():
            ax.axvline(0.0, color=MUTED, lw=1.2)
            for c, shift in enumerate([0.0] if C == 1 else np.linspace(-0.3, 0.3, C)):
                position = np.arange(P) + shift
                w, low, high = self.weight[c], self.lower[c], self.upper[c]
                filled = ~((low < 0) & (high > 0))  # true for a weight without interval (NaN)
                ax.hlines(position, low, high, color=COLOURS[c], lw=2.2)
                ax.plot(w[filled], position[filled], MARKERS[c], color=COLOURS[c], ms=7, label=entries[c])
                ax.plot(w[~filled], position[~filled], MARKERS[c], color=COLOURS[c], mfc="white", mew=1.8, ms=7)
            ax.set_yticks(np.arange(P), names)
            xlabel = "\n".join([f"{self.quantity}{whose} per {unit}", *bars, *rest])
            ax.set(xlabel=xlabel, ylim=(P - 0.5, -0.5), title=in_title(title))
            ax.grid(axis="x", color="0.9")
            if C > 1:
                ax.hlines(np.arange(1, P) - 0.5, 0.0, 1.0, color="0.9", lw=0.8, transform=ax.get_yaxis_transform())
                ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), title="class")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _spread_of(model: Any, inner: Any, drawn: Any) -> Float | None:
    """Standard deviation of each function with a weight, from the fit; None if the model does not contain them."""
    spread = getattr(model, "spread_", None)
    if spread is None:
        try:
            spread = inner.weight_distribution_.design.spread
        except (AttributeError, ValueError):  # no distribution, or one that needs the training rows
            return None
    return None if spread is None else np.asarray(spread, dtype=np.float64)[drawn]
