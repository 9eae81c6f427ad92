"""Families from values: surveys add, candidates respect supports, evidence finds the family that made the data."""

import numpy as np
import pytest
from scipy import sparse

from separatrix.exceptions import DataError
from separatrix.generative.column_families import (
    MOST_VALUES,
    Choice,
    candidates,
    choose,
    describe_choices,
    grouped,
    survey_columns,
)
from separatrix.generative.groups import Group, labelled_facts
from separatrix.rows import Block, as_source


def survey(column, weight=None):
    return survey_columns(as_source(np.asarray(column, dtype=float)[:, None], weight=weight))


@pytest.mark.parametrize(
    ("column", "families", "words"),
    [
        ([0, 1, 1, np.nan], {"bernoulli"}, "only 0 and 1"),
        ([1, 1], {"bernoulli"}, "always 1"),
        ([7.5, 7.5], {"categorical"}, "always 7.5"),
        ([0, 3, 2], {"normal", "categorical", "poisson", "exponential"}, "whole numbers 0 to 3, 3 distinct"),
        ([1, 3, 2], {"normal", "categorical", "poisson", "exponential", "gamma"}, "whole numbers 1 to 3, 3 distinct"),
        ([-1, 3], {"normal", "categorical"}, "whole numbers -1 to 3, 2 distinct"),
        ([0.2, 0.7], {"normal", "categorical", "exponential", "gamma", "beta"}, "in (0, 1), 0.2 to 0.7, 2 distinct"),
        ([0.0, 0.7], {"normal", "categorical", "exponential"}, "not negative, 0 to 0.7, 2 distinct"),
        ([0.5, 2.7], {"normal", "categorical", "exponential", "gamma"}, "positive, 0.5 to 2.7, 2 distinct"),
        ([-0.5, 2.7], {"normal", "categorical"}, "real, -0.5 to 2.7, 2 distinct"),
    ],
)
def test_candidates_are_what_the_values_allow(column, families, words):
    found = survey(column)
    assert set(candidates(found, 0)) == families
    assert found.describe(0) == words


def test_many_values_are_no_categories():
    assert "categorical" in candidates(survey(np.arange(MOST_VALUES)), 0)
    found = survey(np.arange(MOST_VALUES + 1))
    assert "categorical" not in candidates(found, 0)
    assert found.describe(0) == f"whole numbers 0 to {MOST_VALUES}, more than {MOST_VALUES} distinct"


def test_the_survey_of_two_parts_adds_to_that_of_the_whole():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=900),
            rng.integers(0, 5, 900),
            np.r_[np.full(500, np.nan), rng.random(400)],
            np.arange(900) % 300,
        ]
    )
    whole = survey_columns(as_source(X))
    parts = [survey_columns(as_source(X[rows])) for rows in (slice(0, 250), slice(250, 500), slice(500, 900))]
    added = parts[0] + parts[1] + parts[2]
    for one in (added, survey_columns(as_source(sparse.csr_array(np.nan_to_num(X, nan=0.5))))):
        np.testing.assert_array_equal(one.low[[0, 1, 3]], whole.low[[0, 1, 3]])
        np.testing.assert_array_equal(one.whole[[0, 1, 3]], whole.whole[[0, 1, 3]])
        assert [v is None for v in one.values] == [True, False, True, True]
    np.testing.assert_array_equal(added.high, np.nanmax(X, axis=0))
    assert np.isnan(parts[0].low[2])


def test_rows_without_weight_are_not_surveyed():
    assert candidates(survey([0, 1, 5], weight=np.array([1.0, 1.0, 0.0])), 0) == ("bernoulli",)


def test_infinity_is_refused_by_column():
    with pytest.raises(DataError, match="infinity in column 'x0'"):
        survey([1.0, np.inf])


def test_resolution_is_the_smallest_gap_beyond_rounding():
    assert survey([0.0, 10.0, 30.0]).resolution(0) == 10.0
    assert survey([0.1, 0.3, 0.1 + 0.2, 0.5]).resolution(0) == pytest.approx(0.2)
    assert survey(np.random.default_rng(0).normal(size=2000)).resolution(0) == 1.0
    assert survey([2.0, 2.5, 4.0]).grid(0).tolist() == [2.0, 2.5, 3.0, 3.5, 4.0]


DRAWS = {
    "normal": lambda rng, k, n: rng.normal(20 + 3 * k, 1 + k, n),
    "poisson": lambda rng, k, n: rng.poisson(1 + 3 * k, n),
    "exponential": lambda rng, k, n: rng.exponential(1 + 2 * k, n),
    "gamma": lambda rng, k, n: rng.gamma(4, 1 + k, n),
    "beta": lambda rng, k, n: rng.beta(0.6 + k, 0.7, n),
    "categorical": lambda rng, k, n: rng.choice([-7.0, 1.0, 30.0], n, p=[0.5, 0.1 + 0.3 * k, 0.4 - 0.3 * k]),
}


@pytest.mark.parametrize("family", DRAWS)
@pytest.mark.parametrize("seed", range(3))
def test_the_family_that_made_the_column_is_the_most_probable(family, seed):
    rng = np.random.default_rng(seed)
    t = rng.integers(0, 2, 800)
    x = np.where(t == 0, DRAWS[family](rng, 0, 800), DRAWS[family](rng, 1, 800))[:, None]
    found = survey_columns(as_source(x))
    groups = grouped({0: candidates(found, 0)})
    facts = labelled_facts(Block(x, t, None, range(800)), groups, 2, ("x",))
    choice = choose(facts, found, ("x",))[0]
    assert choice.family == family
    assert "nats ahead of" in choice.why


@pytest.mark.parametrize("n", [10, 40, 150])
def test_continuous_columns_are_not_taken_for_categories_however_few_the_rows(n):
    rng = np.random.default_rng(n)
    x, t = rng.normal(size=(n, 1)), np.arange(n) % 2
    found = survey_columns(as_source(x))
    facts = labelled_facts(Block(x, t, None, range(n)), grouped({0: candidates(found, 0)}), 2, ("x",))
    assert choose(facts, found, ("x",))[0].family == "normal"


def test_a_family_without_an_answer_is_passed_over():
    """Labelled rows all equal, though the column is not: no normal has a marginal likelihood here."""
    found = survey([1.0, 2.5, -3.0])
    x = np.full((4, 2), 2.5)
    x[:, 1] = [1.0, 2.0, 3.0, 4.0]
    both = type(found)(*(np.repeat(a, 2) for a in (found.low, found.high, found.whole)), found.values * 2)
    groups = (Group("categorical", (0, 1)), Group("normal", (0, 1)))
    facts = labelled_facts(Block(x, np.array([0, 0, 1, 1]), None, range(4)), groups, 2, ("a", "b"))
    chosen = choose(facts, both, ("a", "b"))
    assert chosen[0].family == "categorical"
    assert "normal does not fit" in chosen[0].why
    assert "nats" in chosen[1].why


def test_columns_may_compete_for_families():
    assert grouped({0: ("normal", "gamma"), 2: ("normal",)}) == (Group("gamma", (0,)), Group("normal", (0, 2)))


def test_the_report_lines_up():
    text = describe_choices([Choice("a", "normal", "given"), Choice("long name", "gamma", "positive")])
    assert [line.index(word) for line, word in zip(text.splitlines(), ("family", "normal", "gamma"), strict=True)] == [
        11
    ] * 3
