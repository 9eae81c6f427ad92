# SPDX-License-Identifier: BSD-3-Clause
"""Logistic sigmoids along each column: φ_m(x) = σ((x_d - c_m) / s_d).   PRML (3.5, 3.6)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from separatrix._arguments import check_count, check_option, check_positive
from separatrix._array import Array, Codes, Float, Rows, to_dense
from separatrix.basis.base import AbstractBasis
from separatrix.basis.marks import MARKS
from separatrix.rows import RowMap, Source

__all__ = ["Sigmoid"]


@dataclass(frozen=True)
class Sigmoids:
    """Function m looks at column ``column[m]``, is 1/2 at ``centre[m]`` and has scale ``width[m]``."""

    column: Codes
    centre: Float
    width: Float

    def evaluate(self, X: Rows) -> Array:
        """Φ (n, M), in place."""
        X = to_dense(X)
        X = X + (X - X)  # infinity becomes NaN here: σ would answer 0 or 1 and hide it
        A = X[:, self.column]
        np.subtract(A, self.centre, out=A)  # in float64, then rounded where X is float32
        A /= self.width.astype(X.dtype, copy=False)
        return np.asarray(expit(A, out=A))

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """``x0_sigmoid0, x0_sigmoid1, ...``: the column, and which of its functions."""
        first = np.searchsorted(self.column, self.column)
        return tuple(f"{columns[d]}_sigmoid{m - first[m]}" for m, d in enumerate(self.column))


class Sigmoid(AbstractBasis):
    """Smooth steps along each column: φ_m(x) = σ((x_d - c_m) / s_d), with σ(a) = 1 / (1 + exp(-a)).

    Each step separates low values of one column from high ones; a sum of steps is any smooth monotone, or
    other, function of that column. The constant φ_0 = 1 is the model's ``fit_intercept``.

    Parameters
    ----------
    centres
        Where the steps are: ``"grid"`` (evenly inside the range of the column) or ``"quantile"`` (with
        equally many rows between them, from a sample of 10 000 rows).
    n_centres
        Steps per column; with ``"quantile"`` a column of few values may get fewer.
    width
        s_d for every column. None: the range of the column over n_centres + 1, which is a grid's spacing.

    Attributes
    ----------
    centres_ : list of D ndarrays

    Examples
    --------
    >>> from separatrix.basis import Sigmoid
    >>> Sigmoid(n_centres=1).fit_transform([[-2.0], [0.0], [2.0]]).round(4).ravel().tolist()
    [0.2689, 0.5, 0.7311]
    """

    def __init__(self, centres: str = "grid", n_centres: int = 5, width: float | None = None) -> None:
        self.centres = centres
        self.n_centres = n_centres
        self.width = width

    functions_: Sigmoids

    @property
    def centres_(self) -> list[Float]:
        """The centres along each column."""
        return [self.functions_.centre[self.functions_.column == d] for d in range(self.n_features_in_)]

    def _functions(self, source: Source) -> RowMap:
        n = check_count("Sigmoid", "n_centres", self.n_centres)
        mark = MARKS[check_option("Sigmoid", "centres", self.centres, MARKS)]
        width = None if self.width is None else check_positive("Sigmoid", "width", self.width)
        marks = mark(source, n + 2)  # the ends of the range are marks too, and no place for a step
        centres = [np.unique(along) for along in marks[1:-1].T]
        column = np.repeat(np.arange(len(centres)), [len(c) for c in centres])
        spacing = (marks[-1] - marks[0]) / (n + 1)
        return Sigmoids(
            column, np.concatenate(centres), spacing[column] if width is None else np.full(len(column), width)
        )
