# SPDX-License-Identifier: BSD-3-Clause
"""Sufficient statistics: the sums over rows that determine a fit, for K classes at once.

The sufficient statistics of a set of rows are called *facts* here; `Family.facts(x, R)` computes them. Facts of
disjoint sets of rows can be added, so blocks, batches and models can be combined in any order. R (n, K) >= 0 is the
weight of row n in class k: the row's weight times its one-hot label, or a responsibility of EM. NaN is skipped.

=================== ================================== ============================================
`Sums`              Σ R, Σ R u(x), Σ R ln h(x)         Bernoulli, Poisson, exponential, multinomial
`Moments`           Σ R, mean, Σ R (x - mean)²         normal
`VectorMoments`     the same with a matrix             multivariate normal
`LogMoments`        Σ R, mean, Σ R ln(mean / x)        gamma, beta, Dirichlet
`LevelCounts`       Σ R [x = l]                        categorical
=================== ================================== ============================================

The statistics are *centred* if raw sums would cancel. Let f be convex with Bregman divergence d. For two sets of rows
a and b, the sums I = Σ R d(x, mean) are merged by

    I(a and b) = I(a) + I(b) + n_a d(m_a, m) + n_b d(m_b, m),

in which no term is negative. f(x) = x² gives the rule of Chan, Golub & LeVeque (1979) for variances. f(x) = -ln x gives
the rule for the *gap* ln(mean) - mean(ln x). Mean and gap determine a gamma, beta or Dirichlet distribution.

Statistics, parameters and priors are all records (`Record`): arrays that share their leading axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from separatrix._array import MIN_STD, Array, Float
from separatrix._special import divergence
from separatrix.exceptions import DataError


class Record:
    """Arrays of float64 that are broadcast to one batch shape. Subclasses are frozen dataclasses.

    The leading ("batch") axes are usually (K, D), for K classes and D columns of one family. A field may have further
    ("event") axes, for U sufficient statistics, L levels of a category, or a covariance matrix. ``event`` contains the
    number of event axes of each field; if empty, no field has any. Fields named in ``positive`` must be positive, and
    fields named in ``not_negative`` must be zero or positive.
    """

    event: ClassVar[tuple[int, ...]] = ()
    positive: ClassVar[tuple[str, ...]] = ()
    not_negative: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # subclasses are dataclasses
        arrays = [np.asarray(getattr(self, name), dtype=np.float64) for name in names]
        axes = self.event or (0,) * len(arrays)
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - e] for a, e in zip(arrays, axes, strict=True)))
        for name, array, e in zip(names, arrays, axes, strict=True):
            whole = np.broadcast_to(array, batch + array.shape[array.ndim - e :])
            object.__setattr__(self, name, whole)
        for name in self.positive:
            require(self, name, getattr(self, name) > 0, "positive")
        for name in self.not_negative:
            require(self, name, getattr(self, name) >= 0, "zero or positive")

    @property
    def arrays(self) -> list[Float]:
        """List of the fields."""
        return [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the leading axes, which all fields share."""
        first = self.arrays[0]
        return first.shape[: first.ndim - (self.event or (0,))[0]]

    def __getitem__(self, index: Any) -> Self:
        """Select classes; with an array of codes, as in ``distribution[y]``, one entry per row."""
        return type(self)(*(array[index] for array in self.arrays))


def require(record: Record, name: str, ok: Array, meaning: str) -> None:
    """Raise ValueError with the first value of a field that is not ``ok``."""
    if not np.all(ok):
        worst = np.broadcast_to(getattr(record, name), np.shape(ok))[~ok].flat[0]
        raise ValueError(f"{type(record).__name__}: {name} must be {meaning}, got {worst!r}.")


class FactsError(DataError):
    """Error for an estimate that does not exist at some positions (class, column); (class,) if a row is one vector.

    The class is None if the estimate of all classes together does not exist.

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
        """Describe the problem, the classes and columns (by name if names are given), and the remedy."""
        places = []
        for position in self.where[:5]:
            kinds = zip(position, ("class", "column"), (classes, columns), strict=False)
            named = [f"{kind} {i if names is None else repr(names[i])}" for i, kind, names in kinds if i is not None]
            places.append(", ".join(named) or "all rows")
        more = f" and {len(self.where) - 5} more" if len(self.where) > 5 else ""
        return f"{self.what} in {', '.join(places)}{more}; {self.remedy}."

    @classmethod
    def unless(cls, ok: Array, what: str, remedy: str, *, overall: bool = False) -> None:
        """Raise an error with every position that is not ok; ``overall`` means that the first axis is not the class."""
        if not np.all(ok):
            where = [tuple(int(i) for i in position) for position in np.argwhere(~np.asarray(ok))]
            raise cls([(None, *rest) for _, *rest in where] if overall else where, what, remedy)


class Facts(Record):
    """Base class of sufficient statistics, with one entry per class and column. Statistics can be added."""

    mean_u: Any  # mean of u(x); only statistics that are sums of u have it
    is_constant: Any  # whether all values are equal up to rounding; only statistics with a variance or a gap have it

    @property
    def total(self) -> Float:
        """Weighted number of observations of each entry, (K, D) or (K,)."""
        return self.arrays[0]

    def __add__(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self.arrays, other.arrays, strict=True)))

    def overall(self) -> Self:
        """Statistics of all classes together, as one class; the leading axis has length 1.

        Raises `FactsError` if a column has no value in any class.
        """
        parts = [self[k : k + 1] for k in range(self.batch[0])]
        pooled = sum(parts[1:], start=parts[0])
        FactsError.unless(pooled.total > 0, "no values at all", "drop the column", overall=True)
        return pooled

    def require_some(self, *, varying: bool = False) -> None:
        """Raise `FactsError` if an entry has no observations, or if its values must vary and are all equal."""
        remedy = "drop the column or the class, or use a prior"
        FactsError.unless(self.total > 0, "no values", remedy)
        if varying:
            FactsError.unless(~self.is_constant, "all values are equal", remedy)


@dataclass(frozen=True)
class Sums(Facts):
    """Weighted counts Σ R, sums Σ R u(x) with the U statistics on the last axis, and sums Σ R ln h(x)."""

    count: Float
    total_u: Float
    log_h: Float
    event: ClassVar[tuple[int, ...]] = (0, 1, 0)

    @property
    def mean_u(self) -> Float:
        """Mean of u(x); zero if there are no observations."""
        return self.total_u / np.where(self.count > 0, self.count, 1.0)[..., None]

    @classmethod
    def of(cls, x: Array, R: Array, log_h: Callable[[Array], Float] | None = None) -> Self:
        """Compute the sums for u(x) = x as matrix products. If ``log_h`` is None, h = 1."""
        x, R = np.asarray(x, dtype=np.float64), np.asarray(R, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            total = R.T @ x
        if np.isfinite(total).all():
            count = np.tile(R.sum(axis=0)[:, None], x.shape[1])
        else:
            seen = ~np.isnan(x)
            x = np.where(seen, x, 0.0)
            count, total = R.T @ seen.astype(np.float64), R.T @ x
        if log_h is None:
            return cls(count, total[..., None], np.zeros_like(count))
        return cls(count, total[..., None], R.T @ log_h(x))  # missing values are 0 here, and ln h(0) = 0


@dataclass(frozen=True)
class Moments(Facts):
    """Weighted count, mean and scatter Σ R (x - mean)² of every class and column."""

    count: Float
    mean: Float
    scatter: Float

    @classmethod
    def of(cls, x: Array, R: Array) -> Self:
        """Centre the rows of each class; the mean of the centred values corrects the rounding error of the mean."""
        x = np.asarray(x, dtype=np.float64)
        count, mean, scatter = np.zeros((3, np.shape(R)[1], x.shape[1]))
        for k, z, r, holes, n in _by_class(x, R):
            first = _centre(z, r, holes, n)
            rest = (r @ z) / np.where(n > 0, n, 1.0)
            squares = r @ np.square(z, out=z)
            count[k], mean[k], scatter[k] = n, first + rest, np.maximum(squares - n * rest**2, 0.0)
        return cls(count, mean, scatter)

    def __add__(self, other: Self) -> Self:
        """Merge two sets of rows with the rule of Chan, Golub & LeVeque."""
        count, mean, fraction = _merged(self, other)
        delta = other.mean - self.mean
        return type(self)(count, mean, self.scatter + other.scatter + self.count * fraction * delta**2)

    @property
    def variance(self) -> Float:
        """Maximum-likelihood variance: the scatter divided by N, not by N - 1."""
        return self.scatter / np.where(self.count > 0, self.count, 1.0)

    @property
    def is_constant(self) -> Array:
        """Whether the values differ by no more than the rounding error of their mean."""
        rounding = 2 * np.finfo(np.float64).eps * np.abs(self.mean)
        return np.asarray(np.sqrt(self.variance) <= np.maximum(rounding, MIN_STD))


@dataclass(frozen=True)
class VectorMoments(Facts):
    """Weighted count (K,), mean (K, D) and scatter matrix (K, D, D) of complete rows."""

    count: Float
    mean: Float
    scatter: Float
    event: ClassVar[tuple[int, ...]] = (0, 1, 2)

    @classmethod
    def of(cls, x: Array, R: Array) -> Self:
        """Compute the scatter of each class as a product z'z of centred rows."""
        x = np.asarray(x, dtype=np.float64)
        K, D = np.shape(R)[1], x.shape[1]
        count, mean, scatter = np.zeros(K), np.zeros((K, D)), np.zeros((K, D, D))
        for k, z, r, _, _ in _by_class(x, R):
            count[k] = r.sum()
            mean[k] = _centre(z, r, None, count[k])
            mean[k] += _centre(z, r, None, count[k])  # removes the rounding error of the first mean
            np.multiply(z, np.sqrt(r)[:, None], out=z)
            scatter[k] = z.T @ z
        return cls(count, mean, scatter)

    def __add__(self, other: Self) -> Self:
        """Merge two sets of rows with the rule of Chan, Golub & LeVeque."""
        count, mean, fraction = _merged(self, other)
        shift = np.sqrt(self.count * fraction)[..., None] * (other.mean - self.mean)
        outer = shift[..., :, None] * shift[..., None, :]
        return type(self)(count, mean, self.scatter + other.scatter + outer)


@dataclass(frozen=True)
class LogMoments(Facts):
    """Weighted count, and for each of C positive components the mean and gap = Σ R ln(mean / x) >= 0."""

    count: Float
    mean: Float
    gap: Float
    event: ClassVar[tuple[int, ...]] = (0, 1, 1)

    @classmethod
    def of(cls, x: Array, R: Array) -> Self:
        """Compute the statistics of x (n, D, C): D columns, each with C components that are missing together.

        ln(mean / x) is summed as x/mean - 1 - ln(x/mean). The part x/mean - 1 sums to zero and makes each term >= 0.
        """
        x = np.asarray(x, dtype=np.float64)
        flat = x.reshape(len(x), int(np.prod(x.shape[1:])))
        count, mean, gap = np.zeros((3, np.shape(R)[1], flat.shape[1]))
        for k, z, r, holes, n in _by_class(flat, R):
            centred = z.copy()
            mean[k] = _centre(centred, r, holes, n)
            mean[k] += (r @ centred) / np.where(n > 0, n, 1.0)
            safe = np.where(n > 0, mean[k], 1.0)
            filled = z if holes is None else np.where(holes, safe, z)
            count[k], gap[k] = n, r @ (divergence(safe, filled) / safe)
        shape = (len(count), *x.shape[1:])
        return cls(count.reshape(shape)[..., 0], mean.reshape(shape), gap.reshape(shape))

    def __add__(self, other: Self) -> Self:
        """Merge two sets of rows, with the Bregman divergence of -ln x."""
        count, mean, _ = _merged(self, other)
        gap, safe = self.gap + other.gap, np.where(mean > 0, mean, 1.0)
        for part in (self, other):  # n_a d(m_a, m) with d(x, m) = x/m - 1 - ln(x/m)
            own = np.where((part.count[..., None] > 0) & (mean > 0), part.mean, safe)
            unit = np.where(safe > 2.0**1000, 2.0**-16, 1.0)  # products with logarithms would overflow
            gap = gap + part.count[..., None] * divergence(unit * safe, unit * own) / (unit * safe)
        return type(self)(count, mean, gap)

    @property
    def mean_gap(self) -> Float:
        """Gap per observation, ln(mean) - mean(ln x)."""
        return self.gap / np.where(self.count > 0, self.count, 1.0)[..., None]

    @property
    def is_constant(self) -> Array:
        """Whether no component varies by more than the rounding error of its mean."""
        rounding = 4 * float(np.finfo(np.float64).eps) ** 2
        return np.asarray((self.mean_gap <= rounding).all(axis=-1))

    @property
    def total_log(self) -> Float:
        """Sum Σ R ln x of each component, (..., C)."""
        return self.count[..., None] * np.log(np.where(self.mean > 0, self.mean, 1.0)) - self.gap


@dataclass(frozen=True)
class LevelCounts(Facts):
    """Weighted counts (K, D, L) of the codes 0 .. L-1; columns with fewer levels are padded with zeros."""

    counts: Float
    event: ClassVar[tuple[int, ...]] = (1,)

    @classmethod
    def of(cls, x: Array, R: Array) -> Self:
        """Count the codes; L is one more than the largest code in these rows."""
        x, R = np.asarray(x, dtype=np.float64), np.asarray(R, dtype=np.float64)
        L = 1 + int(np.nanmax(x, initial=0.0, where=~np.isnan(x)))
        product = (one_hot(x, L).T @ R).T
        return cls(product.reshape(R.shape[1], x.shape[1], L))

    def __add__(self, other: Self) -> Self:
        """Add the counts; a code that occurs in only one of them has count zero in the other."""
        L = max(self.counts.shape[-1], other.counts.shape[-1])
        return type(self)(self.padded(L) + other.padded(L))

    def padded(self, L: int) -> Float:
        """Counts padded with zeros to L levels."""
        extra = L - self.counts.shape[-1]
        return np.pad(self.counts, [(0, 0)] * (self.counts.ndim - 1) + [(0, extra)])

    @property
    def total(self) -> Float:
        """Weighted number of observations per class and column."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def levels(self) -> Array:
        """Number of levels of each column: one more than the largest code in any class."""
        seen = self.counts.sum(axis=0) > 0
        return np.asarray(np.where(seen, np.arange(1, seen.shape[-1] + 1), 0).max(axis=-1))


def one_hot(x: Array, L: int) -> sparse.csr_array:
    """Sparse indicators (n, D·L) of codes (n, D); codes above L-1 use indicator L-1, missing codes have none."""
    n, D = x.shape
    seen = ~np.isnan(x)
    codes = np.minimum(np.where(seen, x, 0.0), L - 1).astype(np.intp) + L * np.arange(D)
    starts = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    indices = codes[seen]
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(n, D * L))


def _by_class(x: Array, R: Array) -> Iterator[tuple[int, Array, Array, Array | None, Float]]:
    """Yield for each class its index, a copy of its rows, their weights, the mask of missing values (None if no value
    is missing), and the count of each column. If each row has one label, x is read once.
    """
    for k, r in enumerate(np.asarray(R, dtype=np.float64).T):
        rows = np.flatnonzero(r)
        z, weight = np.take(x, rows, axis=0), np.take(r, rows)
        holes = np.isnan(z) if np.isnan(weight @ z).any() else None
        yield k, z, weight, holes, np.full(x.shape[1], weight.sum()) if holes is None else weight @ ~holes


def _centre(z: Array, r: Array, holes: Array | None, count: Float) -> Float:
    """Subtract the mean from z in place, set missing values to zero, and return the mean."""
    if holes is not None:
        z[holes] = 0.0
    mean = np.asarray((r @ z) / np.where(count > 0, count, 1.0))
    z -= mean
    if holes is not None:
        z[holes] = 0.0
    return mean


def _merged(a: Any, b: Any) -> tuple[Float, Float, Float]:
    """Count and mean of both sets of rows, and the fraction of the rows that are in b."""
    count = a.count + b.count
    fraction = np.divide(b.count, count, out=np.zeros_like(count), where=count > 0)
    n, f = (a.count[..., None], fraction[..., None]) if a.event else (a.count, fraction)
    return count, np.where(n > 0, a.mean + f * (b.mean - a.mean), b.mean), fraction  # exactly b.mean if a is empty
