# SPDX-License-Identifier: BSD-3-Clause
"""Tallies: counts that add."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix._array import Array, Codes, bincount
from separatrix.rows import Block

__all__ = ["Tally", "confusion"]


@dataclass(frozen=True, slots=True)
class Tally:
    """An array of counts."""

    count: Array

    def __add__(self, other: Tally) -> Tally:
        """Counts add."""
        return Tally(self.count + other.count)


def confusion(block: Block, predicted: Codes, n_classes: int) -> Tally:
    """Weight of rows by (true class, predicted class), (K, K)."""
    cell = block.codes * n_classes + predicted
    return Tally(bincount(cell, block.weight, n_classes**2).reshape(n_classes, n_classes))
