"""What a reader is told, in plain words, and under which topic."""

import warnings
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.bayesian.tuning.report import Limit
from separatrix.comparison import Comparison
from separatrix.comparison.trial import Trial
from separatrix.exceptions import ApproximationWarning, CollinearWarning, ConvergenceWarning, SeparationWarning
from separatrix.study import Choice, Note, Topic
from separatrix.study.notes import captured, notes_on_choice, notes_on_comparison, notes_on_data, notes_on_model
from separatrix.table import TableEncoder
from separatrix.tables import TableClassifier

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": [np.nan, *RNG.normal(size=199)], "kind": [None, None, *RNG.choice(["a", "b"], 198)]})
X["separation_date"] = "earth"  # a name that reads like another topic
Y = X["age"].fillna(1.0) > 0


def test_warnings_become_notes_each_once_and_do_not_escape():
    with captured() as said:
        for _ in range(2):
            warnings.warn("a doubt", stacklevel=1)
    assert said == [Note("warning", "a doubt")]


@pytest.mark.parametrize(
    ("category", "topic"),
    [
        (SeparationWarning, "separation"),
        (ApproximationWarning, "approximation"),
        (CollinearWarning, "collinear"),
        (ConvergenceWarning, "convergence"),
        (sx.exceptions.NotSeparableWarning, "convergence"),
        (UserWarning, "warning"),
    ],
)
def test_the_topic_of_a_warning_is_that_of_its_category_whatever_it_says(category, topic):
    with captured() as said:
        warnings.warn("separation did not converge: a poor approximation of collinear columns", category, stacklevel=1)
    assert [note.topic for note in said] == [topic]


@pytest.mark.parametrize("category", [DeprecationWarning, PendingDeprecationWarning, FutureWarning])
def test_what_a_library_is_about_to_rename_is_no_note(category):
    with captured() as said:
        warnings.warn("soon called something else", category, stacklevel=1)
    assert said == []


def test_dropped_columns_gaps_rare_classes_and_few_rows():
    model = TableClassifier(sx.LogisticRegression(alpha=1.0)).fit(X, Y)
    schema, numbers = model.encoder_.schema_, model.encoder_.transform(X)
    notes = list(notes_on_data(schema, numbers, np.array(["no", "yes"]), np.array([97, 2])))
    assert [note.topic for note in notes] == ["dropped", "missing", "imbalance", "few rows"]
    assert str(notes[0]) == "separation_date was dropped: every value is 'earth'."
    assert notes[1].text.startswith("Missing values in kind (1 %), age (0.5 %).")
    assert notes[2].text.startswith("Class 'yes' has 2 of 99 rows (2 %)")
    assert notes[3].text.startswith("There are 99 rows only")
    assert len(list(notes_on_data(schema, numbers, np.array(["no", "yes"]), np.array([100, 100])))) == 2


def test_a_column_that_could_be_read_in_two_ways_is_not_called_dropped():
    table = pd.DataFrame({"price": ["1,234", "5,678", "9,012"] * 40, "x": RNG.normal(size=120)})
    schema = TableEncoder().fit(table).schema_
    (note,) = notes_on_data(schema, np.zeros((120, 2)), np.array(["no", "yes"]), np.array([60, 60]))
    assert note.topic == "warning"
    assert "price" in note.text


def test_what_a_model_says_of_itself_comes_once_under_the_topic_that_is_known():
    level = pd.DataFrame({"x": [-1.5, 1.5, -1.5, 1.5] * 50})
    with captured() as said:
        model = TableClassifier(sx.BayesianLogisticRegression(tune="evidence")).fit(level, [0, 0, 1, 1] * 50)
    assert [at.limit for at in model.estimator_.tuning_.boundary] == [Limit.NARROW]
    notes = list(notes_on_model(model, [*said, Note("convergence", "slow")]))
    assert len({note.text for note in notes}) == len(notes)
    assert {note.text: note.topic for note in notes}[model.estimator_.notes_[0]] == "tuning"
    assert Note("convergence", "slow") in notes


def test_separation_that_tuning_ran_into_is_called_so():
    x = pd.DataFrame({"x": np.r_[np.linspace(-3, -1, 30), np.linspace(1, 3, 30)]})
    with captured() as said:
        model = TableClassifier(sx.BayesianLogisticRegression(tune="evidence")).fit(x, x["x"] > 0)
    limits = {at.limit for at in model.estimator_.tuning_.boundary}
    topics = {note.topic for note in notes_on_model(model, said)}
    assert (Limit.SEPARATED in limits) == ("separation" in topics)
    assert Limit.SEPARATED in limits


def test_where_nothing_beats_the_shares_that_is_a_note():
    assert not list(notes_on_choice(Choice("naive Bayes", ("best",))))
    (note,) = notes_on_choice(Choice("prior only", ("best", "the columns say little")))
    assert note == Note("nothing beats the shares", "the columns say little")


def test_failures_and_warnings_of_a_comparison_carry_the_name_of_the_model():
    comparison = Comparison(
        (Trial("naive Bayes", failure="DataError: no"),), np.arange(2), np.arange(1), np.arange(1), None
    )
    said = {"linear discriminant": [Note("collinear", "a doubt")], "prior only": []}
    notes = list(notes_on_comparison(comparison, said))
    assert notes == [
        Note("failure", "naive Bayes failed. DataError: no"),
        Note("other model", "linear discriminant: a doubt"),
    ]


def test_topics_are_a_closed_set_without_doubles():
    assert len(set(get_args(Topic))) == len(get_args(Topic))
