# SPDX-License-Identifier: BSD-3-Clause
"""From a table to a model that was chosen and explained: what the command line runs and the report shows."""

from separatrix.study.candidates import MODELS, candidates
from separatrix.study.coefficients import explain
from separatrix.study.conduct import conduct, examine
from separatrix.study.record import Choice, Coefficient, Effect, HeldOut, Study

__all__ = [
    "MODELS",
    "Choice",
    "Coefficient",
    "Effect",
    "HeldOut",
    "Study",
    "candidates",
    "conduct",
    "examine",
    "explain",
]
