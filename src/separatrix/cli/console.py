# SPDX-License-Identifier: BSD-3-Clause
"""Printing and progress: results go to standard output; errors and progress go to standard error.

With ``--json``, standard output contains one document and nothing else. Rich chooses colour and width: it prints plain
text if the output is not a terminal, and honours NO_COLOR. All text passes through `layout.visible`, because names and
labels of a table may contain control characters.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from math import floor, isinf, isnan, log10, nan
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

import rich.console
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
from rich.table import Column
from rich.text import Text

from separatrix.cli.errors import STANDARD, CommandError, writing, written
from separatrix.cli.layout import ENCODING_ERRORS, UNSAFE, TextTable, folded, printable, visible

if TYPE_CHECKING:
    from separatrix.study import Stage

MIN_SHOWN_SECONDS = 2.0  # shorter remaining times are not shown
TIME_UNITS = ((3600, "h"), (60, "min"), (1, "s"))


class Printer:
    """Prints the results of a command as text, or with ``--json`` as one document at the end."""

    def __init__(self, *, as_json: bool = False, to_stderr: bool = False) -> None:
        self.as_json, self._to_stderr = as_json, to_stderr
        self._console = rich.console.Console(file=sys.stderr if to_stderr else sys.stdout)

    def text(self, *parts: str | TextTable, style: str = "") -> None:
        """Print paragraphs and tables in the width of the terminal; words are not broken."""
        width = self._console.width
        for part in parts:
            if isinstance(part, TextTable):
                self._print([Text(line.text, line.style) for line in part.lines(width, self._clean)])
            else:
                self._print([Text(line, style) for line in folded(self._clean(part), width)])

    def line(self, *lines: str) -> None:
        """Print lines that are not wrapped, such as paths and commands to copy."""
        self._print([Text(self._clean(line)) for line in lines])

    def heading(self, text: str) -> None:
        self.text("")
        self.text(text, style="bold")

    def notes(self, notes: list[str], title: str = "Notes") -> None:
        """Print notes as a list."""
        if notes:
            self.heading(title)
        for note in notes:
            first, *others = folded(self._clean(note), max(self._console.width - 3, 1))
            self._print([Text(f" - {first}"), *(Text(f"   {line}") for line in others)])

    def error(self, message: str) -> None:
        """Print an error as one paragraph."""
        first, *others = folded(self._clean(" ".join(f"Error: {message}".splitlines())), self._console.width)
        start = Text(first)
        start.stylize("bold red", 0, len("Error:"))
        self._print([start, *map(Text, others)])

    def document(self, document: dict[str, Any]) -> None:
        """Print the JSON document, with ``--json``."""
        if not self.as_json:
            return
        options: dict[str, Any] = {"indent": 2, "allow_nan": False}
        text = json.dumps(plain(document), ensure_ascii=False, **options)
        try:
            text.encode(self._console.encoding)
        except UnicodeEncodeError:
            text = json.dumps(plain(document), **options)
        escaped = UNSAFE.sub(lambda found: found[0] if found[0] == "\n" else json.dumps(found[0])[1:-1], text)
        write(escaped + "\n", to_stderr=self._to_stderr)

    def _clean(self, text: str) -> str:
        return printable(text, self._console.encoding)

    def _print(self, lines: list[Text]) -> None:
        if self.as_json:
            return
        with stream_errors(to_stderr=self._to_stderr):
            with self._console.capture() as drawn:  # rich itself would exit with code 1 if a pipe is closed
                for line in lines:
                    self._console.print(line, soft_wrap=True)
            write(drawn.get(), to_stderr=self._to_stderr)


def accept_any_text() -> None:
    """Let standard output and error replace characters that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=ENCODING_ERRORS)


def write(text: str, *, to_stderr: bool = False) -> None:
    """Write to standard output or standard error."""
    with stream_errors(to_stderr=to_stderr):
        stream = sys.stderr if to_stderr else sys.stdout
        stream.write(text)
        stream.flush()


@contextmanager
def stream_errors(*, to_stderr: bool = False) -> Iterator[None]:
    """Report failures of standard output. Those of standard error are ignored, because they cannot be reported."""
    if to_stderr:
        try:
            yield
        except OSError:
            discard(sys.stderr)
        return
    if sys.stdout is None:
        raise CommandError("output", "Standard output is closed. Redirect it instead: separatrix ... > /dev/null")
    with writing(STANDARD, note=f" Already written: {', '.join(written)}." if written else ""):
        yield


def discard(stream: IO[str]) -> None:
    """Drop what a stream has buffered, because Python would fail to write it at exit."""
    with suppress(OSError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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
            bar.update(task, description=visible(stage.text), completed=stage.done, total=stage.total, **times)

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
