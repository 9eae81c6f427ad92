# SPDX-License-Identifier: BSD-3-Clause
"""Rows that remember how they were read: which statistic each pass computed, and how long it took.

    rows = Witness(X)
    model.fit(rows, y)
    rows.log            [Read("labels", 0.004), Read("draw", 0.007), Read("value_grad", 0.024), ...]

A `Witness` stands where X would: to a model it is one more place for rows. So a fit is taken apart into its passes
without a word in the library itself, and whatever is not a pass (the fit of a sample, small solves) is what is left.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchmarks.measure import timed
from separatrix._array import Array, Float, Rows
from separatrix.rows import Block, LabelRules, Source, open_rows
from separatrix.rows.dask.graph import is_cluster
from separatrix.rows.dask.source import Partitioned
from separatrix.rows.opening import Opened, RowStore
from separatrix.rows.pairing import Labelled
from separatrix.rows.source import Stat

__all__ = ["LABELS", "Read", "Witness"]

State = TypeVar("State")

LABELS = "labels"  # finding the classes, which is no pass over the rows


class Read(NamedTuple):
    """One pass: the name of its statistic, and its seconds."""

    kind: str
    seconds: float


class Witness(RowStore):
    """Any table; ``log`` has every pass over it, in order."""

    def __init__(self, X: Any) -> None:
        self._table = X
        self.log: list[Read] = []

    def open_rows(self, columns: Sequence[str] | None) -> Opened:
        """The rows of the table, watched."""
        return _Opened(open_rows(self._table, columns), self.log)


class _Opened:
    def __init__(self, opened: Opened, log: list[Read]) -> None:
        self._opened, self._log = opened, log

    @property
    def likeness(self) -> Any:
        return self._opened.likeness

    @property
    def n_rows(self) -> int:
        return self._opened.n_rows

    def rows(self, *, read_once: bool = False) -> Source:
        return _Watched(self._opened.rows(read_once=read_once), self._log)

    def labelled(self, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        found, seconds = timed(lambda: _settled(self._opened.labelled(y, sample_weight, rules)))
        self._log.append(Read(LABELS, seconds))
        return found._replace(source=_Watched(found.source, self._log))

    def attached(self, t: Array, weight: Float | None, offset: Float | None) -> Source:
        return _Watched(self._opened.attached(t, weight, offset), self._log)


class _Watched:
    """A source that times its passes."""

    def __init__(self, source: Source, log: list[Read]) -> None:
        self._source, self._log = source, log

    @property
    def n_rows(self) -> int:
        return self._source.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        return self._source.columns

    def sized_for(self, width: int) -> _Watched:
        return _Watched(self._source.sized_for(width), self._log)

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        answer, seconds = timed(lambda: self._source.reduce(statistic))
        self._log.append(Read(_name(statistic), seconds))
        return answer

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        answer, seconds = timed(lambda: self._source.fold(step, state, rng))
        self._log.append(Read(_name(step), seconds))
        return answer

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        return self._source.map(row_function)


def _settled(labelled: Labelled) -> Labelled:
    """When workers have laid labels beside their rows, which a fit does not wait for; the first pass does."""
    beside = labelled.source.beside if isinstance(labelled.source, Partitioned) else None
    if beside and is_cluster():
        distributed = import_module("distributed")
        distributed.wait(distributed.futures_of(beside))
    return labelled


def _name(function: Callable[..., Any]) -> str:
    """Of the function under any arguments that are bound already."""
    while isinstance(function, functools.partial):
        function = function.func
    return function.__name__
