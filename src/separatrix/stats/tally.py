# SPDX-License-Identifier: BSD-3-Clause
"""Tallies: counts that add."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Array, Codes
from separatrix.data.block import Block

__all__ = ["Tally", "confusion", "nonfinite"]


@dataclass(frozen=True, slots=True)
class Tally:
    """An array of counts."""

    count: Array

    def __add__(self, other: Tally) -> Tally:
        """Counts add."""
        return Tally(self.count + other.count)


def nonfinite(block: Block) -> Tally:
    """NaN and infinite values per column."""
    return Tally(block.nonfinite())


def confusion(block: Block, predicted: Codes, n_classes: int) -> Tally:
    """Weight of rows by (true class, predicted class), (K, K)."""
    cell = block.codes * n_classes + predicted
    return Tally(np.bincount(cell, block.weight, minlength=n_classes**2).reshape(n_classes, n_classes))
