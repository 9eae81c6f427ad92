# SPDX-License-Identifier: BSD-3-Clause
"""The first step of a study: score the candidates on rows that they were not fitted to, and choose one.

Tables of up to 20 000 rows are cross-validated if the time suffices (validation.py). Other tables are split into
training and held-out rows, which are encoded once for all candidates. The choice has three steps:

1. Take the best model on these rows and all models within two standard errors of it.
2. Of these, keep the models whose evidence of the labels is within ln 20 nats (odds of 20 to 1) of the largest. Only
   evidences of the same rows are compared. If no model reports one, choose the best on these rows.
3. Of the models that remain, choose the simplest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from separatrix._arguments import check_number, check_positive, generator
from separatrix._array import Array, Codes
from separatrix._text import decimals, enumerated
from separatrix._threads import single_thread_blas
from separatrix.comparison import MIN_SHOWN_NATS, NOT_TRIED, Comparison, Fold, Trial, run_trial
from separatrix.exceptions import DataError
from separatrix.rows import NamedRows, watched
from separatrix.study.candidates import (
    CURVED,
    LOGISTIC,
    MODELS,
    NEEDS_TEXT,
    PRIOR,
    PriorOnly,
    Size,
    candidates,
    expected_seconds,
    selected,
    unsuitable,
)
from separatrix.study.notes import captured, notes_on_table
from separatrix.study.opening import name_of, open_labelled, positive_class
from separatrix.study.progress import MAX_CANDIDATE_FRACTION, MIN_SAMPLED_ROWS, STUDY_SECONDS, Budget, Progress, Stages
from separatrix.study.records import (
    NOTHING_BEATS,
    TIME_RAN_OUT,
    Choice,
    Compared,
    LabelledTable,
    Note,
    Question,
    leaking_columns,
)
from separatrix.study.screening import notes_on_columns
from separatrix.study.validation import (
    Split,
    complete_numbers,
    cross_validated,
    n_folds_of,
    n_repeats_of,
    sampled_fold,
    splits_of,
    stratified_sample,
)
from separatrix.table import (
    Schema,
    TableEncoder,
    TableStatistics,
    table_statistics,
)
from separatrix.table_model import TableClassifier, continuous_columns, word_columns

MAX_COMPARED_ROWS = 100_000  # gives scores accurate to three digits
MAX_TEST_SHARE = 0.5
MAX_ENCODING_FRACTION = 0.3  # of the time left, for encoding folds; with less time, there are fewer folds
MIN_LEAD_NATS = float(np.log(20))
NO_INTERACTION = "no interaction was found, so it equals the model without interactions"


def compare_models(
    table: Any,
    target: str,
    *,
    name: str | None = None,
    types: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
    test_share: float = 0.2,
    seed: int = 0,
    positive: Any = None,
    time: float = STUDY_SECONDS,
    progress: Progress | None = None,
    later: int = 0,
) -> Compared:
    """Compare the models that suit a table, and choose one. See `conduct` for the parameters.

    ``later`` is the number of stages that will follow, for ``progress``.
    """
    start = perf_counter()
    check_number("compare_models", "test_share", test_share, low=1e-6, high=MAX_TEST_SHARE)
    budget = Budget(check_positive("compare_models", "time", time))
    stages, rng = Stages(progress, len(models or MODELS) + 1 + later, budget=budget), generator(seed)
    stages("reading the columns")
    rows = open_labelled(table, target, types)
    positive = positive_class(rows.classes, rows.counts, positive)
    if models is not None:
        selected(dict.fromkeys(MODELS, TableClassifier()), models, {})  # unknown names are reported before the work
    some = sample_of(rows, MAX_COMPARED_ROWS, rng, "Models were compared on")
    inputs = {column: kind for column, kind in (types or {}).items() if column != target} or None
    encoder = TableEncoder(types=inputs)
    of_all = rows.statistics(encoder.unread())
    train = test = some
    _fit_encoder(encoder, of_all, train)
    size, n_folds = size_of(encoder, rows), n_folds_of(some.codes, test_share)
    tried = candidates(some.n_rows, **size._asdict()) if models is None else models

    def seconds_of(n_fits: int) -> float:
        """Expected time of the cross-validation; a model of words that takes too long for one fit is not tried."""
        once = (budget.expected(expected_seconds(name, some.n_rows, size, some.n_rows, 1)) for name in tried)
        most = MAX_CANDIDATE_FRACTION * budget.left if size.n_words else np.inf
        return n_fits * sum(seconds for seconds in once if seconds <= most)

    is_sparse = encoder.schema_.is_sparse
    n_encoded = size.n_columns - len(complete_numbers(encoder.schema_))
    n_repeats = n_repeats_of(some.n_rows, n_encoded, n_folds, seconds_of, budget.left, is_sparse=is_sparse)
    if not n_repeats:
        n_folds = 0
        held = held_out_rows(some.codes, test_share, rng)
        train, test = some.take(np.flatnonzero(~held)), some.take(np.flatnonzero(held))
        _fit_encoder(encoder, of_all, train)
        size = size_of(encoder, rows)
    schema = encoder.schema_
    offered = candidates(train.n_rows, types=inputs, **size._asdict())
    left_out = unsuitable(train.n_rows, **size._asdict())
    offered = offered if models is None else selected(offered, models, left_out)
    n_test, n_fits = test.n_rows, 1 + n_folds
    costs = {name: partial(expected_seconds, name, size=size, n_test_rows=n_test, n_fits=n_fits) for name in offered}
    encode_start = perf_counter()
    folds = [
        Fold(NamedRows(encoder.transform(fold.X), schema.columns), fold.codes, fold.rows)
        for fold in ([train] if n_folds else [train, test])
    ]
    stages.total = len(offered) + 1 + later
    repeats = []
    if n_folds:
        most = MAX_ENCODING_FRACTION * budget.left / (perf_counter() - encode_start)
        n_folds = max(2, min(n_folds, int(most)))
        repeats = splits_of(some, encoder, of_all, folds[0].X.array, n_folds, n_repeats, rng)
    comparison, warnings = _run_trials(offered, costs, schema, folds, rows.classes, stages, repeats)
    not_compared = [f"{name}: {reason}" for name, reason in left_out.items() if models is None and reason != NEEDS_TEXT]
    not_compared += [f"{name}: {NO_INTERACTION}" for name in offered if name not in comparison.names]
    unsuited = [Note("left out", f"Not compared: {'; '.join(not_compared)}.")] * bool(not_compared)
    notes = (
        *some.notes,
        *notes_on_columns(schema, folds, target, inputs or ()),
        *notes_on_table(schema, [fold.X.array for fold in folds], rows.classes, rows.counts),
        *unsuited,
    )
    return Compared(
        Question(name or name_of(table), target, types, test_share, seed, time),
        rows,
        train,
        test,
        encoder,
        offered,
        comparison,
        _with_leaks(choose(comparison), leaking_columns(notes), target),
        notes,
        warnings,
        positive,
        perf_counter() - start,
    )


def _with_leaks(choice: Choice, leaks: Sequence[str], target: str) -> Choice:
    """The choice, with a first sentence on columns that give the class away."""
    if not leaks:
        return choice
    subject = f"{enumerated(list(map(repr, leaks)))} alone predict{'s' * (len(leaks) == 1)} {target}"
    return replace(choice, reasons=(f"{subject}, so the scores of all models mostly measure this.", *choice.reasons))


def _fit_encoder(encoder: TableEncoder, of_all: TableStatistics, train: LabelledTable) -> None:
    """Infer types from all rows, and means and levels from the training rows."""
    is_all = train.n_rows == of_all.n_rows
    encoder.fit_statistics(of_all, train.X, of_all if is_all else table_statistics(train.X, unread=encoder.unread()))


def size_of(encoder: TableEncoder, rows: LabelledTable) -> Size:
    """Size of the encoded table."""
    schema = encoder.schema_
    n_words = len(word_columns(schema))
    return Size(len(schema.columns), len(rows.classes), len(continuous_columns(schema)), n_words)


def _run_trials(
    models: Mapping[str, TableClassifier],
    costs: Mapping[str, Callable[[int], float]],
    schema: Schema,
    folds: Sequence[Fold],
    classes: Array,
    stages: Stages,
    repeats: list[list[Split]],
) -> tuple[Comparison, dict[str, list[Note]]]:
    """Fit the candidates to the training rows, the cheapest first; score them on the test rows; also return warnings.

    ``costs`` return the expected time of a candidate for a number of rows. If it exceeds the budget, the candidate is
    fitted to a sample of rows, or not tried. The cheapest one is always fitted. If there are ``repeats``, the scores
    come from cross-validation.
    """
    train, test, budget = folds[0], folds[-1], stages.budget
    trials: list[Trial] = []
    counts: set[int] = set()  # how often models were cross-validated
    warnings: dict[str, list[Note]] = {}
    with captured():  # warm up, so that no fit time includes imports and compilation
        PriorOnly().fit(np.zeros((len(classes), 1)), np.arange(len(classes)))
    N = len(train.codes)
    for name in sorted(models, key=lambda name: costs[name](N)):
        n_rows = budget.affordable_rows(costs[name], N) or (0 if trials else min(N, MIN_SAMPLED_ROWS))
        expected = budget.expected(costs[name](n_rows or N))
        stages(f"{name}, {n_rows:,} rows", expected if n_rows else np.nan)
        if not n_rows:
            warnings[name] = []
            trials.append(Trial(name, failure=_not_tried(expected, budget)))
            continue
        start, fold = perf_counter(), sampled_fold(train, schema, n_rows)
        with captured() as warnings[name], watched(stages.rows), single_thread_blas():
            try:
                found = models[name].configured(schema, fold.X.array, fold.codes)
            except Exception as error:  # if one model fails, the study continues
                trials.append(Trial.failed(name, error))
            else:
                twin = CURVED if continuous_columns(schema) else LOGISTIC  # the same model without interactions
                if found.interactions is not None and not found.interactions.pairs and twin in models:
                    continue
                prepared = perf_counter() - start  # knots, moments, and the search for interactions
                trial = run_trial(name, found.model, fold, test, classes, most_probable=True)
                trials.append(replace(trial, fit_seconds=prepared + trial.fit_seconds))
        needed = (perf_counter() - start) * len(repeats[0]) if repeats else 0.0
        if needed > budget.left and any(trial.P is not None for trial in trials[:-1]):
            trials[-1] = Trial(name, failure=_not_tried(needed, budget))
        elif repeats and not trials[-1].failure:
            with captured(), single_thread_blas():  # the warnings of the fit to all rows are enough
                validated = cross_validated(trials[-1], models[name], repeats, train.codes, classes, n_rows)
                trials[-1] = validated[0]
                counts.add(validated[1])
        if n_rows < N:  # the evidence of a sample cannot be compared with the evidence of all rows
            trials[-1] = replace(trials[-1], evidence=trials[-1].evidence._replace(of_labels=False))
            text = f"In the comparison, this model was fitted to {n_rows} of {N} training rows, to limit the time."
            warnings[name].insert(0, Note("sampled", text))
        budget.measure(costs[name](n_rows), perf_counter() - start)
    ranked = tuple(sorted(trials, key=lambda trial: trial.rank))
    n_folds = len(repeats[0]) if repeats else None
    return Comparison(
        ranked, classes, train.rows, test.rows, n_folds=n_folds, repeats=tuple(sorted(counts)) or (1,)
    ), warnings


def _not_tried(expected: float, budget: Budget) -> str:
    return (
        f"{NOT_TRIED}: it would take about {max(expected, 1):,.0f} s, and {budget.left:.0f} of {budget.seconds:g} s "
        f"are left; one model may take {100 * MAX_CANDIDATE_FRACTION:.0f} % of them. Allow more with --time (in "
        "Python, time=)."
    )


def sample_of(rows: LabelledTable, most: int, rng: np.random.Generator, what: str) -> LabelledTable:
    """Random sample of at most ``most`` rows, with a note; at least two rows of every class are kept."""
    if rows.n_rows <= most:
        return rows
    drawn = stratified_sample(rows.codes, most, rng)
    text = f"{what} a sample of {most} of {rows.n_rows} rows, to limit time and memory."
    return rows.take(drawn, Note("sampled", text))


def held_out_rows(codes: Codes, fraction: float, rng: np.random.Generator) -> Array:
    """Whether each row is held out, (N,): the same fraction of each class up to rounding, and at least one row in all.

    Rows are shuffled within each class and held out at equal intervals. If the fraction is at most one half, held-out
    rows are never adjacent, so every class with two rows or more keeps a training row.
    """
    order = np.lexsort([rng.random(len(codes)), codes])
    place = (np.arange(len(codes) + 1) + rng.random()) * fraction
    marked = np.diff(np.floor(place)) > 0
    if not marked.any():
        marked[int(np.argmax(np.bincount(codes)[codes[order]]))] = True  # a row of the largest class
    held: Array = np.zeros(len(codes), dtype=bool)
    held[order[marked]] = True
    return held


def choose(comparison: Comparison) -> Choice:
    """Choose a model, with reasons; raises DataError if no model could be fitted."""
    scored = [trial for trial in comparison if not trial.failure and trial.test.rows is not None]
    if not scored:
        why = " ".join(f"{trial.name}: {trial.failure}" for trial in comparison)
        raise DataError(
            f"No model could be fitted to this table. {why}",
            remedy="Leave out the columns that these reasons name: types={COLUMN: 'drop'}.",
            option="Leave out the columns that these reasons name: --drop COLUMN.",
        )
    near = [scored[0], *(comparison[name] for name in comparison.near_best())]
    with_evidence = [trial for trial in near if trial.evidence.of_labels]
    best_evidence = max((trial.evidence.log_evidence for trial in with_evidence), default=-np.inf)
    tied = [trial for trial in with_evidence if best_evidence - trial.evidence.log_evidence < MIN_LEAD_NATS]
    order = [*MODELS, *comparison.names]  # from simple to rich; unknown models come last
    tied.sort(key=lambda trial: order.index(trial.name))
    return Choice((tied or scored)[0].name, tuple(_reasons(comparison, scored, near, tied)))


def _reasons(comparison: Comparison, scored: list[Trial], near: list[Trial], tied: list[Trial]) -> Iterator[str]:
    """Sentences about held-out scores, evidence, the cost of the choice, and its gain over the class proportions."""
    best, chosen, gaps = scored[0], (tied or scored)[0], comparison.differences()
    behind = {name: f"{decimals(-gap.value)} ± {decimals(gap.standard_error)}" for name, gap in gaps.items()}
    loss, tested = best.test.log_likelihood, f"{comparison.tested} rows"
    folds = f" ({comparison.folds})" if comparison.folds else ""
    yield (
        f"On {len(comparison.test_rows):,} {tested}{folds}, {best.name} is best, with a log-loss of "
        f"{decimals(-loss.value)} ± {decimals(loss.standard_error)} nats per row."
    )
    if len(near) > 1:
        others = enumerated([f"{trial.name} ({behind[trial.name]})" for trial in near[1:]])
        these = "One other model is" if len(near) == 2 else "The following models are"
        yield f"{these} less than two standard errors behind, which may be due to chance: {others}."
    elif len(scored) == 1:
        yield "It is the only model to choose from."
    else:
        second = scored[1].name
        follows = f": the next is {second}, {behind[second]} behind" if np.isfinite(gaps[second].value) else ""
        yield f"No other model is within two standard errors of it{follows}."
    if len(near) > 1:
        yield from _reasons_by_evidence(comparison, near, tied, chosen)
    with_evidence = [trial for trial in comparison if trial.evidence.of_labels]
    favourite = max(with_evidence, key=lambda trial: trial.evidence.log_evidence, default=chosen)
    # The evidence of a single model favours nothing, nor does it compare with the evidence of fewer rows.
    is_compared = len(with_evidence) > 1 and chosen.name not in comparison.sampled
    if is_compared and favourite is not chosen and favourite not in near:
        yield (
            f"The evidence alone would favour {favourite.name}. On the {tested}, which take precedence, it is behind "
            f"by {behind[favourite.name]} nats per row."
        )
    if -gaps[chosen.name].value > MIN_SHOWN_NATS:
        cost = f"{behind[chosen.name]} nats per row"
        yield f"Choosing {chosen.name} instead of {best.name} costs {cost}, less than two standard errors."
    base = next((trial for trial in scored if trial.name == PRIOR), None)
    if chosen is base:
        yield TIME_RAN_OUT if any(trial.outcome == "not tried" for trial in comparison) else NOTHING_BEATS
    elif base is not None:
        gain = chosen.test.log_likelihood.value - base.test.log_likelihood.value
        yield f"Compared with the class proportions (prior only), {chosen.name} gains {decimals(gain)} nats per row."


def _reasons_by_evidence(comparison: Comparison, near: list[Trial], tied: list[Trial], chosen: Trial) -> Iterator[str]:
    """Sentences on evidence and simplicity, which decide among models that the held-out rows do not distinguish."""
    fewer = [trial.name for trial in near if trial.name in comparison.sampled]
    if not tied:
        why = "None of these reports the evidence p(t | x) of the labels"
        why += " of all training rows" if fewer else ""
        yield f"{why}, so the best, {chosen.name}, is chosen."
        return
    evidence = {trial.name: trial.evidence.log_evidence for trial in near}
    compared = [trial.name for trial in near if trial.evidence.of_labels]
    if len(tied) > 1:
        values = [evidence[trial.name] for trial in tied]
        yield (
            f"The log evidences of {enumerated([trial.name for trial in tied])} differ by "
            f"{max(values) - min(values):.1f} nats, less than {MIN_LEAD_NATS:.1f} nats (odds of 20 to 1), which "
            "does not distinguish them either. The rule is to choose the simplest of such models, even if another "
            f"has a slightly better log-loss or P(model): {chosen.name}."
        )
    else:
        most = evidence[chosen.name]
        leads = [f"{most - evidence[name]:.1f} nats over {name}" for name in compared if name != chosen.name]
        if leads:
            yield (
                f"Among these models, the one with the largest evidence is chosen: {chosen.name}, ln p = {most:.1f}, a "
                f"lead of {enumerated(leads)}."
            )
        else:
            yield f"Of these, only {chosen.name} reports the evidence of all training rows, so it is chosen."
    if fewer:
        were = "was" if len(fewer) == 1 else "were"
        yield f"In contrast, {enumerated(fewer)} {were} fitted to fewer rows, so their evidences do not compare."
    if without := [name for name in evidence if name not in (*compared, *fewer)]:
        have = "has" if len(without) == 1 else "have"
        yield f"In contrast, {enumerated(without)} {have} no comparable evidence and no intervals of probabilities."
