# SPDX-License-Identifier: BSD-3-Clause
"""Marks along each column, from its smallest to its largest value: evenly spaced, or at quantiles."""

from __future__ import annotations

import numpy as np

from separatrix._arguments import generator
from separatrix._array import Float
from separatrix.basis.survey import require_varying, survey
from separatrix.rows import Source

__all__ = ["MARKS", "even_marks", "quantile_marks"]

SAMPLE = 10_000  # rows whose quantiles stand for those of all; a quantile is then within 0.01 of its rank


def even_marks(source: Source, n: int) -> Float:
    """n marks (n, D), equally far apart."""
    reach = survey(source).extent
    require_varying(reach, source)
    return np.linspace(reach.low, reach.high, n)


def quantile_marks(source: Source, n: int) -> Float:
    """n marks (n, D) with equally many rows between them; the ends are exact, always."""
    found = survey(source, SAMPLE, generator(None))
    require_varying(found.extent, source)
    marks = np.quantile(found.sample, np.linspace(0, 1, n), axis=0)
    marks[0], marks[-1] = found.extent.low, found.extent.high
    return np.asarray(marks)


MARKS = {"grid": even_marks, "quantile": quantile_marks}
