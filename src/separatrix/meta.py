# SPDX-License-Identifier: BSD-3-Clause
"""Base class of classifiers that wrap another classifier, selection of rows, and labels for rejected rows."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import signature
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from sklearn import get_config
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from separatrix._arguments import Estimator
from separatrix._array import Array, Codes
from separatrix._text import listed
from separatrix.estimator import truth_in_memory
from separatrix.exceptions import PACKAGE, DataError
from separatrix.rows import as_frame, is_dask


class AbstractWrapper(MetaEstimatorMixin, ClassifierMixin, Estimator, ABC):
    """A classifier that wraps ``estimator``; the latter opens tables and checks their columns."""

    # Weights are only passed on to the wrapped fit, so only the request of the wrapped classifier matters.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    estimator: Any

    @abstractmethod
    def _fitted(self) -> Any:
        """Return a fitted classifier that was fitted to the training table; raise NotFittedError before the fit."""

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the training table."""
        return int(self._fitted().n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns, if the training table had any."""
        return np.asarray(self._fitted().feature_names_in_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Weighted fraction of rows that `predict` classifies correctly; a scan has its own labels and weights."""
        y, sample_weight = truth_in_memory(X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    def get_metadata_routing(self) -> MetadataRouter:
        """Route weights given to ``fit`` to the wrapped ``fit``; weights given to ``score`` are used here."""
        to_fit = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="partial_fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=to_fit)

    def __sklearn_tags__(self) -> Any:
        """Tags with the input tags of the wrapped classifier."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def fit_arguments(owner: AbstractWrapper, sample_weight: Any, method: str = "fit") -> dict[str, Any]:
    """Return the arguments that ``owner`` passes to the ``fit``, or the ``partial_fit``, of the wrapped classifier."""
    if sample_weight is None:
        return {}
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(owner, method, sample_weight=sample_weight).estimator[method])
    if "sample_weight" not in signature(getattr(owner.estimator, method)).parameters:
        raise TypeError(
            f"{type(owner).__name__} was given sample_weight, but {type(owner.estimator).__name__}.{method} does "
            "not accept it. Omit it; or, if a step of a pipeline accepts it, call that step's "
            "set_fit_request(sample_weight=True) after sklearn.set_config(enable_metadata_routing=True)."
        )
    return {"sample_weight": sample_weight}


def take_rows(X: Any, rows: Codes) -> Any:
    """Rows of an array, CSR matrix, data frame, Arrow table or list by number, without converting the table."""
    if is_dask(X) and not isinstance(X.shape[0], int):
        raise DataError(
            "Rows cannot be selected by number, because the length of this Dask collection is unknown. Use "
            "X.to_dask_array(lengths=True), X.compute_chunk_sizes(), or OneVsRest."
        )
    if nw.dependencies.is_into_dataframe(X) or nw.dependencies.is_into_series(X):
        return as_frame(X)[rows].to_native()
    return [X[n] for n in rows] if isinstance(X, Sequence) else X[rows]


def choose_reject_label(classes: Array, label: Any) -> Any:
    """Return the label for rejected rows: as given, or -1 for numeric classes and "reject" for others."""
    if label is not None:
        return label
    return -1 if classes.dtype.kind in "biuf" else "reject"


def labels_with_reject(classes: Array, label: Any) -> Array:
    """Return the labels of the codes 0 .. K: the classes, then the reject label, in a dtype that changes neither."""
    label = choose_reject_label(classes, label)
    if label in classes.tolist():
        raise DataError(
            f"The reject label {label!r} is also a class ({listed(classes.tolist())}), so rejected "
            "rows could not be distinguished from that class. Set reject_label to another value."
        )
    alike = isinstance(label, numbers.Number) if classes.dtype.kind in "biuf" else isinstance(label, str)
    dtype = None if alike else object  # NumPy would convert -1 to "-1", or 0 to "0"
    return np.append(np.asarray(classes, dtype), np.array([label], dtype))


def is_ours(kind: type) -> bool:
    """Whether a class belongs to this package."""
    return kind.__module__.partition(".")[0] == PACKAGE
