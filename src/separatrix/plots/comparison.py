# SPDX-License-Identifier: BSD-3-Clause
"""Models compared: held-out log-likelihoods and log evidences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix.plots.drawing import COLOURS, MUTED, look, split_axes

__all__ = ["ComparisonDisplay"]

FIGURE_INCHES = 9.0  # width of the figure
MODEL_INCHES = 0.42  # height of the line of one model
LEGEND_INCHES = 0.55  # distance of the legend from the axes


@dataclass(eq=False, repr=False)
class ComparisonDisplay:
    """Mean test log-likelihoods with standard errors, and log evidences in a second panel.

    Create it with `from_comparison`, or by ``comparison.plot()``; `plot` only draws, and keeps its artists in ``ax_``
    (the left panel), ``axes_`` and ``figure_``.

    Whiskers are one standard error of the mean over test rows. Rows that are hard for one model are hard for all, so
    whiskers may overlap even if the difference is certain. A dot is filled if the *paired* difference to the best model
    is within two of its own standard errors, and hollow if the model is worse than that.

    Attributes
    ----------
    names : tuple of str, best first
    log_likelihood, standard_error, train : ndarray of shape (M,)
        Mean per row in nats; -inf if a probability was zero, NaN if the model has no probabilities.
    close : ndarray of bool
        Whether the paired difference to the best is within two standard errors.
    log_evidence, probability : ndarray of shape (M,)
        Log evidence and posterior probability of each model; NaN if the model has no evidence.
    failed : ndarray of bool
    """

    names: tuple[str, ...]
    log_likelihood: Float
    standard_error: Float
    train: Float
    close: Array
    log_evidence: Float
    probability: Float
    failed: Array

    @classmethod
    def from_comparison(cls, comparison: Any, *, ax: Any = None, title: str | None = None) -> ComparisonDisplay:
        """Read the scores from a comparison, and draw.

        Parameters
        ----------
        comparison : Comparison
            Result of `separatrix.compare`.
        ax : matplotlib axes, or one for each panel, optional
            Where to draw; a new figure by default.
        title : str, optional
            Above the left panel.

        Examples
        --------
        >>> import separatrix as sx
        >>> X, y = sx.datasets.load_lobsters(return_X_y=True)
        >>> models = {"line": sx.BayesianLogisticRegression(), "LDA": sx.LinearDiscriminantAnalysis()}
        >>> display = sx.plots.ComparisonDisplay.from_comparison(sx.compare(models, X, y))
        >>> display.names, display.close.tolist()
        (('line', 'LDA'), [True, True])
        """
        found = comparison.to_dict()
        comparable = np.isfinite(found["probability"])
        display = cls(
            tuple(comparison.names),
            found["test_log_likelihood"],
            found["test_log_likelihood_se"],
            found["train_log_likelihood"],
            _close(found["difference"], found["difference_se"]),
            np.where(comparable, found["log_evidence"], np.nan),
            found["probability"],
            found["failure"] != "",
        )
        return display.plot(ax, title=title)

    @property
    def has_evidence(self) -> bool:
        """Whether any model has an evidence that can be compared."""
        return bool(np.isfinite(self.log_evidence).any())

    def plot(self, ax: Any = None, *, title: str | None = None) -> ComparisonDisplay:
        """Draw the test log-likelihoods and, if there are any, the evidences."""
        size = (FIGURE_INCHES if self.has_evidence else 0.65 * FIGURE_INCHES, 1.7 + MODEL_INCHES * len(self.names))
        axes = split_axes(ax, [3.0, 2.0] if self.has_evidence else [1.0], across=True, size=size)
        with look():
            self._draw_likelihoods(axes[0], title)
            if self.has_evidence:
                self._draw_evidences(axes[1])
        self.ax_, self.axes_, self.figure_ = axes[0], axes, axes[0].figure
        return self

    def _draw_likelihoods(self, ax: Any, title: str | None) -> None:
        place = np.arange(len(self.names))
        drawn = np.isfinite(self.log_likelihood)
        train = drawn & np.isfinite(self.train)
        ax.plot(self.train[train], place[train], "|", ms=11, mew=2, color=MUTED, label="training rows")
        for which, face, text in ((self.close, COLOURS[0], "test rows"), (~self.close, "white", "worse than the best")):
            at = drawn & which
            if at.any():
                ax.errorbar(
                    self.log_likelihood[at], place[at], xerr=np.nan_to_num(self.standard_error[at]), fmt="o",
                    color=COLOURS[0], mfc=face, mew=1.8, ms=8, capsize=4, label=f"{text} ± standard error",
                )  # fmt: skip
        for i in map(int, np.flatnonzero(~drawn)):
            ax.annotate(self._missing(i), (0.02, i), xycoords=("axes fraction", "data"), va="center", color=MUTED)
        ax.set_yticks(place, self.names)
        ax.set(xlabel="mean log-likelihood (nats per row)", ylim=(len(self.names) - 0.5, -0.5), title=title or "")
        ax.grid(axis="x", color="0.9")
        ax.legend(loc="upper left", bbox_to_anchor=(-0.02, -LEGEND_INCHES / (MODEL_INCHES * len(self.names))))

    def _missing(self, at: int) -> str:
        if self.failed[at]:
            return "failed"
        return (
            "no probabilities" if np.isnan(self.log_likelihood[at]) else "← −∞: probability zero for an observed class"
        )

    def _draw_evidences(self, ax: Any) -> None:
        place = np.flatnonzero(np.isfinite(self.log_evidence))
        below = self.log_evidence - np.nanmax(self.log_evidence)
        ax.plot(below[place], place, "D", color=COLOURS[2], ms=8)
        for at in place:
            ax.annotate(
                f"{self.probability[at]:.2g}", (below[at], at), xytext=(-10, 0), textcoords="offset points",
                ha="right", va="center", fontsize=10,
            )  # fmt: skip
        ax.margins(x=0.25)
        best = np.nanmax(self.log_evidence)
        ax.set_xlabel(f"ln p(D) − ({best:.1f}), of the best (nats)\nlabels: p(model | D)".replace("-", "−"))
        ax.locator_params(axis="x", nbins=5)
        ax.tick_params(left=False, labelleft=False)
        ax.grid(axis="x", color="0.9")


def _close(difference: Float, error: Float) -> Array:
    """Whether each paired difference to the best is within two standard errors of zero; true for the best itself."""
    known = np.isfinite(difference)
    return np.asarray(known & (np.abs(np.where(known, difference, 0.0)) <= 2 * np.nan_to_num(error)))
