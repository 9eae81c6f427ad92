# SPDX-License-Identifier: BSD-3-Clause
"""A classifier of real tables: an encoder and a model of numbers, in one object that can be saved.

Columns of text, dates, booleans and gaps become numbers as `data.table` infers; the model sees those, and their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.data import encode_labels
from separatrix.data.reader import NamedRows
from separatrix.data.table import TableEncoder

__all__ = ["TableClassifier"]


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

    Attributes
    ----------
    encoder_ : the fitted `TableEncoder`; ``encoder_.schema_.describe()`` says what became of each column
    estimator_ : the fitted model
    classes_ : the labels

    Examples
    --------
    >>> from separatrix.datasets import make_mixed_types
    >>> from separatrix.tables import TableClassifier
    >>> table, y = make_mixed_types(400, as_frame=True, rng=0)
    >>> model = TableClassifier().fit(table, y)
    >>> model.predict_proba(table).shape
    (400, 2)
    """

    def __init__(self, estimator: Any = None, types: Mapping[str, str] | None = None, drop: str = "none") -> None:
        self.estimator = estimator
        self.types = types
        self.drop = drop

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TableClassifier:
        """Infer what the columns are, and fit the model to the numbers they become."""
        classes, _ = encode_labels(y)
        encoder = TableEncoder(types=self.types, drop=self.drop).fit(X)
        chosen = BayesianLogisticRegression(tune="evidence") if self.estimator is None else clone(self.estimator)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = chosen.fit(_rows(encoder, X, chosen), y, **weights)
        self.encoder_, self.classes_ = encoder, classes
        self.n_features_in_ = encoder.n_features_in_
        return self

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        return np.asarray(self._fitted().predict(self._encoded(X)))

    def predict_proba(self, X: Any) -> Array:
        """p(C_k | x), (N, K)."""
        return np.asarray(self._fitted().predict_proba(self._encoded(X)))

    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """Lower and upper bound of each probability, where the model has a posterior."""
        return np.asarray(self._fitted().predict_interval(self._encoded(X), level))

    def summary(self, level: float = 0.95) -> Any:
        """The weights of the encoded columns, where the model has a posterior."""
        return self._fitted().summary(level)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    def _encoded(self, X: Any) -> Any:
        return _rows(self.encoder_, X, self.estimator_)


def _rows(encoder: TableEncoder, X: Any, estimator: Any) -> Any:
    """The numbers, named where the model is of this package."""
    numbers = encoder.transform(X)
    is_ours = type(estimator).__module__.startswith("separatrix.")
    return NamedRows(numbers, encoder.schema_.columns) if is_ours else numbers
