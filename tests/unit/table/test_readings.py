"""Every way to read a column, until rows rule it out; the column decides which one is meant."""

import numpy as np
import pytest

from separatrix.table.statistics import ANY_DATE, ANY_NUMBER, NO_READING, date_readings, number_readings
from separatrix.table.text import DAY_FIRST, MONTH_FIRST, YEAR_FIRST


def read(texts, readings=number_readings):
    return readings(tuple(texts), np.ones(len(texts), dtype=int))


@pytest.mark.parametrize(
    ("texts", "way", "unit", "high", "rival"),
    [
        (["1.5", "20"], "1234.5", "", 20, ""),
        (["1,5", "20"], "1234,5", "", 20, ""),
        (["1.188,62", "20"], "1.234,5", "", 1188.62, ""),
        (["1,188.62", "20"], "1,234.5", "", 1188.62, ""),
        (["1 188,62", "20"], "1 234,5", "", 1188.62, ""),
        (["1'188.62", "20"], "1'234.5", "", 1188.62, ""),
        (["12.345.678", "20"], "1.234,5", "", 12345678, ""),
        (["12,345", "9"], "1,234.5", "", 12345, "1234,5"),
        (["12,345", "0,5"], "1234,5", "", 12.345, ""),
        (["12.345", "9"], "1234.5", "", 12.345, "1.234,5"),
        (["12 %", "9%"], "1234.5", "%", 12, ""),
        (["€ 1.234,50", "9 €"], "1.234,5", "€", 1234.5, ""),
        (["-$1,234.50", "$9"], "1,234.5", "$", 9, ""),
    ],
)
def test_the_column_decides_how_its_numbers_are_spelled(texts, way, unit, high, rival):
    found = read([*texts, "NA"])
    assert (found.format, found.unit, found.best.high, found.rival) == (way, unit, high, rival)
    assert found.best.count == len(texts)


@pytest.mark.parametrize("texts", [["1.5", "1,5"], ["5 %", "5"], ["5 €", "5 $"], ["1.234,5", "1,234.5"], ["a", "1"]])
def test_columns_that_do_not_agree_are_no_numbers(texts):
    assert read(texts) == NO_READING
    assert read(texts[:1]) + read(texts[1:]) == NO_READING == read(texts[1:]) + read(texts[:1])


def test_what_rows_say_late_counts():
    texts = ["7"] * 30 + ["1.234,5"]
    assert read(texts).format == "1.234,5"
    assert read([*texts, "word"]) == NO_READING


@pytest.mark.parametrize(
    ("texts", "way", "rival"),
    [
        (["2024-12-25"], YEAR_FIRST, ""),
        (["03/04/2024", "25/12/2024"], DAY_FIRST, ""),
        (["03/04/2024", "12/25/2024"], MONTH_FIRST, ""),
        (["03/04/2024", "05/06/2024"], DAY_FIRST, MONTH_FIRST),
        (["03/03/2024", "06/06/2024"], DAY_FIRST, ""),
        (["03.04.2024"], DAY_FIRST, ""),
    ],
)
def test_the_column_decides_on_the_order_of_day_and_month(texts, way, rival):
    found = read([*texts, "?"], date_readings)
    assert (found.format, found.rival) == (way, rival)


def test_dates_in_two_orders_are_no_dates():
    assert read(["25/12/2024", "12/25/2024"], date_readings) == NO_READING
    assert read(["2024-12-25", "25.12.2024"], date_readings) == NO_READING


def test_gaps_could_be_anything_and_are_the_identity():
    assert read(["NA", "?"]) == ANY_NUMBER
    assert read(["NA"], date_readings) == ANY_DATE
    found = read(["1,5", "2,25"])
    assert found + ANY_NUMBER == found == ANY_NUMBER + found
    assert found + NO_READING == NO_READING
    assert NO_READING.format == NO_READING.rival == ""
    assert NO_READING.best is None
