# SPDX-License-Identifier: BSD-3-Clause
"""Tune a prior and its shape, for a posterior with the full covariance.                               PRML §3.5

    `tune_prior`      the most probable scales of the prior
    `shape_prior`     if no prior is stated: one scale, a scale for each column, and an alignment of either
    `scale_average`   the nodes of the average over the scales, and over the simpler prior

The evidence chooses the shape. One scale has the prior probability `STATED_PROBABILITY`, and remains in the average
unless it is improbable. `by_class` does the same for many weights of K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix.bayesian.alignment import LOG_ODDS, STATED_PROBABILITY, Aligned, align, best_scale, is_shapeable
from separatrix.bayesian.averaging import Nodes, merged, scale_nodes
from separatrix.bayesian.evidence import GROUP_STD, SPARSE_GROUP_STD, Fitter, PriorScales, prior_scales
from separatrix.bayesian.record import Inference, Options
from separatrix.bayesian.tuning import Limit, Parabola, Search, tune_scales

SHAPE_TOL = 0.05  # nats of evidence that tuning an aligned prior, or one scale for each column, may miss
TUNING_TOL, FIRST_TOL = 1e-3, 0.1  # nats of evidence that tuning may miss, and that of Laplace's method before another


def tune_prior(found: Inference, options: Options, fitter: Fitter, tol: float = TUNING_TOL) -> Inference:
    """Tune the scales of the prior by the evidence of ``fitter``."""
    like = _hyperprior(found, options)
    start, is_near = found.full, found.full.is_converged or found.objective.sample is None
    curved_at = None if is_near or found.solution is None else found.solution.value
    tuned = tune_scales(
        found.objective, found.groups, fitter=fitter, start=start, curved_at=curved_at, like=like, tol=tol
    )
    objective, approximation, report, slope = tuned
    factors = found.factors if options.wide is not None else found.factors * report.column_factors
    if found.tuning is not None:  # the factors are relative to the first prior
        of_columns = found.tuning.column_factors * report.column_factors
        report = replace(report, factors=report.factors * found.tuning.factors, column_factors=of_columns)
    if options.wide is not None:
        columns = options.wide.source.columns
        report = replace(report, boundary=tuple(each._replace(columns=columns) for each in report.boundary))
    # No warning if the classes are separable, for which there is a best scale too.
    warnings = [limit.describe() for limit in report.boundary if limit.limit is Limit.WIDE]
    if len(report.labels) == 1:  # groups that are irrelevant one by one may matter together
        warnings = [limit.describe() for limit in report.boundary if limit.limit is not Limit.SEPARATED]
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
        log_det_slope=slope,
        warnings=tuple(warnings),
    )


def shape_prior(found: Inference, options: Options) -> Inference:
    """Choose the shape of the prior by evidence: one scale, a scale for each column, and an alignment of either.

    A prior with another shape is tuned again, and accepted if its evidence is higher. The sites of expectation
    propagation make predictions so accurate that only the better one of the first two shapes is fitted. The scales of
    columns have one of two hyperpriors, the second of which allows for few large scales among many small ones.
    """
    if not options.aligns or options.groups is not None or options.wide is not None:
        return found
    aligned, gain = align(found.objective, found.best_tuned), _column_gain(found, options)
    if found.method_of_tuning.predicts_well:
        is_aligned = bool(aligned) and aligned[0].gain > gain
        aligned, gain = (aligned[:1], -np.inf) if is_aligned else ([], gain)
    candidates = _aligned(found, aligned[:2], options)
    if gain > LOG_ODDS:
        columns = found
        for group_std in (GROUP_STD, SPARSE_GROUP_STD):
            columns = _by_column(columns, group_std, options)
            aligned = align(columns.objective, columns.best_tuned, by_column=True)[:1]
            candidates += [columns, *_aligned(columns, aligned, options)]
    heights = [_height(found, options) + LOG_ODDS, *(_height(each, options) for each in candidates)]
    best = int(np.argmax(heights))
    return replace(candidates[best - 1], simpler=found) if best else found


def _height(found: Inference, options: Options) -> float:
    """Return ln p(D), integrated over the scales."""
    return found.best_tuned.log_evidence + _nodes_of_one(found, options, None).log_ratio


def _aligned(found: Inference, shapes: list[Aligned], options: Options) -> list[Inference]:
    """Tune again with each aligned prior, unless expectation propagation does not converge there.

    In units of scales e^u of uncorrelated columns, Σ is diag e^2u, so the aligned prior has the scales e^(1+b)u: the
    alignment multiplies the differences of their logarithms, and their uncertainty with them. Without a hyperprior
    that is as much wider, the evidence of such a prior would be too high, and intervals too narrow: with three useful
    columns of 50 correlated ones, 0.63 instead of 0.9 of the intervals of their weights contain the true weight.
    """
    tuned, parabola = list[Inference](), Parabola(found.best_tuned, found.objective.prior)
    for each in shapes:
        fitter, report, near = found.method_of_tuning.fork(), found.report, parabola.under(each.prior)
        objective, factor = replace(found.objective, prior=each.prior), each.factor
        fit = fitter.fit(objective, near.mean, near.factor)
        if fit.name != found.best_tuned.name:
            continue
        hyperprior = _first_scales(found, found.groups)
        start = replace(
            found,
            objective=objective,
            approximation=fit,
            factors=factor * found.factors,
            tuning=replace(report, factors=factor * report.factors, column_factors=factor * report.column_factors),
            hyperprior=hyperprior,
        )
        hyperprior = replace(hyperprior, group_std=max(1.0, 1.0 + each.power) * hyperprior.group_std)
        tuned.append(replace(_shaped(start, each.shape, options, fitter), hyperprior=hyperprior))
    return tuned


def _by_column(found: Inference, group_std: float, options: Options) -> Inference:
    """Tune again with a scale for each column; the logarithms of the scales have this standard deviation a priori."""
    hyperprior = replace(_first_scales(found, "columns"), group_std=group_std)
    start = replace(found, approximation=found.best_tuned, groups="columns", hyperprior=hyperprior)
    return _shaped(start, np.eye(len(found.factors)), options, found.method_of_tuning.fork())


def _first_scales(found: Inference, groups: str | Sequence[Any] | None) -> PriorScales:
    """Return the scales of the first prior, which later ones are multiples of, with their hyperprior."""
    if found.hyperprior is not None:
        return found.hyperprior
    scales = prior_scales(found.objective, groups)
    return replace(scales, typical=scales.typical / found.report.factors)


def _shaped(start: Inference, shape: Float, options: Options, fitter: Fitter) -> Inference:
    """Tune again with another shape (M, M), which includes the scale of each column relative to their mean."""
    tuned = tune_prior(start, options, fitter, SHAPE_TOL)
    if start.groups is None:
        return replace(tuned, shape=shape)
    report = replace(tuned.report, boundary=start.report.boundary)
    common = np.exp(np.log(report.factors).mean())
    relative = report.factors / common
    factors = np.full(len(relative), common)
    return replace(tuned, factors=factors, tuning=report, shape=shape * np.outer(relative, relative))


def _column_gain(found: Inference, options: Options) -> float:
    """Return the predicted gain in evidence by a scale for each column."""
    objective, fit = found.objective, found.best_tuned
    scales = prior_scales(objective, "columns")
    if not is_shapeable(objective, fit) or scales.tuned.ndim > 1:
        return -np.inf
    search = Search(objective, scales, found.method_of_tuning, bounds=scales.bounds(objective), tol=SHAPE_TOL)
    volume = scale_nodes(objective, scales, fit, None).log_ratio - _nodes_of_one(found, options, None).log_ratio
    return search.predicted_gain(fit, found.log_det_slope) + volume


def one_scale(found: Inference) -> Inference:
    """Return the inference with one scale for all columns instead of one each, fitted at the predicted best scale."""
    factors, parabola = found.report.factors, Parabola(found.best_tuned, found.objective.prior)
    common = float(np.exp(np.log(factors).mean()))
    prior = prior_scales(found.objective, "columns").prior(np.log(common / factors))
    scales = prior_scales(replace(found.objective, prior=prior))
    eta, _ = best_scale(parabola, scales)
    objective = replace(found.objective, prior=scales.prior(np.array([eta])))
    near = parabola.under(objective.prior)
    fit = found.method_of_tuning.fit(objective, near.mean, near.factor)
    tuning = replace(found.report, factors=np.array([common * np.exp(eta)]))
    return replace(found, objective=objective, approximation=fit, tuned=fit, tuning=tuning, groups=None)


def scale_average(found: Inference, options: Options) -> Nodes:
    """Return the nodes of the average over the scales, and over the simpler prior if that is probable."""
    nodes, simpler = _nodes_of_one(found, options, found.fitter), found.simpler
    if simpler is None:
        return nodes
    probability = 0.5 if options.groups is not None else STATED_PROBABILITY
    shift = simpler.best_tuned.log_evidence - found.best_tuned.log_evidence + np.log(probability / (1 - probability))
    others = _nodes_of_one(simpler, options, None)
    if nodes.log_ratio - others.log_ratio - shift <= 6:  # nats, above which the simpler prior does not count
        others = _nodes_of_one(simpler, options, simpler.fitter, n_fits=0)
        factors = simpler.report.factors / found.report.factors
        nodes = merged(nodes, others._replace(log_ratio=others.log_ratio + shift), factors)
    return nodes._replace(log_ratio=nodes.log_ratio + np.log(1 - probability))


def _nodes_of_one(found: Inference, options: Options, fitter: Fitter | None, **limits: int) -> Nodes:
    """Return the nodes of the average over the scales of one prior."""
    scales = prior_scales(found.objective, found.groups, _hyperprior(found, options))
    return scale_nodes(found.objective, scales, found.best_tuned, fitter, **limits)


def _hyperprior(found: Inference, options: Options) -> PriorScales | None:
    """Return scales with the hyperprior of the first prior, if the inference is in the span of the rows or aligned."""
    scales = found.hyperprior if options.wide is None else prior_scales(options.wide)
    factor = 1.0 if found.tuning is None else found.tuning.factors
    return None if scales is None else replace(scales, typical=factor * scales.typical)
