import numpy as np
import pytest
from scipy import sparse

from separatrix.data import Block


def test_nonfinite_values_are_counted_per_column_dense_and_sparse():
    X = np.array([[0.0, np.nan, 1.0], [np.inf, np.nan, 0.0]])
    for rows in (X, sparse.csr_array(X)):
        assert Block(rows, None, None, range(2)).nonfinite().tolist() == [1, 2, 0]


def test_asking_for_codes_that_are_not_there_is_a_programming_error():
    with pytest.raises(AssertionError, match="no targets"):
        _ = Block(np.zeros((1, 1)), None, None, range(1)).codes
