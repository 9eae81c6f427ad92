# SPDX-License-Identifier: BSD-3-Clause
"""Frozen records of arrays that share their leading axes: parameters, priors and facts alike.

The leading ("batch") axes are usually (K, D): K classes, D columns of one family. A field may have axes of its
own after them ("event" axes): the U sufficient statistics, the L levels of a category, a covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from separatrix._array import Array, Float
from separatrix.exceptions import DataError

__all__ = ["FactsError", "Record", "require"]


class Record:
    """Arrays of float64 broadcast to one batch shape. Subclasses are frozen dataclasses.

    ``event`` holds the number of event axes of each field, in order; none given means none.
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
        """Raise ValueError where the numbers are no parameters of this record."""

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
    """A fit that has no answer: positions (class, column), or (class,) where a row is one vector.

    The class is None where all of them together have no answer.

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
        """What is wrong, where, by name if names are given, and what to do."""
        said = ", ".join(self._place(position, classes, columns) for position in self.where[:5])
        more = f" and {len(self.where) - 5} more" if len(self.where) > 5 else ""
        return f"{self.what} in {said}{more}; {self.remedy}."

    @staticmethod
    def _place(position: tuple[int | None, ...], classes: Sequence[Any] | None, columns: Sequence[str] | None) -> str:
        kinds = zip(position, ("class", "column"), (classes, columns), strict=False)
        named = [f"{kind} {i if names is None else repr(names[i])}" for i, kind, names in kinds if i is not None]
        return ", ".join(named) or "all rows"

    @classmethod
    def unless(cls, ok: Array, what: str, remedy: str, *, overall: bool = False) -> None:
        """Raise, with every position that is not ok; ``overall`` where the first axis is no class."""
        if not np.all(ok):
            where = [tuple(int(i) for i in position) for position in np.argwhere(~np.asarray(ok))]
            raise cls([(None, *rest) for _, *rest in where] if overall else where, what, remedy)
