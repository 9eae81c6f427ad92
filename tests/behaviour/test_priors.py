"""Priors on weights: penalties as their dense matrices, and errors that name the column."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from separatrix.exceptions import DataError
from separatrix.priors import Flat, Gaussian, Penalty, penalty

COLUMNS = ("age", "weight", "height")
C, P = 2, 4  # two outputs of three weights and a bias


def positive_definite(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T + size * np.eye(size)


def shapes(rng):
    """Each shape of precision with its dense (CP, CP) matrix."""
    diagonal, one, all_together = rng.uniform(size=P), positive_definite(rng, P), positive_definite(rng, C * P)
    return [
        (diagonal, np.diag(np.tile(diagonal, C))),
        (one, np.kron(np.eye(C), one)),
        (all_together, all_together),
    ]


@pytest.mark.parametrize("shape", [0, 1, 2], ids=["diagonal", "matrix", "all outputs"])
def test_a_penalty_is_its_dense_matrix(shape, rng):
    precision, dense = shapes(rng)[shape]
    mean, theta = rng.normal(size=(2, C, P))
    pull = Penalty(mean, precision)
    away = (theta - mean).ravel()
    value, grad = pull.value_grad(theta)
    assert_allclose(value, 0.5 * away @ dense @ away, rtol=1e-13)
    assert_allclose(grad.ravel(), dense @ away, rtol=1e-12, atol=1e-13)
    assert_allclose(pull.dot(theta).ravel(), dense @ theta.ravel(), rtol=1e-12, atol=1e-13)
    assert_allclose(pull.diagonal.ravel(), np.diag(dense))
    hess = positive_definite(rng, C * P)
    assert_allclose(pull.add_to(hess.copy()), hess + dense, rtol=1e-14)
    assert pull.add_to(hess) is hess


@pytest.mark.parametrize(
    ("prior", "covariance"),
    [
        (Gaussian(), np.eye(3)),
        (Gaussian(scale=2.0, mean=[1.0, 0.0, -1.0]), 4.0 * np.eye(3)),
        (Gaussian(scale=[0.5, 1.0, 3.0], mean=0.3), np.diag([0.25, 1.0, 9.0])),
        (Gaussian(covariance=[[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]], mean=0.1), None),
    ],
    ids=["isotropic", "isotropic with a mean", "per column", "full"],
)
def test_a_gaussian_penalty_is_minus_the_log_density_up_to_a_constant(prior, covariance, rng):
    normal = stats.multivariate_normal(
        np.broadcast_to(prior.mean, 3), prior.covariance if covariance is None else covariance
    )
    bias = stats.norm(0.0, 7.0)
    prior = Gaussian(prior.scale, prior.mean, prior.covariance, intercept_scale=7.0)
    pull = penalty(prior, (C, P), fit_intercept=True, columns=COLUMNS)
    here, there = rng.normal(size=(2, C, P))

    def log_density(theta):
        return sum(normal.logpdf(row[:3]) + bias.logpdf(row[3]) for row in theta)

    change = pull.value_grad(there)[0] - pull.value_grad(here)[0]
    assert_allclose(change, log_density(here) - log_density(there), rtol=1e-12)


def test_the_intercept_prior_is_omitted_without_intercept():
    pull = penalty(Gaussian(scale=0.5, mean=2.0), (1, 3), fit_intercept=False, columns=COLUMNS)
    assert_array_equal(pull.precision, [4.0, 4.0, 4.0])
    assert_array_equal(pull.mean, [[2.0, 2.0, 2.0]])
    full = penalty(Gaussian(covariance=4 * np.eye(3)), (2, 3), fit_intercept=False, columns=COLUMNS)
    assert_allclose(full.precision, np.eye(3) / 4)


def test_only_weights_without_a_finite_scale_are_free():
    for prior in (Gaussian(), Gaussian(covariance=np.eye(3))):
        free = penalty(prior, (C, P), fit_intercept=True, columns=COLUMNS).free
        assert_array_equal(free, [False, False, False, True])
    bound = penalty(Gaussian(intercept_scale=10.0), (C, P), fit_intercept=True, columns=COLUMNS)
    assert_allclose(bound.precision, [1.0, 1.0, 1.0, 0.01])
    infinite = penalty(Gaussian(scale=[1.0, np.inf, 1.0]), (C, P), fit_intercept=True, columns=COLUMNS)
    assert_array_equal(infinite.free, [False, True, False, True])


def test_flat_is_zero_everywhere(rng):
    pull = penalty(Flat(), (C, P), fit_intercept=True, columns=COLUMNS)
    value, grad = pull.value_grad(rng.normal(size=(C, P)))
    assert value == 0.0
    assert not grad.any()
    assert pull.free.all()
    assert not pull.add_to(np.zeros((C * P, C * P))).any()


def test_a_covariance_symmetric_up_to_rounding_is_accepted(rng):
    S = positive_definite(rng, 3) * np.outer([1e-6, 1.0, 1e6], [1e-6, 1.0, 1e6])
    pull = penalty(Gaussian(covariance=S + 1e-14 * np.tril(S, -1)), (1, 3), fit_intercept=False, columns=COLUMNS)
    assert_allclose(np.linalg.inv(pull.precision), S, rtol=1e-9)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (Gaussian(scale=0.0), r"Gaussian\(scale=...\) is 0 for age; a scale must be greater than 0"),
        (Gaussian(scale=[1.0, -2.0, 1.0]), r"Gaussian\(scale=...\) is -2 for weight"),
        (Gaussian(scale=[1.0, 2.0]), r"Gaussian\(scale=...\) has shape \(2,\), but there are 3 columns"),
        (Gaussian(mean=[0.0, np.inf, 0.0]), r"Gaussian\(mean=...\) is inf for weight; it must be finite"),
        (Gaussian(intercept_scale=0.0), r"Gaussian\(intercept_scale=...\) is 0 for the bias"),
        (Gaussian(covariance=np.eye(2)), r"shape \(2, 2\), but there are 3 columns: it must be \(3, 3\)"),
        (Gaussian(covariance=np.triu(np.ones((3, 3)))), "must be symmetric and finite"),
        (Gaussian(covariance=np.diag([1.0, np.nan, 1.0])), "must be symmetric and finite"),
        (Gaussian(covariance=np.diag([1.0, 0.0, 1.0])), r"smallest eigenvalue is 0, mostly along 'weight'"),
        (Gaussian(scale=[1.0, 2.0, 3.0], covariance=np.eye(3)), "with a covariance, scale must be one number"),
    ],
)
def test_impossible_priors_are_refused(prior, message):
    with pytest.raises(DataError, match=message):
        penalty(prior, (C, P), fit_intercept=True, columns=COLUMNS)


def test_only_arguments_that_are_not_defaults_are_printed():
    assert repr(Gaussian()) == "Gaussian()"
    assert repr(Gaussian([0.5, 2.0], intercept_scale=3.0)) == "Gaussian(scale=[0.5, 2.0], intercept_scale=3.0)"
    assert repr(Gaussian(covariance=np.eye(1))) == "Gaussian(covariance=array([[1.]]))"
