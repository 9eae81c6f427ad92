# SPDX-License-Identifier: BSD-3-Clause
"""How much of a posterior's covariance is kept: all of it where that fits, and else what matters most.

full        one Cholesky factor of the (CP, CP) precision                                approximation.py
dual        fewer rows than columns: exact too, in the space of the rows                 dual.py
by class    C factors (P, P), one for each contrast between the classes                  by_class.py
diagonal    one number for each weight                                                   diagonal.py
"""

from __future__ import annotations

from separatrix._arguments import check_option
from separatrix._array import Float
from separatrix.bayesian.posterior.approximation import Approximation, laplace
from separatrix.bayesian.posterior.by_class import ByClassApproximation, laplace_by_class
from separatrix.bayesian.posterior.diagonal import DiagonalApproximation, laplace_diagonal
from separatrix.bayesian.posterior.dual import DualApproximation, Thin, laplace_dual
from separatrix.bayesian.posterior.memory import SHARE, machine_memory, require_memory
from separatrix.exceptions import DataError
from separatrix.solvers import Posterior, is_wide

__all__ = ["STRUCTURES", "AnyApproximation", "choose_structure", "laplace_of", "memory_needed"]

AnyApproximation = Approximation | ByClassApproximation | DualApproximation | DiagonalApproximation

STRUCTURES = ("full", "dual", "by class", "diagonal")
LARGEST = 5000  # rows of a matrix that is factorised without being asked to
COPIES = 4  # of such a matrix that live at one time: Hessian, correlations, factor, its inverse


def choose_structure(objective: Posterior, requested: str | None = None) -> str:
    """The structure asked for, if it can be had; else the most exact one of moderate cost.

    Raises
    ------
    DataError
        Where the structure asked for needs more memory than there is, or does not suit the problem.
    """
    if requested is None:
        return _most_exact(objective)
    check_option("choose_structure", "structure", requested, STRUCTURES, otherwise=", or None")
    C, P = objective.shape
    if requested == "dual" and not is_wide(objective):
        raise DataError(
            f"structure='dual' is for fewer rows than columns and a prior with mean 0 and a finite scale for each "
            f"column; here are {objective.source.n_rows} rows, {len(objective.design.origin)} columns. Leave the "
            "structure to be chosen, or name another."
        )
    if requested == "by class" and C == 1:
        raise DataError("structure='by class' needs more than two classes; with two there is one set of weights.")
    require_memory(
        f"structure={requested!r} for {C} x {P} weights",
        memory_needed(objective, requested),
        f"{_most_exact(objective)!r} fits; fewer columns or basis functions would help too.",
    )
    return requested


def memory_needed(objective: Posterior, structure: str) -> float:
    """Bytes that the posterior takes at most while it is made, besides the rows."""
    C, P = objective.shape
    if structure == "full":
        return 8.0 * COPIES * (C * P) ** 2
    if structure == "by class":
        return 8.0 * P**2 * (2 * C + COPIES)  # a factor and its inverse each
    if structure == "dual":
        N = objective.source.n_rows
        thin = (C * N) ** 2 if C * N <= LARGEST else C * N**2
        return 8.0 * (2 * N * P + COPIES * thin)
    return 8.0 * COPIES * C * P


def laplace_of(structure: str, objective: Posterior, mode: Float, *, steps: int = 0) -> AnyApproximation:
    """Laplace's approximation at the mode, of a structure that `choose_structure` named."""
    if structure == "dual":
        return laplace_dual(objective, mode, of_thin=_laplace_of_thin, steps=steps)
    if structure == "by class":
        return laplace_by_class(objective, mode, steps=steps)
    return (laplace if structure == "full" else laplace_diagonal)(objective, mode, steps=steps)


def _laplace_of_thin(thin: Posterior, mode: Float) -> Thin:
    C, P = thin.shape
    return laplace(thin, mode) if C * P <= LARGEST or C == 1 else laplace_by_class(thin, mode)


def _most_exact(objective: Posterior) -> str:
    """Full up to a few thousand weights, then whatever fits in order of what it leaves out."""
    C, P = objective.shape
    if C * P <= LARGEST:
        return "full"
    if is_wide(objective) and _fits(objective, "dual"):
        return "dual"
    if C == 1 and P <= 2 * LARGEST and not objective.units.is_sparse and _fits(objective, "full"):
        return "full"  # there is nothing between it and a diagonal
    return "by class" if C > 1 and P <= LARGEST and _fits(objective, "by class") else "diagonal"


def _fits(objective: Posterior, structure: str) -> bool:
    return memory_needed(objective, structure) <= SHARE * machine_memory()
