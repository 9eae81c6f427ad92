# SPDX-License-Identifier: BSD-3-Clause
"""Likelihoods for activations up to 1e9: values are finite, ln p <= 0, monotone, and concave if declared so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax, SoftmaxLabelNoise

SCALAR = [Logit(), Probit(), LabelNoise(0.0), LabelNoise(0.1), LabelNoise(0.3, 0.02), LabelNoise(0.0, 0.2)]
CONFUSION = np.array([[0.8, 0.1, 0.1], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]])
VECTOR = [Softmax(3), SoftmaxLabelNoise(np.eye(3)), SoftmaxLabelNoise(CONFUSION)]

scalar = pytest.mark.parametrize("likelihood", SCALAR, ids=str)
vector = pytest.mark.parametrize("likelihood", VECTOR, ids=lambda it: f"{type(it).__name__}{it.n_outputs}")
precision = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["single", "double"])
targets = pytest.mark.parametrize("t", [0, 1, 0.0, 0.25, 1.0])

FAR = np.geomspace(1e-30, 1e9, 2001)
A = np.concatenate([-FAR[::-1], [-0.0, 0.0], FAR])
few = settings(max_examples=25)
anywhere = st.floats(-1e9, 1e9)


@scalar
@precision
@targets
def test_one_activation_per_row(likelihood, dtype, t):
    a, t = A.astype(dtype), np.full(len(A), t)
    log_p, slope, curvature = likelihood.derivatives(a, t)
    safe = likelihood.safe_curvature(a, t)
    for part in (log_p, slope, curvature, safe, likelihood.skew(a, t)):
        assert part.dtype == dtype
        assert np.isfinite(part).all()
    assert (log_p <= 0).all()
    assert (safe >= 0).all()
    if likelihood.is_log_concave:
        assert (curvature >= 0).all()


@scalar
@precision
@pytest.mark.parametrize("t", [0, 1])
def test_more_activation_never_makes_a_label_less_likely(likelihood, dtype, t):
    sign, epsilon = 2 * t - 1, np.finfo(dtype).eps
    log_p, slope, _ = likelihood.derivatives(A.astype(dtype), np.full(len(A), t))
    assert (sign * slope >= 0).all()
    assert (sign * np.diff(log_p) >= -4 * epsilon * np.abs(log_p[1:])).all()
    if likelihood.is_log_concave:
        assert (np.diff(slope) <= 4 * epsilon * np.abs(slope[1:])).all()


@targets
@pytest.mark.parametrize("likelihood", [Logit(), Probit()], ids=str)
def test_compiled_loops_evaluate_the_same_law(likelihood, t):
    from separatrix.stats import _kernels

    compiled = {Logit: _kernels._logit, Probit: _kernels._probit}[type(likelihood)]
    expected = likelihood.derivatives(A, np.full(len(A), float(t)))
    for found, exact in zip(np.transpose([compiled(a, float(t)) for a in A]), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-14, atol=np.finfo(float).tiny)
    assert np.isnan(compiled(np.nan, float(t))).all()


@scalar
def test_probabilities_of_both_labels_sum_to_one(likelihood):
    one, zero = (np.exp(likelihood.derivatives(A, np.full(len(A), t)).log_p) for t in (1, 0))
    np.testing.assert_allclose(one + zero, 1.0, rtol=1e-14)


@scalar
@precision
def test_probabilities(likelihood, dtype):
    p = likelihood.probability(A.astype(dtype))
    assert p.dtype == dtype
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p) >= -np.finfo(dtype).eps).all()
    np.testing.assert_allclose(p + p[::-1], 1.0, rtol=4 * np.finfo(dtype).eps)


@vector
@precision
@few
@given(a=st.tuples(anywhere, anywhere, anywhere), t=st.integers(0, 2))
def test_one_activation_per_class(likelihood, dtype, a, t):
    a, t = np.array([a], dtype=dtype), np.array([t])
    log_p, slope, curvature = likelihood.derivatives(a, t)
    assert np.isfinite(log_p).all()
    assert np.isfinite(slope).all()
    assert (log_p <= 0).all()
    assert np.abs(slope.sum()) <= 4 * np.finfo(dtype).eps
    safe = likelihood.safe_curvature(a, t)
    for j in range(3):
        assert safe.block(j, j) >= 0
        assert np.isfinite(curvature.block(j, j)).all()
        if likelihood.is_log_concave:
            assert curvature.block(j, j) >= 0


@vector
@few
@given(a=st.tuples(anywhere, anywhere, anywhere))
def test_probabilities_of_all_labels_sum_to_one(likelihood, a):
    a = np.array([a])
    p = [np.exp(likelihood.derivatives(a, np.array([t])).log_p) for t in range(3)]
    np.testing.assert_allclose(sum(p), 1.0, rtol=1e-13)


def test_probabilities_in_single_precision_are_never_subnormal():
    """Some processors compute with subnormal numbers a hundred times as slowly."""
    a = np.linspace(-200, 0, 4001, dtype=np.float32)
    found = Softmax(2).derivatives(np.column_stack([a, np.zeros_like(a)]), np.ones(len(a), dtype=int))
    for values in (found.slope, found.curvature.p):
        small = np.abs(values[values != 0])
        assert small.min() >= np.finfo(np.float32).tiny
        np.testing.assert_allclose(small[small > 2e-30].min(), 2e-30, rtol=0.06)
    assert (found.log_p <= 0).all()
