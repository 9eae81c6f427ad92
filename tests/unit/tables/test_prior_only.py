"""The shares of the classes: the posterior of a Dirichlet, and its evidence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from sklearn.utils.estimator_checks import check_estimator

import separatrix as sx
from separatrix.tables.prior_only import PriorOnly

X = np.zeros((7, 1)) + np.arange(7.0)[:, None]


def test_evidence_is_the_integral_over_the_share():
    y = np.array([0, 0, 1, 0, 1, 0, 0])
    model = PriorOnly().fit(X, y)
    integral, _ = integrate.quad(lambda p: p**2 * (1 - p) ** 5, 0, 1)
    assert_allclose(model.log_evidence_, np.log(integral))
    mean, _ = integrate.quad(lambda p: p * p**2 * (1 - p) ** 5 / integral, 0, 1)
    assert_allclose(model.predict_proba(X)[0], [1 - mean, mean])


def test_evidence_of_three_classes_is_that_of_guessing_one_label_after_the_other():
    y = np.array(list("abcabaa"))
    seen = {"a": 0, "b": 0, "c": 0}
    log_p = 0.0
    for n, label in enumerate(y):
        log_p += np.log((seen[label] + 1) / (n + 3))
        seen[label] += 1
    assert_allclose(PriorOnly().fit(X, y).log_evidence_, log_p)


def test_intervals_are_quantiles_of_the_posterior():
    two = PriorOnly().fit(X, [0, 0, 1, 0, 1, 0, 0]).predict_interval(X, 0.9)
    assert_allclose(two, np.tile(stats.beta(3, 6).ppf([0.05, 0.95]), (7, 1)))
    three = PriorOnly().fit(X, list("abcabaa")).predict_interval(X)
    draws = np.random.default_rng(0).dirichlet([5, 3, 2], size=200_000)
    assert three.shape == (7, 3, 2)
    assert_allclose(three[0], np.quantile(draws, [0.025, 0.975], axis=0).T, atol=0.005)


def test_a_weight_counts_as_rows():
    weighted = PriorOnly().fit(X, [0, 0, 1, 0, 1, 0, 0], sample_weight=[2, 1, 3, 1, 1, 1, 1])
    rows = np.repeat(np.arange(7), [2, 1, 3, 1, 1, 1, 1])
    repeated = PriorOnly().fit(X[rows], np.array([0, 0, 1, 0, 1, 0, 0])[rows])
    assert_array_equal(weighted.class_count_, repeated.class_count_)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_)


def test_it_is_a_classifier_that_can_be_saved(tmp_path):
    model = PriorOnly().fit(X, list("abcabaa"))
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.predict(X).tolist() == ["a"] * 7
    expected = {"check_classifiers_train": "it does not learn from columns, so it cannot be accurate"}
    check_estimator(PriorOnly(), on_skip=None, expected_failed_checks=expected)
