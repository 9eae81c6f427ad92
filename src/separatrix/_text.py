# SPDX-License-Identifier: BSD-3-Clause
"""Text for messages: lists of names, and suggestions for a misspelled name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """End of an error message about an unknown name: the closest known names, or the first ten.

    >>> did_you_mean("agee", ["age", "size"]), did_you_mean("x", ["size"])
    (" Did you mean 'age'?", " There is only 'size'.")
    """
    options = list(known)
    by_fold = {option.casefold(): option for option in options}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=3)
    if near:
        return f" Did you mean {' or '.join(repr(by_fold[option]) for option in near)}?"
    more = len(options) - 10
    there = "There is only" if len(options) == 1 else "There are"
    return f" {there} {', '.join(map(repr, options[:10]))}{f' and {more} more' if more > 0 else ''}."


def listed(labels: list[Any]) -> str:
    """List at most eight labels."""
    return ", ".join(map(repr, labels[:8])) + (", ..." if len(labels) > 8 else "")


def enumerated(names: Sequence[str]) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``."""
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def first_few(names: Sequence[str], most: int = 5) -> str:
    """List the first names: ``a, b, c and 57 more``."""
    more = len(names) - most
    return ", ".join(names[:most]) + f" and {more} more" if more > 1 else enumerated(names)


def columns_are(names: Sequence[str]) -> str:
    """Subject and verb of a message: ``Column 'a' is``, or ``Columns 'a' and 'b' are``."""
    shown = first_few(list(map(repr, names)), 8)
    return f"Column {shown} is" if len(names) == 1 else f"Columns {shown} are"


def decimals(value: float, form: str = ".4f") -> str:
    """Format a number with a fixed number of decimals, or with an exponent if it is huge. Zero has no sign.

    >>> decimals(0.25), decimals(1e300), decimals(-1e-9)
    ('0.2500', '1e+300', '0.0000')
    """
    return f"{value:z{form}}" if abs(value) < 1e7 else f"{value:.4g}"
