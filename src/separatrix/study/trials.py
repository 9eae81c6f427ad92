# SPDX-License-Identifier: BSD-3-Clause
"""Rows split and encoded once, and every candidate fitted to the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.comparison import Comparison, Trial, compare, rank
from separatrix.rows import NamedRows
from separatrix.study.candidates import CURVED, LOGISTIC, bent_columns, candidates, selected
from separatrix.study.notes import captured
from separatrix.study.opening import Opened, held_out_rows
from separatrix.study.progress import Stages, forecast
from separatrix.study.record import Note
from separatrix.table import TableEncoder
from separatrix.tables import PriorOnly, TableClassifier, bendable, make_ready

__all__ = ["Prepared", "prepare", "run_trials"]


@dataclass(frozen=True, eq=False)
class Numbers(NamedRows):
    """Named rows of which some can be taken, as a comparison does where probabilities underflow."""

    def __getitem__(self, rows: Any) -> Numbers:
        return Numbers(self.array[rows], self.columns)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The rows learnt from and held out, the encoder that was fitted to the first, the numbers of both, and models."""

    train: Opened
    test: Opened
    encoder: TableEncoder
    train_numbers: Numbers
    test_numbers: Numbers
    models: dict[str, TableClassifier]


def prepare(
    opened: Opened,
    types: Mapping[str, str] | None,
    models: Sequence[str] | None,
    test_share: float,
    rng: np.random.Generator,
) -> Prepared:
    """Split, infer types from the rows to learn from alone, encode, and name the models."""
    held = held_out_rows(opened.codes, test_share, rng)
    train, test = opened.take(np.flatnonzero(~held)), opened.take(np.flatnonzero(held))
    encoder = TableEncoder(types=types).fit(train.X)
    schema = encoder.schema_
    offered = candidates(
        train.n_rows, len(schema.columns), len(train.classes), n_numbers=len(bendable(schema)), types=types
    )
    return Prepared(
        train,
        test,
        encoder,
        Numbers(encoder.transform(train.X), schema.columns),
        Numbers(encoder.transform(test.X), schema.columns),
        offered if models is None else selected(offered, models),
    )


def run_trials(prepared: Prepared, tell: Stages) -> tuple[Comparison, dict[str, list[Note]]]:
    """All models compared, and what each warned of while it was fitted."""
    trials: list[Trial] = []
    said: dict[str, list[Note]] = {}
    K = len(prepared.train.classes)
    with captured():  # loads what the first model would otherwise be charged for
        PriorOnly().fit(np.zeros((K, 1)), np.arange(K))
    left = {} if tell.progress is None else forecast(prepared.train.n_rows, _weights(prepared))
    for name, model in prepared.models.items():
        tell(f"{name}, {prepared.train.n_rows:,} rows", sum(left.values()))
        with captured() as said[name], tell.watching():
            trials.append(_trial(name, model, prepared))
        left.pop(name, None)
    ranked = tuple(sorted(trials, key=rank))
    return Comparison(ranked, prepared.train.classes, prepared.train.rows, prepared.test.rows, None), said


def _weights(prepared: Prepared) -> dict[str, int]:
    """How many weights each model has, bends of curves included."""
    schema, classes = prepared.encoder.schema_, len(prepared.train.classes)
    outputs, straight = classes if classes > 2 else 1, len(schema.columns)
    bent = bent_columns(prepared.train.n_rows, straight, len(bendable(schema)))
    return {
        name: outputs * (bent if model.curved else straight) if name in (LOGISTIC, CURVED) else straight
        for name, model in prepared.models.items()
    }


def _trial(name: str, model: TableClassifier, prepared: Prepared) -> Trial:
    train, test = prepared.train_numbers, prepared.test_numbers
    try:
        estimator = make_ready(model, prepared.encoder.schema_, train.array).estimator
    except ValueError as error:
        return Trial(name, failure=f"{type(error).__name__}: {error}")
    found = compare({name: estimator}, train, prepared.train.labels, X_test=test, y_test=prepared.test.labels)
    return found[name]
