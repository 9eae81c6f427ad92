# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix report``: how a saved model does on labelled rows, as one HTML file."""

from __future__ import annotations

from typing import Annotated

import typer

from separatrix.cli.console import Voice, noted
from separatrix.cli.document import study_document
from separatrix.cli.errors import CommandError
from separatrix.cli.options import Data, Force, Json, Level, Saved, examples
from separatrix.cli.outputs import require_free

__all__ = ["EXAMPLES", "report"]

EXAMPLES = examples(
    "separatrix report model.sx this_year.csv -o this_year.html",
    "separatrix report model.sx labelled.parquet --target churn -o check.html --force",
)


def report(
    model: Saved,
    data: Data,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COL", help="The labels; by default as at the fit.")
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")] = "report.html",
    level: Level = 0.95,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Judge a saved model on labelled rows, and write a report on it."""
    from separatrix.cli.inputs import (
        about,
        load_model,
        name_of,
        open_data,
        read_rows,
        require_columns,
        require_of_tables,
        target_of,
    )
    from separatrix.cli.progress import steps
    from separatrix.cli.scoring import Scorer
    from separatrix.cli.studies import merged_notes, say_files, write_files
    from separatrix.study import examine

    voice = Voice(as_json=as_json)
    require_free([output], force=force)
    fitted = load_model(model)
    require_of_tables(fitted, model)
    labels = target_of(fitted, target)
    if labels is None:
        raise CommandError("data", f"{model} does not say which column it predicts. Name it: --target COL")
    scorer = Scorer(fitted, level=None, target=labels)
    table = open_data(data, scorer.categories)
    require_columns(table, [labels], why="is the target")
    require_columns(table, scorer.inputs, why="the model needs")
    with noted() as warned, steps("Reading") as progress, about(table.path):
        study = examine(fitted, read_rows(table), labels, name=name_of(data), level=level, progress=progress)
    notes = merged_notes(table.notes, study.notes, warned)
    voice.say(f"{table.path}: {study.n_rows:,} rows judged by {model}.")
    files = write_files(study, model=None, report=output, force=force)
    voice.notes(notes)
    say_files(files, voice)
    voice.finish(study_document(study, notes, files))
