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
from separatrix.exceptions import PACKAGE, DataError, Unavailable
from separatrix.explanation import Explained, Explains
from separatrix.rows import accuracy, as_frame, in_memory, is_class, is_dask, is_hashable

INSIDE = "the weights are those of the model inside, so call the method of"


class AbstractWrapper(Explains, MetaEstimatorMixin, ClassifierMixin, Estimator, ABC):
    """A classifier that wraps ``estimator``; the latter opens tables and checks their columns."""

    # Weights are only passed on to the wrapped fit, so only the request of the wrapped classifier matters.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    estimator: Any
    summary: Any = Unavailable(f"{INSIDE} estimator_.")
    with_covariance: Any = Unavailable(f"{INSIDE} estimator_.")

    @abstractmethod
    def _fitted(self) -> Any:
        """Return a fitted classifier that was fitted to the training table; raise NotFittedError before the fit."""

    def _explained(self, rows: Any, reference: Any) -> Explained:
        """Description for `explain` of the wrapped model; a wrapper that changes its probabilities adapts it."""
        return describe(self._fitted(), rows, reference, type(self).__name__)

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
        return accuracy(*in_memory(y, self.predict(X), sample_weight))

    def get_metadata_routing(self) -> MetadataRouter:
        """Route weights given to ``fit`` to the wrapped ``fit``; weights given to ``score`` are used here."""
        to_fit = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="partial_fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=to_fit)

    def __sklearn_tags__(self) -> Any:
        """Tags with the input tags of the wrapped classifier."""
        tags = super().__sklearn_tags__()
        tags.input_tags = input_tags(f"{type(self).__name__}(estimator=...)", self.estimator)
        return tags


def describe(model: Any, rows: Any, reference: Any, owner: str) -> Explained:
    """Return the description of a model inside a wrapper for `explain`; raises TypeError if it has none."""
    if not isinstance(model, Explains):
        raise TypeError(
            f"{owner}({type(model).__name__}()) cannot be explained: the log-odds are known as a sum over "
            "columns only for models of this package. Wrap one of them, such as sx.LogisticRegression()."
        )
    return model._explained(rows, reference)


def require_fit(owner: str, model: Any) -> None:
    """Raise unless a wrapped model has a method ``fit`` (a class has one too, but must be called first)."""
    if isinstance(model, type):
        raise TypeError(f"{owner}(estimator={model.__name__}): pass a model, not its class: {model.__name__}().")
    if not callable(getattr(model, "fit", None)):
        raise TypeError(f"{owner}(estimator={model!r}): the estimator must be a classifier, which has a method fit.")


def input_tags(owner: str, model: Any) -> Any:
    """Input tags of a model, as scikit-learn defines them; raise if it is not a model."""
    if not hasattr(model, "__sklearn_tags__") or isinstance(model, type):
        raise TypeError(f"{owner}: {model!r} is not a classifier of this package or of scikit-learn.")
    return get_tags(model).input_tags


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
    if not isinstance(X, Sequence) and not hasattr(X, "shape"):
        raise DataError(
            f"X is of type {type(X).__name__}, which has no rows. Pass an array, a data frame, or a list of rows."
        )
    return [X[n] for n in rows] if isinstance(X, Sequence) else X[rows]


def choose_reject_label(classes: Array, label: Any) -> Any:
    """Return the label for rejected rows: as given, or -1 for numeric classes and "reject" for others."""
    if label is not None:
        if not is_hashable(label):
            raise DataError(
                f"reject_label={label!r}: the label of rejected rows must be a single value, such as a number or text."
            )
        return label
    return -1 if classes.dtype.kind in "biuf" else "reject"


def labels_with_reject(classes: Array, label: Any) -> Array:
    """Return the labels of the codes 0 .. K: the classes, then the reject label, in a dtype that changes neither."""
    label = choose_reject_label(classes, label)
    if is_class(label, classes):
        raise DataError(
            f"The reject label {label!r} is also a class ({listed(classes.tolist())}), so rejected "
            "rows could not be distinguished from that class. Set reject_label to another value."
        )
    alike = {"U": str} | dict.fromkeys("biuf", numbers.Number)
    if isinstance(label, alike.get(classes.dtype.kind, ())):
        return np.append(classes, np.asarray(label))
    labels = np.empty(len(classes) + 1, dtype=object)  # NumPy would convert -1 to "-1", 0 to "0", or bytes to text
    labels[:-1], labels[-1] = classes, label
    return labels


def is_ours(kind: type) -> bool:
    """Whether a class belongs to this package."""
    return kind.__module__.partition(".")[0] == PACKAGE
