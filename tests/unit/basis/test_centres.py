# SPDX-License-Identifier: BSD-3-Clause
import itertools

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans

from separatrix.basis.centres import MOST_ROWS, PLACEMENTS, given, grid, median_width
from separatrix.exceptions import DataError
from separatrix.rows import as_source

X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 3.0]


def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize(("n", "D"), [(1, 1), (2, 3), (3, 2), (5, 2), (1, 70)])
def test_a_grid_is_the_product_of_its_axes(n, D):
    rows = np.random.default_rng(1).normal(size=(9, D))
    low, high = rows.min(axis=0), rows.max(axis=0)
    axes = np.linspace(low, high, n).T if n > 1 else ((low + high) / 2)[:, None]
    expected = np.array(list(itertools.product(*axes)))
    np.testing.assert_allclose(grid(as_source(rows), n, rng()).points, expected, rtol=1e-15)


def test_the_width_of_a_grid_is_its_largest_spacing():
    found = grid(as_source([[0.0, 0.0], [4.0, 12.0]]), 5, rng())
    assert found.width == 3.0


def test_a_grid_that_would_be_too_large_names_the_number_of_columns():
    with pytest.raises(DataError, match=r"5 centres along each of D = 8 columns has 5\^8 points.*kmeans"):
        grid(as_source(np.eye(8)), 5, rng())


def test_a_grid_over_a_constant_column_is_refused():
    with pytest.raises(DataError, match="Column 'x1' is constant"):
        grid(as_source([[0.0, 2.0], [1.0, 2.0]]), 5, rng())


def test_data_makes_every_row_a_centre_in_order():
    np.testing.assert_array_equal(PLACEMENTS["data"](as_source(X), None, rng()).points, X)


def test_data_refuses_a_number_of_centres_and_too_many_rows():
    with pytest.raises(ValueError, match=r"'data' makes every row a centre.*'random' or 'kmeans'"):
        PLACEMENTS["data"](as_source(X), 5, rng())
    with pytest.raises(DataError, match=r"each of 20001 rows a centre; the most is 20000.*'random' or 'kmeans'"):
        PLACEMENTS["data"](as_source(np.zeros((MOST_ROWS + 1, 1))), None, rng())


def test_random_centres_are_distinct_rows_of_the_table():
    points = PLACEMENTS["random"](as_source(X), 20, rng()).points
    rows = {tuple(row) for row in X}
    assert len({tuple(point) for point in points}) == 20
    assert all(tuple(point) in rows for point in points)


def test_kmeans_centres_are_a_fixed_point_of_lloyds_algorithm():
    points = PLACEMENTS["kmeans"](as_source(X), 4, rng()).points
    again = KMeans(4, init=points, n_init=1, max_iter=1).fit(X).cluster_centers_
    np.testing.assert_allclose(again, points, atol=0.05)
    nearest = ((X[:, None] - points) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([X[nearest == m].mean(axis=0) for m in range(4)])
    np.testing.assert_allclose(means, points, atol=1e-12)


def test_kmeans_finds_clusters_that_are_far_apart():
    true = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]])
    rows = np.concatenate([c + np.random.default_rng(2).normal(size=(40, 2)) for c in true])
    points = PLACEMENTS["kmeans"](as_source(rows), 3, rng()).points
    assert np.abs(points[:, None] - true).sum(axis=2).min(axis=0).max() < 1.5


@pytest.mark.parametrize("kind", ["random", "kmeans"])
def test_more_centres_than_rows_is_an_error_and_the_default_is_not(kind):
    with pytest.raises(DataError, match=r"RBF\(n_centres=51\): the table has n_samples = 50"):
        PLACEMENTS[kind](as_source(X), 51, rng())
    assert len(PLACEMENTS[kind](as_source(X), None, rng()).points) == 50


def test_kmeans_cannot_have_more_centres_than_there_are_distinct_rows():
    rows = np.repeat([[0.0], [1.0]], 10, axis=0)
    with pytest.raises(DataError, match="only 2 of 20 rows are distinct"):
        PLACEMENTS["kmeans"](as_source(rows), 3, rng())
    found = PLACEMENTS["kmeans"](as_source(rows), None, rng()).points
    np.testing.assert_allclose(np.sort(found.ravel()), [0.0, 1.0])


@pytest.mark.parametrize("centres", [[[1.0]], [[1.0, 2.0, 3.0]], [1.0, 2.0], np.empty((0, 2)), 4.0])
def test_centres_of_the_wrong_width_are_answered_with_the_right_one(centres):
    with pytest.raises(ValueError, match=r"the table has 2 columns, so centres must have shape \(n_centres, 2\)"):
        given(as_source(X), centres, rng())


def test_a_centre_that_is_not_finite_is_named():
    with pytest.raises(ValueError, match="centre 1 is"):
        given(as_source(X), [[0.0, 0.0], [np.nan, 1.0]], rng())


def test_the_median_width_puts_a_typical_pair_of_rows_at_one_over_e():
    width = median_width(X)
    assert np.exp(-(np.median(pdist(X)) ** 2) / (2 * width**2)) == pytest.approx(np.exp(-1))


@pytest.mark.parametrize("rows", [np.zeros((5, 2)), np.zeros((1, 2))])
def test_rows_that_are_all_equal_have_width_one(rows):
    assert median_width(rows) == 1.0


def test_duplicate_rows_never_make_the_width_zero():
    rows = np.array([[0.0]] * 30 + [[2.0]])  # nearly all pairs coincide
    assert median_width(rows) == pytest.approx(np.sqrt(2))


def test_the_width_of_many_rows_is_that_of_a_sample():
    rows = np.random.default_rng(3).normal(size=(5000, 2))
    assert median_width(rows) == median_width(rows)
    assert median_width(rows) == pytest.approx(np.median(pdist(rows[:2000])) / np.sqrt(2), rel=0.05)
