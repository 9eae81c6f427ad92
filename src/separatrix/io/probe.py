# SPDX-License-Identifier: BSD-3-Clause
"""Does a model work? A row that it must have an answer to, and whether it has one.

A file whose every part is in order can still hold a model that falls apart at its first use: an array of the wrong
shape, a number for a record. So a model is asked once before it is handed out.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from separatrix._array import Array
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.generative import FamilyClassifier
from separatrix.study import TableClassifier
from separatrix.table import Batch, CategoryPlan, DatePlan, HashPlan, NumberPlan, Plan

__all__ = ["require_answer"]

#: A value within the support of each family; normal and known-variance columns take any.
SUPPORTED = {"bernoulli": 1.0, "poisson": 1.0, "multinomial": 1.0, "exponential": 1.0, "gamma": 1.0, "beta": 0.5}


def require_answer(model: Any) -> None:
    """Ask the model about one row; whatever goes wrong is raised as it is."""
    if isinstance(model, TableClassifier):
        row, inner = model._encoded(_table_row(model)), model.estimator_
        # What a table becomes need not be what a family has a place for: the mean of a column of 0 and 1 is neither.
        _ask(inner, _row(inner) if isinstance(inner, FamilyClassifier) else row)
    else:
        _ask(model, _row(model))


def _ask(model: Any, row: Any) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the row has no column names
        if isinstance(model, BayesianLogisticRegression):  # the posterior, without the tables of the integral
            found = model.decision_distribution(row).variance
        else:
            found = model.predict(row)
    if len(found) != 1:
        raise ValueError(f"{len(found)} answers to one question")


def _row(model: Any) -> Array:
    """One row of a model of numbers; of text where a column was text."""
    D = int(model.n_features_in_)
    if not isinstance(model, FamilyClassifier):
        return np.full((1, D), 0.5)
    row = np.array([[SUPPORTED.get(family, 1.0 / D) for family in model.families_]], dtype=object)
    for d, values in model.facts_.categories.items():
        row[0, d] = values[0].item() if len(values) else None
    return row if model._texts else row.astype(np.float64)


def _table_row(model: TableClassifier) -> Batch:
    """One row of a table, by column, as its schema knows the columns."""
    plans = model.encoder_.schema_.plans
    return Batch({plan.column: _cell(plan) for plan in plans if plan.names}, 1)


def _cell(plan: Plan) -> Array:
    match plan:
        case NumberPlan():
            return np.array([next(iter(plan.words), plan.mean)])
        case CategoryPlan():
            return np.array([next(iter(plan.levels), None)], dtype=object)
        case HashPlan():
            return np.array(["any"], dtype=object)
        case DatePlan():
            return np.array([int(plan.mean)]).astype("datetime64[D]")
    raise TypeError(f"{type(plan).__name__} is unknown")
