# SPDX-License-Identifier: BSD-3-Clause
"""Regressors φ̃ = (x - c, 1) of the rows x, and the products with them of which every objective consists.

    activate    θ φ̃_n for each row
    collect     Σ_n slope_n φ̃_n'
    gram        Σ_n weight_n φ̃_n φ̃_n'

The origin c makes the bias nearly independent of the weights, however far the columns are from zero. Only this file
knows c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from separatrix._array import Array, Float, Rows, is_sparse, to_dense, to_host
from separatrix._threads import scratch
from separatrix.rows import Block, DeviceRows
from separatrix.stats.device import gram_with_bias
from separatrix.stats.moments import MIN_COMPILED_NUMBERS

CANCELLED = 1e-14  # a sum of squares about the origin, relative to one about zero, that is only rounding error
FAR_IN_STD = 1e5  # distance from zero, in standard deviations, from which a product corrected for c loses digits
MIN_UNIT = 1e-30  # smallest unit by which single precision can divide


@dataclass(frozen=True, eq=False, slots=True)
class Design:
    """Map from rows to regressors φ̃ = (x - c, 1).

    Products with x - c are computed as products with x and then corrected, so the rows are not copied and sparse rows
    stay sparse. If the offset is so large that the correction would lose digits, ``subtract`` makes the copy. For
    sparse rows, c is subtracted only from columns far from zero, which store nearly all of their entries.

    ``spread`` (M,) is the standard deviation of each column, if known: the unit in which single precision neither
    overflows nor underflows. It also shows which columns are far from zero, or constant.
    """

    origin: Float
    bias: bool
    subtract: bool = False
    spread: Float | None = None

    @property
    def width(self) -> int:
        """Number of regressors P: the columns, and one for the bias."""
        return len(self.origin) + self.bias

    def activate(self, block: Block, theta: Float) -> Array:
        """θ φ̃ plus the offset of each row, float64: (n,) for one output, (n, C) for more."""
        X, rest = self.shifted(block.X)
        W = theta[:, : len(self.origin)]
        shift = (theta[:, -1] if self.bias else 0.0) - W @ rest
        if len(W) == 1:
            a = dots(X, W[0])
            a += shift[0]
        else:
            wide = X if isinstance(X, DeviceRows) else X.astype(np.float64, copy=False)
            a = np.asarray(wide @ W.T)
            a += shift
        if block.offset is not None:
            a += block.offset if a.ndim == 1 else block.offset[:, None]
        return a

    def collect(self, block: Block, slope: Array) -> Float:
        """Σ_n slope_n φ̃_n', (C, P)."""
        (X, rest), M = self.shifted(block.X), len(self.origin)
        total = np.atleast_1d(slope.sum(axis=0))
        G = np.empty((len(total), self.width))
        if isinstance(X, DeviceRows):
            G[:, :M] = to_host(X.sums(X.on(slope)))
        elif slope.ndim == 1 and X.size >= MIN_COMPILED_NUMBERS and (is_sparse(X) or X.flags.c_contiguous):
            from separatrix.stats._kernels import csr_sums, row_sums

            G[0, :M] = 0.0
            if is_sparse(X):
                csr_sums(X.data, X.indices, X.indptr, slope, G[0, :M])
            else:
                row_sums(X, slope, G[0, :M])
        else:
            wide = X.astype(np.float64, copy=False)  # sums of products in float32 would be too inaccurate
            G[:, :M] = wide.T @ slope if slope.ndim == 1 else slope.T @ wide
        G[:, :M] -= np.outer(total, rest)
        if self.bias:
            G[:, M] = total
        return G

    def gram(self, block: Block, weight: Array, *, single: bool = False) -> Float:
        """Σ_n weight_n φ̃_n φ̃_n', (P, P); with ``single``, the products are computed in single precision."""
        X, M = block.X, len(self.origin)
        if isinstance(X, DeviceRows):
            return self.without_constants(gram_with_bias(X, self.origin, self.bias, X.on(weight)))
        if is_sparse(X):
            return self._sparse_gram(X, weight)
        is_single = single or X.dtype != np.float64
        unit, largest = None, 1.0
        if is_single:
            # Single precision ends at 1e38: products are computed in units of each column and of the largest weight.
            unit = np.ones(self.width)
            if self.spread is not None:
                unit[:M] = np.where(self.spread > 0, self.spread, 1.0)
            unit = np.maximum(unit, MIN_UNIT)
            largest = float(np.abs(weight).max(initial=0.0))
            weight = weight / (largest or 1.0)
        Z = scratch((len(X), self.width), np.dtype(np.float32 if is_single else np.float64))
        units = None if unit is None else unit[:M]
        if (weight >= 0).all():  # NumPy computes one triangle of Z'Z and mirrors it
            self._scaled(X, np.sqrt(weight), units, Z)
            H = np.asarray(Z.T @ Z, dtype=np.float64)
        else:
            self._scaled(X, np.ones(len(weight)), units, Z)
            H = np.asarray(Z.T @ (Z * weight.astype(Z.dtype)[:, None]), dtype=np.float64)
        return self.without_constants(H if unit is None else H * unit[:, None] * unit * largest)

    def regressors(self, X: Rows) -> Array:
        """φ̃ of some rows, (n, P), dense."""
        return self._scaled(to_dense(X), np.ones(X.shape[0]), None, np.empty((X.shape[0], self.width)))

    def row_variance(self, X: Rows, R: Float) -> Float:
        """|R'φ̃_n|² of each row, (n,): the variance of its activation if R R' is the covariance of θ."""
        if isinstance(X, DeviceRows):
            top = R[: len(self.origin)]
            return X.row_squares(top, (R[-1] if self.bias else 0.0) - self.origin @ top)
        Z = self.regressors(X) @ R
        return np.asarray(np.einsum("ni,ni->n", Z, Z))

    def squares_dot(self, X: Rows, V: Float) -> Float:
        """Σ_p v_kp φ̃_np² of each row, (n, C), for V (C, P). Sparse rows stay sparse."""
        if not is_sparse(X):
            return np.asarray(self.regressors(X) ** 2 @ V.T)
        c, W = self.origin, V[:, : len(self.origin)]
        constant = W @ c**2 + (V[:, -1] if self.bias else 0.0)
        return np.asarray(X.multiply(X) @ W.T - X @ (2 * c * W).T + constant)

    def collect_squares(self, X: Rows, weight: Array) -> Float:
        """Σ_n weight_nk φ̃_np², (C, P), for weights (n, C). Sparse rows stay sparse."""
        if not is_sparse(X):
            return np.asarray(weight.T @ self.regressors(X) ** 2)
        c, total = self.origin, weight.sum(axis=0)[:, None]
        squares = (X.multiply(X).T @ weight).T - 2 * c * (X.T @ weight).T + total * c**2
        return np.column_stack([squares, total]) if self.bias else np.asarray(squares)

    def in_user_units(self, theta: Float) -> tuple[Float, Float]:
        """Weights and bias of a(x) = coef x + intercept."""
        coef = theta[:, : len(self.origin)]
        return coef.copy(), theta[:, -1] - coef @ self.origin if self.bias else np.zeros(len(coef))

    def of_user_units(self, coef: Float, intercept: Float) -> Float:
        """θ of a(x) = coef x + intercept."""
        return np.column_stack([coef, intercept + coef @ self.origin]) if self.bias else coef.copy()

    def far(self) -> Float:
        """Origin of the columns that are far from zero; 0 for the others (M,)."""
        if self.spread is None:
            return np.zeros_like(self.origin)
        is_far = (self.spread > 0) & (np.abs(self.origin) > FAR_IN_STD * self.spread)
        return np.where(is_far, self.origin, 0.0)

    def shifted(self, X: Rows) -> tuple[Rows, Float]:
        """Rows from which part of the origin may be subtracted, and the part that is not."""
        if not is_sparse(X):
            return (X - self.origin.astype(X.dtype), 0.0 * self.origin) if self.subtract else (X, self.origin)
        far = self.far()
        if not far.any():
            return X, self.origin
        ones = sparse.csr_array(np.ones((X.shape[0], 1), X.dtype))
        return X - ones @ sparse.csr_array(far[None].astype(X.dtype)), self.origin - far

    def without_constants(self, H: Float) -> Float:
        """H with exact zeros for columns known to be constant, in place; their sums are only rounding error."""
        if self.spread is not None and not self.spread.all():
            constant = np.flatnonzero(self.spread == 0)
            H[constant], H[:, constant] = 0.0, 0.0
        return H

    def _scaled(self, X: Array, factor: Array, unit: Float | None, Z: Array) -> Array:
        """Write factor φ̃ of a dense block to Z, each column in its unit (M,)."""
        M = len(self.origin)
        if X.size >= MIN_COMPILED_NUMBERS and X.flags.c_contiguous:
            from separatrix.stats._kernels import scaled_rows

            inverse = np.ones(M, X.dtype) if unit is None else (1.0 / unit).astype(X.dtype)
            scaled_rows(X, self.origin.astype(X.dtype), inverse, factor.astype(X.dtype, copy=False), Z)
            return Z
        if unit is None:
            np.subtract(X, self.origin, out=Z[:, :M])
        else:
            Z[:, :M] = (X - self.origin) / unit
        Z[:, M:] = 1.0
        Z *= factor.astype(Z.dtype)[:, None]
        return Z

    def _sparse_gram(self, block_X: Rows, weight: Array) -> Float:
        """About zero, then shifted: Σ w (x - c)(x - c)' = Σ w x x' - s c' - c s' + (Σ w) c c' with s = Σ w x."""
        X, c = self.shifted(block_X)
        scaled = X.multiply(weight[:, None]).tocsr()
        s, total, M = np.asarray(scaled.sum(axis=0)).ravel(), weight.sum(), len(self.origin)
        raw = to_dense(X.T @ scaled)
        shift = np.outer(s - 0.5 * total * c, c)
        H = np.full((self.width, self.width), total)
        H[:M, :M] = raw - shift - shift.T
        if self.bias:
            H[:M, M] = H[M, :M] = s - total * c
        if self.spread is None:
            constant = np.abs(np.diag(H)[:M]) <= CANCELLED * np.abs(np.diag(raw))
            H[:M][constant], H[:, :M][:, constant] = 0.0, 0.0
        return self.without_constants(H)


def dots(X: Rows, w: Float) -> Float:
    """X w in float64; compiled loops read large blocks row by row, without a copy in float64."""
    if isinstance(X, DeviceRows):
        return X @ w
    if X.size >= MIN_COMPILED_NUMBERS:  # the size of sparse rows is the number of stored entries
        from separatrix.stats._kernels import csr_dots, row_dots

        a = np.empty(X.shape[0])
        if is_sparse(X):
            csr_dots(X.data, X.indices, X.indptr, w, a)
            return a
        if X.flags.c_contiguous:
            row_dots(X, w, a)
            return a
    return np.asarray(X.astype(np.float64, copy=False) @ w)


def linear_scores(X: Rows, W: Float, w0: Float, origin: Float) -> Float:
    """w_k'(x - origin) + w_k0 of each row, (n, K). Sparse rows stay sparse."""
    if X.dtype == np.float32 and not is_sparse(X):
        # Centred in float64: an offset must not cost precision in float32.
        Z = (X - origin).astype(np.float32) if origin.any() else X
        return np.asarray(Z @ W.T.astype(np.float32) + w0)
    return np.asarray(X @ W.T + (w0 - W @ origin))
