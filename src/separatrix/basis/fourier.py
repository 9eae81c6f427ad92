# SPDX-License-Identifier: BSD-3-Clause
"""Random Fourier features: M cosines whose inner product is, on average, a Gaussian kernel.

E[φ(x)'φ(x')] = exp(-|x - x'|² / 2s²), with an error that shrinks as 1/√M (Rahimi & Recht 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._arguments import check_count, check_positive, generator
from separatrix._array import Array, Float, Rows, is_sparse
from separatrix.basis.base import AbstractBasis
from separatrix.basis.centres import PAIRS, median_width
from separatrix.basis.survey import survey
from separatrix.rows import RowMap, Source

__all__ = ["RandomFourier"]


@dataclass(frozen=True)
class Cosines:
    """φ_m(x) = √(2/M) cos(ω_m'(x - x0) + b_m): ω is (D, M), drawn for width s; b is (M,) and x0 is (D,)."""

    frequencies: Float
    phases: Float
    offset: Float
    width: float

    def evaluate(self, X: Rows) -> Array:
        """Φ (n, M). Sparse rows stay sparse in the product; Φ itself has no zeros."""
        omega = self.frequencies.astype(X.dtype, copy=False)
        if is_sparse(X):
            A = np.asarray(X @ omega)
            A += (self.phases - self.offset @ self.frequencies).astype(X.dtype)
        else:
            Z = np.subtract(X, self.offset, out=np.empty_like(X))  # in float64, then rounded where X is float32
            A = Z @ omega
            A += self.phases.astype(X.dtype)
        np.cos(A, out=A)
        A *= float(np.sqrt(2 / len(self.phases)))
        return A

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """``fourier0, fourier1, ...``"""
        return tuple(f"fourier{m}" for m in range(len(self.phases)))


class RandomFourier(AbstractBasis):
    """Random cosines that stand for a Gaussian kernel: φ_m(x) = √(2/M) cos(ω_m'(x - x0) + b_m).

    With ω_m ~ N(0, I/s²) and b_m uniform on [0, 2π], φ(x)'φ(x') tends to exp(-|x - x'|² / 2s²) as M grows:
    what `RBF` with a centre on every row spans, at a cost that does not grow with the number of rows.
    x0, the median of a sample of rows, turns the phases and nothing else; it keeps digits where the data lie
    far from zero. The constant φ_0 = 1 is the model's ``fit_intercept``.

    Parameters
    ----------
    n_features
        M. The kernel is met to about 1/√M.
    width
        s. None: the median distance between two rows, over √2.
    rng
        Seed or ``numpy.random.Generator`` for ω and b. None is a fixed seed: equal fits agree.

    Attributes
    ----------
    width_ : float

    Examples
    --------
    >>> from separatrix.basis import RandomFourier
    >>> Phi = RandomFourier(n_features=20_000, width=1.0).fit_transform([[0.0], [1.0]])
    >>> bool(abs(Phi[0] @ Phi[1] - 0.6065) < 0.02)
    True
    """

    def __init__(
        self,
        n_features: int = 100,
        width: float | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> None:
        self.n_features = n_features
        self.width = width
        self.rng = rng

    functions_: Cosines

    @property
    def width_(self) -> float:
        """s, as given or as found."""
        return self.functions_.width

    def _functions(self, source: Source) -> RowMap:
        M = check_count("RandomFourier", "n_features", self.n_features)
        width = None if self.width is None else check_positive("RandomFourier", "width", self.width)
        rng = generator(self.rng)
        omega = rng.standard_normal((len(source.columns), M))
        phases = rng.uniform(0, 2 * np.pi, M)
        rows = survey(source, PAIRS, rng).sample
        s = width or median_width(rows)
        return Cosines(omega / s, phases, np.median(rows, axis=0), s)
