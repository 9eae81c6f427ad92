import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from separatrix.exceptions import DataError
from separatrix.families import Density, FactsError, Normal, NormalGamma, StudentT

POINTS = np.array([-1e9, -3.0, 0.0, 0.4, 1e9])


def test_against_scipy():
    ours, theirs = Normal(0.3, 1.7), stats.norm(0.3, 1.7)
    assert_allclose(ours.log_density(POINTS), theirs.logpdf(POINTS), rtol=1e-13)
    assert_allclose(ours.variance, theirs.var())


@pytest.mark.parametrize("dof", [0.1, 3.0, 1e3])
def test_student_t_against_scipy(dof):
    assert_allclose(StudentT(dof, 0.3, 1.7).log_density(POINTS), stats.t(dof, 0.3, 1.7).logpdf(POINTS), rtol=1e-11)


def test_student_t_becomes_normal_and_never_overflows():
    assert_allclose(
        StudentT(1e15, 0.3, 1.7).log_density(POINTS[1:4]), Normal(0.3, 1.7).log_density(POINTS[1:4]), rtol=1e-12
    )
    far = StudentT(3.0, 0.0, 1.0).log_density([1e150, 1e250])
    assert_allclose(np.diff(far), -4 * np.log(1e100), rtol=1e-12)


@pytest.mark.parametrize("apart", [1.0, 1e7])
def test_the_sum_over_columns_keeps_its_digits_at_any_offset_and_separation(rng, apart):
    mean = 1e7 + apart * np.arange(3)[:, None] * np.array([1.0, -2.0, 0.5, 1.0])
    sd = rng.uniform(0.5, 2.0, size=(3, 4))
    x = np.vstack([mean + rng.normal(size=(3, 4)), mean[:1] + 1e9 * sd[:1]])
    x[1, 2] = np.nan
    expected = stats.norm.logpdf(x[:, None, :].astype(np.longdouble), mean, sd)
    expected = np.where(np.isnan(expected), 0, expected).sum(axis=-1)
    got = Normal(mean, sd).log_density_sum(x)
    assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
    assert_allclose(got, Density.log_density_sum(Normal(mean, sd), x), rtol=1e-11, atol=1e-11)


def test_far_tails_are_finite_and_monotone():
    x = np.concatenate([-np.geomspace(1e12, 1, 50), np.geomspace(1, 1e12, 50)])[:, None]
    sums = Normal([[0.0], [3.0]], [[1.0], [2.0]]).log_density_sum(x)
    assert np.isfinite(sums).all()
    odds = sums[:, 0] - sums[:, 1]  # the wider class wins, and more so farther out
    assert np.all(np.diff(odds[:40]) > 0)
    assert np.all(np.diff(odds[60:]) < 0)


def test_posterior_predictive_and_marginal_are_double_integrals():
    x, w = np.array([0.5, 2.0, -1.0]), np.array([1.0, 0.5, 2.0])
    prior = NormalGamma(0.3, 1.5, 2.0, 0.8)
    facts = Normal.facts(x[:, None], w[:, None])

    u, v = np.polynomial.legendre.leggauss(120)
    lam = np.exp(7 * u - 1)[:, None]  # ln lambda from -8 to 6, and mu within 12 standard deviations of 0
    sd = lam**-0.5
    mu = 12 * sd * u
    hyper = stats.gamma.logpdf(lam, 2.0, scale=1 / 0.8) + stats.norm.logpdf(mu, 0.3, sd / 1.5**0.5)
    volume = np.outer(7 * v, 12 * v) * lam * sd

    def integral(*extra):
        pairs = [*zip(x, w, strict=True), *((e, 1.0) for e in extra)]
        logs = sum(weight * stats.norm.logpdf(value, mu, sd) for value, weight in pairs)
        return (volume * np.exp(logs + hyper)).sum()

    Z = integral()
    assert_allclose(prior.log_marginal(facts), np.log(Z), rtol=1e-7)
    expected = np.log(integral(1.3) / Z)
    assert_allclose(prior.updated(facts).predictive().log_density(1.3), expected, rtol=1e-6)


def test_the_prior_predictive_is_a_density():
    t = NormalGamma.of_scale(5.0, 2.0).predictive()
    total = integrate.quad(lambda x: np.exp(t.log_density(x)), -np.inf, np.inf)[0]
    assert total == pytest.approx(1.0, abs=1e-9)
    variance = integrate.quad(lambda x: (x - 5) ** 2 * np.exp(t.log_density(x)), -np.inf, np.inf)[0]
    assert variance == pytest.approx(4.0, abs=1e-6)  # one observation from a column with sd 2 ...


def test_the_weak_prior_follows_any_change_of_units(rng):
    x, R = rng.normal(size=(50, 2)), np.eye(3)[rng.integers(3, size=50)]
    factor, offset = np.array([1e-6, 1e3]), np.array([10.0, -1e5])
    a, b = Normal.facts(x, R), Normal.facts(x * factor + offset, R)
    before = Normal.weak_prior(a).updated(a).predictive().log_density_sum(x)
    after = Normal.weak_prior(b).updated(b).predictive().log_density_sum(x * factor + offset)
    assert_allclose(before - after, np.log(factor).sum(), rtol=1e-7)


def test_one_row_needs_a_prior():
    facts = Normal.facts([[1.0, 2.0], [3.0, 4.0], [5.0, 4.0]], np.array([[1.0, 0], [0, 1], [0, 1]]))
    with pytest.raises(FactsError) as caught:
        Normal.ml(facts)
    assert caught.value.where == [(0, 0), (0, 1), (1, 1)]
    assert "class 'a', column 'x'" in caught.value.describe(("a", "b"), ("x", "y"))
    assert np.all(Normal.weak_prior(facts).updated(facts).mode.sd > 0)
    with pytest.raises(FactsError, match="all values are equal in column 0"):
        Normal.weak_prior(Normal.facts([[4.0], [4.0]], np.ones((2, 1))))
    with pytest.raises(DataError, match="Column 'x' holds inf where numbers are finite"):
        Normal.check_support(np.array([[np.inf]]), ("x",))
    with pytest.raises(ValueError, match="shape must be above 3/2 for a mode"):
        _ = NormalGamma(0.0, 1.0, 1.0, 1.0).mode
