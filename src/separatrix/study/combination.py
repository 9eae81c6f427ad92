# SPDX-License-Identifier: BSD-3-Clause
"""The combination of candidates: a weighted mean of their probabilities.

    p(C_k | x) = Σ_i w_i p(C_k | x, M_i),    w = argmax  mean of ln p(t_n | x_n)  over the scored rows

These weights are called stacking (Yao, Vehtari, Simpson & Gelman 2018). A part with a small weight matters too: 2 % of
the class proportions limit the loss of a row that a quadratic discriminant calls impossible.

**Its score.** The weights of a row are computed without the row: the scored rows are divided at random, and each part
is scored with the models and weights that the other parts choose. If the rows were cross-validated several times, ln p
of a row is a mean over repeats, and the mixture of these means is at most the mean of the mixtures, because ln Σ exp is
convex. The score is then slightly too low, never too high.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from separatrix import metrics
from separatrix._array import Codes, Float
from separatrix._text import enumerated
from separatrix.comparison import Comparison, Fold, ModelAverage, Scores, Trial, scores_of, stacking_weights
from separatrix.study.candidates import COMBINED
from separatrix.table_model import TableClassifier

MAX_PARTS = 3  # models of a combination, so that it can still be explained
MIN_PART_WEIGHT = 0.01  # a smaller weight changes the log-likelihood of most rows by less than 0.01
N_WEIGHT_FOLDS = 10  # parts of the scored rows; the weights of each come from the other parts


class Combination(NamedTuple):
    """A combination of fitted models with its scores, and the same combination unfitted."""

    trial: Trial
    model: TableClassifier

    @property
    def weights(self) -> dict[str, float]:
        """Weights of the models by name, the largest first."""
        found: dict[str, float] = self.trial.model.weights_
        return found


def combine(
    comparison: Comparison,
    models: Mapping[str, TableClassifier],
    codes: Codes,
    rng: np.random.Generator,
    train_weight: Float | None = None,
) -> Combination | None:
    """The combination of the scored candidates; None if a single model predicts best.

    ``models`` are the unfitted candidates, ``codes`` the classes of the scored rows, and ``train_weight`` the weights
    of the training rows.
    """
    trials = [trial for trial in comparison if not trial.failure and trial.P is not None]
    if len(trials) < 2:
        return None
    L = np.column_stack([np.asarray(trial.test.rows) for trial in trials])
    weight = comparison.test_weight
    w = part_weights(L, weight)
    parts = [trials[at] for at in np.argsort(-w, kind="stable")[: np.count_nonzero(w)]]
    if len(parts) < 2:
        return None
    weights = {trial.name: float(w[trials.index(trial)]) for trial in parts}
    folds = rng.permutation(len(L)) % N_WEIGHT_FOLDS
    rows, P = np.empty(len(L)), np.empty_like(np.asarray(trials[0].P))
    for fold in np.unique(folds):
        at = np.flatnonzero(folds == fold)
        others = folds != fold
        w = part_weights(L[others], None if weight is None else weight[others])
        rows[at] = mixture(L[at], w)
        P[at] = sum(share * np.asarray(trial.P)[at] for share, trial in zip(w, trials, strict=True) if share)
    unfitted, scored = {name: models[name] for name in weights}, Fold(None, codes, np.arange(len(codes)), weight)
    return Combination(
        Trial(
            COMBINED,
            ModelAverage(unfitted, weights=weights).adopt({trial.name: trial.model for trial in parts}, weights),
            train=_training_scores(parts, weights, train_weight),
            test=scores_of(P, rows, metrics.accuracy(P, codes, weight), scored),
            fit_seconds=sum(trial.fit_seconds for trial in parts),
            predict_seconds=sum(trial.predict_seconds for trial in parts),
            P=P,
        ),
        TableClassifier(ModelAverage(unfitted, weights=weights), models[parts[0].name].types),
    )


def in_words(weights: Mapping[str, float]) -> str:
    """The models of an average and their weights, such as "73 % naive Bayes and 27 % prior only"."""
    return enumerated([f"{100 * weight:.2g} % {name}" for name, weight in weights.items()])


def part_weights(L: Float, weight: Float | None = None) -> Float:
    """Stacking weights of at most `MAX_PARTS` models, from log-likelihoods L (N, K); those of the others are zero."""
    w = stacking_weights(L, weight)
    kept = np.argsort(-w, kind="stable")[:MAX_PARTS]
    while True:
        kept = kept[w[kept] >= MIN_PART_WEIGHT]
        found = np.zeros_like(w)
        found[kept] = stacking_weights(L[:, kept], weight)
        if (found[kept] >= MIN_PART_WEIGHT).all():
            return found
        w = found


def mixture(L: Float, w: Float) -> Float:
    """Log-likelihood ln Σ_k w_k p_nk of each row, (N,)."""
    used = w > 0
    return np.asarray(logsumexp(L[:, used] + np.log(w[used]), axis=1))


def _training_scores(parts: list[Trial], weights: Mapping[str, float], weight: Float | None) -> Scores:
    """Log-likelihood of the training rows; unknown if some models were fitted to fewer rows than others."""
    rows: list[Any] = [trial.train.rows for trial in parts]
    if any(each is None for each in rows):
        return Scores()
    fewest = min(map(len, rows))
    if max(map(len, rows)) > fewest or (weight is not None and len(weight) > fewest):
        return Scores(rows=np.full(fewest, np.nan))
    both = mixture(np.column_stack(rows), np.array([weights[trial.name] for trial in parts]))
    return Scores(log_likelihood=metrics.weighted_mean(both, weight), rows=both)
