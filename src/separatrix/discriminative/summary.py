# SPDX-License-Identifier: BSD-3-Clause
"""A table of coefficients: what was found, how sure it is, and whether it could be zero."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix._output import as_frame

__all__ = ["Summary"]

COLUMNS = ("coefficient", "standard_error", "statistic", "p_value", "lower", "upper")


@dataclass(frozen=True, eq=False)
class Summary:
    """One line for each coefficient; print it, or take its columns by name.

    Attributes
    ----------
    names : tuple of str
        Of the coefficients; the intercept is last.
    coefficient, standard_error, statistic, p_value, lower, upper : ndarray of shape (P,)
    statistic_name : str
        What the statistic is: ``"z"``, ``"t"``, ``"chi2"`` or ``"F"``.
    test, interval : str
        How p values and intervals were found.
    level : float
        Of the intervals.
    facts : dict
        About the whole fit: rows, deviance, dispersion, log likelihood, AIC, BIC.
    notes : tuple of str
        What a reader must know to read the table right.
    """

    title: str
    names: tuple[str, ...]
    coefficient: Float
    standard_error: Float
    statistic: Float
    p_value: Float
    lower: Float
    upper: Float
    statistic_name: str
    test: str
    interval: str
    level: float
    facts: dict[str, float]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Float]:
        """The columns by name."""
        return {name: getattr(self, name) for name in COLUMNS}

    def to_frame(self) -> Any:
        """A pandas data frame, one row for each coefficient."""
        return as_frame(self.to_dict(), self.names)

    def __str__(self) -> str:
        """The table as text."""
        heads = ("", "coefficient", "std. error", self.statistic_name, "p value", "lower", "upper")
        lines = [heads, *(self._line(j) for j in range(len(self.names)))]
        widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
        table = [
            "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(row))
            for row in (list(zip(line, widths, strict=True)) for line in lines)
        ]
        facts = textwrap.fill(", ".join(f"{name} {value:.6g}" for name, value in self.facts.items()), 80)
        kinds = f"{100 * self.level:g} % intervals: {self.interval}; tests: {self.test}"
        return "\n".join(
            [self.title, facts, kinds, "", *table, *("\n" + textwrap.fill(note, 80) for note in self.notes)]
        )

    def _line(self, j: int) -> tuple[str, ...]:
        numbers = [f"{column[j]:.5g}" for column in self.to_dict().values()]
        p = self.p_value[j]
        numbers[3] = "-" if np.isnan(p) else f"{p:.3g}" if p >= 1e-16 else "<1e-16"
        numbers[2] = "-" if np.isnan(self.statistic[j]) else numbers[2]
        return (self.names[j], *numbers)
