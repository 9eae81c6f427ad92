# SPDX-License-Identifier: BSD-3-Clause
"""Was there a maximum to find? Asked after every fit, and answered by a linear program only in doubt.

Without a prior, a logistic or softmax model has a maximum exactly if no hyperplane separates the classes, completely or
with some rows on it (Albert & Anderson 1984). A solver does not notice: the gradient goes to zero all the same, along
weights that grow without end.

Most fits end with a proof that the classes overlap, which costs next to nothing (`overlap`). Where there is none, a
linear program decides (`solvers.separation`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from separatrix._array import Float
from separatrix._linalg import SingularError, cholesky_of_correlation
from separatrix.discriminative.overlap import is_overlapping
from separatrix.exceptions import CollinearWarning, SeparationWarning, warn
from separatrix.solvers import Posterior, Separability, Solution, separability
from separatrix.solvers.factor import Factor

__all__ = ["examine", "is_at_stake"]

SMALL = 200  # unknowns up to which a linear program is asked although a prior keeps the weights finite
FEW = 20_000  # rows, likewise


def examine(objective: Posterior, solution: Solution[Float], n_classes: int, *, is_soft: bool = False) -> Separability:
    """Whether the classes are separable; a warning where that leaves the weights without a maximum.

    With a prior on every weight nothing is at stake, so a large problem in doubt is left "unknown". Soft targets are
    not labels that a hyperplane could separate.
    """
    at_stake = is_at_stake(objective)
    if is_soft:
        return _unproven(objective, "unknown")
    if is_overlapping(objective, solution, at_stake=at_stake):
        found = _unproven(objective, "overlapping")
    elif at_stake or _is_cheap(objective):
        found = separability(objective.source, n_classes, fit_intercept=objective.design.bias)
    else:
        found = _by_weights(objective, solution.value)
    if at_stake:
        _warn(objective, solution, found)
    return found


def is_at_stake(objective: Posterior) -> bool:
    """Whether separation would leave weights without a maximum: some have no prior."""
    return bool(objective.prior.free[: len(objective.design.origin)].any())


def _is_cheap(objective: Posterior) -> bool:
    return objective.shape[0] * objective.shape[1] <= SMALL and objective.source.n_rows <= FEW


def _by_weights(objective: Posterior, theta: Float) -> Separability:
    """Complete, if the fitted weights themselves separate all rows."""
    if not objective.separates(theta):
        return _unproven(objective, "unknown")
    coef, intercept = objective.design.in_user_units(theta)
    length = np.linalg.norm(coef)
    return Separability("complete", coef / length, intercept / length, objective.source.columns, 0, 0, 1)


def _unproven(objective: Posterior, status: Literal["overlapping", "unknown"]) -> Separability:
    C, M = objective.shape[0], len(objective.design.origin)
    return Separability(status, np.zeros((C, M)), np.zeros(C), (), 0, 0, 0)


def _warn(objective: Posterior, solution: Solution[Float], found: Separability) -> None:
    if found:
        rest = f", but for {found.n_on_plane} rows that lie on it" if found.n_on_plane else ""
        warn(
            f"A hyperplane separates the classes (status {found.status!r}{rest}), along {_listed(found.columns)}. The "
            "likelihood has no maximum: the weights are those at which the solver stopped, and they would grow without "
            "end. Give the weights a prior (alpha > 0), or drop or combine those columns.",
            SeparationWarning,
        )
        return
    inverse = None if solution.end is None else solution.end.inverse
    if isinstance(inverse, Factor) and inverse.singular is not None:
        columns = (*objective.source.columns, "the bias")[: objective.design.width]
        if not (said := _dependent(inverse.matrix, len(columns)).describe(columns)):
            return
        warn(
            f"Collinear columns: {said}. Predictions are "
            "unaffected, but coefficients are not unique: short ones (in standard-deviation units) are returned. "
            "Drop those columns, or set alpha > 0.",
            CollinearWarning,
        )


def _dependent(hess: Float, width: int) -> SingularError:
    """Which of ``width`` columns depend on which: the same in every class, so blocks of the Hessian are added.

    Those of two classes with a minus: they are negative, and `factorise` has added the same to every block.
    """
    K = len(hess) // width
    sign = np.ones((1, 1)) if K == 1 else (K * np.eye(K) - 1) / (K - 1)
    try:
        cholesky_of_correlation(np.einsum("kpjq,kj->pq", hess.reshape(K, width, K, width), sign))
    except SingularError as found:
        return found
    return SingularError([], {})


def _listed(columns: tuple[str, ...]) -> str:
    more = f" and {len(columns) - 6} more columns" if len(columns) > 6 else ""
    return ", ".join(map(repr, columns[:6])) + more
