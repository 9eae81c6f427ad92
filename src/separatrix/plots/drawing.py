# SPDX-License-Identifier: BSD-3-Clause
"""Shared drawing code: palette, font sizes, axes, and scatter plots by class.

Font sizes suit a figure 6.4 inches wide, which fits a text column or half a slide. A display draws inside
``with look():``, so other figures keep their style.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float, to_dense
from separatrix._text import listed
from separatrix.exceptions import DataError, optional_import
from separatrix.geometry import codes_of
from separatrix.rows import as_source

# Okabe & Ito (2008). People with colour blindness can distinguish these colours; in grey, their lightness differs.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "//", "..", "xx")  # for classes beyond the eighth, which reuse the colours
LINES = ("-", "--", "-.", ":")
MAX_DRAWN_CLASSES = len(COLOURS) * len(HATCHES)
# The area of rejected points is hatched, so that it differs from every class in a black-and-white print.
REJECTED: dict[str, Any] = {
    "facecolor": "#999999",
    "edgecolor": "#666666",
    "hatch": "///",
    "alpha": 0.5,
    "linewidth": 0,
}
MUTED = "#767676"  # reference lines and annotations; contrast 4.5 : 1 against white
STANDOUT = "#D55E00"  # highlights

LOOK = {
    "font.size": 11.0,
    "axes.titlesize": 12.0,
    "axes.labelsize": 11.0,
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
    "legend.fontsize": 10.0,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.markersize": 6.5,
    "axes.linewidth": 0.9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
}


class ClassStyle(NamedTuple):
    """Style of one class. Classes beyond the eighth reuse the colours with another marker, line and hatch."""

    colour: str
    marker: str
    line: str
    hatch: str


def class_style(k: int) -> ClassStyle:
    """Style of class k; the first `MAX_DRAWN_CLASSES` styles are all different.

    >>> class_style(1)
    ClassStyle(colour='#E69F00', marker='s', line='-', hatch='')
    >>> class_style(9)
    ClassStyle(colour='#E69F00', marker='^', line='--', hatch='//')
    """
    cycle, i = divmod(k, len(COLOURS))
    return ClassStyle(COLOURS[i], MARKERS[(i + cycle) % len(MARKERS)], LINES[cycle], HATCHES[cycle])


def look() -> AbstractContextManager[Any]:
    """Context manager with the font sizes and line widths of this module."""
    return _pyplot().rc_context(LOOK)  # type: ignore[no-any-return]


def new_axes(ax: Any) -> Any:
    """Return the given axes, or the axes of a new figure if ``ax`` is None."""
    return new_figure()[1] if ax is None else ax


def new_figure(
    n_rows: int = 1, n_columns: int = 1, *, size: tuple[float, float] | None = None, share: bool = False
) -> tuple[Any, Any]:
    """Create a figure of ``size`` inches; return the figure and its axes (an array if there are several).

    With ``share``, all panels have the same limits.
    """
    options = {"figsize": size, "sharex": share, "sharey": share, "layout": "constrained"}
    with look():
        return _pyplot().subplots(n_rows, n_columns, **options)  # type: ignore[no-any-return]


def split_axes(
    ax: Any, ratios: Sequence[float], *, across: bool = False, size: tuple[float, float] | None = None
) -> tuple[Any, ...]:
    """Axes for a display with several panels, stacked or (``across``) side by side, with these size ratios.

    ``ax`` may be None (a new figure), the axes of a subplot, which the panels replace, or one axes per panel. Stacked
    panels share the horizontal axis; panels side by side share the vertical axis.
    """
    if isinstance(ax, Sequence | np.ndarray):
        if len(ax) != len(ratios):
            raise ValueError(
                f"This display has {len(ratios)} panels, but {len(ax)} axes were given. Pass one axes or {len(ratios)}."
            )
        return tuple(ax)
    whole = new_figure(size=size)[1] if ax is None else ax
    if whole.get_subplotspec() is None:
        raise ValueError(
            f"The axes are not a subplot, so they cannot be divided. Pass {len(ratios)} axes, one per panel."
        )
    whole.set_axis_off()
    room, n = whole.get_subplotspec(), len(ratios)
    with look():
        if across:
            panels = room.subgridspec(1, n, width_ratios=ratios).subplots(sharey=True, squeeze=False)
        else:
            panels = room.subgridspec(n, 1, height_ratios=ratios).subplots(sharex=True, squeeze=False)
    return tuple(panels.ravel())


def per_unit(column: str) -> str:
    """Return "per mm" for a column named "size (mm)", and "per unit of size" for a column named "size"."""
    stated = re.search(r"\(([^()]+)\)\s*$", column)
    return f"per {stated[1]}" if stated else f"per unit of {column}"


def _pyplot() -> Any:
    with optional_import("Plots need matplotlib", "plots"):
        import matplotlib.pyplot as plt
    return plt


def true_codes(y: Any, classes: Array, n_rows: int) -> Codes:
    """Index of each label in ``classes``, (N,); raises `DataError` for unknown labels or a wrong length."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows but y has shape {labels.shape}. Pass one label per row.")
    codes = codes_of(labels, classes)
    unknown = list(dict.fromkeys(labels[codes == len(classes)].tolist()))
    if unknown:
        raise DataError(
            f"y has labels that are not classes of the model: {listed(unknown)}. "
            f"The classes of the model are {listed(classes.tolist())}."
        )
    return codes


class Rows(NamedTuple):
    """Points (N, D), class codes (N,), and column names."""

    points: Float
    codes: Codes
    columns: tuple[str, ...]


def read_rows(X: Any, y: Any, classes: Array) -> Rows:
    """Read X and encode the labels y, which must be among ``classes``."""
    source = as_source(X)
    codes = true_codes(y, classes, source.n_rows)
    return Rows(source.map(to_dense).astype(np.float64), codes, source.columns)


def require_colours(classes: Array) -> None:
    """Raise if there are more classes than distinguishable styles."""
    if len(classes) > MAX_DRAWN_CLASSES:
        raise ValueError(
            f"A plot can distinguish {MAX_DRAWN_CLASSES} classes by colour, marker and hatch, but there are "
            f"{len(classes)}. Fit and draw fewer classes, or one against the rest."
        )


def scatter_classes(ax: Any, points: Float, codes: Codes, classes: Array, *, size: float = 18) -> None:
    """Draw points (N, 2) with one colour, marker and legend entry per class."""
    for k, label in enumerate(classes):
        x, y = points[codes == k].T
        style = class_style(k)
        look = {"color": style.colour, "marker": style.marker, "edgecolors": "white", "linewidths": 0.4}
        ax.scatter(x, y, s=size, label=str(label), zorder=3, **look)


def new_panels(n_rows: int, n_columns: int, *, size: tuple[float, float] = (4.4, 3.8)) -> Array:
    """Axes of a new figure, (n_rows, n_columns); each panel has ``size`` inches."""
    axes = new_figure(n_rows, n_columns, size=(size[0] * n_columns, size[1] * n_rows))[1]
    return np.reshape(axes, (n_rows, n_columns))
