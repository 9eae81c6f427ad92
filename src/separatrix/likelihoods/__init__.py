# SPDX-License-Identifier: BSD-3-Clause
"""p(t | a): how targets depend on activations. Each gives ln p and its first two derivatives together."""

from separatrix.likelihoods.base import ClassLikelihood, Covariances, Derivatives, Likelihood, ScalarLikelihood
from separatrix.likelihoods.glm import LIKELIHOODS, MeanLikelihood, NormalIdentity, NormalLog, mean_likelihood
from separatrix.likelihoods.glm.cloglog import CLogLog, cloglog
from separatrix.likelihoods.glm.likelihood import Bernoulli, GammaInverse, GammaLog, PoissonLog
from separatrix.likelihoods.glm.table import log_odds, normal_quantile
from separatrix.likelihoods.label_noise import LabelNoise, SoftmaxLabelNoise
from separatrix.likelihoods.logit import Logit
from separatrix.likelihoods.probit import Probit
from separatrix.likelihoods.softmax import Softmax

__all__ = [
    "LIKELIHOODS",
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
    "MeanLikelihood",
    "NormalIdentity",
    "NormalLog",
    "PoissonLog",
    "Probit",
    "ScalarLikelihood",
    "Softmax",
    "SoftmaxLabelNoise",
    "cloglog",
    "log_odds",
    "mean_likelihood",
    "normal_quantile",
]
