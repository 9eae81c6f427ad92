"""Expectation propagation is exact where rows do not meet, and obeys the laws of posteriors elsewhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from exact import LIKELIHOODS, at_the_mode, on_a_grid, posed, two_weights
from separatrix.bayesian.ep import expectation_propagation, tilted
from separatrix.likelihoods import Logit, Softmax


def fit(objective, **options):
    found = expectation_propagation(objective, at_the_mode(objective), **{"tol": 1e-9, "max_sweeps": 400} | options)
    assert found.is_converged
    return found


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_one_row_is_exact(name):
    X, t = np.array([[2.0, -1.0]]), np.array([1])
    found = fit(posed(X, t, scale=1.5, likelihood=LIKELIHOODS[name]))
    prior_var = np.array([1.5**2 * 5.0])
    log_z, slope, curvature, _ = tilted(LIKELIHOODS[name], np.zeros(1), prior_var, t)
    gain = 1.5**2 * X[0]
    assert found.log_evidence == pytest.approx(log_z[0], abs=1e-10)
    assert_allclose(found.mean[0], gain * slope[0], atol=1e-8)
    assert_allclose(found.covariance, 1.5**2 * np.eye(2) - curvature[0] * np.outer(gain, gain), atol=1e-8)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_rows_that_share_no_weight_are_exact(name, rng):
    X, t = np.diag(rng.normal(size=6, scale=3)), rng.integers(2, size=6)
    found = fit(posed(X, t, scale=2.0, likelihood=LIKELIHOODS[name]))
    log_z, slope, curvature, _ = tilted(LIKELIHOODS[name], np.zeros(6), 4 * np.diag(X) ** 2, t)
    assert found.log_evidence == pytest.approx(log_z.sum(), abs=1e-8)
    assert_allclose(found.mean[0], 4 * np.diag(X) * slope, atol=1e-7)
    assert_allclose(np.diag(found.covariance), 4 - (4 * np.diag(X)) ** 2 * curvature, atol=1e-7)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_it_is_nearer_to_the_posterior_than_laplace(name):
    objective, X, t = two_weights(name)
    exact, laplace = on_a_grid(objective, X, t, 2.0), at_the_mode(objective)
    found = fit(objective)
    sd = np.sqrt(np.diag(exact.covariance))

    def errors(approximation):
        mean = np.abs((approximation.mean[0] - exact.mean) / sd).max()
        return mean, np.abs(approximation.std[0] / sd - 1).max(), abs(approximation.log_evidence - exact.log_evidence)

    assert all(better < 0.2 * worse for better, worse in zip(errors(found), errors(laplace), strict=True))


def test_a_row_of_weight_k_is_k_rows(rng):
    X, t, weight = rng.normal(size=(20, 3)), rng.integers(2, size=20), rng.integers(0, 4, size=20).astype(float)
    weight[0] = 3.0
    repeated = np.repeat(np.arange(20), weight.astype(int))
    # The bias stands about the weighted mean of the rows either way.
    weighted = fit(posed(X, t, weight=weight, fit_intercept=True))
    plain = fit(posed(X[repeated], t[repeated], fit_intercept=True))
    assert_allclose(weighted.mean, plain.mean, atol=1e-6)
    assert_allclose(weighted.covariance, plain.covariance, atol=1e-6)
    assert weighted.log_evidence == pytest.approx(plain.log_evidence, abs=1e-7)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_row_of_weight_below_one_is_a_power_of_its_likelihood(name):
    _, X, t = two_weights(name)
    weight = np.linspace(0.1, 1.0, 25)
    objective = posed(X, t, scale=1.0, weight=weight, likelihood=LIKELIHOODS[name])
    exact, found = on_a_grid(objective, X, t, 1.0, weight=weight), fit(objective)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)
    assert_allclose(found.mean[0], exact.mean, atol=0.02)
    assert_allclose(found.covariance, exact.covariance, atol=0.02)


def test_a_known_part_of_the_activation_is_a_prior_mean_moved(rng):
    X, t, d = rng.normal(size=(25, 3)), rng.integers(2, size=25), np.array([0.5, -1.0, 0.2])
    offset = fit(posed(X, t, offset=X @ d))
    moved = fit(posed(X, t, mean=d))
    assert_allclose(offset.mean + d, moved.mean, atol=1e-7)
    assert_allclose(offset.covariance, moved.covariance, atol=1e-7)
    assert offset.log_evidence == pytest.approx(moved.log_evidence, abs=1e-8)
    assert offset.log_likelihood == pytest.approx(moved.log_likelihood, abs=1e-6)


def test_exchanging_the_classes_turns_the_posterior_round(rng):
    X, t = rng.normal(size=(30, 3)), rng.integers(2, size=30)
    found, flipped = fit(posed(X, t)), fit(posed(X, 1 - t))
    assert_allclose(flipped.mean, -found.mean, atol=1e-7)
    assert flipped.log_evidence == pytest.approx(found.log_evidence, abs=1e-8)


def test_a_target_of_one_half_is_half_of_each_label():
    _, X, t = two_weights()
    soft = t.astype(float)
    soft[:10] = 0.5
    objective = posed(X, soft, scale=2.0)
    exact, found = on_a_grid(objective, X, soft, 2.0), fit(objective)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)
    assert_allclose(found.mean[0], exact.mean, atol=0.02)


def test_sparse_rows_are_dense_rows(rng):
    X, t = rng.normal(size=(40, 4)) * (rng.random((40, 4)) < 0.4), rng.integers(2, size=40)
    dense, stored = fit(posed(X, t, fit_intercept=True)), fit(posed(sparse.csr_array(X), t, fit_intercept=True))
    assert_allclose(stored.mean, dense.mean, atol=1e-7)
    assert stored.log_evidence == pytest.approx(dense.log_evidence, abs=1e-7)


def test_the_mean_does_not_depend_on_the_start(rng):
    objective, _, _ = two_weights("label_noise")
    laplace = at_the_mode(objective)
    far = laplace.__class__(laplace.mean + 3.0, laplace.factor, 0.0, 0.0, "far")
    found = expectation_propagation(objective, far, tol=1e-9, max_sweeps=400)
    assert_allclose(found.mean, fit(objective).mean, atol=1e-6)


def test_a_few_sweeps_are_enough_also_where_the_posterior_is_skewed(rng):
    X = np.column_stack([rng.normal(size=(300, 2)), np.arange(300) < 6]).astype(float)
    t = (rng.random(300) < 0.3).astype(int)
    t[:6] = 1  # a rare column, all of one class: nothing but the prior bounds its weight
    objective = posed(X, t, scale=10.0, fit_intercept=True)
    found = expectation_propagation(objective, at_the_mode(objective))
    assert found.is_converged
    assert found.steps <= 15


def test_the_limit_of_sweeps_is_said():
    objective, _, _ = two_weights()
    found = expectation_propagation(objective, at_the_mode(objective), tol=1e-12, max_sweeps=2)
    assert not found.is_converged
    assert found.steps == 2


def test_k_activations_are_refused_by_name(rng):
    objective = posed(rng.normal(size=(30, 2)), rng.integers(3, size=30), likelihood=Softmax(3))
    with pytest.raises(ValueError, match=r'one activation per row, and Softmax\(n_outputs=3\) has 3; use "laplace"'):
        expectation_propagation(objective, at_the_mode(objective))


@pytest.mark.parametrize(("option", "message"), [({"tol": 0.0}, "tol=0.0"), ({"max_sweeps": 0}, "max_sweeps=0")])
def test_options_that_make_no_sense_are_refused(option, message):
    objective, _, _ = two_weights()
    with pytest.raises(ValueError, match=message):
        expectation_propagation(objective, at_the_mode(objective), **option)


def test_a_flat_prior_has_a_posterior_and_no_evidence(rng):
    from separatrix.priors import Flat
    from separatrix.rows import as_source
    from separatrix.solvers import pose

    X = rng.normal(size=(80, 2))
    t = (X[:, 0] + rng.logistic(size=80) > 0).astype(int)
    objective = pose(as_source(X, t), Logit(), Flat(), fit_intercept=True)
    found = expectation_propagation(objective, at_the_mode(objective))
    assert found.is_converged
    assert found.log_evidence == -np.inf
