"""A parabola for a likelihood: exact where it is one, right to first order where it is not."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import blobs
from separatrix.bayesian.evidence import FitLaplace, laplace_slope, prior_scales
from separatrix.bayesian.tuning import Parabola, Surrogate
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers.posterior import pose


def posed(n_classes=2, n=300, scale=1.0):
    X, t = blobs(n=n, n_classes=n_classes)
    likelihood = Logit() if n_classes == 2 else Softmax(n_classes)
    prior = Gaussian(scale, mean=0.1, intercept_scale=5.0)
    return pose(as_source(X, t), likelihood, prior, fit_intercept=True, standardize=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_under_its_own_prior_a_parabola_is_the_fit_it_came_from(n_classes):
    objective = posed(n_classes)
    found = FitLaplace(1e-11).fit(objective, None)
    again = Parabola.of(found, objective.prior).under(objective.prior)
    assert_allclose(again.mean, found.mean, atol=1e-9)
    assert_allclose(again.factor.matrix, found.factor.matrix, rtol=1e-9, atol=1e-9)
    assert_allclose(again.log_evidence, found.log_evidence, rtol=1e-12)
    assert_allclose(again.log_likelihood, found.log_likelihood, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_evidence_of_a_parabola_is_a_gaussian_integral(n_classes):
    """ln ∫ e^(L0 + g'δ - ½ δ'Hδ) N(m + δ | m0, Λ⁻¹) dδ, with no mode in sight."""
    objective = posed(n_classes)
    found = FitLaplace(1e-11).fit(objective, None)
    parabola = Parabola.of(found, objective.prior)
    over = prior_scales(objective, "columns")
    prior = over.prior(np.array([0.5, -1.0, 0.2, 0.0]))
    H, Lambda, d = parabola.curvature, prior.matrix(), (found.mean - prior.mean).ravel()
    g = objective.prior.matrix() @ d
    A, b = H + Lambda, g - Lambda @ d
    expected = found.log_likelihood - 0.5 * d @ Lambda @ d + 0.5 * b @ np.linalg.solve(A, b)
    expected += 0.5 * np.linalg.slogdet(Lambda)[1] - 0.5 * np.linalg.slogdet(A)[1]
    assert_allclose(parabola.under(prior).log_evidence, expected, rtol=1e-12)


@pytest.mark.parametrize("groups", [None, "columns"])
def test_a_surrogate_has_the_value_and_the_gradients_it_was_told(groups):
    objective = posed(n=60)
    over = prior_scales(objective, groups)

    def at(eta):
        here = replace(objective, prior=over.prior(eta))
        found = FitLaplace(1e-11).fit(here, None)
        return eta, found, over.gradient(eta, laplace_slope(here, found))

    before, here = at(np.full(over.size, -0.8)), at(np.linspace(-0.2, 0.2, over.size))
    surrogate = Surrogate(over, *here, [(before[0], before[2])])
    value, gradient = surrogate.value_gradient(here[0])
    assert_allclose(value, here[1].log_evidence, rtol=1e-12)
    assert_allclose(gradient, here[2], atol=1e-9)
    assert_allclose(surrogate.value_gradient(before[0])[1], before[2], atol=1e-8)
    step = 1e-5 * np.eye(over.size)
    point = here[0] + 0.3
    change = [surrogate.value_gradient(point + e)[0] - surrogate.value_gradient(point - e)[0] for e in step]
    assert_allclose(surrogate.value_gradient(point)[1], np.array(change) / 2e-5, atol=1e-5)


@pytest.mark.parametrize("groups", [None, ["a", "a", "b", "b"]])
def test_the_maximum_is_where_a_fine_grid_has_it(groups):
    objective = posed(scale=3.0)
    over = prior_scales(objective, groups)
    found = FitLaplace(1e-11).fit(objective, None)
    eta = np.zeros(over.size)
    surrogate = Surrogate(over, eta, found, over.gradient(eta, laplace_slope(objective, found)))
    low, high = np.full(over.size, -2.0), np.full(over.size, 2.0)
    best = surrogate.maximise(low, high, floor=low - 5, slack=1e-6)
    axis = np.linspace(-2, 2, 41)
    grid = np.stack(np.meshgrid(*[axis] * over.size), axis=-1).reshape(-1, over.size)
    values = np.array([surrogate.value_gradient(point)[0] for point in grid])
    assert best.gain >= values.max() - surrogate.level - 1e-6
    assert_allclose(best.eta, grid[values.argmax()], atol=0.1)


def test_where_the_parabola_has_no_posterior_the_surrogate_is_hopeless():
    objective = posed()
    found = FitLaplace().fit(objective, None)
    saddle = Parabola(found.mean, -np.eye(5), objective.prior, 0.0)
    weak = prior_scales(objective).prior(np.array([50.0]))
    assert saddle.under(weak).log_evidence == -np.inf
