"""Sites: linear in what they add, Laplace to begin with, and moment matching where they stand still."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exact import LIKELIHOODS, at_the_mode, posed, two_weights
from separatrix.bayesian.ep import (
    Sites,
    cavities,
    expectation_propagation,
    first_sites,
    mixed,
    posterior_of,
    sweep,
    tilted,
)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_first_sites_make_the_laplace_approximation(name):
    objective, _, _ = two_weights(name)
    laplace = at_the_mode(objective)
    q = posterior_of(first_sites(objective, laplace.mean[0]), objective)
    assert_allclose(q.mean, laplace.mean[0], rtol=1e-6)
    assert_allclose(q.factor.matrix, laplace.factor.matrix, rtol=1e-8)


def test_precision_and_shift_are_sums_over_rows_of_the_sites(rng):
    X, t = rng.normal(size=(30, 3)), rng.integers(2, size=30)
    weight, offset = rng.gamma(2.0, size=30), rng.normal(size=30)
    objective = posed(X, t, weight=weight, offset=offset, fit_intercept=True, rows=7)
    sites = first_sites(objective, rng.normal(size=4))
    Phi = objective.design.regressors(X)
    assert_allclose(sites.precision, (Phi * (weight * sites.tau)[:, None]).T @ Phi, rtol=1e-10, atol=1e-12)
    assert_allclose(sites.shift, Phi.T @ (weight * (sites.nu - sites.tau * offset)), rtol=1e-10, atol=1e-12)


def test_a_mixture_of_sites_has_the_mixture_of_their_sums(rng):
    objective, X, _ = two_weights()
    points = [first_sites(objective, rng.normal(size=2)) for _ in range(3)]
    mixture = mixed(points, np.array([0.7, 0.5, -0.2]))
    Phi = objective.design.regressors(X)
    assert_allclose(mixture.precision, (Phi * mixture.tau[:, None]).T @ Phi, rtol=1e-10)
    assert_allclose(mixture.shift, Phi.T @ mixture.nu, rtol=1e-10, atol=1e-12)


def test_sites_that_leave_no_precision_have_no_posterior():
    objective, _, _ = two_weights()
    empty = Sites(np.zeros(25), np.zeros(25), np.zeros((2, 2)), np.zeros(2), np.ones(25))
    assert posterior_of(empty, objective).factor.matrix == pytest.approx(objective.prior.matrix())
    for negative in (np.diag([-1.0, 0.0]), np.array([[0.0, 9.0], [9.0, 0.0]])):
        assert posterior_of(replace(empty, precision=negative), objective) is None


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_taking_a_site_out_and_putting_the_likelihood_in_gives_back_the_moments_of_q_at_the_fixed_point(name):
    objective, _, t = two_weights(name)
    ep = expectation_propagation(objective, at_the_mode(objective), tol=1e-10, max_sweeps=300, corrected=False)
    assert ep.is_converged
    sites = _sites_of(objective, ep)
    q = posterior_of(sites, objective)
    block = objective.source._block(slice(0, 25))
    out = cavities(block, sites, q, objective)
    found = tilted(objective.likelihood, out.mu_out, out.var_out, t)
    assert_allclose(out.mu_out + out.var_out * found.slope, out.mu, atol=1e-7)
    assert_allclose(out.var_out - out.var_out**2 * found.curvature, out.var, rtol=1e-6)


def _sites_of(objective, ep):
    """Sites that sweeps from anywhere settle on, by plain damping."""
    sites = first_sites(objective, ep.mean[0])
    for _ in range(200):
        q = posterior_of(sites, objective)
        sites = mixed([sites, sweep(objective, sites, q).sites], np.array([0.5, 0.5]))
    return sites


def test_a_cavity_that_is_no_density_leaves_its_row_as_it_is():
    objective, _, _ = two_weights()
    sites = first_sites(objective, np.zeros(2))
    q = posterior_of(sites, objective)
    tau = sites.tau.copy()
    tau[3] = 1e6  # more than the whole precision of its activation
    found = sweep(objective, replace(sites, tau=tau), q)
    assert found.skipped == 1
    assert found.sites.tau[3] == 1e6
    assert (found.sites.tau[np.arange(25) != 3] < 10).all()


@pytest.mark.parametrize("rows", [1, 4, 25])
def test_a_sweep_does_not_depend_on_blocks(rows):
    objective, X, t = two_weights()
    sites = first_sites(objective, np.array([0.4, -0.1]))
    q = posterior_of(sites, objective)
    whole, parts = sweep(objective, sites, q), sweep(posed(X, t, scale=2.0, rows=rows), sites, q)
    assert_allclose(parts.sites.tau, whole.sites.tau, rtol=1e-12)
    assert_allclose(parts.precision, whole.precision, rtol=1e-10)
    assert parts.log_ratio == pytest.approx(whole.log_ratio, rel=1e-10)
