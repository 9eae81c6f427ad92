# SPDX-License-Identifier: BSD-3-Clause
"""Text for messages: suggestions for a misspelled name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """End of an error message about an unknown name: the closest known names, or the first ten."""
    options = list(known)
    by_fold = {option.casefold(): option for option in options}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=3)
    if near:
        return f" Did you mean {' or '.join(repr(by_fold[option]) for option in near)}?"
    more = len(options) - 10
    return f" There are {', '.join(map(repr, options[:10]))}{f' and {more} more' if more > 0 else ''}."
