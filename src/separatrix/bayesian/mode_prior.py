# SPDX-License-Identifier: BSD-3-Clause
"""The prior of the modes that predict held-out rows, up to its scale.

A prior that was stated keeps its shape: the ratios of its scales, its covariance, and the scale of its intercept. If
none was stated, all columns have the same prior per standard deviation, and three ways to scale rare columns are
compared: the scale of a weight is proportional to a power of the unit-free spread of its column,

    √(q (1 - q)),        q = E[x]²/E[x²],

if the column has zeros and is never negative. For columns of 0 and 1 this is the standard deviation, so that the power
1 is a prior on the weights of the columns as they are, and the power 0 one per standard deviation. Other columns, such
as temperatures, are not rare, whatever their unit and origin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from separatrix._array import Float, is_sparse
from separatrix.bayesian.evidence import TYPICAL_SIGNAL
from separatrix.bayesian.folds import Rows
from separatrix.bayesian.mode_path import ScaledRows, mode_path
from separatrix.bayesian.record import Options
from separatrix.solvers import Posterior

RARITY_POWERS = (0.0, 0.5, 1.0)
MIN_RARITY_SPREAD = 0.05  # relative standard deviation of the spreads, below which powers make no difference
BIAS_SCALE = 100.0  # of a bias without a stated prior, up to the median scale of the weights; wider priors widen it
MAX_CORRELATION = 1e-6  # of weights in a stated prior, up to which they are independent; rounding errors are smaller


@dataclass(frozen=True, eq=False)
class ModePrior:
    """N(0, s²) on the weights of the columns of X ``root``, each divided by its unit.

    ``units`` has units (M,) for each of `RARITY_POWERS`, or None if a power changes nothing; infinity leaves a column
    out. ``root`` (M, M) makes weights with a stated covariance independent. ``bias`` is the stated scale of the
    intercept at the mean of the columns or, unless they are centred, at x = 0; None if no scale is stated.
    """

    units: tuple[Float | None, ...]
    root: Float | None = None
    bias: float | None = None
    is_centred: bool = True

    @classmethod
    def of(cls, objective: Posterior, rows: Rows, options: Options) -> ModePrior:
        """The prior as stated, or one scale per standard deviation of a column."""
        M, precision = len(objective.design.origin), objective.prior.precision
        bias, tie, root = float(objective.prior.diagonal[0, -1]), np.zeros(M), None
        is_constant = objective.units.spread == 0
        if options.scales_rare_columns:
            plain = objective.column_units[:M]
        elif precision.ndim == 1:
            plain = np.sqrt(precision[:M])
        else:
            # Averaged over the intercept, to which a prior at x = 0 ties the weights
            tie = precision[-1, :M]
            of_weights = precision[:M, :M] - np.outer(tie, tie) / bias
            plain = np.sqrt(np.diag(of_weights))
            if np.abs(of_weights / np.outer(plain, plain) - np.eye(M)).max(initial=0.0) > MAX_CORRELATION:
                root, plain = np.linalg.inv(np.linalg.cholesky(of_weights)).T, np.ones(M)
        units = [np.where(is_constant, np.inf, plain) if root is None else plain, *[None] * (len(RARITY_POWERS) - 1)]
        if options.scales_rare_columns and not is_constant.all():
            spread = np.where(is_constant, 1.0, _unit_free_spread(rows))
            varying = spread[~is_constant]
            if varying.min() > 0 and varying.std() > MIN_RARITY_SPREAD * varying.mean():
                units = [np.where(is_constant, np.inf, plain / spread**power) for power in RARITY_POWERS]
        if not options.states_intercept:
            return cls(tuple(units), root)
        return cls(tuple(units), root, bias**-0.5, is_centred=not tie.any())

    @property
    def plain(self) -> Float:
        """Units of the columns if rare columns are not scaled differently."""
        assert self.units[0] is not None, "the power 0 is always possible"
        return self.units[0]

    def scale_rows(self, rows: Rows, units: Float) -> ScaledRows:
        """Rows in which all weights have the same prior."""
        X = rows.X if self.root is None else np.asarray(rows.X @ self.root)
        return ScaledRows.of(X, rows.weight, units, centred=self.is_centred)

    def modes(self, scaled: ScaledRows, T: Float, weights: Float, scales: Float, tol: float) -> Iterator[Float]:
        """Yield the modes for each of the scales, as `mode_path` does, from class probabilities T (N, K)."""
        widened = BIAS_SCALE * np.maximum(1.0, scales / median_scale(scaled))
        bias_scales = widened if self.bias is None else np.full(len(scales), self.bias)
        return mode_path(scaled, T[:, 1:].T if T.shape[1] == 2 else T.T, weights, scales, bias_scales, tol)

    def in_user_units(self, scaled: ScaledRows, W: Float) -> tuple[Float, Float]:
        """Weights (C, M) and biases (C,) of the columns as given."""
        coef, intercept = scaled.in_user_units(W)
        return coef if self.root is None else coef @ self.root.T, intercept


def median_scale(rows: ScaledRows) -> float:
    """Return the median of the scale under its hyperprior."""
    return TYPICAL_SIGNAL / float(np.sqrt(max(1, rows.n_varying)))


def _unit_free_spread(rows: Rows) -> Float:
    """Return √(q (1 - q)) of columns with zeros that are never negative, and its largest value for others, (M,)."""
    squared = rows.X.multiply(rows.X) if is_sparse(rows.X) else rows.X**2
    total = rows.weight.sum()
    mean, square = (np.asarray(rows.weight @ each).ravel() / total for each in (rows.X, squared))
    low = rows.X.min(axis=0).toarray().ravel() if is_sparse(rows.X) else rows.X.min(axis=0)
    q = np.where(square > 0, mean**2 / np.where(square > 0, square, 1.0), 0.5)
    q = np.minimum(q, 1.0)  # rounding errors of a column that is nearly constant
    return np.asarray(np.sqrt(np.where(low == 0, q * (1 - q), 0.25)))
