"""Coefficients of linear models as functions of a hyperplane."""

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.svm import LinearSVC

from problems import blobs
from separatrix.geometry import linear_functions


def test_a_model_without_intercept_has_zeros():
    X, y = blobs(60)
    _, w0 = linear_functions(LinearSVC(fit_intercept=False).fit(X, y))  # its intercept_ is the number 0.0
    assert_array_equal(w0, np.zeros(3))
