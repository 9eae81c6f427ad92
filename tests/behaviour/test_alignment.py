"""Priors that are aligned with the correlations of the columns."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special
from sklearn.covariance import oas

import separatrix as sx
from benchmarks.coverage import CASES, covered
from separatrix.bayesian.alignment import STATED_PROBABILITY, Directions, align
from separatrix.bayesian.averaging import Nodes, merged
from separatrix.bayesian.evidence import FitEP, prior_scales
from separatrix.bayesian.tuning import Parabola, tune_scales
from separatrix.likelihoods import Logit, Probit, Softmax
from separatrix.rows import as_source
from separatrix.solvers import pose

N, P = 200, 40
AXES = np.linalg.qr(np.random.default_rng(5).normal(size=(P, P)))[0]
SIGMA = (AXES * np.geomspace(10.0, 0.1, P)) @ AXES.T


def simulate(alignment, seed=0, signal=2.5):
    """Rows of correlated columns, and weights with the covariance Σ^b whose activations have a given spread."""
    rng = np.random.default_rng(seed)
    values, axes = np.linalg.eigh(SIGMA)
    w = axes @ (rng.normal(size=P) * values ** (alignment / 2))
    X = rng.normal(size=(N, P)) @ np.linalg.cholesky(SIGMA).T
    return X, (rng.random(N) < special.expit(signal * (X @ w) / np.std(X @ w))).astype(np.intp)


def covariance(objective):
    values, axes = Directions.of(objective, prior_scales(objective))
    return (axes * values) @ axes.T


@pytest.mark.parametrize("likelihood", [Logit(), Probit(), Softmax(2), Softmax(3)])
def test_the_covariance_is_that_of_the_columns_shrunk_as_by_scikit_learn(likelihood):
    X, t = simulate(0)
    objective = pose(
        as_source(X, t), likelihood, sx.Gaussian(intercept_scale=10.0), fit_intercept=True, standardize=True
    )
    found = covariance(objective)
    expected = oas(X / X.std(axis=0))[0]
    assert_allclose(found / np.trace(found), expected / np.trace(expected), rtol=1e-10, atol=1e-12)


def tuned(X, t):
    prior = sx.Gaussian(intercept_scale=10.0)
    objective = pose(as_source(X, t), Logit(), prior, fit_intercept=True, standardize=True)
    return tune_scales(objective, fitter=FitEP())


@pytest.mark.parametrize("alignment", [-1, 2])
def test_the_prediction_is_close_to_the_evidence_of_a_fit_and_better_than_before(alignment):
    found = tuned(*simulate(alignment))
    aligned = align(found.objective, found.approximation)[0]
    fit = FitEP().fit(replace(found.objective, prior=aligned.prior))
    predicted = Parabola(found.approximation, found.objective.prior).under(aligned.prior)
    assert_allclose(predicted.log_evidence, fit.log_evidence, atol=0.5)
    assert fit.log_evidence > found.approximation.log_evidence + np.log(4)
    R = covariance(found.objective)
    assert_allclose(np.trace(aligned.shape @ R), np.trace(R), rtol=1e-9)  # the variance of activations is the same


@pytest.mark.parametrize("alignment", [-1, 2])
def test_a_model_without_a_stated_prior_finds_the_directions_of_its_weights(alignment):
    X, t = simulate(alignment)
    model = sx.BayesianLogisticRegression().fit(X, t)
    values, axes = np.linalg.eigh(np.corrcoef(X.T))
    assert model.prior_.covariance is not None
    along = np.einsum("pi,pq,qi->i", axes, model.prior_.covariance, axes)  # prior variance of each direction
    assert np.corrcoef(np.log(values), np.log(along))[0, 1] * np.sign(alignment) > 0.95
    stated = sx.BayesianLogisticRegression(model.prior_).fit(X, t)  # the prior can be used again
    one = sx.BayesianLogisticRegression(sx.Gaussian(), tune="evidence").fit(X, t)
    assert one.prior_.covariance is None
    assert stated.log_evidence_ > one.log_evidence_ + np.log(4)
    assert model.log_evidence_ > one.log_evidence_


@pytest.mark.parametrize("options", [{"prior": sx.Gaussian()}, {"standardize": False}, {"groups": "columns"}])
def test_a_prior_whose_shape_is_stated_keeps_it(options):
    model = sx.BayesianLogisticRegression(tune="evidence", **options).fit(*simulate(-1))
    assert model.prior_.covariance is None


def test_the_prior_stays_isotropic_if_columns_are_independent_or_rows_determine_the_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 20))
    y = rng.random(100) < special.expit(X @ rng.normal(0, 0.5, 20))
    assert sx.BayesianLogisticRegression().fit(X, y).prior_.covariance is None
    X = rng.normal(size=(5000, 3)) @ np.linalg.cholesky([[1, 0.9, 0], [0.9, 1, 0.3], [0, 0.3, 1]]).T
    y = rng.random(5000) < special.expit(X @ [0.5, 1.0, 0.5])
    assert sx.BayesianLogisticRegression().fit(X, y).prior_.covariance is None


def test_merged_nodes_are_the_average_of_two_priors(rng):
    def nodes(n, log_ratio):
        return Nodes(tuple(range(n)), rng.dirichlet(np.ones(n)), rng.uniform(0.5, 2, size=(n, 1)), log_ratio)

    first, second = nodes(5, -1.0 + np.log(1 - STATED_PROBABILITY)), nodes(3, -2.0 + np.log(STATED_PROBABILITY))
    both = merged(first, second, np.array([3.0]))
    p = np.array([0.2 * np.exp(-1.0), 0.8 * np.exp(-2.0)])
    assert_allclose(both.log_ratio, np.log(p.sum()))
    assert_allclose(both.weights, np.concatenate([first.weights * p[0], second.weights * p[1]]) / p.sum())
    assert_allclose(both.widening, np.concatenate([first.widening, 9 * second.widening]))
    assert len(both.fits) == 8


def test_intervals_cover_few_useful_weights_of_correlated_columns():
    """An alignment in units of the scales of the columns, without their uncertainty, covers 0.7 of these weights."""
    case = next(case for case in CASES if case.name == "few useful columns, correlated, many rows")
    found = [covered(case, seed) for seed in range(12)]
    assert np.mean([each.useful for each in found]) > 0.85
    assert np.mean([each.probabilities for each in found]) > 0.95
