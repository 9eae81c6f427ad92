# SPDX-License-Identifier: BSD-3-Clause
"""Data for examples and experiments: `generators` of numeric data for each situation of the textbook, and `tables`.

Generators return ``(X, y)``, or a named tuple with more arrays, and the same rows for the same ``rng``.
"""

from separatrix.datasets.generators import (
    make_gaussian_grid,
    make_label_noise,
    make_outliers,
    make_overlapping,
    make_rbf_experiment,
    make_separable,
    make_xor_clusters,
)
from separatrix.datasets.tables import LOBSTERS, load_lobsters, make_loans, make_mixed_types

__all__ = [
    "LOBSTERS",
    "load_lobsters",
    "make_gaussian_grid",
    "make_label_noise",
    "make_loans",
    "make_mixed_types",
    "make_outliers",
    "make_overlapping",
    "make_rbf_experiment",
    "make_separable",
    "make_xor_clusters",
]
