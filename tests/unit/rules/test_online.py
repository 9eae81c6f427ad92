"""The compiled loop does what the same loop does in plain Python, for every storage and number of classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from problems import blobs
from separatrix.rules._online import perceptron_rows, start, storage


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [np.ascontiguousarray, sparse.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_compiled_equals_plain(n_classes, kind, bias, rng):
    X, y = blobs(80, n_classes=n_classes, distance=0.5)
    X = np.where(np.abs(X) < 0.7, 0.0, X).astype(np.float32).astype(np.float64)
    step = rng.choice([0.0, 0.5, 1.0], size=80)
    outputs = 1 if n_classes == 2 else n_classes
    compiled, plain = start(outputs, 4), start(outputs, 4)
    for _ in range(3):
        mistakes = perceptron_rows(storage(kind(X)), y, step, bias, compiled)
        assert mistakes == perceptron_rows.py_func(storage(kind(X)), y, step, bias, plain)
        assert mistakes > 0
    for a, b in zip(compiled, plain, strict=True):
        assert_allclose(a, b, rtol=1e-5 if kind(X).dtype == np.float32 else 1e-10, atol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_activation_that_is_not_finite_is_reported(value):
    X = np.array([[1.0, 2.0], [value, 0.0], [0.0, 1.0]])
    assert perceptron_rows(X, np.array([0, 1, 0]), np.ones(3), 1.0, start(1, 2)) == -1
    assert perceptron_rows(X, np.array([0, 1, 2]), np.ones(3), 1.0, start(3, 2)) == -1
