"""Text becomes codes, whatever library holds it, and nothing else changes."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from separatrix.exceptions import DataError
from separatrix.generative.text import encode_text

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
def test_text_becomes_positions_in_the_sorted_categories(name):
    found = encode_text(TABLES[name])
    assert found.categories.keys() == {1}
    assert found.categories[1].tolist() == ["a", "b"]
    np.testing.assert_array_equal(as_floats(found.table), [[1.5, 1], [2.5, 0], [3.5, np.nan], [4.5, 1]])


@pytest.mark.parametrize("name", TABLES)
def test_known_categories_keep_their_codes_and_others_come_after_the_last(name):
    found = encode_text(TABLES[name], {1: np.array(["b", "c", "d"])})
    np.testing.assert_array_equal(as_floats(found.table)[:, 1], [0, 3, np.nan, 0])


def test_a_table_without_text_is_the_same_object():
    for X in (np.eye(2), pd.DataFrame({"a": [1.0]}), [[1.0]], np.eye(2).astype(object)):
        assert encode_text(X).table is X
        assert encode_text(X, {}).table is X


def test_the_table_given_is_not_changed():
    for name in ("pandas", "objects"):
        before = TABLES[name].copy()
        encode_text(TABLES[name])
        np.testing.assert_array_equal(np.asarray(TABLES[name], object)[:, 0], np.asarray(before, object)[:, 0])
        assert np.asarray(TABLES[name], object)[0, 1] == "b"


def test_numbers_where_text_was_are_refused_by_name():
    with pytest.raises(DataError, match="Column 'kind' held text when the model was fitted"):
        encode_text(pd.DataFrame({"size": [1.0], "kind": [3]}), {1: np.array(["a"])})
    with pytest.raises(DataError, match="Column 'x1' held text"):
        encode_text(np.eye(2), {1: np.array(["a"])})
    with pytest.raises(DataError, match="Column 'x0' held text"):
        encode_text(np.array([["a"], [3]], dtype=object), {0: np.array(["a"])})


def test_a_column_of_gaps_is_missing_everywhere():
    gaps = pl.DataFrame({"kind": [None, None]}, schema={"kind": pl.String})
    assert np.isnan(as_floats(encode_text(gaps).table)).all()
    known = {0: np.array(["a"])}
    assert np.isnan(as_floats(encode_text(np.array([[None], [np.nan]], dtype=object), known).table)).all()


def test_strings_among_other_objects_are_left_for_the_reader_to_refuse():
    mixed = np.array([["a"], [{"not": "a number"}]], dtype=object)
    assert encode_text(mixed).table is mixed
