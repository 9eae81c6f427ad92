# SPDX-License-Identifier: BSD-3-Clause
"""Plot of average predictions, comparisons and slopes with their intervals."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix.exceptions import DataError
from separatrix.plots.drawing import (
    MAX_DRAWN_CLASSES,
    MUTED,
    class_style,
    in_legend,
    in_text,
    in_title,
    look,
    new_figure,
    text_inches,
)

LINE_INCHES = 0.34  # height of the figure per line
MIN_AXIS_INCHES = 3.6  # width of the figure without names
MIN_CURVE_POINTS = 3
MAX_QUANTITY_LETTERS = 80
MAX_INNER_ENTRIES = 5  # of a legend inside the axes
NUMBERS = ("estimate", "standard_error", "lower", "upper", "z", "t", "p", "probability_of_sign")


@dataclass(eq=False, repr=False)
class EffectDisplay:
    """Effects with intervals: a curve along a column of numbers or dates, otherwise a dot and a whisker for each line.

    Create it with `from_table`, or with the ``plot`` method of a table of effects. The axes are in ``ax_``, the figure
    in ``figure_``.

    Attributes
    ----------
    names : tuple of R str
        Lines of the table; one line has a dot for each of the series.
    series : tuple of C str
        Classes, and for curves also groups; one colour each.
    estimate, lower, upper : ndarray of shape (C, R)
        Effects and their intervals.
    positions : ndarray of shape (R,)
        Values along a curve, numbers or dates; None if lines are drawn as dots.
    along : str
        Column of these values.
    quantity : str
        The quantity that is drawn.
    null : float
        Value without an effect; NaN for predictions.
    level : float
        Level of the intervals.
    legend : str
        What distinguishes the series: the columns of the groups, and "class" if there are several.
    """

    names: tuple[str, ...]
    series: tuple[str, ...]
    estimate: Float
    lower: Float
    upper: Float
    positions: Array | None
    along: str
    quantity: str
    null: float
    level: float
    legend: str = ""

    @classmethod
    def from_table(cls, table: Any, *, ax: Any = None, title: str | None = None) -> EffectDisplay:
        """Draw a table of `separatrix.effects`.

        Parameters
        ----------
        table : EffectTable
            Result of `predictions`, `comparisons` or `slopes`. Predictions for three or more values of one column of
            numbers or dates are drawn as curves.
        ax, title : matplotlib axes and str, optional
            Axes to draw in (a new figure by default), and the title.

        Examples
        --------
        >>> import separatrix as sx
        >>> X, y = sx.datasets.load_lobsters(return_X_y=True, as_frame=True)
        >>> model = sx.BayesianLogisticRegression().fit(X, y)
        >>> curve = sx.effects.predictions(model, X, {"size (mm)": range(30, 60, 5)})
        >>> display = sx.plots.EffectDisplay.from_table(curve)
        >>> display.along, display.positions
        ('size (mm)', array([30, 35, 40, 45, 50, 55]))
        """
        columns, is_prediction = table.columns, table.kind == "predictions"
        classes = list(map(str, columns.get("class", table.names if is_prediction else [""] * len(table.names))))
        labels = {} if is_prediction else {"variable": list(table.names)}
        labels |= {name: list(values) for name, values in columns.items() if name not in (*NUMBERS, "class")}
        along = table.given[0] if is_prediction and len(table.given) == 1 else ""
        at = labels.get(along, [])
        is_curve = len(set(at)) >= MIN_CURVE_POINTS and all(_is_position(value) for value in at)
        if is_curve:
            del labels[along]
        lines = [" ".join(str(part) for part in parts if part != "") for parts in zip(*labels.values(), strict=True)]
        lines = lines or [""] * len(classes)
        if is_curve or len(set(lines)) == 1:
            classes = classes if len(set(classes)) > 1 else [""] * len(classes)
        rows = at if is_curve else lines
        series = [" ".join(filter(None, parts)) for parts in zip(classes, lines, strict=True)] if is_curve else classes
        has_classes = len(set(classes)) > 1
        legend = ", ".join(["class"] * has_classes + list(labels) * is_curve)
        names, kinds = list(dict.fromkeys(rows)), list(dict.fromkeys(series))
        if len(kinds) > MAX_DRAWN_CLASSES:
            raise DataError(f"{len(kinds)} curves or classes cannot be told apart in a plot. Choose fewer groups.")
        estimate, lower, upper = np.full((3, len(kinds), len(names)), np.nan)
        for i, (row, kind) in enumerate(zip(rows, series, strict=True)):
            place = kinds.index(kind), names.index(row)
            for target, name in ((estimate, "estimate"), (lower, "lower"), (upper, "upper")):
                target[place] = columns[name][i]
        display = cls(
            tuple(map(str, names)), tuple(kinds), estimate, lower, upper,
            np.array(names) if is_curve else None, along if is_curve else "",
            table.title, table.null, table.level, legend,
        )  # fmt: skip
        return display.plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> EffectDisplay:
        """Draw the curves with their bands, or dots with whiskers and a line at the value without an effect."""
        with look():
            ax = self._curves(ax) if self.positions is not None else self._dots(ax)
            if len(self.series) > 1:
                has_room = self.positions is not None and len(self.series) <= MAX_INNER_ENTRIES
                place = {"loc": "best"} if has_room else {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
                ax.legend(title=in_text(self.legend) if self.legend else None, **place)
            ax.set_title(in_title(title))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _curves(self, ax: Any) -> Any:
        names = [in_legend(name) for name in self.series]
        room = text_inches(names) if len(names) > MAX_INNER_ENTRIES else 0.0
        ax = new_figure(size=(6.4 + room, 4.2))[1] if ax is None else ax
        places = np.asarray(self.positions)
        order = np.argsort(places)
        x = places[order]
        for c, name in enumerate(names):
            style = class_style(c)
            ax.fill_between(x, self.lower[c, order], self.upper[c, order], color=style.colour, alpha=0.2, lw=0)
            ax.plot(x, self.estimate[c, order], style.line, color=style.colour, label=name)
        ax.set(
            xlabel=in_text(self.along),
            ylabel=f"{in_text(self.quantity, MAX_QUANTITY_LETTERS)}\n({100 * self.level:g} % interval)",
        )
        ax.grid(color="0.9")
        if not isinstance(places[0], Real):
            _label_dates(ax.xaxis)
        return ax

    def _dots(self, ax: Any) -> Any:
        C, R = self.estimate.shape
        names, entries = [in_text(name) for name in self.names], [in_legend(name) for name in self.series]
        if ax is None:
            room = text_inches(names) + (text_inches(entries) if C > 1 else 0.0)
            ax = new_figure(size=(max(6.4, MIN_AXIS_INCHES + room), 1.4 + LINE_INCHES * R * max(1.0, C / 2)))[1]
        if not np.isnan(self.null):
            ax.axvline(self.null, color=MUTED, lw=1.2)
        for c, shift in enumerate([0.0] if C == 1 else np.linspace(-0.3, 0.3, C)):
            style, position = class_style(c), np.arange(R) + shift
            filled = ~((self.lower[c] < self.null) & (self.upper[c] > self.null))
            ax.hlines(position, self.lower[c], self.upper[c], color=style.colour, lw=2.2)
            shown: Sequence[tuple[Array, dict[str, Any]]] = (
                (filled, {"label": entries[c]}),
                (~filled, {"mfc": "white", "mew": 1.8}),
            )
            for chosen, look_of in shown:
                ax.plot(self.estimate[c, chosen], position[chosen], style.marker, color=style.colour, ms=7, **look_of)
        if self.null == 1.0:
            _label_ratios(ax.xaxis)
        hollow = "" if np.isnan(self.null) else f", hollow if it contains {self.null:g}"
        xlabel = f"{in_text(self.quantity, MAX_QUANTITY_LETTERS)}\nbars: {100 * self.level:g} % interval{hollow}"
        ax.set_yticks(np.arange(R), names)
        ax.set(xlabel=xlabel, ylim=(R - 0.5, -0.5))
        ax.grid(axis="x", color="0.9")
        return ax


def _label_ratios(axis: Any) -> None:
    """Use a logarithmic axis with labels such as 0.7 instead of 7 × 10⁻¹."""
    from matplotlib.ticker import AutoLocator, NullLocator

    axis.axes.set_xscale("log")
    low, high = axis.get_view_interval()
    if high < 10 * low:  # with at most one power of ten, the axis would have one label
        axis.set_major_locator(AutoLocator())
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def _label_dates(axis: Any) -> None:
    """Label dates by their months or days, and state the year once."""
    from matplotlib.dates import ConciseDateFormatter

    axis.set_major_formatter(ConciseDateFormatter(axis.get_major_locator()))


def _is_position(value: Any) -> bool:
    """Whether a value has a place on an axis: a number or a date."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return is_number or isinstance(value, dt.date | np.datetime64)
