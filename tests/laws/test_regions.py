"""Laws of the decision regions of K linear functions, for any coefficients."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.geometry import LinearRegions


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), K=st.integers(2, 6), D=st.integers(1, 4))
def test_regions_are_convex(seed, K, D):
    """PRML §4.1.2: a point between two points of R_k is in R_k."""
    rng = np.random.default_rng(seed)
    regions = LinearRegions(rng.normal(size=(K, D)), rng.normal(size=K))
    X = 3 * rng.normal(size=(200, D))
    winner = regions.of_rows(X)
    assert np.array_equal(winner, (X @ regions.coef.T + regions.intercept).argmax(axis=1))
    for k in np.unique(winner):
        inside = X[winner == k]
        a, b = rng.choice(inside, 50), rng.choice(inside, 50)
        assert regions.contains(k, a + rng.random((50, 1)) * (b - a)).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), K=st.integers(2, 5))
def test_every_point_has_a_region_and_interior_points_are_inside(seed, K):
    rng = np.random.default_rng(seed)
    regions = LinearRegions(rng.normal(size=(K, 2)), rng.normal(size=K))
    X = 10.0 ** rng.uniform(-2, 4, size=(1000, 1)) * rng.normal(size=(1000, 2))
    inside = np.column_stack([regions.contains(k, X) for k in range(K)])
    assert inside.any(axis=1).all()
    for k in range(K):
        point = regions.interior_point(k)
        assert (point is None) == regions.is_empty(k)
        assert point is not None or not inside[:, k].any()
        assert point is None or (regions.coef @ point + regions.intercept).argmax() == k


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    K=st.integers(2, 5),
    powers=st.tuples(st.integers(-6, 6), st.integers(-6, 6)),
    offset=st.sampled_from([0.0, 1.0, -1e3, 1e7]),
)
def test_units_and_origin_do_not_make_a_region_empty(seed, K, powers, offset):
    """x = u (z + offset) for each column: the same functions in other units, with another origin."""
    rng = np.random.default_rng(seed)
    W, w0, units = rng.normal(size=(K, 2)), rng.normal(size=K), 10.0 ** np.array(powers)
    Z = rng.normal(size=(20, 2))
    plain, moved = LinearRegions(W, w0), LinearRegions(W / units, w0 - W.sum(axis=1) * offset)
    for k in range(K):
        assert moved.is_empty(k) == plain.is_empty(k)
        assert moved.is_empty(k, within=units * (Z + offset)) == plain.is_empty(k, within=Z)
