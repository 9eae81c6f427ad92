# SPDX-License-Identifier: BSD-3-Clause
"""Data for examples and experiments: `generators` simulate numeric data, `tables` contains tables of mixed types.

Generators return ``(X, y)`` or a named tuple with more arrays. The same ``rng`` gives the same rows.
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
