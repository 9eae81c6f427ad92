# SPDX-License-Identifier: BSD-3-Clause
"""Scores of predicted probabilities, each with its standard error.

P (N, K) contains the predicted probabilities of K classes, and ``codes`` (N,) the true class of each row, as a column
number of P. ``weight`` (N,) contains frequency weights: a weight of k equals k copies of the row, in scores and their
errors. A score that is the mean of one value v_n per row is

    m = Σ_n weight_n v_n / W,      se² = Σ_n weight_n (v_n - m)² / (W (W - 1)),      W = Σ_n weight_n,

with v = ln P_nt for the log-likelihood, v = [argmax_k P_nk = t] for the accuracy and v = ½ Σ_k (P_nk - T_nk)² for the
Brier score. The calibration error is such a mean after rows are binned. The area under the ROC curve is a mean over
pairs of rows, with DeLong's standard error. Probabilities are not clipped: if a true class has probability zero, the
log-likelihood is -inf. A standard error is NaN if there are too few rows to estimate it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from separatrix._arguments import check_count, check_number
from separatrix._array import Array, Codes, Float, bincount
from separatrix._text import counted
from separatrix.exceptions import DataError

MAX_SQUARED = 1e150  # the squares of larger numbers are infinite

__all__ = [
    "Confusion",
    "Estimate",
    "Reliability",
    "accuracy",
    "auc",
    "brier",
    "confusion",
    "ece",
    "ece_if_calibrated",
    "log_likelihood",
    "log_likelihoods",
    "reliability",
    "require_probabilities",
    "weighted_mean",
]

N_BINS = 10
MAX_SUM_ERROR = 1e-4  # largest |Σ_k P_nk - 1|; 1000 classes in float32 have a smaller error


class Estimate(NamedTuple):
    """A score and its standard error (standard deviation over data sets of this size)."""

    value: float
    standard_error: float


class Confusion(NamedTuple):
    """Normalised confusion matrix (K, K): entry (k, j) is the fraction of true class k that was predicted as j."""

    share: Float
    standard_error: Float


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted probabilities and observed frequencies in bins of similar predicted probability.

    Attributes
    ----------
    predicted, observed : ndarray of shape (B,)
        Mean predicted probability of the event, and the fraction of rows in which it happened.
    count : ndarray of shape (B,)
        Total weight of the rows.
    lower, upper : ndarray of shape (B,)
        Wilson's confidence interval for the observed fraction.
    level : float
        Confidence level of the interval.
    event : str
        The event that is predicted.
    """

    predicted: Float
    observed: Float
    count: Float
    lower: Float
    upper: Float
    level: float
    event: str


def weighted_mean(values: Any, weight: Any = None) -> Estimate:
    """Mean m = Σ weight v / W, with se² = Σ weight (v - m)² / (W (W - 1)).

    If a value is -inf, the mean is -inf and the standard error is NaN. It is also NaN for a single row.

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
    if W <= 1:
        return Estimate(m, np.nan)
    unit = largest if (largest := float(np.abs(v - m).max())) > MAX_SQUARED else 1.0
    return Estimate(m, unit * float(np.sqrt(w @ ((v - m) / unit) ** 2 / (W * (W - 1)))))


def log_likelihoods(P: Any, codes: Any) -> Float:
    """ln P_nt of each row, (N,); -inf if the true class has probability zero."""
    P, codes, _ = _checked(P, codes, None)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(P[np.arange(len(P)), codes]))


def log_likelihood(P: Any, codes: Any, weight: Any = None) -> Estimate:
    """Mean log-likelihood (1/W) Σ_n weight_n ln P_nt, in nats. It is minus the log-loss; larger is better.

    Examples
    --------
    >>> log_likelihood([[0.5, 0.5], [0.2, 0.8]], [0, 1]).value
    -0.458...
    >>> log_likelihood([[1.0, 0.0], [0.2, 0.8]], [1, 1]).value
    -inf
    """
    P, codes, weight = _checked(P, codes, weight)
    return weighted_mean(log_likelihoods(P, codes), weight)


def accuracy(P: Any, codes: Any, weight: Any = None) -> Estimate:
    """Fraction of rows whose most probable class is the true class. In a tie, the first class counts.

    Examples
    --------
    >>> accuracy([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], [0, 1, 1]).value
    0.666...
    """
    P, codes, weight = _checked(P, codes, weight)
    return weighted_mean(P.argmax(axis=1) == codes, weight)


def brier(P: Any, codes: Any, weight: Any = None) -> Estimate:
    """Brier score (1/W) Σ_n weight_n ½ Σ_k (P_nk - T_nk)², from 0 to 1. Smaller is better.

    With the factor ½ it is the mean of (p - t)² for two classes. For more classes, many authors omit the factor.

    Examples
    --------
    >>> brier([[0.5, 0.5], [0.2, 0.8]], [0, 1]).value
    0.145
    """
    P, codes, weight = _checked(P, codes, weight)
    residual = P.copy()
    residual[np.arange(len(residual)), codes] -= 1.0
    return weighted_mean(0.5 * np.einsum("nk,nk->n", residual, residual), weight)


def confusion(P: Any, codes: Any, weight: Any = None) -> Confusion:
    """Row-normalised confusion matrix of the most probable class.

    The row of a class that does not occur is NaN. Standard errors are sqrt(s (1 - s) / (W_k - 1)).

    Examples
    --------
    >>> confusion([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], [0, 1, 1]).share
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    P, codes, weight = _checked(P, codes, weight)
    K = P.shape[1]
    count = bincount(K * codes + P.argmax(axis=1), weight, K * K).reshape(K, K)
    total = count.sum(axis=1, keepdims=True)
    share = np.divide(count, total, out=np.full((K, K), np.nan), where=total > 0)
    freedom = np.broadcast_to(total - 1, (K, K))
    variance = np.divide(share * (1 - share), freedom, out=np.full((K, K), np.nan), where=freedom > 0)
    return Confusion(share, np.sqrt(variance))


def ece(P: Any, codes: Any, weight: Any = None, *, n_bins: int = N_BINS) -> Estimate:
    """Expected calibration error Σ_b (W_b / W) |observed_b - predicted_b|. Smaller is better.

    For two classes, p_n is the probability of the second class; for more classes, that of the most probable class.
    hit_n is 1 if this class is the true class. Bins have equal weight, and rows of equal probability are in the same
    bin, so bins do not depend on the order of the rows. With the sign s_b of the difference in a bin, the error is the
    mean of s_b (hit_n - p_n) over rows, with the standard error of that mean. This standard error is valid if the
    differences exceed their own noise; otherwise see `ece_if_calibrated`.

    Examples
    --------
    >>> ece([[0.8, 0.2]] * 5 + [[0.3, 0.7]] * 5, [0, 0, 0, 0, 1, 0, 1, 1, 1, 1]).value
    0.05...
    """
    P, codes, weight = _checked(P, codes, weight)
    p, hit, bins = _binned(P, codes, weight, n_bins)
    residual = hit - p
    sign = np.sign(bincount(bins, weight * residual, int(bins.max()) + 1))
    return weighted_mean(sign[bins] * residual, weight)


def ece_if_calibrated(P: Any, codes: Any, weight: Any = None, *, n_bins: int = N_BINS) -> float:
    """Expected value of `ece` on this number of rows if every probability were correct.

    Σ_b sqrt(2 V_b / π) / W with V_b = Σ_{n in b} weight_n p_n (1 - p_n), by the mean of an absolute normal variable.

    Examples
    --------
    >>> round(ece_if_calibrated([[0.5, 0.5]] * 100, [0, 1] * 50), 3)
    0.04
    """
    P, codes, weight = _checked(P, codes, weight)
    p, _, bins = _binned(P, codes, weight, n_bins)
    V = bincount(bins, weight * p * np.maximum(1 - p, 0.0), int(bins.max()) + 1)
    return float(np.sqrt(2 * V / np.pi).sum() / weight.sum())


def reliability(P: Any, codes: Any, weight: Any = None, *, n_bins: int = N_BINS, level: float = 0.95) -> Reliability:
    """Reliability curve: predicted probability against observed frequency in the bins of `ece`.

    Examples
    --------
    >>> curve = reliability([[0.8, 0.2]] * 5 + [[0.3, 0.7]] * 5, [0, 0, 0, 0, 1, 0, 1, 1, 1, 1])
    >>> curve.predicted, curve.observed
    (array([0.2, 0.7]), array([0.2, 0.8]))
    """
    level = check_number("reliability", "level", level, low=0.0, high=1.0)
    P, codes, weight = _checked(P, codes, weight)
    p, hit, bins = _binned(P, codes, weight, n_bins)
    B = int(bins.max()) + 1
    count = bincount(bins, weight, B)
    observed = bincount(bins, weight * hit, B) / count
    if level == 1:
        lower, upper = np.zeros(B), np.ones(B)
    else:  # Wilson's score interval
        z = float(special.ndtri(0.5 + 0.5 * level))
        centre = (observed + z * z / (2 * count)) / (1 + z * z / count)
        variance = np.maximum(observed * (1 - observed), 0.0) / count + (z / (2 * count)) ** 2
        reach = z * np.sqrt(variance) / (1 + z * z / count)
        lower, upper = np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
    event = "the second class" if P.shape[1] == 2 else "the most probable class"
    return Reliability(bincount(bins, weight * p, B) / count, observed, count, lower, upper, level, event)


def _binned(P: Float, codes: Codes, weight: Float, n_bins: int) -> tuple[Float, Array, Codes]:
    """Probability of the event, whether it happened, and the bin of each row. No bin is empty."""
    check_count("ece", "n_bins", n_bins)
    if P.shape[1] == 2:
        p, hit = P[:, 1], codes == 1
    else:
        p, hit = P.max(axis=1), P.argmax(axis=1) == codes
    _, place = np.unique(p, return_inverse=True)
    mass = bincount(place, weight, 0)
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()  # quantile of each distinct value
    bins = np.minimum((n_bins * middle).astype(np.intp), n_bins - 1)
    return p, hit, np.unique(bins[place], return_inverse=True)[1]


def auc(P: Any, codes: Any, weight: Any = None) -> Estimate:
    """Area under the ROC curve (Mann-Whitney); for K classes, the mean over pairs of Hand and Till (2001).

    A(i | j) is the probability that a row of class i has a larger P_ni than a row of class j; ties count half. For two
    classes the score is A(1 | 0). For more, it is the mean of A(i | j) over ordered pairs of the classes that occur.
    Each row has a placement: the fraction of rows of the other class against which it is ranked correctly, averaged
    over pairs. The variance is the sum over classes of the variance of the mean placement (DeLong, DeLong and
    Clarke-Pearson 1988, here for any K). The result is NaN if fewer than two classes occur.

    Examples
    --------
    >>> auc([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]], [0, 0, 1, 1]).value
    0.75
    """
    P, codes, weight = _checked(P, codes, weight)
    members = [np.flatnonzero(codes == k) for k in range(P.shape[1])]
    occur = [k for k, rows in enumerate(members) if len(rows)]
    if len(occur) < 2:
        return Estimate(np.nan, np.nan)
    pairs = [(1, 0)] if len(members) == 2 else list(permutations(occur, 2))
    part = np.zeros(len(P))
    for i, j in pairs:
        rows_i, rows_j = members[i], members[j]
        p_i, p_j = P[rows_i, i], P[rows_j, i]
        part[rows_i] += _fraction_below(p_i, p_j, weight[rows_j]) / len(pairs)
        part[rows_j] += (1.0 - _fraction_below(p_j, p_i, weight[rows_i])) / len(pairs)
    by_class = [weighted_mean(part[members[k]], weight[members[k]]) for k in occur]
    # Each pair is counted once for each of its two classes, so the area is half of the sum of the class means.
    return Estimate(0.5 * sum(e.value for e in by_class), float(np.hypot.reduce([e.standard_error for e in by_class])))


def _fraction_below(values: Float, others: Float, weight: Float) -> Float:
    """For each value, the weighted fraction of ``others`` below it; ties count half."""
    order = np.argsort(others)
    mass = np.concatenate([[0.0], np.cumsum(weight[order])])
    ranked = others[order]
    below, up_to = (mass[np.searchsorted(ranked, values, side)] for side in ("left", "right"))
    return np.asarray((below + up_to) / (2 * mass[-1]))


def require_probabilities(probabilities: Any) -> Float:
    """Return P (N, K) as an array; raise a `DataError` that names the first row that does not sum to one."""
    P: Float = np.asarray(probabilities, dtype=np.float64)
    if P.ndim != 2:
        raise DataError(
            f"P has shape {P.shape}; it must be (N, K): N rows, and a column for each of K classes. "
            "For the probability p of the second of two classes, pass np.column_stack([1 - p, p])."
        )
    wrong = np.flatnonzero(~((P >= 0).all(axis=1) & (np.abs(P.sum(axis=1) - 1) <= MAX_SUM_ERROR)))
    if len(wrong):
        raise DataError(
            f"{len(wrong)} of {len(P)} rows of P are not probabilities that sum to one; "
            f"the first is row {wrong[0] + 1} (counted from 1): {P[wrong[0]]}."
        )
    return P


def _checked(P: Any, codes: Any, weight: Any) -> tuple[Float, Codes, Float]:
    """Return the arguments as arrays, without rows of weight zero; raise `DataError` if one of them is invalid."""
    P = require_probabilities(P)
    N, K = P.shape
    if not N or K < 2:
        raise DataError(f"P has shape {P.shape}; a score needs at least one row and two classes.")
    found = np.asarray(codes)
    if found.shape != (N,) or found.dtype.kind not in "bui":
        raise DataError(
            f"codes has shape {found.shape} and type {found.dtype}; expected {N} integers, the index of "
            "each row's true class among the columns of P. For labels, pass np.searchsorted(model.classes_, y)."
        )
    wrong = np.flatnonzero((found < 0) | (found >= K))
    if len(wrong):
        raise DataError(
            f"codes is {found[wrong[0]]} in row {wrong[0] + 1} (counted from 1), but P has {counted(K, 'column')}: "
            "codes run "
            f"from 0 to {K - 1}."
        )
    found = found.astype(np.intp)
    if weight is None:
        return P, found, np.ones(N)
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (N,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise DataError(
            f"weight has shape {weight.shape}; expected {N} finite numbers, none negative and not all zero."
        )
    kept = weight > 0
    return (P, found, weight) if kept.all() else (P[kept], found[kept], weight[kept])
