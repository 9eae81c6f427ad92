# SPDX-License-Identifier: BSD-3-Clause
"""Choose the scale of the prior of each column, as a power of its standard deviation.

    w_j sd_j ~ N(0, s² sd_j^2γ),        γ = 0, ½ or 1

With γ = 0, all columns have the same effect a priori, as if they were divided by their standard deviations. With γ = 1,
all weights have the same scale in the units of the columns. So a word that occurs in few texts has a small effect a
priori: one text cannot move its weight far. The evidence chooses γ. On 5 574 messages, it is 280 nats higher for γ = 1.

`by_class.tune_level` searches for s, without a matrix of the weights. A larger γ is only tried if the
one before raises the evidence.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix._array import Float
from separatrix.bayesian.alignment import LOG_ODDS
from separatrix.bayesian.by_class import tune_level
from separatrix.bayesian.evidence import prior_scales
from separatrix.bayesian.record import Inference, Options
from separatrix.bayesian.tuning import reached_limits
from separatrix.solvers import Posterior

EXPONENTS = (0.5, 1.0)


def scale_columns(found: Inference, options: Options) -> Inference:
    """Choose the power of the standard deviations of the columns, and tune the scale again."""
    if not options.aligns or len(found.report.labels) > 1 or found.objective.prior.precision.ndim > 1:
        return found.did("chosen with the scales")
    before = found
    for exponent in EXPONENTS:
        shaped = _with_power(before, exponent, options.tol)
        if _height(shaped) <= _height(found) + LOG_ODDS:
            break
        found = shaped.did(f"scales of columns proportional to their standard deviation to the power {exponent:g}")
    if found is not before:
        gain = _height(found) - _height(before)
        return found.did(f"{found.outcome}: ln p(D) rises by {gain:.1f}")
    return found.did("columns of equal variance: no other scales of the columns have a higher evidence")


def _height(found: Inference) -> float:
    """Return ln p(D, scale) at the most probable scale."""
    return found.report.trace[-1].log_evidence


def _with_power(found: Inference, exponent: float, tol: float) -> Inference:
    """Tune the scale of a prior whose standard deviations are multiplied by a power of those of the columns."""
    factors = power_of_spread(found.objective, exponent)
    M, precision = len(factors), found.objective.prior.precision.copy()
    precision[:M] /= factors**2
    objective = replace(found.objective, prior=replace(found.objective.prior, precision=precision))
    scales = prior_scales(objective)
    level = tune_level(objective, scales, tol, is_diagonal=True)
    factor = float(level.report.factors[0])
    tuned = replace(objective, prior=scales.prior(np.log([factor])))
    mode = level.fit.gaussian.mean
    limits = reached_limits(tuned, scales, scales.typical * factor, mode, np.zeros(1, dtype=bool))
    report = replace(
        level.report,
        factors=factor * found.report.factors,
        column_factors=factor * factors * found.report.column_factors,
        boundary=limits,
        fits=found.report.fits + level.report.fits,
    )
    return replace(found, objective=tuned, start=mode, tuning=report, factors=factor * factors * found.factors)


def power_of_spread(objective: Posterior, exponent: float) -> Float:
    """Return sd_j^γ of each column, (M,), divided so that the prior variance of the activations does not change.

    Columns that do not vary have the factor 1.
    """
    spread = objective.units.spread
    varies = spread > 0
    factors = np.ones(len(spread))
    if varies.any():
        variance = spread[varies] ** 2 / objective.prior.precision[: len(spread)][varies]
        relative = (spread[varies] / spread[varies].max()) ** exponent
        factors[varies] = relative * np.sqrt(variance.sum() / (variance * relative**2).sum())
    return factors
