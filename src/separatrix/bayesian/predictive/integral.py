# SPDX-License-Identifier: BSD-3-Clause
"""From a distribution of activations to class probabilities: which integral, for which likelihood.

"exact"     the integral: to 1e-10 for two classes; for K by moment matching, right to about 1e-3, and to 1e-2 where
            activations vary by several units
"qmc"       K classes by quasi-Monte-Carlo, as exactly as one likes; for two classes the same as "exact"
"probit"    MacKay's rule σ(κ mu), κ = (1 + π var/8)^-½, and its analogue for K classes       PRML (4.153)
"map"       no integral: the probability at the mean activation
"""

from __future__ import annotations

import numpy as np

from separatrix._array import Float
from separatrix.bayesian.posterior.approximation import Activations
from separatrix.bayesian.predictive.softmax import softmax_normal, softmax_probit_rule
from separatrix.bayesian.predictive.softmax_qmc import softmax_normal_qmc
from separatrix.bayesian.predictive.two_classes import logit_normal, logit_probit_rule, probit_normal
from separatrix.likelihoods import ClassLikelihood, Probit

__all__ = ["RULES", "class_probabilities", "probabilities_and_errors"]

RULES = ("exact", "qmc", "probit", "map")


def class_probabilities(likelihood: ClassLikelihood, a: Activations, rule: str) -> Float:
    """p(C_k) for each row, (n, K); NaN for rows whose activation is not a number."""
    known = a.is_finite
    if not known.all():
        P = np.full((len(known), 2 if a.mean.ndim == 1 else a.mean.shape[1]), np.nan)
        P[known] = class_probabilities(likelihood, a.take(known), rule)
        return P
    if a.mean.ndim == 2:
        return _of_classes(likelihood, a, rule)
    up, down = (_of_two(likelihood, sign * a.mean, a.cov, rule) for sign in (1.0, -1.0))
    return np.column_stack([down, up])


def _of_two(likelihood: ClassLikelihood, mean: Float, var: Float, rule: str) -> Float:
    if rule == "map":
        return np.asarray(likelihood.probability(mean))
    if isinstance(likelihood, Probit):
        return probit_normal(mean, var)
    return logit_probit_rule(mean, var) if rule == "probit" else logit_normal(mean, var)


def _of_classes(likelihood: ClassLikelihood, a: Activations, rule: str) -> Float:
    if rule == "map":
        return np.asarray(likelihood.probability(a.mean))
    if rule == "probit":
        return softmax_probit_rule(a.mean, np.diagonal(a.cov, axis1=1, axis2=2))
    return softmax_normal(a.mean, a.cov) if rule == "exact" else softmax_normal_qmc(a.mean, a.cov).probability


def probabilities_and_errors(likelihood: ClassLikelihood, a: Activations, n: int) -> tuple[Float, Float]:
    """Probabilities by the most exact rule there is, and the standard error of each; NaN as above."""
    if a.mean.ndim == 1:
        P = class_probabilities(likelihood, a, "exact")
        return P, np.zeros_like(P)
    known = a.is_finite
    P, error = np.full((2, *a.mean.shape), np.nan)
    P[known], error[known] = softmax_normal_qmc(a.mean[known], a.cov[known], n=n)
    return P, error
