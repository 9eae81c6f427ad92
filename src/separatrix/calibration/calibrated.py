# SPDX-License-Identifier: BSD-3-Clause
"""`Calibrated`: a classifier whose probabilities agree with frequencies, with prediction sets that keep their coverage.

**Fit.** The rows are split into folds. A clone of the classifier, fitted to the other folds, scores the rows of each
fold, so every row has scores from a model that has not seen it. Maps from scores to probabilities are fitted to these
scores (see `maps`), and the log-loss of each map is measured on the same folds. The classifier is then fitted to all
rows.

**Prediction sets** need the scores of rows that their model has not seen, and the same model for these rows and for new
rows (see `sets`). They use the model that was fitted without the first fold, and the rows of that fold. Sets from the
rows of all folds (cross-conformal prediction, CV+) only guarantee a coverage of about 2 level - 1.

**A fitted classifier**, `sklearn.frozen.FrozenEstimator(model)`, has not seen the rows given to `fit`. It scores all of
them, and sets use all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import DEFAULT_SEED, check_count, check_jobs, check_number, check_option
from separatrix._array import Array, Codes, Float, Rows
from separatrix._text import counted, listed
from separatrix.calibration import maps
from separatrix.calibration.sets import fit_ranks
from separatrix.estimator import unchanged_on_error
from separatrix.exceptions import DataError, warn
from separatrix.explanation import Explained
from separatrix.generative import class_priors
from separatrix.meta import AbstractWrapper, fit_arguments, require_fit, take_rows
from separatrix.metrics import Estimate
from separatrix.rows import (
    RowStore,
    as_table,
    check_weight,
    encode_labels,
    require_classes,
    require_weight,
    targets_in_memory,
    without_targets,
)

FOLDS = "pass the number of folds, a splitter, or a list of pairs (rows to fit, rows to score)."
DEFAULT_FOLDS = 5
SCORES = ("predict_log_proba", "predict_proba", "decision_function")  # in order of preference


class Calibrated(AbstractWrapper):
    """Calibrate the probabilities of any classifier; predict sets of classes with guaranteed coverage.

    Parameters
    ----------
    estimator : classifier
        A classifier with ``predict_log_proba``, ``predict_proba`` or ``decision_function``. To calibrate a fitted model
        on rows that it has not seen, pass ``sklearn.frozen.FrozenEstimator(model)``.
    method : {"auto", "temperature", "platt", "beta", "dirichlet", "isotonic", "none"}, default "auto"
        Map from scores to probabilities. "auto" chooses by the log-loss of rows that the map has not seen, and prefers
        maps with fewer parameters unless the gain exceeds one standard error. It keeps the probabilities of the
        classifier ("none") unless a map is better by two standard errors, or one of them is zero.
    cv : int, cross-validation splitter or iterable of splits, default 5
        How rows are split into folds. With a number, rows are shuffled (with a fixed seed) and each fold has the same
        class proportions.
    prior_shift : "em", mapping or sequence, optional
        Class proportions of the rows to predict, if they differ from the training rows: a mapping or sequence of
        proportions, or "em" to estimate them from the rows of each call, which should be hundreds.
    n_jobs : int, optional
        Number of folds to fit at the same time, as in joblib.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Sorted labels.
    estimator_ : classifier
        Fitted to all rows.
    method_ : str
        The chosen map.
    map_ : Map
        The fitted map from scores to log probabilities.
    losses_ : dict
        Log-loss and its standard error for each map that "auto" tried.
    proportions_ : ndarray of shape (K,)
        Class proportions of the training rows.
    n_features_in_, feature_names_in_ : int and ndarray of shape (D,)
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import separatrix as sx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = sx.Calibrated(GaussianNB()).fit(X[::2], y[::2])
    >>> for each in (model.estimator_, model):
    ...     print(round(-sx.metrics.log_likelihood(each.predict_proba(X[1::2]), y[1::2]).value, 2))
    0.62
    0.16
    >>> sets = model.predict_set(X[1::2], level=0.95)
    """

    losses_: dict[str, Estimate]
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED, "groups": UNUSED}

    def __init__(
        self,
        estimator: Any,
        method: str = "auto",
        *,
        cv: Any = DEFAULT_FOLDS,
        prior_shift: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.prior_shift = prior_shift
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Calibrated:
        """Fit the classifier to all rows, and a map to the scores of rows that it has not seen.

        X is any table that the wrapped classifier accepts and that can be split into folds. ``sample_weight`` is
        allowed if the wrapped classifier accepts weights. ``groups`` is passed on to ``cv``.
        """
        self._check_arguments()
        y, sample_weight = targets_in_memory(X, y, sample_weight)
        classes, codes = encode_labels(y)
        weight = check_weight(sample_weight, len(codes))
        is_frozen = clone(self.estimator) is self.estimator
        if not isinstance(X, RowStore):
            X, codes = indexable(as_table(X), codes)
        elif not is_frozen:
            raise DataError(
                "Calibrated splits rows into folds, but a scan cannot select rows by number. Fit the model to one scan "
                "and calibrate it on another: sx.Calibrated(sklearn.frozen.FrozenEstimator(model)).fit(other)."
            )
        with unchanged_on_error(self):
            if is_frozen:
                check_is_fitted(self.estimator)
                X = without_targets(X)
                self.classes_, codes = np.asarray(self.estimator.classes_), known_codes(self.estimator, classes, codes)
            else:
                require_classes(classes)
                self.classes_ = classes
            require_weight(weight)
            w = np.ones(len(codes)) if weight is None else weight
            K = len(self.classes_)
            count = np.bincount(codes, w, K)
            self.proportions_ = count / count.sum()
            if self.prior_shift is not None:
                self._shifted(np.log(np.full((1, K), 1 / K)))  # raises before the folds are fitted

            rows = codes if isinstance(X, RowStore) else X
            splits = []
            if self.method == "auto" or not is_frozen:
                splits = [self._numbers(split, len(codes)) for split in self._splits(rows, codes, groups)]
            folds = np.zeros(len(codes), dtype=np.intp)
            for fold, (_, test) in enumerate(splits, start=1):
                folds[test] = fold
            if is_frozen:
                self.estimator_ = self._set_model = self.estimator
                S = unseen = scores(self.estimator, X, K)
                first = np.arange(len(codes))
            else:
                labels, arguments = classes[codes], fit_arguments(self, None if sample_weight is None else w)
                fits = Parallel(n_jobs=check_jobs("Calibrated", self.n_jobs))(
                    delayed(fit_fold)(clone(self.estimator), X, labels, arguments, split, K) for split in splits
                )
                self.estimator_ = clone(self.estimator).fit(X, labels, **arguments)
                (self._set_model, unseen), first = fits[0], splits[0][1]
                S = np.full((len(codes), K), np.nan)  # NaN for rows that are in no fold
                for (_, test), (_, found) in zip(splits, fits, strict=True):
                    S[test] = found

            self._unit = score_unit(self.estimator_, S, w)
            self._ranks = fit_ranks(set_scores(self._set_model, unseen), codes[first], w[first])
            seen = ~np.isnan(S[:, 0])
            S, codes, w, folds = S[seen] / self._unit, codes[seen], w[seen], folds[seen]
            self.method_, self.losses_ = self.method, {}
            if self.method == "auto":
                self.method_, self.losses_ = maps.choose(self._methods(S), S, codes, w, folds)
            self.map_ = maps.fit_map(self.method_, S, codes, w)
        return self

    def _splits(self, rows: Any, codes: Codes, groups: Any) -> Iterable[Any]:
        """Pairs from the given splitter, or folds of shuffled rows: a sorted table starts with rows unlike the rest."""
        if self.cv is not None and not isinstance(self.cv, Integral):
            if callable(getattr(self.cv, "split", None)):
                return self.cv.split(rows, codes, groups)  # type: ignore[no-any-return]
            if not isinstance(self.cv, Iterable):
                raise ValueError(f"Calibrated(cv={self.cv!r}): {FOLDS}")
            pairs = list(self.cv) if getattr(self.cv, "ndim", 1) else []
            if not pairs or not all(isinstance(pair, Sequence | np.ndarray) and len(pair) == 2 for pair in pairs):
                raise ValueError(f"Calibrated(cv={self.cv!r}): {FOLDS}")
            return pairs
        n_folds = DEFAULT_FOLDS if self.cv is None else check_count("Calibrated", "cv", self.cv, least=2)
        code, count = np.unique(codes, return_counts=True)
        if count.max() < n_folds:
            raise DataError(
                f"Calibrated(cv={n_folds}) needs at least as many rows of some class as folds, but the largest class "
                f"has {counted(count.max(), 'row')}. Use fewer folds, or more rows."
            )
        if count.min() < n_folds:
            rarest = self.classes_.tolist()[code[count.argmin()]]
            warn(
                f"Calibrated(cv={n_folds}): class {rarest!r} has only {counted(count.min(), 'row')}, so some folds "
                "have none of it. Use fewer folds, or more rows."
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # as above
            return list(StratifiedKFold(n_folds, shuffle=True, random_state=DEFAULT_SEED).split(codes, codes, groups))

    def _numbers(self, pair: Any, N: int) -> tuple[Codes, Codes]:
        """Numbers of the rows to fit and of the rows to score, which a splitter gives as numbers or as a mask."""
        try:
            train, test = (np.arange(N)[list(part) if isinstance(part, tuple) else part] for part in pair)
        except (IndexError, TypeError, ValueError):
            raise ValueError(f"Calibrated(cv={self.cv!r}): {FOLDS} The table has {N} rows.") from None
        return np.atleast_1d(train), np.atleast_1d(test)

    def _check_arguments(self) -> None:
        name = "Calibrated"
        check_jobs(name, self.n_jobs)
        require_fit(name, self.estimator)
        check_option(
            name, "method", self.method, ("auto", *maps.METHODS), otherwise=". scikit-learn's 'sigmoid' is 'platt'"
        )
        if isinstance(self.cv, str | bytes):
            raise ValueError(
                f"{name}(cv={self.cv!r}): give the number of folds or a splitter. To calibrate a fitted model, use "
                "Calibrated(sklearn.frozen.FrozenEstimator(model))."
            )

    def _methods(self, S: Float) -> tuple[str, ...]:
        """Maps for "auto" to try."""
        N, K = S.shape
        excluded = {"dirichlet"} if N < maps.MIN_ROWS_PER_PARAMETER * K * (K + 1) else set()
        if score_name(self.estimator_) == "decision_function" or np.isneginf(S).any():
            excluded.add("none")  # decision values are no log-odds, and a probability of zero risks an infinite loss
        return tuple(method for method in maps.METHODS if method not in excluded)

    def predict_log_proba(self, X: Any) -> Float:
        """ln p(C_k | x), (N, K)."""
        log_q = self._log_q(X)
        return log_q if self.prior_shift is None else self._shifted(log_q)

    def predict_proba(self, X: Any) -> Float:
        """p(C_k | x), (N, K)."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        codes = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_set(self, X: Any, level: float = 0.9) -> Array:
        """Whether each class belongs to the prediction set of each row, (N, K).

        The true class of a new row is in its set with a probability of at least ``level``, whatever its class is, if
        new rows of a class are like the training rows of that class; other class proportions do not matter. A set may
        be empty, or contain several classes. A class with fewer than 1/(1 - level) - 1 rows in the first fold belongs
        to every set.
        """
        level = check_number("Calibrated.predict_set", "level", level, low=0.0, high=1.0)
        check_is_fitted(self)
        A = set_scores(self._set_model, scores(self._set_model, X, len(self.classes_)))
        return np.column_stack([ranks.contain(a, level) for ranks, a in zip(self._ranks, A.T, strict=True)])

    def class_proportions(self, X: Any) -> Float:
        """Class proportions of new rows, estimated by EM from their probabilities, (K,)."""
        return maps.estimate_proportions(np.exp(self._log_q(X)), self._old_proportions())

    def get_metadata_routing(self) -> MetadataRouter:
        """Route weights to the wrapped ``fit``, and groups to ``cv``."""
        to_split = MethodMapping().add(caller="fit", callee="split")
        return super().get_metadata_routing().add(splitter=self.cv, method_mapping=to_split)

    def _log_q(self, X: Any) -> Float:
        """Calibrated ln p(C_k | x) for the class proportions of the training rows."""
        check_is_fitted(self)
        S = scores(self.estimator_, X, len(self.classes_))
        with np.errstate(over="ignore"):  # maps limit infinite scores
            S = S / self._unit
        return np.asarray(self.map_.log_proba(S))

    def _shifted(self, log_q: Float) -> Float:
        old = self._old_proportions()
        if isinstance(self.prior_shift, str):
            check_option("Calibrated", "prior_shift", self.prior_shift, ("em",), otherwise=" or the proportions")
            return maps.shifted_log_proba(log_q, old, maps.estimate_proportions(np.exp(log_q), old))
        return maps.shifted_log_proba(
            log_q, old, class_priors(self.prior_shift, self.classes_, old, name="prior_shift")
        )

    def _old_proportions(self) -> Float:
        if not self.proportions_.all():
            missing = self.classes_[self.proportions_ == 0].tolist()
            raise DataError(
                f"Calibrated was fitted without rows of class {missing[0]!r}, so its probability cannot be corrected "
                "for other class proportions. Fit with rows of every class, or without prior_shift."
            )
        return np.asarray(self.proportions_)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    def _explained(self, rows: Any, reference: Any) -> Explained:
        """Description for `explain`: that of the classifier, whose probabilities are calibrated after the sum."""
        found = super()._explained(rows, reference)
        if isinstance(self.prior_shift, str):
            raise TypeError(
                "Calibrated(prior_shift='em') cannot be explained: the probability of a row depends on the other rows "
                "of the call. Pass the class proportions, such as those of class_proportions(X)."
            )

        def calibrated(P: Float) -> Float:
            with np.errstate(divide="ignore"):
                log_q = self.map_.log_proba(np.log(P) / self._unit)
            return np.asarray(np.exp(log_q if self.prior_shift is None else self._shifted(log_q)))

        def intervals(X: Rows, level: float) -> Float:  # of two classes; the map is monotone
            bounds = found.intervals(X, level) if found.intervals is not None else np.empty(0)
            return np.stack([calibrated(np.column_stack([1.0 - p, p]))[:, 1] for p in bounds.T], axis=1)

        has_intervals = found.intervals is not None and len(self.classes_) == 2
        return replace(
            found,
            probabilities=lambda X: calibrated(found.probabilities(X)),
            intervals=intervals if has_intervals else None,
            adjustment="(calibration)",
            is_adjusted=True,
            notes=(*found.notes, "Contributions and their intervals are those of the classifier before calibration."),
        )


def fit_fold(
    model: Any, X: Any, labels: Array, arguments: dict[str, Any], split: tuple[Codes, Codes], K: int
) -> tuple[Any, Float]:
    """Fit a model to the training rows of a split; return it with the scores of the other rows."""
    train, test = split
    if len(missing := np.setdiff1d(labels, labels[train])):
        raise DataError(
            f"Every row of class {missing.tolist()[0]!r} is in the same fold, so a model fitted to the other folds "
            "lacks this class. Split the rows of each class over several folds, or drop the class."
        )
    taken = {name: take_rows(value, train) for name, value in arguments.items()}
    model.fit(take_rows(X, train), labels[train], **taken)
    return model, scores(model, take_rows(X, test), K)


def score_name(model: Any) -> str:
    """The method of a classifier that returns its scores."""
    for name in SCORES:
        if getattr(model, name, None) is not None:
            return name
    raise TypeError(
        f"Calibrated needs scores, but {type(model).__name__} has neither predict_proba nor decision_function."
    )


def score_unit(model: Any, S: Float, weight: Float) -> float:
    """The mean spread of decision values, which may have any unit; 1 for log probabilities, whose unit is the nat."""
    if score_name(model) != "decision_function":
        return 1.0
    spread = np.abs(S - S.mean(axis=1, keepdims=True)).mean(axis=1)
    return float(np.average(spread[seen := ~np.isnan(spread)], weights=weight[seen])) or 1.0


def set_scores(model: Any, S: Float) -> Float:
    """Scores (N, K) that rank rows in prediction sets: log-odds, or decision values minus the largest of the others.

    Each row's score depends on this row alone; a unit computed from other rows would break the guarantee.
    """
    if score_name(model) != "decision_function":
        return maps.log_odds(maps.log_p(S))
    second, first = np.partition(S, -2, axis=1)[:, -2:].T
    with np.errstate(over="ignore"):  # infinity has a rank
        return np.asarray(S - np.where(first[:, None] == S, second[:, None], first[:, None]))


def scores(model: Any, X: Any, K: int) -> Float:
    """Scores (N, K) of a classifier: ln p(C_k | x), or its decision function."""
    name = score_name(model)
    with np.errstate(divide="ignore"):
        S = np.asarray(getattr(model, name)(X), dtype=np.float64)
        S = np.log(S) if name == "predict_proba" else S
    if S.ndim == 1:
        S = np.column_stack([np.zeros(len(S)), S])
    what = f"{type(model).__name__}.{name}"
    if S.shape[1] != K:
        raise DataError(
            f"{what} has {counted(S.shape[1], 'column')}, but there are {K} classes. Calibrated needs one score for "
            "each class, "
            "such as those of SVC(decision_function_shape='ovr')."
        )
    bad = np.isnan(S).any(axis=1) | np.isneginf(S).all(axis=1)
    if bad.any():
        raise DataError(f"{what} is {S[bad.argmax()].tolist()} for row {bad.argmax() + 1} (counted from 1).")
    return S


def known_codes(model: Any, classes: Array, codes: Codes) -> Codes:
    """Positions of the labels among the classes of a fitted model."""
    known = np.asarray(model.classes_).tolist()
    new = [label for label in classes.tolist() if label not in known]
    if new:
        raise DataError(
            f"y has the label {new[0]!r}, but the fitted model has the classes {listed(known)}. Drop those rows."
        )
    return np.asarray([known.index(label) for label in classes.tolist()])[codes]
