from dataclasses import replace

import numpy as np

from separatrix.report.advice import advice_on
from separatrix.report.facts import facts_of
from separatrix.report.verdict import UNIVERSAL, calibration_in_words, ranked_columns, verdict_of
from separatrix.report.words import percent
from separatrix.study import HeldOut


def verdict(study):
    facts = facts_of(study)
    return verdict_of(study, facts, advice_on(study, facts))


def test_the_answer_names_target_accuracy_and_the_strongest_columns(study_of_two):
    said, facts = verdict(study_of_two), facts_of(study_of_two)
    text = " ".join(said.sentences)
    assert said.title == "customer"
    assert percent(facts.accuracy.value) in text
    assert percent(facts.gain) in text
    assert all(name in said.sentences[-1] for name, _ in ranked_columns(study_of_two)[:3])


def test_a_model_that_knows_nothing_is_not_praised(study_of_two):
    codes = study_of_two.held_out.codes
    wrong = np.tile([0.9, 0.1], (len(codes), 1))
    said = verdict(replace(study_of_two, held_out=HeldOut(codes, wrong, study_of_two.classes)))
    assert "do not act on them" in " ".join(said.sentences)
    assert "no better than the shares" in said.caveat


def test_a_dropped_column_is_not_the_biggest_caveat(study_of_two):
    assert any("dropped" in note for note in study_of_two.notes)
    calm = replace(study_of_two, notes=("x was dropped: constant.",))
    assert verdict(calm).caveat == UNIVERSAL


def test_calibration_is_told_by_how_much_rows_can_show(study_of_two):
    facts = facts_of(study_of_two)
    few = replace(facts, ece=facts.ece._replace(value=0.05), ece_if_calibrated=0.06)
    many = replace(facts, ece=facts.ece._replace(value=0.005), ece_if_calibrated=0.006)
    off = replace(facts, ece=facts.ece._replace(value=0.1), ece_if_calibrated=0.006, excess=-0.1)
    assert "few to tell" in calibration_in_words(few)
    assert "taken at their word" in calibration_in_words(many)
    assert "not sure enough" in calibration_in_words(off)


def test_many_classes_are_counted_and_not_listed(study_of_five):
    assert "one of 5\N{NO-BREAK SPACE}classes" in verdict(study_of_five).sentences[0]
