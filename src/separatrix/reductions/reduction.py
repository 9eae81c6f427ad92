# SPDX-License-Identifier: BSD-3-Clause
"""What one-vs-rest and one-vs-one share: K classes from binary classifiers, and the region they leave open.

A reduction says which binary problems are fitted, how their values y(x) claim classes, which claims are
ambiguous, and how values and probabilities combine. Fitting, prediction and scikit-learn's contract are here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix._arguments import check_option
from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.meta import AbstractWrapper, fit_arguments, labels_with_reject
from separatrix.reductions.rows import take_rows
from separatrix.rows import RowStore, as_table, check_weight, encode_labels, numbers_beside, require_classes, rows_alone

__all__ = ["AbstractReduction", "Problem", "discriminant"]


class Problem(NamedTuple):
    """One binary problem: the labels, of the rows that take part (None: all rows)."""

    labels: Array
    rows: Codes | None = None


def has_probabilities(reduction: AbstractReduction) -> bool:
    """Whether the wrapped classifier has ``predict_proba``; a fitted one is asked where there is one."""
    model = vars(reduction).get("estimators_", [reduction.estimator])[0]
    return getattr(model, "predict_proba", None) is not None


class AbstractReduction(AbstractWrapper):
    """K classes from binary classifiers."""

    classes_: Array
    estimators_: list[Any]

    def __init__(
        self,
        estimator: Any,
        *,
        ambiguous: str = "resolve",
        reject_label: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.ambiguous = ambiguous
        self.reject_label = reject_label
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit a clone of the wrapped classifier to each binary problem; for two classes, one to ``y`` itself.

        Parameters
        ----------
        X : table that the wrapped classifier accepts
            Rows.
        y : array-like of shape (N,)
            Labels of two or more classes; of a scan, its target column if they are not given.
        sample_weight : array-like of shape (N,), optional
            Weights, for a wrapped classifier that takes them.

        Returns
        -------
        self
            This object.
        """
        check_option(type(self).__name__, "ambiguous", self.ambiguous, ("resolve", "reject"))
        _require_discriminant(self.estimator)
        y, sample_weight = numbers_beside(X, y, sample_weight)
        classes, codes = encode_labels(y)
        require_classes(classes)
        X, codes = (rows_alone(X), codes) if isinstance(X, RowStore) else indexable(as_table(X), codes)
        arguments = fit_arguments(self, check_weight(sample_weight, len(codes)))
        if self.ambiguous == "reject" and len(classes) > 2:
            labels_with_reject(classes, self.reject_label)
        problems = self._problems(classes, codes) if len(classes) > 2 else iter([Problem(classes[codes])])
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_problem)(clone(self.estimator), X, problem, arguments) for problem in problems
        )
        self.classes_ = classes
        return self

    def decision_function(self, X: Any) -> Float:
        """How strongly each class is claimed, (N, K), largest for the class that ``predict`` resolves to.

        For two classes the decision values (N,) of the wrapped classifier.
        """
        Y = self._discriminants(X)
        return self._strength(Y) if len(self.classes_) > 2 else Y[:, 0]

    def claims(self, X: Any) -> Codes:
        """How many binary classifiers claim each row for each class, (N, K)."""
        return self._count(self._discriminants(X))

    def is_ambiguous(self, X: Any) -> Array:
        """Whether each row lies in the ambiguous region of PRML §4.1.2, (N,); nowhere for two classes."""
        return self._disputed(self.claims(X))

    def predict(self, X: Any) -> Array:
        """The class of each row. Ambiguous rows go to the largest decision value, or get the reject label."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return np.asarray(self.estimators_[0].predict(X))
        Y = self._discriminants(X)
        codes = self._strength(Y).argmax(axis=1)
        if self.ambiguous == "resolve":
            return np.asarray(self.classes_[codes])
        codes[self._disputed(self._count(Y))] = len(self.classes_)
        return np.asarray(labels_with_reject(self.classes_, self.reject_label)[codes])

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Float:
        """p(C_k | x) from the probabilities of the binary classifiers, (N, K)."""
        check_is_fitted(self)
        X = as_table(X)
        P = [np.asarray(model.predict_proba(X), dtype=np.float64) for model in self.estimators_]
        return self._combine(np.column_stack([p[:, 1] for p in P])) if len(self.classes_) > 2 else P[0]

    @abstractmethod
    def _problems(self, classes: Array, codes: Codes) -> Iterator[Problem]:
        """The binary problems, for three classes or more; each is made when it is fitted."""

    @abstractmethod
    def _claims(self, Y: Float) -> Codes:
        """Claims (N, K) from the values Y of the binary discriminants, one column each."""

    @abstractmethod
    def _disputed(self, claims: Codes) -> Array:
        """Which rows no class wins by claims alone."""

    @abstractmethod
    def _strength(self, Y: Float) -> Float:
        """Decision values (N, K) that agree with the claims where those are not ambiguous."""

    @abstractmethod
    def _combine(self, P: Float) -> Float:
        """Class probabilities (N, K) from those of the second class of each binary problem."""

    def _count(self, Y: Float) -> Codes:
        if len(self.classes_) > 2:
            return self._claims(Y)
        return np.column_stack([Y <= 0, Y > 0]).astype(np.intp)

    def _discriminants(self, X: Any) -> Float:
        """y(x) of each binary classifier, one column each."""
        check_is_fitted(self)
        X = as_table(X)
        return np.column_stack([discriminant(model, X) for model in self.estimators_])

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimators_[0]


def discriminant(model: Any, X: Any) -> Float:
    """y(x), positive where a binary classifier decides for the second of its classes.

    Its decision values if it has any, else 2 p(C_1 | x) - 1.
    """
    if getattr(model, "decision_function", None) is not None:
        return np.asarray(column_or_1d(model.decision_function(X)), dtype=np.float64)
    return 2 * np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1] - 1


def _fit_problem(model: Any, X: Any, problem: Problem, arguments: dict[str, Any]) -> Any:
    if problem.rows is None:
        return model.fit(X, problem.labels, **arguments)
    if isinstance(X, RowStore):
        raise DataError(
            "OneVsOne fits each classifier to the rows of two classes, and a scan does not find rows by number. Use "
            "OneVsRest, or a model of all classes at once, such as LogisticRegression."
        )
    arguments = {name: take_rows(value, problem.rows) for name, value in arguments.items()}
    return model.fit(take_rows(X, problem.rows), problem.labels, **arguments)


def _require_discriminant(estimator: Any) -> None:
    if all(getattr(estimator, name, None) is None for name in ("decision_function", "predict_proba")):
        raise TypeError(
            f"{type(estimator).__name__} has neither decision_function nor predict_proba, so its answers for "
            "several classes could not be compared. Wrap a classifier that has one of them."
        )
