# SPDX-License-Identifier: BSD-3-Clause
"""The scikit-learn shell: the contract with the user, and no mathematics.

A model's ``fit`` opens its data here (names, labels, weights, basis), hands the source to pure functions and
stores what they return under names that end in ``_``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._array import Array, Float, Rows, bincount
from separatrix.basis import fit_basis
from separatrix.data import Counted, Source, ThroughBasis, as_source, as_table, encode_labels, encode_shares, is_shares
from separatrix.exceptions import DataError
from separatrix.solvers import Solution
from separatrix.stats import require_finite
from separatrix.stats.design import dots

__all__ = [
    "Classifier",
    "LinearClassifier",
    "Training",
    "check_weight",
    "require_classes",
    "require_finite",
    "require_two_classes",
    "require_weight",
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
        X = as_table(X)
        raw = as_source(X)
        validate_data(self, X, skip_check_array=True, reset=reset)
        codes: Array
        if soft and is_shares(y):
            classes, codes = encode_shares(y)
        else:
            classes, codes = encode_labels(y, unlabelled=unlabelled)
        if known is not None:
            classes, codes = _among(known, classes, codes)
        if codes.ndim == 2 and len(classes) == 2:
            codes = codes[:, 1]
        if len(codes) != raw.n_rows:
            raise DataError(f"X has {raw.n_rows} rows but y has {len(codes)} labels; they must pair up.")
        require_classes(classes, least_classes)
        weight = check_weight(sample_weight, raw.n_rows)
        is_soft = codes.dtype.kind == "f"
        require_weight(weight, codes if known is None and not is_soft else None, classes)
        source = Counted(replace(raw, t=codes, weight=weight))
        if reset:
            self.classes_ = classes
            self.basis_ = fit_basis(self.basis, source)
        seen: Source = source if self.basis_ is None else ThroughBasis(source, self.basis_)
        return Training(seen, classes, source, int(np.count_nonzero(codes < 0)), is_soft)

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
        X = as_table(X)
        raw = as_source(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        blocks = raw.taller(4) if read_once else raw
        source: Source = blocks if self.basis_ is None else ThroughBasis(blocks, self.basis_)
        with np.errstate(invalid="ignore", over="ignore"):
            answer = source.map(row_function)
            if not np.isfinite(answer).all():
                require_finite(source, allow_nan=allow_nan)
                if answer.dtype == np.float32 or not allow_nan:  # finite rows: the precision was too small
                    answer = source.map(lambda rows: row_function(rows.astype(np.float64)))
        return answer


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
        return np.asarray(self.classes_[codes])

    def _activation(self, X: Rows) -> Array:
        """In float64 whatever the rows are, as in the fit: far from zero, single precision leaves few digits."""
        W = self.coef_
        if X.dtype != np.float64:
            return np.asarray(dots(X, W[0]) if len(W) == 1 else X.astype(np.float64) @ W.T) + self.intercept_
        if len(W) == 1:  # a vector and not a matrix of one column: BLAS reads the rows at full speed
            return np.asarray(X @ W[0] + self.intercept_[0])
        return np.asarray(X @ W.T + self.intercept_)


def _among(known: Array, classes: Array, codes: Array) -> tuple[Array, Array]:
    """Codes, or shares, of labels among the classes known, some of which this table may not have."""
    unknown = classes[~np.isin(classes, known)]
    if len(unknown):
        raise DataError(
            f"Label {unknown.tolist()[0]!r} is not one of the classes: {', '.join(map(repr, known[:8].tolist()))}. "
            "Name all classes at the first call: partial_fit(X, y, classes=...)."
        )
    order = np.argsort(known)
    place = order[np.searchsorted(known, classes, sorter=order)]
    if codes.ndim == 1:
        return known, place[codes]
    shares = np.zeros((len(codes), len(known)))
    shares[:, place] = codes
    return known, shares


def check_weight(sample_weight: Any, n_rows: int) -> Float | None:
    """Weights as float64, or None where every row counts once."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}.")
    if len(weight) != n_rows:
        raise DataError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one weight for each row of X.")
    if not np.isfinite(weight).all():
        raise DataError(f"sample_weight contains NaN or infinity ({int((~np.isfinite(weight)).sum())} of {n_rows}).")
    if (weight < 0).any():
        worst = int(weight.argmin())
        raise DataError(
            f"sample_weight[{worst}] is {weight[worst]:g}; weights must not be negative. Use 0 to leave a row out."
        )
    return None if (weight == 1.0).all() else weight


def require_two_classes(owner: object, classes: Array, why: str) -> None:
    """Raise, naming the classes found, where a rule is defined for two classes alone."""
    if len(classes) != 2:
        raise DataError(
            f"{type(owner).__name__}({why}) is for two classes, but y has {len(classes)}: "
            f"{', '.join(map(repr, classes[:6].tolist()))}{', ...' if len(classes) > 6 else ''}. "
            "Choose another setting, or wrap the model in OneVsRest or OneVsOne."
        )


def require_classes(classes: Array, least: int = 2) -> None:
    """Raise where there are too few classes to tell apart."""
    if len(classes) == 0:
        raise DataError("y has no labels (0 rows). Give rows of at least two classes.")
    if len(classes) < least:
        raise DataError(
            f"Classifier can't train when only one class is present: every label is {classes.tolist()[0]!r}. "
            "Give rows of at least two classes."
        )


def require_weight(weight: Float | None, codes: Array | None, classes: Array) -> None:
    """Raise where every row, or every row of a class, has weight zero; rows without ``codes`` belong to all classes."""
    if weight is None:
        return
    if not weight.any():
        raise DataError("Every sample_weight is zero; give at least one row of each class a positive weight.")
    if codes is None:
        return
    labelled = codes >= 0
    empty = classes[bincount(codes[labelled], weight[labelled], len(classes)) == 0]
    if len(empty):
        raise DataError(
            f"Every row of class {', '.join(map(repr, empty.tolist()))} has weight 0. "
            "Leave those rows out, or give them weight."
        )
