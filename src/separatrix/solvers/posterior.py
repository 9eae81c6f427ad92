# SPDX-License-Identifier: BSD-3-Clause
"""The negative log posterior E(θ) = -Σ_n weight_n ln p(t_n | θ φ̃_n) - ln p(θ), as solvers use it.

E is a sum over rows, not an average. One pass computes value and gradient, and if required the Hessian.

The size of a gradient has no units: each component is divided by the standard deviation of its column and by the total
weight. So `tol` has the same meaning for metres and for millimetres, for ten rows and for ten million.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from separatrix._array import Float, device_aware
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.priors import Penalty, Prior, penalty
from separatrix.rows import Block, DeviceRows, Source, Summed
from separatrix.solvers.result import Solution
from separatrix.stats import (
    COMPILED_LAWS,
    DOUBLE_ROUNDING,
    MAX_MAGNITUDE,
    MIN_COMPILED_ENTRIES,
    Design,
    Extent,
    ValueGrad,
    ValueGradHess,
    column_survey,
    extent,
    representative_sample,
    require_finite,
    require_squares,
    value_grad,
    value_grad_hess,
)

MAX_OFFSET_IN_STD = {np.dtype(np.float64): 1e5, np.dtype(np.float32): 1.0}  # with a larger |mean|/std, rows are centred
ROWS_PER_SAMPLE_ROW = 16  # a first fit uses one row in 16, within the limits below
MIN_SAMPLE_PER_WEIGHT, MAX_SAMPLE_PER_WEIGHT = 20, 1500  # smallest and largest number of rows per weight of a first fit
MAX_SAMPLE_ENTRIES = 2**24  # largest number of entries of the sample of a first fit (128 MiB)
MIN_SAMPLED_ENTRIES = 2_000_000  # smallest table for which a first fit to a sample saves time
MAX_TIED_COLUMNS = 2_000  # with more, columns are not centred: a prior on the bias at x = 0 would be a dense matrix


@dataclass(frozen=True, slots=True)
class Survey(Summed):
    """Moments of the columns, and their range."""

    columns: Any
    extent: Extent | None


@device_aware
def survey_with_extent(block: Block) -> Survey:
    """Moments and range of the columns of one block."""
    return Survey(column_survey(block), extent(block, with_radius=False))


@dataclass(frozen=True, eq=False, slots=True)
class Units:
    """Mean and standard deviation of each column (M,), total weight, and relative ``rounding`` error of sums.

    ``extent`` has the range of each column, if it was measured.
    """

    mean: Float
    spread: Float
    total: float
    dtype: np.dtype[Any]
    has_fast_products: bool
    rounding: float = DOUBLE_ROUNDING
    extent: Extent | None = None

    @classmethod
    def of(
        cls, source: Source, *, fit_intercept: bool, all_rows: Source | None = None, with_extent: bool = False
    ) -> Units:
        """Units of the columns, in one pass. Without a bias, the spread is the root mean square instead.

        If ``source`` is a sample of ``all_rows``, the error about values that are not finite counts all of them.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            survey = source.reduce(survey_with_extent) if with_extent else Survey(source.reduce(column_survey), None)
            found, moments = survey.columns, survey.columns.moments
            mean, total = moments.mean[0], float(moments.count[0])
            if not 0 < total < np.inf:
                remedy = "Divide them by a large constant" if total > 0 else "At least one weight must be positive"
                raise DataError(f"The sample weights add up to {total:g}, which must be positive and finite. {remedy}.")
            variance = moments.scatter.squares[0] / total
        if not np.isfinite(variance).all() or np.abs(mean).max(initial=0.0) > MAX_MAGNITUDE:
            require_finite(source if all_rows is None else all_rows)
            require_squares(source)
        variance = np.where(moments.is_constant(variance), 0.0, variance)
        if not fit_intercept:
            variance = variance + mean**2
        of_rows = found.dtype, found.has_fast_products, found.rounding
        return cls(mean, np.sqrt(variance), total, *of_rows, survey.extent)

    def design(self, *, fit_intercept: bool) -> Design:
        """Regressors minus their mean; without a bias, they are not centred."""
        if not fit_intercept:
            return Design(np.zeros_like(self.mean), bias=False, spread=self.spread)
        far = np.abs(self.mean) > MAX_OFFSET_IN_STD[self.dtype] * self.spread
        origin = self.mean.astype(self.dtype).astype(np.float64)  # in the precision of the rows
        return Design(origin, True, bool(far.any()), self.spread)


def pose(
    source: Source,
    likelihood: Likelihood,
    prior: Prior | Penalty,
    *,
    fit_intercept: bool,
    standardize: bool = False,
    with_extent: bool = False,
) -> Posterior:
    """Set up the objective of a fit. From a large table, a sample is drawn for the units and for a first fit.

    The prior is on the weights of the columns in the user's units and on the bias at x = 0; with ``standardize``, on
    the weights per standard deviation of each column and on the bias at the mean. With ``with_extent``, the range of
    each column is measured for `Posterior.reach`, which takes another pass over a large table.
    """
    M = len(source.columns)
    wanted = min(source.n_rows // ROWS_PER_SAMPLE_ROW, MAX_SAMPLE_ENTRIES // max(M, 1), MAX_SAMPLE_PER_WEIGHT * (M + 1))
    rows = max(wanted, MIN_SAMPLE_PER_WEIGHT * (M + 1))
    is_large = source.n_rows >= max(4 * rows, MIN_SAMPLED_ENTRIES // max(M, 1))
    sample = representative_sample(source, rows, MIN_SAMPLE_PER_WEIGHT * (M + 1)) if is_large else None
    measure = partial(Units.of, fit_intercept=fit_intercept)
    if sample is not None:
        units = measure(sample, all_rows=source)
    if sample is None or not (units.spread > 0).all():  # columns constant in the sample may vary
        units = measure(source, with_extent=with_extent)
    elif with_extent:  # a sample may miss rare values
        units = replace(units, extent=source.reduce(partial(extent, with_radius=False), reads_once=True))
    design = units.design(fit_intercept=fit_intercept)
    if not isinstance(prior, Penalty):
        shape = (likelihood.n_outputs, design.width)
        prior = penalty(prior, shape, fit_intercept=fit_intercept, columns=source.columns)
    if fit_intercept and not standardize and not prior.free[-1]:
        if M > MAX_TIED_COLUMNS and prior.precision.ndim == 1:
            design = replace(design, origin=np.zeros(M), subtract=False)  # the prior stays diagonal for a bias at x = 0
        else:
            prior = prior.about(design.origin)
    objective = Posterior(source, likelihood, prior, design, units, sample)
    return replace(objective, prior=prior.per_unit(objective.column_units)) if standardize else objective


@dataclass(frozen=True, eq=False)
class Posterior:
    """The objective E(θ) for θ (C, P), with its rows, likelihood and prior."""

    source: Source
    likelihood: Likelihood
    prior: Penalty
    design: Design
    units: Units
    sample: Source | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(C, P): number of outputs, and number of weights per output."""
        return self.likelihood.n_outputs, self.design.width

    def value_grad(self, theta: Float) -> ValueGrad:
        """E and ∂E/∂θ, in one pass."""
        once = type(self.likelihood) in COMPILED_LAWS
        here: ValueGrad = self.reduce(value_grad, reads_once=once, theta=theta, Z=self.regressors)
        if self.is_flat:
            return here
        value, pull = self.prior.value_grad(theta)
        return ValueGrad(here.value + value, here.grad + pull)

    def value_grad_hess(self, theta: Float, *, exact: bool = True, single: bool = False) -> ValueGradHess:
        """E, its gradient and its Hessian (CP, CP), in one pass.

        Without ``exact``, the Hessian is never indefinite. With ``single``, it is computed in single precision.
        """
        once = type(self.likelihood) in COMPILED_LAWS
        here: ValueGradHess = self.reduce(
            value_grad_hess, reads_once=once, theta=theta, Z=self.regressors, exact=exact, single=single
        )
        if self.is_flat:
            return here
        value, pull = self.prior.value_grad(theta)
        return ValueGradHess(here.value + value, here.grad + pull, self.prior.add_to(here.hess))

    @property
    def n_repeats(self) -> float:
        """Number of rows, or the sum of their weights if that is larger: a row of weight k counts as k rows."""
        return max(float(self.source.n_rows), self.units.total)

    def gradient_size(self, grad: Float) -> float:
        """Largest component of a gradient, per standard deviation of its column and per unit of weight."""
        return float(np.abs(grad / self.column_units).max(initial=0.0)) / self.units.total

    @cached_property
    def regressors(self) -> Float | None:
        """φ̃ of all rows (N, P), computed once for all passes if the rows are few and in host memory; otherwise None."""
        block, size = self.source.block, self.source.n_rows * self.design.width
        if block is None or isinstance(block.X, DeviceRows) or size >= MIN_COMPILED_ENTRIES:
            return None
        return self.design.regressors(block.X, order="F")  # products with row weights are faster in this order

    @cached_property
    def is_flat(self) -> bool:
        """Whether no weight has a Gaussian prior, so that E is the negative log likelihood."""
        return not self.prior.precision.any()

    @cached_property
    def column_units(self) -> Float:
        """Unit of each regressor (P,): a standard deviation; 1 for the bias and for constant columns."""
        units, spread = np.ones(self.design.width), self.units.spread
        np.copyto(units[: len(spread)], spread, where=spread > 0)
        return units

    @cached_property
    def reach(self) -> Float:
        """Largest |φ̃_j| of a row, (P,). It takes a pass if the range of the columns was not measured by `pose`."""
        rows, origin = self.units.extent, self.design.origin
        if rows is None and self.regressors is not None:
            return np.asarray(np.abs(self.regressors).max(axis=0))
        if rows is None:
            rows = self.source.reduce(partial(extent, with_radius=False), reads_once=True)
        furthest = np.maximum(rows.high - origin, origin - rows.low)
        return np.append(furthest, np.ones(self.design.width - len(origin)))

    def centre_classes(self, theta: Float) -> Float:
        """Shift all classes by the vector that maximises the prior. The likelihood does not change."""
        mean, precision = self.prior.mean, self.prior.precision
        if len(theta) == 1 or len(precision) != theta.shape[1]:
            return theta
        shift = (mean - theta).mean(axis=0)
        return np.asarray(theta + (shift if self.prior.corner is None else shift * self.prior.free))

    def of_sample(self) -> Posterior:
        """The same objective for the sample instead of all rows."""
        assert self.sample is not None, "a table this small has no sample"
        return replace(self, source=self.sample, sample=None)

    def reduce(self, statistic: Callable[..., Any], *, reads_once: bool = False, **at: Any) -> Any:
        """Sum of a statistic over the rows; raises an error that names the column if X is not finite."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            here = partial(statistic, likelihood=self.likelihood, design=self.design, **at)
            found = self.source.reduce(here, reads_once=reads_once)
        if not np.isfinite(getattr(found, "grad", 0.0)).all():
            require_finite(self.source)
        return found


@runtime_checkable
class Solver(Protocol):
    """Any algorithm that minimises a `Posterior`."""

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """Minimise from ``start`` (C, P); the status of the solution is the reason for stopping."""
