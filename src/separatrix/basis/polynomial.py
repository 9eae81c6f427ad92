# SPDX-License-Identifier: BSD-3-Clause
"""The bases φ(x) = x and all products of up to ``degree`` columns. Fitting needs only the number of columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import Any, ClassVar

import numpy as np

from separatrix._arguments import check_count
from separatrix._array import Codes, Rows
from separatrix.basis.base import MAX_FUNCTIONS, AbstractBasis, transformed
from separatrix.exceptions import DataError
from separatrix.rows import DeviceRows, RowMap, Source


@dataclass(frozen=True)
class Identity:
    """Φ = X."""

    is_device_aware = True

    def evaluate(self, X: Rows) -> Rows:
        return X

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return columns


class Linear(AbstractBasis):
    """The columns themselves: φ_d(x) = x_d.

    On its own this basis changes nothing; in a union it adds the columns to other functions. The constant φ_0 = 1 is
    the model's ``fit_intercept``.

    Examples
    --------
    >>> from separatrix.basis import Linear, RBF
    >>> (Linear() + RBF()).fit([[0.0], [2.0]]).get_feature_names_out().tolist()
    ['x0', 'rbf0', 'rbf1']
    """

    def _functions(self, source: Source) -> RowMap:
        return Identity()


@dataclass(frozen=True)
class Monomials:
    """Products of columns, from a fitted ``sklearn.preprocessing.PolynomialFeatures``."""

    transformer: Any
    is_device_aware: ClassVar[bool] = True

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M); sparse if X is sparse, because a product with a zero is zero."""
        if isinstance(X, DeviceRows):
            return X.mapped(products_of_columns, self.factors)
        return transformed(self.transformer, X, assume_finite=True)

    @property
    def factors(self) -> Codes:
        """The columns whose product is each function, (degree, M). Column D, the constant 1, fills shorter products."""
        powers = self.transformer.powers_
        M, D = powers.shape
        factors = np.full((int(powers.sum(axis=1).max()), M), D)
        for m, row in enumerate(powers):
            columns = np.repeat(np.arange(D), row)
            factors[: len(columns), m] = columns
        return factors

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names such as ``x0``, ``x0^2`` and ``x0 x1``."""
        choose: Any = combinations if self.transformer.interaction_only else combinations_with_replacement
        # In scikit-learn's order, without its matrix of powers, which has D numbers for each function.
        chosen = (each for n in range(1, self.transformer.degree + 1) for each in choose(columns, n))
        return tuple(" ".join(f"{name}^{n}" if n > 1 else name for name, n in Counter(each).items()) for each in chosen)


def products_of_columns(X: Any, factors: Any) -> Any:
    """Products of the columns of a tensor; see `Monomials`."""
    from torch.nn.functional import pad

    wide = pad(X, (0, 1), value=1.0)
    Phi = wide[:, factors[0]]
    for columns in factors[1:]:
        Phi = Phi * wide[:, columns]
    return Phi


class Polynomial(AbstractBasis):
    """All monomials of degree 1 to ``degree``: φ(x) = Π_d x_d^p_d with 1 <= Σ_d p_d <= degree.

    The constant φ_0 = 1 is the model's ``fit_intercept``. D columns give (D + degree)! / (D! degree!) - 1
    functions. Powers of columns far from zero are nearly collinear: centre the columns first.

    Parameters
    ----------
    degree : int
        Largest total degree, at least 1.
    interaction_only : bool
        Leave out every power of a single column: p_d <= 1.

    Examples
    --------
    >>> from separatrix.basis import Polynomial
    >>> Polynomial(degree=2).fit_transform([[2.0, 3.0]])
    array([[2., 3., 4., 6., 9.]])
    """

    def __init__(self, degree: int = 2, interaction_only: bool = False) -> None:
        self.degree = degree
        self.interaction_only = interaction_only

    def _functions(self, source: Source) -> RowMap:
        from sklearn.preprocessing import PolynomialFeatures

        degree, D = check_count("Polynomial", "degree", self.degree), len(source.columns)
        count = comb(D, min(degree, D // 2)) if self.interaction_only else comb(D + degree, D) - 1
        if count > MAX_FUNCTIONS:
            raise DataError(
                f"Polynomial(degree={degree}) of {D} columns has more than {MAX_FUNCTIONS} functions. Use a smaller "
                "degree, fewer columns, or RandomFourier()."
            )
        features = PolynomialFeatures(degree, interaction_only=bool(self.interaction_only), include_bias=False)
        return Monomials(features.fit(np.zeros((1, D))))
