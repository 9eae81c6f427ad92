"""Tests, intervals and the summary table of generalised linear models."""

from functools import cache

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from separatrix.discriminative import GeneralizedLinearModel
from separatrix.discriminative.inference import TESTS
from separatrix.exceptions import SeparationWarning


def table_of(family, n=100, seed=0, effect=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    a = 0.3 + effect * X[:, 0]
    draw = {
        "gaussian": lambda: a + rng.normal(size=n),
        "bernoulli": lambda: (rng.random(n) < 1 / (1 + np.exp(-a))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(a)).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(a) / 2),
    }
    return X, draw[family]()


LINKS = {"gamma": "log"}


@cache
def fits(family):
    """Fits to 120 tables in which the hypothesis is true, for all three tests."""
    model = GeneralizedLinearModel(family, LINKS.get(family))
    return [clone(model).fit(*table_of(family, seed=seed)) for seed in range(120)]


@pytest.mark.parametrize("method", TESTS)
@pytest.mark.parametrize(
    "family", ["gaussian", "poisson", *(pytest.param(name, marks=pytest.mark.slow) for name in ("bernoulli", "gamma"))]
)
def test_a_true_hypothesis_is_rejected_at_the_nominal_level(family, method):
    p = [model.test(["x0", "x2"], method=method).p_value for model in fits(family)]
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert np.mean(np.array(p) < 0.2) == pytest.approx(0.2, abs=0.12)


def test_a_squared_t_is_f_and_a_squared_z_is_chi2():
    for family in ("gaussian", "poisson"):
        model = GeneralizedLinearModel(family).fit(*table_of(family, effect=0.2))
        table = model.summary()
        for j in range(4):
            joint = model.test(j, method="wald")
            at, name = table.names.index(model.coefficient_names_[j]), "z" if family == "poisson" else "t"
            assert joint.statistic == pytest.approx(table[name][at] ** 2)
            assert joint.p_value == pytest.approx(table["p"][at])


def test_the_three_tests_agree_for_many_rows():
    X, y = table_of("poisson", n=20_000, effect=0.03)
    model = GeneralizedLinearModel("poisson").fit(X, y)
    found = [model.test("x0", method=method).statistic for method in TESTS]
    assert max(found) - min(found) < 0.02 * min(found)


@pytest.mark.parametrize("n", [4, 30])
def test_without_a_dispersion_there_is_neither_test_nor_interval(n):
    X, y = table_of("gaussian", n=n)
    model = GeneralizedLinearModel().fit(X, y if n == 4 else np.zeros(n))
    for method in TESTS:
        assert np.isnan(model.test("x0", method=method).p_value)
    table = model.summary(interval="profile", test="likelihood-ratio")
    assert np.isnan(table["p"]).all()
    assert np.isnan(table.lower).all() if n == 4 else (table.lower == table.upper).all()


# Profile intervals


def test_profile_intervals_of_the_normal_model_are_students_intervals(rng):
    X = rng.normal(size=(40, 2)) + 10.0
    model = GeneralizedLinearModel().fit(X, X[:, 0] + rng.normal(size=40))
    wald, profile = model.summary(), model.summary(interval="profile")
    np.testing.assert_allclose(profile.lower, wald.lower, rtol=1e-6)
    np.testing.assert_allclose(profile.upper, wald.upper, rtol=1e-6)


def test_an_end_is_infinite_if_the_likelihood_never_falls():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [1.0]])
    y = np.array([0, 1, 0, 1, 1, 1])  # every row of the second group is a 1
    with pytest.warns(SeparationWarning):
        model = GeneralizedLinearModel("bernoulli", tol=1e-4).fit(X, y)
    table = model.summary(interval="profile")
    assert np.isfinite(table.lower[1])
    assert table.upper[1] == np.inf


def test_the_boundary_of_the_inverse_link_is_not_crossed():
    X = np.linspace(0.0, 1.0, 12)[:, None]
    y = np.array([0.1, 0.2, 0.15, 0.3, 0.2, 0.5, 0.4, 1.0, 0.8, 3.0, 9.0, 30.0])
    model = GeneralizedLinearModel("gamma").fit(X, y)
    table = model.summary(interval="profile", level=0.99)
    assert np.isfinite([table.lower, table.upper]).all()
    assert (table.lower < table.coefficient).all()
    assert (table.coefficient < table.upper).all()


def test_a_test_is_a_sentence_and_a_table():
    result = GeneralizedLinearModel("poisson").fit(*table_of("poisson", effect=0.2)).test(["x0", "x1"])
    assert str(result).startswith("likelihood-ratio test of x0, x1 = 0: chi2(2) = ")
    assert repr(result) == str(result)
    frame = result.to_pandas()
    assert list(frame.index) == ["x0, x1 = 0"]
    assert list(frame.columns) == ["chi2", "degrees_of_freedom", "p"]
    assert "<table>" in result._repr_html_()
    assert "residual" in GeneralizedLinearModel().fit(*table_of("gaussian")).test("x0").to_dict()
