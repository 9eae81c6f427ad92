# SPDX-License-Identifier: BSD-3-Clause
"""Columns of naive Bayes: the survey, the choice of a family, text and categories."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from separatrix.families import Categorical, ValueCounts, ValuedCategorical
from separatrix.generative.family_classifier import encode_text
from separatrix.generative.naive_bayes import MAX_DISTINCT_VALUES, NaiveBayes, candidates, log_evidence, survey_columns
from separatrix.rows import as_source
from separatrix.stats import Group


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
def test_candidates_are_the_families_that_the_values_allow(column, families, words):
    found = survey(column)
    assert set(candidates(found, 0)) == families
    assert found.describe(0) == words


def test_columns_with_many_values_are_not_categorical():
    assert "categorical" in candidates(survey(np.arange(MAX_DISTINCT_VALUES)), 0)
    found = survey(np.arange(MAX_DISTINCT_VALUES + 1))
    assert "categorical" not in candidates(found, 0)
    assert found.describe(0) == f"whole numbers 0 to {MAX_DISTINCT_VALUES}, more than {MAX_DISTINCT_VALUES} distinct"


def test_the_survey_of_two_parts_adds_to_that_of_the_whole():
    rng = np.random.default_rng(0)
    late = np.r_[np.full(500, np.nan), rng.random(400)]
    X = np.column_stack([rng.normal(size=900), rng.integers(0, 5, 900), late, np.arange(900) % 300])
    whole = survey_columns(as_source(X))
    parts = [survey_columns(as_source(X[rows])) for rows in (slice(0, 250), slice(250, 500), slice(500, 900))]
    added = parts[0] + parts[1] + parts[2]
    for one in (added, survey_columns(as_source(sparse.csr_array(np.nan_to_num(X, nan=0.5))))):
        np.testing.assert_array_equal(one.low[[0, 1, 3]], whole.low[[0, 1, 3]])
        np.testing.assert_array_equal(one.whole[[0, 1, 3]], whole.whole[[0, 1, 3]])
        assert [v is None for v in one.values] == [True, False, True, True]
    np.testing.assert_array_equal(added.high, np.nanmax(X, axis=0))
    assert np.isnan(parts[0].low[2])


def test_the_resolution_is_the_smallest_difference_beyond_rounding():
    assert survey([0.0, 10.0, 30.0]).resolution(0) == 10.0
    assert survey([0.1, 0.3, 0.1 + 0.2, 0.5]).resolution(0) == pytest.approx(0.2)
    assert survey(np.random.default_rng(0).normal(size=2000)).resolution(0) == 1.0


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
def test_the_family_that_generated_the_column_is_chosen(family, seed):
    rng = np.random.default_rng(seed)
    t = rng.integers(0, 2, 800)
    x = np.where(t == 0, DRAWS[family](rng, 0, 800), DRAWS[family](rng, 1, 800))[:, None]
    (choice,) = NaiveBayes().fit(x, t).choices_
    assert choice.family == family
    assert "nats ahead of" in choice.why


@pytest.mark.parametrize("n", [10, 40, 150])
def test_continuous_columns_are_not_categorical_even_with_few_rows(n):
    x = np.random.default_rng(n).normal(size=(n, 1))
    assert NaiveBayes().fit(x, np.arange(n) % 2).choices_[0].family == "normal"


def test_a_family_without_an_estimate_is_skipped():
    """The labelled values of the first column are all equal: no normal distribution has a marginal likelihood."""
    x = np.column_stack([[2.5, 2.5, 2.5, 2.5, 1.0, -3.0], [1.0, 2.0, 3.0, 4.0, 5.0, -6.0]])
    first, second = NaiveBayes(unlabelled=-1).fit(x, [0, 0, 1, 1, -1, -1]).choices_
    assert first.family == "categorical"
    assert "normal does not fit" in first.why
    assert "nats" in second.why


def test_the_marginal_likelihood_of_categories_is_polyas_less_the_choice_of_the_values():
    """Values 5, 9 and 5: (1/2)(1/3)(2/4), and 2 out of the 2 points of the grid are named."""
    x = np.array([[5.0], [9.0], [5.0]])
    evidence = log_evidence(Group("categorical", (0,)), ValueCounts.of(x, np.ones((3, 1))), survey(x[:, 0]))
    assert evidence == pytest.approx(np.log(1 / 2 * 1 / 3 * 2 / 4))


COLUMNS = {"size": [1.5, 2.5, 3.5, 4.5], "kind": ["b", "a", None, "b"]}
TABLES = {
    "pandas": pd.DataFrame(COLUMNS, index=[7, 5, 6, 8]),
    "pandas_object": pd.DataFrame(COLUMNS).astype({"kind": object}),
    "pandas_categorical": pd.DataFrame(COLUMNS).astype({"kind": "category"}),
    "polars": pl.DataFrame(COLUMNS),
    "polars_categorical": pl.DataFrame(COLUMNS, schema_overrides={"kind": pl.Categorical}),
    "polars_enum": pl.DataFrame(COLUMNS, schema_overrides={"kind": pl.Enum(["b", "a", "z"])}),
    "pyarrow": pa.table(COLUMNS),
    "pyarrow_dictionary": pa.table({"size": COLUMNS["size"], "kind": pa.array(COLUMNS["kind"]).dictionary_encode()}),
    "objects": np.array(list(zip(COLUMNS["size"], COLUMNS["kind"], strict=True)), dtype=object),
}


def as_floats(table):
    table = table.to_pandas() if isinstance(table, pl.DataFrame | pa.Table) else table
    return np.asarray(table, dtype=object).astype(float)


@pytest.mark.parametrize("name", TABLES)
def test_text_becomes_positions_in_the_sorted_or_known_categories_and_unknown_ones_follow(name):
    before = str(TABLES[name])
    table, categories = encode_text(TABLES[name])
    assert categories.keys() == {1}
    assert categories[1].tolist() == ["a", "b"]
    np.testing.assert_array_equal(as_floats(table), [[1.5, 1], [2.5, 0], [3.5, np.nan], [4.5, 1]])
    table, _ = encode_text(TABLES[name], {1: np.array(["b", "c", "d"])})
    np.testing.assert_array_equal(as_floats(table)[:, 1], [0, 3, np.nan, 0])
    assert str(TABLES[name]) == before  # the user's table is not changed


def test_a_table_without_text_is_the_same_object():
    for X in (np.eye(2), pd.DataFrame({"a": [1.0]}), [[1.0]], np.eye(2).astype(object)):
        assert encode_text(X)[0] is X
        assert encode_text(X, {})[0] is X


def test_a_text_column_without_values_is_missing():
    missing = pl.DataFrame({"kind": [None, None]}, schema={"kind": pl.String})
    assert np.isnan(as_floats(encode_text(missing)[0])).all()
    known = {0: np.array(["a"])}
    assert np.isnan(as_floats(encode_text(np.array([[None], [np.nan]], dtype=object), known)[0])).all()


def test_densities_and_samples_use_the_values():
    facts = ValueCounts.of(np.array([[-3.0], [10.0], [10.0], [10.0]]), np.ones((4, 1)))
    density = ValuedCategorical(facts.values, Categorical.of_mean_u([[[0.25, 0.75]]]))
    expected = np.log([[0.25], [0.75]])
    np.testing.assert_allclose(density.log_density_sum(np.array([[-3.0], [10.0]])), expected)
    assert density.log_density_sum(np.array([[0.0], [np.nan]])).tolist() == [[-np.inf], [0.0]]
    drawn = density[0].sample(np.random.default_rng(0), 4000)
    assert set(drawn.ravel()) == {-3.0, 10.0}
    assert abs((drawn == 10.0).mean() - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 4000)
