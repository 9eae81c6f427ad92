# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest

from separatrix.basis import Sigmoid
from separatrix.exceptions import DataError

X = np.random.default_rng(0).gamma(2.0, size=(200, 2)) * [1.0, 10.0]


@pytest.mark.parametrize("centres", ["grid", "quantile"])
def test_functions_are_logistic_steps_along_each_column(centres):
    basis = Sigmoid(centres, n_centres=4, width=0.7).fit(X)
    steps = [(X[:, [d]] - basis.centres_[d]) / 0.7 for d in range(2)]
    np.testing.assert_allclose(basis.transform(X), 1 / (1 + np.exp(-np.hstack(steps))), rtol=1e-12)


def test_a_step_is_one_half_at_its_centre_and_rises_by_tanh():
    """PRML (3.59, 3.60): 2σ(a) - 1 = tanh(a/2)."""
    basis = Sigmoid(n_centres=1).fit([[-3.0], [3.0]])
    x = np.linspace(-3, 3, 13)[:, None]
    np.testing.assert_allclose(2 * basis.transform(x) - 1, np.tanh(x / 3 / 2), rtol=1e-14, atol=1e-16)


def test_grid_centres_divide_the_range_evenly():
    basis = Sigmoid(n_centres=3).fit([[0.0, -1.0], [4.0, 1.0]])
    np.testing.assert_allclose(basis.centres_, [[1.0, 2.0, 3.0], [-0.5, 0.0, 0.5]])


def test_the_width_is_the_spacing_of_the_grid_in_each_column():
    basis = Sigmoid(n_centres=3).fit([[0.0, 0.0], [4.0, 400.0]])
    Phi = basis.transform([[2.0, 200.0], [3.0, 300.0]])
    np.testing.assert_allclose(Phi[:, :3], Phi[:, 3:], rtol=1e-14)
    assert Phi[1, 1] == pytest.approx(1 / (1 + np.exp(-1.0)))


def test_quantile_centres_have_equally_many_rows_between_them():
    basis = Sigmoid("quantile", n_centres=4).fit(X)
    for d in range(2):
        counts = np.histogram(X[:, d], [-np.inf, *basis.centres_[d], np.inf])[0]
        assert counts.tolist() == [40] * 5


def test_a_column_of_few_values_gets_each_step_once():
    basis = Sigmoid("quantile", n_centres=5).fit(np.repeat([[0.0], [1.0]], 10, axis=0))
    assert len(np.unique(basis.centres_[0])) == len(basis.centres_[0])
    assert basis.transform([[0.5]]).shape == (1, len(basis.centres_[0]))


def test_names_tell_the_column_and_the_step():
    names = Sigmoid(n_centres=2).fit(X).get_feature_names_out()
    assert names.tolist() == ["x0_sigmoid0", "x0_sigmoid1", "x1_sigmoid0", "x1_sigmoid1"]


def test_saturated_steps_are_zero_and_one():
    Phi = Sigmoid(n_centres=1).fit([[-1.0], [1.0]]).transform([[-1e300], [1e300]])
    assert Phi.ravel().tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0.0}, r"Sigmoid\(width=0.0\)"),
        ({"n_centres": 0}, "n_centres must be an integer, at least 1"),
        ({"centres": "data"}, "choose one of 'grid', 'quantile'"),
    ],
)
def test_arguments_that_make_no_sense_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Sigmoid(**arguments).fit(X)


@pytest.mark.parametrize("centres", ["grid", "quantile"])
def test_a_constant_column_has_no_steps(centres):
    with pytest.raises(DataError, match="Column 'x1' is constant"):
        Sigmoid(centres).fit([[0.0, 1.0], [2.0, 1.0]])
