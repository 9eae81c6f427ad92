# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix effects``: how the average prediction of a saved model changes with a column of a table."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix._lazy import pa
from separatrix._text import did_you_mean
from separatrix.cli import files
from separatrix.cli.console import Printer, stages
from separatrix.cli.errors import writing, written
from separatrix.cli.explain import PICTURE_ENDINGS
from separatrix.cli.fit import class_label
from separatrix.cli.layout import TextTable
from separatrix.cli.options import (
    Data,
    Force,
    Json,
    Labels,
    Level,
    Positive,
    Saved,
    command,
    complete_columns,
    complete_from,
    names_among,
)

if TYPE_CHECKING:
    from separatrix.effects import EffectTable

KINDS = ("comparisons", "predictions", "slopes", "importance")
COMPARISONS = ("difference", "ratio", "odds ratio")
HEADS = {"standard_error": "std. error", "probability_of_sign": "P(sign)"}


@command(
    "separatrix effects model.sx customers.csv",
    "separatrix effects model.sx customers.csv --variable age --step 10 --by region",
    "separatrix effects model.sx customers.csv --variable plan --values basic,premium --comparison ratio",
    "separatrix effects model.sx customers.csv --kind predictions --variable age --at region=north -o age.png",
    "separatrix effects model.sx held_out.csv --kind importance",
)
def effects(  # noqa: PLR0915  # options are checked one after another
    model: Saved,
    data: Data,
    variables: Annotated[
        list[str] | None,
        typer.Option(
            "--variable", "-v", metavar="COL,...", help="Columns whose effect is computed; by default all columns.",
            show_default=False, autocompletion=complete_columns,
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            "--step", metavar="NUMBER", help="Step that is added to the column in each row, in its units (days for "
            "dates), or sd. Default: a round number near one standard deviation.",
        ),
    ] = None,
    values: Annotated[
        str | None,
        typer.Option("--values", metavar="VALUE,...", help="Values of the column, which are compared with the first."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="COL,...", help="Columns that divide the rows into groups.", show_default=False,
            autocompletion=complete_columns,
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at", metavar="COL=VALUE", help="Set another column to a value in all rows; may be repeated.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", "-k", metavar="KIND", help=f"One of {', '.join(KINDS)}.", autocompletion=complete_from(KINDS)
        ),
    ] = "comparisons",
    comparison: Annotated[
        str,
        typer.Option(
            "--comparison", metavar="HOW", help=f"One of {', '.join(COMPARISONS)}.",
            autocompletion=complete_from(COMPARISONS),
        ),
    ] = "difference",
    pairwise: Annotated[
        bool, typer.Option("--pairwise", help="Show the differences of all pairs of groups or values instead.")
    ] = False,
    level: Level = 0.95,
    positive: Positive = None,
    target: Labels = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help=f"Table in any format, or picture ({', '.join(PICTURE_ENDINGS)}).",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Show how the average prediction changes if a column of the table changes, with intervals.

    Predictions are averaged over the rows of the table, which may be larger than memory. Other columns of each row do
    not change. Importance is the increase of the log-loss if a column is permuted, or without labels the spread of its
    part of the log-odds.
    """
    from separatrix import effects as questions
    from separatrix.files import open_writer, scan
    from separatrix.study import captured
    from separatrix.table_model import TableClassifier

    _choice("--kind", "kind of effect", kind, KINDS)
    comparison = comparison.replace("-", " ")
    _choice("--comparison", "comparison", comparison, COMPARISONS)
    is_picture = output is not None and output.lower().endswith(PICTURE_ENDINGS)
    files.require_free([output], force=force, inputs=[model, data])
    writer = None if output is None or is_picture else open_writer(output, force=force)
    fitted, names = files.load_model(model)
    schema = fitted.encoder_.schema_ if isinstance(fitted, TableClassifier) else None
    table = files.open_input(data, schema.text_types if schema is not None else {})
    inputs = schema.inputs if schema is not None else getattr(fitted, "feature_names_in_", ())
    files.require_columns(table, inputs, why="the model needs")
    groups = names_among(by, table.columns)
    files.require_columns(table, groups, why="--by names")
    wanted = _wanted(names_among(variables, table.columns), step, values, kind)
    options: dict[str, Any] = {"level": level}
    if kind == "importance":
        given = {"--by": by, "--at": at, "--pairwise": pairwise, "--positive": positive}
        for name in (name for name, value in given.items() if value):
            raise typer.BadParameter("importance refers to all rows and classes.", param_hint=name)
        label = target or names.get("target")
        if target is not None:
            files.require_columns(table, [target], why="--target names")
        options["target"] = label if label in table.columns else None
    else:
        options |= {"by": groups, "at": _settings(at), "hypothesis": "pairwise" if pairwise else None}
        classes = getattr(fitted, "classes_", None)
        if classes is not None:
            of_fit = names.get("positive") if len(classes) == 2 else None
            options["positive"] = class_label(classes.tolist(), positive or of_fit)
    if kind == "comparisons":
        options["comparison"] = comparison
    with stages("Computing effects", hidden=as_json), captured() as warned, files.about(table.path):
        found = getattr(questions, kind)(fitted, scan(table), variables=wanted, **options)
    columns = {"class" if kind == "predictions" else "variable": list(found.names), **found.columns}
    if writer is not None:
        with writing(writer.path), writer:
            writer.write(pa.table({name: _as_column(values) for name, values in columns.items()}))
        written.append(str(writer.path))
    elif output is not None:
        files.write_together({output: _picture(found, output)}, force=force)
    notes = [*table.notes, *found.notes, *map(str, warned)]
    printer = Printer(as_json=as_json)
    printer.heading(found.title)
    printer.text(_text_table(found))
    printer.notes(notes)
    if output is not None:
        printer.text("", f"Written: {output}")
    lines = [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
    printer.document(
        {
            "kind": kind,
            "quantity": found.title,
            "level": level,
            "effects": lines,
            "notes": notes,
            "files": {} if output is None else {"effects": output},
        }
    )


def _choice(name: str, what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise typer.BadParameter(f"there is no {what} {value!r}.{did_you_mean(value, known)}", param_hint=name)


def _wanted(names: list[str], step: str | None, values: str | None, kind: str) -> Any:
    """The argument ``variables``: names, or one name with its step or its values."""
    given = [name for name, value in (("--step", step), ("--values", values)) if value is not None]
    if not given:
        return names or None
    if len(given) > 1:
        raise typer.BadParameter("give a step or values, not both.", param_hint="--step, --values")
    if len(names) != 1:
        raise typer.BadParameter("name the column of the step or values: one --variable.", param_hint=given[0])
    if kind in ("slopes", "importance") or (kind == "predictions" and step is not None):
        raise typer.BadParameter(f"--kind {kind} has no such option.", param_hint=given[0])
    if values is not None:
        listed = [value.strip() for value in values.split(",")]
        if kind == "comparisons" and len(listed) == 1:
            raise typer.BadParameter(f"give two values or more to compare, not only {values}.", param_hint="--values")
        return {names[0]: listed}
    try:
        return {names[0]: "sd" if step == "sd" else float(str(step))}
    except ValueError:
        raise typer.BadParameter(f"{step!r} is neither a number nor sd.", param_hint="--step") from None


def _settings(at: list[str] | None) -> dict[str, list[str]] | None:
    """Parse ``["age=30", "region=north,south"]``."""
    found: dict[str, list[str]] = {}
    for setting in at or ():
        name, equals, value = setting.partition("=")
        if not (equals and name and value):
            raise typer.BadParameter(f"{setting!r} is not COL=VALUE.", param_hint="--at")
        found[name.strip()] = [part.strip() for part in value.split(",")]
    return found or None


def _as_column(values: Any) -> Any:
    """Values of one type; values of several types become text."""
    listed = list(values.tolist() if hasattr(values, "tolist") else values)
    return listed if len({type(value) for value in listed}) <= 1 else [str(value) for value in listed]


def _picture(found: EffectTable, output: str) -> bytes:
    from separatrix.exceptions import optional_import

    with optional_import("Plots need matplotlib", "plots"):
        import matplotlib as mpl
    mpl.use("Agg")  # draw without a window
    content = BytesIO()
    figure = found.plot().figure_
    figure.savefig(content, format=output.rpartition(".")[2].lower(), dpi=150, bbox_inches="tight")
    return content.getvalue()


def _text_table(found: EffectTable) -> TextTable:
    """The table for a terminal."""
    from separatrix._output import format_cell

    columns, formats = {"": list(found.names), **found.columns}, found.formats
    numbers = [i for i, name in enumerate(columns) if name in formats]
    table = TextTable(*(HEADS.get(name, name) for name in columns), right=numbers)
    for line in zip(*columns.values(), strict=True):
        cells = zip(columns, line, strict=True)
        table.add_row(*(format_cell(value, formats.get(name, "")) for name, value in cells))
    return table
