"""Logistic, probit and label-noise regression: arguments, solvers, warnings and predictions that they share."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import special
from sklearn.base import clone

import separatrix as sx
from posteriors import Problem
from problems import blobs, separable
from separatrix.discriminative.model import SOLVERS
from separatrix.exceptions import ConvergenceWarning, SeparationWarning
from separatrix.solvers import Newton, Status

X, Y = blobs(200, n_classes=2, distance=0.5)
X3, Y3 = blobs(240, n_classes=3, distance=0.5)

every_solver = pytest.mark.parametrize("solver", SOLVERS)
both = pytest.mark.parametrize(("X", "y"), [(X, Y), (X3, Y3)], ids=["two", "three"])


@every_solver
@both
def test_every_solver_gives_the_weights_that_scipy_finds(solver, X, y):
    model = sx.LogisticRegression(alpha=2.0, solver=solver, tol=1e-9).fit(X, y)
    W, w0 = Problem(X, y, sx.Gaussian(2.0**-0.5)).oracle()
    np.testing.assert_allclose(model.coef_, W, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, w0[:, 0], atol=1e-6)
    assert model.solution_.is_converged
    assert model.n_steps_ == model.solution_.steps
    assert model.n_passes_ == model.solution_.passes


@every_solver
def test_without_a_prior_every_solver_gives_class_weights_that_sum_to_zero(solver):
    model = sx.LogisticRegression(alpha=0.0, solver=solver, tol=1e-9, max_steps=3000).fit(X3, Y3)
    reference = sx.LogisticRegression(alpha=0.0, tol=1e-11, solver="newton").fit(X3, Y3)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-10)


def test_a_solver_object_brings_its_own_settings():
    model = sx.LogisticRegression(solver=Newton(tol=1e-3)).fit(X, Y)
    assert model.n_steps_ == sx.LogisticRegression(solver="newton", tol=1e-3).fit(X, Y).n_steps_
    assert clone(model).get_params()["solver"] == Newton(tol=1e-3)


@every_solver
def test_too_few_steps_are_a_warning_with_the_gradient_and_a_remedy(solver):
    model = sx.LogisticRegression(alpha=1e-3, solver=solver, max_steps=1)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y)
    (warning,) = caught
    message = str(warning.message)
    assert "limit of steps (1)" in message
    assert "Raise max_steps or tol" in message
    assert warning.filename == __file__
    assert model.solution_.status is Status.MAX_STEPS
    objective = Problem(X, Y, sx.Gaussian(1e-3**-0.5)).posterior()
    theta = objective.design.of_user_units(model.coef_, model.intercept_)
    size = objective.gradient_size(objective.value_grad(theta).grad)
    assert float(message.partition("gradient is ")[2].split(maxsplit=1)[0]) == pytest.approx(size, rel=0.06)


def test_too_few_steps_are_reported_under_a_prior_although_the_classes_are_separable():
    separated, y = separable(60)
    with pytest.warns(ConvergenceWarning, match=r"limit of steps \(1\)"):
        sx.LogisticRegression(alpha=1e-3, max_steps=1).fit(separated, y)
    with pytest.warns(SeparationWarning) as caught:  # and not both: more steps would lead nowhere
        sx.LogisticRegression(alpha=0.0, max_steps=1).fit(separated, y)
    assert len(caught) == 1


@every_solver
@both
def test_the_trace_is_in_the_users_units_and_never_rises(solver, X, y):
    model = sx.LogisticRegression(solver=solver, trace=True).fit(X, y)
    problem = Problem(X, y, sx.Gaussian(1.0))
    assert len(model.trace_) == model.n_steps_ + 1
    values = []
    for (coef, intercept), value, _ in model.trace_:
        plain, _ = problem.plain(np.column_stack([coef, intercept]).ravel())
        assert value == pytest.approx(plain, rel=1e-9)
        values.append(value)
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()
    np.testing.assert_array_equal(model.trace_[-1].theta[0], model.coef_)
    assert sx.LogisticRegression(solver=solver).fit(X, y).trace_ == ()


def test_equal_fits_are_equal_and_a_seed_decides_the_stochastic_one():
    fits = [sx.LogisticRegression(solver="stochastic", rng=seed).fit(X, Y).coef_ for seed in (1, 1, 2)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])
    np.testing.assert_allclose(fits[0], fits[2], atol=1e-6)


@both
def test_probabilities_are_those_of_the_activations(X, y):
    model = sx.LogisticRegression().fit(X, y)
    a = X @ model.coef_.T + model.intercept_
    expected = special.softmax(a if a.shape[1] > 1 else np.column_stack([np.zeros(len(a)), a]), axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(expected), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])


def test_rows_far_out_have_probabilities_that_are_small_and_not_zero():
    model = sx.LogisticRegression().fit(X, Y)
    direction = model.coef_[0] / (model.coef_[0] @ model.coef_[0])
    for a in (-700.0, 700.0):
        P = model.predict_proba((a * direction)[None])
        assert P.min() > 0
        assert P.sum() == 1.0
    assert model.predict_proba((-1e6 * direction)[None]).tolist() == [[1.0, 0.0]]
    assert model.predict_log_proba((-1e6 * direction)[None]).tolist() == [[0.0, pytest.approx(-1e6)]]


def test_columns_of_soft_targets_name_the_classes():
    shares = pd.DataFrame(np.eye(3)[Y3], columns=["a", "b", "c"])
    for table in (shares, pl.DataFrame(shares)):
        model = sx.LogisticRegression().fit(X3, table)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert set(model.predict(X3)) <= {"a", "b", "c"}


def test_a_custom_solver_needs_no_trace():
    class Still:
        def minimise(self, objective, start):
            return Newton().minimise(objective, start)

    sx.LogisticRegression(solver=Still()).fit(X, Y)
    with pytest.raises(ValueError, match="this solver keeps no trace"):
        sx.LogisticRegression(solver=Still(), trace=True).fit(X, Y)


@pytest.mark.parametrize("kind", [sx.LogisticRegression, sx.ProbitRegression, sx.LabelNoiseLogisticRegression])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_far_out_have_log_probabilities(kind, dtype):
    model = kind().fit(X, Y)
    far = (1e6 * X[:5]).astype(dtype)
    log_p = model.predict_log_proba(far)
    assert np.isfinite(log_p).all()
    assert (log_p.min(axis=1) < -1000).all()
    np.testing.assert_allclose(np.exp(log_p), model.predict_proba(far), rtol=1e-5)
