# SPDX-License-Identifier: BSD-3-Clause
"""Columns that act by a broken line: the pieces of each put together, and drawn in a line of text.

A weight of a ramp is how much the log-odds rise from one knot to the next, so that their running sum is the curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from separatrix.study import Coefficient

__all__ = ["Curve", "curves_of", "sparkline", "straight_weights"]

BLOCKS = "▁▂▃▄▅▆▇█"


class Curve(NamedTuple):
    """The log-odds of a class along one column, over those at its first knot."""

    name: str
    label: Any
    knots: tuple[float, ...]
    log_odds: tuple[float, ...]

    @property
    def reach(self) -> float:
        """From the lowest point to the highest."""
        return max(self.log_odds) - min(self.log_odds)


def curves_of(model: Any, weights: Sequence[Coefficient]) -> tuple[Curve, ...]:
    """The curves of a classifier of tables, the longest reach first; ``weights`` as `explain` has them."""
    import numpy as np

    functions = _ramps(model)
    if functions is None:
        return ()
    names, first = model.encoder_.schema_.columns, len(functions.straight)
    curves = []
    for pieces in _by_class(model, weights):
        rises = np.array([piece.weight for piece in pieces[first:]])
        for d in dict.fromkeys(functions.bent.tolist()):
            own = functions.bent == d
            knots = (functions.low[own][0], *functions.high[own])
            curve = (0.0, *np.cumsum(rises[own]))
            curves.append(Curve(names[d], pieces[0].label, tuple(map(float, knots)), tuple(map(float, curve))))
    return tuple(sorted(curves, key=lambda curve: -curve.reach))


def straight_weights(model: Any, weights: Sequence[Coefficient]) -> tuple[Coefficient, ...]:
    """Those weights that are no piece of a curve."""
    functions = _ramps(model)
    if functions is None:
        return tuple(weights)
    first = len(functions.straight)
    return tuple(weight for pieces in _by_class(model, weights) for weight in pieces[:first])


def sparkline(values: Sequence[float]) -> str:
    """One block for each value, from the lowest to the highest.

    Examples
    --------
    >>> sparkline([0.0, 1.0, 2.0, 7.0])
    '▁▂▃█'
    """
    low, high = min(values), max(values)
    step = (high - low) / (len(BLOCKS) - 1) or 1.0
    return "".join(BLOCKS[round((value - low) / step)] for value in values)


def _ramps(model: Any) -> Any:
    """The ramps of the model; None where it has none."""
    from separatrix.tables import Ramps

    basis = getattr(model.estimator_, "basis_", None)
    return basis.functions_ if isinstance(basis, Ramps) else None


def _by_class(model: Any, weights: Sequence[Coefficient]) -> list[Sequence[Coefficient]]:
    """The weights of each class, in the order of the numbers that have one."""
    width = len(model.spread_)
    return [weights[start : start + width] for start in range(0, len(weights), width)]
