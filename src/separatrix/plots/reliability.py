# SPDX-License-Identifier: BSD-3-Clause
"""Reliability diagrams: whether events predicted with probability p happen in a fraction p of cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.metrics import Estimate, Reliability, ece, ece_if_calibrated, reliability
from separatrix.plots.drawing import COLOURS, MUTED, STANDOUT, in_text, in_title, look, split_axes, true_codes

HISTOGRAM_BINS = 25
MAX_EVENT_LETTERS = 28  # longest name of the event that fits below the histogram


@dataclass(eq=False, repr=False)
class ReliabilityDisplay:
    """Predicted probabilities against observed frequencies, with a histogram of the predictions below.

    With two classes, the event is the second class; with K classes, the event is that the most probable class is
    correct. The band around the diagonal contains the binomial interval of the observed frequency in each bin if the
    model is calibrated. Dots outside the band are highlighted.

    Create it with `from_estimator` or `from_predictions`. The axes are in ``ax_`` (the diagram) and ``axes_``, the
    figure is in ``figure_``.

    Attributes
    ----------
    curve : Reliability
        With ``predicted``, ``observed``, ``count``, ``lower``, ``upper`` of B bins of equal weight.
    band_lower, band_upper : ndarray of shape (B,)
        Binomial interval of each bin if the model is calibrated.
    ece : Estimate
        Expected calibration error and its standard error.
    ece_if_calibrated : float
        Expected ``ece`` for the same number of rows if every probability were correct.
    edges, hits, misses : ndarray of shape (H + 1,), (H,) and (H,)
        Histograms of the predicted probability, for rows in which the event happened and in which it did not happen.
    event : str
        Description of the event.
    """

    curve: Reliability
    band_lower: Float
    band_upper: Float
    ece: Estimate
    ece_if_calibrated: float
    edges: Float
    hits: Float
    misses: Float
    event: str

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        n_bins: int = 10,
        level: float = 0.95,
        ax: Any = None,
        title: str | None = None,
    ) -> ReliabilityDisplay:
        """Predict held-out rows, compare the predictions with the true classes, and draw the diagram.

        Parameters
        ----------
        model : classifier
            A fitted model with ``predict_proba``.
        X, y : table of shape (N, D) and array-like of shape (N,)
            Rows that were not used for training, and their classes. On training rows, probabilities look better
            calibrated than they are.
        sample_weight : array-like of shape (N,), optional
            Weight of each row.
        n_bins : int, default 10
            Number of bins of equal weight. Rows with the same probability are in the same bin.
        level : float, default 0.95
            Level of the band.
        ax, title : matplotlib axes (one, or one per panel) and str, optional
            Axes to draw in (a new figure by default), and the title.

        Examples
        --------
        >>> import separatrix as sx
        >>> X, y = sx.datasets.load_lobsters(return_X_y=True)
        >>> model = sx.BayesianLogisticRegression().fit(X[::2], y[::2])
        >>> display = sx.plots.ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2], n_bins=4)
        >>> round(display.ece.value, 2), round(display.ece_if_calibrated, 2)
        (0.07, 0.07)
        """
        P = np.asarray(model.predict_proba(X))
        codes = true_codes(y, model.classes_, len(P))
        return cls.from_predictions(
            P, codes, classes=model.classes_, sample_weight=sample_weight, n_bins=n_bins, level=level,
            ax=ax, title=title,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        P: Any,
        codes: Any,
        *,
        classes: Any = None,
        sample_weight: Any = None,
        n_bins: int = 10,
        level: float = 0.95,
        ax: Any = None,
        title: str | None = None,
    ) -> ReliabilityDisplay:
        """Compare probabilities with the true classes, and draw the diagram.

        Parameters
        ----------
        P : array-like of shape (N, K)
            Predicted probabilities.
        codes : array-like of N ints
            Index of each row's true class among the columns of P.
        classes : sequence of K labels, optional
            Used to name the event.
        sample_weight, n_bins, level, ax, title
            As in `from_estimator`.
        """
        from scipy.stats import binom

        curve = reliability(P, codes, sample_weight, n_bins=n_bins, level=level)
        error = ece(P, codes, sample_weight, n_bins=n_bins)
        chance = ece_if_calibrated(P, codes, sample_weight, n_bins=n_bins)
        P, codes = np.asarray(P, dtype=np.float64), np.asarray(codes)
        p, hit = (P[:, 1], codes == 1) if P.shape[1] == 2 else (P.max(axis=1), P.argmax(axis=1) == codes)
        w = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        edges, inside = np.linspace(0.0, 1.0, HISTOGRAM_BINS + 1), np.clip(p, 0.0, 1.0)  # rounding may exceed one
        hits, misses = (np.histogram(inside[at], edges, weights=w[at])[0] for at in (hit, ~hit))
        event = curve.event
        if classes is not None:
            if len(classes) != P.shape[1]:
                raise DataError(f"P has {counted(P.shape[1], 'column')} but there are {len(classes)} classes.")
            event = f"class {classes[1]}" if len(classes) == 2 else event
        # The binomial interval is slightly too wide, because predictions differ within a bin.
        n = np.maximum(np.rint(curve.count), 1.0)
        lower, upper = binom.interval(curve.level, n, np.clip(curve.predicted, 0.0, 1.0))
        display = cls(curve, lower / n, upper / n, error, chance, edges, hits, misses, event)
        return display.plot(ax, title=title)

    @property
    def outside(self) -> Array:
        """Whether the observed frequency of each bin is outside the band, (B,)."""
        observed = self.curve.observed
        return np.asarray((observed < self.band_lower) | (observed > self.band_upper))

    def plot(self, ax: Any = None, *, title: str | None = None) -> ReliabilityDisplay:
        """Draw the diagram and, below it, the histogram."""
        axes = split_axes(ax, [3.0, 1.0], size=(5.6, 6.2))
        (ax, below), curve, out = axes, self.curve, self.outside
        with look():
            ax.plot([0, 1], [0, 1], color=MUTED, lw=1.2, ls="--")
            band = f"{100 * curve.level:g} % interval of a calibrated model"
            ax.vlines(curve.predicted, self.band_lower, self.band_upper, color="0.82", lw=11, label=band)
            ax.plot(curve.predicted, curve.observed, color=COLOURS[0], lw=1.2, alpha=0.6)
            dots = {"color": COLOURS[0], "label": "bins with equal numbers of rows"}
            ax.plot(curve.predicted[~out], curve.observed[~out], "o", **dots)
            if out.any():
                ax.plot(curve.predicted[out], curve.observed[out], "s", ms=8, color=STANDOUT, label="outside the band")
            text = f"ECE {self.ece.value:.3f} (calibrated: {self.ece_if_calibrated:.3f})"
            ax.annotate(text, (0.98, 0.03), xycoords="axes fraction", ha="right", va="bottom")
            ax.set(ylabel="observed frequency", ylim=(-0.03, 1.03), xlim=(-0.02, 1.02), title=in_title(title))
            ax.legend(loc="upper left")
            parts = (self.misses, 0.0, COLOURS[4], "did not happen"), (self.hits, self.misses, COLOURS[0], "happened")
            for counts, base, colour, text in parts:
                bars = {"align": "edge", "color": colour, "edgecolor": "white", "linewidth": 0.4, "label": text}
                below.bar(self.edges[:-1], counts, np.diff(self.edges), bottom=base, **bars)
            below.set(xlabel=f"predicted probability of {in_text(self.event, MAX_EVENT_LETTERS)}", ylabel="rows")
            below.legend(loc="upper center", ncols=2, bbox_to_anchor=(0.5, 1.28), handlelength=1.2)
        self.ax_, self.axes_, self.figure_ = ax, axes, ax.figure
        return self
