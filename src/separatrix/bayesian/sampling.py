# SPDX-License-Identifier: BSD-3-Clause
"""Draw from the posterior, without an approximation: importance sampling and Hamiltonian Monte Carlo.     PRML §11

**Importance sampling** (`importance`).                                                              PRML §11.1.4

    r_s = p(D | θ_s) p(θ_s) / q(θ_s),        E[f] ≈ Σ_s r_s f(θ_s) / Σ_s r_s,        p(D) ≈ mean r_s    (11.19 - 11.23)

This holds for any likelihood and any number of outputs, if the proposal q is wide enough. The Pareto shape k of the
weights shows whether it is (`pareto_smooth`). The first proposal is a Gaussian. If k is too large, the next one is a
Student's t with the mean and covariance that the weights estimate; its tails are heavier than those of any posterior
with a Gaussian prior. The round with the best class of k (good, usable, poor) is the result, and among rounds of the
same class the one with the most effective draws.

The draws are scrambled Sobol' points, paired with their mirror images. In few dimensions, averages of smooth functions
are far more accurate than with independent draws. The weights also measure the quality of a proposal: see `inference`.

**Hamiltonian Monte Carlo** (`hamiltonian`).                                                            PRML §11.5
Many chains start at draws from a Gaussian q = N(m, R R') near the posterior and move in coordinates z, θ = m + R z. If
q is nearly the posterior, it is nearly N(0, I) in z, and a path of about a quarter of a period π/2 ends at an almost
independent draw. All chains take a leapfrog step in the same pass. This works in hundreds of dimensions, where no
importance weight is usable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, isqrt, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from separatrix._arguments import check_count, generator
from separatrix._array import Array, Float, Rows, is_sparse
from separatrix._special import LOG_SQRT_2PI
from separatrix._text import counted
from separatrix.bayesian.costs import evaluations
from separatrix.bayesian.posterior import Approximation, ordered_root
from separatrix.bayesian.uncoupled import ByClassApproximation, UncoupledApproximation
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood, Logit
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import Factor, Posterior, factorise
from separatrix.stats import Design, Grad
from separatrix.weights import MAX_DRAW_ACTIVATIONS, Draws, activations_of_draws

GOOD_K, USABLE_K = 0.5, 0.7  # k below which the weights have a finite variance, and below which they are usable
DRAWS_PER_WEIGHT = 10  # effective draws per weight that are enough to estimate a covariance
MAX_EVALUATIONS = 2e10  # evaluations of the likelihood of a row


# Hamiltonian Monte Carlo
N_CHAINS, N_WARM_PATHS = 64, 4
LEAPFROG_STEPS_PER_PATH = 8  # typical


@dataclass(frozen=True, eq=False)
class Importance:
    """Corrected moments and evidence, the weighted draws that they come from, and their reliability.

    ``approximation`` is the Gaussian with the mean and covariance of the draws; ``draws`` predict without a Gaussian.
    ``k`` is the shape of the tail of the weights (below 0.5 good, up to 0.7 usable). ``effective_size`` is the number
    of independent draws from the posterior that would be as accurate.
    """

    approximation: Approximation
    draws: Draws
    k: float
    effective_size: float


def importance(
    objective: Posterior,
    proposal: Approximation,
    *,
    n: int = 16384,
    rng: int | np.random.Generator | None = None,
    max_rounds: int = 4,
) -> Importance:
    """Draw from an approximation of the posterior with importance weights, and from a better one if k is not good.

    A round takes ``n`` draws and one pass. n is preferably a power of two, and at least four per weight. One round is
    enough if k is below 0.5. The proposal is any Gaussian over θ; its corrected covariance is used if known (`ep`).
    """
    check_count("importance", "n", n, least=4 * proposal.mean.size)
    if evaluations(objective, n) > MAX_EVALUATIONS:
        raise DataError(
            f"importance(n={n}): {counted(objective.source.n_rows, 'row')} would take {evaluations(objective, n):.0e} "
            f"evaluations of a likelihood; the limit is {MAX_EVALUATIONS:.0e}. Use fewer draws, or another "
            "approximation: with that many rows the posterior is nearly Gaussian."
        )
    source, q = generator(rng), Proposal(proposal.mean, proposal.moments or proposal.factor, None)
    best = found = weighted_draws(objective, q, n, source)
    for _ in range(max_rounds - 1):
        if best.smoothed.k < GOOD_K:
            break
        mean = found.draws.mean
        degrees = 3.0 + mean.size  # in many dimensions, heavier tails cost more
        found = weighted_draws(objective, Proposal(mean, found.precision(), degrees), n, source)
        # k ranks before the effective size, which does not show whether q misses a tail of the posterior.
        ranks = [(w.smoothed.k < GOOD_K, w.smoothed.k < USABLE_K, w.smoothed.effective_size) for w in (best, found)]
        best = found if ranks[1] > ranks[0] else best
    (draws, smoothed), mean = best, best.draws.mean
    log_likelihood = float(objective.reduce(log_likelihood_sums, theta=mean[None]).grad[0])
    usable = smoothed.k < USABLE_K
    approximation = Approximation(
        mean, best.precision(), log_likelihood, smoothed.log_mean, "importance", proposal.steps, is_converged=usable
    )
    return Importance(approximation, draws, smoothed.k, smoothed.effective_size)


class Proposal(NamedTuple):
    """q(θ): a Gaussian N(mean, A⁻¹) or, with ``degrees`` of freedom, a Student's t with scale matrix A⁻¹."""

    mean: Float
    factor: Factor
    degrees: float | None

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Float, Float]:
        """Return θ (n, C, P) and ln q(θ) (n,)."""
        from scipy.stats import qmc

        D, degrees, half = self.mean.size, self.degrees, n - n // 2
        sobol = qmc.Sobol(D + (degrees is not None), scramble=True, rng=rng)
        u = np.clip(sobol.random_base2(int(np.ceil(np.log2(half))))[:half], 1e-16, 1 - 1e-16)
        z = special.ndtri(u[:, :D])
        z = np.concatenate([z, -z])[:n]  # mirrored pairs
        stretch = np.ones(half)
        if degrees is not None:  # √(ν/χ²) turns a normal into a Student's t
            stretch = np.sqrt(degrees / (2 * special.gammaincinv(0.5 * degrees, u[:, D])))
        stretch = np.concatenate([stretch, stretch])[:n]
        root = ordered_root(self.factor, self.mean)
        theta = self.mean + ((z * stretch[:, None]) @ root.T).reshape(n, *self.mean.shape)
        squared = np.einsum("sd,sd->s", z, z) * stretch**2
        log_q = -0.5 * squared - D * LOG_SQRT_2PI
        if degrees is not None:
            whole = 0.5 * (degrees + D)
            constant = special.gammaln(whole) - special.gammaln(0.5 * degrees) - 0.5 * D * np.log(degrees * np.pi)
            log_q = constant - whole * np.log1p(squared / degrees)
        return theta, 0.5 * self.factor.log_det + log_q

    def log_density(self, theta: Float) -> Float:
        """Return ln q(θ) of draws (S, C, P), for a Gaussian q."""
        z = np.linalg.solve(self.factor.root, (theta - self.mean).reshape(len(theta), -1).T)
        return np.asarray(0.5 * self.factor.log_det - 0.5 * (z**2).sum(axis=0) - len(z) * LOG_SQRT_2PI)


class Weighted(NamedTuple):
    """Draws of one round, and the reliability of their weights."""

    draws: Draws
    smoothed: Smoothed

    def precision(self) -> Factor:
        """Factorise the inverse covariance of the draws. If few draws are effective, unweighted draws contribute."""
        S, size = self.draws.covariance, self.smoothed.effective_size
        if size < DRAWS_PER_WEIGHT * len(S):
            S = _mixed(S, np.cov(self.draws.theta.reshape(-1, len(S)), rowvar=False).reshape(S.shape), size)
        return inverse_factor(S)


def _mixed(S: Float, other: Float, size: float) -> Float:
    """Return a covariance that is estimated from few draws, mixed with another estimate."""
    trust = size / (size + DRAWS_PER_WEIGHT * len(S))
    return trust * S + (1 - trust) * other


def inverse_factor(S: Float) -> Factor:
    """Factorise the inverse of a covariance."""
    unit = np.sqrt(np.diag(S))
    scale = np.outer(unit, unit)
    inverse = np.linalg.inv(S / scale) / scale
    return factorise(np.asarray((inverse + inverse.T) / 2), 1, np.zeros(len(S), dtype=bool))


def weighted_draws(objective: Posterior, proposal: Proposal, n: int, rng: np.random.Generator) -> Weighted:
    """Return n draws from q and their smoothed weights, after one pass."""
    theta, log_q = proposal.draw(n, rng)
    log_likelihood = objective.reduce(log_likelihood_sums, theta=theta).grad
    smoothed = pareto_smooth(log_likelihood + _log_prior(objective.prior, theta)[0] - log_q)
    return Weighted(Draws(theta, smoothed.weights), smoothed)


def _log_prior(prior: Penalty, theta: Float) -> tuple[Float, Float]:
    """Return ln p(θ) of each draw, (S,), and minus its gradient, (S, CP)."""
    away = (theta - prior.mean).reshape(-1, len(prior.precision))  # one output in each row, or all if Λ couples them
    pull = prior.dot(away).reshape(len(theta), -1)
    squared = (away.reshape(pull.shape) * pull).sum(axis=1)
    return 0.5 * (prior.log_det() - squared) - theta[0].size * LOG_SQRT_2PI, pull


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws of Hamiltonian Monte Carlo: θ (paths, chains, C, P), and ln p(D, θ) of each (paths, chains).

    ``log_ratio`` is ln p(D, θ) - ln q(θ). ``first_log_ratio`` (chains,) belongs to the starts, which are draws from q.
    If ``is_mirrored``, chains of the second half mirror those of the first, so that pairs are independent.
    """

    theta: Float
    log_joint: Float
    log_ratio: Float
    first_log_ratio: Float
    is_mirrored: bool = False

    @property
    def draws(self) -> Draws:
        """All draws, with equal weights."""
        theta, n_independent = self.theta.reshape(-1, *self.theta.shape[2:]), self.theta.shape[1]
        n_independent //= 2 if self.is_mirrored else 1
        return Draws(theta, np.full(len(theta), 1 / len(theta)), n_independent)

    @property
    def rhat(self) -> float:
        """Potential scale reduction of ln p(D, θ): close to one if the chains agree. Gelman & Rubin (1992)"""
        n = len(self.log_joint)
        within, between = self.log_joint.var(axis=0, ddof=1).mean(), self.log_joint.mean(axis=0).var(ddof=1)
        return float(np.sqrt((n - 1) / n + between / within)) if within > 0 else 1.0

    def log_evidence(self) -> tuple[float, float]:
        """Return ln p(D) by bridge sampling between q and the posterior, and its uncertainty.     Meng & Wong (1996)

        The ratios r = p(D, θ)/q(θ) of n_q draws from q and n_p draws from the posterior satisfy, for Z = p(D),

            Z = E_q[r h] / E_p[h],        h = 1 / (n_p r + n_q Z),        the best h, solved by iteration

        If q and the posterior hardly overlap, the standard error is too small. The uncertainty is at least the
        difference from ½ (E_q + E_p) + (V_q - V_p) / 12, where E and V are means and variances of ln r: the integral of
        E[ln r] along the path q^(1-t) p^t (Gelman & Meng, 1998), approximated by a cubic.
        """
        q, p = self.first_log_ratio, self.log_ratio.ravel()
        log_nq, log_np = log(len(q)), log(len(p))
        log_z = float(q.mean())
        for _ in range(200):
            of_q = q - np.logaddexp(log_np + q, log_nq + log_z)
            of_p = -np.logaddexp(log_np + p, log_nq + log_z)
            last, log_z = log_z, float(special.logsumexp(of_q) - log_nq - special.logsumexp(of_p) + log_np)
            if abs(log_z - last) < 1e-8:
                break
        parts = (np.exp(of_q - of_q.max()), np.exp(of_p - of_p.max()))
        noise = float(np.sqrt(sum(np.var(part) / np.mean(part) ** 2 / len(part) for part in parts)))
        path = 0.5 * (q.mean() + p.mean()) + (q.var() - p.var()) / 12
        return log_z, max(noise, abs(float(path) - log_z))


def hamiltonian(
    objective: Posterior,
    q: Approximation | UncoupledApproximation,
    *,
    n_paths: int,
    n_warm: int = N_WARM_PATHS,
    n_chains: int = N_CHAINS,
    rng: int | np.random.Generator | None = None,
) -> Chains:
    """Run chains from draws of q; each keeps one draw per path, after ``n_warm`` paths that adapt the leapfrog step.

    A path takes about eight leapfrog steps, and a step takes one pass, which evaluates the likelihood of each row and
    its slope for all chains. If q neglects coupling, half of the chains mirror the others: their averages have less
    noise.
    """
    prior, D, source = objective.prior, q.mean.size, generator(rng)
    is_mirrored = not q.couples_contrasts

    def normal() -> Float:
        """Return standard normal numbers of all chains, (chains, D)."""
        if not is_mirrored:
            return source.standard_normal((n_chains, D))
        half = source.standard_normal((n_chains // 2, D))
        return np.concatenate([half, -half])

    def at(z: Float) -> tuple[Float, Float, Float]:
        """Return θ, ln p(D, θ) and its slope in z."""
        theta = q.from_unit(z)
        sums = objective.reduce(log_likelihood_slopes, theta=theta, single=is_mirrored).grad
        log_prior, pull = _log_prior(prior, theta)
        return theta, sums[:, 0] + log_prior, q.to_unit_slope((sums[:, 1:] - pull).reshape(theta.shape))

    def log_ratio(z: Float, value: Float) -> Float:
        """Return ln p(D, θ) - ln q(θ)."""
        return np.asarray(value + 0.5 * np.einsum("sd,sd->s", z, z) + D * LOG_SQRT_2PI - 0.5 * q.log_det)

    z = normal()
    theta, value, slope = at(z)
    first_log_ratio, kept, step = log_ratio(z, value), [], 0.4
    if not q.couples_columns:  # the error of a path's energy grows with √D step²
        step = min(step, 1.2 * D**-0.25)
    for path in range(n_warm + n_paths):
        momentum = normal()
        length = 0.5 * np.pi * source.uniform(0.6, 1.4)  # random, so that no direction is periodic
        h = step * source.uniform(0.4, 1.0)  # a short step frees chains that reject longer ones
        n_steps = min(ceil(length / h), 32)
        there, p, end_slope = z, momentum, slope
        for _ in range(n_steps):  # (11.64 - 11.66)
            p = p + 0.5 * h * end_slope
            there = there + h * p
            end, end_value, end_slope = at(there)
            p = p + 0.5 * h * end_slope
        gain = end_value - value - 0.5 * (np.einsum("sd,sd->s", p, p) - np.einsum("sd,sd->s", momentum, momentum))
        chance = np.exp(np.minimum(np.nan_to_num(gain, nan=-np.inf), 0.0))  # (11.67)
        moves = (np.tile(source.random(n_chains // 2), 2) if is_mirrored else source.random(n_chains)) < chance
        z, slope = np.where(moves[:, None], there, z), np.where(moves[:, None], end_slope, slope)
        theta, value = np.where(moves[:, None, None], end, theta), np.where(moves, end_value, value)
        if path < n_warm:
            step *= float(np.exp(0.7 * (chance.mean() - 0.8)))  # towards 80 % of accepted paths
        else:
            kept.append((theta, value, log_ratio(z, value)))
    theta, log_joint, log_ratios = map(np.stack, zip(*kept, strict=True))
    return Chains(theta, log_joint, log_ratios, first_log_ratio, is_mirrored)


def sampled_approximation(
    objective: Posterior, q: Approximation, chains: Chains, rng: np.random.Generator
) -> Approximation:
    """Return the Gaussian with the mean and covariance of the draws of chains that started at q, after two passes.

    The evidence is computed by bridge sampling from the second half of the draws, and as many draws from the Gaussian
    of the first half; or from q, if the draws are too few to estimate a covariance.
    """
    draws = chains.draws
    mean, S, half = draws.mean, draws.covariance, len(chains.theta) // 2
    log_ratio, first = chains.log_ratio, chains.first_log_ratio
    if len(draws.theta) >= 2 * DRAWS_PER_WEIGHT * len(S):
        early, late = chains.theta[:half].reshape(-1, len(S)), draws.theta[half * len(first) :]
        proposal = Proposal(
            early.mean(axis=0).reshape(mean.shape), inverse_factor(np.atleast_2d(np.cov(early.T))), None
        )
        theta, log_q = proposal.draw(len(late), rng)
        both = np.concatenate([theta, late])
        log_joint = objective.reduce(log_likelihood_sums, theta=both).grad + _log_prior(objective.prior, both)[0]
        first = log_joint[: len(theta)] - log_q
        log_ratio = log_joint[len(theta) :] - proposal.log_density(late)
    else:
        S = _mixed(S, q.covariance, len(draws.theta))
    log_likelihood = float(objective.reduce(log_likelihood_sums, theta=mean[None]).grad[0])
    log_evidence, _ = replace(chains, log_ratio=log_ratio, first_log_ratio=first).log_evidence()
    return Approximation(mean, inverse_factor(S), log_likelihood, log_evidence, "hmc", q.steps)


def sampled_by_class(q: ByClassApproximation, draws: Draws, log_evidence: float) -> ByClassApproximation:
    """Return the Gaussian by class with the mean and covariance of draws, mixed with q if the draws are few."""
    mean, factors = draws.mean, []
    for axis, factor in zip(q.axes.T, q.factors, strict=True):
        away = np.einsum("k,skp->sp", axis, draws.theta - mean)
        S = _mixed(away.T @ away / len(away), factor.root @ factor.root.T, len(away))
        factors.append(inverse_factor(S))
    return replace(q, mean=mean, factors=tuple(factors), log_evidence=log_evidence, name="hmc")


def log_likelihood_slopes(
    block: Block, theta: Float, likelihood: Likelihood, design: Design, *, single: bool = False
) -> Grad:
    """Return Σ_n weight_n ln p(t_n | θ_s φ̃_n) of one block and its gradient for each draw θ (S, C, P): (S, 1 + CP).

    Rounding errors of single precision are far below the noise of the draws, but depend on the blocks. Activations
    (C, S n) have the classes first, so that no array is transposed.
    """
    S, C, P = theta.shape
    total, step = np.zeros((S, 1 + C * P)), max(1, MAX_DRAW_ACTIVATIONS // (S * C))
    dtype = np.float32 if single else np.float64
    for start in range(0, len(block), step):
        rows = block.take(np.arange(start, min(start + step, len(block))))
        products = Products(rows.X, design, single=single)
        A = products.activations(theta.swapaxes(0, 1).reshape(C * S, P)).reshape(C, S, len(rows))
        if rows.offset is not None:
            A += rows.offset.astype(dtype)
        t = np.tile(rows.codes, S) if rows.codes.ndim == 1 else np.tile(rows.codes, (S, 1))
        found = likelihood.derivatives(A.reshape(C, -1).T if C > 1 else A.reshape(-1), t)
        log_p, slope = found.log_p.reshape(S, -1), found.slope.T.reshape(C * S, -1)
        if rows.weight is not None:
            log_p, slope = rows.weight * log_p, rows.weight.astype(dtype) * slope
        total[:, 0] += log_p.sum(axis=1, dtype=np.float64)
        total[:, 1:] += products.sums(slope).reshape(C, S, P).swapaxes(0, 1).reshape(S, -1)
    return Grad(total)


class Products:
    """Products of rows φ̃ with many vectors at once, in double precision, or in ``single``.

    In single precision, columns are in units of their spread. Sparse rows with few entries stay sparse: the products
    with x are then corrected for the origin.
    """

    def __init__(self, X: Rows, design: Design, *, single: bool) -> None:
        M = len(design.origin)
        self.unit, self.origin = (
            design.single_units(X.dtype) if single else np.ones(design.width),
            np.zeros(0, np.float32),
        )
        origin = (design.origin / self.unit[:M]).astype(np.float32)
        is_thin = single and is_sparse(X) and X.nnz <= 0.15 * X.shape[0] * M  # or dense products are faster
        if is_thin and np.abs(origin).max(initial=0.0) <= 100:  # sd: the correction keeps enough digits
            entries = (X.data / self.unit[X.indices]).astype(np.float32)
            self.origin = origin
            self.rows: Any = sparse.csr_array((entries, X.indices, X.indptr), X.shape)
        else:
            self.rows = design.single(X)[0] if single else design.regressors(X)

    def activations(self, theta: Float) -> Array:
        """Return θ φ̃ of all rows, (V, n), for vectors θ (V, P)."""
        flat, M = (theta * self.unit).astype(self.rows.dtype), len(self.origin)
        if not M:
            return np.asarray(flat @ self.rows.T)
        along = self.rows @ np.ascontiguousarray(flat[:, :M].T)
        along += flat[:, M:].sum(axis=1) - flat[:, :M] @ self.origin
        return np.ascontiguousarray(along.T)

    def sums(self, a: Array) -> Float:
        """Return Σ_n a_n φ̃_n', (V, P), for values of all rows, (V, n)."""
        M, found = len(self.origin), np.empty((len(a), len(self.unit)))
        if not M:
            np.multiply(a @ self.rows, self.unit, out=found)
            return found
        total = a.sum(axis=1, dtype=np.float64)[:, None]
        found[:, :M] = (self.rows.T @ np.ascontiguousarray(a.T)).T
        found[:, :M] -= total * self.origin
        found[:, M:] = total
        found *= self.unit
        return found


def log_likelihood_sums(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> Grad:
    """Return Σ_n weight_n ln p(t_n | θ_s φ̃_n) of one block for each of the draws θ (S, C, P), (S,)."""
    S, C = theta.shape[:2]
    total = np.zeros(S)
    step = max(1, min(MAX_DRAW_ACTIVATIONS // (S * C), 512))  # the products of 1 + e^-|a| are below 2⁵¹²
    for start in range(0, len(block), step):
        rows = block.take(np.arange(start, min(start + step, len(block))))
        A = activations_of_draws(rows, theta, design)
        if isinstance(likelihood, Logit) and rows.weight is None:
            # Σ_n ln p = Σ_n [(t_n - ½) a_n - ½ |a_n|] - ln Π_n (1 + e^-|a_n|) takes one logarithm for all rows.
            total += (rows.codes - 0.5) @ A
            A = np.abs(A, out=A)
            total -= 0.5 * A.sum(axis=0)
            A = np.exp(np.negative(A, out=A), out=A)
            A += 1.0
            total -= np.log(np.multiply.reduce(A, axis=0))
            continue
        t = np.repeat(rows.codes, S, axis=0)
        log_p = likelihood.derivatives(A.reshape(len(t), *A.shape[2:]), t).log_p.reshape(len(rows), S)
        total += log_p.sum(axis=0) if rows.weight is None else rows.weight @ log_p
    return Grad(total)


@dataclass(frozen=True, eq=False, slots=True)
class Smoothed:
    """Importance weights (S,) after smoothing, normalised to a sum of one, and their reliability.

    ``k`` is the shape of the tail of the raw weights: minus infinity if all weights are equal (q is p), and infinity if
    the tail has fewer than five weights, so that the shape is unknown. ``effective_size``, 1 / Σ weight², is the number
    of independent draws from p that would be as accurate, from 1 to S. ``log_mean``, the logarithm of the mean weight
    before normalisation, is the estimate of ln Z.
    """

    weights: Float
    k: float
    effective_size: float
    log_mean: float


def pareto_smooth(log_weights: ArrayLike) -> Smoothed:
    """Smooth the largest of S importance weights by a generalised Pareto distribution.

    Above a high threshold u the weights approximately have the density

        p(r - u = x) = (1/σ) (1 + k x/σ)^(-1/k - 1),

    for any p and q. The number of finite moments of r is 1/k. For k < 0.5 the variance is finite; for k < 0.7 averages
    converge at a practical rate; for larger k they do not; for k ≥ 1 the mean does not exist. The tail consists of the
    min(S/5, 3 √S) largest weights. They are replaced by the expected order statistics of the distribution, which
    removes most of their noise. No weight becomes larger than the largest raw weight.

    If q is nearly p, there may be no such tail. In one or two dimensions many draws then lie near the maximum of p/q. A
    threshold there leaves many excesses near zero and a few larger ones, and the fitted k may be 3 although all weights
    are nearly equal. But the largest of S draws from a tail of shape ½ is about √S medians. If the largest weight is
    less than a third of that, k is bounded, and weights are not smoothed if the fitted k exceeds the bound:

        k ≤ 0.7 ln(largest / median) / ln(√S / 3)

    Vehtari, Simpson, Gelman, Yao & Gabry (2024); the fit follows Zhang & Stephens (2009).

    ``log_weights`` (S,) are ln p̃(w_s) - ln q(w_s), for p̃ known up to a factor. Minus infinity is a weight of zero.
    """
    raw = np.array(log_weights, dtype=np.float64)
    top, size = float(raw.max()), len(raw)
    if not np.isfinite(top):
        raise ValueError(f"The largest importance weight is e^{top}: the proposal does not overlap with the posterior.")
    relative = raw - top  # relative to the largest weight
    if relative.min() > -1e-10:  # all weights are equal, up to rounding
        return _normalised(relative, k=-inf, top=top)
    n = ceil(min(size / 5, 3 * sqrt(size)))
    largest = np.argsort(relative, kind="stable")[-n - 1 :]
    cut = max(float(relative[largest[0]]), -600.0)  # ln u, so that neither u nor 1/u underflows
    tail = largest[relative[largest] > cut]
    if len(tail) < 5:  # too few for a fit
        return _normalised(relative, k=inf, top=top)
    k, scale = fit_generalized_pareto(np.exp(cut) * np.expm1(relative[tail] - cut))  # increasing and positive
    # Quantiles at (j - ½)/n are close to the expected values of n ordered draws.
    exponential = -np.log1p(-(np.arange(len(tail)) + 0.5) / len(tail))
    is_exponential = abs(k) < np.finfo(np.float64).eps
    quantiles = exponential if is_exponential else np.expm1(np.minimum(k * exponential, 700.0)) / k
    smooth = relative.copy()
    smooth[tail] = np.minimum(np.log(np.exp(cut) + scale * quantiles), 0.0)
    # The bound on k is infinite if the largest weight is far above the median.
    reach, height = log(sqrt(size) / 3), -float(np.partition(relative, size // 2)[size // 2])
    bound = 0.7 * height / reach if size >= 100 and height < reach else inf
    return _normalised(smooth if k <= bound else relative, k=min(k, bound), top=top)


def fit_generalized_pareto(excess: Float) -> tuple[float, float]:
    """Estimate shape k and scale σ of a generalised Pareto distribution (Zhang & Stephens), with k shrunk to 0.5.

    With b = -k/σ the best k for a given b is k(b) = mean ln(1 - b x), which leaves a profile likelihood of one
    variable, n (ln(-b/k) - k - 1). The estimate is the posterior mean of b on a grid, which depends on the largest x
    and the quartile. It needs no iteration and always exists, unlike the maximum of the likelihood. ``excess`` (n,) are
    the excesses over the threshold, positive and in increasing order.
    """
    n = len(excess)
    n_grid = 30 + isqrt(n)
    quartile = excess[int(n / 4 + 0.5) - 1]
    j = np.arange(1, n_grid + 1)
    b = 1.0 / excess[-1] + (1.0 - np.sqrt(n_grid / (j - 0.5))) / (3.0 * quartile)
    k = np.log1p(-b[:, None] * excess).mean(axis=1)
    exponential = np.full_like(b, 1.0 / excess.mean())  # 1/σ is -b/k, or 1/mean if b = k = 0
    profile = n * (np.log(np.divide(-b, k, out=exponential, where=k != 0)) - k - 1.0)
    b_mean = float(special.softmax(profile) @ b)
    k_mean = float(np.log1p(-b_mean * excess).mean())
    scale = -k_mean / b_mean if b_mean != 0 else float(excess.mean())
    return (n * k_mean + 10 * 0.5) / (n + 10), scale  # a weak prior, equivalent to ten excesses with shape 0.5


def _normalised(relative: Float, *, k: float, top: float) -> Smoothed:
    total = float(special.logsumexp(relative))
    log_weights = relative - total
    effective_size = float(np.exp(-special.logsumexp(2.0 * log_weights)))
    return Smoothed(np.exp(log_weights), k, effective_size, top + total - float(np.log(len(relative))))
