# SPDX-License-Identifier: BSD-3-Clause
"""Description of a table classifier for explanations, in the columns of the user's table."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from separatrix._array import Codes, to_dense
from separatrix._text import enumerated, option
from separatrix.comparison import ModelAverage
from separatrix.estimator import Classifier
from separatrix.exceptions import DataError
from separatrix.explanation import (
    AVERAGE,
    Column,
    Explained,
    LinearScores,
    cells_of,
    columns_of_schema,
    of_given,
    outside,
)
from separatrix.rows import RowStore
from separatrix.table import MISSING, Batch, NumberPlan, Schema, TextPlan, open_batch
from separatrix.table_model.radial import RADIAL, Radial
from separatrix.table_model.ramps import Ramps


def explained_table(model: Any, rows: Any, reference: Any, named: Callable[..., Any]) -> Explained:
    """Description of a fitted `TableClassifier` and of the rows of a table in memory; ``named`` prepares its rows."""
    estimator, schema = model.estimator_, model.encoder_.schema_
    if isinstance(estimator, ModelAverage):
        names = list(estimator.models_)
        raise TypeError(
            f"An average of {enumerated(names)} cannot be explained: its log-odds are not a sum over columns. Fit one "
            f"of these models. A study does so with {option('--models', names[0])} (in Python, models=[{names[0]!r}])."
        )
    if not isinstance(estimator, Classifier):
        raise TypeError(
            f"TableClassifier({type(estimator).__name__}()) cannot be explained: the log-odds are known as a sum over "
            "columns only for models of this package. Use sx.LogisticRegression() or sx.BayesianLogisticRegression()."
        )
    scores, notes = estimator._explanation_scores()
    batch, columns = _batch_of(rows, "rows"), columns_of_schema(schema)
    X, cells = schema.encode(batch), cells_of(schema, batch)
    basis = model.basis_
    functions = (lambda X: X) if basis is None else basis.evaluate
    lines, owner = _owners(model)
    bent = basis.functions_.bent if isinstance(basis, Ramps) else ()
    start, start_cells, text = model.centre_[None], _averages(schema, bent), AVERAGE
    if not isinstance(scores, LinearScores):
        start, start_cells, text = None, ("unknown",) * len(columns), "a row of which nothing is known"
    if reference is not None:
        given = _batch_of(reference, "reference")
        if given.n_rows == 0:
            raise DataError("explain(reference=...) has no rows. Pass a row, or several rows whose average is used.")
        start, text = to_dense(functions(schema.encode(given))), of_given(given.n_rows)
        start_cells = cells_of(schema, given)[0] if given.n_rows == 1 else ("average",) * len(columns)
    bounds = getattr(estimator, "predict_interval", None)
    return Explained(
        classes=model.classes_,
        columns=columns,
        cells=cells,
        X=X,
        functions=functions,
        lines=lines,
        owner=owner,
        scores=scores,
        probabilities=lambda X: np.asarray(estimator.predict_proba(named(X, schema, estimator)), dtype=np.float64),
        start=start,
        start_cells=start_cells,
        reference=text,
        intervals=None if bounds is None else lambda X, level: np.asarray(bounds(named(X, schema, estimator), level)),
        warnings=tuple(_warnings(schema, columns, batch.take(np.array([n])), row) for n, row in enumerate(cells)),
        notes=notes,
        words=_words(model),
    )


def _batch_of(table: Any, what: str) -> Batch:
    """Rows in memory; raises DataError for files."""
    if isinstance(table, str | os.PathLike | RowStore):
        raise DataError(
            f"explain({what}=...) is a {type(table).__name__}. Pass a few rows in memory, such as "
            "pandas.read_csv(path).iloc[[17]]."
        )
    return open_batch(table[None] if isinstance(table, np.ndarray) and table.ndim == 1 else table)


def _owners(model: Any) -> tuple[tuple[str, ...], Codes]:
    """Lines, and the line of each function; functions of an unknown basis are lines of their own."""
    names, sources = model.encoder_.schema_.inputs, model.sources_
    if isinstance(model.basis_, Radial):
        sources = tuple(source or RADIAL for source in sources)  # one line for all of them
    if "" in sources:
        functions = tuple(model.get_feature_names_out().tolist())
        return (*names, *functions), len(names) + np.arange(len(functions))
    lines = tuple(dict.fromkeys([*names, *sources]))
    place = {name: at for at, name in enumerate(lines)}
    return lines, np.array([place[name] for name in sources], dtype=np.intp)


def _words(model: Any) -> tuple[tuple[str, Codes, tuple[str, ...]], ...]:
    """Functions of the words of each text column, and the words; empty with a basis, which may change them."""
    schema = model.encoder_.schema_
    if model.basis_ is not None:
        return ()
    return tuple(
        (plan.column, np.arange(len(plan.terms)) + schema.groups[plan.column].start, plan.terms)
        for plan in schema.plans
        if isinstance(plan, TextPlan) and plan.column in schema.groups
    )


def _averages(schema: Schema, bent: Collection[int]) -> tuple[Any, ...]:
    """Mean of each number; "average" for other columns, and for curves, whose average is not that at the mean.

    ``bent`` are the positions of the features that have a curve.
    """
    plans, found = {plan.column: plan for plan in schema.plans}, []
    for name, place in schema.groups.items():
        plan = plans[name]
        is_line = isinstance(plan, NumberPlan) and not plan.words and not plan.constant and place.start not in bent
        found.append(plan.mean if isinstance(plan, NumberPlan) and is_line else "average")
    return tuple(found)


def _warnings(schema: Schema, columns: tuple[Column, ...], one: Batch, cells: tuple[Any, ...]) -> tuple[str, ...]:
    """Sentences on values of one row that are outside of the training data, new, or no numbers."""
    found = [
        outside(column, cell)
        for column, cell in zip(columns, cells, strict=True)
        if isinstance(cell, float) and (cell < column.low or cell > column.high)
    ]
    _, unseen, odd = schema.encode_checked(one)
    new = (
        f"{name} is missing, which did not occur in training."
        if MISSING in values
        else f"{name} = {next(iter(values))!r} did not occur in training."
        for name, values in unseen.items()
        if name not in odd
    )
    return (*found, *new, *(str(cells._replace(place=lambda _: "this row")) for cells in odd.values()))
