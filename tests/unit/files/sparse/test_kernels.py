"""The compiled loop: what it is sure of, what it leaves, and that it never reads past the end."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from separatrix.files.sparse._kernels import POWERS, _number, read_rows


def number(text):
    return _number(np.frombuffer(text, dtype=np.uint8), 0)


@given(st.integers(0, 2**53), st.integers(-22, 22))
def test_what_it_is_sure_of_is_exact(mantissa, power):
    text = f"{mantissa}e{power}".encode()
    assert number(text) == (float(text), len(text))


def test_what_it_is_not_sure_of_it_leaves():
    for text in (b"9007199254740993", b"1e23", b"1e-23", b"", b"-", b".", b"1e", b"1e+", b"1x", b"nan", b"1.2.3"):
        assert number(text)[1] == -1


def test_powers_of_ten_are_exact():
    assert [int(power) for power in POWERS] == [10**i for i in range(23)]


@given(st.binary(max_size=60))
def test_any_bytes_are_read_within_bounds(text):
    """Arrays of exactly the size that `parse` counts, with a guard behind each."""
    n, m = text.count(b"\n") + 1, text.count(b":")
    label, start, value = np.full(n + 1, -7.0), np.full(n + 2, -7), np.full(m + 1, -7.0)
    column, hard = np.full(m + 1, -7), np.full((n + m + 1, 3), -7)
    counts = np.zeros(4, dtype=np.int64)
    _, at = read_rows(np.frombuffer(text, dtype=np.uint8), 0, 99, label, start, column, value, hard, counts)
    assert 0 <= at <= len(text)
    assert counts[0] <= n
    assert counts[1] <= m
    assert counts[3] <= n + m
    assert label[-1] == start[-1] == column[-1] == value[-1] == hard[-1, 0] == -7


@given(st.text(alphabet="01 :\n#.e-q", max_size=40))
def test_texts_that_are_almost_right_are_read_within_bounds(text):
    test_any_bytes_are_read_within_bounds.hypothesis.inner_test(text.encode())
