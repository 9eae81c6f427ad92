import pyarrow as pa
import pyarrow.compute as pc
import pytest

from separatrix.exceptions import DataError
from separatrix.scanning.where import make_condition

BATCH = pa.record_batch({"a": [1, 2, None, 4], "b c": ["x", "y", "x", None], "d": [1.0, 2.0, 3.0, 4.0]})


class Typed:
    """As much of a table as a condition wants to know."""

    def __init__(self, batch):
        self.types, self.columns = batch.schema, tuple(batch.schema.names)

    def schema(self, columns):
        return pa.schema([self.types.field(name) for name in columns])


TABLE = Typed(BATCH)


def kept(where):
    return [row for batch in make_condition(where, TABLE).keep([BATCH]) for row in batch.column("d").to_pylist()]


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("a > 1", [2.0, 4.0]),
        ("a > 1 AND \"b c\" = 'y'", [2.0]),
        ("a IS NULL OR d IN (1, 4)", [1.0, 3.0, 4.0]),
        ("\"b c\" LIKE 'x%'", [1.0, 3.0]),
        ("a > 100", []),
        ("a > 1 -- a remark", [2.0, 4.0]),
        ("NULL", []),
        ("1 < 2", [1.0, 2.0, 3.0, 4.0]),
        (pc.field("a") > 1, [2.0, 4.0]),
        (pc.field("b c").is_null(), [4.0]),
    ],
    ids=str,
)
def test_rows_for_which_it_holds_stay_in_order_and_unknown_is_no(where, rows):
    assert kept(where) == rows


def test_sql_says_which_columns_it_needs():
    assert make_condition('a > 1 OR length("b c") = a', TABLE).columns == ("a", "b c")


@pytest.mark.parametrize(
    ("expression", "needed"),
    [
        (pc.field("a") > 1, ("a",)),
        ((pc.field("d") > 1) | (pc.field("b c") == "x"), ("b c", "d")),
        (pc.utf8_length(pc.field("b c")) > pc.field("a"), ("a", "b c")),
        (pc.scalar(True), ("a",)),  # something has to be looked at
    ],
    ids=str,
)
def test_an_expression_is_tried_to_see_which_it_needs(expression, needed):
    assert make_condition(expression, TABLE).columns == needed


def test_of_many_columns_too():
    many = Typed(pa.record_batch({f"x{i}": [1.0] for i in range(100)}))
    condition = make_condition((pc.field("x17") > 0) & (pc.field("x99") < pc.field("x0")), many)
    assert condition.columns == ("x0", "x17", "x99")


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ((pc.field("d") > 1.5) & ((pc.field("d") <= 3) | (pc.field("d") == 9)), True),
        (~(pc.field("d") > 1.5), False),  # true for NaN
        (pc.field("d") != 1.5, False),
        ((pc.field("d") > 1.5) == pc.scalar(False), False),
        (~(pc.field("a") > 1), True),  # whole numbers are never NaN
    ],
    ids=str,
)
def test_what_may_be_true_for_nan_is_not_held_against_statistics(expression, told):
    condition = make_condition(expression, TABLE)
    assert (condition.implies(TABLE.schema(condition.columns)) is expression) == told


def test_types_are_left_as_they_are():
    batch = pa.record_batch({"a": pa.array(["u", "v"]).dictionary_encode(), "b": pa.array([1, 2], pa.int8())})
    (out,) = make_condition("b > 1", Typed(batch)).keep([batch])
    assert out.schema == batch.schema


def test_columns_that_sql_cannot_tell_apart_are_refused_and_arrow_can():
    """DuckDB would take the first for both."""
    batch = pa.record_batch({"a": [1, 2, 3], "A": [9, 1, 9]})
    with pytest.raises(DataError, match=r"differ in case alone \(a, A\).*expression of Arrow"):
        make_condition("a > 1 AND A > 5", Typed(batch))
    (kept,) = make_condition((pc.field("a") > 1) & (pc.field("A") > 5), Typed(batch)).keep([batch])
    assert kept.column("a").to_pylist() == [3]
    (alone,) = make_condition("A > 5", Typed(batch)).keep([batch])
    assert alone.column("a").to_pylist() == [1, 3]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("aa > 1", "no column 'aa'. Did you mean 'a'"),
        ("a >", "is not understood"),
        ("sum(a) > 2", "is not understood.*aggregates"),
        ("row_number() OVER () = 1", "is not understood.*window"),
        ("a = 'word'", "is not understood"),
        ("abs(a) > 1 AND random() < 0.5", r"other rows in each pass.*random\(\).*hash\(id\)"),
        (3, "give a condition in SQL"),
        ("a", "is of type int64, neither true nor false. Compare it with something: a > 0"),
        (pc.field("b c") > 1, "is not understood"),
        (pc.field(1) == "x", "by its number.*Name it"),
    ],
    ids=str,
)
def test_what_is_no_condition_is_refused_with_its_text(where, said):
    with pytest.raises(DataError, match=f"(?s)where=.*{said}"):
        kept(where)
