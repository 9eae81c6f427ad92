"""What holds for both reductions: two classes, storages, weights, names, rejection, refusals."""

from unittest import SkipTest

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

import separatrix as sx
from problems import STORAGES, blobs
from separatrix.exceptions import DataError
from separatrix.reductions import OneVsOne, OneVsRest
from separatrix.reductions.reduction import discriminant

BOTH = pytest.mark.parametrize("reduction", [OneVsRest, OneVsOne])
newton = LogisticRegression(solver="newton-cholesky")


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("inner", [newton, GaussianNB(), sx.LeastSquaresClassifier()], ids=repr)
@BOTH
def test_scikit_learn_contract(reduction, inner):
    with np.errstate(all="warn"):
        for estimator, check in estimator_checks_generator(reduction(inner)):
            try:
                check(estimator)
            except SkipTest:
                continue


@pytest.mark.parametrize("inner", [newton, RidgeClassifier(), GaussianNB(), DecisionTreeClassifier(random_state=0)])
@BOTH
def test_two_classes_are_the_wrapped_classifier(reduction, inner):
    X, t = blobs(100, n_classes=2)
    y = np.array(["no", "yes"])[t]
    model, alone = reduction(inner, ambiguous="reject").fit(X, y), clone(inner).fit(X, y)
    assert len(model.estimators_) == 1
    assert_array_equal(model.predict(X), alone.predict(X))
    assert_array_equal(model.decision_function(X), discriminant(alone, X))
    assert_array_equal(model.claims(X), np.eye(2)[(alone.predict(X) == "yes").astype(int)])
    assert not model.is_ambiguous(X).any()
    if not isinstance(inner, RidgeClassifier):
        assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


@BOTH
def test_a_classifier_without_decision_values_claims_by_the_larger_probability(reduction):
    X, y = blobs(100, n_classes=2)
    model = GaussianNB().fit(X, y)
    assert_array_equal(discriminant(model, X) > 0, model.predict(X) == 1)
    assert np.abs(discriminant(model, X)).max() <= 1


@pytest.mark.parametrize("storage", STORAGES)
@BOTH
def test_storage_does_not_matter(reduction, storage):
    X, y = blobs(90, n_classes=3)
    plain = reduction(sx.LeastSquaresClassifier()).fit(X, y)
    stored = reduction(sx.LeastSquaresClassifier()).fit(STORAGES[storage](X), y)
    assert_allclose(stored.decision_function(STORAGES[storage](X)), plain.decision_function(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", [list, pd.Series, np.array])
@BOTH
def test_rows_need_not_be_numbers(reduction, kind):
    texts = kind(["red apple", "green apple", "blue sky", "grey sky", "deep sea", "blue sea"])
    y = ["fruit", "fruit", "air", "air", "water", "water"]
    model = reduction(make_pipeline(CountVectorizer(), MultinomialNB())).fit(texts, y)
    assert_array_equal(model.predict(kind(["an apple", "the sky", "the sea"])), ["fruit", "air", "water"])


@BOTH
def test_weight_k_is_the_row_k_times(reduction, rng):
    X, y = blobs(80, n_classes=3)
    k = rng.integers(0, 4, size=80)
    k[:3] = 1
    weighted = reduction(RidgeClassifier()).fit(X, y, sample_weight=k)
    repeated = reduction(RidgeClassifier()).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-8, atol=1e-10)
    assert not np.allclose(weighted.decision_function(X), reduction(RidgeClassifier()).fit(X, y).decision_function(X))


@BOTH
def test_weights_are_routed_to_fit_and_to_score(reduction, rng):
    X, y = blobs(90, n_classes=3, distance=0.3)
    w, train, test = rng.uniform(size=90), np.arange(60), np.arange(60, 90)
    by_hand = reduction(RidgeClassifier()).fit(X[train], y[train], sample_weight=w[train])
    with sklearn.config_context(enable_metadata_routing=True):
        model = reduction(RidgeClassifier().set_fit_request(sample_weight=True))
        model.set_score_request(sample_weight=True)
        (score,) = cross_val_score(model, X, y, cv=[(train, test)], params={"sample_weight": w})
        assert_allclose(
            model.fit(X[train], y[train], sample_weight=w[train]).decision_function(X),
            by_hand.decision_function(X),
        )
    assert_allclose(score, (w[test] * (by_hand.predict(X[test]) == y[test])).sum() / w[test].sum())


class Stream:
    """Arrow data that can be read once, as a database cursor's."""

    def __init__(self, X):
        self.reader = STORAGES["pyarrow"](X).to_reader()

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


@BOTH
def test_a_stream_that_can_be_read_once_serves_every_classifier(reduction):
    X, y = blobs(60, n_classes=3)
    plain = reduction(newton).fit(X, y)
    streamed = reduction(newton).fit(Stream(X), y)
    assert_allclose(streamed.decision_function(Stream(X)), plain.decision_function(X), rtol=1e-9)
    assert_allclose(streamed.predict_proba(Stream(X)), plain.predict_proba(X), rtol=1e-9)


class Memory(ClassifierMixin, BaseEstimator):
    """Remembers the rows in the order it was given them."""

    def fit(self, X, y):
        self.classes_, self.seen_ = np.unique(y), X[:, 0]
        return self

    def decision_function(self, X):
        return np.zeros(len(X))


@BOTH
def test_rows_are_fitted_in_the_order_of_the_table(reduction):
    """Online rules depend on it."""
    model = reduction(Memory()).fit(np.arange(30)[:, None], np.arange(30)[::-1] % 3)
    for inner in model.estimators_:
        assert_array_equal(inner.seen_, np.sort(inner.seen_))


@BOTH
def test_columns_are_known_by_name(reduction):
    X, y = blobs(60, n_classes=3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = reduction(newton).fit(frame, y)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("dcba")])


@BOTH
def test_rejecting_touches_the_ambiguous_rows_alone(reduction):
    X, t = blobs(400, n_classes=6, distance=0.3)
    y = np.array(list("abcdef"))[t]
    resolved = reduction(RidgeClassifier()).fit(X, y)
    rejecting = reduction(RidgeClassifier(), ambiguous="reject", reject_label="?").fit(X, y)
    ambiguous = resolved.is_ambiguous(X)
    assert 0 < ambiguous.sum() < len(X)
    assert_array_equal(rejecting.predict(X), np.where(ambiguous, "?", resolved.predict(X)))


@BOTH
def test_jobs_do_not_change_the_answer(reduction):
    X, y = blobs(60, n_classes=3)
    with joblib.parallel_config(backend="threading"):
        two = reduction(newton, n_jobs=2).fit(X, y)
    assert_array_equal(two.decision_function(X), reduction(newton).fit(X, y).decision_function(X))


@BOTH
def test_probabilities_are_there_where_the_wrapped_classifier_has_them(reduction):
    X, y = blobs(60, n_classes=3)
    P = reduction(newton).fit(X, y).predict_proba(X)
    assert_allclose(P.sum(axis=1), 1)
    without = reduction(RidgeClassifier()).fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        without.predict_proba(X)


@pytest.mark.parametrize(
    ("inner", "options", "y", "error", "match"),
    [
        (KMeans(), {}, [0, 1, 2], TypeError, "KMeans has neither decision_function nor predict_proba"),
        (RidgeClassifier(), {}, [1, 1, 1], DataError, "only one class is present: every label is"),
        (RidgeClassifier(), {}, [0, 1, None], DataError, "1 of 3 labels are missing"),
        (RidgeClassifier(), {}, [0, 1], ValueError, "inconsistent numbers of samples"),
        (
            RidgeClassifier(),
            {"ambiguous": "hide"},
            [0, 1, 2],
            ValueError,
            "ambiguous='hide'.*'resolve', 'reject'",
        ),
        (
            RidgeClassifier(),
            {"ambiguous": "reject"},
            [-1, 0, 1],
            DataError,
            "reject label -1 is also a class",
        ),
    ],
)
@BOTH
def test_what_cannot_be_fitted_is_refused(reduction, inner, options, y, error, match):
    with pytest.raises(error, match=match):
        reduction(inner, **options).fit([[0.0], [1.0], [2.0]], y)


@BOTH
def test_weights_are_refused_where_the_wrapped_classifier_takes_none(reduction):
    X, y = blobs(30)
    with pytest.raises(TypeError, match=r"KNeighborsClassifier\.fit takes none"):
        reduction(KNeighborsClassifier()).fit(X, y, sample_weight=np.full(30, 2.0))


@BOTH
def test_weights_of_another_length_or_sign_are_refused(reduction):
    X, y = blobs(30)
    with pytest.raises(DataError, match=r"\(29,\), expected \(30,\)"):
        reduction(RidgeClassifier()).fit(X, y, sample_weight=np.ones(29))
    with pytest.raises(DataError, match="must not be negative"):
        reduction(RidgeClassifier()).fit(X, y, sample_weight=-np.ones(30))
