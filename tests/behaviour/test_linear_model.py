"""Coefficients of linear models as functions of a hyperplane."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import separatrix as sx
from problems import blobs
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
