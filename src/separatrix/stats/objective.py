# SPDX-License-Identifier: BSD-3-Clause
"""The log likelihood of a linear model as a sum over rows: value, gradient, Hessian.

    a_n = W (x_n - c) + b,       L(θ) = -Σ_n weight_n ln p(t_n | a_n),       θ = (W, b), one row for each output

    value        L
    value_grad   L, ∂L/∂θ = -Σ slope_n φ̃_n'                                             φ̃ = (x - c, 1)
    value_grad_hess      and ∂²L/∂θ∂θ' = Σ curvature_n ⊗ φ̃_n φ̃_n'                       PRML (4.97), (4.110)

Each is a pure function from a block to a record that adds. The origin c makes the bias nearly independent of the
weights, whatever the offset of the columns; `Design` hides it from everyone else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix._array import Array, Float, device_aware
from separatrix.likelihoods import Covariances, Likelihood
from separatrix.rows import Block, DeviceRows
from separatrix.stats.design import Design
from separatrix.stats.device import Pass, objective_pass

__all__ = [
    "Design",
    "Grad",
    "ValueGrad",
    "ValueGradHess",
    "largest_share",
    "least_lead",
    "value_grad",
    "value_grad_hess",
]


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
    there = _on_device(block, theta, likelihood, design)
    if there is not None:
        return ValueGrad(there.value, there.grad)
    log_p, slope, _ = likelihood.derivatives(design.activate(block, theta), block.targets)
    return ValueGrad(-_total(log_p, block), -design.collect(block, _weighted(slope, block)))


@device_aware
def value_grad_hess(
    block: Block, theta: Float, likelihood: Likelihood, design: Design, *, exact: bool = True, single: bool = False
) -> ValueGradHess:
    """L, gradient and Hessian on one block; without ``exact``, with a curvature that is never negative.

    The Hessian alone may be taken in single precision.
    """
    there = _on_device(block, theta, likelihood, design, hessian="rough" if single else "full")
    if there is not None and there.hess is not None:
        return ValueGradHess(there.value, there.grad, there.hess)
    a, t = design.activate(block, theta), block.targets
    log_p, slope, curvature = likelihood.derivatives(a, t)
    if not (exact or likelihood.is_log_concave):
        curvature = likelihood.safe_curvature(a, t)
    return ValueGradHess(
        -_total(log_p, block),
        -design.collect(block, _weighted(slope, block)),
        _hessian(block, curvature, design, len(theta), single),
    )


@device_aware
def largest_share(block: Block, theta: Float, V: Float, likelihood: Likelihood, design: Design) -> Largest:
    """max_n |change of a row's slope| / |slope|, to first order, when θ moves by V.

    For K classes a bound on it: the slopes are probabilities, and the share is at most the spread of V φ̃ over classes.
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
    """Minus the smallest lead of a row's own class over the best other one; negative if all rows are right."""
    rows = block if block.weight is None else block.take(block.weight > 0)
    A = design.activate(rows, theta)
    if A.ndim == 1:
        return Largest(float(np.where(rows.codes > 0, -A, A).max(initial=-np.inf)))
    own = np.take_along_axis(A, rows.codes[:, None], axis=1)[:, 0]
    np.put_along_axis(A, rows.codes[:, None], -np.inf, axis=1)
    return Largest(float((A.max(axis=1) - own).max(initial=-np.inf)))


def _on_device(
    block: Block, theta: Float, likelihood: Likelihood, design: Design, *, hessian: str = "none"
) -> Pass | None:
    """What a device found, where the rows live on one and it knows the likelihood."""
    if not isinstance(block.X, DeviceRows):
        return None
    return objective_pass(block, theta, likelihood, design, hessian=hessian)


def _hessian(block: Block, curvature: Array | Covariances, design: Design, n_outputs: int, single: bool) -> Float:
    if not isinstance(curvature, Covariances):
        return design.gram(block, _weighted(curvature, block), single=single)
    P = design.width
    H = np.zeros((n_outputs, P, n_outputs, P))
    for j in range(n_outputs):
        for k in range(j):
            pair = -design.gram(block, -_weighted(curvature.block(j, k), block), single=single)  # symmetric, as φ̃ φ̃' is
            H[j, :, k] = H[k, :, j] = pair
            # A function added to all activations changes nothing: each row of blocks sums to zero.
            H[j, :, j] -= pair
            H[k, :, k] -= pair
    return H.reshape(n_outputs * P, n_outputs * P)


def _weighted(values: Array, block: Block) -> Array:
    if block.weight is None:
        return values
    return values * (block.weight if values.ndim == 1 else block.weight[:, None])


def _total(values: Array, block: Block) -> float:
    return float(values.sum() if block.weight is None else values @ block.weight)
