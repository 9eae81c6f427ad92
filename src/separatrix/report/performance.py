# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of the model on the evaluated rows, for the positive class.

The classes of a study are in the order of their labels, with "defaulted" before "repaid". `positive_view` reorders a
study so that the positive class is the second of two: p(C_k | x) against 1 - p(C_k | x). All other functions of the
report rely on that order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np

from separatrix import metrics
from separatrix._array import Array, Float
from separatrix.metrics import Estimate
from separatrix.report.words import counted, shortened
from separatrix.study import HeldOut, PriorOnly, Study
from separatrix.thresholds import Costs

MIN_ROWS_TO_JUDGE = 10  # with fewer rows, accuracy and calibration cannot be judged
MAX_LABEL_LETTERS = 60
# A calibration error up to 1.5 times its expectation by chance (about two standard deviations) counts as noise.
MAX_CHANCE_RATIO, NEGLIGIBLE_ECE = 1.5, 0.005


@dataclass(frozen=True)
class Performance:
    """Metrics on the evaluated rows.

    ``evaluated`` describes the rows in words, and ``evaluated_rows`` also has their number. ``labels`` are all classes,
    or two if one class is compared with all others (``is_one_of_many``). The baselines predict the class proportions
    (log-loss) and ``labels[largest]`` (accuracy). ``r2`` is McFadden's R²: 0 for predictions as good as the class
    proportions, 1 for perfect predictions. ``n_trained`` is the number of rows that the model was fitted on.
    ``excess_confidence`` is the mean probability of the predicted class minus accuracy.
    """

    n_rows: int
    n_trained: int | None
    accuracy: Estimate
    log_loss: Estimate
    auc: Estimate
    brier: Estimate
    ece: Estimate
    ece_if_calibrated: float
    baseline: str
    baseline_loss: float
    baseline_accuracy: float
    r2: float
    excess_confidence: float
    labels: tuple[str, ...]
    largest: int
    is_one_of_many: bool
    evaluated: str
    evaluated_rows: str
    is_prior_only: bool

    @property
    def has_one_class(self) -> bool:
        """Whether all evaluated rows are of one class, which the class proportions predict without error."""
        return self.baseline_loss == 0

    @property
    def is_calibrated(self) -> bool:
        """Whether chance can explain the calibration error."""
        return self.ece.value <= max(MAX_CHANCE_RATIO * self.ece_if_calibrated, NEGLIGIBLE_ECE)


def performance_of(study: Study) -> Performance:
    """Metrics of the model on the evaluated rows of a study."""
    P, codes, weight = study.held_out.P, study.held_out.codes, study.held_out.weight
    sample = (P, codes, weight)
    proportion = study.counts / study.counts.sum()
    rows = study.held_out.log_likelihoods
    log_likelihood = metrics.log_likelihood(*sample) if rows is None else metrics.weighted_mean(rows, weight)
    accuracy = metrics.accuracy(*sample)
    baseline_loss = -float(np.average(np.log(proportion[codes]), weights=weight))
    labels = tuple(shortened(label, MAX_LABEL_LETTERS) for label in study.classes)
    largest, n_rows, is_one_of_many = int(proportion.argmax()), len(codes), len(labels) < len(study.model.classes_)
    tested = "" if study.comparison is None else f"{study.comparison.tested} "
    evaluated, evaluated_rows = "rows of this table", f"{counted(n_rows, 'row')} of this table"
    if study.is_held_out:
        evaluated, evaluated_rows = f"{tested}rows", counted(n_rows, f"{tested}row")
    return Performance(
        n_rows=n_rows,
        n_trained=study.model.n_rows_,
        accuracy=accuracy,
        log_loss=Estimate(-log_likelihood.value, log_likelihood.standard_error),
        auc=metrics.auc(*sample),
        brier=metrics.brier(*sample),
        ece=metrics.ece(*sample),
        ece_if_calibrated=metrics.ece_if_calibrated(*sample),
        baseline=f"always predicting {labels[largest] if is_one_of_many else 'the largest class'}",
        baseline_loss=baseline_loss,
        baseline_accuracy=float(np.average(codes == largest, weights=weight)),
        r2=1 + log_likelihood.value / baseline_loss if baseline_loss else nan,
        excess_confidence=float(np.average(P.max(axis=1), weights=weight)) - accuracy.value,
        labels=labels,
        largest=largest,
        is_one_of_many=is_one_of_many,
        evaluated=evaluated,
        evaluated_rows=evaluated_rows,
        is_prior_only=isinstance(study.model.estimator_, PriorOnly),
    )


def positive_view(study: Study) -> Study:
    """Study with two classes, the positive one second.

    A study of more classes without a positive class is returned unchanged. The order of ``classes_`` of the model and
    the metrics of the comparison, which are over all classes, do not change. Weights of K > 2 classes remain relative
    to the geometric mean of all classes, because ln p_k / Σ_j≠k p_j, one class against the rest, is not linear in x.
    """
    if study.positive is None:
        return study
    k = int(study.classes.tolist().index(study.positive))
    if len(study.classes) == 2 and k == 1:
        return study
    weights = [c for c in study.coefficients if c.label == study.positive]
    if len(study.classes) == 2:
        weights = [
            replace(c, label=study.positive, weight=-c.weight, lower=-c.upper, upper=-c.lower, per_spread=-c.per_spread)
            for c in study.coefficients
        ]
    every: tuple[Any, ...] = (*study.effects, *study.pair_effects)
    views = [_effect_view(effect, k) for effect in every]
    n_effects = len(study.effects)
    held_out = one_against_rest(study.held_out, k)
    return replace(
        study,
        classes=held_out.classes,
        counts=np.array([study.counts.sum() - study.counts[k], study.counts[k]]),
        held_out=held_out,
        coefficients=tuple(weights),
        effects=tuple(views[:n_effects]),
        pair_effects=tuple(views[n_effects:]),
    )


def costs_in_order(classes: Array, costs: Costs | None) -> Float | None:
    """Costs in the order of some classes; None without costs, or if one class is compared with all others."""
    labels = list(map(str, classes.tolist()))
    if costs is None or not set(labels) <= set(costs.labels):
        return None
    order = [costs.labels.index(label) for label in labels]
    return costs.matrix[np.ix_(order, order)]


def _effect_view(effect: Any, k: int) -> Any:
    """Effect on two classes, the k-th class second."""
    lower, upper = effect.lower[..., k], effect.upper[..., k]
    bounds = np.stack([1 - upper, lower], axis=-1), np.stack([1 - lower, upper], axis=-1)
    missing = None if effect.missing is None else _effect_view(effect.missing, k)
    return replace(effect, mean=_two_sides(effect.mean, k), lower=bounds[0], upper=bounds[1], missing=missing)


def one_against_rest(held: HeldOut, k: int) -> HeldOut:
    """Predictions for two classes: first the other class, or all others together as "not k"; second class k."""
    label = held.classes.tolist()[k]
    sides: Array = np.empty(2, dtype=object)
    sides[:] = [f"not {label}", label]
    classes = held.classes[[1 - k, k]] if len(held.classes) == 2 else sides
    rows = held.log_likelihoods if len(held.classes) == 2 else None
    return HeldOut((held.codes == k).astype(np.intp), _two_sides(held.P, k), classes, rows, held.weight)


def _two_sides(P: Float, k: int) -> Float:
    """Probability of the other classes and of class k; a sum keeps small probabilities more accurate than 1 - p."""
    return np.stack([np.delete(P, k, axis=-1).sum(axis=-1), P[..., k]], axis=-1)
