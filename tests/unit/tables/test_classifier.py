"""A classifier of real tables: what it infers, what it passes on, and how it is kept."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.exceptions import DataError
from separatrix.table import TableEncoder
from separatrix.tables import TableClassifier, ramps

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


def test_what_a_model_does_not_have_the_classifier_does_not_have_either():
    point = TableClassifier(sx.LogisticRegression()).fit(TABLE, Y)
    for name in ("predict_interval", "decision_distribution"):
        with pytest.raises(AttributeError):
            getattr(point, name)
    model = TableClassifier(sx.BayesianLogisticRegression()).fit(TABLE, Y)
    assert model.decision_distribution(TABLE).mean.shape == (300,)
    with pytest.raises(AttributeError):
        TableClassifier(sx.Perceptron()).predict_proba  # noqa: B018


def test_names_and_spreads_of_the_columns():
    model = TableClassifier(sx.LogisticRegression()).fit(TABLE, Y)
    assert model.feature_names_in_.tolist() == list(TABLE.columns)
    numbers = model.encoder_.transform(TABLE)
    assert_allclose(model.spread_, numbers.std(axis=0))
    assert model.sources_[0] == "charge"
    assert model.sources_[-1] == "contract"
    assert TableClassifier(sx.LogisticRegression()).fit(numbers, Y).sources_[0] == "x0"


def test_curves_are_ramps_along_the_numbers_with_a_scale_of_their_own():
    model = TableClassifier(sx.BayesianLogisticRegression(tune="evidence"), curved=True).fit(TABLE, Y)
    assert {"charge", "tenure", "calls"} <= {name.split(" from ")[0] for name in model.summary().names}
    bent = np.array([" from " in name for name in model.summary().names[:-1]])
    scales = model.estimator_.prior_.scale
    assert np.ptp(scales[bent]) == 0
    assert_allclose(np.ptp(scales[~bent] / model.spread_[~bent]), 0, atol=1e-12)
    point = TableClassifier(sx.LogisticRegression(), curved=True).fit(TABLE, Y)
    assert point.estimator_.coef_.shape[1] == len(bent)


def test_levels_have_a_prior_for_their_step_from_0_to_1_and_numbers_for_a_standard_deviation():
    model = TableClassifier().fit(TABLE, Y)
    is_number = np.isin(model.encoder_.schema_.columns, ["charge", "tenure", "calls"])
    per_unit = model.estimator_.prior_.scale / model.spread_
    assert np.ptp(model.estimator_.prior_.scale[is_number]) == 0
    assert_allclose(np.ptp(per_unit[~is_number]), 0, atol=1e-12)
    stated = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(0.5), tune="evidence")).fit(TABLE, Y)
    assert np.ndim(stated.estimator_.prior_.scale) == 0  # a prior that was stated keeps its shape


def test_a_level_has_its_prior_however_rare_it_is():
    rng = np.random.default_rng(0)
    kinds = np.repeat(["often"] + [f"rare {i}" for i in range(30)], [30_000 - 30 * 12] + [12] * 30)
    table = pd.DataFrame({"x": rng.normal(size=30_000), "kind": rng.permutation(kinds)})
    y = table["x"] + rng.logistic(size=30_000) > 0
    estimator = sx.BayesianLogisticRegression(tune="evidence", approximation="laplace")
    model = TableClassifier(estimator).fit(table, y)
    is_level = np.array([name.startswith("kind=") for name in model.encoder_.schema_.columns])
    share = np.array([(kinds == name.removeprefix("kind=")).mean() for name in model.encoder_.schema_.columns])
    assert is_level.sum() == 31
    assert_allclose(model.spread_[is_level], np.sqrt(share * (1 - share))[is_level])
    per_step = (model.estimator_.prior_.scale / model.spread_)[is_level]
    assert_allclose(per_step, per_step[0])


def test_columns_are_bent_once(monkeypatch):
    asked = []
    survey = ramps.survey
    monkeypatch.setattr(ramps, "survey", lambda *arguments: asked.append(1) or survey(*arguments))
    TableClassifier(sx.BayesianLogisticRegression(tune="evidence"), curved=True).fit(TABLE, Y)
    assert asked == [1]


def test_it_knows_how_many_rows_it_learnt_from():
    assert TableClassifier(sx.LogisticRegression()).fit(TABLE[:123], Y[:123]).n_rows_ == 123


def test_rare_levels_do_not_run_away():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=1500), "place": rng.choice([f"p{i}" for i in range(60)], 1500)})
    y = table["x"] + rng.logistic(size=1500) > 0  # the place says nothing
    numbers = TableEncoder(sparse=False).fit(table).transform(table)
    by_unit = TableClassifier(sx.BayesianLogisticRegression(tune="evidence", approximation="laplace")).fit(table, y)
    by_spread = sx.BayesianLogisticRegression(tune="evidence", approximation="laplace").fit(numbers, y)
    assert by_unit.estimator_.log_evidence_ > by_spread.log_evidence_ + 3
    assert np.abs(by_unit.estimator_.coef_[0, 1:]).max() < np.abs(by_spread.coef_[0, 1:]).max()


def test_a_curved_model_survives_a_file_a_clone_and_another_table(tmp_path):
    model = TableClassifier(sx.BayesianLogisticRegression(tune="evidence"), curved=True).fit(TABLE, Y)
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    assert_array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
    assert again.sources_ == model.sources_
    few = TABLE[["charge", "contract"]]
    assert clone(again).fit(few, Y).predict_proba(few).shape == (300, 2)


def test_a_basis_of_the_users_own_mixes_columns_and_says_so():
    model = TableClassifier(sx.LogisticRegression(alpha=1.0, basis=sx.basis.RBF("random", n_centres=7))).fit(TABLE, Y)
    assert model.sources_ == ("",) * 7


def test_new_categories_missing_columns_and_drifted_types():
    model = TableClassifier(sx.LogisticRegression()).fit(TABLE, Y)
    unseen = model.predict_proba(TABLE.assign(contract="weekly"))
    assert np.isfinite(unseen).all()
    with pytest.raises(DataError, match="no column 'charge'"):
        model.predict(TABLE.drop(columns="charge"))
    with pytest.raises(DataError, match="'tenure' holds 'long' in row 1 "):
        model.predict(TABLE.assign(tenure="long"))


def test_it_passes_the_checks_of_scikit_learn():
    check_estimator(TableClassifier(sx.LogisticRegression(alpha=1.0)), on_skip=None)


def test_the_score_of_a_scan_needs_no_labels_beside_it():
    model = TableClassifier(sx.LogisticRegression()).fit(TABLE, Y)
    rows = sx.scan(pl.from_pandas(TABLE.assign(label=Y)), target="label")
    assert model.score(rows) == model.score(TABLE, Y) > 0.6


def test_a_file_of_numbers_alone_is_sent_to_the_model(tmp_path):
    (tmp_path / "rows.svm").write_text("0 1:1\n1 1:2\n")
    with pytest.raises(DataError, match="LibsvmFile holds numbers alone.*Give these rows to the model itself"):
        TableClassifier().fit(sx.scan(tmp_path / "rows.svm"))
