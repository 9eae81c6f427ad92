# SPDX-License-Identifier: BSD-3-Clause
"""The options of an inference, and the record of what it has found so far.

Each step of a strategy (`inference`) replaces the record by a better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix._text import counted
from separatrix.bayesian.evidence import Fitter, PriorScales
from separatrix.bayesian.plan import Candidate, Plan
from separatrix.bayesian.posterior import Approximation
from separatrix.bayesian.structures import AnyApproximation, DualApproximation
from separatrix.bayesian.tuning import TuningReport
from separatrix.bayesian.uncoupled import UncoupledApproximation
from separatrix.likelihoods import Softmax
from separatrix.solvers import Posterior, Solution
from separatrix.weights import Blend, Draws

# Average error of probabilities and bounds, and largest error of bounds, up to which a Gaussian predicts instead of the
# draws: it takes a hundredth of the time.
NEGLIGIBLE_ERROR, NEGLIGIBLE_LARGE_ERROR = 0.005, 0.05
MAX_DRAWN_WEIGHTS = 40  # number of weights of K classes up to which importance sampling is usable


@dataclass(frozen=True, eq=False)
class Options:
    """Options of an inference, as the user set them. ``structure`` is the name of a strategy, or None."""

    method: str
    structure: str | None
    tune: bool
    groups: str | Sequence[Any] | None
    tol: float
    rng: np.random.Generator
    wide: Posterior | None = None  # the objective of all weights, if the inference is in the span of the rows
    aligns: bool = False  # whether tuning may align the prior with correlations, or give each column a scale
    is_reweighted: bool = False  # whether class weights count rows several times
    states_intercept: bool = False  # whether the user stated the scale of the intercept
    scales_rare_columns: bool = False  # whether modes may have smaller scales for columns that are rarely non-zero
    rarity: float = 0.0  # power of the spread of rare columns that their scales are proportional to
    rare_factors: Float | None = None  # these scales
    is_batch: bool = False  # whether the posterior is the prior of another batch, which needs the full covariance


@dataclass(frozen=True)
class Errors:
    """Errors of probabilities that are due to the approximation, as estimated by draws; NaN if unknown.

    They are the ``average``, the ``largest`` of 99 % of the rows, and the same for the ``bounds`` of 95 % intervals.
    """

    average: float = float("nan")
    largest: float = float("nan")
    bounds: float = float("nan")
    largest_bounds: float = float("nan")

    @property
    def are_negligible(self) -> bool:
        """Whether a Gaussian predicts as well as the draws."""
        return max(self.average, self.bounds) <= NEGLIGIBLE_ERROR and self.largest_bounds <= NEGLIGIBLE_LARGE_ERROR

    @classmethod
    def of(cls, sizes: Float, bounds: Float, n_kinds: int) -> Errors:
        """Return the larger errors of ``n_kinds`` kinds of rows, from those of each probability and bound."""
        found = list[float]()
        for each in (sizes, bounds):
            parts = np.split(each.reshape(len(each), -1), n_kinds)
            found += [float(max(part.mean() for part in parts))]
            found += [float(max(np.quantile(part.max(axis=1), 0.99) for part in parts))]
        return cls(*found)


@dataclass(frozen=True, eq=False)
class Skewness:
    """δ (C, P), the shift of the mean from the mode; its ``largest`` component, in standard deviations; its column."""

    shift: Float
    largest: float
    column: str


@dataclass(frozen=True, eq=False)
class Inference:
    """The state of an inference: the objective, the best approximation so far, and how it was found."""

    objective: Posterior  # with the tuned prior
    start: Float  # where the search for the mode begins, (C, P)
    factors: Float  # by which tuning multiplied the scales of the prior, (M,)
    structure: str = "full"  # name of the strategy
    approximation: AnyApproximation | None = None  # None before a first fit, as is the solution
    solution: Solution[Float] | None = None
    method: str = ""  # of the best fit, chosen by the shift
    shift: Skewness | None = field(default=None, repr=False)  # of the mean from the mode
    outcome: str = ""  # what the last step found
    draws: Draws | None = None
    pareto_k: float = float("nan")
    variance_factor: float = 1.0  # of the activations, in averages; zero if averages would be misleading
    blend: Blend | None = None  # averages and modes, if held-out rows prefer it
    candidates: tuple[Candidate, ...] = ()  # averages and modes that held-out rows compared
    tuning: TuningReport | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()  # reasons to distrust the result
    at_mode: AnyApproximation | None = field(default=None, repr=False)  # at the most probable scales
    tuned: Approximation | None = field(default=None, repr=False)  # the last fit of the fitter
    fitter: Fitter | None = field(default=None, repr=False)  # the method that tuned the prior
    log_det_slope: Float | None = field(default=None, repr=False)  # ∂ ln |A|/∂θ of the tuned fit, if known
    widening: float = 1.0  # average prior variance, relative to the most probable one
    errors: Errors = field(default_factory=Errors)
    notes: tuple[str, ...] = ()  # which are not warnings
    hyperprior: PriorScales | None = field(default=None, repr=False)  # of the scales, if the prior has another shape
    shape: Float | None = field(default=None, repr=False)  # covariance of the weights for scale 1, (M, M)
    groups: str | Sequence[Any] | None = None
    simpler: Inference | None = field(default=None, repr=False)  # with one scale, which the average includes
    whole: DualApproximation | None = field(default=None, repr=False)  # of all weights, if in the span of few rows
    plan: Plan | None = None

    @property
    def report(self) -> TuningReport:
        """The report of the tuning; an assertion fails if the prior was not tuned."""
        assert self.tuning is not None, "the prior was tuned"
        return self.tuning

    @property
    def gaussian(self) -> AnyApproximation:
        """The approximation; an assertion fails before the first fit."""
        assert self.approximation is not None, "a strategy fits before it does anything else"
        return self.approximation

    @property
    def full(self) -> Approximation:
        """The approximation, if it has the full covariance; an assertion fails otherwise."""
        assert isinstance(self.approximation, Approximation), "better approximations need the full covariance"
        return self.approximation

    @property
    def best_tuned(self) -> Approximation:
        """The fit at the most probable scales; an assertion fails if the prior was not tuned."""
        assert self.tuned is not None, "tuning keeps its fit"
        return self.tuned

    @property
    def method_of_tuning(self) -> Fitter:
        """The method that tuned the prior; an assertion fails if it was not tuned."""
        assert self.fitter is not None, "tuning keeps its method"
        return self.fitter

    def did(self, outcome: str) -> Inference:
        """Return this inference with a description of the step that led to it."""
        return replace(self, outcome=outcome)

    def warned(self, warning: str) -> Inference:
        """Return this inference with another reason to distrust it."""
        return replace(self, warnings=(*self.warnings, warning))

    def accept(self, better: Approximation | UncoupledApproximation) -> Inference:
        """Return this inference with a better approximation; with a warning if that did not converge.

        An ascent of the variational bound of K classes that stopped early is still better than Laplace's Gaussian.
        """
        if better.is_converged:
            return replace(self, approximation=better)
        is_used = better.name == "variational" and self.objective.shape[0] > 1
        used = better if is_used else self.gaussian
        is_drawn = self.objective.shape[0] == 1 or better.mean.size <= MAX_DRAWN_WEIGHTS
        remedy = "approximation='importance', or a narrower prior" if is_drawn else "a narrower prior, or fewer columns"
        is_tuned = better.name == self.gaussian.name  # by a less accurate fit of the same method
        instead = "its last step" if is_used else "the last fit of tuning" if is_tuned else repr(used.name)
        warning = (
            f"The {better.name!r} approximation did not converge in {counted(better.steps, 'step')}; {instead} is used "
            f"instead. Try {remedy}."
        )
        total, n_rows = self.objective.units.total, self.objective.source.n_rows
        if total > 10 * n_rows:  # the posterior may then be too skewed for any Gaussian
            warning += (
                f" Rows with large weights are a likely cause: the sample weights of {counted(n_rows, 'row')} add up "
                f"to {total:.2g}. Divide them by a constant."
            )
        return replace(self, approximation=used).warned(warning)


def has_contrasts(objective: Posterior) -> bool:
    """Whether there are K classes with the same prior, so that contrasts of classes can be separated."""
    (C, P), prior = objective.shape, objective.prior
    return isinstance(objective.likelihood, Softmax) and C > 2 and len(prior.precision) == P
