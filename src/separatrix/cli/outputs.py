# SPDX-License-Identifier: BSD-3-Clause
"""Files to be written: asked about before any work is done, and there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from separatrix.cli.errors import CommandError

__all__ = ["STANDARD", "require_ending", "require_free"]

STANDARD = "-"  # standard input or output, in place of a file


def require_free(paths: Iterable[str | Path | None], *, force: bool) -> None:
    """Every path can be written to, and none is in the way of another.

    Raises
    ------
    CommandError
        Naming the path: it exists and may not be replaced, is a folder, is in no folder, cannot be written, or is
        named twice.
    """
    wanted = [Path(path) for path in paths if path is not None and str(path) != STANDARD]
    for i, path in enumerate(wanted):
        file = Path(str(path).partition("::")[0])
        if path in wanted[:i]:
            raise CommandError("output", f"{path} is named for two outputs. Give each a name of its own.")
        if file.is_dir():
            raise CommandError("output", f"{file} is a folder. Name a file in it, such as {file / 'output'}.")
        if file.exists() and not force:
            raise CommandError("output", f"{file} exists. Choose another name, or pass --force to replace it.")
        _require_folder(file)


def require_ending(path: str, endings: Iterable[str], *, what: str) -> None:
    """The name says what kind of file it will be.

    Raises
    ------
    CommandError
        Where it does not.
    """
    known = list(endings)
    if Path(path).suffix.lower() not in known:
        raise CommandError(
            "output", f"{path}: {what} can be written as {', '.join(known)}. Choose a name with such an ending."
        )


def _require_folder(file: Path) -> None:
    """Where the file is to be, one can be made: tried, since permissions alone do not tell."""
    folder = file.parent
    if not folder.is_dir():
        raise CommandError("output", f"{file}: there is no folder {folder}. Make it first: mkdir -p {folder}")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        if file.exists() and not os.access(file, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise CommandError("output", f"{file} cannot be written: {error.strerror}. Choose another place.") from error
