# SPDX-License-Identifier: BSD-3-Clause
"""A study of one table: models compared on held-out rows, one chosen, fitted to all rows, and explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from separatrix._arguments import check_number, generator
from separatrix.bayesian.weights import interval_tails
from separatrix.exceptions import DataError
from separatrix.meta import listed
from separatrix.study.candidates import MODELS
from separatrix.study.choose import choose
from separatrix.study.coefficients import explain
from separatrix.study.effects import MOST_COLUMNS, partial_effects
from separatrix.study.notes import captured, notes_on_comparison, notes_on_data, notes_on_model
from separatrix.study.opening import Opened, open_table, without_singles
from separatrix.study.record import HeldOut, Study
from separatrix.study.trials import prepare, run_trials
from separatrix.tables import TableClassifier

__all__ = ["conduct", "examine", "sample_of"]

Progress = Callable[[str, int, int], None]

MOST_COMPARED = 100_000  # rows on which models are compared: figures of merit are then known to three digits
MOST_NUMBERS = 2.5e8  # of an encoded table, 2 GB
LARGEST_SHARE = 0.5  # of rows held out
STAGES = 3  # reading, fitting to all rows, effects


class _Stages:
    """Tells a callback which stage begins, how many are done, and how many there are."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.done, self.total = progress, 0, total

    def __call__(self, stage: str) -> None:
        if self.progress is not None:
            self.progress(stage, self.done, self.total)
        self.done += 1


def conduct(
    table: Any,
    target: str,
    *,
    name: str = "the table",
    types: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
    test_share: float = 0.2,
    seed: int = 0,
    level: float = 0.95,
    progress: Progress | None = None,
) -> Study:
    """Compare the sensible models on a table, choose one, fit it to all rows, and explain it.

    Parameters
    ----------
    table : data frame of pandas, polars or pyarrow
        With the label among its columns.
    target : str
        The name of that column.
    name : str
        What to call the table.
    types : mapping from column to "number", "boolean", "categorical", "date" or "drop", optional
        Columns whose type should not be inferred.
    models : sequence of str, optional
        Names out of `separatrix.study.MODELS`; by default all that the size of the table allows.
    test_share : float, default 0.2
        Share of the rows of each class that is held out, at most one half.
    seed : int, default 0
        Of the split.
    level : float, default 0.95
        Of intervals and bands.
    progress : callable, optional
        Called with a stage in words, how many stages are done, and how many there are.

    Examples
    --------
    >>> from separatrix.datasets import make_mixed_types
    >>> from separatrix.study import conduct
    >>> table, y = make_mixed_types(400, as_frame=True, rng=0)
    >>> study = conduct(table.assign(customer=y), "customer", models=["prior only", "logistic (Bayesian)"])
    >>> study.choice.name
    'logistic (Bayesian)'
    >>> study.effects[0].column
    'tenure'
    """
    start = perf_counter()
    check_number("conduct", "test_share", test_share, low=1e-6, high=LARGEST_SHARE)
    interval_tails("conduct", level)  # wrong ones are better known before the work than after
    tell, rng = _Stages(progress, len(models or MODELS) + STAGES), generator(seed)
    tell("reading the columns")
    whole = without_singles(open_table(table, target), target)
    prepared = prepare(sample_of(whole, MOST_COMPARED, rng, "Models were compared on"), types, models, test_share, rng)
    tell.total = len(prepared.models) + STAGES
    comparison, said = run_trials(prepared, tell)
    choice = choose(comparison)
    tell(f"fitting {choice.name} to all rows")
    every = sample_of(whole, int(MOST_NUMBERS / len(prepared.encoder.schema_.columns)), rng, "The model was fitted to")
    numbers = prepared.encoder.transform(every.X)
    with captured() as warned:
        model = prepared.models[choice.name].fit_encoded(prepared.encoder, numbers, every.labels)
    P = np.asarray(comparison[choice.name].model.predict_proba(prepared.test_numbers), dtype=np.float64)
    tell("effects of the columns")
    said.pop(choice.name)  # what the fit to all rows warns of counts
    notes = (
        *prepared.train.notes,
        *every.notes,
        *_notes(model, numbers, every, warned),
        *notes_on_comparison(comparison, said),
    )
    return Study(
        name,
        target,
        whole.n_rows,
        whole.classes,
        whole.counts,
        prepared.encoder.schema_,
        comparison,
        choice,
        model,
        HeldOut(prepared.test.codes, P, whole.classes),
        explain(model, level),
        partial_effects(model, numbers, level, seed),
        tuple(dict.fromkeys(notes)),
        level,
        perf_counter() - start,
    )


def examine(
    model: TableClassifier,
    table: Any,
    target: str,
    *,
    name: str = "the table",
    level: float = 0.95,
    progress: Progress | None = None,
) -> Study:
    """What a fitted model makes of labelled rows: held-out figures if it has not learnt from them, and effects.

    Parameters
    ----------
    model : TableClassifier
        Fitted, or loaded.
    table, target, name, level, progress
        As of `conduct`.

    Raises
    ------
    DataError
        Where the table has a label that the model does not know.
    """
    start = perf_counter()
    tell = _Stages(progress, 2)
    tell("predicting")
    opened = _known(open_table(table, target), model, target)
    numbers = model.encoder_.transform(opened.X)
    with captured() as said:
        P = np.asarray(model.predict_proba(opened.X), dtype=np.float64)
    tell("effects of the columns")
    notes = (*opened.notes, *_notes(model, numbers, opened, said), *_unseen(model, opened.X))
    return Study(
        name,
        target,
        opened.n_rows,
        opened.classes,
        opened.counts,
        model.encoder_.schema_,
        None,
        None,
        model,
        HeldOut(opened.codes, P, opened.classes),
        explain(model, level),
        partial_effects(model, numbers, level),
        tuple(dict.fromkeys(notes)),
        level,
        perf_counter() - start,
    )


def sample_of(opened: Opened, most: int, rng: np.random.Generator, what: str) -> Opened:
    """At most so many rows, drawn at random, with a note; every class keeps two."""
    if opened.n_rows <= most:
        return opened
    order = np.lexsort([rng.random(opened.n_rows), opened.codes])
    first = np.flatnonzero(np.diff(opened.codes[order], prepend=-1))
    pairs = np.concatenate([first, first + 1])
    rest = np.setdiff1d(np.arange(opened.n_rows), pairs)
    rows = np.sort(order[np.concatenate([pairs, rng.choice(rest, most - len(pairs), replace=False)])])
    note = f"{what} a sample of {most} out of {opened.n_rows} rows, which is what time and memory allow."
    return replace(opened.take(rows), notes=(*opened.notes, note))


def _notes(model: TableClassifier, numbers: Any, opened: Opened, said: list[str]) -> list[str]:
    notes = [*notes_on_data(model, numbers, opened.classes, opened.counts)]
    notes += notes_on_model(model, numbers, opened.codes, said)
    if len(model.encoder_.schema_.inputs) > MOST_COLUMNS:
        notes.append(f"Effects are shown for the {MOST_COLUMNS} columns with the largest weights.")
    return notes


def _known(opened: Opened, model: TableClassifier, target: str) -> Opened:
    """With the classes, and codes, of the model."""
    known = {label: k for k, label in enumerate(model.classes_.tolist())}
    unknown = [label for label in opened.classes.tolist() if label not in known]
    if unknown:
        raise DataError(
            f"{target!r} has the label {unknown[0]!r}, which the model does not know; it knows "
            f"{listed(list(known))}. Leave those rows out, or fit a model to them."
        )
    places = np.array([known[label] for label in opened.classes.tolist()], dtype=np.intp)
    return replace(opened, classes=model.classes_, codes=places[opened.codes])


def _unseen(model: TableClassifier, X: Any) -> list[str]:
    """A sentence for each column with values that training never saw."""
    found = model.encoder_.unseen(X)
    return [
        f"{column} has values never seen in training, in {values.total()} rows, such as {next(iter(values))!r}."
        for column, values in found.items()
    ]
