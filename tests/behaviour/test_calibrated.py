# SPDX-License-Identifier: BSD-3-Clause
"""Calibrated: maps recover known distortions, sets keep their coverage, new proportions are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import separatrix as sx
from separatrix.calibration.maps import fit_map
from separatrix.calibration.shift import estimate_proportions


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


def test_em_finds_the_proportions_of_new_rows() -> None:
    rng = np.random.default_rng(0)
    old = np.array([0.5, 0.3, 0.2])
    y = rng.choice(3, 20_000, p=[0.1, 0.2, 0.7])
    X = rng.normal(size=20_000) + np.array([0.0, 1.5, 3.0])[y]
    P = softmax(-0.5 * (X[:, None] - np.array([0.0, 1.5, 3.0])) ** 2 + np.log(old), axis=1)
    np.testing.assert_allclose(estimate_proportions(P, old), [0.1, 0.2, 0.7], atol=0.02)


@pytest.mark.parametrize("shift", ["em", {"a": 0.1, "b": 0.9}, [0.1, 0.9]])
def test_probabilities_follow_new_proportions(shift: Any) -> None:
    rng = np.random.default_rng(0)

    def rows(n: int, share: float) -> tuple[Any, Any]:
        y = rng.random(n) < share
        return (rng.normal(size=n) + 2.0 * y)[:, None], np.where(y, "b", "a")

    X, y = rows(4000, 0.5)
    Z, t = rows(4000, 0.9)
    plain = sx.Calibrated(sx.LogisticRegression()).fit(X, y)
    moved = sx.Calibrated(sx.LogisticRegression(), prior_shift=shift).fit(X, y)
    loss = [-np.log(m.predict_proba(Z)[np.arange(4000), (t == "b").astype(int)]).mean() for m in (plain, moved)]
    assert loss[1] < 0.9 * loss[0]
    assert moved.predict_proba(Z)[:, 1].mean() == pytest.approx(0.9, abs=0.02)
    assert plain.class_proportions(Z)[1] == pytest.approx(0.9, abs=0.02)
