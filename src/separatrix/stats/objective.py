# SPDX-License-Identifier: BSD-3-Clause
"""The negative log likelihood of a linear model as a sum over rows: value, gradient, Hessian.

    a_n = W (x_n - c) + b,       L(θ) = -Σ_n weight_n ln p(t_n | a_n),       θ = (W, b), one row for each output

    value_grad           L and ∂L/∂θ = -Σ slope_n φ̃_n'                                  φ̃ = (x - c, 1)
    value_grad_hess      and ∂²L/∂θ∂θ' = Σ curvature_n ⊗ φ̃_n φ̃_n'                       PRML (4.97), (4.110)

Each is a pure function from a block to a record with ``+``. Rows on a GPU use `_device_objective`, and float32 rows
`_kernel_objective`.

`Design` maps rows x to regressors φ̃ and computes the products with them:

    activate    θ φ̃_n for each row
    collect     Σ_n slope_n φ̃_n'
    gram        Σ_n weight_n φ̃_n φ̃_n'
    gram_dot    the product of this matrix and θ

With the origin c near the mean, the bias is nearly uncorrelated with the weights, even if columns are far from zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg, sparse
from sklearn.utils import gen_batches

from separatrix._array import MIN_STD, Array, Codes, Float, Rows, device_aware, is_sparse, read_only, to_dense, to_host
from separatrix._threads import scratch
from separatrix.likelihoods import Covariances, Likelihood, Logit, Probit, Softmax
from separatrix.rows import CHUNK_ROWS, Block, DeviceRows, Summed
from separatrix.stats.checks import GRAM_BYTES, MAX_GRAM_ROWS, MIN_COMPILED_ENTRIES
from separatrix.stats.device import DERIVATIVES, SKEWS, bordered, gram_with_bias, has_kernels
from separatrix.stats.moments import gram

CANCELLED = 1e-14  # a sum of squares about c below this fraction of that about 0 is rounding error
FAR_IN_STD = 1e5  # with a larger |origin|/std, products with x corrected for c cancel
MIN_SINGLE_UNIT = 1e-15  # unit of a column below which its values, or their inverses, might not fit single precision
MIN_UNIT = 1e-30  # smallest unit by which rows in single precision can be divided
COMPILED_LAWS: dict[type[Any], int] = {
    Logit: 0,
    Probit: 1,
}  # likelihoods that `_kernels.row_objective` evaluates row by row
MIN_SYMMETRIC_WIDTH = 32  # narrower symmetric products take longer than general ones
MAX_PAIRED_VECTORS = 4  # products of sparse rows with more vectors are faster with all vectors at once
MAX_SPREAD_ENTRIES = 2_000_000  # floats allocated at once for the covariance of several activations
MAX_DEVICE_SPREAD = 2**26  # floats allocated at once on a GPU for the covariance of several activations


@dataclass(frozen=True, eq=False)
class Design:
    """Map from rows to regressors φ̃ = (x - c, 1).

    Products with x - c are computed as products with x and then corrected, so rows are not copied and sparse rows stay
    sparse. If the offset is so large that the correction would cancel, ``subtract`` is true and x - c is computed. For
    sparse rows, c is subtracted only from columns far from zero, which store nearly all of their entries.

    ``spread`` (M,) is the standard deviation of each column, if known. Columns are divided by it so that single
    precision does not overflow or underflow. It also shows which columns are constant or far from zero.
    """

    origin: Float
    bias: bool
    subtract: bool = False
    spread: Float | None = None

    def __setstate__(self, state: dict[str, Any] | list[Any]) -> None:
        names = ("origin", "bias", "subtract", "spread")  # pickles of older versions, with slots, are lists
        vars(self).update(state if isinstance(state, dict) else zip(names, state, strict=True))

    @property
    def width(self) -> int:
        """Number of regressors P: one per column, and one for the bias."""
        return len(self.origin) + self.bias

    def activate(self, block: Block, theta: Float, Z: Array | None = None) -> Array:
        """θ φ̃ plus the offset of each row, in float64: (n,) for one output, (n, C) for several.

        ``Z`` are the regressors φ̃ (n, P), if they are known.
        """
        if Z is not None:
            a = Z @ theta[0] if len(theta) == 1 else (theta @ Z.T).T  # the order of activations that the softmax needs
        else:
            W, (X, rest) = theta[:, : len(self.origin)], self.shifted(block.X)
            if len(W) == 1:
                a = dots(X, W[0])
            elif is_sparse(X) and X.size >= MIN_COMPILED_ENTRIES:
                from separatrix.stats._kernels import csr_class_dots

                a = np.empty((len(W), X.shape[0])).T
                csr_class_dots(X.data, X.indices, X.indptr, W.T.copy(), a.T)
            else:
                wide = X if isinstance(X, DeviceRows) else X.astype(np.float64, copy=False)
                a = (W @ wide.T).T if isinstance(wide, np.ndarray) else np.asarray(wide @ W.T)
            shift = (theta[:, -1] if self.bias else 0.0) - W @ rest
            a += shift if a.ndim == 2 else shift[0]
        if block.offset is not None:
            a += block.offset if a.ndim == 1 else block.offset[:, None]
        return a

    def collect(self, block: Block, slope: Array, Z: Array | None = None) -> Float:
        """Σ_n slope_n φ̃_n', (C, P). Slopes of rows on a device may be there, too. ``Z`` as in `activate`."""
        if Z is not None:
            return self.without_constants((slope.T @ Z).reshape(-1, self.width), is_gradient=True)
        G, M = np.empty((1 if slope.ndim == 1 else slope.shape[1], self.width)), len(self.origin)
        X, rest = self.shifted(block.X)
        total = np.atleast_1d(to_host(slope.sum(axis=0)))
        if isinstance(X, DeviceRows):
            G[:, :M] = to_host(X.sums(X.on(slope)))
        elif slope.ndim == 1 and X.size >= MIN_COMPILED_ENTRIES and _is_row_major(X):
            from separatrix.stats._kernels import csr_sums, row_sums

            G[0, :M] = 0.0
            if is_sparse(X):
                csr_sums(X.data, X.indices, X.indptr, slope, G[0, :M])
            else:
                row_sums(X, slope, G[0, :M])
        elif is_sparse(X) and X.size >= MIN_COMPILED_ENTRIES:
            from separatrix.stats._kernels import csr_class_sums

            sums = np.zeros((M, len(G)))
            csr_class_sums(X.data, X.indices, X.indptr, np.ascontiguousarray(slope.T), sums)
            G[:, :M] = sums.T
        else:
            wide = X.astype(np.float64, copy=False)  # sums of products in float32 would be too inaccurate
            G[:, :M] = wide.T @ slope if slope.ndim == 1 else slope.T @ wide
        G[:, :M] -= np.outer(total, rest)
        if self.bias:
            G[:, M] = total
        return self.without_constants(G, is_gradient=True)

    def gram(
        self,
        block: Block,
        weight: Array,
        Z: Array | None = None,
        *,
        columns: Codes | None = None,
        single: bool = False,
    ) -> Float:
        """Σ_n weight_n φ̃_n φ̃_n', (P, P). ``Z`` as in `activate`; otherwise ``single`` allows single precision.

        With ``columns``, the block has more columns than the design, which describes these columns.
        """
        X, unit, largest = block.X, None, 1.0
        if Z is None:
            if isinstance(X, DeviceRows):
                return self.without_constants(gram_with_bias(X, self.origin, self.bias, X.on(weight)))
            if is_sparse(X):
                return self._sparse_gram(X, weight, columns)
            X = X if columns is None else X[:, columns]
            unit = self.single_units(X.dtype) if single or X.dtype != np.float64 else None
            if X.size >= MIN_COMPILED_ENTRIES and X.flags.c_contiguous and bool((weight >= 0).all()):
                from separatrix.stats._kernels import add_gram

                H = np.zeros((self.width, self.width))
                add_gram(read_only(X), *self.gram_memory(X, self.origin, unit), read_only(weight), H)
                return self.mirrored(H, unit)
            Z = self.regressors(X) if unit is None else self.single(X)[0]
            if unit is not None:
                largest = float(np.abs(weight).max(initial=0.0)) or 1.0  # float32 overflows at 1e38
                weight = (weight / largest).astype(np.float32)
        if self.width >= MIN_SYMMETRIC_WIDTH and bool((weight >= 0).all()):
            scaled = Z * np.sqrt(weight)[:, None]
            H = scaled.T @ scaled  # NumPy computes one triangle and mirrors it
        else:
            H = Z.T @ (Z * weight[:, None])
        return self.without_constants(H if unit is None else H * unit[:, None] * unit * largest)

    def gram_dot(self, block: Block, theta: Float) -> Float:
        """Σ_n weight_n φ̃_n φ̃_n' θ for each row θ (C, P), without a P x P matrix."""
        if len(theta) > MAX_PAIRED_VECTORS or not is_sparse(block.X) or block.X.size < MIN_COMPILED_ENTRIES:
            return self.collect(block, _weighted(self.activate(replace(block, offset=None), theta), block.weight))
        from separatrix.stats._kernels import csr_pair_products, csr_products

        (X, rest), M = self.shifted(block.X), len(self.origin)
        rows, weight = (X.data, X.indices, X.indptr), np.zeros(0) if block.weight is None else block.weight
        bias = (theta[:, -1] if self.bias else 0.0) - theta[:, :M] @ rest
        G = np.zeros((len(theta), M + 1))
        for k in range(0, len(theta) - 1, 2):
            sums = np.zeros((M, 2))
            csr_pair_products(*rows, theta[k : k + 2, :M].T.copy(), bias[k : k + 2], weight, sums, G[k : k + 2, M])
            G[k : k + 2, :M] = sums.T
        if len(theta) % 2:
            G[-1, M] = csr_products(*rows, theta[-1, :M].copy(), bias[-1], weight, G[-1, :M])
        G[:, :M] -= G[:, M:] * rest
        return self.without_constants(G[:, : self.width], is_gradient=True)

    def regressors(self, X: Rows, order: Literal["C", "F"] = "C") -> Array:
        """φ̃ of some rows, (n, P), dense."""
        Z = np.empty((X.shape[0], self.width), order=order)
        np.subtract(to_dense(X), self.origin, out=Z[:, : len(self.origin)])
        Z[:, len(self.origin) :] = 1.0
        return Z

    def single(self, X: Rows) -> tuple[Array, Float]:
        """φ̃ / unit of some rows as float32 (n, P), which overflows at 1e38, and the units (P,)."""
        unit, M = self.single_units(X.dtype), len(self.origin)
        if not MIN_SINGLE_UNIT < unit.min() <= unit.max() < 1 / MIN_SINGLE_UNIT:
            return (self.regressors(X) / unit).astype(np.float32), unit
        Z = np.ones((X.shape[0], self.width), np.float32)
        np.subtract(to_dense(X), self.origin, out=Z[:, :M], casting="same_kind")  # in float64, without a copy
        Z[:, :M] /= unit[:M].astype(np.float32)
        return Z, unit

    def row_variance(self, X: Rows, R: Float, *, single: bool = False) -> Float:
        """|R'φ̃_n|² of each row, (n,): the variance of its activation if R R' is the covariance of θ.

        R is upper triangular. With ``single``, products of dense rows are computed in single precision.
        """
        if isinstance(X, DeviceRows):
            top = R[: len(self.origin)]
            return np.asarray(to_host(X.row_squares(top, (R[-1] if self.bias else 0.0) - self.origin @ top)))
        if single and not is_sparse(X) and X.flags.c_contiguous:
            from separatrix.stats._kernels import scaled_rows

            unit, Z = self.single_units(X.dtype), np.empty((len(X), self.width), np.float32)
            origin, inverse, _ = self.gram_memory(X, self.origin, unit)
            scaled_rows(read_only(X), origin, inverse, np.ones(len(X), X.dtype), Z)
            Z = linalg.blas.strmm(1.0, (unit[:, None] * R).T.astype(np.float32), Z.T, lower=1, overwrite_b=1).T
            return np.asarray(np.einsum("ni,ni->n", Z, Z), np.float64)
        Z = linalg.blas.dtrmm(1.0, R.T, self.regressors(X).T, lower=1, overwrite_b=1).T  # half the products of Z R
        return np.asarray(np.einsum("ni,ni->n", Z, Z))

    def row_variances(self, X: Rows, roots: Iterable[Float]) -> Float:
        """The same for several covariances, (n, J); rows in host memory are multiplied in single precision."""
        if isinstance(X, DeviceRows):
            return np.stack([self.row_variance(X, root) for root in roots], axis=1)
        Phi, unit = self.single(X)
        products = (Phi @ (unit[:, None] * root).astype(np.float32) for root in roots)
        return np.stack([np.einsum("ni,ni->n", Z, Z) for Z in products], axis=1).astype(np.float64)

    def squares_dot(self, X: Rows, V: Float) -> Float:
        """Σ_p v_kp φ̃_np² for each row, (n, C), with V (C, P) above zero. Sparse rows stay sparse."""
        if isinstance(X, DeviceRows):
            return self.row_variances(X, (np.diag(np.sqrt(v)) for v in V))
        if not is_sparse(X):
            return np.asarray(self.regressors(X) ** 2 @ V.T)
        c, W = self.origin, V[:, : len(self.origin)]
        constant = W @ c**2 + (V[:, -1] if self.bias else 0.0)
        return np.asarray(X.power(2, np.float64) @ W.T - X @ (2 * c * W).T + constant)

    def collect_squares(self, X: Rows, weight: Array) -> Float:
        """Σ_n weight_nk φ̃_np², (C, P), with weights (n, C). Sparse rows stay sparse."""
        if not is_sparse(X):
            return np.asarray(weight.T @ self.regressors(X) ** 2)
        c, total = self.origin, weight.sum(axis=0)[:, None]
        if len(total) == 1 and X.size >= MIN_COMPILED_ENTRIES:
            from separatrix.stats._kernels import csr_centred_sums

            sums, raw = np.zeros((2, 1, len(c)))
            csr_centred_sums(X.data, X.indices, X.indptr, weight[:, 0].copy(), np.zeros(len(c)), sums[0], raw[0])
        else:
            sums, raw = (X.T @ weight).T, (X.power(2, np.float64).T @ weight).T
        squares = raw - 2 * c * sums + total * c**2
        return np.column_stack([squares, total]) if self.bias else np.asarray(squares)

    def in_user_units(self, theta: Float) -> tuple[Float, Float]:
        """Weights and bias of a(x) = coef x + intercept."""
        coef = theta[:, : len(self.origin)]
        return coef.copy(), theta[:, -1] - coef @ self.origin if self.bias else np.zeros(len(coef))

    def of_user_units(self, coef: Float, intercept: Float) -> Float:
        """θ of a(x) = coef x + intercept."""
        return np.column_stack([coef, intercept + coef @ self.origin]) if self.bias else coef.copy()

    @cached_property
    def far(self) -> Float | None:
        """Origin of columns that are far from zero, and 0 for other columns, (M,); None if no column is."""
        if self.spread is None:
            return None
        is_far = (self.spread > 0) & (np.abs(self.origin) > FAR_IN_STD * self.spread)
        return np.where(is_far, self.origin, 0.0) if is_far.any() else None

    @cached_property
    def constant(self) -> Codes:
        """Columns that do not vary, as far as known."""
        return (np.zeros(0) if self.spread is None else self.spread == 0).nonzero()[0]

    def shifted(self, X: Rows) -> tuple[Rows, Float]:
        """Rows from which all, part or none of the origin was subtracted, and the rest of the origin."""
        if not is_sparse(X):
            return (X - self.origin.astype(X.dtype), 0.0 * self.origin) if self.subtract else (X, self.origin)
        far = self.far
        if far is None:
            return X, self.origin
        ones = sparse.csr_array(np.ones((X.shape[0], 1), X.dtype))
        return X - ones @ sparse.csr_array(far[None].astype(X.dtype)), self.origin - far

    def without_constants(self, sums: Float, *, is_gradient: bool = False) -> Float:
        """Set a Hessian (P, P) or a gradient (C, P) to zero for constant columns, whose sums are rounding error."""
        if len(self.constant):
            sums[:, self.constant] = 0.0
            if not is_gradient:
                sums[self.constant] = 0.0
        return sums

    def single_units(self, dtype: DTypeLike = np.float64) -> Float:
        """Unit of each regressor (P,) in single precision, which overflows at 1e38, for rows of this type."""
        spread = np.ones(len(self.origin)) if self.spread is None else np.where(self.spread > 0, self.spread, 1.0)
        return np.append(
            np.maximum(spread, MIN_UNIT if dtype == np.float32 else MIN_STD), np.ones(self.width - len(spread))
        )

    def gram_memory(self, X: Array, origin: Float, unit: Float | None) -> tuple[Array, Array, Array]:
        """Origin and inverse units in the precision of X, and working memory for as many rows as fit the cache."""
        inverse = np.ones(len(origin)) if unit is None else 1.0 / unit[: len(origin)]
        height = max(GRAM_BYTES // (8 * self.width), min(self.width, MAX_GRAM_ROWS))
        Z = scratch((min(len(X), height, MAX_GRAM_ROWS), self.width), np.float64 if unit is None else np.float32)
        return origin.astype(X.dtype), inverse.astype(X.dtype), Z

    def mirrored(self, H: Float, unit: Float | None) -> Float:
        """A Gram matrix, in its own units, from its lower triangle, in place."""
        from separatrix.stats._kernels import mirror

        mirror(H, np.ones(len(H)) if unit is None else unit)
        return self.without_constants(H)

    def _sparse_gram(self, X: Rows, weight: Array, columns: Codes | None) -> Float:
        """Gram matrix by Σ w (x - c)(x - c)' = Σ w x x' - s c' - c s' + (Σ w) c c' with s = Σ w x."""
        if columns is None or self.far is not None:
            (X, c), columns = self.shifted(X if columns is None else X[:, columns]), None
        else:
            c = self.origin
        s, total, M, raw = np.asarray(X.T @ weight), weight.sum(), len(self.origin), gram(X, weight, columns)
        s = s if columns is None else s[columns]
        shift = np.outer(s - 0.5 * total * c, c)
        H = bordered(raw - shift - shift.T, s - total * c if self.bias else None, total)
        if self.spread is None:
            constant = np.abs(np.diag(H)[:M]) <= CANCELLED * np.abs(np.diag(raw))
            H[:M][constant], H[:, :M][:, constant] = 0.0, 0.0
        return self.without_constants(H)


def dots(X: Rows, w: Float) -> Float:
    """X w in float64. Compiled loops for large blocks need no copy in float64."""
    if isinstance(X, DeviceRows):
        return X @ w
    if X.size >= MIN_COMPILED_ENTRIES:  # for sparse rows, size is the number of stored entries
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
        # Centre in float64, because a large offset would lose precision in float32.
        Z = (X - origin).astype(np.float32) if origin.any() else X
        return np.asarray(Z @ W.T.astype(np.float32) + w0)
    return np.asarray(X @ W.T + (w0 - W @ origin))


@dataclass(frozen=True, slots=True)
class Grad(Summed):
    """A sum over rows in one array: of the shape of θ, or one matrix per class."""

    grad: Float


@dataclass(frozen=True, slots=True)
class ValueGrad(Summed):
    """L and its gradient (C, P)."""

    value: float
    grad: Float


@dataclass(frozen=True, slots=True)
class ValueGradHess(Summed):
    """L, its gradient (C, P) and its Hessian (CP, CP)."""

    value: float
    grad: Float
    hess: Float


@dataclass(frozen=True, slots=True)
class Largest:
    """A maximum over rows; ``+`` takes the larger value."""

    value: float

    def __add__(self, other: Largest) -> Largest:
        return Largest(max(self.value, other.value))


@device_aware
def value_grad(block: Block, theta: Float, likelihood: Likelihood, design: Design, Z: Array | None = None) -> ValueGrad:
    """L and its gradient on one block; ``Z`` are its regressors, if they are known."""
    if isinstance(block.X, DeviceRows) and type(likelihood) in DERIVATIVES:
        return ValueGrad(*_device_objective(block, theta, likelihood, design, hessian="none")[:2])
    if Z is None and type(likelihood) in COMPILED_LAWS and _is_read_once(block.X):
        return ValueGrad(*_compiled_objective(block, theta, likelihood, design)[:2])
    weight = block.weight
    log_p, slope, _ = likelihood.derivatives(design.activate(block, theta, Z), block.targets)
    value = log_p.sum() if weight is None else log_p @ weight
    return ValueGrad(-float(value), -design.collect(block, _weighted(slope, weight), Z))


def _compiled_objective(
    block: Block, theta: Float, likelihood: Likelihood, design: Design, *, hessian: str = "none"
) -> tuple[float, Float, Float]:
    """L, its gradient and its Hessian ("double" or "single"; "none": empty), by a loop that reads each row once."""
    from separatrix.stats._kernels import csr_objective, row_hessian, row_objective

    (X, rest), M, empty = design.shifted(block.X), len(design.origin), np.zeros(0)
    hess, grad = empty, np.zeros((1, design.width))
    sums, slopes, curvature = np.zeros(2), grad[0, :M], np.empty(len(block) if hessian != "none" else 0)
    bias = (theta[0, -1] if design.bias else 0.0) - theta[0, :M] @ rest
    targets = (block.targets.astype(np.float64, copy=False), block.weight, block.offset)
    # Numba would compile a kernel twice: for arrays that can be written to, and for others.
    at = theta[0, :M].copy(), bias, tuple(read_only(empty if part is None else part) for part in targets)
    law = COMPILED_LAWS[type(likelihood)]
    if is_sparse(X):
        rows = map(read_only, (X.data, X.indices, X.indptr))
        csr_objective(law, *rows, *at, sums, slopes, curvature)
        hess = empty if hessian == "none" else design.gram(block, curvature)
    elif hessian == "none":
        row_objective(law, read_only(X), *at, sums, slopes, curvature)
    else:
        unit = design.single_units(X.dtype) if hessian == "single" or X.dtype != np.float64 else None
        hess = np.zeros((design.width, design.width))
        row_hessian(law, read_only(X), *at, *design.gram_memory(X, rest, unit), sums, slopes, hess)
        hess = design.mirrored(hess, unit)
    slopes -= sums[1] * rest
    grad[0, M:] = sums[1]
    return -float(sums[0]), design.without_constants(np.negative(grad, out=grad), is_gradient=True), hess


def _is_row_major(X: Rows) -> bool:
    return is_sparse(X) or bool(X.flags.c_contiguous)


def _is_read_once(X: Rows) -> bool:
    """Whether a loop that reads rows once takes less time than two, with the likelihood evaluated by NumPy between."""
    return bool(X.size >= MIN_COMPILED_ENTRIES) and _is_row_major(X)


@device_aware
def value_grad_hess(
    block: Block,
    theta: Float,
    likelihood: Likelihood,
    design: Design,
    Z: Array | None = None,
    *,
    exact: bool = True,
    single: bool = False,
) -> ValueGradHess:
    """L, gradient and Hessian on one block; ``Z`` are its regressors, if they are known.

    Without ``exact``, the curvature is never negative. With ``single``, the Hessian is computed in single precision.
    """
    if isinstance(block.X, DeviceRows) and type(likelihood) in DERIVATIVES:
        precision = "rough" if single else "full"
        return ValueGradHess(*_device_objective(block, theta, likelihood, design, hessian=precision))
    if Z is None and type(likelihood) in COMPILED_LAWS and _is_read_once(block.X):
        precision = "single" if single else "double"
        return ValueGradHess(*_compiled_objective(block, theta, likelihood, design, hessian=precision))
    t, weight = block.targets, block.weight
    a = design.activate(block, theta, Z)
    log_p, slope, curvature = likelihood.derivatives(a, t)
    if not (exact or likelihood.is_log_concave):
        curvature = likelihood.safe_curvature(a, t)
    gram = partial(design.gram, block, Z=Z, single=single)
    if isinstance(curvature, Covariances):
        hess = _hessian_of_pairs(lambda j, k: gram(-_weighted(curvature.block(j, k), weight)), len(theta), design.width)
    else:
        hess = gram(_weighted(curvature, weight))
    value = log_p.sum() if weight is None else log_p @ weight
    return ValueGradHess(-float(value), -design.collect(block, _weighted(slope, weight), Z), hess)


@device_aware
def max_slope_change(
    block: Block,
    theta: Float,
    V: Float,
    likelihood: Likelihood,
    design: Design,
    Z: Array | None = None,
    curved_at: Float | None = None,
    enough: float = 0.0,
) -> Largest:
    """Largest change of a row's slope, relative to the slope at θ, if θ moves by V and slopes are linear.

    Their curvatures are those at ``curved_at``, by default θ. For K classes it is an upper bound: class k has
    p_k (a_k - p'a) with a = V φ̃ in place of the change, and |a_k - p'a| <= max a - min a. For labels of two classes, an
    upper bound is returned if it is below ``enough``: curvature / slope is below 1 (logit) or |a| + 0.8 (probit).
    """
    rows, Z = (block, Z) if block.weight is None else (block.take(block.weight > 0), None)
    bare = rows if rows.offset is None else replace(rows, offset=None)
    if len(V) > 1:
        change = _largest_differences(bare, V, design)
        if curved_at is not None:  # p_k changes at most by the factor exp(max a - min a)
            with np.errstate(over="ignore", invalid="ignore"):
                change *= np.exp(_largest_differences(bare, theta - curved_at, design))
            change[np.isnan(change)] = np.inf  # 0 times infinity is no bound
        return Largest(float(change.max(initial=0.0)))
    A, t = np.abs(design.activate(bare, V, Z)), rows.targets
    is_label = getattr(t.dtype, "kind", "f") in "iu"  # a tensor has another dtype
    if curved_at is None and is_label and type(likelihood) in COMPILED_LAWS:
        ratio = 1.0 if type(likelihood) is Logit else np.abs(design.activate(rows, theta, Z)) + 0.8
        bound = float((A * ratio).max(initial=0.0))
        if bound < enough:
            return Largest(bound)
    _, slope, curvature = likelihood.derivatives(design.activate(rows, theta), t)
    if curved_at is not None:
        curvature = likelihood.derivatives(design.activate(rows, curved_at), t).curvature
    change, slope = np.abs(curvature) * A, np.abs(slope)
    share = np.divide(change, slope, out=np.where(change > 0, np.inf, 0.0), where=slope > 0)
    return Largest(float(share.max(initial=0.0)))


def _largest_differences(block: Block, V: Float, design: Design) -> Float:
    """max_k a_k - min_k a_k of each row, with a = V φ̃."""
    if not isinstance(block.X, DeviceRows):
        return np.asarray(np.ptp(design.activate(block, V), axis=1))
    A = device_activations(block, V, design)
    return np.asarray(to_host(A.amax(dim=1) - A.amin(dim=1)))


@device_aware
def negative_smallest_margin(block: Block, theta: Float, design: Design) -> Largest:
    """Minus the smallest margin of a row's class over the best other class; negative if all rows are correct."""
    rows = block if block.weight is None else block.take(block.weight > 0)
    if isinstance(rows.X, DeviceRows) and len(rows):
        A, codes = device_activations(rows, theta, design), rows.X.on(rows.codes).long()
        if A.ndim == 1:
            return Largest(float(((1 - 2 * codes) * A).max()))
        own = A.gather(1, codes[:, None])[:, 0]
        return Largest(float((A.scatter_(1, codes[:, None], -np.inf).amax(dim=1) - own).max()))
    A = design.activate(rows, theta)
    if A.ndim == 1:
        return Largest(float(np.where(rows.codes > 0, -A, A).max(initial=-np.inf)))
    own = np.take_along_axis(A, rows.codes[:, None], axis=1)[:, 0]
    np.put_along_axis(A, rows.codes[:, None], -np.inf, axis=1)
    return Largest(float((A.max(axis=1) - own).max(initial=-np.inf)))


@device_aware
def log_det_slope(
    block: Block, theta: Float, root: Float, likelihood: Any, design: Design, *, single: bool = False
) -> Grad:
    """∂ ln |A|/∂θ of the Hessian A of -ln p, (C, P), on one block; ``root`` is R with A⁻¹ = R R'.

    It is Σ_n weight_n ∂ tr(V_n C_n)/∂a ⊗ φ̃_n with V_n = cov a_n under A⁻¹ and C_n = -∂² ln p/∂a∂a'. The term of a row
    is a third derivative of ln p times a variance. With ``single``, variances of one output are in single precision.
    """
    C = len(theta)
    if isinstance(block.X, DeviceRows) and type(likelihood) in (*SKEWS, Softmax):
        change = _device_change(block, theta, root, likelihood, design)
        return Grad(design.collect(block, _weighted(change, block.X.on(block.weight))))
    a, t = design.activate(block, theta), block.targets
    if C == 1:
        change = likelihood.skew(a, t) * design.row_variance(block.X, root, single=single)
        return Grad(design.collect(block, _weighted(change, block.weight)))
    change = np.empty_like(a)
    for rows in gen_batches(len(a), max(1, MAX_SPREAD_ENTRIES // (C * len(root)))):
        spread = activation_spreads(design.regressors(block.X[rows]), root, C)
        curvature = likelihood.derivatives(a[rows], t[rows]).curvature
        change[rows] = _categorical_change(curvature.p, spread)
        if curvature.q is not None:
            change[rows] -= _categorical_change(curvature.q, spread)
    return Grad(design.collect(block, _weighted(change, block.weight)))


def _device_change(block: Block, theta: Float, root: Float, likelihood: Any, design: Design) -> Any:
    """∂ tr(V_n C_n)/∂a of `log_det_slope` for rows on a device, (n,) or (n, C)."""
    import torch

    rows, rest = design.shifted(block.X)
    (C, P), M, a = theta.shape, len(rest), device_activations(block, theta, design)
    of_classes = root.reshape(C, P, -1)
    shift = (of_classes[:, M] if design.bias else 0.0) - rest @ of_classes[:, :M]
    if C == 1:
        return SKEWS[type(likelihood)](a) * rows.row_squares(of_classes[0, :M], shift[0])
    R, bias, p = rows.on(of_classes[:, :M]), rows.on(shift), torch.softmax(a, dim=1)
    change = torch.empty_like(a)
    for part in gen_batches(len(a), max(1, MAX_DEVICE_SPREAD // (C * len(root)))):
        S = (rows.tensor[part].double() @ R).swapaxes(0, 1) + bias
        change[part] = _categorical_change(p[part], S)
    return change


def activation_spreads(Phi: Float, root: Float, C: int) -> Float:
    """S_n (C, CP) of each row φ̃_n, with cov a_n = S_n S_n'; R = ``root`` is upper triangular with R R' = cov θ."""
    P = Phi.shape[1]
    spread = np.zeros((Phi.shape[0], C, C * P))
    for k in range(C):  # class k has zeros in the columns of earlier classes
        spread[:, k, k * P :] = Phi @ root[k * P : (k + 1) * P, k * P :]
    return spread


def _categorical_change(p: Any, S: Any) -> Any:
    """∂/∂a of tr V (diag p - p p') with V = S S' and ∂p/∂a = diag p - p p', for arrays or tensors.

    It equals p (h - p'h) with h = diag V - 2 V p. V itself would take most of the time, and is not formed.
    """
    h = (S * S).sum(axis=2) - 2 * (S @ (p[:, None, :] @ S).swapaxes(1, 2))[:, :, 0]
    return p * (h - (p * h).sum(axis=1)[:, None])


def _weighted(values: Any, weight: Any) -> Any:
    """Values (n,) or (n, C) times the weight of each row."""
    if weight is None:
        return values
    return values * (weight if values.ndim == 1 else weight[:, None])


def _hessian_of_pairs(pair: Callable[[int, int], Float], K: int, P: int) -> Float:
    """Hessian (KP, KP) of the softmax from Σ p_j p_k φ̃ φ̃' (P, P) for each pair of classes j > k.

    The likelihood does not change if a constant is added to all activations, so each row of blocks sums to zero.
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
    """L, gradient and Hessian of rows on a GPU; ``hessian`` is "none", "rough" (for a preconditioner) or "full"."""
    if (len(theta) == 1 or block.targets.ndim == 1) and has_kernels(block.X, len(theta)):
        return _kernel_objective(block, theta, likelihood, design, hessian=hessian)
    weight = block.X.on(block.weight)
    a = device_activations(block, theta, design)
    log_p, slope, curvature = DERIVATIVES[type(likelihood)](a, block.X.on(block.t))
    value = -float(_weighted(log_p, weight).sum())
    grad = -design.collect(block, _weighted(slope, weight))
    return value, grad, None if hessian == "none" else _device_hessian(block, curvature, design)


def device_activations(block: Block, theta: Float, design: Design) -> Any:
    """`Design.activate` of rows on a device, with the result there, in float64."""
    rows, rest = design.shifted(block.X)
    W = theta[:, : len(rest)]
    A = (rows.tensor @ rows.like(W.T)).double() + rows.on((theta[:, -1] if design.bias else 0.0) - W @ rest)
    if block.offset is not None:
        A += rows.on(block.offset)[:, None]
    return A[:, 0] if len(theta) == 1 else A


def _device_hessian(block: Block, curvature: Any, design: Design) -> Float:
    """Hessian from the curvatures (n,) of one output, or the probabilities (n, K) of a softmax, on the device."""
    weight = block.X.on(block.weight)

    def gram(curvature: Array) -> Float:
        product = gram_with_bias(block.X, design.origin, design.bias, _weighted(curvature, weight))
        return design.without_constants(product)

    if curvature.ndim == 1:
        return gram(curvature)
    return _hessian_of_pairs(lambda j, k: gram(curvature[:, j] * curvature[:, k]), curvature.shape[1], design.width)


def _kernel_objective(
    block: Block, theta: Float, likelihood: Likelihood, design: Design, *, hessian: str
) -> tuple[float, Float, Any]:
    """L, gradient and Hessian of float32 rows on CUDA, each read once. For two classes, the host waits at most twice.

    The kernel needs only differences of activations, so class 0 of a softmax has no weights there.
    """
    import torch

    from separatrix.stats._triton import objective_pass, split_gram

    rows, M = block.X, len(design.origin)
    difference = theta if len(theta) == 1 else theta[1:] - theta[0]
    rest = np.zeros(M) if design.subtract else design.origin
    bias = (difference[:, M] if design.bias else 0.0) - difference[:, :M] @ rest
    with_curvature = hessian != "none" and len(theta) == 1
    origin = rows.like(design.origin) if design.subtract or with_curvature else None
    sums, A, curvature = objective_pass(
        rows.tensor,
        rows.like(difference[:, :M]),
        origin if design.subtract else None,
        rows.like(bias),
        tuple(rows.on(array) for array in (block.t, block.weight, block.offset)),
        is_probit=type(likelihood) is Probit,
        with_curvature=with_curvature,
    )
    product = (
        split_gram(rows.tensor, origin, curvature, CHUNK_ROWS, rough=hessian == "rough") if with_curvature else None
    )
    found, D = to_host(sums), len(difference)
    (value, bend), slope, slopes, bends = np.split(found, np.cumsum([2, D, D * M]))
    grad = np.column_stack([np.outer(slope, rest) - slopes.reshape(D, M), -slope])[:, : design.width]
    if len(theta) > 1:
        grad = np.vstack([-grad.sum(axis=0), grad])
    grad = design.without_constants(grad, is_gradient=True)
    if hessian == "none":
        return -float(value), grad, None
    if product is None:
        P = torch.softmax(torch.nn.functional.pad(A, (1, 0)), dim=1)
        return -float(value), grad, _device_hessian(block, P, design)
    H = bordered(to_host(product), bends - bend * rest if design.bias else None, bend)
    return -float(value), grad, design.without_constants(H)


@device_aware
def class_grams(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> Grad:
    """Diagonal blocks of the Hessian on one block of rows, (C, P, P)."""
    if isinstance(block.X, DeviceRows) and type(likelihood) is Softmax:
        P = device_activations(block, theta, design).softmax(dim=1)
        weight = block.X.on(block.weight)
        entries = (_weighted(P[:, k] * (1.0 - P[:, k]), weight) for k in range(len(theta)))
        grams = (gram_with_bias(block.X, design.origin, design.bias, entry) for entry in entries)
        return Grad(np.stack([design.without_constants(product) for product in grams]))
    curvature = likelihood.safe_curvature(design.activate(block, theta), block.targets)
    assert isinstance(curvature, Covariances), "class_grams needs several outputs"
    weight = 1.0 if block.weight is None else block.weight
    bends = [weight * curvature.block(k, k) for k in range(len(theta))]
    blocks = np.empty((len(theta), design.width, design.width))
    for k, bend in enumerate(bends):  # at θ = 0, where most fits start, all classes have the same curvatures
        blocks[k] = blocks[0] if k and np.array_equal(bend, bends[0]) else design.gram(block, bend, single=True)
    return Grad(blocks)
