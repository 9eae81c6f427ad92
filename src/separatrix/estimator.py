# SPDX-License-Identifier: BSD-3-Clause
"""The scikit-learn shell: the contract with the user, and no mathematics.

A model's ``fit`` opens its data here (names, labels, weights, basis), hands the source to pure functions and
stores what they return under names that end in ``_``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._array import Array, Float, Rows, device_aware
from separatrix.basis import fit_basis
from separatrix.exceptions import DataError
from separatrix.rows import (
    Counted,
    LabelRules,
    RowMap,
    Source,
    ThroughBasis,
    answers,
    gathered,
    labels_of,
    numbers_beside,
    open_rows,
)
from separatrix.solvers import Solution
from separatrix.stats import dots, require_finite

__all__ = [
    "Classifier",
    "LinearClassifier",
    "Training",
    "checked_answers",
    "first_of",
    "known_columns",
    "require_finite",
    "require_two_classes",
    "truth_beside",
    "unchanged_on_error",
]


class Training(NamedTuple):
    """Rows with class codes and weights, what the codes stand for, and the count of passes over the rows."""

    source: Source
    classes: Array
    counted: Counted
    n_unlabelled: int
    is_soft: bool = False


class Classifier(ClassifierMixin, BaseEstimator):
    """What every classifier shares: opening data for fitting and for prediction."""

    basis: Any = None

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are welcome everywhere."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _training_table(self, X: Any, *, reset: bool) -> Any:
        """What is opened for fitting; models that take more than numbers translate it."""
        return X

    def _table(self, X: Any) -> Any:
        """What is opened for prediction."""
        return X

    def _open_training(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        unlabelled: Any = "error",
        reset: bool = True,
        least_classes: int = 2,
        soft: bool = False,
        known: Array | None = None,
    ) -> Training:
        """Check and open a training table; sets ``classes_``, ``n_features_in_`` and ``basis_``.

        Without ``reset`` the table must match the one seen before, whose classes and basis stay. Where the model takes
        ``soft`` targets, y may have a column for each class, of probabilities: they become the targets of the source
        (of two classes, those of the second). ``known`` are the classes among which the labels must be.
        """
        opened = open_rows(self._training_table(X, reset=reset), None if reset else known_columns(self))
        validate_data(self, opened.likeness, skip_check_array=True, reset=reset)
        rows = opened.labelled(y, sample_weight, LabelRules(unlabelled, soft, known, least_classes))
        source = Counted(rows.source)
        if reset:
            self.classes_ = rows.classes
            self.basis_ = fit_basis(self.basis, source)
        seen: Source = source if self.basis_ is None else ThroughBasis(source, self.basis_)
        return Training(seen, rows.classes, source, rows.n_unlabelled, rows.is_soft)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows that `predict` gets right, weighted. Of lazy rows the labels alone are gathered.

        Labels and weights of a scan are its columns, where they are not given.
        """
        from sklearn.metrics import accuracy_score

        y, sample_weight = truth_beside(X, y, sample_weight)
        truth, found, weight = gathered(y, self.predict(X), sample_weight)
        return float(accuracy_score(truth, found, sample_weight=weight))

    def _keep(self, solution: Solution[Any], passes: int) -> None:
        """Store how the fit went, and what it cost."""
        self.solution_ = replace(solution, passes=passes, end=None)
        self.n_steps_, self.n_passes_ = solution.steps, passes

    def _map_rows(
        self, X: Any, row_function: Callable[[Rows], Array], *, allow_nan: bool = False, read_once: bool = False
    ) -> Array:
        """``row_function`` of every row; an answer that makes no sense is traced to the column that caused it.

        With ``allow_nan`` a NaN in X is a missing value, and only infinity is refused. A function that reads each
        number once (``read_once``) gains nothing from blocks that fit the cache, and gets taller ones.
        """
        check_is_fitted(self)
        opened = open_rows(self._table(X), known_columns(self))
        validate_data(self, opened.likeness, skip_check_array=True, reset=False)
        answer = partial(checked_answers, row_function=row_function, basis=self.basis_, allow_nan=allow_nan)
        return answers(opened.rows(read_once=read_once), answer)


class LinearClassifier(Classifier):
    """A classifier with ``coef_`` (K, M) and ``intercept_`` (K,); one row of each for two classes."""

    coef_: Float
    intercept_: Float

    def decision_function(self, X: Any) -> Array:
        """Activations a(x) = w'φ(x) + w0: (N,) for two classes, positive for ``classes_[1]``; else (N, K)."""
        return self._map_rows(X, self._activation, read_once=True)

    def predict(self, X: Any) -> Array:
        """The class of the largest activation, for each row."""
        a = self.decision_function(X)
        codes = (a > 0).astype(np.intp) if a.ndim == 1 else a.argmax(axis=1)
        return labels_of(self.classes_, codes)

    @device_aware
    def _activation(self, X: Rows) -> Array:
        """In float64 whatever the rows are, as in the fit: far from zero, single precision leaves few digits."""
        W = self.coef_
        if X.dtype != np.float64:
            return np.asarray(dots(X, W[0]) if len(W) == 1 else X.astype(np.float64) @ W.T) + self.intercept_
        if len(W) == 1:  # a vector and not a matrix of one column: BLAS reads the rows at full speed
            return np.asarray(X @ W[0] + self.intercept_[0])
        return np.asarray(X @ W.T + self.intercept_)


def checked_answers(
    rows: Source, row_function: Callable[[Rows], Array], basis: RowMap | None, allow_nan: bool = False
) -> Array:
    """``row_function`` of every row, of all of them or of one partition."""
    source: Source = rows if basis is None else ThroughBasis(rows, basis)
    with np.errstate(invalid="ignore", over="ignore"):
        answer = source.map(row_function)
        if not np.isfinite(answer).all():
            require_finite(source, allow_nan=allow_nan)
            if answer.dtype == np.float32 or not allow_nan:  # finite rows: the precision was too small
                answer = source.map(lambda X: row_function(X.astype(np.float64)))
    return answer


def truth_beside(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """What predictions are compared with, and weights: as given, or from the columns of a scan; raise where absent."""
    y, sample_weight = numbers_beside(X, y, sample_weight)
    if y is None:
        raise DataError("score compares predictions with what is true, and nobody said what is. Give y.")
    return y, sample_weight


@contextmanager
def unchanged_on_error(model: BaseEstimator) -> Iterator[None]:
    """What fails leaves the model as it was: nothing counted twice, no old parameters with new classes."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:  # Ctrl-C too
        model.__dict__ = before
        raise


def known_columns(model: Any) -> tuple[str, ...] | None:
    """The names of the columns that a model was fitted to; None where they had none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(names)


def first_of(classes: Array) -> str:
    """The first few labels, for a message."""
    return ", ".join(map(repr, classes[:6].tolist())) + (", ..." if len(classes) > 6 else "")


def require_two_classes(what: str, classes: Array, remedy: str) -> None:
    """Raise, naming the classes found, where something is defined for two classes alone."""
    if len(classes) != 2:
        raise DataError(
            f"Only binary classification is supported by {what}, which is for two classes, but y has {len(classes)}: "
            f"{first_of(classes)}. {remedy}"
        )
