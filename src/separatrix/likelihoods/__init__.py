# SPDX-License-Identifier: BSD-3-Clause
"""Likelihoods p(t | a): targets given activations, with ln p and its first two derivatives evaluated together.

base         the protocols, `Derivatives`, and the curvature of several classes
logit, probit, cloglog      one activation for two classes;   softmax: K activations for K classes
label_noise  labels that are sometimes wrong
response     distributions of targets about their mean;   mean: likelihoods of generalised linear models
"""

from separatrix.likelihoods.base import (
    ClassLikelihood,
    Covariances,
    Derivatives,
    Likelihood,
    MeanDerivatives,
    ScalarLikelihood,
)
from separatrix.likelihoods.cloglog import CLogLog, cloglog
from separatrix.likelihoods.label_noise import LabelNoise, SoftmaxLabelNoise
from separatrix.likelihoods.logit import Logit, decaying_exp, log1p_of_unit, logit_law
from separatrix.likelihoods.mean import (
    LIKELIHOODS,
    Bernoulli,
    GammaInverse,
    GammaLog,
    MeanLikelihood,
    NormalIdentity,
    NormalLog,
    PoissonLog,
    log_odds,
    mean_likelihood,
    normal_quantile,
)
from separatrix.likelihoods.probit import Probit, probit_law, reaches
from separatrix.likelihoods.response import MAX_TARGET
from separatrix.likelihoods.softmax import MIN_SINGLE_EXPONENT, Softmax

__all__ = [
    "LIKELIHOODS",
    "MAX_TARGET",
    "MIN_SINGLE_EXPONENT",
    "Bernoulli",
    "CLogLog",
    "ClassLikelihood",
    "Covariances",
    "Derivatives",
    "GammaInverse",
    "GammaLog",
    "LabelNoise",
    "Likelihood",
    "Logit",
    "MeanDerivatives",
    "MeanLikelihood",
    "NormalIdentity",
    "NormalLog",
    "PoissonLog",
    "Probit",
    "ScalarLikelihood",
    "Softmax",
    "SoftmaxLabelNoise",
    "cloglog",
    "decaying_exp",
    "log1p_of_unit",
    "log_odds",
    "logit_law",
    "mean_likelihood",
    "normal_quantile",
    "probit_law",
    "reaches",
]
