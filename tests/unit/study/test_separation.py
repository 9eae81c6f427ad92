"""Separation is told where a prior hides it: complete, quasi-complete, and not checked where it was not."""

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.study import separation as module
from separatrix.study.separation import notes_on_separation, separation_of
from separatrix.tables import TableClassifier

RNG = np.random.default_rng(0)
N = 200
TABLE = pd.DataFrame({"age": RNG.normal(size=N), "kind": RNG.choice(["a", "b", "c"], N)})
NOISY = TABLE["age"] + RNG.logistic(size=N) > 0
QUASI = NOISY | (TABLE["kind"] == "c")  # everyone of kind c, and others too


def found(labels, table=TABLE, curved=False, estimator=None):
    estimator = sx.BayesianLogisticRegression(sx.Gaussian(3.0)) if estimator is None else estimator
    model = TableClassifier(estimator, curved=curved).fit(table, labels)
    codes = np.searchsorted(model.classes_, labels)
    return separation_of(model, model.encoder_.transform(table), codes)


@pytest.mark.parametrize(
    ("labels", "status", "column"),
    [(TABLE["age"] > 0, "complete", "age"), (QUASI, "quasi-complete", "kind=c"), (NOISY, "overlapping", "")],
)
def test_it_is_what_the_linear_program_says_and_names_the_columns(labels, status, column):
    answer = found(labels)
    numbers = TableClassifier().fit(TABLE, NOISY).encoder_.transform(TABLE)
    assert answer.status == sx.is_separable(numbers, labels).status == status
    notes = list(notes_on_separation(answer, N))
    assert [note.topic for note in notes] == ["separation"] * (status != "overlapping")
    assert all(column in note.text for note in notes)
    if status == "quasi-complete":
        assert notes[0].text.startswith(f"{(TABLE['kind'] == 'c').sum()} of {N} rows can be told from the others")


def test_curves_can_separate_what_lines_do_not():
    inside = np.abs(TABLE["age"]) < 0.5
    assert found(inside).status == "overlapping"
    curved = found(inside, curved=True)
    assert curved.status != "overlapping"
    assert any(name.startswith("age from") for name in curved.columns)


@pytest.mark.parametrize(("labels", "status"), [(TABLE["age"] > 0, "complete"), (QUASI, "unknown")])
def test_beyond_its_size_only_the_weights_themselves_are_asked(labels, status, monkeypatch):
    monkeypatch.setattr(module, "MOST_UNKNOWNS", 1)
    monkeypatch.setattr(module, "BATCH", 7)
    answer = found(labels, estimator=sx.BayesianLogisticRegression(sx.Gaussian(50.0)))
    assert answer.status == status
    (note,) = notes_on_separation(answer, N)
    assert note.topic == ("separation" if status == "complete" else "separation not checked")


def test_a_row_on_the_wrong_side_ends_the_search(monkeypatch):
    model = TableClassifier(sx.BayesianLogisticRegression()).fit(TABLE, NOISY)
    numbers, codes = model.encoder_.transform(TABLE), NOISY.to_numpy().astype(int)
    asked = []
    decided = module._decided
    monkeypatch.setattr(module, "BATCH", 50)
    monkeypatch.setattr(module, "_decided", lambda m, rows: asked.append(len(rows)) or decided(m, rows))
    assert not module._is_right_throughout(model, numbers, codes)
    assert asked == [50]


def test_three_classes():
    labels = np.select([TABLE["age"] < -0.5, TABLE["age"] < 0.5], ["low", "middle"], "high")
    assert found(labels).status == "complete"


def test_models_whose_estimates_exist_anyway_are_not_asked():
    assert found(TABLE["age"] > 0, estimator=sx.LinearDiscriminantAnalysis(shrinkage=0.1)) is None
    assert not list(notes_on_separation(None, N))


@pytest.mark.parametrize("status", ["overlapping", "quasi-complete"])
def test_five_hundred_weights_are_no_obstacle(status):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1600, 500))
    X[:, -1] = np.arange(1600) < 8
    labels = X[:, 0] + rng.logistic(size=1600) > 0
    labels[:8] = True if status == "quasi-complete" else np.arange(8) % 2 == 0
    table = pd.DataFrame(X, columns=[f"c{d}" for d in range(500)])
    answer = found(labels, table, estimator=sx.BayesianLogisticRegression(sx.Gaussian(1.0), structure="diagonal"))
    assert answer.status == status
    assert answer.columns == (("c499",) if status == "quasi-complete" else ())
