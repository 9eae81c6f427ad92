# SPDX-License-Identifier: BSD-3-Clause
"""JSON files with one record per line, or a list of records. The columns are all names that occur in any record.

Records are decoded one by one, since the file may be larger than memory. One pass finds the names and kinds of columns.
An object inside a record becomes columns such as ``user.age`` and ``user.country``; a list becomes text.
"""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from separatrix._lazy import pa
from separatrix.files.dialect import find_encoding, open_text
from separatrix.files.location import READ_BYTES, FileReadError, Location, reading
from separatrix.files.table import TableFile
from separatrix.table import Kind, kind_of_values

CHUNK_RECORDS = 8_192  # records that are in memory as Python objects at a time
MAX_RECORD_CHARACTERS = 2**24
MAX_NAMES = 10_000  # with more distinct names, the names are most likely values, such as ids


class RecordsFile(TableFile):
    """A file of JSON records."""

    travels = True

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        self._encoding, notes, _ = find_encoding(where)
        self._notes += notes
        kinds: dict[str, Kind] = {}
        self._nested: dict[str, None] = {}  # names of columns that come from objects inside records
        for records in self._records():
            names = dict.fromkeys(name for record in records for name in record)
            if len(kinds | names) > MAX_NAMES:
                shown = ", ".join(map(repr, list(kinds | names)[-3:]))
                raise FileReadError(
                    f"{self.path} has more than {MAX_NAMES} different names in its records, such as {shown}. If these "
                    "are ids or dates instead of column names, write them as values: one record for each."
                )
            for name in names:
                column = [record.get(name) for record in records]
                kinds[name] = kind_of_values(column, kinds.get(name, Kind.NOTHING), iso=True)
        # Drop a name that is null or an object in every record: the columns of the object are kept.
        for name in [name for name, kind in kinds.items() if kind is Kind.NOTHING]:
            if any(inner.startswith(f"{name}.") for inner in self._nested):
                del kinds[name]
        if not kinds:
            raise FileReadError(f"{self.path} is empty: it has no record. Is it the correct file?")
        self.columns, self.kinds = tuple(kinds), kinds
        if self._nested:
            shown = ", ".join(map(repr, list(self._nested)[:3])) + (", ..." if len(self._nested) > 3 else "")
            self._notes.append(f"Objects inside records were read as separate columns: {shown}.")

    def stream(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        for records in self._records():
            yield self._batch(columns, ([record.get(name) for record in records] for name in columns))

    def _records(self) -> Iterator[list[dict[str, Any]]]:
        kept: list[dict[str, Any]] = []
        with open_text(self.where, self._encoding) as stream, reading(self.where):
            for line, record in _decode(io.TextIOWrapper(stream, encoding="utf-8"), self.path):
                if not isinstance(record, dict):
                    raise FileReadError(
                        f"{self.path}, line {line}: {json.dumps(record)[:40]} is not a record. Each line, or each item "
                        'of the list, must be an object such as {"age": 40, "colour": "red"}.'
                    )
                flat = _flatten(record)
                if flat is not record:
                    self._nested.update(dict.fromkeys(name for name in flat if name not in record))
                kept.append(flat)
                if len(kept) == CHUNK_RECORDS:
                    yield kept
                    kept = []
        if kept:
            yield kept


def _flatten(record: dict[str, Any]) -> dict[str, Any]:
    """Replace objects inside a record by their values, with names such as ``user.age``."""
    if not any(isinstance(value, dict) for value in record.values()):
        return record
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": cell for inner, cell in _flatten(value).items()}
        else:
            flat[name] = value
    return flat


def _decode(text: io.TextIOWrapper, path: object) -> Iterator[tuple[int, Any]]:
    """Decode the items of a list, or of lines, from a sliding window; yield each with the line in which it starts."""
    decoder = json.JSONDecoder()
    window, at, line, is_complete = "", 0, 1, False
    is_list: bool | None = None
    while True:
        start = at
        while at < len(window) and window[at] in " \t\r\n,":
            at += 1
        line += window.count("\n", start, at)
        if is_list is None and at < len(window):
            is_list = window[at] == "["
            at += is_list
            continue
        if is_list and window.startswith("]", at):
            return
        try:
            value, end = decoder.raw_decode(window, at)
            if end == len(window) and not is_complete:  # a number may continue
                raise json.JSONDecodeError("More to come", window, at)
        except json.JSONDecodeError as error:
            if not is_complete and len(window) - at < MAX_RECORD_CHARACTERS:
                more = text.read(READ_BYTES)
                window, at, is_complete = window[at:] + more, 0, not more
                continue
            if at == len(window) and not is_list:
                return
            message = error.msg if at < len(window) else "The list is not closed"
            place = error.pos if error.pos < len(window) else at  # if a record is not closed, show its beginning
            raise FileReadError(
                f"{path}, line {line + window.count(chr(10), at, place)}: not JSON ({message}: "
                f"{window[place : place + 40]!r}). Each line must be a complete record, or the file a list of "
                "records in [ and ]. Correct it, or write the file again."
            ) from error
        yield line, value
        line += window.count("\n", at, end)
        at = end
