# SPDX-License-Identifier: BSD-3-Clause
"""Classes that a plane separates, that overlap, that have outliers, and whose labels are partly wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_number, check_positive, generator
from separatrix._array import Codes, Float

__all__ = ["NoisyLabels", "make_label_noise", "make_outliers", "make_overlapping", "make_separable"]

Seed = int | np.random.Generator | None


class NoisyLabels(NamedTuple):
    """Rows, the labels that were recorded, and the labels that are true."""

    X: Float
    y: Codes
    y_true: Codes


def make_separable(n: int = 100, n_features: int = 2, *, margin: float = 0.5, rng: Seed = None) -> tuple[Float, Codes]:
    """Two classes on the two sides of a plane through the origin, none nearer to it than ``margin``.

    x = s (margin + |z|) w + (what a standard normal vector has across w),    z ~ N(0, 1),  s = ±1 the class

    The direction w is random. A perceptron makes at most (max |x| / margin)² mistakes, and logistic regression without
    a prior has no maximum.

    Parameters
    ----------
    n : int, default 100
        Rows, half of them of class 1.
    n_features : int, default 2
        Columns.
    margin : float, default 0.5
        Least distance to the plane, above zero.
    rng : int or Generator, optional
        Seed, or where random numbers come from; None always gives the same rows.

    Examples
    --------
    >>> from separatrix import is_separable
    >>> from separatrix.datasets import make_separable
    >>> is_separable(*make_separable(margin=0.1)).status
    'complete'
    """
    check_positive("make_separable", "margin", margin)
    rng, y = generator(rng), _halves("make_separable", n)
    X = rng.standard_normal((n, check_count("make_separable", "n_features", n_features)))
    w = rng.standard_normal(n_features)
    w /= np.linalg.norm(w)
    along = np.where(y == 1, 1.0, -1.0) * (margin + np.abs(X @ w))
    return _shuffled(X + np.outer(along - X @ w, w), y, rng)


def make_overlapping(
    n: int = 200, n_features: int = 2, *, n_classes: int = 2, distance: float = 2.0, rng: Seed = None
) -> tuple[Float, Codes]:
    """Normal classes of unit covariance, neighbours ``distance`` apart: no rule is right for every row.

    p(x | C_k) = N(x | mu_k, I),    p(C_k) = 1/K,    mu_k on a circle in the first two columns

    For two classes the best rule is the plane x_0 = 0, which errs with probability Φ(-distance/2). Linear discriminant
    analysis is the right model, and so is logistic regression.

    Parameters
    ----------
    n : int, default 200
        Rows; every class has as many as the others, but for a rest of division.
    n_features : int, default 2
        Columns; at least two for more than two classes.
    n_classes : int, default 2
        K.
    distance : float, default 2.0
        Between means of neighbouring classes, in standard deviations.
    rng : int or Generator, optional
        Seed, or where random numbers come from; None always gives the same rows.

    Examples
    --------
    >>> from separatrix.datasets import make_overlapping
    >>> X, y = make_overlapping(100_000, distance=2.0)
    >>> round(float(((X[:, 0] > 0) == y).mean()), 2)  # Φ(1) = 0.84
    0.84
    """
    check_number("make_overlapping", "distance", distance, low=0.0)
    K = check_count("make_overlapping", "n_classes", n_classes, least=2)
    M = check_count("make_overlapping", "n_features", n_features, least=1 if K == 2 else 2)
    rng, y = generator(rng), np.arange(check_count("make_overlapping", "n", n, least=K)) % K
    angle = 2 * np.pi * np.arange(K) / K
    radius = distance / (2 * np.sin(np.pi / K))
    mu = np.zeros((K, max(M, 2)))
    mu[:, 0], mu[:, 1] = -radius * np.cos(angle), radius * np.sin(angle)
    return _shuffled(rng.standard_normal((n, M)) + mu[y, :M], y, rng)


def make_outliers(
    n: int = 100, *, n_outliers: int = 20, distance: float = 10.0, rng: Seed = None
) -> tuple[Float, Codes]:
    """Two narrow classes, and rows of class 1 far away on their own side of the boundary.            PRML figure 4.4

    x_0 ~ N(∓1, 0.3²), x_1 ~ N(0, 2²) for the two classes; ``n_outliers`` more rows of class 1 lie about
    (distance, -distance). A rule that only asks for the right side of the line x_0 = 0 is content with them. Least
    squares is not: it wants every row of class 1 *at* its target, and turns the line into the classes to come closer.

    Parameters
    ----------
    n : int, default 100
        Rows of the two classes.
    n_outliers : int, default 20
        Rows far out; they come last.
    distance : float, default 10.0
        How far out.
    rng : int or Generator, optional
        Seed, or where random numbers come from; None always gives the same rows.

    Examples
    --------
    >>> from separatrix import LeastSquaresClassifier, LogisticRegression
    >>> from separatrix.datasets import make_outliers
    >>> X, y = make_outliers()
    >>> LogisticRegression().fit(X, y).score(X, y)
    1.0
    >>> LeastSquaresClassifier().fit(X, y).score(X, y) < 0.9
    True
    """
    check_number("make_outliers", "distance", distance, low=2.0)
    check_count("make_outliers", "n_outliers", n_outliers, least=0)
    rng, y = generator(rng), _halves("make_outliers", n)
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])[y] + np.array([0.3, 2.0]) * rng.standard_normal((n, 2))
    X, y = _shuffled(X, y, rng)
    far = np.array([distance, -distance]) + 0.5 * rng.standard_normal((n_outliers, 2))
    return np.vstack([X, far]), np.concatenate([y, np.ones(n_outliers, dtype=np.intp)])


def make_label_noise(
    n: int = 300, n_features: int = 2, *, noise: float = 0.1, distance: float = 4.0, rng: Seed = None
) -> NoisyLabels:
    """Two normal classes some of whose labels were recorded wrongly.

    The true labels are those of `make_overlapping`; each was swapped with probability ``noise``, wherever its row
    lies. That is the model of `LabelNoiseLogisticRegression`. To any other a wrong label far on the wrong side is
    nearly impossible, and its boundary gets flatter to make it less so.

    Parameters
    ----------
    n, n_features, distance
        As in `make_overlapping`.
    noise : float, default 0.1
        Probability of a wrong label, at most one half.
    rng : int or Generator, optional
        Seed, or where random numbers come from; None always gives the same rows.

    Returns
    -------
    NoisyLabels
        ``X``, ``y`` and ``y_true``.

    Examples
    --------
    >>> from separatrix.datasets import make_label_noise
    >>> X, y, y_true = make_label_noise(1000, noise=0.2)
    >>> round(float((y != y_true).mean()), 2)
    0.2
    """
    check_number("make_label_noise", "noise", noise, low=0.0, high=0.5)
    rng = generator(rng)
    X, y_true = make_overlapping(n, n_features, distance=distance, rng=rng)
    wrong = rng.random(n) < noise
    return NoisyLabels(X, np.where(wrong, 1 - y_true, y_true), y_true)


def _halves(owner: str, n: int) -> Codes:
    """Class 0 and 1 in turn."""
    return np.arange(check_count(owner, "n", n, least=2)) % 2


def _shuffled(X: Float, y: Codes, rng: np.random.Generator) -> tuple[Float, Codes]:
    order = rng.permutation(len(y))
    return X[order], y[order]
