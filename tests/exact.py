"""Posteriors of two weights, by sums over a fine grid: what every approximation of them is an approximation to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.bayesian.posterior import laplace
from separatrix.likelihoods import LabelNoise, Logit, Probit
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, pose

LIKELIHOODS = {"logit": Logit(), "probit": Probit(), "label_noise": LabelNoise(0.08, 0.03)}


@dataclass(frozen=True, eq=False)
class Exact:
    """Mean (2,), covariance (2, 2), log evidence, and the grid that they are sums over."""

    mean: np.ndarray
    covariance: np.ndarray
    log_evidence: float
    theta: np.ndarray  # (cells, 2)
    weights: np.ndarray  # (cells,), sum to one

    def probability(self, X, likelihood):
        return likelihood.probability((X @ self.theta.T).ravel()).reshape(len(X), -1) @ self.weights


def on_a_grid(objective, X, t, scale, *, weight=None, half_width=8.0, n=201):
    """The posterior of (w_1, w_2) ~ N(0, scale²) without a bias: the trapezium rule, which converges exponentially."""
    axis = np.linspace(-half_width, half_width, n) * scale
    theta = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    log_joint = -0.5 * (theta**2).sum(axis=1) / scale**2 - np.log(2 * np.pi * scale**2)
    for i, row in enumerate(X):
        each = np.full(len(theta), t[i])
        log_joint += (1.0 if weight is None else weight[i]) * objective.likelihood.derivatives(theta @ row, each).log_p
    top = log_joint.max()
    mass = np.exp(log_joint - top)
    cell = (axis[1] - axis[0]) ** 2
    weights = mass / mass.sum()
    mean = weights @ theta
    away = theta - mean
    return Exact(mean, (away * weights[:, None]).T @ away, top + np.log(mass.sum() * cell), theta, weights)


def two_weights(likelihood="logit", n=25, seed=0, scale=2.0):
    """X (n, 2) and t of a posterior that is visibly not Gaussian."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    t = (X @ [1.5, -0.7] + rng.logistic(size=n) > 0).astype(int)
    return posed(X, t, scale=scale, likelihood=LIKELIHOODS[likelihood]), X, t


def posed(X, t, *, scale=1.0, likelihood=None, weight=None, offset=None, mean=0.0, fit_intercept=False, rows=None):
    """The objective of a proper posterior."""
    source = as_source(X).with_numbers(t, weight, offset)
    source = source if rows is None else replace(source, height=rows)
    prior = Gaussian(scale=scale, mean=mean, intercept_scale=3.0)
    return pose(source, likelihood or Logit(), prior, fit_intercept=fit_intercept)


def at_the_mode(objective):
    """Its Laplace approximation."""
    return laplace(objective, Auto().minimise(objective, np.zeros(objective.shape)).value)
