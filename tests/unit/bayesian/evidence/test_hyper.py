"""The parts of a prior that can be tuned, and those that cannot."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.bayesian.evidence.hyper import hyper, rescaled
from separatrix.exceptions import DataError
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Flat, Gaussian, Penalty
from separatrix.rows import as_source
from separatrix.solvers.posterior import pose


def posed(prior, *, standardize=False, fit_intercept=True, likelihood=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.1] + [5.0, 0.0, 1.0]
    t = rng.integers(2, size=50)
    return pose(as_source(X, t), likelihood or Logit(), prior, fit_intercept=fit_intercept, standardize=standardize)


COVARIANCE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 4.0]])
PRIORS = {
    "isotropic": Gaussian(0.5, intercept_scale=2.0),
    "per_column": Gaussian([0.5, 1.0, 3.0], mean=1.0, intercept_scale=2.0),
    "full": Gaussian(covariance=COVARIANCE, intercept_scale=2.0),
}


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("standardize", [True, False], ids=["standardized", "as_is"])
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_a_factor_gives_the_prior_that_the_user_would_have_written(prior, standardize, fit_intercept):
    options = {"standardize": standardize, "fit_intercept": fit_intercept}
    over = hyper(posed(prior, **options))
    wider = posed(rescaled(prior, np.full(3, 1.7)), **options).prior
    assert_allclose(over.prior(np.zeros(1)).matrix(), posed(prior, **options).prior.matrix(), rtol=1e-12)
    found = over.prior(np.log([1.7]))
    assert_allclose(found.matrix(), wider.matrix(), rtol=1e-10, atol=1e-12)
    assert_allclose(found.mean, wider.mean)


@pytest.mark.parametrize("standardize", [True, False])
def test_groups_widen_their_own_columns_alone(standardize):
    over = hyper(posed(Gaussian(0.5, intercept_scale=2.0), standardize=standardize), ["u", "v", "u"])
    assert over.labels == ("u", "v")
    wider = posed(Gaussian(0.5 * np.array([2.0, 3.0, 2.0]), intercept_scale=2.0), standardize=standardize).prior
    assert_allclose(over.prior(np.log([2.0, 3.0])).matrix(), wider.matrix(), rtol=1e-10, atol=1e-12)
    assert over.columns(0, ("a", "b", "c")) == ("a", "c")


def test_bounds_do_not_depend_on_units():
    objective = posed(Gaussian(0.5, intercept_scale=2.0), standardize=True)
    low, high = hyper(objective, "columns").bounds(objective)
    assert_allclose(high, np.log(1e3 / 0.5))
    assert_allclose(low, np.log(2e-3 / np.sqrt(50) / 0.5))


def test_what_cannot_be_tuned_is_refused():
    with pytest.raises(DataError, match=r"prior of 'the bias' is flat.*intercept_scale"):
        hyper(posed(Gaussian(1.0)))
    with pytest.raises(DataError, match="prior of 'x0' is flat"):
        hyper(posed(Flat()))
    with pytest.raises(DataError, match="one scale to tune.*asks for 3"):
        hyper(posed(PRIORS["full"]), "columns")
    with pytest.raises(DataError, match="2 labels, but there are 3 columns"):
        hyper(posed(PRIORS["isotropic"]), ["a", "b"])
    with pytest.raises(DataError, match="groups='rows'"):
        hyper(posed(PRIORS["isotropic"]), "rows")
    joint = posed(Penalty(np.zeros((3, 4)), np.eye(12)), likelihood=Softmax(3))
    with pytest.raises(DataError, match="ties the outputs together"):
        hyper(joint)


def test_rescaled_keeps_what_it_can_of_the_form():
    assert rescaled(Gaussian(2.0), np.full(3, 3.0)).scale == 6.0
    assert_allclose(rescaled(Gaussian(2.0), np.array([1.0, 2.0])).scale, [2.0, 4.0])
    wide = rescaled(Gaussian(covariance=COVARIANCE), np.full(3, 2.0))
    assert_allclose(wide.covariance, 4 * COVARIANCE)
