"""A schema encodes any library and any batch alike, and is restored from JSON."""

import datetime as dt
import json
import zlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder

import separatrix as sx
from separatrix.table import Schema, TableEncoder, infer_types, table_statistics
from separatrix.table.plans import CategoryPlan, DatePlan, HashPlan, NumberPlan

N = 120


def columns(rng):
    """Plain lists, so that every library can hold them."""
    start = pd.Timestamp("2020-03-01")
    return {
        "age": [None if i % 11 == 0 else float(a) for i, a in enumerate(rng.normal(50, 9, N))],
        "rooms": rng.integers(1, 9, N).tolist(),
        "owner": [[True, False, None][i] for i in rng.integers(3, size=N)],
        "colour": [["red", "blue", "green", None][i] for i in rng.integers(4, size=N)],
        "paid": [["Yes", "No"][i] for i in rng.integers(2, size=N)],
        "charge": [["12.5", "7", " ", "NA"][i] for i in rng.integers(4, size=N)],
        "joined": [(start + pd.Timedelta(hours=int(h))).to_pydatetime() for h in rng.integers(20_000, size=N)],
        "waited": [pd.Timedelta(hours=int(h)).to_pytimedelta() for h in rng.integers(99, size=N)],
        "key": [f"k{i}" for i in range(N)],
    }


@pytest.fixture
def table(rng):
    return columns(rng)


def test_a_level_that_begins_like_its_column_keeps_its_whole_name():
    schema = infer_types(table_statistics(pd.DataFrame({"size": ["size: big", "small"] * 20})))
    assert sorted(schema.plans[0].short_names) == ["size: big", "small"]
    assert "2 columns: size: big, small" in schema.describe()
    assert schema.describe().endswith("\n1 column of 40 rows becomes 2 columns of numbers")


LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "pandas categorical": lambda c: pd.DataFrame(c).astype({"colour": "category"}),
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "record batch": lambda c: pa.RecordBatch.from_pydict(c),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same_numbers(table, library):
    expected = infer_types(table_statistics(pd.DataFrame(table)))
    schema = infer_types(table_statistics(LIBRARIES[library](table)))
    assert schema.columns == expected.columns
    for other in (library, "polars"):
        np.testing.assert_array_equal(schema.encode(LIBRARIES[other](table)), expected.encode(pd.DataFrame(table)))


def test_batches_reordered_and_additional_columns_change_nothing(table):
    frame = pd.DataFrame(table)
    schema = infer_types(table_statistics(frame))
    moved = frame[frame.columns[::-1]].assign(surplus=1)
    stacked = np.vstack([schema.encode(moved.iloc[i : i + 50]) for i in range(0, N, 50)])
    np.testing.assert_array_equal(stacked, schema.encode(frame))
    assert schema.encode(frame.iloc[:0]).shape == (0, len(schema.columns))


@pytest.mark.parametrize("drop", ["none", "first"])
def test_sparse_and_dense_matrices_are_equal(table, drop):
    schema = infer_types(table_statistics(pd.DataFrame(table)), drop=drop)
    X = schema.encode(pl.DataFrame(table), sparse=True)
    assert isinstance(X, sparse.csr_array)
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), schema.encode(pl.DataFrame(table), sparse=False))
    assert X.nnz == np.count_nonzero(X.toarray())


def test_many_levels_are_sparse_by_default():
    frame = pd.DataFrame({"c": [f"v{i % 60:02d}" for i in range(1200)]})
    X = infer_types(table_statistics(frame)).encode(frame)
    assert isinstance(X, sparse.csr_array)
    np.testing.assert_array_equal(X.toarray(), OneHotEncoder().fit_transform(frame).toarray())


def test_the_table_can_be_recovered_from_its_numbers(table):
    frame = pd.DataFrame(table)
    schema = infer_types(table_statistics(frame))
    X = pd.DataFrame(schema.encode(frame), columns=schema.columns)
    pd.testing.assert_series_equal(X["age"], frame["age"].fillna(frame["age"].mean()))
    assert (X["age is missing"] == frame["age"].isna()).all()
    levels = ["red", "blue", "green", "(missing)"]
    back = X[[f"colour={level}" for level in levels]].idxmax(axis=1).str.removeprefix("colour=")
    assert (back == frame["colour"].fillna("(missing)")).all()
    charge = pd.to_numeric(frame["charge"], errors="coerce").rename("charge")
    pd.testing.assert_series_equal(X["charge"].where(X["charge is missing"] == 0), charge)
    assert (X["paid=Yes"] == (frame["paid"] == "Yes")).all()


def test_json_gives_an_equal_schema_and_identical_numbers_and_older_versions_are_read(table):
    frame = pd.DataFrame(table)
    schema = infer_types(table_statistics(frame), drop="first")
    restored = Schema.from_json(schema.to_json())
    assert restored == schema
    np.testing.assert_array_equal(restored.encode(frame), schema.encode(frame))
    older = json.loads(schema.to_json()) | {"version": 1}
    for column in older["columns"]:
        for field in ("spelling", "unit", "order", "note"):
            column.pop(field, None)
    assert Schema.from_json(json.dumps(older)).columns == schema.columns


def test_the_description_has_a_line_for_each_column(table):
    report = infer_types(table_statistics(pd.DataFrame(table))).describe().splitlines()
    assert [line.split()[0] for line in report[1:-1]] == list(table)
    assert report[-1] == "8 columns of 120 rows become 20 columns of numbers; 1 dropped"
    assert max(map(len, report)) < 160
    assert report[-2].startswith("key ")
    assert report[-2].split("   ")[2].strip() == "all values are distinct (120 of 120)"
    assert report[-2].endswith(" dropped")


def german():
    """Sixty rows in the format of a German spreadsheet, and the same rows in English format."""
    rng = np.random.default_rng(5)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 60), unit="D")
    amounts = rng.lognormal(6, 2, 60).round(2)
    marks = str.maketrans({",": ".", ".": ","})
    table = pd.DataFrame(
        {
            "Umsatz": [f"{amount:,.2f} €".translate(marks) for amount in amounts],
            "Rabatt": [f"{i % 7},5 %" for i in range(60)],
            "Eintritt": days.strftime("%d.%m.%Y"),
        }
    )
    return table, amounts, days


def test_a_german_table_has_the_numbers_of_an_english_one():
    table, amounts, days = german()
    english = pd.DataFrame({"Umsatz": amounts, "Rabatt": np.arange(60) % 7 + 0.5, "Eintritt": days})
    schema, plain = (infer_types(table_statistics(each)) for each in (table, english))
    assert schema.columns == plain.columns
    np.testing.assert_allclose(schema.encode(table), plain.encode(english), rtol=1e-14)
    np.testing.assert_allclose(schema.encode(english), plain.encode(english), rtol=1e-14)
    given = infer_types(table_statistics(table), {"Umsatz": "number", "Eintritt": "date"})
    assert given == schema
    assert "written like 1.234,5 €" in schema.describe()
    assert "day first" in schema.describe()


def test_a_restored_schema_reads_numbers_in_the_format_of_training():
    table, _, days = german()
    schema = infer_types(table_statistics(table))
    restored = Schema.from_json(schema.to_json())
    one = pd.DataFrame({"Umsatz": ["1.188"], "Rabatt": ["3"], "Eintritt": ["02.01.2020"]})
    X = restored.encode(one)
    assert X[0, list(schema.columns).index("Umsatz")] == 1188
    first_day = pd.Timestamp(days.min())
    assert X[0, list(schema.columns).index("Eintritt: days")] == (pd.Timestamp("2020-01-02") - first_day).days
    assert restored.text_types == {"Umsatz": "text", "Rabatt": "text", "Eintritt": "text"}


def encode(plan, values):
    return Schema((plan,), 1).encode_counted(pd.DataFrame({"c": pd.Series(values, dtype=object)}), sparse=False)


def number(**changes):
    return NumberPlan("c", "number", "", **{"mean": 5.0, "indicator": False, "constant": False, "words": {}} | changes)


def test_missing_numbers_are_set_to_the_mean_and_flagged():
    X, unseen = encode(number(indicator=True), [1, None])
    assert X.tolist() == [[1, 0], [5, 1]]
    assert unseen == {}
    X, unseen = encode(number(), [1, None])
    assert X.tolist() == [[1], [5]]
    assert unseen == {"c": {"(missing)": 1}}


def test_yes_and_no_are_one_and_zero_and_other_words_unseen():
    plan = number(words={"No": 0.0, "Yes": 1.0}, mean=0.25)
    assert plan.names == ("c=Yes",)
    X, unseen = encode(plan, ["Yes", "No", "Perhaps", None])
    assert X.tolist() == [[1], [0], [0.25], [0.25]]
    assert unseen == {"c": {"Perhaps": 1, "(missing)": 1}}
    assert encode(plan, [True, False])[0].tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("changes", "places", "unseen"),  # in which of the columns each row has its one
    [
        ({}, ["a", "b", "", "", ""], {"r": 1, "z": 1, "(missing)": 1}),
        ({"pooled": ("r",)}, ["a", "b", "(other)", "(other)", ""], {"z": 1, "(missing)": 1}),
        ({"missing": True}, ["a", "b", "", "", "(missing)"], {"r": 1, "z": 1}),
        ({"reference": "a"}, ["", "b", "", "", ""], {"r": 1, "z": 1, "(missing)": 1}),
        ({"pooled": ("r",), "missing": True}, ["a", "b", "(other)", "(other)", "(missing)"], {"z": 1}),
    ],
)
def test_levels_rare_unseen_and_missing(changes, places, unseen):
    options = {"levels": ("a", "b"), "pooled": (), "missing": False, "reference": ""} | changes
    plan = CategoryPlan("c", "categorical", "", **options)
    columns = list(dict.fromkeys(place for place in places if place))
    assert plan.names == tuple(f"c={column}" for column in columns)
    X, got = encode(plan, ["a", "b", "r", "z", None])
    assert X.tolist() == [[float(place == column) for column in columns] for place in places]
    assert got == {"c": unseen}


def test_dates_are_days_and_points_on_circles():
    moments = pd.date_range("2023-12-30 05:00", periods=500, freq="31h")
    plan = DatePlan(
        "c", "date", "", origin=0.0, mean=100.0, cycles=("month", "weekday", "hour"), indicator=True, constant=False
    )
    X, _ = encode(plan, [*moments, None])
    clock = {"month": (moments.month - 1) / 12, "weekday": moments.day_of_week / 7, "hour": moments.hour / 24}
    np.testing.assert_allclose(X[:-1, 0], (moments - pd.Timestamp(0)) / dt.timedelta(days=1), rtol=1e-14)
    for d, turn in enumerate(clock.values()):
        np.testing.assert_allclose(X[:-1, 1 + 2 * d], np.cos(2 * np.pi * turn), atol=1e-9)
        np.testing.assert_allclose(X[:-1, 2 + 2 * d], np.sin(2 * np.pi * turn), atol=1e-9)
    assert X[-1].tolist() == [100, 0, 0, 0, 0, 0, 0, 1]
    assert not X[:-1, -1].any()
    assert plan.names[0] == "c: days"
    assert plan.names[-2:] == ("c: hour (sin)", "c is missing")


ZIP_CODES = [f"{i:05d}" for i in range(0, 300)]


def zips(rng, n=3000, levels=ZIP_CODES):
    return pd.DataFrame({"zip": rng.choice(np.array(levels), n), "size": rng.normal(size=n)})


def splitmix(x):
    """SplitMix64 (Steele 2014) in Python integers. It must never change, because saved models depend on it."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def test_hashes_do_not_depend_on_the_process():
    table = pd.DataFrame({"zip": ["07030", "é", "10001"]})
    plan = HashPlan("zip", "categorical", "", n_columns=1000, missing=False, dropped=False)
    found = Schema((plan,), 3).encode(table, sparse=False).argmax(axis=1)
    assert found.tolist() == [splitmix(zlib.crc32(text.encode())) % 1000 for text in table["zip"]]


def test_without_collisions_hashing_equals_one_hot_encoding(rng):
    table = zips(rng, levels=ZIP_CODES[:150])
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
