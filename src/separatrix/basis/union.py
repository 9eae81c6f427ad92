# SPDX-License-Identifier: BSD-3-Clause
"""Several bases side by side: φ(x) = (φ^1(x), φ^2(x), ...)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from separatrix._array import Rows, is_sparse, to_dense
from separatrix.basis.base import AbstractBasis
from separatrix.basis.fit import fit_basis
from separatrix.rows import RowMap, Source

__all__ = ["Union"]


@dataclass(frozen=True)
class Joined:
    """The functions of all maps, in order."""

    maps: tuple[RowMap, ...]

    def evaluate(self, X: Rows) -> Rows:
        """Side by side; sparse where every part is."""
        parts = [functions.evaluate(X) for functions in self.maps]
        if all(map(is_sparse, parts)):
            return sparse.csr_array(sparse.hstack(parts, format="csr"))
        return np.concatenate([to_dense(part) for part in parts], axis=1)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the parts; where two parts share a name, each is led by the number of its part."""
        parts = [functions.names(columns) for functions in self.maps]
        plain = tuple(name for part in parts for name in part)
        if len(set(plain)) == len(plain):
            return plain
        return tuple(f"{m}__{name}" for m, part in enumerate(parts) for name in part)


class Union(AbstractBasis):
    """Several bases side by side; ``a + b`` of two bases is ``Union([a, b])``.

    Parameters
    ----------
    bases
        Bases of this package or scikit-learn transformers, at least one. Arguments of the first are
        reached as ``0__width``, of the second as ``1__width``, and so on; the parts themselves are ``0``, ``1``
        (in a grid search over an estimator: ``basis__0__width``, ``basis__0``).

    Attributes
    ----------
    functions_ : the fitted parts, side by side

    Examples
    --------
    >>> from separatrix.basis import Linear, Polynomial, Sigmoid
    >>> basis = Linear() + Sigmoid(n_centres=2)
    >>> basis.fit([[0.0], [3.0]]).get_feature_names_out().tolist()
    ['x0', 'x0_sigmoid0', 'x0_sigmoid1']
    """

    def __init__(self, bases: Sequence[Any]) -> None:
        self.bases = bases

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Arguments, with those of part m under ``m__name``."""
        params: dict[str, Any] = super().get_params(deep=False)
        for m, basis in enumerate(self.bases if deep and isinstance(self.bases, list | tuple) else ()):
            params[str(m)] = basis
            if isinstance(basis, BaseEstimator):
                params |= {f"{m}__{name}": value for name, value in basis.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set arguments: the list, then whole parts (``m``), then what belongs to the parts that are now there."""
        if "bases" in params:
            self.bases = params.pop("bases")
        parts = {name for name in params.keys() & self.get_params() if name.isdecimal()}
        if parts:
            bases = list(self.bases)  # the list may be the user's own, or shared with another union
            for m in parts:
                bases[int(m)] = params.pop(m)
            self.bases = bases
        super().set_params(**params)
        return self

    def _functions(self, source: Source) -> RowMap:
        if not isinstance(self.bases, list | tuple) or len(self.bases) == 0:
            raise TypeError(f"Union(bases={self.bases!r}): give a list of at least one basis.")
        maps = tuple(fit_basis(basis, source) for basis in self.bases)
        return Joined(tuple(_present(functions, m) for m, functions in enumerate(maps)))


def _present(functions: RowMap | None, m: int) -> RowMap:
    if functions is None:
        raise TypeError(f"Union: basis number {m} is None. Use Linear() for the columns as they are.")
    return functions
