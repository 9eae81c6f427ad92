# SPDX-License-Identifier: BSD-3-Clause
"""Fit models to the same training rows and score them on the same test rows."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import indexable
from sklearn.utils.validation import column_or_1d

from separatrix import metrics
from separatrix._arguments import generator
from separatrix._array import Array, Codes, Float, bincount
from separatrix._text import listed
from separatrix.comparison.models import in_order, name_models, read_evidence, weight_arguments
from separatrix.comparison.result import Comparison, Scores, Trial
from separatrix.exceptions import DataError
from separatrix.families import SupportError
from separatrix.reductions import take_rows
from separatrix.rows import RowStore, as_table, check_weight, encode_labels, is_dask, require_classes


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to fit or to score: features, class codes, and positions ``rows`` in the table.

    ``weight`` is None if all rows have weight 1.
    """

    X: Any
    codes: Codes
    rows: Codes
    weight: Float | None = None

    def take(self, at: Codes) -> Fold:
        weight = None if self.weight is None else self.weight[at]
        return Fold(take_rows(self.X, at), self.codes[at], self.rows[at], weight)


def compare(
    models: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    test_size: float = 0.25,
    sample_weight: Any = None,
    rng: Any = None,
    names: Any = None,
) -> Comparison:
    """Fit models to the same rows, score them on the same held-out rows, and compare their evidences.

    Scores come from `separatrix.metrics`, each with its standard error; differences in log-likelihood are paired row
    by row. Models that report the evidence p(D | M_i) of their training labels also get a posterior probability,
    p(M_i | D) ∝ p(M_i) p(D | M_i)  (PRML 3.66).

    Parameters
    ----------
    models : list of classifiers, or mapping {name: classifier}
        Models with ``fit`` and ``predict``, and with ``predict_proba`` for all scores except accuracy. Every model is
        cloned and fitted, even if it is already fitted; wrap a fitted model in ``sklearn.frozen.FrozenEstimator`` to
        keep it unchanged. If a model fails, its line of the table gives the reason.
    X : table of shape (N, D)
        Rows, in any form that the models accept.
    y : array-like of shape (N,)
        Labels.
    X_test, y_test : table and labels, optional
        Test rows. By default, the same fraction of each class is held out from X and y.
    test_size : float or int, default 0.25
        Fraction, or number, of rows to hold out.
    sample_weight : array-like of shape (N,), optional
        A weight of k counts as k copies of a row, in fits, scores and standard errors. Test rows have weight 1.
    rng : None, int or numpy Generator
        Seed of the split; None uses a fixed seed.
    names : sequence of str, optional
        Names of the models in a list; by default the names of their classes.

    Returns
    -------
    Comparison
        Models sorted by test log-likelihood, best first.

    Examples
    --------
    >>> from separatrix.comparison import compare
    >>> from separatrix import LinearDiscriminantAnalysis, LogisticRegression, Perceptron
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = compare([LogisticRegression(), LinearDiscriminantAnalysis(), Perceptron()], X, y)
    >>> comparison.best()
    'LinearDiscriminantAnalysis'
    >>> value, standard_error = comparison.differences()["LogisticRegression"]  # in nats per row
    >>> round(value, 2), round(standard_error, 2)
    (-0.11, 0.02)
    """
    from sklearn.model_selection import StratifiedShuffleSplit

    candidates = name_models(models, names)
    fold, classes = _opened(X, y, sample_weight)
    if X_test is None and y_test is None:  # the same fraction of each class is held out, at random
        single = classes[bincount(fold.codes, None, len(classes)) < 2]
        if len(single):
            raise DataError(
                f"Class {listed(single.tolist())} has only one row, which cannot be in both training and test rows. "
                "Remove it, or pass X_test and y_test."
            )
        seed = int(generator(rng).integers(2**32))
        splitter = StratifiedShuffleSplit(n_splits=1, test_size=test_size, random_state=seed)
        train, test = (fold.take(np.sort(at)) for at in next(splitter.split(fold.codes, fold.codes)))
        lost = classes[bincount(train.codes, None, len(classes)) == 0]
        if len(lost):
            raise DataError(
                f"test_size={test_size!r} leaves no training row of class {listed(lost.tolist())}. "
                "Lower it, or pass X_test and y_test."
            )
    elif X_test is None or y_test is None:
        given, missing = ("y_test", "X_test") if X_test is None else ("X_test", "y_test")
        raise ValueError(f"compare({given}=...) needs {missing} too; without both, rows are held out at random.")
    else:
        train, (test, found) = fold, _opened(X_test, y_test, None, least_classes=1)
        known = set(classes.tolist())
        unknown = [label for label in found.tolist() if label not in known]
        if unknown:
            raise DataError(
                f"y_test has the label {unknown[0]!r}, which is not in y ({listed(classes.tolist())}), so no model can "
                "predict it. Remove those rows, or add some of them to X and y."
            )
        test = Fold(test.X, np.searchsorted(classes, found)[test.codes], test.rows)
    trials = [run_trial(name, model, train, test, classes) for name, model in candidates.items()]
    ranked = tuple(sorted(trials, key=lambda trial: trial.rank))
    return Comparison(ranked, classes, train.rows, test.rows, test.weight)


def _opened(X: Any, y: Any, sample_weight: Any, *, least_classes: int = 2) -> tuple[Fold, Array]:
    """Rows with a positive weight, and their classes."""
    if isinstance(X, RowStore) or is_dask(X):
        remedy = "X.compute()" if is_dask(X) else "the files, for example pyarrow.parquet.read_table(path)"
        raise DataError(
            f"compare splits the rows into training and test rows, which needs them in memory, but X is a "
            f"{type(X).__name__}. Load {remedy}, or fit and score each model: model.fit(X).score(X_test)."
        )
    classes, codes = encode_labels(y)
    X, codes = indexable(as_table(X), codes)
    weight = check_weight(sample_weight, len(codes))
    fold = Fold(X, codes, np.arange(len(codes)), weight)
    if weight is not None and not weight.all():
        fold = fold.take(np.flatnonzero(weight))
        seen, codes = np.unique(fold.codes, return_inverse=True)
        fold, classes = Fold(fold.X, codes, fold.rows, fold.weight), classes[seen]
    require_classes(classes, least_classes)
    return fold, classes


def run_trial(name: str, model: Any, train: Fold, test: Fold, classes: Array, *, most_probable: bool = False) -> Trial:
    """Fit a model to the training rows and score it on both folds; an exception is recorded as a failed trial.

    ``most_probable`` declares that ``predict`` returns the most probable class, so that rows are predicted only once.
    """
    try:
        if is_regressor(model):
            raise TypeError(f"{type(model).__name__} is a regressor: it predicts numbers, not classes.")
        arguments = {} if train.weight is None else weight_arguments(model, train.weight)
        start = perf_counter()
        model.fit(train.X, classes[train.codes], **arguments)
        fit_seconds = perf_counter() - start
        # Training rows are predicted first, so that the measured time excludes compilation.
        train_scores, _, _ = _scored(model, train, classes, most_probable=most_probable)
        test_scores, P, predict_seconds = _scored(model, test, classes, most_probable=most_probable)
        evidence = read_evidence(model)
    except Exception as error:  # the comparison continues if a model raises
        return Trial.failed(name, error)
    return Trial(name, model, train_scores, test_scores, evidence, fit_seconds, predict_seconds, P=P)


def _scored(model: Any, fold: Fold, classes: Array, *, most_probable: bool) -> tuple[Scores, Float | None, float]:
    """Scores, probabilities (None without ``predict_proba``), and prediction time in seconds."""
    probabilities = getattr(model, "predict_proba", None)
    start = perf_counter()
    predicted = model.predict(fold.X) if probabilities is None else _probabilities(model, fold)
    seconds = perf_counter() - start
    if probabilities is not None and most_probable:
        decided = classes[in_order(predicted, model, classes).argmax(axis=1)]
    else:
        decided = column_or_1d(predicted if probabilities is None else model.predict(fold.X))
    accuracy = metrics.weighted_mean(np.asarray(decided) == classes[fold.codes], fold.weight)
    if probabilities is None:
        return Scores(accuracy=accuracy), None, seconds
    P = in_order(predicted, model, classes)
    return scores_of(P, _row_log_likelihoods(model, fold, P, classes), accuracy, fold), P, seconds


def predicted_rows(model: Any, fold: Fold, classes: Array) -> tuple[Float, Float]:
    """Probabilities (N, K) of the rows of a fold, and ln p of their true classes (N,)."""
    P = in_order(_probabilities(model, fold), model, classes)
    return P, _row_log_likelihoods(model, fold, P, classes)


def _probabilities(model: Any, fold: Fold) -> Any:
    try:
        return model.predict_proba(fold.X)
    except SupportError as error:  # name the row of the table, not of the fold
        raise error.in_row(int(fold.rows[error.row])) from None


def scores_of(P: Float, rows: Float, accuracy: metrics.Estimate, fold: Fold) -> Scores:
    """Scores of probabilities P; ``rows`` are the log-likelihoods of the rows."""
    sample = (P, fold.codes, fold.weight)
    return Scores(
        metrics.weighted_mean(rows, fold.weight),
        accuracy,
        metrics.brier(*sample),
        metrics.ece(*sample),
        metrics.auc(*sample),
        metrics.ece_if_calibrated(*sample),
        rows,
    )


def _row_log_likelihoods(model: Any, fold: Fold, P: Float, classes: Array) -> Float:
    """Log-likelihood ln p of each row; the probability may have underflowed while its logarithm is finite."""
    rows = metrics.log_likelihoods(P, fold.codes)
    lost = np.flatnonzero(np.isneginf(rows))
    logarithms = getattr(model, "predict_log_proba", None)
    if len(lost) and logarithms is not None:
        with np.errstate(divide="ignore"):
            found = in_order(logarithms(fold.X), model, classes)[lost, fold.codes[lost]]
        rows[lost] = np.where(np.isnan(found), -np.inf, found)
    return rows
