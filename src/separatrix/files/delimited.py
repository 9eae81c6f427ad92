# SPDX-License-Identifier: BSD-3-Clause
"""CSV and TSV files. The text has no types; they are inferred once and are the same in every batch.

Arrow splits the text into cells of text. One pass over the requested columns finds the kind of each column from all
rows (`separatrix.table.kinds`), unless its type is given. Reading then converts batch by batch.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from shutil import copyfileobj
from typing import Any

import numpy as np

from separatrix._lazy import pa, pc
from separatrix.exceptions import DataError
from separatrix.files.dialect import (
    LINE_END,
    MAX_NAMES_BYTES,
    Dialect,
    find_encoding,
    name_columns,
    open_text,
    sniff,
    title_note,
)
from separatrix.files.location import STANDARD, FileReadError, Location, reading, temporary_file
from separatrix.files.table import TableFile, ValueCounts
from separatrix.rows import MAX_LABELS
from separatrix.table import Kind, cast_texts, kind_of_texts, kind_of_type, text_readings

BLOCK_BYTES = 2**20  # bytes that Arrow splits at a time; it keeps several blocks in memory
MIN_BLOCK_LINES = 8  # smallest number of lines per block; blocks are larger if lines are long
SAMPLE_BYTES = 2**18
COLUMN_BLOCK_BYTES = 512  # smallest size of a block per column, since each column of a block takes 0.1 ms
MAX_COUNTED_ROWS = 1_000_000  # rows whose line is counted for a message, which takes a second
NO_TYPES: Mapping[str, Any] = {}
WORDS = ("text", "categorical", "date", "drop")  # requested types that are read as text
SPELLED = ("number", "boolean")  # requested types with several spellings; the first block determines which


Tally = dict[str | None, tuple[int, int]]  # distinct texts of a column, the number of rows of each, and its first row


class DelimitedFile(TableFile):
    """A CSV or TSV file."""

    travels = True
    _tally: Tally | None = None

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        self._encoding, notes, quotes = find_encoding(where)
        self._notes += notes
        with open_text(where, self._encoding) as stream, reading(where):
            start = stream.read(SAMPLE_BYTES)
            while len(start) <= MAX_NAMES_BYTES and not LINE_END.search(start.lstrip()):  # read the names completely
                if not (more := stream.read(SAMPLE_BYTES)):
                    break
                start += more
        sample = str(start.decode("utf-8", errors="ignore"))  # the last character may be incomplete
        self._dialect = sniff(sample, where.title, prefer="\t" if where.format == "tsv" else ",")
        self.columns, notes = name_columns(self._dialect.header, where.title)
        longest = max(map(len, start.splitlines()))
        self._block_bytes = max(BLOCK_BYTES, MIN_BLOCK_LINES * longest, COLUMN_BLOCK_BYTES * len(self.columns))
        self._notes += notes
        if self._dialect.title:
            self._notes.append(f"{title_note(self._dialect.title)} The names are in line {self._dialect.skipped + 1}.")
        are_plain = not quotes.found or quotes.enclose_fields(self._dialect.delimiter)
        if not are_plain and self._dialect.quoted and len(self.columns) > 1 and self._quotes_are_letters():
            self._dialect = self._dialect._replace(quoted=False)
            self._notes.append('Quotes (") were read as part of the text, since some are not closed.')
        self._decimal_comma = self._dialect.delimiter != ","  # whether a number may be written 3,5
        self._has_plain_numbers = True  # set to False if a pass finds numbers that Arrow cannot convert
        self._exact: dict[str, pa.DataType] = {}
        types = {name: types[name] for name in self.columns if name in types}
        self._spelled = {name: wanted for name, wanted in types.items() if wanted in SPELLED}
        for name, wanted in types.items():
            if wanted in SPELLED:
                continue
            if isinstance(wanted, str) and wanted in WORDS:
                self.kinds[name] = Kind.TEXT
                continue
            try:
                self.kinds[name], self._exact[name] = kind_of_type(wanted), wanted
            except TypeError as error:
                words = ", ".join(map(repr, [*SPELLED, *WORDS]))
                raise DataError(f"types[{name!r}]: {error}. Give an Arrow type, or one of {words}.") from error

    def _quotes_are_letters(self) -> bool:
        """Whether quotes are ordinary characters: without them every line is complete, and some are not closed."""
        n_rows = []
        for quoted in (False, True):
            batches = self._split(self.columns[:1], self._dialect._replace(quoted=quoted))
            try:
                with reading(self.where):
                    n_rows.append(sum(batch.num_rows for batch in batches))
            except pa.ArrowInvalid:  # rows have different numbers of fields
                if not quoted:
                    return False
        if n_rows[:1] == n_rows[1:]:  # as many rows in both ways
            return False
        with open_text(self.where, self._encoding) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
            try:
                for _ in csv.reader(text, delimiter=self._dialect.delimiter, strict=True):
                    continue
            except csv.Error:
                return True
        return False

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """Types of the columns. They are inferred from all rows when a column is first requested."""
        chosen = self._chosen(columns)
        named = tuple(name for name in chosen if name in self._spelled and name not in self.kinds)
        first = next(self._texts(named), None) if named else None
        for name in named:
            texts = pa.nulls(0, pa.string()) if first is None else first[name]
            kind = kind_of_texts(texts, Kind.NOTHING, comma=self._decimal_comma)
            if self._spelled[name] == "number":
                self.kinds[name] = Kind.NUMBER
                if kind is Kind.TEXT:  # numbers in another spelling stay text, which the table encoder parses
                    found = tuple(text for text in texts.unique().to_pylist() if text and not text.isspace())
                    if not text_readings(found, *np.ones((2, len(found)), dtype=np.intp))[0].n_odd:
                        self.kinds[name] = Kind.TEXT
            elif kind is not Kind.NOTHING:
                self.kinds[name] = kind
        unknown = tuple(name for name in chosen if name not in self.kinds)
        if unknown:
            self.kinds |= self._scan(unknown)
            commas = [name for name in unknown if self.kinds[name] is Kind.COMMA]
            if commas:
                self._notes.append(f"Numbers with a decimal comma were found in: {', '.join(commas[:10])}.")
        return pa.schema([(name, self._exact.get(name, self.kinds[name].type)) for name in chosen])

    def _scan(self, columns: tuple[str, ...]) -> dict[str, Kind]:
        """Kinds of columns, from a pass over all rows that also counts rows and labels."""
        kinds = dict.fromkeys(columns, Kind.NOTHING)
        tally: Tally | None = {} if self.target in columns else None
        n_rows = 0
        for batch in self._texts(columns):
            for name, texts in zip(columns, batch.columns, strict=True):
                kinds[name] = kind_of_texts(texts, kinds[name], comma=self._decimal_comma)
            if tally is not None and len(tally) <= MAX_LABELS:
                coded = batch.column(self.target).dictionary_encode(null_encoding="encode")
                _, first, counts = np.unique(coded.indices.to_numpy(), return_index=True, return_counts=True)
                for text, row, count in zip(coded.dictionary.to_pylist(), first.tolist(), counts.tolist(), strict=True):
                    n_before, first_row = tally.get(text, (0, n_rows + row))
                    tally[text] = n_before + count, first_row
            n_rows += batch.num_rows
            if tally is None and all(kind is Kind.TEXT for kind in kinds.values()):
                break
        else:
            self.n_rows, self._tally = n_rows, self._tally if tally is None else tally
        return kinds

    def value_counts(self) -> ValueCounts | None:
        """Values of the target with their counts, if the pass that inferred its type counted them."""
        if self._tally is None or self.target is None or len(self._tally) > MAX_LABELS:
            return None
        counts, rows = np.array(list(self._tally.values()), dtype=np.intp).reshape(-1, 2).T
        return self._values(self.target, pa.array(list(self._tally), pa.string()), 0), counts, rows

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tally": None}

    def stream(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        """Read the file. Arrow converts plain numbers; after the first number in another spelling, texts are cast."""

        def converted(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
            arrays = []
            for field, cells in zip(schema, batch.columns, strict=True):
                if pa.types.is_string(cells.type):
                    arrays.append(self._values(field.name, cells, row))
                elif pa.types.is_floating(cells.type) and pc.any(pc.is_nan(cells)).as_py():
                    raise pa.ArrowInvalid("nan is a word for a missing value")
                else:
                    arrays.append(cells.cast(field.type))
            return pa.RecordBatch.from_arrays(arrays, schema=schema)

        schema, n_read, row = self.schema(columns), 0, 0
        if self._has_plain_numbers and not self._dialect.spaced:
            plain = {name: self.kinds[name].type for name in columns if self.kinds[name] in (Kind.INTEGER, Kind.NUMBER)}
            try:
                with reading(self.where):
                    for batch in self._split(columns, self._dialect, plain):
                        yield converted(batch, n_read)
                        n_read += batch.num_rows
                return
            except pa.ArrowInvalid:
                self._has_plain_numbers = False  # later passes cast texts from the beginning
        for batch in self._texts(columns):
            if row >= n_read:
                yield converted(batch, row)
            row += batch.num_rows

    def _values(self, name: str, texts: pa.Array, row: int) -> pa.Array:
        kind = self.kinds[name]
        try:
            values = cast_texts(texts, kind, comma=self._decimal_comma)
            return values.cast(self._exact[name]) if name in self._exact else values
        except pa.ArrowInvalid as error:
            if len(texts) > 1:  # bisect: the half with the first wrong cell raises the error with its row
                half = len(texts) // 2
                self._values(name, texts[:half], row)
                self._values(name, texts[half:], row + half)
            should = self._exact.get(name, kind.value)
            raise FileReadError(
                f"{self.path}: column {name!r} has {texts[0].as_py()!r} in row {row + 1:,}{self.line(row)}, "
                f"but it should have {should}. Correct it, leave it blank, or read the column as another type."
            ) from error

    def _texts(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield batches in which all cells are text."""
        with reading(self.where):
            try:
                for batch in self._split(columns, self._dialect):
                    if self._dialect.spaced:
                        trimmed = [pc.utf8_ltrim(texts, " ") for texts in batch.columns]
                        yield pa.RecordBatch.from_arrays(trimmed, names=batch.schema.names)
                    else:
                        yield batch
            except pa.ArrowInvalid as error:
                raise FileReadError(self._explained(error)) from error

    def _split(
        self, columns: tuple[str, ...], dialect: Dialect, types: Mapping[str, pa.DataType] = NO_TYPES
    ) -> Iterator[pa.RecordBatch]:
        """Split the text into batches of cells; cells are text unless ``types`` names another type."""
        from pyarrow import csv as arrow

        # The stream must not be closed before the reader: Arrow reads ahead on another thread, and the system may
        # already have given the closed file descriptor to another file.
        reader = arrow.open_csv(
            open_text(self.where, self._encoding),
            arrow.ReadOptions(
                use_threads=False,  # only one thread can split; more threads would hold more blocks in memory
                block_size=self._block_bytes,
                column_names=list(self.columns),
                skip_rows=dialect.skipped,
                skip_rows_after_names=1,
            ),
            arrow.ParseOptions(
                delimiter=dialect.delimiter, quote_char='"' if dialect.quoted else False, newlines_in_values=True
            ),
            arrow.ConvertOptions(
                column_types={name: types.get(name, pa.string()) for name in self.columns},
                include_columns=list(columns),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
        yield from reader

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Cells of each line that is not blank, from the line of names on, with its number; slower than Arrow."""
        dialect, line = self._dialect, 1
        with open_text(self.where, self._encoding) as stream, suppress(csv.Error):  # such as a quote that is not closed
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
            quoting: Any = csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE
            reader = csv.reader(text, delimiter=dialect.delimiter, quoting=quoting)
            for cells in reader:
                if cells and line > dialect.skipped:
                    yield line, cells
                line = reader.line_num + 1

    def line(self, row: int) -> str:
        """Line in which a row begins; empty for rows so far down that counting their lines takes long."""
        if row >= MAX_COUNTED_ROWS:
            return ""
        found = next(islice(self._lines(), row + 1, None), None)
        return "" if found is None else f" (line {found[0]:,})"

    def _explained(self, error: Exception) -> str:
        """Message for an Arrow error. A slower reader, which counts lines, finds the wrong line."""
        expected, mark, header = len(self.columns), self._dialect.delimiter, self._dialect.skipped + 1
        line, row = next(((n, cells) for n, cells in self._lines() if len(cells) != expected), (0, []))
        if row:
            start = mark.join(row)
            start = start if len(start) <= 60 else f"{start[:60]}..."
            remedy = f"a text that contains the delimiter ({mark!r}) must be in quotes."
            if len(row) < expected:
                remedy = f"add the missing delimiters ({mark!r}), remove a remark or a total, or join a broken line."
            elif expected == 1:
                remedy = f"if line {header} is a title, remove it, since the column names come first."
            return (
                f"{self.path}, line {line}: expected {expected} {'field' if expected == 1 else 'fields'}, as in line "
                f"{header}, but found {len(row)}. The line begins {start!r}. Correct it: {remedy}"
            )
        if "straddling" in str(error):
            return (
                f"{self.path} has a row of more than {self._block_bytes / 2**20:.0f} MB. Most likely a quote "
                '(") is opened and never closed: close it, or double it if it is part of the text.'
            )
        return f"{self.path} cannot be read as {self.format.upper()}: {error}. Correct this line."


class StandardInput(DelimitedFile):
    """CSV from standard input, copied to a temporary file so that it can be read more than once."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        copy = temporary_file(self, "standard input")
        with copy.open("wb") as file:
            copyfileobj(sys.stdin.buffer, file)
        if not copy.stat().st_size:
            raise FileReadError(
                "Standard input is empty or was read before: it can be opened only once. Give the name of a file, or "
                "reuse the table that was opened first."
            )
        super().__init__(Location(copy, "csv"), types)
        self.path = Path(STANDARD)
