import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError
from separatrix.geometry import linear_functions


@pytest.mark.parametrize(("n_classes", "rows"), [(2, 1), (3, 3)])
@pytest.mark.parametrize("model", [sx.FisherDiscriminant(), LogisticRegression()])
def test_the_functions_of_a_model_are_its_own_numbers(model, n_classes, rows):
    X, y = blobs(60, n_classes=n_classes)
    W, w0 = linear_functions(model.fit(X, y))
    assert W.shape == (rows, 4)
    assert_array_equal(W, np.atleast_2d(model.coef_))
    assert_array_equal(w0, np.ravel(model.intercept_))


def test_a_model_without_intercept_has_zeros():
    X, y = blobs(60)
    _, w0 = linear_functions(LinearSVC(fit_intercept=False).fit(X, y))  # its intercept_ is the number 0.0
    assert_array_equal(w0, np.zeros(3))


def test_models_whose_boundaries_are_not_planes():
    X, y = blobs(60)
    with pytest.raises(DataError, match="KNeighborsClassifier has no coef_ and intercept_"):
        linear_functions(KNeighborsClassifier().fit(X, y))
    with pytest.raises(DataError, match="fitted with a basis"):
        linear_functions(sx.FisherDiscriminant(basis=sx.basis.Polynomial(2)).fit(X, y))
    with pytest.raises(NotFittedError):
        linear_functions(sx.FisherDiscriminant())
