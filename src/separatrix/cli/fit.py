# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix fit``, ``compare`` and ``report``: studies of the table in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import isfinite, isnan, nan
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix._text import counted, decimals, did_you_mean
from separatrix.cli import files, output
from separatrix.cli import options as opt
from separatrix.cli.console import Printer, stages
from separatrix.cli.errors import CommandError
from separatrix.cli.layout import TextTable

if TYPE_CHECKING:
    from separatrix.files import TableFile
    from separatrix.study import Compared, Study
    from separatrix.thresholds import Costs

DEFAULT_REPORT = "report.html"
MAX_LISTED_CLASSES = 8
METRICS = {
    "log_loss": "log-loss",
    "accuracy": "accuracy",
    "auc": "AUC",
    "brier": "Brier score",
    "ece": "calibration error (ECE)",
    "ece_if_calibrated": "ECE expected by chance",
}


@opt.command(
    "separatrix fit customers.csv --target churn",
    "separatrix fit survey.parquet -t vote --types zip=categorical --drop name -o vote.sx --report vote.html",
    "separatrix fit loans.csv -t outcome --positive defaulted",
    "separatrix fit loans.csv -t outcome --costs defaulted:repaid=5,repaid:defaulted=1",
    "separatrix fit shop.duckdb::orders -t returned --no-report --json > result.json",
)
def fit(
    data: opt.Data,
    target: opt.Target,
    types: opt.Types = None,
    drop: opt.Drop = None,
    weight: opt.Weight = None,
    models: opt.Models = None,
    positive: opt.Positive = None,
    test_share: opt.TestShare = 0.2,
    seed: opt.Seed = 0,
    time: opt.Time = 60,
    level: opt.Level = 0.95,
    model: Annotated[str, typer.Option("--model", "-o", metavar="FILE", help="Model file (.sx).")] = "model.sx",
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Report (.html); by default report.html.", show_default=False),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    costs: Annotated[
        list[str] | None,
        typer.Option(
            "--costs",
            metavar="TRUE:DECIDED=COST,...",
            help="Cost of each mistake; others cost 1. The model is saved with the decision of smallest expected cost.",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print only the choice, the files and severe warnings."),
    ] = False,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Compare models on a table, choose one, save it, and write a report.

    The command infers the type of each column, scores every model on rows it was not fitted to and by its evidence, and
    explains the choice. The saved model is fitted on all rows.
    """
    if no_report and report is not None:
        raise typer.BadParameter(f"--report {report} and --no-report contradict each other.", param_hint="--no-report")
    outputs = {"model": model} if no_report else {"model": model, "report": report or DEFAULT_REPORT}
    files.require_ending(model, [".sx"], what="a model")
    if not no_report:
        files.require_ending(outputs["report"], [".html", ".htm"], what="a report")
    files.require_free(outputs.values(), force=force, inputs=[data])
    options: dict[str, Any] = {"types": types, "drop": drop, "weight": weight, "models": models, "positive": positive}
    options |= {"test_share": test_share, "seed": seed, "time": time, "costs": costs}
    study_file(data, target, outputs, level=level, force=force, as_json=as_json, quiet=quiet, **options)


@opt.command(
    "separatrix compare customers.csv --target churn",
    "separatrix compare customers.csv -t churn --test-share 0.3 --seed 7 --json",
)
def compare(
    data: opt.Data,
    target: opt.Target,
    types: opt.Types = None,
    drop: opt.Drop = None,
    weight: opt.Weight = None,
    models: opt.Models = None,
    test_share: opt.TestShare = 0.2,
    seed: opt.Seed = 0,
    time: opt.Time = 60,
    as_json: opt.Json = False,
) -> None:
    """Compare models on a table by metrics on unseen rows, evidence and time, without writing a file."""
    options: dict[str, Any] = {"types": types, "drop": drop, "weight": weight, "models": models}
    study_file(data, target, {}, as_json=as_json, test_share=test_share, seed=seed, time=time, **options)


@opt.command(
    "separatrix report model.sx this_year.csv -o this_year.html",
    "separatrix report model.sx labelled.parquet --target churn -o check.html --force",
)
def report(
    model: opt.Saved,
    data: opt.Data,
    target: opt.Labels = None,
    weight: opt.WeightIfAny = None,
    positive: opt.Positive = None,
    output_file: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Report file (.html).")
    ] = DEFAULT_REPORT,
    level: opt.Level = 0.95,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Evaluate a saved model on labelled rows, and write a report."""
    from separatrix.report import render
    from separatrix.study import BatchScorer, examine, name_of

    files.require_ending(output_file, [".html", ".htm"], what="a report")
    files.require_free([output_file], force=force, inputs=[model, data])
    saved, names = files.load_model(model, of_tables=True, with_rule=True)
    fitted = files.table_model_of(saved)
    named = positive or names.get("positive")
    label = None if named is None else class_label(fitted.classes_.tolist(), named)
    labels = target or names.get("target")
    if labels is None:
        raise CommandError("data", f"{model} does not contain the name of its target. Name the column: --target COL")
    scorer = BatchScorer(fitted, target=labels)
    table = files.open_input(data, scorer.types)
    files.require_columns(table, [labels], why="is the target (--target names another)")
    files.require_columns(table, scorer.inputs, why="the model needs")
    weight = files.weight_column(table, weight, names)
    with stages("Reading", hidden=as_json) as progress, files.about(table.path):
        rows, name = files.read_rows(table), name_of(data)
        study = examine(fitted, rows, labels, name=name, level=level, positive=label, progress=progress, weight=weight)
    costs = costs_of(saved, study)
    page = render(study, model_path=model, costs=costs)
    files.write_together({output_file: page.encode("utf-8", errors="replace")}, force=force)
    printer = Printer(as_json=as_json)
    printer.text(f"{data}: {counted(study.n_rows, 'row')}, predicted by {model}.", *filter(None, [study.on_positive]))
    figures = TextTable("metric", "value", "standard error", right=(1, 2))
    for name, (value, error) in output.figures_of(study).items():
        if not isnan(value):
            figures.add_row(METRICS[name], f"{value:z.4f}", "" if isnan(error) else f"{error:.4f}")
    is_one_of_many = study.positive is not None and len(study.classes) > 2
    printer.notes(output.leak_notes(study.notes), output.LEAK_TITLE)
    printer.heading(f"Metrics, {study.positive} against all other classes" if is_one_of_many else "Metrics")
    printer.text(figures)
    if costs is not None:
        print_costs(costs, counted(len(study.held_out.codes), "row"), printer)
    printer.notes([*output.listed_notes(study.notes), *table.notes])
    printer.heading("Written")
    printer.line(f"report  {output_file}")
    notes = [*map(str, study.notes), *table.notes]
    document = output.study_document(study, notes, {"report": output_file})
    printer.document(document | {"costs": None if costs is None else asdict(costs)})


def study_file(
    data: str,
    target: str,
    outputs: dict[str, str],
    *,
    level: float = 0.95,
    force: bool = False,
    as_json: bool = False,
    quiet: bool = False,
    **options: Any,
) -> None:
    """Compare models on the table in a file, and print the results; ``options`` are passed to `compare_file`.

    If ``outputs`` names a model, the chosen model is fitted to all rows, in memory or as they are read, and explained.
    The model and the report are written together, or neither is.
    """
    from separatrix.export import packed
    from separatrix.study import N_LATER_STAGES, study_of

    study: Study | None = None
    found: Costs | None = None
    with stages("Reading", hidden=as_json) as progress:
        options |= {"progress": progress, "later": N_LATER_STAGES if outputs else 0}
        compared, table, matrix = compare_file(data, target, **options)
        if outputs:
            with files.about(table.path):
                study = study_of(compared, level=level, progress=progress)
            compared = study.compared or compared
            rule: Any = study.model
            if matrix is not None:
                from separatrix.decisions import DecisionRule

                rule = DecisionRule(study.model, costs=matrix, prefit=True)
                found = costs_of(rule, study)
            contents = {outputs["model"]: packed(rule, study.about)}
            if "report" in outputs:
                from separatrix.report import render

                page = render(study, model_path=outputs["model"], costs=found)
                contents[outputs["report"]] = page.encode("utf-8", errors="replace")
            files.write_together(contents, force=force)
    if quiet and study is not None and not as_json:
        print_choice(study, compared, outputs, Printer())
    else:
        print_study(compared, study, table, data, outputs, Printer(as_json=as_json), found)


def compare_file(
    data: str,
    target: str,
    *,
    types: Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    weight: str | None = None,
    models: Iterable[str] | None = None,
    positive: str | None = None,
    costs: Iterable[str] | None = None,
    **options: Any,
) -> tuple[Compared, TableFile, list[list[float]] | None]:
    """Compare models on the table in a file; return the comparison, the table and the cost matrix, None if not given.

    ``options`` are passed to `compare_models`.
    """
    from separatrix.study import compare_models, name_of, open_labelled, read_types

    kinds, options["models"] = opt.split_types(types), opt.model_names(models)
    table = files.open_input(data, read_types(kinds, target))
    dropped = opt.names_among(drop, table.columns)
    files.require_columns(table, [target], why="--target names")
    files.require_columns(table, kinds, why="--types names")
    files.require_columns(table, dropped, why="--drop names")
    files.require_columns(table, [] if weight is None else [weight], why="--weight names")
    if target in dropped or kinds.get(target) == "drop":
        raise CommandError("usage", f"--drop {target}: the target cannot be dropped.")
    if kinds.get(target, "categorical") != "categorical":
        raise CommandError(
            "usage", f"--types {target}={kinds[target]}: the target is a class label, so its type must be categorical."
        )
    options = {"name": name_of(data), "types": {**kinds, **dict.fromkeys(dropped, "drop")}} | options
    with files.about(table.path):
        labelled = open_labelled(table, target, options["types"], weight)
        label = None if positive is None else class_label(labelled.classes.tolist(), positive)
        matrix = cost_matrix(labelled.classes.tolist(), costs) if costs else None
        return compare_models(labelled, target, positive=label, weight=weight, **options), table, matrix


def cost_matrix(classes: Sequence[Any], costs: Iterable[str]) -> list[list[float]]:
    """Costs from texts such as ``bad:good=5,good:bad=1``; labels may contain colons, equal signs and commas.

    >>> cost_matrix(["bad", "good"], ["bad:good=5"])
    [[0.0, 5.0], [1.0, 0.0]]
    """
    named = {f"{true}:{decided}": (i, j) for i, true in enumerate(classes) for j, decided in enumerate(classes)}
    by_fold = {name.casefold(): place for name, place in named.items()}
    matrix, start = [[float(i != j) for j in range(len(classes))] for i in range(len(classes))], ""
    given: set[tuple[int, int]] = set()
    for text in costs:
        for part in text.split(","):
            name, equals, number = (start + part).rpartition("=")
            place = named.get(name.strip()) or by_fold.get(name.strip().casefold())
            start = "" if equals and place else f"{start}{part},"
            if not start and place:
                if place in given:
                    raise CommandError("usage", f"--costs {name}={number}: this cost is given twice. Give it once.")
                given.add(place)
                matrix[place[0]][place[1]] = _cost(name, number)
        if start:
            name, mistakes = start[:-1].rpartition("=")[0], [pair for pair, (i, j) in named.items() if i != j]
            hint = did_you_mean(name, mistakes) if name else f" Write for example {mistakes[0]}=5."
            problem = f"--costs {start[:-1]}: write TRUE:DECIDED=COST, two classes and a number.{hint}"
            raise CommandError("usage", problem)
    from separatrix.exceptions import DataError
    from separatrix.thresholds import require_choice

    try:
        require_choice(matrix, classes)
    except DataError as error:
        raise CommandError("usage", f"--{error}") from error
    return matrix


def _cost(name: str, text: str) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = nan
    if not isfinite(cost):
        raise CommandError("usage", f"--costs {name}={text}: the cost must be a finite number, such as 5 or 0.25.")
    return cost


def costs_of(model: Any, study: Study) -> Costs | None:
    """Costs of a rule's decisions on the evaluated rows; None if the model has no costs, or may reject rows."""
    from separatrix.decisions import DecisionRule
    from separatrix.thresholds import cost_report

    L = model.cost_matrix_ if isinstance(model, DecisionRule) and model.reject is None else None
    if L is None or L.shape[1] > len(L):
        return None
    held, labels = study.held_out, study.classes.tolist()
    at = 1 if study.positive is None else labels.index(study.positive)
    return cost_report(held.P, held.codes, L, tuple(map(str, labels)), held.weight, positive=at)


def class_label(classes: Sequence[Any], given: str | None) -> Any:
    """Class whose text is ``given``; by default the second of two classes, else None."""
    if given is None:
        return classes[1] if len(classes) == 2 else None
    known = [label for label in classes if str(label) == given]
    known = known or [label for label in classes if str(label).casefold() == given.strip().casefold()]
    if not known:
        few = f"The classes are {', '.join(map(str, classes))}."
        hint = few if len(classes) <= 8 else did_you_mean(given, map(str, classes)).strip()
        raise CommandError("usage", f"--positive {given}: there is no such class. {hint}")
    return known[0]


def print_choice(study: Study, compared: Compared, outputs: dict[str, str], printer: Printer) -> None:
    """Print severe warnings, the chosen model with its log-loss, the positive class, and the files."""
    from separatrix.report import severe_warnings

    printer.text(*(f"Warning: {text}" for text in severe_warnings(study)))
    trial, comparison = compared.comparison[compared.choice.name], compared.comparison
    loss, rows = -compared.score.value, counted(len(comparison.test_rows), f"{comparison.tested} row")
    printer.text(f"Chosen: {trial.name}, with an expected log-loss of {decimals(loss)} nats per row (from {rows}).")
    if study.on_positive:
        printer.text(study.on_positive)
    printer.line(f"Written: {', '.join(outputs.values())}")


def print_costs(costs: Costs, rows: str, printer: Printer) -> None:
    """Print what decisions cost on the evaluated rows, beside simpler rules."""
    printer.heading(f"Costs per decision on {rows} (standard errors in brackets)")
    limit = (
        ""
        if isnan(costs.threshold)
        else f" ({costs.labels[costs.positive]} if its probability exceeds {costs.threshold:.3g})"
    )
    table = TextTable("decision", "cost", right=(1,))
    rules = [(f"smallest expected cost{limit}", costs.cost), ("most probable class", costs.by_probability)]
    if len(costs.labels) <= MAX_LISTED_CLASSES:
        rules += [(f"always {label}", each) for label, each in zip(costs.labels, costs.constant, strict=True)]
    for name, cost in rules:
        table.add_row(name, f"{cost.value:.4g} ({cost.standard_error:.2g})")
    cheapest = costs.labels[costs.cheapest]
    printer.text(
        table,
        f"Compared with always {cheapest}, the model saves {costs.saved.value:.4g} ({costs.saved.standard_error:.2g}) "
        f"per decision. Its probabilities predict a cost of {costs.predicted:.4g}.",
    )


def print_study(
    compared: Compared,
    study: Study | None,
    table: TableFile,
    data: str,
    outputs: dict[str, str],
    printer: Printer,
    costs: Costs | None = None,
) -> None:
    """Print the table, the choice, the comparison, the costs, the columns, the notes and the files."""
    from separatrix.comparison import notes_on

    comparison, choice, schema = compared.comparison, compared.choice, compared.encoder.schema_
    n_rows, notes = (compared.table.n_rows, compared.notes) if study is None else (study.n_rows, study.notes)
    if printer.as_json:
        document = output.study_document(study or compared, [*map(str, notes), *table.notes], outputs)
        printer.document(document | {"costs": None if costs is None else asdict(costs)})
        return
    printer.text(f"{data}: {counted(n_rows, 'row')}, {counted(len(schema.plans) + 1, 'column')}.")
    counts = compared.table.counts
    labels = zip(counts.tolist(), map(str, compared.table.classes.tolist()), strict=True)
    classes = [f"{label} {100 * n / counts.sum():.3g} %" for n, label in sorted(labels, reverse=True)]
    more = f" and {len(classes) - MAX_LISTED_CLASSES} more classes" if len(classes) > MAX_LISTED_CLASSES else ""
    printer.text(f"Target {compared.question.target}: {', '.join(classes[:MAX_LISTED_CLASSES])}{more}.")
    if study is not None and study.on_positive:
        printer.text(study.on_positive)
    printer.notes(output.leak_notes(notes), output.LEAK_TITLE)
    printer.heading(f"Chosen: {choice.name}")
    printer.text(" ".join(choice.reasons))
    tested = counted(len(comparison.test_rows), f"{comparison.tested} row")
    printer.heading(f"Models compared on {tested} (standard errors in brackets)")
    printer.text(output.comparison_table(comparison), "", *notes_on(comparison, choice.name))
    if study is not None and study.model.interactions_ is not None:
        printer.text(study.model.interactions_.describe())
    if costs is not None:
        print_costs(costs, tested, printer)
    printer.heading("Columns")
    columns, n_more = output.column_table(schema)
    printer.text(columns, *([f"{n_more:,} more columns are in the report and in --json."] if n_more else []))
    printer.notes([*output.listed_notes(notes), *table.notes])
    if outputs:
        printer.heading("Written")
        printer.line(*(f"{kind:6}  {path}" for kind, path in outputs.items()))
        printer.heading("Next")
        model = quote(outputs["model"])
        printer.line(f"separatrix predict {model} NEW_DATA -o predictions.csv", f"separatrix explain {model}")
