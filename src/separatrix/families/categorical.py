# SPDX-License-Identifier: BSD-3-Clause
"""Categorical: x is one of L levels, coded 0 .. L-1.                                PRML §2.2, (2.26)

    p(x | μ) = μ_x,   Σ_l μ_l = 1
    u(x) = one-hot of x,   h(x) = 1,   η_l = ln μ_l,   A = ln Σ_l e^η_l,   E[u] = μ = softmax(η)

η is over-complete: adding a constant to all η_l does not change the distribution.

Conjugate prior    μ ~ Dirichlet(α):  ν = Σα,  χ = α/Σα                                    (2.38)
Posterior          Dirichlet(α + counts)                                                   (2.41)
Predictive         categorical with μ = α/Σα
Marginal           Π_l Γ(α_l + n_l)/Γ(α_l) · Γ(Σα)/Γ(Σα + n)

Columns may have different numbers of levels; arrays are padded to the largest number. A code beyond the levels of its
column did not occur in the training rows. Maximum likelihood gives such a code probability zero. A prior gives it the
probability of a level with count zero, (pseudo-count)/Σα, although the other probabilities already sum to one.

`ValueCounts` and `ValuedCategorical` do the same for columns that contain any values instead of codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import special

from separatrix._array import Array, Codes, Float
from separatrix._special import log_rising
from separatrix.exceptions import DataError
from separatrix.families.family import Family, Prior, Size, is_count, reject, shape_of
from separatrix.families.sufficient_statistics import FactsError, LevelCounts, one_hot


@dataclass(frozen=True)
class Categorical(Family[LevelCounts]):
    """p(x) = μ_x. ``log_probability`` ln μ (..., L) is -inf for impossible levels and for padding. ``log_unseen`` is
    ln p of a code that is not a level of its column.
    """

    log_probability: Float
    log_unseen: Float = field(default_factory=lambda: np.asarray(-np.inf))
    event = (1, 0)
    statistics = LevelCounts

    @property
    def probability(self) -> Float:
        """Probabilities μ, (..., L)."""
        return np.exp(self.log_probability)

    mean_u = probability

    @staticmethod
    def u(x: Any) -> Float:
        x = np.asarray(x, dtype=np.float64)
        return np.asarray((x[..., None] == np.arange(1 + x.max(initial=0.0))).astype(np.float64))

    @property
    def natural(self) -> Float:
        return self.log_probability

    @property
    def log_normaliser(self) -> Float:
        return np.asarray(special.logsumexp(self.log_probability, axis=-1))

    @property
    def mean(self) -> Float:
        """Mean of the code, which is meaningful only for ordered levels."""
        return np.asarray(self.probability @ np.arange(self.probability.shape[-1]))

    @property
    def variance(self) -> Float:
        codes = np.arange(self.probability.shape[-1])
        return np.asarray((self.probability * (codes - self.mean[..., None]) ** 2).sum(axis=-1))

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        return cls(special.log_softmax(eta, axis=-1))

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """The distribution in which μ_l is the fraction of level l."""
        with np.errstate(divide="ignore"):
            return cls(np.log(np.asarray(mean_u, dtype=np.float64)))

    @property
    def _table(self) -> Float:
        """ln p of the codes 0 .. L; the last entry applies to all codes >= L."""
        unseen = self.log_unseen[..., None]
        padded = np.where(np.isneginf(self.log_probability), unseen, self.log_probability)
        return np.concatenate([padded, unseen], axis=-1)

    def log_density(self, x: Any) -> Float:
        x = np.asarray(x, dtype=np.float64)
        L = self.log_probability.shape[-1]
        shape = np.broadcast_shapes(x.shape, self.batch)
        table = np.broadcast_to(self._table, (*shape, L + 1))
        codes = np.broadcast_to(np.clip(x, 0, L).astype(np.intp), shape)
        found = np.take_along_axis(table, codes[..., None], axis=-1)[..., 0]
        return np.where((x >= 0) & (x == np.floor(x)), found, -np.inf)

    def log_density_sum(self, x: Array) -> Float:
        """Product of sparse indicators (n, D L) with the table of log probabilities."""
        x, table = np.asarray(x, dtype=np.float64), self._table
        return np.asarray(one_hot(x, table.shape[-1]) @ table.reshape(len(table), -1).T)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw codes by inverting the distribution function."""
        cumulative = np.cumsum(self.probability, axis=-1)
        level = rng.random(shape_of(size, self.batch)) * cumulative[..., -1]
        return np.asarray((level[..., None] >= cumulative).sum(axis=-1).astype(np.float64))

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        remedy = "Code the categories as 0, 1, 2, ... (sklearn.preprocessing.OrdinalEncoder)."
        want = "category codes must be whole numbers from 0"
        reject(~(np.isnan(x) | is_count(x)), x, columns, want=want, remedy=remedy)

    @classmethod
    def ml(cls, facts: LevelCounts) -> Self:
        """Maximum likelihood: the relative frequencies."""
        facts.require_some()
        return cls.of_mean_u(facts.counts / facts.total[..., None])


@dataclass(frozen=True)
class DirichletCategorical(Prior[Categorical, LevelCounts], of=Categorical):
    """Prior μ ~ Dirichlet(α). ``alpha`` (..., L) is the number of earlier observations of each level, zero if a column
    does not have this level. ``unseen`` is the pseudo-count of a level that did not occur.
    """

    alpha: Float
    unseen: Float
    event = (1, 0)
    positive = ("unseen",)
    not_negative = ("alpha",)

    @classmethod
    def weak(cls, facts: LevelCounts | ValueCounts, worth: float = 1.0) -> Self:
        """Prior with ``worth`` pseudo-observations of each level that occurs in any class; alpha is (1, D, L)."""
        levels = facts.levels
        FactsError.unless(levels[None] > 0, "no values at all", "drop the column", overall=True)
        real = np.arange(max(1, levels.max(initial=1))) < levels[..., None]
        return cls(np.where(real, worth, 0.0)[None], np.full((1, *levels.shape), worth))

    def updated(self, facts: LevelCounts) -> Self:
        return type(self)(self.alpha + self._counts(facts), self.unseen)

    def _counts(self, facts: LevelCounts) -> Float:
        """Counts of the levels of this prior; raises if other levels occur."""
        L = self.alpha.shape[-1]
        counts = facts.padded(max(L, facts.counts.shape[-1]))
        extra = (counts[..., L:] > 0).any(axis=-1) | ((counts[..., :L] > 0) & (self.alpha == 0)).any(axis=-1)
        FactsError.unless(~extra, "a code without a level in the prior", "give the prior more levels")
        return counts[..., :L]

    @property
    def mode(self) -> Categorical:
        """μ = α/Σα, which is the posterior mean of μ."""
        total = self.alpha.sum(axis=-1)
        probability = Categorical.of_mean_u(self.alpha / total[..., None])
        return Categorical(probability.log_probability, np.log(self.unseen / total))

    def log_marginal(self, facts: LevelCounts) -> Float:
        """The marginal likelihood above, computed from rising factorials of each level."""
        counts, real = self._counts(facts), self.alpha > 0
        levels = np.where(real, log_rising(np.where(real, self.alpha, 1.0), counts), 0.0)
        return np.asarray(levels.sum(axis=-1) - log_rising(self.alpha.sum(axis=-1), counts.sum(axis=-1)))


@dataclass(frozen=True)
class ValueCounts:
    """Weighted counts (K, D, L) of the values of each column; ``counts[k, d, l]`` is the count of ``values[d][l]``.

    A categorical column may contain any numbers or text. Adding two `ValueCounts` takes the union of their values.
    Values are sorted and distinct. The counts of columns with fewer than L values are padded with zeros.
    """

    values: tuple[Array, ...]
    counts: Float

    @classmethod
    def of(cls, x: Array, R: Array) -> ValueCounts:
        """Count the values of rows x (n, D) with responsibilities R (n, K)."""
        counted = R.any(axis=1)
        if not counted.all():  # values that occur only in rows of weight zero are not categories
            x, R = x[counted], R[counted]
        distinct = [np.unique(column) for column in x.T]  # np.unique sorts NaN last and lists it once
        values = tuple(v[:-1] if len(v) and np.isnan(v[-1]) else v for v in distinct)
        L = max(1, *(len(v) for v in values))
        counts = (one_hot(_codes_of(x, values), L).T @ R).T
        return cls(values, counts.reshape(R.shape[1], x.shape[1], L))

    def __add__(self, other: ValueCounts) -> ValueCounts:
        """Add the counts; a value that occurs in only one of them has count zero in the other."""
        is_equal = self.counts.shape == other.counts.shape  # selected columns keep the padding of the others
        if is_equal and all(map(np.array_equal, self.values, other.values)):
            return ValueCounts(self.values, self.counts + other.counts)
        values = tuple(_united(a, b) for a, b in zip(self.values, other.values, strict=True))
        return ValueCounts(values, self._over(values) + other._over(values))

    def _over(self, values: tuple[Array, ...]) -> Float:
        """Counts in the order of ``values``, which must include all values of this object."""
        K, D, _ = self.counts.shape
        wide = np.zeros((K, D, max(1, *(len(v) for v in values))))
        for d, (few, many) in enumerate(zip(self.values, values, strict=True)):
            wide[:, d, np.searchsorted(many, few)] = self.counts[:, d, : len(few)]
        return wide

    def __getitem__(self, index: Any) -> ValueCounts:
        """Select classes, or columns with ``[:, columns]``."""
        if isinstance(index, tuple):
            _, columns = index
            return ValueCounts(tuple(self.values[d] for d in columns), self.counts[:, columns])
        return ValueCounts(self.values, self.counts[index])

    def renamed(self, column: int, values: Array) -> ValueCounts:
        """Replace the codes of a column by values; code i becomes ``values[i]``."""
        named = values[self.values[column].astype(np.intp)]
        return ValueCounts((*self.values[:column], named, *self.values[column + 1 :]), self.counts)

    @property
    def levels(self) -> Codes:
        """Number of values of each column, (D,)."""
        return np.array([len(v) for v in self.values])

    @property
    def total(self) -> Float:
        """Weighted number of observations per class and column."""
        return self.by_code.total

    @property
    def by_code(self) -> LevelCounts:
        """Counts by code, without the values."""
        return LevelCounts(self.counts)


@dataclass(frozen=True)
class ValuedCategorical:
    """A categorical distribution over the given values of each column; text values are replaced by codes."""

    values: tuple[Array, ...]
    by_code: Categorical

    def __post_init__(self) -> None:
        codes = tuple(np.arange(len(v)) if v.dtype.kind == "U" else v for v in self.values)
        object.__setattr__(self, "values", codes)

    def log_density_sum(self, x: Array) -> Float:
        """Σ_d ln p(x_nd | class k), (n, K); unknown values count as a level with count zero, NaN is skipped."""
        return self.by_code.log_density_sum(_codes_of(x, self.values))

    def __getitem__(self, index: Any) -> ValuedCategorical:
        return ValuedCategorical(self.values, self.by_code[index])

    def sample(self, rng: np.random.Generator, size: int) -> Float:
        """Draw values of one class, (size, D)."""
        codes = self.by_code.sample(rng, size).astype(np.intp)
        return np.stack([v[c] for v, c in zip(self.values, codes.T, strict=True)], axis=1).astype(np.float64)


def _codes_of(x: Array, values: Sequence[Array]) -> Float:
    """Index of each entry of x (n, D) in the sorted values of its column; unknown values get the index max_d L_d."""
    unseen = max((len(v) for v in values), default=0)
    codes = np.full(x.shape, float(unseen))
    for d, known in enumerate(values):
        column = x[:, d]
        at = np.minimum(np.searchsorted(known, column), max(len(known) - 1, 0))
        hit = known[at] == column if len(known) else np.zeros(len(column), dtype=bool)
        codes[hit, d] = at[hit]
    codes[np.isnan(x)] = np.nan
    return codes


def _united(a: Array, b: Array) -> Array:
    if (a.dtype.kind == "U") != (b.dtype.kind == "U") and len(a) and len(b):
        text, numbers = (a, b) if a.dtype.kind == "U" else (b, a)
        raise DataError(
            f"A categorical column contains text in one part of the rows ({str(text[0])!r}) and numbers in another "
            f"({numbers[0]:g}). Convert it to one type."
        )
    return np.union1d(a, b)
