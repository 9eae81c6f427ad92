"""Profile intervals: exact for the normal model, equivariant, and open where the likelihood never falls."""

import numpy as np
import pytest
from scipy import stats

from separatrix.discriminative import GeneralizedLinearModel
from separatrix.discriminative.profile import profile_interval
from separatrix.exceptions import SeparationWarning


def test_for_the_normal_model_they_are_students_intervals(rng):
    X = rng.normal(size=(40, 2)) + 10.0
    model = GeneralizedLinearModel().fit(X, X[:, 0] + rng.normal(size=40))
    wald, profile = model.summary(), model.summary(interval="profile")
    np.testing.assert_allclose(profile.lower, wald.lower, rtol=1e-6)
    np.testing.assert_allclose(profile.upper, wald.upper, rtol=1e-6)


def test_of_two_rates_they_are_where_the_deviance_in_closed_form_crosses():
    y = np.array([3.0, 0.0, 2.0, 1.0])
    X = np.array([[1.0], [-1.0], [-1.0], [1.0]])  # balanced, so that both groups have their own rate
    model = GeneralizedLinearModel("poisson").fit(X, y)
    low, high = profile_interval(model._fit, 0, np.sqrt(stats.chi2.ppf(0.95, 1)))

    def ratio(b):  # rates m e^±b with total 2 m (e^b + e^-b) = 6
        m = 6 / (2 * (np.exp(b) + np.exp(-b)))
        mu = m * np.exp(b * X[:, 0])
        best = np.where(X[:, 0] > 0, 2.0, 1.0)
        return 2 * np.sum(y * np.log(best / mu))

    assert ratio(low) == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-6)
    assert ratio(high) == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-6)
    assert low < model.coef_[0] < high


def test_an_end_is_infinite_where_the_likelihood_never_falls():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [1.0]])
    y = np.array([0, 1, 0, 1, 1, 1])  # every row of the second group is a 1
    with pytest.warns(SeparationWarning):
        model = GeneralizedLinearModel("bernoulli", tol=1e-4).fit(X, y)
    low, high = profile_interval(model._fit, 0, 1.96)
    assert np.isfinite(low)
    assert high == np.inf


def test_units_scale_the_interval(rng):
    X = rng.normal(size=(50, 1))
    y = rng.gamma(2.0, 1 / (3 + 0.5 * X[:, 0]))
    plain = np.array(profile_interval(GeneralizedLinearModel("gamma").fit(X, y)._fit, 0, 2.0))
    scaled = np.array(profile_interval(GeneralizedLinearModel("gamma").fit(1000 * X, y)._fit, 0, 2.0))
    np.testing.assert_allclose(1000 * scaled, plain, rtol=1e-5)


def test_the_boundary_of_the_inverse_link_is_not_crossed():
    X = np.linspace(0.0, 1.0, 12)[:, None]
    y = np.array([0.1, 0.2, 0.15, 0.3, 0.2, 0.5, 0.4, 1.0, 0.8, 3.0, 9.0, 30.0])
    model = GeneralizedLinearModel("gamma").fit(X, y)
    table = model.summary(interval="profile", level=0.99)
    assert np.isfinite([table.lower, table.upper]).all()
    assert (table.lower < table.coefficient).all()
    assert (table.coefficient < table.upper).all()
