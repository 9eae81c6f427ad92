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
from scipy import sparse

from separatrix._array import Array, Float
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.generative import QuadraticDiscriminantAnalysis
from separatrix.table import CategoryPlan
from separatrix.weights import Marginals, class_contrasts, interval_tails

INTERCEPT = "(intercept)"
REFERENCE_NOTE = "Levels of a category are relative to their average over the rows."


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Weights with the bias last, and their distributions; C is 1 for two classes, else K.

    ``names`` are the M features, ``columns`` the table columns that they encode, and ``labels`` the C classes whose
    log-odds the weights raise. Standard deviations are NaN if the model has no posterior.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    labels: Array
    marginals: Marginals

    @property
    def mean(self) -> Float:
        """Mean of the weights and of the bias, (C, M + 1)."""
        return np.atleast_2d(self.marginals.mean.T)

    @property
    def std(self) -> Float:
        """Standard deviation of the weights and of the bias, (C, M + 1)."""
        return np.atleast_2d(self.marginals.std.T)

    @property
    def weight(self) -> Float:
        """Weights without the bias, (C, M)."""
        return self.mean[:, :-1]

    def interval(self, level: float = 0.95) -> tuple[Float, Float]:
        """Lower and upper bound of each weight, (C, M)."""
        lower, upper = self.bounds(level)
        return lower[:, :-1], upper[:, :-1]

    def bounds(self, level: float) -> tuple[Float, Float]:
        """Lower and upper bound of the weights and of the bias, (C, M + 1)."""
        lower, upper = np.moveaxis(self.marginals.quantiles(interval_tails("interval", level)), -1, 0)
        return np.atleast_2d(lower.T), np.atleast_2d(upper.T)


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
    followed by its intercept, which has no column. Weights of levels that did not occur in training, and of radial
    functions, which have no meaning one by one, are left out.

    >>> from separatrix.datasets import make_mixed_types
    >>> from separatrix.table_model import TableClassifier, explain
    >>> table, y = make_mixed_types(500, as_frame=True, rng=0)
    >>> calls = next(c for c in explain(TableClassifier().fit(table, y)) if c.name == "calls")
    >>> calls.label, calls.weight < calls.upper < 0  # customers who call often are less likely to stay
    ('stays', True)
    """
    interval_tails("explain", level)
    if not has_contrasts(model.estimator_):
        return ()
    found = contrasts_of(model)
    weight, (lower, upper), labels = found.mean, found.bounds(level), found.labels.tolist()
    if positive is not None and len(labels) > 1:
        at = labels.index(positive)
        weight, lower, upper, labels = weight[[at]], lower[[at]], upper[[at]], [positive]
    elif positive is not None and positive != labels[0]:  # the first of two classes
        weight, lower, upper, labels = -weight, -upper, -lower, [positive]
    features = list(zip(found.columns, found.names, model.spread_, model.is_hidden_, strict=True))
    features += [("", INTERCEPT, np.nan, False)] * intercept
    return tuple(
        Coefficient(column, name, label, float(w), float(low), float(high), float(w * spread))
        for label, *bounds in zip(labels, weight, lower, upper, strict=True)
        for (column, name, spread, is_hidden), w, low, high in zip(features, *bounds, strict=False)  # the bias is last
        if not is_hidden
    )


def has_contrasts(estimator: Any) -> bool:
    """Whether a model is described by its weights; not true of a quadratic rule, which has more than a linear part."""
    return getattr(estimator, "coef_", None) is not None and not isinstance(estimator, QuadraticDiscriminantAnalysis)


def contrasts_of(classifier: Any) -> Contrasts:
    """Contrasts of a fitted `TableClassifier` whose model has weights."""
    estimator, M = classifier.estimator_, len(classifier.source_pairs_)
    L = _functions(classifier, M)
    if isinstance(estimator, BayesianLogisticRegression):
        labels, posterior = estimator.classes_, estimator.posterior_
        Q = class_contrasts(labels)[0] if len(labels) > 2 else None
        found = posterior.functions(L[:, : posterior.design.width], Q)
    else:
        W = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
        bias = np.broadcast_to(np.reshape(getattr(estimator, "intercept_", 0.0), (-1, 1)), (len(W), 1))
        mean = (L @ np.concatenate([W, bias], axis=1).T).T
        mean = (mean - mean.mean(axis=0)).T if len(W) > 1 else mean[0]
        found = Marginals(np.ones(1), mean[None], np.full_like(mean[None], np.nan))
    labels = classifier.classes_ if found.mean.ndim > 1 else classifier.classes_[1:]
    return Contrasts(tuple(classifier.get_feature_names_out().tolist()), classifier.sources_, labels, found)


def identified_functions(classifier: Any) -> tuple[tuple[str, ...], Any]:
    """Names of the weights that the data identify, the intercept last, and a matrix that computes them from (w, w0)."""
    names = (*classifier.get_feature_names_out().tolist(), "intercept")
    width = classifier.estimator_.weight_distribution_.design.width
    return names[:width], _functions(classifier, len(names) - 1)[:width, :width]


def _functions(classifier: Any, M: int) -> Any:
    """Return each weight and the bias, minus the constants that change no prediction, as functions of (w, w0).

    They are the rows of a sparse matrix (M + 1, M + 1).
    """
    L, schema = sparse.eye_array(M + 1, format="csr"), classifier.encoder_.schema_
    if not getattr(classifier.estimator_, "fit_intercept", True):  # it absorbs the averages of categories
        return L
    whole = {plan.column for plan in schema.plans if isinstance(plan, CategoryPlan) and not plan.reference}
    for column in sorted(whole):
        at = np.flatnonzero((classifier.source_pairs_ == column).all(axis=1))
        if len(at):
            average = np.zeros((1, M + 1))
            average[0, at] = classifier.centre_[at] / classifier.centre_[at].sum()
            moved = np.zeros((M + 1, 1))
            moved[at], moved[-1] = -1.0, 1.0
            L = L + sparse.csr_array(moved) @ sparse.csr_array(average)
    return L
