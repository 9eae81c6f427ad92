"""What a user is told, and when: warnings at the user's own line, once, naming what is at fault and nothing else."""

import warnings

import mpmath
import numpy as np
import pytest
from sklearn.base import clone

import separatrix as sx
from separatrix.exceptions import ConvergenceWarning, SeparationWarning
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax, SoftmaxLabelNoise
from separatrix.solvers import LBFGS, Newton, StochasticGradient

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] + RNG.logistic(size=300) > 0).astype(int)
LINE = np.arange(10.0)[:, None]


def caught(fit):
    """The result of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        return fit(), found


STOPPED = {
    "logistic": sx.LogisticRegression,
    "probit": sx.ProbitRegression,
    "label noise": sx.LabelNoiseLogisticRegression,
    "binary regression": lambda **options: sx.GeneralizedLinearModel("bernoulli", **options),
}


@pytest.mark.parametrize("name", STOPPED)
def test_a_fit_that_stopped_early_says_so_once_at_the_line_of_the_user(name):
    _, found = caught(lambda: STOPPED[name](max_steps=1).fit(X, Y))
    assert [w.category for w in found] == [ConvergenceWarning]
    assert found[0].filename == __file__


@pytest.mark.parametrize("name", STOPPED)
def test_separated_classes_are_reported_at_the_line_of_the_user(name):
    _, found = caught(lambda: STOPPED[name](alpha=0.0).fit(LINE, (LINE[:, 0] > 4).astype(int)))
    assert SeparationWarning in [w.category for w in found]
    assert {w.filename for w in found} == {__file__}


@pytest.mark.parametrize("solver", [Newton(), LBFGS(), StochasticGradient()], ids=lambda solver: type(solver).__name__)
def test_a_trace_is_kept_by_solver_objects_too(solver):
    model = sx.LogisticRegression(solver=solver, trace=True).fit(X, Y)
    assert len(model.trace_) == model.n_steps_ + 1
    assert model.get_params()["solver"] is solver  # and the object of the user is as it was
    assert not solver.trace


@pytest.mark.parametrize(
    "setting", [{"tol": 1e-3}, {"max_steps": 3}, {"rng": 1}], ids=lambda setting: next(iter(setting))
)
def test_settings_that_a_solver_object_would_ignore_are_refused(setting):
    name, value = next(iter(setting.items()))
    with pytest.raises(ValueError, match=rf"{name}={value}\): a solver object has its own settings"):
        sx.LogisticRegression(solver=Newton(), **setting).fit(X, Y)


def test_label_noise_goes_on_with_limits_of_its_own_after_a_solver_object():
    model, found = caught(lambda: sx.LabelNoiseLogisticRegression(solver=Newton(), max_steps=1).fit(X, Y))
    assert "Raise max_steps or tol" in str(found[0].message)
    assert model.n_steps_ == sx.LogisticRegression(solver=Newton()).fit(X, Y).n_steps_ + 1


def test_a_class_of_solvers_is_not_a_solver():
    with pytest.raises(ValueError, match=r"solver=Newton\) is a class: give Newton\(\)"):
        sx.LogisticRegression(solver=Newton).fit(X, Y)


def test_a_solver_of_the_user_without_a_trace_is_asked_for_none():
    class Still:
        def minimise(self, objective, start):
            return Newton().minimise(objective, start)

    sx.LogisticRegression(solver=Still()).fit(X, Y)
    with pytest.raises(ValueError, match="this solver keeps no trace"):
        sx.LogisticRegression(solver=Still(), trace=True).fit(X, Y)


@pytest.mark.parametrize("kind", [sx.LogisticRegression, sx.ProbitRegression])
def test_the_shared_constructor_is_that_of_the_model(kind):
    given = {"alpha": 2.0, "fit_intercept": False, "solver": "newton", "tol": 1e-6, "max_steps": 7, "rng": 3}
    assert clone(kind(**given)).get_params() == kind().get_params() | given
    documented = [line.split(" : ")[0].strip() for line in kind.__doc__.splitlines() if " : " in line]
    assert set(kind().get_params()) <= set(documented)


ACTIVATIONS = np.array([-1e100, -1716.0, -40.0, -1.0, 0.0, 3.0, 40.0, 800.0])


@pytest.mark.parametrize("likelihood", [Logit(), LabelNoise(0.2), Probit()], ids=lambda kind: type(kind).__name__)
def test_log_probabilities_have_all_digits_where_probabilities_have_none(likelihood):
    with mpmath.workdps(1000):
        law = mpmath.ncdf if isinstance(likelihood, Probit) else lambda a: 1 / (1 + mpmath.exp(-a))
        near = ACTIVATIONS[1:]
        expected = [float(mpmath.log(law(mpmath.mpf(a)))) for a in near]
    np.testing.assert_allclose(likelihood.log_probability(near), expected, rtol=1e-12)
    assert likelihood.log_probability(ACTIVATIONS[:1])[0] == (-5e199 if isinstance(likelihood, Probit) else -1e100)
    single = likelihood.log_probability(near.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-6)


@pytest.mark.parametrize("likelihood", [Softmax(3), SoftmaxLabelNoise(0.8 * np.eye(3) + 0.2 / 3)])
def test_log_probabilities_of_many_classes(likelihood):
    A = np.array([[0.0, 1.0, -1.0], [1e6, 0.0, 999_999.0], [0.0, -800.0, 50.0], [3.0, 3.0, 3.0], [0.0, -50.0, -60.0]])
    with mpmath.workdps(1000):
        expected = [[float(a - mpmath.log(sum(map(mpmath.exp, row)))) for a in row] for row in A.tolist()]
    np.testing.assert_allclose(likelihood.log_probability(A), expected, rtol=1e-12)
    assert likelihood.log_probability(A.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("kind", [sx.LogisticRegression, sx.ProbitRegression, sx.LabelNoiseLogisticRegression])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_far_out_have_log_probabilities(kind, dtype):
    model = kind().fit(X, Y)
    far = (1e6 * X[:5]).astype(dtype)
    log_p = model.predict_log_proba(far)
    assert np.isfinite(log_p).all()
    assert (log_p.min(axis=1) < -1000).all()
    np.testing.assert_allclose(np.exp(log_p), model.predict_proba(far), rtol=1e-5)
