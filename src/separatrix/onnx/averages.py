# SPDX-License-Identifier: BSD-3-Clause
"""Logistic functions averaged over a Gaussian, in closed form: a mixture of probits stands for the sigmoid.

ONNX has neither tables nor loops worth having, so the integrals of `bayesian.logistic_normal` take another form here.
The logistic distribution is a scale mixture of normals (Andrews and Mallows 1974), and few of them do:

    σ(a) = Σ_i c_i Φ(a/τ_i),      Σ_i c_i = 1                                         (Monahan and Stefanski 1992)

With τ on a geometric ladder the c_i are a linear least squares fit; fourteen terms leave 1e-11. Integrated once, with
H_τ(a) = a (Φ(a/τ) - ½) + τ N(a/τ), an even function,

    ln(1 + e^a) = a/2 + e(a),     e(a) = ln 2 cosh(a/2) = Σ_i c_i H_τi(a)
    e(a)² = a²/4 + h(a),          h(a) = Σ_i d_i H_τi(a),   Σ_i d_i = 0

and for a ~ N(mu, var) each term keeps its form, Φ(a/τ) and H_τ(a) become Φ(mu/t) and H_t(mu) with t² = τ² + var. So

    E[σ] = Σ c_i Φ(mu/t_i),    E[ln(1 + e^a)] = mu/2 + Σ c_i H_ti(mu)
    V[ln(1 + e^a)] = var/4 + var (E[σ] - ½) + V[e],     V[e] = (mu² + var)/4 + Σ d_i H_ti(mu) - (Σ c_i H_ti(mu))²

by Stein's lemma, C[a, e] = var E[e'].
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from separatrix._array import Float
from separatrix.onnx.graph import Value

__all__ = ["Mixture", "Softened", "logistic_mean", "mixture", "normal_cdf", "soften"]

TERMS, NARROWEST, WIDEST = 14, 0.55, 5.5
REACH = 40.0  # from where on σ(-a) is nothing
TAIL_DEGREE = 22
NEGLIGIBLE = 24.0  # κ |mu| beyond which ln(1 + e^a) has no variance to speak of


class Mixture(NamedTuple):
    """τ, c and d (14,)."""

    widths: Float
    sigmoid: Float
    square: Float


@cache
def mixture() -> Mixture:
    """The three sets of numbers, from two least squares fits."""
    a = np.linspace(0.0, REACH, 2001)
    tau = np.geomspace(NARROWEST, WIDEST, TERMS)
    softplus = np.log1p(np.exp(-a))  # e(a) - a/2
    beyond = _even(a[:, None], tau) - 0.5 * a[:, None]
    return Mixture(
        tau,
        _fitted(special.ndtr(-a[:, None] / tau), special.expit(-a), total=1.0),
        _fitted(beyond, softplus * (a + softplus), total=0.0),
    )


def _even(a: Float, tau: Float) -> Float:
    """H_τ(a)."""
    z = a / tau
    return np.asarray(a * (special.ndtr(z) - 0.5) + tau * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))


def _fitted(A: Float, b: Float, total: float) -> Float:
    """Weights of the columns of A, with a given sum."""
    heavy = 1e3
    rows = np.vstack([A, np.full(A.shape[1], heavy)])
    return np.asarray(np.linalg.lstsq(rows, np.append(b, heavy * total), rcond=None)[0])


@cache
def _tail_polynomial() -> tuple[float, ...]:
    """erfcx(x)/t as a polynomial in u = 2t - 1, t = 2/(2 + x), through Chebyshev's points."""
    u = chebyshev.chebpts1(TAIL_DEGREE + 1)
    t = 0.5 * (u + 1.0)
    through = chebyshev.chebfit(u, special.erfcx(2.0 / t - 2.0) / t, TAIL_DEGREE)
    return tuple(chebyshev.cheb2poly(through).tolist())


def normal_cdf(z: Value) -> Value:
    """Φ(z) in float64: runtimes have the error function in single precision alone.

    Φ(-|z|) = ½ e^(-z²/2) erfcx(|z|/√2), with a relative error of 1e-12 as far as floating point goes.
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
    """E[σ(a)] for a ~ N(mu, var), of any shape."""
    tau, c, _ = mixture()
    t = (var.expand(-1) + tau**2).sqrt()
    return (normal_cdf(mu.expand(-1) / t) * c).sum(-1)


class Softened(NamedTuple):
    """E[σ(d)], E[ln(1 + e^d)] and V[ln(1 + e^d)]."""

    probability: Value
    mean: Value
    variance: Value


def soften(mu: Value, var: Value) -> Softened:
    """What max(d, 0) becomes when it is smooth and d ~ N(mu, var), mu <= 0; as `bayesian.logistic_normal.soften`."""
    tau, c, d = mixture()
    t = (var.expand(-1) + tau**2).sqrt()
    z = mu.expand(-1) / t
    Phi = normal_cdf(z)
    even = t * (z * (Phi - 0.5) + (-0.5 * z.square()).exp() / np.sqrt(2 * np.pi))  # H_t(mu)
    probability, mean_even = (Phi * c).sum(-1), (even * c).sum(-1)
    spread = 0.25 * (mu.square() + var) + (even * d).sum(-1) - mean_even.square()
    variance = (var * (probability - 0.25) + spread).at_least(0.0)
    shrunk = mu / (1.0 + np.pi / 8 * var).sqrt()
    zero = 0.0 * var
    return Softened(probability, 0.5 * mu + mean_even, variance.where(shrunk > -NEGLIGIBLE, zero))
