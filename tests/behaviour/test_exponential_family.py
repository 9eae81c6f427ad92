# SPDX-License-Identifier: BSD-3-Clause
"""One family for all columns: linear separators, shared scales, priors, and samples."""

import numpy as np
import pytest
from scipy import optimize, sparse, stats

from separatrix.exceptions import NoEstimateError
from separatrix.families import FAMILIES, Bernoulli, Poisson, ValueCounts
from separatrix.generative import ExponentialFamilyClassifier, LinearDiscriminantAnalysis, NaiveBayes
from separatrix.generative.densities import GroupedDensity, affine_form, density_of, log_prior, prior_of
from separatrix.stats import Group

RNG = np.random.default_rng(11)
N = 240
t = RNG.integers(0, 2, N)
ROWS = {
    "normal": RNG.normal(5 + t[:, None], 2, (N, 3)),
    "bernoulli": (RNG.random((N, 3)) < 0.3 + 0.3 * t[:, None]).astype(float),
    "poisson": RNG.poisson(2 + 2 * t[:, None], (N, 3)).astype(float),
    "exponential": RNG.exponential(1 + t[:, None], (N, 3)),
    "gamma": RNG.gamma(3.0, 1 + t[:, None], (N, 3)),
    "beta": RNG.beta(2 + t[:, None], 3, (N, 3)),
    "categorical": RNG.binomial(3, 0.3 + 0.3 * t[:, None], (N, 3)).astype(float),
    "multinomial": np.array([RNG.multinomial(8, [0.2, 0.3, 0.5] if k else [0.5, 0.3, 0.2]) for k in t], float),
    "dirichlet": np.array([RNG.dirichlet([2, 3, 5] if k else [5, 3, 2]) for k in t]),
    "multivariate_normal": RNG.normal(5 + t[:, None], 2, (N, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]]),
    "normal_known_variance": RNG.normal(5 + t[:, None], 2, (N, 3)),
}
LINEAR = ["normal", "bernoulli", "poisson", "exponential", "gamma", "multinomial", "multivariate_normal"]


@pytest.mark.parametrize("estimate", ["map", "ml"])
@pytest.mark.parametrize("family", LINEAR)
def test_log_odds_are_the_linear_form(family, estimate):
    """PRML (4.85): σ(w'x + w0) is p(C_1 | x), from densities computed without it."""
    X = ROWS[family]
    model = ExponentialFamilyClassifier(family, estimate=estimate).fit(X, t)
    a = X @ model.coef_[0] + model.intercept_[0]
    joint = model._log_joint(X)
    np.testing.assert_allclose(a, joint[:, 1] - joint[:, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), a, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-a)), atol=1e-12)


def test_the_normal_separator_is_the_textbook_one():
    """λ/s = μ/σ², ln g = -μ²/2σ²."""
    X = ROWS["normal"]
    model = ExponentialFamilyClassifier("normal", estimate="ml").fit(X, t)
    mu = np.array([X[t == k].mean(0) for k in (0, 1)])
    variance = sum(((X[t == k] - mu[k]) ** 2).sum(0) for k in (0, 1)) / N
    np.testing.assert_allclose(model.coef_[0], (mu[1] - mu[0]) / variance, rtol=1e-10)
    bias = (-(mu[1] ** 2) / 2 / variance + mu[0] ** 2 / 2 / variance).sum() + np.log((t == 1).sum() / (t == 0).sum())
    assert model.intercept_[0] == pytest.approx(bias, rel=1e-9)


def test_shared_gamma_maximises_the_likelihood():
    x = ROWS["gamma"][:, :1]
    density = ExponentialFamilyClassifier("gamma", estimate="ml").fit(x, t).densities_["gamma"]

    def cost(theta):
        a, b = np.exp(theta[0]), np.exp(theta[1:])[t]
        return -stats.gamma.logpdf(x[:, 0], a, scale=1 / b).sum()

    best = optimize.minimize(cost, np.zeros(3), tol=1e-10)
    np.testing.assert_allclose(density.shape[:, 0], np.exp(best.x[0]), rtol=1e-4)
    np.testing.assert_allclose(density.rate[:, 0], np.exp(best.x[1:]), rtol=1e-4)


def test_shared_multivariate_normal_is_linear_discriminant_analysis():
    X = ROWS["multivariate_normal"]
    model = ExponentialFamilyClassifier("multivariate_normal", estimate="ml").fit(X, t)
    np.testing.assert_allclose(
        model.predict_proba(X), LinearDiscriminantAnalysis().fit(X, t).predict_proba(X), atol=1e-10
    )


@pytest.mark.parametrize("family", sorted(set(ROWS) - {"multinomial", "dirichlet", "multivariate_normal"}))
def test_with_separate_scales_it_equals_naive_bayes(family):
    X = ROWS[family]
    one = ExponentialFamilyClassifier(family, shared_scale=False).fit(X, t)
    np.testing.assert_allclose(one.predict_log_proba(X), NaiveBayes(family).fit(X, t).predict_log_proba(X), rtol=1e-12)


@pytest.mark.parametrize("estimate", ["map", "ml", "predictive"])
@pytest.mark.parametrize("family", ["poisson", "normal", "exponential", "multinomial", "multivariate_normal"])
def test_probabilities_are_bayes_theorem_on_the_densities(family, estimate):
    X = ROWS[family][:20]
    model = ExponentialFamilyClassifier(family, shared_scale=False, estimate=estimate, priors=[0.3, 0.7]).fit(
        ROWS[family], t
    )
    density = next(iter(model.densities_.values()))
    joint = density.log_density_sum(X) + np.log([0.3, 0.7])
    np.testing.assert_allclose(model.log_density(X), np.logaddexp(*joint.T), rtol=1e-10)
    np.testing.assert_allclose(model.predict_log_proba(X), joint - np.logaddexp(*joint.T)[:, None], atol=1e-9)


@pytest.mark.parametrize("family", sorted(ROWS))
def test_a_model_fitted_to_samples_recovers_the_means(family):
    model = ExponentialFamilyClassifier(family, shared_scale=False).fit(ROWS[family], t)
    X, y = model.sample(6000, rng=0)
    again = ExponentialFamilyClassifier(family, shared_scale=False).fit(X, y)
    first, second = next(iter(model.densities_.values())), next(iter(again.densities_.values()))
    if family == "categorical":
        first, second = first.by_code, second.by_code
    error = 5 * np.sqrt(np.abs(spread(first)) / 3000) + 0.01 * np.abs(first.mean) / 10
    assert (np.abs(first.mean - second.mean) < error).all()


def spread(density):
    variance = density.variance
    return np.diagonal(variance, axis1=-2, axis2=-1) if variance.ndim > density.mean.ndim else variance


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "exponential", "multinomial", "normal"])
def test_sparse_rows_give_the_same_model(family):
    X = ROWS[family] * (RNG.random((N, 3)) < 0.5)
    dense = ExponentialFamilyClassifier(family).fit(X, t)
    few = ExponentialFamilyClassifier(family).fit(sparse.csr_array(X), t)
    np.testing.assert_allclose(few.predict_log_proba(sparse.csr_array(X)), dense.predict_log_proba(X), rtol=1e-9)
    np.testing.assert_allclose(few.log_density(sparse.csr_array(X)), dense.log_density(X), rtol=1e-9)


R = np.eye(2)[t]


def facts_of(family, R=R):
    statistics = ValueCounts.of if family == "categorical" else FAMILIES[family].facts
    return statistics(ROWS[family], R)


@pytest.mark.parametrize("family", ROWS)
def test_a_weak_prior_gives_maximum_likelihood_and_a_strong_one_equal_classes(family):
    facts, x = facts_of(family), ROWS[family][:5]
    ml = density_of(family, facts, "ml").log_density_sum(x)
    almost = density_of(family, facts, "map", prior_of(family, facts, 1e-9)).log_density_sum(x)
    np.testing.assert_allclose(almost, ml, rtol=1e-6, atol=1e-6)
    stubborn = density_of(family, facts, "map", prior_of(family, facts, 1e9)).log_density_sum(x)
    np.testing.assert_allclose(stubborn[:, 0], stubborn[:, 1], atol=1e-4)


@pytest.mark.parametrize("family", [name for name in ROWS if name != "normal_known_variance"])
def test_the_mode_maximises_likelihood_plus_log_prior(family):
    """What EM's M step must do, checked against distributions of jittered responsibilities."""
    prior = prior_of(family, facts_of(family), 2.5)

    def objective(responsibilities):
        density = density_of(family, facts_of(family, responsibilities), "map", prior)
        return float((R * density.log_density_sum(ROWS[family])).sum()) + log_prior(prior, density)

    for seed in range(4):
        jitter = 1e-2 * np.random.default_rng(seed).normal(size=R.shape)
        for near in (R + jitter, R - jitter):
            assert objective(np.clip(near, 1e-6, None)) < objective(R)


def test_the_known_variance_includes_the_prior():
    """σ² minimises the penalised sum of squares: (Σ S_k + c var)/(N + c)."""
    facts = facts_of("normal_known_variance")
    prior = prior_of("normal_known_variance", facts, 4.0)
    x = ROWS["normal_known_variance"]
    within = sum(((x[t == k] - x[t == k].mean(0)) ** 2).sum(0) for k in range(2))
    np.testing.assert_allclose(prior.sd[0] ** 2, (within + 4 * x.var(axis=0)) / (N + 4), rtol=1e-12)


def test_the_linear_forms_of_groups_add():
    rng = np.random.default_rng(2)
    densities = (Bernoulli(rng.normal(size=(3, 2))), Poisson(rng.gamma(2, 1, (3, 2))))
    both = GroupedDensity((Group("bernoulli", (1, 3)), Group("poisson", (0, 2))), densities)
    X = rng.integers(0, 2, (6, 4)).astype(float)
    exact = both.log_density(X, "abcd")
    np.testing.assert_allclose(np.diff(affine_form(both).scores(X), axis=1), np.diff(exact, axis=1), rtol=1e-10)


def test_a_row_that_no_class_allows_has_the_log_odds_of_the_prior():
    model = ExponentialFamilyClassifier("categorical", estimate="ml").fit([[0], [1], [0], [2], [0]], [0, 1, 0, 1, 0])
    np.testing.assert_allclose(model.predict_proba([[3]]), [[0.6, 0.4]])
    np.testing.assert_allclose(model.decision_function([[3], [0]]), [np.log(2 / 3), -np.inf])


@pytest.mark.parametrize("scale", [5e-324, 1e305])
def test_values_beyond_the_range_of_an_estimate_are_named(scale):
    model = ExponentialFamilyClassifier("exponential", pseudo_count=1e6)
    with pytest.raises(NoEstimateError, match="Family 'exponential': values of 'x0' are too large or too small"):
        model.fit(np.full((4, 1), scale), [0, 1, 0, 1])


def test_the_pseudo_count_has_a_range():
    with pytest.raises(
        ValueError, match=r"pseudo_count=1e\+308\): pseudo_count must be a finite number, between 1e-100"
    ):
        ExponentialFamilyClassifier(pseudo_count=1e308).fit([[0.0], [1.0]], [0, 1])
