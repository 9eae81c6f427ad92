"""Sums over pairs of rows, three ways; and what they do to evidence and variances that are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix.bayesian.ep.cumulants as cumulants
from exact import LIKELIHOODS, at_the_mode, on_a_grid, posed, two_weights
from separatrix.bayesian.ep.cumulants import is_affordable, pair_sums
from separatrix.bayesian.ep.fixed_point import expectation_propagation
from separatrix.bayesian.ep.sites import cavities, first_sites, posterior_of
from separatrix.bayesian.ep.tilted import tilted


def somewhere(objective):
    sites = first_sites(objective, 0.3 * np.ones(objective.shape[1]))
    return sites, posterior_of(sites, objective)


def plainly(objective, sites, q):
    """Both sums over pairs n ≠ m, in two loops."""
    block = objective.source._block(slice(0, objective.source.n_rows))
    out = cavities(block, sites, q, objective)
    skew = tilted(objective.likelihood, out.mu_out, out.var_out, block.t).skew
    u = -skew * out.var_out**3 / out.var**3
    psi = objective.design.regressors(block.X) @ q.factor.root
    cubes, squares = 0.0, np.zeros((psi.shape[1], psi.shape[1]))
    for n in range(len(u)):
        for m in range(len(u)):
            if n != m:
                cubes += u[n] * u[m] * (psi[n] @ psi[m]) ** 3
                squares += u[n] * u[m] * (psi[n] @ psi[m]) ** 2 * np.outer(psi[n], psi[m])
    return cubes, squares


@pytest.mark.parametrize("way", ["tensor", "pairs"])
def test_both_ways_are_the_sum_over_pairs(way, rng, monkeypatch):
    X, t = rng.normal(size=(30, 4)), rng.integers(2, size=30)
    objective = posed(X, t, scale=2.0, fit_intercept=True, rows=8)
    monkeypatch.setattr(cumulants, "_by_tensor", lambda N, P: way == "tensor")
    monkeypatch.setattr(cumulants, "_by_pairs", lambda N, P: way == "pairs")
    sites, q = somewhere(objective)
    found = pair_sums(objective, sites, q)
    cubes, squares = plainly(objective, sites, q)
    assert found.cubes == pytest.approx(cubes, rel=1e-9)
    assert_allclose(found.squares, squares, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("way", ["tensor", "pairs"])
def test_a_row_of_weight_three_is_three_rows_that_pair_with_each_other(way, rng, monkeypatch):
    X, t, count = rng.normal(size=(12, 2)), rng.integers(2, size=12), rng.integers(1, 4, size=12)
    each = np.repeat(np.arange(12), count)
    weighted, repeated = posed(X, t, weight=count.astype(float)), posed(X[each], t[each])
    monkeypatch.setattr(cumulants, "_by_tensor", lambda N, P: way == "tensor")
    monkeypatch.setattr(cumulants, "_by_pairs", lambda N, P: way == "pairs")
    a, b = (pair_sums(objective, *somewhere(objective)) for objective in (weighted, repeated))
    assert a.cubes == pytest.approx(b.cubes, rel=1e-9)
    assert_allclose(a.squares, b.squares, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("seed", [1, 2])
def test_evidence_and_variances_come_nearer_to_the_truth(name, seed):
    objective, X, t = two_weights(name, seed=seed)
    exact, laplace = on_a_grid(objective, X, t, 2.0), at_the_mode(objective)
    plain = expectation_propagation(objective, laplace, tol=1e-8, corrected=False)
    corrected = expectation_propagation(objective, laplace, tol=1e-8)

    def errors(approximation):
        sd = approximation.std[0] / np.sqrt(np.diag(exact.covariance))
        return abs(approximation.log_evidence - exact.log_evidence), np.abs(sd - 1).max()

    assert all(after < 0.5 * before for before, after in zip(errors(plain), errors(corrected), strict=True))


def test_the_gaussian_that_predicts_stays():
    objective, X, _ = two_weights()
    laplace = at_the_mode(objective)
    plain = expectation_propagation(objective, laplace, corrected=False)
    corrected = expectation_propagation(objective, laplace)
    before, after = (a.activations(X, objective.design) for a in (plain, corrected))
    assert (before.mean == after.mean).all()
    assert (before.cov == after.cov).all()
    assert (corrected.std > plain.std).all()


def test_a_correction_that_says_too_much_is_left_out(monkeypatch):
    objective, _, _ = two_weights()
    laplace = at_the_mode(objective)
    monkeypatch.setattr(cumulants, "LARGEST", 1e-9)
    found = expectation_propagation(objective, laplace)
    assert found.moments is None
    assert found.log_evidence == expectation_propagation(objective, laplace, corrected=False).log_evidence


def test_rows_without_number_and_columns_without_number_are_not_affordable():
    assert is_affordable(1000, 50)
    assert is_affordable(800, 801)
    assert not is_affordable(10**6, 300)
    assert not is_affordable(10**4, 10**4)
