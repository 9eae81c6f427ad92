# SPDX-License-Identifier: BSD-3-Clause
"""How much to trust correlations: Σ_λ = (1 - λ) S/n + λ D, with D = diag of the within-class covariance.

D is diagonal in the data's own units, so λ has none, and no answer depends on metres or millimetres.

    a number           λ itself
    "ledoit-wolf"      the λ that minimises the expected squared error of C = D^-½ S/N D^-½, as estimated by Ledoit &
                       Wolf (2004): λ = Σ_n |z_n z_n' - C|² / (N² |C - I|²), z_n standardised rows. One more pass.
    "evidence"         λ = c / (c + n) for the inverse-Wishart prior IW(c D, c + M + 1), worth c rows, whose marginal
                       likelihood is largest. No validation set, no more passes: eigenvalues of the correlation matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import digamma, multigammaln

from separatrix._array import Float, bincount, to_dense
from separatrix.rows import Block

__all__ = ["FourthMoment", "fourth_moment", "ledoit_wolf", "most_evident", "spectrum"]


@dataclass(frozen=True, slots=True)
class FourthMoment:
    """Σ_n weight_n |z_n|⁴ for each class, (K,)."""

    total: Float

    def __add__(self, other: FourthMoment) -> FourthMoment:
        """Sums add."""
        return FourthMoment(self.total + other.total)


def fourth_moment(block: Block, mean: Float, scale: Float) -> FourthMoment:
    """Of rows standardised by the mean (K, M) of their class and a common scale (M,)."""
    Z = (to_dense(block.X) - mean[block.codes]) / scale
    squares = np.einsum("nm,nm->n", Z, Z) ** 2
    weighted = squares if block.weight is None else block.weight * squares
    return FourthMoment(bincount(block.codes, weighted, len(mean)))


def spectrum(S: Float, D: Float, *, factored: bool) -> Float:
    """Eigenvalues (M,) of D^-½ S D^-½, for S (M, M), or for S = F'F given as rows F."""
    root = np.sqrt(D)
    if not factored:
        return np.asarray(linalg.eigvalsh(S / np.outer(root, root)))
    e = np.zeros(len(D))
    s = linalg.svdvals(S / root)
    e[: len(s)] = s**2
    return e


def ledoit_wolf(e: Float, N: float, fourth: float) -> float:
    """λ from the eigenvalues of N C, the number of rows N, and Σ_n |z_n|⁴.

    Σ_n |z z' - C|² = Σ_n |z|⁴ - N |C|², because the z z' average to C.
    """
    c = e / N
    away = float(np.square(c - 1).sum())  # |C - I|²
    noise = (fourth / N - float(np.square(c).sum())) / N
    return 1.0 if away == 0 else float(np.clip(noise / away, 0.0, 1.0))


def most_evident(e: Float, n: float) -> float:
    """λ that maximises the marginal likelihood of a scatter with n degrees of freedom.

    ``e`` are the eigenvalues of D^-½ S D^-½. With ν = c + M + 1 and up to a constant,
    ln p(S | c) = ln Γ_M((ν+n)/2) - ln Γ_M(ν/2) + ν/2 M ln c - (ν+n)/2 Σ ln(c + e_m).
    """
    from scipy.optimize import brentq

    if n <= 0:  # nothing was seen but the prior
        return 1.0
    M, e = len(e), np.maximum(e, 0.0)
    half = np.arange(M) / 2

    def evidence(log_c: float) -> float:
        c = np.exp(log_c)
        nu = c + M + 1
        gammas = multigammaln((nu + n) / 2, M) - multigammaln(nu / 2, M)
        return float(gammas + nu / 2 * M * log_c - (nu + n) / 2 * np.log(c + e).sum())

    def slope(log_c: float) -> float:
        c = np.exp(log_c)
        nu = c + M + 1
        digammas = (digamma((nu + n) / 2 - half) - digamma(nu / 2 - half)).sum()
        return float(digammas + M * log_c + nu * M / c - np.log(c + e).sum() - (nu + n) * (1 / (c + e)).sum())

    # A grid brackets the highest peak; the root of the slope is then exact, where a search for the top would not be.
    grid = np.log(n) + np.linspace(-14, 14, 57)
    top = int(np.argmax([evidence(x) for x in grid]))
    low, high = grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)]
    inside = slope(low) > 0 > slope(high)
    c = float(np.exp(brentq(slope, low, high, xtol=1e-14) if inside else grid[top]))
    return c / (c + n)
