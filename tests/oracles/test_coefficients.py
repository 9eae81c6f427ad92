# SPDX-License-Identifier: BSD-3-Clause
"""Tables of coefficients are compared with statsmodels, and between models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

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
