# SPDX-License-Identifier: BSD-3-Clause
"""A study of one table: models compared on held-out rows, one chosen, fitted to all rows, and explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Codes, Float
from separatrix.bayesian import interval_tails
from separatrix.exceptions import DataError
from separatrix.meta import listed
from separatrix.scanning import Scan
from separatrix.study.candidates import most_rows
from separatrix.study.coefficients import explain
from separatrix.study.compared import Compared, compare_models, sample_of
from separatrix.study.effects import MOST_COLUMNS, partial_effects
from separatrix.study.notes import captured, notes_on_data, notes_on_model
from separatrix.study.opening import Opened, open_table
from separatrix.study.progress import Progress, Stages
from separatrix.study.record import HeldOut, Note, Study
from separatrix.study.separation import notes_on_separation, separation_of
from separatrix.study.streamed import fit_streamed
from separatrix.tables import TableClassifier, fit_numbers

__all__ = ["LATER", "conduct", "examine", "study_of"]

LATER = 3  # stages after the comparison: fitting to all rows, separation, effects


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
        Called with a `Stage` whenever one begins, and a few times a second while rows are read.

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
    interval_tails("conduct", level)  # a wrong one is better known before the work than after
    found = compare_models(
        table,
        target,
        name=name,
        types=types,
        models=models,
        test_share=test_share,
        seed=seed,
        progress=progress,
        later=LATER,
    )
    study = study_of(found, level=level, progress=progress)
    return replace(study, seconds=perf_counter() - start)


def study_of(
    compared: Compared, *, level: float = 0.95, progress: Progress | None = None, everything: Scan | None = None
) -> Study:
    """Fit the model that was chosen to all rows, and explain it.

    Parameters
    ----------
    compared : Compared
        What `compare_models` found.
    level, progress
        As of `conduct`.
    everything : Scan, optional
        All rows, where they are too many for memory and the comparison saw only some; with its target.
    """
    start, before = perf_counter(), len(compared.prepared.models) + 1
    tell = Stages(progress, before + LATER, done=before)
    final = _fitted_in_memory(compared, tell) if everything is None else _fitted_as_read(compared, everything, tell)
    model = final.model
    model.target_name_, model.name_ = compared.target, compared.choice.name  # told by whatever opens its file
    tell("whether a plane separates the classes")
    separation = separation_of(model, final.numbers, final.codes) if final.codes is not None else None
    tell("effects of the columns")
    judged = compared.comparison[compared.choice.name].model
    P: Float = np.asarray(judged.predict_proba(compared.prepared.test_numbers), dtype=np.float64)
    notes = (
        *compared.notes_on_table,
        *final.notes,
        *notes_on_model(model, final.warned),
        *(notes_on_separation(separation, len(final.codes)) if final.codes is not None else ()),
        *_notes_on_effects(model),
        *compared.notes_on_others,
    )
    return Study(
        name=compared.name,
        target=compared.target,
        n_rows=final.n_rows,
        classes=compared.classes,
        counts=compared.counts,
        schema=model.encoder_.schema_,
        comparison=compared.comparison,
        choice=compared.choice,
        model=model,
        held_out=HeldOut(compared.prepared.test.codes, P, compared.classes),
        coefficients=explain(model, level),
        effects=partial_effects(model, final.numbers, level, compared.seed, turn=partial(tell.turns, what="column")),
        notes=tuple(dict.fromkeys(notes)),
        level=level,
        seconds=compared.seconds + perf_counter() - start,
        n_train=compared.n_train,
        n_test=compared.n_test,
        is_held_out=True,
        seed=compared.seed,
        test_share=compared.test_share,
        types=compared.types,
        separation="unknown" if separation is None else separation.status,
    )


class _Final(NamedTuple):
    """The model chosen, fitted to as many rows as can be; numbers to show effects over, and the codes of those rows.

    Without codes these are not the rows that it learnt from.
    """

    model: TableClassifier
    warned: Sequence[Note]
    numbers: Any
    codes: Codes | None
    n_rows: int
    notes: tuple[Note, ...]


def _fitted_in_memory(compared: Compared, tell: Stages) -> _Final:
    choice, prepared = compared.choice, compared.prepared
    judged = compared.comparison[choice.name].model
    most = most_rows(prepared.models[choice.name], len(compared.schema.columns), np.size(getattr(judged, "coef_", ())))
    # A stream of its own: the same rows whether or not this step follows the other at once.
    every = sample_of(compared.rows, most, np.random.default_rng([compared.seed, 1]), "The model was fitted to")
    tell(f"fitting {choice.name} to {every.n_rows:,} rows", _expected_seconds(compared, every.n_rows))
    numbers = prepared.encoder.transform(every.X)
    with captured() as warned, tell.watching():
        model = fit_numbers(prepared.models[choice.name], prepared.encoder, numbers, every.labels)
    return _Final(model, warned, numbers, every.codes, compared.n_rows, every.notes)


def _expected_seconds(compared: Compared, n_rows: int) -> float:
    """How long the fit to so many rows may take, by that to some of them."""
    return compared.comparison[compared.choice.name].fit_seconds * n_rows / max(compared.n_train, 1)


def _fitted_as_read(compared: Compared, rows: Scan, tell: Stages) -> _Final:
    """Of a table that does not fit into memory; effects are those over the rows that were compared on."""
    name = compared.choice.name
    tell(f"fitting {name} to all rows")
    with captured() as warned:
        model = fit_streamed(compared.prepared.models[name], rows, compared.classes, tell)
    text = (
        f"The table is larger than a quarter of the memory. Models were compared on {compared.n_rows} of its rows, "
        f"spread evenly, and {name} was fitted to all {rows.n_rows} of them as they were read. Shares of classes and "
        "effects of columns are those of the rows compared on."
    )
    numbers = model.encoder_.transform(compared.rows.X)
    return _Final(model, warned, numbers, None, rows.n_rows, (Note("sampled", text),))


def examine(
    model: TableClassifier,
    table: Any,
    target: str,
    *,
    name: str = "the table",
    level: float = 0.95,
    progress: Progress | None = None,
) -> Study:
    """What a fitted model makes of labelled rows, and effects of the columns over those.

    Nobody knows whether it has learnt from these rows: ``is_held_out`` is None. Separation is a matter of the rows that
    it did learn from, and is not checked.

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
    start, tell = perf_counter(), Stages(progress, 2)
    opened = _known(open_table(table, target), model, target)
    tell(f"predicting {opened.n_rows:,} rows")
    numbers = model.encoder_.transform(opened.X)
    with captured() as said, tell.watching():
        P: Float = np.asarray(model.predict_proba(opened.X), dtype=np.float64)
    tell("effects of the columns")
    notes = (
        *opened.notes,
        *notes_on_data(model.encoder_.schema_, numbers, opened.classes, opened.counts),
        *notes_on_model(model, said),
        *_notes_on_effects(model),
        *_unseen(model, opened.X),
    )
    return Study(
        name=name,
        target=target,
        n_rows=opened.n_rows,
        classes=opened.classes,
        counts=opened.counts,
        schema=model.encoder_.schema_,
        comparison=None,
        choice=None,
        model=model,
        held_out=HeldOut(opened.codes, P, opened.classes),
        coefficients=explain(model, level),
        effects=partial_effects(model, numbers, level, turn=partial(tell.turns, what="column")),
        notes=tuple(dict.fromkeys(notes)),
        level=level,
        seconds=perf_counter() - start,
        n_train=getattr(model, "n_rows_", None),  # that of a model saved by an older version is not known
        n_test=opened.n_rows,
        types=model.types,
    )


def _notes_on_effects(model: TableClassifier) -> list[Note]:
    if len(model.encoder_.schema_.inputs) <= MOST_COLUMNS:
        return []
    return [Note("effects", f"Effects are shown for the {MOST_COLUMNS} columns with the largest weights.")]


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


def _unseen(model: TableClassifier, X: Any) -> list[Note]:
    """A note for each column with values that training never saw."""
    found = model.encoder_.unseen(X)
    texts = [
        f"{column} has values never seen in training, in {values.total()} rows, such as {next(iter(values))!r}."
        for column, values in found.items()
    ]
    return [Note("new values", text) for text in texts]
