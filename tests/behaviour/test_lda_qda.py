# SPDX-License-Identifier: BSD-3-Clause
"""Linear and quadratic discriminant analysis against scikit-learn, SciPy and the equations of the book."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import expit, softmax
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf as sklearn_ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as SklearnQDA

import separatrix as sx
from problems import blobs
from separatrix.generative.gaussian import maximum_evidence
from separatrix.generative.qda import shared_rows


@pytest.mark.parametrize("n_classes", [2, 4])
def test_lda_agrees_with_scikit_learn(n_classes):
    X, y = blobs(200, n_classes=n_classes)
    ours, theirs = sx.LinearDiscriminantAnalysis().fit(X, y), SklearnLDA(solver="lsqr").fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert_allclose(ours.coef_[0] - ours.coef_[-1], theirs.coef_[0] - theirs.coef_[-1], rtol=1e-8, atol=1e-10)
    assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-10)


def test_equation_4_65_two_classes_are_a_sigmoid_of_the_linear_form():
    X, y = blobs(200, n_classes=2)
    model = sx.LinearDiscriminantAnalysis().fit(X, y)
    a = X @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(X), a, rtol=1e-9, atol=1e-10)
    assert_allclose(model.predict_proba(X)[:, 1], expit(a), rtol=1e-9)


def test_equation_4_62_K_classes_are_a_softmax_of_the_linear_forms():
    X, y = blobs(200, n_classes=4)
    model = sx.LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(model.predict_proba(X), softmax(X @ model.coef_.T + model.intercept_, axis=1), rtol=1e-8)


def test_maximum_likelihood_gives_fishers_direction():
    X, y = blobs(200, n_classes=2)
    assert_allclose(sx.LinearDiscriminantAnalysis().fit(X, y).coef_, sx.FisherDiscriminant().fit(X, y).coef_, rtol=1e-9)


@pytest.mark.parametrize("estimate", ["ml", "map", "predictive"])
@pytest.mark.parametrize("kind", [sx.LinearDiscriminantAnalysis, sx.QuadraticDiscriminantAnalysis])
def test_more_columns_than_rows_are_fitted_as_by_the_dense_computation(kind, estimate, rng):
    """Rows in two batches, or with copies, are more than factors can hold: covariances are dense."""
    X, y = rng.normal(size=(18, 40)), np.arange(18) % 2
    X[y == 1] += 0.5
    wide, batches, copies = (kind(shrinkage=0.3, estimate=estimate) for _ in range(3))
    wide.fit(X, y)
    copies.fit(np.repeat(X, 3, axis=0), np.repeat(y, 3), sample_weight=np.full(54, 1 / 3))
    for rows in (slice(0, 9), slice(9, 18)):
        batches.partial_fit(X[rows], y[rows])
    for rows in (X, np.where(np.arange(40) == 5, np.nan, X)):  # without and with missing values
        for dense in (batches, copies):
            assert_allclose(wide.predict_log_proba(rows), dense.predict_log_proba(rows), rtol=1e-6, atol=1e-8)
    if estimate == "ml":
        Z = X - wide.means_[y]
        pooled = Z.T @ Z / 18
        first = pooled if kind is sx.LinearDiscriminantAnalysis else Z[y == 0].T @ Z[y == 0] / 9
        expected = 0.7 * first + 0.3 * np.diag(np.diag(pooled))
        assert_allclose(wide.covariance_.reshape(-1, 40, 40)[0], expected, rtol=1e-9, atol=1e-12)


def test_the_predictive_is_less_confident_with_few_rows_and_agrees_with_many():
    X, y = blobs(4000, n_classes=2)
    few = {e: sx.LinearDiscriminantAnalysis(estimate=e).fit(X[:15], y[:15]) for e in ("ml", "predictive")}
    surer = [np.abs(m.predict_proba(X)[:, 1] - 0.5).mean() for m in few.values()]
    assert surer[1] < surer[0]
    many = [sx.LinearDiscriminantAnalysis(estimate=e).fit(X, y).predict_proba(X) for e in ("ml", "map", "predictive")]
    assert_allclose(many[1], many[0], atol=5e-3)
    assert_allclose(many[2], many[0], atol=5e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_qda_agrees_with_scipy_and_scikit_learn(n_classes):
    """Theirs divides by N_k - 1 in some versions; compared through the covariance it then has."""
    X, y = blobs(300, n_classes=n_classes)
    ours = sx.QuadraticDiscriminantAnalysis().fit(X, y)
    classes = [X[y == k] for k in range(n_classes)]
    densities = [multivariate_normal(Z.mean(axis=0), np.cov(Z.T, ddof=0)).pdf(X) for Z in classes]
    P = ours.priors_ * np.column_stack(densities)
    assert_allclose(ours.predict_proba(X), P / P.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-14)
    assert_allclose(ours.predict_proba(X), SklearnQDA(solver="eigen").fit(X, y).predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_quadratic_form_gives_the_log_odds(n_classes):
    X, y = blobs(300, n_classes=n_classes)
    model = sx.QuadraticDiscriminantAnalysis().fit(X, y)
    a = np.einsum("nm,kml,nl->nk", X, model.quadratic_, X) + X @ model.coef_.T + model.intercept_
    if n_classes == 2:
        assert_allclose(model.decision_function(X), a[:, 0], rtol=1e-8, atol=1e-9)
    else:
        log_p = model.predict_log_proba(X)
        assert_allclose(a - a[:, :1], log_p - log_p[:, :1], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("n", [30, 200])
def test_ledoit_wolf_agrees_with_scikit_learn_on_standardised_rows(n):
    X, y = blobs(n, n_features=6, n_classes=2)
    model = sx.LinearDiscriminantAnalysis(shrinkage="ledoit-wolf").fit(X, y)
    Z = X - np.stack([X[y == k].mean(axis=0) for k in (0, 1)])[y]
    _, expected = sklearn_ledoit_wolf(Z / Z.std(axis=0), assume_centered=True)
    assert_allclose(model.shrinkage_, expected, rtol=1e-9)
    assert model.n_passes_ == 2


def log_marginal(S, n, c):
    """ln ∫ Wishart(S | Σ, n) IW(Σ | c I, c + M + 1) dΣ, by SciPy's densities and Bayes' rule at one Σ."""
    M = len(S)
    Sigma = S / n
    prior = stats.invwishart(c + M + 1, c * np.eye(M)).logpdf(Sigma)
    posterior = stats.invwishart(c + M + 1 + n, c * np.eye(M) + S).logpdf(Sigma)
    return stats.wishart(n, Sigma).logpdf(S) + prior - posterior


def test_evidence_shrinkage_maximises_the_marginal_likelihood(rng):
    M, n = 5, 20
    S = stats.wishart(n, np.eye(M) + 0.5).rvs(random_state=1)
    D = np.diag(S) / n
    C = S / np.sqrt(np.outer(D, D))
    chosen = maximum_evidence(np.linalg.eigvalsh(C), n)
    grid = np.linspace(0.005, 0.995, 400)
    best = grid[np.argmax([log_marginal(C, n, n * g / (1 - g)) for g in grid])]
    assert chosen == pytest.approx(best, abs=0.005)


@pytest.mark.parametrize("model", [sx.LinearDiscriminantAnalysis, sx.QuadraticDiscriminantAnalysis])
def test_evidence_shrinkage_improves_predictions_with_few_rows(model):
    """Averaged over seeds: held-out log probabilities with λ by evidence beat those without shrinkage."""
    gains = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.arange(1000) % 2
        X = rng.normal(size=(1000, 12)) + 0.5 * rng.normal(size=(1000, 1)) + 0.4 * y[:, None]
        few, rest = slice(0, 50), slice(50, 1000)
        scores = [
            model(shrinkage=s).fit(X[few], y[few]).predict_log_proba(X[rest])[np.arange(950), y[rest]].mean()
            for s in ("evidence", 0.0)
        ]
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0.05


def test_moderated_variances_maximise_the_likelihood_of_f_ratios(rng):
    """Against SciPy's F distribution, for variances drawn from the prior."""
    c, n, D = 6.0, np.array([[12.0], [30.0]]), np.full((2, 400), 3.0)
    sigma2 = c * D / rng.chisquare(c, size=D.shape)
    squares = sigma2 * rng.chisquare(n, size=D.shape)
    found = shared_rows(squares, n, D)
    grid = np.linspace(0.5, 2.0, 301) * found
    likelihood = [stats.f(n, each).logpdf(squares / (n * D)).sum() for each in grid]
    assert grid[np.argmax(likelihood)] == pytest.approx(found, rel=0.01)
    assert found == pytest.approx(c, rel=0.15)


@pytest.mark.parametrize("shrinkage", ["ledoit-wolf", "evidence"])
def test_estimated_shrinkage_of_qda_keeps_different_variances_of_classes(shrinkage):
    """The problem of scikit-learn's test_qda_shrinkage_performance: few rows, and classes that differ in variance."""
    scores = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        std = np.sqrt([rng.uniform(2.0, 3.0, size=25), rng.uniform(0.2, 1.0, size=25)])
        y = np.arange(1100) % 2
        X = rng.normal(size=(1100, 25)) * std[y]
        few, rest = slice(0, 100), slice(100, 1100)
        models = sx.QuadraticDiscriminantAnalysis(shrinkage=shrinkage), SklearnQDA(solver="eigen", shrinkage="auto")
        scores.append([np.mean((m.fit(X[few], y[few]).predict_proba(X[rest])[:, 1] - y[rest]) ** 2) for m in models])
    ours, theirs = np.mean(scores, axis=0)
    assert ours < theirs + 1e-3
    assert 1 - ours / 0.25 > 0.96  # D²


@pytest.mark.parametrize("options", [{}, {"priors": [0.2, 0.3, 0.5]}, {"n_components": 1}], ids=str)
def test_transform_agrees_with_scikit_learn_up_to_signs(options):
    X, y = blobs(200, n_classes=3)
    ours = sx.LinearDiscriminantAnalysis(**options).fit(X, y)
    theirs = SklearnLDA(solver="svd", **options).fit(X, y)
    # scikit-learn 1.8 divides the scatter by N - K. The length is compared with the covariance below.
    mine, other = (np.abs(Z) / np.linalg.norm(Z, axis=0) for Z in (ours.transform(X), theirs.transform(X)))
    assert_allclose(mine, other, rtol=1e-8, atol=1e-10)
    assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
    V = ours.scalings_
    assert_allclose(V.T @ ours.covariance_ @ V, np.eye(V.shape[1]), atol=1e-10)
    assert ours.get_feature_names_out().tolist() == [f"lineardiscriminantanalysis{q}" for q in range(V.shape[1])]
    assert_allclose(
        ours.predict_proba(X), sx.LinearDiscriminantAnalysis(priors=ours.priors_).fit(X, y).predict_proba(X)
    )


def test_transform_is_fishers():
    X, y = blobs(200, n_classes=4)
    ours, fisher = sx.LinearDiscriminantAnalysis().fit(X, y), sx.FisherDiscriminant().fit(X, y)
    assert_allclose(np.abs(ours.transform(X)), np.abs(fisher.transform(X)), rtol=1e-8, atol=1e-9)
    wide = sx.LinearDiscriminantAnalysis(shrinkage=0.2).fit(X[:3], [0, 1, 0])
    assert wide.transform(X).shape == (200, 1)
    assert np.isnan(ours.transform(np.where(np.arange(4) == 2, np.nan, X))).all()
