# SPDX-License-Identifier: BSD-3-Clause
"""Distributions over models: p(w | data), what it predicts, and how probable the data are under it.  PRML §4.4, §4.5

Beside the book, in its order; each folder imports only from those above it in this list, but for `laplace`, which
stands alone:

    laplace/        §4.4          a Gaussian at the mode of any density
    posterior/      §4.5.1        a Gaussian over the weights, whole or as much of it as fits
    predictive/     §4.5.2        its average over models: probabilities
    ep/             §10.7         better Gaussians, for where Laplace's is poor: moments matched row by row,
    variational/    §10.1, §10.6  the nearest in KL(q || p),
    sampling/       §11.1.4       and weighted draws, which need not be Gaussian at all
    evidence/       §4.4.1, §3.5  ln p(data), and how it changes with the prior
    tuning/         §3.5          the prior that makes the data most probable

and beside or on top of them

    joint           p(data | w) p(w), from the words that a user has for them
    diagnostics     whether Laplace's Gaussian will do, and what to take instead
    inference       from an objective to a posterior: mode, Gaussian, diagnosis, repair, with the prior tuned on the way
    logistic        the classifier
    tune_model      a number that the evidence chooses, such as the width of basis functions
"""

from separatrix.bayesian.evidence.surface import EvidenceSurface, evidence_surface
from separatrix.bayesian.laplace import LaplaceApproximation, LaplaceError, laplace_approximation
from separatrix.bayesian.logistic import BayesianLogisticRegression
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.bayesian.posterior.by_class import ByClassApproximation
from separatrix.bayesian.posterior.diagonal import DiagonalApproximation
from separatrix.bayesian.posterior.dual import DualApproximation
from separatrix.bayesian.posterior.weights import WeightPosterior, WeightSummary, interval_tails
from separatrix.bayesian.tune_model import TunedModel, tune_model
from separatrix.bayesian.tuning.report import Limit

__all__ = [
    "Approximation",
    "BayesianLogisticRegression",
    "ByClassApproximation",
    "DiagonalApproximation",
    "DualApproximation",
    "EvidenceSurface",
    "LaplaceApproximation",
    "LaplaceError",
    "Limit",
    "TunedModel",
    "WeightPosterior",
    "WeightSummary",
    "evidence_surface",
    "interval_tails",
    "laplace_approximation",
    "tune_model",
]
