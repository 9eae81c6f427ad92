# SPDX-License-Identifier: BSD-3-Clause
"""A classifier of real tables: an encoder and a model of numbers, in one object that can be saved.

Columns of text, dates, booleans and gaps become numbers as `data.table` infers; the model sees those, and their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.estimator import truth_beside, unchanged_on_error
from separatrix.exceptions import DataError
from separatrix.meta import is_ours
from separatrix.rows import NamedRows, RowStore, open_rows
from separatrix.scanning import EncodedScan, Scan
from separatrix.table import Schema, TableEncoder
from separatrix.tables.contrasts import Contrasts, contrasts_of, has_contrasts, summarise
from separatrix.tables.functions import make_ready, model_of, moments_of
from separatrix.tables.ramps import Ramps

__all__ = ["TableClassifier", "fit_numbers", "named"]


def _offers(method: str) -> Callable[[Any], bool]:
    """Whether the model behind the encoder has a method; where not, neither has the classifier of tables."""

    def check(self: Any) -> bool:
        getattr(vars(self).get("estimator_", model_of(self)), method)
        return True

    return check


def _has_weights(self: Any) -> bool:
    """Known after the fit; before, `contrasts` says itself that there is nothing yet."""
    fitted = vars(self).get("estimator_")
    return fitted is None or has_contrasts(fitted)


class TableClassifier(ClassifierMixin, BaseEstimator):
    """A model of numbers behind the encoder that makes them.

    Parameters
    ----------
    estimator : classifier, default BayesianLogisticRegression(tune="evidence")
        Of this package, or any that takes an array.
    types : mapping from column to "number", "boolean", "categorical", "date" or "drop", optional
        Columns whose type should not be inferred.
    drop : {"none", "first"}, default "none"
        "first" leaves out one level of each category, for models without a prior.
    curved : bool, default False
        Whether numbers and days may act by a curve instead of a line (`Ramps`); for models that take a ``basis``.
        Where the prior is tuned, curves have one scale, and everything else another: a scale for each column fits a
        little better and is much less steady, as a column with a few certain values runs away with its own.
    hashing : int, optional
        Into how many columns the levels of a category are hashed that has more than a hundred; see `TableEncoder`.

    Attributes
    ----------
    encoder_ : the fitted `TableEncoder`; ``encoder_.schema_.describe()`` says what became of each column
    estimator_ : the fitted model
    classes_ : the labels
    centre_, spread_ : ndarrays of shape (M,), mean and standard deviation of each number that has a weight, after the
        basis
    n_features_in_, feature_names_in_ : the columns of the table
    n_rows_ : how many rows it learnt from

    Notes
    -----
    Where a Bayesian model tunes a prior that is not stated, weights of numbers and of ramps have a scale per standard
    deviation, and those of levels and other indicators one for the step from 0 to 1: the standard deviation of a rare
    level is so small that its weight would be all but free.

    Columns are found by name, in any order. `predict_interval`, `decision_distribution`, `summary` and `contrasts` are
    there if the model has them.

    Examples
    --------
    >>> from separatrix.datasets import make_mixed_types
    >>> from separatrix.tables import TableClassifier
    >>> table, y = make_mixed_types(400, as_frame=True, rng=0)
    >>> model = TableClassifier().fit(table, y)
    >>> model.predict_proba(table).shape
    (400, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        types: Mapping[str, str] | None = None,
        drop: str = "none",
        curved: bool = False,
        hashing: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.types = types
        self.drop = drop
        self.curved = curved
        self.hashing = hashing

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Infer what the columns are, and fit the model to the numbers they become.

        A scan is read once more for the types, and once or twice for the spreads; it may bring its labels and weights.
        """
        encoder = TableEncoder(types=self.types, drop=self.drop, hashing=self.hashing)
        _require_columns_of_any_type(X)
        if isinstance(X, Scan):
            encoder.fit_statistics(X.facts(encoder.unread()), X.likeness())
        else:
            encoder.fit(X)
        with unchanged_on_error(self):  # the last pass comes after what it may fail to complete
            return fit_numbers(self, encoder, _numbers(encoder, X), y, sample_weight)

    @property
    def sources_(self) -> tuple[str, ...]:
        """The column of the table that each of those numbers came from; "" where a basis mixes them."""
        check_is_fitted(self)
        owners, basis = _owners(self.encoder_.schema_), getattr(self.estimator_, "basis_", None)
        if basis is None:
            return tuple(owners.tolist())
        return (
            tuple(owners[basis.functions_.sources].tolist()) if isinstance(basis, Ramps) else ("",) * len(self.spread_)
        )

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        return np.asarray(self._fitted().predict(self._encoded(X)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows that `predict` gets right, weighted; labels and weights of a scan are its columns."""
        return float(super().score(X, *truth_beside(X, y, sample_weight)))

    @available_if(_offers("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Any) -> Array:
        """p(C_k | x), (N, K)."""
        return np.asarray(self._fitted().predict_proba(self._encoded(X)))

    @available_if(_offers("predict_interval"))  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """Lower and upper bound of each probability, where the model has a posterior."""
        return np.asarray(self._fitted().predict_interval(self._encoded(X), level))

    @available_if(_offers("decision_distribution"))  # type: ignore[untyped-decorator]
    def decision_distribution(self, X: Any) -> Any:
        """Mean and variance of the activation of each row, where the model has a posterior."""
        return self._fitted().decision_distribution(self._encoded(X))

    @available_if(_offers("summary"))  # type: ignore[untyped-decorator]
    def summary(self, level: float = 0.95) -> Any:
        """The weights of the encoded columns, where the model has a posterior; levels as `contrasts` has them."""
        check_is_fitted(self)
        is_bayesian = isinstance(self.estimator_, BayesianLogisticRegression)
        return summarise(self, level) if is_bayesian else self.estimator_.summary(level)

    @available_if(_has_weights)  # type: ignore[untyped-decorator]
    def contrasts(self) -> Contrasts:
        """The weights, where the model has any: levels against their average over the rows, and classes likewise.

        Nothing else is determined by the rows; ``estimator_.coef_`` has a part that changes no prediction.
        """
        check_is_fitted(self)
        return contrasts_of(self)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    def _encoded(self, X: Any) -> Any:
        return named(_numbers(self.encoder_, X), self.encoder_.schema_, self.estimator_)

    def __sklearn_tags__(self) -> Any:
        """Gaps and text are welcome, whatever the model takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _require_columns_of_any_type(X: Any) -> None:
    """Raise where rows are read from what holds numbers alone, and has no columns to infer types of."""
    if isinstance(X, RowStore) and not isinstance(X, Scan):
        raise DataError(
            f"{type(X).__name__} holds numbers alone, and TableClassifier is there to encode columns that are none. "
            "Give these rows to the model itself."
        )


def _numbers(encoder: TableEncoder, X: Any) -> Any:
    """What an encoder makes of a table: all of it at once, or of a scan as it is read."""
    if not isinstance(X, Scan):
        return encoder.transform(X)
    check_is_fitted(encoder)
    wanted = encoder.schema_.is_sparse if encoder.sparse == "auto" else encoder.sparse
    return X.encoded(encoder.schema_, sparse=bool(wanted))


def named(numbers: Any, schema: Schema, estimator: Any) -> Any:
    """The numbers, named where the model is of this package."""
    ours = is_ours(type(estimator))
    if isinstance(numbers, EncodedScan):
        if not ours:
            raise DataError(
                f"A scan is read by models of this package; {type(estimator).__name__} takes an array. Read the table "
                "into memory for it."
            )
        return numbers
    return NamedRows(numbers, schema.columns) if ours else numbers


def fit_numbers(
    classifier: TableClassifier, encoder: TableEncoder, numbers: Any, y: Any = None, sample_weight: Any = None
) -> TableClassifier:
    """Fit a classifier to the numbers that a fitted encoder has made of a table: models can share one encoding."""
    estimator, moments = make_ready(classifier, encoder.schema_, numbers)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    estimator.fit(named(numbers, encoder.schema_, estimator), y, **weights)
    opened = open_rows(numbers)
    classifier.encoder_, classifier.estimator_ = encoder, estimator
    classifier.classes_ = np.asarray(estimator.classes_)
    classifier.n_features_in_, classifier.n_rows_ = encoder.n_features_in_, opened.n_rows
    classifier.__dict__.pop("feature_names_in_", None)
    if "feature_names_in_" in vars(encoder):
        classifier.feature_names_in_ = encoder.feature_names_in_
    found = moments or moments_of(opened.rows(), getattr(estimator, "basis_", None))
    classifier.centre_, classifier.spread_ = found
    return classifier


def _owners(schema: Schema) -> Array:
    """The column of the table that each number came from."""
    return np.repeat(np.array(list(schema.groups), dtype=object), [len(place) for place in schema.groups.values()])
