"""The shift of the mean against differences, grids and the two-class softmax; and what is chosen when."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix.bayesian.diagnostics as module
from exact import LIKELIHOODS, at_the_mode, on_a_grid, posed, two_weights
from separatrix.bayesian.diagnostics import Skewness, choose, pareto_k, skewness, third_order
from separatrix.likelihoods import Logit, Softmax, SoftmaxLabelNoise
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.rows.counted import Counted
from separatrix.solvers import pose
from separatrix.solvers.factor import factorise


def by_differences(objective, laplace, h=1e-4):
    """-½ A⁻¹ ∇ tr(A(θ) A⁻¹): the third derivative of the objective, contracted with the covariance."""
    covariance = laplace.covariance
    pull = np.empty(laplace.mean.size)
    for i, axis in enumerate(np.eye(laplace.mean.size)):
        step = h * axis.reshape(laplace.mean.shape)
        ahead, behind = (objective.value_grad_hess(laplace.mean + s).hess for s in (step, -step))
        pull[i] = np.vdot(ahead - behind, covariance) / (2 * h)
    return (-0.5 * covariance @ pull).reshape(laplace.mean.shape)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_shift_of_one_output_is_the_third_derivative(name, rng):
    X, t = rng.normal(size=(50, 3)), rng.integers(2, size=50)
    weight, offset = rng.gamma(2.0, size=50), rng.normal(size=50)
    objective = posed(X, t, likelihood=LIKELIHOODS[name], weight=weight, offset=offset, fit_intercept=True, rows=17)
    laplace = at_the_mode(objective)
    assert_allclose(skewness(objective, laplace).shift, by_differences(objective, laplace), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("likelihood", [Softmax(3), SoftmaxLabelNoise(0.9 * np.eye(3) + 0.1 / 3)])
def test_the_shift_of_k_outputs_is_the_third_derivative(likelihood, rng):
    X, weight = rng.normal(size=(60, 2)), rng.gamma(2.0, size=60)
    t = (X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(60, 3))).argmax(axis=1)
    objective = posed(X, t, likelihood=likelihood, weight=weight, fit_intercept=True, rows=17)
    laplace = at_the_mode(objective)
    assert_allclose(skewness(objective, laplace).shift, by_differences(objective, laplace), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_corrected_mean_is_nearer_to_the_posteriors(name):
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


def test_a_change_that_drowns_in_rounding_takes_no_pass():
    objective, _, _ = two_weights("logit", n=4000)
    laplace = at_the_mode(objective)
    found = skewness(objective, laplace)
    exact = third_order(objective, laplace, found)
    blunt = replace(objective, units=replace(objective.units, rounding=1e-5), source=Counted(objective.source))
    corrected = third_order(blunt, laplace, found)
    assert blunt.source.passes == 0
    assert_allclose(corrected.mean, exact.mean)
    change = exact.log_likelihood - laplace.log_likelihood  # of which the second order has all but the third
    assert corrected.log_likelihood - laplace.log_likelihood == pytest.approx(change, rel=0.01)


def test_two_classes_as_a_softmax_shift_as_the_logistic_model_does(rng):
    X = rng.normal(size=(40, 2))
    t = (X[:, 0] + rng.logistic(size=40) > 0).astype(int)
    soft, hard = posed(X, t, scale=1.0, likelihood=Softmax(2)), posed(X, t, scale=np.sqrt(2.0))
    a, b = (skewness(objective, at_the_mode(objective)).shift for objective in (soft, hard))
    assert_allclose(a[1] - a[0], b[0], rtol=1e-6, atol=1e-9)


def rare_column(n, rng, rare):
    X = np.column_stack([rng.normal(size=(n, 2)), np.zeros(n)])
    t = (X[:, 0] + rng.logistic(size=n) > 0).astype(int)
    X[:rare, 2], t[:rare] = 1.0, 1
    return X, t


def test_a_rare_column_that_separates_is_named(rng):
    X, t = rare_column(300, rng, 6)
    objective = posed(X, t, scale=10.0, fit_intercept=True)
    found = skewness(objective, at_the_mode(objective))
    assert found.largest > 1.0
    assert found.column == "x2"
    assert choose(objective, found) == "ep"


def test_large_data_are_sampled_unless_a_value_is_rare(rng, monkeypatch):
    X, t = rare_column(60_000, rng, 5)
    X = np.column_stack([X, rng.normal(size=(60_000, 40))])
    seen = []
    pull = module._pull
    monkeypatch.setattr(module, "_pull", lambda block, **at: seen.append(len(block)) or pull(block, **at))
    for columns, all_rows in ((np.delete(np.arange(43), 2), False), (np.arange(43), True)):
        objective = pose(as_source(X[:, columns], t), Logit(), Gaussian(5.0), fit_intercept=True)
        assert objective.sample is not None
        laplace = at_the_mode(objective)
        found = skewness(objective, laplace)
        assert (sum(seen) == 60_000) == all_rows
        whole = skewness(replace(objective, sample=None), laplace)
        assert found.largest == pytest.approx(whole.largest, rel=0.3)
        assert (found.column == "x2" and found.largest > 0.3) == all_rows
        seen.clear()


@pytest.mark.parametrize(
    ("largest", "shape", "rows", "choice"),
    [
        (0.01, (1, 5), 100, "laplace"),
        (0.2, (1, 5), 100, "ep"),
        (0.2, (1, 200), 10**6, "laplace"),
        (0.5, (1, 200), 10**6, "ep"),
        (0.01, (3, 5), 100, "laplace"),
        (0.2, (3, 5), 100, "importance"),
        (0.2, (3, 50), 100, "laplace"),
        (0.2, (3, 5), 10**6, "laplace"),
        (0.5, (3, 50), 100, "variational"),
        (0.5, (19, 134), 455, "laplace"),
        (0.5, (3, 50), 10**6, "laplace"),
    ],
)
def test_the_choice_weighs_skewness_against_cost(largest, shape, rows, choice):
    class Source:
        n_rows = rows
        columns = tuple(f"x{m}" for m in range(shape[1]))

    objective = posed(np.eye(2), np.array([0, 1]), likelihood=Logit() if shape[0] == 1 else Softmax(shape[0]))
    design = replace(objective.design, origin=np.zeros(shape[1]))
    objective = replace(objective, source=Source(), design=design)
    assert choose(objective, Skewness(np.zeros(shape), largest, "x0")) == choice


def test_importance_needs_a_proper_prior(rng):
    objective = pose(
        as_source(rng.normal(size=(50, 2)), rng.integers(3, size=50)), Softmax(3), Gaussian(1.0), fit_intercept=True
    )
    assert choose(objective, Skewness(np.zeros((3, 3)), 0.4, "x0")) == "laplace"


def test_pareto_k_passes_a_good_gaussian_and_flags_a_poor_one():
    objective, _, _ = two_weights(n=200)
    laplace = at_the_mode(objective)
    narrow = replace(laplace, factor=factorise(25 * laplace.factor.matrix, 1, np.zeros(2, dtype=bool)))
    assert pareto_k(objective, laplace, n=2048) < 0.5
    assert pareto_k(objective, narrow, n=2048) > 0.7
