import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from separatrix.families import FactsError, NormalKnownVariance, NormalNormal


def test_density_is_scipys():
    x = np.array([-2.0, 1e9, 0.0])
    assert_allclose(NormalKnownVariance(1.0, 3.0).log_density(x), stats.norm(1, 3).logpdf(x), rtol=1e-13)


def test_the_known_variance_defaults_to_the_pooled_within_class_one(rng):
    x, t = rng.normal(size=(60, 2)) * [1.0, 5.0], rng.integers(2, size=60)
    facts = NormalKnownVariance.facts(x, np.eye(2)[t])
    residual = x - np.stack([x[t == k].mean(axis=0) for k in range(2)])[t]
    ml = NormalKnownVariance.ml(facts)
    assert_allclose(ml.sd, [np.sqrt((residual**2).mean(axis=0))] * 2, rtol=1e-12)
    assert_allclose(NormalKnownVariance.ml(facts, sd=2.0).sd, 2.0)


def test_a_shared_variance_makes_a_linear_separator(rng):
    x = rng.normal(size=(30, 3))
    model = NormalKnownVariance(rng.normal(size=(2, 3)), [0.5, 1.0, 2.0])
    sums = model.log_density_sum(x)
    w = model.natural[1, :, 0] - model.natural[0, :, 0]
    w0 = -(model.log_normaliser[1] - model.log_normaliser[0]).sum()
    assert_allclose(sums[:, 1] - sums[:, 0], x @ w + w0, rtol=1e-10, atol=1e-10)


def test_posterior_predictive_and_marginal_are_integrals_over_the_mean():
    x, w = np.array([0.5, 2.0, -1.0]), np.array([1.0, 0.5, 2.0])
    prior, facts = NormalNormal(0.3, 1.5, 0.8), NormalKnownVariance.facts(x[:, None], w[:, None])

    def joint(mu, extra=None):
        logs = w @ stats.norm.logpdf(x, mu, 0.8) + (0 if extra is None else stats.norm.logpdf(extra, mu, 0.8))
        return np.exp(logs + stats.norm.logpdf(mu, 0.3, 1.5))

    Z = integrate.quad(joint, -10, 10, epsabs=1e-14)[0]
    assert_allclose(prior.log_marginal(facts), np.log(Z), rtol=1e-9)
    posterior = prior.updated(facts)
    assert_allclose(posterior.mean, integrate.quad(lambda m: m * joint(m), -10, 10)[0] / Z, rtol=1e-7)
    expected = np.log(integrate.quad(joint, -10, 10, args=(1.3,), epsabs=1e-14)[0] / Z)
    assert_allclose(posterior.predictive().log_density(1.3), expected, rtol=1e-9)


def test_no_spread_within_classes_is_an_error():
    facts = NormalKnownVariance.facts([[1.0], [1.0], [5.0]], np.array([[1.0, 0], [1, 0], [0, 1]]))
    with pytest.raises(FactsError, match="all values of a class are equal in column 0; drop the column, or give sd"):
        NormalKnownVariance.ml(facts)
    assert_allclose(NormalKnownVariance.ml(facts, sd=1.0).mean, [[1.0], [5.0]])
