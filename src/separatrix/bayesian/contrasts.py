# SPDX-License-Identifier: BSD-3-Clause
"""Take the steps of an inference that keeps a part of the covariance, because all of it has too many entries.

    by class     K classes: no coupling between contrasts of classes (`ByClassApproximation`)
    mean field   K classes: independent weights along each contrast
    diagonal     independent weights
    arrow        two classes and a category with thousands of levels: exact (`arrow`)

Tuning, the variational posterior and its check neglect the coupling between contrasts of classes. With many rows per
weight, Laplace's Gaussian with a corrected mean is nearly as accurate, and takes less time. If the matrices of the
contrasts would take minutes too, as for thousands of words, the weights of each contrast are independent. Averages over
this mean field are checked by held-out rows instead of chains, and narrowed if this predicts these rows better.

None of these posteriors is averaged over the scales of its prior: hundreds of weights determine the logarithm of a
scale to a few hundredths.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from separatrix._array import Float
from separatrix._text import counted
from separatrix.bayesian import costs
from separatrix.bayesian.alignment import LOG_ODDS
from separatrix.bayesian.arrow import largest_category, tune_arrow, with_arrow
from separatrix.bayesian.by_class import (
    MODERATE_SHIFT,
    CoupledFit,
    corrected_by_class,
    coupled_fit,
    retune_by_class,
    tune_by_class,
    tune_level,
)
from separatrix.bayesian.checks import checked_rows, errors_of
from separatrix.bayesian.evidence import FitLaplace, prior_scales
from separatrix.bayesian.joint import (
    CHECK_PATHS,
    LONG_WARM_PATHS,
    LOW_EVIDENCE,
    MAX_AVERAGE_ERROR,
    MAX_EVIDENCE_NOISE,
    METHOD_NAMES,
    ROUGH_EVIDENCE,
    SAMPLED_PATHS,
    can_sample,
    with_convergence,
)
from separatrix.bayesian.predictive import class_probabilities
from separatrix.bayesian.record import Errors, Inference, Options, has_contrasts
from separatrix.bayesian.sampling import hamiltonian, sampled_by_class
from separatrix.bayesian.sparse_ep import SparseEP, SparseRows, is_possible
from separatrix.bayesian.tuning import TuningReport, has_full_evidence, profile_scale, reached_limits
from separatrix.bayesian.uncoupled import ByClassApproximation, DiagonalApproximation
from separatrix.bayesian.variational import (
    estimated_by_class_seconds,
    held_out_factor,
    variational_by_class,
    variational_diagonal,
)
from separatrix.likelihoods import ClassLikelihood
from separatrix.solvers import Auto, Posterior, Solution, Status

# Number of weights of K classes above which "auto" neglects coupling between contrasts of classes. With 100, the
# evidence of 100 x 40 and three classes changes by 1.3 nats, and a probability by 0.04.
MAX_COUPLED_WEIGHTS = 200
MAX_PASSES = 200  # of a variational fit by class; 1797 digits take 184, because the average over points limits a pass
MANY_ROWS_PER_WEIGHT = 5  # from which Laplace's Gaussian is tried before the variational posterior by class
N_FEW_CHAINS, FEW_WARM_PATHS = 16, 2  # chains that check a posterior by class, and their paths before

EXPONENTS = (0.5, 1.0)  # of the standard deviations of columns, to which their scales are proportional

SKEWED_BY_CLASS = (
    "The posterior is skewed: the mean of a weight is about {shift:.1f} standard deviations from its mode, probably of "
    "a class with few rows. The means are corrected, but probabilities of that class may be wrong: a better "
    "approximation would take minutes."
)
SKEWED_AT_MODE = (
    "The posterior is skewed: the mean of a weight is about {shift:.1f} standard deviations from its mode, probably of "
    "a class with few rows, and a better approximation would take minutes. Probabilities are those at the mode; "
    "evidence and intervals may be wrong. Use a narrower prior, or fewer classes."
)
NARROWED = (
    "Probabilities are averages over activations with {factor:.2g} times their variances, which predict held-out rows "
    "better. Intervals and standard deviations of the posterior do not change."
)


# -- tune --------------------------------------------------------------------------------------------------------


def tune_contrasts(found: Inference, options: Options) -> Inference:
    """Tune one scale, or a scale for each group of columns, and the shape of the prior."""
    objective, is_diagonal = found.objective, found.structure != "by class"
    has_evidence = has_contrasts(objective) or found.structure == "mean field"
    has_scales = has_evidence and prior_scales(objective, options.groups).tuned.ndim == 1
    is_simple = options.groups is None and not options.aligns and found.start.size <= MAX_COUPLED_WEIGHTS
    if is_simple or not has_scales:
        return tune_one_scale(found, options)
    tuned, mode, report, factors, shape, widening = tune_by_class(
        objective, options.tol, groups=options.groups, is_shaped=options.aligns, is_diagonal=is_diagonal
    )
    groups = "columns" if options.groups is None and len(report.labels) > 1 else options.groups
    hyperprior = prior_scales(objective, groups)
    hyperprior = replace(hyperprior, group_std=widening * hyperprior.group_std)
    found = replace(found, hyperprior=hyperprior, groups=groups)
    kind = "one scale" if len(report.labels) == 1 else f"{len(report.labels)} scales"
    kind += "" if shape is None else ", with a shape"
    found = replace(found, objective=tuned, start=mode, tuning=report, factors=factors, shape=shape, approximation=None)
    return found.did(f"{kind}, {counted(report.fits, 'fit')} by Laplace's Gaussian")


def retune_contrasts(found: Inference, options: Options) -> Inference:
    """Tune the scales again for a part of the rows, by one Newton step from the common scale of all rows.

    The scales of columns of all rows are no start: after one step, they still predict the held-out rows too well, by
    0.01 to 0.03 nats per row of words. The approximation is Laplace's Gaussian.
    """
    q, hyperprior = cast(ByClassApproximation | DiagonalApproximation, found.gaussian), found.hyperprior
    assert hyperprior is not None, "tuning keeps its hyperprior"
    objective, eta = found.objective, np.log(found.report.factors)
    tuned = prior_scales(objective, found.groups, replace(hyperprior, typical=hyperprior.typical * np.exp(eta)))
    common = replace(objective, prior=tuned.prior(eta.mean() - eta))
    start = CoupledFit(objective, q, np.zeros(q.mean.shape[1]), np.zeros(q.mean.shape))
    like = replace(hyperprior, typical=hyperprior.typical * np.exp(eta.mean()))
    fit = retune_by_class(start, common, like, found.groups, options.tol)
    return replace(found, objective=fit.objective, approximation=fit.gaussian, at_mode=None)


def tune_one_scale(found: Inference, options: Options) -> Inference:
    """Tune one scale, by the evidence of the full covariance if that is affordable, or by an estimate of it."""
    objective = found.objective
    scales = prior_scales(objective, options.groups)
    if has_full_evidence(objective, scales) or scales.tuned.ndim > 1:
        best = profile_scale(objective)
        factors, search = np.exp(best.eta), (best.gradient, best.status, (), best.trace, best.fits)
        report = TuningReport(scales.labels, factors, np.full(len(found.factors), factors[0]), *search)
    else:
        report = tune_level(objective, scales, options.tol, is_diagonal=found.structure != "by class").report
    tuned = replace(objective, prior=scales.prior(np.log(report.factors)))
    found = replace(found, objective=tuned, factors=report.column_factors, tuning=report)
    return found.did(f"scale x {report.factors[0]:.3g}")


def tune_levels(found: Inference, options: Options) -> Inference:
    """Tune a scale for each group of columns by the exact evidence of an arrow."""
    groups = cast(tuple[object, ...], options.groups)
    levels = largest_category(groups, found.objective.shape[0])
    assert levels is not None, "an arrow has levels"
    passes, arrow = found.objective.source.passes, with_arrow(found.objective, groups)
    tuned, gaussian, report, mode = tune_arrow(arrow, prior_scales(arrow, groups), levels, found.start)
    solution = Solution(mode, Status.GRADIENT, gaussian.steps, found.objective.source.passes - passes)
    found = replace(found, objective=tuned, approximation=gaussian, solution=solution)
    found = replace(found, factors=report.column_factors, tuning=report)
    return found.did(f"{counted(len(report.labels), 'scale')}, {counted(report.fits, 'fit')} by Laplace's Gaussian")


# -- shape -------------------------------------------------------------------------------------------------------


def scale_columns(found: Inference, options: Options) -> Inference:
    """Choose the scale of the prior of each column, as a power of its standard deviation, and tune the scale s again.

        w_j sd_j ~ N(0, s² sd_j^2γ),        γ = 0, ½ or 1

    With γ = 0, all columns have the same effect a priori, as if they were divided by their standard deviations. With
    γ = 1, all weights have the same scale in the units of the columns. So a word that occurs in few texts has a small
    effect a priori: one text cannot move its weight far. The evidence chooses γ. On 5 574 messages, it is 280 nats
    higher for γ = 1. A larger γ is only tried if the one before raises the evidence.
    """
    if not options.aligns or len(found.report.labels) > 1 or found.objective.prior.precision.ndim > 1:
        return found.did("chosen with the scales")
    before = found
    for exponent in EXPONENTS:
        shaped = _with_power(before, exponent, options.tol)
        if _height(shaped) <= _height(found) + LOG_ODDS:
            break
        found = shaped.did(f"scales of columns proportional to their standard deviation to the power {exponent:g}")
    if found is not before:
        gain = _height(found) - _height(before)
        return found.did(f"{found.outcome}: ln p(D) rises by {gain:.1f}")
    return found.did("columns of equal variance: no other scales of the columns have a higher evidence")


def _height(found: Inference) -> float:
    """Return ln p(D, scale) at the most probable scale."""
    return found.report.trace[-1].log_evidence


def _with_power(found: Inference, exponent: float, tol: float) -> Inference:
    """Tune the scale of a prior whose standard deviations are multiplied by a power of those of the columns."""
    factors = power_of_spread(found.objective, exponent)
    M, precision = len(factors), found.objective.prior.precision.copy()
    precision[:M] /= factors**2
    objective = replace(found.objective, prior=replace(found.objective.prior, precision=precision))
    scales = prior_scales(objective)
    level = tune_level(objective, scales, tol, is_diagonal=True)
    factor = float(level.report.factors[0])
    tuned = replace(objective, prior=scales.prior(np.log([factor])))
    mode = level.fit.gaussian.mean
    limits = reached_limits(tuned, scales, scales.typical * factor, mode, np.zeros(1, dtype=bool))
    report = replace(
        level.report,
        factors=factor * found.report.factors,
        column_factors=factor * factors * found.report.column_factors,
        boundary=limits,
        fits=found.report.fits + level.report.fits,
    )
    return replace(found, objective=tuned, start=mode, tuning=report, factors=factor * factors * found.factors)


def power_of_spread(objective: Posterior, exponent: float) -> Float:
    """Return sd_j^γ of each column, (M,), divided so that the prior variance of the activations does not change.

    Columns that do not vary have the factor 1.
    """
    spread = objective.units.spread
    varies = spread > 0
    factors = np.ones(len(spread))
    if varies.any():
        variance = spread[varies] ** 2 / objective.prior.precision[: len(spread)][varies]
        relative = (spread[varies] / spread[varies].max()) ** exponent
        factors[varies] = relative * np.sqrt(variance.sum() / (variance * relative**2).sum())
    return factors


# -- fit ---------------------------------------------------------------------------------------------------------


def fit_laplace(found: Inference, options: Options) -> Inference:
    """Find the mode and Laplace's Gaussian there."""
    if found.approximation is None:
        solution, gaussian = FitLaplace(options.tol).solve(found.objective, found.start, found.structure)
        found = replace(found, approximation=gaussian, solution=solution)
    return found.did(METHOD_NAMES["laplace"])


def fit_by_class(found: Inference, options: Options) -> Inference:
    """Compute the variational posterior without coupling between contrasts.

    With many rows, Laplace's Gaussian is kept if the mean is near the mode, as with the full covariance.
    """
    found = fit_laplace(found, options)
    if options.method != "auto" or not has_contrasts(found.objective):
        return found
    objective, q = found.objective, cast(ByClassApproximation, found.approximation)
    seconds = estimated_by_class_seconds(objective)
    if objective.n_repeats >= MANY_ROWS_PER_WEIGHT * q.mean.size:
        max_shift = MODERATE_SHIFT if seconds <= costs.LIMITS["quick"] else np.inf
        corrected = corrected_by_class(objective, q, options.tol, max_shift=max_shift)
        if corrected is not None:
            return _with_corrected_mean(found, q, *corrected)
    if seconds > costs.BUDGET:
        return found
    variational = variational_by_class(objective, q, max_steps=MAX_PASSES)
    return found.accept(variational).did(METHOD_NAMES["variational"])


def _with_corrected_mean(
    found: Inference, q: ByClassApproximation, shifted: ByClassApproximation, largest: float
) -> Inference:
    """Use Laplace's Gaussian with a corrected mean, or at its mode; its error follows from the correction."""
    objective = found.objective
    if largest > 1:  # sd; averages over so poor a Gaussian are far worse than the mode
        at_mode = replace(q, log_evidence=shifted.log_evidence)
        found = replace(found.warned(SKEWED_AT_MODE.format(shift=largest)), approximation=at_mode, variance_factor=0.0)
        return found.did("Laplace's Gaussian; probabilities are those at the mode")
    X, likelihood = checked_rows(objective, q.mean), cast(ClassLikelihood, objective.likelihood)
    a = (each.activations(X, objective.design) for each in (q, shifted))
    before, after = (class_probabilities(likelihood, each, "exact") for each in a)
    notes = (SKEWED_BY_CLASS.format(shift=largest),) if largest > MODERATE_SHIFT else ()
    error = float(np.abs(after - before).mean())  # of Laplace's Gaussian, to first order
    found = replace(found, approximation=shifted, notes=notes, errors=Errors(error))
    return found.did(f"Laplace's Gaussian, with the mean corrected by at most {largest:.2g} sd")


def fit_mean_field(found: Inference, options: Options) -> Inference:
    """Compute a posterior with independent weights: of sparse rows and two classes, by expectation propagation."""
    if options.method == "auto" and is_possible(found.objective) and (better := _fit_sparse(found, options)):
        return better
    found = fit_laplace(found, options)
    if options.method != "auto":
        return found
    objective, first = found.objective, cast(DiagonalApproximation, found.approximation)
    better = found.accept(variational_diagonal(objective, first))
    q = cast(DiagonalApproximation, better.approximation)
    coupled = coupled_fit(objective, first.mean, options.tol, is_diagonal=True).log_evidence
    q = replace(q, log_evidence=max(q.log_evidence, coupled))
    better = replace(better, approximation=q, notes=(*found.notes, LOW_EVIDENCE))
    return better.did(METHOD_NAMES["variational"])


def _fit_sparse(found: Inference, options: Options) -> Inference | None:
    """Tune the scale by the evidence of expectation propagation, which Laplace's is far below; None if that fails."""
    objective, fitter = found.objective, SparseEP(SparseRows.of(found.objective), [])
    solution = Auto(options.tol).minimise(objective, found.start)
    factor = 1.0
    if options.tune:
        eta = fitter.tune(objective, solution.value)
        factor = float(np.exp(eta))
        objective = replace(objective, prior=prior_scales(objective).prior(np.array([eta])))
        report = found.report
        report = replace(report, factors=factor * report.factors, column_factors=factor * report.column_factors)
        found = replace(found, objective=objective, factors=factor * found.factors, tuning=report)
    q = fitter.fit(objective, solution.value, with_evidence=True)
    if not q.is_converged:
        return None
    found = replace(found, approximation=q, solution=replace(solution, value=q.mean))
    return found.did(METHOD_NAMES["ep"] + (f", with the scale x {factor:.3g} by its evidence" if options.tune else ""))


# -- check -------------------------------------------------------------------------------------------------------


def check_by_class(found: Inference, options: Options) -> Inference:
    """Check the variational posterior by chains, if affordable; they replace it if its probabilities are poor."""
    objective, q = found.objective, cast(ByClassApproximation, found.approximation)
    if options.method != "auto" or not has_contrasts(objective):
        return found.did("not requested")
    if found.variance_factor == 0.0 or not np.isnan(found.errors.average):
        return found.did(f"average error of probabilities {found.errors.average:.2g}, from the shift of the mean")
    if not can_sample(objective, FEW_WARM_PATHS + CHECK_PATHS, costs.LIMITS["few chains"], N_FEW_CHAINS):
        return replace(found, notes=(*found.notes, LOW_EVIDENCE)).did("chains would take too long")
    few = partial(hamiltonian, objective, q, n_chains=N_FEW_CHAINS, rng=options.rng)
    chains = few(n_paths=CHECK_PATHS, n_warm=FEW_WARM_PATHS)
    errors, _ = errors_of(objective, q, chains.draws)
    is_replaced = errors.average > MAX_AVERAGE_ERROR and q.name == "variational"
    if is_replaced:
        chains = few(n_paths=SAMPLED_PATHS, n_warm=LONG_WARM_PATHS)
    log_evidence, noise = chains.log_evidence()
    notes = (ROUGH_EVIDENCE.format(noise=noise),) if noise > MAX_EVIDENCE_NOISE else ()
    if noise > 30:  # nats
        log_evidence, notes = q.log_evidence, (LOW_EVIDENCE,)
    found = replace(found, errors=errors, notes=(*found.notes, *notes))
    found = found.did(f"average error of probabilities {errors.average:.2g}, by chains")
    if is_replaced:
        sampled = sampled_by_class(q, chains.draws, log_evidence)
        _, noise_of_draws = errors_of(objective, sampled, chains.draws)
        found = found.did(f"Hamiltonian chains replace a Gaussian with average error {errors.average:.2g}")
        found = replace(found, approximation=sampled, draws=chains.draws, errors=noise_of_draws)
        return with_convergence(found, chains)
    found = replace(found, approximation=replace(q, log_evidence=log_evidence))
    if errors.average <= MAX_AVERAGE_ERROR:
        return found
    return found.warned(
        f"The posterior is far from its Gaussian approximation (average error {errors.average:.2g}): probabilities may "
        f"be wrong, and {q.mean.size} weights are too many for a better approximation. Use a narrower prior, or fewer "
        "columns."
    )


# -- hold out ----------------------------------------------------------------------------------------------------


def narrow_mean_field(found: Inference, options: Options) -> Inference:
    """Narrow averages over a mean field if this predicts held-out rows better."""
    if options.method != "auto":
        return found.did("not requested")
    factor = held_out_factor(found.objective, cast(DiagonalApproximation, found.approximation))
    notes = () if factor == 1.0 else (NARROWED.format(factor=factor),)
    found = replace(found, variance_factor=factor, notes=(*found.notes, *notes))
    return found.did(f"averages over {factor:.2g} times the variances predict held-out rows best")
