import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

from separatrix._linalg import SingularError
from separatrix.generative.covariance import DenseCovariance, FactoredCovariance

M = 6


def both(rng):
    """The same matrix in its two forms, in awkward units."""
    units = np.geomspace(1e-5, 1e5, M)
    F, ridge = rng.normal(size=(3, M)) * units, (0.5 + rng.random(M)) * units**2
    return DenseCovariance(F.T @ F + np.diag(ridge)), FactoredCovariance(F, ridge), units


def test_determinant_solve_and_distance_are_those_of_the_matrix(rng):
    dense, factored, units = both(rng)
    B, X, mean = rng.normal(size=(M, 2)), rng.normal(size=(7, M)) * units, rng.normal(size=M) * units
    C = dense.matrix / np.outer(units, units)
    log_det = np.linalg.slogdet(C)[1] + 2 * np.log(units).sum()
    solution = np.linalg.solve(C, B / units[:, None]) / units[:, None]
    Z = (X - mean) / units
    squared = np.einsum("nm,nm->n", Z, np.linalg.solve(C, Z.T).T)
    for covariance in (dense, factored):
        assert covariance.log_det == pytest.approx(log_det, rel=1e-10)
        assert_allclose(covariance.solve(B), solution, rtol=1e-8)
        assert_allclose(covariance.squared_distance(X, mean), squared, rtol=1e-8)
        assert_allclose(covariance.squared_distance(sparse.csr_array(X), mean), squared, rtol=1e-8)
        assert_allclose(covariance.matrix, dense.matrix, rtol=1e-10)


def test_draws_have_the_covariance(rng):
    for covariance in both(rng)[:2]:
        draws = covariance.draw(20_000, rng)
        white = draws @ DenseCovariance(covariance.matrix).whitener
        assert stats.kstest(np.einsum("nm,nm->n", white, white), stats.chi2(M).cdf).pvalue > 1e-3
        assert_allclose(np.cov(white.T), np.eye(M), atol=0.05)


def test_a_singular_matrix_is_refused_at_first_use():
    with pytest.raises(SingularError):
        _ = DenseCovariance(np.ones((2, 2))).log_det
