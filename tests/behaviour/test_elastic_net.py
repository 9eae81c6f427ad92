# SPDX-License-Identifier: BSD-3-Clause
"""Sparse weights: optimality, scikit-learn's weights, groups, rows in other places, the path and its choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.solvers import parabola

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table(n: int, p: int, classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Rows with correlated columns of different units, of which one in five matters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 1:] += 0.5 * X[:, :-1]
    W = 2 * rng.normal(size=(classes, p)) * (rng.random((classes, p)) < 0.2)
    y = (X @ W.T + rng.gumbel(size=(n, classes))).argmax(axis=1)
    return X * rng.uniform(0.5, 2.0, size=p) + 1.0, y


def conditions(model: Any, X: Any, y: Any, *, alpha: float, l1_ratio: float, groups: Any = None) -> float:
    """Largest violation of the conditions of the minimum, per row; PRML (4.91), (4.109) for the gradient."""
    W, T = model.coef_, np.eye(len(model.classes_))[y]
    P = model.predict_proba(X)
    slope = ((P - T).T @ X)[-len(W) :] + alpha * (1 - l1_ratio) * W
    worst = np.abs((P - T).sum(axis=0)).max()
    for g in range(W.size) if groups is None else np.unique(groups):
        part = np.unravel_index([g], W.shape) if groups is None else np.ix_(range(len(W)), np.flatnonzero(groups == g))
        w, s, strength = W[part], slope[part], alpha * l1_ratio * np.sqrt(W[part].size)
        length = np.linalg.norm(w)
        rest = np.linalg.norm(s + strength * w / length) if length else max(np.linalg.norm(s) - strength, 0.0)
        worst = max(worst, float(rest))
    return worst / len(X)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
@pytest.mark.parametrize(("n", "p"), [(300, 12), (40, 120)])
def test_the_weights_satisfy_the_conditions_of_the_minimum(n: int, p: int, classes: int, l1_ratio: float) -> None:
    X, y = table(n, p, classes)
    model = sx.LogisticRegression(prior=sx.ElasticNet(4.0, l1_ratio)).fit(X, y)
    assert conditions(model, X, y, alpha=4.0, l1_ratio=l1_ratio) < 1e-7
    assert 0 < np.count_nonzero(model.coef_) < model.coef_.size


@pytest.mark.parametrize("classes", [2, 3])  # of an even number of classes, a lasso may have several minima
@pytest.mark.parametrize("l1_ratio", [0.0, 0.3, 1.0])
def test_the_weights_are_those_of_scikit_learn(classes: int, l1_ratio: float) -> None:
    X, y = table(400, 10, classes, seed=1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=400)
    ours = sx.LogisticRegression(prior=sx.ElasticNet(5.0, l1_ratio)).fit(X, y, weight)
    peer = linear_model.LogisticRegression(C=1 / 5.0, l1_ratio=l1_ratio, solver="saga", tol=1e-10, max_iter=20_000)
    peer.fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
def test_groups_are_zero_together(classes: int) -> None:
    X, y = table(300, 12, classes)
    groups = np.repeat(["a", "b", "c", "d"], 3)
    alpha = 25.0
    model = sx.LogisticRegression(prior=sx.ElasticNet(alpha, 0.9, groups=groups)).fit(X, y)
    assert conditions(model, X, y, alpha=alpha, l1_ratio=0.9, groups=groups) < 1e-7
    is_zero = (model.coef_ == 0).reshape(-1, 4, 3).all(axis=(0, 2))
    assert (is_zero == (model.coef_ == 0).reshape(-1, 4, 3).any(axis=(0, 2))).all()
    assert 0 < is_zero.sum() < 4


def test_a_weak_prior_of_separable_classes_needs_few_steps() -> None:
    """Equal changes of a column's weights in all classes have no curvature, so that Newton's method must add some."""
    X, y = make_classification(n_samples=100, n_classes=3, n_informative=3, random_state=0)
    model = sx.LogisticRegression(prior=sx.ElasticNet(1e-3)).fit(X, y)
    assert model.n_steps_ < 30
    assert conditions(model, X, y, alpha=1e-3, l1_ratio=1.0) < 1e-7


def test_newton_steps_over_groups_of_columns_in_different_units_lead_downwards(monkeypatch) -> None:
    """A full step may lead upwards, because the penalty of a group is not a parabola."""
    X, y = table(80, 60, classes=3, seed=3)
    X *= 10.0 ** np.random.default_rng(0).uniform(-2, 2, size=60)
    groups, moves = np.arange(60) // 4, []

    def recorded(hess, slope, x, corner, newton=parabola._over_nonzero):
        moves.append((lower := newton(hess, slope, x, corner)) is not x)
        return lower

    monkeypatch.setattr(parabola, "_over_nonzero", recorded)
    model = sx.LogisticRegression(prior=sx.ElasticNet(0.5, 0.2, groups=groups)).fit(X, y)
    assert conditions(model, X, y, alpha=0.5, l1_ratio=0.2, groups=groups) < 1e-6
    assert len(moves) >= 3
    assert np.mean(moves) > 0.8


def test_without_a_corner_the_prior_is_gaussian() -> None:
    X, y = table(200, 6)
    ridge = sx.LogisticRegression(alpha=3.0).fit(X, y)
    net = sx.LogisticRegression(prior=sx.ElasticNet(3.0, l1_ratio=0.0)).fit(X, y)
    np.testing.assert_allclose(net.coef_, ridge.coef_, rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_columns_of_sparse_rows_that_matter_only_together_with_others_enter(classes: int) -> None:
    """A column that is independent of the classes removes the noise of another: its gradient is zero at the start."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((3000, 400)) < 0.05, rng.normal(size=(3000, 400)), 0.0)
    y = rng.integers(classes, size=3000)
    X[:, 1] = np.where(rng.random(3000) < 0.5, 3 * rng.normal(size=3000), 0.0)
    X[:, 0] = X[:, 1] + np.where(rng.random(3000) < 0.5, y - 1.0, 0.0)
    model = sx.LogisticRegression(prior=sx.ElasticNet(40.0)).fit(sparse.csr_array(X), y)
    assert abs(model.coef_[-1, 1]) > 0.1
    assert conditions(model, X, y, alpha=40.0, l1_ratio=1.0) < 1e-7


def test_sparse_rows_weights_and_other_likelihoods() -> None:
    X, y = table(500, 8)
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.5, 0.0, X)
    weight = np.random.default_rng(3).integers(0, 3, size=500)
    prior = sx.ElasticNet(3.0)
    for kind in (sx.LogisticRegression, sx.ProbitRegression):
        dense = kind(prior=prior).fit(X, y, sample_weight=weight)
        csr = kind(prior=prior).fit(sparse.csr_array(X), y, sample_weight=weight)
        repeated = kind(prior=prior).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(csr.coef_, dense.coef_, atol=1e-7)
        np.testing.assert_allclose(repeated.coef_, dense.coef_, atol=1e-7)


def test_separable_classes_have_finite_weights() -> None:
    X, y = np.arange(10.0)[:, None], np.arange(10) >= 5
    model = sx.LogisticRegression(prior=sx.ElasticNet(1e-3)).fit(X, y)
    assert model.separation_.status == "complete"
    assert np.isfinite(model.coef_).all()


def test_a_constant_column_has_weight_zero() -> None:
    X, y = table(100, 4)
    X[:, 2] = 7.0
    assert sx.LogisticRegression(prior=sx.ElasticNet(0.1)).fit(X, y).coef_[0, 2] == 0


def test_a_large_table_starts_from_a_sample() -> None:
    X, y = table(60_000, 40)
    model = sx.LogisticRegression(prior=sx.ElasticNet(50.0)).fit(X, y)
    assert conditions(model, X, y, alpha=50.0, l1_ratio=1.0) < 1e-7
    assert model.n_passes_ < 15


def test_the_path_starts_where_the_first_weight_leaves_zero() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    path = sx.regularization_path(sx.LogisticRegression(prior=sx.ElasticNet()), X, y, n_alphas=20)
    assert path.n_nonzero[0] == 0
    assert path.n_nonzero[1] > 0
    above = sx.LogisticRegression(prior=sx.ElasticNet(path.alphas[0] * 0.999)).fit(X, y)
    assert np.count_nonzero(above.coef_) == 1
    alone = sx.LogisticRegression(prior=sx.ElasticNet(path.alphas[9])).fit(X, y)
    np.testing.assert_allclose(path.coef[9], alone.coef_, atol=1e-6)


def test_cross_validation_equals_separate_fits_of_the_folds() -> None:
    X, y = table(200, 5)
    model = sx.LogisticRegression(prior=sx.ElasticNet(l1_ratio=0.5))
    path = sx.regularization_path(model, X, y, alphas=[10.0, 1.0], folds=4)
    from separatrix.discriminative.path import fold_of

    fold, losses = fold_of(range(len(y)), 4), []
    assert (np.bincount(fold) == 50).all()
    for k in range(4):
        rest = sx.LogisticRegression(prior=sx.ElasticNet(1.0, 0.5)).fit(X[fold != k], y[fold != k])
        P = rest.predict_proba(X[fold == k])
        losses.append(-np.log(P[np.arange(50), y[fold == k]]).mean())
    assert path.log_loss is not None
    np.testing.assert_allclose(path.log_loss[1], np.mean(losses), rtol=1e-6)
    assert path.sparsest.alpha >= path.best.alpha


def test_the_sum_of_softmax_slopes_is_the_gradient() -> None:
    """The helper of these tests agrees with a numerical derivative."""
    X, y = table(40, 3, 3)
    W = np.random.default_rng(0).normal(size=(3, 3))

    def loss(V: Any) -> float:
        return float(-np.log(softmax(X @ V.T, axis=1)[np.arange(40), y]).sum())

    step = np.zeros((3, 3))
    step[1, 2] = 1e-6
    slope = ((softmax(X @ W.T, axis=1) - np.eye(3)[y]).T @ X)[1, 2]
    assert slope == pytest.approx((loss(W + step) - loss(W - step)) / 2e-6, rel=1e-5)


def test_rows_in_files_and_dask_give_the_same_weights(tmp_path: Any) -> None:
    import dask.array as da
    import pandas as pd

    for n, p in ((200, 6), (40, 350)):  # all columns at once, and working sets
        X, y = table(n, p)
        pd.DataFrame(X).assign(y=y).rename(columns=str).to_parquet(tmp_path / f"{p}.parquet")
        model = sx.LogisticRegression(prior=sx.ElasticNet(2.0, 0.8))
        expected = model.fit(X, y).coef_
        for rows in (da.from_array(X, chunks=(15, p)), sx.scan(tmp_path / f"{p}.parquet", target="y")):
            found = model.fit(rows) if rows is not None and not hasattr(rows, "dask") else model.fit(rows, y)
            np.testing.assert_allclose(found.coef_, expected, atol=1e-10)


def test_saved_models_are_loaded_with_their_prior(tmp_path: Any) -> None:
    X, y = table(100, 4)
    for i, groups in enumerate((None, ["a", "a", "b", "b"])):
        model = sx.LogisticRegression(prior=sx.ElasticNet(3.0, 0.7, groups=groups)).fit(X, y)
        sx.save(model, tmp_path / f"{i}.sx")
        loaded = sx.load(tmp_path / f"{i}.sx")
        assert repr(loaded) == repr(model)
        np.testing.assert_array_equal(loaded.fit(X, y).coef_, model.coef_)


def test_the_warning_reports_the_violation() -> None:
    X, y = table(300, 6)
    alpha = 5.0
    with pytest.warns(sx.exceptions.ConvergenceWarning, match="limit of steps") as caught:
        model = sx.LogisticRegression(prior=sx.ElasticNet(alpha), max_steps=2).fit(X, y)
    reported = float(str(caught[0].message).split("the gradient is ")[1].split()[0])
    slope = model.predict_proba(X)[:, 1] - y
    grad = slope @ (X - X.mean(axis=0))
    excess = np.where(model.coef_[0] != 0, grad + alpha * np.sign(model.coef_[0]), np.maximum(np.abs(grad) - alpha, 0))
    largest = max(np.abs(excess / X.std(axis=0)).max(), abs(slope.sum())) / 300
    assert reported == pytest.approx(largest, rel=0.06)  # two digits are printed


def test_a_wide_problem_that_rounding_ends_does_not_loop() -> None:
    X, y = table(30, 120)
    model = sx.LogisticRegression(prior=sx.ElasticNet(1.0), tol=1e-300).fit(X, y)
    assert model.solution_.status.name == "PRECISION"


def test_strongly_correlated_columns_take_few_steps() -> None:
    """Sweeps alone took 250 steps and a minute."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(200, 5))
    X = factors @ rng.normal(size=(5, 300)) + 0.05 * rng.normal(size=(200, 300))
    y = (factors[:, 0] + 0.3 * rng.normal(size=200) > 0).astype(int)
    model = sx.LogisticRegression(prior=sx.ElasticNet(0.1, 0.5)).fit(X, y)
    assert conditions(model, X, y, alpha=0.1, l1_ratio=0.5) < 1e-7
    assert model.n_steps_ < 60


def test_a_path_with_weights_equals_a_path_of_repeated_rows() -> None:
    X, y = table(120, 5, 3)
    weight = np.random.default_rng(0).integers(0, 3, size=120)
    model = sx.LogisticRegression(prior=sx.ElasticNet(l1_ratio=0.6))
    weighted = sx.regularization_path(model, X, y, weight, n_alphas=6)
    repeated = sx.regularization_path(model, np.repeat(X, weight, axis=0), np.repeat(y, weight), n_alphas=6)
    np.testing.assert_allclose(weighted.alphas, repeated.alphas, rtol=1e-7)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-6)


def test_paths_of_probit_and_of_rows_in_dask_have_log_losses() -> None:
    import dask.array as da

    X, y = table(150, 5)
    for kind in (sx.ProbitRegression, sx.LogisticRegression):
        model = kind(prior=sx.ElasticNet())
        memory = sx.regularization_path(model, X, y, n_alphas=3, folds=2)
        lazy = sx.regularization_path(model, da.from_array(X, chunks=(90, 5)), y, n_alphas=3, folds=2)
        assert memory.log_loss is not None
        np.testing.assert_allclose(lazy.log_loss, memory.log_loss, rtol=1e-6)
        assert memory.log_loss[0] == pytest.approx(np.log(2), rel=0.1)


def test_a_grid_search_over_the_strength_of_the_prior():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), sx.LogisticRegression(prior=sx.ElasticNet(l1_ratio=0.5)))
    grid = {"logisticregression__prior__alpha": [1e3, 10.0]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_ == {"logisticregression__prior__alpha": 10.0}
    assert repr(search.best_estimator_[-1].prior) == "ElasticNet(alpha=10.0, l1_ratio=0.5)"
    assert model[-1].prior.alpha == 1.0
    changed = model[-1].set_params(prior__l1_ratio=0.2, prior=sx.ElasticNet(3.0))
    assert (changed.prior.alpha, changed.prior.l1_ratio) == (3.0, 0.2)
