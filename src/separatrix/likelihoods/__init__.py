# SPDX-License-Identifier: BSD-3-Clause
"""p(t | a): how targets depend on activations. Each gives ln p and its first two derivatives together."""

from separatrix.likelihoods.base import Covariances, Derivatives, Likelihood
from separatrix.likelihoods.logit import Logit
from separatrix.likelihoods.softmax import Softmax

__all__ = ["Covariances", "Derivatives", "Likelihood", "Logit", "Softmax"]
