"""What a reader is told, in plain words."""

import warnings

import numpy as np
import pandas as pd

import separatrix as sx
from separatrix.comparison import Comparison
from separatrix.comparison.trial import Trial
from separatrix.study.notes import captured, notes_on_comparison, notes_on_data, notes_on_model
from separatrix.tables import TableClassifier

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": [np.nan, *RNG.normal(size=199)], "kind": [None, None, *RNG.choice(["a", "b"], 198)]})
X["planet"] = "earth"
Y = X["age"].fillna(1.0) > 0


def test_warnings_become_sentences_each_once_and_do_not_escape():
    with captured() as said:
        for _ in range(2):
            warnings.warn("a doubt", stacklevel=1)
    assert said == ["a doubt"]


def test_dropped_columns_gaps_rare_classes_and_few_rows():
    model = TableClassifier(sx.LogisticRegression(alpha=1.0)).fit(X, Y)
    numbers = model.encoder_.transform(X)
    notes = list(notes_on_data(model, numbers, np.array(["no", "yes"]), np.array([97, 2])))
    assert notes[0] == "planet was dropped: every value is 'earth'."
    assert notes[1].startswith("Missing values in kind (1 %), age (0.5 %).")
    assert notes[2].startswith("Class 'yes' has 2 of 99 rows (2 %)")
    assert notes[3].startswith("There are 99 rows only")
    assert len(list(notes_on_data(model, numbers, np.array(["no", "yes"]), np.array([100, 100])))) == 2


def test_separation_is_told_where_a_prior_hides_it():
    model = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(10.0))).fit(X, Y)
    numbers, codes = model.encoder_.transform(X), Y.to_numpy().astype(int)
    notes = list(notes_on_model(model, numbers, codes, ["a doubt", "a doubt"]))
    assert notes[0] == "a doubt"
    assert notes[-1].startswith("A hyperplane separates the classes without a single error")
    codes[0] = 1 - codes[0]
    assert not [note for note in notes_on_model(model, numbers, codes, []) if "separates" in note]


def test_failures_and_warnings_of_a_comparison_carry_the_name_of_the_model():
    comparison = Comparison(
        (Trial("naive Bayes", failure="DataError: no"),), np.arange(2), np.arange(1), np.arange(1), None
    )
    notes = list(notes_on_comparison(comparison, {"linear discriminant": ["a doubt"], "prior only": []}))
    assert notes == ["naive Bayes failed. DataError: no", "linear discriminant: a doubt"]
