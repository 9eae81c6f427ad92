"""Targets, trials, weights and offsets: what counts as a row, and what as an observation."""

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning

from separatrix.discriminative.targets import Targets, check_offset, open_targets
from separatrix.likelihoods.glm import mean_likelihood

BINOMIAL = mean_likelihood("binomial")


def test_shares_with_trials_are_successes_and_failures():
    shares = open_targets([0.25, 1.0, 0.0], BINOMIAL, 3, sample_weight=[4, 2, 0])
    counts = open_targets([[1, 3], [2, 0], [0, 0]], BINOMIAL, 3)
    for targets in (shares, counts):
        np.testing.assert_array_equal(targets.t, [0.25, 1.0, 0.0])
        np.testing.assert_array_equal(targets.weight, [4, 2, 0])
        assert targets.n_observations == 2.0
        assert targets.mean == pytest.approx(0.5)


def test_weights_of_counts_are_observations():
    targets = open_targets([1.0, 2.0], mean_likelihood("poisson"), 2, sample_weight=[3, 0.5])
    assert targets.n_observations == 3.5
    assert targets.sum(np.array([1.0, 10.0])) == targets.weighted_sum(np.array([1.0, 10.0])) == 8.0


def test_repeated_trials_weigh_as_often_as_they_are_repeated():
    targets = open_targets([[1, 3], [2, 0]], BINOMIAL, 2, sample_weight=[2, 5])
    np.testing.assert_array_equal(targets.weight, [8, 10])
    assert targets.n_observations == 7.0


def test_zeros_and_ones_become_codes():
    bernoulli = mean_likelihood("bernoulli")
    assert open_targets([0, 1, 1], bernoulli, 3).t.dtype.kind == "i"
    assert open_targets([True, False], bernoulli, 2).t.dtype.kind == "i"
    assert open_targets([0, 0.5], bernoulli, 2).t.dtype.kind == "f"
    assert open_targets([0, 1], mean_likelihood("poisson"), 2).t.dtype.kind == "f"


def test_exposures_are_offsets_of_their_logarithm():
    targets = open_targets([1, 2], mean_likelihood("poisson"), 2, offset=[1.0, 2.0], exposure=[1.0, np.e])
    np.testing.assert_allclose(targets.offset, [1.0, 3.0])
    assert check_offset(None, 2) is None
    np.testing.assert_array_equal(check_offset(0.5, 2), [0.5, 0.5])


def test_a_column_of_targets_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning):
        assert open_targets([[1.0], [2.0]], mean_likelihood("gaussian"), 2).t.shape == (2,)


def test_nothing_given_is_once_each():
    targets = Targets(np.array([1.0, 3.0]))
    assert targets.weight is None
    assert (targets.n_observations, targets.mean) == (2.0, 2.0)
