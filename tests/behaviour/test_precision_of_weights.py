"""Weights of float32 rows are float32, and predictions lose no digits by it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import linear_model
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import separatrix as sx
from problems import blobs

X, y = blobs(300, distance=1.0)
MODELS = {
    # In float32, the line search of scikit-learn 1.8 does not reach a smaller tolerance.
    "logistic": (sx.LogisticRegression(), linear_model.LogisticRegression(solver="newton-cholesky", tol=0.1)),
    "least_squares": (sx.LeastSquaresClassifier(), linear_model.RidgeClassifier()),
    "lda": (sx.LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis()),
    "perceptron": (sx.Perceptron(max_epochs=3), linear_model.Perceptron()),
}


@pytest.mark.parametrize(("ours", "theirs"), MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")
def test_weights_have_the_precision_that_scikit_learn_gives_them(ours, theirs, dtype, store):
    rows = store((10 * X[:90]).astype(dtype))
    if isinstance(theirs, LinearDiscriminantAnalysis) and store is sparse.csr_array:
        pytest.skip("scikit-learn's LDA accepts no sparse rows")
    if dtype == np.int64 and store is sparse.csr_array:
        rows = rows.astype(np.float64)
    for t in (y[:90] == 0, y[:90]):
        assert ours.fit(rows, t).coef_.dtype == theirs.fit(rows, t).coef_.dtype
        assert ours.intercept_.dtype == ours.coef_.dtype


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_use_the_weights_before_rounding(n_classes):
    rows, t = X[y < n_classes].astype(np.float32), y[y < n_classes]
    rows += np.float32(1e4)
    model = sx.LogisticRegression(tol=1e-11)
    double = model.fit(rows.astype(np.float64), t).decision_function(rows.astype(np.float64))
    single = model.fit(rows, t).decision_function(rows)
    rounded = rows.astype(np.float64) @ model.coef_.astype(np.float64).T + model.intercept_
    assert np.abs(single - double).max() < 1e-5 < 1e-4 < np.abs(rounded.squeeze() - double).max()


def test_a_saved_model_keeps_the_weights_before_rounding(tmp_path):
    rows = X.astype(np.float32) + np.float32(1e4)
    model = sx.LogisticRegression().fit(rows, y)
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    assert again.coef_.dtype == np.float32
    assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    refitted = model.fit(X, y)  # float64 rows leave nothing of the fit before
    assert refitted.coef_.dtype == np.float64
    assert_allclose(refitted.decision_function(X), X @ refitted.coef_.T + refitted.intercept_, rtol=1e-12)


def test_predictions_follow_weights_that_a_user_sets():
    rows, t = X[y < 2].astype(np.float32), y[y < 2]
    model = sx.LogisticRegression().fit(rows, t)
    model.intercept_ += 1
    assert_allclose(model.decision_function(rows), rows @ model.coef_[0] + model.intercept_, atol=1e-5)
    model.coef_ = np.zeros((1, 4))
    assert_allclose(model.decision_function(rows), np.full(len(rows), model.intercept_), rtol=1e-7)


def test_weights_beyond_float32_stay_float64():
    rows = (1e-39 * X[y < 2]).astype(np.float32)
    model = sx.LogisticRegression(alpha=1e-80).fit(rows, y[y < 2])
    assert np.isfinite(model.coef_).all()


def test_frames_and_integers_give_float64():
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert sx.LogisticRegression().fit(frame, y).coef_.dtype == np.float64
