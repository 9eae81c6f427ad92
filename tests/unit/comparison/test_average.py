import dask.array as da
import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from problems import blobs
from separatrix.bayesian.logistic import BayesianLogisticRegression
from separatrix.comparison import ModelAverage
from separatrix.comparison.average import average_fitted
from separatrix.exceptions import DataError
from separatrix.rows.dask.collection import is_dask
from separatrix.scanning import scan

X, Y = blobs(n=120, n_classes=2, distance=0.3)
MODELS = {
    name: BayesianLogisticRegression(prior=sx.Gaussian(scale=scale), approximation="laplace")
    for name, scale in (("one", 2.0), ("two", 10.0))
}


@pytest.fixture(scope="module")
def average():
    return ModelAverage(MODELS).fit(X, Y)


def test_weights_are_posterior_probabilities_of_the_models(average):
    log_evidence = [model.fit(X, Y).log_evidence_ for model in MODELS.values()]
    odds = np.exp(log_evidence[0] - log_evidence[1])
    assert average.weights_["one"] == pytest.approx(odds / (1 + odds), rel=1e-10)
    assert sum(average.weights_.values()) == pytest.approx(1.0, rel=1e-14)
    assert 0.01 < average.weights_["one"] < 0.99  # else the next test shows nothing


def test_probabilities_are_the_weighted_sum(average):
    parts = {name: model.fit(X, Y).predict_proba(X) for name, model in MODELS.items()}
    expected = sum(average.weights_[name] * P for name, P in parts.items())
    np.testing.assert_allclose(average.predict_proba(X), expected, rtol=1e-12)
    assert np.array_equal(average.predict(X), expected.argmax(axis=1))


def test_the_prior_moves_the_weights(average):
    prior = {"one": 3.0, "two": 1.0}
    tilted = ModelAverage(MODELS, prior).fit(X, Y).weights_
    before = average.weights_
    assert tilted["one"] / tilted["two"] == pytest.approx(3 * before["one"] / before["two"], rel=1e-10)


def test_a_model_without_weight_is_not_asked():
    class Silent(BayesianLogisticRegression):
        def predict_proba(self, X):
            raise AssertionError

    fitted = BayesianLogisticRegression().fit(X, Y)
    average = average_fitted({"a": fitted, "b": Silent()}, {"a": 1.0, "b": 0.0}, fitted.classes_, None)
    np.testing.assert_array_equal(average.predict_proba(X), fitted.predict_proba(X))


def test_row_weights_count_as_rows(rng):
    k = rng.integers(0, 3, size=len(X))
    weighted = ModelAverage(MODELS).fit(X, Y, sample_weight=k)
    repeated = ModelAverage(MODELS).fit(np.repeat(X, k, axis=0), np.repeat(Y, k))
    assert weighted.weights_["one"] == pytest.approx(repeated.weights_["one"], rel=1e-6)


def test_it_is_a_classifier_among_classifiers(average):
    assert average.n_features_in_ == X.shape[1]
    labels = np.array(["no", "yes"])[Y]
    rule = sx.DecisionRule(ModelAverage(MODELS), reject=0.9).fit(X, labels)
    assert set(rule.predict(X)) == {"no", "yes", "reject"}


def test_names_of_columns_are_known():
    import pandas as pd

    model = ModelAverage(MODELS).fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert model.feature_names_in_.tolist() == list("abcd")


def test_unfitted():
    for ask in (ModelAverage(MODELS).predict, ModelAverage(MODELS).predict_proba):
        with pytest.raises(NotFittedError):
            ask(X)


def test_a_model_without_evidence_has_no_weight():
    with pytest.raises(ValueError, match="'point' states no evidence"):
        ModelAverage({"point": LogisticRegression()}).fit(X, Y)


def test_labels_and_weights_of_a_scan_are_its_columns(rng):
    weight = rng.integers(1, 4, size=len(X))
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": Y, "w": weight})
    rows = sx.scan(table, target="y", weight="w")
    found, wanted = ModelAverage(MODELS).fit(rows), ModelAverage(MODELS).fit(X[:, :2], Y, sample_weight=weight)
    assert found.weights_ == pytest.approx(wanted.weights_, rel=1e-8)
    assert found.score(rows) == pytest.approx(wanted.score(X[:, :2], Y, weight), rel=1e-12)


TABLE = pa.table({f"x{d}": column for d, column in enumerate(X.T)} | {"y": np.array(["no", "yes"])[Y], "w": 1.0 + Y})
PLACES = {
    "a scan": lambda: (scan(TABLE, target="y", weight="w"), {}),
    "Dask": lambda: (
        da.from_array(X, chunks=(50, X.shape[1])),
        {"y": da.from_array(np.array(["no", "yes"])[Y], chunks=40), "sample_weight": da.from_array(1.0 + Y, chunks=30)},
    ),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_rows_may_be_anywhere(place):
    rows, beside = place()
    expected = ModelAverage(MODELS).fit(X, np.array(["no", "yes"])[Y], sample_weight=1.0 + Y)
    found = ModelAverage(MODELS).fit(rows, **beside)
    assert found.weights_["one"] == pytest.approx(expected.weights_["one"], rel=1e-6)
    np.testing.assert_allclose(np.asarray(found.predict_proba(rows)), expected.predict_proba(X), rtol=1e-6)
    assert np.array_equal(np.asarray(found.predict(rows)), expected.predict(X))
    assert is_dask(found.predict(rows)) == is_dask(rows)
    truth = (np.array(["no", "yes"])[Y], 1.0 + Y)
    assert found.score(rows, *beside.values()) == pytest.approx(expected.score(X, *truth), rel=1e-12)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_models_of_others_are_refused_with_the_remedy(place):
    rows, beside = place()
    models = {**MODELS, "theirs": LogisticRegression()}
    with pytest.raises(DataError, match=r"'theirs' is of sklearn, which takes tables in memory.*Leave that model out"):
        ModelAverage(models).fit(rows, **beside)
