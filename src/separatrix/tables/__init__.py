# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers of real tables, curves along their numeric columns, and the model that looks at none of them."""

from separatrix.tables.classifier import TableClassifier, fit_numbers, named
from separatrix.tables.contrasts import has_contrasts
from separatrix.tables.functions import bendable, functions_of, make_ready
from separatrix.tables.prior_only import PriorOnly
from separatrix.tables.ramps import FEWEST, MOST, RampFunctions, Ramps

__all__ = [
    "FEWEST",
    "MOST",
    "PriorOnly",
    "RampFunctions",
    "Ramps",
    "TableClassifier",
    "bendable",
    "fit_numbers",
    "functions_of",
    "has_contrasts",
    "make_ready",
    "named",
]
