# SPDX-License-Identifier: BSD-3-Clause
"""A study of the table in a file: what `fit`, `compare`, `report` and `demo` have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from separatrix.cli.console import Steps, Voice
from separatrix.cli.errors import CommandError
from separatrix.cli.files import about, is_large, name_of, open_data, read_rows, require_columns, spread_rows
from separatrix.cli.options import names_among, nearest
from separatrix.cli.render import class_line, column_table, comparison_table, file_table, shown_plans

if TYPE_CHECKING:
    from separatrix.files import Scan, TableFile
    from separatrix.study import Compared, Study

__all__ = [
    "Question",
    "contents_of",
    "everything_of",
    "notes_to_say",
    "positive_of",
    "run_comparison",
    "say_choice",
    "say_columns",
    "say_files",
    "say_table",
]

ASIDE = ("other model", "failure")  # topics of notes on models that were not chosen; the table shows failures


MOST_NOTES = 20


@dataclass(frozen=True)
class Question:
    """What is asked of which table; ``shown`` is the file to name where it is not yet in its place."""

    data: str
    target: str
    types: dict[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    test_share: float = 0.2
    seed: int = 0
    shown: str = ""


def run_comparison(question: Question, progress: Steps, *, later: int = 0) -> tuple[Compared, list[str]]:
    """Read the table, or of a large one some rows, and compare models on it; and what there is to say of the file.

    ``later`` steps will follow.
    """
    from separatrix.study import compare_models

    table = _open(question)
    types = _types(question, table)
    with about(table.path):
        compared = compare_models(
            spread_rows(table) if is_large(table) else read_rows(table),
            question.target,
            name=name_of(question.shown or question.data),
            types=types,
            models=list(question.models) or None,
            test_share=question.test_share,
            seed=question.seed,
            progress=progress,
            later=later,
        )
    return compared, list(table.notes)


def everything_of(question: Question) -> Scan | None:
    """All rows of a table that is too large for memory, to be read pass by pass; None of any other."""
    from separatrix.files import Scan, scan

    table = _open(question)
    if not is_large(table):
        return None
    left_out = {question.target, *names_among(question.drop, table.columns)}
    kept = [name for name in table.columns if name not in left_out]
    rows = scan(question.data, target=question.target, columns=kept, where=f'"{question.target}" IS NOT NULL')
    return rows if isinstance(rows, Scan) else None


def _open(question: Question) -> TableFile:
    """Labels are read as what they look like, so that those of any later file are the same: 1 and 1.0 are one class."""
    return open_data(question.data, {c: kind for c, kind in question.types.items() if c != question.target})


def _types(question: Question, table: TableFile) -> dict[str, str]:
    """What columns are and which are left out, once all that were named are there."""
    require_columns(table, [question.target], why="is the target")
    drop = names_among(question.drop, table.columns)
    require_columns(table, question.types, why="--types names")
    require_columns(table, drop, why="--drop names")
    types = question.types | dict.fromkeys(drop, "drop")
    kind = types.get(question.target, "categorical")
    if kind == "drop":
        raise CommandError("usage", f"--drop {question.target}: this is the target, which cannot be left out.")
    if kind != "categorical":
        raise CommandError(
            "usage", f"--types {question.target}={kind}: this is the target, whose values are classes: categorical."
        )
    return types


def positive_of(classes: Sequence[Any], given: str | None, *, counts: Sequence[int] | None = None) -> Any:
    """The class of interest: the one named; else of two the rarer where counts are known, or the second; else None.

    Raises
    ------
    CommandError
        Where the one named is none of the classes.
    """
    if given is None:
        if len(classes) != 2:
            return None
        return classes[0] if counts is not None and counts[0] < counts[1] else classes[1]
    known = [label for label in classes if str(label) == given]
    if not known:
        named = ", ".join(map(str, classes[:8])) + (", ..." if len(classes) > 8 else "")
        near = nearest(given, map(str, classes)) if len(classes) > 8 else f"The classes are {named}."
        raise CommandError("usage", f"--positive {given}: there is no such class. {near}")
    return known[0]


def notes_to_say(notes: Iterable[Any]) -> list[str]:
    """Notes on the table and the model chosen, each once and the first of many; all are in the document."""
    found = list(dict.fromkeys(str(note) for note in notes if getattr(note, "topic", "") not in ASIDE))
    left = len(found) - MOST_NOTES
    return found if left <= 1 else [*found[:MOST_NOTES], f"{left} more notes: the report and --json have all of them."]


def say_table(question: Question, study: Study | Compared, voice: Voice) -> None:
    """What the table is, and what is to be predicted."""
    where, plans = question.shown or question.data, study.schema.plans
    voice.say(f"{where}: {study.n_rows:,} rows, {len(plans) + 1} columns. Predicting {study.target}:")
    voice.say(f"{class_line(study)}.{_interest(study)}")


def _interest(study: Study | Compared) -> str:
    """Which class the report is about, of a study that has one."""
    side = getattr(study, "positive", None)
    if side is None:
        return ""
    other = " against all others" if len(study.classes) > 2 else " (--positive names the other)"
    return f" Odds, effects and decisions are told for {side}{other}."


def say_columns(study: Study | Compared, voice: Voice) -> None:
    """What the columns were taken for."""
    voice.title(f"Columns, by the {study.schema.n_rows:,} rows learnt from")
    voice.say(column_table(study.schema))
    more = len(study.schema.plans) - len(shown_plans(study.schema))
    if more:
        voice.say(f"{more:,} more columns: the report and --json list all of them.")


def say_choice(study: Study | Compared, voice: Voice) -> None:
    """Which model was taken, and why; then the figures of all."""
    from separatrix.comparison import notes_on

    if study.choice is None or study.comparison is None:
        return
    voice.title(f"Chosen: {study.choice.name}")
    voice.say(" ".join(study.choice.reasons))
    voice.title(f"Models compared on {len(study.comparison.test_rows):,} rows held out")
    voice.say(comparison_table(study.comparison), "", *notes_on(study.comparison))


def contents_of(
    study: Study, *, model: str | None = None, report: str | None = None, saved: str | None = None
) -> dict[str, bytes]:
    """What is to be written, by its path: the model, with its target and class of interest, and the report.

    The report names the model's file: that to be written, or the one where it was ``saved`` before.
    """
    contents = {}
    if model is not None:
        from separatrix.export import packed

        contents[model] = packed(study.model, study.about)
    if report is not None:
        from separatrix.report import render

        contents[report] = render(study, model_path=model or saved).encode("utf-8", errors="replace")
    return contents


def say_files(files: dict[str, str], voice: Voice) -> None:
    """Where everything is, and what to do with it."""
    voice.title("Written")
    voice.say(file_table(files))
    if "model" in files:
        voice.say("", f"Next: separatrix predict {files['model']} NEW_DATA -o predictions.csv")
