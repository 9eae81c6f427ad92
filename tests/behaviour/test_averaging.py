"""Posteriors averaged over the scales of their priors: nodes, mixtures, and the maps between nodes."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

import separatrix as sx
from separatrix.bayesian import AveragedApproximation, averaging, tuning
from separatrix.bayesian.averaging import (
    average,
    average_draws,
    effect_axes,
    scale_effect,
    scale_nodes,
    scale_precision,
)
from separatrix.bayesian.ep import expectation_propagation
from separatrix.bayesian.evidence import FitEP, FitLaplace, prior_scales
from separatrix.bayesian.tuning import Parabola, tune_scales
from separatrix.export import load, save
from separatrix.likelihoods import Logit, Softmax
from separatrix.rows import as_source
from separatrix.solvers import factorise, pose
from separatrix.weights import Draws, mixture_quantiles


def simulate(n, p, scale, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    A = X @ rng.normal(0, scale, size=(p, 1 if n_classes == 2 else n_classes))
    if n_classes == 2:
        return X, (A[:, 0] + rng.logistic(size=n) > 0).astype(np.intp)
    return X, np.argmax(A + rng.gumbel(size=A.shape), axis=1)


def tuned(X, t, fitter=None, groups=None, likelihood=None):
    objective = pose(
        as_source(X, t), likelihood or Logit(), sx.Gaussian(intercept_scale=5.0), fit_intercept=True, standardize=True
    )
    found = tune_scales(objective, groups, fitter=fitter, tol=1e-6)
    return found.objective, found.approximation, prior_scales(found.objective, groups)


def test_quantiles_of_a_mixture_have_their_probabilities(rng):
    weights, mean, std = rng.dirichlet(np.ones(3)), rng.normal(size=(3, 7)), rng.uniform(0.1, 3, size=(3, 7))
    levels = np.array([0.025, 0.5, 0.9])
    found = mixture_quantiles(weights, mean, std, levels)
    reached = np.tensordot(weights, stats.norm(mean[..., None], std[..., None]).cdf(found), 1)
    assert_allclose(reached, np.broadcast_to(levels, reached.shape), rtol=1e-9)
    one = mixture_quantiles(np.ones(1), mean[:1], std[:1], levels)
    assert_allclose(one, stats.norm(mean[0][:, None], std[0][:, None]).ppf(levels), rtol=1e-12)


@pytest.mark.parametrize("groups", [None, "columns", [0, 0, 1, 1, 2]])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_precision_of_the_scales_is_the_curvature_of_the_predicted_evidence(groups, n_classes):
    X, t = simulate(120, 5, 0.7, n_classes=n_classes)
    objective, found, scales = tuned(X, t, groups=groups, likelihood=Softmax(3) if n_classes == 3 else None)
    parabola, G, h = Parabola(found, objective.prior), len(scales.labels), 1e-3

    def value(eta):
        return parabola.under(scales.prior(eta)).log_evidence + scales.log_density(eta)[0]

    e = h * np.eye(G)
    numeric = [[value(a + b) - value(a - b) - value(b - a) + value(-a - b) for a in e] for b in e]
    assert_allclose(scale_precision(scales, found, objective), -np.array(numeric) / (4 * h * h), rtol=1e-3, atol=1e-3)


CASES = {"laplace": FitLaplace(), "ep": FitEP()}


@pytest.mark.parametrize("fitter", CASES.values(), ids=CASES)
@pytest.mark.parametrize(
    ("n", "p", "scale"), [(200, 10, 0.15), pytest.param(100, 20, 0.5, marks=pytest.mark.slow), (60, 3, 3.0)]
)
def test_five_nodes_agree_with_a_fine_grid_of_fits(n, p, scale, fitter):
    X, t = simulate(n, p, scale)
    objective, found, scales = tuned(X, t, fitter)
    nodes = scale_nodes(objective, scales, found, fitter)
    assert_allclose(nodes.weights.sum(), 1.0)
    axis = np.linspace(-4.0, 3.0, 43)
    fits = [fitter.fit(replace(objective, prior=scales.prior(np.array([u])))) for u in axis]
    log_f = np.array([q.log_evidence + scales.log_density(np.array([u]))[0] for q, u in zip(fits, axis, strict=True)])
    log_evidence = special.logsumexp(log_f) + np.log(axis[1] - axis[0])
    assert_allclose(found.log_evidence + nodes.log_ratio, log_evidence, atol=0.1)
    weights = np.exp(log_f - special.logsumexp(log_f))
    mean = sum(w * q.mean for w, q in zip(weights, fits, strict=True))
    second = sum(w * (q.std**2 + (q.mean - mean) ** 2) for w, q in zip(weights, fits, strict=True))
    averaged = average(objective, found, found, nodes)
    assert np.abs((averaged.mean - mean) / np.sqrt(second)).max() < 0.1
    assert_allclose(averaged.std, np.sqrt(second), rtol=0.1)
    assert averaged.std.mean() > 1.02 * found.std.mean()  # the best scale alone is overconfident


def test_the_wide_average_of_a_column_that_separates_its_rows_agrees_with_quadrature():
    X, t = np.repeat([0.0, 0.0, 1.0], [100, 63, 37])[:, None], np.repeat([0, 1, 1], [100, 63, 37])
    objective = pose(as_source(X, t), Logit(), sx.Gaussian(intercept_scale=10.0), fit_intercept=True, standardize=True)
    scales = prior_scales(objective)
    w, b, axis = np.linspace(-5, 80, 300)[:, None, None], np.linspace(-2, 16, 180)[:, None], np.linspace(-4, 6, 40)
    a = b - objective.design.origin[0] * w  # activation of x = 0
    log_p = 63 * a - 163 * np.logaddexp(0, a) - 37 * np.logaddexp(0, -a - w)
    precision = np.stack([scales.prior(np.array([u])).diagonal[0] for u in axis])
    log_prior = 0.5 * np.log(precision[:, 0]) + np.array([scales.log_density(np.array([u]))[0] for u in axis])
    log_f = log_p - 0.5 * (precision[:, 0] * w**2 + precision[:, 1] * b**2) + log_prior
    mass = special.softmax(log_f).sum(axis=(1, 2))
    mean = mass @ w.ravel()
    found = sx.BayesianLogisticRegression().fit(X, t)
    sd = np.sqrt(mass @ (w.ravel() - mean) ** 2)
    assert_allclose(found.coef_[0, 0], mean, atol=0.15 * sd)
    assert_allclose(found.posterior_.std[0], sd, rtol=0.2)


def test_a_scale_that_the_data_determine_needs_no_average(monkeypatch):
    X, t = simulate(300, 40, 0.3)
    objective, found, scales = tuned(X, t)
    monkeypatch.setattr(averaging, "MIN_SPREAD", 0.5)
    nodes = scale_nodes(objective, scales, found, FitLaplace())
    assert len(nodes.fits) == 1
    averaged = average(objective, found, found, nodes)
    assert averaged.mean is found.mean
    assert_allclose(averaged.log_evidence, found.log_evidence + nodes.log_ratio)


@pytest.mark.parametrize("is_shaped", [False, True], ids=["one_scale", "covariance"])
def test_the_effect_of_a_scale_is_the_change_of_the_predicted_posterior(is_shaped):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    t = (X @ [1.0, -0.5, 0.2] + rng.logistic(size=200) > 0).astype(int)
    prior = sx.Gaussian(covariance=np.eye(3) + 0.5, intercept_scale=5.0) if is_shaped else sx.Gaussian(0.5)
    objective = pose(as_source(X, t), Logit(), replace(prior, intercept_scale=5.0), fit_intercept=True)
    scales, found, h = prior_scales(objective), FitLaplace(1e-12).fit(objective), 1e-5
    parabola = Parabola(found, objective.prior)
    low, high = (parabola.under(scales.prior(np.array([eta]))) for eta in (-h, h))
    of_mean = np.abs((high.mean - low.mean) / found.std).max() / (2 * h)
    of_variance = np.abs((high.std**2 - low.std**2) / found.std**2).max() / (2 * h)
    assert_allclose(averaging.largest_effect(objective, scales, found), max(of_mean, of_variance), rtol=1e-6)


def test_nodes_with_hardly_any_weight_get_no_draws(rng):
    X, t = simulate(80, 4, 1.0)
    objective, found, scales = tuned(X, t, FitEP())
    nodes = scale_nodes(objective, scales, found, FitEP())
    assert len(nodes.fits) > 1
    first = nodes._replace(weights=np.eye(len(nodes.fits))[0])
    noise = rng.normal(size=(10, *found.mean.shape))
    theta = found.mean + np.concatenate([noise, -noise])
    draws = average_draws(Draws(theta, np.full(20, 0.05)), found, first, rng)
    assert_allclose(draws.mean, nodes.fits[0].mean)


def test_a_better_gaussian_moves_to_the_nodes_as_the_tuned_one_does(rng):
    X, t = simulate(80, 4, 1.0)
    objective, found, scales = tuned(X, t, FitEP())
    best = expectation_propagation(objective, found)
    assert best.moments is not None
    nodes = scale_nodes(objective, scales, found, FitEP())
    moved = average(objective, found, best, nodes)
    # Draws of the better Gaussian, moved by the same map, have the moments of the result.
    theta = best.mean + (rng.standard_normal((200_000, 5)) @ best.root.T)[:, None]
    draws = average_draws(Draws(theta, np.full(len(theta), 1 / len(theta))), found, nodes, rng)
    assert_allclose(draws.mean, moved.mean, atol=0.03)
    assert_allclose(draws.covariance, moved.covariance, rtol=0.05, atol=0.03)
    same = average(objective, found, found, nodes)
    assert_allclose(same.mean, sum(w * fit.mean for w, fit in zip(nodes.weights, nodes.fits, strict=True)))


def separable(p=30):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, p))
    return X, (X @ rng.normal(size=p) > 0).astype(int)


def test_a_mixture_predicts_the_average_of_its_nodes(tmp_path):
    X, y = separable()
    model = sx.BayesianLogisticRegression(tune="evidence").fit(X, y)
    q = model.posterior_.approximation
    assert isinstance(q, AveragedApproximation)
    # Intervals would be computed from draws, and probabilities from a blend with modes.
    model.posterior_ = replace(model.posterior_, draws=None, blend=None)
    new = np.random.default_rng(1).normal(size=(50, 30))
    parts = [q_j.activations(new, model.posterior_.design) for q_j in q.nodes]
    z = np.linspace(-8, 8, 801)
    w = stats.norm.pdf(z)
    each = [(special.expit(a.mean[:, None] + np.sqrt(a.cov)[:, None] * z) @ w) / w.sum() for a in parts]
    assert_allclose(model.predict_proba(new)[:, 1], q.weights @ each, atol=1e-8)
    assert_allclose(model.predict_with_error(new)[0], model.predict_proba(new))
    draws = model.posterior_.sample(40_000, rng=0)
    a = new @ draws[:, :-1].T + draws[:, -1]
    expected = np.quantile(special.expit(a), [0.025, 0.975], axis=1).T
    assert_allclose(model.predict_interval(new), expected, atol=0.05)
    distribution = model.decision_distribution(new)
    assert_allclose(distribution.variance, a.var(axis=1), rtol=0.5)  # `moments` of draws are wider than predictions
    summary, draws = model.summary(), np.roll(draws, 1, axis=-1)  # the intercept is first
    assert_allclose(summary.lower, np.quantile(draws, 0.025, axis=0), atol=0.15)
    is_right = (draws * np.sign(summary.coefficient) > 0).mean(axis=0)
    assert_allclose(summary.probability_of_sign, is_right, atol=0.02)
    again = load(save(model, tmp_path / "model.sx"))
    assert np.array_equal(again.predict_proba(new), model.predict_proba(new))
    assert np.array_equal(again.predict_interval(new), model.predict_interval(new))


def test_a_wide_mixture_keeps_the_prior_of_each_node_outside_the_span():
    X, y = separable(150)
    model = sx.BayesianLogisticRegression(tune="evidence").fit(X, y)
    full = sx.BayesianLogisticRegression(tune="evidence", structure="full").fit(X, y)
    assert model.posterior_.structure == "dual"
    new = np.random.default_rng(1).normal(size=(50, 150))
    assert_allclose(model.prior_.scale, full.prior_.scale, rtol=0.02)
    assert_allclose(model.log_evidence_, full.log_evidence_, atol=0.02)
    assert_allclose(model.predict_proba(new), full.predict_proba(new), atol=5e-3)
    assert_allclose(model.predict_interval(new), full.predict_interval(new), atol=0.02)
    assert_allclose(model.posterior_.std, full.posterior_.std, rtol=0.05)
    assert_allclose(model.effective_parameters_, full.effective_parameters_, rtol=0.02)


@pytest.mark.parametrize("structure", ["by class", "diagonal"])
def test_the_scale_of_many_weights_is_that_of_the_full_covariance(monkeypatch, structure):
    X, t = simulate(150, 6, 0.8, n_classes=3)
    prior = sx.Gaussian(30.0, intercept_scale=5.0)
    objective = pose(as_source(X, t), Softmax(3), prior, fit_intercept=True, standardize=True)
    exact = np.log(tune_scales(objective).report.factors)
    monkeypatch.setattr(tuning, "MAX_TUNED_WEIGHTS", 10)
    model = sx.BayesianLogisticRegression(sx.Gaussian(30.0), tune="evidence", structure=structure).fit(X, t)
    assert_allclose(np.log(model.prior_.scale / 30), exact, atol=0.1)


def test_axes_without_an_effect_do_not_depend_on_the_order_of_the_columns():
    """Scales of two copies of a column have no effect if one rises and the other falls."""
    X, t = simulate(60, 2, 1.0)
    X = np.column_stack([X, X, np.ones(60)])
    axes = []
    for order in (np.arange(5), np.array([4, 2, 1, 0, 3]), np.array([3, 4, 0, 2, 1])):
        objective, found, scales = tuned(X[:, order], t, groups="columns")
        u = effect_axes(scale_precision(scales, found, objective), scale_effect(scales, found, objective))
        axes.append(u[np.argsort(order)])
        assert_allclose(u @ u.T, np.linalg.inv(scale_precision(scales, found, objective)), rtol=1e-6, atol=1e-9)
    assert_allclose(np.abs(axes[1]), np.abs(axes[0]), atol=1e-3)
    assert_allclose(np.abs(axes[2]), np.abs(axes[0]), atol=1e-3)


def test_a_moved_gaussian_is_not_much_wider_than_the_tuned_one():
    """A better Gaussian that is wider in some direction may leave hardly any precision under a wider prior."""
    X, t = simulate(20, 5, 2.0, seed=3)
    objective, found, scales = tuned(X, t)
    nodes = scale_nodes(objective, scales, found, FitLaplace(1e-8))
    widest = max(nodes.fits, key=lambda fit: fit.std.max())
    least = np.linalg.eigvalsh(np.linalg.solve(found.factor.matrix, widest.factor.matrix)).min()
    for fraction in (0.999 * least, 0.5 * least):
        matrix = found.factor.matrix - fraction * found.factor.matrix
        best = replace(found, moments=factorise(matrix, 1, np.zeros(len(matrix), dtype=bool)))
        (moved,) = averaging._moved(best, found, [widest])
        assert moved.moments is not None
        ratio = np.linalg.eigvals(np.linalg.solve(widest.factor.matrix, moved.moments.matrix)).real.min()
        assert ratio > 1 / 8
