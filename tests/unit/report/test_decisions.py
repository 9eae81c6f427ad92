import numpy as np
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from separatrix.report.decisions import THRESHOLDS, decisions_of
from separatrix.report.facts import facts_of
from separatrix.report.words import percent


def test_the_confusion_matrix_is_that_of_scikit_learn(study_of_five):
    held = study_of_five.held_out
    view = decisions_of(study_of_five, facts_of(study_of_five))
    counts = confusion_matrix(held.codes, held.P.argmax(axis=1))
    assert [[cell.count for cell in row.cells] for row in view.confusion] == [[str(n) for n in row] for row in counts]
    assert [[cell.is_right for cell in row.cells] for row in view.confusion] == np.eye(5, dtype=bool).tolist()


def test_thresholds_have_the_precision_and_recall_of_scikit_learn(study_of_two):
    held = study_of_two.held_out
    view = decisions_of(study_of_two, facts_of(study_of_two))
    for row, threshold in zip(view.thresholds, THRESHOLDS, strict=True):
        flagged = held.P[:, 1] >= threshold
        assert row.precision == percent(precision_score(held.codes, flagged))
        assert row.recall == percent(recall_score(held.codes, flagged))
        assert row.flagged == percent(flagged.mean())
    assert [row.threshold for row in view.thresholds if row.is_default] == [percent(0.5)]


def test_a_threshold_is_best_where_a_miss_costs_as_many_false_alarms_as_it_says(study_of_two):
    view = decisions_of(study_of_two, facts_of(study_of_two))
    costs = [float(row.cost) for row in view.thresholds]
    np.testing.assert_allclose([1 / (1 + r) for r in costs], THRESHOLDS, atol=0.005)


def test_scores_of_many_classes_are_those_of_scikit_learn(study_of_five):
    held = study_of_five.held_out
    view = decisions_of(study_of_five, facts_of(study_of_five))
    decided = held.P.argmax(axis=1)
    assert [row.recall for row in view.scores] == [percent(x) for x in recall_score(held.codes, decided, average=None)]
    precision = precision_score(held.codes, decided, average=None)
    assert [row.precision for row in view.scores] == [percent(x) for x in precision]
    assert view.thresholds == ()
