# SPDX-License-Identifier: BSD-3-Clause
"""Tables of results: as text, in notebooks, in LaTeX, and as data frames."""

import datetime as dt

import numpy as np
import pytest

import separatrix as sx
from separatrix._output import Table, format_cell

TABLE = Table(
    ("age", "R&D <1"),
    {"coefficient": np.array([1.25, np.nan]), "p": np.array([1e-30, 0.25]), "n": np.array([3, 12_345_678])},
    title="Two lines\nof facts",
    notes=("A note that is long. " * 6,),
    formats={"p": "p", "n": "d"},
)


def test_text_has_one_line_per_name_and_notes_of_80_characters():
    title, facts, empty, head, first, second, *notes = str(TABLE).splitlines()
    assert (title, facts, empty) == ("Two lines", "of facts", "")
    assert head.split() == list(TABLE.columns)
    assert first.split() == ["age", "1.25", "<1e-16", "3"]
    assert second.split() == ["R&D", "<1", "-", "0.25", "12345678"]
    assert max(map(len, notes)) <= 80
    assert repr(TABLE) == str(TABLE)


def test_dates_are_written_as_dates_and_only_numbers_have_a_format():
    dates = [dt.date(2020, 1, 1), dt.datetime(2020, 2, 3), dt.datetime(2020, 2, 3, 4, 5)]
    assert [format_cell(date, ".5g") for date in dates] == ["2020-01-01", "2020-02-03", "2020-02-03 04:05:00"]
    labels, numbers = [True, np.True_, "a", None, np.nan], [np.float64(1), 2, np.int64(3)]
    assert [format_cell(label, ".2f") for label in labels] == ["True", "True", "a", "-", "-"]
    assert [format_cell(number, ".2f") for number in numbers] == ["1.00", "2.00", "3.00"]


def test_notebooks_show_a_table():
    html = TABLE._repr_html_()
    assert html.count("<tr>") == 3
    assert "R&amp;D &lt;1" in html
    assert "A note that is long." in html


def test_latex_escapes_its_special_characters():
    latex = TABLE.to_latex()
    assert r"R\&D $<$1 & - & 0.25 & 12345678 \\" in latex
    assert latex.startswith(r"\begin{tabular}{lrrr}")


def test_data_frames_have_the_numbers():
    pandas, polars = TABLE.to_pandas(), TABLE.to_polars()
    assert list(pandas.index) == polars["name"].to_list() == list(TABLE.names)
    assert list(pandas.columns) == polars.columns[1:] == list(TABLE.columns)
    np.testing.assert_array_equal(pandas["coefficient"], TABLE["coefficient"])
    np.testing.assert_array_equal(polars["n"].to_numpy(), TABLE.to_dict()["n"])


def test_an_unknown_column_names_the_others():
    with pytest.raises(KeyError, match="coefficient, p, n"):
        TABLE["estimate"]


def test_notebooks_show_a_comparison_as_a_table(rng):
    X = rng.normal(size=(80, 2))
    models = {"A": sx.LinearDiscriminantAnalysis(), "B": sx.NaiveBayes()}
    comparison = sx.compare(models, X, (X[:, 0] + rng.normal(size=80) > 0).astype(int), rng=0)
    html = comparison._repr_html_()
    assert html.count("<tr>") == 3
    assert "log-lik." in html
    assert r"\toprule" in comparison.to_latex()
