# SPDX-License-Identifier: BSD-3-Clause
"""Generalised linear models behind the scikit-learn API.                                  PRML §4.3.6

    E[t | x] = μ(w'φ(x) + w0 + offset),      var[t | x] = φ V(μ)

The mathematics is in `glm_fit` (the maximum), `inference` and `profile` (tests and intervals, which `estimates` puts to
coefficients one by one) and `likelihoods.glm` (responses and links). Passes over the rows: one for the units of the
columns, one per Newton step and its start, one to prove that a maximum exists where there may be none, one for
everything that says how good the fit is.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count, check_number, check_option, check_positive
from separatrix._array import Float
from separatrix.discriminative.estimates import INTERVALS, Estimates
from separatrix.discriminative.glm_fit import GLMFit, fit_glm, warn_if_separable, warn_if_unfinished
from separatrix.discriminative.inference import TESTS, TestResult, positions, quantile, run_test
from separatrix.discriminative.null_model import null_deviance
from separatrix.discriminative.regressor import LinearRegressor, Training
from separatrix.discriminative.summary import Summary
from separatrix.discriminative.targets import open_targets
from separatrix.estimator import truth_in_memory, unchanged_on_error
from separatrix.exceptions import warn
from separatrix.likelihoods import LIKELIHOODS, MeanLikelihood, mean_likelihood
from separatrix.rows import in_memory, targets_in_memory
from separatrix.solvers import Newton

__all__ = ["GeneralizedLinearModel"]


class GeneralizedLinearModel(LinearRegressor):
    """Regression for numbers, shares, counts and positive amounts, with standard errors and tests.

    The mean is μ(a) with a = w'φ(x) + w0 + offset, and the fit minimises ½ Σ_n weight_n d(t_n, μ_n) + ½ alpha |w|²,
    half the deviance and a penalty, by Newton's method (for canonical links, iterative reweighted least squares).

    Parameters
    ----------
    family : {"gaussian", "bernoulli", "binomial", "poisson", "gamma"}, default "gaussian"
        How targets scatter about the mean: V(μ) is 1, μ(1-μ), μ(1-μ)/trials, μ or μ².
    link : str, optional
        a(μ). The first is canonical, and the default: ``"identity"`` or ``"log"`` (gaussian); ``"logit"``,
        ``"probit"`` or ``"cloglog"`` (bernoulli, binomial); ``"log"`` (poisson); ``"inverse"`` or ``"log"`` (gamma).
    alpha : float, default 0
        Penalty on each weight, not on w0. A Gaussian prior of precision alpha/dispersion.
    basis : basis function or transformer, optional
        φ; see `separatrix.basis`.
    fit_intercept : bool, default True
        Whether there is a w0.
    tol : float, default 1e-8
        The fit stops once the gradient, per row and per standard deviation of its column, is below ``tol`` times the
        root mean square slope of the model of a mean alone. Units do not matter.
    max_steps : int, default 50
        Limit of Newton steps.

    Attributes
    ----------
    coef_ : ndarray of shape (M,)
    intercept_ : float
    covariance_ : ndarray of shape (M + 1, M + 1)
        Of (w, w0), from Fisher's (expected) information; (M, M) without intercept.
    standard_errors_ : ndarray of shape (M + 1,)
    dispersion_ : float
        φ: Pearson's X²/(N - P) for gaussian and gamma, else 1.
    deviance_, null_deviance_, pearson_ : float
        Σ d of the fit and of the model of a mean alone (with the offset), and Pearson's X².
    log_likelihood_, aic_, bic_ : float
        With P coefficients counted, the dispersion not.
    degrees_of_freedom_ : float
        N - P, where N is the sum of the weights (of a binomial model, the number of rows with trials). With a penalty
        P is the effective number of coefficients.
    coefficient_names_ : tuple of str
    n_passes_, n_steps_ : int
    solution_ : status, and the parameters about the means of the columns
    basis_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    The model keeps a reference to the training table (no copy) for likelihood-ratio and score tests and for profile
    intervals, and forgets it when it is pickled; everything else keeps working. Copies keep the same reference.

    Standard errors take the covariance of all coefficients, so a table may have at most 10 000 columns.

    Examples
    --------
    Does the number of warp breaks per loom depend on the tension of the yarn?

    >>> import numpy as np
    >>> from separatrix.discriminative import GeneralizedLinearModel
    >>> low, medium, high = [26, 30, 54, 25, 70], [18, 21, 29, 17, 12], [36, 21, 24, 18, 10]
    >>> breaks, tension = np.array(low + medium + high), np.repeat([0.0, 1.0, 2.0], 5)[:, None]
    >>> model = GeneralizedLinearModel("poisson").fit(tension, breaks)
    >>> print(model.summary())
    poisson regression, log link
    deviance 76.511, null deviance 110.498, residual degrees of freedom 13,
    dispersion 1, log likelihood -75.9652, AIC 155.93, BIC 157.346
    95 % intervals: wald; tests: wald
    <BLANKLINE>
               coefficient  std. error        z   p value     lower     upper
    x0            -0.35779    0.062349  -5.7385  9.55e-09  -0.47999  -0.23559
    intercept       3.6261    0.068677   52.799    <1e-16    3.4915    3.7607
    >>> print(model.test("x0", method="likelihood-ratio"))
    likelihood-ratio test of x0 = 0: chi2(1) = 33.987, p = 5.55e-09
    """

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
    ) -> None:
        self.family = family
        self.link = link
        self.alpha = alpha
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_steps = max_steps

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> GeneralizedLinearModel:
        """Fit by maximum likelihood, penalised where alpha > 0.

        Parameters
        ----------
        X : table of shape (N, D)
            The rows.
        y : array of shape (N,)
            Targets; of a scan, its target column if they are not given. Of a binomial model, shares of successes, with
            ``sample_weight`` the numbers of trials; or an array of shape (N, 2), successes and failures.
        sample_weight : array of shape (N,), optional
            How often each row counts; a weight of 2 is the row twice, in standard errors and tests too.
        offset : array of shape (N,), optional
            A known part of each row's activation.
        exposure : array of shape (N,), optional
            A known factor of each row's mean (log link): time at risk, area, population.
        """
        likelihood, alpha, solver = self._arguments()
        with unchanged_on_error(self):
            y, sample_weight = targets_in_memory(X, y, sample_weight)
            opened = self._open_training(
                X,
                lambda n: open_targets(y, likelihood, n, sample_weight=sample_weight, offset=offset, exposure=exposure),
            )
            fit = fit_glm(
                opened.source, opened.targets, likelihood, alpha=alpha, fit_intercept=self.fit_intercept, solver=solver
            )
            warn_if_separable(fit)
            self._keep(fit, opened)
            warn_if_unfinished(fit)
        return self

    def _arguments(self) -> tuple[MeanLikelihood, float, Newton]:
        owner = type(self).__name__
        family = check_option(owner, "family", self.family, LIKELIHOODS)
        if self.link is not None:
            check_option(owner, "link", self.link, LIKELIHOODS[family], otherwise=f" for family={family!r}, or None")
        alpha = check_number(owner, "alpha", self.alpha, low=0.0)
        solver = Newton(check_positive(owner, "tol", self.tol), check_count(owner, "max_steps", self.max_steps))
        return mean_likelihood(family, self.link), alpha, solver

    def _keep(self, fit: GLMFit, opened: Training) -> None:
        """Store the fit under public names, in the user's units; all at the end, so that what fails changes nothing."""
        coefficients, P = fit.coefficients, fit.n_effective
        M = len(coefficients) - bool(self.fit_intercept)
        self.coef_, self.intercept_ = coefficients[:M], float(coefficients[M:].sum())
        self.basis_, self.likelihood_ = opened.basis, fit.likelihood
        self.coefficient_names_, self.alpha_ = fit.names, float(self.alpha)
        self.dispersion_ = fit.dispersion
        self.covariance_ = fit.dispersion * fit.user_covariance
        self.standard_errors_ = np.sqrt(np.diag(self.covariance_))
        self.deviance_, self.null_deviance_ = fit.goodness.deviance, fit.null.deviance
        self.pearson_, self.degrees_of_freedom_ = fit.goodness.pearson, fit.degrees_of_freedom
        self.log_likelihood_ = fit.log_likelihood
        self.aic_ = -2 * self.log_likelihood_ + 2 * P
        self.bic_ = -2 * self.log_likelihood_ + np.log(fit.targets.n_observations) * P
        passes = opened.source.passes
        self.solution_ = replace(fit.solution, passes=passes)
        self.n_steps_, self.n_passes_ = fit.solution.steps, passes
        self._design, self._unscaled = fit.posterior.design, fit.unscaled_covariance
        self._fit: GLMFit | None = fit

    def __getstate__(self) -> dict[str, Any]:
        """All but the training rows."""
        state: dict[str, Any] = super().__getstate__()
        return state | {"_fit": None} if "_fit" in state else state

    def __deepcopy__(self, memo: dict[int, Any]) -> GeneralizedLinearModel:
        """A copy that refers to the same training rows."""
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        for name, value in vars(self).items():
            setattr(other, name, value if name == "_fit" else deepcopy(value, memo))
        return other

    def __copy__(self) -> GeneralizedLinearModel:
        """A copy that refers to the same training rows."""
        other = type(self).__new__(type(self))
        other.__dict__.update(vars(self))
        return other

    def __sklearn_tags__(self) -> Any:
        """Some families want positive targets."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family in ("gamma", "poisson")
        return tags

    def predict(self, X: Any, *, offset: Any = None) -> Float:
        """The mean μ(x) for each row, times any exposure: pass ``offset=np.log(exposure)``."""
        a = self._activations(X, offset)
        likelihood = self.likelihood_
        mean = likelihood.mean(a)
        undefined = np.flatnonzero(np.isnan(mean))
        if len(undefined):
            warn(
                f"{len(undefined)} of {len(a)} rows have no mean (NaN): with link={likelihood.link!r} an activation "
                f"must be positive, and that of row {undefined[0]} is {a[undefined[0]]:.3g}. Use link='log' to "
                "extrapolate."
            )
        return mean

    def predict_interval(self, X: Any, *, level: float = 0.95, offset: Any = None) -> Float:
        """Lower and upper confidence limits (N, 2) of the mean of each row: those of its activation, mapped."""
        a = self._activations(X, offset)
        variance = self.dispersion_ * in_memory(self._map_rows(X, self._leverage))[0]
        half = quantile(level, self._residual) * np.sqrt(variance)
        mean = self.likelihood_.mean
        return np.sort(np.column_stack([mean(a - half), mean(a + half)]), axis=1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> float:
        """D², the share of the null deviance that is explained: 1 - Σ d(t, μ)/Σ d(t, mean). R² for gaussian.

        The mean is one number for all rows of y; with an offset, it is the mean that their activations have when the
        offset is all that tells them apart.
        """
        y, sample_weight = truth_in_memory(X, y, sample_weight)
        a = self._activations(X, offset)
        likelihood = self.likelihood_
        targets = open_targets(y, likelihood, len(a), sample_weight=sample_weight, offset=offset)
        flat = null_deviance(likelihood, targets)
        rest = -2.0 * targets.weighted_sum(likelihood.derivatives(a, targets.t).log_p)
        return float(1.0 - rest / flat) if flat > 0 else float(rest == 0.0)

    def test(self, columns: Any, *, method: str = "likelihood-ratio") -> TestResult:
        """Whether the coefficients of some columns are all zero.

        Parameters
        ----------
        columns : str, int or a list of them
            Names or positions of coefficients; ``"intercept"`` is one.
        method : {"likelihood-ratio", "wald", "score"}
            How; see `separatrix.discriminative.inference`.
        """
        check_option("test", "method", method, TESTS)
        estimates = self._estimates
        estimates.require_unpenalised(f"test(method={method!r})")
        return run_test(estimates.training_fit(), positions(columns, self.coefficient_names_), method)

    def summary(self, *, level: float = 0.95, interval: str = "wald", test: str = "wald") -> Summary:
        """A table of coefficients with standard errors, tests of each being zero, and intervals.

        Parameters
        ----------
        level : float, default 0.95
            Of the intervals.
        interval : {"wald", "profile"}
            The estimate and standard errors to both sides, or all values that a likelihood ratio test accepts: slower
            by some fits for each coefficient, and right where the likelihood is skewed.
        test : {"wald", "likelihood-ratio", "score"}
            Statistic and p value of each coefficient. The last two fit the model again without it.
        """
        estimates = self._estimates
        check_option("summary", "interval", interval, INTERVALS)
        check_option("summary", "test", test, TESTS)
        if interval == "profile" or test != "wald":
            estimates.require_unpenalised(f"summary(interval={interval!r}, test={test!r})")
        lower, upper = estimates.limits(level, interval)
        name, statistic, p_value = estimates.tests(test)
        return Summary(
            title=f"{self.likelihood_.response.name} regression, {self.likelihood_.link} link",
            names=self.coefficient_names_,
            coefficient=estimates.coefficients,
            standard_error=self.standard_errors_,
            statistic=statistic,
            p_value=p_value,
            lower=lower,
            upper=upper,
            statistic_name=name,
            test=test if self.alpha_ == 0 else "none",
            interval=interval,
            level=level,
            facts=self._facts(),
            notes=estimates.notes,
        )

    def _facts(self) -> dict[str, float]:
        return {
            "deviance": self.deviance_,
            "null deviance": self.null_deviance_,
            "residual degrees of freedom": self.degrees_of_freedom_,
            "dispersion": self.dispersion_,
            "log likelihood": self.log_likelihood_,
            "AIC": self.aic_,
            "BIC": self.bic_,
        }

    @property
    def _estimates(self) -> Estimates:
        check_is_fitted(self)
        coefficients = np.append(self.coef_, self.intercept_) if self.fit_intercept else self.coef_
        return Estimates(coefficients, self.standard_errors_, self._residual, self.alpha_, self._fit)

    @property
    def _residual(self) -> float:
        """Degrees of freedom of Student's t; infinite where the dispersion is known."""
        return self.degrees_of_freedom_ if self.likelihood_.response.has_dispersion else np.inf
