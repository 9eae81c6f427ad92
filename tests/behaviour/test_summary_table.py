"""Coefficients of several models side by side."""

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.exceptions import DataError


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["age", "income", "size"])
    y = np.where(X["age"] + rng.logistic(size=200) > 0, "yes", "no")
    few, all_columns = (sx.LogisticRegression(alpha=0).fit(X[list(names)], y) for names in (["age"], X.columns))
    return X, y, few, all_columns


def test_it_has_a_line_for_each_coefficient_and_fact_and_a_column_for_each_model(fitted):
    _, _, few, more = fitted
    table = sx.summary_table({"few": few, "more": more})
    names = ("intercept", "age", "income", "size", "N", "log likelihood", "deviance", "AIC", "BIC")
    assert table.names == names
    lines = {line.split("  ")[0]: line for line in str(table).splitlines()}
    assert lines["income"].split()[1] == "-"
    assert lines["N"].split() == ["N", "200", "200"]
    one = few.summary()
    assert f"{one.coefficient[1]:.5g} ({one.standard_error[1]:.3g})" in lines["age"]
    frame = table.to_pandas()
    np.testing.assert_array_equal(frame.loc[["intercept", "age"], "few: standard_error"], one.standard_error)
    assert np.isnan(frame.loc["income", "few: coefficient"])
    assert frame.loc["AIC", "more: coefficient"] == more.summary().facts["AIC"]
    assert table.to_polars().height == len(names)
    assert r"\toprule" in table.to_latex()


def test_models_of_one_class_are_numbered_and_intervals_can_be_shown(fitted):
    X, y, few, more = fitted
    bayesian = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, y)
    table = sx.summary_table([few, more, bayesian], show="interval", exponentiate=True, level=0.9)
    assert list(table.columns) == ["LogisticRegression 1", "LogisticRegression 2", "BayesianLogisticRegression"]
    one = bayesian.summary(exponentiate=True, level=0.9)
    assert f"({one.lower[1]:.3g} to {one.upper[1]:.3g})" in str(table)
    assert "odds ratios" in str(table)
    assert "BayesianLogisticRegression: posterior under a prior." in table.notes
    assert "log evidence" in table.names


def test_likelihoods_of_different_rows_are_not_comparable(fitted):
    X, y, few, _ = fitted
    part = sx.LogisticRegression(alpha=0).fit(X[["age"]][:150], y[:150])
    assert "not comparable" in str(sx.summary_table([few, part], ["all rows", "150 rows"]))


def test_mistakes_are_named(fitted):
    _, _, few, more = fitted
    with pytest.raises(ValueError, match="2 different names"):
        sx.summary_table([few, more], ["a"])
    with pytest.raises(ValueError, match="show='stars'"):
        sx.summary_table([few], show="stars")
    with pytest.raises(ValueError, match="at least one"):
        sx.summary_table([])
    with pytest.raises(DataError, match=r"'LinearDiscriminantAnalysis' .* no table"):
        sx.summary_table([few, sx.LinearDiscriminantAnalysis()])
