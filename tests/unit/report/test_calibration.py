from separatrix import metrics
from separatrix.report.calibration import calibration_of
from separatrix.report.facts import facts_of
from separatrix.report.words import percent


def test_bins_are_those_of_the_reliability_curve(study_of_two):
    view = calibration_of(study_of_two, facts_of(study_of_two))
    curve = metrics.reliability(study_of_two.held_out.P, study_of_two.held_out.codes)
    assert [row.predicted for row in view.bins] == [percent(p) for p in curve.predicted]
    assert [row.observed for row in view.bins] == [percent(p) for p in curve.observed]
    assert view.event == "stays"


def test_of_many_classes_the_event_is_that_the_most_probable_comes_true(study_of_five):
    assert calibration_of(study_of_five, facts_of(study_of_five)).event == "the most probable class"
