"""Any L with L L' = Z Z' is the same model: same evidence, same activations, same length of the weights."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.bayesian.evidence import FitLaplace, is_rotatable, prior_scales, rotate
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers.posterior import pose

SHAPES = {"wide": (40, 60), "square": (50, 50), "tall": (300, 20)}


def posed(N, M, *, likelihood=None, standardize=False, fit_intercept=True, rank=None, prior=None, weight=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, rank or M)) @ rng.normal(size=(rank or M, M)) / np.sqrt(M) + 0.5
    likelihood = likelihood or Logit()
    t = rng.integers(max(2, likelihood.n_outputs), size=N)
    prior = prior or Gaussian(0.8, intercept_scale=3.0)
    source = as_source(X, t, weight)
    return pose(source, likelihood, prior, fit_intercept=fit_intercept, standardize=standardize)


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("standardize", [True, False], ids=["standardized", "as_is"])
@pytest.mark.parametrize("likelihood", [Logit(), Softmax(3)], ids=["logit", "softmax"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_evidence_and_mode_are_those_of_all_columns(shape, likelihood, standardize, fit_intercept):
    objective = posed(*shape, likelihood=likelihood, standardize=standardize, fit_intercept=fit_intercept)
    over = prior_scales(objective)
    small = rotate(objective, over, widest=10.0)
    eta = np.array([0.4])
    fitter = FitLaplace(1e-11)
    whole = fitter.fit(replace(objective, prior=over.prior(eta)), None)
    part = fitter.fit(replace(small.objective, prior=prior_scales(small.objective).prior(eta)), None)
    assert_allclose(part.log_evidence, whole.log_evidence, atol=1e-7)
    assert_allclose(small.back(part.mean), whole.mean, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_directions_that_no_row_knows_of_are_left_out(shape):
    objective = posed(*shape, rank=7, fit_intercept=False)
    small = rotate(objective, prior_scales(objective), widest=1e3)
    assert small.objective.design.width == 8  # and one for the offset of the columns
    theta = np.random.default_rng(1).normal(size=(1, 8))
    X, L = (source.source.as_block().X for source in (objective, small.objective))
    assert_allclose(X @ small.back(theta)[0], L @ theta[0], atol=1e-7)
    assert_allclose(np.linalg.norm(small.back(theta)) / 0.8, np.linalg.norm(theta), rtol=1e-7)


def test_weights_of_rows_travel(rng):
    weight = rng.integers(1, 5, size=40).astype(float)
    objective = posed(40, 60, weight=weight)
    over = prior_scales(objective)
    small = rotate(objective, over, widest=1.0).objective
    assert_allclose(FitLaplace().fit(small, None).log_evidence, FitLaplace().fit(objective, None).log_evidence)


def test_only_one_scale_of_many_columns_with_mean_zero_is_worth_it():
    many = posed(50, 120)
    assert is_rotatable(many, prior_scales(many))
    assert not is_rotatable(many, prior_scales(many, "columns"))
    few = posed(50, 20)
    assert not is_rotatable(few, prior_scales(few))
    moved = posed(50, 120, prior=Gaussian(1.0, mean=0.5, intercept_scale=1.0))
    assert not is_rotatable(moved, prior_scales(moved))


@pytest.mark.parametrize("n_columns", [3, 40])
def test_columns_of_zeros_leave_one_direction(n_columns):
    t, prior = np.arange(30) % 2, Gaussian(1.0, intercept_scale=1.0)
    objective = pose(as_source(np.zeros((30, n_columns)), t), Logit(), prior, fit_intercept=True)
    small = rotate(objective, prior_scales(objective), widest=10.0)
    single = pose(as_source(np.zeros((30, 1)), t), Logit(), prior, fit_intercept=True)
    found = FitLaplace().fit(small.objective, None)
    assert_allclose(found.log_evidence, FitLaplace().fit(single, None).log_evidence, rtol=1e-12)
    assert_allclose(small.back(found.mean)[0, :-1], 0.0)
