"""Missing values, unlabelled rows and the three estimates, for normal classes."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

import separatrix as sx
from problems import blobs
from separatrix.exceptions import CollinearError, DataError
from separatrix.generative.missing import condition
from separatrix.rows import memory

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
        part = condition(X[y == k], model.means_[k], covariances[k])
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
        L = np.linalg.cholesky(Sigmas)
        z = np.random.default_rng(k).normal(size=(20_000, 2, 1))
        mu = Xk.mean(axis=0) + (L @ z)[:, :, 0] / np.sqrt(N)
        far = np.linalg.solve(L, (points - mu[:, None]).swapaxes(1, 2))  # N(x | μ, Σ) of every draw at every point
        log_det = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        density = np.exp(-0.5 * (far**2).sum(axis=1) - log_det[:, None]).sum(axis=0) / (2 * np.pi)
        got = np.exp(model.predict_log_proba(points)[:, k] + model.log_density(points)) / model.priors_[k]
        assert_allclose(got, density / 20_000, rtol=0.05)


def test_the_map_is_the_mode_of_the_posterior_over_precisions(rng):
    X, y = blobs(30, n_features=2, n_classes=2)
    model = sx.QuadraticDiscriminantAnalysis(estimate="map").fit(X, y)
    pooled = np.diag(sum(np.var(X[y == k], axis=0) * (y == k).sum() for k in (0, 1)) / 30)
    Xk, precision = X[y == 1], np.linalg.inv(model.covariance_[1])

    def log_posterior(Lambda):  # Σ ~ IW(D, 1 + M + 1) is Λ = Σ⁻¹ ~ W(D⁻¹, 1 + M + 1)
        likelihood = stats.multivariate_normal(Xk.mean(axis=0), np.linalg.inv(Lambda)).logpdf(Xk).sum()
        return likelihood + stats.wishart(1 + 3, np.linalg.inv(pooled)).logpdf(Lambda)

    best = log_posterior(precision)
    for _ in range(50):
        E = 0.02 * rng.normal(size=(2, 2)) * np.sqrt(np.outer(np.diag(precision), np.diag(precision)))
        assert log_posterior(precision + E + E.T) < best


@both_models
def test_em_ends_at_a_maximum_also_of_the_covariance(model, rng):
    X, y = blobs(150, n_classes=2)
    gaps = with_gaps(X)
    fitted = model().fit(gaps, y)
    best = observed_log_likelihood(fitted, gaps, y)

    class Moved:
        classes_, priors_, means_ = fitted.classes_, fitted.priors_, fitted.means_
        covariance_ = None

    for _ in range(20):
        unit = np.sqrt(np.einsum("...mm->...m", fitted.covariance_))
        E = 0.003 * rng.normal(size=fitted.covariance_.shape) * unit[..., :, None] * unit[..., None, :]
        Moved.covariance_ = fitted.covariance_ + E + np.swapaxes(E, -1, -2)
        assert observed_log_likelihood(Moved, gaps, y) < best


@both_models
def test_the_scale_of_weights_does_not_change_em(model):
    X, y = blobs(150, n_classes=2)
    gaps = with_gaps(X)
    fits = [model().fit(gaps, y, np.full(150, scale)) for scale in (1e-6, 1.0, 1e6)]
    assert_allclose(fits[0].covariance_, fits[1].covariance_, rtol=1e-6)
    assert_allclose(fits[2].covariance_, fits[1].covariance_, rtol=1e-6)


@both_models
def test_a_class_given_probability_zero_does_not_stop_em(model):
    X, y = blobs(150, n_classes=2)
    fitted = model(priors=[0.0, 1.0]).fit(with_gaps(X), y)
    assert np.isfinite(fitted.solution_.trace).all()
    assert (fitted.predict(X) == 1).all()


@both_models
def test_gaps_in_sparse_rows_are_gaps(model):
    X, y = blobs(100, n_classes=2)
    row = X[:3].copy()
    row[:, 0] = np.nan
    fitted = model().fit(X, y)
    assert_allclose(fitted.predict_proba(sparse.csr_array(row)), fitted.predict_proba(row), rtol=1e-9)


@both_models
def test_gaps_in_wide_rows_need_no_full_matrix(model, rng):
    X, y = rng.normal(size=(30, 80)), np.arange(30) % 2
    fitted = model(shrinkage=0.3).fit(X, y)
    row = X[:4].copy()
    row[:, 5] = np.nan
    full = model(shrinkage=0.3)
    for rows in np.array_split(np.arange(30), 2):
        full.partial_fit(X[rows], y[rows])
    assert_allclose(fitted.predict_log_proba(row), full.predict_log_proba(row), rtol=1e-6, atol=1e-8)


@both_models
def test_one_pattern_of_gaps_costs_no_copy_of_the_precision_for_each_row(model):
    X, y = blobs(6000, n_features=60, n_classes=2)
    fitted = model().fit(X, y)
    X[:, 0] = np.nan
    fitted.predict_proba(X[:10])  # compile first
    tracemalloc.start()
    fitted.predict_proba(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * X.nbytes  # a copy of P for each row would be 60 times X


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
