# SPDX-License-Identifier: BSD-3-Clause
"""Approximate a posterior by the prior times one Gaussian factor for each row: expectation propagation.     PRML §10.7

    q(θ) ∝ p(θ) Π_n s_n(a_n)^weight_n,       s_n(a) = exp(ν_n a - ½ τ_n a²),       a_n = θ φ̃_n + offset_n

docs/laplace.md explains the idea. The *site* of row n, τ_n and ν_n, is chosen so that a_n has the same mean and
variance under q as it has if the likelihood of row n replaces s_n. The precision and the shift of q are sums over rows,
and linear in the sites:

    A = Λ + Σ_n weight_n τ_n φ̃_n φ̃_n',       A mean = Λ m0 + Σ_n weight_n (ν_n - τ_n offset_n) φ̃_n

To update a site, its factor is removed from q, which leaves the *cavity* of the row. The cavity times the likelihood of
the row is the *tilted* density. The new site gives a_n the moments of the tilted density. A row of weight k has k equal
sites, of which one is removed; a row of weight w < 1 has one site, for p^w. A *sweep* updates all sites in one pass and
takes as long as two Newton steps.

Sweeps are damped far from the fixed point. Near the fixed point the update is nearly linear in the sites. There, the
next sites are the combination of the last few iterates with the smallest linearised residual (Anderson 1965). Precision
and shift are linear in the sites, so a combination needs no pass. It is undone if it increases the residual.

At the fixed point

    ln p(D) ≈ ln ∫ p(θ) Π_n s_n^weight_n dθ + Σ_n weight_n (ln Z_n - ln ∫ cavity_n s_n da)

The means are accurate. The variances and the evidence miss the joint effect of the skewness of several rows, which
`correct` adds. The method needs one activation per row, so it is limited to two classes. It is the most accurate
Gaussian here for a skewed posterior, and its evidence can tune the prior.

Minka (2001); Rasmussen & Williams (2006), §3.6, with a linear model instead of a Gaussian process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg, special

from separatrix._array import Array, Codes, Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.logistic_normal import sigmoid_derivatives
from separatrix.bayesian.posterior import Approximation
from separatrix.bayesian.predictive import hermite_nodes
from separatrix.likelihoods import LabelNoise, Likelihood, Logit, Probit
from separatrix.rows import Block
from separatrix.solvers import Factor, Posterior, factorise

# The fixed point
NEAR_IN_STD = 0.5  # `Iterate.distance` below which iterates are combined
FIRST_STEP, MIN_STEP = 0.8, 1 / 64  # largest and smallest fraction of a full update
STEP_SHRINK = 0.6  # factor of that fraction after the distance grew

# Tilted moments by quadrature
N_TILTED_NODES = 40
MIN_TILTED_ROUNDS, MAX_TILTED_ROUNDS = 6, 40  # rounds that locate the tilted density, each from the moments before
MIN_TILTED_VARIANCE = 1e-6  # the curvature has a rounding error of about 1e-16 / variance^1.5
MIN_WIDTH_OF_SPREAD = 0.25  # half the distance of nodes: a narrower density falls between them, and is not measured

# The correction for third cumulants
MAX_CORRECTED_WEIGHTS = 2500  # above which decompositions of (P, P) matrices would take seconds
MAX_DOUBLE_PRODUCTS = 2e6  # N P² above which products are in single precision: the correction is less accurate
MAX_SINGLE_ERROR = 1e-3  # nats, of the evidence in a search with sweeps in single precision
MIN_SAMPLED_ROWS, MAX_SAMPLED_ROWS = 1024, 2048  # of which pairs are summed: within these limits, as many as have ...
SAMPLED_FRACTION = 0.9  # ... this fraction of the sum of all sizes


def expectation_propagation(
    objective: Posterior,
    start: Approximation,
    *,
    tol: float = 1e-3,
    max_sweeps: int = 100,
    corrected: bool = True,
    single: bool = False,
    memory: list[Sites] | None = None,
) -> Approximation:
    """Return the fixed point of expectation propagation, for a likelihood of one activation.

    Only the mean of ``start`` is used; `laplace` is the best start. The iteration ends if a sweep changes the mean by
    less than ``tol`` posterior standard deviations and the precision by a relative change below ``tol``.
    ``is_converged`` is False if that takes more than ``max_sweeps``, and ``steps`` is the number of sweeps. If
    ``corrected``, variances and evidence are corrected for third cumulants unless that is too expensive (`correct`).
    With ``single``, large products are in single precision, unless columns are so collinear that it matters.
    If ``memory`` contains the sites of a fit of the same rows under another prior, the iteration starts there; the
    sites of this fit replace them.
    """
    if objective.shape[0] != 1:
        raise ValueError(
            f"expectation_propagation needs one activation per row, and {objective.likelihood} has "
            f'{objective.shape[0]}; use "laplace" or "importance".'
        )
    single = single and objective.source.n_rows * objective.design.width**2 > MAX_DOUBLE_PRODUCTS
    if memory:
        sites = memory.pop()
    else:
        first = partial(laplace_sites, mean=start.mean[0], objective=objective, single=single)
        sites = objective.source.reduce(first).sites
    q = posterior_of(sites, objective)
    if q is None:  # without log-concavity the start may not be a mode: use the prior
        sites = combine_sites([sites], np.zeros(1))
        q = posterior_of(sites, objective)
    if q is None:
        raise ValueError("expectation_propagation: there is no proper Gaussian to start from; fit the mode first.")
    here = Iterate.of(objective, sites, q, single=single)
    # Earlier iterates are kept without q, whose factor and its inverse are as large as both precisions.
    past, fraction, sweeps = [(here.sites, here.update)], FIRST_STEP, 1
    while here.distance > (0.0 if here.result.skipped else tol) and sweeps < max_sweeps:
        near = here.distance < NEAR_IN_STD
        sites = _anderson_step(past) if near and len(past) > 1 else here.damped(fraction)
        q = posterior_of(sites, objective)
        while q is None and fraction * STEP_SHRINK >= MIN_STEP:
            fraction *= STEP_SHRINK
            sites = here.damped(fraction)
            q = posterior_of(sites, objective)
        if q is None:
            break
        there, sweeps = Iterate.of(objective, sites, q, single=single), sweeps + 1
        growth = there.distance / here.distance
        if near and growth > 2 and fraction > MIN_STEP:  # undo the combination
            past, fraction = [(here.sites, here.update)], fraction * STEP_SHRINK
            continue
        fraction = min(1.1 * fraction, FIRST_STEP) if growth < 1 else max(fraction * STEP_SHRINK, MIN_STEP)
        past, here = [*past, (there.sites, there.update)][-6:], there  # the last six are combined
    q, result, prior = here.q, here.result, objective.prior
    mean, is_converged = q.mean[None, :], result.skipped == 0 and here.distance <= tol
    occam = 0.5 * (prior.log_det() - q.factor.log_det) - prior.value_grad(mean)[0]
    log_evidence = result.log_ratio + occam
    if memory is not None and is_converged:
        log_evidence += here.divergence
        # The error of the evidence is quadratic in that of q, that of its gradient is linear: predict one step.
        sites = _anderson_step(past) if len(past) > 1 else here.update
        ahead = posterior_of(sites, objective)
        q, sites = (q, here.update) if ahead is None else (ahead, sites)
        memory.append(sites)
    found = Approximation(
        q.mean[None, :], q.factor, result.log_likelihood, log_evidence, "ep", sweeps, is_converged=is_converged
    )
    return correct(objective, found, here) if corrected and is_converged else found


@dataclass(frozen=True, eq=False)
class Iterate:
    """Sites, their posterior q, the result of a sweep that starts from them, and the updated sites.

    ``distance`` is the larger of two changes by the update: of the mean in standard deviations of q, and of the
    precision relative to that of q. ``divergence`` of the updated q from q is accurate to second order, in nats. The
    evidence at the fixed point is higher by about as much.
    """

    sites: Sites
    q: Normal
    result: Sweep
    update: Sites
    distance: float
    divergence: float

    @classmethod
    def of(cls, objective: Posterior, sites: Sites, q: Normal, *, single: bool = False) -> Iterate:
        """Update every site in one pass, each with the other sites fixed."""
        single = single and q.factor.single_error <= MAX_SINGLE_ERROR
        result = objective.source.reduce(partial(update_sites, sites=sites, q=q, objective=objective, single=single))
        update, root = result.sites, q.factor.root
        change = update.precision - sites.precision
        pull = update.shift - sites.shift - change @ q.mean
        shrunk = linalg.blas.dtrmm(1.0, root, change.T, side=1)  # root is upper triangular
        shrunk = linalg.blas.dtrmm(1.0, root, shrunk, trans_a=1, overwrite_b=1)
        moved, bent = float(np.linalg.norm(root.T @ pull)), float(np.linalg.norm(shrunk))
        return cls(sites, q, result, update, max(moved, bent), 0.5 * moved**2 + 0.25 * bent**2)

    def damped(self, fraction: float) -> Sites:
        """Return sites a fraction of the way to their update."""
        return combine_sites([self.sites, self.update], np.array([1 - fraction, fraction]))


def _anderson_step(past: Sequence[tuple[Sites, Sites]]) -> Sites:
    """Return a damped step from the combination of iterates, Σ_i c_i = 1, with the smallest linearised residual.

    ``past`` are the sites and their updates.
    """
    residuals = np.stack([np.concatenate([new.tau - old.tau, new.nu - old.nu]) for old, new in past], axis=1)
    # Residuals are divided by the size of their site plus that of a typical site; a row of weight k counts as k rows.
    last, tiny = past[-1][1], np.finfo(float).tiny
    total = last.weight.sum() + tiny
    sizes = [np.abs(part) + last.weight @ np.abs(part) / total + tiny for part in (last.tau, last.nu)]
    residuals *= np.concatenate([np.sqrt(last.weight) / size for size in sizes])[:, None]
    with single_thread_blas():
        change = linalg.lstsq(np.diff(residuals, axis=1), residuals[:, -1], cond=1e-7)[0]
    c = np.zeros(len(past))
    c[-1] = 1.0
    c[1:] -= change
    c[:-1] += change
    points = [old for old, _ in past] + [new for _, new in past]
    return combine_sites(points, np.concatenate([(1 - FIRST_STEP) * c, FIRST_STEP * c]))


# -- sites and sweeps --------------------------------------------------------------------------------------------


class Normal(NamedTuple):
    """N(θ | mean, A⁻¹), with the mean (P,) and the factorised A."""

    mean: Float
    factor: Factor


@dataclass(frozen=True, eq=False, slots=True)
class Sites:
    """τ and ν of all rows (N,), their part of the precision (P, P) and of the shift (P,), and the row weights (N,)."""

    tau: Float
    nu: Float
    precision: Float
    shift: Float
    weight: Float


def combine_sites(points: Sequence[Sites], coefficients: Float) -> Sites:
    """Return Σ_i c_i point_i, for the sites and for their sums, which are linear in the sites."""
    tau, nu, precision, shift = (
        np.asarray(sum(c * getattr(point, part) for c, point in zip(coefficients, points, strict=True)))
        for part in ("tau", "nu", "precision", "shift")
    )
    return Sites(tau, nu, precision, shift, points[0].weight)


def posterior_of(sites: Sites, objective: Posterior) -> Normal | None:
    """Return q, or None if the precision is not positive definite."""
    prior = objective.prior
    A = prior.add_to(sites.precision.copy())
    if not (np.diag(A) > 0).all():
        return None
    factor = factorise(A, 1, prior.free)
    if factor.singular is not None:
        return None
    return Normal(factor.solve(prior.dot(prior.mean)[0] + sites.shift), factor)


@dataclass(frozen=True, eq=False, slots=True)
class Sweep:
    """Result of one pass: new sites of the rows, in any order, their sums, and properties of q with the old sites.

    ``log_likelihood`` is ln p(D | mean), and ``log_ratio`` is the part of ln p(D) that is a sum over rows. ``skipped``
    is the number of rows whose site is not updated, because their cavity or their new site is not a density. ``var``
    and ``skew`` are the variance of each activation under q and u_n of `correct`, if computed.
    """

    row: Codes
    tau: Float
    nu: Float
    weight: Float
    precision: Float
    shift: Float
    log_likelihood: float = 0.0
    log_ratio: float = 0.0
    skipped: int = 0
    var: Float = field(default_factory=partial(np.empty, 0))
    skew: Float = field(default_factory=partial(np.empty, 0))

    def __add__(self, other: Sweep) -> Sweep:
        return Sweep(
            np.concatenate([self.row, other.row]),
            np.concatenate([self.tau, other.tau]),
            np.concatenate([self.nu, other.nu]),
            np.concatenate([self.weight, other.weight]),
            self.precision + other.precision,
            self.shift + other.shift,
            self.log_likelihood + other.log_likelihood,
            self.log_ratio + other.log_ratio,
            self.skipped + other.skipped,
            np.concatenate([self.var, other.var]),
            np.concatenate([self.skew, other.skew]),
        )

    @property
    def sites(self) -> Sites:
        """The new sites, in the order of the rows."""
        order = np.argsort(self.row, kind="stable")
        return Sites(self.tau[order], self.nu[order], self.precision, self.shift, self.weight[order])


class Cavities(NamedTuple):
    """Site of each row, and moments of its activation under q (mu, var) and in its cavity (mu_out, var_out)."""

    tau: Float
    nu: Float
    mu: Float
    var: Float
    mu_out: Float
    var_out: Float
    left: Float  # var / var_out; 1 if both are zero, as for a row of zeros without a bias
    power: Float  # exponent of the likelihood that replaces the removed site
    is_density: Array  # whether the cavity is a density; if not, mu_out and var_out equal mu and var


def cavities(block: Block, sites: Sites, q: Normal, objective: Posterior, *, single: bool = False) -> Cavities:
    """Return the cavity of every row of a block."""
    row = slice(block.row.start, block.row.stop) if isinstance(block.row, range) else block.row
    tau, nu = sites.tau[row], sites.nu[row]
    mu = objective.design.activate(block, q.mean[None, :])
    var = objective.design.row_variance(block.X, q.factor.root, single=single)
    power = np.ones(len(block)) if block.weight is None else np.where(block.weight > 0, np.minimum(block.weight, 1), 1)
    left = 1.0 - power * tau * var  # fraction of the precision that remains in the cavity
    is_density = left > 1e-10  # of the row's precision; otherwise its site is not updated
    left = np.where(is_density, left, 1.0)
    mu_out = np.where(is_density, mu - power * var * (nu - tau * mu) / left, mu)
    return Cavities(tau, nu, mu, var, mu_out, var / left, left, power, is_density)


def update_sites(block: Block, sites: Sites, q: Normal, objective: Posterior, *, single: bool = False) -> Sweep:
    """Return new sites of the rows of a block, and the terms of these rows in ln p(D | mean) and ln p(D)."""
    out = cavities(block, sites, q, objective, single=single)
    found = tilted(objective.likelihood, out.mu_out, out.var_out, block.codes, power=out.power)
    left = 1.0 - out.var_out * found.curvature  # variance of the tilted density relative to the cavity
    is_valid = out.is_density & (left > 0)
    left = np.where(is_valid, left, 1.0)
    tau = np.where(is_valid, found.curvature / left / out.power, out.tau)
    slope = found.slope + found.curvature * out.mu_out
    nu = np.where(is_valid, slope / left / out.power, out.nu)
    log_p = objective.likelihood.derivatives(out.mu, block.codes).log_p
    # This is ln s_n(mu) + (ln Z_n - ln ∫ cavity s_n)/power; s_n(mu) cancels, because cavity s_n = q ∫ cavity s_n.
    moved = (out.mu - out.mu_out) ** 2
    away = np.divide(moved, out.var_out, out=np.zeros_like(moved), where=out.var_out > 0)
    log_ratio = (found.log_z - 0.5 * np.log(out.left) + 0.5 * away) / out.power
    updated = _with_sums(block, tau, nu, objective, single=single)
    return replace(
        updated,
        log_likelihood=float(updated.weight @ log_p),
        log_ratio=float(updated.weight @ log_ratio),
        skipped=int(((~is_valid) & (updated.weight > 0)).sum()),
        var=out.var,
        skew=-found.skew / out.left**3,
    )


def laplace_sites(block: Block, mean: Float, objective: Posterior, *, single: bool = False) -> Sweep:
    """Return sites for which q is Laplace's approximation if the mean (P,) is the mode: τ is the curvature."""
    a = objective.design.activate(block, mean[None, :])
    _, slope, tau = objective.likelihood.derivatives(a, block.codes)
    return _with_sums(block, tau, slope + tau * a, objective, single=single)


def _with_sums(block: Block, tau: Float, nu: Float, objective: Posterior, *, single: bool = False) -> Sweep:
    """Return sites of a block with their sums Σ weight τ φ̃ φ̃' and Σ weight (ν - τ offset) φ̃."""
    weight = np.ones(len(block)) if block.weight is None else block.weight
    pull = nu if block.offset is None else nu - tau * block.offset
    precision = objective.design.gram(block, weight * tau, single=single)
    shift = objective.design.collect(block, weight * pull)[0]
    return Sweep(np.asarray(block.row), tau, nu, weight, precision, shift)


# -- the tilted density of one row -------------------------------------------------------------------------------


class Tilted(NamedTuple):
    """ln Z, its derivative in the mean of the Gaussian, and minus its second and third derivatives; each (n,)."""

    log_z: Float
    slope: Float
    curvature: Float
    skew: Float


def tilted(likelihood: Likelihood, mu: Float, var: Float, t: Array, *, power: Float | None = None) -> Tilted:
    """Return ln Z = ln ∫ p(t | a)^power N(a | mu, var) da and its derivatives in mu, for each row.

    The derivatives of ln Z are the cumulants of the tilted density p̂(a) = p(t | a) N(a | mu, v) / Z, because the
    Gaussian is an exponential family in mu/v:

        mean  mu + v (ln Z)',       variance  v + v² (ln Z)'',       third cumulant  v³ (ln Z)'''

    Slope, curvature and skew of ln Z have the signs that those of a log-likelihood have in `likelihoods`.

        probit        Z = Φ(mu / √(1 + v)), the probit likelihood in other units                        PRML (4.152)
        logit         the averages of `logistic_normal`: exact to rounding for every mu and v
        label noise   ε + (1 - ε_0 - ε_1) E[σ]: linear in the same sums                                 PRML (4.117)
        soft targets  σ(a)^t σ(-a)^(1-t) = σ(a) e^-(1-t)a, which shifts the mean of the Gaussian by -(1-t) v
        otherwise     Gauss-Hermite quadrature about the mean of p̂, in units of its standard deviation

    ``mu`` and ``var`` (n,) are the moments of the activations, var above zero; ``t`` (n,) are codes 0 and 1, or
    probabilities of 1; ``power`` (n,) lies in (0, 1], and is 1 by default.
    """
    hard = t.dtype.kind != "f" or np.isin(t, (0.0, 1.0))
    closed = np.broadcast_to(hard | isinstance(likelihood, Logit), t.shape)
    if not isinstance(likelihood, Logit | Probit | LabelNoise):
        closed = np.zeros(t.shape, dtype=bool)
    elif power is not None:
        closed = closed & (power == 1.0)
    if closed.all():
        return _closed_form(likelihood, mu, var, t)
    found = np.empty((4, len(mu)))
    rest = ~closed
    found[:, rest] = _by_quadrature(likelihood, mu[rest], var[rest], t[rest], 1.0 if power is None else power[rest])
    if closed.any():
        found[:, closed] = _closed_form(likelihood, mu[closed], var[closed], t[closed])
    return Tilted(*found)


def _closed_form(likelihood: Likelihood, mu: Float, var: Float, t: Array) -> Tilted:
    if isinstance(likelihood, Probit):
        unit = np.sqrt(1.0 + var)
        log_z, slope, curvature = likelihood.derivatives(mu / unit, t)
        return Tilted(log_z, slope / unit, curvature / unit**2, likelihood.skew(mu / unit, t) / unit**3)
    sign = np.where(t > 0.5, 1.0, -1.0)
    floor, contrast, other = np.zeros_like(mu), 1.0, np.zeros_like(mu)
    if isinstance(likelihood, LabelNoise):
        eps0, eps1 = likelihood.rates
        floor, contrast = np.where(t > 0.5, eps0, eps1), 1.0 - eps0 - eps1
    else:
        other = np.where(t > 0.5, 1.0 - t, t * 1.0)  # probability of the other class in a soft target
    margin = sign * mu
    m = margin - other * var  # Z = E[floor + contrast σ(a)] over a ~ N(m, var)
    log_q, log_c, c1, c2 = sigmoid_derivatives(np.abs(m), np.sqrt(var))
    with np.errstate(divide="ignore"):  # without noise, ln 0 adds nothing
        low = np.logaddexp(np.log(floor), np.log(contrast) + log_q)
    top = floor + contrast
    log_z = np.where(m < 0, low, np.log(top) + np.log1p(-contrast / top * np.exp(log_q)))
    first = contrast * np.exp(log_c - log_z)  # E[σ'] / Z
    second, third = np.where(m < 0, c1, -c1) * first, c2 * first
    return Tilted(
        log_z + other * (0.5 * other * var - margin),
        sign * (first - other),
        first**2 - second,
        sign * (3 * first * second - third - 2 * first**3),
    )


def _by_quadrature(likelihood: Likelihood, mu: Float, var: Float, t: Array, power: Float | float) -> Tilted:
    """Apply Gauss-Hermite quadrature about the mean of the tilted density, which is located in a few rounds.

    A density that is too narrow for the nodes is found by shrinking their spread by a fixed factor per round. If that
    takes more than `MAX_TILTED_ROUNDS`, the curvature is NaN, so that the site is skipped. For a variance below
    `MIN_TILTED_VARIANCE`, that variance is used: the derivatives change by about as much as rounding changes them.
    """
    var, power = np.maximum(var, MIN_TILTED_VARIANCE), np.broadcast_to(power, mu.shape)
    x, weights = (each[:, None] for each in hermite_nodes(N_TILTED_NODES))
    found, rows, mean, s = np.empty((4, len(mu))), np.arange(len(mu)), mu, np.sqrt(var)
    for rounds in range(1, MAX_TILTED_ROUNDS + 1):
        a, start, v, target, width = mean + x * s, mu[rows], var[rows], t[rows], np.sqrt(var[rows])
        log_p = np.stack([likelihood.derivatives(at, target).log_p for at in a])
        # The integrand is divided by the Gaussian whose nodes these are.
        log_ratio = 0.5 * (x**2 - ((a - start) / width) ** 2) + np.log(s / width)
        log_f = np.log(weights) + power[rows] * log_p + log_ratio
        log_z = special.logsumexp(log_f, axis=0)
        density = np.exp(log_f - log_z)
        mean = np.einsum("in,in->n", density, a)
        away = a - mean
        variance, third = (np.einsum("in,in->n", density, away**j) for j in (2, 3))
        found[:, rows] = log_z, (mean - start) / v, (v - variance) / v**2, -third / v**3
        least, s = MIN_WIDTH_OF_SPREAD * s, np.sqrt(variance)
        is_open = ~(s >= least) | (rounds < MIN_TILTED_ROUNDS)
        if not is_open.any():
            break
        rows, mean, s = rows[is_open], mean[is_open], np.maximum(s, least)[is_open]
    else:
        found[2, rows] = np.nan
    return Tilted(*found)


# -- the correction for third cumulants of pairs of rows ---------------------------------------------------------


def correct(objective: Posterior, ep: Approximation, at: Iterate) -> Approximation:
    """Correct variances and evidence for third cumulants, unless that is too expensive or too large a change.

    At the fixed point each tilted density has the mean and variance of q, but its third cumulant κ_n and higher ones
    differ. In coordinates in which q is standard normal, θ = mean + R z and ψ_n = R'φ̃_n, the exact posterior is

        p(θ | D) ∝ q(θ) Π_n (1 + κ_n/(3! var_n³) He_3(ψ_n'z) + ...),      He_3 Hermite's polynomial scaled by var_n

    A single He_3 does not change the mean, variance or normaliser of q, which is why expectation propagation is
    accurate. A product of two does. With u_n = κ_n/var_n³ and the tensor T = Σ_n u_n ψ_n ⊗ ψ_n ⊗ ψ_n, to second order,

        Cov[z] - I   is           1/2 Σ_{n≠m} u_n u_m (ψ_n'ψ_m)² ψ_n ψ_m'  = 1/2 (T:T - Σ_n u_n² var_n² ψ_n ψ_n')
        ln p(D)      rises by     1/12 Σ_{n≠m} u_n u_m (ψ_n'ψ_m)³          = 1/6 of its trace

    The evidence follows Opper, Paquet & Winther (2013). The Gaussian used for predictions does not
    change. The added variance lies in the long tail of the skewed posterior, where probabilities are near 0 or 1; a
    symmetric Gaussian of this variance would place half of it on the other side of the mean, which is wrong.
    """
    if objective.design.width > MAX_CORRECTED_WEIGHTS:
        return ep
    pairs = pair_sums(objective, at.result, at.q)
    with single_thread_blas():
        # With A = (DL)(DL)' and R = (DL)^-T, the precision of θ is (DL) Cov[z]⁻¹ (DL)'.
        outer = ep.factor.scale[:, None] * ep.factor.L
        turn = outer.T @ at.q.factor.root  # from coordinates of the last sweep to those of its prediction
        added = 0.5 * turn @ pairs @ turn.T
        values = linalg.eigvalsh(added)
        if values[0] <= -0.5 or values[-1] > 3:  # relative changes of variances that are too large for a correction
            return ep
        precision = outer @ linalg.solve(np.eye(len(added)) + added, outer.T, assume_a="pos")
    factor = factorise(0.5 * (precision + precision.T), 1, objective.prior.free)
    return replace(ep, moments=factor, log_evidence=ep.log_evidence + float(np.trace(pairs)) / 12)


def pair_sums(objective: Posterior, sweep: Sweep, q: Normal) -> Float:
    """Compute Σ_{n≠m} u_n u_m (ψ_n'ψ_m)² ψ_n ψ_m', (P, P), in one pass; of many rows, it is estimated from a sample.

    A pair adds at most c_n c_m to the trace, c_n = |u_n| var_n^1.5. Row n is in the sample with a probability p_n that
    is proportional to c_n, at most 1, and has the weight 1/p_n.
    """
    order = np.argsort(sweep.row, kind="stable")
    u, var, weight = sweep.skew[order], sweep.var[order], sweep.weight[order]
    count = np.where(weight > 0, np.maximum(weight, 1.0), 0.0)  # number of sites of each row
    p = sampling_probability(count * np.abs(u) * var**1.5)
    is_sure = p == 1.0
    taken = is_sure | (np.diff(np.floor(np.cumsum(np.where(is_sure, 0.0, p)) + 0.5), prepend=0.0) > 0)  # systematic
    p = np.where(taken, p, 1.0)
    # Of two sites of the same row, which the sample has with probability p, only different ones are a pair.
    own = np.where(taken, count * (u * var) ** 2 * (count / p - count + 1) / p, 0.0)
    gather = partial(skewed_rows, weight=np.where(taken, count * u / p, 0.0), own=own, q=q, objective=objective)
    gathered = objective.source.reduce(gather)
    psi, weighted, total = gathered.psi, gathered.weight[:, None] * gathered.psi, -gathered.own
    for start in range(0, len(psi), 512):  # each pair of different blocks once
        rows, later = slice(start, start + 512), slice(start + 512, None)
        near = weighted[rows].T @ (psi[rows] @ psi[rows].T) ** 2 @ weighted[rows]
        far = (weighted[rows].T @ (psi[rows] @ psi[later].T) ** 2) @ weighted[later]
        total += near + far + far.T
    return total


def sampling_probability(size: Float) -> Float:
    """Return probabilities min(1, size/t), with the t for which a sample has the expected number of rows."""
    falling = np.sort(size)[::-1]
    wanted = int(np.searchsorted(falling.cumsum(), SAMPLED_FRACTION * size.sum()))
    wanted = min(max(wanted, MIN_SAMPLED_ROWS), MAX_SAMPLED_ROWS)
    if wanted >= (size > 0).sum():
        return np.where(size > 0, 1.0, 0.0)
    t = falling[::-1].cumsum()[::-1][:wanted] / np.arange(wanted, 0, -1)  # if 0, 1, ... rows are certain
    return np.asarray(np.minimum(size / t[(falling[:wanted] <= t).argmax()], 1.0))


@dataclass(frozen=True, eq=False, slots=True)
class SkewedRows:
    """ψ (n, P) of some rows, their weights in the tensor T (n,), and the sum of the terms with n = m (P, P)."""

    psi: Float
    weight: Float
    own: Float

    def __add__(self, other: SkewedRows) -> SkewedRows:
        psi, weight = np.concatenate([self.psi, other.psi]), np.concatenate([self.weight, other.weight])
        return SkewedRows(psi, weight, self.own + other.own)


def skewed_rows(block: Block, weight: Float, own: Float, q: Normal, objective: Posterior) -> SkewedRows:
    """Return ψ and the weight of the rows of a block with a weight (N,), and the sum of own_n ψ_n ψ_n'."""
    row, design = np.asarray(block.row), objective.design
    row, X = row[weight[row] != 0], block.take(weight[row] != 0).X
    if len(weight) * design.width**2 > MAX_DOUBLE_PRODUCTS and q.factor.single_error <= MAX_SINGLE_ERROR:
        Phi, unit = design.single(X)
        psi = np.asarray(Phi @ (unit[:, None] * q.factor.root).astype(np.float32))
    else:
        psi = design.regressors(X) @ q.factor.root
    each = own[row].astype(psi.dtype)[:, None]
    return SkewedRows(psi, weight[row].astype(psi.dtype), np.asarray((psi * each).T @ psi, np.float64))
