# SPDX-License-Identifier: BSD-3-Clause
"""Location of a table: its suffixes determine format and compression, and ``::name`` names a table in the file.

Text is decompressed while it is read. Formats with random access (Parquet, Excel, databases) are decompressed to a
temporary file, which is removed with the `TableFile` that reads it.
"""

from __future__ import annotations

import difflib
import lzma
import os
import shutil
import stat
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path, PurePath
from typing import IO, Any

from separatrix._lazy import pa
from separatrix._output import DRAFT_SUFFIX, locked, remove_abandoned
from separatrix._text import first_few, masked
from separatrix.exceptions import DataError

DESCRIPTORS = (Path("/dev"), Path("/dev/fd"))  # open files of this process, such as /dev/stdin
STANDARD = "-"  # the path of standard input and output, which are CSV

FORMATS: dict[str, tuple[str, ...]] = {
    "csv": (".csv", ".txt"),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "excel": (".xlsx", ".xlsm"),
    "sqlite": (".sqlite", ".sqlite3", ".db"),
    "duckdb": (".duckdb", ".ddb"),
}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".lz4": "lz4", ".zip": "zip"}
BY_SUFFIX = {suffix: kind for kind, suffixes in FORMATS.items() for suffix in suffixes}
NATIVE = ("parquet", "arrow", "duckdb")  # formats whose libraries open the whole path of an output themselves
SEVERAL_TABLES = ("excel", "sqlite", "duckdb")  # formats that can hold several tables
ARROW_COMPRESSIONS = ("gzip", "bz2", "zstd", "lz4")  # Arrow decompresses these without blocking other threads
READ_BYTES = 2**20
LARGE_FILES = "/var/tmp"  # replaces /tmp, which is in memory on many machines


class FileReadError(DataError):
    """A file does not exist or cannot be read as a table."""


class FileWriteError(DataError):
    """A table cannot be written; no partial file is left."""


class PipeCopy:
    """Temporary copy of a pipe, which can be read only once; the copy is removed with this object."""

    def __init__(self, pipe: Path) -> None:
        self.pipe, self.path = pipe, temporary_file(self, pipe.name)
        with pipe.open("rb") as source, self.path.open("wb") as file:
            shutil.copyfileobj(source, file, READ_BYTES)


@dataclass(frozen=True)
class Location:
    """Path, format, compression and table name of a file; ``parts`` are the files of a folder or pattern.

    ``copy`` is the owner of the file if it is a copy of a pipe.
    """

    path: Path
    format: str
    compression: str | None = None
    table: str | None = None
    parts: tuple[Path, ...] = ()
    copy: PipeCopy | None = None

    @property
    def title(self) -> Path:
        """Path for messages, which name a pipe and not its copy."""
        return self.path if self.copy is None else self.copy.pipe

    def fingerprint(self) -> tuple[tuple[int, ...], ...]:
        """Size, times of modification and change, and inode of each file; raises if a file was removed.

        The time of change (ctime) cannot be set back, unlike the modification time.
        """
        try:
            states = [os.stat(file) for file in self.parts or (self.path,)]
        except FileNotFoundError as error:
            raise FileReadError(f"{error.filename} was removed after it was opened. Restore it.") from error
        return tuple((state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino) for state in states)

    def require_unchanged(self, before: tuple[tuple[int, ...], ...]) -> None:
        """Raise FileReadError if the fingerprint is not ``before``."""
        if self.fingerprint() != before:
            raise FileReadError(
                f"{self.title} has changed since it was opened. It may be read several times, and needs the same rows "
                "each time. Wait until it is complete, or copy it, and open it again."
            )


def utf8_problem(path: str | os.PathLike[str]) -> str:
    """Why libraries refuse the path of a table if it contains bytes that are not UTF-8; empty if it does not."""
    text = os.fspath(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return (
            f"The name {text} contains bytes that are not UTF-8, so a table cannot be there. Rename the file or folder."
        )
    return ""


def find(path: str | os.PathLike[str], table: str | None = None) -> Location:
    """Locate a file for reading; raises FileReadError if there is no such file, or its suffix is unknown."""
    text, table = _split(path, table)
    _require_local(text)
    if problem := utf8_problem(path):
        raise FileReadError(problem)
    where = Path(text).expanduser()
    if where.is_dir() or (not where.exists() and has_magic(text)):
        parts = expand(text)
        other = [part for part in parts if _format(part) != "parquet"]
        if other:
            raise FileReadError(f"{text} matches {other[0]}, but only Parquet files are read together. Give one file.")
        return Location(where, "parquet", None, table, parts)
    if not where.exists():
        raise FileReadError(_not_found(where))
    if not os.access(where, os.R_OK):
        raise FileReadError(f"{where}: permission denied. Change its permissions, or copy it.")
    mode = where.stat().st_mode
    is_pipe = stat.S_ISFIFO(mode) or (stat.S_ISREG(mode) and where.parent in DESCRIPTORS)
    copy = PipeCopy(where) if is_pipe else None
    where = where if copy is None else copy.path
    compression = COMPRESSIONS.get(where.suffix.lower())
    name = where.with_suffix("") if compression else where
    if compression == "zip" and not _format(name):
        name = Path(only_member(where))
    kind = _format(name) or (None if copy is None else "csv")  # the shell's <(command) has no suffix
    if kind is None:
        raise FileReadError(_unknown_suffix(where, "read"))
    if table is not None and kind not in SEVERAL_TABLES:
        raise FileReadError(f"{where} contains a single table, so {table!r} cannot be chosen. Give only the path.")
    with where.open("rb") as file:  # SQLite and DuckDB both use .db
        is_duckdb = kind == "sqlite" and file.read(12)[8:] == b"DUCK"
    return Location(where, "duckdb" if is_duckdb else kind, compression, table, copy=copy)


def _require_local(path: str) -> None:
    if "://" in path:
        raise FileReadError(f"{masked(path)} is a URL, and only local files can be read. Download it first.")


def expand(path: str) -> tuple[Path, ...]:
    """Parquet files in a folder, or files that match a pattern; raises FileReadError if there are none."""
    _require_local(path)
    where = Path(path).expanduser()
    if not where.is_dir():
        files = tuple(Path(name) for name in sorted(glob(str(where), recursive=True)) if os.path.isfile(name))
        if not files:
            raise FileReadError(f"No file matches {path}. Quote the pattern, and check the folder: {Path.cwd()}.")
        return files
    # Files and folders whose names start with a dot or an underscore are skipped.
    found = [file for suffix in FORMATS["parquet"] for file in where.rglob(f"*{suffix}") if file.is_file()]
    shown = [file for file in found if not any(part[0] in "._" for part in file.relative_to(where).parts)]
    if not shown:
        names = sorted(entry.name for entry in where.iterdir())
        inside = f"it contains {first_few(names, 8)}" if names else "it is empty"
        raise FileReadError(
            f"{where} is a folder without Parquet files: {inside}. Give one file, or a folder of .parquet files."
        )
    return tuple(sorted(shown))


def output_location(path: str | os.PathLike[str], table: str | None = None) -> Location:
    """Locate a file for writing; raises FileWriteError if this is not possible or the suffix is unknown."""
    text, table = _split(path, table)
    where = Path(text).expanduser()
    compression = COMPRESSIONS.get(where.suffix.lower())
    kind = _format(where.with_suffix("") if compression else where)
    if kind is None:
        raise FileWriteError(_unknown_suffix(where, "written"))
    if problem := utf8_problem(path) or (utf8_problem(os.path.realpath(where)) if kind in NATIVE else ""):
        raise FileWriteError(problem)
    if where.is_dir():
        raise FileWriteError(f"{where} is a folder. Give the name of a file in it, such as {where / f'table.{kind}'}.")
    if not where.parent.is_dir():
        raise FileWriteError(f"{where} cannot be written: there is no folder {where.parent}. Create it first.")
    return Location(where, kind, compression, table)


def _split(path: str | os.PathLike[str], table: str | None) -> tuple[str, str | None]:
    """Split ``shop.db::orders`` into file and table, unless a file has exactly this name."""
    text = os.fspath(path)
    before, mark, name = text.rpartition("::")
    if not mark or os.path.exists(text):
        return text, table
    if table not in (None, name):
        raise FileReadError(f"{text} names the table {name!r}, but table={table!r} names another. Give one of them.")
    return before, name


def _format(name: PurePath) -> str | None:
    return BY_SUFFIX.get(name.suffix.lower())


def only_member(where: Path) -> str:
    """Name of the only file in a zip archive."""
    try:
        with zipfile.ZipFile(where) as archive:
            listed = [info.filename for info in archive.infolist() if not info.is_dir()]
            names = [name for name in listed if not name.startswith("__MACOSX/")]  # skip the metadata of macOS
    except zipfile.BadZipFile as error:
        raise FileReadError(f"{where} is damaged or not a zip archive ({error}). Copy or download it again.") from error
    if len(names) != 1:
        raise FileReadError(
            f"{where} contains {len(names)} files ({first_few(names, 8)}). Unpack it, and give one of them."
        )
    return names[0]


def _not_found(where: Path) -> str:
    folder = where.parent
    if not folder.is_dir():
        existing = next(parent for parent in where.absolute().parents if parent.is_dir())
        return f"There is no file {where}: the folder {folder} does not exist. The last existing folder is {existing}."
    names = sorted(entry.name for entry in folder.iterdir() if entry.name[0] != ".")
    near = difflib.get_close_matches(where.name, names, n=3)
    if near:
        return f"There is no file {where}. Did you mean {' or '.join(str(folder / name) for name in near)}?"
    known = [name for name in names if {suffix.lower() for suffix in Path(name).suffixes} & BY_SUFFIX.keys()]
    tables = f"The tables in that folder are {first_few(known, 8)}." if known else "There are no tables in that folder."
    return f"There is no file {where}. {tables}"


def _unknown_suffix(where: Path, verb: str) -> str:
    known = "; ".join(f"{kind} ({' '.join(suffixes)})" for kind, suffixes in FORMATS.items())
    suffix = f"{where.suffix!r} is not a supported suffix" if where.suffix else "it has no suffix"
    return (
        f"{where} cannot be {verb}: {suffix}. Supported: {known}; each also compressed ({' '.join(COMPRESSIONS)}). "
        "Rename or convert it."
    )


def open_input(where: Location) -> Any:
    """Open the decompressed bytes of a file as an Arrow stream."""
    with reading(where):
        if where.compression is None:
            return pa.OSFile(str(where.path), "r")
        if where.compression in ARROW_COMPRESSIONS:
            return pa.CompressedInputStream(pa.OSFile(str(where.path), "r"), where.compression)
        if where.compression == "xz":
            return pa.PythonFile(lzma.open(where.path), "r")
        archive = zipfile.ZipFile(where.path)
        return pa.PythonFile(archive.open(only_member(where.path)), "r")


@contextmanager
def reading(where: Location) -> Iterator[None]:
    """Convert errors in reading or decompressing to a FileReadError that names the file."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError) as error:  # Arrow raises OSError
        if where.compression is None:
            raise FileReadError(f"{where.title} cannot be read: {error}.") from error
        message = str(error).lower()
        is_short = isinstance(error, EOFError) or "truncated" in message or "ended before" in message
        what = "ends too early: it is truncated" if is_short else "is damaged or not compressed as its suffix indicates"
        raise FileReadError(
            f"{where.title} {what} ({where.compression}: {error}). Copy or download it again."
        ) from error


def unpacked(where: Location, owner: object) -> Path:
    """Path of the decompressed file: the file itself, or a temporary copy that is removed with its owner."""
    if where.compression is None:
        return where.path
    plain = temporary_file(owner, f"decompressed{FORMATS[where.format][0]}")
    with reading(where), open_input(where) as stream, plain.open("wb") as file:
        shutil.copyfileobj(stream, file, READ_BYTES)
    return plain


def temporary_file(owner: object, name: str) -> Path:
    """Path of a file in a new folder that is removed with its owner. Folders of killed processes are removed too."""
    parent = tempfile.gettempdir()
    if parent == "/tmp" and "TMPDIR" not in os.environ and os.access(LARGE_FILES, os.W_OK):
        parent = LARGE_FILES
    remove_abandoned(Path(parent), "separatrix-")
    folder = Path(tempfile.mkdtemp(DRAFT_SUFFIX, "separatrix-", parent))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.enter_context(locked(folder))
        weakref.finalize(owner, stack.pop_all().close)
    return folder / name


@contextmanager
def open_output(path: Path, compression: str | None, member: str) -> Iterator[IO[bytes]]:
    """Open a stream that compresses its output; ``member`` is the file name inside a zip archive."""
    with ExitStack() as stack:
        stream: Any = stack.enter_context(path.open("wb"))
        if compression == "xz":
            stream = stack.enter_context(lzma.LZMAFile(stream, "wb"))
        elif compression == "zip":
            archive = stack.enter_context(zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED))
            stream = stack.enter_context(archive.open(member, "w", force_zip64=True))
        elif compression is not None:
            stream = stack.enter_context(pa.CompressedOutputStream(pa.PythonFile(stream, "w"), compression))
        yield stream
