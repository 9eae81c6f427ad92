# SPDX-License-Identifier: BSD-3-Clause
"""Rows over which effects are averaged, with the group of each row as its target.

Rows may be in memory, in files or in Dask collections; those outside memory are encoded block by block. Groups are the
distinct values of columns of the user's table, which need not be columns of the model.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._text import counted, did_you_mean
from separatrix.estimator import check_columns, known_columns
from separatrix.exceptions import DataError
from separatrix.files import Scan, scan
from separatrix.rows import Block, ColumnTargets, Source, is_dask, open_rows, readable_again
from separatrix.table import MISSING, Batch, Kind, open_batch, read_values
from separatrix.table_model import TableClassifier

MAX_GROUPS = 200  # more are probably numbers or dates, whose table nobody could read

Group = tuple[Any, ...]  # the value of each column of ``by``


@dataclass(frozen=True, eq=False)
class Population:
    """Rows of features, before a basis, whose targets are the numbers of their groups; ``by`` names the columns."""

    source: Source
    by: tuple[str, ...]
    groups: tuple[Group, ...]


def open_population(owner: str, model: Any, data: Any, by: Any) -> Population:
    """Open the rows of any table for a fitted model, and divide them into groups by the columns ``by``."""
    is_list = isinstance(by, Sequence) and all(isinstance(name, str) for name in by)
    if by is not None and not is_list:
        raise DataError(f"{owner}(by={by!r}): name a column of the table, or list several.")
    names = (by,) if isinstance(by, str) else tuple(by or ())
    if isinstance(data, str | os.PathLike):
        texts = model.encoder_.schema_.text_types if isinstance(model, TableClassifier) else {}
        data = scan(data, types={name: kind for name, kind in texts.items() if kind == "text"})
    data = readable_again(data)
    if isinstance(data, Scan):
        return _of_scan(owner, model, data, names)
    source = _features(model, data)
    if not names:
        return Population(source, (), ((),))
    labels = group_labels(_columns_in_memory(owner, data, names), names)
    groups = _sorted_groups(owner, set(labels), names)
    code_of = {group: g for g, group in enumerate(groups)}
    codes = np.fromiter((code_of[label] for label in labels), np.intp, len(labels))
    return Population(source.with_numbers(codes), names, groups)


def _features(model: Any, data: Any) -> Source:
    """Rows of the features that a model sees before its basis."""
    if isinstance(model, TableClassifier):
        return open_rows(model.features_of(data))
    known = known_columns(model)
    if known is not None and nw.dependencies.is_into_dataframe(data):
        open_batch(data).require(known)
        data = nw.from_native(data, eager_only=True).select(list(known)).to_native()
    elif known is not None and is_dask(data) and hasattr(data, "columns"):
        Batch(dict.fromkeys(map(str, data.columns)), 0).require(known)
        data = data[list(known)]
    source = open_rows(data, known)
    check_columns(model, source.template, reset=False)
    return source


def features_in_memory(model: Any, data: Any) -> Any:
    """Features of a table in memory, (n, D), before a basis."""
    if isinstance(model, TableClassifier):
        return model.features_of(data)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and nw.dependencies.is_into_dataframe(data):
        open_batch(data).require(names)
        return nw.from_native(data, eager_only=True).select(list(names)).to_numpy()
    return open_rows(data).map(lambda X: X)


@dataclass(frozen=True, eq=False)
class GroupTargets(ColumnTargets):
    """Groups of rows that are read from columns ``by``, and weights from another column."""

    by: tuple[str, ...] = ()
    code_of: Any = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that must be read."""
        return tuple(dict.fromkeys([*self.by, *super().columns]))

    def block(self, X: Any, piece: Any, first: int) -> Block:
        """Return the block of rows of a piece, with the group of each row."""
        block = super().block(X, piece, first)
        if not self.by:
            return block
        labels = group_labels(open_batch(piece.batch), self.by)
        return replace(block, t=np.fromiter((self.code_of[label] for label in labels), np.intp, len(labels)))


@dataclass(frozen=True)
class _Found:
    """Distinct groups of some rows."""

    groups: frozenset[Group] = frozenset()

    def __add__(self, other: _Found) -> _Found:
        return _Found(self.groups | other.groups)


def _of_scan(owner: str, model: Any, data: Scan, names: tuple[str, ...]) -> Population:
    """Open the rows of a scan; a pass over the columns ``names`` finds the groups."""
    for name in names:
        if name not in data.rows.columns:
            hint = did_you_mean(name, data.rows.columns)
            raise DataError(f"{owner}(by={name!r}): {data.rows.title} has no column {name!r}.{hint}")
    source = _features(model, replace(data, target=None, alongside=names))
    groups: tuple[Group, ...] = ((),)
    if names:

        def found_in(piece: Any) -> _Found:
            return _Found(frozenset(group_labels(open_batch(piece.batch), names)))

        groups = _sorted_groups(owner, source.reduce_batches(found_in, names, _Found()).groups, names)
    if names or data.weight is not None:
        targets = GroupTargets(weight=data.weight, by=names, code_of={group: g for g, group in enumerate(groups)})
        source = replace(source, targets=(targets,) * len(source.partitions))
    return Population(source, names, groups)


def _columns_in_memory(owner: str, data: Any, names: tuple[str, ...]) -> Batch:
    """The columns of a table in memory; those of a Dask collection are computed."""
    if is_dask(data):
        if not hasattr(data, "columns"):
            raise DataError(f"{owner}(by={names[0]!r}): a Dask array has no column names. Pass a Dask dataframe.")
        Batch(dict.fromkeys(map(str, data.columns)), 0).require(names)
        data = data[list(names)].compute()
    batch = open_batch(data)
    batch.require(names)
    return batch


def group_labels(batch: Batch, names: Sequence[str]) -> list[Group]:
    """Group of each row: the values of some columns."""
    return list(zip(*(_labels(batch.columns[name]) for name in names), strict=True))


def _labels(column: Any) -> list[Any]:
    """Values of a column as labels: texts, whole numbers as integers, dates, and a word for missing values."""
    values = read_values(column)
    if values.kind is Kind.TEXT:
        words = (*values.texts, MISSING)  # code -1 selects the last
        return [words[code] for code in values.codes.tolist()]
    if values.kind is Kind.BOOLEAN:
        return [MISSING if np.isnan(x) else bool(x) for x in values.numbers.tolist()]
    if values.kind is Kind.DATE:
        return [MISSING if np.isnan(x) else _date(x) for x in values.numbers.tolist()]
    return [MISSING if np.isnan(x) else int(x) if float(x).is_integer() else x for x in values.numbers.tolist()]


def _date(days: float) -> str:
    moment = np.datetime64(0, "s") + np.timedelta64(round(days * 86_400), "s")
    return str(moment if days % 1 else moment.astype("M8[D]"))


def _sorted_groups(owner: str, groups: set[Group] | frozenset[Group], names: Sequence[str]) -> tuple[Group, ...]:
    """The groups in order; missing values come last."""
    if len(groups) > MAX_GROUPS:
        raise DataError(
            f"{owner}(by={', '.join(map(repr, names))}): the rows have {counted(len(groups), 'group')}, more than "
            f"{MAX_GROUPS}.",
            remedy=f"Add a column with fewer values to the table, such as pandas.cut(table[{names[0]!r}], 5).",
            option="Name columns with fewer values, such as ranges of a number: --by COL",
        )

    def key(group: Group) -> list[Any]:
        return [(value == MISSING, isinstance(value, str), value) for value in group]

    return tuple(sorted(groups, key=key))
