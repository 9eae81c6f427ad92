"""Intervals of small, skewed posteriors of two weights, against quadrature on a grid."""

import numpy as np
import pytest
from scipy import special

import separatrix as sx

N_POINTS = 301  # of the grid along each weight
TAILS = np.array([0.025, 0.975])
PRIOR = 10.0  # standard deviation of the intercept


def rows(n, kind, seed):
    """A column with mean 0 and standard deviation 1, and labels that occur at least once."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    x = (x - x.mean()) / x.std()
    y = {"rare": x + rng.logistic(size=n) > 2.5, "separable": x > 0.3, "noisy": x + rng.logistic(size=n) > 0}[kind]
    y[np.argmax(x)], y[np.argmin(x)] = True, False
    return x[:, None], y.astype(int)


PROBLEMS = {
    f"{kind}, {n} rows, prior {scale:g}": (*rows(n, kind, seed), scale)
    for seed, (n, kind, scale) in enumerate(
        [(6, "separable", 30.0), (12, "noisy", 10.0), (30, "separable", 10.0), (30, "rare", 3.0), (60, "rare", 10.0),
         (25, "noisy", 1.0), (200, "rare", 10.0), (8, "noisy", 30.0)]
    )
}  # fmt: skip


def quantiles(values, weights):
    """Weighted quantiles of each row of values."""
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weights[order], axis=1)
    at = [np.searchsorted(each, TAILS) for each in reached]
    return np.stack([row[o][i] for row, o, i in zip(values, order, at, strict=True)])


def exact(X, y, scale, new):
    """Mean and quantiles of p(C_1) at new rows, over a grid about the mode that contains the posterior."""
    w, b = (np.linspace(-6 * sd, 6 * sd, N_POINTS) for sd in (scale, PRIOR))
    for _ in range(3):  # smaller grids, until the grid fits the posterior
        W, B = (each.ravel() for each in np.meshgrid(w, b, indexing="ij"))
        log_p = -0.5 * (W / scale) ** 2 - 0.5 * (B / PRIOR) ** 2
        for x, t in zip(X[:, 0], y, strict=True):
            log_p -= np.logaddexp(0.0, np.where(t, -1.0, 1.0) * (W * x + B))
        p = np.exp(log_p - log_p.max()).reshape(N_POINTS, N_POINTS)
        p /= p.sum()
        w, b = (
            np.linspace(*grid[np.flatnonzero(p.sum(axis=axis) > 1e-9)[[0, -1]]], N_POINTS)
            for grid, axis in ((w, 1), (b, 0))
        )
    a, kept = new * W[None] + B, p.ravel() > 1e-9
    weights = p.ravel()[kept] / p.ravel()[kept].sum()
    a = a[:, kept]
    return special.expit(a) @ weights, special.expit(quantiles(a, weights))


@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_are_near_the_exact_quantiles_and_their_reported_error_is_true(name):
    X, y, scale = PROBLEMS[name]
    prior = sx.Gaussian(scale, intercept_scale=PRIOR)
    model = sx.BayesianLogisticRegression(prior, standardize=False, rng=0).fit(X, y)
    new = np.concatenate([X, np.linspace(-3, 3, 31)[:, None]])
    p, bounds = exact(X, y, scale, new)
    off = np.abs(model.predict_interval(new) - bounds)
    assert off.mean() < 0.01
    assert off.max() < 0.05
    assert np.abs(model.predict_proba(new)[:, 1] - p).mean() < 0.008
    if len(y) < 8:  # they do not represent new rows
        assert np.isnan([model.probability_error_, model.largest_error_, model.interval_error_]).all()
    else:
        assert model.interval_error_ < 0.01
        assert model.largest_error_ < 0.03
        assert model.probability_error_ < 0.005


def test_intervals_of_a_model_with_draws_are_quantiles_of_its_draws():
    X, y, _ = PROBLEMS["noisy, 8 rows, prior 30"]
    for method in ("auto", "importance", "hmc"):
        model = sx.BayesianLogisticRegression(sx.Gaussian(10.0), approximation=method, rng=0).fit(X, y)
        theta, weights = model.draws_.theta[:, 0], model.draws_.weights
        a = model.posterior_.design.regressors(X) @ theta.T
        expected = special.expit(quantiles(a, weights))
        np.testing.assert_allclose(model.predict_interval(X), expected, atol=0.002)


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
def test_the_error_of_the_bounds_of_a_requested_gaussian_is_reported():
    X, y, scale = PROBLEMS["noisy, 12 rows, prior 10"]
    prior = sx.Gaussian(scale, intercept_scale=PRIOR)
    model = sx.BayesianLogisticRegression(prior, standardize=False, approximation="ep", rng=0).fit(X, y)
    off = np.abs(model.predict_interval(X) - exact(X, y, scale, X)[1]).mean()
    assert model.draws_ is None
    assert off > 0.02
    assert 0.5 < model.interval_error_ / off < 2
