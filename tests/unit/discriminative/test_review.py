"""What a user is told, and when: warnings at the user's own line, once, naming what is at fault and nothing else."""

import copy
import pickle
import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import separatrix as sx
from separatrix.discriminative import glm_fit
from separatrix.exceptions import CollinearError, CollinearWarning, ConvergenceWarning, DataError, SeparationWarning
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


GROUP = np.repeat([0.0, 1.0], 50)
NOISE = RNG.normal(size=(100, 2))


def separated(fit):
    """The one warning of a fit, and the model."""
    model, found = caught(fit)
    assert [w.category for w in found] == [SeparationWarning]
    assert found[0].filename == __file__
    return model, str(found[0].message)


def test_counts_that_are_zero_in_a_whole_group():
    y = np.where(GROUP == 1, 0, RNG.poisson(3, 100))
    table = np.column_stack([NOISE, GROUP])
    _, message = separated(lambda: sx.GeneralizedLinearModel("poisson").fit(table, y))
    assert message.startswith("Every count on one side of a hyperplane is 0, and the other rows (50) lie on it")
    assert "along 'x2'. The likelihood has no maximum" in message
    y[-1] = 1
    assert caught(lambda: sx.GeneralizedLinearModel("poisson").fit(table, y))[1] == []
    assert caught(lambda: sx.GeneralizedLinearModel("poisson", alpha=1.0).fit(table, y * GROUP))[1] == []


def test_an_exposure_does_not_hide_a_group_without_events():
    y, exposure = np.where(GROUP == 1, 0, RNG.poisson(3, 100)), RNG.uniform(0.5, 2, 100)
    separated(lambda: sx.GeneralizedLinearModel("poisson").fit(GROUP[:, None], y, exposure=exposure))


def test_successes_and_failures_of_which_a_group_has_no_failure():
    x, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([[5, 5], [4, 6], [10, 0], [8, 0]])
    for link in ("logit", "probit", "cloglog"):
        _, message = separated(lambda link=link: sx.GeneralizedLinearModel("binomial", link).fit(x, y))
        assert "(status 'quasi-complete', but for 2 rows that lie on it), along 'x0'" in message
    assert caught(lambda: sx.GeneralizedLinearModel("binomial").fit(x, y + 1))[1] == []


@pytest.mark.parametrize("kind", [sx.LogisticRegression, sx.ProbitRegression])
def test_soft_targets_that_are_sure_in_a_whole_group(kind):
    p = np.where(GROUP == 1, 1.0, 0.3)
    table = np.column_stack([NOISE, GROUP])
    model, message = separated(lambda: kind(alpha=0.0).fit(table, np.column_stack([1 - p, p])))
    assert (model.separation_.status, model.separation_.columns) == ("quasi-complete", ("x2",))
    assert "50 rows that lie on it" in message
    p[-1] = 0.99
    model, found = caught(lambda: kind(alpha=0.0).fit(table, np.column_stack([1 - p, p])))
    assert (model.separation_.status, found) == ("overlapping", [])


def test_soft_targets_of_three_classes():
    """In one group only the first two classes occur, mixed; in the other, all."""
    T = RNG.dirichlet(np.ones(3), 100)
    T[GROUP == 1, 2] = 0.0
    T /= T.sum(axis=1, keepdims=True)
    model, _ = separated(lambda: sx.LogisticRegression(alpha=0.0).fit(np.column_stack([NOISE, GROUP]), T))
    assert (model.separation_.status, model.separation_.columns) == ("quasi-complete", ("x2",))


def test_a_proof_that_shares_and_counts_have_a_maximum_costs_one_pass():
    table, t = np.column_stack([NOISE, GROUP]), RNG.choice([0.0, 0.5, 1.0], 100)
    soft = sx.LogisticRegression(alpha=0.0).fit(table, np.column_stack([1 - t, t]))
    hard = sx.LogisticRegression(alpha=0.0).fit(table, (t > 0.2).astype(int))
    assert soft.separation_.status == hard.separation_.status == "overlapping"
    assert soft.n_passes_ - soft.n_steps_ == hard.n_passes_ - hard.n_steps_


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("dtype", [float, int, bool])
def test_a_table_of_zeros_and_ones_is_labels(K, dtype):
    t = RNG.integers(0, K, 100)
    for alpha in (0.0, 1.0):
        hard = sx.LogisticRegression(alpha=alpha).fit(NOISE, t)
        model = sx.LogisticRegression(alpha=alpha).fit(NOISE, np.eye(K)[t].astype(dtype))
        np.testing.assert_array_equal(model.coef_, hard.coef_)
        assert model.separation_.status == hard.separation_.status == "overlapping"
    table = np.column_stack([NOISE, t])
    assert (
        separated(lambda: sx.LogisticRegression(alpha=0.0).fit(table, np.eye(K)[t]))[0].separation_.status == "complete"
    )


def test_a_table_of_labels_keeps_the_names_and_the_order_of_its_classes_and_those_without_rows():
    t = np.array([2, 0])[RNG.integers(0, 2, 100)]
    y = pd.DataFrame(np.eye(3)[t], columns=["zebra", "newt", "ape"])
    model = sx.LogisticRegression().fit(NOISE + t[:, None], y)
    assert model.classes_.tolist() == ["zebra", "newt", "ape"]
    assert set(model.predict(NOISE + t[:, None])) == {"zebra", "ape"}
    overlapping = NOISE[np.arange(100) % 50]
    found, message = separated(
        lambda: sx.LogisticRegression(alpha=0.0).fit(overlapping, np.eye(3)[(np.arange(100) >= 50) * 2])
    )
    assert found.separation_.columns == ()
    assert "along the bias" in message  # of the class without rows


@pytest.mark.parametrize("K", [2, 3, 5])
def test_collinear_columns_are_named_once_however_many_classes_there_are(K):
    x, y = np.repeat(RNG.normal(size=(30, 2)), K, axis=0), np.tile(np.arange(K), 30)  # every row in every class
    table = np.column_stack([x, np.full(len(x), 3.0), x[:, 0], np.zeros(len(x))])
    for kind in (sx.LogisticRegression, sx.LabelNoiseLogisticRegression):
        _, found = caught(lambda kind=kind: kind(alpha=0.0, solver="newton").fit(table, y))
        message = str(next(w for w in found if w.category is CollinearWarning).message)
        assert message.startswith("Collinear columns: 'x2' is constant; 'x4' is constant; 'x")
        assert message.count("constant") == 2
        assert message.count("multiple") == 1


def test_collinear_columns_of_a_regression_are_an_error_and_not_a_warning_as_well():
    table = np.column_stack([NOISE, NOISE[:, 0]])
    for family, y in (("bernoulli", np.arange(100) % 2), ("poisson", RNG.poisson(3, 100))):
        with pytest.raises(CollinearError, match="Collinear columns"):  # and warnings are errors here
            sx.GeneralizedLinearModel(family).fit(table, y)


@pytest.mark.parametrize("family", ["poisson", "gamma", "bernoulli", "gaussian"])
def test_the_score_of_the_training_table_is_the_share_of_the_null_deviance_with_its_offset(family):
    offset = RNG.normal(size=300)
    a = 0.5 * X[:, 0] + offset
    y = {
        "poisson": RNG.poisson(np.exp(a)),
        "gamma": RNG.gamma(2.0, np.exp(a) / 2.0),
        "bernoulli": (a + RNG.logistic(size=300) > 0).astype(int),
        "gaussian": a + RNG.normal(size=300),
    }[family]
    weight = RNG.integers(1, 4, 300)
    model = sx.GeneralizedLinearModel(family, "log" if family == "gamma" else None).fit(X, y, weight, offset=offset)
    explained = 1 - model.deviance_ / model.null_deviance_
    assert model.score(X, y, weight, offset=offset) == pytest.approx(explained, rel=1e-9)


def test_the_score_of_rows_without_events_is_that_of_a_perfect_null_model():
    offset = RNG.normal(size=300)
    model = sx.GeneralizedLinearModel("poisson").fit(X, RNG.poisson(np.exp(offset)), offset=offset)
    assert model.score(X[:5], np.zeros(5), offset=offset[:5]) == 0.0


def test_more_columns_than_a_covariance_has_room_for(monkeypatch):
    monkeypatch.setattr(glm_fit, "MOST_COLUMNS", 2)
    with pytest.raises(DataError, match=r"of 3 columns that is a matrix of .* GB.*LogisticRegression\(alpha=...\)"):
        sx.GeneralizedLinearModel("poisson").fit(X, Y)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_of_a_regression_remember_its_rows_and_loaded_ones_say_why_they_do_not(duplicate):
    model = sx.GeneralizedLinearModel("bernoulli").fit(X, Y)
    other = duplicate(model)
    assert other.test("x0").p_value == model.test("x0").p_value
    assert other.get_params() == model.get_params()
    assert (other.coef_ is model.coef_) == (duplicate is copy.copy)
    with pytest.raises(ValueError, match="a model that was saved and loaded has no rows"):
        pickle.loads(pickle.dumps(model)).test("x0")


def test_estimated_rates_are_too_low_under_the_default_prior_and_right_under_a_wide_one():
    """The numbers in the notes of the class; a standard error of a mean of ten is 0.008."""
    found = {1.0: [], 0.01: []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows, w = rng.normal(size=(500, 4)), rng.normal(size=4)
        y = rows @ (6 * w / np.linalg.norm(w)) + rng.logistic(size=500) > 0
        labels = np.where(rng.random(500) < 0.2, ~y, y)
        for alpha, rates in found.items():
            rates.append(sx.LabelNoiseLogisticRegression(alpha=alpha).fit(rows, labels).noise_)
    assert np.mean(found[1.0]) == pytest.approx(0.15, abs=0.02)
    assert np.mean(found[0.01]) == pytest.approx(0.20, abs=0.02)
