# SPDX-License-Identifier: BSD-3-Clause
"""Distributions over models: p(w | data), what it predicts, and how probable the data are under it."""

from separatrix.bayesian.laplace import LaplaceApproximation, LaplaceError, laplace_approximation
from separatrix.bayesian.logistic import BayesianLogisticRegression
from separatrix.bayesian.surface import EvidenceSurface, evidence_surface
from separatrix.bayesian.tune_model import TunedModel, tune_model

__all__ = [
    "BayesianLogisticRegression",
    "EvidenceSurface",
    "LaplaceApproximation",
    "LaplaceError",
    "TunedModel",
    "evidence_surface",
    "laplace_approximation",
    "tune_model",
]
