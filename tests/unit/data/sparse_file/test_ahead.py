"""A pipeline on threads: the order of the stream, bounded, and errors where they belong."""

import threading
import time

import pytest

from separatrix.data.sparse_file.ahead import working_ahead


def test_results_come_in_the_order_of_the_stream_through_two_stages():
    def slow_start(i):
        time.sleep(0.01 if i % 5 == 0 else 0.0)
        return i

    with working_ahead() as ahead:
        found = list(ahead.map(lambda i: -i, ahead.map(slow_start, range(40))))
    assert found == [-i for i in range(40)]


def test_the_next_items_are_under_way_while_a_result_is_in_use():
    begun = [threading.Event() for _ in range(3)]
    with working_ahead() as ahead:
        results = ahead.map(lambda i: begun[i].set(), range(3))
        next(results)
        assert begun[1].wait(5)


def test_no_more_is_read_than_can_wait():
    taken = []

    def items():
        for i in range(1000):
            taken.append(i)
            yield i

    with working_ahead() as ahead:
        results = ahead.map(lambda i: i, items())
        for _ in range(5):
            next(results)
        assert len(taken) <= 5 + ahead._depth + 1
        results.close()


def test_an_error_comes_in_its_place_and_ends_the_stream():
    def fragile(i):
        if i == 3:
            raise ValueError("the third")
        return i

    with working_ahead() as ahead:
        results = ahead.map(fragile, range(100))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ValueError, match="the third"):
            next(results)
