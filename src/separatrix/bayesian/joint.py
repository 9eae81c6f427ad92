# SPDX-License-Identifier: BSD-3-Clause
"""The two factors of a Bayesian model, p(D, w) = p(D | w) p(w), from the words that a user has for them.

The prior must be *proper*, in every direction: under a flat one p(D) = ∫ p(D | w) p(w) dw is zero, and there is nothing
to compare models by (PRML §4.4.1).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix._array import Array
from separatrix.estimator import require_two_classes
from separatrix.exceptions import DataError
from separatrix.likelihoods import ClassLikelihood, LabelNoise, Logit, Probit, Softmax
from separatrix.priors import Flat, Gaussian
from separatrix.solvers import Posterior

__all__ = ["LIKELIHOODS", "likelihood_of", "proper_prior", "require_proper"]

LIKELIHOODS = ("logit", "probit", "label_noise")
INTERCEPT_SCALE = 10.0  # of a bias whose prior is not stated: class frequencies of any table are within two sd
NO_EVIDENCE = (
    "under a flat prior the evidence of any data is zero, its logarithm minus infinity. Give a Gaussian with finite "
    "scales, or use LogisticRegression(alpha=0) for a point estimate."
)


def likelihood_of(name: str, noise: float, classes: Array) -> ClassLikelihood:
    """p(t | a) of these classes; ``noise`` is the share of wrong labels, for "label_noise"."""
    if name == "logit":
        return Softmax(len(classes)) if len(classes) > 2 else Logit()
    require_two_classes(f"likelihood={name!r}", classes, "Use likelihood='logit', or OneVsRest or OneVsOne.")
    return Probit() if name == "probit" else LabelNoise(noise)


def proper_prior(owner: str, prior: Any) -> Gaussian:
    """The prior asked for, with a prior on the bias as well."""
    if prior is None:
        prior = Gaussian()
    if isinstance(prior, Flat):
        raise DataError(f"{owner}(prior={prior!r}): {NO_EVIDENCE}")
    if not isinstance(prior, Gaussian):
        raise ValueError(f"{owner}(prior={prior!r}): give Gaussian(...), or None for Gaussian(1.0).")
    return prior if np.isfinite(prior.intercept_scale) else replace(prior, intercept_scale=INTERCEPT_SCALE)


def require_proper(objective: Posterior) -> None:
    """Raise, naming the column, where a weight has no prior."""
    flat = np.flatnonzero(objective.prior.free)
    if len(flat):
        column = (*objective.source.columns, "the bias")[flat[0]]
        raise DataError(f"The prior of {column!r} has an infinite scale: {NO_EVIDENCE}")
