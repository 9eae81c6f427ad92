# SPDX-License-Identifier: BSD-3-Clause
"""``basis=`` of an estimator -> fitted functions."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from separatrix.basis.base import AbstractBasis
from separatrix.basis.survey import whole
from separatrix.basis.wrapped import Wrapped, fit_transformer
from separatrix.rows import RowMap, Source

__all__ = ["fit_basis"]


@runtime_checkable
class Transformer(Protocol):
    """What scikit-learn calls a transformer."""

    def fit(self, X: Any) -> Any:
        """Learn from the rows."""

    def transform(self, X: Any) -> Any:
        """Functions of each row."""


def fit_basis(basis: Any, source: Source) -> RowMap | None:
    """A fitted copy of the basis; the argument itself is left as it was.

    Parameters
    ----------
    basis
        None (the columns as they are), a basis of this package, or any scikit-learn transformer of arrays. A
        foreign transformer is fitted on all rows at once, as it wants them; it transforms by blocks. It sees
        numbers without column names.
    source
        The training rows. Their targets are never shown to the basis.

    Raises
    ------
    TypeError
        Where ``basis`` is something else, or a transformer that needs the targets.
    """
    if basis is None:
        return None
    if isinstance(basis, type):
        raise TypeError(f"basis={basis.__name__} is a class; write basis={basis.__name__}() to make one.")
    if isinstance(basis, AbstractBasis):
        fitted: AbstractBasis = clone(basis)
        return fitted.fit_source(source)
    if isinstance(basis, Transformer):
        return _fit_foreign(basis, source)
    raise TypeError(
        f"basis={basis!r} is neither a basis nor a transformer. Pass None, one of separatrix.basis "
        "(for example RBF()), or a scikit-learn transformer with fit and transform."
    )


def _fit_foreign(transformer: Transformer, source: Source) -> Wrapped:
    if isinstance(transformer, BaseEstimator) and get_tags(transformer).target_tags.required:
        raise TypeError(
            f"basis={transformer!r} needs the targets, and a basis depends on the rows alone. "
            "Put it before the classifier in a sklearn.pipeline.Pipeline."
        )
    return fit_transformer(clone(transformer, safe=False), whole(source))
