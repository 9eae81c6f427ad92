# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers of real tables, curves along their numeric columns, and the model that looks at none of them."""

from separatrix.tables.classifier import TableClassifier
from separatrix.tables.prior_only import PriorOnly
from separatrix.tables.ramps import Ramps

__all__ = ["PriorOnly", "Ramps", "TableClassifier"]
