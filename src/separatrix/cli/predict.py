# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix predict``: a class, probabilities and intervals for every row of a table, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli.console import Voice
from separatrix.cli.errors import CommandError, writing, wrote
from separatrix.cli.files import STANDARD, require_free
from separatrix.cli.options import Data, Force, Json, Level, Saved, examples, names_among

if TYPE_CHECKING:
    from separatrix.cli.scoring import Marks, Scorer
    from separatrix.files import TableFile, TableWriter

__all__ = ["VERBS", "predict"]

ROWS = 8_192  # of a batch: large enough for matrix products, small enough that memory does not depend on the file
LINES = (".csv", ".txt", ".tsv", ".tab", ".jsonl", ".ndjson", ".json")  # files of a row in each line


def predict(
    model: Saved,
    data: Data,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Where to: any of the formats; - is CSV.", show_default=False
        ),
    ],
    level: Level = 0.95,
    no_intervals: Annotated[bool, typer.Option("--no-intervals", help="Probabilities alone; faster.")] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COL,...", help="Columns to copy to the output.", show_default=False),
    ] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Copy every column to the output.")] = False,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COL", help="True labels to compare with; by default as at the fit."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Predict every row of a table: class, probability of each class, lower and upper bound of each probability.

    Rows stay in their order and are read in batches, so that tables may be larger than memory. Columns are found by
    name. Where the table has the target too, log-loss and accuracy are told at the end.
    """
    from separatrix.cli.files import load_model, open_data, require_columns
    from separatrix.cli.scoring import Scorer
    from separatrix.files import open_writer
    from separatrix.study import captured

    if as_json and output == STANDARD:
        raise typer.BadParameter("with --json, standard output is taken: name a file.", param_hint="--output")
    require_free([output], force=force, inputs=[model, data])
    writer = open_writer(output, force=force)  # asks whether the format is known, before any work
    fitted, names = load_model(model)
    scorer = Scorer(fitted, level=None if no_intervals else level, target=target or names.get("target"))
    table = open_data(data, scorer.types)
    require_columns(table, scorer.inputs, why="the model needs")
    if target is not None:
        require_columns(table, [target], why="--target names")
    kept = list(table.columns) if keep_all else names_among(keep, table.columns)
    require_columns(table, kept, why="--keep names")
    _require_distinct(kept, scorer)
    with captured() as warned:
        _stream(table, scorer, kept, writer, hidden=as_json)
    notes = [*table.notes, *map(str, warned), *_findings(scorer, wanted=not no_intervals)]
    voice = Voice(as_json=as_json, to_stderr=output == STANDARD)
    _say(scorer.marks, _scores(scorer), output, notes, voice)
    voice.finish(_document(scorer, output, notes))


def _stream(table: TableFile, scorer: Scorer, kept: list[str], writer: TableWriter, *, hidden: bool) -> None:
    """Every batch through the model, and out."""
    from separatrix.cli.console import rows_read
    from separatrix.cli.files import about

    labels = [scorer.target] if scorer.target in table.columns else []
    columns = list(dict.fromkeys([*kept, *scorer.inputs, *labels]))
    bar = rows_read("Predicting", _expected_rows(table), hidden=hidden)
    with writing(writer.path), bar as advance, writer:
        with about(table.path):
            for batch in table.batches(columns=columns, rows=ROWS):
                writer.write(_joined(batch, kept, scorer.score(batch)))
                advance(batch.num_rows)
        if not scorer.marks.rows:
            writer.write(_joined(table.schema(columns).empty_table(), kept, scorer.nothing()))
    if str(writer.path) != STANDARD:
        wrote(writer.path)


def _expected_rows(table: TableFile) -> int | None:
    """How many rows there are, or about how many by the length of the first lines; None of a stream or packed file."""
    if table.n_rows is not None or table.path.suffix not in LINES:
        return table.n_rows
    with table.path.open("rb") as file:
        start = file.read(2**20)
    return round(table.n_bytes * start.count(b"\n") / max(len(start), 1)) or None


def _joined(batch: Any, kept: list[str], scores: Any) -> Any:
    """The columns kept, then what the model says."""
    import pyarrow as pa

    columns = {name: batch.column(name) for name in kept}
    return pa.table(columns | dict(zip(scores.column_names, scores.columns, strict=True)))


def _require_distinct(kept: list[str], scorer: Scorer) -> None:
    both = [name for name in kept if name in scorer.outputs]
    if both:
        raise CommandError(
            "data", f"The column {both[0]!r} of the table has the name of one that is to be added. Rename it."
        )


def _findings(scorer: Scorer, *, wanted: bool) -> list[str]:
    """What a user should know of the rows that came."""
    marks = scorer.marks
    notes = [] if marks.rows else ["The table has names of columns, but no rows; nor has the output."]
    notes += [f"{name}: {_rows(new.rows)} what training never saw: {new}." for name, new in marks.unseen.items()]
    notes += [
        f"{name}: {_rows(far.rows)} numbers far outside the range of training: {far}. What the model says of such rows "
        "is a guess."
        for name, far in marks.outside.items()
    ]
    notes += _on_gaps(marks)
    if wanted and scorer.has_probabilities and not scorer.has_intervals:
        notes.append(f"No intervals: {type(scorer.estimator).__name__} has no posterior over its weights.")
    if marks.unknown_labels.rows:
        notes.append(f"Labels of no class of the model, not counted in the figures: {marks.unknown_labels} rows.")
    if marks.doubt:
        notes.append(f"The predictions were not compared with labels. {marks.doubt}")
    return notes


def _on_gaps(marks: Marks) -> list[str]:
    """Missing values: of columns that had some in training, and of those that had none."""
    usual = [(name, rows) for name, rows in marks.gaps.most_common() if name not in marks.first_gaps]
    notes = [
        f"{name}: {rows:,} missing, and none was in training, which says nothing about it. A missing number is taken "
        "for the mean, a missing category for none of the levels."
        for name, rows in marks.first_gaps.items()
    ]
    if usual:
        shown = ", ".join(f"{name} {rows:,}" for name, rows in usual[:8]) + (", ..." if len(usual) > 8 else "")
        notes.append(f"Values that are missing, by column: {shown}. The model takes them as it did in training.")
    return notes


def _rows(n: int) -> str:
    return "1 row holds" if n == 1 else f"{n:,} rows hold"


def _say(marks: Marks, scores: dict[str, Any] | None, output: str, notes: list[str], voice: Voice) -> None:
    total = max(marks.rows, 1)
    shares = ", ".join(f"{label} {100 * n / total:.3g} %" for label, n in marks.predicted.most_common(8))
    voice.say(f"{marks.rows:,} rows predicted{f': {shares}' if shares else ''}.")
    if scores is not None:
        loss = "" if scores["log_loss"] is None else f"log-loss {scores['log_loss']:.4f}, "
        voice.say(f"Against {marks.labelled:,} labels: {loss}accuracy {scores['accuracy']:.4f}.")
    voice.notes(notes)
    voice.say(*([""] if notes else []), f"Written: {'standard output' if output == STANDARD else output}")


def _scores(scorer: Scorer) -> dict[str, Any] | None:
    """How well it went, where there were labels; there is no log-loss without probabilities."""
    marks = scorer.marks
    if not marks.labelled:
        return None
    loss = marks.log_loss / marks.labelled if scorer.has_probabilities else None
    return {"rows": marks.labelled, "log_loss": loss, "accuracy": marks.right / marks.labelled}


def _document(scorer: Scorer, output: str, notes: list[str]) -> dict[str, Any]:
    marks = scorer.marks
    return {
        "rows": marks.rows,
        "target": scorer.target,
        "predicted": dict(marks.predicted),
        "columns": list(scorer.outputs),
        "level": scorer.level,
        "unseen": {name: {"rows": new.rows, "values": dict(new.values)} for name, new in marks.unseen.items()},
        "outside": {name: {"rows": far.rows, "values": dict(far.values)} for name, far in marks.outside.items()},
        "missing": dict(marks.gaps),
        "scores": _scores(scorer),
        "notes": notes,
        "files": {"predictions": output},
    }


VERBS = (
    (
        predict,
        examples(
            "separatrix predict model.sx new.csv -o predictions.csv",
            "separatrix predict model.sx new.parquet -o out.parquet --keep id,name --level 0.9",
            "cat new.csv | separatrix predict model.sx - -o - --no-intervals | head",
        ),
    ),
)
