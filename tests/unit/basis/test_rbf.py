# SPDX-License-Identifier: BSD-3-Clause
import tracemalloc
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from separatrix.basis import RBF, MultiScaleRBF
from separatrix.basis.rbf import FAR_ROWS
from separatrix.exceptions import DataError

X = np.random.default_rng(0).normal(size=(80, 3))


@pytest.mark.parametrize("width", [0.3, 1.0, 20.0])
def test_functions_are_gaussian_kernels_of_their_centres(width):
    basis = RBF(centres=X[:20], width=width).fit(X)
    np.testing.assert_allclose(basis.transform(X), rbf_kernel(X, X[:20], gamma=0.5 / width**2), rtol=1e-11)


def test_functions_agree_with_forty_digits():
    x, c, width = [0.1, -2.5], [1.7, 0.3], 0.9
    with localcontext() as context:
        context.prec = 40
        square = sum((Decimal(a) - Decimal(b)) ** 2 for a, b in zip(x, c, strict=True))
        expected = float((-square / (2 * Decimal(width) ** 2)).exp())
    assert RBF(centres=[c], width=width).fit([x]).transform([x])[0, 0] == pytest.approx(expected, rel=1e-15)


def test_with_a_centre_on_every_row_phi_is_a_symmetric_positive_kernel_matrix():
    Phi = RBF().fit_transform(X)
    np.testing.assert_allclose(Phi, Phi.T, rtol=1e-13)
    np.testing.assert_allclose(np.diag(Phi), 1.0, rtol=1e-13)
    assert np.linalg.eigvalsh(Phi).min() > 0
    assert Phi.max() <= 1.0


@pytest.mark.parametrize("centres", ["data", "grid", "kmeans", "random"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_shift_of_the_data_changes_nothing(centres, dtype):
    """Numbers of few bits, so that the shift itself is exact: 2^23 is 1e7 to the nearest power."""
    rows = (np.round(X * 4) / 4).astype(dtype)
    shift = dtype(2.0**23 if dtype is np.float64 else 2.0**16)
    basis = RBF(centres=centres, n_centres=None if centres == "data" else 3)
    here, there = basis.fit_transform(rows), clone(basis).fit_transform(rows + shift)
    tolerance = 1e-9 if dtype is np.float64 else 1e-4
    assert there.dtype == dtype
    np.testing.assert_allclose(there, here, atol=tolerance)


def test_distances_are_never_negative_where_they_cancel():
    rows = np.full((50, 4), 1e3) + np.random.default_rng(1).normal(size=(50, 4)) * 1e-9
    assert RBF(width=1e-6).fit_transform(rows).max() <= 1.0


def with_outlier(dtype):
    rows = np.random.default_rng(3).normal(size=(50, 3)).astype(dtype)
    rows[0] = 1e10
    return rows


def by_differences(rows, centres, widths):
    """Every pair, in double precision."""
    squared = ((rows[:, None].astype(float) - centres) ** 2).sum(axis=2)
    return np.hstack([np.exp(-squared / (2 * width**2)) for width in widths])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_outlier_costs_the_other_rows_no_digits(dtype):
    rows = with_outlier(dtype)
    Phi = RBF(width=1.0).fit_transform(rows)
    tolerance = 2e-12 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(Phi, by_differences(rows, rows.astype(float), [1.0]), atol=tolerance)
    np.testing.assert_allclose(np.diag(Phi), 1.0, rtol=tolerance)  # the outlier is one with its own centre too


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [0.5, 1e3])
def test_clusters_many_widths_apart_keep_their_digits(dtype, width):
    """No offset suits both clusters: the far rows must be found from differences, whatever their number."""
    near = np.random.default_rng(4).integers(-8, 9, size=(300, 4)) / 8
    rows = np.concatenate([near, near + 2.0**20, near - 2.0**20]).astype(dtype)
    Phi = RBF(centres=rows[::7], width=width).fit(rows).transform(rows)
    expected = by_differences(rows, rows[::7].astype(float), [width])
    np.testing.assert_allclose(Phi, expected, atol=2e-12 if dtype is np.float64 else 1e-6)


def test_several_scales_keep_their_digits_on_a_wide_grid():
    rows = np.concatenate([np.linspace(-1, 1, 40), [1e9]])[:, None]
    basis = MultiScaleRBF(n_centres=9, n_scales=3, width=1.0).fit(rows)
    near_a_centre = np.concatenate([basis.centres_ + 0.25, basis.centres_ - 1.5])
    expected = by_differences(near_a_centre, basis.centres_, basis.widths_)
    np.testing.assert_allclose(basis.transform(near_a_centre), expected, atol=1e-12)


def test_a_finite_row_whose_square_overflows_is_far_from_every_centre_but_its_own():
    rows = np.array([[0.0], [1.0], [1e200]])
    np.testing.assert_allclose(RBF(width=1.0).fit(rows).evaluate(rows)[2], [0.0, 0.0, 1.0])


@pytest.mark.parametrize("n_scales", [1, 3, 5, 9])
def test_scales_are_single_scale_functions_side_by_side(n_scales):
    rows = X[:, :2]
    basis = MultiScaleRBF(n_centres=5, n_scales=n_scales, width=2.0, decay=0.5).fit(rows)
    assert basis.centres_.shape == (25, 2)
    np.testing.assert_allclose(basis.widths_**2, 4.0 * 0.5 ** np.arange(n_scales))
    parts = [RBF(centres="grid", n_centres=5, width=w).fit_transform(rows) for w in basis.widths_]
    np.testing.assert_allclose(basis.transform(rows), np.hstack(parts), rtol=1e-12)


def test_the_widest_scale_is_twice_the_spacing():
    basis = MultiScaleRBF(n_centres=3).fit([[0.0, 0.0], [2.0, 8.0]])
    assert basis.widths_[0] == 8.0


def test_names_tell_the_scale_and_the_centre():
    basis = MultiScaleRBF(n_centres=2, n_scales=2).fit([[0.0], [1.0]])
    assert basis.get_feature_names_out().tolist() == ["rbf0_0", "rbf0_1", "rbf1_0", "rbf1_1"]
    assert RBF().fit([[0.0], [1.0]]).get_feature_names_out().tolist() == ["rbf0", "rbf1"]


@pytest.mark.parametrize("width", [None, 0.01])  # the narrow one has every row far from the middle
@pytest.mark.parametrize("scales", [1, 4])
def test_a_block_allocates_phi_and_a_copy_of_its_rows_and_little_more(scales, width):
    rows = np.random.default_rng(2).normal(size=(4000, 8))
    basis = MultiScaleRBF(n_centres=2, n_scales=scales, width=width).fit(rows)
    basis.evaluate(rows)
    tracemalloc.start()
    Phi = basis.evaluate(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    few = 0 if width is None else 8 * len(rows) + FAR_ROWS * Phi.nbytes / (scales * len(rows))
    assert peak < 1.02 * (Phi.nbytes + rows.nbytes) + 8 * len(rows) + few  # + |z|², one number per row


def test_a_seed_fixes_the_draw_and_a_generator_moves_on():
    assert np.array_equal(*(RBF("random", 5).fit(X).centres_ for _ in range(2)))
    assert np.array_equal(*(RBF("random", 5, rng=3).fit(X).centres_ for _ in range(2)))
    assert not np.array_equal(RBF("random", 5, rng=3).fit(X).centres_, RBF("random", 5, rng=4).fit(X).centres_)
    moving = RBF("random", 5, rng=np.random.default_rng(3))
    assert not np.array_equal(moving.fit(X).centres_.copy(), moving.fit(X).centres_)


def test_kmeans_gives_the_same_bits_again_on_any_number_of_threads():
    rows = np.random.default_rng(4).normal(size=(3000, 5))
    bits = set()
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            bits.add(RBF("kmeans", 30).fit(rows).centres_.tobytes())
    assert len(bits) == 1


def test_sparse_rows_are_made_dense_block_by_block():
    rows = np.where(X > 1, X, 0.0)
    basis = RBF("grid", 3).fit(sparse.csr_array(rows))
    np.testing.assert_allclose(basis.transform(sparse.csr_array(rows)), basis.transform(rows), rtol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, r"RBF\(width=0\): width must be a finite number greater than 0"),
        ({"width": -1.0}, r"RBF\(width=-1.0\)"),
        ({"centres": "lattice"}, "choose one of 'data', 'grid', 'kmeans', 'random', or give an array"),
        ({"centres": "random", "n_centres": 0}, "n_centres must be an integer, at least 1"),
        ({"centres": "random", "n_centres": 81}, "n_samples = 80"),
        ({"centres": [[0.0, 1.0]]}, r"shape \(n_centres, 3\)"),
        ({"centres": X, "n_centres": 3}, "leave n_centres out"),
    ],
)
def test_arguments_that_make_no_sense_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        RBF(**arguments).fit(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"decay": 1.0}, "decay must be below 1"),
        ({"decay": 0.0}, "decay must be a finite number greater than 0"),
        ({"n_scales": 0}, "n_scales must be an integer, at least 1"),
        ({"n_centres": None}, "n_centres must be an integer"),
        ({"width": -2.0}, r"MultiScaleRBF\(width=-2.0\)"),
        ({"n_centres": 50}, r"D = 3 columns has 50\^3 points"),
    ],
)
def test_scales_that_make_no_sense_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiScaleRBF(**arguments).fit(X)


def test_a_constant_column_has_no_grid():
    with pytest.raises(DataError, match="Column 'x1' is constant"):
        MultiScaleRBF().fit([[0.0, 1.0], [2.0, 1.0]])
