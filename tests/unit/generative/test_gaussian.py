"""Missing values, unlabelled rows and the three estimates, for normal classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import separatrix as sx
from problems import blobs
from separatrix.data import as_source, memory
from separatrix.exceptions import CollinearError, DataError
from separatrix.generative.missing import marginal

MODELS = [sx.LinearDiscriminantAnalysis, sx.QuadraticDiscriminantAnalysis]
both_models = pytest.mark.parametrize("model", MODELS)


def with_gaps(X, share=0.2, seed=0):
    gaps = X.copy()
    gaps[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return gaps


def observed_log_likelihood(model, X, y):
    """ln p(y, x_seen), from the definition."""
    total = 0.0
    covariances = np.broadcast_to(model.covariance_, (len(model.classes_), *model.covariance_.shape[-2:]))
    for k in range(len(model.classes_)):
        part = marginal(X[y == k], model.means_[k], covariances[k])
        total += (-0.5 * (part.n_seen * np.log(2 * np.pi) + part.log_det + part.squared_distance)).sum()
        total += (y == k).sum() * np.log(model.priors_[k])
    return total


@both_models
def test_em_never_lowers_the_likelihood_and_ends_at_a_maximum(model, rng):
    X, y = blobs(200, n_classes=2)
    gaps = with_gaps(X)
    fitted = model().fit(gaps, y)
    assert (np.diff(fitted.solution_.trace) >= -1e-9 * abs(fitted.solution_.trace[0])).all()
    best = observed_log_likelihood(fitted, gaps, y)
    assert best == pytest.approx(fitted.solution_.trace[-1], rel=1e-6)
    for _ in range(20):  # no nearby parameters are more likely
        moved = model().fit(gaps, y)
        moved.means_ = moved.means_ + 0.05 * rng.normal(size=moved.means_.shape)
        assert observed_log_likelihood(moved, gaps, y) < best


@both_models
def test_em_does_not_depend_on_blocks(model, monkeypatch):
    X, y = blobs(200, n_classes=2)
    gaps = with_gaps(X)
    whole = model().fit(gaps, y)
    monkeypatch.setattr(memory, "block_rows", lambda width: 31)
    assert_allclose(model().fit(gaps, y).means_, whole.means_, rtol=1e-6, atol=1e-7)


@both_models
def test_gaps_cost_precision_not_bias(model):
    """Averaged over seeds, means from 20 % gaps are nearer the truth than means of complete rows alone."""
    by_em, by_deletion = [], []
    for seed in range(10):
        X, y = blobs(300, n_features=6, n_classes=2, seed=seed)
        truth = model().fit(X, y).means_
        gaps = with_gaps(X, seed=seed)
        whole = ~np.isnan(gaps).any(axis=1)
        by_em.append(np.square(model().fit(gaps, y).means_ - truth).mean())
        by_deletion.append(np.square(np.stack([gaps[whole & (y == k)].mean(axis=0) for k in (0, 1)]) - truth).mean())
    assert np.mean(by_em) < 0.5 * np.mean(by_deletion)


@both_models
def test_unlabelled_rows_help_when_the_model_is_right(model):
    gain = []
    for seed in range(15):
        X, y = blobs(600, n_features=4, n_classes=2, seed=seed, distance=1.2)
        marked = np.where(np.arange(600) < 40, y, -1)
        test = slice(300, 600)
        with_all = model(unlabelled=-1).fit(X[:300], marked[:300])
        with_few = model().fit(X[:40], y[:40])
        score = [m.predict_log_proba(X[test])[np.arange(300), y[test]].mean() for m in (with_all, with_few)]
        gain.append(score[0] - score[1])
        assert (np.diff(with_all.solution_.trace) >= -1e-9 * abs(with_all.solution_.trace[0])).all()
    assert np.mean(gain) > 0


@both_models
@pytest.mark.parametrize("marker", [-1, "missing"])
def test_ways_to_say_that_a_row_has_no_label(model, marker):
    X, y = blobs(100, n_classes=2)
    labels = np.where(np.arange(100) < 60, y, -1)
    if marker == "missing":
        labels = np.where(labels < 0, np.nan, labels)
    fitted = model(unlabelled=marker).fit(X, labels)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.class_count_.sum() == pytest.approx(100)
    with pytest.raises(DataError, match="Not one of 40 rows has a label"):
        model(unlabelled=marker).fit(X[60:], labels[60:])


@both_models
def test_gaps_and_missing_labels_together(model):
    X, y = blobs(300, n_classes=2)
    labels = np.where(np.arange(300) < 150, y, -1)
    fitted = model(unlabelled=-1).fit(with_gaps(X), labels)
    assert fitted.score(X, y) > 0.8


@both_models
def test_gaps_cannot_be_learnt_piece_by_piece(model):
    X, y = blobs(100, n_classes=2)
    with pytest.raises(DataError, match="EM over all rows"):
        model().partial_fit(with_gaps(X), y)
    with pytest.raises(DataError, match="fitted by EM"):
        model().fit(with_gaps(X), y).merge(model().fit(X, y))


@both_models
def test_a_column_or_a_class_without_values_is_named(model):
    X, y = blobs(100, n_classes=2)
    X[:, 2] = np.nan
    with pytest.raises(DataError, match="Column 'x2' has no value in any class"):
        model().fit(X, y)
    X, y = blobs(100, n_classes=2)
    X[y == 1, 2] = np.nan
    with pytest.raises(DataError, match="Column 'x2' has no value in class 1"):
        model().fit(X, y)


def test_the_predictive_is_the_student_t_of_the_conjugate_posterior():
    """Against SciPy: p(x | data) = ∫ N(x | μ, Σ) p(μ, Σ | data), by averaging over posterior draws."""
    X, y = blobs(24, n_features=2, n_classes=2)
    model = sx.QuadraticDiscriminantAnalysis(estimate="predictive").fit(X, y)
    pooled = sum(np.var(X[y == k], axis=0) * (y == k).sum() for k in (0, 1)) / 24
    for k in (0, 1):
        Xk = X[y == k]
        points = Xk[:5]
        N, S = len(Xk), np.cov(Xk.T, ddof=0) * len(Xk)
        Sigmas = stats.invwishart(1 + 3 + N - 1, np.diag(pooled) + S).rvs(20_000, random_state=k)
        rng = np.random.default_rng(k)
        density = np.zeros(5)
        for Sigma in Sigmas:
            mu = rng.multivariate_normal(Xk.mean(axis=0), Sigma / N)
            density += stats.multivariate_normal(mu, Sigma).pdf(points)
        got = np.exp(model.predict_log_proba(points)[:, k] + model.log_density(points)) / model.priors_[k]
        assert_allclose(got, density / 20_000, rtol=0.05)


def test_the_map_is_the_mode_of_the_posterior(rng):
    X, y = blobs(30, n_features=2, n_classes=2)
    model = sx.QuadraticDiscriminantAnalysis(estimate="map").fit(X, y)
    pooled = np.diag(sum(np.var(X[y == k], axis=0) * (y == k).sum() for k in (0, 1)) / 30)
    Xk, Sigma = X[y == 1], model.covariance_[1]

    def log_posterior(matrix):
        likelihood = stats.multivariate_normal(Xk.mean(axis=0), matrix).logpdf(Xk).sum()
        return likelihood + stats.invwishart(1 + 3, pooled).logpdf(matrix)

    best = log_posterior(Sigma)
    for _ in range(50):
        E = 0.02 * rng.normal(size=(2, 2)) * np.sqrt(np.outer(np.diag(Sigma), np.diag(Sigma)))
        assert log_posterior(Sigma + E + E.T) < best


@both_models
def test_collinear_constant_and_few_rows_are_named(model):
    X, y = blobs(100, n_classes=2)
    with pytest.raises(CollinearError, match=r"'x(0|4)' is a multiple of 'x(0|4)'.*shrinkage"):
        model().fit(np.column_stack([X, 3 * X[:, 0]]), y)
    with pytest.raises(CollinearError, match="Constant within every class: column 'x4'"):
        model().fit(np.column_stack([X, np.full(100, 1e7)]), y)
    with pytest.raises(CollinearError, match="3 rows cannot determine the covariance of 4 columns"):
        model().fit(X[:3], [0, 1, 0])
    assert model(shrinkage=0.2).fit(X[:3], [0, 1, 0]).predict_proba(X).shape == (100, 2)


def test_qda_names_the_class_with_too_few_rows():
    X, _ = blobs(100, n_classes=2)
    labels = np.array(["many", "few"])[(np.arange(100) >= 97).astype(int)]
    with pytest.raises(CollinearError, match="class 'few' is singular.*The class has 3 rows for 4 columns"):
        sx.QuadraticDiscriminantAnalysis().fit(X, labels)
    assert sx.QuadraticDiscriminantAnalysis(shrinkage="evidence").fit(X, labels).score(X, labels) > 0.9


@both_models
def test_a_class_of_one_row(model):
    X, _ = blobs(60, n_classes=2)
    labels = np.where(np.arange(60) == 5, 1, 0)
    fitted = model(shrinkage=0.3).fit(X, labels)
    assert_allclose(fitted.means_[1], X[5])
    assert np.isfinite(fitted.predict_log_proba(X)).all()


@both_models
def test_ledoit_wolf_says_what_it_cannot_do(model):
    X, y = blobs(60, n_classes=2)
    with pytest.raises(DataError, match="second time"):
        model(shrinkage="ledoit-wolf").partial_fit(X, y)
    with pytest.raises(DataError, match="complete, labelled rows"):
        model(shrinkage="ledoit-wolf").fit(with_gaps(X), y)


@both_models
def test_arguments_that_make_no_sense(model):
    X, y = blobs(60, n_classes=2)
    for arguments, message in [
        ({"shrinkage": "best"}, "'ledoit-wolf', 'evidence', or a number"),
        ({"shrinkage": -0.1}, "between 0 and 1"),
        ({"estimate": "bayes"}, "'ml', 'map', 'predictive'"),
    ]:
        with pytest.raises(ValueError, match=message):
            model(**arguments).fit(X, y)


def test_moments_of_two_dimensions_need_no_second_copy():
    X, y = blobs(100, n_classes=2)
    assert sx.LinearDiscriminantAnalysis().fit(X, y).n_passes_ == 1
    assert as_source(X).n_rows == 100
