"""Against the diagonal of the full Hessian, dense and sparse."""

import numpy as np
import pytest
from scipy import sparse

from problems import blobs
from separatrix.bayesian.posterior import memory
from separatrix.bayesian.posterior.approximation import laplace
from separatrix.bayesian.posterior.diagonal import laplace_diagonal
from separatrix.exceptions import DataError
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Flat, Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, pose


def posed(n_classes=3, *, store=np.asarray, bias=True, weight=None):
    X, y = blobs(200, 4, n_classes, seed=1)
    X[np.abs(X) < 1] = 0.0
    likelihood = Logit() if n_classes == 2 else Softmax(n_classes)
    prior = Gaussian(1.0, intercept_scale=5.0)
    objective = pose(as_source(store(X), y, weight), likelihood, prior, fit_intercept=bias, standardize=True)
    return objective, Auto(1e-10).minimise(objective, np.zeros(objective.shape)).value


@pytest.fixture(
    params=[
        (2, {}),
        (3, {}),
        (3, {"bias": False}),
        (2, {"store": sparse.csr_array}),
        (3, {"store": sparse.csr_array, "weight": np.arange(200.0) % 4}),
        (3, {"store": sparse.csr_array, "bias": False}),
    ],
    ids=["two", "three", "no bias", "sparse two", "sparse weighted", "sparse no bias"],
)
def pair(request):
    n_classes, options = request.param
    objective, mode = posed(n_classes, **options)
    return objective, laplace(objective, mode), laplace_diagonal(objective, mode)


def test_precisions_are_the_diagonal_of_the_hessian(pair):
    _, full, ours = pair
    assert np.allclose(ours.precision.ravel(), np.diag(full.factor.matrix), rtol=1e-10)
    assert np.isclose(ours.log_likelihood, full.log_likelihood, rtol=1e-12)


def test_what_it_gets_wrong_it_gets_wrong_in_a_known_direction(pair):
    _, full, ours = pair
    assert (ours.std <= full.std * (1 + 1e-12)).all()
    assert ours.log_evidence < full.log_evidence
    gap = 0.5 * (np.log(np.diag(full.factor.matrix)).sum() - full.factor.log_det)
    assert np.isclose(full.log_evidence - ours.log_evidence, gap, rtol=1e-8)


def test_activations_and_draws_agree_with_the_covariance(pair, rng):
    objective, _, ours = pair
    C, P = objective.shape
    X = rng.normal(size=(5, 4))
    Phi = objective.design.regressors(X)
    S = ours.covariance.reshape(C, P, C, P)
    cov = np.einsum("np,jpkr,nr->njk", Phi, S, Phi)
    for rows in (X, sparse.csr_array(X)):
        a = ours.activations(rows, objective.design)
        assert np.allclose(a.mean, (Phi @ ours.mean.T).reshape(a.mean.shape))
        assert np.allclose(a.cov, cov.reshape(a.cov.shape))
    draws = ours.sample(20_000, rng)
    assert np.abs(draws.std(axis=0) / ours.std - 1).max() < 0.03
    assert np.abs((draws.mean(axis=0) - ours.mean) / ours.std).max() < 0.03


def test_it_is_exact_where_columns_never_meet():
    X = np.repeat(np.eye(3), 20, axis=0) * 2.0
    y = np.arange(60) % 2
    objective = pose(as_source(X, y), Logit(), Gaussian(1.0), fit_intercept=False)
    mode = Auto(1e-12).minimise(objective, np.zeros((1, 3))).value
    full, ours = laplace(objective, mode), laplace_diagonal(objective, mode)
    assert np.allclose(full.covariance, ours.covariance)
    assert np.isclose(full.log_evidence, ours.log_evidence)


def test_two_equal_columns_are_given_twice_the_variance():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 1))
    y = (x[:, 0] + rng.logistic(size=500) > 0).astype(np.intp)
    objective = pose(as_source(np.hstack([x, x]), y), Logit(), Gaussian(100.0), fit_intercept=False)
    mode = Auto().minimise(objective, np.zeros((1, 2))).value
    full, ours = (
        how(objective, mode).activations(np.ones((1, 2)), objective.design) for how in (laplace, laplace_diagonal)
    )
    assert np.isclose(ours.cov[0] / full.cov[0], 2.0, rtol=1e-3)


def test_a_weight_without_prior_or_data_is_named():
    X, y = blobs(50, 2, 2)
    X = np.column_stack([X, np.zeros(50)])
    objective = pose(as_source(X, y), Logit(), Flat(), fit_intercept=False)
    with pytest.raises(DataError, match=r"no end along the weight of 'x2': its curvature there is 0"):
        laplace_diagonal(objective, np.zeros(objective.shape))


def test_a_covariance_that_does_not_fit_is_refused(monkeypatch):
    objective, mode = posed()
    monkeypatch.setattr(memory, "machine_memory", lambda: 1000.0)
    with pytest.raises(DataError, match=r"covariance of 15 weights needs 1.76 KiB.*use `std`"):
        _ = laplace_diagonal(objective, mode).covariance
