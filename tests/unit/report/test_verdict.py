from dataclasses import replace

import numpy as np
import pandas as pd

from separatrix.report import render
from separatrix.report.advice import advice_on
from separatrix.report.facts import facts_of
from separatrix.report.verdict import UNIVERSAL, calibration_in_words, ranked_columns, verdict_of
from separatrix.report.words import percent
from separatrix.study import HeldOut, Note, conduct


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
    assert any(note.topic == "dropped" for note in study_of_two.notes)
    calm = replace(study_of_two, notes=(Note("dropped", "x was dropped: constant."),))
    assert verdict(calm).caveat == UNIVERSAL


def test_held_out_rows_are_told_from_those_that_the_model_learnt_from(study_of_two):
    text = " ".join(verdict(study_of_two).sentences).replace("\N{NO-BREAK SPACE}", " ")
    n_test = study_of_two.n_test
    assert f"learnt from the other {600 - n_test} rows, was on {n_test} held-out rows right" in text
    assert "learnt from 600 rows" in text


def test_of_rows_given_later_nobody_knows_whether_they_were_learnt_from(study_of_new_rows):
    text = " ".join(verdict(study_of_new_rows).sentences).replace("\N{NO-BREAK SPACE}", " ")
    assert "learnt from 600 rows" in text
    assert "On the 50 rows of this table, of which the report cannot know whether" in text
    assert "held-out" not in render(replace(study_of_new_rows, notes=()))


def test_the_shares_alone_are_not_praised_and_no_column_moves_them():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"x": rng.normal(size=200), "y": rng.permutation(np.repeat(["a", "b"], [150, 50]))})
    study = conduct(table, "y", models=["prior only"])
    text = " ".join(verdict(study).sentences)
    assert "nothing here to decide single cases by" in text
    assert "at their word" not in text
    assert "move" not in text
    assert percent(0.25) in text
    document = render(study)
    assert "at their word" not in document
    assert "Where to draw the line" not in document


def test_so_few_rows_prove_nothing(study_of_two):
    held = study_of_two.held_out
    few = replace(study_of_two, held_out=HeldOut(held.codes[:3], held.P[:3], held.classes))
    text = " ".join(verdict(few).sentences).replace("\N{NO-BREAK SPACE}", " ")
    assert "on 3 held-out rows, too few to judge by," in text
    assert "nothing can be said about whether its probabilities are right" in calibration_in_words(facts_of(few))


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
