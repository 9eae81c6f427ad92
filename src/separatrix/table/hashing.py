# SPDX-License-Identifier: BSD-3-Clause
"""A category of very many levels in few columns, without a list of the levels (Weinberger et al. 2009).

A level goes to the column that its hash says. With m levels in n columns a level shares its column with (m - 1) / n
others, on average, and has to share its weight with them. Hashes have no sign: a column is an indicator, and can be
read as one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from separatrix.exceptions import DataError
from separatrix.table.levels import hashed
from separatrix.table.plans import MISSING, Entries
from separatrix.table.values import Values

__all__ = ["HashPlan"]


@dataclass(frozen=True, slots=True)
class HashPlan:
    """An indicator for each of ``n_columns`` hashes of a level, then ``(missing)`` where training had any.

    Levels need not be known, so that there may be any number of them, and none is rare or unseen. Two levels whose
    hashes agree share a column. ``dropped`` says that the first column was left out, as the reference of the others.
    """

    type: ClassVar[str] = "hashed"
    column: str
    kind: str
    why: str
    n_columns: int
    missing: bool
    dropped: bool

    def __post_init__(self) -> None:
        if self.n_columns < 2:
            raise DataError(f"Column {self.column!r} is hashed into {self.n_columns} columns; two are the fewest.")

    @property
    def names(self) -> tuple[str, ...]:
        """``zip#0``, ``zip#1``, ..., ``zip=(missing)``."""
        hashes = (f"{self.column}#{place}" for place in range(int(self.dropped), self.n_columns))
        return (*hashes, *[f"{self.column}={MISSING}"] * self.missing)

    @property
    def note(self) -> str:
        """None: nothing was left out, and nothing guessed."""
        return ""

    @property
    def fill(self) -> float:
        """One hash a row."""
        return 1.0

    def entries(self, values: Values) -> Entries:
        """A one for each row. Each distinct level is hashed once, however many rows have it."""
        texts, codes = values.as_texts(self.column)
        gaps = int((codes < 0).sum())
        surprises = Counter({MISSING: gaps} if gaps and not self.missing else {})
        place = (hashed(texts) % np.uint64(self.n_columns)).astype(np.intp)
        gap = self.n_columns if self.missing else -1
        at = np.append(place, gap)[codes] - int(self.dropped)  # -1, a gap, is the last
        rows = np.flatnonzero(at >= 0)
        return Entries(rows, at[rows], np.ones(len(rows)), surprises)
