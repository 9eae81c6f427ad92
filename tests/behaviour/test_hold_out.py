# SPDX-License-Identifier: BSD-3-Clause
"""Averages and modes are compared on held-out rows, and the model predicts by the best of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit

import separatrix as sx
from separatrix.bayesian.folds import Folds, Merging, Rows, folds_of
from separatrix.bayesian.hold_out import ERRORS, probabilities_of_best, targets_with_errors
from separatrix.bayesian.mode_path import ScaledRows, mode_path


def rule(n, rng):
    """Indicators of five categories, and a label that is an exact rule of three of them."""
    codes = rng.integers(0, 5, (n, 5))
    X = (codes[:, :, None] == np.arange(5)).reshape(n, -1).astype(float)
    return X, ((codes[:, :3] < 2).sum(axis=1) >= 2).astype(int)


def words(n, rng, *, n_columns=150):
    """0/1 words of which common ones matter, fewer rows than columns."""
    rate = rng.beta(0.5, 4.0, n_columns)
    X = (rng.random((n, n_columns)) < rate).astype(float)
    a = 6 * (X - rate) @ (rng.normal(size=n_columns) * np.sqrt(rate * (1 - rate)))
    return X, (a + rng.logistic(size=n) > 0).astype(int)


def log_loss(P, y):
    return -np.log(np.maximum(P[np.arange(len(y)), y], 1e-300)).mean()


def average_of(model):
    """The same model, without what held-out rows changed."""
    found = sx.BayesianLogisticRegression(**model.get_params())
    found.__dict__ |= vars(model) | {"posterior_": replace(model.posterior_, blend=None)}
    return found


def test_separable_rows_are_predicted_by_modes_and_intervals_stay_those_of_the_posterior(rng):
    (X, y), (new, t) = rule(250, rng), rule(1000, rng)
    model = sx.BayesianLogisticRegression(rng=0).fit(X, y)
    average = average_of(model)
    assert log_loss(model.predict_proba(new), t) < 0.3 * log_loss(average.predict_proba(new), t)
    assert_allclose(model.predict_interval(new), average.predict_interval(new))
    assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)
    P, error = model.predict_with_error(new)
    assert_allclose(P, model.predict_proba(new), atol=1e-8)
    assert error.max() == 0.0


def test_rows_that_are_all_predicted_rightly_do_not_make_predictions_certain():
    """100 flowers that curves separate: a mode predicts the held-out ones best, and a new one with p = 4e-6."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    train, new = next(StratifiedShuffleSplit(1, train_size=100, random_state=101).split(X, y))
    model = sx.TableClassifier(curved=True).fit(X.iloc[train], y[train])
    assert log_loss(model.predict_proba(X.iloc[new]), y.to_numpy()[new]) < 0.4  # 0.30; 0.52 without imaginary errors


def test_imaginary_errors_have_a_stated_weight_and_are_where_labels_are_least_certain():
    T, P = np.eye(3)[[0, 1, 2, 1]], np.array([[0.9, 0.1, 0.0], [0.2, 0.6, 0.2], [0.0, 0.0, 1.0], [0.1, 0.9, 0.0]])
    folds = folds_of_ones(4)
    errors = targets_with_errors(T, P, folds) - T
    assert_allclose(errors.sum(), ERRORS)
    assert_allclose(errors / errors.max(), [[0, 0.5, 0], [1, 0, 1], [0, 0, 0], [0.5, 0, 0]], atol=1e-15)
    assert_allclose(targets_with_errors(T, T, folds), T)  # no label is possible but those of the rows


def test_the_plan_lists_the_candidates_with_their_scores_and_shares(rng):
    model = sx.BayesianLogisticRegression(rng=0).fit(*rule(250, rng))
    step = model.plan_.steps[-1]
    assert step.name == "hold out"
    assert sum(each.share for each in step.candidates) == pytest.approx(1.0)
    best = max(step.candidates, key=lambda each: each.share)
    assert best.name in str(model.plan_)
    assert best.log_score > step.candidates[0].log_score


@pytest.mark.parametrize(("n", "n_columns"), [(3000, 3), (300, 8)])
def test_nothing_is_held_out_if_averages_and_modes_agree(n, n_columns, rng):
    X = rng.normal(size=(n, n_columns))
    y = (X[:, 0] + rng.logistic(size=n) > 0).astype(int)
    model = sx.BayesianLogisticRegression(rng=0).fit(X, y)
    assert model.posterior_.blend is None
    assert "left out" in model.plan_.steps[-1].outcome


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")  # all columns are irrelevant
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_without_relation_to_the_columns_keep_the_class_proportions(n_classes, rng):
    X, y = rng.normal(size=(80, 100)), np.arange(80) % n_classes
    P = sx.BayesianLogisticRegression(rng=0).fit(X, y).predict_proba(rng.normal(size=(500, 100)))
    assert log_loss(P, rng.integers(0, n_classes, 500)) < np.log(n_classes) + 0.03


@pytest.mark.parametrize("prior", [sx.Gaussian(1.0), None])
def test_a_stated_prior_or_method_keeps_the_average(prior, rng):
    options = {} if prior is not None else {"approximation": "ep"}
    model = sx.BayesianLogisticRegression(prior, rng=0, **options).fit(*rule(100, rng))
    assert model.posterior_.blend is None


# -- laws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [rule, words])
def test_order_names_and_repetitions_do_not_change_predictions(make, rng):
    X, y = make(90, rng)
    varies = X.std(axis=0) > 0  # the prior of a constant column has no unit to refer to
    X, new, weight = X[:, varies], make(50, rng)[0][:, varies], rng.integers(0, 3, 90)
    model = sx.BayesianLogisticRegression(rng=0)
    P = model.fit(X, y).predict_proba(new)
    assert model.posterior_.blend is not None
    rows, columns = rng.permutation(90), rng.permutation(X.shape[1])
    assert_allclose(model.fit(X[rows], y[rows]).predict_proba(new), P, atol=1e-5)
    assert_allclose(model.fit(X[:, columns], y).predict_proba(new[:, columns]), P, atol=1e-5)
    assert_allclose(model.fit(X, 1 - y).predict_proba(new)[:, ::-1], P, atol=1e-5)
    assert_allclose(model.fit(1000 * X, y).predict_proba(1000 * new), P, atol=1e-5)
    weighted = model.fit(X, y, sample_weight=weight).predict_proba(new)
    repeated = np.repeat(np.arange(90), weight)
    assert_allclose(model.fit(X[repeated], y[repeated]).predict_proba(new), weighted, atol=1e-5)


def test_the_origin_of_a_column_without_zeros_does_not_matter(rng):
    """Kelvin and Celsius: only columns with zeros can be rare."""
    X, y = words(90, rng, n_columns=40)
    X[:, 0] = 20 + 5 * rng.normal(size=90)
    model = sx.BayesianLogisticRegression(rng=0)
    P = model.fit(X, y).predict_proba(X)
    assert model.posterior_.blend is not None
    X[:, 0] += 273.15
    assert_allclose(model.fit(X, y).predict_proba(X), P, atol=5e-4)  # Newton's method may take another step


@pytest.mark.parametrize("copies", [3, 10])
def test_copies_of_all_rows_do_not_make_modes_look_better(copies, rng):
    (X, y), new = words(60, rng, n_columns=40), words(1000, rng, n_columns=40)[0]
    y = np.where(rng.random(60) < 0.3, 1 - y, y)
    model = sx.BayesianLogisticRegression(rng=0).fit(X, y, sample_weight=np.full(60, copies))
    repeated = sx.BayesianLogisticRegression(rng=0).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert_allclose(repeated.predict_proba(new), model.predict_proba(new), atol=1e-5)
    scores = [each.log_score for each in model.plan_.steps[-1].candidates]
    assert max(scores) < -0.55  # 0.69 without columns; a copy in each fold would predict its row perfectly


def test_modes_keep_the_stated_shape_of_the_prior(rng):
    """Scales and covariance that are undone by the columns have no effect."""
    X = rng.normal(size=(60, 4)) + 1.0
    y = (X @ [2.0, -1.0, 0.5, 0.0] > 1.0).astype(int)
    L, units = np.tril(rng.normal(size=(4, 4))) + 2 * np.eye(4), np.array([1.0, 2.0, 3.0, 4.0])

    def fitted(prior, Z):
        return sx.BayesianLogisticRegression(prior, tune="evidence", standardize=False, rng=0).fit(Z, y)

    plain = fitted(sx.Gaussian(1.0), X)
    covariance = fitted(sx.Gaussian(covariance=L.T @ L), X @ np.linalg.inv(L).T)
    scales = fitted(sx.Gaussian(units), X / units)
    expected = [each.log_score for each in plain.plan_.steps[-1].candidates]
    assert expected
    for other in (covariance, scales):
        assert_allclose([each.log_score for each in other.plan_.steps[-1].candidates], expected, rtol=0.02, atol=1e-3)
    narrow = fitted(sx.Gaussian(1.0, intercept_scale=1e-3), X).posterior_
    assert len(narrow.blend.theta)
    at_zero = narrow.blend.theta[..., -1] - narrow.blend.theta[..., :-1] @ narrow.design.origin
    assert np.abs(at_zero).max() < 0.01


def test_sparse_rows_are_predicted_as_dense_ones_are(rng):
    X, y = words(80, rng)
    new = words(50, rng)[0]
    model = sx.BayesianLogisticRegression(rng=0)
    P = model.fit(X, y).predict_proba(new)
    # Sparse columns are not centred, so that the prior of the bias differs.
    assert_allclose(model.fit(sparse.csr_array(X), y).predict_proba(sparse.csr_array(new)), P, atol=0.02)


def test_a_saved_model_predicts_the_same(rng, tmp_path):
    X, y = rule(120, rng)
    model = sx.BayesianLogisticRegression(rng=0).fit(X, y)
    sx.save(model, tmp_path / "model.sx")
    loaded = sx.load(tmp_path / "model.sx")
    assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    assert loaded.plan_.steps[-1].candidates == model.plan_.steps[-1].candidates


# -- parts ------------------------------------------------------------------------------------------------------------


def test_every_row_is_held_out_once_in_folds_of_all_margins_and_classes(rng):
    margin, label = rng.normal(size=103), rng.integers(0, 3, 103)
    single = np.zeros(103, dtype=bool)
    counts = folds_of(margin, label, np.ones(103), single)
    assert_allclose(counts.sum(axis=0), 1.0)
    assert set(counts.ravel()) == {0.0, 1.0}
    sizes = np.stack([counts[:, label == k].sum(axis=1) for k in range(3)])
    assert (np.ptp(sizes, axis=1) <= 1).all()
    assert np.ptp(counts.sum(axis=1)) <= 1
    assert np.ptp(counts @ margin) < 5
    renamed = np.array([2, 0, 1])[label]
    assert_allclose(folds_of(margin, renamed, np.ones(103), single), counts)


def test_classes_of_two_rows_are_spread_over_all_folds(rng):
    counts = folds_of(rng.normal(size=20), np.repeat(np.arange(10), 2), np.ones(20), np.zeros(20, dtype=bool))
    assert_allclose(counts.sum(axis=1), 4.0)


def test_copies_are_held_out_together_and_rows_with_other_labels_one_by_one(rng):
    X = np.repeat(rng.normal(size=(12, 2)), 6, axis=0)
    X[:12] = X[0]  # of both labels
    y = np.where(np.arange(72) < 12, np.arange(72) % 2, X[:, 0] > 0).astype(int)
    rows = Rows(X, np.eye(2)[y], np.ones(72))
    merging = Merging.of(rows)
    merged = merging.apply(rows)
    assert merging.is_mixed.tolist() == [True, True] + [False] * 10
    assert_allclose(merged.weight, 6.0)
    for of in (sparse.csr_array, sparse.csc_array):
        again = Merging.of(Rows(of(X), rows.T, rows.weight))
        assert [each.tolist() for each in again] == [each.tolist() for each in merging]
    folds = Folds.of(rng.normal(size=12), merged, merging.is_mixed)
    assert_allclose(np.bincount(folds.row, folds.repeats), 6.0)
    assert (np.bincount(folds.row)[2:] == 1).all()  # one fold each
    assert (np.bincount(folds.row)[:2] == 5).all()
    assert_allclose(np.bincount(folds.row, folds.repeats / folds.size), [6, 6] + [1] * 10)
    assert set(folds.training[:, 2:].ravel()) == {0.0, 6.0}


def folds_of_ones(n):
    """Folds in which each of n rows is held out once."""
    return Folds(np.ones((1, n)), [np.arange(n)], np.arange(n), np.ones(n), np.ones(n), 2.0)


def test_a_candidate_that_predicts_every_row_better_is_chosen_however_small_the_difference_is(rng):
    log_p = rng.normal(size=(1, 50)) + np.array([[0.0], [1e-6], [-1.0]])
    assert_allclose(probabilities_of_best(log_p, folds_of_ones(50), 0.25), [0.0, 1.0, 0.0], atol=1e-9)


def test_candidates_that_differ_by_chance_leave_most_to_the_average(rng):
    log_p = rng.normal(size=(1, 200)) + 0.1 * rng.normal(size=(3, 200))
    log_p -= log_p.mean(axis=1, keepdims=True)
    shares = probabilities_of_best(log_p, folds_of_ones(200), 0.25)
    assert shares[0] > 0.4
    assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("n", "n_columns"), [(60, 5), (30, 50)])
@pytest.mark.parametrize("of", [np.asarray, sparse.csr_array])
def test_modes_of_all_folds_are_those_of_scikit_learn(n_classes, n, n_columns, of, rng):
    X = np.abs(rng.normal(size=(n, n_columns))) * (rng.random((n, n_columns)) < 0.5)
    y = np.arange(n) % n_classes
    T = np.eye(n_classes)[y].T[n_classes == 2 :]
    weights = np.stack([np.ones(n), (np.arange(n) % 4 > 0).astype(float)])
    rows = ScaledRows.of(of(X), np.ones(n), np.ones(n_columns))
    flat = np.full(2, 1e6)  # scales of the bias
    for scale, W in zip((0.5, 2.0), mode_path(rows, T, weights, np.array([0.5, 2.0]), flat, 1e-9), strict=True):
        for w, weight in zip(W, weights, strict=True):
            coef, intercept = rows.in_user_units(w)
            peer = LogisticRegression(C=(scale / rows.units[0]) ** 2, tol=1e-10, max_iter=10_000)
            peer.fit(X, y, sample_weight=weight)
            assert_allclose(coef, peer.coef_, atol=2e-3)
            a, expected = X @ coef.T + intercept, peer.decision_function(X).reshape(n, -1)
            assert_allclose(a - a.mean(axis=1, keepdims=True) * (n_classes > 2), expected, atol=5e-3)


def test_columns_that_are_rarely_non_zero_get_smaller_scales_if_held_out_rows_prefer_it(rng):
    X, y = words(100, rng, n_columns=200)
    model = sx.BayesianLogisticRegression(rng=0).fit(X, y)
    assert model.posterior_.structure == "dual"
    shape = next(step for step in model.plan_.steps if step.name == "shape")
    assert "rare columns" in shape.outcome
    spread, scale = X.std(axis=0), np.asarray(model.prior_.scale)
    assert np.corrcoef(np.log(spread[spread > 0]), np.log(scale[spread > 0]))[0, 1] > 0.99


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_are_not_held_out_if_a_class_has_one(n_classes, rng):
    model = sx.BayesianLogisticRegression().fit(rng.normal(size=(n_classes, 2)), np.arange(n_classes))
    assert "too few rows of a class" in model.plan_.steps[-1].outcome


def test_without_an_intercept_predictions_are_averages(rng):
    """The modes have an intercept."""
    X = rng.normal(size=(40, 3)) + 3
    model = sx.BayesianLogisticRegression(fit_intercept=False).fit(X, (X[:, 0] > 3).astype(int))
    assert model.posterior_.blend is None


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
def test_class_weights_do_not_put_a_row_on_both_sides_of_a_fold(rng):
    X, y = rng.normal(size=(60, 60)), rng.integers(0, 2, 60)
    model = sx.BayesianLogisticRegression(class_weight={0: 5, 1: 5}).fit(X, y)
    assert model.posterior_.blend is None


def test_columns_far_from_zero_are_held_out_too(rng):
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.1 * rng.normal(size=60) > 0).astype(int)
    P, far = (sx.BayesianLogisticRegression().fit(Z, y).predict_proba(Z) for Z in (X - X.min(axis=0), X + 2.0**20))
    assert_allclose(far, P, atol=0.02)


def test_a_stated_prior_keeps_the_scales_of_rare_columns(rng):
    X, y = rng.random((50, 120)) < 0.1, rng.integers(0, 2, 50)
    stated, default = (
        sx.BayesianLogisticRegression(prior, tune=None, structure="dual") for prior in (sx.Gaussian(1.0), None)
    )
    assert stated.fit(X, y).log_evidence_ == default.fit(X, y).log_evidence_
