# SPDX-License-Identifier: BSD-3-Clause
"""Importance sampling of the posterior: weighted draws, exact as their number grows.                 PRML §11.1.4

    r_s = p(D | θ_s) p(θ_s) / q(θ_s),        E[f] ≈ Σ_s r_s f(θ_s) / Σ_s r_s,        p(D) ≈ mean r_s    (11.19 - 11.23)

for any likelihood and any number of outputs, if the proposal q is wide enough; the Pareto shape k of the weights shows
whether it is (`pareto_smooth`). A Gaussian is tried first. If k is too large, q becomes a Student's t, whose tails are
heavier than those of any posterior with a Gaussian prior, with the mean and covariance that the weights estimate. The
result is the round with the best class of k, good or usable, and among those the one with the most effective draws.

The draws are scrambled Sobol' points, paired with their mirror images: for smooth functions in few dimensions their
averages are far more accurate than those of independent draws. The weights also measure how good the approximation is
that was drawn from: see `inference`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, isqrt, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix._arguments import check_count, generator
from separatrix._array import Float, Rows
from separatrix._special import LOG_SQRT_2PI
from separatrix.bayesian.posterior import Approximation
from separatrix.exceptions import DataError
from separatrix.likelihoods import ClassLikelihood, Likelihood
from separatrix.rows import Block
from separatrix.solvers import Factor, Posterior, factorise
from separatrix.stats import Design, Grad

GOOD_K, USABLE_K = 0.5, 0.7  # below: the weights have a variance; they are usable
N_ROUNDS = 4
MIN_DEGREES = 3.0  # of freedom of a t in few dimensions, where heavy tails cost little; one more per dimension
DRAWS_PER_WEIGHT = 10  # effective draws per weight that determine a covariance by themselves
MAX_EVALUATIONS = 2e10  # of a row's likelihood
MAX_DRAW_ACTIVATIONS = 2**18  # held at once

# Pareto smoothing
MIN_TAIL = 5  # weights that determine a law of two parameters
MIN_DRAWS_FOR_LARGEST = 100  # draws from which the largest weight bounds k
SHOWN_K = 0.7  # the shape for which the largest of S weights is about √S / 3 medians
EQUAL_LOG_WEIGHTS = 1e-10  # differences of log weights below this are rounding
MIN_LOG_THRESHOLD = -600.0  # of ln(u / largest weight), so that u and 1/u are normal floating-point numbers
PRIOR_EXCESSES, PRIOR_SHAPE = 10, 0.5  # the weak prior on k: ten more exceedances with shape 0.5


# -- importance sampling -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Importance:
    """Corrected moments and evidence, the weighted draws that they come from, and their reliability.

    ``approximation`` has the mean and covariance of the draws, and predicts as a Gaussian; ``draws`` predict without
    one. ``k`` is the shape of the weights' tail (below 0.5 good, up to 0.7 usable), ``effective_size`` the number of
    independent draws from the posterior that would be as accurate.
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
    max_rounds: int = N_ROUNDS,
) -> Importance:
    """Sample from an approximation of the posterior with importance weights, and from a better one if k is poor.

    A round takes ``n`` draws and one pass; n is preferably a power of two, and at least four per weight. One round is
    enough if k is below 0.5. The proposal is any Gaussian over θ; its better covariance is used if it has one (`ep`).

    Raises
    ------
    DataError
        If the number of evaluations is too large.
    """
    check_count("importance", "n", n, least=4 * proposal.mean.size)
    if evaluations(objective, n) > MAX_EVALUATIONS:
        raise DataError(
            f"importance(n={n}): {objective.source.n_rows} rows would take {evaluations(objective, n):.0e} evaluations "
            f"of a likelihood; the limit is {MAX_EVALUATIONS:.0e}. Use fewer draws, or another approximation: with "
            "that many rows the posterior is nearly Gaussian."
        )
    source, q = generator(rng), Proposal(proposal.mean, proposal.moments or proposal.factor, None)
    best = found = weighted_draws(objective, q, n, source)
    for _ in range(max_rounds - 1):
        if best.smoothed.k < GOOD_K:
            break
        mean = found.draws.mean
        found = weighted_draws(objective, Proposal(mean, found.precision(), MIN_DEGREES + mean.size), n, source)
        # A good k ranks before a usable one, whatever the effective size, which does not show a tail that was missed.
        ranks = [(w.smoothed.k < GOOD_K, w.smoothed.k < USABLE_K, w.smoothed.effective_size) for w in (best, found)]
        best = found if ranks[1] > ranks[0] else best
    (draws, smoothed), mean = best, best.draws.mean
    log_likelihood = float(objective.reduce(log_likelihood_sums, theta=mean[None]).grad[0])
    usable = smoothed.k < USABLE_K
    approximation = Approximation(
        mean, best.precision(), log_likelihood, smoothed.log_mean, "importance", proposal.steps, is_converged=usable
    )
    return Importance(approximation, draws, smoothed.k, smoothed.effective_size)


def evaluations(objective: Posterior, n: int) -> float:
    """Number of evaluations of one output of one row in a round of n draws."""
    return float(n) * objective.source.n_rows * objective.shape[0]


class Proposal(NamedTuple):
    """q(θ): a Gaussian N(mean, A⁻¹), or a Student's t about the mean with A⁻¹ for its scale."""

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
        if degrees is not None:  # √(ν/χ²)
            stretch = np.sqrt(degrees / (2 * special.gammaincinv(0.5 * degrees, u[:, D])))
        stretch = np.concatenate([stretch, stretch])[:n]
        theta = self.mean + ((z * stretch[:, None]) @ self.factor.root.T).reshape(n, *self.mean.shape)
        squared = np.einsum("sd,sd->s", z, z) * stretch**2
        log_q = -0.5 * squared - D * LOG_SQRT_2PI
        if degrees is not None:
            whole = 0.5 * (degrees + D)
            constant = special.gammaln(whole) - special.gammaln(0.5 * degrees) - 0.5 * D * np.log(degrees * np.pi)
            log_q = constant - whole * np.log1p(squared / degrees)
        return theta, 0.5 * self.factor.log_det + log_q


class Weighted(NamedTuple):
    """The draws of one round, and the reliability of their weights."""

    draws: Draws
    smoothed: Smoothed

    def precision(self) -> Factor:
        """Factor of the inverse covariance of the draws; with few effective draws, mostly of the unweighted ones."""
        S, size = self.draws.covariance, self.smoothed.effective_size
        D = len(S)
        if size < DRAWS_PER_WEIGHT * D:
            unweighted = np.cov(self.draws.theta.reshape(-1, D), rowvar=False).reshape(D, D)
            trust = size / (size + DRAWS_PER_WEIGHT * D)
            S = trust * S + (1 - trust) * unweighted
        unit = np.sqrt(np.diag(S))
        scale = np.outer(unit, unit)
        inverse = np.linalg.inv(S / scale) / scale
        return factorise(np.asarray((inverse + inverse.T) / 2), 1, np.zeros(D, dtype=bool))


def weighted_draws(objective: Posterior, proposal: Proposal, n: int, rng: np.random.Generator) -> Weighted:
    """Return n draws of q and their smoothed weights: one pass."""
    theta, log_q = proposal.draw(n, rng)
    prior = objective.prior
    away = (theta - prior.mean).reshape(-1, len(prior.precision))  # one output per row, or all if Λ couples them
    squared = (away * prior.dot(away)).reshape(n, -1).sum(axis=1)
    log_prior = 0.5 * (prior.log_det() - squared) - proposal.mean.size * LOG_SQRT_2PI
    log_likelihood = objective.reduce(log_likelihood_sums, theta=theta).grad
    smoothed = pareto_smooth(log_likelihood + log_prior - log_q)
    return Weighted(Draws(theta, smoothed.weights), smoothed)


# -- weighted draws ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Draws:
    """Parameters θ (S, C, P) and their weights (S,), which sum to one: E[f] = Σ_s weight_s f(θ_s)."""

    theta: Float
    weights: Float

    @property
    def mean(self) -> Float:
        """Σ_s weight_s θ_s, (C, P)."""
        return np.asarray(np.einsum("s,scp->cp", self.weights, self.theta))

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, (CP, CP)."""
        away = (self.theta - self.mean).reshape(len(self.theta), -1)
        return np.asarray((away * self.weights[:, None]).T @ away)

    def quantiles(self, levels: Float) -> Float:
        """Quantiles of each parameter, (levels, C, P), by the cumulative sum of the weights of sorted draws."""
        flat = self.theta.reshape(len(self.theta), -1)
        order = np.argsort(flat, axis=0, kind="stable")
        reached = np.cumsum(self.weights[order], axis=0) - 0.5 * self.weights[order]
        sorted_ = np.take_along_axis(flat, order, axis=0)
        found = np.stack([np.interp(levels, r, x) for r, x in zip(reached.T, sorted_.T, strict=True)], axis=-1)
        return found.reshape(len(levels), *self.theta.shape[1:])

    def probability(self, X: Rows, design: Design, likelihood: ClassLikelihood) -> Float:
        """Σ_s weight_s p(t | x, θ_s), without a Gaussian in between: (n,) for class 1, or (n, K)."""
        S, C = self.theta.shape[:2]
        p = np.empty((X.shape[0],) if C == 1 else (X.shape[0], C))
        step = max(1, MAX_DRAW_ACTIVATIONS // (S * C))
        for start in range(0, len(p), step):
            rows = slice(start, start + step)
            block = Block(X[rows], None, None, range(start, min(start + step, len(p))))
            A = _activations_of_draws(block, self.theta, design)
            P = likelihood.probability(A.reshape(-1, *A.shape[2:])).reshape(A.shape)
            p[rows] = np.einsum("s,ns...->n...", self.weights, P)
        return p


def log_likelihood_sums(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> Grad:
    """ln p(D | θ_s) = Σ_n weight_n ln p(t_n | θ_s φ̃_n) of draws θ (S, C, P) on one block, (S,)."""
    S, C = theta.shape[:2]
    total = np.zeros(S)
    step = max(1, MAX_DRAW_ACTIVATIONS // (S * C))
    for start in range(0, len(block), step):
        rows = block.take(np.arange(start, min(start + step, len(block))))
        A = _activations_of_draws(rows, theta, design)
        t = np.repeat(rows.codes, S, axis=0)
        log_p = likelihood.derivatives(A.reshape(len(t), *A.shape[2:]), t).log_p.reshape(len(rows), S)
        total += log_p.sum(axis=0) if rows.weight is None else rows.weight @ log_p
    return Grad(total)


def _activations_of_draws(block: Block, theta: Float, design: Design) -> Float:
    """Activation of every row under every draw: (n, S), or (n, S, C)."""
    S, C, P = theta.shape
    A = design.activate(replace(block, offset=None), theta.reshape(S * C, P)).reshape(len(block), S, C)
    if block.offset is not None:
        A += block.offset[:, None, None]
    return A[:, :, 0] if C == 1 else A


# -- Pareto-smoothed weights -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Smoothed:
    """Importance weights after smoothing, and their reliability.

    Attributes
    ----------
    weights : array of shape (S,)
        r_s, normalised: the weights sum to one.
    k : float
        Shape of the tail of the raw weights. Minus infinity if all weights are equal (q is p), plus infinity if the
        tail has fewer than five weights, so that it is unknown.
    effective_size : float
        1 / Σ weight², the number of independent draws from p that would be as accurate; from 1 to S.
    log_mean : float
        ln (1/S) Σ r_s, the estimate of ln Z.
    """

    weights: Float
    k: float
    effective_size: float
    log_mean: float


def pareto_smooth(log_weights: ArrayLike) -> Smoothed:
    """Smooth the largest of S importance weights by a generalised Pareto law.

    Above a high threshold u the weights follow

        p(r - u = x) = (1/σ) (1 + k x/σ)^(-1/k - 1),

    for any p and q. The number of finite moments of r is 1/k: below 0.5 the variance is finite, up to 0.7 the sums
    converge at a practical rate, above that they do not, and from 1 on the mean does not exist. The tail is the
    min(S/5, 3 √S) largest weights. They are replaced by the expected order statistics of the law, which removes most of
    their noise; none becomes larger than the largest weight.

    The law holds for a tail, and if q is nearly p there may be none. In one or two dimensions many draws then lie near
    the maximum of p/q; a threshold there leaves many excesses that are almost zero and a few that are not, and the law
    that fits them best has k = 3 although all weights are nearly equal. But S draws of a tail of shape ½ reach √S
    medians. If the largest weight is less than a third of that, k is bounded, and a law with a larger k is not used:

        k ≤ 0.7 ln(largest / median) / ln(√S / 3)

    Vehtari, Simpson, Gelman, Yao & Gabry (2024); the fit follows Zhang & Stephens (2009).

    ``log_weights`` (S,) are ln p̃(w_s) - ln q(w_s), for p̃ known up to a factor. Minus infinity is a weight of zero.

    Examples
    --------
    A normal proposal is too narrow for a Student's t, and a t is wide enough for a normal:

    >>> import numpy as np
    >>> from scipy import stats
    >>> rng = np.random.default_rng(0)
    >>> w = rng.normal(size=4000)
    >>> pareto_smooth(stats.t(df=2).logpdf(w) - stats.norm.logpdf(w)).k > 0.7
    True
    >>> w = rng.standard_t(df=2, size=4000)
    >>> smoothed = pareto_smooth(stats.norm.logpdf(w) - stats.t(df=2).logpdf(w))
    >>> smoothed.k < 0.5, abs(smoothed.log_mean) < 0.02
    (True, True)
    """
    raw = np.array(log_weights, dtype=np.float64)
    top, size = float(raw.max()), len(raw)
    if not np.isfinite(top):
        raise ValueError(f"The largest importance weight is e^{top}: the proposal does not overlap with the posterior.")
    relative = raw - top  # the largest weight is the unit
    if relative.min() > -EQUAL_LOG_WEIGHTS:
        return _normalised(relative, k=-inf, top=top)
    n = ceil(min(size / 5, 3 * sqrt(size)))
    largest = np.argsort(relative, kind="stable")[-n - 1 :]
    cut = max(float(relative[largest[0]]), MIN_LOG_THRESHOLD)  # ln u
    tail = largest[relative[largest] > cut]
    if len(tail) < MIN_TAIL:
        return _normalised(relative, k=inf, top=top)
    k, scale = fit_generalized_pareto(np.exp(cut) * np.expm1(relative[tail] - cut))  # increasing, and never zero
    # Quantiles of the law at (j - ½)/n, about the expected values of n ordered draws.
    exponential = -np.log1p(-(np.arange(len(tail)) + 0.5) / len(tail))
    is_exponential = abs(k) < np.finfo(np.float64).eps
    quantiles = exponential if is_exponential else np.expm1(np.minimum(k * exponential, 700.0)) / k
    smooth = relative.copy()
    smooth[tail] = np.minimum(np.log(np.exp(cut) + scale * quantiles), 0.0)
    # The largest k of weights that are all near the median; infinite if one is not.
    reach, height = log(sqrt(size) / 3), -float(np.partition(relative, size // 2)[size // 2])
    bound = SHOWN_K * height / reach if size >= MIN_DRAWS_FOR_LARGEST and height < reach else inf
    return _normalised(smooth if k <= bound else relative, k=min(k, bound), top=top)


def fit_generalized_pareto(excess: Float) -> tuple[float, float]:
    """Return shape k and scale σ of a generalised Pareto law: Zhang & Stephens' estimate, k drawn weakly to 0.5.

    With b = -k/σ the best k for a given b is k(b) = mean ln(1 - b x), which leaves a profile likelihood of one
    variable, n (ln(-b/k) - k - 1). The posterior mean of b on a grid, which depends only on the largest x and the
    quartile, needs no iteration and does not fail as maximum likelihood does. ``excess`` (n,) are the excesses over the
    threshold, positive and in increasing order.
    """
    n = len(excess)
    n_grid = 30 + isqrt(n)
    quartile = excess[int(n / 4 + 0.5) - 1]
    j = np.arange(1, n_grid + 1)
    b = 1.0 / excess[-1] + (1.0 - np.sqrt(n_grid / (j - 0.5))) / (3.0 * quartile)
    k = np.log1p(-b[:, None] * excess).mean(axis=1)
    exponential = np.full_like(b, 1.0 / excess.mean())  # 1/σ = -b/k, or 1/mean if both are zero
    profile = n * (np.log(np.divide(-b, k, out=exponential, where=k != 0)) - k - 1.0)
    b_mean = float(special.softmax(profile) @ b)
    k_mean = float(np.log1p(-b_mean * excess).mean())
    scale = -k_mean / b_mean if b_mean != 0 else float(excess.mean())
    return (n * k_mean + PRIOR_EXCESSES * PRIOR_SHAPE) / (n + PRIOR_EXCESSES), scale


def _normalised(relative: Float, *, k: float, top: float) -> Smoothed:
    total = float(special.logsumexp(relative))
    log_weights = relative - total
    effective_size = float(np.exp(-special.logsumexp(2.0 * log_weights)))
    return Smoothed(np.exp(log_weights), k, effective_size, top + total - float(np.log(len(relative))))
