"""Posteriors of K classes with many weights: tuned by class, variational, and checked by chains."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, special

import separatrix as sx
from separatrix.bayesian import by_class, contrasts, costs, inference, uncoupled
from separatrix.bayesian.by_class import (
    align_by_class,
    corrected_by_class,
    coupled_fit,
    log_det_slope_by_class,
    scale_derivatives,
    tune_by_class,
    tune_columns,
    tune_level,
)
from separatrix.bayesian.checks import skewness, third_order
from separatrix.bayesian.evidence import effective_parameters, prior_scales
from separatrix.bayesian.posterior import laplace
from separatrix.bayesian.sampling import Products
from separatrix.bayesian.shapes import Inference
from separatrix.bayesian.tuning import Limit, TuningStatus, tune_scales
from separatrix.bayesian.uncoupled import (
    ByClassApproximation,
    ParabolaByClass,
    _contrasts,
    laplace_by_class,
    laplace_diagonal,
)
from separatrix.bayesian.variational import (
    _is_held_out,
    axis_averages,
    by_class_n_points,
    diagonal_average,
    held_out_log_likelihood,
    point_sets,
    variational_by_class,
    variational_diagonal,
    without_held_out,
)
from separatrix.exceptions import ApproximationWarning
from separatrix.export import load, save
from separatrix.likelihoods import Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, pose
from separatrix.stats import representative_sample
from separatrix.weights import Draws


def classes(n, columns, n_classes, rng, *, signal=1.5):
    X = rng.normal(size=(n, columns))
    W = signal * rng.normal(size=(columns, n_classes)) / np.sqrt(columns)
    return X, np.argmax(X @ W + rng.gumbel(size=(n, n_classes)), axis=1)


def posed(X, y, scale=1.0, weight=None, *, standardize=False):
    K = int(y.max()) + 1
    source = as_source(X, y) if weight is None else as_source(X, y, weight)
    prior = Gaussian(scale, intercept_scale=10.0)
    return pose(source, Softmax(K), prior, fit_intercept=True, standardize=standardize)


def mode_of(objective):
    return Auto(1e-10).minimise(objective, np.zeros(objective.shape)).value


def with_scale(objective, eta):
    return replace(objective, prior=prior_scales(objective).prior(np.array([eta])))


def test_the_evidence_has_the_determinant_of_the_full_precision(rng, monkeypatch):
    """With 4000 random vectors, the standard error of the difference is about 2 %."""
    objective = posed(*classes(120, 6, 4, rng), scale=3.0)
    monkeypatch.setattr(by_class, "N_PROBES", 4000)
    q = coupled_fit(objective, np.zeros(objective.shape), 1e-10).gaussian
    neglected = laplace_by_class(objective, q.mean).log_evidence
    exact = laplace(objective, q.mean).log_evidence - neglected
    assert exact > 0.5  # without coupling, the evidence is too low
    assert q.log_evidence - neglected == pytest.approx(exact, rel=0.06)


def test_the_evidence_without_coupling_is_exact_for_two_classes(rng):
    """The first product with E returns its argument, and Lanczos' method ends."""
    objective = posed(*classes(80, 3, 2, rng))
    fit = coupled_fit(objective, np.zeros(objective.shape), 1e-10, with_slope=True)
    exact = laplace(objective, fit.gaussian.mean)
    assert fit.log_evidence == pytest.approx(exact.log_evidence, abs=1e-3)
    tuned = prior_scales(objective).tuned
    assert_allclose(fit.spread / max(tuned * (exact.std**2).sum(axis=0)), 0.0, atol=1e-4)


def test_a_fit_has_the_variances_and_the_drift_of_the_full_precision(rng, monkeypatch):
    objective = posed(*classes(120, 6, 4, rng), scale=3.0)
    monkeypatch.setattr(by_class, "N_PROBES", 4000)
    monkeypatch.setattr(by_class, "LOG_DET_TOL", 0.0)
    fit = coupled_fit(objective, np.zeros(objective.shape), 1e-10, with_slope=True)
    q, full = fit.gaussian, laplace(objective, fit.gaussian.mean)
    missing = prior_scales(objective).tuned * (full.std**2 - q.std**2).sum(axis=0)
    assert_allclose(fit.spread, missing, atol=0.1 * missing.max())
    v = objective.reduce(log_det_slope_by_class, theta=q.mean, q=q).grad
    assert_allclose(fit.drift, full.factor.solve(v), atol=1e-3 * np.abs(fit.drift).max())


@pytest.mark.parametrize("approximate", [laplace_by_class, partial(laplace_diagonal, contrasts=True)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_slope_of_the_log_determinant_is_that_of_finite_differences(approximate, weighted, rng, monkeypatch):
    weight = rng.uniform(0.5, 2.0, size=60) if weighted else None
    objective = posed(*classes(60, 3, 3, rng), weight=weight)
    theta, direction = rng.normal(size=(2, *objective.shape))
    q, h = approximate(objective, theta), 1e-4
    monkeypatch.setattr(uncoupled, "_contrasts", lambda total: q.axes)
    ahead, behind = (approximate(objective, theta + t * direction).log_det for t in (h, -h))
    found = objective.reduce(log_det_slope_by_class, theta=theta, q=q).grad
    assert np.vdot(found, direction) == pytest.approx((ahead - behind) / (2 * h), rel=1e-4)


@pytest.mark.parametrize("is_correlated", [False, True])
def test_the_derivatives_in_the_scales_are_those_of_a_parabola(is_correlated, rng):
    """The log determinant is linear in θ, with the slope of the fit, and coupling does not change."""
    objective = posed(*classes(80, 3, 3, rng), scale=0.5)
    like = prior_scales(objective, "columns")
    if is_correlated:
        precision = objective.prior.precision.copy()
        precision[:3, :3] += 2.0 + np.diag([1.0, 2.0, 3.0])
        objective = replace(objective, prior=replace(objective.prior, precision=precision))
    fit = coupled_fit(objective, np.zeros(objective.shape), 1e-10, with_slope=True)
    q, parabola = fit.gaussian, ParabolaByClass(fit.gaussian, objective.prior)
    uncoupled = replace(fit, spread=np.zeros_like(fit.spread))
    here = scale_derivatives(uncoupled, "columns", rate=0.7, like=like)
    v = q.axes @ np.stack([factor.matrix @ u for factor, u in zip(q.factors, q.axes.T @ fit.drift, strict=True)])

    def value(eta):
        there = parabola.under(here.scales.prior(eta))
        return there.log_evidence - 0.35 * np.vdot(v, there.mean) + here.scales.log_density(eta)[0]

    h, G = 1e-3, len(here.gradient)
    for j in range(G):
        e = h * np.eye(G)[j]
        assert here.gradient[j] == pytest.approx((value(e) - value(-e)) / (2 * h), rel=1e-4, abs=1e-4)
        for k in range(G):
            f = h * np.eye(G)[k]
            second = (value(e + f) - value(e - f) - value(f - e) + value(-e - f)) / (4 * h**2)
            assert -here.precision[j, k] == pytest.approx(second, rel=1e-3, abs=1e-2)


def some_columns(n, rng, *, n_noise=10):
    """Three columns that determine the classes, and others that are noise."""
    X, y = classes(n, 3, 4, rng, signal=5.0)
    return np.column_stack([X, rng.normal(size=(n, n_noise))]), y


def test_scales_of_columns_are_those_of_the_full_evidence(rng):
    """The joint search maximises the same density with dense matrices."""
    objective = posed(*some_columns(250, rng))
    start = tune_scales(objective)
    fit = coupled_fit(start.objective, start.approximation.mean, 1e-8, with_slope=True)
    found = tune_columns(fit, "columns", 1e-8)
    exact = tune_scales(start.objective, "columns", start=start.approximation)
    assert_allclose(np.log(found.factors), np.log(exact.report.factors), atol=0.1)
    assert found.factors[:3].min() > 2 * found.factors[3:].max()
    assert np.abs(found.gradient).max() < 2


def test_groups_share_the_scales_of_the_full_evidence(rng):
    X, y = some_columns(250, rng, n_noise=4)
    options = {"tune": "evidence", "groups": ["signal"] * 3 + ["noise"] * 4, "rng": 0}
    found = sx.BayesianLogisticRegression(structure="by class", **options).fit(X, y)
    full = sx.BayesianLogisticRegression(**options).fit(X, y)
    assert found.tuning_.labels == full.tuning_.labels == ("signal", "noise")
    assert_allclose(np.log(found.tuning_.factors), np.log(full.tuning_.factors), atol=0.15)
    assert_allclose(found.prior_.scale, found.tuning_.factors[[0, 0, 0, 1, 1, 1, 1]])


def test_equal_columns_keep_one_scale(rng):
    objective = posed(*classes(150, 12, 4, rng), standardize=True)
    found = tune_by_class(objective, 1e-6, is_shaped=True)
    assert found.shape is None
    assert found.report.labels == ("all",)
    variance = objective.column_units[:-1] ** 2 / found.objective.prior.precision[:-1]
    assert_allclose(variance, found.factors**2)


def correlated(n, rng):
    """Thirty columns that measure three quantities, which determine the classes."""
    Z, y = classes(n, 3, 4, rng, signal=5.0)
    return Z @ rng.normal(size=(3, 30)) + 2.0 * rng.normal(size=(n, 30)), y


def test_alignment_has_the_evidence_of_the_full_precision(rng):
    objective = posed(*correlated(200, rng), standardize=True)
    level = tune_by_class(objective, 1e-8)
    before = coupled_fit(level.objective, level.mode, 1e-8)
    fit, shape, factor, _ = align_by_class(before, 1e-8)
    exact, its_before = (laplace(each.objective, each.gaussian.mean).log_evidence for each in (fit, before))
    assert exact > its_before + 10
    assert fit.log_evidence - before.log_evidence == pytest.approx(exact - its_before, abs=2)
    scale = level.factors[0] * factor / objective.column_units[:-1]
    assert_allclose(np.linalg.inv(fit.objective.prior.precision[:-1, :-1]), np.outer(scale, scale) * shape, rtol=1e-6)


@pytest.mark.parametrize("simulate", [some_columns, correlated])
def test_a_model_without_a_stated_prior_finds_the_shape_of_its_weights(simulate, monkeypatch, rng, tmp_path):
    X, y = simulate(1200, rng)
    X, new, y, its_class = X[:200], X[200:], y[:200], y[200:]
    found = sx.BayesianLogisticRegression(structure="by class", rng=0).fit(X, y)
    one = sx.BayesianLogisticRegression(sx.Gaussian(), tune="evidence", structure="by class", rng=0).fit(X, y)
    assert isinstance(found.posterior_.approximation, ByClassApproximation)
    assert found.prior_.covariance is not None
    assert one.prior_.covariance is None
    assert found.log_evidence_ > one.log_evidence_ + 5
    losses = [-np.log(each.predict_proba(new)[np.arange(len(new)), its_class]).mean() for each in (found, one)]
    assert losses[0] < 0.97 * losses[1]
    assert 0 < found.effective_parameters_ < one.effective_parameters_
    again = load(save(found, tmp_path / "model.sx"))
    assert np.array_equal(again.predict_proba(new), found.predict_proba(new))
    assert_allclose(again.prior_.covariance, found.prior_.covariance)
    stated = sx.BayesianLogisticRegression(found.prior_, structure="by class", approximation="laplace").fit(X, y)
    assert_allclose(stated.coef_, found.coef_, atol=0.5 * np.abs(found.coef_).max())  # the mode, and the mean


@pytest.mark.parametrize(("n_swapped", "expected"), [(0, [Limit.SEPARATED]), (10, [])])
def test_separable_classes_are_reported_as_by_the_full_covariance(n_swapped, expected, monkeypatch, rng):
    X = rng.uniform(-1, 1, size=(100, 2))
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
    X += 0.3 * np.sign(X)
    y[:n_swapped] = y[:n_swapped][::-1]
    full = sx.BayesianLogisticRegression(rng=0).fit(X, y)
    found = sx.BayesianLogisticRegression(structure="by class", rng=0).fit(X, y)
    assert found.posterior_.approximation.structure == "by class"
    for each in (found, full):
        assert [boundary.limit for boundary in each.tuning_.boundary] == expected
        assert any("separable" in note for note in each.notes_) == bool(expected)


def test_effective_parameters_of_a_full_prior_count_its_correlations(rng):
    X, y = classes(60, 3, 3, rng)
    root = rng.normal(size=(3, 3))
    prior = Gaussian(covariance=root @ root.T + np.eye(3), intercept_scale=10.0)
    objective = pose(as_source(X, y), Softmax(3), prior, fit_intercept=True)
    q = laplace_by_class(objective, mode_of(objective))
    exact = q.mean.size - np.trace(objective.prior.matrix() @ q.covariance)
    assert effective_parameters(q, objective.prior) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_the_tuned_scale_maximises_laplaces_evidence(scale, rng):
    """From starts that are too narrow and too wide."""
    objective = posed(*classes(150, 8, 4, rng), scale=scale)
    report, fit, *_ = tune_level(objective, prior_scales(objective), 1e-8)
    grid = np.log(report.factors[0]) + np.linspace(-0.6, 0.6, 13)
    fits = [with_scale(objective, eta) for eta in grid]
    scales = prior_scales(objective)
    law = [scales.log_density(np.array([eta]))[0] for eta in grid]
    values = [laplace(each, mode_of(each)).log_evidence + log_p for each, log_p in zip(fits, law, strict=True)]
    assert abs(grid[int(np.argmax(values))] - np.log(report.factors[0])) <= 0.2
    assert report.fits <= 5
    assert fit.gaussian.mean.shape == objective.shape


def test_a_search_that_ends_at_its_limit_of_fits_has_not_converged(rng):
    objective = posed(*classes(150, 5, 4, rng), scale=0.01)
    assert tune_level(objective, prior_scales(objective), 1e-6)[0].status is TuningStatus.CONVERGED
    assert tune_level(objective, prior_scales(objective), 1e-6, max_fits=2)[0].status is TuningStatus.MAX_STEPS


def test_averages_along_axes_have_the_derivatives_of_the_average(rng):
    """Slope in the means and curvature in the variances, in single precision."""
    K, n = 4, 5
    axes = np.linalg.qr(np.column_stack([np.ones(K), rng.normal(size=(K, K - 1))]))[0][:, 1:]
    mu, sd, z = rng.normal(size=(n, K)), rng.uniform(0.5, 2.0, size=(n, K - 1)), point_sets(K - 1, 1024)[0]
    value, P, along = axis_averages(mu, sd, z, axes)
    assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)
    h = 0.01
    for k in range(K):
        step = h * np.eye(K)[k]
        rise = axis_averages(mu + step, sd, z, axes)[0] - axis_averages(mu - step, sd, z, axes)[0]
        assert_allclose(P[:, k], rise / (2 * h), atol=1e-4)
    for i in range(K - 1):
        up, down = (np.sqrt(sd**2 + sign * h * np.eye(K - 1)[i]) for sign in (1, -1))
        rise = axis_averages(mu, up, z, axes)[0] - axis_averages(mu, down, z, axes)[0]
        assert_allclose(along[:, i], rise / h, atol=1e-3)  # 2 ∂f/∂(sd²)
    assert value.shape == (n,)


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_averages_of_wide_activations_are_those_in_double_precision(spread, rng):
    """Far classes and wide activations neither overflow nor lose the mirrored points."""
    mu, sd = 60 * rng.normal(size=(40, 6)), spread * rng.uniform(0.1, 2.0, size=(40, 5))
    axes = np.linalg.qr(np.column_stack([np.ones(6), rng.normal(size=(6, 5))]))[0][:, 1:]
    z = point_sets(5, 64)[0]
    A = mu[:, None] + np.einsum("ki,ni,mi->nmk", axes, sd, z)
    P = special.softmax(A, axis=2)
    value, mean, along = axis_averages(mu, sd, z, axes)
    assert_allclose(value, special.logsumexp(A, axis=2).mean(axis=1), rtol=1e-6)
    assert_allclose(mean, P.mean(axis=1), atol=1e-6)
    assert_allclose(along, np.einsum("nmk,mi,ki->ni", P, z, axes) / (len(z) * sd), atol=1e-5)


def test_the_error_of_averages_over_chains_counts_chains_and_not_draws(rng):
    """Ten equal draws of each of 50 chains are 50 draws."""
    objective = posed(*classes(30, 2, 3, rng))
    theta = rng.normal(size=(50, 3, 3))
    rows = np.asarray(objective.source.as_block().X)
    repeated = Draws(np.tile(theta, (10, 1, 1)), np.full(500, 1 / 500), 50)
    alone = Draws(theta, np.full(50, 1 / 50))
    arguments = rows, objective.design, objective.likelihood
    (mean, error), (expected, its_error) = (each.probability_and_error(*arguments) for each in (repeated, alone))
    assert_allclose(mean, expected, atol=1e-12)
    assert_allclose(error, its_error * np.sqrt(50 / 49), rtol=1e-10)


def test_constant_columns_have_the_class_proportions_as_probabilities(monkeypatch):
    y = np.repeat(np.arange(4), [10, 20, 30, 40])
    model = sx.BayesianLogisticRegression(structure="by class").fit(np.ones((100, 6)), y)
    assert model.posterior_.structure == "by class"
    assert_allclose(model.predict_proba(np.ones((1, 6))), [[0.1, 0.2, 0.3, 0.4]], atol=0.02)


def test_rounding_does_not_change_the_signs_of_the_axes(rng):
    """The points of averages lie along the axes, so that storages of the same rows would have other probabilities."""
    for _ in range(20):
        p = rng.dirichlet(np.ones(5), size=100)
        total = np.diag(p.sum(axis=0)) - p.T @ p
        rounding = 1e-14 * rng.normal(size=total.shape)
        assert_allclose(_contrasts(total + rounding + rounding.T), _contrasts(total), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_many_weights_of_k_classes_are_close_to_sampled_ones(weighted, monkeypatch, rng):
    """The posterior has no matrix of all weights, and the same scale, error and probabilities as a full one."""
    X, y = classes(120, 8, 5, rng)
    weight = rng.integers(1, 3, size=120) if weighted else None
    found = sx.BayesianLogisticRegression(structure="by class", rng=0).fit(X, y, sample_weight=weight)
    assert isinstance(found.posterior_.approximation, ByClassApproximation)
    assert found.approximation_ == "variational"
    assert found.probability_error_ < 0.01
    found.posterior_ = replace(found.posterior_, blend=None)  # averages, whatever held-out rows prefer
    sampled = sx.BayesianLogisticRegression(prior=found.prior_, approximation="hmc", rng=1).fit(X, y, weight)
    new = rng.normal(size=(200, 8))
    assert np.abs(found.predict_proba(new) - sampled.predict_proba(new)).mean() < 0.01
    assert abs(found.log_evidence_ - sampled.log_evidence_) < 5
    assert found.tuning_.factors[0] == pytest.approx(found.prior_.scale)


def test_the_mean_of_many_rows_is_corrected_as_with_the_full_covariance(rng):
    objective = posed(*classes(800, 5, 4, rng))
    mode = mode_of(objective)
    full = laplace(objective, mode)
    expected = third_order(objective, full, skewness(objective, full))
    found, largest = corrected_by_class(objective, laplace_by_class(objective, mode), 1e-10)
    assert np.abs((expected.mean - mode) / full.std).max() > 0.03
    assert largest == pytest.approx(np.abs((expected.mean - mode) / full.std).max(), abs=0.01)
    assert_allclose((found.mean - expected.mean) / full.std, 0.0, atol=0.01)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=0.01)
    assert found.log_evidence == pytest.approx(full.log_evidence, abs=1.0)


def test_the_mean_of_a_skewed_posterior_is_not_corrected(rng):
    objective = posed(*classes(60, 4, 3, rng, signal=20.0), scale=10.0)
    q = laplace_by_class(objective, mode_of(objective))
    assert corrected_by_class(objective, q, 1e-8) is None
    moved, largest = corrected_by_class(objective, q, 1e-8, max_shift=np.inf)
    assert largest > 1
    assert np.abs((moved.mean - q.mean) / q.std).max() == pytest.approx(1.0, abs=0.01)


def test_a_skewed_posterior_of_many_rows_and_classes_predicts_at_its_mode_with_a_warning(rng, monkeypatch):
    """Averages over a Gaussian whose mean is many standard deviations away would be far worse."""
    monkeypatch.setitem(costs.LIMITS, "quick", 0.0)
    X, y = classes(2000, 15, 12, rng)
    X, y = (np.concatenate(part) for part in ((X, X[:3] + 4.0), (y, np.full(3, 12))))  # a class of three rows
    with pytest.warns(ApproximationWarning, match=r"standard deviations from its mode.*Use a narrower prior"):
        found = sx.BayesianLogisticRegression(Gaussian(3.0), tune=None, rng=0).fit(X, y)
    assert found.approximation_ == "laplace"
    assert found.posterior_.structure == "by class"
    assert any("standard deviations from its mode" in note for note in found.notes_)
    assert_allclose(found.predict_proba(X), special.softmax(X @ found.coef_.T + found.intercept_, axis=1), atol=1e-12)


def test_the_error_of_a_corrected_posterior_is_that_of_a_sampled_one(rng):
    """Many rows: Laplace's Gaussian is used without chains, and its error is estimated from the shift of the mean."""
    X, y = classes(4500, 20, 12, rng)
    found = sx.BayesianLogisticRegression(Gaussian(), tune=None, rng=0).fit(X, y)
    assert (found.approximation_, found.posterior_.structure) == ("laplace", "by class")
    assert 0 < found.probability_error_ < 0.005


def test_coupling_of_a_sample_is_nearly_that_of_all_rows(rng):
    objective = posed(*classes(4000, 6, 5, rng))
    everything = coupled_fit(objective, np.zeros(objective.shape), 1e-8, with_slope=True)
    sample = representative_sample(objective.source, 2000, 10)
    found = coupled_fit(replace(objective, sample=sample), np.zeros(objective.shape), 1e-8, with_slope=True)
    assert found.log_evidence != everything.log_evidence
    assert found.log_evidence == pytest.approx(everything.log_evidence, abs=0.4)
    assert_allclose(found.drift, everything.drift, atol=0.2 * np.abs(everything.drift).max())


def test_a_poor_laplace_posterior_that_is_too_large_to_be_replaced_gives_a_warning(monkeypatch, rng):
    """Nearly separable classes under a wide prior: Laplace's average error is above 0.05."""
    monkeypatch.setattr(contrasts, "estimated_by_class_seconds", lambda objective: np.inf)
    X, y = classes(60, 4, 3, rng, signal=20.0)
    with pytest.warns(ApproximationWarning, match="average error .* 15 weights are too many"):
        found = sx.BayesianLogisticRegression(sx.Gaussian(10.0), structure="by class", rng=0).fit(X, y)
    assert found.approximation_ == "laplace"
    assert found.probability_error_ > 0.01


def words(n, n_words, n_classes, rng):
    """Sparse rows with about four different words each."""
    X = sparse.random_array((n, n_words), density=4 / n_words, format="csr", rng=rng, data_sampler=rng.exponential)
    t = np.argmax(X @ (2 * rng.normal(size=(n_words, n_classes))) + rng.gumbel(size=(n, n_classes)), axis=1)
    return sparse.csr_array(X), t


def test_the_weights_of_many_sparse_columns_are_independent_along_contrasts(rng, monkeypatch):
    """Probabilities and the tuned scale are nearly those by class."""
    X, y = words(400, 60, 4, rng)
    by_class = sx.BayesianLogisticRegression(Gaussian(), tune="evidence", rng=0).fit(X, y)
    found = sx.BayesianLogisticRegression(Gaussian(), tune="evidence", structure="mean field", rng=0).fit(X, y)
    assert (by_class.posterior_.structure, found.posterior_.structure) == ("by class", "diagonal")
    assert found.approximation_ == "variational"
    assert found.prior_.scale == pytest.approx(by_class.prior_.scale, rel=0.1)
    new, _ = words(200, 60, 4, rng)
    assert np.abs(by_class.predict_proba(new) - found.predict_proba(new)).mean() < 0.01


def test_one_scale_of_independent_weights_is_not_aligned(rng, monkeypatch):
    """One scale is best here; without a stated prior, its precision has no matrix to align."""
    found = sx.BayesianLogisticRegression(structure="mean field", rng=0).fit(*words(400, 60, 4, rng))
    assert found.posterior_.structure == "diagonal"
    assert found.prior_.covariance is None


def test_a_mean_field_maximises_its_bound(rng):
    """No change of a mean or of a variance raises the bound, which is lower than that by class."""
    X, y = words(150, 20, 3, rng)
    objective = posed(X, y, standardize=True)
    mode = mode_of(objective)
    found = variational_diagonal(objective, laplace_diagonal(objective, mode, contrasts=True), tol=1e-6)
    assert found.is_converged
    assert found.log_evidence < variational_by_class(objective, laplace_by_class(objective, mode)).log_evidence
    Q, prior = found.axes[:, 1:], objective.prior
    points = point_sets(2, by_class_n_points(objective))
    average = partial(diagonal_average, axes=Q, points=points, design=objective.design)

    def bound(mean, precision):
        here = objective.source.reduce(partial(average, mean=mean, variance=1 / precision[1:]))
        trace = (prior.diagonal[0] / precision[1:] + np.log(precision[1:])).sum()
        return here.value - prior.value_grad(mean)[0] - 0.5 * trace

    best = bound(found.mean, found.precision)
    for _ in range(5):
        move, ratio = 0.05 * rng.normal(size=(2, *found.mean.shape))
        assert bound(found.mean + Q @ Q.T @ move * found.std, found.precision) < best
        assert bound(found.mean, found.precision * np.exp(ratio)) < best


def texts(n, rng, *, n_words=200, n_classes=6):
    """Sparse rows of 40 words each; each class prefers some words, so that new rows are nearly separable, too."""
    liked = np.exp(rng.normal(size=(n_classes, n_words)))
    liked /= liked.sum(axis=1, keepdims=True)

    def draw(n):
        t = np.arange(n) % n_classes
        return sparse.csr_array([rng.multinomial(40, liked[k]) for k in t], dtype=float), t

    return draw(n), draw(1000)


def log_loss(P, t):
    return -np.log(P[np.arange(len(t)), t]).mean()


def test_averages_over_a_mean_field_are_narrowed_if_held_out_rows_are_nearly_separable(rng, tmp_path):
    """The log-loss on new rows is at least a quarter lower; intervals keep the variances of the posterior."""
    (X, y), (new, t) = texts(300, rng)
    model = sx.BayesianLogisticRegression(Gaussian(0.3), structure="mean field", rng=0).fit(X, y)
    assert model.posterior_.structure == "diagonal"
    assert any("times their variances" in note for note in model.notes_)
    narrowed, (P, _) = model.predict_proba(new), model.predict_with_error(new)
    assert np.abs(P - narrowed).max() < 0.03  # the error of moment matching
    save(model, tmp_path / "model.sx")
    assert_allclose(load(tmp_path / "model.sx").predict_proba(new), narrowed)
    a = model.decision_distribution(new)
    model.posterior_ = replace(model.posterior_, variance_factor=1.0)
    assert log_loss(narrowed, t) < 0.75 * log_loss(model.predict_proba(new), t)
    assert_allclose(model.decision_distribution(new).variance, a.variance)


def test_averages_over_a_mean_field_are_not_narrowed_if_labels_are_random(rng, monkeypatch):
    (X, y), _ = texts(300, rng)
    model = sx.BayesianLogisticRegression(Gaussian(0.3), structure="mean field", rng=0).fit(X, rng.permutation(y))
    assert model.posterior_.structure == "diagonal"
    assert not any("times their variances" in note for note in model.notes_)


def test_held_out_rows_do_not_change_the_mean_field_that_predicts_them(rng):
    """It is that of the other rows alone; equal rows are held out together, and any number of rows may be."""
    X, y = words(200, 30, 3, rng)
    objective = posed(X, y, standardize=True)
    is_held_out = partial(_is_held_out, stride=5, units=objective.design.single_units())
    held_out = is_held_out(objective.source.as_block())
    assert 20 <= held_out.sum() <= 60
    assert (is_held_out(as_source(X[::-1], y[::-1]).as_block()) == held_out[::-1]).all()
    start = laplace_diagonal(objective, mode_of(objective), contrasts=True)
    other_labels = as_source(X, np.where(held_out, (y + 1) % 3, y))
    by_weight, by_label, alone = (
        variational_diagonal(replace(objective, source=source), start, tol=1e-6)
        for source in (
            objective.source.viewed(partial(without_held_out, is_held_out=is_held_out)),
            other_labels.viewed(partial(without_held_out, is_held_out=is_held_out)),
            as_source(X[~held_out], y[~held_out]),
        )
    )
    assert_allclose(by_weight.mean, by_label.mean, rtol=1e-12)
    assert_allclose(by_weight.mean, alone.mean, atol=1e-4 * np.abs(alone.mean).max())
    log_p = [
        replace(objective, source=as_source(X[rows], y[rows])).reduce(
            held_out_log_likelihood, q=alone, is_held_out=is_held_out
        )
        for rows in (slice(None), held_out, ~held_out)
    ]
    assert_allclose(log_p[0].grad, log_p[1].grad)
    assert not log_p[2].grad.any()


def test_the_variances_of_a_mean_field_are_positive_if_averages_over_points_are_not(rng):
    """Rows of huge weight have averages near zero, whose sign is due to the points."""
    X, y = words(60, 80, 4, rng)
    objective = posed(X, y, 5.0, np.full(60, 1e7), standardize=True)
    start = laplace_diagonal(objective, mode_of(objective), contrasts=True)
    found = variational_diagonal(objective, start, max_steps=3)
    assert (found.precision > 0).all()
    assert np.isfinite(found.mean).all()


def test_sparse_products_with_many_vectors_are_those_of_dense_rows(rng):
    X, y = words(40, 30, 3, rng)
    design = posed(X, y, standardize=True).design
    theta, a = rng.normal(size=(5, 31)), rng.normal(size=(5, 40)).astype(np.float32)
    thin, exact = Products(X, design, single=True), Products(X, design, single=False)
    assert sparse.issparse(thin.rows)
    assert_allclose(thin.activations(theta), exact.activations(theta), atol=1e-5)
    assert_allclose(thin.sums(a), exact.sums(a), atol=1e-5)


def test_the_units_of_columns_do_not_change_a_posterior_by_class(rng):
    """The points of a row depend on its values, but not on their units."""
    X, y = classes(120, 60, 4, rng)
    new = rng.normal(size=(50, 60))
    units = 3.0 ** rng.integers(-3, 4, size=60)
    here, there = (
        sx.BayesianLogisticRegression(Gaussian(0.3), tune=None, rng=0).fit(X * u, y).predict_proba(new * u)
        for u in (1.0, units)
    )
    assert_allclose(here, there, atol=1e-5)


def test_few_rows_of_many_classes_are_fitted_by_class_if_that_takes_fewer_operations(monkeypatch, rng):
    """Otherwise the unknowns of all rows and classes have one covariance: with 466 rows of ten classes, for minutes."""
    X = rng.normal(size=(60, 110))
    t = (X[:, :3] + 0.5 * rng.gumbel(size=(60, 3))).argmax(axis=1)
    found = {}
    for limit in (1000, 100):  # 180 unknowns in the span of the rows
        monkeypatch.setattr(inference, "MAX_LEVEL_WEIGHTS", limit)
        found[limit] = sx.BayesianLogisticRegression(rng=0).fit(X, t)
    assert [model.posterior_.approximation.structure for model in found.values()] == ["dual", "by class"]
    new = rng.normal(size=(200, 110))
    assert np.abs(found[100].predict_proba(new) - found[1000].predict_proba(new)).mean() < 0.02  # of random columns


@pytest.mark.parametrize("tune", [None, "evidence"])
def test_sparse_rows_and_files_have_the_posterior_of_rows_in_memory(tune, rng, tmp_path):
    X, y = classes(200, 52, 4, rng)
    X *= rng.random(X.shape) < 0.3
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(52)])
    table.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    model = sx.BayesianLogisticRegression(tune=tune, rng=0)
    expected = model.fit(X, y).predict_proba(X)
    assert model.posterior_.structure == "by class"
    thin = sparse.csr_array(X)
    assert_allclose(model.fit(thin, y).predict_proba(thin), expected, atol=1e-5)  # sums in single precision differ
    scanned = model.fit(sx.scan(tmp_path / "rows.parquet", target="y"))
    assert_allclose(scanned.predict_proba(table), expected, atol=1e-8)


def test_batches_of_sparse_rows_have_the_posterior_of_dense_ones(rng):
    X, y = classes(120, 5, 4, rng)
    dense, thin = sx.BayesianLogisticRegression(tune=None, rng=0), sx.BayesianLogisticRegression(tune=None, rng=0)
    for rows in (slice(0, 60), slice(60, 120)):
        dense.partial_fit(X[rows], y[rows], classes=range(4))
        thin.partial_fit(sparse.csr_array(X[rows]), y[rows], classes=range(4))
    assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-8)
    assert thin.log_evidence_ == pytest.approx(dense.log_evidence_, abs=1e-6)


@pytest.mark.parametrize(("n_columns", "has_remedy"), [(5, True), (60, False)])
def test_importance_sampling_is_no_remedy_for_hundreds_of_weights(n_columns, has_remedy, rng):
    objective = posed(*classes(100, n_columns, 4, rng))
    first = laplace(objective, mode_of(objective))
    found = Inference(objective, first.mean, np.ones(n_columns), approximation=first)
    warning = found.accept(replace(first, name="variational", is_converged=False)).warnings[0]
    assert ("importance" in warning) == has_remedy


def test_a_fit_that_does_not_converge_is_not_replaced_by_itself(rng):
    objective = posed(*classes(60, 3, 3, rng))
    first = laplace(objective, mode_of(objective))
    found = Inference(objective, first.mean, np.ones(3), approximation=first)
    assert "the last fit of tuning is used" in found.accept(replace(first, is_converged=False)).warnings[0]
    assert "'laplace' is used" in found.accept(replace(first, name="ep", is_converged=False)).warnings[0]


def test_a_rough_search_of_scales_for_columns_finds_most_of_the_gain(monkeypatch):
    rng = np.random.default_rng(1005)
    K, D, N = (int(rng.integers(*limits)) for limits in ((6, 14), (20, 60), (80, 600)))
    X = rng.normal(size=(N, D))
    W = rng.normal(size=(D, K)) * (rng.random((D, 1)) < 0.4) * rng.uniform(0.3, 2)
    y = (X @ W + rng.gumbel(size=(N, K))).argmax(axis=1)
    rough = sx.BayesianLogisticRegression(rng=0).fit(X, y)
    monkeypatch.setattr(by_class, "MIN_GAIN_FRACTION", 0.0)
    exact = sx.BayesianLogisticRegression(rng=0).fit(X, y)
    assert len(rough.tuning_.labels) == len(exact.tuning_.labels) == D
    assert rough.log_evidence_ > exact.log_evidence_ - 2.0
