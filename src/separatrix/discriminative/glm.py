# SPDX-License-Identifier: BSD-3-Clause
"""Generalised linear models with the scikit-learn API.                                    PRML §4.3.6

    E[t | x] = μ(w'φ(x) + w0 + offset),      var[t | x] = s V(μ)

The mathematics is in `glm_fit` (the maximum), `inference` (tests and intervals) and `likelihoods` (responses and
links). A fit takes one pass over the rows for the units of the columns, one for the start and for each Newton step, one
to prove that a maximum exists if that is not certain, and one for the information and the goodness of fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count, check_flags, check_number, check_option, check_positive
from separatrix._array import Array, Codes, Float, Rows, to_dense
from separatrix.basis import fit_basis
from separatrix.discriminative.coefficients import FRACTIONAL, WEIGHTS, HasCoefficients
from separatrix.discriminative.glm_fit import (
    GLMFit,
    check_maximum,
    fit_glm,
    null_deviance,
    open_targets,
    per_row,
)
from separatrix.discriminative.inference import Estimate
from separatrix.discriminative.maximum import INTERCEPT, WITHOUT_ROWS
from separatrix.discriminative.sandwich import SURVEY, Sandwich
from separatrix.estimator import (
    SEPARATED,
    Limit,
    check_columns,
    check_results,
    known_columns,
    truth_in_memory,
    unchanged_on_error,
)
from separatrix.exceptions import CollinearWarning, warn
from separatrix.explanation import Explanation, MeanScores, explain_means, explained_array, own_columns, row_labels
from separatrix.likelihoods import LIKELIHOODS, mean_likelihood
from separatrix.rows import Block, RowMap, in_memory, open_rows, targets_in_memory
from separatrix.separation import signs_at_infinity
from separatrix.solvers import Newton, Posterior
from separatrix.stats import Design
from separatrix.weights import (
    Coefficients,
    Heading,
    Marginals,
    NormalApproximation,
    WeightDistribution,
    interval_tails,
)

PENALISED = (
    "Penalised fit (alpha = {alpha:g}): coefficients are shrunk towards zero, and the penalty is the prior of the "
    "posterior. Tests of w = 0 are not available, because the penalty would count as evidence; set alpha=0 to test."
)
TITLES = {
    ("gaussian", "identity"): "Linear regression",
    ("bernoulli", "logit"): "Logistic regression",
    ("bernoulli", "probit"): "Probit regression",
    ("binomial", "logit"): "Logistic regression of proportions",
    ("binomial", "probit"): "Probit regression of proportions",
}
OFFSET = "The model was fitted with an offset or exposure; means are those for an offset of 0, an exposure of 1."
RATIOS = {"logit": "odds ratios", "log": "ratios of means", "cloglog": "hazard ratios"}  # what e^w is, by the link


class GeneralizedLinearModel(RegressorMixin, HasCoefficients):
    """Regression for real, binary, fractional, count and positive targets, with standard errors and tests.

    The mean is μ(a) with a = w'φ(x) + w0 + offset. The fit minimises half the deviance plus a penalty, ½ Σ_n weight_n
    d(t_n, μ_n) + ½ alpha |w|², by Newton's method (for canonical links, iterative reweighted least squares).

    Parameters
    ----------
    family : {"gaussian", "bernoulli", "binomial", "poisson", "gamma"}, default "gaussian"
        Distribution of the targets about the mean: V(μ) is 1, μ(1-μ), μ(1-μ)/trials, μ or μ².
    link : str, optional
        Link a(μ); the first listed is canonical and the default. ``"identity"`` or ``"log"`` (gaussian); ``"logit"``,
        ``"probit"`` or ``"cloglog"`` (bernoulli, binomial); ``"log"`` (poisson); ``"inverse"`` or ``"log"`` (gamma).
    alpha : float, default 0
        Penalty on each weight, but not on w0. It equals a Gaussian prior of precision alpha/dispersion.
    basis : basis function or transformer, optional
        Basis functions φ; see `separatrix.basis`.
    fit_intercept : bool, default True
        Whether to fit an intercept w0.
    tol : float, default 1e-8
        The fit stops once the gradient, per row and per standard deviation of its column, is below ``tol`` times the
        root mean square slope of the null model. This rule does not depend on units.
    max_steps : int, default 50
        Maximum number of Newton steps.
    weights : {"frequency", "precision", "probability"}, default "frequency"
        What ``sample_weight`` means for standard errors; it does not change the estimate. A frequency of k equals k
        copies of the row. A "precision" divides the variance of the row.
        A "probability" is the inverse of the probability that the row was sampled: standard errors are then robust.
    dispersion : {"pearson"}, optional
        Estimate the dispersion s of families that have none, by Pearson's X²/(N - P): quasi-Poisson and quasi-binomial
        regression. Standard errors are √s times as large, tests are F and t, and there is no likelihood, so that
        ``log_likelihood_``, ``aic_`` and ``bic_`` are NaN.

    Attributes
    ----------
    coef_ : ndarray of shape (M,)
        Weights w. Columns that are constant, or combinations of earlier columns, have weight 0; the fit warns.
    intercept_ : float
        Bias.
    covariance_ : ndarray of shape (M + 1, M + 1)
        Covariance of (w, w0) from Fisher's (expected) information; (M, M) without an intercept.
    standard_errors_ : ndarray of shape (M + 1,)
        NaN for columns with weight 0.
    weight_distribution_ : WeightDistribution
        Sampling distribution of (w, w0), or with a penalty their posterior; ``weight_distribution_.functions(L)`` is
        that of linear functions.
    dispersion_ : float
        Dispersion s: Pearson's X²/(N - P) for gaussian and gamma, otherwise 1.
    deviance_, null_deviance_, pearson_ : float
        Σ d of the fit and of the null model (an intercept and the offset), and Pearson's X².
    log_likelihood_, aic_, bic_ : float
        AIC and BIC count P parameters, without the dispersion.
    degrees_of_freedom_ : float
        N - P; N is the sum of the weights (for a binomial model, the number of rows with trials). With a penalty, P is
        the effective number of coefficients.
    coefficient_names_ : tuple of str
        Names of the coefficients in `summary`.
    separation_ : Separability or None
        Whether a hyperplane separates the classes, or zero counts from other counts, as in `LogisticRegression`; None
        for families of real and positive targets.
    n_passes_, n_steps_ : int
        Number of passes over the rows, and of steps.
    solution_ : Solution
        Status of the solver, and the parameters of the centred columns.
    basis_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The model keeps a reference to the training table (no copy) for likelihood-ratio and score tests and for profile
    intervals. Pickled or saved models do not contain the table, so these methods raise. Copies keep the reference.

    Standard errors need the covariance of all coefficients, so a table may have at most 10 000 columns.

    Examples
    --------
    Number of warp breaks per loom, depending on the tension of the yarn:

    >>> import numpy as np
    >>> from separatrix.discriminative import GeneralizedLinearModel
    >>> low, medium, high = [26, 30, 54, 25, 70], [18, 21, 29, 17, 12], [36, 21, 24, 18, 10]
    >>> breaks, tension = np.array(low + medium + high), np.repeat([0.0, 1.0, 2.0], 5)[:, None]
    >>> model = GeneralizedLinearModel("poisson").fit(tension, breaks)
    >>> print(model.summary())
    Poisson regression, log link
    N 15, log likelihood -75.9652, deviance 76.511, null deviance 110.498, residual
    degrees of freedom 13, dispersion 1, AIC 155.93, BIC 157.346
    95 % confidence intervals: wald; tests: wald
    <BLANKLINE>
               coefficient  standard_error        z         p     lower     upper
    intercept       3.6261        0.068677   52.799    <1e-16    3.4915    3.7607
    x0            -0.35779        0.062349  -5.7385  9.55e-09  -0.47999  -0.23559
    >>> print(model.test("x0", method="likelihood-ratio"))
    likelihood-ratio test of x0 = 0: chi2(1) = 33.987, p = 5.55e-09
    """

    _aliased: tuple[int, ...] = ()  # positions of columns without a coefficient
    separation_ = None  # in models saved before it was kept
    _expected = True
    _is_quasi = False  # whether the dispersion of a family without one is estimated
    _has_fractions = False  # whether frequency weights are not whole numbers
    _n_observations: float | None = None  # None in models saved before it was kept

    def __init__(
        self,
        family: str = "gaussian",
        link: str | None = None,
        *,
        alpha: float = 0.0,
        basis: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_steps: int = 50,
        weights: str = "frequency",
        dispersion: str | None = None,
    ) -> None:
        self.family = family
        self.link = link
        self.alpha = alpha
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_steps = max_steps
        self.weights = weights
        self.dispersion = dispersion

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> GeneralizedLinearModel:
        """Fit by maximum likelihood, penalised if alpha > 0.

        Parameters
        ----------
        X : table of shape (N, D)
            Rows.
        y : array of shape (N,)
            Targets; by default the target column of a scan. For a binomial model, fractions of successes with the
            numbers of trials as ``sample_weight``, or an array of shape (N, 2): successes and failures.
        sample_weight : array of shape (N,), optional
            Frequency weights: a weight of 2 equals two copies of the row, even in standard errors and tests.
        offset : array of shape (N,), optional
            Known term that is added to the activation of each row.
        exposure : array of shape (N,), optional
            Known factor of the mean of each row, such as time at risk, area or population. It needs a log link.
        """
        owner = type(self).__name__
        check_option(owner, "weights", self.weights, WEIGHTS)
        if self.dispersion is not None:
            check_option(owner, "dispersion", self.dispersion, ("pearson",), otherwise=", or None")
        family = check_option(owner, "family", self.family, LIKELIHOODS)
        if self.link is not None:
            check_option(owner, "link", self.link, LIKELIHOODS[family], otherwise=f" for family={family!r}, or None")
        likelihood = mean_likelihood(family, self.link)
        alpha = check_number(owner, "alpha", self.alpha, low=0.0)
        if self.weights == "probability" and (alpha > 0 or family == "binomial"):
            reason = "alpha=0, because no posterior exists" if alpha > 0 else "family='bernoulli' and one row per trial"
            raise ValueError(f"{owner}(weights='probability') needs {reason}.")
        check_flags(self)
        solver = Newton(check_positive(owner, "tol", self.tol), check_count(owner, "max_steps", self.max_steps))
        with unchanged_on_error(self):
            y, sample_weight = targets_in_memory(X, y, sample_weight)
            opened = open_rows(X)
            check_columns(self, opened.template, reset=True)
            targets = open_targets(
                y, likelihood, opened.n_rows, sample_weight=sample_weight, offset=offset, exposure=exposure
            ).weighted_by(self.weights)
            source = opened.with_numbers(targets.t, targets.weight, targets.offset)
            basis = fit_basis(self.basis, source)
            source = source.mapped(basis)
            fit = fit_glm(source, targets, likelihood, alpha=alpha, fit_intercept=self.fit_intercept, solver=solver)
            if self.dispersion is not None and not likelihood.response.has_dispersion:
                fit = replace(fit, is_quasi=True)
            self.separation_ = check_maximum(fit)
            self._keep(fit, source.columns, basis)
            if self.weights == "probability" and not self.separation_:
                self._keep_covariance(self._sandwich(SURVEY))
            if fit.aliased is not None:
                warn(
                    f"Collinear columns: {fit.aliased.describe(source.columns)}. Their coefficients are 0, without "
                    "standard errors; predictions use the other columns. Drop those columns, or set alpha > 0.",
                    CollinearWarning,
                )
        return self

    def _keep(self, fit: GLMFit, columns: tuple[str, ...], basis: RowMap | None) -> None:
        """Store the fit in the user's units. Columns that are not in the fit have coefficients of zero."""
        design, M = fit.posterior.design, len(columns)
        self.coefficient_names_ = columns + (INTERCEPT,) * design.bias
        self._aliased = () if fit.aliased is None else tuple(fit.aliased.dropped)
        coefficients, P = self._spread_out(fit.coefficients, 0.0), fit.n_effective
        self.coef_, self.intercept_ = coefficients[:M], float(coefficients[M:].sum())
        self.basis_, self.likelihood_, self.alpha_ = basis, fit.likelihood, float(self.alpha)
        self.dispersion_ = fit.dispersion
        self.covariance_ = self._spread_out(fit.dispersion * fit.user_covariance, np.nan)
        self.standard_errors_ = np.sqrt(np.diag(self.covariance_))
        self.deviance_, self.null_deviance_ = fit.goodness.deviance, fit.null.deviance
        self._n_observations = fit.targets.n_observations
        self.pearson_, self.degrees_of_freedom_ = fit.goodness.pearson, fit.degrees_of_freedom
        self.log_likelihood_ = fit.log_likelihood
        self.aic_ = -2 * self.log_likelihood_ + 2 * P
        self.bic_ = -2 * self.log_likelihood_ + np.log(fit.targets.n_observations) * P
        passes = fit.posterior.source.passes
        theta = self._spread_out(fit.solution.value[0], 0.0)[None]
        self.solution_ = replace(fit.solution, value=theta, passes=passes)
        self.n_steps_, self.n_passes_ = fit.solution.steps, passes
        origin = self._spread_out(np.append(design.origin, [0.0] * design.bias), 0.0)[:M]
        self._design = design if fit.aliased is None else Design(origin, design.bias, design.subtract)
        self._unscaled = self._spread_out(fit.unscaled_covariance, 0.0)
        self._fit: GLMFit | None = fit
        self._robust, self._is_quasi = None, fit.is_quasi
        counts = fit.targets.count
        self._has_fractions = counts is not None and bool((counts % 1).any())

    @property
    def _positions(self) -> Codes:
        """Positions of the coefficients of the fit among those of all columns."""
        return np.setdiff1d(np.arange(len(self.coefficient_names_)), self._aliased)

    def _spread_out(self, values: Float, other: float) -> Float:
        """Numbers (or a matrix) of all coefficients, from those of the fit; ``other`` for columns not in the fit."""
        wide = np.full((len(self.coefficient_names_),) * values.ndim, other)
        wide[np.ix_(*[self._positions] * values.ndim)] = values
        return wide

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are accepted, and some families need positive targets."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = self.family in ("gamma", "poisson")
        return tags

    def predict(self, X: Any, *, offset: Any = None) -> Float:
        """Mean μ(x) of each row; for an exposure, pass ``offset=np.log(exposure)``."""
        a = self._activations(X, offset)
        likelihood = self.likelihood_
        mean = likelihood.mean(a)
        undefined = np.flatnonzero(np.isnan(mean))
        if len(undefined):
            warn(
                f"{len(undefined)} of {len(a)} rows have no mean (NaN): with link={likelihood.link!r} an activation "
                f"must be positive, but the activation of row {undefined[0] + 1} (counted from 1) is "
                f"{a[undefined[0]]:.3g}. Use link='log' to extrapolate."
            )
        return mean

    def explain(self, rows: Any, reference: Any = None, level: float = 0.95) -> Explanation:
        """Explain the mean of each row: what each column contributes to the activation and to the mean.

        Parameters
        ----------
        rows : table
            The rows to explain, in memory.
        reference : table, optional
            What a row is compared with: a row, or the average of several rows. By default, the average training row.
        level : float, default 0.95
            Level of the intervals.

        Returns
        -------
        Explanation
            A table with a line for each column of each row: contributions to the activation, ``estimate``, and to
            the ``mean``. Both add up exactly; see `LogisticRegression.explain`.
        """
        check_is_fitted(self)
        found, design, M = self.weight_distribution_, self._design, len(self.coef_)
        weights, is_separated = np.append(self.coef_, [self.intercept_] * design.bias), bool(self.separation_)
        distribution = None if is_separated else found
        scores = MeanScores(
            weights[None], self.likelihood_, design.origin[:M], distribution, design.bias, design.spread
        )
        names, tables = getattr(self, "feature_names_in_", None), [rows] if reference is None else [rows, reference]
        opened = [open_rows(own_columns(X, names), known_columns(self)) for X in tables]
        for each in opened:
            check_columns(self, each.template, reset=False)
        X, *given = (each.map(lambda block: block) for each in opened)
        targets = getattr(self._fit, "targets", None)
        notes = (OFFSET,) * (getattr(targets, "offset", None) is not None) + (SEPARATED,) * is_separated
        described = explained_array(
            X,
            opened[0].columns,
            given[0] if given else None,
            scores,
            self.basis_,
            classes=np.empty(0),
            probabilities=partial(scores.response, code=1),
            notes=notes,
        )
        return explain_means(described, level, row_labels(rows, X.shape[0]))

    def predict_interval(self, X: Any, *, level: float = 0.95, offset: Any = None) -> Float:
        """Lower and upper confidence limits (N, 2) of the mean of each row, mapped from limits of its activation."""

        def moments(Phi: Rows) -> Array:
            a = self.weight_distribution_.activations(Phi)
            return np.column_stack([a.mean, np.sqrt(a.cov)])

        tails = interval_tails("predict_interval", level)
        a, std = in_memory(self._map_rows(X, moments, Limit.LARGEST))[0].T
        a = self._with_offset(a, offset)
        freedom = self.weight_distribution_.approximation.freedom
        limits = Marginals(np.ones(1), a[None], std[None], freedom).quantiles(tails)
        return np.sort(np.column_stack([self.likelihood_.mean(limit) for limit in limits.T]), axis=1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> float:
        """D², the explained fraction of the null deviance: 1 - Σ d(t, μ)/Σ d(t, mean). It is R² for gaussian.

        The null model has one mean for all rows of y; with an offset, it has one intercept plus the offset.
        """
        y, sample_weight = truth_in_memory(X, y, sample_weight)
        a = self._activations(X, offset)
        likelihood = self.likelihood_
        targets = open_targets(y, likelihood, len(a), sample_weight=sample_weight, offset=offset)
        flat = null_deviance(likelihood, targets)
        with np.errstate(over="ignore"):  # far from the training rows, the deviance may be infinite
            rest = -2.0 * targets.weighted_sum(likelihood.derivatives(a, targets.t).log_p)
        return float(1.0 - rest / flat) if flat > 0 else float(rest == 0.0)

    def _estimate(self) -> Estimate:
        """The estimate with its training rows; raises ValueError without them."""
        fit = self._training_fit()
        null = np.zeros_like(fit.solution.value)
        null[0, len(fit.posterior.design.origin) :] = fit.null.activation

        def at_score(theta: Float, n_fixed: int) -> tuple[Float, float]:
            here = fit.goodness_at(theta)
            return fit.inverse(here.information), fit.dispersion_of(here.pearson, fit.degrees_of_freedom + n_fixed)

        return Estimate(
            fit.posterior,
            fit.solution.value,
            fit.unscaled_covariance,
            fit.goodness.deviance,
            fit.dispersion,
            self._residual,
            null,
            at_score,
        )

    def _bread(self) -> tuple[Posterior, NormalApproximation]:
        """The objective with its training rows, and the estimate with the inverse information as covariance."""
        fit = self._training_fit()
        return fit.posterior, NormalApproximation(fit.solution.value, fit.unscaled_covariance)

    def _keep_covariance(self, robust: Sandwich | None) -> None:
        """Use another covariance; None for the inverse information."""
        super()._keep_covariance(robust)
        kept = np.ix_(self._positions, self._positions)
        self.covariance_ = self._spread_out(self.weight_distribution_.covariance[kept], np.nan)
        self.standard_errors_ = np.sqrt(np.diag(self.covariance_))

    def _restrictions(self, rows: Float) -> Float:
        """Functions (n, P) of the weights of all columns as functions of those of the fit."""
        return rows[:, self._positions]

    def _signs_at_infinity(self, chosen: Coefficients) -> Array:
        """Sign of each infinite coefficient, 0 for finite ones, and ``ANY_VALUE``."""
        fit = self._training_fit()
        rows, L = fit.posterior, to_dense(chosen.L)[:, self._positions]
        source = rows.source if fit.support is None else rows.source.viewed(fit.support.repeat)
        return signs_at_infinity(source, 2, L, chosen.Q, fit_intercept=rows.design.bias)

    @property
    def _separated(self) -> str:
        """What is separated, as the beginning of a note."""
        is_count = self.likelihood_.response.name == "poisson"
        return "A hyperplane separates zero counts from other counts" if is_count else super()._separated

    def _heading(self) -> Heading:
        """What the table of coefficients says about the model."""
        name, link = self.likelihood_.response.name, self.likelihood_.link
        facts = {
            "N": self._n_observations,
            "log likelihood": self.log_likelihood_,
            "deviance": self.deviance_,
            "null deviance": self.null_deviance_,
            "residual degrees of freedom": self.degrees_of_freedom_,
            "dispersion": self.dispersion_,
            "AIC": self.aic_,
            "BIC": self.bic_,
        }
        notes = (FRACTIONAL,) * self._has_fractions + (PENALISED.format(alpha=self.alpha_),) * (self.alpha_ > 0)
        title = TITLES.get((name, link), f"{name.capitalize()} regression, {link} link")
        title = f"Quasi-{title[0].lower()}{title[1:]}" if self._is_quasi else title
        known = {fact: value for fact, value in facts.items() if value is not None}
        if self._is_quasi or self.weights == "probability":  # there is no likelihood
            known = {fact: known[fact] for fact in known if fact not in ("log likelihood", "AIC", "BIC")}
        return Heading(title, (), known, RATIOS.get(link, ""), notes)

    @property
    def weight_distribution_(self) -> WeightDistribution:
        """Sampling distribution of the coefficients; with a penalty, their posterior."""
        check_is_fitted(self)
        covariance, freedom = self.dispersion_ * self._unscaled, self._residual
        if self._robust is not None:
            covariance = self._spread_out(self._robust.covariance, 0.0)
            freedom = min(freedom, self._robust.freedom) if np.isfinite(freedom) else freedom
        null = np.eye(len(covariance))[list(self._aliased)] if self._aliased else None
        approximation = NormalApproximation(self.solution_.value, covariance, freedom, null=null)
        return WeightDistribution(approximation, self._design, self.coefficient_names_, is_sampling=self.alpha_ == 0)

    @property
    def _residual(self) -> float:
        """Degrees of freedom of Student's t; infinite if the dispersion is known."""
        return self.degrees_of_freedom_ if self._is_quasi or self.likelihood_.response.has_dispersion else np.inf

    def _require_likelihood(self, what: str) -> None:
        """Raise ValueError if the fit is penalised."""
        if self.alpha_ > 0:
            raise ValueError(f"{what} needs alpha=0. {PENALISED.format(alpha=self.alpha_)}")

    def _training_fit(self) -> GLMFit:
        if self._fit is None:
            raise ValueError(WITHOUT_ROWS)
        return self._fit

    def _activations(self, X: Any, offset: Any) -> Float:
        def activate(Phi: Rows) -> Array:
            return self._design.activate(Block(Phi, None, None, range(Phi.shape[0])), self.solution_.value)

        return self._with_offset(in_memory(self._map_rows(X, activate, Limit.LARGEST))[0], offset)

    @staticmethod
    def _with_offset(a: Float, offset: Any) -> Float:
        known = per_row("offset", offset, len(a))
        return a if known is None else a + known

    def _map_rows(self, X: Any, row_function: Callable[[Rows], Array], limit: Limit | None = None) -> Array:
        """Apply ``row_function`` to every row; if a result is not finite, the error names the column."""
        check_is_fitted(self)
        opened = open_rows(X, known_columns(self))
        check_columns(self, opened.template, reset=False)
        results = partial(check_results, row_function=row_function, basis=self.basis_, limit=limit)
        return opened.each(results)  # type: ignore[no-any-return]
