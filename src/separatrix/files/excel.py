# SPDX-License-Identifier: BSD-3-Clause
"""Excel: a sheet of a workbook. The names are where `heads` finds them; cells have their own types."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from separatrix.files.dialect import SAMPLE_ROWS, name_columns, shortened
from separatrix.files.errors import FileReadError, FileWriteError
from separatrix.files.heads import find_head
from separatrix.files.packing import unpacked
from separatrix.files.sinks import refuse_nested
from separatrix.files.sqlite import choose_table
from separatrix.files.table import AbstractTable
from separatrix.table import Kind, kind_of_values, values_to_arrow

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from separatrix.files.location import Location

__all__ = ["ExcelSheet", "ExcelSink"]

ROWS = 8_192
GAPS = {"#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"}  # what a formula gives that failed


class ExcelSheet(AbstractTable):
    """A sheet of cells."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        del types  # the cells have their own
        super().__init__(where)
        self._file = unpacked(where, self)
        with self._workbook() as book:
            self._sheet = choose_table(list(book.sheetnames), where, "sheet")
        first = list(islice(self._rows(), SAMPLE_ROWS))
        if not first:
            raise FileReadError(f"{self.path}, sheet {self._sheet!r} is empty: it has no row of names.")
        self._head = find_head(first)
        self._read_kinds()
        self._note_head()

    def _note_head(self) -> None:
        """What stands above the names, and names of two rows."""
        if self._head.title:
            self._notes.append(
                f"What stands above the names of the columns was left out as a title: {shortened(self._head.title)}."
            )
        if self._head.is_double:
            shown = ", ".join(map(repr, self.columns[:3])) + (", ..." if len(self.columns) > 3 else "")
            self._notes.append(f"The names of the columns were put together from two rows: {shown}.")

    def _read_kinds(self) -> None:
        """Find what the columns hold; those beyond the last name count only where there is something in them."""
        kinds = [Kind.NOTHING] * len(self._head.names)
        self.n_rows = 0
        for rows in self._chunks():
            widest = max((place for row in rows for place, cell in enumerate(row, 1) if cell is not None), default=0)
            kinds += [Kind.NOTHING] * (widest - len(kinds))
            columns = [[_cell(row, place) for row in rows] for place in range(len(kinds))]
            kinds = [kind_of_values(column, kind) for column, kind in zip(columns, kinds, strict=True)]
            self.n_rows += len(rows)
        names = [_cell(self._head.names, place) for place in range(len(kinds))]
        self.columns, notes = name_columns(names, f"{self.path}, sheet {self._sheet!r}")
        self._notes += notes
        self._kinds = dict(zip(self.columns, kinds, strict=True))

    @contextmanager
    def _workbook(self) -> Iterator[Any]:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException

        with self._file.open("rb") as file:
            try:
                book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
                try:
                    yield book
                finally:
                    book.close()
            except (zipfile.BadZipFile, KeyError, ParseError, InvalidFileException, EOFError, OSError) as error:
                raise FileReadError(
                    f"{self.path} is damaged, or no .xlsx workbook ({error}). Open it in a spreadsheet program, and "
                    "save it as .xlsx."
                ) from error

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """From the first row that is not empty to the last; those between count, so that rows stay where they are."""
        with self._workbook() as book:
            sheet = book[self._sheet]
            sheet.reset_dimensions()  # programs other than Excel often declare them wrong
            is_begun, empty = False, 0
            for row in sheet.iter_rows(values_only=True):
                if all(cell is None for cell in row):
                    empty += is_begun
                    continue
                yield from repeat((), empty)
                yield row
                is_begun, empty = True, 0

    def _chunks(self) -> Iterator[list[tuple[Any, ...]]]:
        margin = self._head.margin
        rows = (row[margin:] for row in islice(self._rows(), self._head.rows, None))
        while chunk := list(islice(rows, ROWS)):
            yield chunk

    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([(name, self._kinds[name].type) for name in columns])

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = self._schema(columns)
        places = [self.columns.index(name) for name in columns]
        for chunk in self._chunks():
            arrays = [
                values_to_arrow([_cell(row, place) for row in chunk], self._kinds[name])
                for name, place in zip(columns, places, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cell(row: tuple[Any, ...], place: int) -> Any:
    """A cell, of a row that may end before it. Excel has no dates but times at midnight."""
    value = row[place] if place < len(row) else None
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date()
    return None if isinstance(value, str) and (value in GAPS or not value.strip()) else value


class ExcelSink:
    """A sheet, row by row."""

    most_rows, most_text = 1_048_575, 32_767

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        from openpyxl import Workbook

        refuse_nested(schema, where)
        self.path, self.where, self.n_rows = path, where, 0
        self.book = Workbook(write_only=True)
        self.sheet = self.book.create_sheet(where.table or "Sheet1")
        self.sheet.append([self._cell(name) for name in schema.names])

    def write(self, batch: pa.RecordBatch) -> None:
        """Cells of their types."""
        self.n_rows += batch.num_rows
        if self.n_rows > self.most_rows:
            raise FileWriteError(
                f"{self.where.path}: a sheet holds {self.most_rows} rows, and these are more. Write CSV or Parquet."
            )
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            self.sheet.append([self._cell(value) for value in row])

    def _cell(self, value: Any) -> Any:
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError

        if isinstance(value, float) and not abs(value) < float("inf"):
            return None  # no spreadsheet has these
        if isinstance(value, dt.datetime):
            return value.replace(tzinfo=None)
        if not isinstance(value, str):
            return value
        if len(value) > self.most_text:
            raise FileWriteError(
                f"{self.where.path}: a cell holds {self.most_text} characters, and a text has {len(value)}. Write CSV "
                "or Parquet."
            )
        try:
            cell = WriteOnlyCell(self.sheet, value)
        except IllegalCharacterError as error:
            raise FileWriteError(
                f"{self.where.path}: {value[:40]!r} holds a control character, which no workbook may. Write CSV."
            ) from error
        cell.data_type = "s"  # text that starts with = is text, and never a formula
        return cell

    def close(self) -> None:
        """Put the workbook together."""
        self.book.save(self.path)

    def drop(self) -> None:
        """Close the sheet; there is no workbook yet."""
        self.sheet.close()
