# SPDX-License-Identifier: BSD-3-Clause
"""The problems: tables with labels, made from a fixed seed.

Rows of class k are drawn from N(mu_k, A'A), with one A for all classes. Two classes lie 2 standard
deviations apart: no rule errs on fewer than Phi(-1) = 16 % of the rows, and none is done early because the
classes are separated. Of ten classes about as far apart, the best rule errs on 53 % of the rows.

Given such a row, its class follows a logistic (softmax) model: ln p(C_j | x) - ln p(C_k | x) is linear in x,
PRML (4.65). So the same tables serve the discriminative models, which find there what they assume; the probit
model nearly so. With fewer rows than columns any labels are separable, and only the prior keeps weights finite.

One table is real: Fashion-MNIST, where it is kept beside the project. It is never copied.
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
FLAT = ("flat_logistic", "probit")  # no prior: for tables whose classes overlap
BAYESIAN = ("posterior", "tuned")
DISTANCE = 2.0  # between two class means, in standard deviations; the root mean square for more classes
CORRELATION = 0.999  # between any two columns of an ill-conditioned table
SCALES = (1e-4, 1e4)  # of its first and last column
DATA = Path(__file__).parents[1].parent / "shared" / "data"  # beside the project, as for the tests
BLOCK_ROWS = 8192  # tables are made, and objectives evaluated, block by block: there is never a second table


@dataclass(frozen=True)
class Data:
    """Rows ``X`` (N, M), an ndarray or a CSR array, and class codes ``y`` (N,) from 0 to ``k`` - 1.

    ``new`` is more of the same kind, where probabilities are to be judged on rows that no fit has seen.
    """

    X: Any
    y: NDArray[np.intp]
    k: int
    new: Data | None = None

    @property
    def nbytes(self) -> int:
        """What the table itself occupies; peak memory is given as a multiple of it."""
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
    binary: bool = False  # each number replaced by whether it is positive, 0.0 or 1.0
    ill_conditioned: bool = False  # columns nearly equal but for their scales, which lie eight decades apart
    archive: str = ""  # a file of DATA, instead of random numbers
    n_new: int = 0  # rows to judge by
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
        """Make the table, or read it; equal records give equal bits."""
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
        """Rows of these classes: normal about ``mu``, mixed by ``A``."""
        X = np.empty((len(y), self.m), dtype=self.dtype, order=self.order)
        for rows in row_blocks(len(y)):
            X[rows] = rng.standard_normal((len(y[rows]), self.m)) @ A + mu[y[rows]]
            if self.binary:
                X[rows] = X[rows] > 0
        return X

    def _sparse_rows(self, rng: np.random.Generator, y: NDArray[np.intp]) -> Any:
        """Normal entries at random places. The means are there only where an entry is, hence the root."""
        places = self.n * self.m
        filled = rng.choice(places, size=int(self.density * places), replace=False, shuffle=False)
        row, column = np.divmod(np.sort(filled), self.m)
        where = (row.astype(np.int32), column.astype(np.int32))  # scikit-learn's perceptron takes no others
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
    """A for columns of about unit variance, a little correlated."""
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
    distance = np.sqrt(2 * np.square(mu).sum() / (k - 1))  # over pairs, |mu_j - mu_k|² averages this squared
    return np.asarray(DISTANCE * mu / distance)


PROBLEMS = (
    Problem("default", 500_000, 100, n_new=50_000, tasks=FITS + GENERATIVE + LOGISTIC + FLAT + BAYESIAN),
    Problem("tenth", 50_000, 100, n_new=50_000, tasks=BAYESIAN),  # small enough to tune by cross-validation
    Problem("float32", 500_000, 100, dtype="float32", tasks=FITS + GENERATIVE + LOGISTIC),
    Problem("binary", 500_000, 100, binary=True, tasks=("bernoulli_nb",)),
    Problem("fortran", 500_000, 100, order="F"),
    Problem("ten classes", 500_000, 100, k=10, quick_shape=(1500, 12), tasks=(*FITS, "softmax")),
    Problem("offset 1e7", 500_000, 100, offset=1e7),
    Problem("small", 1_000, 20, quick_shape=(200, 5), tasks=(*FITS, "logistic", *FLAT)),
    Problem("wide", 200, 5_000, quick_shape=(30, 120), tasks=(*WIDE_FITS, "logistic")),
    Problem("sparse", 50_000, 2_000, density=0.005, quick_shape=(800, 40)),
    Problem("sparse 10 000", 50_000, 10_000, density=0.005, quick_shape=(800, 60), tasks=("logistic",)),
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
