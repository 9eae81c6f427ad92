# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of one row, which show whether a model that was read from a file works.

Even if every part of a file is valid, the model may fail at its first use, for example because an array has the wrong
shape. `save` compares the predictions of a model with those of its copy, and `load` requires that a model predicts.
"""

from __future__ import annotations

import warnings
from collections import ChainMap
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from separatrix._array import Array
from separatrix._text import counted
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.calibration import Calibrated
from separatrix.comparison import ModelAverage
from separatrix.decisions import DecisionRule
from separatrix.families import SupportError
from separatrix.generative import FamilyClassifier
from separatrix.meta import AbstractWrapper
from separatrix.reductions import AbstractReduction, OneVsRest
from separatrix.table_model import TableClassifier

METHODS = ("predict", "predict_proba", "decision_function")
MAX_MAPPED_CLASSES = 1000  # a mapping of costs becomes a matrix of all pairs of classes


def predictions_of_one_row(model: Any) -> list[Array]:
    """Predict one row by a model and by each fitted model in it; errors are raised unchanged."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the row has no column names, and may have new values
        return list(_predictions(model))


def _check_counts(model: Any) -> None:
    """Raise if the number of classes of a wrapper is not bounded by the models and arrays in it."""
    K = len(getattr(model, "classes_", ()))
    if isinstance(model, AbstractReduction):
        n, several = len(model.estimators_), K if isinstance(model, OneVsRest) else K * (K - 1) // 2
        if n != (1 if K == 2 else several):
            raise ValueError(f"it has {n} binary classifiers for {K} classes")
    if isinstance(model, DecisionRule) and isinstance(model.costs, Mapping) and K > MAX_MAPPED_CLASSES:
        raise ValueError(
            f"its costs are a mapping, and it has {K} classes. If there are more than {MAX_MAPPED_CLASSES}, give the "
            "costs as an array: set_params(costs=...)"
        )


def _predictions(model: Any) -> Iterator[Array]:
    _check_counts(model)
    for part in _inner(model):
        yield from _predictions(part)
    if isinstance(model, TableClassifier):
        schema, D = model.encoder_.schema_, model.estimator_.n_features_in_
        if len(schema.columns) != D:
            raise ValueError(
                f"its columns are encoded as {len(schema.columns)} numbers, and its model has {counted(D, 'column')}"
            )
        schema.encode(_missing_row(model))
        return
    row = _row(model)
    if row is None:
        return
    try:
        yield from _own_predictions(model, row)
    except SupportError:  # the mean of a column of counts, for example, is not a count
        if not _inner(model):
            raise


def _own_predictions(model: Any, row: Any) -> Iterator[Array]:
    if isinstance(model, BayesianLogisticRegression):  # its predictions would first compute tables of integrals
        found = [np.asarray(part) for part in model.decision_distribution(row)]
    else:
        found = [np.asarray(getattr(model, name)(row)) for name in METHODS if hasattr(model, name)]
        labels = getattr(model, "classes_", ())
        if any(scores.size not in (1, len(labels)) for scores in found[1:]):
            raise ValueError(f"{[scores.size for scores in found[1:]]} scores for {len(labels)} classes")
    for values in found:
        if len(values) != 1:
            raise ValueError(f"{len(values)} predictions for one row")
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise ValueError("its weights are not numbers")
        yield values


def _inner(model: Any) -> tuple[Any, ...]:
    """Fitted models inside a model; none if it predicts by itself."""
    if isinstance(model, TableClassifier):
        return (model.estimator_,)
    if isinstance(model, FrozenEstimator):
        return (model.estimator,)
    if isinstance(model, ModelAverage):
        return tuple(model.models_.values())
    if isinstance(model, AbstractReduction):
        return tuple(model.estimators_)
    if isinstance(model, Calibrated):
        return (model.estimator_, model._set_model)
    return (model._fitted(),) if isinstance(model, AbstractWrapper) else ()


def _row(model: Any) -> Any:
    """A row that a model can predict; None if there is no row for all models in it, or it would take long."""
    if isinstance(model, TableClassifier):
        return None if _row(model.estimator_) is None else _missing_row(model)
    if parts := _inner(model):
        rows = [_row(part) for part in parts]
        if len({type(row) for row in rows}) > 1:
            return None
        return dict(ChainMap(*rows)) if isinstance(rows[0], dict) else rows[0]
    D = int(model.n_features_in_)
    if not isinstance(model, FamilyClassifier):
        return np.full((1, D), 0.5)
    if any(hasattr(density, "prior") for density in model._density_of_rows.densities):
        return None  # numerical integrals, which take 16 kB per column and class
    fractions = {"beta": 0.5, "dirichlet": 1.0 / D}  # a row in the support of all families
    row = np.array([[fractions.get(family, 1.0) for family in model.families_]], dtype=object)
    for d, values in model.facts_.categories.items():
        row[0, d] = values[0].item() if len(values) else None
    return row if model._texts else row.astype(np.float64)


def _missing_row(model: TableClassifier) -> dict[str, list[None]]:
    return {name: [None] for name in model.encoder_.schema_.inputs}
