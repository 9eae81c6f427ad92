# SPDX-License-Identifier: BSD-3-Clause
"""Data for examples and experiments: one real set, and a generator for each situation of the textbook.

Generators return ``(X, y)``, or a record of named arrays where there is more to know, and give the same rows for the
same ``rng``.
"""

from separatrix.datasets.clusters import make_gaussian_grid, make_rbf_experiment, make_xor_clusters
from separatrix.datasets.loans import make_loans
from separatrix.datasets.lobsters import LOBSTERS, load_lobsters
from separatrix.datasets.mixed import make_mixed_types
from separatrix.datasets.two_classes import make_label_noise, make_outliers, make_overlapping, make_separable

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
