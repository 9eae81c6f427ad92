# SPDX-License-Identifier: BSD-3-Clause
"""A posterior corrected by importance sampling: draws from an approximation, weighted by how wrong it is.

    r_s = p(D | θ_s) p(θ_s) / q(θ_s),        E[f] ≈ Σ_s r_s f(θ_s) / Σ_s r_s,        p(D) ≈ mean r_s

For any likelihood and any number of outputs, and exact as S grows, as long as q is wide enough; the Pareto shape k of
the weights says whether it is (pareto.py). A Gaussian is tried first. Where k says no, q becomes a Student's t, whose
tails no posterior with a Gaussian prior escapes, with the mean and the covariance that the weights before it found. Of
the rounds with the best k, good or usable, the one with the most effective draws is the answer.

The points are scrambled Sobol' points, each beside its mirror image: of smooth functions in few dimensions their
averages are far better than those of independent draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from separatrix._arguments import check_count, generator
from separatrix._array import Float
from separatrix._special import LOG_SQRT_2PI
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.bayesian.sampling.draws import Draws, log_likelihoods
from separatrix.bayesian.sampling.pareto import Smoothed, pareto_smooth
from separatrix.exceptions import DataError
from separatrix.solvers import Factor, Posterior, factorise

__all__ = ["GOOD", "USABLE", "Importance", "Proposal", "Weighted", "evaluations", "importance", "weighted_draws"]

GOOD, USABLE = 0.5, 0.7  # k below which the weights have a variance, and below which they can be worked with
ROUNDS = 4
LEAST_DEGREES = 3.0  # of freedom of a t in few dimensions, where heavy tails cost little; one more for each
ENOUGH = 10  # effective draws for each parameter, from which on a covariance is theirs alone
EVALUATIONS = 2e10  # of a row's likelihood, beyond which the user should say so


@dataclass(frozen=True, eq=False)
class Importance:
    """Corrected moments and evidence, the weighted draws that they come from, and how far to trust them.

    ``approximation`` has the mean and covariance of the draws, and predicts as a Gaussian would; ``draws`` predict
    without one. ``k`` is the shape of the weights' tail (below 0.5 good, up to 0.7 usable), ``effective_size`` the
    number of independent draws from the posterior that would do as well.
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
    max_rounds: int = ROUNDS,
) -> Importance:
    """Importance sampling from an approximation of the posterior, repeated with a better one where it is poor.

    Parameters
    ----------
    objective : Posterior
        Rows, likelihood and prior; the prior must be proper.
    proposal : Approximation
        Where to draw from: any Gaussian over θ, with its better covariance where it has one (`ep`).
    n : int, default 16384
        Draws in a round; best a power of two, and at least four for each parameter. A round is one pass.
    rng : int or Generator, optional
        Where the draws come from; None always gives the same ones.
    max_rounds : int, default 4
        Rounds at most. One is enough where k is below 0.5.

    Raises
    ------
    DataError
        Where the prior is flat along some weight, or the evaluations are too many to be meant.

    Examples
    --------
    >>> from separatrix.bayesian.posterior.approximation import laplace
    >>> from separatrix.rows import as_source
    >>> from separatrix.likelihoods import Logit
    >>> from separatrix.priors import Gaussian
    >>> from separatrix.solvers import Newton, pose
    >>> source = as_source(np.array([[1.0], [2.0], [3.0]]), np.array([1, 1, 1]))
    >>> objective = pose(source, Logit(), Gaussian(scale=2.0), fit_intercept=False)
    >>> mode = laplace(objective, Newton().minimise(objective, np.zeros((1, 1))).value)
    >>> found = importance(objective, mode)
    >>> round(found.approximation.log_evidence, 2), found.approximation.mean.round(2), found.k < 0.7
    (-1.09, array([[1.98]]), True)
    """
    check_count("importance", "n", n, least=4 * proposal.mean.size)
    check_count("importance", "max_rounds", max_rounds)
    _require_proper(objective, n)
    source = generator(rng)
    first = Proposal(proposal.mean, proposal.factor if proposal.moments is None else proposal.moments, None)
    best = found = weighted_draws(objective, first, n, source)
    for _ in range(max_rounds - 1):
        if best.smoothed.k < GOOD:
            break
        found = weighted_draws(objective, _better(found), n, source)
        best = max(best, found, key=_quality)
    return _summary(objective, best, proposal.steps)


def _quality(found: Weighted) -> tuple[bool, bool, float]:
    """A good k goes before a usable one, whatever the effective size: a tail that was missed does not show in that."""
    k = found.smoothed.k
    return k < GOOD, k < USABLE, found.smoothed.effective_size


def evaluations(objective: Posterior, n: int) -> float:
    """How often a round evaluates one output of one row."""
    return float(n) * objective.source.n_rows * objective.shape[0]


class Proposal(NamedTuple):
    """q(θ): a Gaussian N(mean, A⁻¹), or a Student's t about the mean with A⁻¹ for its scale."""

    mean: Float
    factor: Factor
    degrees: float | None

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Float, Float]:
        """θ (n, C, P) and ln q(θ) (n,)."""
        D = self.mean.size
        z, length = _points(n, D, self.degrees, rng)
        theta = self.mean + ((z * length[:, None]) @ self.factor.root.T).reshape(n, *self.mean.shape)
        squared = np.einsum("sd,sd->s", z, z) * length**2
        return theta, 0.5 * self.factor.log_det + _log_density(squared, D, self.degrees)


def _log_density(squared: Float, D: int, degrees: float | None) -> Float:
    """Of a standard normal, or a standard t, at a squared distance from its centre."""
    if degrees is None:
        return np.asarray(-0.5 * squared - D * LOG_SQRT_2PI)
    whole = 0.5 * (degrees + D)
    constant = special.gammaln(whole) - special.gammaln(0.5 * degrees) - 0.5 * D * np.log(degrees * np.pi)
    return np.asarray(constant - whole * np.log1p(squared / degrees))


def _points(n: int, D: int, degrees: float | None, rng: np.random.Generator) -> tuple[Float, Float]:
    """Standard normal points (n, D) in mirrored pairs, and what each is stretched by: √(ν/χ²), or one."""
    from scipy.stats import qmc

    half = n - n // 2
    u = qmc.Sobol(D + (degrees is not None), scramble=True, rng=rng).random_base2(int(np.ceil(np.log2(half))))[:half]
    u = np.clip(u, 1e-16, 1 - 1e-16)
    z = special.ndtri(u[:, :D])
    stretch = np.ones(half) if degrees is None else np.sqrt(degrees / (2 * special.gammaincinv(0.5 * degrees, u[:, D])))
    return np.concatenate([z, -z])[:n], np.concatenate([stretch, stretch])[:n]


class Weighted(NamedTuple):
    """The draws of one round and their weights."""

    theta: Float
    smoothed: Smoothed

    @property
    def draws(self) -> Draws:
        """Both, as averages need them."""
        return Draws(self.theta, self.smoothed.weights)


def weighted_draws(objective: Posterior, proposal: Proposal, n: int, rng: np.random.Generator) -> Weighted:
    """n draws of q and their smoothed weights: one pass."""
    theta, log_q = proposal.draw(n, rng)
    prior = objective.prior
    away = (theta - prior.mean).reshape(-1, len(prior.precision))  # one output in a row, or all where Λ ties them
    squared = (away * prior.dot(away)).reshape(n, -1).sum(axis=1)
    log_prior = 0.5 * (prior.log_det() - squared) - proposal.mean.size * LOG_SQRT_2PI
    return Weighted(theta, pareto_smooth(log_likelihoods(objective, theta) + log_prior - log_q))


def _better(found: Weighted) -> Proposal:
    """A t with the mean and covariance that the weights say."""
    mean = found.draws.mean
    return Proposal(mean, _precision(found), LEAST_DEGREES + mean.size)


def _precision(found: Weighted) -> Factor:
    """Of the inverse covariance of the draws; where few of them count, mostly of that of all alike."""
    covariance, size = found.draws.covariance, found.smoothed.effective_size
    D = len(covariance)
    if size < ENOUGH * D:
        alike = np.cov(found.theta.reshape(len(found.theta), -1), rowvar=False).reshape(D, D)
        trust = size / (size + ENOUGH * D)
        covariance = trust * covariance + (1 - trust) * alike
    return factorise(_inverse(covariance), 1, np.zeros(D, dtype=bool))


def _inverse(S: Float) -> Float:
    """S⁻¹ of a covariance, symmetric."""
    unit = np.sqrt(np.diag(S))
    scale = np.outer(unit, unit)
    inverse = np.linalg.inv(S / scale) / scale
    return np.asarray((inverse + inverse.T) / 2)


def _summary(objective: Posterior, found: Weighted, steps: int) -> Importance:
    draws, smoothed = found.draws, found.smoothed
    mean = draws.mean
    log_likelihood = float(log_likelihoods(objective, mean[None])[0])
    approximation = Approximation(
        mean,
        _precision(found),
        log_likelihood,
        smoothed.log_mean,
        "importance",
        steps,
        is_converged=smoothed.k < USABLE,
    )
    return Importance(approximation, draws, smoothed.k, smoothed.effective_size)


def _require_proper(objective: Posterior, n: int) -> None:
    """Raise where there is no q / p, or where it would take for ever."""
    if not np.isfinite(objective.prior.log_det()):
        raise DataError(
            "importance: the prior is flat along some weight, so that the evidence is infinite. Give every weight and "
            "the bias a finite scale, for example Gaussian(scale=..., intercept_scale=10)."
        )
    if evaluations(objective, n) > EVALUATIONS:
        raise DataError(
            f"importance(n={n}): {objective.source.n_rows} rows would take {evaluations(objective, n):.0e} evaluations "
            f"of a likelihood; the limit is {EVALUATIONS:.0e}. Take fewer draws, or another approximation: with so "
            "many rows the posterior is nearly Gaussian."
        )
