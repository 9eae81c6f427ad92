"""Groups of columns: facts add, move and split; densities multiply."""

import numpy as np
import pytest
from scipy import sparse

from separatrix.exceptions import DataError
from separatrix.families import FAMILIES, Moments
from separatrix.generative.conjugate import density_of
from separatrix.generative.groups import Group, GroupedDensity, GroupedFacts, labelled_facts
from separatrix.rows import Block

NAMES = ("height", "visits", "weight", "kind")
RNG = np.random.default_rng(5)
X = np.column_stack(
    [RNG.normal(5, 1, 60), RNG.poisson(2.0, 60), RNG.normal(-3, 2, 60), RNG.choice([-1.0, 10.0, 20.0], 60)]
)
t = RNG.integers(0, 3, 60)
GROUPS = (Group("categorical", (3,)), Group("normal", (0, 2)), Group("poisson", (1,)))


def facts_of(rows, weight=None):
    block = Block(X[rows], t[rows], None if weight is None else weight[rows], np.arange(60)[rows])
    return labelled_facts(block, GROUPS, 3, NAMES)


def close(a, b):
    assert a.groups == b.groups
    np.testing.assert_allclose(a.count, b.count)
    for ours, theirs in zip(a.parts, b.parts, strict=True):
        for one, two in zip(arrays(ours), arrays(theirs), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


def arrays(part):
    return [part.counts, *part.values] if "values" in dir(part) else part.arrays


def test_parts_add_to_the_whole():
    close(facts_of(slice(0, 20)) + facts_of(slice(20, 60)), facts_of(slice(None)))


def test_weights_are_repetitions():
    weight = RNG.integers(0, 4, 60)
    repeated = np.repeat(np.arange(60), weight)
    close(facts_of(slice(None), weight.astype(float)), facts_of(repeated))


def test_normal_columns_with_and_without_gaps_take_different_paths_to_the_same_facts():
    block = Block(X[:, [0, 2]], t, None, range(60))
    (part,) = labelled_facts(block, (Group("normal", (0, 1)),), 3, NAMES).parts
    other = Moments.of(X[:, [0, 2]], np.eye(3)[t])
    for ours, theirs in zip(part.arrays, other.arrays, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    holed = X[:, [0, 2]].copy()
    holed[::7, 0] = np.nan
    (part,) = labelled_facts(Block(holed, t, None, range(60)), (Group("normal", (0, 1)),), 3, NAMES).parts
    np.testing.assert_allclose(part.mean[1, 0], np.nanmean(holed[t == 1, 0]))
    assert part.count[:, 0].sum() == np.isfinite(holed[:, 0]).sum()


def test_classes_move_and_columns_split():
    facts = facts_of(slice(None))
    moved = facts.on_classes(np.array([2, 0, 3]), 5)
    close(moved.of_classes([2, 0, 3]), facts)
    assert moved.count[[1, 4]].tolist() == [0, 0]
    weights = facts.of_columns(lambda family, d: (family, d) in {("normal", 2), ("poisson", 1)})
    assert weights.groups == (Group("normal", (2,)), Group("poisson", (1,)))
    np.testing.assert_allclose(weights.parts[0].mean[:, 0], facts.parts[1].mean[:, 1])
    assert facts.families == ("normal", "poisson", "normal", "categorical")


def test_facts_of_different_families_do_not_add():
    a, b = facts_of(slice(None)), facts_of(slice(None))
    b = GroupedFacts(b.count, (Group("categorical", (3,)), Group("gamma", (0, 2)), Group("poisson", (1,))), b.parts)
    with pytest.raises(DataError, match="Column 0 is normal in one part and gamma in the other"):
        _ = a + b


def test_infinity_shows():
    assert facts_of(slice(None)).is_finite
    for d in (0, 3):
        bad = X.copy()
        bad[4, d] = np.inf
        assert not labelled_facts(Block(bad, t, None, range(60)), GROUPS, 3, NAMES).is_finite


def test_a_value_outside_the_support_is_refused_by_column():
    bad = X.copy()
    bad[4, 1] = -2
    with pytest.raises(DataError, match="Column 'visits' holds -2 where counts are whole numbers from 0"):
        labelled_facts(Block(bad, t, None, range(60)), GROUPS, 3, NAMES)


def test_the_density_is_the_product_over_columns():
    facts = facts_of(slice(None))
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


def test_neighbouring_columns_are_not_copied():
    assert np.shares_memory(Group("normal", (1, 2)).of(X), X)
    assert Group("normal", (0, 1, 2, 3)).of(X) is X
