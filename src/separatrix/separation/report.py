# SPDX-License-Identifier: BSD-3-Clause
"""`is_separable` decides whether hyperplanes separate the classes, and reports margin and Novikoff's bound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from separatrix._array import Array
from separatrix._text import listed
from separatrix.exceptions import DataError
from separatrix.rows import Source, class_totals, open_rows
from separatrix.separation.margin import Margin, Novikoff, novikoff, widest_margin
from separatrix.separation.program import Separability, separability

SENTENCES = {
    "complete": "A hyperplane separates the classes completely",
    "quasi-complete": "A hyperplane separates the classes except for {n} of {N} rows, which lie on it (quasi-complete)",
    "overlapping": "No hyperplane separates the classes: they overlap",
    "unknown": "Whether a hyperplane separates the classes is unknown: nearly collinear columns hide the result",
}


@dataclass(frozen=True, eq=False, repr=False)
class SeparabilityReport(Separability):
    """Result of `is_separable`; true if the classes are separable.

    Attributes
    ----------
    status : str
        "complete", "quasi-complete" or "overlapping"; "unknown" if rounding hides the result.
    coef, intercept : ndarrays
        The separating direction in the user's units; zero if the classes overlap.
    columns : tuple of str
        Names of the columns with a nonzero weight in the direction.
    n_on_plane : int
        Number of rows on a boundary of the direction.
    classes : ndarray of shape (K,)
        The labels.
    n_passes : int
        Number of passes over the rows.
    """

    classes: Array
    _source: Source
    _fit_intercept: bool

    @cached_property
    def widest(self) -> Margin:
        """The maximum-margin hyperplane: the support vector machine with a hard margin."""
        self._require_margin()
        return widest_margin(self._source)

    @property
    def margin(self) -> float:
        """γ of the maximum-margin hyperplane: half the distance between the classes."""
        return self.widest.margin

    @cached_property
    def novikoff(self) -> Novikoff:
        """γ and R of the rows, with a constant feature for the intercept, and (R/γ)²."""
        self._require_margin()
        return novikoff(self._source, fit_intercept=self._fit_intercept)

    @property
    def novikoff_bound(self) -> float:
        """(R/γ)², an upper bound on the number of mistakes of a perceptron."""
        return self.novikoff.bound

    def _require_margin(self) -> None:
        if len(self.classes) != 2:
            found = f"{len(self.classes)}: {listed(self.classes.tolist())}"
            raise DataError(f"A margin is defined for two classes, but y has {found}. Select the rows of two classes.")
        if self.status != "complete":
            raise DataError(f"A margin needs two completely separable classes; the status is {self.status!r}.")

    def __repr__(self) -> str:
        classes, columns = listed(self.classes.tolist()), listed(list(self.columns))
        return f"SeparabilityReport(status={self.status!r}, classes=[{classes}], columns=[{columns}])"

    def __str__(self) -> str:
        sentence = SENTENCES[self.status].format(n=self.n_on_plane, N=self._source.n_rows)
        if not self:
            return f"{sentence}."
        return (
            f"{sentence}, along {listed(list(self.columns))}. The maximum-likelihood estimate of a logistic model "
            "does not exist: set a prior (alpha > 0), or drop or combine those columns."
        )


def is_separable(X: Any, y: Any = None, *, sample_weight: Any = None, fit_intercept: bool = True) -> SeparabilityReport:
    """Decide by linear programs whether hyperplanes separate two or more classes.

    The status is "complete" if every row lies strictly on its own side, and "quasi-complete" if some rows lie on the
    plane and none on the wrong side. Otherwise it is "overlapping"; only then does the maximum-likelihood estimate of a
    logistic model exist (Albert & Anderson 1984). The status is "unknown" if there are too many columns, or if they are
    so nearly collinear that rounding hides the result.

    Parameters
    ----------
    X : table of shape (N, D)
        Rows, in any form that models accept.
    y : array-like of shape (N,), optional
        Labels of K >= 2 classes; not needed for a scan with a target.
    sample_weight : array-like of shape (N,), optional
        Weights of the rows. Rows of weight 0 are ignored.
    fit_intercept : bool, default True
        If False, planes pass through the origin.

    Returns
    -------
    SeparabilityReport
        True if separable. It contains the status, the direction, and for two classes margin and Novikoff's bound.

    Examples
    --------
    >>> from separatrix import is_separable
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 3.0]], ["a", "a", "b", "b"]
    >>> report = is_separable(X, y)
    >>> report.status, report.margin
    ('complete', 1.118...)
    >>> bool(is_separable([[0.0], [1.0], [2.0]], ["a", "b", "a"]))
    False
    """
    source = open_rows(X).with_labels(y, sample_weight)
    if sample_weight is not None:
        total = source.reduce(partial(class_totals, n_classes=len(source.classes)))
        for label in source.classes[total == 0].tolist():
            raise DataError(
                f"Every row of class {label!r} has weight 0. Leave those rows out, or give them a positive weight."
            )
    found = separability(source, len(source.classes), fit_intercept=fit_intercept)
    return SeparabilityReport(**vars(found), classes=source.classes, _source=source, _fit_intercept=fit_intercept)
