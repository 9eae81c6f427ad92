"""The evidence as a function of the prior: its gradient, rotated coordinates, surrogates, and the surface."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

import separatrix as sx
from problems import blobs
from separatrix import evidence_surface
from separatrix.basis import RBF, fit_basis
from separatrix.bayesian import evidence, tuning
from separatrix.bayesian.evidence import (
    FitEP,
    FitLaplace,
    effective_parameters,
    evidence_slope,
    log_det_gradient,
    prior_scales,
    rescaled,
    rotate,
)
from separatrix.bayesian.posterior import laplace
from separatrix.bayesian.tuning import Parabola, Surrogate, TuningStatus, tune_scales
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax, SoftmaxLabelNoise
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Factor, Newton, pose


def three_columns(prior, *, standardize, fit_intercept=True):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.1] + [5.0, 0.0, 1.0]
    source = as_source(X, rng.integers(2, size=50))
    return pose(source, Logit(), prior, fit_intercept=fit_intercept, standardize=standardize)


def slope_of(here, found):
    """Return ∂ ln p(D)/∂Λ, in which the mode of Laplace's Gaussian moves with Λ."""
    v = log_det_gradient(here, found, sampled=False)
    return evidence_slope(here.prior, found, found.factor.solve(v))


COVARIANCE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 4.0]])
PRIORS = {
    "isotropic": Gaussian(0.5, intercept_scale=2.0),
    "per_column": Gaussian([0.5, 1.0, 3.0], mean=1.0, intercept_scale=2.0),
    "full": Gaussian(covariance=COVARIANCE, intercept_scale=2.0),
}


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("standardize", [True, False], ids=["standardized", "as_is"])
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_a_factor_gives_the_prior_with_rescaled_scales(prior, standardize, fit_intercept):
    options = {"standardize": standardize, "fit_intercept": fit_intercept}
    scales = prior_scales(three_columns(prior, **options))
    wider = three_columns(rescaled(prior, np.full(3, 1.7)), **options).prior
    assert_allclose(scales.prior(np.zeros(1)).matrix(), three_columns(prior, **options).prior.matrix(), rtol=1e-12)
    found = scales.prior(np.log([1.7]))
    assert_allclose(found.matrix(), wider.matrix(), rtol=1e-10, atol=1e-12)
    assert_allclose(found.mean, wider.mean)


@pytest.mark.parametrize("standardize", [True, False])
def test_groups_widen_only_their_own_columns(standardize):
    scales = prior_scales(three_columns(Gaussian(0.5, intercept_scale=2.0), standardize=standardize), ["u", "v", "u"])
    assert scales.labels == ("u", "v")
    wider = three_columns(Gaussian(0.5 * np.array([2.0, 3.0, 2.0]), intercept_scale=2.0), standardize=standardize).prior
    assert_allclose(scales.prior(np.log([2.0, 3.0])).matrix(), wider.matrix(), rtol=1e-10, atol=1e-12)


CONFUSION = [[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]]
LIKELIHOODS = {
    "logit": Logit(),
    "probit": Probit(),
    "label_noise": LabelNoise(0.05, 0.1),
    "softmax": Softmax(3),
    "softmax_label_noise": SoftmaxLabelNoise(CONFUSION),
}
GROUPS = {"isotropic": None, "groups": ["a", "a", "b", "b"], "columns": "columns"}


def problem(likelihood, *, standardize, weight=False, n=120):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4)) * [1.0, 3.0, 0.2, 1.0] + [0.0, 2.0, 1.0, 0.0]
    a = (X - X.mean(axis=0)) @ [1.0, 0.3, -2.0, 0.0]
    if likelihood.n_outputs == 1:
        t = (rng.random(n) < 1 / (1 + np.exp(-a))).astype(np.intp)
    else:
        t = np.argmax(a[:, None] * [1, 0, -1] + rng.gumbel(size=(n, 3)), axis=1)
    weights = rng.integers(1, 4, size=n).astype(float) if weight else None
    prior = Gaussian(0.7, mean=0.1, intercept_scale=3.0)
    return pose(as_source(X, t, weights), likelihood, prior, fit_intercept=True, standardize=standardize)


def differences(objective, scales, eta, step=1e-4):
    fit = FitLaplace(1e-12)

    def value(at):
        return fit.fit(replace(objective, prior=scales.prior(at))).log_evidence

    return np.array([(value(eta + e) - value(eta - e)) / (2 * step) for e in step * np.eye(len(eta))])


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("standardize", [True, False], ids=["standardized", "as_is"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_the_gradient_of_the_evidence_includes_the_shift_of_the_mode(likelihood, standardize, groups):
    objective = problem(likelihood, standardize=standardize, weight=True)
    scales = prior_scales(objective, groups)
    eta = np.linspace(-0.4, 0.3, len(scales.labels))
    here = replace(objective, prior=scales.prior(eta))
    slope = slope_of(here, FitLaplace(1e-12).fit(here))
    assert_allclose(scales.gradient(eta, slope), differences(objective, scales, eta), atol=1e-6)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("likelihood", [Logit(), Softmax(3)], ids=["logit", "softmax"])
def test_effective_parameters_are_a_trace_and_an_eigenvalue_sum(likelihood, standardize):
    objective = problem(likelihood, standardize=standardize)
    found = FitLaplace().fit(objective)
    Lambda = objective.prior.matrix()
    A = found.factor.matrix
    gamma = effective_parameters(found, objective.prior)
    assert_allclose(gamma, len(A) - np.trace(np.linalg.solve(A, Lambda)), rtol=1e-9)
    root = np.linalg.cholesky(np.linalg.inv(Lambda))
    mu = np.linalg.eigvalsh(root.T @ (A - Lambda) @ root)
    assert_allclose(gamma, (mu / (1 + mu)).sum(), rtol=1e-9)  # PRML (3.91)
    assert 0 < gamma < len(A)


def overlapping_blobs(n_classes=2, scale=1.0, **shape):
    X, t = blobs(n_classes=n_classes, **shape)
    likelihood = Logit() if n_classes == 2 else Softmax(n_classes)
    prior = Gaussian(scale, mean=0.1, intercept_scale=5.0)
    return pose(as_source(X, t), likelihood, prior, fit_intercept=True, standardize=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_posterior_does_not_depend_on_the_guess(n_classes, rng):
    objective, fitter = overlapping_blobs(n_classes), FitLaplace(1e-10)
    plain = fitter.fit(objective)
    bad = Factor(np.ones(plain.mean.size), np.eye(plain.mean.size))
    far = plain.mean + rng.normal(size=plain.mean.shape)
    for guess in ((plain.mean, plain.factor), (far, plain.factor), (far, bad), (far,)):
        found = fitter.fit(objective, *guess)
        assert_allclose(found.mean, plain.mean, atol=1e-7)
        assert_allclose(found.log_evidence, plain.log_evidence, rtol=1e-10)


def test_a_guess_loses_no_accuracy_under_a_wide_prior():
    narrow, wide = (overlapping_blobs(3, scale, n=180, seed=4, distance=0.7) for scale in (1.0, 15.0))
    guess = FitLaplace().fit(narrow)
    found = FitLaplace().fit(wide, guess.mean, guess.factor)
    assert_allclose(found.log_evidence, FitLaplace(1e-13).fit(wide).log_evidence, rtol=1e-10)


@pytest.mark.parametrize("groups", [None, "columns"])
def test_the_evidence_of_expectation_propagation_has_the_gradient_of_fixed_sites(groups):
    objective = overlapping_blobs(n=60)
    scales, fitter = prior_scales(objective, groups), FitEP(1e-10)

    def at(eta):
        here = replace(objective, prior=scales.prior(eta))
        return here, fitter.fit(here)

    here, found = at(np.zeros(len(scales.labels)))
    assert found.name == "ep"
    gradient = scales.gradient(np.zeros(len(scales.labels)), slope_of(here, found))
    step = 1e-3 * np.eye(len(scales.labels))
    change = [at(e)[1].log_evidence - at(-e)[1].log_evidence for e in step]
    assert_allclose(gradient, np.array(change) / 2e-3, atol=2e-3)


SHAPES = {"wide": (40, 60), "square": (50, 50), "tall": (300, 20)}


def low_rank(N, M, likelihood=None, rank=None, **options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, rank or M)) @ rng.normal(size=(rank or M, M)) / np.sqrt(M) + 0.5
    likelihood = likelihood or Logit()
    t = rng.integers(max(2, likelihood.n_outputs), size=N)
    return pose(as_source(X, t), likelihood, Gaussian(0.8, intercept_scale=3.0), **options)


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("standardize", [True, False], ids=["standardized", "as_is"])
@pytest.mark.parametrize("likelihood", [Logit(), Softmax(3)], ids=["logit", "softmax"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_evidence_and_mode_in_rotated_coordinates_agree_with_those_of_all_columns(
    shape, likelihood, standardize, fit_intercept
):
    objective = low_rank(*shape, likelihood=likelihood, standardize=standardize, fit_intercept=fit_intercept)
    scales = prior_scales(objective)
    small, back = rotate(objective, scales, widest=10.0)
    eta = np.array([0.4])
    fitter = FitLaplace(1e-11)
    whole = fitter.fit(replace(objective, prior=scales.prior(eta)))
    part = fitter.fit(replace(small, prior=prior_scales(small).prior(eta)))
    assert_allclose(part.log_evidence, whole.log_evidence, atol=1e-7)
    assert_allclose(back(part.mean), whole.mean, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_directions_without_data_are_dropped(shape):
    objective = low_rank(*shape, rank=7, fit_intercept=False, standardize=False)
    small, back = rotate(objective, prior_scales(objective), widest=1e3)
    assert small.design.width == 8  # one of them for the offset of the columns
    theta = np.random.default_rng(1).normal(size=(1, 8))
    X, L = (source.source.as_block().X for source in (objective, small))
    assert_allclose(X @ back(theta)[0], L @ theta[0], atol=1e-7)
    assert_allclose(np.linalg.norm(back(theta)) / 0.8, np.linalg.norm(theta), rtol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_parabola_reproduces_its_fit_under_the_same_prior(n_classes):
    objective = overlapping_blobs(n_classes)
    found = FitLaplace(1e-11).fit(objective)
    again = Parabola(found, objective.prior).under(objective.prior)
    assert_allclose(again.mean, found.mean, atol=1e-9)
    assert_allclose(again.factor.matrix, found.factor.matrix, rtol=1e-9, atol=1e-9)
    assert_allclose(again.log_evidence, found.log_evidence, rtol=1e-12)
    assert_allclose(again.log_likelihood, found.log_likelihood, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_evidence_of_a_parabola_is_a_gaussian_integral(n_classes):
    """The expected value is ln ∫ e^(L0 + g'δ - ½ δ'Hδ) N(m + δ | m0, Λ⁻¹) dδ, computed without the mode."""
    objective = overlapping_blobs(n_classes)
    found = FitLaplace(1e-11).fit(objective)
    parabola = Parabola(found, objective.prior)
    scales = prior_scales(objective, "columns")
    prior = scales.prior(np.array([0.5, -1.0, 0.2, 0.0]))
    H, Lambda, d = parabola.curvature, prior.matrix(), (found.mean - prior.mean).ravel()
    g = objective.prior.matrix() @ d
    A, b = H + Lambda, g - Lambda @ d
    expected = found.log_likelihood - 0.5 * d @ Lambda @ d + 0.5 * b @ np.linalg.solve(A, b)
    expected += 0.5 * np.linalg.slogdet(Lambda)[1] - 0.5 * np.linalg.slogdet(A)[1]
    assert_allclose(parabola.under(prior).log_evidence, expected, rtol=1e-12)


def test_a_refit_near_a_prediction_keeps_its_curvature_and_corrects_the_evidence():
    """Without the first-order change of ln |A|, the evidence would be wrong by that change."""
    objective = overlapping_blobs(n=2000)
    scales = prior_scales(objective)
    first = FitLaplace(1e-11).fit(objective)
    there = replace(objective, prior=scales.prior(np.array([-0.1])))
    near = Parabola(first, objective.prior).under(there.prior)
    v = evidence.log_det_gradient(objective, first, sampled=False)
    change = -0.5 * float(np.vdot(v, near.mean - first.mean))
    assert 1e-3 < abs(change) < evidence.MAX_CURVATURE_CHANGE
    kept, fitted = FitLaplace(1e-11).refit(there, near, change), FitLaplace(1e-11).fit(there)
    assert kept.factor is near.factor
    assert_allclose(kept.mean, fitted.mean, rtol=1e-6)
    assert_allclose(kept.log_likelihood, fitted.log_likelihood, rtol=1e-9)
    assert abs(kept.log_evidence - fitted.log_evidence) < 0.1 * abs(change)
    assert FitLaplace(1e-11).refit(there, near, 1.0).factor is not near.factor


def many_rows(noise=1.0, *, scale=0.1, threshold=0.0):
    """A table with a sample for first fits, whose Hessian is not cheap; ten columns repeat others, up to noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24_000, 100)) * rng.uniform(0.1, 10, size=100) + rng.normal(size=100)
    t = (X / X.std(axis=0) @ rng.normal(size=100) * 0.1 + rng.logistic(size=24_000) > threshold).astype(int)
    X[:, :10] = X[:, 10:20] + noise * X[:, :10]
    options = {"fit_intercept": True, "standardize": True, "with_extent": True}
    return pose(as_source(X, t), Logit(), Gaussian(scale, intercept_scale=10.0), **options)


def test_tuning_from_a_rough_mode_ends_at_the_mode_of_the_best_scale():
    objective = many_rows()
    assert objective.sample is not None
    solution, start = FitLaplace(is_rough=True).solve(objective, np.zeros(objective.shape))
    passes = objective.source.passes
    assert not start.is_converged
    found = tune_scales(objective, start=start, curved_at=solution.value)
    assert objective.source.passes - passes <= 4
    exact = tune_scales(objective, start=FitLaplace().fit(objective))
    size = found.objective.gradient_size(found.objective.value_grad(found.approximation.mean).grad)
    assert size <= 1e-8
    assert_allclose(found.report.factors, exact.report.factors, rtol=1e-3)
    again = FitLaplace().fit(found.objective)
    assert abs(found.approximation.log_evidence - again.log_evidence) < 0.01
    assert_allclose(found.approximation.std, again.std, rtol=5e-3)


def test_a_rough_start_is_fitted_even_if_its_scale_is_the_best():
    objective = many_rows()
    best = tune_scales(objective).objective
    solution, start = FitLaplace(is_rough=True).solve(best, np.zeros(best.shape))
    found = tune_scales(best, start=start, curved_at=solution.value)
    assert_allclose(found.report.factors, 1.0, rtol=5e-3)
    assert found.approximation.is_converged
    assert found.objective.gradient_size(found.objective.value_grad(found.approximation.mean).grad) <= 1e-8


def test_the_posterior_of_many_rows_is_that_of_newtons_method_in_fewer_passes():
    """The Hessian of all rows is computed near the mode, in single precision, and its change is added."""
    objective = many_rows()
    mode = Newton(1e-12).minimise(objective, np.zeros(objective.shape)).value
    exact, passes = laplace(objective, mode), objective.source.passes
    found = FitLaplace().fit(objective)
    assert objective.source.passes - passes <= 5
    assert objective.gradient_size(objective.value_grad(found.mean).grad) <= 1e-8
    assert_allclose(found.log_evidence, exact.log_evidence, atol=3e-3)
    assert_allclose(found.log_likelihood, exact.log_likelihood, atol=1e-4)
    assert_allclose(found.std, exact.std, rtol=5e-4)


@pytest.mark.parametrize("threshold", [5.0, 7.0])
def test_the_posterior_of_a_rare_class_is_that_of_newtons_method(threshold):
    """The curvature changes on the way to the mode, and a sample has few rows of the class: it is computed again."""
    objective = many_rows(threshold=threshold, scale=1.0)
    exact = laplace(objective, Newton(1e-12).minimise(objective, np.zeros(objective.shape)).value)
    found = FitLaplace().fit(objective)
    assert_allclose(found.log_evidence, exact.log_evidence, atol=0.02)
    assert_allclose(found.std, exact.std, rtol=5e-3)
    assert_allclose(found.mean, exact.mean, atol=1e-3 * exact.std.min())


def rare_values(N, M, likelihood, *, scale, threshold=0.0):
    """Half of the columns are zero except in 5 to 30 rows: 0/1 columns, and counts in every third of them."""
    rng = np.random.default_rng(3)
    X, K = rng.normal(size=(N, M)), max(likelihood.n_outputs, 2)
    for j in range(M // 2):
        rows = rng.choice(N, rng.integers(5, 31), replace=False)
        X[:, j] = 0.0
        X[rows, j] = rng.geometric(0.3, size=len(rows)) if j % 3 == 0 else 1.0
    A = X @ (rng.normal(size=(M, K)) / np.sqrt(M)) - threshold * (np.arange(K) == K - 1)
    t = (A + rng.gumbel(size=A.shape)).argmax(axis=1)
    for j in range(0, M // 2, 2):  # these columns separate the classes
        t[X[:, j] > 0] = j % K
    options = {"fit_intercept": True, "standardize": True, "with_extent": True}
    return pose(as_source(X, t), likelihood, Gaussian(scale, intercept_scale=10.0), **options)


def slope_and_curvature(likelihood, A, t):
    """∂(-ln p)/∂a (N, C), and the curvatures of pairs of classes."""
    if isinstance(likelihood, Softmax):
        p = special.softmax(A, axis=1)
        return p - (t[:, None] == np.arange(p.shape[1])), {(j, k): p[:, j] * p[:, k] for j, k in PAIRS}
    sign, a = 2.0 * t - 1.0, A[:, 0]
    if isinstance(likelihood, Logit):
        return -(sign * special.expit(-sign * a))[:, None], special.expit(a) * special.expit(-a)
    hazard = np.exp(-0.5 * a**2 - special.log_ndtr(sign * a)) / np.sqrt(2 * np.pi)
    return -(sign * hazard)[:, None], hazard * (hazard + sign * a)


PAIRS = [(0, 1), (0, 2), (1, 2)]


def laplace_by_plain_steps(objective):
    """Mode, standard deviations and ln p(D): Newton's steps, halved while the objective rises, until none is left."""
    (C, P), block, prior = objective.shape, objective.source.as_block(), objective.prior
    Phi, t = np.column_stack([block.X - objective.design.origin, np.ones(len(block.X))]), block.codes
    precision, theta = np.kron(np.eye(C), prior.matrix()[:P, :P]), np.zeros((C, P))
    for _ in range(80):
        slope, curvature = slope_and_curvature(objective.likelihood, Phi @ theta.T, t)
        H = np.zeros((C, P, C, P))
        for j, k in PAIRS if C > 1 else ():
            gram = (Phi * curvature[j, k][:, None]).T @ Phi
            H[[j, k], :, [j, k]] += gram
            H[[j, k], :, [k, j]] -= gram
        if C == 1:
            H[0, :, 0] = (Phi * curvature[:, None]).T @ Phi
        A = H.reshape(C * P, C * P) + precision
        unit = 1 / np.sqrt(A.diagonal())  # curvatures differ by many orders of magnitude
        correlations = A * np.outer(unit, unit)
        gradient = (slope.T @ Phi).ravel() + precision @ theta.ravel()
        step = -(unit * np.linalg.solve(correlations, unit * gradient)).reshape(C, P)
        if np.abs(Phi @ step.T).max() < 1e-6:
            break
        value = objective.value_grad(theta).value
        while not objective.value_grad(theta + step).value <= value * (1 + 1e-12):
            step = step / 2
        theta = theta + step
    std = unit * np.sqrt(np.linalg.inv(correlations).diagonal())
    log_det = np.linalg.slogdet(correlations)[1] - 2 * np.log(unit).sum() - np.linalg.slogdet(precision)[1]
    return theta, std.reshape(C, P), -objective.value_grad(theta).value - 0.5 * log_det


def assert_exact(found, objective):
    """Within 0.01 nats of the evidence, 1 % of the standard deviations, and 0.001 of them for the mode."""
    mode, std, log_evidence = laplace_by_plain_steps(objective)
    assert_allclose(found.log_evidence, log_evidence, atol=0.01)
    assert_allclose(found.std, std, rtol=0.01)
    assert_allclose((found.mean - mode) / std, 0.0, atol=1e-3)


@pytest.mark.parametrize("scale", [10.0, 1000.0])
@pytest.mark.parametrize(
    ("shape", "likelihood"),
    [
        pytest.param((30_000, 5), Logit(), id="few_rows"),
        pytest.param((80_000, 26), Logit(), id="cheap_hessian"),
        pytest.param((80_000, 26), Probit(), id="cheap_hessian_probit"),
        pytest.param((21_000, 100), Logit(), id="many_columns"),
        pytest.param((21_000, 100), Probit(), id="many_columns_probit"),
        pytest.param((30_000, 5), Softmax(3), id="few_rows_of_three_classes"),
        pytest.param((120_000, 17), Softmax(3), id="three_classes", marks=pytest.mark.slow),
    ],
)
def test_the_posterior_of_rare_values_is_that_at_the_mode(shape, likelihood, scale):
    """Under a wide prior, the curvature of these columns falls until the mode, by up to e with each Newton step."""
    objective = rare_values(*shape, likelihood, scale=scale)
    assert (objective.sample is None) == (shape[0] == 30_000)
    assert_exact(FitLaplace().fit(objective), objective)


@pytest.mark.parametrize(
    ("shape", "threshold"),
    [
        pytest.param((80_000, 26), 0.0, id="cheap_hessian"),
        pytest.param((21_000, 100), 0.0, id="many_columns"),
        pytest.param((21_000, 100), 6.0, id="many_columns_rare_class"),
    ],
)
def test_tuning_with_rare_values_ends_at_the_posterior_of_its_scale(shape, threshold):
    """A curvature is not kept if it has changed in the few rows that determine a weight; its slope is that of all rows.

    With the slope of a sample, the search would stop before the maximum, because steps do not gain what it predicts.
    """
    objective = rare_values(*shape, Logit(), scale=1.0, threshold=threshold)
    solution, start = FitLaplace(is_rough=True).solve(objective, np.zeros(objective.shape))
    tuned = tune_scales(objective, start=start, curved_at=solution.value)
    assert tuned.report.status is TuningStatus.CONVERGED
    assert_exact(tuned.approximation, tuned.objective)


@pytest.mark.parametrize("scale", [0.04, 1.0])
def test_the_scale_of_a_sample_is_near_that_of_all_rows_and_takes_none_of_their_passes(scale):
    objective = many_rows(scale=scale)
    passes = objective.source.passes
    eta, mode = tuning.scale_of_sample(objective, prior_scales(objective), np.zeros(1))
    assert objective.source.passes == passes
    tuned = tune_scales(objective)
    # The scale of the sample has a standard deviation of about 0.15: 2400 rows determine two thirds of 100 weights.
    assert_allclose(eta, np.log(tuned.report.factors), atol=0.4)
    sample = replace(objective.of_sample(), prior=prior_scales(objective).prior(eta))
    exact, factor = Newton().minimise(sample, np.zeros(sample.shape)).value, tuned.approximation.factor
    assert factor.square(mode - exact) < 0.01 * factor.square(exact)


def test_collinear_columns_of_a_rough_start_are_fitted_in_double_precision():
    near = many_rows(1e-4, scale=10.0)
    found = FitLaplace(is_rough=True).solve(near, np.zeros(near.shape))[1]
    exact = FitLaplace().fit(near)
    assert exact.factor.single_error > evidence.MAX_LOG_DET_ERROR
    assert_allclose(found.factor.log_det, exact.factor.log_det, atol=0.05)


def test_the_last_hessian_of_newtons_method_is_used_again():
    """The Gaussian is the same as after another pass at the mode."""
    objective = overlapping_blobs(n=300)
    passes = objective.source.passes
    solution, found = FitLaplace().solve(objective, np.zeros(objective.shape))
    assert objective.source.passes - passes == solution.passes
    again = laplace(objective, solution.value)
    assert found.log_evidence == again.log_evidence
    assert_array_equal(found.factor.L, again.factor.L)


@pytest.mark.parametrize("seed", [1, 5])
def test_a_search_that_keeps_curvatures_has_the_evidence_of_a_new_fit(monkeypatch, seed):
    """From a narrow prior, at whose mode the slope of ln |A| is small, to the best scale."""
    rng = np.random.default_rng(seed)
    X, scale = rng.normal(size=(1500, 40)), {1: 0.1, 5: 0.05}[seed]
    t = (X @ rng.normal(size=40) * scale + rng.logistic(size=1500) > 0).astype(int)
    objective = pose(as_source(X, t), Logit(), Gaussian(0.02, intercept_scale=10.0), fit_intercept=True)
    monkeypatch.setattr(FitLaplace, "keeps_curvature", lambda fitter, objective: True)
    found = tune_scales(objective)
    assert found.report.status is TuningStatus.CONVERGED
    assert found.report.fits <= 5
    fitted = FitLaplace().fit(found.objective)
    assert_allclose(found.approximation.log_evidence, fitted.log_evidence, atol=0.05)  # else 0.1 or 1 nat


@pytest.mark.parametrize("groups", [None, "columns"])
def test_a_surrogate_has_the_given_value_and_gradients(groups):
    objective = overlapping_blobs(n=60)
    scales = prior_scales(objective, groups)

    def at(eta):
        here = replace(objective, prior=scales.prior(eta))
        found = FitLaplace(1e-11).fit(here)
        return eta, found, scales.gradient(eta, slope_of(here, found)) + scales.log_density(eta)[1]

    before, here = at(np.full(len(scales.labels), -0.8)), at(np.linspace(-0.2, 0.2, len(scales.labels)))
    surrogate = Surrogate(scales, *here, [(before[0], before[2])])
    value, gradient = surrogate.value_gradient(here[0])
    assert_allclose(value, here[1].log_evidence + scales.log_density(here[0])[0], rtol=1e-12)
    assert_allclose(gradient, here[2], atol=1e-9)
    assert_allclose(surrogate.value_gradient(before[0])[1], before[2], atol=1e-8)
    step = 1e-5 * np.eye(len(scales.labels))
    point = here[0] + 0.3
    change = [surrogate.value_gradient(point + e)[0] - surrogate.value_gradient(point - e)[0] for e in step]
    assert_allclose(surrogate.value_gradient(point)[1], np.array(change) / 2e-5, atol=1e-5)


WIDTHS, SCALES = [0.3, 1.0, 4.0], [30.0, 0.1, 1.0]


def direct(X, y, width, scale, likelihood, standardize):
    source = as_source(X, y)
    rows = source.mapped(fit_basis(RBF(width=width), source))
    prior = Gaussian(scale, intercept_scale=10.0)
    objective = pose(rows, likelihood, prior, fit_intercept=True, standardize=standardize)
    return FitLaplace(1e-12).fit(objective).log_evidence


@pytest.mark.parametrize("standardize", [False, True], ids=["as_is", "standardized"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_surface_is_the_evidence_of_each_cell(n_classes, standardize):
    X, y = blobs(n=90, n_features=2, n_classes=n_classes)
    found = evidence_surface(
        X, y, basis_of_width=lambda w: RBF(width=w), widths=WIDTHS, scales=SCALES, standardize=standardize
    )
    likelihood = Logit() if n_classes == 2 else Softmax(3)
    expected = [[direct(X, y, width, scale, likelihood, standardize) for scale in SCALES] for width in WIDTHS]
    assert_allclose(found.log_evidence, expected, atol=1e-6)
    i, j = np.unravel_index(np.argmax(expected), (3, 3))
    assert found.best == (WIDTHS[i], SCALES[j])
    assert (found.rank <= 90).all()
    assert found.rank[2] < 60  # wide basis functions are smooth and span few directions


def test_a_prior_covariance_in_very_different_units_gives_no_warning(rng):
    X, units = rng.normal(size=(60, 3)), np.array([1e-10, 1.0, 1e10])
    t = (X @ [1.0, -1.0, 0.5] + rng.logistic(size=60) > 0).astype(int)
    shape = np.eye(3) + 0.3
    one, other = (
        sx.BayesianLogisticRegression(
            Gaussian(covariance=shape / np.outer(u, u), intercept_scale=10.0), standardize=False, tune="evidence"
        ).fit(X * u, t)
        for u in (np.ones(3), units)
    )
    assert_allclose(other.coef_ * units, one.coef_, rtol=1e-4)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_, abs=1e-4)
