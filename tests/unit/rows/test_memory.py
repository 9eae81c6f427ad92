import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from problems import STORAGES
from separatrix.rows import as_source, memory
from separatrix.rows.memory import block_rows
from separatrix.stats import PooledScatter, Tally, class_moments

X = np.arange(60.0).reshape(20, 3)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(memory, "block_rows", lambda width: 7)


def test_reduce_sees_every_row_once():
    source = as_source(X, np.arange(20) % 2, np.ones(20))
    seen = source.reduce(lambda b: Tally(np.bincount(np.asarray(b.row), minlength=20)))
    assert_array_equal(seen.count, np.ones(20))


def test_blocks_carry_what_belongs_to_their_rows():
    t, weight = np.arange(20) % 3, np.linspace(1, 2, 20)

    def check(state, block):
        rows = np.asarray(block.row)
        assert_array_equal(block.X, X[rows])
        assert_array_equal(block.codes, t[rows])
        assert_array_equal(block.weight, weight[rows])
        return [*state, *rows]

    source = as_source(X, t, weight)
    assert source.fold(check, []) == list(range(20))
    shuffled = source.fold(check, [], np.random.default_rng(0))
    assert shuffled != list(range(20))
    assert sorted(shuffled) == list(range(20))
    assert source.fold(check, [], np.random.default_rng(0)) == shuffled


def test_an_offset_goes_with_its_rows_through_every_verb():
    offset = np.linspace(-1, 1, 20)
    source = replace(as_source(X, np.arange(20) % 2, np.ones(20)), offset=offset)

    def check(state, block):
        assert_array_equal(block.offset, offset[np.asarray(block.row)])
        return state + len(block)

    assert source.fold(check, 0) == 20
    assert source.fold(check, 0, np.random.default_rng(0)) == 20
    total = source.reduce(lambda block: Tally(np.array([block.offset @ block.X[:, 0]])))
    assert total.count[0] == pytest.approx(offset @ X[:, 0])
    for other in (source.taller(3), source.sized_for(5)):
        assert other.fold(check, 0) == 20
    assert as_source(X).fold(lambda state, block: [*state, block.offset], []) == [None] * 3


@pytest.mark.parametrize("storage", STORAGES)
def test_map_keeps_the_order_of_rows(storage):
    assert_array_equal(as_source(STORAGES[storage](X)).map(lambda B: B @ np.ones(3)), X.sum(axis=1))
    assert as_source(X).map(lambda B: np.column_stack([B, B])).shape == (20, 6)


def test_blocks_suit_their_width():
    assert block_rows(100) * 100 * 8 <= memory.BLOCK_BYTES
    assert block_rows(3) == memory.MAX_ROWS
    assert block_rows(2000) >= 2000  # an M x M statistic should not outweigh its block
    assert block_rows(1e6) <= 4096
    assert as_source(X).sized_for(10**5).rows_per_block == 7


def test_no_second_copy_of_the_table_is_made(monkeypatch):
    monkeypatch.setattr(memory, "block_rows", block_rows)
    rng = np.random.default_rng(0)
    table, t = rng.normal(size=(100_000, 20)), rng.integers(2, size=100_000)
    source = as_source(table, t)
    tracemalloc.start()
    source.reduce(partial(class_moments, n_classes=2, scatter=PooledScatter))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * table.nbytes  # a few blocks per thread, not 16 MB
