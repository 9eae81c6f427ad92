# SPDX-License-Identifier: BSD-3-Clause
"""Logistic and softmax regression for labels that are sometimes wrong.                     PRML (4.117)

    p(label j | x) = Σ_k C_kj p(true class k | x),        p(true class k | x) = σ(a) or softmax(a)

For two classes and one rate ε of wrong labels, p(label 1 | x) = ε + (1 - 2ε) σ(a). A label that strongly contradicts
its row adds at most -ln ε to the loss, so it hardly moves the boundary. The likelihood is not concave. The fit starts
from the logistic regression without noise, which has a single maximum, and ends at a nearby maximum. The rates are
given, or estimated along with the weights (`noise_rates`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count, check_flags, check_option, check_positive
from separatrix._array import Array, Float
from separatrix._text import counted, listed
from separatrix.discriminative.maximum import Maximum, has_fractions
from separatrix.discriminative.model import DiscriminativeClassifier, require_shiftable
from separatrix.discriminative.noise_rates import (
    STRUCTURES,
    Joint,
    Noisy,
    Rates,
    given_confusion,
    noisy_likelihood,
    probability_wrong,
)
from separatrix.exceptions import DataError, SeparationWarning, warn
from separatrix.likelihoods import ClassLikelihood
from separatrix.priors import ElasticNet, Prior
from separatrix.rows import Block, Source, encode_labels, is_shares
from separatrix.separation import check_separation, has_free_weights, warn_if_collinear
from separatrix.solvers import Auto, Posterior, Solution, Step, dual, is_wide
from separatrix.stats import Design
from separatrix.weights import Coefficients, Heading

DEFAULT_MAX_STEPS = 2000
SHARP = (
    "A hyperplane separates all rows except those that the model treats as mislabelled. The maximum-likelihood "
    "estimate does not exist: the weights are those at which the solver stopped, and would grow without limit. Set a "
    "prior (alpha > 0)."
)
KNOWN_RATES = "Standard errors treat the estimated rates of wrong labels as known."
SHARP_FACTOR = 1e3  # weights multiplied by this factor have a practically sharp boundary


class LabelNoiseLogisticRegression(DiscriminativeClassifier):
    """Logistic regression (softmax regression for more classes) for data in which some labels are wrong.

    p(label j | x) = Σ_k C_kj p(C_k | x), with C_kj = p(label j | true class k); for two classes and one rate, p(label
    1 | x) = ε + (1 - 2ε) σ(a)  (PRML 4.117). The fit minimises E = -Σ_n weight_n ln p(label_n | x_n) + ½ alpha Σ_k
    |w_k|², minus the log prior of estimated rates. The model predicts the true class.

    Parameters
    ----------
    noise : float, array of shape (K,) or (K, K), or None, default None
        How often labels are wrong: one rate ε (spread evenly over the other classes), a rate for each true class, or
        the confusion matrix C. Rates must be below 1 - 1/K, and the most frequent label of each class must be correct.
        None: the rates are estimated.
    rates : {"one", "per-class", "full"}, default "one"
        What is estimated if ``noise`` is None: one rate, a rate for each true class, or the whole matrix C.
    alpha : float, default 1.0
        Precision of the Gaussian prior on each weight (not on the bias). 0 is maximum likelihood.
    prior : Gaussian or Flat, optional
        Prior with any scales, mean or covariance. It replaces ``alpha``.
    basis : basis function or transformer, optional
        Basis functions φ; see `separatrix.basis`.
    fit_intercept : bool, default True
        Whether to fit a bias w0.
    solver : {"auto", "newton", "lbfgs", "gradient", "stochastic"} or a solver object, default "auto"
        Solver of the first fit, without noise. L-BFGS continues from its result.
    tol : float, default 1e-8
        Stop when no component of the gradient exceeds this, per row and per standard deviation of its column.
    max_steps : int, optional
        Maximum number of steps; the default depends on the solver.
    trace : bool, default False
        Keep weights, objective and gradient of every step in ``trace_``, except for steps of the first fit.
    rng : int or numpy.random.Generator, optional
        Seed for the order of the rows in ``solver="stochastic"``.
    class_weight : {"balanced"} or mapping {label: factor}, optional
        Factor of the weights of each class, by the given label, as in `LogisticRegression`.
    prior_correction : bool, default False
        Not available, because the weights also change how often a label is wrong: True raises an error.
    warm_start : bool, default False
        Whether `fit` starts from the weights and rates of the last fit. If the likelihood has several maxima, the
        result may be another one.
    weights : {"frequency", "precision", "probability"}, default "frequency"
        What ``sample_weight`` means for standard errors, as in `LogisticRegression`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, M) for two classes, (K, M) for more
        Weights of the columns for the *true* label.
    intercept_ : ndarray of shape (1,) or (K,)
        Biases.
    noise_ : float or ndarray
        The rate, the rates (K,) or the confusion matrix (K, K), given or estimated.
    confusion_ : ndarray of shape (K, K)
        C, with a row for each true class.
    mislabelled_ : ndarray of shape (N,)
        Probability that the label of each training row is wrong, 1 - p(true class = label | label, x). Check the rows
        with the largest values first.
    class_weight_ : ndarray of shape (K,)
        The factor of each class.
    classes_, n_features_in_, feature_names_in_ : ndarray of shape (K,), int and ndarray of shape (D,)
        As in scikit-learn.
    separation_ : Separability
        Whether a hyperplane separates the given labels; see `LogisticRegression`.
    solution_, trace_, n_steps_, n_passes_
        As in `LogisticRegression`; steps and passes of both fits.

    Notes
    -----
    **Prior of the rates.** If rates are estimated, each ratio r = C_kj/C_kk is uniform on (0, 1), and the estimate is
    the mode in ln r/(1 - r). This prior has the effect of one more wrong label (per class, if each class has its own
    rate), so a rate is never exactly zero. The effect is negligible if at least a few labels are wrong.

    **Limits.** A wrong label is recognised because it contradicts its row. If classes overlap, a contradiction may be
    genuine. If there are hardly more rows than weights, the model can fit the wrong labels, and nothing contradicts.
    Estimated rates are then too low: raise ``alpha``, or set the rate.

    **Rates and alpha.** A prior shrinks the weights, so the estimated boundary is softer than the true boundary, and
    overlap explains wrong labels. With the default ``alpha=1``, estimated rates are too low. With four standard normal
    columns, weights of length 6, 500 rows and 20 % wrong labels, the mean estimate is 0.15 for ``alpha=1`` and 0.20 for
    ``alpha=0.01`` (± 0.025 from sample to sample); with 3000 rows, it is 0.186 and 0.202. If the rate itself matters,
    and there are many times more rows than columns, set ``alpha=0.01``.

    **Which maximum.** The likelihood may have several maxima. The fit starts from the logistic regression without
    noise, so it needs no random starts and never exchanges classes.

    **Sharp boundaries.** Without a prior on the weights (``alpha=0``) a maximum may not exist even if labels overlap.
    If a hyperplane separates all rows except a few, the likelihood always increases with the length of the weights, and
    these few labels are treated as wrong. A `SeparationWarning` reports this.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.discriminative import LabelNoiseLogisticRegression
    >>> x = np.linspace(-4.0, 4.0, 200)
    >>> y = (x > 0).astype(int)
    >>> y[[5, 60, 150]] = 1, 1, 0
    >>> model = LabelNoiseLogisticRegression(alpha=0.01).fit(x[:, None], y)
    >>> np.argsort(-model.mislabelled_)[:3].tolist()
    [5, 150, 60]
    >>> round(model.noise_, 3)
    0.02
    """

    has_own_limits = True
    _is_sharp = False  # whether the weights would grow without limit
    regression = "Logistic regression with wrong labels"
    confusion_: Float

    def __init__(
        self,
        noise: Any = None,
        rates: str = "one",
        alpha: float = 1.0,
        prior: Prior | None = None,
        basis: Any = None,
        fit_intercept: bool = True,
        solver: Any = "auto",
        tol: float = 1e-8,
        max_steps: int | None = None,
        trace: bool = False,
        rng: Any = None,
        class_weight: Any = None,
        prior_correction: bool = False,
        warm_start: bool = False,
        weights: str = "frequency",
    ) -> None:
        super().__init__(alpha, prior, basis, fit_intercept, solver, tol, max_steps, trace, rng)
        self.class_weight = class_weight
        self.prior_correction = prior_correction
        self.warm_start = warm_start
        self.weights = weights
        self.noise = noise
        self.rates = rates

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LabelNoiseLogisticRegression:
        """Fit to labels y, some of which may be wrong."""
        check_flags(self)
        check_option(type(self).__name__, "rates", self.rates, STRUCTURES)
        if self.prior_correction:  # weights by the given label also change how often a label is wrong
            require_shiftable(type(self).__name__, fit_intercept=self.fit_intercept, has_shift=False)
        if isinstance(self.prior, ElasticNet):
            raise ValueError(
                f"{type(self).__name__}(prior={self.prior!r}): weights and rates are estimated together, which needs a "
                "smooth prior. Use Gaussian(...), or drop columns by a LogisticRegression(prior=ElasticNet(...)) first."
            )
        if is_shares(y):
            raise DataError(
                f"y has {counted(np.shape(y)[1], 'column')}: LabelNoiseLogisticRegression needs one label for each "
                "row, not "
                "probabilities. Describe wrong labels by noise=; for probabilities use LogisticRegression."
            )
        super().fit(X, y, sample_weight)
        return self

    def mislabelled(self, X: Any, y: Any) -> Float:
        """Probability that the label of each row is wrong: 1 - p(true class = y | label y, x)."""
        check_is_fitted(self)
        labels, codes = encode_labels(y)
        at = np.searchsorted(self.classes_, labels)
        known = self.classes_[np.minimum(at, len(self.classes_) - 1)] == labels
        if not np.all(known):
            raise DataError(
                f"y has the label {labels[~known].tolist()[0]!r}, which is not among the classes of the fit: "
                f"{listed(self.classes_.tolist())}."
            )
        a = self.decision_function(X)
        if len(a) != len(codes):
            raise DataError(
                f"X has {counted(len(a), 'row')} but y has {counted(len(codes), 'label')}; their lengths must be equal."
            )
        return probability_wrong(noisy_likelihood(self.confusion_), a, at[codes])

    def _likelihood(self, n_classes: int) -> ClassLikelihood:
        """Likelihood of the first fit, without noise."""
        self._rates(n_classes)  # raises if the noise is invalid, before the fit
        return super()._likelihood(n_classes)

    def _conclude(self, objective: Posterior, solution: Solution[Float], training: Source, start: Float) -> None:
        """Estimate weights and confusion matrix, starting from the weights of the fit without noise.

        The separation of that fit is stored; its convergence is not checked. If there are fewer rows than columns, the
        dual problem is solved. A warm start uses the last fit with noise.
        """
        is_warm = bool(start.any())
        self.separation_ = check_separation(objective, solution, len(training.classes))
        if not self.separation_:
            warn_if_collinear(objective, solution)
        name = type(self).__name__
        tol = check_positive(name, "tol", self.tol)
        most = DEFAULT_MAX_STEPS if self.max_steps is None else check_count(name, "max_steps", self.max_steps)
        small = dual(objective) if is_wide(objective) else None
        problem, start = objective if small is None else small.objective, start if is_warm else solution.value
        if small is not None:
            start = Auto(tol).minimise(problem, np.zeros(problem.shape)).value
        joint = Joint(problem, self._rates(len(self.classes_)))
        rates = joint.rates.start(self.confusion_ if is_warm else None)
        found = joint.minimise(start, rates, tol=tol, max_steps=most, trace=self.trace)
        theta, eta = joint.split(found.value)
        trace = tuple(Step(joint.split(step.theta)[0], *step[1:]) for step in found.trace)
        found = replace(found, value=theta, trace=trace, end=None)
        found, confusion = found if small is None else small.primal(found), joint.rates.confusion(eta)
        likelihood, theta = noisy_likelihood(confusion), found.value
        noisy = replace(objective, likelihood=likelihood)
        if not found.is_converged and not (self.separation_ and has_free_weights(objective)):
            self._warn_of_steps(noisy, found)
        self._is_sharp = False
        if not self.separation_ and has_free_weights(objective):
            here, far = (noisy.value_grad(scale * theta).value for scale in (1.0, SHARP_FACTOR))
            self._is_sharp = bool(far <= here + noisy.units.rounding * abs(here))
            if self._is_sharp:
                warn(SHARP, SeparationWarning)
        in_units = objective.design.in_user_units
        self._keep_weights(*in_units(theta), training)
        self._fit = Maximum.of(noisy, theta, found, self.weights)
        self._has_fractions = self.weights == "frequency" and has_fractions(objective.source)
        self._distribution, self._robust, self._facts = None, None, self._fit.facts(may_read=False)
        self.likelihood_, self.confusion_ = likelihood, confusion
        if self.noise is None:
            wrong_rates = 1.0 - np.diag(confusion)
            self.noise_ = {"one": float(wrong_rates[0]), "per-class": wrong_rates, "full": confusion}[self.rates]
        else:
            self.noise_ = float(self.noise) if np.ndim(self.noise) == 0 else np.array(self.noise, dtype=np.float64)
        parts = objective.source.reduce(partial(wrong_labels, theta, likelihood, objective.design))
        row, probability = (np.concatenate(part) for part in zip(*parts, strict=True))
        self.mislabelled_ = probability[np.argsort(row)]
        self.trace_ = tuple(Step(in_units(step.theta), *step[1:]) for step in found.trace)
        steps = solution.steps + found.steps
        self._keep(replace(found, steps=steps, trace=self.trace_), training.passes)

    def _heading(self) -> Heading:
        """What the table of coefficients says about the model."""
        notes = (SHARP,) * self._is_sharp + (KNOWN_RATES,) * (self.noise is None)
        return super()._heading().with_notes(*notes)

    def _require_finite_weights(self, owner: str) -> None:
        """Raise ValueError if the weights would grow without limit."""
        if self._is_sharp:
            raise ValueError(f"{owner}: {SHARP}")

    def _signs_at_infinity(self, chosen: Coefficients) -> Array:
        """No signs: labels may be wrong, so no hyperplane that separates them makes a coefficient infinite."""
        return np.zeros(len(chosen), dtype=np.intp)

    def _rates(self, n_classes: int) -> Rates:
        rates = Rates.of(self.rates, n_classes)
        if self.noise is None:
            return rates
        return replace(rates, known=given_confusion(type(self).__name__, self.noise, n_classes))


def wrong_labels(theta: Float, likelihood: Noisy, design: Design, block: Block) -> list[tuple[Array, Float]]:
    """Row numbers of one block, and the probability that the label of each row is wrong."""
    return [(np.asarray(block.row), probability_wrong(likelihood, design.activate(block, theta), block.codes))]
