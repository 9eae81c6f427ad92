import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import separatrix as sx
from problems import blobs
from separatrix.bayesian.logistic import BayesianLogisticRegression
from separatrix.comparison import compare
from separatrix.metrics import log_likelihoods

X, Y = blobs(n=200, n_classes=2, distance=0.3)
MODELS = {
    "wide": BayesianLogisticRegression(prior=sx.Gaussian(scale=10.0), approximation="laplace"),
    "narrow": BayesianLogisticRegression(prior=sx.Gaussian(scale=1.0), approximation="laplace"),
    "lda": sx.LinearDiscriminantAnalysis(),
    "bayes": GaussianNB(),
    "svc": LinearSVC(),
    "broken": LogisticRegression(C=-1.0),
}


@pytest.fixture(scope="module")
def comparison():
    return compare(MODELS, X, Y)


def test_differences_are_paired_over_rows(comparison):
    rows = {
        name: log_likelihoods(comparison.models_[name].predict_proba(X[comparison.test_rows]), Y[comparison.test_rows])
        for name in ("wide", "narrow", "lda", "bayes")
    }
    best = max(rows, key=lambda name: rows[name].mean())
    assert comparison.best() == best
    for name, found in comparison.differences().items():
        if name in rows:
            expected = rows[name] - rows[best]
            assert found == pytest.approx((expected.mean(), stats.sem(expected)), rel=1e-8, abs=1e-15)
        else:
            assert np.isnan(found).all()


def test_paired_differences_are_surer_than_the_means(comparison):
    found = comparison.to_dict()
    assert found["difference_se"][1] < found["test_log_likelihood_se"][1]


@pytest.mark.parametrize("by", ["accuracy", "brier", "ece", "auc", "bic", "aic", "log_evidence", "probability"])
def test_the_best_by_any_figure(comparison, by):
    values = {
        trial.name: getattr(trial.test, by).value if by in ("accuracy", "brier", "ece", "auc") else None
        for trial in comparison
    }
    if values["lda"] is None:
        key = "log_evidence" if by == "probability" else by
        values = {name: getattr(comparison[name].evidence, key) for name in ("wide", "narrow")}
    values = {name: value for name, value in values.items() if not np.isnan(value)}
    choose = min if by in ("brier", "ece", "bic", "aic") else max
    assert values[comparison.best(by)] == choose(values.values())


def test_an_unknown_criterion(comparison):
    with pytest.raises(ValueError, match=r"best\(by='f1'\): choose one of 'log_likelihood'"):
        comparison.best("f1")


def test_nothing_to_choose_from():
    comparison = compare([LinearSVC()], X, Y)
    with pytest.raises(ValueError, match="No model has a figure for 'bic'"):
        comparison.best("bic")
    with pytest.raises(ValueError, match="No model states an evidence"):
        comparison.average()


def test_probabilities_are_among_models_with_an_evidence_of_labels(comparison):
    evidence = {name: comparison.models_[name].log_evidence_ for name in ("wide", "narrow")}
    odds = np.exp(evidence["wide"] - evidence["narrow"])
    assert comparison.probabilities()["wide"] == pytest.approx(odds / (1 + odds), rel=1e-10)
    frame = comparison.to_frame()
    assert frame["probability"].isna().sum() == 4
    assert frame["probability"].sum() == pytest.approx(1.0)


def test_the_average_is_the_weighted_sum_of_the_models(comparison):
    weights, average = comparison.probabilities(), comparison.average()
    expected = sum(weights[name] * comparison.models_[name].predict_proba(X) for name in weights)
    np.testing.assert_allclose(average.predict_proba(X), expected, rtol=1e-12)
    assert average.weights_ == weights
    assert comparison.average({"wide": 1, "narrow": 0}).weights_ == {"wide": 1.0, "narrow": 0.0}


def test_columns_by_name(comparison):
    columns, frame = comparison.to_dict(), comparison.to_frame()
    assert list(frame.index) == list(comparison.names)
    assert list(frame.columns) == list(columns)
    assert frame.loc["lda", "test_auc"] == comparison["lda"].test.auc.value
    assert frame.loc["lda", "train_brier_se"] == comparison["lda"].train.brier.standard_error
    assert frame.loc["broken", "failure"].startswith("InvalidParameterError")
    assert frame.loc["lda", "failure"] == ""


def test_it_is_a_sequence_of_trials_and_a_mapping_of_models(comparison):
    assert len(comparison) == 6
    assert [trial.name for trial in comparison] == list(comparison.names)
    assert set(comparison.models_) == set(MODELS) - {"broken"}
    with pytest.raises(KeyError, match="'qda' is not one of the models"):
        comparison["qda"]


def test_without_a_finite_best_there_are_no_differences():
    table = np.arange(40.0)[:, None]
    y = np.arange(40) % 2  # the nearest neighbours are all of the other class
    comparison = compare([KNeighborsClassifier(1)], table, y)
    assert comparison["KNeighborsClassifier"].test.log_likelihood.value == -np.inf
    assert np.isnan(comparison.differences()["KNeighborsClassifier"]).all()
