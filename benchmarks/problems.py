# SPDX-License-Identifier: BSD-3-Clause
"""The problems: tables with labels, made from a fixed seed.

Rows of class k are drawn from N(mu_k, A'A), with one A for all classes. The means of two classes are 2 standard
deviations apart, so the Bayes error is Phi(-1) = 16 %, and no solver stops early because the classes are
separated. For ten classes with about the same distances, the Bayes error is 53 %.

Given such a row, its class follows a logistic (softmax) model: ln p(C_j | x) - ln p(C_k | x) is linear in x,
PRML (4.65). The assumptions of the logistic models therefore hold exactly, and those of the probit model nearly.
With fewer rows than columns, any labels are separable, and only the prior keeps the weights finite.

One table is real: Fashion-MNIST, if its file is in the folder DATA. It is not part of the project.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["PROBLEMS", "Data", "Problem", "row_blocks"]

FITS = ("least_squares", "fisher", "perceptron_epoch", "predict_linear")
GENERATIVE = ("lda", "qda", "gaussian_nb", "qda_proba", "gaussian_nb_proba")
WIDE_FITS = ("least_squares", "perceptron_epoch", "predict_linear")  # for N < M, Fisher's J has no maximum
LOGISTIC = ("logistic", "logistic_hessian")
FLAT = ("flat_logistic", "probit")  # without a prior, for tables whose classes overlap
BAYESIAN = ("posterior", "tuned")
DISTANCE = 2.0  # between two class means, in standard deviations; the root mean square for more classes
CORRELATION = 0.999  # between any two columns of an ill-conditioned table
SCALES = (1e-4, 1e4)  # scales of the first and last column of an ill-conditioned table
DATA = Path(__file__).parents[1].parent / "shared" / "data"  # folder next to the repository, as for the tests
BLOCK_ROWS = 8192  # tables are created and evaluated in blocks, so that no second copy is needed


@dataclass(frozen=True)
class Data:
    """Rows ``X`` (N, M), an ndarray or a CSR array, and class codes ``y`` (N,) from 0 to ``k`` - 1.

    ``new`` are further rows from the same distribution, on which probabilities are scored.
    """

    X: Any
    y: NDArray[np.intp]
    k: int
    new: Data | None = None

    @property
    def nbytes(self) -> int:
        """Size of the table in bytes; peak memory is reported as a multiple of it."""
        if sparse.issparse(self.X):
            return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)
        return int(self.X.nbytes)


@dataclass(frozen=True)
class Problem:
    """One table: N x M with K classes, how it is stored, and a smaller shape for tests."""

    name: str
    n: int
    m: int
    k: int = 2
    dtype: str = "float64"
    order: Literal["C", "F"] = "C"
    offset: float = 0.0
    density: float = 1.0
    binary: bool = False  # replace each number by 1.0 if it is positive, else by 0.0
    ill_conditioned: bool = False  # columns are nearly equal up to scales from 1e-4 to 1e4
    archive: str = ""  # file in DATA with a real table, instead of random numbers
    n_new: int = 0  # number of new rows for scoring
    seed: int = 4
    quick_shape: tuple[int, int] = (600, 8)
    tasks: tuple[str, ...] = FITS

    def quick(self) -> Problem:
        """The same kind of table, small enough for a test."""
        n, m = self.quick_shape
        return replace(self, n=n, m=m, n_new=min(self.n_new, n), density=min(1.0, 10 * self.density))

    @property
    def is_here(self) -> bool:
        """Whether the table can be made on this machine."""
        return not self.archive or (DATA / self.archive).exists()

    def data(self) -> Data:
        """Create or read the table; equal problems give bit-identical tables."""
        if self.archive:
            return self._pixels()
        rng = np.random.default_rng(self.seed)
        y = rng.permutation(np.arange(self.n, dtype=np.intp) % self.k)
        if self.density < 1.0:
            return Data(self._sparse_rows(rng, y), y, self.k)
        A = _ill_conditioned(self.m) if self.ill_conditioned else _mixing(rng, self.m)
        mu = _means(rng, self.k, self.m) @ A + self.offset
        X = self._dense_rows(rng, y, A, mu)
        y_new = np.arange(self.n_new, dtype=np.intp) % self.k
        new = Data(self._dense_rows(rng, y_new, A, mu), y_new, self.k) if self.n_new else None
        return Data(X, y, self.k, new)

    def _dense_rows(
        self, rng: np.random.Generator, y: NDArray[np.intp], A: NDArray[np.float64], mu: NDArray[np.float64]
    ) -> Any:
        """Rows of these classes, drawn from N(mu_k, A'A)."""
        X = np.empty((len(y), self.m), dtype=self.dtype, order=self.order)
        for rows in row_blocks(len(y)):
            X[rows] = rng.standard_normal((len(y[rows]), self.m)) @ A + mu[y[rows]]
            if self.binary:
                X[rows] = X[rows] > 0
        return X

    def _sparse_rows(self, rng: np.random.Generator, y: NDArray[np.intp]) -> Any:
        """Normal entries at random positions. The means apply to nonzero entries only, hence the square root."""
        places = self.n * self.m
        filled = rng.choice(places, size=int(self.density * places), replace=False, shuffle=False)
        row, column = np.divmod(np.sort(filled), self.m)
        where = (
            row.astype(np.int32),
            column.astype(np.int32),
        )  # the only index type that scikit-learn's perceptron accepts
        mu = _means(rng, self.k, self.m) / np.sqrt(self.density)
        entries = rng.standard_normal(len(filled)) + mu[y[row], column]
        return sparse.csr_array((entries.astype(self.dtype), where), shape=(self.n, self.m))

    def _pixels(self) -> Data:
        """The first N training images and M pixels, between 0 and 1."""
        with np.load(DATA / self.archive) as images:
            rows = images["x_train"][: self.n].reshape(self.n, -1)[:, : self.m]
            y = images["y_train"][: self.n].astype(np.intp)
        return Data(np.divide(rows, 255.0, dtype=self.dtype), y, self.k)


def row_blocks(n: int) -> Iterator[slice]:
    """Slices that together cover n rows."""
    return (slice(start, min(start + BLOCK_ROWS, n)) for start in range(0, n, BLOCK_ROWS))


def _mixing(rng: np.random.Generator, m: int) -> NDArray[np.float64]:
    """A for slightly correlated columns of about unit variance."""
    return np.asarray(np.eye(m) + 0.3 * rng.standard_normal((m, m)) / np.sqrt(m))


def _ill_conditioned(m: int) -> NDArray[np.float64]:
    """A with A'A = D R D: R has CORRELATION off its diagonal, and D goes from one of SCALES to the other.

    R = (1 - r) I + r 11' has the root sqrt(1 - r) (I - 11'/m) + sqrt(1 - r + r m) 11'/m.
    """
    mean = np.full((m, m), 1.0 / m)
    root = np.sqrt(1 - CORRELATION) * (np.eye(m) - mean) + np.sqrt(1 - CORRELATION + CORRELATION * m) * mean
    return np.asarray(root * np.geomspace(*SCALES, m))


def _means(rng: np.random.Generator, k: int, m: int) -> NDArray[np.float64]:
    """K random points about the origin, DISTANCE apart."""
    mu = rng.standard_normal((k, m))
    mu -= mu.mean(axis=0)
    distance = np.sqrt(2 * np.square(mu).sum() / (k - 1))  # root mean square of |mu_j - mu_k| over pairs
    return np.asarray(DISTANCE * mu / distance)


PROBLEMS = (
    Problem("default", 500_000, 100, n_new=50_000, tasks=(*FITS, *GENERATIVE, *LOGISTIC, *FLAT, "lasso", *BAYESIAN)),
    Problem("tenth", 50_000, 100, n_new=50_000, tasks=BAYESIAN),  # small enough to tune by cross-validation
    Problem("float32", 500_000, 100, dtype="float32", tasks=FITS + GENERATIVE + LOGISTIC),
    Problem("binary", 500_000, 100, binary=True, tasks=("bernoulli_nb",)),
    Problem("fortran", 500_000, 100, order="F"),
    Problem("ten classes", 500_000, 100, k=10, quick_shape=(1500, 12), tasks=(*FITS, "softmax")),
    Problem("offset 1e7", 500_000, 100, offset=1e7),
    Problem("small", 1_000, 20, quick_shape=(200, 5), tasks=(*FITS, "logistic", *FLAT)),
    Problem("wide", 200, 5_000, quick_shape=(30, 120), tasks=(*WIDE_FITS, "logistic", "lasso")),
    Problem("sparse", 50_000, 2_000, density=0.005, quick_shape=(800, 40)),
    Problem("sparse 10 000", 50_000, 10_000, density=0.005, quick_shape=(800, 60), tasks=("logistic", "lasso")),
    Problem("ill-conditioned", 50_000, 100, ill_conditioned=True, tasks=("logistic",)),
    Problem(
        "fashion_mnist",
        60_000,
        784,
        k=10,
        archive="fashion_mnist/fashion_mnist.npz",
        quick_shape=(200, 300),
        tasks=("softmax",),
    ),
    Problem("no data", 0, 0, quick_shape=(0, 0), tasks=("import",)),
)
