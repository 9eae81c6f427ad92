# SPDX-License-Identifier: BSD-3-Clause
"""The model that looks at no column: what every other has to beat.

It is the logistic (softmax) model with a bias and nothing else, under the prior that the bias has in every other model
of `BayesianLogisticRegression`. Evidences can be compared because of that: where columns say nothing, the one of a
logistic model tends to this one as the scale of its weights goes to zero. Every row has the same x, so that the labels
come in as one row for each class, which counts as many times as the class has rows.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array, Rows, bincount
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.estimator import Classifier, require_finite, unchanged_on_error
from separatrix.rows import Block, labels_of, watched
from separatrix.stats import Tally

__all__ = ["PriorOnly"]

NOWHERE = np.zeros((1, 1))  # a row whose only column is always zero


class PriorOnly(Classifier):
    """The shares of the classes, for every row.

    Attributes
    ----------
    class_count_ : ndarray of shape (K,)
    bias_ : the fitted `BayesianLogisticRegression`
    log_evidence_, bic_, aic_ : of the labels
    classes_, n_features_in_, feature_names_in_ : as in every classifier

    Examples
    --------
    >>> from separatrix.tables.prior_only import PriorOnly
    >>> model = PriorOnly().fit([[5.0], [6.0], [7.0]], ["no", "no", "yes"])
    >>> model.predict_proba([[1.0]]).round(2)
    array([[0.66, 0.34]])
    >>> round(model.log_evidence_, 1)
    -3.9
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the labels, wherever they are."""
        with unchanged_on_error(self):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        training = self._open_training(X, y, sample_weight)
        require_finite(training.source)  # as every model would, so that a table that passes here passes there
        K = len(training.classes)
        self.class_count_ = training.source.reduce(partial(_class_count, n_classes=K)).count
        rows = np.repeat(NOWHERE, K, axis=0)
        with watched(lambda done, total, number: None):  # whoever watches the table need not hear of K rows
            self.bias_ = BayesianLogisticRegression().fit(rows, np.arange(K), sample_weight=self.class_count_)
            self._p, self.log_evidence_ = self.bias_.predict_proba(NOWHERE)[0], self.bias_.log_evidence_
        N = self.class_count_.sum()
        likelihood = float(special.xlogy(self.class_count_, self.class_count_ / N).sum())
        self.bic_ = float((K - 1) * np.log(N) - 2 * likelihood)
        self.aic_ = 2.0 * (K - 1) - 2 * likelihood
        return self

    def predict_proba(self, X: Any) -> Array:
        """The same for every row, (N, K)."""
        return self._map_rows(X, lambda rows: _unmoved(rows)[:, None] + self._p)

    def predict(self, X: Any) -> Array:
        """The most frequent class, for every row."""
        P = self.predict_proba(X)
        return labels_of(self.classes_, P.argmax(axis=1))

    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """Credible interval of the share of ``classes_[1]``, (N, 2); of K classes those of all, (N, K, 2)."""
        check_is_fitted(self)
        bounds = self.bias_.predict_interval(NOWHERE, level)[0]
        return self._map_rows(X, lambda rows: _unmoved(rows).reshape(-1, *(1,) * bounds.ndim) + bounds)


def _class_count(block: Block, n_classes: int) -> Tally:
    """Weight of the rows of each class."""
    return Tally(bincount(block.codes, block.weight, n_classes))


def _unmoved(rows: Rows) -> Array:
    """The activation w'x of weights that are all zero: zero, and NaN where x is not finite."""
    return np.asarray(rows @ np.zeros(rows.shape[1]))
