# SPDX-License-Identifier: BSD-3-Clause
"""Files to be read: a table whose columns are there, a model that can be used on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix.cli.errors import CommandError
from separatrix.cli.outputs import STANDARD

if TYPE_CHECKING:
    from separatrix.data.files import TableFile

__all__ = [
    "about",
    "load_model",
    "name_of",
    "open_data",
    "read_rows",
    "remember_target",
    "require_columns",
    "require_of_tables",
    "target_of",
]


def open_data(data: str, types: Mapping[str, str] | None = None) -> TableFile:
    """The table of a file, not yet read."""
    from separatrix.data.files import open_table

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


@contextmanager
def about(path: object) -> Iterator[None]:
    """What is wrong with the data inside is wrong with this file, which the message names."""
    from separatrix.data.files import FileWriteError
    from separatrix.exceptions import DataError

    try:
        yield
    except FileWriteError:
        raise  # which is about another file, and names it
    except DataError as error:
        where = "" if str(path) in str(error) else f"{path}: "
        raise CommandError("data", f"{where}{error}") from error


def require_columns(table: TableFile, names: Iterable[str], *, why: str) -> None:
    """The table has all of these.

    Raises
    ------
    CommandError
        Naming every column that is not there, the nearest names, and who asks for them.
    """
    from separatrix.data.table.batch import did_you_mean

    missing = [name for name in names if name not in table.columns]
    if len(missing) == 1:
        near = did_you_mean(missing[0], table.columns)
        raise CommandError("data", f"{table.path} has no column {missing[0]!r}, which {why}.{near}")
    if missing:
        named = ", ".join(f"{name!r}{_nearest(name, table.columns)}" for name in missing[:10])
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        raise CommandError("data", f"{table.path} lacks {len(missing)} columns that {why}: {named}{more}.")


def load_model(path: str) -> Any:
    """The model of a file.

    Raises
    ------
    CommandError
        Where there is no such file, or it is a table.
    """
    from separatrix.io import FileError, load

    try:
        return load(path)
    except FileError as error:
        hint = _swapped(path)
        raise CommandError("data", f"{error}{hint}") from error


def require_of_tables(model: Any, path: str) -> None:
    """The model is one of tables.

    Raises
    ------
    CommandError
        Where it is one of numbers, which says nothing of the columns they came from.
    """
    from separatrix.tables import TableClassifier

    if not isinstance(model, TableClassifier):
        raise CommandError(
            "data",
            f"{path} holds a {type(model).__name__} of numbers, which does not know the table they came from. Save one "
            "that separatrix fit made, or a TableClassifier; predict takes this one too.",
        )


def target_of(model: Any, given: str | None) -> str | None:
    """The column that a model predicts: as given, or as the model remembers it."""
    if given is not None:
        return given
    remembered = getattr(model, "target_name_", None)  # only tables have names for it
    return None if remembered is None else str(remembered)


def remember_target(model: Any, target: str) -> None:
    """Have the model remember the column it predicts, in its file too: `target_of` asks for it."""
    model.target_name_ = target


def name_of(data: str) -> str:
    """What a table is called: its file without folders and endings, or the table within."""
    file, _, table = data.partition("::")
    return table or ("standard input" if file == STANDARD else Path(file).name.partition(".")[0]) or "data"


def _nearest(name: str, known: Iterable[str]) -> str:
    """The nearest name, where there is one."""
    from separatrix.data.table.batch import did_you_mean

    hint = did_you_mean(name, known)
    return f" ({hint.strip().removeprefix('Did you mean ').rstrip('?')}?)" if "Did you mean" in hint else ""


def _swapped(path: str) -> str:
    """For those who name the table where the model goes."""
    endings = (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".arrow", ".xlsx", ".db", ".sqlite", ".duckdb", ".gz")
    return " The model comes first, then the table: separatrix predict MODEL DATA." if path.endswith(endings) else ""
