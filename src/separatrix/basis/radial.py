# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian functions φ_m(x) = exp(-|x - c_m|² / 2s²) with one or several widths, and random cosines.   PRML (3.4)

Squared distances are computed as |z|² + |c|² - 2 z'c, with one matrix product per block. Rows z and centres c are first
shifted by the median of the centres, because data around 1e7 would otherwise lose all precision in the difference. The
error is about ε|z|², so distances of rows that are many widths away from the median are computed from differences.

By default the width is the largest spacing of a grid of centres; for other centres it is the median distance between
two rows over √2, so that a typical pair of rows has φ = 1/e.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import threadpoolctl

from separatrix._arguments import check_count, check_numbers, check_option, check_positive, generator
from separatrix._array import Float, Rows, is_sparse, to_dense
from separatrix.basis.base import MAX_FUNCTIONS, AbstractBasis
from separatrix.basis.survey import SURVEY_ROWS, marks, survey
from separatrix.exceptions import DataError
from separatrix.rows import DeviceRows, RowMap, Source

FAR_SQUARED_WIDTHS = 1_000  # |z|² / s² above which distances are recomputed: the exponent of φ has lost three digits
MIN_SQUARED_WIDTH = float(np.finfo(np.float64).tiny)  # narrower functions are 1 at their centre and 0 elsewhere
FAR_ROWS_PER_BATCH = 256  # rows whose distances are recomputed at a time, to limit memory
GRID_CENTRES = 5  # default number of centres along each column
SAMPLED_CENTRES = 100  # default number of centres that are drawn from the rows or found by k-means
WIDTH_ROWS = 1_000  # number of rows whose distances determine the default width
MAX_DATA_CENTRES = 20_000
MAX_GRID_CENTRES = 100_000


#: Centres (M, D), and a function that returns a suitable width.
Placement = tuple[Float, Callable[[], float]]


@dataclass(frozen=True)
class Gaussians:
    """Gaussians for each pair of a width (S,) and a centre (C, D): M = S C functions, ordered by width."""

    centres: Float
    widths: Float
    is_device_aware: ClassVar[bool] = True

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M). The functions of the last width overwrite the distances, which saves memory."""
        if isinstance(X, DeviceRows):
            return X.mapped(gaussians, self.centres, self.widths, self._offset)
        X = to_dense(X)
        n, S, C = len(X), len(self.widths), len(self.centres)
        Phi = np.empty((n, S, C), X.dtype)
        squared, offset = Phi[:, -1], self._offset
        Z = np.subtract(X, offset, out=np.empty_like(X))  # computed in float64, then rounded if X is float32
        centres = (self.centres - offset).astype(X.dtype, copy=False)
        np.matmul(Z, centres.T, out=squared)
        squared *= -2
        squared += np.einsum("md,md->m", centres, centres)
        length = np.einsum("nd,nd->n", Z, Z)
        squared += length[:, None]
        np.maximum(squared, 0, out=squared)
        far = np.flatnonzero(length > FAR_SQUARED_WIDTHS * self.widths.min() ** 2)
        for start in range(0, len(far), FAR_ROWS_PER_BATCH):
            from scipy.spatial.distance import cdist

            rows = far[start : start + FAR_ROWS_PER_BATCH]
            rows = rows[np.isfinite(X[rows]).all(axis=1)]  # rows with infinite values keep φ = NaN
            squared[rows] = cdist(X[rows], self.centres, "sqeuclidean")
        for s, width in enumerate(self.widths):
            np.multiply(squared, float(-0.5 / max(width**2, MIN_SQUARED_WIDTH)), out=Phi[:, s])
            np.exp(Phi[:, s], out=Phi[:, s])
        return Phi.reshape(n, S * C)

    @cached_property
    def _offset(self) -> Float:
        """Median of the centres, because outliers hardly change it."""
        return np.asarray(np.median(self.centres, axis=0))

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names ``rbf0``, ``rbf1``, ...; with several widths ``rbf0_0``, with the number of width and of centre."""
        C, S = len(self.centres), len(self.widths)
        if S == 1:
            return tuple(f"rbf{m}" for m in range(C))
        return tuple(f"rbf{s}_{m}" for s in range(S) for m in range(C))


def gaussians(X: Any, centres: Any, widths: Any, offset: Any) -> Any:
    """`Gaussians` of a tensor, with distances in float64, so that rows far from all centres keep their precision."""
    Z, C = X + (X - X) - offset, centres - offset  # infinity becomes NaN; its φ would be 0
    squared = (Z @ C.T).mul_(-2.0).add_((C**2).sum(dim=1)).add_((Z**2).sum(dim=1, keepdim=True)).clamp_(min=0.0)
    squared = squared.to(X.dtype)[:, None]
    return (squared * (-0.5 / widths**2).to(X.dtype)[:, None]).exp_().reshape(len(X), -1)


class RBF(AbstractBasis):
    """Gaussian radial basis functions φ_m(x) = exp(-|x - c_m|² / 2s²).

    All columns have the same width s, so scale the columns to comparable units first. The constant φ_0 = 1 is
    the model's ``fit_intercept``.

    Parameters
    ----------
    centres : str or array-like of shape (M, D)
        Centres c_m: ``"data"`` (every training row, at most 20 000), ``"grid"`` (regular, over the range of each
        column), ``"kmeans"`` (cluster means of a sample of 10 000 rows), ``"random"`` (rows drawn uniformly), or an
        array with one centre per row.
    n_centres : int, optional
        Number of centres M for ``"kmeans"`` and ``"random"`` (None: 100, or all rows if there are fewer). For
        ``"grid"``, the number along *each* column (None: 5), so that M = n_centres^D, at most 100 000.
    width : float, optional
        Width s. None: for a grid its largest spacing, otherwise the median distance between rows over √2.
    rng : int or Generator, optional
        Seed or ``numpy.random.Generator`` for random centres. With None a fixed seed is used.

    Attributes
    ----------
    centres_ : ndarray (M, D)
        The centres, one per row.
    width_ : float
        The width s.

    Examples
    --------
    >>> from separatrix.basis import RBF
    >>> RBF(centres=[[0.0], [1.0]], width=1.0).fit_transform([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.1353, 0.6065]])
    """

    def __init__(
        self,
        centres: Any = "data",
        n_centres: int | None = None,
        width: float | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> None:
        self.centres = centres
        self.n_centres = n_centres
        self.width = width
        self.rng = rng

    functions_: Gaussians

    @property
    def centres_(self) -> Float:
        """Centres c_m, one per row."""
        return self.functions_.centres

    @property
    def width_(self) -> float:
        """Width s, given or estimated."""
        return float(self.functions_.widths[0])

    def _functions(self, source: Source) -> RowMap:
        width = None if self.width is None else check_positive("RBF", "width", self.width)
        n = None if self.n_centres is None else check_count("RBF", "n_centres", self.n_centres)
        rng = generator(self.rng)
        if isinstance(self.centres, str):
            kind = check_option("RBF", "centres", self.centres, PLACEMENTS, otherwise=", or give an array")
            points, default_width = PLACEMENTS[kind](source, n, rng)
            return Gaussians(points, np.array([width or default_width()]))
        if n is not None:
            raise ValueError(f"RBF(n_centres={n}): centres is an array; leave n_centres out.")
        points, D = check_numbers("RBF", "centres", self.centres), len(source.columns)
        if points.ndim != 2 or len(points) == 0 or points.shape[1] != D:
            raise ValueError(
                f"RBF(centres=array of shape {points.shape}): the table has {D} columns, so centres must have "
                f"shape (n_centres, {D}), one centre per row."
            )
        if not np.isfinite(points).all():
            bad = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
            raise ValueError(f"RBF(centres=array): centre {bad} is {points[bad]}; centres must be finite.")
        rows = survey(source, WIDTH_ROWS, rng).sample
        return Gaussians(points, np.array([width or _median_width(rows)]))


class MultiScaleRBF(AbstractBasis):
    """Gaussians on a regular grid, with several widths per centre: φ_sm(x) = exp(-|x - c_m|² / 2 v_s).

    The variances decay: v_s = width² decay^s for s = 0 .. n_scales - 1. Wide functions fit the trend, narrow functions
    the detail. The number of functions, M = n_scales n_centres^D, limits this basis to a handful of columns. The
    constant φ_0 = 1 is the model's ``fit_intercept``.

    Parameters
    ----------
    n_centres : int
        Number of centres along each column, from its smallest to its largest value; 5 gives 5 x 5 for two columns.
    n_scales : int
        Number of widths per centre.
    width : float, optional
        The largest width. None: twice the largest spacing of the grid.
    decay : float
        Ratio of each variance to the previous one, in (0, 1).

    Attributes
    ----------
    centres_ : ndarray (n_centres^D, D)
        The centres, one per row.
    widths_ : ndarray (n_scales,)
        The widths, largest first.

    Examples
    --------
    >>> from separatrix.basis import MultiScaleRBF
    >>> basis = MultiScaleRBF(n_centres=5, n_scales=3).fit([[0.0, 0.0], [4.0, 4.0]])
    >>> basis.centres_.shape, basis.widths_.round(3).tolist(), len(basis.get_feature_names_out())
    ((25, 2), [2.0, 1.414, 1.0], 75)
    """

    def __init__(self, n_centres: int = 5, n_scales: int = 3, width: float | None = None, decay: float = 0.5) -> None:
        self.n_centres = n_centres
        self.n_scales = n_scales
        self.width = width
        self.decay = decay

    functions_: Gaussians

    @property
    def centres_(self) -> Float:
        """Centres c_m, one per row."""
        return self.functions_.centres

    @property
    def widths_(self) -> Float:
        """Widths √v_s, the largest first."""
        return self.functions_.widths

    def _functions(self, source: Source) -> RowMap:
        owner = "MultiScaleRBF"
        n = check_count(owner, "n_centres", self.n_centres)
        S = check_count(owner, "n_scales", self.n_scales, most=MAX_FUNCTIONS)
        decay = check_positive(owner, "decay", self.decay)
        if decay >= 1:
            raise ValueError(f"{owner}(decay={self.decay!r}): decay must be below 1, so that widths shrink.")
        width = None if self.width is None else check_positive(owner, "width", self.width)
        points, spacing = grid(source, n, generator(None))
        return Gaussians(points, (width or 2 * spacing()) * decay ** (np.arange(S) / 2))


def grid(source: Source, n: int | None, rng: np.random.Generator) -> Placement:
    """Grid of n^D centres, with n points along each column from its smallest to its largest value."""
    n, D = n or GRID_CENTRES, len(source.columns)
    if n**D > MAX_GRID_CENTRES:
        raise DataError(
            f"A grid of {n} centres along each of D = {D} columns has {n}^{D} points; the limit is "
            f"{MAX_GRID_CENTRES}. Use a smaller n_centres, fewer columns, or RBF(centres='kmeans')."
        )
    ends = marks("grid", source, max(n, 2))
    axes = ends if n > 1 else ends.mean(axis=0, keepdims=True)
    digit = np.arange(n**D)[:, None] // n ** np.arange(D)[::-1] % n  # digits of m in base n
    spacing = float(((ends[-1] - ends[0]) / max(n - 1, 1)).max())
    return axes[digit, np.arange(D)], lambda: spacing


def every_row(source: Source, n: int | None, rng: np.random.Generator) -> Placement:
    """Use all training rows as centres."""
    if n is not None:
        raise ValueError(
            f"RBF(centres='data', n_centres={n}): 'data' makes every row a centre. "
            "Leave n_centres out, or use centres='random' or 'kmeans'."
        )
    if source.n_rows > MAX_DATA_CENTRES:
        raise DataError(
            f"RBF(centres='data') would make each of {source.n_rows} rows a centre; the limit is {MAX_DATA_CENTRES}. "
            "Choose centres='random' or 'kmeans' with n_centres."
        )
    rows = survey(source, source.n_rows).sample
    return rows, lambda: _median_width(rows)


def random_rows(source: Source, n: int | None, rng: np.random.Generator) -> Placement:
    """Draw n rows as centres, uniformly and without replacement."""
    at_most = _at_most_rows(n, source.n_rows)
    rows = survey(source, max(at_most, WIDTH_ROWS), rng).sample
    n = at_most if at_most <= len(rows) else _at_most_rows(n, len(rows))  # rows without a weight are not in the sample
    chosen = rng.choice(len(rows), n, replace=False, shuffle=False)
    return rows[np.sort(chosen)], lambda: _median_width(rows)


def kmeans(source: Source, n: int | None, rng: np.random.Generator) -> Placement:
    """Use the n cluster means of scikit-learn's ``KMeans`` on a uniform sample of rows as centres."""
    from sklearn.cluster import KMeans

    k = _at_most_rows(n, source.n_rows)
    rows = survey(source, max(SURVEY_ROWS, k), rng).sample
    distinct = len(np.unique(rows, axis=0))
    if n is not None and distinct < n:
        raise DataError(
            f"RBF(centres='kmeans', n_centres={n}): only {distinct} of {len(rows)} rows are distinct. "
            f"Use n_centres={distinct} or fewer."
        )
    model = KMeans(min(k, distinct), n_init=1, random_state=int(rng.integers(2**31)))
    with threadpoolctl.threadpool_limits(1, user_api="openmp"):  # its sums depend on the number of threads
        model.fit(rows)
    return model.cluster_centers_, lambda: _median_width(rows)


PLACEMENTS = {"data": every_row, "grid": grid, "kmeans": kmeans, "random": random_rows}


def _median_width(rows: Float) -> float:
    """Median distance between two distinct rows, over √2; 1 if all rows are equal."""
    from scipy.spatial.distance import pdist

    if len(rows) > WIDTH_ROWS:
        rows = rows[generator(None).choice(len(rows), WIDTH_ROWS, replace=False, shuffle=False)]
    distance = pdist(rows)  # computed from differences, so no digits are lost if rows are far from zero
    distance = distance[distance > 0]
    return float(np.median(distance) / np.sqrt(2)) if len(distance) else 1.0


def _at_most_rows(n: int | None, n_rows: int) -> int:
    if n is None:
        return min(SAMPLED_CENTRES, n_rows)
    if n > n_rows:
        raise DataError(f"RBF(n_centres={n}): the table has n_samples = {n_rows}. Use at most that many centres.")
    return n


@dataclass(frozen=True)
class Cosines:
    """Functions φ_m(x) = √(2/M) cos(ω_m'(x - x0) + b_m), with ω (D, M) drawn for width s, b (M,) and x0 (D,)."""

    frequencies: Float
    phases: Float
    offset: Float
    width: float
    is_device_aware: ClassVar[bool] = True

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M), which is always dense; sparse rows are multiplied without converting them."""
        if isinstance(X, DeviceRows):
            return X.mapped(cosines, self.frequencies, self.phases, self.offset)
        omega = self.frequencies.astype(X.dtype, copy=False)
        if is_sparse(X):
            A = np.asarray(X @ omega)
            A += (self.phases - self.offset @ self.frequencies).astype(X.dtype)
        else:
            Z = np.subtract(X, self.offset, out=np.empty_like(X))  # computed in float64, then rounded if X is float32
            A = Z @ omega
            A += self.phases.astype(X.dtype)
        np.cos(A, out=A)
        A *= float(np.sqrt(2 / len(self.phases)))
        return A

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names ``fourier0``, ``fourier1``, ..."""
        return tuple(f"fourier{m}" for m in range(len(self.phases)))


def cosines(X: Any, frequencies: Any, phases: Any, offset: Any) -> Any:
    """`Cosines` of a tensor."""
    A = (X - offset).to(X.dtype) @ frequencies.to(X.dtype) + phases.to(X.dtype)
    return A.cos_() * float(np.sqrt(2 / len(phases)))


class RandomFourier(AbstractBasis):
    """Random cosines that approximate a Gaussian kernel: φ_m(x) = √(2/M) cos(ω_m'(x - x0) + b_m).

    With ω_m ~ N(0, I/s²) and b_m uniform on [0, 2π], E[φ(x)'φ(x')] = exp(-|x - x'|² / 2s²), with an error that shrinks
    as 1/√M (Rahimi & Recht 2007). This basis approximates `RBF` with a centre on every row, but M does not grow with
    the number of rows. x0, the median of a sample of rows, only shifts the phases; it avoids a loss of digits if the
    data are far from zero. The constant φ_0 = 1 is the model's ``fit_intercept``.

    Parameters
    ----------
    n_features : int
        Number of functions M. The error of the kernel is about 1/√M.
    width : float, optional
        Width s. None: the median distance between two rows, over √2.
    rng : int or Generator, optional
        Seed or ``numpy.random.Generator`` for ω and b. With None a fixed seed is used.

    Attributes
    ----------
    width_ : float
        The width s.

    Examples
    --------
    >>> from separatrix.basis import RandomFourier
    >>> Phi = RandomFourier(n_features=20_000, width=1.0).fit_transform([[0.0], [1.0]])
    >>> bool(abs(Phi[0] @ Phi[1] - 0.6065) < 0.02)
    True
    """

    def __init__(self, n_features: int = 100, width: float | None = None, rng: Any = None) -> None:
        self.n_features = n_features
        self.width = width
        self.rng = rng

    functions_: Cosines

    @property
    def width_(self) -> float:
        """Width s, given or estimated."""
        return self.functions_.width

    def _functions(self, source: Source) -> RowMap:
        M = check_count("RandomFourier", "n_features", self.n_features, most=MAX_FUNCTIONS)
        width = None if self.width is None else check_positive("RandomFourier", "width", self.width)
        rng = generator(self.rng)
        omega = rng.standard_normal((len(source.columns), M))
        phases = rng.uniform(0, 2 * np.pi, M)
        rows = survey(source, WIDTH_ROWS, rng).sample
        s = width or _median_width(rows)
        with np.errstate(over="ignore"):
            omega /= s
        if not np.isfinite(omega).all():
            raise DataError(
                f"RandomFourier has the width {s:.3g}, which is too small to divide by. Choose a larger width, or "
                "scale the columns of X to unit variance."
            )
        return Cosines(omega, phases, np.median(rows, axis=0), s)
