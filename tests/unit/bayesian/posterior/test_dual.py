"""The posterior in the space of the rows is the full one, to rounding."""

import numpy as np
import pytest
from scipy import sparse

from separatrix.bayesian.posterior import memory
from separatrix.bayesian.posterior.approximation import laplace
from separatrix.bayesian.posterior.by_class import laplace_by_class
from separatrix.bayesian.posterior.dual import laplace_dual
from separatrix.exceptions import DataError
from separatrix.likelihoods import Logit, Probit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, pose

M = 40


def posed(likelihood, rng, *, bias=True, n=15, store=np.asarray, repeat=False, weight=None):
    X = rng.normal(size=(n, M)) + 2.0
    if repeat:
        X[n // 2 :] = X[: n - n // 2]  # rank n/2
    y = np.arange(n) % max(2, likelihood.n_outputs)
    prior = Gaussian(rng.uniform(0.3, 2.0, M), intercept_scale=3.0)
    objective = pose(as_source(store(X), y, weight), likelihood, prior, fit_intercept=bias, standardize=True)
    return objective, Auto(1e-11).minimise(objective, np.zeros(objective.shape)).value


@pytest.fixture(
    params=[
        (Logit(), {}),
        (Probit(), {"bias": False}),
        (Softmax(3), {}),
        (Softmax(4), {"bias": False}),
        (Logit(), {"repeat": True}),
        (Softmax(3), {"repeat": True}),
        (Logit(), {"store": sparse.csr_array}),
        (Softmax(3), {"weight": 0.5 + np.arange(15.0)}),
    ],
    ids=["logit", "probit", "softmax", "no bias", "repeated", "repeated softmax", "sparse", "weighted"],
)
def pair(request, rng):
    likelihood, options = request.param
    objective, mode = posed(likelihood, rng, **options)
    return objective, laplace(objective, mode), laplace_dual(objective, mode)


def test_evidence_is_that_of_all_weights(pair):
    _, full, ours = pair
    assert np.isclose(ours.log_evidence, full.log_evidence, rtol=1e-10)
    assert np.isclose(ours.log_likelihood, full.log_likelihood, rtol=1e-10)
    assert (ours.name, ours.structure) == ("laplace", "dual")


def test_moments_of_the_weights_are_the_same(pair):
    _, full, ours = pair
    assert np.allclose(ours.mean, full.mean, atol=1e-8)
    assert np.allclose(ours.std, full.std, rtol=1e-8)
    assert np.allclose(ours.covariance, full.covariance, atol=1e-9)


def test_activations_of_new_rows_are_the_same(pair, rng):
    objective, full, ours = pair
    X = 3 * rng.normal(size=(9, M))
    a, b = full.activations(X, objective.design), ours.activations(X, objective.design)
    assert np.allclose(a.mean, b.mean, rtol=1e-7, atol=1e-8)
    assert np.allclose(a.cov, b.cov, rtol=1e-7, atol=1e-8)


def test_the_rows_themselves_have_no_variance_outside_their_span(pair):
    objective, full, ours = pair
    X = objective.source.reader.read(slice(0, 15))
    a, b = full.activations(X, objective.design), ours.activations(X, objective.design)
    assert np.allclose(a.cov, b.cov, rtol=1e-7, atol=1e-8)


def test_draws_have_the_covariance(pair, rng):
    _, _, ours = pair
    S = ours.covariance
    draws = ours.sample(10_000, rng).reshape(10_000, -1)
    unit = np.sqrt(np.diag(S))
    assert np.abs((draws.mean(axis=0) - ours.mean.ravel()) / unit).max() < 0.06
    assert np.abs((np.cov(draws.T) - S) / np.outer(unit, unit)).max() < 0.07


def test_across_the_span_only_the_prior_speaks(rng):
    objective, mode = posed(Logit(), rng, bias=False)
    X, precision = objective.source.reader.read(slice(0, 15)), objective.prior.precision
    z = rng.normal(size=M)
    x = precision * (z - np.linalg.lstsq(X.T, z, rcond=None)[0] @ X)  # X Λ⁻¹ x = 0
    a = laplace_dual(objective, mode).activations(x[None], objective.design)
    assert np.isclose(a.mean[0], 0.0, atol=1e-9)
    assert np.isclose(a.cov[0], x @ (x / precision), rtol=1e-12)


def test_a_mode_that_strays_from_the_span_is_brought_back(rng):
    objective, mode = posed(Logit(), rng)
    strayed = mode.copy()
    strayed[:, :M] += 0.1 * rng.normal(size=M)
    exact, ours = laplace_dual(objective, mode), laplace_dual(objective, strayed)
    moved = (ours.mean - exact.mean)[0, :M]
    span = objective.source.reader.read(slice(0, 15)) / objective.prior.precision[:M]
    assert np.allclose(np.linalg.lstsq(span.T, moved, rcond=None)[0] @ span, moved, atol=1e-9)


def test_a_thin_problem_may_itself_be_taken_by_class(rng):
    objective, mode = posed(Softmax(3), rng)
    full, ours = laplace_dual(objective, mode), laplace_dual(objective, mode, of_thin=laplace_by_class)
    assert ours.log_evidence < full.log_evidence
    assert np.allclose(ours.std, full.std, rtol=0.05)


def test_many_columns_take_no_matrix_of_their_size(rng, monkeypatch):
    X = rng.normal(size=(30, 6000))
    objective = pose(
        as_source(X, np.arange(30) % 2),
        Logit(),
        Gaussian(0.1, intercept_scale=3.0),
        fit_intercept=True,
        standardize=True,
    )
    mode = Auto().minimise(objective, np.zeros(objective.shape)).value
    monkeypatch.setattr(memory, "machine_memory", lambda: 2.0**28)
    ours = laplace_dual(objective, mode)
    assert ours.std.shape == (1, 6001)
    assert (ours.std[0, :-1] <= 0.1 / objective.units.spread * (1 + 1e-12)).all()  # data only ever narrow it
    with pytest.raises(DataError, match=r"covariance of 1 x 6001 weights needs 824 MiB .* has 256 MiB"):
        _ = ours.covariance
