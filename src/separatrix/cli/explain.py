# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix explain``, ``plot`` and ``export``: a saved model as text, as a picture, and as ONNX.

The effect of a curved column is piecewise linear. Each of its weights is the rise of the log-odds from one knot to the
next, so the cumulative sum of the weights is the curve. `explain` prints it as a line of block characters.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from io import BytesIO
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from separatrix._text import counted, did_you_mean
from separatrix.cli import files, output
from separatrix.cli.console import Printer, stages
from separatrix.cli.errors import CommandError, writing, written
from separatrix.cli.explain_row import explain_rows_of
from separatrix.cli.fit import class_label
from separatrix.cli.layout import TextTable
from separatrix.cli.options import (
    Force,
    Json,
    Labels,
    Level,
    Positive,
    Saved,
    command,
    complete_from,
    names_among,
    within,
)

if TYPE_CHECKING:
    from separatrix.report import Step
    from separatrix.table_model import Coefficient

N_LISTED_WEIGHTS = 20
ONNX_RULE = (
    "The graph computes probabilities, and the most probable class. It does not contain the decisions by expected cost "
    "that were saved with the model."
)
BLOCKS = "▁▂▃▄▅▆▇█"
PICTURE_ENDINGS = (".png", ".svg", ".pdf")
WHISKER_LEVEL = 0.95
POSITIVE_KINDS = ("coefficients", "reliability")  # pictures that refer to the positive class
MAX_SURFACE_ROWS = {"likelihood": 20_000, "evidence": 2_000}  # each cell takes a pass over the rows, or a fit


# Display class of each picture, the number of columns it needs (None if any), and its argument ``response``.
PICTURES: dict[str, tuple[str, int | None, str | None]] = {
    "coefficients": ("CoefficientDisplay", None, None),
    "reliability": ("ReliabilityDisplay", None, None),
    "projection": ("ProjectionDisplay", None, None),
    "boundary": ("DecisionBoundaryDisplay", 2, "regions"),
    "probability": ("DecisionBoundaryDisplay", 2, "probability"),
    "uncertainty": ("DecisionBoundaryDisplay", 2, "uncertainty"),
    "density": ("ClassDensityDisplay", 1, None),
    "likelihood": ("LikelihoodSurfaceDisplay", 2, None),
    "evidence": ("EvidenceSurfaceDisplay", None, None),
}


@command(
    "separatrix explain model.sx",
    "separatrix explain model.sx --all --level 0.9",
    "separatrix explain model.sx --json | jq '.coefficients[0]'",
    "separatrix explain model.sx --rows new.csv --row 17 --fixed age,sex",
    "separatrix explain model.sx --rows new.csv --where id=1017",
)
def explain(
    model: Saved,
    level: Level = 0.95,
    positive: Positive = None,
    rows: Annotated[
        str | None,
        typer.Option("--rows", metavar="DATA", help="Table with rows to explain one by one.", show_default=False),
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option("--row", metavar="N", help="Row of --rows, counted from 1; may be repeated.", show_default=False),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="COL=VALUE",
            help="Rows of --rows with this value; may be repeated for several columns.",
            show_default=False,
        ),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            "--fixed",
            metavar="COL,...",
            help="Columns of --rows that cannot be changed, such as age.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="P",
            help="Of two classes, the probability above which the positive class is chosen.",
            callback=within(0, 1),
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help=f"List all weights, including curves and interactions, instead of the {N_LISTED_WEIGHTS} largest.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the weights of a saved model with intervals and odds ratios, its evidence, and warnings.

    With --rows, explain single predictions: what each column contributes, and what would change the decision.
    """
    printer = Printer(as_json=as_json)
    saved, names = files.load_model(model, of_tables=True, with_rule=True)
    fitted = files.table_model_of(saved)
    _require_rows(rows, {"--row": row, "--where": where, "--fixed": fixed, "--threshold": threshold})
    if rows is None:
        label = class_label(fitted.classes_.tolist(), positive or names.get("positive"))
        print_model(model, fitted, names, label, level, printer, everything=everything)
        return
    if threshold is not None and saved is not fitted:
        raise CommandError("usage", "--threshold: the model was saved with --costs, which decide. Leave it out.")
    if threshold is not None and len(fitted.classes_) > 2:
        raise CommandError("usage", f"--threshold needs two classes, but the model has {len(fitted.classes_)}.")
    inputs, still = fitted.encoder_.schema_.inputs, names_among(fixed, fitted.encoder_.schema_.inputs)
    for name in still:
        if name not in inputs:
            problem = f"--fixed {name}: the model has no column {name!r}.{did_you_mean(name, inputs)}"
            raise CommandError("usage", problem)
    chosen = positive or (names.get("positive") if len(fitted.classes_) == 2 else None)
    options = {
        "level": level,
        "label": None if chosen is None else class_label(fitted.classes_.tolist(), chosen),
        "fixed": still,
        "threshold": threshold,
    }
    found = explain_rows_of(saved, rows, row or (), where or (), printer, **options)
    printer.document({"name": names.get("model"), "target": names.get("target"), **found})


def print_model(
    model: str, fitted: Any, names: dict[str, str], label: Any, level: float, printer: Printer, *, everything: bool
) -> None:
    """Print weights, curves, interactions and evidence of a table classifier; ``model`` is the name of its file."""
    from separatrix.report import merge_two_levels, steps_of
    from separatrix.study import captured, notes_on_model
    from separatrix.table_model import INTERCEPT
    from separatrix.table_model import explain as explain_model

    estimator, schema, classes = fitted.estimator_, fitted.encoder_.schema_, fitted.classes_.tolist()
    many = len(classes) > 2
    with stages("Computing weights and intervals", hidden=printer.as_json), captured() as warned:
        whole = explain_model(fitted, level, label, intercept=True)
    found, intercepts = [c for c in whole if c.name != INTERCEPT], [c for c in whole if c.name == INTERCEPT]
    weights, curves = sorted(found, key=lambda c: -abs(c.per_spread)), curves_of(fitted, found)
    pieces = {piece.name for curve in curves for piece in curve.pieces}
    parts = pieces | {c.name for c in weights if c.column not in schema.inputs}  # of curves, and of interactions
    listed = [c for c in merge_two_levels(weights, schema) if everything or c.name not in parts]
    steps, evidence = steps_of(listed, schema), output.evidence_of(estimator)
    interactions = fitted.interactions_
    of_model = (str(note) for note in notes_on_model(fitted, warned) if note.topic != "effects")
    on_leaks, leaks = names.get("leak", "").splitlines(), names.get("leaks", "").splitlines()
    notes = list(dict.fromkeys([*schema.notes, *of_model]))

    more = f" and {len(classes) - 8} more" if len(classes) > 8 else ""
    target = f"target {names['target']}, " if "target" in names else ""
    name = names.get("model", type(estimator).__name__)
    printer.text(f"{model}: {name}; {target}classes {', '.join(map(str, classes[:8]))}{more}.")
    printer.notes(on_leaks, output.LEAK_TITLE)
    if whole:
        shown = listed if everything else listed[:N_LISTED_WEIGHTS]
        printer.heading(f"Weights, strongest first ({len(shown)} of {len(listed)})")
        printer.text(_weight_table([*shown, *intercepts], steps, leaks, level, has_classes=many))
        if len(shown) < len(listed):
            printer.text(f"{len(listed) - len(shown)} more with --all.")
    if curves:
        printer.heading("Curves, widest range first")
        printer.text(*_curve_table(curves[:N_LISTED_WEIGHTS], leaks, has_classes=many))
    if interactions is not None:
        printer.heading("Interactions")
        at = "" if everything or not interactions.pairs else " Their weights are listed with --all."
        printer.text(interactions.describe() + at)
    printer.text("", _meaning_of_weights(fitted, found, has_curves=bool(curves)))
    if evidence is not None:
        printer.heading("Evidence" + (f" of {fitted.n_rows_:,} training rows" if fitted.n_rows_ else ""))
        printer.text(
            f"ln p(D) {evidence['log_evidence']:.1f} = log-likelihood {evidence['log_likelihood']:.1f} "
            f"+ Occam factor {evidence['occam_factor']:.1f}",
            f"{evidence['effective_parameters']:.1f} effective parameters; BIC {evidence['bic']:.1f}, "
            f"AIC {evidence['aic']:.1f}",
        )
    printer.notes(notes)
    printer.document(
        {
            "model": type(estimator).__name__,
            "name": names.get("model"),
            "target": names.get("target"),
            "classes": classes,
            "positive": label if found else None,
            "columns": output.column_list(schema),
            "level": level,
            "coefficients": output.coefficient_list(weights),
            "intercepts": output.coefficient_list(intercepts),
            "curves": [{"name": c.name, "class": c.label, "knots": c.knots, "log_odds": c.log_odds} for c in curves],
            "interactions": None if interactions is None else interactions._asdict(),
            "evidence": evidence,
            "notes": [*on_leaks, *notes],
        }
    )


def _require_rows(rows: str | None, given: dict[str, Any]) -> None:
    """Raise if options that refer to --rows are given without it."""
    for name in (name for name, value in given.items() if value is not None and value != []):
        if rows is None:
            raise typer.BadParameter("it refers to the rows of a table: add --rows DATA.", param_hint=name)


def _weight_table(
    weights: Sequence[Coefficient], steps: dict[str, Step], leaks: Sequence[str], level: float, *, has_classes: bool
) -> TextTable:
    """Weights and intercepts; the size of weights that only the prior limits is not stated."""
    from separatrix.report import NOT_DETERMINED, effect_text, is_stated
    from separatrix.table_model import INTERCEPT

    stated = [is_stated(c, steps.get(c.name), leaks) for c in weights]
    effects = [effect_text(c, steps.get(c.name), leaks) for c in weights]
    if leaks or not all(stated):
        for i, c in enumerate(weights):
            if c.name == INTERCEPT:  # it cancels those weights, and has their size
                stated[i], effects[i] = False, NOT_DETERMINED
    return output.coefficient_table(weights, effects, stated, level, has_classes=has_classes)


def _curve_table(curves: Sequence[Curve], leaks: Sequence[str], *, has_classes: bool) -> list[TextTable | str]:
    """Curves, and sentences on those that give the class away."""
    from separatrix.report import GIVES_AWAY

    heads = ("column", *(("class",) if has_classes else ()), "from", "to", "log-odds", "range")
    table = TextTable(*heads, right=(len(heads) - 1,))
    for curve in curves:
        ends = (f"{curve.knots[0]:.4g}", f"{curve.knots[-1]:.4g}")
        of_class = (str(curve.label),) if has_classes else ()
        span = "" if curve.name in leaks else f"{curve.span:.2f}"
        table.add_row(curve.name, *of_class, *ends, sparkline(curve.log_odds), span)
    shown = {curve.name for curve in curves}
    return [table, *(f"{name}: {GIVES_AWAY}." for name in leaks if name in shown)]


def _meaning_of_weights(model: Any, weights: Sequence[Coefficient], *, has_curves: bool) -> str:
    """Explanation of the weights, or the reason why the model has none."""
    from separatrix.study import PriorOnly

    if not weights:
        is_prior = isinstance(model.estimator_, PriorOnly)
        reason = "it predicts the class proportions for every row" if is_prior else "its boundary is not a hyperplane"
        return f"This model has no weights: {reason}."
    side, classes = weights[0].label, model.classes_.tolist()
    if len(classes) > 2:
        toward = "its class against the geometric mean of all classes"
    else:
        other = classes[0] if side == classes[1] else classes[1]
        toward = f"{side} against {other} (--positive {quote(str(other))} switches)"
    text = (
        f"'odds' is the factor on the odds of {toward} for a step of the feature. A weight is the change of the "
        "log-odds for one unit of the feature, or for a level compared with the average level; 'per sd' is the weight "
        "of one standard deviation. The intercept is the log-odds if numbers are 0 and levels are average."
    )
    if any(plan.kind == "text" for plan in model.encoder_.schema_.plans):
        text += " 'if it occurs' compares a text with the word or pair, at its typical weight, with a text without it."
    curves = " A curve shows the log-odds at the knots; 'range' is their maximum minus minimum." * has_curves
    return text + curves


class Curve(NamedTuple):
    """Log-odds of a class along one column, relative to the first knot, and the weights whose sums they are."""

    name: str
    label: Any
    knots: tuple[float, ...]
    log_odds: tuple[float, ...]
    pieces: tuple[Coefficient, ...]

    @property
    def span(self) -> float:
        return max(self.log_odds) - min(self.log_odds)


def curves_of(model: Any, weights: Sequence[Coefficient]) -> list[Curve]:
    """Curves of a table classifier, widest range first; empty if it has none."""
    import numpy as np

    from separatrix.table_model import Ramps

    basis = getattr(model.estimator_, "basis_", None)
    if not isinstance(basis, Ramps):
        return []
    functions, schema = basis.functions_, model.encoder_.schema_
    columns, is_listed = schema.columns, ~model.is_new_level_
    n_weights, n_straight = is_listed.sum(), is_listed[: len(functions.straight)].sum()
    curves = []
    for start in range(0, len(weights), n_weights):  # one block of weights for each class
        bent = weights[start + n_straight : start + n_weights]
        for d, knots in functions.knots.items():
            pieces = tuple(bent[j] for j in np.flatnonzero(functions.bent == d).tolist())
            log_odds = np.cumsum([0.0, *(piece.weight for piece in pieces)])
            curves.append(Curve(columns[d], pieces[0].label, tuple(knots.tolist()), tuple(log_odds.tolist()), pieces))
    return sorted(curves, key=lambda curve: -curve.span)


def sparkline(values: Sequence[float]) -> str:
    """One block character per value, whose height shows the value.

    >>> sparkline([0.0, 1.0, 2.0, 7.0])
    '▁▂▃█'
    """
    low, high = min(values), max(values)
    step = (high - low) / (len(BLOCKS) - 1) or 1.0
    return "".join(BLOCKS[round((value - low) / step)] for value in values)


@command(
    "separatrix plot model.sx --kind coefficients -o weights.png",
    "separatrix plot model.sx held_out.csv --kind reliability -o calibration.svg",
    "separatrix plot two_columns.sx data.csv --kind boundary -o regions.pdf",
    "separatrix plot two_columns.sx data.csv --kind likelihood -o surface.png",
)
def plot(
    model: Saved,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Labelled rows; optional for coefficients.", show_default=False),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            "-k",
            metavar="KIND",
            help=f"One of {', '.join(PICTURES)}.",
            autocompletion=complete_from(PICTURES),
        ),
    ] = "coefficients",
    picture_file: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help=f"Picture file ({', '.join(PICTURE_ENDINGS)}).")
    ] = "plot.png",
    target: Labels = None,
    positive: Positive = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw one picture of a saved model.

    Some kinds need a certain model: two columns for boundary, probability and uncertainty; one column for density; a
    linear model for projection; a logistic model of two columns and two classes for likelihood; radial basis functions
    for evidence.
    """
    from separatrix.study import captured

    if kind not in PICTURES:
        raise typer.BadParameter(f"there is no picture {kind!r}.{did_you_mean(kind, PICTURES)}", param_hint="--kind")
    files.require_ending(picture_file, PICTURE_ENDINGS, what="a picture")
    files.require_free([picture_file], force=force, inputs=[model, data])
    if data is None and kind != "coefficients":
        raise typer.BadParameter(f"a picture of kind {kind} needs labelled rows.", param_hint="DATA")
    if positive is not None and kind not in POSITIVE_KINDS:
        raise typer.BadParameter(f"a picture of kind {kind} shows all classes.", param_hint="--positive")
    fitted, names = files.load_model(model)
    label = class_label(fitted.classes_.tolist(), positive or names.get("positive"))
    with stages(f"Drawing {kind}", hidden=as_json), captured() as warned:
        figure = _figure(kind, fitted, data, target or names.get("target"), label)
        content = BytesIO()
        figure.savefig(content, format=picture_file.rpartition(".")[2].lower(), dpi=150, bbox_inches="tight")
    files.write_together({picture_file: content.getvalue()}, force=force)
    _finish(Printer(as_json=as_json), {"picture": picture_file}, {"kind": kind}, list(map(str, warned)))


def _figure(kind: str, fitted: Any, data: str | None, target: str | None, positive: Any) -> Any:
    from separatrix.exceptions import optional_import

    with optional_import("Plots need matplotlib", "plots"):
        import matplotlib as mpl
    mpl.use("Agg")  # draw without a window
    import numpy as np

    from separatrix import plots
    from separatrix.report import one_against_rest
    from separatrix.study import HeldOut
    from separatrix.table_model import TableClassifier
    from separatrix.table_model import explain as explain_model

    (name, n_columns, response), estimator = PICTURES[kind], getattr(fitted, "estimator_", fitted)
    display = getattr(plots, name)
    if kind == "coefficients" and isinstance(fitted, TableClassifier):
        found = explain_model(fitted, WHISKER_LEVEL, positive)
        if not found:
            raise CommandError("data", f"{type(estimator).__name__} has no weights to draw. Draw --kind reliability.")
        labels = list(dict.fromkeys(c.label for c in found))
        weights = np.array([[c.weight, c.lower, c.upper] for c in found]).reshape(len(labels), -1, 3)
        names = [c.name for c in found if c.label == labels[0]]
        # If rows are given, weights are per standard deviation. Levels that did not occur in training are not drawn.
        spread = None if data is None else fitted.spread_[~fitted.is_new_level_]
        bounds = np.moveaxis(weights, 2, 0)
        return display.from_values(names, *bounds, labels=labels, level=WHISKER_LEVEL, spread=spread).figure_
    if data is None:
        return display.from_estimator(fitted).figure_
    X, y = _rows(fitted, data, target, needs_labels=kind != "coefficients", most=MAX_SURFACE_ROWS.get(kind))
    if n_columns not in (None, X.shape[1]):
        needed = counted(n_columns or 0, "column")
        raise CommandError(
            "data",
            f"A picture of kind {kind} needs a model of {needed} of numbers; this one has {X.shape[1]}. Fit a model to "
            f"{needed} (--drop the others), or draw coefficients or reliability.",
        )
    if y is None:
        return display.from_estimator(estimator, X).figure_
    if kind == "reliability":
        classes = np.asarray(estimator.classes_)
        place = {label: k for k, label in enumerate(classes.tolist())}
        held = HeldOut(
            np.array([place[label] for label in y.tolist()]), np.asarray(estimator.predict_proba(X)), classes
        )
        held = held if positive is None else one_against_rest(held, place[positive])
        return display.from_predictions(held.P, held.codes, classes=held.classes).figure_
    options = {} if response is None else {"response": response}
    if kind in MAX_SURFACE_ROWS:
        what = "Evidence" if kind == "evidence" else "Negative log-likelihood"
        options["title"] = f"{what} of {counted(len(y), 'row')}"
    return display.from_estimator(estimator, X, y, **options).figure_


def _rows(fitted: Any, data: str, target: str | None, *, needs_labels: bool, most: int | None) -> tuple[Any, Any]:
    """Features and labels of at most ``most`` rows with a known label; labels are None if they are not needed."""
    import numpy as np

    from separatrix.study import BatchScorer

    if target is None and needs_labels:
        raise CommandError("data", "The model does not contain the name of its target. Name the column: --target COL")
    scorer = BatchScorer(fitted, target=target)
    table = files.open_input(data, scorer.types)
    files.require_columns(table, scorer.inputs, why="the model needs")
    if not needs_labels or target is None:
        return scorer.features(files.read_rows(table)), None
    files.require_columns(table, [target], why="is the target (--target names another)")
    rows = files.read_rows(table)
    codes = scorer.codes(rows.column(target))
    known = np.flatnonzero(codes >= 0)
    if not len(known):
        reason = f"{scorer.counts.label_problem} Name the column of labels: --target COL".strip()
        raise CommandError("data", f"{table.path}: no value of {target!r} is a class of the model. {reason}")
    if most is not None and len(known) > most:
        text = (
            f"Drawn from {most:,} of {counted(len(known), 'row')}, evenly spread; with all rows the surface is steeper."
        )
        warnings.warn(text, stacklevel=2)  # collected as a note
        known = known[np.linspace(0, len(known) - 1, most).astype(np.intp)]
    return scorer.features(rows.take(known)), scorer.classes[codes[known]]


@command("separatrix export model.sx -o model.onnx")
def export(
    model: Saved,
    onnx_file: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="ONNX file (.onnx).", show_default=False)
    ],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a saved model as ONNX, which runs without Python."""
    from separatrix.study import captured

    files.require_ending(onnx_file, [".onnx"], what="an ONNX model")
    files.require_free([onnx_file], force=force, inputs=[model])
    saved, _ = files.load_model(model, with_rule=True)
    fitted = files.table_model_of(saved) or saved
    from separatrix.export import to_onnx

    with captured() as warned, writing(onnx_file):
        to_onnx(fitted, onnx_file, force=force)
        written.append(onnx_file)
    document = {"model": type(fitted).__name__}
    is_rule = saved is not fitted
    notes = [*map(str, warned), *[ONNX_RULE] * is_rule]
    _finish(Printer(as_json=as_json), {"onnx": onnx_file}, document, notes)


def _finish(printer: Printer, outputs: dict[str, str], document: dict[str, Any], notes: list[str]) -> None:
    printer.notes(notes)
    printer.text(f"Written: {', '.join(outputs.values())}")
    printer.document(document | {"notes": notes, "files": outputs})
