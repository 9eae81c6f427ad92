"""`posterior_` alone determines what a model predicts, for each form that a posterior can have."""

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

import separatrix as sx
from benchmarks.golden import customers, linear
from separatrix.bayesian import AveragedApproximation
from separatrix.weights import Marginals, NormalApproximation, WeightDistribution

pytestmark = pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")

STATED = {"prior": sx.Gaussian(1.0), "rng": 0}
TWO = {
    "laplace": ({**STATED, "approximation": "laplace"}, (40, 3)),
    "ep": ({**STATED, "approximation": "ep"}, (20, 3)),
    "draws": ({**STATED, "prior": sx.Gaussian(10.0), "approximation": "importance"}, (20, 2)),
    "mixture": ({"approximation": "laplace", "rng": 0}, (20, 8)),
    "dual": ({**STATED, "approximation": "laplace", "structure": "dual"}, (15, 20)),
    "dual mixture": ({"approximation": "laplace", "structure": "dual", "tune": "evidence", "rng": 0}, (15, 40)),
    "dual ep": ({**STATED, "structure": "dual"}, (15, 40)),
    "diagonal": ({**STATED, "structure": "diagonal"}, (40, 3)),
    "no intercept": ({**STATED, "approximation": "laplace", "fit_intercept": False}, (40, 3)),
}
CLASSES = {
    "softmax": ({**STATED, "approximation": "laplace"}, (60, 3, 3)),
    "softmax draws": ({**STATED, "approximation": "importance"}, (40, 2, 3)),
    "softmax by class": ({**STATED, "structure": "by class"}, (60, 3, 4)),
    "softmax mean field": ({**STATED, "structure": "mean field"}, (60, 3, 3)),
}
FORMS = TWO | CLASSES
GAUSSIAN = [name for name in FORMS if "draws" not in name and "mixture" not in name]


@cache
def fitted(name):
    """A model with this form of posterior, and the rows."""
    if name == "arrow":
        table, y = customers(12_000, 2, 1100)
        model = sx.TableClassifier().fit(table, y)
        return model.estimator_, model.encoder_.transform(table[:20])
    options, shape = FORMS[name]
    X, y = linear(*shape, scale=2.0)
    X = X * [1.0, 10.0, *np.ones(shape[1] - 2)] + 3.0  # units and origins
    return sx.BayesianLogisticRegression(**options).fit(X, y), X


def functions_of(q, X):
    """Rows as linear functions of (w, w0)."""
    return np.column_stack([X, np.ones(len(X))])[:, : q.design.width]


def test_the_forms_are_those_that_their_names_say():
    assert isinstance(fitted("mixture")[0].posterior_.approximation, AveragedApproximation)
    assert len(fitted("dual mixture")[0].posterior_.approximation.parts) > 1
    assert fitted("ep")[0].posterior_.approximation.moments is not None
    assert fitted("dual ep")[0].posterior_.approximation.thin.name == "ep"
    for name in ("draws", "softmax draws"):
        assert fitted(name)[0].posterior_.draws is not None
    found = [fitted(name)[0].posterior_.structure for name in ("softmax by class", "diagonal", "softmax mean field")]
    assert found == ["by class", "diagonal", "diagonal"]


@pytest.mark.parametrize("name", TWO)
def test_probabilities_are_averages_over_the_activations_of_the_posterior(name):
    model, X = fitted(name)
    q, z = model.posterior_, np.linspace(-9, 9, 1801)
    if q.draws is not None:
        q = replace(q, draws=replace(q.draws, for_averages=True))
        model = copy.copy(model)
        model.posterior_ = q
        p = special.expit(q.design.regressors(X) @ q.draws.theta[:, 0].T) @ q.draws.weights
    else:
        parts = [part.activations(X, q.design) for part in q.approximation.parts]
        p = sum(
            weight * special.expit(a.mean[:, None] + np.sqrt(a.cov)[:, None] * z) @ (stats.norm.pdf(z) * (z[1] - z[0]))
            for weight, a in zip(q.approximation.part_weights, parts, strict=True)
        )
    assert_allclose(model.predict_proba(X)[:, 1], p, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in TWO if "ep" not in name])  # its moments are wider than its averages
def test_bounds_are_quantiles_of_the_activations_as_functions_of_the_weights(name):
    model, X = fitted(name)
    q = model.posterior_
    bounds = q.functions(functions_of(q, X)).quantiles(np.array([0.1, 0.9]))
    assert_allclose(special.logit(model.predict_interval(X, 0.8)), bounds, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", FORMS)
def test_a_summary_describes_the_samples(name):
    model, _ = fitted(name)
    summary, n, P = model.summary(level=0.8), 20_000, len(model.posterior_.names)
    W = model.posterior_.sample(n, rng=0).reshape(n, -1, P)
    W = W - W.mean(axis=1, keepdims=True) if W.shape[1] > 1 else W
    W = np.roll(W, name != "no intercept", axis=-1).reshape(n, -1)  # tables begin with the intercept
    assert_allclose((W.mean(axis=0) - summary.coefficient) / summary.standard_error, 0, atol=0.05)
    assert_allclose(W.std(axis=0), summary.standard_error, rtol=0.04)
    for bound, level in ((summary.lower, 0.1), (summary.upper, 0.9)):
        assert_allclose((bound > W).mean(axis=0), level, atol=0.02)
    assert_allclose((W * np.sign(summary.coefficient) > 0).mean(axis=0), summary.probability_of_sign, atol=0.02)


@pytest.mark.parametrize("name", [*GAUSSIAN, "arrow"])
def test_functions_of_a_gaussian_have_the_variances_of_its_covariance(name):
    q = fitted(name)[0].posterior_
    rng, P = np.random.default_rng(0), len(q.names)
    L, C = rng.normal(size=(4, P)), q.mean.size // P
    Q = rng.normal(size=(2, C)) if C > 1 else np.eye(1)
    S = q.covariance.reshape(C, P, C, P)
    expected = np.sqrt(np.einsum("np,kc,cpdr,kd,nr->nk", L, Q, S, Q, L, optimize=True))
    found = q.functions(L, Q)
    assert_allclose(found.std.reshape(4, -1), expected, rtol=1e-6)
    assert_allclose(found.mean.reshape(4, -1), L @ q.mean.reshape(C, P).T @ Q.T, rtol=1e-8, atol=1e-10)
    assert_allclose(np.ravel(q.std), np.sqrt(np.diag(q.covariance)), rtol=1e-6)


@pytest.mark.parametrize("name", ["laplace", "draws", "mixture", "dual mixture", "softmax draws", "softmax mean field"])
def test_a_saved_posterior_is_the_same(name, tmp_path):
    model, X = fitted(name)
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    q, L = again.posterior_, functions_of(model.posterior_, X)
    assert np.array_equal(q.functions(L).means, model.posterior_.functions(L).means)
    assert q.variance_factor == model.posterior_.variance_factor
    for method in ("predict_proba", "predict_interval", "decision_distribution"):
        assert np.array_equal(getattr(again, method)(X), getattr(model, method)(X))


@pytest.mark.parametrize("name", [name for name in TWO if name != "no intercept"])
def test_a_shift_of_the_intercept_moves_every_activation(name):
    model, X = fitted(name)
    other, moved = copy.copy(model), model.posterior_.shifted(np.array([0.7]))
    other.posterior_ = moved
    before, after = (each.predict_interval(X) for each in (model, other))
    assert_allclose(after, special.expit(special.logit(before) + 0.7), atol=1e-9)
    assert_allclose(other.decision_distribution(X).variance, model.decision_distribution(X).variance, rtol=1e-9)
    assert_allclose(moved.sample(5, rng=0) - model.posterior_.sample(5, rng=0), [[0.0] * X.shape[1] + [0.7]] * 5)


@pytest.mark.parametrize("name", ["laplace", "draws", "mixture", "softmax", "softmax mean field"])
def test_averages_without_variance_are_probabilities_at_the_mean(name):
    model, X = fitted(name)
    other, at_mean = copy.copy(model), copy.copy(model).set_params(predictive="map")
    other.posterior_ = replace(model.posterior_, variance_factor=0.0)
    assert np.array_equal(other.predict_proba(X), at_mean.predict_proba(X))
    assert np.array_equal(other.predict_with_error(X)[0], at_mean.predict_proba(X))
    assert np.array_equal(other.predict_interval(X), model.predict_interval(X))
    a = model.decision_function(X)
    expected = special.softmax(a, axis=1) if a.ndim > 1 else special.expit(a)
    assert_allclose(other.predict_proba(X)[:, 1] if a.ndim == 1 else other.predict_proba(X), expected, atol=1e-12)


def test_a_weight_distribution_distribution_answers_the_same_questions():
    X, y = linear(60, 3)
    model = sx.GeneralizedLinearModel("gaussian").fit(X, X @ [1.0, 2.0, 0.0] + y)
    q, summary = model.weight_distribution_, model.summary()
    each = q.functions(np.eye(4)[[3, 0, 1, 2]])
    assert_allclose(each.std, summary.standard_error, rtol=1e-10)
    assert_allclose(each.quantiles(np.array([0.025, 0.975])), np.column_stack([summary.lower, summary.upper]))
    limits = q.functions(functions_of(q, X)).quantiles(np.array([0.025, 0.975]))
    assert_allclose(model.predict_interval(X), limits, rtol=1e-10)
    W = q.sample(20_000, rng=0)
    assert_allclose(np.cov(W.T), model.covariance_, atol=0.05 * q.std.max() ** 2)


def test_several_outputs_and_a_singular_covariance_are_possible():
    rng = np.random.default_rng(0)
    X, R = rng.normal(size=(5, 2)), rng.normal(size=(9, 4))
    mean, S = rng.normal(size=(3, 3)), R @ R.T
    design = fitted("softmax")[0].posterior_.design
    design = replace(design, origin=np.array([1.0, -2.0]), spread=None)
    q = WeightDistribution(NormalApproximation(mean, S), design, ("a", "b", "intercept"))
    A = np.stack([np.kron(np.eye(3), phi) for phi in design.regressors(X)])
    found = q.activations(X)
    assert_allclose(found.mean, A @ mean.ravel(), rtol=1e-12)
    assert_allclose(found.cov, A @ S @ A.transpose(0, 2, 1), rtol=1e-10, atol=1e-10)
    assert q.log_evidence is None
    W = q.sample(50_000, rng=0).reshape(50_000, -1)
    assert_allclose(np.cov(W.T), q.covariance, atol=0.05 * q.covariance.max())


def test_quantiles_of_one_gaussian_of_a_mixture_of_equals_and_of_a_t():
    rng, levels = np.random.default_rng(0), np.array([0.05, 0.5, 0.9])
    mean, std = rng.normal(size=(1, 4)), rng.uniform(0.5, 2.0, size=(1, 4))
    one = Marginals(np.ones(1), mean, std)
    assert_allclose(one.quantiles(levels), stats.norm(mean.T, std.T).ppf(levels), rtol=1e-10)
    twice = Marginals(np.array([0.3, 0.7]), np.tile(mean, (2, 1)), np.tile(std, (2, 1)))
    assert_allclose(twice.quantiles(levels), one.quantiles(levels), atol=1e-10)
    student = replace(one, freedom=4.0)
    assert_allclose(student.quantiles(levels), mean.T + std.T * stats.t(4).ppf(levels), rtol=1e-10)
    assert_allclose(student.probability_of_sign, stats.t(4).cdf(np.abs(mean / std))[0], rtol=1e-10)
    assert_allclose(one.probability_of_sign, stats.norm.cdf(np.abs(mean / std))[0], rtol=1e-10)
