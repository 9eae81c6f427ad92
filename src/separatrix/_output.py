# SPDX-License-Identifier: BSD-3-Clause
"""Output: tables of results, and files that are written completely or not at all."""

from __future__ import annotations

import datetime as dt
import errno
import html
import math
import os
import shutil
import stat
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

try:
    import fcntl
except ImportError:  # Windows has no such locks; abandoned drafts are kept there
    fcntl = None  # type: ignore[assignment]

DRAFT_SUFFIX = ".draft"
NOTE_WIDTH = 80  # characters per line of a note below a table
MIN_SHOWN_P = 1e-16  # smaller p values are printed as "<1e-16"


class Tabular:
    """Output of a table with one line per name: text, HTML, LaTeX, and data frames.

    ``columns`` are arrays by name; ``title`` and ``notes`` are shown above and below them. ``formats`` are those of
    some columns: format specifications such as ``".4f"``, or ``"p"`` for p values; other numbers have five digits.
    """

    if TYPE_CHECKING:  # at run time, a property would be taken for the default of a subclass's field

        @property
        def names(self) -> Sequence[str]: ...
        @property
        def columns(self) -> Mapping[str, Any]: ...
        @property
        def title(self) -> str: ...
        @property
        def notes(self) -> tuple[str, ...]: ...
        @property
        def formats(self) -> Mapping[str, str]: ...

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name."""
        return dict(self.columns)

    def to_pandas(self) -> Any:
        """Return a pandas data frame; ``names`` are its index."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas() needs pandas: pip install pandas. to_dict() works without it.") from error
        return pd.DataFrame(self.to_dict(), index=list(self.names))

    def to_polars(self) -> Any:
        """Return a polars data frame; ``names`` are its column "name"."""
        try:
            import polars as pl
        except ImportError as error:
            raise ImportError("to_polars() needs polars: pip install polars. to_dict() works without it.") from error
        return pl.DataFrame({"name": list(self.names), **self.to_dict()})

    def to_latex(self) -> str:
        """Return a LaTeX ``tabular`` with the rules of the package booktabs, and the notes as comments."""
        head, *lines = ([_latex(cell) for cell in line] for line in self._cells())
        rows = [" & ".join(line) + r" \\" for line in lines]
        top = [rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}", r"\toprule", " & ".join(head) + r" \\", r"\midrule"]
        notes = [f"% {note}" for note in self.notes]
        return "\n".join([*top, *rows, r"\bottomrule", r"\end{tabular}", *notes]) + "\n"

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        head, *lines = ([html.escape(cell) for cell in line] for line in self._cells())
        right = ' style="text-align: right"'
        rows = [
            f"<tr><th>{name}</th>{''.join(f'<td{right}>{cell}</td>' for cell in cells)}</tr>" for name, *cells in lines
        ]
        title = [f"<caption>{html.escape(line)}</caption>" for line in self.title.splitlines()[:1]]
        top = "".join(f"<th{right}>{cell}</th>" for cell in head)
        more = [*self.title.splitlines()[1:], *self.notes]
        below = [f"<p>{html.escape(text)}</p>" for text in more]
        table = ["<table>", *title, f"<thead><tr>{top}</tr></thead>", "<tbody>", *rows, "</tbody>", "</table>"]
        return "\n".join([*table, *below])

    def _cells(self) -> list[list[str]]:
        """Texts of the heading and of each line."""
        columns = [
            [format_cell(value, self.formats.get(name, ".5g")) for value in values]
            for name, values in self.columns.items()
        ]
        return [["", *self.columns], *(list(line) for line in zip(self.names, *columns, strict=True))]

    def __str__(self) -> str:
        lines = self._cells()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = [
            "  ".join(
                cell.ljust(width) if at == 0 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        title = [self.title, ""] * bool(self.title)
        notes = ["\n" + textwrap.fill(note, NOTE_WIDTH) for note in self.notes]
        return "\n".join([*title, *table, *notes])

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False, repr=False)
class Table(Tabular):
    """A table with one line per name. Its columns are also items, such as ``table["lower"]``."""

    names: tuple[str, ...]
    columns: Mapping[str, Any]
    title: str = ""
    notes: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        if name not in self.columns:
            raise KeyError(f"{name!r} is not a column of this table. Its columns are {', '.join(self.columns)}.")
        return self.columns[name]


def format_cell(value: Any, spec: str) -> str:
    """Text of one entry: a dash if it is missing; ``spec`` is the format of numbers, "p" that of p values."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool) or not isinstance(value, Real):
        return label_text(value)
    if spec == "p":
        return f"{value:.3g}" if float(value) >= MIN_SHOWN_P else f"<{MIN_SHOWN_P:g}"
    return format(value, spec)


def label_text(value: Any) -> str:
    """Text of a label; a date at midnight is written without the time."""
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ") if value.time() != dt.time() else value.date().isoformat()
    return str(value)


def _latex(text: str) -> str:
    """Escape the characters that have a meaning in LaTeX."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {mark: "\\" + mark for mark in "&%$#_{}"} | {"<": "$<$", ">": "$>$"}
    return "".join(special.get(mark, mark) for mark in text)


def output_problem(file: Path, *, force: bool, option: str = "force=True") -> str:
    """Why a file cannot be written, and what to do; empty if it can be. A link without a target counts as a file."""
    problem = ""
    try:
        real = Path(os.path.realpath(file))
        folder = real.parent if file.is_symlink() else file.parent
        if file.is_dir():
            problem = f"{file} is a folder. Name a file in it, such as {file / 'output'}."
        elif os.path.lexists(file) and not force:
            problem = f"{file} exists. Choose another name, or pass {option} to replace it."
        elif not folder.is_dir():
            problem = f"{file}: the folder {folder} does not exist. Create it: mkdir -p {folder}"
        elif file.exists() and not os.access(file, os.W_OK):
            problem = f"{file} cannot be written: permission denied. Choose another place."
        elif not _is_special(file):  # permissions do not show whether a file can be created
            tempfile.TemporaryFile(dir=folder).close()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or error
        problem = f"{str(file)!r} cannot be written: {reason}. Choose another place."
    return problem


@contextmanager
def draft_of(target: Path, *, exclusive: bool = False) -> Iterator[Path]:
    """Yield the path of a draft that becomes ``target`` at the end, or is removed on any exception, Ctrl-C included.

    Links are followed. If the target is a device or a pipe, the draft is written into it. A file that is replaced keeps
    its permissions; with ``exclusive``, FileExistsError is raised instead, even if the file was created a moment ago.
    """
    with new_draft(target) as draft:
        yield draft
        place(draft, target, exclusive=exclusive)


@contextmanager
def new_draft(target: Path) -> Iterator[Path]:
    """Yield the path of a draft, which `place` may turn into ``target``; it is removed at the end.

    Unlocked drafts of this target are removed: a process keeps its draft locked until it ends or is killed.
    """
    is_special = _is_special(target)
    final = Path(os.path.realpath(target))
    prefix = f".{final.name[:50]}."
    if not is_special:
        remove_abandoned(final.parent, prefix)
    folder = Path(tempfile.mkdtemp(DRAFT_SUFFIX, prefix, None if is_special else final.parent))
    try:
        with locked(folder):
            yield folder / "draft"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def place(draft: Path, target: Path, *, exclusive: bool) -> None:
    """Turn a complete draft into its target, as in `draft_of`."""
    if exclusive:
        _create(draft, target)
    elif _is_special(target):
        with open(draft, "rb") as source, open(target, "wb") as stream:
            shutil.copyfileobj(source, stream)
    else:
        final = Path(os.path.realpath(target))
        keep_permissions(draft, final)
        os.replace(draft, final)


def _create(draft: Path, final: Path) -> None:
    """Give a complete draft its final name; raises FileExistsError if the name is taken."""
    try:
        try:
            os.link(draft, final)  # unlike a rename, this never replaces a file
        except FileExistsError:
            raise
        except OSError:  # the file system has no hard links
            os.close(os.open(final, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.replace(draft, final)
    except FileExistsError as error:
        raise FileExistsError(errno.EEXIST, "another program has just created this file", str(final)) from error


def keep_permissions(draft: Path, final: Path) -> None:
    """Give the draft the mode, and if possible the owner, of the file that it will replace."""
    try:
        before = final.stat()
    except FileNotFoundError:
        return
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # only root may give a file to another user
            os.chown(draft, before.st_uid, before.st_gid)
    draft.chmod(stat.S_IMODE(before.st_mode) & 0o777)


def _is_special(file: Path) -> bool:
    return file.exists() and not file.is_file() and not file.is_dir()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder until the end of the block or of the process; raises BlockingIOError if it is locked."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove drafts of processes that no longer run."""
    if fcntl is None or not os.access(parent, os.R_OK):
        return
    for name in os.listdir(parent):
        folder = parent / name
        if not (name.startswith(prefix) and name.endswith(DRAFT_SUFFIX)):
            continue
        with suppress(OSError):  # locked, or of another user
            # An empty folder may have been created a moment ago, before it is locked.
            if os.listdir(folder) or time.time() - folder.stat().st_mtime > 60:
                with locked(folder):
                    shutil.rmtree(folder)


@contextmanager
def atomic_file(target: Path, *, exclusive: bool = False) -> Iterator[IO[bytes]]:
    """Yield an open file that becomes ``target`` at the end, as in `draft_of`.

    The content is flushed to disk before the target is replaced. A new file has the user's default permissions.
    """
    with draft_of(target, exclusive=exclusive) as draft, open(draft, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def write_atomically(target: Path, content: bytes, *, exclusive: bool = False) -> None:
    """Write all of the content, or leave the existing file unchanged; ``exclusive`` as in `draft_of`."""
    with atomic_file(target, exclusive=exclusive) as file:
        file.write(content)
