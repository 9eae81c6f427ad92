"""The compiled look-up: every monomial of total degree six has its own coefficient, in the order that is promised."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.bayesian._kernels import look_up

POWERS = [(i, j) for i in range(6, -1, -1) for j in range(7 - i)]


@pytest.mark.parametrize("which", range(28))
@pytest.mark.parametrize("run", [look_up, look_up.py_func])
def test_each_coefficient_stands_for_its_power(which, run):
    table = np.zeros((1, 28))
    table[0, which] = 1.0
    u, kappa = np.array([0.1, 0.7]), np.array([0.3, 0.9])
    out = np.empty(2)
    run(u, kappa, table, 1, 1, out)
    i, j = POWERS[which]
    assert_allclose(out, (2 * u - 1) ** i * (2 * kappa - 1) ** j, rtol=1e-13)


def test_cells_are_counted_by_rows_of_u():
    table = np.zeros((6, 28))
    table[:, 21] = np.arange(6)  # the constant
    out = np.empty(4)
    look_up(np.array([0.1, 0.1, 0.6, 1.4]), np.array([0.2, 1.0, 0.6, 0.0]), table, 2, 2, out)
    assert out.tolist() == [0, 1, 3, 4]
