# SPDX-License-Identifier: BSD-3-Clause
"""Logistic and softmax regression for labels that are sometimes wrong.                     PRML (4.117)

    p(label j | x) = Σ_k C_kj p(true class k | x),        p(true class k | x) = σ(a) or softmax(a)

For two classes and one rate ε of wrong labels, p(label 1 | x) = ε + (1 - 2ε) σ(a). A label that contradicts its row by
far then costs no more than -ln ε, and is set aside instead of bending the boundary. The price is a likelihood that is
not concave, so the fit goes from the logistic regression of the labels as they are, which has one maximum and no other,
to the nearest maximum of this one. The rates are given, or estimated along with the weights (`noise_rates`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count, check_option, check_positive
from separatrix._array import Float
from separatrix.discriminative.confusion import STRUCTURES, KnownRates, Rates, given_confusion, noisy_likelihood
from separatrix.discriminative.model import DiscriminativeClassifier
from separatrix.discriminative.noise_rates import Joint, doubts, estimate, wrong_share
from separatrix.estimator import first_of
from separatrix.exceptions import DataError, SeparationWarning, warn
from separatrix.likelihoods import ClassLikelihood, Logit, Softmax
from separatrix.priors import Prior
from separatrix.rows import Source, encode_labels, is_shares
from separatrix.separation import check_separation, has_free_weights, warn_if_collinear
from separatrix.solvers import Auto, Posterior, Solution, Step, dual, is_wide

__all__ = ["LabelNoiseLogisticRegression"]

MOST_STEPS = 2000  # where the user sets no limit
FAR = 1e3  # times the weights: a boundary that is sharp by any measure


class LabelNoiseLogisticRegression(DiscriminativeClassifier):
    """Logistic regression (softmax regression for more classes) that expects some labels to be wrong.

    p(label j | x) = Σ_k C_kj p(C_k | x), with C_kj = p(label j | true class k): for two classes and one rate,
    p(label 1 | x) = ε + (1 - 2ε) σ(a)  (PRML 4.117). Fitted by minimising
    E = -Σ_n weight_n ln p(label_n | x_n) + ½ alpha Σ_k |w_k|², and less the log prior of the rates where those are
    estimated. Predictions are of the true class.

    Parameters
    ----------
    noise : float, array of shape (K,) or (K, K), or None, default None
        How often labels are wrong: one rate ε (spread evenly over the other classes), a rate for each true class, or
        the confusion matrix C. Rates are below 1 - 1/K, and the most frequent label of each class is its own.
        None estimates it.
    rates : {"one", "per-class", "full"}, default "one"
        What is estimated where ``noise`` is None: one rate, a rate for each true class, or all of C.
    alpha : float, default 1.0
        Precision of the Gaussian prior on each weight (not on the bias). 0 is maximum likelihood.
    prior : Gaussian or Flat, optional
        A prior with its own scales, mean or covariance, instead of ``alpha``.
    basis : basis function or transformer, optional
        φ; see `separatrix.basis`.
    fit_intercept : bool, default True
        Whether there is a bias w0.
    solver : {"auto", "newton", "lbfgs", "gradient", "stochastic"} or a solver object, default "auto"
        Of the fit without noise that everything starts from; L-BFGS goes on from there.
    tol : float, default 1e-8
        Stop when no component of the gradient exceeds this, per row and per standard deviation of its column.
    max_steps : int, optional
        Limit of steps; each solver has its own.
    trace : bool, default False
        Keep weights, objective and gradient of every step in ``trace_``; steps of the fit without noise are not there.
    rng : int or numpy.random.Generator, optional
        For ``solver="stochastic"``.

    Attributes
    ----------
    coef_ : ndarray of shape (1, M) for two classes, (K, M) for more
    intercept_ : ndarray of shape (1,) or (K,)
    noise_ : the rate, the rates (K,) or the confusion matrix (K, K): what was given or estimated
    confusion_ : ndarray of shape (K, K)
        C, a row for each true class.
    mislabelled_ : ndarray of shape (N,)
        For each row of the training table, the probability that its label is wrong, 1 - p(true class = label | label,
        x). Sort by it to see which labels to check first.
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    separation_ : whether a hyperplane separates the labels as they are; see `LogisticRegression`
    solution_, trace_, n_steps_, n_passes_ : as of `LogisticRegression`, both fits counted

    Notes
    -----
    **The prior of the rates.** Where rates are estimated, each ratio r = C_kj/C_kk is uniform on (0, 1), and what is
    reported is the mode in ln r/(1 - r). That is as if one more label had been seen wrong (for each class, if it has
    its own rates), so a rate is never exactly zero; its effect is gone once a few labels really are.

    **What can be told.** A wrong label shows by contradicting its row. Where classes overlap, a contradiction may be
    the row's own, and where weights are many enough to fit wrong labels (rows barely outnumber them) nothing
    contradicts: estimated rates are then too low. Raise ``alpha``, or give the rate.

    **Rates and alpha.** A prior holds weights back, so the boundary is softer than in truth, and wrong labels pass for
    overlap: the default ``alpha=1`` makes estimated rates too low. With four standard normal columns, weights of length
    6, 500 rows and one label in five wrong, ``alpha=1`` finds 0.15 on average and ``alpha=0.01`` finds 0.20 (give or
    take 0.025 from sample to sample); with 3000 rows, 0.186 and 0.202. Where the rate itself is asked for, and rows are
    many times as many as columns, set ``alpha`` to 0.01 or so.

    **Which maximum.** The likelihood may have several. The fit climbs from that of the logistic regression without
    noise, and so needs no random starts, and does not exchange classes.

    **Sharp boundaries.** Without a prior on the weights (``alpha=0``), a maximum may not exist even if labels overlap:
    where a hyperplane separates all rows but a few, larger weights are better without end, and the few are taken for
    wrong labels. A `SeparationWarning` says so.

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

    has_limits_of_its_own = True

    noise_: Any
    confusion_: Float
    mislabelled_: Float

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
    ) -> None:
        super().__init__(alpha, prior, basis, fit_intercept, solver, tol, max_steps, trace, rng)
        self.noise = noise
        self.rates = rates

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LabelNoiseLogisticRegression:
        """Fit to labels y, some of which may be wrong."""
        check_option(type(self).__name__, "rates", self.rates, STRUCTURES)
        if is_shares(y):
            raise DataError(
                f"y has {y.shape[1]} columns: LabelNoiseLogisticRegression takes one label for each row, and not "
                "probabilities of labels. What is known of wrong labels goes into noise=; for targets that are "
                "probabilities there is LogisticRegression."
            )
        super().fit(X, y, sample_weight)
        return self

    def mislabelled(self, X: Any, y: Any) -> Float:
        """The probability that the label of each row is wrong: 1 - p(true class = y | label y, x)."""
        check_is_fitted(self)
        labels, codes = encode_labels(y)
        at = np.searchsorted(self.classes_, labels)
        known = self.classes_[np.minimum(at, len(self.classes_) - 1)] == labels
        if not np.all(known):
            raise DataError(
                f"y has the label {labels[~known].tolist()[0]!r}, which is not among the classes of the fit: "
                f"{first_of(self.classes_)}."
            )
        a = self.decision_function(X)
        if len(a) != len(codes):
            raise DataError(f"X has {len(a)} rows but y has {len(codes)} labels; they must pair up.")
        return wrong_share(noisy_likelihood(self.confusion_), a, at[codes])

    def _likelihood(self, n_classes: int) -> ClassLikelihood:
        """That of the first fit, without noise."""
        self._rates(n_classes)  # what is wrong with them is said before any work
        return Logit() if n_classes == 2 else Softmax(n_classes)

    def _conclude(self, objective: Posterior, solution: Solution[Float], training: Source) -> None:
        """Go on from the fit without noise, whose answer about separation stays; how far it got no longer matters."""
        self.separation_ = check_separation(objective, solution, len(training.classes))
        if not self.separation_:
            warn_if_collinear(objective, solution)
        fit = self._with_noise(objective, solution)
        likelihood, theta = noisy_likelihood(fit.confusion), fit.solution.value
        noisy = replace(objective, likelihood=likelihood)
        if not fit.solution.is_converged and not (self.separation_ and has_free_weights(objective)):
            self._warn_of_steps(noisy, fit.solution)
        if not self.separation_:
            _warn_if_sharp(noisy, theta)
        in_units = objective.design.in_user_units
        self.coef_, self.intercept_ = in_units(theta)
        self.likelihood_, self.confusion_, self.noise_ = likelihood, fit.confusion, self._reported(fit.confusion)
        found = objective.source.reduce(partial(doubts, theta=theta, likelihood=likelihood, design=objective.design))
        self.mislabelled_ = found.wrong[np.argsort(found.row)]
        self.trace_ = tuple(Step(in_units(step.theta), *step[1:]) for step in fit.solution.trace)
        steps = solution.steps + fit.solution.steps
        self._keep(replace(fit.solution, steps=steps, trace=self.trace_), training.passes)

    def _with_noise(self, objective: Posterior, solution: Solution[Float]) -> _Fit:
        if not is_wide(objective):
            return self._climb(objective, solution.value)
        small = dual(objective)
        start = Auto(self.tol).minimise(small.objective, np.zeros(small.objective.shape))
        fit = self._climb(small.objective, start.value)
        return _Fit(small.primal(fit.solution), fit.confusion)

    def _climb(self, objective: Posterior, start: Float) -> _Fit:
        """From the weights of the fit without noise to those with it, and to the rates where they are unknown."""
        joint = Joint(objective, self._rates(len(self.classes_)))
        name = type(self).__name__
        tol = check_positive(name, "tol", self.tol)
        most = MOST_STEPS if self.max_steps is None else check_count(name, "max_steps", self.max_steps)
        found = estimate(joint, start, tol=tol, max_steps=most, trace=self.trace)
        theta, eta = joint.split(found.value)
        trace = tuple(Step(joint.split(step.theta)[0], *step[1:]) for step in found.trace)
        return _Fit(replace(found, value=theta, trace=trace, end=None), joint.rates.confusion(eta))

    def _rates(self, n_classes: int) -> Rates | KnownRates:
        if self.noise is None:
            return Rates.of(self.rates, n_classes)
        return KnownRates(given_confusion(type(self).__name__, self.noise, n_classes))

    def _reported(self, confusion: Float) -> Any:
        """Rates in the form in which they were given, or asked for."""
        if self.noise is not None:
            return float(self.noise) if np.ndim(self.noise) == 0 else np.array(self.noise, dtype=np.float64)
        wrong = 1.0 - np.diag(confusion)
        return {"one": float(wrong[0]), "per-class": wrong, "full": confusion}[self.rates]


class _Fit(NamedTuple):
    """Weights, how they were found, and the confusion matrix that belongs to them."""

    solution: Solution[Float]
    confusion: Float


def _warn_if_sharp(objective: Posterior, theta: Float) -> None:
    """Where no prior holds the weights: a warning if a boundary of no width is better than the one that was found."""
    if not has_free_weights(objective):
        return
    here, far = (objective.value_grad(scale * theta).value for scale in (1.0, FAR))
    if far <= here + objective.rounding * abs(here):
        warn(
            "A hyperplane separates all rows but those that the model takes for mislabelled. The likelihood has no "
            "maximum: the weights are those at which the solver stopped, and they would grow without end. Give the "
            "weights a prior (alpha > 0).",
            SeparationWarning,
        )
