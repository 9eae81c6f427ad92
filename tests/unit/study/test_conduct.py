"""Studies end to end: known structure is found, noise is called noise, and bad tables are told apart from good ones."""

from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.exceptions import DataError
from separatrix.study import Note, compare_models, conduct, examine, study_of

X, Y = make_mixed_types(600, as_frame=True, rng=0)
TABLE = X.assign(customer=Y)


@pytest.fixture(scope="module")
def study():
    return conduct(TABLE, "customer", name="customers")


def test_the_known_structure_is_found(study):
    by_name = {c.name: c for c in study.coefficients}
    for name, sign in [("charge", -1), ("calls", -1), ("tenure", 1), ("contract=two years", 1)]:
        weight = by_name[name]  # in favour of "stays"
        assert sign * weight.lower > 0 < sign * weight.upper, name
    assert {effect.column for effect in study.effects} == set(X.columns)
    tenure = next(effect for effect in study.effects if effect.column == "tenure")
    assert (np.diff(tenure.mean[:, 1]) > 0).all()


def test_the_shape_of_what_comes_back(study):
    assert (study.name, study.target, study.n_rows) == ("customers", "customer", 600)
    assert study.classes.tolist() == ["leaves", "stays"]
    assert study.counts.sum() == 600
    assert study.choice.name in study.comparison.names
    assert study.held_out.P.shape == (120, 2)
    assert (study.n_train, study.n_test, study.is_held_out) == (480, 120, True)
    assert (study.seed, study.test_share, study.types, study.model.n_rows_) == (0, 0.2, None, 600)
    assert study.separation == "overlapping"
    labels = study.classes[study.held_out.codes]
    assert_array_equal(labels, Y.to_numpy()[study.comparison.test_rows])


def test_held_out_rows_are_judged_by_a_model_that_has_not_seen_them(study):
    codes, P = study.held_out.codes, study.held_out.P
    assert_allclose(np.log(P[np.arange(len(P)), codes]), study.comparison[study.choice.name].test.rows)
    assert not np.allclose(P, study.model.predict_proba(X.iloc[study.comparison.test_rows]))


def test_the_model_is_fitted_to_all_rows_and_can_be_kept(study, tmp_path):
    log_likelihood = study.model.estimator_.log_likelihood_
    assert_allclose(
        log_likelihood, np.log(study.model.estimator_.predict_proba(_numbers(study))[_own()]).sum(), rtol=0.02
    )
    again = sx.load(sx.save(study.model, tmp_path / "model.sx"))
    assert_array_equal(again.predict_proba(X), study.model.predict_proba(X))
    assert (again.target_name_, again.name_) == (study.target, study.choice.name)


def _numbers(study):
    return sx.data.reader.NamedRows(study.model.encoder_.transform(X), study.schema.columns)


def _own():
    return np.arange(600), (Y == "stays").to_numpy().astype(int)


def test_a_saved_model_is_examined_on_other_rows(study):
    other, labels = make_mixed_types(200, as_frame=True, rng=1)
    told = []
    found = examine(study.model, other.assign(customer=labels), "customer", progress=told.append)
    assert found.comparison is None
    assert found.choice is None
    assert (found.n_train, found.n_test, found.is_held_out) == (600, 200, None)
    assert found.separation == "unknown"
    assert_array_equal(found.held_out.P, study.model.predict_proba(other))
    assert_array_equal(found.classes[found.held_out.codes], labels)
    assert [c.weight for c in found.coefficients] == [c.weight for c in study.coefficients]
    assert sorted({stage.done for stage in told}) == [0, 1]
    assert told[0].text == "predicting 200 rows"
    n_columns = len(found.effects)
    assert told[-1].text == f"effects of the columns: column {n_columns} of {n_columns}"


def test_labels_that_a_model_does_not_know_and_values_it_has_not_seen(study):
    with pytest.raises(DataError, match="label 'dithers', which the model does not know; it knows 'leaves', 'stays'"):
        examine(study.model, TABLE.assign(customer=["dithers", *Y[1:]]), "customer")
    one_class = TABLE[Y == "stays"].assign(contract="weekly")
    found = examine(study.model, one_class, "customer")
    assert found.counts.tolist() == [0, len(one_class)]
    (note,) = [note for note in found.notes if note.topic == "new values"]
    assert note.text.startswith("contract has values never seen in training")


def test_permuted_labels_are_called_noise():
    shuffled = TABLE.assign(customer=np.random.default_rng(3).permutation(Y))
    found = conduct(shuffled, "customer")
    assert found.choice.name == "prior only"
    assert "No model predicts clearly better than the shares of the classes" in found.choice.reasons[-1]
    assert found.coefficients == ()


def test_stages_are_told_in_order_and_every_library_gives_the_same():
    told = []
    names = ["prior only", "linear discriminant"]
    first = conduct(TABLE, "customer", models=names, progress=told.append)
    assert list(dict.fromkeys(stage.done for stage in told)) == list(range(6))
    assert {stage.total for stage in told} == {6}
    begun = list({stage.done: stage.text for stage in reversed(told)}.values())[::-1]
    assert begun[1:3] == [f"{name}, 480 rows" for name in names]
    second = conduct(pl.from_pandas(TABLE), "customer", models=names)
    assert_allclose(second.held_out.P, first.held_out.P)


def test_a_seed_makes_the_split():
    names = ["prior only", "linear discriminant"]
    one, two, again = (conduct(TABLE, "customer", models=names, seed=seed) for seed in (0, 1, 0))
    assert_array_equal(one.comparison.test_rows, again.comparison.test_rows)
    assert not np.array_equal(one.comparison.test_rows, two.comparison.test_rows)


@pytest.mark.parametrize("seed", [0, 1])
def test_small_odd_tables(seed):
    rng = np.random.default_rng(seed)
    letters = list("aabbccddeeffgg")
    tiny = pd.DataFrame({"x": rng.normal(size=14), "y": letters})
    assert len(conduct(tiny, "y", models=["prior only", "naive Bayes"]).classes) == 7
    text = pd.DataFrame({"k": rng.choice(["u", "v"], 60), "y": rng.choice(["p", "q"], 60)})
    assert conduct(text, "y").effects[0].values.tolist() in (["u", "v"], ["v", "u"])


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(60, 80)), columns=[f"c{d}" for d in range(80)])
    wide["y"] = wide["c0"] + wide["c1"] + rng.logistic(0, 0.2, size=60) > 0
    found = conduct(wide, "y")
    assert "logistic, curved (Bayesian)" not in found.comparison.names
    assert np.isfinite(found.held_out.P).all()


def test_where_curves_would_take_too_long_a_sample_of_the_rows_is_fitted(monkeypatch):
    names = ["prior only", "logistic, curved (Bayesian)"]
    curve = TABLE.assign(customer=(np.abs(X["charge"] - X["charge"].median()) > 15).map({True: "far", False: "near"}))
    found = compare_models(curve, "customer", models=names)
    module = import_module("separatrix.study.candidates")  # hidden by the function of that name
    monkeypatch.setattr(module, "AFFORDABLE", 300 * found.comparison[names[1]].model.coef_.size ** 2)
    study = study_of(found)
    assert (study.n_rows, study.model.n_rows_, study.n_train) == (600, 300, 480)
    text = "The model was fitted to a sample of 300 out of 600 rows, which is what time and memory allow."
    assert Note("sampled", text) in study.notes


@pytest.mark.parametrize(
    ("table", "target", "options", "message"),
    [
        (TABLE, "custommer", {}, "Did you mean 'customer'"),
        (TABLE.assign(customer="stays"), "customer", {}, "'customer' has 1 different value in 600 rows"),
        (TABLE, "charge", {}, "looks continuous"),
        (TABLE[["customer"]].assign(empty=None), "customer", {}, "No column is left to learn from"),
        (TABLE, "customer", {"types": {"calls ": "drop"}}, "calls"),
        (TABLE, "customer", {"types": {"contract": "number"}}, "contract"),
        (TABLE, "customer", {"models": ["oracle"]}, "no model 'oracle'"),
        (TABLE, "customer", {"test_share": 0.9}, "test_share must be"),
        (TABLE, "customer", {"level": 1.0}, "level must be between 0 and 1"),
    ],
)
def test_bad_input_is_told_before_any_model_is_fitted(table, target, options, message):
    with pytest.raises(ValueError, match=message):
        conduct(table, target, **options)
