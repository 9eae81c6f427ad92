# SPDX-License-Identifier: BSD-3-Clause
"""The weights of a classifier of tables, each with its interval, in the user's units."""

from __future__ import annotations

from separatrix.bayesian import interval_tails
from separatrix.study.record import Coefficient
from separatrix.tables import TableClassifier, has_contrasts

__all__ = ["explain"]


def explain(model: TableClassifier, level: float = 0.95) -> tuple[Coefficient, ...]:
    """Every weight of a fitted classifier of tables; none where the model has no weights. The bias is left out.

    Levels of a category are against their average over the rows, and of K classes each is against their average: the
    weights themselves have a part that changes no prediction, and about which only the prior says anything.

    Examples
    --------
    >>> from separatrix.datasets import make_mixed_types
    >>> from separatrix.study import explain
    >>> from separatrix.tables import TableClassifier
    >>> table, y = make_mixed_types(500, as_frame=True, rng=0)
    >>> calls = next(c for c in explain(TableClassifier().fit(table, y)) if c.name == "calls")
    >>> calls.label, calls.weight < calls.upper < 0  # of those who call often, fewer stay
    ('stays', True)
    """
    interval_tails("explain", level)
    if not has_contrasts(model.estimator_):
        return ()
    found = model.contrasts()
    lower, upper = found.interval(level)
    return tuple(
        Coefficient(column, name, label, float(w), float(low), float(high), float(w * spread))
        for label, *bounds in zip(found.labels.tolist(), found.weight, lower, upper, strict=True)
        for column, name, w, low, high, spread in zip(found.columns, found.names, *bounds, model.spread_, strict=True)
    )
