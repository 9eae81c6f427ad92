import numpy as np
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from separatrix.report.decisions import decisions_of, thresholds_for
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
    for row, threshold in zip(view.thresholds, thresholds_for(held.P[:, 1]), strict=True):
        flagged = held.P[:, 1] >= threshold
        assert row.precision == percent(precision_score(held.codes, flagged))
        assert row.recall == percent(recall_score(held.codes, flagged))
        assert row.flagged == percent(flagged.mean())
    assert [row.threshold for row in view.thresholds if row.is_default] == [percent(0.5)]


def test_a_threshold_is_best_where_a_miss_costs_as_many_false_alarms_as_it_says(study_of_two):
    view = decisions_of(study_of_two, facts_of(study_of_two))
    costs = [float(row.cost.replace(",", "")) for row in view.thresholds]
    np.testing.assert_allclose(
        [1 / (1 + r) for r in costs], thresholds_for(study_of_two.held_out.P[:, 1]), rtol=0.05, atol=0.005
    )


def test_thresholds_are_where_the_probabilities_are(rng):
    rare = thresholds_for(rng.beta(1, 60, size=4000))
    assert min(rare) < 0.01
    assert sum(threshold < 0.1 for threshold in rare) >= 5
    assert 0.5 in rare
    even = thresholds_for(rng.random(4000))
    assert sum(0.1 <= threshold <= 0.9 for threshold in even) >= 5
    assert thresholds_for(np.array([0.0, 1.0]))  # of a model that is certain


def test_scores_of_many_classes_are_those_of_scikit_learn(study_of_five):
    held = study_of_five.held_out
    view = decisions_of(study_of_five, facts_of(study_of_five))
    decided = held.P.argmax(axis=1)
    assert [row.recall for row in view.scores] == [percent(x) for x in recall_score(held.codes, decided, average=None)]
    precision = precision_score(held.codes, decided, average=None)
    assert [row.precision for row in view.scores] == [percent(x) for x in precision]
    assert view.thresholds == ()
