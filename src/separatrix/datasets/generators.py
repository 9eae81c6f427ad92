# SPDX-License-Identifier: BSD-3-Clause
"""Generators of numeric data for the situations discussed in the textbook.

Data sets with a linear boundary are separable, overlap, contain outliers, or have some wrong labels. Data sets with a
curved boundary have two columns: XOR clusters, a grid of Gaussians, and a wave that narrow basis functions overfit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from separatrix._arguments import check_count, check_number, check_option, check_positive, generator
from separatrix._array import Codes, Float

Seed = int | np.random.Generator | None


class NoisyLabels(NamedTuple):
    """Rows, recorded labels, and true labels."""

    X: Float
    y: Codes
    y_true: Codes


def make_separable(n: int = 100, n_features: int = 2, *, margin: float = 0.5, rng: Seed = None) -> tuple[Float, Codes]:
    """Two classes on opposite sides of a plane through the origin; every row is at least ``margin`` away from it.

    x = s (margin + |z|) w + (the part of a standard normal vector orthogonal to w),    z ~ N(0, 1),  s = ±1 by class

    The direction w is random. A perceptron makes at most (max |x| / margin)² mistakes, and the
    maximum-likelihood estimate of logistic regression does not exist.

    Parameters
    ----------
    n : int, default 100
        Number of rows; half of them belong to class 1.
    n_features : int, default 2
        Number of columns.
    margin : float, default 0.5
        Smallest distance to the plane, greater than zero.
    rng : int or Generator, optional
        Seed or generator; with None a fixed seed is used.

    Examples
    --------
    >>> from separatrix import is_separable
    >>> from separatrix.datasets import make_separable
    >>> is_separable(*make_separable(margin=0.1)).status
    'complete'
    """
    check_positive("make_separable", "margin", margin)
    rng, y = generator(rng), np.arange(check_count("make_separable", "n", n, least=2)) % 2
    X = rng.standard_normal((n, check_count("make_separable", "n_features", n_features)))
    w = rng.standard_normal(n_features)
    w /= np.linalg.norm(w)
    along = np.where(y == 1, 1.0, -1.0) * (margin + np.abs(X @ w))
    return _shuffled(X + np.outer(along - X @ w, w), y, rng)


def make_overlapping(
    n: int = 200, n_features: int = 2, *, n_classes: int = 2, distance: float = 2.0, rng: Seed = None
) -> tuple[Float, Codes]:
    """Normal classes with unit covariance that overlap, so that no rule is correct for every row.

    p(x | C_k) = N(x | mu_k, I),    p(C_k) = 1/K,    mu_k on a circle in the first two columns

    For two classes the best boundary is the plane x_0 = 0, with error rate Φ(-distance/2). Linear discriminant
    analysis and logistic regression are correctly specified for these data.

    Parameters
    ----------
    n, rng
        As in `make_separable`; classes have equal sizes, up to rounding.
    n_features : int, default 2
        Number of columns, at least two if there are more than two classes.
    n_classes : int, default 2
        Number of classes K.
    distance : float, default 2.0
        Distance between the means of neighbouring classes, in standard deviations.

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
    """Two narrow classes, and outliers of class 1 on the correct side of the boundary.                PRML figure 4.4

    x_0 ~ N(∓1, 0.3²), x_1 ~ N(0, 2²) for the two classes; ``n_outliers`` more rows of class 1 lie around the point
    (distance, -distance). They do not affect logistic regression, because they are on the correct side of the line
    x_0 = 0. Least squares penalises every difference from the target value, so it rotates the line into the classes.

    Parameters
    ----------
    n, rng
        As in `make_separable`, without the outliers.
    n_outliers : int, default 20
        Number of outliers, which are the last rows.
    distance : float, default 10.0
        The outliers are centred at (distance, -distance).

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
    rng, y = generator(rng), np.arange(check_count("make_outliers", "n", n, least=2)) % 2
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])[y] + np.array([0.3, 2.0]) * rng.standard_normal((n, 2))
    X, y = _shuffled(X, y, rng)
    far = np.array([distance, -distance]) + 0.5 * rng.standard_normal((n_outliers, 2))
    return np.vstack([X, far]), np.concatenate([y, np.ones(n_outliers, dtype=np.intp)])


def make_label_noise(
    n: int = 300, n_features: int = 2, *, noise: float = 0.1, distance: float = 4.0, rng: Seed = None
) -> NoisyLabels:
    """Two normal classes with some wrong labels.

    The true labels come from `make_overlapping`. Each label is flipped with probability ``noise``, independently of x,
    as `LabelNoiseLogisticRegression` assumes. Plain logistic regression gives a wrong label far from the boundary
    almost no probability. To fit such rows, its weights shrink.

    Parameters
    ----------
    n, n_features, distance, rng
        As in `make_overlapping`.
    noise : float, default 0.1
        Probability of a wrong label, at most one half.

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


class Experiment(NamedTuple):
    """Training rows and test rows from the same distribution."""

    X: Float
    y: Codes
    X_test: Float
    y_test: Codes


def make_xor_clusters(n: int = 400, *, std: float = 0.35, rng: Seed = None) -> tuple[Float, Codes]:
    """Four normal clusters at (±1, ±1); the class is 1 if the signs differ.

    A line classifies at most three clusters correctly. Radial basis functions or the product x_0 x_1 separate all four.

    Parameters
    ----------
    n, rng
        As in `make_separable`; a quarter of the rows is in each cluster.
    std : float, default 0.35
        Standard deviation of a cluster in each direction.

    Examples
    --------
    >>> from separatrix.datasets import make_xor_clusters
    >>> X, y = make_xor_clusters(std=0.1)
    >>> bool(((X.prod(axis=1) < 0) == y).all())
    True
    """
    rng, spread = generator(rng), check_positive("make_xor_clusters", "std", std)
    corner = rng.permutation(np.arange(check_count("make_xor_clusters", "n", n, least=4)) % 4)
    centre = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])[corner]
    return centre[corner] + spread * rng.standard_normal((n, 2)), y


def make_gaussian_grid(
    n: int = 500,
    *,
    variance: float = 0.03,
    side: int = 5,
    n_classes: int = 2,
    pattern: str = "alternate",
    rng: Seed = None,
) -> tuple[Float, Codes]:
    """A square grid of normal clusters one unit apart; each cluster belongs to one class.

    p(x | cell i, j) = N(x | (i, j), variance I),    i, j = 0 .. side - 1

    With a small variance the clusters do not overlap. With variance 0.25, the means of neighbouring clusters are two
    standard deviations apart, and the pattern is barely visible.

    Parameters
    ----------
    n, rng
        As in `make_separable`; the rows are divided equally among the cells.
    variance : float, default 0.03
        Variance of a cluster in each direction.
    side : int, default 5
        Number of cells along each axis.
    n_classes : int, default 2
        Number of classes K.
    pattern : {"alternate", "random"}, default "alternate"
        "alternate" gives cell (i, j) the class (i + j) mod K, which is a chessboard for two classes. "random" gives
        each cell a random class; the classes have equally many cells, up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.datasets import make_gaussian_grid
    >>> X, y = make_gaussian_grid(variance=0.001)
    >>> bool((np.rint(X).sum(axis=1) % 2 == y).all())
    True
    """
    spread = np.sqrt(check_positive("make_gaussian_grid", "variance", variance))
    cells = check_count("make_gaussian_grid", "side", side, least=2) ** 2
    K = check_count("make_gaussian_grid", "n_classes", n_classes, least=2)
    check_option("make_gaussian_grid", "pattern", pattern, ("alternate", "random"))
    rng = generator(rng)
    i, j = np.divmod(np.arange(cells), side)
    of_cell = (i + j) % K if pattern == "alternate" else rng.permutation(np.arange(cells) % K)
    cell = rng.permutation(np.arange(check_count("make_gaussian_grid", "n", n, least=cells)) % cells)
    return np.column_stack([i[cell], j[cell]]) + spread * rng.standard_normal((n, 2)), of_cell[cell]


def make_rbf_experiment(n: int = 800, *, n_test: int = 200, noise: float = 0.25, rng: Seed = None) -> Experiment:
    """Two classes separated by a wave, with random labels near it, which narrow basis functions overfit.

    x uniform on [-2, 2]²,    p(t = 1 | x) = σ((x_1 - sin 2 x_0) / noise)

    Radial basis functions of width 0.1 with a centre at every row fit single labels: the likelihood of the training
    rows is high, the likelihood of the test rows is low. With a width near one, both are about equal. Maximising the
    evidence finds this width without test rows.

    Parameters
    ----------
    n, n_test : int, default 800 and 200
        Numbers of training and test rows.
    noise : float, default 0.25
        Distance from the wave, along x_1, at which p(t = 1 | x) = σ(1) = 0.73.
    rng
        As in `make_separable`.

    Examples
    --------
    >>> from separatrix.datasets import make_rbf_experiment
    >>> X, y, X_test, y_test = make_rbf_experiment()
    >>> X.shape, X_test.shape
    ((800, 2), (200, 2))
    """
    rng, width = generator(rng), check_positive("make_rbf_experiment", "noise", noise)
    n = check_count("make_rbf_experiment", "n", n)
    total = n + check_count("make_rbf_experiment", "n_test", n_test, least=0)
    X = rng.uniform(-2.0, 2.0, (total, 2))
    p = special.expit((X[:, 1] - np.sin(2 * X[:, 0])) / width)
    y = (rng.random(total) < p).astype(np.intp)
    return Experiment(X[:n], y[:n], X[n:], y[n:])


def _shuffled(X: Float, y: Codes, rng: np.random.Generator) -> tuple[Float, Codes]:
    order = rng.permutation(len(y))
    return X[order], y[order]
