import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import separatrix as sx
from problems import blobs
from separatrix.bayesian.logistic import BayesianLogisticRegression
from separatrix.comparison import compare

X, Y = blobs(n=200, n_classes=2, distance=0.3)
MODELS = [
    BayesianLogisticRegression(approximation="laplace"),
    BayesianLogisticRegression(prior=sx.Gaussian(scale=3.0), approximation="laplace"),
    sx.LogisticRegression(alpha=1.0),
    GaussianNB(),
    LinearSVC(),
    KNeighborsClassifier(1),
    LogisticRegression(C=-1.0),
]


@pytest.fixture(scope="module")
def comparison():
    return compare(MODELS, X, Y)


def line_of(text, name, which=0):
    return [line for line in text.splitlines() if line.startswith(name + " ")][which]


def test_it_fits_a_terminal(comparison):
    assert max(map(len, str(comparison).splitlines())) <= 80
    long = compare(MODELS, X, Y, names=[f"a model with a rather long name, number {i}" for i in range(7)])
    assert max(map(len, str(long).splitlines())) <= 80
    assert all(f"number {i} " in str(long) for i in range(7))  # the end of a name survives


def test_numbers_are_those_of_the_columns(comparison):
    frame = comparison.to_frame()
    figures, costs = (line_of(str(comparison), "GaussianNB", i).split()[1:] for i in (0, 1))
    row = frame.loc["GaussianNB"]
    shown = ["test_log_likelihood", "difference", "test_accuracy", "test_brier", "test_ece", "test_auc"]
    np.testing.assert_allclose(np.array(figures, dtype=float), row[shown].astype(float), atol=5e-5)
    shown = ["train_log_likelihood", "fit_seconds", "predict_seconds"]
    np.testing.assert_allclose(np.array(costs, dtype=float), row[shown].astype(float), atol=5e-4)
    lines = str(comparison).splitlines()
    errors = lines[lines.index(line_of(str(comparison), "GaussianNB")) + 1].split()
    assert errors[0] == f"({row['test_log_likelihood_se']:.4f})"
    assert errors[1] == f"({row['difference_se']:.4f})"


def test_the_best_is_marked_and_first(comparison):
    lines = str(comparison).splitlines()
    first = next(i for i, line in enumerate(lines) if "log-lik." in line) + 1
    assert lines[first].split()[-5] == "best"
    assert comparison.names[0] == comparison.best()


def test_minus_infinity_is_shown(comparison):
    assert line_of(str(comparison), "KNeighborsClassifier").split()[1:3] == ["-inf", "-inf"]


def test_blanks_are_blank(comparison):
    assert len(line_of(str(comparison), "LinearSVC").split()) == 2  # name and accuracy
    assert line_of(str(comparison), "sklearn.LogisticRegression").split()[-1] == "failed"


def test_columns_that_are_blank_for_all_are_left_out():
    text = str(compare([GaussianNB(), LinearSVC()], X, Y))
    assert "BIC" not in text
    assert "P(model)" not in text
    assert "AUC" not in str(compare([LinearSVC()], X, Y))


def test_one_model_with_an_evidence_has_no_probability_to_show():
    text = str(compare([BayesianLogisticRegression(approximation="laplace"), GaussianNB()], X, Y))
    assert "ln p(D)" in text
    assert "P(model)" not in text


def test_a_notebook_shows_the_same(comparison):
    assert repr(comparison) == str(comparison)


def test_failures_alone_have_a_table_too():
    assert "failed" in str(compare([LogisticRegression(C=-1.0)], X, Y))
