# SPDX-License-Identifier: BSD-3-Clause
"""Where the plane is, how far the rows are from it, and whether there is one."""

from separatrix.geometry.hyperplane import Hyperplane, margin, nearest_rows, radius
from separatrix.geometry.regions import Grid, LinearRegions, grid_predictions
from separatrix.geometry.separable import SeparabilityReport, is_separable

__all__ = [
    "Grid",
    "Hyperplane",
    "LinearRegions",
    "SeparabilityReport",
    "grid_predictions",
    "is_separable",
    "margin",
    "nearest_rows",
    "radius",
]
