"""Parts of a graph are told as they are done, each once, whoever does them."""

import dask
import pytest

from separatrix.rows.dask.graph import task
from separatrix.rows.dask.told import compute_told, teller
from separatrix.rows.watch import watched


def halves(parts):
    add = task(sum)
    return [add(list(parts[:3])), add(list(parts[3:]))]


def identity(value):
    return value


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_each_part_is_told_once_and_the_answer_is_the_same(scheduler):
    told, parts = [], [task(identity)(i) for i in range(7)]
    with dask.config.set(scheduler=scheduler):
        assert compute_told(parts, halves, told.append) == compute_told(parts, halves, None) == (3, 18)
    assert sorted(told) == list(range(7))


def test_a_part_that_fails_is_not_told():
    told, parts = [], [task(identity)(1), task(int)("x")]
    with dask.config.set(scheduler="sync"), pytest.raises(ValueError, match="invalid literal"):
        compute_told(parts, list, told.append)
    assert 1 not in told


def test_nobody_who_does_not_watch_is_told():
    assert teller([3, 4], 7) is None
    told = []
    with watched(lambda *progress: told.append(progress)):
        tell = teller([3, 4], 7)
        tell(1)
        tell(0)
        teller([5], None)(0)
    assert told == [(4, 7, 1), (7, 7, 1), (5, None, 2)]
