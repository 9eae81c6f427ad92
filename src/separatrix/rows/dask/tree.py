# SPDX-License-Identifier: BSD-3-Clause
"""A tree of ``+`` over lazy statistics. Its shape depends on their number alone, so the order of additions is fixed."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from separatrix.rows.dask.graph import task
from separatrix.rows.dask.told import compute_told
from separatrix.rows.source import Stat

__all__ = ["add_all", "tree_sum"]

FAN_IN = 16  # statistics that are added by one task
NARROW = 256  # columns; a statistic may have a number for each pair of them


def tree_sum(sums: Sequence[Any], width: int, tell: Callable[[int], None] | None = None) -> Any:
    """The sum of lazy statistics of ``width`` columns; ``tell(i)`` is called as soon as the i-th of them is known.

    Of a narrow table the client adds up what is left when few are, which saves a round of messages; of a wide one,
    whose statistics are large, one comes back.
    """
    return add_all(list(compute_told(sums, functools.partial(_tree, few=FAN_IN if width <= NARROW else 1), tell)))


def _tree(sums: Sequence[Any], few: int) -> Sequence[Any]:
    add = task(add_all)
    while len(sums) > few:
        sums = [add(list(sums[i : i + FAN_IN])) for i in range(0, len(sums), FAN_IN)]
    return sums


def add_all(statistics: list[Stat]) -> Stat:
    """Their sum, in order."""
    return functools.reduce(operator.add, statistics)
