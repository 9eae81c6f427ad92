# SPDX-License-Identifier: BSD-3-Clause
"""The scikit-learn shell of a linear regressor: opening tables for fitting and for prediction, and no mathematics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._array import Array, Float, Rows, to_dense
from separatrix.basis import fit_basis
from separatrix.discriminative.targets import Targets, check_offset
from separatrix.estimator import check_results, known_columns
from separatrix.rows import Block, RowMap, Source, in_memory, open_rows
from separatrix.solvers import Solution
from separatrix.stats import Design

__all__ = ["LinearRegressor", "Training"]


class Training(NamedTuple):
    """Rows with their targets, as basis functions; the targets themselves; the basis."""

    source: Source
    targets: Targets
    basis: RowMap | None


class LinearRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose activations are linear in φ(x)."""

    basis: Any = None
    basis_: RowMap | None
    solution_: Solution[Float]
    _design: Design
    _unscaled: Float

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _open_training(self, X: Any, open_targets: Callable[[int], Targets]) -> Training:
        """Check and open a training table; sets ``n_features_in_``."""
        opened = open_rows(X)
        validate_data(self, opened.template, skip_check_array=True)
        targets = open_targets(opened.n_rows)
        source = opened.with_numbers(targets.t, targets.weight, targets.offset)
        basis = fit_basis(self.basis, source)
        return Training(source.mapped(basis), targets, basis)

    def _activations(self, X: Any, offset: Any) -> Float:
        a: Float = in_memory(self._map_rows(X, self._activate))[0]
        known = check_offset(offset, len(a))
        return a if known is None else a + known

    def _activate(self, Phi: Rows) -> Array:
        return self._design.activate(Block(Phi, None, None, range(Phi.shape[0])), self.solution_.value)

    def _leverage(self, Phi: Rows) -> Array:
        """φ̃' (I + alpha Λ)⁻¹ φ̃, the variance of an activation over the dispersion."""
        Z = to_dense(Phi) - self._design.origin
        Z = np.column_stack([Z, np.ones(len(Z))]) if self._design.bias else Z
        return np.asarray(np.einsum("np,np->n", Z @ self._unscaled, Z))

    def _map_rows(self, X: Any, row_function: Callable[[Rows], Array]) -> Array:
        """``row_function`` of every row; an answer that makes no sense is traced to the column that caused it."""
        check_is_fitted(self)
        opened = open_rows(X, known_columns(self))
        validate_data(self, opened.template, skip_check_array=True, reset=False)
        return opened.each(partial(check_results, row_function=row_function, basis=self.basis_))  # type: ignore[no-any-return]
