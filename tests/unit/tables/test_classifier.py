"""A classifier of real tables: what it infers, what it passes on, and how it is kept."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from separatrix.data.table import TableEncoder
from separatrix.datasets import make_mixed_types
from separatrix.tables import TableClassifier

TABLE, Y = make_mixed_types(300, as_frame=True, rng=0)


def test_it_is_the_encoder_before_the_model():
    model = TableClassifier(sx.LogisticRegression()).fit(TABLE, Y)
    numbers = TableEncoder().fit(TABLE).transform(TABLE)
    direct = sx.LogisticRegression().fit(numbers, Y)
    assert_allclose(model.predict_proba(TABLE), direct.predict_proba(numbers), atol=1e-12)
    assert_array_equal(model.predict(TABLE), direct.predict(numbers))


def test_the_default_has_a_posterior_with_the_names_of_the_encoded_columns():
    model = TableClassifier().fit(TABLE, Y)
    assert isinstance(model.estimator_, sx.BayesianLogisticRegression)
    assert model.summary().names == (*model.encoder_.schema_.columns, "intercept")
    bounds, p = model.predict_interval(TABLE), model.predict_proba(TABLE)[:, 1]
    assert ((bounds[:, 0] <= p) & (p <= bounds[:, 1])).all()


def test_other_libraries_models_get_plain_arrays():
    model = TableClassifier(LogisticRegression(max_iter=1000)).fit(TABLE, Y)
    assert model.predict_proba(TABLE).shape == (300, 2)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_columns_are_found_by_name_in_any_library(library):
    model = TableClassifier(sx.LogisticRegression()).fit(TABLE, Y)
    shuffled = library(TABLE[TABLE.columns[::-1]])
    assert_allclose(model.predict_proba(shuffled), model.predict_proba(TABLE))


def test_weights_types_and_clones():
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    weighted = TableClassifier(sx.LogisticRegression(), types={"contract": "drop"}).fit(TABLE, Y, weight)
    assert not [name for name in weighted.encoder_.schema_.columns if "contract" in name]
    assert weighted.get_params()["types"] == {"contract": "drop"}


def test_a_saved_table_model_needs_nothing_else(tmp_path):
    model = TableClassifier().fit(TABLE, Y)
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    assert_array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
    assert again.encoder_.schema_.describe() == model.encoder_.schema_.describe()


def test_before_fit_it_says_so():
    with pytest.raises(NotFittedError):
        TableClassifier().predict(TABLE)
