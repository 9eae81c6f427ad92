# SPDX-License-Identifier: BSD-3-Clause
"""Columns in groups of one family each: p(x | C_k) = Π_g p_g(x_g | C_k).

A *group* is a family and the columns it describes. What a pass returns is one record of facts for each group
(`GroupedFacts`); what prediction needs is one density for each (`GroupedDensity`). A missing value (NaN) counts
nowhere, and is left out of the product.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from separatrix._array import Array, Codes, Float, Rows, is_sparse
from separatrix.exceptions import DataError
from separatrix.families import FAMILIES, Moments
from separatrix.generative.categories import ValueCounts
from separatrix.generative.em import one_hot
from separatrix.generative.sparse_counts import COUNTS, all_counts, dense_chunks, sparse_log_density, sparse_sums
from separatrix.rows import Block
from separatrix.stats import ClassMoments, DiagonalScatter, class_moments, spread_out

__all__ = ["Group", "GroupedDensity", "GroupedFacts", "device_facts", "labelled_facts"]

NORMAL = ("normal", "normal_known_variance")
ANY_NUMBER = (*NORMAL, "categorical")  # infinity shows in the sums


@dataclass(frozen=True)
class Group:
    """Columns, by position, that share a family, by name."""

    family: str
    columns: tuple[int, ...]

    @cached_property
    def _index(self) -> slice | list[int]:
        """Neighbouring columns are a view, others a copy."""
        first, last = self.columns[0], self.columns[-1]
        return slice(first, last + 1) if self.columns == tuple(range(first, last + 1)) else list(self.columns)

    def of(self, X: Rows) -> Rows:
        """The group's columns of some rows."""
        return X if X.shape[1] == len(self.columns) else X[:, self._index]

    def checked(self, X: Rows, names: Sequence[str]) -> Rows:
        """The group's columns, or DataError naming a column with a value that the family has no place for."""
        x = self.of(X)
        if self.family in ANY_NUMBER or (self.family in COUNTS and all_counts(self.family, x)):
            return x
        for _, part in dense_chunks(x):
            FAMILIES[self.family].check_support(part, self.names(names))
        return x

    def names(self, names: Sequence[str]) -> list[str]:
        """Those of the group's columns."""
        return [names[d] for d in self.columns]

    def facts(self, x: Rows, R: Float) -> Any:
        """What the family sums over the group's columns of rows, for responsibilities R (n, K)."""
        if is_sparse(x):
            if self.family in COUNTS and not np.isnan(x.data).any():
                return sparse_sums(self.family, x, R)
            return reduce(operator.add, (self.facts(part, R[rows]) for rows, part in dense_chunks(x)))
        x = np.asarray(x, dtype=np.float64)
        return ValueCounts.of(x, R) if self.family == "categorical" else FAMILIES[self.family].facts(x, R)

    def log_density(self, density: Any, x: Rows) -> Float:
        """ln p of the group's columns, (n, K)."""
        if not is_sparse(x):
            return np.asarray(density.log_density_sum(x))
        if isinstance(density, FAMILIES[self.family]) and self.family in COUNTS and not np.isnan(x.data).any():
            return sparse_log_density(self.family, density, x)
        return np.concatenate([density.log_density_sum(part) for _, part in dense_chunks(x)])


@dataclass(frozen=True)
class GroupedFacts:
    """The weight of each class (K,), and the facts of each group."""

    count: Float
    groups: tuple[Group, ...]
    parts: tuple[Any, ...]

    def __add__(self, other: GroupedFacts) -> GroupedFacts:
        """Facts of the same groups add."""
        if self.groups != other.groups:
            raise DataError(_difference(self.groups, other.groups))
        parts = tuple(a + b for a, b in zip(self.parts, other.parts, strict=True))
        return GroupedFacts(self.count + other.count, self.groups, parts)

    def on_classes(self, position: Codes, n_classes: int) -> GroupedFacts:
        """The same facts among ``n_classes`` classes, those of class k now at ``position[k]``."""
        moved = partial(spread_out, position=position, n_classes=n_classes)
        parts = tuple(_moved(part, position, n_classes) for part in self.parts)
        return GroupedFacts(moved(self.count), self.groups, parts)

    def of_classes(self, index: Any) -> GroupedFacts:
        """Some of the classes."""
        return GroupedFacts(self.count[index], self.groups, tuple(part[index] for part in self.parts))

    def of_columns(self, wanted: Callable[[str, int], bool]) -> GroupedFacts:
        """The columns d of each group's family for which ``wanted(family, d)``; empty groups are dropped."""
        groups, parts = [], []
        for group, part in zip(self.groups, self.parts, strict=True):
            keep = [i for i, d in enumerate(group.columns) if wanted(group.family, d)]
            if keep:
                groups.append(Group(group.family, tuple(group.columns[i] for i in keep)))
                parts.append(part if len(keep) == len(group.columns) else part[:, keep])
        return GroupedFacts(self.count, tuple(groups), tuple(parts))

    @property
    def families(self) -> tuple[str, ...]:
        """The family of each column, in the order of the columns."""
        named = {d: group.family for group in self.groups for d in group.columns}
        return tuple(named[d] for d in sorted(named))

    @property
    def categories(self) -> dict[int, Array]:
        """The values of each categorical column, by its position."""
        pairs = zip(self.groups, self.parts, strict=True)
        counted = [(group, part) for group, part in pairs if isinstance(part, ValueCounts)]
        return {d: v for group, part in counted for d, v in zip(group.columns, part.values, strict=True)}

    def renamed(self, text: Mapping[int, Array]) -> GroupedFacts:
        """Counts of codes as counts of the texts that they stand for."""
        parts = list(self.parts)
        for i, group in enumerate(self.groups):
            for j, d in enumerate(group.columns):
                if d in text:
                    parts[i] = parts[i].renamed(j, text[d])
        return replace(self, parts=tuple(parts))

    @property
    def is_finite(self) -> bool:
        """Whether no sum overflowed or met infinity."""
        numbers = [part.counts if isinstance(part, ValueCounts) else part.arrays for part in self.parts]
        values = [v for part in self.parts if isinstance(part, ValueCounts) for v in part.values]
        return all(np.isfinite(a).all() for a in [*(a for some in numbers for a in some), *values])


def _moved(part: Any, position: Codes, n_classes: int) -> Any:
    if isinstance(part, ValueCounts):
        return part.on_classes(position, n_classes)
    return type(part)(*(spread_out(array, position, n_classes) for array in part.arrays))


def _difference(a: Sequence[Group], b: Sequence[Group]) -> str:
    first, second = ({d: group.family for group in groups for d in group.columns} for groups in (a, b))
    d = next((d for d in sorted(first | second) if first.get(d) != second.get(d)), 0)
    return (
        f"Column {d} is {first.get(d)} in one part and {second.get(d)} in the other, so their facts do not add. "
        "Name the family of that column with families={...} in both."
    )


def labelled_facts(block: Block, groups: tuple[Group, ...], n_classes: int, names: Sequence[str]) -> GroupedFacts:
    """The facts of one block of labelled rows."""
    R = one_hot(block, n_classes)
    with np.errstate(invalid="ignore", over="ignore"):
        parts = tuple(_labelled(block, group, R, names) for group in groups)
    return GroupedFacts(R.sum(axis=0), groups, parts)


def device_facts(block: Block, groups: tuple[Group, ...], n_classes: int) -> GroupedFacts | None:
    """The same of rows that live on a device; None where those have to leave it: gaps, and families but the normal."""
    if len(groups) > 1 or groups[0].family not in NORMAL or not (block.codes >= 0).all():
        return None
    moments = class_moments(block, n_classes, DiagonalScatter)
    return GroupedFacts(moments.count, groups, (_of_normal(moments),)) if np.isfinite(moments.mean).all() else None


def _of_normal(moments: ClassMoments[DiagonalScatter]) -> Moments:
    """Facts of the normal family: every column has the weight of its class."""
    count = np.tile(moments.count[:, None], moments.mean.shape[1])
    return Moments(count, moments.mean, moments.scatter.squares)


def _labelled(block: Block, group: Group, R: Float, names: Sequence[str]) -> Any:
    x = group.checked(block.X, names)
    if group.family in NORMAL and not is_sparse(x):  # without gaps, three reads of the block instead of ten
        rows = Block(x, block.t, block.weight, block.row)
        moments = class_moments(rows, R.shape[1], DiagonalScatter)
        if np.isfinite(moments.mean).all():
            return _of_normal(moments)
    return group.facts(x, R)


@dataclass(frozen=True)
class GroupedDensity:
    """p(x | C_k) as a product over groups."""

    groups: tuple[Group, ...]
    densities: tuple[Any, ...]

    def log_density(self, X: Rows, names: Sequence[str]) -> Float:
        """ln p(x | C_k), (n, K)."""
        pairs = zip(self.groups, self.densities, strict=True)
        return np.asarray(sum(group.log_density(density, group.checked(X, names)) for group, density in pairs))

    def draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        """Rows of class k."""
        X = np.empty((size, sum(len(group.columns) for group in self.groups)))
        for group, density in zip(self.groups, self.densities, strict=True):
            X[:, list(group.columns)] = density[k].sample(rng, size)
        return X
