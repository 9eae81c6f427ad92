# SPDX-License-Identifier: BSD-3-Clause
"""Base class of the generative classifiers: p(C_k | x) ∝ p(x | C_k) p(C_k).                    PRML §4.2

A model stores the sufficient statistics of each class, which are sums over its rows (``facts_``). Parameters are
computed from them, so `partial_fit`, `merge` and `add_class` only add statistics. Statistics have ``count`` (the weight
N_k of each class), ``+``, and ``on_classes(position, K)``, which returns the same statistics for K classes, with class
k at ``position[k]``. A subclass defines how statistics are collected (`_collect`), how parameters are computed from
them (`_estimate`), ln p(x | C_k) (`_log_likelihood`) and sampling (`_draw`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import joblib
import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count, check_flags, check_numbers, generator
from separatrix._array import Array, Float, Rows, bincount
from separatrix._text import counted
from separatrix.estimator import Classifier, Limit, unchanged_on_error
from separatrix.exceptions import CollinearError, CollinearWarning, DataError, NoEstimateError, warn
from separatrix.explanation import Scores
from separatrix.likelihoods import Softmax
from separatrix.rows import Source, class_factors, given_classes, is_class, is_single, label_kind, labels_of, open_rows
from separatrix.solvers import Solution

NO_INTERVALS = (
    "Contributions have no intervals: the model estimates the distribution of the rows within each class, not that of "
    "its weights."
)


class GenerativeClassifier(Classifier):
    """A classifier that models p(x | C_k). It can sample rows, compute densities and add classes one at a time."""

    priors: Any = None
    unlabelled: Any = "error"
    _not_yet: DataError | None = None  # error that prediction raises if there are too few rows for an estimate
    _collinear: str = ""  # warning that a fit issues, or the first prediction after `partial_fit`

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _explanation_scores(self) -> tuple[Scores, tuple[str, ...]]:
        raise TypeError(
            f"{type(self).__name__} cannot be explained: its log-odds contain products of columns, so they are no sum "
            "over columns. Use LinearDiscriminantAnalysis, NaiveBayes or LogisticRegression."
        )

    @abstractmethod
    def _collect(self, source: Source, *, whole: bool = True) -> Solution[Any]:
        """Collect the statistics of the rows in one pass, or by EM if ``whole`` says that these are all rows."""

    @abstractmethod
    def _estimate(self, facts: Any) -> None:
        """Compute the parameters from the statistics, and store them."""

    @abstractmethod
    def _log_likelihood(self, X: Rows) -> Float:
        """ln p(x | C_k), (n, K); NaN entries are marginalised."""

    @abstractmethod
    def _scores(self, X: Rows) -> Float:
        """ln p(x, C_k) up to a term that is the same for all classes, (n, K)."""

    @abstractmethod
    def _draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        """Draw ``size`` rows from p(x | C_k)."""

    def _check_arguments(self) -> None:
        """Raise if a constructor argument is invalid."""
        check_flags(self)

    def _require_mergeable(self) -> None:
        """Raise if the model cannot be fitted by adding statistics."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate p(x | C_k) and p(C_k).

        NaN in X is a missing value. The argument ``unlabelled`` of the model defines how rows without a label are
        marked in y. A weight of 2 is equivalent to repeating the row.
        """
        self._check_arguments()
        with unchanged_on_error(self):
            source = self._open_training(X, y, sample_weight, unlabelled=self.unlabelled)
            if self.prior_correction and source.n_unlabelled:
                raise DataError(
                    f"prior_correction=True needs a label for every row, but "
                    f"{_without_label(source.n_unlabelled)}: "
                    "class_weight changes labelled rows only. Set prior_correction=False, or give priors=."
                )
            solution = self._collect(source)
            self._learn(solution, source.classes, source.passes)
            self._require_parameters()
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to a model. The result equals a single fit of all rows, up to rounding.

        New labels become new classes. ``classes`` is optional; it may contain classes that have no rows yet. These have
        probability zero until rows are added.
        """
        self._check_arguments()
        self._require_mergeable()
        fresh = "facts_" not in vars(self)
        if not fresh:
            _require_exact(self)
        with unchanged_on_error(self):
            source = self._open_training(
                X, y, sample_weight, unlabelled=self.unlabelled, reset=fresh, least_classes=1, is_batch=True
            )
            if source.n_unlabelled:
                raise DataError(
                    f"{_without_label(source.n_unlabelled)}. EM needs all rows at once: omit these rows, or "
                    "pass all rows to fit."
                )
            solution = self._collect(source, whole=False)
            facts, known = solution.value, source.classes
            if classes is not None:
                facts, known = _united(facts, known, None, given_classes(classes))
            if not fresh:
                facts, known = _united(self.facts_, self.classes_, facts, known)
            try:
                self._learn(Solution(facts, solution.status, 1, 1), known, source.passes)
            except (CollinearError, NoEstimateError) as too_early:
                self._not_yet = too_early  # raised by predict until there are enough rows
        return self

    def add_class(self, X: Any, label: Any, sample_weight: Any = None) -> Self:
        """Add a class, given only its rows. The parameters of the other classes do not change.

        The class probabilities p(C_k) are recomputed from all rows, unless ``priors`` is given.
        """
        check_is_fitted(self)
        if not is_single(label):
            raise DataError(f"label={label!r}: the label of a class must be a single value, such as a number or text.")
        if is_class(label, self.classes_):
            raise DataError(f"{label!r} is already a class. To add rows to it, use partial_fit.")
        shape = X.shape if "shape" in dir(X) else ()  # open_rows would reject a table with text
        n_rows = shape[0] if shape and isinstance(shape[0], int) else open_rows(X).n_rows
        with unchanged_on_error(self):
            self.partial_fit(X, np.full(n_rows, label), sample_weight=sample_weight)
            self._require_parameters()
        return self

    def merge(self, other: Self) -> Self:
        """Return a new model that equals a single fit on the rows of both models, up to rounding."""
        check_is_fitted(self)
        check_is_fitted(other)
        self._require_mergeable()
        if type(self) is not type(other):
            raise TypeError(f"Cannot merge {type(self).__name__} with {type(other).__name__}, a different model.")
        if self.n_features_in_ != other.n_features_in_:
            raise DataError(f"Cannot merge models with {self.n_features_in_} and {other.n_features_in_} columns.")
        names = [list(vars(model).get("feature_names_in_", ())) for model in (self, other)]
        if all(names) and names[0] != names[1]:
            raise DataError(f"Cannot merge: the columns are {names[0]} in one model and {names[1]} in the other.")
        if joblib.hash(self.basis_) != joblib.hash(other.basis_):
            raise DataError("Cannot merge: the two models have different bases.")
        if self.class_weight != other.class_weight or self.class_weight == "balanced":
            raise DataError(
                f"Cannot merge models with class_weight={self.class_weight!r} and {other.class_weight!r}: their rows "
                "were multiplied by different factors. Fit both with the same mapping {label: factor}."
            )
        for model in (self, other):
            _require_exact(model)
        merged = copy(self)
        facts, classes = _united(self.facts_, self.classes_, other.facts_, other.classes_)
        passes = self.n_passes_ + other.n_passes_
        merged._learn(Solution(facts, self.solution_.status, 1, passes), classes, passes)
        merged._require_parameters()
        return merged

    def _learn(self, solution: Solution[Any], classes: Array, passes: int) -> None:
        """Store the statistics, and compute all fitted attributes from them."""
        self.classes_, self.facts_ = classes, solution.value
        self._not_yet, self._collinear = None, ""
        self.class_count_ = self.facts_.count
        self.priors_ = class_priors(self.priors, classes, self.class_count_)
        if self.class_weight != "balanced":  # batches may have different classes
            self.class_weight_ = class_factors(type(self).__name__, self.class_weight, classes)
        if self.prior_correction and self.priors is None:
            self.priors_ = self.priors_ / self.class_weight_
            self.priors_ /= self.priors_.sum()
        self._keep(solution, passes)
        self._estimate(self.facts_)

    def _require_parameters(self) -> None:
        check_is_fitted(self)
        if self._not_yet is not None:  # try again, because arguments such as shrinkage may have changed
            self._estimate(self.facts_)
            self._not_yet = None
        if self._collinear:
            message, self._collinear = self._collinear, ""
            warn(message, CollinearWarning)

    def _log_joint(self, X: Rows) -> Float:
        """ln p(x, C_k) = ln p(x | C_k) + ln p(C_k), (n, K)."""
        return np.asarray(self._log_likelihood(X) + log_probability(self.priors_))  # (4.63)

    def predict_log_proba(self, X: Any) -> Float:
        """ln p(C_k | x), (N, K), which is accurate even if probabilities round to 0 or 1."""
        self._require_parameters()

        def log_posterior(rows: Rows) -> Float:
            with np.errstate(invalid="ignore"):
                return Softmax(len(self.classes_)).log_probabilities(self._scores(rows))  # (4.62)

        log_proba = self._map_rows(X, log_posterior, allow_nan=True, limit=Limit.EQUAL)
        if not np.isnan(log_proba).any():
            return log_proba
        # The result is NaN if p(x | C_k) = 0 for all classes. Then the prior is returned.
        impossible = np.isnan(log_proba).any(axis=1, keepdims=True)
        return np.where(impossible, log_probability(self.priors_), log_proba)

    def predict_proba(self, X: Any) -> Float:
        """p(C_k | x), (N, K)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        return labels_of(self.classes_, log_proba.argmax(axis=1))

    def decision_function(self, X: Any) -> Float:
        """Log-odds ln p(C_1 | x) / p(C_0 | x) for two classes, (N,); ln p(C_k | x) for K classes, (N, K)."""
        self._require_parameters()
        if len(self.classes_) != 2:
            return self.predict_log_proba(X)

        def log_odds(rows: Rows) -> Float:
            joint = self._scores(rows)
            return np.asarray(joint[:, 1] - joint[:, 0])  # (4.58)

        a = self._map_rows(X, log_odds, allow_nan=True, limit=Limit.LARGEST)
        if not np.isnan(a).any():
            return a
        log_pi = log_probability(self.priors_)  # as in `predict_log_proba`
        return np.where(np.isnan(a), log_pi[1] - log_pi[0], a)

    def log_density(self, X: Any) -> Float:
        """ln p(x) = ln Σ_k p(x | C_k) p(C_k), (N,), which is low for rows that differ from the training rows."""
        self._require_parameters()
        return self._map_rows(X, lambda rows: logsumexp(self._log_joint(rows), axis=1), allow_nan=True)

    def sample(self, n: int, y: Any = None, rng: Any = None) -> tuple[Float, Array]:
        """Draw rows from the model.

        Parameters
        ----------
        n : int
            Number of rows.
        y : label, optional
            Class to draw from. By default, classes are drawn from p(C_k).
        rng : None, int or numpy Generator
            Random generator or seed. With None a fixed seed is used.

        Returns
        -------
        X : ndarray of shape (n, D)
        y : ndarray of shape (n,)
        """
        self._require_parameters()
        if self.basis_ is not None:
            raise DataError("A model with a basis describes φ(x), not x, so it cannot sample x. Fit without basis=.")
        n, rng, K = check_count("sample", "n", n, least=0), generator(rng), len(self.classes_)
        if y is None:
            codes = np.sort(rng.choice(K, size=n, p=self.priors_))
        else:
            found = np.flatnonzero(self.classes_ == y)
            if not len(found):
                raise DataError(f"{y!r} is not a class of this model; its classes are {self.classes_.tolist()}.")
            codes = np.full(n, int(found[0]))
        parts = [self._draw(k, int(size), rng) for k, size in enumerate(bincount(codes, None, K))]
        order = rng.permutation(n)
        return np.concatenate(parts)[order], np.asarray(self.classes_[codes[order]])


def log_probability(probability: Float) -> Float:
    """ln p, with ln 0 = -inf."""
    with np.errstate(divide="ignore"):
        return np.log(probability)


def class_priors(priors: Any, classes: Array, count: Float, *, name: str = "priors") -> Float:
    """Class probabilities p(C_k): the proportions, or ``priors``, a mapping or a sequence ordered as ``classes``."""
    if priors is None:
        return np.asarray(count / count.sum())  # (4.73)
    if isinstance(priors, Mapping):
        missing = [label for label in classes.tolist() if label not in priors]
        if missing:
            raise DataError(f"{name} has no entry for class {missing[0]!r}; the classes are {classes.tolist()}.")
        priors = [priors[label] for label in classes.tolist()]
    pi = check_numbers("", name, priors)
    if pi.shape != (len(classes),) or not (np.isfinite(pi).all() and (pi >= 0).all()):
        raise DataError(f"{name}={priors!r}: pass one probability for each of the {len(classes)} classes.")
    if abs(pi.sum() - 1) > 1e-6:
        raise DataError(f"{name}={priors!r} sum to {pi.sum():g}, not to 1.")
    return np.asarray(pi / pi.sum())


def _united(a: Any, a_classes: Array, b: Any, b_classes: Array) -> tuple[Any, Array]:
    """Sum of two statistics over the classes of both; if b is None, its classes are added without rows."""
    first, second = map(label_kind, (a_classes, b_classes))
    if first != second:  # np.unique would convert numbers to text, so that no label matches
        raise DataError(
            f"The existing classes are {first} ({a_classes[:3].tolist()}...), but the new classes are {second} "
            f"({b_classes[:3].tolist()}). Use labels of the same type."
        )
    try:
        classes = np.unique(np.concatenate([a_classes, b_classes]))
    except TypeError:
        raise DataError(
            f"The new classes, {b_classes[:3].tolist()}, cannot be sorted with the existing classes, "
            f"{a_classes[:3].tolist()}... Use labels of the same type."
        ) from None
    K = len(classes)
    total = a.on_classes(np.searchsorted(classes, a_classes), K)
    return total if b is None else total + b.on_classes(np.searchsorted(classes, b_classes), K), classes


def _without_label(n: int) -> str:
    return f"{counted(n, 'row')} {'has' if n == 1 else 'have'} no label"


def _require_exact(model: GenerativeClassifier) -> None:
    """Raise if the statistics are expected values from EM, to which no rows can be added."""
    if model.n_steps_ > 1:
        raise DataError("A model fitted by EM cannot be merged or updated: refit it on all rows with fit.")
