"""scikit-learn's naive Bayes models are special cases, and agree to 1e-10 if the definitions are the same.

The definitions differ as follows:

- `GaussianNB` adds 1e-9 of the largest variance to every variance; ours adds nothing (the test sets
  var_smoothing=0), but adds one pseudo-observation by default (the test sets estimate="ml").
- `CategoricalNB` uses all levels 0 .. max of a column; ours uses the levels that occur, so the two agree if all levels
  occur. An unseen level is an index error in scikit-learn; ours gives it the probability of the pseudo-count.
- `MultinomialNB` leaves out the multinomial coefficient, which is the same for all classes.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from separatrix.exceptions import DataError
from separatrix.generative import ExponentialFamilyClassifier, NaiveBayes

SAME = 1e-10


@pytest.fixture(params=[2, 4], ids=["two classes", "four classes"])
def labels(request, rng):
    t = rng.integers(0, request.param, 500)
    t[: request.param] = np.arange(request.param)
    return t


def assert_same_predictions(ours, theirs, X):
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=SAME, atol=SAME)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=SAME)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian(labels, rng, weighted):
    X = rng.normal(3.0 + 0.3 * labels[:, None], 1 + 0.2 * labels[:, None], (500, 6))
    w = rng.random(500) if weighted else None
    ours = NaiveBayes("normal", estimate="ml").fit(X, labels, sample_weight=w)
    theirs = GaussianNB(var_smoothing=0).fit(X, labels, sample_weight=w)
    np.testing.assert_allclose(ours.densities_["normal"].mean, theirs.theta_, rtol=SAME)
    np.testing.assert_allclose(ours.densities_["normal"].variance, theirs.var_, rtol=SAME)
    assert_same_predictions(ours, theirs, X)


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_bernoulli(labels, rng, alpha):
    X = (rng.random((500, 8)) < 0.2 + 0.1 * labels[:, None]).astype(float)
    theirs = BernoulliNB(alpha=alpha).fit(X, labels)
    for table in (X, X.astype(bool), sparse.csr_array(X)):
        ours = NaiveBayes("bernoulli", pseudo_count=alpha).fit(table, labels)
        np.testing.assert_allclose(
            np.log(ours.densities_["bernoulli"].probability), theirs.feature_log_prob_, rtol=SAME
        )
        assert_same_predictions(ours, theirs, X)


@pytest.mark.parametrize("alpha", [1.0, 3.5])
def test_multinomial(labels, rng, alpha):
    X = rng.poisson(1 + np.abs(np.arange(7) - labels[:, None]), (500, 7)).astype(float)
    theirs = MultinomialNB(alpha=alpha).fit(X, labels)
    for table in (X, sparse.csr_array(X)):
        ours = ExponentialFamilyClassifier("multinomial", pseudo_count=alpha).fit(table, labels)
        log_probability = ours.densities_["multinomial"].log_probability
        np.testing.assert_allclose(log_probability, theirs.feature_log_prob_, rtol=SAME)
        assert_same_predictions(ours, theirs, X)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_categorical(labels, rng, alpha):
    X = np.column_stack([rng.integers(0, levels, 500) for levels in (2, 3, 7)])
    X[:, 2] = np.minimum(X[:, 2], 3 + labels)
    assert_same_predictions(
        NaiveBayes("categorical", pseudo_count=alpha).fit(X, labels), CategoricalNB(alpha=alpha).fit(X, labels), X
    )


def test_partial_fit_matches_too(labels, rng):
    X = rng.normal(0.3 * labels[:, None], 1, (500, 3))
    ours, theirs = NaiveBayes("normal", estimate="ml"), GaussianNB(var_smoothing=0)
    for rows in (slice(0, 50), slice(50, 333), slice(333, 500)):
        ours.partial_fit(X[rows], labels[rows])
        theirs.partial_fit(X[rows], labels[rows], classes=np.unique(labels))
    assert_same_predictions(ours, theirs, X)


def test_data_far_from_zero_lose_no_accuracy(rng):
    """Statistics are centred, so values 1e8 standard deviations from zero are classified like values near zero."""
    t = np.arange(400) % 2
    X = rng.normal(t, 1.0)[:, None]
    near, far = (NaiveBayes("normal", estimate="ml").fit(X + offset, t) for offset in (0.0, 2.0**27))
    np.testing.assert_allclose(far.predict_proba(X + 2.0**27), near.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_fractional_counts_agree_with_multinomial_nb(is_sparse, rng):
    words = rng.poisson(rng.uniform(0.2, 3.0, size=8), size=(60, 8))
    X, y = TfidfTransformer().fit_transform(words), np.arange(60) % 3
    X = X if is_sparse else X.toarray()
    ours = ExponentialFamilyClassifier("multinomial", pseudo_count=0.5).fit(X, y)
    theirs = MultinomialNB(alpha=0.5).fit(X, y)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    assert_allclose(ours.densities_["multinomial"].log_probability, theirs.feature_log_prob_, rtol=1e-10)
    predictive = ExponentialFamilyClassifier("multinomial", estimate="predictive").fit(X, y)
    assert np.isfinite(predictive.log_density(X)).all()
    with pytest.raises(DataError, match="not negative"):
        ours.predict(-X)
