# SPDX-License-Identifier: BSD-3-Clause
"""Targets of a regression with what belongs to each of them: weight, trials, offset. Checked, and in float64.

A weight k counts a row k times. A share of n binomial trials weighs n in the likelihood, yet is one observation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from separatrix._array import Array, Float
from separatrix.exceptions import DataError
from separatrix.likelihoods import MeanLikelihood
from separatrix.rows import check_weight, in_memory

__all__ = ["Targets", "check_offset", "open_targets"]


@dataclass(frozen=True, eq=False, slots=True)
class Targets:
    """t (N,); how often each row counts; its number of trials; the known part of its activation. None is 1, 1 and 0."""

    t: Array
    count: Float | None = None
    trials: Float | None = None
    offset: Float | None = None

    @property
    def weight(self) -> Float | None:
        """Of each row in the likelihood: count times trials."""
        if self.count is None or self.trials is None:
            return self.count if self.trials is None else self.trials
        return self.count * self.trials

    @property
    def n_observations(self) -> float:
        """N, rows without trials apart."""
        tried = np.ones(len(self.t)) if self.trials is None else np.asarray(self.trials > 0, dtype=np.float64)
        return self.sum(tried)

    @property
    def mean(self) -> float:
        """Of the targets, weighted."""
        return self.average(self.t)

    def average(self, values: Array) -> float:
        """The weighted mean of some numbers, one for each row."""
        return float(np.average(values, weights=self.weight))

    def sum(self, values: Array) -> float:
        """Σ over observations."""
        return float(values.sum() if self.count is None else values @ self.count)

    def weighted_sum(self, values: Array) -> float:
        """Σ over observations, each as often as it has trials."""
        return float(values.sum() if self.weight is None else values @ self.weight)


def open_targets(
    y: Any,
    likelihood: MeanLikelihood,
    n_rows: int,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
) -> Targets:
    """Check what a user gave; `DataError` names the row and the value at fault."""
    y, sample_weight, offset, exposure = in_memory(y, sample_weight, offset, exposure)
    count = check_weight(sample_weight, n_rows)
    if count is not None and not count.any():
        raise DataError("Every sample_weight is zero; give at least one row a positive weight.")
    t, trials = _numbers(y, likelihood.response.name == "binomial")
    if len(t) != n_rows:
        raise DataError(f"X has {n_rows} rows but y has {len(t)} targets; they must pair up.")
    if likelihood.response.name == "binomial" and trials is None:
        count, trials = None, count
    likelihood.response.check_targets(t)
    if likelihood.response.name in ("bernoulli", "binomial") and np.isin(t, (0.0, 1.0)).all():
        t = t.astype(np.intp)  # codes: their likelihood is right to rounding however sure it is
    known = _sum_of(check_offset(offset, n_rows), _log_exposure(exposure, n_rows, likelihood))
    return Targets(t, count, trials, known)


def _numbers(y: Any, is_binomial: bool) -> tuple[Float, Float | None]:
    """Targets, and trials where y has a column of successes and one of failures."""
    if y is None:
        raise ValueError("This regressor requires y to be passed, but the target y is None.")
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must hold numbers ({error}).") from error
    _require_finite("Input y", values)
    if not (is_binomial and values.ndim == 2 and values.shape[1] == 2):
        return np.asarray(column_or_1d(values, warn=True)), None
    wrong = np.flatnonzero((values < 0).any(axis=1))
    if len(wrong):
        raise DataError(f"y[{wrong[0]}] is {values[wrong[0]].tolist()}; successes and failures must not be negative.")
    trials = values.sum(axis=1)
    if not trials.any():
        raise DataError("y has no trials: every row has 0 successes and 0 failures.")
    return values[:, 0] / np.where(trials > 0, trials, 1.0), trials


def check_offset(offset: Any, n_rows: int) -> Float | None:
    """An offset as float64, one for each row."""
    return None if offset is None else _per_row("offset", offset, n_rows)


def _log_exposure(exposure: Any, n_rows: int, likelihood: MeanLikelihood) -> Float | None:
    if exposure is None:
        return None
    if likelihood.link != "log":
        raise ValueError(f"exposure multiplies the mean, which takes a log link, not {likelihood.link!r}. Use offset.")
    values = _per_row("exposure", exposure, n_rows)
    if not (values > 0).all():
        row = int(np.flatnonzero(~(values > 0))[0])
        raise DataError(f"exposure[{row}] is {values[row]:g}; exposures must be positive. Leave out rows without any.")
    return np.log(values)


def _per_row(name: str, given: Any, n_rows: int) -> Float:
    values = np.asarray(given, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(n_rows, float(values))
    if values.shape != (n_rows,):
        raise DataError(f"{name}.shape == {values.shape}, expected {(n_rows,)}: one {name} for each row of X.")
    _require_finite(name, values)
    return values


def _require_finite(what: str, values: Float) -> None:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        value = values[tuple(wrong[0])]
        kind = "NaN" if np.isnan(value) else "infinity or a value too large for dtype('float64')"
        raise DataError(f"{what} contains {kind}. The first of {len(wrong)} is in row {wrong[0][0]}.")


def _sum_of(a: Float | None, b: Float | None) -> Float | None:
    return b if a is None else a if b is None else a + b
