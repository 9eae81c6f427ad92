# SPDX-License-Identifier: BSD-3-Clause
"""K classes from binary classifiers, and the ambiguous region that leaves."""

from separatrix.reductions.coupling import pairs
from separatrix.reductions.one_vs_one import OneVsOne, sides
from separatrix.reductions.one_vs_rest import OneVsRest
from separatrix.reductions.reduction import AbstractReduction
from separatrix.reductions.rows import take_rows

__all__ = [
    "AbstractReduction",
    "OneVsOne",
    "OneVsRest",
    "pairs",
    "sides",
    "take_rows",
]
