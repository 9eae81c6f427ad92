# SPDX-License-Identifier: BSD-3-Clause
"""The softmax averaged over Gaussian activations a ~ N(mu, Sigma), by a rule: probabilities of K classes.

    p_k = ∫ softmax_k(a) N(a | mu, Sigma) da = E[σ(a_k - r_k)],       r_k = ln Σ_{j≠k} e^a_j

For two classes r_k is the other activation and the integral is known (`logit_normal`). For more, r_k is put together
from pairs, ln(e^a + e^b) = a + ln(1 + e^d), d = b - a, whose moments under a Gaussian are known as well: with
ρ = E[σ(d)],

    mean            E[a] + E[ln(1 + e^d)]
    variance        V[a] + 2 ρ C[a, d] + V[ln(1 + e^d)]
    covariances     C[ln(e^a + e^b), c] = (1 - ρ) C[a, c] + ρ C[b, c]                           (Stein's lemma)

all exact for Gaussian a, b, c; then the result is taken for Gaussian itself. This is Clark's (1961) treatment of the
greatest of a set of random variables, with a soft maximum for the hard one. The sums over all classes but one come
from sums over the first few and the last few, so that K classes take 3K pairs.

It uses the whole covariance, does not change when one random number is added to all activations, and is exact for
K = 2 and for Sigma = 0. Against the integral, with K = 3 to 10 and means as far apart as the standard deviations, it
is wrong by 1e-4 on average for variances near one and independent activations, by 1e-3 for correlated ones, and by
0.01 where variances reach a hundred; single rows by ten times that. The older rule e^(κ_k mu_k), PRML (4.153) for each
class alone, is wrong by ten times as much: `softmax_probit_rule`. Where more is wanted, softmax_qmc.py converges to
the integral.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix._array import Array, Float
from separatrix.bayesian.predictive.logistic_normal import log_odds, shrinkage, soften

__all__ = ["Activations", "row_blocks", "softmax_normal", "softmax_probit_rule"]

BLOCK_NUMBERS = 1 << 18  # floating-point numbers in the temporaries of one block
ROUNDING = 1e-9  # how far below zero, relative, rounding may leave a variance


def softmax_normal(mu: ArrayLike, cov: ArrayLike | None = None, *, factor: ArrayLike | None = None) -> Float:
    """p_k = E[σ(a_k - r_k)] with the soft maximum r_k of the other activations taken for Gaussian.

    Parameters
    ----------
    mu : array of shape (n, K)
        Means of the activations.
    cov : array of shape (n, K, K)
        Their covariances; or
    factor : array of shape (n, K, R)
        F with Sigma = F F'.

    Returns
    -------
    array of shape (n, K); rows sum to one.

    Examples
    --------
    >>> softmax_normal([[1.0, 0.0, 0.0]], [4.0 * np.eye(3)]).round(4)
    array([[0.4577, 0.2711, 0.2711]])
    """
    given = Activations.read("softmax_normal", mu, cov, factor)
    n, K = given.mean.shape
    p = np.empty((n, K))
    for rows in row_blocks(n, 4 * K * K):
        m, Sigma = given.mean[rows], given.covariance(rows)
        order = np.argsort(-m, axis=1, kind="stable")  # the answer does not depend on the order of the classes
        m = np.take_along_axis(m, order, axis=1)
        Sigma = np.take_along_axis(np.take_along_axis(Sigma, order[:, :, None], axis=1), order[:, None, :], axis=2)
        np.put_along_axis(p[rows], order, _probabilities(m, Sigma, "softmax_normal", rows.start), axis=1)
    return p


@dataclass(frozen=True, slots=True)
class _SoftMaximum:
    """ln Σ_j e^a_j over some classes, as a Gaussian: mean and variance (n,).

    ``weight`` (n, K) are the shares of the classes in it, and ``cov`` (n, K) its covariances with all activations.
    """

    mean: Float
    var: Float
    weight: Float
    cov: Float


def _probabilities(mu: Float, Sigma: Float, owner: str, first: int) -> Float:
    """p (n, K): each class against the soft maximum of the others."""
    K = mu.shape[1]
    single = [
        _SoftMaximum(mu[:, k], Sigma[:, k, k], np.tile(np.eye(K)[k], (len(mu), 1)), Sigma[:, k]) for k in range(K)
    ]
    before, after = [single[0]], [single[-1]]
    for k in range(1, K - 1):
        before.append(_merge(before[-1], single[k]))
        after.append(_merge(single[K - 1 - k], after[-1]))
    others = [after[-1], *(_merge(before[k - 1], after[K - 2 - k]) for k in range(1, K - 1)), before[-1]]
    p = np.empty_like(mu)
    for k, (one, rest) in enumerate(zip(single, others, strict=True)):
        var = _difference_variance(one, rest)
        _require_variances(owner, first, k, var, one.var + rest.var)
        p[:, k] = special.expit(log_odds(one.mean - rest.mean, np.maximum(var, 0.0)))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _merge(a: _SoftMaximum, b: _SoftMaximum) -> _SoftMaximum:
    """ln(e^a + e^b), from whichever of the two has the larger mean."""
    swap = b.mean > a.mean
    high, low = np.where(swap, b.mean, a.mean), np.where(swap, a.mean, b.mean)
    high_var = np.where(swap, b.var, a.var)
    shared = np.einsum("nk,nk->n", a.weight, b.cov)
    rho, rise, spread = soften(low - high, np.maximum(a.var + b.var - 2 * shared, 0.0))
    var = np.maximum(high_var + 2 * rho * (shared - high_var) + spread, 0.0)
    share = np.where(swap, 1.0 - rho, rho)[:, None]  # of b
    return _SoftMaximum(
        high + rise, var, (1 - share) * a.weight + share * b.weight, (1 - share) * a.cov + share * b.cov
    )


def _difference_variance(a: _SoftMaximum, b: _SoftMaximum) -> Float:
    return np.asarray(a.var + b.var - 2 * np.einsum("nk,nk->n", a.weight, b.cov))


def _require_variances(owner: str, first: int, k: int, var: Float, size: Float) -> None:
    wrong = np.flatnonzero(~(var >= -ROUNDING * np.abs(size)))
    if len(wrong):
        raise ValueError(
            f"{owner}: cov of row {first + wrong[0]} is not a covariance: a difference of activations would have the "
            f"variance {var[wrong[0]]:.3g}."
        )


def softmax_probit_rule(mu: ArrayLike, var: ArrayLike) -> Float:
    """p_k ∝ e^(κ_k mu_k), κ_k = (1 + π var_k/8)^-½: each activation shrunk for itself, covariances ignored.

    It depends on the origin of the activations: adding a constant to all of them changes it.

    Examples
    --------
    >>> softmax_probit_rule([[1.0, 0.0, 0.0]], [[4.0, 4.0, 4.0]]).round(4)
    array([[0.4826, 0.2587, 0.2587]])
    """
    means = _means("softmax_probit_rule", mu)
    spread = np.broadcast_to(np.asarray(var, dtype=np.float64), means.shape)
    _require("softmax_probit_rule", "var", spread, (spread >= 0) & (spread < np.inf), "finite and not negative")
    return np.asarray(special.softmax(shrinkage(spread) * means, axis=1))


@dataclass(frozen=True, slots=True)
class Activations:
    """Means (n, K), and covariances (n, K, K) or their factors (n, K, R)."""

    mean: Float
    spread: Float
    is_factor: bool

    @classmethod
    def read(cls, owner: str, mu: ArrayLike, cov: ArrayLike | None, factor: ArrayLike | None) -> Activations:
        """What the user gave, or an error that says what does not fit."""
        means = _means(owner, mu)
        if (cov is None) == (factor is None):
            raise ValueError(f"{owner}: give either cov or factor.")
        name, given = ("cov", cov) if factor is None else ("factor", factor)
        spread = np.asarray(given, dtype=np.float64)
        n, K = means.shape
        if spread.ndim != 3 or spread.shape[:2] != (n, K) or (factor is None and spread.shape[2] != K):
            must = f"({n}, {K}, {K if factor is None else 'R'})"
            raise ValueError(
                f"{owner}: {name} has shape {spread.shape}; for mu of shape {means.shape} it must be {must}."
            )
        _require(owner, name, spread, np.isfinite(spread), "finite")
        return cls(means, spread, factor is not None)

    def covariance(self, rows: slice) -> Float:
        """Sigma of some rows, symmetric."""
        given = self.spread[rows]
        turned = given.transpose(0, 2, 1)
        return np.asarray(given @ turned if self.is_factor else (given + turned) / 2)


def row_blocks(n: int, numbers_per_row: int) -> list[slice]:
    """Rows in blocks whose temporaries stay small."""
    step = max(1, BLOCK_NUMBERS // numbers_per_row)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _means(owner: str, mu: ArrayLike) -> Float:
    means = np.asarray(mu, dtype=np.float64)
    if means.ndim != 2 or means.shape[1] < 2:
        raise ValueError(
            f"{owner}: mu has shape {means.shape}; it must be (n, K), one column for each of K ≥ 2 classes."
        )
    _require(owner, "mu", means, np.isfinite(means), "finite")
    return means


def _require(owner: str, name: str, values: Float, fine: Array, must: str) -> None:
    """An error that names the first row at fault."""
    if not fine.all():
        at = tuple(int(i) for i in np.argwhere(~fine)[0])
        raise ValueError(f"{owner}: {name} is {values[at]} in row {at[0]}; it must be {must}.")
