"""A guess changes the way to a fit, and not the fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import blobs
from separatrix.bayesian.approximation import Approximation
from separatrix.bayesian.evidence import laplace_slope
from separatrix.bayesian.fitter import FitLaplace, Guess
from separatrix.bayesian.hyper import hyper
from separatrix.data import as_source
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
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
