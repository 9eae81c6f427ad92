import subprocess
import sys
import threading

import pytest

from separatrix.scanning.ahead import read_ahead


def test_items_come_in_order_and_all_of_them():
    assert list(read_ahead(range(20))) == list(range(20))
    assert list(read_ahead([])) == []


def test_the_next_item_is_fetched_while_the_current_one_is_used():
    begun = [threading.Event() for _ in range(6)]

    def items():
        for number, event in enumerate(begun):
            event.set()
            yield number

    for item in read_ahead(items(), depth=2):
        wanted = min(item + 2, 5)
        assert begun[wanted].wait(60), "nobody reads ahead"


def test_no_more_is_fetched_than_was_allowed():
    begun = []

    def items():
        for number in range(10):
            begun.append(number)
            yield number

    ahead = read_ahead(items(), depth=2)
    assert next(ahead) == 0
    ahead.close()
    assert len(begun) <= 3


def test_an_error_comes_in_its_place():
    def items():
        yield 1
        raise OSError("the disk is gone")

    ahead = read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)


def test_who_stops_early_closes_the_reader_on_the_thread_that_read():
    threads = []

    def items():
        try:
            while True:
                threads.append(threading.current_thread())
                yield 0
        finally:
            threads.append(threading.current_thread())

    ahead = read_ahead(items())
    next(ahead)
    ahead.close()
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()


def test_who_is_left_open_when_the_interpreter_ends_is_closed_without_a_word():
    program = """
from separatrix.scanning.ahead import read_ahead
def items():
    try:
        while True:
            yield 0
    finally:
        print("closed")
ahead = read_ahead(items())
next(ahead)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("closed\n", "")
