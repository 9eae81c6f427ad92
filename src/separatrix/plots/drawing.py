# SPDX-License-Identifier: BSD-3-Clause
"""Shared drawing code: palette, font sizes, axes, names in labels, and scatter plots by class.

Font sizes suit a figure 6.4 inches wide, which fits a text column or half a slide. A display draws inside
``with look():``, so other figures keep their style.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float, to_dense
from separatrix._text import counted, listed
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

MAX_NAME_LETTERS = 40  # a longer name of a column or class would leave no room for the axes
SHORT_NAME_LETTERS = 20  # for a name within a sentence
LETTER_INCHES = 0.085  # average width of a letter of 10 points
HANDLE_INCHES = 0.6  # width of the line or marker of a legend entry, and of the gap to the next entry

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


@contextmanager
def look() -> Iterator[None]:
    """Context manager with the font sizes and line widths of this module.

    ``rc_context`` would restore all settings. The first figure of a notebook turns on the interactive mode of its
    backend; if that is undone, the notebook shows no more pictures.
    """
    settings = _pyplot().rcParams
    before = {key: settings[key] for key in LOOK}
    try:
        settings.update(LOOK)
        yield
    finally:
        settings.update(before)


def new_axes(ax: Any) -> Any:
    """Return the given axes, or the axes of a new figure if ``ax`` is None."""
    return new_figure()[1] if ax is None else ax


def new_figure(
    n_rows: int = 1, n_columns: int = 1, *, size: tuple[float, float] | None = None, share: bool = False
) -> tuple[Any, Any]:
    """Create a figure of ``size`` inches; return the figure and its axes (an array if there are several).

    With ``share``, all panels have the same limits.
    """
    options, plt = {"figsize": size, "sharex": share, "sharey": share, "layout": "constrained"}, _pyplot()
    plt.get_backend()  # loads the backend now, because a backend may save the settings that it finds
    with look():
        return plt.subplots(n_rows, n_columns, **options)  # type: ignore[no-any-return]


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
    name = in_text(stated[1] if stated else column, SHORT_NAME_LETTERS)
    return f"per {name}" if stated else f"per unit of {name}"


def in_text(name: object, most: int = MAX_NAME_LETTERS) -> str:
    r"""Name of a column, class or model, such that matplotlib draws it as it is written, on one line.

    Matplotlib would read a formula between two dollar signs. The middle of a name longer than ``most`` letters is
    left out; wide characters, such as Chinese ones, count twice.

    >>> print(in_text("US$ and CA$"), in_text("a\tb"), in_text("the number of the day in the week", 11))
    US\$ and CA\$ a b the n… week
    """
    text = _visible(str(name))
    text = text if text.strip() else repr(text)
    ends, room = (text, text[::-1]), most - 1
    if _width(text) > most:
        first, last = (_beginning(end, part) for end, part in zip(ends, (room - room // 2, room // 2), strict=True))
        text = f"{first}…{last[::-1]}"
    return text.replace("$", r"\$")


def in_legend(name: object) -> str:
    """Name as in `in_text`, for a legend: matplotlib would omit a label that begins with an underscore."""
    text = in_text(name)
    return f" {text}" if text.startswith("_") else text


def in_title(title: object) -> str:
    """Title that the user has written: formulas are kept, but a line with an invalid formula is drawn as written."""
    from matplotlib.mathtext import MathTextParser

    lines = []
    for line in map(_visible, str(title or "").splitlines()):
        try:
            MathTextParser("path").parse(line)
            lines.append(line)
        except ValueError:
            lines.append(line.replace("$", r"\$"))
    return "\n".join(lines)


def _visible(text: str) -> str:
    """Replace tabs and line breaks by spaces, and other control characters, which fonts do not have, by their codes."""
    codes = {c: c.encode("unicode_escape").decode() for c in text if unicodedata.category(c) in ("Cc", "Cs")}
    return "".join(" " if c.isspace() else codes.get(c, c) for c in text)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _beginning(text: str, most: int) -> str:
    """Longest beginning of the text that is at most ``most`` wide."""
    n = len(text)
    while _width(text[:n]) > most:
        n -= 1
    return text[:n]


def text_inches(texts: Iterable[str]) -> float:
    """Approximate width of the longest text, at 10 points."""
    return LETTER_INCHES * max(map(_width, texts), default=0)


def legend_columns(labels: Sequence[str], inches: float, most: int) -> int:
    """Number of columns of a legend that fit into ``inches``, at most ``most``."""
    return max(1, min(len(labels), most, int(inches / (text_inches(labels) + HANDLE_INCHES))))


def _pyplot() -> Any:
    with optional_import("Plots need matplotlib", "plots"):
        import matplotlib.pyplot as plt
    return plt


def true_codes(y: Any, classes: Array, n_rows: int) -> Codes:
    """Index of each label in ``classes``, (N,); raises `DataError` for unknown labels or a wrong length."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"X has {counted(n_rows, 'row')} but y has shape {labels.shape}. Pass one label per row.")
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
        ax.scatter(x, y, s=size, label=in_legend(label), zorder=3, **look)


def new_panels(n_rows: int, n_columns: int, *, size: tuple[float, float] = (4.4, 3.8)) -> Array:
    """Axes of a new figure, (n_rows, n_columns); each panel has ``size`` inches."""
    axes = new_figure(n_rows, n_columns, size=(size[0] * n_columns, size[1] * n_rows))[1]
    return np.reshape(axes, (n_rows, n_columns))
