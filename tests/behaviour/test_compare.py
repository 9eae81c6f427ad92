"""`sx.compare`: the same rows for all models, scores against scikit-learn, evidence, failures, text, averages."""

import re
from dataclasses import replace

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn
from scipy import stats
from sklearn import linear_model
from sklearn import metrics as oracle
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import LinearSVC

import separatrix as sx
from problems import STORAGES, blobs
from separatrix.comparison import Fold, ModelAverage, compare, notes_on, run_trial
from separatrix.comparison.models import model_probabilities, read_evidence
from separatrix.exceptions import DataError
from separatrix.metrics import log_likelihoods
from separatrix.rows import is_dask

X, Y = blobs(n=240)
LABELS = np.array(["cat", "ant", "bee"])[Y]
X2, Y2 = blobs(n=200, n_classes=2, distance=0.3)


def bayes(scale=1.0):
    return sx.BayesianLogisticRegression(prior=sx.Gaussian(scale=scale), approximation="laplace")


@pytest.fixture(scope="module")
def comparison():
    models = {
        "wide": bayes(10.0),
        "narrow": bayes(1.0),
        "lda": sx.LinearDiscriminantAnalysis(),
        "bayes": GaussianNB(),
        "svc": LinearSVC(),
        "broken": LogisticRegression(C=-1.0),
    }
    return compare(models, X2, Y2)


class Constant(ClassifierMixin, BaseEstimator):
    """Classifier that predicts the same probabilities for every row, with classes in a given order."""

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


def trial(model, labels=LABELS, **options):
    """The only trial of a comparison, and the comparison."""
    found = compare({"model": model}, X, labels, **options)
    return found["model"], found


# -- rows --------------------------------------------------------------------------------------------------------------


def test_all_models_use_the_same_rows_and_the_seed_determines_the_split():
    one, two = (compare([GaussianNB(), sx.LogisticRegression()], X, Y, rng=3) for _ in range(2))
    assert np.array_equal(one.test_rows, two.test_rows)
    assert all(np.array_equal(one[name].test.rows, two[name].test.rows) for name in one.names)
    assert not np.array_equal(one.test_rows, compare([GaussianNB()], X, Y, rng=4).test_rows)
    assert np.array_equal(np.sort([*one.train_rows, *one.test_rows]), np.arange(240))


def test_the_split_keeps_class_proportions_and_models_are_fitted_to_training_rows_alone():
    model = GaussianNB()
    found = compare([model], X, Y)
    train, test = found.train_rows, found.test_rows
    assert len(test) == 60
    np.testing.assert_allclose(np.bincount(Y[train]) / 180, np.bincount(Y[test]) / 60, atol=1 / 60)
    np.testing.assert_array_equal(found.models_["GaussianNB"].theta_, GaussianNB().fit(X[train], Y[train]).theta_)
    assert "classes_" not in vars(model)  # the user's model is not changed


def test_a_given_test_set_is_used_whole_and_may_lack_classes():
    found = compare([GaussianNB()], X[:150], Y[:150], X_test=X[150:], y_test=Y[150:])
    model = GaussianNB().fit(X[:150], Y[:150])
    assert found["GaussianNB"].test.accuracy.value == model.score(X[150:], Y[150:])
    assert len(found.test_rows) == 90
    of_one_class = compare([GaussianNB()], X, Y, X_test=X[Y == 2], y_test=Y[Y == 2])
    assert of_one_class["GaussianNB"].P.shape == ((Y == 2).sum(), 3)


@pytest.mark.parametrize("storage", STORAGES)
def test_tables_of_every_library_give_the_same_scores(storage):
    models = [sx.LinearDiscriminantAnalysis(), sx.LogisticRegression()]
    found, expected = (compare(models, table, Y).to_dict() for table in (STORAGES[storage](X), X))
    np.testing.assert_allclose(found["test_log_likelihood"], expected["test_log_likelihood"], rtol=1e-6)


def test_a_weight_of_k_equals_k_copies_of_the_row(rng):
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
    for score in ("log_likelihood", "accuracy", "brier", "auc"):
        expected = getattr(repeated["GaussianNB"].test, score)
        np.testing.assert_allclose(getattr(weighted["GaussianNB"].test, score), expected, rtol=1e-6)


def test_rows_of_weight_zero_are_left_out():
    found = compare([GaussianNB()], X, Y, sample_weight=(Y != 1).astype(float))
    assert found.classes.tolist() == [0, 2]
    assert 1 not in Y[np.concatenate([found.train_rows, found.test_rows])]


# -- models ------------------------------------------------------------------------------------------------------------


def test_models_are_named_by_their_class_library_or_number():
    def names(*models):
        return sorted(compare(list(models), X, Y).names)

    assert names(GaussianNB(), sx.LogisticRegression()) == ["GaussianNB", "LogisticRegression"]
    assert names(GaussianNB(), sx.LogisticRegression(), GaussianNB())[:2] == ["GaussianNB 1", "GaussianNB 2"]
    homes = names(sx.LogisticRegression(), linear_model.LogisticRegression())
    assert homes == ["separatrix.LogisticRegression", "sklearn.LogisticRegression"]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (LogisticRegression(C=-1.0), "InvalidParameterError: The 'C' parameter"),
        (Constant(p=(0.2, 0.3, 0.6)), "DataError: .* not probabilities"),
        (Constant(p=(np.nan, 0.5, 0.5)), "DataError: .* not probabilities"),
        (Constant(("ant", "bee", "dog")), "DataError: .*'dog'"),
        (Constant(("ant", "bee"), (0.5, 0.5)), "DataError: .*'cat'"),
        (LinearRegression(), "TypeError: LinearRegression is a regressor"),
    ],
)
def test_a_model_that_fails_has_a_reason_of_one_line(model, reason):
    found, _ = trial(model)
    assert re.match(reason, found.failure)
    assert "\n" not in found.failure
    assert found.model is None


def test_a_model_without_sample_weight_fails_and_an_interrupt_is_not_a_failure():
    class Interrupted(Constant):
        def fit(self, X, y):
            raise KeyboardInterrupt

    found, _ = trial(KNeighborsClassifier(), sample_weight=np.arange(1.0, 241.0))
    assert found.failure.startswith("TypeError: KNeighborsClassifier.fit has no sample_weight")
    with pytest.raises(KeyboardInterrupt):
        trial(Interrupted())


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_scikit_learn_on_the_same_rows():
    found, rows = trial(GaussianNB())
    model = GaussianNB().fit(X[rows.train_rows], LABELS[rows.train_rows])
    for scores, at in ((found.train, rows.train_rows), (found.test, rows.test_rows)):
        P, t = model.predict_proba(X[at]), LABELS[at]
        assert scores.log_likelihood.value == pytest.approx(-oracle.log_loss(t, P), rel=1e-12)
        assert scores.accuracy.value == pytest.approx(model.score(X[at], t), rel=1e-12)
        assert scores.brier.value == pytest.approx(oracle.brier_score_loss(t, P, scale_by_half=True), rel=1e-12)
        assert scores.auc.value == pytest.approx(oracle.roc_auc_score(t, P, multi_class="ovo"), rel=1e-12)
    np.testing.assert_array_equal(found.P, model.predict_proba(X[rows.test_rows]))
    assert found.fit_seconds > 0
    assert found.predict_seconds > 0


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_last_step_of_a_pipeline(rng, routing):
    weight = rng.integers(1, 4, size=len(X)).astype(float)
    with sklearn.config_context(enable_metadata_routing=routing):
        last = LogisticRegression()
        model = make_pipeline(StandardScaler(), last.set_fit_request(sample_weight=True) if routing else last)
        if routing:
            model[0].set_fit_request(sample_weight=False)
        found, rows = trial(model, Y, sample_weight=weight)
    assert found.failure == ""
    at = rows.train_rows
    expected = LogisticRegression().fit(StandardScaler().fit_transform(X[at]), Y[at], weight[at])
    np.testing.assert_allclose(found.model[-1].coef_, expected.coef_, rtol=1e-6)


def test_without_probabilities_only_the_accuracy_is_scored():
    found, rows = trial(LinearSVC())
    assert found.test.accuracy.value == found.model.score(X[rows.test_rows], LABELS[rows.test_rows])
    assert np.isnan([found.test.log_likelihood.value, found.test.brier.value, found.test.auc.value]).all()
    assert found.test.rows is found.P is None


def test_accuracy_scores_predict():
    costly, rows = trial(sx.DecisionRule(GaussianNB(), costs={("ant", "bee"): 100, ("ant", "cat"): 100}))
    assert costly.test.accuracy.value == costly.model.score(X[rows.test_rows], LABELS[rows.test_rows])
    assert costly.test.accuracy.value < trial(GaussianNB())[0].test.accuracy.value


def test_columns_are_matched_by_class_not_by_position():
    shuffled, straight = (trial(model)[0] for model in (Constant(("cat", "ant", "bee"), (0.5, 0.2, 0.3)), Constant()))
    assert shuffled.test.log_likelihood == straight.test.log_likelihood


def test_a_probability_that_underflows_keeps_its_logarithm_and_zero_stays_minus_infinity():
    table = np.array([[-40.0], [-39.0], [-41.0], [40.0], [39.0], [41.0]])
    rows = {"y": [0, 0, 0, 1, 1, 1], "X_test": [[60.0], [-60.0]], "y_test": [0, 1]}
    sure = compare([GaussianNB(var_smoothing=0.0)], table, **rows)["GaussianNB"]
    assert (sure.P[[0, 1], [0, 1]] == 0).all()
    expected = sure.model.predict_log_proba([[60.0], [-60.0]])[[0, 1], [0, 1]]
    np.testing.assert_allclose(sure.test.rows, expected)
    impossible, _ = trial(KNeighborsClassifier(1))
    assert impossible.test.log_likelihood.value == -np.inf
    assert np.isfinite(impossible.test.brier.value)


def test_a_frozen_model_is_scored_as_it_is():
    model = FrozenEstimator(GaussianNB().fit(X[:50], LABELS[:50]))
    found, rows = trial(model)
    np.testing.assert_array_equal(found.P, model.predict_proba(X[rows.test_rows]))


# -- evidence ----------------------------------------------------------------------------------------------------------


class Reporting(LogisticRegression):
    """A classifier that reports an evidence."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.log_evidence_, self.bic_, self.aic_ = -10.0, 22.0, 21.0
        return self


class UnknownTransformer(StandardScaler):
    """A transformer of the user."""


def test_the_evidence_of_a_model_and_of_pipelines_fitted_on_inputs_alone():
    assert read_evidence(Reporting().fit(X, Y)) == (-10.0, 22.0, 21.0, True)
    assert np.isnan(read_evidence(LogisticRegression().fit(X, Y))[:3]).all()
    columns = ColumnTransformer([("a", make_pipeline(SimpleImputer(), StandardScaler()), [0]), ("b", "drop", [1, 2])])
    model = make_pipeline(columns, "passthrough", make_pipeline(PCA(), Reporting()))
    assert read_evidence(model.fit(X, Y)).log_evidence == -10.0


@pytest.mark.parametrize(
    "step",
    [
        SelectKBest(k=2),
        TargetEncoder(target_type="multiclass", cv=2),
        ColumnTransformer([("a", SelectKBest(k=1), [0, 1])]),
        UnknownTransformer(),
    ],
)
def test_a_pipeline_whose_steps_may_use_the_labels_has_no_evidence(step):
    assert np.isnan(read_evidence(make_pipeline(step, Reporting()).fit(X, Y)).log_evidence)


def test_evidences_that_cannot_be_compared():
    assert np.isnan(read_evidence(FrozenEstimator(Reporting().fit(X, Y))).log_evidence)
    generative, model = sx.LinearDiscriminantAnalysis().fit(X, Y), Reporting().fit(X, Y)
    generative.log_evidence_ = -99.0
    assert read_evidence(generative)[::3] == (-99.0, False)
    for value in (np.nan, np.inf, -np.inf):
        model.log_evidence_ = value
        assert not read_evidence(model).of_labels


def test_probabilities_of_models_are_those_of_bayes_theorem():
    evidence, prior = {"a": np.log(0.2), "b": np.log(0.3), "c": np.log(0.01)}, {"b": 1, "a": 6, "c": 0}
    joint = np.array([0.2 * 6, 0.3 * 1, 0.0])
    assert list(model_probabilities(evidence, prior).values()) == pytest.approx(list(joint / joint.sum()))
    assert model_probabilities({"a": -1e5, "b": -1e5 - np.log(3)})["a"] == pytest.approx(0.75)


# -- the result --------------------------------------------------------------------------------------------------------


def test_differences_are_paired_over_rows(comparison):
    at = comparison.test_rows
    rows = {
        name: log_likelihoods(comparison.models_[name].predict_proba(X2[at]), Y2[at])
        for name in ("wide", "narrow", "lda", "bayes")
    }
    best = max(rows, key=lambda name: rows[name].mean())
    assert comparison.best() == comparison.names[0] == best
    for name, found in comparison.differences().items():
        if name in rows:
            expected = rows[name] - rows[best]
            assert found == pytest.approx((expected.mean(), stats.sem(expected)), rel=1e-8, abs=1e-15)
        else:
            assert np.isnan(found).all()
    columns = comparison.to_dict()
    assert columns["difference_se"][1] < columns["test_log_likelihood_se"][1]


def test_without_a_finite_best_there_are_no_differences():
    found = compare([KNeighborsClassifier(1)], np.arange(40.0)[:, None], np.arange(40) % 2)
    assert found["KNeighborsClassifier"].test.log_likelihood.value == -np.inf
    assert np.isnan(found.differences()["KNeighborsClassifier"]).all()


@pytest.mark.parametrize("by", ["accuracy", "brier", "ece", "auc", "bic", "aic", "log_evidence", "probability"])
def test_the_best_model_by_any_criterion(comparison, by):
    values = comparison.to_pandas()[f"test_{by}" if by in ("accuracy", "brier", "ece", "auc") else by].astype(float)
    assert comparison.best(by) == (values.idxmin() if by in ("brier", "ece", "bic", "aic") else values.idxmax())


def test_probabilities_and_the_average_use_models_with_an_evidence_of_the_labels(comparison):
    evidence = {name: comparison.models_[name].log_evidence_ for name in ("wide", "narrow")}
    odds = np.exp(evidence["wide"] - evidence["narrow"])
    weights, average = comparison.probabilities(), comparison.average()
    assert weights["wide"] == pytest.approx(odds / (1 + odds), rel=1e-10)
    expected = sum(weights[name] * comparison.models_[name].predict_proba(X2) for name in weights)
    np.testing.assert_allclose(average.predict_proba(X2), expected, rtol=1e-12)
    assert average.weights_ == weights
    assert comparison.average({"wide": 1, "narrow": 0}).weights_ == {"wide": 1.0, "narrow": 0.0}


def test_columns_trials_and_models_by_name(comparison):
    columns, frame = comparison.to_dict(), comparison.to_pandas()
    assert list(frame.index) == list(comparison.names) == [trial.name for trial in comparison]
    assert list(frame.columns) == list(columns)
    assert frame.loc["lda", "test_auc"] == comparison["lda"].test.auc.value
    assert frame.loc["lda", "train_brier_se"] == comparison["lda"].train.brier.standard_error
    assert frame.loc["broken", "failure"].startswith("InvalidParameterError")
    assert frame["probability"].isna().sum() == 4
    assert comparison.names[-2:] == ("svc", "broken")  # without probabilities, then failures
    assert set(comparison.models_) == set(comparison.names) - {"broken"}


def test_the_text_fits_a_terminal_and_shows_the_numbers(comparison):
    text = str(comparison)
    assert max(map(len, text.splitlines())) <= 80
    assert repr(comparison) == text
    scores, costs = (line.split()[1:] for line in text.splitlines() if line.startswith("bayes "))
    row = comparison.to_pandas().loc["bayes"]
    shown = ["test_log_likelihood", "difference", "test_accuracy", "test_brier", "test_ece", "test_auc"]
    np.testing.assert_allclose(np.array(scores, dtype=float), row[shown].astype(float), atol=5e-5)
    shown = ["train_log_likelihood", "fit_seconds", "predict_seconds"]
    np.testing.assert_allclose(np.array(costs, dtype=float), row[shown].astype(float), atol=5e-4)
    assert f"({row['test_log_likelihood_se']:.4f})" in text
    first = {line.split(" ")[0]: line.split() for line in reversed(text.splitlines())}
    assert first[comparison.names[0]][2] == "best"
    assert first["broken"][-1] == "failed"


def test_long_names_keep_their_ends_and_empty_columns_are_left_out():
    models = [GaussianNB(), LinearSVC(), KNeighborsClassifier(1)]
    text = str(compare(models, X2, Y2, names=[f"a model with a rather long name number {i}" for i in range(3)]))
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"number {i} " in text for i in range(3))
    assert "-inf" in text
    assert not [head for head in ("BIC", "P(model)", "ln p(D)") if head in text]
    assert "AUC" not in str(compare([LinearSVC()], X2, Y2))
    assert "P(model)" not in str(compare([bayes(), GaussianNB()], X2, Y2))  # a single evidence has no probability
    assert "failed" in str(compare([LogisticRegression(C=-1.0)], X2, Y2))


def test_notes_on_failures_impossible_rows_noise_calibration_and_evidence(comparison):
    notes = notes_on(comparison)
    assert notes[0].startswith("broken failed. InvalidParameterError")
    assert any(f"ECE of about {comparison.trials[0].test.ece_if_calibrated:.2g}" in note for note in notes)
    assert any(note.startswith("svc: no predict_proba") for note in notes)
    assert any(note.startswith("P(model) is") and "p(x, t)" in note for note in notes)
    assert not [note for note in notes_on(compare([bayes(), bayes(2.0)], X2, Y2)) if "P(model)" in note]
    neighbours = compare([KNeighborsClassifier(1)], X2, Y2)
    rows = neighbours.test_rows
    missed = rows[neighbours.models_["KNeighborsClassifier"].predict(X2[rows]) != Y2[rows]]
    assert f"{len(missed)} test rows (the first: row {missed[0] + 1})" in notes_on(neighbours)[0]


def test_models_within_two_standard_errors_of_the_best_are_named():
    def near(alphas, rows):
        found = compare([sx.LogisticRegression(alpha=alpha) for alpha in alphas], *rows)
        return [note for note in notes_on(found) if "within two standard errors of the best" in note]

    assert near((1.0, 1.1), (X2, Y2))[0].startswith("This model is within")
    assert near((1.0, 1.1, 1.2), (X2, Y2))[0].startswith("These models are within")
    assert not near((1.0, 1e6), blobs(n=200, n_classes=2))


# -- the average -------------------------------------------------------------------------------------------------------

MODELS = {"one": bayes(1.0), "two": bayes(2.0)}


def test_a_disagreement_of_evidence_and_test_rows_is_reported():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X @ [2.0, -1.0, 0.0] + rng.logistic(size=400) > 0).astype(int)
    agreed = compare({"good": bayes(1.0), "narrow": bayes(0.02), "lda": sx.LinearDiscriminantAnalysis()}, X, y)
    assert agreed.best("log_evidence") == "good"
    assert agreed.disagreement() is None
    assert not any("evidence prefers" in note for note in notes_on(agreed))

    def with_evidence(of_good):
        evidence = {"good": agreed["narrow"].evidence.log_evidence + of_good}
        trials = (
            replace(t, evidence=t.evidence._replace(log_evidence=evidence.get(t.name, t.evidence.log_evidence)))
            for t in agreed
        )
        return replace(agreed, trials=tuple(trials))

    opposed = with_evidence(-5.0)
    preferred, better, lead = opposed.disagreement()
    assert (preferred, better) == ("narrow", "good")
    assert lead.value == pytest.approx(
        agreed["good"].test.log_likelihood.value - agreed["narrow"].test.log_likelihood.value
    )
    assert lead.value > 2 * lead.standard_error
    (note,) = [note for note in notes_on(opposed) if "evidence prefers" in note]
    assert note.startswith("The evidence prefers narrow (P(model) 0.99), held-out rows prefer good, by ")
    assert note in " ".join(str(opposed).split())
    assert with_evidence(-0.5).disagreement() is None  # odds of 1.6


@pytest.fixture(scope="module")
def average():
    return ModelAverage(MODELS).fit(X2, Y2)


def test_the_average_weights_models_by_evidence_and_prior(average):
    fitted = {name: sklearn.base.clone(model).fit(X2, Y2) for name, model in MODELS.items()}
    odds = np.exp(fitted["one"].log_evidence_ - fitted["two"].log_evidence_)
    weights = average.weights_
    assert weights["one"] == pytest.approx(odds / (1 + odds), rel=1e-10)
    assert 0.01 < weights["one"] < 0.99  # otherwise the next check would be trivial
    expected = sum(weights[name] * model.predict_proba(X2) for name, model in fitted.items())
    np.testing.assert_allclose(average.predict_proba(X2), expected, rtol=1e-12)
    assert np.array_equal(average.predict(X2), expected.argmax(axis=1))
    tilted = ModelAverage(MODELS, {"one": 3.0, "two": 1.0}).fit(X2, Y2).weights_
    assert tilted["one"] / tilted["two"] == pytest.approx(3 * odds, rel=1e-10)


def test_the_average_has_the_interface_of_a_classifier(average, rng):
    assert average.n_features_in_ == X2.shape[1]
    rule = sx.DecisionRule(ModelAverage(MODELS), reject=0.7).fit(X2, np.array(["no", "yes"])[Y2])
    assert set(rule.predict(X2)) == {"no", "yes", "reject"}
    named = ModelAverage(MODELS).fit(pd.DataFrame(X2, columns=list("abcd")), Y2)
    assert named.feature_names_in_.tolist() == list("abcd")
    k = rng.integers(0, 3, size=len(X2))
    weighted = ModelAverage(MODELS).fit(X2, Y2, sample_weight=k)
    repeated = ModelAverage(MODELS).fit(np.repeat(X2, k, axis=0), np.repeat(Y2, k))
    assert weighted.weights_["one"] == pytest.approx(repeated.weights_["one"], rel=1e-6)
    with pytest.raises(NotFittedError):
        ModelAverage(MODELS).predict_proba(X2)


@pytest.mark.parametrize("place", ["scan", "Dask"])
def test_an_average_of_models_of_this_package_accepts_scans_and_dask(place):
    names, weight = np.array(["no", "yes"])[Y2], 1.0 + Y2
    expected = ModelAverage(MODELS).fit(X2, names, sample_weight=weight)
    if place == "scan":
        columns = {f"x{d}": column for d, column in enumerate(X2.T)} | {"y": names, "w": weight}
        rows, given = sx.scan(pa.table(columns), target="y", weight="w"), {}
    else:
        rows = da.from_array(X2, chunks=(50, X2.shape[1]))
        given = {"y": da.from_array(names, chunks=40), "sample_weight": da.from_array(weight, chunks=30)}
    found = ModelAverage(MODELS).fit(rows, **given)
    assert found.weights_["one"] == pytest.approx(expected.weights_["one"], rel=1e-6)
    np.testing.assert_allclose(np.asarray(found.predict_proba(rows)), expected.predict_proba(X2), rtol=1e-6)
    assert np.array_equal(np.asarray(found.predict(rows)), expected.predict(X2))
    assert is_dask(found.predict(rows)) == is_dask(rows)
    assert found.score(rows, *given.values()) == pytest.approx(expected.score(X2, names, weight), rel=1e-12)
    with pytest.raises(DataError, match="'theirs' is a model of sklearn.*Remove that model"):
        ModelAverage({**MODELS, "theirs": LogisticRegression()}).fit(rows, **given)


def test_a_failure_names_the_row_of_the_table(rng):
    X, y = rng.exponential(size=(40, 2)), np.arange(40) % 2
    X[33, 1] = -1.0
    folds = [Fold(X[at], y[at], at) for at in (np.arange(20), np.arange(20, 40))]
    trial = run_trial("bayes", sx.NaiveBayes("exponential"), *folds, np.array([0, 1]))
    assert "'x1' contains -1 in row 34 (" in trial.failure
