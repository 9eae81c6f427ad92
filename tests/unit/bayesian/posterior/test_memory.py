import os
from pathlib import Path

import pytest

from separatrix.bayesian.posterior import memory
from separatrix.exceptions import DataError

MEMINFO = Path("/proc/meminfo")


@pytest.mark.skipif(not MEMINFO.exists(), reason="only Linux tells it twice")
def test_memory_is_that_of_the_machine():
    total = 1024 * int(MEMINFO.read_text().split()[1])
    assert abs(memory.machine_memory() - total) < 0.02 * total


def test_what_fits_is_let_through_and_what_does_not_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 8.0 * 2**30)
    memory.require_memory("A matrix", 5.0 * 2**30, "Take fewer columns.")
    with pytest.raises(DataError, match=r"A matrix needs 7 GiB of memory, and this machine has 8 GiB. Take fewer"):
        memory.require_memory("A matrix", 7.0 * 2**30, "Take fewer columns.")


def test_a_system_that_does_not_say_refuses_nothing(monkeypatch):
    def unknown(name):
        raise ValueError(f"unrecognized configuration name {name}")

    monkeypatch.setattr(os, "sysconf", unknown)
    memory.require_memory("A matrix", 1e30, "")


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(12, "12 bytes"), (2048, "2 KiB"), (1.5 * 2**30, "1.5 GiB"), (3e15, "2.73e+03 TiB")]
)
def test_sizes_in_words(n_bytes, words):
    assert memory.said(n_bytes) == words
