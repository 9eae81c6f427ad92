"""Tests hold their level, agree for many rows, and are exact for the normal model."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from separatrix.discriminative import GeneralizedLinearModel
from separatrix.discriminative.inference import TESTS, positions, quantile, wald_tests


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


@pytest.mark.parametrize("method", TESTS)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "gamma"])
def test_a_true_hypothesis_is_rejected_as_often_as_the_level_says(family, method):
    model = GeneralizedLinearModel(family, LINKS.get(family))
    p = [model.fit(*table_of(family, seed=seed)).test(["x0", "x2"], method=method).p_value for seed in range(120)]
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert np.mean(np.array(p) < 0.2) == pytest.approx(0.2, abs=0.12)


def test_for_the_normal_model_ratio_and_wald_are_the_f_test_of_nested_least_squares():
    X, y = table_of("gaussian", effect=0.2)
    model = GeneralizedLinearModel().fit(X, y)
    rest = [np.sum((y - LinearRegression().fit(Z, y).predict(Z)) ** 2) for Z in (X, X[:, [1]])]
    F = (rest[1] - rest[0]) / 2 / (rest[0] / 96)
    for method in ("wald", "likelihood-ratio"):
        found = model.test([0, 2], method=method)
        assert found.statistic == pytest.approx(F, rel=1e-9)
        assert found.p_value == pytest.approx(stats.f.sf(F, 2, 96), rel=1e-8)


def test_for_the_normal_model_the_score_is_n_less_p_times_the_share_of_variance_explained():
    X, y = table_of("gaussian", effect=0.2)
    rest = [np.sum((y - LinearRegression().fit(Z, y).predict(Z)) ** 2) for Z in (X, X[:, [1]])]
    score = GeneralizedLinearModel().fit(X, y).test([0, 2], method="score")
    assert score.statistic == pytest.approx(98 * (1 - rest[0] / rest[1]), rel=1e-9)


def test_a_squared_t_is_f_and_a_squared_z_is_chi2():
    for family in ("gaussian", "poisson"):
        model = GeneralizedLinearModel(family).fit(*table_of(family, effect=0.2))
        table = model.summary()
        for j in range(4):
            joint = model.test(j, method="wald")
            assert joint.statistic == pytest.approx(table.statistic[j] ** 2)
            assert joint.p_value == pytest.approx(table.p_value[j])


def test_the_three_tests_agree_for_many_rows():
    X, y = table_of("poisson", n=20_000, effect=0.03)
    model = GeneralizedLinearModel("poisson").fit(X, y)
    found = [model.test("x0", method=method).statistic for method in TESTS]
    assert max(found) - min(found) < 0.02 * min(found)


def test_a_table_by_score_tests_is_the_tests_one_by_one():
    model = GeneralizedLinearModel("bernoulli").fit(*table_of("bernoulli", effect=0.5))
    table = model.summary(test="score")
    for j, name in enumerate(table.names):
        assert table.p_value[j] == model.test(name, method="score").p_value
    assert table.statistic_name == "chi2"


def test_a_result_reads_as_a_sentence():
    result = GeneralizedLinearModel().fit(*table_of("gaussian")).test(["x0", "intercept"])
    assert str(result).startswith("likelihood-ratio test of x0, intercept = 0: F(2, 96) = ")


def test_quantiles_are_students_and_the_normals():
    assert quantile(0.95, np.inf) == pytest.approx(stats.norm.ppf(0.975))
    assert quantile(0.9, 7.0) == pytest.approx(stats.t.ppf(0.95, 7))


def test_an_error_of_zero_has_no_statistic():
    name, statistic, p = wald_tests(np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.inf)
    assert name == "z"
    assert np.isnan([statistic[0], p[0]]).all()
    assert p[1] == pytest.approx(2 * stats.norm.sf(2.0))


def test_positions_are_sorted_and_counted_once():
    assert positions(["c", 0, "a"], ("a", "b", "c")) == [0, 2]
    assert positions("b", ("a", "b")) == positions(np.int64(1), ("a", "b")) == [1]


@pytest.mark.parametrize("n", [4, 30])
def test_without_a_dispersion_there_is_neither_test_nor_interval(n):
    X, y = table_of("gaussian", n=n)
    model = GeneralizedLinearModel().fit(X, y if n == 4 else np.zeros(n))
    for method in TESTS:
        assert np.isnan(model.test("x0", method=method).p_value)
    table = model.summary(interval="profile", test="likelihood-ratio")
    assert np.isnan(table.p_value).all()
    assert np.isnan(table.lower).all() if n == 4 else (table.lower == table.upper).all()
