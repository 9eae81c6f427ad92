import numpy as np
import pytest
from scipy import sparse

from separatrix.rows import Block


def test_nonfinite_values_are_counted_per_column_dense_and_sparse():
    X = np.array([[0.0, np.nan, 1.0], [np.inf, np.nan, 0.0]])
    for rows in (X, sparse.csr_array(X)):
        assert Block(rows, None, None, range(2)).nonfinite().tolist() == [1, 2, 0]


def test_asking_for_codes_that_are_not_there_is_a_programming_error():
    with pytest.raises(AssertionError, match="no targets"):
        _ = Block(np.zeros((1, 1)), None, None, range(1)).codes


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True])], ids=["positions", "mask"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_some_of_the_rows_with_all_that_belongs_to_them(rows, store):
    X, t, weight, offset = np.arange(6.0).reshape(3, 2), np.array([1, 0, 1]), np.array([1.0, 2.0, 3.0]), np.arange(3.0)
    part = Block(store(X), t, weight, range(10, 13), offset).take(rows)
    taken = np.arange(3)[rows]
    dense = part.X.toarray() if sparse.issparse(part.X) else part.X
    np.testing.assert_array_equal(dense, X[taken])
    for found, whole in [(part.t, t), (part.weight, weight), (part.row, np.arange(10, 13)), (part.offset, offset)]:
        np.testing.assert_array_equal(found, whole[taken])


def test_what_a_block_does_not_have_its_parts_do_not_have():
    part = Block(np.zeros((3, 1)), None, None, range(3)).take(np.array([1]))
    assert part.t is None
    assert part.weight is None
    assert part.offset is None
    assert len(part) == 1
