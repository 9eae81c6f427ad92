# SPDX-License-Identifier: BSD-3-Clause
"""Sufficient statistics: what one pass over the rows returns, as frozen records with ``+``.

moments      count, mean and scatter of each class, and of all rows as one class
scatter      four representations of a scatter
design       regressors φ̃ = (x - c, 1), and products with them
groups       statistics of groups of columns with one family each
objective    negative log likelihood of a linear model: value, gradient, Hessian
sample       a stratified sample of the rows
checks       counts and ranges of the columns; errors that name columns that are not finite
device       the same sums for rows on a GPU; `_triton` has their CUDA kernels
_kernels     compiled loops for large blocks in host memory
"""

from separatrix.stats.checks import (
    Extent,
    Tally,
    confusion,
    extent,
    has_missing,
    require_finite,
    require_squares,
)
from separatrix.stats.design import Design, dots, linear_scores
from separatrix.stats.groups import Group, GroupedFacts, dense_chunks, group_statistics, label_weights
from separatrix.stats.moments import ClassMoments, class_moments, collect_moments, column_moments
from separatrix.stats.objective import (
    Grad,
    Largest,
    ValueGrad,
    ValueGradHess,
    largest_share,
    least_lead,
    log_det_slope,
    value_grad,
    value_grad_hess,
)
from separatrix.stats.sample import collect_sample, drawn_numbers, representative_sample
from separatrix.stats.scatter import ClassScatter, DiagonalScatter, FactoredScatter, PooledScatter, spread_out

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
    "has_missing",
    "label_weights",
    "largest_share",
    "least_lead",
    "linear_scores",
    "log_det_slope",
    "representative_sample",
    "require_finite",
    "require_squares",
    "spread_out",
    "value_grad",
    "value_grad_hess",
]
