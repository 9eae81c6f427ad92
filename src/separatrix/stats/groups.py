# SPDX-License-Identifier: BSD-3-Clause
"""Sufficient statistics of groups of columns, with one family per group: p(x | C_k) = Π_g p_g(x_g | C_k).

A *group* consists of a family and its columns. One pass returns the statistics of each group (`GroupedFacts`). Missing
values (NaN) are ignored.

Sparse rows stay sparse if the family is Bernoulli, Poisson, exponential or multinomial. These families have u(x) = x
and ln h(0) = 0, so a zero adds nothing to

    Σ_n R_nk u(x_n),   Σ_n R_nk ln h(x_n),   ln p(x_n | C_k) = η_k'x_n - A(η_k) + ln h(x_n).

For other families, sparse rows are converted to dense chunks of bounded size. Normal columns on a GPU are summed there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy.special import gammaln

from separatrix._array import Array, Codes, Float, Rows, bincount, device_aware, is_sparse, read_only, to_dense
from separatrix.exceptions import DataError
from separatrix.families import FAMILIES, Moments, Sums, SupportError, ValueCounts, weigh
from separatrix.rows import UNLABELLED, Block, DeviceRows, block_rows, on_host
from separatrix.stats.checks import MAX_MAGNITUDE, MIN_COMPILED_ENTRIES, Tally
from separatrix.stats.moments import DiagonalScatter, class_moments, spread_out

COUNT_FAMILIES = ("bernoulli", "poisson", "exponential", "multinomial")
NORMAL_FAMILIES = ("normal", "normal_known_variance")
HEIGHT_FACTOR = 4  # blocks have this many times the usual number of rows, because column sums take little time
DENSE_CHUNK_BYTES = 2**24  # size of a dense chunk of sparse rows


@dataclass(frozen=True)
class Group:
    """Positions of the columns that have the same family, and the name of the family."""

    family: str
    columns: tuple[int, ...]

    @cached_property
    def _index(self) -> slice | list[int]:
        """Index of the columns; a slice for adjacent columns, because it selects without a copy."""
        first, last = self.columns[0], self.columns[-1]
        return slice(first, last + 1) if self.columns == tuple(range(first, last + 1)) else list(self.columns)

    @property
    def is_joint(self) -> bool:
        """Whether the log density is no sum over the columns; that of a multinomial is one, up to a constant."""
        return FAMILIES[self.family].vector and self.family != "multinomial"

    @property
    def has_compiled_sums(self) -> bool:
        """Whether a compiled loop reads each value of dense rows once, unless a value is missing."""
        return self.family in (*NORMAL_FAMILIES, "bernoulli")

    def of(self, X: Rows) -> Rows:
        """The columns of the group."""
        return X if X.shape[1] == len(self.columns) else X[:, self._index]

    def checked(self, X: Rows, names: Sequence[str]) -> Rows:
        """The columns of the group; raises DataError naming a column with a value outside the family's support."""
        x = self.of(X)
        if self.family in (*NORMAL_FAMILIES, "categorical"):  # infinite values are detected in the sums
            return x
        if self.family not in COUNT_FAMILIES or not _are_counts(self.family, x):
            for rows, part in dense_chunks(x):
                try:
                    FAMILIES[self.family].check_support(part, self.names(names))
                except SupportError as error:
                    raise error.in_row(error.row + rows.start) from None
        return x

    def names(self, names: Sequence[str]) -> list[str]:
        """The names of the group's columns."""
        return [names[d] for d in self.columns]

    def facts(self, x: Rows, R: Float) -> Any:
        """Sufficient statistics of the group's columns x for responsibilities R (n, K)."""
        if is_sparse(x):
            if self.family not in COUNT_FAMILIES or np.isnan(x.data).any():
                return reduce(operator.add, (self.facts(part, R[rows]) for rows, part in dense_chunks(x)))
            n, total = R.sum(axis=0), np.asarray((x.T @ R).T)
            if self.family == "multinomial":
                return Sums(n, total, R.T @ _log_h(self.family, x))
            logs = _mapped(x, -gammaln(x.data + 1.0) if self.family == "poisson" else np.zeros_like(x.data))
            return Sums(np.tile(n[:, None], x.shape[1]), total[..., None], np.asarray((logs.T @ R).T))
        x = np.asarray(x, dtype=np.float64)
        return ValueCounts.of(x, R) if self.family == "categorical" else FAMILIES[self.family].facts(x, R)

    def log_density(self, density: Any, x: Rows) -> Float:
        """ln p of the group's columns, (n, K)."""
        if not is_sparse(x):
            return np.asarray(density.log_density_sum(x))
        exact = isinstance(density, FAMILIES[self.family]) and self.family in COUNT_FAMILIES
        if not exact or np.isnan(x.data).any():
            return np.concatenate([density.log_density_sum(part) for _, part in dense_chunks(x)])
        log_h = _log_h(self.family, x)[:, None]
        if self.family == "multinomial":  # ln μ is normalised: A = 0
            return np.asarray(weigh(x, density.log_probability) + log_h)
        return np.asarray(weigh(x, density.natural[..., 0]) - density.log_normaliser.sum(axis=1) + log_h)


@dataclass(frozen=True)
class GroupedFacts:
    """The weight of each class (K,), and the statistics of each group."""

    count: Float
    groups: tuple[Group, ...]
    parts: tuple[Any, ...]

    def __add__(self, other: GroupedFacts) -> GroupedFacts:
        if self.groups != other.groups:
            first, second = ({d: g.family for g in facts.groups for d in g.columns} for facts in (self, other))
            d = next((d for d in sorted(first | second) if first.get(d) != second.get(d)), 0)
            raise DataError(
                f"Column {d} is {first.get(d)} in one part and {second.get(d)} in the other, so their statistics "
                "cannot be added. Name the family of that column with families={...} in both."
            )
        parts = tuple(a + b for a, b in zip(self.parts, other.parts, strict=True))
        return GroupedFacts(self.count + other.count, self.groups, parts)

    def on_classes(self, position: Codes, n_classes: int) -> GroupedFacts:
        """The same statistics for ``n_classes`` classes, with class k at ``position[k]``."""

        def moved(part: Any) -> Any:
            if isinstance(part, ValueCounts):
                return replace(part, counts=spread_out(part.counts, position, n_classes))
            return type(part)(*(spread_out(array, position, n_classes) for array in part.arrays))

        return GroupedFacts(
            spread_out(self.count, position, n_classes), self.groups, tuple(moved(part) for part in self.parts)
        )

    def of_classes(self, index: Any) -> GroupedFacts:
        """Statistics of the classes selected by ``index``."""
        return GroupedFacts(self.count[index], self.groups, tuple(part[index] for part in self.parts))

    def of_columns(self, wanted: Callable[[str, int], bool]) -> GroupedFacts:
        """Statistics of the columns d for which ``wanted(family, d)`` is true; empty groups are dropped."""
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
        """Replace the codes of text columns by their text."""
        parts = list(self.parts)
        for i, group in enumerate(self.groups):
            for j, d in enumerate(group.columns):
                if d in text:
                    parts[i] = parts[i].renamed(j, text[d])
        return replace(self, parts=tuple(parts))

    @property
    def is_finite(self) -> bool:
        """Whether all sums and category values are finite, and no mean is so large that products would overflow."""
        counted = [part for part in self.parts if isinstance(part, ValueCounts)]
        others = [array for part in self.parts if not isinstance(part, ValueCounts) for array in part.arrays]
        values = [v for part in counted for v in part.values]
        means = [np.abs(part.mean).max(initial=0.0) for part in self.parts if isinstance(part, Moments)]
        finite = all(np.isfinite(a).all() for a in [*others, *(part.counts for part in counted), *values])
        return finite and all(mean <= MAX_MAGNITUDE for mean in means)


def require_support(block: Block, groups: tuple[Group, ...], names: Sequence[str]) -> Tally:
    """Raise DataError with the column, the value and the row number of a value outside the support of its family."""
    block = block.weighted()
    for group in groups:
        try:
            group.checked(block.X, names)
        except SupportError as error:
            raise error.in_row(int(block.row[error.row])) from None
    return Tally(np.zeros(1))


@device_aware
def group_statistics(block: Block, groups: tuple[Group, ...], n_classes: int, names: Sequence[str]) -> GroupedFacts:
    """Statistics of each class of a block. Unlabelled rows are counted as an extra class, ``n_classes``.

    Models with and without EM use these statistics; unlabelled rows contribute to the scale of a prior.
    """
    if isinstance(block.X, DeviceRows):
        if len(groups) == 1 and groups[0].family in NORMAL_FAMILIES and (block.codes >= 0).all():
            facts = _normal_facts(block, n_classes + 1)
            if facts is not None:
                return GroupedFacts(facts.count[:, 0], groups, (facts,))
        block = on_host(block)  # other families and missing values are summed on the CPU
    block = block.weighted()  # values of other rows may be outside the support
    block = replace(block, t=np.where(block.codes == UNLABELLED, n_classes, block.codes))
    parts, height = list[Any](), block_rows(max(1, block.X.shape[1] // HEIGHT_FACTOR))
    with np.errstate(invalid="ignore", over="ignore"):
        for group in groups:
            own = replace(block, X=group.of(block.X))
            found: Any = None
            is_dense = not is_sparse(own.X)
            if group.family in NORMAL_FAMILIES and is_dense:
                found = _normal_facts(own, n_classes + 1)
            elif group.family == "bernoulli" and is_dense and own.X.size >= MIN_COMPILED_ENTRIES:
                found = _compiled_ones(own, n_classes + 1)
            if found is None and len(block) > 2 * height:  # temporary arrays should be small
                pieces = (block.take(slice(start, start + height)) for start in range(0, len(block), height))
                return reduce(operator.add, (group_statistics(piece, groups, n_classes, names) for piece in pieces))
            if found is None:
                found = group.facts(group.checked(block.X, names), label_weights(block, n_classes + 1))
            parts.append(found)
    return GroupedFacts(bincount(block.codes, block.weight, n_classes + 1), groups, tuple(parts))


def _normal_facts(block: Block, n_classes: int) -> Moments | None:
    """Statistics of normal columns from the class moments; None if a value is missing."""
    moments = class_moments(block, n_classes, DiagonalScatter)
    if not np.isfinite(moments.mean).all():
        return None
    count = np.tile(moments.count[:, None], moments.mean.shape[1])
    return Moments(count, moments.mean, moments.scatter.squares)


def _compiled_ones(block: Block, n_classes: int) -> Sums | None:
    """Statistics of Bernoulli columns, from one read of the rows; None if a value is missing, or not 0 or 1."""
    from separatrix.stats._moment_kernels import class_ones

    total = np.zeros((n_classes, block.X.shape[1]))
    weight = np.ones(len(block)) if block.weight is None else block.weight
    if not class_ones(*map(read_only, (np.ascontiguousarray(block.X), block.codes, weight)), total):
        return None
    count = np.tile(bincount(block.codes, weight, n_classes)[:, None], block.X.shape[1])
    return Sums(count, total[..., None], np.zeros_like(count))


def label_weights(block: Block, n_classes: int) -> Float:
    """R (n, K): the weight of each row in the column of its class, and 0 in other columns."""
    R = np.zeros((len(block), n_classes))
    R[np.arange(len(block)), block.codes] = 1.0 if block.weight is None else block.weight
    return R


def dense_chunks(x: Rows) -> Iterator[tuple[slice, Array]]:
    """Yield a dense block as a whole, and sparse rows as dense chunks of bounded size."""
    n = x.shape[0]
    step = max(1, DENSE_CHUNK_BYTES // (8 * x.shape[1])) if is_sparse(x) else max(n, 1)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        yield rows, np.asarray(to_dense(x[rows]))


def _log_h(family: str, x: Any) -> Float:
    """Σ_d ln h(x_nd) of each row."""
    if family not in ("poisson", "multinomial"):
        return np.zeros(x.shape[0])
    total = -np.asarray(_mapped(x, gammaln(x.data + 1.0)).sum(axis=1)).ravel()
    if family == "multinomial":
        total += gammaln(np.asarray(x.sum(axis=1)).ravel() + 1.0)
    return total


def _mapped(x: Any, data: Array) -> Any:
    """The sparse matrix with its stored entries replaced by ``data``."""
    return type(x)((data, x.indices, x.indptr), shape=x.shape)


def _are_counts(family: str, x: Rows) -> bool:
    """Fast check that every value is in the support of the family and none is missing."""
    values = x.data if is_sparse(x) else x
    if family == "bernoulli":
        return bool(((values == 0) | (values == 1)).all())
    fine = (values >= 0) & np.isfinite(values)
    return bool((fine & (values == np.floor(values)) if family == "poisson" else fine).all())
