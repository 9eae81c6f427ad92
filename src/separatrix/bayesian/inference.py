# SPDX-License-Identifier: BSD-3-Clause
"""From an objective to a posterior: mode, Gaussian, diagnosis, repair; and the tuning of the prior.

1. Find the mode and Laplace's Gaussian there, with a covariance structure that suits the size of the problem.
2. If requested, tune the scales of the prior by evidence, starting from that Gaussian.
3. Compute a better Gaussian: the requested one or, for "auto", one chosen by the shift of the mean from the mode. If
   that is expectation propagation and tuning was requested, tune again with its evidence.
4. Compute the Pareto k of the result, if the number of rows is small enough. For a dual Gaussian it is computed in the
   span of the rows; the other structures have none.
5. If the scales were tuned, average the posterior over them.

**The shift of the mean** (`skewness`). Laplace's Gaussian ignores the third derivatives of the log posterior at the
mode. They shift the mean from the mode, to first order by

    δ = -½ A⁻¹ Σ_n weight_n skew_n var_n φ̃_n,        skew_n = -∂³ ln p(t_n | a_n)/∂a³,    var_n = φ̃_n' A⁻¹ φ̃_n

For K classes skew_n var_n becomes the gradient of tr(curvature Sigma_n). A small δ is the error of Laplace's mean. A
large δ is a warning: if a rare 0/1 column separates the classes, δ is several posterior standard deviations, while the
Pareto k is still 0.7. δ takes one pass over the rows, or over a sample of them if the data are large. A sample may miss
a rare value of a column. Such a value makes the following bound large:

    γ_j = max_n |φ̃_nj| (A - Λ)_jj sd_j³  ≥  sd_j³ |Σ_n skew_n φ̃_nj³|        if |skew| ≤ curvature, as for the logit

The bound needs only the range of each column, so it is cheap.

**The choice** (`choose`) is based on the thirteen posteriors of the tests, whose exact values are known:

    largest shift       Laplace, mean corrected: error of the mean, of the sd, of ln p(D)     expectation propagation
    up to 0.17 sd       0.01 sd,  4 %,  0.03 to 0.09                                          0.01 sd,  1 %,  0.002
    0.3 to 0.6 sd       0.02 to 0.1 sd,  3 to 18 %,  0.02 to 0.3                              0.03 sd,  3 %,  0.01
    above               0.1 to 0.2 sd,  12 to 33 %,  0.2 to 1.2                               0.04 sd,  4 %,  0.03

Expectation propagation is limited to two classes. For K classes, "auto" uses importance sampling if the number of
weights is small. For more weights and a large shift it uses the variational posterior, if that takes at most two
seconds: on seven cover types (4000 rows, 50 columns, scale 1) its log loss is 0.68, and Laplace's is 0.74.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix._arguments import generator
from separatrix._array import Float
from separatrix.bayesian.averaging import average, average_draws, scale_nodes
from separatrix.bayesian.ep import Sites, expectation_propagation
from separatrix.bayesian.evidence import (
    EP_TOL_IN_STD,
    MIN_ROTATED_COLUMNS,
    FitEP,
    FitLaplace,
    Fitter,
    PriorScales,
    prior_scales,
)
from separatrix.bayesian.posterior import (
    LAPLACE,
    AnyApproximation,
    Approximation,
    DualApproximation,
    choose_structure,
    weight_names,
)
from separatrix.bayesian.sampling import USABLE_K, Draws, Proposal, evaluations, importance, weighted_draws
from separatrix.bayesian.tuning import (
    Limit,
    TuningReport,
    has_full_evidence,
    profile_scale,
    tune_scales,
    tune_structure,
)
from separatrix.bayesian.variational import estimated_seconds, variational, variational_softmax
from separatrix.exceptions import DataError
from separatrix.likelihoods import Softmax
from separatrix.solvers import Auto, Posterior, Solution, dual, is_wide
from separatrix.stats import extent, log_det_slope

METHODS = ("auto", "laplace", "variational", "ep", "importance")

# Shifts of the mean, in posterior standard deviations
CORRECTED_SHIFT = 0.01  # above this, the mean is corrected, which takes a pass
NEGLIGIBLE_SHIFT = 0.05  # up to this, Laplace's Gaussian is accurate
MODERATE_SHIFT = 0.3  # up to this, the corrected mean is accurate enough if a better approximation is expensive
RARE_VALUE_BOUND = 0.3  # γ_j above which the shift is computed from all rows instead of a sample

# Costs
CHEAP_EP = 1e7  # N P² up to which expectation propagation takes a fraction of a second
MAX_DRAWN_WEIGHTS = 40  # number of weights of K classes up to which importance sampling is usable
AUTO_DRAWS, MAX_AUTO_EVALUATIONS = 4096, 1e8  # limits of importance sampling under "auto"
MAX_VARIATIONAL_SECONDS = 2.0  # limit of the estimated time, for K classes
PARETO_DRAWS, MAX_PARETO_EVALUATIONS = 4096, 8e6  # limits of computing a Pareto k, about 0.1 seconds


@dataclass(frozen=True, eq=False)
class Skewness:
    """δ (C, P), the shift of the mean from the mode; its ``largest`` component, in standard deviations; its column."""

    shift: Float
    largest: float
    column: str


def skewness(objective: Posterior, approximation: Approximation) -> Skewness:
    """Return the first-order shift of the posterior mean from the mode, which is the mean of ``approximation``."""
    posed, design = objective, objective.design
    if objective.sample is not None:  # use the sample if no γ_j is large
        reach = objective.source.reduce(extent)
        radius = np.maximum(reach.high - design.origin, design.origin - reach.low)
        if design.bias:
            radius = np.append(radius, 1.0)
        information = approximation.factor.diagonal.reshape(objective.shape) - objective.prior.diagonal
        root = approximation.factor.root.reshape(*objective.shape, -1)
        if len(root) > 1:
            root = root - root.mean(axis=0)  # a vector added to all classes does not change the likelihood
        sd = np.sqrt(np.einsum("cpi,cpi->cp", root, root))
        if (radius * information * sd**3).max() <= RARE_VALUE_BOUND:
            posed = objective.of_sample()
    slope = posed.reduce(log_det_slope, theta=approximation.mean, root=approximation.factor.root).grad
    shift = -0.5 * approximation.factor.solve(slope)
    sizes = np.abs(shift / approximation.std).max(axis=0)
    worst = int(sizes.argmax())
    return Skewness(shift, float(sizes[worst]), weight_names(objective)[worst])


def third_order(objective: Posterior, approximation: Approximation, found: Skewness) -> Approximation:
    """Move the Gaussian from the mode to the first-order estimate of the mean.

    No weight moves by more than one standard deviation, because the estimate is unreliable beyond that. ln p(D | mean)
    takes a pass, unless its difference from ln p(D | mode) is below the rounding error of a sum over these rows.
    """
    step = found.shift / max(found.largest, 1.0)
    mean = approximation.mean + step
    value = objective.prior.value_grad(approximation.mean)[0] - approximation.log_likelihood  # objective at the mode
    rise = 0.5 * approximation.factor.square(step)
    value = value + rise if rise <= objective.units.rounding * abs(value) else objective.value_grad(mean).value
    return replace(approximation, mean=mean, log_likelihood=objective.prior.value_grad(mean)[0] - value)


def pareto_k(
    objective: Posterior, approximation: Approximation, *, n: int = 4096, rng: int | np.random.Generator | None = None
) -> float:
    """Return the shape of the tail of n importance weights: below 0.5 good, up to 0.7 usable, above 0.7 poor.

    k compares the whole posterior with its approximation. It takes n evaluations of the likelihood of all rows.
    """
    proposal = Proposal(approximation.mean, approximation.moments or approximation.factor, None)
    return weighted_draws(objective, proposal, n, generator(rng)).smoothed.k


def choose(objective: Posterior, found: Skewness) -> str:
    """Return the method that "auto" uses: "laplace" (with `third_order`), "ep", "importance" or "variational".

    If the chosen method does not converge, or its Pareto k is above 0.7, the caller uses another one.
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
    """Whether a variational posterior of K classes is defined and takes at most about two seconds."""
    is_softmax = isinstance(objective.likelihood, Softmax) and bool(np.isfinite(objective.prior.log_det()))
    return is_softmax and estimated_seconds(objective) <= MAX_VARIATIONAL_SECONDS


@dataclass(frozen=True, eq=False)
class Options:
    """Options of an inference, as the user set them."""

    method: str
    structure: str | None
    tune: bool
    groups: str | Sequence[Any] | None
    tol: float
    rng: np.random.Generator
    wide: Posterior | None = None  # the objective of all weights, if the inference is in the span of the rows


@dataclass(frozen=True, eq=False)
class Inference:
    """Result of an inference. Tuning multiplied the scales of the prior of ``objective`` by ``factors`` (M,).

    ``at_mode`` is the approximation at the most probable scales, if the prior was tuned, and ``tuned`` the fit of the
    ``fitter`` with which it was tuned. ``widening`` is the average prior variance relative to the most probable one.
    ``rule`` replaces the requested rule for probabilities if averages would be misleading, and is None otherwise.
    ``warnings`` are reasons to distrust the result.
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
    at_mode: AnyApproximation | None = field(default=None, repr=False)
    tuned: Approximation | None = field(default=None, repr=False)
    fitter: Fitter | None = field(default=None, repr=False)
    widening: float = 1.0

    @property
    def full(self) -> Approximation:
        """The approximation, if it has the full covariance; an assertion fails otherwise."""
        assert isinstance(self.approximation, Approximation), "better approximations need the full covariance"
        return self.approximation

    def accept(self, better: Approximation) -> Inference:
        """Return this inference with a better approximation, or with a warning if that did not converge."""
        if better.is_converged:
            return replace(self, approximation=better)
        warning = (
            f"The {better.name!r} approximation did not converge in {better.steps} steps; {self.approximation.name!r} "
            "is used instead. Try approximation='importance', or a narrower prior."
        )
        return replace(self, warnings=(*self.warnings, warning))


def infer(objective: Posterior, options: Options, start: Float | None = None) -> Inference:
    """Compute the posterior, with tuning and with a better approximation according to the options.

    The search for the mode starts at ``start`` (C, P), by default zero.
    """
    start = np.zeros(objective.shape) if start is None else start
    factors, structure = np.ones(len(objective.design.origin)), options.structure
    M, is_simple = len(factors), options.groups is None and options.method in ("auto", "laplace")
    if structure is None and options.tune and is_simple and is_wide(objective):
        structure = "dual" if M >= MIN_ROTATED_COLUMNS else None  # exact, with as many unknowns as there are rows
    structure = choose_structure(objective, structure)
    if structure != "full":
        if options.method not in ("auto", "laplace"):
            raise DataError(
                f"approximation={options.method!r} needs the full covariance, and {objective.shape[0]} x "
                f"{objective.shape[1]} weights have structure {structure!r}. Use approximation='laplace'."
            )
        if options.tune and options.groups is not None:
            raise DataError(f"A posterior with structure {structure!r} has one scale to tune; leave groups=None.")
    if options.tune and structure in ("by class", "diagonal"):
        scales = prior_scales(objective)
        is_small = has_full_evidence(objective, scales)
        eta = profile_scale(objective).eta if is_small else tune_structure(objective, LAPLACE[structure], options.tol)
        objective, factors = replace(objective, prior=scales.prior(eta)), factors * np.exp(eta)
    solution = Auto(options.tol).minimise(objective, start)
    gaussian = LAPLACE[structure](objective, solution.value, steps=solution.steps)
    found = Inference(objective, gaussian, solution, factors)
    if isinstance(gaussian, Approximation):
        others = "'importance'" if objective.shape[0] > 1 else "'ep' or 'importance'"
        return _refine(found, options, f"approximation={others}, ")
    if not (isinstance(gaussian, DualApproximation) and isinstance(gaussian.thin, Approximation)):
        return found
    # The likelihood does not change the weights outside the span of the rows.
    thin = replace(found, objective=dual(objective).objective, approximation=gaussian.thin)
    thin = _refine(thin, replace(options, wide=objective), "")  # other methods need the full covariance
    factor = 1.0 if thin.tuning is None else float(thin.tuning.factors[0])
    if options.tune:
        objective = replace(objective, prior=prior_scales(objective).prior(np.log([factor])))
    whole = replace(gaussian, thin=thin.full, outside=factor**2 * thin.widening)
    if isinstance(thin.at_mode, Approximation):
        thin = replace(thin, at_mode=replace(gaussian, thin=thin.at_mode, outside=factor**2))
    return replace(thin, objective=objective, approximation=whole, factors=factors * factor)


def _refine(found: Inference, options: Options, remedy: str) -> Inference:
    """Tune the prior, improve the approximation, check it, and average it over the scales, according to the options."""
    if options.tune:
        found = _tune(found, options, FitLaplace(options.tol))
    found = _improve_auto(found, options) if options.method == "auto" else _improve_by(found, options.method, options)
    found = _diagnose(found, options, "" if found.approximation.name == "importance" else remedy)
    if not options.tune:
        return found
    assert found.tuned is not None, "tuning keeps its fit"
    objective, fit = found.objective, found.tuned
    scales = prior_scales(objective, options.groups, _wide_scales(found, options))
    nodes = scale_nodes(objective, scales, fit, found.fitter)
    draws = None if found.draws is None else average_draws(found.draws, fit, nodes, options.rng)
    return replace(
        found,
        approximation=average(objective, fit, found.full, nodes),
        at_mode=found.approximation,
        draws=draws,
        widening=float(nodes.average_widening.mean()),
    )


def _wide_scales(found: Inference, options: Options) -> PriorScales | None:
    """Return the scales of all weights, with the tuned prior, if the inference is in the span of the rows."""
    if options.wide is None:
        return None
    scales, factor = prior_scales(options.wide), 1.0 if found.tuning is None else found.tuning.factors
    return replace(scales, typical=factor * scales.typical)


def _diagnose(found: Inference, options: Options, remedy: str) -> Inference:
    """Compute the Pareto k if the number of rows is small enough, and warn if it is poor."""
    objective, name = found.objective, found.approximation.name
    if np.isnan(found.pareto_k) and evaluations(objective, PARETO_DRAWS) <= MAX_PARETO_EVALUATIONS:
        found = replace(found, pareto_k=pareto_k(objective, found.full, n=PARETO_DRAWS, rng=options.rng))
    if not found.pareto_k > USABLE_K or name == "ep":  # EP can be accurate even if importance weights are poor
        return found
    warning = (
        f"The posterior is far from its Gaussian approximation (Pareto k {found.pareto_k:.2f}; above 0.7 is poor): "
        f"probabilities and evidence of the {name!r} approximation may be wrong. Use {remedy}a narrower prior, or drop "
        "columns that are almost always zero."
    )
    return replace(found, warnings=(*found.warnings, warning))


def _tune(found: Inference, options: Options, fitter: Fitter) -> Inference:
    """Tune the scales of the prior by the evidence of ``fitter``."""
    like = _wide_scales(found, options)
    tuned = tune_scales(found.objective, options.groups, fitter=fitter, start=found.full, like=like)
    objective, approximation, report = tuned
    factors = found.factors if options.wide is not None else found.factors * report.column_factors
    if found.tuning is not None:  # the factors are relative to the first prior
        of_columns = found.tuning.column_factors * report.column_factors
        report = replace(report, factors=report.factors * found.tuning.factors, column_factors=of_columns)
    if options.wide is not None:
        columns = options.wide.source.columns
        report = replace(report, boundary=tuple(each._replace(columns=columns) for each in report.boundary))
    # No warning if only some groups are switched off, which is the purpose of groups.
    warnings = [limit.describe() for limit in report.boundary if limit.limit is not Limit.NARROW]
    if len(report.boundary) == len(report.labels) and not warnings:
        warnings = [limit.describe() for limit in report.boundary]
    if report.is_incomplete:
        warnings.append(f"Tuning of the prior {report.status.value} ({len(report.trace) - 1}).")
    return replace(
        found,
        objective=objective,
        approximation=approximation,
        factors=factors,
        tuning=report,
        tuned=approximation,
        fitter=fitter,
        warnings=tuple(warnings),
    )


def _improve_auto(found: Inference, options: Options) -> Inference:
    """Improve the approximation with the method that `choose` selects."""
    objective, first = found.objective, found.full
    shift = skewness(objective, first)
    method = choose(objective, shift)
    better = _improve_by(found, method, options)
    if method == "importance" and better.pareto_k < USABLE_K:
        return replace(better, draws=None)  # the Gaussian of their moments predicts as well, and 300 times faster
    if method == "importance" and shift.largest > MODERATE_SHIFT and is_variational_cheap(objective):
        method, better = "variational", _improve_by(found, "variational", options)
    if method in ("ep", "variational") and better.approximation.name == method:
        return better
    found = replace(found, warnings=better.warnings if method == "ep" else found.warnings)
    if shift.largest > MODERATE_SHIFT:  # averages over so poor a Gaussian are worse than the mode alone
        warning = (
            f"The posterior is skewed: its mean is about {shift.largest:.1f} standard deviations from its mode along "
            f"{shift.column!r}, and no better approximation was affordable. Probabilities are those at the mode; "
            "evidence and intervals may be wrong. Use a narrower prior, fewer columns, or drop columns that are almost "
            "always zero."
        )
        return replace(found, rule="map", warnings=(*found.warnings, warning))
    if shift.largest > CORRECTED_SHIFT:
        return replace(found, approximation=third_order(objective, first, shift))
    return found


def _improve_by(found: Inference, method: str, options: Options) -> Inference:
    """Improve the approximation with a given method, or add a warning if that does not converge."""
    objective, first = found.objective, found.full
    if method == "laplace":
        return found
    if method == "importance":
        weighted = importance(objective, first, rng=options.rng)
        return replace(found, approximation=weighted.approximation, draws=weighted.draws, pareto_k=weighted.k)
    if method == "variational":
        is_softmax = isinstance(objective.likelihood, Softmax)
        return found.accept((variational_softmax if is_softmax else variational)(objective, first))
    memory: list[Sites] = []
    if options.tune:  # the search compares evidences without the correction, which has no gradient
        fitter = FitEP(options.tol, memory)
        plain = found.accept(
            expectation_propagation(objective, first, tol=EP_TOL_IN_STD, corrected=False, memory=memory)
        )
        if plain.approximation is first:
            return plain
        found = _tune(plain, options, fitter)
    return found.accept(expectation_propagation(found.objective, found.full, memory=memory))
