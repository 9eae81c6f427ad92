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

from separatrix.stats.checks import MAX_MAGNITUDE as MAX_MAGNITUDE
from separatrix.stats.checks import Extent as Extent
from separatrix.stats.checks import Tally as Tally
from separatrix.stats.checks import confusion as confusion
from separatrix.stats.checks import extent as extent
from separatrix.stats.checks import has_missing as has_missing
from separatrix.stats.checks import require_finite as require_finite
from separatrix.stats.checks import require_squares as require_squares
from separatrix.stats.groups import Group as Group
from separatrix.stats.groups import GroupedFacts as GroupedFacts
from separatrix.stats.groups import dense_chunks as dense_chunks
from separatrix.stats.groups import group_statistics as group_statistics
from separatrix.stats.groups import label_weights as label_weights
from separatrix.stats.groups import require_support as require_support
from separatrix.stats.moments import DOUBLE_ROUNDING as DOUBLE_ROUNDING
from separatrix.stats.moments import ClassMoments as ClassMoments
from separatrix.stats.moments import ClassScatter as ClassScatter
from separatrix.stats.moments import DiagonalScatter as DiagonalScatter
from separatrix.stats.moments import FactoredScatter as FactoredScatter
from separatrix.stats.moments import PooledScatter as PooledScatter
from separatrix.stats.moments import class_moments as class_moments
from separatrix.stats.moments import collect_moments as collect_moments
from separatrix.stats.moments import column_moments as column_moments
from separatrix.stats.moments import column_survey as column_survey
from separatrix.stats.objective import COMPILED_LAWS as COMPILED_LAWS
from separatrix.stats.objective import MAX_DEVICE_SPREAD as MAX_DEVICE_SPREAD
from separatrix.stats.objective import MAX_SPREAD_ENTRIES as MAX_SPREAD_ENTRIES
from separatrix.stats.objective import Design as Design
from separatrix.stats.objective import Grad as Grad
from separatrix.stats.objective import Largest as Largest
from separatrix.stats.objective import ValueGrad as ValueGrad
from separatrix.stats.objective import ValueGradHess as ValueGradHess
from separatrix.stats.objective import activation_spreads as activation_spreads
from separatrix.stats.objective import class_grams as class_grams
from separatrix.stats.objective import device_activations as device_activations
from separatrix.stats.objective import dots as dots
from separatrix.stats.objective import linear_scores as linear_scores
from separatrix.stats.objective import log_det_slope as log_det_slope
from separatrix.stats.objective import max_slope_change as max_slope_change
from separatrix.stats.objective import negative_smallest_margin as negative_smallest_margin
from separatrix.stats.objective import value_grad as value_grad
from separatrix.stats.objective import value_grad_hess as value_grad_hess
from separatrix.stats.sample import Sample as Sample
from separatrix.stats.sample import collect_sample as collect_sample
from separatrix.stats.sample import draw as draw
from separatrix.stats.sample import drawn_numbers as drawn_numbers
from separatrix.stats.sample import random_places as random_places
from separatrix.stats.sample import representative_sample as representative_sample
