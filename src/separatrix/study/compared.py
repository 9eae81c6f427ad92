# SPDX-License-Identifier: BSD-3-Clause
"""The first step of a study: models fitted to most of the rows of a table, judged on the others, one of them taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from separatrix._arguments import check_number, generator
from separatrix._array import Array, Codes
from separatrix.comparison import Comparison
from separatrix.exceptions import DataError
from separatrix.study.candidates import MODELS
from separatrix.study.choose import choose
from separatrix.study.notes import notes_on_choice, notes_on_comparison, notes_on_data
from separatrix.study.opening import Opened, open_table, without_singles
from separatrix.study.progress import Progress, Stages
from separatrix.study.record import Choice, Note
from separatrix.study.trials import Prepared, prepare, run_trials
from separatrix.table import Schema

__all__ = ["Compared", "compare_models", "sample_of"]

MOST_COMPARED = 100_000  # rows on which models are compared: figures of merit are then known to three digits
LARGEST_SHARE = 0.5  # of rows held out


@dataclass(frozen=True, eq=False)
class Compared:
    """Models compared on a table and the one to take, before it is fitted to all rows; fields as those of a `Study`.

    ``rows`` are all rows with a label, ``prepared`` the split and the encoding; ``said`` is what each model warned of.
    """

    name: str
    target: str
    comparison: Comparison
    choice: Choice
    notes_on_table: tuple[Note, ...]
    said: Mapping[str, Sequence[Note]]
    seed: int
    test_share: float
    types: Mapping[str, str] | None
    rows: Opened
    prepared: Prepared
    seconds: float = float("nan")

    @property
    def n_rows(self) -> int:
        """Rows with a label."""
        return self.rows.n_rows

    @property
    def classes(self) -> Array:
        """The labels, (K,)."""
        return self.rows.classes

    @property
    def counts(self) -> Codes:
        """Rows of each class, (K,)."""
        return self.rows.counts

    @property
    def schema(self) -> Schema:
        """What the columns were taken for."""
        return self.prepared.encoder.schema_

    @property
    def n_train(self) -> int:
        """Rows that the models learnt from."""
        return self.prepared.train.n_rows

    @property
    def n_test(self) -> int:
        """Rows that they were judged on."""
        return self.prepared.test.n_rows

    @property
    def notes(self) -> tuple[Note, ...]:
        """On the table, on the model chosen, and on the others."""
        return (*self.notes_on_table, *self.said[self.choice.name], *self.notes_on_others)

    @property
    def notes_on_others(self) -> tuple[Note, ...]:
        """Models that failed, and what those not chosen warned of."""
        said = {name: notes for name, notes in self.said.items() if name != self.choice.name}
        return (*notes_on_choice(self.choice), *notes_on_comparison(self.comparison, said))


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
    """Compare the sensible models on a table, and choose one. Parameters are those of `conduct`.

    ``later`` stages will follow, of which ``progress`` is to know.

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
    check_number("compare_models", "test_share", test_share, low=1e-6, high=LARGEST_SHARE)
    tell, rng = Stages(progress, len(models or MODELS) + 1 + later), generator(seed)
    tell("reading the columns")
    inputs = {column: kind for column, kind in (types or {}).items() if column != target}
    rows = without_singles(open_table(table, target, categorical=_is_categorical(types, target)), target)
    some = sample_of(rows, MOST_COMPARED, rng, "Models were compared on")
    prepared = prepare(some, inputs or None, models, test_share, rng)
    tell.total = len(prepared.models) + 1 + later
    comparison, said = run_trials(prepared, tell)
    schema = prepared.encoder.schema_
    notes = (*some.notes, *notes_on_data(schema, prepared.train_numbers.array, rows.classes, rows.counts))
    return Compared(
        name,
        target,
        comparison,
        choose(comparison),
        notes,
        said,
        seed,
        test_share,
        types,
        rows,
        prepared,
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
    text = f"{what} a sample of {most} out of {opened.n_rows} rows, which is what time and memory allow."
    return replace(opened.take(rows), notes=(*opened.notes, Note("sampled", text)))


def _is_categorical(types: Mapping[str, str] | None, target: str) -> bool:
    """Whether the target was said to be classes, which is the one thing that it can be."""
    kind = (types or {}).get(target)
    if kind not in (None, "categorical"):
        raise DataError(f"types={{{target!r}: {kind!r}}}: this is the target, whose values are classes: 'categorical'.")
    return kind is not None
