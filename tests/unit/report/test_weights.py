import math
import re
from dataclasses import replace

import pytest

from separatrix.report.facts import facts_of
from separatrix.report.weights import factor_words, weights_of
from separatrix.study import Coefficient


def weights(study, **changes):
    study = replace(study, **changes)
    return weights_of(study, facts_of(study))


def test_weights_come_from_the_strongest_to_the_weakest(study_of_two):
    view = weights(study_of_two)
    ranked = sorted(study_of_two.coefficients, key=lambda c: -abs(c.per_spread))
    assert [row.name for row in (*view.rows, *view.more)] == [c.name for c in ranked]


def test_a_weight_is_told_as_a_factor_on_the_odds_for_a_step_a_person_takes(study_of_two):
    c = Coefficient("tenure", "tenure", "stays", 0.02, 0.01, 0.03, 0.02 * 9.0)
    effect = weights(study_of_two, coefficients=(c,)).rows[0].effect
    assert effect == f"× {math.exp(0.2):.3g} ({math.exp(0.1):.3g} to {math.exp(0.3):.3g}) for 10 more"


def test_the_average_level_is_explained_where_it_is_held_against(study_of_two):
    assert "average level" in weights(study_of_two).against
    assert any("against the average level" in row.effect for row in weights(study_of_two).rows)


def test_a_coordinate_on_a_circle_has_no_factor(study_of_two):
    c = Coefficient("joined", "joined: month (cos)", "stays", 0.5, 0.4, 0.6, 0.3)
    row = weights(study_of_two, coefficients=(c,)).rows[0]
    assert (row.effect, row.weight) == ("", "0.5 (0.4 to 0.6)")


def test_steps_of_curves_come_after_the_weights_of_numbers(study_of_two):
    steep = Coefficient("tenure", "tenure from 3 to 9", "stays", 9.0, 8.0, 10.0, 9.0)
    view = weights(study_of_two, coefficients=(steep, *study_of_two.coefficients))
    assert view.bent == "tenure"
    assert "tenure from 3 to 9" in [row.name for row in view.more]
    assert "tenure from 3 to 9" not in [row.name for row in view.rows]


def test_of_many_weights_the_weakest_stay_in_the_model(study_of_two):
    many = tuple(Coefficient("tenure", "tenure", "stays", w, w, w, w) for w in range(1, 501))
    view = weights(study_of_two, coefficients=many)
    assert len(view.rows) + len(view.more) + view.n_hidden == 500
    assert view.n_hidden > 0


def test_the_evidence_is_split_as_the_model_says(study_of_two, study_without_weights):
    said = weights(study_of_two).evidence
    assert f"{study_of_two.model.estimator_.effective_parameters_:.3g}" in said
    assert "Occam" in said
    assert weights(study_without_weights).evidence == ""


def test_a_model_without_weights_still_has_importance(study_without_weights):
    view = weights(study_without_weights)
    assert view.axis is None
    assert view.importance


def test_of_many_classes_each_weight_names_its_own(study_of_five):
    assert all(row.label for row in weights(study_of_five).rows)


def test_a_weight_of_zero_is_drawn_without_an_interval(study_of_two):
    zero = Coefficient("tenure", "tenure", "stays", 0.0, -1.0, 1.0, 0.0)
    assert "whisker" not in weights(study_of_two, coefficients=(zero,)).rows[0].mark.markup


@pytest.mark.parametrize("size", [1e-3, 0.05, 0.3, 1.0, 3.0, 12.0, 300.0])
def test_the_axis_names_round_factors_alike_on_both_sides(study_of_two, size):
    c = Coefficient("tenure", "tenure", "stays", size, size, size, size)
    words = re.findall(r"<text[^>]*>([^<]*)<", weights(study_of_two, coefficients=(c,)).axis.markup)
    assert "1" in words
    assert {w[1:] for w in words if w[0] == "÷"} == {w[1:] for w in words if w[0] == "×"}
    assert len(words) <= 9


def test_factors_in_words():
    assert [factor_words(x) for x in (0.0, math.log(2), -math.log(4))] == ["1", "×2", "÷4"]
