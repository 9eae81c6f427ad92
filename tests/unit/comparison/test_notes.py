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
from separatrix.comparison.notes import notes_on

X, Y = blobs(n=200, n_classes=2, distance=0.3)


def notes(*models):
    return notes_on(compare(list(models), X, Y))


def test_a_failure_comes_first_with_its_reason():
    first, *_ = notes(GaussianNB(), LogisticRegression(C=-1.0))
    assert first.startswith("LogisticRegression failed. InvalidParameterError: The 'C' parameter")


def test_probability_zero_is_told_with_the_rows():
    comparison = compare([KNeighborsClassifier(1)], X, Y)
    model, rows = comparison.models_["KNeighborsClassifier"], comparison.test_rows
    missed = rows[model.predict(X[rows]) != Y[rows]]
    told = notes_on(comparison)[0]
    assert f"probability zero to the true class of {len(missed)} test rows (the first: row {missed[0]})" in told


def test_models_within_noise_of_the_best_are_named():
    alike = notes(sx.LogisticRegression(alpha=1.0), sx.LogisticRegression(alpha=1.1))
    assert any(note.startswith("Within two standard errors") for note in alike)
    far = compare([sx.LogisticRegression(alpha=1.0), sx.LogisticRegression(alpha=1e6)], *blobs(n=200, n_classes=2))
    assert not any(note.startswith("Within two standard errors") for note in notes_on(far))


def test_calibration_is_put_in_proportion():
    comparison = compare([GaussianNB()], X, Y)
    floor = comparison["GaussianNB"].test.ece_if_calibrated
    assert any(f"an ECE of about {floor:.2g}" in note for note in notes_on(comparison))


def test_models_without_probabilities_are_named():
    assert "LinearSVC: no predict_proba, so that only decisions can be judged." in notes(LinearSVC())


@pytest.mark.parametrize(
    ("others", "told"),
    [([], False), ([sx.LinearDiscriminantAnalysis()], True), ([LogisticRegression()], True)],
)
def test_which_evidences_are_compared_is_told_where_some_are_not(others, told):
    two = [BayesianLogisticRegression(prior=sx.Gaussian(scale=s), approximation="laplace") for s in (1.0, 2.0)]
    found = [note for note in notes(*two, *others) if note.startswith("P(model) compares")]
    assert bool(found) == told
    assert all("p(x, t), and cannot be compared" in note for note in found)


def test_nothing_is_said_of_evidence_where_there_is_nothing_to_compare():
    assert not any(
        "P(model)" in note for note in notes(BayesianLogisticRegression(approximation="laplace"), GaussianNB())
    )


def test_all_failed():
    (only,) = notes(LogisticRegression(C=-1.0))
    assert "failed" in only
    assert np.isnan(compare([LogisticRegression(C=-1.0)], X, Y).to_dict()["test_auc"]).all()
