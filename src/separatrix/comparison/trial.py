# SPDX-License-Identifier: BSD-3-Clause
"""One model fitted and judged; what goes wrong is told, and stops no other model."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import is_regressor
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from separatrix import metrics
from separatrix._array import Array, Float
from separatrix.comparison.evidence import NO_EVIDENCE, Evidence, read_evidence
from separatrix.comparison.split import Part, Split
from separatrix.exceptions import DataError
from separatrix.meta import listed
from separatrix.metrics import Estimate
from separatrix.reductions import take_rows
from separatrix.rows import is_dask

__all__ = ["FIGURES", "Scores", "Trial", "in_order", "rank", "run_trial", "weight_arguments"]

FIGURES = ("log_likelihood", "accuracy", "brier", "ece", "auc")
BLANK = Estimate(np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class Scores:
    """Figures of merit on some rows; NaN where the model does not say enough.

    Attributes
    ----------
    log_likelihood, accuracy, brier, ece, auc : Estimate
        Value and standard error; see `separatrix.metrics`. Accuracy is that of ``predict``.
    ece_if_calibrated : float
        What the calibration error would be on average if the probabilities were right.
    rows : ndarray of shape (N,), or None
        ln p(t_n | x_n) of each row.
    """

    log_likelihood: Estimate = BLANK
    accuracy: Estimate = BLANK
    brier: Estimate = BLANK
    ece: Estimate = BLANK
    auc: Estimate = BLANK
    ece_if_calibrated: float = np.nan
    rows: Float | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """One model: how it did, what it says of its evidence, what it cost; or why it failed."""

    name: str
    model: Any = None
    train: Scores = Scores()
    test: Scores = Scores()
    evidence: Evidence = NO_EVIDENCE
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    failure: str = ""


def rank(trial: Trial) -> tuple[float, ...]:
    """By log-likelihood on the held-out rows; after those, models without one by accuracy; then those that failed."""
    log_likelihood, hits = trial.test.log_likelihood.value, trial.test.accuracy.value
    if trial.failure:
        return (2.0,)
    return (1.0, -hits) if np.isnan(log_likelihood) else (0.0, -log_likelihood)


def run_trial(name: str, model: Any, split: Split) -> Trial:
    """Fit the model, and judge it on the rows it learnt from and on those it did not."""
    try:
        if is_regressor(model):
            raise TypeError(f"{type(model).__name__} is a regressor: what it predicts are numbers, and not classes.")
        train = split.train
        arguments = weight_arguments(model, train.weight)
        start = perf_counter()
        model.fit(train.X, split.classes[train.codes], **arguments)
        fitted = perf_counter() - start
        seen, _ = _judge(model, train, split.classes)  # first, lest the time of predicting include that of compiling
        test, seconds = _judge(model, split.test, split.classes)
        return Trial(name, model, seen, test, read_evidence(model), fitted, seconds)
    except Exception as error:  # whatever a model of any library may raise: the others go on
        return Trial(name, failure=f"{type(error).__name__}: {error}")


def weight_arguments(model: Any, weight: Float | None) -> dict[str, Any]:
    """Weights as the ``fit`` of the model takes them; that of a pipeline hands them to its last step."""
    from sklearn.pipeline import Pipeline

    if weight is None:
        return {}
    if get_config()["enable_metadata_routing"] or has_fit_parameter(model, "sample_weight"):
        return {"sample_weight": weight}
    if isinstance(model, Pipeline) and has_fit_parameter(model.steps[-1][1], "sample_weight"):
        return {f"{model.steps[-1][0]}__sample_weight": weight}
    raise TypeError(f"{type(model).__name__}.fit takes no sample_weight, so it cannot learn from these rows as given.")


def _judge(model: Any, part: Part, classes: Array) -> tuple[Scores, float]:
    """Scores, and the seconds of predicting."""
    ask = getattr(model, "predict_proba", None)
    start = perf_counter()
    answer = model.predict(part.X) if ask is None else ask(part.X)
    seconds = perf_counter() - start
    decided = column_or_1d(answer if ask is None else model.predict(part.X))
    accuracy = metrics.weighted_mean(np.asarray(decided) == classes[part.codes], part.weight)
    if ask is None:
        return Scores(accuracy=accuracy), seconds
    P = in_order(answer, model, classes)
    sample = (P, part.codes, part.weight)
    rows = _log_likelihoods(P, model, part, classes)
    return Scores(
        metrics.weighted_mean(rows, part.weight),
        accuracy,
        metrics.brier(*sample),
        metrics.ece(*sample),
        metrics.auc(*sample),
        metrics.ece_if_calibrated(*sample),
        rows,
    ), seconds


def _log_likelihoods(P: Float, model: Any, part: Part, classes: Array) -> Float:
    """ln p(t_n | x_n). Where the probability is zero to rounding, the model may still know its logarithm."""
    rows = metrics.log_likelihoods(P, part.codes)
    lost = np.flatnonzero(np.isneginf(rows))
    ask = getattr(model, "predict_log_proba", None)
    if len(lost) and ask is not None:
        with np.errstate(divide="ignore"):
            log_P = in_order(ask(take_rows(part.X, lost)), model, classes)
        found = log_P[np.arange(len(lost)), part.codes[lost]]
        rows[lost] = np.where(np.isnan(found), -np.inf, found)
    return rows


def in_order(P: Any, model: Any, classes: Array) -> Float:
    """Columns of the answer of a model in the order of the classes."""
    columns: Float = P if is_dask(P) else np.asarray(P, dtype=np.float64)
    own, wanted = np.asarray(getattr(model, "classes_", classes)).tolist(), classes.tolist()
    if own == wanted:
        return columns
    if set(own) != set(wanted):
        raise DataError(f"The model knows the classes {listed(own)}, but the labels are {listed(wanted)}.")
    return columns[:, [own.index(label) for label in wanted]]
