# SPDX-License-Identifier: BSD-3-Clause
"""One look for every picture: palette, markers, sizes; and where a display draws.

Sizes are for a figure of 6.4 inches, which fills half a slide or the width of a column: letters of 11 points are read
from the last row, lines of 2 points survive a copier. A display draws inside ``with look():``, which changes nothing
for the pictures of others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "COLOURS",
    "HEAT",
    "MARKERS",
    "MOST_CLASSES",
    "MUTED",
    "REJECTED",
    "STANDOUT",
    "ClassStyle",
    "class_style",
    "look",
    "new_axes",
    "new_figure",
    "per_unit",
    "split_axes",
]

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
