# SPDX-License-Identifier: BSD-3-Clause
"""Naive Bayes: columns independent given the class, each of a family of its own.                          PRML §4.2.3

    p(x | C_k) = Π_d p_d(x_d | C_k),  p(C_k) = π_k
    a_k(x) = Σ_d ln p_d(x_d | C_k) + ln π_k

For 0/1 columns p_d = μ_kd^x_d (1 - μ_kd)^(1 - x_d) (4.81), a_k is linear in x (4.82), and the log-odds of two classes
have the bias ln π_1/π_0 + Σ_d ln (1 - μ_1d)/(1 - μ_0d).

Columns that repeat each other make a_k too large; `temper` multiplies the sum by an exponent τ (`temper`).

One pass where the families are named; one more to look at the columns where they are to be found (`column_families`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Integral
from typing import Any

from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_option
from separatrix.exceptions import DataError
from separatrix.families import FAMILIES
from separatrix.generative.column_families import (
    Choice,
    ColumnSurvey,
    candidates,
    choose,
    describe_choices,
    grouped,
    survey_columns,
)
from separatrix.generative.family_classifier import FamilyClassifier, Layout
from separatrix.generative.groups import GroupedFacts
from separatrix.rows import Source

__all__ = ["NaiveBayes"]

ONE_COLUMN = tuple(name for name, family in FAMILIES.items() if not family.vector)


class NaiveBayes(FamilyClassifier):
    """Columns independent given the class, each of its own kind: numbers, counts, booleans, categories, proportions.

    p(x | C_k) = Π_d p_d(x_d | C_k) with an exponential family p_d for each column (PRML §4.2.3).

    Parameters
    ----------
    families : "auto", the name of a family, or a mapping, default "auto"
        One family for all columns, or ``{column: family}`` with columns by name or position; columns not in the mapping
        are "auto". Names: "normal" (mean and variance for each class), "normal_known_variance" (one variance for all
        classes), "bernoulli", "categorical", "poisson", "exponential", "gamma", "beta". "auto" takes the family under
        which the column is most probable, its parameters integrated out; `report` says which, and why.
    priors : sequence or mapping, optional
        p(C_k); by default the shares of the rows.
    estimate : {"map", "ml", "predictive"}, default "map"
        The mode under a conjugate prior, maximum likelihood, or parameters integrated out (Student t for normal,
        negative binomial for Poisson, Lomax for exponential columns).
    pseudo_count : float, default 1
        What the prior is worth, in observations; in observations of each outcome for Bernoulli and categorical columns,
        so that one is Laplace's correction (n_kj + 1)/(n_k + 2). A category never seen gets the mass of one.
    unlabelled : "error", "missing" or a label, default "error"
        Which rows of ``y`` have no label: none may, those that are None or NaN, or those marked with this label.
        They take part through EM. Beware: where columns are far from independent, unlabelled rows can make the
        boundary worse.
    temper : bool or float, default False
        τ in p(C_k | x) ∝ p(C_k) p(x | C_k)^τ: 1 (False), the one under which the labels of the training rows are most
        probable (True; some passes more), or a number. Naive Bayes is over-confident where columns repeat each other,
        and τ < 1 makes its probabilities honest. Rows keep their order between two classes; labels change only where
        priors are unequal, which count for more as τ falls.

    Attributes
    ----------
    families_, choices_ : the family of each column; with the reason, as `report` prints them
    densities_ : dict
        Family -> p(x_d | C_k) of its columns, all classes at once: distributions of `separatrix.families`
    categories_ : dict, the values of each categorical column
    coef_, intercept_ : the linear rule, where every column allows one; one row for two classes
    temperature_ : float, the exponent τ
    priors_, class_count_ : p(C_k), and the weight of each class
    facts_ : what is remembered of the rows
    n_passes_, n_steps_, solution_ : cost and status; ``solution_.trace`` has the log posteriors of EM

    Notes
    -----
    Missing values (NaN, None in text) are left out, at fit and at predict: exact, because columns are independent given
    the class. Columns of text, categoricals and enums of a data frame are categories; text that was not seen at fit
    gets the pseudo-count's mass.

    Families are chosen once, by the first rows seen. To fit in pieces (`partial_fit`, `merge`), name them where the
    pieces might disagree; ``temper=True`` needs all rows at once.

    `log_density` and `sample` speak of p(x | C_k) itself, which no ``temper`` changes.

    Examples
    --------
    >>> import pandas as pd
    >>> from separatrix import NaiveBayes
    >>> table = pd.DataFrame({
    ...     "visits": [0, 2, 1, 9, 7, 12],
    ...     "plan": ["free", "free", "pro", "pro", None, "pro"],
    ...     "member": [False, True, False, True, True, True],
    ... })
    >>> model = NaiveBayes({"visits": "poisson"}).fit(table, ["leaves", "leaves", "leaves", "stays", "stays", "stays"])
    >>> print(model.report())
    column  family       why
    visits  poisson      given
    plan    categorical  text, 2 categories
    member  bernoulli    only 0 and 1
    >>> model.predict(table[:2]).tolist()
    ['leaves', 'leaves']
    """

    def __init__(
        self,
        families: Any = "auto",
        *,
        priors: Any = None,
        estimate: str = "map",
        pseudo_count: Any = 1.0,
        unlabelled: Any = "error",
        temper: Any = False,
    ) -> None:
        self.families = families
        self.priors = priors
        self.estimate = estimate
        self.pseudo_count = pseudo_count
        self.unlabelled = unlabelled
        self.temper = temper

    def report(self) -> str:
        """Which family each column got, and why: a table for people."""
        check_is_fitted(self)
        return describe_choices(self.choices_)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        asked = self.families.values() if isinstance(self.families, Mapping) else [self.families]
        for family in asked:
            if isinstance(family, str) and family in FAMILIES and FAMILIES[family].vector:
                raise ValueError(
                    f"NaiveBayes(families={self.families!r}): {family!r} describes a whole row, not a column. "
                    f"Use ExponentialFamilyClassifier({family!r})."
                )
            check_option("NaiveBayes", "families", family, ("auto", *ONE_COLUMN), otherwise=", or {column: family}")

    def _layout(self, source: Source) -> Layout:
        """The families named, those that leave no choice, and for the other columns every candidate."""
        names = source.columns
        certain = {d: Choice(names[d], family, "given") for d, family in _named(self.families, names).items()}
        for d, categories in self._text.items():
            certain.setdefault(d, Choice(names[d], "categorical", f"text, {len(categories)} categories"))
        if len(certain) == len(names):
            groups = grouped({d: (choice.family,) for d, choice in certain.items()})
            return Layout(groups, settle=partial(self._settle, certain=certain, found=None))
        found = survey_columns(source)
        possible = {d: candidates(found, d) for d in range(len(names)) if d not in certain}
        for d, families in possible.items():
            if len(families) == 1:
                certain[d] = Choice(names[d], families[0], found.describe(d))
        groups = grouped(possible | {d: (choice.family,) for d, choice in certain.items()})
        return Layout(groups, passes=1, settle=partial(self._settle, certain=certain, found=found))

    def _settle(self, facts: GroupedFacts, certain: dict[int, Choice], found: ColumnSurvey | None) -> GroupedFacts:
        """The most probable of several candidates for a column."""
        chosen = certain if found is None else certain | choose(facts, found, self._columns)
        self.choices_ = tuple(chosen[d] for d in sorted(chosen))
        return facts.of_columns(lambda family, d: chosen[d].family == family)


def _named(families: Any, columns: tuple[str, ...]) -> dict[int, str]:
    """The family of each column for which one was named."""
    if not isinstance(families, Mapping):
        return {} if families == "auto" else dict.fromkeys(range(len(columns)), families)
    return {_position(column, columns): family for column, family in families.items() if family != "auto"}


def _position(column: Any, columns: tuple[str, ...]) -> int:
    if isinstance(column, Integral) and 0 <= int(column) < len(columns):
        return int(column)
    if column in columns:
        return columns.index(column)
    known = ", ".join(map(repr, columns[:8])) + (", ..." if len(columns) > 8 else "")
    raise DataError(
        f"NaiveBayes(families=...) names column {column!r}, which is not in the table. Its columns are {known}; "
        f"positions 0 to {len(columns) - 1} will do too."
    )
