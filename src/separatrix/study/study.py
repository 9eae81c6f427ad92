# SPDX-License-Identifier: BSD-3-Clause
"""A study of a table: compare models on rows they were not fitted to, choose one, fit it to all rows, and explain it.

    compare_models -> Compared -> study_of (fit the chosen model, explain it) -> Study

`conduct` does both steps; `examine` explains a fitted model on labelled rows. If the table fits into memory, the model
is fitted there. Otherwise the comparison uses a sample, and the model is fitted to all rows as the file is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix._array import Float
from separatrix._text import counted, listed
from separatrix._threads import single_thread_blas
from separatrix.comparison import Fold, ModelAverage, one_line
from separatrix.effects import pair_effects, partial_effects
from separatrix.exceptions import DataError, warn
from separatrix.files import Scan
from separatrix.rows import NamedRows, watched
from separatrix.study.candidates import max_fit_rows
from separatrix.study.compare import compare_models, sample_of, size_of
from separatrix.study.notes import captured, notes_on_model, notes_on_table, separation_of
from separatrix.study.opening import open_frame, positive_class
from separatrix.study.progress import STUDY_SECONDS, Budget, Progress, Stages, shown
from separatrix.study.records import (
    Choice,
    Compared,
    HeldOut,
    LabelledTable,
    Note,
    Question,
    Study,
    by_importance,
    leaking_columns,
)
from separatrix.study.row_weights import in_proportion
from separatrix.study.screening import notes_on_columns
from separatrix.table import TableEncoder, as_text
from separatrix.table_model import TableClassifier, explain, named
from separatrix.weights import interval_tails

N_LATER_STAGES = 3  # stages after the comparison: fitting to all rows, separation, effects
MAX_FIT_FRACTION = 0.7  # of the time left, if a fit to all rows would take longer


def conduct(
    table: Any,
    target: str,
    *,
    name: str | None = None,
    types: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
    test_share: float = 0.2,
    seed: int = 0,
    time: float = STUDY_SECONDS,
    level: float = 0.95,
    positive: Any = None,
    progress: Progress | None = None,
    weight: str | None = None,
) -> Study:
    """Compare the models that suit a table, choose one, fit it to all rows, and explain it.

    Parameters
    ----------
    table : data frame of pandas, polars or pyarrow, or path
        Table that contains the label as a column, or a file of any format that `separatrix.scan` reads. A file that
        needs more than a quarter of the memory is not loaded: a sample of its rows is compared, and the model is
        fitted to all rows as they are read.
    target : str
        Name of the column of labels.
    name : str, optional
        Name of the table, for the report; by default the name of the file, or "the table".
    types : mapping from column to "number", "boolean", "categorical", "date", "text" or "drop", optional
        Types of some columns; those of the other columns are inferred.
    models : sequence of str, optional
        Names from `separatrix.study.MODELS`, and "combination" if an average of them may be chosen; by default all that
        suit the size of the table.
    test_share : float, default 0.2
        Fraction of the rows of each class that is held out, at most one half. Tables of up to 20 000 rows are
        cross-validated in about 1 / test_share folds instead, if the expected time is at most half of ``time``.
    seed : int, default 0
        Seed of the split.
    time : float, default 60
        Time in seconds that the study may take, approximately. Candidates are tried from the cheapest to the most
        expensive. A candidate that would take too long is fitted to a sample of rows, stopped or not tried, with a
        note.
    level : float, default 0.95
        Level of intervals and bands.
    positive : label, optional
        Class that odds, effects and decisions refer to. Of two classes, the default is the one that means yes,
        such as 1, true or ja, else the rarer one. With more than two classes, it is compared with all others.
    progress : callable, optional
        Called with a `Stage` at the start of each stage, and a few times a second while rows are read. By default, a
        notebook shows the current stage below the cell.
    weight : str, optional
        Column of the weights of the rows, which is then no feature. A row of weight k counts as k copies of it: in
        fits, scores, standard errors and the evidence. Rows of weight 0 are left out.

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
    interval_tails("conduct", level)  # an invalid level is reported before the work
    with shown(progress) as callback:
        compared = compare_models(
            table,
            target,
            name=name,
            types=types,
            models=models,
            test_share=test_share,
            seed=seed,
            positive=positive,
            time=time,
            progress=callback,
            later=N_LATER_STAGES,
            weight=weight,
        )
        return study_of(compared, level=level, progress=callback)


def study_of(
    compared: Compared, *, level: float = 0.95, progress: Progress | None = None, everything: Scan | None = None
) -> Study:
    """Fit the chosen model to all rows, and explain it. If that fails, do so with the next best model, with a note.

    ``everything`` are all rows with the target, if they do not fit into memory and the comparison used a sample; by
    default those of the compared file. Raises DataError if no model can be fitted. See `conduct` for the other
    parameters.
    """
    start, chosen = perf_counter(), compared.choice
    everything = everything or compared.table.everything
    failed: list[str] = []
    others = [t.name for t in compared.comparison if t.P is not None and not t.failure and t.name != chosen.name]
    for name in (chosen.name, *others):
        again = f"{failed[-1]} Therefore {name} was fitted instead." if failed else ""
        choice = Choice(name, (*chosen.reasons, *[again] * bool(failed)))
        try:
            study = _explained(replace(compared, choice=choice), level, progress, everything)
        except Exception as error:  # the next model may succeed
            failed.append(f"{name} could not be fitted to all rows ({one_line(error)}).")
            if isinstance(error, DataError) and everything is not None:
                raise  # the rows that were not compared cannot be used
            continue
        notes = by_importance((*study.notes, *[Note("fallback", again)] * bool(failed)))
        return replace(study, notes=notes, seconds=compared.seconds + perf_counter() - start)
    raise DataError(
        f"No model could be fitted to all rows. {failed[0]} Leave out unusual columns.",
        option="Leave out unusual columns (--drop COL).",
    )


def _explained(compared: Compared, level: float, progress: Progress | None, everything: Scan | None) -> Study:
    """Study of the chosen model, fitted to all rows."""
    table, before = compared.table, len(compared.models) + 1
    budget = Budget((compared.question.time or np.inf) - compared.seconds)
    stages = Stages(progress, before + N_LATER_STAGES, done=before, budget=budget)
    model, features, rows, fit_notes = fit_chosen(compared, everything, stages)
    stages("whether a hyperplane separates the classes")
    checked = ("unknown", ()) if everything is not None else separation_of(model, features, rows.codes, budget)
    separation, separation_notes = checked
    stages("effects of the columns")
    scored = compared.comparison[compared.choice.name]
    assert scored.P is not None, "a chosen model has probabilities"
    sampled = [note for note in compared.warnings[scored.name] if note.topic == "sampled"]
    features = features if rows.weight is None else features[in_proportion(rows.weight)]
    return Study(
        question=compared.question,
        compared=compared,
        model=model,
        n_rows=table.n_rows if everything is None else everything.n_rows,
        classes=table.classes,
        counts=table.counts,
        held_out=HeldOut(compared.test.codes, scored.P, table.classes, scored.test.rows, compared.test.weight),
        rows=compared.test.X,
        coefficients=explain(model, level),
        effects=partial_effects(
            model, features, level, compared.question.seed, stages.columns, leaking_columns(compared.table_notes)
        ),
        pair_effects=pair_effects(model, features, level, compared.question.seed),
        notes=(*compared.table_notes, *sampled, *fit_notes, *separation_notes, *compared.notes_on_others),
        separation=separation,
        level=level,
        positive=compared.positive,
    )


def fit_chosen(
    compared: Compared, everything: Scan | None, stages: Stages
) -> tuple[TableClassifier, Any, LabelledTable, tuple[Note, ...]]:
    """Fit the chosen model to all rows, in memory or as they are read.

    Returns the model, the features of its training rows, these rows, and notes on the rows and the fit. If the training
    rows do not fit into memory, the features and rows are those that were compared. Raises DataError if a class is so
    rare that the compared rows do not contain it.
    """
    name, trial, budget = compared.choice.name, compared.comparison[compared.choice.name], stages.budget
    model = clone(compared.models[name])
    if everything is None:
        most = _max_fit_rows(compared)
        n_tried = compared.train.n_rows if trial.train.rows is None else len(trial.train.rows)
        if trial.fit_seconds * compared.table.n_rows / n_tried > budget.left:
            most = min(most, max(n_tried, int(MAX_FIT_FRACTION * budget.left / trial.fit_seconds * n_tried)))
        # A separate random stream, so that the sample does not depend on earlier steps.
        rng = np.random.default_rng([compared.question.seed or 0, 1])
        sampled = sample_of(compared.table, most, rng, "The model was fitted to")
        stages(f"fitting {name} to {sampled.n_rows:,} rows", trial.fit_seconds * sampled.n_rows / n_tried)
        encoder = model.with_new_levels(compared.encoder, keep_pooled=True)  # the scores belong to pooled levels
        features = encoder.transform(sampled.X)
        is_same_encoding = encoder.schema_.columns == compared.encoder.schema_.columns
        if is_same_encoding and n_tried == sampled.n_rows == compared.train.n_rows and name in compared.configured:
            _, moments, interactions = compared.configured[name]
            model.adopt(encoder, trial.model, features, moments, interactions)  # it was fitted to all of these rows
            return model, features, sampled, (*sampled.notes, *notes_on_model(model, compared.warnings[name]))
        with captured() as warned, watched(stages.rows), single_thread_blas():
            model.fit_encoded(encoder, features, sampled.labels, sampled.weight)
        return model, features, sampled, (*sampled.notes, *notes_on_model(model, warned))
    stages(f"fitting {name} to all rows")
    with captured() as warned, watched(stages.rows):
        rows, unlabelled = replace(everything, categorical=compared.table.classes.dtype.kind == "U").labelled()
        encoder = TableEncoder(types=model.types)
        encoder.fit_statistics(rows.statistics(encoder.unread()), rows.template())
        encoder = model.with_new_levels(encoder, keep_pooled=True)
        if unlabelled:
            warn(unlabelled)
        model.fit_encoded(encoder, rows.encoded(encoder.schema_))
    seen, classes = compared.table.classes.tolist(), model.classes_.tolist()
    if seen != classes:
        raise DataError(
            f"The compared rows have the classes {listed(seen)}, but all rows have {listed(classes)}: some classes are "
            "too rare to be scored. Remove their rows, or merge them with another class."
        )
    text = (
        f"The table is larger than a quarter of the memory. Models were compared on {compared.table.n_rows} of its "
        f"rows, evenly spread, and {name} was fitted to all {everything.n_rows} rows as they were read. Class "
        "proportions and effects of columns refer to the compared rows."
    )
    features = model.encoder_.transform(compared.table.X)
    return model, features, compared.table, (Note("sampled", text), *notes_on_model(model, warned))


def _max_fit_rows(compared: Compared) -> int:
    """Largest number of rows to fit the chosen model to; of a combination, all of its models."""
    estimator, size = compared.models[compared.choice.name].estimator, size_of(compared.encoder, compared.table)
    names = list(estimator.models) if isinstance(estimator, ModelAverage) else [compared.choice.name]
    fitted = ((compared.models[name], compared.comparison[name].model) for name in names)
    return min(max_fit_rows(model, size, np.shape(getattr(found, "coef_", ()))) for model, found in fitted)


def examine(
    model: TableClassifier,
    table: Any,
    target: str,
    *,
    name: str = "the table",
    level: float = 0.95,
    positive: Any = None,
    progress: Progress | None = None,
    weight: str | None = None,
) -> Study:
    """Score a fitted model on labelled rows, and compute the effects of the columns over them.

    ``is_held_out`` is None, because it is unknown whether the model was fitted to these rows. Separation depends on the
    training rows, and is not checked. Raises DataError if a label is not a class of the model. See `conduct` for the
    parameters.
    """
    start, stages = perf_counter(), Stages(progress, 2)
    # Labels are compared as text: a file may contain numbers where the classes of the model are texts.
    rows = open_frame(table, target, categorical=model.classes_.dtype.kind in "UO", weight=weight)
    known = {as_text(label): k for k, label in enumerate(model.classes_.tolist())}
    unknown = [label for label in rows.classes.tolist() if as_text(label) not in known]
    if unknown:
        raise DataError(
            f"{target!r} has the label {unknown[0]!r}, which is not a class of the model ({listed(list(known))}). "
            "Remove those rows, or fit a model to them."
        )
    places = np.array([known[as_text(label)] for label in rows.classes.tolist()], dtype=np.intp)
    rows = replace(rows, classes=model.classes_, codes=places[rows.codes])
    positive = positive_class(rows.classes, rows.counts, positive)
    stages(f"predicting {counted(rows.n_rows, 'row')}")
    schema = model.encoder_.schema_
    features, unseen, odd = model.encoder_.encode(rows.X)
    with captured() as warned, watched(stages.rows):
        P: Float = np.asarray(model.estimator_.predict_proba(named(features, schema, model.estimator_)))
    stages("effects of the columns")
    new_values = [str(cells._replace(row=int(rows.rows[cells.row]))) for cells in odd.values()]
    for column, values in unseen.items():
        if column not in odd:
            where = f"in {counted(values.total(), 'row')}, such as {next(iter(values))!r}"
            new_values.append(f"{column} has values that the training rows did not have, {where}.")
    averaged = features if rows.weight is None else features[in_proportion(rows.weight)]
    fold = Fold(NamedRows(features, schema.columns), rows.codes, rows.rows)
    leaks = [note for note in notes_on_columns(schema, [fold], target) if note.topic == "leak"]
    notes = (
        *leaks,
        *rows.notes,
        *notes_on_table(schema, [features], rows.classes, rows.counts),
        *notes_on_model(model, warned),
        *(Note("new values", text) for text in new_values),
    )
    return Study(
        question=Question(name, target, model.types, weight=weight),
        compared=None,
        model=model,
        n_rows=rows.n_rows,
        classes=rows.classes,
        counts=rows.counts,
        held_out=HeldOut(rows.codes, P, rows.classes, weight=rows.weight),
        rows=rows.X,
        coefficients=explain(model, level),
        effects=partial_effects(model, averaged, level, None, stages.columns, leaking_columns(leaks)),
        pair_effects=pair_effects(model, averaged, level),
        notes=by_importance(notes),
        level=level,
        seconds=perf_counter() - start,
        positive=positive,
    )
