# SPDX-License-Identifier: BSD-3-Clause
"""Generalised linear models: how targets scatter about a mean, and how that mean depends on the activation."""

from separatrix.likelihoods.glm.cloglog import CLogLog
from separatrix.likelihoods.glm.likelihood import (
    Bernoulli,
    GammaInverse,
    GammaLog,
    MeanLikelihood,
    NormalIdentity,
    NormalLog,
    PoissonLog,
)
from separatrix.likelihoods.glm.response import Response
from separatrix.likelihoods.glm.table import LIKELIHOODS, mean_likelihood

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "CLogLog",
    "GammaInverse",
    "GammaLog",
    "MeanLikelihood",
    "NormalIdentity",
    "NormalLog",
    "PoissonLog",
    "Response",
    "mean_likelihood",
]
