# SPDX-License-Identifier: BSD-3-Clause
"""Studies of a table: compare models, choose one, fit it and explain it. Used by the command line and the report.

Read study.py first (`conduct`, `study_of`, `examine`), then compare.py (comparison and choice) and records.py
(`Compared`, `Study`). The models: classifier.py (`TableClassifier`), ramps.py (curves), pairs.py (interactions),
candidates.py (which models suit a table). The results: weights.py, effects.py, notes.py, screening.py (columns to
check). Progress reports: progress.py. Predictions of a table in batches: scoring.py.
"""

from separatrix.study.candidates import MODELS as MODELS
from separatrix.study.candidates import PriorOnly as PriorOnly
from separatrix.study.candidates import candidates as candidates
from separatrix.study.classifier import TableClassifier as TableClassifier
from separatrix.study.classifier import continuous_columns as continuous_columns
from separatrix.study.classifier import scale_groups as scale_groups
from separatrix.study.compare import compare_models as compare_models
from separatrix.study.compare import labelled_rows as labelled_rows
from separatrix.study.notes import captured as captured
from separatrix.study.notes import notes_on_model as notes_on_model
from separatrix.study.progress import Stage as Stage
from separatrix.study.ramps import RampFunctions as RampFunctions
from separatrix.study.ramps import RampProducts as RampProducts
from separatrix.study.ramps import Ramps as Ramps
from separatrix.study.records import Compared as Compared
from separatrix.study.records import Effect as Effect
from separatrix.study.records import HeldOut as HeldOut
from separatrix.study.records import Note as Note
from separatrix.study.records import PairEffect as PairEffect
from separatrix.study.records import Study as Study
from separatrix.study.records import Topic as Topic
from separatrix.study.scoring import BatchScorer as BatchScorer
from separatrix.study.scoring import ValueCounts as ValueCounts
from separatrix.study.study import N_LATER_STAGES as N_LATER_STAGES
from separatrix.study.study import conduct as conduct
from separatrix.study.study import examine as examine
from separatrix.study.study import spread_rows as spread_rows
from separatrix.study.study import study_of as study_of
from separatrix.study.weights import INTERCEPT as INTERCEPT
from separatrix.study.weights import Coefficient as Coefficient
from separatrix.study.weights import explain as explain
