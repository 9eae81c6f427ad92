# SPDX-License-Identifier: BSD-3-Clause
"""From an objective to a posterior: mode, Gaussian, diagnosis, repair; and the tuning of the prior.

1. The mode, and Laplace's Gaussian there, in a structure that suits the size of the problem.
2. If requested, the scales of the prior by evidence, starting from that.
3. A better Gaussian: the requested one, or for "auto" the one that the shift of the mean from the mode calls for. If
   that is expectation propagation, its evidence is used for tuning too.
4. The Pareto k of the result, if the number of rows is small enough.

**The shift of the mean** (`skewness`). At the mode the log posterior is quadratic up to its third derivatives. These
shift the mean from the mode, to first order by

    δ = -½ A⁻¹ Σ_n weight_n skew_n var_n φ̃_n,        skew_n = -∂³ ln p(t_n | a_n)/∂a³,    var_n = φ̃_n' A⁻¹ φ̃_n

For K classes skew_n var_n becomes the gradient of tr(curvature Sigma_n). Its size in posterior standard deviations is
the error of a Laplace mean, if it is small, and a warning if it is not: on a rare 0/1 column that separates the classes
it is several standard deviations, while the Pareto k of the weights is still 0.7. It takes one pass, for large data
over a sample: most rows are alike, and a rare value of a column, which a sample may miss, shows in the bound

    γ_j = max_n |φ̃_nj| (A - Λ)_jj sd_j³  ≥  sd_j³ |Σ_n skew_n φ̃_nj³|        if |skew| ≤ curvature, as for the logit

which takes the range of each column and no product with the rows.

**The choice** (`choose`) is based on the thirteen posteriors of the tests, whose exact values are known:

    largest shift       Laplace, mean corrected: error of the mean, of the sd, of ln p(D)     expectation propagation
    up to 0.17 sd       0.01 sd,  4 %,  0.03 to 0.09                                          0.01 sd,  1 %,  0.002
    0.3 to 0.6 sd       0.02 to 0.1 sd,  3 to 18 %,  0.02 to 0.3                              0.03 sd,  3 %,  0.01
    above               0.1 to 0.2 sd,  12 to 33 %,  0.2 to 1.2                               0.04 sd,  4 %,  0.03

For K classes importance sampling replaces expectation propagation if the number of weights is small, and beyond a
moderate shift the variational posterior, if it takes at most two seconds: on seven cover types (4000 rows, 50 columns,
scale 1) its log loss is 0.68, and that of Laplace's Gaussian 0.74.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix._arguments import generator
from separatrix._array import Float
from separatrix.bayesian.ep import expectation_propagation
from separatrix.bayesian.evidence import FitEP, FitLaplace, Fitter, prior_scales
from separatrix.bayesian.posterior import (
    LAPLACE,
    AnyApproximation,
    Approximation,
    choose_structure,
    laplace,
    weight_names,
)
from separatrix.bayesian.sampling import USABLE_K, Draws, Proposal, evaluations, importance, weighted_draws
from separatrix.bayesian.tuning import Limit, TuningReport, TuningStatus, profile_scale, tune_scales
from separatrix.bayesian.variational import estimated_seconds, variational, variational_softmax
from separatrix.exceptions import DataError
from separatrix.likelihoods import Softmax
from separatrix.solvers import Auto, Posterior, Solution
from separatrix.stats import extent, log_det_slope

METHODS = ("auto", "laplace", "variational", "ep", "importance")

# Shifts of the mean, in posterior standard deviations
CORRECTED_SHIFT = 0.01  # above, the mean is corrected, which takes a pass
NEGLIGIBLE_SHIFT = 0.05  # up to here Laplace's Gaussian is good
MODERATE_SHIFT = 0.3  # up to here the corrected mean is good, if a better approximation is expensive
RARE_VALUE_BOUND = 0.3  # γ_j above which a sample of rows is not enough

# Costs
CHEAP_EP = 1e7  # N P² for which expectation propagation takes a fraction of a second
MAX_DRAWN_WEIGHTS = 40  # for which importance weights of K classes stay usable
AUTO_DRAWS, MAX_AUTO_EVALUATIONS = 4096, 1e8  # of importance sampling that was not requested
MAX_VARIATIONAL_SECONDS = 2.0  # estimated, for K classes
PARETO_DRAWS, MAX_PARETO_EVALUATIONS = 4096, 8e6  # of a Pareto k: 0.1 seconds


# -- diagnosis ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Skewness:
    """δ (C, P), the shift of the mean from the mode; ``largest``, its largest component in sds, and its column."""

    shift: Float
    largest: float
    column: str


def skewness(objective: Posterior, approximation: Approximation) -> Skewness:
    """Return the first-order shift of the posterior mean from the mode, at which ``approximation`` is centred."""
    posed, design = objective, objective.design
    if objective.sample is not None:  # the sample is enough if max_j γ_j is small
        reach = objective.source.reduce(extent)
        radius = np.maximum(reach.high - design.origin, design.origin - reach.low)
        if design.bias:
            radius = np.append(radius, 1.0)
        information = approximation.factor.diagonal.reshape(objective.shape) - objective.prior.diagonal
        root = approximation.factor.root.reshape(*objective.shape, -1)
        if len(root) > 1:
            root = root - root.mean(axis=0)  # a vector added to the weights of every class changes nothing
        sd = np.sqrt(np.einsum("cpi,cpi->cp", root, root))
        if (radius * information * sd**3).max() <= RARE_VALUE_BOUND:
            posed = objective.of_sample()
    slope = posed.reduce(log_det_slope, theta=approximation.mean, root=approximation.factor.root).grad
    shift = -0.5 * approximation.factor.solve(slope)
    sizes = np.abs(shift / approximation.std).max(axis=0)
    worst = int(sizes.argmax())
    return Skewness(shift, float(sizes[worst]), weight_names(objective)[worst])


def third_order(objective: Posterior, approximation: Approximation, found: Skewness) -> Approximation:
    """Return the same Gaussian about the mean, to first order, instead of the mode.

    No weight moves by more than a standard deviation, beyond which the first order is no guide. ln p(D | mean) takes a
    pass, unless its difference from the mode is below the rounding error of a sum over these rows.
    """
    step = found.shift / max(found.largest, 1.0)
    mean = approximation.mean + step
    value = objective.prior.value_grad(approximation.mean)[0] - approximation.log_likelihood  # of E at the mode
    rise = 0.5 * approximation.factor.square(step)
    value = value + rise if rise <= objective.units.rounding * abs(value) else objective.value_grad(mean).value
    return replace(approximation, mean=mean, log_likelihood=objective.prior.value_grad(mean)[0] - value)


def pareto_k(
    objective: Posterior, approximation: Approximation, *, n: int = 4096, rng: int | np.random.Generator | None = None
) -> float:
    """Return the shape of the tail of n importance weights: below 0.5 good, up to 0.7 usable, above 0.7 poor.

    It compares the whole density with its approximation, and takes n evaluations of all rows.
    """
    proposal = Proposal(approximation.mean, approximation.moments or approximation.factor, None)
    return weighted_draws(objective, proposal, n, generator(rng)).smoothed.k


def choose(objective: Posterior, found: Skewness) -> str:
    """Return the method of "auto": "laplace" (with `third_order`), "ep", "importance" or "variational".

    The caller falls back to "laplace" if the iteration does not converge or importance weights have a k above 0.7.
    """
    (C, P), N = objective.shape, objective.source.n_rows
    if found.largest <= NEGLIGIBLE_SHIFT:
        return "laplace"
    if C == 1:
        return "ep" if found.largest > MODERATE_SHIFT or N * P**2 <= CHEAP_EP else "laplace"
    is_proper = bool(np.isfinite(objective.prior.log_det()))
    if is_proper and C * P <= MAX_DRAWN_WEIGHTS and evaluations(objective, AUTO_DRAWS) <= MAX_AUTO_EVALUATIONS:
        return "importance"
    return "variational" if found.largest > MODERATE_SHIFT and is_variational_cheap(objective) else "laplace"


def is_variational_cheap(objective: Posterior) -> bool:
    """Whether a variational posterior of K classes exists and takes at most two seconds."""
    is_softmax = isinstance(objective.likelihood, Softmax) and bool(np.isfinite(objective.prior.log_det()))
    return is_softmax and estimated_seconds(objective) <= MAX_VARIATIONAL_SECONDS


# -- inference ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Options:
    """The user's choices."""

    method: str
    structure: str | None
    tune: bool
    groups: str | Sequence[Any] | None
    tol: float
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Inference:
    """Result of an inference. ``objective`` has the tuned prior, whose scales grew by ``factors`` (M,).

    ``rule`` is the rule for probabilities if the requested one would mislead. ``warnings`` are reasons to distrust the
    result.
    """

    objective: Posterior
    approximation: AnyApproximation
    solution: Solution[Float]
    factors: Float
    draws: Draws | None = None
    pareto_k: float = float("nan")
    rule: str | None = None
    tuning: TuningReport | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()

    @property
    def full(self) -> Approximation:
        """The approximation, which has the full covariance."""
        assert isinstance(self.approximation, Approximation), "better approximations need the full covariance"
        return self.approximation

    def accept(self, better: Approximation) -> Inference:
        """Return the inference with a better approximation, or with a warning if that did not converge."""
        if better.is_converged:
            return replace(self, approximation=better)
        warning = (
            f"The {better.name!r} approximation did not converge in {better.steps} steps; {self.approximation.name!r} "
            "is used instead. Try approximation='importance', or a narrower prior."
        )
        return replace(self, warnings=(*self.warnings, warning))


def infer(objective: Posterior, options: Options) -> Inference:
    """Return the posterior, tuned and repaired according to the options."""
    structure, factors = choose_structure(objective, options.structure), np.ones(len(objective.design.origin))
    if structure != "full":  # Laplace's Gaussian, with one scale for all weights
        if options.method not in ("auto", "laplace"):
            raise DataError(
                f"approximation={options.method!r} needs the full covariance, and {objective.shape[0]} x "
                f"{objective.shape[1]} weights have structure {structure!r}. Use approximation='laplace'."
            )
        if options.tune:
            if options.groups is not None:
                raise DataError(f"A posterior with structure {structure!r} has one scale to tune; leave groups=None.")
            eta = profile_scale(objective).eta
            factors *= np.exp(eta)
            objective = replace(objective, prior=prior_scales(objective).prior(eta))
        solution = Auto(options.tol).minimise(objective, np.zeros(objective.shape))
        return Inference(objective, LAPLACE[structure](objective, solution.value), solution, factors)
    solution = Auto(options.tol).minimise(objective, np.zeros(objective.shape))
    found = Inference(objective, laplace(objective, solution.value, steps=solution.steps), solution, factors)
    if options.tune:
        found = _tuned(found, options, FitLaplace(options.tol))
    found = _automatic(found, options) if options.method == "auto" else _by_method(found, options.method, options)
    objective, name = found.objective, found.approximation.name
    if np.isnan(found.pareto_k) and evaluations(objective, PARETO_DRAWS) <= MAX_PARETO_EVALUATIONS:
        found = replace(found, pareto_k=pareto_k(objective, found.full, n=PARETO_DRAWS, rng=options.rng))
    if not found.pareto_k > USABLE_K or name == "ep":  # EP is accurate long after its weights are not
        return found
    others = "'importance'" if objective.shape[0] > 1 else "'ep' or 'importance'"
    remedy = "" if name == "importance" else f"approximation={others}, "
    warning = (
        f"The posterior is far from its Gaussian approximation (Pareto k = {found.pareto_k:.2f}; above 0.7 is poor): "
        f"probabilities and evidence of the {name!r} approximation may be off. Use {remedy}a narrower prior, or drop "
        "columns that are almost always zero."
    )
    return replace(found, warnings=(*found.warnings, warning))


def _tuned(found: Inference, options: Options, fitter: Fitter) -> Inference:
    """The inference with the scales of highest evidence, according to ``fitter``."""
    objective, approximation, report = tune_scales(found.objective, options.groups, fitter=fitter, start=found.full)
    # To switch off some of many columns is the purpose of groups, and no reason for a warning.
    warnings = [limit.describe() for limit in report.boundary if limit.limit is not Limit.NARROW]
    if len(report.boundary) == len(report.labels) and not warnings:
        warnings = [limit.describe() for limit in report.boundary]
    if report.status is not TuningStatus.CONVERGED:
        warnings.append(f"Tuning of the prior {report.status.value} ({len(report.trace) - 1}).")
    return replace(
        found,
        objective=objective,
        approximation=approximation,
        factors=found.factors * report.column_factors,
        tuning=report,
        warnings=tuple(warnings),
    )


def _automatic(found: Inference, options: Options) -> Inference:
    """The inference with the approximation that the shift of the mean calls for."""
    objective, first = found.objective, found.full
    shift = skewness(objective, first)
    method = choose(objective, shift)
    better = _by_method(found, method, options)
    if method == "importance" and better.pareto_k < USABLE_K:
        return replace(better, draws=None)  # a Gaussian of their moments predicts as well, 300 times as fast
    if method == "importance" and shift.largest > MODERATE_SHIFT and is_variational_cheap(objective):
        method, better = "variational", _by_method(found, "variational", options)
    if method in ("ep", "variational") and better.approximation.name == method:
        return better
    found = replace(found, warnings=better.warnings if method == "ep" else found.warnings)
    if shift.largest > MODERATE_SHIFT:  # averages over a Gaussian this far from the posterior are worse than none
        warning = (
            f"The posterior is skewed: its mean is about {shift.largest:.1f} standard deviations from its mode along "
            f"{shift.column!r}, and no better approximation was affordable. Probabilities are those at the mode; "
            "evidence and intervals may be off. Use a narrower prior, fewer columns, or drop columns that are almost "
            "always zero."
        )
        return replace(found, rule="map", warnings=(*found.warnings, warning))
    if shift.largest > CORRECTED_SHIFT:
        return replace(found, approximation=third_order(objective, first, shift))
    return found


def _by_method(found: Inference, method: str, options: Options) -> Inference:
    """The inference with the approximation of a given name, or a warning if it did not converge."""
    objective, first = found.objective, found.full
    if method == "laplace":
        return found
    if method == "importance":
        weighted = importance(objective, first, rng=options.rng)
        return replace(found, approximation=weighted.approximation, draws=weighted.draws, pareto_k=weighted.k)
    if method == "variational":
        is_softmax = isinstance(objective.likelihood, Softmax)
        return found.accept((variational_softmax if is_softmax else variational)(objective, first))
    better = found.accept(expectation_propagation(objective, first))
    if options.tune and better.approximation is not first:
        tuned = _tuned(better, options, FitEP(options.tol))
        return tuned.accept(expectation_propagation(tuned.objective, tuned.full))
    return better
