"""The shares of the classes: a logistic model of a bias alone, on the scale of all others."""

import dask.array as da
import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from scipy.special import expit, log_expit
from sklearn.utils.estimator_checks import check_estimator

import separatrix as sx
from separatrix.rows.watch import watched
from separatrix.scanning import scan
from separatrix.tables.prior_only import PriorOnly

X = np.zeros((60, 1)) + np.arange(60.0)[:, None]
Y = np.arange(60) % 3 == 0


def labels_of(counts):
    return np.repeat(np.arange(len(counts)), counts)


@pytest.mark.parametrize("counts", [(300, 300), (980, 20), (4994, 6), (200, 100, 50), (40,) * 10])
def test_it_is_the_limit_of_a_logistic_model_whose_weights_have_no_room(counts):
    y = labels_of(counts)
    noise = np.random.default_rng(0).normal(size=(len(y), 3))
    narrow = sx.BayesianLogisticRegression(sx.Gaussian(1e-7)).fit(noise, y)
    model = PriorOnly().fit(noise, y)
    assert model.log_evidence_ == pytest.approx(narrow.log_evidence_, abs=1e-4)
    assert_allclose(model.predict_proba(noise[:1]), narrow.predict_proba(noise[:1]), atol=1e-6)


def test_evidence_and_share_are_integrals_over_the_bias():
    def posterior(b):
        return np.exp(20 * log_expit(b) + 40 * log_expit(-b) + 38) * stats.norm(0, 10).pdf(b)

    integral, _ = integrate.quad(posterior, -6, 5)
    share, _ = integrate.quad(lambda b: expit(b) * posterior(b) / integral, -6, 5)
    model = PriorOnly().fit(X, Y)
    assert_allclose(model.log_evidence_, np.log(integral) - 38, atol=0.005)
    assert_allclose(model.predict_proba(X)[0], [1 - share, share], atol=1e-3)


def test_intervals_are_quantiles_of_the_share():
    two = PriorOnly().fit(X, Y).predict_interval(X, 0.9)
    assert_allclose(two, np.tile(stats.beta(20, 40).ppf([0.05, 0.95]), (60, 1)), atol=0.01)  # a flat bias is Beta(0, 0)
    three = PriorOnly().fit(X, np.arange(60) % 3).predict_interval(X)
    draws = np.random.default_rng(0).dirichlet([20, 20, 20], size=100_000)
    assert three.shape == (60, 3, 2)
    assert_allclose(three[0], np.quantile(draws, [0.025, 0.975], axis=0).T, atol=0.015)


def test_a_weight_counts_as_rows():
    weight = np.arange(60) % 4
    weighted = PriorOnly().fit(X, Y, sample_weight=weight)
    repeated = PriorOnly().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert_array_equal(weighted.class_count_, repeated.class_count_)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_)


def test_it_is_a_classifier_that_can_be_saved(tmp_path):
    model = PriorOnly().fit(X, np.array(list("abcabaa" * 9))[:60])
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.predict(X).tolist() == ["a"] * 60
    expected = {"check_classifiers_train": "it does not learn from columns, so it cannot be accurate"}
    check_estimator(PriorOnly(), on_skip=None, expected_failed_checks=expected)


PLACES = {
    "a scan": lambda table: (scan(table, target="y", weight="w"), {}),
    "a scan that workers read": lambda table: (scan(table, target="y", weight="w", client=True), {}),
    "Dask": lambda table: (
        da.from_array(X, chunks=17),
        {"y": da.from_array(Y, chunks=20), "sample_weight": da.from_array(WEIGHT, chunks=23)},
    ),
}
WEIGHT = np.linspace(0.5, 2, 60)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_labels_are_counted_where_they_are(place):
    rows, beside = place(pa.table({"x0": X[:, 0], "y": Y, "w": WEIGHT}))
    expected = PriorOnly().fit(X, Y, sample_weight=WEIGHT)
    found = PriorOnly().fit(rows, **beside)
    assert_allclose(found.class_count_, expected.class_count_, rtol=1e-12)
    assert found.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-10)
    assert_allclose(np.asarray(found.predict_proba(rows)), expected.predict_proba(X), rtol=1e-10)
    assert_array_equal(np.asarray(found.predict(rows)), expected.predict(X))


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = PriorOnly().fit(X, Y)
    before = model.classes_
    with pytest.raises(ValueError, match="infinity|NaN"):
        model.fit(np.full((3, 1), np.inf), ["a", "b", "b"])
    assert model.classes_ is before


def test_whoever_watches_hears_of_the_rows_of_the_table_alone():
    heard = []
    with watched(lambda done, total, number: heard.append((total, number))):
        PriorOnly().fit(np.zeros((50, 2)), np.arange(50) % 3)
    assert heard
    assert {total for total, _ in heard} == {50}
    assert sorted({number for _, number in heard}) == list(range(1, 1 + max(number for _, number in heard)))
