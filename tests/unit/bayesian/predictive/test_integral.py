"""Which rule for which likelihood, against integrals by SciPy and by sampling."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from separatrix.bayesian.posterior import Activations
from separatrix.bayesian.predictive import RULES, class_probabilities, probabilities_and_errors
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax

MEAN = np.array([-3.0, -0.4, 0.0, 1.0, 6.0])
VAR = np.array([0.5, 9.0, 2.0, 0.0, 30.0])
TWO = Activations(MEAN, VAR)


@pytest.fixture
def three(rng):
    L = rng.normal(size=(6, 3, 3))
    return Activations(2 * rng.normal(size=(6, 3)), L @ L.transpose(0, 2, 1))


@pytest.mark.parametrize("likelihood", [Logit(), Probit(), LabelNoise(0.1)])
@pytest.mark.parametrize("rule", ["exact", "qmc"])
def test_two_classes_by_quadrature(likelihood, rule):
    """Noise is in the labels: what is asked for is the probability of the true class."""
    P = class_probabilities(likelihood, TWO, rule)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    for mu, var, p in zip(MEAN, VAR, P[:, 1], strict=True):
        sigma = stats.norm.cdf if isinstance(likelihood, Probit) else special.expit
        if var == 0:
            assert_allclose(p, sigma(mu), rtol=1e-10)
            continue
        sd = np.sqrt(var)
        q = stats.norm(mu, sd)
        exact = integrate.quad(lambda a, q=q, f=sigma: f(a) * q.pdf(a), mu - 12 * sd, mu + 12 * sd)[0]
        assert_allclose(p, exact, atol=1e-8)


def test_the_simpler_rules_of_two_classes():
    kappa = (1 + np.pi * VAR / 8) ** -0.5
    assert_allclose(class_probabilities(Logit(), TWO, "probit")[:, 1], special.expit(kappa * MEAN))
    assert_allclose(class_probabilities(Logit(), TWO, "map")[:, 1], special.expit(MEAN))
    assert_allclose(class_probabilities(Probit(), TWO, "probit")[:, 1], stats.norm.cdf(MEAN / np.sqrt(1 + VAR)))
    assert_allclose(class_probabilities(Probit(), TWO, "map")[:, 1], stats.norm.cdf(MEAN))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("likelihood", [Logit(), Probit(), LabelNoise(0.1)])
def test_symmetry(rule, likelihood):
    mirrored = Activations(-MEAN, VAR)
    assert_allclose(
        class_probabilities(likelihood, mirrored, rule), class_probabilities(likelihood, TWO, rule)[:, ::-1], rtol=1e-12
    )
    assert_allclose(class_probabilities(likelihood, Activations(np.zeros(5), VAR), rule), 0.5, rtol=1e-12)


def test_three_classes_by_sampling(three, rng):
    z = rng.normal(size=(100_000, 3))
    root = np.linalg.cholesky(three.cov)
    exact = np.stack([special.softmax(m + z @ R.T, axis=1).mean(axis=0) for m, R in zip(three.mean, root, strict=True)])
    for rule, atol in [("exact", 0.015), ("qmc", 0.005), ("probit", 0.2)]:
        P = class_probabilities(Softmax(3), three, rule)
        assert_allclose(P.sum(axis=1), 1.0, rtol=1e-9)
        assert_allclose(P, exact, atol=atol)
    assert_allclose(class_probabilities(Softmax(3), three, "map"), special.softmax(three.mean, axis=1))


def test_errors_are_of_the_size_that_is_said(three):
    exact = class_probabilities(Softmax(3), three, "qmc")
    P, error = probabilities_and_errors(Softmax(3), three, 512)
    assert np.all((error > 0) & (error < 0.02))
    assert np.all(np.abs(P - exact) < 6 * error + 1e-4)
    _, smaller = probabilities_and_errors(Softmax(3), three, 16384)
    assert smaller.mean() < error.mean() / 5
    P, error = probabilities_and_errors(Logit(), TWO, 512)
    assert np.array_equal(P, class_probabilities(Logit(), TWO, "exact"))
    assert np.all(error == 0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_without_an_activation_have_no_probability_and_spoil_no_other(rule, bad, three):
    for likelihood, a in [(Logit(), TWO), (Probit(), TWO), (Softmax(3), three)]:
        mean = a.mean.copy()
        mean[2] = bad
        P = class_probabilities(likelihood, Activations(mean, a.cov), rule)
        assert np.isnan(P[2]).all()
        others = np.arange(len(mean)) != 2
        assert_allclose(P[others], class_probabilities(likelihood, a, rule)[others], atol=1e-3 if rule == "qmc" else 0)
        P, error = probabilities_and_errors(likelihood, Activations(mean, a.cov), 64)
        assert np.isnan(P[2]).all()
        assert np.isfinite(P[others]).all()
        assert np.isfinite(error[others]).all()
