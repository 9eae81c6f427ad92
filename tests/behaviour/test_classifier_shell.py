"""Common base class of classifiers: predictions from coefficients, bases, and failed fits."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_follow_from_coefficients_in_the_precision_of_the_rows(n_classes):
    X, y = blobs(100, n_classes=n_classes)
    model = sx.LeastSquaresClassifier().fit(X, y)
    a = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), a[:, 0] if n_classes == 2 else a, rtol=1e-12)
    assert np.array_equal(model.predict(X), (a[:, 0] > 0) if n_classes == 2 else a.argmax(axis=1))
    assert_allclose(model.decision_function(X.astype(np.float32)), model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(
    "model", [sx.LeastSquaresClassifier, sx.FisherDiscriminant, sx.Perceptron, sx.LogisticRegression]
)
def test_a_basis_is_fitted_inside_and_used_at_prediction(model, rng):
    X = rng.normal(size=(120, 2))
    X *= np.where(np.hypot(*X.T) > 1.1, 1.3, 0.8)[:, None]
    y = (np.hypot(*X.T) > 1.1).astype(int)  # a disc and a ring, separable by a quadratic but not by a line
    curved = model(basis=sx.basis.Polynomial(2)).fit(X, y)
    assert curved.score(X, y) > 0.85
    assert sx.LeastSquaresClassifier().fit(X, y).score(X, y) < 0.7
    assert curved.coef_.shape == (1, 5)
    assert curved.n_features_in_ == 2
    with pytest.raises(DataError, match=r"column 'x1' \(1 of 120 rows\)"):
        curved.predict(np.where(np.arange(240).reshape(120, 2) == 7, np.nan, X))


def test_huge_finite_activations_are_accepted():
    model = sx.LeastSquaresClassifier().fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])
    assert model.predict([[1e308], [-1e308]]).tolist() == [1, 0]


def rows_that_end(X, y):
    """A scan that fails at the end of its rows."""
    table = pa.table({f"x{d}": X[:, d] for d in range(X.shape[1])} | {"y": y})

    def batches():
        yield from table.to_batches()
        raise ValueError("the disk is gone")

    return sx.scan(lambda: pa.RecordBatchReader.from_batches(table.schema, batches()), target="y")


MODELS = [
    sx.LeastSquaresClassifier(),
    sx.FisherDiscriminant(),
    sx.Perceptron(),
    sx.LogisticRegression(),
    sx.ProbitRegression(),
    sx.LabelNoiseLogisticRegression(),
    sx.BayesianLogisticRegression(sx.Gaussian(1.0)),
    sx.LinearDiscriminantAnalysis(),
    sx.GeneralizedLinearModel(family="poisson"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fit_that_fails_leaves_the_model_as_it_was(model):
    X, y = blobs(100, n_classes=2)
    model = clone(model)
    with pytest.raises(DataError, match="the disk is gone"):
        model.fit(rows_that_end(X, y))
    assert vars(model).keys() == model.get_params(deep=False).keys()
    before = dict(vars(model.fit(X, y)))
    with pytest.raises(DataError, match="the disk is gone"):
        model.fit(rows_that_end(X[:, :1], y + 5))  # other labels, other columns
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
