# SPDX-License-Identifier: BSD-3-Clause
"""The model that looks at no column: what every other has to beat.

    p(C_k | D) = (n_k + 1) / (N + K),      p(D) = Γ(K) Π_k Γ(n_k + 1) / Γ(N + K)

for N labels, n_k of class k, under a uniform prior on the shares of the classes (PRML §2.2.1).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import special, stats
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array, Rows, bincount
from separatrix.bayesian.weights import interval_tails
from separatrix.data import encode_labels
from separatrix.data.pairing import check_weight
from separatrix.shell import Classifier, require_finite

__all__ = ["PriorOnly"]


class PriorOnly(Classifier):
    """The shares of the classes, for every row.

    Attributes
    ----------
    class_count_ : ndarray of shape (K,)
    log_evidence_, bic_, aic_ : of the labels
    classes_, n_features_in_, feature_names_in_ : as in every classifier

    Examples
    --------
    >>> from separatrix.tables.prior_only import PriorOnly
    >>> model = PriorOnly().fit([[5.0], [6.0], [7.0]], ["no", "no", "yes"])
    >>> model.predict_proba([[1.0]])
    array([[0.6, 0.4]])
    >>> round(model.log_evidence_, 4)  # of the six ways to order 0, 1, 2 or 3 "yes": 1/4 for one, 1/3 for the order
    -2.4849
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the labels."""
        training = self._open_training(X, y, sample_weight)
        require_finite(training.source)  # as every model would, so that a table that passes here passes there
        K, codes = len(training.classes), encode_labels(y)[1]
        count = bincount(codes, check_weight(sample_weight, len(codes)), K)
        N = count.sum()
        self.class_count_, self._p = count, (count + 1) / (N + K)
        self.log_evidence_ = float(special.gammaln(K) + special.gammaln(count + 1).sum() - special.gammaln(N + K))
        likelihood = float(special.xlogy(count, count / N).sum())
        self.bic_ = float((K - 1) * np.log(N) - 2 * likelihood)
        self.aic_ = 2.0 * (K - 1) - 2 * likelihood
        return self

    def predict_proba(self, X: Any) -> Array:
        """The same for every row, (N, K)."""
        return self._map_rows(X, lambda rows: _unmoved(rows)[:, None] + self._p)

    def predict(self, X: Any) -> Array:
        """The most frequent class, for every row."""
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """Credible interval of the share of ``classes_[1]``, (N, 2); of K classes those of all, (N, K, 2)."""
        check_is_fitted(self)
        tails, K = interval_tails("predict_interval", level), len(self.classes_)
        a, b = self.class_count_[:, None] + 1, (self.class_count_.sum() - self.class_count_ + K - 1)[:, None]
        bounds = stats.beta.ppf(tails, a, b)
        bounds = bounds[1] if K == 2 else bounds
        return self._map_rows(X, lambda rows: _unmoved(rows).reshape(-1, *(1,) * bounds.ndim) + bounds)


def _unmoved(rows: Rows) -> Array:
    """The activation w'x of weights that are all zero: zero, and NaN where x is not finite."""
    return np.asarray(rows @ np.zeros(rows.shape[1]))
