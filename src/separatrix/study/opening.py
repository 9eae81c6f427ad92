# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a study: a data frame, or the table in a file, as input columns and class codes.

A file that needs more than a quarter of the memory is read once for its types, and rows at equal intervals are kept for
the comparison; the chosen model is then fitted to all rows as they are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._array import Array, Codes
from separatrix._lazy import pa
from separatrix._text import counted, did_you_mean, listed
from separatrix.exceptions import DataError
from separatrix.files import TableFile, available_memory, open_table, scan
from separatrix.reductions import take_rows
from separatrix.rows import as_table, encode_labels
from separatrix.stats import drawn_numbers
from separatrix.study.records import LabelledTable, Note
from separatrix.study.row_weights import note_on_weights, weights_of
from separatrix.table import encode_target, open_batch, positive_label

MAX_SPREAD_ROWS = 200_000  # sample of a table larger than memory; twice the number of rows in the comparison
BINARY_FORMATS = ("parquet", "excel")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
STANDARD = "-"  # standard input
EXPANSION = 4  # typical ratio of memory to file size, for binary and compressed files


def open_labelled(
    table: Any, target: str, types: Mapping[str, str] | None = None, weight: str | None = None
) -> LabelledTable:
    """Labelled rows of a data frame, of a path, or of an open file; they are returned unchanged if already labelled."""
    if isinstance(table, LabelledTable):
        return table
    if isinstance(table, str | os.PathLike):
        table = open_table(table, types=read_types(types, target))
    opened = file_rows if isinstance(table, TableFile) else labelled_rows
    return opened(table, target, types, weight)


def name_of(table: Any) -> str:
    """Name of a table inside a file, or of the file without folder and extension."""
    if not isinstance(table, str | os.PathLike):
        return "the table"
    file, _, inside = os.fspath(table).partition("::")
    return inside or ("standard input" if file == STANDARD else Path(file).name.partition(".")[0]) or "data"


def read_types(types: Mapping[str, str] | None, target: str) -> dict[str, str]:
    """Types for the reader of a file. The target is read with its inferred type, so that 1 and 1.0 are the same class.

    Numbers and booleans are inferred too, because a reader raises an error for cells that do not fit a given type.
    """
    return {name: kind for name, kind in (types or {}).items() if name != target and kind not in ("number", "boolean")}


def file_rows(
    file: TableFile, target: str, types: Mapping[str, str] | None = None, weight: str | None = None
) -> LabelledTable:
    """Labelled rows of a file; a large table is sampled at equal intervals, with a scan of all rows.

    Types come from all rows, and notes contain row numbers of the file.
    """
    for name in (target, *(types or {}), *([] if weight is None else [weight])):
        if name not in file.columns:
            raise DataError(f"{file.path} has no column {name!r}.{did_you_mean(name, file.columns)}")
    unread = [name for name, kind in (types or {}).items() if kind == "drop"]
    if not is_large(file):
        rows = file.read()
        if not rows.num_rows:
            raise DataError(f"{file.path} has column names, but no rows. Check that it is the right file.")
        labelled = labelled_rows(rows, target, types, weight)
        return replace(labelled, whole=replace(labelled.statistics(unread), place=file.place))
    n_rows = file.n_rows
    if n_rows is None:
        n_rows = sum(batch.num_rows for batch in file.batches(columns=file.columns[:1]))
    whole: Any = scan(file, target=target, weight=weight)
    if weight is not None:
        weights_of(whole.column(weight), weight)  # an invalid weight is reported before the work
    labelled = labelled_rows(spread_rows(file.batches(), n_rows), target, types, weight)
    everything = replace(whole, categorical=labelled.classes.dtype.kind == "U").labelled()[0]
    statistics = replace(whole.statistics(unread), place=file.place)
    return replace(labelled, whole=statistics, everything=everything)


def is_large(file: TableFile) -> bool:
    """Whether the rows may need more than a quarter of the available memory."""
    is_packed = file.format in BINARY_FORMATS or str(file.path).endswith(COMPRESSED)
    return file.n_bytes * (EXPANSION if is_packed else 1) > available_memory() / 4


def labelled_rows(
    table: Any, target: str, types: Mapping[str, str] | None = None, weight: str | None = None
) -> LabelledTable:
    """Rows that have a label, of classes with two rows or more; raises DataError if there are not two such classes."""
    if not isinstance(target, str):
        raise TypeError(
            f"target must be the name of a column, not {type(target).__name__}. Add the labels to the table as a "
            "column."
        )
    kind = (types or {}).get(target)
    if kind not in (None, "categorical"):
        raise DataError(f"types={{{target!r}: {kind!r}}}: the target holds classes, so its type must be 'categorical'.")
    if weight in (types or {}):
        raise DataError(
            f"The column {weight!r} contains the weights of the rows, so it is no feature and has no type.",
            remedy="Leave it out of types.",
            option="Leave it out of --types and --drop.",
        )
    rows = open_frame(table, target, categorical=kind is not None, weight=weight)
    counts = np.bincount(rows.codes, minlength=len(rows.classes))
    single = counts < 2
    if (~single).sum() < 2:
        seen = ", ".join(f"{label!r} ({n})" for label, n in zip(rows.classes.tolist()[:6], counts, strict=False))
        raise DataError(
            f"{target!r} has {counted(len(counts), 'distinct value')} in {counted(rows.n_rows, 'row')}: {seen}. "
            "A classifier needs at least two classes with two rows each. Choose another column, or add rows."
        )
    if not single.any():
        return rows
    text = (
        f"Class {listed(rows.classes[single].tolist())} has only one row, which cannot be in both training and test "
        "rows, so it was left out: the model cannot predict it."
    )
    kept = rows.take(np.flatnonzero(~single[rows.codes]), Note("rare class", text))
    kept_classes, codes = np.unique(kept.codes, return_inverse=True)
    return replace(kept, classes=rows.classes[kept_classes], codes=codes)


def positive_class(classes: Array, counts: Codes, label: Any) -> Any:
    """The given class; by default `positive_label` of two classes, and None of more."""
    labels = classes.tolist()
    if label is not None:
        if label not in labels:
            raise ValueError(f"positive={label!r} is not a class. The classes are {listed(labels)}.")
        return label
    return positive_label(labels, counts.tolist()) if len(labels) == 2 else None


def open_frame(table: Any, target: str, *, categorical: bool = False, weight: str | None = None) -> LabelledTable:
    """Rows that have a label; with ``categorical``, a numeric target is read as class names.

    ``weight`` is the column of the weights of the rows; rows of weight 0 are left out. Raises DataError if the table
    has no such column, the column cannot be a label, or a value is no weight.
    """
    table = as_table(table)
    if not nw.dependencies.is_into_dataframe(table):
        raise DataError(
            f"The table is a {type(table).__name__}, whose columns have no names. Pass a data frame of pandas, polars "
            "or pyarrow that contains the label as a column."
        )
    apart = [target] if weight is None else [target, weight]
    open_batch(table).require(apart)
    if weight == target:
        raise DataError(f"The column {target!r} is both the target and the weight of the rows. Name another column.")
    frame = nw.from_native(table, eager_only=True)
    if len(frame.columns) <= len(apart):
        only = f"{target!r} is the only column" if weight is None else f"{target!r} and {weight!r} are the only columns"
        raise DataError(
            f"{only} of the table, so there is nothing to predict {target!r} from. Add at least one other column."
        )
    found = encode_target(frame[target], name=target, categorical=categorical)
    notes = [Note("many classes", text) for text in found.notes]
    if found.n_missing:
        n_rows = "1 row" if found.n_missing == 1 else f"{found.n_missing:,} rows"
        notes.insert(0, Note("unlabelled", f"Left out: {n_rows} without a label in {target!r}."))
    rows = np.flatnonzero(found.labelled)
    classes, codes = encode_labels(found.labels)  # classes in the same order as classes_ of the models
    X = frame.drop(apart).to_native()
    labelled = LabelledTable(take_rows(X, rows), classes, codes, rows, tuple(notes), X)
    if weight is None:
        return labelled
    weights = weights_of(frame[weight], weight)[rows]
    labelled = replace(labelled, weight=weights).take(np.flatnonzero(weights), note_on_weights(weights, weight))
    seen, codes = np.unique(labelled.codes, return_inverse=True)
    return replace(labelled, classes=classes[seen], codes=codes)


def spread_rows(batches: Iterable[pa.RecordBatch], n_rows: int, most: int = MAX_SPREAD_ROWS) -> pa.Table:
    """About ``most`` rows of a table that is read once: one row from each of ``most`` sections of equal length."""
    length, start, parts = -(-n_rows // most), 0, []
    for batch in batches:
        stop = start + batch.num_rows
        parts.append(pa.table(batch.take(pa.array(drawn_numbers(start, stop, length) - start))))
        start = stop
    return pa.concat_tables(parts).combine_chunks()
