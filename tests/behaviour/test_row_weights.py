"""Weights of rows in studies: a weight of k equals k copies, in every number of a study and on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from typer.testing import CliRunner

import separatrix as sx
from separatrix.comparison import Fold, scores_of
from separatrix.datasets import make_mixed_types
from separatrix.exceptions import DataError
from separatrix.report.performance import performance_of
from separatrix.report.sections import _spreads
from separatrix.study import conduct, in_proportion
from separatrix.study.choice import optimism_of_choice
from separatrix.study.opening import open_frame, open_labelled

MODELS = ["prior only", "linear discriminant"]
X, Y = make_mixed_types(300, as_frame=True, rng=0)
COUNTS = np.random.default_rng(0).integers(0, 4, 300)
WEIGHTED = X.assign(customer=Y, n=COUNTS)
COPIES = X.assign(customer=Y).loc[np.repeat(np.arange(300), COUNTS)]


def run(*words):
    from separatrix.cli.app import app

    return CliRunner().invoke(app, list(words))


@pytest.fixture(scope="module")
def weighted():
    return conduct(WEIGHTED, "customer", weight="n", models=MODELS)


@pytest.fixture(scope="module")
def copied():
    return conduct(COPIES, "customer", models=MODELS)


def test_fits_evidence_proportions_and_effects_are_those_of_copies(weighted, copied):
    """The folds differ, because the copies of a row are drawn one by one; what does not depend on them is equal."""
    assert weighted.n_rows == (COUNTS > 0).sum()
    assert_array_equal(weighted.counts, copied.counts)
    assert "n" not in weighted.schema.inputs
    assert weighted.comparison[MODELS[0]].evidence == pytest.approx(copied.comparison[MODELS[0]].evidence)
    assert_allclose(weighted.model.predict_proba(X), copied.model.predict_proba(X), rtol=1e-9)
    for name in MODELS:
        found, expected = (study.comparison[name].train for study in (weighted, copied))
        for score in ("log_likelihood", "accuracy", "brier", "ece", "auc"):
            assert_allclose(getattr(found, score), getattr(expected, score), rtol=1e-9, err_msg=score)
    assert [effect.column for effect in weighted.effects] == [effect.column for effect in copied.effects]
    for found, expected in zip(weighted.effects, copied.effects, strict=True):
        assert_allclose(found.importance, expected.importance, rtol=1e-9)
        assert_allclose(found.mean, expected.mean, rtol=1e-9)


def test_a_note_states_what_the_rows_count_as(weighted):
    (note,) = [note.text for note in weighted.notes if note.topic == "weights"]
    assert f"count as {COUNTS.sum()}" in note
    assert f"{(COUNTS == 0).sum()} rows of weight 0 were left out" in note
    assert weighted.about["weight"] == "n"


@pytest.mark.slow
def test_weights_of_the_same_size_change_no_score_but_its_standard_error():
    """The folds are then the same, and those of a discriminant do not depend on the unit of the weights."""
    plain, thrice = (
        conduct(X.assign(customer=Y, **extra), "customer", models=MODELS, weight=weight)
        for extra, weight in (({}, None), ({"n": 3}, "n"))
    )
    N = len(X)
    for name in MODELS:
        before, after = plain.comparison[name].test, thrice.comparison[name].test
        for score in ("log_likelihood", "accuracy", "brier"):
            assert getattr(after, score).value == pytest.approx(getattr(before, score).value, rel=1e-3)
    before, after = (study.comparison[MODELS[1]].test for study in (plain, thrice))
    ratio = after.accuracy.standard_error / before.accuracy.standard_error
    assert ratio == pytest.approx(np.sqrt((N - 1) / (3 * N - 1)), rel=1e-9)
    assert performance_of(thrice).accuracy == pytest.approx(after.accuracy)
    assert thrice.score.standard_error == after.log_likelihood.standard_error


def test_held_out_scores_and_their_report_use_the_weights(weighted):
    held, comparison = weighted.held_out, weighted.comparison
    assert_array_equal(held.weight, COUNTS[COUNTS > 0])
    trial = comparison[weighted.choice.name]
    fold = Fold(None, held.codes, np.arange(len(held.codes)), held.weight)
    expected = scores_of(held.P, held.log_likelihoods, trial.test.accuracy, fold)
    assert trial.test.brier == expected.brier
    assert trial.test.accuracy.value == pytest.approx(
        np.average(held.P.argmax(axis=1) == held.codes, weights=held.weight)
    )
    found = performance_of(weighted)
    assert found.auc == expected.auc
    assert -found.log_loss.value == pytest.approx(expected.log_likelihood.value)
    unweighted = np.mean(held.log_likelihoods)
    assert abs(unweighted - expected.log_likelihood.value) > 1e-3  # the weights matter on these rows
    assert np.isfinite(optimism_of_choice(comparison, np.random.default_rng(0)))


def test_rows_in_proportion_are_copies_if_they_are_few_and_proportional_if_not(rng):
    assert_array_equal(in_proportion(COUNTS.astype(float)), np.repeat(np.arange(300), COUNTS))
    weight = rng.exponential(size=50)
    found = in_proportion(weight)
    assert_allclose(np.bincount(found, minlength=50) / len(found), weight / weight.sum(), atol=1 / len(found))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([1.0, 2.0, -1.0], "Row 3 (counted from 1) has no valid weight: column 'n' is -1."),
        (
            [1.0, None, np.nan],
            "Row 2 (counted from 1) has no valid weight: column 'n' is missing. 1 more row likewise.",
        ),
        ([1.0, np.inf, 1.0], "column 'n' is inf"),
        (["1", "2", "many"], "'many' in row 3 (counted from 1), which is no number"),
        ([0, 0, 0], "All weights in column 'n' are zero"),
        ([1e-9, 1e-9, 1e-9], "sum to 3e-09"),
        (pd.to_datetime(["2024-01-01"] * 3), "contains dates"),
    ],
)
def test_columns_that_are_no_weights_are_refused(column, expected):
    table = pd.DataFrame({"x": [1, 2, 3], "y": ["a", "b", "a"], "n": column})
    with pytest.raises(DataError) as error:
        open_frame(table, "y", weight="n")
    assert expected in str(error.value)


def test_a_weight_is_neither_the_target_nor_the_only_input():
    table = pd.DataFrame({"y": ["a", "b", "a"], "n": [1, 2, 3]})
    with pytest.raises(DataError, match="both the target and the weight"):
        open_frame(table, "y", weight="y")
    with pytest.raises(DataError, match="'y' and 'n' are the only columns"):
        open_frame(table, "y", weight="n")
    with pytest.raises(DataError, match="no feature and has no type"):
        open_labelled(table.assign(x=1.0), "y", {"n": "drop"}, "n")


def test_a_class_without_weight_is_no_class():
    table = pd.DataFrame({"x": range(6), "y": list("aabbcc"), "n": [1, 1, 1, 1, 0, 0]})
    found = open_frame(table, "y", weight="n")
    assert found.classes.tolist() == ["a", "b"]
    assert found.codes.tolist() == [0, 0, 1, 1]


@pytest.mark.slow
def test_weights_on_the_command_line(tmp_path, monkeypatch):
    """`fit` saves the column; `predict` and `report` accept tables with it and without it."""
    monkeypatch.chdir(tmp_path)
    WEIGHTED.to_csv("weighted.csv", index=False)
    WEIGHTED.drop(columns="n").to_csv("plain.csv", index=False)
    words = ("-t", "customer", "--weight", "n", "--models", "prior,linear")
    result = run("fit", "weighted.csv", *words, "--costs", "leaves:stays=5", "--json")
    assert result.exit_code == 0, result.output
    fitted = json.loads(result.stdout)
    assert [entry["rows"] for entry in fitted["classes"]] == [int(COUNTS[label == Y].sum()) for label in np.unique(Y)]
    assert "n" not in [column["name"] for column in fitted["columns"]]
    assert sx.load("model.sx").predict(X).shape == (300,)
    for table, once in (("weighted.csv", True), ("plain.csv", False)):
        result = run("predict", "model.sx", table, "-o", f"out_{table}")
        assert result.exit_code == 0, result.output
        assert ("each counted once" in " ".join(result.output.split())) is once
    reports = {}
    for table in ("weighted.csv", "plain.csv"):
        result = run("report", "model.sx", table, "-o", f"{table}.html", "--json")
        assert result.exit_code == 0, result.output
        reports[table] = json.loads(result.stdout)
    assert any("count as" in note for note in reports["weighted.csv"]["notes"])
    assert not any("count as" in note for note in reports["plain.csv"]["notes"])
    result = run("fit", "weighted.csv", "-t", "customer", "--weight", "m", "--force")
    assert result.exit_code != 0
    assert "has no column 'm', which --weight names" in " ".join(result.output.split())


def test_a_large_file_is_compared_and_fitted_with_its_weights(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.study.opening.available_memory", lambda: 8_000)
    WEIGHTED.to_csv(tmp_path / "weighted.csv", index=False)
    study = conduct(tmp_path / "weighted.csv", "customer", weight="n", models=MODELS[:1])
    assert_array_equal(study.counts, [COUNTS[label == Y].sum() for label in np.unique(Y)])
    expected = study.counts / study.counts.sum()
    assert_allclose(study.model.predict_proba(X.iloc[:1])[0], expected, rtol=1e-3)


@pytest.mark.slow
def test_the_spread_of_a_report_is_that_of_copies():
    weighted, copied = (
        conduct(table, "customer", weight=weight, models=["prior only", "logistic (Bayesian)"])
        for table, weight in ((WEIGHTED, "n"), (COPIES, None))
    )
    found, expected = _spreads(weighted), _spreads(copied)
    assert list(found) == list(expected)
    assert_allclose(list(found.values()), list(expected.values()), rtol=0.02)
