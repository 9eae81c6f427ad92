# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix predict``: predict class, probabilities and intervals for every row of a table, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix._lazy import pa
from separatrix._text import counted
from separatrix.cli.console import Printer, rows_done
from separatrix.cli.errors import STANDARD, CommandError, writing, written
from separatrix.cli.files import about, load_model, open_input, require_columns, require_free
from separatrix.cli.options import Data, Force, Json, Labels, Level, Saved, command, complete_columns, names_among

if TYPE_CHECKING:
    from separatrix.files import TableFile, TableWriter
    from separatrix.study import BatchScorer

BATCH_ROWS = 8_192  # large enough for matrix products; memory does not depend on the size of the file
LINE_FORMATS = (".csv", ".txt", ".tsv", ".tab", ".jsonl", ".ndjson", ".json")  # one row per line
MAX_LISTED_MISSING = 8


@command(
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
            "--output", "-o", metavar="OUT", help="Output file in any table format; - writes CSV to standard output.",
            show_default=False,
        ),
    ],
    level: Level = 0.95,
    no_intervals: Annotated[bool, typer.Option("--no-intervals", help="Omit the intervals, which is faster.")] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", metavar="COL,...", help="Columns to copy to the output.", show_default=False,
            autocompletion=complete_columns,
        ),
    ] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Copy all columns to the output.")] = False,
    escape_formulas: Annotated[
        bool, typer.Option("--escape-formulas", help="In CSV, put ' before text that looks like a formula.")
    ] = False,
    target: Labels = None,
    force: Force = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Predict the class, the probability of each class and its interval, for every row of a table.

    Rows keep their order and are read in batches, so the table may be larger than memory. Columns are matched by
    name. If the table contains the target, log-loss and accuracy are reported.
    """
    from separatrix.files import open_writer
    from separatrix.study import BatchScorer, captured

    if as_json and output == STANDARD:
        raise typer.BadParameter("--json needs standard output: name an output file.", param_hint="--output")
    require_free([output], force=force, inputs=[model, data])
    writer = open_writer(output, force=force, escape_formulas=escape_formulas)  # raises for unknown formats
    fitted, names = load_model(model, with_rule=True)
    scorer = BatchScorer(fitted, level=None if no_intervals else level, target=target or names.get("target"))
    table = open_input(data, scorer.types)
    require_columns(table, scorer.inputs, why="the model needs")
    if target is not None:
        require_columns(table, [target], why="--target names")
    kept = list(table.columns) if keep_all else names_among(keep, table.columns)
    require_columns(table, kept, why="--keep names")
    if clash := [name for name in kept if name in scorer.outputs]:
        raise CommandError("data", f"The column {clash[0]!r} of the table has the name of an output column. Rename it.")
    with captured() as warned:
        _predict_batches(table, scorer, kept, writer, hidden=as_json)
    notes = [*table.notes, *map(str, warned), *_notes(scorer, table, wants_intervals=not no_intervals)]
    counts, scores = scorer.counts, None
    if counts.labelled:
        loss = counts.log_loss / counts.labelled if scorer.has_probabilities else None
        scores = {"rows": counts.labelled, "log_loss": loss, "accuracy": counts.correct / counts.labelled}
    printer = Printer(as_json=as_json, to_stderr=output == STANDARD)
    total = max(counts.rows, 1)
    proportions = ", ".join(f"{label} {100 * n / total:.3g} %" for label, n in counts.predicted.most_common(8))
    printer.text(f"{counted(counts.rows, 'row')} predicted{f': {proportions}' if proportions else ''}.")
    if scores is not None:
        loss_text = "" if loss is None else f"log-loss {loss:z.4f}, "
        once = ", each counted once" if names.get("weight") in table.columns else ""
        printer.text(
            f"Compared with {counted(counts.labelled, 'label')}{once}: {loss_text}accuracy {scores['accuracy']:.4f}."
        )
    printer.notes(notes)
    printer.text(*([""] if notes else []), f"Written: {'standard output' if output == STANDARD else output}")
    printer.document(
        {
            "rows": counts.rows,
            "target": scorer.target,
            "predicted": dict(counts.predicted),
            "columns": list(scorer.outputs),
            "level": scorer.level,
            "unseen": {name: {"rows": new.rows, "values": dict(new.values)} for name, new in counts.new_values.items()},
            "outside": {name: {"rows": far.rows, "values": dict(far.values)} for name, far in counts.far.items()},
            "missing": dict(counts.missing),
            "scores": scores,
            "notes": notes,
            "files": {"predictions": output},
        }
    )


def _predict_batches(
    table: TableFile, scorer: BatchScorer, kept: list[str], writer: TableWriter, *, hidden: bool
) -> None:
    """Predict each batch; write the kept columns, then the predictions."""
    labels = [scorer.target] if scorer.target in table.columns else []
    columns = list(dict.fromkeys([*kept, *scorer.inputs, *labels]))

    def joined(batch: Any, scores: Any) -> Any:
        return pa.table(
            {name: batch.column(name) for name in kept} | dict(zip(scores.column_names, scores.columns, strict=True))
        )

    bar = rows_done("Predicting", expected_rows(table), hidden=hidden)
    with writing(writer.path), bar as advance, writer:
        with about(table.path):
            for batch in table.batches(columns=columns, rows=BATCH_ROWS):
                writer.write(joined(batch, scorer.score(batch)))
                advance(batch.num_rows)
        if not scorer.counts.rows:
            writer.write(joined(table.schema(columns).empty_table(), scorer.empty()))
    if str(writer.path) != STANDARD:
        written.append(str(writer.path))


def expected_rows(table: TableFile) -> int | None:
    """Number of rows, or an estimate from the length of the first lines; None for streams and compressed files."""
    path = table.where.path  # a pipe is read from its copy
    if table.n_rows is not None or path.suffix not in LINE_FORMATS:
        return table.n_rows
    with path.open("rb") as file:
        start = file.read(2**20)
    return round(table.n_bytes * start.count(b"\n") / max(len(start), 1)) or None


def _notes(scorer: BatchScorer, table: TableFile, *, wants_intervals: bool) -> list[str]:
    """Notes on rows that differ from the training rows."""

    def rows(n: int) -> str:
        return "1 row has" if n == 1 else f"{n:,} rows have"

    counts = scorer.counts
    notes = [] if counts.rows else ["The table has column names, but no rows; the output has no rows either."]
    notes += [str(cells._replace(place=table.place)) for cells in counts.odd.values()]
    notes += [
        f"{name}: {rows(new.rows)} values that were not in training: {new}." for name, new in counts.new_values.items()
    ]
    notes += [
        f"{name}: {rows(far.rows)} numbers far outside the training range: {far}. Predictions for these rows are "
        "unreliable."
        for name, far in counts.far.items()
    ]
    notes += [
        f"{name}: {n:,} missing, but none were missing in training, so the model has not learned their effect. A "
        "missing number is set to the mean, a missing category to no level, and a missing text has no words."
        for name, n in counts.first_missing.items()
    ]
    usual = [(name, n) for name, n in counts.missing.most_common() if name not in counts.first_missing]
    if usual:
        shown = ", ".join(f"{name} {n:,}" for name, n in usual[:MAX_LISTED_MISSING])
        more = ", ..." if len(usual) > MAX_LISTED_MISSING else ""
        notes.append(f"Missing values by column: {shown}{more}. They are treated as in training.")
    if wants_intervals and scorer.has_probabilities and not scorer.has_intervals:
        notes.append(f"No intervals: {type(scorer.estimator).__name__} has no posterior over its weights.")
    if counts.unknown_labels.rows:
        notes.append(f"Labels that are not classes of the model, ignored in the metrics: {counts.unknown_labels}.")
    if counts.label_problem:
        notes.append(f"The predictions were not compared with labels. {counts.label_problem}")
    return notes
