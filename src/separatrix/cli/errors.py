# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong, the exit code it has, and one paragraph on it: what, where and what to do.

A `DataError` brings its remedy for the command line with it.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

__all__ = ["CODES", "CommandError", "UsageError", "failure_of", "forget_written", "writing", "wrote"]

# Part of the interface: scripts test for these numbers. docs/cli.md has the same list.
CODES = {
    "unexpected": 1,
    "usage": 2,
    "data": 3,
    "output": 4,
    "interrupted": 130,
    "closed": 141,
}
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
# Typer brings its own copy of click in some versions and imports it in others; this is the right class in both.
UsageError: Any = typer.BadParameter.__mro__[1]


_written: list[str] = []  # what this command has put in its place so far: one that is stopped has to tell


class CommandError(Exception):
    """The end of a command: a kind of `CODES`, and a paragraph for the user; ``trace`` for those who ask for it."""

    def __init__(self, kind: str, message: str, *, trace: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.trace = trace

    @property
    def code(self) -> int:
        """The exit code."""
        return CODES[self.kind]

    def document(self) -> dict[str, Any]:
        """The same for ``--json``."""
        return {"error": {"kind": self.kind, "code": self.code, "message": str(self)}}


def failure_of(error: BaseException) -> CommandError:
    """How an exception of any kind ends the command."""
    match error:
        case CommandError():
            return error
        case KeyboardInterrupt():
            kind, message = "interrupted", f"Stopped. {_left_behind()}"
        case BrokenPipeError():
            kind, message = "closed", ""
        case OSError():
            is_output = isinstance(error, FileExistsError) or error.errno in NO_ROOM
            kind, message = ("output" if is_output else "data"), _os_error(error)
        case MemoryError():
            kind, message = "data", "The table does not fit into memory. Give fewer rows or columns (--drop)."
        case ImportError():
            kind, message = "unexpected", _missing(error)
        case _ if (reason := _reason(error)) is not None:
            kind, message = reason, getattr(error, "for_command_line", str(error))
        case _:
            kind, message = "unexpected", _bug(error)
    return CommandError(kind, message, trace="".join(traceback.format_exception(error)))


def wrote(path: object) -> None:
    """A file is in its place."""
    _written.append(str(path))


def forget_written() -> None:
    """A command begins."""
    _written.clear()


def _left_behind() -> str:
    return f"Written before that: {', '.join(_written)}." if _written else "No file was written or changed."


@contextmanager
def writing(path: Any) -> Iterator[None]:
    """Whatever the system refuses inside is about this file, which is an output."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(
            "output", f"{path} could not be written: {reason}. Nothing was left there; try another place with -o."
        ) from error


def _reason(error: BaseException) -> str | None:
    """The kind of an error of this package that is about what it was given, and says so itself."""
    try:
        from separatrix.exceptions import DataError
        from separatrix.export import FileError
        from separatrix.files import FileWriteError
    except Exception:  # where a library is broken, importing fails again, and no error is one of these
        return None
    if isinstance(error, FileWriteError):
        return "output"
    told = isinstance(error, DataError | FileError) or (isinstance(error, ValueError) and _raised_here(error))
    return "data" if told else None


def _raised_here(error: BaseException) -> bool:
    """Whether this package itself raised it: then its text is for the user. Any other ValueError is a bug."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and str(frames[-1][0].f_globals.get("__name__", "")).partition(".")[0] == "separatrix"


def _os_error(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{error.filename} does not exist. Check the name and the folder."
    if isinstance(error, IsADirectoryError):
        return f"{error.filename} is a folder. Name one file in it."
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}."


def _missing(error: ImportError) -> str:
    """A library that is not there, or is broken: messages of this package name the extra, any other the module."""
    text = str(error)
    if "pip install" in text:
        return text
    if isinstance(error, ModuleNotFoundError):
        return f"{text}. Install all that the command needs: pip install 'separatrix[all]'"
    library = (error.name or "").partition(".")[0]
    anew = f"pip install --force-reinstall {library or repr('separatrix[all]')}"
    return f"{library or 'A library'} is installed, but cannot be loaded: {text}. Install it anew: {anew}"


def _bug(error: BaseException) -> str:
    return (
        f"{type(error).__name__}: {error}. This should not happen: please report it with the command you typed and "
        "what the same command says with --debug."
    )
