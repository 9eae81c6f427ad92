"""Gaussians over the weights: full, by class, dual and diagonal structures agree with dense matrices."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

import separatrix as sx
from posteriors import PROBLEMS, overlapping
from problems import blobs
from separatrix.bayesian.inference import Case, choose_strategy
from separatrix.bayesian.posterior import laplace
from separatrix.bayesian.record import Options
from separatrix.bayesian.structures import laplace_dual
from separatrix.bayesian.uncoupled import laplace_by_class, laplace_diagonal
from separatrix.exceptions import DataError
from separatrix.likelihoods import Logit, Probit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, factorise, pose
from separatrix.weights import Heading, Reading, summarise

PROPER = ["logit", "logit_mean", "logit_covariance", "logit_weights_offset", "logit_no_intercept", "softmax"]


def full_posterior(name):
    objective = PROBLEMS[name].posterior()
    if objective.prior.free.any():  # a proper prior for the intercept
        precision = objective.prior.precision.copy()
        precision[(-1,) * precision.ndim] = 0.1
        objective = replace(objective, prior=replace(objective.prior, precision=precision))
    mode = Auto().minimise(objective, np.zeros(objective.shape)).value
    return objective, laplace(objective, mode, steps=3)


@pytest.mark.parametrize("name", PROPER)
def test_laplace_is_the_mode_and_the_inverse_hessian(name):
    objective, q = full_posterior(name)
    here = objective.value_grad_hess(q.mean)
    assert_allclose(here.grad, 0.0, atol=1e-5)
    assert_allclose(q.covariance, np.linalg.inv(here.hess), rtol=1e-6, atol=1e-9)
    assert_allclose(q.std.ravel(), np.sqrt(np.diag(np.linalg.inv(here.hess))), rtol=1e-6)
    assert (q.name, q.structure, q.steps, q.is_converged) == ("laplace", "full", 3, True)


@pytest.mark.parametrize("name", PROPER)
def test_log_evidence_agrees_with_dense_matrices(name):
    """ln p(D) = ln p(D | θ) + ln N(θ | m0, Λ⁻¹) + ½ CP ln 2π - ½ ln |A|."""
    objective, q = full_posterior(name)
    prior, D = objective.prior, q.mean.size
    Lambda = prior.matrix()
    away = (q.mean - prior.mean).ravel()
    log_prior = 0.5 * np.linalg.slogdet(Lambda)[1] - 0.5 * D * np.log(2 * np.pi) - 0.5 * away @ Lambda @ away
    hess = objective.value_grad_hess(q.mean).hess
    volume = 0.5 * D * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(hess)[1]
    assert_allclose(q.log_evidence, q.log_likelihood + log_prior + volume, rtol=1e-9)
    assert_allclose(q.log_likelihood, prior.value_grad(q.mean)[0] - objective.value_grad(q.mean).value, rtol=1e-12)


@pytest.mark.parametrize("name", PROPER)
def test_activations_are_linear_in_the_weights(name):
    objective, q = full_posterior(name)
    X = PROBLEMS[name].X[:7]
    Phi = objective.design.regressors(X)
    C = len(q.mean)
    a = q.activations(X, objective.design)
    wide = np.stack([np.kron(np.eye(C), phi) for phi in Phi])  # (n, C, CP)
    cov = wide @ q.covariance @ wide.transpose(0, 2, 1)
    assert_allclose(a.mean.reshape(7, C), Phi @ q.mean.T, rtol=1e-12)
    assert_allclose(a.cov.reshape(7, C, C), cov, rtol=1e-9, atol=1e-12)


def test_better_moments_are_reported_but_not_used_in_predictions():
    """A skewed posterior is wider than the Gaussian that predicts best."""
    objective, q = full_posterior("logit")
    P = q.mean.size
    wider = replace(q, moments=factorise(q.factor.matrix / 4, 1, np.zeros(P, dtype=bool)))
    assert_allclose(wider.std, 2 * q.std, rtol=1e-10)
    assert_allclose(wider.covariance, 4 * q.covariance, rtol=1e-8)
    X = PROBLEMS["logit"].X[:5]
    assert_allclose(wider.activations(X, objective.design).cov, q.activations(X, objective.design).cov)


def test_the_error_for_a_flat_direction_names_it():
    problem = replace(PROBLEMS["logit_flat"], X=np.column_stack([PROBLEMS["logit_flat"].X, np.full(240, 3.0)]))
    objective = problem.posterior()
    mode = np.zeros(objective.shape)
    with pytest.raises(DataError, match="posterior is improper: 'x4'"):
        laplace(objective, mode)


def three_classes(n_classes=3, prior=None, n_features=4, weight=None, n=300):
    X, y = blobs(n, n_features, n_classes, seed=n_classes)
    prior = Gaussian(1.0, intercept_scale=5.0) if prior is None else prior
    objective = pose(as_source(X, y, weight), Softmax(n_classes), prior, fit_intercept=True, standardize=True)
    return objective, Auto(1e-10).minimise(objective, np.zeros(objective.shape)).value


@pytest.fixture
def by_class():
    objective, mode = three_classes()
    return objective, laplace(objective, mode), laplace_by_class(objective, mode)


def test_blocks_by_class_equal_those_of_the_hessian_along_the_axes(by_class):
    objective, full, ours = by_class
    C, P = objective.shape
    H = full.factor.matrix.reshape(C, P, C, P)
    for q, factor in zip(ours.axes.T, ours.factors, strict=True):
        assert np.allclose(factor.matrix, np.einsum("j,jpkr,k->pr", q, H, q), rtol=1e-9, atol=1e-9)


def test_the_evidence_by_class_is_too_low_by_the_divergence_from_the_full_gaussian(by_class):
    _, full, ours = by_class
    H, S = full.factor.matrix, ours.covariance
    divergence = 0.5 * (np.trace(H @ S) - len(H) - np.linalg.slogdet(S)[1] - np.linalg.slogdet(H)[1])
    assert divergence > 0
    assert np.isclose(full.log_evidence - ours.log_evidence, divergence, rtol=1e-6)
    assert np.isclose(full.log_likelihood, ours.log_likelihood, rtol=1e-12)


def test_contrasts_are_exact_for_two_classes():
    objective, mode = three_classes(2)
    full, ours = laplace(objective, mode), laplace_by_class(objective, mode)
    assert np.isclose(full.log_evidence, ours.log_evidence, rtol=1e-12)
    assert np.allclose(full.covariance, ours.covariance, atol=1e-12)


def test_moments_by_class_agree_with_the_covariance(by_class, rng):
    objective, _, ours = by_class
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
def test_priors_of_every_shape_by_class(prior, rng):
    objective, mode = three_classes(3, Gaussian(1.0) if prior == "flat bias" else None)
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
    assert (ours.log_evidence == -np.inf) == (prior == "flat bias")  # as for the full structure


def sparse_classes(n_classes=3, *, store=np.asarray, bias=True, weight=None):
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
def diagonal(request):
    n_classes, options = request.param
    objective, mode = sparse_classes(n_classes, **options)
    return objective, laplace(objective, mode), laplace_diagonal(objective, mode)


def test_moments_of_independent_contrasts_agree_with_their_covariance(rng):
    objective, mode = sparse_classes(3)
    ours, (C, P) = laplace_diagonal(objective, mode, contrasts=True), objective.shape
    assert np.allclose(ours.std.ravel() ** 2, np.diag(ours.covariance))
    assert np.isclose(ours.log_det, -np.linalg.slogdet(ours.covariance)[1])
    R = (ours.from_unit(np.eye(C * P)) - ours.mean).reshape(C * P, C * P)
    assert np.allclose(R.T @ R, ours.covariance)
    slope = rng.normal(size=(2, C, P))
    assert np.allclose(ours.to_unit_slope(slope), slope.reshape(2, -1) @ R.T)
    X = rng.normal(size=(5, 4))
    S, Phi = ours.covariance.reshape(C, P, C, P), objective.design.regressors(X)
    assert np.allclose(ours.activations(X, objective.design).cov, np.einsum("np,jpkr,nr->njk", Phi, S, Phi))


def test_the_diagonal_equals_that_of_the_hessian_and_its_errors_have_a_known_direction(diagonal):
    _, full, ours = diagonal
    assert np.allclose(ours.precision.ravel(), np.diag(full.factor.matrix), rtol=1e-10)
    assert np.isclose(ours.log_likelihood, full.log_likelihood, rtol=1e-12)
    assert (ours.std <= full.std * (1 + 1e-12)).all()
    gap = 0.5 * (np.log(np.diag(full.factor.matrix)).sum() - full.factor.log_det)
    assert gap > 0
    assert np.isclose(full.log_evidence - ours.log_evidence, gap, rtol=1e-8)


def test_diagonal_moments_agree_with_the_covariance(diagonal, rng):
    objective, _, ours = diagonal
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


def test_diagonal_is_exact_for_columns_that_are_never_nonzero_together():
    X = np.repeat(np.eye(3), 20, axis=0) * 2.0
    y = np.arange(60) % 2
    objective = pose(as_source(X, y), Logit(), Gaussian(1.0), fit_intercept=False)
    mode = Auto(1e-12).minimise(objective, np.zeros((1, 3))).value
    full, ours = laplace(objective, mode), laplace_diagonal(objective, mode)
    assert np.allclose(full.covariance, ours.covariance)
    assert np.isclose(full.log_evidence, ours.log_evidence)


M = 40


def more_columns_than_rows(likelihood, rng, *, bias=True, n=15, store=np.asarray, repeat=False, weight=None):
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
def dual(request, rng):
    likelihood, options = request.param
    objective, mode = more_columns_than_rows(likelihood, rng, **options)
    return objective, laplace(objective, mode), laplace_dual(objective, mode)


def test_the_dual_structure_equals_the_full_posterior(dual, rng):
    objective, full, ours = dual
    assert ours.structure == "dual"
    assert np.isclose(ours.log_evidence, full.log_evidence, rtol=1e-10)
    assert np.isclose(ours.log_likelihood, full.log_likelihood, rtol=1e-10)
    assert np.allclose(ours.mean, full.mean, atol=1e-8)
    assert np.allclose(ours.std, full.std, rtol=1e-8)
    assert np.allclose(ours.covariance, full.covariance, atol=1e-9)
    X = 3 * rng.normal(size=(9, M))
    a, b = full.activations(X, objective.design), ours.activations(X, objective.design)
    assert np.allclose(a.mean, b.mean, rtol=1e-7, atol=1e-8)
    assert np.allclose(a.cov, b.cov, rtol=1e-7, atol=1e-8)


def test_dual_draws_have_the_covariance(dual, rng):
    _, _, ours = dual
    S = ours.covariance
    draws = ours.sample(10_000, rng).reshape(10_000, -1)
    unit = np.sqrt(np.diag(S))
    assert np.abs((draws.mean(axis=0) - ours.mean.ravel()) / unit).max() < 0.06
    assert np.abs((np.cov(draws.T) - S) / np.outer(unit, unit)).max() < 0.07


def test_directions_orthogonal_to_the_rows_keep_their_prior(rng):
    objective, mode = more_columns_than_rows(Logit(), rng, bias=False)
    X, precision = objective.source.as_block().X, objective.prior.precision
    z = rng.normal(size=M)
    x = precision * (z - np.linalg.lstsq(X.T, z, rcond=None)[0] @ X)  # X Λ⁻¹ x = 0
    a = laplace_dual(objective, mode).activations(x[None], objective.design)
    assert np.isclose(a.mean[0], 0.0, atol=1e-9)
    assert np.isclose(a.cov[0], x @ (x / precision), rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "n_columns", "n_classes", "chosen"),
    [
        (50, 40, 3, "full"),
        (30, 6000, 2, "dual"),
        (30, 6000, 3, "dual"),
        (2100, 2000, 3, "by class"),
        (6100, 6000, 2, "mean field"),
    ],
)
def test_the_most_exact_structure_that_fits_is_chosen(n, n_columns, n_classes, chosen):
    X = sparse.random_array((n, n_columns), density=0.01, rng=0, format="csr")
    likelihood = Logit() if n_classes == 2 else Softmax(n_classes)
    prior = Gaussian(1.0, intercept_scale=5.0)
    objective = pose(as_source(X, np.arange(n) % n_classes), likelihood, prior, fit_intercept=True, standardize=True)
    options = Options("laplace", None, False, None, 1e-8, np.random.default_rng(0))
    strategy, plan = choose_strategy(Case(objective, options))
    assert strategy.name == plan.strategy == chosen


def fitted_model(n_classes=2, structure=None, n=240, n_features=4, **arguments):
    X, y = overlapping(n, n_features, n_classes)
    return sx.BayesianLogisticRegression(
        sx.Gaussian(1.0), structure=structure, approximation="laplace", **arguments
    ).fit(X, y), X


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_in_user_units_are_a_linear_map_of_the_fitted_weights(n_classes, fit_intercept):
    model, X = fitted_model(n_classes, fit_intercept=fit_intercept)
    posterior, q = model.posterior_, model.posterior_.approximation
    C, P = q.mean.shape
    T = np.eye(P)
    if fit_intercept:
        T[-1, :-1] = -X.mean(axis=0)
    assert_allclose(posterior.mean.reshape(C, P), q.mean @ T.T, rtol=1e-9)
    wide = np.kron(np.eye(C), T)
    assert_allclose(posterior.covariance, wide @ q.covariance @ wide.T, rtol=1e-9, atol=1e-12)
    assert_allclose(posterior.std.ravel(), np.sqrt(np.diag(posterior.covariance)), rtol=1e-9)
    assert_allclose(model.coef_, posterior.mean.reshape(C, P)[:, :4], rtol=1e-9)
    assert repr(posterior) == f"WeightDistribution({P} weights, structure='full')"


@pytest.mark.parametrize("approximation", ["laplace", "ep", "importance"])
def test_std_agrees_with_the_covariance_and_with_draws(approximation):
    X, y = overlapping(60)
    posterior = sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation=approximation).fit(X, y).posterior_
    assert_allclose(posterior.std, np.sqrt(np.diag(posterior.covariance)), rtol=1e-9)
    draws = posterior.sample(50_000, rng=3)
    assert_allclose(draws.std(axis=0), posterior.std, rtol=0.02)
    assert_allclose((draws.mean(axis=0) - posterior.mean) / posterior.std, 0.0, atol=0.03)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_posterior_as_a_prior_is_the_same_gaussian(n_classes):
    posterior = fitted_model(n_classes)[0].posterior_
    prior = posterior.as_prior()
    assert_allclose(prior.mean.ravel(), posterior.mean.ravel(), rtol=1e-12)
    assert_allclose(prior.matrix() @ posterior.covariance, np.eye(posterior.mean.size), atol=1e-7)


def test_a_summary_has_quantiles_of_normal_distributions():
    posterior = fitted_model()[0].posterior_
    summary = summarise(posterior, Heading("A model", ("0", "1"), notes=("A note.",)), Reading(level=0.8))
    q = stats.norm(np.roll(posterior.mean, 1), np.roll(posterior.std, 1))  # the intercept is first
    assert_allclose(summary.lower, q.ppf(0.1), rtol=1e-9)
    assert_allclose(summary.upper, q.ppf(0.9), rtol=1e-9)
    assert_allclose(summary.probability_of_sign, np.maximum(q.cdf(0), q.sf(0)), rtol=1e-9)
    assert_allclose(summary.to_pandas().loc["x2", "standard_error"], posterior.std[2])
    assert summary.to_dict()["coefficient"] is summary.coefficient
    assert "A note." in summary.notes


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
def test_a_dual_posterior_is_improved_like_a_full_one(rng):
    """If a few rows separate the classes, Laplace's Gaussian is poor; both structures use expectation propagation."""
    y = np.arange(30) % 2
    X = rng.normal(size=(2, 60))[y] + rng.normal(size=(30, 60))
    full, dual = (
        sx.BayesianLogisticRegression(sx.Gaussian(), tune="evidence", structure=s).fit(X, y) for s in ("full", "dual")
    )
    assert full.approximation_ == dual.approximation_ == "ep"
    assert full.draws_ is not None  # which the span of the rows does not have
    full.posterior_ = replace(full.posterior_, draws=None)
    assert_allclose(dual.log_evidence_, full.log_evidence_, atol=1e-3)
    assert_allclose(dual.predict_proba(X + 0.1), full.predict_proba(X + 0.1), atol=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
def test_laplace_tunes_many_classes_of_few_rows_in_the_span_of_the_rows(rng):
    """A matrix of 1 030 unknowns instead of 1 310 weights; "auto" has a matrix for each class."""
    y = np.arange(103) % 10
    X = rng.normal(size=(10, 130))[y] + rng.normal(size=(103, 130))
    for approximation, structure in (("laplace", "dual"), ("auto", "by class")):
        model = sx.BayesianLogisticRegression(approximation=approximation, rng=0).fit(X, y)
        assert model.posterior_.structure == structure


@pytest.mark.parametrize(("approximation", "tolerance"), [("laplace", 1e-8), ("auto", 0.3)])
def test_a_dual_posterior_of_three_classes_has_the_evidence_and_the_warning_of_a_full_one(
    approximation, tolerance, rng
):
    """For "auto", the full posterior is sampled, because its Gaussian is poor; the dual one is variational."""
    X = rng.normal(size=(25, 120))
    y = np.argmax(3 * X[:, :3], axis=1)
    fits = []
    for structure in ("full", "dual"):
        model = sx.BayesianLogisticRegression(approximation=approximation, structure=structure, tune=None, rng=0)
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            fits.append(model.fit(X, y))
        assert bool(raised) == (approximation == "laplace")
    if raised:
        assert "approximation='importance'" not in str(raised[0].message)  # it needs the full covariance
    full, dual = fits
    assert {full.approximation_, dual.approximation_} == ({"laplace"} if raised else {"hmc", "variational"})
    assert min(full.pareto_k_, dual.pareto_k_) > 0.7
    assert_allclose(dual.log_evidence_, full.log_evidence_, atol=tolerance)
    assert np.abs(dual.predict_proba(X + 0.1) - full.predict_proba(X + 0.1)).mean() < 0.01
