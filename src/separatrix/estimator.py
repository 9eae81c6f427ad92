# SPDX-License-Identifier: BSD-3-Clause
"""Base classes with the scikit-learn API; they contain no mathematics.

The ``fit`` of a model opens its data here (names, labels, weights, basis), passes the source to pure functions and
stores their results in attributes whose names end in ``_``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._arguments import Estimator
from separatrix._array import Array, Float, Rows, in_single
from separatrix._text import listed
from separatrix.basis import fit_basis
from separatrix.exceptions import DataError, StreamEndedError
from separatrix.rows import (
    DeviceRows,
    LabelRules,
    RowMap,
    Source,
    in_memory,
    labels_of,
    open_rows,
    targets_in_memory,
    weigh_classes,
)
from separatrix.solvers import Solution
from separatrix.stats import dots, require_finite, require_squares


class Classifier(ClassifierMixin, Estimator):
    """Base class of all classifiers: opens data for fitting and for prediction."""

    basis: Any = None
    class_weight: Any = None
    prior_correction: bool = False

    def __sklearn_tags__(self) -> Any:
        """Tags: all classifiers support sparse rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _training_table(self, X: Any, *, reset: bool) -> Any:
        """Return the table to open for fitting; models that accept text columns encode it."""
        return X

    def _table(self, X: Any) -> Any:
        """Return the table to open for prediction."""
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
        is_batch: bool = False,
    ) -> Source:
        """Check and open a training table; sets ``classes_``, ``class_weight_``, ``n_features_in_`` and ``basis_``.

        Without ``reset``, the table must match the previous table, and classes and basis do not change. With ``soft``,
        y may have a column of probabilities for each class, which become the targets of the source (for two classes,
        the probabilities of the second class). Labels must be among the ``known`` classes, if given. ``is_batch`` says
        that other rows were fitted before, or may follow.
        """
        rows = open_rows(self._training_table(X, reset=reset), None if reset else known_columns(self))
        check_columns(self, rows.template, reset=reset)
        source = rows.with_labels(y, sample_weight, LabelRules(unlabelled, soft, known, least_classes))
        self.class_weight_ = np.ones(len(source.classes))
        if self.class_weight is not None:
            name = type(self).__name__
            source, self.class_weight_ = weigh_classes(source, name, self.class_weight, is_batch=is_batch)
            if self.prior_correction and not self.class_weight_.all():
                raise ValueError(
                    f"{name}(class_weight=..., prior_correction=True): a class with factor 0 is not fitted, so its "
                    "probability cannot be restored. Use a small positive factor, or prior_correction=False."
                )
        if reset:
            self.classes_ = source.classes
            self.basis_ = None if self.basis is None else fit_basis(self.basis, source)
        return source if self.basis_ is None else source.mapped(self.basis_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Weighted fraction of rows that `predict` classifies correctly.

        For a scan, labels and weights that are not given are read from its columns. Predictions of a Dask collection
        are computed partition by partition.
        """
        from sklearn.metrics import accuracy_score

        y, sample_weight = truth_in_memory(X, y, sample_weight)
        truth, found, weight = in_memory(y, self.predict(X), sample_weight)
        return float(accuracy_score(truth, found, sample_weight=weight))

    def _keep(self, solution: Solution[Any], passes: int) -> None:
        """Store the solution and its cost."""
        self.solution_ = Solution(solution.value, solution.status, solution.steps, passes, solution.trace)
        self.n_steps_, self.n_passes_ = solution.steps, passes

    def _map_rows(
        self, X: Any, row_function: Callable[[Rows], Array], *, allow_nan: bool = False, read_once: bool = False
    ) -> Array:
        """Apply ``row_function`` to every row; if a result is not finite, the error names the column that caused it.

        With ``allow_nan``, NaN in X is a missing value, and only infinity raises. ``read_once`` declares that the
        function reads each entry of X once (see `Source.map`).
        """
        if "classes_" not in vars(self):  # scikit-learn's check collects tags, a tenth of a small prediction
            check_is_fitted(self)
        rows = open_rows(self._table(X), known_columns(self))
        check_columns(self, rows.template, reset=False)
        results = partial(
            check_results, row_function=row_function, basis=self.basis_, allow_nan=allow_nan, reads_once=read_once
        )
        return rows.each(results)  # type: ignore[no-any-return]


class LinearClassifier(Classifier):
    """A classifier with ``coef_`` (K, M) and ``intercept_`` (K,); one row of each for two classes."""

    coef_: Float
    intercept_: Float
    warm_start: bool = False
    _exact: tuple[Float, Float] | None = None  # weights in float64, if coef_ and intercept_ are float32

    def _keep_weights(self, W: Float, w0: Float, rows: Source) -> None:
        """Set ``coef_`` and ``intercept_``, in float32 if the rows are an array of float32, as scikit-learn does.

        With rounded weights, predictions for columns far from zero would be inaccurate, so predictions use float64.
        """
        self._exact, self.coef_, self.intercept_ = None, W, w0
        if getattr(rows.template, "dtype", None) == np.float32:
            self._exact, (self.coef_, self.intercept_) = (W, w0), in_single(W, w0)

    @property
    def _weights(self) -> tuple[Float, Float]:
        """Weights and intercepts in float64; as the user set them, if ``coef_`` or ``intercept_`` was changed."""
        rounded = self.coef_, self.intercept_
        if self._exact is None or not all(map(np.array_equal, rounded, in_single(*self._exact))):
            return rounded
        return self._exact

    def _last_weights(self) -> tuple[Array, Float, Float] | None:
        """Classes, weights and intercepts of the last fit, from which a warm start begins; None before a fit."""
        if "coef_" not in vars(self):
            return None
        W, w0 = self._weights
        return self.classes_, W, w0 - self._shift()

    def _shift(self) -> Float:
        """Change of each intercept after the fit, which undoes class weights."""
        return np.zeros(1)

    def decision_function(self, X: Any) -> Array:
        """Activations a(x) = w'φ(x) + w0: (N,) for two classes, positive for ``classes_[1]``; (N, K) for more."""
        return self._map_rows(X, self._activation, read_once=True)

    def predict(self, X: Any) -> Array:
        """Class with the largest activation for each row."""
        a = self.decision_function(X)
        codes = (a > 0).astype(np.intp) if a.ndim == 1 else a.argmax(axis=1)
        return labels_of(self.classes_, codes)

    def _activation(self, X: Rows) -> Array:
        """Activations in float64, as in the fit, because float32 is inaccurate for columns far from zero."""
        W, w0 = self._weights
        if X.dtype != np.float64:
            if len(W) == 1:
                return dots(X, W[0]) + w0
            wide = X if isinstance(X, DeviceRows) else X.astype(np.float64)  # products on a device are in float64
            return np.asarray(wide @ W.T) + w0
        if len(W) == 1:  # BLAS is faster with a vector than with a matrix of one column
            return np.asarray(X @ W[0] + w0[0])
        return np.asarray(X @ W.T + w0)


def check_results(
    rows: Source,
    row_function: Callable[[Rows], Array],
    basis: RowMap | None,
    allow_nan: bool = False,
    reads_once: bool = False,
) -> Array:
    """Apply ``row_function`` to every row of a source or partition; raise if X is not finite."""
    source = rows.mapped(basis)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        results = source.map(row_function, reads_once=reads_once)
        if not np.isfinite(results).all():
            try:
                require_finite(source, allow_nan=allow_nan)
            except StreamEndedError as error:
                raise DataError(
                    "A prediction is not finite: X has NaN or infinity. The column is unknown, because the stream can "
                    "be read only once. Scan a function that opens it (scan(lambda: ...)), or a file."
                ) from error
            if results.dtype == np.float32 or not allow_nan:  # rows are finite, so float32 overflowed
                results = source.map(lambda X: row_function(X.astype(np.float64)))
            if not allow_nan and np.isnan(results).any():
                require_squares(source)
    return results


def truth_in_memory(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """True labels and weights for a score, as given or from the columns of a scan; raise if there are no labels."""
    y, sample_weight = targets_in_memory(X, y, sample_weight)
    if y is None:
        raise DataError("score needs y: pass the true labels.")
    return y, sample_weight


class unchanged_on_error:  # noqa: N801  (called like a function)
    """Restore the model if the block fails, so that it never has old parameters with new classes."""

    def __init__(self, model: Estimator) -> None:
        self.model, self.before = model, dict(vars(model))

    def __enter__(self) -> None:
        return

    def __exit__(self, error: object, *details: object) -> None:
        if error is not None:  # also after Ctrl-C
            self.model.__dict__ = self.before


def known_columns(model: Any) -> tuple[str, ...] | None:
    """Names of the columns that a model was fitted on; None if they had no names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(names)


def check_columns(model: Any, table: Any, *, reset: bool) -> None:
    """Set the number and names of the columns of a model, or compare them with those of a table, as scikit-learn does.

    Arrays skip its search for names, which takes as long as a small prediction.
    """
    has_names = type(table) is not np.ndarray or getattr(model, "feature_names_in_", None) is not None
    if has_names or not (reset or model.n_features_in_ == table.shape[1]):
        validate_data(model, table, skip_check_array=True, reset=reset)
    elif reset:
        model.n_features_in_ = table.shape[1]


def require_two_classes(what: str, classes: Array, remedy: str) -> None:
    """Raise unless there are exactly two classes; the message names them."""
    if len(classes) != 2:
        raise DataError(
            f"Only binary classification is supported by {what}, which needs two classes, but y has {len(classes)}: "
            f"{listed(classes.tolist())}. {remedy}"
        )
