# SPDX-License-Identifier: BSD-3-Clause
"""A tree of ``+`` over lazy statistics. Its shape depends on their number alone, so the order of additions is fixed."""

from __future__ import annotations

import functools
import operator
from typing import Any

from separatrix.data.dask.graph import compute, task
from separatrix.data.source import Stat

__all__ = ["add_all", "tree_sum"]

FAN_IN = 16  # statistics that are added by one task
NARROW = 256  # columns; a statistic may have a number for each pair of them


def tree_sum(sums: list[Any], width: int) -> Any:
    """The sum of lazy statistics of ``width`` columns.

    Of a narrow table the client adds up what is left when few are, which saves a round of messages; of a wide one,
    whose statistics are large, one comes back.
    """
    add, few = task(add_all), FAN_IN if width <= NARROW else 1
    while len(sums) > few:
        sums = [add(sums[i : i + FAN_IN]) for i in range(0, len(sums), FAN_IN)]
    return add_all(list(compute(*sums)))


def add_all(statistics: list[Stat]) -> Stat:
    """Their sum, in order."""
    return functools.reduce(operator.add, statistics)
