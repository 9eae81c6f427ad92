# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix predict``: a class, probabilities and intervals for every row of a table, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli.console import Voice, noted
from separatrix.cli.errors import CommandError, writing
from separatrix.cli.options import Data, Force, Json, Level, Saved, examples, names_among
from separatrix.cli.outputs import STANDARD, require_free

if TYPE_CHECKING:
    from separatrix.cli.scoring import Marks, Scorer
    from separatrix.data.files import TableFile, TableWriter

__all__ = ["EXAMPLES", "predict"]

ROWS = 16_384  # of a batch: large enough for matrix products, small enough that memory does not depend on the file
LINES = (".csv", ".txt", ".tsv", ".tab", ".jsonl", ".ndjson", ".json")  # files of a row in each line
EXAMPLES = examples(
    "separatrix predict model.sx new.csv -o predictions.csv",
    "separatrix predict model.sx new.parquet -o out.parquet --keep id,name --level 0.9",
    "cat new.csv | separatrix predict model.sx - -o - --no-intervals | head",
)


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
    from separatrix.cli.inputs import load_model, open_data, require_columns, target_of
    from separatrix.cli.scoring import Scorer
    from separatrix.data.files import open_writer

    if as_json and output == STANDARD:
        raise typer.BadParameter("with --json, standard output is taken: name a file.", param_hint="--output")
    require_free([output], force=force)
    writer = open_writer(output, force=force)  # asks whether the format is known, before any work
    fitted = load_model(model)
    scorer = Scorer(fitted, level=None if no_intervals else level, target=target_of(fitted, target))
    table = open_data(data, scorer.categories)
    require_columns(table, scorer.inputs, why="the model needs")
    if target is not None:
        require_columns(table, [target], why="--target names")
    kept = list(table.columns) if keep_all else names_among(keep, table.columns)
    require_columns(table, kept, why="--keep names")
    _require_distinct(kept, scorer)
    with noted() as warned:
        _stream(table, scorer, kept, writer)
    notes = [*table.notes, *warned, *_findings(scorer, wanted=not no_intervals)]
    voice = Voice(as_json=as_json, to_stderr=output == STANDARD)
    _say(scorer.marks, output, notes, voice)
    voice.finish(_document(scorer, output, notes))


def _stream(table: TableFile, scorer: Scorer, kept: list[str], writer: TableWriter) -> None:
    """Every batch through the model, and out."""
    from separatrix.cli.inputs import about
    from separatrix.cli.progress import rows_read

    labels = [scorer.target] if scorer.target in table.columns else []
    columns = list(dict.fromkeys([*kept, *scorer.inputs, *labels]))
    done = 0
    with writing(writer.path), rows_read("Predicting", _expected_rows(table)) as advance, writer:
        for batch in table.batches(columns=columns, rows=ROWS):
            with about(f"{table.path}, rows {done + 1:,} to {done + batch.num_rows:,}"):
                scores = scorer.score(batch)
            writer.write(_joined(batch, kept, scores))
            advance(batch.num_rows)
            done += batch.num_rows


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
    notes = [_new_values(name, seen) for name, seen in marks.unseen.items()]
    gaps = ", ".join(f"{name} {count:,}" for name, count in marks.gaps.most_common(8))
    if gaps:
        notes.append(f"Values that are missing, by column: {gaps}. The model takes them as it did in training.")
    if wanted and scorer.has_probabilities and not scorer.has_intervals:
        notes.append(f"No intervals: {type(scorer.estimator).__name__} has no posterior over its weights.")
    if marks.unknown_labels:
        shown = ", ".join(f"{label!r} {count:,}" for label, count in marks.unknown_labels.most_common(5))
        notes.append(f"Labels of no class of the model, not counted in log-loss and accuracy: {shown} rows.")
    if marks.doubt:
        notes.append(f"The predictions were not compared with labels. {marks.doubt}")
    return notes


def _new_values(name: str, seen: Any) -> str:
    shown = ", ".join(f"{value!r} {count:,}" for value, count in seen.most_common(5))
    more = f" and {len(seen) - 5:,} other values" if len(seen) > 5 else ""
    return f"{name}: {sum(seen.values()):,} rows hold what training never saw: {shown}{more}."


def _say(marks: Marks, output: str, notes: list[str], voice: Voice) -> None:
    total = max(marks.rows, 1)
    shares = ", ".join(f"{label} {100 * n / total:.3g} %" for label, n in marks.predicted.most_common(8))
    voice.say(f"{marks.rows:,} rows predicted{f': {shares}' if shares else ''}.")
    if marks.labelled:
        voice.say(
            f"Against {marks.labelled:,} labels: log-loss {marks.log_loss / marks.labelled:.4f}, "
            f"accuracy {marks.right / marks.labelled:.4f}."
        )
    voice.notes(notes)
    voice.say(*([""] if notes else []), f"Written: {'standard output' if output == STANDARD else output}")


def _document(scorer: Scorer, output: str, notes: list[str]) -> dict[str, Any]:
    marks = scorer.marks
    scores = None
    if marks.labelled:
        scores = {
            "rows": marks.labelled,
            "log_loss": marks.log_loss / marks.labelled if scorer.has_probabilities else float("nan"),
            "accuracy": marks.right / marks.labelled,
        }
    return {
        "rows": marks.rows,
        "target": scorer.target,
        "predicted": dict(marks.predicted),
        "columns": list(scorer.outputs),
        "level": scorer.level,
        "unseen": {name: dict(seen) for name, seen in marks.unseen.items()},
        "missing": dict(marks.gaps),
        "scores": scores,
        "notes": notes,
        "files": {"predictions": output},
    }
