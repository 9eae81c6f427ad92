"""The posterior of a category with many levels against the full covariance, brute force and simulated truth."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import expit

import separatrix as sx
from separatrix.bayesian import ArrowApproximation, Levels, inference
from separatrix.bayesian.arrow import laplace_arrow, largest_category, tune_arrow, with_arrow
from separatrix.bayesian.evidence import prior_scales
from separatrix.bayesian.posterior import laplace
from separatrix.bayesian.tuning import tune_scales
from separatrix.likelihoods import Logit, Probit
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import pose

N, L = 500, 40


def problem(likelihood=None, as_sparse=True, weighted=False):
    rng = np.random.default_rng(1)
    code, other = rng.integers(L, size=N), rng.integers(5, size=N)
    numbers = rng.normal(1.0, 2.0, size=(N, 2))
    a = 0.4 * numbers[:, 0] + rng.normal(size=L)[code] - 0.5
    X = np.column_stack([numbers, np.eye(5)[other], np.eye(L)[code], np.zeros(N)])  # the last level is new
    groups = ("line",) * 2 + (Levels("b"),) * 5 + (Levels("a"),) * (L + 1)
    std = X.std(axis=0)
    scale = np.where(np.arange(X.shape[1]) < 2, 1.0, np.where(std > 0, std, 1.0))
    rows = as_source(sparse.csr_array(X) if as_sparse else X, (rng.random(N) < expit(a)).astype(float))
    if weighted:
        rows = rows.with_numbers(rng.random(N) < expit(a), rng.uniform(0.5, 2.0, N))
    prior = Gaussian(scale, intercept_scale=10.0)
    objective = pose(rows, likelihood or Logit(), prior, fit_intercept=True, standardize=True)
    return with_arrow(objective, groups), groups, X


@pytest.mark.parametrize("as_sparse", [True, False], ids=["sparse", "dense"])
@pytest.mark.parametrize("likelihood", [Logit(), Probit()], ids=["logit", "probit"])
def test_the_arrow_equals_the_full_covariance(likelihood, as_sparse):
    objective, groups, X = problem(likelihood, as_sparse, weighted=True)
    arrow = laplace_arrow(objective, largest_category(groups, 1), np.zeros(objective.shape))
    full = laplace(objective, arrow.mean)
    assert objective.gradient_size(objective.value_grad(arrow.mean).grad) < 1e-8
    assert_allclose(arrow.log_evidence, full.log_evidence, rtol=1e-10)
    assert_allclose(arrow.log_likelihood, full.log_likelihood, rtol=1e-10)
    assert_allclose(arrow.std, full.std, rtol=1e-8)
    assert_allclose(arrow.covariance, full.covariance, atol=1e-10)
    for rows in (X[:50], sparse.csr_array(X[:50])):
        found, expected = arrow.activations(rows, objective.design), full.activations(X[:50], objective.design)
        assert_allclose(found.mean, expected.mean, rtol=1e-8)
        assert_allclose(found.cov, expected.cov, rtol=1e-8)
    g = np.random.default_rng(0).normal(size=objective.shape)
    assert_allclose(arrow.solve(g), full.factor.solve(g), atol=1e-9)
    draws = arrow.sample(40_000, np.random.default_rng(0))[:, 0]
    assert_allclose(draws.mean(axis=0), arrow.mean[0], atol=5 * arrow.std.max() / 200)
    assert_allclose(np.cov(draws.T), full.covariance, atol=0.05 * full.covariance.max())


def test_tuned_scales_and_their_gradient_are_those_of_the_full_covariance():
    objective, groups, _ = problem()
    levels = largest_category(groups, 1)
    scales = prior_scales(objective, groups)
    tuned, gaussian, report, mode = tune_arrow(objective, scales, levels, np.zeros(objective.shape))
    full = tune_scales(objective, groups)
    assert_allclose(np.log(report.factors), np.log(full.report.factors), atol=0.02)
    assert_allclose(report.trace[-1].log_evidence, full.report.trace[-1].log_evidence, atol=2e-3)

    def log_joint(eta):
        at = laplace_arrow(replace(objective, prior=scales.prior(eta)), levels, mode)
        return at.log_evidence + scales.log_density(eta)[0]

    eta, step = report.trace[0].eta, 1e-4
    assert_allclose(report.trace[0].log_evidence, log_joint(eta), rtol=1e-9)  # the modes differ by 1e-8 nats
    for g, h in enumerate(step * np.eye(len(eta))):
        slope = (log_joint(eta + h) - log_joint(eta - h)) / (2 * step)
        assert_allclose(report.trace[0].gradient[g], slope, rtol=1e-5)
    assert_allclose(tuned.prior.precision, scales.prior(np.log(report.factors)).precision)
    assert np.abs(gaussian.mean - mode).max() > 0  # the mean of a skewed posterior is not its mode


def simulated(n_rows, n_levels, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    effect, code, x = scale * rng.normal(size=n_levels), rng.integers(n_levels, size=n_rows), rng.normal(size=n_rows)
    p = expit(0.7 * x + effect[code] - 0.4)
    table = pd.DataFrame({"x": x, "zip": np.char.add("z", code.astype(str))})
    return table, np.where(rng.random(n_rows) < p, "yes", "no"), effect, code


def test_levels_are_covered_and_the_scale_is_that_of_the_simulation(monkeypatch):
    table, y, effect, _ = simulated(6000, 400)
    model = sx.TableClassifier(sx.BayesianLogisticRegression(structure="arrow")).fit(table, y)
    estimator, names = model.estimator_, model.encoder_.schema_.columns
    assert isinstance(estimator.posterior_.approximation, ArrowApproximation)
    at = [names.index(f"zip=z{i}") for i in range(400)]
    away = (estimator.posterior_.mean[at] - effect) / estimator.posterior_.std[at]
    assert 0.92 < (np.abs(away) < 1.96).mean() < 0.98
    assert abs(estimator.prior_.scale[-1] - 1.0) < 0.15  # the indicator of new levels is last
    assert abs(estimator.coef_[0, 0] - 0.7) < 0.1
    with pytest.warns(UserWarning, match="did not occur"):
        low, high = model.predict_interval(pd.DataFrame({"x": [0.0], "zip": ["new"]}))[0]
    new = expit(np.random.default_rng(1).normal(size=4000) - 0.4)  # the probabilities of new levels at x = 0
    assert abs(((low < new) & (new < high)).mean() - 0.95) < 0.03


def test_models_with_many_levels_are_saved_exported_and_described(monkeypatch, tmp_path):
    table, y, _, _ = simulated(3000, 150)
    model = sx.TableClassifier(sx.BayesianLogisticRegression(structure="arrow")).fit(table, y)
    assert model.estimator_.posterior_.structure == "arrow"
    assert not model.encoder_.schema_.notes  # no level is pooled
    sx.save(model, tmp_path / "model.sx")
    rows = table.head(30)
    p = model.predict_proba(rows)
    assert_allclose(sx.load(tmp_path / "model.sx").predict_proba(rows), p, rtol=1e-12)
    given = {"x": rows[["x"]].to_numpy(), "zip": rows[["zip"]].to_numpy(dtype=object)}
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(sx.to_onnx(model, dtype="float64").SerializeToString())
    assert_allclose(session.run(["probabilities"], given)[0], p, atol=1e-8)
    found = model.contrasts()
    assert found.mean.shape == found.std.shape == (1, 153)
    estimator = model.estimator_
    assert 0 < estimator.effective_parameters_ < 153
    assert_allclose(estimator.log_evidence_, estimator.log_likelihood_ + estimator.occam_factor_)
    # A full covariance, averaged over the scales, gives nearly the same probabilities.
    monkeypatch.setattr(inference, "MAX_LEVEL_WEIGHTS", 1000)
    full = sx.TableClassifier().fit(table, y)
    assert full.estimator_.posterior_.structure == "full"
    assert np.abs(full.predict_proba(table) - model.predict_proba(table)).mean() < 0.005
    assert abs(full.estimator_.log_evidence_ - estimator.log_evidence_) < 3
