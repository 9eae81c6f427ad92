# SPDX-License-Identifier: BSD-3-Clause
"""From probabilities to decisions.                                                              PRML §1.5

Deciding C_j if C_k is true costs L_kj. The best decision at x has the smallest expected cost,

    R_j(x) = Σ_k L_kj p(C_k | x)                                                                    (1.81)

Under 0-1 loss, L_kj = 1 - I_kj, this is the most probable class. A row can also be rejected, in one of two ways:

    a last column of L    L_k,K+1 is the cost of rejecting a row of class C_k
    a threshold θ         reject if max_k p(C_k | x) <= θ                                         (§1.5.3)

Under 0-1 loss the two are equivalent: R_j = 1 - p(C_j | x), so a threshold θ equals a cost of rejecting of 1 - θ.
Throughout, classes have the codes 0 .. K-1 and reject has the code K.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_flags, check_number, check_numbers
from separatrix._array import Array, Codes, Float
from separatrix._text import listed
from separatrix.estimator import unchanged_on_error
from separatrix.exceptions import DataError
from separatrix.explanation import Decision, Explained
from separatrix.meta import AbstractWrapper, choose_reject_label, fit_arguments, labels_with_reject, require_fit
from separatrix.metrics import require_probabilities
from separatrix.thresholds import cost_threshold, require_choice

__all__ = ["DecisionRule", "decide", "expected_cost"]


def expected_cost(P: Any, costs: Any) -> Float:
    """Expected cost of every decision for every row.

    R_nj = Σ_k P_nk L_kj                                                                            (1.81)

    Parameters
    ----------
    P : array-like of shape (N, K)
        Class probabilities p(C_k | x_n).
    costs : array-like of shape (K, K) or (K, K + 1)
        L: rows are true classes, columns are decisions; a last column, if any, is the cost of rejecting.

    Returns
    -------
    ndarray of shape (N, K) or (N, K + 1)

    Examples
    --------
    >>> expected_cost([[0.9, 0.1]], [[0, 1], [1000, 0]])
    array([[100. ,   0.9]])
    """
    P = require_probabilities(P)
    return np.asarray(P @ _check_costs(costs, P.shape[1]))


def decide(P: Any, *, costs: Any = None, reject: float | None = None) -> Codes:
    """Code of the decision with the smallest expected cost for every row; the code K means reject.

    code_n = argmin_j Σ_k P_nk L_kj,   or K if max_k P_nk <= θ                              (1.81, §1.5.3)

    If costs are equal, rejecting is preferred, then the first class.

    Parameters
    ----------
    P : array-like of shape (N, K)
        Class probabilities p(C_k | x_n).
    costs : array-like of shape (K, K) or (K, K + 1), optional
        L: rows are true classes, columns are decisions; a last column, if any, is the cost of rejecting.
        By default every mistake costs 1.
    reject : float in [0, 1], optional
        Threshold θ. Rows whose largest probability is at most θ are rejected. With θ < 1/K no row is rejected.

    Returns
    -------
    ndarray of int, shape (N,)

    Examples
    --------
    >>> P = [[0.9, 0.1], [0.55, 0.45]]
    >>> decide(P)
    array([0, 0])
    >>> decide(P, costs=[[0, 1], [1000, 0]])
    array([1, 1])
    >>> decide(P, reject=0.6)
    array([0, 2])
    """
    P = require_probabilities(P)
    K = P.shape[1]
    L, theta = _check_rule("decide", costs, reject, K)
    if L is None:
        codes: Codes = P.argmax(axis=1)
    else:
        R = P @ L  # (1.81)
        codes = R[:, :K].argmin(axis=1)
        if L.shape[1] > K:
            codes[R[:, K] <= R[:, :K].min(axis=1)] = K
    if theta is not None:
        codes[P.max(axis=1) <= theta] = K
    return codes


class DecisionRule(AbstractWrapper):
    """Decide by expected cost, with an option to reject.

    predict(x) = argmin_j Σ_k L_kj p(C_k | x),   or the reject label                        (1.81, §1.5.3)

    The probabilities of the wrapped classifier are not changed. Costs are used only in predictions, so ``set_params``
    can change them after the fit.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Classifier that estimates p(C_k | x).
    costs : array-like of shape (K, K) or (K, K + 1), or mapping {(true, predicted): cost}, optional
        L, in the order of ``classes_``; a last column is the cost of rejecting. In a mapping, a missing pair of
        labels costs 0 if both are equal and 1 otherwise. Pairs (true, reject label) are the costs of rejecting; they
        are required for all classes or for none.
    reject : float in [0, 1], optional
        Threshold θ. A row is rejected if no class has a probability above θ.
    reject_label : label, optional
        The prediction for a rejected row; by default -1 for numeric classes and "reject" for other classes.
    prefit : bool, default False
        Whether ``estimator`` is already fitted, so that ``fit`` is not needed. If the rule is cloned, as in
        cross-validation, wrap ``sklearn.frozen.FrozenEstimator(model)`` instead.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels; never the reject label.
    estimator_ : classifier
        The fitted clone of ``estimator``; absent if ``prefit`` is true.
    cost_matrix_ : ndarray of shape (K, K) or (K, K + 1)
        L in the order of ``classes_``; None without costs.
    n_features_in_, feature_names_in_ : int and ndarray of shape (D,)
        As in scikit-learn.

    Examples
    --------
    A missed illness costs as much as a thousand unnecessary treatments:

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["well", "well", "ill", "ill"]
    >>> DecisionRule(LogisticRegression()).fit(X, y).predict([[0.0], [1.4]])
    array(['well', 'well'], dtype='<U4')
    >>> DecisionRule(LogisticRegression(), costs={("ill", "well"): 1000}).fit(X, y).predict([[0.0], [1.4]])
    array(['ill', 'ill'], dtype='<U4')
    >>> DecisionRule(LogisticRegression(), reject=0.8).fit(X, y).predict([[0.0], [1.4]])
    array(['well', 'reject'], dtype='<U6')
    """

    def __init__(
        self,
        estimator: Any,
        *,
        costs: Any = None,
        reject: float | None = None,
        reject_label: Any = None,
        prefit: bool = False,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.reject = reject
        self.reject_label = reject_label
        self.prefit = prefit

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DecisionRule:
        """Fit a clone of the wrapped classifier unless it is already fitted, and check the costs.

        X, y and ``sample_weight`` may be anything that the wrapped classifier accepts.
        """
        check_flags(self)
        require_fit(type(self).__name__, self.estimator)
        _require_predict_proba(self.estimator)
        with unchanged_on_error(self):
            if not self.prefit:
                arguments = fit_arguments(self, sample_weight)
                self.estimator_ = clone(self.estimator).fit(X, y, **arguments)
            self._rule()
        return self

    def predict(self, X: Any) -> Array:
        """Label of the decision with the smallest expected cost for each row."""
        return self.decide(self.predict_proba(X))

    def decide(self, P: Any) -> Array:
        """Label of the decision for each row of probabilities P (N, K)."""
        L, labels = self._rule()
        return np.asarray(labels[decide(P, costs=L, reject=self.reject)])

    def predict_proba(self, X: Any) -> Array:
        """p(C_k | x) of the wrapped classifier, (N, K)."""
        return np.asarray(self._fitted().predict_proba(X))

    def expected_cost(self, X: Any) -> Float:
        """Expected cost of each class (N, K), with a last column (N, K + 1) if rejecting has a cost.

        Without ``costs``, a mistake costs 1 and a rejection costs 1 - θ, with θ = ``reject``. A threshold used together
        with ``costs`` is not a cost, and has no column.
        """
        L, _ = self._rule()
        P = self.predict_proba(X)
        if L is not None:
            return expected_cost(P, L)
        total = require_probabilities(P).sum(axis=1, keepdims=True)
        R = total - P  # P @ (1 - I), without a matrix of all pairs of classes
        return R if self.reject is None else np.column_stack([R, (1.0 - self.reject) * total])

    def _explained(self, rows: Any, reference: Any) -> Explained:
        """Description for `explain`: that of the wrapped classifier, with decisions by expected cost."""
        L, labels = self._rule()
        thresholds: tuple[float, ...] = ()
        if L is not None and L.shape == (2, 2) and self.reject is None:
            thresholds = cost_threshold(L, 0), cost_threshold(L, 1)
        decision = Decision(
            lambda P: decide(P, costs=L, reject=self.reject), tuple(labels.tolist()), "by expected cost", thresholds
        )
        return replace(super()._explained(rows, reference), decision=decision)

    @property
    def classes_(self) -> Array:
        """Class labels."""
        return np.asarray(self._fitted().classes_)

    @property
    def cost_matrix_(self) -> Float | None:
        """L in the order of ``classes_``, with a last column if rejecting has a cost; None without costs."""
        return self._rule()[0]

    def __sklearn_is_fitted__(self) -> bool:
        return self.prefit or "estimator_" in vars(self)

    @property
    def fitted_(self) -> Any:
        """The fitted classifier, which was given or fitted by the rule."""
        return self._fitted()

    def _fitted(self) -> Any:
        """The fitted classifier."""
        check_is_fitted(self)
        if not self.prefit:
            return self.estimator_
        _require_predict_proba(self.estimator)
        check_is_fitted(
            self.estimator,
            msg="DecisionRule(prefit=True) needs a fitted estimator, but this %(name)s is not fitted: "
            "fit it first, or remove prefit.",
        )
        return self.estimator

    def _rule(self) -> tuple[Float | None, Array]:
        """The cost matrix, if any, and the label of each code."""
        classes, costs, K = self.classes_, self.costs, len(self.classes_)
        if isinstance(costs, Mapping):
            codes = {label: k for k, label in enumerate(classes.tolist())}
            rejected = choose_reject_label(classes, self.reject_label)
            table = np.column_stack([1.0 - np.eye(K), np.full(K, np.nan)])
            for pair, cost in costs.items():
                try:
                    true, predicted = pair
                except (TypeError, ValueError):
                    raise DataError(
                        f"costs has the key {pair!r}, but each key must be a pair (true, predicted)."
                    ) from None
                if true not in codes or not (predicted in codes or predicted in {rejected}):
                    raise DataError(
                        f"costs has the key {pair!r}, but the classes are {listed(list(codes))}"
                        f" and the reject label, allowed as the second label, is {rejected!r}."
                    )
                table[codes[true], codes.get(predicted, K)] = cost
            unpriced = [label for label, k in codes.items() if np.isnan(table[k, K])]
            if 0 < len(unpriced) < K:
                raise DataError(
                    f"costs has a cost of rejecting for some classes but not for {listed(unpriced)}. "
                    f"Give (class, {rejected!r}) for every class, or for none."
                )
            costs = table[:, :K] if unpriced else table
        L, theta = _check_rule("DecisionRule", costs, self.reject, K)
        if L is not None:
            require_choice(L, classes.tolist())
        may_reject = theta is not None or (L is not None and L.shape[1] > K)
        return L, labels_with_reject(classes, self.reject_label) if may_reject else classes


def _check_rule(owner: str, costs: Any, reject: Any, K: int) -> tuple[Float | None, float | None]:
    """L and θ; each is None if not given."""
    L = None if costs is None else _check_costs(costs, K)
    theta = None if reject is None else check_number(owner, "reject", reject, low=0, high=1)
    if L is not None and theta is not None and L.shape[1] > K:
        raise ValueError(
            f"{owner}: reject={theta:g} and the cost of rejecting in the last column of costs (shape {L.shape}) are "
            "two rules for the same decision. Give only one of them."
        )
    return L, theta


def _check_costs(costs: Any, K: int) -> Float:
    L = check_numbers("", "costs", costs)
    if L.shape not in ((K, K), (K, K + 1)):
        raise DataError(
            f"costs has shape {L.shape}, but there are K = {K} classes: give ({K}, {K}), true class by "
            f"predicted class, or ({K}, {K + 1}) whose last column is the cost of rejecting."
        )
    bad = np.argwhere(~np.isfinite(L))
    if len(bad):
        k, j = bad[0].tolist()
        raise DataError(
            f"costs[{k}, {j}] is {L[k, j]}, but costs must be finite. Use a large number to rule out a decision."
        )
    return L


def _require_predict_proba(estimator: Any) -> None:
    if getattr(estimator, "predict_proba", None) is None:
        raise TypeError(
            f"DecisionRule needs probabilities, but {type(estimator).__name__} has no predict_proba. "
            "Use a generative, discriminative or Bayesian model, or wrap this one in sx.Calibrated."
        )
