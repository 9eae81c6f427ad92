# SPDX-License-Identifier: BSD-3-Clause
"""Output: results as pandas data frames, and files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows has no such locks; abandoned drafts are kept there
    fcntl = None  # type: ignore[assignment]

DRAFT_SUFFIX = ".draft"


def as_frame(columns: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return a pandas data frame with one name per row. pandas is an optional dependency."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install pandas. to_dict() works without it.") from error
    return pd.DataFrame(dict(columns), index=list(names))


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
