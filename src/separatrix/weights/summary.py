# SPDX-License-Identifier: BSD-3-Clause
"""The table of coefficients, the same for every linear model with probabilities.

Only differences between the weights of K classes change predictions, and only those are determined by the data. The
coefficients of a class are therefore differences from the mean of the classes, or from a class of reference.

An estimate without a prior has a sampling distribution: its table tests whether each coefficient is zero. A posterior
has the probability that a coefficient has the sign of its mean instead, because the prior would count as evidence.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isinf
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, special

from separatrix._arguments import check_positive
from separatrix._array import Float, to_dense
from separatrix._output import NOTE_WIDTH, Table
from separatrix._text import listed
from separatrix.weights.distribution import WeightDistribution
from separatrix.weights.marginals import Marginals

FORMATS = {"p": "p", "probability_of_sign": ".4f"}
UNDETERMINED_NOTE = (
    "Coefficients without a standard error belong to columns that are constant or combinations of others: the data "
    "determine only their sum with the coefficients of those columns."
)
POSTERIOR_NOTE = "Standard errors are standard deviations of the posterior."
RATIO_NOTE = "Coefficients and limits are {ratios}, e^w; standard errors are e^w times those of w."


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Table):
    """Table of coefficients, intercept first. It prints, and its columns are attributes and items.

    Columns
    -------
    coefficient
        Estimate, or mean of the posterior.
    standard_error
        Of the estimate, or the standard deviation of the posterior.
    z or t, p
        Test whether a coefficient is zero. A likelihood-ratio or score test has the column ``chi2`` or ``F`` instead.
    probability_of_sign
        For a posterior, instead of a test: probability that the coefficient has the sign of its mean.
    lower, upper
        Limits of the interval.

    Attributes
    ----------
    names : tuple of str
        Names of the coefficients; with more than two classes, ``"class: column"``.
    level : float
        Level of the intervals.
    facts : dict
        Number of rows N, log likelihood and other numbers of the fit.
    title, notes
        What is printed above and below the table.
    """

    level: float = 0.95
    facts: Mapping[str, float] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        columns = vars(self).get("columns", {})
        if name not in columns:
            raise AttributeError(f"{name!r} is not a column of this table. Its columns are {', '.join(columns)}.")
        return columns[name]


@dataclass(frozen=True)
class Heading:
    """What a table says about its model: ``ratio`` names e^w, and is empty if that has no meaning."""

    title: str
    classes: Sequence[Any] = ()
    facts: Mapping[str, float] = field(default_factory=dict)
    ratio: str = ""
    notes: tuple[str, ...] = ()

    def with_notes(self, *notes: str) -> Heading:
        """Return the heading with more notes."""
        return replace(self, notes=(*self.notes, *notes))


class Reading(NamedTuple):
    """How a user wants to read coefficients: the arguments of ``summary``."""

    reference: Any = None
    exponentiate: bool = False
    level: float = 0.95
    interval: str = "wald"
    test: str = "wald"

    @property
    def is_wald(self) -> bool:
        """Whether intervals and tests need only the distribution of the weights."""
        return self.interval == self.test == "wald"

    def require_posterior(self, owner: str) -> None:
        """Raise if a posterior is asked for a profile interval or for a test."""
        if not self.is_wald:
            raise ValueError(
                f"{owner}.summary(interval={self.interval!r}, test={self.test!r}): a posterior has quantiles, but no "
                "profile intervals or tests. Use LogisticRegression(alpha=0)."
            )


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Linear functions of the weights: for each row of ``L`` (n, P), contrasts ``Q`` (k, C) of the outputs."""

    names: tuple[str, ...]
    L: Any
    Q: Float
    against: str = ""

    @classmethod
    def of(
        cls,
        distribution: WeightDistribution,
        classes: Sequence[Any] = (),
        reference: Any = None,
        functions: tuple[Sequence[str], Any] | None = None,
    ) -> Coefficients:
        """Return the weights, intercept first; or ``functions``, names and a matrix (n, P) whose last row is that."""
        names, L = functions or (distribution.names, sparse.eye_array(len(distribution.names), format="csr"))
        first = int(distribution.design.bias)  # the intercept is last in the weights, but first in the table
        names, L = np.roll(names, first).tolist(), L[np.roll(np.arange(len(names)), first)]
        if len(distribution.approximation.mean) == 1:
            sign = -1.0 if class_of(reference, classes) == 1 else 1.0
            pair = [repr(label) for label in classes][:: int(sign)]
            return cls(tuple(names), L, np.array([[sign]]), f": {pair[1]} against {pair[0]}" if pair else "")
        Q, shown = class_contrasts(classes, reference)
        whole = tuple(f"{classes[k]}: {name}" for k in shown for name in names)
        against = f"the mean of the {len(classes)} classes" if reference is None else repr(reference)
        return cls(whole, L, Q, f": each class against {against}")

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, distribution: WeightDistribution) -> Float:
        """The coefficients as functions (n k, CP) of the weights in the coordinates of the fit, class after class."""
        return np.asarray(np.kron(self.Q, to_dense(distribution.in_fit_units(self.L))))

    def marginals(self, distribution: WeightDistribution) -> Marginals:
        """Distributions of all coefficients (n k,), class after class."""
        found = distribution.functions(self.L, self.Q)
        if found.mean.ndim == 1:
            return found
        stds = None if found.stds is None else by_class(found.stds)
        return replace(found, means=by_class(found.means), stds=stds)


def by_class(values: Float) -> Float:
    """Return numbers (J, n, k) of k classes as (J, k n), class after class."""
    return values.swapaxes(1, 2).reshape(len(values), -1)


def summarise(
    distribution: WeightDistribution,
    heading: Heading,
    reading: Reading,
    functions: tuple[Sequence[str], Any] | None = None,
) -> Summary:
    """Return the table of the coefficients of a model, with ``functions`` as in `Coefficients.of`."""
    chosen = Coefficients.of(distribution, heading.classes, reading.reference, functions)
    return tabulated(distribution, heading, chosen, reading, columns_of(distribution, chosen, reading.level))


def columns_of(distribution: WeightDistribution, chosen: Coefficients, level: float) -> dict[str, Float]:
    """Return the columns of the table, with quantiles as limits and, for a sampling distribution, Wald tests."""
    tails, found = interval_tails("summary", level), chosen.marginals(distribution)
    mean, std, (lower, upper) = found.mean, found.std, np.moveaxis(found.quantiles(tails), -1, 0)
    if distribution.is_sampling:
        tests = wald_tests(mean, std, found.freedom)
        return {"coefficient": mean, "standard_error": std, **tests, "lower": lower, "upper": upper}
    sign = found.probability_of_sign
    return dict(
        zip(
            ("coefficient", "standard_error", "lower", "upper", "probability_of_sign"),
            (mean, std, lower, upper, sign),
            strict=True,
        )
    )


def tabulated(
    distribution: WeightDistribution,
    heading: Heading,
    chosen: Coefficients,
    reading: Reading,
    columns: dict[str, Float],
    methods: str = "",
) -> Summary:
    """Return the table with a title and notes; ``methods`` names those of the intervals and tests."""
    kind, notes = "confidence" if distribution.is_sampling else "credible", list(heading.notes)
    if not distribution.is_sampling:
        notes.append(POSTERIOR_NOTE)
    if (np.isnan(columns["standard_error"]) & np.isfinite(columns["coefficient"])).any():
        notes.append(UNDETERMINED_NOTE)
    if reading.exponentiate:
        if not heading.ratio:
            raise ValueError(
                f"summary(exponentiate=True): e^w has no meaning for {heading.title[:1].lower()}{heading.title[1:]}, "
                "whose coefficients are not logarithms of a ratio. Use exponentiate=False."
            )
        columns = exponentials(columns)
        notes.insert(0, RATIO_NOTE.format(ratios=heading.ratio))
    facts = ", ".join(
        f"{name} {value:,.0f}" if name == "N" and value == round(value) else f"{name} {value:.6g}"
        for name, value in heading.facts.items()
    )
    level = float(reading.level)
    intervals = f"{100 * level:g} % {kind} intervals{methods}"
    title = "\n".join(filter(None, [heading.title + chosen.against, textwrap.fill(facts, NOTE_WIDTH), intervals]))
    return Summary(chosen.names, columns, title, tuple(notes), FORMATS, level, heading.facts)


def wald_tests(coefficient: Float, error: Float, freedom: float) -> dict[str, Float]:
    """Return statistics and p values of single coefficients: Student's t, or z if the dispersion is known."""
    statistic = np.divide(coefficient, error, out=np.full_like(error, np.nan), where=error > 0)
    if isinf(freedom):
        return {"z": statistic, "p": 2.0 * special.ndtr(-np.abs(statistic))}
    return {"t": statistic, "p": 2.0 * special.stdtr(freedom, -np.abs(statistic))}


def exponentials(columns: Mapping[str, Float]) -> dict[str, Float]:
    """Return the columns with e^w instead of w, with standard errors by the delta method."""
    with np.errstate(over="ignore"):
        ratio = np.exp(columns["coefficient"])
        of_ratio = {name: np.exp(columns[name]) for name in ("coefficient", "lower", "upper")}
    return dict(columns) | of_ratio | {"standard_error": ratio * columns["standard_error"]}


def interval_tails(owner: str, level: float) -> Float:
    """Return the probabilities of the two quantiles that bound a central interval: 0.025 and 0.975 for 0.95."""
    check_positive(owner, "level", level)
    if level >= 1:
        raise ValueError(f"{owner}(level={level!r}): level must be between 0 and 1, for example 0.95.")
    half = 0.5 * float(level)
    return np.array([0.5 - half, 0.5 + half])


def class_of(label: Any, classes: Sequence[Any]) -> int | None:
    """Return the position of a class; None for None; raise for an unknown label."""
    if label is None:
        return None
    if not len(classes):
        raise ValueError(f"reference={label!r}: this model has no classes. Use reference=None.")
    labels = list(classes)
    if label not in labels:
        raise ValueError(f"reference={label!r} is not a class. The classes are {listed(labels)}.")
    return labels.index(label)


def class_contrasts(classes: Sequence[Any], reference: Any = None) -> tuple[Float, tuple[int, ...]]:
    """Return contrasts (k, K) of K classes and the class of each: with the mean of all classes, or with ``reference``.

    The contrast with the reference class itself is left out.
    """
    K, at = len(classes), class_of(reference, classes)
    if at is None:
        return np.eye(K) - 1.0 / K, tuple(range(K))
    others = tuple(k for k in range(K) if k != at)
    Q = np.eye(K)[list(others)]
    Q[:, at] = -1.0
    return Q, others
