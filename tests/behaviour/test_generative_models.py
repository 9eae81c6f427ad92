# SPDX-License-Identifier: BSD-3-Clause
"""Behaviour that all generative models share: batches, merging, new classes, sampling, densities, missing values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid

import separatrix as sx
from problems import GENERATIVE, blobs
from separatrix.exceptions import DataError

X, Y = blobs(240, n_classes=3)
every_model = pytest.mark.parametrize("make", GENERATIVE.values(), ids=list(GENERATIVE))
exact_model = pytest.mark.parametrize(
    "make", [v for k, v in GENERATIVE.items() if "ledoit" not in k], ids=[k for k in GENERATIVE if "ledoit" not in k]
)


@every_model
def test_log_probabilities_far_from_the_data_are_finite_and_sum_to_one(make):
    model = make().fit(X, Y)
    assert model.score(X, Y) > 0.6
    for scale in (1.0, 1e3, 1e6):
        log_p = model.predict_log_proba(scale * X[:20])
        assert np.isfinite(log_p).all()
        assert_allclose(np.exp(log_p).sum(axis=1), 1.0, rtol=1e-12)


def in_batches(make, size, n=240):
    model = make()
    for i in range(0, n, size):
        model.partial_fit(X[i : i + size], Y[i : i + size], classes=[0, 1, 2])
    return model


def part(make, rows):
    return make().fit(X[rows], Y[rows])


FIRST, LAST, ALL = slice(100), slice(100, 240), slice(240)
#: A model of the rows in pieces, and all these rows.
PIECES = {
    "batches": (lambda make: in_batches(make, 48), ALL),
    "merged": (lambda make: part(make, FIRST).merge(part(make, LAST)), ALL),
    "merged in another order": (lambda make: part(make, LAST).merge(part(make, FIRST)), ALL),
    "merged with other classes": (
        lambda make: part(make, Y < 2).merge(part(make, Y > 0)),
        np.append(np.flatnonzero(Y < 2), np.flatnonzero(Y > 0)),
    ),
    "a class added": (lambda make: part(make, Y < 2).add_class(X[Y == 2], 2), ALL),
}


@exact_model
@pytest.mark.parametrize(("fit_pieces", "rows"), PIECES.values(), ids=PIECES)
def test_a_model_of_pieces_equals_a_fit_of_all_rows(make, fit_pieces, rows):
    model, whole = fit_pieces(make), part(make, rows)
    assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-8, atol=1e-9)
    assert_allclose(model.log_density(X), whole.log_density(X), rtol=1e-8)


@exact_model
def test_merging_changes_neither_model(make):
    a, b = part(make, FIRST), part(make, LAST)
    before = a.predict_proba(X), b.predict_proba(X)
    a.merge(b)
    assert_allclose((a.predict_proba(X), b.predict_proba(X)), before)


@exact_model
def test_a_class_without_rows_has_probability_zero(make):
    rows = Y < 2
    model = make().partial_fit(X[rows], Y[rows], classes=[0, 1, 2])
    assert_allclose(model.predict_proba(X)[:, 2], 0)
    model.partial_fit(X[~rows], Y[~rows])
    assert_allclose(model.predict_log_proba(X), make().fit(X, Y).predict_log_proba(X), rtol=1e-8, atol=1e-9)


@every_model
def test_a_model_fitted_to_samples_recovers_the_model(make):
    model = make().fit(X, Y)
    drawn, labels = model.sample(60_000, rng=1)
    again = make().fit(drawn, labels)
    assert_allclose(again.priors_, model.priors_, atol=0.01)
    assert np.abs(again.predict_proba(X) - model.predict_proba(X)).mean() < 0.02
    assert set(model.sample(10, y=1)[1]) == {1}
    assert np.array_equal(model.sample(5)[0], model.sample(5)[0])


@every_model
def test_the_density_integrates_to_one_in_one_dimension(make):
    model = make().fit(X[:, :1], Y)
    grid = np.linspace(-60, 60, 20_001)[:, None]
    assert trapezoid(np.exp(model.log_density(grid)), grid[:, 0]) == pytest.approx(1.0, abs=0.01)


@every_model
def test_given_class_probabilities(make):
    for priors in ([0.2, 0.3, 0.5], {0: 0.2, 1: 0.3, 2: 0.5}):
        assert make().set_params(priors=priors).fit(X, Y).priors_.tolist() == [0.2, 0.3, 0.5]


@every_model
def test_missing_entries_are_marginalised(make, rng):
    """A row without its last column has the density of a model that never had that column."""
    model, gaps = make().fit(X, Y), np.where(np.arange(4) == 3, np.nan, X)
    if model.get_params().get("shrinkage", 0) != 0:
        return  # λ is chosen, or worth another number of rows, with fewer columns
    small = make().fit(X[:, :3], Y)
    if getattr(model, "estimate", "ml") == "ml":
        assert_allclose(model.predict_log_proba(gaps), small.predict_log_proba(X[:, :3]), rtol=1e-7, atol=1e-9)
        assert_allclose(model.log_density(gaps), small.log_density(X[:, :3]), rtol=1e-7)
    empty = np.full((1, 4), np.nan)
    assert_allclose(model.predict_proba(empty)[0], model.priors_, rtol=1e-9)
    assert_allclose(model.log_density(empty), 0, atol=1e-9)


@every_model
def test_infinite_values_are_refused(make):
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(DataError, match=r"infinity in column 'x1' \(1 of 240 rows\)"):
        make().fit(bad, Y)
    with pytest.raises(DataError, match="infinity in column 'x1'"):
        make().fit(X, Y).predict_proba(bad)


@exact_model
@pytest.mark.parametrize("size", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_batches_smaller_than_the_number_of_columns(make, size):
    try:
        model = in_batches(make, size, 60)
    except DataError:  # naive Bayes by maximum likelihood needs a positive variance
        return
    whole = make().fit(X[:60], Y[:60])
    assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-6, atol=1e-8)


@every_model
def test_a_failed_fit_leaves_the_model_unchanged(make):
    model = make().fit(X, Y)
    before = model.predict_proba(X)
    bad = X.copy()
    bad[0, 0] = np.inf
    for fails in (lambda: model.fit(bad, Y), lambda: model.add_class(bad, 9)):
        with pytest.raises(DataError):
            fails()
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.class_count_.sum() == 240
        assert_allclose(model.predict_proba(X), before)


def test_shrinkage_can_be_set_after_a_singular_partial_fit():
    model = sx.QuadraticDiscriminantAnalysis().partial_fit(X[:4], Y[:4])
    with pytest.raises(DataError, match="shrinkage"):
        model.predict(X)
    assert model.set_params(shrinkage=0.3).predict(X).shape == (240,)


def test_a_row_impossible_under_every_class_gets_the_prior_probabilities():
    model = sx.NaiveBayes("bernoulli", estimate="ml", priors=[0.9, 0.1]).fit([[0, 0], [0, 0], [0, 1.0]], [0, 0, 1])
    assert_allclose(model.predict_proba([[1, 1]])[0], [0.9, 0.1])


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
@pytest.mark.parametrize("model", [sx.LinearDiscriminantAnalysis, sx.QuadraticDiscriminantAnalysis])
def test_float32_rows_give_the_probabilities_of_float64_rows_at_any_offset(model, offset):
    rows = (X + offset).astype(np.float32)
    fitted = model().fit(rows.astype(np.float64), Y)
    assert_allclose(fitted.predict_proba(rows), fitted.predict_proba(rows.astype(np.float64)), atol=2e-5)


def test_a_refit_with_another_estimate_removes_the_linear_form():
    model = sx.LinearDiscriminantAnalysis().fit(X, Y)
    model.set_params(estimate="predictive").fit(X, Y)
    assert "coef_" not in vars(model)
    quadratic = sx.QuadraticDiscriminantAnalysis().fit(X, Y).set_params(estimate="predictive")
    assert quadratic.coef_.shape == (3, 4)  # of the model that was fitted


def test_names_of_attributes_are_listed_without_an_estimate():
    """After one row of each class there is no covariance yet, and the names are read by completion in notebooks."""
    model = sx.LinearDiscriminantAnalysis().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    assert {"scalings_", "means_", "partial_fit"} <= set(dir(model))
