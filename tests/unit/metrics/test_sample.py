import numpy as np
import pytest
from scipy import stats

from separatrix.exceptions import DataError
from separatrix.metrics import accuracy, log_likelihood, weighted_mean

P = [[0.5, 0.5], [0.2, 0.8]]


def test_without_weights_the_standard_error_is_that_of_a_mean(rng):
    v = rng.normal(size=50)
    m, se = weighted_mean(v)
    assert m == pytest.approx(v.mean(), rel=1e-14)
    assert se == pytest.approx(stats.sem(v), rel=1e-14)


def test_a_weight_of_k_is_the_row_k_times(rng):
    v, k = rng.normal(size=30), rng.integers(0, 4, size=30)
    assert weighted_mean(v, k) == pytest.approx(weighted_mean(np.repeat(v, k)), rel=1e-12)


def test_one_row_has_a_mean_and_no_standard_error():
    value, se = weighted_mean([3.0])
    assert value == 3.0
    assert np.isnan(se)


def test_minus_infinity_is_kept_and_has_no_standard_error():
    value, se = weighted_mean([-np.inf, 0.0, -1.0])
    assert value == -np.inf
    assert np.isnan(se)


def test_rows_of_weight_zero_are_not_there():
    assert log_likelihood([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]], [1, 0, 1], [0, 1, 1]) == log_likelihood(P, [0, 1])


@pytest.mark.parametrize(
    ("P", "codes", "weight", "message"),
    [
        ([0.2, 0.8], [0, 1], None, r"P has shape \(2,\).*column_stack"),
        ([[1.0], [1.0]], [0, 0], None, r"P has shape \(2, 1\)"),
        (np.empty((0, 2)), [], None, r"P has shape \(0, 2\)"),
        ([[0.5, 0.5], [0.3, 0.8]], [0, 1], None, r"1 of 2 rows .* the first is row 1"),
        ([[0.5, 0.5], [np.nan, 1.0]], [0, 1], None, r"the first is row 1: \[nan"),
        ([[-0.5, 1.5], [0.5, 0.5]], [0, 1], None, r"the first is row 0"),
        (P, [0, 2], None, r"codes\[1\] is 2, but P has 2 columns"),
        (P, [0, -1], None, r"codes\[1\] is -1"),
        (P, ["a", "b"], None, r"searchsorted\(model.classes_, y\)"),
        (P, [0.0, 1.0], None, r"type float64"),
        (P, [0], None, r"codes has shape \(1,\)"),
        (P, [0, 1], [1.0, -1.0], r"none negative"),
        (P, [0, 1], [0.0, 0.0], r"not all zero"),
        (P, [0, 1], [1.0], r"must be 2 finite numbers"),
        (P, [0, 1], [1.0, np.inf], r"finite"),
    ],
)
def test_what_cannot_be_judged_is_named(P, codes, weight, message):
    with pytest.raises(DataError, match=message):
        accuracy(P, codes, weight)
