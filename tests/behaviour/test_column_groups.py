# SPDX-License-Identifier: BSD-3-Clause
"""Densities of column groups, and their statistics for sparse and unlabelled rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

from separatrix.families import FAMILIES, SupportError
from separatrix.generative.densities import GroupedDensity, density_of
from separatrix.generative.family_classifier import expected_facts
from separatrix.rows import UNLABELLED, Block
from separatrix.stats import Group, group_statistics

NAMES = ("height", "visits", "weight", "kind")
RNG = np.random.default_rng(5)
X = np.column_stack(
    [RNG.normal(5, 1, 60), RNG.poisson(2.0, 60), RNG.normal(-3, 2, 60), RNG.choice([-1.0, 10.0, 20.0], 60)]
)
t = RNG.integers(0, 3, 60)
GROUPS = (Group("categorical", (3,)), Group("normal", (0, 2)), Group("poisson", (1,)))


def test_the_density_is_the_product_over_columns():
    facts = group_statistics(Block(X, t, None, np.arange(60)), GROUPS, 3, NAMES).of_classes(slice(3))
    densities = tuple(density_of(g.family, p, "ml") for g, p in zip(facts.groups, facts.parts, strict=True))
    whole = GroupedDensity(GROUPS, densities)
    normal, poisson = densities[1], densities[2]
    x = X[0]
    for k in range(3):
        mine = X[t == k]
        expected = (
            FAMILIES["normal"](mine[:, 0].mean(), mine[:, 0].std()).log_density(x[0])
            + FAMILIES["normal"](mine[:, 2].mean(), mine[:, 2].std()).log_density(x[2])
            + FAMILIES["poisson"](mine[:, 1].mean()).log_density(x[1])
            + np.log((mine[:, 3] == x[3]).mean())
        )
        assert whole.log_density(X[:1], NAMES)[0, k] == pytest.approx(float(expected), rel=1e-11)
    np.testing.assert_allclose(whole.log_density(sparse.csr_array(X), NAMES), whole.log_density(X, NAMES), rtol=1e-11)
    drawn = whole.draw(1, 4000, np.random.default_rng(0))
    assert abs(drawn[:, 1].mean() - poisson.rate[1, 0]) < 4 * np.sqrt(poisson.rate[1, 0] / 4000)
    assert abs(drawn[:, 2].mean() - normal.mean[1, 1]) < 4 * normal.sd[1, 1] / np.sqrt(4000)
    assert set(drawn[:, 3]) <= {-1.0, 10.0, 20.0}


def test_an_outcome_without_observations_is_impossible():
    x = np.array([[0.0, 1.0], [0.0, 2.0]])
    density = FAMILIES["poisson"].ml(FAMILIES["poisson"].facts(x, np.ones((2, 1))))
    assert Group("poisson", (0, 1)).log_density(density, sparse.csr_array([[1.0, 0.0]])).tolist() == [[-np.inf]]


def test_an_unlabelled_row_is_weighted_by_its_responsibilities():
    rates, pi = np.array([[1.0], [6.0]]), np.array([0.3, 0.7])
    x, codes = np.array([0.0, 1.0, 4.0, 9.0, 3.0]), np.array([0, UNLABELLED, 1, UNLABELLED, UNLABELLED])
    weight = np.array([1.0, 2.0, 1.0, 0.5, 0.0])
    density = GroupedDensity((Group("poisson", (0,)),), (FAMILIES["poisson"](rates),))
    found = expected_facts(
        Block(x[:, None], codes, weight, range(5)), (density, density.groups, np.log(pi), 0.0, ("visits",))
    )
    joint = pi * stats.poisson.pmf(x[:, None], rates[:, 0])
    joint = np.where((codes == UNLABELLED)[:, None] | (codes[:, None] == [0, 1]), joint, 0.0)
    seen = joint.sum(axis=1)
    assert_allclose(found.facts.count, weight @ (joint / seen[:, None]), rtol=1e-12)
    assert found.weight == weight.sum()
    assert found.log_likelihood == pytest.approx(weight @ np.log(seen), rel=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_many_binary_rows_equal_products_and_other_values_are_refused(dtype, weighted):
    n, rng = 20_000, np.random.default_rng(0)
    x, codes = np.asarray(rng.random((n, 5)) < 0.3, dtype), rng.integers(-1, 2, n)
    weight = rng.random(n) if weighted else None
    columns = Group("bernoulli", (1, 2, 4)), Group("normal", (0, 3))
    block = Block(x, codes, weight, range(n))
    found = group_statistics(block, columns, 2, list("abcde"))
    for k in (0, 1, 2):  # unlabelled rows are the last class
        own = np.where(codes == (k if k < 2 else -1), 1.0 if weight is None else weight, 0.0)
        assert_allclose(found.parts[0].total_u[k, :, 0], own @ x[:, [1, 2, 4]].astype(float), rtol=1e-10)
        assert_allclose(found.parts[0].count[k], own.sum(), rtol=1e-10)
        assert found.count[k] == pytest.approx(own.sum())
    x[700, 1] = np.nan  # missing values are not counted
    gap = group_statistics(block, columns, 2, list("abcde"))
    assert gap.parts[0].count[:, 0].sum() < found.parts[0].count[:, 0].sum() - (0 if weighted else 0.5)
    for other in (2.0, 0.5, np.inf, 1.0 + 1e-7):
        x[900, 2] = other
        with pytest.raises(SupportError, match="'c'"):
            group_statistics(block, columns, 2, list("abcde"))
