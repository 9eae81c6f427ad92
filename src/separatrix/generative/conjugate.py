# SPDX-License-Identifier: BSD-3-Clause
"""From facts to densities: maximum likelihood, the mode under a conjugate prior, or the posterior predictive.

The prior of each family is worth ``pseudo_count`` observations. For Bernoulli, categorical and multinomial columns they
are that many of *each* outcome, so that a pseudo-count of one is Laplace's correction (n_kj + 1)/(n_k + 2); for the
others they are distributed as the rows of all classes together, so that no answer depends on units.

    "ml"           the parameters η that maximise the likelihood
    "map"          the mode of p(η | x) ∝ exp((ν + n)(η'χ_n - A(η))): maximum likelihood with the prior's
                   observations counted in                                                        PRML (2.229, 2.230)
    "predictive"   η integrated out: Student t for normal, negative binomial for Poisson, Lomax for exponential, ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix.families import (
    FAMILIES,
    BetaBernoulli,
    ConjugateBeta,
    ConjugateDirichlet,
    ConjugateGamma,
    DirichletCategorical,
    DirichletMultinomial,
    GammaExponential,
    GammaPoisson,
    NormalGamma,
    NormalNormal,
    NormalWishart,
)
from separatrix.generative.categories import ValueCounts, ValuedCategorical

__all__ = ["ESTIMATES", "density_of", "log_marginal", "log_prior", "prior_of"]

ESTIMATES = ("ml", "map", "predictive")


def prior_of(family: str, facts: Any, worth: float = 1.0) -> Any:
    """The conjugate prior worth ``worth`` observations, in the units of these facts."""
    return _PRIORS[family](facts, worth)


def density_of(family: str, facts: Any, estimate: str, prior: Any = None) -> Any:
    """p(x | C_k) for each class, from its facts; ``prior`` is not used by "ml"."""
    if family == "categorical":
        by_code = _estimate(family, facts.by_code, estimate, prior)
        return ValuedCategorical.of(facts, by_code)
    return _estimate(family, facts, estimate, prior)


def _estimate(family: str, facts: Any, estimate: str, prior: Any) -> Any:
    if estimate == "ml":
        return FAMILIES[family].ml(facts)
    posterior = prior.updated(facts)
    return posterior.predictive() if estimate == "predictive" else posterior.mode


def log_marginal(family: str, facts: Any) -> Float:
    """ln p(x of class k in column d), parameters integrated out under the weak prior, (K, D)."""
    prior = prior_of(family, facts)
    return np.asarray(prior.log_marginal(facts.by_code if isinstance(facts, ValueCounts) else facts))


# -- priors of any worth ---------------------------------------------------------------------------------------------


def _bernoulli(facts: Any, worth: float) -> BetaBernoulli:
    both = np.full_like(facts.overall().count, worth)
    return BetaBernoulli(both, both)


def _categorical(facts: ValueCounts, worth: float) -> DirichletCategorical:
    facts.by_code.overall()  # raises, naming the column, where there are no values
    return DirichletCategorical.symmetric(worth, facts.levels)


def _multinomial(facts: Any, worth: float) -> DirichletMultinomial:
    pooled = facts.overall()
    return DirichletMultinomial(np.full_like(pooled.total_u, worth), pooled.mean_u.sum(axis=-1))


def _poisson(facts: Any, worth: float) -> GammaPoisson:
    weak = GammaPoisson.weak(facts)
    return GammaPoisson(worth * weak.shape, worth * weak.rate)


def _exponential(facts: Any, worth: float) -> GammaExponential:
    weak = GammaExponential.weak(facts)
    return GammaExponential(1.0 + worth * (weak.shape - 1.0), worth * weak.rate)


def _normal(facts: Any, worth: float) -> NormalGamma:
    weak = NormalGamma.weak(facts)
    return NormalGamma(weak.mean, worth * weak.count, np.asarray(0.5 * (worth + 3)), worth * weak.rate)


def _normal_known_variance(facts: Any, worth: float) -> NormalNormal:
    """σ² within classes, with ``worth`` observations of the overall variance counted in; then taken as known."""
    overall = NormalGamma.weak(facts)  # raises, naming the column, where all values are equal
    scatter = facts.scatter.sum(axis=0, keepdims=True) + 2 * worth * overall.rate
    sd = np.sqrt(scatter / (facts.count.sum(axis=0, keepdims=True) + worth))
    return NormalNormal(overall.mean, sd / np.sqrt(worth), sd)


def _multivariate_normal(facts: Any, worth: float) -> NormalWishart:
    weak = NormalWishart.weak(facts)
    D = weak.mean.shape[-1]
    return NormalWishart(weak.mean, worth * weak.count, np.asarray(worth + D + 2), worth * weak.scatter)


def _pseudo_observations(kind: Any) -> Callable[[Any, float], Any]:
    def prior(facts: Any, worth: float) -> Any:
        weak = kind.weak(facts)
        return kind(worth * weak.count, weak.mean, worth * weak.gap)

    return prior


_PRIORS: dict[str, Callable[[Any, float], Any]] = {
    "bernoulli": _bernoulli,
    "categorical": _categorical,
    "multinomial": _multinomial,
    "poisson": _poisson,
    "exponential": _exponential,
    "gamma": _pseudo_observations(ConjugateGamma),
    "beta": _pseudo_observations(ConjugateBeta),
    "dirichlet": _pseudo_observations(ConjugateDirichlet),
    "normal": _normal,
    "normal_known_variance": _normal_known_variance,
    "multivariate_normal": _multivariate_normal,
}


# -- ln p(η): what expectation maximisation climbs besides the likelihood ------------------------------------------


def log_prior(prior: Any, density: Any) -> float:
    """ν Σ_kd (η'χ - A(η)), the log of a conjugate prior at a distribution, up to a constant: PRML (2.229)."""
    match prior:
        case BetaBernoulli():
            terms = prior.a * density.log_odds - (prior.a + prior.b) * density.log_normaliser
        case DirichletCategorical():
            terms = _weighed(prior.alpha, density.by_code.log_probability)
        case DirichletMultinomial():
            terms = _weighed(prior.alpha, density.log_probability)
        case GammaPoisson():
            terms = prior.shape * np.log(density.rate) - prior.rate * density.rate
        case GammaExponential():
            terms = (prior.shape - 1) * np.log(density.rate) - prior.rate * density.rate
        case NormalGamma():
            squares = 2 * prior.rate + prior.count * np.square(density.mean - prior.mean)
            terms = -0.5 * squares / density.variance - prior.count * np.log(density.sd)
        case NormalWishart():
            terms = _log_normal_wishart(prior, density)
        case _:  # pseudo-observations kept as log moments: gamma, beta, Dirichlet
            terms = prior.count * ((density.natural * _mean_u(prior)).sum(axis=-1) - density.log_normaliser)
    return float(np.sum(terms))


def _weighed(alpha: Float, log_probability: Float) -> Float:
    return np.where(alpha > 0, alpha * np.where(alpha > 0, log_probability, 0.0), 0.0)


def _mean_u(prior: Any) -> Float:
    """χ: the mean logs; for gamma the mean log and the mean."""
    mean_log = np.log(prior.mean) - prior.gap / prior.count[..., None]
    return np.concatenate([mean_log, prior.mean], axis=-1) if isinstance(prior, ConjugateGamma) else mean_log


def _log_normal_wishart(prior: NormalWishart, density: Any) -> Float:
    delta = density.mean - prior.mean
    scatter = prior.scatter + prior.count[..., None, None] * delta[..., :, None] * delta[..., None, :]
    distance = np.trace(np.linalg.solve(density.covariance, scatter), axis1=-2, axis2=-1)
    return np.asarray(-0.5 * distance - 0.5 * prior.count * np.linalg.slogdet(density.covariance)[1])
