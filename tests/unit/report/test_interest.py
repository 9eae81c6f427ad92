from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from separatrix.report.facts import facts_of
from separatrix.report.interest import facing


@pytest.fixture
def common(study_of_two):
    """With the second class the more frequent one."""
    return replace(study_of_two, counts=np.array([10, 90]))


def test_the_rarer_of_two_classes_comes_second(common):
    turned = facing(common)
    assert turned.classes.tolist() == ["stays", "leaves"]
    assert turned.counts.tolist() == [90, 10]
    held = turned.held_out
    np.testing.assert_array_equal(held.classes[held.codes], common.held_out.classes[common.held_out.codes])
    np.testing.assert_array_equal(held.P[:, 1], common.held_out.P[:, 0])


def test_a_turned_weight_is_what_a_model_of_swapped_labels_says(common):
    for before, after in zip(common.coefficients, facing(common).coefficients, strict=True):
        assert (after.label, after.weight, after.per_spread) == ("leaves", -before.weight, -before.per_spread)
        assert after.lower == -before.upper <= after.weight <= after.upper == -before.lower


def test_curves_are_of_the_class_of_interest_and_importance_is_the_same(common):
    for before, after in zip(common.effects, facing(common).effects, strict=True):
        np.testing.assert_allclose(after.mean[:, 1], 1 - before.mean[:, 1], atol=1e-12)
        assert (after.lower <= after.upper).all()
        assert after.importance == before.importance


def test_a_class_that_the_study_names_comes_second_however_frequent(common):
    assert facing(replace(common, positive="stays")).classes.tolist() == ["leaves", "stays"]
    assert facing(replace(common, positive="leaves")).classes.tolist() == ["stays", "leaves"]


def test_no_figure_depends_on_the_side(common):
    one, other = facts_of(common), facts_of(facing(common))
    for name in ("accuracy", "log_loss", "auc"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value)
    held = facing(common).held_out
    assert other.auc.value == pytest.approx(roc_auc_score(held.codes, held.P[:, 1]))
    assert other.event == "leaves"


def test_a_study_is_left_alone_where_the_second_class_is_the_rarer_or_there_are_more(study_of_two, study_of_five):
    assert facing(study_of_five) is study_of_five
    rare = replace(study_of_two, counts=np.array([90, 10]))
    assert facing(rare) is rare
    assert facing(facing(replace(study_of_two, counts=np.array([10, 90])))).classes.tolist() == ["stays", "leaves"]
