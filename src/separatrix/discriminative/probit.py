# SPDX-License-Identifier: BSD-3-Clause
"""Probit regression.                                                                       PRML §4.3.5

    p(C_1 | x) = Φ(a),  a = w'φ(x) + w0                                                            (4.116)

with the normal distribution function Φ. Its tails decrease as e^(-a²/2), so a row far on the wrong side has more
influence than in logistic regression. The model has two classes, and the priors and solvers of logistic regression.

If class weights c_k are undone, p(C_1 | x) ∝ Φ(a) / c_1 and p(C_0 | x) ∝ Φ(-a) / c_0, by Bayes' theorem. They are equal
at Φ(a) = c_1 / (c_0 + c_1). This a is subtracted from the intercept, so that the boundary is at zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix.discriminative.model import DiscriminativeClassifier
from separatrix.estimator import Limit, require_two_classes
from separatrix.likelihoods import ClassLikelihood, Probit
from separatrix.rows import Source
from separatrix.solvers import Posterior, Solution


class ProbitRegression(DiscriminativeClassifier):
    """Probit regression for two classes.

    The fit minimises E(w) = -Σ_n weight_n ln Φ(±a_n) + ½ alpha |w|², with + for rows of the second class.
    The label is the sign of a normal variable with mean a and variance 1.

    Parameters
    ----------
    alpha : float, default 1.0
        Precision of the Gaussian prior on each weight (not on the bias). 0 is maximum likelihood. Near a = 0,
        probit weights are 0.63 (1/√(8/π)) times logistic weights, so the same alpha shrinks them less.
    prior : Gaussian, ElasticNet or Flat, optional
        Prior with any scales, mean or covariance, or one that sets weights to zero. It replaces ``alpha``.
    basis : basis function or transformer, optional
        Basis functions φ; see `separatrix.basis`.
    fit_intercept : bool, default True
        Whether to fit a bias w0.
    solver : {"auto", "newton", "lbfgs", "gradient", "stochastic"} or a solver object, default "auto"
        All solvers reach the same optimum. "auto" is never much slower than the fastest. A solver object has its own
        limits; do not set ``tol``, ``max_steps`` or ``rng`` as well.
    tol : float, default 1e-8
        Stop when no component of the gradient exceeds this, per row and per standard deviation of its column.
    max_steps : int, optional
        Maximum number of steps; the default depends on the solver.
    trace : bool, default False
        Keep weights, objective and gradient of every step in ``trace_``.
    rng : int or numpy.random.Generator, optional
        Seed for the order of the rows in ``solver="stochastic"``.
    class_weight : {"balanced"} or mapping {label: factor}, optional
        Factor of the weights of each class, as in `LogisticRegression`.
    prior_correction : bool, default False
        Whether probabilities and decisions refer to the original class proportions: Φ(a) and Φ(-a) are divided by
        the factors of the classes, and ``intercept_`` is shifted so that the boundary is at zero.
    warm_start : bool, default False
        Whether `fit` starts from the weights of the last fit, as in `LogisticRegression`.
    weights : {"frequency", "precision", "probability"}, default "frequency"
        What ``sample_weight`` means for standard errors; it does not change the estimate. A frequency of k equals k
        copies of the row. A "precision" is part of one row, so that N is the number of rows. A
        "probability" is the inverse of the probability that the row was sampled: standard errors are then robust.

    Attributes
    ----------
    coef_ : ndarray of shape (1, M)
        Weights of the columns in the activation of the second class.
    intercept_ : ndarray of shape (1,)
        Bias.
    class_weight_ : ndarray of shape (2,)
        The factor of each class.
    classes_, n_features_in_, feature_names_in_ : ndarray of shape (K,), int and ndarray of shape (D,)
        As in scikit-learn.
    separation_, solution_, trace_, n_steps_, n_passes_
        As in `LogisticRegression`.

    Notes
    -----
    ``y`` may also be a table (N, 2) of soft targets, the probability of each class for each row.

    Examples
    --------
    Beetles killed by a dose of gas, out of about 60 at each dose (Bliss 1935):

    >>> import numpy as np
    >>> from separatrix.discriminative import ProbitRegression
    >>> dose = np.array([1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839])
    >>> dead, of = np.array([6, 13, 18, 28, 52, 53, 61, 60]), np.array([59, 60, 62, 56, 63, 59, 62, 60])
    >>> X, y = np.repeat(dose, 2)[:, None], np.tile([1, 0], 8)
    >>> count = np.column_stack([dead, of - dead]).ravel()
    >>> model = ProbitRegression(alpha=0).fit(X, y, sample_weight=count)
    >>> model.coef_.round(2), model.intercept_.round(2)
    (array([[19.73]]), array([-34.94]))
    """

    regression, ratio = "Probit regression", ""
    _undone: Float | None = None  # class weights (2,) that predictions undo

    def _shift(self) -> Float:
        """Change of the intercept that moves the boundary to zero, if class weights are undone."""
        return np.asarray(special.ndtri(special.expit(super()._shift())))

    def _conclude(self, objective: Posterior, solution: Solution[Float], training: Source, start: Float) -> None:
        super()._conclude(objective, solution, training, start)
        self._undone = self.class_weight_ if self.prior_correction else None

    def predict_proba(self, X: Any) -> Array:
        """p(C_k | x), shape (N, 2)."""
        return super().predict_proba(X) if self._undone is None else np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """ln p(C_k | x), finite even if p underflows."""
        if self._undone is None:
            return super().predict_log_proba(X)
        factors = self._undone
        boundary = special.ndtri(factors[1] / factors.sum())

        def corrected(a: Array) -> Array:
            L = self.likelihood_.log_probabilities(a + boundary) - np.log(factors)
            return np.asarray(L - np.logaddexp.reduce(L, axis=1, keepdims=True))

        return self._map_rows(X, lambda Phi: self._of_classes(corrected, Phi), read_once=True, limit=Limit.EQUAL)

    def _likelihood(self, n_classes: int) -> ClassLikelihood:
        remedy = "Use LogisticRegression, or wrap the model in OneVsRest or OneVsOne."
        require_two_classes(type(self).__name__, self.classes_, remedy)
        return Probit()

    def __sklearn_tags__(self) -> Any:
        """Tags: only two classes are supported."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
