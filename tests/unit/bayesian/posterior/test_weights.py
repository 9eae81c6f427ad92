"""The posterior in the user's units against plain matrices, whatever the structure it is kept in."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import separatrix as sx
from posteriors import overlapping
from separatrix.bayesian.posterior.weights import interval_tails, summarise
from separatrix.exceptions import DataError


def fitted(n_classes=2, structure=None, n=240, n_features=4, **arguments):
    X, y = overlapping(n, n_features, n_classes)
    return sx.BayesianLogisticRegression(structure=structure, approximation="laplace", **arguments).fit(X, y), X


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_are_a_linear_map_of_those_of_the_fit(n_classes, fit_intercept):
    model, X = fitted(n_classes, fit_intercept=fit_intercept)
    posterior, q = model.posterior_, model.posterior_.approximation
    C, P = q.mean.shape
    T = np.eye(P)
    if fit_intercept:
        T[-1, :-1] = -X.mean(axis=0)
    assert_allclose(posterior.mean.reshape(C, P), q.mean @ T.T, rtol=1e-9)
    wide = np.kron(np.eye(C), T)
    assert_allclose(posterior.covariance, wide @ q.covariance @ wide.T, rtol=1e-9, atol=1e-12)
    assert_allclose(posterior.std.ravel(), np.sqrt(np.diag(posterior.covariance)), rtol=1e-9)
    assert_allclose(model.coef_, posterior.mean.reshape(C, P)[:, :4], rtol=1e-9)
    assert repr(posterior) == f"WeightPosterior({P} weights, structure='full')"


@pytest.mark.parametrize("approximation", ["laplace", "ep", "importance"])
def test_deviations_agree_with_the_covariance_and_with_draws(approximation):
    X, y = overlapping(60)
    posterior = sx.BayesianLogisticRegression(approximation=approximation).fit(X, y).posterior_
    assert_allclose(posterior.std, np.sqrt(np.diag(posterior.covariance)), rtol=1e-9)
    draws = posterior.sample(50_000, rng=3)
    assert_allclose(draws.std(axis=0), posterior.std, rtol=0.02)
    assert_allclose((draws.mean(axis=0) - posterior.mean) / posterior.std, 0.0, atol=0.03)


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize(
    ("structure", "n_classes", "n", "n_features"),
    [("dual", 2, 12, 30), ("dual", 3, 12, 30), ("by class", 3, 240, 4), ("diagonal", 2, 240, 4)],
)
def test_other_structures_have_means_deviations_and_draws(structure, n_classes, n, n_features):
    model, X = fitted(n_classes, structure, n, n_features)
    full, _ = fitted(n_classes, "full", n, n_features)
    posterior = model.posterior_
    assert posterior.structure == structure
    assert_allclose(posterior.mean, full.posterior_.mean, rtol=1e-4, atol=1e-6)
    if structure == "dual":  # which leaves nothing out
        assert_allclose(posterior.std, full.posterior_.std, rtol=1e-5)
        assert_allclose(model.predict_proba(X), full.predict_proba(X), atol=1e-6)
    draws = posterior.sample(30_000, rng=1)
    assert_allclose(draws.std(axis=0), posterior.std, rtol=0.05)
    assert len(model.summary().names) == posterior.mean.size


@pytest.mark.parametrize("n_classes", [2, 3])
def test_as_a_prior_it_is_the_same_gaussian(n_classes):
    posterior = fitted(n_classes)[0].posterior_
    prior = posterior.as_prior()
    assert_allclose(prior.mean.ravel(), posterior.mean.ravel(), rtol=1e-12)
    assert_allclose(prior.matrix() @ posterior.covariance, np.eye(posterior.mean.size), atol=1e-7)


def test_only_a_whole_covariance_becomes_a_prior():
    with pytest.raises(DataError, match="kept as 'diagonal' cannot become the prior of a next batch"):
        fitted(structure="diagonal")[0].posterior_.as_prior()


def test_a_summary_is_that_of_normal_distributions():
    posterior = fitted()[0].posterior_
    summary = summarise(posterior, ("0", "1"), 0.8, ("All is well.",))
    q = stats.norm(posterior.mean, posterior.std)
    assert_allclose(summary.lower, q.ppf(0.1), rtol=1e-9)
    assert_allclose(summary.upper, q.ppf(0.9), rtol=1e-9)
    assert_allclose(summary.probability_of_sign, np.maximum(q.cdf(0), q.sf(0)), rtol=1e-9)
    assert summary.to_frame().loc["x2", "sd"] == posterior.std[2]
    assert summary.to_dict()["coefficient"] is summary.coefficient


def test_a_summary_reads_well():
    lines = str(summarise(fitted()[0].posterior_, ("0", "1"), 0.95, ("All is well.",))).splitlines()
    assert lines[0].split() == ["coefficient", "sd", "lower", "upper", "P(sign)"]
    assert [line.split()[0] for line in lines[1:6]] == ["x0", "x1", "x2", "x3", "intercept"]
    assert len({len(line) for line in lines[:6]}) == 1
    assert lines[6:] == ["95 % credible intervals, in the units of the columns", "All is well."]


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, "high", True, np.nan])
def test_levels_that_make_no_sense(level):
    with pytest.raises(ValueError, match=r"level=.*: level must be"):
        interval_tails("summary", level)


def test_tails():
    assert_allclose(interval_tails("summary", 0.9), [0.05, 0.95])
