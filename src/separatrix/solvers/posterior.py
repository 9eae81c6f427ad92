# SPDX-License-Identifier: BSD-3-Clause
"""The negative log posterior E(θ) = -Σ_n weight_n ln p(t_n | θ φ̃_n) - ln p(θ), as solvers see it.

Summed and never averaged. A solver asks for value and gradient, or for the Hessian as well; each is one pass.

The size of a gradient has no units: each component is divided by the standard deviation of its column and by the
total weight, so `tol` means the same for metres and for millimetres, for ten rows and for ten million.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from separatrix._array import Array, Float, device_aware, is_sparse
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.priors import Penalty, Prior, penalty
from separatrix.rows import Block, DeviceRows, Source
from separatrix.solvers.descent import ROUNDING, SINGLE_ROUNDING
from separatrix.solvers.result import Solution
from separatrix.stats import (
    ClassMoments,
    Design,
    DiagonalScatter,
    ValueGrad,
    ValueGradHess,
    column_moments,
    largest_share,
    least_lead,
    representative_sample,
    require_finite,
    require_squares,
    value_grad,
    value_grad_hess,
)

__all__ = ["Posterior", "Solver", "Units", "pose", "survey"]

LARGE_OFFSET = {np.dtype(np.float64): 1e5, np.dtype(np.float32): 1.0}  # in standard deviations
SHARE = 16  # of many rows, one out of so many is looked at first
PER_WEIGHT, ENOUGH = 20, 1500  # but at least so many rows for each weight, and at most
WIDE = 2_000  # columns from which a prior that ties the bias to the weights, a full matrix, is not made
MOST = 2**24  # numbers in a sample: 128 MiB, and more than its purpose needs
MANY = 2_000_000  # numbers in a table from which a first look at some of it pays


@dataclass(frozen=True, eq=False, slots=True)
class Units:
    """Where each column lies and how far it spreads: mean and standard deviation (M,), and the total weight.

    ``rounding`` is that of a sum over these rows, relative.
    """

    mean: Float
    spread: Float
    total: float
    dtype: np.dtype[Any]
    is_sparse: bool
    rounding: float = ROUNDING

    def design(self, *, fit_intercept: bool) -> Design:
        """Regressors about the mean, or about zero where there is no bias to take up the difference."""
        if not fit_intercept:
            return Design(np.zeros_like(self.mean), bias=False, spread=self.spread)
        far = np.abs(self.mean) > LARGE_OFFSET[self.dtype] * self.spread
        origin = self.mean.astype(self.dtype).astype(np.float64)  # one that can be subtracted from rows exactly
        return Design(origin, True, bool(far.any()) and not self.is_sparse, self.spread)


@dataclass(frozen=True, eq=False, slots=True)
class _Look:
    """Moments of all rows as one class, and how they are stored."""

    moments: ClassMoments[DiagonalScatter]
    dtype: np.dtype[Any]
    is_sparse: bool
    rounding: float

    def __add__(self, other: _Look) -> _Look:
        return replace(self, moments=self.moments + other.moments)


@device_aware
def _look(block: Block) -> _Look:
    is_rounded = isinstance(block.X, DeviceRows) and block.X.dtype == np.float32
    rounding = SINGLE_ROUNDING if is_rounded else ROUNDING
    return _Look(column_moments(block), np.dtype(block.X.dtype), is_sparse(block.X), rounding)


def survey(source: Source, *, fit_intercept: bool) -> Units:
    """Means and spreads of the columns in one pass; spreads about zero where there is no bias."""
    with np.errstate(over="ignore", invalid="ignore"):
        look = source.reduce(_look)
        moments = look.moments
        mean, total = moments.mean[0], moments.total
        if not 0 < total < np.inf:
            raise DataError(f"The weights of the rows add up to {total:g}; divide or multiply them by a constant.")
        variance = moments.scatter.squares[0] / total
    if not np.isfinite(variance).all():
        require_finite(source)
        require_squares(source)
    variance = np.where(moments.is_constant(variance), 0.0, variance)
    if not fit_intercept:
        variance = variance + mean**2
    return Units(mean, np.sqrt(variance), total, look.dtype, look.is_sparse, look.rounding)


def pose(
    source: Source, likelihood: Likelihood, prior: Prior | Penalty, *, fit_intercept: bool, standardize: bool = False
) -> Posterior:
    """The objective of a fit. Of many rows a sample is drawn, for the units and for a first fit.

    The prior is on the weights of the columns as they are and on the bias at x = 0; with ``standardize``, on weights
    per standard deviation of each column and on the bias at the mean.
    """
    M = len(source.columns)
    rows = max(min(source.n_rows // SHARE, MOST // max(M, 1), ENOUGH * (M + 1)), PER_WEIGHT * (M + 1))
    is_many = source.n_rows >= max(4 * rows, MANY // max(M, 1))
    sample = representative_sample(source, rows, PER_WEIGHT * (M + 1)) if is_many else None
    units = survey(source if sample is None else sample, fit_intercept=fit_intercept)
    if sample is not None and not (units.spread > 0).all():
        units = survey(source, fit_intercept=fit_intercept)  # a rare value that the sample missed
    design = units.design(fit_intercept=fit_intercept)
    shape = (likelihood.n_outputs, design.width)
    if isinstance(prior, Penalty):
        on_weights = prior
    else:
        on_weights = penalty(prior, shape, fit_intercept=fit_intercept, columns=source.columns)
    if not standardize and M > WIDE and on_weights.precision.ndim == 1 and not on_weights.free[-1]:
        design = replace(design, origin=np.zeros(M), subtract=False)  # a bias at x = 0 keeps its prior a diagonal
    objective = Posterior(source, likelihood, on_weights, design, units, sample)
    moved = on_weights.per_unit(objective.column_units) if standardize else on_weights.about(design.origin)
    return replace(objective, prior=moved)


@dataclass(frozen=True, eq=False)
class Posterior:
    """E(θ) for θ (C, P), with the rows it is a sum over."""

    source: Source
    likelihood: Likelihood
    prior: Penalty
    design: Design
    units: Units
    sample: Source | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(C, P)."""
        return self.likelihood.n_outputs, self.design.width

    @property
    def rounding(self) -> float:
        """Of E, relative."""
        return self.units.rounding

    def value_grad(self, theta: Float) -> ValueGrad:
        """E and ∂E/∂θ: one pass."""
        here = self._finite(self._reduce(value_grad, theta=theta))
        value, pull = self.prior.value_grad(theta)
        return ValueGrad(here.value + value, here.grad + pull)

    def value_grad_hess(self, theta: Float, *, exact: bool = True, single: bool = False) -> ValueGradHess:
        """E, gradient and Hessian (CP, CP): one pass.

        Without ``exact``, a Hessian that is never indefinite; ``single``, its products in single precision.
        """
        here = self._finite(self._reduce(value_grad_hess, theta=theta, exact=exact, single=single))
        value, pull = self.prior.value_grad(theta)
        return ValueGradHess(here.value + value, here.grad + pull, self.prior.add_to(here.hess))

    def largest_share(self, theta: Float, V: Float) -> float:
        """By what share a step V from θ changes the slope of any row: see `stats.objective`."""
        return float(self._reduce(largest_share, theta=theta, V=V).value)

    def separates(self, theta: Float) -> bool:
        """Whether θ puts every row on the right side; for hard labels."""
        return self.source.reduce(partial(least_lead, theta=theta, design=self.design)).value < 0

    def gradient_size(self, grad: Float) -> float:
        """The largest component of a gradient, per standard deviation of its column and per unit of weight."""
        return float(np.abs(grad / self.column_units).max(initial=0.0)) / self.units.total

    @cached_property
    def column_units(self) -> Float:
        """What one unit of each regressor is, (P,): a standard deviation, and 1 for the bias and constant columns."""
        spread = np.where(self.units.spread > 0, self.units.spread, 1.0)
        return np.append(spread, 1.0) if self.design.bias else spread

    @cached_property
    def free(self) -> Array:
        """Which of the P weights have no prior, (P,)."""
        return self.prior.free

    def of_sample(self) -> Posterior:
        """The same model of the sample alone."""
        assert self.sample is not None, "there are so few rows that none were sampled"
        return replace(self, source=self.sample, sample=None)

    def _reduce(self, statistic: Callable[..., Any], **at: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return self.source.reduce(partial(statistic, likelihood=self.likelihood, design=self.design, **at))

    def _finite(self, here: Any) -> Any:
        """What was found; where it is not a number because a value of X is not, an error that names the column."""
        if not np.isfinite(here.grad).all():
            require_finite(self.source)
        return here


@runtime_checkable
class Solver(Protocol):
    """What every solver is: a way from a start to a minimum."""

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """From ``start`` (C, P) to a minimum, or as far as its limits go; the status says which."""
