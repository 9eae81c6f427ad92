"""Calibration agrees with scikit-learn, with direct minimisation, and with the exact law of conformal coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, log_expit, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import separatrix as sx
from separatrix.calibration.maps import BIAS_STD, estimate_proportions, fit_map
from separatrix.calibration.sets import fit_ranks


def scores_of_two_classes(n: int, slope: float = 2.5, seed: int = 0) -> tuple[Any, Any]:
    """Overconfident log-odds (n,) and the classes."""
    rng = np.random.default_rng(seed)
    a = rng.normal(0.5, 2.0, size=n)
    return slope * a + 1.0, (rng.random(n) < expit(a)).astype(int)


def two_columns(a: Any) -> Any:
    return np.column_stack([log_expit(-a), log_expit(a)])


def overlapping(n: int, n_classes: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return np.repeat(rng.normal(size=(n, 2)) + np.array([[0, 0], [1.5, 0], [0, 2]])[y], 3, axis=1), y


# The loss, written for two classes as functions of the log-odds a; spread of the scores above 1, so SLOPE_STD = 1.
LOSSES = {
    "temperature": (1, lambda v, a: v[0] * a, lambda v: 0.5 * (v[0] - 1) ** 2),
    "platt": (
        3,
        lambda v, a: v[0] * a + v[2] - v[1],
        lambda v: 0.5 * (v[0] - 1) ** 2 + 0.5 * v[1:] @ v[1:] / BIAS_STD**2,
    ),
    "beta": (
        4,
        lambda v, a: v[1] * log_expit(a) - v[0] * log_expit(-a) + v[3] - v[2],
        lambda v: 0.5 * ((v[:2] - 1) ** 2).sum() + 0.5 * v[2:] @ v[2:] / BIAS_STD**2,
    ),
}


@pytest.mark.parametrize("method", LOSSES)
def test_a_map_minimises_its_loss(method: str) -> None:
    a, y = scores_of_two_classes(200)
    size, activation, penalty = LOSSES[method]
    signs = 2 * y - 1
    direct = optimize.minimize(
        lambda v: -log_expit(signs * activation(v, a)).sum() + penalty(v), np.zeros(size), options={"gtol": 1e-7}
    )
    found = np.exp(fit_map(method, two_columns(a), y).log_proba(two_columns(a)))[:, 1]
    np.testing.assert_allclose(found, expit(activation(direct.x, a)), atol=1e-6)


def test_a_dirichlet_map_with_many_rows_is_a_softmax_regression_on_log_probabilities() -> None:
    rng = np.random.default_rng(0)
    L = np.log(rng.dirichlet(np.ones(3), size=20_000))
    W = np.array([[1.2, 0.3, 0.0], [0.0, 0.7, -0.2], [0.1, 0.0, 1.5]])
    y = (L @ W.T + rng.gumbel(size=L.shape)).argmax(axis=1)
    theirs = LogisticRegression(C=np.inf, max_iter=1000, tol=1e-8).fit(L, y).predict_proba(L)
    np.testing.assert_allclose(np.exp(fit_map("dirichlet", L, y).log_proba(L)), theirs, atol=2e-3)  # the prior


def test_a_beta_map_with_many_rows_is_a_logistic_regression_on_two_logarithms() -> None:
    a, y = scores_of_two_classes(20_000)
    features = np.column_stack([log_expit(a), -log_expit(-a)])
    theirs = LogisticRegression(C=np.inf, tol=1e-8).fit(features, y).predict_proba(features)
    np.testing.assert_allclose(np.exp(fit_map("beta", two_columns(a), y).log_proba(two_columns(a))), theirs, atol=2e-3)


@pytest.mark.parametrize(
    ("model", "ours", "theirs", "n_classes"),
    [
        (LinearSVC(), "platt", "sigmoid", 2),  # from probabilities, scikit-learn's sigmoid uses p instead of log-odds
        (LinearSVC(), "temperature", "temperature", 3),
        (GaussianNB(), "temperature", "temperature", 3),
        (GaussianNB(), "temperature", "temperature", 2),
    ],
)
def test_many_rows_agree_with_scikit_learn(model: Any, ours: str, theirs: str, n_classes: int) -> None:
    """The priors differ, and do not matter with 4000 rows: same folds, same final model, same likelihood."""
    X, y = overlapping(4000, n_classes)
    Z, _ = overlapping(500, n_classes, seed=1)
    found = sx.Calibrated(model, ours).fit(X, y).predict_proba(Z)
    expected = CalibratedClassifierCV(model, method=theirs, ensemble=False).fit(X, y).predict_proba(Z)
    np.testing.assert_allclose(found, expected, atol=3e-3)


def test_steps_with_large_weights_are_those_of_isotonic_regression() -> None:
    """One more row in each step does not matter if each row counts as a million."""
    a, y = scores_of_two_classes(500)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(a, y)
    new = np.random.default_rng(1).uniform(-9, 9, size=300)
    found = fit_map("isotonic", two_columns(a), y, np.full(500, 1e6)).log_proba(two_columns(new))
    np.testing.assert_allclose(np.exp(found[:, 1]), theirs.predict(new), atol=1e-5)


def test_em_maximises_the_likelihood_of_the_new_proportions() -> None:
    rng = np.random.default_rng(0)
    old = np.array([0.5, 0.3, 0.2])
    P = softmax(rng.normal(size=(400, 3)) * 2, axis=1)

    def loss(v: Any) -> float:
        return float(-np.log(P @ (softmax(np.append(0.0, v)) / old)).sum())

    direct = optimize.minimize(loss, np.zeros(2), options={"gtol": 1e-8})
    np.testing.assert_allclose(estimate_proportions(P, old), softmax(np.append(0.0, direct.x)), atol=1e-6)


@pytest.mark.parametrize(("n", "level"), [(19, 0.9), (30, 0.8), (9, 0.9), (99, 0.95)])
def test_the_coverage_of_sets_has_the_beta_distribution(n: int, level: float) -> None:
    """Uniform scores: the coverage given n rows is 1 - (l-th smallest score) ~ Beta(n + 1 - l, l)  (Vovk 2012)."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 20_001)
    found = [
        fit_ranks(rng.random((n, 1)), np.zeros(n, int), np.ones(n))[0].contain(grid, level).mean() for _ in range(400)
    ]
    dropped = round((1 - level) * (n + 1), 6) // 1
    assert stats.kstest(found, stats.beta(n + 1 - dropped, dropped).cdf).pvalue > 0.01
    assert abs(np.mean(found) - (1 - dropped / (n + 1))) < 3 * np.std(found) / 20


def test_a_level_that_the_rows_of_a_class_cannot_reach_includes_the_class() -> None:
    S, y = np.random.default_rng(0).normal(size=(18, 2)), np.repeat([0, 1], [10, 8])
    ten, eight = fit_ranks(S, y, np.ones(len(y)))
    assert eight.contain(np.array([-np.inf]), 0.9).all()  # 8 < 1/(1 - 0.9) - 1
    assert not ten.contain(np.array([-np.inf]), 0.9).any()


def test_weights_in_sets_repeat_rows_up_to_the_mean_weight() -> None:
    rng = np.random.default_rng(0)
    s, k = rng.normal(size=(40, 1)), rng.integers(1, 4, size=40)
    weighted = fit_ranks(s, np.zeros(40, int), k.astype(float))[0]
    new = rng.normal(size=200)
    p = (k * (s[:, 0] <= new[:, None])).sum(axis=1) / k.sum()
    np.testing.assert_array_equal(weighted.contain(new, 0.8), 1 + 40 * p > 0.2 * 41 + 1e-9)
