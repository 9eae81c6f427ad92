# SPDX-License-Identifier: BSD-3-Clause
"""A number that the evidence chooses, whatever it means: width, degree, rate of wrong labels.         PRML §3.4, §4.4

    x* = argmax_x max_s ln p(D | x, s)

The user says how a model depends on x. Each x is judged by Laplace's evidence alone: of the prior as it is, or, for a
model with ``tune="evidence"``, at the best of its scales, which takes one decomposition (`rotation`) and a few fits in
as many dimensions as the rows have. Only the best model is then fitted as a user would: approximation, diagnosis,
groups and all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from separatrix.bayesian.evidence.fitter import FitLaplace
from separatrix.bayesian.logistic import BayesianLogisticRegression
from separatrix.bayesian.tuning.outer import Judged, OuterTuned, Trial, tune_choice, tune_outer
from separatrix.bayesian.tuning.scales import profile_scale

__all__ = ["TunedModel", "tune_model"]

TOL = 0.1  # gain in nats that is not worth another x
SCALE_TOL = 0.03  # and of a scale, at each x: no more than the comparison of two needs


@dataclass(frozen=True, eq=False)
class TunedModel:
    """What `tune_model` found.

    Attributes
    ----------
    model : BayesianLogisticRegression
        Fitted, at the best value.
    value : the best value
    tried : tuple of Trial
        Every value with its log evidence, in the order in which they were tried.
    at_boundary : bool
        Whether the best is the end of the bounds, or the last of the values: there may be better ones beyond.
    """

    model: BayesianLogisticRegression
    value: Any
    tried: tuple[Trial, ...]
    at_boundary: bool


def tune_model(
    make_model: Callable[[Any], BayesianLogisticRegression],
    X: Any,
    y: Any,
    *,
    bounds: tuple[float, float] | None = None,
    values: Iterable[Any] | None = None,
    log: bool = True,
    sample_weight: Any = None,
) -> TunedModel:
    """Fit the model of highest evidence among those that differ in one thing.

    x* = argmax_x ln p(D | x), with the scale of the prior at its best for each x where the model has it tuned

    Parameters
    ----------
    make_model : callable
        From x to a model that is not fitted: ``lambda width: BayesianLogisticRegression(basis=RBF(width=width),
        tune="evidence")``. All must be models of the same labels and the same rows.
    X : array-like or data frame
        The rows.
    y : array-like
        Their labels.
    bounds : (low, high), optional
        Search between two numbers: a few values from end to end, then parabolas about the best.
    values : iterable, optional
        Or try each of these: degrees of a polynomial, bases, likelihoods.
    log : bool, default True
        Whether to search between the bounds on a logarithmic scale.
    sample_weight : array-like of shape (N,), optional
        How often each row counts.

    Returns
    -------
    TunedModel

    Raises
    ------
    TypeError
        Where ``make_model`` returns something else than a `BayesianLogisticRegression`.
    ValueError
        Unless exactly one of ``bounds`` and ``values`` is given.

    Examples
    --------
    >>> from separatrix import BayesianLogisticRegression
    >>> from separatrix.basis import Polynomial
    >>> from separatrix.datasets import make_xor_clusters
    >>> X, y = make_xor_clusters(200, std=0.7)
    >>> found = tune_model(
    ...     lambda degree: BayesianLogisticRegression(basis=Polynomial(degree), tune="evidence"), X, y, values=[1, 2, 3]
    ... )
    >>> found.value, [round(trial.log_evidence) for trial in found.tried]
    (2, [-143, -81, -83])
    """
    if (bounds is None) == (values is None):
        raise ValueError("tune_model needs either bounds=(low, high) or values=[...], and not both.")

    def judge(value: Any, _: Judged | None) -> Judged:
        return _judged(_checked(make_model(value)), X, y, sample_weight)

    found: OuterTuned[Judged] = (
        tune_choice(judge, values) if values is not None else tune_outer(judge, *_pair(bounds), log=log, tol=TOL)
    )
    model = make_model(found.value).fit(X, y, sample_weight)
    return TunedModel(model, found.value, found.tried, found.at_boundary)


def _judged(model: BayesianLogisticRegression, X: Any, y: Any, sample_weight: Any) -> Judged:
    """The evidence of a model that nobody may ever ask for anything else."""
    model._check_arguments()
    objective = model._pose(model._open_training(X, y, sample_weight, soft=True), model._prior())
    if model.tune is None:
        return FitLaplace(model.tol).fit(objective, None)
    return profile_scale(objective, fitter=FitLaplace(model.tol), tol=SCALE_TOL)


def _checked(model: Any) -> BayesianLogisticRegression:
    if not isinstance(model, BayesianLogisticRegression):
        raise TypeError(
            f"tune_model: make_model returned {model!r}; it must return a BayesianLogisticRegression, not fitted."
        )
    return model


def _pair(bounds: Any) -> tuple[float, float]:
    try:
        low, high = bounds
        return float(low), float(high)
    except (TypeError, ValueError):
        raise ValueError(f"tune_model(bounds={bounds!r}) must be two numbers (low, high).") from None
