"""From an objective to a posterior: which approximation is made, what it is improved by, and what is said about it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from oracles.gold import load
from posteriors import overlapping
from separatrix.bayesian import diagnostics, inference
from separatrix.bayesian.diagnostics import third_order
from separatrix.bayesian.inference import METHODS, Options, infer
from separatrix.exceptions import DataError
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import pose


def options(method="auto", structure=None, tune=False, groups=None):
    return Options(method, structure, tune, groups, 1e-8, np.random.default_rng(0))


def posed(X, y, scale=1.0, *, standardize=True, fit_intercept=True):
    K = int(y.max()) + 1
    prior = Gaussian(scale, intercept_scale=5.0)
    likelihood = Logit() if K == 2 else Softmax(K)
    return pose(as_source(X, y), likelihood, prior, fit_intercept=fit_intercept, standardize=standardize)


@pytest.fixture(scope="module")
def two():
    return posed(*overlapping(80))


@pytest.fixture(scope="module")
def three():
    return posed(*overlapping(150, n_classes=3))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_what_it_is_asked_for(two, method):
    found = infer(two, options(method))
    assert found.approximation.name == {"auto": "ep"}.get(method, method)
    assert (found.draws is not None) == (method == "importance")
    assert found.pareto_k < 0.7
    assert found.notes == found.doubts == ()
    assert found.tuning is None
    assert_allclose(found.factors, 1.0)
    assert 0 < found.effective_parameters < 5


def test_auto_takes_laplace_where_rows_are_many_and_corrects_its_mean():
    X, y = overlapping(6000)
    objective = posed(X, y)
    found = infer(objective, options())
    assert found.approximation.name == "laplace"
    mode = infer(objective, options("laplace")).approximation
    better = infer(objective, options("ep")).approximation
    gap = np.abs(found.approximation.mean - better.mean).max()
    assert gap < 0.2 * np.abs(mode.mean - better.mean).max()
    assert np.isnan(found.pareto_k)  # so many rows that it was not asked for


def test_auto_takes_importance_for_few_weights_of_many_classes(three):
    found = infer(three, options())
    asked = infer(three, options("importance"))
    assert found.approximation.name == "importance"
    assert_allclose(found.approximation.mean, asked.approximation.mean, rtol=1e-12)
    assert found.pareto_k == asked.pareto_k
    assert asked.draws is not None
    assert found.draws is None  # their Gaussian predicts, and no row waits for sixteen thousand draws


def test_auto_goes_back_to_laplace_where_importance_weights_are_poor(three, monkeypatch):
    """With its mean corrected; and without the draws that are not to be trusted."""
    poor = inference.importance

    def with_a_heavy_tail(*arguments, **named):
        return replace(poor(*arguments, **named), k=0.9)

    monkeypatch.setattr(inference, "importance", with_a_heavy_tail)
    found = infer(three, options())
    assert found.approximation.name == "laplace"
    assert found.draws is None
    first = infer(three, options("laplace")).approximation
    expected = third_order(three, first, inference.skewness(three, first))
    assert_allclose(found.approximation.mean, expected.mean, rtol=1e-10)
    asked = infer(three, options("importance"))
    assert asked.approximation.name == "importance"
    assert "Pareto k = 0.90" in asked.doubts[0]
    assert "Use a narrower prior" in asked.doubts[0]


@pytest.fixture(scope="module")
def rare_levels():
    """Four classes, and rare 0/1 columns that each go with one of them: a skewed posterior of 60 weights."""
    rng = np.random.default_rng(0)
    X, y = overlapping(300, n_classes=4)
    levels = np.where(np.arange(300) < 40, np.arange(300) % 10, 10)
    X = np.column_stack([X, levels[:, None] == np.arange(10)])
    return posed(X[rng.permutation(300)], np.where(levels < 10, levels % 4, y), 5.0, standardize=False)


def test_auto_takes_the_variational_posterior_of_many_skewed_weights(rare_levels):
    found = infer(rare_levels, options())
    assert found.approximation.name == "variational"
    assert found.rule is None
    asked = infer(rare_levels, options("variational"))
    assert_allclose(found.approximation.mean, asked.approximation.mean, rtol=1e-12)


@pytest.mark.parametrize("why", ["dear", "unsettled"])
def test_auto_predicts_by_the_mode_where_no_variational_posterior_is_to_be_had(rare_levels, why, monkeypatch):
    if why == "dear":
        monkeypatch.setattr(diagnostics, "SECONDS", 0.0)
    else:
        settled = inference.variational_softmax
        monkeypatch.setattr(inference, "variational_softmax", lambda *a: replace(settled(*a), is_converged=False))
    found = infer(rare_levels, options())
    assert (found.approximation.name, found.rule) == ("laplace", "map")
    assert_allclose(found.approximation.mean, infer(rare_levels, options("laplace")).approximation.mean, rtol=1e-12)


def test_auto_tries_the_variational_posterior_where_importance_weights_are_poor(monkeypatch):
    objective = posed(*overlapping(15, n_classes=3), 5.0)
    weigh = inference.importance
    monkeypatch.setattr(inference, "importance", lambda *a, **n: replace(weigh(*a, **n), k=0.9))
    assert infer(objective, options()).approximation.name == "variational"


@pytest.mark.parametrize("method", ["ep", "auto", "variational"])
def test_an_approximation_that_does_not_settle_is_not_used(two, method, monkeypatch):
    name = "variational" if method == "variational" else "expectation_propagation"
    settled = getattr(inference, name)
    monkeypatch.setattr(inference, name, lambda *a, **n: replace(settled(*a, **n), is_converged=False, steps=7))
    found = infer(two, options(method))
    assert found.approximation.name == "laplace"
    assert "did not settle in 7 steps; 'laplace' is used instead" in found.doubts[0]
    shifted = not np.allclose(found.approximation.mean, infer(two, options("laplace")).approximation.mean, rtol=1e-4)
    assert shifted == (method == "auto")


def test_a_poor_approximation_is_said_to_be_one():
    problem = load("many_dummies").problem
    objective = posed(problem.X, problem.y, problem.scale, standardize=False)
    found = infer(objective, options("laplace"))
    assert found.pareto_k > 0.7
    assert "approximation='ep' or 'importance'" in found.doubts[0]
    assert found.notes == found.doubts
    assert infer(objective, options("ep")).doubts == ()


def test_tuning_starts_from_laplace_and_ends_with_the_evidence_of_the_better_approximation(two):
    by_laplace = infer(two, options("laplace", tune=True))
    by_ep = infer(two, options("ep", tune=True))
    assert by_laplace.tuning is not None
    assert by_ep.tuning is not None
    fixed = infer(by_ep.objective, options("ep"))
    assert_allclose(by_ep.approximation.log_evidence, fixed.approximation.log_evidence, atol=1e-3)
    assert by_ep.approximation.log_evidence > infer(two, options("ep")).approximation.log_evidence
    expected = two.prior.precision[:-1] / by_ep.factors**2
    assert_allclose(by_ep.objective.prior.precision[:-1], expected, rtol=1e-9)
    assert by_ep.objective.prior.precision[-1] == two.prior.precision[-1]  # the bias keeps its own


@pytest.mark.parametrize("structure", ["diagonal", "by class"])
@pytest.mark.parametrize("standardize", [True, False])
def test_one_scale_is_tuned_in_any_structure(three, structure, standardize):
    """Also where the prior of the bias is about zero, and so a matrix in the coordinates of the fit."""
    X, y = overlapping(150, n_classes=3)
    objective = posed(X, y, 30.0, standardize=standardize)
    found = infer(objective, options(structure=structure, tune=True))
    full = infer(objective, options("laplace", tune=True))
    assert found.approximation.structure == structure
    assert_allclose(found.factors, full.factors, rtol=0.05)
    assert_allclose(found.objective.prior.matrix(), full.objective.prior.matrix(), rtol=0.1, atol=1e-6)
    assert_allclose(found.approximation.mean, full.approximation.mean, rtol=0.05, atol=0.01)


def test_what_only_a_whole_covariance_can_do(two):
    with pytest.raises(DataError, match="approximation='ep' needs the whole covariance, and 1 x 5 weights are kept as"):
        infer(two, options("ep", structure="diagonal"))
    with pytest.raises(DataError, match="'diagonal' can be tuned with one scale only; leave groups=None"):
        infer(two, options(structure="diagonal", tune=True, groups="columns"))


def test_expectation_propagation_is_for_one_activation(three):
    with pytest.raises(ValueError, match=r'one activation per row.*use "laplace" or "importance"'):
        infer(three, options("ep"))


def test_columns_of_noise_are_news_and_all_columns_of_noise_a_doubt(rng):
    X = rng.normal(size=(300, 6))
    y = (1.5 * X[:, 0] + rng.logistic(size=300) > 0).astype(int)
    some = infer(posed(X, y), options("laplace", tune=True, groups="columns"))
    assert some.doubts == ()
    assert some.notes
    assert all("is irrelevant" in note and "'x0'" not in note for note in some.notes)
    lone = posed(rng.normal(size=(300, 6)), y)
    for groups in (None, [0] * 6):
        none = infer(lone, options("laplace", tune=True, groups=groups))
        assert "'x0', 'x1', 'x2', 'x3', 'x4' and 1 more are irrelevant" in none.doubts[0]
        assert none.notes == none.doubts


def test_separable_classes_are_a_doubt_of_tuning(rng):
    X = rng.normal(size=(60, 2))
    found = infer(posed(X, (X[:, 0] > 0.1).astype(int)), options(tune=True))
    assert any("the classes are separable" in doubt for doubt in found.doubts)
    assert np.isfinite(found.approximation.log_evidence)
