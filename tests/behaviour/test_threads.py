import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from separatrix import LogisticRegression
from separatrix._threads import _Hold, map_in_order, n_threads, scratch, single_thread_blas
from separatrix.rows.threads import read_ahead


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


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
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: list(map_in_order(lambda i: np.ones((9, 9)) @ np.ones(9), range(40))), range(6)))
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_a_pass_that_another_thread_closes_restores_blas():
    results = map_in_order(lambda i: i, iter(range(100)))
    next(results)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(results.close).result()
    assert blas_threads() == {2}
    with single_thread_blas():
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_a_fit_in_any_thread_gives_the_same_bits(rng):
    X = rng.normal(size=(500, 200))
    y = (X[:, 0] + rng.logistic(size=500) > 0).astype(int)

    def fit():
        model = LogisticRegression().fit(X, y)
        return *model.coef_.ravel(), *model.predict_proba(X)[:, 0]

    expected = fit()  # the main thread sets the first limit
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(fit).result() == expected
    with ThreadPoolExecutor(2) as pool:
        assert all(found == expected for found in pool.map(lambda _: fit(), range(2)))


def test_a_pass_inside_a_block_of_another_pass_ends():
    nested = map_in_order(lambda i: sum(map_in_order(lambda j: i * j, range(20))), range(20))
    assert list(nested) == [190 * i for i in range(20)]


def exit_code_of_fork(work):
    """Exit code of a forked process that calls ``work``, or None if it does not end."""
    child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    deadline = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended[1]) if ended[0] else None


def test_a_pass_while_python_shuts_down_needs_no_threads(monkeypatch):
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    monkeypatch.setattr("separatrix._threads._pool", lambda threads: closed)
    monkeypatch.setattr("separatrix._threads.n_threads", lambda: 2)
    assert list(map_in_order(lambda i: i * i, range(9))) == [i * i for i in range(9)]


def test_files_are_read_while_python_shuts_down(tmp_path):
    rows = "".join(f"{i % 7},{'no' if i % 3 else 'yes'}\n" for i in range(50))
    (tmp_path / "table.csv").write_text("x,t\n" + rows)
    program = """
        import atexit, separatrix as sx
        fit = lambda: print(sx.LogisticRegression().fit(sx.scan("table.csv", target="t")).coef_)
        fit()
        atexit.register(fit)
    """
    command = [sys.executable, "-c", dedent(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == second
    assert not done.stderr


def test_items_are_read_in_order_if_no_thread_can_be_started(monkeypatch):
    def refuse(self, *work):
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    reader = read_ahead(iter(range(9)))
    first = [next(reader), next(reader)]  # with a thread
    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    assert [*first, *reader] == list(range(9))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    assert list(map_in_order(lambda i: i, range(4))) == list(range(4))
    assert exit_code_of_fork(lambda: list(map_in_order(lambda i: i, range(4))) == list(range(4))) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.usefixtures("two_blas_threads")
def test_a_process_forked_during_a_pass_of_another_thread_ends_and_restores_blas():
    is_running, may_end = threading.Event(), threading.Event()

    def other():
        with single_thread_blas():
            is_running.set()
            may_end.wait(30)

    def passes_restore_blas():
        before = blas_threads()
        with single_thread_blas():
            inside = blas_threads()
        return (before, inside, blas_threads()) == ({2}, {1}, {2})

    thread = threading.Thread(target=other)
    thread.start()
    is_running.wait(30)
    assert exit_code_of_fork(passes_restore_blas) == 0
    may_end.set()
    thread.join()
    with single_thread_blas():  # a pass of the thread that forks goes on in the new process
        assert exit_code_of_fork(lambda: blas_threads() == {1}) == 0
    assert blas_threads() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_fork_waits_until_no_thread_changes_the_limit_of_blas():
    """Otherwise the lock would never be released in the new process, and its first pass would wait for ever."""
    changes = threading.Event()

    def other():
        with _Hold.lock:
            changes.set()
            time.sleep(0.2)

    thread = threading.Thread(target=other)
    thread.start()
    changes.wait(30)
    assert exit_code_of_fork(lambda: list(map_in_order(lambda i: i, range(4))) == list(range(4))) == 0
    thread.join()


def test_each_thread_reuses_its_own_buffer():
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


@pytest.mark.parametrize(("value", "expected"), [("1", 1), ("1000000", None), ("", None), ("two", None), ("0", 1)])
def test_omp_num_threads_limits_the_number_of_threads(monkeypatch, value, expected):
    monkeypatch.setattr("separatrix._threads.THREAD_LIMIT", "")
    cores = n_threads()
    monkeypatch.setattr("separatrix._threads.THREAD_LIMIT", value)
    assert n_threads() == (expected or cores)


def test_a_pass_does_not_wait_for_threads_that_are_busy_with_another_pass(monkeypatch):
    monkeypatch.setattr("separatrix._threads.n_threads", lambda: 2)
    is_over, other = threading.Event(), threading.Thread(target=lambda: list(map_in_order(wait_for, range(2))))

    def wait_for(i):
        assert is_over.wait(20)

    other.start()
    try:
        for _ in range(3):
            assert list(map_in_order(lambda i: i, range(50))) == list(range(50))
    finally:
        is_over.set()
        other.join()


def test_no_result_is_lost_if_some_threads_cannot_be_started(monkeypatch):
    """The executor queues a task before it starts a thread for it, so another thread may process the task."""
    threads, caller = ThreadPoolExecutor(4), threading.current_thread()
    threads.submit(time.sleep, 0).result()  # starts one thread
    monkeypatch.setattr("separatrix._threads.n_threads", lambda: 4)
    monkeypatch.setattr("separatrix._threads._pool", lambda n: threads)

    def refuse(self):
        raise RuntimeError("can't start new thread")

    def slow_elsewhere(i):
        time.sleep(0.001 if threading.current_thread() is caller else 0.2)
        return i

    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", refuse)
        assert list(map_in_order(slow_elsewhere, range(20))) == list(range(20))
    threads.shutdown()


@pytest.mark.parametrize("kind", [list, iter])
def test_threads_wait_for_a_caller_that_is_slow_to_take_results(kind, monkeypatch):
    """Results may be large: no more than two per thread are pending, and the one that was taken last."""
    monkeypatch.setattr("separatrix._threads.n_threads", lambda: 3)
    begun, pending = [], []
    for taken, _ in enumerate(map_in_order(begun.append, kind(range(60)))):
        time.sleep(0.001)
        pending.append(len(begun) - taken)
    assert len(pending) == 60
    assert max(pending) <= 2 * 3 + 1


def test_passes_in_a_task_of_the_calling_thread_use_no_other_thread(monkeypatch):
    monkeypatch.setattr("separatrix._threads.n_threads", lambda: 4)

    def inner(_):
        time.sleep(0.001)
        return threading.current_thread()

    def outer(_):
        return {threading.current_thread(), *map_in_order(inner, range(8))}

    users = list(map_in_order(outer, range(20)))
    assert all(len(each) == 1 for each in users)
    assert {threading.current_thread()} in users


def test_an_error_in_a_task_is_freed_without_the_garbage_collector(monkeypatch):
    monkeypatch.setattr("separatrix._threads.n_threads", lambda: 2)

    class Rows:
        pass

    def fail(_):
        rows = Rows()
        alive.append(weakref.ref(rows))
        raise ValueError("no")

    alive = []
    gc.disable()
    try:
        with pytest.raises(ValueError, match="no"):
            list(map_in_order(fail, range(9)))
        time.sleep(0.05)  # threads forget their last task
        assert not any(ref() for ref in alive)
    finally:
        gc.enable()


def test_a_task_may_collect_the_abandoned_pass_that_it_belongs_to(monkeypatch):
    """Closing the pass waits for its tasks; a task that waited for itself would never end."""
    monkeypatch.setattr("separatrix._threads.n_threads", lambda: 2)
    caller, has_begun, is_abandoned, is_over = threading.current_thread(), *(threading.Event() for _ in range(3))

    def task(i):
        if threading.current_thread() is caller:
            assert has_begun.wait(20)
        elif i > 0:
            has_begun.set()
            assert is_abandoned.wait(20)
            gc.collect()
            is_over.set()

    gc.disable()
    try:
        cycle = [map_in_order(task, range(3))]
        next(cycle[0])
        cycle.append(cycle)
        del cycle
        is_abandoned.set()
        assert is_over.wait(20)
    finally:
        gc.enable()
    assert list(map_in_order(abs, range(9))) == list(range(9))
