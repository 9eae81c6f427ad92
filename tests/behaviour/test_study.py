"""Studies: candidates, splits, the choice, notes, separation, progress, and whole studies of known structure."""

import itertools
import re
import sys
import time
import types
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import separatrix as sx
from separatrix.bayesian import Limit
from separatrix.comparison import Comparison, Evidence, Scores, Trial, compare, notes_on
from separatrix.datasets import make_mixed_types
from separatrix.exceptions import (
    ApproximationWarning,
    CollinearWarning,
    ConvergenceWarning,
    DataError,
    SeparationWarning,
)
from separatrix.export import read_about
from separatrix.metrics import Estimate, weighted_mean
from separatrix.report.performance import performance_of
from separatrix.report.summary import answer_sentences, warnings_on
from separatrix.rows import open_rows
from separatrix.study import (
    MODELS,
    N_LATER_STAGES,
    Note,
    candidates,
    captured,
    compare_models,
    conduct,
    examine,
    progress,
    race,
    spread_rows,
    study_of,
)
from separatrix.study.candidates import unsuitable
from separatrix.study.choice import Scoreboard, choose, chosen_with_optimism, optimism_of_choice
from separatrix.study.compare import held_out_rows, sample_of
from separatrix.study.notes import REMEDIES, notes_on_model, notes_on_table, separation_of
from separatrix.study.opening import open_frame, positive_class
from separatrix.study.progress import REPORT_SECONDS, Budget, OutOfTime, Stages, affordable_rows, min_rows
from separatrix.study.race import Entry
from separatrix.study.validation import fold_numbers, n_folds_of, n_repeats_of
from separatrix.table import TableEncoder
from separatrix.table.target import NO_YES_PAIRS
from separatrix.table_model import Configured, TableClassifier

X, Y = make_mixed_types(600, as_frame=True, rng=0)
TABLE = X.assign(customer=Y)
FAST = ["prior only", "linear discriminant"]
LOGISTIC, CURVED = "logistic (Bayesian)", "curved logistic (Bayesian)"
QUADRATIC = "quadratic discriminant"
PAIRED = "curved logistic with interactions (Bayesian)"
RADIAL = "radial logistic (Bayesian)"
VALIDATED = "logistic (cross-validated)"  # for tables with text


# -- candidates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "left_out"),
    [
        ((1000, 10, 2, 5), set()),
        ((300, 10, 2, 5), {PAIRED}),  # few rows for interactions
        ((1000, 1, 2, 1), {PAIRED, RADIAL}),  # a single column
        ((50, 5, 2, 5), {CURVED, PAIRED, RADIAL}),  # few rows
        ((100, 300, 2, 200), {"quadratic discriminant", CURVED, PAIRED}),  # more than four curves for each row
        ((5000, 500, 2, 500), {"quadratic discriminant", CURVED, PAIRED}),  # very many curves
        ((80_000, 398, 2, 34), {"quadratic discriminant", PAIRED}),  # curves with fewer knots
        ((5000, 9, 2, 0), {CURVED, RADIAL}),  # no numbers
        ((50_000, 60, 40, 20), {CURVED, PAIRED, RADIAL}),  # very many weights
        ((20_000, 10, 200, 10), {LOGISTIC, CURVED, PAIRED, RADIAL}),  # very many classes: the mode instead
        ((9000, 3000, 2, 0), {"linear discriminant", "quadratic discriminant", CURVED, PAIRED, RADIAL}),
    ],
)
def test_models_that_do_not_suit_the_size_of_a_table_are_left_out(size, left_out):
    n_rows, n_columns, n_classes, n_numbers = size
    found = candidates(n_rows, n_columns, n_classes, n_numbers=n_numbers, types={"zip": "categorical"})
    assert list(found) == [name for name in MODELS if name not in {*left_out, *[VALIDATED] * (n_classes <= 50)}]
    assert all(clone(model).types == {"zip": "categorical"} for model in found.values())


def test_models_that_do_not_suit_a_table_are_named_with_the_limit():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 201))).add_prefix("x").assign(y=list("ab") * 45)
    found = compare_models(wide, "y", time=0.01)
    (note,) = [note.text for note in found.notes if note.topic == "left out"]
    assert "quadratic discriminant: it needs at most 200 features, and there are 201" in note
    assert f"{CURVED}: it needs at least 252 rows, and there are 90" in note
    assert "needs at least 2 rows for 1 feature, and" in unsuitable(1, 1, 2)["quadratic discriminant"]
    with pytest.raises(DataError, match="has 1 distinct value in 1 row: 'ja'"):
        compare_models(pd.DataFrame({"x": [1.0], "y": ["ja"]}), "y")
    with pytest.raises(ValueError, match="does not suit this table: it needs at least 252 rows, and there are 90"):
        compare_models(wide, "y", models=[CURVED])


def test_a_model_without_interactions_is_named_if_it_equals_the_model_without():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    table = pd.DataFrame(x, columns=["a", "b"]).assign(y=x[:, 0] + rng.logistic(size=500) > 0)
    name = "curved logistic with interactions (Bayesian)"
    compared = compare_models(table, "y", models=["prior only", CURVED, name])
    assert name not in compared.comparison.names
    (note,) = [note for note in compared.notes if note.topic == "left out"]
    assert note.text == f"Not compared: {name}: no interaction was found, so it equals the model without interactions."


@pytest.mark.slow
def test_very_many_classes_have_a_softmax_at_the_mode():
    rng = np.random.default_rng(0)
    codes = np.arange(1200) % 60
    x = 2 * rng.normal(size=(60, 3))[codes] + rng.normal(size=(1200, 3))
    found = compare_models(pd.DataFrame(x).add_prefix("x").assign(y=codes), "y", types={"y": "categorical"})
    mode, prior = (found.comparison[name].test.log_likelihood.value for name in (VALIDATED, "prior only"))
    assert mode > prior + 1
    assert "needs at most 50 classes, and there are 60" in " ".join(note.text for note in found.notes)
    assert "evidence" not in " ".join(found.choice.reasons)  # only that of prior only is known


@pytest.mark.parametrize("size", [(7043, 1400, 2, 60), (50_000, 60, 40, 20)])
def test_the_stated_limit_on_weights_is_the_largest_number_allowed(size):
    n_rows, n_columns, n_classes, n_numbers = size
    reason = unsuitable(n_rows, n_columns, n_classes, n_numbers=n_numbers)[CURVED]
    found, limit = (int(text.replace(",", "")) for text in re.findall(r"([\d,]+) functions.* is ([\d,]+)", reason)[0])
    outputs = n_classes if n_classes > 2 else 1
    of_sample = np.sqrt(3e9 / max(2000, n_rows // 10) / outputs)
    assert found > limit == min(2500, int(max(of_sample, np.sqrt(1.5e10 / n_rows / outputs))))


def test_curves_of_very_many_columns_have_fewer_knots():
    sizes = {"wide": (80_000, 398), "narrow": (20_000, 40)}
    wide, narrow = (candidates(*size, 2, n_numbers=34)[CURVED].curved for size in sizes.values())
    assert 4 <= wide < 24
    assert narrow is True
    columns, labels = make_mixed_types(400, as_frame=True, rng=0)
    model = TableClassifier(curved=4).fit(columns, labels)
    assert {len(knots) for knots in model.basis_.functions_.knots.values()} <= {3, 4, 5}
    with pytest.raises(ValueError, match="curved=2"):
        TableClassifier(curved=2).fit(columns, labels)


# -- labels and splits -------------------------------------------------------------------------------------------------

SMALL = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0, 5.0], "Label": ["b", None, "a", "b", "a"]})


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_labels_are_separated_from_any_kind_of_table(library):
    rows = open_frame(library(SMALL), "Label")
    assert rows.labels.tolist() == ["b", "a", "b", "a"]
    assert rows.rows.tolist() == [0, 2, 3, 4]
    assert list(rows.X["size"].to_numpy()) == [1.0, 3.0, 4.0, 5.0]
    assert [note.topic for note in rows.notes] == ["unlabelled"]
    ordered = pd.Categorical(["low", "high", "low"], categories=["low", "high"])
    assert open_frame(pd.DataFrame({"x": [1, 2, 3], "y": ordered}), "y").classes.tolist() == ["high", "low"]


@pytest.mark.slow
def test_a_numeric_target_is_accepted_as_categorical():
    table = pd.DataFrame({"price": np.arange(600.0) % 7, "rating": np.tile([1.0, 1.5, 2.0, 4.5], 150)})
    with pytest.raises(DataError, match="looks continuous"):
        compare_models(table, "rating", models=["prior only"])
    found = compare_models(table, "rating", types={"rating": "categorical"}, models=["prior only"])
    assert found.table.classes.tolist() == ["1", "1.5", "2", "4.5"]
    table["minute"] = np.arange(600) % 60
    topics = [note.topic for note in compare_models(table, "minute", models=["prior only"]).notes]
    assert topics.count("many classes") == 1
    sure = compare_models(table, "minute", types={"minute": "categorical"}, models=["prior only"])
    assert "many classes" not in [note.topic for note in sure.notes]


def test_classes_with_a_single_row_are_left_out_with_a_note():
    found = compare_models(TABLE.assign(customer=["once", *Y[1:]]), "customer", models=["prior only"])
    assert found.table.classes.tolist() == ["leaves", "stays"]
    assert found.table.rows.tolist() == list(range(1, 600))
    assert next(note.text for note in found.notes if note.topic == "rare class").startswith("Class 'once'")


@given(
    counts=st.lists(st.integers(2, 40), min_size=2, max_size=8),
    fraction=st.floats(0.01, 0.5),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_class_has_training_rows_and_its_fraction_of_test_rows(counts, fraction, seed):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    held = held_out_rows(codes, fraction, rng)
    taken = np.bincount(codes[held], minlength=len(counts))
    assert held.any()
    assert (taken < counts).all()
    if held.sum() > 1:
        assert (np.abs(taken - fraction * np.array(counts)) <= 1 + 1e-9).all()


def test_a_sample_keeps_every_class_and_has_a_note():
    table = pd.DataFrame({"x": np.arange(1000), "y": ["rare", "rare", *["often"] * 998]})
    some = sample_of(open_frame(table, "y"), 50, np.random.default_rng(0), "Models were compared on")
    assert (some.n_rows, some.counts.min()) == (50, 2)
    (note,) = some.notes
    assert note.topic == "sampled"
    assert "a sample of 50 of 1000 rows" in note.text


# -- the comparison ----------------------------------------------------------------------------------------------------


@pytest.fixture
def split(monkeypatch):
    """Tables of 1000 rows or more are split, as tables of more than 20 000 rows are."""
    monkeypatch.setattr("separatrix.study.validation.MAX_VALIDATED_ROWS", 999)


@pytest.mark.usefixtures("split")
def test_scores_are_those_of_table_classifiers_compared_directly():
    names = ["prior only", "naive Bayes", LOGISTIC, CURVED]
    table, y = make_mixed_types(1000, as_frame=True, rng=0)
    table = table.assign(customer=y)
    found = compare_models(table, "customer", models=names, test_share=0.25, types={"calls": "number"})
    train, test = found.train, found.test
    direct = compare(dict(found.models), train.X, train.labels, X_test=test.X, y_test=test.labels)
    assert found.comparison.names == direct.names
    for name in names:
        assert_allclose(found.comparison[name].test.rows, direct[name].test.rows, atol=1e-9)
    rows = np.sort(np.concatenate([found.comparison.train_rows, found.comparison.test_rows]))
    assert_array_equal(rows, np.arange(1000))
    assert_array_equal(test.X["charge"].to_numpy(), table["charge"].to_numpy()[found.comparison.test_rows])
    assert not [model for model in found.models.values() if "estimator_" in vars(model)]  # none is fitted to all rows


@pytest.mark.parametrize("error", [ValueError("no\nway"), MemoryError()])
def test_a_model_that_raises_is_reported_and_the_others_continue(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("separatrix.NaiveBayes.fit", fail)
    study = conduct(TABLE, "customer", models=["naive Bayes", *FAST])
    failure = study.comparison["naive Bayes"].failure
    assert failure.startswith(f"{type(error).__name__}: ")
    assert "\n" not in failure
    assert study.choice.name == "linear discriminant"
    assert Note("failure", f"naive Bayes failed. {failure}") in study.notes
    with pytest.raises(DataError, match=f"naive Bayes: {type(error).__name__}"):
        compare_models(TABLE, "customer", models=["naive Bayes"])


def test_warnings_name_their_model_unless_it_is_chosen():
    found = compare_models(TABLE, "customer", models=FAST)
    said = {"prior only": [Note("warning", "one")], "linear discriminant": [Note("collinear", "two")]}
    found = replace(found, warnings=said)
    assert found.choice.name == "linear discriminant"
    assert found.notes[-2:] == (Note("collinear", "two"), Note("other model", "prior only: one"))


# -- the choice --------------------------------------------------------------------------------------------------------

N = 400
HARD = np.random.default_rng(0).normal(0, 0.3, N)  # the loss of a row is similar for all models
OWN = np.random.default_rng(1).normal(0, 0.1, (9, N))
OWN -= OWN.mean(axis=1, keepdims=True)


def trial(name, log_likelihood, evidence=None, place=0):
    """A model with this mean log-likelihood; differences of two models have a standard error of about 0.007."""
    rows = log_likelihood + HARD - HARD.mean() + OWN[place]
    stated = Evidence(np.nan if evidence is None else evidence, 0.0, 0.0, of_labels=evidence is not None)
    return Trial(name, object(), test=Scores(log_likelihood=weighted_mean(rows), rows=rows), evidence=stated)


def with_row(made, loss):
    """The model with this log-likelihood of one row."""
    rows = made.test.rows.copy()
    rows[3] = loss
    return replace(made, test=Scores(log_likelihood=weighted_mean(rows), rows=rows))


BASE, BAYES = trial("prior only", -0.60, -900.0, 1), trial("naive Bayes", -0.300, None, 2)
LINEAR, FISHER = trial(LOGISTIC, -0.301, -500.0, 3), trial("linear discriminant", -0.301, None, 3)
CHOICES = {
    "a clear winner, whatever the evidence": (
        "naive Bayes", [BAYES, trial(LOGISTIC, -0.40, -500.0, 3), BASE], "the next is logistic (Bayesian), 0.1000",
        "The evidence alone would favour logistic (Bayesian). On the ",
        "Compared with the class proportions (prior only), naive Bayes gains 0.3000 nats per row",
    ),
    "the simpler of two similar models": (
        LOGISTIC, [trial(CURVED, -0.300, -498.0, 2), LINEAR, BASE], "Of these, the simplest is chosen: logistic",
        "instead of curved logistic (Bayesian) costs 0.0010 ± ", "nats per row, at most one standard error",
    ),
    "a simpler model that the evidence rules out": (
        CURVED, [trial(CURVED, -0.300, -490.0, 2), LINEAR, BASE], "the simplest that the evidence does not rule out",
        "of logistic (Bayesian) (10.0 nats) is more than 3.0 nats (odds of 20 to 1) below that of curved",
    ),
    "one of two similar models has evidence": (LOGISTIC, [BAYES, LINEAR], "the simplest is chosen: logistic"),
    "more than one standard error behind": (
        CURVED, [trial(CURVED, -0.300, -490.0, 2), trial(LOGISTIC, -0.310, -485.0, 3), BASE],
        "No other model is within one standard error of it: the next is logistic (Bayesian), 0.0100",
    ),
    "equal to four digits, with a tiny standard error": (
        LOGISTIC, [trial("naive Bayes", -0.301 + 1e-6, None, 3), LINEAR],
        "may be due to chance: logistic (Bayesian) (0.0000 ± 0.0000)",
    ),
    "no model has evidence": ("naive Bayes", [FISHER, trial("naive Bayes", -0.302, None, 2)], "the simplest is chosen"),
    "nothing beats the class proportions": (
        "prior only", [trial("prior only", -0.690, -280.0, 1), trial(LOGISTIC, -0.689, -281.0, 2)],
        "No model predicts clearly better than the class proportions",
    ),
    "a failed model": ("prior only", [Trial("linear discriminant", failure="DataError: singular"), BASE]),
    "infinite loss": ("prior only", [with_row(BAYES, -np.inf), BASE], "No other model is within one standard error"),
    "one catastrophic row, of which the standard error is as large": (
        "linear discriminant", [with_row(BAYES, -700.0), FISHER], "No other model is within one standard error",
    ),
}  # fmt: skip


def sampled(made, n_rows):
    """The model fitted to fewer rows, whose evidence does not compare."""
    train, evidence = Scores(rows=np.zeros(n_rows)), made.evidence._replace(of_labels=False)
    return replace(made, train=train, evidence=evidence)


@pytest.mark.parametrize(
    "trials",
    [
        [sampled(LINEAR, 800), BASE],
        [sampled(LINEAR, 800), sampled(trial(CURVED, -0.302, -300.0, 4), 400), BASE],
        [sampled(trial(CURVED, -0.2, -300.0, 4), 400), LINEAR, BASE],
    ],
)
def test_evidences_of_different_rows_are_not_compared(trials):
    ranked = tuple(sorted(trials, key=lambda trial: trial.rank))
    comparison = Comparison(ranked, np.array([0, 1]), np.arange(1600), np.arange(N))
    text = " ".join(choose(comparison).reasons)
    assert "evidence alone" not in text
    assert "largest evidence" not in text
    assert comparison.sampled == tuple(trial.name for trial in ranked if trial.train.rows is not None)
    for name in comparison.sampled:
        assert np.isnan(dict(zip(comparison.names, comparison.to_dict()["probability"], strict=True))[name])
    fewer = [note for note in notes_on(comparison) if "refers to fewer rows" in note]
    assert len(fewer) == (len(comparison.probabilities()) > 1)


@pytest.mark.parametrize("case", CHOICES)
def test_the_choice_and_its_reasons(case):
    """Held-out rows decide first; among similar models the evidence decides, then simplicity."""
    name, trials, *words = CHOICES[case]
    ranked = tuple(sorted(trials, key=lambda trial: trial.rank))
    choice = choose(Comparison(ranked, np.array([0, 1]), np.arange(1600), np.arange(N)))
    text = " ".join(choice.reasons)
    assert choice.name == name
    assert [word for word in words if word not in text] == []
    assert name != ranked[0].name or "instead of" not in text


def test_a_row_that_counts_twice_is_a_row_that_occurs_twice(rng):
    for name, trials, *_ in CHOICES.values():
        usable = sorted((t for t in trials if not t.failure), key=lambda trial: trial.rank)
        assert usable[Scoreboard.of(usable).simplest(np.ones(N, dtype=int))].name == name
        times = rng.integers(0, 3, N)
        repeated = [replace(t, test=Scores(rows=np.repeat(t.test.rows, times))) for t in usable]
        whole, parts = Scoreboard.of(repeated), Scoreboard.of(usable)
        assert_array_equal(parts.near(times), whole.near(np.ones(times.sum(), dtype=int)))
        assert parts.simplest(times) == whole.simplest(np.ones(times.sum(), dtype=int))


def test_the_optimism_of_the_best_of_equal_models_is_corrected(monkeypatch):
    """Scores of eight models are pure noise; the best of them looks better than it is."""
    monkeypatch.setattr("separatrix.study.choice.NEAR_IN_STD", 0.0)  # so that the best one is always chosen
    rng, apparent, corrected = np.random.default_rng(0), [], []
    for _ in range(150):
        rows = rng.normal(-0.7, 0.4, size=(80, 8)) + rng.normal(0, 0.3, size=(80, 1))
        trials = [
            Trial(f"m{k}", test=Scores(log_likelihood=weighted_mean(each), rows=each)) for k, each in enumerate(rows.T)
        ]
        ranked = tuple(sorted(trials, key=lambda trial: trial.rank))
        comparison = Comparison(ranked, np.array([0, 1]), np.arange(80), np.arange(80))
        choice, optimism = chosen_with_optimism(comparison, rng)
        apparent.append(comparison[choice.name].test.log_likelihood.value + 0.7)
        corrected.append(apparent[-1] - optimism)
        assert f"{-apparent[-1] + 0.7:.4f}" not in choice.reasons[-1]
    error = np.std(corrected) / np.sqrt(len(corrected))
    assert np.mean(apparent) > 5 * error
    assert abs(np.mean(corrected)) < 3 * error


def test_one_catastrophic_row_of_another_model_hardly_changes_the_score():
    rival = with_row(trial("naive Bayes", -0.29, place=2), -400.0)  # the best on samples without this row
    best = trial(LOGISTIC, -0.30, place=3)
    comparison = Comparison((best, rival), np.array([0, 1]), np.arange(1600), np.arange(N))
    assert choose(comparison).name == LOGISTIC
    assert abs(optimism_of_choice(comparison, np.random.default_rng(0))) < 0.02


def test_a_clear_winner_and_a_single_model_are_not_corrected():
    for trials in ([trial(CURVED, -0.1, place=2), LINEAR, BASE], [LINEAR]):
        comparison = Comparison(tuple(trials), np.array([0, 1]), np.arange(1600), np.arange(N))
        assert optimism_of_choice(comparison, np.random.default_rng(0)) == 0


@pytest.mark.slow
def test_scores_of_tables_without_information_are_unbiased():
    """Labels are independent of the columns: no model can have a log-loss below the entropy of the classes."""
    scores = []
    names = ["prior only", "naive Bayes", "linear discriminant", LOGISTIC, "combination"]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(rng.normal(size=(120, 6))).add_prefix("x").assign(y=rng.permutation(np.arange(120) % 2))
        found = compare_models(table, "y", models=names)
        assert found.choice.name != "combination"
        scores.append(found.score.value + np.log(2))
    assert np.mean(scores) < 3 * np.std(scores) / np.sqrt(len(scores)) + 1e-3


# -- notes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "topics"),
    [
        (SeparationWarning, ["separation"]),
        (ApproximationWarning, ["approximation"]),
        (CollinearWarning, ["collinear"]),
        (ConvergenceWarning, ["convergence"]),
        (sx.exceptions.NotSeparableWarning, ["convergence"]),
        (UserWarning, ["warning"]),
        (DeprecationWarning, []),
        (FutureWarning, []),
    ],
)
def test_warnings_become_notes_once_with_the_topic_of_their_category(category, topics):
    with captured() as notes:
        for _ in range(2):
            warnings.warn("separation did not converge: collinear columns", category, stacklevel=1)
    assert [note.topic for note in notes] == topics


def test_notes_on_dropped_columns_missing_values_rare_classes_and_few_rows():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": [np.nan, *rng.normal(size=199)], "kind": [None, None, *rng.choice(["a", "b"], 198)]})
    table["separation_date"] = "earth"  # a name that resembles another topic
    encoder = TableEncoder().fit(table)
    classes, features = np.array(["no", "yes"]), encoder.transform(table)
    notes = list(notes_on_table(encoder.schema_, [features], classes, np.array([97, 2])))
    assert [note.topic for note in notes] == ["dropped", "missing", "imbalance", "few rows"]
    assert str(notes[0]) == "separation_date was dropped: every value is 'earth'."
    assert "kind (1 %) and age (0.5 %)" in notes[1].text
    assert "'yes' has 2 of 99 rows (2 %)" in notes[2].text
    assert len(list(notes_on_table(encoder.schema_, [features], classes, np.array([100, 100])))) == 2
    (imbalance, few) = list(notes_on_table(encoder.schema_, [features], classes, np.array([1, 0])))[2:]
    assert "'yes' has 0 of 1 row (0 %)" in imbalance.text
    assert few.text.startswith("There is only 1 row: ")
    rare = pd.DataFrame({"age": [0.5, *[np.nan] * 199], "x": rng.normal(size=200)})
    encoder = TableEncoder().fit(rare)
    missing = next(notes_on_table(encoder.schema_, [encoder.transform(rare)], classes, np.array([100, 100])))
    assert "age (99.5 %)" in missing.text
    prices = pd.DataFrame({"price": ["1,234", "5,678", "9,012"] * 40, "x": rng.normal(size=120)})
    schema = TableEncoder().fit(prices).schema_
    (note,) = notes_on_table(schema, [np.zeros((120, 2))], classes, np.array([60, 60]))
    assert note.topic == "warning"  # ambiguous, not dropped
    assert "price" in note.text


def test_odd_cells_are_noted_before_the_separation_that_they_cause():
    income = [*(f"{k}.5" for k in range(96)), *["unknown?"] * 4]
    table = pd.DataFrame({"income": income, "y": ["no", "yes"] * 48 + ["yes"] * 4})
    found = conduct(table, "y", models=[LOGISTIC])
    topics = [note.topic for note in found.notes]
    assert topics.index("odd cells") < topics.index("separation")
    assert "'income is missing'" in found.notes[topics.index("separation")].text
    shown = [item.topic for item in warnings_on(found, performance_of(found))]
    assert shown.index("odd cells") < shown.index("separation")


def test_a_note_on_collinear_columns_has_a_remedy_for_the_command_line(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    with captured() as notes:
        sx.LinearDiscriminantAnalysis().fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y)
        sx.LinearDiscriminantAnalysis().fit(np.column_stack([X, y]), y)
    assert [note.topic for note in notes] == ["collinear", "collinear"]
    assert notes[0].text.endswith("'x3' is a combination of 'x0' and 'x1'. Leave out those columns.")
    assert notes[1].text == (
        "Column 'x3' is constant within every class, so a row belongs to the class with the nearest value. Drop that "
        "column."
    )


def test_notes_of_a_model_come_once_with_the_topic_of_their_cause():
    flat = pd.DataFrame({"x": [-1.5, 1.5, -1.5, 1.5] * 50})
    apart = pd.DataFrame({"x": np.r_[np.linspace(-3, -1, 30), np.linspace(1, 3, 30)]})
    for table, labels, limits, topics in [
        (flat, [0, 0, 1, 1] * 50, [Limit.NARROW], ["convergence", "tuning"]),
        (apart, apart["x"] > 0, [], ["convergence"]),  # separation has a check of its own
    ]:
        with captured() as warned:
            model = TableClassifier(sx.BayesianLogisticRegression(tune="evidence")).fit(table, labels)
        assert [at.limit for at in model.estimator_.tuning_.boundary] == limits
        notes = list(notes_on_model(model, [*warned, Note("convergence", "slow")]))
        assert len({note.text for note in notes}) == len(notes)
        assert [note.topic for note in notes] == topics
        assert Note("convergence", "slow") in notes


def test_notes_of_a_study_do_not_name_arguments_of_models():
    with captured() as notes:
        text = "The posterior is skewed. Use approximation='importance', or drop columns."
        warnings.warn(text, ApproximationWarning, stacklevel=1)
        warnings.warn("The posterior is far. Use a narrower prior.", ApproximationWarning, stacklevel=1)
        warnings.warn("The search stopped (3). Increase tol, which is 1e-8.", ConvergenceWarning, stacklevel=1)
    assert [note.text for note in notes] == [
        f"The posterior is skewed. {REMEDIES['approximation'][0]}",
        f"The posterior is far. {REMEDIES['approximation'][0]}",
        "The search stopped (3). Leave out redundant columns.",
    ]


# -- separation --------------------------------------------------------------------------------------------------------

AGES = pd.DataFrame(
    {"age": np.random.default_rng(0).normal(size=200), "kind": np.random.default_rng(1).choice(["a", "b", "c"], 200)}
)
NOISY = AGES["age"] + np.random.default_rng(2).logistic(size=200) > 0
QUASI = NOISY | (AGES["kind"] == "c")  # all rows of kind c, and others too


def separation(labels, table=AGES, curved=False, estimator=None):
    estimator = sx.BayesianLogisticRegression(sx.Gaussian(3.0)) if estimator is None else estimator
    model = TableClassifier(estimator, curved=curved).fit(table, labels)
    return separation_of(model, model.encoder_.transform(table), np.searchsorted(model.classes_, labels))


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize(
    ("labels", "status", "column"),
    [(AGES["age"] > 0, "complete", "age"), (QUASI, "quasi-complete", "kind=c"), (NOISY, "overlapping", "")],
)
def test_separation_is_that_of_the_linear_program_and_names_the_columns(labels, status, column):
    found, notes = separation(labels)
    features = TableEncoder().fit(AGES).transform(AGES)
    assert found == sx.is_separable(features, labels).status == status
    assert [note.topic for note in notes] == ["separation"] * (status != "overlapping")
    assert all(column in note.text for note in notes)
    if status == "quasi-complete":
        assert f"separates {(AGES['kind'] == 'c').sum()} of 200 rows" in notes[0].text


def test_separation_with_curves_three_classes_and_generative_models():
    inside = np.abs(AGES["age"]) < 0.5
    assert separation(inside)[0] == "overlapping"
    status, (note,) = separation(inside, curved=True)
    assert status != "overlapping"
    assert "age from" in note.text
    three = np.select([AGES["age"] < -0.5, AGES["age"] < 0.5], ["low", "middle"], "high")
    assert separation(three)[0] == "complete"
    assert separation(inside, estimator=sx.LinearDiscriminantAnalysis(shrinkage=0.1)) == ("unknown", ())


def test_short_checks_of_separation_are_made_even_if_no_time_is_left():
    rng = np.random.default_rng(0)
    labels = rng.random(600) < 0.5
    for n_columns, status in [(3, "overlapping"), (150, "unknown")]:
        table = pd.DataFrame(rng.normal(size=(600, n_columns)), columns=[f"c{d}" for d in range(n_columns)])
        estimator = sx.BayesianLogisticRegression(sx.Gaussian(0.1), approximation="laplace")
        model = TableClassifier(estimator).fit(table, labels)
        found, notes = separation_of(model, model.encoder_.transform(table), labels.astype(int), Budget(0.0))
        assert found == status
        assert ["too little time was left" in note.text for note in notes] == [True] * (status == "unknown")


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "status"), [(0.0, "complete"), (1.0, "unknown")])
def test_beyond_a_thousand_weights_only_the_fitted_weights_are_checked(noise, status):
    rng = np.random.default_rng(2)
    wide = rng.normal(size=(2500, 1010)) * 0.01
    wide[:, 0] = rng.normal(size=2500)
    wide[:, 0] += np.sign(wide[:, 0])
    labels = wide[:, 0] + noise * rng.logistic(size=2500) > 0
    table = pd.DataFrame(wide, columns=[f"c{d}" for d in range(1010)])
    prior = sx.Gaussian(np.r_[50.0, np.full(1009, 1e-3)])
    estimator = sx.BayesianLogisticRegression(prior, structure="diagonal", approximation="laplace")
    found, (note,) = separation(labels, table, estimator=estimator)
    assert found == status
    assert note.topic == ("separation" if status == "complete" else "separation not checked")
    assert ("too many to check" in note.text) == (status == "unknown")


# -- whole studies -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    return conduct(TABLE, "customer", name="customers", positive="leaves")


def test_known_structure_is_found(study):
    by_name = {c.name: c for c in study.coefficients}
    for name, sign in [("charge", -1), ("calls", -1), ("tenure", 1), ("contract=two years", 1)]:
        weight = by_name[name]  # in favour of "stays"
        assert sign * weight.lower > 0 < sign * weight.upper, name
    assert {effect.column for effect in study.effects} == set(X.columns)
    tenure = next(effect for effect in study.effects if effect.column == "tenure")
    assert (np.diff(tenure.mean[:, 1]) > 0).all()


def test_the_fields_of_a_study(study):
    assert (study.question.name, study.question.target) == ("customers", "customer")
    assert (study.n_rows, study.positive) == (600, "leaves")
    assert study.classes.tolist() == ["leaves", "stays"]
    assert study.counts.sum() == 600
    assert (study.n_train, len(study.held_out.P), study.is_held_out, study.model.n_rows_) == (None, 600, True, 600)
    assert study.separation == "overlapping"
    rows, (codes, P) = study.comparison.test_rows, (study.held_out.codes, study.held_out.P)
    assert_array_equal(study.classes[codes], Y.to_numpy()[rows])
    row_scores = study.comparison[study.choice.name].test.rows
    assert_array_equal(study.held_out.log_likelihoods, row_scores)
    assert_allclose(np.log(P[np.arange(len(P)), codes]), row_scores, atol=0.5)  # mean of ln p over repeats
    assert not np.allclose(P, study.model.predict_proba(X.iloc[rows]))  # fitted without these rows


def test_a_saved_model_is_examined_on_other_rows(study, tmp_path):
    path = sx.save(study.model, tmp_path / "model.sx", about=study.about)
    assert read_about(path) == {"target": "customer", "model": study.choice.name, "positive": "leaves"}
    other, labels = make_mixed_types(200, as_frame=True, rng=1)
    stages = []
    found = examine(sx.load(path), other.assign(customer=labels), "customer", progress=stages.append)
    assert found.comparison is found.choice is found.compared is None
    assert (found.n_train, len(found.held_out.P), found.is_held_out, found.separation) == (600, 200, None, "unknown")
    assert_array_equal(found.held_out.P, study.model.predict_proba(other))
    assert_array_equal(found.classes[found.held_out.codes], labels)
    assert [c.weight for c in found.coefficients] == [c.weight for c in study.coefficients]
    assert stages[0].text == "predicting 200 rows"
    assert stages[-1].text.endswith(f"column {len(found.effects)} of {len(found.effects)}")


def test_unknown_labels_and_new_values_of_examined_rows(study):
    with pytest.raises(DataError, match="label 'dithers'.*'leaves', 'stays'"):
        examine(study.model, TABLE.assign(customer=["dithers", *Y[1:]]), "customer")
    one_class = TABLE[Y == "stays"].assign(contract="weekly")
    found = examine(study.model, one_class, "customer")
    assert found.counts.tolist() == [0, len(one_class)]
    (note,) = [note for note in found.notes if note.topic == "new values"]
    assert note.text.startswith("contract has values")


@pytest.mark.slow
def test_permuted_labels_are_noise():
    found = conduct(TABLE.assign(customer=np.random.default_rng(3).permutation(Y)), "customer")
    assert found.choice.name == "prior only"
    assert found.coefficients == ()
    assert "nothing beats the shares" in [note.topic for note in found.notes]


MEANS_YES = [
    ("no", "yes"), ("No", "YES"), (0, 1), (-1, 1), ("-1", "+1"), (False, True), ("negative", "x"), ("nein", "ja"),
    ("Non", "Oui"), ("no", "sí"), ("não", "sim"), ("нет", "да"), ("nie", "tak"), ("ne", "ano"), ("ne", "da"),
    ("aniyo", "ne"), ("όχι", "ναι"), ("いいえ", "はい"), ("thumbs down", "thumbs up"), ("no churn", "churn"),
    ("non-smoker", "smoker"), ("n", "j"), ("0.0", "1.0"),
    ("👎", "👍"), ("❌", "✅"), ("absence", "presence"),
]  # fmt: skip
SAYS_NOTHING = [(1, 2), ("1", "2"), ("blue", "red"), ("good", "bad"), ("type n", "type a"), ("group 1", "group 2")]


@pytest.mark.parametrize("labels", MEANS_YES + SAYS_NOTHING)
def test_the_positive_class_is_yes_in_any_language_or_the_rarer_never_no(labels):
    for often, rarely in (labels, labels[::-1]):
        classes = np.array(sorted(labels))
        counts = np.where(classes == often, 20, 10)
        assert positive_class(classes, counts, None) == (rarely if labels in SAYS_NOTHING else labels[1])


def test_every_pair_of_words_for_no_and_yes_has_one_meaning():
    """A pair of two languages in which yes and no are exchanged could not be decided."""
    pairs = [tuple(pair.split()) for pair in NO_YES_PAIRS.replace("\n", " ").split(",")]
    assert all(len(pair) == 2 for pair in pairs)
    assert not {pair[::-1] for pair in pairs} & set(pairs)


def test_an_unknown_positive_class_and_model_are_reported_before_any_fit(monkeypatch):
    monkeypatch.setattr(TableClassifier, "configured", lambda *_: pytest.fail("a model was configured"))
    with pytest.raises(ValueError, match="positive='perhaps' is not a class"):
        conduct(TABLE, "customer", positive="perhaps")
    with pytest.raises(ValueError, match="no model 'forest'"):
        conduct(TABLE, "customer", models=["forest"])
    with pytest.raises(TypeError, match="target must be the name of a column, not list"):
        conduct(TABLE, [0, 1])


def test_if_the_chosen_model_fails_on_all_rows_the_next_is_fitted_with_a_note(monkeypatch):
    compared = compare_models(TABLE, "customer", models=FAST)
    assert compared.choice.name == "linear discriminant"
    adopt = TableClassifier.adopt

    def spoilt(self, *arguments):
        if isinstance(self.estimator, sx.LinearDiscriminantAnalysis):
            raise RuntimeError("a bug")
        return adopt(self, *arguments)

    monkeypatch.setattr(TableClassifier, "adopt", spoilt)
    study = study_of(compared)
    assert study.choice.name == "prior only"
    assert "linear discriminant could not be fitted to all rows (RuntimeError: a bug)" in str(study.notes[0])
    monkeypatch.setattr(TableClassifier, "adopt", lambda *_: 1 / 0)
    with pytest.raises(DataError, match="No model could be fitted to all rows"):
        study_of(compared)


def test_a_study_without_time_tries_only_the_class_proportions_and_names_the_others():
    found = conduct(TABLE, "customer", time=1e-3)
    assert found.choice.name == "prior only"
    others = [trial for trial in found.compared.comparison if trial.name != "prior only"]
    assert {trial.outcome for trial in others} == {"not tried"}
    assert all("--time" in trial.failure for trial in others)
    named = [str(note) for note in found.notes if note.topic == "failure"]
    assert len(named) == len(others) >= 4
    assert all("was not tried" in text for text in named)
    (useless,) = [str(note) for note in found.notes if note.topic == "nothing beats the shares"]
    assert useless in found.choice.reasons
    assert "The time ran out" in useless
    assert "Allow more time (--time)" in useless
    assert "little or no information" not in " ".join(answer_sentences(found, performance_of(found)))
    requested = compare_models(TABLE, "customer", models=["linear discriminant", LOGISTIC], time=1e-3)
    assert requested.choice.name == "linear discriminant"  # the cheapest


def _only_some_rows(monkeypatch, few):
    """These candidates have time for a number of rows; the others have time for all."""

    def largest(name, attempt, cost, n_rows, share, stages, *, n_fits):
        stages(name)
        return attempt(few.get(name, n_rows))

    monkeypatch.setattr(race, "_largest_attempt", largest)


@pytest.mark.usefixtures("split")
def test_a_candidate_is_fitted_to_fewer_rows_if_all_rows_would_take_too_long(monkeypatch):
    few = {"linear discriminant": 120, "logistic (Bayesian)": 240}
    _only_some_rows(monkeypatch, few)
    columns, labels = make_mixed_types(1200, as_frame=True, rng=0)
    found = conduct(columns.assign(customer=labels), "customer", models=["prior only", *few])
    for trial in found.compared.comparison:
        assert len(trial.train.rows) == few.get(trial.name, 960)
        assert trial.evidence.of_labels is (trial.name == "prior only")  # a sample has another evidence
    notes = [str(note) for note in found.notes]
    for name, n in few.items():
        text = f"this model was fitted to {n} of 960 training rows"
        assert any(text in note and (name in note) is (name != found.choice.name) for note in notes)


def test_a_candidate_gets_half_of_the_rows_until_they_fit_into_its_share_of_the_time():
    assert affordable_rows(lambda n: 30.0, 50_000, 40.0) == 50_000
    assert affordable_rows(lambda n: n / 1000, 100_000, 40.0) == 25_000
    assert affordable_rows(lambda n: n / 100, 100_000, 40.0) == 12_500  # a smaller sample is not tried
    assert affordable_rows(lambda n: n / 100, 10_000, 1.0) == 2500
    assert affordable_rows(lambda n: 50.0, 1000, 40.0) == 1000
    budget = Budget(100.0)
    budget.measure(10.0, 20.0)  # this machine takes twice as long as expected
    assert budget.expected(30.0) == 60.0
    budget.measure(0.01, 5.0)  # too short to measure the speed
    assert budget.expected(30.0) == 60.0
    assert 49.9 < budget.share(1) <= 50.0  # the other half is for the final fit
    assert 24.9 < budget.share(3) <= 25.0


class Clock:
    """Time that passes only if a fit is simulated."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (race, progress):
        monkeypatch.setattr(module, "perf_counter", clock)
    return clock


@given(
    n_rows=st.integers(10, 200_000),
    share=st.floats(0.01, 100),
    error=st.floats(0.05, 20),
    power=st.just(1.0) | st.floats(0.3, 3),
    seconds=st.floats(1e-3, 1e4),
)
def test_the_attempts_of_a_candidate_end_in_time_however_wrong_their_expected_time_is(
    n_rows, share, error, power, seconds
):
    """Fits report each thousandth of their time; a stopped fit leaves the result of the smaller sample."""
    clock, tried = Clock(), []
    with pytest.MonkeyPatch.context() as patch:
        for module in (race, progress):
            patch.setattr(module, "perf_counter", clock)
        stages = Stages(None, 1, budget=Budget(share * 4))

        def cost(n):
            return seconds * n / n_rows

        def attempt(n):
            of_fit = error * seconds * (n / n_rows) ** power
            for _ in range(1000):
                clock.now += of_fit / 1000
                stages.rows(n, n, 1)
            tried.append(n)
            return race.Attempt(Trial("it"), [], Configured(None))

        found = race._largest_attempt("it", attempt, cost, n_rows, share, stages, n_fits=1)
    assert clock.now <= 3.01 * share  # two stopped attempts leave a quarter of the time
    assert tried == sorted(set(tried))
    if found.trial.failure:
        assert not tried
        assert found.trial.outcome in ("not tried", "stopped")
        assert "--time" in found.trial.failure
        if 1 / 3 < error < 3:  # as accurate as stated
            assert error * seconds * min_rows(n_rows) / n_rows > share
    elif n_rows not in tried and power == 1:
        assert error * seconds > share / 2  # all rows are tried if they take little time


def test_time_is_kept_for_the_final_fit_of_the_best_candidate_so_far(clock):
    budget = Budget(60.0)
    budget.reserved = 20.0
    assert (budget.left, budget.free, budget.share(1)) == (60.0, 40.0, 20.0)
    clock.now += 30.0
    stages, tried = Stages(None, 1, budget=budget), []
    late = race._largest_attempt("it", tried.append, lambda n: 12.0, 1000, budget.share(1), stages, n_fits=1)
    assert not tried
    assert late.trial.failure.startswith("Not tried: 1,000 rows would take about 12 s, and 10 of 60 s are left.")
    good, bad = (
        Trial(name, test=Scores(log_likelihood=Estimate(value, 0.1))) for name, value in (("a", -1), ("b", -2))
    )
    assert race._leader([bad, good, Trial("c", failure="Failed")], []) is good
    assert race._leader([], []) is None


def test_a_fit_is_stopped_at_the_next_pass_over_rows(clock):
    stages, rows = Stages(None, 1), open_rows(np.ones((3, 1)))

    def read(block):
        clock.now += 1.0
        return np.zeros(1)

    with pytest.raises(OutOfTime), stages.limited(2.5):
        [rows.map(read) for _ in range(5)]
    assert clock.now == 3.0
    rows.map(read)  # the limit has ended with its block


@pytest.mark.usefixtures("split")
def test_the_chosen_model_is_fitted_to_a_sample_if_all_rows_would_take_too_long():
    columns, labels = make_mixed_types(1200, as_frame=True, rng=0)
    compared = compare_models(columns.assign(customer=labels), "customer", models=FAST)
    trial = replace(compared.comparison["linear discriminant"], fit_seconds=1000.0)
    trials = tuple(trial if each.name == trial.name else each for each in compared.comparison)
    study = study_of(replace(compared, comparison=replace(compared.comparison, trials=trials)))
    assert study.choice.name == "linear discriminant"
    assert study.model.n_rows_ == compared.train.n_rows
    assert any("fitted to a sample of 960 of 1200 rows" in str(note) for note in study.notes)


def test_stages_are_reported_in_order_and_the_steps_can_be_taken_separately():
    stages, later = [], []
    whole = conduct(TABLE, "customer", models=FAST, seed=3, level=0.9, progress=stages.append)
    assert list(dict.fromkeys(stage.done for stage in stages)) == list(range(3 + N_LATER_STAGES))
    assert {stage.total for stage in stages} == {3 + N_LATER_STAGES}
    assert all(0 < after <= before <= 60 for before, after in itertools.pairwise(s.budget_left for s in stages))
    starts = list({stage.done: stage for stage in reversed(stages)}.values())[::-1]
    assert [stage.text for stage in starts[1:3]] == [f"{name}, 600 rows" for name in FAST]
    assert starts[3].seconds_left > 0  # the final fit, from the time of the fit to the training rows
    compared = compare_models(pl.from_pandas(TABLE), "customer", models=FAST, seed=3)
    steps = study_of(compared, level=0.9, progress=later.append)
    assert list(dict.fromkeys(stage.done for stage in later)) == list(range(3, 3 + N_LATER_STAGES))
    assert_allclose(steps.held_out.P, whole.held_out.P)
    assert_allclose([c.weight for c in steps.coefficients], [c.weight for c in whole.coefficients])
    assert steps.notes == whole.notes
    assert (steps.question.seed, steps.question.test_share, steps.level) == (3, 0.2, 0.9)
    other = compare_models(TABLE, "customer", models=FAST, seed=4)
    assert not np.array_equal(other.comparison[FAST[1]].P, whole.comparison[FAST[1]].P)


def test_progress_within_a_stage_names_the_pass_and_the_row():
    seen = []
    stages = Stages(seen.append, total=3)
    stages("logistic", seconds=5.0)
    stages.rows(10, 100, 1)  # too soon after the last report
    time.sleep(1.5 * REPORT_SECONDS)
    stages.rows(20, 100, 2)
    stages.columns(4, 4)
    assert [stage.text for stage in seen] == ["logistic", "logistic: pass 2, row 20 of 100", "logistic: column 4 of 4"]
    assert 4 < seen[1].seconds_left < 5


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_small_tables(seed):
    rng = np.random.default_rng(seed)
    tiny = pd.DataFrame({"x": rng.normal(size=14), "y": list("aabbccddeeffgg")})
    assert len(conduct(tiny, "y", models=["prior only", "naive Bayes"]).classes) == 7
    text = pd.DataFrame({"k": rng.choice(["u", "v"], 60), "y": rng.choice(["p", "q"], 60)})
    assert sorted(conduct(text, "y", models=[LOGISTIC]).effects[0].values.tolist()) == ["u", "v"]


@pytest.mark.slow
def test_fewer_rows_than_columns():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(60, 80)), columns=[f"c{d}" for d in range(80)])
    wide["y"] = wide["c0"] + wide["c1"] + rng.logistic(0, 0.2, size=60) > 0
    found = conduct(wide, "y", test_share=0.5)
    assert CURVED not in found.comparison.names
    assert np.isfinite(found.held_out.P).all()
    assert "effects" in [note.topic for note in found.notes]  # of 40 columns only
    wider = np.hstack([wide.drop(columns="y"), rng.normal(size=(60, 240))])
    model = TableClassifier().fit(wider, wide["y"])
    assert model.estimator_.posterior_.structure == "dual"  # of 320 weights, 60 combinations are determined by the rows


# -- cross-validation ----------------------------------------------------------------------------------


@given(st.lists(st.integers(2, 40), min_size=2, max_size=5), st.floats(0.02, 0.5), st.integers(0, 2**31))
def test_folds_keep_training_rows_of_every_class_and_spread_classes_evenly(counts, fraction, seed):
    codes = np.repeat(np.arange(len(counts)), counts)
    n_folds = n_folds_of(codes, fraction)
    folds = fold_numbers(codes, n_folds, np.random.default_rng(seed))
    tested = np.array([np.bincount(codes[folds == k], minlength=len(counts)) for k in range(n_folds)])
    assert (tested.sum(axis=1) > 0).all()
    assert (tested < np.array(counts)).all()
    assert (np.ptp(tested, axis=0) <= 1).all()


@pytest.mark.parametrize("n_rows", [4, 10, 60])
def test_every_row_of_a_small_table_is_scored_by_models_fitted_without_it(n_rows):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=n_rows), "y": np.tile(["a", "b"], n_rows // 2)})
    study = conduct(table, "y", models=["prior only", "linear discriminant"])
    assert len(study.held_out.P) == n_rows
    assert_array_equal(study.comparison.test_rows, np.arange(n_rows))
    assert study.comparison.n_folds == min(5, n_rows // 2)
    p = study.comparison["prior only"].test
    assert_allclose(p.rows, np.log(0.5), atol=0.02)  # folds are stratified
    assert p.auc.value == 0.5
    assert "cross-validated" in study.choice.reasons[0]


@pytest.mark.parametrize(
    "x", [[-1.07, *np.geomspace(0.1, 9, 9)], [0] * 9 + [1]], ids=["negative once", "constant but once"]
)
def test_folds_that_lack_the_odd_value_of_the_table_end_no_model(x):
    found = compare_models(pd.DataFrame({"x": x, "y": list("ab") * 5}), "y", models=["prior only", "naive Bayes"])
    assert [trial.failure for trial in found.comparison] == ["", ""]


def test_the_columns_are_not_searched_once_for_each_column(monkeypatch):
    """With 90,000 columns, cross-validation took minutes before the first fit."""

    class Counted(list):
        n_passes = 0

        def __iter__(self):
            Counted.n_passes += 1
            return super().__iter__()

    monkeypatch.setattr("separatrix.study.validation.complete_numbers", lambda schema: Counted(schema.inputs))
    n_passes = []
    for n_columns in (20, 80):
        table = {f"x{i}": np.random.default_rng(i).normal(size=60) for i in range(n_columns)}
        Counted.n_passes = 0
        compare_models(pd.DataFrame(table | {"y": ["a", "b"] * 30}), "y", models=["prior only"])
        n_passes.append(Counted.n_passes)
    assert n_passes[0] == n_passes[1]


@pytest.mark.parametrize("n_rows", [999, 1000, 2500])
def test_tables_are_cross_validated_if_the_time_suffices_and_folds_are_stated(n_rows):
    columns, labels = make_mixed_types(n_rows, as_frame=True, rng=0)
    found = compare_models(columns.assign(customer=labels), "customer", models=FAST)
    assert len(found.comparison.test_rows) == n_rows
    assert found.choice.reasons[0].startswith(f"On {n_rows:,} cross-validated rows (5 folds, repeated 2 times), ")


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "seconds_per_fit", "expected"),
    [
        (100, 10, 0.1, 4),
        (900, 10, 0.1, 2),
        (900, 10, 2.0, 1),  # 22 s for two repeats, more than a quarter of the minute
        (900, 10, 99.0, 1),  # candidates that take too long are not tried
        (1000, 10, 0.1, 2),
        (20_000, 10, 0.1, 2),
        (20_000, 10, 4.0, 1),
        (20_000, 10, 23.0, 1),
        (20_000, 10, 25.0, 0),  # 50 s for two fits, more than four fifths of the minute
        (20_000, 400, 0.1, 0),  # the folds would take more than 250 MB
        (20_001, 10, 0.0, 0),
    ],
)
def test_one_split_replaces_cross_validation_only_above_the_limits(n_rows, n_columns, seconds_per_fit, expected):
    def seconds_of(n_fits):
        return seconds_per_fit * n_fits

    assert n_repeats_of(n_rows, n_columns, 5, seconds_of, 60.0) == expected


def test_a_candidate_that_is_fitted_to_a_sample_is_validated_with_samples(monkeypatch):
    sizes, fit = [], sx.LinearDiscriminantAnalysis.fit
    _only_some_rows(monkeypatch, {"linear discriminant": 300})
    monkeypatch.setattr(
        sx.LinearDiscriminantAnalysis, "fit", lambda self, X, y: sizes.append(len(y)) or fit(self, X, y)
    )
    columns, labels = make_mixed_types(1200, as_frame=True, rng=0)
    found = compare_models(columns.assign(customer=labels), "customer", models=FAST)
    assert sizes == [300] * 11  # the fit to all rows, and two repeats of five folds
    assert found.comparison.sampled == ("linear discriminant",)


def test_a_memorised_label_does_not_help_in_cross_validation():
    """Random labels: the standard error is over rows, so the loss is within a few standard errors of ln 2."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(80, 3))).add_prefix("x").assign(y=rng.permutation(np.arange(80) % 2))
    loss = compare_models(table, "y", models=[LOGISTIC]).comparison[LOGISTIC].test.log_likelihood
    assert abs(loss.value + np.log(2)) < 4 * loss.standard_error + 0.05
    assert loss.standard_error < 0.1


# -- the race within the time limit ------------------------------------------------------------------------------------


@pytest.fixture
def costly(monkeypatch):
    """Each fold takes ten seconds, according to the clock of the race."""
    monkeypatch.setattr(Entry, "seconds", property(lambda self: 10.0))
    return monkeypatch


def test_a_costly_candidate_that_is_clearly_behind_stops_after_a_fold_with_the_reason(costly):
    costly.setattr(Budget, "left", property(lambda self: 1000.0))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) * np.where(np.arange(600) % 2, 1.0, 4.0)[:, None]  # the means of the classes agree
    table, bad = pd.DataFrame(X, columns=["a", "b"]).assign(customer=np.arange(600) % 2), "linear discriminant"
    found = compare_models(table, "customer", models=["prior only", "naive Bayes", QUADRATIC, bad], time=1000.0)
    stopped = found.comparison[bad]
    assert stopped.outcome == "stopped"
    assert re.search(r"^Stopped after \d of 5 folds: it was 0.\d+ ± 0.\d+ nats per row behind ", stopped.failure)
    assert stopped.problem.startswith(f"{bad} was stopped after")
    assert len(found.comparison.test_rows) == 600  # the others have all folds
    assert [trial.name for trial in found.comparison if trial.outcome] == [bad]  # the baseline never stops
    assert f"{bad} was stopped after" in " ".join(note.text for note in found.notes)


def test_if_the_time_runs_out_the_folds_so_far_decide_on_the_same_rows(costly):
    scored, score = [], Entry.score
    costly.setattr(Entry, "score", lambda self, *arguments: scored.append(self.name) or score(self, *arguments))
    costly.setattr(Budget, "left", property(lambda self: 100.0 if len(scored) < 4 else 0.0))
    found = compare_models(TABLE, "customer", models=["linear discriminant", "naive Bayes"], time=100.0)
    n = len(found.comparison.test_rows)
    assert found.test.n_rows == n == 240  # two of five folds
    assert [len(trial.test.rows) for trial in found.comparison] == [n, n]
    assert any(f"The scores come from {n} of 600 rows" in note.text for note in found.notes)
    study = study_of(found)
    accuracy = (study.held_out.P.argmax(axis=1) == study.held_out.codes).mean()
    assert accuracy > 0.8  # probabilities and labels belong to the same rows
    apparent = weighted_mean(study.held_out.log_likelihoods).value
    assert_allclose(apparent - found.optimism, study.score.value)


def test_candidates_near_the_best_are_cross_validated_again_while_time_is_left():
    found = compare_models(TABLE, "customer", models=["prior only", "naive Bayes", "linear discriminant"], time=1000.0)
    assert found.comparison.repeats == (2, 4)
    assert found.comparison.folds == "5 folds, repeated up to 4 times"


def test_a_model_that_was_fitted_to_all_rows_is_not_fitted_again(monkeypatch):
    numbers = TABLE[["tenure", "charge", "calls", "customer"]]
    compared = compare_models(numbers, "customer", models=["prior only", LOGISTIC, CURVED])
    again = TableClassifier(**compared.models[compared.choice.name].get_params(deep=False))
    again.fit(numbers.drop(columns="customer"), numbers["customer"])
    monkeypatch.setattr(TableClassifier, "fit_encoded", lambda *_: pytest.fail("fitted again"))
    study = study_of(compared)
    assert_allclose(study.model.predict_proba(numbers), again.predict_proba(numbers), atol=1e-6)
    assert_allclose(study.model.spread_, again.spread_)
    assert study.model.n_rows_ == 600
    assert np.isfinite(study.effects[0].lower).all()


# -- files, printing and notebooks -------------------------------------------------------------------------------------


def test_a_study_of_a_file_is_that_of_its_rows_and_is_named_after_it(tmp_path):
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    found, same = (
        conduct(table, "customer", models=FAST, positive="leaves") for table in (tmp_path / "people.csv", TABLE)
    )
    assert (found.question.name, same.question.name) == ("people", "the table")
    assert_array_equal(found.held_out.P, same.held_out.P)
    with pytest.raises(DataError, match="people.csv has no column 'custom'"):
        conduct(str(tmp_path / "people.csv"), "custom")


def test_a_file_larger_than_a_quarter_of_the_memory_is_compared_on_a_sample_and_fitted_completely(
    tmp_path, monkeypatch
):
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.setattr("separatrix.study.opening.available_memory", lambda: 2**10)
    monkeypatch.setattr("separatrix.study.opening.spread_rows", lambda batches, n: spread_rows(batches, n, 200))
    found = conduct(tmp_path / "people.csv", "customer", models=FAST)
    assert (found.n_rows, found.model.n_rows_, found.compared.table.n_rows) == (600, 600, 200)
    assert any("as they were read" in note.text for note in found.notes)


def test_a_study_prints_its_choice_its_scores_and_its_notes(study, tmp_path):
    text, page = str(study), study._repr_html_()
    for shown in (text, page):
        assert study.choice.name in shown
        assert study.effects[0].column in shown
        assert "log-lik." in shown
    assert text.startswith("Study of customer in customers, 600 rows, 2 classes: ")
    assert max(map(len, text.splitlines())) <= 120
    assert study.report(tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(FileExistsError, match="force=True"):
        study.report(tmp_path / "report.html")


def test_a_notebook_shows_the_current_stage_in_one_line_that_is_removed(monkeypatch):
    published = []

    class ZMQInteractiveShell:  # the name of IPython's class
        @property
        def display_pub(self):
            return self

        def publish(self, data, *, transient, update):
            published.append((data["text/plain"], transient["display_id"], update))

    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=ZMQInteractiveShell))
    conduct(TABLE, "customer", models=FAST)
    texts, names, updates = zip(*published, strict=True)
    assert texts[0] == "1 of 6: reading the columns (time limit in 60 s)"
    assert texts[-1] == ""
    assert len(set(names)) == 1
    assert updates == (False, *[True] * (len(texts) - 1))


# -- tables larger than memory -----------------------------------------------------------------------------------------


def test_rows_are_spread_evenly_however_they_are_batched():
    numbers = pa.table({"n": np.arange(10_000)})
    spread = [spread_rows(numbers.to_batches(max_chunksize=size), 10_000, 500) for size in (10_000, 999, 7)]
    assert spread[0].equals(spread[1])
    assert spread[0].equals(spread[2])
    found = spread[0].column("n").to_numpy()
    assert np.array_equal(found // 20, np.arange(500))  # one of each twenty
    assert len(np.unique(found % 20)) > 15
    assert spread_rows(numbers.to_batches(), 10_000).num_rows == 10_000


def test_a_study_of_a_scan_is_that_of_rows_in_memory(tmp_path):
    import pyarrow.parquet as pq

    features, y = make_mixed_types(3000, as_frame=True, rng=1)
    table = pa.Table.from_pandas(features.assign(customer=y), preserve_index=False)
    pq.write_table(table, tmp_path / "all.parquet", row_group_size=700)
    compared = compare_models(table, "customer", models=["prior only", LOGISTIC])
    rows = sx.scan(tmp_path / "all.parquet", target="customer")
    streamed, whole = study_of(compared, everything=rows), study_of(compared)
    assert streamed.choice.name == LOGISTIC
    assert streamed.n_rows == whole.n_rows == 3000
    weights = [[c.weight for c in found.coefficients] for found in (streamed, whole)]
    assert_allclose(*weights, rtol=1e-6, atol=1e-8)
    assert_allclose(streamed.effects[0].mean, whole.effects[0].mean, atol=1e-6)
    assert "sampled" in [note.topic for note in streamed.notes]
    rare = sx.scan(table.set_column(0, "charge", table["charge"]), target="contract", columns=["charge", "tenure"])
    with pytest.raises(DataError, match="too rare"):
        study_of(compared, everything=rare)
