"""Columns of Python values: kinds that do not depend on the batch, and their Arrow."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.table.kinds import Kind, join, kind_of_values, values_to_arrow

NOON = dt.datetime(2024, 1, 2, 12)
CELLS = st.sampled_from(
    [None, 1, -2, 2**70, 2.5, True, "", "x", "2024-01-01", "2024-01-01T10:00:00", [1], "NA", float("nan")]
)


@given(cells=st.lists(CELLS, max_size=7), cut=st.integers(0, 7), iso=st.booleans())
def test_the_kind_does_not_depend_on_how_rows_are_cut(cells, cut, iso):
    whole = kind_of_values(cells, Kind.NOTHING, iso=iso)
    first = kind_of_values(cells[:cut], Kind.NOTHING, iso=iso)
    assert kind_of_values(cells[cut:], first, iso=iso) is whole
    assert join(first, kind_of_values(cells[cut:], Kind.NOTHING, iso=iso)) is whole
    assert values_to_arrow(cells, whole).type == whole.type


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ([1, None, 2.5], Kind.NUMBER, [1.0, None, 2.5]),
        ([2**70, 1], Kind.NUMBER, [2.0**70, 1.0]),
        ([True, None], Kind.BOOLEAN, [True, None]),
        ([True, 1], Kind.TEXT, ["true", "1"]),
        ([1, "x", 2.5, None, ""], Kind.TEXT, ["1", "x", "2.5", None, None]),
        ([{"k": [1, "é"]}], Kind.TEXT, ['{"k": [1, "é"]}']),
        ([b"\x01\xff"], Kind.TEXT, ["01ff"]),
        ([dt.date(2024, 1, 2), NOON], Kind.TIME, [dt.datetime(2024, 1, 2), NOON]),
        (["2024-01-02", "", None], Kind.DATE, [dt.date(2024, 1, 2), None, None]),
    ],
)
def test_values_by_example(cells, kind, values):
    assert kind_of_values(cells, Kind.NOTHING, iso=True) is kind
    assert values_to_arrow(cells, kind).to_pylist() == values
