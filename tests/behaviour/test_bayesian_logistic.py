"""The public Bayesian classifier: approximations, warnings, batches, arguments and intervals."""

import pickle
import re
import tracemalloc
import warnings
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

import separatrix as sx
from exact import LIKELIHOODS, at_the_mode, on_a_grid, two_weights
from exact import posed as small_problem
from oracles.gold import load
from posteriors import overlapping
from separatrix.bayesian import costs, joint
from separatrix.bayesian.checks import skewness, third_order
from separatrix.bayesian.evidence import FitLaplace, is_represented
from separatrix.bayesian.inference import METHODS, infer
from separatrix.bayesian.joint import choose
from separatrix.bayesian.posterior import laplace
from separatrix.bayesian.predictive import N_INTERVAL_POINTS
from separatrix.bayesian.record import Options, Skewness
from separatrix.exceptions import ApproximationWarning, DataError
from separatrix.likelihoods import Logit, Softmax, SoftmaxLabelNoise
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Newton, pose

X, Y = overlapping(90)
X3, Y3 = overlapping(120, n_classes=3)


def model(**arguments):
    return sx.BayesianLogisticRegression(**{"tune": None} | arguments)


RBF = {"basis": sx.basis.RBF(centres="kmeans", n_centres=5), "approximation": "laplace"}


@pytest.mark.parametrize("arguments", [{}, {"approximation": "importance"}, {"predictive": "qmc"}, RBF])
@pytest.mark.parametrize(("rows", "y", "outputs"), [(X, Y, ()), (X3, Y3, (3,))], ids=["two", "three"])
def test_shapes_of_results(rows, y, outputs, arguments):
    fitted = model(**arguments).fit(rows, y)
    C, P, n, K = len(fitted.coef_), 1 + len(fitted.coef_[0]), 7, len(fitted.classes_)
    assert fitted.intercept_.shape == (C,) == (outputs or (1,))
    assert fitted.predict_proba(rows[:n]).shape == (n, K)
    assert_allclose(fitted.predict_proba(rows).sum(axis=1), 1.0, rtol=1e-6)
    assert_allclose(np.exp(fitted.predict_log_proba(rows)), fitted.predict_proba(rows), rtol=1e-9)
    assert fitted.predict_interval(rows[:n]).shape == (n, *outputs, 2)
    found = fitted.decision_distribution(rows[:n])
    assert found.mean.shape == found.variance.shape == (n, *outputs)
    assert fitted.posterior_.mean.shape == fitted.posterior_.std.shape == (*outputs, P)
    assert fitted.posterior_.covariance.shape == (C * P, C * P)
    assert fitted.posterior_.sample(4, rng=0).shape == (4, *outputs, P)
    assert [part.shape for part in fitted.predict_with_error(rows[:n], n=256)] == [(n, K)] * 2
    assert fitted.n_passes_ == fitted.solution_.passes > 0


def test_attributes_agree_with_one_another():
    fitted = model().fit(X, Y)
    assert_allclose(fitted.log_likelihood_ + fitted.occam_factor_, fitted.log_evidence_)
    assert_allclose(fitted.coef_[0], fitted.posterior_.mean[:4])
    assert_allclose(fitted.intercept_[0], fitted.posterior_.mean[4])
    assert fitted.prior_.scale == 1.0
    assert fitted.prior_.intercept_scale == 10.0  # the default is not flat
    assert np.array_equal(fitted.predict(X), fitted.classes_[fitted.predict_proba(X).argmax(axis=1)])
    assert 0 < fitted.effective_parameters_ < 5
    assert fitted.tuning_ is None
    assert fitted.notes_ == ()
    assert model(likelihood="label_noise", noise=0.2).fit(X, Y).likelihood_.eps0 == 0.2


@pytest.mark.parametrize("arguments", [{}, {"approximation": "importance"}, {"tune": "evidence"}])
@pytest.mark.parametrize(("rows", "y"), [(X, Y), (X3, Y3)], ids=["two", "three"])
def test_pickled_and_refitted_models_are_the_same(arguments, rows, y):
    fitted = model(prior=sx.Gaussian(2.0), **arguments).fit(rows, y)
    for other in (pickle.loads(pickle.dumps(fitted)), clone(fitted).fit(rows, y)):
        assert np.array_equal(other.predict_proba(rows), fitted.predict_proba(rows))
        assert str(other.summary()) == str(fitted.summary())


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize("approximation", ["laplace", "auto"])
def test_separable_classes(approximation):
    """The prior bounds the weights, and its own law bounds the scale of the prior."""
    separable = (X[:, 0] > np.median(X[:, 0])).astype(int)
    assert model().fit(X, separable).score(X, separable) > 0.95
    fitted = model(tune="evidence", approximation=approximation).fit(X, separable)
    assert 0.5 < fitted.prior_.scale < 10
    assert fitted.tuning_.boundary == ()
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert np.isfinite(fitted.log_evidence_)


def test_later_batches_keep_the_prior_and_the_classes_of_the_first():
    fitted = model(prior=sx.Gaussian(0.5)).partial_fit(X[:30], Y[:30], classes=[1, 0])
    prior = fitted.prior_
    fitted.partial_fit(X[30:31], Y[30:31])
    fitted.partial_fit(X[31:], Y[31:], classes=[0, 1])
    assert fitted.prior_ is prior
    assert fitted.classes_.tolist() == [0, 1]


def test_one_row_at_a_time():
    """Each row adds ln p of its label, as predicted before, to the log evidence."""
    fitted = model(prior=sx.Gaussian(1.0, intercept_scale=1.0), standardize=False, approximation="ep")
    fitted.partial_fit(X[:1], Y[:1], classes=[0, 1])
    for n in range(1, 40):
        before, p = fitted.log_evidence_, fitted.predict_proba(X[n : n + 1])[0, Y[n]]
        fitted.partial_fit(X[n : n + 1], Y[n : n + 1])
        assert_allclose(fitted.log_evidence_ - before, np.log(p), atol=1e-6)
    joint = clone(fitted).fit(X[:40], Y[:40])
    assert abs(fitted.log_evidence_ - joint.log_evidence_) < 1.0  # the errors of forty Gaussian approximations
    assert np.abs((fitted.posterior_.mean - joint.posterior_.mean) / joint.posterior_.std).max() < 0.3


def test_tuning_has_no_partial_fit():
    tuned = model(tune="evidence")
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as raised:
        tuned.partial_fit(X, Y)
    assert "tuning needs all rows at once. Set tune=None, or fit all rows" in str(raised.value.__cause__)
    assert "partial_fit" in dir(model())


def test_a_posterior_that_does_not_fit_into_memory():
    wide = sparse.random_array((30, 300_000), density=1e-4, rng=0, format="csr")
    y = np.arange(30) % 2
    with pytest.raises(DataError, match=r"'full' for 1 x 300001 weights needs .* GiB of memory.*Use structure='dual'"):
        model(structure="full").fit(wide, y)
    assert model().fit(wide, y).posterior_.structure == "dual"


def test_posterior_is_near_the_prior_after_one_row_or_one_class():
    alone = model().fit(X[:1], np.array([[0.3, 0.7]]))  # a soft target
    assert 0.5 < alone.predict_proba(X[:1])[0, 1] < 0.7
    only = model().partial_fit(X[:1], [1], classes=[0, 1])
    assert 0.5 < only.predict_proba(X[:1])[0, 1] < 1
    assert_allclose(only.log_evidence_, np.log(0.5), atol=0.01)  # both labels are equally probable under the prior
    equal = model().partial_fit(X, np.ones(90, dtype=int), classes=[0, 1])
    assert np.all(equal.predict_proba(X)[:, 1] > 0.95)
    assert model().fit(X[:2], [0, 1]).score(X[:2], [0, 1]) == 1


def test_constant_and_repeated_columns_are_determined_by_the_prior():
    table = np.column_stack([X, np.full(90, 7.0), X[:, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model().fit(table, Y)
    assert_allclose(fitted.posterior_.std[4], 1.0, rtol=1e-6)  # the data contain no information about a constant column
    assert_allclose(fitted.coef_[0, 4], 0.0, atol=1e-9)
    assert_allclose(fitted.coef_[0, 0], fitted.coef_[0, 5], rtol=1e-6)  # equal columns share the effect
    assert fitted.posterior_.covariance[0, 5] < 0


def test_intervals_of_k_classes_are_computed_in_blocks_of_rows():
    fitted = model(approximation="laplace").fit(X3, Y3)
    rows = np.tile(X3, (60, 1))
    tracemalloc.start()
    fitted.predict_interval(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6 < 8 * len(rows) * 3 * N_INTERVAL_POINTS


def options(method="auto", structure=None, tune=False):
    return Options(method, structure, tune, None, 1e-8, np.random.default_rng(0))


def posed(X, y, scale=1.0, *, standardize=True):
    K = int(y.max()) + 1
    prior = Gaussian(scale, intercept_scale=5.0)
    likelihood = Logit() if K == 2 else Softmax(K)
    return pose(as_source(X, y), likelihood, prior, fit_intercept=True, standardize=standardize)


@pytest.fixture(scope="module")
def two():
    return posed(*overlapping(80))


@pytest.fixture(scope="module")
def three():
    return posed(*overlapping(150, n_classes=3))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_returns_its_own_approximation(two, method):
    found = infer(two, options(method))
    assert found.approximation.name == {"auto": "ep"}.get(method, method)
    assert (found.draws is not None) == (method in ("importance", "hmc"))
    assert found.pareto_k < 0.7 or method == "hmc"
    assert found.warnings == ()
    assert (found.errors.average > 0.005) == (method == "laplace")
    assert found.tuning is None
    assert_allclose(found.factors, 1.0)


def test_auto_uses_laplace_with_a_corrected_mean_for_many_rows():
    X, y = overlapping(6000)
    objective = posed(X, y)
    found = infer(objective, options())
    assert found.approximation.name == "laplace"
    mode = infer(objective, options("laplace")).approximation
    better = infer(objective, options("ep")).approximation
    gap = np.abs(found.approximation.mean - better.mean).max()
    assert gap < 0.2 * np.abs(mode.mean - better.mean).max()
    assert np.isnan(found.pareto_k)  # not computed for this many rows


def test_auto_uses_the_variational_posterior_for_many_skewed_weights():
    """Four classes with rare 0/1 columns, each linked to one class: a skewed posterior of 60 weights."""
    X, y = overlapping(300, n_classes=4)
    levels = np.where(np.arange(300) < 40, np.arange(300) % 10, 10)
    X = np.column_stack([X, levels[:, None] == np.arange(10)])[np.random.default_rng(0).permutation(300)]
    objective = posed(X, np.where(levels < 10, levels % 4, y), 5.0, standardize=False)
    found, asked = infer(objective, options()), infer(objective, options("variational"))
    assert found.approximation.name == "variational"
    assert found.variance_factor == 1.0
    assert_allclose(found.approximation.mean, asked.approximation.mean, rtol=1e-12)


@pytest.mark.parametrize("method", ["ep", "auto", "variational"])
def test_an_approximation_that_does_not_converge_is_not_used(two, method, monkeypatch):
    name = "variational" if method == "variational" else "expectation_propagation"
    settled = getattr(joint, name)
    monkeypatch.setattr(joint, name, lambda *a, **n: replace(settled(*a, **n), is_converged=False, steps=7))
    found = infer(two, options(method))
    assert found.approximation.name == "laplace"
    assert "did not converge in 7 steps; 'laplace' is used instead" in found.warnings[0]
    first = infer(two, options("laplace")).approximation
    expected = third_order(two, first, skewness(two, first))
    assert_allclose(found.approximation.mean, expected.mean, rtol=1e-6)


def test_a_poor_approximation_warns():
    problem = load("few_rows").problem
    objective = posed(problem.X, problem.y, problem.scale, standardize=False)
    found = infer(objective, options("laplace"))
    assert found.errors.average > 0.03
    assert f"average error {found.errors.average:.2g}" in found.warnings[0]
    assert "approximation='ep' or 'importance'" in found.warnings[0]
    assert infer(objective, options("ep")).warnings == ()


@pytest.mark.parametrize("structure", ["diagonal", "by class"])
@pytest.mark.parametrize("standardize", [True, False])
def test_one_scale_is_tuned_in_any_structure(three, structure, standardize):
    """This includes a prior of the intercept at x = 0, which is a full matrix in the coordinates of the fit."""
    X, y = overlapping(150, n_classes=3)
    objective = posed(X, y, 30.0, standardize=standardize)
    found = infer(objective, options("laplace", structure=structure, tune=True))
    full = infer(objective, options("laplace", tune=True))
    assert found.approximation.structure == structure
    assert_allclose(found.factors, full.factors, rtol=0.05)
    assert_allclose(found.objective.prior.matrix(), full.objective.prior.matrix(), rtol=0.1, atol=1e-6)
    assert_allclose(found.approximation.mean, full.approximation.mean, rtol=0.05, atol=0.01)


def test_noise_columns_give_a_note_and_a_warning_if_all_columns_are_noise(rng):
    X = rng.normal(size=(300, 6))
    y = (1.5 * X[:, 0] + rng.logistic(size=300) > 0).astype(int)
    some = model(approximation="laplace", tune="evidence", groups="columns").fit(X, y)
    assert some.notes_
    assert all("is irrelevant" in note and "'x0'" not in note for note in some.notes_)
    noise = rng.normal(size=(300, 6))
    for groups in (None, [0] * 6):
        with pytest.warns(ApproximationWarning, match="'x0', 'x1', 'x2', 'x3', 'x4' and 1 more are irrelevant"):
            none = model(approximation="laplace", tune="evidence", groups=groups).fit(noise, y)
        assert len(none.notes_) == 1


def by_differences(objective, laplace, h=1e-4):
    """Return -½ A⁻¹ ∇ tr(A(θ) A⁻¹), the third derivative of the objective contracted with the covariance."""
    covariance = laplace.covariance
    pull = np.empty(laplace.mean.size)
    for i, axis in enumerate(np.eye(laplace.mean.size)):
        step = h * axis.reshape(laplace.mean.shape)
        ahead, behind = (objective.value_grad_hess(laplace.mean + s).hess for s in (step, -step))
        pull[i] = np.vdot(ahead - behind, covariance) / (2 * h)
    return (-0.5 * covariance @ pull).reshape(laplace.mean.shape)


K_CLASSES = [Softmax(3), SoftmaxLabelNoise(0.9 * np.eye(3) + 0.1 / 3)]


@pytest.mark.parametrize("likelihood", [*LIKELIHOODS.values(), *K_CLASSES])
def test_the_shift_agrees_with_the_third_derivative(likelihood, rng):
    X, weight, offset = rng.normal(size=(60, 2)), rng.gamma(2.0, size=60), rng.normal(size=60)
    t = (X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(60, 3))).argmax(axis=1)
    given = {"weight": weight, "offset": offset} if likelihood.n_outputs == 1 else {"weight": weight}
    t = t > 0 if likelihood.n_outputs == 1 else t
    objective = small_problem(X, t.astype(int), likelihood=likelihood, fit_intercept=True, rows=17, **given)
    laplace = at_the_mode(objective)
    assert_allclose(skewness(objective, laplace).shift, by_differences(objective, laplace), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_corrected_mean_is_nearer_to_the_posterior_mean(name):
    objective, X, t = two_weights(name, n=80)
    exact, laplace = on_a_grid(objective, X, t, 2.0), at_the_mode(objective)
    found = skewness(objective, laplace)
    corrected = third_order(objective, laplace, found)
    sd = np.sqrt(np.diag(exact.covariance))
    before, after = (np.abs((a.mean[0] - exact.mean) / sd).max() for a in (laplace, corrected))
    assert after < 0.3 * before
    assert found.largest == pytest.approx(before, rel=0.4)
    log_p = objective.likelihood.derivatives(X @ corrected.mean[0], t).log_p
    assert corrected.log_likelihood == pytest.approx(log_p.sum(), rel=1e-9)


def rare_column(n, rng, rare):
    X = np.column_stack([rng.normal(size=(n, 2)), np.zeros(n)])
    t = (X[:, 0] + rng.logistic(size=n) > 0).astype(int)
    X[:rare, 2], t[:rare] = 1.0, 1
    return X, t


def test_skewness_names_a_rare_column_that_separates_the_classes(rng):
    X, t = rare_column(300, rng, 6)
    objective = small_problem(X, t, scale=10.0, fit_intercept=True)
    found = skewness(objective, at_the_mode(objective))
    assert found.largest > 1.0
    assert found.column == "x2"
    assert choose(objective, found) == "ep"


@pytest.mark.parametrize("likelihood", [Logit(), Softmax(3)], ids=["two", "three"])
def test_the_mode_of_large_data_is_as_precise_as_requested_after_one_newton_step(likelihood, rng):
    X = rng.normal(size=(60_000, 40)) * np.exp(rng.normal(size=40))
    A = X @ (rng.normal(size=(40, 3)) / X.std(axis=0)[:, None]) / 5 + rng.gumbel(size=(60_000, 3))
    t = A[:, : max(2, likelihood.n_outputs)].argmax(axis=1)
    objective = pose(as_source(X, t), likelihood, Gaussian(5.0), fit_intercept=True)
    assert objective.sample is not None
    found = FitLaplace().fit(objective)
    exact = laplace(replace(objective, sample=None), Newton(1e-12).minimise(objective, found.mean).value)
    assert objective.gradient_size(objective.value_grad(found.mean).grad) < 1e-8
    assert_allclose(found.mean / exact.std, exact.mean / exact.std, atol=1e-5)
    assert_allclose([found.log_evidence, found.log_likelihood], [exact.log_evidence, exact.log_likelihood], atol=1e-3)


@pytest.mark.parametrize("rare", [True, False])
def test_the_shift_of_large_data_agrees_with_that_of_all_rows(rare, rng):
    X, t = rare_column(60_000, rng, 5)
    X = np.column_stack([X if rare else X[:, :2], rng.normal(size=(60_000, 40))])
    objective = pose(as_source(X, t), Logit(), Gaussian(5.0), fit_intercept=True)
    assert objective.sample is not None
    laplace = at_the_mode(objective)
    found, whole = skewness(objective, laplace), skewness(replace(objective, sample=None), laplace)
    assert found.largest == pytest.approx(whole.largest, rel=0.3)
    assert (found.column == "x2" and found.largest > 0.3) == rare


@pytest.mark.parametrize("arguments", [{}, {"prior": Gaussian(1.0)}], ids=["tuned", "stated"])
def test_the_posterior_of_correlated_columns_takes_no_more_passes_than_that_of_independent_ones(arguments, rng):
    X = rng.normal(size=(40_000, 80))
    passes = []
    for common in (0.0, 0.5):
        rows = X + common * np.outer(X[:, 0], np.arange(80) > 0)
        t = (rows @ rng.normal(size=80) / 9 + rng.logistic(size=40_000) > 0).astype(int)
        passes.append(sx.BayesianLogisticRegression(**arguments).fit(rows, t).n_passes_)
    assert passes[1] <= passes[0]


@pytest.mark.parametrize("rare", [True, False])
def test_only_rare_values_need_all_rows_if_columns_are_correlated(rare, rng):
    X, t = rare_column(60_000, rng, 5)
    X = np.column_stack([X if rare else X[:, :2], rng.normal(size=(60_000, 40))])
    X[:, 1:] += 0.5 * X[:, :1]
    objective = pose(as_source(X, t), Logit(), Gaussian(5.0), fit_intercept=True)
    laplace = at_the_mode(objective)
    root = laplace.factor.root
    assert (laplace.factor.diagonal * (root**2).sum(axis=1)).max() > 5  # variance inflation of the first column
    assert is_represented(objective, laplace) != rare


@pytest.mark.parametrize(
    ("largest", "shape", "rows", "choice"),
    [
        (0.01, (1, 5), 100, "laplace"),
        (0.2, (1, 5), 100, "ep"),
        (0.2, (1, 200), 10**6, "laplace"),
        (0.5, (1, 200), 10**6, "ep"),
        (0.01, (3, 5), 100, "laplace"),
        (0.2, (3, 5), 100, "variational"),
        (0.2, (3, 50), 100, "laplace"),
        (0.2, (3, 5), 10**6, "laplace"),
        (0.5, (3, 50), 100, "variational"),
        (0.5, (19, 134), 455, "variational"),
        (0.5, (3, 50), 10**6, "variational"),
    ],
)
def test_the_choice_depends_on_skewness_and_cost(largest, shape, rows, choice):
    class Source:
        n_rows = rows
        columns = tuple(f"x{m}" for m in range(shape[1]))

    objective = small_problem(np.eye(2), np.array([0, 1]), likelihood=Logit() if shape[0] == 1 else Softmax(shape[0]))
    design = replace(objective.design, origin=np.zeros(shape[1]))
    objective = replace(objective, source=Source(), design=design)
    assert choose(objective, Skewness(np.zeros(shape), largest, "x0")) == choice


def test_auto_keeps_the_draws_of_a_skewed_posterior_of_three_classes():
    """30 rows of iris, prior scale 8: bounds of intervals of the variational Gaussian are off by 0.02."""
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(4).permutation(150)[:30]
    found = model(prior=Gaussian(8.0), rng=0).fit(X[rows], y[rows])
    exact = model(prior=Gaussian(8.0), rng=1, approximation="importance").fit(X[rows], y[rows])
    assert found.approximation_ == "variational"
    assert not found.draws_.for_averages
    assert found.notes_ == ()
    others = np.delete(np.arange(150), rows)
    gaussian = copy(found)
    gaussian.posterior_ = replace(found.posterior_, draws=None)
    assert np.abs(found.predict_proba(X[others]) - exact.predict_proba(X[others])).mean() < 0.007
    off, of_gaussian = (
        np.abs(np.subtract(each.predict_interval(X[others]), exact.predict_interval(X[others]))).mean()
        for each in (found, gaussian)
    )
    assert off < 0.8 * of_gaussian


def test_auto_samples_a_posterior_of_k_classes_whose_gaussians_are_all_poor():
    """60 rows of wine, prior scale 10: the average error of the variational posterior is 0.02."""
    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(0).permutation(178)[:60]
    others = np.delete(np.arange(178), rows)
    arguments = {"prior": Gaussian(10.0), "rng": 0}
    with pytest.warns(ApproximationWarning, match=r"average error 0\.0[12].*approximation='hmc'"):
        poor = model(**arguments, approximation="variational").fit(X[rows], y[rows])
    found = model(**arguments).fit(X[rows], y[rows])
    again = model(prior=Gaussian(10.0), rng=1, approximation="hmc").fit(X[rows], y[rows])
    assert found.approximation_ == "hmc"
    assert np.abs(found.predict_proba(X[others]) - again.predict_proba(X[others])).mean() < 0.01
    assert np.abs(poor.predict_proba(X[others]) - again.predict_proba(X[others])).mean() > 0.01
    assert abs(found.log_evidence_ - again.log_evidence_) < 0.3


def test_expectation_propagation_warns_if_its_probabilities_are_poor(rng):
    """Twelve 0/1 columns separate 40 rows, under a wide prior."""
    table = (rng.random((40, 12)) < 0.5).astype(float)
    labels = (table[:, 0] + table[:, 1] > 0.5).astype(int)
    arguments = {"prior": Gaussian(10.0), "rng": 0}
    with pytest.warns(ApproximationWarning, match=r"average error 0\.0.*'ep'.*approximation='hmc'"):
        found = model(**arguments, approximation="ep").fit(table, labels)
    exact = model(**arguments, approximation="hmc").fit(table, labels)
    assert np.abs(found.predict_proba(table) - exact.predict_proba(table)).mean() > 0.01


def test_a_variational_posterior_that_did_not_converge_is_used_with_a_warning(three, monkeypatch):
    """Its bound has risen, so it is better than Laplace's Gaussian, and probabilities are never those at the mode."""
    early = partial(joint.variational, max_steps=2)
    monkeypatch.setattr(joint, "variational", early)
    found = infer(three, options("variational"))
    assert found.approximation.name == "variational"
    assert found.variance_factor == 1.0
    assert "did not converge in" in found.warnings[0]


def test_large_posteriors_of_k_classes_neglect_coupling_and_warn_about_the_evidence(monkeypatch):
    """Probabilities are averaged, not those at the mode, even if a full covariance would take too long."""
    X, y = overlapping(300, n_classes=4)
    levels = np.where(np.arange(300) < 40, np.arange(300) % 10, 10)
    X = np.column_stack([X, levels[:, None] == np.arange(10)])[np.random.default_rng(0).permutation(300)]
    objective = posed(X, np.where(levels < 10, levels % 4, y), 5.0, standardize=False)
    full = infer(objective, options())
    monkeypatch.setitem(costs.LIMITS, "few chains", 0.0)
    found = infer(objective, options(structure="by class"))
    assert found.approximation.name == "variational"
    assert found.variance_factor == 1.0
    assert "log_evidence_ is a lower bound" in found.notes[0]
    assert found.warnings == ()
    assert -20 < found.approximation.log_evidence - full.approximation.log_evidence < -0.3
    away = (found.approximation.mean - full.approximation.mean) / full.approximation.std
    assert np.abs(away).max() < 0.3


def test_intervals_of_k_classes_are_quantiles_of_the_draws():
    """45 rows of three nearly separable classes: a Gaussian with the moments of the draws has other quantiles."""
    problem = load("skewed_classes").problem
    arguments = {"prior": Gaussian(5.0, intercept_scale=10.0), "standardize": False, "approximation": "importance"}
    fitted = model(**arguments, rng=0).fit(problem.X, problem.y)
    rows = problem.X_test[:20]
    P = np.concatenate(list(fitted.draws_._probabilities(rows, fitted.posterior_.design, fitted.likelihood_)))
    found = fitted.predict_interval(rows, level=0.8)
    for tail, bound in zip((0.1, 0.9), np.moveaxis(found, -1, 0), strict=True):
        below = np.einsum("s,nsk->nk", fitted.draws_.weights, bound[:, None] >= P)
        # 2000 draws estimate a tail of 0.1 with a standard error of 0.007
        assert np.abs(below - tail).max() < 0.03


@pytest.mark.parametrize("prior", [None, Gaussian(1.0)])
@pytest.mark.parametrize("n_columns", [1, 60])
def test_weights_that_hide_the_prior_of_k_classes_are_reported(prior, n_columns, rng):
    T, weight = np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]), [1.0, 1e20]
    with pytest.raises(DataError, match=r"weights add up to 1e\+20.*Divide the sample weights by a constant"):
        sx.BayesianLogisticRegression(prior).fit(rng.normal(size=(2, n_columns)), T, sample_weight=weight)


def test_batches_of_k_classes_that_are_too_small_for_a_gaussian_are_reported():
    rng, arguments = np.random.default_rng(0), {"prior": Gaussian(3.0), "standardize": False}
    X = rng.normal(size=(300, 5))
    y = (X @ rng.normal(size=(5, 3)) + rng.gumbel(size=(300, 3))).argmax(axis=1)
    large = model(**arguments).partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])  # without a warning
    joint = model(**arguments).fit(X, y).predict_proba(X)
    assert np.abs(large.predict_proba(X) - joint).max() < 0.05
    with pytest.warns(ApproximationWarning, match="this batch of 6 rows, the posterior is skewed.*Use larger batches"):
        model(**arguments).partial_fit(X[:6], y[:6], classes=[0, 1, 2])


@pytest.mark.parametrize(("approximation", "limit"), [("ep", "max_sweeps"), ("variational", "max_steps")])
def test_probabilities_are_those_at_the_mode_if_a_row_of_large_weight_prevents_convergence(
    approximation, limit, rng, monkeypatch
):
    name = {"ep": "expectation_propagation"}.get(approximation, approximation)
    monkeypatch.setattr(joint, name, partial(getattr(joint, name), **{limit: 3}))
    X, y = rng.normal(size=(22, 15)), rng.integers(2, size=22)
    weight = np.where(np.arange(22) == 3, 1e6, 1.0)
    with pytest.warns(ApproximationWarning) as caught:
        found = model(prior=Gaussian(1.0), approximation=approximation).fit(X, y, sample_weight=weight)
    first = str(caught[0].message)
    assert re.search(f"The '{approximation}' approximation did not converge in [34] steps", first)
    assert "sample weights of 22 rows add up to 1e+06. Divide" in first
    with pytest.warns(ApproximationWarning, match="far from its Gaussian"):
        at_mode = model(prior=Gaussian(1.0), approximation="laplace", predictive="map").fit(X, y, sample_weight=weight)
    assert_allclose(found.predict_proba(X), at_mode.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(("weight", "n_heavy", "shape"), [(1e10, 150, (150, 60)), (1e6, 5, (60, 60))])
def test_large_weights_of_k_classes_give_finite_probabilities(weight, n_heavy, shape, rng):
    """The ascent of the bound neither overflows nor loses the prior in single precision."""
    X, y = rng.normal(size=shape), rng.integers(6, size=shape[0])
    weights = np.where(np.arange(len(y)) < n_heavy, weight, 1.0)
    with pytest.warns(ApproximationWarning):  # another warning is an error
        model = sx.BayesianLogisticRegression(Gaussian(10.0), rng=0).fit(X, y, sample_weight=weights)
    P = model.predict_proba(X)
    assert np.isfinite(P).all()
    assert (P.argmax(axis=1) == y)[weights > 1].mean() > 0.9
