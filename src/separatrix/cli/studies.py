# SPDX-License-Identifier: BSD-3-Clause
"""A study of the table in a file: what `fit`, `compare` and `demo` have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from separatrix.cli.console import Voice, noted
from separatrix.cli.errors import CommandError, writing
from separatrix.cli.inputs import about, name_of, open_data, read_rows, remember_target, require_columns
from separatrix.cli.options import names_among
from separatrix.cli.progress import steps
from separatrix.cli.render import class_line, column_table, file_table

if TYPE_CHECKING:
    from separatrix.study import Study

__all__ = [
    "Question",
    "merged_notes",
    "run_study",
    "say_choice",
    "say_comparison",
    "say_files",
    "unsaid",
    "write_files",
]


@dataclass(frozen=True)
class Question:
    """What is asked of which table."""

    data: str
    target: str
    types: dict[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    test_share: float = 0.2
    seed: int = 0
    level: float = 0.95


def run_study(question: Question, voice: Voice) -> tuple[Study, list[str]]:
    """Read the table, say what its columns are taken for, compare models and choose one; and the notes on all that."""
    from separatrix.study import conduct

    table = open_data(question.data, question.types)
    require_columns(table, [question.target], why="is the target")
    drop = names_among(question.drop, table.columns)
    require_columns(table, question.types, why="--types names")
    require_columns(table, drop, why="--drop names")
    if question.target in drop:
        raise CommandError("usage", f"--drop {question.target}: this is the target, which cannot be left out.")
    with noted() as warned, steps("Reading") as progress, about(table.path):
        study = conduct(
            read_rows(table),
            question.target,
            name=name_of(question.data),
            types=question.types | dict.fromkeys(drop, "drop"),
            models=list(question.models) or None,
            test_share=question.test_share,
            seed=question.seed,
            level=question.level,
            progress=progress,
        )
    voice.say(f"{table.path}: {study.n_rows:,} rows, {len(table.columns)} columns. Predicting {study.target}:")
    voice.say(f"{class_line(study)}.", "", column_table(study.schema))
    return study, merged_notes(table.notes, study.notes, warned)


def unsaid(notes: list[str], study: Study) -> list[str]:
    """Those that do not stand under the table of models already."""
    from separatrix.comparison.notes import notes_on

    said = [] if study.comparison is None else notes_on(study.comparison)
    return [note for note in notes if note not in said]


def merged_notes(*lists: list[str] | tuple[str, ...]) -> list[str]:
    """All of them in order, each once."""
    return list(dict.fromkeys(note for notes in lists for note in notes))


def say_comparison(study: Study, voice: Voice) -> None:
    """The table of models."""
    voice.title("Models compared")
    voice.say(str(study.comparison))


def say_choice(study: Study, voice: Voice) -> None:
    """Which model was taken, and why."""
    if study.choice is not None:
        voice.title(f"Chosen: {study.choice.name}")
        voice.say(" ".join(study.choice.reasons))


def write_files(study: Study, *, model: str | None, report: str | None, force: bool) -> dict[str, str]:
    """Save the model and its report; where they are, by what they are."""
    files = {}
    if model is not None:
        from separatrix.io import save

        remember_target(study.model, study.target)
        with writing(model):
            files["model"] = str(save(study.model, model, force=force))
    if report is not None:
        from separatrix.report import write_report

        with writing(report):
            files["report"] = str(write_report(study, Path(report), force=force))
    return files


def say_files(files: dict[str, str], voice: Voice) -> None:
    """Where everything is, and what to do with it."""
    voice.title("Written")
    voice.say(file_table(files))
    if "model" in files:
        voice.say("", f"Next: separatrix predict {files['model']} NEW_DATA -o predictions.csv")
