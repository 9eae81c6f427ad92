# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers of real tables, and curves along their numeric columns."""

from separatrix.tables.classifier import TableClassifier
from separatrix.tables.ramps import Ramps

__all__ = ["Ramps", "TableClassifier"]
