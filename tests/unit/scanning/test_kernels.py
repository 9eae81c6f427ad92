"""The compiled loops against the same arithmetic in whole numbers of any length."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from separatrix.scanning._kernels import FACTOR, TILE, absorb, total

WORDS = st.integers(0, 2**64 - 1)
WORD = 2**64


def spread(word):
    return word ^ word >> 32


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=6))
def test_rows_are_absorbed_as_polynomials_are_evaluated(rows):
    columns = np.ascontiguousarray(np.array([row[1:] for row in rows], np.uint64).T)
    r = np.array([row[0] for row in rows], np.uint64)
    absorb(columns, r)
    expected = [(FACTOR**2 * start + FACTOR * spread(a) + spread(b)) % WORD for start, a, b in rows]
    assert r.tolist() == expected


@given(st.lists(WORDS, max_size=6))
def test_bits_are_mixed_and_added(r):
    def mixed(word):
        return spread(spread(word) * 0x9E3779B97F4A7C15 % WORD)

    assert int(total(np.array(r, np.uint64))) == sum(map(mixed, r)) % WORD


def test_tiles_are_all_rows():
    columns = np.arange(3 * (2 * TILE + 7), dtype=np.uint64).reshape(3, -1)
    r = np.zeros(columns.shape[1], np.uint64)
    absorb(columns, r)
    a, b, c = (column.tolist() for column in columns)
    assert r.tolist() == [(FACTOR**2 * i + FACTOR * j + k) % WORD for i, j, k in zip(a, b, c, strict=True)]
