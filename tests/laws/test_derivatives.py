# SPDX-License-Identifier: BSD-3-Clause
"""Slope, curvature and skew are the derivatives of ln p, for every likelihood of a class."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from separatrix.likelihoods import (
    LIKELIHOODS,
    LabelNoise,
    Logit,
    Probit,
    Softmax,
    SoftmaxLabelNoise,
    mean_likelihood,
)

SCALAR = [Logit(), Probit(), LabelNoise(0.0), LabelNoise(0.1), LabelNoise(0.4, 0.02), LabelNoise(0.0, 0.3)]
CONFUSION = np.array([[0.8, 0.1, 0.1], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]])
VECTOR = [Softmax(3), SoftmaxLabelNoise(np.eye(3)), SoftmaxLabelNoise(CONFUSION)]

scalar = pytest.mark.parametrize("likelihood", SCALAR, ids=str)
vector = pytest.mark.parametrize("likelihood", VECTOR, ids=lambda it: f"{type(it).__name__}{it.n_outputs}")
few = settings(max_examples=15)
activation = st.floats(-12, 12)
target = st.one_of(st.sampled_from([0, 1]), st.floats(0, 1))

#: Central differences of order eight: f' = Σ_j c_j (f(x + jh) - f(x - jh)) / h.
ORDER_EIGHT = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
STEP = 0.03


def difference(function, a):
    """Derivative of a function of each row's activation, with an error of about 1e-11."""
    return sum(c * (function(a + j * STEP) - function(a - j * STEP)) for j, c in enumerate(ORDER_EIGHT, 1)) / STEP


@scalar
@few
@given(a=activation, t=target)
def test_one_activation_per_row(likelihood, a, t):
    a, t = np.array([a]), np.array([t])
    _, slope, curvature = likelihood.derivatives(a, t)
    assert_allclose(difference(lambda b: likelihood.derivatives(b, t).log_p, a), slope, rtol=1e-9, atol=1e-10)
    assert_allclose(difference(lambda b: likelihood.derivatives(b, t).slope, a), -curvature, rtol=1e-9, atol=1e-10)
    skew = likelihood.skew(a, t)
    assert_allclose(difference(lambda b: likelihood.derivatives(b, t).curvature, a), skew, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "likelihood",
    [
        *SCALAR,
        *(mean_likelihood(family, link) for family, links in LIKELIHOODS.items() for link in links),
    ],
    ids=str,
)
@few
@given(a=st.floats(-4, 3))
def test_derivatives_of_the_mean(likelihood, a):
    mean = getattr(likelihood, "mean", None) or likelihood.probability
    a = np.array([abs(a) + 2 if getattr(likelihood, "link", "") == "inverse" else a])
    found = likelihood.mean_derivatives(a)
    assert_allclose(found.mean, mean(a), rtol=1e-14)
    assert_allclose(found.slope, difference(mean, a), rtol=1e-8, atol=1e-10)
    slope = difference(lambda b: likelihood.mean_derivatives(b).slope, a)
    assert_allclose(found.bend, slope, rtol=1e-8, atol=1e-10)


@vector
@few
@given(a=st.tuples(*[activation] * 3), t=st.integers(0, 2), v=st.tuples(*[st.floats(-1, 1)] * 3))
def test_one_activation_per_class(likelihood, a, t, v):
    a, t, v = np.array([a]), np.array([t]), np.array([v])
    _, slope, curvature = likelihood.derivatives(a, t)

    def along(part):
        return difference(lambda s: getattr(likelihood.derivatives(a + s * v, t), part), 0.0)

    assert_allclose(along("log_p"), (slope * v).sum(axis=1), rtol=1e-9, atol=1e-10)
    assert_allclose(along("slope"), -curvature.dot(v), rtol=1e-9, atol=1e-10)


@scalar
@pytest.mark.parametrize("soft", [False, True], ids=["codes", "probabilities"])
def test_single_precision_stays_single_and_agrees_with_double(likelihood, soft, rng):
    a = (rng.normal(size=300) * 10).astype(np.float32)
    t = rng.uniform(size=300) if soft else rng.integers(2, size=300)
    single = [*likelihood.derivatives(a, t), likelihood.skew(a, t), likelihood.safe_curvature(a, t)]
    b = a.astype(np.float64)
    double = [*likelihood.derivatives(b, t), likelihood.skew(b, t), likelihood.safe_curvature(b, t)]
    for ours, theirs in zip(single, double, strict=True):
        assert ours.dtype == np.float32
        assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)


@vector
def test_single_precision_of_k_classes(likelihood, rng):
    a, t = (rng.normal(size=(300, 3)) * 10).astype(np.float32), rng.integers(3, size=300)
    single, double = likelihood.derivatives(a, t), likelihood.derivatives(a.astype(np.float64), t)
    for ours, theirs in [
        (single.log_p, double.log_p),
        (single.slope, double.slope),
        (single.curvature.block(0, 1), double.curvature.block(0, 1)),
        (likelihood.probability(a), likelihood.probability(a.astype(np.float64))),
    ]:
        assert ours.dtype == np.float32
        assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
