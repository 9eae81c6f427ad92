# SPDX-License-Identifier: BSD-3-Clause
"""Radial functions of the numeric columns, after all columns: φ_m(x) = exp(-|z - c_m|² / 2s²).              PRML §3.1

z are the numbers per standard deviation, and the centres c_m are means of clusters of rows. Linear terms of all columns
are part of the basis, so that a model with two prior scales is linear if the evidence favours that.

**Width.** The width s is a factor times the median distance between two rows over √2. For each factor, Laplace's
evidence of a model of a sample of the rows is computed, with the scales of both groups tuned (PRML §3.5), and the
factor with the largest evidence is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy import sparse

from separatrix._arguments import check_count, check_positive
from separatrix._array import Codes, Float, Rows, is_sparse, to_dense
from separatrix.basis import RBF, AbstractBasis, Gaussians, survey
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.rows import RowMap, Source, as_source
from separatrix.stats import collect_sample
from separatrix.table_model.ramps import positions

MIN_RADIAL_ROWS, MIN_RADIAL_COLUMNS = 60, 2  # with fewer rows or columns, curves describe the same effects
MAX_CENTRES, ROWS_PER_CENTRE = 200, 8  # a default: twice as many centres take four times as long
CENTRE_ROWS = 10_000  # rows whose clusters are found
WIDTH_FACTORS = (0.5, 1.0, 2.0, 4.0)  # times the median distance over √2
MAX_WIDTH_ROWS, MAX_WIDTH_CENTRES = 1000, 80  # sample and centres that the search for a width uses
RADIAL = "radial functions"  # name of the group of the radial functions, whose weights share a prior scale
MAX_DEVIATIONS = 5.0  # numbers farther from the mean count as this far, so that an outlier is near some centre


@dataclass(frozen=True, eq=False)
class RadialFunctions:
    """All D columns, then M Gaussians of (x - ``mean``) / ``std`` along the columns ``numbers``."""

    n_columns: int
    numbers: Codes
    mean: Float
    std: Float
    centres: Float
    widths: Float

    @cached_property
    def gaussians(self) -> Gaussians:
        """The Gaussians of the standardised numbers."""
        return Gaussians(self.centres, self.widths)

    @property
    def sources(self) -> Codes:
        """Column of each function, twice, (D + M, 2): -1 if it depends on many columns."""
        alone = np.append(np.arange(self.n_columns), np.full(len(self.centres), -1))
        return np.column_stack([alone, alone])

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, D + M); sparse if X is."""
        x = to_dense(X[:, self.numbers])
        z = (x - self.mean.astype(x.dtype)) / self.std.astype(x.dtype)
        z[~np.isfinite(z)] = np.nan  # infinite input must not be clipped
        Phi = self.gaussians.evaluate(np.clip(z, -MAX_DEVIATIONS, MAX_DEVIATIONS))
        if is_sparse(X):
            return sparse.csr_array(sparse.hstack([X, sparse.csr_array(Phi)], format="csr"))
        return np.concatenate([X, Phi], axis=1)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the columns, then ``rbf0``, ``rbf1``, ..."""
        return (*columns, *self.gaussians.names(columns))


class Radial(AbstractBasis):
    """All columns, and radial functions of some of them.

    Parameters
    ----------
    columns : sequence of int
        Positions of the columns of numbers.
    n_centres : int, optional
        Number of radial functions; by default one for each 8 rows, at most 200.
    factor : float, default 1
        Width, as a multiple of the median distance between two rows over √2.
    functions : RadialFunctions, optional
        The functions of another basis, which the fit keeps for any rows.

    >>> from separatrix.table_model import Radial
    >>> basis = Radial([0, 1], n_centres=2).fit([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]])
    >>> basis.transform([[0.0, 0.5]]).shape
    (1, 4)
    """

    functions_: RadialFunctions

    def __init__(
        self, columns: Sequence[int], n_centres: int | None = None, factor: float = 1.0, functions: Any = None
    ) -> None:
        self.columns = columns
        self.n_centres = n_centres
        self.factor = factor
        self.functions = functions

    def frozen(self) -> Radial:
        """Unfitted basis with the same functions."""
        return Radial(self.columns, self.n_centres, self.factor, self.functions_)

    def _functions(self, source: Source) -> RowMap:
        numbers = positions("Radial", self.columns, len(source.columns))
        if not isinstance(self.functions, RadialFunctions | None):
            raise ValueError(f"Radial(functions={self.functions!r}): functions must be None or RadialFunctions.")
        if self.functions is not None:
            return self.functions
        factor = check_positive("Radial", "factor", self.factor)
        rows = survey(source, CENTRE_ROWS, np.random.default_rng(0)).sample[:, numbers]
        mean, std = rows.mean(axis=0), rows.std(axis=0)
        std[std == 0] = 1.0
        z = np.clip((rows - mean) / std, -MAX_DEVIATIONS, MAX_DEVIATIONS)
        most = len(np.unique(z, axis=0))
        n = default_n_centres(source.n_rows) if self.n_centres is None else self.n_centres
        n = min(check_count("Radial", "n_centres", n), most)
        found = RBF("kmeans", n).fit_source(as_source(z)).functions_
        return RadialFunctions(
            len(source.columns), np.array(numbers, dtype=np.intp), mean, std, found.centres, factor * found.widths
        )


def default_n_centres(n_rows: int) -> int:
    """Number of radial functions for a number of rows."""
    return max(2, min(MAX_CENTRES, n_rows // ROWS_PER_CENTRE))


def most_probable_width(source: Source, columns: Sequence[int], groups: Sequence[str]) -> float:
    """Factor of the width with the largest evidence of a sample; ``groups`` (D,) name the prior scales of the columns.

    ``source`` has labels.
    """
    rows = collect_sample(source, MAX_WIDTH_ROWS).as_block()
    X, weight = to_dense(rows.X).astype(np.float64, copy=False), rows.weight
    n = min(MAX_WIDTH_CENTRES, default_n_centres(len(X)))
    # The model of all rows has no covariance between classes either; here it would take ten times as long.
    structure = "by class" if np.ptp(rows.codes) > 1 else None
    evidences = []
    for factor in WIDTH_FACTORS:
        basis = Radial(tuple(columns), n, factor)
        model = BayesianLogisticRegression(
            tune="evidence",
            basis=basis,
            groups=(*groups, *[RADIAL] * len(basis.fit(X).functions_.centres)),
            approximation="laplace",
            structure=structure,
        )
        with catch_warnings():
            simplefilter("ignore")  # the model that is fitted to all rows reports its own
            evidences.append(model.fit(X, rows.codes, sample_weight=weight).log_evidence_)
    return WIDTH_FACTORS[int(np.argmax(evidences))]
