"""Expectation propagation is exact for rows that share no weight, and agrees with grids and quadrature."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

import separatrix as sx
from exact import LIKELIHOODS, at_the_mode, on_a_grid, posed, two_weights
from separatrix.bayesian import ep, joint
from separatrix.bayesian.ep import (
    Iterate,
    cavities,
    combine_sites,
    expectation_propagation,
    laplace_sites,
    pair_sums,
    posterior_of,
    tilted,
)
from separatrix.bayesian.logistic_normal import log_averages, log_odds, sigmoid_derivatives
from separatrix.bayesian.variational import variational
from separatrix.likelihoods import LabelNoise, Logit, Probit

TILTED = {"logit": Logit(), "probit": Probit(), "label_noise": LabelNoise(0.1, 0.02)}


#: Mean and variance of the Gaussian: narrow and wide, on the side of the label, on the other side, and far out on it.
CASES = [(0.0, 0.01), (0.0, 1.0), (2.0, 4.0), (-2.0, 4.0), (-10.0, 1.0), (-30.0, 25.0), (5.0, 100.0), (-3.0, 1e-6)]


def tilted_on_a_grid(log_p, mu, v):
    """Return ln Z and its derivatives from mean, variance and third cumulant, by the trapezium rule."""
    s = np.sqrt(v)
    a = np.linspace(mu - v - 12 * s, mu + v + 12 * s, 200_001)
    log_f = log_p(a) - 0.5 * (a - mu) ** 2 / v - 0.5 * np.log(2 * np.pi * v)
    f = np.exp(log_f - log_f.max())
    Z = f.sum()
    mean = f @ a / Z
    var, third = (f @ (a - mean) ** j / Z for j in (2, 3))
    log_z = log_f.max() + np.log(Z * (a[1] - a[0]))
    return np.array([log_z, (mean - mu) / v, (v - var) / v**2, -third / v**3])


def one(likelihood, mu, v, t, power=None):
    found = tilted(likelihood, np.array([mu]), np.array([v]), np.array([t]), power=power)
    return np.array([part[0] for part in found])


@pytest.mark.parametrize(("mu", "v"), CASES)
@pytest.mark.parametrize("name", TILTED)
@pytest.mark.parametrize("t", [0, 1])
def test_closed_forms_of_tilted_moments_equal_the_integrals(name, mu, v, t):
    likelihood = TILTED[name]
    found = one(likelihood, mu, v, t)
    expected = tilted_on_a_grid(lambda a: likelihood.derivatives(a, np.full(len(a), t)).log_p, mu, v)
    unit = np.array([1.0, v**0.5, v, v**1.5])  # makes derivatives dimensionless, in standard deviations of the Gaussian
    assert_allclose(found * unit, expected * unit, rtol=1e-9, atol=1e-8)


def test_the_trapezoid_rule_equals_the_alternating_sums():
    m, s = (each.ravel() for each in np.meshgrid([0, 1e-3, 0.3, 1, 3, 10, 40, 900], [0, 0.1, 0.5, 0.64, 0.8, 2, 7.9]))
    log_q, log_c, *_ = sigmoid_derivatives(m, s)
    exact = log_averages(m, s)
    assert_allclose(log_q, exact.log_probability, rtol=1e-13, atol=1e-13)
    assert_allclose(log_c, exact.log_curvature, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("s", [79.0, 81.0, 500.0, 2007.0])
def test_averages_over_very_wide_activations_do_not_overflow(s):
    m, s = np.array([0.0, 3.0, 3.0 * s]), np.full(3, s)
    found, exact = sigmoid_derivatives(m, s), log_averages(m, s)
    assert np.isfinite(found).all()
    assert_allclose(found[:2], [exact.log_probability, exact.log_curvature], rtol=1e-11)


@pytest.mark.parametrize(("v", "power"), [(1.0, 0.5), (1e10, 1e-3), (1e8, 1.0), (5e16, 1e-8)])
def test_quadrature_finds_a_tilted_density_far_narrower_than_the_gaussian(v, power):
    found = one(Probit(), 0.0, v, 0.3, power=np.array([power]))
    spread = 30.0 / np.sqrt(1.0 / v + power)
    a = np.linspace(-spread, spread, 200_001)
    log_f = power * Probit().derivatives(a, np.full(len(a), 0.3)).log_p - 0.5 * a**2 / v
    f = np.exp(log_f - log_f.max())
    mean = f @ a / f.sum()
    std = np.sqrt(f @ (a - mean) ** 2 / f.sum())
    log_z = log_f.max() + np.log(f.sum() * (a[1] - a[0])) - 0.5 * np.log(2 * np.pi * v)
    assert found[0] == pytest.approx(log_z, abs=0.03)  # the curvature jumps at 0, so 40 nodes give two digits
    assert found[1] * v == pytest.approx(mean, abs=0.03 * std)


def test_a_tilted_density_that_quadrature_cannot_resolve_costs_other_rows_nothing_and_is_skipped():
    sizes = []

    class Counted(Probit):
        def derivatives(self, a, t):
            sizes.append(len(a))
            return super().derivatives(a, t)

    var = np.append(np.logspace(-2, 2, 100), 1e60)
    found = tilted(Counted(), np.zeros(101), var, np.full(101, 0.3))
    assert np.flatnonzero(np.isnan(found.curvature)).tolist() == [100]
    assert sizes.count(101) == 6 * 40
    assert set(sizes) == {101, 1}
    objective = posed(np.sqrt(var)[:, None], np.full(101, 0.3), likelihood=Probit())
    sites = objective.source.reduce(partial(laplace_sites, mean=np.zeros(1), objective=objective)).sites
    none = combine_sites([sites], np.zeros(1))  # all cavities are the prior
    assert Iterate.of(objective, none, posterior_of(none, objective)).result.skipped == 1


@pytest.mark.parametrize("name", TILTED)
def test_tilted_moments_of_a_point_mass_are_derivatives_of_the_likelihood(name, rng):
    likelihood, a, t = TILTED[name], rng.normal(size=50, scale=5), rng.integers(2, size=50)
    found = tilted(likelihood, a, np.full(50, 1e-14), t)
    for part, expected in zip(found, (*likelihood.derivatives(a, t), likelihood.skew(a, t)), strict=True):
        assert_allclose(part, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", ["logit", "probit"])
@given(mu=st.floats(-40, 40), v=st.floats(1e-6, 500), t=st.sampled_from([0, 1]))
@settings(max_examples=40)
def test_a_log_concave_likelihood_reduces_the_variance_and_moves_the_mean_to_its_label(name, mu, v, t):
    log_z, slope, curvature, _ = one(TILTED[name], mu, v, t)
    assert log_z <= 0
    assert (2 * t - 1) * slope >= 0
    assert -1e-9 <= curvature * v <= 1 + 1e-9


def test_the_normaliser_is_the_predictive_probability(rng):
    mu, v = rng.normal(size=200, scale=4), rng.gamma(1.0, 9.0, size=200)
    up, down = (tilted(Logit(), mu, v, np.full(200, t)).log_z for t in (1, 0))
    assert_allclose(up - down, log_odds(mu, v), rtol=1e-8, atol=1e-9)


def sites_at(objective, mean):
    return objective.source.reduce(partial(laplace_sites, mean=mean, objective=objective)).sites


def test_a_row_whose_cavity_is_not_a_density_is_skipped():
    objective, _, _ = two_weights()
    sites = sites_at(objective, np.zeros(2))
    q = posterior_of(sites, objective)
    tau = sites.tau.copy()
    tau[3] = 1e6  # more than the precision of its activation
    found = Iterate.of(objective, replace(sites, tau=tau), q).result
    assert found.skipped == 1
    assert found.sites.tau[3] == 1e6
    assert (found.sites.tau[np.arange(25) != 3] < 10).all()


def fixed_point(objective, **options):
    found = expectation_propagation(objective, at_the_mode(objective), **{"tol": 1e-9, "max_sweeps": 400} | options)
    assert found.is_converged
    return found


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_one_row_is_exact(name):
    X, t = np.array([[2.0, -1.0]]), np.array([1])
    found = fixed_point(posed(X, t, scale=1.5, likelihood=LIKELIHOODS[name]))
    prior_var = np.array([1.5**2 * 5.0])
    log_z, slope, curvature, _ = tilted(LIKELIHOODS[name], np.zeros(1), prior_var, t)
    gain = 1.5**2 * X[0]
    assert found.log_evidence == pytest.approx(log_z[0], abs=1e-10)
    assert_allclose(found.mean[0], gain * slope[0], atol=1e-8)
    assert_allclose(found.covariance, 1.5**2 * np.eye(2) - curvature[0] * np.outer(gain, gain), atol=1e-8)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_rows_that_share_no_weight_are_exact(name, rng):
    X, t = np.diag(rng.normal(size=6, scale=3)), rng.integers(2, size=6)
    found = fixed_point(posed(X, t, scale=2.0, likelihood=LIKELIHOODS[name]))
    log_z, slope, curvature, _ = tilted(LIKELIHOODS[name], np.zeros(6), 4 * np.diag(X) ** 2, t)
    assert found.log_evidence == pytest.approx(log_z.sum(), abs=1e-8)
    assert_allclose(found.mean[0], 4 * np.diag(X) * slope, atol=1e-7)
    assert_allclose(np.diag(found.covariance), 4 - (4 * np.diag(X)) ** 2 * curvature, atol=1e-7)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_expectation_propagation_is_nearer_to_the_posterior_than_laplace(name):
    objective, X, t = two_weights(name)
    exact, laplace = on_a_grid(objective, X, t, 2.0), at_the_mode(objective)
    found = fixed_point(objective)
    sd = np.sqrt(np.diag(exact.covariance))

    def errors(approximation):
        mean = np.abs((approximation.mean[0] - exact.mean) / sd).max()
        return mean, np.abs(approximation.std[0] / sd - 1).max(), abs(approximation.log_evidence - exact.log_evidence)

    assert all(better < 0.2 * worse for better, worse in zip(errors(found), errors(laplace), strict=True))


def test_a_row_of_weight_k_equals_k_rows(rng):
    X, t, weight = rng.normal(size=(20, 3)), rng.integers(2, size=20), rng.integers(0, 4, size=20).astype(float)
    weight[0] = 3.0
    repeated = np.repeat(np.arange(20), weight.astype(int))
    weighted = fixed_point(posed(X, t, weight=weight, fit_intercept=True))
    plain = fixed_point(posed(X[repeated], t[repeated], fit_intercept=True))
    assert_allclose(weighted.mean, plain.mean, atol=1e-6)
    assert_allclose(weighted.covariance, plain.covariance, atol=1e-6)
    assert weighted.log_evidence == pytest.approx(plain.log_evidence, abs=1e-7)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_row_of_weight_below_one_has_a_power_of_its_likelihood(name):
    _, X, t = two_weights(name)
    weight = np.linspace(0.1, 1.0, 25)
    objective = posed(X, t, scale=1.0, weight=weight, likelihood=LIKELIHOODS[name])
    exact, found = on_a_grid(objective, X, t, 1.0, weight=weight), fixed_point(objective)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)
    assert_allclose(found.mean[0], exact.mean, atol=0.02)
    assert_allclose(found.covariance, exact.covariance, atol=0.02)


@pytest.mark.parametrize("method", [partial(expectation_propagation, max_sweeps=400), variational])
def test_an_offset_equals_a_shift_of_the_prior_mean(method, rng):
    X, t, d = rng.normal(size=(25, 3)), rng.integers(2, size=25), np.array([0.5, -1.0, 0.2])
    objectives = posed(X, t, offset=X @ d), posed(X, t, mean=d)
    offset, moved = (method(objective, at_the_mode(objective), tol=1e-9) for objective in objectives)
    assert_allclose(offset.mean + d, moved.mean, atol=1e-7)
    assert_allclose(offset.covariance, moved.covariance, atol=1e-7)
    assert offset.log_evidence == pytest.approx(moved.log_evidence, abs=1e-8)
    assert offset.log_likelihood == pytest.approx(moved.log_likelihood, abs=1e-6)


def test_a_target_of_one_half_equals_both_labels_with_weight_one_half():
    _, X, t = two_weights()
    soft = t.astype(float)
    soft[:10] = 0.5
    objective = posed(X, soft, scale=2.0)
    exact, found = on_a_grid(objective, X, soft, 2.0), fixed_point(objective)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)
    assert_allclose(found.mean[0], exact.mean, atol=0.02)


def test_sparse_and_dense_rows_agree(rng):
    X, t = rng.normal(size=(40, 4)) * (rng.random((40, 4)) < 0.4), rng.integers(2, size=40)
    dense, stored = (fixed_point(posed(rows, t, fit_intercept=True)) for rows in (X, sparse.csr_array(X)))
    assert_allclose(stored.mean, dense.mean, atol=1e-7)
    assert stored.log_evidence == pytest.approx(dense.log_evidence, abs=1e-7)


def test_a_skewed_posterior_takes_few_sweeps(rng):
    X = np.column_stack([rng.normal(size=(300, 2)), np.arange(300) < 6]).astype(float)
    t = (rng.random(300) < 0.3).astype(int)
    t[:6] = 1  # the rows of a rare column all have one class, so only the prior bounds its weight
    objective = posed(X, t, scale=10.0, fit_intercept=True)
    found = expectation_propagation(objective, at_the_mode(objective))
    assert found.is_converged
    assert found.steps <= 15


@pytest.mark.parametrize(("method", "limit"), [(expectation_propagation, "max_sweeps"), (variational, "max_steps")])
def test_the_limit_of_steps_is_reported(method, limit):
    objective, _, _ = two_weights()
    found = method(objective, at_the_mode(objective), tol=1e-12, **{limit: 2})
    assert not found.is_converged
    assert 2 <= found.steps <= 3  # L-BFGS ends with a whole step


def sum_over_pairs(objective):
    """Return the sum over pairs of rows at the sites of some weights."""
    sites = sites_at(objective, 0.3 * np.ones(objective.shape[1]))
    q = posterior_of(sites, objective)
    return pair_sums(objective, Iterate.of(objective, sites, q).result, q)


def test_the_sum_over_pairs_is_that_of_all_pairs(rng):
    X, t = rng.normal(size=(30, 4)), rng.integers(2, size=30)
    objective = posed(X, t, scale=2.0, fit_intercept=True, rows=8)
    sites = sites_at(objective, 0.3 * np.ones(objective.shape[1]))
    q, block = posterior_of(sites, objective), objective.source.as_block()
    out = cavities(block, sites, q, objective)
    skew = tilted(objective.likelihood, out.mu_out, out.var_out, block.t).skew
    u = -skew * out.var_out**3 / out.var**3
    psi = objective.design.regressors(block.X) @ q.factor.root
    squares = np.zeros((psi.shape[1], psi.shape[1]))
    for n, m in itertools.permutations(range(len(u)), 2):
        squares += u[n] * u[m] * (psi[n] @ psi[m]) ** 2 * np.outer(psi[n], psi[m])
    assert_allclose(sum_over_pairs(objective), squares, rtol=1e-9, atol=1e-12)


def test_a_sample_of_skewed_rows_estimates_the_sum_over_pairs(rng, monkeypatch):
    """Rows have very different variances, so that some are in the sample for certain."""
    X, t = rng.normal(size=(4000, 3)) * rng.exponential(size=(4000, 1)), rng.integers(2, size=4000)
    objective = posed(X, t, scale=2.0, fit_intercept=True, weight=rng.integers(4, size=4000).astype(float))
    estimate = sum_over_pairs(objective)
    monkeypatch.setattr(ep, "MIN_SAMPLED_ROWS", 4000)
    exact = sum_over_pairs(objective)
    assert not (estimate == exact).all()
    assert_allclose(estimate, exact, atol=0.05 * np.abs(exact).max())


@pytest.mark.parametrize("n_columns", [2, 30])
def test_rows_that_are_not_skewed_have_no_pairs(n_columns):
    """Both labels at the origin: the tilted densities are symmetric, and the evidence is that of two fair coins."""
    objective = posed(np.zeros((2, n_columns)), np.arange(2))
    found = expectation_propagation(objective, at_the_mode(objective))
    assert_allclose(found.std[0], 1 / np.sqrt(objective.prior.precision))
    assert found.log_evidence == pytest.approx(2 * np.log(0.5))


def test_pairs_of_a_repeated_row_are_those_of_its_weight(rng):
    X, t, weight = rng.normal(size=(40, 3)), rng.integers(2, size=40), rng.integers(4, size=40)
    repeated = posed(np.repeat(X, weight, axis=0), np.repeat(t, weight))
    weighted = posed(X, t, weight=weight.astype(float))
    a, b = (sum_over_pairs(each) for each in (repeated, weighted))
    assert_allclose(a, b, atol=1e-10 * np.abs(b).max())


@given(size=st.lists(st.integers(0, 10**6), min_size=1, max_size=60), wanted=st.integers(1, 20))
def test_a_sample_has_the_expected_number_of_rows(size, wanted):
    size = np.array(size, dtype=float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ep, "MIN_SAMPLED_ROWS", wanted)
        p = ep.sampling_probability(size)
    assert (p <= 1).all()
    assert ((p > 0) == (size > 0)).all()
    at_least = min(wanted, int((size > 0).sum()))
    assert p.sum() >= at_least * (1 - 1e-9)
    free = (p < 1) & (p > 0)
    assert_allclose(p[free] * size[free].max(initial=0.0), size[free] * p[free].max(initial=0.0), rtol=1e-9)


@pytest.mark.parametrize("var", [0.0, 1e-200, 1e-9])
def test_the_tilted_density_of_a_certain_activation_has_the_derivatives_of_the_likelihood(var):
    mu, t, power = np.array([-1.0, 0.3, 2.0]), np.array([0, 1, 1]), np.array([0.5, 0.2, 0.9])
    found, exact = tilted(Probit(), mu, np.full(3, var), t, power=power), Probit().derivatives(mu, t)
    assert_allclose(found[:3], power * np.array(exact), rtol=1e-5)


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_correction_halves_the_errors_of_evidence_and_variances(name, seed):
    objective, X, t = two_weights(name, seed=seed)
    exact, laplace = on_a_grid(objective, X, t, 2.0), at_the_mode(objective)
    plain = expectation_propagation(objective, laplace, tol=1e-8, corrected=False)
    corrected = expectation_propagation(objective, laplace, tol=1e-8)

    def errors(approximation):
        sd = approximation.std[0] / np.sqrt(np.diag(exact.covariance))
        return abs(approximation.log_evidence - exact.log_evidence), np.abs(sd - 1).max()

    assert all(after < 0.5 * before for before, after in zip(errors(plain), errors(corrected), strict=True))


def test_sweeps_of_a_search_predict_the_next_step_and_may_be_in_single_precision(monkeypatch):
    """The Gaussian of a search is nearer to the fixed point than its tolerance, so that the gradient is accurate."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 12))
    objective = posed(X, (X[:, 0] * 3 + rng.logistic(size=150) > 0).astype(int))
    start = at_the_mode(objective)
    exact = expectation_propagation(objective, start, tol=1e-9, corrected=False)
    monkeypatch.setattr(ep, "MAX_DOUBLE_PRODUCTS", 0)
    for single in (False, True):
        memory = []
        rough = expectation_propagation(objective, start, tol=0.3, corrected=False, single=single, memory=memory)
        last = expectation_propagation(objective, start, tol=0.3, corrected=False)
        distances = [np.sqrt(exact.factor.square(each.mean - exact.mean)) for each in (rough, last)]
        assert 1.5 * distances[0] < distances[1] < 0.3
        errors = [abs(each.log_evidence - exact.log_evidence) for each in (rough, last)]
        assert errors[0] < 0.7 * errors[1] < 0.05  # the divergence of the next step is added to the evidence
        again = expectation_propagation(objective, start, tol=1e-9, corrected=False, memory=memory)
        assert_allclose(again.mean, exact.mean, atol=1e-8)


def test_the_correction_does_not_change_predictions():
    objective, X, _ = two_weights()
    laplace = at_the_mode(objective)
    plain = expectation_propagation(objective, laplace, corrected=False)
    corrected = expectation_propagation(objective, laplace)
    before, after = (a.activations(X, objective.design) for a in (plain, corrected))
    assert (before.mean == after.mean).all()
    assert (before.cov == after.cov).all()
    assert (corrected.std > plain.std).all()


@pytest.mark.slow
def test_rough_fixed_points_find_the_scale_of_separable_classes(monkeypatch):
    """The gradient of the first fixed point decides where the search begins, so that it may not be too rough."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3600, 53))
    t = (X @ rng.normal(size=53) * 60 + rng.logistic(size=3600) > 0).astype(int)
    rough = sx.BayesianLogisticRegression(rng=0).fit(X, t)
    monkeypatch.setattr(joint, "ROUGH_EP_TOL_IN_STD", 0.02)
    exact = sx.BayesianLogisticRegression(rng=0).fit(X, t)
    assert rough.approximation_ == exact.approximation_ == "ep"
    assert rough.log_evidence_ == pytest.approx(exact.log_evidence_, abs=0.1)
    assert_allclose(rough.tuning_.factors, exact.tuning_.factors, rtol=0.15)
