"""Logistic and softmax regression: the objective, its optimum, and known limits."""

import numpy as np
import pytest
from scipy import special

import separatrix as sx
from problems import blobs

X, Y = blobs(150, n_classes=2, distance=0.5)
X3, Y3 = blobs(180, n_classes=3, distance=0.5)


def score_equations(model, X, T):
    """Σ_n (t_n - p_n) φ_n', for weights and bias: (K, M + 1)."""
    residual = T - model.predict_proba(X)
    return np.column_stack([residual.T @ X, residual.sum(axis=0)])


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0, 30.0])
@pytest.mark.parametrize(("X", "y"), [(X, Y), (X3, Y3)], ids=["two", "three"])
def test_at_the_optimum_the_residuals_are_balanced_by_the_prior(alpha, X, y):
    """PRML (4.91), (4.109) with a prior: Σ (t - p) x = alpha w. The bias has no prior, so Σ (t - p) = 0."""
    model = sx.LogisticRegression(alpha=alpha, tol=1e-11).fit(X, y)
    score = score_equations(model, X, np.eye(y.max() + 1)[y])
    score = score[1:] if len(model.coef_) == 1 else score
    np.testing.assert_allclose(score[:, :-1], alpha * model.coef_, atol=1e-7)
    np.testing.assert_allclose(score[:, -1], 0.0, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_strong_prior_gives_the_class_proportions(n_classes):
    X, y = blobs(150, n_classes=n_classes)
    model = sx.LogisticRegression(alpha=1e12).fit(X, y)
    assert np.abs(model.coef_).max() < 1e-8
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(model.predict_proba(X), np.tile(shares, (len(y), 1)), atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_two_groups_have_their_own_log_odds(alpha):
    """One dummy: without a prior the probabilities are those of the two by two table."""
    x = np.repeat([0.0, 1.0], [40, 60])[:, None]
    y = np.concatenate([np.repeat([0, 1], [30, 10]), np.repeat([0, 1], [15, 45])])
    model = sx.LogisticRegression(alpha=alpha, tol=1e-11).fit(x, y)
    if alpha == 0:
        assert model.intercept_[0] == pytest.approx(np.log(10 / 30), rel=1e-8)
        assert model.coef_[0, 0] == pytest.approx(np.log(45 / 15) - np.log(10 / 30), rel=1e-8)
    else:
        assert 0 < model.coef_[0, 0] < np.log(45 / 15) - np.log(10 / 30)


def test_normal_classes_with_one_covariance_have_the_weights_of_linear_discriminant_analysis():
    """PRML (4.66): both are consistent for Σ⁻¹(μ₁ - μ₀); on many rows they agree."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=40_000)
    X = rng.normal(size=(len(y), 3)) + np.outer(y, [1.0, -0.5, 0.0])
    logistic = sx.LogisticRegression(alpha=0.0).fit(X, y)
    lda = sx.LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(logistic.coef_[0], [1.0, -0.5, 0.0], atol=0.05)
    np.testing.assert_allclose(logistic.coef_, lda.coef_, atol=0.02)


@pytest.mark.parametrize(
    ("kind", "n_classes"), [(sx.LogisticRegression, 2), (sx.LogisticRegression, 3), (sx.ProbitRegression, 2)]
)
def test_a_soft_target_equals_one_weighted_row_per_class(kind, n_classes, rng):
    X, _ = blobs(150, n_classes=n_classes)
    T = rng.dirichlet(np.full(n_classes, 0.5), size=150)
    weight = rng.uniform(0.1, 2.0, size=150)
    soft = kind(tol=1e-11).fit(X, T, sample_weight=weight)
    rows = np.repeat(X, n_classes, axis=0)
    labels = np.tile(np.arange(n_classes), 150)
    split = kind(tol=1e-11).fit(rows, labels, sample_weight=(weight[:, None] * T).ravel())
    np.testing.assert_allclose(soft.coef_, split.coef_, atol=1e-8)


def test_soft_targets_from_a_model_recover_its_weights(rng):
    X = rng.normal(size=(300, 4))
    W, w0 = rng.normal(size=(3, 4)), rng.normal(size=3)
    model = sx.LogisticRegression(alpha=0.0, tol=1e-12).fit(X, special.softmax(X @ W.T + w0, axis=1))
    np.testing.assert_allclose(model.coef_, W - W.mean(axis=0), atol=1e-7)
    np.testing.assert_allclose(model.intercept_, w0 - w0.mean(), atol=1e-7)


def test_a_prior_replaces_alpha():
    by_alpha = sx.LogisticRegression(alpha=4.0, tol=1e-11).fit(X, Y)
    for prior in (sx.Gaussian(0.5), sx.Gaussian([0.5] * 4), sx.Gaussian(covariance=0.25 * np.eye(4))):
        model = sx.LogisticRegression(prior=prior, alpha=99.0, tol=1e-11).fit(X, Y)
        np.testing.assert_allclose(model.coef_, by_alpha.coef_, atol=1e-8)
    flat = sx.LogisticRegression(prior=sx.Flat(), tol=1e-11).fit(X, Y)
    np.testing.assert_allclose(flat.coef_, sx.LogisticRegression(alpha=0.0, tol=1e-11).fit(X, Y).coef_, atol=1e-8)


def test_a_narrow_prior_gives_its_mean():
    mean = np.array([1.0, -1.0, 0.5, 0.0])
    model = sx.LogisticRegression(prior=sx.Gaussian(1e-5, mean=mean)).fit(X, Y)
    np.testing.assert_allclose(model.coef_[0], mean, atol=1e-6)


def test_the_prior_of_the_bias_refers_to_x_zero_in_user_units(rng):
    """With intercept_scale the shift of the data matters, and the optimum balances the bias too."""
    moved = X + 3.0
    model = sx.LogisticRegression(prior=sx.Gaussian(1.0, intercept_scale=0.5), tol=1e-11).fit(moved, Y)
    score = score_equations(model, moved, np.eye(2)[Y])[1]
    np.testing.assert_allclose(score[:-1], model.coef_[0], atol=1e-6)
    assert score[-1] == pytest.approx(model.intercept_[0] / 0.25, abs=1e-6)


def test_two_rows_are_enough():
    model = sx.LogisticRegression(tol=1e-12).fit([[0.0], [1.0]], [0, 1])
    w = model.coef_[0, 0]
    assert w == pytest.approx(special.expit(-w / 2), rel=1e-9)  # alpha w = Σ (t - p) x, with the boundary at 1/2
    assert model.intercept_[0] == pytest.approx(-w / 2, rel=1e-9)


def test_the_intercept_is_zero_if_it_is_not_fitted():
    model = sx.LogisticRegression(fit_intercept=False, tol=1e-11).fit(X, Y)
    assert model.intercept_.tolist() == [0.0]
    np.testing.assert_allclose(score_equations(model, X, np.eye(2)[Y])[1, :-1], model.coef_[0], atol=1e-7)
    assert sx.LogisticRegression(fit_intercept=False).fit(X3, Y3).intercept_.tolist() == [0.0, 0.0, 0.0]
