# SPDX-License-Identifier: BSD-3-Clause
"""`Calibrated`: a classifier whose probabilities agree with frequencies, with prediction sets that keep their coverage.

**Fit.** The rows are split into folds. A clone of the classifier, fitted to the other folds, scores the rows of each
fold, so every row has scores from a model that has not seen it. Maps from scores to probabilities are fitted to them
(see `maps`), and their log-loss is measured with the same folds. The classifier is then fitted to all rows.

**Other class proportions.** If p(x | C_k) is the same in new rows but the proportions π_k are not, Bayes' theorem gives

    p_new(C_k | x) ∝ p(C_k | x) π_k^new / π_k                                                    PRML §1.5.4

and EM estimates π^new from the new rows, without their labels (Saerens, Latinne & Decaestecker 2002).

**Prediction sets.** A set contains class k if the score of the row is not among the lowest of the rows of class k: if
(1 + number of rows of class k with a score at most as high) / (1 + number of rows of class k) > 1 - level. A new row
and the rows of its class are exchangeable if none of them was used to fit the model, so its true class is in the set
with a probability of at least ``level``, for each class and any model (Vovk 2012). Sets therefore use the model and the
rows of the first fold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils._indexing import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_number, check_option
from separatrix._array import Array, Codes, Float
from separatrix.calibration.maps import choose, fit_map, shifted_proportions
from separatrix.estimator import unchanged_on_error
from separatrix.exceptions import DataError
from separatrix.generative import class_priors
from separatrix.meta import AbstractWrapper, fit_arguments
from separatrix.rows import check_weight, encode_labels

METHODS = ("none", "temperature", "platt", "beta", "dirichlet", "isotonic")
MIN_ROWS_PER_PARAMETER = 10  # "auto" tries a Dirichlet map only with this many rows per parameter


class Calibrated(AbstractWrapper):
    """Calibrate the probabilities of any classifier; predict sets of classes with guaranteed coverage.

    Parameters
    ----------
    estimator : classifier
        A classifier with ``predict_log_proba``, ``predict_proba`` or ``decision_function``.
    method : {"auto", "temperature", "platt", "beta", "dirichlet", "isotonic", "none"}, default "auto"
        Map from scores to probabilities. "auto" chooses by the log-loss of rows that the map has not seen, and prefers
        maps with fewer parameters unless the gain exceeds one standard error.
    cv : int, cross-validation splitter or iterable, default 5
        How rows are split into folds.
    prior_shift : "em", mapping or sequence, optional
        Class proportions of the rows to predict, if they differ from the training rows: a mapping or sequence of
        proportions, or "em" to estimate them from the rows of each call.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimator_ : classifier, fitted to all rows
    method_ : str, the chosen map
    losses_ : dict, log-loss and its standard error for each map that was tried
    proportions_ : ndarray of shape (K,), class proportions of the training rows

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import separatrix as sx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = sx.Calibrated(GaussianNB()).fit(X[::2], y[::2])
    >>> loss = [sx.metrics.log_loss(y[1::2], m.predict_proba(X[1::2])) for m in (model.estimator_, model)]
    >>> sets = model.predict_set(X[1::2], level=0.95)
    """

    def __init__(self, estimator: Any, method: str = "auto", *, cv: Any = 5, prior_shift: Any = None) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.prior_shift = prior_shift

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Calibrated:
        """Fit the classifier to all rows, and a map to the scores of rows that it has not seen."""
        check_option("Calibrated", "method", self.method, ("auto", *METHODS))
        X, y = indexable(X, y)
        with unchanged_on_error(self):
            arguments = fit_arguments(self, sample_weight)
            self.classes_, codes = encode_labels(y)
            weight = None if sample_weight is None else check_weight(sample_weight, len(codes))
            K = len(self.classes_)
            S, folds = np.empty((len(codes), K)), np.full(len(codes), -1)
            for fold, (train, test) in enumerate(check_cv(self.cv, y, classifier=True).split(X, y)):
                taken = {name: _safe_indexing(value, train) for name, value in arguments.items()}
                model = clone(self.estimator).fit(_safe_indexing(X, train), _safe_indexing(y, train), **taken)
                if len(model.classes_) != K:
                    missing = next(label for label in self.classes_.tolist() if label not in model.classes_)
                    raise DataError(
                        f"No row of class {missing!r} is left to fit without fold {fold + 1}: use fewer folds."
                    )
                S[test], folds[test] = scores(model, _safe_indexing(X, test)), fold
                if fold == 0:
                    self._set_model, self._set_scores = model, own_scores(S[test], codes[test])
            seen = folds >= 0
            if weight is not None:
                weight = weight[seen]
            S, codes, folds = S[seen], codes[seen], folds[seen]
            self.method_, self.losses_ = choose(self._methods(len(S), K), S, codes, weight, folds)
            self._map = fit_map(self.method_, S, codes, weight)
            count = np.bincount(codes, weight, K)
            self.proportions_ = count / count.sum()
            self.estimator_ = clone(self.estimator).fit(X, y, **arguments)
        return self

    def _methods(self, n_rows: int, K: int) -> tuple[str, ...]:
        if self.method != "auto":
            return (self.method,)
        is_large = n_rows >= MIN_ROWS_PER_PARAMETER * K * (K + 1)
        return tuple(method for method in METHODS if is_large or method != "dirichlet")

    def predict_log_proba(self, X: Any) -> Float:
        """ln p(C_k | x), (N, K)."""
        log_p = self._map_of_fit().log_proba(scores(self.estimator_, X))
        if self.prior_shift is None:
            return np.asarray(log_p)
        with np.errstate(divide="ignore"):
            log_p = log_p + np.log(self._new_proportions(np.exp(log_p)) / self.proportions_)
        return np.asarray(log_p - np.logaddexp.reduce(log_p, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Float:
        """p(C_k | x), (N, K)."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        return np.asarray(self.classes_[self.predict_log_proba(X).argmax(axis=1)])

    def predict_set(self, X: Any, level: float = 0.9) -> Array:
        """Whether each class belongs to the prediction set of each row, (N, K).

        The true class of a new row is in its set with a probability of at least ``level``, whatever its class is, if
        new rows of a class are like the training rows of that class. A set may be empty, or contain several classes.
        """
        check_number("Calibrated.predict_set", "level", level, low=0.0, high=1.0)
        self._map_of_fit()
        S = scores(self._set_model, X)
        ranks = [np.searchsorted(known, s, side="right") for known, s in zip(self._set_scores, S.T, strict=True)]
        sizes = np.array([len(known) for known in self._set_scores])
        return np.asarray((1 + np.column_stack(ranks)) > (1 - level) * (1 + sizes))

    def class_proportions(self, X: Any) -> Float:
        """Class proportions of new rows, estimated by EM from their probabilities, (K,)."""
        P = np.exp(self._map_of_fit().log_proba(scores(self.estimator_, X)))
        return shifted_proportions(P, self.proportions_)

    def _new_proportions(self, P: Float) -> Float:
        if isinstance(self.prior_shift, str):
            check_option("Calibrated", "prior_shift", self.prior_shift, ("em",))
            return shifted_proportions(P, self.proportions_)
        return class_priors(self.prior_shift, self.classes_, self.proportions_)

    def _map_of_fit(self) -> Any:
        check_is_fitted(self)
        return self._map

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_


def scores(model: Any, X: Any) -> Float:
    """Scores (N, K) of a classifier: ln p(C_k | x), or its decision function."""
    for name in ("predict_log_proba", "predict_proba", "decision_function"):
        if getattr(model, name, None) is None:
            continue
        with np.errstate(divide="ignore"):
            found = np.asarray(getattr(model, name)(X), dtype=np.float64)
            if name == "predict_proba":
                found = np.log(found)
        return np.column_stack([np.zeros(len(found)), found]) if found.ndim == 1 else found
    raise TypeError(
        f"Calibrated needs scores, but {type(model).__name__} has no predict_proba and no decision_function."
    )


def own_scores(S: Float, codes: Codes) -> tuple[Float, ...]:
    """Sorted scores of each class k for the rows of class k."""
    return tuple(np.sort(S[codes == k, k]) for k in range(S.shape[1]))
