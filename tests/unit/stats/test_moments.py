import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import blobs
from separatrix.exceptions import DataError
from separatrix.rows import Block, as_source
from separatrix.stats import ClassScatter, FactoredScatter, PooledScatter, class_moments, collect_moments


def test_total_scatter_is_within_plus_between():
    """PRML (4.45)."""
    X, y = blobs(90)
    moments = collect_moments(as_source(X, y), 3, PooledScatter)
    B = moments.between
    S_T = np.cov(X.T, ddof=0) * 90
    assert_allclose(moments.scatter.matrix + B.T @ B, S_T, rtol=1e-9)
    assert_allclose(moments.grand_mean, X.mean(axis=0), rtol=1e-12)
    assert moments.total == 90


def test_fewer_rows_than_columns_are_kept_as_rows():
    X, y = np.random.default_rng(0).normal(size=(6, 50)), np.arange(6) % 2
    moments = collect_moments(as_source(X, y), 2, ClassScatter)
    assert isinstance(moments.scatter, FactoredScatter)
    assert moments.scatter.rows.shape == (6, 50)


def test_an_empty_block_is_the_identity():
    X, y = blobs(30)
    whole = class_moments(Block(X, y, None, range(30)), 3, ClassScatter)
    empty = class_moments(Block(X[:0], y[:0], None, range(0)), 3, ClassScatter)
    for both in (whole + empty, empty + whole):
        assert np.array_equal(both.count, whole.count)
        assert np.array_equal(both.mean, whole.mean)
        assert np.array_equal(both.scatter.matrices, whole.scatter.matrices)


def test_statistics_are_frozen():
    X, y = blobs(30)
    with pytest.raises(AttributeError):
        class_moments(Block(X, y, None, range(30)), 3, ClassScatter).count = 0


def test_squares_that_overflow_are_named():
    X, y = blobs(30)
    X[4, 2] = 1e200
    with pytest.raises(DataError, match=r"too large to square: column 'x2' \(up to 1e\+200\)"):
        collect_moments(as_source(X, y), 3, PooledScatter)
