# SPDX-License-Identifier: BSD-3-Clause
"""How many rows are read at a time."""

from __future__ import annotations

__all__ = ["WHOLE", "batch_rows"]

BATCH_BYTES = 2**24  # of which a few are in memory at a time: one is reduced, one waits, one is read
LEAST, MOST = 2**10, 2**18
WHOLE = 2**30  # rows: a batch in one piece


def batch_rows(width: int) -> int:
    """Rows of a batch of ``width`` columns."""
    return max(LEAST, min(BATCH_BYTES // (8 * max(width, 1)), MOST))
