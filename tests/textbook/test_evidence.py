"""PRML §3.4, §3.5 and §4.4: choice of models and hyperparameters by evidence, without held-out rows."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special

from separatrix.basis import RBF, Polynomial, fit_basis
from separatrix.bayesian.evidence import FitLaplace, effective_parameters
from separatrix.bayesian.surface import evidence_surface
from separatrix.bayesian.tune_model import maximise_profile
from separatrix.bayesian.tuning import profile_scale, tune_scales
from separatrix.likelihoods import LabelNoise, Logit
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers.posterior import pose


def posed(X, t, basis=None, likelihood=None, scale=1.0, **options):
    source = as_source(X, t)
    rows = source if basis is None else source.mapped(fit_basis(basis, source))
    prior = Gaussian(scale, intercept_scale=10.0)
    return pose(rows, likelihood or Logit(), prior, **{"fit_intercept": True} | options)


def clouds(n, seed):
    """Return two overlapping classes of three clouds each."""
    rng = np.random.default_rng(seed)
    centres = np.array([[[0, 0], [2, 2], [-2, 1]], [[1, -1], [-1, 2.5], [0, 1.5]]])
    t = rng.integers(2, size=n)
    return centres[t, rng.integers(3, size=n)] + 0.6 * rng.normal(size=(n, 2)), t


def test_4_137_the_error_relative_to_quadrature_decreases_with_the_number_of_rows():
    gaps = []
    for n in (10, 100, 1000):
        rng = np.random.default_rng(0)
        x = rng.normal(size=n)
        t = (x + rng.logistic(size=n) > 0).astype(np.intp)
        objective = posed(x[:, None], t, fit_intercept=False)
        found = FitLaplace().fit(objective, None)
        sign = np.where(t == 1, x, -x)
        mode = found.mean[0, 0]

        def density(w, sign=sign, top=found.log_likelihood):
            return np.exp(special.log_expit(sign * w).sum() - 0.5 * w * w - top) / np.sqrt(2 * np.pi)

        exact = np.log(integrate.quad(density, mode - 6, mode + 6, points=[mode], epsabs=0)[0]) + found.log_likelihood
        gaps.append(abs(found.log_evidence - exact))
    assert gaps[0] < 0.1
    assert gaps[2] < gaps[1] < gaps[0]


def test_3_91_effective_parameters_grow_with_the_scale_up_to_all_of_them():
    X, t = clouds(300, 0)
    gammas = []
    for scale in (1e-4, 0.1, 1.0, 10.0):
        objective = posed(X, t, Polynomial(3), scale=scale)
        gammas.append(effective_parameters(FitLaplace().fit(objective, None), objective.prior))
    assert_allclose(gammas[0], 1.0, atol=0.01)  # only the bias is determined
    assert (np.diff(gammas) > 0).all()
    assert gammas[-1] < 10


def test_3_4_the_evidence_finds_the_degree_of_a_polynomial():
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 2, size=(600, 1))
    t = (3 * (x[:, 0] ** 2 - 1.5) + rng.logistic(size=600) > 0).astype(np.intp)
    tuned = [tune_scales(posed(x, t, Polynomial(degree), standardize=True)) for degree in range(1, 6)]
    evidence = [each.approximation.log_evidence for each in tuned]
    assert evidence[1] > evidence[0] + 50  # degree 1 is too simple
    assert max(evidence[2:]) < evidence[1]  # higher degrees are penalised by the Occam factor


def test_4_117_the_evidence_finds_the_fraction_of_wrong_labels():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2000, 3))
    t = (X @ [3.0, -2.0, 1.0] + rng.logistic(size=2000) > 0).astype(np.intp)
    flipped = np.where(rng.random(2000) < 0.1, 1 - t, t)

    def log_evidence(eps):
        return profile_scale(posed(X, flipped, likelihood=LabelNoise(eps))).approximation.log_evidence

    best = max(maximise_profile(log_evidence, 0.005, 0.4), key=lambda trial: trial.log_evidence)
    assert abs(best.value - 0.1) < 0.03


@pytest.fixture(scope="module")
def radial():
    """Return training rows, test rows, and the surface of the evidence over widths and scales."""
    X, t = clouds(250, 1)
    X_test, t_test = clouds(2000, 2)
    widths, scales = np.geomspace(0.1, 3.0, 6), np.geomspace(0.1, 30.0, 6)
    surface = evidence_surface(X, t, basis_of_width=lambda s: RBF(width=s), widths=widths, scales=scales)
    return X, t, X_test, t_test, surface


def held_out_log_likelihood(X, t, X_test, t_test, width, scale):
    basis = fit_basis(RBF(width=width), as_source(X))
    objective = pose(as_source(X, t).mapped(basis), Logit(), Gaussian(scale, intercept_scale=10.0), fit_intercept=True)
    found = FitLaplace().fit(objective, None)
    a = found.activations(basis.evaluate(X_test), objective.design)
    kappa = 1 / np.sqrt(1 + np.pi * a.cov / 8)  # (4.154), (4.155)
    return special.log_expit(np.where(t_test == 1, 1, -1) * kappa * a.mean).mean()


def test_an_rbf_on_every_row_does_not_overfit_at_the_largest_evidence(radial):
    X, t, X_test, t_test, surface = radial
    i, j = np.unravel_index(surface.log_evidence.argmax(), surface.log_evidence.shape)
    assert 0 < i < 5
    assert 0 < j < 5
    judge = partial(held_out_log_likelihood, X, t, X_test, t_test)
    assert judge(*surface.best) > judge(surface.widths[0], surface.best[1]) + 0.1
    assert judge(*surface.best) > judge(surface.best[0], surface.scales[-1])


def test_continuous_maximisation_finds_more_evidence_than_a_grid(radial):
    X, t, _, _, surface = radial

    def log_evidence(width):
        return profile_scale(posed(X, t, RBF(width=width))).approximation.log_evidence

    tried = maximise_profile(log_evidence, surface.widths[0], surface.widths[-1])
    best = max(tried, key=lambda trial: trial.log_evidence)
    assert best.log_evidence > surface.log_evidence.max()
    assert len(tried) < 12
    assert best.value not in (surface.widths[0], surface.widths[-1])


def test_evidence_and_held_out_rows_agree_on_the_better_width(radial):
    X, t, X_test, t_test, surface = radial
    best = surface.log_evidence.max(axis=1)
    scale = surface.scales[surface.log_evidence.argmax(axis=1)]
    judge = partial(held_out_log_likelihood, X, t, X_test, t_test)
    held_out = [judge(width, s) for width, s in zip(surface.widths, scale, strict=True)]
    assert abs(int(np.argmax(best)) - int(np.argmax(held_out))) <= 1
    assert np.corrcoef(best, held_out)[0, 1] > 0.9
