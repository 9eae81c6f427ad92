# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of rows that live on a GPU: the sums of `objective` and `moments`, with torch.

Activations, slopes and curvatures are float64 and stay on the device; for float32 rows on CUDA the hot passes are the
kernels of `_triton` and `_triton_gram`, which read each row once. A likelihood that is not in the table below is
evaluated on the host, from activations that were computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from separatrix._array import Array, Float, to_host
from separatrix.likelihoods import Likelihood, Logit, Probit, Softmax
from separatrix.rows import CHUNK, Block, DeviceRows

if TYPE_CHECKING:
    from separatrix.stats.design import Design

__all__ = [
    "Pass",
    "class_sums",
    "class_weights",
    "curvature_gram",
    "extents",
    "mean_of_first",
    "objective_pass",
    "pooled_moments",
    "scatter",
    "scatter_of_class",
]

LARGE_CLASS = 1 / 3  # of the rows, from which to copy them takes longer than to read the others too
FAR = -1e4  # activations below which a probit's curvature is its limit, to rounding


class Pass(NamedTuple):
    """L, its gradient (C, P) and, where it was asked for, its Hessian (CP, CP): on the host."""

    value: float
    grad: Float
    hess: Float | None


def objective_pass(block: Block, theta: Float, likelihood: Likelihood, design: Design, *, hessian: str) -> Pass | None:
    """The objective on one block of rows that live on a device; None where only the host knows the likelihood.

    ``hessian`` is "none", "rough" for a preconditioner, or "full".
    """
    known = LIKELIHOODS.get(type(likelihood))
    if known is None:
        return None
    if known is _logit and _takes_kernels(block.X):
        return _fused(block, theta, design, hessian=hessian)
    rows, rest = design.rows(block.X)
    W, weight = theta[:, : len(rest)], rows.on(block.weight)
    a = (rows.tensor @ rows.like(W.T)).double() + rows.on((theta[:, -1] if design.bias else 0.0) - W @ rest)
    if block.offset is not None:
        a += rows.on(block.offset)[:, None]
    log_p, slope, curvature = known(a[:, 0] if len(theta) == 1 else a, rows.on(block.t))
    if weight is not None:
        log_p, slope = log_p * weight, slope * (weight if slope.ndim == 1 else weight[:, None])
    grad = _gradient(rows, rest, slope, design)
    if hessian == "none":
        return Pass(-float(log_p.sum()), grad, None)
    hess = _hessian(block.X, curvature, weight, design)
    return Pass(-float(log_p.sum()), grad, hess)


def _gradient(rows: DeviceRows, rest: Float, slope: Any, design: Design) -> Float:
    total = np.atleast_1d(to_host(slope.sum(dim=0)))
    grad = np.empty((len(total), design.width))
    grad[:, : len(rest)] = np.outer(total, rest) - to_host(rows.sums(slope))
    if design.bias:
        grad[:, -1] = -total
    return grad


def _hessian(rows: DeviceRows, curvature: Any, weight: Any, design: Design) -> Float:
    """As on the host: for K classes from the K (K - 1) / 2 products of two of them."""

    def of(each: Any) -> Float:
        w = each if weight is None else each * weight
        return design.without_constants(curvature_gram(rows, design.origin, design.bias, w))

    if curvature.ndim == 1:
        return of(curvature)
    K, P = curvature.shape[1], design.width
    H = np.zeros((K, P, K, P))
    for j in range(K):
        for k in range(j):
            pair = of(curvature[:, j] * curvature[:, k])
            H[j, :, k] = H[k, :, j] = -pair
            H[j, :, j] += pair
            H[k, :, k] += pair
    return H.reshape(K * P, K * P)


def _fused(block: Block, theta: Float, design: Design, *, hessian: str) -> Pass:
    """Logistic regression of float32 rows on CUDA. The host waits once for the sums, and once for a Hessian."""
    from separatrix.stats._triton import logit_pass
    from separatrix.stats._triton_gram import split_gram

    rows: DeviceRows = block.X
    M = len(design.origin)
    t, weight, offset = (rows.on(array) for array in (block.t, block.weight, block.offset))
    rest = np.zeros(M) if design.subtract else design.origin
    bias = (float(theta[0, M]) if design.bias else 0.0) - float(theta[0, :M] @ rest)
    origin = rows.like(design.origin) if design.subtract or hessian != "none" else None
    start, w = origin if design.subtract else None, rows.like(theta[0, :M])
    sums, bend = logit_pass(rows.tensor, w, start, t, weight, offset, bias, with_curvature=hessian != "none")
    product = None if hessian == "none" else split_gram(rows.tensor, origin, bend, CHUNK, rough=hessian == "rough")
    found = to_host(sums)
    (value, slope, total), slopes, bends = found[:3], found[3 : 3 + M], found[3 + M :]
    grad = -np.append(slopes - slope * rest, slope)[None, : design.width]
    if product is None:
        return Pass(-float(value), grad, None)
    H = np.full((design.width, design.width), total)
    H[:M, :M] = to_host(product)
    if design.bias:
        H[:M, M] = H[M, :M] = bends - total * rest
    return Pass(-float(value), grad, design.without_constants(H))


def _logit(a: Any, t: Any) -> tuple[Any, Any, Any]:
    import torch

    e = torch.exp(-a.abs())
    low = e / (1.0 + e)
    miss = (a >= 0).double() - t
    return -miss * a - torch.log1p(e), torch.where(a >= 0, low, -low) - miss, low * (1.0 - low)


def _probit(a: Any, t: Any) -> tuple[Any, Any, Any]:
    import torch

    t = t.double()
    up, down = _normal(a), _normal(-a)
    log_p = t * up[0] + (1.0 - t) * down[0]
    slope = t * up[1] - (1.0 - t) * down[1]
    return log_p, slope, torch.where(t > 0, t * up[2], 0.0) + torch.where(t < 1, (1.0 - t) * down[2], 0.0)


def _normal(m: Any) -> tuple[Any, Any, Any]:
    """ln Φ(m), r = N(m)/Φ(m) and r (m + r)."""
    import torch

    log_p = torch.special.log_ndtr(m)
    # Φ(m) = N(m) √(π/2) erfcx(-m/√2), which neither underflows nor, below zero, overflows.
    below = np.sqrt(2.0 / np.pi) / torch.special.erfcx(-m.clamp(max=0.0) / np.sqrt(2.0))
    r = torch.where(m < 0, below, torch.exp(-0.5 * m * m - log_p) / np.sqrt(2.0 * np.pi))
    return log_p, r, torch.where(m < FAR, 1.0 - 1.0 / (m * m), r * (m + r))


def _softmax(A: Any, t: Any) -> tuple[Any, Any, Any]:
    import torch

    log_P = torch.log_softmax(A, dim=1)
    P = log_P.exp()
    T = torch.nn.functional.one_hot(t, A.shape[1]).double() if t.ndim == 1 else t.double()
    return (T * log_P).sum(dim=1), T - P, P


LIKELIHOODS: dict[type, Callable[[Any, Any], tuple[Any, Any, Any]]] = {
    Logit: _logit,
    Probit: _probit,
    Softmax: _softmax,
}


def gram(rows: DeviceRows, origin: Float, weight: Any) -> Any:
    """Σ weight (x - origin)(x - origin)' on the device, (M, M), float64; weights of any sign, None for one each."""
    if _takes_kernels(rows) and (weight is None or bool((weight >= 0).all())):
        from separatrix.stats._triton_gram import split_gram

        return split_gram(rows.tensor, rows.like(origin), weight, CHUNK)
    Z = rows.tensor - rows.like(origin)
    return _chunked(Z, Z if weight is None else Z * weight.to(Z.dtype)[:, None])


def curvature_gram(rows: DeviceRows, origin: Float, bias: bool, weight: Any) -> Float:
    """Σ weight φ̃ φ̃' with φ̃ = (x - origin, 1), on the host."""
    M, total = len(origin), float(weight.double().sum())
    H = np.full((M + bias, M + bias), total)
    H[:M, :M] = to_host(gram(rows, origin, weight))
    if bias:
        H[:M, M] = H[M, :M] = to_host(rows.sums(weight) - total * rows.on(origin))
    return H


def class_weights(rows: DeviceRows, codes: Array, weight: Array | None, n_classes: int) -> Float:
    """Σ of weights, or of ones, for each class (K,)."""
    import torch

    t, share = rows.on(codes), rows.on(weight)
    own = (t == k for k in range(n_classes))  # counting into bins makes every row wait for its class
    sums = [(each if share is None else each * share.double()).sum() for each in own]
    return np.asarray(to_host(torch.stack(sums).double()))


def mean_of_first(rows: DeviceRows, n: int) -> Array:
    """The mean of the first ``n`` rows (M,), in their own precision."""
    return np.asarray(to_host(rows.tensor[:n].mean(dim=0)))


def class_sums(rows: DeviceRows, centre: Float, codes: Array, weight: Array | None, *, squared: bool = False) -> Float:
    """Σ weight (x - c_k) over the rows of each class, or of its squares; (K, M)."""
    t, share = rows.on(codes), rows.on(weight)
    if _takes_kernels(rows, len(centre)):
        from separatrix.stats import _triton

        return np.asarray(to_host(_triton.class_sums(rows.tensor, rows.like(centre), t, share, squared=squared)))
    import torch

    Z = rows.tensor - rows.like(centre)[t]
    T = torch.nn.functional.one_hot(t, len(centre)).double()
    T = T if share is None else T * share[:, None]
    return np.asarray(to_host(DeviceRows(Z * Z if squared else Z).sums(T)))


def pooled_moments(rows: DeviceRows, origin: Float, codes: Array, n_classes: int) -> tuple[Float, Float] | None:
    """Σ (x - origin) for each class (K, M) and Σ (x - origin)(x - origin)' (M, M); None without kernels for it."""
    if not _takes_kernels(rows):
        return None
    from separatrix.stats._triton_gram import MOST_MOMENTS, split_moments

    if n_classes > MOST_MOMENTS:
        return None
    sums, product = split_moments(rows.tensor, rows.like(origin), rows.on(codes), n_classes, CHUNK)
    return np.asarray(to_host(sums)), np.asarray(to_host(product))


def scatter(rows: DeviceRows, origin: Float, weight: Array | None) -> Float:
    """Σ weight (x - origin)(x - origin)', on the host."""
    return np.asarray(to_host(gram(rows, origin, rows.on(weight))))


def scatter_of_class(rows: DeviceRows, mean: Float, codes: Array, weight: Array | None, k: int) -> Float:
    """The same of the rows of one class: a copy of them, or where they are many, all rows with weights of 0 and 1."""
    own, share = rows.on(codes) == k, rows.on(weight)
    if _takes_kernels(rows) and int(own.sum()) > LARGE_CLASS * len(rows):
        return np.asarray(to_host(gram(rows, mean, own.float() if share is None else own * share)))
    part = DeviceRows(rows.tensor[own])
    return np.asarray(to_host(gram(part, mean, None if share is None else share[own])))


def extents(rows: DeviceRows) -> tuple[Float, Float, float]:
    """The smallest and largest value of each column, and the length of the longest row."""
    if _takes_kernels(rows):
        from separatrix.stats._triton import extent_pass

        low, high, squared = extent_pass(rows.tensor)
        return to_host(low.double()), to_host(high.double()), float(squared) ** 0.5
    low, high = rows.tensor.aminmax(dim=0)
    return to_host(low.double()), to_host(high.double()), float(rows.tensor.norm(dim=1).max())


def _chunked(Z: Any, Y: Any) -> Any:
    """Z'Y, summed in float64 over chunks of rows."""
    whole = len(Z) - len(Z) % CHUNK
    total = Z[whole:].double().T @ Y[whole:].double()
    if whole:
        M = Z.shape[1]
        products = Z[:whole].view(-1, CHUNK, M).transpose(1, 2) @ Y[:whole].view(-1, CHUNK, M)
        total = total + products.double().sum(dim=0)
    return total


@cache
def _has_triton() -> bool:
    """Triton comes with torch where there is CUDA, but for some platforms."""
    return find_spec("triton") is not None


def _takes_kernels(rows: DeviceRows, n_classes: int = 1) -> bool:
    if rows.tensor.device.type != "cuda" or rows.dtype != np.float32 or not rows.tensor.is_contiguous():
        return False
    if not _has_triton():
        return False
    from separatrix.stats._triton import MOST_CLASSES, MOST_COLUMNS
    from separatrix.stats._triton_gram import TILINGS, generation

    # Triton 3.6 fails to compile products for the generations that are not in the table.
    return 0 < rows.shape[1] <= MOST_COLUMNS and n_classes <= MOST_CLASSES and generation(rows.tensor) in TILINGS
