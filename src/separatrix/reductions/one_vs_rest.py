# SPDX-License-Identifier: BSD-3-Clause
"""One-vs-rest: K binary classifiers, each telling one class from all others.                      PRML §4.1.2

Classifier k claims x for C_k where y_k(x) > 0. Rows claimed by no class, or by several, are ambiguous: the
green region of figure 4.2, left. They are resolved as a joint machine (4.9) would,

    predict(x) = argmax_k y_k(x)

although the y_k were fitted apart and nothing puts them on one scale: ``is_ambiguous`` says which rows this
concerns. Everywhere else the one positive value is the largest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.reductions.reduction import AbstractReduction, Problem

__all__ = ["OneVsRest"]


class OneVsRest(AbstractReduction):
    """K classes from K binary classifiers, one class against the rest.

    predict(x) = argmax_k y_k(x);   x is ambiguous unless exactly one y_k(x) > 0                   PRML §4.1.2

    y_k is the decision value of the classifier of class k, or 2 p - 1 where it has probabilities alone.
    ``predict_proba`` divides the K probabilities by their sum. With two classes there is one classifier, and
    every method gives its answer.

    Parameters
    ----------
    estimator : classifier with ``decision_function`` or ``predict_proba``
        Cloned for each class and fitted to labels 1 (the class) and 0 (the rest). For costs or a reject
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
    estimators_ : list of K classifiers
        In the order of ``classes_``; a single one for two classes.
    n_features_in_ : int
        Number of columns, as the wrapped classifier counts them.
    feature_names_in_ : ndarray of str
        Names of the columns, where the wrapped classifier was given any.

    Examples
    --------
    Three classes at the corners of a triangle; nobody claims its middle:

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]], ["left", "right", "top"]
    >>> model = OneVsRest(LogisticRegression(C=100)).fit(X, y)
    >>> middle = [[0.45, 0.3]]
    >>> model.claims(middle), model.is_ambiguous(middle), model.predict(middle)
    (array([[0, 0, 0]]), array([ True]), array(['left'], dtype='<U5'))
    >>> model.set_params(ambiguous="reject").predict(middle)
    array(['reject'], dtype='<U6')
    """

    def _problems(self, classes: Array, codes: Codes) -> Iterator[Problem]:
        return (Problem((codes == k).astype(np.intp)) for k in range(len(classes)))

    def _claims(self, Y: Float) -> Codes:
        return (Y > 0).astype(np.intp)

    def _disputed(self, claims: Codes) -> Array:
        return np.asarray(claims.sum(axis=1) != 1)

    def _strength(self, Y: Float) -> Float:
        return Y

    def _combine(self, P: Float) -> Float:
        """p_k / Σ_j p_j; a row that every classifier gives probability zero is left undecided, 1/K each."""
        total = P.sum(axis=1, keepdims=True)
        uniform = np.full_like(P, 1 / P.shape[1])
        return np.asarray(np.divide(P, total, out=uniform, where=total > 0))
