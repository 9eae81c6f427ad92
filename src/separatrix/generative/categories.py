# SPDX-License-Identifier: BSD-3-Clause
"""Categories by value: a categorical column may hold any numbers, and the set of them may grow.

`families.Categorical` knows codes 0 .. L-1. Here a column's facts keep the values that the codes stand for, so that
models fitted apart agree on what they counted: adding facts unites the sets of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.families import Categorical, LevelCounts
from separatrix.stats import spread_out

__all__ = ["ValueCounts", "ValuedCategorical"]


@dataclass(frozen=True)
class ValueCounts:
    """Weighted counts (K, D, L) of the values of each column: ``counts[k, d, l]`` is that of ``values[d][l]``.

    Values are sorted and distinct; columns with fewer of them than L are padded with zeros.
    """

    values: tuple[Array, ...]
    counts: Float

    @classmethod
    def of(cls, x: Array, R: Array) -> ValueCounts:
        """The values of rows x (n, D) that count for any class, with responsibilities R (n, K)."""
        counted = R.any(axis=1)
        if not counted.all():  # as if rows of weight zero were not there: their values are no categories
            x, R = x[counted], R[counted]
        values = tuple(_distinct(column) for column in x.T)
        L = max(1, *(len(v) for v in values))
        return cls(values, LevelCounts.of(codes_of(x, values), R).padded(L)[..., :L])

    def __add__(self, other: ValueCounts) -> ValueCounts:
        """Values that only one side has seen count zero on the other."""
        if all(map(np.array_equal, self.values, other.values)):
            return ValueCounts(self.values, self.counts + other.counts)
        values = tuple(_united(a, b) for a, b in zip(self.values, other.values, strict=True))
        return ValueCounts(values, self._over(values) + other._over(values))

    def _over(self, values: tuple[Array, ...]) -> Float:
        """The counts at the places that the same values have among ``values``."""
        K, D, _ = self.counts.shape
        wide = np.zeros((K, D, max(1, *(len(v) for v in values))))
        for d, (few, many) in enumerate(zip(self.values, values, strict=True)):
            wide[:, d, np.searchsorted(many, few)] = self.counts[:, d, : len(few)]
        return wide

    def __getitem__(self, index: Any) -> ValueCounts:
        """Some classes; or ``[:, columns]``, some columns."""
        if isinstance(index, tuple):
            _, columns = index
            return ValueCounts(tuple(self.values[d] for d in columns), self.counts[:, columns])
        return ValueCounts(self.values, self.counts[index])

    def on_classes(self, position: Codes, n_classes: int) -> ValueCounts:
        """The same counts among ``n_classes`` classes, those of class k now at ``position[k]``."""
        return ValueCounts(self.values, spread_out(self.counts, position, n_classes))

    def renamed(self, column: int, values: Array) -> ValueCounts:
        """With what the codes of a column stand for, in the order of the codes; those never seen are left out."""
        named = values[self.values[column].astype(np.intp)]
        return ValueCounts((*self.values[:column], named, *self.values[column + 1 :]), self.counts)

    @property
    def levels(self) -> Codes:
        """How many values each column has, (D,)."""
        return np.array([len(v) for v in self.values])

    @property
    def by_code(self) -> LevelCounts:
        """The counts alone, as the family wants them."""
        return LevelCounts(self.counts)


@dataclass(frozen=True)
class ValuedCategorical:
    """A categorical distribution over the given values of each column; text is given and drawn as codes."""

    values: tuple[Array, ...]
    by_code: Categorical

    @classmethod
    def of(cls, facts: ValueCounts, by_code: Categorical) -> ValuedCategorical:
        """Over the values of the facts, or the codes of their texts."""
        return cls(tuple(np.arange(len(v)) if v.dtype.kind == "U" else v for v in facts.values), by_code)

    def log_density_sum(self, x: Array) -> Float:
        """Σ_d ln p(x_nd | class k), (n, K); a value never seen gets the pseudo-count's mass, NaN is left out."""
        return self.by_code.log_density_sum(codes_of(x, self.values))

    def __getitem__(self, index: Any) -> ValuedCategorical:
        """Some classes."""
        return ValuedCategorical(self.values, self.by_code[index])

    def sample(self, rng: np.random.Generator, size: int) -> Float:
        """Values of one class, (size, D)."""
        codes = self.by_code.sample(rng, size).astype(np.intp)
        return np.stack([v[c] for v, c in zip(self.values, codes.T, strict=True)], axis=1).astype(np.float64)


def codes_of(x: Array, values: Sequence[Array]) -> Float:
    """Positions of x (n, D) among the sorted values of each column; one past the longest list where absent."""
    unseen = max((len(v) for v in values), default=0)
    codes = np.full(x.shape, float(unseen))
    for d, known in enumerate(values):
        column = x[:, d]
        at = np.minimum(np.searchsorted(known, column), max(len(known) - 1, 0))
        hit = known[at] == column if len(known) else np.zeros(len(column), dtype=bool)
        codes[hit, d] = at[hit]
    codes[np.isnan(x)] = np.nan
    return codes


def _distinct(column: Array) -> Array:
    values = np.unique(column)  # NaN sorts last, and once
    return values[:-1] if len(values) and np.isnan(values[-1]) else values


def _united(a: Array, b: Array) -> Array:
    if (a.dtype.kind == "U") != (b.dtype.kind == "U") and len(a) and len(b):
        text, numbers = (a, b) if a.dtype.kind == "U" else (b, a)
        raise DataError(
            f"A categorical column holds text in one part of the rows ({str(text[0])!r}) and numbers in another "
            f"({numbers[0]:g}). Give it as one or the other."
        )
    return np.union1d(a, b)
