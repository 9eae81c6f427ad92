"""Functions of each basis against their definition, scikit-learn and high precision; placement of centres and knots."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.interpolate import CubicSpline
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer
from threadpoolctl import threadpool_limits

from separatrix import LeastSquaresClassifier
from separatrix.basis import RBF, MultiScaleRBF, Polynomial, RandomFourier, Sigmoid, Spline
from separatrix.exceptions import DataError

X = np.random.default_rng(0).normal(size=(80, 3))
POSITIVE = np.random.default_rng(0).gamma(2.0, size=(200, 2)) * [1.0, 10.0]


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_monomials_equal_scikit_learns_without_the_constant(degree, interaction_only, make):
    rows = make(np.where(X > 0.5, X, 0.0))
    theirs = PolynomialFeatures(degree, interaction_only=interaction_only).fit(rows)
    ours = Polynomial(degree, interaction_only=interaction_only).fit(rows)
    expected, Phi = theirs.transform(rows), ours.transform(rows)
    assert sparse.issparse(Phi) == sparse.issparse(rows)
    difference = Phi - expected[:, 1:]
    assert abs(difference).max() == 0
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()[1:]


def test_an_overflow_of_the_functions_names_the_function():
    t = X[:, 0] > 0
    with pytest.raises(DataError, match=r"The basis overflows.*column 'x0\^3' \(80 of 80 rows\).*although X is finite"):
        LeastSquaresClassifier(Polynomial(3)).fit(X * 1e120, t)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_transform_refuses_values_that_overflow(convert):
    basis = Polynomial(2).fit([[1.0, 2.0]])
    with pytest.raises(DataError, match=r"basis overflows.*'x0\^2' \(1 of 2 rows\)"):
        basis.transform(convert([[1e300, 1.0], [1.0, 1.0]]))


def test_a_width_that_is_too_small_to_divide_by_is_refused():
    with pytest.raises(DataError, match="RandomFourier has the width 1e-320, which is too small"):
        RandomFourier(width=1e-320).fit(X)


@pytest.mark.parametrize("width", [0.3, 1.0, 20.0])
def test_functions_are_gaussian_kernels_of_their_centres(width):
    basis = RBF(centres=X[:20], width=width).fit(X)
    np.testing.assert_allclose(basis.transform(X), rbf_kernel(X, X[:20], gamma=0.5 / width**2), rtol=1e-11)


@pytest.mark.parametrize("centres", ["data", "grid", "kmeans", "random"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gaussians_do_not_change_when_the_data_are_shifted(centres, dtype):
    """Rows have few bits, so that adding 2^23, about 1e7, is exact."""
    rows = (np.round(X * 4) / 4).astype(dtype)
    shift = dtype(2.0**23 if dtype is np.float64 else 2.0**16)
    basis = RBF(centres=centres, n_centres=None if centres == "data" else 3)
    here, there = basis.fit_transform(rows), clone(basis).fit_transform(rows + shift)
    np.testing.assert_allclose(there, here, atol=1e-9 if dtype is np.float64 else 1e-4)


NEAR = np.random.default_rng(4).integers(-8, 9, size=(300, 4)) / 8
FAR = {  # rows, width, and the tolerance in single precision
    "one outlier": (np.concatenate([[[1e10] * 3], X]), 1.0, 1e-5),
    "clusters, narrow": (np.concatenate([NEAR, NEAR + 2.0**20, NEAR - 2.0**20]), 0.5, 1e-6),
    "clusters, wide": (np.concatenate([NEAR, NEAR + 2.0**20, NEAR - 2.0**20]), 1e3, 1e-6),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("rows", "width", "single"), FAR.values(), ids=FAR)
def test_rows_far_apart_cost_no_digits(rows, width, single, dtype):
    """No offset suits all rows, so that distances need differences."""
    rows = rows.astype(dtype)
    Phi = RBF(centres=rows[::7], width=width).fit(rows).transform(rows)
    squared = ((rows[:, None].astype(float) - rows[::7]) ** 2).sum(axis=2)
    tolerance = 2e-12 if dtype is np.float64 else single
    np.testing.assert_allclose(Phi, np.exp(-squared / (2 * width**2)), atol=tolerance)
    np.testing.assert_allclose(np.diag(Phi[::7]), 1.0, rtol=tolerance)  # also of the outlier at its own centre


@pytest.mark.parametrize("n_scales", [1, 3, 5, 9])
def test_scales_are_single_scale_functions_side_by_side(n_scales):
    rows = X[:, :2]
    basis = MultiScaleRBF(n_centres=5, n_scales=n_scales, width=2.0, decay=0.5).fit(rows)
    assert basis.centres_.shape == (25, 2)
    np.testing.assert_allclose(basis.widths_**2, 4.0 * 0.5 ** np.arange(n_scales))
    parts = [RBF(centres="grid", n_centres=5, width=w).fit_transform(rows) for w in basis.widths_]
    np.testing.assert_allclose(basis.transform(rows), np.hstack(parts), rtol=1e-12)


def test_kmeans_gives_the_same_bits_again_on_any_number_of_threads():
    rows = np.random.default_rng(4).normal(size=(3000, 5))
    bits = set()
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            bits.add(RBF("kmeans", 30).fit(rows).centres_.tobytes())
    assert len(bits) == 1


def test_a_grid_is_the_product_of_its_axes():
    for n, D in [(1, 1), (2, 3), (3, 2), (5, 2), (1, 70)]:
        rows = np.random.default_rng(1).normal(size=(9, D))
        low, high = rows.min(axis=0), rows.max(axis=0)
        axes = np.linspace(low, high, n).T if n > 1 else ((low + high) / 2)[:, None]
        expected = np.array(list(itertools.product(*axes)))
        np.testing.assert_allclose(RBF("grid", n).fit(rows).centres_, expected, rtol=1e-15)


def test_random_centres_are_distinct_rows_and_data_makes_every_row_a_centre():
    rows = {tuple(row) for row in X}
    points = RBF("random", 20).fit(X).centres_
    assert len({tuple(point) for point in points} & rows) == 20
    np.testing.assert_array_equal(RBF("data").fit(X).centres_, X)


def test_kmeans_centres_are_a_fixed_point_of_lloyds_algorithm():
    points = RBF("kmeans", 4).fit(X).centres_
    again = KMeans(4, init=points, n_init=1, max_iter=1).fit(X).cluster_centers_
    np.testing.assert_allclose(again, points, atol=0.05)
    nearest = ((X[:, None] - points) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([X[nearest == m].mean(axis=0) for m in range(4)])
    np.testing.assert_allclose(means, points, atol=1e-12)


def test_kmeans_has_at_most_as_many_centres_as_distinct_rows():
    rows = np.repeat([[0.0], [1.0]], 10, axis=0)
    with pytest.raises(DataError, match="only 2 of 20 rows are distinct"):
        RBF("kmeans", 3).fit(rows)
    np.testing.assert_allclose(np.sort(RBF("kmeans").fit(rows).centres_.ravel()), [0.0, 1.0])


def test_the_median_width_gives_a_typical_pair_of_rows_one_over_e():
    width = RBF().fit(X).width_
    assert np.exp(-(np.median(pdist(X)) ** 2) / (2 * width**2)) == pytest.approx(np.exp(-1))
    many = np.random.default_rng(3).normal(size=(5000, 2))
    assert RBF("random", 9).fit(many).width_ == pytest.approx(np.median(pdist(many[:2000])) / np.sqrt(2), rel=0.05)


@pytest.mark.parametrize(
    ("rows", "width"), [(np.zeros((5, 2)), 1.0), (np.zeros((1, 2)), 1.0), ([[0.0]] * 30 + [[2.0]], np.sqrt(2))]
)
def test_duplicate_rows_never_make_the_width_zero(rows, width):
    assert RBF().fit(rows).width_ == pytest.approx(width)


@pytest.mark.parametrize("centres", ["grid", "quantile"])
def test_functions_are_logistic_steps_along_each_column(centres):
    basis = Sigmoid(centres, n_centres=4, width=0.7).fit(POSITIVE)
    steps = [(POSITIVE[:, [d]] - basis.centres_[d]) / 0.7 for d in range(2)]
    np.testing.assert_allclose(basis.transform(POSITIVE), 1 / (1 + np.exp(-np.hstack(steps))), rtol=1e-12)


def test_quantile_centres_have_equally_many_rows_between_them():
    basis = Sigmoid("quantile", n_centres=4).fit(POSITIVE)
    for d in range(2):
        counts = np.histogram(POSITIVE[:, d], [-np.inf, *basis.centres_[d], np.inf])[0]
        assert counts.tolist() == [40] * 5


def test_quantiles_of_many_rows_are_estimated_from_a_sample_with_exact_ends():
    many = np.random.default_rng(1).exponential(size=(50_000, 1))
    knots = Spline(5, knots="quantile").fit(many).knots_
    assert (knots[0], knots[-1]) == (many.min(), many.max())
    ranks = [(many <= knot).mean() for knot in knots[1:-1, 0]]
    np.testing.assert_allclose(ranks, [0.25, 0.5, 0.75], atol=0.02)


@pytest.mark.parametrize(("ours", "theirs"), [("grid", "uniform"), ("quantile", "quantile")])
@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic"])
def test_splines_equal_scikit_learns_without_one_per_column(ours, theirs, extrapolation):
    outside = np.vstack([POSITIVE, [[-1.0, 500.0]]])
    basis = Spline(6, 3, knots=ours, extrapolation=extrapolation).fit(POSITIVE)
    reference = SplineTransformer(6, 3, knots=theirs, extrapolation=extrapolation, include_bias=False).fit(POSITIVE)
    np.testing.assert_allclose(basis.transform(outside), reference.transform(outside), rtol=1e-12, atol=1e-14)
    assert basis.get_feature_names_out().tolist() == reference.get_feature_names_out().tolist()


def test_with_an_intercept_the_functions_contain_every_cubic_spline_on_their_knots():
    basis = Spline(n_knots=5).fit(POSITIVE[:, :1])
    x = np.linspace(POSITIVE[:, 0].min(), POSITIVE[:, 0].max(), 200)
    curve = CubicSpline(basis.knots_[:, 0], np.sin(basis.knots_[:, 0]))(x)
    Phi = np.column_stack([np.ones(200), basis.transform(x[:, None])])
    assert np.linalg.matrix_rank(Phi) == Phi.shape[1]  # no combination of the functions is the constant
    residual = curve - Phi @ np.linalg.lstsq(Phi, curve, rcond=None)[0]
    assert np.abs(residual).max() < 1e-12


def test_inner_products_tend_to_the_gaussian_kernel_as_one_over_root_m():
    def worst_error(M, seed):
        Phi = RandomFourier(M, width=1.3, rng=seed).fit_transform(X)
        return np.abs(Phi @ Phi.T - rbf_kernel(X, gamma=0.5 / 1.3**2)).max()

    few, many = (np.mean([worst_error(M, seed) for seed in range(4)]) for M in (100, 10_000))
    assert many < 0.05
    assert 5 < few / many < 20  # a hundred times the functions, a tenth of the error


@pytest.mark.parametrize("width", [None, 1.0])
def test_one_outlier_costs_the_cosines_of_other_rows_no_digits(width):
    basis = RandomFourier(50, width=width).fit(np.concatenate([X, [[1e10] * 3]]))
    f = basis.functions_
    expected = np.sqrt(2 / 50) * np.cos(X @ f.frequencies + (f.phases - f.offset @ f.frequencies))
    assert np.abs(f.offset).max() < 1
    np.testing.assert_allclose(basis.transform(X), expected, atol=1e-13)


@pytest.mark.parametrize("basis", [RBF("grid"), MultiScaleRBF(), Sigmoid(), Sigmoid("quantile"), Spline()], ids=repr)
def test_a_constant_column_is_refused_if_centres_are_spread_over_its_range(basis):
    with pytest.raises(DataError, match=r"Column 'x1' is constant \(3.5 in every row; n_samples = 2\).*Drop"):
        basis.fit([[0.0, 3.5], [2.0, 3.5]])


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (Polynomial(0), r"Polynomial\(degree=0\): degree must be an integer, at least 1"),
        (RBF(width=0), r"RBF\(width=0\): width must be a finite number greater than 0"),
        (RBF("lattice"), "choose one of 'data', 'grid', 'kmeans', 'random', or give an array"),
        (RBF("random", 81), r"RBF\(n_centres=81\): the table has n_samples = 80"),
        (RBF("data", 5), "'data' makes every row a centre.*'random' or 'kmeans'"),
        (RBF([[0.0, 1.0]]), r"shape \(n_centres, 3\)"),
        (RBF([[0.0, 0.0, 0.0], [np.nan, 1.0, 1.0]]), "centre 1 is"),
        (RBF(X, n_centres=3), "leave n_centres out"),
        (RBF("grid", 50), r"50 centres along each of D = 3 columns has 50\^3 points.*kmeans"),
        (MultiScaleRBF(decay=1.0), "decay must be below 1"),
        (Sigmoid("data"), "choose one of 'grid', 'quantile'"),
        (Spline(n_knots=1), "n_knots must be an integer, from 2 to"),
        (Spline(extrapolation="error"), "choose one of 'constant', 'linear', 'continue', 'periodic'"),
        (Spline(n_knots=3, extrapolation="periodic"), "Use n_knots=4 or more"),
        (RandomFourier(width=-1), "width=-1"),
    ],
)
def test_invalid_arguments_are_named(basis, message):
    with pytest.raises(ValueError, match=message):
        basis.fit(X)


def test_data_centres_and_quantile_knots_have_limits():
    with pytest.raises(DataError, match=r"each of 20001 rows a centre.*'random' or 'kmeans'"):
        RBF("data").fit(np.zeros((20_001, 1)))
    with pytest.raises(DataError, match=r"'x1' has too few distinct values for 5 knots.*knots='grid'"):
        Spline(knots="quantile").fit(np.column_stack([X[:, 0], X[:, 1] > 2]))
