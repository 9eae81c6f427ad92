"""One family for all columns: its linear separator, shared scales, vectors, and draws that are recovered."""

import numpy as np
import pytest
from scipy import optimize, sparse, stats

from separatrix.exceptions import DataError
from separatrix.generative import ExponentialFamilyClassifier, LinearDiscriminantAnalysis, NaiveBayes

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
    "categorical": RNG.integers(0, 3 + t[:, None], (N, 3)).astype(float),
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


def test_scales_of_their_own_make_curved_boundaries():
    for family in ("normal", "gamma", "multivariate_normal"):
        model = ExponentialFamilyClassifier(family, shared_scale=False).fit(ROWS[family], t)
        with pytest.raises(AttributeError, match="no linear form: the log-odds are not linear in column 'x0'"):
            _ = model.coef_


@pytest.mark.parametrize("family", sorted(set(ROWS) - {"multinomial", "dirichlet", "multivariate_normal"}))
def test_with_scales_of_their_own_it_is_naive_bayes(family):
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
def test_drawn_rows_lie_in_the_support_and_fit_again(family):
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


def test_three_classes_have_a_row_each():
    y = RNG.integers(0, 3, N)
    model = ExponentialFamilyClassifier("poisson").fit(ROWS["poisson"], y)
    scores = ROWS["poisson"] @ model.coef_.T + model.intercept_
    odds = scores - scores[:, :1]
    log_proba = model.predict_log_proba(ROWS["poisson"])
    np.testing.assert_allclose(odds, log_proba - log_proba[:, :1], atol=1e-10)


def test_far_out_log_probabilities_keep_their_digits():
    model = ExponentialFamilyClassifier("normal").fit(ROWS["normal"], t)
    x = np.full((1, 3), -1e6)
    a = float(x[0] @ model.coef_[0] + model.intercept_[0])
    assert a < -1e5
    np.testing.assert_allclose(model.predict_log_proba(x), [[0.0, a]], rtol=1e-9)


def test_bad_arguments_are_named():
    for kwargs, message in [
        ({"family": "gaussian"}, "family='gaussian'\\): choose one of 'bernoulli', 'categorical'"),
        ({"estimate": "mle"}, "estimate='mle'\\): choose one of 'ml', 'map', 'predictive'"),
        ({"pseudo_count": 0}, "pseudo_count=0\\): pseudo_count must be a finite number greater than 0"),
        ({"family": "gamma", "estimate": "predictive"}, "the predictive has no closed form"),
    ]:
        with pytest.raises(ValueError, match=message):
            ExponentialFamilyClassifier(**kwargs).fit(ROWS["gamma"], t)


def test_parts_of_a_whole_may_not_be_missing():
    X = ROWS["multinomial"].copy()
    X[3, 1] = np.nan
    with pytest.raises(DataError, match="Column 'x1' has 1 missing values \\(NaN\\), but the columns are parts"):
        ExponentialFamilyClassifier("multinomial").fit(X, t)
