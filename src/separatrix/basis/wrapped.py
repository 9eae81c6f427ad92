# SPDX-License-Identifier: BSD-3-Clause
"""Another library's transformer as a row map: its ``transform`` on one block at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from scipy import sparse

from separatrix._array import Rows, is_sparse, working_dtype

__all__ = ["Wrapped", "fit_transformer", "transformed"]


@dataclass(frozen=True)
class Wrapped:
    """A fitted transformer that returns ``n_functions`` columns."""

    transformer: Any
    n_functions: int

    def evaluate(self, X: Rows) -> Rows:
        """Φ of the rows, checked as the transformer itself sees fit."""
        return transformed(self.transformer, X)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """The transformer's own names, or ``phi0, phi1, ...`` where it has none.

        A pipeline that passes data frames from step to step has named our columns ``x0, x1, ...`` itself, and
        refuses any other name for them (ValueError); one with a nameless step has no names at all (AttributeError).
        """
        for given in (np.asarray(columns, dtype=object), None):
            try:
                return tuple(map(str, self.transformer.get_feature_names_out(given)))
            except (AttributeError, ValueError):
                continue
        return tuple(f"phi{m}" for m in range(self.n_functions))


def fit_transformer(transformer: Any, X: Rows) -> Wrapped:
    """Fit on rows without names: the same kind of rows, and of answers between its steps, as in `transformed`."""
    try:
        with sklearn.config_context(transform_output="default"):
            transformer.fit(X)
    except Exception as error:
        error.add_note(
            f"basis={transformer!r} is not one of separatrix.basis, so it was given the rows as an array of numbers, "
            "without column names. If it needs a data frame (to pick columns by name, say), put it before the "
            "classifier in a sklearn.pipeline.Pipeline, or pick columns by position."
        )
        raise
    return Wrapped(transformer, n_functions=transformed(transformer, X[:1]).shape[1])


def transformed(transformer: Any, X: Rows, *, assume_finite: bool = False) -> Rows:
    """``transformer.transform(X)`` as an array or CSR array of working precision.

    The user may have asked scikit-learn for data frames everywhere; inside a pass we want arrays.
    """
    with sklearn.config_context(transform_output="default", assume_finite=assume_finite):
        Phi = transformer.transform(X)
    if is_sparse(Phi):
        return sparse.csr_array(Phi).astype(working_dtype(Phi.dtype), copy=False)
    Phi = np.asarray(Phi)
    return Phi.astype(working_dtype(Phi.dtype), copy=False)
