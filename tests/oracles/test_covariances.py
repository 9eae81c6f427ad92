# SPDX-License-Identifier: BSD-3-Clause
"""Robust covariances are compared with statsmodels, and with their formulas."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

import separatrix as sx
from separatrix.exceptions import DataError

sm = pytest.importorskip("statsmodels.api")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

N = 400
rng = np.random.default_rng(8)
CITY, YEAR = rng.integers(0, 30, N), rng.integers(0, 12, N)
X = rng.normal([0.0, 20.0], [1.0, 3.0], (N, 2)) + rng.normal(size=(30, 1))[CITY]
A = 0.6 * X[:, 0] - 0.1 * (X[:, 1] - 20) + rng.normal(size=30)[CITY] + 0.5 * rng.normal(size=12)[YEAR]
BINARY = (rng.random(N) < special.expit(A)).astype(int)
CODES = np.argmax(np.column_stack([A, 0.3 * X[:, 0], -A]) + rng.gumbel(size=(N, 3)), axis=1)
COUNT = rng.poisson(np.exp(0.3 * A)).astype(float)
REAL = A + np.abs(X[:, 0]) * rng.normal(size=N)
WITH_ONE = np.column_stack([np.ones(N), X])
TIGHT = {"disp": 0, "method": "newton", "tol": 1e-11, "maxiter": 100}
KINDS = {
    "HC0": ("HC0", {}),
    "HC1": ("HC1", {}),
    "cluster": (("cluster", CITY), {"groups": CITY}),
    "two clusters": (("cluster", CITY, YEAR), {"groups": np.column_stack([CITY, YEAR])}),
}


FACTOR = np.sqrt(N / (N - 3))  # of HC1, which statsmodels applies to least squares only


def theirs(kind):
    return {"cov_type": kind} if kind in ("HC0", "HC1") else {"cov_type": "cluster", "cov_kwds": KINDS[kind][1]}


def assert_same_errors(table, params, errors, rtol=1e-7):
    assert_allclose(table.coefficient, params, rtol=1e-6, atol=1e-8)
    assert_allclose(table.standard_error, errors, rtol=rtol)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["logit", "probit", "multinomial"])
def test_classes(family, kind):
    model, fitted = {
        "logit": (sx.LogisticRegression(alpha=0, tol=1e-11), sm.Logit),
        "probit": (sx.ProbitRegression(alpha=0, tol=1e-11), sm.Probit),
        "multinomial": (sx.LogisticRegression(alpha=0, tol=1e-11), sm.MNLogit),
    }[family]
    y = CODES if family == "multinomial" else BINARY
    with np.errstate(all="ignore"):
        result = fitted(y, WITH_ONE).fit(**TIGHT, **theirs(kind))
    params, errors = (np.ravel(np.asarray(each).T) for each in (result.params, result.bse))
    errors = errors * (np.sqrt(N / (N - len(params))) if kind == "HC1" else 1.0)
    robust = model.fit(X, y).with_covariance(KINDS[kind][0])
    table = robust.summary(0)
    assert_same_errors(table, params, errors)
    z = params / errors
    assert_allclose(table.p, 2 * stats.norm.sf(np.abs(z)), rtol=1e-5, atol=1e-12)
    assert_allclose(table.upper, params + stats.norm.isf(0.025) * errors, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["poisson", "bernoulli", "gaussian"])
def test_generalised_linear_models(family, kind):
    y = {"poisson": COUNT, "bernoulli": BINARY, "gaussian": REAL}[family]
    kinds = {"poisson": sm.families.Poisson(), "bernoulli": sm.families.Binomial(), "gaussian": sm.families.Gaussian()}
    if family == "gaussian":
        result = sm.OLS(y, WITH_ONE).fit(**theirs(kind), use_t=True)
    else:
        result = sm.GLM(y, WITH_ONE, family=kinds[family]).fit(tol=1e-13, tol_criterion="params", **theirs(kind))
    robust = sx.GeneralizedLinearModel(family, tol=1e-12).fit(X, y).with_covariance(KINDS[kind][0])
    table = robust.summary()
    factor = FACTOR if kind == "HC1" and family != "gaussian" else 1.0
    assert_same_errors(table, result.params, factor * result.bse)
    assert_allclose(robust.standard_errors_, np.roll(factor * result.bse, -1), rtol=1e-7)
    if factor > 1:
        return
    assert_allclose(table.p, result.pvalues, rtol=1e-5, atol=1e-12)
    wald = result.wald_test(np.eye(3)[1:], scalar=True, use_f=family == "gaussian")
    found = robust.test(["x0", "x1"])
    assert found.method == "wald"
    assert found.statistic == pytest.approx(float(wald.statistic), rel=1e-6)
    assert found.p_value == pytest.approx(float(wald.pvalue), rel=1e-5)


def test_hc3_of_least_squares():
    result = sm.OLS(REAL, WITH_ONE).fit(cov_type="HC3")
    table = sx.GeneralizedLinearModel().fit(X, REAL).with_covariance("HC3").summary()
    assert_allclose(table.standard_error, result.bse, rtol=1e-7)


def test_hc3_of_two_classes_divides_by_one_minus_the_leverage():
    result = sm.GLM(BINARY, WITH_ONE, family=sm.families.Binomial()).fit(tol=1e-13)
    p = result.fittedvalues
    B = np.linalg.inv(WITH_ONE.T @ (WITH_ONE * (p * (1 - p))[:, None]))
    leverage = p * (1 - p) * np.einsum("np,pq,nq->n", WITH_ONE, B, WITH_ONE)
    assert_allclose(leverage, result.get_influence().hat_matrix_diag, rtol=1e-6)
    U = WITH_ONE * ((BINARY - p) / (1 - leverage))[:, None]
    for model in (sx.LogisticRegression(alpha=0), sx.GeneralizedLinearModel("bernoulli")):
        table = model.fit(X, BINARY).with_covariance("HC3").summary()
        assert_allclose(table.standard_error, np.sqrt(np.diag(B @ U.T @ U @ B)), rtol=1e-7)


def test_hc3_of_classes_is_the_jackknife_of_single_newton_steps():
    few = slice(0, 60)
    model = sx.LogisticRegression(alpha=0, tol=1e-11).fit(X[few], CODES[few])
    P = model.predict_proba(X[few])
    Z, K = (WITH_ONE[few] - [0, 0, 20]) / [1, 1, 3], 3

    def information(rows):
        return sum(np.kron(np.diag(P[n]) - np.outer(P[n], P[n]), np.outer(Z[n], Z[n])) for n in rows)

    moves = []
    for n in range(60):
        score = np.kron(np.eye(K)[CODES[n]] - P[n], Z[n])
        moves.append(np.linalg.pinv(information(np.delete(np.arange(60), n)), rcond=1e-11) @ score)
    contrast = np.kron([-1.0, 1.0, 0.0], np.eye(3))
    expected = np.sqrt(np.diag(contrast @ np.transpose(moves) @ moves @ contrast.T))
    table = model.with_covariance("HC3").summary(0)
    assert_allclose(table.standard_error[1:3], expected[1:] / [1, 3], rtol=1e-6)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC3", "cluster"])
def test_a_weight_of_k_counts_as_k_rows(kind):
    weight = rng.integers(0, 4, N)
    often = np.repeat(np.arange(N), weight)
    for model, y in ((sx.LogisticRegression(alpha=0), CODES), (sx.GeneralizedLinearModel("poisson"), COUNT)):
        ours = model.fit(X, y, weight).with_covariance((kind, CITY) if kind == "cluster" else kind)
        repeated = sx.LogisticRegression(alpha=0) if y is CODES else sx.GeneralizedLinearModel("poisson")
        repeated = repeated.fit(X[often], y[often]).with_covariance((kind, CITY[often]) if kind == "cluster" else kind)
        assert_allclose(ours.summary().standard_error, repeated.summary().standard_error, rtol=1e-6)


def test_everything_that_needs_a_covariance_uses_it():
    plain = sx.GeneralizedLinearModel("bernoulli").fit(X, BINARY)
    robust, classes = plain.with_covariance(("cluster", CITY)), sx.LogisticRegression(alpha=0).fit(X, BINARY)
    assert_allclose(robust.coef_, plain.coef_)
    assert (robust.standard_errors_ > 1.05 * plain.standard_errors_).any()
    q = robust.weight_distribution_
    assert_allclose(q.covariance, robust.covariance_)
    limits = special.expit(q.functions(np.column_stack([X, np.ones(N)])).quantiles(np.array([0.025, 0.975])))
    assert_allclose(robust.predict_interval(X), limits, rtol=1e-9)
    assert_allclose(classes.with_covariance(("cluster", CITY)).weight_distribution_.covariance, q.covariance, rtol=1e-6)
    assert "clusters of 30 groups" in str(robust.summary())
    assert str(robust.with_covariance("nonrobust").summary()) == str(plain.summary())
    found = sx.effects.slopes(classes.with_covariance(("cluster", CITY)), X, variables="x0")
    before = sx.effects.slopes(classes, X, variables="x0")
    assert_allclose(found["estimate"], before["estimate"])
    assert abs(found["standard_error"][0] / before["standard_error"][0] - 1) > 0.01


def test_copies_keep_it_and_a_new_fit_forgets_it(tmp_path):
    for model in (sx.LogisticRegression(alpha=0), sx.GeneralizedLinearModel("bernoulli")):
        robust = model.fit(X, BINARY).with_covariance("HC1")
        expected = str(robust.summary())
        saved = sx.load(sx.save(robust, tmp_path / f"{type(model).__name__}.sx"))
        for other in (copy.deepcopy(robust), pickle.loads(pickle.dumps(robust)), saved):
            assert str(other.summary()) == expected
        assert saved.test("x0").method == "wald"
        plain = model.fit(X, BINARY).summary()
        assert "HC1" not in str(plain)
        assert "HC1" not in str(robust.fit(X, BINARY).summary())


def test_collinear_columns_have_no_errors():
    wide = np.column_stack([X, X[:, 0] - X[:, 1]])
    with pytest.warns(sx.exceptions.CollinearWarning):
        robust = sx.GeneralizedLinearModel("poisson").fit(wide, COUNT).with_covariance("HC0")
    table, alone = robust.summary(), sx.GeneralizedLinearModel("poisson").fit(X, COUNT).with_covariance("HC0").summary()
    assert_allclose(table.standard_error[:3], alone.standard_error, rtol=1e-6)
    assert np.isnan(table.standard_error[3])
    assert np.isnan(robust.covariance_[2]).all()


def test_rows_of_files_and_tables_have_the_same_clusters(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(city=[f"city {c}" for c in CITY], y=BINARY)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    inside = sx.LogisticRegression(alpha=0).fit(frame[["a", "b"]], BINARY).with_covariance(("cluster", frame["city"]))
    scan = sx.scan(tmp_path / "rows.csv", target="y", columns=["a", "b"])
    outside = sx.LogisticRegression(alpha=0).fit(scan).with_covariance(("cluster", "city"))
    table = sx.TableClassifier(sx.LogisticRegression(alpha=0)).fit(frame[["a", "b"]], BINARY)
    for other in (outside, table.with_covariance(("cluster", frame["city"].to_numpy()))):
        assert_allclose(other.summary().standard_error, inside.summary().standard_error, rtol=1e-6)
    assert table.summary().standard_error[0] != pytest.approx(inside.summary().standard_error[0], rel=1e-3)


def test_what_has_no_robust_covariance_is_refused_with_the_reason():
    plain = sx.LogisticRegression(alpha=0).fit(X, BINARY)
    for kind, reason in [
        ("HC4", "choose 'nonrobust', 'HC0'"),
        (("cluster",), "choose 'nonrobust'"),
        (("cluster", "city"), r"not fitted to a scan.*table\['city'\]"),
    ]:
        with pytest.raises(ValueError, match=reason):
            plain.with_covariance(kind)
    for groups, reason in [
        (CITY[1:], "a group for each row"),
        (np.zeros(N), "at least 2 groups"),
        (np.r_[np.nan, CITY[1:]], "row 1 .* is missing"),
    ]:
        with pytest.raises(DataError, match=reason):
            plain.with_covariance(("cluster", groups))
    with pytest.raises(ValueError, match="posterior under that prior"):
        sx.LogisticRegression().fit(X, BINARY).with_covariance("HC0")
    with pytest.raises(ValueError, match="already is the distribution"):
        sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, BINARY).with_covariance("HC0")
    with pytest.raises(AttributeError, match="has no with_covariance"):
        sx.LinearDiscriminantAnalysis().fit(X, BINARY).with_covariance("HC0")
    robust = plain.with_covariance("HC0")
    for call in (lambda: robust.summary(interval="profile"), lambda: robust.test("x0", method="likelihood-ratio")):
        with pytest.raises(ValueError, match="assume that the likelihood is correct"):
            call()
    with pytest.warns(sx.exceptions.SeparationWarning):
        separated = sx.LogisticRegression(alpha=0).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="have no covariance"):
        separated.with_covariance("HC0")
