import io
from math import nan

import pytest
from rich.console import Console

from separatrix.cli.render import coefficient_table, column_table, file_table
from separatrix.study import Coefficient


@pytest.fixture
def shown():
    console = Console(width=80, record=True, file=io.StringIO())

    def text(renderable):
        console.print(renderable)
        return console.export_text()

    return text


def test_every_column_is_there_within_80_characters(shown, fitted):
    text = shown(column_table(fitted.encoder_.schema_))
    assert all(plan.column in text for plan in fitted.encoder_.schema_.plans)
    assert "dropped" in text
    assert max(map(len, text.splitlines())) <= 80


def test_weights_with_intervals_and_odds_ratios(shown):
    weights = [
        Coefficient("age", "age [years]", "yes", 0.6931471805599453, 0.5, 0.9, 1.25),
        Coefficient("b", "b", "yes", -1.0, nan, nan, -0.5),
    ]
    text = shown(coefficient_table(weights, 0.9, many=False))
    assert "age [years]" in text
    assert "90 % interval" in text
    assert ["age", "[years]", "0.693", "0.5", "to", "0.9", "2", "+1.250"] in [
        line.split() for line in text.splitlines()
    ]
    assert "nan" not in text
    assert "class" not in text
    assert "class" in shown(coefficient_table(weights, 0.9, many=True))


def test_files_are_listed_whole(shown):
    long = "/".join(["folder"] * 20) + "/model.sx"
    assert long in shown(file_table({"model": long})).replace("\n", "").replace(" ", "")
