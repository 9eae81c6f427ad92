# SPDX-License-Identifier: BSD-3-Clause
"""Decisions by a threshold: ROC, precision and recall, lift, net benefit and expected cost, each with a band.

A row is *selected* if its probability p of the event exceeds a threshold t. With the weights TP of selected rows that
have the event, FP of selected rows that do not, P and N of all rows with and without it, and W = P + N,

    ROC                    TP/P against FP/N
    precision, recall      TP/(TP + FP) against TP/P
    lift                   (TP/P) / ((TP + FP)/W) against the selected fraction (TP + FP)/W
    net benefit            TP/W - FP/W t/(1 - t) against t                                (Vickers and Elkin 2006)
    expected cost          Σ_n L_n,decision / W against t

The net benefit of selecting all rows is P/W - N/W t/(1 - t), and that of selecting none is 0: a model helps at a
threshold only if its net benefit exceeds both.

A band is computed by Rubin's Bayesian bootstrap (1981): rows get random weights, exponential ones, or Gamma(k) for a
row of weight k, so that a weight of k equals k copies. A band covers each point with the stated probability, not the
whole curve, and includes neither the fit of the model nor the choice of a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_number, check_numbers, check_option
from separatrix._array import Codes, Float
from separatrix.exceptions import DataError
from separatrix.metrics import Estimate, require_probabilities, weighted_mean

N_DRAWS = 500  # random weights, which give the ends of a band to 6 % of its half width
MAX_GROUPS = 20_000  # groups of rows with similar probabilities
MAX_DRAWN_FLOATS = 4_000_000
N_POINTS = 201  # of each curve
MAX_THRESHOLD = 0.99  # of net benefit, whose odds t/(1 - t) diverge at 1

__all__ = ["CURVES", "Costs", "ThresholdCurve", "cost_report", "threshold_curve"]


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """A curve over the threshold of a decision, with a band.

    Attributes
    ----------
    kind : str
        "roc", "precision", "lift", "net benefit" or "cost".
    x, y, lower, upper : ndarray of shape (n,)
        The curve and its band; NaN where it is undefined.
    reference : ndarray of shape (n,)
        The curve without information: random selection for "roc", "precision" and "lift", selecting all rows for
        "net benefit", and for "cost" the cheapest of deciding the same for all rows.
    prevalence : float
        Fraction of rows with the event.
    level : float
        Level of the band.
    """

    kind: str
    x: Float
    y: Float
    lower: Float
    upper: Float
    reference: Float
    prevalence: float
    level: float


class _Sums(NamedTuple):
    """Weights of the rows with (``tp``) and without (``fp``) the event above each threshold, (S, G + 1), decreasing."""

    thresholds: Float
    tp: Float
    fp: Float


def threshold_curve(
    kind: str,
    p: Any,
    event: Any,
    weight: Any = None,
    *,
    costs: Any = None,
    level: float = 0.95,
    rng: int = 0,
) -> ThresholdCurve:
    """Curve of a decision by a threshold on the probability of an event, with a band.

    Parameters
    ----------
    kind : {"roc", "precision", "lift", "net benefit", "cost"}
        Name of the curve.
    p : array-like of shape (N,)
        Predicted probability of the event.
    event : array-like of bool, shape (N,)
        Whether the event happened.
    weight : array-like of shape (N,), optional
        Frequency weights.
    costs : array-like of shape (2, 2), optional
        For "cost": L, whose rows are (no event, event) and whose columns are the decisions (not selected, selected).
    level : float, default 0.95
        Level of the band.
    rng : int
        Seed of the band.

    Examples
    --------
    >>> curve = threshold_curve("roc", [0.1, 0.4, 0.35, 0.8], [False, False, True, True])
    >>> float(np.interp(0.5, curve.x, curve.y))
    1.0
    """
    check_option("threshold_curve", "kind", kind, CURVES)
    level = check_number("threshold_curve", "level", level, low=0.0, high=1.0)
    probability, hit = np.asarray(p, dtype=np.float64), np.asarray(event).astype(bool)
    w = np.ones(len(probability)) if weight is None else np.asarray(weight, dtype=np.float64)
    if probability.ndim != 1 or hit.shape != probability.shape or w.shape != probability.shape:
        raise DataError(
            f"p has shape {probability.shape}, event {hit.shape} and weight {w.shape}; pass one number per row each."
        )
    if not (w[hit].sum() > 0 and w[~hit].sum() > 0):
        raise DataError("The rows must contain rows with and rows without the event: with one class, curves are flat.")
    L = _two_costs(costs) if kind == "cost" else np.zeros((2, 2))
    level_of, x = CURVES[kind]
    found = _grouped(probability, hit, w)
    y = level_of(_sums(*found), x, L)[0]
    rng_of_band, drawn = np.random.default_rng(rng), []
    thresholds, positive, negative = found
    at_once = max(1, MAX_DRAWN_FLOATS // len(thresholds))
    for start in range(0, N_DRAWS, at_once):
        size = (min(at_once, N_DRAWS - start), len(thresholds))
        parts = (rng_of_band.standard_gamma(part, size) for part in (positive, negative))
        drawn.append(level_of(_sums(thresholds, *parts), x, L))
    half = 0.5 * level
    with np.errstate(invalid="ignore"):
        lower, upper = np.quantile(np.concatenate(drawn), [0.5 - half, 0.5 + half], axis=0)
    share = float(positive.sum() / (positive.sum() + negative.sum()))
    return ThresholdCurve(kind, x, y, lower, upper, _reference(kind, x, share, L), share, level)


def _grouped(p: Float, hit: Any, weight: Float) -> tuple[Float, Float, Float]:
    """Distinct probabilities, largest first, with the weights of rows with and without the event, (G,)."""
    values, place = np.unique(-p, return_inverse=True)
    if len(values) > MAX_GROUPS:
        group = np.arange(len(values)) * MAX_GROUPS // len(values)
        values, place = values[np.searchsorted(group, np.arange(MAX_GROUPS), side="right") - 1], group[place]
    positive, negative = (np.bincount(place, weight * side, len(values)) for side in (hit, ~hit))
    return -values, np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)


def _sums(thresholds: Float, positive: Float, negative: Float) -> _Sums:
    """Cumulative weights for weights (G,) or (S, G)."""

    def above(part: Float) -> Float:
        total = np.cumsum(np.atleast_2d(part), axis=1)
        return np.concatenate([np.zeros((len(total), 1)), total], axis=1)

    return _Sums(thresholds, above(positive), above(negative))


def _interpolated(x: Float, at: Float, values: Float) -> Float:
    """Row by row: values (S, G) at positions (S, G), at the points x (n,)."""
    return np.stack([np.interp(x, a, v) for a, v in zip(at, values, strict=True)])


def _roc(sums: _Sums, x: Float, L: Float) -> Float:
    return _interpolated(x, sums.fp / sums.fp[:, -1:], sums.tp / sums.tp[:, -1:])


def _precision(sums: _Sums, x: Float, L: Float) -> Float:
    """Between two thresholds, FP is linear in TP (Davis and Goadrich 2006)."""
    recall = sums.tp / sums.tp[:, -1:]
    fp = _interpolated(x, recall, sums.fp)
    tp = x * sums.tp[:, -1:]
    return np.asarray(tp / (tp + fp))


def _lift(sums: _Sums, x: Float, L: Float) -> Float:
    total = sums.tp + sums.fp
    return np.asarray(_interpolated(x, total / total[:, -1:], sums.tp / sums.tp[:, -1:]) / x)


def _selected(sums: _Sums, x: Float) -> tuple[Float, Float, Float, Float]:
    """Fractions of all rows: selected with and without the event at the thresholds x, and all with and without it."""
    at = np.searchsorted(-sums.thresholds, -x, side="left")  # rows with p > t
    W = (sums.tp + sums.fp)[:, -1:]
    return sums.tp[:, at] / W, sums.fp[:, at] / W, sums.tp[:, -1:] / W, sums.fp[:, -1:] / W


def _net_benefit(sums: _Sums, x: Float, L: Float) -> Float:
    tp, fp, *_ = _selected(sums, x)
    return np.asarray(tp - fp * x / (1 - x))


def _cost(sums: _Sums, x: Float, L: Float) -> Float:
    tp, fp, positive, negative = _selected(sums, x)
    return np.asarray(L[1, 1] * tp + L[1, 0] * (positive - tp) + L[0, 1] * fp + L[0, 0] * (negative - fp))


def _reference(kind: str, x: Float, share: float, L: Float) -> Float:
    """The curve without information; see `ThresholdCurve`."""
    if kind == "roc":
        return x
    if kind in ("precision", "lift"):
        return np.full_like(x, share if kind == "precision" else 1.0)
    if kind == "net benefit":
        return np.asarray(share - (1 - share) * x / (1 - x))
    return np.full_like(x, min((1 - share) * L[0, j] + share * L[1, j] for j in (0, 1)))


# Function of each curve, and the points at which it is computed.
CURVES: dict[str, tuple[Callable[[_Sums, Float, Float], Float], Float]] = {
    "roc": (_roc, np.linspace(0, 1, N_POINTS)),
    "precision": (_precision, np.linspace(0, 1, N_POINTS)[1:]),
    "lift": (_lift, np.linspace(0, 1, N_POINTS)[1:]),
    "net benefit": (_net_benefit, np.linspace(0, MAX_THRESHOLD, N_POINTS)),
    "cost": (_cost, np.linspace(0, 1, N_POINTS)),
}


@dataclass(frozen=True, eq=False)
class Costs:
    """Cost per decision on some rows, for decisions by expected cost and for simpler rules.

    Attributes
    ----------
    matrix : ndarray of shape (K, K)
        L: rows are true classes, columns are decisions.
    labels : tuple of str
        The classes, in the order of the matrix.
    positive : int
        Code of the class of interest.
    threshold : float
        Of two classes, the positive one is chosen if its probability exceeds this; NaN with more classes.
    cost : Estimate
        Mean cost of the decisions with the smallest expected cost.
    predicted : float
        The cost that the probabilities predict; it is close to ``cost`` if they are well calibrated.
    by_probability : Estimate
        Mean cost if the most probable class is chosen.
    constant : tuple of Estimate
        Mean cost if each class is chosen for all rows.
    saved : Estimate
        Mean cost of the cheapest constant decision minus ``cost``, row by row.
    """

    matrix: Float
    labels: tuple[str, ...]
    positive: int
    threshold: float
    cost: Estimate
    predicted: float
    by_probability: Estimate
    constant: tuple[Estimate, ...]
    saved: Estimate

    @property
    def cheapest(self) -> int:
        """The class whose constant decision costs least."""
        return int(np.argmin([each.value for each in self.constant]))


def cost_report(
    P: Any, codes: Codes, costs: Any, labels: tuple[str, ...], weight: Any = None, *, positive: int = 1
) -> Costs:
    """Costs of decisions on rows with probabilities P (N, K) and true classes ``codes`` (N,).

    Parameters
    ----------
    P : array-like of shape (N, K)
        Predicted probabilities.
    codes : array-like of shape (N,)
        Column of P of the true class of each row.
    costs : array-like of shape (K, K)
        Costs, with true classes in rows and decisions in columns.
    labels : tuple of K str
        Names of the classes, in the order of the columns of P.
    weight : array-like of shape (N,), optional
        Frequency weights.
    positive : int, default 1
        Column of P of the class of interest, to which the threshold refers.

    Examples
    --------
    >>> found = cost_report([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [0, 1, 1], [[0, 1], [5, 0]], ("well", "ill"))
    >>> round(found.threshold, 3), found.cost.value, found.by_probability.value
    (0.167, 0.0, 1.666...)
    """
    P, L = require_probabilities(P), check_numbers("cost_report", "costs", costs)
    if L.shape != (P.shape[1],) * 2 or not np.isfinite(L).all():
        raise DataError(
            f"costs has shape {L.shape}, but there are {P.shape[1]} classes. Give a finite cost for each pair."
        )
    require_choice(L, labels)
    codes = np.asarray(codes)
    expected = P @ L
    chosen = expected.argmin(axis=1)
    own, usual = L[codes, chosen], L[codes, P.argmax(axis=1)]
    constant = tuple(weighted_mean(L[codes, j], weight) for j in range(len(L)))
    best = int(np.argmin([each.value for each in constant]))
    return Costs(
        matrix=L,
        labels=labels,
        positive=positive,
        threshold=cost_threshold(L, positive) if len(L) == 2 else np.nan,
        cost=weighted_mean(own, weight),
        predicted=weighted_mean(expected[np.arange(len(P)), chosen], weight).value,
        by_probability=weighted_mean(usual, weight),
        constant=constant,
        saved=weighted_mean(L[codes, best] - own, weight),
    )


def require_choice(costs: Any, labels: Sequence[Any]) -> None:
    """Raise if a mistake costs less than the correct decision, or if a class would be decided for no probabilities.

    ``costs`` (K, K) or (K, K + 1) are those of the classes ``labels``, with the cost of rejecting in the last column.
    """
    L = np.asarray(costs)
    K, correct = len(L), np.diag(L)
    for k, j in np.argwhere(L[:, :K] < correct[:, None]).tolist():
        raise DataError(
            f"costs: deciding {labels[j]} for {labels[k]} costs {L[k, j]:g}, less than the correct decision "
            f"({correct[k]:g}), so this mistake would be made on purpose. Give mistakes the larger costs."
        )
    if (L[:, :K] == correct[:, None]).all():
        raise DataError("costs: all decisions cost the same, so they choose nothing. Give mistakes the larger costs.")
    for j, i in permutations(range(K), 2):
        if (L[:, i] <= L[:, j]).all() and (L[:, i] < L[:, j]).any():  # classes with equal costs are one decision
            raise DataError(
                f"costs: deciding {labels[j]} never costs less than deciding {labels[i]}, so no row would be decided "
                f"as {labels[j]}. Give deciding {labels[i]} for {labels[j]} a larger cost."
            )


def cost_threshold(L: Float, k: int) -> float:
    """Of two classes, the probability of the k-th above which deciding it costs less, for costs L (2, 2).

    >>> round(cost_threshold(np.array([[0.0, 1.0], [5.0, 0.0]]), 1), 3)
    0.167
    """
    other = 1 - k
    missed, alarm = L[k, other] - L[k, k], L[other, k] - L[other, other]
    return float(alarm / (alarm + missed))


def _two_costs(costs: Any) -> Float:
    L = check_numbers("threshold_curve", "costs", costs)
    if L.shape != (2, 2) or not np.isfinite(L).all():
        raise DataError(
            f"costs has shape {L.shape}: give a finite (2, 2) matrix, (no event, event) by (not selected, selected)."
        )
    return L
