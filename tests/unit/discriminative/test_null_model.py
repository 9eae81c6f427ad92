"""One number fits a mean: by its link, or by Newton's method where there are offsets."""

import numpy as np
import pytest
from scipy import optimize

from separatrix.discriminative.null_model import fit_null
from separatrix.discriminative.targets import Targets
from separatrix.likelihoods.glm import LIKELIHOODS, mean_likelihood

CASES = [(family, link) for family, links in LIKELIHOODS.items() for link in links]


def targets(family, offset=None):
    rng = np.random.default_rng(1)
    t = rng.integers(0, 2, 40).astype(float) if family in ("bernoulli", "binomial") else rng.gamma(2.0, 1.0, 40)
    return Targets(t, count=rng.uniform(0.5, 3.0, 40), offset=offset)


@pytest.mark.parametrize(("family", "link"), CASES)
def test_without_offsets_the_fitted_mean_is_the_mean(family, link):
    here = targets(family)
    null = fit_null(mean_likelihood(family, link), here)
    mean = np.average(here.t, weights=here.count)
    assert null.likelihood.mean(np.array([null.activation]))[0] == pytest.approx(mean)
    assert null.deviance == pytest.approx(here.count @ null.likelihood.response.deviance(here.t, np.full(40, mean)))


@pytest.mark.parametrize(("family", "link"), CASES)
def test_with_offsets_no_other_intercept_has_a_smaller_deviance(family, link):
    offset = np.random.default_rng(2).normal(size=40) * 0.5
    null = fit_null(mean_likelihood(family, link), targets(family, offset))

    def deviance(b):
        return -2 * null.targets.count @ null.likelihood.derivatives(b + offset, null.targets.t).log_p

    low = -offset.min() + 1e-6 if link == "inverse" else null.activation - 3
    best = optimize.minimize_scalar(deviance, bounds=(low, null.activation + 3), method="bounded").fun
    assert null.deviance <= best + 1e-8 * abs(best)


def test_slopes_scale_with_the_targets():
    likelihood = mean_likelihood("gaussian")
    t = np.random.default_rng(0).normal(size=50)
    assert fit_null(likelihood, Targets(t)).slope_scale == pytest.approx(t.std())
    assert fit_null(likelihood, Targets(1e-9 * t)).slope_scale == pytest.approx(1e-9 * t.std())
    assert fit_null(likelihood, Targets(np.zeros(5))).slope_scale == 1.0
    assert fit_null(likelihood, Targets(np.full(5, 0.1))).slope_scale > 0


def test_working_responses_exist_for_targets_that_have_no_link():
    t = np.array([-5.0, 1.0, 9.0])
    null = fit_null(mean_likelihood("gaussian", "log"), Targets(t, offset=np.ones(3)))
    assert np.isfinite(null.working_response).all()
