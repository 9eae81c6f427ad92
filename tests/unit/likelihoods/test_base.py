"""Covariances as their dense matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.likelihoods import Covariances


def dense(p):
    return np.einsum("nj,jk->njk", p, np.eye(p.shape[1])) - np.einsum("nj,nk->njk", p, p)


@pytest.fixture
def p(rng):
    return rng.dirichlet(np.ones(4), size=30)


@pytest.fixture
def q(rng):
    return rng.dirichlet(np.full(4, 0.3), size=30)


def test_blocks_are_the_entries_of_diag_p_minus_p_p(p, q):
    for curvature, expected in [(Covariances(p), dense(p)), (Covariances(p, q), dense(p) - dense(q))]:
        blocks = np.array([[curvature.block(j, k) for k in range(4)] for j in range(4)])
        assert_allclose(blocks.transpose(2, 0, 1), expected, atol=1e-16)


def test_dot_is_the_product_with_each_matrix(p, q, rng):
    A = rng.normal(size=p.shape)
    assert_allclose(Covariances(p).dot(A), np.einsum("njk,nk->nj", dense(p), A), atol=1e-15)
    expected = np.einsum("njk,nk->nj", dense(p) - dense(q), A)
    assert_allclose(Covariances(p, q).dot(A), expected, atol=1e-15)


def test_a_variance_keeps_its_digits_where_p_is_nearly_one():
    p = np.array([[1.0 - 2e-18, 1e-18, 1e-18]])  # the first rounds to 1, and 1 - 1 = 0
    assert_allclose(Covariances(p).block(0, 0), 2e-18, rtol=1e-15)


def test_a_shift_of_all_activations_is_no_change(p, q):
    assert_allclose(Covariances(p, q).dot(np.full(p.shape, 7.0)), 0.0, atol=1e-14)
