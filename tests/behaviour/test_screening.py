"""Columns that give the class away, copies of columns, outliers, and codes."""

import shlex

import numpy as np
import pandas as pd
import pytest

from separatrix.comparison import Fold
from separatrix.rows import NamedRows
from separatrix.study.screening import notes_on_columns
from separatrix.table import TableEncoder

RNG = np.random.default_rng(0)


def notes_of(table, y, topic="leak", given=()):
    encoder = TableEncoder().fit(table)
    fold = Fold(NamedRows(encoder.transform(table), encoder.schema_.columns), np.asarray(y), np.arange(len(y)))
    return [note.text for note in notes_on_columns(encoder.schema_, [fold], "y", given) if note.topic == topic]


y = RNG.permutation(np.arange(200) % 3 == 0).astype(int)
noise = RNG.normal(size=200)
LEAKS = {
    "a threshold": y + 0.01 * noise,
    "an interval": np.where(y, 0, np.sign(noise) * 3) + 0.01 * noise,
    "a copy": np.where(y, "yes", "no"),
    "a level of one class each": np.char.add(np.where(y, "a", "b"), RNG.integers(0, 5, 200).astype(str)),
    "a missing value": np.where(y, np.nan, noise),
    "one wrong row of 200": np.where(np.arange(200) == 7, 1 - y, y) + 0.01 * noise,
}


@pytest.mark.parametrize("kind", LEAKS)
def test_a_column_that_predicts_the_class_alone_is_named_with_a_remedy(kind):
    (text,) = notes_of(pd.DataFrame({"x": noise, "leak": LEAKS[kind]}), y)
    how = "in 99.5 % of the rows" if kind == "one wrong row of 200" else "without error"
    assert text.startswith(f"'leak' alone predicts y {how}: is it known at prediction time?")
    assert "--drop leak" in text


def test_a_shell_reads_the_suggested_option_as_one_name():
    (text,) = notes_of(pd.DataFrame({"x": noise, "the $HOME's leak": np.where(y, "yes", "no")}), y)
    option = text.split("(")[1].split("; in Python")[0]
    assert shlex.split(option) == ["--drop", "the $HOME's leak"]


def test_a_column_of_three_classes_is_named():
    codes = np.arange(150) % 3
    assert len(notes_of(pd.DataFrame({"x": RNG.normal(size=150), "leak": codes * 2.5}), codes)) == 1


@pytest.mark.parametrize("n_rows", [4, 30, *(pytest.param(n, marks=pytest.mark.slow) for n in (8, 12, 100, 1000))])
def test_columns_without_information_raise_no_alarm(n_rows):
    """Of 400 tables of ten columns, hardly any has an alarm; the limit on the chance is 1 % per table."""
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(rng.normal(size=(n_rows, 8))).add_prefix("x")
        table["kind"], table["rare"] = rng.choice(list("abcdef"), n_rows), rng.choice(["u", None], n_rows)
        alarms += len(notes_of(table, rng.permutation(np.arange(n_rows) % 2)))
    assert alarms <= 2


def test_a_strong_but_overlapping_column_raises_no_alarm():
    assert notes_of(pd.DataFrame({"x": y + 0.4 * noise, "z": noise}), y) == []


def test_copies_of_columns_are_named_once():
    table = pd.DataFrame({"a": noise, "kind": np.where(noise > 0, "u", "v"), "b": noise, "c": noise, "d": -noise})
    (text,) = notes_of(table, y, "identical")
    assert text.startswith("'b' and 'c' are identical to 'a'")


def test_outliers_are_named_with_value_and_row():
    spoilt = noise.copy()
    spoilt[40] = 1e18
    (text,) = notes_of(pd.DataFrame({"x": spoilt, "z": noise}), y, "outlier")
    assert "'x'" in text
    assert "1e+18 (row 41)" in text


def test_skewed_and_mostly_constant_columns_have_no_outliers():
    table = pd.DataFrame({"skewed": np.exp(3 * noise), "rare": np.where(np.arange(200) == 5, 1e6, 0.0), "z": noise})
    assert notes_of(table, y, "outlier") == []


def classes_of(log_odds, rng):
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(int)


def test_numbers_that_act_as_names_are_reported_with_a_remedy():
    rng = np.random.default_rng(1)
    code = rng.integers(7, size=900)
    region = np.array([1, 3, 7, 9, 20, 31, 45])[code]
    table = pd.DataFrame({"region": region, "x": rng.normal(size=900)})
    classes = classes_of(np.array([1.5, -1.5, 1, -1, 2, -2, 0])[code], rng)
    (text,) = notes_of(table, classes, "codes")
    assert text.startswith(
        "'region' has 7 whole numbers from 1 to 45 with gaps, and y depends on them but neither rises"
    )
    assert "--types region=categorical; in Python, types={'region': 'categorical'}." in text
    assert notes_of(table, classes, "codes", given=["region"]) == []
    rare = table.assign(region=np.where(np.arange(900) < 9, 12, region))  # hides nothing
    assert "has 8 whole numbers" in notes_of(rare, classes, "codes")[0]
    of_three = np.array([0, 2, 1, 0, 2, 1, 0])[code] * (rng.random(900) < 0.5)
    assert len(notes_of(table, of_three, "codes")) == 1


@pytest.mark.parametrize(
    "effect",
    [
        lambda i: 0.0 * i,
        lambda i: 0.3 * i,
        lambda i: 0.3 * (i - 4.5) ** 2 - 3,  # largest at both ends
        lambda i: 2.0 * (i > 4),
        lambda i: 2.0 * np.sin(2 * np.pi * i / 10),
    ],
)
def test_numbers_with_a_smooth_effect_or_none_are_not_codes(effect):
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rank = rng.integers(10, size=900)
        for values in (rank, rank**2):
            table = pd.DataFrame({"x": values, "z": rng.normal(size=900)})
            alarms += len(notes_of(table, classes_of(effect(rank), rng), "codes"))
    assert not alarms
