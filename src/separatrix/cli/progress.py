# SPDX-License-Identifier: BSD-3-Clause
"""How far the work is, on standard error where that is a terminal; else nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from separatrix.cli.console import stderr

__all__ = ["rows_read", "steps"]


@contextmanager
def steps(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A function to call with a description, what is done and what there is to do."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with _shown(Progress, *columns) as bar:
        task = bar.add_task(what, total=None)
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=total)


@contextmanager
def rows_read(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of rows just done: shows rows, their rate and, of a total, the time left."""
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Rows, and rows a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{int(task.completed):,} rows" + (f", {speed:,.0f}/s" if speed else ""))

    left = (TextColumn("left"), TimeRemainingColumn()) if total else (TimeElapsedColumn(),)
    with _shown(Progress, TextColumn("{task.description}"), BarColumn(), Rate(), *left) as bar:
        task = bar.add_task(what, total=total)
        yield lambda n: bar.advance(task, n)


def _shown(progress: Any, *columns: Any) -> Any:
    """A bar that is gone when it is done, and that does not touch standard output."""
    console = stderr()
    return progress(*columns, console=console, transient=True, disable=not console.is_terminal, redirect_stdout=False)
