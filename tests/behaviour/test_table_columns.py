"""Columns of every library are read by their values, and kinds of batches join."""

import datetime as dt
import math
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.table import (
    Kind,
    Schema,
    cast_texts,
    encode_target,
    infer_types,
    join,
    kind_of_texts,
    kind_of_values,
    open_batch,
    read_values,
    table_statistics,
    values_to_arrow,
)
from separatrix.table.text import read_numbers, tidy

NUMBER_TEXTS = ["1", "-2", "2.5", "1e3", " 4 ", "0", "0.5", "+6", "99999999999999999999"]
OTHER_TEXTS = ["3,5", "07", "-07.5", "0x1F", "true", "FALSE", "2024-01-31", "2024-01-31 10:20", "word"]
TEXT_CELLS = st.none() | st.sampled_from([*NUMBER_TEXTS, *OTHER_TEXTS, "NA", "?", " null ", "nan"])


def strings(values):
    return pa.array(values, pa.string())


@given(cells=st.lists(TEXT_CELLS, max_size=7), cut=st.integers(0, 7), comma=st.booleans())
def test_the_kind_of_texts_does_not_depend_on_batches(cells, cut, comma):
    whole = kind_of_texts(strings(cells), Kind.NOTHING, comma=comma)
    first = kind_of_texts(strings(cells[:cut]), Kind.NOTHING, comma=comma)
    assert kind_of_texts(strings(cells[cut:]), first, comma=comma) is whole
    assert join(first, kind_of_texts(strings(cells[cut:]), Kind.NOTHING, comma=comma)) is whole
    converted = cast_texts(strings(cells), whole, comma=comma)
    assert converted.type == whole.type


@given(cells=st.lists(TEXT_CELLS.filter(bool), min_size=1, max_size=7))
def test_arrow_casts_agree_with_the_plain_spelling(cells):
    numbers = read_numbers(cells)
    kind = kind_of_texts(strings(cells), Kind.NOTHING)
    is_odd = [math.isnan(number) and bool(cell) for number, cell in zip(numbers, tidy(cells), strict=True)]
    if any(is_odd) or all(map(math.isnan, numbers)):
        assert kind not in (Kind.INTEGER, Kind.LONG, Kind.NUMBER)
    else:
        assert kind in (Kind.INTEGER, Kind.LONG, Kind.NUMBER)
        found = [math.nan if value is None else float(value) for value in cast_texts(strings(cells), kind).to_pylist()]
        assert found == pytest.approx(numbers, nan_ok=True)


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "2"], Kind.INTEGER, [1, 2]),
        (["0", "1"], Kind.INTEGER, [0, 1]),
        (["1", "2.5", "?"], Kind.NUMBER, [1, 2.5, None]),
        (["1", "2,5"], Kind.COMMA, [1, 2.5]),
        (["1.5", "2,5"], Kind.TEXT, ["1.5", "2,5"]),
        (["True", "false"], Kind.BOOLEAN, [True, False]),
        (["true", "1"], Kind.TEXT, ["true", "1"]),
        (["07030", "10115"], Kind.TEXT, ["07030", "10115"]),
        (["x", "NA"], Kind.TEXT, ["x", "NA"]),
        (["99999999999999999999", "NA"], Kind.LONG, ["99999999999999999999", None]),
        (["99999999999999999999", "0.5"], Kind.NUMBER, [1e20, 0.5]),
        (["inf", "1"], Kind.TEXT, ["inf", "1"]),
        (["1e999", "1"], Kind.TEXT, ["1e999", "1"]),
    ],
)
def test_kinds_of_texts_by_example(cells, kind, values):
    assert kind_of_texts(strings(cells), Kind.NOTHING, comma=True) is kind
    assert cast_texts(strings(cells), kind).to_pylist() == values


NOON = dt.datetime(2024, 1, 2, 12)


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ([1, None, 2.5], Kind.NUMBER, [1.0, None, 2.5]),
        ([2**70, 1], Kind.LONG, [str(2**70), "1"]),
        ([2**70, 0.5], Kind.NUMBER, [2.0**70, 0.5]),
        ([-(10**400), 0.5], Kind.NUMBER, [-math.inf, 0.5]),
        ([True, None], Kind.BOOLEAN, [True, None]),
        ([True, 1], Kind.TEXT, ["true", "1"]),
        ([1, "x", 2.5, None, ""], Kind.TEXT, ["1", "x", "2.5", None, None]),
        ([{"k": [1, "é"]}], Kind.TEXT, ['{"k": [1, "é"]}']),
        ([b"\x01\xff"], Kind.TEXT, ["01ff"]),
        ([dt.date(2024, 1, 2), NOON], Kind.TIME, [dt.datetime(2024, 1, 2), NOON]),
        (["2024-01-02", "", None], Kind.DATE, [dt.date(2024, 1, 2), None, None]),
    ],
)
def test_kinds_of_values_by_example(cells, kind, values):
    assert kind_of_values(cells, Kind.NOTHING, iso=True) is kind
    assert values_to_arrow(cells, kind).to_pylist() == values


DAY = (dt.date(2024, 2, 29) - dt.date(1970, 1, 1)).days
DATE, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 6)
BEYOND, BEYOND_DAYS = [2**62, -(2**62), 0, None], [np.inf, -np.inf, 0, None]  # microseconds that exceed 64 bits
FAR_DATES, FAR_DAYS = [dt.date(1, 1, 1), dt.date(9999, 12, 31), None], [-719162, 2932896, None]


def series(native):
    return nw.from_native(native, series_only=True)


def objects(*values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


NUMBERS = {
    "pandas float": (pd.Series([1.0, np.nan, 3.0]), Kind.NUMBER, [1, None, 3]),
    "pandas Int64": (pd.Series([1, None, 3], dtype="Int64"), Kind.NUMBER, [1, None, 3]),
    "pandas arrow": (pd.Series([1, None, 3], dtype="int64[pyarrow]"), Kind.NUMBER, [1, None, 3]),
    "pandas objects": (pd.Series([1, None, Decimal("3")], dtype=object), Kind.NUMBER, [1, None, 3]),
    "pandas boolean": (pd.Series([True, None, False], dtype="boolean"), Kind.BOOLEAN, [1, None, 0]),
    "pandas bool objects": (pd.Series([True, pd.NA, False], dtype=object), Kind.BOOLEAN, [1, None, 0]),
    "pandas bool and int": (pd.Series([True, 2, None], dtype=object), Kind.NUMBER, [1, 2, None]),
    "pandas dates": (pd.Series([pd.Timestamp(MOMENT), pd.NaT]), Kind.DATE, [DAY + 0.25, None]),
    "pandas date objects": (pd.Series([DATE, None, pd.NaT], dtype=object), Kind.DATE, [DAY, None, None]),
    "pandas durations": (pd.Series([dt.timedelta(hours=36), pd.NaT]), Kind.DURATION, [1.5, None]),
    "pandas sparse": (pd.Series(pd.arrays.SparseArray([0.0, 2.0])), Kind.NUMBER, [0, 2]),
    "polars int": (pl.Series([1, None, 3]), Kind.NUMBER, [1, None, 3]),
    "polars nan and null": (pl.Series([1.0, None, float("nan")]), Kind.NUMBER, [1, None, None]),
    "polars uint64": (pl.Series([2**64 - 1, None], dtype=pl.UInt64), Kind.NUMBER, [2.0**64, None]),
    "polars decimal": (pl.Series([Decimal("1.5"), None]), Kind.NUMBER, [1.5, None]),
    "polars date": (pl.Series([DATE, None]), Kind.DATE, [DAY, None]),
    "polars ns": (pl.Series([MOMENT, None], dtype=pl.Datetime("ns")), Kind.DATE, [DAY + 0.25, None]),
    "polars duration": (pl.Series([dt.timedelta(days=2)]), Kind.DURATION, [2]),
    "arrow int": (pa.chunked_array([[1, None], [3]]), Kind.NUMBER, [1, None, 3]),
    "arrow bool": (pa.chunked_array([[True, None]]), Kind.BOOLEAN, [1, None]),
    "arrow date64": (pa.chunked_array([pa.array([DATE, None], pa.date64())]), Kind.DATE, [DAY, None]),
    "arrow seconds": (pa.chunked_array([pa.array([MOMENT], pa.timestamp("s"))]), Kind.DATE, [DAY + 0.25]),
    "pandas far dates": (pd.Series(FAR_DATES), Kind.DATE, FAR_DAYS),
    "polars far dates": (pl.Series(FAR_DATES), Kind.DATE, FAR_DAYS),
    "arrow far dates": (pa.chunked_array([pa.array(FAR_DATES)]), Kind.DATE, FAR_DAYS),
    "arrow seconds beyond": (pa.chunked_array([pa.array(BEYOND, pa.timestamp("s"))]), Kind.DATE, BEYOND_DAYS),
    "arrow days beyond": (
        pa.chunked_array([pa.array([2**31 - 1, -(2**31), 0, None], pa.date32())]),
        Kind.DATE,
        BEYOND_DAYS,
    ),
    "arrow durations beyond": (pa.chunked_array([pa.array(BEYOND, pa.duration("s"))]), Kind.DURATION, BEYOND_DAYS),
    "pandas seconds beyond": (pd.Series(np.array([*BEYOND[:3], "NaT"], "M8[s]")), Kind.DATE, BEYOND_DAYS),
    "polars milliseconds beyond": (pl.Series(BEYOND).cast(pl.Datetime("ms")), Kind.DATE, BEYOND_DAYS),
    "numpy years beyond": (np.array([*BEYOND[:3], "NaT"], "M8[Y]"), Kind.DATE, BEYOND_DAYS),
    "numpy weeks": (np.array(["1970-01-08", "NaT"], "M8[W]"), Kind.DATE, [7, None]),
    "numpy NaT": (np.array(["NaT"], "M8[D]"), Kind.NOTHING, [None]),
    "pandas arrow dates": (pd.Series([DATE, None], dtype="date32[pyarrow]"), Kind.DATE, [DAY, None]),
    "pandas arrow nulls": (pd.Series([None, None], dtype="date32[pyarrow]"), Kind.NOTHING, [None, None]),
    "numpy big-endian": (np.array([MOMENT, "NaT"], ">M8[us]"), Kind.DATE, [DAY + 0.25, None]),
    "numpy int": (np.array([1, 2]), Kind.NUMBER, [1, 2]),
    "numpy datetime": (np.array([MOMENT, "NaT"], "datetime64[ns]"), Kind.DATE, [DAY + 0.25, None]),
    "numpy timedelta": (np.array([36, "NaT"], "timedelta64[h]"), Kind.DURATION, [1.5, None]),
    "numpy objects": (objects(np.datetime64(DATE), None), Kind.DATE, [DAY, None]),
    "huge int": (objects(10**30, 2), Kind.NUMBER, [1e30, 2]),
    "nothing, pandas": (pd.Series([None, np.nan], dtype=object), Kind.NOTHING, [None, None]),
    "nothing, polars": (pl.Series([None, None]), Kind.NOTHING, [None, None]),
    "nothing, arrow": (pa.chunked_array([pa.nulls(2)]), Kind.NOTHING, [None, None]),
    "blank text": (pd.Series(["", " ", None]), Kind.NOTHING, [None, None, None]),
    "no rows": (pl.Series([], dtype=pl.String), Kind.NOTHING, []),
    "no rows of floats": (np.empty(0), Kind.NOTHING, []),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_dates_and_missing_values_of_every_library(case):
    native, kind, expected = NUMBERS[case]
    values = read_values(native if isinstance(native, np.ndarray) else series(native))
    assert values.kind is kind
    np.testing.assert_array_equal(values.numbers, np.array([np.nan if v is None else v for v in expected], float))
    assert values.missing.tolist() == [v is None for v in expected]


TEXTS = {
    "pandas": pd.Series(["b", None, "a", " ", "b"]),
    "pandas object": pd.Series(["b", np.nan, "a", pd.NA, "b"], dtype=object),
    "pandas categorical": pd.Series(["b", None, "a", "", "b"], dtype="category"),
    "polars": pl.Series(["b", None, "a", "", "b"]),
    "polars categorical": pl.Series(["b", None, "a", None, "b"], dtype=pl.Categorical),
    "polars enum": pl.Series(["b", None, "a", None, "b"], dtype=pl.Enum(["a", "b", "c"])),
    "arrow": pa.chunked_array([["b", None], ["a", "", "b"]]),
    "arrow dictionary": pa.chunked_array([pa.array(["b", None, "a", None, "b"]).dictionary_encode()]),
    "numpy": np.array(["b", "", "a", "", "b"]),
    "numpy objects": objects("b", pd.NaT, "a", float("nan"), "b"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text_of_every_library(case):
    native = TEXTS[case]
    values = read_values(native if isinstance(native, np.ndarray) else series(native))
    assert values.kind is Kind.TEXT
    assert values.texts == ("b", "a")
    assert values.codes.tolist() == [0, -1, 1, -1, 0]
    assert values.declared == any(word in case for word in ("categorical", "enum", "dictionary"))


def test_hours_are_local():
    utc = pd.Series(pd.to_datetime(["2024-02-29 23:00"], utc=True))
    for native in (utc.dt.tz_convert("Asia/Tokyo"), pl.Series(utc.tolist()).dt.convert_time_zone("Asia/Tokyo")):
        assert read_values(series(native)).numbers.tolist() == [pytest.approx(DAY + 1 + 8 / 24)]


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, b"x", 1j, dt.time(3), np.arange(3), pd.Period("2024-01")])
def test_other_values_have_an_example(value):
    values = read_values(objects(value, None))
    assert values.kind is Kind.OTHER
    assert values.missing.tolist() == [False, True]
    assert values.example


TWO_COLUMNS = {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pl.DataFrame, pa.table, lambda c: pa.RecordBatch.from_pydict(c), lambda c: pa.table(c).to_reader()],
    ids=["pandas", "polars", "arrow table", "record batch", "arrow stream"],
)
def test_tables_of_every_library_keep_names_order_and_values(make):
    batch = open_batch(make(TWO_COLUMNS))
    assert list(batch.columns) == ["a", "b"]
    assert batch.n_rows == 2
    assert read_values(batch.columns["a"]).numbers.tolist() == [1, 2]
    assert read_values(batch.columns["b"]).texts == ("x", "y")
    assert open_batch(batch) is batch


@pytest.mark.parametrize("table", [np.array([[1.0, 2.0]]), [[1, "2"]], np.ma.array([[1, 2]], mask=[[0, 1]])])
def test_arrays_and_lists_have_numbered_columns(table):
    batch = open_batch(table)
    assert list(batch.columns) == ["x0", "x1"]
    assert read_values(batch.columns["x0"]).numbers.tolist() == [1]


BEYOND = [2**60, 2**60 + 1, 2**60]  # float64 rounds them to the same number
LONG_COLUMNS = {
    "numpy": np.array(BEYOND),
    "pandas": pd.Series([*BEYOND, None], dtype="Int64"),
    "pandas with Arrow": pd.Series([*BEYOND, None], dtype="int64[pyarrow]"),
    "pandas objects": pd.Series([2**70, 2**70 + 1, 2**70, None], dtype=object),
    "polars": pl.Series([*BEYOND, None]),
    "polars uint64": pl.Series([2**63, 2**63 + 1, 2**63, None], dtype=pl.UInt64),
    "Arrow": pa.chunked_array([pa.array([*BEYOND, None])]),
    "Arrow uint64": pa.chunked_array([pa.array([2**63, 2**63 + 1, 2**63], pa.uint64())]),
    "Arrow decimal": pa.chunked_array([pa.array([Decimal(2**70), Decimal(2**70 + 1), Decimal(2**70)])]),
    "text": pd.Series([str(2**70), str(2**70 + 1), str(2**70)]),
}


@pytest.mark.parametrize("column", LONG_COLUMNS.values(), ids=LONG_COLUMNS)
def test_whole_numbers_beyond_float64_keep_their_digits_as_labels_and_levels(column):
    assert encode_target(column).codes.tolist() == [0, 1, 0]
    assert len(set(encode_target(column).classes.tolist())) == 2
    is_array = isinstance(column, np.ndarray)
    table = pd.DataFrame({"c": column}) if is_array else series(column).alias("c").to_frame().to_native()
    assert len(table_statistics(table).columns["c"].levels.counts) == 2
    plan = infer_types(table_statistics(table), {"c": "categorical"}, min_count=1).plans[0]
    np.testing.assert_array_equal(Schema((plan,), 3).encode(table, sparse=False)[:3, :2], [[1, 0], [0, 1], [1, 0]])


def test_counts_of_long_numbers_are_estimated_from_all_digits():
    numbers = 2**60 + np.arange(5000)
    first, rest, whole = (
        table_statistics(pd.DataFrame({"c": part}), max_distinct=2000).columns["c"].levels
        for part in (numbers[:3000], numbers[3000:], numbers)
    )
    assert first + rest == whole
    assert whole.n_distinct == pytest.approx(5000, rel=0.15)


def test_white_space_around_labels_is_ignored():
    target = encode_target(["yes", "yes ", "\u00a0no", "no\u3000", "\ufeffyes"])
    assert target.classes.tolist() == ["no", "yes"]
    assert target.codes.tolist() == [1, 1, 0, 0, 1]
    declared = pd.Series(["b ", "a", "b"], dtype=pd.CategoricalDtype(["b", "b ", "a"]))
    assert encode_target(declared).codes.tolist() == [0, 1, 0]


def test_labels_that_differ_only_in_case_have_a_note():
    target = encode_target(["Yes", "yes", "no", "YES"], name="churn")
    assert len(target.classes) == 4
    assert "'YES', 'Yes' and 'yes' of 'churn' differ only in case" in target.notes[0]
