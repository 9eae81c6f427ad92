# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix fit``: from a file to a model that was compared, chosen, explained and saved."""

from __future__ import annotations

from typing import Annotated

import typer

from separatrix.cli.console import Voice
from separatrix.cli.document import study_document
from separatrix.cli.options import (
    Data,
    Drop,
    Force,
    Json,
    Level,
    Models,
    Seed,
    Target,
    TestShare,
    Types,
    examples,
    model_names,
    split_types,
)
from separatrix.cli.outputs import require_free

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = examples(
    "separatrix fit customers.csv --target churn",
    "separatrix fit survey.parquet -t vote --types zip=categorical --drop name -o vote.sx --report vote.html",
    "separatrix fit shop.duckdb::orders -t returned --no-report --json > result.json",
)


def fit(
    data: Data,
    target: Target,
    types: Types = None,
    drop: Drop = None,
    models: Models = None,
    test_share: TestShare = 0.2,
    seed: Seed = 0,
    level: Level = 0.95,
    model: Annotated[str, typer.Option("--model", "-o", metavar="FILE", help="Where to save the model.")] = "model.sx",
    report: Annotated[str, typer.Option("--report", metavar="FILE", help="Where to write the report.")] = "report.html",
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare models on a table, choose one, save it, and write a report on it.

    Says what each column was taken for, judges every model on rows that it has not seen and by its evidence, and picks
    one with its reasons. The model saved has learnt from all rows.
    """
    from separatrix.cli.studies import Question, run_study, say_choice, say_comparison, say_files, unsaid, write_files

    voice = Voice(as_json=as_json)
    written = None if no_report else report
    require_free([model, written], force=force)
    question = Question(
        data, target, split_types(types), tuple(drop or ()), model_names(models), test_share, seed, level
    )
    study, notes = run_study(question, voice)
    say_comparison(study, voice)
    say_choice(study, voice)
    files = write_files(study, model=model, report=written, force=force)
    voice.notes(unsaid(notes, study))
    say_files(files, voice)
    voice.finish(study_document(study, notes, files))
