"""The objective and its products agree with plain sums over rows, for every way to store the rows."""

import functools
import operator

import numpy as np
import pytest
from scipy import sparse

from separatrix import LogisticRegression
from separatrix.likelihoods import Logit, Probit, Softmax
from separatrix.rows import Block, as_source
from separatrix.solvers import Units
from separatrix.stats import Design, value_grad, value_grad_hess

N, M = 60, 3
COPIES = [1, 300]  # copies of the rows: 300 make a block large enough for the compiled loops
STORES = {"dense": np.asarray, "fortran": np.asfortranarray, "csr": sparse.csr_array}


def block_of(X, t, rng, *, weighted, moved):
    weight = rng.integers(0, 3, size=len(t)).astype(np.float64) if weighted else None
    offset = rng.normal(size=len(t)) if moved else None
    return Block(X, t, weight, range(len(t)), offset)


def repeated(block, copies, store):
    """The same rows several times, in another storage: sums are ``copies`` times as large."""
    every = np.tile(np.arange(len(block)), copies)
    taken = block.take(every)
    return Block(store(taken.X), taken.t, taken.weight, range(len(every)), taken.offset)


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
@pytest.mark.parametrize("copies", COPIES)
def test_value_gradient_and_hessian_are_sums_over_rows(store, n_outputs, soft, bias, subtract, copies, rng):
    X = 1.0 + rng.normal(size=(N, M))
    X[rng.random(X.shape) < 0.3] = 0.0
    rows = block_of(X, targets(n_outputs, soft, rng), rng, weighted=soft, moved=bias)
    block = repeated(rows, copies, STORES[store])
    design = Design(X.mean(axis=0) if bias else np.zeros(M), bias, subtract)
    theta = rng.normal(size=(n_outputs, M + bias))
    value, grad, hess = plain(rows, theta, design)
    found = value_grad_hess(block, theta, likelihood_of(n_outputs), design)
    np.testing.assert_allclose(found.value / copies, value, rtol=1e-12)
    np.testing.assert_allclose(found.grad / copies, grad, atol=1e-12 * N)
    np.testing.assert_allclose(found.hess / copies, hess, atol=1e-12 * N)
    less = value_grad(block, theta, likelihood_of(n_outputs), design)
    assert less.value == found.value
    np.testing.assert_array_equal(less.grad, found.grad)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("copies", COPIES)
def test_float32_rows_lose_no_more_than_single_precision(store, n_outputs, copies, rng):
    X = (30.0 + rng.normal(size=(N, M))).astype(np.float32)
    rows = block_of(X, targets(n_outputs, False, rng), rng, weighted=True, moved=True)
    design = Design(np.full(M, 30.0), bias=True, subtract=True)
    theta = rng.normal(size=(n_outputs, M + 1))
    value, grad, hess = plain(rows, theta, design)
    found = value_grad_hess(repeated(rows, copies, STORES[store]), theta, likelihood_of(n_outputs), design)
    tolerance = 1e-6 if store != "csr" else 3e-5  # sparse rows are not shifted: they are 30 standard deviations from 0
    assert found.grad.dtype == found.hess.dtype == np.float64
    np.testing.assert_allclose(found.value / copies, value, rtol=tolerance)
    np.testing.assert_allclose(found.grad / copies, grad, atol=tolerance * N)
    np.testing.assert_allclose(found.hess / copies, hess, atol=30 * tolerance * N)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("copies", COPIES)
def test_a_hessian_in_single_precision_leaves_value_and_gradient_exact(n_outputs, copies, rng):
    X = 1e3 + rng.normal(size=(N, M))
    rows = block_of(X, targets(n_outputs, False, rng), rng, weighted=True, moved=False)
    block, design = repeated(rows, copies, np.asarray), Design(np.full(M, 1e3), bias=True)
    theta = rng.normal(size=(n_outputs, M + 1))
    double, single = (
        value_grad_hess(block, theta, likelihood_of(n_outputs), design, single=is_single) for is_single in (False, True)
    )
    assert single.value == double.value
    np.testing.assert_array_equal(single.grad, double.grad)
    np.testing.assert_allclose(single.hess, double.hess, atol=1e-6 * N * copies)
    assert not np.array_equal(single.hess, double.hess)


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e18, 1e-28])
def test_a_hessian_in_single_precision_does_not_depend_on_the_units_of_columns(copies, n_outputs, dtype, size, rng):
    X, units = rng.normal(size=(N, M)), np.array([size, 1.0, 1 / size])
    rows = block_of(X, targets(n_outputs, False, rng), rng, weighted=False, moved=False)
    theta = rng.normal(size=(n_outputs, M + 1))
    design = Design(np.full(M, 0.5), bias=True, spread=np.ones(M))
    scaled = Design(0.5 * units, bias=True, spread=units)
    expected = value_grad_hess(rows, theta, likelihood_of(n_outputs), design).hess
    block = repeated(rows, copies, lambda X: (X * units).astype(dtype))
    with np.errstate(over="raise", under="ignore"):
        at = theta / np.append(units, 1.0)
        found = value_grad_hess(block, at, likelihood_of(n_outputs), scaled, single=True).hess
    every = np.tile(np.append(units, 1.0), n_outputs)
    np.testing.assert_allclose(found / copies / every / every[:, None], expected, atol=2e-6 * N)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_variances_of_activations_in_single_precision_have_its_digits(size, rng):
    X = size * (rng.normal(size=(500, 6)) + 3.0)
    design = Design(X.mean(axis=0), bias=True, spread=X.std(axis=0))
    R = np.triu(rng.normal(size=(7, 7))) / np.append(np.full(6, size), 1.0)[:, None]
    double, single = (design.row_variance(X, R, single=each) for each in (False, True))
    np.testing.assert_allclose(single, double, rtol=1e-5)
    assert (single != double).any()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("n_outputs", [1, 2, 3])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("copies", COPIES)
def test_products_with_the_gram_matrix_need_no_matrix(store, n_outputs, weighted, bias, copies, rng):
    rows = block_of(rng.normal(size=(N, M)), targets(1, False, rng), rng, weighted=weighted, moved=True)
    block, design = repeated(rows, copies, STORES[store]), Design(rng.normal(size=M), bias)
    theta = rng.normal(size=(n_outputs, design.width))
    A = design.gram(block, np.ones(len(block)) if block.weight is None else block.weight)
    np.testing.assert_allclose(design.gram_dot(block, theta), theta @ A, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("distance", [1e6, 1e8])
@pytest.mark.parametrize("store", STORES)
def test_rows_far_from_zero_keep_their_digits(copies, n_outputs, distance, store, rng):
    D = 4
    Z = np.round(rng.normal(size=(N, D)), 2) * (rng.random((N, D)) < [1.0, 0.1, 0.5, 1.0])
    far = Z + np.array([distance, 0.0, 0.0, -distance])
    t, theta = targets(n_outputs, False, rng), rng.normal(size=(n_outputs, D + 1))
    rows = Block(Z, t, None, range(N))
    moved_rows = repeated(Block(far, t, None, range(N)), copies, STORES[store])
    spread, origin = Z.std(axis=0), np.array([distance, 0.0, 0.3, -distance])
    near = Design(origin - [distance, 0.0, 0.0, -distance], bias=True)
    moved = Design(origin, bias=True, subtract=store != "csr", spread=spread)
    np.testing.assert_array_equal(moved.far, [distance, 0.0, 0.0, -distance])
    expected = value_grad_hess(rows, theta, likelihood_of(n_outputs), near)
    found = value_grad_hess(moved_rows, theta, likelihood_of(n_outputs), moved)
    rounding = 1e-15 * distance
    np.testing.assert_allclose(found.value / copies, expected.value, rtol=10 * rounding)
    np.testing.assert_allclose(found.grad / copies, expected.grad, atol=10 * rounding * N)
    np.testing.assert_allclose(found.hess / copies, expected.hess, atol=10 * rounding * N)
    np.testing.assert_array_equal(value_grad(moved_rows, theta, likelihood_of(n_outputs), moved).grad, found.grad)


@pytest.mark.parametrize("offset", [1e6, 1e7, 1e9])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_sparse_column_far_from_zero_is_no_constant(offset, alpha, rng):
    X = np.round(rng.normal(size=(500, 5)), 3)
    t = (X[:, 0] + rng.logistic(size=500) > 0).astype(int)
    X[:, 0] += offset
    dense = LogisticRegression(alpha).fit(X, t)
    csr = LogisticRegression(alpha).fit(sparse.csr_array(X), t)
    assert csr.coef_[0, 0] > 0.3
    np.testing.assert_allclose(csr.coef_, dense.coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("store", [np.asarray, np.float32, sparse.csr_array], ids=["dense", "float32", "csr"])
@pytest.mark.parametrize("level", [3.7, 1e9])
def test_constant_columns_have_a_gradient_and_a_hessian_of_exactly_zero(store, level, rng):
    X = store(np.column_stack([rng.normal(size=N), np.full(N, level), np.zeros(N)]))
    units = Units.of(as_source(X), fit_intercept=True)
    np.testing.assert_array_equal(units.spread > 0, [True, False, False])
    block = Block(X, targets(1, False, rng), None, range(N))
    found = value_grad_hess(block, rng.normal(size=(1, 4)) * [1, 0, 0, 1], Logit(), units.design(fit_intercept=True))
    np.testing.assert_array_equal(found.hess.any(axis=0), [True, False, False, True])
    np.testing.assert_array_equal(found.grad.any(axis=0), [True, False, False, True])


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sparse.csr_array], ids=["rows", "columns", "csr"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [200, 13_000])
def test_predictions_from_float32_rows_are_computed_in_double_precision(store, n_classes, n, rng):
    X = (1e5 + rng.normal(size=(n, 4))).astype(np.float32)
    t = ((X - 1e5) @ rng.normal(size=(4, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    model = LogisticRegression(0.1).fit(X, t)
    W, w0 = model._weights  # before they are rounded to the float32 of coef_
    expected = X.astype(np.float64) @ W.T + w0
    found = model.decision_function(store(X))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(store(X)), model.predict_proba(X.astype(np.float64)), atol=1e-9)


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("likelihood", [Logit(), Probit()])
@pytest.mark.parametrize("soft", [False, True])
def test_one_compiled_pass_agrees_with_many_small_blocks_in_both_tails(store, likelihood, soft, rng):
    n = 20_000  # large enough for the compiled loops; blocks of 1000 rows use NumPy
    X = np.column_stack([np.linspace(-900.0, 900.0, n), rng.normal(size=(n, M - 1))])
    whole = block_of(store(X), targets(1, soft, rng, n), rng, weighted=True, moved=True)
    design, theta = Design(rng.normal(size=M), bias=True), np.array([[1.0, -0.5, 0.3, 0.7]])
    found = value_grad_hess(whole, theta, likelihood, design)
    parts = [whole.take(np.arange(first, first + 1000)) for first in range(0, n, 1000)]
    expected = functools.reduce(operator.add, (value_grad_hess(part, theta, likelihood, design) for part in parts))
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-12)
    np.testing.assert_allclose(found.grad, expected.grad, rtol=1e-10)
    np.testing.assert_allclose(found.hess, expected.hess, rtol=1e-10)
    np.testing.assert_allclose(value_grad(whole, theta, likelihood, design).grad, found.grad, rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_outputs", [2, 5])
def test_products_of_long_short_and_empty_sparse_rows_with_several_vectors_agree_with_dense_products(
    dtype, n_outputs, rng
):
    X = np.where(rng.random((4000, 40)) < rng.random((4000, 1)), rng.normal(size=(4000, 40)), 0.0).astype(dtype)
    X[::7] = 0.0
    design, theta = Design(rng.normal(size=40), bias=True), rng.normal(size=(n_outputs, 41))
    rows, dense = Block(sparse.csr_array(X), None, None, range(4000)), X.astype(np.float64) - design.origin
    np.testing.assert_allclose(design.activate(rows, theta), dense @ theta[:, :-1].T + theta[:, -1], atol=1e-12)
    slope = rng.normal(size=(4000, n_outputs))
    expected = np.column_stack([slope.T @ dense, slope.sum(axis=0)])
    np.testing.assert_allclose(design.collect(rows, slope), expected, atol=1e-10)


def test_a_design_can_be_unpickled_from_the_list_of_an_older_version(rng):
    """Pickles of classes with slots store a list of the fields."""
    X, origin, spread = rng.normal(size=(5, 2)), rng.normal(size=2), np.array([1.0, 0.0])
    old = object.__new__(Design)
    old.__setstate__([origin, True, False, spread])
    np.testing.assert_array_equal(old.regressors(X), Design(origin, True, False, spread).regressors(X))
    assert old.constant.tolist() == [1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("law", ["_logit", "_probit"])
def test_sums_of_a_tile_do_not_depend_on_where_its_arrays_are_in_memory(law, weighted, rng):
    """Threads allocate arrays in different places, and results must not depend on the number of threads."""
    from separatrix.stats import _kernels

    for n in range(1, 65, 3):
        values = [rng.normal(size=n), rng.integers(2, size=n).astype(float), rng.random(n), np.zeros(n), np.zeros(n)]
        found = set()
        for gap in (0, 2, 200):
            for order in ((0, 1, 2, 3, 4), (1, 0, 3, 2, 4), (4, 3, 2, 1, 0), (3, 1, 4, 0, 2)):
                memory = np.zeros((5, n + gap))
                a, t, weight, slope, bend = (memory[place, :n] for place in order)
                for part, value in zip((a, t, weight), values, strict=False):
                    part[:] = value
                sums, targets = np.zeros(2), (t, weight if weighted else np.zeros(0), np.zeros(0))
                _kernels._add_law(getattr(_kernels, law), a, targets, 0, n, sums, slope, bend)
                found.add(b"".join(part.tobytes() for part in (sums, a, slope, bend)))
        assert len(found) == 1
