# SPDX-License-Identifier: BSD-3-Clause
"""Tables in one or several Parquet files, and in Arrow files and streams, including Feather."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from typing import Any

from separatrix._lazy import pa, pc, pq
from separatrix._text import did_you_mean
from separatrix.files.dialect import name_columns
from separatrix.files.location import FORMATS, FileReadError, Location, unpacked
from separatrix.files.table import TableFile

PARQUET = "a Parquet file"


class ParquetTable(TableFile):
    """One Parquet file, or several with the same columns. A column has a type that fits the values of all files."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        self._files = where.parts or (unpacked(where, self),)
        schemas, self.n_rows = [], 0
        for file in self._files:
            with reading_arrow(self._name(file), PARQUET), pq.ParquetFile(file) as opened:
                schemas.append(plain_schema(opened.schema_arrow))
                self.n_rows += opened.metadata.num_rows
        self.columns, notes = name_columns(schemas[0].names, self._name(self._files[0]))
        self._notes += notes
        self._stored = dict(zip(self.columns, schemas[0].names, strict=True))  # names in the file
        # Whether DuckDB and pyarrow can read the file directly: uncompressed, names distinct ignoring case. DuckDB
        # would read a file name with [, * or ? as a pattern.
        self.is_plain = (
            self._files == (self.path,)
            and not has_magic(str(self.path))
            and self.path.suffix in FORMATS["parquet"]
            and self.columns == tuple(schemas[0].names)
            and len({name.lower() for name in self.columns}) == len(self.columns)
        )
        self.travels = self.is_plain
        require_same_columns(dict(zip(self._files, [schema.names for schema in schemas], strict=True)))
        self.types = renamed(unify_types(dict(zip(self._files, schemas, strict=True))), self._stored)
        if any("=" in file.parent.name for file in where.parts):
            self._notes.append("Folders named column=value contain parts of the table; those columns were not read.")

    def _name(self, file: Path) -> Path:
        """Path of a part for messages, which do not show temporary decompressed files."""
        return file if self.where.parts else self.path

    def stream(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        schema, stored = self.schema(columns), tuple(self._stored[name] for name in columns)
        for file in self._files:
            for batch in read_groups(file, stored, rows, called=self._name(file)):
                named = batch if stored == columns else pa.RecordBatch.from_arrays(batch.columns, list(columns))
                yield named if named.schema.equals(schema) else named.cast(schema)


def renamed(types: pa.Schema, stored: Mapping[str, str]) -> pa.Schema:
    """Types of columns whose names in the file, ``stored``, may be blank or surrounded by white space."""
    return pa.schema([types.field(name).with_name(new) for new, name in stored.items()])


def require_same_columns(columns: Mapping[Any, Sequence[str]]) -> None:
    """Raise FileReadError if a file does not have the columns of the first file; ``columns`` lists them by file."""
    first, *others = columns
    for other in others:
        for has, lacks in ((first, other), (other, first)):
            known = set(columns[lacks])
            odd = [name for name in columns[has] if name not in known]
            if odd:
                raise FileReadError(
                    f"Column {odd[0]!r} is in {has} but not in {lacks}.{did_you_mean(odd[0], columns[lacks])} Give "
                    "every file the same columns, or read fewer files."
                )


def unify_types(schemas: Mapping[Any, pa.Schema]) -> pa.Schema:
    """Types that fit the values of all files (``schemas`` by file); raises FileReadError if there are none."""
    common = first = None
    for file, schema in schemas.items():
        try:
            widened = schema if common is None else pa.unify_schemas([common, schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            what = str(error).removeprefix("Unable to merge: ")
            raise FileReadError(
                f"{what} in {first} and {file}. Write this column as one type in every file, or leave it out with "
                "columns=."
            ) from error
        first, common = (file, widened) if widened != common else (first, common)
    return common


def read_groups(
    file: Path, columns: tuple[str, ...], rows: int, *, groups: Sequence[int] | None = None, called: Path | None = None
) -> Generator[pa.RecordBatch]:
    """Read batches of ``rows`` rows from some row groups of a file, or from all. Messages use the path ``called``.

    Arrow fills a batch across the ends of row groups, so rows need not be copied to form it.
    """
    names = list(columns)
    # A pre-buffered file would stay in memory as a whole.
    with reading_arrow(called or file, PARQUET), pq.ParquetFile(file, pre_buffer=False) as opened:
        for batch in opened.iter_batches(rows, row_groups=groups, columns=names):
            yield plain_batch(batch if batch.schema.names == names else batch.select(names))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Types that Arrow can sort, filter and cast: views and run-end encoded columns are stored as ordinary ones."""
    return pa.schema([(field.name, _plain_type(field.type)) for field in schema])


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert a batch to the types of `plain_schema`.

    Raises ArrowInvalid if text is not UTF-8, or offsets and indices point outside of the batch: Arrow does not check
    them when it reads a file, and a forged file would end the interpreter.
    """
    batch.validate(full=True)
    if not any(map(_has_odd_type, batch.schema.types)):
        return batch
    return pa.RecordBatch.from_arrays([_plain_array(column) for column in batch.columns], batch.schema.names)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    t = pa.types
    if t.is_run_end_encoded(kind):
        value = _plain_type(kind.value_type)
        return value.value_type if t.is_dictionary(value) else value
    if t.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_type(kind.value_type), kind.ordered)
    if t.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if t.is_map(kind):
        is_odd = _has_odd_type(kind.key_type) or _has_odd_type(kind.item_type)
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type)) if is_odd else kind
    if t.is_nested(kind) and hasattr(kind, "value_type"):  # a list of any kind
        return pa.large_list(_plain_type(kind.value_type)) if _has_odd_type(kind.value_type) else kind
    plain = (
        (t.is_string_view, pa.large_string()),
        (t.is_binary_view, pa.large_binary()),
        (t.is_date64, pa.timestamp("ms")),  # Arrow's conversion to Python overflows in far years
    )
    return next((found for is_odd, found in plain if is_odd(kind)), kind)


def _has_odd_type(kind: pa.DataType) -> bool:
    return bool(_plain_type(kind) != kind)


def _plain_array(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        values = _plain_array(column.values)
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        runs = pa.RunEndEncodedArray.from_arrays(column.run_ends, values)
        return pc.run_end_decode(runs).slice(column.offset, len(column))
    if _has_odd_type(kind) and pa.types.is_nested(kind):  # Arrow cannot cast all of them
        return pa.array(column.to_pylist(), _plain_type(kind))
    if _has_odd_type(kind) and pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(column.indices, _plain_array(column.dictionary), ordered=kind.ordered)
    return column.cast(_plain_type(kind))


@contextmanager
def reading_arrow(file: Path, what: str) -> Iterator[None]:
    """Convert errors of Arrow to a FileReadError; ``what`` the file should be, with an article."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, FileReadError):
            raise
        raise FileReadError(f"{file} is damaged or not {what} ({error}). Write, copy or download it again.") from error


class ArrowFile(TableFile):
    """A file in Arrow's file format or stream format, which the first bytes distinguish."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        from pyarrow.dataset import dataset

        self._file = unpacked(where, self)
        with self._file.open("rb") as file:
            head = file.read(6)
        self._is_stream = head != b"ARROW1"
        with self._opened_file() as reader:
            stored = plain_schema(reader.schema)
            if not self._is_stream:
                self.n_rows = int(dataset(str(self._file), format="ipc").count_rows())
        self.columns, notes = name_columns(stored.names, self.path)
        self._notes += notes
        self._stored = dict(zip(self.columns, stored.names, strict=True))
        self.types = renamed(stored, self._stored)

    @contextmanager
    def _opened_file(self) -> Iterator[Any]:
        with reading_arrow(self.path, "an Arrow file"), pa.memory_map(str(self._file)) as mapped:
            yield pa.ipc.open_stream(mapped) if self._is_stream else pa.ipc.open_file(mapped)

    def stream(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        """Read the table from the beginning of the file."""
        schema = self.schema(columns)
        with self._opened_file() as reader:
            batches = reader if self._is_stream else map(reader.get_batch, range(reader.num_record_batches))
            for batch in batches:
                arrays = plain_batch(batch.select([self._stored[name] for name in columns])).columns
                yield pa.RecordBatch.from_arrays(arrays, list(columns)).cast(schema)
