"""One schema, any library, any batch, saved and restored: the same numbers."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder

from separatrix.exceptions import DataError
from separatrix.table import Schema, infer_types, table_statistics

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


LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "pandas categorical": lambda c: pd.DataFrame(c).astype({"colour": "category"}),
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "record batch": lambda c: pa.RecordBatch.from_pydict(c),
}


@pytest.mark.parametrize("fitted_on", LIBRARIES)
@pytest.mark.parametrize("encoding", LIBRARIES)
def test_every_library_gives_the_same_numbers(table, fitted_on, encoding):
    expected = infer_types(table_statistics(pd.DataFrame(table)))
    schema = infer_types(table_statistics(LIBRARIES[fitted_on](table)))
    assert schema.columns == expected.columns
    np.testing.assert_array_equal(schema.encode(LIBRARIES[encoding](table)), expected.encode(pd.DataFrame(table)))


def test_rows_encoded_in_batches_columns_reordered_and_others_added_are_the_same(table):
    frame = pd.DataFrame(table)
    schema = infer_types(table_statistics(frame))
    moved = frame[frame.columns[::-1]].assign(surplus=1)
    stacked = np.vstack([schema.encode(moved.iloc[i : i + 50]) for i in range(0, N, 50)])
    np.testing.assert_array_equal(stacked, schema.encode(frame))
    assert schema.encode(frame.iloc[:0]).shape == (0, len(schema.columns))


@pytest.mark.parametrize("drop", ["none", "first"])
def test_sparse_and_dense_are_one_matrix(table, drop):
    schema = infer_types(table_statistics(pd.DataFrame(table)), drop=drop)
    X = schema.encode(pl.DataFrame(table), sparse=True)
    assert isinstance(X, sparse.csr_array)
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), schema.encode(pl.DataFrame(table), sparse=False))
    assert X.nnz == np.count_nonzero(X.toarray())


def test_many_levels_are_sparse_by_themselves():
    frame = pd.DataFrame({"c": [f"v{i % 60:02d}" for i in range(1200)]})
    schema = infer_types(table_statistics(frame))
    X = schema.encode(frame)
    assert schema.is_sparse
    assert sparse.issparse(X)
    one_hot = OneHotEncoder(categories=[[name.removeprefix("c=") for name in schema.columns]])
    np.testing.assert_array_equal(X.toarray(), one_hot.fit_transform(frame[["c"]]).toarray())


def test_groups_name_the_columns_that_came_from_each(table):
    schema = infer_types(table_statistics(pd.DataFrame(table)))
    assert tuple(schema.groups) == schema.inputs
    assert [d for positions in schema.groups.values() for d in positions] == list(range(len(schema.columns)))
    for name, positions in schema.groups.items():
        assert all(schema.columns[d].startswith(name) for d in positions)
    assert "key" not in schema.groups


def test_numbers_come_back(table):
    frame = pd.DataFrame(table)
    schema = infer_types(table_statistics(frame))
    X = pd.DataFrame(schema.encode(frame), columns=schema.columns)
    pd.testing.assert_series_equal(X["age"], frame["age"].fillna(frame["age"].mean()))
    assert (X["age is missing"] == frame["age"].isna()).all()
    levels = ["red", "blue", "green", "(missing)"]
    back = X[[f"colour={level}" for level in levels]].idxmax(axis=1).str.removeprefix("colour=")
    assert (back == frame["colour"].fillna("(missing)")).all()
    assert (
        X["charge"].where(X["charge is missing"] == 0) == pd.to_numeric(frame["charge"], errors="coerce")
    ).sum() == (X["charge is missing"] == 0).sum()
    assert (X["paid=Yes"] == (frame["paid"] == "Yes")).all()


def test_json_gives_an_equal_schema_and_identical_numbers(table):
    frame = pd.DataFrame(table)
    schema = infer_types(table_statistics(frame), drop="first")
    restored = Schema.from_json(schema.to_json())
    assert restored == schema
    assert restored.to_json() == schema.to_json()
    np.testing.assert_array_equal(restored.encode(frame), schema.encode(frame))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda s: "{", "not a saved table schema"),
        (lambda s: "[" * 100_000, "not a saved table schema"),
        (lambda s: "[]", "not a saved table schema"),
        (lambda s: json.dumps(json.loads(s) | {"version": 4}), "version 4; this library reads up to 3"),
        (lambda s: json.dumps(json.loads(s) | {"columns": 3}), "no list of columns"),
        (lambda s: s.replace('"type": "number"', '"type": "os.system"'), "is not a column"),
        (lambda s: s.replace('"indicator": true', '"indicator": "yes"'), "'indicator' of column 'age' is 'yes'"),
        (lambda s: s.replace('"mean": ', '"mean": NaN, "m": '), "'mean' of column 'age' is nan"),
        (lambda s: s.replace('"weekday"', '"moon"'), "unknown cycles"),
        (lambda s: s.replace('"levels"', '"lvls"'), "'levels' of column 'colour' is None"),
    ],
)
def test_a_damaged_or_later_file_is_refused(table, damage, said):
    text = infer_types(table_statistics(pd.DataFrame(table))).to_json()
    with pytest.raises(DataError, match=said):
        Schema.from_json(damage(text))


def test_missing_and_changed_columns_are_named():
    schema = infer_types(table_statistics(pd.DataFrame({"Age": [1.5, 2.0, 3.0], "sex": ["m", "f", "m"]})))
    with pytest.raises(DataError, match="no column 'Age'. Did you mean 'age'"):
        schema.encode(pd.DataFrame({"age": [1], "sex": ["m"]}))
    with pytest.raises(DataError, match="'Age' holds 'old' in row 2 .* which is not a number"):
        schema.encode(pd.DataFrame({"Age": ["7", "old"], "sex": ["m", "m"]}))
    with pytest.raises(DataError, match="'sex' held categories .* now it holds dates"):
        schema.encode(pd.DataFrame({"Age": [1], "sex": pd.to_datetime(["2024-01-01"])}))


def test_names_that_would_coincide_are_refused():
    table = pd.DataFrame({"a": ["b", "c", "b"], "a=b": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match="Two columns would both become 'a=b'"):
        infer_types(table_statistics(table))


def test_the_report_has_a_line_for_each_column_and_fits_a_screen(table):
    report = infer_types(table_statistics(pd.DataFrame(table))).describe().splitlines()
    assert [line.split()[0] for line in report[1:-1]] == list(table)
    assert report[-1] == "8 columns of 120 rows become 20 columns of numbers; 1 dropped"
    assert max(map(len, report)) < 160
    assert report[-2].startswith("key ")
    assert "nearly all values are different (120 of 120)" in report[-2]
    assert report[-2].endswith(" dropped")


def german():
    """Sixty rows as a German spreadsheet exports them, and what they mean."""
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


def test_a_batch_is_read_as_the_whole_was_also_from_a_file():
    table, _, days = german()
    schema = infer_types(table_statistics(table))
    restored = Schema.from_json(schema.to_json())
    assert restored == schema
    assert json.loads(schema.to_json())["version"] == 3
    one = pd.DataFrame({"Umsatz": ["1.188"], "Rabatt": ["3"], "Eintritt": ["02.01.2020"]})
    X = restored.encode(one)
    assert X[0, list(schema.columns).index("Umsatz")] == 1188
    first_day = pd.Timestamp(days.min())
    assert X[0, list(schema.columns).index("Eintritt: days")] == (pd.Timestamp("2020-01-02") - first_day).days
    assert restored.text_types == {"Umsatz": "text", "Rabatt": "text", "Eintritt": "text"}


def test_files_of_the_first_version_are_read():
    schema = infer_types(table_statistics(pd.DataFrame({"a": [1.5, 2.0], "b": ["x", "y"]})), min_count=1)
    saved = json.loads(schema.to_json())
    assert saved["version"] == 1
    for column in saved["columns"]:
        for field in ("spelling", "unit", "note"):
            column.pop(field, None)
    assert Schema.from_json(json.dumps(saved)) == schema


@pytest.mark.parametrize(
    ("old", "new", "said"), [("1.234,5", "roman", "unknown spelling"), ("day first", "x", "order")]
)
def test_an_unknown_style_is_damage(old, new, said):
    text = infer_types(table_statistics(german()[0])).to_json()
    with pytest.raises(DataError, match=said):
        Schema.from_json(text.replace(f'"{old}"', f'"{new}"'))


def test_a_bad_value_is_found_by_its_row_in_the_whole_table():
    schema = infer_types(table_statistics(pd.DataFrame({"a": [1.5, 2.0, 3.0]})))
    bad = pd.DataFrame({"a": ["1", "n.k."]})
    for first_row, row in [(0, "2"), (16_384, "16,386")]:
        with pytest.raises(DataError, match=rf"'n\.k\.' in row {row} \(the first is row 1\), which is not a number"):
            schema.encode(bad, first_row=first_row)
    with pytest.raises(DataError, match="infinity in 1 of 2 rows, the first in row 1,001 "):
        schema.encode(pd.DataFrame({"a": [np.inf, 1]}), first_row=1000)
