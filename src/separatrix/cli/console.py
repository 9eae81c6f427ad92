# SPDX-License-Identifier: BSD-3-Clause
"""What is said and where: results on standard output, everything else on standard error.

With ``--json`` standard output holds one document and nothing else. Colour and width are left to rich, which gives
plain text where the output is no terminal and honours NO_COLOR.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import isinf, isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Voice", "noted", "plain", "stderr", "stdout"]


class Voice:
    """How a verb speaks: to a person, or with ``--json`` in one document at its end."""

    def __init__(self, *, as_json: bool, to_stderr: bool = False) -> None:
        self.as_json = as_json
        self._console = stderr() if to_stderr else stdout()

    def say(self, *parts: Any) -> None:
        """Text or tables for a person; text is shown as it is."""
        if not self.as_json:
            for part in parts:
                self._console.print(part, markup=False, highlight=False, soft_wrap=False)

    def title(self, text: str) -> None:
        """The head of a part."""
        if not self.as_json:
            self._console.print(f"\n{text}", style="bold", markup=False, highlight=False)

    def notes(self, notes: list[str]) -> None:
        """Sentences, one point for each."""
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        if not notes:
            return
        self.title("Notes")
        points = Table.grid(padding=(0, 1))
        for note in notes:
            points.add_row("-", Text(note))
        self.say(Padding(points, (0, 0, 0, 1)))

    def finish(self, document: dict[str, Any]) -> None:
        """With ``--json``, the document."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def stdout() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(file=sys.stdout)


def stderr() -> Console:
    """Where progress and errors go."""
    from rich.console import Console

    return Console(file=sys.stderr)


@contextmanager
def noted() -> Iterator[list[str]]:
    """Warnings of the work inside, each text once; nothing reaches the terminal as Python prints them."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield notes
        finally:
            ours = (str(w.message) for w in caught if not issubclass(w.category, DeprecationWarning))
            notes.extend(dict.fromkeys(ours))


def plain(value: Any) -> Any:
    """The value in what JSON has: NaN is null, infinities are text, arrays are lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return _number(value)
    as_list = getattr(value, "tolist", None)  # NumPy's arrays and scalars, without importing it
    return str(value) if as_list is None else plain(as_list())


def _number(value: float) -> float | str | None:
    if isnan(value):
        return None
    return ("Infinity" if value > 0 else "-Infinity") if isinf(value) else value
