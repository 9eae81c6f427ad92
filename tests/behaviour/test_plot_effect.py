# SPDX-License-Identifier: BSD-3-Clause
"""What `EffectDisplay` draws of a table of effects."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import separatrix as sx
from separatrix.effects import comparisons, predictions, slopes
from separatrix.exceptions import DataError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 10, 200), "city": rng.choice(["Ulm", "Bonn"], 200)})
    frame["y"] = np.array(["a", "b", "c"])[
        (frame["age"] + rng.normal(0, 9, 200) > 35).astype(int) + (frame["age"] > 45)
    ]
    return frame.assign(joined=pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 99, 200), "D"))


@pytest.fixture(scope="module")
def model(table):
    return sx.TableClassifier(sx.LogisticRegression()).fit(table[["age", "city", "joined"]], table["y"])


def test_predictions_along_a_number_are_a_curve_for_each_class_and_group(model, table):
    found = predictions(model, table, {"age": [20, 60, 40]}, by="city")
    display = found.plot()
    assert display.along == "age"
    assert display.series == ("a Bonn", "b Bonn", "c Bonn", "a Ulm", "b Ulm", "c Ulm")
    assert_array_equal(display.positions, [20, 60, 40])
    assert_allclose(display.estimate.sum(axis=0), 2.0)
    assert [line.get_xdata().tolist() for line in display.ax_.lines] == [[20, 40, 60]] * 6
    assert len(display.ax_.collections) == 6
    assert "95 % interval" in display.ax_.get_ylabel()


def test_dates_are_positions_too(model, table):
    display = predictions(model, table, "joined").plot()
    assert len(display.positions) > 3
    assert display.series == ("a", "b", "c")
    display.figure_.canvas.draw()
    labels = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert "Feb" in labels  # and not 2021-02, which would overlap its neighbours
    assert max(map(len, labels)) <= 4


def test_ratios_have_plain_numbers_on_their_axis(model, table):
    noise = sx.LogisticRegression().fit(table[["age"]], np.arange(200) % 2)
    narrow, wide = comparisons(noise, table, comparison="ratio"), comparisons(model, table, comparison="ratio")
    for found, most in ((narrow, 2.0), (wide, np.inf)):
        ax = found.plot().ax_
        ax.figure.canvas.draw()
        labels = [tick.get_text() for tick in [*ax.get_xticklabels(), *ax.get_xticklabels(minor=True)]]
        numbers = [float(label) for label in labels if label]  # and no 7 × 10⁻¹
        assert len(numbers) >= 3
        assert 1.0 in numbers
        assert max(numbers) < most


def test_other_tables_have_a_dot_and_a_whisker_for_each_line_and_class(model, table):
    found = comparisons(model, table, {"age": 10, "city": None}, by="city")
    display = found.plot()
    assert display.names == ("age +10 Bonn", "age +10 Ulm", "city Ulm vs. Bonn Bonn", "city Ulm vs. Bonn Ulm")
    assert display.series == ("a", "b", "c")
    assert_allclose(display.estimate.T.ravel(), found["estimate"])
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == list(display.names)
    assert display.ax_.lines[0].get_xdata() == [0, 0]
    hollow = (display.lower < 0) & (display.upper > 0)
    drawn = [line for line in display.ax_.lines if line.get_markerfacecolor() == "white"]
    assert sum(len(line.get_xdata()) for line in drawn) == hollow.sum()
    assert slopes(model, table).plot().names == ("age",)


def test_ratios_are_drawn_on_a_logarithmic_axis(model, table):
    display = comparisons(model, table, {"age": 10}, comparison="ratio").plot(title="Age")
    assert display.ax_.get_xscale() == "log"
    assert display.null == 1.0
    assert display.ax_.get_title() == "Age"


def test_levels_are_not_positions(model, table):
    display = predictions(model, table, "city").plot()
    assert display.positions is None
    assert display.names == ("Bonn", "Ulm") or display.names == ("Ulm", "Bonn")


def test_too_many_curves_are_refused(model, table):
    many = table.assign(block=np.arange(200) // 2)
    with pytest.raises(DataError, match="300 curves"):
        predictions(model, many, {"age": [20, 40, 60]}, by="block").plot()
