# SPDX-License-Identifier: BSD-3-Clause
"""Whatever a user calls X becomes rows that a model can be fitted to. A new place for rows is one line here.

- arrays, sparse matrices, data frames, Arrow tables: `memory`
- tensors of torch and CuPy, on any device: `device`
- Dask arrays and dataframes: `dask`
- files and databases: `scan`, and any other `RowStore`
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from separatrix._array import Array, Float, is_tensor
from separatrix.rows.dask.collection import is_dask
from separatrix.rows.memory import InMemory, as_source
from separatrix.rows.pairing import Labelled, LabelRules, pair
from separatrix.rows.reader import as_table
from separatrix.rows.source import Source

__all__ = ["Opened", "RowStore", "TargetStore", "numbers_beside", "open_rows", "rows_alone"]


class Opened(Protocol):
    """A table that was opened, before it is known what its labels are."""

    @property
    def likeness(self) -> Any:
        """What scikit-learn looks at: something with the names, if there are any, and the number of the columns."""

    @property
    def n_rows(self) -> int:
        """N."""

    def rows(self, *, read_once: bool = False) -> Source:
        """The rows alone, for prediction; in taller blocks for a function that reads each number once."""

    def labelled(self, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """The rows with class codes and weights."""

    def attached(self, t: Array, weight: Float | None, offset: Float | None) -> Source:
        """The rows with numbers that stand beside them in memory, in the order of the rows."""


class RowStore(ABC):
    """An object of this package that knows its rows: a scan.

    A class to derive from, and no protocol: a data frame has an attribute for each of its columns, whatever their name.
    """

    @abstractmethod
    def open_rows(self, columns: Sequence[str] | None) -> Opened:
        """Its rows, of the ``columns`` that a fitted model knows, in their order; of all of them where None."""


class TargetStore(RowStore):
    """Rows whose targets and weights are columns beside them."""

    @abstractmethod
    def beside(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Targets and weights in memory: as they were given, or from the columns that hold them."""

    def alone(self) -> RowStore:
        """The rows without those columns."""
        return self


def numbers_beside(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Targets and weights as they were given; those of a scan from its columns, for models that need all in memory."""
    return X.beside(y, sample_weight) if isinstance(X, TargetStore) else (y, sample_weight)


def rows_alone(X: Any) -> Any:
    """X without what `numbers_beside` has taken from it, so that it can be given to ``fit`` along with that."""
    return X.alone() if isinstance(X, TargetStore) else X


def open_rows(X: Any, columns: Sequence[str] | None = None) -> Opened:
    """The rows of X, wherever they are; ``columns`` are those that a fitted model knows by name."""
    if isinstance(X, RowStore):
        return X.open_rows(columns)
    if is_tensor(X):
        from separatrix.rows.device import OpenedTensor

        return OpenedTensor.of(X)
    if is_dask(X):
        from separatrix.rows.dask.opening import OpenedDask

        return OpenedDask.of(X)
    table = as_table(X)
    return _InMemoryTable(table, as_source(table))


@dataclass(frozen=True, eq=False)
class _InMemoryTable:
    """Any table that `reader` can read."""

    likeness: Any
    source: InMemory

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    def rows(self, *, read_once: bool = False) -> Source:
        return self.source.taller(4) if read_once else self.source

    def labelled(self, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        targets = pair(y, sample_weight, self.n_rows, rules)
        source = replace(self.source, t=targets.t, weight=targets.weight)
        return Labelled(source, targets.classes, int(np.count_nonzero(targets.t < 0)), targets.is_soft)

    def attached(self, t: Array, weight: Float | None, offset: Float | None) -> Source:
        return replace(self.source, t=t, weight=weight, offset=offset)
