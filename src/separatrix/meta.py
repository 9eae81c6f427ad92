# SPDX-License-Identifier: BSD-3-Clause
"""What classifiers around a classifier share: weights and names pass through, rows may be rejected."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from separatrix._array import Array
from separatrix.estimator import truth_in_memory
from separatrix.exceptions import DataError

__all__ = [
    "AbstractWrapper",
    "choose_reject_label",
    "enumerated",
    "fit_arguments",
    "is_ours",
    "labels_with_reject",
    "listed",
]

PACKAGE = __name__.partition(".")[0]


class AbstractWrapper(MetaEstimatorMixin, ClassifierMixin, BaseEstimator, ABC):
    """A classifier around ``estimator``, which alone looks at the tables and knows their columns."""

    # Weights are handed to the wrapped fit and not used here: only its own request for them counts.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    estimator: Any

    @abstractmethod
    def _fitted(self) -> Any:
        """A fitted classifier that has seen the columns of the training table; NotFittedError before that."""

    @property
    def n_features_in_(self) -> int:
        """Number of columns, as the wrapped classifier counts them."""
        return int(self._fitted().n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns, where the wrapped classifier was given any."""
        return np.asarray(self._fitted().feature_names_in_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows that `predict` gets right, weighted; labels and weights of a scan are its columns."""
        y, sample_weight = truth_in_memory(X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    def get_metadata_routing(self) -> MetadataRouter:
        """Weights given to ``fit`` go to the wrapped ``fit``; those given to ``score`` stay here."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=to_fit)

    def __sklearn_tags__(self) -> Any:
        """The wrapped classifier says which tables are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def fit_arguments(owner: AbstractWrapper, sample_weight: Any) -> dict[str, Any]:
    """What ``owner`` passes on to the ``fit`` of the classifier it wraps."""
    if sample_weight is None:
        return {}
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(owner, "fit", sample_weight=sample_weight).estimator.fit)
    if not has_fit_parameter(owner.estimator, "sample_weight"):
        raise TypeError(
            f"{type(owner).__name__} was given sample_weight, but {type(owner.estimator).__name__}.fit takes "
            "none. Leave it out; or, where a step inside takes it, call that step's "
            "set_fit_request(sample_weight=True) after sklearn.set_config(enable_metadata_routing=True)."
        )
    return {"sample_weight": sample_weight}


def choose_reject_label(classes: Array, label: Any) -> Any:
    """The label the user chose for rejected rows; else -1 for numeric classes and "reject" for others."""
    if label is not None:
        return label
    return -1 if classes.dtype.kind in "biuf" else "reject"


def labels_with_reject(classes: Array, label: Any) -> Array:
    """Labels of the codes 0 .. K: the classes, then the reject label, in a dtype that changes neither."""
    label = choose_reject_label(classes, label)
    if label in classes.tolist():
        raise DataError(
            f"The reject label {label!r} is also a class ({listed(classes.tolist())}), so a rejected row "
            "could not be told from that class. Set reject_label to something else."
        )
    alike = isinstance(label, numbers.Number) if classes.dtype.kind in "biuf" else isinstance(label, str)
    dtype = None if alike else object  # np.append(["a"], -1) would hold "-1", and np.append([0], "no") a "0"
    return np.append(np.asarray(classes, dtype), np.array([label], dtype))


def listed(labels: list[Any]) -> str:
    """Labels for a message, the first few where there are many."""
    return ", ".join(map(repr, labels[:8])) + (", ..." if len(labels) > 8 else "")


def enumerated(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def is_ours(kind: type) -> bool:
    """Whether a class is of this package."""
    return kind.__module__.partition(".")[0] == PACKAGE
