# SPDX-License-Identifier: BSD-3-Clause
"""Estimate the time and memory of the steps of an inference, from one table of speeds, for one budget.

Estimates are for one core, within a factor of three. A step that may take long is limited to a fraction of the budget.
A pass over sparse rows is short, so the budget of a sparse table is shorter, too (`is_affordable`).
"""

from __future__ import annotations

import numpy as np

from separatrix.rows import Block
from separatrix.solvers import Posterior
from separatrix.stats import Tally

# Speed of one core
PRODUCTS_PER_SECOND = 2e10  # multiplications in products of matrices
EXPS_PER_SECOND, SINGLE_EXPS_PER_SECOND = 5e7, 1.5e8  # exponentials, in double and in single precision
EVALUATIONS_PER_SECOND = 8e7  # activations of a row for a draw of the weights, with their likelihood and its slope
SPARSE_PRODUCTS_PER_SECOND = 5e8  # multiplications of the entries of sparse rows

BUDGET = 60.0  # seconds of one core that a posterior may take
SPARSE_PASSES = 4000  # that a covariance of sparse rows may take: cross-validation of ten scales takes a fifth of them
MAX_SPARSE_BYTES = 5e8  # memory that a covariance of sparse rows may take

# Seconds that a step may take
LIMITS = {
    "joint": BUDGET / 6,  # a variational posterior with the full covariance of K classes
    "quick": BUDGET / 12,  # a posterior by class, if rows are sparse, or if Laplace's Gaussian is nearly as accurate
    "sparse": BUDGET / 240,  # a covariance of sparse rows, if their passes take less
    "draws": BUDGET / 600,  # importance weights that check a Gaussian
    "chains": BUDGET / 24,  # Hamiltonian chains that check a posterior with the full covariance
    "few chains": BUDGET / 8,  # Hamiltonian chains that check a posterior by class
    "long chains": BUDGET * 5 / 24,  # Hamiltonian chains that replace a poor Gaussian
    "sweep": BUDGET / 120_000,  # a sweep of expectation propagation, if many sweeps take a fraction of a second
}


def sampling_seconds(objective: Posterior, n: int) -> float:
    """Return the time of evaluating the likelihood of all rows for n draws."""
    return evaluations(objective, n) / EVALUATIONS_PER_SECOND


def evaluations(objective: Posterior, n: int) -> float:
    """Return the number of activations of n draws: draws x rows x outputs."""
    return float(n) * objective.source.n_rows * objective.shape[0]


def sweep_seconds(objective: Posterior) -> float:
    """Return the time of the products of a sweep of expectation propagation."""
    return objective.n_repeats * objective.shape[1] ** 2 / PRODUCTS_PER_SECOND


def by_class_products(objective: Posterior) -> float:
    """Return the multiplications of a pass and a factorisation by class."""
    (C, P), N = objective.shape, objective.source.n_rows
    return 2.0 * C * P**2 * (N + 4 * P)


def joint_products(objective: Posterior) -> float:
    """Return the multiplications of a pass with the full covariance: of activations, H, and four of (CP, CP)."""
    D = objective.shape[0] * objective.shape[1]
    return 2.0 * objective.source.n_rows * D**2 + 4.0 * D**3


def joint_seconds(n_rows: float, n_weights: int) -> float:
    """Return the time of a posterior with one covariance of all weights: 20 sweeps of expectation propagation.

    A sweep has two products of all rows, and a factorisation.
    """
    return 20 * 2.0 * (n_rows + n_weights) * n_weights**2 / PRODUCTS_PER_SECOND


def joint_bytes(n_rows: int, n_weights: int) -> float:
    """Return the memory of a posterior with one covariance of all weights, with rows that are no longer sparse.

    There are 14 precisions, factors and earlier sweeps in memory at once.
    """
    return 8.0 * (14 * n_weights + n_rows) * n_weights


def n_entries(objective: Posterior) -> int:
    """Return the number of entries that are stored, (N, M) or fewer, in one pass."""
    return int(objective.source.reduce(stored_entries).count[0])


def stored_entries(block: Block) -> Tally:
    """Return the number of entries of a block that are stored."""
    return Tally(np.array([block.X.size]))


def pass_seconds(objective: Posterior) -> float:
    """Return the time of a pass over sparse rows: two products with each entry, and the likelihood of each row."""
    C = objective.shape[0]
    products = 2.0 * n_entries(objective) * C / SPARSE_PRODUCTS_PER_SECOND
    return products + objective.source.n_rows * C / EXPS_PER_SECOND


def is_affordable(objective: Posterior, seconds: float, size: float) -> bool:
    """Whether a covariance of sparse rows takes at most the time and the bytes that are allowed.

    It may take as long as `SPARSE_PASSES` passes. On 5 574 messages with 74 000 words, the passes take 1.6 seconds.
    """
    if size > MAX_SPARSE_BYTES or seconds > BUDGET:
        return False
    return seconds <= LIMITS["sparse"] or seconds <= SPARSE_PASSES * pass_seconds(objective)
