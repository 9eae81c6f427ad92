# SPDX-License-Identifier: BSD-3-Clause
"""The weights of a classifier of tables, each with its interval, in the user's units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from separatrix._arguments import generator
from separatrix._array import Codes, Float
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.bayesian.approximation import Approximation
from separatrix.bayesian.weights import WeightPosterior, interval_tails
from separatrix.data.table.plans import CategoryPlan
from separatrix.generative import QuadraticDiscriminantAnalysis
from separatrix.study.record import Coefficient
from separatrix.tables import TableClassifier

__all__ = ["explain"]

DRAWS = 500  # where the covariance is not kept whole: standard deviations to 3 %


class _Weights(NamedTuple):
    """Weights (C, M) of C classes, and their standard deviations, NaN where there is no posterior."""

    mean: Float
    std: Float


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
    reach = float(special.ndtri(interval_tails("explain", level)[1]))
    estimator = model.estimator_
    coef = None if isinstance(estimator, QuadraticDiscriminantAnalysis) else getattr(estimator, "coef_", None)
    if coef is None:  # of a quadratic rule the linear part alone would mislead
        return ()
    categories = _categories(model)
    if isinstance(estimator, BayesianLogisticRegression):
        found = _posterior(estimator.posterior_, categories)
    else:
        found = _Weights(contrasts(np.asarray(coef, dtype=np.float64), categories), np.full(np.shape(coef), np.nan))
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


def _categories(model: TableClassifier) -> list[tuple[Codes, Float]]:
    """For each category of which every level has a weight: the positions of those, and the shares of the rows."""
    whole = {p.column for p in model.encoder_.schema_.plans if isinstance(p, CategoryPlan) and not p.reference}
    sources = np.array(model.sources_, dtype=object)
    places = [np.flatnonzero(sources == column) for column in sorted(whole)]
    return [(at, model.centre_[at] / model.centre_[at].sum()) for at in places if len(at)]


def contrasts(W: Float, categories: list[tuple[Codes, Float]]) -> Float:
    """Weights (C, M, ...) less what says nothing.

    A number added to the weights of all levels of a category, and taken from the bias, changes no prediction; nor does
    one added to the weights of all classes. Levels are against their average over the rows, classes against theirs.
    """
    moved = W - W.mean(axis=0) if len(W) > 1 else W.copy()
    for at, share in categories:
        moved[:, at] -= np.einsum("l,cl...->c...", share, moved[:, at])[:, None]
    return moved


def _posterior(posterior: WeightPosterior, categories: list[tuple[Codes, Float]]) -> _Weights:
    """Contrasts have much smaller variances than the weights: of what says nothing, the prior alone knows anything."""
    C, M = len(np.atleast_2d(posterior.mean)), len(posterior.design.origin)
    mean = contrasts(np.atleast_2d(posterior.mean)[:, :M], categories)
    if isinstance(posterior.approximation, Approximation):
        root = posterior.approximation.root.reshape(C, posterior.design.width, -1)[:, :M]
        return _Weights(mean, np.sqrt((contrasts(root, categories) ** 2).sum(axis=2)))
    draws = posterior.sample(DRAWS, generator(None)).reshape(DRAWS, C, -1)[:, :, :M]
    return _Weights(mean, contrasts(np.moveaxis(draws, 0, 2), categories).std(axis=2))
