# SPDX-License-Identifier: BSD-3-Clause
"""p(t | a): how targets depend on activations. Each gives ln p and its first two derivatives together."""

from separatrix.likelihoods.base import ClassLikelihood, Covariances, Derivatives, Likelihood, ScalarLikelihood
from separatrix.likelihoods.glm import MeanLikelihood, mean_likelihood
from separatrix.likelihoods.label_noise import LabelNoise, SoftmaxLabelNoise
from separatrix.likelihoods.logit import Logit
from separatrix.likelihoods.probit import Probit
from separatrix.likelihoods.softmax import Softmax

__all__ = [
    "ClassLikelihood",
    "Covariances",
    "Derivatives",
    "LabelNoise",
    "Likelihood",
    "Logit",
    "MeanLikelihood",
    "Probit",
    "ScalarLikelihood",
    "Softmax",
    "SoftmaxLabelNoise",
    "mean_likelihood",
]
