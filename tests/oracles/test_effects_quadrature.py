# SPDX-License-Identifier: BSD-3-Clause
"""Effects of a posterior, whose mean, deviation and quantiles are known from a grid over its two weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_expit, ndtr

import separatrix as sx
from separatrix.weights import weighted_quantiles

SCALE, INTERCEPT_SCALE, STEP = 1.5, 3.0, 1.0
LEVELS = np.array([0.025, 0.975])


def log_probit(a):
    return np.log(np.maximum(ndtr(a), 1e-300))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    x = rng.normal(size=25)
    return x, (1.5 * x - 1 + rng.logistic(size=25) > 0).astype(int)


@pytest.mark.parametrize("approximation", ["auto", "importance"])
@pytest.mark.parametrize(("likelihood", "log_p"), [("logit", log_expit), ("probit", log_probit)])
def test_estimates_and_intervals_are_those_of_the_exact_posterior(rows, likelihood, log_p, approximation):
    x, y = rows
    prior = sx.Gaussian(SCALE, intercept_scale=INTERCEPT_SCALE)
    model = sx.BayesianLogisticRegression(
        prior, likelihood=likelihood, tune=None, standardize=False, approximation=approximation, rng=0
    ).fit(x[:, None], y)
    w, b = np.meshgrid(np.linspace(-3, 8, 160), np.linspace(-8, 5, 160), indexing="ij")
    w, b = w.ravel(), b.ravel()
    log_density = log_p((2 * y - 1) * (np.outer(w, x) + b[:, None])).sum(axis=1)
    log_density -= 0.5 * (w / SCALE) ** 2 + 0.5 * (b / INTERCEPT_SCALE) ** 2
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()

    def average(step):
        return np.exp(log_p(np.outer(w, x + step) + b[:, None])).mean(axis=1)

    before, after = average(0), average(STEP)
    cases = {
        "difference": (after - before, lambda e: e),
        "ratio": (np.log(after / before), np.log),
        "odds ratio": (np.log(after / (1 - after) * (1 - before) / before), np.log),
    }
    for comparison, (exact, scale) in cases.items():
        found = sx.effects.comparisons(model, x[:, None], {"x0": STEP}, comparison=comparison)
        mean = weights @ exact
        std = np.sqrt(weights @ (exact - mean) ** 2)
        assert_allclose(scale(found["estimate"]), mean, atol=0.06 * std)
        low, high = weighted_quantiles(exact[None], weights, LEVELS)[0]
        assert_allclose(scale(found["lower"]), low, atol=0.2 * std)
        assert_allclose(scale(found["upper"]), high, atol=0.2 * std)
        assert_allclose(found["probability_of_sign"], weights @ (exact > 0), atol=0.01)
