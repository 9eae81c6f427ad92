# SPDX-License-Identifier: BSD-3-Clause
"""Two columns and no straight boundary: XOR, a grid of Gaussians, and a curve that narrow basis functions over-fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from separatrix._arguments import check_count, check_option, check_positive, generator
from separatrix._array import Codes, Float

__all__ = ["Experiment", "make_gaussian_grid", "make_rbf_experiment", "make_xor_clusters"]

Seed = int | np.random.Generator | None


class Experiment(NamedTuple):
    """Rows to learn from, and rows of the same distribution to judge by."""

    X: Float
    y: Codes
    X_test: Float
    y_test: Codes


def make_xor_clusters(n: int = 400, *, std: float = 0.35, rng: Seed = None) -> tuple[Float, Codes]:
    """Four normal clusters at (±1, ±1); the class is 1 where the signs differ.

    No line does better than three clusters of four. Radial basis functions, or the product x_0 x_1, separate them.

    Parameters
    ----------
    n : int, default 400
        Rows, a quarter in each cluster.
    std : float, default 0.35
        Standard deviation of a cluster in each direction.
    rng : int or Generator, optional
        Seed, or where random numbers come from; None always gives the same rows.

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
    """A square grid of normal clusters one unit apart, each of one class.

    p(x | cell i, j) = N(x | (i, j), variance I),    i, j = 0 .. side - 1

    With a small variance the cells are islands. At 0.25 neighbours have means two standard deviations apart, and what
    is left of the pattern is barely there to be learnt.

    Parameters
    ----------
    n : int, default 500
        Rows, spread evenly over the cells.
    variance : float, default 0.03
        Of a cluster in each direction.
    side : int, default 5
        Cells along each axis.
    n_classes : int, default 2
        K.
    pattern : {"alternate", "random"}, default "alternate"
        Cell (i, j) has the class (i + j) mod K, a chess board for two classes; or a random class, all equally often
        but for a rest of division.
    rng : int or Generator, optional
        Seed, or where random numbers come from; None always gives the same rows.

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
    """Two classes beside a wave, with labels that are partly chance: what narrow basis functions learn by heart.

    x uniform on [-2, 2]²,    p(t = 1 | x) = σ((x_1 - sin 2 x_0) / noise)

    A radial basis function on every row with a width of 0.1 follows single labels: the likelihood of the training rows
    is high, that of the test rows low. A width near one, which the evidence finds without the test rows, makes the two
    about equal.

    Parameters
    ----------
    n : int, default 800
        Rows to learn from.
    n_test : int, default 200
        Rows to judge by.
    noise : float, default 0.25
        Distance from the wave, along x_1, at which labels become certain.
    rng : int or Generator, optional
        Seed, or where random numbers come from; None always gives the same rows.

    Returns
    -------
    Experiment
        ``X``, ``y``, ``X_test`` and ``y_test``.

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
