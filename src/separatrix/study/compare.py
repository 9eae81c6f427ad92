# SPDX-License-Identifier: BSD-3-Clause
"""The first step of a study: score the candidates on rows that they were not fitted to, and choose one.

Tables of up to 20 000 rows are cross-validated if the time suffices (validation.py). Other tables are split into
training and held-out rows, which are encoded once for all candidates. race.py fits and scores them, choice.py chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from separatrix._arguments import check_number, check_positive, generator
from separatrix._array import Array, Codes
from separatrix._text import enumerated
from separatrix.comparison import Comparison, Fold
from separatrix.reductions import take_rows
from separatrix.rows import NamedRows
from separatrix.study.candidates import (
    COMBINED,
    MODELS,
    NEEDS_TEXT,
    Size,
    affordable_knots,
    candidates,
    expected_seconds,
    selected,
    unsuitable,
)
from separatrix.study.choice import chosen_with_optimism
from separatrix.study.combination import Combination, combine
from separatrix.study.notes import notes_on_table
from separatrix.study.opening import name_of, open_labelled, positive_class
from separatrix.study.progress import STUDY_SECONDS, Budget, Progress, Stages, min_rows
from separatrix.study.race import Raced, race
from separatrix.study.records import (
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
    has_new_levels,
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
from separatrix.table_model import Configured, TableClassifier, continuous_columns, word_columns

MAX_COMPARED_ROWS = 100_000  # gives scores accurate to three digits
MAX_TEST_SHARE = 0.5
MAX_ENCODING_FRACTION = 0.3  # of the time left, for encoding folds; with less time, there are fewer folds
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
    weight: str | None = None,
) -> Compared:
    """Compare the models that suit a table, and choose one. See `conduct` for the parameters.

    ``later`` is the number of stages that will follow, for ``progress``.
    """
    start = perf_counter()
    check_number("compare_models", "test_share", test_share, low=1e-6, high=MAX_TEST_SHARE)
    budget = Budget(check_positive("compare_models", "time", time))
    stages, rng = Stages(progress, len(models or MODELS) + 1 + later, budget=budget), generator(seed)
    stages("reading the columns")
    rows = open_labelled(table, target, types, weight)
    positive = positive_class(rows.classes, rows.counts, positive)
    may_combine = models is None or COMBINED in models
    if models is not None:
        models = [name for name in models if name != COMBINED]
        selected(dict.fromkeys(MODELS, TableClassifier()), models, {})  # unknown names are reported before the work
    some = sample_of(rows, MAX_COMPARED_ROWS, rng, "Models were compared on")
    inputs = {column: kind for column, kind in (types or {}).items() if column != target} or None
    encoder = TableEncoder(types=inputs)
    of_all = rows.statistics(encoder.unread())
    train = test = some
    _fit_encoder(encoder, of_all, train)
    size, (n_folds, n_repeats) = size_of(encoder, rows), _plan_folds(some, encoder, rows, test_share, models, budget)
    if not n_folds:
        held = held_out_rows(some.codes, test_share, rng)
        train, test = some.take(np.flatnonzero(~held)), some.take(np.flatnonzero(held))
        _fit_encoder(encoder, of_all, train)
        size = size_of(encoder, rows)
    schema = encoder.schema_
    offered = candidates(train.n_rows, types=inputs, **size._asdict())
    left_out = unsuitable(train.n_rows, **size._asdict())
    offered = offered if models is None else selected(offered, models, left_out)
    sizes: dict[str, Any] = {"size": size, "n_test_rows": test.n_rows, "n_fits": N_FIRST_FITS if n_folds else 1}
    sizes["n_knots"] = affordable_knots(train.n_rows, size.n_columns, size.n_classes, size.n_numbers)
    costs = {name: partial(expected_seconds, name, **sizes) for name in offered}
    encode_start = perf_counter()
    folds = [
        Fold(NamedRows(encoder.transform(fold.X), schema.columns), fold.codes, fold.rows, fold.weight)
        for fold in ([train] if n_folds else [train, test])
    ]
    stages.total = len(offered) + 1 + later
    repeats = []
    if n_folds:
        most = MAX_ENCODING_FRACTION * budget.left / (perf_counter() - encode_start)
        n_folds = max(2, min(n_folds, int(most)))
        new_repeats = partial(splits_of, some, encoder, of_all, folds[0].X.array, n_folds, rng=rng)
        repeats = new_repeats(n_repeats=n_repeats)
    comparison, warnings, configured = raced = race(
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
    combination = combine(comparison, offered, test.codes, rng, train.weight) if may_combine else None
    choice, optimism = chosen_with_optimism(comparison, rng, combination)
    if combination is not None and choice.name == COMBINED:
        comparison = _enter(combination, raced, offered, len(schema.columns))
    return Compared(
        Question(name or name_of(table), target, types, test_share, seed, time, weight),
        rows,
        train,
        test,
        encoder,
        offered,
        comparison,
        _with_leaks(choice, leaking_columns(notes), target),
        notes,
        warnings,
        positive,
        perf_counter() - start,
        optimism,
        configured,
    )


def _plan_folds(
    some: LabelledTable,
    encoder: TableEncoder,
    rows: LabelledTable,
    test_share: float,
    models: Sequence[str] | None,
    budget: Budget,
) -> tuple[int, int]:
    """Number of folds and of repeats; no folds if one set of held-out rows has to replace the cross-validation."""
    size, N = size_of(encoder, rows), some.n_rows
    tried = candidates(N, **size._asdict()) if models is None else models
    once = [budget.expected(expected_seconds(name, N, size, N, 1)) for name in tried]
    affordable = [seconds for seconds in once if N_FIRST_FITS * seconds <= budget.left]
    # The others are fitted to fewer rows, which is possible for large tables. One fit is then better than two.
    seconds = sum(affordable) if len(affordable) == len(once) or min_rows(N) == N else budget.left
    is_sparse = encoder.schema_.is_sparse
    n_encoded = 0 if is_sparse else size.n_columns - len(complete_numbers(encoder.schema_))
    n_folds = n_folds_of(some.codes, test_share)
    n_final = int(has_new_levels(encoder.schema_))
    n_repeats = n_repeats_of(N, n_encoded, n_folds, lambda n_fits: (n_fits + n_final) * seconds, budget.left)
    return (n_folds, n_repeats) if n_repeats else (0, 0)


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


def _enter(combination: Combination, raced: Raced, offered: dict[str, TableClassifier], n_features: int) -> Comparison:
    """Add a chosen combination to the candidates, with the warnings of its models; return the comparison with it.

    If its models were not all fitted to the features of one encoder, it has to be fitted again.
    """
    offered[COMBINED] = combination.model
    if all(model.n_features_in_ == n_features for model in combination.trial.model.models_.values()):
        raced.configured[COMBINED] = Configured(None)
    raced.warnings[COMBINED] = [
        replace(note, text=f"{name}: {note}") for name in combination.weights for note in raced.warnings[name]
    ]
    trials = (combination.trial, *raced.comparison.trials)
    return replace(raced.comparison, trials=tuple(sorted(trials, key=lambda trial: trial.rank)))


def _with_leaks(choice: Choice, leaks: Sequence[str], target: str) -> Choice:
    """The choice, with a first sentence on columns that give the class away."""
    if not leaks:
        return choice
    subject = f"{enumerated(list(map(repr, leaks)))} alone predict{'s' * (len(leaks) == 1)} {target}"
    return replace(choice, reasons=(f"{subject}, so the scores of all models mostly measure this.", *choice.reasons))


def _fit_encoder(encoder: TableEncoder, of_all: TableStatistics, train: LabelledTable) -> None:
    """Infer types from all rows, and means and levels from the training rows."""
    training = of_all
    if train.weight is not None or train.n_rows < of_all.n_rows:
        rows = take_rows(train.X, train.copies(np.arange(train.n_rows)))
        training = table_statistics(rows, unread=encoder.unread())
    encoder.fit_statistics(of_all, train.X, training)


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
