"""Against the full Laplace approximation, and against the diagonal blocks of its Hessian by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import log_loss

from problems import blobs
from separatrix.bayesian.posterior import by_class
from separatrix.bayesian.posterior.approximation import laplace
from separatrix.bayesian.posterior.by_class import laplace_by_class
from separatrix.bayesian.predictive import softmax_normal
from separatrix.exceptions import DataError
from separatrix.likelihoods import Softmax, SoftmaxLabelNoise
from separatrix.priors import Flat, Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, pose

IMAGES = Path(__file__).parents[5] / "shared" / "data" / "fashion_mnist" / "fashion_mnist.npz"


def posed(n_classes=3, prior=None, n_features=4, weight=None, n=300):
    X, y = blobs(n, n_features, n_classes, seed=n_classes)
    prior = Gaussian(1.0, intercept_scale=5.0) if prior is None else prior
    objective = pose(as_source(X, y, weight), Softmax(n_classes), prior, fit_intercept=True, standardize=True)
    return objective, Auto(1e-10).minimise(objective, np.zeros(objective.shape)).value


@pytest.fixture(params=["contrasts", "classes"])
def pair(request):
    objective, mode = posed()
    axes = np.eye(3) if request.param == "classes" else None
    return objective, laplace(objective, mode), laplace_by_class(objective, mode, axes=axes)


def test_blocks_are_those_of_the_hessian_in_the_basis_of_the_axes(pair):
    objective, full, ours = pair
    C, P = objective.shape
    H = full.factor.matrix.reshape(C, P, C, P)
    for q, factor in zip(ours.axes.T, ours.factors, strict=True):
        assert np.allclose(factor.matrix, np.einsum("j,jpkr,k->pr", q, H, q), rtol=1e-9, atol=1e-9)


def test_the_divergence_from_the_full_gaussian_is_what_the_evidence_lacks(pair):
    _, full, ours = pair
    H, S = full.factor.matrix, ours.covariance
    divergence = 0.5 * (np.trace(H @ S) - len(H) - np.linalg.slogdet(S)[1] - np.linalg.slogdet(H)[1])
    assert divergence > 0
    assert np.isclose(full.log_evidence - ours.log_evidence, divergence, rtol=1e-6)
    assert np.isclose(full.log_likelihood, ours.log_likelihood, rtol=1e-12)


def test_contrasts_are_closer_than_classes():
    objective, mode = posed(5)
    by_contrast, alone = laplace_by_class(objective, mode), laplace_by_class(objective, mode, axes=np.eye(5))
    assert by_contrast.log_evidence > alone.log_evidence


def test_contrasts_are_exact_for_two_classes():
    objective, mode = posed(2)
    full, ours = laplace(objective, mode), laplace_by_class(objective, mode)
    assert np.isclose(full.log_evidence, ours.log_evidence, rtol=1e-12)
    assert np.allclose(full.covariance, ours.covariance, atol=1e-12)


def test_contrasts_are_exact_where_all_rows_have_the_same_probabilities():
    objective, mode = posed(4)
    mode = np.zeros_like(mode)
    mode[:, -1] = [0.0, 0.5, -1.0, 2.0]  # a bias alone
    full, ours = laplace(objective, mode), laplace_by_class(objective, mode)
    assert np.allclose(full.covariance, ours.covariance, atol=1e-12)


def test_classes_are_exact_where_they_decouple():
    objective, mode = posed(3)
    nothing = replace(objective, source=as_source(np.zeros((1, 4)), np.array([0]), np.zeros(1)))  # prior alone
    full, ours = laplace(nothing, mode), laplace_by_class(nothing, mode, axes=np.eye(3))
    assert np.allclose(full.covariance, ours.covariance, atol=1e-12)
    assert np.isclose(full.log_evidence, ours.log_evidence)


def test_std_activations_and_draws_agree_with_the_covariance(pair, rng):
    objective, _, ours = pair
    C, P = objective.shape
    S = ours.covariance
    assert np.allclose(ours.std.ravel(), np.sqrt(np.diag(S)), rtol=1e-12)
    X = rng.normal(size=(6, 4))
    Phi = objective.design.regressors(X)
    a = ours.activations(X, objective.design)
    assert np.allclose(a.mean, Phi @ ours.mean.T)
    assert np.allclose(a.cov, np.einsum("np,jpkr,nr->njk", Phi, S.reshape(C, P, C, P), Phi), rtol=1e-10)
    draws = ours.sample(40_000, rng).reshape(40_000, -1)
    unit = np.sqrt(np.diag(S))
    assert np.abs((draws.mean(axis=0) - ours.mean.ravel()) / unit).max() < 0.025
    assert np.abs((np.cov(draws.T) - S) / np.outer(unit, unit)).max() < 0.03


@pytest.mark.parametrize("prior", ["column", "matrix", "joint", "flat bias"])
def test_priors_of_every_shape(prior, rng):
    objective, mode = posed(3, Gaussian(1.0) if prior == "flat bias" else None)
    C, P = objective.shape
    root = rng.normal(size=(C * P, C * P))
    if prior == "joint":
        objective = replace(objective, prior=replace(objective.prior, precision=root @ root.T))
    if prior == "matrix":
        objective = replace(objective, prior=replace(objective.prior, precision=root[:P, :P] @ root[:P, :P].T))
    full, ours = laplace(objective, mode), laplace_by_class(objective, mode)
    H = full.factor.matrix.reshape(C, P, C, P)
    for q, factor in zip(ours.axes.T, ours.factors, strict=True):
        assert np.allclose(factor.matrix, np.einsum("j,jpkr,k->pr", q, H, q), rtol=1e-8, atol=1e-8)
    assert (ours.log_evidence == -np.inf) == (prior == "flat bias")  # as for the full one


def test_labels_that_may_be_wrong_have_contrasts_too():
    X, y = blobs(300, 4, 3, seed=3)
    confusion = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    prior = Gaussian(0.5, intercept_scale=5.0)
    objective = pose(as_source(X, y), SoftmaxLabelNoise(confusion), prior, fit_intercept=True, standardize=True)
    mode = Auto(1e-10).minimise(objective, np.zeros(objective.shape)).value
    full, ours = laplace(objective, mode), laplace_by_class(objective, mode)
    C, P = objective.shape
    H = full.factor.matrix.reshape(C, P, C, P)
    for q, factor in zip(ours.axes.T, ours.factors, strict=True):
        assert np.allclose(factor.matrix, np.einsum("j,jpkr,k->pr", q, H, q), rtol=1e-8, atol=1e-8)
    assert full.log_evidence - 3 < ours.log_evidence < full.log_evidence


def test_weights_count_as_rows_do():
    weight = np.arange(300.0) % 3
    objective, mode = posed(3, weight=weight)
    X, y = blobs(300, 4, 3, seed=3)
    often = np.repeat(np.arange(300), weight.astype(int))
    repeated = replace(objective, source=as_source(X[often], y[often]))
    once, twice = laplace_by_class(objective, mode), laplace_by_class(repeated, mode)
    assert np.allclose(once.std, twice.std, rtol=1e-10)
    assert np.isclose(once.log_evidence, twice.log_evidence, rtol=1e-12)


def test_a_pass_for_each_axis_gives_the_same_as_one_for_all(monkeypatch):
    objective, mode = posed(4)
    at_once = laplace_by_class(objective, mode)
    monkeypatch.setattr(by_class, "PASS_BYTES", 1)
    assert np.array_equal(laplace_by_class(objective, mode).std, at_once.std)


def test_a_direction_without_prior_or_data_is_named():
    X, y = blobs(100, 3, 3)
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    objective = pose(as_source(X, y), Softmax(3), Flat(), fit_intercept=True)
    with pytest.raises(DataError, match=r"no end along some direction: .*is a combination of.*finite scale"):
        laplace_by_class(objective, np.zeros(objective.shape))


def test_a_covariance_that_does_not_fit_is_refused(monkeypatch):
    from separatrix.bayesian.posterior import memory

    objective, mode = posed()
    monkeypatch.setattr(memory, "machine_memory", lambda: 1000.0)
    with pytest.raises(DataError, match=r"covariance of 3 x 5 weights needs 1.76 KiB .* has 1e\+03 bytes. Use `std`"):
        _ = laplace_by_class(objective, mode).covariance


@pytest.mark.data
@pytest.mark.skipif(not IMAGES.exists(), reason="the data sets are kept beside the project, and are not here")
def test_images_are_predicted_better_than_by_the_mode_and_nearly_as_by_the_full_posterior():
    with np.load(IMAGES) as images:
        y, y_test = images["y_train"][:4000].astype(np.intp), images["y_test"][:1000]
        X, X_test = (
            images[name][:n].reshape(n, 14, 2, 14, 2).mean((2, 4)).reshape(n, -1) / 255
            for name, n in (("x_train", 4000), ("x_test", 1000))
        )
    objective = pose(
        as_source(X, y), Softmax(10), Gaussian(1.0, intercept_scale=10.0), fit_intercept=True, standardize=True
    )
    mode = Auto(1e-4).minimise(objective, np.zeros(objective.shape)).value
    full, ours = laplace(objective, mode), laplace_by_class(objective, mode)
    P, P_full, P_mode = (
        softmax_normal(a.mean, share * a.cov)
        for a, share in (
            (ours.activations(X_test, objective.design), 1.0),
            (full.activations(X_test, objective.design), 1.0),
            (full.activations(X_test, objective.design), 0.0),
        )
    )
    assert log_loss(y_test, P) < 0.97 * log_loss(y_test, P_mode)
    assert np.abs(P - P_full).mean() < 0.01
    assert full.log_evidence - 300 < ours.log_evidence < full.log_evidence
