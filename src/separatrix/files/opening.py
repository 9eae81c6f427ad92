# SPDX-License-Identifier: BSD-3-Clause
"""The two ways in: a path becomes a table to read, or a place to write to."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Mapping
from typing import Any

from separatrix.files.location import STANDARD, find, place
from separatrix.files.table import TableFile, TableWriter

__all__ = ["open_table", "open_writer"]

# By module and name, imported when a file of it is opened: most people have two of these libraries, not five.
READERS = {
    "csv": ("delimited", "DelimitedFile"),
    "tsv": ("delimited", "DelimitedFile"),
    "jsonl": ("records", "RecordsFile"),
    "parquet": ("parquet", "ParquetTable"),
    "arrow": ("ipc", "ArrowFile"),
    "excel": ("excel", "ExcelSheet"),
    "sqlite": ("sqlite", "SqliteTable"),
    "duckdb": ("duck", "DuckTable"),
}

SINKS = {
    "csv": ("sinks", "CsvSink"),
    "tsv": ("sinks", "CsvSink"),
    "jsonl": ("sinks", "JsonSink"),
    "parquet": ("sinks", "ParquetSink"),
    "arrow": ("sinks", "ArrowSink"),
    "excel": ("excel", "ExcelSink"),
    "sqlite": ("sqlite", "SqliteSink"),
    "duckdb": ("duck", "DuckSink"),
}
LIBRARIES = {"excel": "openpyxl", "duckdb": "duckdb"}


def open_table(
    path: str | os.PathLike[str], *, table: str | None = None, types: Mapping[str, Any] | None = None
) -> TableFile:
    r"""Open a table in a file.

    Parameters
    ----------
    path : str or path
        CSV, TSV, JSON lines, Parquet (also a folder, or a pattern), Arrow, Excel, SQLite or DuckDB, by its suffix;
        plain, or packed as .gz, .bz2, .xz, .zst, .lz4 or .zip. ``shop.db::orders`` also names the table. ``-`` is
        CSV from standard input.
    table : str, optional
        The table of a database or the sheet of a workbook, where there are several.
    types : mapping from column to type, optional
        For files without types of their own (CSV, TSV): columns whose type is known and need not be inferred, as
        pyarrow types or as the words of `data.table` ("number", "boolean", "categorical", "date", "drop"), or "text".
        Names that are not in the file are not looked at.

    Returns
    -------
    TableFile
        Which can be read any number of times.

    Raises
    ------
    FileReadError
        Where there is no such file or table, or it cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = path.write_text("name;height\nAda;1,65\nAlan;NA\n")
    >>> people = open_table(path)
    >>> people.columns
    ('name', 'height')
    >>> [batch.to_pydict() for batch in people.batches(rows=1)]
    [{'name': ['Ada'], 'height': [1.65]}, {'name': ['Alan'], 'height': [None]}]
    """
    if os.fspath(path) == STANDARD:
        from separatrix.files.standard import StandardInput

        return StandardInput(types or {})
    where = find(path, table)
    opened: TableFile = _named(READERS, where.format)(where, types or {})
    return opened


def open_writer(path: str | os.PathLike[str], *, force: bool = False, table: str | None = None) -> TableWriter:
    """Open a file for a table: a context manager with ``write(batch)``.

    Parameters
    ----------
    path : str or path
        The suffixes choose the format, as for `open_table`; ``-`` is CSV to standard output.
    force : bool, default False
        Whether a file that is there already may be replaced.
    table : str, optional
        The table of the new database ("data" if not given) or the sheet of the workbook ("Sheet1").

    Raises
    ------
    FileWriteError
        Where there is a file already, or the suffix is not known; later where the disk is full. Nothing is at the path
        unless the block ends well, and what was there before stays until then.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> path = pathlib.Path(tempfile.mkdtemp(), "people.parquet")
    >>> with open_writer(path) as writer:
    ...     writer.write(pa.table({"name": ["Ada", "Alan"]}))
    >>> open_table(path).n_rows
    2
    """
    from separatrix.files.writer import FileWriter, StandardOutput

    if os.fspath(path) == STANDARD:
        return StandardOutput()
    where = place(path, table)
    return FileWriter(where, _named(SINKS, where.format), force=force)


def _named(classes: Mapping[str, tuple[str, str]], kind: str) -> Any:
    """The class for a format, once the libraries that it needs are there."""
    for library in ("pyarrow", LIBRARIES.get(kind, "pyarrow")):
        if importlib.util.find_spec(library) is None:
            raise ImportError(f"Files of {kind} need {library}, which is not installed: pip install 'separatrix[app]'")
    module, name = classes[kind]
    return getattr(importlib.import_module(f"separatrix.files.{module}"), name)
