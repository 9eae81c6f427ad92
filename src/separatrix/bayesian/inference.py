# SPDX-License-Identifier: BSD-3-Clause
"""From an objective to a posterior: mode, Gaussian, diagnosis, repair; and the prior tuned on the way.

1. The mode, and Laplace's Gaussian there, of a structure that fits the size of the problem.
2. If asked, the scales of the prior by evidence, starting from that.
3. A better Gaussian: the one asked for, or for "auto" the one that the shift of the mean from the mode calls for.
   Where that is expectation propagation, its evidence takes over in tuning too.
4. The Pareto k of the result, where there are few enough rows for it to cost next to nothing.

What a user should know of the outcome comes back as sentences, ``doubts``; whoever asked decides how to say them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix.bayesian.diagnostics import MODERATE, Skewness, can_vary, choose, pareto_k, skewness, third_order
from separatrix.bayesian.ep.fixed_point import expectation_propagation
from separatrix.bayesian.evidence.fitter import FitEP, FitLaplace
from separatrix.bayesian.evidence.gradient import effective_parameters
from separatrix.bayesian.evidence.hyper import hyper
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.bayesian.posterior.structure import AnyApproximation, choose_structure, laplace_of
from separatrix.bayesian.sampling.draws import Draws
from separatrix.bayesian.sampling.importance import USABLE, evaluations, importance
from separatrix.bayesian.tuning.report import Limit, TuningReport, TuningStatus
from separatrix.bayesian.tuning.scales import profile_scale, tune_scales
from separatrix.bayesian.variational.softmax import variational_softmax
from separatrix.bayesian.variational.two_classes import variational
from separatrix.exceptions import DataError
from separatrix.likelihoods import Softmax
from separatrix.solvers import Auto, Posterior, Solution

__all__ = ["METHODS", "Inference", "Options", "infer"]

METHODS = ("auto", "laplace", "variational", "ep", "importance")
SLIGHT = 0.01  # a shift of the mean, in standard deviations, that is not worth a pass
K_DRAWS = 4096
K_EVALUATIONS = 8e6  # of a likelihood, a tenth of a second, that the Pareto k may take without being asked for


@dataclass(frozen=True, eq=False)
class Options:
    """What the user asked for."""

    method: str
    structure: str | None
    tune: bool
    groups: str | Sequence[Any] | None
    tol: float
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Inference:
    """What came of it. ``objective`` has the tuned prior, whose scales grew by ``factors`` (M,).

    ``rule`` is how probabilities are best predicted, where the one asked for would mislead. ``doubts`` are reasons to
    think twice about the result; ``notes`` are those, and all that tuning ran into.
    """

    objective: Posterior
    approximation: AnyApproximation
    solution: Solution[Float]
    factors: Float
    draws: Draws | None = None
    pareto_k: float = float("nan")
    rule: str | None = None
    tuning: TuningReport | None = field(default=None, repr=False)
    doubts: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for a person."""
        limits = () if self.tuning is None else self.tuning.boundary
        return tuple(dict.fromkeys([*self.doubts, *(limit.describe() for limit in limits)]))

    @property
    def effective_parameters(self) -> float:
        """γ = CP - tr(Λ A⁻¹): how many directions of the weights the data determine.           PRML (3.91)"""
        approximation, prior = self.approximation, self.objective.prior
        if isinstance(approximation, Approximation):
            return effective_parameters(approximation, prior)
        return float(approximation.mean.size - (prior.diagonal * approximation.std**2).sum())


def infer(objective: Posterior, options: Options) -> Inference:
    """The posterior, tuned and repaired as the options say."""
    structure = choose_structure(objective, options.structure)
    if structure != "full":
        return _infer_large(objective, structure, options)
    solution = Auto(options.tol).minimise(objective, np.zeros(objective.shape))
    first = laplace_of(structure, objective, solution.value, steps=solution.steps)
    assert isinstance(first, Approximation), "a full posterior has all of its covariance"
    found = Inference(objective, first, solution, np.ones(len(objective.design.origin)))
    if options.tune:
        found = _tuned(found, options, FitLaplace(options.tol))
    return _diagnosed(_improved(found, options), options)


def _infer_large(objective: Posterior, structure: str, options: Options) -> Inference:
    """So many weights that only Laplace's Gaussian, and one scale for all of them, can be had."""
    if options.method not in ("auto", "laplace"):
        raise DataError(
            f"approximation={options.method!r} needs the whole covariance, and {objective.shape[0]} x "
            f"{objective.shape[1]} weights are kept as {structure!r}. Use approximation='laplace'."
        )
    factors = np.ones(len(objective.design.origin))
    if options.tune:
        if options.groups is not None:
            raise DataError(f"A posterior kept as {structure!r} can be tuned with one scale only; leave groups=None.")
        factor = profile_scale(objective).factor
        factors *= factor
        objective = replace(objective, prior=hyper(objective).prior(np.log([factor])))
    solution = Auto(options.tol).minimise(objective, np.zeros(objective.shape))
    return Inference(objective, laplace_of(structure, objective, solution.value), solution, factors)


def _tuned(found: Inference, options: Options, fitter: FitLaplace | FitEP) -> Inference:
    """With the scales of highest evidence, as ``fitter`` sees it."""
    tuned = tune_scales(found.objective, options.groups, fitter=fitter, start=_known(found))
    report = tuned.report()
    return replace(
        found,
        objective=tuned.objective,
        approximation=tuned.approximation,
        factors=found.factors * tuned.column_factors,
        tuning=report,
        doubts=_doubts_of_tuning(report),
    )


def _known(found: Inference) -> Approximation | None:
    return found.approximation if isinstance(found.approximation, Approximation) else None


def _improved(found: Inference, options: Options) -> Inference:
    """With the approximation asked for, or for "auto" the one called for."""
    if options.method != "auto":
        return _by_method(found, options.method, options)
    objective, first = found.objective, _whole(found)
    shift = skewness(objective, first)
    method = choose(objective, shift)
    better = _by_method(found, method, options)
    if method == "importance" and better.pareto_k < USABLE:
        return replace(better, draws=None)  # a Gaussian of their moments predicts as well, and 300 times as fast
    if method == "importance" and shift.largest > MODERATE and can_vary(objective):
        method, better = "variational", _by_method(found, "variational", options)
    if method in ("ep", "variational") and better.approximation.name == method:
        return better
    found = replace(found, doubts=better.doubts if method == "ep" else found.doubts)
    if shift.largest > MODERATE:
        return _by_mode(found, shift)
    return replace(found, approximation=third_order(objective, first, shift)) if shift.largest > SLIGHT else found


def _by_mode(found: Inference, shift: Skewness) -> Inference:
    """With probabilities at the mode: averages over a Gaussian so far off the posterior are worse than none."""
    doubt = (
        f"The posterior is skewed: its mean is about {shift.largest:.1f} standard deviations from its mode along "
        f"{shift.column!r}, and no better approximation was affordable. Probabilities are those at the mode; evidence "
        "and intervals may be off. Use a narrower prior, fewer columns, or drop columns that are rarely not zero."
    )
    return replace(found, rule="map", doubts=(*found.doubts, doubt))


def _by_method(found: Inference, method: str, options: Options) -> Inference:
    """With the approximation of a given name, or the one there was and the reason why."""
    objective, first = found.objective, _whole(found)
    if method == "laplace":
        return found
    if method == "importance":
        weighed = importance(objective, first, rng=options.rng)
        return replace(found, approximation=weighed.approximation, draws=weighed.draws, pareto_k=weighed.k)
    if method == "variational":
        of_classes = isinstance(objective.likelihood, Softmax)
        return _accepted(found, (variational_softmax if of_classes else variational)(objective, first))
    better = _accepted(found, expectation_propagation(objective, first))
    if options.tune and better.approximation is not first:
        tuned = _tuned(better, options, FitEP(options.tol))
        return _accepted(tuned, expectation_propagation(tuned.objective, _whole(tuned)))
    return better


def _whole(found: Inference) -> Approximation:
    """The approximation so far, with all of its covariance."""
    assert isinstance(found.approximation, Approximation), "better approximations need the whole covariance"
    return found.approximation


def _accepted(found: Inference, better: Approximation) -> Inference:
    """With the better approximation, if it came to its end."""
    if better.is_converged:
        return replace(found, approximation=better)
    doubt = (
        f"The {better.name!r} approximation did not settle in {better.steps} steps; {found.approximation.name!r} is "
        "used instead. Try approximation='importance', or a narrower prior."
    )
    return replace(found, doubts=(*found.doubts, doubt))


def _diagnosed(found: Inference, options: Options) -> Inference:
    """With the Pareto k, and a word where it is high and nothing was done about it."""
    objective, approximation = found.objective, found.approximation
    is_cheap = evaluations(objective, K_DRAWS) <= K_EVALUATIONS
    if np.isnan(found.pareto_k) and is_cheap and isinstance(approximation, Approximation):
        found = replace(found, pareto_k=pareto_k(objective, approximation, n=K_DRAWS, rng=options.rng))
    if not found.pareto_k > USABLE or approximation.name == "ep":  # EP is right long after its weights are not
        return found
    others = "'importance'" if objective.shape[0] > 1 else "'ep' or 'importance'"
    remedy = "" if approximation.name == "importance" else f"approximation={others}, "
    doubt = (
        f"The posterior is far from the Gaussian that stands for it (Pareto k = {found.pareto_k:.2f}; above 0.7 is "
        f"poor): probabilities and evidence of the {approximation.name!r} approximation may be off. Use {remedy}a "
        "narrower prior, or drop columns that are rarely not zero."
    )
    return replace(found, doubts=(*found.doubts, doubt))


def _doubts_of_tuning(tuned: TuningReport) -> tuple[str, ...]:
    """What tuning ran into, unless it did what groups are for: to switch off some columns of many."""
    doubts = [limit.describe() for limit in tuned.boundary if limit.limit is not Limit.NARROW]
    if len(tuned.boundary) == len(tuned.labels) and not doubts:
        doubts = [limit.describe() for limit in tuned.boundary]
    if tuned.status is not TuningStatus.CONVERGED:
        doubts.append(f"Tuning of the prior {tuned.status.value} ({len(tuned.trace) - 1}).")
    return tuple(doubts)
