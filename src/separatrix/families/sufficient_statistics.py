# SPDX-License-Identifier: BSD-3-Clause
"""Sufficient statistics: the sums over rows that determine a fit, for K classes at once.

The statistics of some rows are called their *facts*: `Family.facts(x, R)` computes them, and they add over rows, so
blocks, batches and models can be combined in any order. R (n, K) >= 0 is the weight of row n in class k: the row's
weight times its one-hot label, or the responsibilities of EM. A missing value (NaN) is left out.

=================== ================================== ============================================
`Sums`              Σ R, Σ R u(x), Σ R ln h(x)         Bernoulli, Poisson, exponential, multinomial
`Moments`           Σ R, mean, Σ R (x - mean)²         normal
`VectorMoments`     the same with a matrix             multivariate normal
`LogMoments`        Σ R, mean, Σ R ln(mean / x)        gamma, beta, Dirichlet
`LevelCounts`       Σ R [x = l]                        categorical
=================== ================================== ============================================

The statistics are *centred* if raw sums would cancel. For a convex f with Bregman divergence d, the information
I = Σ R d(x, mean) merges by

    I(a and b) = I(a) + I(b) + n_a d(m_a, m) + n_b d(m_b, m),

a sum of terms that are never negative. f(x) = x² gives the rule of Chan, Golub & LeVeque (1979) for variances;
f(x) = -ln x gives the same rule for ln(mean) - mean(ln x), which together with the mean determines a gamma,
beta or Dirichlet distribution.

Statistics, parameters and priors are all records (`Record`): arrays that share their leading axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from separatrix._array import Array, Float
from separatrix._special import divergence
from separatrix.exceptions import DataError


class Record:
    """Arrays of float64 broadcast to one batch shape. Subclasses are frozen dataclasses.

    The leading ("batch") axes are usually (K, D): K classes, D columns of one family. A field may have further
    ("event") axes: the U sufficient statistics, the L levels of a category, a covariance. ``event`` is the number of
    event axes of each field, in order; empty means none.
    """

    event: ClassVar[tuple[int, ...]] = ()

    def __post_init__(self) -> None:
        """Convert, broadcast, check."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # subclasses are dataclasses
        arrays = [np.asarray(getattr(self, name), dtype=np.float64) for name in names]
        axes = self.event or (0,) * len(arrays)
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - e] for a, e in zip(arrays, axes, strict=True)))
        for name, array, e in zip(names, arrays, axes, strict=True):
            whole = np.broadcast_to(array, batch + array.shape[array.ndim - e :])
            object.__setattr__(self, name, whole)
        self._check()

    def _check(self) -> None:
        """Raise ValueError if the numbers are not valid parameters of this record."""

    @property
    def arrays(self) -> list[Float]:
        """The fields, in order."""
        return [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape that all fields share."""
        first = self.arrays[0]
        return first.shape[: first.ndim - (self.event or (0,))[0]]

    def __getitem__(self, index: Any) -> Self:
        """Some classes (or rows of parameters: ``distribution[y]``), as the same record."""
        return type(self)(*(array[index] for array in self.arrays))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """The classes of all parts, in order."""
        return cls(*(np.concatenate(same, axis=0) for same in zip(*(p.arrays for p in parts), strict=True)))


def require(record: Record, name: str, ok: Array, meaning: str) -> None:
    """Raise ValueError naming the first value of a field that is not ``ok``."""
    if not np.all(ok):
        worst = np.broadcast_to(getattr(record, name), np.shape(ok))[~ok].flat[0]
        raise ValueError(f"{type(record).__name__}: {name} must be {meaning}, got {worst!r}.")


class FactsError(DataError):
    """The estimate does not exist for some positions (class, column), or (class,) if a row is one vector.

    The class is None if the estimate does not exist for all classes together.

    >>> error = FactsError([(1, 0)], "all values are equal", "drop the column")
    >>> error.describe(("no", "yes"), ("age", "income"))
    "all values are equal in class 'yes', column 'age'; drop the column."
    """

    def __init__(self, where: Sequence[tuple[int | None, ...]], what: str, remedy: str) -> None:
        self.where = list(where)
        self.what = what
        self.remedy = remedy
        super().__init__(self.describe())

    def describe(self, classes: Sequence[Any] | None = None, columns: Sequence[str] | None = None) -> str:
        """The problem, the classes and columns (by name if names are given), and the remedy."""
        places = ", ".join(self._place(position, classes, columns) for position in self.where[:5])
        more = f" and {len(self.where) - 5} more" if len(self.where) > 5 else ""
        return f"{self.what} in {places}{more}; {self.remedy}."

    @staticmethod
    def _place(position: tuple[int | None, ...], classes: Sequence[Any] | None, columns: Sequence[str] | None) -> str:
        kinds = zip(position, ("class", "column"), (classes, columns), strict=False)
        named = [f"{kind} {i if names is None else repr(names[i])}" for i, kind, names in kinds if i is not None]
        return ", ".join(named) or "all rows"

    @classmethod
    def unless(cls, ok: Array, what: str, remedy: str, *, overall: bool = False) -> None:
        """Raise with every position that is not ok; set ``overall`` if the first axis does not stand for classes."""
        if not np.all(ok):
            where = [tuple(int(i) for i in position) for position in np.argwhere(~np.asarray(ok))]
            raise cls([(None, *rest) for _, *rest in where] if overall else where, what, remedy)


#: Maps z, the row weights, the mask of missing values and the counts to means and information.
Summary = Callable[[Array, Array, Array | None, Float], tuple[Float, Float]]


class Facts(Record):
    """Sufficient statistics of some rows: a count for each class and column, and ``+``."""

    @property
    def total(self) -> Float:
        """Weighted number of observations of each entry, (K, D) or (K,)."""
        return self.arrays[0]

    def __add__(self, other: Self) -> Self:
        """The statistics of both sets of rows."""
        return type(self)(*(a + b for a, b in zip(self.arrays, other.arrays, strict=True)))

    def pooled(self) -> Self:
        """The statistics of all classes together, as one class: the leading axis has length 1."""
        parts = [self[k : k + 1] for k in range(self.batch[0])]
        return sum(parts[1:], start=parts[0])

    def overall(self) -> Self:
        """`pooled`, used to scale a weak prior; raises `FactsError` if a column has no value in any class."""
        pooled = self.pooled()
        FactsError.unless(pooled.total > 0, "no values at all", "drop the column", overall=True)
        return pooled

    def require_some(self) -> None:
        """Raise `FactsError` if an entry has no observations."""
        FactsError.unless(self.total > 0, "no values", "drop the column or the class, or use a prior")


@dataclass(frozen=True)
class Sums(Facts):
    """Weighted counts, Σ R u(x) with the U statistics last, and Σ R ln h(x)."""

    count: Float
    total_u: Float
    log_h: Float
    event: ClassVar[tuple[int, ...]] = (0, 1, 0)

    @property
    def mean_u(self) -> Float:
        """The mean of u(x); zero without observations."""
        return self.total_u / np.where(self.count > 0, self.count, 1.0)[..., None]

    @classmethod
    def of_columns(
        cls, x: Array, R: Array, u: Callable[[Array], Float], log_h: Callable[[Array], Float] | None
    ) -> Self:
        """One matrix product for each sum. ``log_h`` None means h = 1."""
        x, R = np.asarray(x, dtype=np.float64), np.asarray(R, dtype=np.float64)
        n, D = x.shape
        if log_h is None and n > 0:  # one product is enough unless a value is missing
            with np.errstate(invalid="ignore"):
                total_u = (R.T @ u(x).reshape(n, -1)).reshape(R.shape[1], D, -1)
            if np.isfinite(total_u).all():
                count = np.tile(R.sum(axis=0)[:, None], D)
                return cls(count, total_u, np.zeros_like(count))
        missing = np.isnan(x)
        holes = bool(missing.any())
        filled = np.where(missing, 0.5, x) if holes else x  # 0.5 lies in every support
        U = u(filled)
        if holes:
            U = np.where(missing[..., None], 0.0, U)
        count = R.T @ (~missing).astype(np.float64) if holes else np.tile(R.sum(axis=0)[:, None], D)
        total_u = (R.T @ U.reshape(n, D * U.shape[-1])).reshape(R.shape[1], D, U.shape[-1])
        if log_h is None:
            return cls(count, total_u, np.zeros_like(count))
        return cls(count, total_u, R.T @ np.where(missing, 0.0, log_h(filled)))


@dataclass(frozen=True)
class Moments(Facts):
    """Weighted count, mean and scatter Σ R (x - mean)², one of each for every class and column."""

    count: Float
    mean: Float
    scatter: Float

    @classmethod
    def of(cls, x: Array, R: Array) -> Self:
        """Centred class by class, over the rows of each class."""
        return cls(*_by_class(x, R, _centred_squares))

    def __add__(self, other: Self) -> Self:
        """Chan's rule."""
        count, share = _merged_count(self.count, other.count)
        delta = other.mean - self.mean
        scatter = self.scatter + other.scatter + self.count * share * delta**2
        return type(self)(count, _merged_mean(self.mean, other.mean, self.count, share), scatter)

    @property
    def variance(self) -> Float:
        """The scatter over the count: maximum likelihood, no N - 1."""
        return self.scatter / np.where(self.count > 0, self.count, 1.0)

    @property
    def is_constant(self) -> Array:
        """Whether the values differ by no more than the rounding error of their mean."""
        return np.asarray(self.variance <= (2 * np.finfo(np.float64).eps * self.mean) ** 2)


@dataclass(frozen=True)
class VectorMoments(Facts):
    """Weighted count (K,), mean (K, D) and scatter matrix (K, D, D) of complete rows."""

    count: Float
    mean: Float
    scatter: Float
    event: ClassVar[tuple[int, ...]] = (0, 1, 2)

    @classmethod
    def of(cls, x: Array, R: Array) -> Self:
        """One product z'z of centred rows for each class."""
        x, R = np.asarray(x, dtype=np.float64), np.asarray(R, dtype=np.float64)
        K, D = R.shape[1], x.shape[1]
        count, mean, scatter = np.zeros(K), np.zeros((K, D)), np.zeros((K, D, D))
        for k in range(K):
            z, r = _rows_of(x, R[:, k])
            if len(z):
                count[k] = r.sum()
                mean[k] = _centre(z, r, None, count[k])
                mean[k] += _centre(z, r, None, count[k])  # removes the rounding error of the first mean
                z *= np.sqrt(r)[:, None]
                scatter[k] = z.T @ z
        return cls(count, mean, scatter)

    def __add__(self, other: Self) -> Self:
        """Chan's rule."""
        count, share = _merged_count(self.count, other.count)
        shift = np.sqrt(self.count * share)[..., None] * (other.mean - self.mean)
        outer = shift[..., :, None] * shift[..., None, :]
        mean = _merged_mean(self.mean, other.mean, self.count[..., None], share[..., None])
        return type(self)(count, mean, self.scatter + other.scatter + outer)


@dataclass(frozen=True)
class LogMoments(Facts):
    """Weighted count, mean and gap = Σ R ln(mean / x) >= 0 of positive numbers, C components of each."""

    count: Float
    mean: Float
    gap: Float
    event: ClassVar[tuple[int, ...]] = (0, 1, 1)

    @classmethod
    def of(cls, x: Array, R: Array) -> Self:
        """x (n, D, C): D columns of C components that are missing together."""
        x = np.asarray(x, dtype=np.float64)
        count, mean, gap = _by_class(x.reshape(len(x), int(np.prod(x.shape[1:]))), R, _log_gaps)
        shape = (len(count), *x.shape[1:])
        return cls(count.reshape(shape)[..., 0], mean.reshape(shape), gap.reshape(shape))

    @classmethod
    def of_one(cls, x: Float) -> Self:
        """A single observation each, x (..., C)."""
        return cls(np.ones(x.shape[:-1]), x, np.zeros_like(x))

    def __add__(self, other: Self) -> Self:
        """The rule of Chan with the divergence of -ln."""
        count, share = _merged_count(self.count, other.count)
        mean = _merged_mean(self.mean, other.mean, self.count[..., None], share[..., None])
        gap = self.gap + other.gap + _moved(self, mean) + _moved(other, mean)
        return type(self)(count, mean, gap)

    @property
    def mean_gap(self) -> Float:
        """ln(mean) - mean(ln x)."""
        return self.gap / np.where(self.count > 0, self.count, 1.0)[..., None]

    @property
    def is_constant(self) -> Array:
        """Whether no component varies by more than the rounding error of its mean."""
        rounding = 4 * float(np.finfo(np.float64).eps) ** 2
        return np.asarray((self.mean_gap <= rounding).all(axis=-1))

    @property
    def total_log(self) -> Float:
        """Σ R ln x, (..., C)."""
        return self.count[..., None] * np.log(np.where(self.mean > 0, self.mean, 1.0)) - self.gap


@dataclass(frozen=True)
class LevelCounts(Facts):
    """Weighted counts (K, D, L) of the codes 0 .. L-1; columns with fewer levels are padded with zeros."""

    counts: Float
    event: ClassVar[tuple[int, ...]] = (1,)

    @classmethod
    def of(cls, x: Array, R: Array) -> Self:
        """L is one more than the largest code in these rows."""
        x, R = np.asarray(x, dtype=np.float64), np.asarray(R, dtype=np.float64)
        L = 1 + int(np.nanmax(x, initial=0.0, where=~np.isnan(x)))
        product = (one_hot(x, L).T @ R).T
        return cls(product.reshape(R.shape[1], x.shape[1], L))

    def __add__(self, other: Self) -> Self:
        """Codes that occur on one side only have count zero on the other."""
        L = max(self.counts.shape[-1], other.counts.shape[-1])
        return type(self)(self.padded(L) + other.padded(L))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """The classes of all parts, padded to the same number of levels."""
        L = max(part.counts.shape[-1] for part in parts)
        return cls(np.concatenate([part.padded(L) for part in parts]))

    def padded(self, L: int) -> Float:
        """The counts with zeros up to L levels."""
        extra = L - self.counts.shape[-1]
        return np.pad(self.counts, [(0, 0)] * (self.counts.ndim - 1) + [(0, extra)])

    @property
    def total(self) -> Float:
        """Observations per class and column."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def levels(self) -> Array:
        """One more than the largest code seen in any class, for each column."""
        seen = self.counts.sum(axis=0) > 0
        return np.asarray(np.where(seen, np.arange(1, seen.shape[-1] + 1), 0).max(axis=-1))


def one_hot(x: Array, L: int) -> sparse.csr_array:
    """Codes (n, D) as n sparse rows of D·L indicators; codes above L-1 share the last, missing codes have none."""
    n, D = x.shape
    seen = ~np.isnan(x)
    codes = np.minimum(np.where(seen, x, 0.0), L - 1).astype(np.intp) + L * np.arange(D)
    starts = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    indices = codes[seen]
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(n, D * L))


def _by_class(x: Array, R: Array, summary: Summary) -> tuple[Float, Float, Float]:
    """Counts, means and information (K, M) of the columns of x, each class from its own rows."""
    x, R = np.asarray(x, dtype=np.float64), np.asarray(R, dtype=np.float64)
    K, M = R.shape[1], x.shape[1]
    count, mean, information = np.zeros((K, M)), np.zeros((K, M)), np.zeros((K, M))
    for k in range(K):
        z, r = _rows_of(x, R[:, k])
        holes = np.isnan(z) if np.isnan(r @ z).any() else None
        count[k] = r.sum() if holes is None else r @ ~holes
        mean[k], information[k] = summary(z, r, holes, count[k])
    return count, mean, information


def _rows_of(x: Array, r: Array) -> tuple[Array, Array]:
    """A copy of the rows with positive weight in a class, and their weights: with one label per row, x is read once."""
    rows = np.flatnonzero(r)
    return np.take(x, rows, axis=0), np.take(r, rows)


def _centre(z: Array, r: Array, holes: Array | None, count: Float) -> Float:
    """Subtract the mean from z in place, leave zeros in its holes, and return the mean."""
    if holes is not None:
        z[holes] = 0.0
    mean = np.asarray((r @ z) / np.where(count > 0, count, 1.0))
    z -= mean
    if holes is not None:
        z[holes] = 0.0
    return mean


def _centred_squares(z: Array, r: Array, holes: Array | None, count: Float) -> tuple[Float, Float]:
    """Means and squares; the mean of the centred values, ``rest``, corrects the rounding error of the first mean."""
    mean = _centre(z, r, holes, count)
    rest = (r @ z) / np.where(count > 0, count, 1.0)
    squares = r @ np.square(z, out=z)
    return mean + rest, np.maximum(squares - count * rest**2, 0.0)


def _log_gaps(z: Array, r: Array, holes: Array | None, count: Float) -> tuple[Float, Float]:
    """ln(mean / x) summed as x/mean - 1 - ln(x/mean): the added part sums to zero, and each term is >= 0."""
    centred = z.copy()
    mean = _centre(centred, r, holes, count)
    mean += (r @ centred) / np.where(count > 0, count, 1.0)
    safe = np.where(count > 0, mean, 1.0)
    filled = z if holes is None else np.where(holes, safe, z)
    return mean, r @ (divergence(safe, filled) / safe)


def _merged_count(n: Float, m: Float) -> tuple[Float, Float]:
    """n + m, and the fraction m/(n + m), 0 if both are zero."""
    count = n + m
    return count, np.divide(m, count, out=np.zeros_like(count), where=count > 0)


def _merged_mean(a: Float, b: Float, n: Float, share: Float) -> Float:
    """The weighted mean of two means; exactly b if a has no observations."""
    return np.where(n > 0, a + share * (b - a), b)


def _moved(part: LogMoments, mean: Float) -> Float:
    """n_a d(m_a, m) with d(x, m) = x/m - 1 - ln(x/m)."""
    own = np.where(part.count[..., None] > 0, part.mean, mean)
    safe = np.where(mean > 0, mean, 1.0)
    return part.count[..., None] * divergence(safe, np.where(mean > 0, own, 1.0)) / safe
