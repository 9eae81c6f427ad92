# SPDX-License-Identifier: BSD-3-Clause
"""The log kernel of the Dirichlet family, its maximum, and its integral over α.

    k(α) = Σ_j α_j χ_j - Σ_j lnΓ(α_j) + lnΓ(s),        s = Σ_j α_j,   χ_j = ln m_j - g_j

is the log likelihood of one observation with mean logs χ. It is kept as m (positive, sums to one) and the
gaps g, because with p = α/s the large parts then cancel on paper:

    k(α) = -s KL(p ‖ m) - Σ_j α_j g_j + ½ Σ_j ln α_j - ½ ln s - ½(C-1) ln 2π - Σ_j δ(α_j) + δ(s)

The conjugate prior exp(ν k(α)) has no normaliser in closed form. In the coordinates θ = ln α, where it is
one smooth hump with tails e^{(ν+1)θ}, two components are integrated by the trapezoidal rule on a sinh-spaced
grid (error below 1e-8); with more, Laplace's approximation is used (relative error O(1/ν)).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from separatrix._array import Float
from separatrix._special import (
    LOG_SQRT_2PI,
    divergence,
    log_minus_digamma,
    root_of_decreasing,
    stirling_error,
    trigamma_excess,
)

__all__ = [
    "by_laplace",
    "by_quadrature",
    "centre",
    "log_kernel",
    "log_partition",
    "maximum",
    "mode_of_log",
    "sinh_grid",
    "slack",
]

CHUNK = 128  # normalisers integrated together: a few ten MB of grid


def log_kernel(alpha: Float, m: Float, g: Float) -> Float:
    """k(α), summed over the last axis."""
    s = alpha.sum(axis=-1)
    fit = s * divergence(alpha / s[..., None], m).sum(axis=-1) + (alpha * g).sum(axis=-1)
    spread = 0.5 * (np.log(alpha).sum(axis=-1) - np.log(s)) - (alpha.shape[-1] - 1) * LOG_SQRT_2PI
    return np.asarray(spread - fit - stirling_error(alpha).sum(axis=-1) + stirling_error(s))


def centre(chi: Float) -> tuple[Float, Float]:
    """m and g with ln m - g = χ, and Σ m = 1."""
    m = special.softmax(np.maximum(chi, chi.max(axis=-1, keepdims=True) - 600), axis=-1)
    return m, np.log(m) - chi


def slack(m: Float, g: Float) -> Float:
    """-ln Σ_j e^χ_j: positive where χ can be the mean of logs of a vector that varies."""
    missing = np.minimum(-(m * np.expm1(-g)).sum(axis=-1), 0.5)  # 1 - Σ e^χ, where that is small
    far = -special.logsumexp(np.log(m) - g, axis=-1)
    return np.asarray(np.where(missing < 0.5, -np.log1p(-missing), far))


def maximum(m: Float, g: Float) -> Float:
    """The α with ψ(α_j) - ψ(s) = χ_j for all j; `slack` must be positive.

    With α_j = s m_j e^ρ_j the equations are ρ_j = F(α_j) - F(s) - g_j and Σ m_j (e^ρ_j - 1) = 0, both free of
    cancellation. For given s each ρ_j is one root; the sum then decreases in s and has one root itself.
    """

    def excess(t: Float) -> tuple[Float, Float]:
        s = np.exp(t)
        rho = _shares(s, m, g)
        w = trigamma_excess(s[..., None] * m * np.exp(rho))
        slope = -(m * np.exp(rho) * (w - trigamma_excess(s)[..., None]) / (1 + w)).sum(axis=-1)
        return (m * np.expm1(rho)).sum(axis=-1), slope

    start = 0.5 * (m.shape[-1] - 1) / slack(m, g)
    s = np.exp(root_of_decreasing(excess, np.log(start)))
    return np.asarray(s[..., None] * m * np.exp(_shares(s, m, g)))


def _shares(s: Float, m: Float, g: Float) -> Float:
    """ρ_j = ln(α_j / s m_j) for given s."""
    s = s[..., None]
    y = np.log(s * m) - log_minus_digamma(s) - g  # = ψ(α_j); start as Minka (2000) inverts ψ
    log_alpha = np.where(y > -2.22, np.logaddexp(y, -np.log(2)), -np.log(np.maximum(-y - np.euler_gamma, 1e-2)))

    def excess(rho: Float) -> tuple[Float, Float]:
        alpha = s * m * np.exp(rho)
        value = log_minus_digamma(alpha) - log_minus_digamma(s) - g - rho
        return value, -1.0 - trigamma_excess(alpha)

    return root_of_decreasing(excess, log_alpha - np.log(s * m))


def mode_of_log(nu: Float, m: Float, g: Float) -> tuple[Float, Float]:
    """The mode over θ = ln α of ν k(α) + Σθ, and minus the Hessian there. Newton's method from `maximum`."""
    theta = np.log(maximum(m, g))
    n = nu[..., None]
    for _ in range(50):
        alpha = np.exp(theta)
        s = alpha.sum(axis=-1, keepdims=True)
        rho = np.log(alpha / (s * m))
        gradient = 1.0 + n * alpha * (log_minus_digamma(alpha) - log_minus_digamma(s) - g - rho)
        precision = _precision(n, alpha, s)
        step = np.linalg.solve(precision, gradient[..., None])[..., 0]
        step *= np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(axis=-1, keepdims=True), 2.0))
        theta = theta + step
        if np.all(np.abs(step) < 1e-7):  # it only places a grid
            break
    return theta, precision


def _precision(n: Float, alpha: Float, s: Float) -> Float:
    """ν (diag α²ψ'(α) - ψ'(s) αα') + I; at the mode this is minus the Hessian in θ."""
    diagonal = n * alpha * (1 + trigamma_excess(alpha)) + 1.0
    outer = alpha[..., :, None] * alpha[..., None, :] * ((1 + trigamma_excess(s)) / s)[..., None]
    return np.asarray(np.eye(alpha.shape[-1]) * diagonal[..., None] - n[..., None] * outer)


def log_partition(nu: Float, m: Float, g: Float) -> Float:
    """ln ∫ exp(ν k(α)) dα: by quadrature for two components, by Laplace's method for more."""
    C = m.shape[-1]
    flat = nu.reshape(-1), m.reshape(-1, C), g.reshape(-1, C)
    method = by_quadrature if C == 2 else by_laplace
    parts = [method(*(a[i : i + CHUNK] for a in flat)) for i in range(0, nu.size, CHUNK)]
    return np.concatenate([np.zeros(0), *parts]).reshape(nu.shape)


def by_laplace(nu: Float, m: Float, g: Float) -> Float:
    """`log_partition` of a batch (B,), (B, C), (B, C): the hump taken for a normal density in ln α."""
    theta, precision = mode_of_log(nu, m, g)
    peak = nu * log_kernel(np.exp(theta), m, g) + theta.sum(axis=-1)
    return np.asarray(peak + theta.shape[-1] * LOG_SQRT_2PI - 0.5 * np.asarray(np.linalg.slogdet(precision)[1]))


def by_quadrature(nu: Float, m: Float, g: Float) -> Float:
    """`log_partition` of a batch (B,), (B, 2), (B, 2) on a grid in the hump's own coordinates."""
    theta, precision = mode_of_log(nu, m, g)
    L = np.linalg.cholesky(np.linalg.inv(precision))
    z, log_weight = sinh_grid(nu)
    nodes = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
    weight = (log_weight[:, None] + log_weight).ravel()
    at = np.clip(theta[:, None, :] + np.einsum("bij,vj->bvi", L, nodes), -700.0, 700.0)
    value = log_kernel(np.exp(at), m[:, None, :], g[:, None, :]) * nu[:, None] + at.sum(axis=-1)
    scale = np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(axis=-1)
    return np.asarray(special.logsumexp(value + weight, axis=-1) + scale)


def sinh_grid(nu: Float) -> tuple[Float, Float]:
    """Nodes sinh v and log weights of the trapezoidal rule for one hump with exponential tails.

    A hump made by many observations is nearly normal and needs less of a grid.
    """
    reach, steps = (5.5, 40) if nu.min(initial=np.inf) < 20 else (4.25, 25)
    v = np.linspace(-reach, reach, 2 * steps + 1)
    return np.sinh(v), np.log(np.cosh(v) * (v[1] - v[0]))
