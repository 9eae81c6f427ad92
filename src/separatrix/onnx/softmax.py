# SPDX-License-Identifier: BSD-3-Clause
"""The softmax averaged over Gaussian activations: the rule of `bayesian.softmax_normal`, step for step.

The probability of a class is that of a logistic model against the soft maximum of all others, which is put together
from pairs. Classes are sorted by their means first, so that the answer does not depend on their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.onnx.averages import logistic_mean, soften
from separatrix.onnx.graph import Value

__all__ = ["softmax_normal", "softmax_probit_rule"]


@dataclass(frozen=True, eq=False)
class _SoftMaximum:
    """ln Σ_j e^a_j over some classes, as a Gaussian: mean and variance (N,), shares and covariances (N, K)."""

    mean: Value
    var: Value
    weight: Value
    cov: Value


def softmax_normal(mu: Value, Sigma: Value, n_classes: int) -> Value:
    """p (N, K) for a ~ N(mu, Sigma), (N, K) and (N, K, K)."""
    K, graph = n_classes, mu.graph
    falling, order = graph.ops("TopK", mu, np.array([K]), n_outputs=2, axis=1)
    pick = order.expand(2).equals(np.arange(K)).as_double()  # a permutation as a matrix of zeros and ones
    back = pick.turned(0, 2, 1)
    p = _probabilities(falling, pick @ Sigma @ back, K)
    return (back @ p.expand(2)).sum(2)


def _probabilities(mu: Value, Sigma: Value, K: int) -> Value:
    """Each class against the soft maximum of the others."""
    single = [_single(mu, Sigma, k, K) for k in range(K)]
    before, after = [single[0]], [single[-1]]
    for k in range(1, K - 1):
        before.append(_merge(before[-1], single[k]))
        after.append(_merge(single[K - 1 - k], after[-1]))
    others = [after[-1], *(_merge(before[k - 1], after[K - 2 - k]) for k in range(1, K - 1)), before[-1]]
    pairs = zip(single, others, strict=True)
    p = mu.graph.stack([logistic_mean(one.mean - rest.mean, _difference_variance(one, rest)) for one, rest in pairs])
    return p / p.sum(1, keep=True)


def _single(mu: Value, Sigma: Value, k: int, K: int) -> _SoftMaximum:
    mean, cov = mu.column(k), Sigma.column(k)
    return _SoftMaximum(mean, cov.column(k), 0.0 * cov + np.eye(K)[k], cov)


def _merge(a: _SoftMaximum, b: _SoftMaximum) -> _SoftMaximum:
    """ln(e^a + e^b), from whichever of the two has the larger mean."""
    swap = b.mean > a.mean
    high, low = b.mean.where(swap, a.mean), a.mean.where(swap, b.mean)
    high_var = b.var.where(swap, a.var)
    shared = (a.weight * b.cov).sum(1)
    rho, rise, spread = soften(low - high, (a.var + b.var - 2.0 * shared).at_least(0.0))
    var = (high_var + 2.0 * rho * (shared - high_var) + spread).at_least(0.0)
    share = (1.0 - rho).where(swap, rho).expand(1)  # of b
    weight = (1.0 - share) * a.weight + share * b.weight
    return _SoftMaximum(high + rise, var, weight, (1.0 - share) * a.cov + share * b.cov)


def _difference_variance(a: _SoftMaximum, b: _SoftMaximum) -> Value:
    return (a.var + b.var - 2.0 * (a.weight * b.cov).sum(1)).at_least(0.0)


def softmax_probit_rule(mu: Value, Sigma: Value, n_classes: int) -> Value:
    """p_k ∝ e^(κ_k mu_k), κ_k = (1 + π var_k/8)^-½."""
    var = (Sigma * np.eye(n_classes)).sum(2)
    return (mu / (1.0 + np.pi / 8 * var).sqrt()).softmax()
