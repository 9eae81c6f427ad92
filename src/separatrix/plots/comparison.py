# SPDX-License-Identifier: BSD-3-Clause
"""Plot of a model comparison: held-out log-likelihoods and log evidences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix.plots.drawing import COLOURS, MUTED, in_text, in_title, look, split_axes

FIGURE_INCHES = 9.0  # width of the figure
MODEL_INCHES = 0.42  # height of the figure per model
ZERO_PROBABILITY = "← −∞: probability zero for an observed class"


@dataclass(eq=False, repr=False)
class ComparisonDisplay:
    """Mean test log-likelihoods with standard errors, and log evidences in a second panel.

    Create it with ``comparison.plot()``. Its axes are ``ax_`` (left panel) and ``axes_``; its figure is ``figure_``.

    Whiskers are one standard error of the mean over test rows. Rows that are hard for one model are hard for all, so
    whiskers may overlap even if the difference is certain. A dot is filled if the paired difference to the best model
    is at most two standard errors of that difference, and hollow otherwise.

    Attributes
    ----------
    names : tuple of str
        Best first.
    log_likelihood, standard_error, train : ndarray of shape (M,)
        Mean per row in nats; -inf if a probability was zero, NaN if the model has no probabilities.
    close : ndarray of bool
        Whether the paired difference to the best is within two standard errors.
    log_evidence, probability : ndarray of shape (M,)
        ln p(D) and p(model | D); NaN if a model has no evidence.
    failed : ndarray of bool
        Whether the fit of each model failed.
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
        """Draw the scores of a comparison.

        Parameters
        ----------
        comparison : Comparison
            Result of `separatrix.compare`.
        ax, title : matplotlib axes (one, or one per panel) and str, optional
            Axes to draw in (a new figure by default), and the title of the left panel.

        Examples
        --------
        >>> import separatrix as sx
        >>> X, y = sx.datasets.load_lobsters(return_X_y=True)
        >>> models = {"line": sx.BayesianLogisticRegression(tune=None), "LDA": sx.LinearDiscriminantAnalysis()}
        >>> display = sx.plots.ComparisonDisplay.from_comparison(sx.compare(models, X, y))
        >>> display.names, display.close.tolist()
        (('line', 'LDA'), [True, True])
        """
        found = comparison.to_dict()
        comparable, paired = np.isfinite(found["probability"]), np.isfinite(found["difference"])
        display = cls(
            tuple(comparison.names),
            found["test_log_likelihood"],
            found["test_log_likelihood_se"],
            found["train_log_likelihood"],
            paired & np.isin(comparison.names, [*comparison.names[:1], *comparison.near_best()]),
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
        """Draw the test log-likelihoods and, if any model has one, the evidences."""
        is_own = ax is None
        size = (FIGURE_INCHES if self.has_evidence else 0.65 * FIGURE_INCHES, 1.7 + MODEL_INCHES * len(self.names))
        axes = split_axes(ax, [3.0, 2.0] if self.has_evidence else [1.0], across=True, size=size)
        position, drawn = np.arange(len(self.names)), np.isfinite(self.log_likelihood)
        train = drawn & np.isfinite(self.train)
        with look():
            ax = axes[0]
            ax.plot(self.train[train], position[train], "|", ms=11, mew=2, color=MUTED, label="training rows")
            dots = (self.close, COLOURS[0], "test rows"), (~self.close, "white", "worse than the best")
            for which, face, text in dots:
                at = drawn & which
                if at.any():
                    ax.errorbar(
                        self.log_likelihood[at], position[at], xerr=np.nan_to_num(self.standard_error[at]), fmt="o",
                        color=COLOURS[0], mfc=face, mew=1.8, ms=8, capsize=4, label=f"{text} ± standard error",
                    )  # fmt: skip
            for i in map(int, np.flatnonzero(~drawn)):
                impossible = "no probabilities" if np.isnan(self.log_likelihood[i]) else ZERO_PROBABILITY
                reason = "failed" if self.failed[i] else impossible
                ax.annotate(reason, (0.02, i), xycoords=("axes fraction", "data"), va="center", color=MUTED)
            ax.set_yticks(position, [in_text(name) for name in self.names])
            ax.set(
                xlabel="mean log-likelihood (nats per row)", ylim=(len(self.names) - 0.5, -0.5), title=in_title(title)
            )
            ax.grid(axis="x", color="0.9")
            if is_own:
                columns = 3 if self.has_evidence else 1
                ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=columns)
            else:
                ax.legend(fontsize="small")
            if self.has_evidence:
                right, best = axes[1], np.nanmax(self.log_evidence)
                known, below = np.flatnonzero(np.isfinite(self.log_evidence)), self.log_evidence - best
                right.plot(below[known], known, "D", color=COLOURS[2], ms=8)
                label = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 10}
                for i in known.tolist():
                    right.annotate(f"{self.probability[i]:.2g}", (below[i], i), xytext=(0, 7), **label)
                right.margins(x=0.35)  # room for the labels
                axis = f"ln p(D) relative to\nthe best, {best:.1f} nats\nlabels: p(model | D)"
                right.set_xlabel(axis.replace("-", "−"))
                right.locator_params(axis="x", nbins=5)
                right.tick_params(left=False, labelleft=False)
                right.grid(axis="x", color="0.9")
        self.ax_, self.axes_, self.figure_ = axes[0], axes, axes[0].figure
        return self
