# SPDX-License-Identifier: BSD-3-Clause
"""Weights of classes: the weight of every row is multiplied by the factor c_k of its class.

"balanced" gives every class the same total weight, c_k = N / (K N_k), where N_k is the weight of class k. A row with
soft targets t_k stands for a row of each class, with weight t_k. Its weight is multiplied by Σ_k t_k c_k, and its
targets become t_k c_k / Σ_j t_j c_j.

Weights in memory are multiplied once. If labels are read with the rows, each block is weighted as it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._arguments import as_float
from separatrix._array import Array, Float, bincount
from separatrix._text import listed
from separatrix.exceptions import DataError
from separatrix.rows.block import Block, Targets
from separatrix.rows.labels import require_weight
from separatrix.rows.source import Source

BALANCED = "balanced"


def weigh_classes(source: Source, owner: str, class_weight: Any, *, is_batch: bool = False) -> tuple[Source, Float]:
    """Return the source with weighted classes, and the factors (K,).

    If the rows are one batch of several, ``class_weight`` may name classes of other batches, but it cannot be
    "balanced", which needs all rows.
    """
    classes, targets = source.classes, _in_memory(source)
    if isinstance(class_weight, str) and class_weight == BALANCED:
        if is_batch:
            raise ValueError(
                f"{owner}(class_weight='balanced'): the factors depend on the class counts of all rows, and a batch "
                "has only some of them. Pass a mapping {label: factor}, for example from "
                "sklearn.utils.compute_class_weight."
            )
        counts = partial(class_totals, n_classes=len(classes))
        count = counts(targets) if targets is not None else source.reduce(counts)
        # Rows of a class without weight stay without weight, whatever its factor.
        factors = np.divide(count.sum(), len(classes) * count, out=np.ones_like(count), where=count > 0)
    else:
        factors = class_factors(owner, class_weight, classes)
        if not is_batch:
            unknown = [label for label in class_weight if label not in classes.tolist()]
            if unknown:
                raise DataError(
                    f"{owner}(class_weight=...) has a factor for {unknown[0]!r}, which is not a label in y. The labels "
                    f"are {listed(classes.tolist())}."
                )
    require_weight(factors)
    if targets is None:
        return source.viewed(partial(weighted, factors=factors)), factors
    found = weighted(targets, factors)
    require_weight(found.weight)
    return replace(source, targets=source.runner.attach(source, found.t, found.weight, None)), factors


def _in_memory(source: Source) -> Block | None:
    """Targets and weights of all rows, if they are in memory, as a block without rows."""
    targets = source.targets[0]
    if source.runner.is_remote or not isinstance(targets, Targets):
        return None
    return Block(None, targets.t, targets.weight, range(0))


def class_factors(owner: str, class_weight: Any, classes: Array) -> Float:
    """Factor of each class (K,), 1 for classes that the mapping does not name."""
    if class_weight is None:
        return np.ones(len(classes))
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"{owner}(class_weight={class_weight!r}): use 'balanced', a mapping {{label: factor}} with the labels of "
            "y, or None."
        )
    for label, factor in class_weight.items():
        if not isinstance(factor, bool | np.bool_) and not 0 <= as_float(factor) < np.inf:
            raise ValueError(
                f"{owner}(class_weight=...): the factor of {label!r} is {factor!r}, but a factor must be a finite "
                "number, at least 0."
            )
    factors, known = np.ones(len(classes)), classes.tolist()
    for label, factor in class_weight.items():
        if label in known:  # by equality: a date and a datetime64 are equal, but have different hashes
            factors[known.index(label)] = factor
    return factors


def class_totals(block: Block, n_classes: int) -> Float:
    """Weight of each class, Σ_n weight_n t_nk, (K,); rows without a label are not counted."""
    t = np.asarray(block.targets)
    weight = np.ones(len(t)) if block.weight is None else block.weight
    if t.dtype.kind == "f":
        return np.asarray(weight @ _by_class(t))
    labelled = t >= 0
    return bincount(t[labelled], weight[labelled], n_classes)


def weighted(block: Block, factors: Float) -> Block:
    """Multiply the weight of each row by the factor of its class; rows without a label (code -1) keep their weight."""
    t = np.asarray(block.targets)
    if t.dtype.kind != "f":
        factor = np.append(factors, 1.0)[t]
        return replace(block, weight=factor if block.weight is None else factor * block.weight)
    T = _by_class(t)
    factor = T @ factors
    T = T * factors / np.where(factor > 0, factor, 1.0)[:, None]
    return replace(
        block, t=T if t.ndim == 2 else T[:, 1], weight=factor if block.weight is None else factor * block.weight
    )


def _by_class(t: Float) -> Float:
    """Soft targets of all classes, (n, K)."""
    return t if t.ndim == 2 else np.column_stack([1.0 - t, t])
