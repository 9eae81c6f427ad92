# SPDX-License-Identifier: BSD-3-Clause
"""Exponential families for p(x | C_k), listed in `FAMILIES`. Each family has its own file; beta is in `dirichlet`.

Each file contains a distribution with parameters for K classes and D columns, its maximum-likelihood estimate from
sufficient statistics (called *facts*, sums over rows), and its conjugate prior with posterior, predictive and marginal
likelihood. The families share `family` (the interface), `sufficient_statistics`, and `pseudo_observations` (the
conjugate priors of gamma, beta and Dirichlet).

>>> import numpy as np
>>> from separatrix import families
>>> x, R = np.array([[0.0], [1.0], [1.0], [4.0]]), np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
>>> Poisson = families.FAMILIES["poisson"]
>>> facts = Poisson.facts(x[:2], R[:2]) + Poisson.facts(x[2:], R[2:])  # statistics add, in any order
>>> Poisson.ml(facts).rate.ravel().tolist()
[0.5, 2.5]
>>> posterior = Poisson.weak_prior(facts).updated(facts)
>>> posterior.predictive().log_density_sum([[0.0], [3.0]]).round(3).tolist()
[[-0.69, -1.841], [-3.06, -1.806]]
"""

from typing import Any

from separatrix.families.bernoulli import Bernoulli, BetaBernoulli
from separatrix.families.categorical import Categorical, DirichletCategorical, ValueCounts, ValuedCategorical
from separatrix.families.dirichlet import Beta, ConjugateBeta, ConjugateDirichlet, Dirichlet
from separatrix.families.exponential import Exponential, GammaExponential, Lomax
from separatrix.families.family import Density, Family, Prior, SupportError, weigh
from separatrix.families.gamma import ConjugateGamma, Gamma
from separatrix.families.multinomial import DirichletMultinomial, Multinomial
from separatrix.families.multivariate_normal import (
    MultivariateNormal,
    MultivariateT,
    NormalWishart,
    SingularFactsError,
    whitener,
)
from separatrix.families.normal import Normal, NormalGamma, NormalKnownVariance, NormalNormal, StudentT
from separatrix.families.poisson import GammaPoisson, NegativeBinomial, Poisson
from separatrix.families.sufficient_statistics import Facts, FactsError, LogMoments, Moments, Sums, VectorMoments

#: The families by the names that estimators accept.
FAMILIES: dict[str, type[Family[Any]]] = {
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "multinomial": Multinomial,
    "poisson": Poisson,
    "exponential": Exponential,
    "gamma": Gamma,
    "beta": Beta,
    "dirichlet": Dirichlet,
    "normal": Normal,
    "normal_known_variance": NormalKnownVariance,
    "multivariate_normal": MultivariateNormal,
}

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Beta",
    "BetaBernoulli",
    "Categorical",
    "ConjugateBeta",
    "ConjugateDirichlet",
    "ConjugateGamma",
    "Density",
    "Dirichlet",
    "DirichletCategorical",
    "DirichletMultinomial",
    "Exponential",
    "Facts",
    "FactsError",
    "Family",
    "Gamma",
    "GammaExponential",
    "GammaPoisson",
    "LogMoments",
    "Lomax",
    "Moments",
    "Multinomial",
    "MultivariateNormal",
    "MultivariateT",
    "NegativeBinomial",
    "Normal",
    "NormalGamma",
    "NormalKnownVariance",
    "NormalNormal",
    "NormalWishart",
    "Poisson",
    "Prior",
    "SingularFactsError",
    "StudentT",
    "Sums",
    "SupportError",
    "ValueCounts",
    "ValuedCategorical",
    "VectorMoments",
    "weigh",
    "whitener",
]
