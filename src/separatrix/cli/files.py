# SPDX-License-Identifier: BSD-3-Clause
"""Files to be read, and files to be written.

Those to be read are a table whose columns are there, and a model that can be used on it. Those to be written are asked
about before any work is done; they are there whole or not at all, and all of a command or none.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix.cli.errors import CommandError, writing, wrote

if TYPE_CHECKING:
    from separatrix.files import TableFile

__all__ = [
    "STANDARD",
    "about",
    "as_labels",
    "is_large",
    "load_model",
    "name_of",
    "open_data",
    "read_rows",
    "require_columns",
    "require_ending",
    "require_free",
    "require_of_tables",
    "spread_rows",
    "write_together",
]

STANDARD = "-"  # standard input or output, in place of a file
PACKED, COMPRESSED = ("parquet", "excel"), (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
UNPACKED = 4  # times as large, by custom
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".arrow", ".xlsx", ".db", ".sqlite", ".duckdb", ".gz")


# -- tables ------------------------------------------------------------------------------------------------------------


def open_data(data: str, types: Mapping[str, str] | None = None) -> TableFile:
    """The table of a file, not yet read."""
    from separatrix.files import open_table

    return open_table(data, types=dict(types) if types else None)


def read_rows(table: TableFile) -> Any:
    """The whole table in memory.

    Raises
    ------
    CommandError
        Where it has no rows.
    """
    rows = table.read()
    if not rows.num_rows:
        raise CommandError("data", f"{table.path} has names of columns, but no rows. Is it the right file?")
    return rows


def is_large(table: TableFile) -> bool:
    """Whether the rows, unpacked, may take more than a quarter of the memory that is left."""
    from separatrix.files import available_memory

    is_packed = table.format in PACKED or str(table.path).endswith(COMPRESSED)
    return table.n_bytes * (UNPACKED if is_packed else 1) > available_memory() / 4


def spread_rows(table: TableFile) -> Any:
    """Some rows of a large table, spread evenly over it."""
    from separatrix.study import spread_rows as spread

    n_rows = table.n_rows
    if n_rows is None:
        n_rows = sum(batch.num_rows for batch in table.batches(columns=table.columns[:1]))
    return spread(table.batches(), n_rows)


def as_labels(rows: Any, target: str) -> Any:
    """The table with its target as text where that is numbers, for a model to whom those are names of classes."""
    import pyarrow as pa

    from separatrix.table import as_text

    column = rows.column(target)
    if not pa.types.is_floating(column.type) and not pa.types.is_integer(column.type):
        return rows
    texts = pa.array([as_text(value) for value in column.to_pylist()], pa.string())
    return rows.set_column(rows.schema.get_field_index(target), target, texts)


@contextmanager
def about(path: object) -> Iterator[None]:
    """What is wrong with the data inside is wrong with this file, which the message names, in words to be typed."""
    from separatrix.exceptions import DataError
    from separatrix.files import FileWriteError

    try:
        yield
    except FileWriteError:
        raise  # which is about another file, and names it
    except DataError as error:
        where = "" if str(path) in str(error) else f"{path}: "
        raise CommandError("data", f"{where}{error.for_command_line}") from error


def require_columns(table: TableFile, names: Iterable[str], *, why: str) -> None:
    """The table has all of these.

    Raises
    ------
    CommandError
        Naming every column that is not there, the nearest names, and who asks for them.
    """
    from separatrix._text import did_you_mean

    missing = [name for name in names if name not in table.columns]
    if len(missing) == 1:
        near = did_you_mean(missing[0], table.columns)
        raise CommandError("data", f"{table.path} has no column {missing[0]!r}, which {why}.{near}")
    if missing:
        named = ", ".join(f"{name!r}{_nearest(name, table.columns)}" for name in missing[:10])
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        raise CommandError("data", f"{table.path} lacks {len(missing)} columns that {why}: {named}{more}.")


def name_of(data: str) -> str:
    """What a table is called: its file without folders and endings, or the table within."""
    file, _, table = data.partition("::")
    return table or ("standard input" if file == STANDARD else Path(file).name.partition(".")[0]) or "data"


def _nearest(name: str, known: Iterable[str]) -> str:
    by_fold = {option.casefold(): option for option in known}
    near = get_close_matches(name.casefold(), by_fold, n=1)
    return f" ({by_fold[near[0]]!r}?)" if near else ""


# -- models ------------------------------------------------------------------------------------------------------------


def load_model(path: str) -> tuple[Any, dict[str, str]]:
    """Return the model of a file and the names saved with it: "target", "positive", "model", as far as they are known.

    Raises
    ------
    CommandError
        Where there is no such file (with one that is called nearly so), or it is a table.
    """
    from separatrix.export import FileError, load, read_about

    file = Path(path)
    if not file.exists():
        here = sorted(each.name for each in file.parent.glob("*.sx")) if file.parent.is_dir() else []
        near = get_close_matches(file.name, here, n=1) or here[:1]
        hint = f" Did you mean {file.with_name(near[0])}?" if near else " Make one first: separatrix fit."
        raise CommandError("data", f"There is no file {path}.{_swapped(path) or hint}")
    try:
        model, names = load(path), read_about(path)
    except FileError as error:
        raise CommandError("data", f"{error}{_swapped(path)}") from error
    earlier = {
        "target": "target_name_",
        "positive": "positive_",
        "model": "name_",
    }  # attributes in files of version 0.1
    found = {name: getattr(model, attribute, None) for name, attribute in earlier.items()}
    return model, {name: str(text) for name, text in found.items() if text is not None} | names


def require_of_tables(model: Any, path: str) -> None:
    """The model is one of tables.

    Raises
    ------
    CommandError
        Where it is one of numbers, which says nothing of the columns they came from.
    """
    from separatrix.study import TableClassifier

    if not isinstance(model, TableClassifier):
        raise CommandError(
            "data",
            f"{path} holds a {type(model).__name__} of numbers, which does not know the table they came from. Save one "
            "that separatrix fit made, or a TableClassifier; predict takes this one too.",
        )


def _swapped(path: str) -> str:
    """For those who name the table where the model goes, of whatever verb."""
    hint = " That is the name of a table. A saved model comes first, any table after it; separatrix fit makes a model."
    return hint if path.endswith(TABLES) else ""


# -- outputs -----------------------------------------------------------------------------------------------------------


def require_free(paths: Iterable[str | None], *, force: bool, inputs: Iterable[str | None] = ()) -> None:
    """Every path can be written to, and none is in the way of another, or one of the files to be read.

    Raises
    ------
    CommandError
        Naming the path: it exists and may not be replaced, is read by this very command, is a folder, is in no folder,
        cannot be written, or is named twice.
    """
    wanted = [_file(path) for path in paths if path not in (None, STANDARD)]
    read = [_file(path) for path in inputs if path not in (None, STANDARD)]
    for i, file in enumerate(wanted):
        if file in wanted[:i]:
            raise CommandError("output", f"{file} is named for two outputs. Give each a name of its own.")
        if file.is_dir():
            raise CommandError("output", f"{file} is a folder. Name a file in it, such as {file / 'output'}.")
        if file.exists() and any(other.exists() and file.samefile(other) for other in read):
            raise CommandError(
                "output", f"{file} is what this command reads, and is not replaced. Choose another name."
            )
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
        raise CommandError("output", f"{path}: the name of {what} ends in {' or '.join(known)}. Choose such a name.")


def write_together(contents: Mapping[str, bytes]) -> None:
    """Write files that belong together: every one is on the disk before any takes its name."""
    from separatrix._output import atomic_file

    with ExitStack() as stack:
        for path, content in contents.items():
            with writing(path):
                file = stack.enter_context(atomic_file(Path(path)))
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    for path in contents:
        wrote(path)


def _file(path: Any) -> Path:
    """Of a table within a file, the file."""
    return Path(str(path).partition("::")[0])


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
