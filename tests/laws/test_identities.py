"""Identities and exact limits of single functions, and tests of defects that were once found."""

from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import separatrix as sx
from posteriors import Problem, overlapping
from problems import blobs
from separatrix._special import root_of_decreasing
from separatrix.exceptions import CollinearWarning
from separatrix.likelihoods import Covariances, Logit, Softmax, mean_likelihood
from separatrix.priors import Flat
from separatrix.rows import as_source, cut_batches, join_batches
from separatrix.separation.certificate import is_overlapping
from separatrix.solvers import Auto, GradientDescent, Newton, Status, StochasticGradient, pose
from separatrix.table.kinds import Kind, join, kind_of_values, values_to_arrow

# Likelihoods


def test_the_curvature_of_a_softmax_is_diag_p_minus_p_p(rng):
    """PRML (4.106); the curvature is the difference of two such matrices if two distributions are given."""

    def dense(p):
        return p[:, :, None] * np.eye(4) - p[:, :, None] * p[:, None, :]

    p, q, A = rng.dirichlet(np.ones(4), size=30), rng.dirichlet(np.full(4, 0.3), size=30), rng.normal(size=(30, 4))
    for curvature, expected in [(Covariances(p), dense(p)), (Covariances(p, q), dense(p) - dense(q))]:
        blocks = np.array([[curvature.block(j, k) for k in range(4)] for j in range(4)])
        assert_allclose(blocks.transpose(2, 0, 1), expected, atol=1e-16)
        assert_allclose(curvature.dot(A), np.einsum("njk,nk->nj", expected, A), atol=1e-15)


def test_the_variance_of_a_nearly_certain_class_keeps_its_digits():
    p = np.array([[1.0 - 2e-18, 1e-18, 1e-18]])  # the first entry rounds to 1, so 1 - p would be 0
    assert_allclose(Covariances(p).block(0, 0), 2e-18, rtol=1e-15)


def test_minus_zero_is_zero():
    for t in (np.array([0, 1]), np.array([0.2, 0.9])):
        minus, plus = (Logit().derivatives(np.full(2, zero), t) for zero in (-0.0, 0.0))
        for found, expected in zip(minus, plus, strict=True):
            assert_allclose(found, expected, rtol=1e-15)


def test_a_rate_of_many_counts_keeps_its_digits():
    t, a = np.array([1e12]), np.log(np.array([1e12])) + 1e-7
    z = float(a[0]) - float(np.log(1e12))
    log_p = mean_likelihood("poisson").derivatives(a, t).log_p[0]
    assert log_p == pytest.approx(-1e12 * (z**2 / 2 + z**3 / 6), rel=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "binomial", "poisson", "gamma"])
def test_the_default_link_is_canonical(family):
    """The slope is t - mean (PRML 4.124), so the curvature does not depend on t."""
    likelihood = mean_likelihood(family)
    a, t = np.array([0.4, 0.4]), np.array([0.25, 0.75])
    _, slope, curvature = likelihood.derivatives(a, t)
    assert curvature[0] == pytest.approx(curvature[1], rel=1e-12)
    assert_allclose(np.abs(slope), np.abs(t - likelihood.mean(a)), rtol=1e-12)


def test_the_root_search_does_not_diverge_where_newton_does():
    """Newton's method for -arctan diverges from t = 20: its first step goes to about -600."""
    root = root_of_decreasing(lambda t: (-np.arctan(t - 1.5), -1 / (1 + (t - 1.5) ** 2)), np.array([20.0, -3.0, 1.5]))
    assert_allclose(root, 1.5, rtol=1e-13)


# Solvers and separation


def zeros(objective):
    return np.zeros(objective.shape)


def test_gradient_descent_takes_the_same_steps_if_every_row_occurs_twice():
    X, t = overlapping()
    once, twice = (
        GradientDescent(step=0.5, max_steps=20).minimise(objective, zeros(objective)).value
        for objective in (Problem(X, t).posterior(), Problem(np.vstack([X, X]), np.append(t, t)).posterior())
    )
    assert_allclose(once, twice, rtol=1e-10)


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_without_a_prior_the_size_of_all_weights_does_not_matter(size):
    X, t = overlapping(40_000, 60)
    plain, weighted = Problem(X, t).posterior(), Problem(X, t, weight=np.full(len(t), size)).posterior()
    expected, found = (Auto().minimise(objective, zeros(objective)) for objective in (plain, weighted))
    assert found.status is Status.GRADIENT
    assert_allclose(found.value, expected.value, atol=1e-6)


def test_stochastic_gradient_converges_linearly():
    objective = Problem(*overlapping(4000, 5)).posterior()
    solution = StochasticGradient(tol=1e-10, trace=True).minimise(objective, zeros(objective))
    sizes = [step.gradient for step in solution.trace]
    assert solution.status is Status.GRADIENT
    assert sizes[-1] / sizes[1] < 0.6 ** (len(sizes) - 2)


def test_more_constant_columns_than_rows_leave_the_log_odds_of_the_classes():
    for X in (np.zeros((6, 20)), np.full((6, 20), 3.0)):
        model = sx.LogisticRegression().fit(X, [0, 1, 0, 1, 1, 1])
        assert_array_equal(model.coef_, 0.0)
        assert model.intercept_[0] == pytest.approx(np.log(2))


def test_collinear_columns_of_a_regression_are_a_single_warning(rng):
    X = rng.normal(size=(100, 2))
    for family, y in (("bernoulli", np.arange(100) % 2), ("poisson", rng.poisson(3, 100))):
        with pytest.warns(CollinearWarning, match="Collinear columns"):  # another warning would be raised as an error
            sx.GeneralizedLinearModel(family).fit(np.column_stack([X, X[:, 0]]), y)


@pytest.mark.parametrize("K", [2, 3])
def test_overlap_is_proven_with_collinear_columns_and_only_for_concave_likelihoods(K):
    class Bent(Logit if K == 2 else Softmax):
        is_log_concave = False

    X, t = blobs(300, n_classes=K, distance=0.3)
    X = np.column_stack([X, X[:, 0] + 2 * X[:, 1], np.full(300, 7.0)])
    objective = pose(as_source(X, t), Logit() if K == 2 else Softmax(K), Flat(), fit_intercept=True)
    solution = Newton().minimise(objective, zeros(objective))
    assert is_overlapping(objective, solution)
    assert not is_overlapping(replace(objective, likelihood=Bent() if K == 2 else Bent(K)), solution)


# Rows and tables


@given(st.lists(st.integers(0, 7), max_size=8), st.integers(1, 9))
def test_blocks_are_cut_by_row_number_wherever_batches_end(lengths, height):
    ends = np.cumsum([0, *lengths])
    batches = (pa.record_batch({"a": np.arange(low, high)}) for low, high in pairwise(ends))
    pieces = [join_batches(group).column("a").to_pylist() for group in cut_batches(batches, height)]
    assert list(chain.from_iterable(pieces)) == list(range(ends[-1]))
    assert all(len(piece) == height for piece in pieces[:-1])


CELLS = st.sampled_from([None, 1, -2, 2**70, 2.5, True, "", "x", "2024-01-01", "2024-01-01T10:00:00", [1], "NA"])


@given(cells=st.lists(CELLS, max_size=7), position=st.integers(0, 7), iso=st.booleans())
def test_the_kind_of_values_does_not_depend_on_batches(cells, position, iso):
    whole = kind_of_values(cells, Kind.NOTHING, iso=iso)
    first = kind_of_values(cells[:position], Kind.NOTHING, iso=iso)
    assert kind_of_values(cells[position:], first, iso=iso) is whole
    assert join(first, kind_of_values(cells[position:], Kind.NOTHING, iso=iso)) is whole
    assert values_to_arrow(cells, whole).type == whole.type


def test_categories_of_different_batches_are_unified():
    batches = [pa.record_batch({"a": pa.array(texts).dictionary_encode()}) for texts in (["x", "y"], ["z", "x"])]
    assert join_batches(batches)["a"].to_pylist() == ["x", "y", "z", "x"]
