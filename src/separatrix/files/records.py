# SPDX-License-Identifier: BSD-3-Clause
"""JSON: one record per line, or a list of records. The columns are all names that occur in any record.

A list is read record by record as well, since it may be larger than memory. One scan finds the names and kinds. An
object inside a record becomes columns of its own, ``user.age`` and ``user.country``; a list becomes text.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from separatrix.files.encoding import find_encoding, open_text
from separatrix.files.location import FileReadError, Location, reading
from separatrix.files.table import TableFile
from separatrix.table import Kind, kind_of_values, values_to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_RECORDS = 8_192  # Python objects at a time
MAX_RECORD_CHARACTERS = 2**24
MAX_NAMES = 10_000  # beyond it, names are most likely values
NamePath = tuple[str, ...]


class RecordsFile(TableFile):
    """A file of JSON records."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        self._encoding = find_encoding(where)
        if self._encoding.note:
            self._notes.append(self._encoding.note)
        kinds: dict[str, Kind] = {}
        self._paths: dict[str, NamePath] = {}  # for names with a point, the names they are made of
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
        # A name that is always null is dropped if other records have an object there, whose columns are kept.
        for outer in {path[:n] for path in self._paths.values() for n in range(1, len(path))}:
            name = ".".join(outer)
            if kinds.get(name) is Kind.NOTHING and self._paths.get(name, (name,)) == outer:
                del kinds[name]
        if not kinds:
            raise FileReadError(f"{self.path} is empty: it has no record. Is it the correct file?")
        self.columns = tuple(kinds)
        self._set_kinds(kinds)
        nested = [name for name, path in self._paths.items() if len(path) > 1]
        if nested:
            shown = ", ".join(map(repr, nested[:3])) + (", ..." if len(nested) > 3 else "")
            self._notes.append(f"Objects inside records were read as separate columns: {shown}.")

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = self.schema(columns)
        for records in self._records():
            arrays = [values_to_arrow([record.get(name) for record in records], self.kinds[name]) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _records(self) -> Iterator[list[dict[str, Any]]]:
        kept: list[dict[str, Any]] = []
        with open_text(self.where, self._encoding) as stream, reading(self.where):
            text = io.TextIOWrapper(stream, encoding="utf-8")
            for line, record in _decoded(text, self.path):
                if not isinstance(record, dict):
                    raise FileReadError(
                        f"{self.path}, line {line}: {json.dumps(record)[:40]} is not a record. Each line, or each item "
                        'of the list, must be an object such as {"age": 40, "colour": "red"}.'
                    )
                kept.append(self._flat(record, line))
                if len(kept) == CHUNK_RECORDS:
                    yield kept
                    kept = []
        if kept:
            yield kept

    def _flat(self, record: dict[str, Any], line: int) -> dict[str, Any]:
        """Replace nested objects by their values, named by the path. A name must have the same path in every record."""
        if not any(isinstance(value, dict) or "." in name for name, value in record.items()):
            return record
        flat: dict[str, Any] = {}
        for path, value in _paths(record, ()):
            name = ".".join(path)
            if (other := self._paths.setdefault(name, path)) != path:
                raise FileReadError(
                    f"{self.path}, line {line}: {name!r} has two meanings, {_as_json(other)} (in this record or one "
                    f"before) and {_as_json(path)}. Rename one of them."
                )
            flat[name] = value
        return flat


def _paths(record: dict[str, Any], before: NamePath) -> Iterator[tuple[NamePath, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _paths(value, (*before, name))
        else:
            yield (*before, name), value


def _as_json(path: NamePath) -> str:
    *outer, last = map(json.dumps, path)
    return "".join(f"{{{name}: " for name in outer) + f"{{{last}: ...}}" + "}" * len(outer)


class _DuplicateNameError(ValueError):
    """An object has two values of one name, of which a dictionary would keep the last."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _DuplicateNameError(next(name for name in names if names.count(name) > 1))
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _decoded(text: io.TextIOWrapper, path: object) -> Iterator[tuple[int, Any]]:
    """Decode the values of a text, each with the line in which it starts."""
    first = ""
    while (character := text.read(1)) and character.isspace():
        first += character
    line = 1 + first.count("\n")
    values = _from_list(text, path, line) if character == "[" else _from_lines(text, path, character, line)
    where = "the first record"
    try:
        for line, value in values:
            yield line, value
            where = f"the record after line {line}"
    except RecursionError as error:  # the decoder is recursive in nested objects
        raise FileReadError(
            f"{path}: {where} has hundreds of nested objects or lists, which cannot be a row of a table. "
            "Correct it, or leave it out."
        ) from error
    except _DuplicateNameError as error:
        raise FileReadError(f"{path}: {where} has two values called {str(error)!r}. Rename one of them.") from error


def _from_lines(text: io.TextIOWrapper, path: object, first: str, line: int) -> Iterator[tuple[int, Any]]:
    for number, rest in enumerate(text, line):
        content = first + rest if number == line else rest
        if not content.strip():
            continue
        try:
            yield number, DECODER.decode(content)
        except json.JSONDecodeError as error:
            raise FileReadError(
                f"{path}, line {number} is not JSON ({error.msg}, at character {error.pos + 1}): "
                f"{content[:40].strip()!r}. Each line must be a complete record; or the file a list in [ and ]."
            ) from error


def _from_list(text: io.TextIOWrapper, path: object, line: int) -> Iterator[tuple[int, Any]]:
    """Decode the items of a list, whose bracket has been read, from a sliding window of text."""
    window, at, is_over = "", 0, False
    while True:
        start = at
        while at < len(window) and window[at] in " \t\r\n,":
            at += 1
        line += window.count("\n", start, at)
        if at < len(window) and window[at] == "]":
            return
        try:
            if at == len(window):
                raise json.JSONDecodeError("The list is not closed", window, at)
            value, end = DECODER.raw_decode(window, at)
            if end == len(window) and not is_over:  # a number may continue
                raise json.JSONDecodeError("More to come", window, at)
        except json.JSONDecodeError as error:
            more = text.read(2**20) if len(window) - at < MAX_RECORD_CHARACTERS else ""
            if more:
                window, at = window[at:] + more, 0
                continue
            if not is_over and len(window) - at < MAX_RECORD_CHARACTERS:
                is_over = True
                continue
            raise FileReadError(
                f"{path}, line {line + window.count(chr(10), at, error.pos)}: not JSON ({error.msg}: "
                f"{window[error.pos : error.pos + 40]!r}). Correct it, or write the file again."
            ) from error
        yield line, value
        line += window.count("\n", at, end)
        at = end
