# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and names as text: 0.314, 12 %, 1.4 (1.3 to 1.5)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix import _text

UNKNOWN = "–"
SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 3) -> str:
    """Format a number to ``digits`` significant digits, without an exponent if it is not too small or large.

    >>> number(0.31415), number(41234.5), number(3.0), number(0.0000123), number(float("nan"))
    ('0.314', '41,234', '3', '1.23e-05', '–')
    """
    if not math.isfinite(value):
        return UNKNOWN if math.isnan(value) else f"{MINUS if value < 0 else ''}∞"
    size = abs(value)
    if size >= 1e7 or 0 < size < 1e-4:
        text = f"{value:.{digits - 1}e}"
    elif size >= 10 ** (digits - 1):
        text = f"{value:,.0f}"
    else:
        text = f"{float(f'{value:.{digits}g}'):.10f}".rstrip("0").rstrip(".")
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def fixed(value: float, decimals: int = 3) -> str:
    """Format a number with a fixed number of decimals, for columns of a table.

    >>> fixed(-0.5), fixed(float("nan"))
    ('−0.500', '–')
    """
    return f"{value:z,.{decimals}f}".replace("-", MINUS) if abs(value) < 1e7 else number(value)


def percent(fraction: float) -> str:
    r"""Format a fraction in per cent, with decimals near 0 and 100; only exact 0 and 1 give 0 and 100.

    >>> percent(0.1234), percent(0.0049), percent(0.95), percent(0.00002), percent(1.0)
    ('12\xa0%', '0.5\xa0%', '95\xa0%', '<0.1\xa0%', '100\xa0%')
    """
    if not math.isfinite(fraction):
        return UNKNOWN
    if fraction in (0.0, 1.0):
        return f"{fraction:.0%}".replace("%", f"{SPACE}%")
    rest = min(fraction, 1 - fraction)
    if rest < 0.0005:
        return f"{'<0.1' if fraction < 0.5 else '>99.9'}{SPACE}%"
    text = f"{100 * fraction:.{1 if rest < 0.0995 else 0}f}"
    return f"{text.removesuffix('.0')}{SPACE}%"


def points(difference: float) -> str:
    """Format a difference of probabilities in percentage points: ``1.3 points``."""
    if not math.isfinite(difference):
        return UNKNOWN
    text = f"{100 * difference:.1f}"
    return f"{text}{SPACE}point{'' if text == '1.0' else 's'}"


def interval(value: float, lower: float, upper: float) -> str:
    """Format a value and its interval with enough digits to distinguish them from each other and from 1.

    Without an interval, only the value is returned.

    >>> interval(1.4142, 1.31, 1.532), interval(1.00312, 1.0021, 1.0041), interval(2.0, float("nan"), float("nan"))
    ('1.41 (1.31 to 1.53)', '1.003 (1.002 to 1.004)', '2')
    >>> interval(1.28, 1.004, 1.63), interval(0.9, 0.81, 0.9996)
    ('1.28 (1.004 to 1.63)', '0.9 (0.81 to 0.9996)')
    """
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return number(value)
    for least in range(3, 7):
        texts = []
        for x in (value, lower, upper):
            digits = next((d for d in range(least, 7) if number(x, d) != "1"), 6)
            texts.append(number(x, digits))
        if len(set(texts)) == 3:
            break
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def seconds(value: float) -> str:
    """Format a duration: ``4 ms``, ``2.3 s``, ``3 min 20 s``."""
    if not math.isfinite(value):
        return UNKNOWN
    if value < 0.9995:
        return f"{max(1000 * value, 1):.0f}{SPACE}ms"
    if value < 99.95:
        return f"{value:.1f}{SPACE}s"
    return f"{int(value // 60)}{SPACE}min {value % 60:.0f}{SPACE}s"


def counted(n: float, noun: str) -> str:
    """Format a count with its noun, which stay on one line."""
    return _text.counted(n, noun).replace(" ", SPACE, 1)


def label_text(label: Any) -> str:
    """Class label or category as text; blank text becomes "(blank)".

    >>> label_text(np.float64(2.0)), label_text(" "), label_text(True), label_text(np.datetime64("2024-03-01"))
    ('2', '(blank)', 'True', '2024-03-01')
    """
    if isinstance(label, np.generic):
        label = label.item() if label.dtype.kind != "M" else str(label.astype("datetime64[D]"))
    if isinstance(label, float):
        return number(label, 6)
    return " ".join(str(label).split()) or "(blank)"


def shortened(text: Any, max_letters: int = 40) -> str:
    """Shorten a long label in the middle, because names often differ at their ends."""
    whole = label_text(text)
    if len(whole) <= max_letters:
        return whole
    end = (max_letters - 1) // 3
    return f"{whole[: max_letters - 1 - end].rstrip()}…{whole[len(whole) - end :].lstrip()}"
