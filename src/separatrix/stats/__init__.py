# SPDX-License-Identifier: BSD-3-Clause
"""What one pass returns: frozen records with ``+``."""

from separatrix.stats.extent import Extent, extent
from separatrix.stats.finite import nonfinite, require_finite, require_squares
from separatrix.stats.moments import ClassMoments, class_moments, collect_moments
from separatrix.stats.scatter import ClassScatter, DiagonalScatter, FactoredScatter, PooledScatter
from separatrix.stats.tally import Tally, confusion

__all__ = [
    "ClassMoments",
    "ClassScatter",
    "DiagonalScatter",
    "Extent",
    "FactoredScatter",
    "PooledScatter",
    "Tally",
    "class_moments",
    "collect_moments",
    "confusion",
    "extent",
    "nonfinite",
    "require_finite",
    "require_squares",
]
