# SPDX-License-Identifier: BSD-3-Clause
"""The weights of a classifier of tables, less what says nothing.

A number added to the weights of all levels of a category, and taken from the bias, changes no prediction; nor does one
added to the weights of all classes. About that part only the prior says anything, so that an interval of a weight as it
is would be one of the prior. Levels are taken against their average over the rows, classes against theirs:

    w_kl - Σ_l p_l w_kl  of level l with a share p_l of the rows,      w_k - 1/K Σ_k w_k  of class k

which moves the bias by as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from separatrix._arguments import generator
from separatrix._array import Array, Codes, Float
from separatrix.bayesian import (
    Approximation,
    BayesianLogisticRegression,
    WeightPosterior,
    WeightSummary,
    interval_tails,
)
from separatrix.generative import QuadraticDiscriminantAnalysis
from separatrix.table import CategoryPlan
from separatrix.tables.functions import names_of

if TYPE_CHECKING:
    from separatrix.tables.classifier import TableClassifier

__all__ = ["Category", "Contrasts", "contrasts", "contrasts_of", "has_contrasts", "summarise"]

DRAWS = 500  # where the covariance is not kept whole: standard deviations to 3 %

AGAINST = "Levels of a category are against their average over the rows; of three classes or more each against theirs."

Category = tuple[Codes, Float]  # positions of the weights of its levels, and their shares of the rows


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Weights of C classes (one, of two) and their standard deviations, (C, M + 1) with the bias last.

    ``names`` and ``columns`` are those of the M numbers and of the columns of the table that they came from, ``labels``
    the C classes whose log-odds the weights raise. Standard deviations are NaN where there is no posterior.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    labels: Array
    mean: Float
    std: Float

    @property
    def weight(self) -> Float:
        """Without the bias, (C, M)."""
        return self.mean[:, :-1]

    def interval(self, level: float = 0.95) -> tuple[Float, Float]:
        """Bounds of each weight, (C, M)."""
        reach = special.ndtri(interval_tails("interval", level)[1]) * self.std[:, :-1]
        return self.weight - reach, self.weight + reach


def has_contrasts(estimator: Any) -> bool:
    """Whether there are weights to speak of; of a quadratic rule the linear part alone would mislead."""
    return getattr(estimator, "coef_", None) is not None and not isinstance(estimator, QuadraticDiscriminantAnalysis)


def contrasts_of(classifier: TableClassifier) -> Contrasts:
    """Those of a fitted classifier whose model has weights."""
    estimator, categories = classifier.estimator_, _categories(classifier)
    if isinstance(estimator, BayesianLogisticRegression):
        mean, std = _of_posterior(estimator.posterior_, categories)
    else:
        W = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
        bias = np.broadcast_to(np.reshape(getattr(estimator, "intercept_", 0.0), (-1, 1)), (len(W), 1))
        mean = contrasts(np.concatenate([W, bias], axis=1), categories)
        std = np.full(mean.shape, np.nan)
    labels = classifier.classes_[1:] if len(mean) == 1 else classifier.classes_
    return Contrasts(names_of(classifier), classifier.sources_, labels, mean, std)


def summarise(classifier: TableClassifier, level: float) -> WeightSummary:
    """Each contrast with its interval and probability of sign, as the summary of the model has its weights."""
    found, estimator = contrasts_of(classifier), classifier.estimator_
    own = (*found.names, "intercept")[: estimator.posterior_.design.width]
    names = own if len(found.mean) == 1 else tuple(f"{label}: {name}" for label in found.labels for name in own)
    mean, std = (values[:, : len(own)].ravel() for values in (found.mean, found.std))
    reach = special.ndtri(interval_tails("summary", level)[1]) * std
    sign = special.ndtr(np.abs(mean) / np.where(std > 0, std, 1.0))
    return WeightSummary(names, mean, std, mean - reach, mean + reach, sign, level, (AGAINST, *estimator.notes_))


def contrasts(W: Float, categories: list[Category]) -> Float:
    """Weights (C, M + 1, ...), the bias last, less what says nothing."""
    moved = W - W.mean(axis=0) if len(W) > 1 else W.copy()
    for at, share in categories:
        average = np.einsum("l,cl...->c...", share, moved[:, at])
        moved[:, at] -= average[:, None]
        moved[:, -1] += average
    return moved


def _categories(classifier: TableClassifier) -> list[Category]:
    """Of every category of which all levels have a weight; none where there is no bias to take up their average."""
    if not getattr(classifier.estimator_, "fit_intercept", True):
        return []
    whole = {p.column for p in classifier.encoder_.schema_.plans if isinstance(p, CategoryPlan) and not p.reference}
    sources = np.array(classifier.sources_, dtype=object)
    places = [np.flatnonzero(sources == column) for column in sorted(whole)]
    return [(at, classifier.centre_[at] / classifier.centre_[at].sum()) for at in places if len(at)]


def _of_posterior(posterior: WeightPosterior, categories: list[Category]) -> tuple[Float, Float]:
    """Mean and standard deviation of each contrast; a square root of the covariance goes the way of the weights."""
    C, M = len(np.atleast_2d(posterior.mean)), len(posterior.design.origin)
    mean = contrasts(_with_bias(np.reshape(posterior.mean, (C, -1)), M), categories)
    if isinstance(posterior.approximation, Approximation):
        root = posterior.approximation.root.reshape(C, posterior.design.width, -1)
        if posterior.design.bias:  # that of the fit is at the mean of the columns
            root = root.copy()
            root[:, -1] -= np.einsum("m,cmr->cr", posterior.design.origin, root[:, :-1])
        return mean, np.linalg.norm(contrasts(_with_bias(root, M), categories), axis=2)
    draws = np.moveaxis(posterior.sample(DRAWS, generator(None)).reshape(DRAWS, C, -1), 0, 2)
    return mean, contrasts(_with_bias(draws, M), categories).std(axis=2)


def _with_bias(W: Float, M: int) -> Float:
    """Weights (C, M, ...) or (C, M + 1, ...) with a place for the bias, zero where the model has none."""
    if W.shape[1] > M:
        return W
    return np.concatenate([W, np.zeros_like(W[:, :1])], axis=1)
