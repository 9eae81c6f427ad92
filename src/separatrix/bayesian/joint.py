# SPDX-License-Identifier: BSD-3-Clause
"""Take the steps of an inference with the covariance of all weights, or of all weights in the span of few rows.

    `tune_joint`     the most probable scales of the prior, by the evidence of the method that fits them best
    `shape_joint`    one scale, a scale for each column, and an alignment with the correlations of the columns
    `fit_joint`      a better Gaussian than Laplace's, if the posterior is skewed
    `check_joint`    the errors of its probabilities and intervals; draws replace a poor Gaussian
    `average_joint`  the average over the scales, and over a simpler prior

The method depends on the shift of the mean from the mode (`skewness`, `choose`). The errors of each method, for
thirteen posteriors whose exact values are known, are in docs/bayesian.md. Expectation propagation is limited to two
classes. For K classes and a large shift, or few weights, "auto" uses the variational posterior. Its bound on the
evidence is 0.2 to 4 nats too low, so draws or chains give the evidence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from separatrix._text import counted
from separatrix.bayesian import costs
from separatrix.bayesian.averaging import average, average_draws
from separatrix.bayesian.by_class import MODERATE_SHIFT
from separatrix.bayesian.checks import errors_of, keep_draws, skewness, third_order
from separatrix.bayesian.ep import expectation_propagation
from separatrix.bayesian.evidence import FitEP, FitLaplace, prior_scales, with_change_of_curvature
from separatrix.bayesian.posterior import Approximation, improper
from separatrix.bayesian.record import MAX_DRAWN_WEIGHTS, Errors, Inference, Options, Skewness, has_contrasts
from separatrix.bayesian.sampling import (
    LEAPFROG_STEPS_PER_PATH,
    N_CHAINS,
    N_WARM_PATHS,
    USABLE_K,
    Chains,
    Proposal,
    hamiltonian,
    importance,
    sampled_approximation,
    weighted_draws,
)
from separatrix.bayesian.shapes import (
    FIRST_TOL,
    SHAPE_TOL,
    TUNING_TOL,
    one_scale,
    scale_average,
    shape_prior,
    tune_prior,
)
from separatrix.bayesian.tuning import TuningReport, TuningStatus, scale_of_sample
from separatrix.bayesian.uncoupled import laplace_by_class
from separatrix.bayesian.variational import estimated_seconds, variational, variational_by_class
from separatrix.solvers import Posterior, has_cheap_hessian
from separatrix.weights import Draws

# Shifts of the mean, in posterior standard deviations
NEGLIGIBLE_SHIFT = 0.05  # up to this, Laplace's Gaussian is accurate; with 0.1, a probability changes by 0.004

# Tolerances of expectation propagation in tuning, in posterior standard deviations: if sweeps are cheap, and if not
EP_TOL_IN_STD, ROUGH_EP_TOL_IN_STD = 0.1, 0.2

# Checks
N_DRAWS = 4096  # draws of importance sampling
CHECK_PATHS = 4  # paths of the chains that check a Gaussian
SAMPLED_PATHS, LONG_WARM_PATHS = 24, 12  # paths of the chains that replace a Gaussian, and those before
MAX_AVERAGE_ERROR = 0.01  # average error of probabilities that causes a warning
MAX_EVIDENCE_NOISE = 0.3  # nats, above which a note states the error of the evidence
MAX_RHAT = 1.1  # R-hat of chains, above which a warning says that they have not converged

LOW_EVIDENCE = (
    "log_evidence_ is a lower bound and may be tens of nats too low: the posterior is skewed, and too "
    "large to be sampled. Compare models on held-out rows instead."
)
ROUGH_EVIDENCE = (
    "log_evidence_ has an error of about {noise:.1f} nats, because the posterior of K classes is skewed and has many "
    "weights."
)
SKEWED_BATCH = (
    "After this batch of {rows}, the posterior is skewed: its mean is about {shift:.1f} standard deviations from its "
    "mode along {column!r}. The next batch takes it for a Gaussian, so that probabilities may differ from those of one "
    "fit of all rows by 0.1 or more. Use larger batches, or fit all rows at once."
)
METHOD_NAMES = {
    "laplace": "Laplace's Gaussian",
    "ep": "expectation propagation",
    "variational": "the variational Gaussian",
    "importance": "importance sampling",
    "hmc": "Hamiltonian chains",
}


# -- tune --------------------------------------------------------------------------------------------------------


def tune_joint(found: Inference, options: Options) -> Inference:
    """Find the most probable scales by Laplace's evidence, or by that of expectation propagation if it is chosen."""
    if found.approximation is None:
        found = _first_scale(found) if options.aligns and found.objective.shape[0] == 1 else found
        found = _laplace(found, FitLaplace(options.tol, is_rough=True))
    may_retune = found.objective.shape[0] == 1 and options.method in ("auto", "ep")
    is_rough = may_retune and found.objective.sample is None
    exact = FitLaplace(options.tol)
    found = tune_prior(found, options, replace(exact, is_rough=is_rough), FIRST_TOL if is_rough else TUNING_TOL)
    if may_retune:
        found = with_method(found, options)
        if found.method == "ep":
            return _tune_by_ep(found, options)
        if not found.full.is_converged:
            found = replace(tune_prior(found, options, exact), shift=None)
    return found.did(_scales_of(found))


def _first_scale(found: Inference) -> Inference:
    """Start at the median scale under its hyperprior or, for large tables, near the best scale of a sample."""
    objective, start = found.objective, found.start
    scales = prior_scales(objective, found.groups)
    eta = np.clip(np.log(scales.median / scales.typical), *scales.bounds(objective))
    is_large = objective.sample is not None and not has_cheap_hessian(objective)
    if is_large and len(eta) == 1 and objective.likelihood.is_log_concave:
        eta, start = scale_of_sample(objective, scales, eta)
    factors, none = np.exp(eta), np.zeros(len(eta))
    of_columns = factors[scales.groups[: len(objective.design.origin)]]
    report = TuningReport(scales.labels, factors, of_columns, none, TuningStatus.CONVERGED, (), (), 0)
    objective = replace(objective, prior=scales.prior(eta))
    return replace(found, objective=objective, start=start, factors=of_columns, tuning=report)


def _laplace(found: Inference, fitter: FitLaplace) -> Inference:
    """Find the mode and Laplace's Gaussian there."""
    solution, gaussian = fitter.solve(found.objective, found.start, "full")
    return replace(found, approximation=gaussian, solution=solution)


def _tune_by_ep(found: Inference, options: Options) -> Inference:
    """Tune again by the evidence of expectation propagation, or by Laplace's if that does not converge."""
    # The search compares evidences without the correction by third cumulants, which has no gradient.
    is_cheap = _has_cheap_sweeps(found.objective)
    fitter = FitEP(options.tol, [], EP_TOL_IN_STD if is_cheap else ROUGH_EP_TOL_IN_STD)
    first, tol, memory = found.full, fitter.tol_in_std, fitter.memory
    plain = found.accept(
        expectation_propagation(found.objective, first, tol=tol, corrected=False, single=True, memory=memory)
    )
    if plain.approximation is first:
        exact = tune_prior(found, options, FitLaplace(options.tol))
        exact = replace(exact, method="laplace", warnings=(*exact.warnings, *plain.warnings))
        return exact.did(_scales_of(exact))
    tuned = tune_prior(plain, options, fitter, TUNING_TOL if is_cheap else 0.3)  # nats, before the shape is chosen
    return tuned.did(_scales_of(tuned))


def retune_joint(found: Inference, options: Options) -> Inference:
    """Tune the scales again for a part of the rows. The search starts at the prior of all rows and keeps its kind."""
    near = found.best_tuned
    fitter = FitEP(options.tol, [], ROUGH_EP_TOL_IN_STD) if near.name == "ep" else FitLaplace(options.tol)
    fit = fitter.fit(found.objective, near.mean, near.factor)
    part = replace(found, approximation=fit, at_mode=None, solution=None, shift=None)
    return tune_prior(part, options, fitter, SHAPE_TOL)


def _has_cheap_sweeps(objective: Posterior) -> bool:
    return costs.sweep_seconds(objective) <= costs.LIMITS["sweep"]


def _has_cheap_draws(objective: Posterior) -> bool:
    return costs.sampling_seconds(objective, N_DRAWS) <= costs.LIMITS["draws"]


def _scales_of(found: Inference) -> str:
    """Describe the tuned scales."""
    factors = found.report.factors
    by = METHOD_NAMES["laplace" if found.fitter is None else found.fitter.name]
    low, high = float(factors.min()), float(factors.max())
    return (
        f"scale x {low:.3g}" if len(factors) == 1 else f"{len(factors)} scales x {low:.3g} to {high:.3g}"
    ) + f", by {by}"


# -- shape -------------------------------------------------------------------------------------------------------


def shape_joint(found: Inference, options: Options) -> Inference:
    """Align the prior, or give each column a scale, if the evidence rises."""
    shaped = shape_prior(found, options)
    if shaped is found:
        if found.method == "ep" and not _has_cheap_sweeps(found.objective):  # tuning ended early
            found = tune_prior(found, options, found.method_of_tuning)
        return found.did("as stated: no alignment, and no scale for each column, has a higher evidence")
    assert shaped.shape is not None, "another shape"
    kinds = ["a scale for each column"] if len(shaped.report.labels) > 1 else []
    if (shaped.shape != np.diag(np.diag(shaped.shape))).any():
        kinds.append("aligned with the correlations of the columns")
    gain = shaped.best_tuned.log_evidence - found.best_tuned.log_evidence
    shaped = shaped if found.method == "ep" else replace(shaped, shift=None)
    return shaped.did(f"{', '.join(kinds)}: ln p(D) rises by {gain:.2f}")


# -- fit ---------------------------------------------------------------------------------------------------------


def choose(objective: Posterior, found: Skewness) -> str:
    """Return the method that "auto" uses: "laplace" (with `third_order`), "ep" or "variational".

    If the chosen method does not converge, the caller uses another one.
    """
    if found.largest <= NEGLIGIBLE_SHIFT:
        return "laplace"
    if objective.shape[0] == 1:
        return "ep" if found.largest > MODERATE_SHIFT or _has_cheap_sweeps(objective) else "laplace"
    is_small = np.prod(objective.shape) <= MAX_DRAWN_WEIGHTS and _has_cheap_draws(objective)
    return "variational" if found.largest > MODERATE_SHIFT or is_small else "laplace"


def with_method(found: Inference, options: Options) -> Inference:
    """Choose the method from the shift of the mean, if it is not requested."""
    if options.method != "auto":
        return replace(found, method=options.method)
    shift = skewness(found.objective, found.full, found.log_det_slope)
    if options.is_batch and found.objective.shape[0] > 1 and shift.largest > MODERATE_SHIFT:
        rows = counted(found.objective.source.n_rows, "row")
        found = found.warned(SKEWED_BATCH.format(rows=rows, shift=shift.largest, column=shift.column))
    return replace(found, method=choose(found.objective, shift), shift=shift)


def fit_joint(found: Inference, options: Options) -> Inference:
    """Improve Laplace's Gaussian by the chosen method; if it does not converge, by another one.

    Without a better Gaussian, the mean is corrected (`third_order`), or probabilities are those at the mode.
    """
    if found.approximation is None:
        found = _laplace(found, FitLaplace(options.tol))
        assert found.solution is not None, "with the mode"
        gaussian, slope = with_change_of_curvature(found.objective, found.full, found.solution.value)
        solution = found.solution if slope is None else replace(found.solution, value=gaussian.mean)
        found = replace(found, approximation=gaussian, solution=solution, log_det_slope=slope)
    found = found if found.method else with_method(found, options)
    if found.shift is None and options.method == "auto":  # the prior has changed
        found = replace(found, shift=skewness(found.objective, found.full, found.log_det_slope))
    better = improve(found, found.method, options)
    if options.method == "laplace" or better.full.name != "laplace":
        return better.did(_method_of(better))
    shift = found.shift or skewness(better.objective, better.full)
    if options.method == "auto" and shift.largest > MODERATE_SHIFT:
        better = improve(better, "variational", options)
        if better.full.name != "laplace":
            return better.did(_method_of(better))
    if shift.largest > MODERATE_SHIFT and not options.tune:  # averages over so poor a Gaussian are worse than the mode
        warning = (
            f"The posterior is skewed: its mean is about {shift.largest:.1f} standard deviations from its mode along "
            f"{shift.column!r}, and no better approximation converged. Probabilities are those at the mode; evidence "
            "and intervals may be wrong. Use a narrower prior, fewer columns, or drop columns that are almost always "
            "zero."
        )
        return replace(better.warned(warning), variance_factor=0.0).did(
            "Laplace's Gaussian; probabilities are those at the mode"
        )
    if shift.largest > 0.01:  # the correction takes a pass
        moved = third_order(better.objective, better.full, shift)
        better = replace(better, approximation=moved)
    return better.did(_method_of(better))


def improve(found: Inference, method: str, options: Options) -> Inference:
    """Compute a better Gaussian with a given method; add a warning if that does not converge."""
    objective, first = found.objective, found.full
    if method == "importance":
        weighted = importance(objective, first, rng=options.rng)
        return replace(found, approximation=weighted.approximation, draws=weighted.draws, pareto_k=weighted.k)
    if method == "hmc":
        start = improve(replace(found, fitter=None), "ep" if objective.shape[0] == 1 else "variational", options)
        return sampled(replace(start, fitter=found.fitter), options)
    if method == "ep":
        near: dict[str, Any] = {}
        if found.fitter is not None and found.fitter.memory:
            # The step that is predicted from there has an error of about 0.01 sd.
            near = {"tol": 0.05, "single": True, "memory": found.fitter.memory}
        return found.accept(expectation_propagation(objective, first, **near))
    return found.accept(_variational(objective, first)) if method == "variational" else found


def _variational(objective: Posterior, first: Approximation) -> Approximation:
    """Return the variational posterior; of K classes without coupling between contrasts, if that would take long."""
    if has_contrasts(objective) and estimated_seconds(objective) > costs.LIMITS["joint"]:
        return variational_by_class(objective, laplace_by_class(objective, first.mean)).with_full_factor()
    return variational(objective, first)


def _method_of(found: Inference) -> str:
    """Describe the method of the Gaussian, and why it was chosen."""
    shift = "" if found.shift is None else f", because the mean is {found.shift.largest:.2g} sd from the mode"
    return METHOD_NAMES[found.full.name] + shift


# -- check -------------------------------------------------------------------------------------------------------


def check_joint(found: Inference, options: Options) -> Inference:
    """Estimate the error of probabilities, if affordable; replace a poor Gaussian by draws, or warn."""
    found = check_by_draws(found, options) if found.draws is None and np.isnan(found.errors.average) else found
    objective, name, error = found.objective, found.full.name, found.errors.average
    found, remedy = found.did(_error_of(found)), ""
    if options.wide is None:  # other methods need the full covariance
        others = "'importance'" if objective.shape[0] > 1 else "'ep' or 'importance'"
        remedy = f"approximation={others if name == 'laplace' else repr('hmc')}, "
    if error > (0.02 if options.method == "laplace" else MAX_AVERAGE_ERROR):
        is_k_class_auto = options.method == "auto" and objective.shape[0] > 1
        n_paths = N_WARM_PATHS + SAMPLED_PATHS
        if is_k_class_auto and can_sample(objective, n_paths, costs.LIMITS["long chains"]):
            return sampled(found, options).did(f"Hamiltonian chains replace a Gaussian with average error {error:.2g}")
        poor = f"average error {error:.2g}"
    elif np.isnan(error) and found.pareto_k > USABLE_K and name in ("laplace", "importance"):
        poor, remedy = f"Pareto k {found.pareto_k:.2f}; above 0.7 is poor", remedy if name == "laplace" else ""
    else:
        return found
    return found.warned(
        f"The posterior is far from its Gaussian approximation ({poor}): probabilities and evidence of the {name!r} "
        f"approximation may be wrong. Use {remedy}a narrower prior, or drop columns that are almost always zero."
    )


def _error_of(found: Inference) -> str:
    """Describe the errors that were found."""
    errors = found.errors
    if np.isnan(errors.average):
        k = "" if np.isnan(found.pareto_k) else f"Pareto k {found.pareto_k:.2f}; "
        return f"{k}the errors of probabilities are not known: too many rows, or too few to represent new ones"
    of_draws = ""
    if found.draws is not None:
        of_draws = ", predicted by draws" if found.draws.for_averages else ", which are quantiles of draws"
    return f"average error {errors.average:.2g} of probabilities, {errors.bounds:.2g} of 95 % bounds{of_draws}"


class Drawn(NamedTuple):
    """Draws from the posterior, and the ln p(D) that they give; chains are too short for quantiles of their own."""

    draws: Draws
    log_evidence: float
    is_weighted: bool


def _draw(found: Inference, options: Options) -> tuple[Inference, Drawn | None]:
    """Draw with importance weights or, if these are unusable, by chains; None if both would take too long."""
    objective, q, is_auto = found.objective, found.full, options.method == "auto"
    proposal, is_small = Proposal(q.mean, q.moments or q.factor, None), _has_cheap_draws(objective)
    if proposal.factor.singular is not None:  # weights of rows beyond 1e16 leave no digit of the prior
        raise improper(objective, proposal.factor.singular)
    if is_small:
        draws, smoothed = weighted_draws(objective, proposal, N_DRAWS, options.rng)
        found = replace(found, pareto_k=smoothed.k)
        if smoothed.k < USABLE_K:
            return found, Drawn(draws, smoothed.log_mean, is_weighted=True)
        if is_auto and q.mean.size <= MAX_DRAWN_WEIGHTS:
            better = importance(objective, q, n=N_DRAWS, rng=options.rng)  # from a wider proposal
            if better.k < USABLE_K:
                return found, Drawn(better.draws, better.approximation.log_evidence, is_weighted=True)
    is_variational = q.name == "variational"
    can_chain = is_variational and can_sample(objective, N_WARM_PATHS + CHECK_PATHS, costs.LIMITS["chains"])
    if not is_small and not can_chain:
        return replace(found, notes=(LOW_EVIDENCE,) if is_auto and is_variational else ()), None
    chains = hamiltonian(objective, q, n_paths=CHECK_PATHS, rng=options.rng)
    log_evidence, noise = chains.log_evidence()
    if is_auto and is_variational and noise > MAX_EVIDENCE_NOISE:
        found = replace(found, notes=(ROUGH_EVIDENCE.format(noise=noise),))
    return found, Drawn(chains.draws, log_evidence, is_weighted=False)


def check_by_draws(found: Inference, options: Options) -> Inference:
    """Compute Pareto k, the errors of the Gaussian, and for K classes and "auto" the evidence, if affordable.

    If the Gaussian has poor probabilities or intervals, "auto" keeps draws, from which they are then computed. In the
    span of few rows it does not: the draws of other weights are not known.
    """
    objective, q, is_auto, is_whole = found.objective, found.full, options.method == "auto", options.wide is None
    found, drawn = _draw(found, options)
    if drawn is None:
        return found
    has_typical_rows = is_whole and objective.n_repeats >= 8  # mixtures of fewer rows are not like new rows
    errors, noise_of_draws = errors_of(objective, q, drawn.draws, has_typical_rows=has_typical_rows)
    found = replace(found, errors=errors if has_typical_rows else Errors())
    # Laplace's evidence is kept if draws nearly agree: it can be compared with that of models that are not sampled.
    is_off = q.name == "variational" or abs(drawn.log_evidence - q.log_evidence) > 0.1
    if is_auto and objective.shape[0] > 1 and is_off:
        found = replace(found, approximation=replace(q, log_evidence=drawn.log_evidence))
    is_better = drawn.is_weighted and noise_of_draws.bounds < errors.bounds
    if is_auto and is_whole and is_better and not options.is_batch and not errors.are_negligible:
        kept = keep_draws(found, drawn.draws, errors, noise_of_draws)
        return kept if has_typical_rows else replace(kept, errors=Errors())
    return found


def can_sample(objective: Posterior, n_paths: int, limit: float, n_chains: int = N_CHAINS) -> bool:
    """Whether chains with a number of paths take at most a number of seconds."""
    seconds = costs.sampling_seconds(objective, n_chains * n_paths * LEAPFROG_STEPS_PER_PATH)
    return seconds <= limit


def sampled(found: Inference, options: Options) -> Inference:
    """Replace the approximation by the draws of Hamiltonian chains that start at it."""
    objective, q = found.objective, found.full
    chains = hamiltonian(objective, q, n_paths=SAMPLED_PATHS, n_warm=LONG_WARM_PATHS, rng=options.rng)
    approximation, draws = sampled_approximation(objective, q, chains, options.rng), chains.draws
    _, errors = errors_of(objective, approximation, draws)
    return with_convergence(replace(found, approximation=approximation, draws=draws, errors=errors), chains)


def with_convergence(found: Inference, chains: Chains) -> Inference:
    """Return the inference, with a warning if the chains have not converged."""
    if chains.rhat <= MAX_RHAT:
        return found
    return found.warned(
        f"The Hamiltonian chains have not converged (R-hat {chains.rhat:.2f}; above {MAX_RHAT} is poor): probabilities "
        "and evidence may be wrong. Use a narrower prior, or drop columns that are almost always zero."
    )


# -- average -----------------------------------------------------------------------------------------------------


def average_joint(found: Inference, options: Options) -> Inference:
    """Average the posterior over the scales of the prior, and over a simpler prior if that is probable."""
    objective, fit = found.objective, found.best_tuned
    if isinstance(options.groups, str) and len(fit.mean[0]) > 2:
        found = replace(found, simpler=one_scale(found))
    nodes = scale_average(found, options)
    draws = None if found.draws is None else average_draws(found.draws, fit, nodes, options.rng)
    averaged = replace(
        found,
        approximation=average(objective, fit, found.full, nodes),
        at_mode=found.approximation,
        draws=draws,
        widening=float(nodes.average_widening.mean()),
    )
    n = len(nodes.fits)
    return averaged.did(f"over {n} scales of the prior" if n > 1 else "not needed: the data determine the scale")
