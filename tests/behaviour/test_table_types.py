"""Types of columns are inferred as a reader of the table would do it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import TableClassifier
from separatrix.exceptions import DataError
from separatrix.table import TableEncoder, infer_types, table_statistics
from separatrix.table.inference import reason_for_id

N = 200
ROW = np.arange(N)


def schema(table, overrides=None, **options):
    return infer_types(table_statistics(pd.DataFrame(table)), overrides, **options)


def plan_of(values, **options):
    (plan,) = schema({"c": values}, **options).plans
    return plan


COLUMNS = {
    "floats": (ROW / 7, "number", ("c",)),
    "counts": (ROW % 9, "number", ("c",)),
    "zero and one": (ROW % 2, "boolean", ("c",)),
    "zero and one with gaps": (np.where(ROW % 5, ROW % 2, np.nan), "boolean", ("c", "c is missing")),
    "booleans": (ROW % 2 == 0, "boolean", ("c",)),
    "yes and no": (np.where(ROW % 3, "Yes", "No"), "boolean", ("c=Yes",)),
    "yes and no with gaps": (np.where(ROW % 3, "y", np.where(ROW % 2, "n", "")), "boolean", ("c=y", "c is missing")),
    "numbers as text": ([f"{i / 2}" for i in ROW[1:]] + [" "], "number", ("c", "c is missing")),
    "zero and one as text": ([str(i % 2) for i in ROW], "boolean", ("c",)),
    "postal codes": ([f"0{i % 9}" for i in ROW], "categorical", tuple(f"c=0{i}" for i in range(9))),
    "categories": (np.where(ROW % 3, "b", "a"), "categorical", ("c=b", "c=a")),
    "ties go by name": (np.where(ROW % 2, "b", "a"), "categorical", ("c=a", "c=b")),
    "categories with gaps": (np.where(ROW % 3, "b", ""), "categorical", ("c=b", "c=(missing)")),
    "rare levels": (["a"] * 150 + ["b"] * 47 + ["z", "y", "z"], "categorical", ("c=a", "c=b", "c=(other)")),
    "declared categories": (pd.Categorical([str(i) for i in ROW % 20]), "categorical", None),
    "most different but declared": (pd.Categorical([f"k{i % 120}" for i in ROW]), "categorical", None),
    "all levels rare": (pd.Categorical([f"k{i % 120}" for i in ROW]), "rare levels", ()),
    "ids": ([f"id{i}" for i in ROW], "id or name", ()),
    "names": ([f"name{i % 120}" for i in ROW], "id or name", ()),
    "row numbers": (ROW, "id", ()),
    "row numbers from one, shuffled": (np.random.default_rng(0).permutation(ROW) + 1, "id", ()),
    "years, one a row": (ROW + 1800, "number", ("c",)),
    "constant": (np.full(N, 3.5), "constant", ()),
    "constant text": (["x"] * N, "constant", ()),
    "constant spelled twice": (["1.0", "1"] * (N // 2), "constant", ()),
    "constant with gaps": ([7.0, None] * (N // 2), "number", ("c is missing",)),
    "one level with gaps": (["x", None] * (N // 2), "categorical", ("c=x", "c=(missing)")),
    "all missing": ([None] * N, "empty", ()),
    "lists": ([[1]] * N, "other", ()),
    "durations": (pd.to_timedelta(ROW % 50, unit="h"), "number", ("c",)),
    "one day": (pd.to_datetime(["2024-01-01"] * N), "constant", ()),
    "one day with gaps": (pd.to_datetime(["2024-01-01", None] * (N // 2)), "date", ("c is missing",)),
    "ten days": (pd.to_datetime(ROW % 10, unit="D"), "date", ("c: days",)),
    "hours of ten days": (pd.to_datetime(ROW, unit="h"), "date", ("c: days", "c: hour (cos)", "c: hour (sin)")),
    "days of a season": (
        pd.to_datetime(ROW % 99, unit="D"), "date", ("c: days", "c: weekday (cos)", "c: weekday (sin)")
    ),
    "days of years, as text": (
        pd.Series(pd.to_datetime(9 * ROW, unit="D")).dt.strftime("%Y-%m-%d"),
        "date",
        ("c: days", "c: month (cos)", "c: month (sin)", "c: weekday (cos)", "c: weekday (sin)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COLUMNS)
def test_types_by_example(case):
    values, kind, names = COLUMNS[case]
    options = {"min_count": {"most different but declared": 2, "all levels rare": 3}.get(case)}
    plan = plan_of(values, **options)
    assert plan.kind == kind
    assert names is None or plan.names == names
    assert plan.why


def test_overrides_replace_inferred_types():
    columns = {
        "zip": (ROW % 7, "categorical"),
        "year": ([f"{1900 + i}" for i in ROW % 30], "number"),
        "note": ([f"n{i}" for i in ROW], "drop"),
        "sex": (["m", "f"] * 100, "boolean"),
        "size": ([1, 2] * 100, "boolean"),
        "name": ([f"k{i % 150}" for i in ROW], "categorical"),
    }
    table = {name: values for name, (values, _) in columns.items()}
    made = schema(table | {"y": ROW % 2}, {name: kind for name, (_, kind) in columns.items()}, min_count=2, target="y")
    assert [plan.kind.replace("dropped", "drop") for plan in made.plans] == [kind for _, kind in columns.values()]
    assert made.groups["zip"] == range(7)
    assert {"zip=0", "sex=m", "size=2"} < set(made.columns)
    assert made.encode(pd.DataFrame(table), sparse=False)[:2, list(made.columns).index("size=2")].tolist() == [0, 1]
    assert made.notes == ("note was dropped: as requested.",)


def test_ambiguous_numbers_and_dates_have_a_note():
    table = {
        "thousands": [f"{i},{500 + i}" for i in range(1, 61)],
        "decimals": [f"{i}.{500 + i}" for i in range(1, 61)],
        "joined": [f"{i % 12 + 1:02}/{i % 9 + 1:02}/2024" for i in range(60)],
        "left": [f"{i % 28 + 1:02}/{i % 9 + 1:02}/2024" for i in range(60)],
    }
    made = schema(table)
    assert [plan.kind for plan in made.plans] == ["number", "number", "date", "date"]
    thousands, decimals, joined = made.notes
    assert "thousands was read as numbers like 1,234.5, up to 60560;" in thousands
    assert "decimals was read as numbers like 1234.5, up to 60.56;" in decimals
    assert "joined was read as dates with the day first; every date, such as 01/01/2024, could" in joined
    assert "month first" in joined
    assert "YYYY-MM-DD" in joined


def test_mostly_rare_levels_have_a_note():
    lumped = ["a"] * 300 + ["b"] * 300 + [f"sku{i % 250}" for i in range(500)]
    (note,) = schema({"sku": lumped}).notes
    assert note.startswith("sku: 250 of 252 levels, with 45 % of the rows, are rare (in fewer than 10 rows")
    assert schema({"sku": lumped}, hashing=64, max_levels=50).notes == ()
    assert schema({"sku": ["a"] * 300 + ["b"] * 300 + [f"s{i}" for i in range(50)]}).notes == ()


def test_years_of_two_digits_are_read_with_a_note():
    texts = {
        "german": ["31.12.99", "01.05.03", "28.02.12"],
        "american": ["12/31/99", "1/5/03", "2/28/12"],
        "numbered": ["99-12-31", "03-05-01", "12-02-28"],
    }
    table = pd.DataFrame({name: values * 10 for name, values in texts.items()})
    schema = infer_types(table_statistics(table))
    for plan in schema.plans:
        assert plan.kind == "date"
        assert plan.why.startswith("text that holds dates from 1999-12-31 to 2012-02-28")
        assert "1999 to 2012: 69 to 99 are read as 1969 to 1999, 00 to 68 as 2000 to 2068" in plan.note
    days = [schema.encode(table)[:3, list(schema.columns).index(f"{name}: days")] for name in texts]
    np.testing.assert_array_equal(days[0], days[2])


def test_ambiguous_dates_with_years_of_two_digits_need_an_override():
    table = pd.DataFrame({"day": [f"{i % 12 + 1:02d}/{i // 12 + 1:02d}/03" for i in range(60)]})
    (plan,) = infer_types(table_statistics(table)).plans
    assert plan.kind == "id or name"
    assert "day and month cannot be distinguished: write them as YYYY-MM-DD" in plan.note
    (said,) = infer_types(table_statistics(table), {"day": "date"}).plans
    assert said.kind == "date"
    assert "could also have the month first, years of two digits" in said.note


@pytest.mark.parametrize("others", ["%d/%m/%y", "%m/%d/%Y", "%Y-%m-%d"])
def test_dates_in_several_formats_are_dropped_with_a_reason(others):
    days = pd.date_range("2001-01-01", periods=60, freq="13D")
    texts = [day.strftime("%d/%m/%Y" if i % 2 else others) for i, day in enumerate(days)]
    (plan,) = schema({"day": texts}).plans
    assert plan.kind == "id or name"
    assert plan.why.endswith("dates in several formats: write them all as YYYY-MM-DD")
    (text,) = schema({"day": [*texts[:-1], "when it rained"]}).plans
    assert "several formats" not in text.why


COUNTER = np.arange(1000)


def reason(values, name="c", **options):
    return reason_for_id(name, table_statistics(pd.DataFrame({name: values}), **options).columns[name])


@settings(max_examples=60)
@given(
    start=st.sampled_from([0, 1, 17, 10_001, 700_000]),
    n=st.integers(60, 400),
    share=st.floats(0.7, 1.0),
    order=st.sampled_from(["rising", "falling", "shuffled"]),
    seed=st.integers(0, 99),
)
def test_counters_are_ids_in_any_order_and_with_gaps(start, n, share, order, seed):
    rng = np.random.default_rng(seed)
    kept = start + np.sort(rng.permutation(n)[: int(share * n)])
    kept = {"rising": kept, "falling": kept[::-1], "shuffled": rng.permutation(kept)}[order]
    assert "numbers the rows" in reason(kept)
    assert "numbers the rows" in reason([f"{number}" for number in kept])


@settings(max_examples=100)
@given(
    law=st.sampled_from(["uniform", "normal", "sorted", "poisson", "geometric"]),
    n=st.integers(30, 400),
    spread=st.floats(0.2, 30),
    seed=st.integers(0, 999),
)
def test_whole_measurements_are_not_ids(law, n, spread, seed):
    rng = np.random.default_rng(seed)
    extent = max(2, int(spread * n))
    draws = {
        "uniform": lambda: rng.integers(0, extent, n),
        "normal": lambda: np.rint(rng.normal(0, extent, n)),
        "sorted": lambda: np.sort(rng.integers(0, extent, n)),
        "poisson": lambda: rng.poisson(extent, n),
        "geometric": lambda: rng.geometric(1 / extent, n),
    }
    assert reason(draws[law]()) == ""


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (1800 + COUNTER[:200], "c"), (20_240_101 + COUNTER[:31], "c"), (1_700_000_000 + COUNTER, "c"),
        (1 + COUNTER, "day"), (40_000 + COUNTER, "Date"), (COUNTER + 0.5, "c"), (3 * COUNTER, "c"), (COUNTER // 2, "c"),
        (COUNTER[:19], "c"), (3 * COUNTER, "paid"), (3 * COUNTER, "piano"),
        (np.where(COUNTER % 5, COUNTER, 7), "customer_id"),
    ],
)  # fmt: skip
def test_times_measurements_and_few_rows_are_not_ids(values, name):
    assert reason(values, name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "customer_id", "userId", "Kundennr", "Kunden-Nr.", "invoice no", "OrderNumber", "key", "row index", "id_7",
        "Nummer",
    ],
)  # fmt: skip
def test_the_name_of_an_id_decides_if_values_are_far_apart(name):
    assert "with the name of an id" in reason(17 * COUNTER + 5, name)
    assert "numbers the rows" in reason(1800 + COUNTER[:200], name)


def test_a_named_id_may_repeat_a_little():
    few, many = (31 * np.append(COUNTER, COUNTER[:n]) for n in (50, 200))
    assert "nearly all distinct (1000 of 1050), with the name" in reason(few, "ID")
    assert reason(many, "ID") == reason(few, "weight") == ""


NUMBERS = [f"{x:.1f}" for x in np.linspace(20, 60, 100)]
DAYS = [f"{day:%Y-%m-%d}" for day in pd.date_range("2023-01-01", periods=100)]


def with_odd(texts, *odd):
    return [*texts[:40], *odd, *texts[40 + len(odd) :]]


@pytest.mark.parametrize(
    ("texts", "kind", "words"),
    [
        (with_odd(NUMBERS, "12O0"), "number", ("1 value that is not a number, '12O0' in row 41", "missing")),
        (with_odd(NUMBERS, "x", "<18", "1e999"), "number", ("3 values that are not numbers", "'x' in row 41")),
        (with_odd([f"{text} %" for text in NUMBERS], "€ 5"), "number", ("'€ 5' in row 41",)),
        (with_odd(DAYS, "0000-00-00"), "date", ("1 value that is not a date, '0000-00-00' in row 41",)),
        (with_odd(DAYS, "2023-02-30"), "date", ("'2023-02-30' in row 41",)),
        (with_odd(NUMBERS[:44], "old"), "number", ("'old' in row 41",)),
        ([*NUMBERS[:12], "old"], "number", ("'old' in row 13",)),
        (pd.Series([*map(float, NUMBERS[:30]), "12O0", 2**60, None], dtype=object), "number", ("'12O0' in row 31",)),
    ],
)
def test_a_few_odd_cells_do_not_change_the_type(texts, kind, words):
    found = schema({"c": texts})
    (plan,) = found.plans
    assert plan.kind == kind
    assert [word for word in words if word not in plan.note] == []
    X, unseen = found.encode_counted(pd.DataFrame({"c": texts}), sparse=False)
    assert X[:, -1].sum() == unseen["c"].total() + pd.isna(texts).sum()  # the indicator of missing values


@pytest.mark.parametrize(
    ("texts", "kind", "words"),
    [
        (with_odd(NUMBERS, *[f"band {i}" for i in range(6)]), "id or name", ("6 of its 100", "'band 0' in row 41")),
        (with_odd(NUMBERS[::-1], *["high"] * 45), "id or name", ("--types c=number",)),
        (["1", "2", "3", "XL"] * 2 + ["1", "2"] * 40, "categorical", ()),
        (["0", "1"] * 50 + ["O"], "categorical", ()),
        ([*map(str, range(10001, 10100)), "07030"], "id or name", ()),
        ([*map(str, [*range(10001, 10031)] * 9), "07030"], "categorical", ()),
    ],
)
def test_many_odd_cells_few_levels_and_codes_are_text(texts, kind, words):
    (plan,) = schema({"c": texts}).plans
    assert plan.kind == kind
    assert [word for word in words if word not in plan.note] == []
    assert words or "not numbers" not in plan.note


def test_infinite_numbers_are_missing_with_a_note():
    found = schema({"c": [1.5, np.inf, 2.5, -np.inf], "d": [np.inf] * 4, "e": [1.0, 2, 3, 4]})
    c, d, _ = found.plans
    assert c.mean == 2
    assert "2 values that are not numbers, the first is 'inf' in row 2" in c.note
    assert d.kind == "empty"


def test_dates_that_overflow_are_missing_with_a_note():
    beyond = np.array([2**62, -(2**62)] * 2, "M8[s]")
    found = schema({"c": [*np.arange(4).astype("M8[s]"), *beyond[:2]], "d": [*beyond, *beyond[:2]], "e": np.arange(6)})
    assert "2 values that are not dates, the first is 'inf' in row 5" in found.plans[0].note
    assert found.plans[1].kind == "empty"


def test_types_come_from_all_rows_and_means_from_the_training_rows():
    table = pd.DataFrame(
        {
            "age": [*map(str, range(20, 59)), "<18"],
            "size": ["S", "M"] * 19 + ["L", "L"],
            "paid": ["yes", "no"] * 19 + ["yes", "no"],
            "joined": [*DAYS[:39], "never"],
            "rate": ["1,5"] * 39 + ["1.500,5"],
        }
    )
    for training in (table[:20], table[20:]):
        found = infer_types(table_statistics(table), training=table_statistics(training))
        alone = {plan.column: plan for plan in found.plans}
        assert [plan.kind for plan in found.plans[:4]] == ["number", "categorical", "boolean", "date"]
        numbers = pd.to_numeric(training["age"], errors="coerce")
        assert alone["age"].mean == pytest.approx(numbers.mean())
        assert set(alone["size"].levels) | set(alone["size"].pooled) == set(training["size"])
        assert "'<18' in row 40" in alone["age"].note
        assert "'never' in row 40" in alone["joined"].note
        found.encode(table)
    assert alone["rate"].spelling == "1.234,5"


def test_a_range_is_shown_with_digits_that_distinguish_its_ends():
    times = np.int64(17 * 10**17) + np.random.default_rng(0).integers(0, 10**12, N)
    (plan,) = infer_types(table_statistics(pd.DataFrame({"t": times}))).plans
    low, high = plan.why.removeprefix("whole numbers from ").split(" to ")
    assert low != high
    assert np.allclose([float(low), float(high)], [times.min(), times.max()], rtol=1e-6)


RANDOM = np.random.default_rng(5)
AMOUNTS = RANDOM.uniform(-5000, 5000, 60).round(2).tolist()
WHOLE = [1200, -850, 15, -3, 940, -1100, 77, -410, 2300, -66, 5, -12, 1750]


def in_accounts(numbers, negative, spelling="{:,}"):
    """Negative numbers as ``negative`` writes them."""
    return [negative.format(spelling.format(-x)) if x < 0 else spelling.format(x) for x in numbers]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (in_accounts(AMOUNTS, "({})"), AMOUNTS),
        (in_accounts(AMOUNTS, "( {} )"), AMOUNTS),
        (in_accounts(AMOUNTS, "{}-"), AMOUNTS),
        (in_accounts(AMOUNTS, "({})", "${:,.2f}"), AMOUNTS),
        (in_accounts([-abs(x) for x in AMOUNTS], "({})"), [-abs(x) for x in AMOUNTS]),
        (in_accounts(WHOLE * 4, "({})", "{}"), WHOLE * 4),
        (in_accounts(WHOLE * 4, "{}-", "{}"), WHOLE * 4),
    ],
)
def test_negative_numbers_of_accounts_are_numbers_with_a_note(texts, numbers):
    found = schema({"c": texts})
    (plan,) = found.plans
    assert plan.kind == "number"
    assert f"{sum(x < 0 for x in numbers)} values were read as negative numbers" in plan.note
    assert "--types c=categorical" in plan.note
    np.testing.assert_allclose(found.encode_counted(pd.DataFrame({"c": texts}), sparse=False)[0][:, 0], numbers)


@pytest.mark.parametrize(
    "texts",
    [
        [f"{grade}{sign}" for grade in range(1, 7) for sign in ("", "-")] * 9,
        [f"{grade}{sign}" for grade in range(1, 16) for sign in ("", "-")] * 9,
        [f"{grade}{sign}" for grade in ("1", "1.5", "2", "2.5", "3", "3.5", "4") for sign in ("", "-")] * 9,
        ["1,5", "2-", "2", "2,5", "3-", "3", "4-"] * 9,
        [f"{age}-" for age in range(18, 90, 6)] * 9,  # from 18 to 23, from 24 to 29, ...
        [f"({i})" for i in range(1, 40)] * 9,
        [f"({i})" for i in range(1990, 2020)] * 9,
        [f"{i}{sign}" for i in range(100, 112) for sign in ("", "-")] * 9,  # revisions of parts
        ["(1)", "2", "3", "(4)", "5"] * 9,
    ],
)
def test_grades_lists_and_beginnings_of_ranges_are_text_with_a_note(texts):
    (plan,) = schema({"c": texts}).plans
    assert plan.kind == "categorical"
    assert "is read as text. If " in plan.note
    assert "--types c=number" in plan.note
    assert "treats these values as missing" not in plan.note
    (number,) = schema({"c": texts}, {"c": "number"}).plans
    assert "read as negative numbers" in number.note
    (given,) = schema({"c": texts}, {"c": "categorical"}).plans
    assert not given.note


def test_grades_that_are_dropped_have_the_remedy_in_the_reason():
    for count in (1, 4):
        (plan,) = schema({"c": [f"({i})" for i in range(1900, 1960)] * count}, min_count=5).plans
        assert plan.kind in ("id or name", "rare levels")
        assert "If '(1900)' is a negative number" in plan.note


def test_a_single_unusual_sign_among_many_numbers_is_an_odd_value():
    ages = [str(age) for age in range(18, 90)] * 2
    table = pd.DataFrame({"age": [*ages, "18-"], "x": np.arange(145) % 4})
    found = infer_types(table_statistics(table), training=table_statistics(table[:100]))
    assert found.plans[0].kind == "number"
    assert "'18-' in row 145: treated as missing" in found.plans[0].note
    assert found.encode_counted(table, sparse=False)[1]["age"].total() == 1


def test_many_distinct_amounts_and_codes_are_distinguished_without_their_texts():
    numbers = RANDOM.integers(-(10**6), 10**6, 300)
    for texts, kind in (
        (in_accounts(numbers, "({})", "{}"), "number"),
        ([f"({abs(x)})" for x in numbers], "id or name"),
    ):
        statistics = table_statistics(pd.DataFrame({"c": texts}), max_distinct=50)
        assert infer_types(statistics).plans[0].kind == kind


def test_indian_thousands_are_numbers():
    texts = ["12,34,567", "1,23,45,678.50", "5,000", "-1,00,000"] * 9
    found = schema({"c": texts})
    assert found.plans[0].kind == "number"
    numbers = [1234567, 12345678.5, 5000, -100000] * 9
    np.testing.assert_array_equal(found.encode_counted(pd.DataFrame({"c": texts}), sparse=False)[0][:, 0], numbers)


@pytest.mark.parametrize("times", [1, 3])
def test_a_header_that_is_repeated_in_the_middle_is_reported_as_one(times):
    rows = [[f"{x:.1f}", "ab"[i % 2], f"2024-01-{1 + i % 28:02d}"] for i, x in enumerate(AMOUNTS)]
    names = ["size", "kind", "day"]
    table = pd.DataFrame([*rows, *[names, *rows] * times], columns=names)
    found = schema(table)
    assert [plan.kind for plan in found.plans] == ["number", "categorical", "date"]
    where = "row 61, a header" if times == 1 else "3 rows, first in row 61, headers"
    assert f"The names of the columns are repeated in {where} in the middle of the table: remove" in found.notes[0]
    assert "not a number" not in " ".join(found.notes)
    encoded = found.encode_counted(table, sparse=False)[0]
    assert encoded[60, found.columns.index("size is missing")] == 1
    part = pd.DataFrame([*rows, ["size", "a", "2024-01-01"], *rows], columns=names)
    assert "1 value that is not a number, 'size' in row 61" in schema(part).notes[0]


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("name", ["Ann", "Bob", "Cid", "Dan", "Eve", "Fay"], True),
        ("customer_id", ["a1", "a2", "a3"], True),
        ("id", [4, 7, 5, 6], True),
        ("Unnamed: 0", [0, 1, 2, 3, 4], True),
        ("column 1", [1, 2, 3, 4, 5], True),
        ("dose", [1, 2, 3, 4, 5], False),
        ("column 1", [1, 2, 4, 8, 16], False),
        ("city", ["A", "B", "C", "D"], False),
        ("city", ["A", "B", "C", "D", "A"], False),
    ],
)
def test_ids_of_tiny_tables_are_dropped(name, values, is_id):
    (plan,) = schema({name: values}).plans
    assert (plan.kind in ("id", "id or name")) == is_id


@pytest.mark.parametrize(
    "kind",
    [
        pd.DataFrame,
        pl.DataFrame,
        lambda _: pa.table({}),
        lambda _: pd.DataFrame(index=ROW),
    ],
)
def test_a_table_without_columns_is_reported_as_one(kind):
    for fit in (TableEncoder().fit, lambda table: TableClassifier().fit(table, ROW[: len(table)] % 2)):
        with pytest.raises(DataError, match="The table has no columns: .* Pass a table with at least one column"):
            fit(kind({}))
    with pytest.raises(DataError, match="no columns"):
        TableClassifier().fit(pd.DataFrame({"y": ROW % 2}), "y")
