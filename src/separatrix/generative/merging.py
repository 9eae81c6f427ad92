# SPDX-License-Identifier: BSD-3-Clause
"""The facts of two sets of rows as the facts of one: class by class, and only where both mean the same by a row.

Facts add, so batches, models of other rows and classes that come later are all the same sum. What is left to do is to
find the classes of one among those of the other, and to refuse what would add up to nonsense.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import joblib
import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError

__all__ = ["ClassFacts", "among", "require_alike", "require_exact", "united"]


class ClassFacts(Protocol):
    """Sums over the rows of each of K classes: what a generative model remembers of its data."""

    @property
    def count(self) -> Float:
        """N_k, the weight of each class, (K,)."""

    def __add__(self, other: Self, /) -> Self:
        """The facts of both sets of rows."""

    def on_classes(self, position: Codes, n_classes: int) -> Self:
        """The same facts among ``n_classes`` classes, those of class k now at ``position[k]``; the rest are empty."""


class Fitted(Protocol):
    """What is asked of a model before its facts are added to those of another."""

    n_features_in_: int
    n_steps_: int
    basis_: Any


def among(facts: Any, seen: Array, classes: Any) -> tuple[Any, Array]:
    """Facts of the classes seen, placed among all that were named."""
    if classes is None:
        return facts, seen
    named = np.asarray(classes)
    _require_kind(seen, named)
    known = np.unique(np.concatenate([seen, named]))
    return facts.on_classes(np.searchsorted(known, seen), len(known)), known


def _require_kind(a: Array, b: Array) -> None:
    """Labels of one kind: numbers joined to words would turn into words, and match nothing any more."""
    kinds = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers"}
    first, second = (kinds.get(array.dtype.kind, "words") for array in (a, b))
    if first != second:
        raise DataError(
            f"The classes so far are {first} ({a[:3].tolist()}...), the new ones {second} ({b[:3].tolist()})."
        )


def united(a: Any, a_classes: Array, b: Any, b_classes: Array) -> tuple[Any, Array]:
    """The facts of both, over the classes of both."""
    _require_kind(a_classes, b_classes)
    classes = np.unique(np.concatenate([a_classes, b_classes]))
    K = len(classes)
    left = a.on_classes(np.searchsorted(classes, a_classes), K)
    return left + b.on_classes(np.searchsorted(classes, b_classes), K), classes


def require_alike(a: Fitted, b: Fitted) -> None:
    """Raise where two models would not mean the same by a row, or hold facts of different kinds."""
    if type(a) is not type(b):
        raise TypeError(f"Cannot merge {type(a).__name__} with {type(b).__name__}: they hold different facts.")
    if a.n_features_in_ != b.n_features_in_:
        raise DataError(f"Cannot merge models of {a.n_features_in_} and {b.n_features_in_} columns.")
    names = [list(vars(model).get("feature_names_in_", ())) for model in (a, b)]
    if all(names) and names[0] != names[1]:
        raise DataError(f"Cannot merge: the columns are {names[0]} in one model and {names[1]} in the other.")
    if joblib.hash(a.basis_) != joblib.hash(b.basis_):
        raise DataError("Cannot merge: the two models see x through different basis functions.")
    for model in (a, b):
        require_exact(model)


def require_exact(model: Fitted) -> None:
    """Raise where facts were expected and not counted: no further rows can be added to them."""
    if model.n_steps_ > 1:
        raise DataError("A model fitted by EM cannot be merged or continued: its facts are expectations of its own.")
