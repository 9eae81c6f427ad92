"""Factors of a Hessian: inverse, matrix, and what happens where it is singular."""

import numpy as np
import pytest

from separatrix.solvers.factor import factorise


def test_a_factor_is_the_inverse_and_remembers_the_matrix(rng):
    Z = rng.normal(size=(40, 5)) * [1e-4, 1, 10, 1e3, 1e5]
    H, g = Z.T @ Z, rng.normal(size=(1, 5))
    factor = factorise(H, 1, np.zeros(5, dtype=bool))
    np.testing.assert_allclose(factor.matrix, H, rtol=1e-10)
    np.testing.assert_allclose(factor.diagonal, H.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(factor.square(g), g[0] @ H @ g[0], rtol=1e-10)
    np.testing.assert_allclose(factor.solve(g)[0], np.linalg.solve(H, g[0]), rtol=1e-8)


def test_a_singular_hessian_names_columns_and_still_solves(rng):
    Z = rng.normal(size=(40, 3))
    Z = np.column_stack([Z, Z[:, 0] - Z[:, 2]])
    H = Z.T @ Z
    factor = factorise(H, 1, np.ones(4, dtype=bool))
    assert factor.singular.describe(("a", "b", "c", "d")) == "'d' is a combination of 'a', 'c'" or factor.singular
    np.testing.assert_allclose(factor.diagonal, H.diagonal())
    np.testing.assert_allclose(factor.square(Z[0]), Z[0] @ H @ Z[0])
    g = H @ rng.normal(size=4)  # in the range of H, as a gradient is
    np.testing.assert_allclose(H @ factor.solve(g), g, atol=1e-8)


@pytest.mark.parametrize("n_outputs", [2, 3])
def test_weights_shared_by_all_classes_get_no_step(rng, n_outputs):
    """The Hessian of a softmax without a prior is singular along them, and the gradient has no part there."""
    Z, P = rng.normal(size=(60, 2)), rng.dirichlet(np.ones(n_outputs), size=60)
    blocks = np.einsum("nk,kj->nkj", P, np.eye(n_outputs)) - np.einsum("nk,nj->nkj", P, P)
    H = np.einsum("nkj,np,nq->kpjq", blocks, Z, Z).reshape(2 * n_outputs, -1)
    g = rng.normal(size=(n_outputs, 2))
    g -= g.mean(axis=0)
    factor = factorise(H, n_outputs, np.ones(2, dtype=bool))
    step = factor.solve(g)
    np.testing.assert_allclose(step.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose((H @ step.ravel()).reshape(g.shape), g, atol=1e-9)
