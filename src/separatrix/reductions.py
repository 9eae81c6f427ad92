# SPDX-License-Identifier: BSD-3-Clause
"""K classes from binary classifiers: one-vs-rest, one-vs-one, and their ambiguous regions.                PRML §4.1.2

**One-vs-rest** fits K classifiers, each for one class against all others. Classifier k claims x for C_k if y_k(x) > 0.
Rows claimed by no class, or by several, are ambiguous (the green region of figure 4.2, left). They get the class that a
joint linear machine (4.9) would choose,

    predict(x) = argmax_k y_k(x)

although the y_k were fitted separately and may be on different scales. For other rows, the only positive y_k is also
the largest.

**One-vs-one** fits a classifier for every pair of classes. Each votes for C_j if y_ij(x) > 0, otherwise for C_i. If
several classes have the most votes, a row is ambiguous (figure 4.2, right). The sum of the values for each class then
decides,

    v_k = votes for C_k,   s_k = Σ_{i<k} y_ik - Σ_{j>k} y_kj
    predict(x) = argmax_k  v_k + s_k / (3 (1 + |s_k|))

where the second term lies in (-1/3, 1/3), so it only decides between classes with equal votes.

**Pairwise coupling** computes K class probabilities from those of every pair, by the second method of Wu, Lin & Weng
(2004, JMLR 5, 975-1005): one system (Q + 11') p = (1 + c) 1 for each row, see docs/decisions.md.

Q + 11' is positive definite for any r: if v'(Q + 11')v = 0 for some v ≠ 0, then r_ji v_i = r_ij v_j for every pair and
Σ v_i = 0. So two v have opposite signs, and r_ij = r_ji = 0 for these two, which contradicts r_ij + r_ji = 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix._arguments import check_jobs, check_option
from separatrix._array import Array, Codes, Float, Rows
from separatrix.exceptions import DataError, Unavailable
from separatrix.explanation import Explained
from separatrix.meta import INSIDE, AbstractWrapper, describe, fit_arguments, labels_with_reject, require_fit, take_rows
from separatrix.rows import (
    RowStore,
    as_table,
    check_weight,
    encode_labels,
    given_classes,
    readable_again,
    recode_classes,
    require_classes,
    targets_in_memory,
    without_targets,
)

__all__ = ["OneVsOne", "OneVsRest", "take_rows"]

MAX_DECISION = 1e300  # sums of larger decision values overflow
ENTRIES_PER_BATCH = 2**18  # entries of the K x K systems solved together, 2 MB of float64


class Problem(NamedTuple):
    """Labels of a binary problem, its two classes, and the numbers of its rows (None: all rows)."""

    labels: Array
    classes: Array
    rows: Codes | None = None


def has_probabilities(reduction: AbstractReduction) -> bool:
    """Whether the wrapped classifier, fitted or not, has ``predict_proba``."""
    model = vars(reduction).get("estimators_", [reduction.estimator])[0]
    return getattr(model, "predict_proba", None) is not None


def has_partial_fit(reduction: AbstractReduction) -> bool:
    """Whether the wrapped classifier can be fitted in batches; otherwise raises its AttributeError."""
    return callable(reduction.estimator.partial_fit)


class AbstractReduction(AbstractWrapper):
    """Base class of `OneVsRest` and `OneVsOne`: fitting, prediction and scikit-learn's contract.

    A subclass defines the binary problems, the classes that their values y(x) claim, which claims are ambiguous, and
    how values and probabilities are combined.
    """

    __metadata_request__partial_fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    classes_: Array
    estimators_: list[Any]
    summary: Any = Unavailable(f"{INSIDE} each classifier in estimators_.")
    with_covariance: Any = Unavailable(f"{INSIDE} each classifier in estimators_.")

    def __init__(
        self, estimator: Any, *, ambiguous: str = "resolve", reject_label: Any = None, n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.ambiguous = ambiguous
        self.reject_label = reject_label
        self.n_jobs = n_jobs

    @abstractmethod
    def _problems(self, classes: Array, codes: Codes) -> Iterator[Problem]:
        """Iterator over the binary problems, for three or more classes."""

    @abstractmethod
    def _claims(self, Y: Float) -> Codes:
        """Number of claims (N, K) for each class; Y has the values of one binary classifier per column."""

    @abstractmethod
    def _disputed(self, claims: Codes) -> Array:
        """Whether each row is ambiguous by its claims, (N,)."""

    @abstractmethod
    def _strength(self, Y: Float) -> Float:
        """Decision values (N, K), which are largest for the claimed class if it is unambiguous."""

    @abstractmethod
    def _combine(self, P: Float) -> Float:
        """Class probabilities (N, K) from the probability of the second class in each binary problem."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit a clone of the wrapped classifier to each binary problem; for two classes, fit one clone to ``y``.

        X is any table that the wrapped classifier accepts. ``y`` contains labels of two or more classes; it is optional
        for a scan with a target column. ``sample_weight`` is allowed if the wrapped classifier accepts weights.
        """
        y, sample_weight = targets_in_memory(X, y, sample_weight)
        classes, codes = encode_labels(y)
        require_classes(classes)
        return self._fit(X, classes, codes, sample_weight, self._clones(), "fit")

    @available_if(has_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update each binary classifier with a batch of rows, by its own ``partial_fit``.

        The first call needs all ``classes``. A classifier of a pair of `OneVsOne` is not updated by a batch that has no
        rows of its classes.
        """
        if "classes_" not in vars(self):
            if classes is None:
                raise ValueError(
                    f"classes must be passed on the first call to partial_fit. {type(self).__name__} fits one "
                    "classifier for each class or pair, and a batch may lack some: partial_fit(X, y, classes=...)."
                )
            known = given_classes(classes)
            require_classes(known)
            models = self._clones()
        else:
            known, models = self.classes_, iter(deepcopy(self.estimators_))  # a failure changes none of them
            if classes is not None and not np.array_equal(given_classes(classes), known):
                raise DataError(
                    f"partial_fit(classes={classes!r}): the first batch had other classes, {known.tolist()}. Give all "
                    "classes with the first batch, and none later."
                )
        y, sample_weight = targets_in_memory(X, y, sample_weight)
        _, codes = recode_classes(known, *encode_labels(y))
        return self._fit(X, known, codes, sample_weight, models, "partial_fit")

    def _clones(self) -> Iterator[Any]:
        """Unfitted copies of the wrapped classifier, as many as needed."""
        while True:
            yield clone(self.estimator)

    def _fit(
        self, X: Any, classes: Array, codes: Codes, sample_weight: Any, models: Iterator[Any], method: str
    ) -> Self:
        """Fit the models of all binary problems with one of their methods, "fit" or "partial_fit"."""
        check_option(type(self).__name__, "ambiguous", self.ambiguous, ("resolve", "reject"))
        n_jobs = check_jobs(type(self).__name__, self.n_jobs)
        require_fit(type(self).__name__, self.estimator)
        if all(getattr(self.estimator, name, None) is None for name in ("decision_function", "predict_proba")):
            raise TypeError(
                f"{type(self.estimator).__name__} has neither decision_function nor predict_proba, so its results for "
                "several classes cannot be compared. Wrap a classifier that has one of them."
            )
        X, codes = (without_targets(X), codes) if isinstance(X, RowStore) else indexable(as_table(X), codes)
        weight = check_weight(sample_weight, len(codes))
        if weight is None and sample_weight is not None:  # all are 1, and the wrapped classifier may require weights
            weight = np.ones(len(codes))
        arguments = fit_arguments(self, weight, method)
        if self.ambiguous == "reject" and len(classes) > 2:
            labels_with_reject(classes, self.reject_label)
        problems = self._problems(classes, codes) if len(classes) > 2 else iter([Problem(classes[codes], classes)])
        self.estimators_ = Parallel(n_jobs=n_jobs)(
            delayed(_fit_problem)(next(models), X, problem, arguments, method) for problem in problems
        )
        self.classes_ = classes
        return self

    def decision_function(self, X: Any) -> Float:
        """Decision values (N, K), which are largest for the class that ``predict`` returns if it does not reject.

        For two classes, the decision values (N,) of the wrapped classifier.
        """
        Y = self._discriminants(X)
        return self._strength(Y) if len(self.classes_) > 2 else Y[:, 0]

    def claims(self, X: Any) -> Codes:
        """Number of binary classifiers that claim each row for each class, (N, K)."""
        Y = self._discriminants(X)
        if len(self.classes_) > 2:
            return self._claims(Y)
        return np.column_stack([Y <= 0, Y > 0]).astype(np.intp)

    def is_ambiguous(self, X: Any) -> Array:
        """Whether each row lies in the ambiguous region of PRML §4.1.2, (N,); always False for two classes."""
        return self._disputed(self.claims(X))

    def predict(self, X: Any) -> Array:
        """The class of each row. Ambiguous rows get the class of the largest decision value, or the reject label."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return np.asarray(self.estimators_[0].predict(X))
        Y = self._discriminants(X)
        codes = self._strength(Y).argmax(axis=1)
        if self.ambiguous == "resolve":
            return np.asarray(self.classes_[codes])
        codes[self._disputed(self._claims(Y))] = len(self.classes_)
        return np.asarray(labels_with_reject(self.classes_, self.reject_label)[codes])

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Float:
        """p(C_k | x) from the probabilities of the binary classifiers, (N, K)."""
        check_is_fitted(self)
        X = readable_again(X) if len(self.estimators_) > 1 else X
        P = [np.asarray(model.predict_proba(X), dtype=np.float64) for model in self.estimators_]
        return self._combine(np.column_stack([p[:, 1] for p in P])) if len(self.classes_) > 2 else P[0]

    def _discriminants(self, X: Any) -> Float:
        """y(x) with one column per binary classifier: its decision values, or 2 p(C_1 | x) - 1."""
        check_is_fitted(self)
        X = readable_again(X) if len(self.estimators_) > 1 else X

        def discriminant(model: Any) -> Float:
            if getattr(model, "decision_function", None) is not None:
                return np.asarray(column_or_1d(model.decision_function(X)), dtype=np.float64)
            return 2 * np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1] - 1

        return np.column_stack([discriminant(model) for model in self.estimators_])

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimators_[0]


def _fit_problem(model: Any, X: Any, problem: Problem, arguments: dict[str, Any], method: str) -> Any:
    labels, classes, rows = problem
    if method == "partial_fit":
        arguments = {"classes": classes, **arguments}
    if rows is None:
        return getattr(model, method)(X, labels, **arguments)
    if isinstance(X, RowStore):
        raise DataError(
            "OneVsOne selects the rows of two classes, but a scan cannot select rows by number. Use OneVsRest, or a "
            "multiclass model such as LogisticRegression."
        )
    if not len(rows):  # a batch without rows of these classes
        return model
    if "sample_weight" in arguments:
        arguments = {**arguments, "sample_weight": arguments["sample_weight"][rows]}
    return getattr(model, method)(take_rows(X, rows), labels, **arguments)


class OneVsRest(AbstractReduction):
    """Classify K classes with K binary classifiers, each for one class against the rest.

    predict(x) = argmax_k y_k(x);   x is ambiguous unless exactly one y_k(x) > 0                   PRML §4.1.2

    y_k is the decision value of the classifier for class k, or 2 p - 1 if it only has probabilities.
    ``predict_proba`` divides the K probabilities by their sum. With two classes there is one classifier, and every
    method returns its result.

    Parameters
    ----------
    estimator : classifier with ``decision_function`` or ``predict_proba``
        A clone is fitted for each class, with labels 1 (the class) and 0 (the rest). To use costs or a reject threshold
        on probabilities, wrap the reduction in `DecisionRule`, not the estimator.
    ambiguous : {"resolve", "reject"}, default "resolve"
        Whether ``predict`` gives an ambiguous row the class of the largest decision value, or the reject label.
    reject_label : label, optional
        Prediction for a rejected row; by default -1 for numeric classes and "reject" for other classes.
    n_jobs : int, optional
        Number of classifiers fitted in parallel, as in joblib; 1 by default.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    estimators_ : list of K classifiers
        Classifiers in the order of ``classes_``; a single classifier for two classes.
    n_classes_, n_features_in_, feature_names_in_ : int, int and ndarray of shape (D,)
        As in scikit-learn.

    Notes
    -----
    If the wrapped classifier has ``partial_fit``, so has the reduction; its first call needs ``classes``.

    Examples
    --------
    Three classes at the corners of a triangle; no class claims its centre:

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]], ["left", "right", "top"]
    >>> model = OneVsRest(LogisticRegression(C=100)).fit(X, y)
    >>> centre = [[0.45, 0.3]]
    >>> model.claims(centre), model.is_ambiguous(centre), model.predict(centre)
    (array([[0, 0, 0]]), array([ True]), array(['left'], dtype='<U5'))
    >>> model.set_params(ambiguous="reject").predict(centre)
    array(['reject'], dtype='<U6')
    """

    def _problems(self, classes: Array, codes: Codes) -> Iterator[Problem]:
        return (Problem((codes == k).astype(np.intp), np.arange(2)) for k in range(len(classes)))

    def _claims(self, Y: Float) -> Codes:
        return (Y > 0).astype(np.intp)

    def _disputed(self, claims: Codes) -> Array:
        return np.asarray(claims.sum(axis=1) != 1)

    def _strength(self, Y: Float) -> Float:
        return Y

    def _combine(self, P: Float) -> Float:
        """p_k / Σ_j p_j, or 1/K if all p_j are zero."""
        total = P.sum(axis=1, keepdims=True)
        uniform = np.full_like(P, 1 / P.shape[1])
        return np.asarray(np.divide(P, total, out=uniform, where=total > 0))

    def _explained(self, rows: Any, reference: Any) -> Explained:
        """Description for `explain`: each class is explained by its own classifier against the rest."""
        parts = [describe(model, rows, reference, type(self).__name__) for model in self.estimators_]
        if len(parts) == 1:
            return parts[0]

        def probabilities(X: Rows) -> Float:
            return self._combine(np.column_stack([part.probabilities(X)[:, 1] for part in parts]))

        note = "Contributions are those of the classifier of the class against the rest, before probabilities add to 1."
        whole = [
            replace(
                part,
                classes=self.classes_,
                probabilities=probabilities,
                intervals=None,
                adjustment="(sum to one)",
                is_adjusted=True,
                notes=(*part.notes, note),
            )
            for part in parts
        ]
        return replace(whole[0], against_rest=tuple(whole))


class OneVsOne(AbstractReduction):
    """Classify K classes with K(K-1)/2 binary classifiers, one for each pair of classes.

    predict(x) = the class with the most votes;   x is ambiguous if several classes have the most  PRML §4.1.2

    y_ij is the decision value of the classifier for the pair, or 2 p - 1 if it only has probabilities.
    ``predict_proba`` couples the probabilities of the pairs (Wu, Lin & Weng 2004, second method); its largest entry
    may differ from the winner of the vote. With two classes there is one classifier, and every method returns its
    result.

    Parameters
    ----------
    estimator : classifier with ``decision_function`` or ``predict_proba``
        A clone is fitted for each pair, to the rows of both classes. To use costs or a reject threshold
        on probabilities, wrap the reduction in `DecisionRule`, not the estimator.
    ambiguous, reject_label, n_jobs
        As in `OneVsRest`.

    Attributes
    ----------
    estimators_ : list of K(K-1)/2 classifiers
        Classifiers for the pairs of classes (0, 1), (0, 2), ..., (K-2, K-1).
    classes_, n_features_in_, feature_names_in_
        As in `OneVsRest`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]], ["left", "right", "top"]
    >>> model = OneVsOne(LogisticRegression(C=100)).fit(X, y)
    >>> model.claims([[0.1, 0.0], [0.9, 0.0]])
    array([[2, 1, 0],
           [1, 2, 0]])
    >>> model.predict([[0.1, 0.0], [0.9, 0.0]])
    array(['left', 'right'], dtype='<U5')
    """

    def _problems(self, classes: Array, codes: Codes) -> Iterator[Problem]:
        if get_tags(self.estimator).input_tags.pairwise:
            raise DataError(
                f"{type(self.estimator).__name__} needs similarities to all training rows, but a pair of classes has "
                "only some of them. Use OneVsRest, or let the classifier compute its own kernel."
            )
        rows = [np.flatnonzero(codes == k) for k in range(len(classes))]
        for i, j in pairs(len(classes)):
            both = np.sort(np.concatenate([rows[i], rows[j]]))  # rows in the order of the table
            yield Problem(classes[codes[both]], classes[[i, j]], both)

    def _claims(self, Y: Float) -> Codes:
        K = len(self.classes_)
        by_default = np.arange(K)[::-1]  # C_k is first in K-1-k pairs, which it wins unless the value is positive
        return by_default + ((Y > 0) @ sides(K)).astype(np.intp)

    def _disputed(self, claims: Codes) -> Array:
        return np.asarray((claims == claims.max(axis=1, keepdims=True)).sum(axis=1) > 1)

    def _strength(self, Y: Float) -> Float:
        s = np.clip(Y, -MAX_DECISION, MAX_DECISION) @ sides(len(self.classes_))
        return np.asarray(self._claims(Y) + s / (3 * (1 + np.abs(s))))

    def _combine(self, P: Float) -> Float:
        return couple(P, len(self.classes_))

    def _explained(self, rows: Any, reference: Any) -> Explained:
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return describe(self.estimators_[0], rows, reference, type(self).__name__)
        raise TypeError(
            "OneVsOne cannot be explained: it combines the probabilities of all pairs of classes, so its log-odds are "
            "no sum over columns. Explain the classifier of one pair, in estimators_, or use LogisticRegression."
        )


def pairs(K: int) -> list[tuple[int, int]]:
    """All pairs of K classes, in the order (0, 1), (0, 2), ..., (K-2, K-1)."""
    return [(i, j) for i in range(K) for j in range(i + 1, K)]


def sides(K: int) -> Float:
    """Matrix (K(K-1)/2, K) with -1 for the first class of each pair, +1 for the second, and 0 elsewhere."""
    i, j = np.transpose(pairs(K))
    return np.asarray(np.eye(K)[j] - np.eye(K)[i])


def couple(r: Float, K: int) -> Float:
    """p (N, K) from r (N, K(K-1)/2), whose column for the pair (i, j) is the probability of j against i."""
    i, j = np.transpose(pairs(K))
    p = np.empty((len(r), K))
    step = max(1, ENTRIES_PER_BATCH // K**2)
    for start in range(0, len(r), step):
        part = r[start : start + step]
        R = np.zeros((len(part), K, K))
        R[:, j, i], R[:, i, j] = part, 1 - part
        Q = -R * R.transpose(0, 2, 1)
        Q[:, range(K), range(K)] = np.square(R).sum(axis=1)
        p[start : start + step] = np.linalg.solve(Q + 1.0, np.ones((len(part), K, 1)))[..., 0]
    p = np.maximum(p, 0.0)  # p >= 0 up to rounding
    return np.asarray(p / p.sum(axis=1, keepdims=True))
