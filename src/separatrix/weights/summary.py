# SPDX-License-Identifier: BSD-3-Clause
"""The table of a distribution over the weights: mean, standard deviation, interval and probability of the sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from separatrix._arguments import check_positive
from separatrix._array import Float
from separatrix._output import Tabular
from separatrix._text import listed
from separatrix.weights.distribution import WeightDistribution
from separatrix.weights.marginals import Marginals


@dataclass(frozen=True, eq=False, repr=False)
class WeightSummary(Tabular):
    """A table with one line for each weight, and notes on the fit. Its columns are attributes."""

    names: tuple[str, ...]
    coefficient: Float
    sd: Float
    lower: Float
    upper: Float
    probability_of_sign: Float
    level: float
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, found: Marginals, names: Sequence[str], labels: Sequence[Any], level: float, notes: tuple[str, ...] = ()
    ) -> WeightSummary:
        """Return the table of numbers (P,) with ``names``, or of numbers (P, k) for classes ``labels``."""
        lower, upper = np.moveaxis(found.quantiles(interval_tails("summary", level)), -1, 0)
        columns = (found.mean, found.std, lower, upper, found.probability_of_sign)
        mean, std, lower, upper, sign = (np.ravel(column.T) for column in columns)  # class after class
        if found.mean.ndim > 1:
            names = [f"{label}: {name}" for label in labels for name in names]
        return cls(tuple(names), mean, std, lower, upper, sign, level, notes)

    @property
    def columns(self) -> dict[str, Float]:
        """The columns by name."""
        names = ("coefficient", "sd", "lower", "upper", "probability_of_sign")
        return {name: getattr(self, name) for name in names}

    title, formats = "", {}

    def __str__(self) -> str:
        width = max(map(len, self.names))
        head = f"{'':{width}}  {'coefficient':>12}  {'sd':>10}  {'lower':>10}  {'upper':>10}  P(sign)"
        columns = zip(self.names, *self.to_dict().values(), strict=True)
        lines = [
            f"{name:{width}}  {w:12.5g}  {sd:10.4g}  {low:10.4g}  {high:10.4g}  {sign:7.4f}"
            for name, w, sd, low, high, sign in columns
        ]
        foot = f"{100 * float(self.level):g} % credible intervals, in the units of the columns"
        return "\n".join([head, *lines, foot, *self.notes])


def interval_tails(owner: str, level: float) -> Float:
    """Return the probabilities of the two quantiles that bound a central interval: 0.025 and 0.975 for 0.95."""
    check_positive(owner, "level", level)
    if level >= 1:
        raise ValueError(f"{owner}(level={level!r}): level must be between 0 and 1, for example 0.95.")
    half = 0.5 * float(level)
    return np.array([0.5 - half, 0.5 + half])


def class_contrasts(classes: Sequence[Any], reference: Any = None) -> tuple[Float, tuple[int, ...]]:
    """Return contrasts (k, K) of K classes and the class of each: with the mean of all classes, or with ``reference``.

    The contrast with the reference class itself is left out.
    """
    K, labels = len(classes), list(classes)
    if reference is None:
        return np.eye(K) - 1.0 / K, tuple(range(K))
    if reference not in labels:
        raise ValueError(f"reference={reference!r} is not a class. The classes are {listed(labels)}.")
    at = labels.index(reference)
    others = tuple(k for k in range(K) if k != at)
    Q = np.eye(K)[list(others)]
    Q[:, at] = -1.0
    return Q, others


def summarise(
    posterior: WeightDistribution,
    classes: Sequence[Any],
    level: float,
    notes: tuple[str, ...] = (),
    *,
    reference: Any = None,
) -> WeightSummary:
    """Return mean, standard deviation, credible interval and the probability of the sign of each weight.

    Only differences between the weights of K classes change predictions, and only those are determined by the data. The
    weights of each class are therefore differences from the mean of the classes, or from the class ``reference``.
    """
    each = sparse.eye_array(len(posterior.names), format="csr")
    if len(posterior.approximation.mean) == 1:
        found, shown = posterior.functions(each), tuple[int, ...]()
        if reference is not None and reference not in classes:
            class_contrasts(classes, reference)
        if reference is not None and reference == classes[1]:
            found = replace(found, means=-found.means)
    else:
        Q, shown = class_contrasts(classes, reference)
        found = posterior.functions(each, Q)
        against = "the mean of the classes" if reference is None else f"class {reference}"
        notes = (f"Weights of a class are differences from {against}.", *notes)
    return WeightSummary.of(found, posterior.names, [classes[k] for k in shown], level, notes)
