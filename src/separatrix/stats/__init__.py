# SPDX-License-Identifier: BSD-3-Clause
"""What one pass returns: frozen records with ``+``."""

from separatrix.stats.columns import column_moments
from separatrix.stats.design import dots
from separatrix.stats.extent import Extent, extent
from separatrix.stats.finite import nonfinite, require_finite, require_squares
from separatrix.stats.groups import Group, GroupedFacts, dense_chunks, group_statistics, label_weights
from separatrix.stats.moments import ClassMoments, class_moments, collect_moments
from separatrix.stats.objective import (
    Design,
    Grad,
    Largest,
    ValueGrad,
    ValueGradHess,
    largest_share,
    least_lead,
    value_grad,
    value_grad_hess,
)
from separatrix.stats.sample import collect_sample, drawn_numbers, representative_sample
from separatrix.stats.scatter import ClassScatter, DiagonalScatter, FactoredScatter, PooledScatter, spread_out
from separatrix.stats.tally import Tally, confusion

__all__ = [
    "ClassMoments",
    "ClassScatter",
    "Design",
    "DiagonalScatter",
    "Extent",
    "FactoredScatter",
    "Grad",
    "Group",
    "GroupedFacts",
    "Largest",
    "PooledScatter",
    "Tally",
    "ValueGrad",
    "ValueGradHess",
    "class_moments",
    "collect_moments",
    "collect_sample",
    "column_moments",
    "confusion",
    "dense_chunks",
    "dots",
    "drawn_numbers",
    "extent",
    "group_statistics",
    "label_weights",
    "largest_share",
    "least_lead",
    "nonfinite",
    "representative_sample",
    "require_finite",
    "require_squares",
    "spread_out",
    "value_grad",
    "value_grad_hess",
]
