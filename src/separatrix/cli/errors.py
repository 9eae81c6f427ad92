# SPDX-License-Identifier: BSD-3-Clause
"""Exit codes, and error messages of one paragraph: what is wrong, where, and what to do."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

# Part of the interface: scripts test for these numbers. docs/cli.md has the same list.
CODES = {"unexpected": 1, "usage": 2, "data": 3, "output": 4, "interrupted": 130, "closed": 141}
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
# Some versions of typer contain a copy of click and others import it; this expression works for both.
UsageError: Any = typer.BadParameter.__mro__[1]

written: list[str] = []  # files written by this command so far, listed if it is interrupted


class CommandError(Exception):
    """Error that ends a command: its kind (a key of `CODES`), its message, and the traceback for ``--debug``."""

    def __init__(self, kind: str, message: str, *, trace: str = "") -> None:
        super().__init__(message)
        self.kind, self.code, self.trace = kind, CODES[kind], trace

    def document(self) -> dict[str, Any]:
        return {"error": {"kind": self.kind, "code": self.code, "message": str(self)}}


def failure_of(error: BaseException) -> CommandError:
    """Convert any exception to a `CommandError` with a kind and a message."""
    match error:
        case CommandError():
            return error
        case KeyboardInterrupt():
            done = f"Already written: {', '.join(written)}." if written else "No file was written or changed."
            kind, message = "interrupted", f"Stopped. {done}"
        case BrokenPipeError():
            kind, message = "closed", ""
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
def writing(path: Any) -> Iterator[None]:
    """Convert system errors inside the block to errors that name this output file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError("output", f"{path} could not be written: {reason}. Choose another place.") from error


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
