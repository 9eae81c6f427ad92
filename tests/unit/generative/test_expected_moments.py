import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.exceptions import DataError
from separatrix.generative.covariance import DenseCovariance
from separatrix.generative.expected_moments import available, expected, first_look, require_values, uncorrelated
from separatrix.generative.normal_classes import NormalClasses
from separatrix.rows import Block
from separatrix.stats import ClassScatter, PooledScatter, class_moments


def block(X, t):
    return Block(X, np.asarray(t), None, range(len(X)))


def test_the_first_look_says_whether_em_is_needed(rng):
    X, t = rng.normal(size=(9, 2)), np.arange(9) % 2
    assert first_look(block(X, t), 2, PooledScatter).is_whole
    assert not first_look(block(X, np.where(t, -1, 0)), 2, PooledScatter).is_whole
    X[3, 1] = np.nan
    assert not first_look(block(X, t), 2, PooledScatter).is_whole


@pytest.mark.parametrize("scatter", [PooledScatter, ClassScatter])
def test_complete_labelled_rows_are_their_own_expectation(scatter, rng):
    X, t = rng.normal(size=(30, 3)), np.arange(30) % 2
    classes = NormalClasses(rng.normal(size=(2, 3)), (DenseCovariance(np.eye(3)),), np.full(2, np.inf), np.ones(2))
    found = expected(block(X, t), (classes, np.log([0.5, 0.5])), scatter).facts
    plain = class_moments(block(X, t), 2, scatter)
    assert_allclose(found.mean, plain.mean)


def test_expected_moments_are_those_of_many_completions(rng):
    """Gaps drawn from their conditional distribution, labels from their posterior: the average is the expectation."""
    mean, Sigma = np.array([[0.0, 0.0], [2.0, 1.0]]), np.array([[1.0, 0.6], [0.6, 1.0]])
    classes = NormalClasses(mean, (DenseCovariance(Sigma),), np.full(2, np.inf), np.ones(2))
    X, t = np.array([[1.0, np.nan], [0.5, 0.2]]), np.array([1, -1])
    found = expected(block(X, t), (classes, np.log([0.5, 0.5])), ClassScatter).facts
    joint = classes.log_density(X[1:])[0]
    p = np.exp(joint - np.logaddexp(*joint))
    assert_allclose(found.count, [p[0], 1 + p[1]], rtol=1e-9)
    draws = mean[1, 1] + 0.6 * (1.0 - mean[1, 0]) + np.sqrt(1 - 0.36) * rng.normal(size=200_000)
    rows = np.column_stack([np.ones_like(draws), draws])
    second = rows.T @ rows / len(draws) + p[1] * np.outer(X[1], X[1])
    m = found.mean[1]
    assert_allclose(found.scatter.matrices[1] + found.count[1] * np.outer(m, m), second, rtol=0.02)


def test_em_starts_from_what_is_there(rng):
    X, t = rng.normal(size=(40, 3)), np.arange(40) % 2
    X[rng.random(X.shape) < 0.3] = np.nan
    start = available(block(X, t), 2)
    for scatter in (PooledScatter, ClassScatter):
        moments = uncorrelated(start, scatter)
        assert_allclose(moments.mean[1], np.nanmean(X[t == 1], axis=0), rtol=1e-9)
    assert_allclose(np.diag(moments.scatter.matrices[0]) / moments.count[0], np.nanvar(X[t == 0], axis=0), rtol=1e-9)
    X[:, 2] = np.nan
    with pytest.raises(DataError, match="Column 'c' has no value in any class"):
        require_values(available(block(X, t), 2), ("a", "b", "c"), np.array([0, 1]))
