# SPDX-License-Identifier: BSD-3-Clause
"""What expectation propagation leaves out first: the third cumulants of pairs of rows.

At the fixed point each tilted density has the mean and variance of q, and differs from it from the third cumulant κ_n
on. In coordinates where q is standard normal, θ = mean + R z and ψ_n = R'φ̃_n, the exact posterior is

    p(θ | D) ∝ q(θ) Π_n (1 + κ_n/(3! var_n³) He_3(ψ_n'z) + ...),         He_3 Hermite's polynomial scaled by var_n

A single He_3 has no mean, variance or normaliser under q: that is why expectation propagation is good. Two of them
have. With u_n = κ_n/var_n³ and the tensor T = Σ_n u_n ψ_n ⊗ ψ_n ⊗ ψ_n, to second order,

    ln p(D)      rises by     1/12 Σ_{n≠m} u_n u_m (ψ_n'ψ_m)³          = 1/12 (|T|² - Σ_n u_n² var_n³)
    Cov[z] - I   is           1/2 Σ_{n≠m} u_n u_m (ψ_n'ψ_m)² ψ_n ψ_m'  = 1/2 (T:T - Σ_n u_n² var_n² ψ_n ψ_n')

Sums over rows, if P³ numbers are held; over pairs of rows, where rows are few. Cost 2/3 N P³ or 4 N² P. The evidence is
that of Opper, Paquet & Winther (2013).

The Gaussian that predicts stays as it was: the variance that is added lies in the long tail of the skewed posterior,
where probabilities are near 0 or 1, and a symmetric Gaussian that wide would put half of it on the wrong side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.ep.sites import Normal, Sites, cavities
from separatrix.bayesian.ep.tilted import tilted
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.rows import Block
from separatrix.solvers import Posterior, factorise

__all__ = ["Pairs", "correct", "is_affordable", "pair_sums"]

FLOPS = 2e10  # a second or two
NUMBERS = 2.5e7  # that may be held at once
LARGEST = 3.0  # a relative change of a variance beyond which a series in it says nothing


class Pairs(NamedTuple):
    """Σ_{n≠m} u_n u_m (ψ_n'ψ_m)³, and Σ_{n≠m} u_n u_m (ψ_n'ψ_m)² ψ_n ψ_m' (P, P)."""

    cubes: float
    squares: Float


def correct(objective: Posterior, ep: Approximation, sites: Sites, q: Normal) -> Approximation:
    """Variances and evidence with third cumulants; as they were where that costs too much or says too much."""
    N, P = objective.source.n_rows, objective.design.width
    if not is_affordable(N, P):
        return ep
    pairs = pair_sums(objective, sites, q)
    with single_thread_blas():
        values, vectors = linalg.eigh(0.5 * pairs.squares)
    if values[0] <= -0.5 or values[-1] > LARGEST:
        return ep
    # A = (DL)(DL)' and R = (DL)^-T, so that the precision of θ is (DL) Cov[z]⁻¹ (DL)'.
    outer = (q.factor.scale[:, None] * np.tril(q.factor.L)) @ vectors
    factor = factorise((outer / (1.0 + values)) @ outer.T, 1, objective.prior.free)
    return replace(ep, moments=factor, log_evidence=ep.log_evidence + pairs.cubes / 12)


def is_affordable(N: int, P: int) -> bool:
    """Whether either of the two ways is."""
    return _by_tensor(N, P) or _by_pairs(N, P)


def _by_tensor(N: int, P: int) -> bool:
    return P**3 <= NUMBERS and 0.67 * N * P**3 <= FLOPS


def _by_pairs(N: int, P: int) -> bool:
    return N * P <= NUMBERS and 4.0 * N**2 * P <= FLOPS


def pair_sums(objective: Posterior, sites: Sites, q: Normal) -> Pairs:
    """The sums over pairs, by the cheaper of the two ways."""
    N, P = objective.source.n_rows, objective.design.width
    if _by_tensor(N, P) and (0.67 * P**2 <= 4 * N or not _by_pairs(N, P)):
        return objective.source.reduce(partial(_tensor, sites=sites, q=q, objective=objective)).pairs()
    return objective.source.reduce(partial(_gather, sites=sites, q=q, objective=objective)).pairs()


def _skewness(block: Block, sites: Sites, q: Normal, objective: Posterior) -> tuple[Float, Float, Float]:
    """ψ (n, P), u (n,), and how many sites each row is."""
    out = cavities(block, sites, q, objective)
    third = tilted(objective.likelihood, out.mu_out, out.var_out, block.codes, power=out.power).skew
    u = -third / out.left**3
    count = np.ones(len(u)) if block.weight is None else block.weight / out.power
    return objective.design.regressors(block.X) @ q.factor.root, u, count


@dataclass(frozen=True, eq=False, slots=True)
class _Own:
    """The terms n = m of both sums, which are no pairs."""

    cubes: float
    squares: Float

    @classmethod
    def of(cls, psi: Float, u: Float, count: Float) -> _Own:
        var = np.einsum("np,np->n", psi, psi)
        own = count * u**2 * var**2
        return cls(float(own @ var), (psi * own[:, None]).T @ psi)

    def __add__(self, other: _Own) -> _Own:
        return _Own(self.cubes + other.cubes, self.squares + other.squares)


@dataclass(frozen=True, eq=False, slots=True)
class _Tensor:
    """T_ijk for j, k ≥ i; zero elsewhere."""

    T: Float
    own: _Own

    def __add__(self, other: _Tensor) -> _Tensor:
        return _Tensor(self.T + other.T, self.own + other.own)

    def pairs(self) -> Pairs:
        T = self.T.copy()
        for i in range(len(T)):
            T[i:, i, i:] = T[i:, i:, i] = T[i, i:, i:]
        flat = T.reshape(len(T), -1)
        square = flat @ flat.T
        return Pairs(float(np.trace(square)) - self.own.cubes, square - self.own.squares)


def _tensor(block: Block, sites: Sites, q: Normal, objective: Posterior) -> _Tensor:
    psi, u, count = _skewness(block, sites, q, objective)
    P = psi.shape[1]
    T = np.zeros((P, P, P))
    for i in range(P):
        rest = psi[:, i:]
        T[i, i:, i:] = (rest * (count * u * psi[:, i])[:, None]).T @ rest
    return _Tensor(T, _Own.of(psi, u, count))


@dataclass(frozen=True, eq=False, slots=True)
class _Gathered:
    """ψ and count · u of every row."""

    psi: Float
    weight: Float
    own: _Own

    def __add__(self, other: _Gathered) -> _Gathered:
        return _Gathered(
            np.concatenate([self.psi, other.psi]), np.concatenate([self.weight, other.weight]), self.own + other.own
        )

    def pairs(self) -> Pairs:
        N, P = self.psi.shape
        cubes, squares = 0.0, np.zeros((P, P))
        step = max(1, int(NUMBERS / 4) // N)
        for start in range(0, N, step):
            rows = slice(start, start + step)
            S = self.psi[rows] @ self.psi.T
            S2 = S**2 * np.outer(self.weight[rows], self.weight)
            cubes += float(np.vdot(S2, S))
            squares += self.psi[rows].T @ (S2 @ self.psi)
        return Pairs(cubes - self.own.cubes, squares - self.own.squares)


def _gather(block: Block, sites: Sites, q: Normal, objective: Posterior) -> _Gathered:
    psi, u, count = _skewness(block, sites, q, objective)
    return _Gathered(psi, count * u, _Own.of(psi, u, count))
