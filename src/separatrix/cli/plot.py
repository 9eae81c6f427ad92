# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix plot``: one picture of a saved model, as a file; ``separatrix export``: the model itself, as ONNX."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, NamedTuple

import typer

from separatrix.cli.console import Voice, steps
from separatrix.cli.errors import CommandError, writing, wrote
from separatrix.cli.files import require_ending, require_free, write_together
from separatrix.cli.options import Force, Json, Positive, Saved, examples, nearest

__all__ = ["VERBS", "export", "plot"]

ENDINGS = (".png", ".svg", ".pdf")
LEVEL = 0.95  # of whiskers
SIDED = ("coefficients", "reliability")  # pictures that are told for one of the classes
SURFACES = {"likelihood": 20_000, "evidence": 2_000}  # rows of each at most: every cell is a pass, or a fit


class Picture(NamedTuple):
    """The display that draws it; the number of columns it is of, None for any; and what its response is called."""

    display: str
    n_columns: int | None = None
    response: str | None = None


PICTURES = {
    "coefficients": Picture("CoefficientDisplay"),
    "reliability": Picture("ReliabilityDisplay"),
    "projection": Picture("ProjectionDisplay"),
    "boundary": Picture("DecisionBoundaryDisplay", 2, "regions"),
    "probability": Picture("DecisionBoundaryDisplay", 2, "probability"),
    "uncertainty": Picture("DecisionBoundaryDisplay", 2, "uncertainty"),
    "density": Picture("ClassDensityDisplay", 1),
    "likelihood": Picture("LikelihoodSurfaceDisplay", 2),
    "evidence": Picture("EvidenceSurfaceDisplay"),
}


def _known(kind: str) -> str:
    if kind not in PICTURES:
        raise typer.BadParameter(f"there is no picture {kind!r}. {nearest(kind, PICTURES)}")
    return kind


def plot(
    model: Saved,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Labelled rows; all kinds but coefficients need them.", show_default=False),
    ] = None,
    kind: Annotated[
        str, typer.Option("--kind", "-k", metavar="KIND", help=f"One of {', '.join(PICTURES)}.", callback=_known)
    ] = "coefficients",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help=f"Where to: {', '.join(ENDINGS)}.")
    ] = "plot.png",
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COL", help="The labels; by default as at the fit.")
    ] = None,
    positive: Positive = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw one picture of a saved model.

    boundary, probability and uncertainty are of models of two columns, density of one; projection of linear models;
    likelihood of logistic models of two columns and two classes, evidence of models with radial basis functions.
    """
    from separatrix.cli.files import load_model
    from separatrix.study import captured

    require_ending(output, ENDINGS, what="a picture")
    require_free([output], force=force, inputs=[model, data])
    if data is None and kind != "coefficients":
        raise typer.BadParameter(f"a picture of kind {kind} needs labelled rows.", param_hint="DATA")
    if positive is not None and kind not in SIDED:
        raise typer.BadParameter(f"a picture of kind {kind} shows all classes.", param_hint="--positive")
    fitted, names = load_model(model)
    target, positive = target or names.get("target"), positive or names.get("positive")
    with steps(f"Drawing {kind}", hidden=as_json), captured() as warned:
        drawn = _drawn(_figure(kind, fitted, data, target, positive), output)
    write_together({output: drawn})
    _finish(Voice(as_json=as_json), "picture", output, {"kind": kind}, list(map(str, warned)))


def _figure(kind: str, fitted: Any, data: str | None, target: str | None, positive: str | None) -> Any:
    """The figure; matplotlib is told beforehand that there is no window to draw in."""
    from separatrix import plots
    from separatrix.cli import surfaces
    from separatrix.cli.studies import positive_of
    from separatrix.study import TableClassifier

    _use_no_window()
    picture = PICTURES[kind]
    display = getattr(plots, picture.display)
    estimator = getattr(fitted, "estimator_", fitted)
    if kind == "coefficients" and isinstance(fitted, TableClassifier):
        return _weights(display, fitted, positive, per_spread=data is not None)
    if data is None:
        return display.from_estimator(fitted).figure_
    if kind in SURFACES:
        surfaces.require(kind, estimator)
    X, y = _rows(fitted, data, target, needs_labels=kind != "coefficients", most=SURFACES.get(kind))
    _require_width(X, picture)
    if y is None:
        return display.from_estimator(estimator, X).figure_
    if kind == "reliability":
        return _reliability(display, estimator, X, y, positive_of(fitted.classes_.tolist(), positive))
    if kind in SURFACES:
        return surfaces.draw(kind, estimator, X, y)
    response = {} if picture.response is None else {"response": picture.response}
    return display.from_estimator(estimator, X, y, **response).figure_


def _weights(display: Any, fitted: Any, positive: str | None, *, per_spread: bool) -> Any:
    """The weights as `explain` has them, under the names of the columns; with rows, per standard deviation."""
    import numpy as np

    from separatrix.cli.explain import weights_for
    from separatrix.cli.studies import positive_of

    found = weights_for(fitted, LEVEL, positive_of(fitted.classes_.tolist(), positive))
    if not found:
        raise CommandError("data", f"{type(fitted.estimator_).__name__} has no weights to draw. Draw reliability.")
    labels = list(dict.fromkeys(c.label for c in found))
    names = [c.name for c in found if c.label == labels[0]]
    numbers = np.array([[c.weight, c.lower, c.upper] for c in found]).reshape(len(labels), len(names), 3)
    return display.from_values(
        names,
        *np.moveaxis(numbers, 2, 0),
        labels=labels,
        level=LEVEL,
        spread=fitted.spread_ if per_spread else None,
    ).figure_


def _reliability(display: Any, estimator: Any, X: Any, y: Any, side: Any) -> Any:
    """Of the class of interest, where there is one; else of the most probable class."""
    import numpy as np

    from separatrix.report import one_against_rest
    from separatrix.study import HeldOut

    P, classes = np.asarray(estimator.predict_proba(X)), np.asarray(estimator.classes_)
    place = {label: k for k, label in enumerate(classes.tolist())}
    held = HeldOut(np.array([place[label] for label in y.tolist()]), P, classes)
    held = held if side is None else one_against_rest(held, place[side])
    return display.from_predictions(held.P, held.codes, classes=held.classes).figure_


def _rows(
    fitted: Any, data: str, target: str | None, *, needs_labels: bool, most: int | None = None
) -> tuple[Any, Any]:
    """The numbers that the estimator is given, of the rows with a label or at most so many of them, and the labels."""
    import numpy as np

    from separatrix.cli.files import open_data, read_rows, require_columns
    from separatrix.cli.scoring import Scorer

    if target is None and needs_labels:
        raise CommandError("data", "The model does not say which column it predicts. Name it: --target COL")
    scorer = Scorer(fitted, level=None, target=target)
    table = open_data(data, scorer.types)
    require_columns(table, scorer.inputs, why="the model needs")
    if not needs_labels or target is None:
        return scorer.numbers(read_rows(table)), None
    require_columns(table, [target], why="is the target")
    rows = read_rows(table)
    codes = scorer.codes(rows.column(target))
    known = np.flatnonzero(codes >= 0)
    if not len(known):
        raise CommandError(
            "data", f"{table.path}: no row of {target!r} is one of the model's classes. {scorer.marks.doubt}"
        )
    if most is not None and len(known) > most:
        text = f"Drawn from {most:,} of the {len(known):,} rows, evenly spread: with all of them it is steeper."
        warnings.warn(text, stacklevel=2)  # which the caller collects as notes
        known = known[np.linspace(0, len(known) - 1, most).astype(np.intp)]
    return scorer.numbers(rows.take(known)), scorer.classes[codes[known]]


def _require_width(X: Any, picture: Picture) -> None:
    if picture.n_columns not in (None, X.shape[1]):
        raise CommandError(
            "data",
            f"This picture is of models of {_columns(picture.n_columns)} of numbers; this one has {X.shape[1]}. Fit "
            f"one to {_columns(picture.n_columns)} (--drop the others), or draw coefficients or reliability.",
        )


def _columns(n: int | None) -> str:
    return "one column" if n == 1 else f"{n} columns"


def _use_no_window() -> None:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("Pictures need matplotlib: pip install 'separatrix[plots]'") from missing
    mpl.use("Agg")


def _drawn(figure: Any, output: str) -> bytes:
    """The picture as the bytes of its file."""
    import io

    drawn = io.BytesIO()
    figure.savefig(drawn, format=output.rpartition(".")[2].lower(), dpi=150, bbox_inches="tight")
    return drawn.getvalue()


def export(
    model: Saved,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to, ending in .onnx.", show_default=False)
    ],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a saved model as ONNX, which runs without Python."""
    from separatrix.cli.files import load_model
    from separatrix.study import captured

    require_ending(output, [".onnx"], what="a model for other languages")
    require_free([output], force=force, inputs=[model])
    fitted, _ = load_model(model)
    from separatrix.export import to_onnx

    with captured() as warned, writing(output):
        to_onnx(fitted, output, force=force)
        wrote(output)
    _finish(Voice(as_json=as_json), "onnx", output, {"model": type(fitted).__name__}, list(map(str, warned)))


def _finish(voice: Voice, what: str, output: str, document: dict[str, Any], notes: list[str]) -> None:
    voice.notes(notes)
    voice.say(f"Written: {output}")
    voice.finish(document | {"notes": notes, "files": {what: output}})


VERBS = (
    (
        plot,
        examples(
            "separatrix plot model.sx --kind coefficients -o weights.png",
            "separatrix plot model.sx held_out.csv --kind reliability -o calibration.svg",
            "separatrix plot two_columns.sx data.csv --kind boundary -o regions.pdf",
            "separatrix plot two_columns.sx data.csv --kind likelihood -o surface.png",
        ),
    ),
    (export, examples("separatrix export model.sx -o model.onnx")),
)
