# SPDX-License-Identifier: BSD-3-Clause
"""Predictions, comparisons and slopes against the averages of predict_proba of changed tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.linear_model import LinearRegression

import separatrix as sx
from separatrix.datasets import make_loans
from separatrix.effects import averages, comparisons, importance, predictions, slopes
from separatrix.exceptions import DataError
from separatrix.weights import Blend

N = 240


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.1, np.nan, rng.integers(18, 80, N)),
            "income": rng.lognormal(3, 0.5, N),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], N, p=[0.5, 0.3, 0.2]),
            "member": rng.choice(["yes", "no"], N),
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
            "constant": "same",
        }
    )
    a = 0.04 * frame["age"].fillna(40) - 2 + (frame["city"] == "Bonn") - 0.02 * frame["income"]
    frame["paid"] = np.where(rng.logistic(size=N) < a, "late", "on time")
    frame["state"] = np.where(frame["city"] == "Kiel", "north", "south")
    return frame


def columns(table):
    return table.drop(columns=["paid", "state"])


def three(table):
    return np.where(table["income"] > 25, "rich", table["paid"])


@pytest.fixture(scope="module")
def model(table):
    estimator = sx.LogisticRegression(alpha=0.5)
    return sx.TableClassifier(estimator).fit(columns(table), table["paid"])


@pytest.fixture(scope="module")
def curved(table):
    """Three classes, curves and a surface of age and income: a column changes many features."""
    estimator = sx.LogisticRegression(alpha=0.5)
    found = sx.TableClassifier(estimator, curved=True, interactions=[("age", "income")])
    return found.fit(columns(table), three(table))


def average(model, table, rows=slice(None), **changes):
    """Average probability of each class, with columns changed in all rows."""
    changed = columns(table).assign(**changes)[rows]
    return model.predict_proba(changed).mean(axis=0)


@pytest.mark.parametrize("name", ["model", "curved"])
def test_a_comparison_is_the_difference_of_average_predictions_of_changed_tables(name, table, request):
    model = request.getfixturevalue(name)
    found = comparisons(
        model,
        table,
        {"age": 10, "income": [20, 30], "city": "pairwise", "joined": pd.Timedelta(days=400), "member": None},
    )
    known = table["age"].notna()
    expected = {
        ("age", "+10"): average(model, table, known, age=table["age"] + 10) - average(model, table, known),
        ("income", "30 vs. 20"): average(model, table, income=30.0) - average(model, table, income=20.0),
        ("city", "Kiel vs. Bonn"): average(model, table, city="Kiel") - average(model, table, city="Bonn"),
        ("city", "Ulm vs. Bonn"): average(model, table, city="Ulm") - average(model, table, city="Bonn"),
        ("city", "Ulm vs. Kiel"): average(model, table, city="Ulm") - average(model, table, city="Kiel"),
        ("joined", "+400 days"): average(model, table, joined=table["joined"] + pd.Timedelta(days=400))
        - average(model, table),
        ("member", "yes vs. no"): average(model, table, member="yes") - average(model, table, member="no"),
    }
    first = slice(1, None) if name == "model" else slice(None)  # of two classes, the second
    assert list(zip(found.names, found["contrast"], strict=True))[:: len(model.classes_[first])] == list(expected)
    assert_allclose(found["estimate"], np.concatenate([each[first] for each in expected.values()]), atol=1e-13)
    assert f"{N - known.sum()} rows are left out" in str(found).replace("\n", " ")


def test_predictions_are_averages_over_groups_settings_and_values(model, table):
    known = table["state"] == "north"
    plain = predictions(model, table, by="state")
    assert plain["state"] == ["north", "south"]
    assert_allclose(plain["estimate"], [average(model, table, rows)[1] for rows in (known, ~known)], atol=1e-13)
    grid = predictions(model, table, "city", by=["state", "member"], at={"age": [30, 60]})
    for i in (0, 7, 23):
        city, age, state, member = (grid[name][i] for name in ("city", "age", "state", "member"))
        rows = (table["state"] == state) & (table["member"] == member)
        assert_allclose(grid["estimate"][i], average(model, table, rows, city=city, age=float(age))[1], atol=1e-13)
    assert len(grid.names) == 3 * 2 * 2 * 2
    assert ((grid["lower"] > 0) & (grid["upper"] < 1) & (grid["lower"] < grid["estimate"])).all()


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_levels_have_the_order_of_an_ordered_category_else_they_are_sorted(kind):
    levels = ["Ulm", "Kiel", "Bonn"]
    rng = np.random.default_rng(0)
    data = {"city": rng.choice(levels, N), "rooms": rng.choice(["10", "9", "2"], N)}
    table = pd.DataFrame({**data, "city": pd.Categorical(data["city"], levels, ordered=True)})
    if kind == "polars":
        table = pl.DataFrame(data, schema={"city": pl.Enum(levels), "rooms": pl.String})
    types = dict.fromkeys(data, "categorical")
    model = sx.TableClassifier(sx.LogisticRegression(), types=types).fit(table, np.arange(N) % 2)
    assert comparisons(model, table)["contrast"] == ["Kiel vs. Ulm", "Bonn vs. Ulm", "9 vs. 2", "10 vs. 2"]
    assert predictions(model, table, "city")["city"] == levels
    assert predictions(model, pd.DataFrame(data), "city")["city"] == sorted(levels)


def test_levels_that_are_missing_or_pooled_can_be_set(model, table):
    found = predictions(model, table, {"age": [None, 40]})
    assert found["age"] == ["(missing)", 40]
    assert_allclose(found["estimate"], [average(model, table, age=age)[1] for age in (np.nan, 40.0)], atol=1e-13)


@pytest.mark.parametrize("comparison", ["ratio", "odds ratio"])
def test_ratios_compare_averages_with_an_interval_on_the_log_scale(model, table, comparison):
    found = comparisons(model, table, {"city": ["Ulm", "Bonn"]}, comparison=comparison)
    low, high = average(model, table, city="Ulm")[1], average(model, table, city="Bonn")[1]
    expected = high / low if comparison == "ratio" else high / (1 - high) / (low / (1 - low))
    assert_allclose(found["estimate"], expected, rtol=1e-12)
    assert_allclose(np.sqrt(found["lower"] * found["upper"]), expected, rtol=1e-12)
    assert found.null == 1.0
    assert "log scale" in str(found)


def test_a_hypothesis_compares_groups_or_lines(model, table):
    plain = comparisons(model, table, {"age": 10}, by="city")
    pairs = comparisons(model, table, {"age": 10}, by="city", hypothesis="pairwise")
    assert pairs["city"] == ["Kiel vs. Bonn", "Ulm vs. Bonn", "Ulm vs. Kiel"]
    bonn, kiel, ulm = plain["estimate"]
    assert_allclose(pairs["estimate"], [kiel - bonn, ulm - bonn, ulm - kiel], atol=1e-15)
    ratios = comparisons(model, table, {"age": 10}, by="city", comparison="ratio", hypothesis="reference")
    bonn, kiel, ulm = comparisons(model, table, {"age": 10}, by="city", comparison="ratio")["estimate"]
    assert_allclose(ratios["estimate"], [kiel / bonn, ulm / bonn], rtol=1e-12)
    lines = predictions(model, table, {"city": ["Ulm", "Bonn"]}, hypothesis="pairwise")
    direct = comparisons(model, table, {"city": ["Ulm", "Bonn"]})
    assert lines["city"] == ["Bonn vs. Ulm"]
    for name in ("estimate", "standard_error", "lower", "upper", "probability_of_sign"):
        assert_allclose(lines[name], direct[name], rtol=1e-12)


def test_changes_of_k_classes_add_up_to_zero(curved, table):
    for found in (comparisons(curved, table, by="state"), slopes(curved, table, by="state")):
        assert_allclose(found["estimate"].reshape(-1, 3).sum(axis=1), 0.0, atol=1e-13)
        assert found["class"][:3] == curved.classes_.tolist()


def test_slopes_are_limits_of_steps_also_along_curves_and_surfaces(curved, table):
    found = slopes(curved, table, ["age", "income"], at={"member": "yes"})
    h = 1e-4
    up, down = (comparisons(curved, table, {"age": step, "income": step}, at={"member": "yes"}) for step in (h, -h))
    assert_allclose(found["estimate"], (up["estimate"] - down["estimate"]) / (2 * h), atol=2e-5)
    smooth = sx.LogisticRegression(basis=sx.basis.RBF(n_centres=5, centres="random"))
    X = table[["income", "age"]].fillna(40)
    smooth.fit(X, three(table))
    found = slopes(smooth, X)
    up, down = (comparisons(smooth, X, {"income": step, "age": step}) for step in (h, -h))
    assert_allclose(found["estimate"], (up["estimate"] - down["estimate"]) / (2 * h), atol=1e-9)
    assert_allclose(found["standard_error"], up["standard_error"] / h, rtol=1e-3)


def test_a_whole_step_of_a_linear_mean_is_its_slope(table):
    """For a mean that is linear in the columns, effects are coefficients, with their errors and degrees of freedom."""
    X = table[["age", "income"]].fillna(40)
    model = sx.GeneralizedLinearModel("gaussian").fit(X, 3 * X["age"] + np.sin(np.arange(N)))
    interval = model.weight_distribution_.functions(np.eye(3)).quantiles(np.array([0.025, 0.975]))[:2]
    for found in (slopes(model, X), comparisons(model, X, {"age": 1, "income": 1})):
        assert_allclose(found["estimate"], model.coef_, rtol=1e-10)
        assert_allclose(found["standard_error"], model.weight_distribution_.std[:2], rtol=1e-8)
        assert_allclose(np.column_stack([found["lower"], found["upper"]]), interval, rtol=1e-8)
        assert_allclose(found["p"], 2 * stats.t(N - 3).sf(np.abs(found["t"])), rtol=1e-9)


def test_weights_of_a_posterior_are_drawn(table):
    """The draws of many weight vectors, one by one, have the same mean, deviation and quantiles."""
    X, y = table[["income"]].assign(age=table["age"].fillna(40)), three(table)
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, y)
    found = comparisons(model, X, {"age": 10}, comparison="odds ratio")
    W = model.posterior_.sample(3000, 1)
    sides = []
    for step in (0, 10):
        rows = np.column_stack([X["income"], X["age"] + step, np.ones(N)])
        A = np.einsum("np,skp->snk", rows, W)
        P = np.exp(A - A.max(axis=2, keepdims=True))
        p = (P / P.sum(axis=2, keepdims=True)).mean(axis=1)
        sides.append(np.log(p / (1 - p)))
    log_odds = sides[1] - sides[0]
    assert_allclose(np.log(found["estimate"]), log_odds.mean(axis=0), atol=0.08 * log_odds.std(axis=0).min())
    assert_allclose(found["standard_error"] / found["estimate"], log_odds.std(axis=0), rtol=0.06)
    for name, level in (("lower", 0.025), ("upper", 0.975)):
        assert_allclose(np.log(found[name]), np.quantile(log_odds, level, axis=0), atol=0.2 * log_odds.std())
    assert "posterior draws" in str(found)
    assert_allclose(slopes(model, X)["estimate"], slopes(model, X, rng=3)["estimate"], atol=2e-4)


@pytest.mark.parametrize("question", [comparisons, predictions, slopes])
def test_in_large_tables_some_rows_are_enough_for_what_is_not_linear_in_the_weights(question, monkeypatch):
    model = sx.TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(0.5)))
    model.fit(*make_loans(300, as_frame=True, rng=0))
    rows, _ = make_loans(4000, as_frame=True, rng=1)
    wanted = {"income": [20, 200], "age": [30]} if question is predictions else ["income", "age"]
    expected = question(model, rows, wanted, by="owns_home", rng=1)
    monkeypatch.setattr(averages, "MAX_DRAWN_PREDICTIONS", 1)
    monkeypatch.setattr(averages, "MIN_DRAWN_ROWS", 1000)
    found = question(model, rows, wanted, by="owns_home", rng=1)
    assert "one row in 4" in str(found).replace("\n", " ")
    error = expected["standard_error"]
    assert_allclose(found["standard_error"], error, rtol=0.05)
    for name, most in (("estimate", 0.05), ("lower", 0.15), ("upper", 0.15)):
        assert (np.abs(found[name] - expected[name]) < most * error).all()


def test_slopes_of_draws_are_limits_of_steps(table):
    model = sx.TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(0.5)), curved=True)
    model.fit(columns(table), three(table))
    up, down = (comparisons(model, table, {"income": step}, rng=0) for step in (1e-3, -1e-3))
    found = slopes(model, table, "income", rng=0)
    assert_allclose(found["estimate"], (up["estimate"] - down["estimate"]) / 2e-3, atol=1e-4)
    assert_allclose(found["standard_error"], up["standard_error"] / 1e-3, rtol=0.02)


def test_the_average_prediction_of_a_posterior_is_that_of_predict_proba(table):
    X = table[["income"]].assign(age=table["age"].fillna(40))
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, table["paid"])
    found = predictions(model, X)
    assert_allclose(found["estimate"], model.predict_proba(X)[:, 1].mean(), atol=0.02 * found["standard_error"][0])


def test_the_kind_of_table_does_not_matter(table):
    X, y = table[["income"]].assign(age=table["age"].fillna(40)), three(table)
    plain = sx.LogisticRegression().fit(X.to_numpy(), y)
    named = sx.LogisticRegression().fit(X, y)
    expected = comparisons(named, X)
    for data in (X[["age", "income"]], X.assign(other="text"), pl.from_pandas(X)):
        assert_array_equal(comparisons(named, data)["estimate"], expected["estimate"])
    found = comparisons(plain, X.to_numpy())
    assert found.names[0] == "x0"
    assert_allclose(found["estimate"], expected["estimate"], rtol=1e-12)
    groups = np.round(X.to_numpy() / 40)
    by_code = comparisons(plain, np.column_stack([groups[:, 0], X["age"]]), "x1", by="x0")
    assert by_code["x0"][::3] == sorted({int(g) for g in groups[:, 0]})


def test_files_and_workers_give_the_result_of_memory(model, table, tmp_path, monkeypatch):
    table.to_csv(tmp_path / "all.csv", index=False)
    table.to_parquet(tmp_path / "all.parquet")
    monkeypatch.setattr("separatrix.rows.memory.MIN_BLOCK_ROWS", 16)
    monkeypatch.setattr("separatrix.rows.memory.BLOCK_BYTES", 2**14)  # several blocks
    expected = comparisons(model, table, by=["state", "member"])
    for data in (
        tmp_path / "all.csv",
        str(tmp_path / "all.parquet"),
        sx.scan(tmp_path / "all.parquet", target="paid"),
        sx.scan(tmp_path / "all.parquet", client=True),
    ):
        found = comparisons(model, data, by=["state", "member"])
        assert found.names == expected.names
        assert found["state"] == expected["state"]
        for name in ("estimate", "standard_error"):
            assert_allclose(found[name], expected[name], rtol=1e-9)
    with pytest.raises(DataError, match="has no column 'stat'. Did you mean 'state'"):
        comparisons(model, tmp_path / "all.csv", by="stat")


def test_dask_collections_give_the_result_of_memory(table):
    dd = pytest.importorskip("dask.dataframe")
    X, y = table[["income"]].assign(age=table["age"].fillna(40)), three(table)
    model = sx.LogisticRegression().fit(X, y)
    data = X.assign(state=table["state"])
    expected = comparisons(model, data, by="state")
    found = comparisons(model, dd.from_pandas(data, npartitions=3), by="state")
    for name in ("estimate", "standard_error"):
        assert_allclose(found[name], expected[name], rtol=1e-10)
    assert_allclose(slopes(model, dd.from_pandas(X, npartitions=2))["estimate"], slopes(model, X)["estimate"])


def test_weights_of_a_scan_count_rows(model, table, tmp_path):
    times = np.arange(N) % 3
    table.assign(times=times).to_parquet(tmp_path / "all.parquet")
    repeated = table.loc[np.repeat(np.arange(N), times)]
    expected = comparisons(model, repeated, {"age": 5}, by="state")
    found = comparisons(model, sx.scan(tmp_path / "all.parquet", weight="times"), {"age": 5}, by="state")
    assert_allclose(found["estimate"], expected["estimate"], rtol=1e-10)
    assert_allclose(found["standard_error"], expected["standard_error"], rtol=1e-10)


def test_a_decision_rule_has_the_effects_of_its_model(table):
    X, y = table[["income"]], table["paid"]
    model = sx.LogisticRegression().fit(X, y)
    costs = np.array([[0, 1], [5, 0]])
    fitted, given = sx.DecisionRule(sx.LogisticRegression(), costs=costs).fit(X, y), {"costs": costs, "prefit": True}
    for rule in (fitted, sx.DecisionRule(model, **given)):
        assert_allclose(comparisons(rule, X)["estimate"], comparisons(model, X)["estimate"])
        assert_allclose(importance(rule, X, y, rng=0)["estimate"], importance(model, X, y, rng=0)["estimate"])


def test_dates_are_readable_in_every_table(model, table):
    days = [pd.Timestamp("2020-03-01"), pd.Timestamp("2021-03-01")]
    grid = predictions(model, table, {"joined": days})
    steps = comparisons(model, table, {"age": 5}, at={"joined": days})
    for found in (grid, steps):
        for text in (str(found), found._repr_html_(), found.to_latex()):
            assert "2020-03-01" in text
            assert "2021-03-01" in text


def test_columns_that_share_a_name_with_a_result_are_kept_apart(table):
    X = table[["income"]].assign(upper=np.arange(N) % 2)
    model = sx.LogisticRegression(alpha=0.5).fit(X, table["paid"])
    rows = table.assign(**{"upper": X["upper"], "class": np.arange(N) % 3})
    found = predictions(model, rows, by=["class", "upper"])
    assert found["class (column)"] == [0, 0, 1, 1, 2, 2]
    assert found["upper (column)"] == [0, 1] * 3
    assert (found["upper"] > found["estimate"]).all()
    curve = predictions(model, rows, {"upper": [0, 1, 2]})
    assert curve["upper (column)"] == [0, 1, 2]
    assert curve.plot().along == "upper (column)"


def test_columns_that_are_set_to_values_are_left_out_of_the_default_comparisons(model, table):
    found = comparisons(model, table, at={"city": "Ulm", "member": "yes"})
    assert set(found.names) == {"age", "income", "joined"}
    assert "default comparison" not in str(found)


def test_whole_numbers_with_missing_values_have_whole_steps_and_grids(table):
    rng = np.random.default_rng(0)
    X = table[["income"]].assign(children=np.where(rng.random(N) < 0.2, np.nan, rng.integers(0, 9, N)))
    model = sx.TableClassifier(sx.LogisticRegression()).fit(X, table["paid"])
    assert predictions(model, X, "children")["children"] == list(range(9))


def test_a_standard_deviation_of_dates_is_a_number_of_days(model, table):
    (contrast,) = comparisons(model, table, {"joined": "sd"})["contrast"]
    assert contrast == f"+{round(table['joined'].std(ddof=0).total_seconds() / 86_400)} days"


@pytest.mark.parametrize(
    ("ask", "values"),
    [
        (lambda m, t: predictions(m, t, {"age": [40, 300, 500]}), "300 and 500"),
        (lambda m, t: comparisons(m, t, {"age": [30, 300]}), "300"),
        (lambda m, t: comparisons(m, t, {"income": 5}, at={"age": 300}), "300"),
        (lambda m, t: slopes(m, t, "income", at={"age": 300}), "300"),
        (lambda m, t: comparisons(m, t, {"age": 1000}), "a step of +1000"),
    ],
)
def test_values_outside_of_the_training_data_are_named(model, table, ask, values):
    low, high = int(table["age"].min()), int(table["age"].max())
    note = f"Column 'age' is {low} to {high} in training. Predictions for {values} are extrapolated."
    assert note in ask(model, table).notes
    arrays = sx.LogisticRegression().fit(table[["income", "age"]].fillna(40), table["paid"])
    found = ask(arrays, table.fillna({"age": 40}))
    assert note.replace("training", "these rows") in found.notes


def test_usual_values_have_no_note(model, table):
    for found in (comparisons(model, table), predictions(model, table, ["age", "joined"]), slopes(model, table)):
        assert "extrapolated" not in str(found)


def test_dates_outside_of_the_training_data_are_named(model, table):
    found = predictions(model, table, {"joined": [pd.Timestamp("2050-01-01")]})
    assert "for 2050-01-01 are extrapolated" in str(found).replace("\n", " ")


def test_probabilities_of_reweighted_classes_have_a_note(table):
    X, y = table[["income"]], table["paid"]
    found = predictions(sx.LogisticRegression(class_weight={"late": 9}).fit(X, y), X)
    assert abs(found["estimate"][0] - (y == "on time").mean()) > 0.2
    assert "class_weight" in str(found)
    corrected = predictions(sx.LogisticRegression(class_weight={"late": 9}, prior_correction=True).fit(X, y), X)
    assert abs(corrected["estimate"][0] - (y == "on time").mean()) < 0.05
    assert "class_weight" not in str(corrected)


def test_many_terms_take_several_passes_with_the_same_result(model, table, monkeypatch):
    expected = comparisons(model, table, by="state")
    monkeypatch.setattr(averages, "MAX_SUM_FLOATS", 1)
    found = comparisons(model, table, by="state")
    for name in ("estimate", "standard_error"):
        assert_array_equal(found[name], expected[name])


def test_groups_in_which_a_column_is_missing_are_left_out_with_a_note(model, table):
    gaps = table.assign(age=table["age"].where(table["state"] == "north", np.nan))
    found = comparisons(model, gaps, {"age": 5}, by="state")
    assert found["state"] == ["north"]
    assert "Left out" in str(found)
    with pytest.raises(DataError, match="every value of age is missing"):
        comparisons(model, table.assign(age=np.nan), {"age": 5})


def test_texts_have_no_default_comparison_but_can_be_compared():
    words = np.random.default_rng(0).choice(["good", "bad", "fine", "poor", "nice"], (200, 3))
    table = pd.DataFrame({"review": [f"a {a} and {b} and {c} day" for a, b, c in words], "n": np.arange(200) % 7})
    y = (words == "good").any(axis=1)
    model = sx.TableClassifier(sx.LogisticRegression(), types={"review": "text"}).fit(table, y)
    found = comparisons(model, table)
    assert found.names == ("n",)
    assert "left out: 'review'" in str(found)
    with pytest.raises(DataError, match="'review' is text, so it has no default comparison. List the values"):
        comparisons(model, table, "review")
    texts = ["a poor day", "a good day"]
    low, high = (model.predict_proba(table.assign(review=text))[:, 1].mean() for text in texts)
    assert_allclose(comparisons(model, table, {"review": texts})["estimate"], high - low, rtol=1e-12)


def test_estimates_of_a_blend_are_those_of_the_posterior_and_a_note_says_so(table):
    X = table[["income"]]
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, table["paid"])
    plain, q = predictions(model, X), model.posterior_
    theta = q.approximation.mean[None] + 1.0
    blend = Blend(np.ones(1), np.full(1, 0.5), theta, np.full(1, 0.5))
    for changed, word in ((replace(q, blend=blend), "single weight vectors"), (replace(q, variance_factor=0.5), "0.5")):
        model.posterior_ = changed
        assert abs(model.predict_proba(X)[:, 1].mean() - plain["estimate"][0]) > 1e-6
        found = predictions(model, X)
        assert_array_equal(found["estimate"], plain["estimate"])
        assert word in " ".join(str(found).split("predict_proba")[1].split())


def test_collinear_columns_have_effects_without_errors_and_a_note(table):
    X = table[["income"]].assign(cents=100 * table["income"])
    with pytest.warns(sx.exceptions.CollinearWarning):
        model = sx.LogisticRegression(alpha=0).fit(X, table["paid"])
    found = comparisons(model, X)
    assert np.isnan(found["standard_error"]).all()
    assert "collinear" in str(found)
    assert np.isfinite(predictions(model, X)["standard_error"]).all()


def test_columns_that_a_generalised_linear_model_leaves_out_are_refused_and_do_not_matter(table):
    X = table[["income"]].assign(age=table["age"].fillna(40), both=table["income"] + table["age"].fillna(40))
    t = np.arange(N) % 5
    with pytest.warns(sx.exceptions.CollinearWarning):
        model = sx.GeneralizedLinearModel("poisson").fit(X, t)
    smaller = sx.GeneralizedLinearModel("poisson").fit(X[["income", "age"]], t)
    found, expected = comparisons(model, X), comparisons(smaller, X)
    assert "left out: 'both'" in str(found)
    for name in ("estimate", "standard_error"):
        assert_allclose(found[name], expected[name], rtol=1e-8)
    with pytest.raises(DataError, match="does not use column 'both': it is constant, or a combination"):
        comparisons(model, X, "both")


def test_separation_is_stated(table):
    X = table[["income"]]
    with pytest.warns(sx.exceptions.SeparationWarning):
        model = sx.LogisticRegression(alpha=0).fit(X, table["income"] > 25)
    assert "separated" in str(comparisons(model, X))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m, t: comparisons(m, t, "agee"), "no column 'agee'. Did you mean 'age'?"),
        (lambda m, t: comparisons(m, t, "constant"), "does not use column 'constant': every value is 'same'"),
        (lambda m, t: comparisons(m, t, {"city": ["Ulm", "Bon"]}), "'Bon' is not a value of column 'city'. Did you"),
        (lambda m, t: comparisons(m, t, {"age": "old"}), "'old' is not a comparison for 'age'"),
        (lambda m, t: comparisons(m, t, {"age": "pairwise"}), "'age' has no levels"),
        (lambda m, t: comparisons(m, t, {"age": [30]}), "two values or more"),
        (lambda m, t: comparisons(m, t, {"age": 0}), "not a step"),
        (lambda m, t: comparisons(m, t, {"city": 5}), "'city' is of type categorical, so it has no step"),
        (lambda m, t: comparisons(m, t, comparison="odds"), "choose one of 'difference'"),
        (lambda m, t: comparisons(m, t, {"age": 5}, hypothesis="pairwise"), "nothing to compare"),
        (lambda m, t: comparisons(m, t, {"age": 5}, hypothesis="b1 = b2"), "choose 'pairwise', 'reference'"),
        (lambda m, t: comparisons(m, t, by="sate"), "Did you mean 'state'?"),
        (lambda m, t: comparisons(m, t, by=3), "name a column of the table, or list several"),
        (lambda m, t: comparisons(m, t, by="income"), "'income'.: the rows have 240 groups, more than 200"),
        (lambda m, t: predictions(m, t, by="city", at={"city": "Ulm"}), "column 'city' is in by= and set to values"),
        (lambda m, t: predictions(m, t, "city", by="city"), "column 'city' is in by= and set to values"),
        (lambda m, t: predictions(m, t, {"age": [30, 50]}, at={"age": 40}), "'age' is in both variables= and at="),
        (lambda m, t: comparisons(m, t, {"age": [30, 50]}, at={"age": 40}), "'age' is in both variables= and at="),
        (lambda m, t: slopes(m, t, "age", by="city", at={"city": "Ulm"}), "'city' is in both by= and at="),
        (lambda m, t: comparisons(m, t, {"city": [None, "Ulm"]}), "None is not a value of column 'city'. It had no"),
        (lambda m, t: comparisons(None, t), "pass a fitted model"),
        (lambda m, t: comparisons(LinearRegression().fit([[1]], [1]), t), "sklearn.LinearRegression has none"),
        (lambda m, t: comparisons(m, t, at=["age"]), "map columns to values"),
        (lambda m, t: comparisons(m, t, at={"member": "maybe"}), "Its values are 'no' and 'yes'"),
        (lambda m, t: comparisons(m, t, at={"age": "old"}), "It contains numbers"),
        (lambda m, t: slopes(m, t, "city"), "'city' has no slope, because it is not a number"),
        (lambda m, t: slopes(m, t, "joined"), "its effect has steps .month"),
        (lambda m, t: slopes(m, t, {"age": 5}), "slopes have no step"),
        (lambda m, t: predictions(m, t, level=1.5), "between 0 and 1"),
    ],
)
def test_a_mistake_is_named_with_its_remedy(model, table, ask, message):
    with pytest.raises(ValueError, match=message):
        ask(model, table)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (sx.Perceptron(), "Perceptron has no weight_distribution_"),
        (sx.LinearDiscriminantAnalysis(), "LinearDiscriminantAnalysis has no weight_distribution_"),
        (sx.LogisticRegression(prior=sx.ElasticNet(1.0)), "corners"),
    ],
)
def test_models_without_a_distribution_of_their_weights_are_refused(table, model, message):
    X = table[["income"]]
    with pytest.raises(DataError, match=message):
        comparisons(model.fit(X, table["paid"]), X)


def test_a_ratio_of_zero_probabilities_is_refused(table):
    model = sx.LogisticRegression(prior=sx.Gaussian(1e3)).fit(table[["income"]], table["paid"])
    with pytest.raises(DataError, match="an average is 0 .income, 1e.06 vs. -1e.06"):
        comparisons(model, table, {"income": [-1e6, 1e6]}, comparison="ratio")


def test_a_count_has_no_odds(table):
    X = table[["income"]]
    model = sx.GeneralizedLinearModel("poisson").fit(X, np.arange(N) % 5, exposure=np.full(N, 2.0))
    with pytest.raises(DataError, match="predicts means"):
        comparisons(model, X, comparison="odds ratio")
    found = predictions(model, X)
    assert_allclose(found["estimate"], model.predict(X).mean(), rtol=1e-12)
    assert "offset" in str(found)
    assert found.names == ("mean",)
