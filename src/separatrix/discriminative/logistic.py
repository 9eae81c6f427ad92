# SPDX-License-Identifier: BSD-3-Clause
"""Logistic and softmax regression.                                                  PRML §4.3.2 - 4.3.4

    two classes    p(C_1 | x) = σ(a),  a = w'φ(x) + w0                                             (4.87)
    K classes      p(C_k | x) = e^a_k / Σ_j e^a_j,  a_k = w_k'φ(x) + w_k0                          (4.104)

The fit minimises  E(w) = -Σ_n weight_n ln p(t_n | x_n) + ½ alpha Σ |w_k|²,  which gives the maximum a posteriori
estimate for w ~ N(0, 1/alpha), or the maximum-likelihood estimate for alpha = 0. The bias has no penalty.
"""

from __future__ import annotations

from separatrix.discriminative.model import DiscriminativeClassifier


class LogisticRegression(DiscriminativeClassifier):
    """Logistic regression for two classes, softmax regression for more.

    The fit minimises E(w) = -Σ_n weight_n ln p(t_n | x_n) + ½ alpha Σ_k |w_k|²  (PRML 4.90, 4.108). E is a sum over
    rows, not an average, so ``alpha = 1/C`` gives the weights of scikit-learn's `LogisticRegression`.

    Parameters
    ----------
    alpha : float, default 1.0
        Precision of the Gaussian prior on each weight (not on the bias). 0 is maximum likelihood.
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
        Factor by which the weights of the rows of each class are multiplied; 1 for labels that are not in the mapping.
        "balanced" uses N / (K N_k), as scikit-learn does. Probabilities then refer to data in which the classes have
        these weights; `DecisionRule` changes decisions without changing probabilities.
    prior_correction : bool, default False
        Whether to undo this effect: -ln c_k is added to the intercepts, where c_k are the factors, so that
        probabilities refer to the original class proportions. It needs ``fit_intercept=True``.
    warm_start : bool, default False
        Whether `fit` starts from the weights of the last fit if classes and columns are the same. The result does not
        change; if the rows have hardly changed, fewer steps are needed.
    weights : {"frequency", "precision", "probability"}, default "frequency"
        What ``sample_weight`` means for standard errors; it does not change the estimate. A frequency of k equals k
        copies of the row. A "precision" is part of one row, so that N is the number of rows. A
        "probability" is the inverse of the probability that the row was sampled: standard errors are then robust.

    Attributes
    ----------
    coef_ : ndarray of shape (1, M) for two classes, (K, M) for more
        float32 if X is an array of float32. Predictions use the weights before rounding.
    intercept_ : ndarray of shape (1,) or (K,)
        Biases, in the units of the columns.
    class_weight_ : ndarray of shape (K,)
        The factor of each class.
    classes_, n_features_in_, feature_names_in_ : ndarray of shape (K,), int and ndarray of shape (D,)
        As in scikit-learn.
    separation_ : Separability
        Whether a hyperplane separates the classes; true if it does, with its ``coef`` and ``columns``. The ``status``
        is "complete", "quasi-complete", "overlapping" or "unknown" (not checked because of a prior, or hidden by nearly
        collinear columns).
    solution_ : Solution
        Why the solver stopped, number of steps, number of passes.
    trace_ : tuple of Step
        Weights, objective and gradient of each step if ``trace=True``.
    n_steps_, n_passes_ : int
        Number of steps, and of passes over the rows.

    Notes
    -----
    ``y`` may also be a table (N, K) of soft targets, the probability of each class for each row. If all probabilities
    are 0 or 1, they are treated as labels.

    Without a prior (``alpha=0``) the maximum may not exist. A `SeparationWarning` then names the responsible columns.
    With soft targets, rows with a probability of 1 can be separated, and all other rows lie on the plane.

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
