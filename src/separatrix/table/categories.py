# SPDX-License-Identifier: BSD-3-Clause
"""Categories: which levels get a column each, which share one as too rare, and which are hashed as too many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from separatrix.exceptions import DataError
from separatrix.table.facts import ColumnFacts
from separatrix.table.hashing import HashPlan
from separatrix.table.plans import MISSING, OTHER, CategoryPlan, DropPlan, Plan
from separatrix.table.values import Kind
from separatrix.table.wording import how_many, of_what, only_value, percent, share_missing, written

__all__ = ["Options", "cannot_be", "category"]

LUMPED_LEVELS, LUMPED_ROWS = 0.9, 0.2  # shares of levels and of rows from which a note says that they were lumped


class Options(NamedTuple):
    """What `infer_types` was told about categories."""

    max_levels: int
    min_count: int
    drop: str
    hashing: int | None

    def hashes(self, facts: ColumnFacts) -> bool:
        """Whether a category has so many levels that they are hashed."""
        is_long = facts.levels.overflowed or facts.levels.n_distinct > self.max_levels
        return self.hashing is not None and is_long


def category(name: str, facts: ColumnFacts, options: Options) -> Plan:
    """An indicator for each frequent level; or hashes, where options say so and levels are many."""
    if options.hashes(facts):
        return _hashed(name, facts, options)
    if facts.levels.overflowed or not facts.levels.counts:
        raise cannot_be(name, facts, "categorical")
    counts = {written(level): count for level, count in facts.levels.counts.items()}
    n_gaps = facts.n_missing + counts.pop(MISSING, 0)
    ranked = sorted(counts, key=lambda level: (-counts[level], level))
    kept = [level for level in ranked[: options.max_levels] if counts[level] >= options.min_count and level != OTHER]
    pooled = [level for level in ranked if level not in set(kept)]
    if not n_gaps and len(kept) + bool(pooled) == 1:
        why = (
            f"none of its {len(pooled)} values is in {options.min_count} rows or more"
            if pooled
            else f"every value is {only_value(facts)}"
        )
        return DropPlan(name, "constant", why)
    rare = f", {len(pooled)} of them rare" if pooled else ""
    gaps = f"; {share_missing(n_gaps, facts.n_rows)}" if n_gaps else ""
    reference = kept[0] if options.drop == "first" and kept else ""
    base = f"; compared with {reference!r}" if reference else ""
    why = f"{of_what(facts)}{len(ranked)} {'level' if len(ranked) == 1 else 'levels'}{rare}{gaps}{base}"
    note = _lumped(name, pooled, counts, options)
    return CategoryPlan(name, "categorical", why, tuple(kept), tuple(pooled), bool(n_gaps), reference, note)


def _lumped(name: str, pooled: list[str], counts: Mapping[str, int], options: Options) -> str:
    """A sentence where nearly all levels share one column, and with them so many rows that it matters."""
    share = sum(counts[level] for level in pooled) / sum(counts.values())
    if len(pooled) < LUMPED_LEVELS * len(counts) or share < LUMPED_ROWS:
        return ""
    return (
        f"{name}: {len(pooled)} of {len(counts)} levels, with {percent(share)} of the rows, are rare (in fewer than "
        f"{options.min_count} rows, or not among the {options.max_levels} most frequent) and share one column. If they "
        "matter, group them into fewer levels (in Python, hashing=4096 hashes them); if they are names or ids, drop "
        "the column."
    )


def _hashed(name: str, facts: ColumnFacts, options: Options) -> Plan:
    """Levels in the columns of their hashes; how many levels there are need not be known exactly."""
    assert options.hashing is not None
    gaps = f"; {share_missing(facts.n_missing, facts.n_rows)}" if facts.n_missing else ""
    about = "about " if facts.levels.overflowed else ""
    is_dropped = options.drop == "first"
    base = f"; compared with '{name}#0'" if is_dropped else ""
    why = f"{of_what(facts)}{about}{facts.levels.n_distinct} levels, hashed{gaps}{base}"
    return HashPlan(name, "categorical", why, options.hashing, bool(facts.n_missing), is_dropped)


def cannot_be(name: str, facts: ColumnFacts, kind: str) -> DataError:
    """A column that cannot be what a user said it is."""
    example = f", such as {facts.example!r}" if facts.example and facts.kind is Kind.TEXT else ""
    holds = f"it holds {facts.kind.value}{example}, {facts.levels.n_distinct} different values"
    if kind == "categorical" and facts.levels.overflowed:
        limit = facts.levels.limit
        holds = f"{how_many(facts)} values are different, and only up to {limit} are counted (max_distinct={limit})"
    return DataError(f"Column {name!r} cannot be {kind!r}: {holds}. Drop it, or convert it first.")
