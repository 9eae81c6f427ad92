import numpy as np
import pyarrow as pa
import pytest

import separatrix as sx
from separatrix.cli.curves import curves_of, sparkline, straight_weights
from separatrix.study import explain
from separatrix.tables import TableClassifier


@pytest.fixture(scope="module")
def bent(loans):
    X = loans.select(["age", "income", "owns_home"])
    estimator = sx.BayesianLogisticRegression(tune="evidence", approximation="laplace")
    return TableClassifier(estimator, curved=True).fit(X, loans["outcome"].to_pylist())


def test_a_curve_is_how_the_log_odds_move_along_its_column(bent):
    curve = next(curve for curve in curves_of(bent, explain(bent)) if curve.name == "age")
    ages = pa.table({"age": curve.knots, "income": [40.0] * len(curve.knots), "owns_home": ["yes"] * len(curve.knots)})
    X = bent.encoder_.transform(ages)
    a = bent.functions(X) @ bent.estimator_.coef_[0]
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
