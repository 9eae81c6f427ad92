# SPDX-License-Identifier: BSD-3-Clause
"""One-vs-one: a binary classifier for every pair of classes, and a vote.                          PRML §4.1.2

y_ij(x) > 0 is a vote for C_j, else for C_i. Rows where several classes share the largest number of votes are
ambiguous: the green region of figure 4.2, right. They are resolved by the sum of the values for each class,

    v_k = votes for C_k,   s_k = Σ_{i<k} y_ik - Σ_{j>k} y_kj
    predict(x) = argmax_k  v_k + s_k / (3 (1 + |s_k|))

in which s decides between equal votes and, being squeezed into (-1/3, 1/3), never against them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.reductions.coupling import couple, pairs
from separatrix.reductions.reduction import AbstractReduction, Problem

__all__ = ["OneVsOne"]


class OneVsOne(AbstractReduction):
    """K classes from K(K-1)/2 binary classifiers, one for each pair of classes.

    predict(x) = the class with most votes;   x is ambiguous where several have as many            PRML §4.1.2

    y_ij is the decision value of the classifier of the pair, or 2 p - 1 where it has probabilities alone.
    ``predict_proba`` couples the probabilities of the pairs (Wu, Lin & Weng 2004, second method); its largest
    entry need not be the winner of the vote. With two classes there is one classifier, and every method gives
    its answer.

    Parameters
    ----------
    estimator : classifier with ``decision_function`` or ``predict_proba``
        Cloned for each pair and fitted to the rows of the pair, with their own labels. For costs or a reject
        threshold on probabilities put `DecisionRule` around the reduction, not inside it.
    ambiguous : {"resolve", "reject"}, default "resolve"
        What ``predict`` does with an ambiguous row: take the largest decision value, or say the reject label.
    reject_label : label, optional
        -1 for numeric classes and "reject" for others by default.
    n_jobs : int, optional
        Classifiers fitted at once, as in joblib; one by default.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    estimators_ : list of K(K-1)/2 classifiers
        For the pairs (0, 1), (0, 2), ..., (K-2, K-1) of classes.
    n_features_in_ : int
        Number of columns, as the wrapped classifier counts them.
    feature_names_in_ : ndarray of str
        Names of the columns, where the wrapped classifier was given any.

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
        _refuse_kernel(self.estimator)
        rows = [np.flatnonzero(codes == k) for k in range(len(classes))]
        for i, j in pairs(len(classes)):
            both = np.sort(np.concatenate([rows[i], rows[j]]))  # in the order of the table, as for other fits
            yield Problem(classes[codes[both]], both)

    def _claims(self, Y: Float) -> Codes:
        return votes(Y, len(self.classes_))

    def _disputed(self, claims: Codes) -> Array:
        return np.asarray((claims == claims.max(axis=1, keepdims=True)).sum(axis=1) > 1)

    def _strength(self, Y: Float) -> Float:
        K = len(self.classes_)
        s = Y @ sides(K)
        return np.asarray(votes(Y, K) + s / (3 * (1 + np.abs(s))))

    def _combine(self, P: Float) -> Float:
        return couple(P, len(self.classes_))


def votes(Y: Float, K: int) -> Codes:
    """Pairs won by each class, (N, K), from the values Y (N, K(K-1)/2) of the pairwise discriminants."""
    by_default = np.arange(K)[::-1]  # C_k comes first in K-1-k pairs and wins them but for a positive value
    return by_default + ((Y > 0) @ sides(K)).astype(np.intp)


def sides(K: int) -> Float:
    """(K(K-1)/2, K): a positive value speaks against the first class of a pair (-1), for the second (+1)."""
    i, j = np.transpose(pairs(K))
    return np.asarray(np.eye(K)[j] - np.eye(K)[i])


def _refuse_kernel(estimator: Any) -> None:
    if get_tags(estimator).input_tags.pairwise:
        raise DataError(
            f"{type(estimator).__name__} wants similarities to all training rows, and a pair of classes has "
            "only some of them. Use OneVsRest, or let the classifier compute its own kernel."
        )
