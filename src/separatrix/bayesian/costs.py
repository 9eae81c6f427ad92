# SPDX-License-Identifier: BSD-3-Clause
"""The time that the steps of an inference take: one table of speeds, and one budget.

Estimates are for one core, within a factor of three. A step that may take long is limited to a fraction of the budget.
"""

from __future__ import annotations

from separatrix.solvers import Posterior

# Speed of one core
PRODUCTS_PER_SECOND = 2e10  # multiplications in products of matrices
EXPS_PER_SECOND, SINGLE_EXPS_PER_SECOND = 5e7, 1.5e8  # exponentials, in double and in single precision
EVALUATIONS_PER_SECOND = 8e7  # activations of a row for a draw of the weights, with their likelihood and its slope

BUDGET = 60.0  # seconds of one core that a posterior may take

# Seconds that a step may take
LIMITS = {
    "joint": BUDGET / 6,  # a variational posterior with the full covariance of K classes
    "quick": BUDGET / 12,  # a posterior by class, if rows are sparse, or if Laplace's Gaussian is nearly as accurate
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
