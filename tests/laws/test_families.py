"""Laws that hold for every exponential family: PRML §2.4, conjugacy, and facts that add."""

import itertools
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import special

from separatrix.families import (
    FAMILIES,
    Bernoulli,
    Beta,
    Categorical,
    Density,
    Dirichlet,
    Exponential,
    Gamma,
    Multinomial,
    MultivariateNormal,
    Normal,
    NormalKnownVariance,
    Poisson,
)

K, D = 2, 3


def spd(rng):
    A = rng.normal(size=(K, D, 2 * D))
    return A @ np.swapaxes(A, -1, -2) / D


#: One distribution of each family for K classes and D columns, with ordinary parameters.
MAKE = {
    "bernoulli": lambda rng: Bernoulli(rng.normal(size=(K, D))),
    "categorical": lambda rng: Categorical.of_natural(rng.normal(size=(K, D, 4))),
    "multinomial": lambda rng: Multinomial(special.log_softmax(rng.normal(size=(K, D)), axis=-1), np.array([6.0, 9.0])),
    "poisson": lambda rng: Poisson(rng.gamma(2.0, size=(K, D))),
    "exponential": lambda rng: Exponential(rng.gamma(2.0, size=(K, D)) + 0.1),
    "gamma": lambda rng: Gamma(rng.gamma(2.0, size=(K, D)) + 0.3, rng.gamma(2.0, size=(K, D)) + 0.1),
    "beta": lambda rng: Beta(rng.gamma(2.0, size=(K, D)) + 0.3, rng.gamma(2.0, size=(K, D)) + 0.3),
    "dirichlet": lambda rng: Dirichlet(rng.gamma(2.0, size=(K, D)) + 0.3),
    "normal": lambda rng: Normal(3 * rng.normal(size=(K, D)), rng.gamma(2.0, size=(K, D)) + 0.1),
    "normal_known_variance": lambda rng: NormalKnownVariance(3 * rng.normal(size=(K, D)), rng.gamma(2.0, size=D) + 0.1),
    "multivariate_normal": lambda rng: MultivariateNormal(3 * rng.normal(size=(K, D)), spd(rng)),
}
COLUMNWISE = [name for name, family in FAMILIES.items() if not family.vector]
NAMES = list(FAMILIES)
each_family = pytest.mark.parametrize("name", NAMES)


def rows_of(name, rng, n=30):
    """A family, n rows drawn from a distribution of each class, and their classes as indicators."""
    y = np.arange(n) % K
    return FAMILIES[name], MAKE[name](rng)[y].sample(rng), np.eye(K)[y]


def assert_same_facts(a, b, rtol=1e-9):
    for left, right in zip(a.arrays, b.arrays, strict=True):
        assert_allclose(left, right, rtol=rtol, atol=1e-9 * (1 + np.abs(right).max()))


def test_every_family_of_the_table_is_tested():
    assert list(MAKE) == NAMES


# The exponential form, PRML (2.194)


@each_family
def test_density_is_h_times_exp_of_eta_u_minus_A(name, rng):
    distribution = MAKE[name](rng)
    x = distribution.sample(rng, 30)
    u = distribution.u(x)
    eta = distribution.natural[..., : u.shape[-1]]
    expected = distribution.log_h(x) + (eta * u).sum(axis=-1) - distribution.log_normaliser
    assert_allclose(distribution.log_density(x), expected, rtol=1e-10, atol=1e-10)


def log_normaliser(family, eta):
    """A(eta), also for families that normalise eta."""
    if family in (Categorical, Multinomial):
        return special.logsumexp(eta, axis=-1)
    return family.of_natural(eta).log_normaliser


@each_family
@settings(max_examples=5)
@given(seed=st.integers(0, 10_000))
def test_the_mean_map_is_the_gradient_of_A(name, seed):  # (2.226)
    rng = np.random.default_rng(seed)
    family, distribution = FAMILIES[name], MAKE[name](rng)
    eta = distribution.natural if name != "normal_known_variance" else distribution.mean[..., None]  # sd = 1
    direction = rng.normal(size=eta.shape) * np.abs(eta) * 1e-4
    if name == "multivariate_normal":  # the second part of eta is a symmetric matrix
        matrix = direction[..., D:].reshape(K, D, D)
        direction[..., D:] = (matrix + np.swapaxes(matrix, -1, -2)).reshape(K, -1)
    A = [log_normaliser(family, eta + h * direction) for h in (-2, -1, 1, 2)]
    slope = (A[0] - 8 * A[1] + 8 * A[2] - A[3]) / 12
    mean_u = distribution.probability if name == "multinomial" else family.of_natural(eta).mean_u
    assert_allclose(slope, (mean_u * direction).sum(axis=-1), rtol=1e-6, atol=1e-13 * (1 + np.abs(A).max()))


@each_family
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_natural_parameters_and_mean_map_invert(name, seed):
    family, distribution = FAMILIES[name], MAKE[name](np.random.default_rng(seed))
    known = {"sd": distribution.sd} if name == "normal_known_variance" else {}
    again = [family.of_mean_u(distribution.mean_u, **known)]
    if name != "multinomial":  # eta does not contain the number of trials
        again.append(family.of_natural(distribution.natural, **known))
    for other in again:
        for got, want in zip(other.arrays, distribution.arrays, strict=True):
            assert_allclose(got, want, rtol=1e-8, atol=1e-10)


@each_family
def test_samples_have_the_mean_statistics_of_the_model(name, rng):
    distribution = MAKE[name](rng)
    u = distribution.u(distribution.sample(rng, 4000))
    error = u.std(axis=0) / np.sqrt(4000) + 1e-12
    assert np.all(np.abs(u.mean(axis=0) - distribution.mean_u[..., : u.shape[-1]]) < 5 * error)


@each_family
def test_samples_have_the_moments_of_the_model(name, rng):
    distribution = MAKE[name](rng)
    x = distribution.sample(rng, 4000)
    variance = distribution.variance
    if FAMILIES[name].vector:
        variance = np.diagonal(variance, axis1=-2, axis2=-1)
    assert np.all(np.abs(x.mean(axis=0) - distribution.mean) < 5 * np.sqrt(variance / 4000))
    deviation = (x - distribution.mean) ** 2
    assert np.all(np.abs(deviation.mean(axis=0) - variance) < 6 * deviation.std(axis=0) / np.sqrt(4000) + 1e-12)


# Facts are a commutative monoid


@each_family
@settings(max_examples=8)
@given(data=st.data())
def test_facts_do_not_depend_on_the_partition(name, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    family, x, _ = rows_of(name, rng)
    R = rng.random((len(x), K))
    if not family.vector:
        x[rng.random(x.shape) < 0.1] = np.nan
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, len(x)), max_size=4))), len(x)]
    spans = data.draw(st.permutations([slice(a, b) for a, b in itertools.pairwise(cuts)]))
    parts = [family.facts(x[s], R[s]) for s in spans]
    assert_same_facts(reduce(add, parts), family.facts(x, R))
    if len(parts) > 2:
        assert_same_facts((parts[0] + parts[1]) + parts[2], parts[0] + (parts[1] + parts[2]))


@each_family
def test_statistics_of_no_rows_are_the_identity(name, rng):
    family, x, R = rows_of(name, rng)
    facts, nothing = family.facts(x, R), family.facts(x[:0], R[:0])
    assert_same_facts(facts + nothing, facts, rtol=1e-15)
    assert_same_facts(nothing + facts, facts, rtol=1e-15)


@each_family
def test_a_weight_of_k_equals_k_copies_of_the_row(name, rng):
    family, x, R = rows_of(name, rng)
    times = rng.integers(0, 4, size=len(x))
    repeated = family.facts(np.repeat(x, times, axis=0), np.repeat(R, times, axis=0))
    assert_same_facts(family.facts(x, R * times[:, None]), repeated)


@pytest.mark.parametrize("name", COLUMNWISE)
def test_missing_values_are_left_out_of_all_sums(name, rng):
    family, x, R = rows_of(name, rng)
    distribution = MAKE[name](rng)
    gaps = rng.random(x.shape) < 0.3
    gaps[0] = True
    holed = np.where(gaps, np.nan, x)
    for d in range(D):
        alone = family.facts(x[~gaps[:, d]][:, [d]], R[~gaps[:, d]])
        with_holes = family.facts(holed[:, [d]], R)
        assert_same_facts(with_holes, alone, rtol=1e-12)
    sums = distribution.log_density_sum(holed)
    expected = np.where(gaps[:, None], 0.0, distribution.log_density(x[:, None])).sum(axis=-1)
    assert_allclose(sums, expected, rtol=1e-10, atol=1e-10)
    assert_allclose(sums[0], 0.0, atol=1e-12)


@each_family
def test_statistics_can_be_split_and_joined_by_class(name, rng):
    family, x, R = rows_of(name, rng)
    facts = family.facts(x, R)
    swapped = family.ml(facts[[1, 0]]).log_density_sum(x)
    assert_allclose(swapped, family.ml(facts).log_density_sum(x)[:, ::-1], rtol=1e-9, atol=1e-9)


# Maximum likelihood


@each_family
def test_maximum_likelihood_matches_the_mean_of_u_and_is_a_maximum(name, rng):  # (2.228)
    family, x, R = rows_of(name, rng, n=80)
    R = R * rng.random((80, 1))
    ml = family.ml(family.facts(x, R))
    u = ml.u(x)
    mean_u = np.einsum("nk,n...->k...", R, u) / R.sum(axis=0).reshape(K, *[1] * (u.ndim - 1))
    assert_allclose(ml.mean_u[..., : u.shape[-1]], mean_u, rtol=1e-9, atol=1e-12)
    best = (R * ml.log_density_sum(x)).sum()
    known = {"sd": ml.sd} if name == "normal_known_variance" else {}
    for _ in range(10):
        nearby = ml.natural * (1 + 0.02 * rng.normal(size=ml.natural.shape[:1] + (1,) * (ml.natural.ndim - 1)))
        assert (R * family.of_natural(nearby, **known).log_density_sum(x)).sum() < best


# Conjugacy


@each_family
def test_log_density_sum_is_the_sum_of_log_densities(name, rng):
    family, x, R = rows_of(name, rng, n=12)
    facts = family.facts(x, R)
    posterior = family.weak_prior(facts).updated(facts)
    for density in (family.ml(facts), posterior.mode, posterior.predictive()):
        each = density.log_density(x[:, None])
        expected = each if family.vector else each.sum(axis=-1)
        assert_allclose(density.log_density_sum(x), expected, rtol=1e-10, atol=1e-10)
        assert_allclose(density.log_density_sum(x), Density.log_density_sum(density, x), rtol=1e-10, atol=1e-10)


@each_family
def test_chain_rule_of_the_marginal_likelihood(name, rng):
    """ln p(x_1 .. x_n) = Σ ln p(x_i | x_1 .. x_(i-1)), in any blocks."""
    family, x, R = rows_of(name, rng, n=5)
    R = np.ones_like(R)
    prior = family.weak_prior(family.facts(x, R))
    posterior, total = prior, 0.0
    for i in range(len(x)):
        row = x[i : i + 1]
        predictive = posterior.predictive().log_density(row)
        one = family.facts(row, R[i : i + 1])
        assert_allclose(posterior.log_marginal(one), np.broadcast_to(predictive, one.total.shape), rtol=1e-8, atol=1e-8)
        total = total + predictive
        posterior = posterior.updated(one)
    total = np.broadcast_to(total, one.total.shape)
    assert_allclose(prior.log_marginal(family.facts(x, R)), total, rtol=1e-7, atol=1e-7)


@each_family
def test_sequential_updates_equal_one_update(name, rng):
    family, x, _ = rows_of(name, rng)
    R = rng.random((len(x), K))
    a, b = family.facts(x[:11], R[:11]), family.facts(x[11:], R[11:])
    prior = family.weak_prior(a + b)
    for got, want in zip(prior.updated(a).updated(b).arrays, prior.updated(a + b).arrays, strict=True):
        assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    expected = prior.log_marginal(a) + prior.updated(a).log_marginal(b)
    assert_allclose(prior.log_marginal(a + b), expected, rtol=1e-8, atol=1e-7)


@each_family
def test_a_class_without_rows_keeps_the_prior(name, rng):
    family, x, R = rows_of(name, rng)
    facts = family.facts(x, R * [1.0, 0.0])
    prior = family.weak_prior(facts)
    posterior = prior.updated(facts)
    for got, want in zip(posterior.arrays, prior.arrays, strict=True):
        assert_allclose(got[1], want[0], rtol=1e-12)
    assert_allclose(prior.log_marginal(facts)[1], 0.0, atol=1e-8)
    assert np.isfinite(posterior.predictive().log_density_sum(x[:3])).all()


@pytest.mark.parametrize("name", ["exponential", "gamma", "normal", "normal_known_variance", "multivariate_normal"])
def test_a_change_of_units_changes_no_log_odds(name, rng):
    family, x, R = rows_of(name, rng)
    units = np.array([1e-9, 1.0, 1e6])
    odds = []
    for z in (x, x * units):
        facts = family.facts(z, R)
        posterior = family.weak_prior(facts).updated(facts)
        sums = [d.log_density_sum(z) for d in (family.ml(facts), posterior.mode, posterior.predictive())]
        odds.append([s[:, 1] - s[:, 0] for s in sums])
    assert_allclose(odds[0], odds[1], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("categorical", "multinomial")])
def test_the_mode_counts_the_prior_as_observations(name, rng):
    """E[u] at the mode is (ν χ + Σ u)/(ν + n); a weak prior has ν = 1 (Bernoulli: one of each, ν = 2)."""
    family, x, R = rows_of(name, rng)
    facts = family.facts(x, R)
    prior = family.weak_prior(facts)
    nu = 2.0 if name == "bernoulli" else 1.0
    n = R.sum(axis=0).reshape(K, *[1] * (x.ndim - family.vector))
    total_u = np.einsum("nk,n...->k...", R, prior.mode.u(x))
    expected = (nu * prior.mode.mean_u + total_u) / (nu + n)
    assert_allclose(prior.updated(facts).mode.mean_u, expected, rtol=1e-8, atol=1e-10)


@each_family
def test_predictive_samples_have_the_mean_of_the_mode(name, rng):
    """E[u] under the predictive is E[u] at the mode (Diaconis & Ylvisaker 1979)."""
    family, x, R = rows_of(name, rng, n=60)
    facts = family.facts(x, R)
    posterior = family.weak_prior(facts).updated(facts)
    draws = posterior.predictive().sample(rng, 2000)
    u = posterior.mode.u(draws)
    error = 5 * u.std(axis=0) / np.sqrt(2000) + 1e-9
    mean_u = posterior.mode.mean_u[..., : u.shape[-1]]
    if name == "multinomial":  # rows have a whole number of trials
        mean_u = np.rint(posterior.mode.trials)[..., None] * posterior.mode.probability
    assert np.all(np.abs(u.mean(axis=0) - mean_u) < error)


@pytest.mark.parametrize("name", COLUMNWISE)
def test_many_rows_make_mode_and_maximum_likelihood_agree(name, rng):
    family, x, R = rows_of(name, rng)
    facts = family.facts(x, 1e6 * R)
    ml, posterior = family.ml(facts), family.weak_prior(facts).updated(facts)
    expected = ml.log_density_sum(x)
    possible = np.isfinite(expected)
    for density in (posterior.mode, posterior.predictive()):
        assert_allclose(density.log_density_sum(x)[possible], expected[possible], rtol=1e-5, atol=1e-5)
