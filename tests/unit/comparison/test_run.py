import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import separatrix as sx
from problems import STORAGES, blobs
from separatrix.comparison import compare

X, Y = blobs(n=200)


def test_every_model_sees_the_same_rows():
    one, two = (compare([GaussianNB(), LogisticRegression(max_iter=500)], X, Y, rng=3) for _ in range(2))
    assert np.array_equal(one.test_rows, two.test_rows)
    for name in one.names:
        assert np.array_equal(one[name].test.rows, two[name].test.rows)
    assert not np.array_equal(one.test_rows, compare([GaussianNB()], X, Y, rng=4).test_rows)


def test_a_model_is_fitted_to_training_rows_alone():
    comparison = compare([GaussianNB()], X, Y)
    rows = comparison.train_rows
    np.testing.assert_array_equal(comparison.models_["GaussianNB"].theta_, GaussianNB().fit(X[rows], Y[rows]).theta_)
    assert not set(rows) & set(comparison.test_rows)


def test_the_models_given_are_not_touched():
    model = GaussianNB()
    compare([model], X, Y)
    assert "classes_" not in vars(model)


def test_a_given_test_set_is_used_whole():
    comparison = compare([GaussianNB()], X[:150], Y[:150], X_test=X[150:], y_test=Y[150:])
    model = GaussianNB().fit(X[:150], Y[:150])
    assert comparison["GaussianNB"].test.accuracy.value == model.score(X[150:], Y[150:])
    assert len(comparison.test_rows) == 50


def test_best_first_then_those_without_probabilities_then_failures():
    class Worse(GaussianNB):
        def predict_proba(self, X):
            return 0.01 * super().predict_proba(X) + 0.99 / 3

    models = {"broken": LogisticRegression(C=-1.0), "svc": LinearSVC(), "worse": Worse(), "bayes": GaussianNB()}
    assert compare(models, X, Y).names == ("bayes", "worse", "svc", "broken")


@pytest.mark.parametrize("storage", ["csr", "pandas", "polars", "pyarrow", "list"])
def test_tables_of_every_kind_give_the_same_numbers(storage):
    models = [sx.LinearDiscriminantAnalysis(), sx.LogisticRegression()]
    found, expected = (compare(models, table, Y).to_dict() for table in (STORAGES[storage](X), X))
    np.testing.assert_allclose(found["test_log_likelihood"], expected["test_log_likelihood"], rtol=1e-6)


def test_names_of_columns_reach_the_models():
    table = pd.DataFrame(X, columns=list("abcd"))
    comparison = compare([GaussianNB()], table, pd.Series(Y))
    assert comparison.models_["GaussianNB"].feature_names_in_.tolist() == list("abcd")


def test_a_weight_of_k_is_the_row_k_times_on_test_rows(rng):
    k = rng.integers(1, 4, size=len(X))
    weighted = compare([GaussianNB()], X, Y, sample_weight=k)
    train, test = weighted.train_rows, weighted.test_rows
    repeated = compare(
        [GaussianNB()],
        np.repeat(X[train], k[train], axis=0),
        np.repeat(Y[train], k[train]),
        X_test=np.repeat(X[test], k[test], axis=0),
        y_test=np.repeat(Y[test], k[test]),
    )
    for figure in ("log_likelihood", "accuracy", "brier", "auc"):
        np.testing.assert_allclose(
            getattr(weighted["GaussianNB"].test, figure), getattr(repeated["GaussianNB"].test, figure), rtol=1e-6
        )


def test_labels_of_any_kind():
    labels = np.array(["x", "y", "z"])[Y]
    by_name, by_number = compare([GaussianNB()], X, labels), compare([GaussianNB()], X, Y)
    assert by_name["GaussianNB"].test.log_likelihood == by_number["GaussianNB"].test.log_likelihood
    assert by_name.classes.tolist() == ["x", "y", "z"]
