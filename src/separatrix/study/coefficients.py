# SPDX-License-Identifier: BSD-3-Clause
"""The weights of a classifier of tables, each with its interval, in the user's units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from separatrix._array import Float
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.bayesian.approximation import Approximation
from separatrix.bayesian.weights import WeightPosterior, interval_tails
from separatrix.study.record import Coefficient
from separatrix.tables import TableClassifier

__all__ = ["explain"]


class _Weights(NamedTuple):
    """Weights (C, M) of C classes, and their standard deviations, NaN where there is no posterior."""

    mean: Float
    std: Float


def explain(model: TableClassifier, level: float = 0.95) -> tuple[Coefficient, ...]:
    """Every weight of a fitted classifier of tables; none where the model has no weights. The bias is left out.

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
    reach = float(special.ndtri(interval_tails("explain", level)[1]))
    estimator = model.estimator_
    coef = getattr(estimator, "coef_", None)
    if coef is None:
        return ()
    is_bayesian = isinstance(estimator, BayesianLogisticRegression)
    found = _posterior(estimator.posterior_) if is_bayesian else _points(np.asarray(coef, dtype=np.float64))
    labels = model.classes_[1:] if len(found.mean) == 1 else model.classes_
    names = _names(model)
    return tuple(
        Coefficient(column, name, label, float(w), float(w - reach * sd), float(w + reach * sd), float(w * spread))
        for label, means, stds in zip(labels.tolist(), found.mean, found.std, strict=True)
        for column, name, w, sd, spread in zip(model.sources_, names, means, stds, model.spread_, strict=True)
    )


def _names(model: TableClassifier) -> tuple[str, ...]:
    columns = model.encoder_.schema_.columns
    basis = getattr(model.estimator_, "basis_", None)
    return columns if basis is None else tuple(basis.names(columns))


def _points(coef: Float) -> _Weights:
    """Of K classes against their average, as only differences between classes mean anything."""
    centred = coef - coef.mean(axis=0) if len(coef) > 1 else coef
    return _Weights(centred, np.full(coef.shape, np.nan))


def _posterior(posterior: WeightPosterior) -> _Weights:
    mean = np.atleast_2d(posterior.mean)[:, : len(posterior.design.origin)]
    std = np.atleast_2d(posterior.std)[:, : mean.shape[1]]
    if len(mean) == 1:
        return _Weights(mean, std)
    return _Weights(mean - mean.mean(axis=0), np.sqrt(_contrast_variance(posterior, std)))


def _contrast_variance(posterior: WeightPosterior, std: Float) -> Float:
    """Of w_k less the average over classes: what is common to all classes has its variance from the prior alone.

    Where covariances between classes were not kept, they count as zero.
    """
    (K, M), P = std.shape, posterior.design.width
    T = np.eye(K) - 1 / K
    if not isinstance(posterior.approximation, Approximation):
        return np.asarray(T**2 @ std**2)
    root = posterior.approximation.root.reshape(K, P, -1)[:, :M]  # the weights of the columns, as a user has them
    return np.asarray((np.tensordot(T, root, axes=1) ** 2).sum(axis=2))
