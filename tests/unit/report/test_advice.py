from dataclasses import replace

import numpy as np
import pytest

from separatrix.report.advice import TOPICS, advice_on
from separatrix.report.facts import facts_of
from separatrix.study import HeldOut


def advice(study, *notes):
    study = replace(study, notes=notes)
    return advice_on(study, facts_of(study))


@pytest.mark.parametrize(
    ("note", "title"),
    [
        ("A hyperplane separates the classes without a single error.", "Separation"),
        ("Pareto k is 0.9: Laplace's Gaussian is poor.", "Approximation"),
        ("Class 'yes' has 4 of 900 rows (0.4 %): accuracy says little here.", "Imbalance"),
        ("zip was dropped: all values are different.", "Columns left out"),
        ("Missing values in age (5 %): numbers as the mean and a mark.", "Gaps"),
        ("The moon was full.", "Worth knowing"),
    ],
)
def test_a_sentence_finds_its_topic_and_keeps_its_words(study_of_two, note, title):
    found = next(item for item in advice(study_of_two, note) if item.what == note)
    assert found.title == title
    assert bool(found.remedy) == (title != "Worth knowing")


def test_the_gravest_comes_first_and_a_remedy_is_said_once(study_of_two):
    found = advice(study_of_two, "a was dropped: constant.", "b was dropped: an id.", "x separates the classes.")
    assert [item.title for item in found] == ["Separation", "Columns left out", "Columns left out"]
    assert [bool(item.remedy) for item in found] == [True, False, True]
    assert [item.is_grave for item in found] == [True, False, False]


def test_held_out_rows_speak_where_the_study_is_silent(study_of_two):
    codes = study_of_two.held_out.codes
    sure = np.where(np.arange(len(codes))[:, None] % 2 == [0, 1], 0.99, 0.01)
    study = replace(study_of_two, held_out=HeldOut(codes, sure, study_of_two.classes), notes=())
    titles = [item.title for item in advice_on(study, facts_of(study))]
    assert titles[:2] == ["No better than the shares", "Calibration"]


def test_what_is_said_of_models_not_chosen_is_no_warning(study_of_two):
    assert study_of_two.choice.name != "naive Bayes"
    assert advice(study_of_two, "naive Bayes: a column is collinear.") == ()


def test_topics_do_not_take_the_name_of_the_library_for_a_warning(study_of_two):
    assert advice(study_of_two, "Made by separatrix.")[0].title not in {topic.title for topic in TOPICS}
