# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from scipy.interpolate import CubicSpline
from sklearn.preprocessing import SplineTransformer

from separatrix.basis import Spline
from separatrix.exceptions import DataError

X = np.random.default_rng(0).gamma(2.0, size=(300, 2))


@pytest.mark.parametrize(("ours", "theirs"), [("grid", "uniform"), ("quantile", "quantile")])
@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic"])
def test_functions_are_scikit_learns_less_one_per_column(ours, theirs, extrapolation):
    outside = np.vstack([X, [[-1.0, 50.0]]])
    basis = Spline(6, 3, knots=ours, extrapolation=extrapolation).fit(X)
    reference = SplineTransformer(6, 3, knots=theirs, extrapolation=extrapolation, include_bias=False).fit(X)
    np.testing.assert_allclose(basis.transform(outside), reference.transform(outside), rtol=1e-12, atol=1e-14)
    assert basis.get_feature_names_out().tolist() == reference.get_feature_names_out().tolist()


@pytest.mark.parametrize("extrapolation", ["constant", "periodic"])
def test_no_combination_of_the_functions_is_the_constant(extrapolation):
    Phi = Spline(extrapolation=extrapolation).fit_transform(X)
    with_intercept = np.column_stack([np.ones(len(X)), Phi])
    assert np.linalg.matrix_rank(with_intercept) == Phi.shape[1] + 1


def test_with_an_intercept_the_functions_contain_every_cubic_spline_on_their_knots():
    basis = Spline(n_knots=5).fit(X[:, :1])
    x = np.linspace(X[:, 0].min(), X[:, 0].max(), 200)
    curve = CubicSpline(basis.knots_[:, 0], np.sin(basis.knots_[:, 0]))(x)
    Phi = np.column_stack([np.ones(200), basis.transform(x[:, None])])
    residual = curve - Phi @ np.linalg.lstsq(Phi, curve, rcond=None)[0]
    assert np.abs(residual).max() < 1e-12


@pytest.mark.parametrize(("extrapolation", "per_column"), [("constant", 6), ("periodic", 3)])
def test_the_number_of_functions_is_as_documented(extrapolation, per_column):
    assert Spline(5, 3, extrapolation=extrapolation).fit_transform(X).shape[1] == 2 * per_column


def test_sparse_rows_are_made_dense_block_by_block():
    rows = np.where(X > 1, X, 0.0)
    basis = Spline().fit(rows)
    np.testing.assert_array_equal(basis.transform(sparse.csr_array(rows)), basis.transform(rows))


def test_knots_at_quantiles_need_distinct_values():
    with pytest.raises(DataError, match=r"Column 'x1' has too few distinct values for 5 knots.*knots='grid'"):
        Spline(knots="quantile").fit(np.column_stack([X[:, 0], X[:, 1] > 2]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_knots": 1}, "n_knots must be an integer, at least 2"),
        ({"degree": 0}, "degree must be an integer, at least 1"),
        ({"knots": "uniform"}, "choose one of 'grid', 'quantile'"),
        ({"extrapolation": "error"}, "choose one of 'constant', 'linear', 'continue', 'periodic'"),
        ({"n_knots": 3, "extrapolation": "periodic"}, "Use n_knots=4 or more"),
    ],
)
def test_arguments_that_make_no_sense_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Spline(**arguments).fit(X)


def test_a_constant_column_has_no_knots():
    with pytest.raises(DataError, match="Column 'x0' is constant"):
        Spline().fit(np.ones((10, 1)))
