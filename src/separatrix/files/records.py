# SPDX-License-Identifier: BSD-3-Clause
"""JSON files with one record per line, or a list of records. The columns are all names that occur in any record.

Records are decoded one by one, since the file may be larger than memory. One pass finds the names and kinds of columns.
An object inside a record becomes columns such as ``user.age`` and ``user.country``; a list becomes text.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from separatrix._lazy import pa
from separatrix._text import counted
from separatrix.files.dialect import find_encoding, open_text
from separatrix.files.location import READ_BYTES, FileReadError, Location, reading
from separatrix.files.table import TableFile
from separatrix.table import Kind, kind_of_values

CHUNK_RECORDS = 8_192  # records that are in memory as Python objects at a time
MAX_RECORD_CHARACTERS = 2**24
MAX_NAMES = 10_000  # with more distinct names, the names are most likely values, such as ids
MAX_DEPTH = 100  # of objects inside objects; their names are joined into the name of a column
MAX_LIST_DEPTH = 600  # of lists inside lists; Python's own limit depends on its version and on the calling functions
MAX_INTEGER_DIGITS = 300  # longer integers are beyond the range of a float
SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")  # half of a character; a pair of them is valid
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class RecordsFile(TableFile):
    """A file of JSON records."""

    travels = True

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        self._encoding, notes, _ = find_encoding(where)
        self._notes += notes
        kinds: dict[str, Kind] = {}
        self._nested: dict[str, None] = {}  # names of columns that come from objects inside records
        self._replaced: set[int] = set()  # first lines of records with characters that were replaced
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
        if self._replaced:
            has = "has" if len(self._replaced) == 1 else "have"
            self._notes.append(
                f"{counted(len(self._replaced), 'record')} {has} half of a character, such as \\ud800, first in line "
                f"{min(self._replaced)}. It was replaced by \N{REPLACEMENT CHARACTER}."
            )

    def stream(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        for records in self._records():
            yield self._batch(columns, ([record.get(name) for record in records] for name in columns))

    def _records(self) -> Iterator[list[dict[str, Any]]]:
        kept: list[dict[str, Any]] = []
        with open_text(self.where, self._encoding) as stream, reading(self.where):
            for line, record, is_valid in _decode(io.TextIOWrapper(stream, encoding="utf-8"), self.path):
                if not is_valid:
                    self._replaced.add(line)
                if not isinstance(record, dict):
                    raise FileReadError(
                        f"{self.path}, line {line}: {json.dumps(record)[:40]} is not a record. Each line, or each item "
                        'of the list, must be an object such as {"age": 40, "colour": "red"}.'
                    )
                try:
                    flat = _flatten(record)
                except RecursionError as error:
                    raise _too_deep(self.path, line) from error
                if flat is not record:
                    self._nested.update(dict.fromkeys(name for name in flat if name not in record))
                kept.append(flat)
                if len(kept) == CHUNK_RECORDS:
                    yield kept
                    kept = []
        if kept:
            yield kept


def _flatten(record: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Replace objects inside a record by their values, with names such as ``user.age``."""
    if not any(isinstance(value, dict) for value in record.values()):
        return record
    if depth == MAX_DEPTH:
        raise RecursionError
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": cell for inner, cell in _flatten(value, depth + 1).items()}
        else:
            flat[name] = value
    return flat


def _too_deep(path: object, line: int) -> FileReadError:
    return FileReadError(
        f"{path}, line {line}: the record has objects that are more than {MAX_DEPTH} levels deep, or lists that are "
        f"more than {MAX_LIST_DEPTH} levels deep. Write its values as one flat record."
    )


def _is_too_deep(value: Any) -> bool:
    """Whether lists or objects are nested more than `MAX_LIST_DEPTH` levels deep, without recursion."""
    level = [value]
    for _ in range(MAX_LIST_DEPTH):
        nested = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [inner for items in nested for inner in items]
        if not level:
            return False
    return any(isinstance(item, dict | list) for item in level)


def _repaired(value: Any) -> Any:
    """The value with the replacement character for each half of a character; the same object if it has none."""
    text = json.dumps(value, ensure_ascii=False)
    whole = LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    return value if whole == text else json.loads(whole, parse_int=_integer)


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= MAX_INTEGER_DIGITS else float(digits)


def _decode(text: io.TextIOWrapper, path: object) -> Iterator[tuple[int, Any, bool]]:
    """Decode the items of a list, or of lines, from a sliding window.

    Yields the line in which an item starts, the item, and whether all of its escapes were valid characters.
    """
    decoder = json.JSONDecoder(parse_int=_integer)
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
            if window.count("[", at, end) + window.count("{", at, end) > MAX_LIST_DEPTH and _is_too_deep(value):
                raise _too_deep(path, line)
            repaired = _repaired(value) if SURROGATE_ESCAPE.search(window, at, end) else value
        except RecursionError as error:
            raise _too_deep(path, line) from error
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
        yield line, repaired, repaired is value
        line += window.count("\n", at, end)
        at = end
