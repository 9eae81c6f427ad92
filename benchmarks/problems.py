# SPDX-License-Identifier: BSD-3-Clause
"""The problems: tables with labels, made from a fixed seed.

Rows of class k are drawn from N(mu_k, A'A), with one A for all classes. The means of two classes are 2 standard
deviations apart, so the Bayes error is Phi(-1) = 16 %, and no solver stops early because the classes are
separated. For ten classes with about the same distances, the Bayes error is 53 %.

Given such a row, its class follows a logistic (softmax) model: ln p(C_j | x) - ln p(C_k | x) is linear in x,
PRML (4.65). The assumptions of the logistic models therefore hold exactly, and those of the probit model nearly.
With fewer rows than columns, any labels are separable, and only the prior keeps the weights finite.

Tables of words are sparse counts, ln(1 + count): words have Zipf's frequencies, and each class prefers some of them.

One table is real: Fashion-MNIST, if its file is in the folder DATA. It is not part of the project.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler

__all__ = ["PROBLEMS", "Data", "Problem", "row_blocks"]

PASSES = ("gradient_pass", "hessian_pass")
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
WORDS_PER_DIFFERENT_WORD = 1.15  # in a document
BLOCK_ROWS = 8192  # tables are created and evaluated in blocks, so that no second copy is needed

Draw = Callable[[np.random.Generator, NDArray[np.intp]], Any]  # from classes to rows


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

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of each column; 1 for constant columns."""
        scaler = StandardScaler(with_mean=False)
        for rows in row_blocks(len(self.y)):
            scaler.partial_fit(self.X[rows].astype(np.float64))
        return np.asarray(scaler.scale_)


@dataclass(frozen=True)
class Problem:
    """One table: N x M with K classes, how it is stored, fewer rows for a quick run, and a tiny shape for tests."""

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
    common: float = 0.0  # part of the first column that is added to all others
    words: bool = False  # sparse logarithms of word counts
    missing: float = 0.0  # fraction of values replaced by NaN
    distance: float = DISTANCE
    imbalance: float = 1.0  # size of a class divided by that of the previous class
    archive: str = ""  # file in DATA with a real table, instead of random numbers
    n_new: int = 0  # number of new rows for scoring
    seed: int = 4
    quick_n: int = 0  # rows of a quick run, if fewer
    minutes: tuple[str, ...] = ()  # libraries that need minutes, left out of quick runs
    left_out: tuple[str, ...] = ()  # libraries that are not measured
    toy_shape: tuple[int, int] = (600, 8)
    tasks: tuple[str, ...] = FITS

    def quick(self) -> Problem:
        """The same table with fewer rows, if ratios of times need fewer, and without fits that take minutes."""
        return replace(self, n=self.quick_n or self.n, left_out=self.minutes)

    def toy(self) -> Problem:
        """The same kind of table, small enough for a test."""
        n, m = self.toy_shape
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
        y, y_new = rng.permutation(self._codes(self.n)), self._codes(self.n_new)
        draw = self._words(rng) if self.words else self._entries if self.density < 1.0 else self._normal_rows(rng)
        X = draw(rng, y)
        return Data(X, y, self.k, Data(draw(rng, y_new), y_new, self.k) if self.n_new else None)

    def _codes(self, n: int) -> NDArray[np.intp]:
        """Class codes in the proportions of the problem; the first n rows contain each class at least once."""
        if self.imbalance == 1.0:
            return np.arange(n, dtype=np.intp) % self.k
        size = self.imbalance ** np.arange(self.k)
        counts = np.maximum(1, np.floor(n * size / size.sum())).astype(np.intp)
        counts[0] += n - counts.sum()
        return np.repeat(np.arange(self.k, dtype=np.intp), counts)

    def _normal_rows(self, rng: np.random.Generator) -> Draw:
        """Function that draws rows of given classes from N(mu_k, A'A)."""
        A = _ill_conditioned(self.m) if self.ill_conditioned else _mixing(rng, self.m)
        A[:, 1:] += self.common * A[:, :1]
        mu = _means(rng, self.k, self.m, self.distance) @ A + self.offset

        def draw(rng: np.random.Generator, y: NDArray[np.intp]) -> Any:
            X = np.empty((len(y), self.m), dtype=self.dtype, order=self.order)
            for rows in row_blocks(len(y)):
                X[rows] = rng.standard_normal((len(y[rows]), self.m)) @ A + mu[y[rows]]
                if self.binary:
                    X[rows] = X[rows] > 0
                if self.missing:
                    X[rows][rng.random(X[rows].shape) < self.missing] = np.nan
            return X

        return draw

    def _words(self, rng: np.random.Generator) -> Draw:
        """Function that draws documents: about ``density`` M different words each, some of them more than once."""
        zipf = 1.0 / (10.0 + np.arange(self.m))
        taste = zipf * np.exp(rng.standard_normal((self.k, self.m)))
        cumulated = np.cumsum(taste / taste.sum(axis=1, keepdims=True), axis=1)

        def draw(rng: np.random.Generator, y: NDArray[np.intp]) -> Any:
            length = rng.poisson(WORDS_PER_DIFFERENT_WORD * self.density * self.m * rng.gamma(2.0, 0.5, len(y)))
            row, u = np.repeat(np.arange(len(y)), length), rng.random(length.sum())
            column = np.empty(len(row), dtype=np.int32)
            for k in range(self.k):
                of_class = y[row] == k
                column[of_class] = np.searchsorted(cumulated[k], u[of_class]).clip(max=self.m - 1)
            where = (row.astype(np.int32), column)
            X = sparse.csr_array((np.ones(len(row), self.dtype), where), shape=(len(y), self.m))
            X.sum_duplicates()
            return X.log1p()

        return draw

    def _entries(self, rng: np.random.Generator, y: NDArray[np.intp]) -> Any:
        """Normal entries at random positions. The means apply to nonzero entries only, hence the square root."""
        places = len(y) * self.m
        filled = rng.choice(places, size=int(self.density * places), replace=False, shuffle=False)
        row, column = np.divmod(np.sort(filled), self.m)
        where = (
            row.astype(np.int32),
            column.astype(np.int32),
        )  # the only index type that scikit-learn's perceptron accepts
        mu = _means(rng, self.k, self.m, self.distance) / np.sqrt(self.density)
        entries = rng.standard_normal(len(filled)) + mu[y[row], column]
        return sparse.csr_array((entries.astype(self.dtype), where), shape=(len(y), self.m))

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


def _means(rng: np.random.Generator, k: int, m: int, apart: float) -> NDArray[np.float64]:
    """K random points about the origin; the root mean square of their distances is ``apart``."""
    mu = rng.standard_normal((k, m))
    mu -= mu.mean(axis=0)
    distance = np.sqrt(2 * np.square(mu).sum() / (k - 1))  # root mean square of |mu_j - mu_k| over pairs
    return np.asarray(apart * mu / distance)


PROBLEMS = (
    Problem(
        "default",
        500_000,
        100,
        n_new=50_000,
        tasks=(*PASSES, *FITS, *GENERATIVE, *LOGISTIC, *FLAT, "lasso", *BAYESIAN),
    ),
    Problem("correlated", 500_000, 100, common=0.5, n_new=50_000, quick_n=200_000, tasks=BAYESIAN),
    Problem("tenth", 50_000, 100, n_new=50_000, tasks=BAYESIAN),  # small enough to tune by cross-validation
    Problem(
        "float32",
        500_000,
        100,
        dtype="float32",
        quick_n=200_000,
        minutes=("glum",),
        tasks=FITS + GENERATIVE + LOGISTIC,
    ),
    Problem("binary", 500_000, 100, binary=True, tasks=("bernoulli_nb",)),
    Problem("fortran", 500_000, 100, order="F", quick_n=200_000),
    Problem("ten classes", 500_000, 100, k=10, quick_n=200_000, toy_shape=(1500, 12), tasks=(*FITS, "softmax")),
    Problem("offset 1e7", 500_000, 100, offset=1e7, quick_n=200_000),
    Problem("small", 1_000, 20, toy_shape=(200, 5), tasks=(*FITS, "logistic", *FLAT)),
    Problem("wide", 200, 5_000, toy_shape=(30, 120), tasks=(*WIDE_FITS, "logistic", "lasso")),
    Problem("sparse", 50_000, 2_000, density=0.005, toy_shape=(800, 40)),
    Problem("sparse 10 000", 50_000, 10_000, density=0.005, toy_shape=(800, 60), tasks=("logistic", "lasso")),
    # the size of the news agency's stories, for one topic
    Problem(
        "stories",
        7_770,
        8_315,
        density=0.005,
        words=True,
        n_new=3_000,
        toy_shape=(400, 200),
        tasks=("logistic", "lasso", *BAYESIAN),
    ),
    # the size of twenty newsgroups
    Problem(
        "newsgroups",
        11_314,
        1_000,
        k=20,
        density=0.05,
        words=True,
        n_new=5_000,
        quick_n=4_000,
        toy_shape=(300, 12),
        tasks=("least_squares", "softmax", *BAYESIAN),
    ),
    # the size of letter recognition
    Problem(
        "letters",
        20_000,
        16,
        k=26,
        distance=6.0,
        n_new=5_000,
        quick_n=5_000,
        toy_shape=(390, 4),
        tasks=("softmax", *BAYESIAN),
    ),
    # the size of a log of network connections: some classes have very few rows
    Problem(
        "intrusions",
        494_021,
        38,
        k=23,
        distance=8.0,
        imbalance=0.6,
        n_new=20_000,
        quick_n=20_000,
        toy_shape=(400, 4),
        tasks=("softmax", "tuned"),
    ),
    Problem("missing values", 50_000, 30, missing=0.2, tasks=("lda_missing",)),
    Problem("ill-conditioned", 50_000, 100, ill_conditioned=True, minutes=("sklearn liblinear",), tasks=("logistic",)),
    Problem(
        "fashion_mnist",
        60_000,
        784,
        k=10,
        archive="fashion_mnist/fashion_mnist.npz",
        quick_n=12_000,
        toy_shape=(200, 300),
        tasks=("softmax",),
    ),
    Problem("no data", 0, 0, toy_shape=(0, 0), tasks=("import",)),
)
