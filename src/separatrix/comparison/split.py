# SPDX-License-Identifier: BSD-3-Clause
"""One split of the rows for all models: those to learn from, and those to be judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import indexable

from separatrix._arguments import generator
from separatrix._array import Array, Codes, Float, bincount
from separatrix.exceptions import DataError
from separatrix.meta import listed
from separatrix.reductions import take_rows
from separatrix.rows import as_table, check_weight, encode_labels, require_classes

__all__ = ["Part", "Split", "given_split", "random_split"]


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows: the table, the codes of the labels, and weights where rows do not count once each.

    ``rows`` are their numbers in the table they came from.
    """

    X: Any
    codes: Codes
    weight: Float | None
    rows: Codes


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from, rows to be judged on, and the classes that the codes stand for."""

    train: Part
    test: Part
    classes: Array


def random_split(X: Any, y: Any, sample_weight: Any, test_size: float, rng: Any) -> Split:
    """A share of the rows of each class, drawn at random, is held out; rows of weight zero are left out."""
    whole, classes = _open(X, y, sample_weight)
    _require_pairs(whole.codes, classes)
    train, test = _draw(whole.codes, test_size, rng)
    lost = classes[bincount(whole.codes[train], None, len(classes)) == 0]
    if len(lost):
        raise DataError(
            f"test_size={test_size!r} leaves no row of class {listed(lost.tolist())} to learn from. "
            "Lower it, or give X_test and y_test."
        )
    return Split(_take(whole, train), _take(whole, test), classes)


def given_split(X: Any, y: Any, sample_weight: Any, X_test: Any, y_test: Any) -> Split:
    """All rows are learnt from; each row of the test table counts once."""
    if X_test is None or y_test is None:
        there, absent = ("y_test", "X_test") if X_test is None else ("X_test", "y_test")
        raise ValueError(f"compare({there}=...) needs {absent} too; without both, rows are held out at random.")
    train, classes = _open(X, y, sample_weight)
    test, found = _open(X_test, y_test, None, least_classes=1)
    known = set(classes.tolist())
    unknown = [label for label in found.tolist() if label not in known]
    if unknown:
        raise DataError(
            f"y_test has the label {unknown[0]!r}, which y has not ({listed(classes.tolist())}): no model can "
            "learn of it. Leave those rows out, or add some of them to X and y."
        )
    codes = np.searchsorted(classes, found)[test.codes]
    return Split(train, Part(test.X, codes, None, test.rows), classes)


def _open(X: Any, y: Any, sample_weight: Any, *, least_classes: int = 2) -> tuple[Part, Array]:
    classes, codes = encode_labels(y)
    X, codes = indexable(as_table(X), codes)
    weight = check_weight(sample_weight, len(codes))
    rows = np.arange(len(codes))
    if weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
        seen, codes = np.unique(codes[kept], return_inverse=True)
        X, weight, rows, classes = take_rows(X, kept), weight[kept], kept, classes[seen]
    require_classes(classes, least_classes)
    return Part(X, codes, weight, rows), classes


def _take(part: Part, rows: Codes) -> Part:
    weight = None if part.weight is None else part.weight[rows]
    return Part(take_rows(part.X, rows), part.codes[rows], weight, part.rows[rows])


def _draw(codes: Codes, test_size: float, rng: Any) -> tuple[Codes, Codes]:
    """Row numbers to learn from and to be judged on, in order."""
    from sklearn.model_selection import StratifiedShuffleSplit

    seed = int(generator(rng).integers(2**32))
    train, test = next(StratifiedShuffleSplit(n_splits=1, test_size=test_size, random_state=seed).split(codes, codes))
    return np.sort(train), np.sort(test)


def _require_pairs(codes: Codes, classes: Array) -> None:
    alone = classes[bincount(codes, None, len(classes)) < 2]
    if len(alone):
        raise DataError(
            f"Class {listed(alone.tolist())} has one row only, which cannot be both learnt from and held out. "
            "Leave it out, or give X_test and y_test."
        )
