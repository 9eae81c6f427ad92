from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from separatrix.rows import Block, as_source
from separatrix.solvers.worst_rows import Frame, survey, worst_rows
from separatrix.stats import Extent

K, M = 3, 2


def rows(seed, n=40, ties=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, M)).astype(float) if ties else rng.normal(size=(n, M))
    weight = rng.integers(0, 3, n).astype(float)
    return X, rng.integers(0, K, n), weight, rng.normal(size=(K, M + 1))


def frame_of(X, fit_intercept=True):
    return Frame.of(Extent(X.min(axis=0), X.max(axis=0), 0.0), fit_intercept=fit_intercept)


def block(X, t, weight, span):
    return Block(X[span], t[span], None if weight is None else weight[span], np.arange(len(t))[span])


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), most=st.integers(1, 5), ties=st.booleans())
def test_the_worst_rows_of_each_pair_by_sorting_them_all(seed, most, ties):
    X, t, weight, B = rows(seed, ties=ties)
    frame = frame_of(X)
    found = worst_rows(block(X, t, weight, slice(None)), B, frame, below=0.5, most=most)
    a = np.column_stack([(X - frame.centre) / frame.scale, np.ones(len(X))]) @ B.T
    for k in range(K):
        for j in set(range(K)) - {k}:
            margins = (a[:, k] - a[:, j])[(t == k) & (weight > 0)]
            expected = np.unique(margins[margins < 0.5].round(12))[:most]  # a copy of a row adds nothing
            got = found.margin[(found.t == k) & (found.rival == j)]
            assert_allclose(got[: len(expected)].round(12), expected, atol=1e-12)
    own = np.take_along_axis(a, t[:, None], axis=1)
    rival = np.where(np.arange(K) == t[:, None], -np.inf, a).max(axis=1)
    assert found.least == pytest.approx((own[:, 0] - rival)[weight > 0].min())
    assert_array_equal(X[found.row], found.X)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), cuts=st.lists(st.integers(0, 40), max_size=4), ties=st.booleans())
def test_worst_rows_do_not_depend_on_the_partition_or_its_order(seed, cuts, ties):
    X, t, weight, B = rows(seed, ties=ties)
    frame = frame_of(X)
    bounds = [0, *sorted(cuts), 40]
    spans = [slice(low, high) for low, high in pairwise(bounds)]
    parts = [worst_rows(block(X, t, weight, s), B, frame, below=0.2, most=3) for s in spans]
    whole = worst_rows(block(X, t, weight, slice(None)), B, frame, below=0.2, most=3)
    for merged in (reduce(add, parts), reduce(add, parts[::-1])):
        assert_array_equal(merged.t, whole.t)
        assert_array_equal(merged.rival, whole.rival)
        assert_allclose(merged.margin, whole.margin, atol=1e-12)
        assert (merged.n_near, merged.least, merged.largest) == pytest.approx(
            (whole.n_near, whole.least, whole.largest)
        )


def test_sparse_rows_stay_sparse_and_give_the_same(rng):
    X = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.4)
    t, B, frame = rng.integers(0, 2, 30), rng.normal(size=(2, 7)), frame_of(X)
    assert not frame.centre.any()  # every column holds zero
    dense = worst_rows(Block(X, t, None, range(30)), B, frame, below=np.inf, most=4)
    stored = worst_rows(Block(sparse.csr_array(X), t, None, range(30)), B, frame, below=np.inf, most=4)
    assert sparse.issparse(stored.X)
    assert sparse.issparse((stored + stored).X)
    assert_array_equal(stored.row, dense.row)
    assert_allclose(stored.margin, dense.margin, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_frame_fills_the_cube_and_tells_the_same_activations_everywhere(rng, fit_intercept, kind):
    X = rng.normal(size=(20, 3)) * [1e-5, 1.0, 1e5] + [0.0, 1e4, -3e6]
    frame = frame_of(X, fit_intercept)
    Z = frame.rows(kind(X)).toarray()
    assert_allclose(np.abs(Z).max(axis=0), 1.0)
    B = rng.normal(size=(2, frame.width))
    assert_allclose(Z @ B.T, frame.activations(kind(X), B), atol=1e-9)
    W, w0 = frame.in_user_units(B)
    assert_allclose(X @ W.T + w0, frame.activations(kind(X), B), atol=1e-6)


def test_a_constant_column_has_no_coordinate_beside_an_intercept():
    X = np.array([[5.0, 1.0], [5.0, 2.0]])
    assert_array_equal(frame_of(X).rows(X).toarray(), [[0.0, -1.0, 1.0], [0.0, 1.0, 1.0]])
    assert_array_equal(frame_of(X, fit_intercept=False).rows(X).toarray(), [[1.0, 0.5], [1.0, 1.0]])


def test_the_tolerance_grows_with_the_rounding_of_offsets_up_to_a_limit():
    X = np.array([[0.0], [1.0]])
    tolerances = [frame_of(X + shift).tolerance for shift in (0.0, 1e7, 1e9, 1e12, 1e15)]
    assert tolerances == sorted(tolerances)
    assert tolerances[0] == pytest.approx(1e-9, rel=1e-5)
    assert tolerances[-1] <= 1.01e-6


def test_a_survey_leaves_out_rows_of_weight_zero():
    X, t = np.array([[1.0], [2.0], [99.0]]), np.array([0, 1, 1])
    found = as_source(X, t, np.array([1.0, 3.0, 0.0])).reduce(lambda b: survey(b, 2))
    assert (found.extent.low[0], found.extent.high[0]) == (1.0, 2.0)
    assert_array_equal(found.moments.mean[:, 0], [1.0, 2.0])
    nothing = survey(Block(X[2:], t[2:], np.zeros(1), range(1)), 2)
    assert_array_equal((nothing + found).extent.high, found.extent.high)
