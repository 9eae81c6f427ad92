import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix._linalg import SingularError, solve_positive_definite


def test_nearly_collinear_is_not_collinear(rng):
    Z = rng.normal(size=(1000, 2))
    Z = np.column_stack([Z, Z[:, 0] + 1e-5 * rng.normal(size=1000)])  # 1 - R² = 1e-10: rounding is 1e-14
    B = rng.normal(size=(3, 1))
    assert_allclose(Z.T @ Z @ solve_positive_definite(Z.T @ Z, B), B, atol=1e-5)


def test_many_faults_are_summarised(rng):
    with pytest.raises(SingularError) as caught:
        solve_positive_definite(np.zeros((12, 12)), np.ones((12, 1)))
    said = caught.value.describe(tuple("abcdefghijkl"))
    assert said.startswith("'a' is constant; 'b' is constant")
    assert said.endswith("and 4 more")
