import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from separatrix._threads import blas_for, map_in_order, n_threads, scratch, single_thread_blas


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_results_come_in_the_order_of_the_items(monkeypatch):
    monkeypatch.setattr("separatrix._threads.THREAD_LIMIT", "")

    def slow_first(i):
        time.sleep(0.01 if i == 0 else 0)
        return i

    assert list(map_in_order(slow_first, range(50))) == list(range(50))


def test_an_error_in_a_block_reaches_the_caller_and_stops_the_rest():
    seen = []

    def fails(i):
        seen.append(i)
        if i == 3:
            raise RuntimeError("block 3")
        return i

    with pytest.raises(RuntimeError, match="block 3"):
        list(map_in_order(fails, range(10_000)))
    assert len(seen) < 100


def test_at_most_a_few_results_wait_in_memory(monkeypatch):
    monkeypatch.setattr("separatrix._threads.n_threads", lambda: 2)
    done = []
    consumed = map_in_order(lambda i: done.append(i), range(1000))
    next(consumed)
    time.sleep(0.05)
    assert len(done) <= 8
    consumed.close()


@pytest.mark.parametrize(("value", "expected"), [("1", 1), ("1000000", None), ("", None), ("two", None), ("0", 1)])
def test_omp_num_threads_lowers_the_count(monkeypatch, value, expected):
    monkeypatch.setattr("separatrix._threads.THREAD_LIMIT", "")
    cores = n_threads()
    monkeypatch.setattr("separatrix._threads.THREAD_LIMIT", value)
    assert n_threads() == (expected or cores)


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_is_held_to_one_thread_and_given_back_when_the_last_pass_ends():
    first, second = single_thread_blas(), single_thread_blas()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # the first to come is the first to go: the hold must outlast it
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_passes_in_several_threads_of_the_user_restore_blas():
    workers = [
        threading.Thread(target=lambda: list(map_in_order(lambda i: np.ones((9, 9)) @ np.ones(9), range(40))))
        for _ in range(6)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert blas_threads() == {2}


def test_a_thread_works_in_memory_that_it_keeps_and_no_other_has():
    first = scratch((3, 4), np.float64)
    again = scratch((2, 5), np.float32)
    assert np.shares_memory(first, again)
    assert again.shape == (2, 5)
    assert again.dtype == np.float32
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(scratch, (3, 4), np.float64).result()
    assert not np.shares_memory(first, other)
    longer = scratch((1000,), np.float64)
    assert np.shares_memory(longer, scratch((3, 4), np.float64))


@pytest.mark.usefixtures("two_blas_threads")
def test_few_operations_are_done_on_one_thread_and_many_are_not():
    with blas_for(1e6):
        assert blas_threads() == {1}
    with blas_for(1e12):
        assert blas_threads() == {2}
