"""Tuning of priors and hyperparameters by evidence: the maximum, limits of scales, and reasons to stop."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from problems import blobs
from separatrix import BayesianLogisticRegression, Gaussian, evidence_surface
from separatrix.basis import RBF, Polynomial
from separatrix.bayesian import Limit, tune_model, tuning
from separatrix.bayesian.evidence import GROUP_STD, LEVEL_STD, TYPICAL_SIGNAL, FitEP, FitLaplace, prior_scales
from separatrix.bayesian.tune_model import GAIN_TOL, maximise_profile
from separatrix.bayesian.tuning import Boundary, Parabola, Search, TuningStatus, log_odds_of_zero, tune_scales
from separatrix.datasets import make_label_noise, make_rbf_experiment, make_xor_clusters
from separatrix.exceptions import DataError
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax
from separatrix.rows import as_source
from separatrix.solvers import pose


def simulate(n, weights, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(weights)))
    a = X @ np.asarray(weights, dtype=float)
    if n_classes == 2:
        return X, (a + rng.logistic(size=n) > 0).astype(np.intp)
    return X, np.argmax(np.outer(a, np.linspace(-1, 1, n_classes)) + rng.gumbel(size=(n, n_classes)), axis=1)


def posed(X, t, likelihood=None, scale=1.0, **options):
    prior = Gaussian(scale, intercept_scale=5.0)
    options = {"fit_intercept": True, "standardize": True} | options
    return pose(as_source(X, t), likelihood or Logit(), prior, **options)


LIKELIHOODS = {"logit": Logit(), "probit": Probit(), "label_noise": LabelNoise(0.05), "softmax": Softmax(3)}


FITTERS = {name: (likelihood, FitLaplace()) for name, likelihood in LIKELIHOODS.items()} | {"ep": (Logit(), FitEP())}


def log_joint(objective, fitter, groups=None):
    """Return ln p(D, η) as a function of η."""
    scales = prior_scales(objective, groups)

    def value(eta):
        fit = fitter.fit(replace(objective, prior=scales.prior(np.atleast_1d(eta))))
        return fit.log_evidence + scales.log_density(np.atleast_1d(eta))[0]

    return value


@pytest.mark.parametrize(("likelihood", "fitter"), FITTERS.values(), ids=FITTERS)
def test_the_tuned_scale_is_the_maximum_of_a_fine_grid(likelihood, fitter):
    X, t = simulate(150, [1.0, -0.5, 0.3, 0.0], n_classes=2 if likelihood.n_outputs == 1 else 3)
    objective = posed(X, t, likelihood)
    tuned = tune_scales(objective, fitter=fitter, tol=1e-8)
    axis = np.log(tuned.report.factors) + np.linspace(-1.5, 1.5, 61)
    values = [log_joint(objective, fitter)(u) for u in axis]
    assert int(np.argmax(values)) == 30
    assert tuned.report.trace[-1].log_evidence >= max(values) - 1e-5
    assert_allclose(tuned.report.gradient, 0.0, atol=1e-3)
    assert tuned.report.status is TuningStatus.CONVERGED
    assert tuned.report.boundary == ()


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_tuned_scale_does_not_depend_on_the_start(scale):
    X, t = simulate(200, [1.0, -0.5, 0.3])
    tuned = tune_scales(posed(X, t, scale=scale), tol=1e-8)
    reference = tune_scales(posed(X, t, scale=0.7), tol=1e-8)
    assert_allclose(scale * tuned.report.factors, 0.7 * reference.report.factors, rtol=1e-3)


@pytest.mark.parametrize("groups", [None, "columns", [0, 0, 0, 1]])
def test_the_gradient_of_the_law_of_the_scales_is_its_derivative(groups):
    objective = posed(*simulate(50, [1.0, -0.5, 0.3, 0.0]))
    scales = prior_scales(objective, groups)
    G = len(scales.labels)
    eta, steps = np.linspace(-1, 1, G), 1e-5 * np.eye(G)
    numeric = [(scales.log_density(eta + h)[0] - scales.log_density(eta - h)[0]) / 2e-5 for h in steps]
    assert_allclose(scales.log_density(eta)[1], numeric, rtol=1e-6)
    # The same law as one normal density of all ln scales.
    covariance = np.full((G, G), LEVEL_STD**2 - GROUP_STD**2 / G) + GROUP_STD**2 * np.eye(G)
    law = stats.multivariate_normal(np.full(G, np.log(TYPICAL_SIGNAL / 2)), covariance)  # of four columns
    assert_allclose(scales.log_density(eta)[0], law.logpdf(eta), rtol=1e-10)  # the given scales are 1


def test_the_predicted_evidence_starts_at_that_of_the_fit():
    objective = posed(*simulate(60, [2.0, -1.0, 0.5]))
    fit = FitEP().fit(objective)
    assert fit.name == "ep"
    assert abs(fit.log_evidence - FitLaplace().fit(objective).log_evidence) > 0.05
    assert_allclose(Parabola(fit, objective.prior).under(objective.prior).log_evidence, fit.log_evidence, rtol=1e-10)


def test_tuning_by_expectation_propagation_reaches_the_maximum_without_a_warning(recwarn):
    X, y = load_breast_cancer(return_X_y=True)
    model = BayesianLogisticRegression(Gaussian(), tune="evidence").fit(X, y)
    assert not recwarn.list
    assert model.approximation_ == "ep"
    report = model.tuning_
    assert len(report.trace) > 1
    assert_allclose(report.gradient, 0.0, atol=0.2)
    value = log_joint(posed(X, y, scale=model.prior_.scale), FitEP())
    grid = np.linspace(-0.6, 0.6, 13)
    assert abs(grid[np.argmax([value(u) for u in grid])]) < 0.11


def test_the_scale_of_separable_classes_stays_finite():
    X = np.linspace(-1, 1, 20)[:, None]
    tuned = tune_scales(posed(X, (X[:, 0] > 0).astype(int)), fitter=FitEP(), tol=1e-6)
    assert tuned.report.status is TuningStatus.CONVERGED
    assert 0.5 < tuned.report.factors[0] < 10


def test_irrelevant_columns_get_small_scales_and_are_named():
    X, t = simulate(1000, [1.5, -1.0, 0.8] + 7 * [0.0], seed=2)
    tuned = tune_scales(posed(X, t), "columns")
    off = {limit.columns[0] for limit in tuned.report.boundary if limit.limit is Limit.NARROW}
    assert off.isdisjoint({"x0", "x1", "x2"})
    assert len(off) >= 4  # a noise column may seem to matter by chance
    assert tuned.report.factors[3:].max() < tuned.report.factors[:3].min()
    # Without one of these columns, the data are more probable.
    without = np.array([f"x{i}" not in sorted(off)[:1] for i in range(10)])
    scaled = posed(X, t, scale=tuned.report.factors)
    smaller = posed(X[:, without], t, scale=tuned.report.factors[without])
    assert FitLaplace().fit(smaller).log_evidence > FitLaplace().fit(scaled).log_evidence


def test_groups_share_a_scale():
    X, t = simulate(600, [1.0, -1.2, 0.9, 0.0, 0.0, 0.0], seed=1)
    tuned = tune_scales(posed(X, t), ["signal"] * 3 + ["noise"] * 3, tol=1e-6)
    assert tuned.report.labels == ("signal", "noise")
    assert tuned.report.factors[0] > 2 * tuned.report.factors[1]
    assert_allclose(tuned.report.column_factors, np.repeat(tuned.report.factors, 3))
    found = 1 / np.sqrt(tuned.objective.prior.precision[:-1]) * tuned.objective.column_units[:-1]
    assert_allclose(found, tuned.report.column_factors)


def test_columns_of_pure_noise_are_reported_as_irrelevant():
    X, _ = simulate(200, np.zeros(5))
    t = np.random.default_rng(1).integers(2, size=200)
    tuned = tune_scales(posed(X, t))
    assert [(limit.label, limit.limit) for limit in tuned.report.boundary] == [("all", Limit.NARROW)]
    null = FitLaplace().fit(posed(np.zeros((200, 1)), t))  # the bias is the only effect
    assert tuned.approximation.log_evidence < null.log_evidence
    odds = log_odds_of_zero(tuned.approximation, tuned.objective.prior, prior_scales(tuned.objective))
    assert_allclose(odds, null.log_evidence - tuned.approximation.log_evidence, atol=0.05)


@pytest.mark.parametrize("n", [60, 400], ids=["few_rows", "many_rows"])
@pytest.mark.parametrize("standardize", [True, False])
def test_rotated_coordinates_give_the_same_scale(monkeypatch, standardize, n):
    X, t = simulate(n, np.append([1.0, -1.0, 0.5], np.zeros(117)), seed=4)
    X += 1.0
    rotated = tune_scales(posed(X, t, standardize=standardize), tol=1e-7)
    monkeypatch.setattr(tuning, "is_rotatable", lambda objective, scales: False)
    plain = tune_scales(posed(X, t, standardize=standardize), tol=1e-7)
    assert_allclose(rotated.report.factors, plain.report.factors, rtol=1e-3)
    assert_allclose(rotated.approximation.log_evidence, plain.approximation.log_evidence, atol=1e-5)
    assert_allclose(rotated.approximation.mean, plain.approximation.mean, atol=1e-4)
    assert rotated.approximation.mean.shape == (1, 121)


@dataclass(frozen=True)
class FixedSites(FitLaplace):
    """A fitter with fixed sites: the log-likelihood is quadratic, so its evidence is exact."""

    parabola: Parabola | None = None

    def keeps_curvature(self, objective):
        return False

    def fit(self, objective, start=None, inverse=None):
        return self.parabola.under(objective.prior)


def test_any_approximation_can_be_tuned():
    X, t = simulate(300, [1.0, -0.5, 0.3])
    objective = posed(X, t)
    sites = FixedSites(parabola=Parabola(FitLaplace().fit(objective), objective.prior))
    tuned = tune_scales(objective, "columns", fitter=sites, tol=1e-9)
    assert tuned.report.fits == 2  # the surrogate is exact, and the second fit confirms it
    # At the maximum each scale solves MacKay's equation, s² = d² + S_pp, PRML (3.92) and (3.98), with the pull of p(η).
    prior, found = tuned.objective.prior, tuned.approximation
    second = found.mean[0] ** 2 + np.diag(found.covariance)
    pull = prior_scales(tuned.objective, "columns").log_density(np.zeros(3))[1]
    assert_allclose(second[:-1] * prior.precision[:-1], 1 - pull, rtol=1e-3)


def two_blobs(scale=1.0, likelihood=None):
    return posed(*blobs(n_classes=2), likelihood, scale)


def search(objective, groups=None, fitter=None, tol=1e-6):
    scales = prior_scales(objective, groups)
    return Search(objective, scales, fitter or FitLaplace(1e-10), bounds=scales.bounds(objective), tol=tol)


@pytest.mark.parametrize("groups", [None, "columns"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_the_evidence_rises_at_every_step_and_the_gradient_vanishes(scale, groups):
    found = search(two_blobs(scale), groups).run(None, 50)
    values = [step.log_evidence for step in found.trace]
    assert found.status is TuningStatus.CONVERGED
    assert all(np.diff(values) > -1e-6)
    assert np.abs(found.gradient).max() < 0.01


def test_the_limit_of_steps_is_reported():
    assert search(two_blobs(1e-3)).run(None, 1).status is TuningStatus.MAX_STEPS


class Falling(FitLaplace):
    """A fitter whose evidence falls after the first fit."""

    def fit(self, objective, start=None, inverse=None):
        found = super().fit(objective, start, inverse)
        return found if start is None else replace(found, log_evidence=found.log_evidence - 1e3)


def test_the_search_stalls_if_predicted_gains_are_not_achieved():
    found = search(two_blobs(30.0), fitter=Falling()).run(None, 50)
    assert found.status is TuningStatus.STALLED
    assert len(found.trace) == 1
    assert_allclose(found.eta, 0.0)


class Refusing(FitLaplace):
    """A fitter that raises after the first fit."""

    def fit(self, objective, start=None, inverse=None):
        if start is None:
            return super().fit(objective)
        raise DataError("The posterior is improper.")


def test_a_trial_without_a_posterior_is_rejected_unless_the_likelihood_is_log_concave():
    found = search(two_blobs(30.0, LabelNoise(0.1)), fitter=Refusing()).run(None, 50)
    assert found.status is TuningStatus.STALLED
    with pytest.raises(DataError, match="improper"):
        search(two_blobs(30.0), fitter=Refusing()).run(None, 50)


@pytest.mark.parametrize("limit", Limit)
def test_the_message_about_a_limit_names_its_columns(limit):
    text = Boundary("g", ("age", "height{}"), limit).describe()
    assert "of 'age', 'height{}' " in text or "'age', 'height{}' are irrelevant" in text
    one = Boundary("g", ("age",), limit).describe()
    assert "of 'age' " in one or "'age' is irrelevant" in one


def highest(tried):
    return max(tried, key=lambda trial: trial.log_evidence)


@settings(max_examples=30)
@given(st.floats(-3.0, 3.0), st.floats(0.5, 200.0))
@example(-2.1671889, 158.03831)  # here the top of the parabola is at the highest point by chance
@example(2.5551462, 182.59474)
def test_the_maximum_of_a_profile_is_found(top, height):
    """A typical profile of evidence: steep on one side, a plateau on the other."""

    def hill(x):
        u = np.log(x) - top
        return -height * (np.exp(-u) + u)

    found = highest(maximise_profile(hill, np.exp(-4.0), np.exp(4.0), tol=1e-3, max_fits=40))
    assert_allclose(found.log_evidence, -height, atol=0.01)
    assert found.log_evidence == hill(found.value)


def test_the_higher_of_two_maxima_is_found():
    tried = maximise_profile(lambda u: -20 * min((u - 1) ** 2, (u - 3) ** 2 - 0.2), 0.0, 4.0, log=False, tol=1e-6)
    assert_allclose(highest(tried).value, 3.0, atol=1e-3)


@pytest.mark.parametrize(("slope", "end"), [(1.0, 100.0), (-1.0, 0.01)])
def test_a_maximum_at_a_bound_is_the_bound_itself(slope, end):
    assert highest(maximise_profile(lambda x: slope * np.log(x), 0.01, 100.0, max_fits=30)).value == end


def of_width(width):
    return BayesianLogisticRegression(basis=RBF(width=width), tune="evidence", standardize=False)


def of_degree(degree):
    return BayesianLogisticRegression(Gaussian(), basis=Polynomial(degree), tune="evidence", approximation="laplace")


@pytest.mark.slow
def test_no_point_of_a_fine_grid_of_widths_and_scales_is_better():
    X, y, _, _ = make_rbf_experiment(80, n_test=0)
    found = tune_model(of_width, X, y, bounds=(0.1, 5.0))
    axes = {"widths": np.geomspace(0.1, 5.0, 24), "scales": np.geomspace(0.05, 50.0, 16)}
    grid = evidence_surface(X, y, basis_of_width=lambda width: RBF(width=width), **axes)
    assert found.value == pytest.approx(grid.best[0], rel=0.3)
    assert len(found.tried) < 12
    assert not found.at_boundary


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
def test_each_value_has_the_evidence_of_its_model():
    X, y = make_xor_clusters(150, std=0.7)
    found = tune_model(of_degree, X, y, values=[2, 3])
    assert [trial.value for trial in found.tried] == [2, 3]
    for degree, log_evidence in found.tried:
        assert log_evidence == pytest.approx(of_degree(degree).fit(X, y).log_evidence_, abs=2 * GAIN_TOL)


def test_the_rate_of_wrong_labels_is_estimated_by_evidence():
    X, y, _ = make_label_noise(1500, noise=0.15)
    model = BayesianLogisticRegression(likelihood="label_noise", tune="evidence")
    found = tune_model(lambda noise: clone(model).set_params(noise=noise), X, y, bounds=(0.01, 0.4))
    assert found.value == pytest.approx(0.15, abs=0.03)  # three standard errors of a fraction of 1500


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
def test_a_maximum_outside_the_bounds_is_reported():
    X, y, _, _ = make_rbf_experiment(80, n_test=0)
    assert tune_model(of_width, X, y, bounds=(0.02, 0.1)).at_boundary
    assert tune_model(of_degree, *make_xor_clusters(150, std=0.7), values=[1, 2]).at_boundary
