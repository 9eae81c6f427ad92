"""Scales of highest evidence, and what is said where there are none."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import separable
from separatrix.bayesian.evidence.fitter import FitLaplace
from separatrix.bayesian.evidence.gradient import stationary_slope
from separatrix.bayesian.evidence.hyper import hyper
from separatrix.bayesian.evidence.surrogate import Parabola
from separatrix.bayesian.tuning import scales
from separatrix.bayesian.tuning.report import Limit, TuningStatus
from separatrix.bayesian.tuning.scales import profile_scale, tune_scales
from separatrix.exceptions import DataError
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import Counted, as_source
from separatrix.solvers.posterior import pose


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


@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_the_tuned_scale_is_the_maximum_of_a_fine_grid(likelihood):
    X, t = simulate(150, [1.0, -0.5, 0.3, 0.0], n_classes=2 if likelihood.n_outputs == 1 else 3)
    objective = posed(X, t, likelihood)
    tuned = tune_scales(objective, tol=1e-8)
    over = hyper(objective)
    axis = np.log(tuned.factors) + np.linspace(-1.5, 1.5, 61)
    values = [FitLaplace().fit(replace(objective, prior=over.prior(np.array([u]))), None).log_evidence for u in axis]
    assert int(np.argmax(values)) == 30
    assert tuned.log_evidence >= max(values) - 1e-7
    assert_allclose(tuned.gradient, 0.0, atol=1e-3)
    assert tuned.status is TuningStatus.CONVERGED
    assert tuned.boundary == ()


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_answer_does_not_depend_on_the_start(scale):
    X, t = simulate(200, [1.0, -0.5, 0.3])
    tuned = tune_scales(posed(X, t, scale=scale), tol=1e-8)
    reference = tune_scales(posed(X, t, scale=0.7), tol=1e-8)
    assert_allclose(scale * tuned.factors, 0.7 * reference.factors, rtol=1e-3)


def test_irrelevant_columns_are_switched_off_and_named():
    X, t = simulate(1000, [1.5, -1.0, 0.8] + 7 * [0.0], seed=2)
    tuned = tune_scales(posed(X, t), "columns")
    off = {limit.columns[0] for limit in tuned.boundary if limit.limit is Limit.NARROW}
    assert off.isdisjoint({"x0", "x1", "x2"})
    assert len(off) >= 4  # a noise column that seems to matter by chance keeps a small scale
    weights = np.abs(tuned.approximation.mean[0, :-1])
    assert weights[[int(name[1:]) for name in off]].max() < 1e-5
    assert weights[3:].max() < 0.25 * weights[:3].min()
    assert tuned.log_evidence > tune_scales(posed(X, t)).log_evidence + 3


def test_groups_share_a_scale():
    X, t = simulate(600, [1.0, -1.2, 0.9, 0.0, 0.0, 0.0], seed=1)
    tuned = tune_scales(posed(X, t), ["signal"] * 3 + ["noise"] * 3, tol=1e-6)
    assert tuned.labels == ("signal", "noise")
    assert tuned.factors[0] > 10 * tuned.factors[1]
    assert_allclose(tuned.column_factors, np.repeat(tuned.factors, 3))
    scales = 1 / np.sqrt(tuned.objective.prior.precision[:-1]) * tuned.objective.column_units[:-1]
    assert_allclose(scales, tuned.column_factors)


def test_columns_of_pure_noise_are_reported_as_irrelevant():
    X, _ = simulate(200, np.zeros(5))
    t = np.random.default_rng(1).integers(2, size=200)
    tuned = tune_scales(posed(X, t))
    assert [(limit.label, limit.limit) for limit in tuned.boundary] == [("all", Limit.NARROW)]
    null = tune_scales(posed(np.zeros((200, 1)), t))  # nothing but a bias
    assert_allclose(tuned.log_evidence, null.log_evidence, atol=1e-3)


@pytest.mark.parametrize("groups", [None, "columns"])
def test_separable_classes_are_reported(groups):
    X, t = separable(n=120, n_features=2, gap=0.5)
    tuned = tune_scales(posed(X, t), groups)
    assert Limit.SEPARATED in {limit.limit for limit in tuned.boundary}
    assert "separable" in tuned.boundary[0].describe()


def test_a_scale_at_its_upper_bound_is_reported(monkeypatch):
    monkeypatch.setattr("separatrix.bayesian.evidence.hyper.WIDEST", 0.1)
    monkeypatch.setattr("separatrix.bayesian.tuning.scales.WIDEST", 0.1)
    X, t = simulate(400, [1.0, -1.0])
    tuned = tune_scales(posed(X, t, scale=0.05))
    assert [limit.limit for limit in tuned.boundary] == [Limit.WIDE]
    assert_allclose(0.05 * tuned.factors, 0.1, rtol=1e-6)


def test_rotating_the_columns_changes_nothing_under_an_isotropic_prior(rng):
    X, t = simulate(150, [1.0, 0.5, 0.0, -0.3])
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    one, other = (tune_scales(posed(Z, t, standardize=False), tol=1e-8) for Z in (X, X @ Q))
    assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-9)
    assert_allclose(one.factors, other.factors, rtol=1e-4)
    assert_allclose(one.approximation.mean[0, :-1] @ Q, other.approximation.mean[0, :-1], atol=1e-4)


@pytest.mark.parametrize("n", [60, 400], ids=["few_rows", "many_rows"])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_directions_that_matter_give_the_same_scale(monkeypatch, standardize, n):
    X, t = simulate(n, np.append([1.0, -1.0, 0.5], np.zeros(117)), seed=4)
    X += 1.0
    rotated = tune_scales(posed(X, t, standardize=standardize), tol=1e-7)
    monkeypatch.setattr(scales, "is_rotatable", lambda objective, over: False)
    plain = tune_scales(posed(X, t, standardize=standardize), tol=1e-7)
    assert_allclose(rotated.factors, plain.factors, rtol=1e-3)
    assert_allclose(rotated.log_evidence, plain.log_evidence, atol=1e-5)
    assert_allclose(rotated.approximation.mean, plain.approximation.mean, atol=1e-4)
    assert rotated.approximation.mean.shape == (1, 121)


def test_the_profile_is_the_tuned_evidence_without_the_posterior():
    X, t = simulate(100, np.append([1.0, -1.0], np.zeros(118)))
    profile, tuned = profile_scale(posed(X, t)), tune_scales(posed(X, t))
    assert_allclose(profile.factor, tuned.factors[0])
    assert_allclose(profile.log_evidence, tuned.log_evidence, atol=1e-6)


def test_many_rows_take_two_fits():
    X, t = simulate(60_000, np.random.default_rng(0).normal(size=40) / 3)
    source = Counted(as_source(X, t))
    objective = pose(source, Logit(), Gaussian(1.0, intercept_scale=5.0), fit_intercept=True, standardize=True)
    before = source.passes
    tuned = tune_scales(objective)
    assert tuned.fits == 2
    assert tuned.status is TuningStatus.CONVERGED
    assert source.passes - before <= 16


def test_more_weights_than_can_be_taken_apart_are_refused(monkeypatch):
    monkeypatch.setattr(scales, "LARGEST", 3)
    X, t = simulate(50, [1.0, 0.0, 0.0])
    with pytest.raises(DataError, match="1 x 4 weights are more than 3"):
        tune_scales(posed(X, t))


@dataclass(frozen=True)
class FixedSites:
    """Sites that never change: a likelihood that is a parabola, whose evidence is exact."""

    parabola: Parabola

    def fit(self, objective, guess):
        return self.parabola.under(objective.prior)

    def slope(self, objective, approximation, *, few):
        return stationary_slope(objective, approximation)


def test_any_approximation_can_be_tuned_by():
    X, t = simulate(300, [1.0, -0.5, 0.3])
    objective = posed(X, t)
    sites = FixedSites(Parabola.of(FitLaplace().fit(objective, None), objective.prior))
    tuned = tune_scales(objective, "columns", fitter=sites, tol=1e-9)
    assert tuned.fits == 2  # the surrogate is the truth, and the second fit confirms it
    # At the maximum each scale solves MacKay's equation: s² = d² + S_pp.   PRML (3.92), (3.98)
    prior, found = tuned.objective.prior, tuned.approximation
    second = found.mean[0] ** 2 + np.diag(found.covariance)
    assert_allclose(1 / prior.precision[:-1], second[:-1], rtol=1e-3)
