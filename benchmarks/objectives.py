# SPDX-License-Identifier: BSD-3-Clause
"""What each task tries to achieve, evaluated here and not by the library that is being measured.

least_squares      E(W)  = Σ_n |W x_n + w0 - t_n|², t_n in {0, 1}                           PRML (4.15)
fisher             J(W)  = tr{(W S_W W')⁻¹ W S_B W'}                                        PRML (4.26, 4.51)
perceptron_epoch   share of training rows on the wrong side
predict_linear     share of predictions that are not those of W x + w0
lda, qda, ...      log-loss -Σ_n ln p(t_n | x_n) / N on the training rows, of fits and of predicted probabilities
logistic, softmax  E(W)  = -Σ_n ln p(t_n | x_n) + ½ alpha |W|², alpha = 1, and its gradient           PRML (4.90, 4.108)
flat_..., probit   the same with alpha = 0
posterior, tuned   log-loss on rows that the fit has not seen

The *gap* is how far a library stays behind the best of the run: (E - E*)/E* for a sum or an error rate,
1 - J/J* for Fisher's criterion, E - E* for wrong predictions. A time without a gap is no result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.posterior import Gradient, LogPosterior, logit, probit, softmax
from benchmarks.problems import Data, row_blocks

__all__ = ["ALPHA", "OBJECTIVES", "SOFTMAX_TOL", "TOL", "Answer", "Objective"]

Float = NDArray[np.float64]

ALPHA = 1.0  # precision of the prior, where there is one
TOL = 1e-8  # of the gradient, per row: what every solver that has such a setting is asked for
SOFTMAX_TOL = 1e-6  # the same for K classes
FLOOR = 1e-12  # an objective below this share of a trivial answer's is rounding: the data are fitted exactly
CEILING = 1e12  # and so is a within-class scatter this many times smaller than the one between classes


@dataclass(frozen=True)
class Answer:
    """A linear rule a(x) = W x + w0, with one row for two classes and K rows for more.

    Least squares is in the units of targets 0 and 1. ``codes`` are predicted classes, where the task was to
    predict; ``passes`` is how often the rows were read, where the library says so.
    """

    W: Float
    w0: Float
    passes: int | None = None
    codes: NDArray[np.intp] | None = None
    log_proba: Float | None = None  # of each row and class, of a probabilistic model; then W and w0 are empty

    @classmethod
    def of_log_proba(cls, log_proba: Float, passes: int | None = None) -> Answer:
        """The answer of a model that is judged by its probabilities."""
        return cls(np.empty((0, 0)), np.empty(0), passes=passes, log_proba=log_proba)


@dataclass(frozen=True)
class Objective:
    """A number for each answer, and how far it is behind the best of several; its gradient, where it has one."""

    evaluate: Callable[[Data, Answer], float]
    gap: Callable[[float, Mapping[str, float]], float]
    gradient: Callable[[Data, Answer], Gradient] | None = None

    @classmethod
    def of_posterior(cls, posterior: LogPosterior) -> Objective:
        """Minus a log posterior."""
        return cls(
            lambda data, answer: posterior.value(data, answer.W, answer.w0),
            excess,
            lambda data, answer: posterior.gradient(data, answer.W, answer.w0),
        )


def residual_sum(data: Data, answer: Answer) -> float:
    """E(W); for two classes the one output stands for class 1."""
    total = 0.0
    for a, y in _activations(data, answer):
        T = np.eye(data.k)[y] if a.shape[1] > 1 else y[:, None]
        total += float(np.square(a - T).sum())
    return total


def fisher_criterion(data: Data, answer: Answer) -> float:
    """J(W), from the projected rows alone; 0 for W = 0."""
    if not answer.W.any():
        return 0.0
    contrast = answer.W[1:] - answer.W[0] if len(answer.W) > 1 else answer.W
    shift = contrast @ np.asarray(data.X.mean(axis=0, dtype=np.float64))  # takes out the offset of the table
    z = np.concatenate([a for a, _ in _activations(data, Answer(contrast, -shift))])
    indicator = np.eye(data.k)[data.y]
    count = indicator.sum(axis=0)
    mean = indicator.T @ z / count[:, None]
    within, between = z - mean[data.y], np.sqrt(count)[:, None] * (mean - z.mean(axis=0))
    S_W, S_B = within.T @ within, between.T @ between
    ratio = np.linalg.lstsq(S_W, S_B, rcond=None)[0].trace() if S_W.any() else np.inf
    return float(min(ratio, CEILING))


def error_rate(data: Data, answer: Answer) -> float:
    """Share of rows whose class is not the predicted one."""
    return float(np.mean(_codes(data, answer) != data.y))


def disagreement(data: Data, answer: Answer) -> float:
    """Share of predicted codes that differ from those of W x + w0."""
    return float(np.mean(_codes(data, answer) != answer.codes))


def log_loss(data: Data, answer: Answer) -> float:
    """Minus the mean log probability of the true classes."""
    assert answer.log_proba is not None, "this answer carries no probabilities"
    return float(-np.mean(answer.log_proba[np.arange(len(data.y)), data.y]))


def new_log_loss(data: Data, answer: Answer) -> float:
    """The same on new rows, to which the probabilities belong."""
    assert data.new is not None, "this problem has no rows to judge by"
    return log_loss(data.new, answer)


def excess(value: float, values: Mapping[str, float]) -> float:
    """(E - E*) / E*; where the best is zero but for rounding, E / E_worst."""
    best, worst = min(values.values()), max(values.values())
    scale = best if best > FLOOR * worst else worst
    return (value - best) / scale if scale > 0.0 else 0.0


def difference(value: float, values: Mapping[str, float]) -> float:
    """E - E*."""
    return value - min(values.values())


def shortfall(value: float, values: Mapping[str, float]) -> float:
    """1 - J / J*."""
    best = max(values.values())
    return 1.0 - value / best if best > 0.0 else 0.0


OBJECTIVES: Mapping[str, Objective] = {
    "least_squares": Objective(residual_sum, excess),
    "fisher": Objective(fisher_criterion, shortfall),
    "perceptron_epoch": Objective(error_rate, excess),
    "predict_linear": Objective(disagreement, difference),
    **dict.fromkeys(
        ("lda", "qda", "gaussian_nb", "bernoulli_nb", "qda_proba", "gaussian_nb_proba"), Objective(log_loss, excess)
    ),
    **dict.fromkeys(("logistic", "logistic_hessian"), Objective.of_posterior(LogPosterior(logit, ALPHA))),
    "softmax": Objective.of_posterior(LogPosterior(softmax, ALPHA)),
    **dict.fromkeys(("posterior", "tuned"), Objective(new_log_loss, excess)),
    "flat_logistic": Objective.of_posterior(LogPosterior(logit, 0.0)),
    "probit": Objective.of_posterior(LogPosterior(probit, 0.0)),
}


def _activations(data: Data, answer: Answer) -> Iterator[tuple[Float, NDArray[np.intp]]]:
    """W x + w0 in float64 whatever the table is stored in, block by block, with the classes of those rows."""
    for rows in row_blocks(len(data.y)):
        X = data.X[rows].astype(np.float64)
        yield np.asarray(X @ answer.W.T + answer.w0), data.y[rows]


def _codes(data: Data, answer: Answer) -> NDArray[np.intp]:
    parts = [
        a.argmax(axis=1) if a.shape[1] > 1 else (a[:, 0] > 0).astype(np.intp) for a, _ in _activations(data, answer)
    ]
    return np.concatenate(parts)
