# SPDX-License-Identifier: BSD-3-Clause
"""From a table to a model that was chosen and explained: what the command line runs and the report shows."""

from separatrix.study.candidates import MODELS, candidates
from separatrix.study.coefficients import explain
from separatrix.study.compared import Compared, compare_models
from separatrix.study.conduct import LATER, conduct, examine, study_of
from separatrix.study.notes import captured
from separatrix.study.progress import Stage
from separatrix.study.record import Choice, Coefficient, Effect, HeldOut, Note, Study, Topic
from separatrix.study.streamed import spread_rows

__all__ = [
    "LATER",
    "MODELS",
    "Choice",
    "Coefficient",
    "Compared",
    "Effect",
    "HeldOut",
    "Note",
    "Stage",
    "Study",
    "Topic",
    "candidates",
    "captured",
    "compare_models",
    "conduct",
    "examine",
    "explain",
    "spread_rows",
    "study_of",
]
