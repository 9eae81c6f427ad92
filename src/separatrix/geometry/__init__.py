# SPDX-License-Identifier: BSD-3-Clause
"""Geometry of linear classifiers: hyperplanes and distances from them, decision regions, and separability.

`hyperplane` describes the boundary of two classes; `regions` has decision regions of K classes and grids of points.
"""

from separatrix.geometry.hyperplane import Hyperplane, linear_functions, margin, nearest_rows, radius
from separatrix.geometry.regions import Grid, LinearRegions, codes_of, grid_predictions, grid_values, points_like
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
    "points_like",
    "radius",
]
