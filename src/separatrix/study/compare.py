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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from separatrix._arguments import check_number, check_positive, generator
from separatrix._array import Array, Codes
from separatrix._text import decimals, enumerated
from separatrix.comparison import MIN_SHOWN_NATS, Comparison, Fold, Trial
from separatrix.exceptions import DataError
from separatrix.rows import NamedRows
from separatrix.study.candidates import (
    MODELS,
    NEEDS_TEXT,
    PRIOR,
    Size,
    candidates,
    expected_seconds,
    selected,
    unsuitable,
)
from separatrix.study.notes import notes_on_table
from separatrix.study.opening import name_of, open_labelled, positive_class
from separatrix.study.progress import MAX_CANDIDATE_FRACTION, STUDY_SECONDS, Budget, Progress, Stages
from separatrix.study.race import race
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
    N_FIRST_FITS,
    complete_numbers,
    n_folds_of,
    n_repeats_of,
    splits_of,
    stratified_sample,
)
from separatrix.table import (
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
        """Expected time of this number of fits of all candidates, except those that take too long for one fit."""
        once = (budget.expected(expected_seconds(name, some.n_rows, size, some.n_rows, 1)) for name in tried)
        return n_fits * sum(seconds for seconds in once if seconds <= MAX_CANDIDATE_FRACTION * budget.left)

    n_encoded = size.n_columns - len(complete_numbers(encoder.schema_))
    n_repeats = n_repeats_of(
        some.n_rows, n_encoded, n_folds, seconds_of, budget.left, is_sparse=encoder.schema_.is_sparse
    )
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
    sizes: dict[str, Any] = {"size": size, "n_test_rows": test.n_rows, "n_fits": N_FIRST_FITS if n_folds else 1}
    costs = {name: partial(expected_seconds, name, **sizes) for name in offered}
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
        new_repeats = partial(splits_of, some, encoder, of_all, folds[0].X.array, n_folds, rng=rng)
        repeats = new_repeats(n_repeats=n_repeats)
    comparison, warnings = race(
        offered, costs, schema, folds, rows.classes, stages, repeats, lambda: new_repeats(n_repeats=1)[0]
    )
    test, some = _scored_part(test, some, comparison)
    absent = {} if models is not None else {name: why for name, why in left_out.items() if why != NEEDS_TEXT}
    absent |= {name: NO_INTERACTION for name in offered if name not in comparison.names}
    unsuited = "; ".join(f"{name}: {why}" for name, why in absent.items())
    notes = (
        *some.notes,
        *notes_on_columns(schema, folds, target, inputs or ()),
        *notes_on_table(schema, [fold.X.array for fold in folds], rows.classes, rows.counts),
        *[Note("left out", f"Not compared: {unsuited}.")] * bool(unsuited),
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


def _scored_part(
    test: LabelledTable, some: LabelledTable, comparison: Comparison
) -> tuple[LabelledTable, LabelledTable]:
    """The test rows that were scored, and the compared rows, with a note if the time ran out before the last fold."""
    if len(comparison.test_rows) == test.n_rows:
        return test, some
    n = len(comparison.test_rows)
    text = f"The scores come from {n} of {some.n_rows} rows, because the time ran out before the last fold."
    scored = np.flatnonzero(np.isin(test.rows, comparison.test_rows))
    return test.take(scored), replace(some, notes=(*some.notes, Note("sampled", text)))


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
