# SPDX-License-Identifier: BSD-3-Clause
"""Averages of the logistic and softmax functions over Gaussian activations, in closed form.

The Bayesian models compute these integrals with tables and loops, which are not available in ONNX graphs. Here the
logistic distribution is written as a scale mixture of normals (Andrews and Mallows 1974) with a few terms:

    σ(a) = Σ_i c_i Φ(a/τ_i),      Σ_i c_i = 1                                         (Monahan and Stefanski 1992)

The τ_i are a geometric sequence and the c_i a linear least-squares fit. Fourteen terms have an error of 1e-11. The
integral of σ, with the even function H_τ(a) = a (Φ(a/τ) - ½) + τ N(a/τ), is

    ln(1 + e^a) = a/2 + e(a),     e(a) = ln 2 cosh(a/2) = Σ_i c_i H_τi(a)
    e(a)² = a²/4 + h(a),          h(a) = Σ_i d_i H_τi(a),   Σ_i d_i = 0

For a ~ N(mu, var), the mean of Φ(a/τ) is Φ(mu/t) and the mean of H_τ(a) is H_t(mu), with t² = τ² + var. Therefore

    E[σ] = Σ c_i Φ(mu/t_i),    E[ln(1 + e^a)] = mu/2 + Σ c_i H_ti(mu)
    V[ln(1 + e^a)] = var/4 + var (E[σ] - ½) + V[e],     V[e] = (mu² + var)/4 + Σ d_i H_ti(mu) - (Σ c_i H_ti(mu))²

The variance uses Stein's lemma, C[a, e] = var E[e'].

`softmax_normal` follows the same steps as the Bayesian models. The probability of a class comes from a logistic model
of this class against the soft maximum ln Σ_j e^a_j of all other classes, which is computed by merging two at a time.
Classes are first sorted by their means, so that the result does not depend on their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from separatrix._array import Float
from separatrix.export.graph import Value

N_TERMS, MIN_TAU, MAX_TAU = 14, 0.55, 5.5
MAX_ACTIVATION = 40.0  # largest activation of the fit; σ(-a) is negligible beyond
ERFCX_DEGREE = 22
MAX_SCALED_MEAN = 24.0  # κ |mu| beyond which the variance of ln(1 + e^a) is negligible


@cache
def mixture() -> tuple[Float, Float, Float]:
    """Coefficients τ, c and d, each (14,), from two least-squares fits."""
    a = np.linspace(0.0, MAX_ACTIVATION, 2001)
    tau = np.geomspace(MIN_TAU, MAX_TAU, N_TERMS)
    softplus = np.log1p(np.exp(-a))  # e(a) - a/2
    z = a[:, None] / tau
    even = a[:, None] * (special.ndtr(z) - 0.5) + tau * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)  # H_τ(a)
    beyond = even - 0.5 * a[:, None]
    c = _fitted(special.ndtr(-a[:, None] / tau), special.expit(-a), total=1.0)
    return tau, c, _fitted(beyond, softplus * (a + softplus), total=0.0)


def _fitted(A: Float, b: Float, total: float) -> Float:
    """Solve A w = b by least squares, with Σ w = ``total`` as an additional row of large weight."""
    heavy = 1e3
    rows = np.vstack([A, np.full(A.shape[1], heavy)])
    return np.asarray(np.linalg.lstsq(rows, np.append(b, heavy * total), rcond=None)[0])


@cache
def _tail_polynomial() -> tuple[float, ...]:
    """erfcx(x)/t as a polynomial in u = 2t - 1, t = 2/(2 + x), interpolated at Chebyshev points."""
    u = chebyshev.chebpts1(ERFCX_DEGREE + 1)
    t = 0.5 * (u + 1.0)
    through = chebyshev.chebfit(u, special.erfcx(2.0 / t - 2.0) / t, ERFCX_DEGREE)
    return tuple(chebyshev.cheb2poly(through).tolist())


def normal_cdf(z: Value) -> Value:
    """Φ(z) in float64, because runtimes have the error function only in single precision.

    Φ(-|z|) = ½ e^(-z²/2) erfcx(|z|/√2), with a relative error of 1e-12 down to the smallest positive float.
    """
    size = z.abs()
    t = 2.0 / (2.0 + size * np.sqrt(0.5))
    u = 2.0 * t - 1.0
    *rest, leading = _tail_polynomial()
    total: Value = u * leading + rest[-1]
    for coefficient in reversed(rest[:-1]):
        total = total * u + coefficient
    tail: Value = 0.5 * (-0.5 * size.square()).exp() * t * total
    return (1.0 - tail).where(z > 0.0, tail)


def logistic_mean(mu: Value, var: Value) -> Value:
    """E[σ(a)] for a ~ N(mu, var); ``mu`` and ``var`` may have any shape."""
    tau, c, _ = mixture()
    t = (var.expand(-1) + tau**2).sqrt()
    return (normal_cdf(mu.expand(-1) / t) * c).sum(-1)


def softplus_normal(mu: Value, var: Value) -> tuple[Value, Value, Value]:
    """E[σ(a)], E[ln(1 + e^a)] and V[ln(1 + e^a)] for a ~ N(mu, var), mu <= 0."""
    tau, c, d = mixture()
    t = (var.expand(-1) + tau**2).sqrt()
    z = mu.expand(-1) / t
    Phi = normal_cdf(z)
    even = t * (z * (Phi - 0.5) + (-0.5 * z.square()).exp() / np.sqrt(2 * np.pi))  # H_t(mu)
    probability, mean_even = (Phi * c).sum(-1), (even * c).sum(-1)
    spread = 0.25 * (mu.square() + var) + (even * d).sum(-1) - mean_even.square()
    variance = (var * (probability - 0.25) + spread).at_least(0.0)
    shrunk = mu / (1.0 + np.pi / 8 * var).sqrt()
    return probability, 0.5 * mu + mean_even, variance.where(shrunk > -MAX_SCALED_MEAN, 0.0 * var)


class _SoftMaxima(NamedTuple):
    """Gaussian approximation of ln Σ_j e^a_j over B sets of classes.

    Mean and variance (N, B); ``weight`` (N, B, K) of each class in the set; ``cov`` (N, B, K) with each activation.
    """

    mean: Value
    var: Value
    weight: Value
    cov: Value

    def take(self, which: Sequence[int]) -> _SoftMaxima:
        return _SoftMaxima(*(each.columns(which) for each in self))


def softmax_normal(mu: Value, Sigma: Value, n_classes: int) -> Value:
    """Class probabilities (N, K) for activations a ~ N(mu, Sigma), with mu (N, K) and Sigma (N, K, K)."""
    K, graph = n_classes, mu.graph
    falling, order = graph.ops("TopK", mu, np.array([K]), n_outputs=2, axis=1)
    pick = order.expand(2).equals(np.arange(K)).as_double()  # permutation matrix
    back = pick.transposed(0, 2, 1)
    S = pick @ Sigma @ back
    single = _SoftMaxima(falling, (S * np.eye(K)).sum(2), 0.0 * S + np.eye(K), S)
    rest = _others(single, K)
    p = logistic_mean(falling - rest.mean, _difference_variance(single, rest))
    return (back @ (p / p.sum(1, keep=True)).expand(2)).sum(2)


def _others(single: _SoftMaxima, K: int) -> _SoftMaxima:
    """Soft maximum of all other classes for each class, merged from the classes before and after this class."""
    ends = [single.take([0, K - 1])]  # ends[k - 1] contains the first k classes and the last k classes
    for k in range(1, K - 1):
        ends.append(_merge(ends[-1], single.take([k, K - 1 - k])))
    if K == 2:
        return single.take([1, 0])
    before = _joined([ends[k - 1].take([0]) for k in range(1, K - 1)])
    after = _joined([ends[K - 2 - k].take([1]) for k in range(1, K - 1)])
    return _joined([ends[-1].take([1]), _merge(before, after), ends[-1].take([0])])


def _joined(parts: Sequence[_SoftMaxima]) -> _SoftMaxima:
    graph = parts[0].mean.graph
    return _SoftMaxima(*(graph.join(same) for same in zip(*parts, strict=True)))


def _merge(a: _SoftMaxima, b: _SoftMaxima) -> _SoftMaxima:
    """Gaussian approximation of ln(e^a + e^b) = max + ln(1 + e^(min - max)), ordered by the means."""
    swap = b.mean > a.mean
    high, low = b.mean.where(swap, a.mean), a.mean.where(swap, b.mean)
    high_var = b.var.where(swap, a.var)
    shared = (a.weight * b.cov).sum(2)
    rho, rise, spread = softplus_normal(low - high, _difference_variance(a, b))
    var = (high_var + 2.0 * rho * (shared - high_var) + spread).at_least(0.0)
    of_b = (1.0 - rho).where(swap, rho).expand(2)  # weight of b
    weight = (1.0 - of_b) * a.weight + of_b * b.weight
    return _SoftMaxima(high + rise, var, weight, (1.0 - of_b) * a.cov + of_b * b.cov)


def _difference_variance(a: _SoftMaxima, b: _SoftMaxima) -> Value:
    return (a.var + b.var - 2.0 * (a.weight * b.cov).sum(2)).at_least(0.0)


def softmax_probit_rule(mu: Value, Sigma: Value, n_classes: int) -> Value:
    """Class probabilities p_k ∝ 1 / Σ_j e^(-κ_kj (mu_k - mu_j)) with κ_kj = (1 + π V[a_k - a_j]/8)^-½."""
    var = (Sigma * np.eye(n_classes)).sum(2)
    spread = (var.expand(2) + var.expand(1) - 2.0 * Sigma).at_least(0.0)
    gap = (mu.expand(1) - mu.expand(2)) / (1.0 + np.pi / 8 * spread).sqrt()  # κ_kj (mu_j - mu_k)
    top = gap.max(2, keep=True)
    return (-(top.sum(2) + (gap - top).exp().sum(2).log())).softmax()
