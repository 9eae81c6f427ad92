import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, multivariate_t

from separatrix.generative.covariance import DenseCovariance
from separatrix.generative.normal_classes import NormalClasses


@pytest.fixture
def problem(rng):
    A = rng.normal(size=(2, 3, 3))
    return rng.normal(size=(2, 3)), A @ A.transpose(0, 2, 1) + np.eye(3), rng.normal(size=(20, 3))


@pytest.mark.parametrize("shared", [True, False])
def test_densities_are_scipys(problem, shared):
    mean, Sigma, X = problem
    covariances = tuple(map(DenseCovariance, Sigma[:1] if shared else Sigma))
    S = Sigma[[0, 0]] if shared else Sigma
    normal = NormalClasses(mean, covariances, np.full(2, np.inf), np.ones(2))
    student = NormalClasses(mean, covariances, np.array([3.0, 8.0]), np.array([1.5, 2.0]))
    for k in (0, 1):
        assert_allclose(normal.log_density(X)[:, k], multivariate_normal(mean[k], S[k]).logpdf(X), rtol=1e-9)
        t = multivariate_t(mean[k], student.widening[k] * S[k], df=student.freedom[k])
        assert_allclose(student.log_density(X)[:, k], t.logpdf(X), rtol=1e-9)


def test_gaps_are_marginalised_also_for_student_t(problem):
    mean, Sigma, X = problem
    student = NormalClasses(mean, tuple(map(DenseCovariance, Sigma)), np.full(2, 4.0), np.full(2, 1.5))
    X = X.copy()
    X[:, 1] = np.nan
    t = multivariate_t(mean[0, [0, 2]], 1.5 * Sigma[0][np.ix_([0, 2], [0, 2])], df=4.0)
    assert_allclose(student.log_density(X)[:, 0], t.logpdf(X[:, [0, 2]]), rtol=1e-9)


def test_draws_of_a_student_t_have_its_covariance(problem, rng):
    mean, Sigma, _ = problem
    student = NormalClasses(mean, tuple(map(DenseCovariance, Sigma)), np.full(2, 12.0), np.full(2, 1.5))
    draws = student.draw(1, 100_000, rng)
    assert_allclose(np.cov(draws.T), 12 / 10 * 1.5 * Sigma[1], rtol=0.1, atol=0.1)
    assert_allclose(draws.mean(axis=0), mean[1], atol=0.05)
