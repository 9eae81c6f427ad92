import re

import numpy as np
import pytest
import sklearn
from sklearn import metrics as oracle
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import separatrix as sx
from problems import blobs
from separatrix.comparison.split import random_split
from separatrix.comparison.trial import run_trial

X, Y = blobs(n=240)
LABELS = np.array(["cat", "ant", "bee"])[Y]


class Constant(ClassifierMixin, BaseEstimator):
    """The same probabilities for every row, for classes in an order of its own."""

    def __init__(self, classes=("ant", "bee", "cat"), p=(0.2, 0.3, 0.5)):
        self.classes = classes
        self.p = p

    def fit(self, X, y):
        self.classes_ = np.array(self.classes)
        return self

    def predict_proba(self, X):
        return np.tile(self.p, (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture(scope="module")
def split():
    return random_split(X, LABELS, None, 0.25, None)


def test_figures_are_those_of_scikit_learn_on_the_same_rows(split):
    trial = run_trial("nb", GaussianNB(), split)
    model = GaussianNB().fit(X[split.train.rows], LABELS[split.train.rows])
    for scores, rows in ((trial.train, split.train.rows), (trial.test, split.test.rows)):
        P, t = model.predict_proba(X[rows]), LABELS[rows]
        assert scores.log_likelihood.value == pytest.approx(-oracle.log_loss(t, P), rel=1e-12)
        assert scores.accuracy.value == pytest.approx(model.score(X[rows], t), rel=1e-12)
        assert scores.brier.value == pytest.approx(oracle.brier_score_loss(t, P, scale_by_half=True), rel=1e-12)
        assert scores.auc.value == pytest.approx(oracle.roc_auc_score(t, P, multi_class="ovo"), rel=1e-12)
    assert trial.fit_seconds > 0
    assert trial.predict_seconds > 0
    assert np.isnan(trial.evidence.log_evidence)


def test_weights_reach_the_fit_and_the_figures(rng):
    weight = rng.integers(1, 4, size=len(X)).astype(float)
    split = random_split(X, LABELS, weight, 0.25, None)
    trial = run_trial("nb", GaussianNB(), split)
    train, test = split.train.rows, split.test.rows
    model = GaussianNB().fit(X[train], LABELS[train], weight[train])
    expected = -oracle.log_loss(LABELS[test], model.predict_proba(X[test]), sample_weight=weight[test])
    assert trial.test.log_likelihood.value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_last_step_of_a_pipeline(rng, routing):
    weight = rng.integers(1, 4, size=len(X)).astype(float)
    split = random_split(X, Y, weight, 0.25, None)
    with sklearn.config_context(enable_metadata_routing=routing):
        last = LogisticRegression()
        model = make_pipeline(StandardScaler(), last.set_fit_request(sample_weight=True) if routing else last)
        if routing:
            model[0].set_fit_request(sample_weight=False)
        trial = run_trial("pipeline", model, split)
    assert trial.failure == ""
    Z = StandardScaler().fit(split.train.X).transform(split.train.X)
    expected = LogisticRegression().fit(Z, Y[split.train.rows], split.train.weight)
    np.testing.assert_allclose(trial.model[-1].coef_, expected.coef_, rtol=1e-6)


def test_without_probabilities_there_is_accuracy_alone(split):
    trial = run_trial("svc", LinearSVC(), split)
    assert trial.test.accuracy.value == trial.model.score(split.test.X, LABELS[split.test.rows])
    assert np.isnan([trial.test.log_likelihood.value, trial.test.brier.value, trial.test.auc.value]).all()
    assert trial.test.rows is None


def test_accuracy_is_that_of_the_decisions_a_model_takes(split):
    model = sx.DecisionRule(GaussianNB(), costs={("ant", "bee"): 100, ("ant", "cat"): 100})
    trial = run_trial("costs", model, split)
    assert trial.test.accuracy.value == trial.model.score(split.test.X, LABELS[split.test.rows])
    assert trial.test.accuracy.value < run_trial("nb", GaussianNB(), split).test.accuracy.value


def test_columns_are_read_by_class_and_not_by_place(split):
    trial = run_trial("shuffled", Constant(("cat", "ant", "bee"), (0.5, 0.2, 0.3)), split)
    straight = run_trial("straight", Constant(), split)
    assert trial.test.log_likelihood == straight.test.log_likelihood
    p = np.array([0.2, 0.3, 0.5])[split.test.codes]
    assert trial.test.log_likelihood.value == pytest.approx(np.log(p).mean(), rel=1e-12)


def test_a_probability_that_is_zero_to_rounding_alone_keeps_its_logarithm():
    """Naive Bayes is a thousand nats sure; its probability underflows, its log-likelihood does not."""
    table = np.array([[-40.0], [-39.0], [40.0], [39.0], [60.0], [-40.5], [40.5], [-39.5]])
    y = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    split = random_split(table, y, None, 2, None)
    split.test.X[:] = [[60.0], [-60.0]]
    split.test.codes[:] = [0, 1]
    split.train.X[:] = np.where(split.train.codes == 1, 40.0, -40.0)[:, None] + np.arange(6)[:, None] / 10
    trial = run_trial("nb", GaussianNB(var_smoothing=0.0), split)
    assert (trial.model.predict_proba(split.test.X)[[0, 1], [0, 1]] == 0).all()
    assert np.isfinite(trial.test.log_likelihood.value)
    log_P = trial.model.predict_log_proba(split.test.X)
    np.testing.assert_allclose(trial.test.rows, log_P[[0, 1], [0, 1]])


def test_a_probability_of_zero_is_reported_as_it_is(split):
    trial = run_trial("knn", KNeighborsClassifier(1), split)
    assert trial.test.log_likelihood.value == -np.inf
    assert trial.failure == ""
    assert np.isfinite(trial.test.brier.value)


def test_a_frozen_model_is_judged_as_it_is(split):
    model = FrozenEstimator(GaussianNB().fit(X[:50], LABELS[:50]))
    trial = run_trial("frozen", model, split)
    P = model.predict_proba(split.test.X)
    assert trial.test.log_likelihood.value == pytest.approx(-oracle.log_loss(LABELS[split.test.rows], P), rel=1e-12)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (LogisticRegression(C=-1.0), "InvalidParameterError: The 'C' parameter"),
        (Constant(p=(0.2, 0.3, 0.6)), "DataError: .* not probabilities that sum to one"),
        (Constant(p=(np.nan, 0.5, 0.5)), "DataError: .* not probabilities"),
        (Constant(("ant", "bee", "dog")), "DataError: The model knows the classes 'ant', 'bee', 'dog', but"),
        (Constant(("ant", "bee"), (0.5, 0.5)), "DataError: The model knows the classes"),
        (LinearRegression(), "TypeError: LinearRegression is a regressor"),
    ],
)
def test_a_model_that_fails_says_why(split, model, reason):
    trial = run_trial("broken", model, split)
    assert re.match(reason, trial.failure)
    assert trial.model is None


def test_a_model_that_takes_no_weights_does_not_learn_from_them():
    split = random_split(X, Y, np.arange(1.0, len(X) + 1), 0.25, None)
    trial = run_trial("knn", KNeighborsClassifier(), split)
    assert trial.failure.startswith("TypeError: KNeighborsClassifier.fit takes no sample_weight")


def test_an_interrupt_is_not_a_failure(split):
    class Interrupted(Constant):
        def fit(self, X, y):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trial("interrupted", Interrupted(), split)
