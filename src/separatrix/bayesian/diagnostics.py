# SPDX-License-Identifier: BSD-3-Clause
"""How far a posterior is from the Gaussian that stands for it, and which approximation that calls for.

**The shift of the mean** (`skewness`). At the mode the log posterior is quadratic up to its third derivatives. These
push the mean away from the mode, to first order by

    δ = -½ A⁻¹ Σ_n weight_n skew_n var_n φ̃_n,        skew_n = -∂³ ln p(t_n | a_n)/∂a³,    var_n = φ̃_n' A⁻¹ φ̃_n

For K classes skew_n var_n becomes the gradient of tr(curvature Sigma_n). Its size in posterior standard deviations is
how wrong a Laplace mean is, as long as it is small, and says so where it is not: on a rare 0/1 column that separates it
is several standard deviations, while the Pareto k of the weights is still 0.7. It takes one pass, for large data over a
sample: the bulk of the rows is alike there, and what a sample may miss, a rare value of a column, shows in the bound

    γ_j = max_n |φ̃_nj| (A - Λ)_jj sd_j³  ≥  sd_j³ |Σ_n skew_n φ̃_nj³|        where |skew| ≤ curvature, as for the logit

which takes the range of each column and no product with the rows.

**The corrected mean** (`third_order`) is the mode plus δ.

**The Pareto k** (`pareto_k`) of importance weights compares the whole density, at the price of n evaluations of all
rows.

**The choice** (`choose`), from the thirteen posteriors of the tests, whose answers are known:

    largest shift       Laplace, mean corrected: error of the mean, of the sd, of ln p(D)     expectation propagation
    up to 0.17 sd       0.01 sd,  4 %,  0.03 to 0.09                                          0.01 sd,  1 %,  0.002
    0.3 to 0.6 sd       0.02 to 0.1 sd,  3 to 18 %,  0.02 to 0.3                              0.03 sd,  3 %,  0.01
    above               0.1 to 0.2 sd,  12 to 33 %,  0.2 to 1.2                               0.04 sd,  4 %,  0.03

For K classes importance sampling takes the place of expectation propagation as long as the weights are few, and beyond
a moderate shift the variational posterior, where it takes no longer than two seconds: on seven cover types (4000 rows,
50 columns, scale 1) its log-loss is 0.68, and that of Laplace's Gaussian 0.74.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from separatrix._arguments import check_count, generator
from separatrix._array import Array, Float, device_aware
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.bayesian.sampling.importance import Proposal, evaluations, weighted_draws
from separatrix.bayesian.variational.softmax import estimated_seconds
from separatrix.likelihoods import Covariances, ScalarLikelihood, Softmax
from separatrix.rows import Block
from separatrix.solvers import Posterior
from separatrix.stats import Grad, extent

__all__ = ["Skewness", "can_vary", "choose", "pareto_k", "skewness", "third_order"]

NEGLIGIBLE = 0.05  # a shift that no one will notice
MODERATE = 0.3  # up to which the corrected mean does, where anything better is dear
CHEAP = 1e7  # N P² of a problem on which expectation propagation takes a fraction of a second
RARE = 0.3  # a γ_j that a sample of rows may not be trusted with
DRAWN_WEIGHTS = 40  # parameters up to which importance weights of K classes stay usable
DRAWS, EVALUATIONS = 4096, 1e8  # what importance sampling may cost without being asked for
SECONDS = 2.0  # what a variational posterior of K classes may take, by its own estimate


@dataclass(frozen=True, eq=False)
class Skewness:
    """δ (C, P), the shift of the mean from the mode; ``largest``, its largest part in sds; and the column of that."""

    shift: Float
    largest: float
    column: str


def skewness(objective: Posterior, approximation: Approximation) -> Skewness:
    """The first-order shift of the posterior mean from the mode that ``approximation`` is centred on."""
    posed = objective
    if objective.sample is not None and _rarity(objective, approximation) <= RARE:
        posed = objective.of_sample()
    pull = posed.source.reduce(partial(_pull, approximation=approximation, objective=objective)).grad
    shift = -0.5 * approximation.factor.solve(pull)
    sizes = np.abs(shift / approximation.std).max(axis=0)
    worst = int(sizes.argmax())
    names = (*objective.source.columns, "the bias")
    return Skewness(shift, float(sizes[worst]), names[worst])


def third_order(objective: Posterior, approximation: Approximation, found: Skewness) -> Approximation:
    """The same Gaussian about the mean, to first order, instead of the mode.

    No weight moves by more than a standard deviation: beyond, the first order is no guide to how far. ln p(D | mean)
    takes a pass, unless it differs from that at the mode by less than a sum over these rows is rounded.
    """
    step = found.shift / max(found.largest, 1.0)
    mean = approximation.mean + step
    value = objective.prior.value_grad(approximation.mean)[0] - approximation.log_likelihood  # of E at the mode
    rise = 0.5 * approximation.factor.square(step)
    value = value + rise if rise <= objective.rounding * abs(value) else objective.value_grad(mean).value
    return replace(approximation, mean=mean, log_likelihood=objective.prior.value_grad(mean)[0] - value)


def pareto_k(
    objective: Posterior, approximation: Approximation, *, n: int = 4096, rng: int | np.random.Generator | None = None
) -> float:
    """The shape of the tail of importance weights of n draws: below 0.5 good, up to 0.7 usable, above 0.7 poor."""
    check_count("pareto_k", "n", n, least=32)
    reported = approximation.factor if approximation.moments is None else approximation.moments
    proposal = Proposal(approximation.mean, reported, None)
    return weighted_draws(objective, proposal, n, generator(rng)).smoothed.k


def choose(objective: Posterior, found: Skewness) -> str:
    """The approximation that "auto" stands for: "laplace" (with `third_order`), "ep", "importance" or "variational".

    Iterations that do not converge, and importance weights with k above 0.7, are for the caller to notice; what is left
    then is "laplace".
    """
    (C, P), N = objective.shape, objective.source.n_rows
    if found.largest <= NEGLIGIBLE:
        return "laplace"
    if C == 1:
        return "ep" if found.largest > MODERATE or N * P**2 <= CHEAP else "laplace"
    is_proper = bool(np.isfinite(objective.prior.log_det()))
    if is_proper and C * P <= DRAWN_WEIGHTS and evaluations(objective, DRAWS) <= EVALUATIONS:
        return "importance"
    return "variational" if found.largest > MODERATE and can_vary(objective) else "laplace"


def can_vary(objective: Posterior) -> bool:
    """Whether a variational posterior of K classes is to be had, in a time that no one will mind."""
    is_softmax = isinstance(objective.likelihood, Softmax) and bool(np.isfinite(objective.prior.log_det()))
    return is_softmax and estimated_seconds(objective) <= SECONDS


@device_aware
def _pull(block: Block, approximation: Approximation, objective: Posterior) -> Grad:
    """Σ_n weight_n skew_n var_n φ̃_n', (C, P), on one block."""
    found = approximation.activations(block.X, objective.design)
    a, spread = found.mean, found.cov
    if block.offset is not None:
        a = a + (block.offset if a.ndim == 1 else block.offset[:, None])
    if a.ndim == 1:
        likelihood: ScalarLikelihood = objective.likelihood  # type: ignore[assignment]  # one output has a skew
        third = likelihood.skew(a, block.codes) * spread
    else:
        curvature = objective.likelihood.derivatives(a, block.codes).curvature
        third = _third(curvature, spread)
    if block.weight is not None:
        third = third * (block.weight if third.ndim == 1 else block.weight[:, None])
    return Grad(objective.design.collect(block, third))


def _third(curvature: Covariances, Sigma: Array) -> Float:
    """∂ tr(curvature Sigma)/∂a for each row, (n, K): of diag p - p p' it is (diag p - p p')(diag Sigma - 2 Sigma p)."""

    def of(p: Array) -> Float:
        own = np.einsum("nkk->nk", Sigma) - 2 * np.einsum("nkj,nj->nk", Sigma, p)
        return np.asarray(Covariances(p).dot(own))

    return of(curvature.p) if curvature.q is None else of(curvature.p) - of(curvature.q)


def _rarity(objective: Posterior, approximation: Approximation) -> float:
    """max_j γ_j: one pass, for the range of each column."""
    reach = objective.source.reduce(extent)
    origin = objective.design.origin
    radius = np.maximum(reach.high - origin, origin - reach.low)
    if objective.design.bias:
        radius = np.append(radius, 1.0)
    information = approximation.factor.diagonal.reshape(objective.shape) - objective.prior.diagonal
    root = approximation.factor.root.reshape(*objective.shape, -1)
    if len(root) > 1:
        root = root - root.mean(axis=0)  # a vector added to the weights of every class changes nothing
    sd = np.sqrt(np.einsum("cpi,cpi->cp", root, root))
    return float((radius * information * sd**3).max())
