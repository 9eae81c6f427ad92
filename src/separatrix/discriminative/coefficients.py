# SPDX-License-Identifier: BSD-3-Clause
"""The table of coefficients of a fit by maximum likelihood, its tests, and what it shows if the classes are separable.

**Separation.** If a hyperplane separates the classes, or zero counts from other counts, the likelihood has no maximum:
it rises along every direction d of a cone, towards its supremum. A coefficient a'θ then

    is infinite, +∞ or -∞     if a'd has this sign along some directions of the cone, and never the other
    may have any value        if a'd has both signs, because other weights make up for it
    is finite                 if a'd = 0 along all directions

The table shows the limits of its profile interval, of which one is infinite, and the likelihood-ratio test of a'θ = 0.
Standard errors do not exist, and a Wald test would accept every hypothesis (Hauck & Donner 1977).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_option
from separatrix._array import Array, Float
from separatrix._text import columns_are
from separatrix.discriminative.inference import (
    TESTS,
    Estimate,
    TestResult,
    half_width,
    hypothesis_of,
    profile_distance,
    profile_interval,
    run_test,
    wald_test,
)
from separatrix.discriminative.maximum import KeepsRows
from separatrix.discriminative.sandwich import Sandwich, parse_kind, sandwich
from separatrix.separation import ANY_VALUE, Separability
from separatrix.solvers import Posterior
from separatrix.weights import (
    Coefficients,
    Heading,
    NormalApproximation,
    Reading,
    Summary,
    WeightDistribution,
    columns_of,
    tabulated,
)

INTERVALS = ("wald", "profile")
SMALLEST_PIVOT = 1e-9  # relative; functions with a smaller pivot are combinations of others
WEIGHTS = ("frequency", "precision", "probability")
FRACTIONAL = (
    "Some weights are not whole numbers, but count as frequencies: N is their sum. If they are precisions, or inverse "
    "probabilities of sampling, set weights='precision' or weights='probability'."
)
UNDECIDED = (
    "Whether a hyperplane separates the classes could not be decided. If one does, some coefficients are infinite, and "
    "the table shows where the fit stopped. A prior (alpha > 0) makes all of them finite."
)
SEPARATED = (
    "{what}, so the likelihood rises as some coefficients go to infinity. Infinite coefficients have the limits of "
    "profile intervals and p values of likelihood-ratio tests. A coefficient without an estimate may have any value. A "
    "prior (alpha > 0) makes all of them finite."
)


class HasCoefficients(KeepsRows):
    """Base class of models that are fitted by maximum likelihood: the table of coefficients, and tests.

    A subclass has ``weight_distribution_`` and ``separation_``, and the abstract methods.
    """

    weights: str = "frequency"
    separation_: Separability | None
    _robust: Sandwich | None = None
    _expected: ClassVar[bool] = False  # whether the information is the expected one

    if TYPE_CHECKING:

        @property
        def weight_distribution_(self) -> WeightDistribution: ...

    @abstractmethod
    def _heading(self) -> Heading:
        """What the table of coefficients says about the model."""

    @abstractmethod
    def _estimate(self) -> Estimate:
        """The estimate with its training rows; raises ValueError without them."""

    @abstractmethod
    def _restrictions(self, rows: Float) -> Float:
        """Functions (n, CP) of the weights of all columns as functions of those of the fit."""

    @abstractmethod
    def _bread(self) -> tuple[Posterior, NormalApproximation]:
        """The objective with its training rows, and the estimate with the inverse information as covariance.

        Raises ValueError without the rows.
        """

    def _keep_covariance(self, robust: Sandwich | None) -> None:
        """Use another covariance; None for the inverse information."""
        self._robust = robust

    @abstractmethod
    def _signs_at_infinity(self, chosen: Coefficients) -> Array:
        """Sign of each infinite coefficient, 0 for finite ones, and ``ANY_VALUE``."""

    def summary(
        self,
        reference: Any = None,
        exponentiate: bool = False,
        level: float = 0.95,
        *,
        interval: str = "wald",
        test: str = "wald",
    ) -> Summary:
        """Return the table of coefficients: standard errors, intervals, and tests unless there is a prior.

        If the classes are separable, infinite coefficients are shown as such, with one limit and a test.

        Parameters
        ----------
        reference : label, optional
            Class with which other classes are compared. By default, the first of two classes; with more classes, the
            mean of all classes, because the data determine only differences between their weights.
        exponentiate : bool, default False
            Show e^w instead of w: odds ratios with the logit, ratios of means with a log link.
        level : float, default 0.95
            Level of the intervals.
        interval : {"wald", "profile"}
            "wald" is the estimate plus and minus standard errors. "profile" contains all values that a likelihood-ratio
            test does not reject. It takes a few fits per coefficient, and is valid even if the likelihood is skewed.
        test : {"wald", "likelihood-ratio", "score"}
            Test whether each coefficient is zero. The last two tests fit the model again without the coefficient.
        """
        return self._summary(Reading(reference, exponentiate, level, interval, test))

    def test(self, columns: Any, *, method: str | None = None) -> TestResult:
        """Test whether the coefficients of some columns are all zero; with K classes, those of all classes.

        Parameters
        ----------
        columns : str, int, a list of them, or a mapping
            Names or positions of coefficients, for example ``"intercept"``. ``"age = income"`` tests whether two are
            equal, and a mapping, such as ``{"age": -0.03}``, whether they have these values; the latter needs one
            coefficient per column, of the log-odds of the second of two classes.
        method : {"likelihood-ratio", "wald", "score"}, optional
            Kind of test; by default the likelihood-ratio test, or Wald's with a robust covariance.
        """
        check_is_fitted(self)
        q = self.weight_distribution_
        L, hypothesis = hypothesis_of(columns, q.names)
        values, C = np.array(list(hypothesis.values())), len(q.approximation.mean)
        if C > 1 and values.any():
            raise ValueError(f"test(columns={columns!r}): a column has {C - 1} coefficients. Test whether they are 0.")
        return self._test(L, values, hypothesis, method)

    def _test(self, L: Float, values: Float, hypothesis: Mapping[str, float], method: str | None) -> TestResult:
        """Test whether functions l'(w, w0), for the rows l of L (n, P), have the values; with K classes, all are zero.

        Rows that are combinations of others, such as the last level of a category, are left out.
        """
        q, C = self.weight_distribution_, len(self.weight_distribution_.approximation.mean)
        method = ("likelihood-ratio" if self._robust is None else "wald") if method is None else method
        check_option("test", "method", method, TESTS)
        self._require_likelihood(f"test(method={method!r})")
        if method != "wald":
            self._require_nonrobust(f"test(method={method!r})")
        contrasts = np.eye(C)[1:] - np.eye(C)[0] if C > 1 else np.eye(1)
        if not q.approximation.identifies(q.in_fit_units(L), contrasts).all():
            which = columns_are(list(hypothesis))
            raise ValueError(f"test: {which} a combination of other columns, so no test is possible.")
        R, order = linalg.qr(L.T, mode="r", pivoting=True)
        rank = int((np.abs(np.diag(R)) > SMALLEST_PIVOT * abs(R[0, 0])).sum())
        kept = np.sort(order[:rank])
        A = np.kron(contrasts, q.in_fit_units(L[kept]))
        at = values[kept] if C == 1 else np.zeros(len(A))
        if method == "wald":
            return wald_test(q, A, at, hypothesis)
        return run_test(self._estimate(), self._restrictions(A), self._values_at_zero(A) + at, hypothesis, method)

    def with_covariance(self, kind: Any) -> Self:
        """Return a copy whose standard errors, tests, intervals and effects use another covariance of the estimate.

        It takes one pass over the training rows; coefficients and predictions do not change.

        Parameters
        ----------
        kind : str or tuple
            - ``"nonrobust"``: the inverse information, which is correct if the model is;
            - ``"HC0"``, ``"HC1"``, ``"HC3"``: robust to a wrong variance, from the squared scores of the rows.
              ``"HC1"`` has the factor N/(N - P), and ``"HC3"`` corrects each row for its leverage, best for few rows;
            - ``("cluster", groups)``: rows of a group may depend on each other. ``groups`` is an array with a value for
              each row or, for a scan, the name of a column. The factor is G/(G - 1) (N - 1)/(N - P);
            - ``("cluster", groups, other_groups)``: two groupings at once, such as firm and year.
        """
        check_is_fitted(self)
        name, _ = parse_kind(kind)
        owner = f"{type(self).__name__}.with_covariance({name!r})"
        if not self.weight_distribution_.is_sampling:
            raise ValueError(
                f"{owner}: errors of a fit with a prior are those of the posterior under that prior. Other covariances "
                "are defined for maximum likelihood: set alpha=0."
            )
        self._require_finite_weights(owner)
        if name == "nonrobust" and self.weights == "probability":
            raise ValueError(f"{owner}: with probability weights, the inverse information is not a covariance.")
        other = copy(self)
        other._keep_covariance(None if name == "nonrobust" else self._sandwich(kind))
        return other

    def _sandwich(self, kind: Any) -> Sandwich:
        """A robust covariance, in one pass over the training rows."""
        is_frequency = self.weights == "frequency"
        return sandwich(*self._bread(), kind, expected=self._expected, is_frequency=is_frequency)

    def _require_finite_weights(self, owner: str) -> None:
        """Raise ValueError if the rows are separable, so that some coefficients are infinite."""
        if self.separation_:
            raise ValueError(
                f"{owner}: {self._separated[:1].lower()}{self._separated[1:]}, so some coefficients are infinite and "
                "have no covariance. Set alpha > 0, or drop columns."
            )

    def _summary(
        self, reading: Reading, functions: tuple[Sequence[str], Any] | None = None, notes: tuple[str, ...] = ()
    ) -> Summary:
        """Return the table of the weights, or of linear ``functions`` of them, with more notes."""
        check_is_fitted(self)
        check_option("summary", "interval", reading.interval, INTERVALS)
        check_option("summary", "test", reading.test, TESTS)
        if self.weights == "probability":
            self._require_finite_weights(f"{type(self).__name__}(weights='probability')")
        q, heading = self.weight_distribution_, self._heading().with_notes(*notes)
        if not reading.is_wald:
            self._require_likelihood(f"summary(interval={reading.interval!r}, test={reading.test!r})")
            self._require_nonrobust(f"summary(interval={reading.interval!r}, test={reading.test!r})")
        chosen = Coefficients.of(q, heading.classes, reading.reference, functions)
        columns, methods = columns_of(q, chosen, reading.level), ""
        if q.is_sampling:
            covariance = "" if self._robust is None else f"; covariance: {self._robust.name}"
            methods = f": {reading.interval}; tests: {reading.test}{covariance}"
            signs = self._signs_at_infinity(chosen) if self.separation_ else np.zeros(len(chosen), dtype=np.intp)
            if signs.any() or not reading.is_wald:
                columns = self._refitted(columns, chosen.rows(q), reading, signs)
            if signs.any():
                heading = heading.with_notes(SEPARATED.format(what=self._separated))
            if self.separation_ is not None and self.separation_.status == "unknown":
                heading = heading.with_notes(UNDECIDED)
        return tabulated(q, heading, chosen, reading, columns, methods)

    @property
    def _separated(self) -> str:
        """What is separated, as the beginning of a note."""
        return "A hyperplane separates the classes"

    def _refitted(self, columns: dict[str, Float], A: Float, reading: Reading, signs: Array) -> dict[str, Float]:
        """Replace limits and tests by those of restricted fits: those requested, and those of infinite coefficients."""
        fit, zeros = self._estimate(), self._values_at_zero(A)
        A, reach = self._restrictions(A), half_width(reading.level, fit.residual)
        of_fits = "F" if np.isfinite(fit.residual) and reading.test != "score" else "chi2"
        statistic = next(name for name in columns if name in "zt") if reading.test == "wald" else of_fits
        order = ("coefficient", "standard_error", statistic, "p", "lower", "upper")
        found = {name: columns[name].copy() if name in columns else np.full(len(A), np.nan) for name in order}
        has_error = ~np.isnan(columns["standard_error"])
        for j in np.flatnonzero(has_error & (signs == 0)):
            if reading.interval == "profile":
                below, above = profile_interval(fit, A[j], reach)
                found["lower"][j], found["upper"][j] = found["coefficient"][j] + np.array([below, above])
            if reading.test != "wald":
                one = run_test(fit, A[[j]], zeros[[j]], {}, reading.test)
                found[statistic][j], found["p"][j] = one.statistic, one.p_value
        for j in np.flatnonzero(signs):
            row = at_infinity(fit, A[j], zeros[j], float(columns["coefficient"][j]), int(signs[j]), reach)
            if reading.test == "wald":
                row["statistic"] = np.nan  # that of the likelihood ratio is not z
            for name, value in zip(order, row.values(), strict=True):
                found[name][j] = value
        return found

    def _values_at_zero(self, A: Float) -> Float:
        """Values of A θ, θ of the fit, at which A w = 0: they differ if class weights shift the intercept."""
        return np.zeros(len(A))

    def _require_nonrobust(self, what: str) -> None:
        """Raise ValueError if the covariance is robust."""
        if self._robust is not None:
            other = "" if self.weights == "probability" else ", or with_covariance('nonrobust')"
            raise ValueError(
                f"{type(self).__name__}.{what}: likelihood-ratio and score tests and profile intervals assume that the "
                f"likelihood is correct; a robust covariance does not. Use 'wald'{other}."
            )

    @abstractmethod
    def _require_likelihood(self, what: str) -> None:
        """Raise ValueError if the model has a prior."""


def at_infinity(fit: Estimate, a: Float, zero: float, center: float, sign: int, reach: float) -> dict[str, float]:
    """The line of a coefficient a'θ that is infinite, or has any value; the fit stopped at ``center``."""
    if sign == ANY_VALUE:
        estimate, test, limits = np.nan, (0.0, 1.0), (-np.inf, np.inf)
    else:
        one = run_test(fit, a[None], np.array([zero]), {}, "likelihood-ratio")
        end = center - sign * profile_distance(fit, a, -sign, reach, abs(center) or 1.0)
        estimate, test = sign * np.inf, (one.statistic, one.p_value)
        limits = (end, np.inf) if sign > 0 else (-np.inf, end)
    names = ("coefficient", "standard_error", "statistic", "p_value", "lower", "upper")
    return dict(zip(names, (estimate, np.nan, *test, *limits), strict=True))
