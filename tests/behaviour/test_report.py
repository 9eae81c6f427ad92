"""The report of a study: its sentences and tables, the safety of its HTML, and its display in a browser."""

import base64
import hashlib
import math
import re
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, precision_score, recall_score, roc_auc_score

import separatrix as sx
from browsing import is_without_sideways_scroll, show, start
from separatrix.datasets import make_loans, make_mixed_types
from separatrix.metrics import Estimate
from separatrix.report import performance_of, positive_view, render, write_report
from separatrix.report.document import TEMPLATES
from separatrix.report.sections import (
    N_FOLDED_CARDS,
    N_VISIBLE_CARDS,
    colour,
    data_section,
    decisions_section,
    effects_section,
    importance_rows,
    models_section,
    provenance,
    usage_section,
)
from separatrix.report.summary import (
    HEADINGS,
    OTHER_MODEL_TOPICS,
    SAME_SOURCE,
    answer_sentences,
    calibration_sentence,
    main_caveat,
    passed_checks,
    warnings_on,
)
from separatrix.report.weights import Step, effect_text, factor_text, merge_two_levels, steps_of, weights_section
from separatrix.report.words import SPACE, fixed, percent
from separatrix.study import Effect, HeldOut, Note, Topic, conduct, examine
from separatrix.table_model import Coefficient, TableClassifier, explain

HOSTILE = "<script>alert(\"x\")</script> & 'quoted' {{ 7 * 7 }} 🦞"
FAST = ["prior only", "naive Bayes", "logistic (Bayesian)"]
WHEN = datetime(2024, 5, 6, 7, 8, tzinfo=UTC)
SECTIONS = ["data", "models", "model", "effects", "calibration", "decisions", "warnings", "use", "provenance"]
VOID = {"meta", "input", "br", "link", "hr"}
STUDIES = ["study_of_two", "study_of_five", "study_without_weights", "hostile_study"]


def customers(n, seed):
    """Table with missing values, an id to be dropped, and columns of four kinds."""
    table, y = make_mixed_types(n, as_frame=True, missing=0.05, rng=seed)
    joined = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n) * 2, unit="D")
    return table.assign(customer=y, customer_id=[f"c{i:05d}" for i in range(n)], joined=joined)


@pytest.fixture(scope="module")
def study_of_two():
    return conduct(customers(600, 0), "customer", name="customers.csv", models=FAST)


@pytest.fixture(scope="module")
def study_of_new_rows(study_of_two):
    """The same model examined on other rows."""
    return examine(study_of_two.model, customers(50, 9), "customer")


@pytest.fixture(scope="module")
def study_of_five():
    rng = np.random.default_rng(5)
    codes = rng.integers(5, size=240)
    table = pd.DataFrame(
        {
            "size": codes + rng.normal(size=240),
            "weight": rng.normal(size=240) - 0.7 * codes,
            "colour": np.array(["red", "green", "blue", "teal"])[(codes + rng.integers(3, size=240)) % 4],
            "species": np.array(["setosa", "versicolor", "virginica", "pallida", "one with a long name"])[codes],
        }
    )
    return conduct(table, "species", test_share=0.5, name="irises.parquet", models=["logistic (Bayesian)"])


@pytest.fixture(scope="module")
def study_without_weights():
    return conduct(customers(300, 1), "customer", models=["naive Bayes"])


@pytest.fixture(scope="module")
def hostile_study():
    rng = np.random.default_rng(8)
    x = rng.normal(size=200)
    table = pd.DataFrame(
        {
            HOSTILE: x,
            "w" * 300: rng.normal(size=200),
            "level": np.array([HOSTILE, "</style>", "b" * 200])[rng.integers(3, size=200)],
            "<b>target</b>": np.where(x + rng.normal(size=200) > 0, HOSTILE, "a&b<c>" + "long" * 60),
        }
    )
    return conduct(table, "<b>target</b>", name=HOSTILE, models=["logistic (Bayesian)"])


def with_predictions(study, P):
    held = study.held_out
    return replace(study, held_out=HeldOut(held.codes[: len(P)], P, held.classes), notes=())


def too_sure(study):
    """Overconfident predictions: probability 0.99, but half of them are wrong."""
    n = len(study.held_out.codes)
    return with_predictions(study, np.where(np.arange(n)[:, None] % 2 == [0, 1], 0.99, 0.01))


def answer(study):
    return " ".join(answer_sentences(study, performance_of(study))).replace(SPACE, " ")


def test_metrics_agree_with_scikit_learn(study_of_two):
    perf, P, codes = performance_of(study_of_two), study_of_two.held_out.P, study_of_two.held_out.codes
    assert perf.log_loss.value == pytest.approx(-study_of_two.comparison[study_of_two.choice.name].test.rows.mean())
    assert perf.log_loss.value == pytest.approx(log_loss(codes, P), rel=0.01)  # a mean over repeats of the logarithm
    assert perf.accuracy.value == pytest.approx(accuracy_score(codes, P.argmax(axis=1)))
    assert perf.auc.value == pytest.approx(roc_auc_score(codes, P[:, 1]))
    proportions = np.tile(study_of_two.counts / study_of_two.counts.sum(), (len(codes), 1))
    assert perf.baseline_loss == pytest.approx(log_loss(codes, proportions))
    baseline = performance_of(with_predictions(study_of_two, proportions))
    assert baseline.r2 == pytest.approx(0)
    assert baseline.is_calibrated
    sure = performance_of(too_sure(study_of_two))
    assert not sure.is_calibrated
    assert sure.excess_confidence > 0.1


@pytest.fixture
def common(study_of_two):
    """Study whose second class is the more frequent one."""
    return replace(study_of_two, counts=np.array([10, 90]))


def test_the_positive_class_comes_second(common, study_of_five):
    view = positive_view(common)
    assert view.classes.tolist() == ["stays", "leaves"]
    assert view.counts.tolist() == [90, 10]
    held = view.held_out
    np.testing.assert_array_equal(held.classes[held.codes], common.held_out.classes[common.held_out.codes])
    np.testing.assert_array_equal(held.P[:, 1], common.held_out.P[:, 0])
    assert positive_view(replace(common, positive="stays")).classes.tolist() == ["leaves", "stays"]
    assert positive_view(study_of_five) is study_of_five
    assert positive_view(view) is view


def test_the_report_names_the_positive_class_and_how_to_switch(common, study_of_five):
    assert (
        "refer to leaves; <code>--positive</code> stays (in Python, positive=&#39;stays&#39;) switches to stays."
        in render(common)
    )
    assert study_of_five.on_positive == ""


def test_weights_and_effects_follow_the_positive_class(common):
    view = positive_view(common)
    for before, after in zip(common.coefficients, view.coefficients, strict=True):
        assert (after.label, after.weight, after.per_spread) == ("leaves", -before.weight, -before.per_spread)
        assert after.lower == -before.upper <= after.weight <= after.upper == -before.lower
    for before, after in zip(common.effects, view.effects, strict=True):
        np.testing.assert_allclose(after.mean[:, 1], 1 - before.mean[:, 1], atol=1e-12)
        assert (after.lower <= after.upper).all()
        assert after.importance == before.importance
    one, other = performance_of(common), performance_of(view)
    for name in ("accuracy", "log_loss", "auc"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value)


def test_one_of_five_classes_is_compared_with_all_others(study_of_five):
    study = replace(study_of_five, positive="pallida")
    view, k = positive_view(study), study.classes.tolist().index("pallida")
    assert view.classes.tolist() == ["not pallida", "pallida"]
    assert view.counts.tolist() == [study.n_rows - study.counts[k], study.counts[k]]
    np.testing.assert_array_equal(view.held_out.codes, study.held_out.codes == k)
    np.testing.assert_allclose(view.held_out.P.sum(axis=1), 1)
    perf = performance_of(view)
    assert perf.auc.value == pytest.approx(roc_auc_score(study.held_out.codes == k, study.held_out.P[:, k]))
    assert view.coefficients == tuple(c for c in study.coefficients if c.label == "pallida")
    for before, after in zip(study.effects, view.effects, strict=True):
        np.testing.assert_array_equal(after.mean[:, 1], before.mean[:, k])
        np.testing.assert_array_equal(after.lower[:, 1], before.lower[:, k])
        assert (after.lower[:, 0] <= after.upper[:, 0]).all()
    page = " ".join(render(study).split())
    assert "about pallida against all other classes" in page
    assert "Odds: pallida against the geometric mean of all classes." in page
    assert "virginica" in page  # in the section on the data
    assert "Positive class" in page


@pytest.mark.parametrize(("fraction", "baseline"), [(0.1, "predicting not pallida"), (0.9, "predicting pallida")])
def test_the_accuracy_baseline_predicts_the_larger_side(study_of_five, fraction, baseline):
    k = study_of_five.classes.tolist().index("pallida")
    counts = np.full(5, (1000 - 1000 * fraction) / 4)
    counts[k] = 1000 * fraction
    perf = performance_of(positive_view(replace(study_of_five, positive="pallida", counts=counts)))
    assert perf.baseline.endswith(baseline)
    is_named = study_of_five.held_out.codes == k
    assert perf.baseline_accuracy == pytest.approx(np.mean(is_named if fraction > 0.5 else ~is_named))


@pytest.mark.parametrize(
    ("accuracy", "words"),
    [(0.73, "no better than"), (0.74, "no better than"), (0.75, "hardly better than"), (0.9, ", better than")],
)
def test_the_accuracy_is_compared_with_the_baseline(study_of_two, accuracy, words):
    perf = replace(performance_of(study_of_two), accuracy=Estimate(accuracy, 0.01), baseline_accuracy=0.74)
    assert f"{words} always predicting" in " ".join(answer_sentences(study_of_two, perf))


def test_the_answer_names_accuracy_rows_and_the_most_influential_columns(study_of_two, study_of_five):
    text, perf = answer(study_of_two), performance_of(study_of_two)
    assert percent(perf.accuracy.value).replace(SPACE, " ") in text
    assert percent(perf.r2).replace(SPACE, " ") in text
    assert all(effect.column in text for effect in study_of_two.effects[:3])
    n = len(study_of_two.held_out.P)
    assert f"{n} cross-validated rows, copies fitted without these rows" in text
    assert "fitted on 600 rows" in text
    assert "each of the 5 classes" in answer(study_of_five)


def test_rows_that_may_have_been_used_for_fitting_are_not_called_held_out(study_of_new_rows):
    assert "50 rows of this table, which may include rows it was fitted on" in answer(study_of_new_rows)
    assert "held-out" not in render(replace(study_of_new_rows, notes=()))


def test_a_useless_model_is_reported_as_useless(study_of_two):
    study = with_predictions(study_of_two, np.tile([0.9, 0.1], (len(study_of_two.held_out.P), 1)))
    assert "do not act on them" in answer(study)
    assert "no better than the class proportions" in main_caveat(warnings_on(study, performance_of(study)))


def test_a_model_of_class_proportions_is_reported_as_useless():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"x": rng.normal(size=200), "y": rng.permutation(np.repeat(["a", "b"], [150, 50]))})
    study = conduct(table, "y", models=["prior only"])
    text = answer(study)
    assert "little or no information" in text
    assert "25 %" in text
    page = render(study)
    assert "well calibrated" not in page
    assert "Choosing a threshold" not in page
    assert "No column has an effect" in page


@pytest.mark.parametrize(
    ("ece", "by_chance", "excess", "expected"),
    [
        (0.05, 0.06, 0.0, "too few to be sure"),
        (0.005, 0.006, 0.0, "well calibrated"),
        (0.1, 0.006, -0.1, "underconfident"),
    ],
)
def test_calibration_is_judged_against_chance(study_of_two, ece, by_chance, excess, expected):
    perf = performance_of(study_of_two)
    changes = {"ece": perf.ece._replace(value=ece), "ece_if_calibrated": by_chance, "excess_confidence": excess}
    assert expected in calibration_sentence(replace(perf, **changes))


def test_warnings_are_sorted_by_severity_and_state_each_remedy_once(study_of_two):
    notes = Note("dropped", "a: constant."), Note("dropped", "b: an id."), Note("separation", "x separates them.")
    study = replace(study_of_two, notes=(*notes, Note("other model", "naive Bayes: a column is collinear.")))
    found = warnings_on(study, performance_of(study))
    assert [item.title for item in found] == ["Separation", "Dropped columns", "Dropped columns"]
    assert [bool(item.remedy) for item in found] == [True, False, True]
    assert main_caveat(found).startswith("x separates them.")
    assert main_caveat(found[1:]) == SAME_SOURCE
    assert set(get_args(Topic)) <= {*HEADINGS, *OTHER_MODEL_TOPICS, "warning"}


def test_the_evaluated_rows_add_warnings(study_of_two):
    study = too_sure(study_of_two)
    titles = [item.title for item in warnings_on(study, performance_of(study))]
    assert titles[:2] == ["No better than the class proportions", "Calibration"]
    held = study_of_two.held_out
    few = np.concatenate([np.flatnonzero(held.codes == k)[:20] for k in (0, 1)])
    study = replace(study_of_two, held_out=HeldOut(held.codes[few], held.P[few], held.classes), notes=())
    found = {item.title: item.text for item in warnings_on(study, performance_of(study))}
    assert "leaves (20) and stays (20)" in found["Few rows of a class"]


@pytest.mark.slow
def test_separation_is_a_warning_and_otherwise_a_passed_check(study_of_two, study_without_weights):
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-2, -0.5, 60), rng.uniform(0.5, 2, 60)])
    dates = [f"on the {i:04d}th day" for i in range(120)]
    table = pd.DataFrame({"x": x, "separation_date": dates, "y": np.where(x > 0, "yes", "no")})
    separated = conduct(table, "y", models=["logistic (Bayesian)"])
    perf = performance_of(separated)
    warned = warnings_on(separated, perf)
    titles = {item.text.partition(" ")[0]: item.title for item in warned}
    assert titles["separation_date"] == "Dropped columns"
    assert "Separation" in titles.values()
    assert "separates" not in passed_checks(separated, perf, warned)
    quiet = replace(study_of_two, notes=(), separation="overlapping")
    assert "hyperplane that separates" in passed_checks(quiet, performance_of(quiet), [])
    unchecked = replace(study_without_weights, separation="unknown")
    assert not re.search("approximation|hyperplane", passed_checks(unchecked, performance_of(unchecked), []))


def test_the_data_section_lists_every_column_once_and_classes_by_size(study_of_two, study_of_five):
    data = data_section(study_of_two)
    assert {column for column, *_ in data["columns"]} == set(study_of_two.schema.inputs)
    assert [column for column, _ in data["dropped"]] == ["customer_id"]
    features = {column: text for column, *_, text in data["columns"]}
    assert features["charge"] == "2 features: value and missing indicator"
    assert features["contract"].startswith("3 features: ")
    assert "contract=" not in features["contract"]
    counts = [int(n) for *_, n in data_section(study_of_five)["classes"]]
    assert counts == sorted(study_of_five.counts.tolist(), reverse=True)
    assert len({colour(k, 20) for k in range(20)}) == 20
    assert colour(1, 2) == colour(0, 3) == "k0"


def test_the_model_table_shows_the_comparison(study_of_two):
    models = models_section(study_of_two)
    column = {head: [cells[i][0] for _, _, cells in models["rows"]] for i, head in enumerate(models["heads"])}
    trials = list(study_of_two.comparison)
    assert models["chosen"] == study_of_two.choice.name
    assert column["accuracy"] == [fixed(trial.test.accuracy.value, 3) for trial in trials]
    assert column["log-loss"] == [fixed(-trial.test.log_likelihood.value, 4) for trial in trials]
    assert column["behind the best"][0] == "best"
    assert all(float(value) >= 0 for value in column["behind the best"][1:])
    assert not set(column["P(model)"]) & {percent(0.0), percent(1.0)}


def test_weights_are_sorted_and_segments_of_curves_come_last(study_of_two, study_of_five, study_without_weights):
    steep = Coefficient("tenure", "tenure from 3 to 9", "stays", 9.0, 8.0, 10.0, 9.0)
    study = replace(study_of_two, coefficients=(steep, *study_of_two.coefficients))
    view = weights_section(study, performance_of(study))
    ranked = sorted(study_of_two.coefficients, key=lambda c: -abs(c.per_spread))
    assert [row["name"] for row in view["rows"] + view["more"]] == [*(c.name for c in ranked), "tenure from 3 to 9"]
    assert view["curved"] == "tenure"
    assert f"{study.model.estimator_.effective_parameters_:.3g}" in view["evidence"]
    five = weights_section(study_of_five, performance_of(study_of_five))
    assert all(row["label"] for row in five["rows"])
    assert weights_section(study_without_weights, performance_of(study_without_weights))["axis"] is None


def test_weights_are_shown_as_factors_and_the_weakest_of_500_are_left_out(study_of_two):
    def shown(*coefficients):
        study = replace(study_of_two, coefficients=coefficients)
        return weights_section(study, performance_of(study))

    view = shown(Coefficient("tenure", "tenure", "stays", 0.02, 0.01, 0.03, 0.02 * 9.0))
    expected = f"× {math.exp(0.2):.3g} ({math.exp(0.1):.3g} to {math.exp(0.3):.3g}) for +10"
    assert view["rows"][0]["effect"] == expected
    view = shown(Coefficient("joined", "joined: month (cos)", "stays", 0.5, 0.4, 0.6, 0.3))
    assert view["rows"][0]["effect"] == "weight 0.5 (0.4 to 0.6)"
    view = shown(Coefficient("tenure", "tenure", "stays", 0.0, -1.0, 1.0, 0.0))
    assert "whisker" not in view["rows"][0]["mark"]
    view = shown(*(Coefficient("tenure", "tenure", "stays", w, w, w, w) for w in range(1, 501)))
    assert len(view["rows"]) + len(view["more"]) + view["n_hidden"] == 500
    for size in (1e-3, 0.05, 0.3, 1.0, 3.0, 12.0, 300.0):
        axis = shown(Coefficient("tenure", "tenure", "stays", size, size, size, size))["axis"]
        words = re.findall(r"<text[^>]*>([^<]*)<", axis)
        assert {w[1:] for w in words if w[0] == "÷"} == {w[1:] for w in words if w[0] == "×"}
        assert "1" in words
        assert len(words) <= 9


@pytest.mark.parametrize(
    ("column", "name", "spread", "size", "words"),
    [
        ("tenure", "tenure", 37.0, 50.0, "for +50"),
        ("tenure", "tenure", 13.6, 10.0, "for +10"),
        ("charge", "charge", 0.03, 0.02, "for +0.02"),
        ("contract", "contract=yearly", 0.4, 1.0, "vs. the average level"),
        ("paperless", "paperless", 0.5, 1.0, "for yes vs. no"),
        ("charge", "charge is missing", 0.2, 1.0, "if missing, vs. an average value"),
        ("joined", "joined: days", 350.0, 500.0, "for +500 days"),
        ("joined", "joined: days", 0.9, 1.0, "for +1 day"),
        ("joined", "joined: month (cos)", 0.7, 1.0, ""),
        ("tenure", "tenure from 3 to 9", 0.4, 1.0, "over this range"),
    ],
)
def test_a_step_is_a_round_number_near_the_standard_deviation(study_of_two, column, name, spread, size, words):
    weight = Coefficient(column, name, "stays", 0.02, 0.01, 0.03, 0.02 * spread)
    assert steps_of([weight], study_of_two.schema, ())[name] == (size, words)


def test_two_levels_become_one_weight_with_the_interval_of_their_difference():
    rng = np.random.default_rng(4)
    sex = np.where(rng.random(800) < 0.3, "Female", "Male")
    x = rng.normal(size=800)
    y = rng.random(800) < 1 / (1 + np.exp(-x + 0.9 * (sex == "Female")))
    model = TableClassifier(types={"sex": "categorical"}).fit(pd.DataFrame({"x": x, "sex": sex}), y)
    schema = model.encoder_.schema_
    raw = dict(zip(schema.columns, model.estimator_.coef_[0], strict=True))
    found = {c.name: c for c in merge_two_levels(explain(model), schema)}
    assert sorted(found) == ["sex=Female", "x"]
    one, place = found["sex=Female"], list(schema.columns)
    assert one.weight == pytest.approx(raw["sex=Female"] - raw["sex=Male"])
    posterior = model.estimator_.posterior_
    difference = np.zeros(len(posterior.mean))
    difference[place.index("sex=Female")], difference[place.index("sex=Male")] = 1.0, -1.0
    draws = posterior.sample(20_000, np.random.default_rng(0)) @ difference
    assert (one.upper - one.lower) / 3.92 == pytest.approx(draws.std(), rel=0.03)
    assert one.per_spread / one.weight == pytest.approx(math.sqrt(np.mean(sex == "Female") * np.mean(sex == "Male")))
    assert steps_of(found.values(), schema, ())["sex=Female"].words == "for Female vs. Male"


def effect(kind, values, importance=1.0):
    G = len(values)
    P = np.linspace(0.1, 0.8, G)
    mean = np.column_stack([1 - P, P])
    return Effect("x", kind, np.asarray(values), mean, mean - 0.05, mean + 0.05, np.arange(G) / G, importance)


def test_effects_are_curves_for_numbers_and_dates_and_rows_otherwise(study_of_two):
    dates = np.datetime64("2020-01-01") + np.arange(5) * 90
    kinds = [effect("number", [1.0, 2.0]), effect("date", dates), effect("boolean", [0, 1])]
    kinds += [effect("categorical", [f"level {g}" for g in range(30)])]
    study = replace(study_of_two, effects=tuple(kinds))
    cards = effects_section(study, performance_of(study))["cards"]
    assert [card["curve"] is not None for card in cards] == [True, True, False, False]
    assert [level for level, *_ in cards[2]["levels"]] == ["yes", "no"]
    assert cards[3]["levels"][0][0] == "level 29"  # the most frequent
    assert 0 < len(cards[3]["levels"]) < 10
    assert len(cards[3]["levels"]) + len(cards[3]["more_levels"]) == 30


def test_effects_are_sorted_by_importance_and_limited_in_number(study_of_two, study_of_five, study_without_weights):
    two, five = (effects_section(study, performance_of(study)) for study in (study_of_two, study_of_five))
    ranked = sorted(study_of_two.effects, key=lambda e: -e.importance)
    assert [card["column"] for card in two["cards"]] == [e.column for e in ranked]
    assert (two["event"], two["legend"], two["has_bands"]) == ("stays", [], True)
    assert (five["event"], len(five["legend"])) == ("", 5)
    curve = next(card["curve"] for card in five["cards"] if card["curve"])
    assert curve.count('class="line ') == 5
    assert not effects_section(study_without_weights, performance_of(study_without_weights))["has_bands"]
    many = replace(study_of_two, effects=tuple(effect("number", [1.0, 2.0], i) for i in range(60)))
    view = effects_section(many, performance_of(many))
    assert (len(view["cards"]), len(view["more"])) == (N_VISIBLE_CARDS, N_FOLDED_CARDS)


def test_decisions_agree_with_scikit_learn(study_of_two, study_of_five):
    held, view = study_of_five.held_out, decisions_section(study_of_five, performance_of(study_of_five))
    predicted = held.P.argmax(axis=1)
    counts = [[n for _, n, _ in cells] for _, cells in view["confusion"]]
    assert counts == confusion_matrix(held.codes, predicted).tolist()
    recall, precision = (score(held.codes, predicted, average=None) for score in (recall_score, precision_score))
    assert [row[2:] for row in view["scores"]] == [tuple(map(percent, x)) for x in zip(recall, precision, strict=True)]
    held, view = study_of_two.held_out, decisions_section(study_of_two, performance_of(study_of_two))
    for threshold, cost, flagged, precision, recall in view["thresholds"]:
        chosen = held.P[:, 1] >= threshold
        assert precision == percent(precision_score(held.codes, chosen))
        assert recall == percent(recall_score(held.codes, chosen))
        assert flagged == percent(chosen.mean())
        assert 1 / (1 + float(cost.replace(",", ""))) == pytest.approx(threshold, rel=0.05, abs=0.005)


@pytest.mark.parametrize("name", ["study_of_two", "study_without_weights"])
def test_the_python_snippet_runs(name, request, tmp_path, monkeypatch):
    study = request.getfixturevalue(name)
    sx.save(study.model, tmp_path / "model.sx")
    table, _ = make_mixed_types(20, as_frame=True, rng=3)
    table.assign(joined="2021-03-04").to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    made = {}
    exec(usage_section(study, "model.sx")["python"], made)
    assert made["P"].shape == (20, 2)
    assert len(made["predicted"]) == 20
    assert ("interval" in made) == (name == "study_of_two")


def test_snippets_name_the_model_file_and_the_models_own_class_order(study_of_two, study_of_five):
    used = usage_section(study_of_five, "my models/a.sx")
    assert "sx.load('my models/a.sx')" in used["python"]
    assert 'read_parquet("new.parquet")' in used["python"]
    assert used["shell"].startswith("separatrix predict 'my models/a.sx' new.parquet ")
    turned = usage_section(positive_view(replace(study_of_two, positive="leaves")), "model.sx")["python"]
    assert "one column per class: leaves, stays" in turned
    assert "1 - model.predict_interval(rows, 0.95)[:, ::-1]  # lower and upper probability of leaves" in turned
    assert "interval = model.predict_interval(rows, 0.95)" in usage_section(study_of_two, "model.sx")["python"]


def test_provenance_lists_what_is_needed_to_reproduce_the_model(study_of_two):
    found = dict(provenance(study_of_two, performance_of(study_of_two), WHEN, "my model.sx"))
    assert (found["Table"], found["Written"]) == ("customers.csv", "2024-05-06 07:08 UTC")
    assert (found["Seed"], found["Model"]) == ("0", "logistic (Bayesian)")
    assert sx.__version__ in found["Versions"]
    assert "600" in found["Rows"]
    assert "600 cross-validated rows (5 folds, repeated 2 times)" in found["Rows"].replace(SPACE, " ")
    assert found["Settings"] == "sx.load('my model.sx').estimator_ shows all settings of the model"
    untimed = replace(study_of_two, seconds=float("nan"))
    assert "Time taken" not in dict(provenance(untimed, performance_of(untimed), WHEN, "model.sx"))


class Outline(HTMLParser):
    """Parsed document; every element must be closed by its own end tag."""

    def __init__(self, document):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.links, self.text = [], [], [], [], []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        assert len(found) == len(attributes), "an attribute is stated twice"
        self.tags.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module", params=STUDIES)
def document(request):
    return render(request.getfixturevalue(request.param), written=WHEN)


def test_the_document_is_well_formed_accessible_and_safe(document):
    outline = Outline(document)
    assert len(set(outline.ids)) == len(outline.ids)
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)
    tags = outline.tags
    assert all(a.get("aria-label") or a.get("aria-hidden") for tag, a in tags if tag == "svg" and "viewbox" not in a)
    assert all(a.get("scope") in ("row", "col") for tag, a in tags if tag == "th")
    assert ("html", {"lang": "en"}) in tags
    assert not {"script", "link", "img", "iframe", "object", "embed"} & {tag for tag, _ in tags}
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on") or name == "style"]
    assert not re.search(r"url\(|@import", document)
    style = re.search(r"<style>(.*?)</style>", document, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in document


def test_all_sections_exist_and_a_single_model_has_no_comparison(study_of_two, study_of_new_rows):
    ids = Outline(render(study_of_two)).ids
    assert [name for name in ids if name in SECTIONS] == SECTIONS
    assert "models" not in Outline(render(study_of_new_rows)).ids


def test_malicious_names_are_escaped(hostile_study):
    document = render(hostile_study)
    assert "<script" not in document
    assert document.count("</style>") == 1
    assert "49" not in re.findall(r"quoted&#39; (\S+)", document)
    text = "".join(Outline(document).text)
    assert hostile_study.question.name in text
    assert "<b>target</b>" in text


def test_the_document_is_small(study_of_two, study_of_five):
    assert max(len(render(study)) for study in (study_of_two, study_of_five)) < 120_000


def test_a_report_does_not_replace_an_existing_file(study_of_two, tmp_path):
    path = write_report(study_of_two, tmp_path / "report.html")
    assert path.read_text(encoding="utf-8").endswith("</html>")
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="report.html exists.*force=True"):
        write_report(study_of_two, path)
    assert path.read_text() == "mine"
    write_report(study_of_two, path, force=True)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_failed_report_leaves_no_file(study_of_two, tmp_path):
    broken = replace(study_of_two, counts=None)
    with pytest.raises((TypeError, AttributeError)):
        write_report(broken, tmp_path / "report.html")
    with pytest.raises(OSError, match="mkdir -p"):
        write_report(study_of_two, tmp_path / "no folder" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_text_that_is_not_unicode_is_written(study_of_two, tmp_path):
    path = write_report(study_of_two, tmp_path / "report.html", model_path="caf\udce9.sx")
    assert "caf" in path.read_text(encoding="utf-8")


def test_control_characters_of_names_are_shown_as_escapes(study_of_two):
    page = render(replace(study_of_two, question=replace(study_of_two.question, name="a\x1b[2J\u202eb.csv")))
    assert r"a\x1b[2J\u202eb.csv" in page
    assert not [c for c in page if unicodedata.category(c) == "Cc" and c not in "\n\t"]


def luminance(colour):
    """Relative luminance of WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_of_level_aa(theme):
    style = TEMPLATES.joinpath("report.css").read_text()
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colour = {name: pair[theme] for name, *pair in pairs}
    for ground in ("ground", "raised", "warn"):
        assert contrast(colour["ink"], colour[ground]) >= 7
        assert contrast(colour["muted"], colour[ground]) >= 4.5
        assert contrast(colour["accent"], colour[ground]) >= 4.5


OVERFLOWING = """
    const width = document.documentElement.clientWidth;
    const inside = e => e.closest('.scroll, .unseen, .skip, details:not([open]), svg svg');
    return [...document.querySelectorAll('body *')]
        .filter(e => !inside(e) && e.getBoundingClientRect().right > width + 1)
        .map(e => e.tagName + '.' + e.getAttribute('class'));
"""


# Words of an element that are on two lines; a hyphen between letters may end a line.
BROKEN = """
    const broken = [];
    for (const element of document.querySelectorAll(arguments[0]))
        for (const node of element.childNodes)
            for (const word of node.nodeType === Node.TEXT_NODE ? node.data.matchAll(/[^\\s]+/g) : []) {
                const range = document.createRange();
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top)));
                if (lines.size > 1) broken.push(word[0]);
            }
    return broken;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def addresses(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {n: write_report(request.getfixturevalue(n), folder / f"{n}.html").as_uri() for n in STUDIES}


def lightness(browser):
    """Lightness of the background, from 0 to 255."""
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3]) / 3


@pytest.mark.parametrize("name", STUDIES)
def test_no_errors_and_no_requests(browser, addresses, name):
    show(browser, addresses[name])
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return document.styleSheets.length") == 1  # the style sheet of the document


@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("name", STUDIES)
def test_nothing_is_wider_than_the_screen(browser, addresses, name, width):
    show(browser, addresses[name], width=width)
    assert is_without_sideways_scroll(browser)
    assert browser.execute_script(OVERFLOWING) == []
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert is_without_sideways_scroll(browser)


def test_a_narrow_screen_breaks_no_names_of_groups_and_no_options(browser, tmp_path):
    table, outcome = make_loans(300, as_frame=True, rng=0)
    study = conduct(table.assign(outcome=outcome), "outcome", models=["logistic (Bayesian)"])
    show(browser, write_report(study, tmp_path / "loans.html").as_uri(), width=400)
    groups = "[aria-label='Calibration and error by group'] tbody th"
    assert "owns_home" in browser.find_element("css selector", groups).text
    assert browser.find_element("css selector", "code").text == "--positive"
    assert browser.execute_script(BROKEN, f"{groups}, :not(pre) > code") == []


@pytest.mark.parametrize(("theme", "is_light"), [("light", True), ("dark", False)])
def test_the_background_follows_the_system_and_the_chosen_theme(browser, addresses, theme, is_light):
    show(browser, addresses["study_of_two"], theme=theme)
    assert (lightness(browser) > 128) == is_light
    other = "dark" if is_light else "light"
    browser.execute_script(f"document.getElementById('theme-{other}').click()")
    assert (lightness(browser) > 128) != is_light


def test_a_single_class_can_be_selected(browser, addresses):
    show(browser, addresses["study_of_five"])
    lines = "[...document.querySelectorAll('#effects .curves .line')]"
    shown = f"return {lines}.filter(e => getComputedStyle(e).opacity > 0.5).map(e => e.classList.contains('c2'))"
    assert set(browser.execute_script(shown)) == {True, False}
    browser.execute_script("document.getElementById('only-2').click()")
    assert set(browser.execute_script(shown)) == {True}


def test_the_printed_report_has_a_white_background(browser, addresses):
    show(browser, addresses["study_of_two"], width=688, theme="dark")
    browser.execute_script("document.getElementById('theme-dark').click()")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert lightness(browser) == 255
    assert is_without_sideways_scroll(browser)  # width of A4 without margins
    assert not browser.find_element("css selector", "nav").is_displayed()
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 15


# -- a column that gives the class away --------------------------------------------------------------------------------


def leaking_table(kind, n_classes):
    """A mixed table with a column from which the class follows."""
    table, _ = make_mixed_types(240, as_frame=True, rng=0)
    codes = np.random.default_rng(0).permutation(np.arange(240) % n_classes)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(240) % 50, unit="D")
    leak = {
        "number": 7 * codes + 3,
        "category": np.array(["rot", "gruen", "blau"])[codes],
        "missing date": pd.Series(days).where(codes > 0),
        "missing number": np.where(codes > 0, np.arange(240) % 11, np.nan),
        "constant or missing": np.where(codes > 0, 1.0, np.nan),
    }[kind]
    table.insert(2, "leak", leak)
    return table.assign(colour=np.array(["red", "green", "blue"])[codes])


LEAKS = [
    (kind, n_classes, model)
    for kind, n_classes in [
        ("number", 2),
        ("category", 2),
        ("category", 3),
        ("missing date", 2),
        ("missing number", 2),
        ("constant or missing", 2),
    ]
    for model in ["naive Bayes", "linear discriminant", "logistic (Bayesian)"]
]


@pytest.mark.parametrize(
    ("kind", "n_classes", "model"),
    [pytest.param(*case, marks=[pytest.mark.slow] * (case[1:] == (3, "logistic (Bayesian)"))) for case in LEAKS],
)
def test_a_leak_is_one_story_from_the_summary_to_the_effects(kind, n_classes, model):
    study = conduct(leaking_table(kind, n_classes), "colour", models=["prior only", model])
    assert study.leaks == ("leak",)
    assert study.choice.reasons[0].startswith("'leak' alone predicts colour")
    view = positive_view(study)
    perf = performance_of(view)
    text = answer(view)
    assert text.startswith("leak gives colour away")
    assert "calibrated" not in text
    assert "influential" not in text
    assert "cannot be judged" in calibration_sentence(perf, view.leaks)
    assert "calibration" not in passed_checks(view, perf, warnings_on(view, perf))
    assert importance_rows(view)[0][0] == "leak"
    assert importance_rows(view)[0][2] == "gives the class away"
    effect = view.effects[0]
    assert effect.column == "leak"
    parts = [effect.mean] + ([] if effect.missing is None else [effect.missing.mean])
    assert np.ptp(np.concatenate(parts), axis=0).max() > 0.5  # the effect is visible
    assert (effect.missing is not None) == (kind in ("missing date", "missing number"))
    page = render(study)
    assert "∞" not in page
    if (kind, model) == ("number", "linear discriminant"):
        assert "Columns that are constant within a class" in page
        assert "Predictions are not affected" not in page
    assert study.about["leak"].startswith("'leak' alone predicts colour without error")


def test_two_leaks_are_both_named_and_columns_that_correct_for_them_have_no_importance():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 1000))
    y = x + rng.logistic(size=1000) > 0
    columns = {"x": x, "z": z, "total": np.where(y, 5, -5) + 0.1 * z, "status": np.where(y, "paid", "late")}
    study = conduct(pd.DataFrame(columns | {"y": y}), "y", models=["linear discriminant"])
    assert set(study.leaks) == {"status", "total"}
    rows = {name: value for name, _, value in importance_rows(study)}
    assert rows["status"] == rows["total"] == "gives the class away"
    assert rows["z"] == "not determined"
    assert float(rows["x"]) < 10
    caveat = main_caveat(warnings_on(study, performance_of(study)), study.leaks)
    assert caveat.startswith(f"'{study.leaks[0]}' alone predicts y without error")
    assert f"The same holds for '{study.leaks[1]}'." in caveat
    captions = {card["column"]: card["caption"] for card in effects_section(study, performance_of(study))["cards"]}
    assert captions["status"].endswith("; gives the class away")
    assert captions["total"].endswith("; gives the class away")
    assert "away" not in captions["x"]


def test_a_missing_value_has_an_effect_in_the_caption_of_its_card():
    study = conduct(leaking_table("missing number", 2), "colour", models=["logistic (Bayesian)"])
    caption = effects_section(positive_view(study), performance_of(positive_view(study)))["cards"][0]["caption"]
    assert caption.endswith("% if missing; gives the class away")


def test_a_factor_over_a_million_is_stated_as_what_it_is():
    c = Coefficient("x", "x", "yes", 1e10, np.nan, np.nan, 2e10)
    assert effect_text(c, Step(1.0, "for +1")) == "determines the class (× over a million for +1)"
    assert effect_text(replace(c, weight=-20.0), Step(1.0, "for +1")).startswith("determines the class (÷ ")
    assert effect_text(replace(c, weight=13.0), Step(1.0, "for +1")).startswith("× 442,413 ")


def test_factors_beyond_the_range_of_floats_are_infinite():
    assert [factor_text(x) for x in (5000.0, -5000.0, np.log(2))] == ["×∞", "÷∞", "×2"]


@pytest.mark.parametrize("n_rows", [1, 2, 100])
@pytest.mark.parametrize("label", ["no", "yes"])
def test_rows_of_one_class_have_a_report(n_rows, label, tmp_path):
    """Class proportions predict them without error, so no sentence compares the model with these."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=300)})
    table["y"] = np.where(table.x + rng.logistic(size=300) > 0, "yes", "no")
    model = sx.TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0))).fit(table, "y")
    study = positive_view(examine(model, table[table.y == label][:n_rows], "y"))
    perf = performance_of(study)
    assert np.isnan(perf.r2)
    assert f"All of them are of class {label}, so they cannot show whether it is useful." in answer(study)
    warned = warnings_on(study, perf)
    assert "nothing beats the shares" not in [item.topic for item in warned]
    assert "class proportions" not in passed_checks(study, perf, warned)
    page = re.sub(r"<[^>]+>", " ", render(study))
    assert not re.search(r"\bnan\b|\b1 (rows|columns|features|values)\b", page)
