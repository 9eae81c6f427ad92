# SPDX-License-Identifier: BSD-3-Clause
"""Where the plane is, how far the rows are from it, and whether there is one."""

from separatrix.geometry.hyperplane import Hyperplane, margin, nearest_rows, radius
from separatrix.geometry.linear_model import linear_functions
from separatrix.geometry.regions import Grid, LinearRegions, codes_of, grid_predictions, grid_values
from separatrix.separation import SeparabilityReport, is_separable

__all__ = [
    "Grid",
    "Hyperplane",
    "LinearRegions",
    "SeparabilityReport",
    "codes_of",
    "grid_predictions",
    "grid_values",
    "is_separable",
    "linear_functions",
    "margin",
    "nearest_rows",
    "radius",
]
