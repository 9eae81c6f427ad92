# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian radial functions φ_m(x) = exp(-|x - c_m|² / 2s²), on one scale or several.   PRML (3.4)

Distances come from |z|² + |c|² - 2 z'c, one matrix product per block, after an offset in the middle of the centres
has been taken from both: without that, data at 1e7 would leave no digits in the difference. The sum is wrong by about
ε|z|², so where |z| is many widths the distances of that row are found again from the differences themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix._arguments import check_count, check_option, check_positive, generator
from separatrix._array import Array, Codes, Float, Rows, to_dense
from separatrix.basis.base import AbstractBasis
from separatrix.basis.centres import PLACEMENTS, given, grid
from separatrix.rows import RowMap, Source

__all__ = ["RBF", "MultiScaleRBF"]

FAR = 1_000  # |z|² / s² from which a row is far: the exponent of φ has lost three digits there
FAR_ROWS = 256  # far rows at a time, so that they take little memory


@dataclass(frozen=True)
class Gaussians:
    """Every centre (C, D) at every width (S,), width by width: M = S C functions."""

    centres: Float
    widths: Float

    def evaluate(self, X: Rows) -> Array:
        """Φ (n, M), with no other array of that size: the last scale is written over the distances."""
        X = to_dense(X)
        n, S, C = len(X), len(self.widths), len(self.centres)
        Phi = np.empty((n, S, C), X.dtype)
        squared = self._squared_distances(X, out=Phi[:, -1])
        for s, width in enumerate(self.widths):
            np.multiply(squared, float(-0.5 / width**2), out=Phi[:, s])
            np.exp(Phi[:, s], out=Phi[:, s])
        return Phi.reshape(n, S * C)

    def _squared_distances(self, X: Array, out: Array) -> Array:
        """|x_n - c_m|², never negative."""
        Z = np.subtract(X, self._offset, out=np.empty_like(X))  # in float64, then rounded where X is float32
        C = self._about_offset.astype(X.dtype, copy=False)
        np.matmul(Z, C.T, out=out)
        out *= -2
        out += np.einsum("md,md->m", C, C)
        length = np.einsum("nd,nd->n", Z, Z)
        out += length[:, None]
        np.maximum(out, 0, out=out)
        self._by_differences(X, np.flatnonzero(length > FAR * self.widths.min() ** 2), out)
        return out

    def _by_differences(self, X: Array, far: Codes, out: Array) -> None:
        """Overwrite the far rows of ``out`` with Σ_d (x_d - c_d)², in float64."""
        from scipy.spatial.distance import cdist

        for start in range(0, len(far), FAR_ROWS):
            rows = far[start : start + FAR_ROWS]
            rows = rows[np.isfinite(X[rows]).all(axis=1)]  # at infinity φ stays NaN, so that it shows
            out[rows] = cdist(X[rows], self.centres, "sqeuclidean")

    @cached_property
    def _offset(self) -> Float:
        """The median of each column: one outlier among the centres does not move it."""
        return np.asarray(np.median(self.centres, axis=0))

    @cached_property
    def _about_offset(self) -> Float:
        return self.centres - self._offset

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """``rbf0, rbf1, ...``; with several widths ``rbf0_0``: the scale, then the centre."""
        C, S = len(self.centres), len(self.widths)
        if S == 1:
            return tuple(f"rbf{m}" for m in range(C))
        return tuple(f"rbf{s}_{m}" for s in range(S) for m in range(C))


class AbstractRadial(AbstractBasis):
    """What bases of Gaussians share."""

    functions_: Gaussians

    @property
    def centres_(self) -> Float:
        """c_m, one per row."""
        return self.functions_.centres


class RBF(AbstractRadial):
    """Gaussian bumps: φ_m(x) = exp(-|x - c_m|² / 2s²).

    One width s serves all columns, so bring the columns to comparable units first. The constant φ_0 = 1 is
    the model's ``fit_intercept``.

    Parameters
    ----------
    centres
        The c_m: ``"data"`` (every training row, at most 20 000), ``"grid"`` (regular, over the range of each
        column), ``"kmeans"`` (of a sample of 10 000 rows), ``"random"`` (rows drawn uniformly), or an array
        with one centre per row.
    n_centres
        M for ``"kmeans"`` and ``"random"`` (None: 100, or every row where there are fewer). For ``"grid"``
        the number along *each* column (None: 5), so that M = n_centres^D, at most 100 000.
    width
        s. None: for a grid its largest spacing, otherwise the median distance between rows over √2.
    rng
        Seed or ``numpy.random.Generator`` for what is drawn. None is a fixed seed: equal fits agree.

    Attributes
    ----------
    centres_ : ndarray (M, D)
    width_ : float

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

    @property
    def width_(self) -> float:
        """s, as given or as found."""
        return float(self.functions_.widths[0])

    def _functions(self, source: Source) -> RowMap:
        width = None if self.width is None else check_positive("RBF", "width", self.width)
        n = None if self.n_centres is None else check_count("RBF", "n_centres", self.n_centres)
        rng = generator(self.rng)
        if isinstance(self.centres, str):
            kind = check_option("RBF", "centres", self.centres, PLACEMENTS, otherwise=", or give an array")
            found = PLACEMENTS[kind](source, n, rng)
        elif n is None:
            found = given(source, self.centres, rng)
        else:
            raise ValueError(f"RBF(n_centres={n}): an array of centres was given too; leave n_centres out.")
        return Gaussians(found.points, np.array([width or found.width]))


class MultiScaleRBF(AbstractRadial):
    """Gaussian bumps on a regular grid, each centre at several widths: φ_sm(x) = exp(-|x - c_m|² / 2 v_s).

    The variances decay: v_s = width² decay^s for s = 0 .. n_scales - 1. Wide functions carry the trend,
    narrow ones the detail. M = n_scales n_centres^D, so this is for a handful of columns. The constant
    φ_0 = 1 is the model's ``fit_intercept``.

    Parameters
    ----------
    n_centres
        Centres along each column, from its smallest to its largest value: 5 gives 5 x 5 in two columns.
    n_scales
        Number of widths per centre.
    width
        The widest. None: twice the largest spacing of the grid.
    decay
        Each variance as a share of the one before, in (0, 1).

    Attributes
    ----------
    centres_ : ndarray (n_centres^D, D)
    widths_ : ndarray (n_scales,)

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

    @property
    def widths_(self) -> Float:
        """√v_s, widest first."""
        return self.functions_.widths

    def _functions(self, source: Source) -> RowMap:
        owner = "MultiScaleRBF"
        n = check_count(owner, "n_centres", self.n_centres)
        S = check_count(owner, "n_scales", self.n_scales)
        decay = check_positive(owner, "decay", self.decay)
        if decay >= 1:
            raise ValueError(f"{owner}(decay={self.decay!r}): decay must be below 1, or widths do not shrink.")
        width = None if self.width is None else check_positive(owner, "width", self.width)
        found = grid(source, n, generator(None))
        return Gaussians(found.points, (width or 2 * found.width) * decay ** (np.arange(S) / 2))
