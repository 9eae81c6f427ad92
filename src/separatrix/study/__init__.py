# SPDX-License-Identifier: BSD-3-Clause
"""Studies of a table: compare models, choose one, fit it and explain it. Used by the command line and the report.

Read study.py first (`conduct`, `study_of`, `examine`), then compare.py (comparison and choice), race.py (fits and
scores within the time limit) and records.py (`Compared`, `Study`). The rows: opening.py (data frames and files). The
models: candidates.py (which models suit a table). The results: notes.py, screening.py (columns to check). Progress
reports: progress.py. Weights of rows: row_weights.py. Predictions of a table in batches: scoring.py.
"""

from separatrix.effects import Effect, PairEffect
from separatrix.study.candidates import MODELS, PriorOnly, candidates
from separatrix.study.compare import compare_models
from separatrix.study.notes import captured, notes_on_model
from separatrix.study.opening import name_of, open_labelled, read_types, spread_rows
from separatrix.study.progress import Stage
from separatrix.study.records import OTHER_MODEL_TOPICS, Compared, HeldOut, Note, Study, Topic
from separatrix.study.row_weights import in_proportion
from separatrix.study.scoring import BatchScorer, ValueCounts
from separatrix.study.study import N_LATER_STAGES, conduct, examine, study_of

__all__ = [
    "MODELS",
    "N_LATER_STAGES",
    "OTHER_MODEL_TOPICS",
    "BatchScorer",
    "Compared",
    "Effect",
    "HeldOut",
    "Note",
    "PairEffect",
    "PriorOnly",
    "Stage",
    "Study",
    "Topic",
    "ValueCounts",
    "candidates",
    "captured",
    "compare_models",
    "conduct",
    "examine",
    "in_proportion",
    "name_of",
    "notes_on_model",
    "open_labelled",
    "read_types",
    "spread_rows",
    "study_of",
]
