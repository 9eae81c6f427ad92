"""A guess changes the way to a fit, and not the fit."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import blobs
from separatrix.bayesian.evidence.fitter import FitEP, FitLaplace, Guess
from separatrix.bayesian.evidence.gradient import laplace_slope
from separatrix.bayesian.evidence.hyper import hyper
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers.factor import Factor, factorise
from separatrix.solvers.posterior import pose


@pytest.fixture(params=[2, 3], ids=["logit", "softmax"])
def objective(request):
    X, t = blobs(n_classes=request.param)
    likelihood = Logit() if request.param == 2 else Softmax(3)
    return pose(as_source(X, t), likelihood, Gaussian(1.0, intercept_scale=5.0), fit_intercept=True, standardize=True)


def test_good_bad_and_no_guesses_lead_to_the_same_posterior(objective, rng):
    fitter = FitLaplace(1e-10)
    plain = fitter.fit(objective, None)
    bad = Factor(np.ones(plain.mean.size), np.eye(plain.mean.size))
    far = plain.mean + rng.normal(size=plain.mean.shape)
    for guess in (Guess.of(plain), Guess(far, plain.factor), Guess(far, bad), Guess(far, None)):
        found = fitter.fit(objective, guess)
        assert_allclose(found.mean, plain.mean, atol=1e-7)
        assert_allclose(found.log_evidence, plain.log_evidence, rtol=1e-10)


def test_from_a_fit_no_step_is_left_to_take(objective):
    plain = FitLaplace().fit(objective, None)
    assert FitLaplace().fit(objective, Guess.of(plain)).steps == 0


def test_a_guess_costs_no_digit_where_a_wide_prior_leaves_a_direction_all_but_free():
    X, t = blobs(180, seed=4, distance=0.7)
    narrow, wide = (
        pose(as_source(X, t), Softmax(3), Gaussian(scale, intercept_scale=10.0), fit_intercept=True, standardize=True)
        for scale in (1.0, 15.0)
    )
    found = FitLaplace().fit(wide, Guess.of(FitLaplace().fit(narrow, None)))
    assert_allclose(found.log_evidence, FitLaplace(1e-13).fit(wide, None).log_evidence, rtol=1e-10)


def test_what_is_no_posterior_is_no_guess():
    singular = factorise(np.zeros((2, 2)), 1, np.array([False, False]))
    assert Guess.of(Approximation(np.zeros((1, 2)), singular, -np.inf, -np.inf, "parabola")) is None


def test_a_sample_of_rows_knows_the_movement_well_enough(rng):
    X = rng.normal(size=(60_000, 40))
    t = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(np.intp)
    objective = pose(as_source(X, t), Logit(), Gaussian(0.1, intercept_scale=5.0), fit_intercept=True)
    assert objective.sample is not None
    found = FitLaplace().fit(objective, None)
    every, some = (FitLaplace().slope(objective, found, few=few) for few in (False, True))
    assert_allclose(every, laplace_slope(objective, found), rtol=0)
    over = hyper(objective)
    error = over.gradient(np.zeros(1), some) - over.gradient(np.zeros(1), every)
    assert 0 < abs(error[0]) < 0.01  # nats for each factor of e in the scale


@pytest.mark.parametrize("groups", [None, "columns"])
def test_the_evidence_of_expectation_propagation_has_the_gradient_of_fixed_sites(groups):
    X, t = blobs(n=60, n_classes=2)
    prior = Gaussian(1.0, intercept_scale=5.0)
    objective = pose(as_source(X, t), Logit(), prior, fit_intercept=True, standardize=True)
    over, fitter = hyper(objective, groups), FitEP(1e-10)

    def at(eta):
        here = replace(objective, prior=over.prior(eta))
        return here, fitter.fit(here, None)

    here, found = at(np.zeros(over.size))
    assert found.name == "ep"
    gradient = over.gradient(np.zeros(over.size), fitter.slope(here, found, few=True))
    step = 1e-3 * np.eye(over.size)
    change = [at(e)[1].log_evidence - at(-e)[1].log_evidence for e in step]
    assert_allclose(gradient, np.array(change) / 2e-3, atol=2e-3)
