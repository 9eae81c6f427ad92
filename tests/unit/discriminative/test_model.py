"""What logistic, probit and label-noise regression share: arguments, solvers, warnings, what a fit leaves behind."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, special
from sklearn.base import clone

import separatrix as sx
from posteriors import Problem
from problems import blobs, separable
from separatrix.discriminative.model import SOLVERS
from separatrix.exceptions import ConvergenceWarning, DataError, SeparationWarning
from separatrix.solvers import LBFGS, Newton, Status

X, Y = blobs(200, n_classes=2, distance=0.5)
X3, Y3 = blobs(240, n_classes=3, distance=0.5)
COLUMNS = ["age", "income", "height", "weight"]

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
def test_without_a_prior_every_solver_gives_one_answer_also_where_classes_could_be_shifted_together(solver):
    model = sx.LogisticRegression(alpha=0.0, solver=solver, tol=1e-9, max_steps=3000).fit(X3, Y3)
    reference = sx.LogisticRegression(alpha=0.0, tol=1e-11, solver="newton").fit(X3, Y3)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-10)


def test_a_solver_object_brings_its_own_settings():
    model = sx.LogisticRegression(solver=Newton(tol=1e-3)).fit(X, Y)
    assert model.n_steps_ == sx.LogisticRegression(solver="newton", tol=1e-3).fit(X, Y).n_steps_
    assert clone(model).get_params()["solver"] == Newton(tol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, r"LogisticRegression\(alpha=-1.0\): alpha must be a finite number, at least 0"),
        ({"alpha": np.nan}, "alpha must be a finite number"),
        ({"alpha": np.inf}, "alpha must be a finite number"),
        ({"alpha": "1"}, "alpha='1'"),
        ({"tol": 0.0}, r"tol=0.0\): tol must be a finite number greater than 0"),
        ({"tol": -1e-8}, "tol must be"),
        ({"tol": None}, "tol must be"),
        ({"max_steps": 0}, r"max_steps=0\): max_steps must be an integer, at least 1"),
        ({"max_steps": 2.5}, "max_steps must be an integer"),
        (
            {"solver": "newton-cg"},
            r"solver='newton-cg'\): choose one of 'auto', 'newton', .*'stochastic', or a solver object",
        ),
        ({"solver": 3}, r"solver=3\): choose one of"),
        ({"solver": None}, r"solver=None\): choose one of"),
        ({"prior": "gaussian"}, r"prior='gaussian'\): give Gaussian\(...\) or Flat\(\), or None to use alpha"),
        ({"prior": 1.0}, r"prior=1.0\): give Gaussian"),
    ],
)
def test_arguments_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        sx.LogisticRegression(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (sx.Gaussian(scale=[1.0, 2.0]), r"scale=...\) has shape \(2,\), but there are 4 columns"),
        (sx.Gaussian(scale=0.0), "is 0 for x0; a standard deviation must be greater than 0"),
        (sx.Gaussian(scale=[1.0, -1.0, 1.0, 1.0]), "is -1 for x1"),
        (sx.Gaussian(mean=[0.0, np.nan, 0.0, 0.0]), "is nan for x1; it must be finite"),
        (sx.Gaussian(covariance=np.eye(3)), r"shape \(3, 3\), but there are 4 columns: it must be \(4, 4\)"),
        (sx.Gaussian(covariance=np.diag([1.0, 1.0, 1.0, -0.5])), "not positive definite: .* -0.5, along 'x3'"),
        (sx.Gaussian(covariance=np.arange(16.0).reshape(4, 4)), "must be symmetric"),
        (sx.Gaussian(intercept_scale=-1.0), "is -1 for the bias"),
    ],
)
def test_priors_that_do_not_fit(prior, message):
    with pytest.raises(DataError, match=message):
        sx.LogisticRegression(prior=prior).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full((200, 2), 0.6), "Row 0 of y sums to 1.2: the probabilities of a row must sum to 1"),
        (np.tile([1.5, -0.5], (200, 1)), r"Row 0 of y is \(1.5, -0.5\): soft targets are probabilities"),
        (np.tile([np.nan, 0.5], (200, 1)), r"Row 0 of y is \(nan, 0.5\)"),
        (np.full((199, 2), 0.5), "X has 200 rows but y has 199 labels"),
    ],
)
def test_soft_targets_that_are_none(y, message):
    with pytest.raises(DataError, match=message):
        sx.LogisticRegression().fit(X, y)


@pytest.mark.parametrize("y", [Y, np.eye(2)[Y]], ids=["hard", "soft"])
def test_weights_that_are_all_zero(y):
    with pytest.raises(DataError, match="Every sample_weight is zero"):
        sx.LogisticRegression().fit(X, y, sample_weight=np.zeros(200))


def test_real_valued_targets_are_refused_in_scikit_learns_words():
    with pytest.raises(ValueError, match="Unknown label type"):
        sx.LogisticRegression().fit(X, X[:, 0])


@every_solver
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("store", [np.asarray, np.float32, sparse.csr_array], ids=["dense", "float32", "csr"])
def test_nan_and_infinity_are_named_by_column(solver, value, store):
    bad = X.copy()
    bad[[3, 50], 2] = value
    with pytest.raises(DataError, match=r"NaN or infinity in column 'x2' \(2 of 200 rows\)"):
        sx.LogisticRegression(solver=solver).fit(store(bad), Y)


def test_nan_is_named_where_only_few_rows_are_looked_at_first(monkeypatch):
    monkeypatch.setattr("separatrix.solvers.posterior.MIN_SAMPLED_ENTRIES", 100)
    wide, y = blobs(4000, n_classes=2)
    wide[1801, 1] = np.nan
    with pytest.raises(DataError, match=r"NaN or infinity in column 'income' \(1 of 4000 rows\)"):
        sx.LogisticRegression().fit(pd.DataFrame(wide, columns=COLUMNS), y)


@every_solver
def test_too_few_steps_say_how_far_they_got_and_what_to_do(solver):
    model = sx.LogisticRegression(alpha=1e-3, solver=solver, max_steps=1)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y)
    (warning,) = caught
    message = str(warning.message)
    assert message.startswith("LogisticRegression stopped at the limit of steps (1): the gradient is ")
    assert (
        "per row and standard deviation, and tol is 1.0e-08. Raise max_steps or tol, or leave solver='auto'." in message
    )
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


def test_the_message_does_not_speak_of_a_tolerance_that_another_object_has():
    with pytest.warns(ConvergenceWarning, match="standard deviation. Give the solver object more steps"):
        sx.LogisticRegression(solver=LBFGS(max_steps=1)).fit(X, Y)


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


def test_classes_may_be_anything_that_sorts_and_soft_targets_name_theirs():
    words = np.array(["no", "yes"])[Y]
    assert set(sx.LogisticRegression().fit(X, words).predict(X)) == {"no", "yes"}
    shares = pd.DataFrame(np.eye(3)[Y3], columns=["a", "b", "c"])
    for table in (shares, pl.DataFrame(shares)):
        model = sx.LogisticRegression().fit(X3, table)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert set(model.predict(X3)) <= {"a", "b", "c"}


def test_a_basis_is_fitted_and_used():
    basis = sx.basis.Polynomial(2)
    model = sx.LogisticRegression(basis=basis).fit(X, Y)
    assert model.coef_.shape[1] > X.shape[1]
    Phi = model.basis_.evaluate(X)
    plain = sx.LogisticRegression().fit(Phi, Y)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(Phi), atol=1e-7)
