# SPDX-License-Identifier: BSD-3-Clause
"""CSV and TSV: text that has no types, and gets the same ones in every batch.

Arrow splits the text; every cell arrives as text. One scan of the columns asked for finds what each can be read as
(`kinds`), to the last row; columns whose type the caller knows are not scanned. Reading then converts batch by batch.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.files.dialect import Dialect, name_columns, shortened, sniff
from separatrix.files.encoding import find_encoding, open_text
from separatrix.files.errors import FileReadError
from separatrix.files.location import Location
from separatrix.files.packing import reading
from separatrix.files.table import AbstractTable
from separatrix.table import Kind, cast_texts, kind_of_texts, kind_of_type, number_readings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DelimitedFile"]

BLOCK = 2**20  # bytes that are split at a time, of which Arrow holds several; more only where lines are long
LINES = 8  # that a block has room for at least
SAMPLE = 2**18
LONGEST = 2**27  # bytes of the first line
WORDS = dict.fromkeys(("text", "categorical", "date", "drop"), Kind.TEXT)
GUESSED = ("number", "boolean")  # words for a type that text may have in several spellings: the first block decides


class DelimitedFile(AbstractTable):
    """A CSV or TSV file."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        self._encoding = find_encoding(where)
        if self._encoding.note:
            self._notes.append(self._encoding.note)
        sample = self._sample()
        self._block = max(BLOCK, LINES * max(map(len, sample.encode().splitlines()), default=0))
        self._dialect = sniff(sample, where.path, prefer="\t" if where.format == "tsv" else ",")
        self.columns, notes = name_columns(self._dialect.header, where.path)
        self._notes += notes
        if self._dialect.title:
            self._notes.append(self._titled())
        if self._dialect.quoted and len(self.columns) > 1 and self._quotes_are_letters():
            self._dialect = self._dialect._replace(quoted=False)
            self._notes.append('Quotes (") were read as part of the text: they are not closed as quotes would be.')
        self._kinds, self._exact = self._given(types)
        self._guessed = {name: wanted for name, wanted in types.items() if name in self.columns and wanted in GUESSED}

    def _titled(self) -> str:
        return (
            "What stands above the names of the columns was left out as a title: "
            f"{shortened(self._dialect.title)}. The names are in line {self._dialect.skipped + 1}."
        )

    def _sample(self) -> str:
        """How the text begins: more than its first line, however long that is."""
        with open_text(self.where, self._encoding) as stream, reading(self.where):
            sample = stream.read(SAMPLE)
            while (
                b"\n" not in sample and b"\r" not in sample and len(sample) < LONGEST and (more := stream.read(SAMPLE))
            ):
                sample += more
        return str(sample.decode("utf-8", errors="ignore"))  # the last letter may be cut

    def _quotes_are_letters(self) -> bool:
        """Whether quotes would swallow rows: every line has its fields without them, and some are not closed well."""
        with open_text(self.where, self._encoding) as stream, reading(self.where):
            if not any(b'"' in chunk for chunk in iter(lambda: stream.read(BLOCK), b"")):
                return False
        plain = self._count(quoted=False)
        if plain is None or plain == self._count(quoted=True):
            return False
        with open_text(self.where, self._encoding) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
            try:
                for _ in csv.reader(text, delimiter=self._dialect.delimiter, strict=True):
                    continue
            except csv.Error:
                return True
        return False

    def _count(self, *, quoted: bool) -> int | None:
        """The number of rows; None where they have different numbers of fields."""
        import pyarrow as pa

        with open_text(self.where, self._encoding) as stream, reading(self.where):
            try:
                batches = self._split(stream, self.columns[:1], self._dialect._replace(quoted=quoted))
                return sum(int(batch.num_rows) for batch in batches)
            except pa.ArrowInvalid:
                return None

    def _given(self, types: Mapping[str, Any]) -> tuple[dict[str, Kind], dict[str, pa.DataType]]:
        """Kinds of the columns that the caller knows, and exact types where those are what was given."""
        kinds, exact = {}, {}
        for name, wanted in types.items():
            if name not in self.columns or wanted in GUESSED:
                continue
            if isinstance(wanted, str) and wanted in WORDS:
                kinds[name] = WORDS[wanted]
                continue
            try:
                kinds[name], exact[name] = kind_of_type(wanted), wanted
            except TypeError as error:
                words = ", ".join(map(repr, [*GUESSED, *WORDS]))
                raise DataError(f"types[{name!r}]: {error}. Give a type of Arrow, or one of {words}.") from error
        return kinds, exact

    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        import pyarrow as pa

        self._infer(columns)
        return pa.schema([(name, self._exact.get(name, self._kinds[name].type)) for name in columns])

    def _infer(self, columns: tuple[str, ...]) -> None:
        """Find the kinds of the columns that are not known yet."""
        named = tuple(name for name in columns if name in self._guessed and name not in self._kinds)
        if named:
            first = self._scan(named, blocks=1)
            numbers = {name: kind for name, kind in first.items() if self._guessed[name] == "number"}
            spelled = self._spelled(tuple(name for name, kind in numbers.items() if kind is Kind.TEXT))
            self._kinds |= {name: Kind.TEXT if name in spelled else Kind.NUMBER for name in numbers}
            yes_no = {name: kind for name, kind in first.items() if self._guessed[name] == "boolean"}
            self._kinds |= {name: kind for name, kind in yes_no.items() if kind is not Kind.NOTHING}
        unknown = tuple(name for name in columns if name not in self._kinds)
        if unknown:
            self._kinds |= self._scan(unknown)
            self._note_commas(unknown)

    def _spelled(self, columns: tuple[str, ...]) -> set[str]:
        """Columns whose first block holds numbers, in a spelling that the table encoder reads: they stay text."""
        if not columns:
            return set()
        batch = next(self._texts(columns))
        found = set()
        for name, texts in zip(columns, batch.columns, strict=True):
            distinct = tuple(text for text in texts.unique().to_pylist() if text and not text.isspace())
            if number_readings(distinct, np.ones(len(distinct), dtype=np.intp)).formats:
                found.add(name)
        return found

    def _scan(self, columns: tuple[str, ...], blocks: int | None = None) -> dict[str, Kind]:
        kinds = dict.fromkeys(columns, Kind.NOTHING)
        for number, batch in enumerate(self._texts(columns)):
            if number == blocks:
                break
            for name, texts in zip(columns, batch.columns, strict=True):
                kinds[name] = kind_of_texts(texts, kinds[name], comma=self._dialect.decimal_comma)
            if blocks is None and all(kind is Kind.TEXT for kind in kinds.values()):
                break
        return kinds

    def _note_commas(self, columns: tuple[str, ...]) -> None:
        commas = [name for name in columns if self._kinds[name] is Kind.COMMA]
        if commas:
            self._notes.append(f"Numbers with a decimal comma were read as such: {', '.join(commas[:10])}.")

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema, row = self._schema(columns), 0
        for batch in self._texts(columns):
            arrays = [self._values(name, texts, row) for name, texts in zip(columns, batch.columns, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            row += batch.num_rows

    def _values(self, name: str, texts: pa.Array, row: int) -> pa.Array:
        import pyarrow as pa

        kind, comma = self._kinds[name], self._dialect.decimal_comma
        try:
            values = cast_texts(texts, kind, comma=comma)
            return values.cast(self._exact[name]) if name in self._exact else values
        except pa.ArrowInvalid as error:
            wrong = next((i for i in range(len(texts)) if not _converts(texts[i : i + 1], kind, comma)), 0)
            raise FileReadError(
                f"{self.path}: column {name!r} holds {texts[wrong].as_py()!r} in row {row + wrong + 1} (after the line "
                f"of names), but the column has"
                f" {kind.value}. Correct it, leave it blank, or read the column as another type."
            ) from error

    def _texts(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Batches of text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        with open_text(self.where, self._encoding) as stream, reading(self.where):
            try:
                for batch in self._split(stream, columns, self._dialect):
                    if self._dialect.spaced:
                        trimmed = [pc.utf8_ltrim(texts, " ") for texts in batch.columns]
                        yield pa.RecordBatch.from_arrays(trimmed, names=batch.schema.names)
                    else:
                        yield batch
            except pa.ArrowInvalid as error:
                raise FileReadError(self._explained(error)) from error

    def _split(self, stream: Any, columns: tuple[str, ...], dialect: Dialect) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import csv as arrow

        reader = arrow.open_csv(
            stream,
            arrow.ReadOptions(
                use_threads=False,  # splitting is one thread's work either way, and others may hold many blocks
                block_size=self._block,
                column_names=list(self.columns),
                skip_rows=dialect.skipped,
                skip_rows_after_names=1,
            ),
            arrow.ParseOptions(
                delimiter=dialect.delimiter, quote_char='"' if dialect.quoted else False, newlines_in_values=True
            ),
            arrow.ConvertOptions(
                column_types=dict.fromkeys(self.columns, pa.string()),
                include_columns=list(columns),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
        yield from reader

    def _explained(self, error: Exception) -> str:
        """What is wrong with the text, found again by a slower reader that counts lines."""
        ragged = self._ragged()
        if ragged is not None:
            return ragged
        if "straddling" in str(error):
            return (
                f'{self.path} has a row of more than {self._block / 2**20:.0f} MB. Most likely a quote (") is opened '
                "and never closed: close it, or double it where it is part of the text."
            )
        return f"{self.path} cannot be read as {self.format.upper()}: {error}. Correct that place."

    def _ragged(self) -> str | None:
        dialect, expected = self._dialect, len(self.columns)
        with open_text(self.where, self._encoding) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
            reader = csv.reader(
                text, delimiter=dialect.delimiter, quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE
            )
            line = 1
            try:
                for row in reader:
                    if row and line > dialect.skipped and len(row) != expected:
                        return self._misfit(row, line)
                    line = reader.line_num + 1
            except csv.Error:  # a field without end, which the caller explains
                return None
        return None

    def _misfit(self, row: list[str], line: int) -> str:
        """What may have happened to a line with too few or too many fields."""
        mark, expected, names = self._dialect.delimiter, len(self.columns), self._dialect.skipped + 1
        start = mark.join(row)
        start = start if len(start) <= 60 else f"{start[:60]}..."
        if len(row) < expected:
            remedy = (
                f"Fill it up with delimiters ({mark!r}): a field may be blank. If it is a remark or a total, remove "
                "it; if a line was broken in two, mend it."
            )
        elif expected == 1:
            remedy = f"If line {names} is a title, remove it: the names of the columns come first."
        else:
            remedy = f"Correct it: a text that holds the delimiter ({mark!r}) must be in quotes."
        where = "the first line" if names == 1 else f"line {names}"
        return (
            f"{self.path}, line {line}: {expected} {'field was' if expected == 1 else 'fields were'} expected, as in "
            f"{where}, and {len(row)} found. The line begins {start!r}. {remedy}"
        )


def _converts(texts: pa.Array, kind: Kind, comma: bool) -> bool:
    import pyarrow as pa

    try:
        cast_texts(texts, kind, comma=comma)
    except pa.ArrowInvalid:
        return False
    return True
