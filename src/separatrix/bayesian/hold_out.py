# SPDX-License-Identifier: BSD-3-Clause
"""What held-out rows say about predictions, and the evidence does not.

Averages over a posterior are too cautious if the classes are separable, if there are few rows per weight, or if most
columns are rare words: most weights that explain the training rows are worse than those near the mode. Elsewhere the
mode is far too certain. No Gaussian prior mends both, but held-out rows show which is the case. The candidates are

    averages   over the posterior, with the variances of the activations multiplied by each of `FACTORS`
    modes      for each scale of the prior on a path, and for each way to scale rare columns (`RARITY_POWERS`)

**Scores.** Each candidate predicts every row by a fit to the rows outside its fold. A fold has rows of all margins and
classes (`folds_of`), so it does not depend on the order of the rows, and a row of weight k counts as k rows. Copies of
a row are in the same fold. The scales of the prior are those of all rows. The posterior of a fold starts at that of all
rows, and modes of all folds are found together (`mode_path`).

**An imaginary error.** If every held-out row is predicted rightly and with near certainty, there may still be an error
among as many new rows, which costs the most certain candidate most. So a fraction `ERRORS` of a row with another label
is added to the scores, as Laplace's rule of succession adds one row of each kind. It is spread over the rows and their
other labels by the probabilities of the average over the posterior, so most is near the boundary
(`targets_with_errors`).

**Choice.** A mode's share among the modes is the probability that its expected score is the highest
(`probabilities_of_best`), as in a bootstrap of the choice (Efron, 2014). The averages are then compared with the modes
in these shares in the same way. A candidate that predicts every row better gets the share 1, whatever the difference
is. If a few rows decide, many candidates get a share. A share is less sensitive to few rows than stacking (Yao et al.,
2018). The average must only be as good as the others within a quarter of a standard error.

The posterior itself does not change: intervals, summaries and evidence are those of the posterior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix.bayesian.contrasts import narrow_mean_field
from separatrix.bayesian.evidence import FitEP, FitLaplace
from separatrix.bayesian.folds import N_FOLDS, Folds, Merging, Rows
from separatrix.bayesian.joint import ROUGH_EP_TOL_IN_STD, improve
from separatrix.bayesian.mode_path import ScaledRows, log_probabilities
from separatrix.bayesian.mode_prior import RARITY_POWERS, ModePrior, median_scale
from separatrix.bayesian.plan import Candidate
from separatrix.bayesian.posterior import Approximation
from separatrix.bayesian.predictive import class_probabilities
from separatrix.bayesian.record import Inference, Options
from separatrix.bayesian.sparse_ep import SparseEP, SparseRows
from separatrix.bayesian.structures import AnyApproximation
from separatrix.bayesian.uncoupled import ByClassApproximation, DiagonalApproximation
from separatrix.bayesian.variational import variational_by_class, variational_diagonal
from separatrix.likelihoods import ClassLikelihood, Logit, Softmax
from separatrix.rows import Source, as_source
from separatrix.solvers import Posterior
from separatrix.weights import Activations, Blend, WeightDistribution

LEAD = 0.25  # standard errors by which another candidate must lead the average
# Largest difference of one row that counts in standard errors; otherwise few rows hide differences of the others.
MAX_ROW_NATS = 3.0
FACTORS = (1.0, 0.5, 0.25, 0.125)  # of the variances of activations
# Imaginary rows with another label. On 848 generated tables of 30 to 400 rows, log-losses relative to those without
# have the geometric mean .997 for 0.05 to 0.35 and .998 for 0.5; the largest mean ratio of a kind of table and a number
# of rows is 1.006 for 0.1, 1.018 for 0.2 and 1.068 for 0.5.
ERRORS = 0.1
SCALES = 2.0 ** np.arange(-4, 11)  # of the modes, relative to the median scale under the hyperprior
SCALES_NEARBY = 2  # scales on each side of the best one that are tried with other scales of rare columns
RARITY_NAMES = ("", ", of rare columns narrower", ", of rare columns narrowest")
PATH_TOL, FINAL_TOL = 1e-3, 1e-6  # decrease of the objective, relative to it, at which fits end
FAR_BEHIND = 2.0  # standard errors
MIN_SHARE = 0.01  # subtracted from the shares of all candidates, so that none appears or vanishes with a step
N_DRAWS = 2000  # pairs of draws of the scores
TIE = 0.05  # standard errors below which candidates share a draw, so that shares are smooth functions of scores
# Averages and mode have the same log-loss on the training rows, up to this fraction, if the data determine the weights
MIN_DISAGREEMENT = 0.01
MAX_ROWS_PER_WEIGHT = 1000  # above which neither can matter, even if the classes are separable
MAX_WORK = 5e7  # products of one pass over the rows of all folds and classes; a path takes hundreds of passes
MAX_DENSE_COLUMNS = 3000  # or rows, if these are fewer: an eigendecomposition of a larger Gram matrix takes seconds


Step = Callable[[Inference, Options], Inference]


class Place(NamedTuple):
    """A mode: the number of its units of columns in `RARITY_POWERS`, the scale of its prior, and its name."""

    power: int
    scale: float
    name: str


class Modes(NamedTuple):
    """Modes, and their log scores (S, E)."""

    places: list[Place]
    log_p: Float


# -- the step -----------------------------------------------------------------------------------------------------


def hold_out(found: Inference, options: Options, retune: Step | None = None) -> Inference:
    """Predict by the averages and modes that predict held-out rows best, if it can matter.

    If more than one scale was tuned, or the prior of many weights has a shape, ``retune`` tunes it again for each of
    two folds. A prior that was tuned with the held-out rows predicts these rows too well: on 800 rows of 180 words, the
    loss is then 0.45, and 0.54 without these rows; on 300 generated images of ten classes 0.033, and 0.072.
    """
    if why := _why_not(found, options):
        return found.did(why)
    whole = options.wide or found.objective
    outer = Rows.of(whole)
    merging = Merging.of(outer)
    inner, outer = (merging.apply(outer if each is whole else Rows.of(each)) for each in (found.objective, whole))
    P, P_of_mean = _probabilities(found, found.gaussian, inner.X, (1.0, 0.0))
    of_average, of_mean = _log_score(inner.T, P), _log_score(inner.T, P_of_mean)
    disagreement = _relative_difference(float(of_average @ inner.weight), float(of_mean @ inner.weight))
    if disagreement <= MIN_DISAGREEMENT:
        return found.did(f"left out: averages and mode have log-losses within {disagreement:.2g} of each other")
    is_shaped = found.shape is not None and found.structure != "full"
    retune = retune if found.tuning is not None and (len(found.tuning.labels) > 1 or is_shaped) else None
    prior = ModePrior.of(whole, outer, options)
    folds = Folds.of(_margins(outer, prior), outer, merging.is_mixed)
    if not folds.represent(outer.T):
        return found.did("left out: there are too few rows of a class")
    T = targets_with_errors(inner.T, P, folds)
    modes = _modes(outer, prior, folds, T)
    best = modes.log_p[int(folds.total(modes.log_p).argmax())]
    of_modes = _of_modes(modes, folds)
    of_blend = special.logsumexp(modes.log_p, b=of_modes[:, None], axis=0)
    few, is_scored = folds.only(folds.typical(of_blend) if retune else range(N_FOLDS))
    # Rows predict themselves better than others do. If the modes are better still, no average needs to be tuned again.
    of_average = _log_score(T, P)
    lead = best - of_average[folds.row]
    factors: tuple[float, ...] = (0.0,) if found.variance_factor == 0.0 else FACTORS
    if retune and folds.total(lead) > FAR_BEHIND * folds.error(lead):
        factors, averages = (1.0,), of_average[few.row][None]
    else:
        averages = _scores_of_averages(found, options, retune, inner, few, factors, T)
    J = len(factors)
    shares = probabilities_of_best(np.vstack([averages, of_blend[is_scored]]), few, LEAD)
    shares = _without_small(np.append(shares[:J], shares[J] * of_modes))
    names = [f"average, variances x {factor:g}" for factor in factors] + [place.name for place in modes.places]
    means = np.append(few.total(averages) / few.repeats.sum(), folds.total(modes.log_p) / folds.repeats.sum()).tolist()
    candidates = tuple(Candidate(*each) for each in zip(names, means, shares.tolist(), strict=True))
    used, chosen = shares[:J] > 0, shares[J:] > 0
    places = [place for place, is_chosen in zip(modes.places, chosen, strict=True) if is_chosen]
    blend = Blend(np.array(factors)[used], shares[:J][used], _fitted(whole, outer, prior, places), shares[J:][chosen])
    found = replace(found, candidates=candidates, blend=None if blend.is_average else blend)
    return found.did(_choice(candidates, J, len(few.training)))


def narrow_rare_columns(objective: Posterior, options: Options) -> tuple[Posterior, float, Float]:
    """Scale the prior of rare columns before a fit that keeps its shape, as the modes that predict held-out rows.

    Return the objective, the chosen one of `RARITY_POWERS`, and the factors of the scales (M,).
    """
    none = np.ones(len(objective.design.origin))
    is_asked = options.scales_rare_columns and options.method == "auto" and not options.is_reweighted
    if not is_asked or _why_not_modes(objective):
        return objective, 0.0, none
    rows = Rows.of(objective)
    merging = Merging.of(rows)
    rows = merging.apply(rows)
    prior = ModePrior.of(objective, rows, options)
    if prior.units[-1] is None:
        return objective, 0.0, none
    folds = Folds.of(_margins(rows, prior), rows, merging.is_mixed)
    if not folds.represent(rows.T):
        return objective, 0.0, none
    modes = _modes(rows, prior, folds, rows.T)
    power_of = np.array([place.power for place in modes.places])
    totals = folds.total(modes.log_p)
    best = [int(np.where(power_of == k, totals, -np.inf).argmax()) for k in range(len(RARITY_POWERS))]
    chosen = int(probabilities_of_best(modes.log_p[best], folds, LEAD).argmax())
    plain, of_columns = prior.plain, prior.units[chosen]
    assert of_columns is not None, "all powers are possible if one is"
    varies = np.isfinite(of_columns)
    factors = none.copy()
    factors[varies] = plain[varies] / of_columns[varies]
    factors[varies] /= np.sqrt((factors[varies] ** 2).mean())
    factors[~varies] = factors[varies].min()  # columns that were always zero are rarer than all others
    precision = objective.prior.precision.copy()
    precision[: len(factors)] /= factors**2
    return replace(objective, prior=replace(objective.prior, precision=precision)), RARITY_POWERS[chosen], factors


def hold_out_mean_field(found: Inference, options: Options, retune: Step | None = None) -> Inference:
    """Hold rows out as always; if modes are not fitted to parts of the rows, choose the variances of the averages."""
    return narrow_mean_field(found, options) if _why_not(found, options) else hold_out(found, options, retune)


def _why_not(found: Inference, options: Options) -> str:
    """Return why no rows are held out; empty if some are."""
    q = found.gaussian
    reasons = (
        (not options.tune or options.method != "auto", "the prior or the method is stated"),
        (options.is_batch, "the posterior is the prior of another batch"),
        (options.is_reweighted, "class weights count a row as several, which would be on both sides of a fold"),
        (
            not isinstance(q, Approximation | ByClassApproximation | DiagonalApproximation),
            f"posteriors with structure {q.structure!r} are not fitted to parts of the rows",
        ),
    )
    why = next((why for is_met, why in reasons if is_met), "") or _why_not_modes(options.wide or found.objective)
    return f"left out: {why}" if why else ""


def _why_not_modes(objective: Posterior) -> str:
    """Return why no modes are fitted to parts of the rows; empty if they are."""
    N, M = objective.source.n_rows, len(objective.design.origin)
    has_modes = isinstance(objective.likelihood, Logit | Softmax) and not objective.prior.mean.any()
    is_wide = objective.units.has_fast_products and min(N, M) > MAX_DENSE_COLUMNS
    is_determined = objective.n_repeats > MAX_ROWS_PER_WEIGHT * objective.prior.mean.size
    reasons = (
        (not has_modes, "the modes need the logit or the softmax, and a prior with mean 0"),
        (not objective.design.bias, "the modes need an intercept"),
        (is_determined, f"there are more than {MAX_ROWS_PER_WEIGHT} rows per weight"),
        (_work(objective) > MAX_WORK or is_wide, "fits to parts of so many rows would take too long"),
    )
    return next((why for is_met, why in reasons if is_met), "")


def _work(objective: Posterior) -> float:
    """Number of products of one pass over the rows of all folds and classes."""
    N, (C, P) = objective.source.n_rows, objective.shape
    stored = objective.source.n_stored if not objective.source.has_basis else None
    return (N * P if stored is None else stored) * float(C * N_FOLDS)


def _choice(candidates: Sequence[Candidate], n_averages: int, n_folds: int) -> str:
    """Describe the shares of the candidates."""
    best = max(candidates, key=lambda each: each.share)
    of_averages = sum(each.share for each in candidates[:n_averages])
    on = f"{N_FOLDS} folds" + f" ({n_folds} for averages)" * (n_folds < N_FOLDS)
    return (
        f"{len(candidates)} candidates on {on}: {of_averages:.0%} averages, {1 - of_averages:.0%} modes; "
        f"most by {best.name!r} (log score {best.log_score:.4f} per row; the average {candidates[0].log_score:.4f})"
    )


def _margins(rows: Rows, prior: ModePrior) -> Float:
    """Return the activation of the class of each row minus the largest of the others, at a mode.

    The prior has its median scale. Unlike averages by quasi-random points, this mode is known to many digits, so that
    the order of the rows by their margins is.
    """
    scaled = prior.scale_rows(rows, prior.plain)
    (W,) = next(prior.modes(scaled, rows.T, rows.weight[None], np.array([median_scale(scaled)]), FINAL_TOL))
    a = np.asarray(scaled.Z @ W.T)
    a = np.hstack([-a, a]) if a.shape[1] == 1 else a
    own = rows.T.argmax(axis=1)[:, None]
    others = a.copy()
    np.put_along_axis(others, own, -np.inf, axis=1)
    return np.asarray(np.take_along_axis(a, own, axis=1)[:, 0] - others.max(axis=1))


# -- candidates ---------------------------------------------------------------------------------------------------


def _probabilities(found: Inference, q: AnyApproximation, X: Array, factors: Sequence[float]) -> list[Float]:
    """Return averages of probabilities over N(mean, factor * covariance) for each factor, (n, K) each."""
    likelihood = cast(ClassLikelihood, found.objective.likelihood)
    weights = WeightDistribution(q, found.objective.design, ())

    def averages(a: Activations) -> Float:
        return np.stack([class_probabilities(likelihood, a.narrowed(factor), "exact") for factor in factors], axis=1)

    return list(np.moveaxis(weights.map_activations(X, averages), 1, 0))


def _log_score(T: Float, P: Float) -> Float:
    """Return Σ_k t_k ln p_k of each row."""
    return np.asarray((T * np.log(np.maximum(P, np.finfo(float).tiny))).sum(axis=1))


def targets_with_errors(T: Float, P: Float, folds: Folds) -> Float:
    """Return the targets T (N, K) with `ERRORS` imaginary rows that have another label, drawn with probabilities P.

    The labels that a row does not have get the weight ``ERRORS`` (1 - t_k) p_k / Σ (1 - t_k) p_k, with a sum over all
    held-out rows and classes.
    """
    others = (1.0 - T) * P
    total = float(folds.total(others[folds.row].sum(axis=1)))
    return T + others * (ERRORS / total) if total > 0 else T


def _relative_difference(first: float, second: float) -> float:
    return abs(first - second) / max(abs(first), np.finfo(float).tiny)


def _scores_of_averages(
    found: Inference,
    options: Options,
    retune: Step | None,
    rows: Rows,
    folds: Folds,
    factors: Sequence[float],
    T: Float,
) -> Float:
    """Return log scores (J, E), for targets T, of averages over the posteriors of the rows outside each fold."""
    parts = []
    for weight, at in zip(folds.training, folds.entries, strict=True):
        used = np.flatnonzero(weight > 0)
        t = rows.T[used]
        is_hard = bool(((t == 0) | (t == 1)).all())
        codes = t.argmax(axis=1) if is_hard else t
        source = as_source(rows.X[used]).with_numbers(codes, weight[used])
        q = _refit(found, options, retune, source)
        P = _probabilities(found, q, rows.X[at], factors)
        parts.append(np.stack([_log_score(T[at], each) for each in P]))
    return np.concatenate(parts, axis=1)


def _refit(found: Inference, options: Options, retune: Step | None, source: Source) -> AnyApproximation:
    """Fit the posterior of a part of the rows, starting at that of all rows; ``retune`` tunes its prior again.

    By class, the fit starts at Laplace's Gaussian of the same rows, because it ends at a tolerance: from the posterior
    of all rows, which knows the held-out ones, 300 digits had scores of -0.16 per held-out row instead of -0.18.
    """
    q, name = found.at_mode or found.gaussian, found.gaussian.name
    part = replace(found, objective=replace(found.objective, source=source, sample=None))
    if retune is not None:
        part = retune(part, options)
        q = part.gaussian
    elif isinstance(q, ByClassApproximation) or (q.name == "laplace" and isinstance(q, DiagonalApproximation)):
        q = FitLaplace(options.tol).solve(part.objective, q.mean, q.structure)[1]
    objective = part.objective
    if isinstance(q, ByClassApproximation):
        return q if name == "laplace" else variational_by_class(objective, q)
    if isinstance(q, DiagonalApproximation):
        by_sites = SparseEP(SparseRows.of(objective), []).fit(objective, q.mean) if name == "ep" else None
        return by_sites if by_sites is not None and by_sites.is_converged else variational_diagonal(objective, q)
    assert isinstance(q, Approximation), "others are left out"
    if name not in ("laplace", "ep"):
        return improve(replace(part, approximation=q, draws=None, fitter=None), "variational", options).gaussian
    if retune is not None:
        return q
    fitter = FitEP(options.tol, [], ROUGH_EP_TOL_IN_STD) if name == "ep" else FitLaplace(options.tol)
    return fitter.fit(objective, q.mean, q.factor)


def _modes(rows: Rows, prior: ModePrior, folds: Folds, T: Float) -> Modes:
    """Score the modes, for targets T, along the path of scales, then near the best with rare columns narrower."""
    places: list[Place] = []
    scores: list[Float] = []
    best = 0
    for power, of_columns in enumerate(prior.units):
        if of_columns is None:
            continue
        relative = SCALES if power == 0 else SCALES[max(0, best - SCALES_NEARBY) : best + SCALES_NEARBY + 1]
        scaled = prior.scale_rows(rows, of_columns)
        scales = np.asarray(relative * median_scale(scaled))
        found = _scores_along(scaled, rows, folds, scales, prior, T)
        if power == 0:
            best = int(folds.total(np.stack(found)).argmax())
        scores += found
        for scale, times in zip(scales[: len(found)], relative, strict=False):
            name = f"mode, prior scale x {times:.3g}{RARITY_NAMES[power]}"
            places.append(Place(power, float(scale), name))
    return Modes(places, np.stack(scores))


def _scores_along(
    scaled: ScaledRows, rows: Rows, folds: Folds, scales: Float, prior: ModePrior, T: Float
) -> list[Float]:
    """Return log scores (E,) of the modes for each of the first scales.

    The path ends after two scales in a row that are far behind the best one, or predict worse than the proportions of
    the classes. Beyond, the modes take longest, and their scores are sums of few rows.
    """
    scores = list[Float]()
    proportions = rows.weight @ rows.T / rows.weight.sum()
    least = float(folds.total(_log_score(T[folds.row], proportions)))
    n_behind, best = 0, 0
    for W in prior.modes(scaled, rows.T, folds.training, scales, PATH_TOL):
        each = zip(W, folds.entries, strict=True)
        scores.append(np.concatenate([(T[at] * log_probabilities(scaled.Z[at] @ w.T)).sum(axis=1) for w, at in each]))
        lead = scores[best] - scores[-1]
        if folds.total(lead) <= 0:
            best, n_behind = len(scores) - 1, 0
            continue
        is_behind = folds.total(lead) > FAR_BEHIND * folds.error(lead) or folds.total(scores[-1]) < least
        n_behind = n_behind + 1 if is_behind else 0
        if n_behind == 2:
            break
    return scores


def _fitted(whole: Posterior, rows: Rows, prior: ModePrior, places: list[Place]) -> Float:
    """Fit the chosen modes to all rows; return their weights θ (S, C, P)."""
    theta = []
    for power, of_columns in enumerate(prior.units):
        scales = [place.scale for place in places if place.power == power]
        if scales and of_columns is not None:
            scaled = prior.scale_rows(rows, of_columns)
            for (W,) in prior.modes(scaled, rows.T, rows.weight[None], np.array(scales), FINAL_TOL):
                theta.append(whole.design.of_user_units(*prior.in_user_units(scaled, W)))
    return np.stack(theta) if theta else np.empty((0, *whole.shape))


# -- choice -------------------------------------------------------------------------------------------------------


def _of_modes(modes: Modes, folds: Folds) -> Float:
    """Return the shares of the modes among themselves, (S,)."""
    totals = folds.total(modes.log_p)
    order = np.argsort(-totals, kind="stable")  # differences are from the first, which is the best
    shares = np.empty(len(order))
    shares[order] = probabilities_of_best(modes.log_p[order], folds, 0.0)
    return _without_small(shares)


def _without_small(shares: Float) -> Float:
    larger = np.maximum(shares - MIN_SHARE, 0.0)
    return np.asarray(larger / larger.sum())


def probabilities_of_best(log_p: Float, folds: Folds, lead: float) -> Float:
    """Return the probability that each candidate has the highest expected score, (J,).

    The others must lead the first one by ``lead`` standard errors. ``log_p`` (J, E) are log scores of the held-out
    rows. The differences of the totals from the first one are taken to be Gaussian, with the covariance of the paired
    differences of independent draws times ``folds.variance``.
    """
    total = folds.total(log_p - log_p[0])
    away = np.clip(log_p - log_p[0], -MAX_ROW_NATS, MAX_ROW_NATS)
    clipped, squared = folds.total(away), folds.repeats * folds.size
    n_draws = float(folds.repeats.sum() ** 2 / squared.sum())  # number of draws, if all have one size
    covariance = folds.variance * ((away * squared) @ away.T - np.outer(clipped, clipped) / n_draws)
    values, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T  # symmetric: independent of the signs of the axes
    z = np.random.default_rng(0).standard_normal((len(total), N_DRAWS))
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    drawn = (total - lead * errors)[:, None] + root @ np.hstack([z, -z])
    tie = TIE * float(errors[1:][total[1:].argmax()]) if len(total) > 1 else 0.0  # of the strongest rival of the first
    if tie <= np.spacing(np.abs(drawn).max()):
        return np.asarray(np.eye(len(total))[(total - lead * errors).argmax()])
    return np.asarray(special.softmax(drawn / tie, axis=0).mean(axis=1))
