# SPDX-License-Identifier: BSD-3-Clause
from math import comb

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

from separatrix import LeastSquaresClassifier
from separatrix.basis import Linear, Polynomial
from separatrix.exceptions import DataError

X = np.random.default_rng(0).normal(size=(30, 3))


def test_linear_is_the_identity():
    np.testing.assert_array_equal(Linear().fit_transform(X), X)


def test_linear_keeps_sparse_rows_sparse():
    rows = sparse.csr_array(np.where(X > 1, X, 0))
    out = Linear().fit_transform(rows)
    assert isinstance(out, sparse.csr_array)
    assert (out != rows).nnz == 0


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_monomials_are_scikit_learns_without_the_constant(degree, interaction_only, make):
    rows = make(np.where(X > 0.5, X, 0.0))
    theirs = PolynomialFeatures(degree, interaction_only=interaction_only).fit(rows)
    ours = Polynomial(degree, interaction_only=interaction_only).fit(rows)
    expected, Phi = theirs.transform(rows), ours.transform(rows)
    assert sparse.issparse(Phi) == sparse.issparse(rows)
    difference = Phi - expected[:, 1:]
    assert abs(difference).max() == 0
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()[1:]


@pytest.mark.parametrize(("D", "degree"), [(1, 5), (2, 2), (4, 3)])
def test_there_are_as_many_functions_as_monomials(D, degree):
    Phi = Polynomial(degree).fit_transform(np.ones((2, D)))
    assert Phi.shape[1] == comb(D + degree, degree) - 1


def test_names_use_the_columns():
    pd = pytest.importorskip("pandas")
    names = Polynomial().fit(pd.DataFrame({"age": [1.0, 2.0], "dose": [0.0, 1.0]})).get_feature_names_out()
    assert names.tolist() == ["age", "dose", "age^2", "age dose", "dose^2"]


@pytest.mark.parametrize("degree", [0, -1, 1.5, "2", None])
def test_a_degree_below_one_is_refused(degree):
    with pytest.raises(ValueError, match=r"Polynomial\(degree=.*\): degree must be an integer, at least 1"):
        Polynomial(degree).fit(X)


def test_an_overflow_is_the_fault_of_the_function_and_not_of_the_rows():
    t = X[:, 0] > 0
    with pytest.raises(DataError, match=r"The basis overflows.*column 'x0\^3' \(30 of 30 rows\).*although X is finite"):
        LeastSquaresClassifier(Polynomial(3)).fit(X * 1e120, t)


def test_a_row_that_is_not_finite_is_blamed_before_the_function():
    rows = X * 1e120
    rows[4, 1] = np.nan
    with pytest.raises(DataError, match=r"Input X contains NaN or infinity in column 'x1' \(1 of 30 rows\)\. Drop"):
        LeastSquaresClassifier(Polynomial(3)).fit(rows, X[:, 0] > 0)
