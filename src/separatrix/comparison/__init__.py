# SPDX-License-Identifier: BSD-3-Clause
"""Compare models on the same held-out rows and by their evidence, and average them.

`compare` fits and scores models (trials.py). `Comparison` is the result, a table with notes (result.py).
`ModelAverage` weights models by their evidence (models.py).
"""

from separatrix.comparison.models import Evidence as Evidence
from separatrix.comparison.models import ModelAverage as ModelAverage
from separatrix.comparison.result import MIN_SHOWN_NATS as MIN_SHOWN_NATS
from separatrix.comparison.result import NOT_TRIED as NOT_TRIED
from separatrix.comparison.result import Comparison as Comparison
from separatrix.comparison.result import Scores as Scores
from separatrix.comparison.result import Trial as Trial
from separatrix.comparison.result import notes_on as notes_on
from separatrix.comparison.result import one_line as one_line
from separatrix.comparison.trials import Fold as Fold
from separatrix.comparison.trials import compare as compare
from separatrix.comparison.trials import predicted_rows as predicted_rows
from separatrix.comparison.trials import run_trial as run_trial
from separatrix.comparison.trials import scores_of as scores_of
