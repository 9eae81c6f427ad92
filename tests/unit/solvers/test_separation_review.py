"""The columns named are those at fault, and no others, where collinearity offers many directions to choose from."""

import numpy as np
import pytest

from separatrix.rows import as_source
from separatrix.solvers import separability
from separatrix.solvers.worst_rows import Demand


def factors(seed, *, drop, pure, n=400):
    """Two factors (5 and 3 levels) as dummies, and a number; the rows of the ``pure`` levels all have label 0."""
    rng = np.random.default_rng(seed)
    g, h = rng.integers(0, 5, n), rng.integers(0, 3, n)
    y = (rng.random(n) < 0.4).astype(int)
    for column, level in pure:
        y[(g if column == "g" else h) == level] = 0
    tables = [np.eye(5)[g][:, drop:], np.eye(3)[h][:, drop:], rng.normal(size=(n, 1))]
    names = [f"g{k}" for k in range(drop, 5)] + [f"h{k}" for k in range(drop, 3)] + ["z"]
    return np.hstack(tables), y, names


@pytest.mark.parametrize("drop", [0, 1])
@pytest.mark.parametrize("pure", [[("g", 4)], [("g", 2)], [("h", 1)], [("g", 1), ("g", 4)], [("g", 3), ("h", 2)]])
@pytest.mark.parametrize("seed", range(3))
def test_of_factors_with_all_their_levels_only_the_levels_at_fault_are_named(drop, pure, seed):
    X, y, names = factors(seed, drop=drop, pure=pure)
    found = separability(as_source(X, y), 2)
    assert found.status == "quasi-complete"
    assert tuple(names[int(column[1:])] for column in found.columns) == tuple(f"{c}{k}" for c, k in pure)
    a = X @ found.coef[0] + found.intercept[0]
    assert (np.where(y == 1, a, -a) >= -1e-9).all()
    at_fault = X[:, [names.index(f"{c}{k}") for c, k in pure]].any(axis=1)
    assert (a[at_fault] < -1e-3).all()
    assert found.n_on_plane == (~at_fault).sum()


def test_a_column_and_its_complement():
    rng = np.random.default_rng(0)
    rare = np.arange(60) < 4
    y = np.where(rare, 1, rng.integers(0, 2, 60))
    found = separability(as_source(np.column_stack([rng.normal(size=60), 1.0 - rare, rare]), y), 2)
    assert found.columns == ("x2",)


def test_three_classes_with_all_levels_of_a_factor():
    rng = np.random.default_rng(0)
    g, t = rng.integers(0, 4, 300), rng.integers(0, 3, 300)
    t[g == 3] = 2
    found = separability(as_source(np.column_stack([np.eye(4)[g], rng.normal(size=300)]), t), 3)
    assert (found.status, found.columns) == ("quasi-complete", ("x3",))


def test_a_demand_is_made_where_the_first_direction_is_clear():
    demand = Demand(np.zeros((2, 1)), 0.4)
    np.testing.assert_array_equal(demand.of(np.array([-1.0, 0.0, 0.39, 0.4, 2.0])), [0, 0, 0, 0.4, 0.4])
