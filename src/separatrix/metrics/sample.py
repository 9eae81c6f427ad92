# SPDX-License-Identifier: BSD-3-Clause
"""What every figure of merit is a function of, and the mean with its standard error that most of them are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Codes, Float
from separatrix.exceptions import DataError

__all__ = ["Estimate", "Sample", "checked", "require_shares", "weighted_mean"]

ROUNDING = 1e-4  # how far probabilities of one row may sum from one: float32 rounds 1000 classes by less


class Estimate(NamedTuple):
    """A figure and the standard deviation it would have over data sets like this one."""

    value: float
    standard_error: float


class Sample(NamedTuple):
    """What every figure is a function of; rows of weight zero are left out."""

    P: Float
    codes: Codes
    weight: Float


def weighted_mean(values: Any, weight: Any = None) -> Estimate:
    """m = Σ weight v / W, and se² = Σ weight (v - m)² / (W (W - 1)).

    A value of -inf makes the mean -inf, which has no standard error; nor has a mean of one row.

    Examples
    --------
    >>> weighted_mean([1.0, 2.0, 3.0])
    Estimate(value=2.0, standard_error=0.577...)
    """
    v = np.asarray(values, dtype=np.float64)
    if np.isneginf(v).any():
        return Estimate(-np.inf, np.nan)
    w = np.ones(len(v)) if weight is None else np.asarray(weight, dtype=np.float64)
    W = float(w.sum())
    m = float(w @ v) / W
    return Estimate(m, float(np.sqrt(w @ (v - m) ** 2 / (W * (W - 1)))) if W > 1 else np.nan)


def require_shares(P: Float) -> None:
    """Raise, naming the first, where rows of P (N, K) are no probabilities that sum to one."""
    wrong = np.flatnonzero(~((P >= 0).all(axis=1) & (np.abs(P.sum(axis=1) - 1) <= ROUNDING)))
    if len(wrong):
        raise DataError(
            f"{len(wrong)} of {len(P)} rows of P are not probabilities that sum to one; "
            f"the first is row {wrong[0]}: {P[wrong[0]]}."
        )


def checked(P: Any, codes: Any, weight: Any) -> Sample:
    """The sample, if P are probabilities, codes their columns, and weights fit; else a `DataError` naming the row."""
    P = np.asarray(P, dtype=np.float64)
    if P.ndim != 2 or P.shape[1] < 2 or not len(P):
        raise DataError(
            f"P has shape {P.shape}; it must be (N, K): N rows, and a column for each of K >= 2 classes. "
            "For the probability p of the second of two classes, give np.column_stack([1 - p, p])."
        )
    require_shares(P)
    codes = _checked_codes(codes, P.shape)
    if weight is None:
        return Sample(P, codes, np.ones(len(P)))
    weight = _checked_weight(weight, len(P))
    kept = weight > 0
    return Sample(P, codes, weight) if kept.all() else Sample(P[kept], codes[kept], weight[kept])


def _checked_codes(codes: Any, shape: tuple[int, ...]) -> Codes:
    found = np.asarray(codes)
    N, K = shape
    if found.shape != (N,) or found.dtype.kind not in "bui":
        raise DataError(
            f"codes has shape {found.shape} and type {found.dtype}; it must be ({N},), integers: the column of P "
            "of the class that came true. For labels, give np.searchsorted(model.classes_, y)."
        )
    wrong = np.flatnonzero((found < 0) | (found >= K))
    if len(wrong):
        raise DataError(f"codes[{wrong[0]}] is {found[wrong[0]]}, but P has {K} columns: codes run from 0 to {K - 1}.")
    return found.astype(np.intp)


def _checked_weight(weight: Any, n_rows: int) -> Float:
    found: Float = np.asarray(weight, dtype=np.float64)
    if found.shape != (n_rows,) or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise DataError(
            f"weight (of shape {found.shape}) must be {n_rows} finite numbers, one for each row, none negative and "
            "not all zero."
        )
    return found
