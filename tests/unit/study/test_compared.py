"""The first step of a study stands by itself, and what follows starts where it ended."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from separatrix.datasets import make_mixed_types
from separatrix.exceptions import DataError
from separatrix.study import Note, compare_models, conduct, study_of
from separatrix.study import compared as module
from separatrix.study.compared import sample_of
from separatrix.study.opening import open_table

X, Y = make_mixed_types(300, as_frame=True, rng=0)
TABLE = X.assign(customer=Y, planet="earth")
NAMES = ["prior only", "linear discriminant"]


def test_nothing_is_fitted_to_all_rows_and_stages_end_with_the_last_model():
    told = []
    found = compare_models(TABLE, "customer", models=NAMES, progress=told.append)
    begun = {stage.done: stage for stage in reversed(told)}
    assert [(stage.text, stage.total) for stage in dict(sorted(begun.items())).values()] == [
        ("reading the columns", 3),
        ("prior only, 240 rows", 3),
        ("linear discriminant, 240 rows", 3),
    ]
    assert begun[1].seconds_left > begun[2].seconds_left > 0
    assert not [name for name, model in found.prepared.models.items() if "estimator_" in vars(model)]
    assert (found.n_rows, found.n_train, found.n_test) == (300, 240, 60)
    assert found.counts.sum() == 300
    assert Note("dropped", "planet was dropped: every value is 'earth'.") in found.notes


def test_comparing_and_then_fitting_is_the_whole_study():
    whole = conduct(TABLE, "customer", models=NAMES, seed=3, level=0.9)
    steps = study_of(compare_models(TABLE, "customer", models=NAMES, seed=3), level=0.9)
    assert_array_equal(steps.held_out.P, whole.held_out.P)
    assert [c.weight for c in steps.coefficients] == [c.weight for c in whole.coefficients]
    assert steps.notes == whole.notes
    assert (steps.seed, steps.test_share, steps.level) == (whole.seed, whole.test_share, whole.level) == (3, 0.2, 0.9)


def test_notes_on_a_model_carry_its_name_unless_it_was_chosen(monkeypatch):
    said = {"prior only": [Note("warning", "one")], "linear discriminant": [Note("collinear", "two")]}
    trials = module.run_trials
    monkeypatch.setattr(module, "run_trials", lambda prepared, tell: (trials(prepared, tell)[0], said))
    found = compare_models(TABLE, "customer", models=NAMES)
    assert found.choice.name == "linear discriminant"
    assert found.notes[-2:] == (Note("collinear", "two"), Note("other model", "prior only: one"))


def test_a_sample_keeps_every_class_and_is_told():
    table = pd.DataFrame({"x": np.arange(1000), "y": ["rare", "rare", *["often"] * 998]})
    some = sample_of(open_table(table, "y"), 50, np.random.default_rng(0), "Models were compared on")
    assert some.n_rows == 50
    assert some.counts.min() == 2
    text = "Models were compared on a sample of 50 out of 1000 rows, which is what time and memory allow."
    assert some.notes == (Note("sampled", text),)


def test_many_rows_are_compared_on_a_sample(monkeypatch):
    monkeypatch.setattr(module, "MOST_COMPARED", 100)
    found = compare_models(TABLE, "customer", models=NAMES)
    assert (found.n_rows, found.n_train + found.n_test) == (300, 100)
    assert found.notes[0].topic == "sampled"


def test_a_share_that_cannot_be_held_out_is_an_error():
    with pytest.raises(ValueError, match="test_share must be"):
        compare_models(TABLE, "customer", test_share=0.9)


def test_a_target_of_numbers_is_classes_where_the_types_say_so():
    table = pd.DataFrame({"price": np.arange(120.0) % 7, "rating": np.tile([1.0, 1.5, 2.0, 4.5], 30)})
    with pytest.raises(DataError, match="looks continuous"):
        compare_models(table, "rating", models=["prior only"])
    found = compare_models(table, "rating", types={"rating": "categorical"}, models=["prior only"])
    assert found.classes.tolist() == ["1", "1.5", "2", "4.5"]
    with pytest.raises(DataError, match="whose values are classes"):
        compare_models(table, "rating", types={"rating": "number"})


def test_many_numbers_as_classes_are_doubted():
    table = pd.DataFrame({"price": np.arange(600.0) % 7, "minute": np.arange(600) % 60})
    found = compare_models(table, "minute", models=["prior only"])
    assert [note.topic for note in found.notes].count("many classes") == 1
    sure = compare_models(table, "minute", types={"minute": "categorical"}, models=["prior only"])
    assert "many classes" not in [note.topic for note in sure.notes]
