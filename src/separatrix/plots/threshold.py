# SPDX-License-Identifier: BSD-3-Clause
"""Curves over the threshold of a decision: ROC, precision and recall, lift, net benefit, expected cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_option
from separatrix._text import listed
from separatrix.exceptions import DataError
from separatrix.plots.drawing import COLOURS, MUTED, in_legend, in_text, in_title, look, new_axes, true_codes
from separatrix.thresholds import CURVES, ThresholdCurve, threshold_curve

# Labels of the axes, and of the line without information.
LABELS = {
    "roc": ("false alarms: fraction of rows without the event", "cases found", "guessing"),
    "precision": ("recall: cases found", "precision", "guessing"),
    "lift": ("fraction of rows selected", "lift: cases found, relative to a random selection", "guessing"),
    "net benefit": ("threshold", "net benefit", "act on all rows"),
    "cost": ("threshold", "cost per decision", "the same decision for all rows"),
}
LOWEST_BENEFIT = -0.25  # of the net benefit that is drawn, relative to its maximum


@dataclass(eq=False, repr=False)
class ThresholdDisplay:
    """A curve over the threshold of a decision, with a band.

    Create it with `from_estimator` or `from_predictions`. The axes are in ``ax_``, the figure in ``figure_``.

    Attributes
    ----------
    curve : ThresholdCurve
        The curve, its band, and the curve without information.
    event : str
        The event that is predicted.
    name : str
        Name of the model, for a legend.
    """

    curve: ThresholdCurve
    event: str
    name: str = ""

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        kind: str = "roc",
        positive: Any = None,
        sample_weight: Any = None,
        costs: Any = None,
        level: float = 0.95,
        name: str = "",
        ax: Any = None,
        title: str | None = None,
    ) -> ThresholdDisplay:
        """Predict rows that the model has not seen, and draw a curve.

        Parameters
        ----------
        model : classifier
            A fitted model with ``predict_proba``.
        X, y : table and labels
            Rows that the model was not fitted to.
        kind : {"roc", "precision", "lift", "net benefit", "cost"}, default "roc"
            The curve; see `separatrix.thresholds`.
        positive : label, optional
            The class that is the event; by default the second of two classes. It is compared with all others.
        sample_weight : array of shape (N,), optional
            Frequency weights.
        costs : array of shape (2, 2), optional
            For "cost": rows are (no event, event), columns are (not selected, selected).
        level : float, default 0.95
            Level of the band.
        name : str, optional
            Name of the model, for a legend if several curves share their axes.
        ax, title : matplotlib axes and str, optional
            Axes to draw in (a new figure by default), and the title.

        Examples
        --------
        >>> import separatrix as sx
        >>> X, y = sx.datasets.make_overlapping(400, rng=0)
        >>> model = sx.LogisticRegression().fit(X[:200], y[:200])
        >>> display = sx.plots.ThresholdDisplay.from_estimator(model, X[200:], y[200:], kind="net benefit")
        >>> display.ax_.get_xlabel()
        'threshold'
        """
        check_is_fitted(model)
        if getattr(model, "predict_proba", None) is None:
            raise DataError(f"{type(model).__name__} has no probabilities (predict_proba), so it has no threshold.")
        classes = np.asarray(model.classes_)
        labels = classes.tolist()
        if positive is None and len(labels) > 2:
            raise ValueError(f"There are {len(labels)} classes: name the event, positive={labels[0]!r} for example.")
        if positive is not None and positive not in labels:
            raise ValueError(f"positive={positive!r} is not a class. The classes are {listed(labels)}.")
        k = 1 if positive is None else labels.index(positive)
        P = np.asarray(model.predict_proba(X))
        event = true_codes(y, classes, len(P)) == k
        return cls.from_predictions(
            event, P[:, k], kind=kind, event=str(labels[k]), sample_weight=sample_weight, costs=costs, level=level,
            name=name, ax=ax, title=title,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        happened: Any,
        p: Any,
        *,
        kind: str = "roc",
        event: str = "the event",
        sample_weight: Any = None,
        costs: Any = None,
        level: float = 0.95,
        name: str = "",
        ax: Any = None,
        title: str | None = None,
    ) -> ThresholdDisplay:
        """Draw a curve of probabilities ``p`` (N,) of an event that ``happened`` (N,) or not."""
        check_option("ThresholdDisplay", "kind", kind, CURVES)
        curve = threshold_curve(kind, p, happened, sample_weight, costs=costs, level=level)
        return cls(curve, event, name).plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> ThresholdDisplay:
        """Draw the curve over its band, and the line without information; draw again in ``ax`` to compare models."""
        ax, curve = new_axes(ax), self.curve
        (below, left, without), colour = LABELS[curve.kind], COLOURS[len(ax.collections) % len(COLOURS)]
        is_first = not ax.collections
        label = in_legend(self.name) if self.name else f"model, {100 * curve.level:g} % band"
        with look():
            if is_first:
                ax.plot(curve.x, curve.reference, color=MUTED, lw=1.2, ls="--", label=without)
            ax.fill_between(curve.x, curve.lower, curve.upper, color=colour, alpha=0.2, lw=0)
            ax.plot(curve.x, curve.y, color=colour, label=label)
            if curve.kind == "net benefit":
                top = max(1.2 * curve.prevalence, ax.get_ylim()[1] if not is_first else 0.0)
                ax.set_ylim(LOWEST_BENEFIT * top, top)
            elif curve.kind in ("roc", "precision"):
                ax.set_ylim(0.0, 1.02)
            event = in_text(self.event)
            ax.set(xlabel=below, ylabel=f"{left}, {event}" if curve.kind != "lift" else f"{left}\n({event})")
            ax.set_xlim(0.0, 1.0)
            ax.set_title(in_title(title))
            ax.grid(color="0.9")
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
