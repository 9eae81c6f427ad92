import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError
from separatrix.shell import require_two_classes


def test_two_classes_are_asked_for_by_name():
    require_two_classes(object(), np.array(["a", "b"]), "x=1")
    with pytest.raises(DataError, match=r"object\(x=1\) is for two classes, but y has 7: 0, 1, 2, 3, 4, 5, \.\.\."):
        require_two_classes(object(), np.arange(7), "x=1")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_follow_from_coefficients_in_the_precision_of_the_rows(n_classes):
    X, y = blobs(100, n_classes=n_classes)
    model = sx.LeastSquaresClassifier().fit(X, y)
    a = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), a[:, 0] if n_classes == 2 else a, rtol=1e-12)
    assert np.array_equal(model.predict(X), (a[:, 0] > 0) if n_classes == 2 else a.argmax(axis=1))
    assert_allclose(model.decision_function(X.astype(np.float32)), model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("model", [sx.LeastSquaresClassifier, sx.FisherDiscriminant, sx.Perceptron])
def test_a_basis_is_fitted_inside_and_used_at_prediction(model, rng):
    X = rng.normal(size=(120, 2))
    X *= np.where(np.hypot(*X.T) > 1.1, 1.3, 0.8)[:, None]
    y = (np.hypot(*X.T) > 1.1).astype(int)  # a disc and a ring: no line will do, a quadratic does
    curved = model(basis=sx.basis.Polynomial(2)).fit(X, y)
    assert curved.score(X, y) > 0.85
    assert sx.LeastSquaresClassifier().fit(X, y).score(X, y) < 0.7
    assert curved.coef_.shape == (1, 5)
    assert curved.n_features_in_ == 2
    with pytest.raises(DataError, match=r"column 'x1' \(1 of 120 rows\)"):
        curved.predict(np.where(np.arange(240).reshape(120, 2) == 7, np.nan, X))


def test_huge_but_finite_activations_pass():
    model = sx.LeastSquaresClassifier().fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])
    assert model.predict([[1e308], [-1e308]]).tolist() == [1, 0]
