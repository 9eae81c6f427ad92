"""Generalised linear models: weights, targets, errors, existence of a maximum."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse

from separatrix.basis import Polynomial
from separatrix.discriminative import GeneralizedLinearModel
from separatrix.discriminative.glm_fit import Targets, fit_null
from separatrix.exceptions import CollinearError, CollinearWarning, ConvergenceWarning, DataError, SeparationWarning
from separatrix.likelihoods import LIKELIHOODS, mean_likelihood


def counts(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(0.5 + X @ [0.4, -0.2, 0.0])).astype(float)


@pytest.mark.parametrize("family", ["poisson", "binomial"])
def test_a_weight_of_k_equals_k_copies_of_the_row(family, rng):
    """The targets of the binomial family are successes and failures, and weights count rows."""
    X, y = counts()
    y = y if family == "poisson" else rng.integers(0, 9, (len(X), 2)).astype(float)
    often = rng.integers(0, 4, len(y))
    weighted = GeneralizedLinearModel(family).fit(X, y, often)
    repeated = GeneralizedLinearModel(family).fit(np.repeat(X, often, axis=0), np.repeat(y, often, axis=0))
    for name in ("coef_", "standard_errors_", "null_deviance_", "log_likelihood_", "bic_", "degrees_of_freedom_"):
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
    np.testing.assert_allclose(scaled.summary()["p"], plain.summary()["p"], rtol=1e-6)


def test_a_basis_gives_named_coefficients():
    X, y = counts()
    model = GeneralizedLinearModel("poisson", basis=Polynomial(2)).fit(pd.DataFrame(X, columns=list("abc")), y)
    by_hand = GeneralizedLinearModel("poisson").fit(Polynomial(2).fit_transform(X), y)
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-8, atol=1e-10)
    assert "a" in model.coefficient_names_
    assert model.coefficient_names_[-1] == "intercept"
    assert model.test("a", method="wald").hypothesis == {"a": 0.0}


@pytest.mark.slow
def test_the_confidence_band_of_the_mean_has_its_nominal_coverage():
    rng = np.random.default_rng(3)
    X = np.linspace(-1, 1, 60)[:, None]
    mean = np.exp(1 + X[:, 0])
    covered = []
    for _ in range(200):
        model = GeneralizedLinearModel("poisson").fit(X, rng.poisson(mean).astype(float))
        low, high = model.predict_interval(X, level=0.8).T
        covered.append((low <= mean) & (mean <= high))
    assert np.mean(covered) == pytest.approx(0.8, abs=0.04)


def test_rows_without_a_mean_are_nan_with_a_warning():
    X = np.linspace(0.5, 3, 30)[:, None]
    model = GeneralizedLinearModel("gamma").fit(X, 1 / X[:, 0])
    with pytest.warns(UserWarning, match=r"1 of 2 rows have no mean.*row 2 .* is -7"):
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


def test_a_penalised_model_has_errors_but_no_tests():
    X, y = counts()
    model = GeneralizedLinearModel("poisson", alpha=2.0).fit(X, y)
    table = model.summary()
    assert "p" not in table.columns
    assert "Penalised fit (alpha = 2)" in str(table)
    with pytest.raises(ValueError, match="needs alpha=0. Penalised"):
        model.test("x0")
    with pytest.raises(ValueError, match="needs alpha=0"):
        model.summary(interval="profile")
    free = GeneralizedLinearModel("poisson").fit(X, y)
    assert (model.standard_errors_[:3] < free.standard_errors_[:3]).all()
    assert model.degrees_of_freedom_ > free.degrees_of_freedom_


def test_collinear_and_constant_columns_are_named():
    X, y = counts()
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=2 * X[:, 0] + 0.1)
    with pytest.warns(CollinearWarning, match=r"'d' is a linear function of 'a'.*set alpha > 0"):
        GeneralizedLinearModel("poisson").fit(frame, y)
    with pytest.warns(CollinearWarning, match="'d' is constant"):
        GeneralizedLinearModel("poisson").fit(frame.assign(d=0.1), y)
    with pytest.warns(CollinearWarning, match="'x2' is a combination of 'x0' and 'x1'"):
        saturated = GeneralizedLinearModel("poisson").fit(X[:3], [3, 5, 4])
    np.testing.assert_allclose(saturated.predict(X[:3]), [3, 5, 4], rtol=1e-6)
    with pytest.warns(CollinearWarning, match="'x0' is constant"):
        null = GeneralizedLinearModel("poisson").fit(np.ones((5, 1)), [3, 5, 4, 1, 1])
    np.testing.assert_allclose(np.append(null.coef_, np.exp(null.intercept_)), [0.0, 2.8])
    with pytest.raises(CollinearError, match="'x0' is constant"):
        GeneralizedLinearModel(fit_intercept=False).fit(np.zeros((5, 1)), [3, 5, 4, 1, 1])
    assert np.isfinite(GeneralizedLinearModel("poisson", alpha=1.0).fit(frame, y).standard_errors_).all()


def test_indicators_of_every_level_drop_the_last():
    levels = np.eye(3)[[0, 0, 1, 1, 2, 2, 2]]
    y = np.array([1.0, 2.0, 4.0, 4.0, 7.0, 8.0, 9.0])
    with pytest.warns(CollinearWarning, match="'x2' is a combination of 'x0' and 'x1'"):
        model = GeneralizedLinearModel().fit(levels, y)
    np.testing.assert_allclose(model.coef_, [-6.5, -4.0, 0.0])  # contrasts with the last level
    assert model.intercept_ == pytest.approx(8.0)
    assert model.degrees_of_freedom_ == 4
    np.testing.assert_allclose(GeneralizedLinearModel(fit_intercept=False).fit(levels, y).coef_, [1.5, 4.0, 8.0])


def test_as_many_coefficients_as_rows_leave_no_dispersion():
    X, y = counts()
    model = GeneralizedLinearModel().fit(X[:4], y[:4])
    assert np.isnan(model.dispersion_)
    assert np.isnan(model.standard_errors_).all()


def test_too_few_steps_are_a_warning():
    X, y = counts()
    with pytest.warns(ConvergenceWarning, match=r"limit of steps \(1\).*Raise max_steps"):
        GeneralizedLinearModel("poisson", max_steps=1).fit(X, y)


def test_an_inverse_link_without_intercept_needs_a_start():
    X, y = counts()
    with pytest.raises(DataError, match="Set fit_intercept=True, or use link='log'"):
        GeneralizedLinearModel("gamma", fit_intercept=False).fit(X, y + 1)


# The maximum


def fitted_to_counts(family="poisson", link=None, alpha=0.0, n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) + 3.0
    t = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float) + (family == "gamma")
    weight = rng.uniform(0.5, 2.0, n)
    return X, t, weight, GeneralizedLinearModel(family, link, alpha=alpha).fit(X, t, weight)


@pytest.mark.parametrize(
    ("family", "link"), [("gaussian", "log"), ("poisson", "log"), ("gamma", "inverse"), ("gamma", "log")]
)
def test_no_point_near_or_far_has_a_smaller_objective(family, link):
    X, t, weight, model = fitted_to_counts(family, link, alpha=0.7)

    def objective(user):
        log_p = mean_likelihood(family, link).derivatives(X @ user[:2] + user[2], t).log_p
        return -weight @ log_p + 0.35 * user[:2] @ user[:2]

    user = np.append(model.coef_, model.intercept_)
    with np.errstate(all="ignore"):
        best = optimize.minimize(objective, user + 0.01, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert objective(user) <= best.fun + 1e-9
    np.testing.assert_allclose(user, best.x, atol=1e-5)


def test_the_effective_number_of_coefficients_falls_with_the_penalty():
    models = [fitted_to_counts(alpha=alpha)[-1] for alpha in (0.0, 10.0, 1e3, 1e9)]
    numbers = [model.aic_ / 2 + model.log_likelihood_ for model in models]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] == pytest.approx(3.0)
    assert numbers[-1] == pytest.approx(1.0, abs=1e-5)


SEPARATED = {
    "complete": np.repeat([0, 1], 10),
    "quasi-complete": np.r_[np.tile([0, 1], 5), np.ones(10, int)],
}


@pytest.mark.parametrize("family", ["bernoulli", "binomial"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("status", SEPARATED)
def test_separated_classes_are_a_warning(status, link, family):
    X = np.repeat([[0.0], [1.0]], 10, axis=0)  # with two points, probit steps are short although there is no maximum
    with pytest.warns(SeparationWarning, match=f"status '{status}'.*'x0'"):
        GeneralizedLinearModel(family, link).fit(X, SEPARATED[status])
    GeneralizedLinearModel(family, link, alpha=0.1).fit(X, SEPARATED[status])  # with a prior there is a maximum


# Targets and the null model

CASES = [(family, link) for family, links in LIKELIHOODS.items() for link in links]


def random_targets(family, offset=None):
    rng = np.random.default_rng(1)
    t = rng.integers(0, 2, 40).astype(float) if family in ("bernoulli", "binomial") else rng.gamma(2.0, 1.0, 40)
    return Targets(t, count=rng.uniform(0.5, 3.0, 40), offset=offset)


@pytest.mark.parametrize(("family", "link"), CASES)
def test_with_offsets_no_other_intercept_has_a_smaller_deviance(family, link):
    offset = np.random.default_rng(2).normal(size=40) * 0.5
    null = fit_null(mean_likelihood(family, link), random_targets(family, offset))

    def deviance(b):
        return -2 * null.targets.count @ null.likelihood.derivatives(b + offset, null.targets.t).log_p

    low = -offset.min() + 1e-6 if link == "inverse" else null.activation - 3
    best = optimize.minimize_scalar(deviance, bounds=(low, null.activation + 3), method="bounded").fun
    assert null.deviance <= best + 1e-8 * abs(best)


def test_offsets_and_logarithms_of_exposures_add_to_the_activation(rng):
    X, y, offset = rng.normal(size=(20, 2)), rng.poisson(2.0, 20), rng.normal(size=20)
    exposed = GeneralizedLinearModel("poisson").fit(X, y, offset=offset, exposure=np.exp(X[:, 0]))
    model = GeneralizedLinearModel("poisson").fit(X, y, offset=offset)
    np.testing.assert_allclose(exposed.coef_, model.coef_ - [1.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(model.predict(X, offset=offset), model.predict(X) * np.exp(offset))


def test_columns_far_from_zero_are_predicted_about_their_means(rng):
    X = rng.normal(size=(200, 2))
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=200)
    near, far = GeneralizedLinearModel().fit(X, y), GeneralizedLinearModel().fit(X + 1e8, y)
    np.testing.assert_allclose(far.predict(X + 1e8), near.predict(X), atol=1e-6)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] + RNG.logistic(size=300) > 0).astype(int)


@pytest.mark.parametrize("family", ["poisson", "gamma", "bernoulli", "gaussian"])
def test_the_score_of_the_training_table_is_the_fraction_of_the_null_deviance_with_its_offset(family):
    offset = RNG.normal(size=300)
    a = 0.5 * X[:, 0] + offset
    y = {
        "poisson": RNG.poisson(np.exp(a)),
        "gamma": RNG.gamma(2.0, np.exp(a) / 2.0),
        "bernoulli": (a + RNG.logistic(size=300) > 0).astype(int),
        "gaussian": a + RNG.normal(size=300),
    }[family]
    weight = RNG.integers(1, 4, 300)
    model = GeneralizedLinearModel(family, "log" if family == "gamma" else None).fit(X, y, weight, offset=offset)
    explained = 1 - model.deviance_ / model.null_deviance_
    assert model.score(X, y, weight, offset=offset) == pytest.approx(explained, rel=1e-9)


def test_the_score_of_rows_without_events_is_that_of_a_perfect_null_model():
    offset = RNG.normal(size=300)
    model = GeneralizedLinearModel("poisson").fit(X, RNG.poisson(np.exp(offset)), offset=offset)
    assert model.score(X[:5], np.zeros(5), offset=offset[:5]) == 0.0


@pytest.mark.parametrize(
    ("family", "y", "message"),
    [
        ("poisson", [1.0, 1e154, 2.0], "y is 1e.154 in row 2 .* too large to square"),
        ("gamma", [1.0, 2.0, 1e154], "y is 1e.154 in row 3 .* too large to square"),
        ("gamma", [1e-310, 2.0, 3.0], "y is 1e-310 in row 1 .* too small to invert"),
        ("binomial", [[1, 2], [1e308, 1e308], [3, 0]], "in row 2 .* nor greater than 1e.130"),
    ],
)
def test_targets_whose_sums_overflow_are_refused(family, y, message):
    X = np.arange(3.0)[:, None]
    with pytest.raises(DataError, match=message):
        GeneralizedLinearModel(family, alpha=0.1).fit(X, y)


def test_the_score_of_rows_whose_deviance_overflows_is_minus_infinity():
    model = GeneralizedLinearModel().fit(np.arange(4.0)[:, None], [1.0, 3.0, 2.0, 4.0])
    assert model.score([[1e300], [-1e300]], [1.0, 2.0]) == -np.inf


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_keep_the_training_rows_and_pickles_do_not(duplicate):
    model = GeneralizedLinearModel("bernoulli").fit(X, Y)
    other = duplicate(model)
    assert other.test("x0").p_value == model.test("x0").p_value
    assert other.get_params() == model.get_params()
    assert (other.coef_ is model.coef_) == (duplicate is copy.copy)
    with pytest.raises(ValueError, match=r"Call fit\(X, y\) again"):
        pickle.loads(pickle.dumps(model)).test("x0")


# A normal model with a log link has no maximum if the best mean is not positive

REFUSED = r"The best mean of {n} rows is zero or less.*along {columns}\. Use link='identity'"
GROUP = np.repeat([0.0, 1.0], 10)
FIRST = np.linspace(3.0, 4.0, 10)


def log_model(**options):
    return GeneralizedLinearModel("gaussian", "log", **options)


def targets(*second):
    """Positive targets in the first group of ten rows; the given targets, repeated, in the second group."""
    return np.append(FIRST, np.resize(second, 10))


@pytest.mark.parametrize(
    "second", [(0.0,), (-1.0,), (0.0, -2.0), (1.0, -3.0), (1.0, -1.0), (5.0, -1.0, -1.0, -1.0, -3.0)]
)
def test_a_group_whose_targets_add_up_to_no_more_than_zero_is_refused(second):
    with pytest.raises(DataError, match=REFUSED.format(n=10, columns="'x0'")):
        log_model().fit(GROUP[:, None], targets(*second))


@pytest.mark.parametrize("second", [(1.0, -0.9), (2.0, 0.0), (0.1,), (9.0, -1.0, -1.0, -1.0, -3.0)])
def test_a_group_with_a_positive_mean_has_it(second):
    y = targets(*second)
    fitted = log_model().fit(GROUP[:, None], y)
    assert_allclose(fitted.predict([[0.0], [1.0]]), [FIRST.mean(), y[10:].mean()], rtol=1e-5)


def test_other_columns_rows_on_the_plane_offsets_weights_and_sparse_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), np.tile([0.0, 1.0], 20), rng.normal(size=40)])
    y = np.where(X[:, 1] == 1, -0.5, np.exp(0.5 * X[:, 0]))
    for table, offset in ((X, None), (sparse.csr_array(X), None), (X, X[:, 2])):
        with pytest.raises(DataError, match=REFUSED.format(n=20, columns="'x1'")):
            log_model().fit(table, y, offset=offset)
    fitted = log_model().fit(X[:, [0, 2]], y, sample_weight=1.0 - X[:, 1])  # without those rows
    assert_allclose(fitted.coef_, [0.5, 0.0], atol=1e-6)


def test_a_penalty_makes_the_mean_finite():
    penalised = log_model(alpha=0.1).fit(GROUP[:, None], targets(-1.0))
    assert 0 < penalised.predict([[1.0]])[0] < 0.5


def test_a_curve_among_zeros_is_fitted():
    """Zeros on one side are compatible with a finite slope that positive targets determine."""
    x = np.linspace(-2, 2, 30)[:, None]
    fitted = log_model().fit(x, np.where(x[:, 0] > 0, 0.0, 1.0))
    assert np.isfinite(fitted.standard_errors_).all()
    assert fitted.coef_[0] < 0


def test_labels_and_names_of_columns_have_a_remedy():
    X, y = counts()
    with pytest.raises(DataError, match=r"y == 'yes', or use LogisticRegression"):
        GeneralizedLinearModel("bernoulli").fit(X, np.where(y > 0, "yes", "no"))
    with pytest.raises(DataError, match=r"offset='age' is a name.*table\['age'\]"):
        GeneralizedLinearModel("poisson").fit(X, y, offset="age")
