import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from separatrix.generative.missing import condition, patterns

M = 4


@pytest.fixture
def problem(rng):
    A = rng.normal(size=(M, M)) * np.array([1e-3, 1.0, 1e3, 1.0])[:, None]
    mean = rng.normal(size=M)
    X = rng.multivariate_normal(mean, A @ A.T, size=60)
    X[rng.random(X.shape) < 0.4] = np.nan
    return X, mean, A @ A.T


def test_the_marginal_is_the_density_of_the_columns_seen(problem):
    X, mean, Sigma = problem
    part = condition(X, mean, Sigma)
    log_density = -0.5 * (part.n_seen * np.log(2 * np.pi) + part.log_det + part.squared_distance)
    for x, got in zip(X, log_density, strict=True):
        o = ~np.isnan(x)
        unit = np.sqrt(np.diag(Sigma))[o]  # SciPy's own test of rank knows no units
        C = Sigma[np.ix_(o, o)] / np.outer(unit, unit)
        want = multivariate_normal(mean[o] / unit, C).logpdf(x[o] / unit) - np.log(unit).sum() if o.any() else 0.0
        assert got == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_rows_of_one_pattern_follow_each_other(rng):
    seen = rng.random((50, 11)) < 0.6
    seen[30:] = seen[:20]
    order, is_new = patterns(seen)
    assert sorted(order) == list(range(50))
    assert is_new.sum() == len(np.unique(seen, axis=0))
    for i in range(1, 50):
        assert is_new[i] == (seen[order[i]] != seen[order[i - 1]]).any()


def test_expected_rows_and_covariances_are_the_conditional_ones(problem, rng):
    X, mean, Sigma = problem
    weight = rng.random(len(X))
    done = condition(X, mean, Sigma, weight)
    total = np.zeros((M, M))
    for x, w, filled in zip(X, weight, done.X, strict=True):
        o, h = ~np.isnan(x), np.isnan(x)
        gain = np.linalg.solve(Sigma[np.ix_(o, o)], Sigma[np.ix_(o, h)]).T  # PRML (2.81)
        assert_allclose(filled[h], mean[h] + gain @ (x[o] - mean[o]), rtol=1e-7, atol=1e-9)
        assert_allclose(filled[o], x[o])
        total[np.ix_(h, h)] += w * (Sigma[np.ix_(h, h)] - gain @ Sigma[np.ix_(o, h)])  # (2.82)
    assert_allclose(done.covariance, total, rtol=1e-6, atol=1e-7 * np.abs(total).max())
