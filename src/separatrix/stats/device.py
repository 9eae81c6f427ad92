# SPDX-License-Identifier: BSD-3-Clause
"""Sums over rows in GPU memory, computed with torch.

Each statistic has one function here. For float32 rows on CUDA it calls the Triton kernel in `_triton`, which reads each
row once; otherwise it uses torch. `DERIVATIVES` lists the likelihoods whose derivatives torch computes on the device;
all other likelihoods are evaluated on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from separatrix._array import Array, Float, to_host
from separatrix.likelihoods import Logit, Probit, Softmax
from separatrix.rows import CHUNK_ROWS, DeviceRows

HAS_TRITON = find_spec("triton") is not None  # on some platforms torch has CUDA but not Triton
PROBIT_LIMIT = -1e4  # below this activation, the probit's curvature is 1 - 1/m² up to rounding


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
    return log_p, r, torch.where(m < PROBIT_LIMIT, 1.0 - 1.0 / (m * m), r * (m + r))


def _softmax(A: Any, t: Any) -> tuple[Any, Any, Any]:
    import torch

    log_P = torch.log_softmax(A, dim=1)
    P = log_P.exp()
    T = torch.nn.functional.one_hot(t, A.shape[1]).double() if t.ndim == 1 else t.double()
    return (T * log_P).sum(dim=1), T - P, P


def _logit_skew(a: Any) -> Any:
    import torch

    return -torch.sigmoid(a) * torch.sigmoid(-a) * torch.tanh(0.5 * a)


#: Functions of a that return -∂³ ln p/∂a³, of likelihoods for which it does not depend on the target.
SKEWS: dict[type, Callable[[Any], Any]] = {Logit: _logit_skew}

#: Functions of (a, t) that return ln p(t | a), its slope and its curvature; for softmax, p instead of the curvature.
DERIVATIVES: dict[type, Callable[[Any, Any], tuple[Any, Any, Any]]] = {
    Logit: _logit,
    Probit: _probit,
    Softmax: _softmax,
}


def gram(rows: DeviceRows, origin: Float, weight: Any) -> Any:
    """Σ weight (x - origin)(x - origin)' on the device, (M, M), float64. Weights may be negative; None means 1."""
    if has_kernels(rows) and (weight is None or bool((weight >= 0).all())):
        from separatrix.stats._triton import split_gram

        return split_gram(rows.tensor, rows.like(origin), weight, CHUNK_ROWS)
    Z = rows.tensor - rows.like(origin)
    Y = Z if weight is None else Z * weight.to(Z.dtype)[:, None]
    return DeviceRows(Y).sums(Z)


def gram_with_bias(rows: DeviceRows, origin: Float, bias: bool, weight: Any) -> Float:
    """Σ weight φ̃ φ̃' with φ̃ = (x - origin, 1), returned to the host."""
    total = float(weight.double().sum())
    sums = to_host(rows.sums(weight) - total * rows.on(origin)) if bias else None
    return bordered(to_host(gram(rows, origin, weight)), sums, total)


def bordered(product: Float, sums: Float | None, total: float) -> Float:
    """Σ w φ̃ φ̃' from Σ w φ φ', Σ w φ and Σ w, with φ̃ = (φ, 1). Without ``sums``, return Σ w φ φ'."""
    if sums is None:
        return np.array(product)
    M = len(sums)
    H = np.empty((M + 1, M + 1))
    H[:M, :M], H[:M, M], H[M, :M], H[M, M] = product, sums, sums, total
    return H


def class_weights(rows: DeviceRows, codes: Array, weight: Array | None, n_classes: int) -> Float:
    """Total weight of each class (K,); the number of rows if there are no weights."""
    import torch

    t, share = rows.on(codes), rows.on(weight)
    own = (t == k for k in range(n_classes))  # faster than bincount, which needs atomic additions
    sums = [(each if share is None else each * share.double()).sum() for each in own]
    return np.asarray(to_host(torch.stack(sums).double()))


def class_sums(rows: DeviceRows, centre: Float, codes: Array, weight: Array | None, *, squared: bool = False) -> Float:
    """Σ weight (x - c_k) over the rows of each class (K, M); if ``squared``, Σ weight (x - c_k)²."""
    t, share = rows.on(codes), rows.on(weight)
    if has_kernels(rows, len(centre)):
        from separatrix.stats import _triton

        return np.asarray(to_host(_triton.class_sums(rows.tensor, rows.like(centre), t, share, squared=squared)))
    import torch

    Z = rows.tensor - rows.like(centre)[t]
    T = torch.nn.functional.one_hot(t, len(centre)).double()
    T = T if share is None else T * share[:, None]
    return np.asarray(to_host(DeviceRows(Z * Z if squared else Z).sums(T)))


def pooled_moments(rows: DeviceRows, origin: Float, codes: Array, n_classes: int) -> tuple[Float, Float] | None:
    """Σ (x - origin) for each class (K, M) and Σ (x - origin)(x - origin)' (M, M); None if there is no kernel."""
    if not has_kernels(rows):
        return None
    from separatrix.stats._triton import MAX_GRAM_CLASSES, split_moments

    if n_classes > MAX_GRAM_CLASSES:
        return None
    sums, product = split_moments(rows.tensor, rows.like(origin), rows.on(codes), n_classes, CHUNK_ROWS)
    return np.asarray(to_host(sums)), np.asarray(to_host(product))


def class_gram(rows: DeviceRows, mean: Float, codes: Array, weight: Array | None, k: int) -> Float:
    """Σ weight (x - mean)(x - mean)' over the rows of class k, which are copied unless there is a kernel."""
    own, share = (rows.on(codes) == k).nonzero()[:, 0], rows.on(weight)
    share = None if share is None else share[own]
    if has_kernels(rows) and (share is None or bool((share >= 0).all())):
        from separatrix.stats._triton import split_gram

        return np.asarray(to_host(split_gram(rows.tensor, rows.like(mean), share, CHUNK_ROWS, index=own)))
    return np.asarray(to_host(gram(DeviceRows(rows.tensor[own]), mean, share)))


def extents(rows: DeviceRows, *, with_radius: bool) -> tuple[Float, Float, float]:
    """Smallest and largest value of each column, and the length of the longest row, or infinity."""
    if has_kernels(rows):
        from separatrix.stats import _triton

        low, high = _triton.extents(rows.tensor)
    else:
        low, high = rows.tensor.aminmax(dim=0)
    radius = float(rows.tensor.norm(dim=1).max()) if with_radius else np.inf
    return to_host(low.double()), to_host(high.double()), radius


def has_kernels(rows: DeviceRows, n_classes: int = 1) -> bool:
    """Whether the Triton kernels support the rows: contiguous float32 on CUDA, at most 1024 columns and 4 classes."""
    is_plain = rows.tensor.device.type == "cuda" and rows.dtype == np.float32 and rows.tensor.is_contiguous()
    if not (is_plain and HAS_TRITON):
        return False
    from separatrix.stats._triton import GRAM_TILINGS, MAX_CLASSES, MAX_COLUMNS, generation

    # Triton 3.6 fails to compile products for GPU generations that are not in GRAM_TILINGS.
    return 0 < rows.shape[1] <= MAX_COLUMNS and n_classes <= MAX_CLASSES and generation(rows.tensor) in GRAM_TILINGS
