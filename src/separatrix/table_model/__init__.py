# SPDX-License-Identifier: BSD-3-Clause
"""A classifier of tables with columns of any type: an encoder and a model of the encoded features, in one object.

Read classifier.py (`TableClassifier`) first. Features beyond the encoded columns: ramps.py (curves), pairs.py
(interactions), radial.py (radial functions). Prior scales by cross-validation: scales.py. The weights as a table, in
words: weights.py.
"""

from separatrix.table_model.classifier import (
    MAX_GROUPED_WORDS,
    Configured,
    TableClassifier,
    Words,
    basis_rows,
    continuous_columns,
    functions_of,
    is_dual_cheaper,
    named,
    repetitions,
    scale_groups,
    word_columns,
)
from separatrix.table_model.pairs import MAX_CELLS, MAX_SEARCH_ROWS, Interactions, max_products
from separatrix.table_model.radial import (
    MAX_DEVIATIONS,
    MAX_WIDTH_CENTRES,
    MAX_WIDTH_ROWS,
    MIN_RADIAL_COLUMNS,
    MIN_RADIAL_ROWS,
    RADIAL,
    WIDTH_FACTORS,
    Radial,
    RadialFunctions,
    default_n_centres,
)
from separatrix.table_model.ramps import CURVE_OF, RampFunctions, RampProducts, Ramps, default_n_knots
from separatrix.table_model.weights import INTERCEPT, Coefficient, explain, has_contrasts
