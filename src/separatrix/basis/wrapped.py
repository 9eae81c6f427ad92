# SPDX-License-Identifier: BSD-3-Clause
"""Another library's transformer as a row map: its ``transform`` on one block at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from scipy import sparse

from separatrix._array import Rows, is_sparse, working_dtype

__all__ = ["Wrapped", "transformed"]


@dataclass(frozen=True)
class Wrapped:
    """A fitted transformer that returns ``n_functions`` columns."""

    transformer: Any
    n_functions: int

    def evaluate(self, X: Rows) -> Rows:
        """Φ of the rows, checked as the transformer itself sees fit."""
        return transformed(self.transformer, X)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """The transformer's own names, or ``phi0, phi1, ...`` where it has none."""
        try:
            found = self.transformer.get_feature_names_out(np.asarray(columns, dtype=object))
        except AttributeError:  # itself without names, or a pipeline with such a step
            return tuple(f"phi{m}" for m in range(self.n_functions))
        return tuple(map(str, found))


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
