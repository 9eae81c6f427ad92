# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.basis import RandomFourier

X = np.random.default_rng(0).normal(size=(40, 3))


def worst_error(M, seed, width=1.3):
    Phi = RandomFourier(M, width=width, rng=seed).fit_transform(X)
    return np.abs(Phi @ Phi.T - rbf_kernel(X, gamma=0.5 / width**2)).max()


def test_inner_products_tend_to_the_gaussian_kernel_as_one_over_root_m():
    few, many = (np.mean([worst_error(M, seed) for seed in range(4)]) for M in (100, 10_000))
    assert many < 0.05
    assert 5 < few / many < 20  # a hundred times the functions, a tenth of the error


def test_inner_products_are_unbiased():
    """E[φ(x)'φ(x')] is the kernel for any M: averaged over seeds, four functions are as good as many."""
    kernel = rbf_kernel(X[:5], gamma=0.5)
    draws = np.array([RandomFourier(4, width=1.0, rng=seed).fit(X).transform(X[:5]) for seed in range(800)])
    mean = np.einsum("snm,slm->nl", draws, draws) / len(draws)
    np.testing.assert_allclose(mean, kernel, atol=5 * 0.7 / np.sqrt(4 * 800))


def test_functions_are_the_cosines_they_say():
    basis = RandomFourier(7, width=2.0, rng=1).fit(X)
    f = basis.functions_
    expected = np.sqrt(2 / 7) * np.cos((X - f.offset) @ f.frequencies + f.phases)
    np.testing.assert_allclose(basis.transform(X), expected, rtol=1e-12, atol=1e-15)


def test_the_width_scales_the_frequencies_and_nothing_else():
    one, two = (RandomFourier(50, width=w, rng=2).fit(X).functions_ for w in (1.0, 2.0))
    np.testing.assert_allclose(one.frequencies, 2 * two.frequencies)
    np.testing.assert_array_equal(one.phases, two.phases)


def test_a_shift_of_the_data_changes_nothing():
    rows = np.round(X * 4) / 4
    here, there = (RandomFourier(50).fit_transform(rows + shift) for shift in (0.0, 2.0**23))
    np.testing.assert_allclose(there, here, atol=1e-7)


@pytest.mark.parametrize("width", [None, 1.0])
def test_one_outlier_costs_the_other_rows_no_digits(width):
    basis = RandomFourier(50, width=width).fit(np.concatenate([X, [[1e10] * 3]]))
    f = basis.functions_
    expected = np.sqrt(2 / 50) * np.cos(X @ f.frequencies + (f.phases - f.offset @ f.frequencies))
    assert np.abs(f.offset).max() < 1
    np.testing.assert_allclose(basis.transform(X), expected, atol=1e-13)


def test_sparse_rows_give_the_same_functions():
    rows = np.where(X > 0.5, X, 0.0)
    basis = RandomFourier(30).fit(rows)
    np.testing.assert_allclose(basis.transform(sparse.csr_array(rows)), basis.transform(rows), atol=1e-13)


def test_without_a_width_a_typical_pair_of_rows_has_kernel_one_over_e():
    basis = RandomFourier(10).fit(X)
    assert np.median(rbf_kernel(X, gamma=0.5 / basis.width_**2)[np.triu_indices(40, 1)]) == pytest.approx(
        np.exp(-1), rel=1e-4
    )


@pytest.mark.parametrize(("arguments", "message"), [({"n_features": 0}, "at least 1"), ({"width": -1}, "width=-1")])
def test_arguments_that_make_no_sense_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        RandomFourier(**arguments).fit(X)
