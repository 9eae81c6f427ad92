# SPDX-License-Identifier: BSD-3-Clause
"""The alignment of a prior with the directions in which the columns vary.

A prior with one scale s ignores correlations of columns. Often they matter: words that occur together point to the same
class, so the weights are large along the leading principal directions. Measurements of one animal differ mostly by its
size, and classes by small directions. With the covariance Σ of the columns per unit of the prior, z = Λ^-½ x,

    w = Λ^-½ v,        v ~ N(0, s² c Σ^b)

describes both. The prior is as stated for the alignment b = 0. For b = 1, the weights follow the leading directions.
For b = -1, all directions of the rows have the same variance (the g-prior of Zellner 1986). The constant c keeps the
average variance of the activations, tr Σ^(b+1), so s has the same law for all b.

If columns are independent, the eigenvalues of a sample covariance still differ. Σ is therefore shrunk to a multiple of
the identity by the estimate of Chen, Wiesel, Eldar & Hero (2010), which needs only the sample covariance.

The evidence chooses b. It is predicted by a `Parabola` for a few values of b and all s, without a pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from separatrix._array import Float
from separatrix.bayesian.evidence import PriorScales, effective_parameters, prior_scales
from separatrix.bayesian.posterior import Approximation
from separatrix.bayesian.tuning import Parabola
from separatrix.priors import Penalty
from separatrix.solvers import Posterior
from separatrix.stats import value_grad_hess

ALIGNMENTS = np.array([0.5, 1.0])  # values of |b|
STATED_PROBABILITY = 0.8  # prior probability of b = 0, against the best other value
LOG_ODDS = np.log(STATED_PROBABILITY / (1 - STATED_PROBABILITY))
MAX_DETERMINED = 0.9  # fraction of the weights that the data determine above which the prior hardly matters
MAX_SHAPED_WEIGHTS = 1000  # of all outputs; each prediction costs their cube
MIN_SHRINKAGE = 0.01  # fraction of the identity in Σ, so that repeated columns keep a variance
MAX_STEP, SCALE_TOL = 3.0, 0.05  # largest change of ln s, and tolerance of its prediction


class Aligned(NamedTuple):
    """The objective under an aligned prior, c Σ^b (M, M), the factor of s, and the predicted posterior and gain."""

    objective: Posterior
    shape: Float
    factor: float
    prediction: Approximation
    gain: float


def align(objective: Posterior, found: Approximation) -> list[Aligned]:
    """Return the alignments whose predicted evidence is higher than that of the prior, the highest first.

    ``found`` is the fit at the prior of the objective, whose scale is tuned.
    """
    P, M, scales = objective.shape[1], len(objective.design.origin), prior_scales(objective)
    if not is_shapeable(objective, found) or not scales.tuned.ndim == scales.fixed.ndim == 1:
        return []
    root = np.sqrt(scales.tuned[:M])  # Λ^½
    values, axes = linalg.eigh(_covariance(objective, root))
    parabola, better = Parabola(found, objective.prior), list[Aligned]()
    here = found.log_evidence + scales.log_density(np.zeros(1))[0]
    for sign in (1.0, -1.0):
        for b in sign * ALIGNMENTS:
            variances = values**b * (values.sum() / (values ** (b + 1)).sum())
            tuned = np.zeros((P, P))
            tuned[:M, :M] = (axes / variances) @ axes.T * np.outer(root, root)
            eta, height = best_scale(parabola, replace(scales, fixed=np.diag(scales.fixed), tuned=tuned))
            if height <= here + LOG_ODDS:
                break
            prior = Penalty(objective.prior.mean, np.diag(scales.fixed) + np.exp(-2 * eta) * tuned)
            shape, near = (axes * variances) @ axes.T, parabola.under(prior)
            aligned = replace(objective, prior=prior)
            better.append(Aligned(aligned, shape, float(np.exp(eta)), near, height - here))
    return sorted(better, key=lambda each: -each.gain)


def is_shapeable(objective: Posterior, found: Approximation) -> bool:
    """Whether the shape of the prior matters and its evidence is cheap to predict."""
    (C, P), M = objective.shape, len(objective.design.origin)
    determined = effective_parameters(found, objective.prior) / (P * max(1, C - 1))
    return M > 1 and C * P <= MAX_SHAPED_WEIGHTS and determined <= MAX_DETERMINED


def best_scale(parabola: Parabola, scales: PriorScales) -> tuple[float, float]:
    """Return the η with the highest prediction of ln p(D, η), and this prediction."""

    def depth(eta: float) -> float:
        at = np.array([eta])
        return -parabola.under(scales.prior(at)).log_evidence - scales.log_density(at)[0]

    found = optimize.minimize_scalar(depth, bounds=(-MAX_STEP, MAX_STEP), options={"xatol": SCALE_TOL})
    return float(found.x), -float(found.fun)


def _covariance(objective: Posterior, root: Float) -> Float:
    """Return Σ, shrunk to a multiple of the identity, from the Hessian of the likelihood at zero.

    All rows have the same curvature at zero, so this Hessian is a multiple of the scatter, wherever the rows are.
    """
    posed, M = objective if objective.sample is None else objective.of_sample(), len(root)
    zero = np.zeros(objective.shape)
    H = posed.reduce(value_grad_hess, theta=zero, exact=False, single=False).hess[:M, :M] / np.outer(root, root)
    trace, square, N = float(np.trace(H)), float((H**2).sum()), posed.units.total
    rest = (N + 1) * (square - trace**2 / M)
    rho = (square + trace**2) / rest if rest > 0 else 1.0  # (23) of Chen et al. without 2/M, as in scikit-learn
    rho = min(max(rho, MIN_SHRINKAGE), 1.0)
    return np.asarray((1 - rho) * H + rho * (trace / M) * np.eye(M))
