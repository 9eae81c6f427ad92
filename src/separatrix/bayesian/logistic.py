# SPDX-License-Identifier: BSD-3-Clause
"""Bayesian logistic regression.                                                      PRML §4.5, §4.4.1

    prior        p(w) = N(w | m0, S0)                                                              (4.140)
    posterior    p(w | D) ≈ N(w | mean, A⁻¹)                                                       (4.144)
    predictive   p(C_1 | x, D) = ∫ σ(a) N(a | mean'φ̃, φ̃'A⁻¹φ̃) da                                 (4.151)
    evidence     p(D) = ∫ p(D | w) p(w) dw                                                         (4.136)

for two classes (logit, probit, or logit with noisy labels) and for K classes (softmax, with a joint posterior). The
Gaussian is Laplace's approximation at the mode, or a better one if that is inaccurate: see `inference`.

The prior must be proper in every direction: under a flat prior p(D) is zero, and models cannot be compared (§4.4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_flags, check_number, check_option, check_positive, generator
from separatrix._array import Array, Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.evidence import effective_parameters, rescaled
from separatrix.bayesian.inference import METHODS, STRUCTURES, infer
from separatrix.bayesian.posterior import weight_names
from separatrix.bayesian.predictive import RULES, average_probabilities, exact_probabilities, probability_intervals
from separatrix.bayesian.record import Options
from separatrix.discriminative import prior_shift, require_shiftable, start_of
from separatrix.estimator import Limit, LinearClassifier, require_two_classes, unchanged_on_error
from separatrix.exceptions import ApproximationWarning, ConvergenceWarning, DataError, warn
from separatrix.likelihoods import ClassLikelihood, LabelNoise, Logit, Probit, Softmax
from separatrix.priors import ElasticNet, Flat, Gaussian, Penalty
from separatrix.rows import Source, given_classes, is_hashable, labels_of
from separatrix.solvers import Posterior, pose
from separatrix.weights import Draws, Heading, Reading, Summary, WeightDistribution, interval_tails, summarise

LIKELIHOODS = ("logit", "probit", "label_noise")
INTERCEPT_SCALE = 10.0  # default; the log-odds of the classes of any table are within two standard deviations
NO_EVIDENCE = (
    "under a flat prior the evidence of any data is zero, and its logarithm minus infinity. Give a Gaussian with "
    "finite scales, or use LogisticRegression(alpha=0) for a point estimate."
)


class ActivationDistribution(NamedTuple):
    """Mean and variance of each row's activation: (N,) for two classes, (N, K) for more."""

    mean: Float
    variance: Float


class BayesianLogisticRegression(LinearClassifier):
    """Logistic or softmax regression with a posterior over its weights.

    The posterior p(w | D) ∝ p(D | w) N(w | m0, S0) is approximated by a Gaussian. Predictions are averaged over it. The
    evidence p(D) is used to compare priors, bases and models (PRML §4.4, §4.5).

    Parameters
    ----------
    prior : Gaussian, optional
        Prior of the weights: isotropic, with one scale per column, or with a full covariance. If it is flat for the
        intercept, the intercept gets a scale of 10. By default, all scales are tuned, and the evidence chooses
        among one scale, one for each column, and a covariance that follows the correlations of the columns.
    likelihood : {"logit", "probit", "label_noise"}, default "logit"
        With more than two classes, "logit" means the softmax, and the others are not available.
    noise : float, default 0.05
        Fraction of wrong labels, for "label_noise".
    standardize : bool, default True
        If True, the prior refers to weights per standard deviation of each column and to the intercept at the mean of
        the columns. If False, it refers to weights in the units of the columns and to the intercept at x = 0.
    tune : {"auto", "evidence", None}, default "auto"
        "evidence" averages the posterior over the scales of the prior, one for all columns or one per group, with the
        evidence p(D) of each. None uses the prior as stated, or Gaussian(1.0). "auto" is "evidence" if no prior is
        stated, and None otherwise; ``partial_fit`` does not tune. If the prior is tuned, held-out rows choose whether
        probabilities are averages over the posterior, narrower averages, or those of modes; ``plan_`` shows the choice.
    groups : "columns" or sequence of M labels, optional
        Columns with the same label share a tuned scale. "columns": one scale each; the logarithms of these scales share
        a normal prior.
    approximation : {"auto", "laplace", "variational", "ep", "importance", "hmc"}, default "auto"
        Method that computes the posterior; "auto" uses Laplace's approximation if it is accurate, or a better one.
        "importance" and "hmc" (Hamiltonian Monte Carlo) predict with draws from the posterior itself.
    predictive : {"exact", "qmc", "probit", "map"}, default "exact"
        Rule that averages probabilities over the posterior. For K classes "exact" is an approximation with errors of
        at most 0.01, except for rows whose activations vary by several units; there "qmc" is more accurate.
    structure : {"full", "by class", "dual", "diagonal"}, optional
        Parts of the covariance that are kept; chosen by the size of the problem by default.
    basis, fit_intercept, tol
        As in `LogisticRegression`.
    rng : int or numpy.random.Generator, optional
        Source of random draws in diagnostics and importance sampling.
    class_weight, prior_correction : as in `LogisticRegression`
        The correction shifts the posterior of the intercept, so probabilities are averaged afterwards.
    warm_start : bool, default False
        Whether the search for the mode starts from the last fit, as in `LogisticRegression`.

    Attributes
    ----------
    posterior_ : WeightDistribution
        The distribution of the weights in the user's units: ``mean``, ``std``, ``covariance``, ``sample(n)``,
        ``functions(L)``. Predictions, intervals and summaries are computed from it alone.
    coef_, intercept_ : ndarrays of shape (1, M) and (1,), or (K, M) and (K,)
        Mean of the posterior.
    log_evidence_ : float
        ln p(D), the sum of ``log_likelihood_`` and ``occam_factor_``.
    log_likelihood_, occam_factor_ : float
        Fit to the training labels, and penalty for flexibility (a logarithm).
    bic_, aic_ : float
        Information criteria at the posterior mean; smaller is better.
    effective_parameters_ : float
        Number of directions of the weights that the data determine.
    prior_ : Gaussian
        The prior that was used; after tuning, with the most probable scales.
    probability_error_ : float
        Estimated average error of probabilities that is due to the approximation; NaN if not computed.
    largest_error_ : float
        The same, for the row at the 99th percentile.
    interval_error_ : float
        The same, for the bounds of 95 % intervals on average.
    pareto_k_ : float
        Shape of the tail of importance weights, a second measure of accuracy; NaN if not computed.
    approximation_ : str
        Name of the approximation that was used.
    tuning_ : TuningReport or None
        Record of the tuning: scales, evidence and gradient of each step, and limits reached; None if not tuned.
    draws_ : Draws or None
        Weighted draws of the weights; None if a Gaussian is as accurate. Intervals and summaries are their quantiles,
        and if ``draws_.for_averages``, probabilities average over them.
    notes_ : tuple of str
        Notes on the fit, which ``summary()`` also prints; most of them are also warnings.
    class_weight_ : ndarray of shape (K,)
        The factor of each class.
    classes_, n_features_in_, feature_names_in_, n_passes_, n_steps_, solution_
        As in `LogisticRegression`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import BayesianLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianLogisticRegression().fit(X[50:], y[50:])
    >>> model.predict_proba(X[77:78]).round(1)
    array([[0.6, 0.4]])
    >>> model.predict_interval(X[77:78]).round(2)
    array([[0.04, 0.82]])
    """

    _n_observations: float | None = None  # sum of the weights of the rows; None in models saved before it was kept

    def __init__(
        self,
        prior: Gaussian | None = None,
        likelihood: str = "logit",
        noise: float = 0.05,
        standardize: bool = True,
        tune: str | None = "auto",
        groups: Any = None,
        approximation: str = "auto",
        predictive: str = "exact",
        structure: str | None = None,
        basis: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        rng: Any = None,
        class_weight: Any = None,
        prior_correction: bool = False,
        warm_start: bool = False,
    ) -> None:
        self.prior = prior
        self.likelihood = likelihood
        self.noise = noise
        self.standardize = standardize
        self.tune = tune
        self.groups = groups
        self.approximation = approximation
        self.predictive = predictive
        self.structure = structure
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.rng = rng
        self.class_weight = class_weight
        self.prior_correction = prior_correction
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BayesianLogisticRegression:
        """Compute the posterior, and tune the prior if requested."""
        self._check_arguments()
        with unchanged_on_error(self):
            last = self._last_weights() if self.warm_start else None
            training = self._open_training(X, y, sample_weight, soft=True)
            self._infer(training, self._prior(), last, tune=self.tunes_prior)
        return self

    @property
    def tunes_prior(self) -> bool:
        """Whether ``fit`` tunes the scales of the prior."""
        return self.tune == "evidence" or (self.tune == "auto" and self.prior is None)

    def _has_partial_fit(self) -> bool:
        if self.tune == "evidence":
            raise AttributeError(
                "partial_fit keeps one prior for all batches, and tuning needs all rows at once. Set tune=None, or fit "
                "all rows."
            )
        return True

    @available_if(_has_partial_fit)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> BayesianLogisticRegression:
        """Update the posterior with a batch, for which the posterior of the earlier batches is the prior.

        Each batch replaces the posterior by a Gaussian. If batches have many rows per weight, the result is close to a
        fit of all rows together. With few rows per weight, the posterior of the first batches is skewed, and
        probabilities of K classes may differ by 0.1 or more. With the full covariance, "auto" gives a warning if the
        mean of a weight is more than 0.3 standard deviations from its mode. The scales of the prior refer to the
        standard deviations of the first batch and cannot be tuned, so the first batch should be large, or columns
        scaled and ``standardize=False``.

        The first call needs ``classes`` if its rows do not contain all classes. ``log_evidence_`` covers all batches;
        ``log_likelihood_``, ``occam_factor_``, ``bic_`` and ``aic_`` cover the last batch.
        """
        self._check_arguments()
        first = "posterior_" not in vars(self)
        known = None if classes is None else given_classes(classes)
        if not first:
            if known is not None and not np.array_equal(known, np.sort(self.classes_)):
                raise DataError(
                    f"partial_fit(classes={classes!r}): the first batch had other classes, {self.classes_.tolist()}. "
                    "Give all classes with the first batch, and none later."
                )
            known = self.classes_
        prior = self._prior() if first else self.posterior_.shifted(-self._shift()).as_prior()
        with unchanged_on_error(self):
            training = self._open_training(
                X,
                y,
                sample_weight,
                soft=True,
                reset=first,
                known=known,
                least_classes=1 if known is not None else 2,
                is_batch=True,
            )
            earlier, n_earlier = (0.0, 0.0) if first else (self.log_evidence_, self._n_observations or np.nan)
            self._infer(training, prior, is_batch=True)
            self.log_evidence_ += earlier  # p(D1, D2) = p(D1) p(D2 | D1)
            self._n_observations = (self._n_observations or np.nan) + n_earlier
        return self

    def _infer(
        self,
        training: Source,
        prior: Gaussian | Penalty,
        last: tuple[Array, Float, Float] | None = None,
        *,
        tune: bool = False,
        is_batch: bool = False,
    ) -> None:
        options = Options(
            self.approximation,
            self.structure,
            tune,
            self._group_labels(),
            self.tol,
            generator(self.rng),
            aligns=self.prior is None and self.standardize,
            is_reweighted=self.class_weight is not None,
            states_intercept=self.prior is not None and bool(np.isfinite(self.prior.intercept_scale)),
            scales_rare_columns=tune and self.prior is None and self.standardize,
            is_batch=is_batch,
        )
        with single_thread_blas():
            objective = self._pose(training, prior)
            found = infer(objective, options, last and start_of(objective, training.classes, last))
        objective, approximation = found.objective, found.gaussian
        design = objective.design
        names = (*training.columns, "intercept")[: design.width]
        self.likelihood_ = self._likelihood(training.classes)
        posterior = WeightDistribution(approximation, design, names, found.draws, found.variance_factor, found.blend)
        self.posterior_ = posterior.shifted(self._shift())
        self.coef_, self.intercept_ = design.in_user_units(self.posterior_.approximation.mean)
        self.log_likelihood_, self.log_evidence_ = approximation.log_likelihood, approximation.log_evidence
        self.occam_factor_ = self.log_evidence_ - self.log_likelihood_  # (4.137)
        self.effective_parameters_ = effective_parameters(found.at_mode or approximation, objective.prior)
        self.approximation_, self.pareto_k_ = approximation.name, found.pareto_k
        errors = found.errors
        self.probability_error_, self.largest_error_ = errors.average, errors.largest
        self.interval_error_ = errors.bounds
        limits = () if found.tuning is None else found.tuning.boundary
        self.tuning_, self.plan_ = found.tuning, found.plan
        self.notes_ = tuple(dict.fromkeys([*found.warnings, *found.notes, *(limit.describe() for limit in limits)]))
        if isinstance(prior, Gaussian):  # later batches keep the prior of the first
            self.prior_ = rescaled(prior, found.factors)
            if found.shape is not None:
                self.prior_ = replace(self.prior_, covariance=found.shape)
        self._n_observations = objective.units.total
        n_weights = design.width * max(1, objective.shape[0] - 1)  # the weights of one class are redundant
        self.bic_ = n_weights * float(np.log(objective.units.total)) - 2 * self.log_likelihood_  # -2 times (4.139)
        self.aic_ = 2.0 * n_weights - 2 * self.log_likelihood_  # -2 times (1.73)
        assert found.solution is not None, "with the mode"
        self._keep(found.solution, training.passes)
        for warning in found.warnings:
            warn(warning, ApproximationWarning)
        if not found.solution.is_converged:
            warn(
                f"{type(self).__name__}: the search for the mode {found.solution.status.value} ({self.n_steps_}). "
                f"Increase tol, which is {self.tol:.1e}.",
                ConvergenceWarning,
            )

    @property
    def weight_distribution_(self) -> WeightDistribution:
        """The posterior; the same name as for models that are fitted by maximum likelihood."""
        check_is_fitted(self)
        return self.posterior_

    @property
    def draws_(self) -> Draws | None:
        """Draws of the posterior; None if a Gaussian is as accurate."""
        return self.posterior_.draws

    def _shift(self) -> Float:
        """Change of each intercept that undoes class weights; averages over the posterior are computed afterwards."""
        return prior_shift(self.class_weight_) if self.prior_correction else np.zeros(1)

    def _pose(self, training: Source, prior: Gaussian | Penalty) -> Posterior:
        """Return -ln p(D, w) as a function of w, up to a constant."""
        objective = pose(
            training,
            self._likelihood(training.classes),
            prior,
            fit_intercept=self.fit_intercept,
            standardize=self.standardize and isinstance(prior, Gaussian),  # a posterior is in user units
            with_extent=True,
        )
        flat = np.flatnonzero(objective.prior.free)
        if len(flat):
            raise DataError(f"The prior of {weight_names(objective)[flat[0]]!r} has an infinite scale: {NO_EVIDENCE}")
        return objective

    def _likelihood(self, classes: Array) -> ClassLikelihood:
        if self.likelihood == "logit":
            return Softmax(len(classes)) if len(classes) > 2 else Logit()
        remedy = "Use likelihood='logit', or OneVsRest or OneVsOne."
        require_two_classes(f"likelihood={self.likelihood!r}", classes, remedy)
        return Probit() if self.likelihood == "probit" else LabelNoise(self.noise)

    def _prior(self) -> Gaussian:
        """Return the prior, with a finite scale for the intercept."""
        prior = Gaussian() if self.prior is None else self.prior
        name = type(self).__name__
        if isinstance(prior, Flat):
            raise DataError(f"{name}(prior={prior!r}): {NO_EVIDENCE}")
        if isinstance(prior, ElasticNet):
            raise ValueError(
                f"{name}(prior={prior!r}): the posterior has corners where weights are zero, so a Gaussian does not "
                "describe it. For sparse weights without a posterior, use LogisticRegression(prior=ElasticNet(...)). "
                "To shrink columns that do not matter, use tune='evidence', groups='columns' with a Gaussian prior."
            )
        if not isinstance(prior, Gaussian):
            raise ValueError(f"{name}(prior={prior!r}): give Gaussian(...), or None for Gaussian(1.0).")
        return prior if np.isfinite(prior.intercept_scale) else replace(prior, intercept_scale=INTERCEPT_SCALE)

    def predict_proba(self, X: Any) -> Array:
        """Return p(C_k | x, D), shape (N, K), averaged over the posterior."""
        return self._map_posterior(X, average_probabilities, self.predictive)

    def predict_log_proba(self, X: Any) -> Array:
        """Return ln p(C_k | x, D)."""
        with np.errstate(divide="ignore"):  # a probability that underflows to zero
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        P = self.predict_proba(X)
        return labels_of(self.classes_, P.argmax(axis=1))

    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """Return the lower and upper bound of a credible interval of each probability.

        For two classes the result has shape (N, 2) and refers to ``classes_[1]``. For K classes it has shape (N, K, 2).
        The bounds are quantiles of the probability over the posterior: over its draws if the model has draws.
        """
        return self._map_posterior(X, probability_intervals, interval_tails("predict_interval", level))

    def decision_distribution(self, X: Any) -> ActivationDistribution:
        """Return mean and variance of the activation of each row, over the posterior."""
        check_is_fitted(self)
        moments = self._map_rows(X, lambda Phi: np.stack(self.posterior_.activation_moments(Phi), axis=1))
        return ActivationDistribution(*np.moveaxis(moments, 1, 0))

    def predict_with_error(self, X: Any, n: int = 4096) -> tuple[Array, Array]:
        """Return probabilities by the most exact rule, and the standard errors of the numerical integration."""
        P, error = np.moveaxis(self._map_posterior(X, exact_probabilities, n), 1, 0)
        return P, error

    def summary(
        self,
        reference: Any = None,
        exponentiate: bool = False,
        level: float = 0.95,
        *,
        interval: str = "wald",
        test: str = "wald",
    ) -> Summary:
        """Return the table of coefficients: mean, standard deviation, credible interval and probability of sign.

        Parameters
        ----------
        reference : label, optional
            Class with which other classes are compared. By default, the first of two classes; with more classes, the
            mean of all classes, because the data determine only differences between their weights.
        exponentiate : bool, default False
            Show e^w instead of w: odds ratios.
        level : float, default 0.95
            Level of the intervals.
        interval, test
            For maximum likelihood, as in `LogisticRegression.summary`; a posterior accepts only the default.
        """
        return self._summary(Reading(reference, exponentiate, level, interval, test))

    def _summary(
        self, reading: Reading, functions: tuple[Sequence[str], Any] | None = None, notes: tuple[str, ...] = ()
    ) -> Summary:
        """Return the table of the weights, or of linear ``functions`` of them, with more notes."""
        check_is_fitted(self)
        reading.require_posterior(type(self).__name__)
        return summarise(self.posterior_, self._heading().with_notes(*notes), reading, functions)

    def with_covariance(self, kind: Any) -> NoReturn:
        """Raise ValueError: a posterior has no robust covariance."""
        raise ValueError(
            f"{type(self).__name__}.with_covariance(...): a posterior already is the distribution of the weights given "
            "the rows, and a robust covariance is defined for estimates. Use LogisticRegression(alpha=0)."
        )

    def _heading(self) -> Heading:
        """What the table of coefficients says about the model."""
        name = {"logit": "logistic", "probit": "probit", "label_noise": "logistic"}[self.likelihood]
        noise = f", {100 * self.noise:g} % wrong labels" if self.likelihood == "label_noise" else ""
        facts = {"N": self._n_observations, "log evidence": self.log_evidence_}
        known = {name: value for name, value in facts.items() if value is not None and not np.isnan(value)}
        ratio = "" if self.likelihood == "probit" else "odds ratios"
        return Heading(f"Bayesian {name} regression{noise}", self.classes_.tolist(), known, ratio, self.notes_)

    def _map_posterior(self, X: Any, function: Callable[..., Array], argument: Any) -> Array:
        """Return ``function(posterior, rows, likelihood, argument)`` for all rows."""
        check_is_fitted(self)
        posterior, likelihood = self.posterior_, self.likelihood_
        return self._map_rows(X, lambda Phi: function(posterior, Phi, likelihood, argument), limit=Limit.EQUAL)

    def _group_labels(self) -> Any:
        """``groups`` as None, a text, or a tuple of labels."""
        if self.groups is None or isinstance(self.groups, str):
            return self.groups
        return tuple(self.groups)

    def _check_arguments(self) -> None:
        check_flags(self)
        name = type(self).__name__
        check_option(name, "likelihood", self.likelihood, LIKELIHOODS)
        check_number(name, "noise", self.noise, low=0.0, high=0.5)
        check_option(name, "approximation", self.approximation, METHODS)
        check_option(name, "predictive", self.predictive, RULES)
        check_positive(name, "tol", self.tol)
        if self.prior_correction:
            require_shiftable(name, fit_intercept=self.fit_intercept, has_shift=self.likelihood == "logit")
        if self.structure is not None:
            check_option(name, "structure", self.structure, STRUCTURES, otherwise=", or None")
        if self.tune is not None:
            check_option(name, "tune", self.tune, ("auto", "evidence"), otherwise=", or None")
        is_list = isinstance(self.groups, Iterable) and getattr(self.groups, "shape", None) != ()
        if self.groups is not None and not (is_list and all(map(is_hashable, self.groups))):
            raise ValueError(f"{name}(groups={self.groups!r}): choose None, 'columns', or a label for each column.")
        if self.groups is not None and not self.tunes_prior:
            raise ValueError(
                f"{name}(groups={self.groups!r}): groups are columns that share a scale in tuning. Set "
                "tune='evidence' as well, or groups=None."
            )

    def __sklearn_tags__(self) -> Any:
        """Declare that only the logit supports more than two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.likelihood == "logit"
        return tags
