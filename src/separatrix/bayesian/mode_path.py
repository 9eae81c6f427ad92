# SPDX-License-Identifier: BSD-3-Clause
"""Modes of the posterior along a path of prior scales, for several sets of rows at once.

Held-out scores need the mode for every fold and every scale of the prior. The folds are fitted together by Newton's
method, whose directions come from conjugate gradients. Each product with the rows serves all folds and classes. Each
scale starts at the modes of the one before, or as far beyond them as these moved last, which needs half of the
products. Dense columns are rotated to their principal axes once, for all scales and folds. In these axes a diagonal
preconditioner is nearly exact. Sparse columns stay as they are, unless the table is small.

A wide prior of the weights needs a wide prior of the bias: otherwise the bias pulls the weights away from the direction
that separates the classes best. Its scale therefore grows with that of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse, special

from separatrix._array import Float, is_sparse, to_dense

MAX_NEWTON_STEPS, MAX_CG_STEPS, MAX_HALVINGS = 30, 60, 25
CG_TOL = 0.05  # squared residual of a direction, relative to the gradient
MIN_DECREASE = 1e-4  # fraction of the predicted decrease that a step must reach
MIN_VARIANCE = 1e-6  # of a column relative to its squared mean; smaller ones are computed from differences
MAX_DENSE_CELLS = 1e5  # of a sparse table that is made dense: the modes are then the same for either storage
MIN_EIGENVALUE = 1e-14  # of the Gram matrix relative to the largest; smaller ones are rounding errors


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Rows ``Z`` (N, r) in which all weights but the bias, the last column, have the same prior N(0, s²).

    A column is divided by its ``units`` (M,) after its ``origin`` is subtracted, and rotated to ``axes`` (M, r - 1),
    unless it is sparse and large. ``squares`` (r,) are Σ_n weight_n z_nj².
    """

    Z: Any
    squares: Float
    units: Float
    origin: Float
    axes: Float | None

    @classmethod
    def of(cls, X: Any, weight: Float, units: Float, *, centred: bool = True) -> ScaledRows:
        """Scale the columns so that they have the variance 1 on average; a unit of infinity leaves a column out.

        Dense columns are ``centred``, unless the prior of the bias refers to x = 0.
        """
        M, total = X.shape[1], float(weight.sum())
        if X.shape[0] * M <= MAX_DENSE_CELLS:
            X = to_dense(X)
        mean = np.asarray(weight @ X).ravel() / total
        squared = X.multiply(X) if is_sparse(X) else X * X
        variance = np.maximum(np.asarray(weight @ squared).ravel() / total - mean**2, 0.0)
        is_far = variance < MIN_VARIANCE * mean**2  # the difference has lost digits
        if is_far.any() and not is_sparse(X):
            variance[is_far] = weight @ (X[:, is_far] - mean[is_far]) ** 2 / total
        variance /= units**2
        units = units * np.sqrt(variance.sum() / max(1, np.count_nonzero(variance)))
        one = np.ones((X.shape[0], 1))
        if is_sparse(X):
            Z = sparse.hstack([X.multiply(1 / units), one]).tocsr()
            return cls(Z, np.asarray(weight @ Z.multiply(Z)).ravel(), units, np.zeros(M), None)
        origin = mean if centred else np.zeros(M)
        scaled = (X - origin) / units
        root = np.sqrt(weight)[:, None] * scaled
        values, axes = linalg.eigh(root @ root.T if len(X) < M else root.T @ root)
        used = values > MIN_EIGENVALUE * values[-1]
        axes = axes[:, used]
        if len(X) < M:
            axes = root.T @ axes / np.sqrt(values[used])
        Z = np.hstack([scaled @ axes, one])
        return cls(Z, weight @ Z**2, units, origin, axes)

    @property
    def n_varying(self) -> int:
        """Number of columns that are not left out."""
        return int(np.isfinite(self.units).sum())

    def in_user_units(self, W: Float) -> tuple[Float, Float]:
        """Weights (C, M) and biases (C,) of the columns as given, for W (C, r)."""
        inner = W[:, :-1] if self.axes is None else W[:, :-1] @ self.axes.T
        coef = inner / self.units
        return coef, W[:, -1] - coef @ self.origin


def log_probabilities(A: Float) -> Float:
    """ln p of each class, (n, K), for activations (n, 1) of two classes or (n, K) of more."""
    if A.shape[1] == 1:
        return np.hstack([special.log_expit(-A), special.log_expit(A)])
    return np.asarray(special.log_softmax(A, axis=1))


def mode_path(
    rows: ScaledRows, T: Float, weights: Float, scales: Float, bias_scales: Float, tol: float
) -> Iterator[Float]:
    """Yield the modes W (F, C, r) for each of the increasing scales.

    T (C, N) are the targets: those of class 1 for two classes, else one row for each class. ``weights`` (F, N) are the
    row weights of F fits. A fit ends if Newton's step would lower its objective by less than the fraction ``tol``.
    ``bias_scales`` are those of the prior of the bias.
    """
    Z, Zt = rows.Z, rows.Z.T.tocsr() if is_sparse(rows.Z) else rows.Z.T
    (F, N), C, r = weights.shape, len(T), rows.Z.shape[1]
    w = weights[:, None]

    def activate(W: Float) -> Float:
        return np.ascontiguousarray((Z @ W.reshape(F * C, r).T).T).reshape(F, C, N)

    def collect(R: Float) -> Float:
        return np.ascontiguousarray((Zt @ R.reshape(F * C, N).T).T).reshape(F, C, r)

    def objective(A: Float, W: Float, precision: Float) -> Float:
        log_p = T[0] * A[:, 0] - np.logaddexp(0, A[:, 0]) if C == 1 else (A * T).sum(1) - special.logsumexp(A, axis=1)
        return np.asarray(0.5 * (precision * W**2).sum((1, 2)) - (weights * log_p).sum(1))

    W, A = np.zeros((F, C, r)), np.zeros((F, C, N))
    change = W, A  # from the modes of the scale before the last one
    for scale, bias_scale in zip(scales, bias_scales, strict=True):
        precision = np.full(r, scale**-2.0)
        precision[-1] = bias_scale**-2.0
        before, value = (W, A), objective(A, W, precision)
        ahead = objective(A + change[1], W + change[0], precision)  # modes change about as much at each scale
        is_lower = (ahead < value)[:, None, None]
        W, A, value = W + is_lower * change[0], A + is_lower * change[1], np.minimum(value, ahead)
        for _ in range(MAX_NEWTON_STEPS):
            P = special.expit(A) if C == 1 else special.softmax(A, axis=1)
            grad = collect((P - T) * w) + precision * W
            curvature = P * (1 - P) * w
            mean_curvature = curvature.sum(axis=2, keepdims=True) / weights.sum(axis=1)[:, None, None]
            inverse = 1 / (mean_curvature * rows.squares + precision)

            def hessian(V: Float, P: Float = P, curvature: Float = curvature, precision: Float = precision) -> Float:
                B = activate(V)
                R = curvature * B if C == 1 else P * w * (B - (P * B).sum(1, keepdims=True))
                return collect(R) + precision * V

            step = _conjugate_gradients(hessian, -grad, inverse)
            decrease, moved = -(grad * step).sum((1, 2)), activate(step)
            t = np.ones(F)
            for _ in range(MAX_HALVINGS):
                there = objective(A + t[:, None, None] * moved, W + t[:, None, None] * step, precision)
                failed = there > value - MIN_DECREASE * t * decrease + 1e-12 * np.abs(value)
                if not failed.any():
                    break
                t = np.where(failed, t / 2, t)
            t = np.where(failed, 0.0, t)[:, None, None]
            A, W, value = A + t * moved, W + t * step, np.where(failed, value, there)
            if (decrease <= tol * value).all():
                break
        change = W - before[0], A - before[1]
        yield W


def _conjugate_gradients(hessian: Callable[[Float], Float], right: Float, inverse: Float) -> Float:
    """Solve H x = ``right`` roughly for all fits at once, with a diagonal preconditioner."""
    x, rest = np.zeros_like(right), right
    z = inverse * rest
    along, size = z, (rest * z).sum((1, 2))
    first = size
    for _ in range(MAX_CG_STEPS):
        product = hessian(along)
        curvature = (along * product).sum((1, 2))
        length = np.where(curvature > 0, size / np.where(curvature > 0, curvature, 1.0), 0.0)[:, None, None]
        x, rest = x + length * along, rest - length * product
        z = inverse * rest
        before, size = size, (rest * z).sum((1, 2))
        if (size <= CG_TOL * first).all():
            break
        along = z + np.where(before > 0, size / np.where(before > 0, before, 1.0), 0.0)[:, None, None] * along
    return x
