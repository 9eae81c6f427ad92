# SPDX-License-Identifier: BSD-3-Clause
"""Calibrated: maps recover known distortions, sets keep their coverage, new proportions are found."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from joblib import parallel_backend
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import separatrix as sx
from problems import blobs
from separatrix.calibration.maps import estimate_proportions, fit_map
from separatrix.exceptions import DataError


def honest(n: int, K: int, seed: int = 0) -> tuple[Any, Any]:
    """True log-probabilities and labels drawn from them."""
    rng = np.random.default_rng(seed)
    log_p = log_softmax(rng.normal(size=(n, K)) * 2, axis=1)
    return log_p, (log_p + rng.gumbel(size=(n, K))).argmax(axis=1)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("method", ["temperature", "platt", "beta", "dirichlet", "isotonic"])
def test_a_map_undoes_overconfidence(method: str, K: int) -> None:
    log_p, y = honest(20_000, K)
    found = fit_map(method, 3.0 * log_p, y).log_proba(3.0 * log_p)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, atol=1e-12)
    bound = 0.01 if method != "isotonic" else 0.03 * K
    assert np.abs(np.exp(found) - np.exp(log_p)).mean() < bound


@pytest.mark.parametrize(("method", "a", "b"), [("platt", [0.5, 0.5], [0.0, 1.0]), ("beta", [0.4, 1.7], [0.3, 0.0])])
def test_platt_and_beta_undo_their_own_distortion(method: str, a: list[float], b: list[float]) -> None:
    scores, _ = honest(50_000, 2, seed=1)
    log_q = log_softmax(scores * a + b, axis=1)
    y = (log_q + np.random.default_rng(2).gumbel(size=log_q.shape)).argmax(axis=1)
    found = fit_map(method, scores, y).log_proba(scores)
    assert np.abs(np.exp(found) - np.exp(log_q)).max() < 0.02


def test_the_choice_prefers_the_simplest_map_that_is_as_good() -> None:
    log_p, y = honest(4000, 2)
    X = np.column_stack([log_p[:, 1] - log_p[:, 0], np.random.default_rng(1).normal(size=4000)])
    assert sx.Calibrated(LogisticRegression()).fit(X, y).method_ == "none"
    repeated = sx.Calibrated(GaussianNB()).fit(np.repeat(X, 8, axis=1), y)
    assert repeated.method_ == "temperature"
    assert repeated.losses_["temperature"][0] < repeated.losses_["none"][0]


@pytest.mark.parametrize("estimator", [GaussianNB(), LinearSVC(), sx.LinearDiscriminantAnalysis(shrinkage=0.1)])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_it_is_no_worse_than_the_classifier(load: Any, estimator: Any) -> None:
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = sx.Calibrated(estimator).fit(X[::2], y[::2])
    P = model.predict_proba(X[1::2])
    assert P.shape == (len(y[1::2]), len(np.unique(y)))
    assert (model.predict(X[1::2]) == y[1::2]).mean() > 0.9
    if hasattr(estimator, "predict_proba"):
        own = -np.log(np.maximum(model.estimator_.predict_proba(X[1::2]), 1e-300))[np.arange(len(P)), y[1::2]]
        ours = -np.log(P)[np.arange(len(P)), y[1::2]]
        difference = ours - own
        assert difference.mean() <= difference.std() / np.sqrt(len(P))


def test_sets_keep_their_coverage_in_every_class() -> None:
    """Average over many fits: coverage of each class is at least the level, and at most 1/(n_k + 1) above it."""
    level, covered, rng = 0.8, [], np.random.default_rng(0)
    for _ in range(60):
        y = rng.permutation(np.repeat([0, 1, 2], [100, 60, 40]))
        X = rng.normal(size=(200, 2)) + np.array([[0, 0], [1, 0], [0, 1.5]])[y]
        new = np.repeat([0, 1, 2], 200)
        Z = rng.normal(size=(600, 2)) + np.array([[0, 0], [1, 0], [0, 1.5]])[new]
        sets = sx.Calibrated(GaussianNB(), "none").fit(X, y).predict_set(Z, level)
        covered.append([sets[new == k, k].mean() for k in range(3)])
    mean, error = np.mean(covered, axis=0), np.std(covered, axis=0) / np.sqrt(60)
    assert (mean >= level - 2 * error).all()
    assert (mean <= level + 1 / (np.array([20, 12, 8]) + 1) + 2 * error).all()


def test_sets_keep_their_coverage_if_the_table_is_sorted() -> None:
    X, y = blobs(900, n_classes=2, distance=0.7)
    new = np.arange(900) % 3 == 0
    order = np.argsort(X[~new, 0])
    sets = sx.Calibrated(GaussianNB()).fit(X[~new][order], y[~new][order]).predict_set(X[new], 0.9)
    assert all(sets[y[new] == k, k].mean() > 0.8 for k in range(2))


def test_sets_of_a_class_do_not_depend_on_rows_of_other_classes() -> None:
    """Otherwise the scores of unseen rows and new rows would not be exchangeable."""
    X, y = blobs(400, n_classes=3, distance=1.0)
    machine = FrozenEstimator(LinearSVC().fit(X[::2], y[::2]))
    far = X.copy()
    far[y == 0] *= 50.0
    plain, moved = (sx.Calibrated(machine, "platt").fit(rows[1::2], y[1::2]).predict_set(X, 0.8) for rows in (X, far))
    np.testing.assert_array_equal(plain[:, 1:], moved[:, 1:])


def test_a_fitted_model_with_a_given_map_needs_no_folds() -> None:
    X, y = blobs(100, n_classes=2, distance=1.0)
    model = sx.Calibrated(FrozenEstimator(GaussianNB().fit(X[4:], y[4:])), "temperature").fit(X[:4], y[:4])
    assert model.predict_proba(X).shape == (100, 2)


def test_em_finds_the_proportions_of_new_rows() -> None:
    rng = np.random.default_rng(0)
    old = np.array([0.5, 0.3, 0.2])
    y = rng.choice(3, 20_000, p=[0.1, 0.2, 0.7])
    X = rng.normal(size=20_000) + np.array([0.0, 1.5, 3.0])[y]
    P = softmax(-0.5 * (X[:, None] - np.array([0.0, 1.5, 3.0])) ** 2 + np.log(old), axis=1)
    np.testing.assert_allclose(estimate_proportions(P, old), [0.1, 0.2, 0.7], atol=0.02)


def test_probabilities_follow_new_proportions() -> None:
    rng = np.random.default_rng(0)

    def rows(n: int, share: float) -> tuple[Any, Any]:
        y = rng.random(n) < share
        return (rng.normal(size=n) + 2.0 * y)[:, None], np.where(y, "b", "a")

    X, y = rows(4000, 0.5)
    Z, t = rows(4000, 0.9)
    plain = sx.Calibrated(sx.LogisticRegression(), "platt").fit(X, y)
    for method, shift in (("auto", "em"), ("platt", {"a": 0.1, "b": 0.9}), ("platt", [0.1, 0.9])):
        moved = sx.Calibrated(sx.LogisticRegression(), method, prior_shift=shift).fit(X, y)
        loss = [-np.log(m.predict_proba(Z)[np.arange(4000), (t == "b").astype(int)]).mean() for m in (plain, moved)]
        assert loss[1] < 0.9 * loss[0]
        assert moved.predict_proba(Z)[:, 1].mean() == pytest.approx(0.9, abs=0.02)
    assert plain.class_proportions(Z)[1] == pytest.approx(0.9, abs=0.02)


X3, Y3 = blobs(150, n_classes=3, distance=1.5)
NAMES = np.array(["ash", "birch", "cedar"])[Y3]


@pytest.fixture(scope="module")
def fitted_to_array() -> sx.Calibrated:
    return sx.Calibrated(sx.LogisticRegression(), "platt", cv=3).fit(X3, NAMES)


@pytest.mark.parametrize(
    "convert",
    [
        sparse.csr_array,
        sparse.coo_matrix,
        lambda X: pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(X))[::-1]),
        lambda X: pl.DataFrame(X, schema=list("abcd")),
        lambda X: pa.table(dict(zip("abcd", X.T, strict=True))),
        lambda X: da.from_array(X, chunks=(40, 4)),
        lambda X: X.tolist(),
    ],
)
def test_tables_of_any_kind_give_the_same_probabilities(convert: Any, fitted_to_array: sx.Calibrated) -> None:
    expected = fitted_to_array
    found = sx.Calibrated(sx.LogisticRegression(), "platt", cv=3).fit(convert(X3), NAMES)
    np.testing.assert_allclose(found.predict_proba(convert(X3)), expected.predict_proba(X3), atol=1e-6)
    np.testing.assert_array_equal(found.predict_set(convert(X3)), expected.predict_set(X3))
    assert set(found.predict(convert(X3))) <= set(NAMES)
    assert found.n_features_in_ == 4


def test_a_fitted_model_is_calibrated_on_all_rows_of_another_table() -> None:
    X, y = blobs(400, n_classes=3, distance=1.5)
    model = GaussianNB().fit(X[::2], y[::2])
    frozen = sx.Calibrated(FrozenEstimator(model), "temperature").fit(X[1::2], y[1::2])
    np.testing.assert_allclose(
        frozen.predict_proba(X), np.exp(fit_map("temperature", model.predict_log_proba(X[1::2]), y[1::2])
        .log_proba(model.predict_log_proba(X))),
    )  # fmt: skip
    assert [len(ranks.scores) for ranks in frozen._ranks] == np.bincount(y[1::2]).tolist()
    weighted = sx.Calibrated(FrozenEstimator(model)).fit(X[1::2], y[1::2], y[1::2] + 1.0)
    assert weighted.proportions_[2] > frozen.proportions_[2]
    two = sx.Calibrated(FrozenEstimator(model)).fit(X[y < 2], y[y < 2])  # the model keeps its third class
    assert two.predict_proba(X).shape == (400, 3)
    assert two.predict_set(X)[:, 2].all()


def test_a_fitted_model_is_calibrated_on_a_scan(tmp_path: Any) -> None:
    table = pa.table(dict(zip("abcd", X3.T, strict=True)) | {"tree": NAMES, "w": np.linspace(0.5, 2, 150)})
    model = sx.LogisticRegression().fit(table.select(list("abcd"))[:75], NAMES[:75])
    rest = table[75:]
    scanned = sx.Calibrated(FrozenEstimator(model)).fit(sx.scan(rest, target="tree", weight="w"))
    held = rest.select(list("abcd"))
    in_memory = sx.Calibrated(FrozenEstimator(model)).fit(held, NAMES[75:], rest["w"].to_numpy())
    np.testing.assert_allclose(scanned.predict_proba(sx.scan(held)), in_memory.predict_proba(held), atol=1e-10)
    np.testing.assert_array_equal(scanned.predict_set(sx.scan(held)), in_memory.predict_set(held))


def test_groups_stay_together() -> None:
    groups = np.arange(150) // 10
    splits = list(GroupKFold(3).split(X3, Y3, groups))
    expected = sx.Calibrated(GaussianNB(), cv=splits).fit(X3, Y3)
    found = sx.Calibrated(GaussianNB(), cv=GroupKFold(3)).fit(X3, Y3, groups=groups)
    np.testing.assert_array_equal(found.predict_proba(X3), expected.predict_proba(X3))
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(sx.Calibrated(GaussianNB(), cv=GroupKFold(2)), {"method": ["platt"]}, cv=GroupKFold(2))
        assert search.fit(X3, Y3, groups=groups).best_estimator_.method_ == "platt"


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_model_and_the_map(routing: bool) -> None:
    k = np.arange(150) % 3
    rows = np.repeat(np.arange(150), k)
    folds = np.arange(150) % 5
    splits = [[(np.flatnonzero(of != f), np.flatnonzero(of == f)) for f in range(5)] for of in (folds, folds[rows])]
    with config_context(enable_metadata_routing=routing):
        model = GaussianNB().set_fit_request(sample_weight=True) if routing else GaussianNB()
        weighted = sx.Calibrated(model, cv=splits[0]).fit(X3, Y3, sample_weight=k)
        repeated = sx.Calibrated(model, cv=splits[1]).fit(X3[rows], Y3[rows])
    assert weighted.method_ == repeated.method_
    np.testing.assert_allclose(weighted.predict_proba(X3), repeated.predict_proba(X3), atol=1e-6)
    np.testing.assert_allclose(weighted.proportions_, repeated.proportions_)


def test_classes_with_fewer_rows_than_folds_are_named() -> None:
    y = np.where(np.arange(150) < 3, 7, Y3)
    with pytest.warns(UserWarning, match=r"Calibrated\(cv=5\): class 7 has only 3 rows") as caught:
        P = sx.Calibrated(GaussianNB(), "platt").fit(X3, y).predict_proba(X3)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert [each.filename for each in caught] == [__file__]
    with pytest.raises(DataError, match=r"cv=101\) needs at least .* but the largest class has \d+ rows"):
        sx.Calibrated(GaussianNB(), cv=101).fit(X3, Y3)


def test_rows_may_be_in_several_folds_or_in_none() -> None:
    repeated = sx.Calibrated(GaussianNB(), cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0))
    assert repeated.fit(X3, Y3).predict_proba(X3).shape == (150, 3)
    half = [(np.arange(75), np.arange(75, 150))]
    model = sx.Calibrated(GaussianNB(), "platt", cv=half).fit(X3, Y3)
    S = GaussianNB().fit(X3[:75], Y3[:75]).predict_log_proba(X3[75:])
    np.testing.assert_allclose(model.map_.W, fit_map("platt", S, Y3[75:]).W)  # type: ignore[attr-defined]
    assert model.losses_ == {}


@pytest.mark.parametrize(
    "estimator", [RandomForestClassifier(20, random_state=0), KNeighborsClassifier(), DecisionTreeClassifier()]
)
def test_probabilities_of_zero_and_one_are_corrected(estimator: Any) -> None:
    X, y = blobs(300, n_classes=2, distance=1.0)
    model = sx.Calibrated(estimator).fit(X, y)
    P, own = model.predict_proba(X), clone(estimator).fit(X, y).predict_proba(X)
    assert (own == 0).any()
    assert "none" not in model.losses_
    assert np.isfinite(np.log(P)).all()
    assert P.min() > 1e-3


def test_zero_counts_as_half_of_the_smallest_positive_probability() -> None:
    P = np.array([[0.0, 1.0], [0.2, 0.8], [0.6, 0.4], [1.0, 0.0]] * 20)
    y = np.array([1, 1, 0, 0] * 15 + [0, 1, 1, 0] * 5)
    with np.errstate(divide="ignore"):
        found = fit_map("platt", np.log(P), y)
    assert np.exp(found.least_log) == pytest.approx(0.1)  # type: ignore[attr-defined]


class Huge(ClassifierMixin, BaseEstimator):
    """A classifier with decision values of any size."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def decision_function(self, X: Any) -> Any:
        return X[:, 0] * self.scale


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 100.0, 1e12, 1e100])
def test_decision_values_of_any_unit_give_probabilities(scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 1))
    y = (X[:, 0] + rng.normal(size=1000) > 0).astype(int)
    model = sx.Calibrated(Huge(scale)).fit(X, y)
    assert "none" not in model.losses_
    P = model.predict_proba(X)
    loss = -np.log(P[np.arange(1000), y]).mean()
    best = sx.LogisticRegression().fit(X, y).predict_proba(X)
    bound = -np.log(best[np.arange(1000), y]).mean()
    assert loss < bound + 0.01
    sets = model.predict_set(X, 0.9)
    assert sets.mean() < 0.9  # informative for both classes, although only one has decision values


def test_the_constructor_is_cloned_and_shown() -> None:
    model = sx.Calibrated(sx.LogisticRegression(alpha=2.0), "beta", cv=StratifiedKFold(3), prior_shift={0: 0.5, 1: 0.5})
    again = clone(model)
    assert again.get_params()["estimator__alpha"] == 2.0
    assert again.prior_shift == model.prior_shift
    assert "beta" in repr(again)


def test_names_of_columns_are_those_of_the_training_table() -> None:
    frame = pd.DataFrame(X3, columns=list("abcd"))
    model = sx.Calibrated(sx.TableClassifier(sx.LogisticRegression()), "platt", cv=2).fit(frame, NAMES)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.score(frame, NAMES) > 0.6
    with parallel_backend("threading"):
        model = sx.Calibrated(SVC(), "platt", cv=2, n_jobs=2).fit(X3, NAMES)
    assert model.predict_proba(X3[:2]).shape == (2, 3)


def test_a_reliability_diagram_of_a_calibrated_model() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = sx.Calibrated(GaussianNB()).fit(X[::2], y[::2])
    before, after = (
        sx.plots.ReliabilityDisplay.from_estimator(m, X[1::2], y[1::2], n_bins=8) for m in (model.estimator_, model)
    )
    assert after.ece.value < before.ece.value
