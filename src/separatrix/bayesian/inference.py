# SPDX-License-Identifier: BSD-3-Clause
"""From an objective to a posterior: mode, Gaussian, diagnosis, repair; and the tuning of the prior.

1. Find the mode and Laplace's Gaussian there, with a covariance structure that suits the size of the problem.
2. If requested, tune the scales of the prior by evidence, starting from that Gaussian. If no prior is stated, `align`
   it with the correlations of the columns, or give each column a scale, if the evidence rises.
3. Compute a better Gaussian: the requested one or, for "auto", one chosen by the shift of the mean from the mode. If
   that is expectation propagation and tuning was requested, tune again with its evidence.
4. Estimate the error of its probabilities, if the number of rows is small enough (`average_error`). For a dual Gaussian
   this is done in the span of the rows; for the other structures it is not done.
5. If the scales were tuned, average the posterior over them, and over a simpler prior.

**The shift of the mean** (`skewness`). Laplace's Gaussian ignores the third derivatives of the log posterior at the
mode. They shift the mean from the mode, to first order by

    δ = -½ A⁻¹ Σ_n weight_n skew_n var_n φ̃_n,        skew_n = -∂³ ln p(t_n | a_n)/∂a³,    var_n = φ̃_n' A⁻¹ φ̃_n

For K classes skew_n var_n becomes the gradient of tr(curvature Sigma_n). A small δ is the error of Laplace's mean. A
large δ is a warning: if a rare 0/1 column separates the classes, δ is several posterior standard deviations, while the
Pareto k is still 0.7. δ takes one pass over the rows, or over a sample of them if the data are large and no value of a
column is so rare that the sample may miss its effect (`is_represented`).

**The choice** (`choose`) is based on the thirteen posteriors of the tests, whose exact values are known:

    largest shift       Laplace, mean corrected: error of the mean, of the sd, of ln p(D)     expectation propagation
    up to 0.17 sd       0.01 sd,  4 %,  0.03 to 0.09                                          0.01 sd,  1 %,  0.002
    0.3 to 0.6 sd       0.02 to 0.1 sd,  3 to 18 %,  0.02 to 0.3                              0.03 sd,  3 %,  0.01
    above               0.1 to 0.2 sd,  12 to 33 %,  0.2 to 1.2                               0.04 sd,  4 %,  0.03

Expectation propagation is limited to two classes. For K classes, "auto" uses importance sampling if the number of
weights is small. If that fails, or for more weights and a large shift, it uses the variational posterior.

**The error of probabilities** (`average_error`). The probabilities of the Gaussian are compared with averages over
draws from the posterior, at training rows and at rows that mix two of them: at some training rows even a poor Gaussian
agrees with the label. Mixtures of two classes are unlike most rows, so most of them mix rows of one class. The draws
are importance weighted draws from the Gaussian if their Pareto k is below 0.7, and otherwise those of short Hamiltonian
chains that start at it. k itself follows the error badly: it grows with the number of weights, and it is 0.7 to 1 for
variational posteriors of K classes whose average error is 0.002. The draws also give the evidence of K classes, whose
variational bound is 0.2 to 4 nats too low.

**Many weights of K classes.** Above `MAX_COUPLED_WEIGHTS` no matrix of all weights is formed: tuning, the variational
posterior and its check neglect the coupling between contrasts of classes (`by_class`, `variational_by_class`). With
many rows per weight this would not pay: a few Hessians take less time than that posterior, and Laplace's method is
accurate. If the matrices of the contrasts would take minutes too, as for thousands of words, the weights of each
contrast are independent (`variational_diagonal`). Their averages are then checked by held-out rows instead of chains,
and narrowed if this predicts these rows better (`held_out_factor`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from scipy import special

from separatrix._arguments import generator
from separatrix._array import Array, Codes, Float, to_dense
from separatrix._text import counted
from separatrix.bayesian.arrow import largest_category, tune_arrow, with_arrow
from separatrix.bayesian.averaging import average, average_draws
from separatrix.bayesian.by_class import MODERATE_SHIFT, corrected_by_class, has_cheap_shape, tune_by_class
from separatrix.bayesian.draws import NEGLIGIBLE_ERROR, Draws, Errors
from separatrix.bayesian.ep import expectation_propagation
from separatrix.bayesian.evidence import (
    MIN_ROTATED_COLUMNS,
    FitEP,
    FitLaplace,
    Levels,
    is_represented,
    log_det_gradient,
    log_likelihood_near,
    prior_scales,
    with_change_of_curvature,
)
from separatrix.bayesian.posterior import (
    LAPLACE,
    MAX_FULL_WEIGHTS,
    Approximation,
    ByClassApproximation,
    DiagonalApproximation,
    DualApproximation,
    UncoupledApproximation,
    choose_structure,
    improper,
    laplace_by_class,
    weight_names,
)
from separatrix.bayesian.predictive import class_probabilities, intervals
from separatrix.bayesian.record import MAX_DRAWN_WEIGHTS, Inference, Options
from separatrix.bayesian.sampling import (
    LEAPFROG_STEPS_PER_PATH,
    N_CHAINS,
    N_WARM_PATHS,
    USABLE_K,
    Chains,
    Proposal,
    evaluations,
    hamiltonian,
    importance,
    sampled_approximation,
    sampled_by_class,
    weighted_draws,
)
from separatrix.bayesian.shapes import (
    FIRST_TOL,
    TUNING_TOL,
    one_scale,
    scale_average,
    shape_prior,
    tune_prior,
)
from separatrix.bayesian.tuning import (
    TuningReport,
    TuningStatus,
    has_full_evidence,
    profile_scale,
    scale_of_sample,
    tune_structure,
)
from separatrix.bayesian.variational import (
    estimated_by_class_seconds,
    estimated_seconds,
    held_out_factor,
    variational,
    variational_by_class,
    variational_diagonal,
    variational_softmax,
)
from separatrix.exceptions import DataError
from separatrix.likelihoods import ClassLikelihood, Softmax
from separatrix.solvers import MAX_JOINT_WEIGHTS, Posterior, Solution, Status, dual, has_cheap_hessian, is_wide
from separatrix.stats import collect_sample

METHODS = ("auto", "laplace", "variational", "ep", "importance", "hmc")

# Shifts of the mean, in posterior standard deviations
UNRELIABLE_SHIFT = 1.0  # above this, the first-order estimate of the mean is unreliable
CORRECTED_SHIFT = 0.01  # above this, the mean is corrected, which takes a pass
NEGLIGIBLE_SHIFT = 0.05  # up to this, Laplace's Gaussian is accurate

# Costs
MAX_LEVEL_WEIGHTS = 1000  # weights up to which groups have scales under the full covariance; a fit then takes seconds
CHEAP_EP = 1e7  # N P² up to which expectation propagation takes a fraction of a second
AUTO_DRAWS, MAX_AUTO_EVALUATIONS = 4096, 1e8  # limits of importance sampling under "auto"
PARETO_DRAWS, MAX_PARETO_EVALUATIONS = 4096, 8e6  # limits of computing a Pareto k, about 0.1 seconds
MAX_COUPLED_WEIGHTS = 200  # weights of K classes above which "auto" neglects coupling between contrasts of classes ...
MIN_COUPLED_ROWS = 25  # ... unless there are more rows per weight: Laplace's method is then accurate, and quicker ...
MAX_COUPLED_CLASSES = 10  # ... for at most this number of classes: a Hessian takes K²/2 Gram matrices instead of K
MANY_ROWS_PER_WEIGHT = 5  # from which Laplace's Gaussian is tried before the variational posterior without coupling
MAX_FULL_SECONDS = 10.0  # estimated time above which other variational posteriors neglect it, too
MAX_BY_CLASS_SECONDS = 60.0  # estimated time up to which that variational posterior is computed ...
MAX_DETERMINED_SECONDS = 5.0  # ... and if Laplace's Gaussian is tried first ...
MAX_SPARSE_SECONDS = 5.0  # ... and if the rows are sparse; otherwise the weights of each contrast are independent
N_FEW_CHAINS, FEW_WARM_PATHS, MAX_FEW_EVALUATIONS = 16, 2, 6e8  # chains that check a posterior without coupling
CHECK_PATHS, MAX_CHECKED = 4, 2e8  # limits of checking a variational posterior of K classes by chains
SAMPLED_PATHS, LONG_WARM_PATHS, MAX_SAMPLED_EVALUATIONS = 24, 12, 1e9  # limits of the chains that replace a Gaussian

EP_TOLS_IN_STD = (0.1, 0.15)  # tolerance of fixed points in tuning, and of the nodes of the average
ROUGH_EP_TOLS_IN_STD = (0.2, 0.6)  # the same, if sweeps are expensive
SHAPED_TOL = 0.3  # nats that tuning may miss before the shape of the prior is chosen, if sweeps are expensive
FINAL_EP_TOL_IN_STD = 0.05  # and at the end: the step that is predicted from there has an error of about a hundredth

# Errors of probabilities
MAX_AVERAGE_ERROR, MAX_LAPLACE_ERROR = 0.01, 0.02  # a warning is given above this; Laplace's method if requested
MIN_ERROR_IN_NOISE = 3.0  # standard errors of averages over draws, above which they replace those of a Gaussian
N_KEPT_DRAWS, MAX_KEPT_FLOATS = 4096, 2**20
N_CHECKED_ROWS, N_MIXED_ROWS, MIXED_FRACTION, ANY_CLASS_FRACTION = 64, 256, 1 / 2, 1 / 3
MAX_CHECKED_WEIGHT = 10.0  # of a row, so that the errors at other rows count
CHECKED_TAILS = np.array([0.025, 0.975])  # of intervals that are compared
MIN_MIXED_ROWS = 8  # mixtures of fewer rows do not represent new rows
MAX_ROUNDING = 1.0  # nats: largest rounding error of the log likelihood of K classes
EVIDENCE_NOISE, MAX_EVIDENCE_NOISE = 0.1, 0.3  # nats: Laplace's evidence is kept below; a note is given above
MAX_BRIDGE_NOISE = 30.0  # nats, above which the evidence by class is not replaced by that of chains
LOW_EVIDENCE = (
    "log_evidence_ is a lower bound and may be tens of nats too low: the posterior of K classes is skewed, and too "
    "large to be sampled. Compare models on held-out rows instead."
)
ROUGH_EVIDENCE = (
    "log_evidence_ has an error of about {noise:.1f} nats, because the posterior of K classes is skewed and has many "
    "weights."
)
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
SKEWED_BATCH = (
    "After this batch of {rows}, the posterior is skewed: its mean is about {shift:.1f} standard deviations from its "
    "mode along {column!r}. The next batch takes it for a Gaussian, so that probabilities may differ from those of one "
    "fit of all rows by 0.1 or more. Use larger batches, or fit all rows at once."
)
ONE_SCALE = (
    "The prior has one scale for all columns: to tune a scale for each of {n_groups} groups, the full precision of the "
    "posterior is factorised many times, and {n_weights} weights are more than {limit}."
)
MAX_RHAT = 1.1


@dataclass(frozen=True, eq=False)
class Skewness:
    """δ (C, P), the shift of the mean from the mode; its ``largest`` component, in standard deviations; its column."""

    shift: Float
    largest: float
    column: str


def skewness(objective: Posterior, approximation: Approximation, slope: Float | None = None) -> Skewness:
    """Return the first-order shift of the posterior mean from the mode, which is the mean of ``approximation``.

    ``slope`` is ∂ ln |A|/∂θ, if known; for large tables, that of the sample.
    """
    is_sampled = objective.sample is not None and is_represented(objective, approximation)
    if slope is None or (objective.sample is not None and not is_sampled):
        slope = log_det_gradient(objective, approximation, sampled=is_sampled)
    shift = -0.5 * approximation.factor.solve(slope)
    sizes = np.abs(shift / approximation.std).max(axis=0)
    worst = int(sizes.argmax())
    return Skewness(shift, float(sizes[worst]), weight_names(objective)[worst])


def third_order(objective: Posterior, approximation: Approximation, found: Skewness) -> Approximation:
    """Move the Gaussian from the mode to the first-order estimate of the mean.

    No weight moves by more than one standard deviation, because the estimate is unreliable beyond that.
    """
    mean = approximation.mean + found.shift / max(found.largest, 1.0)
    return replace(approximation, mean=mean, log_likelihood=log_likelihood_near(objective, approximation, mean))


def pareto_k(
    objective: Posterior, approximation: Approximation, *, n: int = 4096, rng: int | np.random.Generator | None = None
) -> float:
    """Return the shape of the tail of n importance weights: below 0.5 good, up to 0.7 usable, above 0.7 poor.

    k compares the whole posterior with its approximation. It takes n evaluations of the likelihood of all rows.
    """
    proposal = Proposal(approximation.mean, approximation.moments or approximation.factor, None)
    return weighted_draws(objective, proposal, n, generator(rng)).smoothed.k


def errors_of(
    objective: Posterior,
    approximation: Approximation | UncoupledApproximation,
    draws: Draws,
    *,
    has_typical_rows: bool = True,
) -> tuple[Errors, Errors]:
    """Compare a Gaussian with draws from the posterior, at training rows and, if they are typical, mixtures of two.

    Return the errors of the Gaussian, and the standard errors of the draws, which are subtracted from the squared
    differences. Those of quantiles follow from the order statistics around them.
    """
    X = checked_rows(objective, approximation.mean, mixed=has_typical_rows)
    likelihood = cast(ClassLikelihood, objective.likelihood)
    a = approximation.activations(X, objective.design)
    P = class_probabilities(likelihood, a, "exact")
    mean, noise = draws.probability_and_error(X, objective.design, likelihood)
    size = max((draws.weights**2).sum(), 1 / N_KEPT_DRAWS)
    level_noise = np.sqrt(CHECKED_TAILS * (1 - CHECKED_TAILS) * size)
    levels = np.concatenate([CHECKED_TAILS, CHECKED_TAILS - level_noise, CHECKED_TAILS + level_noise])
    # Quantiles of draws with equal weights take less time.
    equal = draws if draws.n_chains else draws.resampled(min(len(draws.theta), N_KEPT_DRAWS))
    quantiles = equal.probability_quantiles(X, objective.design, likelihood, np.clip(levels, 0.0, 1.0))
    bounds, low, high = np.split(quantiles, 3, axis=-1)
    bound_noise = 0.5 * (high - low)
    sizes = _without_noise((P if mean.ndim == 2 else P[:, 1]) - mean, noise)
    off = _without_noise(intervals(likelihood, a, CHECKED_TAILS) - bounds, bound_noise)
    n_kinds = len(X) // N_CHECKED_ROWS
    return Errors.of(sizes, off, n_kinds), Errors.of(noise, bound_noise, n_kinds)


def _without_noise(difference: Float, noise: Float) -> Float:
    return np.asarray(np.sqrt(np.maximum(difference**2 - noise**2, 0.0)))


def checked_rows(objective: Posterior, mean: Float, *, mixed: bool = True) -> Array:
    """Return training rows and, if ``mixed``, as many mixtures of two.

    Half of the columns of each mixture comes from another row: of any class in a third of the mixtures, and of the same
    class in the others. Random numbers belong to rows in the order of their log-odds under the ``mean`` of the
    weights, and to columns in the order of their weights, so that other orders have no effect. Rows are drawn by
    their weights.
    """
    rng = np.random.default_rng(0)
    block = collect_sample(objective.source, N_MIXED_ROWS).as_block()
    X, t = to_dense(block.X), block.codes if block.codes.ndim == 1 else block.codes.argmax(axis=1)
    t = np.round(t).astype(np.intp)  # soft targets of two classes are fractions
    A = objective.design.activate(replace(block, offset=None), mean)
    A = np.column_stack([-A, A]) if A.ndim == 1 else A
    of_class = np.arange(len(t)), t
    own, A[of_class] = A[of_class], -np.inf
    order = np.argsort(own - special.logsumexp(A, axis=1), kind="stable")
    rows, t, weight = X[order], t[order], np.ones(len(t))
    if block.weight is not None:
        weight = np.minimum(block.weight[order], MAX_CHECKED_WEIGHT)

    def drawn(u: Float, is_candidate: Array) -> Codes:
        """Positions of rows at fractions u of the total weight of the candidates."""
        reached = np.cumsum(np.where(is_candidate, weight, 0.0))
        last = np.flatnonzero(np.where(is_candidate, weight, 0.0))[-1]
        return np.asarray(np.minimum(np.searchsorted(reached, u * reached[-1], side="right"), last))

    at = drawn(rng.random(N_CHECKED_ROWS), weight > 0)
    if not mixed:
        return rows[at]
    is_any = rng.random(N_CHECKED_ROWS) < ANY_CLASS_FRACTION
    partners = [drawn(u, (t == t[i]) | free) for u, i, free in zip(rng.random(N_CHECKED_ROWS), at, is_any, strict=True)]
    one, other = rows[at], rows[partners]
    contrast = (mean - mean.mean(axis=0) if len(mean) > 1 else mean) * objective.column_units
    rank = np.argsort(np.argsort((contrast**2).sum(axis=0)[: rows.shape[1]], kind="stable"))
    is_other = rng.random(one.shape)[:, rank] < MIXED_FRACTION
    return np.concatenate([one, np.where(is_other, other, one)])


def choose(objective: Posterior, found: Skewness) -> str:
    """Return the method that "auto" uses: "laplace" (with `third_order`), "ep", "importance" or "variational".

    If the chosen method does not converge, or its Pareto k is above 0.7, the caller uses another one.
    """
    (C, P), N = objective.shape, objective.n_repeats
    if found.largest <= NEGLIGIBLE_SHIFT:
        return "laplace"
    if C == 1:
        return "ep" if found.largest > MODERATE_SHIFT or N * P**2 <= CHEAP_EP else "laplace"
    if C * P <= MAX_DRAWN_WEIGHTS and evaluations(objective, AUTO_DRAWS) <= MAX_AUTO_EVALUATIONS:
        return "importance"
    return "variational" if found.largest > MODERATE_SHIFT else "laplace"


def infer(objective: Posterior, options: Options, start: Float | None = None) -> Inference:
    """Compute the posterior, with tuning and with a better approximation according to the options.

    The search for the mode starts at ``start`` (C, P), by default zero.
    """
    start = np.zeros(objective.shape) if start is None else start
    _require_digits_of_prior(objective)
    groups = () if isinstance(options.groups, str) else options.groups or ()
    has_levels, n_weights = any(isinstance(label, Levels) for label in groups), int(np.prod(objective.shape))
    can_neglect = options.method == "auto" and has_contrasts(objective) and has_cheap_shape(objective)
    limit = MAX_LEVEL_WEIGHTS if has_levels or can_neglect else MAX_FULL_WEIGHTS
    if options.tune and options.structure is None and groups and n_weights > limit:
        return _infer_many(objective, options, groups, start, limit)
    factors, structure = np.ones(len(objective.design.origin)), options.structure
    M, is_simple = len(factors), options.groups is None and options.method in ("auto", "laplace")
    N, K = objective.n_repeats, objective.shape[0]
    # "auto" has K matrices of M weights instead of one matrix of all N K unknowns in the span of the rows.
    is_costly = options.method == "auto" and has_contrasts(objective) and N * K > MAX_LEVEL_WEIGHTS
    is_costly = is_costly and M**3 < K**2 * N**3
    is_dual = is_wide(objective) and not is_costly
    if structure is None and options.tune and is_simple and is_dual:
        structure = "dual" if M >= MIN_ROTATED_COLUMNS else None  # exact, with as many unknowns as there are rows
    is_free = structure is None and options.groups is None and options.method == "auto" and not options.is_batch
    is_determined = MIN_COUPLED_ROWS * start.size <= N and start.size <= MAX_JOINT_WEIGHTS and K <= MAX_COUPLED_CLASSES
    if is_free and start.size > MAX_COUPLED_WEIGHTS and has_contrasts(objective) and not (is_dual or is_determined):
        structure = "by class" if _has_by_class(objective) else "mean field"
    structure = structure if structure == "mean field" else choose_structure(objective, structure)
    if structure != "full":
        if options.method not in ("auto", "laplace"):
            raise DataError(
                f"approximation={options.method!r} needs the full covariance, and {objective.shape[0]} x "
                f"{objective.shape[1]} weights have structure {structure!r}. Use approximation='laplace'."
            )
        if options.tune and options.groups is not None and not (structure == "by class" and has_contrasts(objective)):
            raise DataError(f"A posterior with structure {structure!r} has one scale to tune; leave groups=None.")
    report = shape = None
    has_no_scale = options.aligns and structure == "full" and objective.shape[0] == 1
    if options.tune and (has_no_scale or structure in ("by class", "diagonal", "mean field")):
        objective, start, report, factors, shape = _tune_part(objective, structure, start, options)
    fitter = FitLaplace(options.tol, is_rough=options.tune and structure == "full")
    solution, gaussian = fitter.solve(objective, start, structure)
    gaussian, slope = (
        with_change_of_curvature(objective, gaussian, solution.value)
        if isinstance(gaussian, Approximation) and not options.tune
        else (gaussian, None)
    )
    solution = solution if slope is None else replace(solution, value=gaussian.mean)
    found = Inference(
        objective, gaussian, solution, factors, tuning=report, log_det_slope=slope, groups=options.groups, shape=shape
    )
    is_auto = options.method == "auto" and structure in ("by class", "mean field")
    if is_auto and isinstance(gaussian, UncoupledApproximation) and has_contrasts(objective):
        return (
            _refine_mean_field(found, gaussian)
            if isinstance(gaussian, DiagonalApproximation)
            else _refine_by_class(found, gaussian, options)
        )
    if isinstance(gaussian, Approximation):
        others = "'importance'" if objective.shape[0] > 1 else "'ep' or 'importance'"
        return _refine(found, options, f"approximation={others}, ")
    if not (isinstance(gaussian, DualApproximation) and isinstance(gaussian.thin, Approximation)):
        return found
    # The likelihood does not change the weights outside the span of the rows.
    thin = replace(found, objective=dual(objective).objective, approximation=gaussian.thin)
    thin = _refine(thin, replace(options, wide=objective), "")  # other methods need the full covariance
    factor = 1.0
    if thin.tuning is not None:
        factor = float(thin.tuning.factors[0])
        thin = replace(thin, tuning=replace(thin.tuning, column_factors=np.full(M, factor)))
        objective = replace(objective, prior=prior_scales(objective).prior(np.log([factor])))
    whole = replace(gaussian, thin=thin.full, outside=factor**2 * thin.widening)
    if isinstance(thin.at_mode, Approximation):
        thin = replace(thin, at_mode=replace(gaussian, thin=thin.at_mode, outside=factor**2))
    return replace(thin, objective=objective, approximation=whole, factors=factors * factor)


def _tune_part(
    objective: Posterior, structure: str, start: Float, options: Options
) -> tuple[Posterior, Float, TuningReport | None, Float, Float | None]:
    """Tune the prior for a structure with a part of the covariance; return the parts of `TunedByClass`.

    For the full covariance, whose tuning follows, the median scale under its law replaces a scale that is not stated;
    for large tables, the scale of a sample does.
    """
    scales = prior_scales(objective, options.groups)
    is_many = start.size > MAX_COUPLED_WEIGHTS or options.groups is not None
    if structure in ("by class", "mean field") and scales.tuned.ndim == 1 and is_many:
        is_diagonal, tol = structure == "mean field", options.tol
        return tune_by_class(objective, tol, groups=options.groups, is_shaped=options.aligns, is_diagonal=is_diagonal)
    report = None
    if structure == "full":
        eta = np.clip(np.log(scales.median / scales.typical), *scales.bounds(objective))
        is_large = objective.sample is not None and not has_cheap_hessian(objective)
        if is_large and len(eta) == 1 and objective.likelihood.is_log_concave:
            eta, start = scale_of_sample(objective, scales, eta)
        of_columns = np.full(len(objective.design.origin), np.exp(eta[0]))
        report = TuningReport(scales.labels, np.exp(eta), of_columns, np.zeros(1), TuningStatus.CONVERGED, (), (), 0)
    elif has_full_evidence(objective, scales):
        eta = profile_scale(objective).eta
    else:
        eta = tune_structure(objective, LAPLACE[structure], options.tol)
    tuned = replace(objective, prior=scales.prior(eta))
    return tuned, start, report, np.full(len(objective.design.origin), np.exp(eta[0])), None


def _infer_many(objective: Posterior, options: Options, groups: Sequence[Any], start: Float, limit: int) -> Inference:
    """Compute the posterior of more weights than the full covariance allows, in groups with scales of their own.

    If there are K classes, coupling between contrasts is neglected. If most weights of two classes are the levels of a
    category, the posterior is an arrow. Otherwise all columns share one scale.
    """
    if options.method == "auto" and has_contrasts(objective) and has_cheap_shape(objective):
        return infer(objective, replace(options, structure="by class"), start)
    # Elimination needs positive curvatures.
    levels = largest_category(groups, objective.shape[0]) if objective.likelihood.is_log_concave else None
    if levels is None or options.method not in ("auto", "laplace"):
        found = infer(objective, replace(options, groups=None), start)
        n_weights = int(np.prod(objective.shape))
        note = ONE_SCALE.format(n_groups=len(set(groups)), n_weights=n_weights, limit=limit)
        return replace(found, notes=(*found.notes, note))
    passes, arrow = objective.source.passes, with_arrow(objective, groups)
    tuned, gaussian, report, mode = tune_arrow(arrow, prior_scales(arrow, groups), levels, start)
    solution = Solution(mode, Status.GRADIENT, gaussian.steps, objective.source.passes - passes)
    return Inference(tuned, gaussian, solution, report.column_factors, tuning=report)


def _refine(found: Inference, options: Options, remedy: str) -> Inference:
    """Tune the prior, improve the approximation, check it, and average it over the scales, according to the options."""
    if options.tune:
        may_retune = found.objective.shape[0] == 1 and options.method in ("auto", "ep")
        is_rough = may_retune and found.objective.sample is None
        laplace = FitLaplace(options.tol, is_rough=is_rough)
        found = tune_prior(found, options, laplace, FIRST_TOL if is_rough else TUNING_TOL)
        if not may_retune:
            found = shape_prior(found, options, laplace)
    found = _improve_auto(found, options) if options.method == "auto" else _improve_as_requested(found, options)
    found = _diagnose(found, options, "" if found.approximation.name == "importance" else remedy)
    if not options.tune:
        return found
    assert found.tuned is not None, "tuning keeps its fit"
    objective, fit = found.objective, found.tuned
    if isinstance(options.groups, str) and len(fit.mean[0]) > 2:
        found = replace(found, simpler=one_scale(found))
    nodes = scale_average(found, options)
    draws = None if found.draws is None else average_draws(found.draws, fit, nodes, options.rng)
    return replace(
        found,
        approximation=average(objective, fit, found.full, nodes),
        at_mode=found.approximation,
        draws=draws,
        widening=float(nodes.average_widening.mean()),
    )


def _require_digits_of_prior(objective: Posterior) -> None:
    """Raise if rounding errors hide the prior of K classes, which alone determines the mean over classes."""
    K, total = objective.shape[0], objective.units.total
    if K > 1 and np.spacing(total) > MAX_ROUNDING:
        raise DataError(
            f"The sample weights add up to {total:.1g}, so that their rounding error hides the prior of {K} classes. "
            "Divide the sample weights by a constant."
        )


def has_contrasts(objective: Posterior) -> bool:
    """Whether there are K classes with the same prior, so that contrasts of classes can be separated."""
    (C, P), prior = objective.shape, objective.prior
    return isinstance(objective.likelihood, Softmax) and C > 2 and len(prior.precision) == P


def _has_by_class(objective: Posterior) -> bool:
    """Whether the covariance of each contrast of classes is affordable."""
    limit = MAX_BY_CLASS_SECONDS if objective.units.has_fast_products else MAX_SPARSE_SECONDS
    is_determined = objective.n_repeats >= MANY_ROWS_PER_WEIGHT * int(np.prod(objective.shape))
    return is_determined or estimated_by_class_seconds(objective) <= limit


def _refine_mean_field(found: Inference, first: DiagonalApproximation) -> Inference:
    """Compute the variational posterior with independent weights, and the factor of variances in its predictions.

    Chains are not used: they would take longer than the posterior, and their averages may predict worse.
    """
    factor = held_out_factor(found.objective, first)
    notes = (LOW_EVIDENCE,) if factor == 1.0 else (LOW_EVIDENCE, NARROWED.format(factor=factor))
    return replace(found.accept(variational_diagonal(found.objective, first)), variance_factor=factor, notes=notes)


def _refine_by_class(found: Inference, first: ByClassApproximation, options: Options) -> Inference:
    """Compute the variational posterior without coupling between contrasts, and check it by chains if affordable.

    With many rows, Laplace's Gaussian is kept if the mean is near the mode, as with the full covariance.
    The posterior is not averaged over the scale of the prior, whose logarithm hundreds of weights determine to a few
    hundredths.
    """
    objective, q = found.objective, first
    if objective.n_repeats >= MANY_ROWS_PER_WEIGHT * q.mean.size:
        is_cheap = estimated_by_class_seconds(objective) <= MAX_DETERMINED_SECONDS
        max_shift = MODERATE_SHIFT if is_cheap else np.inf
        corrected = corrected_by_class(objective, q, options.tol, max_shift=max_shift)
        if corrected is not None:
            shifted, largest = corrected
            if largest > UNRELIABLE_SHIFT:  # averages over so poor a Gaussian are far worse than the mode
                warnings = (*found.warnings, SKEWED_AT_MODE.format(shift=largest))
                at_mode = replace(q, log_evidence=shifted.log_evidence)
                return replace(found, approximation=at_mode, rule="map", warnings=warnings)
            X, likelihood = checked_rows(objective, q.mean), cast(ClassLikelihood, objective.likelihood)
            a = (each.activations(X, objective.design) for each in (q, shifted))
            before, after = (class_probabilities(likelihood, each, "exact") for each in a)
            notes = (SKEWED_BY_CLASS.format(shift=largest),) if largest > MODERATE_SHIFT else ()
            error = float(np.abs(after - before).mean())  # of Laplace's Gaussian, to first order
            return replace(found, approximation=shifted, notes=notes, errors=Errors(error))
    if estimated_by_class_seconds(objective) <= MAX_BY_CLASS_SECONDS:
        q = variational_by_class(objective, q)
        found = found.accept(q)
    few = partial(hamiltonian, objective, q, n_chains=N_FEW_CHAINS, rng=options.rng)
    if not _is_affordable(objective, FEW_WARM_PATHS + CHECK_PATHS, MAX_FEW_EVALUATIONS, N_FEW_CHAINS):
        return replace(found, notes=(LOW_EVIDENCE,))
    chains = few(n_paths=CHECK_PATHS, n_warm=FEW_WARM_PATHS)
    errors, _ = errors_of(objective, q, chains.draws)
    error = errors.average
    is_replaced = error > MAX_AVERAGE_ERROR and q.name == "variational"
    if is_replaced:
        chains = few(n_paths=SAMPLED_PATHS, n_warm=LONG_WARM_PATHS)
    log_evidence, noise = chains.log_evidence()
    notes = (ROUGH_EVIDENCE.format(noise=noise),) if noise > MAX_EVIDENCE_NOISE else ()
    if noise > MAX_BRIDGE_NOISE:
        log_evidence, notes = q.log_evidence, (LOW_EVIDENCE,)
    found = replace(found, approximation=replace(q, log_evidence=log_evidence), errors=errors, notes=notes)
    if is_replaced:
        sampled = sampled_by_class(q, chains.draws, log_evidence)
        _, errors = errors_of(objective, sampled, chains.draws)
        return _with_convergence(replace(found, approximation=sampled, draws=chains.draws, errors=errors), chains)
    if error <= MAX_AVERAGE_ERROR:
        return found
    warning = (
        f"The posterior is far from its Gaussian approximation (average error {error:.2g}): probabilities may be "
        f"wrong, and {q.mean.size} weights are too many for a better approximation. Use a narrower prior, or fewer "
        "columns."
    )
    return replace(found, warnings=(*found.warnings, warning))


def _diagnose(found: Inference, options: Options, remedy: str) -> Inference:
    """Estimate the error of probabilities, if affordable; replace a poor Gaussian by draws, or warn.

    ``remedy`` is empty if no other method can be used, as in the span of few rows.
    """
    if found.draws is None and np.isnan(found.errors.average):
        found = _check(found, options, is_whole=bool(remedy))
    objective, name, error = found.objective, found.approximation.name, found.errors.average
    if error > (MAX_LAPLACE_ERROR if options.method == "laplace" else MAX_AVERAGE_ERROR):
        is_k_class_auto = options.method == "auto" and objective.shape[0] > 1
        if is_k_class_auto and _is_affordable(objective, N_WARM_PATHS + SAMPLED_PATHS, MAX_SAMPLED_EVALUATIONS):
            return _sampled(found, found.full, options)
        poor = f"average error {error:.2g}"
        remedy = remedy if name == "laplace" else "approximation='hmc', "
    elif np.isnan(error) and found.pareto_k > USABLE_K and name in ("laplace", "importance"):
        poor = f"Pareto k {found.pareto_k:.2f}; above 0.7 is poor"
    else:
        return found
    warning = (
        f"The posterior is far from its Gaussian approximation ({poor}): probabilities and evidence of the {name!r} "
        f"approximation may be wrong. Use {remedy}a narrower prior, or drop columns that are almost always zero."
    )
    return replace(found, warnings=(*found.warnings, warning))


def _check(found: Inference, options: Options, *, is_whole: bool) -> Inference:
    """Compute Pareto k, the errors of the Gaussian, and for K classes and "auto" the evidence, if affordable.

    If the Gaussian has poor probabilities or intervals, "auto" keeps draws, from which they are then computed.
    ``is_whole`` is False for the part of a posterior in the span of few rows: the draws of other weights are not known.
    """
    objective, q = found.objective, found.full
    factor = q.moments or q.factor
    if factor.singular is not None:  # weights of rows beyond 1e16 leave no digit of the prior
        raise improper(objective, factor.singular)
    is_auto = options.method == "auto"
    is_bound = is_auto and q.name == "variational"
    draws, is_small = None, evaluations(objective, PARETO_DRAWS) <= MAX_PARETO_EVALUATIONS
    if is_small:
        proposal = Proposal(q.mean, factor, None)
        draws, smoothed = weighted_draws(objective, proposal, PARETO_DRAWS, options.rng)
        found, log_evidence = replace(found, pareto_k=smoothed.k), smoothed.log_mean
    is_usable = found.pareto_k < USABLE_K  # False if it is unknown
    if is_small and is_auto and not is_usable and q.name == "ep" and q.mean.size <= MAX_DRAWN_WEIGHTS:
        better = importance(objective, q, n=PARETO_DRAWS, rng=options.rng)  # from a wider proposal
        draws, is_usable = better.draws, better.k < USABLE_K
    if not is_usable:
        if not is_small and not (
            q.name == "variational" and _is_affordable(objective, N_WARM_PATHS + CHECK_PATHS, MAX_CHECKED)
        ):
            return replace(found, notes=(LOW_EVIDENCE,) if is_bound else ())
        chains = hamiltonian(objective, q, n_paths=CHECK_PATHS, rng=options.rng)
        draws, (log_evidence, noise) = chains.draws, chains.log_evidence()
        if is_bound and noise > MAX_EVIDENCE_NOISE:
            found = replace(found, notes=(ROUGH_EVIDENCE.format(noise=noise),))
    assert draws is not None, "weighted draws or chains"
    has_typical_rows = is_whole and objective.n_repeats >= MIN_MIXED_ROWS
    errors, noise_of_draws = errors_of(objective, q, draws, has_typical_rows=has_typical_rows)
    found = replace(found, errors=errors if has_typical_rows else Errors())
    is_off = q.name == "variational" or abs(log_evidence - q.log_evidence) > EVIDENCE_NOISE
    if is_auto and objective.shape[0] > 1 and is_off:
        found = replace(found, approximation=replace(q, log_evidence=log_evidence))
    is_better = is_usable and noise_of_draws.bounds < errors.bounds
    if is_auto and is_whole and is_better and not options.is_batch and not errors.are_negligible:
        kept = keep_draws(found, draws, errors, noise_of_draws)
        return kept if has_typical_rows else replace(kept, errors=Errors())
    return found


def keep_draws(found: Inference, draws: Draws, errors: Errors, noise: Errors) -> Inference:
    """Keep draws with equal weights for intervals, and for averages too if those of the Gaussian are clearly poor."""
    n = min(N_KEPT_DRAWS, MAX_KEPT_FLOATS // draws.theta[0].size)
    is_poor = not errors.average <= max(NEGLIGIBLE_ERROR, MIN_ERROR_IN_NOISE * noise.average)
    kept = replace(draws.resampled(n), for_averages=is_poor)
    return replace(
        found, draws=kept, errors=noise if is_poor else replace(noise, average=errors.average, largest=errors.largest)
    )


def _is_affordable(objective: Posterior, n_paths: int, limit: float, n_chains: int = N_CHAINS) -> bool:
    """Whether chains with a number of paths take at most a number of evaluations of a likelihood and its slope."""
    return evaluations(objective, n_chains * n_paths * LEAPFROG_STEPS_PER_PATH) <= limit


def _sampled(found: Inference, q: Approximation, options: Options) -> Inference:
    """Replace the approximation by the draws of Hamiltonian chains that start at it."""
    objective = found.objective
    chains: Chains = hamiltonian(objective, q, n_paths=SAMPLED_PATHS, n_warm=LONG_WARM_PATHS, rng=options.rng)
    approximation, draws = sampled_approximation(objective, q, chains, options.rng), chains.draws
    _, errors = errors_of(objective, approximation, draws)
    found = replace(found, approximation=approximation, draws=draws, errors=errors)
    return _with_convergence(found, chains)


def _with_convergence(found: Inference, chains: Chains) -> Inference:
    """Return the inference, with a warning if the chains have not converged."""
    if chains.rhat <= MAX_RHAT:
        return found
    warning = (
        f"The Hamiltonian chains have not converged (R-hat {chains.rhat:.2f}; above {MAX_RHAT} is poor): probabilities "
        "and evidence may be wrong. Use a narrower prior, or drop columns that are almost always zero."
    )
    return replace(found, warnings=(*found.warnings, warning))


def _improve_auto(found: Inference, options: Options) -> Inference:
    """Improve the approximation with the method that `choose` selects."""
    shift = skewness(found.objective, found.full, found.log_det_slope)
    if options.is_batch and found.objective.shape[0] > 1 and shift.largest > MODERATE_SHIFT:
        warning = SKEWED_BATCH.format(
            rows=counted(found.objective.source.n_rows, "row"), shift=shift.largest, column=shift.column
        )
        found = replace(found, warnings=(*found.warnings, warning))
    method = choose(found.objective, shift)
    if method == "laplace" and options.tune and found.objective.shape[0] == 1:  # K classes have their shape already
        exact = FitLaplace(options.tol)
        rough, found = found, found if found.full.is_converged else tune_prior(found, options, exact)
        found = shape_prior(found, options, exact)
        if found is not rough:
            shift = skewness(found.objective, found.full, found.log_det_slope)
    better = _improve_by(found, method, options)
    if better.approximation.name == "laplace":
        found = better
    objective, first = found.objective, found.full
    if method == "importance" and better.draws is not None:
        if better.pareto_k < USABLE_K:
            errors, noise = errors_of(objective, better.full, better.draws)
            if errors.are_negligible:
                return replace(better, draws=None, errors=errors)  # their Gaussian predicts 100 times faster
            return keep_draws(better, better.draws, errors, noise)
        better = found
    if better.approximation is first and shift.largest > MODERATE_SHIFT:
        better = _improve_by(better, "variational", options)
    return better if better.approximation is not first else _without_better(better, shift, options)


def _improve_as_requested(found: Inference, options: Options) -> Inference:
    """Improve the approximation with the requested method, or as "auto" does if that does not converge."""
    found = _improve_by(found, options.method, options)
    if options.method == "laplace" or found.approximation.name != "laplace":
        return found
    return _without_better(found, skewness(found.objective, found.full), options)


def _without_better(found: Inference, shift: Skewness, options: Options) -> Inference:
    """Correct the mean of Laplace's Gaussian, or predict at its mode, because no better approximation converged."""
    if shift.largest > MODERATE_SHIFT and not options.tune:  # averages over so poor a Gaussian are worse than the mode
        warning = (
            f"The posterior is skewed: its mean is about {shift.largest:.1f} standard deviations from its mode along "
            f"{shift.column!r}, and no better approximation converged. Probabilities are those at the mode; evidence "
            "and intervals may be wrong. Use a narrower prior, fewer columns, or drop columns that are almost always "
            "zero."
        )
        return replace(found, rule="map", warnings=(*found.warnings, warning))
    if shift.largest > CORRECTED_SHIFT:
        return replace(found, approximation=third_order(found.objective, found.full, shift))
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
        if not isinstance(objective.likelihood, Softmax):
            better = variational(objective, first)
        elif has_contrasts(objective) and estimated_seconds(objective) > MAX_FULL_SECONDS:
            better = variational_by_class(objective, laplace_by_class(objective, first.mean)).with_full_factor()
        else:
            better = variational_softmax(objective, first)
        return found.accept(better)
    if method == "hmc":
        start = _improve_by(found, "ep" if objective.shape[0] == 1 else "variational", replace(options, tune=False))
        return _sampled(found, start.full, options)
    near: dict[str, Any] = {}
    if options.tune:  # the search compares evidences without the correction, which has no gradient
        is_cheap = objective.n_repeats * objective.shape[1] ** 2 <= CHEAP_EP
        fitter = FitEP(options.tol, [], *(EP_TOLS_IN_STD if is_cheap else ROUGH_EP_TOLS_IN_STD))
        plain = found.accept(
            expectation_propagation(
                objective, first, tol=fitter.tol_in_std, corrected=False, single=True, memory=fitter.memory
            )
        )
        if plain.approximation is first:
            exact = tune_prior(found, options, FitLaplace(options.tol))
            return replace(exact, warnings=(*exact.warnings, *plain.warnings))
        rough = tune_prior(plain, options, fitter, TUNING_TOL if is_cheap else SHAPED_TOL)
        found = shape_prior(rough, options, fitter)
        if found is rough and not is_cheap:
            found = tune_prior(rough, options, fitter)
        near = {"tol": FINAL_EP_TOL_IN_STD, "single": True, "memory": fitter.memory}
    return found.accept(expectation_propagation(found.objective, found.full, **near))
