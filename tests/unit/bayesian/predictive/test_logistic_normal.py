"""The exact sums against each other, and the table against the sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.bayesian.predictive import logistic_normal
from separatrix.bayesian.predictive.logistic_normal import (
    fast_log_averages,
    log_averages,
    log_odds,
    shrinkage,
    soften,
    softplus_variance,
)


@pytest.fixture(scope="module")
def everywhere():
    """m and s² over every regime: both zero, tiny, huge, on the edges of cells and around the edge of the table."""
    rng = np.random.default_rng(1)
    kappa = np.concatenate([np.arange(1, 65) / 64, rng.uniform(0.0005, 1, 400)])
    u = np.concatenate([np.arange(0, 25) / 1.0, rng.uniform(0, 26, 100)])
    m, var = np.ravel(u[:, None] / kappa), np.ravel(np.zeros((len(u), 1)) + (kappa**-2 - 1) * 8 / np.pi)
    wild = 10 ** rng.uniform(-6, 6, 5000), 10 ** rng.uniform(-10, 8, 5000)
    return np.concatenate([[0, 0, 1e6, 1e6], m, wild[0]]), np.concatenate([[0, 1e8, 0, 1e8], var, wild[1]])


def test_the_table_is_the_sums(everywhere):
    m, var = everywhere
    for fast, exact in zip(fast_log_averages(m, var), log_averages(m, np.sqrt(var)), strict=True):
        likely = exact > np.log(1e-15)
        assert np.abs(fast - exact)[likely].max() < 1e-8
        assert np.abs(fast - exact).max() < 5e-6


def test_the_table_gives_probabilities_to_ten_digits(everywhere):
    m, var = everywhere
    q = np.exp(log_averages(m, np.sqrt(var)).log_probability)
    assert np.abs(1 / (1 + np.exp(np.minimum(log_odds(m, var), 700))) - q).max() < 1e-10


def test_more_terms_change_nothing(everywhere, monkeypatch):
    m, var = everywhere
    usual = log_averages(m, np.sqrt(var))
    monkeypatch.setattr(logistic_normal, "TERMS", 26)
    for fewer, more in zip(usual, log_averages(m, np.sqrt(var)), strict=True):
        assert_allclose(fewer, more, rtol=1e-12, atol=1e-11)


def test_the_compiled_look_up_is_the_plain_one(rng):
    from separatrix.bayesian.predictive._kernels import look_up

    table = rng.normal(size=(6 * 4, 28))
    u, kappa = np.append(rng.uniform(0, 3.2, 50), [0.0, 3.0, np.nan]), np.append(rng.uniform(size=50), [1.0, 0.5, 0.5])
    compiled, plain = np.empty(53), np.empty(53)
    look_up(u, kappa, table, 2, 4, compiled)
    look_up.py_func(u, kappa, table, 2, 4, plain)
    assert_allclose(compiled, plain, rtol=1e-12, atol=1e-13)
    assert np.isnan(compiled[u >= 3]).all()
    assert np.isnan(compiled[-1])


def test_variance_of_a_soft_maximum():
    """A straight line where the Gaussian is narrow, V = σ(-m)² s²; half a Gaussian where it is wide."""
    m = np.linspace(0, 5, 11)
    assert_allclose(softplus_variance(m, np.full(11, 1e-3)), 1e-6 / (1 + np.exp(m)) ** 2, rtol=1e-5)
    assert_allclose(softplus_variance(np.zeros(1), np.array([1e5])), 1e10 * (0.5 - 0.5 / np.pi), rtol=1e-9)


def test_soften_is_the_sums(everywhere):
    m, var = everywhere
    kept = (var > 1e-3) & (shrinkage(var) * m < 23)
    m, var = m[kept], var[kept]
    probability, mean, variance = soften(-m, var)
    exact = log_averages(m, np.sqrt(var))
    assert_allclose(probability, np.exp(exact.log_probability), atol=1e-10)
    assert_allclose(mean, np.exp(exact.log_softplus), rtol=1e-8, atol=1e-10)
    assert np.abs((variance - softplus_variance(m, np.sqrt(var))) / var).max() < 1e-8
