# SPDX-License-Identifier: BSD-3-Clause
"""Bayesian model averaging: p(C_k | x, D) = Σ_i p(M_i | D) p(C_k | x, M_i, D).                  PRML (3.67)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array
from separatrix.comparison.candidates import name_models
from separatrix.comparison.evidence import model_probabilities, read_evidence
from separatrix.comparison.trial import in_order, weight_arguments
from separatrix.estimator import truth_beside
from separatrix.exceptions import DataError
from separatrix.meta import is_ours
from separatrix.rows import RowStore, check_weight, encode_labels, gathered, is_dask, labels_of, require_classes

__all__ = ["ModelAverage", "average_fitted"]


class ModelAverage(ClassifierMixin, BaseEstimator):
    """Models weighed by how probable they make the labels.

    p(C_k | x, D) = Σ_i p(M_i | D) p(C_k | x, M_i, D),    p(M_i | D) ∝ p(M_i) p(D | M_i)        (PRML 3.66, 3.67)

    Parameters
    ----------
    models : list of classifiers, or mapping {name: classifier}
        Each must state the evidence p(D | M_i) of its training labels, as ``log_evidence_``.
    prior : mapping {name: weight}, optional
        p(M_i), up to a common factor; equal by default.

    Attributes
    ----------
    weights_ : dict
        p(M_i | D) by name.
    models_ : dict
        The fitted models by name.
    classes_ : ndarray of shape (K,)
    n_features_in_, feature_names_in_ : as the models count and name the columns

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix.bayesian.logistic import BayesianLogisticRegression
    >>> from separatrix.priors import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> wide, narrow = (BayesianLogisticRegression(prior=Gaussian(scale=s)) for s in (5.0, 0.1))
    >>> average = ModelAverage({"wide": wide, "narrow": narrow}).fit(X[50:], y[50:])
    >>> max(average.weights_, key=average.weights_.get)
    'wide'
    """

    def __init__(self, models: Any, prior: Mapping[str, float] | None = None) -> None:
        self.models = models
        self.prior = prior

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ModelAverage:
        """Fit a clone of every model to the same rows, and weigh them by their evidences.

        Labels and weights of a scan are its columns, where they are not given. Scans and Dask collections are read by
        models of this package alone.
        """
        models = name_models(self.models)
        if isinstance(X, RowStore) or is_dask(X):
            _require_readers(models, X)
        else:  # labels of any type become what the models of every library take
            classes, codes = encode_labels(y)
            require_classes(classes)
            y, sample_weight = classes[codes], check_weight(sample_weight, len(codes))
        for model in models.values():
            model.fit(X, y, **weight_arguments(model, sample_weight))
        evidence = {name: read_evidence(model) for name, model in models.items()}
        silent = [name for name, found in evidence.items() if not found.of_labels]
        if silent:
            raise ValueError(f"{silent[0]!r} states no evidence p(t | x) of its training labels, and has no weight.")
        weights = model_probabilities({name: found.log_evidence for name, found in evidence.items()}, self.prior)
        self.models_, self.weights_ = models, weights
        self.classes_ = np.asarray(next(iter(models.values())).classes_)
        return self

    def predict_proba(self, X: Any) -> Any:
        """p(C_k | x, D), (N, K); lazy where X is."""
        check_is_fitted(self)
        terms = (
            weight * in_order(self.models_[name].predict_proba(X), self.models_[name], self.classes_)
            for name, weight in self.weights_.items()
            if weight > 0
        )
        return sum(terms)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        P = self.predict_proba(X)
        return labels_of(self.classes_, P.argmax(axis=1))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows that `predict` gets right, weighted; labels and weights of a scan are its columns."""
        from sklearn.metrics import accuracy_score

        truth, weight = truth_beside(X, y, sample_weight)
        truth, found, weight = gathered(truth, self.predict(X), weight)
        return float(accuracy_score(truth, found, sample_weight=weight))

    @property
    def n_features_in_(self) -> int:
        """Number of columns, as the models count them."""
        return int(self._first().n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns, where the models were given any."""
        return np.asarray(self._first().feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return "weights_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Tables that every model welcomes are welcome."""
        tags = super().__sklearn_tags__()
        models = self.models.values() if isinstance(self.models, Mapping) else self.models
        inputs = [get_tags(model).input_tags for model in models]
        tags.input_tags.sparse = all(found.sparse for found in inputs)
        tags.input_tags.allow_nan = all(found.allow_nan for found in inputs)
        return tags

    def _first(self) -> Any:
        check_is_fitted(self)
        return next(iter(self.models_.values()))


def _require_readers(models: Mapping[str, Any], X: Any) -> None:
    for name, model in models.items():
        if not is_ours(type(model)):
            raise DataError(
                f"{name!r} is of {type(model).__module__.partition('.')[0]}, which takes tables in memory, and X is a "
                f"{type(X).__name__}. Leave that model out, or read the rows into memory for all of them."
            )


def average_fitted(models: dict[str, Any], weights: dict[str, float], classes: Array, prior: Any) -> ModelAverage:
    """The average of models that are fitted already, with their weights."""
    average = ModelAverage(models, prior)
    average.models_, average.weights_, average.classes_ = models, weights, classes
    return average
