# SPDX-License-Identifier: BSD-3-Clause
"""What is said and where: results on standard output; errors, and how far the work is, on standard error.

With ``--json`` standard output holds one document and nothing else. Colour and width are left to rich, which gives
plain text where the output is no terminal and honours NO_COLOR.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import floor, isinf, isnan, log10, nan
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from separatrix.study import Stage

__all__ = ["Steps", "Voice", "plain", "put", "rows_read", "stderr", "stdout", "steps"]

QUICK = 2.0  # seconds, about which nobody needs to be told
UNITS = ((3600, "h"), (60, "min"), (1, "s"))


class Voice:
    """How a verb speaks: to a person, or with ``--json`` in one document at its end."""

    def __init__(self, *, as_json: bool, to_stderr: bool = False) -> None:
        self.as_json = as_json
        self._console = stderr() if to_stderr else stdout()

    def say(self, *parts: Any) -> None:
        """Text or tables for a person; text is shown as it is."""
        if not self.as_json:
            for part in parts:
                put(self._console, part)

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


def put(console: Console, part: Any) -> None:
    """Text or a table as it is; in a file no line ends in the blanks that fill cells and lines."""
    with console.capture() as drawn:
        console.print(part, markup=False, highlight=False, soft_wrap=False)
    text = drawn.get()
    if not console.is_terminal:
        text = "\n".join(line.rstrip() for line in text.split("\n"))
    console.file.write(text)


def stdout() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(file=sys.stdout)


def stderr() -> Console:
    """Where progress and errors go."""
    from rich.console import Console

    return Console(file=sys.stderr)


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


class Steps:
    """How far a work of several stages is: called with each `Stage` of a study, or with what is done next."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def __call__(self, stage: Stage) -> None:
        """A stage begins, or goes on."""
        end = monotonic() + stage.seconds_left
        self._bar.update(self._task, description=stage.text, completed=stage.done, total=stage.total, end=end)


@contextmanager
def steps(what: str, *, hidden: bool = False) -> Iterator[Steps]:
    """A bar on standard error for work of several stages; shown where that is a terminal, unless it is hidden.

    There is no bar of the stages done: they take unequal time, so that those done say nothing of those to come.
    """
    from rich.progress import MofNCompleteColumn, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
    from rich.table import Column
    from rich.text import Text

    class Left(ProgressColumn):
        """About how long it will take yet."""

        def render(self, task: Task) -> Text:
            return Text(_left(task.fields["end"] - monotonic()))

    left = Left(table_column=Column(no_wrap=True))
    with _bar(SpinnerColumn(), MofNCompleteColumn(), _described(), left, TimeElapsedColumn(), hidden=hidden) as bar:
        yield Steps(bar, bar.add_task(what, total=None, end=nan))


@contextmanager
def rows_read(what: str, total: int | None, *, hidden: bool = False) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of rows just done: shows rows, their rate and, of a total, the time left."""
    from rich.progress import BarColumn, ProgressColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Rows, and rows a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{int(task.completed):,} rows" + (f", {speed:,.0f}/s" if speed else ""))

    left = (TextColumn("left"), TimeRemainingColumn()) if total else (TimeElapsedColumn(),)
    with _bar(_described(), BarColumn(), Rate(), *left, hidden=hidden) as bar:
        task = bar.add_task(what, total=total)
        yield lambda n: bar.advance(task, n)


def _left(seconds: float) -> str:
    """In words, to one digit, which is more than is known; nothing where it is not, or not worth a word."""
    if isnan(seconds) or -QUICK < seconds < QUICK:
        return ""
    if seconds < 0:
        return "longer than expected"
    scale, unit = next((scale, unit) for scale, unit in UNITS if seconds >= 1.5 * scale or scale == 1)
    digit = 10 ** floor(log10(seconds / scale)) if seconds >= scale else 1
    return f"about {round(seconds / scale / digit) * digit:,} {unit} left"


def _described() -> Any:
    from rich.progress import TextColumn

    return TextColumn("{task.description}", markup=False)


def _bar(*columns: Any, hidden: bool) -> Any:
    """A bar that is gone when it is done, and that does not touch standard output."""
    from rich.progress import Progress

    console = stderr()
    unseen = hidden or not console.is_terminal
    return Progress(*columns, console=console, transient=True, disable=unseen, redirect_stdout=False)
