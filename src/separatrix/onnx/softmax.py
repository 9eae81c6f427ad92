# SPDX-License-Identifier: BSD-3-Clause
"""The softmax averaged over Gaussian activations: the rule of `bayesian.softmax_normal`, step for step.

The probability of a class is that of a logistic model against the soft maximum of all others, which is put together
from pairs. Classes are sorted by their means first, so that the answer does not depend on their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.onnx.averages import logistic_mean, soften
from separatrix.onnx.graph import Value

__all__ = ["softmax_normal", "softmax_probit_rule"]


@dataclass(frozen=True, eq=False)
class _SoftMaxima:
    """ln Σ_j e^a_j over B sets of classes, as Gaussians.

    Mean and variance (N, B); ``weight`` (N, B, K) are the shares of the classes in each, and ``cov`` (N, B, K) its
    covariances with all activations.
    """

    mean: Value
    var: Value
    weight: Value
    cov: Value

    def take(self, which: Sequence[int]) -> _SoftMaxima:
        """Some of the sets."""
        return _SoftMaxima(*(each.columns(which) for each in (self.mean, self.var, self.weight, self.cov)))


def softmax_normal(mu: Value, Sigma: Value, n_classes: int) -> Value:
    """p (N, K) for a ~ N(mu, Sigma), (N, K) and (N, K, K)."""
    K, graph = n_classes, mu.graph
    falling, order = graph.ops("TopK", mu, np.array([K]), n_outputs=2, axis=1)
    pick = order.expand(2).equals(np.arange(K)).as_double()  # a permutation as a matrix of zeros and ones
    back = pick.turned(0, 2, 1)
    p = _probabilities(falling, pick @ Sigma @ back, K)
    return (back @ p.expand(2)).sum(2)


def _probabilities(mu: Value, Sigma: Value, K: int) -> Value:
    """Each class against the soft maximum of the others; as many steps one after the other as there are classes."""
    single = _SoftMaxima(mu, (Sigma * np.eye(K)).sum(2), 0.0 * Sigma + np.eye(K), Sigma)
    rest = _others(single, K)
    p = logistic_mean(mu - rest.mean, _difference_variance(single, rest))
    return p / p.sum(1, keep=True)


def _others(single: _SoftMaxima, K: int) -> _SoftMaxima:
    """For each class the soft maximum of all but it: of those before it and those after it."""
    ends = [single.take([0, K - 1])]  # the first few classes, and as many of the last
    for k in range(1, K - 1):
        ends.append(_merge(ends[-1], single.take([k, K - 1 - k])))
    if K == 2:
        return single.take([1, 0])
    before = _joined([ends[k - 1].take([0]) for k in range(1, K - 1)])
    after = _joined([ends[K - 2 - k].take([1]) for k in range(1, K - 1)])
    return _joined([ends[-1].take([1]), _merge(before, after), ends[-1].take([0])])


def _joined(parts: Sequence[_SoftMaxima]) -> _SoftMaxima:
    graph = parts[0].mean.graph
    columns = zip(*((each.mean, each.var, each.weight, each.cov) for each in parts), strict=True)
    return _SoftMaxima(*(graph.join(same) for same in columns))


def _merge(a: _SoftMaxima, b: _SoftMaxima) -> _SoftMaxima:
    """ln(e^a + e^b), from whichever of the two has the larger mean."""
    swap = b.mean > a.mean
    high, low = b.mean.where(swap, a.mean), a.mean.where(swap, b.mean)
    high_var = b.var.where(swap, a.var)
    shared = (a.weight * b.cov).sum(2)
    rho, rise, spread = soften(low - high, (a.var + b.var - 2.0 * shared).at_least(0.0))
    var = (high_var + 2.0 * rho * (shared - high_var) + spread).at_least(0.0)
    share = (1.0 - rho).where(swap, rho).expand(2)  # of b
    weight = (1.0 - share) * a.weight + share * b.weight
    return _SoftMaxima(high + rise, var, weight, (1.0 - share) * a.cov + share * b.cov)


def _difference_variance(a: _SoftMaxima, b: _SoftMaxima) -> Value:
    return (a.var + b.var - 2.0 * (a.weight * b.cov).sum(2)).at_least(0.0)


def softmax_probit_rule(mu: Value, Sigma: Value, n_classes: int) -> Value:
    """p_k ∝ e^(κ_k mu_k), κ_k = (1 + π var_k/8)^-½."""
    var = (Sigma * np.eye(n_classes)).sum(2)
    return (mu / (1.0 + np.pi / 8 * var).sqrt()).softmax()
