# SPDX-License-Identifier: BSD-3-Clause
"""Logistic and softmax regression.                                                  PRML §4.3.2 - 4.3.4

    two classes    p(C_1 | x) = σ(a),  a = w'φ(x) + w0                                             (4.87)
    K classes      p(C_k | x) = e^a_k / Σ_j e^a_j,  a_k = w_k'φ(x) + w_k0                          (4.104)

fitted by minimising  E(w) = -Σ_n weight_n ln p(t_n | x_n) + ½ alpha Σ |w_k|²:  the maximum a posteriori for
w ~ N(0, 1/alpha), or the maximum likelihood for alpha = 0. The bias has no penalty.
"""

from __future__ import annotations

from separatrix.discriminative.model import DiscriminativeClassifier


class LogisticRegression(DiscriminativeClassifier):
    """Logistic regression for two classes, softmax regression for more.

    E(w) = -Σ_n weight_n ln p(t_n | x_n) + ½ alpha Σ_k |w_k|²  (PRML 4.90, 4.108), a sum over rows, not an average:
    ``alpha = 1/C`` gives the weights of scikit-learn's `LogisticRegression`.

    Parameters
    ----------
    alpha : float, default 1.0
        Precision of the Gaussian prior on each weight (not on the bias). 0 is maximum likelihood.
    prior : Gaussian or Flat, optional
        Prior with scales, mean or covariance of its own; replaces ``alpha``.
    basis : basis function or transformer, optional
        φ; see `separatrix.basis`.
    fit_intercept : bool, default True
        Whether there is a bias w0.
    solver : {"auto", "newton", "lbfgs", "gradient", "stochastic"} or a solver object, default "auto"
        All reach the same optimum. "auto" is never much slower than the best of the others. A solver object has its own
        limits; do not set ``tol``, ``max_steps`` or ``rng`` as well.
    tol : float, default 1e-8
        Stop when no component of the gradient exceeds this, per row and per standard deviation of its column.
    max_steps : int, optional
        Limit of steps; the default depends on the solver.
    trace : bool, default False
        Keep weights, objective and gradient of every step in ``trace_``.
    rng : int or numpy.random.Generator, optional
        Order of the rows for ``solver="stochastic"``.

    Attributes
    ----------
    coef_ : ndarray of shape (1, M) for two classes, (K, M) for more
    intercept_ : ndarray of shape (1,) or (K,)
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    separation_ : whether a hyperplane separates the classes: ``status`` "complete", "quasi-complete", "overlapping" or
        "unknown" (not checked because of a prior, or hidden by nearly collinear columns); true if separable, with
        ``coef`` and ``columns``
    solution_ : status with reason, steps, passes
    trace_ : steps (weights, objective, gradient) if ``trace=True``
    n_steps_, n_passes_ : number of steps, and of passes over the rows

    Notes
    -----
    ``y`` may also be a table (N, K) with the probability of each class for each row: soft targets. If all of them are 0
    or 1, they are labels.

    Without a prior (``alpha=0``) the maximum may not exist: a `SeparationWarning` then names the columns at fault. With
    soft targets, rows with probability 1 can be separated, and the others lie on the plane.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict_proba(X[:1]).round(3)
    array([[0.982, 0.018, 0.   ]])
    >>> model.separation_.status
    'quasi-complete'
    """
