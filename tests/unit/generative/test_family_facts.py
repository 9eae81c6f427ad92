"""What a block adds: counted facts, and those expected of rows whose class nobody said."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from separatrix.families import FAMILIES
from separatrix.generative.family_facts import Parameters, expected_facts, first_look
from separatrix.generative.groups import Group, GroupedDensity
from separatrix.rows import Block
from separatrix.rows.labels import UNLABELLED

RATES, PI = np.array([[1.0], [6.0]]), np.array([0.3, 0.7])
GROUP = Group("poisson", (0,))
DENSITY = GroupedDensity((GROUP,), (FAMILIES["poisson"](RATES),))
AT = Parameters(DENSITY, np.log(PI), 0.0, ("visits",))
x, t = np.array([0.0, 1.0, 4.0, 9.0, 3.0]), np.array([0, UNLABELLED, 1, UNLABELLED, UNLABELLED])
WEIGHT = np.array([1.0, 2.0, 1.0, 0.5, 0.0])


def block(rows=slice(None), weight=WEIGHT):
    return Block(x[rows, None], t[rows], None if weight is None else weight[rows], range(len(x[rows])))


def test_rows_without_a_label_are_one_class_more():
    facts = first_look(block(), (GROUP,), 2, ("visits",))
    assert_allclose(facts.count, [1.0, 1.0, 2.5])


def test_an_unlabelled_row_counts_for_each_class_by_bayes_rule():
    joint = PI * stats.poisson.pmf(x[:, None], RATES[:, 0])
    share = np.where(t[:, None] == UNLABELLED, joint / joint.sum(axis=1, keepdims=True), np.eye(2)[np.maximum(t, 0)])
    found = expected_facts(block(), AT)
    assert_allclose(found.facts.count, WEIGHT @ share, rtol=1e-12)
    assert found.weight == WEIGHT.sum()
    own = joint[np.arange(5), np.maximum(t, 0)]
    seen = np.where(t == UNLABELLED, joint.sum(axis=1), own)
    assert found.log_likelihood == pytest.approx(WEIGHT @ np.log(seen), rel=1e-12)


def test_blocks_add_and_the_prior_is_shared_out_among_the_rows():
    at = AT._replace(log_prior=-0.25)
    whole, parts = expected_facts(block(), at), [expected_facts(block(rows), at) for rows in (slice(0, 2), slice(2, 5))]
    assert (parts[0] + parts[1]).log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-12)
    assert_allclose((parts[0] + parts[1]).facts.count, whole.facts.count, rtol=1e-12)
    assert whole.log_likelihood == pytest.approx(expected_facts(block(), AT).log_likelihood - 0.25 * 5)


def test_a_row_that_no_class_can_have_made_is_shared_out_by_the_priors():
    impossible = GroupedDensity((Group("bernoulli", (0,)),), (FAMILIES["bernoulli"](np.full((2, 1), -np.inf)),))
    one = Block(np.ones((1, 1)), np.array([UNLABELLED]), None, range(1))
    found = expected_facts(one, Parameters(impossible, np.log(PI), 0.0, ("seen",)))
    assert_allclose(found.facts.count, PI, rtol=1e-12)
    assert found.log_likelihood == -np.inf
