"""Sections of a report about the evaluated rows: explained rows, groups, columns by class, curves and costs."""

from dataclasses import replace

import numpy as np
import pytest

from separatrix.datasets import make_mixed_types
from separatrix.decisions import DecisionRule
from separatrix.effects import importance
from separatrix.metrics import log_likelihoods
from separatrix.report import render
from separatrix.report.curves import costs_section, curves_section
from separatrix.report.performance import performance_of, positive_view
from separatrix.report.rows import columns_section, explained_section, groups_section
from separatrix.report.sections import decisions_section, effects_section, importance_rows
from separatrix.report.words import number
from separatrix.study import conduct, examine
from separatrix.thresholds import cost_report


@pytest.fixture(scope="module")
def table():
    rows, y = make_mixed_types(500, as_frame=True, rng=0)
    return rows.assign(customer=y)


@pytest.fixture(scope="module")
def study(table):
    return positive_view(conduct(table, "customer", models=["logistic (Bayesian)"], positive="leaves"))


def test_a_typical_an_uncertain_and_a_wrong_row_are_explained(study):
    found = explained_section(study, performance_of(study))
    assert [row["title"] for row in found["rows"]] == ["A typical row", "The least certain row", "The worst error"]
    worst = found["rows"][2]
    assert (
        worst["truth"]
        == study.classes[study.held_out.codes[log_likelihoods(study.held_out.P, study.held_out.codes).argmin()]]
    )
    assert all(row["label"] == "leaves" and row["lines"] and row["changes"] for row in found["rows"])
    page = render(study)
    assert "Three rows, explained" in page
    assert "The worst error" in page


def test_groups_have_the_frequencies_of_their_rows(study, table):
    found = groups_section(study, performance_of(study))
    inside = (study.rows["contract"] == "monthly").to_numpy()
    (row,) = [row for row in found["rows"] if row[0] == "contract = monthly"]
    assert row[1] == f"{inside.sum():,}"
    assert row[3] == f"{100 * (study.held_out.codes[inside] == 1).mean():.0f} %".replace(" ", "\xa0")
    assert found["n_off"] == sum(row[-1] for row in found["rows"]) == 0


def test_a_group_with_wrong_probabilities_is_marked(study):
    inside = (study.rows["contract"] == "monthly").to_numpy()
    P = study.held_out.P.copy()
    P[inside] = [0.99, 0.01]
    wrong = replace(study, held_out=replace(study.held_out, P=P, log_likelihoods=None))
    marked = [row[0] for row in groups_section(wrong, performance_of(wrong))["rows"] if row[-1]]
    assert "contract = monthly" in marked


def test_every_column_is_drawn_by_class(study):
    found = columns_section(study, performance_of(study))
    assert {card["column"] for card in found["cards"]} == {"charge", "tenure", "calls", "paperless", "contract"}
    assert [label for label, _ in found["legend"]] == ["leaves", "stays"]


def test_each_effect_has_its_own_scale(study):
    cards = effects_section(study, performance_of(study))["cards"]
    ticks = {
        tuple(part.split("<")[0] for part in str(card["curve"] or card["axis"]).split(">") if "%<" in part + "<")
        for card in cards
    }
    assert len(ticks) > 1


def test_curves_and_costs_are_those_of_the_positive_class(study):
    perf, labels = performance_of(study), tuple(map(str, study.classes))
    costs = cost_report(study.held_out.P, study.held_out.codes, [[0, 1], [5, 0]], labels)
    assert [card["title"] for card in curves_section(study, perf, None)] == [
        "ROC", "Precision and recall", "Lift", "Net benefit",
    ]  # fmt: skip
    assert curves_section(study, perf, costs)[-1]["title"] == "Expected cost"
    section = costs_section(costs, perf.evaluated_rows)
    assert section["stated"] == "deciding leaves for stays costs 1; deciding stays for leaves costs 5"
    assert section["rows"][0][0].startswith("smallest expected cost: leaves if its probability exceeds 17")
    assert "Decisions by expected cost" in render(study, costs=costs)


def test_with_costs_decisions_are_those_of_the_saved_rule(study):
    perf, labels = performance_of(study), tuple(map(str, study.classes))
    costs, codes = cost_report(study.held_out.P, study.held_out.codes, [[0, 1], [5, 0]], labels), study.held_out.codes
    p, chosen = study.held_out.P[:, 1], 1 / 6
    found = decisions_section(study, perf, costs)
    counts = [[((p > chosen)[codes == k] == j).sum() for j in (0, 1)] for k in (0, 1)]
    assert [[n for _, n, _ in cells] for _, cells in found["confusion"]] == counts
    assert found["rule"].endswith("smallest expected cost: leaves if its probability exceeds 17\xa0%")
    assert pytest.approx(chosen) in [threshold for threshold, *_ in found["thresholds"]]
    assert (found["chosen"], decisions_section(study, perf)["chosen"]) == (pytest.approx(chosen), 0.5)
    cards = explained_section(study, perf, costs)["rows"]
    assert [card["title"] for card in cards] == ["A typical row", "The closest decision", "The worst error"]
    rule = DecisionRule(study.model, costs={("leaves", "stays"): 5}, prefit=True)
    closest = study.rows.iloc[[abs(p - chosen).argmin()]]
    (row,) = rule.explain(closest, label="leaves").rows
    assert (cards[1]["decision"], cards[1]["rule"]) == (row.decision, "threshold 0.167 by expected cost")
    assert cards[1]["changes"][0] == f"{row.changes.single[0]} ({row.changes.single[0].decision})"
    assert cards[1]["changes"] != explained_section(study, perf)["rows"][1]["changes"]


def test_an_examined_model_has_these_sections_too(study, table):
    later = positive_view(examine(study.model, table, "customer", positive="leaves"))
    perf = performance_of(later)
    assert explained_section(later, perf)["rows"]
    assert groups_section(later, perf)["rows"]
    without = replace(later, rows=None)
    assert explained_section(without, perf) is groups_section(without, perf) is columns_section(without, perf) is None
    assert "Three rows" not in render(without)


def test_models_without_a_sum_over_columns_say_why(table):
    study = conduct(table, "customer", models=["quadratic discriminant"])
    found = explained_section(study, performance_of(study))
    assert found["rows"] == []
    assert "products of columns" in found["why"]


def test_three_classes_are_explained_by_their_most_probable_class():
    rng = np.random.default_rng(0)
    table, _ = make_mixed_types(300, as_frame=True, rng=0)
    size = table["charge"] + rng.normal(size=300) * 5
    study = conduct(table.assign(size=np.digitize(size, [60, 80]).astype(str)), "size", models=["logistic (Bayesian)"])
    perf = performance_of(study)
    assert len(explained_section(study, perf)["rows"]) == 3
    assert curves_section(study, perf, None) == []
    assert "Group by group" in render(study)


def test_importances_have_the_intervals_of_the_spread(study):
    found = importance(study.model, study.rows)
    rows = importance_rows(study)
    assert {name for name, *_ in rows} == set(found.names)
    for name, picture, value in rows:
        at = found.names.index(name)
        assert value == number(found["estimate"][at], 2)
        assert f"interval {number(found['lower'][at], 2)} to {number(found['upper'][at], 2)}" in picture
    assert all("interval" not in picture for _, picture, _ in importance_rows(replace(study, rows=None)))
    assert "Lines are 95" in render(study)
