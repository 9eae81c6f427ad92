# SPDX-License-Identifier: BSD-3-Clause
"""Fit models to the same rows, and judge them on the same other rows."""

from __future__ import annotations

from typing import Any

from separatrix.comparison.candidates import name_models
from separatrix.comparison.result import Comparison
from separatrix.comparison.split import given_split, random_split
from separatrix.comparison.trial import rank, run_trial

__all__ = ["compare"]


def compare(
    models: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    test_size: float = 0.25,
    sample_weight: Any = None,
    rng: Any = None,
    names: Any = None,
) -> Comparison:
    """Fit models to the same rows, judge them on the same held-out rows, and compare their evidences.

    Held-out figures are those of `separatrix.metrics`, each with its standard error; the difference of two models in
    log-likelihood is paired, row by row. Models that state the evidence p(D | M_i) of their training labels have a
    posterior probability among each other, p(M_i | D) ∝ p(M_i) p(D | M_i)  (PRML 3.66).

    Parameters
    ----------
    models : list of classifiers, or mapping {name: classifier}
        Of this library, scikit-learn, or alike: ``fit``, ``predict``, and ``predict_proba`` for all but accuracy. They
        are cloned, and fitted anew, also those fitted before (wrap one in ``sklearn.frozen.FrozenEstimator`` to keep
        it as it is). One that fails says why in its line of the table, and the others go on.
    X : table of shape (N, D)
        Rows, as the models take them.
    y : array-like of shape (N,)
        Labels.
    X_test, y_test : table and labels, optional
        The rows to be judged on. By default a part of X and y is held out, with equal shares of each class.
    test_size : float or int, default 0.25
        Share, or number, of the rows held out.
    sample_weight : array-like of shape (N,), optional
        A weight of k counts as the row k times, in fits, figures and standard errors. Rows of ``X_test`` count once.
    rng : None, int or numpy Generator
        Of the split; None is a fixed seed.
    names : sequence of str, optional
        Of the models in a list; by default what kind of model each is.

    Returns
    -------
    Comparison
        A table, best test log-likelihood first.

    Examples
    --------
    >>> from separatrix.comparison import compare
    >>> from separatrix import LinearDiscriminantAnalysis, LogisticRegression, Perceptron
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = compare([LogisticRegression(), LinearDiscriminantAnalysis(), Perceptron()], X, y)
    >>> comparison.best()
    'LinearDiscriminantAnalysis'
    >>> value, standard_error = comparison.differences()["LogisticRegression"]  # in nats a row, and beyond noise
    >>> round(value, 2), round(standard_error, 2)
    (-0.11, 0.02)
    """
    candidates = name_models(models, names)
    if X_test is None and y_test is None:
        split = random_split(X, y, sample_weight, test_size, rng)
    else:
        split = given_split(X, y, sample_weight, X_test, y_test)
    trials = [run_trial(name, model, split) for name, model in candidates.items()]
    return Comparison(
        tuple(sorted(trials, key=rank)), split.classes, split.train.rows, split.test.rows, split.test.weight
    )
