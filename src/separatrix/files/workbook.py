# SPDX-License-Identifier: BSD-3-Clause
"""Sheets of Excel workbooks, read by calamine and written by openpyxl. Every cell has its own type."""

from __future__ import annotations

import datetime as dt
import shutil
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice, repeat, zip_longest
from pathlib import Path
from typing import Any

from separatrix._lazy import pa
from separatrix.files.dialect import (
    SAMPLE_ROWS,
    filled_span,
    join_title,
    n_filled,
    n_title_rows,
    name_columns,
    title_note,
)
from separatrix.files.location import FORMATS, FileReadError, FileWriteError, Location, temporary_file, unpacked
from separatrix.files.package import require_readable
from separatrix.files.table import Sink, TableFile, choose_table
from separatrix.table import Kind, kind_of_values

CHUNK_ROWS = 8_192  # rows that are in memory as Python objects at a time
FORMULA_ERRORS = {"#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"}
DATES, DAY_ZERO = (Kind.DATE, Kind.TIME), dt.time()  # calamine reads dates before 1900 as this time
MAX_EXACT_INTEGER = 2**53  # workbooks store all numbers as floats
MAX_SHEET_ROWS = 1_048_575
MAX_CELL_CHARACTERS = 32_767


class ExcelSheet(TableFile):
    """A sheet of a workbook."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        self._file = unpacked(where, self)
        if self._file.suffix not in FORMATS["excel"]:  # such as .XLSX: calamine would try all formats that it can read
            self._file = temporary_file(self, "copy.xlsx")
            shutil.copyfile(where.path, self._file)
        self._n_failed: int | None = None  # rows at the end with nothing but failed formulas, once counted
        require_readable(self._file, self.path)
        with self._workbook() as book:
            self._sheet = choose_table(list(book.sheet_names), where, "sheet")
            require_readable(self._file, self.path, self._sheet)
            sheet = book.get_sheet_by_name(self._sheet)
            first = list(islice(self._rows(sheet), SAMPLE_ROWS))
            if not first:
                raise FileReadError(f"{self.path}, sheet {self._sheet!r} is empty: it has no row of column names.")
            n_above = n_title_rows(first)
            self._first_row = n_above + 1
            self._margin = min((filled_span(row)[0] for row in first[n_above:] if n_filled(row)), default=0)
            names = first[n_above][self._margin : filled_span(first[n_above])[1]]
            kinds, self.n_rows, n_columns = [Kind.NOTHING] * len(names), 0, len(names)
            midnights: Counter[int] = Counter()
            for rows in self._chunks(sheet):
                for i, column in enumerate(zip_longest(*rows)):
                    classes = set(map(type, column))
                    if i >= len(kinds):
                        kinds.append(Kind.NOTHING)
                    if classes != {type(None)}:  # columns without a name are read if they have a value
                        n_columns = max(n_columns, i + 1)
                    if dt.time in classes and DAY_ZERO in column:
                        midnights[i] += column.count(DAY_ZERO)
                    has_day_zero = midnights[i] > 0
                    kinds[i] = kind_of_values(_without_day_zero(column) if has_day_zero else column, kinds[i])
                self.n_rows += len(rows)
            del kinds[n_columns:]
        kinds = [kind if kind in DATES or not midnights[i] else Kind.TEXT for i, kind in enumerate(kinds)]
        header = [*names, *[None] * (len(kinds) - len(names))]
        columns, notes = name_columns(header, f"{self.path}, sheet {self._sheet!r}")
        self.columns, self.kinds = columns, dict(zip(columns, kinds, strict=True))
        self._notes += notes
        self._notes += [
            f"{columns[i]}: dates before 1900 (cells: {n}), which workbooks cannot store, were read as missing."
            for i, n in midnights.items()
            if kinds[i] in DATES
        ]
        if n_above:
            self._notes.append(title_note(join_title(first[:n_above])))

    @contextmanager
    def _workbook(self) -> Iterator[Any]:
        import python_calamine as calamine

        try:
            with calamine.load_workbook(str(self._file)) as book:
                yield book
        except (calamine.CalamineError, OSError) as error:
            raise FileReadError(
                f"{self.path} is damaged or not an .xlsx workbook ({error}). Open it in a spreadsheet program, and "
                "save it as .xlsx."
            ) from error

    def _rows(self, sheet: Any) -> Iterator[list[Any]]:
        """Yield rows from the first to the last that is not empty, including empty rows between them."""
        n_empty = 0
        has_begun = False
        for row in sheet.iter_rows():
            cells = [_value(cell) for cell in row]
            if all(cell is None for cell in cells):
                n_empty += has_begun
                continue
            yield from repeat([], n_empty)
            yield cells
            has_begun, n_empty = True, 0
        if n_empty and self._n_failed is None:  # count the rows up to the last failed formula, which calamine skips
            from openpyxl import load_workbook

            with closing(load_workbook(self._file, read_only=True, data_only=True)) as book:
                cells = book[self._sheet]
                cells.reset_dimensions()  # the file may state them wrongly
                last = enumerate(cells.iter_rows(min_row=sheet.end[0] + 2 - n_empty, values_only=True), start=1)
                failed = [n for n, row in last if FORMULA_ERRORS.intersection(map(str, row))]
                self._n_failed = max(failed, default=0)
        yield from repeat([], self._n_failed or 0)

    def _chunks(self, sheet: Any) -> Iterator[list[list[Any]]]:
        rows = (row[self._margin :] for row in islice(self._rows(sheet), self._first_row, None))
        while chunk := list(islice(rows, CHUNK_ROWS)):
            yield chunk

    def stream(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        place_of = {name: place for place, name in enumerate(self.columns)}
        places = [(place_of[name], self.kinds[name]) for name in columns]
        with self._workbook() as book:
            for chunk in self._chunks(book.get_sheet_by_name(self._sheet)):
                found = dict(enumerate(zip_longest(*chunk)))
                cells = ((found.get(place, (None,) * len(chunk)), kind) for place, kind in places)
                dated = (_without_day_zero(column) if kind in DATES else column for column, kind in cells)
                yield self._batch(columns, dated)


def _value(cell: Any) -> Any:
    """Value of a cell; None if it is blank or a formula error. Whole floats become integers, as Excel displays them."""
    kind = type(cell)
    if kind is str:
        return None if cell in FORMULA_ERRORS or not cell.strip() else cell
    if kind is float:
        return int(cell) if cell.is_integer() and abs(cell) < MAX_EXACT_INTEGER else cell
    if kind is dt.datetime and cell.time() == dt.time():
        return cell.date()
    return cell


def _without_day_zero(cells: Sequence[Any]) -> list[Any]:
    """Cells of a column of dates, in which day zero is missing."""
    return [None if cell == DAY_ZERO else cell for cell in cells]


class ExcelSink(Sink):
    """Writes a sheet, row by row."""

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        from openpyxl import Workbook

        self.path, self.where, self.n_rows = path, where, 0
        self.book = Workbook(write_only=True)
        self.sheet = self.book.create_sheet(where.table or "Sheet1")
        self.sheet.append([self._cell(name) for name in schema.names])

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows of typed cells."""
        self.n_rows += batch.num_rows
        if self.n_rows > MAX_SHEET_ROWS:
            raise FileWriteError(
                f"{self.where.path}: a sheet can have {MAX_SHEET_ROWS} rows, and the table has more. Write CSV or "
                "Parquet."
            )
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            self.sheet.append([self._cell(value) for value in row])

    def _cell(self, value: Any) -> Any:
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError

        if isinstance(value, float) and not abs(value) < float("inf"):
            return None  # spreadsheets have neither NaN nor infinity
        if isinstance(value, dt.datetime):
            return value.replace(tzinfo=None)
        if not isinstance(value, str):
            return value
        if len(value) > MAX_CELL_CHARACTERS:
            raise FileWriteError(
                f"{self.where.path}: a cell can have {MAX_CELL_CHARACTERS} characters, and a text has {len(value)}. "
                "Write CSV or Parquet."
            )
        try:
            cell = WriteOnlyCell(self.sheet, value)
        except IllegalCharacterError as error:
            raise FileWriteError(
                f"{self.where.path}: {value[:40]!r} has a control character, which workbooks do not allow. Write CSV."
            ) from error
        cell.data_type = "s"  # text that starts with = is not a formula
        return cell

    def close(self) -> None:
        self.book.save(self.path)

    def drop(self) -> None:
        self.sheet.close()
