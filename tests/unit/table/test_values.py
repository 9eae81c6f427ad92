"""A column of any library, read by its values."""

import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from separatrix.exceptions import DataError
from separatrix.table.kinds import Kind
from separatrix.table.text import DAY_FIRST, MONTH_FIRST
from separatrix.table.values import CellError, Values, read_values
from separatrix.table.values import merge_kinds as join

DAY = (dt.date(2024, 2, 29) - dt.date(1970, 1, 1)).days
DATE, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 6)


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
def test_numbers_dates_and_gaps_of_every_library(case):
    native, kind, expected = NUMBERS[case]
    values = read_values(native if isinstance(native, np.ndarray) else series(native), "c")
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
    "numpy objects": objects("b", None, "a", float("nan"), "b"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text_of_every_library(case):
    native = TEXTS[case]
    values = read_values(native if isinstance(native, np.ndarray) else series(native), "c")
    assert values.kind is Kind.TEXT
    assert values.texts == ("b", "a")
    assert values.codes.tolist() == [0, -1, 1, -1, 0]
    assert values.counted().tolist() == [2, 1]
    assert values.declared == any(word in case for word in ("categorical", "enum", "dictionary"))


def test_hours_are_those_of_the_local_clock():
    utc = pd.Series(pd.to_datetime(["2024-02-29 23:00"], utc=True))
    for native in (utc.dt.tz_convert("Asia/Tokyo"), pl.Series(utc.tolist()).dt.convert_time_zone("Asia/Tokyo")):
        assert read_values(series(native), "c").numbers.tolist() == [pytest.approx(DAY + 1 + 8 / 24)]


def test_categories_of_numbers_are_named_by_them():
    values = read_values(series(pd.Series(pd.Categorical([3, 1.5, None]))), "c")
    assert values.as_texts("c")[0] == ("3", "1.5")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (objects(1, "a"), r"'c' mixes numbers \(1\) with text \('a'\)"),
        (objects("a", None, True), r"'c' mixes text \('a'\) with true and false \(True\)"),
        (objects(DATE, 2.5), r"'c' mixes dates .* with numbers \(2.5\)"),
        (np.array([1.0, np.inf, -np.inf]), r"'c' holds infinity in 2 of 3 rows, the first in row 2 \("),
        (objects(1, Decimal("Infinity")), "'c' holds infinity in 1 of 2 rows"),
        (objects(10**400), "'c' holds a number of 401 digits"),
    ],
)
def test_columns_that_make_no_sense_are_named(column, said):
    with pytest.raises(DataError, match=said):
        read_values(column, "c")


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, b"x", 1j, dt.time(3), np.arange(3), pd.Period("2024-01")])
def test_other_things_are_kept_apart_with_an_example(value):
    values = read_values(objects(value, None), "c")
    assert values.kind is Kind.OTHER
    assert values.missing.tolist() == [False, True]
    assert values.example


def test_texts_are_read_as_numbers_or_dates_where_asked_and_else_blamed():
    numbers = read_values(objects("1.5", " ", "NA", "2"), "c")
    np.testing.assert_array_equal(numbers.as_numbers("c"), [1.5, np.nan, np.nan, 2])
    dates = read_values(objects("2024-02-29 06:00", None), "c")
    np.testing.assert_array_equal(dates.as_dates("c"), [DAY + 0.25, np.nan])
    with pytest.raises(DataError, match=r"'c' holds 'x' in row 3 .*, which is not a number"):
        read_values(objects("1", "", "x", "x"), "c").as_numbers("c")
    with pytest.raises(DataError, match=r"'c' holds '1' in row 1 .*, which is not a date like 2024-12-31"):
        read_values(objects("1"), "c").as_dates("c")


def test_texts_are_read_as_they_were_in_training():
    german = read_values(objects("1.188,62 €", None, "7"), "c")
    np.testing.assert_array_equal(german.as_numbers("c", "1.234,5", "€"), [1188.62, np.nan, 7])
    with pytest.raises(DataError, match=r"'1.188,62 €' in row 1 .*, which is not a number like 1 234.5 CHF as in"):
        german.as_numbers("c", "1 234.5", "CHF")
    np.testing.assert_array_equal(read_values(objects("1/2/1970", None), "c").as_dates("c", DAY_FIRST), [31, np.nan])
    with pytest.raises(DataError, match="not a date like 12/31/2024"):
        read_values(objects("25.12.2024"), "c").as_dates("c", MONTH_FIRST)


def test_a_row_is_counted_on_from_the_batches_before():
    with pytest.raises(CellError, match=r"'x' in row 3 ") as caught:
        read_values(objects("1", "", "x"), "c").as_numbers("c")
    assert (caught.value.row, str(caught.value.moved(16_384))) == (
        2,
        str(caught.value).replace("row 3 ", "row 16,387 "),
    )


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        (Kind.DATE, Values.as_numbers),
        (Kind.OTHER, Values.as_numbers),
        (Kind.NUMBER, Values.as_dates),
        (Kind.DATE, Values.as_texts),
    ],
)
def test_a_column_that_changed_its_kind_is_named(kind, read):
    with pytest.raises(DataError, match=rf"'c' held .* and now it holds {kind.value}"):
        read(Values(kind, np.zeros(2)), "c")


def test_join_is_a_commutative_associative_idempotent_partial_order():
    def joined(*kinds):
        total = Kind.NOTHING
        for kind in kinds:
            total = None if total is None else join(total, kind)
        return total

    for a in Kind:
        assert join(a, a) is a
        assert join(a, Kind.NOTHING) is a
        for b in Kind:
            assert join(a, b) is join(b, a)
            for c in Kind:
                assert joined(a, b, c) is joined(c, a, b)
