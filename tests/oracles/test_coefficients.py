# SPDX-License-Identifier: BSD-3-Clause
"""Tables of coefficients are compared with statsmodels, and between models."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special, stats

import separatrix as sx

sm = pytest.importorskip("statsmodels.api")

N = 500
rng = np.random.default_rng(3)
X = rng.normal([0.0, 20.0, -1.0], [1.0, 2.0, 0.2], (N, 3))
A = (X - [0.0, 20.0, -1.0]) @ [0.8, -0.3, 1.0]
BINARY = (rng.random(N) < special.expit(A - 0.4)).astype(int)
CLASSES = np.array(["low", "middle", "top"])[
    np.argmax(np.column_stack([A, 0.5 * X[:, 0], -A]) + rng.gumbel(size=(N, 3)), axis=1)
]
WEIGHT = rng.integers(1, 4, N).astype(float)
WITH_ONE = np.column_stack([np.ones(N), X])
TIGHT = {"disp": 0, "method": "newton", "tol": 1e-11, "maxiter": 100}


def assert_same_table(table, params, errors, level=0.95, rtol=1e-7):
    z = params / errors
    reach = stats.norm.ppf(0.5 + level / 2)
    assert_allclose(table.coefficient, params, rtol=1e-6, atol=1e-8)
    assert_allclose(table.standard_error, errors, rtol=rtol)
    assert_allclose(table.z, z, rtol=1e-6, atol=1e-7)
    assert_allclose(table.p, 2 * stats.norm.sf(np.abs(z)), rtol=1e-5, atol=1e-12)
    assert_allclose(table.lower, params - reach * errors, rtol=1e-6, atol=1e-8)
    assert_allclose(table.upper, params + reach * errors, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(sx.LogisticRegression, sm.Logit), (sx.ProbitRegression, sm.Probit)], ids=["logit", "probit"]
)
def test_two_classes(ours, theirs):
    result = theirs(BINARY, WITH_ONE).fit(**TIGHT)
    table = ours(alpha=0).fit(X, BINARY).summary(level=0.9)
    assert table.names == ("intercept", "x0", "x1", "x2")
    assert_same_table(table, result.params, result.bse, 0.9)
    expected = {"N": N, "log likelihood": result.llf, "AIC": result.aic, "BIC": result.bic, "deviance": -2 * result.llf}
    assert table.facts == pytest.approx(expected, rel=1e-9)


def test_frequency_weights():
    result = sm.GLM(BINARY, WITH_ONE, family=sm.families.Binomial(), freq_weights=WEIGHT).fit(tol=1e-12)
    table = sx.LogisticRegression(alpha=0).fit(X, BINARY, WEIGHT).summary()
    assert_same_table(table, result.params, result.bse)
    assert table.facts["N"] == WEIGHT.sum()
    assert table.facts["log likelihood"] == pytest.approx(result.llf, rel=1e-9)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("reference", ["low", "middle", "top"])
def test_classes_against_a_reference(reference, solver):
    order = [reference, *(label for label in ("low", "middle", "top") if label != reference)]
    result = sm.MNLogit([order.index(label) for label in CLASSES], WITH_ONE).fit(**TIGHT)
    model = sx.LogisticRegression(alpha=0, solver=solver, tol=1e-10).fit(X, CLASSES)
    table = model.summary(reference)
    assert table.names[:2] == (f"{order[1]}: intercept", f"{order[1]}: x0")
    assert_same_table(table, result.params.T.ravel(), result.bse.T.ravel())
    expected = {"N": N, "log likelihood": result.llf, "AIC": result.aic, "BIC": result.bic, "deviance": -2 * result.llf}
    assert table.facts == pytest.approx(expected, rel=1e-9)


def test_classes_against_their_mean():
    result = sm.MNLogit(np.unique(CLASSES, return_inverse=True)[1], WITH_ONE).fit(**TIGHT)
    from_first = np.array([[0, 0], [1, 0], [0, 1]]) - 1 / 3
    R = np.kron(from_first, np.eye(4))
    params, cov = R @ result.params.T.ravel(), R @ np.asarray(result.cov_params()) @ R.T
    table = sx.LogisticRegression(alpha=0).fit(X, CLASSES).summary()
    assert len(table.names) == 12
    assert_same_table(table, params, np.sqrt(np.diag(cov)))


def test_odds_ratios():
    model = sx.LogisticRegression(alpha=0).fit(X, BINARY)
    plain, ratios = model.summary(), model.summary(exponentiate=True)
    for name in ("coefficient", "lower", "upper"):
        assert_allclose(ratios[name], np.exp(plain[name]))
    assert_allclose(ratios.standard_error, np.exp(plain.coefficient) * plain.standard_error)
    assert_allclose(ratios.p, plain.p)
    assert "odds ratios" in str(ratios)
    for other in (sx.ProbitRegression(alpha=0).fit(X, BINARY), sx.GeneralizedLinearModel().fit(X, A)):
        with pytest.raises(ValueError, match="not logarithms of a ratio"):
            other.summary(exponentiate=True)


def test_a_reference_of_two_classes_changes_signs_only():
    model = sx.LogisticRegression(alpha=0).fit(X, BINARY)
    up, down = model.summary(0), model.summary(1)
    assert_allclose(up.coefficient, -down.coefficient)
    assert_allclose(up.lower, -down.upper)
    assert_allclose(up.p, down.p)
    with pytest.raises(ValueError, match="reference=2 is not a class"):
        model.summary(2)
    with pytest.raises(ValueError, match="has no classes"):
        sx.GeneralizedLinearModel().fit(X, A).summary(reference=0)


def test_one_model_has_one_table_however_it_is_fitted():
    tables = [
        model.fit(X, BINARY).summary()
        for model in (
            sx.LogisticRegression(alpha=0),
            sx.LogisticRegression(alpha=0, solver="lbfgs", tol=1e-10),
            sx.GeneralizedLinearModel("bernoulli"),
            sx.TableClassifier(sx.LogisticRegression(alpha=0)),
        )
    ]
    for table in tables[1:]:
        assert table.names == tables[0].names
        assert list(table.columns) == list(tables[0].columns)
        for name, column in table.columns.items():
            assert_allclose(column, tables[0][name], rtol=1e-6, atol=1e-9)
        assert table.facts["N"] == N
        assert table.facts["log likelihood"] == pytest.approx(tables[0].facts["log likelihood"], rel=1e-9)


@pytest.mark.parametrize("y", [BINARY, CLASSES], ids=["two classes", "three classes"])
def test_with_a_prior_there_is_no_test_but_a_posterior(y):
    scale = np.std(X, axis=0)
    Z = (X - X.mean(axis=0)) / scale
    ours = sx.LogisticRegression(alpha=4.0).fit(Z, y).summary()
    prior = sx.Gaussian(0.5, intercept_scale=1e4)
    posterior = sx.BayesianLogisticRegression(prior, approximation="laplace", standardize=False, tune=None).fit(Z, y)
    expected = posterior.summary()
    assert list(ours.columns) == ["coefficient", "standard_error", "lower", "upper", "probability_of_sign"]
    for name, column in expected.columns.items():
        assert_allclose(ours[name], column, rtol=1e-4, atol=1e-5)
    assert "credible" in ours.title
    assert set(ours.facts) == {"N"}


def test_levels_of_a_category_are_identified_relative_to_their_average():
    """Indicators of all levels are collinear with the intercept, but differences between levels are identified."""
    pd = pytest.importorskip("pandas")
    city = np.array(["a", "b", "c"])[rng.integers(0, 3, N)]
    frame = pd.DataFrame({"x": X[:, 0], "city": city})
    with pytest.warns(sx.exceptions.CollinearWarning):
        table = sx.TableClassifier(sx.LogisticRegression(alpha=0)).fit(frame, BINARY).summary()
    dummies = np.column_stack([np.ones(N), X[:, 0], city == "b", city == "c"]).astype(float)
    result = sm.Logit(BINARY, dummies).fit(**TIGHT)
    shares = np.array([(city == level).mean() for level in "abc"])
    levels = np.array([[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)
    R = np.vstack([[1, 0, *shares[1:]], [0, 1, 0, 0], levels - shares @ levels])
    at = [table.names.index(name) for name in ("intercept", "x", "city=a", "city=b", "city=c")]
    assert_allclose(table.coefficient[at], R @ result.params, rtol=1e-6, atol=1e-8)
    assert_allclose(table.standard_error[at], np.sqrt(np.diag(R @ result.cov_params() @ R.T)), rtol=1e-6)


def test_saved_models_and_copies_have_the_same_table(tmp_path):
    model = sx.LogisticRegression(alpha=0).fit(X, CLASSES)
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    assert str(again.summary()) == str(model.summary())


def test_batches_count_all_rows():
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0))
    for rows in np.split(np.arange(N), 2):
        model.partial_fit(X[rows], BINARY[rows])
    assert model.summary().facts["N"] == N


@pytest.mark.parametrize("model", [sx.Perceptron(), sx.LinearDiscriminantAnalysis(), sx.LeastSquaresClassifier()])
@pytest.mark.filterwarnings("ignore")
def test_other_models_say_why_they_have_none(model):
    with pytest.raises(AttributeError, match="has no summary: "):
        model.fit(X, BINARY).summary()
    assert not hasattr(model, "summary")


# Tests, and profile intervals


def log_likelihood(y, columns, offset):
    """Maximum of the log likelihood of a model with an offset for each class, by BFGS."""
    K = offset.shape[1]

    def loss(w):
        a = offset + np.column_stack([np.zeros(len(y)), columns @ w.reshape(K - 1, -1).T])
        P = special.softmax(a, axis=1)
        slope = P - np.eye(K)[y]
        value = -(a[np.arange(len(y)), y] - special.logsumexp(a, axis=1)).sum()
        return value, (slope[:, 1:].T @ columns).ravel()

    start = np.zeros((K - 1) * columns.shape[1])
    return -optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).fun


@pytest.mark.parametrize("y", [BINARY, np.unique(CLASSES, return_inverse=True)[1]], ids=["two", "three"])
def test_a_likelihood_ratio_test_leaves_columns_out(y):
    model, Z = sx.LogisticRegression(alpha=0).fit(X, y), (WITH_ONE - [0, 0, 20, -1]) / [1, 1, 2, 0.2]
    zero = np.zeros((N, y.max() + 1))
    full, less = log_likelihood(y, Z, zero), log_likelihood(y, Z[:, :2], zero)
    found = model.test(["x1", "x2"])
    assert found.statistic == pytest.approx(2 * (full - less), rel=1e-6)
    assert found.degrees_of_freedom == 2 * y.max()
    for method in ("wald", "score"):
        assert model.test(["x1", "x2"], method=method).statistic == pytest.approx(found.statistic, rel=0.3)


def test_a_wald_test_of_all_classes_equals_that_of_statsmodels():
    result = sm.MNLogit(np.unique(CLASSES, return_inverse=True)[1], WITH_ONE).fit(**TIGHT)
    R = np.kron(np.eye(2), np.eye(4)[1:3])
    gap, cov = R @ result.params.T.ravel(), R @ np.asarray(result.cov_params()) @ R.T
    found = sx.LogisticRegression(alpha=0).fit(X, CLASSES).test(["x0", "x1"], method="wald")
    assert found.statistic == pytest.approx(gap @ np.linalg.solve(cov, gap), rel=1e-6)


def test_a_hypothesis_may_have_values():
    model = sx.GeneralizedLinearModel("bernoulli").fit(X, BINARY)
    center, error = model.coef_[0], model.standard_errors_[0]
    found = model.test({"x0": center + 2 * error}, method="wald")
    assert found.statistic == pytest.approx(4.0, rel=1e-9)
    assert f"x0 = {center + 2 * error:g}" in str(found)
    result = sm.GLM(BINARY, WITH_ONE, family=sm.families.Binomial()).fit(tol=1e-13)
    wald = result.wald_test(np.array([[0.0, 1.0, -1.0, 0.0]]), scalar=True)
    equal = model.test("x0 = x1", method="wald")
    assert equal.statistic == pytest.approx(float(wald.statistic), rel=1e-6)
    assert "test of x0 - x1 = 0" in str(equal)
    few = sm.GLM(BINARY, np.column_stack([np.ones(N), X[:, 0] + X[:, 1], X[:, 2]]), family=sm.families.Binomial())
    assert model.test("x0 = x1").statistic == pytest.approx(2 * (result.llf - few.fit(tol=1e-13).llf), rel=1e-6)
    assert model.test({"x0": float(center)}).statistic == pytest.approx(0.0, abs=1e-8)
    for wrong in (True, {"x0": "much"}, np.eye(4)[:2]):
        with pytest.raises(ValueError, match="columns="):
            model.test(wrong)
    with pytest.raises(ValueError, match="2 coefficients"):
        sx.LogisticRegression(alpha=0).fit(X, CLASSES).test({"x0": 0.1})


@pytest.mark.parametrize("contrast", ["middle", "top"])
def test_profile_intervals_of_classes_end_where_the_deviance_reaches_its_quantile(contrast):
    codes, Z = np.unique(CLASSES[:200], return_inverse=True)[1], (WITH_ONE[:200] - [0, 0, 20, -1]) / [1, 1, 2, 0.2]
    model = sx.LogisticRegression(alpha=0, tol=1e-11).fit(Z[:, 1:], codes)
    table = model.summary(0, level=0.9, interval="profile")
    k = ["low", "middle", "top"].index(contrast)
    row = table.names.index(f"{k}: x0")
    full, center = log_likelihood(codes, Z, np.zeros((200, 3))), table.coefficient[row]

    def height(b):
        """The deviance if the weight of x0 in this class is b, and that of the reference class 0 is 0."""

        def loss(w):
            W = np.zeros((3, 4))
            W[1:][free] = w
            W[k, 1] = b
            a = Z @ W.T
            slope = special.softmax(a, axis=1) - np.eye(3)[codes]
            return -(a[np.arange(200), codes] - special.logsumexp(a, axis=1)).sum(), (slope.T @ Z)[1:][free]

        free = np.ones((2, 4), dtype=bool)
        free[k - 1, 1] = False
        held = optimize.minimize(loss, np.zeros(7), jac=True, method="BFGS", options={"gtol": 1e-10}).fun
        return 2 * (held + full) - stats.chi2.ppf(0.9, 1)

    for end, side in ((table.lower[row], -1), (table.upper[row], 1)):
        bracket = sorted([center, center + side * 3 * table.standard_error[row]])
        assert end == pytest.approx(optimize.brentq(height, *bracket, xtol=1e-10), abs=1e-5)


def test_restrictions_hold_in_the_units_of_undone_class_weights():
    """Undone class weights shift the intercept of the table; tests refer to the shifted intercept."""
    weight = {0: 1.0, 1: 3.0}
    model = sx.LogisticRegression(alpha=0, class_weight=weight, prior_correction=True).fit(X, BINARY)
    plain = sx.LogisticRegression(alpha=0, class_weight=weight).fit(X, BINARY)
    shifted = model.summary()
    assert_allclose(shifted.coefficient[0], plain.summary().coefficient[0] - np.log(3.0))
    by_hand = sx.GeneralizedLinearModel("bernoulli").fit(
        X, BINARY, np.where(BINARY, 3.0, 1.0), offset=np.full(N, np.log(3.0))
    )
    assert model.test("intercept").statistic == pytest.approx(by_hand.test("intercept").statistic, rel=1e-6)


def test_a_prior_leaves_no_test():
    model = sx.LogisticRegression(alpha=1).fit(X, BINARY)
    for call in (lambda: model.test("x0"), lambda: model.summary(interval="profile")):
        with pytest.raises(ValueError, match="count the prior as evidence"):
            call()
    bayesian = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, BINARY)
    with pytest.raises(ValueError, match="no profile intervals"):
        bayesian.summary(interval="profile")


# Separation

GROUP = np.r_[np.zeros(20), np.ones(10)]
OF_GROUP = np.r_[np.tile([0, 1], 10), np.ones(10, dtype=int)]  # every row of the group is a 1
SHIFTED = stats.norm.isf(0.025)


def supremum(y, columns, offset=None):
    """Log likelihood at weights so large that it no longer rises."""
    family = sm.families.Binomial() if y.max() == 1 else sm.families.Poisson()
    with np.errstate(all="ignore"):
        return sm.GLM(y, columns, family=family, offset=offset).fit(maxiter=60, tol=1e-13).llf


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.SeparationWarning")
@pytest.mark.filterwarnings("ignore:.*[Ss]eparation")
@pytest.mark.parametrize(
    ("model", "y", "side"),
    [
        (sx.GeneralizedLinearModel("bernoulli"), OF_GROUP, 1.0),
        (sx.LogisticRegression(alpha=0), OF_GROUP, 1.0),
        (sx.TableClassifier(sx.LogisticRegression(alpha=0)), OF_GROUP, 1.0),
        (sx.GeneralizedLinearModel("poisson"), np.r_[np.arange(20) % 4, np.zeros(10, dtype=int)], -1.0),
    ],
    ids=["GLM", "logistic", "table", "counts"],
)
def test_a_separated_coefficient_is_infinite_with_a_profile_limit_and_a_ratio_test(model, y, side):
    x = np.linspace(-1.0, 1.0, 30) ** 3
    X = np.column_stack([x, GROUP])
    model.fit(X, y)
    table = model.summary()
    assert (
        model.separation_.status in ("complete", "quasi-complete") if not isinstance(model, sx.TableClassifier) else 1
    )
    at = table.names.index("x1")
    assert table.coefficient[at] == side * np.inf
    assert np.isnan(table.standard_error[at])
    assert np.isnan(table.z[at])
    assert (table.upper if side > 0 else table.lower)[at] == side * np.inf
    kept = GROUP == 0  # the rows of the group are fitted perfectly in the limit
    top = supremum(y[kept], sm.add_constant(x[kept], prepend=False))
    one = np.column_stack([x, np.ones(30)])
    assert table.p[at] == pytest.approx(stats.chi2.sf(2 * (top - supremum(y, one)), 1), rel=1e-5)

    def height(b):
        return 2 * (top - supremum(y, one, b * GROUP)) - SHIFTED**2

    end = (table.lower if side > 0 else table.upper)[at]
    assert end == pytest.approx(optimize.brentq(height, end - 1, end + 1), abs=1e-4)
    family = sm.families.Binomial() if side > 0 else sm.families.Poisson()
    rest = sm.GLM(y[kept], sm.add_constant(x[kept], prepend=False), family=family).fit(tol=1e-12)
    for name, j in (("x0", 0), ("intercept", 1)):  # other coefficients are finite
        row = table.names.index(name)
        assert_allclose(table.coefficient[row], rest.params[j], rtol=1e-5)
        assert_allclose(table.standard_error[row], rest.bse[j], rtol=1e-5)
    assert "A hyperplane separates" in str(table)
    assert "inf" in str(table)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.SeparationWarning")
def test_only_separated_contrasts_of_classes_are_infinite():
    codes = np.array(["a", "b", "c"])[np.r_[np.arange(60) % 3, np.arange(20) % 2]]  # no row of the group is a c
    group = np.r_[np.zeros(60), np.ones(20)]
    X = np.column_stack([group, np.cos(np.arange(80.0))])
    model = sx.LogisticRegression(alpha=0).fit(X, codes)
    against_a, against_c = model.summary("a"), model.summary("c")
    found = dict(zip(against_a.names, against_a.coefficient, strict=True))
    assert found["c: x0"] == -np.inf
    assert all(np.isfinite(value) for name, value in found.items() if name != "c: x0")
    assert np.isfinite(against_a.upper[against_a.names.index("c: x0")])
    found = dict(zip(against_c.names, against_c.coefficient, strict=True))
    assert found["a: x0"] == found["b: x0"] == np.inf
    mean = model.summary()
    signs = [mean.coefficient[mean.names.index(f"{label}: x0")] for label in "abc"]
    assert signs == [np.inf, np.inf, -np.inf]


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.SeparationWarning")
def test_a_coefficient_for_which_others_make_up_may_have_any_value():
    x = np.arange(-10.0, 10.0) + 0.5
    X = np.column_stack([x, np.cos(7 * x)])
    table = sx.LogisticRegression(alpha=0).fit(X, x > 0).summary()
    row = dict(zip(table.names, zip(table.coefficient, table.lower, table.upper, table.p, strict=True), strict=True))
    assert row["x0"][0] == np.inf
    assert np.isnan(row["x1"][0])
    assert row["x1"][1:] == (-np.inf, np.inf, 1.0)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.SeparationWarning")
def test_a_saved_model_without_rows_does_not_show_a_finite_estimate(tmp_path):
    model = sx.LogisticRegression(alpha=0).fit(GROUP[:, None], OF_GROUP)
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    with pytest.raises(ValueError, match="need the training rows"):
        again.summary()


def test_with_a_prior_nothing_is_infinite():
    table = sx.LogisticRegression(alpha=1).fit(GROUP[:, None], OF_GROUP).summary()
    assert np.isfinite(table.coefficient).all()


# Columns of a table


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.CollinearWarning")
@pytest.mark.parametrize("y", [BINARY, CLASSES], ids=["two classes", "three classes"])
def test_a_category_is_tested_with_all_its_levels(y):
    """Its levels have one degree of freedom less than their number, for each class but one."""
    pd = pytest.importorskip("pandas")
    city = np.array(["a", "b", "c", "d"])[np.random.default_rng(1).integers(0, 4, N)]
    model = sx.TableClassifier(sx.LogisticRegression(alpha=0, tol=1e-10))
    model.fit(pd.DataFrame({"x": X[:, 0], "city": city}), y)
    codes = np.unique(y, return_inverse=True)[1]
    few = np.column_stack([np.ones(N), X[:, 0]])
    full = np.column_stack([few, city == "b", city == "c", city == "d"]).astype(float)
    zero = np.zeros((N, codes.max() + 1))
    expected = 2 * (log_likelihood(codes, full, zero) - log_likelihood(codes, few, zero))
    found = model.test("city")
    assert found.degrees_of_freedom == 3 * codes.max()
    assert found.statistic == pytest.approx(expected, rel=1e-5)
    assert str(found).startswith("likelihood-ratio test of city = 0: chi2(")
    result = sm.MNLogit(codes, full).fit(**TIGHT)
    R = np.kron(np.eye(codes.max()), np.eye(5)[2:])
    gap, cov = R @ np.ravel(np.asarray(result.params).T), R @ np.asarray(result.cov_params()) @ R.T
    assert model.test("city", method="wald").statistic == pytest.approx(gap @ np.linalg.solve(cov, gap), rel=1e-5)
    with pytest.raises(ValueError, match="Did you mean 'city'"):
        model.test("cit")


def test_a_table_classifier_with_a_posterior_has_no_test():
    pd = pytest.importorskip("pandas")
    model = sx.TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0)))
    model.fit(pd.DataFrame({"x": X[:, 0]}), BINARY)
    with pytest.raises(AttributeError, match=r"has no test.*LogisticRegression\(alpha=0\)"):
        model.test("x")


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.SeparationWarning")
def test_quasi_families_test_infinite_coefficients_by_f():
    y = np.r_[np.arange(20) % 4, np.zeros(10, dtype=int)]
    model = sx.GeneralizedLinearModel("poisson", dispersion="pearson").fit(GROUP[:, None], y)
    table = model.summary(test="likelihood-ratio")
    assert table.coefficient[1] == -np.inf
    assert table.p[1] == pytest.approx(model.test("x0").p_value, rel=1e-9)
    assert table.F[1] == pytest.approx(model.test("x0").statistic, rel=1e-9)
    assert np.isnan(model.summary().t[1])


def test_wrong_labels_make_separated_coefficients_finite():
    x = np.r_[np.linspace(-3, -0.2, 60), np.linspace(0.2, 3, 60)][:, None]
    model = sx.LabelNoiseLogisticRegression(noise=0.05, alpha=0.5).fit(x, x[:, 0] > 0)
    assert model.separation_
    assert np.isfinite(model.summary().coefficient).all()


@pytest.mark.parametrize(
    ("model", "where"),
    [
        (sx.Calibrated(sx.LogisticRegression()), "estimator_"),
        (sx.DecisionRule(sx.LogisticRegression(), costs=[[0, 1], [5, 0]]), "estimator_"),
        (sx.OneVsRest(sx.LogisticRegression()), "estimators_"),
        (sx.OneVsOne(sx.LogisticRegression()), "estimators_"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("method", ["summary", "with_covariance"])
def test_wrappers_say_where_the_model_with_the_coefficients_is(model, where, method):
    assert not hasattr(model, method)
    with pytest.raises(AttributeError, match=f"{type(model).__name__} has no {method}: .* {where}"):
        getattr(model, method)


def test_an_average_of_models_says_why_it_is_not_explained():
    average = sx.ModelAverage([sx.BayesianLogisticRegression()])
    for method in ("explain", "summary"):
        with pytest.raises(AttributeError, match="models_"):
            getattr(average, method)


def test_columns_of_a_table_have_no_single_value_to_test():
    X = np.random.default_rng(0).normal(size=(100, 2))
    table, y = pd.DataFrame(X, columns=["age", "income"]), X[:, 0] + np.random.default_rng(1).logistic(size=100) > 0
    model = sx.TableClassifier(sx.LogisticRegression(alpha=0)).fit(table, y)
    for columns in ({"age": 0.1}, "age = income"):
        with pytest.raises(ValueError, match="A column may have several weights"):
            model.test(columns)
    assert model.test("age").p_value < 0.05


def test_remedies_for_tests_of_robust_and_saved_models_work():
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = X[:, 0] + np.random.default_rng(1).logistic(size=100) > 0
    model = sx.LogisticRegression(alpha=0, weights="probability").fit(X, y, np.full(100, 2.0))
    with pytest.raises(ValueError, match="Use 'wald'[.]$"):
        model.test("x0", method="likelihood-ratio")
    robust = sx.LogisticRegression(alpha=0).fit(X, y).with_covariance("HC1")
    with pytest.raises(ValueError, match="or with_covariance[(]'nonrobust'[)][.]$"):
        robust.test("x0", method="score")
    with pytest.raises(ValueError, match="other covariances need the training rows"):
        pickle.loads(pickle.dumps(robust)).with_covariance("HC0")
