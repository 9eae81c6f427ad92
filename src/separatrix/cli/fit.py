# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix fit``: from a file to a model that was compared, chosen, explained and saved.

``separatrix compare`` stops at the comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from separatrix.cli.console import Voice, steps
from separatrix.cli.document import study_document
from separatrix.cli.files import require_ending, require_free, write_together
from separatrix.cli.options import (
    Data,
    Drop,
    Force,
    Json,
    Level,
    Models,
    Positive,
    Seed,
    Target,
    TestShare,
    Types,
    examples,
    model_names,
    split_types,
)

if TYPE_CHECKING:
    from separatrix.cli.studies import Question

__all__ = ["VERBS", "compare", "fit", "fit_and_write"]

REPORT = "report.html"


def fit(
    data: Data,
    target: Target,
    types: Types = None,
    drop: Drop = None,
    models: Models = None,
    positive: Positive = None,
    test_share: TestShare = 0.2,
    seed: Seed = 0,
    level: Level = 0.95,
    model: Annotated[
        str, typer.Option("--model", "-o", metavar="FILE", help="Where to save the model: .sx.")
    ] = "model.sx",
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Where to write the report: .html.", show_default=REPORT),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare models on a table, choose one, save it, and write a report on it.

    Says what each column was taken for, judges every model on rows that it has not seen and by its evidence, and picks
    one with its reasons. The model saved has learnt from all rows.
    """
    if no_report and report is not None:
        raise typer.BadParameter(f"--report {report} and --no-report contradict each other.", param_hint="--no-report")
    written = None if no_report else report or REPORT
    require_ending(model, [".sx"], what="a model")
    if written is not None:
        require_ending(written, [".html", ".htm"], what="a report")
    require_free([model, written], force=force, inputs=[data])
    from separatrix.cli.studies import Question

    question = Question(data, target, split_types(types), tuple(drop or ()), model_names(models), test_share, seed)
    fit_and_write(question, Voice(as_json=as_json), level=level, positive=positive, model=model, report=written)


def fit_and_write(
    question: Question,
    voice: Voice,
    *,
    level: float = 0.95,
    positive: str | None = None,
    model: str,
    report: str | None,
    beside: dict[str, bytes] | None = None,
) -> None:
    """The whole way: compare, choose, fit, write all files at once, and tell; ``beside`` are other files to write."""
    from separatrix.cli import studies
    from separatrix.study import N_LATER_STAGES, study_of

    with steps("Reading", hidden=voice.as_json) as progress:
        compared, said = studies.run_comparison(question, progress, later=N_LATER_STAGES)
        side = studies.positive_of(compared.classes.tolist(), positive, counts=compared.counts.tolist())
        rows = studies.everything_of(question)
        study = study_of(compared, level=level, positive=side, progress=progress, everything=rows)
        contents = studies.contents_of(study, model=model, report=report)
    write_together((beside or {}) | contents)  # before it is told: who reads only the first lines loses no model
    studies.say_table(question, study, voice)
    studies.say_choice(study, voice)
    studies.say_columns(study, voice)
    voice.notes([*said, *studies.notes_to_say(study.notes)])
    files = {"data": next(iter(beside))} if beside else {}
    files |= {"model": model} | ({} if report is None else {"report": report})
    studies.say_files(files, voice)
    voice.finish(study_document(study, [*said, *map(str, study.notes)], files))


def compare(
    data: Data,
    target: Target,
    types: Types = None,
    drop: Drop = None,
    models: Models = None,
    test_share: TestShare = 0.2,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare models on a table: held-out figures with standard errors, evidence, time. Writes no file."""
    from separatrix.cli import studies

    voice = Voice(as_json=as_json)
    question = studies.Question(
        data, target, split_types(types), tuple(drop or ()), model_names(models), test_share, seed
    )
    with steps("Reading", hidden=as_json) as progress:
        compared, said = studies.run_comparison(question, progress)
    studies.say_table(question, compared, voice)
    studies.say_choice(compared, voice)
    studies.say_columns(compared, voice)
    voice.notes([*said, *studies.notes_to_say(compared.notes)])
    voice.finish(study_document(compared, [*said, *map(str, compared.notes)], {}))


VERBS = (
    (
        fit,
        examples(
            "separatrix fit customers.csv --target churn",
            "separatrix fit survey.parquet -t vote --types zip=categorical --drop name -o vote.sx --report vote.html",
            "separatrix fit loans.csv -t outcome --positive defaulted",
            "separatrix fit shop.duckdb::orders -t returned --no-report --json > result.json",
        ),
    ),
    (
        compare,
        examples(
            "separatrix compare customers.csv --target churn",
            "separatrix compare customers.csv -t churn --test-share 0.3 --seed 7 --json",
        ),
    ),
)
