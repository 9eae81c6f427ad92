# SPDX-License-Identifier: BSD-3-Clause
"""Was there a maximum to find? Asked after every fit, and answered by a linear program only in doubt.

Without a prior, a logistic or softmax model has a maximum exactly if no hyperplane separates the classes, completely or
with some rows on it (Albert & Anderson 1984). A solver does not notice: the gradient goes to zero all the same, along
weights that grow without end.

The same question about shares and counts is one about rows that have several labels at once (`support`).

Most fits end with a proof that the classes overlap, which costs next to nothing (`overlap`). Where there is none, a
linear program decides (`solvers.separation`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from separatrix._array import Float
from separatrix._linalg import SingularError
from separatrix.discriminative.overlap import is_overlapping
from separatrix.discriminative.support import Seen, Support
from separatrix.exceptions import CollinearWarning, SeparationWarning, warn
from separatrix.solvers import Factor, Posterior, Separability, Solution, separability

__all__ = ["examine", "is_at_stake", "warn_if_collinear"]

SMALL = 200  # unknowns up to which a linear program is asked although a prior keeps the weights finite
FEW = 20_000  # rows, likewise
UNDECIDED = (
    "Whether a hyperplane separates the classes could not be decided: columns are so nearly collinear, or so many, "
    "that the answer is lost in rounding or takes too long. If one does, the likelihood has no maximum, and the "
    "weights are merely those at which the solver stopped. Give the weights a prior (alpha > 0), or use fewer columns "
    "or narrower functions."
)


def examine(
    objective: Posterior, solution: Solution[Float], n_classes: int, *, support: Support | None = None
) -> Separability:
    """Whether the classes are separable; a warning where that leaves the weights without a maximum.

    With a prior on every weight nothing is at stake, so a large problem in doubt is left "unknown"; without one, only
    what rounding hides, and with a warning. Targets that are no labels have a ``support``.
    """
    at_stake = is_at_stake(objective)
    if is_overlapping(objective, solution, at_stake=at_stake, support=support):
        return _unproven(objective, "overlapping")
    if at_stake or _is_cheap(objective):
        source = objective.source if support is None else Seen(objective.source, support.repeat)
        found = separability(source, n_classes, fit_intercept=objective.design.bias)
    else:
        found = _unproven(objective, "unknown")
    if found.status == "unknown" and support is None:
        found = _by_weights(objective, solution.value)
    if at_stake and found:
        _warn_of_separation(found, is_count=support is not None and support.is_count)
    if at_stake and found.status == "unknown":
        warn(UNDECIDED, SeparationWarning)
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


def _warn_of_separation(found: Separability, *, is_count: bool) -> None:
    along, n = _listed(found.columns), found.n_on_plane
    if is_count:
        what = f"Every count on one side of a hyperplane is 0, and the other rows ({n}) lie on it, along {along}"
    else:
        rest = f", but for {n} rows that lie on it" if n else ""
        what = f"A hyperplane separates the classes (status {found.status!r}{rest}), along {along}"
    warn(
        f"{what}. The likelihood has no maximum: the weights are those at which the solver stopped, and they would "
        "grow without end. Give the weights a prior (alpha > 0), or drop or combine those columns.",
        SeparationWarning,
    )


def warn_if_collinear(objective: Posterior, solution: Solution[Float]) -> None:
    """Say so where nothing but collinear columns keeps weights without a prior from being unique."""
    inverse = None if solution.end is None else solution.end.inverse
    if not (is_at_stake(objective) and isinstance(inverse, Factor) and inverse.singular is not None):
        return
    columns = (*objective.source.columns, "the bias")[: objective.design.width]
    warn(
        f"Collinear columns: {_of_columns(inverse.singular, len(columns)).describe(columns)}. Predictions are "
        "unaffected, but coefficients are not unique: short ones (in standard-deviation units) are returned. "
        "Drop those columns, or set alpha > 0.",
        CollinearWarning,
    )


def _of_columns(singular: SingularError, width: int) -> SingularError:
    """What is so of columns, each said once, from what is so of the weights of every class."""
    constant = sorted({j % width for j in singular.constant})
    said: dict[frozenset[int], int] = {}
    for j, others in singular.combination.items():
        together = frozenset(i % width for i in (j, *others))
        if len(together) > 1:
            said.setdefault(together, j % width)
    return SingularError(constant, {j: sorted(together - {j}) for together, j in said.items()})


def _listed(columns: tuple[str, ...]) -> str:
    more = f" and {len(columns) - 6} more columns" if len(columns) > 6 else ""
    return (", ".join(map(repr, columns[:6])) or "the bias") + more
