# SPDX-License-Identifier: BSD-3-Clause
"""Open a path as a table to read or as a table to write."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from separatrix.files.columnar import ArrowFile, ParquetTable
from separatrix.files.database import DuckSink, DuckTable, SqliteSink, SqliteTable
from separatrix.files.delimited import DelimitedFile, StandardInput
from separatrix.files.location import STANDARD, find, output_location
from separatrix.files.memory import require_threads
from separatrix.files.records import RecordsFile
from separatrix.files.table import TableFile
from separatrix.files.workbook import ExcelSheet, ExcelSink
from separatrix.files.writer import ArrowSink, CsvSink, JsonSink, ParquetSink, StandardOutput, TableWriter

#: For each format: class that reads it, class that writes it, and the libraries that these need.
CLASSES: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "csv": (DelimitedFile, CsvSink, ("pyarrow",)),
    "tsv": (DelimitedFile, CsvSink, ("pyarrow",)),
    "jsonl": (RecordsFile, JsonSink, ("pyarrow",)),
    "parquet": (ParquetTable, ParquetSink, ("pyarrow",)),
    "arrow": (ArrowFile, ArrowSink, ("pyarrow",)),
    "excel": (ExcelSheet, ExcelSink, ("pyarrow", "python_calamine", "openpyxl")),
    "sqlite": (SqliteTable, SqliteSink, ("pyarrow",)),
    "duckdb": (DuckTable, DuckSink, ("pyarrow", "duckdb")),
}


def open_table(
    path: str | os.PathLike[str], *, table: str | None = None, types: Mapping[str, Any] | None = None
) -> TableFile:
    r"""Open a table in a file.

    Parameters
    ----------
    path : str or path
        The suffix determines the format: CSV, TSV, JSON lines, Parquet (a file, a folder or a pattern), Arrow, Excel,
        SQLite or DuckDB, optionally compressed (.gz, .bz2, .xz, .zst, .lz4, .zip). ``shop.db::orders`` also names the
        table. ``-`` is CSV from standard input. A pipe is copied to a temporary file; without a suffix it is CSV.
    table : str, optional
        Table of a database or sheet of a workbook, if there are several.
    types : mapping from column to type, optional
        Types of columns of a CSV or TSV file, which are then not inferred: Arrow types, or "number", "boolean",
        "categorical", "date", "drop" or "text". Names that are not in the file are ignored.

    Returns
    -------
    TableFile
        A table that can be read any number of times.

    Raises
    ------
    FileReadError
        If there is no such file or table, or it cannot be read.

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
    require_threads(path)
    if os.fspath(path) == STANDARD:
        return StandardInput(types or {})
    where = find(path, table)
    opened: TableFile = _classes(where.format)[0](where, types or {})
    return opened


def open_writer(
    path: str | os.PathLike[str], *, force: bool = False, table: str | None = None, escape_formulas: bool = False
) -> TableWriter:
    """Open a file for writing a table: a context manager with ``write(batch)``.

    Parameters
    ----------
    path : str or path
        The suffix determines the format, as in `open_table`; ``-`` is CSV to standard output.
    force : bool, default False
        Whether an existing file may be replaced.
    table : str, optional
        Table of the new database (default "data") or sheet of the workbook (default "Sheet1").
    escape_formulas : bool, default False
        Whether to put an apostrophe before text in CSV and TSV files that a spreadsheet would run as a formula: text
        that starts with = + - @, a tab or a line break. Numbers are not changed. Workbooks never contain formulas.

    Raises
    ------
    FileWriteError
        If the file exists or its suffix is unknown. Inside the block: if the disk is full. The file is created or
        replaced only at the end of a block without an error.

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
    if os.fspath(path) == STANDARD:
        return StandardOutput(partial(CsvSink, escape_formulas=escape_formulas))
    where = output_location(path, table)
    make_sink = _classes(where.format)[1]
    if make_sink is CsvSink:
        make_sink = partial(CsvSink, escape_formulas=escape_formulas)
    return TableWriter(where, make_sink, force=force)


def _classes(kind: str) -> tuple[Any, Any]:
    """Reader and writer of a format, after checking that the libraries are installed."""
    reader, sink, libraries = CLASSES[kind]
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            raise ImportError(f"Files of {kind} need {library}, which is not installed: pip install 'separatrix[app]'")
    return reader, sink
