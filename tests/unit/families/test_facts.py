"""Facts against long-double sums written out; the laws of ``+`` are in tests/laws/test_families.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.families import FactsError, LevelCounts, LogMoments, Moments, Sums, VectorMoments
from separatrix.families.facts import one_hot

R = np.array([[1.0, 0.0], [0.25, 0.75], [0.0, 2.0], [0.5, 0.5], [3.0, 0.0]])


def test_sums_leave_missing_values_out():
    x = np.array([[1.0, np.nan], [2.0, 5.0], [np.nan, 7.0], [4.0, 0.0], [0.0, 1.0]])
    sums = Sums.of_columns(x, R, lambda x: np.stack([x, x**2], axis=-1), lambda x: x + 1)
    for k in range(2):
        for d in range(2):
            seen = ~np.isnan(x[:, d])
            v, r = x[seen, d], R[seen, k]
            assert_allclose(sums.count[k, d], r.sum())
            assert_allclose(sums.total_u[k, d], [r @ v, r @ v**2])
            assert_allclose(sums.log_h[k, d], r @ (v + 1))


@pytest.mark.parametrize("offset", [0.0, 1e7, -1e12])
def test_moments_do_not_depend_on_the_offset(rng, offset):
    x = np.round(rng.normal(size=(500, 3)), 3)  # so that the shifted values are nearly exact
    r = rng.random((500, 2))
    x[::7, 0] = np.nan
    exact = (x + offset).astype(np.longdouble)
    moments = Moments.of(x + offset, r)
    for k in range(2):
        for d in range(3):
            seen = ~np.isnan(x[:, d])
            v, w = exact[seen, d], r[seen, k].astype(np.longdouble)
            mean = (w @ v) / w.sum()
            assert_allclose(moments.mean[k, d], float(mean), rtol=1e-15, atol=1e-15)
            assert_allclose(moments.scatter[k, d], float(w @ (v - mean) ** 2), rtol=1e-12)


def test_a_constant_column_is_constant_at_any_offset_and_in_any_blocks():
    x = np.full((1000, 1), 0.1 + 1e9)
    r = np.ones((1000, 1))
    parts = [Moments.of(x[i : i + 7], r[i : i + 7]) for i in range(0, 1000, 7)]
    assert sum(parts[1:], start=parts[0]).is_constant.all()
    logs = [LogMoments.of(x[i : i + 7, :, None], r[i : i + 7]) for i in range(0, 1000, 7)]
    assert sum(logs[1:], start=logs[0]).is_constant.all()
    assert not Moments.of(x + [[0.0], [1e-6]] * 500, r).is_constant.any()


def test_vector_moments_are_the_weighted_covariance(rng):
    x, r = 1e6 + rng.normal(size=(50, 3)), rng.random((50, 2))
    moments = VectorMoments.of(x, r)
    for k in range(2):
        assert_allclose(moments.mean[k], np.average(x, axis=0, weights=r[:, k]), rtol=1e-15)
        expected = np.cov(x.T, aweights=r[:, k], ddof=0) * r[:, k].sum()
        assert_allclose(moments.scatter[k], expected, rtol=1e-8)


def test_log_gaps_keep_their_digits_where_values_hardly_vary(rng):
    x = 5.0 * (1 + 1e-7 * rng.normal(size=(400, 1)))  # gap 5e-15: ln(mean) - mean(ln x) has one digit of it
    gap = LogMoments.of(x[..., None], np.ones((400, 1))).mean_gap
    exact = x.astype(np.longdouble)
    delta = (exact - exact.mean()) / exact.mean()
    assert_allclose(gap.item(), float((delta**2 / 2 - delta**3 / 3).mean()), rtol=1e-8)


def test_total_log_is_the_sum_of_logs(rng):
    x, r = rng.gamma(0.3, size=(60, 2, 1)), rng.random((60, 3))
    facts = LogMoments.of(x, r)
    assert_allclose(facts.total_log[..., 0], r.T @ np.log(x[..., 0]), rtol=1e-12)


def test_level_counts_pad_to_the_larger():
    a = LevelCounts.of(np.array([[0.0, 1.0], [np.nan, 0.0]]), np.ones((2, 1)))
    b = LevelCounts.of(np.array([[3.0, 0.0]]), np.ones((1, 1)))
    assert_array_equal((a + b).counts, [[[1, 0, 0, 1], [2, 1, 0, 0]]])
    assert_array_equal((a + b).levels, [4, 2])
    assert_array_equal(LevelCounts.concatenate([a, b]).counts.shape, (2, 2, 4))


def test_one_hot_rows_are_sparse_and_missing_ones_empty():
    x = np.array([[0.0, 2.0], [np.nan, 9.0]])
    assert_array_equal(one_hot(x, 3).toarray(), [[1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1]])


def test_pooling_forgets_the_classes(rng):
    x = rng.normal(size=(40, 2))
    by_class = Moments.of(x, np.eye(3)[rng.integers(3, size=40)])
    whole = Moments.of(x, np.ones((40, 1)))
    for got, want in zip(by_class.pooled().arrays, whole.arrays, strict=True):
        assert_allclose(got, want, rtol=1e-12)


def test_nothing_seen_is_an_error_with_its_position():
    facts = Moments.of(np.array([[1.0, np.nan], [2.0, np.nan]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(FactsError) as caught:
        facts.require_some()
    assert caught.value.where == [(0, 1), (1, 0), (1, 1)]
    with pytest.raises(FactsError) as caught:
        facts.overall()
    assert caught.value.where == [(None, 1)]
