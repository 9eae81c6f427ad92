# SPDX-License-Identifier: BSD-3-Clause
"""A Dask collection that was opened, and how labels, weights and other numbers come to stand beside its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix.exceptions import DataError
from separatrix.rows.dask.beside import census, split
from separatrix.rows.dask.collection import Collection, is_dask, open_table
from separatrix.rows.dask.source import Partitioned
from separatrix.rows.memory import block_rows
from separatrix.rows.pairing import Labelled, LabelRules, pair

__all__ = ["OpenedDask"]


@dataclass(frozen=True, eq=False)
class OpenedDask:
    """A Dask array or dataframe."""

    collection: Collection

    @classmethod
    def of(cls, X: Any) -> OpenedDask:
        """Nothing is computed yet."""
        return cls(open_table(X))

    @property
    def likeness(self) -> Any:
        """The columns, and no rows."""
        return self.collection.likeness

    @property
    def n_rows(self) -> int:
        """N, which may take a look at every partition."""
        return self._counted.n_rows

    def rows(self, *, read_once: bool = False) -> Partitioned:
        """The rows alone; their number need not be known."""
        D = self.likeness.shape[1]
        names = tuple(f"x{d}" for d in range(D)) if isinstance(self.likeness, np.ndarray) else self.likeness.columns
        return Partitioned(self.collection, tuple(map(str, names)), block_rows(D))

    def labelled(self, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Labels and weights may be Dask collections, in other partitions too, or lie in memory."""
        if not (is_dask(y) or is_dask(sample_weight)):
            targets = pair(y, sample_weight, self.n_rows, rules)
            source = self.attached(targets.t, targets.weight, None)
            return Labelled(source, targets.classes, int(np.count_nonzero(targets.t < 0)), targets.is_soft)
        found = census(y, sample_weight, self._counted.lengths, rules)
        return Labelled(replace(self._counted, beside=found.beside), found.classes, found.n_unlabelled, found.is_soft)

    def attached(self, t: Array, weight: Float | None, offset: Float | None) -> Partitioned:
        """Numbers in memory are cut up and sent to the workers, once."""
        return replace(self._counted, beside=split((t, weight, offset), self._counted.lengths))

    @cached_property
    def _counted(self) -> Partitioned:
        """The rows, as many as there are."""
        lengths = self.collection.measured()
        if not sum(lengths):
            raise DataError(
                f"Found a Dask collection with 0 sample(s) in {len(lengths)} partition(s) while a minimum of 1 is "
                "required."
            )
        return replace(self.rows(), collection=replace(self.collection, lengths=lengths))
