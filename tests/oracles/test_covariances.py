# SPDX-License-Identifier: BSD-3-Clause
"""Robust covariances are compared with statsmodels, and with their formulas."""

import copy
import pickle

import numpy as np
import pandas as pd
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


# What weights mean, and dispersion

SHARES = rng.uniform(0.2, 3.0, N)


def test_precisions_divide_the_variance_of_a_row():
    result = sm.WLS(REAL, WITH_ONE, weights=SHARES).fit()
    model = sx.GeneralizedLinearModel(weights="precision").fit(X, REAL, SHARES)
    table = model.summary()
    assert_same_errors(table, result.params, result.bse)
    assert_allclose(table.p, result.pvalues, rtol=1e-5)
    assert table.facts["N"] == N
    assert model.degrees_of_freedom_ == N - 3
    assert model.log_likelihood_ == pytest.approx(result.llf, rel=1e-9)
    for kind in ("HC0", "HC1", "HC3"):
        robust = sm.WLS(REAL, WITH_ONE, weights=SHARES).fit(cov_type=kind)
        assert_allclose(model.with_covariance(kind).summary().standard_error, robust.bse, rtol=1e-7)
    cluster = sm.WLS(REAL, WITH_ONE, weights=SHARES).fit(cov_type="cluster", cov_kwds={"groups": CITY})
    assert_allclose(model.with_covariance(("cluster", CITY)).summary().standard_error, cluster.bse, rtol=1e-7)


@pytest.mark.parametrize("family", ["gamma", "poisson"])
def test_precisions_of_other_families(family):
    kind = sm.families.Gamma(sm.families.links.Log()) if family == "gamma" else sm.families.Poisson()
    y = np.exp(0.2 * A) * rng.gamma(3.0, 1 / 3, N) if family == "gamma" else COUNT
    result = sm.GLM(y, WITH_ONE, family=kind, var_weights=SHARES).fit(tol=1e-13, tol_criterion="params")
    model = sx.GeneralizedLinearModel(family, "log", weights="precision", tol=1e-12).fit(X, y, SHARES)
    assert_same_errors(model.summary(), result.params, result.bse)
    assert model.deviance_ == pytest.approx(result.deviance, rel=1e-9)
    assert model.log_likelihood_ == pytest.approx(result.llf, rel=1e-8)


@pytest.mark.parametrize("family", ["logit", "softmax", "bernoulli", "gaussian"])
def test_probability_weights_have_the_errors_of_a_survey(family):
    """B [n/(n-1) Σ w² u u'] B, as in the package survey for samples with replacement."""
    model, y = {
        "logit": (sx.LogisticRegression(alpha=0, weights="probability", tol=1e-11), BINARY),
        "softmax": (sx.LogisticRegression(alpha=0, weights="probability", tol=1e-11), CODES),
        "bernoulli": (sx.GeneralizedLinearModel("bernoulli", weights="probability", tol=1e-12), BINARY),
        "gaussian": (sx.GeneralizedLinearModel(weights="probability"), REAL),
    }[family]
    reference = 0 if family in ("logit", "softmax") else None
    table = model.fit(X, y, SHARES).summary(reference)
    if family == "gaussian":
        rest = (y - model.predict(X))[:, None]
        H = WITH_ONE.T @ (WITH_ONE * SHARES[:, None])
    else:
        K = y.max() + 1
        mean = model.predict(X)  # of the second class, for a regression
        P = np.column_stack([1 - mean, mean]) if family == "bernoulli" else model.predict_proba(X)
        rest = (np.eye(K)[y] - P)[:, 1:]
        H = sum(
            w * np.kron(np.diag(p[1:]) - np.outer(p[1:], p[1:]), np.outer(x, x))
            for w, p, x in zip(SHARES, P, WITH_ONE, strict=True)
        )
    U = (SHARES[:, None, None] * rest[:, :, None] * WITH_ONE[:, None, :]).reshape(N, -1)
    B = np.linalg.inv(H)
    expected = np.sqrt(np.diag(N / (N - 1) * B @ U.T @ U @ B))
    assert_allclose(table.standard_error, expected, rtol=1e-6)
    assert table.facts["N"] == N
    assert "AIC" not in table.facts
    assert "covariance: probability weights" in table.title
    doubled = type(model)(**model.get_params()).fit(X, y, 2 * SHARES)  # the unit of the weights has no meaning
    assert_allclose(doubled.summary(reference).standard_error, expected, rtol=1e-6)
    clusters = model.with_covariance(("cluster", CITY)).summary()
    assert "clusters of 30 groups" in clusters.title


def test_probability_weights_count_class_weights_as_weights_of_one_row():
    weight = {0: 1.0, 1: 5.0}
    model = sx.LogisticRegression(alpha=0, class_weight=weight, weights="probability").fit(X, BINARY)
    by_hand = sx.LogisticRegression(alpha=0, weights="probability").fit(X, BINARY, np.where(BINARY, 5.0, 1.0))
    assert_allclose(model.summary().standard_error, by_hand.summary().standard_error, rtol=1e-7)
    counted = sx.LogisticRegression(alpha=0, class_weight=weight).fit(X, BINARY).summary()
    assert "count a row of a class with weight c as c rows" in " ".join(counted.notes)
    assert (counted.standard_error < model.summary().standard_error).all()


def test_fractional_frequencies_are_noted():
    for model, y in ((sx.GeneralizedLinearModel(), REAL), (sx.LogisticRegression(alpha=0), BINARY)):
        assert "not whole numbers" in str(model.fit(X, y, SHARES).summary())
        assert "not whole numbers" not in str(model.fit(X, y, np.ceil(SHARES)).summary())


@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_quasi_families_estimate_the_dispersion(family):
    y = COUNT if family == "poisson" else BINARY
    kind = sm.families.Poisson() if family == "poisson" else sm.families.Binomial()
    result = sm.GLM(y, WITH_ONE, family=kind).fit(scale="X2", tol=1e-13, tol_criterion="params", use_t=True)
    model = sx.GeneralizedLinearModel(family, dispersion="pearson", tol=1e-12).fit(X, y)
    table = model.summary()
    assert model.dispersion_ == pytest.approx(result.scale, rel=1e-8)
    assert_same_errors(table, result.params, result.bse)
    assert_allclose(table.p, result.pvalues, rtol=1e-5)
    few = sm.GLM(y, WITH_ONE[:, :2], family=kind).fit(tol=1e-13, tol_criterion="params")
    expected = (few.deviance - result.deviance) / result.scale
    found = model.test("x1")
    assert found.statistic == pytest.approx(expected, rel=1e-6)
    assert found.p_value == pytest.approx(stats.f.sf(expected, 1, N - 3), rel=1e-5)
    assert table.title.startswith("Quasi-")
    assert "AIC" not in table.facts
    assert np.isnan(model.aic_)


def test_meanings_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match="weights='survey'"):
        sx.LogisticRegression(weights="survey").fit(X, BINARY)
    with pytest.raises(ValueError, match="dispersion='deviance'"):
        sx.GeneralizedLinearModel("poisson", dispersion="deviance").fit(X, COUNT)
    with pytest.raises(ValueError, match="needs alpha=0"):
        sx.GeneralizedLinearModel("poisson", alpha=1.0, weights="probability").fit(X, COUNT)
    with pytest.raises(ValueError, match="Set alpha=0"):
        sx.LogisticRegression(weights="probability").fit(X, BINARY, SHARES).summary()
    model = sx.LogisticRegression(alpha=0, weights="probability").fit(X, BINARY, SHARES)
    assert model.test("x0").method == "wald"
    with pytest.raises(ValueError, match="inverse information is not a covariance"):
        model.with_covariance("nonrobust")
    with pytest.raises(ValueError, match="likelihood is correct"):
        model.test("x0", method="likelihood-ratio")


def test_wrong_labels_are_weighted_like_correct_ones(tmp_path):
    model = sx.LabelNoiseLogisticRegression(noise=0.05, alpha=0, weights="probability").fit(X, BINARY, SHARES)
    table = model.summary()
    assert "covariance: probability weights" in table.title
    doubled = sx.LabelNoiseLogisticRegression(noise=0.05, alpha=0, weights="probability").fit(X, BINARY, 2 * SHARES)
    assert_allclose(doubled.summary().standard_error, table.standard_error, rtol=1e-4)
    assert str(sx.load(sx.save(model, tmp_path / "model.sx")).summary()) == str(table)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.CollinearWarning")
@pytest.mark.parametrize("y", [BINARY, CODES], ids=["two classes", "three classes"])
def test_levels_of_a_category_count_without_the_redundant_one(y):
    """A category has an indicator for each level, of which the intercept makes one redundant, as R and dummies omit."""
    region = pd.Series(np.array(list("abcd"))[CITY % 4], name="region")
    dummies = pd.get_dummies(region, drop_first=True, dtype=float)
    design = sm.add_constant(np.column_stack([X[:, 0], dummies]))
    fitted = sm.Logit if y is BINARY else sm.MNLogit
    result = fitted(y, design).fit(**TIGHT)
    table = pd.DataFrame({"x": X[:, 0], "region": region})
    model = sx.TableClassifier(sx.LogisticRegression(alpha=0, tol=1e-11)).fit(table, y)
    facts = model.summary().facts
    assert facts["AIC"] == pytest.approx(result.aic, rel=1e-9)
    assert facts["BIC"] == pytest.approx(result.bic, rel=1e-9)
    P = np.size(result.params)
    for kind in ("HC1", "cluster"):
        errors = np.asarray(fitted(y, design).fit(**TIGHT, **theirs(kind)).bse)[1]  # of x, in each class against 0
        errors = errors * (np.sqrt(N / (N - P)) if kind == "HC1" else 1.0)
        found = model.with_covariance(KINDS[kind][0]).summary(y.min())
        at = [i for i, name in enumerate(found.names) if name.endswith("x")]
        assert_allclose(found.standard_error[at], np.ravel(errors), rtol=1e-7)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.CollinearWarning")
def test_collinear_and_constant_columns_add_no_parameter_and_have_a_note():
    expected = sx.LogisticRegression(alpha=0).fit(X, BINARY)
    more = np.column_stack([X, X[:, 0] - X[:, 1], np.ones(N)])
    model = sx.LogisticRegression(alpha=0).fit(more, BINARY)
    assert model.summary().facts["AIC"] == pytest.approx(expected.summary().facts["AIC"], rel=1e-9)
    assert any("constant or combinations of others" in note for note in model.summary().notes)
    assert not any("constant or combinations of others" in note for note in expected.summary().notes)
    again = pickle.loads(pickle.dumps(model))
    assert again.summary().facts == model.summary().facts
