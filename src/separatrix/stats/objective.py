# SPDX-License-Identifier: BSD-3-Clause
"""The negative log likelihood of a linear model as a sum over rows: value, gradient, Hessian.

    a_n = W (x_n - c) + b,       L(θ) = -Σ_n weight_n ln p(t_n | a_n),       θ = (W, b), one row for each output

    value_grad           L and ∂L/∂θ = -Σ slope_n φ̃_n'                                  φ̃ = (x - c, 1)
    value_grad_hess      and ∂²L/∂θ∂θ' = Σ curvature_n ⊗ φ̃_n φ̃_n'                       PRML (4.97), (4.110)

Each is a pure function from a block to a record that adds. Rows on a GPU take `_device_objective`, or `_logit_kernel`
for logistic regression of float32 rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._array import Array, Float, device_aware, to_host
from separatrix.likelihoods import Covariances, Likelihood, Logit
from separatrix.rows import CHUNK_ROWS, Block, DeviceRows
from separatrix.stats.design import Design
from separatrix.stats.device import DERIVATIVES, gram_with_bias, has_kernels

MAX_SPREAD_NUMBERS = 2_000_000  # held at once for the spread of the activations of several outputs


@dataclass(frozen=True, slots=True)
class Grad:
    """A sum over rows that is one array: of the shape of θ, or a matrix for each class."""

    grad: Float

    def __add__(self, other: Grad) -> Grad:
        return Grad(self.grad + other.grad)


@dataclass(frozen=True, slots=True)
class ValueGrad:
    """L and its gradient (C, P)."""

    value: float
    grad: Float

    def __add__(self, other: ValueGrad) -> ValueGrad:
        return ValueGrad(self.value + other.value, self.grad + other.grad)


@dataclass(frozen=True, slots=True)
class ValueGradHess:
    """L, its gradient (C, P) and its Hessian (CP, CP)."""

    value: float
    grad: Float
    hess: Float

    def __add__(self, other: ValueGradHess) -> ValueGradHess:
        return ValueGradHess(self.value + other.value, self.grad + other.grad, self.hess + other.hess)


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest of some numbers; ``+`` is the larger of two."""

    value: float

    def __add__(self, other: Largest) -> Largest:
        return Largest(max(self.value, other.value))


@device_aware
def value_grad(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> ValueGrad:
    """L and its gradient on one block."""
    if isinstance(block.X, DeviceRows) and type(likelihood) in DERIVATIVES:
        return ValueGrad(*_device_objective(block, theta, likelihood, design, hessian="none")[:2])
    log_p, slope, _ = likelihood.derivatives(design.activate(block, theta), block.targets)
    weight = block.weight
    value = log_p.sum() if weight is None else log_p @ weight
    return ValueGrad(-float(value), -design.collect(block, _weighted(slope, weight)))


@device_aware
def value_grad_hess(
    block: Block, theta: Float, likelihood: Likelihood, design: Design, *, exact: bool = True, single: bool = False
) -> ValueGradHess:
    """L, gradient and Hessian on one block.

    Without ``exact``, a curvature that is never negative. With ``single``, the Hessian is computed in single precision.
    """
    if isinstance(block.X, DeviceRows) and type(likelihood) in DERIVATIVES:
        precision = "rough" if single else "full"
        return ValueGradHess(*_device_objective(block, theta, likelihood, design, hessian=precision))
    a, t, weight = design.activate(block, theta), block.targets, block.weight
    log_p, slope, curvature = likelihood.derivatives(a, t)
    if not (exact or likelihood.is_log_concave):
        curvature = likelihood.safe_curvature(a, t)
    if isinstance(curvature, Covariances):
        hess = _hessian_of_pairs(
            lambda j, k: design.gram(block, -_weighted(curvature.block(j, k), weight), single=single),
            len(theta),
            design.width,
        )
    else:
        hess = design.gram(block, _weighted(curvature, weight), single=single)
    value = log_p.sum() if weight is None else log_p @ weight
    return ValueGradHess(-float(value), -design.collect(block, _weighted(slope, weight)), hess)


@device_aware
def largest_share(block: Block, theta: Float, V: Float, likelihood: Likelihood, design: Design) -> Largest:
    """Largest relative change of a row's slope, to first order, when θ moves by V.

    For K classes a bound: the slopes are probabilities, and the change is at most the range of V φ̃ over the classes.
    """
    rows = block if block.weight is None else block.take(block.weight > 0)
    A = design.activate(replace(rows, offset=None), V)
    if A.ndim == 2:
        return Largest(float(np.ptp(A, axis=1).max(initial=0.0)))
    _, slope, curvature = likelihood.derivatives(design.activate(rows, theta), rows.targets)
    change, slope = np.abs(curvature * A), np.abs(slope)
    share = np.divide(change, slope, out=np.where(change > 0, np.inf, 0.0), where=slope > 0)
    return Largest(float(share.max(initial=0.0)))


@device_aware
def least_lead(block: Block, theta: Float, design: Design) -> Largest:
    """Minus the smallest lead of a row's class over the best other class; negative if all rows are correct."""
    rows = block if block.weight is None else block.take(block.weight > 0)
    A = design.activate(rows, theta)
    if A.ndim == 1:
        return Largest(float(np.where(rows.codes > 0, -A, A).max(initial=-np.inf)))
    own = np.take_along_axis(A, rows.codes[:, None], axis=1)[:, 0]
    np.put_along_axis(A, rows.codes[:, None], -np.inf, axis=1)
    return Largest(float((A.max(axis=1) - own).max(initial=-np.inf)))


@device_aware
def log_det_slope(block: Block, theta: Float, root: Float, likelihood: Any, design: Design) -> Grad:
    """∂ ln |A|/∂θ of the Hessian A of -ln p, (C, P), on one block; ``root`` is R with A⁻¹ = R R'.

    Σ_n weight_n ∂ tr(V_n C_n)/∂a ⊗ φ̃_n, with V_n = cov a_n under A⁻¹ and C_n = -∂² ln p/∂a∂a': one row is a third
    derivative of ln p times a variance.
    """
    a, t, C = design.activate(block, theta), block.targets, len(theta)
    if C == 1:
        change = likelihood.skew(a, t) * design.row_variance(block.X, root)
        return Grad(design.collect(block, _weighted(change, block.weight)))
    P, change = design.width, np.empty_like(a)
    step = max(1, MAX_SPREAD_NUMBERS // (C * len(root)))
    for start in range(0, len(a), step):
        rows = slice(start, start + step)
        Phi = design.regressors(block.X[rows])
        spread = np.zeros((len(Phi), C, len(root)))
        for k in range(C):  # R is upper triangular: class k does not depend on the columns of the classes before it
            spread[:, k, k * P :] = Phi @ root[k * P : (k + 1) * P, k * P :]
        V = np.matmul(spread, spread.transpose(0, 2, 1))
        curvature = likelihood.derivatives(a[rows], t[rows]).curvature
        change[rows] = _categorical_change(curvature.p, V)
        if curvature.q is not None:
            change[rows] -= _categorical_change(curvature.q, V)
    return Grad(design.collect(block, _weighted(change, block.weight)))


def _categorical_change(p: Array, V: Float) -> Float:
    """∂/∂a of tr V (diag p - p p') with ∂p/∂a = diag p - p p': for h = diag V - 2 V p, it is p (h - p'h)."""
    h = np.diagonal(V, axis1=1, axis2=2) - 2 * np.matmul(V, p[:, :, None])[:, :, 0]
    return np.asarray(p * (h - np.einsum("nk,nk->n", p, h)[:, None]))


def _weighted(values: Any, weight: Any) -> Any:
    """Values (n,) or (n, C) times the weight of each row."""
    if weight is None:
        return values
    return values * (weight if values.ndim == 1 else weight[:, None])


def _hessian_of_pairs(pair: Callable[[int, int], Float], K: int, P: int) -> Float:
    """Hessian (KP, KP) of the softmax from Σ p_j p_k φ̃ φ̃' (P, P) for each pair of classes j > k.

    A function added to all activations changes nothing, so each row of blocks sums to zero.
    """
    H = np.zeros((K, P, K, P))
    for j in range(K):
        for k in range(j):
            product = pair(j, k)
            H[j, :, k] = H[k, :, j] = -product
            H[j, :, j] += product
            H[k, :, k] += product
    return H.reshape(K * P, K * P)


def _device_objective(
    block: Block, theta: Float, likelihood: Likelihood, design: Design, *, hessian: str
) -> tuple[float, Float, Any]:
    """L, gradient and Hessian of rows on a device; ``hessian`` is "none", "rough" for a preconditioner, or "full"."""
    if type(likelihood) is Logit and has_kernels(block.X):
        return _logit_kernel(block, theta, design, hessian=hessian)
    rows, rest = design.shifted(block.X)
    M, weight = len(rest), rows.on(block.weight)
    W = theta[:, :M]
    a = (rows.tensor @ rows.like(W.T)).double() + rows.on((theta[:, -1] if design.bias else 0.0) - W @ rest)
    if block.offset is not None:
        a += rows.on(block.offset)[:, None]
    log_p, slope, curvature = DERIVATIVES[type(likelihood)](a[:, 0] if len(theta) == 1 else a, rows.on(block.t))
    value = -float(_weighted(log_p, weight).sum())
    slope = _weighted(slope, weight)
    total = np.atleast_1d(to_host(slope.sum(dim=0)))
    grad = np.empty((len(total), design.width))
    grad[:, :M] = np.outer(total, rest) - to_host(rows.sums(slope))
    if design.bias:
        grad[:, -1] = -total
    if hessian == "none":
        return value, grad, None

    def gram(curvature: Array) -> Float:
        product = gram_with_bias(block.X, design.origin, design.bias, _weighted(curvature, weight))
        return design.without_constants(product)

    if curvature.ndim == 1:
        return value, grad, gram(curvature)
    hess = _hessian_of_pairs(lambda j, k: gram(curvature[:, j] * curvature[:, k]), len(theta), design.width)
    return value, grad, hess


def _logit_kernel(block: Block, theta: Float, design: Design, *, hessian: str) -> tuple[float, Float, Any]:
    """Logistic regression of float32 rows on CUDA. The host waits once for the sums, and once for the Hessian."""
    from separatrix.stats._triton import logit_pass, split_gram

    rows, M, with_hessian = block.X, len(design.origin), hessian != "none"
    rest = np.zeros(M) if design.subtract else design.origin
    bias = (float(theta[0, M]) if design.bias else 0.0) - float(theta[0, :M] @ rest)
    origin = rows.like(design.origin) if design.subtract or with_hessian else None
    targets = tuple(rows.on(array) for array in (block.t, block.weight, block.offset))
    start = origin if design.subtract else None
    sums, curvature = logit_pass(
        rows.tensor, rows.like(theta[0, :M]), start, bias, targets, with_curvature=with_hessian
    )
    product = split_gram(rows.tensor, origin, curvature, CHUNK_ROWS, rough=hessian == "rough") if with_hessian else None
    found = to_host(sums)
    (value, slope, total), slopes, curvatures = found[:3], found[3 : 3 + M], found[3 + M :]
    grad = -np.append(slopes - slope * rest, slope)[None, : design.width]
    if product is None:
        return -float(value), grad, None
    H = np.full((design.width, design.width), total)
    H[:M, :M] = to_host(product)
    if design.bias:
        H[:M, M] = H[M, :M] = curvatures - total * rest
    return -float(value), grad, design.without_constants(H)
