"""The linear form is the log density up to a term that all classes share, family by family."""

import numpy as np
import pytest

from separatrix.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Gamma,
    Multinomial,
    MultivariateNormal,
    Normal,
    NormalKnownVariance,
    Poisson,
)
from separatrix.generative.affine import affine_form, why_not_affine
from separatrix.generative.groups import Group, GroupedDensity

RNG = np.random.default_rng(2)
LINEAR = {
    "bernoulli": (Bernoulli(RNG.normal(size=(3, 2))), RNG.integers(0, 2, (6, 2)).astype(float)),
    "poisson": (Poisson(RNG.gamma(2, 1, (3, 2))), RNG.poisson(2.0, (6, 2)).astype(float)),
    "exponential": (Exponential(RNG.gamma(2, 1, (3, 2))), RNG.exponential(1, (6, 2))),
    "multinomial": (Multinomial.of_mean_u(RNG.gamma(2, 1, (3, 2))), RNG.poisson(3.0, (6, 2)).astype(float)),
    "gamma": (Gamma([[1.5, 3.0]], RNG.gamma(2, 1, (3, 2))), RNG.exponential(1, (6, 2))),
    "normal_known_variance": (
        NormalKnownVariance(RNG.normal(1e3, 1, (3, 2)), [[1.0, 2.0]]),
        RNG.normal(1e3, 2, (6, 2)),
    ),
    "multivariate_normal": (
        MultivariateNormal(RNG.normal(size=(3, 2)), np.array([[[2.0, 0.5], [0.5, 1.0]]])),
        RNG.normal(size=(6, 2)),
    ),
}


def alone(family, density):
    return GroupedDensity((Group(family, (0, 1)),), (density,))


@pytest.mark.parametrize("family", LINEAR)
def test_differences_between_classes_are_linear(family):
    density, x = LINEAR[family]
    form = affine_form(alone(family, density))
    exact = density.log_density_sum(x)
    np.testing.assert_allclose(
        np.diff(form.scores(x), axis=1),
        np.diff(exact, axis=1),
        rtol=1e-9,
        atol=1e-9 if family != "normal_known_variance" else 1e-6,
    )
    np.testing.assert_allclose(form.scores(x), x @ form.W.T + form.intercept, rtol=1e-12, atol=1e-9)


def test_groups_add_at_their_own_columns():
    both = GroupedDensity(
        (Group("bernoulli", (1, 3)), Group("poisson", (0, 2))), (LINEAR["bernoulli"][0], LINEAR["poisson"][0])
    )
    X = np.zeros((6, 4))
    X[:, [1, 3]], X[:, [0, 2]] = LINEAR["bernoulli"][1], LINEAR["poisson"][1]
    exact = both.log_density(X, "abcd")
    np.testing.assert_allclose(np.diff(affine_form(both).scores(X), axis=1), np.diff(exact, axis=1), rtol=1e-10)


@pytest.mark.parametrize(
    ("family", "density"),
    [
        ("normal", Normal(RNG.normal(size=(3, 2)), np.ones((3, 2)))),
        ("gamma", Gamma(RNG.gamma(2, 1, (3, 2)), 1.0)),
        ("categorical", Categorical(np.log(np.full((3, 2, 2), 0.5)))),
        ("normal_known_variance", NormalKnownVariance(RNG.normal(size=(3, 2)), RNG.gamma(2, 1, (3, 2)))),
    ],
)
def test_families_without_a_linear_form_say_so(family, density):
    assert affine_form(alone(family, density)) is None
    why = why_not_affine(alone(family, density), ("age", "income"))
    assert why.startswith(f"the log-odds are not linear in column 'age' ({family})")


def test_a_probability_of_zero_has_no_finite_form():
    density = Bernoulli(np.array([[-np.inf, 0.0], [0.0, 0.0]]))
    assert affine_form(alone("bernoulli", density)) is None
    assert "a probability is 0 in column 'age' (bernoulli)" in why_not_affine(alone("bernoulli", density), ("age", "b"))
