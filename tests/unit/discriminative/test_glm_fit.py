"""The maximum is one, or there is said to be none; the information is the expected Hessian."""

import numpy as np
import pytest
from scipy import optimize

from separatrix.discriminative import GeneralizedLinearModel
from separatrix.discriminative.glm_fit import Goodness, collect_goodness, fit_glm
from separatrix.discriminative.targets import Targets
from separatrix.exceptions import SeparationWarning
from separatrix.likelihoods.glm import mean_likelihood
from separatrix.rows import as_source
from separatrix.solvers.newton import Newton


def fitted(family="poisson", link=None, alpha=0.0, n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) + 3.0
    t = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float) + (family == "gamma")
    weight = rng.uniform(0.5, 2.0, n)
    source, targets = as_source(X, t, weight), Targets(t, weight)
    return X, fit_glm(source, targets, mean_likelihood(family, link), alpha=alpha, solver=Newton())


@pytest.mark.parametrize(
    ("family", "link"), [("gaussian", "log"), ("poisson", "log"), ("gamma", "inverse"), ("gamma", "log")]
)
def test_no_point_near_or_far_has_a_smaller_objective(family, link):
    X, fit = fitted(family, link, alpha=0.7)
    t, weight = fit.targets.t, fit.targets.weight

    def objective(user):
        log_p = fit.likelihood.derivatives(X @ user[:2] + user[2], t).log_p
        return -weight @ log_p + 0.35 * user[:2] @ user[:2]

    user = fit.to_user_units @ fit.theta[0]
    with np.errstate(all="ignore"):
        best = optimize.minimize(objective, user + 0.01, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert objective(user) <= best.fun + 1e-9
    np.testing.assert_allclose(user, best.x, atol=1e-5)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma"])
def test_with_a_canonical_link_the_information_is_the_hessian(family):
    _, fit = fitted(family)
    hess = fit.posterior.value_grad_hess(fit.theta).hess
    np.testing.assert_allclose(fit.goodness.information, hess, rtol=1e-10)
    assert fit.n_effective == pytest.approx(3.0)
    assert fit.goodness.deviance == pytest.approx(2 * fit.posterior.value_grad(fit.theta).value)


def test_goodness_adds_over_blocks():
    _, fit = fitted()
    whole = collect_goodness(fit.posterior, fit.theta)
    twice = whole + whole
    assert isinstance(twice, Goodness)
    assert (twice.deviance, twice.pearson) == (2 * whole.deviance, 2 * whole.pearson)


def test_the_effective_number_of_coefficients_falls_with_the_penalty():
    numbers = [fitted(alpha=alpha)[1].n_effective for alpha in (0.0, 10.0, 1e3, 1e9)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] == pytest.approx(3.0)
    assert numbers[-1] == pytest.approx(1.0, abs=1e-5)


SEPARATED = {
    "complete": np.repeat([0, 1], 10),
    "quasi-complete": np.r_[np.tile([0, 1], 5), np.ones(10, int)],
}


@pytest.mark.parametrize("family", ["bernoulli", "binomial"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("status", SEPARATED)
def test_separated_classes_are_said_to_have_no_maximum(status, link, family):
    X = np.repeat([[0.0], [1.0]], 10, axis=0)  # two points only, where a probit step is short although it never ends
    with pytest.warns(SeparationWarning, match=f"status '{status}'.*'x0'"):
        GeneralizedLinearModel(family, link).fit(X, SEPARATED[status])
    GeneralizedLinearModel(family, link, alpha=0.1).fit(X, SEPARATED[status])  # a prior gives it one: no warning


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_classes_that_overlap_in_one_row_are_not_said_to_be_separated(link):
    X = np.linspace(-1, 1, 20)[:, None]
    y = (X[:, 0] > 0).astype(int)
    y[[9, 10]] = y[[10, 9]]
    assert GeneralizedLinearModel("bernoulli", link).fit(X, y).solution_.is_converged


def test_a_single_precision_table_is_fitted_to_single_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)).astype(np.float32) + np.float32(100.0)
    t = rng.poisson(2.0, 500).astype(float)
    single, double = (
        fit_glm(as_source(table, t), Targets(t), mean_likelihood("poisson"), solver=Newton(tol=1e-6))
        for table in (X, X.astype(float))
    )
    np.testing.assert_allclose(single.theta, double.theta, atol=1e-5)
