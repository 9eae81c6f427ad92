# SPDX-License-Identifier: BSD-3-Clause
"""Estimate how far a Gaussian is from the posterior: the shift of its mean, the errors of probabilities and intervals.

**The shift of the mean** (`skewness`). Laplace's Gaussian ignores the third derivatives of the log posterior at the
mode. They shift the mean from the mode, to first order by

    δ = -½ A⁻¹ Σ_n weight_n skew_n var_n φ̃_n,        skew_n = -∂³ ln p(t_n | a_n)/∂a³,    var_n = φ̃_n' A⁻¹ φ̃_n

For K classes skew_n var_n becomes the gradient of tr(curvature Sigma_n). A small δ is the error of Laplace's mean. A
large δ is a warning: if a rare 0/1 column separates the classes, δ is several posterior standard deviations, while the
Pareto k is still 0.7. δ takes one pass over the rows, or over a sample of them if the data are large and no value of a
column is so rare that the sample may miss its effect (`is_represented`).

**The errors of probabilities and intervals** (`errors_of`). Probabilities and bounds of the Gaussian are compared with
those of draws from the posterior, at training rows and at rows that mix two of them: at some training rows even a poor
Gaussian agrees with the label. Mixtures of two classes are unlike most rows, so most of them mix rows of one class. The
draws are importance weighted draws from the Gaussian if their Pareto k is below 0.7, and otherwise those of short
Hamiltonian chains that start at it. k itself follows the error badly: it grows with the number of weights, and it is
0.7 to 1 for variational posteriors of K classes whose average error is 0.002.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from scipy import special

from separatrix._array import Array, Codes, Float, to_dense
from separatrix.bayesian.evidence import is_represented, log_det_gradient, log_likelihood_near
from separatrix.bayesian.posterior import Approximation, weight_names
from separatrix.bayesian.predictive import class_probabilities, intervals
from separatrix.bayesian.record import NEGLIGIBLE_ERROR, Errors, Inference, Skewness
from separatrix.bayesian.uncoupled import UncoupledApproximation
from separatrix.likelihoods import ClassLikelihood
from separatrix.solvers import Posterior
from separatrix.stats import collect_sample
from separatrix.weights import Draws

N_KEPT_DRAWS = 4096  # draws that a model keeps
N_CHECKED_ROWS = 64  # rows at which a Gaussian is compared with draws
CHECKED_TAILS = np.array([0.025, 0.975])  # of the intervals that are compared


def skewness(objective: Posterior, approximation: Approximation, slope: Float | None = None) -> Skewness:
    """Return the first-order shift of the posterior mean from the mode, which is the mean of ``approximation``.

    ``slope`` is ∂ ln |A|/∂θ, if known; for large tables, that of the sample.
    """
    is_sampled = objective.sample is not None and is_represented(objective, approximation)
    if slope is None or (objective.sample is not None and not is_sampled):
        slope = log_det_gradient(objective, approximation, sampled=is_sampled)
    shift = -0.5 * approximation.factor.solve(slope)
    sizes = np.abs(shift / approximation.std).max(axis=0)
    worst = int(sizes.argmax())
    return Skewness(shift, float(sizes[worst]), weight_names(objective)[worst])


def third_order(objective: Posterior, approximation: Approximation, found: Skewness) -> Approximation:
    """Move the Gaussian from the mode to the first-order estimate of the mean.

    No weight moves by more than one standard deviation, because the estimate is unreliable beyond that.
    """
    mean = approximation.mean + found.shift / max(found.largest, 1.0)
    return replace(approximation, mean=mean, log_likelihood=log_likelihood_near(objective, approximation, mean))


def errors_of(
    objective: Posterior,
    approximation: Approximation | UncoupledApproximation,
    draws: Draws,
    *,
    has_typical_rows: bool = True,
) -> tuple[Errors, Errors]:
    """Compare a Gaussian with draws from the posterior, at training rows and, if they are typical, mixtures of two.

    Return the errors of the Gaussian, and the standard errors of the draws, which are subtracted from the squared
    differences. Those of quantiles follow from the order statistics around them.
    """
    X = checked_rows(objective, approximation.mean, mixed=has_typical_rows)
    likelihood = cast(ClassLikelihood, objective.likelihood)
    a = approximation.activations(X, objective.design)
    P = class_probabilities(likelihood, a, "exact")
    mean, noise = draws.probability_and_error(X, objective.design, likelihood)
    size = max((draws.weights**2).sum(), 1 / N_KEPT_DRAWS)
    level_noise = np.sqrt(CHECKED_TAILS * (1 - CHECKED_TAILS) * size)
    levels = np.concatenate([CHECKED_TAILS, CHECKED_TAILS - level_noise, CHECKED_TAILS + level_noise])
    # Quantiles of draws with equal weights take less time.
    equal = draws if draws.n_chains else draws.resampled(min(len(draws.theta), N_KEPT_DRAWS))
    quantiles = equal.probability_quantiles(X, objective.design, likelihood, np.clip(levels, 0.0, 1.0))
    bounds, low, high = np.split(quantiles, 3, axis=-1)
    bound_noise = 0.5 * (high - low)
    sizes = _without_noise((P if mean.ndim == 2 else P[:, 1]) - mean, noise)
    off = _without_noise(intervals(likelihood, a, CHECKED_TAILS) - bounds, bound_noise)
    n_kinds = len(X) // N_CHECKED_ROWS
    return Errors.of(sizes, off, n_kinds), Errors.of(noise, bound_noise, n_kinds)


def _without_noise(difference: Float, noise: Float) -> Float:
    return np.asarray(np.sqrt(np.maximum(difference**2 - noise**2, 0.0)))


def checked_rows(objective: Posterior, mean: Float, *, mixed: bool = True) -> Array:
    """Return training rows and, if ``mixed``, as many mixtures of two.

    Half of the columns of each mixture comes from another row: of any class in a third of the mixtures, and of the same
    class in the others. Random numbers belong to rows in the order of their log-odds under the ``mean`` of the
    weights, and to columns in the order of their weights, so that other orders have no effect. Rows are drawn by
    their weights.
    """
    rng = np.random.default_rng(0)
    block = collect_sample(objective.source, 256).as_block()
    X, t = to_dense(block.X), block.codes if block.codes.ndim == 1 else block.codes.argmax(axis=1)
    t = np.round(t).astype(np.intp)  # soft targets of two classes are fractions
    A = objective.design.activate(replace(block, offset=None), mean)
    A = np.column_stack([-A, A]) if A.ndim == 1 else A
    of_class = np.arange(len(t)), t
    own, A[of_class] = A[of_class], -np.inf
    order = np.argsort(own - special.logsumexp(A, axis=1), kind="stable")
    rows, t, weight = X[order], t[order], np.ones(len(t))
    if block.weight is not None:
        weight = np.minimum(block.weight[order], 10.0)  # so that errors at other rows count

    def drawn(u: Float, is_candidate: Array) -> Codes:
        """Positions of rows at fractions u of the total weight of the candidates."""
        reached = np.cumsum(np.where(is_candidate, weight, 0.0))
        last = np.flatnonzero(np.where(is_candidate, weight, 0.0))[-1]
        return np.asarray(np.minimum(np.searchsorted(reached, u * reached[-1], side="right"), last))

    at = drawn(rng.random(N_CHECKED_ROWS), weight > 0)
    if not mixed:
        return rows[at]
    is_any = rng.random(N_CHECKED_ROWS) < 1 / 3
    partners = [drawn(u, (t == t[i]) | free) for u, i, free in zip(rng.random(N_CHECKED_ROWS), at, is_any, strict=True)]
    one, other = rows[at], rows[partners]
    contrast = (mean - mean.mean(axis=0) if len(mean) > 1 else mean) * objective.column_units
    rank = np.argsort(np.argsort((contrast**2).sum(axis=0)[: rows.shape[1]], kind="stable"))
    is_other = rng.random(one.shape)[:, rank] < 0.5
    return np.concatenate([one, np.where(is_other, other, one)])


def keep_draws(found: Inference, draws: Draws, errors: Errors, noise: Errors) -> Inference:
    """Keep draws with equal weights for intervals, and for averages too if those of the Gaussian are clearly poor."""
    n = min(N_KEPT_DRAWS, 2**20 // draws.theta[0].size)  # 8 MB
    is_poor = not errors.average <= max(NEGLIGIBLE_ERROR, 3 * noise.average)  # three standard errors
    kept = replace(draws.resampled(n), for_averages=is_poor)
    return replace(
        found, draws=kept, errors=noise if is_poor else replace(noise, average=errors.average, largest=errors.largest)
    )
