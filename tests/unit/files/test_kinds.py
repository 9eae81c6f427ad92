"""Kinds of text: a monoid, whose sum over batches is the kind of the whole; they agree with data.table."""

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.table.kinds import Kind, join, kind_of_type
from separatrix.table.kinds import cast_texts as convert
from separatrix.table.kinds import kind_of_texts as fitting
from separatrix.table.text import read_numbers

NUMBERS = ["1", "-2", "2.5", "1e3", " 4 ", "0", "0.5", "+6", "99999999999999999999"]
OTHERS = ["3,5", "07", "-07.5", "0x1F", "true", "FALSE", "2024-01-31", "2024-01-31 10:20", "word"]
CELLS = st.none() | st.sampled_from([*NUMBERS, *OTHERS, "NA", "?", " null ", "nan"])


def strings(values):
    return pa.array(values, pa.string())


@given(a=st.sampled_from(Kind), b=st.sampled_from(Kind), c=st.sampled_from(Kind))
def test_kinds_are_a_commutative_monoid(a, b, c):
    assert join(a, join(b, c)) is join(join(a, b), c)
    assert join(a, b) is join(b, a)
    assert join(a, a) is a
    assert join(a, Kind.NOTHING) is a


@given(cells=st.lists(CELLS, max_size=7), cut=st.integers(0, 7), comma=st.booleans())
def test_the_kind_does_not_depend_on_how_rows_are_cut(cells, cut, comma):
    whole = fitting(strings(cells), Kind.NOTHING, comma=comma)
    first = fitting(strings(cells[:cut]), Kind.NOTHING, comma=comma)
    assert fitting(strings(cells[cut:]), first, comma=comma) is whole
    assert join(first, fitting(strings(cells[cut:]), Kind.NOTHING, comma=comma)) is whole
    converted = convert(strings(cells), whole, comma=comma)
    assert converted.type == whole.type


@given(cells=st.lists(CELLS.filter(bool), min_size=1, max_size=7))
def test_numbers_are_what_data_table_reads_as_numbers(cells):
    numbers = read_numbers(cells)
    kind = fitting(strings(cells), Kind.NOTHING)
    if numbers is None or all(map(math.isnan, numbers)):
        assert kind not in (Kind.INTEGER, Kind.NUMBER)
    else:
        assert kind in (Kind.INTEGER, Kind.NUMBER)
        found = [math.nan if value is None else value for value in convert(strings(cells), kind).to_pylist()]
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
        (["99999999999999999999"], Kind.NUMBER, [1e20]),
        (["inf", "1"], Kind.NUMBER, [math.inf, 1.0]),
    ],
)
def test_kinds_by_example(cells, kind, values):
    assert fitting(strings(cells), Kind.NOTHING, comma=True) is kind
    assert convert(strings(cells), kind).to_pylist() == values


@pytest.mark.parametrize("gap", ["nan", "NA", "?", None])
def test_gaps_agree_with_every_kind(gap):
    for cell, kind in [("1", Kind.INTEGER), ("2.5", Kind.NUMBER), ("true", Kind.BOOLEAN), ("2024-01-31", Kind.DATE)]:
        before = fitting(strings([gap]), Kind.NOTHING)
        assert before is Kind.NOTHING
        assert fitting(strings([cell]), before) is fitting(strings([cell, gap]), Kind.NOTHING) is kind
        assert convert(strings([cell, gap]), kind).null_count == 1


def test_a_sliced_array_is_looked_at_where_it_begins():
    texts = strings(["007", "1", "20"])
    assert fitting(texts[1:], Kind.NOTHING) is Kind.INTEGER
    assert fitting(texts[:1], Kind.NOTHING) is Kind.TEXT


def test_a_caller_may_ask_for_a_type_of_arrow():
    assert kind_of_type(pa.int8()) is Kind.INTEGER
    assert kind_of_type(pa.dictionary(pa.int8(), pa.string())) is Kind.TEXT
    with pytest.raises(TypeError, match="no column of a text file can be read as"):
        kind_of_type(pa.list_(pa.int8()))
