"""Explanations of single predictions: contributions, their intervals, and what would change the decision."""

import itertools
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.exceptions import DataError, SeparationWarning
from separatrix.explanation import columns_of_schema
from separatrix.explanation.result import with_interval
from separatrix.explanation.scores import LinearScores, large_of, with_total
from separatrix.likelihoods import Logit, Probit, Softmax
from separatrix.table import Schema


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal([0.0, 10.0, -3.0], [1.0, 5.0, 0.1], size=(300, 3))
    a = (X - [0.0, 10.0, -3.0]) @ [1.0, -0.4, 5.0] + 0.3
    return X, np.where(a + rng.logistic(size=300) > 0, "yes", "no")


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, load_iris().target_names[y]


@pytest.fixture(scope="module")
def mixed():
    table, y = make_mixed_types(400, as_frame=True, rng=0)
    return table, y, sx.TableClassifier().fit(table, y)


BINARY = {
    "logistic": sx.LogisticRegression(),
    "maximum likelihood": sx.LogisticRegression(alpha=0),
    "elastic net": sx.LogisticRegression(prior=sx.ElasticNet(1.0, 0.5)),
    "no intercept": sx.LogisticRegression(fit_intercept=False),
    "probit": sx.ProbitRegression(),
    "noise": sx.LabelNoiseLogisticRegression(),
    "bayesian": sx.BayesianLogisticRegression(),
    "discriminant": sx.LinearDiscriminantAnalysis(),
    "naive": sx.NaiveBayes(),
    "tempered": sx.NaiveBayes(temper=True),
    "basis": sx.LogisticRegression(basis=sx.basis.RBF("kmeans", n_centres=3)),
    "calibrated": sx.Calibrated(sx.LogisticRegression(), method="platt"),
    "rule": sx.DecisionRule(sx.LogisticRegression(), costs={("yes", "no"): 5}),
}


def adds_up(explanation, P, classes):
    """Contributions add up on both scales, to the probability that the model predicts."""
    for row, p in zip(explanation.rows, P, strict=True):
        for name in ("estimate", "probability"):
            column = row.columns[name]
            assert abs(column[:-1].sum() - column[-1]) <= 1e-12 * max(1.0, np.abs(column).max())
        assert row.probability == p[list(classes).index(row.label)]
        assert row.columns["probability"][-1] == row.probability


@pytest.mark.parametrize("name", BINARY)
def test_contributions_of_two_classes_add_up_to_the_prediction(name, numbers):
    X, y = numbers
    model = BINARY[name].fit(X, y)
    reference = X if name == "elastic net" else None
    found = model.explain(X[:3], reference)
    adds_up(found, model.predict_proba(X[:3]), model.classes_)
    assert [row.decision for row in found.rows] == model.predict(X[:3]).tolist()
    logit = special.ndtri if name == "probit" else special.logit
    np.testing.assert_allclose(
        [row.columns["estimate"][-1] for row in found.rows], logit(model.predict_proba(X[:3])[:, 1])
    )
    other = model.explain(X[:3], reference, label="no")
    np.testing.assert_allclose(other.columns["estimate"], -found.columns["estimate"], atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        sx.LogisticRegression(),
        sx.BayesianLogisticRegression(),
        sx.LinearDiscriminantAnalysis(),
        sx.NaiveBayes(),
        sx.OneVsRest(sx.LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_contributions_of_three_classes_add_up_to_the_prediction(model, iris):
    X, y = iris
    model = model.fit(X, y)
    rows = X.iloc[[0, 60, 120]]
    found = model.explain(rows)
    adds_up(found, model.predict_proba(rows), model.classes_)
    assert [row.label for row in found.rows] == model.predict(rows).tolist()


def test_contributions_of_a_linear_model_are_weights_times_distances_from_the_mean(numbers):
    X, y = numbers
    model = sx.LogisticRegression(alpha=0).fit(X, y)
    row = model.explain(X[:1])[0]
    found = dict(zip(row.names, zip(row.columns["estimate"], row.columns["standard_error"], strict=True), strict=True))
    moved, errors = X[0] - X.mean(axis=0), np.sqrt(np.diag(model.weight_distribution_.covariance))[:3]
    for d in range(3):
        np.testing.assert_allclose(found[f"x{d}"], (model.coef_[0, d] * moved[d], errors[d] * abs(moved[d])), rtol=1e-9)
    design = np.append(X[0], 1.0)
    variance = design @ model.weight_distribution_.covariance @ design
    np.testing.assert_allclose(found["(this row)"], (model.decision_function(X[:1])[0], np.sqrt(variance)), rtol=1e-9)
    a = model.decision_function(X[:1])[0] + special.ndtri([0.025, 0.975]) * np.sqrt(variance)
    np.testing.assert_allclose(row.interval, special.expit(a), rtol=1e-9)


def game(likelihood, n_lines, size, rng=1):
    """Activations (1, C + 2, K) of a reference, contributions of lines, and their total."""
    random, K = np.random.default_rng(rng), likelihood.n_outputs
    start, A = random.normal(size=K), size * random.normal(size=(n_lines, K))
    return np.concatenate([start[None], A, (start + A.sum(axis=0))[None]])[None]


def shapley_values(probability, start, A):
    """Average change of the probability over all orders of the lines."""
    orders = list(itertools.permutations(range(len(A))))
    found = np.zeros(len(A))
    for order in orders:
        path = probability(start + np.cumsum(np.vstack([0 * start, A[list(order)]]), axis=0))
        found[list(order)] += np.diff(path) / len(orders)
    return found


def class_of(likelihood, a):
    return likelihood.probabilities(a[:, 0] if likelihood.n_outputs == 1 else a)[:, 1]


@pytest.mark.parametrize("size", [0.1, 4.0, 30.0])
@pytest.mark.parametrize("likelihood", [Logit(), Probit(), Softmax(3)])
def test_few_contributions_to_a_probability_are_averages_over_all_orders(likelihood, size):
    a = game(likelihood, 5, size)
    found = with_total(LinearScores(a[0], likelihood), a, 1, np.arange(5))[0]
    expected = shapley_values(partial(class_of, likelihood), a[0, 0], a[0, 1:-1])
    np.testing.assert_allclose(found[1:-1], expected, atol=1e-12)


@pytest.mark.parametrize("likelihood", [Logit(), Probit(), Softmax(3)])
@pytest.mark.parametrize("n_large", [0, 1])
def test_other_contributions_to_a_probability_are_integrals_along_the_path(likelihood, n_large):
    """The line that changes at once does so at a random time, on a path along which all others change gradually."""
    a = game(likelihood, 5, 4.0)
    (start, *A), h = a[0, :-1], 1e-5
    found = with_total(LinearScores(a[0], likelihood), a, 1, np.arange(n_large))[0]
    gradual = np.sum(A[n_large:], axis=0)

    def value(t, jump, c, side):
        away = 0.0 if c is None else side * h / 2 * A[c]
        return class_of(likelihood, (start + jump * A[0] + t * gradual + away)[None])[0]

    def slope(t, c):
        chances = [(0.0, 1.0)] if n_large == 0 else [(0.0, 1.0 - t), (1.0, t)]
        return sum(chance * (value(t, jump, c, 1) - value(t, jump, c, -1)) / h for jump, chance in chances)

    expected = [integrate.quad(slope, 0, 1, args=(c,), epsabs=1e-12)[0] for c in range(n_large, 5)]
    np.testing.assert_allclose(found[1 + n_large : -1], expected, atol=1e-8)
    if n_large:
        jumps = integrate.quad(lambda t: value(t, 1.0, None, 0) - value(t, 0.0, None, 0), 0, 1, epsabs=1e-12)[0]
        np.testing.assert_allclose(found[1], jumps, atol=1e-11)


@pytest.mark.parametrize("likelihood", [Logit(), Probit(), Softmax(4)])
@pytest.mark.parametrize("n_lines", [3, 12, 40])
def test_contributions_to_a_probability_add_up(likelihood, n_lines):
    a = game(likelihood, n_lines, 2.0)
    found = with_total(LinearScores(a[0], likelihood), a, 1, large_of(a[0, :, -1]))[0]
    np.testing.assert_allclose(found[:-1].sum(), found[-1], atol=1e-10)


def test_opposing_columns_change_a_probability_by_less_than_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = rng.random(400) < special.expit(6 * X.sum(axis=1))
    row = sx.LogisticRegression(alpha=0.1).fit(X, y).explain([[3.0, -3.0]])[0]
    assert np.abs(row.columns["estimate"][1:-1]).min() > 10
    for name in ("probability", "probability_lower", "probability_upper"):
        assert np.abs(row.columns[name][1:-1]).max() < 1


def test_intervals_of_contributions_to_the_probability_are_quantiles_over_the_posterior(numbers):
    X, y = numbers
    model = sx.BayesianLogisticRegression().fit(X, y)
    row = model.explain(X[:1], X[10:11])[0]
    W = model.posterior_.sample(200_000, 3)
    A = W[:, :3] * (X[0] - X[10])
    start = W @ np.append(X[10], 1.0)
    sets = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    p = {tuple(each): special.expit(start + A @ each) for each in sets}
    drawn = np.zeros_like(A)
    for order in itertools.permutations(range(3)):
        for n, d in enumerate(order):
            before = np.isin(np.arange(3), order[:n]).astype(float)
            drawn[:, d] += (p[tuple(before + np.eye(3)[d])] - p[tuple(before)]) / 6
    for d in range(3):
        at = row.names.index(f"x{d}")
        found = row.columns["probability_lower"][at], row.columns["probability_upper"][at]
        expected = np.quantile(drawn[:, d], [0.025, 0.975])
        np.testing.assert_allclose(found, expected, atol=0.15 * np.ptp(expected))  # 2000 draws


def test_a_row_that_is_its_own_reference_has_no_contributions(mixed):
    table, _, model = mixed
    row = model.explain(table.iloc[[7]], table.iloc[[7]])[0]
    inner = [at for at, name in enumerate(row.names) if not name.startswith("(")]
    assert np.abs(row.columns["estimate"][inner]).max() == 0
    assert row.reference == "the given row"


def test_columns_are_those_of_the_table_and_pairs_have_lines_of_their_own(mixed):
    table, y, _ = mixed
    model = sx.TableClassifier(curved=True, interactions=[("calls", "tenure")]).fit(table, y)
    found = model.explain(table.iloc[:2])
    adds_up(found, model.predict_proba(table.iloc[:2]), model.classes_)
    lines = {name for name in found[0].names if not name.startswith("(")}
    assert lines == {*table.columns, "calls × tenure"}


def test_the_smallest_change_of_one_number_is_where_the_line_crosses_the_boundary(numbers):
    X, y = numbers
    model = sx.LogisticRegression().fit(X, y)
    changes = model.explain(X[:1], X)[0].changes
    assert changes.single
    for change in changes.single:
        d = int(change.columns[0][1:])
        crossing = X[0, d] - model.decision_function(X[:1])[0] / model.coef_[0, d]
        assert abs(float(change.after[0]) - crossing) <= 0.02 * np.ptp(X[:, d])
        moved = X[:1].copy()
        moved[0, d] = float(change.after[0])
        assert model.predict(moved)[0] == change.decision != model.predict(X[:1])[0]
        assert X[:, d].min() <= moved[0, d] <= X[:, d].max()


def test_the_smallest_change_of_two_numbers_is_the_nearest_point_of_the_boundary(numbers):
    X, y = numbers
    model = sx.LogisticRegression().fit(X, y)
    n = int(np.argsort(np.abs(model.decision_function(X)))[100])
    changes = model.explain(X[[n]], X)[0].changes
    slopes = np.abs(model.coef_[0]) * np.ptp(X, axis=0)
    for change in changes.pairs:
        a, b = (int(name[1:]) for name in change.columns)
        nearest = abs(model.decision_function(X[[n]])[0]) / np.hypot(slopes[a], slopes[b])
        assert nearest <= change.distance <= 1.15 * nearest + 0.01  # numbers are rounded to three digits
    assert changes.pairs


def test_changes_use_levels_and_leave_fixed_columns_alone(mixed):
    table, _, model = mixed
    n = int(np.argmin(np.abs(model.predict_proba(table)[:, 1] - 0.35)))
    row = model.explain(table.iloc[[n]])[0]
    changed = {name for change in (*row.changes.single, *row.changes.pairs) for name in change.columns}
    assert "contract" in changed
    for change in row.changes.single:
        moved = table.iloc[[n]].copy()
        dtype = moved[change.columns[0]].dtype
        moved[change.columns[0]] = pd.Series([change.after[0]], index=moved.index).astype(dtype)
        assert abs(model.predict_proba(moved)[0, 1] - change.probability) < 0.01  # shown with four digits
        assert change.decision == "stays"
    fixed = model.explain(table.iloc[[n]], fixed=["contract", "tenure"])[0]
    changed = {name for change in (*fixed.changes.single, *fixed.changes.pairs) for name in change.columns}
    assert changed
    assert not {"contract", "tenure"} & {*changed, *fixed.changes.never}
    with pytest.raises(DataError, match=r"'tenur'.*Did you mean 'tenure'"):
        model.explain(table.iloc[[n]], fixed=["tenur"])


def test_the_threshold_moves_the_decision(numbers):
    X, y = numbers
    model = sx.LogisticRegression().fit(X, y)
    p = model.predict_proba(X[:1])[0, 1]
    assert model.explain(X[:1], threshold=p - 1e-6)[0].decision == "yes"
    low = model.explain(X[:1], X, threshold=min(p + 0.02, 0.99))[0]
    assert low.decision == "no"
    assert low.changes.single[0].distance < 0.1
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.explain(X[:1], threshold=7)


def test_a_rule_is_explained_by_its_own_decisions(mixed):
    table, _, model = mixed
    rule = sx.DecisionRule(model, costs={("leaves", "stays"): 20}, prefit=True)
    found = rule.explain(table.iloc[:5])
    assert [row.decision for row in found.rows] == rule.predict(table.iloc[:5]).tolist()
    assert "by expected cost" in str(found)
    with pytest.raises(ValueError, match="its own costs"):
        rule.explain(table.iloc[:1], threshold=0.3)


def test_values_outside_of_the_training_data_and_new_levels_are_warned_of(mixed):
    table, _, model = mixed
    row = table.iloc[[5]].copy()
    row["charge"], row["contract"] = 300.0, "weekly"
    first, second = model.explain(row)[0].warnings
    assert "charge = 300 lies outside of the training data" in first
    assert "contract = 'weekly' did not occur in training" in second
    assert model.explain(table.iloc[[5]])[0].warnings == ()
    assert "is missing" in model.explain(table.iloc[[5]].assign(calls=np.nan))[0].warnings[0]
    X, y = np.arange(20.0)[:, None], np.arange(20) % 3 > 0
    (warning,) = sx.LogisticRegression().fit(X, y).explain([[99.0]], X)[0].warnings
    assert "x0 = 99" in warning


def test_a_row_may_be_a_dict_a_series_or_a_vector(mixed, numbers):
    table, _, model = mixed
    expected = model.explain(table.iloc[[3]]).columns["estimate"]
    np.testing.assert_array_equal(model.explain(table.iloc[3].to_dict()).columns["estimate"], expected)
    np.testing.assert_array_equal(model.explain(table.iloc[3]).columns["estimate"], expected)
    X, y = numbers
    model = sx.LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(model.explain(X[0]).columns["estimate"], model.explain(X[:1]).columns["estimate"])


def test_rows_have_the_labels_of_their_index(numbers):
    X, y = numbers
    model = sx.LogisticRegression().fit(X, y)
    table = pd.DataFrame(X, columns=["x0", "x1", "x2"]).set_index(pd.Index([f"id{n}" for n in range(len(X))]))
    found = sx.LogisticRegression().fit(table, y).explain(table.iloc[[17, 4]])
    assert str(found).startswith("Row id17: ")
    assert found.to_pandas()["row"].unique().tolist() == ["id17", "id4"]
    assert [row.number for row in model.explain(X[5:7]).rows] == [0, 1]


def test_values_far_from_the_mean_are_warned_of_if_the_range_is_unknown(numbers):
    X, y = numbers
    model = sx.LogisticRegression().fit(X, y)
    mean, std = X.mean(axis=0), X.std(axis=0)
    (far,) = model.explain(mean + np.array([0.0, 300.0, 9.0]) * std)[0].warnings
    assert "x1 = " in far
    assert "is 300 standard deviations from the mean" in far
    text = str(model.explain(mean + np.array([0.0, 300.0, 0.0]) * std))
    assert text.splitlines()[1].startswith("Warning: x1 = ")  # right below the probability


def test_columns_of_a_frame_are_found_by_name(numbers):
    X, y = numbers
    table = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    expected = sx.LogisticRegression().fit(table, y).explain(table[:3]).to_pandas()
    other = table.assign(name="Ada", y=y)[["y", "x2", "name", "x0", "x1"]]
    for rows, reference in ((other[:3], None), (other[:3], other)):
        found = sx.LogisticRegression().fit(table, y).explain(rows, reference)
        assert found[0].names == tuple(expected.index[:5])
        if reference is None:
            pd.testing.assert_frame_equal(found.to_pandas(), expected)
    single = sx.LogisticRegression().fit(table, y).explain(table.iloc[2])[0]
    assert single.number == 2
    np.testing.assert_allclose(single.columns["estimate"], expected["estimate"][-5:])


def test_notes_on_class_weights_and_on_more_than_two_classes(numbers, iris):
    X, y = numbers
    model = sx.LogisticRegression(class_weight={"yes": 3.0, "no": 1.0})
    assert "class weights" in model.fit(X, y).explain(X[:1]).notes[0]
    assert not any("class weights" in note for note in sx.LogisticRegression().fit(X, y).explain(X[:1]).notes)
    corrected = sx.LogisticRegression(class_weight="balanced", prior_correction=True).fit(X, y)
    assert not any("class weights" in note for note in corrected.explain(X[:1]).notes)
    X, y = iris
    assert "different signs" in sx.LogisticRegression().fit(X, y).explain(X[:1]).notes[0]


def test_a_curve_has_no_value_at_the_average_row(mixed):
    table, y, _ = mixed
    curved = sx.TableClassifier(curved=True).fit(table, y).explain(table[:1])[0]
    straight = sx.TableClassifier().fit(table, y).explain(table[:1])[0]
    for row, is_number in ((curved, False), (straight, True)):
        reference = dict(zip(row.names, row.references, strict=True))["tenure"]
        assert (reference != "average") is is_number


def test_separated_classes_have_no_intervals():
    X = np.arange(20.0)[:, None]
    with pytest.warns(SeparationWarning):
        model = sx.LogisticRegression(alpha=0).fit(X, X[:, 0] > 10)
    found = model.explain(X[:1])
    assert "lower" not in found[0].columns
    assert "separated" in found.notes[0]
    assert "lower" in sx.LogisticRegression(alpha=1.0).fit(X, X[:, 0] > 10).explain(X[:1])[0].columns


def test_models_without_a_range_say_why_there_are_no_changes(numbers):
    X, y = numbers
    for model in (sx.LinearDiscriminantAnalysis(), sx.NaiveBayes()):
        found = model.fit(X, y).explain(X[:1])
        assert not found[0].change_lines
        assert "no changes were searched for. Pass reference=X" in found.notes[-1]
        assert model.explain(X[:1], reference=X)[0].change_lines


@pytest.mark.parametrize(
    ("values", "decimals", "text"),
    [
        ((-0.01, -0.012, -0.003), 2, "-0.010 (-0.012 to -0.003)"),  # the interval does not contain 0
        ((-0.0, -0.0004, 0.5), 2, "+0.0000 (-0.0004 to +0.5000)"),
        ((1.5, 0.25, 2.75), 2, "+1.50 (+0.25 to +2.75)"),
        ((1e-9, -1e-9, 3e-9), 2, "+1e-09 (-1e-09 to +3e-09)"),
        ((1e20, 1e19, 1e21), 2, "+1e+20 (+1e+19 to +1e+21)"),
        ((25_000.4, 20_000.0, 30_000.0), 3, "+25,000 (+20,000 to +30,000)"),
        ((0.5, np.nan, np.nan), 3, "+0.500"),
    ],
)
def test_printed_intervals_contain_zero_only_if_they_do(values, decimals, text):
    assert with_interval(values, decimals, "+") == text


GLMS = {
    "poisson": lambda mu, rng: rng.poisson(mu),
    "gaussian": lambda mu, rng: 100 * np.log(mu) + rng.normal(size=len(mu)),
    "gamma": lambda mu, rng: rng.gamma(5.0, mu / 5),
    "bernoulli": lambda mu, rng: rng.random(len(mu)) < mu / (1 + mu),
}


@pytest.mark.parametrize("family", GLMS)
def test_means_of_generalised_linear_models_are_explained(family, rng):
    X = rng.normal([0.0, 5.0], [1.0, 2.0], size=(300, 2))
    y = GLMS[family](np.exp(0.3 * X[:, 0] - 0.1 * (X[:, 1] - 5)), rng)
    model = sx.GeneralizedLinearModel(family).fit(X, y.astype(float))
    explanation = model.explain(X[:4])
    for row, mean, interval in zip(explanation.rows, model.predict(X[:4]), model.predict_interval(X[:4]), strict=True):
        assert row.probability == pytest.approx(mean, rel=1e-9)
        assert row.interval == pytest.approx(tuple(interval), rel=1e-9)
        assert row.columns["mean"][-1] == row.probability
        for name in ("estimate", "mean"):
            np.testing.assert_allclose(row.columns[name][:-1].sum(), row.columns[name][-1], rtol=1e-9, atol=1e-10)
        a = dict(zip(row.names, row.columns["estimate"], strict=True))
        assert model.likelihood_.mean(np.array([a["(this row)"]]))[0] == pytest.approx(mean, rel=1e-9)
    moved = X[0] - X.mean(axis=0)
    found = dict(zip(explanation[0].names, explanation[0].columns["estimate"], strict=True))
    np.testing.assert_allclose([found["x0"], found["x1"]], model.coef_ * moved, rtol=1e-9)
    assert str(explanation).startswith("Row 0: mean = ")
    assert "decision" not in str(explanation)
    explanation[0].plot()
    other = model.explain(X[:1], reference=X[1:2])[0]
    assert other.columns["mean"][0] == pytest.approx(model.predict(X[1:2])[0], rel=1e-9)


def test_means_with_an_offset_have_a_note(rng):
    X, exposure = rng.normal(size=(100, 1)), rng.uniform(1, 3, 100)
    model = sx.GeneralizedLinearModel("poisson").fit(X, rng.poisson(exposure), exposure=exposure)
    assert "exposure of 1" in model.explain(X[:1]).notes[0]


def test_a_saved_model_gives_the_same_explanation(mixed, tmp_path):
    table, _, model = mixed
    sx.save(model, tmp_path / "model.sx")
    again = sx.load(tmp_path / "model.sx")
    assert str(again.explain(table.iloc[[3]])) == str(model.explain(table.iloc[[3]]))


def test_ranges_are_kept_in_the_schema_and_older_files_have_none(mixed):
    table, _, model = mixed
    schema = model.encoder_.schema_
    assert Schema.from_json(schema.to_json()) == schema
    plan = next(plan for plan in schema.plans if plan.column == "charge")
    assert (plan.low, plan.high) == (table["charge"].min(), table["charge"].max())
    older = columns_of_schema(Schema((replace(plan, low=None, high=None),), 400))[0]
    assert not older.can_change
    assert "did not keep its range" in older.why


def test_output_has_a_line_for_each_column_of_each_row(mixed):
    table, _, model = mixed
    found = model.explain(table.iloc[:3])
    frame = found.to_pandas()
    assert len(found) == frame["row"].nunique() == 3
    assert {"value", "reference", "estimate", "lower", "probability_upper"} <= set(frame)
    assert "stays" in found._repr_html_()
    assert "<table>" in found[0]._repr_html_()
    assert "Row 1: p(stays)" in str(found)
    assert r"\toprule" in found.to_latex()
    display = found.plot(row=1)
    assert len(display.names) == len(found[1].names)
    assert display.ax_.get_xlabel().startswith("p(stays)")


def test_a_wide_table_is_printed_with_its_largest_contributions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30))
    model = sx.LogisticRegression().fit(X, X[:, 0] + rng.normal(size=200) > 0)
    row = model.explain(X[:1])[0]
    short = row.shortened(15)
    assert "(15 other columns)" in short.names
    assert len(row.names) == 32
    np.testing.assert_allclose(short.columns["estimate"][:-1].sum(), short.columns["estimate"][-1])
    assert "(15 other columns)" in str(row)
    display = sx.plots.ExplanationDisplay.from_estimator(model, X[:1], scale="log-odds", most=4)
    assert len(display.names) == 7
    np.testing.assert_allclose(display.contribution[:-1].sum(), display.contribution[-1])


def test_contributions_that_the_data_do_not_identify_have_no_interval():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    X = np.column_stack([X, X[:, 0]])
    with pytest.warns(sx.exceptions.CollinearWarning):
        model = sx.LogisticRegression(alpha=0).fit(X, X[:, 1] + rng.normal(size=100) > 0)
    row = model.explain(X[:1])[0]
    is_known = dict(zip(row.names, np.isfinite(row.columns["lower"]), strict=True))
    assert is_known == {"(reference)": True, "x0": False, "x1": True, "x2": False, "(this row)": True}
    assert np.isnan(row.columns["probability_lower"][row.names.index("x0")])


REFUSED = {
    "side of its boundary": sx.Perceptron(weights="average"),
    "only a side": sx.LeastSquaresClassifier(),
    "products of columns": sx.QuadraticDiscriminantAnalysis(),
    "describes whole rows": sx.ExponentialFamilyClassifier("multivariate_normal"),
    "not linear": sx.LinearDiscriminantAnalysis(estimate="predictive"),
    "only for models of this package": sx.TableClassifier(SklearnLogisticRegression()),
    "Wrap one of them": sx.DecisionRule(SklearnLogisticRegression()),
}


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")
@pytest.mark.parametrize("reason", REFUSED)
def test_models_without_such_a_sum_refuse_with_the_reason(reason, numbers):
    X, y = numbers
    with pytest.raises(TypeError, match=reason):
        REFUSED[reason].fit(X, y).explain(X[:1])


def test_pairs_of_classes_refuse_with_the_reason(iris):
    with pytest.raises(TypeError, match="all pairs of classes"):
        sx.OneVsOne(sx.LogisticRegression()).fit(*iris).explain(iris[0].iloc[:1])


def test_bad_input_is_named(numbers, mixed, tmp_path):
    X, y = numbers
    model = sx.LogisticRegression().fit(X, y)
    with pytest.raises(DataError, match=r"'x1' of row 0 is nan"):
        model.explain([[0.0, np.nan, 1.0]])
    with pytest.raises(ValueError, match="the classes are 'no', 'yes'"):
        model.explain(X[:1], label="maybe")
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        model.explain(X[:1], level=95)
    with pytest.raises(DataError, match="has no rows"):
        model.explain(X[:1], X[:0])
    with pytest.raises(DataError, match="Pass a few rows in memory"):
        mixed[2].explain("new.csv")
    three = sx.LogisticRegression().fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="DecisionRule"):
        three.explain([[5.0, 3.0, 2.0, 1.0]], threshold=0.3)


def test_text_columns_of_naive_bayes_are_levels():
    table = pd.DataFrame({"visits": [0, 2, 1, 9, 7, 12], "plan": ["free", "free", "pro", "pro", None, "pro"]})
    model = sx.NaiveBayes({"visits": "poisson"}).fit(table, ["leaves"] * 3 + ["stays"] * 3)
    found = model.explain(table)
    adds_up(found, model.predict_proba(table), model.classes_)
    assert "free" in found[0].values
    assert "(missing)" in found[4].values
    changes = model.explain(table[3:4])[0].changes
    assert changes.never == ("plan",) or changes.single[0].columns == ("plan",)


def test_an_empty_table_is_refused(mixed):
    table, _, model = mixed
    with pytest.raises(DataError, match="no rows"):
        model.explain(table[:0])


def test_weights_beyond_the_memory_are_drawn_in_batches(numbers, monkeypatch):
    X, y = numbers
    model = sx.BayesianLogisticRegression().fit(X, y)
    whole = model.explain(X[:1])[0]
    for limit in ("MAX_KEPT_FLOATS", "MAX_BATCH_FLOATS"):
        monkeypatch.setattr(f"separatrix.explanation.scores.{limit}", 3000)
    batches = model.explain(X[:1])[0]
    np.testing.assert_array_equal(whole.columns["lower"], batches.columns["lower"])
    ends = whole.columns["probability_lower"], whole.columns["probability_upper"]
    np.testing.assert_allclose(batches.columns["probability_lower"], ends[0], atol=0.15 * np.nanmax(ends[1] - ends[0]))


def test_the_words_of_a_text_are_listed():
    rng = np.random.default_rng(0)
    topics = {
        "spam": "win free prize money now call claim offer",
        "ham": "meeting lunch tomorrow home see later thanks you",
    }
    common = [
        "the",
        "a",
        "of",
        "and",
        "to",
        "in",
        "it",
        "is",
        "was",
        "for",
        "on",
        "with",
        "as",
        "at",
        "by",
        "from",
        "that",
        "this",
        "be",
        "are",
    ]
    texts, labels = [], []
    for _ in range(400):
        label = str(rng.choice(["spam", "ham"]))
        own = rng.choice(topics[label].split(), 3)
        texts.append(" ".join(rng.permutation([*own, *rng.choice(common, 7)])))
        labels.append(label)
    table = pd.DataFrame({"message": texts})
    model = sx.TableClassifier(sx.LogisticRegression(), types={"message": "text"}).fit(table, labels)
    row = model.explain({"message": "win a free prize and lunch"})[0]
    (details,) = row.details
    listed = dict(part.rsplit(" ", 1) for part in details.removeprefix("Words of message: ").split(", "))
    assert all(float(listed[word]) > 0 for word in ("free", "win", "prize"))
    assert float(listed["lunch"]) < 0
    assert details in " ".join(str(row).split())


def test_an_explanation_can_be_pickled(mixed):
    table, _, model = mixed
    found = model.explain(table.iloc[:2])
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    assert list(map(str, again[1].changes.single)) == list(map(str, found[1].changes.single))


def test_robust_covariances_give_robust_intervals(numbers):
    X, y = numbers
    model = sx.LogisticRegression(alpha=0).fit(X, y)
    robust = model.with_covariance("HC1")
    plain, other = model.explain(X[:1])[0], robust.explain(X[:1])[0]
    np.testing.assert_allclose(other.columns["estimate"], plain.columns["estimate"])
    at = other.names.index("x1")
    expected = abs(X[0, 1] - X[:, 1].mean()) * np.sqrt(robust.weight_distribution_.covariance[1, 1])
    assert other.columns["standard_error"][at] == pytest.approx(expected)
    assert other.columns["standard_error"][at] != plain.columns["standard_error"][at]


def test_adjusted_log_odds_have_no_interval_of_the_sum(iris):
    model = sx.OneVsRest(sx.LogisticRegression()).fit(*iris)
    row = model.explain(iris[0].iloc[[60]])[0]
    assert row.interval is None
    assert np.isnan(row.columns["lower"][-1])
    assert np.isfinite(row.columns["lower"][0])
    assert "(sum to one)" in row.names
