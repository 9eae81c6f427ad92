# SPDX-License-Identifier: BSD-3-Clause
"""Printing and progress: results go to standard output; errors and progress go to standard error.

With ``--json``, standard output contains one document and nothing else. Rich chooses colour and width: it prints plain
text if the output is not a terminal, and honours NO_COLOR.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import floor, isinf, isnan, log10, nan
from time import monotonic
from typing import TYPE_CHECKING, Any

import rich.console
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from separatrix.study import Stage

MIN_SHOWN_SECONDS = 2.0  # shorter remaining times are not shown
TIME_UNITS = ((3600, "h"), (60, "min"), (1, "s"))


class Printer:
    """Prints the results of a command as text, or with ``--json`` as one document at the end."""

    def __init__(self, *, as_json: bool = False, to_stderr: bool = False) -> None:
        self.as_json = as_json
        self._console = rich.console.Console(file=sys.stderr if to_stderr else sys.stdout)

    def text(self, *parts: Any) -> None:
        """Print text or tables without markup; trailing blanks are removed if the output is not a terminal."""
        for part in () if self.as_json else parts:
            with self._console.capture() as drawn:
                self._console.print(part, markup=False, highlight=False, soft_wrap=False)
            text = drawn.get()
            if not self._console.is_terminal:
                text = "\n".join(line.rstrip() for line in text.split("\n"))
            self._console.file.write(text)

    def heading(self, text: str) -> None:
        self.text("", Text(text, style="bold"))

    def notes(self, notes: list[str]) -> None:
        """Print notes as a list."""
        if not notes:
            return
        self.heading("Notes")
        points = Table.grid(padding=(0, 1))
        for note in notes:
            points.add_row("-", Text(note))
        self.text(Padding(points, (0, 0, 0, 1)))

    def document(self, document: dict[str, Any]) -> None:
        """Print the JSON document, with ``--json``."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def plain(value: Any) -> Any:
    """Convert a value to JSON types: NaN to null, infinities to text, arrays to lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return None if isnan(value) else str(value).replace("inf", "Infinity") if isinf(value) else value
    as_list = getattr(value, "tolist", None)  # NumPy arrays and scalars, without importing NumPy
    return str(value) if as_list is None else plain(as_list())


@contextmanager
def stages(description: str, *, hidden: bool = False) -> Iterator[Callable[[Stage], None]]:
    """Show the progress of a study on standard error, if that is a terminal; yields the callback for its stages.

    There is no bar, because stages differ in length: the number of finished stages does not predict the time left.
    """

    class TimeLeft(ProgressColumn):
        def render(self, task: Task) -> Text:
            stage, study = (task.fields[name] - monotonic() for name in ("end", "limit"))
            return Text(f"{time_left(stage)} (time limit in {study:.0f} s)".lstrip() if study > 0 else time_left(stage))

    text = TextColumn("{task.description}", markup=False)
    left = TimeLeft(table_column=Column(no_wrap=True))
    with _progress(SpinnerColumn(), MofNCompleteColumn(), text, left, TimeElapsedColumn(), hidden=hidden) as bar:
        task = bar.add_task(description, total=None, end=nan, limit=nan)

        def update(stage: Stage) -> None:
            now = monotonic()
            times = {"end": now + stage.seconds_left, "limit": now + stage.budget_left}
            bar.update(task, description=stage.text, completed=stage.done, total=stage.total, **times)

        yield update


@contextmanager
def rows_done(description: str, total: int | None, *, hidden: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a progress bar over rows; yields a function to call with the number of rows just finished."""
    text, rows = TextColumn("{task.description}", markup=False), TextColumn("{task.completed:,} rows")
    left = (TextColumn("left"), TimeRemainingColumn()) if total else (TimeElapsedColumn(),)
    with _progress(text, BarColumn(), rows, *left, hidden=hidden) as bar:
        task = bar.add_task(description, total=total)
        yield lambda n: bar.advance(task, n)


def time_left(seconds: float) -> str:
    """Remaining time in words, to one digit; empty if unknown or short."""
    if isnan(seconds) or -MIN_SHOWN_SECONDS < seconds < MIN_SHOWN_SECONDS:
        return ""
    if seconds < 0:
        return "longer than expected"
    scale, unit = next((scale, unit) for scale, unit in TIME_UNITS if seconds >= 1.5 * scale or scale == 1)
    digit = 10 ** floor(log10(seconds / scale)) if seconds >= scale else 1
    return f"about {round(seconds / scale / digit) * digit:,} {unit} left"


def _progress(*columns: Any, hidden: bool) -> Any:
    """Progress display that disappears at the end and does not write to standard output."""
    screen = rich.console.Console(file=sys.stderr)
    disable = hidden or not screen.is_terminal
    return Progress(*columns, console=screen, transient=True, disable=disable, redirect_stdout=False)
