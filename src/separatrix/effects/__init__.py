# SPDX-License-Identifier: BSD-3-Clause
"""Effects of the columns of a table on the probabilities of a model.

curves  probabilities as a function of one column, averaged over rows: the pictures of the report
grids   the values at which a column is evaluated
"""

from separatrix.effects.curves import MAX_EFFECT_COLUMNS, Effect, PairEffect, pair_effects, partial_effects
from separatrix.effects.grids import MAX_POINTS, grid_of
