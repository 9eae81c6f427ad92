# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix explain MODEL --rows FILE``: why some rows get their probability, and what would change the decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from separatrix._lazy import pa
from separatrix._text import counted, first_few
from separatrix.cli import files
from separatrix.cli.console import Printer
from separatrix.cli.errors import CommandError
from separatrix.cli.layout import TextTable
from separatrix.cli.predict import BATCH_ROWS

if TYPE_CHECKING:
    from separatrix.explanation import RowExplanation
    from separatrix.files import TableFile

MAX_ROWS = 20  # rows that one call explains
MAX_EXAMPLES = 5  # values of a column, in an error about --where
MEANING = (
    "'log-odds' is what the value adds to the log-odds, compared with the average training row; 'probability' is what "
    "it adds to the probability, averaged over all orders in which the columns may change. Both add up to the line of "
    "this row. {level:g} % intervals are in brackets."
)


def explain_rows_of(
    model: Any,
    rows: str,
    row: Sequence[int],
    where: Sequence[str],
    printer: Printer,
    **options: Any,
) -> dict[str, Any]:
    """Explain the chosen rows of a table file with a fitted table classifier, and return the JSON document."""
    schema = files.table_model_of(model).encoder_.schema_
    table = files.open_input(rows, dict.fromkeys(schema.text_types, "categorical"))
    files.require_columns(table, schema.inputs, why="the model needs")
    if row and where:
        raise CommandError("usage", f"--row {row[0]} and --where {where[0]} both choose rows. Give only one of them.")
    conditions = [_condition(text, table) for text in where]
    if wrong := [n for n in row if n < 1]:
        raise CommandError("usage", f"--row {wrong[0]}: rows are counted from 1.")
    with files.about(table.path):
        numbers, found = _chosen(table, schema.inputs, row, conditions)
        try:
            explanation = model.explain(found, **options)
        except TypeError as error:  # the log-odds of this model are not a sum over columns
            raise CommandError("data", str(error)) from error
    for number, each in zip(numbers, explanation.rows, strict=True):
        _print_row(each, table.place(number), printer)
    printer.text("", MEANING.format(level=100 * explanation.level))
    printer.notes([*explanation.notes, *table.notes])
    return {"rows": [_document(each, n + 1) for n, each in zip(numbers, explanation.rows, strict=True)]}


def _condition(text: str, table: TableFile) -> tuple[str, str]:
    """Column and value of ``COL=VALUE``; the name of a column may contain an equal sign."""
    splits = [(text[:at], text[at + 1 :]) for at, c in enumerate(text) if c == "="]
    known = [(name, value) for name, value in splits if name.strip() in table.columns]
    if not splits:
        raise CommandError("usage", f"--where {text}: write COL=VALUE, such as --where id=1017.")
    name, value = known[-1] if known else splits[0]
    files.require_columns(table, [name.strip()], why="--where names")
    return name.strip(), value.strip()


def _chosen(
    table: TableFile, inputs: Sequence[str], row: Sequence[int], conditions: Sequence[tuple[str, str]]
) -> tuple[list[int], Any]:
    """Numbers (from 0) of the chosen rows, and these rows as an Arrow table; the file is read once, batch by batch."""
    from separatrix.table import as_text

    wanted, numbers, parts, first = {n - 1 for n in row}, list[int](), [], 0
    columns = list(dict.fromkeys([*inputs, *(name for name, _ in conditions)]))
    seen: dict[str, dict[str, None]] = {name: {} for name, _ in conditions}
    for batch in table.batches(columns=columns, rows=BATCH_ROWS):
        chosen = {n - first for n in wanted} if wanted else set(range(batch.num_rows))
        for name, value in conditions:
            texts = list(map(as_text, batch.column(name).to_pylist()))
            chosen &= {n for n, text in enumerate(texts) if text == value}
            if len(seen[name]) < MAX_EXAMPLES:
                values = dict.fromkeys(str(text) for text in texts if text is not None)
                seen[name] |= dict.fromkeys([*values][: MAX_EXAMPLES - len(seen[name])])
        at = sorted(n for n in chosen if 0 <= n < batch.num_rows)
        numbers += [first + n for n in at]
        parts.append(batch.select(list(inputs)).take(pa.array(at, pa.int64())))
        first += batch.num_rows
        if len(numbers) > MAX_ROWS:
            who = _has(conditions) if conditions else "are in it"
            raise CommandError(
                "usage",
                f"{table.path}: more than {MAX_ROWS} rows {who}. Choose rows, counted from 1: --row 17, or by a value: "
                "--where id=1017.",
            )
    if not first:
        raise CommandError("data", f"{table.path} has column names, but no rows. Check that it is the right file.")
    if beyond := sorted(n + 1 for n in wanted if n >= first):
        raise CommandError("usage", f"--row {beyond[0]}: {table.path} has only {counted(first, 'row')}.")
    if not numbers:
        examples = (f" {name} has values such as {first_few([*seen[name]])}." for name, _ in conditions)
        raise CommandError("usage", f"{table.path}: no rows {_has(conditions)}.{''.join(examples)}")
    return numbers, pa.Table.from_batches(parts)


def _has(conditions: Sequence[tuple[str, str]]) -> str:
    return "have " + " and ".join(f"{name} = {value}" for name, value in conditions)


def _print_row(row: RowExplanation, place: str, printer: Printer) -> None:
    """Print the probability, the table of contributions, warnings and changes of one row."""
    ends = "" if row.interval is None else f" ({row.ends})"
    printer.heading(f"{place[:1].upper()}{place[1:]}: {row.quantity} = {row.shown(row.probability)}{ends}")
    for warning in row.warnings:
        printer.text(f"Warning: {warning}", style="yellow")
    rule = f" ({row.rule})" if row.rule else ""
    printer.text(f"Decision: {row.decision}{rule}. Compared with {row.reference}.")
    table = TextTable("column", "value", "average", row.scale, "probability", right=(3, 4))
    for texts in row.shortened().texts:
        table.add_row(*texts)
    printer.text(table)
    printer.text(*row.details)
    if row.change_lines:
        printer.text("", *row.change_lines)


def _document(row: RowExplanation, number: int) -> dict[str, Any]:
    """One row of the JSON document."""
    lines = [
        {"column": name, "value": value, "reference": reference}
        | {key: float(values[at]) for key, values in row.columns.items()}
        for at, (name, value, reference) in enumerate(zip(row.names, row.values, row.references, strict=True))
    ]
    changes = [
        {
            "columns": change.columns,
            "from": change.before,
            "to": change.after,
            "distance": change.distance,
            "probability": change.probability,
            "decision": change.decision,
        }
        for change in (*row.changes.single, *row.changes.pairs)
    ]
    lower, upper = (None, None) if row.interval is None else row.interval
    return {
        "row": number,
        "class": row.label,
        "probability": row.probability,
        "lower": lower,
        "upper": upper,
        "level": row.level,
        "decision": row.decision,
        "rule": row.rule,
        "reference": row.reference,
        "scale": row.scale,
        "contributions": lines,
        "details": row.details,
        "changes": changes,
        "warnings": row.warnings,
    }
