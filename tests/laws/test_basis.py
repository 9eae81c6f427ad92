# SPDX-License-Identifier: BSD-3-Clause
"""Properties that every basis must have."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import check_estimator

from separatrix.basis import RBF, Linear, MultiScaleRBF, Polynomial, RandomFourier, Sigmoid, Spline, Union, fit_basis
from separatrix.exceptions import DataError
from separatrix.rows import as_source
from separatrix.stats import PooledScatter, class_moments
from separatrix.table_model import Ramps

BASES = [
    Linear(),
    Polynomial(degree=3),
    RBF(),
    RBF("grid", n_centres=2),
    RBF("kmeans", n_centres=4),
    RBF("random", n_centres=4),
    MultiScaleRBF(n_centres=2, n_scales=3),
    Sigmoid(),
    Sigmoid("quantile"),
    RandomFourier(n_features=20),
    Spline(),
    Spline(extrapolation="linear"),
    Ramps((0,)),
    Linear() + RBF("grid", n_centres=2) + RBF("random", n_centres=3),
    Union([MaxAbsScaler(), Sigmoid()]),
]
every_basis = pytest.mark.parametrize("basis", BASES, ids=lambda basis: repr(basis).replace(" ", ""))

X = np.random.default_rng(0).normal(size=(120, 3))


class Counting:
    """A row map that records the number of rows of each call."""

    def __init__(self, functions):
        self.functions, self.names, self.rows = functions, functions.names, []

    def evaluate(self, rows):
        self.rows.append(len(rows))
        return self.functions.evaluate(rows)


@every_basis
def test_every_basis_passes_the_checks_of_scikit_learn(basis):
    check_estimator(basis, on_skip=None)


@every_basis
def test_names_of_functions_are_unique(basis):
    fitted = clone(basis).fit(X)
    names = fitted.get_feature_names_out()
    assert len(set(names)) == len(names) == fitted.transform(X).shape[1]


@settings(max_examples=8, deadline=None)
@given(cuts=st.sets(st.integers(1, 119), max_size=6))
@every_basis
def test_blocks_of_rows_have_the_functions_of_the_whole_table(basis, cuts):
    functions = fit_basis(basis, as_source(X))
    blocks = [functions.evaluate(X[a:b]) for a, b in pairwise([0, *sorted(cuts), 120])]
    np.testing.assert_allclose(np.vstack(blocks), functions.evaluate(X), rtol=1e-12, atol=1e-14)


@every_basis
@pytest.mark.parametrize("rows_per_block", [1, 17, 119])
def test_a_fit_does_not_depend_on_how_rows_are_blocked(basis, rows_per_block):
    whole, blocked = as_source(X), replace(as_source(X), height=rows_per_block)
    np.testing.assert_array_equal(fit_basis(basis, blocked).evaluate(X), fit_basis(basis, whole).evaluate(X))


@every_basis
def test_targets_and_weights_do_not_affect_the_fit(basis):
    rng = np.random.default_rng(1)
    weight = np.ones(120) if isinstance(basis, Ramps) else rng.uniform(size=120)
    labelled = as_source(X, rng.integers(0, 3, 120), weight)
    np.testing.assert_array_equal(fit_basis(basis, labelled).evaluate(X), fit_basis(basis, as_source(X)).evaluate(X))


def test_knots_of_ramps_count_a_row_of_weight_k_as_k_rows():
    rng = np.random.default_rng(1)
    weight, t = rng.integers(0, 5, 120), np.zeros(120, dtype=int)
    weighted = fit_basis(Ramps((0, 1)), as_source(X, t, weight.astype(float)))
    repeated = fit_basis(Ramps((0, 1)), as_source(np.repeat(X, weight, axis=0)))
    np.testing.assert_array_equal(weighted.evaluate(X), repeated.evaluate(X))
    relative = fit_basis(Ramps((0, 1)), as_source(X, t, 0.37 * weight))  # weights that are not whole
    for low, expected in zip(relative.functions_.low, weighted.functions_.low, strict=False):
        assert low in X
        assert expected in X


@pytest.mark.parametrize("basis", BASES[:-2], ids=repr)
def test_a_fit_takes_at_most_one_pass(basis):
    source = as_source(X)
    clone(basis).fit_source(source)
    assert source.passes <= 1


@every_basis
def test_single_precision_stays_single_and_agrees_with_double(basis):
    rows = X.astype(np.float32)
    single = clone(basis).fit(rows).evaluate(rows)
    double = clone(basis).fit(rows.astype(float)).evaluate(rows.astype(float))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=2e-4, atol=2e-6)


@every_basis
def test_sparse_rows_have_the_functions_of_dense_rows(basis):
    rows = np.where(X > 0.5, X, 0.0)
    dense = clone(basis).fit(rows).transform(rows)
    out = clone(basis).fit(sparse.csr_array(rows)).transform(sparse.csr_array(rows))
    np.testing.assert_allclose(out.toarray() if sparse.issparse(out) else out, dense, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("basis", BASES[:-1], ids=repr)  # a scikit-learn transformer has its own checks
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_has_functions_that_are_not_finite(basis, value):
    """Estimators check only Φ, so NaN and infinity must not disappear."""
    functions = clone(basis).fit(X)
    rows = X[:5].copy()
    rows[2, 1] = value
    Phi = functions.evaluate(rows)
    assert not np.isfinite(Phi[2]).all()
    assert np.isfinite(np.delete(Phi, 2, axis=0)).all()


@every_basis
def test_the_constant_is_never_a_function(basis):
    assert np.ptp(clone(basis).fit_transform(X), axis=0).min() > 0


@every_basis
def test_evaluation_changes_no_input_and_is_safe_in_threads(basis):
    functions = fit_basis(basis, as_source(X))
    before, expected = X.copy(), functions.evaluate(X)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(functions.evaluate, [X] * 4))
    np.testing.assert_array_equal(X, before)
    for answer in answers:
        np.testing.assert_allclose(answer, expected, rtol=1e-13, atol=1e-15)


@every_basis
def test_a_fitted_basis_survives_pickling(basis):
    fitted = clone(basis).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), fitted.transform(X))


@pytest.mark.parametrize(
    "basis",
    [RBF("grid", 5), MultiScaleRBF(5, 3), Sigmoid(), Spline(), RandomFourier(50)],
    ids=lambda basis: type(basis).__name__,
)
def test_a_shift_of_the_rows_does_not_change_the_functions(basis):
    """Rows are multiples of 1/8, so that adding 2^23, about 1e7, is exact."""
    rows = np.round(X[:, :2] * 8) / 8
    here, there = (clone(basis).fit_transform(rows + shift) for shift in (0.0, 2.0**23))
    np.testing.assert_allclose(there, here, atol=1e-6)


@every_basis
def test_the_design_matrix_is_never_formed_for_all_rows(basis):
    N = 90_000  # a block of three columns has fewer rows
    rows = np.random.default_rng(2).normal(size=(N, 3))
    few = clone(basis).fit_source(as_source(rows[:40]))
    seen = Counting(few)
    source = as_source(rows, np.arange(N) % 2).mapped(seen)
    moments = source.reduce(partial(class_moments, n_classes=2, scatter=PooledScatter))
    assert sum(seen.rows) == N
    assert max(seen.rows) < N
    np.testing.assert_allclose(moments.grand_mean, np.asarray(few.transform(rows)).mean(axis=0), rtol=1e-9, atol=1e-12)


@given(
    rows=st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 2), min_size=3, max_size=12, unique_by=lambda row: row[0]),
    n=st.integers(1, 4),
)
@settings(max_examples=40, deadline=None)
def test_radial_functions_of_any_rows_lie_between_zero_and_one(rows, n):
    try:
        Phi = MultiScaleRBF(n_centres=n).fit_transform(rows)
    except DataError as error:
        assert "constant" in str(error)  # noqa: PT017  (drawn rows may share their second value)
        return
    assert Phi.min() >= 0
    assert Phi.max() <= 1
