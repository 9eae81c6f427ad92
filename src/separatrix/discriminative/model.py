# SPDX-License-Identifier: BSD-3-Clause
"""Base class of logistic, probit and label-noise regression, with the `fit` that they share.

A fit sets up the negative log posterior, minimises it with a solver, checks that a maximum exists, and stores the
weights in the user's units. A subclass only adds its likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count, check_flags, check_number, check_option, check_positive, generator
from separatrix._array import Array, Float
from separatrix._threads import single_thread_blas
from separatrix.discriminative.coefficients import FRACTIONAL, WEIGHTS, HasCoefficients
from separatrix.discriminative.inference import Estimate
from separatrix.discriminative.maximum import WITHOUT_ROWS, Maximum, has_fractions, with_criteria
from separatrix.discriminative.sandwich import SURVEY, Sandwich
from separatrix.estimator import Limit, LinearClassifier, unchanged_on_error
from separatrix.exceptions import ConvergenceWarning, warn
from separatrix.likelihoods import ClassLikelihood, Logit, Softmax
from separatrix.priors import ElasticNet, Flat, Gaussian, Prior
from separatrix.rows import Source
from separatrix.separation import Support, check_separation, has_free_weights, signs_at_infinity, warn_if_collinear
from separatrix.solvers import (
    LBFGS,
    Auto,
    GradientDescent,
    Newton,
    Posterior,
    ProximalNewton,
    Solution,
    Solver,
    Step,
    StochasticGradient,
    pose,
)
from separatrix.weights import (
    Coefficients,
    Heading,
    NormalApproximation,
    WeightDistribution,
    inverse_information,
)

SOLVERS: Mapping[str, type[Any]] = {
    "auto": Auto,
    "newton": Newton,
    "lbfgs": LBFGS,
    "gradient": GradientDescent,
    "stochastic": StochasticGradient,
}
DEFAULT_TOL = 1e-8
CLASS_WEIGHT_NOTE = (
    "N, the likelihood, standard errors and p values count a row of a class with weight c as c rows, so errors may be "
    "much too small. The standard errors of weights='probability' hold for the rows."
)


class DiscriminativeClassifier(HasCoefficients, LinearClassifier):
    """Base class of logistic, probit and label-noise regression."""

    _distribution: WeightDistribution | None = None
    has_own_limits: ClassVar[bool] = False  # whether tol and max_steps are used although solver is an object
    regression: ClassVar[str] = "Logistic regression"  # what tables call the model
    ratio: ClassVar[str] = "odds ratios"  # what e^w is
    _facts: Mapping[str, float] | None = None
    _has_fractions = False  # whether frequency weights are not whole numbers

    def __init__(
        self,
        alpha: float = 1.0,
        prior: Prior | None = None,
        basis: Any = None,
        fit_intercept: bool = True,
        solver: Any = "auto",
        tol: float = DEFAULT_TOL,
        max_steps: int | None = None,
        trace: bool = False,
        rng: Any = None,
        class_weight: Any = None,
        prior_correction: bool = False,
        warm_start: bool = False,
        weights: str = "frequency",
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_steps = max_steps
        self.trace = trace
        self.rng = rng
        self.class_weight = class_weight
        self.prior_correction = prior_correction
        self.warm_start = warm_start
        self.weights = weights

    def _likelihood(self, n_classes: int) -> ClassLikelihood:
        """p(t | a) for this number of classes."""
        return Logit() if n_classes == 2 else Softmax(n_classes)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to labels y, or to soft targets, a table with the probability of each class for each row."""
        check_flags(self)
        name, prior, solver = type(self).__name__, self.prior, self._solver()
        check_option(name, "weights", self.weights, WEIGHTS)
        if prior is None:
            alpha = check_number(name, "alpha", self.alpha, low=0.0)
            prior = Gaussian(alpha**-0.5) if alpha > 0 else Flat()
        elif not isinstance(prior, Gaussian | Flat | ElasticNet):
            raise ValueError(
                f"{name}(prior={prior!r}): use Gaussian(...), ElasticNet(...) or Flat(), or None to use alpha."
            )
        elif isinstance(prior, ElasticNet) and not isinstance(solver, Auto | ProximalNewton):
            raise ValueError(
                f"{name}(prior={prior!r}, solver={self.solver!r}): this solver needs a smooth prior. Use solver='auto'."
            )
        # BLAS is limited to one thread once per fit; a limit set in every pass would cost as much as a small pass.
        with unchanged_on_error(self), single_thread_blas():
            last = self._last_weights() if self.warm_start else None
            training = self._open_training(X, y, sample_weight, soft=True)
            likelihood = self._likelihood(len(training.classes))
            if self.prior_correction:
                require_shiftable(name, fit_intercept=self.fit_intercept)
            objective = pose(training, likelihood, prior, fit_intercept=self.fit_intercept)
            start = np.zeros(objective.shape)
            if last is not None:  # a fit to a sample would move away from a good start
                start = start_of(objective, training.classes, last)
                objective = replace(objective, sample=None) if start.any() else objective
            solution = solver.minimise(objective, start)
            self.likelihood_ = likelihood
            self._conclude(objective, solution, training, start)
        return self

    def _conclude(self, objective: Posterior, solution: Solution[Float], training: Source, start: Float) -> None:
        """Store the weights and the solution; check that a maximum exists, and warn if the solver did not converge.

        ``start`` is where the solver started, zero unless the start is warm.
        """
        design, centred = objective.design, objective.centre_classes  # so that all solvers give the same weights
        W, w0 = design.in_user_units(centred(solution.value))
        self._keep_weights(W, w0 + self._shift() if self.prior_correction else w0, training)
        self._fit = Maximum.of(objective, centred(solution.value), solution, self.weights)
        self._has_fractions = self.weights == "frequency" and has_fractions(objective.source)
        self._distribution, self._robust, self._facts = None, None, self._fit.facts(may_read=False)
        if solution.trace:
            steps = (Step(design.in_user_units(centred(step.theta)), *step[1:]) for step in solution.trace)
            solution = replace(solution, trace=tuple(steps))
        self.trace_ = solution.trace
        support = Support() if training.is_soft else None
        self.separation_ = check_separation(objective, solution, len(training.classes), support=support)
        self._keep(solution, training.passes)
        if not self.separation_:
            warn_if_collinear(objective, solution)
        if not solution.is_converged and not (self.separation_ and has_free_weights(objective)):
            self._warn_of_steps(objective, solution)

    @property
    def weight_distribution_(self) -> WeightDistribution:
        """Distribution of (w, w0): the sampling distribution of the estimate, or with a prior the posterior.

        It is Gaussian, with the inverse Hessian of the objective as covariance. With K classes, the weights of each
        class are relative to the mean of the classes, because the data identify only differences. If the solver did not
        need the Hessian, the first use takes one pass over the training rows. Estimated rates of wrong labels count as
        known.
        """
        check_is_fitted(self)
        if self._distribution is None:
            if isinstance(self.prior, ElasticNet):
                raise AttributeError(
                    f"{type(self).__name__}(prior={self.prior!r}) has no distribution of its weights: the posterior "
                    "has corners where weights are zero, so no Gaussian describes it. Use a Gaussian prior, or "
                    "BayesianLogisticRegression."
                )
            if self._fit is None:
                raise ValueError(
                    "The distribution of the weights needs a pass over the training rows, which a saved model does not "
                    "contain. Call fit(X, y) again, or read model.weight_distribution_ before saving."
                )
            if self.weights == "probability" and self._robust is None:
                self._robust = self._survey_covariance()
            robust = None if self._robust is None else self._robust.covariance
            found: WeightDistribution = self._fit.distribution(type(self).__name__, robust)
            self._distribution = found.shifted(self._shift())
        return self._distribution

    def _survey_covariance(self) -> Sandwich:
        """The covariance for probability weights; raises ValueError with a prior, or if the classes are separable."""
        owner = f"{type(self).__name__}(weights='probability')"
        if not self._training_fit().is_flat:
            raise ValueError(
                f"{owner}: with probability weights there is no likelihood, so no posterior under a prior, only a "
                "sampling distribution of the estimate without one. Set alpha=0."
            )
        self._require_finite_weights(owner)
        return self._sandwich(SURVEY)

    def _heading(self) -> Heading:
        """What the table of coefficients says about the model."""
        if self._fit is not None:
            self._facts = self._fit.facts()
        has_note = self.class_weight is not None and self.weights == "frequency"
        reweighted = (CLASS_WEIGHT_NOTE,) if has_note else (FRACTIONAL,) * self._has_fractions
        facts = with_criteria(self._facts or {}, self.weight_distribution_.approximation.n_identified)
        return Heading(self.regression, self.classes_.tolist(), facts, self.ratio, reweighted)

    def _training_fit(self) -> Maximum:
        """The fit with its training rows."""
        if self._fit is None:
            raise ValueError(WITHOUT_ROWS)
        found: Maximum = self._fit
        return found

    def _estimate(self) -> Estimate:
        """The estimate with its training rows; raises ValueError without them."""
        fit, q = self._training_fit(), self.weight_distribution_
        objective = fit.rows

        def at_score(theta: Float, _: int) -> tuple[Float, float]:
            return inverse_information(objective.value_grad_hess(theta).hess, len(theta))[0], 1.0

        covariance, deviance = q.approximation.covariance, fit.facts()["deviance"]
        return Estimate(objective, fit.theta, covariance, deviance, 1.0, np.inf, np.zeros_like(fit.theta), at_score)

    def _bread(self) -> tuple[Posterior, NormalApproximation]:
        """The objective with its training rows, and the estimate with the inverse information as covariance."""
        fit = self._training_fit()
        return fit.rows, fit.approximation(type(self).__name__)

    def _keep_covariance(self, robust: Sandwich | None) -> None:
        """Use another covariance; None for the inverse information."""
        self._training_fit()  # raises if the inverse information is not known any more
        self._robust, self._distribution = robust, None

    def _restrictions(self, rows: Float) -> Float:
        """The functions themselves: the fit has the weights of all columns."""
        return rows

    def _values_at_zero(self, A: Float) -> Float:
        """Values of A θ at which A w = 0: class weights that are undone shift the intercepts w0."""
        shift = self._shift()
        if not shift.any():
            return np.zeros(len(A))
        return -np.asarray(A.reshape(len(A), len(shift), -1)[:, :, -1] @ shift)

    def _signs_at_infinity(self, chosen: Coefficients) -> Array:
        """Sign of each infinite coefficient, 0 for finite ones, and ``ANY_VALUE``."""
        objective = self._training_fit().rows
        source = objective.source.viewed(Support().repeat) if objective.source.is_soft else objective.source
        has_bias, n_classes = objective.design.bias, len(self.classes_)
        return signs_at_infinity(source, n_classes, chosen.L, chosen.Q, fit_intercept=has_bias)

    def _require_likelihood(self, what: str) -> None:
        """Raise ValueError if the model has a prior."""
        if not self.weight_distribution_.is_sampling:
            raise ValueError(
                f"{type(self).__name__}.{what}: with a prior, a test of w = 0 or a profile interval would count the "
                "prior as evidence. Set alpha=0, or use summary(), which shows the posterior."
            )

    def __getstate__(self) -> dict[str, Any]:
        """Everything except the training rows; with the distribution of the weights, if it needs no pass."""
        if self._fit is not None and self._fit.hess is not None:
            _ = self.weight_distribution_
        return super().__getstate__()

    def _shift(self) -> Float:
        """Change of each intercept that undoes class weights."""
        return prior_shift(self.class_weight_) if self.prior_correction else np.zeros(1)

    def predict_proba(self, X: Any) -> Array:
        """p(C_k | x), shape (N, K); columns are in the order of ``classes_``."""
        return self._map_rows(
            X, lambda Phi: self._of_classes(self.likelihood_.probabilities, Phi), read_once=True, limit=Limit.EQUAL
        )

    def predict_log_proba(self, X: Any) -> Array:
        """ln p(C_k | x), finite even if p underflows."""
        return self._map_rows(
            X, lambda Phi: self._of_classes(self.likelihood_.log_probabilities, Phi), read_once=True, limit=Limit.EQUAL
        )

    def _of_classes(self, probabilities: Callable[[Array], Array], Phi: Any) -> Array:
        """Probabilities of all classes; NaN if the activation overflows: its sign may be that of a partial sum."""
        a = self._activation(Phi)
        P = probabilities(a)
        if not np.isfinite(a).all():
            P[~np.isfinite(a.reshape(len(P), -1)).all(axis=1)] = np.nan
        return P

    def _solver(self) -> Solver:
        """The named solver with the tolerance and limits of the model, or the solver object, with a trace if requested.

        Raises ValueError if a solver object would ignore settings of the model.
        """
        name, solver = type(self).__name__, self.solver
        if isinstance(solver, type):
            raise ValueError(f"{name}(solver={solver.__name__}) is a class: use {solver.__name__}().")
        if not isinstance(solver, str) and isinstance(solver, Solver):
            given = {"rng": self.rng is not None}
            if not self.has_own_limits:
                given |= {"tol": self.tol != DEFAULT_TOL, "max_steps": self.max_steps is not None}
            for setting in (setting for setting, is_given in given.items() if is_given):
                raise ValueError(
                    f"{name}(solver={solver!r}, {setting}={getattr(self, setting)!r}): a solver object has its own "
                    f"settings. Set them in {type(solver).__name__}(...), or pass the solver by name, such as "
                    "solver='newton'."
                )
            if not self.trace:
                return solver
            if not (is_dataclass(solver) and "trace" in solver.__dataclass_fields__):
                raise ValueError(f"{name}(solver={solver!r}, trace=True): this solver keeps no trace.")
            return replace(solver, trace=True)
        kind = SOLVERS[check_option(name, "solver", self.solver, SOLVERS, otherwise=", or a solver object")]
        limits: dict[str, Any] = {"tol": check_positive(name, "tol", self.tol), "trace": self.trace}
        if self.max_steps is not None:
            steps = "max_epochs" if kind is StochasticGradient else "max_steps"
            limits[steps] = check_count(name, "max_steps", self.max_steps)
        if kind is StochasticGradient:
            limits["rng"] = generator(self.rng)
        return kind(**limits)  # type: ignore[no-any-return]

    def _warn_of_steps(self, objective: Posterior, solution: Solution[Float]) -> None:
        grad, corner = objective.value_grad(solution.value).grad, objective.prior.corner
        size = objective.gradient_size(grad if corner is None else corner.violation(solution.value, grad))
        is_named = isinstance(self.solver, str) or self.has_own_limits
        goal = f", and tol is {self.tol:.1e}" if is_named else ""
        remedy = "Raise max_steps or tol" if is_named else "Raise the limit of steps or tol of the solver object"
        remedy += "." if self.solver == "auto" else ", or use solver='auto'."
        warn(
            f"{type(self).__name__} {solution.status.value} ({solution.steps}): the gradient is {size:.1e} per row and "
            f"standard deviation{goal}. {remedy}",
            ConvergenceWarning,
        )


def start_of(objective: Posterior, classes: Array, last: tuple[Array, Float, Float]) -> Float:
    """Start of a search (C, P): weights of the last fit if it had the same classes and columns, otherwise zero."""
    C, M = objective.shape[0], len(objective.design.origin)
    if last[1].shape != (C, M) or not np.array_equal(last[0], classes):
        return np.zeros(objective.shape)
    return objective.design.of_user_units(*last[1:])


def require_shiftable(owner: str, *, fit_intercept: bool, has_shift: bool = True) -> None:
    """Raise unless a shift of the intercept undoes class weights."""
    if not has_shift:
        raise ValueError(
            f"{owner}(prior_correction=True): class weights shift log-odds, and with this likelihood no change of the "
            "intercept does the same. Use LogisticRegression, or DecisionRule instead of class_weight."
        )
    if not fit_intercept:
        raise ValueError(
            f"{owner}(prior_correction=True, fit_intercept=False): class weights shift the intercept, and the model "
            "has none. Set fit_intercept=True."
        )


def prior_shift(factors: Float) -> Float:
    """Change of the intercepts that undoes class weights, -ln c_k: (1,) for two classes, (K,) for more.

    Weights change p(C_k | x) to c_k p(C_k | x) / Σ_j c_j p(C_j | x), so they add ln c_k to the activation a_k. The
    intercepts of K classes keep their sum. (King & Zeng 2001, Logistic regression in rare events data, eq. 7)
    """
    shift = -np.log(factors)
    return np.diff(shift) if len(shift) == 2 else shift - shift.mean()
