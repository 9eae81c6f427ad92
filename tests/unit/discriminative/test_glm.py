"""The shell: scikit-learn's contract, bad input, storages, and what a user may ask of a fitted model."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from problems import STORAGES
from separatrix.basis import Polynomial
from separatrix.discriminative import GeneralizedLinearModel
from separatrix.exceptions import CollinearError, ConvergenceWarning, DataError

WIDE = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "15 rows of 30 columns: coefficients are not unique without a penalty, an error by design (alpha=1 is checked too)",
)
ESTIMATORS = {
    "gaussian": (GeneralizedLinearModel(), WIDE),
    "gaussian_penalised": (GeneralizedLinearModel(alpha=1.0), {}),
    "poisson": (GeneralizedLinearModel("poisson", alpha=1.0), {}),
    "gamma_log": (GeneralizedLinearModel("gamma", "log", alpha=1.0), {}),
}


def checks():
    for name, (estimator, expected) in ESTIMATORS.items():
        for instance, check in estimator_checks_generator(estimator, legacy=True):
            check_name = getattr(check, "func", check).__name__
            reason = expected.get(check_name)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            yield pytest.param(instance, check, id=f"{name}-{check_name}", marks=marks)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_check(estimator, check):
    with np.errstate(divide="warn", over="warn", invalid="warn"):
        check(estimator)


def counts(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(0.5 + X @ [0.4, -0.2, 0.0])).astype(float)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_gives_the_same_fit(storage):
    X, y = counts()
    plain, stored = GeneralizedLinearModel("poisson").fit(X, y), GeneralizedLinearModel("poisson")
    stored.fit(STORAGES[storage](X), y)
    np.testing.assert_allclose(stored.coef_, plain.coef_, rtol=1e-8)
    np.testing.assert_allclose(stored.covariance_, plain.covariance_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(stored.predict(STORAGES[storage](X)), plain.predict(X), rtol=1e-8)


def test_a_weight_of_k_is_the_row_k_times():
    X, y = counts()
    often = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = GeneralizedLinearModel("poisson").fit(X, y, often)
    repeated = GeneralizedLinearModel("poisson").fit(np.repeat(X, often, axis=0), np.repeat(y, often))
    for name in ("coef_", "standard_errors_", "deviance_", "null_deviance_", "log_likelihood_", "bic_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8)


def test_units_and_origins_of_columns_change_nothing_but_units():
    X, y = counts()
    plain = GeneralizedLinearModel("poisson").fit(X, y)
    moved = GeneralizedLinearModel("poisson").fit(1e-3 * X + 1e4, y)
    np.testing.assert_allclose(1e-3 * moved.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(1e-3 * moved.standard_errors_[:3], plain.standard_errors_[:3], rtol=1e-6)
    assert moved.deviance_ == pytest.approx(plain.deviance_, rel=1e-10)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_of_the_targets_do_not_stop_a_fit_early(unit):
    X, y = counts()
    plain, scaled = GeneralizedLinearModel().fit(X, y), GeneralizedLinearModel().fit(X, unit * y)
    np.testing.assert_allclose(scaled.coef_ / unit, plain.coef_, rtol=1e-7)
    np.testing.assert_allclose(scaled.summary().p_value, plain.summary().p_value, rtol=1e-6)


def test_rare_events_are_fitted_as_exactly_as_common_ones():
    X, y = counts()
    common = GeneralizedLinearModel("poisson").fit(X, y)
    rare = GeneralizedLinearModel("poisson").fit(X, 1e-8 * y, np.full(len(y), 1e8))
    np.testing.assert_allclose(rare.coef_, common.coef_, rtol=1e-5, atol=1e-8)


def test_a_basis_gives_named_coefficients():
    X, y = counts()
    model = GeneralizedLinearModel("poisson", basis=Polynomial(2)).fit(pd.DataFrame(X, columns=list("abc")), y)
    by_hand = GeneralizedLinearModel("poisson").fit(Polynomial(2).fit_transform(X), y)
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-8, atol=1e-10)
    assert "a" in model.coefficient_names_
    assert model.coefficient_names_[-1] == "intercept"
    assert model.test("a", method="wald").names == ("a",)


def test_a_binary_model_takes_soft_targets_as_averages():
    X, y = counts()
    t = (y > 1).astype(float)
    twice = GeneralizedLinearModel("bernoulli").fit(np.vstack([X, X]), np.concatenate([t, 1 - t]), np.tile(0.5, 240))
    soft = GeneralizedLinearModel("bernoulli", alpha=1e-3).fit(X, np.full(120, 0.5))
    np.testing.assert_allclose(twice.coef_, 0.0, atol=1e-9)
    np.testing.assert_allclose(soft.predict(X), 0.5, atol=1e-9)


def test_weights_of_successes_and_failures_count_rows():
    X, _ = counts(40)
    both = np.random.default_rng(0).integers(0, 9, (40, 2)).astype(float)
    often = np.arange(40) % 3
    weighted = GeneralizedLinearModel("binomial").fit(X, both, often)
    repeated = GeneralizedLinearModel("binomial").fit(np.repeat(X, often, axis=0), np.repeat(both, often, axis=0))
    for name in ("coef_", "standard_errors_", "log_likelihood_", "bic_", "degrees_of_freedom_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9)


def test_the_confidence_band_of_the_mean_covers_as_often_as_it_says():
    rng = np.random.default_rng(3)
    X = np.linspace(-1, 1, 60)[:, None]
    mean = np.exp(1 + X[:, 0])
    covered = []
    for _ in range(200):
        model = GeneralizedLinearModel("poisson").fit(X, rng.poisson(mean).astype(float))
        low, high = model.predict_interval(X, level=0.8).T
        covered.append((low <= mean) & (mean <= high))
    assert np.mean(covered) == pytest.approx(0.8, abs=0.04)


def test_the_band_is_in_order_under_a_falling_link():
    X, y = counts()
    model = GeneralizedLinearModel("gamma").fit(X, y + 1)
    low, high = model.predict_interval(X).T
    assert (low < model.predict(X)).all()
    assert (model.predict(X) < high).all()


def test_rows_without_a_mean_are_said_to_have_none():
    X = np.linspace(0.5, 3, 30)[:, None]
    model = GeneralizedLinearModel("gamma").fit(X, 1 / X[:, 0])
    with pytest.warns(UserWarning, match=r"1 of 2 rows have no mean.*row 1 is -7"):
        mean = model.predict([[1.0], [-7.0]])
    assert mean[0] == pytest.approx(1.0)
    assert np.isnan(mean[1])


def test_a_saved_model_predicts_and_summarises_without_its_rows():
    X, y = counts(2000)
    model = GeneralizedLinearModel("poisson").fit(X, y)
    saved = pickle.dumps(model)
    loaded = pickle.loads(saved)
    assert len(saved) < X.nbytes / 4
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    assert str(loaded.summary()) == str(model.summary())
    with pytest.raises(ValueError, match=r"has no rows. Call fit\(X, y\) again"):
        loaded.summary(interval="profile")


def test_a_penalised_model_has_errors_but_no_tests():
    X, y = counts()
    model = GeneralizedLinearModel("poisson", alpha=2.0).fit(X, y)
    table = model.summary()
    assert np.isnan(table.p_value).all()
    assert "Penalised fit (alpha = 2)" in str(table)
    with pytest.raises(ValueError, match="needs alpha=0. Penalised"):
        model.test("x0")
    with pytest.raises(ValueError, match="needs alpha=0"):
        model.summary(interval="profile")
    free = GeneralizedLinearModel("poisson").fit(X, y)
    assert (model.standard_errors_[:3] < free.standard_errors_[:3]).all()
    assert model.degrees_of_freedom_ > free.degrees_of_freedom_


def test_score_is_the_share_of_deviance_explained():
    X, y = counts()
    model = GeneralizedLinearModel("poisson").fit(X, y)
    assert model.score(X, y) == pytest.approx(1 - model.deviance_ / model.null_deviance_)
    assert GeneralizedLinearModel().fit(X, y).score(X, np.full(len(y), 2.0)) == 0.0


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = counts()
    model = GeneralizedLinearModel("poisson").fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(CollinearError):
        model.fit(np.column_stack([X[:, :2], X[:, 0]]), y)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"family": "normal"}, r"family='normal'\): choose one of 'gaussian'"),
        ({"family": "poisson", "link": "logit"}, r"link='logit'\): choose one of 'log' for family='poisson'"),
        ({"alpha": -1.0}, r"alpha=-1.0\): alpha must be a finite number"),
        ({"alpha": np.nan}, "alpha=nan"),
        ({"tol": 0.0}, r"tol=0.0\)"),
        ({"max_steps": 0}, r"max_steps=0\)"),
    ],
)
def test_wrong_arguments_are_named(settings, message):
    X, y = counts()
    with pytest.raises(ValueError, match=message):
        GeneralizedLinearModel(**settings).fit(X, y)


@pytest.mark.parametrize(
    ("family", "change", "message"),
    [
        ("poisson", {"y": -1.0}, r"y\[3\] is -1, which is negative"),
        ("gamma", {"y": 0.0}, r"y\[3\] is 0, which is not positive"),
        ("bernoulli", {"y": 2.0}, r"outside \[0, 1\]"),
        ("gaussian", {"y": np.nan}, "Input y contains NaN. The first of 1 is in row 3"),
        ("gaussian", {"X": np.inf}, "NaN or infinity in column 'x0'"),
        ("gaussian", {"X": np.nan}, "NaN or infinity in column 'x0'"),
        ("gaussian", {"sample_weight": -1.0}, r"sample_weight\[3\] is -1"),
        ("gaussian", {"offset": np.nan}, "offset contains NaN"),
        ("poisson", {"exposure": 0.0}, r"exposure\[3\] is 0; exposures must be positive"),
        ("gaussian", {"exposure": 1.0}, "takes a log link, not 'identity'"),
    ],
)
def test_bad_values_are_named(family, change, message):
    X, y = counts()
    y = (y > 0).astype(float) if family == "bernoulli" else y + 1
    ones = {"sample_weight": np.ones(120), "offset": np.zeros(120), "exposure": np.ones(120)}
    given = {"X": X.copy(), "y": y.copy()} | {name: ones[name] for name in change if name in ones}
    ((name, value),) = change.items()
    given[name][(3, 0) if name == "X" else 3] = value
    with pytest.raises(ValueError, match=message):
        GeneralizedLinearModel(family).fit(given.pop("X"), given.pop("y"), **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": np.ones(7)}, "X has 120 rows but y has 7 targets"),
        ({"y": ["a"] * 120}, "y must hold numbers"),
        ({"sample_weight": np.zeros(120)}, "Every sample_weight is zero"),
        ({"sample_weight": np.ones(3)}, r"sample_weight.shape == \(3,\)"),
        ({"offset": np.zeros(7)}, r"offset.shape == \(7,\), expected \(120,\): one offset for each row"),
        ({"exposure": np.ones((120, 2))}, r"exposure.shape == \(120, 2\)"),
        ({"y": np.zeros(120)}, "Every count in y .* is 0"),
    ],
)
def test_bad_shapes_and_empty_data_are_named(given, message):
    X, y = counts()
    with pytest.raises(DataError, match=message):
        GeneralizedLinearModel("poisson").fit(X, given.pop("y", y), **given)


def test_all_targets_of_one_kind_have_no_maximum():
    with pytest.raises(DataError, match=r"is 1: the likelihood rises for ever.*\+infinity"):
        GeneralizedLinearModel("bernoulli").fit(counts()[0], np.ones(120))
    with pytest.raises(DataError, match="no trials"):
        GeneralizedLinearModel("binomial").fit([[1.0], [2.0]], np.zeros((2, 2)))
    with pytest.raises(DataError, match=r"y\[1\] is \[-1.0, 2.0\]; successes and failures"):
        GeneralizedLinearModel("binomial").fit([[1.0], [2.0]], [[1, 1], [-1, 2]])


def test_a_log_link_needs_a_positive_mean():
    with pytest.raises(DataError, match=r"The mean of y is -1.*Use link='identity'"):
        GeneralizedLinearModel("gaussian", "log").fit(counts()[0], np.full(120, -1.0))


def test_collinear_and_constant_columns_are_named():
    X, y = counts()
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=2 * X[:, 0] + 0.1)
    with pytest.raises(CollinearError, match=r"'(a|d)' is a multiple of '(a|d)'.*set alpha > 0"):
        GeneralizedLinearModel("poisson").fit(frame, y)
    with pytest.raises(CollinearError, match="'d' is constant"):
        GeneralizedLinearModel("poisson").fit(frame.assign(d=0.1), y)
    with pytest.raises(CollinearError, match=r"There are 4 coefficients, and n_samples = 3"):
        GeneralizedLinearModel("poisson").fit(X[:3], y[:3])
    assert np.isfinite(GeneralizedLinearModel("poisson", alpha=1.0).fit(frame, y).standard_errors_).all()


def test_as_many_coefficients_as_rows_leave_no_dispersion():
    X, y = counts()
    model = GeneralizedLinearModel().fit(X[:4], y[:4])
    assert np.isnan(model.dispersion_)
    assert np.isnan(model.standard_errors_).all()


def test_stopping_short_warns_with_how_far_it_got():
    X, y = counts()
    with pytest.warns(ConvergenceWarning, match=r"limit of steps \(1\): the gradient is still .* Raise max_steps"):
        GeneralizedLinearModel("poisson", max_steps=1).fit(X, y)


def test_a_fit_says_what_it_cost():
    X, y = counts()
    model = GeneralizedLinearModel("poisson").fit(X, y)
    # one for the units, one at the start and for each step, one to prove that there is a maximum, one for the goodness
    assert model.n_passes_ == model.solution_.passes == model.n_steps_ + 4
    assert model.solution_.is_converged


@pytest.mark.parametrize("columns", ["z", [], ["x0", "z"], 4, [-1]])
def test_unknown_coefficients_are_refused(columns):
    model = GeneralizedLinearModel("poisson").fit(*counts())
    with pytest.raises(ValueError, match="choose from 'x0', 'x1', 'x2', 'intercept'"):
        model.test(columns)


def test_wrong_questions_are_refused():
    model = GeneralizedLinearModel("poisson").fit(*counts())
    with pytest.raises(ValueError, match="method='lr'"):
        model.test("x0", method="lr")
    with pytest.raises(ValueError, match="interval='exact'"):
        model.summary(interval="exact")
    with pytest.raises(ValueError, match="level=95"):
        model.summary(level=95)


def test_clones_are_unfitted_equals():
    model = GeneralizedLinearModel("gamma", "log", alpha=0.5, fit_intercept=False, tol=1e-6, max_steps=9)
    assert clone(model).get_params() == model.get_params()


def test_an_inverse_link_without_intercept_needs_a_start():
    X, y = counts()
    with pytest.raises(DataError, match="Set fit_intercept=True, or use link='log'"):
        GeneralizedLinearModel("gamma", fit_intercept=False).fit(X, y + 1)
