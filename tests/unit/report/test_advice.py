from dataclasses import replace
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from separatrix.report.advice import ELSEWHERE, HEADINGS, advice_on, not_found
from separatrix.report.facts import facts_of
from separatrix.study import HeldOut, Note, Topic, conduct


def advice(study, *notes):
    study = replace(study, notes=notes)
    return advice_on(study, facts_of(study))


@pytest.fixture(scope="module")
def separated():
    """A column that gives the answer away, and one to be dropped whose name is that of another topic."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-2, -0.5, 60), rng.uniform(0.5, 2, 60)])
    dates = [f"on the {i:04d}th day" for i in range(120)]
    table = pd.DataFrame({"x": x, "separation_date": dates, "y": np.where(x > 0, "yes", "no")})
    return conduct(table, "y", models=["logistic (Bayesian)"])


def test_a_note_is_known_by_its_topic_and_not_by_the_names_of_columns(separated):
    found = {item.what: item.title for item in advice_on(separated, facts_of(separated))}
    (dropped,) = (title for what, title in found.items() if what.startswith("separation_date was dropped"))
    assert dropped == "Columns left out"
    parted = [what for what, title in found.items() if title == "Separation"]
    assert parted
    assert not any("separation_date" in what for what in parted)
    assert "separates" not in not_found(separated, facts_of(separated))


def test_every_topic_of_a_study_has_a_heading_or_stands_elsewhere():
    assert set(get_args(Topic)) <= {*HEADINGS, *ELSEWHERE, "warning"}


def test_the_gravest_comes_first_and_a_remedy_is_said_once(study_of_two):
    notes = Note("dropped", "a: constant."), Note("dropped", "b: an id."), Note("separation", "x parts them.")
    found = advice(study_of_two, *notes)
    assert [item.title for item in found] == ["Separation", "Columns left out", "Columns left out"]
    assert [bool(item.remedy) for item in found] == [True, False, True]
    assert [item.is_grave for item in found] == [True, False, False]


def test_the_rows_judged_speak_where_the_study_is_silent(study_of_two):
    codes = study_of_two.held_out.codes
    sure = np.where(np.arange(len(codes))[:, None] % 2 == [0, 1], 0.99, 0.01)
    study = replace(study_of_two, held_out=HeldOut(codes, sure, study_of_two.classes), notes=())
    titles = [item.title for item in advice_on(study, facts_of(study))]
    assert titles[:2] == ["No better than the shares", "Calibration"]


def test_few_rows_of_a_class_are_not_called_rare(study_of_two):
    held = study_of_two.held_out
    few = np.concatenate([np.flatnonzero(held.codes == k)[:20] for k in (0, 1)])
    study = replace(study_of_two, held_out=HeldOut(held.codes[few], held.P[few], held.classes), notes=())
    (found,) = (item for item in advice_on(study, facts_of(study)) if item.title == "Few rows of a class")
    assert "leaves (20) and stays (20)" in found.what
    assert not any(item.title == "Imbalance" for item in advice_on(study, facts_of(study)))


def test_what_is_said_of_models_not_chosen_is_no_warning(study_of_two):
    assert advice(study_of_two, Note("other model", "naive Bayes: a column is collinear.")) == ()


def test_silence_is_told_from_not_having_looked(study_of_two, study_without_weights):
    quiet = replace(study_of_two, notes=(), separation="overlapping")
    facts = facts_of(quiet)
    assert "hyperplane that separates" in not_found(quiet, facts)
    assert "approximation" in not_found(quiet, facts)
    assert "hyperplane" not in not_found(replace(quiet, separation="unknown"), facts)
    unchecked = replace(study_without_weights, separation="unknown")
    assert "approximation" not in not_found(unchecked, facts_of(unchecked))
    assert "hyperplane" not in not_found(unchecked, facts_of(unchecked))
