# SPDX-License-Identifier: BSD-3-Clause
"""JSON: one record a line, or a list of records. Columns are all the names that any record has.

A list is read record by record, too: it may be larger than memory. One scan finds the names and the kinds. An object
inside a record is columns of its own, ``user.age`` and ``user.country``; a list is its text.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from separatrix.files.encoding import find_encoding, open_text
from separatrix.files.errors import FileReadError
from separatrix.files.packing import reading
from separatrix.files.table import AbstractTable
from separatrix.table import Kind, kind_of_values, values_to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from separatrix.files.location import Location

__all__ = ["RecordsFile"]

ROWS = 8_192  # records that are held at a time as Python objects, which are large
LONGEST = 2**24  # characters of one record
MOST_NAMES = 10_000  # columns, beyond which names are likely to be values
NamePath = tuple[str, ...]


class RecordsFile(AbstractTable):
    """Records of JSON."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        del types  # the values have their own
        super().__init__(where)
        self._encoding = find_encoding(where)
        if self._encoding.note:
            self._notes.append(self._encoding.note)
        self._kinds: dict[str, Kind] = {}
        self._paths: dict[str, NamePath] = {}  # of names with a point: the names that it is made of
        for records in self._records():
            names = dict.fromkeys(name for record in records for name in record)
            self._require_few(self._kinds | names)
            for name in names:
                column = [record.get(name) for record in records]
                self._kinds[name] = kind_of_values(column, self._kinds.get(name, Kind.NOTHING), iso=True)
        self._leave_out_gaps()
        if not self._kinds:
            raise FileReadError(f"{self.path} is empty: it holds no record. Is it the right file?")
        self.columns = tuple(self._kinds)
        inside = [name for name, path in self._paths.items() if len(path) > 1]
        if inside:
            shown = ", ".join(map(repr, inside[:3])) + (", ..." if len(inside) > 3 else "")
            self._notes.append(f"Objects inside of records were read as columns of their own: {shown}.")

    def _leave_out_gaps(self) -> None:
        """Drop names that are always null where other records have an object, whose columns are there."""
        objects = {path[:n] for path in self._paths.values() for n in range(1, len(path))}
        for path in objects:
            name = ".".join(path)
            if self._kinds.get(name) is Kind.NOTHING and self._paths.get(name, (name,)) == path:
                del self._kinds[name]

    def _require_few(self, names: Mapping[str, Any]) -> None:
        """Before their values are looked at, which takes names times records."""
        if len(names) > MOST_NAMES:
            shown = ", ".join(map(repr, list(names)[-3:]))
            raise FileReadError(
                f"{self.path} has more than {MOST_NAMES} different names in its records, such as {shown}. Are these "
                "ids or dates, and not names of columns? Write them as values: one record for each."
            )

    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([(name, self._kinds[name].type) for name in columns])

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = self._schema(columns)
        for records in self._records():
            arrays = [values_to_arrow([record.get(name) for record in records], self._kinds[name]) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _records(self) -> Iterator[list[dict[str, Any]]]:
        """Lists of records."""
        kept: list[dict[str, Any]] = []
        with open_text(self.where, self._encoding) as stream, reading(self.where):
            text = io.TextIOWrapper(stream, encoding="utf-8")
            for line, record in _sound(_values(text, self.path), self.path):
                if not isinstance(record, dict):
                    raise FileReadError(
                        f"{self.path}, line {line}: {json.dumps(record)[:40]} is no record. Each line, or each item of "
                        'the list, must be an object such as {"age": 40, "colour": "red"}.'
                    )
                kept.append(self._flat(record, line))
                if len(kept) == ROWS:
                    yield kept
                    kept = []
        if kept:
            yield kept

    def _flat(self, record: dict[str, Any], line: int) -> dict[str, Any]:
        """With the objects inside of it opened.

        A name means the same in every record: one with a point in it must not be that of a value inside of an object.
        """
        if not any(isinstance(value, dict) or "." in name for name, value in record.items()):
            return record
        flat: dict[str, Any] = {}
        for path, value in _pairs(record, ()):
            name = ".".join(path)
            if (other := self._paths.setdefault(name, path)) != path:
                raise FileReadError(
                    f"{self.path}, line {line}: {name!r} has two meanings, {_spelled(other)} (in this record or one "
                    f"before) and {_spelled(path)}. Rename one of them."
                )
            flat[name] = value
        return flat


def _pairs(record: dict[str, Any], before: NamePath) -> Iterator[tuple[NamePath, Any]]:
    """Names after those of the objects they are in, and values that are no objects."""
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _pairs(value, (*before, name))
        else:
            yield (*before, name), value


def _spelled(path: NamePath) -> str:
    """As it is written in the file."""
    *outer, last = map(json.dumps, path)
    return "".join(f"{{{name}: " for name in outer) + f"{{{last}: ...}}" + "}" * len(outer)


def _values(text: io.TextIOWrapper, path: object) -> Iterator[tuple[int, Any]]:
    """The values of a text with the number of the line that each starts in."""
    first = ""
    while (character := text.read(1)) and character.isspace():
        first += character
    line = 1 + first.count("\n")
    return _listed(text, path, line) if character == "[" else _lines(text, path, character, line)


class _TwiceError(ValueError):
    """An object has two values of one name, of which a dictionary would keep the last."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _sound(values: Iterator[tuple[int, Any]], path: object) -> Iterator[tuple[int, Any]]:
    """The values; what the decoder cannot place is in the record after the last that was whole."""
    where = "the first record"
    try:
        for line, value in values:
            yield line, value
            where = f"the record after that of line {line}"
    except RecursionError as error:  # the decoder calls itself for each object inside of another
        raise FileReadError(
            f"{path}: {where} has hundreds of objects or lists inside of each other, which is no row of a table. "
            "Correct it, or leave it out."
        ) from error
    except _TwiceError as error:
        raise FileReadError(f"{path}: {where} has two values called {str(error)!r}. Rename one of them.") from error


def _lines(text: io.TextIOWrapper, path: object, begun: str, line: int) -> Iterator[tuple[int, Any]]:
    for number, rest in enumerate(text, line):
        content = begun + rest if number == line else rest
        if not content.strip():
            continue
        try:
            yield number, DECODER.decode(content)
        except json.JSONDecodeError as error:
            raise FileReadError(
                f"{path}, line {number} is not JSON ({error.msg}, at character {error.pos + 1}): "
                f"{content[:40].strip()!r}. "
                "Each line must be a whole record; or the file a list of records, in [ and ]."
            ) from error


def _listed(text: io.TextIOWrapper, path: object, line: int) -> Iterator[tuple[int, Any]]:
    """The items of a list whose bracket has been read, decoded one after the other from a window of text."""
    window, at, is_over = "", 0, False
    while True:
        at, line = _skip(window, at, line)
        if at < len(window) and window[at] == "]":
            return
        try:
            if at == len(window):
                raise json.JSONDecodeError("The list has no end", window, at)
            value, end = DECODER.raw_decode(window, at)
            if end == len(window) and not is_over:  # a number may go on
                raise json.JSONDecodeError("More to come", window, at)
        except json.JSONDecodeError as error:
            more = text.read(2**20) if len(window) - at < LONGEST else ""
            if more:
                window, at = window[at:] + more, 0
                continue
            if not is_over and len(window) - at < LONGEST:
                is_over = True
                continue
            raise FileReadError(
                f"{path}, line {line + window.count(chr(10), at, error.pos)}: not JSON ({error.msg}: "
                f"{window[error.pos : error.pos + 40]!r}). Correct it, or write the file again."
            ) from error
        yield line, value
        line += window.count("\n", at, end)
        at = end


def _skip(window: str, at: int, line: int) -> tuple[int, int]:
    """Past the space and the comma between items."""
    start = at
    while at < len(window) and window[at] in " \t\r\n,":
        at += 1
    return at, line + window.count("\n", start, at)
