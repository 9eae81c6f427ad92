# SPDX-License-Identifier: BSD-3-Clause
"""Normal classes: densities, covariances, missing values, unlabelled rows and the three estimates."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from scipy.stats import multivariate_normal, multivariate_t

import separatrix as sx
from problems import blobs
from separatrix.exceptions import ConvergenceWarning
from separatrix.generative._kernels import sweep_patterns
from separatrix.generative.covariance import DenseCovariance, FactoredCovariance, NormalClasses, condition, patterns
from separatrix.generative.em import (
    Expectation,
    available_moments,
    expected_moments,
    maximise_expectation,
    uncorrelated,
)
from separatrix.generative.gaussian import maximum_evidence
from separatrix.generative.scoring import Patterns, Scoring, projections
from separatrix.rows import Block, as_source
from separatrix.solvers import Status
from separatrix.stats import ClassScatter, Tally

MODELS = [sx.LinearDiscriminantAnalysis, sx.QuadraticDiscriminantAnalysis]
both_models = pytest.mark.parametrize("model", MODELS)


def with_missing_values(X, share=0.2, seed=0):
    incomplete = X.copy()
    incomplete[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return incomplete


def observed_log_likelihood(X, y, priors, means, covariance):
    """ln p(y, x_seen), from the definition."""
    total = 0.0
    covariances = np.broadcast_to(covariance, (len(means), *covariance.shape[-2:]))
    for k in range(len(means)):
        (squared, log_det, n_seen), _, _ = condition(X[y == k], means[k], covariances[k])
        total += (-0.5 * (n_seen * np.log(2 * np.pi) + log_det + squared)).sum()
        total += (y == k).sum() * np.log(priors[k])
    return total


@both_models
def test_em_never_lowers_the_likelihood_and_ends_at_a_maximum(model, rng):
    X, y = blobs(200, n_classes=2)
    incomplete = with_missing_values(X)
    fitted = model().fit(incomplete, y)
    means, covariance, trace = fitted.means_, fitted.covariance_, fitted.solution_.trace
    assert (np.diff(trace) >= -1e-9 * abs(trace[0])).all()
    best = observed_log_likelihood(incomplete, y, fitted.priors_, means, covariance)
    assert best == pytest.approx(trace[-1], rel=1e-6)
    unit = np.sqrt(np.einsum("...mm->...m", covariance))
    for _ in range(20):  # no nearby parameters are more likely
        moved = means + 0.05 * rng.normal(size=means.shape)
        assert observed_log_likelihood(incomplete, y, fitted.priors_, moved, covariance) < best
        E = 0.003 * rng.normal(size=covariance.shape) * unit[..., :, None] * unit[..., None, :]
        turned = covariance + E + np.swapaxes(E, -1, -2)
        assert observed_log_likelihood(incomplete, y, fitted.priors_, means, turned) < best


def nearly_dependent(n=1000, n_features=8, seed=0):
    """Normal classes whose last column is almost a combination of the others, with missing values: EM is slow."""
    X, y = blobs(n, n_features=n_features, n_classes=2, seed=seed)
    X[:, -1] = X[:, :-1].sum(axis=1) + 0.7 * np.random.default_rng(seed).normal(size=n)
    return with_missing_values(X, 0.3, seed), y


def run_em(model, X, y, *step, **options):
    """Result of EM with plain steps, or with another kind of step."""
    source = as_source(X, y)
    model.classes_ = np.unique(y)
    start = source.reduce(partial(available_moments, n_classes=2, stride=10)).moments

    def expect(facts):
        parameters = model._classes(facts, np.zeros(2), "ml", in_em=True)[0], np.log(facts.count / facts.total)
        return partial(expected_moments, parameters=parameters, scatter=model._scatter)

    return maximise_expectation(source, uncorrelated(start, model._scatter), expect, *step, **options)


@both_models
def test_scoring_finds_the_maximum_of_em_in_few_passes(model):
    X, y = nearly_dependent()
    fitted, slow = model().fit(X, y), run_em(model(), X, y, tol=1e-11, max_steps=5000)
    assert fitted.n_passes_ <= 20
    assert slow.passes > 100
    assert (np.diff(fitted.solution_.trace) >= 0).all()
    assert fitted.solution_.trace[-1] == pytest.approx(slow.trace[-1], abs=1e-8 * len(X))
    assert_allclose(fitted.means_, slow.value.mean, atol=1e-4)
    count = slow.value.total if model is MODELS[0] else slow.value.count[:, None, None]
    assert_allclose(fitted.covariance_, slow.value.scatter.array / count, rtol=1e-3, atol=1e-3)


@both_models
@pytest.mark.parametrize("kind", ["gaps depend on values", "heavy tails"])
def test_few_passes_suffice_if_the_information_differs_from_that_of_normal_rows(model, kind, rng):
    X, y = blobs(1500, n_features=6, n_classes=2)
    if kind == "heavy tails":
        X = with_missing_values(X + rng.standard_t(2.2, size=X.shape) @ rng.normal(size=(6, 6)))
    else:
        X[X[:, 0] > 0, 1:4] = np.nan
    fitted, slow = model().fit(X, y), run_em(model(), X, y, tol=1e-10, max_steps=5000)
    assert fitted.n_passes_ <= 25
    assert slow.passes > 2 * fitted.n_passes_
    assert fitted.solution_.trace[-1] == pytest.approx(slow.trace[-1], abs=1e-7 * len(X))


@both_models
def test_the_score_is_zero_at_the_maximum(model, rng):
    """Finite differences of the log likelihood along random changes of means and covariances, per row."""
    X, y = nearly_dependent(400, 5)
    fitted = model().fit(X, y)
    means, covariance, h = fitted.means_, fitted.covariance_, 1e-4
    root = np.linalg.cholesky(covariance)
    for _ in range(10):
        d = rng.normal(size=means.shape) * np.sqrt(np.einsum("...mm->...m", covariance))
        W = rng.normal(size=covariance.shape)
        V = root @ (W + np.swapaxes(W, -1, -2)) @ np.swapaxes(root, -1, -2)
        ends = [observed_log_likelihood(X, y, fitted.priors_, means + t * d, covariance + t * V) for t in (-h, h)]
        assert abs(np.diff(ends)[0]) / (2 * h) < 2e-4 * len(X)  # the likelihood is maximal to 1e-8 per row


@pytest.mark.parametrize("kind", [Patterns, lambda *sample: Scoring(Patterns(*sample))], ids=["plain", "corrected"])
def test_a_misleading_sample_of_patterns_only_costs_passes(kind):
    """If the sample says that almost nothing is observed, steps are too long; they are rejected or damped."""
    X, y = nearly_dependent(500, 5)
    misled = kind(np.eye(5, dtype=bool), np.zeros(5, dtype=int), np.ones(5))
    found = run_em(MODELS[0](), X, y, misled.step)
    assert found.status == Status.LIKELIHOOD
    assert found.passes > len(found.trace)  # some steps were rejected
    assert (np.diff(found.trace) >= 0).all()
    assert found.trace[-1] == pytest.approx(MODELS[0]().fit(X, y).solution_.trace[-1], abs=1e-6 * len(X))


@both_models
def test_weights_of_incomplete_rows_equal_repeated_rows(model):
    X, y = nearly_dependent(300, 4)
    weight = np.random.default_rng(1).integers(0, 3, 300)
    weighted, repeated = model().fit(X, y, sample_weight=weight), model().fit(np.repeat(X, weight, 0), y.repeat(weight))
    assert_allclose(weighted.means_, repeated.means_, atol=1e-3)
    assert weighted.solution_.trace[-1] == pytest.approx(repeated.solution_.trace[-1], abs=1e-7 * 300)


def test_projections_have_the_rank_of_the_observed_columns(rng):
    L = np.linalg.cholesky(np.corrcoef(rng.normal(size=(5, 20))))
    seen = rng.random((12, 5)) < 0.6
    for Pi, o in zip(projections(L, seen), seen, strict=True):
        assert_allclose(Pi @ Pi, Pi, atol=1e-10)
        assert np.trace(Pi) == pytest.approx(o.sum(), abs=1e-10)
        assert_allclose(Pi @ np.linalg.inv(L)[:, ~o], 0.0, atol=1e-10)  # missing directions


@both_models
def test_em_uses_incomplete_rows_better_than_deletion(model):
    """Averaged over seeds, means from 20 % incomplete are nearer the truth than means of complete rows alone."""
    by_em, by_deletion = [], []
    for seed in range(10):
        X, y = blobs(300, n_features=6, n_classes=2, seed=seed)
        truth = model().fit(X, y).means_
        incomplete = with_missing_values(X, seed=seed)
        whole = ~np.isnan(incomplete).any(axis=1)
        by_em.append(np.square(model().fit(incomplete, y).means_ - truth).mean())
        by_deletion.append(np.square(model().fit(X[whole], y[whole]).means_ - truth).mean())
    assert np.mean(by_em) < 0.5 * np.mean(by_deletion)


@pytest.mark.parametrize("model", [MODELS[0], pytest.param(MODELS[1], marks=pytest.mark.slow)])
def test_unlabelled_rows_help_if_the_model_is_correct(model):
    gain = []
    for seed in range(15):
        X, y = blobs(600, n_features=4, n_classes=2, seed=seed, distance=1.2)
        marked = np.where(np.arange(600) < 40, y, -1)
        test = slice(300, 600)
        with_all = model(unlabelled=-1).fit(X[:300], marked[:300])
        with_few = model().fit(X[:40], y[:40])
        score = [m.predict_log_proba(X[test])[np.arange(300), y[test]].mean() for m in (with_all, with_few)]
        gain.append(score[0] - score[1])
        assert (np.diff(with_all.solution_.trace) >= -1e-9 * abs(with_all.solution_.trace[0])).all()
    assert np.mean(gain) > 0


@both_models
@pytest.mark.parametrize("marker", [-1, "missing"])
def test_unlabelled_rows_can_be_marked_by_a_value_or_as_missing(model, marker):
    X, y = blobs(100, n_classes=2)
    labels = np.where(np.arange(100) < 60, y, -1)
    if marker == "missing":
        labels = np.where(labels < 0, np.nan, labels)
    fitted = model(unlabelled=marker).fit(X, labels)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.class_count_.sum() == pytest.approx(100)


@pytest.mark.parametrize("shrinkage", [0.0, 0.02, 0.4])
def test_the_predictive_is_the_student_t_of_the_conjugate_posterior(shrinkage):
    """Against SciPy: p(x | data) = ∫ N(x | μ, Σ) p(μ, Σ | data), by averaging over posterior draws.

    The prior is worth c = n λ/(1 - λ) rows, but at least one.
    """
    X, y = blobs(24, n_features=2, n_classes=2)
    model = sx.QuadraticDiscriminantAnalysis(shrinkage=shrinkage, estimate="predictive").fit(X, y)
    pooled = sum(np.var(X[y == k], axis=0) * (y == k).sum() for k in (0, 1)) / 24
    for k in (0, 1):
        Xk = X[y == k]
        points = Xk[:5]
        N, S = len(Xk), np.cov(Xk.T, ddof=0) * len(Xk)
        c = max(1.0, (N - 1) * shrinkage / (1 - shrinkage))
        Sigmas = stats.invwishart(c + 3 + N - 1, c * np.diag(pooled) + S).rvs(20_000, random_state=k)
        L = np.linalg.cholesky(Sigmas)
        z = np.random.default_rng(k).normal(size=(20_000, 2, 1))
        mu = Xk.mean(axis=0) + (L @ z)[:, :, 0] / np.sqrt(N)
        far = np.linalg.solve(L, (points - mu[:, None]).swapaxes(1, 2))  # N(x | μ, Σ) of every draw at every point
        log_det = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        density = np.exp(-0.5 * (far**2).sum(axis=1) - log_det[:, None]).sum(axis=0) / (2 * np.pi)
        got = np.exp(model.predict_log_proba(points)[:, k] + model.log_density(points)) / model.priors_[k]
        assert_allclose(got, density / 20_000, rtol=0.05)


def test_the_map_is_the_mode_of_the_posterior_over_precisions(rng):
    X, y = blobs(30, n_features=2, n_classes=2)
    model = sx.QuadraticDiscriminantAnalysis(estimate="map").fit(X, y)
    pooled = np.diag(sum(np.var(X[y == k], axis=0) * (y == k).sum() for k in (0, 1)) / 30)
    Xk, precision = X[y == 1], np.linalg.inv(model.covariance_[1])

    def log_posterior(Lambda):  # Σ ~ IW(D, 1 + M + 1) is Λ = Σ⁻¹ ~ W(D⁻¹, 1 + M + 1)
        likelihood = stats.multivariate_normal(Xk.mean(axis=0), np.linalg.inv(Lambda)).logpdf(Xk).sum()
        return likelihood + stats.wishart(1 + 3, np.linalg.inv(pooled)).logpdf(Lambda)

    best = log_posterior(precision)
    for _ in range(50):
        E = 0.02 * rng.normal(size=(2, 2)) * np.sqrt(np.outer(np.diag(precision), np.diag(precision)))
        assert log_posterior(precision + E + E.T) < best


@both_models
def test_a_class_given_probability_zero_does_not_stop_em(model):
    X, y = blobs(150, n_classes=2)
    fitted = model(priors=[0.0, 1.0]).fit(with_missing_values(X), y)
    assert np.isfinite(fitted.solution_.trace).all()
    assert (fitted.predict(X) == 1).all()


@both_models
def test_missing_values_of_sparse_rows_are_marginalised(model):
    X, y = blobs(100, n_classes=2)
    row = X[:3].copy()
    row[:, 0] = np.nan
    fitted = model().fit(X, y)
    assert_allclose(fitted.predict_proba(sparse.csr_array(row)), fitted.predict_proba(row), rtol=1e-9)


@both_models
def test_shrinkage_allows_few_rows(model):
    X, _ = blobs(100, n_classes=2)
    assert model(shrinkage=0.2).fit(X[:3], [0, 1, 0]).predict_proba(X).shape == (100, 2)


@both_models
@pytest.mark.parametrize(("n", "shrinkage"), [(1, 0.3), (3, "evidence")])
def test_shrinkage_allows_a_class_of_few_rows(model, n, shrinkage):
    X, _ = blobs(100, n_classes=2)
    labels = (np.arange(100) < n).astype(int)
    fitted = model(shrinkage=shrinkage).fit(X, labels)
    assert_allclose(fitted.means_[1], X[:n].mean(axis=0))
    assert np.isfinite(fitted.predict_log_proba(X)).all()
    assert fitted.score(X, labels) > 0.9


M = 4


@pytest.fixture
def problem(rng):
    A = rng.normal(size=(M, M)) * np.array([1e-3, 1.0, 1e3, 1.0])[:, None]
    mean = rng.normal(size=M)
    X = rng.multivariate_normal(mean, A @ A.T, size=60)
    X[rng.random(X.shape) < 0.4] = np.nan
    return X, mean, A @ A.T


def test_the_marginal_is_the_density_of_the_observed_columns(problem):
    X, mean, Sigma = problem
    (squared, log_det, n_seen), _, _ = condition(X, mean, Sigma)
    log_density = -0.5 * (n_seen * np.log(2 * np.pi) + log_det + squared)
    for x, got in zip(X, log_density, strict=True):
        o = ~np.isnan(x)
        unit = np.sqrt(np.diag(Sigma))[o]  # SciPy's own test of rank knows no units
        C = Sigma[np.ix_(o, o)] / np.outer(unit, unit)
        want = multivariate_normal(mean[o] / unit, C).logpdf(x[o] / unit) - np.log(unit).sum() if o.any() else 0.0
        assert got == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_expected_rows_and_covariances_are_the_conditional_ones(problem, rng):
    X, mean, Sigma = problem
    weight = rng.random(len(X))
    _, completed, covariance = condition(X, mean, Sigma, weight)
    total = np.zeros((M, M))
    for x, w, filled in zip(X, weight, completed, strict=True):
        o, h = ~np.isnan(x), np.isnan(x)
        gain = np.linalg.solve(Sigma[np.ix_(o, o)], Sigma[np.ix_(o, h)]).T  # PRML (2.81)
        assert_allclose(filled[h], mean[h] + gain @ (x[o] - mean[o]), rtol=1e-7, atol=1e-9)
        assert_allclose(filled[o], x[o])
        total[np.ix_(h, h)] += w * (Sigma[np.ix_(h, h)] - gain @ Sigma[np.ix_(o, h)])  # (2.82)
    assert_allclose(covariance, total, rtol=1e-6, atol=1e-7 * np.abs(total).max())


def test_the_compiled_loop_over_patterns_equals_plain_python(rng):
    n, M = 40, 6
    seen = rng.random((n, M)) < 0.7
    seen[3] = False  # a row of which nothing is known
    C, weight = np.corrcoef(rng.normal(size=(M, 2 * M))), rng.random(n)
    Z = np.where(seen, rng.normal(size=(n, M)), 0.0)
    order, is_new = patterns(seen)
    answers = [
        sweep(Z, seen, order, is_new, weight, (C, np.ones(M), np.zeros((0, 0)), 0.0))
        for sweep in (sweep_patterns, sweep_patterns.py_func)
    ]
    for compiled, plain in zip(*answers, strict=True):
        assert_allclose(compiled, plain, rtol=1e-9, atol=1e-12)
    total = np.zeros((M, M))
    for w, o in zip(weight, seen, strict=True):
        total[np.ix_(o, o)] += w * np.linalg.inv(C[np.ix_(o, o)])
    assert_allclose(answers[0][3], total, rtol=1e-8, atol=1e-10)


def test_both_forms_of_a_covariance_agree_with_the_dense_matrix(rng):
    M, units = 6, np.geomspace(1e-5, 1e5, 6)
    F, ridge = rng.normal(size=(3, M)) * units, (0.5 + rng.random(M)) * units**2
    dense, factored = DenseCovariance(F.T @ F + np.diag(ridge)), FactoredCovariance(F, ridge)
    B, X, mean = rng.normal(size=(M, 2)), rng.normal(size=(7, M)) * units, rng.normal(size=M) * units
    C = dense.matrix / np.outer(units, units)
    log_det = np.linalg.slogdet(C)[1] + 2 * np.log(units).sum()
    solution = np.linalg.solve(C, B / units[:, None]) / units[:, None]
    Z = (X - mean) / units
    squared = np.einsum("nm,nm->n", Z, np.linalg.solve(C, Z.T).T)
    for covariance in (dense, factored):
        assert covariance.log_det == pytest.approx(log_det, rel=1e-10)
        assert_allclose(covariance.solve(B), solution, rtol=1e-8)
        assert_allclose(covariance.squared_distance(X, mean), squared, rtol=1e-8)
        assert_allclose(covariance.squared_distance(sparse.csr_array(X), mean), squared, rtol=1e-8)
        assert_allclose(covariance.matrix, dense.matrix, rtol=1e-10)


@pytest.fixture
def normal_classes_problem(rng):
    A = rng.normal(size=(2, 3, 3))
    return rng.normal(size=(2, 3)), A @ A.transpose(0, 2, 1) + np.eye(3), rng.normal(size=(20, 3))


@pytest.mark.parametrize("shared", [True, False])
def test_densities_agree_with_scipy(normal_classes_problem, shared):
    mean, Sigma, X = normal_classes_problem
    covariances = tuple(map(DenseCovariance, Sigma[:1] if shared else Sigma))
    S = Sigma[[0, 0]] if shared else Sigma
    normal = NormalClasses(mean, covariances, np.full(2, np.inf), np.ones(2))
    student = NormalClasses(mean, covariances, np.array([3.0, 8.0]), np.array([1.5, 2.0]))
    for k in (0, 1):
        assert_allclose(normal.log_density(X)[:, k], multivariate_normal(mean[k], S[k]).logpdf(X), rtol=1e-9)
        t = multivariate_t(mean[k], student.widening[k] * S[k], df=student.freedom[k])
        assert_allclose(student.log_density(X)[:, k], t.logpdf(X), rtol=1e-9)


def test_missing_values_of_a_student_t_are_marginalised(normal_classes_problem):
    mean, Sigma, X = normal_classes_problem
    student = NormalClasses(mean, tuple(map(DenseCovariance, Sigma)), np.full(2, 4.0), np.full(2, 1.5))
    X = X.copy()
    X[:, 1] = np.nan
    t = multivariate_t(mean[0, [0, 2]], 1.5 * Sigma[0][np.ix_([0, 2], [0, 2])], df=4.0)
    assert_allclose(student.log_density(X)[:, 0], t.logpdf(X[:, [0, 2]]), rtol=1e-9)


def test_expected_moments_agree_with_random_completions(rng):
    """Gaps drawn from their conditional distribution, labels from their posterior: the average is the expectation."""
    mean, Sigma = np.array([[0.0, 0.0], [2.0, 1.0]]), np.array([[1.0, 0.6], [0.6, 1.0]])
    classes = NormalClasses(mean, (DenseCovariance(Sigma),), np.full(2, np.inf), np.ones(2))
    X, t = np.array([[1.0, np.nan], [0.5, 0.2]]), np.array([1, -1])
    found = expected_moments(Block(X, t, None, range(2)), (classes, np.log([0.5, 0.5])), ClassScatter).facts
    joint = classes.log_density(X[1:])[0]
    p = np.exp(joint - np.logaddexp(*joint))
    assert_allclose(found.count, [p[0], 1 + p[1]], rtol=1e-9)
    draws = mean[1, 1] + 0.6 * (1.0 - mean[1, 0]) + np.sqrt(1 - 0.36) * rng.normal(size=200_000)
    rows = np.column_stack([np.ones_like(draws), draws])
    second = rows.T @ rows / len(draws) + p[1] * np.outer(X[1], X[1])
    m = found.mean[1]
    assert_allclose(found.scatter.matrices[1] + found.count[1] * np.outer(m, m), second, rtol=0.02)


def halve(block, parameters):
    """A toy E step: facts move half the way to 1 in one pass, the likelihood rises accordingly."""
    target = parameters + (1 - parameters) / 2
    return Expectation(Tally(np.array([target * len(block) / 10])), -((1 - target) ** 2) * len(block) / 10)


def test_em_warns_at_its_limit_of_steps():
    source = as_source(np.zeros((10, 1)), np.zeros(10, dtype=int))

    def expect(facts):
        return partial(halve, parameters=float(facts.count.sum()))

    with pytest.warns(ConvergenceWarning, match="still increased by"):
        maximise_expectation(source, Tally(np.zeros(1)), expect, max_steps=3)


def test_evidence_of_huge_weights_is_that_of_many_rows():
    """The evidence of a class with a weight of 1e300 overflows, but λ has a limit."""
    e = np.array([0.2, 0.7, 2.1])
    many, huge = (maximum_evidence(n * e, n) for n in (1e12, 1e300))
    assert many == pytest.approx(huge, rel=1e-9)


def test_predictive_densities_need_no_more_weight_than_classes():
    X, y = blobs(60, n_classes=4)
    model = sx.LinearDiscriminantAnalysis(estimate="predictive").fit(X, y, sample_weight=np.full(60, 1e-3))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-12)
