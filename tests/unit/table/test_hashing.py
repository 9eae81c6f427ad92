"""Levels in the columns of their hashes: the same in every process, and one column each where none collide."""

import json
import subprocess
import sys
import zlib
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import separatrix as sx
from separatrix.exceptions import DataError
from separatrix.table import Schema, TableEncoder, TableStatistics, infer_types, table_statistics
from separatrix.table.plans import HashPlan

LEVELS = [f"{i:05d}" for i in range(0, 300)]


def zips(rng, n=3000, levels=LEVELS):
    return pd.DataFrame({"zip": rng.choice(np.array(levels), n), "size": rng.normal(size=n)})


def plan(**changes):
    return HashPlan(
        **{"column": "c", "kind": "categorical", "why": "", "n_columns": 8, "missing": False, "dropped": False}
        | changes
    )


def encode(plan, values):
    return Schema((plan,), 1).encode_counted(pd.DataFrame({"c": pd.Series(values, dtype=object)}), sparse=False)


def test_every_row_has_one_column_and_equal_levels_the_same():
    X, surprises = encode(plan(), ["a", "b", "a", "never seen"])
    np.testing.assert_array_equal(X.sum(axis=1), 1)
    np.testing.assert_array_equal(X[0], X[2])
    assert surprises == {}


def test_gaps_have_a_column_if_training_had_any_and_else_none():
    X, surprises = encode(plan(missing=True), ["a", None])
    assert X[1].tolist() == [0] * 8 + [1]
    assert surprises == {}
    X, surprises = encode(plan(), ["a", None])
    assert X[1].tolist() == [0] * 8
    assert surprises == {"c": {"(missing)": 1}}


def test_the_first_column_can_be_left_out():
    every, _ = encode(plan(missing=True), [*LEVELS, None])
    some, _ = encode(plan(missing=True, dropped=True), [*LEVELS, None])
    assert plan(dropped=True).names == tuple(f"c#{i}" for i in range(1, 8))
    np.testing.assert_array_equal(some, every[:, 1:])
    assert every[:, 0].sum() > 0


def test_numbers_hash_as_the_text_they_are_written_as():
    np.testing.assert_array_equal(encode(plan(), [7030, 7031])[0], encode(plan(), ["7030", "7031"])[0])


def test_levels_spread_evenly():
    X, _ = encode(plan(n_columns=64), [f"level {i}" for i in range(64_000)])
    counts = X.sum(axis=0)
    assert np.sum((counts - 1000) ** 2 / 1000) < 120  # chi-squared of 63 degrees: 120 is its 0.99999 quantile


SCRIPT = """
import pandas as pd
from separatrix.table import Schema
import sys
schema = Schema.from_json(sys.stdin.read())
print(schema.encode(pd.DataFrame({"zip": ["07030", "é", "10001"]}), sparse=False).argmax(axis=1).tolist())
"""


def splitmix(x):
    """SplitMix64 (Steele 2014) in whole numbers of Python. Saved models depend on it: it must never change."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def test_hashes_do_not_depend_on_the_process():
    table = pd.DataFrame({"zip": ["07030", "é", "10001"]})
    schema = Schema((plan(column="zip", n_columns=1000),), 3)
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=schema.to_json(),
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": "4711"},
        check=True,
    )
    here = schema.encode(table, sparse=False).argmax(axis=1).tolist()
    assert json.loads(run.stdout) == here
    assert here == [splitmix(zlib.crc32(text.encode())) % 1000 for text in table["zip"]]


def test_without_collisions_a_model_is_that_of_one_column_for_each_level(rng):
    table = zips(rng, levels=LEVELS[:150])
    y = rng.random(len(table)) < 1 / (1 + np.exp(-table["size"] - (table["zip"].astype(int) % 7) + 3))
    hashing = TableEncoder({"zip": "categorical"}, hashing=200_003).fit(table)
    one_hot = TableEncoder({"zip": "categorical"}, max_levels=1000, min_count=1).fit(table)
    X, Z = hashing.transform(table), one_hot.transform(table)
    used = np.flatnonzero(np.asarray(X.sum(axis=0)).ravel())
    assert len(used) == Z.shape[1]  # no two levels have one hash
    model = sx.LogisticRegression(alpha=1.0, tol=1e-11).fit(X[:, used], y)
    oracle = sx.LogisticRegression(alpha=1.0, tol=1e-11).fit(Z, y)
    np.testing.assert_allclose(model.predict_proba(X[:, used]), oracle.predict_proba(Z), rtol=1e-8)


def test_only_categories_of_more_levels_than_allowed_are_hashed(rng):
    table = zips(rng).assign(colour=rng.choice(["red", "blue", "green"], 3000))
    encoder = TableEncoder({"zip": "categorical"}, hashing=64).fit(table)
    assert encoder.schema_.columns == (
        *(f"zip#{i}" for i in range(64)), "size", *(f"colour={level}" for level in table["colour"].value_counts().index)
    )  # fmt: skip
    assert "zip" not in encoder.unseen(pd.DataFrame({"zip": ["99999"], "size": [1.0], "colour": ["red"]}))


def test_the_report_says_so(rng):
    table = zips(rng)
    table.loc[:29, "zip"] = None
    said = TableEncoder({"zip": "categorical"}, hashing=64, drop="first").fit(table).schema_.describe()
    assert "text, 300 levels, hashed; 30 missing (1 %); compared with 'zip#0'" in said
    assert "64 columns: #1, #2, #3" in said


def test_more_levels_than_are_counted_can_be_hashed():
    table = pd.DataFrame({"key": np.repeat([f"k{i}" for i in range(600)], 5)})
    facts = table_statistics(table, max_distinct=100)
    assert infer_types(facts).columns == ()
    schema = infer_types(facts, hashing=32)
    assert schema.columns == tuple(f"key#{i}" for i in range(32))
    assert schema.plans[0].why.startswith("text, about ")


@given(st.lists(st.integers(0, 400), max_size=3))
def test_facts_add_in_any_partition_to_the_same_schema(cuts):
    table = zips(np.random.default_rng(3), 400).assign(size=1.0)
    edges = [0, *sorted(cuts), 400]
    facts = TableStatistics()
    for low, high in pairwise(edges):
        facts += table_statistics(table.iloc[low:high])
    whole = infer_types(table_statistics(table), {"zip": "categorical"}, hashing=16)
    assert infer_types(facts, {"zip": "categorical"}, hashing=16) == whole


def test_batches_encode_as_the_whole(rng):
    table = zips(rng)
    encoder = TableEncoder({"zip": "categorical"}, hashing=16)
    parts = [table.iloc[i : i + 700] for i in range(0, 3000, 700)]
    X = encoder.fit_batches(parts).transform(table)
    np.testing.assert_array_equal(np.vstack([encoder.transform(part) for part in parts]), X)
    np.testing.assert_allclose(TableEncoder({"zip": "categorical"}, hashing=16).fit(table).transform(table), X)


def test_json_has_a_later_version_only_where_it_needs_one(rng):
    table = zips(rng)
    facts = table_statistics(table)
    schema = infer_types(facts, {"zip": "categorical"}, hashing=16)
    assert json.loads(schema.to_json())["version"] == 2
    assert json.loads(infer_types(facts, {"zip": "categorical"}).to_json())["version"] == 1
    restored = Schema.from_json(schema.to_json())
    assert restored == schema
    np.testing.assert_array_equal(restored.encode(table), schema.encode(table))


@pytest.mark.parametrize("wrong", ["true", "1", '"16"', "16.0"])
def test_a_damaged_plan_is_refused(rng, wrong):
    text = infer_types(table_statistics(zips(rng)), {"zip": "categorical"}, hashing=16).to_json()
    with pytest.raises(DataError, match="'zip'"):
        Schema.from_json(text.replace('"n_columns": 16', f'"n_columns": {wrong}'))


@pytest.mark.parametrize("wrong", [1, 0, True, 2.0, "many"])
def test_the_number_of_columns_is_checked(rng, wrong):
    with pytest.raises(ValueError, match="hashing must be an integer, at least 2"):
        TableEncoder(hashing=wrong).fit(zips(rng))


def test_a_classifier_of_tables_is_saved_with_its_hashes(rng, tmp_path):
    from separatrix.study import TableClassifier

    table = zips(rng)
    model = TableClassifier(sx.LogisticRegression(), types={"zip": "categorical"}, hashing=32)
    model.fit(table, rng.integers(2, size=len(table)))
    sx.save(model, tmp_path / "model.sx")
    loaded = sx.load(tmp_path / "model.sx")
    new = pd.DataFrame({"zip": ["07030", "never seen", None], "size": [0.0, 1.0, 2.0]})
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
