# SPDX-License-Identifier: BSD-3-Clause
"""How rows x become regressors φ̃ = (x - c, 1), and the products with them that every objective is made of.

    activate    θ φ̃_n for each row
    collect     Σ_n slope_n φ̃_n'
    gram        Σ_n weight_n φ̃_n φ̃_n'

The origin c makes the bias nearly independent of the weights, whatever the offset of the columns; nobody else knows of
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from separatrix._array import Array, Float, Rows, is_sparse, to_dense, to_host
from separatrix._threads import scratch
from separatrix.rows import Block, DeviceRows
from separatrix.stats.device import curvature_gram
from separatrix.stats.moments import COMPILED_FROM

__all__ = ["Design", "dots"]

CANCELLED = 1e-14  # a sum of squares about the origin, relative to one about zero, that is nothing but rounding
FAR = 1e5  # standard deviations from zero, from which a product with x, corrected, has lost too many digits
SHORTEST = 1e-30  # a unit that single precision can still divide by


@dataclass(frozen=True, eq=False, slots=True)
class Design:
    """How rows become regressors φ̃ = (x - c, 1).

    Products with x - c are taken as products with x, corrected: no copy of the rows is made, and sparse rows stay
    sparse. Where the offset is so large that the correction would lose digits, ``subtract`` asks for the copy. Of
    sparse rows only the columns far from zero are subtracted from, which have no zeros to speak of.

    ``spread`` (M,), where it is known, is the standard deviation of each column: the unit in which single precision
    neither overflows nor underflows, and what tells a column far from zero, or constant.
    """

    origin: Float
    bias: bool
    subtract: bool = False
    spread: Float | None = None

    @property
    def width(self) -> int:
        """P: the columns, and one for the bias."""
        return len(self.origin) + self.bias

    def activate(self, block: Block, theta: Float) -> Array:
        """θ φ̃ for each row, float64: (n,) for one output, (n, C) for more; any offset of the rows included."""
        W = theta[:, : len(self.origin)]
        rows, rest = self.rows(block.X)
        shift = (theta[:, -1] if self.bias else 0.0) - W @ rest
        if len(W) == 1:
            a = dots(rows, W[0])
            a += shift[0]
        else:
            a = np.asarray(rows @ W.T if isinstance(rows, DeviceRows) else _wide(rows) @ W.T)
            a += shift
        if block.offset is not None:
            a += block.offset if a.ndim == 1 else block.offset[:, None]
        return a

    def collect(self, block: Block, slope: Array) -> Float:
        """Σ_n slope_n φ̃_n', (C, P)."""
        (X, rest), M = self.rows(block.X), len(self.origin)
        total = np.atleast_1d(slope.sum(axis=0))
        G = np.empty((len(total), self.width))
        G[:, :M] = _sums(X, slope)
        G[:, :M] -= np.outer(total, rest)
        if self.bias:
            G[:, M] = total
        return G

    def gram(self, block: Block, weight: Array, *, single: bool = False) -> Float:
        """Σ_n weight_n φ̃_n φ̃_n', (P, P); products in single precision if that is good enough for the caller."""
        if isinstance(block.X, DeviceRows):
            return self.without_constants(curvature_gram(block.X, self.origin, self.bias, block.X.on(weight)))
        if is_sparse(block.X):
            return self._sparse_gram(block.X, weight)
        if not single and block.X.dtype == np.float64:
            return self.without_constants(self._dense_gram(block.X, weight, None, np.dtype(np.float64)))
        # Single precision ends at 1e38, so the units of columns and of weights are taken out, and put back in double.
        most = float(np.abs(weight).max(initial=0.0))
        unit = np.maximum(self._units(), SHORTEST)
        H = self._dense_gram(block.X, weight / (most or 1.0), unit[: len(self.origin)], np.dtype(np.float32))
        return self.without_constants(H * unit[:, None] * unit * most)

    def regressors(self, X: Rows) -> Array:
        """φ̃ of some rows, (n, P), dense."""
        return self._scaled(to_dense(X), np.ones(X.shape[0]), None, np.empty((X.shape[0], self.width)))

    def in_user_units(self, theta: Float) -> tuple[Float, Float]:
        """Weights and bias of a(x) = coef x + intercept."""
        coef = theta[:, : len(self.origin)]
        if not self.bias:
            return coef.copy(), np.zeros(len(coef))
        return coef.copy(), theta[:, -1] - coef @ self.origin

    def of_user_units(self, coef: Float, intercept: Float) -> Float:
        """θ of a(x) = coef x + intercept."""
        return np.column_stack([coef, intercept + coef @ self.origin]) if self.bias else coef.copy()

    def far(self) -> Float:
        """The origin of the columns that are far from zero; 0 for the others (M,)."""
        if self.spread is None:
            return np.zeros_like(self.origin)
        is_far = (self.spread > 0) & (np.abs(self.origin) > FAR * self.spread)
        return np.where(is_far, self.origin, 0.0)

    def rows(self, X: Rows) -> tuple[Rows, Float]:
        """The rows, from which some of the origin may have been subtracted, and the rest of it."""
        if not is_sparse(X):
            return (X - self.origin.astype(X.dtype), 0.0 * self.origin) if self.subtract else (X, self.origin)
        far = self.far()
        if not far.any():
            return X, self.origin
        ones = sparse.csr_array(np.ones((X.shape[0], 1), X.dtype))
        return X - ones @ sparse.csr_array(far[None].astype(X.dtype)), self.origin - far

    def _units(self) -> Float:
        """What one unit of each regressor is, (P,): a standard deviation where that is known, else 1."""
        units = np.ones(self.width)
        if self.spread is not None:
            units[: len(self.origin)] = np.where(self.spread > 0, self.spread, 1.0)
        return units

    def _dense_gram(self, X: Array, weight: Array, unit: Float | None, dtype: np.dtype[Any]) -> Float:
        Z = scratch((len(X), self.width), dtype)
        if (weight >= 0).all():  # half of it is computed and mirrored
            Z = self._scaled(X, np.sqrt(weight), unit, Z)
            return np.asarray(Z.T @ Z, dtype=np.float64)
        Z = self._scaled(X, np.ones(len(weight)), unit, Z)
        return np.asarray(Z.T @ (Z * weight.astype(dtype)[:, None]), dtype=np.float64)

    def _scaled(self, X: Array, factor: Array, unit: Float | None, Z: Array) -> Array:
        """factor φ̃ of a dense block, each column in its unit (M,), written to Z."""
        M = len(self.origin)
        if _is_compiled(X):
            from separatrix.stats._kernels import scaled_rows

            share = np.ones(M, X.dtype) if unit is None else (1.0 / unit).astype(X.dtype)
            scaled_rows(X, self.origin.astype(X.dtype), share, factor.astype(X.dtype, copy=False), Z)
            return Z
        if unit is None:
            np.subtract(X, self.origin, out=Z[:, :M])
        else:
            Z[:, :M] = (X - self.origin) / unit
        Z[:, M:] = 1.0
        Z *= factor.astype(Z.dtype)[:, None]
        return Z

    def _sparse_gram(self, block_X: Rows, weight: Array) -> Float:
        """About zero, then moved: Σ w (x - c)(x - c)' = Σ w x x' - s c' - c s' + (Σ w) c c' with s = Σ w x."""
        X, c = self.rows(block_X)
        scaled = X.multiply(weight[:, None]).tocsr()
        s, total, M = np.asarray(scaled.sum(axis=0)).ravel(), weight.sum(), len(self.origin)
        raw = to_dense(X.T @ scaled)
        moved = np.outer(s - 0.5 * total * c, c)
        H = np.full((self.width, self.width), total)
        H[:M, :M] = raw - moved - moved.T
        if self.bias:
            H[:M, M] = H[M, :M] = s - total * c
        if self.spread is None:
            constant = np.abs(np.diag(H)[:M]) <= CANCELLED * np.abs(np.diag(raw))
            H[:M][constant], H[:, :M][:, constant] = 0.0, 0.0
        return self.without_constants(H)

    def without_constants(self, H: Float) -> Float:
        """The same, with no more than zero for columns that are known to be constant: they have but rounding there."""
        if self.spread is not None and not self.spread.all():
            constant = np.flatnonzero(self.spread == 0)
            H[constant], H[:, constant] = 0.0, 0.0
        return H


def _is_compiled(X: Rows) -> bool:
    """Whether compiled loops take these rows, and pay: they read row after row, and cost an import."""
    if is_sparse(X):
        return bool(X.nnz >= COMPILED_FROM)
    return X.size >= COMPILED_FROM and bool(X.flags.c_contiguous)


def dots(X: Rows, w: Float) -> Float:
    """X w in float64."""
    if isinstance(X, DeviceRows):
        return X @ w
    if not _is_compiled(X):
        return np.asarray(_wide(X) @ w)
    from separatrix.stats._kernels import csr_dots, row_dots

    a = np.empty(X.shape[0])
    if is_sparse(X):
        csr_dots(X.data, X.indices, X.indptr, w, a)
    else:
        row_dots(X, w, a)
    return a


def _sums(X: Rows, slope: Array) -> Float:
    """Σ_n slope_n x_n' in float64: (M,) of (n,) slopes, (C, M) of (n, C)."""
    if isinstance(X, DeviceRows):
        return np.asarray(to_host(X.sums(X.on(slope))))
    if slope.ndim == 2:
        return np.asarray(slope.T @ _wide(X))
    if not _is_compiled(X):
        return np.asarray(_wide(X).T @ slope)
    from separatrix.stats._kernels import csr_sums, row_sums

    total = np.zeros(X.shape[1])
    if is_sparse(X):
        csr_sums(X.data, X.indices, X.indptr, slope, total)
    else:
        row_sums(X, slope, total)
    return total


def _wide(X: Rows) -> Rows:
    """The rows in float64: where no compiled loop does so on the way, sums of float32 products would be noise."""
    return X.astype(np.float64, copy=False)
