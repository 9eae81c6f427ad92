# SPDX-License-Identifier: BSD-3-Clause
"""Sufficient statistics: the results of one pass over the rows, as frozen records with ``+``.

moments      count, mean and scatter of each class, or of all rows as one class
groups       statistics of groups of columns, where a group has one family
objective    negative log likelihood of a linear model: value, gradient, Hessian; regressors φ̃ = (x - c, 1)
sample       a stratified sample of the rows
checks       counts and ranges of the columns, and errors that name columns with NaN or infinite values
device       the same sums for rows on a GPU; the CUDA kernels are in `_triton`
_kernels     compiled loops for large blocks in host memory; those of `moments` are in `_moment_kernels`
"""

from separatrix.stats.checks import (
    MAX_MAGNITUDE,
    MIN_COMPILED_ENTRIES,
    Extent,
    Tally,
    confusion,
    extent,
    has_missing,
    require_finite,
    require_squares,
)
from separatrix.stats.groups import (
    HEIGHT_FACTOR,
    Group,
    GroupedFacts,
    dense_chunks,
    group_statistics,
    label_weights,
    require_support,
)
from separatrix.stats.moments import (
    DOUBLE_ROUNDING,
    ClassMoments,
    ClassScatter,
    DiagonalScatter,
    FactoredScatter,
    PooledScatter,
    class_moments,
    collect_moments,
    column_moments,
    column_survey,
    sum_moments,
)
from separatrix.stats.objective import (
    COMPILED_LAWS,
    MAX_DEVICE_SPREAD,
    MAX_SPREAD_ENTRIES,
    Design,
    Grad,
    Largest,
    ValueGrad,
    ValueGradHess,
    activation_spreads,
    class_grams,
    device_activations,
    dots,
    linear_scores,
    log_det_slope,
    max_slope_change,
    negative_smallest_margin,
    value_grad,
    value_grad_hess,
)
from separatrix.stats.sample import Sample, collect_sample, draw, drawn_numbers, random_places, representative_sample
