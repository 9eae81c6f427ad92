"""One split and one encoding for all models: the same as if each had its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.comparison import compare
from separatrix.datasets import make_mixed_types
from separatrix.reductions.rows import take_rows
from separatrix.study.opening import open_table
from separatrix.study.progress import Stages
from separatrix.study.trials import Numbers, prepare, run_trials

TABLE, Y = make_mixed_types(200, as_frame=True, rng=0)
OPENED = open_table(TABLE.assign(customer=Y), "customer")
NAMES = ["prior only", "naive Bayes", "logistic (Bayesian)", "logistic, curved (Bayesian)"]


def test_figures_are_those_of_a_comparison_of_table_classifiers():
    prepared = prepare(OPENED, None, NAMES, 0.25, np.random.default_rng(0))
    told = []
    comparison, said = run_trials(prepared, Stages(told.append, 4))
    train, test = prepared.train, prepared.test
    direct = compare(prepared.models, train.X, train.labels, X_test=test.X, y_test=test.labels)
    assert comparison.names == direct.names
    for name in NAMES:
        assert_allclose(comparison[name].test.rows, direct[name].test.rows, atol=1e-9)
    assert list(dict.fromkeys(stage.text.partition(", 150 rows")[0] for stage in told)) == NAMES
    assert said == {name: [] for name in NAMES}


def test_rows_are_numbered_as_in_the_table():
    prepared = prepare(OPENED, {"contract": "drop"}, ["prior only"], 0.2, np.random.default_rng(0))
    comparison, _ = run_trials(prepared, Stages(None, 3))
    assert_array_equal(np.sort(np.concatenate([comparison.train_rows, comparison.test_rows])), np.arange(200))
    assert_array_equal(prepared.test.X["charge"].to_numpy(), TABLE["charge"].to_numpy()[comparison.test_rows])
    assert "contract" not in prepared.encoder.schema_.inputs


def test_a_model_that_fails_stops_no_other():
    prepared = prepare(OPENED, None, ["prior only", "logistic (Bayesian)"], 0.2, np.random.default_rng(0))
    prepared.models["logistic (Bayesian)"].estimator.set_params(tol=-1.0)
    comparison, _ = run_trials(prepared, Stages(None, 3))
    assert comparison.names == ("prior only", "logistic (Bayesian)")
    assert "tol must be" in comparison["logistic (Bayesian)"].failure


def test_some_of_the_named_rows_can_be_taken():
    rows = Numbers(np.arange(6.0).reshape(3, 2), ("a", "b"))
    some = take_rows(rows, np.array([2, 0]))
    assert some.columns == ("a", "b")
    assert_array_equal(some.array, [[4.0, 5.0], [0.0, 1.0]])


def test_names_are_checked_before_anything_is_fitted():
    with pytest.raises(ValueError, match="no model 'forest'"):
        prepare(OPENED, None, ["forest"], 0.2, np.random.default_rng(0))
