# SPDX-License-Identifier: BSD-3-Clause
"""The first step of a study: score the candidates on rows that they were not fitted to, and choose one.

Large tables are split into training and held-out rows, which are encoded once for all candidates. Tables of fewer than
1000 rows are cross-validated (validation.py). The choice has three steps:

1. Take the best model on these rows and all models within two standard errors of it.
2. Of these, keep the models whose evidence of the labels is within ln 20 nats (odds of 20 to 1) of the largest. If no
   model reports an evidence, choose the best on these rows.
3. Of the models that remain, choose the simplest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._arguments import check_number, check_positive, generator
from separatrix._array import Array, Codes
from separatrix._text import decimals, enumerated, listed
from separatrix._threads import single_thread_blas
from separatrix.comparison import MIN_SHOWN_NATS, NOT_TRIED, Comparison, Fold, Trial, run_trial
from separatrix.exceptions import DataError
from separatrix.reductions import take_rows
from separatrix.rows import NamedRows, as_table, encode_labels, watched
from separatrix.study.candidates import (
    CURVED,
    LOGISTIC,
    MODELS,
    PRIOR,
    PriorOnly,
    Size,
    candidates,
    expected_seconds,
    selected,
)
from separatrix.study.classifier import TableClassifier, continuous_columns
from separatrix.study.notes import captured, notes_on_table
from separatrix.study.progress import MAX_CANDIDATE_FRACTION, MIN_SAMPLED_ROWS, STUDY_SECONDS, Budget, Progress, Stages
from separatrix.study.records import NOTHING_BEATS, TIME_RAN_OUT, Choice, Compared, LabelledTable, Note, Question
from separatrix.study.screening import notes_on_columns
from separatrix.study.validation import MIN_SPLIT_ROWS, Split, cross_validated, n_folds_of, splits_of
from separatrix.table import TableEncoder, as_text, encode_target, open_batch, table_statistics

MAX_COMPARED_ROWS = 100_000  # gives scores accurate to three digits
MAX_TEST_SHARE = 0.5
MAX_ENCODING_FRACTION = 0.3  # of the time left, to encode the folds of a cross-validation; fewer folds otherwise
MIN_LEAD_NATS = float(np.log(20))
POSITIVE_WORDS = ("yes", "y", "true", "t", "1", "positive", "pos", "+")
NEGATIVE_WORDS = ("no", "n", "false", "f", "0", "negative", "neg", "-")


def compare_models(
    table: Any,
    target: str,
    *,
    name: str = "the table",
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
    rows = table if isinstance(table, LabelledTable) else labelled_rows(table, target, types)
    positive = positive_class(rows.classes, rows.counts, positive)
    if models is not None:
        selected(dict.fromkeys(MODELS, TableClassifier()), models)  # unknown names are reported before the work
    some = sample_of(rows, MAX_COMPARED_ROWS, rng, "Models were compared on")
    n_folds = n_folds_of(some.codes, test_share) if some.n_rows < MIN_SPLIT_ROWS else None
    train = test = some
    if n_folds is None:
        held = held_out_rows(some.codes, test_share, rng)
        train, test = some.take(np.flatnonzero(~held)), some.take(np.flatnonzero(held))
    inputs = {column: kind for column, kind in (types or {}).items() if column != target} or None
    encoder = TableEncoder(types=inputs)
    # Types come from all rows of the table, means and levels from the training rows.
    of_all = rows.statistics(encoder.unread())
    is_all = train.n_rows == of_all.n_rows
    encoder.fit_statistics(of_all, train.X, of_all if is_all else table_statistics(train.X, unread=encoder.unread()))
    schema = encoder.schema_
    size = Size(len(schema.columns), len(rows.classes), len(continuous_columns(schema)))
    offered = candidates(train.n_rows, types=inputs, **size._asdict())
    offered = offered if models is None else selected(offered, models)
    n_test, n_fits = test.n_rows, 1 + (n_folds or 0)
    costs = {name: partial(expected_seconds, name, size=size, n_test_rows=n_test, n_fits=n_fits) for name in offered}
    encode_start = perf_counter()
    folds = [
        Fold(NamedRows(encoder.transform(fold.X), schema.columns), fold.codes, fold.rows)
        for fold in ([train] if n_folds else [train, test])
    ]
    stages.total = len(offered) + 1 + later
    repeats = []
    if n_folds is not None:
        most = MAX_ENCODING_FRACTION * budget.left / (perf_counter() - encode_start)
        n_folds = max(2, min(n_folds, int(most)))
        repeats = splits_of(some, encoder, of_all, folds[0].X.array, n_folds, rng)
    split = Split(schema, folds[0], folds[-1], folds[-1].rows)
    comparison, warnings = _run_trials(offered, costs, split, rows.classes, stages, repeats)
    on_table = notes_on_table(schema, [fold.X.array for fold in folds], rows.classes, rows.counts)
    notes = (*some.notes, *notes_on_columns(schema, folds, target), *on_table)
    return Compared(
        Question(name, target, types, test_share, seed, time),
        rows,
        train,
        test,
        encoder,
        offered,
        comparison,
        choose(comparison),
        notes,
        warnings,
        positive,
        perf_counter() - start,
    )


def _run_trials(
    models: Mapping[str, TableClassifier],
    costs: Mapping[str, Callable[[int], float]],
    split: Split,
    classes: Array,
    stages: Stages,
    repeats: list[list[Split]],
) -> tuple[Comparison, dict[str, list[Note]]]:
    """Fit the candidates to the training rows, the cheapest first; score them on the test rows; also return warnings.

    ``costs`` return the expected time of a candidate for a number of rows. If it exceeds the budget, the candidate is
    fitted to a sample of rows, or not tried. The cheapest one is always fitted. If there are ``repeats``, the scores
    come from cross-validation.
    """
    (schema, train, test, _), budget = split, stages.budget
    trials: list[Trial] = []
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
        start, fold = perf_counter(), train
        if n_rows < N:
            at = stratified_sample(train.codes, n_rows, np.random.default_rng(0))
            fold = Fold(NamedRows(train.X.array[at], schema.columns), train.codes[at], train.rows[at])
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
                trials[-1] = cross_validated(trials[-1], models[name], repeats, train.codes, classes)
        if n_rows < N:  # the evidence of a sample cannot be compared with the evidence of all rows
            trials[-1] = replace(trials[-1], evidence=trials[-1].evidence._replace(of_labels=False))
            text = f"In the comparison, this model was fitted to {n_rows} of {N} training rows, to limit the time."
            warnings[name].insert(0, Note("sampled", text))
        budget.measure(costs[name](n_rows), perf_counter() - start)
    ranked = tuple(sorted(trials, key=lambda trial: trial.rank))
    n_folds = len(repeats[0]) if repeats else None
    return Comparison(ranked, classes, train.rows, test.rows, n_folds=n_folds), warnings


def _not_tried(expected: float, budget: Budget) -> str:
    return (
        f"{NOT_TRIED}: it would take about {max(expected, 1):,.0f} s, and {budget.left:.0f} of {budget.seconds:g} s "
        f"are left; one model may take {100 * MAX_CANDIDATE_FRACTION:.0f} % of them. Allow more with --time (in "
        "Python, time=)."
    )


def labelled_rows(table: Any, target: str, types: Mapping[str, str] | None = None) -> LabelledTable:
    """Rows that have a label, of classes with two rows or more; raises DataError if there are not two such classes."""
    kind = (types or {}).get(target)
    if kind not in (None, "categorical"):
        raise DataError(f"types={{{target!r}: {kind!r}}}: the target holds classes, so its type must be 'categorical'.")
    rows = open_table(table, target, categorical=kind is not None)
    counts, single = rows.counts, rows.counts < 2
    if (~single).sum() < 2:
        seen = ", ".join(f"{label!r} ({n})" for label, n in zip(rows.classes.tolist()[:6], counts, strict=False))
        raise DataError(
            f"{target!r} has {len(counts)} distinct value{'s' * (len(counts) > 1)} in {rows.n_rows} rows: {seen}. "
            "A classifier needs at least two classes with two rows each. Choose another column, or add rows."
        )
    if not single.any():
        return rows
    text = (
        f"Class {listed(rows.classes[single].tolist())} has only one row, which cannot be in both training and test "
        "rows, so it was left out: the model cannot predict it."
    )
    kept = rows.take(np.flatnonzero(~single[rows.codes]), Note("rare class", text))
    kept_classes, codes = np.unique(kept.codes, return_inverse=True)
    return replace(kept, classes=rows.classes[kept_classes], codes=codes)


def positive_class(classes: Array, counts: Codes, label: Any) -> Any:
    """The given class. Of two classes, the default is yes, true, positive or 1, else the rarer (the second if tied).

    The default for more classes is None.
    """
    labels = classes.tolist()
    if label is not None:
        if label not in labels:
            raise ValueError(f"positive={label!r} is not a class. The classes are {listed(labels)}.")
        return label
    if len(labels) != 2:
        return None
    words = [str(as_text(each)).strip().casefold() for each in labels]
    said = [(word in POSITIVE_WORDS) - (word in NEGATIVE_WORDS) for word in words]
    return labels[int(counts[1] <= counts[0]) if said[0] == said[1] else int(said[1] > said[0])]


def open_table(table: Any, target: str, *, categorical: bool = False) -> LabelledTable:
    """Rows that have a label; with ``categorical``, a numeric target is read as class names.

    Raises DataError if the table has no such column, or the column cannot be a label.
    """
    table = as_table(table)
    if not nw.dependencies.is_into_dataframe(table):
        raise DataError(
            f"The table is a {type(table).__name__}, whose columns have no names. Pass a data frame of pandas, polars "
            "or pyarrow that contains the label as a column."
        )
    open_batch(table).require([target])
    frame = nw.from_native(table, eager_only=True)
    if len(frame.columns) < 2:
        raise DataError(f"{target!r} is the only column of the table, so there is nothing to predict it from.")
    found = encode_target(frame[target], name=target, categorical=categorical)
    notes = [Note("many classes", text) for text in found.notes]
    if found.n_missing:
        n_rows = "1 row" if found.n_missing == 1 else f"{found.n_missing:,} rows"
        notes.insert(0, Note("unlabelled", f"Left out: {n_rows} without a label in {target!r}."))
    rows = np.flatnonzero(found.labelled)
    classes, codes = encode_labels(found.labels)  # classes in the same order as classes_ of the models
    X = frame.drop(target).to_native()
    return LabelledTable(take_rows(X, rows), classes, codes, rows, tuple(notes), X)


def sample_of(rows: LabelledTable, most: int, rng: np.random.Generator, what: str) -> LabelledTable:
    """Random sample of at most ``most`` rows, with a note; at least two rows of every class are kept."""
    if rows.n_rows <= most:
        return rows
    drawn = stratified_sample(rows.codes, most, rng)
    text = f"{what} a sample of {most} of {rows.n_rows} rows, to limit time and memory."
    return rows.take(drawn, Note("sampled", text))


def stratified_sample(codes: Codes, n: int, rng: np.random.Generator) -> Codes:
    """Positions of n rows drawn at random, with two rows of every class, if it has two."""
    order = np.lexsort([rng.random(len(codes)), codes])
    place = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])  # position within the class
    pairs, rest = np.flatnonzero(place < 2), np.flatnonzero(place >= 2)
    drawn = rng.choice(rest, min(max(n - len(pairs), 0), len(rest)), replace=False)
    return np.sort(order[np.concatenate([pairs, drawn])])


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
    yield (
        f"On {len(comparison.test_rows):,} {tested}, {best.name} is best, with a log-loss of "
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
    if len(near) > 1 and not tied:
        yield f"None of these reports the evidence p(t | x) of the labels, so the best, {chosen.name}, is chosen."
    elif len(near) > 1:  # evidence and simplicity decide among models that the held-out rows do not distinguish
        evidence = {trial.name: trial.evidence.log_evidence for trial in near}
        compared = [trial.name for trial in near if trial.evidence.of_labels]
        if len(tied) > 1:
            values = [evidence[trial.name] for trial in tied]
            yield (
                f"The log evidences of {enumerated([trial.name for trial in tied])} differ by "
                f"{max(values) - min(values):.1f} nats, less than {MIN_LEAD_NATS:.1f} nats (odds of 20 to 1), so the "
                f"simplest of these models is chosen: {chosen.name}."
            )
        else:
            most = evidence[chosen.name]
            leads = [f"{most - evidence[name]:.1f} nats over {name}" for name in compared if name != chosen.name]
            ahead = f", a lead of {enumerated(leads)}" if leads else ""
            yield f"Of these, {chosen.name} has the largest evidence, ln p = {most:.1f}{ahead}."
        if without := [name for name in evidence if name not in compared]:
            have = "has" if len(without) == 1 else "have"
            yield f"In contrast, {enumerated(without)} {have} no comparable evidence and no intervals of probabilities."
    with_evidence = [trial for trial in comparison if trial.evidence.of_labels]
    favourite = max(with_evidence, key=lambda trial: trial.evidence.log_evidence, default=chosen)
    if favourite is not chosen and favourite not in near:
        yield (
            f"The evidence alone would favour {favourite.name}. On the {tested}, which take precedence, it is behind "
            f"by {behind[favourite.name]} nats per row."
        )
    if -gaps[chosen.name].value > MIN_SHOWN_NATS:
        yield f"Choosing {chosen.name} instead of {best.name} costs {behind[chosen.name]} nats per row."
    base = next((trial for trial in scored if trial.name == PRIOR), None)
    if chosen is base:
        yield TIME_RAN_OUT if any(trial.outcome == "not tried" for trial in comparison) else NOTHING_BEATS
    elif base is not None:
        gain = chosen.test.log_likelihood.value - base.test.log_likelihood.value
        yield f"Compared with the class proportions, {chosen.name} gains {decimals(gain)} nats per row."
