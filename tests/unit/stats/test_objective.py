"""Sums over rows against the same sums written plainly, in every storage; and against differences."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from separatrix.likelihoods import Logit, Softmax
from separatrix.rows.block import Block
from separatrix.stats.objective import Design, largest_share, value_grad, value_grad_hess

N, M = 60, 3
STORES = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sparse.csr_array,
}


def block_of(X, t, rng, *, weighted, moved):
    weight = rng.integers(0, 3, size=len(t)).astype(np.float64) if weighted else None
    offset = rng.normal(size=len(t)) if moved else None
    return Block(X, t, weight, range(len(t)), offset)


def targets(n_outputs, soft, rng, n=N):
    if soft:
        shares = rng.dirichlet(np.ones(max(n_outputs, 2)), size=n)
        return shares[:, 0].copy() if n_outputs == 1 else shares
    return rng.integers(max(n_outputs, 2), size=n)


def likelihood_of(n_outputs):
    return Logit() if n_outputs == 1 else Softmax(n_outputs)


def plain(block, theta, design):
    """Value, gradient and Hessian by loops over rows, with x - c taken in full."""
    X = np.asarray(block.X.toarray() if sparse.issparse(block.X) else block.X, dtype=np.float64) - design.origin
    Phi = np.column_stack([X, np.ones(len(X))]) if design.bias else X
    C, P = theta.shape
    value, grad, hess = 0.0, np.zeros((C, P)), np.zeros((C * P, C * P))
    for n, phi in enumerate(Phi):
        weight = 1.0 if block.weight is None else block.weight[n]
        a = theta @ phi + (0.0 if block.offset is None else block.offset[n])
        if C == 1:
            T, p, log_norm = np.array([block.t[n]], dtype=float), 1 / (1 + np.exp(-a)), np.logaddexp(0, a[0])
            R = np.array([[p[0] * (1 - p[0])]])
        else:
            T = block.t[n] if block.t.ndim == 2 else np.eye(C)[block.t[n]]
            log_norm = np.log(np.exp(a).sum())
            p = np.exp(a - log_norm)
            R = np.diag(p) - np.outer(p, p)
        value -= weight * (T @ a - log_norm)
        grad += weight * np.outer(p - T, phi)
        hess += weight * np.kron(R, np.outer(phi, phi))
    return value, grad, hess


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("subtract", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_value_gradient_and_hessian_are_the_sums_they_are_said_to_be(
    store, n_outputs, soft, bias, subtract, compiled, rng, monkeypatch
):
    monkeypatch.setattr("separatrix.stats.design.COMPILED_FROM", 0 if compiled else np.inf)
    X = 1.0 + rng.normal(size=(N, M))
    X[rng.random(X.shape) < 0.3] = 0.0
    block = block_of(STORES[store](X), targets(n_outputs, soft, rng), rng, weighted=soft, moved=bias)
    design = Design(X.mean(axis=0) if bias else np.zeros(M), bias, subtract)
    theta = rng.normal(size=(n_outputs, M + bias))
    value, grad, hess = plain(block, theta, design)
    found = value_grad_hess(block, theta, likelihood_of(n_outputs), design)
    np.testing.assert_allclose(found.value, value, rtol=1e-12)
    np.testing.assert_allclose(found.grad, grad, atol=1e-12 * N)
    np.testing.assert_allclose(found.hess, hess, atol=1e-12 * N)
    less = value_grad(block, theta, likelihood_of(n_outputs), design)
    assert less.value == found.value
    np.testing.assert_array_equal(less.grad, found.grad)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_single_precision_rows_lose_single_precision_and_no_more(store, n_outputs, compiled, rng, monkeypatch):
    monkeypatch.setattr("separatrix.stats.design.COMPILED_FROM", 0 if compiled else np.inf)
    X = (30.0 + rng.normal(size=(N, M))).astype(np.float32)
    block = block_of(STORES[store](X), targets(n_outputs, False, rng), rng, weighted=True, moved=True)
    design = Design(np.full(M, 30.0), bias=True, subtract=True)
    theta = rng.normal(size=(n_outputs, M + 1))
    value, grad, hess = plain(block, theta, design)
    found = value_grad_hess(block, theta, likelihood_of(n_outputs), design)
    tolerance = 1e-6 if store != "csr" else 3e-5  # sparse rows stay where they are, thirty standard deviations away
    assert found.grad.dtype == found.hess.dtype == np.float64
    np.testing.assert_allclose(found.value, value, rtol=tolerance)
    np.testing.assert_allclose(found.grad, grad, atol=tolerance * N)
    np.testing.assert_allclose(found.hess, hess, atol=30 * tolerance * N)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_hessian_in_single_precision_leaves_value_and_gradient_alone(n_outputs, compiled, rng, monkeypatch):
    monkeypatch.setattr("separatrix.stats.design.COMPILED_FROM", 0 if compiled else np.inf)
    X = 1e3 + rng.normal(size=(N, M))
    block = block_of(X, targets(n_outputs, False, rng), rng, weighted=True, moved=False)
    design = Design(np.full(M, 1e3), bias=True)
    theta = rng.normal(size=(n_outputs, M + 1))
    double, single = (
        value_grad_hess(block, theta, likelihood_of(n_outputs), design, single=is_single) for is_single in (False, True)
    )
    assert single.value == double.value
    np.testing.assert_array_equal(single.grad, double.grad)
    np.testing.assert_allclose(single.hess, double.hess, atol=1e-6 * N)
    assert not np.array_equal(single.hess, double.hess)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("soft", [False, True])
def test_gradient_and_hessian_are_derivatives(n_outputs, soft, rng):
    block = block_of(rng.normal(size=(N, M)), targets(n_outputs, soft, rng), rng, weighted=True, moved=True)
    design, likelihood = Design(np.full(M, 0.1), bias=True), likelihood_of(n_outputs)
    theta = rng.normal(size=(n_outputs, M + 1))
    here = value_grad_hess(block, theta, likelihood, design)

    def at(flat):
        return value_grad(block, flat.reshape(theta.shape), likelihood, design)

    by_differences = optimize.approx_fprime(theta.ravel(), lambda flat: at(flat).value, 1e-7)
    np.testing.assert_allclose(here.grad.ravel(), by_differences, atol=1e-4)
    jacobian = optimize.approx_fprime(theta.ravel(), lambda flat: at(flat).grad.ravel(), 1e-7)
    np.testing.assert_allclose(here.hess, jacobian, atol=1e-4)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_hessian_has_no_curvature_along_what_all_classes_share(n_outputs, rng):
    block = block_of(rng.normal(size=(N, M)), targets(n_outputs, False, rng), rng, weighted=False, moved=False)
    theta = rng.normal(size=(n_outputs, M + 1))
    hess = value_grad_hess(block, theta, likelihood_of(n_outputs), Design(np.zeros(M), bias=True)).hess
    assert np.linalg.eigvalsh(hess)[0] > -1e-12 * N
    along = hess @ np.tile(rng.normal(size=M + 1), n_outputs)
    assert (np.abs(along).max() < 1e-12 * N) == (n_outputs > 1)


def test_an_offset_of_ten_million_standard_deviations_costs_no_digits_of_dense_rows(rng):
    Z = np.round(rng.normal(size=(N, M)), 2)
    t = targets(1, False, rng)
    theta = rng.normal(size=(1, M + 1))
    near, far = (
        value_grad_hess(
            Block(Z * 1e-2 + origin, t, None, range(N)), theta * 100, Logit(), Design(np.full(M, origin), True, True)
        )
        for origin in (0.0, 1e5)
    )
    np.testing.assert_allclose(far.value, near.value, rtol=1e-7)  # the rows themselves are rounded to 1e-11
    np.testing.assert_allclose(far.grad, near.grad, atol=1e-7)
    np.testing.assert_allclose(far.hess, near.hess, atol=1e-7)


def test_a_constant_column_of_sparse_rows_has_a_hessian_of_zero_and_not_of_rounding(rng):
    X = sparse.csr_array(np.column_stack([rng.normal(size=N), np.full(N, 3.7)]))
    block = Block(X, targets(1, False, rng), None, range(N))
    design = Design(np.asarray(X.mean(axis=0)).ravel(), bias=True)
    hess = value_grad_hess(block, np.array([[0.3, 0.0, 0.1]]), Logit(), design).hess
    assert not hess[1].any()
    assert not hess[:, 1].any()
    assert hess[0, 0] > 0


def test_weights_and_bias_in_user_units_and_back(rng):
    theta = rng.normal(size=(3, M + 1))
    design = Design(rng.normal(size=M), bias=True)
    coef, intercept = design.in_user_units(theta)
    x = rng.normal(size=M)
    np.testing.assert_allclose(coef @ x + intercept, theta @ np.append(x - design.origin, 1.0))
    np.testing.assert_allclose(design.of_user_units(coef, intercept), theta)
    without = Design(np.zeros(M), bias=False)
    coef, intercept = without.in_user_units(theta[:, :M])
    np.testing.assert_array_equal(without.of_user_units(coef, intercept), theta[:, :M])
    assert not intercept.any()


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_largest_share_is_that_of_a_row_with_weight(n_outputs, rng):
    """Of the logit, |curvature V φ̃ / slope|; of K classes, the spread of V φ̃, a bound."""
    X = rng.normal(size=(N, M))
    theta, V = rng.normal(size=(2, n_outputs, M + 1))
    weight = (rng.random(N) < 0.5).astype(np.float64)
    t, offset = targets(n_outputs, False, rng), rng.normal(size=N)
    block = Block(X, t, weight, range(N), offset=offset)
    Phi = np.column_stack([X - 0.5, np.ones(N)])
    A = Phi @ V.T
    reach = np.ptp(A, axis=1)
    if n_outputs == 1:
        p = 1 / (1 + np.exp(-(Phi @ theta[0] + offset)))
        reach = np.abs(p * (1 - p) * A[:, 0] / (t - p))
    likelihood, design = Logit() if n_outputs == 1 else Softmax(3), Design(np.full(M, 0.5), bias=True)
    found = largest_share(block, theta, V, likelihood, design)
    np.testing.assert_allclose(found.value, reach[weight > 0].max())
    without = largest_share(block.take(weight == 0), theta, V, likelihood, design)
    assert (found + without).value == found.value


@st.composite
def partitions(draw):
    """A number of rows, and where to cut them into blocks; some may be empty."""
    n = draw(st.integers(1, 40))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=6)))
    return n, [0, *cuts, n]


@settings(max_examples=40)
@given(
    partition=partitions(),
    n_outputs=st.sampled_from([1, 3]),
    store=st.sampled_from(sorted(STORES)),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_partition_of_the_rows_gives_the_same_sums(partition, n_outputs, store, seed):
    rng = np.random.default_rng(seed)
    n, cuts = partition
    X = rng.normal(size=(n, M)) * 10.0 ** rng.integers(-2, 3, size=M)
    whole = block_of(STORES[store](X), targets(n_outputs, False, rng, n), rng, weighted=True, moved=True)
    design, likelihood = Design(rng.normal(size=M), bias=True), likelihood_of(n_outputs)
    theta = rng.normal(size=(n_outputs, M + 1))
    parts = [whole.take(np.arange(low, high)) for low, high in pairwise(cuts)]
    together = reduce(add, (value_grad_hess(part, theta, likelihood, design) for part in parts))
    alone = value_grad_hess(whole, theta, likelihood, design)
    scale = np.abs(alone.hess).max() + 1.0
    np.testing.assert_allclose(together.value, alone.value, rtol=1e-12)
    np.testing.assert_allclose(together.grad, alone.grad, atol=1e-12 * scale)
    np.testing.assert_allclose(together.hess, alone.hess, atol=1e-12 * scale)
