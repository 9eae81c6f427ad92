# SPDX-License-Identifier: BSD-3-Clause
"""How often each value of a column occurs, in bounded memory, and about how many there are beyond the bound.

Up to ``limit`` distinct values are counted exactly. Beyond it their counts are given up, and what stays is a sketch:
the k smallest of all hashes (Bar-Yossef et al. 2002). If h is the k-th smallest, as a share of the largest possible
hash, there are about (k - 1) / h distinct values, with a relative error of 1/√k.

Both are functions of the *set* of values, so that sums do not depend on how rows are batched, nor in which order:
exact where all batches together stay within the limit, a sketch where they do not.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from separatrix._array import Float

__all__ = ["MAX_DISTINCT", "Level", "Levels", "hashed"]

Level = str | float

MAX_DISTINCT = 10_000
SKETCH = 1_024  # hashes kept: an error of 3 %


@dataclass(frozen=True, slots=True)
class Levels:
    """``counts`` of every value; or none of them and the smallest ``hashes``, where there were more than ``limit``."""

    counts: Mapping[Level, int] = field(default_factory=dict)
    hashes: frozenset[int] = frozenset()
    limit: int = MAX_DISTINCT

    @classmethod
    def of(cls, counts: Mapping[Level, int], limit: int) -> Levels:
        """Of values already counted."""
        return cls({}, _smallest(hashed(counts)), limit) if len(counts) > limit else cls(counts, limit=limit)

    @classmethod
    def of_numbers(cls, numbers: Float, limit: int) -> Levels:
        """Of an array without NaN. A few rows usually tell that there are too many values: then nothing is sorted."""
        if len(np.unique(numbers[: 4 * limit])) <= limit:
            distinct, counts = np.unique(numbers, return_counts=True)
            if len(distinct) <= limit:
                return cls(dict(zip(distinct.tolist(), counts.tolist(), strict=True)), limit=limit)
            numbers = distinct
        hashes = _mixed((numbers + 0.0).view(np.uint64))  # + 0.0: there are two zeros
        return cls({}, _smallest(hashes), limit)

    def __add__(self, other: Levels) -> Levels:
        """The values of both, counted while they are few enough."""
        limit = min(self.limit, other.limit)
        if self.overflowed or other.overflowed:
            united = sorted(self._sketched() | other._sketched())
            return Levels({}, frozenset(united[:SKETCH]), limit)
        counts = dict(self.counts)
        for level, count in other.counts.items():
            counts[level] = counts.get(level, 0) + count
        return Levels.of(counts, limit)

    @property
    def overflowed(self) -> bool:
        """Whether there were too many values to count."""
        return bool(self.hashes)

    @property
    def n_distinct(self) -> int:
        """How many values there are: exactly, or about, if `overflowed`."""
        if len(self.hashes) < SKETCH:
            return len(self.counts) or len(self.hashes)
        return round((SKETCH - 1) / (max(self.hashes) / 2**64))

    def _sketched(self) -> frozenset[int]:
        return self.hashes or _smallest(hashed(self.counts))


def _smallest(hashes: NDArray[np.uint64]) -> frozenset[int]:
    return frozenset(np.unique(hashes)[:SKETCH].tolist())


def hashed(levels: Iterable[Level]) -> NDArray[np.uint64]:
    """The same hashes in every process and version, which Python's own are not: saved schemas rely on them."""
    levels = list(levels)
    if levels and isinstance(levels[0], str):
        checksums = (zlib.crc32(str(text).encode("utf-8", "surrogatepass")) for text in levels)
        return _mixed(np.fromiter(checksums, np.uint64))
    return _mixed((np.array(levels, dtype=np.float64) + 0.0).view(np.uint64))


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A one-to-one map of the 64-bit integers that leaves no pattern (the finaliser of splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
