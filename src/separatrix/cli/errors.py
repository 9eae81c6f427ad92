# SPDX-License-Identifier: BSD-3-Clause
"""Exit codes, and error messages of one paragraph: what is wrong, where, and what to do."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from separatrix._text import masked

# Part of the interface: scripts test for these numbers. docs/cli.md has the same list.
CODES = {"unexpected": 1, "usage": 2, "data": 3, "output": 4, "interrupted": 130, "closed": 141}
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
# Some versions of typer contain a copy of click and others import it; this expression works for both.
UsageError: Any = typer.BadParameter.__mro__[1]

MEMORY_PROBLEMS = ("failed to map segment", "cannot allocate memory")  # messages of the dynamic linker
MORE_MEMORY = "Raise the limit on memory (ulimit -v unlimited), or use a machine with more."

STANDARD = "-"  # standard input or output
written: list[str] = []  # files written by this command so far, listed if it is interrupted


class CommandError(Exception):
    """Error that ends a command: its kind (a key of `CODES`), its message, and the traceback for ``--debug``."""

    def __init__(self, kind: str, message: str, *, trace: str = "") -> None:
        super().__init__(masked(message))
        self.kind, self.code, self.trace = kind, CODES[kind], masked(trace)

    def document(self) -> dict[str, Any]:
        return {"error": {"kind": self.kind, "code": self.code, "message": str(self)}}


def failure_of(error: BaseException) -> CommandError:  # noqa: PLR0912  # one branch per kind of error
    """Convert any exception to a `CommandError` with a kind and a message."""
    match error:
        case CommandError():
            return error
        case KeyboardInterrupt() | typer.Abort():
            done = f"Already written: {', '.join(written)}." if written else "No file was written or changed."
            kind, message = "interrupted", f"Stopped. {done}"
        case BrokenPipeError():
            kind, message = "closed", ""
        case ImportError() | OSError() if problem := _memory_problem(error):
            kind, message = "data", f"Memory is too small to load the libraries of separatrix: {problem}. {MORE_MEMORY}"
        case FileNotFoundError():
            kind, message = "data", f"{error.filename} does not exist. Check the name and the folder."
        case IsADirectoryError():
            kind, message = "data", f"{error.filename} is a folder. Name a file in it."
        case OSError():
            is_output = isinstance(error, FileExistsError) or error.errno in DISK_ERRORS
            where = f"{error.filename}: " if error.filename else ""
            kind, message = ("output" if is_output else "data"), f"{where}{error.strerror or error}."
        case MemoryError():
            kind, message = "data", "The table does not fit into memory. Use fewer rows, or drop columns (--drop)."
        case ImportError() if "pip install" in str(error):  # the message already names the library to install
            kind, message = "unexpected", str(error)
        case ModuleNotFoundError():
            kind, message = "unexpected", f"{error}. Install all optional libraries: pip install 'separatrix[all]'"
        case ImportError():
            library = (error.name or "'separatrix[all]'").partition(".")[0]
            remedy = f"Reinstall it: pip install --force-reinstall {library}"
            kind, message = "unexpected", f"{library} is installed, but cannot be loaded: {error}. {remedy}"
        case _ if (reason := _reason(error)) is not None:
            kind, message = reason, getattr(error, "for_command_line", str(error))
        case _:
            report = "please report it with the command you typed and its output with --debug."
            kind, message = "unexpected", f"{type(error).__name__}: {error}. This is a bug in separatrix: {report}"
    return CommandError(kind, message, trace="".join(traceback.format_exception(error)))


@contextmanager
def writing(path: Any, note: str = "") -> Iterator[None]:
    """Convert system errors inside the block to errors that name this output file, followed by a note."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        path = "Standard output" if str(path) == STANDARD else path
        reason = error.strerror or str(error)
        remedy = (
            "Choose another name, or replace it: --force"
            if isinstance(error, FileExistsError)
            else "Choose another place"
        )
        raise CommandError("output", f"{path} could not be written: {reason}. {remedy}.{note}") from error


def _memory_problem(error: BaseException | None) -> str:
    """Message of a library that does not fit into memory, from an error or its causes; empty if missing."""
    while error is not None:
        if any(problem in str(error).casefold() for problem in MEMORY_PROBLEMS):
            return str(error)
        error = error.__cause__ or error.__context__
    return ""


def _reason(error: BaseException) -> str | None:
    """Kind of an error about the input of a command; None if the exception is a bug."""
    try:
        from separatrix.exceptions import DataError
        from separatrix.export import FileError
        from separatrix.files import FileWriteError
    except Exception:  # a broken library, whose import fails again
        return None
    if isinstance(error, FileWriteError):
        return "output"
    frames = list(traceback.walk_tb(error.__traceback__))
    is_ours = bool(frames) and str(frames[-1][0].f_globals.get("__name__", "")).partition(".")[0] == "separatrix"
    is_about_input = isinstance(error, DataError | FileError) or (isinstance(error, ValueError) and is_ours)
    return "data" if is_about_input else None
