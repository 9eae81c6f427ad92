import io
from math import nan

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import separatrix as sx
from separatrix.cli.render import coefficient_table, column_table, curves_of, file_table, sparkline, straight_weights
from separatrix.study import Coefficient, TableClassifier, explain


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


@pytest.fixture(scope="module")
def bent(loans):
    X = loans.select(["age", "income", "owns_home"])
    estimator = sx.BayesianLogisticRegression(tune="evidence", approximation="laplace")
    return TableClassifier(estimator, curved=True).fit(X, loans["outcome"].to_pylist())


def test_a_curve_is_how_the_log_odds_move_along_its_column(bent):
    curve = next(curve for curve in curves_of(bent, explain(bent)) if curve.name == "age")
    ages = pa.table({"age": curve.knots, "income": [40.0] * len(curve.knots), "owns_home": ["yes"] * len(curve.knots)})
    a = bent.decision_distribution(ages).mean
    np.testing.assert_allclose(curve.log_odds, a - a[0], atol=1e-9)


def test_weights_are_straight_or_pieces_of_a_curve(bent, fitted):
    weights = explain(bent)
    curves, straight = curves_of(bent, weights), straight_weights(bent, weights)
    assert {curve.name for curve in curves} == {"age", "income"}
    assert [weight.name for weight in straight] == ["income is missing", "owns_home=yes"]
    assert len(weights) == len(straight) + sum(len(curve.knots) - 1 for curve in curves)
    assert curves[0].reach >= curves[1].reach
    assert curves_of(fitted, explain(fitted)) == ()
    assert straight_weights(fitted, explain(fitted)) == explain(fitted)


def test_a_flat_line_is_drawn_flat():
    assert sparkline([2.0, 2.0]) == "▁▁"


def test_of_very_many_columns_the_first_are_listed_and_those_that_were_dropped():
    from separatrix.cli.render import MOST_COLUMNS, shown_plans
    from separatrix.table import infer_types, table_statistics

    rng = np.random.default_rng(0)
    columns = {f"x{d}": rng.normal(size=30) for d in range(60)} | {f"same{d}": np.ones(30) for d in range(5)}
    schema = infer_types(table_statistics(pa.table(columns)))
    shown_names = [plan.column for plan in shown_plans(schema)]
    assert shown_names == [*list(columns)[: MOST_COLUMNS // 2], *(f"same{d}" for d in range(5))]
