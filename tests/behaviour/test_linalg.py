import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import linalg

from separatrix._linalg import SingularError, solve_factored, solve_minimum_norm, solve_positive_definite


def spd(rng, size, condition=1e3):
    Q = linalg.qr(rng.normal(size=(size, size)))[0]
    return (Q * np.geomspace(1, condition, size)) @ Q.T


def test_solves_what_scipy_solves_in_any_units(rng):
    A, B = spd(rng, 8), rng.normal(size=(8, 3))
    units = np.geomspace(1e-100, 1e100, 8)
    X = solve_positive_definite(A * np.outer(units, units), B * units[:, None])
    assert_allclose(X * units[:, None], linalg.solve(A, B, assume_a="pos"), rtol=1e-9)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), size=st.integers(2, 8))
def test_the_dependent_column_and_its_partners_are_named(seed, size):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(50, size)) * 10.0 ** rng.integers(-8, 9, size=size)
    others = rng.choice(size, size=rng.integers(1, size + 1), replace=False)
    scale = Z.std(axis=0)
    extra = (Z[:, others] / scale[others]) @ rng.uniform(0.5, 2.0, size=len(others))
    Z = np.column_stack([Z, extra, np.zeros(50)])
    with pytest.raises(SingularError) as caught:
        solve_positive_definite(Z.T @ Z, np.eye(size + 2))
    assert caught.value.constant == [size + 1]
    ((column, partners),) = caught.value.combination.items()
    assert {column, *partners} == {*others.tolist(), size}


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


def test_minimum_norm_is_the_pseudo_inverse_in_equilibrated_units(rng):
    F = rng.normal(size=(5, 8)) * np.geomspace(1e-3, 1e3, 8)
    F[:, 3] = 0.0
    A, B = F.T @ F, F.T @ rng.normal(size=(5, 2))
    d = np.sqrt(np.diag(A))
    inverse = np.divide(1, d, out=np.zeros(8), where=d > 0)
    expected = inverse[:, None] * (np.linalg.pinv(A * np.outer(inverse, inverse), rcond=1e-10) @ (inverse[:, None] * B))
    assert_allclose(solve_minimum_norm(A, B), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    assert_allclose(solve_factored(F, B, np.zeros(8)), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


def test_factored_ridge_is_woodbury(rng):
    F, ridge, B = rng.normal(size=(6, 20)), rng.uniform(0.1, 5.0, 20), rng.normal(size=(20, 3))
    assert_allclose(solve_factored(F, B, ridge), np.linalg.solve(F.T @ F + np.diag(ridge), B), rtol=1e-9)
