"""Statements about coefficients one by one: which need rows, and which are not made."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from separatrix.discriminative import GeneralizedLinearModel
from separatrix.discriminative.estimates import Estimates
from separatrix.discriminative.inference import TESTS

PLAIN = Estimates(np.array([1.0, -2.0]), np.array([0.5, 0.25]), 7.0, 0.0, None)


@pytest.mark.parametrize(("residual", "law"), [(7.0, stats.t(7)), (np.inf, stats.norm)])
def test_walds_intervals_and_tests_need_no_rows(residual, law):
    estimates = replace(PLAIN, residual=residual)
    low, high = estimates.limits(0.9, "wald")
    assert_allclose([low, high], law.interval(0.9)[0] * np.array([[0.5, 0.25], [-0.5, -0.25]]) + [1.0, -2.0])
    name, statistic, p_value = estimates.tests("wald")
    assert name == ("z" if np.isinf(residual) else "t")
    assert_allclose(p_value, 2 * law.sf(np.abs(statistic)))


@pytest.mark.parametrize("ask", [lambda e: e.limits(0.95, "profile"), lambda e: e.tests("score")])
def test_what_fits_again_asks_for_the_rows(ask):
    with pytest.raises(ValueError, match=r"has no rows. Call fit\(X, y\) again"):
        ask(PLAIN)


@pytest.mark.parametrize("method", TESTS)
def test_a_penalty_leaves_intervals_but_no_tests(method):
    pulled = replace(PLAIN, alpha=2.0)
    assert np.isnan(pulled.tests(method)[1:]).all()
    assert_allclose(pulled.limits(0.95, "wald"), PLAIN.limits(0.95, "wald"))
    assert "alpha = 2" in pulled.notes[0]
    assert PLAIN.notes == ()
    with pytest.raises(ValueError, match=rf"test\('{method}'\) needs alpha=0. Penalised fit \(alpha = 2\)"):
        pulled.require_unpenalised(f"test({method!r})")


def test_for_the_normal_model_all_intervals_are_one(rng):
    X = rng.normal(size=(40, 2))
    estimates = GeneralizedLinearModel().fit(X, X[:, 0] + rng.normal(size=40))._estimates
    assert_allclose(estimates.limits(0.95, "profile"), estimates.limits(0.95, "wald"), rtol=1e-6)
    ratio, wald = estimates.tests("likelihood-ratio"), estimates.tests("wald")
    assert (ratio[0], wald[0]) == ("F", "t")
    assert_allclose(ratio[2], wald[2], rtol=1e-6)
