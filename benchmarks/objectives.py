# SPDX-License-Identifier: BSD-3-Clause
"""Objective of each task, computed here and not by the library that is measured.

gradient_pass      largest error of a component of ∂E/∂w, relative to the largest component; E of the task logistic
hessian_pass       the same for the second derivatives                                       PRML (4.97)
least_squares      E(W)  = Σ_n |W x_n + w0 - t_n|², t_n in {0, 1}                           PRML (4.15)
fisher             J(W)  = tr{(W S_W W')⁻¹ W S_B W'}                                        PRML (4.26, 4.51)
perceptron_epoch   fraction of misclassified training rows
predict_linear     fraction of predictions that differ from those of W x + w0
lda, qda, ...      log-loss -Σ_n ln p(t_n | x_n) / N on the training rows, of fits and of predicted probabilities
logistic, softmax  E(W)  = -Σ_n ln p(t_n | x_n) + ½ alpha |W|², alpha = 1, and its gradient           PRML (4.90, 4.108)
flat_..., probit   the same with alpha = 0
lasso              E(W)  = -Σ_n ln p(t_n | x_n) + alpha |W|₁, with a tenth of the alpha for which W = 0
posterior, tuned   log-loss on new rows, which were not used by the fit

The *gap* of a library is its distance from the best result of the run: (E - E*)/E* for a sum or an error rate,
1 - J/J* for Fisher's criterion, E - E* for wrong predictions, the error itself for passes. Times are only comparable at
similar gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.posterior import Gradient, LogPosterior, logistic_hessian, logit, probit, softmax
from benchmarks.problems import Data, row_blocks

__all__ = ["ALPHA", "OBJECTIVES", "SOFTMAX_TOL", "TOL", "Answer", "Objective", "lasso_alpha", "pass_point"]

Float = NDArray[np.float64]

ALPHA = 1.0  # precision of the prior, for tasks with a prior
TOL = 1e-8  # tolerance for the gradient per row, passed to every solver that has such an argument
SOFTMAX_TOL = 1e-6  # the same for K classes
LASSO_FRACTION = 0.1  # of the smallest alpha for which all weights are zero
FLOOR = 1e-12  # a best objective below this fraction of the worst is rounding error of an exact fit
CEILING = 1e12  # larger ratios of between-class to within-class scatter are rounding error of an exact fit


@dataclass(frozen=True)
class Answer:
    """A linear rule a(x) = W x + w0, with one row for two classes and K rows for more.

    Least squares is in the units of targets 0 and 1. ``codes`` are predicted classes, if the task is to predict;
    ``passes`` is the number of passes over the rows, if the library reports it.
    """

    W: Float
    w0: Float
    passes: int | None = None
    codes: NDArray[np.intp] | None = None
    log_proba: Float | None = None  # (N, K), for probabilistic models; then W and w0 are empty

    @classmethod
    def of_log_proba(cls, log_proba: Float, passes: int | None = None) -> Answer:
        """Answer of a model that is scored by its probabilities."""
        return cls(np.empty((0, 0)), np.empty(0), passes=passes, log_proba=log_proba)


@dataclass(frozen=True)
class Objective:
    """Value of an answer, its gap to the best of several answers and, if it is differentiable, its gradient."""

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
    """E(W); for two classes, the single output is that of class 1."""
    total = 0.0
    for a, y in _activations(data, answer):
        T = np.eye(data.k)[y] if a.shape[1] > 1 else y[:, None]
        total += float(np.square(a - T).sum())
    return total


def fisher_criterion(data: Data, answer: Answer) -> float:
    """J(W), computed from the projected rows; 0 for W = 0."""
    if not answer.W.any():
        return 0.0
    contrast = answer.W[1:] - answer.W[0] if len(answer.W) > 1 else answer.W
    shift = contrast @ np.asarray(data.X.mean(axis=0, dtype=np.float64))  # centres the projection
    z = np.concatenate([a for a, _ in _activations(data, Answer(contrast, -shift))])
    indicator = np.eye(data.k)[data.y]
    count = indicator.sum(axis=0)
    mean = indicator.T @ z / count[:, None]
    within, between = z - mean[data.y], np.sqrt(count)[:, None] * (mean - z.mean(axis=0))
    S_W, S_B = within.T @ within, between.T @ between
    ratio = np.linalg.lstsq(S_W, S_B, rcond=None)[0].trace() if S_W.any() else np.inf
    return float(min(ratio, CEILING))


def error_rate(data: Data, answer: Answer) -> float:
    """Fraction of misclassified rows."""
    return float(np.mean(_codes(data, answer) != data.y))


def disagreement(data: Data, answer: Answer) -> float:
    """Fraction of predicted codes that differ from those of W x + w0."""
    return float(np.mean(_codes(data, answer) != answer.codes))


def log_loss(data: Data, answer: Answer) -> float:
    """Minus the mean log probability of the true classes."""
    assert answer.log_proba is not None, "this answer has no probabilities"
    return float(-np.mean(answer.log_proba[np.arange(len(data.y)), data.y]))


def new_log_loss(data: Data, answer: Answer) -> float:
    """Log-loss on new rows; ``answer.log_proba`` refers to these rows."""
    assert data.new is not None, "this problem has no new rows"
    return log_loss(data.new, answer)


def lasso_alpha(data: Data) -> float:
    """Strength of the lasso: a tenth of max |∂E/∂W| at W = 0, where p is the proportion of class 1."""
    return LASSO_FRACTION * float(np.abs(data.X.T @ (data.y - data.y.mean())).max())


def lasso(data: Data, answer: Answer) -> float:
    """-Σ_n ln p(t_n | x_n) + alpha |W|₁."""
    return LogPosterior(logit, 0.0).value(data, answer.W, answer.w0) + lasso_alpha(data) * float(np.abs(answer.W).sum())


def pass_point(data: Data) -> tuple[Float, Float]:
    """Weights (1, M) and intercept (1,) at which one pass is measured: activations have about unit variance."""
    w = np.random.default_rng(0).standard_normal((1, data.X.shape[1]))
    return w / np.linalg.norm(w), np.array([0.1])


def gradient_error(data: Data, answer: Answer) -> float:
    """Largest error of (∂E/∂W, ∂E/∂w0), which the answer holds in place of weights."""
    exact = np.append(*LogPosterior(logit, ALPHA).derivatives(data, *pass_point(data)))
    return float(np.abs(np.append(answer.W, answer.w0) - exact).max() / np.abs(exact).max())


def hessian_error(data: Data, answer: Answer) -> float:
    """Largest error of the second derivatives in (W, w0), which the answer holds in place of weights."""
    exact = logistic_hessian(data, *pass_point(data), ALPHA)
    return float(np.abs(answer.W - exact).max() / np.abs(exact).max())


def itself(value: float, values: Mapping[str, float]) -> float:
    """The value, if it is an error already."""
    return value


def excess(value: float, values: Mapping[str, float]) -> float:
    """(E - E*) / E*; if the best is zero up to rounding, (E - E*) / E_worst."""
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
    "gradient_pass": Objective(gradient_error, itself),
    "hessian_pass": Objective(hessian_error, itself),
    "least_squares": Objective(residual_sum, excess),
    "fisher": Objective(fisher_criterion, shortfall),
    "perceptron_epoch": Objective(error_rate, excess),
    "predict_linear": Objective(disagreement, difference),
    **dict.fromkeys(
        ("lda", "lda_missing", "qda", "gaussian_nb", "bernoulli_nb", "qda_proba", "gaussian_nb_proba"),
        Objective(log_loss, excess),
    ),
    **dict.fromkeys(("logistic", "logistic_hessian"), Objective.of_posterior(LogPosterior(logit, ALPHA))),
    "softmax": Objective.of_posterior(LogPosterior(softmax, ALPHA)),
    **dict.fromkeys(("posterior", "tuned"), Objective(new_log_loss, excess)),
    "flat_logistic": Objective.of_posterior(LogPosterior(logit, 0.0)),
    "lasso": Objective(lasso, excess),
    "probit": Objective.of_posterior(LogPosterior(probit, 0.0)),
}


def _activations(data: Data, answer: Answer) -> Iterator[tuple[Float, NDArray[np.intp]]]:
    """Blocks of W x + w0, in float64 for tables of any type, with the classes of their rows."""
    for rows in row_blocks(len(data.y)):
        X = data.X[rows].astype(np.float64)
        yield np.asarray(X @ answer.W.T + answer.w0), data.y[rows]


def _codes(data: Data, answer: Answer) -> NDArray[np.intp]:
    parts = [
        a.argmax(axis=1) if a.shape[1] > 1 else (a[:, 0] > 0).astype(np.intp) for a, _ in _activations(data, answer)
    ]
    return np.concatenate(parts)
