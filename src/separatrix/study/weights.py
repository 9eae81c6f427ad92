# SPDX-License-Identifier: BSD-3-Clause
"""The weights of a table classifier, without the part that the data do not identify.

Adding a constant to the weights of all levels of a category, and subtracting it from the bias, changes no prediction;
nor does adding a constant to the weights of all classes. Only the prior determines these constants, so the interval of
a raw weight would mostly reflect the prior. Each level is therefore relative to the average over rows, and each class
relative to the average over classes:

    w_kl - Σ_l p_l w_kl  for level l, in a fraction p_l of the rows,      w_k - 1/K Σ_k w_k  for class k

"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from separatrix._arguments import generator
from separatrix._array import Array, Codes, Float
from separatrix.bayesian import Approximation, BayesianLogisticRegression
from separatrix.generative import QuadraticDiscriminantAnalysis
from separatrix.table import CategoryPlan
from separatrix.weights import WeightSummary, interval_tails

N_DRAWS = 500  # used if the full covariance is not stored; gives standard deviations to 3 %

INTERCEPT = "(intercept)"
REFERENCE_NOTE = (
    "Levels of a category are relative to their average over the rows; with three or more classes, each class is "
    "relative to the average over classes."
)

Category = tuple[Codes, Float]  # positions of the weights of the levels, and the fraction of rows of each level


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Weights and their standard deviations, (C, M + 1) with the bias last; C is 1 for two classes, else K.

    ``names`` are the M features, ``columns`` the table columns that they encode, and ``labels`` the C classes whose
    log-odds the weights raise. Standard deviations are NaN if the model has no posterior.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    labels: Array
    mean: Float
    std: Float

    @property
    def weight(self) -> Float:
        """Weights without the bias, (C, M)."""
        return self.mean[:, :-1]

    def interval(self, level: float = 0.95) -> tuple[Float, Float]:
        """Lower and upper bound of each weight, (C, M)."""
        reach = special.ndtri(interval_tails("interval", level)[1]) * self.std[:, :-1]
        return self.mean[:, :-1] - reach, self.mean[:, :-1] + reach


@dataclass(frozen=True)
class Coefficient:
    """One weight in the user's units, with a credible (or confidence) interval.

    ``column`` is a column of the table and ``name`` one of its features (``colour=red``). ``label`` is the class
    whose log-odds the weight raises, against the other class or, with K > 2, against the average over classes. A level
    of a category is relative to the average over the rows. ``per_spread`` is the weight per standard
    deviation of the feature, which makes weights comparable. Bounds are NaN if the model has no intervals.
    """

    column: str
    name: str
    label: Any
    weight: float
    lower: float
    upper: float
    per_spread: float


def explain(
    model: Any, level: float = 0.95, positive: Any = None, *, intercept: bool = False
) -> tuple[Coefficient, ...]:
    """Weights of a fitted `TableClassifier`; empty if the model has no weights.

    Weights are relative to averages as in `Contrasts`. They raise the log-odds of the class ``positive``; by default of
    the second of two classes, or of each class if there are more. With ``intercept``, the weights of each class are
    followed by its intercept, which has no column. Weights of levels that did not occur in training are left out.

    >>> from separatrix.datasets import make_mixed_types
    >>> from separatrix.study import TableClassifier, explain
    >>> table, y = make_mixed_types(500, as_frame=True, rng=0)
    >>> calls = next(c for c in explain(TableClassifier().fit(table, y)) if c.name == "calls")
    >>> calls.label, calls.weight < calls.upper < 0  # customers who call often are less likely to stay
    ('stays', True)
    """
    tails = interval_tails("explain", level)
    if not has_contrasts(model.estimator_):
        return ()
    found = contrasts_of(model)
    reach = special.ndtri(tails[1]) * found.std
    weight, lower, upper, labels = found.mean, found.mean - reach, found.mean + reach, found.labels.tolist()
    if positive is not None and len(labels) > 1:
        at = labels.index(positive)
        weight, lower, upper, labels = weight[[at]], lower[[at]], upper[[at]], [positive]
    elif positive is not None and positive != labels[0]:  # the first of two classes
        weight, lower, upper, labels = -weight, -upper, -lower, [positive]
    features = list(zip(found.columns, found.names, model.spread_, model.is_new_level_, strict=True))
    features += [("", INTERCEPT, np.nan, False)] * intercept
    return tuple(
        Coefficient(column, name, label, float(w), float(low), float(high), float(w * spread))
        for label, *bounds in zip(labels, weight, lower, upper, strict=True)
        for (column, name, spread, is_new), w, low, high in zip(features, *bounds, strict=False)  # the bias is last
        if not is_new
    )


def has_contrasts(estimator: Any) -> bool:
    """Whether a model is described by its weights; not true of a quadratic rule, which has more than a linear part."""
    return getattr(estimator, "coef_", None) is not None and not isinstance(estimator, QuadraticDiscriminantAnalysis)


def contrasts_of(classifier: Any) -> Contrasts:
    """Contrasts of a fitted `TableClassifier` whose model has weights."""
    estimator, schema, categories = classifier.estimator_, classifier.encoder_.schema_, []
    if getattr(estimator, "fit_intercept", True):  # it absorbs the average of categories without a reference level
        whole = {plan.column for plan in schema.plans if isinstance(plan, CategoryPlan) and not plan.reference}
        sources = classifier.source_pairs_
        places = [at for column in sorted(whole) if len(at := np.flatnonzero((sources == column).all(axis=1)))]
        categories = [(at, classifier.centre_[at] / classifier.centre_[at].sum()) for at in places]
    if isinstance(estimator, BayesianLogisticRegression):
        posterior = estimator.posterior_
        design, C = posterior.design, len(np.atleast_2d(posterior.mean))
        M = len(design.origin)
        mean = _contrasts(np.reshape(posterior.mean, (C, -1)), M, categories)
        if isinstance(posterior.approximation, Approximation):  # contrasts are linear
            root = posterior.approximation.root.reshape(C, design.width, -1)
            if design.bias:  # the fit has its bias at the mean of the columns; move it to x = 0
                root = root.copy()
                root[:, -1] -= np.einsum("m,cmr->cr", design.origin, root[:, :-1])
            std = np.linalg.norm(_contrasts(root, M, categories), axis=2)
        else:
            draws = np.moveaxis(posterior.sample(N_DRAWS, generator(None)).reshape(N_DRAWS, C, -1), 0, 2)
            std = _contrasts(draws, M, categories).std(axis=2)
    else:
        W = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
        bias = np.broadcast_to(np.reshape(getattr(estimator, "intercept_", 0.0), (-1, 1)), (len(W), 1))
        mean = _contrasts(np.concatenate([W, bias], axis=1), W.shape[1], categories)
        std = np.full(mean.shape, np.nan)
    labels = classifier.classes_[1:] if len(mean) == 1 else classifier.classes_
    return Contrasts(tuple(classifier.get_feature_names_out().tolist()), classifier.sources_, labels, mean, std)


def summarise(classifier: Any, level: float) -> WeightSummary:
    """Table of contrasts with intervals and probabilities of their sign, in the format of the model's ``summary``."""
    found, estimator = contrasts_of(classifier), classifier.estimator_
    own = (*found.names, "intercept")[: estimator.posterior_.design.width]
    names = own if len(found.mean) == 1 else tuple(f"{label}: {name}" for label in found.labels for name in own)
    mean, std = (values[:, : len(own)].ravel() for values in (found.mean, found.std))
    reach = special.ndtri(interval_tails("summary", level)[1]) * std
    sign = special.ndtr(np.abs(mean) / np.where(std > 0, std, 1.0))
    return WeightSummary(names, mean, std, mean - reach, mean + reach, sign, level, (REFERENCE_NOTE, *estimator.notes_))


def _contrasts(W: Float, M: int, categories: list[Category]) -> Float:
    """Weights (C, M + 1, ...) with the bias last, minus the constants that change no prediction.

    A bias of zero is appended to weights (C, M, ...) of a model without one.
    """
    W = W if W.shape[1] > M else np.concatenate([W, np.zeros_like(W[:, :1])], axis=1)
    moved = W - W.mean(axis=0) if len(W) > 1 else W.copy()
    for at, fraction in categories:
        average = np.einsum("l,cl...->c...", fraction, moved[:, at])
        moved[:, at] -= average[:, None]
        moved[:, -1] += average
    return moved
