from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from separatrix.report.document import render
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


@pytest.fixture
def pallida(study_of_five):
    return replace(study_of_five, positive="pallida")


def test_one_of_five_classes_is_seen_against_all_others(pallida):
    turned, k = facing(pallida), pallida.classes.tolist().index("pallida")
    assert turned.classes.tolist() == ["not pallida", "pallida"]
    assert turned.counts.tolist() == [pallida.n_rows - pallida.counts[k], pallida.counts[k]]
    held = turned.held_out
    np.testing.assert_array_equal(held.codes, pallida.held_out.codes == k)
    np.testing.assert_allclose(held.P.sum(axis=1), 1)
    facts = facts_of(turned)
    assert facts.auc.value == pytest.approx(roc_auc_score(pallida.held_out.codes == k, pallida.held_out.P[:, k]))
    assert facts.is_one_of_many


@pytest.mark.parametrize(("share", "said"), [(0.1, "always saying not pallida"), (0.9, "always saying pallida")])
def test_the_baseline_of_accuracy_says_the_larger_side_whichever_it_is(pallida, share, said):
    k = pallida.classes.tolist().index("pallida")
    counts = np.full(5, (1000 - 1000 * share) / 4)
    counts[k] = 1000 * share
    facts = facts_of(facing(replace(pallida, counts=counts)))
    assert facts.by_rote == said
    is_named = pallida.held_out.codes == k
    assert facts.baseline_accuracy == pytest.approx(np.mean(is_named if share > 0.5 else ~is_named))


def test_its_weights_and_curves_are_those_it_has_among_the_five(pallida):
    turned, k = facing(pallida), pallida.classes.tolist().index("pallida")
    assert turned.coefficients == tuple(c for c in pallida.coefficients if c.label == "pallida")
    for before, after in zip(pallida.effects, turned.effects, strict=True):
        np.testing.assert_array_equal(after.mean[:, 1], before.mean[:, k])
        np.testing.assert_array_equal(after.lower[:, 1], before.lower[:, k])
        np.testing.assert_allclose(after.mean[:, 0], 1 - before.mean[:, k])
        assert (after.lower[:, 0] <= after.upper[:, 0]).all()


def test_the_report_on_one_of_five_keeps_the_classes_and_says_what_the_odds_are_of(pallida):
    page = " ".join(render(pallida).split())
    assert "everything below is about pallida against all others" in page
    assert "Odds are those of pallida against the (geometric) mean of all classes." in page
    assert 'Act where the probability of <strong class="name">pallida</strong>' in page
    assert "virginica" in page  # among the data at a glance
    assert "Class of interest" in page
