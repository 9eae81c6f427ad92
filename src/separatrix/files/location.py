# SPDX-License-Identifier: BSD-3-Clause
"""From a path to what is there: the format and the compression by its suffixes, the table by ``::name``."""

from __future__ import annotations

import difflib
import os
import zipfile
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path, PurePath

from separatrix.files.errors import FileReadError, FileWriteError

__all__ = ["COMPRESSIONS", "FORMATS", "STANDARD", "Location", "find", "only_member", "place"]

STANDARD = "-"  # standard input or output, as CSV

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
NAMED = ("excel", "sqlite", "duckdb")  # formats that hold several tables


@dataclass(frozen=True)
class Location:
    """What a path says: where, in which format, packed how, and which table of several."""

    path: Path
    format: str
    compression: str | None = None
    table: str | None = None
    parts: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, or the parts of a folder."""
        return self.parts or (self.path,)


def find(path: str | os.PathLike[str], table: str | None = None) -> Location:
    """The file that a path names, for reading.

    Raises
    ------
    FileReadError
        Where there is none (with the nearest names), or its suffix is not known (with those that are).
    """
    text, table = _split(path, table)
    if "://" in text:
        raise FileReadError(f"{text} is an address, and only files of this machine are read. Download it first.")
    where = Path(text).expanduser()
    if where.is_dir():
        return Location(where, "parquet", None, table, _parts(where))
    if not where.exists() and has_magic(text):
        return Location(where, "parquet", None, table, _matches(text))
    if not where.exists():
        raise FileReadError(_missing(where))
    if not os.access(where, os.R_OK):
        raise FileReadError(f"{where} may not be read by you. Ask its owner, or change its permissions.")
    compression = COMPRESSIONS.get(where.suffix.lower())
    name = where.with_suffix("") if compression else where
    if compression == "zip" and not _format(name):
        name = Path(only_member(where))
    kind = _format(name)
    if kind is None:
        raise FileReadError(_unknown(where, "read"))
    return Location(where, _database(where, kind), compression, _checked(where, kind, table))


def place(path: str | os.PathLike[str], table: str | None = None) -> Location:
    """Where a table is to be written.

    Raises
    ------
    FileWriteError
        Where its folder is missing, it is a folder, or its suffix is not known.
    """
    text, table = _split(path, table)
    where = Path(text).expanduser()
    compression = COMPRESSIONS.get(where.suffix.lower())
    kind = _format(where.with_suffix("") if compression else where)
    if kind is None:
        raise FileWriteError(_unknown(where, "written"))
    if where.is_dir():
        raise FileWriteError(f"{where} is a folder. Give the name of a file in it, such as {where / f'table.{kind}'}.")
    if not where.parent.is_dir():
        raise FileWriteError(f"{where} cannot be written: there is no folder {where.parent}. Make it first.")
    return Location(where, kind, compression, table)


def _split(path: str | os.PathLike[str], table: str | None) -> tuple[str, str | None]:
    """``shop.db::orders`` is a file and a table, unless there is a file of that whole name."""
    text = os.fspath(path)
    before, mark, name = text.rpartition("::")
    if not mark or os.path.exists(text):
        return text, table
    if table not in (None, name):
        raise FileReadError(f"{text} names the table {name!r}, but table={table!r} another. Give one of them.")
    return before, name


def _format(name: PurePath) -> str | None:
    return BY_SUFFIX.get(name.suffix.lower())


def _database(where: Path, kind: str) -> str:
    """Two kinds of databases are called .db; the first bytes tell."""
    with where.open("rb") as file:
        return "duckdb" if kind == "sqlite" and file.read(12)[8:] == b"DUCK" else kind


def _checked(where: Path, kind: str, table: str | None) -> str | None:
    if table is not None and kind not in NAMED:
        raise FileReadError(f"{where} holds one table, so that there is no {table!r} in it. Give the path alone.")
    return table


def only_member(where: Path) -> str:
    """The name of the only file in a zip archive."""
    try:
        with zipfile.ZipFile(where) as archive:
            listed = [info.filename for info in archive.infolist() if not info.is_dir()]
            names = [name for name in listed if not name.startswith("__MACOSX/")]  # which holds icons and the like
    except zipfile.BadZipFile as error:
        raise FileReadError(f"{where} is damaged, or no zip archive ({error}). Copy or download it again.") from error
    if len(names) != 1:
        raise FileReadError(
            f"{where} holds {len(names)} files ({_some(names)}), and one is needed. Unpack it, and give one of them."
        )
    return names[0]


def _parts(folder: Path) -> tuple[Path, ...]:
    """The Parquet files below a folder; those that begin with a dot or an underscore are not data."""
    files = [file for suffix in FORMATS["parquet"] for file in folder.rglob(f"*{suffix}")]
    hidden = [any(part[0] in "._" for part in file.relative_to(folder).parts) for file in files]
    parts = sorted(file for file, is_hidden in zip(files, hidden, strict=True) if file.is_file() and not is_hidden)
    if not parts:
        names = sorted(entry.name for entry in folder.iterdir())
        found = f"there are {_some(names)}" if names else "it is empty"
        raise FileReadError(
            f"{folder} is a folder without Parquet files: {found}. Give one file, or a folder of .parquet files."
        )
    return tuple(parts)


def _matches(pattern: str) -> tuple[Path, ...]:
    parts = tuple(Path(name) for name in sorted(glob(os.path.expanduser(pattern), recursive=True)))
    if not parts:
        raise FileReadError(f"No file matches {pattern}. Quote the pattern, and look at where you are: {Path.cwd()}.")
    other = [part for part in parts if _format(part) != "parquet"]
    if other:
        raise FileReadError(f"{pattern} matches {other[0]}, and only Parquet files are read many at a time.")
    return parts


def _missing(where: Path) -> str:
    folder = where.parent
    if not folder.is_dir():
        there = next(parent for parent in where.absolute().parents if parent.is_dir())
        return f"There is no file {where}: the folder {folder} does not exist. The last that does is {there}."
    names = sorted(entry.name for entry in folder.iterdir() if entry.name[0] != ".")
    near = difflib.get_close_matches(where.name, names, n=3)
    if near:
        return f"There is no file {where}. Did you mean {' or '.join(str(folder / name) for name in near)}?"
    known = [name for name in names if {suffix.lower() for suffix in Path(name).suffixes} & BY_SUFFIX.keys()]
    tables = f"The tables in that folder are {_some(known)}." if known else "There are no tables in that folder."
    return f"There is no file {where}. {tables}"


def _unknown(where: Path, verb: str) -> str:
    known = "; ".join(f"{kind} ({' '.join(suffixes)})" for kind, suffixes in FORMATS.items())
    return (
        f"{where} cannot be {verb}: the format is told by the suffix, and {where.suffix or 'no suffix'!r} is none that "
        f"is known. There are {known}; each also packed ({' '.join(COMPRESSIONS)}). Rename it, or convert it."
    )


def _some(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
