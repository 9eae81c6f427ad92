# SPDX-License-Identifier: BSD-3-Clause
"""What every generative classifier shares: p(C_k | x) ∝ p(x | C_k) p(C_k).                    PRML §4.2

A model keeps its *facts*, sums over the rows of each class. Parameters are computed from facts, so facts are all that
`partial_fit`, `merge` and `add_class` have to touch (`merging`). A model says how facts are collected, how parameters
follow from them, and what ln p(x | C_k) is; everything else is here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import generator
from separatrix._array import Array, Float, Rows, bincount
from separatrix.estimator import Classifier, unchanged_on_error
from separatrix.exceptions import CollinearError, DataError
from separatrix.generative.merging import among, require_alike, require_exact, united
from separatrix.rows import Source, labels_of, open_rows
from separatrix.solvers import Solution

__all__ = ["GenerativeClassifier", "class_priors"]


class GenerativeClassifier(Classifier):
    """A classifier that models p(x | C_k), and so can sample, score densities, and take classes one at a time."""

    priors: Any = None
    unlabelled: Any = "error"
    _not_yet: CollinearError | None = None  # why there are facts but no parameters so far

    def __sklearn_tags__(self) -> Any:
        """NaN is a missing value."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # -- what a model provides -----------------------------------------------------------------------------------

    @abstractmethod
    def _collect(self, source: Source, n_classes: int, *, whole: bool = True) -> Solution[Any]:
        """The facts of the rows, and how they were found: one pass, or EM, which needs the ``whole`` of the rows."""

    @abstractmethod
    def _estimate(self, facts: Any) -> None:
        """Set the parameters that follow from the facts."""

    @abstractmethod
    def _log_likelihood(self, X: Rows) -> Float:
        """ln p(x | C_k), (n, K); NaN entries are marginalised."""

    @abstractmethod
    def _draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        """``size`` rows from p(x | C_k)."""

    def _check_arguments(self) -> None:
        """Raise where a constructor argument makes no sense."""

    def _require_mergeable(self) -> None:
        """Raise where the model needs more than facts that add."""

    def _settled(self, facts: Any) -> Any:
        """The facts in the form that suits their number."""
        return facts

    # -- fitting ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn p(x | C_k) and p(C_k).

        Parameters
        ----------
        X : table of shape (N, D)
            Rows; NaN is a missing value.
        y : array-like of shape (N,)
            Labels. Which value marks a row without one is said by ``unlabelled``.
        sample_weight : array-like of shape (N,), optional
            A weight of k counts as the row k times.

        Returns
        -------
        self
            This object.
        """
        self._check_arguments()
        with unchanged_on_error(self):
            training = self._open_training(X, y, sample_weight, unlabelled=self.unlabelled)
            solution = self._collect(training.source, len(training.classes))
            self._learn(solution, training.classes, training.counted.passes)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what was learnt before: the same result as one fit of all rows, to rounding.

        Labels not seen before become new classes. ``classes``, which scikit-learn asks for at the first call, may name
        classes still to come; until they do, they have probability zero.
        """
        self._check_arguments()
        self._require_mergeable()
        fresh = "facts_" not in vars(self)
        if not fresh:
            require_exact(self)
        with unchanged_on_error(self):
            training = self._open_training(
                X, y, sample_weight, unlabelled=self.unlabelled, reset=fresh, least_classes=1
            )
            if training.n_unlabelled:
                raise DataError(
                    f"{training.n_unlabelled} rows have no label, which takes EM over all rows at once. "
                    "Leave them out, or give all rows to fit."
                )
            solution = self._collect(training.source, len(training.classes), whole=False)
            facts, known = among(solution.value, training.classes, classes)
            if not fresh:
                facts, known = united(self.facts_, self.classes_, facts, known)
            try:
                self._learn(Solution(facts, solution.status, 1, 1), known, training.counted.passes)
            except CollinearError as too_early:  # the next rows may settle it; until then, asking is the error
                self._not_yet = too_early
        return self

    def add_class(self, X: Any, label: Any, sample_weight: Any = None) -> Self:
        """Teach one more class from its rows alone; what is known of the other classes does not change.

        Class shares p(C_k) are recomputed from all rows seen, unless ``priors`` fixes them.
        """
        check_is_fitted(self)
        if label in self.classes_:
            raise DataError(f"{label!r} is already a class. To add rows to it, use partial_fit.")
        with unchanged_on_error(self):
            self.partial_fit(X, np.full(_n_rows(X), label), sample_weight=sample_weight)
            if self._not_yet is not None:
                raise self._not_yet
        return self

    def merge(self, other: Self) -> Self:
        """A new model that knows the rows of both: what one fit on all of them would give."""
        check_is_fitted(self)
        check_is_fitted(other)
        self._require_mergeable()
        require_alike(self, other)
        merged = copy(self)
        facts, classes = united(self.facts_, self.classes_, other.facts_, other.classes_)
        passes = self.n_passes_ + other.n_passes_
        merged._learn(Solution(facts, self.solution_.status, 1, passes), classes, passes)
        return merged

    def _learn(self, solution: Solution[Any], classes: Array, passes: int) -> None:
        """Keep the facts, and compute everything else from them."""
        self.classes_, self.facts_ = classes, self._settled(solution.value)
        self._not_yet = None
        self.class_count_ = self.facts_.count
        self.priors_ = class_priors(self.priors, classes, self.class_count_)
        self._keep(solution, passes)
        self._estimate(self.facts_)

    # -- using -----------------------------------------------------------------------------------------------------

    def _require_parameters(self) -> None:
        check_is_fitted(self)
        if self._not_yet is not None:  # rows or arguments may have changed since
            self._estimate(self.facts_)
            self._not_yet = None

    def _scores(self, X: Rows) -> Float:
        """ln p(x, C_k), up to a term that is the same for all classes; (n, K)."""
        return self._log_joint(X)

    def _log_joint(self, X: Rows) -> Float:
        """ln p(x, C_k) = ln p(x | C_k) + ln p(C_k), (n, K)."""
        with np.errstate(divide="ignore"):
            return np.asarray(self._log_likelihood(X) + np.log(self.priors_))  # (4.63)

    def predict_log_proba(self, X: Any) -> Float:
        """ln p(C_k | x), (N, K): right far out in the tails, where probabilities are 0 or 1 to rounding."""
        self._require_parameters()
        log_proba = self._map_rows(X, lambda rows: _normalised(self._scores(rows)), allow_nan=True)
        with np.errstate(divide="ignore"):  # a row that no class can have made says nothing: the priors stand
            return np.where(np.isnan(log_proba), np.log(self.priors_), log_proba)

    def predict_proba(self, X: Any) -> Float:
        """p(C_k | x), (N, K)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        return labels_of(self.classes_, log_proba.argmax(axis=1))

    def decision_function(self, X: Any) -> Float:
        """The log-odds ln p(C_1 | x) / p(C_0 | x) for two classes, (N,); else ln p(C_k | x), (N, K)."""
        self._require_parameters()
        if len(self.classes_) != 2:
            return self.predict_log_proba(X)

        def log_odds(rows: Rows) -> Float:
            joint = self._scores(rows)
            return np.asarray(joint[:, 1] - joint[:, 0])  # (4.58)

        return self._map_rows(X, log_odds, allow_nan=True)

    def log_density(self, X: Any) -> Float:
        """ln p(x) = ln Σ_k p(x | C_k) p(C_k), (N,): low for rows unlike any that were seen."""
        self._require_parameters()
        return self._map_rows(X, lambda rows: logsumexp(self._log_joint(rows), axis=1), allow_nan=True)

    def sample(self, n: int, y: Any = None, rng: Any = None) -> tuple[Float, Array]:
        """Draw rows from the model.

        Parameters
        ----------
        n : int
            How many rows.
        y : label, optional
            The class to draw from; by default classes are drawn from p(C_k).
        rng : None, int or numpy Generator
            None is a fixed seed.

        Returns
        -------
        X : ndarray of shape (n, D)
        y : ndarray of shape (n,)
        """
        self._require_parameters()
        _require_no_basis(self)
        rng = generator(rng)
        if y is None:
            codes = np.sort(rng.choice(len(self.classes_), size=n, p=self.priors_))
        else:
            codes = np.full(n, _position(self.classes_, y))
        parts = [self._draw(k, int(size), rng) for k, size in enumerate(bincount(codes, None, len(self.classes_)))]
        order = rng.permutation(n)
        return np.concatenate(parts)[order], np.asarray(self.classes_[codes[order]])


def _normalised(log_joint: Float) -> Float:
    """ln p(C_k | x); NaN for a row that no class can have made."""
    with np.errstate(invalid="ignore"):
        return np.asarray(log_joint - logsumexp(log_joint, axis=1, keepdims=True))  # (4.62)


def class_priors(priors: Any, classes: Array, count: Float) -> Float:
    """p(C_k): the shares of the rows, or those given, as a sequence in the order of ``classes`` or a mapping."""
    if priors is None:
        return np.asarray(count / count.sum())  # (4.73)
    if isinstance(priors, Mapping):
        missing = [label for label in classes.tolist() if label not in priors]
        if missing:
            raise DataError(f"priors has no entry for class {missing[0]!r}; the classes are {classes.tolist()}.")
        priors = [priors[label] for label in classes.tolist()]
    pi = np.asarray(priors, dtype=np.float64)
    if pi.shape != (len(classes),) or not (np.isfinite(pi).all() and (pi >= 0).all()):
        raise DataError(f"priors={priors!r}: give one probability for each of the {len(classes)} classes.")
    if abs(pi.sum() - 1) > 1e-6:
        raise DataError(f"priors={priors!r} sum to {pi.sum():g}, not to 1.")
    return np.asarray(pi / pi.sum())


def _position(classes: Array, label: Any) -> int:
    found = np.flatnonzero(classes == label)
    if not len(found):
        raise DataError(f"{label!r} is not a class of this model; its classes are {classes.tolist()}.")
    return int(found[0])


def _require_no_basis(model: GenerativeClassifier) -> None:
    if model.basis_ is not None:
        raise DataError(
            "This model describes basis functions φ(x), not x itself, so it cannot draw x. Fit without basis=."
        )


def _n_rows(X: Any) -> int:
    """Also of a table with text, which only some models can open."""
    shape = X.shape if "shape" in dir(X) else ()
    return shape[0] if shape and isinstance(shape[0], int) else open_rows(X).n_rows
