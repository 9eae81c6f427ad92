# SPDX-License-Identifier: BSD-3-Clause
"""Base classes with the scikit-learn API; they contain no mathematics.

The ``fit`` of a model opens its data here (names, labels, weights, basis), passes the source to pure functions and
stores their results in attributes whose names end in ``_``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._arguments import Estimator, check_flags
from separatrix._arguments import unchanged_on_error as unchanged_on_error  # noqa: PLC0414  # re-exported
from separatrix._array import Array, Float, Rows, in_single, is_sparse
from separatrix._text import listed
from separatrix.basis import fit_basis
from separatrix.exceptions import DataError, StreamEndedError
from separatrix.explanation import Explained, Explains, LinearScores, Scores, explained_array, own_columns
from separatrix.rows import (
    DeviceRows,
    LabelRules,
    RowMap,
    RowStore,
    Source,
    accuracy,
    in_memory,
    labels_of,
    open_rows,
    targets_in_memory,
    weigh_classes,
)
from separatrix.solvers import Solution
from separatrix.stats import dots, require_finite, require_squares

LENGTHS = (2.0**640, 2.0**256, 2.0**128)  # of a row that is shortened if linear, quadratic or other scores overflow
FAR = 2.0**64  # smaller entries of a row are not shortened; larger floats are whole numbers, as counts must be
LARGEST = float(np.finfo(np.float64).max)


REWEIGHTED = (
    "The model was fitted with class weights, so its probabilities and intervals are those of rows that are repeated "
    "by these weights. Set prior_correction=True for the probabilities of the rows themselves."
)
SEPARATED = (
    "The classes are separated, so some weights are infinite at the maximum of the likelihood. Contributions are those "
    "of the last step of the solver, and have no intervals. Use a prior (alpha > 0)."
)


class Limit(Enum):
    """Result of a finite row whose scores overflow, see `Limits`."""

    EQUAL = "that of a shorter row, for probabilities, which converge"
    LARGEST = "that of a shorter row, enlarged up to the largest float, for decision functions and coordinates"


class WithoutDistribution:
    """A method that needs the distribution of the weights; models without one raise AttributeError with the reason."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        raise without_distribution(owner if model is None else model, self.name)


def without_distribution(model: Any, name: str) -> AttributeError:
    """Return the error of a model without a distribution of its weights."""
    kind = model if isinstance(model, type) else type(model)
    return AttributeError(
        f"{kind.__name__} has no {name}: {model.no_distribution}. LogisticRegression, ProbitRegression, "
        "GeneralizedLinearModel and BayesianLogisticRegression have one."
    )


class Classifier(Explains, ClassifierMixin, Estimator):
    """Base class of all classifiers: opens data for fitting and for prediction."""

    basis: Any = None
    class_weight: Any = None
    prior_correction: bool = False
    no_distribution: ClassVar[str] = (  # why there is no distribution of the weights
        "its weights come from the distribution of the rows within each class, not from p(class | x)"
    )

    summary: Any = WithoutDistribution()
    with_covariance: Any = WithoutDistribution()

    @property
    def weight_distribution_(self) -> Any:
        """Distribution of the weights, of models that have one; see `separatrix.weights.WeightDistribution`."""
        raise without_distribution(self, "weight_distribution_")

    def _explanation_scores(self) -> tuple[Scores, tuple[str, ...]]:
        """The activations as a sum over the functions of a row, and notes; raises TypeError if they are no such sum."""
        raise TypeError(
            f"{type(self).__name__} cannot be explained: it has no probabilities, only a side of its boundary. Use "
            "LogisticRegression, or another model with predict_proba."
        )

    def _explained(self, rows: Any, reference: Any) -> Explained:
        """Description for `explain` of rows and reference, tables of numbers."""
        check_is_fitted(self)
        scores, notes = self._explanation_scores()
        X, names = self._encoded(rows, "rows")
        given = None if reference is None else self._encoded(reference, "reference")[0]
        model: Any = copy(self)
        vars(model).pop("feature_names_in_", None)  # so that it accepts arrays without a warning
        bounds = getattr(model, "predict_interval", None)
        return explained_array(
            X,
            names,
            given,
            scores,
            self.basis_,
            classes=self.classes_,
            probabilities=lambda X: np.asarray(model.predict_proba(self._decoded(X)), dtype=np.float64),
            intervals=None if bounds is None else lambda X, level: np.asarray(bounds(X, level)),
            categories=self._categories,
            allow_nan=not isinstance(scores, LinearScores),
            notes=notes,
        )

    def _encoded(self, X: Any, what: str) -> tuple[Rows, tuple[str, ...]]:
        """Rows of a table in memory as an array, and the names of its columns."""
        if isinstance(X, RowStore):
            raise DataError(f"explain({what}=...) is a {type(X).__name__}. Pass a few rows in memory.")
        X = own_columns(X, getattr(self, "feature_names_in_", None))
        source = open_rows(self._table(X), known_columns(self))
        check_columns(self, source.template, reset=False)
        return source.map(lambda rows: rows), source.columns

    @property
    def _categories(self) -> dict[int, Array]:
        """Levels of the columns that are encoded as codes, by position."""
        return {}

    def _decoded(self, X: Rows) -> Any:
        """Rows in which codes are replaced by their levels."""
        return X

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
        check_flags(self)
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
        y, sample_weight = truth_in_memory(X, y, sample_weight)
        return accuracy(*in_memory(y, self.predict(X), sample_weight))

    def _keep(self, solution: Solution[Any], passes: int) -> None:
        """Store the solution and its cost."""
        self.solution_ = Solution(solution.value, solution.status, solution.steps, passes, solution.trace)
        self.n_steps_, self.n_passes_ = solution.steps, passes

    def _map_rows(
        self,
        X: Any,
        row_function: Callable[[Rows], Array],
        *,
        allow_nan: bool = False,
        read_once: bool = False,
        limit: Limit | None = None,
    ) -> Array:
        """Apply ``row_function`` to every row; if a result is not finite, the error names the column that caused it.

        With ``allow_nan``, NaN in X is a missing value, and only infinity raises. ``read_once`` declares that the
        function reads each entry of X once (see `Source.map`). ``limit`` is the result of a finite row whose scores
        overflow, which otherwise is an error if it is NaN.
        """
        if "classes_" not in vars(self):  # scikit-learn's check collects tags, a tenth of a small prediction
            check_is_fitted(self)
        rows = open_rows(self._table(X), known_columns(self))
        check_columns(self, rows.template, reset=False)
        results = partial(
            check_results,
            row_function=row_function,
            basis=self.basis_,
            allow_nan=allow_nan,
            reads_once=read_once,
            limit=limit,
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

    def _explanation_scores(self) -> tuple[Scores, tuple[str, ...]]:
        """Linear activations, with the distribution of the weights if there is one."""
        likelihood = getattr(self, "likelihood_", None)
        if likelihood is None:
            return super()._explanation_scores()
        try:
            found = self.weight_distribution_
        except (AttributeError, ValueError) as error:
            W, w0 = self._weights
            weights = np.column_stack([W, w0])
            return LinearScores(weights, likelihood), (f"Contributions have no intervals. {error}",)
        design, is_separated = found.design, found.is_sampling and bool(getattr(self, "separation_", None))
        scores = LinearScores(
            np.atleast_2d(found.mean),
            likelihood,
            design.origin,
            None if is_separated else found,
            design.bias,
            design.spread,
        )
        is_reweighted = self.class_weight is not None and not self.prior_correction
        return scores, (REWEIGHTED,) * is_reweighted + ((SEPARATED,) * is_separated or _notes_on(found))

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
        return self._map_rows(X, self._activation, read_once=True, limit=Limit.LARGEST)

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


def _notes_on(weights: Any) -> tuple[str, ...]:
    """Notes of an explanation on predictions that are no averages over the distribution of the weights."""
    if weights.blend is None or weights.blend.is_average:
        return ()
    return (
        "Probabilities combine the posterior with weight vectors that predict held-out rows well. Contributions and "
        "their intervals are those of the posterior; '(average over the weights)' is the difference.",
    )


def check_results(
    rows: Source,
    row_function: Callable[[Rows], Array],
    basis: RowMap | None,
    allow_nan: bool = False,
    reads_once: bool = False,
    limit: Limit | None = None,
) -> Array:
    """Apply ``row_function`` to every row of a source or partition; raise if X is not finite."""
    source, limits = rows.mapped(basis), Limits(limit)
    results = source.map(row_function, reads_once=reads_once, around=limits)
    if not limits.are_finite:
        # Basis functions may overflow in rows that have a limit.
        checked = source if limit is None or np.isnan(results).any() else rows
        try:
            require_finite(checked, allow_nan=allow_nan)
        except StreamEndedError as error:
            raise DataError(
                "A prediction is not finite: X has NaN or infinity. The column is unknown, because the stream can "
                "be read only once. Scan a function that opens it (scan(lambda: ...)), or a file."
            ) from error
        if limit is None and (results.dtype == np.float32 or not allow_nan):  # finite rows, so float32 overflowed
            results = source.map(lambda X: row_function(X.astype(np.float64)), around=limits)
        if not allow_nan and np.isnan(results).any():
            require_squares(source)
    return results


@dataclass
class Limits:
    """Results of the rows of a block; if the scores of a finite row overflow, those of a shorter row.

    Scores of classes are polynomials in x. For x of 1e38 they differ by so much that probabilities no longer change
    with the length of x. Rows of float32 are first repeated in float64. Without ``limit``, results are not changed.
    """

    limit: Limit | None
    are_finite: bool = True  # whether the results of all blocks are finite

    def __call__(self, X: Rows, function: Callable[[Rows], Array]) -> Array:
        """Apply ``function`` to the rows."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # in the thread that computes the block
            results = function(X)
            if np.isfinite(results).all():
                return results
            if self.limit is not None:
                results = with_limits(results, X, function, self.limit)
            self.are_finite &= bool(np.isfinite(results).all())
            return results


def with_limits(results: Array, X: Rows, function: Callable[[Rows], Array], limit: Limit) -> Array:
    """The results of ``function(X)``, in which those that overflowed are replaced; see `Limits`."""
    lost = np.flatnonzero(is_lost(results, limit))
    if not len(lost):
        return results
    part = X[lost] if is_sparse(X) else np.asarray(X[lost])
    if X.dtype == np.float32:
        part = part.astype(np.float64)
        results[lost] = function(part)
    for length in LENGTHS:
        top = largest_entries(part)
        far = np.flatnonzero(is_lost(results[lost], limit) & (top > length) & np.isfinite(top))
        if len(far):
            found = function(shortened(part[far], length / top[far]))
            if limit is Limit.LARGEST:
                a = np.abs(found).max(axis=tuple(range(1, found.ndim)), keepdims=True)
                found = np.where(a > FAR, found / a * LARGEST, found)  # keeps the order of the classes
            results[lost[far]] = found
    return results


def is_lost(results: Array, limit: Limit) -> Array:
    """Whether the scores of each row overflowed: its result is undefined, or a decision function is infinite."""
    bad = np.isnan(results) if limit is Limit.EQUAL else ~np.isfinite(results)
    return np.asarray(bad.any(axis=tuple(range(1, bad.ndim))))


def largest_entries(X: Rows) -> Float:
    """The largest absolute value of each row that is not missing, (n,)."""
    if not is_sparse(X):
        return np.asarray(np.fmax.reduce(np.abs(X), axis=1, initial=0.0))
    top = np.zeros(X.shape[0])
    np.fmax.at(top, np.repeat(np.arange(len(top)), np.diff(X.indptr)), np.abs(X.data))
    return top


def shortened(X: Rows, factor: Float) -> Rows:
    """Rows whose entries beyond `FAR` are multiplied by the factor of the row, but stay beyond it."""
    x, factor = (X.data, np.repeat(factor, np.diff(X.indptr))) if is_sparse(X) else (X, factor[:, None])
    x = np.where(np.abs(x) > FAR, np.copysign(np.maximum(np.abs(x) * factor, FAR), x), x)
    return type(X)((x, X.indices, X.indptr), shape=X.shape) if is_sparse(X) else x


def truth_in_memory(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """True labels and weights for a score, as given or from the columns of a scan; raise if there are no labels."""
    y, sample_weight = targets_in_memory(X, y, sample_weight)
    if y is None:
        raise DataError("score needs y: pass the true labels.")
    return y, sample_weight


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
