# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and names as a person would write them: 0.314, 12 %, 1.4 (1.3 to 1.5)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = [
    "NOTHING",
    "brief",
    "counted",
    "factor_interval",
    "fixed",
    "interval",
    "label_text",
    "number",
    "odds_ratio",
    "percent",
    "points",
    "seconds",
    "shortened",
]

NOTHING = "–"
SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, without an exponent as long as that is legible.

    Examples
    --------
    >>> number(0.31415), number(41234.5), number(3.0), number(0.0000123), number(float("nan"))
    ('0.314', '41,234', '3', '1.23e-05', '–')
    """
    if not math.isfinite(value):
        return NOTHING if math.isnan(value) else f"{MINUS if value < 0 else ''}∞"
    size = abs(value)
    if size >= 1e7 or 0 < size < 1e-4:
        text = f"{value:.{digits - 1}e}"
    elif size >= 10 ** (digits - 1):
        text = f"{value:,.0f}"
    else:
        text = f"{float(f'{value:.{digits}g}'):.10f}".rstrip("0").rstrip(".")
    return _signed(text)


def fixed(value: float, decimals: int = 3) -> str:
    """A number with so many decimals, as in a column of a table.

    Examples
    --------
    >>> fixed(-0.5), fixed(float("nan"))
    ('−0.500', '–')
    """
    return _signed(f"{value:z,.{decimals}f}") if math.isfinite(value) else number(value)


def percent(share: float) -> str:
    r"""A share in per cent: whole, with decimals near the ends, never rounded to nothing or to all.

    Examples
    --------
    >>> percent(0.1234), percent(0.0049), percent(0.95), percent(0.00002), percent(1.0)
    ('12\xa0%', '0.5\xa0%', '95\xa0%', '<0.1\xa0%', '100\xa0%')
    """
    if not math.isfinite(share):
        return NOTHING
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", f"{SPACE}%")
    if min(share, 1 - share) < 0.0005:
        return f"{'<0.1' if share < 0.5 else '>99.9'}{SPACE}%"
    text = f"{100 * share:.{1 if min(share, 1 - share) < 0.0995 else 0}f}"
    return f"{text.removesuffix('.0')}{SPACE}%"


def points(share: float) -> str:
    """A difference of shares in percentage points: ``1.3 points``."""
    if not math.isfinite(share):
        return NOTHING
    text = f"{100 * share:.1f}"
    return f"{text}{SPACE}point{'' if text == '1.0' else 's'}"


def interval(value: float, lower: float, upper: float, digits: int = 3) -> str:
    """A value and its interval, to digits that tell the two apart; the value alone where there is none.

    Examples
    --------
    >>> interval(1.4142, 1.31, 1.532), interval(1.00312, 1.0021, 1.0041), interval(2.0, float("nan"), float("nan"))
    ('1.41 (1.31 to 1.53)', '1.003 (1.002 to 1.004)', '2')
    """
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return number(value, digits)
    while digits < 6 and len({number(x, digits) for x in (value, lower, upper)}) < 3:
        digits += 1
    return f"{number(value, digits)} ({number(lower, digits)} to {number(upper, digits)})"


def factor_interval(value: float, lower: float, upper: float) -> str:
    """A factor and its interval: three digits near one, and so many that no end reads one unless it is.

    Examples
    --------
    >>> factor_interval(1.28, 1.004, 1.63), factor_interval(7.123, 6.1, 8.4), factor_interval(0.9, 0.81, 0.9996)
    ('1.28 (1.004 to 1.63)', '7.12 (6.1 to 8.4)', '0.9 (0.81 to 0.9996)')
    """
    if not (math.isfinite(value) and math.isfinite(lower) and math.isfinite(upper)):
        return interval(value, lower, upper)
    said = [_factor(x) for x in (value, lower, upper)]
    return interval(value, lower, upper) if len(set(said)) < 3 else f"{said[0]} ({said[1]} to {said[2]})"


def odds_ratio(weight: float) -> float:
    """exp(w), by which a weight multiplies the odds; infinite where a float cannot hold it."""
    return math.exp(weight) if weight < 709 else math.inf


def _factor(value: float) -> str:
    digits = next((d for d in range(3, 7) if number(value, d) != "1"), 6)
    return number(value, digits)


def seconds(value: float) -> str:
    """A duration: ``4 ms``, ``2.3 s``, ``3 min 20 s``."""
    if not math.isfinite(value):
        return NOTHING
    if value < 0.9995:
        return f"{max(1000 * value, 1):.0f}{SPACE}ms"
    if value < 99.95:
        return f"{value:.1f}{SPACE}s"
    return f"{int(value // 60)}{SPACE}min {value % 60:.0f}{SPACE}s"


def counted(n: float, what: str) -> str:
    """``1 row``, ``32,561 rows``, ``3 classes``."""
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{n:,.0f}{SPACE}{what if n == 1 else plural}"


def label_text(label: Any) -> str:
    """A class label or a level as text; what would be invisible is named.

    Examples
    --------
    >>> label_text(np.float64(2.0)), label_text(" "), label_text(True), label_text(np.datetime64("2024-03-01"))
    ('2', '(blank)', 'True', '2024-03-01')
    """
    if isinstance(label, np.generic):
        label = label.item() if label.dtype.kind != "M" else str(label.astype("datetime64[D]"))
    if isinstance(label, float):
        return number(label, 6)
    return " ".join(str(label).split()) or "(blank)"


def shortened(text: str, room: int = 40) -> str:
    """The text with its middle left out where it is too long; what tells names apart is often their end."""
    if len(text) <= room:
        return text
    end = (room - 1) // 3
    return f"{text[: room - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def brief(label: Any, room: int = 28) -> str:
    """A label as it fits beside a picture."""
    return shortened(label_text(label), room)


def _signed(text: str) -> str:
    return f"{MINUS}{text[1:]}" if text.startswith("-") else text
