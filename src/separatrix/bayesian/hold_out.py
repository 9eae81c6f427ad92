# SPDX-License-Identifier: BSD-3-Clause
"""What held-out rows say about predictions, and the evidence does not.

Averages over a posterior are too cautious if the classes are separable, if there are few rows per weight, or if most
columns are rare words: most weights that explain the training rows are worse than those near the mode. Elsewhere the
mode is far too certain. No Gaussian prior mends both, but held-out rows show which is the case. The candidates are

    averages   over the posterior, with the variances of the activations multiplied by each of `FACTORS`
    modes      for each scale of the prior on a path, and for each way to scale rare columns (`RARITY_POWERS`)

**Scores.** Each candidate predicts every row by a fit to the rows outside its fold. A fold has rows of all margins and
classes (`folds_of`), so it does not depend on the order of the rows, and a row of weight k counts as k rows. The scales
of the prior are those of all rows. The posterior of a fold starts at that of all rows, and modes of all folds are found
together (`mode_path`).

**Choice.** A candidate's share in the predictions is the probability that its expected score is the highest
(`probabilities_of_best`), as in a bootstrap of the choice (Efron, 2014). One that predicts every row better gets the
share 1, whatever the difference is. If a few rows decide, many candidates get a share. A share is less sensitive to few
rows than stacking (Yao et al., 2018). The average must only be as good as the others within half a standard error.

The posterior itself does not change: intervals, summaries and evidence are those of the posterior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import special

from separatrix._array import Array, Float, is_sparse
from separatrix.bayesian.contrasts import narrow_mean_field
from separatrix.bayesian.evidence import TYPICAL_SIGNAL, FitEP, FitLaplace
from separatrix.bayesian.joint import ROUGH_EP_TOLS_IN_STD, improve
from separatrix.bayesian.mode_path import ScaledRows, log_probabilities, mode_path
from separatrix.bayesian.plan import Candidate
from separatrix.bayesian.posterior import Approximation
from separatrix.bayesian.predictive import class_probabilities
from separatrix.bayesian.record import Inference, Options
from separatrix.bayesian.sparse_ep import SparseEP, SparseRows
from separatrix.bayesian.structures import AnyApproximation
from separatrix.bayesian.uncoupled import ByClassApproximation, DiagonalApproximation
from separatrix.bayesian.variational import variational_by_class, variational_diagonal
from separatrix.likelihoods import ClassLikelihood, Logit, Softmax
from separatrix.rows import DeviceRows, Source, as_source
from separatrix.solvers import Posterior
from separatrix.stats import collect_sample
from separatrix.weights import Activations, Blend, WeightDistribution

N_FOLDS = 5
FEW_FOLDS = (1, 3)  # if the scales of all columns are tuned for each fold, which takes longest
LEAD = 0.5  # standard errors by which another candidate must lead the average
FACTORS = (1.0, 0.5, 0.25, 0.125)  # of the variances of activations
SCALES = 2.0 ** np.arange(-4, 11)  # of the modes, relative to the median scale under the hyperprior
SCALES_NEARBY = 2  # scales on each side of the best one that are tried with other scales of rare columns
RARITY_POWERS = (0.0, 0.5, 1.0)  # of the unit-free spread of a column; scales of its weight are proportional to it
RARITY_NAMES = ("", ", of rare columns narrower", ", of rare columns narrowest")
MIN_RARITY_SPREAD = 0.05  # relative standard deviation of these spreads, below which powers make no difference
PATH_TOL, FINAL_TOL = 1e-3, 1e-6  # decrease of the objective, relative to it, at which fits end
FAR_BEHIND = 2.0  # standard errors; the path ends after two scales in a row that are so far behind the best
MIN_SHARE = 0.01  # subtracted from the shares of all candidates, so that none appears or vanishes with a step
N_DRAWS = 2000  # pairs of draws of the scores
TIE = 0.1  # of the lead: differences below which candidates share a draw, so that shares are smooth functions of scores
# Averages and mode have the same log-loss on the training rows, up to this fraction, if the data determine the weights
MIN_DISAGREEMENT = 0.01
MAX_ROWS_PER_WEIGHT = 1000  # above which neither can matter, even if the classes are separable
MAX_WORK = 5e7  # products of one pass over the rows of all folds and classes; a path takes hundreds of passes
MAX_DENSE_COLUMNS = 3000  # or rows, if these are fewer: an eigendecomposition of a larger Gram matrix takes seconds


Step = Callable[[Inference, Options], Inference]


class Rows(NamedTuple):
    """Rows in memory, X (N, M) in float64, with class probabilities T (N, K) and weights (N,)."""

    X: Any
    T: Float
    weight: Float


class Folds(NamedTuple):
    """Training weights (F, N) of F folds, and their held-out rows: ``row`` (E,), held out ``repeats`` (E,) times.

    ``entries`` are these rows by fold. ``variance`` is that of a sum of scores, relative to that of independent rows.
    """

    training: Float
    entries: list[Array]
    row: Array
    repeats: Float
    variance: float

    @classmethod
    def of(cls, margin: Float, rows: Rows, chosen: Sequence[int]) -> Folds:
        """Divide the rows into folds, and use the chosen ones.

        Scores of folds are correlated, because any two of them share most training rows. Nadeau and Bengio (2003)
        estimate the variance of a mean over J of 5 folds as 1/J + 1/4 of that of a fold, not 1/J.
        """
        counts = folds_of(margin, rows.T.argmax(axis=1), rows.weight)[list(chosen)]
        entries = [np.flatnonzero(each > 0) for each in counts]
        repeats = np.concatenate([each[at] for each, at in zip(counts, entries, strict=True)])
        training = np.maximum(rows.weight - _unit(rows.weight) * counts, 0.0)
        return cls(training, entries, np.concatenate(entries), repeats, 1 + len(counts) / (N_FOLDS - 1))

    def represent(self, T: Float) -> bool:
        """Whether each fold leaves rows to train on, and each class is held out by a fold."""
        label = T.argmax(axis=1)
        return bool(self.training.any(axis=1).all()) and len(np.unique(label[self.row])) == len(np.unique(label))


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


def hold_out(found: Inference, options: Options, steps: Sequence[Step] = ()) -> Inference:
    """Predict by the averages and modes that predict held-out rows best, if it can matter.

    If more than one scale was tuned, ``steps`` tune them again for each fold: scales that were tuned with the held-out
    rows predict these rows too well. On 800 rows of 180 words, the score is then 0.45, and 0.54 without these rows.
    """
    if why := _why_not(found, options):
        return found.did(why)
    whole = options.wide or found.objective
    inner = _rows_of(found.objective)
    of_average, of_mean = (_log_score(inner.T, P) for P in _probabilities(found, found.gaussian, inner.X, (1.0, 0.0)))
    disagreement = _relative_difference(float(of_average @ inner.weight), float(of_mean @ inner.weight))
    if disagreement <= MIN_DISAGREEMENT:
        return found.did(f"left out: averages and mode have log-losses within {disagreement:.2g} of each other")
    outer = inner if options.wide is None else _rows_of(whole)
    steps = steps if found.tuning is not None and len(found.tuning.labels) > 1 else ()
    units = [_units(whole, outer, power, options) for power in RARITY_POWERS]
    folds = Folds.of(_margins(outer, units[0]), outer, FEW_FOLDS if steps else range(N_FOLDS))
    if not folds.represent(outer.T):
        return found.did("left out: there are too few rows of a class")
    modes = _modes(outer, units, folds)
    best = modes.log_p[int((modes.log_p @ folds.repeats).argmax())]
    # Rows predict themselves better than others do. If the modes are better still, no average needs to be tuned again.
    lead = (best - of_average[folds.row]) * folds.repeats
    factors: tuple[float, ...] = (0.0,) if found.variance_factor == 0.0 else FACTORS
    if steps and lead.sum() > FAR_BEHIND * np.sqrt(folds.variance * float(lead @ lead)):
        factors, averages = (1.0,), of_average[folds.row][None]
    else:
        averages = _scores_of_averages(found, options, steps, inner, folds, factors)
    J, log_p = len(factors), np.concatenate([averages, modes.log_p])
    shares = probabilities_of_best(log_p, folds.repeats, folds.variance)
    shares = np.maximum(shares - MIN_SHARE, 0.0)
    shares /= shares.sum()
    names = [f"average, variances x {factor:g}" for factor in factors] + [place.name for place in modes.places]
    means = (log_p @ folds.repeats / folds.repeats.sum()).tolist()
    candidates = tuple(Candidate(*each) for each in zip(names, means, shares.tolist(), strict=True))
    used, chosen = shares[:J] > 0, shares[J:] > 0
    places = [place for place, is_chosen in zip(modes.places, chosen, strict=True) if is_chosen]
    blend = Blend(np.array(factors)[used], shares[:J][used], _fitted(whole, outer, units, places), shares[J:][chosen])
    found = replace(found, candidates=candidates, blend=None if blend.is_average else blend)
    return found.did(_choice(candidates, J, len(folds.training)))


def narrow_rare_columns(objective: Posterior, options: Options) -> tuple[Posterior, float, Float]:
    """Scale the prior of rare columns before a fit that keeps its shape, as the modes that predict held-out rows.

    Return the objective, the chosen one of `RARITY_POWERS`, and the factors of the scales (M,).
    """
    none = np.ones(len(objective.design.origin))
    is_asked = options.scales_rare_columns and options.method == "auto" and not options.is_reweighted
    if not is_asked or _why_not_modes(objective):
        return objective, 0.0, none
    rows = _rows_of(objective)
    units = [_units(objective, rows, power, options) for power in RARITY_POWERS]
    if units[-1] is None:
        return objective, 0.0, none
    folds = Folds.of(_margins(rows, units[0]), rows, range(N_FOLDS))
    if not folds.represent(rows.T):
        return objective, 0.0, none
    modes = _modes(rows, units, folds)
    power_of = np.array([place.power for place in modes.places])
    totals = modes.log_p @ folds.repeats
    best = [int(np.where(power_of == k, totals, -np.inf).argmax()) for k in range(len(RARITY_POWERS))]
    chosen = int(probabilities_of_best(modes.log_p[best], folds.repeats, folds.variance).argmax())
    plain, of_columns = units[0], units[chosen]
    assert plain is not None, "the power 0 is always possible"
    assert of_columns is not None, "all powers are possible if one is"
    varies = np.isfinite(of_columns)
    factors = none.copy()
    factors[varies] = plain[varies] / of_columns[varies]
    factors[varies] /= np.sqrt((factors[varies] ** 2).mean())
    factors[~varies] = factors[varies].min()  # columns that were always zero are rarer than all others
    precision = objective.prior.precision.copy()
    precision[: len(factors)] /= factors**2
    return replace(objective, prior=replace(objective.prior, precision=precision)), RARITY_POWERS[chosen], factors


def hold_out_mean_field(found: Inference, options: Options, steps: Sequence[Step] = ()) -> Inference:
    """Hold rows out as always; if modes are not fitted to parts of the rows, choose the variances of the averages."""
    return narrow_mean_field(found, options) if _why_not(found, options) else hold_out(found, options, steps)


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
    return (
        f"{len(candidates)} candidates on {n_folds} folds: {of_averages:.0%} averages, {1 - of_averages:.0%} modes; "
        f"most by {best.name!r} (log score {best.log_score:.4f} per row; the average {candidates[0].log_score:.4f})"
    )


# -- rows and folds -----------------------------------------------------------------------------------------------


def _rows_of(objective: Posterior) -> Rows:
    """Return all rows, in memory."""
    block = collect_sample(objective.source, objective.source.n_rows).as_block()
    X = block.X if not isinstance(block.X, DeviceRows) else np.asarray(block.X)
    weight = np.ones(len(block)) if block.weight is None else block.weight
    t = block.targets
    if t.ndim == 1:
        t = np.column_stack([1.0 - t, t]) if objective.shape[0] == 1 else np.eye(objective.shape[0])[t]
    return Rows(X.astype(np.float64), np.asarray(t, dtype=np.float64), np.asarray(weight, dtype=np.float64))


def _targets(T: Float) -> Float:
    """Return targets (C, N) of C activations, for class probabilities (N, K)."""
    return T[:, 1:].T if T.shape[1] == 2 else T.T


def _unit(weight: Float) -> float:
    """Return the weight that counts as one row: 1, or the mean weight if that is smaller."""
    return min(1.0, float(weight.mean()))


def _margins(rows: Rows, units: Float | None) -> Float:
    """Return the activation of the class of each row minus the largest of the others, at a mode.

    The prior has its median scale. Unlike averages by quasi-random points, this mode is known to many digits, so that
    the order of the rows by their margins is.
    """
    assert units is not None, "the power 0 is always possible"
    scaled = ScaledRows.of(rows.X, rows.weight, units)
    median = _median_scale(scaled)
    (W,) = next(mode_path(scaled, _targets(rows.T), rows.weight[None], np.array([median]), FINAL_TOL, median))
    a = np.asarray(scaled.Z @ W.T)
    a = np.hstack([-a, a]) if a.shape[1] == 1 else a
    own = rows.T.argmax(axis=1)[:, None]
    others = a.copy()
    np.put_along_axis(others, own, -np.inf, axis=1)
    return np.asarray(np.take_along_axis(a, own, axis=1)[:, 0] - others.max(axis=1))


def folds_of(margin: Float, label: Array, weight: Float) -> Float:
    """Return how often each row is held out by each fold, (5, N); the sum over folds is its number of repetitions.

    The rows of each class are put in the order of their margins and dealt to the folds one by one. Each fold so has
    rows near the boundary and far from it. A row of weight k is dealt k times, as k equal rows are.
    """
    order = np.lexsort((margin, label))
    size = (weight / _unit(weight))[order]
    end = np.cumsum(size)
    is_first = np.append(True, np.diff(label[order]) != 0)
    before = np.maximum.accumulate(np.where(is_first, end - size, 0.0))  # rows of other classes
    end = end - before

    def dealt(position: Float) -> Float:
        rounds = np.floor(position / N_FOLDS)
        return np.asarray(rounds + np.clip(position - N_FOLDS * rounds - np.arange(N_FOLDS)[:, None], 0.0, 1.0))

    counts = np.empty((N_FOLDS, len(weight)))
    counts[:, order] = dealt(end) - dealt(end - size)
    return counts


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


def _relative_difference(first: float, second: float) -> float:
    return abs(first - second) / max(abs(first), np.finfo(float).tiny)


def _scores_of_averages(
    found: Inference,
    options: Options,
    steps: Sequence[Step],
    rows: Rows,
    folds: Folds,
    factors: Sequence[float],
) -> Float:
    """Return log scores (J, E) of averages over the posteriors of the rows outside each fold."""
    parts = []
    for weight, at in zip(folds.training, folds.entries, strict=True):
        used = np.flatnonzero(weight > 0)
        t = rows.T[used]
        is_hard = bool(((t == 0) | (t == 1)).all())
        codes = t.argmax(axis=1) if is_hard else t
        source = as_source(rows.X[used]).with_numbers(codes, weight[used])
        q = _refit(found, options, steps, source)
        P = _probabilities(found, q, rows.X[at], factors)
        parts.append(np.stack([_log_score(rows.T[at], each) for each in P]))
    return np.concatenate(parts, axis=1)


def _refit(found: Inference, options: Options, steps: Sequence[Step], source: Source) -> AnyApproximation:
    """Fit the posterior of a part of the rows: by ``steps``, or at the same scales, starting at that of all rows."""
    if steps and found.posed is not None:
        posed = replace(found.posed, source=source, sample=None)
        part = Inference(
            posed, np.zeros(posed.shape), np.ones(len(found.factors)), found.structure, groups=options.groups
        )
        for step in steps:
            part = step(part, options)
        return part.gaussian
    q, objective = found.at_mode or found.gaussian, replace(found.objective, source=source, sample=None)
    if q.name == "laplace" and not isinstance(q, Approximation):
        return FitLaplace(options.tol).solve(objective, q.mean, q.structure)[1]
    if isinstance(q, ByClassApproximation):
        return variational_by_class(objective, q)
    if isinstance(q, DiagonalApproximation):
        by_sites = SparseEP(SparseRows.of(objective), []).fit(objective, q.mean) if q.name == "ep" else None
        return by_sites if by_sites is not None and by_sites.is_converged else variational_diagonal(objective, q)
    assert isinstance(q, Approximation), "others are left out"
    if q.name in ("laplace", "ep"):
        is_ep = q.name == "ep"
        fitter = FitEP(options.tol, [], *ROUGH_EP_TOLS_IN_STD) if is_ep else FitLaplace(options.tol)
        return fitter.fit(objective, q.mean, q.factor)
    start = replace(found, objective=objective, approximation=q, draws=None, fitter=None)
    return improve(start, "variational", options).gaussian


def _units(whole: Posterior, rows: Rows, power: float, options: Options) -> Float | None:
    """Return units of the columns (M,) in which all weights have the same prior; None if ``power`` changes nothing.

    If no prior is stated, there is one scale per standard deviation; with a power above 0, columns that are rarely
    non-zero have smaller scales. For columns of 0 and 1, the power 1 is a prior on the weights of the
    columns as they are, and the power 0 one per standard deviation. The spread of a column that is never negative is
    √(q (1 - q)) for q = E[x]²/E[x²]: of 0 and 1 it is the standard deviation, and it does not depend on the unit.
    """
    M, prior = len(whole.design.origin), whole.prior
    is_stated = prior.precision.ndim == 1 and not options.scales_rare_columns
    units = np.sqrt(prior.precision[:M]) if is_stated else whole.column_units[:M].copy()
    is_constant = whole.units.spread == 0
    if power > 0:
        if not options.scales_rare_columns:
            return None
        squared = rows.X.multiply(rows.X) if is_sparse(rows.X) else rows.X**2
        total = rows.weight.sum()
        mean, square = (np.asarray(rows.weight @ each).ravel() / total for each in (rows.X, squared))
        low = rows.X.min(axis=0).toarray().ravel() if is_sparse(rows.X) else rows.X.min(axis=0)
        q = np.where(square > 0, mean**2 / np.where(square > 0, square, 1.0), 0.5)
        q = np.minimum(q, 1.0)  # rounding errors of a column far from zero
        spread = np.sqrt(np.where(low >= 0, q * (1 - q), 0.25))[~is_constant]
        if not len(spread) or spread.min() <= 0 or spread.std() <= MIN_RARITY_SPREAD * spread.mean():
            return None
        units[~is_constant] /= spread**power
    return np.where(is_constant, np.inf, units)


def _modes(rows: Rows, units: list[Float | None], folds: Folds) -> Modes:
    """Score the modes along the path of scales and, near the best scale, with other scales of rare columns."""
    places: list[Place] = []
    scores: list[Float] = []
    best = 0
    for power, of_columns in enumerate(units):
        if of_columns is None:
            continue
        relative = SCALES if power == 0 else SCALES[max(0, best - SCALES_NEARBY) : best + SCALES_NEARBY + 1]
        scaled = ScaledRows.of(rows.X, rows.weight, of_columns)
        scales = np.asarray(relative * _median_scale(scaled))
        found = _scores_along(scaled, rows.T, folds, scales)
        if power == 0:
            best = int((np.stack(found) @ folds.repeats).argmax())
        scores += found
        for scale, times in zip(scales[: len(found)], relative, strict=False):
            name = f"mode, prior scale x {times:.3g}{RARITY_NAMES[power]}"
            places.append(Place(power, float(scale), name))
    return Modes(places, np.stack(scores))


def _median_scale(rows: ScaledRows) -> float:
    """Return the median of the scale under its hyperprior."""
    return TYPICAL_SIGNAL / float(np.sqrt(max(1, rows.n_varying)))


def _scores_along(rows: ScaledRows, T: Float, folds: Folds, scales: Float) -> list[Float]:
    """Return log scores (E,) of the modes for each of the first scales; the path ends when scores only fall."""
    scores: list[Float] = []
    n_behind, best = 0, 0
    for W in mode_path(rows, _targets(T), folds.training, scales, PATH_TOL, _median_scale(rows)):
        each = zip(W, folds.entries, strict=True)
        scores.append(np.concatenate([(T[at] * log_probabilities(rows.Z[at] @ w.T)).sum(axis=1) for w, at in each]))
        lead = (scores[best] - scores[-1]) * folds.repeats
        if lead.sum() <= 0:
            best = len(scores) - 1
        is_behind = best < len(scores) - 1 and lead.sum() > FAR_BEHIND * np.sqrt(folds.variance * float(lead @ lead))
        n_behind = n_behind + 1 if is_behind else 0
        if n_behind == 2:
            break
    return scores


def _fitted(whole: Posterior, rows: Rows, units: list[Float | None], places: list[Place]) -> Float:
    """Fit the chosen modes to all rows; return their weights θ (S, C, P)."""
    theta = []
    for power, of_columns in enumerate(units):
        scales = [place.scale for place in places if place.power == power]
        if scales and of_columns is not None:
            scaled = ScaledRows.of(rows.X, rows.weight, of_columns)
            median = _median_scale(scaled)
            for (W,) in mode_path(scaled, _targets(rows.T), rows.weight[None], np.array(scales), FINAL_TOL, median):
                theta.append(whole.design.of_user_units(*scaled.in_user_units(W)))
    return np.stack(theta) if theta else np.empty((0, *whole.shape))


# -- choice -------------------------------------------------------------------------------------------------------


def probabilities_of_best(log_p: Float, count: Float, inflation: float) -> Float:
    """Return the probability that each candidate has the highest expected score, (J,); the first one is the average.

    ``log_p`` (J, E) are log scores of rows that count ``count`` (E,) times. The differences of the sums from the first
    one are taken to be Gaussian, with the covariance of the paired differences of the rows times ``inflation``.
    """
    n = float(count.sum())
    away = log_p - log_p[0]
    total = away @ count
    covariance = inflation * ((away * count) @ away.T - np.outer(total, total) / n)
    values, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T  # symmetric: independent of the signs of the axes
    z = np.random.default_rng(0).standard_normal((len(total), N_DRAWS))
    handicap = LEAD * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    drawn = (total - handicap)[:, None] + root @ np.hstack([z, -z])
    tie = TIE * float(handicap[1:][total[1:].argmax()])  # of the strongest rival of the average
    if tie <= np.spacing(np.abs(drawn).max()):
        return np.asarray(np.eye(len(total))[(total - handicap).argmax()])
    return np.asarray(special.softmax(drawn / tie, axis=0).mean(axis=1))
