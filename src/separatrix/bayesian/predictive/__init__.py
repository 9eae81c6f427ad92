# SPDX-License-Identifier: BSD-3-Clause
"""What a posterior predicts: the likelihood averaged over the activation a ~ N(mu_a, var_a).        PRML §4.5.2

    p(C_1 | x, data) = ∫ σ(a) N(a | mu_a, var_a) da                                                  (4.149 - 4.151)

A Gaussian posterior N(w | m, S) makes the activation of each row Gaussian, mu_a = m'φ and var_a = φ'Sφ, so that an
integral over all weights is one over a single variable, or over K of them.

    integral            which integral, for which likelihood: what models call
    two_classes         logit, probit, and any other function of one activation
    logistic_normal     the mathematics of the logit: exactly, and then by a table
    softmax             K classes, by a rule that is exact for two
    softmax_qmc         K classes, as exactly as one likes, with a standard error
    interval            no average, but how far probabilities vary over the posterior
"""

from separatrix.bayesian.predictive.softmax import softmax_normal, softmax_probit_rule
from separatrix.bayesian.predictive.softmax_qmc import Estimate, softmax_normal_qmc
from separatrix.bayesian.predictive.two_classes import (
    expected,
    expected_logit,
    logit_normal,
    logit_normal_log_odds,
    logit_probit_rule,
    probit_normal,
)

__all__ = [
    "Estimate",
    "expected",
    "expected_logit",
    "logit_normal",
    "logit_normal_log_odds",
    "logit_probit_rule",
    "probit_normal",
    "softmax_normal",
    "softmax_normal_qmc",
    "softmax_probit_rule",
]
