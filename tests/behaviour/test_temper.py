# SPDX-License-Identifier: BSD-3-Clause
"""Tempering: the laws of the exponent, an independent optimiser, and extreme densities."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from separatrix.exceptions import ConvergenceWarning
from separatrix.generative import NaiveBayes
from separatrix.generative.temper import fit_temperature, tempered, tempered_likelihood
from separatrix.rows import UNLABELLED, Block, as_source

PI = np.array([0.5, 0.3, 0.2])


def identity(X):
    """Use the rows as log likelihoods."""
    return X


def rows(n=60, seed=0, scale=3.0):
    rng = np.random.default_rng(seed)
    t = rng.integers(0, 3, n)
    return scale * (rng.normal(size=(n, 3)) + (np.arange(3) == t[:, None])), t, rng.uniform(0.1, 3.0, n)


def likelihood(L, t, weight, tau, pi=PI, share=0.0):
    """L(τ) as the definition has it, for finite log likelihoods."""
    a = log_softmax(tau * L + np.log(pi), axis=1)
    return weight @ (a[np.arange(len(t)), t] + share * a @ pi)


def statistic(L, t, weight, tau, pi=PI, share=0.0):
    with np.errstate(divide="ignore"):
        log_pi = np.log(pi)
    return tempered_likelihood(Block(L, t, weight, range(len(t))), tau, identity, log_pi, share)


def fitted(L, t, pi=PI, share=0.0, **options):
    return fit_temperature(as_source(L, t), identity, np.log(pi), share, **options)


# -- the statistic -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("tau", [0.0, 0.2, 1.0, 3.0])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_value_and_derivatives_agree_with_the_definition(tau, share):
    L, t, weight = rows()
    at = statistic(L, t, weight, tau, share=share)
    h = 1e-4
    below, here, above = (likelihood(L, t, weight, tau + step, share=share) for step in (-h, 0.0, h))
    value, slope, curvature = at
    assert value == pytest.approx(here, rel=1e-12)
    assert slope == pytest.approx((above - below) / (2 * h), rel=1e-5, abs=1e-5)
    assert curvature == pytest.approx((above - 2 * here + below) / h**2, rel=1e-3)
    assert curvature < 0


@given(st.lists(st.integers(0, 60), max_size=4))
def test_any_partition_of_the_rows_gives_the_whole(cuts):
    L, t, weight = rows()
    edges = [0, *sorted(cuts), 60]
    parts = [statistic(L[a:b], t[a:b], weight[a:b], 0.7, share=0.1) for a, b in pairwise(edges)]
    total = sum(parts[1:], parts[0])
    whole = statistic(L, t, weight, 0.7, share=0.1)
    np.testing.assert_allclose(total, whole, rtol=1e-12)


def test_rows_without_a_label_or_weight_are_left_out():
    L, t, weight = rows()
    silent = np.arange(60) % 3
    unlabelled, weightless = np.where(silent == 1, UNLABELLED, t), np.where(silent == 2, 0.0, weight)
    some = statistic(L, unlabelled, weightless, 0.7, share=0.1)
    rest = silent == 0
    np.testing.assert_allclose(some, statistic(L[rest], t[rest], weight[rest], 0.7, share=0.1))


@pytest.mark.parametrize("tau", [0.0, 0.5, 2.0])
def test_an_impossible_class_is_left_out(tau):
    """The row counts as in a model of the other classes only."""
    L, t, weight = rows()
    keep = t != 2
    without = statistic(L[keep][:, :2], t[keep], weight[keep], tau, pi=PI[:2])  # Σ p(C_k) cancels
    holed = np.where(np.arange(3) == 2, -np.inf, L)  # rows of class 2 are then impossible under their own class
    np.testing.assert_allclose(statistic(holed, t, weight, tau), without, atol=1e-12)
    np.testing.assert_allclose(statistic(L, t, weight, tau, pi=PI * [1, 1, 0]), without, atol=1e-12)
    nowhere = statistic(np.full_like(L, -np.inf), t, weight, tau, share=0.1)
    assert not nowhere.any()


# -- the maximum -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("scale", [1e-3, 0.3, 3.0, 40.0, 1e4])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_maximum_agrees_with_another_optimiser(scale, seed):
    L, t, _ = rows(200, seed=seed, scale=scale)
    found = fitted(L, t, share=0.01)
    other = minimize_scalar(
        lambda tau: -likelihood(L, t, np.ones(200), tau, share=0.01), bounds=(0, 20 / scale), options={"xatol": 1e-12}
    )
    assert found.value == pytest.approx(other.x, rel=2e-6)  # theirs: a parabola is flat to half the digits
    assert abs(statistic(L, t, np.ones(200), found.value, share=0.01)[1]) < 1e-6 * scale
    assert found.passes == len(found.trace) <= 20


def test_misleading_densities_give_exponent_zero_and_uninformative_ones_one():
    _, t, _ = rows()
    assert fitted(np.full((60, 3), -7.0), t, share=0.1).value == 1.0
    assert fitted(-10.0 * (np.arange(3) == t[:, None]), t, share=0.1).value == 0.0
    np.testing.assert_array_equal(tempered(np.array([[-np.inf, -3.0]]), 0.0), [[-np.inf, 0.0]])


def test_separated_classes_have_a_finite_exponent():
    """All N rows lead by one nat; with one row of doubt, p(own class) = (N + 1/2)/(N + 1), as Laplace has it."""
    t = np.arange(100) % 2
    pi = np.array([0.5, 0.5])
    found = fitted(np.eye(2)[t], t, pi=pi, share=1 / 100)
    assert 1 / (1 + np.exp(-found.value)) == pytest.approx((100 + 0.5) / 101, rel=1e-9)


def test_a_limit_of_steps_is_a_warning():
    L, t, _ = rows(200, scale=40.0)
    with pytest.warns(ConvergenceWarning, match="temper=True stopped after 2 passes"):
        fitted(L, t, max_steps=2)


# -- in a model --------------------------------------------------------------------------------------------------------
def independent(n=4000, seed=5):
    rng = np.random.default_rng(seed)
    t = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "size": rng.normal(0.6 * t, 1.0 + 0.2 * t),
            "visits": rng.poisson(1.0 + t),
            "wait": rng.exponential(1.0 + 0.5 * t),
            "kind": np.array(["u", "v", "w"])[(rng.random(n) < 0.3 + 0.2 * t).astype(int) + rng.integers(0, 2, n)],
        }
    )
    return frame, t


FAMILIES = {"size": "normal", "visits": "poisson", "wait": "exponential"}


def test_independent_columns_have_the_exponent_one_within_its_standard_error():
    errors = []
    for seed in range(8):
        X, t = independent(seed=seed)
        model = NaiveBayes(FAMILIES, temper=True).fit(X, t)
        L = model._map_rows(X, model._log_likelihood)
        at = statistic(L, t, np.ones(len(t)), model.temperature_, pi=model.priors_)
        errors.append((model.temperature_ - 1) * np.sqrt(-at[2]))
    assert np.abs(errors).max() < 3.5
    assert abs(np.mean(errors)) < 3 / np.sqrt(8)


@pytest.mark.parametrize("r", [2, 5])
@pytest.mark.parametrize("estimate", ["map", "ml"])
def test_copies_of_every_column_divide_the_exponent_and_keep_the_probabilities(r, estimate):
    X, t = independent(800)
    once = NaiveBayes(FAMILIES, estimate=estimate, temper=True).fit(X, t)
    copies = pd.concat([X.add_suffix(str(i)) for i in range(r)], axis=1)
    families = {f"{name}{i}": family for name, family in FAMILIES.items() for i in range(r)}
    often = NaiveBayes(families, estimate=estimate, temper=True).fit(copies, t)
    assert often.temperature_ == pytest.approx(once.temperature_ / r, rel=1e-7)
    np.testing.assert_allclose(often.predict_proba(copies), once.predict_proba(X), atol=1e-7)


def test_zero_probabilities_of_maximum_likelihood_are_handled():
    rng = np.random.default_rng(2)
    t = rng.integers(0, 3, 200)
    X = (rng.random((200, 3)) < np.array([[0.0, 0.5, 0.5], [0.6, 1.0, 0.5], [0.5, 0.5, 0.2]])[t]).astype(float)
    model = NaiveBayes("bernoulli", estimate="ml", temper=True).fit(X, t)
    assert 0 < model.temperature_ < np.inf
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert (proba[X[:, 0] == 1, 0] == 0).all()


def test_only_labelled_rows_determine_the_exponent_after_em():
    X, t = independent(600)
    few = np.where(np.arange(600) % 3 == 0, t, -1)
    model = NaiveBayes(FAMILIES, unlabelled=-1, temper=True).fit(X, few)
    L = model._map_rows(X, model._log_likelihood)[::3]
    best = minimize_scalar(
        lambda tau: -likelihood(L, t[::3], np.ones(200), tau, pi=model.priors_, share=1 / 200),
        bounds=(0, 5),
        options={"xatol": 1e-10},
    )
    assert model.temperature_ == pytest.approx(best.x, rel=1e-6)
