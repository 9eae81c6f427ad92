from math import exp, inf, nan

from separatrix.cli.document import coefficient_list, column_list, evidence_of
from separatrix.study import Coefficient


def test_odds_ratios_are_exponentials_of_weights_and_their_bounds():
    (one,) = coefficient_list((Coefficient("age", "age", "yes", 0.5, -0.1, 1.1, 2.0),))
    assert one["odds_ratio"] == exp(0.5)
    assert (one["odds_ratio_lower"], one["odds_ratio_upper"]) == (exp(-0.1), exp(1.1))


def test_odds_beyond_floats_are_infinite_and_unknown_bounds_stay_unknown():
    (one,) = coefficient_list((Coefficient("a", "a", 1, 800.0, nan, nan, 1.0),))
    assert one["odds_ratio"] == inf
    assert one["odds_ratio_lower"] != one["odds_ratio_lower"]


def test_columns_are_told_as_the_schema_has_them(fitted):
    columns = {column["name"]: column for column in column_list(fitted.encoder_.schema_)}
    assert columns["purpose"]["is"] == "categorical"
    assert columns["income"]["becomes"] == ["income", "income is missing"]
    assert columns["application"]["becomes"] == []


def test_the_evidence_is_the_sum_of_its_parts(fitted):
    parts = evidence_of(fitted.estimator_)
    assert abs(parts["log_evidence"] - parts["log_likelihood"] - parts["occam_factor"]) < 1e-9
    assert evidence_of(object()) is None
