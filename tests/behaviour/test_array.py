import numpy as np
import pytest
from scipy import sparse

from separatrix._array import bincount, is_sparse, to_dense, working_dtype


@pytest.mark.parametrize(("given", "expected"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("?", "f8")])
def test_float32_stays_and_the_rest_becomes_float64(given, expected):
    assert working_dtype(given) == expected


def test_bincount_is_float64_with_and_without_weights():
    for weight in (None, np.array([0.5, 1.0, 2.0], dtype=np.float32)):
        count = bincount(np.array([0, 2, 2]), weight, 4)
        assert count.dtype == np.float64
        assert len(count) == 4


def test_dense_of_sparse_and_of_dense():
    X = np.eye(3)
    assert is_sparse(sparse.csr_matrix(X))
    assert not is_sparse(X)
    assert np.array_equal(to_dense(sparse.csr_array(X)), to_dense(X))
