"""Lazy statistics are added in their order, however many there are."""

import pytest

from separatrix.rows.dask.graph import shared
from separatrix.rows.dask.tree import FAN_IN, NARROW, add_all, tree_sum


@pytest.mark.parametrize("count", [1, 2, FAN_IN, FAN_IN + 1, FAN_IN**2 + 1])
@pytest.mark.parametrize("width", [1, NARROW + 1], ids=["narrow", "wide"])
def test_the_order_is_kept(count, width):
    assert tree_sum([shared((i,)) for i in range(count)], width) == tuple(range(count))


def test_sums_are_taken_from_left_to_right():
    assert add_all(["a", "b", "c"]) == "abc"
