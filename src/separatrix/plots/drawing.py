# SPDX-License-Identifier: BSD-3-Clause
"""One look for every picture: palette, markers, sizes; and where a display draws.

Sizes are for a figure of 6.4 inches, which fills half a slide or the width of a column: letters of 11 points are read
from the last row, lines of 2 points survive a copier. A display draws inside ``with look():``, which changes nothing
for the pictures of others.

----

Labels of rows as positions among the classes of the model that judges them, whatever the table of the rows is.

----

Rows in a picture: read once, checked against the classes of the model, and drawn the same way everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float, to_dense
from separatrix.exceptions import DataError
from separatrix.geometry import codes_of
from separatrix.meta import listed
from separatrix.rows import as_source

# Okabe & Ito (2008): told apart with every common kind of colour blindness, and in grey by their order of lightness.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "//", "..", "xx")  # of further rounds of the colours
LINES = ("-", "--", "-.", ":")
MOST_CLASSES = len(COLOURS) * len(HATCHES)
# Hatched, so that grey cannot be taken for a pale black, nor for a class in a print without colour.
REJECTED = {"facecolor": "#999999", "edgecolor": "#666666", "hatch": "///", "alpha": 0.5, "linewidth": 0.0}
MUTED = "#767676"  # reference lines and what is said beside: 4.5 : 1 against white
STANDOUT = "#D55E00"  # the one thing to look at
HEAT = "cividis"  # the same to every eye, and its lightness never turns back

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
    """How the k-th class is drawn: colours come round again with another marker, another line and a hatch."""

    colour: str
    marker: str
    line: str
    hatch: str


def class_style(k: int) -> ClassStyle:
    """Of the k-th of up to `MOST_CLASSES` classes; no two are alike.

    Examples
    --------
    >>> class_style(1)
    ClassStyle(colour='#E69F00', marker='s', line='-', hatch='')
    >>> class_style(9)
    ClassStyle(colour='#E69F00', marker='^', line='--', hatch='//')
    """
    turn, place = divmod(k, len(COLOURS))
    return ClassStyle(COLOURS[place], MARKERS[(place + turn) % len(MARKERS)], LINES[turn], HATCHES[turn])


def look() -> AbstractContextManager[Any]:
    """Sizes and weights of this module, until the end of a ``with``."""
    return _pyplot().rc_context(LOOK)  # type: ignore[no-any-return]  # matplotlib is not followed


def new_axes(ax: Any) -> Any:
    """The axes given, or those of a new figure."""
    return new_figure()[1] if ax is None else ax


def new_figure(
    n_rows: int = 1,
    n_columns: int = 1,
    *,
    size: tuple[float, float] | None = None,
    share_x: bool = False,
    share_y: bool = False,
) -> tuple[Any, Any]:
    """A figure, its size in inches, and its axes: one, or an array of them."""
    with look():
        return _pyplot().subplots(  # type: ignore[no-any-return]
            n_rows, n_columns, figsize=size, sharex=share_x, sharey=share_y, layout="constrained"
        )


def split_axes(
    ax: Any, ratios: Sequence[float], *, across: bool = False, size: tuple[float, float] | None = None
) -> tuple[Any, ...]:
    """Axes for a display of several panels, below each other (or ``across`` the page) with these shares of the room.

    ``ax`` may be None, for a new figure; axes of a grid of subplots, which give their place to the panels; or a
    sequence of axes, one for each panel. Panels below each other share their horizontal axis, others the vertical one.
    """
    if isinstance(ax, Sequence | np.ndarray):
        if len(ax) != len(ratios):
            raise ValueError(f"This display has {len(ratios)} panels, but {len(ax)} axes were given. Give one or all.")
        return tuple(ax)
    place = new_figure(size=size)[1] if ax is None else ax
    if place.get_subplotspec() is None:
        raise ValueError(
            f"The axes were not made as a subplot, so that they cannot be divided. Give {len(ratios)} axes, one for "
            "each panel."
        )
    place.set_axis_off()
    room, n = place.get_subplotspec(), len(ratios)
    with look():
        if across:
            panels = room.subgridspec(1, n, width_ratios=ratios).subplots(sharey=True, squeeze=False)
        else:
            panels = room.subgridspec(n, 1, height_ratios=ratios).subplots(sharex=True, squeeze=False)
    return tuple(panels.ravel())


def per_unit(column: str) -> str:
    """Says "per mm" for a column named "size (mm)", and "per unit of size" for one that states no unit."""
    stated = re.search(r"\(([^()]+)\)\s*$", column)
    return f"per {stated[1]}" if stated else f"per unit of {column}"


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "Plots need matplotlib, which is not installed: pip install 'separatrix[plots]'"
        ) from missing
    return plt


def true_codes(y: Any, classes: Array, n_rows: int) -> Codes:
    """Positions (N,) of the labels among the classes; a `DataError` where rows or labels do not fit."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows but y has shape {labels.shape}; they must pair up.")
    codes = codes_of(labels, classes)
    unknown = list(dict.fromkeys(labels[codes == len(classes)].tolist()))
    if unknown:
        raise DataError(
            f"y has labels that the model never saw: {listed(unknown)}. It knows {listed(classes.tolist())}."
        )
    return codes


class Rows(NamedTuple):
    """Points (N, D), their class codes (N,), and the names of the D columns."""

    points: Float
    codes: Codes
    columns: tuple[str, ...]


def read_rows(X: Any, y: Any, classes: Array) -> Rows:
    """The rows of X with codes for the labels y, which must be among ``classes``."""
    source = as_source(X)
    codes = true_codes(y, classes, source.n_rows)
    return Rows(source.map(to_dense).astype(np.float64), codes, source.columns)


def require_colours(classes: Array) -> None:
    """Raise where there are more classes than a picture can tell apart."""
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"{len(classes)} classes are more than the {MOST_CLASSES} that a picture can tell apart by colour, marker "
            "and hatch. Fit and draw fewer of them, or one against the rest."
        )


def scatter_classes(ax: Any, points: Float, codes: Codes, classes: Array, *, size: float = 18) -> None:
    """Draw points (N, 2), each class with its colour, its marker and its entry in the legend."""
    for k, label in enumerate(classes):
        x, y = points[codes == k].T
        style = class_style(k)
        look = {"color": style.colour, "marker": style.marker, "edgecolors": "white", "linewidths": 0.4}
        ax.scatter(x, y, s=size, label=str(label), zorder=3, **look)


def new_panels(n_rows: int, n_columns: int, *, size: tuple[float, float] = (4.4, 3.8)) -> Array:
    """Axes side by side in a new figure, (n_rows, n_columns), each of ``size`` inches."""
    axes = new_figure(n_rows, n_columns, size=(size[0] * n_columns, size[1] * n_rows))[1]
    return np.reshape(axes, (n_rows, n_columns))
