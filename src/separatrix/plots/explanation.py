# SPDX-License-Identifier: BSD-3-Clause
"""Waterfall of one prediction: from the reference, column by column, to the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._arguments import check_count, check_option
from separatrix._array import Float
from separatrix.exceptions import DataError
from separatrix.explanation import Explanation, RowExplanation
from separatrix.plots.drawing import COLOURS, MUTED, in_text, in_title, look, new_figure, text_inches

SCALES = ("probability", "log-odds")
LINE_INCHES, AXIS_INCHES = 0.36, 3.6  # height of a line, and width of the axes without names
MORE, LESS = COLOURS[0], COLOURS[5]  # blue raises the probability, vermilion lowers it


@dataclass(eq=False, repr=False)
class ExplanationDisplay:
    """Contributions of the columns to one prediction, as a waterfall with intervals.

    Create it with `from_estimator`, or with ``model.explain(rows)[0].plot()``. The axes are in ``ax_``, the figure in
    ``figure_``.

    Attributes
    ----------
    names, values : tuples of str
        Name and value of each line; the first line is the reference, the last one the row.
    contribution, lower, upper : ndarray of shape (L,)
        Size of each step and its interval, NaN if the model has none. The first entry is the level of the reference and
        the last one that of the row.
    quantity : str
        What the axis shows.
    level : float
        Level of the intervals.
    """

    names: tuple[str, ...]
    values: tuple[str, ...]
    contribution: Float
    lower: Float
    upper: Float
    quantity: str
    level: float

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        row: Any,
        reference: Any = None,
        *,
        level: float = 0.95,
        scale: str = "probability",
        most: int = 12,
        ax: Any = None,
        title: str | None = None,
    ) -> ExplanationDisplay:
        """Explain one row and draw the result.

        Parameters
        ----------
        model : classifier
            A fitted model with `explain`.
        row, reference, level
            As in ``model.explain``; only the first row is drawn.
        scale : {"probability", "log-odds"}, default "probability"
            Scale of the axis: the probability (the mean of a generalised linear model), or that of the linear sum, on
            which contributions do not depend on each other.
        most : int, default 12
            Maximum number of columns to draw. The others are one bar.
        ax, title : matplotlib axes and str, optional
            Axes to draw in (a new figure by default), and the title.

        Examples
        --------
        >>> import separatrix as sx
        >>> from separatrix.datasets import make_mixed_types
        >>> table, y = make_mixed_types(300, as_frame=True, rng=0)
        >>> model = sx.TableClassifier().fit(table, y)
        >>> display = sx.plots.ExplanationDisplay.from_estimator(model, table.iloc[[3]])
        >>> display.names[1], display.values[1]
        ('calls', '4')
        """
        found = model.explain(row, reference, level)
        return cls.from_explanation(found, scale=scale, most=most, ax=ax, title=title)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation | RowExplanation,
        *,
        scale: str = "probability",
        most: int = 12,
        ax: Any = None,
        title: str | None = None,
    ) -> ExplanationDisplay:
        """Draw an explanation of one row, or the first row of an explanation."""
        check_option("ExplanationDisplay", "scale", scale, SCALES)
        check_count("ExplanationDisplay", "most", most)
        if isinstance(explanation, Explanation) and not len(explanation):
            raise DataError("The explanation has no rows to draw.")
        row = explanation[0] if isinstance(explanation, Explanation) else explanation
        row = row.shortened(most)
        is_response, y = scale == "probability", row.response
        names = (y, f"{y}_lower", f"{y}_upper") if is_response else ("estimate", "lower", "upper")
        steps, lower, upper = (row.columns.get(name, np.full(len(row.names), np.nan)) for name in names)
        of = "" if row.label is None else f" of {in_text(row.label)}{row.against}"
        quantity = in_text(row.quantity) if is_response else f"{row.scale}{of}"
        display = cls(row.names, row.values, steps, lower, upper, quantity, row.level)
        return display.plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> ExplanationDisplay:
        """Draw a bar for each step, with a whisker for its interval, and points for the reference and the row."""
        n = len(self.names)
        labels = [
            in_text(name) + (f" = {in_text(value)}" if value else "")
            for name, value in zip(self.names, self.values, strict=True)
        ]
        start = np.concatenate([[0.0], np.cumsum(self.contribution[:-1])])
        if ax is None:
            ax = new_figure(size=(max(6.4, AXIS_INCHES + text_inches(labels)), 1.2 + LINE_INCHES * n))[1]
        with look():
            at = np.arange(n)
            ax.axvline(self.contribution[0], color=MUTED, lw=1.0, ls=":")
            for i in at[1:-1].tolist():
                step = self.contribution[i]
                ax.barh(i, step, left=start[i], height=0.62, color=MORE if step > 0 else LESS)
                ax.vlines(start[i] + step, i - 0.31, i + 1.31, color=MUTED, lw=0.8)
            inner, ends = slice(1, -1), [0, n - 1]
            ax.hlines(at[inner], (start + self.lower)[inner], (start + self.upper)[inner], color="black", lw=1.4)
            ax.hlines(ends, self.lower[ends], self.upper[ends], color="black", lw=1.4)
            ax.plot(self.contribution[ends], ends, "o", color="black", ms=7)
            ax.set_yticks(at, labels)
            bars = "" if np.isnan(self.lower).all() else f"\nlines: {100 * self.level:g} % intervals of each step"
            ax.set(xlabel=self.quantity + bars, ylim=(n - 0.4, -0.6), title=in_title(title))
            ax.grid(axis="x", color="0.9")
        self.ax_, self.figure_ = ax, ax.figure
        return self
