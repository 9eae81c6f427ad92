"""Generalised linear models are compared with statsmodels, scikit-learn and brute force."""

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.linear_model import GammaRegressor, PoissonRegressor, Ridge

from separatrix.discriminative import GeneralizedLinearModel
from separatrix.exceptions import CollinearWarning

sm = pytest.importorskip("statsmodels.api")

pytestmark = [
    pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning"),
    # statsmodels divides by zero and overflows on its way to correct results
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

CASES = ["gaussian-identity", "gaussian-log", "bernoulli-logit", "bernoulli-probit", "bernoulli-cloglog"]
CASES += ["poisson-log", "gamma-inverse", "gamma-log"]
CONVERGED = 1e-7  # accuracy of statsmodels: it does not centre columns, so its normal equations lose digits


def theirs_family(case):
    links, families = sm.families.links, sm.families
    return {
        "gaussian-identity": families.Gaussian(),
        "gaussian-log": families.Gaussian(links.Log()),
        "bernoulli-logit": families.Binomial(),
        "bernoulli-probit": families.Binomial(links.Probit()),
        "bernoulli-cloglog": families.Binomial(links.CLogLog()),
        "poisson-log": families.Poisson(),
        "gamma-inverse": families.Gamma(),
        "gamma-log": families.Gamma(links.Log()),
    }[case]


def problem(case, n=200):
    """Return columns of three different sizes, one far from zero, and targets drawn from the model."""
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(n, 3))
    offset = 0.3 * rng.normal(size=n)
    a = Z @ [0.4, -0.3, 0.0] + offset
    family = case.split("-")[0]
    if family == "gaussian":
        y = (np.exp(a) if case.endswith("log") else a) + 0.4 * rng.normal(size=n)
    elif family == "bernoulli":
        y = (rng.random(n) < 1 / (1 + np.exp(-a))).astype(float)
    elif family == "poisson":
        y = rng.poisson(np.exp(a)).astype(float)
    else:
        y = rng.gamma(2.0, (np.exp(a) if case.endswith("log") else 1 / (4 + a)) / 2)
    return Z * [1.0, 20.0, 0.1] + [0.0, 300.0, 2.0], y, rng.integers(1, 4, n).astype(float), offset


def ours(case, X, y, weight=None, offset=None, **settings):
    return GeneralizedLinearModel(*case.split("-"), tol=1e-11, **settings).fit(X, y, weight, offset=offset)


def theirs(case, X, y, weight=None, offset=None, constant=True):
    exog = np.column_stack([X, np.ones(len(X))]) if constant else X
    model = sm.GLM(y, exog, family=theirs_family(case), freq_weights=weight, offset=offset)
    with np.errstate(all="ignore"):
        use_t = case.split("-")[0] in ("gaussian", "gamma")
        return model.fit(tol=1e-12, tol_criterion="params", maxiter=300, use_t=use_t)


def assert_same_fit(model, result, rtol):
    """Compare the statistics of the whole fit."""
    N, P, llf = float(result.model.wnobs), result.df_model + 1, result.llf
    if model.family == "gaussian":  # statsmodels has the variance of maximum likelihood only with an identity link
        llf = N * stats.norm(scale=np.sqrt(result.deviance / N)).logpdf(np.sqrt(result.deviance / N))
    for mine, other in [
        (model.deviance_, result.deviance),
        (model.null_deviance_, result.null_deviance),
        (model.log_likelihood_, llf),
        (model.aic_, -2 * llf + 2 * P),
        (model.bic_, -2 * llf + np.log(N) * P),
    ]:
        assert mine == pytest.approx(other, rel=rtol)
    assert model.degrees_of_freedom_ == result.df_resid


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
@pytest.mark.parametrize("case", CASES)
def test_collinear_columns_have_the_fit_of_the_pseudo_inverse(case):
    """statsmodels inverts the information by a pseudo-inverse, and counts the rank as degrees of freedom."""
    X, y, weight, offset = problem(case)
    wide = np.column_stack([X[:, 0], np.full(len(X), 3.0), X[:, 1:], X[:, 0] - 2 * X[:, 2] + 1])
    with pytest.warns(CollinearWarning, match="'x1' is constant; 'x4' is a combination of 'x0' and 'x3'") as caught:
        model = ours(case, wide, y, weight, offset)
    assert len(caught) == 1
    assert_same_fit(model, theirs(case, wide, y, weight, offset), CONVERGED)
    few, alone = [0, 2, 3, 5], ours(case, X, y, weight, offset)
    np.testing.assert_allclose(model.coef_[[1, 4]], 0.0)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_)[few], np.append(alone.coef_, alone.intercept_))
    np.testing.assert_allclose(model.covariance_[np.ix_(few, few)], alone.covariance_)
    assert np.isnan(model.standard_errors_[[1, 4]]).all()
    for method in ("predict", "predict_interval"):
        got, want = getattr(model, method)(wide, offset=offset), getattr(alone, method)(X, offset=offset)
        np.testing.assert_allclose(got, want, rtol=1e-9)
    for options in ({}, {"interval": "profile", "test": "likelihood-ratio"}):
        table, expected = model.summary(**options), alone.summary(**options)
        for name, column in table.to_dict().items():
            np.testing.assert_allclose(column[[0, 1, 3, 4]], expected.to_dict()[name], rtol=1e-5)
        assert "Coefficients without a standard error" in str(table)
    assert model.test(["x0", "x3"]).p_value == pytest.approx(alone.test(["x0", "x2"]).p_value, rel=1e-6)
    with pytest.raises(ValueError, match="Column 'x4' is a combination of other columns"):
        model.test("x4")


@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_all_results_of_a_fit(case, weighted, with_offset):
    X, y, weight, offset = problem(case)
    given = {"weight": weight if weighted else None, "offset": offset if with_offset else None}
    model, result = ours(case, X, y, **given), theirs(case, X, y, **given)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), result.params, rtol=CONVERGED, atol=1e-8)
    np.testing.assert_allclose(model.standard_errors_, result.bse, rtol=CONVERGED)
    np.testing.assert_allclose(model.covariance_, result.cov_params(), rtol=1e-5, atol=1e-9)
    assert_same_fit(model, result, CONVERGED)
    assert model.pearson_ == pytest.approx(result.pearson_chi2, rel=CONVERGED)
    assert model.dispersion_ == pytest.approx(result.scale, rel=CONVERGED)
    table = model.summary(level=0.9)
    statistic = np.roll(table["t" if result.use_t else "z"], -1)  # statsmodels has the constant last
    np.testing.assert_allclose(statistic, result.tvalues, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(np.roll(table["p"], -1), result.pvalues, rtol=1e-4, atol=1e-12)
    limits = np.roll(np.column_stack([table.lower, table.upper]), -1, axis=0)
    np.testing.assert_allclose(limits, result.conf_int(0.1), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.predict(X, offset=given["offset"]), result.fittedvalues, rtol=1e-6)


@pytest.mark.parametrize("case", ["gaussian-log", "bernoulli-logit", "poisson-log", "gamma-log", "gamma-inverse"])
def test_without_an_intercept(case):
    X, y, weight, offset = problem(case)
    X = X / [1.0, 20.0, 0.1]
    model = ours(case, X, y, weight, offset, fit_intercept=False)
    result = theirs(case, X, y, weight, offset, constant=False)
    np.testing.assert_allclose(model.coef_, result.params, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.standard_errors_, result.bse, rtol=1e-6)
    assert model.intercept_ == 0.0


@pytest.mark.parametrize("case", CASES)
def test_likelihood_ratio_and_score_tests(case):
    X, y, weight, offset = problem(case)
    model = ours(case, X, y, weight, offset)
    full = theirs(case, X, y, weight, offset)
    few = theirs(case, X[:, [0]], y, weight, offset)
    ratio = model.test(["x1", "x2"])
    expected = (few.deviance - full.deviance) / full.scale
    if full.use_t:
        assert ratio.statistic == pytest.approx(expected / 2, rel=1e-7)
        assert ratio.p_value == pytest.approx(stats.f.sf(expected / 2, 2, full.df_resid), rel=1e-6)
    else:
        assert ratio.statistic == pytest.approx(2 * (full.llf - few.llf), rel=1e-7)
        assert ratio.p_value == pytest.approx(stats.chi2.sf(expected, 2), rel=1e-6)
    often = np.repeat(np.arange(len(y)), weight.astype(int))  # the score test of statsmodels does not take weights
    few = theirs(case, X[often][:, [0]], y[often], offset=offset[often])
    with np.errstate(all="ignore"):
        statistic, p_value = few.score_test(exog_extra=X[often][:, 1:], observed=False)[:2]
    score = model.test(["x1", "x2"], method="score")
    assert score.statistic == pytest.approx(np.asarray(statistic).item(), rel=1e-5)
    assert score.p_value == pytest.approx(np.asarray(p_value).item(), rel=1e-4)
    with np.errstate(all="ignore"):
        wald = full.wald_test(np.eye(4)[1:3], use_f=full.use_t, scalar=True)
    found = model.test(["x1", "x2"], method="wald")
    assert found.statistic == pytest.approx(float(wald.statistic), rel=1e-5)
    assert found.p_value == pytest.approx(float(wald.pvalue), rel=1e-4)


@pytest.mark.parametrize("case", ["poisson-log", "bernoulli-logit"])
def test_likelihood_ratio_tests_drop_each_coefficient_and_the_intercept(case):
    X, y, weight, offset = problem(case)
    table = ours(case, X, y, weight, offset).summary(test="likelihood-ratio")
    full = theirs(case, X, y, weight, offset)
    columns = np.column_stack([X, np.ones(len(X))])
    dropped = [theirs(case, np.delete(columns, j, axis=1), y, weight, offset, constant=False) for j in range(4)]
    expected = [2 * (full.llf - few.llf) for few in dropped]
    np.testing.assert_allclose(np.roll(table["chi2"], -1), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_binomial_proportions_with_trials_and_successes_with_failures(link):
    X, _, _, _ = problem("poisson-log", n=60)
    rng = np.random.default_rng(0)
    trials = rng.integers(1, 30, 60)
    successes = rng.binomial(trials, 0.2 + 0.6 * (X[:, 0] > 0))
    both = np.column_stack([successes, trials - successes]).astype(float)
    result = theirs(f"bernoulli-{link}", X, both)
    shares = GeneralizedLinearModel("binomial", link).fit(X, successes / trials, trials)
    counts = GeneralizedLinearModel("binomial", link).fit(X, both)
    for model in (shares, counts):
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), result.params, rtol=CONVERGED)
        np.testing.assert_allclose(model.standard_errors_, result.bse, rtol=CONVERGED)
        assert_same_fit(model, result, 1e-9)


def test_rates_weighted_by_exposure_are_counts_with_an_exposure():
    X, _, _, _ = problem("poisson-log")
    rng = np.random.default_rng(0)
    exposure = rng.uniform(0.1, 9.0, len(X))
    y = rng.poisson(exposure * np.exp(0.3 * X[:, 0])).astype(float)
    model = GeneralizedLinearModel("poisson").fit(X, y, exposure=exposure)
    exog = np.column_stack([X, np.ones(len(X))])
    result = sm.GLM(y, exog, family=sm.families.Poisson(), exposure=exposure).fit(tol=1e-13)
    rates = GeneralizedLinearModel("poisson").fit(X, y / exposure, exposure)
    var_weights = sm.GLM(y / exposure, exog, family=sm.families.Poisson(), var_weights=exposure).fit(tol=1e-13)
    np.testing.assert_allclose(model.coef_, result.params[:3], rtol=1e-7)
    np.testing.assert_allclose(rates.coef_, model.coef_, rtol=1e-7)
    np.testing.assert_allclose(model.standard_errors_, result.bse, rtol=1e-7)
    np.testing.assert_allclose(rates.standard_errors_, var_weights.bse, rtol=1e-7)
    assert rates.deviance_ == pytest.approx(var_weights.deviance)


@pytest.mark.parametrize("case", ["poisson-log", "gamma-inverse", "gamma-log", "bernoulli-cloglog"])
def test_profile_intervals_end_where_the_deviance_reaches_its_quantile(case):
    X, y, _, offset = problem(case, n=60)
    model, full = ours(case, X, y, offset=offset), theirs(case, X, y, offset=offset)
    table = model.summary(level=0.9, interval="profile")
    quantile = stats.t.ppf(0.95, full.df_resid) if full.use_t else stats.norm.ppf(0.95)

    def height(b):
        held = theirs(case, np.delete(X, 0, axis=1), y, offset=offset + b * X[:, 0])
        return (held.deviance - full.deviance) / full.scale - quantile**2

    center, error = full.params[0], full.bse[0]
    for end, side in [(table.lower[1], -1.0), (table.upper[1], 1.0)]:
        bracket = sorted([center, center + side * 1.3 * quantile * error])
        assert end == pytest.approx(optimize.brentq(height, *bracket, xtol=1e-9 * error), abs=1e-5 * error)


@pytest.mark.parametrize("alpha", [0.03, 5.0])
def test_penalised_fits_agree_with_scikit_learn(alpha):
    for case, kind in {"poisson-log": PoissonRegressor, "gamma-log": GammaRegressor}.items():
        X, y, weight, _ = problem(case)
        model = GeneralizedLinearModel(*case.split("-"), alpha=alpha).fit(X, y, weight)
        # the objective of scikit-learn is half the mean deviance
        peer = kind(alpha=alpha / weight.sum(), tol=1e-12, max_iter=9999, solver="newton-cholesky").fit(X, y, weight)
        np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-5, atol=1e-9)
        assert model.score(X, y, weight) == pytest.approx(peer.score(X, y, weight), rel=1e-7)
    X, y, weight, _ = problem("gaussian-identity")
    model = GeneralizedLinearModel(alpha=alpha).fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, Ridge(alpha).fit(X, y, weight).coef_, rtol=1e-7)
