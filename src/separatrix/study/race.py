# SPDX-License-Identifier: BSD-3-Clause
"""Candidates are scored fold by fold within the time limit; those that are clearly behind are stopped.

Each candidate is fitted to all rows, which gives its evidence and its time, and scored in the first fold, the cheapest
first. Then all of them are scored in the second fold, and so on, so that they are always compared on the same rows.

- A candidate that may take longer than its share of the time left is first fitted to a sample of the rows. The time of
  this attempt determines how many rows the next one may have. An attempt is stopped if the rest of the time would not
  suffice for the final fit, and the one before it counts.
- A candidate stops if it is more than three standard errors behind the best one, unless its other folds are cheap.
- If another fold of all candidates would take too long, those that are behind stop first. If that does not suffice, the
  folds so far decide.
- After the last fold, candidates are cross-validated again, in other folds, while some are within two standard errors
  of the best one and the time allows it.

The log-likelihood of a row is its mean over the repeats, and standard errors are over rows, because the repeats of a
row are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from separatrix import metrics
from separatrix._array import Array, Codes, Float
from separatrix._text import decimals
from separatrix._threads import single_thread_blas
from separatrix.comparison import (
    MAX_ROW_NATS,
    MIN_SHOWN_NATS,
    NOT_TRIED,
    STOPPED,
    Comparison,
    Fold,
    Trial,
    predicted_rows,
    run_trial,
    scores_of,
)
from separatrix.generative import NaiveBayes
from separatrix.metrics import Estimate, weighted_mean
from separatrix.study.candidates import CURVED, LOGISTIC, PRIOR, PriorOnly
from separatrix.study.notes import captured
from separatrix.study.progress import ACCURACY, Budget, OutOfTime, Stages, affordable_rows, min_rows
from separatrix.study.records import Note
from separatrix.study.validation import (
    MAX_REPEAT_FRACTION,
    MAX_REPEAT_SECONDS,
    MAX_REPEATS,
    Split,
    has_new_levels,
    sampled_fold,
)
from separatrix.table import Schema
from separatrix.table_model import Configured, TableClassifier, continuous_columns

STOP_IN_STD, NEAR_IN_STD = 3.0, 2.0  # standard errors behind the best: to stop a candidate, and to tell two apart
CHEAP_FRACTION, CHEAP_SECONDS = 0.02, 1.0  # of the limit, and at least: folds that are cheaper are always finished
FINAL_FRACTION = 0.05  # of the limit, left for the effects and the check of separation


@dataclass
class Entry:
    """A candidate, its fit to all rows, and sums over its repeats of probabilities (N, K) and log-likelihoods (N,)."""

    name: str
    model: TableClassifier
    trial: Trial
    n_rows: int  # training rows of its fits, at most
    P: Float
    rows: Float
    times: Codes  # number of models that predicted each row without having been fitted to it, (N,)
    weight: Float | None = None  # weights of the rows, (N,); None if all are 1
    fold_seconds: list[float] = field(default_factory=list)
    n_repeats: int = 1

    @classmethod
    def of(
        cls, name: str, model: TableClassifier, trial: Trial, n_rows: int, N: int, K: int, weight: Float | None = None
    ) -> Entry:
        """Entry without scores, for N rows of K classes."""
        return cls(name, model, trial, n_rows, np.zeros((N, K)), np.zeros(N), np.zeros(N, dtype=np.intp), weight)

    @property
    def seconds(self) -> float:
        """Time of a fold."""
        return float(np.mean(self.fold_seconds))

    def is_costly(self, cheap: float) -> bool:
        """Whether a fold takes longer than ``cheap`` seconds; the baseline never counts as costly."""
        return self.name != PRIOR and self.seconds > cheap

    def score(self, split: Split, classes: Array) -> None:
        """Fit to the training rows of a split and predict its test rows; a failed fit makes a failed trial."""
        start = perf_counter()
        try:
            train, test = sampled_fold(split.fold(split.train), split.schema, self.n_rows), split.fold(split.test)
            estimator: Any = self.model.configured(split.schema, train.X.array, train.codes, train.weight).model
            if isinstance(estimator, NaiveBayes):  # otherwise, test rows may be outside the support of a family
                chosen = {choice.column: choice.family for choice in self.trial.model.choices_}
                given = estimator.families
                families = {name: given.get(name, chosen.get(name, "auto")) for name in split.schema.columns}
                estimator.set_params(families=families)
            weights = {} if train.weight is None else {"sample_weight": train.weight}
            estimator.fit(train.X, classes[train.codes], **weights)
            P, rows = predicted_rows(estimator, test, classes)
        except Exception as error:  # the comparison continues if a model raises
            self.trial = Trial.failed(self.name, error)
            return
        self.P[split.test] += P
        self.rows[split.test] += rows
        self.times[split.test] += 1
        self.fold_seconds.append(perf_counter() - start)

    def stop(self, done: int, n_folds: int, why: str) -> None:
        """End the race of this candidate."""
        self.trial = Trial(self.name, failure=f"{STOPPED} after {done} of {n_folds} folds: {why}")

    def scored(self, at: Codes, codes: Codes) -> Trial:
        """The trial with scores of the rows ``at``."""
        P, rows = self.P[at] / self.times[at, None], self.rows[at] / self.times[at]
        weight = self.weights(at)
        if isinstance(self.model.estimator, PriorOnly):  # the different class proportions of the folds would rank rows
            P = np.tile(np.average(P, axis=0, weights=weight), (len(P), 1))
        fold = Fold(None, codes[at], at, weight)
        return replace(self.trial, test=scores_of(P, rows, metrics.accuracy(P, codes[at], weight), fold), P=P)

    def weights(self, at: Codes) -> Float | None:
        """Weights of the rows ``at``."""
        return None if self.weight is None else self.weight[at]


class Attempt(NamedTuple):
    """Trial of a candidate fitted to some rows, with warnings and configuration, and its entry if there are folds.

    The trial is None if the model found no interaction, and so equals another candidate.
    """

    trial: Trial | None
    warnings: list[Note]
    configured: Configured
    entry: Entry | None = None

    @classmethod
    def none(cls, name: str, why: str) -> Attempt:
        """No attempt was made, or none was finished in time."""
        return cls(Trial(name, failure=why), [], Configured(None))


class Raced(NamedTuple):
    """Scores of the candidates, and their warnings and configurations by name."""

    comparison: Comparison
    warnings: dict[str, list[Note]]
    configured: dict[str, Configured]


def race(
    models: Mapping[str, TableClassifier],
    costs: Mapping[str, Callable[[int], float]],
    schema: Schema,
    folds: Sequence[Fold],
    classes: Array,
    stages: Stages,
    repeats: Sequence[list[Split]] = (),
    new_repeat: Callable[[], list[Split]] = list,
) -> Raced:
    """Fit and score the candidates.

    ``costs`` return the expected time of the first fits of a candidate for a number of rows. If it exceeds the budget,
    the candidate is fitted to a sample of rows, or not tried; the cheapest one is always fitted. ``folds`` are training
    and test rows, or all rows if there are ``repeats`` of a cross-validation; ``new_repeat`` returns another.
    """
    train, test, budget = folds[0], folds[-1], stages.budget
    N, codes = len(train.codes), train.codes
    trials: list[Trial] = []
    entries: list[Entry] = []
    warnings: dict[str, list[Note]] = {}
    configured: dict[str, Configured] = {}
    with captured():  # warm up, so that no fit time includes imports and compilation
        PriorOnly().fit(np.zeros((len(classes), 1)), np.arange(len(classes)))

    def attempt(name: str, n_rows: int) -> Attempt:
        with captured() as found:
            some = sampled_fold(train, schema, n_rows)
            trial, how = _first_fit(name, models, schema, some, test, classes)
        if trial is not None and n_rows < N:  # evidences of a sample and of all rows cannot be compared
            trial = replace(trial, evidence=trial.evidence._replace(of_labels=False))
            text = f"In the comparison, this model was fitted to {n_rows} of {N} training rows, to limit the time."
            found.insert(0, Note("sampled", text))
        if trial is None or trial.failure or not repeats:
            return Attempt(trial, found, how)
        entry = Entry.of(name, models[name], trial, n_rows, N, len(classes), train.weight)
        with captured():  # the warnings of the fit to all rows are enough
            entry.score(repeats[0][0], classes)
        return Attempt(trial, found, how, entry)

    order = sorted(models, key=lambda name: costs[name](N))
    for place, name in enumerate(order):
        waiting = [each for each in order[place:] if budget.expected(costs[each](min_rows(N))) <= budget.free]
        share = budget.share(len(waiting)) if place else np.inf  # the cheapest is always fitted
        with single_thread_blas():
            tried = _largest_attempt(
                name, partial(attempt, name), costs[name], N, share, stages, n_fits=2 if repeats else 1
            )
        warnings[name], configured[name] = tried.warnings, tried.configured
        if tried.entry is not None:
            entries.append(tried.entry)
        elif tried.trial is not None:
            trials.append(tried.trial)
        leader = _leader(trials, entries)
        if leader is not None and (not repeats or (has_new_levels(schema) and models[leader.name].tunes_levels)):
            budget.reserved = leader.fit_seconds
    at, n_repeats = np.arange(len(test.codes)), {1}
    if entries:
        latest = budget.left - _final_seconds(entries, budget)
        with captured(), single_thread_blas(), suppress(OutOfTime), stages.limited(latest):
            if _finish_folds(entries, repeats[0], classes, stages):
                _repeat(entries, repeats, new_repeat, classes, stages)
        finished = _active(entries)
        if finished:
            at, n_repeats = _scored_rows(finished), {entry.n_repeats for entry in finished}
        trials += [entry.trial if entry.trial.failure else entry.scored(at, codes) for entry in entries]
    ranked = tuple(sorted(trials, key=lambda trial: trial.rank))
    weight = None if test.weight is None else test.weight[at]
    found = Comparison(ranked, classes, train.rows, test.rows[at], weight, repeats=tuple(sorted(n_repeats)))
    return Raced(replace(found, n_folds=len(repeats[0]) if repeats else None), warnings, configured)


def _largest_attempt(
    name: str,
    attempt: Callable[[int], Attempt],
    cost: Callable[[int], float],
    n_rows: int,
    share: float,
    stages: Stages,
    *,
    n_fits: int,
) -> Attempt:
    """The attempt with as many rows as its ``share`` of the time allows; a failed trial if there is none.

    All rows are tried at once if they take less than the share even if the expected time is too short. An attempt has
    ``n_fits`` fits, and is stopped if the rest of the time would not suffice for another one, the final fit.
    """
    budget, start = stages.budget, perf_counter()
    most = n_fits / (n_fits + 1) if np.isfinite(share) else np.inf  # of the time left
    per_cost = budget.expected(1.0)
    n = affordable_rows(cost, n_rows, share / (ACCURACY * per_cost))
    if per_cost * cost(n) > budget.free and np.isfinite(share):
        stages(f"{name}, 0 rows")
        return Attempt.none(name, _not_tried(per_cost * cost(n), n, budget))
    stages(f"{name}, {n:,} rows", per_cost * cost(n))
    found, tried = None, 0
    while n > tried:
        begun = perf_counter()
        try:
            with stages.limited(most * max(budget.free, 1e-9)):
                found = attempt(n)
        except OutOfTime:
            break
        tried, now = n, perf_counter()
        budget.measure(cost(n), now - begun)
        per_cost = max(now - begun, 1e-9) / max(cost(n), 1e-9)
        n = affordable_rows(cost, n_rows, (start + share - now) / per_cost)
        if n > tried:
            stages.within(f"{name}, {n:,} rows", per_cost * cost(n))
    return found or Attempt.none(
        name,
        f"{STOPPED} after {perf_counter() - start:.0f} of {budget.seconds:g} s, before it was fitted. Allow more with "
        "--time (in Python, time=).",
    )


def _leader(trials: Sequence[Trial], entries: Sequence[Entry]) -> Trial | None:
    """The candidate with the best score so far, None if there is none."""
    best = next(iter(gaps_to_best(_active(entries))), None)
    if best is not None:
        return next(entry.trial for entry in entries if entry.name == best)
    return min((trial for trial in trials if not trial.failure), key=lambda trial: trial.rank, default=None)


def _first_fit(
    name: str, models: Mapping[str, TableClassifier], schema: Schema, train: Fold, test: Fold, classes: Array
) -> tuple[Trial | None, Configured]:
    """Trial of a fit to the training rows, None if the model found no interaction and so equals another candidate.

    Also returns how the model was configured.
    """
    start = perf_counter()
    try:
        found = models[name].configured(schema, train.X.array, train.codes, train.weight)
    except Exception as error:  # if one model fails, the study continues
        return Trial.failed(name, error), Configured(None)
    twin = CURVED if continuous_columns(schema) else LOGISTIC  # the same model without interactions
    if found.interactions is not None and not found.interactions.pairs and twin in models:
        return None, found
    prepared = perf_counter() - start  # knots, moments, and the searches for interactions and for a width
    trial = run_trial(name, found.model, train, test, classes, most_probable=True)
    return replace(trial, fit_seconds=prepared + trial.fit_seconds), found


def _finish_folds(entries: list[Entry], splits: Sequence[Split], classes: Array, stages: Stages) -> bool:
    """Score the candidates in the folds after the first; False if the time ran out before the last fold."""
    budget = stages.budget
    for done, split in enumerate(splits[1:], start=1):
        left, gaps = len(splits) - done, gaps_to_best(_active(entries))
        leader = next(iter(gaps), "")
        cheap = max(CHEAP_SECONDS, CHEAP_FRACTION * min(budget.seconds, 1e9)) / left
        behind = {name: f"{decimals(-gap.value)} ± {decimals(gap.standard_error)}" for name, gap in gaps.items()}
        for entry in _active(entries):
            gap = gaps[entry.name]
            if entry.is_costly(cheap) and -gap.value > max(STOP_IN_STD * gap.standard_error, MIN_SHOWN_NATS):
                entry.stop(done, len(splits), f"it was {behind[entry.name]} nats per row behind {leader}.")
        while costly := [entry for entry in _active(entries) if entry.is_costly(cheap)]:
            if sum(entry.seconds for entry in _active(entries)) <= budget.left - _final_seconds(costly, budget):
                break
            losing = [entry for entry in costly if -gaps[entry.name].value > gaps[entry.name].standard_error]
            if not losing:
                return False  # the folds so far decide
            last = min(losing, key=lambda entry: gaps[entry.name].value)
            last.stop(
                done,
                len(splits),
                f"it was {behind[last.name]} nats per row behind {leader}, and the other folds would take "
                f"{last.seconds * left:,.0f} s. Allow more with --time (in Python, time=).",
            )
        for entry in _active(entries):
            stages.within(f"{entry.name}, fold {done + 1} of {len(splits)}", entry.seconds)
            entry.score(split, classes)
    return True


def _final_seconds(entries: Sequence[Entry], budget: Budget) -> float:
    """Time to keep for the final fit, the effects and the check of separation."""
    fits = (entry.trial.fit_seconds for entry in _active(entries))
    return max(fits, default=0.0) + FINAL_FRACTION * budget.seconds


def _repeat(
    entries: list[Entry],
    repeats: Sequence[list[Split]],
    new_repeat: Callable[[], list[Split]],
    classes: Array,
    stages: Stages,
) -> None:
    """Repeat the cross-validation: in all planned repeats, and while several candidates are near the best one."""
    for number in range(2, MAX_REPEATS + 1):
        gaps, is_planned = gaps_to_best(_active(entries)), number <= len(repeats)
        near = [name for name, gap in gaps.items() if -gap.value <= NEAR_IN_STD * gap.standard_error]
        again = [
            entry
            for entry in _active(entries)
            if (is_planned and sum(entry.fold_seconds) <= MAX_REPEAT_SECONDS) or (len(near) > 1 and entry.name in near)
        ]
        needed = sum(entry.seconds for entry in again) * len(repeats[0])
        if not again or needed > MAX_REPEAT_FRACTION * stages.budget.left:
            return
        for fold, split in enumerate(repeats[number - 1] if is_planned else new_repeat(), start=1):
            for entry in again:
                if not entry.trial.failure:
                    stages.within(f"{entry.name}, repeat {number}, fold {fold} of {len(repeats[0])}", entry.seconds)
                    entry.score(split, classes)
        for entry in again:
            entry.n_repeats = number


def _active(entries: Sequence[Entry]) -> list[Entry]:
    """Candidates that have neither stopped nor failed."""
    return [entry for entry in entries if not entry.trial.failure]


def _scored_rows(entries: Sequence[Entry]) -> Codes:
    """Rows that all candidates have predicted."""
    return np.flatnonzero(np.all([entry.times > 0 for entry in entries], axis=0))


def gaps_to_best(entries: Sequence[Entry]) -> dict[str, Estimate]:
    """Mean log-likelihood of each candidate minus that of the best, which comes first; see `Comparison.differences`."""
    if not entries:
        return {}
    at = _scored_rows(entries)
    weight = entries[0].weights(at)
    rows = {entry.name: entry.rows[at] / entry.times[at] for entry in entries}
    order = sorted(rows, key=lambda name: -np.average(rows[name], weights=weight))
    best, found = rows[order[0]], {}
    for name in order:
        with np.errstate(invalid="ignore"):  # both may be infinite
            difference = np.nan_to_num(rows[name] - best, nan=0.0, neginf=-np.inf, posinf=np.inf)
        limited = weighted_mean(np.clip(difference, -MAX_ROW_NATS, MAX_ROW_NATS), weight)
        found[name] = Estimate(float(np.average(difference, weights=weight)), limited.standard_error)
    return found


def _not_tried(expected: float, n_rows: int, budget: Budget) -> str:
    return (
        f"{NOT_TRIED}: {n_rows:,} rows would take about {max(expected, 1):,.0f} s, and {budget.free:.0f} of "
        f"{budget.seconds:g} s are left. Allow more with --time (in Python, time=)."
    )
