"""Duplicate entries of a sparse matrix are summed, and the caller's matrix is not changed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils import get_tags

from problems import ESTIMATORS, SETTINGS

EVERY_MODEL = ESTIMATORS | SETTINGS

rng = np.random.default_rng(3)
N, D = 80, 3
DENSE = np.where(rng.random((N, D)) < 0.7, rng.integers(1, 9, (N, D)), 0).astype(float)
Y = (DENSE @ [1.0, -1.0, 0.5] + rng.logistic(scale=4.0, size=N) > 1).astype(int)
SPARSE_MODELS = [name for name, model in EVERY_MODEL.items() if get_tags(model()).input_tags.sparse]


def stored_twice():
    """DENSE with each entry split into 3/4 and 1/4, which add exactly, and the columns of each row unsorted."""
    once = sparse.csr_array(DENSE)
    data = np.concatenate([0.75 * once.data, 0.25 * once.data])
    row = np.tile(np.repeat(np.arange(N), np.diff(once.indptr)), 2)
    order = np.lexsort((rng.permutation(len(row)), row))
    indptr = 2 * once.indptr
    return sparse.csr_array((data[order], np.tile(once.indices, 2)[order], indptr), shape=(N, D))


def answer(model, X):
    return model.predict_proba(X) if "predict_proba" in dir(model) else model.predict(X)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")
@pytest.mark.parametrize("name", SPARSE_MODELS)
def test_duplicate_entries_are_summed_and_the_callers_matrix_is_unchanged(name):
    twice = stored_twice()
    before = twice.data.copy(), twice.indices.copy(), twice.indptr.copy()
    assert not twice.has_canonical_format
    model = EVERY_MODEL[name]().fit(twice, Y)
    expected = answer(EVERY_MODEL[name]().fit(sparse.csr_array(DENSE), Y), DENSE)
    assert_allclose(answer(model, twice), expected, rtol=1e-9, atol=1e-12)
    for array, kept in zip((twice.data, twice.indices, twice.indptr), before, strict=True):
        assert_array_equal(array, kept)


def test_more_than_30_models_accept_sparse_matrices():
    assert len(SPARSE_MODELS) > 30
