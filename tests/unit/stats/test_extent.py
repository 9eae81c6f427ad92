import numpy as np
from scipy import sparse

from separatrix.rows import Block
from separatrix.stats import extent


def test_extent_of_dense_and_sparse_rows(rng):
    X = np.where(rng.random((40, 3)) < 0.3, rng.normal(size=(40, 3)), 0.0)
    for rows in (X, sparse.csr_array(X), X.astype(np.float32)):
        reach = extent(Block(rows, None, None, range(40)))
        np.testing.assert_allclose(reach.low, X.min(axis=0), rtol=1e-6)
        np.testing.assert_allclose(reach.high, X.max(axis=0), rtol=1e-6)
        np.testing.assert_allclose(reach.radius, np.linalg.norm(X, axis=1).max(), rtol=1e-6)
