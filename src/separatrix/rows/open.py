# SPDX-License-Identifier: BSD-3-Clause
"""Open any table that a user passes as X as a `Source`. Each kind of table is one case in `open_rows`.

- arrays, sparse matrices, data frames, Arrow tables: `memory`
- tensors of torch and CuPy, on any device: `device`
- Dask arrays and dataframes: `dask`
- files, queries and streams: objects derived from `RowStore`, such as the result of ``sx.scan``
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix._array import Array, Float, is_tensor
from separatrix.rows import memory
from separatrix.rows.block import Targets
from separatrix.rows.labels import Labelled, LabelRules, is_dask
from separatrix.rows.memory import as_table, open_memory
from separatrix.rows.source import Source
from separatrix.rows.threads import THREADS


class RowStore(ABC):
    """Base class of tables outside memory (scans, sparse text files), which may hold labels and weights.

    It is not a protocol, because a data frame whose columns have these names would satisfy a protocol.
    """

    @abstractmethod
    def open_rows(self, columns: Sequence[str] | None) -> Source:
        """Open the rows with these columns, in this order, as a fitted model expects them; None opens all columns."""

    @abstractmethod
    def label(self, source: Source, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Encode the labels that are stored with the rows."""

    @abstractmethod
    def targets_in_memory(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Return targets and weights in memory: as given, or read from the columns that hold them."""

    def prepare(self) -> None:
        """Make sure that every pass reads the same rows; called before a fit, and before several passes."""
        return

    def weights(self, sample_weight: Any) -> Any:
        """Return weights in memory: as given, or read from the column that holds them."""
        return sample_weight

    def without_targets(self) -> RowStore:
        """The same rows without the columns of targets and weights."""
        return self


def targets_in_memory(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return targets and weights as given, or read them from the columns of a scan."""
    return X.targets_in_memory(y, sample_weight) if isinstance(X, RowStore) else (y, sample_weight)


def without_targets(X: Any) -> Any:
    """Return X without its stored targets and weights; `targets_in_memory` returns these."""
    return X.without_targets() if isinstance(X, RowStore) else X


def readable_again(X: Any) -> Any:
    """Return X for several passes over the same rows: streams become tables, and queries are copied."""
    if isinstance(X, RowStore):
        X.prepare()
        return X
    return as_table(X)


def open_rows(X: Any, columns: Sequence[str] | None = None) -> Source:
    """Open the rows of a table of any kind; ``columns`` are the names that a fitted model expects."""
    if type(X) is np.ndarray:  # arrays skip the checks for other types, which take as long as a small prediction
        return as_source(X)
    if isinstance(X, RowStore):
        return X.open_rows(columns)
    if is_tensor(X):
        from separatrix.rows.device import open_tensor

        return open_tensor(X)
    if is_dask(X):
        from separatrix.rows.dask import open_dask

        return open_dask(X)
    return as_source(as_table(X))


def as_source(X: Any, t: Array | None = None, weight: Float | None = None) -> Source:
    """Open a table in memory; ``t`` holds class codes or real targets."""
    rows = open_memory(X)
    height = memory.block_rows(rows.numbers_per_row)
    return Source((rows,), THREADS, rows.columns, height, X, targets=(Targets(t, weight),))


def in_memory(*values: Any) -> tuple[Any, ...]:
    """Compute the values that are Dask collections; return the others unchanged."""
    return tuple(value.compute() if is_dask(value) else value for value in values)


def labels_of(classes: Array, codes: Any) -> Array:
    """Return the label of each code; lazy if the codes are a Dask array."""
    if not is_dask(codes):
        return np.asarray(classes[codes])
    return codes.map_blocks(classes.__getitem__, dtype=classes.dtype, meta=classes[:0])  # type: ignore[no-any-return]


def dask_runner(client: Any) -> Any:
    """Return the runner for rows that Dask workers read; if ``client`` is None, Dask's current scheduler is used."""
    from separatrix.rows.dask import Dask

    return Dask(client)
