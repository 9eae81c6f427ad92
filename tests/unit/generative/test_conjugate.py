"""Priors of any worth: the mode counts pseudo-observations in, and EM's penalty has its maximum there."""

import numpy as np
import pytest
from scipy import optimize

from separatrix.families import FAMILIES, FactsError
from separatrix.generative.categories import ValueCounts
from separatrix.generative.conjugate import density_of, log_marginal, log_prior, prior_of

RNG = np.random.default_rng(3)
ROWS = {
    "bernoulli": RNG.integers(0, 2, (40, 2)).astype(float),
    "categorical": RNG.integers(0, 4, (40, 2)).astype(float),
    "multinomial": RNG.integers(0, 6, (40, 3)).astype(float),
    "poisson": RNG.poisson(3.0, (40, 2)).astype(float),
    "exponential": RNG.exponential(2.0, (40, 2)),
    "gamma": RNG.gamma(3.0, 2.0, (40, 2)),
    "beta": RNG.beta(2.0, 3.0, (40, 2)),
    "dirichlet": RNG.dirichlet([2.0, 3.0, 4.0], 40),
    "normal": RNG.normal(5.0, 2.0, (40, 2)),
    "normal_known_variance": RNG.normal(5.0, 2.0, (40, 2)),
    "multivariate_normal": RNG.normal(5.0, 2.0, (40, 3)),
}
R = np.eye(2)[RNG.integers(0, 2, 40)]


def facts_of(family):
    return ValueCounts.of(ROWS[family], R) if family == "categorical" else FAMILIES[family].facts(ROWS[family], R)


@pytest.mark.parametrize("family", sorted(set(ROWS) - {"categorical", "normal_known_variance"}))
def test_worth_one_is_the_weak_prior(family):
    facts = facts_of(family)
    for ours, theirs in zip(prior_of(family, facts).arrays, FAMILIES[family].weak_prior(facts).arrays, strict=True):
        np.testing.assert_allclose(ours, np.broadcast_to(theirs, ours.shape), rtol=1e-14)


@pytest.mark.parametrize("family", ROWS)
def test_a_prior_of_no_worth_leaves_maximum_likelihood_and_one_of_great_worth_makes_classes_equal(family):
    facts, x = facts_of(family), ROWS[family][:5]
    ml = density_of(family, facts, "ml").log_density_sum(x)
    almost = density_of(family, facts, "map", prior_of(family, facts, 1e-9)).log_density_sum(x)
    np.testing.assert_allclose(almost, ml, rtol=1e-6, atol=1e-6)
    stubborn = density_of(family, facts, "map", prior_of(family, facts, 1e9)).log_density_sum(x)
    np.testing.assert_allclose(stubborn[:, 0], stubborn[:, 1], atol=1e-4)


def test_a_pseudo_count_is_added_to_each_outcome():
    facts = facts_of("bernoulli")
    n, ones = facts.count, facts.total_u[..., 0]
    for c in (0.5, 1.0, 3.0):
        density = density_of("bernoulli", facts, "map", prior_of("bernoulli", facts, c))
        np.testing.assert_allclose(density.probability, (ones + c) / (n + 2 * c), rtol=1e-13)


@pytest.mark.parametrize(
    "family",
    [
        "bernoulli",
        "categorical",
        "multinomial",
        "poisson",
        "exponential",
        "gamma",
        "beta",
        "dirichlet",
        "normal",
        "multivariate_normal",
    ],
)
def test_the_mode_maximises_likelihood_plus_log_prior(family):
    """What EM's M step must do, checked against distributions nearby."""
    x, facts = ROWS[family], facts_of(family)
    prior = prior_of(family, facts, 2.5)
    mode = density_of(family, facts, "map", prior)

    def objective(density):
        return float((R * density.log_density_sum(x)).sum()) + log_prior(prior, density)

    best = objective(mode)
    for seed in range(4):
        for step in (1e-2, -1e-2):
            other = perturbed(family, facts, step, np.random.default_rng(seed))
            assert objective(other) < best


def perturbed(family, facts, step, rng):
    """A distribution near the mode: that of facts whose responsibilities were jittered."""
    jitter = np.clip(R + step * rng.normal(size=R.shape), 1e-6, None)
    prior = prior_of(family, facts, 2.5)
    new = (
        ValueCounts.of(ROWS[family], jitter)
        if family == "categorical"
        else FAMILIES[family].facts(ROWS[family], jitter)
    )
    return density_of(family, new, "map", prior)


def test_log_prior_differences_are_those_of_the_density_over_natural_parameters():
    """For Poisson: p(η) ∝ exp(a η - b e^η), integrated and normalised numerically."""
    from scipy import integrate

    facts = facts_of("poisson")
    prior = prior_of("poisson", facts, 2.0)
    a, b = prior.shape[0, 0], prior.rate[0, 0]
    Z = integrate.quad(lambda eta: np.exp(a * eta - b * np.exp(eta)), -20, 10)[0]
    one, two = (FAMILIES["poisson"](np.full((1, 1), rate)) for rate in (2.0, 5.0))
    single = type(prior)(a, b)
    exact = [a * np.log(r) - b * r - np.log(Z) for r in (2.0, 5.0)]
    assert log_prior(single, one) - log_prior(single, two) == pytest.approx(exact[0] - exact[1], rel=1e-12)


def test_predictive_has_wider_tails_than_the_mode():
    for family, far in (("normal", 30.0), ("poisson", 40.0), ("exponential", 60.0)):
        facts = facts_of(family)
        prior = prior_of(family, facts)
        point, whole = (density_of(family, facts, how, prior) for how in ("map", "predictive"))
        x = np.full((1, 2), far)
        assert (whole.log_density_sum(x) > point.log_density_sum(x)).all()


def test_marginal_likelihood_of_categories_is_polyas():
    facts = ValueCounts.of(np.array([[5.0], [9.0], [5.0]]), np.ones((3, 1)))
    assert log_marginal("categorical", facts)[0, 0] == pytest.approx(np.log(1 / 2 * 1 / 3 * 2 / 4))


def test_a_column_without_values_is_named_by_position():
    facts = FAMILIES["normal"].facts(np.column_stack([np.arange(4.0), np.full(4, np.nan)]), np.ones((4, 1)))
    with pytest.raises(FactsError, match="no values at all in column 1; drop the column"):
        prior_of("normal", facts)


def test_known_variance_counts_the_prior_in():
    """σ² minimises the penalised sum of squares: (Σ S_k + c var)/(N + c)."""
    facts = facts_of("normal_known_variance")
    prior = prior_of("normal_known_variance", facts, 4.0)
    x = ROWS["normal_known_variance"]
    within = sum(((x[R[:, k] == 1] - x[R[:, k] == 1].mean(0)) ** 2).sum(0) for k in range(2))
    np.testing.assert_allclose(prior.sd[0] ** 2, (within + 4 * x.var(axis=0)) / 44, rtol=1e-12)
    check = optimize.minimize_scalar(lambda v: 44 * np.log(v) + (within[0] + 4 * x[:, 0].var()) / v, bounds=(0.1, 50))
    assert prior.sd[0, 0] ** 2 == pytest.approx(check.x, rel=1e-4)
