"""Sparse rows give the sums and densities of dense ones."""

import numpy as np
import pytest
from scipy import sparse

from separatrix.families import FAMILIES
from separatrix.generative import sparse_counts
from separatrix.generative.sparse_counts import COUNTS, all_counts, dense_chunks, sparse_log_density, sparse_sums

RNG = np.random.default_rng(1)
ROWS = {
    "bernoulli": (RNG.random((30, 5)) < 0.3).astype(float),
    "poisson": RNG.poisson(0.7, (30, 5)).astype(float),
    "exponential": RNG.exponential(1.0, (30, 5)) * (RNG.random((30, 5)) < 0.5),
    "multinomial": RNG.poisson(0.7, (30, 5)).astype(float),
}
R = RNG.random((30, 3))


@pytest.mark.parametrize("family", COUNTS)
def test_sums_and_densities_equal_the_dense_ones(family):
    dense = FAMILIES[family].facts(ROWS[family], R)
    few = sparse_sums(family, sparse.csr_array(ROWS[family]), R)
    for ours, theirs in zip(few.arrays, dense.arrays, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)
    density = FAMILIES[family].ml(dense)
    np.testing.assert_allclose(
        sparse_log_density(family, density, sparse.csr_array(ROWS[family])),
        density.log_density_sum(ROWS[family]),
        rtol=1e-11,
    )


def test_an_outcome_that_never_happened_is_impossible():
    x = np.array([[0.0, 1.0], [0.0, 2.0]])
    density = FAMILIES["poisson"].ml(FAMILIES["poisson"].facts(x, np.ones((2, 1))))
    assert sparse_log_density("poisson", density, sparse.csr_array([[1.0, 0.0]])).tolist() == [[-np.inf]]


@pytest.mark.parametrize(
    ("family", "bad"),
    [("bernoulli", 2.0), ("poisson", 0.5), ("poisson", -1.0), ("multinomial", 1.5), ("exponential", -1.0)],
)
def test_values_outside_the_support_are_noticed(family, bad):
    x = ROWS[family].copy()
    assert all_counts(family, x)
    assert all_counts(family, sparse.csr_array(x))
    x[3, 2] = bad
    assert not all_counts(family, x)
    assert not all_counts(family, sparse.csr_array(x))


def test_chunks_cover_every_row_once(monkeypatch):
    x = sparse.csr_array(ROWS["poisson"])
    monkeypatch.setattr(sparse_counts, "CHUNK_BYTES", 8 * 5 * 7)
    chunks = list(dense_chunks(x))
    assert len(chunks) == 5
    np.testing.assert_array_equal(np.concatenate([part for _, part in chunks]), ROWS["poisson"])
    np.testing.assert_array_equal(np.concatenate([R[rows] for rows, _ in chunks]), R)
