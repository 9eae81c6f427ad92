# SPDX-License-Identifier: BSD-3-Clause
"""Models side by side: held-out figures, evidence, time; and their average."""

from separatrix.comparison.average import ModelAverage
from separatrix.comparison.notes import notes_on
from separatrix.comparison.result import Comparison
from separatrix.comparison.run import compare
from separatrix.comparison.trial import Scores, Trial, rank

__all__ = [
    "Comparison",
    "ModelAverage",
    "Scores",
    "Trial",
    "compare",
    "notes_on",
    "rank",
]
