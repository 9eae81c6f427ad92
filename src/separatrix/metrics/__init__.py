# SPDX-License-Identifier: BSD-3-Clause
"""Figures of merit of predicted probabilities, each with its standard error.

P (N, K) are probabilities of K classes, ``codes`` (N,) the classes that came true, ``weight`` (N,) how often each row
counts: a weight of k is the row k times, in a standard error too. A figure that is a mean of one value for each row is

    m = Σ_n weight_n v_n / W,      se² = Σ_n weight_n (v_n - m)² / (W (W - 1)),      W = Σ_n weight_n,

as most are: the log-likelihood v = ln P_nt, the accuracy v = [argmax_k P_nk = t], the Brier score
v = ½ Σ_k (P_nk - T_nk)², and, once rows are put into bins, the calibration error. The area under the curve is a mean
over pairs of rows, and its standard error is DeLong's. Nothing is clipped: a probability of zero for what came true is
a log-likelihood of -inf. A standard error is NaN where rows are too few to tell.
"""

from separatrix.metrics.averages import Confusion, accuracy, brier, confusion, log_likelihood, log_likelihoods
from separatrix.metrics.calibration import Reliability, ece, ece_if_calibrated, reliability
from separatrix.metrics.ranking import auc
from separatrix.metrics.sample import Estimate, require_shares, weighted_mean

__all__ = [
    "Confusion",
    "Estimate",
    "Reliability",
    "accuracy",
    "auc",
    "brier",
    "confusion",
    "ece",
    "ece_if_calibrated",
    "log_likelihood",
    "log_likelihoods",
    "reliability",
    "require_shares",
    "weighted_mean",
]
