# SPDX-License-Identifier: BSD-3-Clause
"""The numbers that a model of a table has weights for: columns as they are encoded, or functions of those.

What a model of a table has to know before its fit is settled here: which columns bend, and the scale of its prior.
Numbers and ramps have one scale per standard deviation; levels and marks have one for the step from 0 to 1, for the
standard deviation of a rare level is so small that its weight would be all but free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from separatrix._array import Array, Float, to_dense
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.priors import Gaussian
from separatrix.rows import Source, ThroughBasis, open_rows
from separatrix.stats import column_moments
from separatrix.table import DatePlan, NumberPlan, Schema
from separatrix.tables.ramps import Ramps

if TYPE_CHECKING:
    from separatrix.tables.classifier import TableClassifier

__all__ = ["Moments", "Ready", "bendable", "functions_of", "make_ready", "model_of", "moments_of", "names_of"]


class Moments(NamedTuple):
    """Mean and standard deviation of each number that has a weight, (M,)."""

    mean: Float
    std: Float


class Ready(NamedTuple):
    """A model of numbers, not yet fitted, and the moments of what it has weights for, where those were needed."""

    estimator: Any
    moments: Moments | None


def model_of(classifier: TableClassifier) -> Any:
    """The model of numbers as it was given, or the default."""
    return BayesianLogisticRegression(tune="evidence") if classifier.estimator is None else classifier.estimator


def make_ready(classifier: TableClassifier, schema: Schema, numbers: Any) -> Ready:
    """A model with the curves and scales that the columns of a table call for."""
    model = clone(model_of(classifier))
    bent, source = bendable(schema), open_rows(numbers).rows()
    ramps = Ramps(bent).fit_source(source) if classifier.curved else None
    if ramps is not None:
        model.set_params(basis=ramps.frozen())
    if not isinstance(model, BayesianLogisticRegression) or model.tune is None:
        return Ready(model, None)
    straight = np.arange(len(schema.columns)) if ramps is None else ramps.functions_.straight
    n_ramps = 0 if ramps is None else len(ramps.functions_.bent)
    if ramps is not None:
        model.set_params(groups=("line",) * len(straight) + ("curve",) * n_ramps)
    if model.prior is not None or not model.standardize or (ramps is None and model.basis is not None):
        return Ready(model, None)
    moments = moments_of(source, ramps)
    is_mark = np.append(~np.isin(straight, bent), np.zeros(n_ramps, dtype=bool))
    scale = np.where(is_mark & (moments.std > 0), moments.std, 1.0)
    return Ready(model.set_params(prior=Gaussian(scale=scale)), moments)


def moments_of(source: Source, basis: Any = None) -> Moments:
    """One pass over all rows: a sample would miss rare levels."""
    found = (source if basis is None else ThroughBasis(source, basis)).reduce(column_moments)
    return Moments(found.mean[0], np.sqrt(found.scatter.squares[0] / found.count[0]))


def functions_of(classifier: TableClassifier, numbers: Any) -> Array:
    """Φ (n, M) of encoded rows, dense: for a few of them at a time."""
    basis = getattr(classifier.estimator_, "basis_", None)
    return to_dense(numbers if basis is None else basis.evaluate(numbers))


def names_of(classifier: TableClassifier) -> tuple[str, ...]:
    """Of those M numbers."""
    columns = classifier.encoder_.schema_.columns
    basis = getattr(classifier.estimator_, "basis_", None)
    return columns if basis is None else tuple(basis.names(columns))


def bendable(schema: Schema) -> tuple[int, ...]:
    """Positions of numbers and of days; not of indicators, nor of the coordinates of cycles."""
    kinds = [plan for plan in schema.plans if isinstance(plan, NumberPlan | DatePlan)]
    wanted = [plan.column for plan in kinds if plan.kind in ("number", "date") and not plan.constant]
    return tuple(schema.groups[column].start for column in wanted)
