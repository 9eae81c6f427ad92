# SPDX-License-Identifier: BSD-3-Clause
"""Effects of the columns of a table on the predictions of a model.

questions  average predictions, comparisons and slopes, with intervals and tests
ranking    importance of columns: increase of the log-loss by permutation, or spread of the log-odds
results    their tables: differences, ratios and tests of averages
averages   averages over rows as functions of the weights, with derivatives or posterior draws
columns    columns of the user's table, and changes of their values
groups     rows of any table, divided into groups
adapter    a fitted model as a model of the package marginaleffects
curves     probabilities as a function of one column, averaged over rows: the pictures of the report
grids      the values at which these curves are evaluated
"""

from separatrix.effects.adapter import marginaleffects_model
from separatrix.effects.columns import round_step
from separatrix.effects.curves import MAX_EFFECT_COLUMNS, Effect, PairEffect, pair_effects, partial_effects
from separatrix.effects.grids import MAX_POINTS, grid_of
from separatrix.effects.questions import comparisons, predictions, slopes
from separatrix.effects.ranking import importance
from separatrix.effects.results import EffectTable

__all__ = ["EffectTable", "comparisons", "importance", "marginaleffects_model", "predictions", "slopes"]
