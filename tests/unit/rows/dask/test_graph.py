"""Tasks are lazy, and Dask's own scheduler does them."""

import dask
import numpy as np
import pytest

from separatrix.rows.dask.graph import arrays, as_array, compute, for_each, frames, persist, shared, task


def test_a_task_runs_when_it_is_computed_and_not_before():
    done = []
    lazy = task(done.append)(1)
    assert done == []
    compute(lazy)
    assert done == [1]


def test_lists_of_lazy_arguments_are_computed_first():
    assert compute(task(sum)([task(abs)(-2), task(abs)(-3)])) == (5,)


def test_a_shared_value_is_itself_and_not_what_it_contains():
    inside = task(abs)(-1)
    assert compute(shared({"lazy": inside}))[0]["lazy"] is inside


def test_to_workers_a_small_value_travels_with_each_task_and_a_large_one_once(monkeypatch):
    small, large = np.zeros(100), np.zeros(100_000)
    assert for_each(large) is large  # threads have it already
    monkeypatch.setattr("separatrix.rows.dask.graph.is_cluster", lambda: True)
    assert for_each(small) is small
    assert compute(for_each(large))[0] is large
    assert dask.is_dask_collection(for_each(large))


def test_what_is_persisted_is_computed_once():
    done = []
    (kept,) = persist(task(done.append)(1))
    compute(kept)
    compute(kept)
    assert done == [1]


def test_the_users_scheduler_does_the_work():
    def refuse(graph, keys, **options):
        raise RuntimeError("asked")

    with dask.config.set(scheduler=refuse), pytest.raises(RuntimeError, match="asked"):
        compute(task(abs)(-1))


def test_chunks_are_stacked_and_may_be_empty():
    chunks = [task(np.full)((n, 2), float(n)) for n in (3, 0, 2)]
    stacked = as_array(chunks, (3, 0, 2), (2,), np.float64)
    assert stacked.chunks == ((3, 0, 2), (2,))
    np.testing.assert_array_equal(stacked.compute(), np.repeat([[3.0, 3.0], [2.0, 2.0]], [3, 2], axis=0))
    np.testing.assert_array_equal((stacked[:, 1] + 1).compute(), [4, 4, 4, 3, 3])


def test_modules_are_dasks_own():
    assert (arrays().__name__, frames().__name__) == ("dask.array", "dask.dataframe")
