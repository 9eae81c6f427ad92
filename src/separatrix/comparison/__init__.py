# SPDX-License-Identifier: BSD-3-Clause
"""Compare models on the same held-out rows and by their evidence, and average them.

`compare` fits and scores models (trials.py). `Comparison` is the result, a table with notes (result.py).
`ModelAverage` weights models by their evidence, or by given weights, such as `stacking_weights` (models.py).
"""

from separatrix.comparison.models import Evidence, ModelAverage, name_models, stacking_weights
from separatrix.comparison.result import (
    MAX_ROW_NATS,
    MIN_SHOWN_NATS,
    NOT_TRIED,
    STOPPED,
    Comparison,
    Scores,
    Trial,
    notes_on,
    one_line,
)
from separatrix.comparison.trials import Fold, compare, predicted_rows, run_trial, scores_of
