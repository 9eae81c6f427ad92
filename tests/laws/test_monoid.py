"""Statistics of blocks add to the statistics of all rows, for any partition, with empty blocks."""

import itertools
from functools import partial, reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from separatrix.rows.block import Block
from separatrix.stats import (
    ClassScatter,
    DiagonalScatter,
    FactoredScatter,
    PooledScatter,
    Tally,
    class_moments,
    confusion,
    extent,
)

K, M = 3, 4
SCATTERS = [PooledScatter, ClassScatter, DiagonalScatter, FactoredScatter]


def dense_scatter(moments):
    """Scatter of any type as a dense array."""
    scatter = moments.scatter
    if isinstance(scatter, FactoredScatter):
        return np.stack([scatter.of_class(k).T @ scatter.of_class(k) for k in range(K)])
    return next(getattr(scatter, name) for name in ("matrix", "matrices", "squares") if name in scatter.__slots__)


def numbers(stat):
    """A statistic as a flat list of arrays."""
    if isinstance(stat, Tally):
        return [stat.count]
    if "scatter" in stat.__slots__:
        return [stat.count, stat.mean, dense_scatter(stat)]
    return [stat.low, stat.high, np.array(stat.radius)]


def assert_same(a, b, rtol=1e-9):
    for left, right in zip(numbers(a), numbers(b), strict=True):
        scale = max(np.abs(right).max(initial=0.0), 1e-12)
        np.testing.assert_allclose(left, right, rtol=rtol, atol=rtol * scale)


@st.composite
def partitioned_rows(draw, allow_empty=True):
    """Rows with classes and weights, and a partition of them into blocks (some may be empty)."""
    n = draw(st.integers(2, 30))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    offset = draw(st.sampled_from([0.0, 1.0, 1e7]))
    X = offset + rng.normal(size=(n, M)) * 10.0 ** rng.integers(-3, 4, size=M)
    t = rng.integers(K, size=n)
    weight = draw(st.sampled_from([None, "integer", "real"]))
    w = {None: None, "integer": rng.integers(0, 4, size=n) * 1.0, "real": rng.random(n)}[weight]
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=5)))
    bounds = [0, *cuts, n]
    spans = [slice(a, b) for a, b in itertools.pairwise(bounds) if allow_empty or a < b]
    order = draw(st.permutations(range(len(spans))))
    return X, t, w, [spans[i] for i in order]


def block(X, t, w, span):
    return Block(X[span], t[span], None if w is None else w[span], range(*span.indices(len(t))))


@pytest.mark.parametrize("scatter", SCATTERS)
@settings(max_examples=40)
@given(rows=partitioned_rows())
def test_class_moments_do_not_depend_on_the_partition(scatter, rows):
    X, t, w, spans = rows
    moments = partial(class_moments, n_classes=K, scatter=scatter)
    whole = moments(block(X, t, w, slice(0, len(t))))
    assert_same(reduce(add, (moments(block(X, t, w, s)) for s in spans)), whole, rtol=1e-7)


@pytest.mark.parametrize("scatter", SCATTERS)
@settings(max_examples=20)
@given(rows=partitioned_rows())
def test_moments_equal_the_textbook_sums(scatter, rows):
    X, t, w, spans = rows
    total = reduce(add, (class_moments(block(X, t, w, s), K, scatter) for s in spans))
    v = np.ones(len(t)) if w is None else w
    expected = np.zeros((K, M, M))
    for k in range(K):
        Xk, vk = X[t == k], v[t == k]
        if vk.sum() > 0:
            centred = Xk - (vk @ Xk.astype(np.longdouble)) / vk.astype(np.longdouble).sum()
            expected[k] = (centred * vk[:, None]).T @ centred
            np.testing.assert_allclose(total.mean[k], (vk @ Xk) / vk.sum(), rtol=1e-12, atol=1e-12)
        assert total.count[k] == pytest.approx(vk.sum())
    got = dense_scatter(total)
    want = {
        PooledScatter: expected.sum(axis=0),
        DiagonalScatter: np.einsum("kmm->km", expected),
    }.get(scatter, expected)
    rounding = len(t) * (1e-15 * np.abs(X).max()) ** 2
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8 * np.abs(want).max() + rounding)


@pytest.mark.parametrize("scatter", [PooledScatter, ClassScatter, DiagonalScatter])
@settings(max_examples=20)
@given(rows=partitioned_rows(), density=st.sampled_from([0.02, 0.3]))
def test_sparse_blocks_have_the_moments_of_dense_ones(scatter, rows, density):
    X, t, w, _ = rows
    X = np.where(np.random.default_rng(0).random(X.shape) < density, X, 0.0)
    dense = class_moments(Block(X, t, w, range(len(t))), K, scatter)
    stored = class_moments(Block(sparse.csr_array(X), t, w, range(len(t))), K, scatter)
    assert_same(stored, dense, rtol=1e-9)


def test_the_variance_of_a_dense_column_far_from_zero_is_accurate_in_a_sparse_block(rng):
    X = np.zeros((200, 30))
    X[:, 0] = 1e8 + rng.normal(size=200)  # sums of squares would lose all digits of this variance
    t = rng.integers(K, size=200)
    assert X.astype(bool).mean() < 0.1
    stored = class_moments(Block(sparse.csr_array(X), t, None, range(200)), K, DiagonalScatter)
    expected = [np.var(X[t == k, 0]) * (t == k).sum() for k in range(K)]
    np.testing.assert_allclose(stored.scatter.squares[:, 0], expected, rtol=1e-6)


@settings(max_examples=25)
@given(rows=partitioned_rows(allow_empty=False))
def test_extents_and_tallies_do_not_depend_on_the_partition(rows):
    X, t, w, spans = rows
    guess = (X[:, 0] > 0).astype(int)
    whole = block(X, t, w, slice(0, len(t)))
    assert_same(reduce(add, (extent(block(X, t, w, s)) for s in spans)), extent(whole))
    parts = (confusion(block(X, t, w, s), guess[s], K) for s in spans)
    assert_same(reduce(add, parts), confusion(whole, guess, K))


def test_a_tall_factor_is_compressed_without_changing_its_scatter(rng):
    X, t = rng.normal(size=(400, M)), rng.integers(K, size=400)
    spans = [slice(i, i + 10) for i in range(0, 400, 10)]
    total = reduce(add, (class_moments(block(X, t, None, s), K, FactoredScatter) for s in spans))
    assert len(total.scatter.rows) <= 2 * K * M + 10 + K
    whole = class_moments(block(X, t, None, slice(0, 400)), K, ClassScatter)
    np.testing.assert_allclose(dense_scatter(total), whole.scatter.matrices, rtol=1e-10, atol=1e-10)
