# SPDX-License-Identifier: BSD-3-Clause
"""Rows that record how they were read: which statistic each pass computed, and how long it took.

    rows = Witness(X)
    model.fit(rows, y)
    rows.log            [Read("labels", 0.004), Read("draw", 0.007), Read("value_grad", 0.024), ...]

A `Witness` takes the place of X. Its runner times every pass, so a fit is taken apart into its passes without a change
of the library; the remaining time is everything that is not a pass (the fit of a sample, small solves).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.measure import timed
from separatrix.rows import Labelled, LabelRules, RowStore, Source, is_dask, open_rows

__all__ = ["LABELS", "Read", "Witness"]

LABELS = "labels"  # finding the classes, which is not a pass over the rows


class Read(NamedTuple):
    """One pass: the name of its statistic, and its seconds."""

    kind: str
    seconds: float


class Witness(RowStore):
    """Any table; ``log`` has every pass over it, in order."""

    def __init__(self, X: Any) -> None:
        self._table = X
        self.log: list[Read] = []

    def open_rows(self, columns: Sequence[str] | None) -> Source:
        """Open the rows of the table with a runner that times its passes."""
        source = open_rows(self._table, columns)
        return replace(source, runner=_Timed(source.runner, self.log))

    def label(self, source: Source, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Labels are given to `fit`."""
        raise NotImplementedError

    def targets_in_memory(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Targets as they were given."""
        return y, sample_weight


@dataclass(frozen=True)
class _Timed:
    """A runner that times the passes of another."""

    runner: Any
    log: list[Read]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.runner, name)

    def reduce(self, source: Source, statistic: Callable[..., Any]) -> Any:
        total, seconds = timed(lambda: self.runner.reduce(source, statistic))
        self.log.append(Read(_name(statistic), seconds))
        return total

    def fold(self, source: Source, step: Callable[..., Any], state: Any, rng: Any) -> Any:
        state, seconds = timed(lambda: self.runner.fold(source, step, state, rng))
        self.log.append(Read(_name(step), seconds))
        return state

    def reduce_batches(self, source: Source, statistic: Any, columns: Any, empty: Any) -> Any:
        """Sum of a statistic of batches: the labels of a file."""
        total, seconds = timed(lambda: self.runner.reduce_batches(source, statistic, columns, empty))
        self.log.append(Read(LABELS, seconds))
        return total

    def label(self, source: Source, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        found, seconds = timed(lambda: _settled(self.runner.label(source, y, sample_weight, rules)))
        self.log.append(Read(LABELS, seconds))
        return found


def _settled(labelled: Labelled) -> Labelled:
    """Wait until workers have stored the labels; a fit does not wait, but its first pass would."""
    if is_dask(labelled.targets[0]) and import_module("separatrix.rows.dask").is_cluster():
        distributed = import_module("distributed")
        distributed.wait(distributed.futures_of(labelled.targets))
    return labelled


def _name(function: Callable[..., Any]) -> str:
    """Name of a function without its bound arguments."""
    while isinstance(function, functools.partial):
        function = function.func
    return function.__name__
