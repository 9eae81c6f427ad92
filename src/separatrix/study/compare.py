# SPDX-License-Identifier: BSD-3-Clause
"""The first step of a study: candidates fitted to most rows of a table, scored on the others, and one chosen.

The rows are split and encoded once, and every candidate is fitted to the same features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._arguments import check_number, generator
from separatrix._array import Array, Codes
from separatrix.comparison import Comparison, Fold, Trial, run_trial
from separatrix.exceptions import DataError
from separatrix.meta import listed
from separatrix.reductions import take_rows
from separatrix.rows import NamedRows, as_table, encode_labels
from separatrix.study.candidates import (
    CURVED,
    LOGISTIC,
    MODELS,
    PriorOnly,
    candidates,
    n_curved_functions,
    selected,
)
from separatrix.study.choice import choose
from separatrix.study.classifier import continuous_columns
from separatrix.study.notes import captured, notes_on_table
from separatrix.study.progress import Progress, Stages, expected_seconds
from separatrix.study.records import Compared, LabelledTable, Note, Question
from separatrix.table import TableEncoder, encode_target, open_batch

MAX_COMPARED_ROWS = 100_000  # scores then have three digits
MAX_TEST_SHARE = 0.5


def compare_models(
    table: Any,
    target: str,
    *,
    name: str = "the table",
    types: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
    test_share: float = 0.2,
    seed: int = 0,
    progress: Progress | None = None,
    later: int = 0,
) -> Compared:
    """Compare the models that suit a table, and choose one. See `conduct` for the parameters.

    ``later`` is the number of stages that will follow, for ``progress``.

    Examples
    --------
    >>> from separatrix.datasets import make_mixed_types
    >>> from separatrix.study import compare_models
    >>> table, y = make_mixed_types(400, as_frame=True, rng=0)
    >>> found = compare_models(table.assign(customer=y), "customer", models=["prior only", "linear discriminant"])
    >>> found.choice.name, found.n_train, found.n_test
    ('linear discriminant', 320, 80)
    """
    start = perf_counter()
    check_number("compare_models", "test_share", test_share, low=1e-6, high=MAX_TEST_SHARE)
    stages, rng = Stages(progress, len(models or MODELS) + 1 + later), generator(seed)
    stages("reading the columns")
    kind = (types or {}).get(target)
    if kind not in (None, "categorical"):
        raise DataError(f"types={{{target!r}: {kind!r}}}: the target holds classes, so its type must be 'categorical'.")
    rows = without_single_row_classes(open_table(table, target, categorical=kind is not None), target)
    some = sample_of(rows, MAX_COMPARED_ROWS, rng, "Models were compared on")
    held = held_out_rows(some.codes, test_share, rng)
    train, test = some.take(np.flatnonzero(~held)), some.take(np.flatnonzero(held))
    inputs = {column: kind for column, kind in (types or {}).items() if column != target} or None
    encoder = TableEncoder(types=inputs).fit(train.X)  # types are inferred from the training rows alone
    n_columns, n_numbers = len(encoder.schema_.columns), len(continuous_columns(encoder.schema_))
    offered = candidates(train.n_rows, n_columns, len(rows.classes), n_numbers=n_numbers, types=inputs)
    offered = offered if models is None else selected(offered, models)
    folds = [
        Fold(NamedRows(encoder.transform(part.X), encoder.schema_.columns), part.codes, part.rows)
        for part in (train, test)
    ]

    with captured():  # a first fit, so that no model is charged for imports and compilation
        K = len(rows.classes)
        PriorOnly().fit(np.zeros((K, 1)), np.arange(K))
    stages.total = len(offered) + 1 + later
    left = {}
    if progress is not None:
        outputs, bent = K if K > 2 else 1, n_curved_functions(train.n_rows, n_columns, n_numbers)
        weights = dict.fromkeys(offered, n_columns) | {LOGISTIC: outputs * n_columns, CURVED: outputs * bent}
        left = expected_seconds(train.n_rows, {name: weights[name] for name in offered})
    trials: list[Trial] = []
    warnings: dict[str, list[Note]] = {}
    for model_name, model in offered.items():
        stages(f"{model_name}, {train.n_rows:,} rows", sum(left.values()))
        with captured() as warnings[model_name], stages.watching():
            try:
                estimator, _ = model.configured(encoder.schema_, folds[0].X.array)
            except Exception as error:  # one model that cannot be fitted never ends a study
                trials.append(Trial.failed(model_name, error))
            else:
                trials.append(run_trial(model_name, estimator, *folds, rows.classes))
        left.pop(model_name, None)
    ranked = tuple(sorted(trials, key=lambda trial: trial.rank))
    comparison = Comparison(ranked, rows.classes, train.rows, test.rows)
    notes = (*some.notes, *notes_on_table(encoder.schema_, folds[0].X.array, rows.classes, rows.counts))
    return Compared(
        Question(name, target, types, test_share, seed),
        rows,
        train,
        test,
        encoder,
        offered,
        comparison,
        choose(comparison),
        notes,
        warnings,
        perf_counter() - start,
    )


def open_table(table: Any, target: str, *, categorical: bool = False) -> LabelledTable:
    """Rows that have a label; with ``categorical``, numbers of any kind are names of classes.

    Raises
    ------
    DataError
        If the table has no such column, or the column cannot be a label.
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
        notes.insert(0, Note("unlabelled", f"{found.n_missing} rows without a label in {target!r} were left out."))
    rows = np.flatnonzero(found.labelled)
    classes, codes = encode_labels(found.labels)  # in the order of the models' classes_
    return LabelledTable(take_rows(frame.drop(target).to_native(), rows), classes, codes, rows, tuple(notes))


def without_single_row_classes(rows: LabelledTable, target: str) -> LabelledTable:
    """Leave out classes with a single row, which cannot be in both training and test rows.

    Raises
    ------
    DataError
        If fewer than two classes remain.
    """
    counts = rows.counts
    single = counts < 2
    if (~single).sum() < 2:
        seen = ", ".join(f"{label!r} ({n})" for label, n in zip(rows.classes.tolist()[:6], counts, strict=False))
        raise DataError(
            f"{target!r} has {len(counts)} distinct value{'s' * (len(counts) > 1)} in {rows.n_rows} rows: {seen}. "
            "A classifier needs at least two classes with two rows each. Choose another column, or add rows."
        )
    if not single.any():
        return rows
    names = listed(rows.classes[single].tolist())
    note = Note(
        "rare class",
        f"Class {names} has only one row, which cannot be in both training and test rows, so it was left out: the "
        "model cannot predict it.",
    )
    kept = rows.take(np.flatnonzero(~single[rows.codes]), note)
    kept_classes, codes = np.unique(kept.codes, return_inverse=True)
    return replace(kept, classes=rows.classes[kept_classes], codes=codes)


def sample_of(rows: LabelledTable, most: int, rng: np.random.Generator, what: str) -> LabelledTable:
    """At most this many rows, drawn at random, with a note; every class keeps two."""
    if rows.n_rows <= most:
        return rows
    order = np.lexsort([rng.random(rows.n_rows), rows.codes])
    first = np.flatnonzero(np.diff(rows.codes[order], prepend=-1))
    pairs = np.concatenate([first, first + 1])
    rest = np.setdiff1d(np.arange(rows.n_rows), pairs)
    drawn = np.sort(order[np.concatenate([pairs, rng.choice(rest, most - len(pairs), replace=False)])])
    text = f"{what} a sample of {most} of {rows.n_rows} rows, to limit time and memory."
    return rows.take(drawn, Note("sampled", text))


def held_out_rows(codes: Codes, fraction: float, rng: np.random.Generator) -> Array:
    """Whether each row is held out (N,): the same fraction of each class, up to rounding, at least one row in all.

    Rows in random order within their class are marked at even steps. With a fraction of at most one half no two marked
    rows are neighbours, so every class of two rows or more keeps a training row.
    """
    order = np.lexsort([rng.random(len(codes)), codes])
    place = (np.arange(len(codes) + 1) + rng.random()) * fraction
    marked = np.diff(np.floor(place)) > 0
    if not marked.any():
        marked[int(np.argmax(np.bincount(codes)[codes[order]]))] = True  # a row of the largest class
    held: Array = np.zeros(len(codes), dtype=bool)
    held[order[marked]] = True
    return held
