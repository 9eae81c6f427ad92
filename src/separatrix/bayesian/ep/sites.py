# SPDX-License-Identifier: BSD-3-Clause
"""A posterior as a prior times one Gaussian factor for each row, and one sweep that improves all of them.

    q(θ) ∝ p(θ) Π_n s_n(a_n)^weight_n,       s_n(a) = exp(ν_n a - ½ τ_n a²),       a_n = θ φ̃_n + offset_n

τ_n and ν_n are the *sites*. The precision and the shift of q are sums over rows, and linear in the sites:

    A = Λ + Σ_n weight_n τ_n φ̃_n φ̃_n',       A mean = Λ m0 + Σ_n weight_n (ν_n - τ_n offset_n) φ̃_n

One row's part in q is taken out, which leaves its *cavity*; the likelihood takes its place; and the site becomes what
makes the moments of a_n those of this tilted density (`tilted`). A row of weight k is k equal sites, of which one is
taken out; a row of weight w < 1 is one site of p^w.

Where all sites stand still, q is the fixed point of expectation propagation, and

    ln p(D) ≈ ln ∫ p(θ) Π_n s_n^weight_n dθ + Σ_n weight_n (ln Z_n - ln ∫ cavity_n s_n da)

Rasmussen & Williams (2006), §3.6, with a linear model for the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.bayesian.ep.tilted import Tilted, tilted
from separatrix.bayesian.posterior.approximation import row_squares
from separatrix.rows import Block
from separatrix.solvers import Factor, Posterior, factorise

__all__ = ["Cavities", "Normal", "Rows", "Sites", "Sweep", "cavities", "first_sites", "mixed", "posterior_of", "sweep"]

LEAST_CAVITY = 1e-10  # of a row's precision; a cavity with less is no density, and its row waits


class Normal(NamedTuple):
    """N(θ | mean, A⁻¹): mean (P,) and A factorised."""

    mean: Float
    factor: Factor


@dataclass(frozen=True, eq=False, slots=True)
class Sites:
    """τ and ν (N,), what they add to the precision (P, P) and to the shift (P,) of the prior, and the rows' weights."""

    tau: Float
    nu: Float
    precision: Float
    shift: Float
    weight: Float


def mixed(points: Sequence[Sites], shares: Float) -> Sites:
    """Σ_i share_i point_i: sites and their sums alike, because the sums are linear in the sites."""

    def total(parts: list[Float]) -> Float:
        return np.asarray(sum(share * part for share, part in zip(shares, parts, strict=True)))

    return Sites(
        total([point.tau for point in points]),
        total([point.nu for point in points]),
        total([point.precision for point in points]),
        total([point.shift for point in points]),
        points[0].weight,
    )


def posterior_of(sites: Sites, objective: Posterior) -> Normal | None:
    """q, or None where the sites leave no positive definite precision."""
    prior = objective.prior
    A = prior.add_to(sites.precision.copy())
    if not (np.diag(A) > 0).all():
        return None
    factor = factorise(A, 1, prior.free)
    if factor.singular is not None:
        return None
    return Normal(factor.solve(prior.dot(prior.mean)[0] + sites.shift), factor)


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The sites τ and ν (n,) of some rows, what the rows weigh, and which they are; ``+`` keeps both."""

    row: Codes
    tau: Float
    nu: Float
    weight: Float

    def __add__(self, other: Rows) -> Rows:
        return Rows(
            np.concatenate([self.row, other.row]),
            np.concatenate([self.tau, other.tau]),
            np.concatenate([self.nu, other.nu]),
            np.concatenate([self.weight, other.weight]),
        )


@dataclass(frozen=True, eq=False, slots=True)
class Sweep:
    """What one pass finds: new sites and their sums, and how q stands with the sites that it has.

    ``log_likelihood`` is ln p(D | mean); ``log_ratio`` the part of ln p(D) that is a sum over rows; ``skipped`` the
    number of rows whose cavity is no density, so that their sites stay.
    """

    rows: Rows
    precision: Float
    shift: Float
    log_likelihood: float
    log_ratio: float
    skipped: int

    def __add__(self, other: Sweep) -> Sweep:
        return Sweep(
            self.rows + other.rows,
            self.precision + other.precision,
            self.shift + other.shift,
            self.log_likelihood + other.log_likelihood,
            self.log_ratio + other.log_ratio,
            self.skipped + other.skipped,
        )

    @property
    def sites(self) -> Sites:
        """The new sites, in the order of the rows."""
        place = np.argsort(self.rows.row, kind="stable")
        rows = self.rows
        return Sites(rows.tau[place], rows.nu[place], self.precision, self.shift, rows.weight[place])


class Cavities(NamedTuple):
    """Mean and variance of each row's activation, under q and without the row's own site; each (n,)."""

    mu: Float
    var: Float
    mu_out: Float
    var_out: Float
    left: Float  # var / var_out, also where both are zero: a row of zeros without a bias
    power: Float  # of the likelihood that stands in for the site that was taken out
    fine: Array  # where the cavity is a density; elsewhere mu_out and var_out are those of q


def cavities(block: Block, sites: Sites, q: Normal, objective: Posterior) -> Cavities:
    """The cavity of every row of a block."""
    tau, nu = sites.tau[_span(block)], sites.nu[_span(block)]
    mu = objective.design.activate(block, q.mean[None, :])
    var = row_squares(objective.design.regressors(block.X) @ q.factor.root)
    power = np.ones(len(block)) if block.weight is None else np.where(block.weight > 0, np.minimum(block.weight, 1), 1)
    left = 1.0 - power * tau * var  # the share of the precision that is left
    fine = left > LEAST_CAVITY
    left = np.where(fine, left, 1.0)
    mu_out = np.where(fine, mu - power * var * (nu - tau * mu) / left, mu)
    return Cavities(mu, var, mu_out, var / left, left, power, fine)


def sweep(objective: Posterior, sites: Sites, q: Normal) -> Sweep:
    """One pass: every site renewed, beside the others as they are."""
    return objective.source.reduce(partial(_sweep, sites=sites, q=q, objective=objective))


def _sweep(block: Block, sites: Sites, q: Normal, objective: Posterior) -> Sweep:
    out = cavities(block, sites, q, objective)
    tau, nu = sites.tau[_span(block)], sites.nu[_span(block)]
    t = block.codes
    found = tilted(objective.likelihood, out.mu_out, out.var_out, t, power=out.power)
    left = 1.0 - out.var_out * found.curvature  # variance of the tilted density over that of the cavity
    fine = out.fine & (left > 0)
    left = np.where(fine, left, 1.0)
    new_tau = np.where(fine, found.curvature / left / out.power, tau)
    new_nu = np.where(fine, (found.slope + found.curvature * out.mu_out) / left / out.power, nu)
    log_p = objective.likelihood.derivatives(out.mu, t).log_p
    weight = _weight(block)
    return Sweep(
        Rows(np.asarray(block.row), new_tau, new_nu, weight),
        *_sums(block, new_tau, new_nu, objective),
        float(weight @ log_p),
        float(weight @ _log_ratio(out, found)),
        int(((~fine) & (weight > 0)).sum()),
    )


def _log_ratio(out: Cavities, found: Tilted) -> Float:
    """ln s_n(mu) + (ln Z_n - ln ∫ cavity s_n)/power, in which s_n(mu) cancels: cavity s_n is q times that integral."""
    moved = (out.mu - out.mu_out) ** 2
    away = np.divide(moved, out.var_out, out=np.zeros_like(moved), where=out.var_out > 0)
    return np.asarray((found.log_z - 0.5 * np.log(out.left) + 0.5 * away) / out.power)


def first_sites(objective: Posterior, mean: Float) -> Sites:
    """Sites that make q the Laplace approximation if the mean (P,) is the mode: τ the curvature, ν - τ a the slope."""
    return objective.source.reduce(partial(_first_sites, mean=mean, objective=objective)).sites


def _first_sites(block: Block, mean: Float, objective: Posterior) -> Sweep:
    a = objective.design.activate(block, mean[None, :])
    _, slope, tau = objective.likelihood.derivatives(a, block.codes)
    nu = slope + tau * a
    rows = Rows(np.asarray(block.row), tau, nu, _weight(block))
    return Sweep(rows, *_sums(block, tau, nu, objective), 0.0, 0.0, 0)


def _weight(block: Block) -> Float:
    return np.ones(len(block)) if block.weight is None else block.weight


def _sums(block: Block, tau: Float, nu: Float, objective: Posterior) -> tuple[Float, Float]:
    """Σ weight τ φ̃ φ̃' and Σ weight (ν - τ offset) φ̃."""
    pull = nu if block.offset is None else nu - tau * block.offset
    if block.weight is not None:
        tau, pull = block.weight * tau, block.weight * pull
    return objective.design.gram(block, tau), objective.design.collect(block, pull)[0]


def _span(block: Block) -> slice | Codes:
    """Where the rows of a block stand in an array of all rows."""
    return slice(block.row.start, block.row.stop) if isinstance(block.row, range) else block.row
