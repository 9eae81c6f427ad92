"""Overlap is never proven if a linear program finds a separating plane; and for ordinary rows it is proven."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from problems import blobs
from separatrix.likelihoods import Logit, Probit, Softmax
from separatrix.priors import Flat, Gaussian
from separatrix.rows import as_source
from separatrix.separation import separability
from separatrix.separation.certificate import is_overlapping
from separatrix.solvers import LBFGS, Auto, GradientDescent, Newton, Solution, Status, factorise, pose
from separatrix.solvers.result import End

SOLVERS = {
    "auto": Auto(),
    "newton": Newton(),
    "newton_started": Newton(max_steps=2),
    "lbfgs": LBFGS(max_steps=100),
    "gradient": GradientDescent(max_steps=30),
}
PRIORS = {"flat": Flat(), "weak": Gaussian(1e4), "unit": Gaussian(1.0), "strong": Gaussian(1e-2)}

seeds = st.integers(0, 2**32 - 1)


def model(X, t, K, prior=None, fit_intercept=True, probit=False):
    likelihood = Softmax(K) if K > 2 else Probit() if probit else Logit()
    return pose(as_source(X, t), likelihood, prior or Flat(), fit_intercept=fit_intercept)


@st.composite
def tables(draw):
    """Small tables in any units for which all statuses are common, some with nearly collinear columns."""
    rng = np.random.default_rng(draw(seeds))
    K, M = draw(st.sampled_from([2, 2, 3])), draw(st.integers(1, 4))
    n = draw(st.integers(2 * K, 40))
    X = rng.integers(-2, 3, (n, M)).astype(float) if draw(st.booleans()) else rng.normal(size=(n, M))
    t = np.append(np.arange(K), rng.integers(0, K, n - K))
    kind = draw(st.sampled_from(["random", "plane", "dummy", "almost"]))
    if kind in ("plane", "almost"):
        t = (np.column_stack([X, np.ones(n)]) @ rng.integers(-2, 3, (M + 1, K))).argmax(axis=1)
    if kind == "almost":
        t[rng.integers(n)] = rng.integers(K)
    if kind == "dummy":
        X = np.column_stack([X, (np.arange(n) < rng.integers(1, 4))])
    if draw(st.booleans()):
        X = np.column_stack([X, X[:, 0] + 10.0 ** -draw(st.integers(2, 9)) * rng.integers(-1, 2, n)])
    X = X * 10.0 ** rng.integers(-4, 5, X.shape[1]) + draw(st.sampled_from([0.0, 0.0, 1e3]))
    classes, t = np.unique(t, return_inverse=True)
    assume(len(classes) == K)
    return X, t, K


@settings(max_examples=60)
@given(
    table=tables(),
    solver=st.sampled_from(sorted(SOLVERS)),
    prior=st.sampled_from(sorted(PRIORS)),
    fit_intercept=st.booleans(),
)
def test_nothing_that_can_be_separated_is_proven_to_overlap(table, solver, prior, fit_intercept):
    X, t, K = table
    objective = model(X, t, K, PRIORS[prior], fit_intercept)
    solution = SOLVERS[solver].minimise(objective, np.zeros(objective.shape))
    if is_overlapping(objective, solution):
        assert separability(objective.source, K, fit_intercept=fit_intercept).status == "overlapping"


@settings(max_examples=40)
@given(table=tables(), seed=seeds, size=st.integers(-3, 2), probit=st.booleans())
def test_the_proof_holds_at_any_point_and_not_only_at_an_optimum(table, seed, size, probit):
    X, t, K = table
    objective = model(X, t, K, probit=probit)
    theta = 10.0**size * np.random.default_rng(seed).normal(size=objective.shape) / objective.column_units
    here = objective.value_grad_hess(theta)
    end = End(here.grad, factorise(here.hess, len(theta), objective.prior.free), is_exact=True)
    if is_overlapping(objective, Solution(theta, Status.MAX_STEPS, 0, 1, end=end)):
        assert separability(objective.source, K).status == "overlapping"


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    ("solver", "store"), [("auto", np.asarray), ("newton", np.float32), ("lbfgs", sparse.csr_array)]
)
def test_ordinary_rows_are_proven_to_overlap_for_every_solver_and_prior(solver, prior, K, store):
    X, t = blobs(400, n_classes=K, distance=0.3)
    objective = model(store(X), t, K, PRIORS[prior])
    solution = SOLVERS[solver].minimise(objective, np.zeros(objective.shape))
    assert is_overlapping(objective, solution)


def test_few_rows_that_do_not_span_the_space_prove_nothing():
    """A column is zero in all rows but one: samples without that row overlap, but all rows do not."""
    X, t = blobs(1000, n_classes=2, distance=0.3)
    for row in range(0, 1000, 100):
        objective = model(np.column_stack([X, np.arange(1000) == row]), t, 2)
        solution = LBFGS().minimise(objective, np.zeros(objective.shape))
        assert not is_overlapping(objective, solution)


def test_a_sample_of_many_rows_is_enough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 60))
    t = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    objective = model(X, t, 2, Gaussian(1.0))
    assert objective.sample is not None
    solution = LBFGS().minimise(objective, np.zeros(objective.shape))
    blind = replace(objective, source=None)  # any pass over all rows would fail
    assert is_overlapping(blind, solution)
