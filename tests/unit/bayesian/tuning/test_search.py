"""The trust region: it climbs, it stops, and it says why."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import blobs
from separatrix.bayesian.evidence import FitLaplace, prior_scales
from separatrix.bayesian.tuning import Search, TuningStatus
from separatrix.exceptions import DataError
from separatrix.likelihoods import LabelNoise, Logit
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers.posterior import pose


def posed(scale=1.0, likelihood=None):
    X, t = blobs(n_classes=2)
    prior = Gaussian(scale, intercept_scale=5.0)
    return pose(as_source(X, t), likelihood or Logit(), prior, fit_intercept=True, standardize=True)


def search(objective, groups=None, fitter=None, tol=1e-6):
    over = prior_scales(objective, groups)
    return Search(objective, over, fitter or FitLaplace(1e-10), bounds=over.bounds(objective), tol=tol)


@pytest.mark.parametrize("groups", [None, "columns"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_the_evidence_rises_at_every_step_and_the_gradient_vanishes(scale, groups):
    found = search(posed(scale), groups).run(None, 50)
    values = [step.log_evidence for step in found.trace]
    assert found.status is TuningStatus.CONVERGED
    assert all(np.diff(values) > -1e-6)
    assert np.abs(found.gradient).max() < 0.01


def test_a_known_start_saves_a_fit():
    objective = posed()
    plain = search(objective).run(None, 50)
    warm = search(objective).run(FitLaplace(1e-10).fit(objective, None), 50)
    assert warm.fits == plain.fits - 1
    assert_allclose(warm.eta, plain.eta, atol=1e-6)


def test_a_limit_of_steps_is_said():
    assert search(posed(1e-3)).run(None, 1).status is TuningStatus.MAX_STEPS


class Falling(FitLaplace):
    """Every fit after the first has less evidence than promised."""

    def fit(self, objective, guess):
        from dataclasses import replace

        found = super().fit(objective, guess)
        return found if guess is None else replace(found, log_evidence=found.log_evidence - 1e3)


def test_promises_that_are_never_kept_end_the_search():
    found = search(posed(30.0), fitter=Falling()).run(None, 50)
    assert found.status is TuningStatus.STALLED
    assert len(found.trace) == 1
    assert_allclose(found.eta, 0.0)


class Refusing(FitLaplace):
    """There is no Gaussian away from where the search began."""

    def fit(self, objective, guess):
        if guess is None:
            return super().fit(objective, guess)
        raise DataError("The posterior has no end along some direction.")


def test_a_trial_without_a_gaussian_is_a_step_not_taken_unless_the_likelihood_is_concave():
    found = search(posed(30.0, LabelNoise(0.1)), fitter=Refusing()).run(None, 50)
    assert found.status is TuningStatus.STALLED
    with pytest.raises(DataError, match="no end"):
        search(posed(30.0), fitter=Refusing()).run(None, 50)
