# SPDX-License-Identifier: BSD-3-Clause
"""A basis: M functions φ_1 .. φ_M of a row x. The constant φ_0 = 1 is never one of them.

The constant belongs to the model (``fit_intercept``): a basis that contained it would give the model two
intercepts, and no unique answer.

Every basis is two things. A *shell* holds the arguments and speaks scikit-learn (this class). A *row map*
holds the numbers found in the training rows and evaluates Φ; it is frozen, so threads may share it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._array import Array, Rows
from separatrix.basis.survey import whole
from separatrix.rows import RowMap, Source, as_source
from separatrix.stats import require_finite

if TYPE_CHECKING:
    from separatrix.basis.union import Union

__all__ = ["AbstractBasis"]


class AbstractBasis(TransformerMixin, BaseEstimator, ABC):
    """What every basis shares. A new one writes `_functions` and nothing else.

    As a scikit-learn transformer it returns Φ whole (``fit``, ``transform``); inside an estimator
    (``basis=``) it sees one block at a time (``fit_source``, ``evaluate``) and Φ is never whole.
    Neither the targets nor the weights of the rows are looked at.
    """

    functions_: RowMap

    @abstractmethod
    def _functions(self, source: Source) -> RowMap:
        """The fitted functions, from the training rows."""

    def fit_source(self, source: Source) -> Self:
        """Fit on the rows of a source, in at most one pass."""
        self.functions_ = self._functions(source)
        self.n_features_in_ = len(source.columns)
        return self

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M) of the rows X (n, D), unchecked; a row that is not finite has a φ that is not finite."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.functions_.evaluate(X)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """A name for each of the M functions of the named columns."""
        return self.functions_.names(columns)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on the rows of a table; ``y`` is ignored."""
        source = as_source(X)
        validate_data(self, X, skip_check_array=True, reset=True)
        require_finite(source)
        return self.fit_source(source)

    def transform(self, X: Any) -> Rows:
        """Φ (N, M) of a table: float32 where X is, sparse where X and the functions are."""
        check_is_fitted(self)
        source = as_source(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        require_finite(source)
        return whole(source.mapped(self))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """`names` of the columns seen in ``fit``."""
        check_is_fitted(self)
        return np.asarray(self.names(self._columns(input_features)), dtype=object)

    def _columns(self, given: Any) -> tuple[str, ...]:
        """Column names, checked as scikit-learn checks them."""
        D, known = self.n_features_in_, getattr(self, "feature_names_in_", None)
        if given is None:
            return tuple(f"x{d}" for d in range(D)) if known is None else tuple(known)
        columns = tuple(given)
        if known is not None and columns != tuple(known):
            raise ValueError(
                f"input_features is not equal to feature_names_in_: got {columns}, fitted on {tuple(known)}."
            )
        if len(columns) != D:
            raise ValueError(f"input_features should have length equal to number of features ({D}), got {len(columns)}")
        return columns

    def __add__(self, other: AbstractBasis) -> Union:
        """The functions of both."""
        from separatrix.basis.union import Union

        if not isinstance(other, AbstractBasis):
            return NotImplemented
        return Union([*_parts(self), *_parts(other)])

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are welcome; single precision stays single."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _parts(basis: AbstractBasis) -> list[Any]:
    """The members of a union, so that (a + b) + c is one union of three."""
    from separatrix.basis.union import Union

    return list(basis.bases) if isinstance(basis, Union) else [basis]
