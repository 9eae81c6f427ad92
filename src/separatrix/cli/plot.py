# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix plot``: one picture of a saved model, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from separatrix.cli.console import Voice, noted
from separatrix.cli.errors import CommandError, writing
from separatrix.cli.options import Force, Json, Saved, examples, nearest
from separatrix.cli.outputs import require_ending, require_free

__all__ = ["EXAMPLES", "plot"]

ENDINGS = (".png", ".svg", ".pdf")
EXAMPLES = examples(
    "separatrix plot model.sx --kind coefficients -o weights.png",
    "separatrix plot model.sx held_out.csv --kind reliability -o calibration.svg",
    "separatrix plot two_columns.sx data.csv --kind boundary -o regions.pdf",
)


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
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw one picture of a saved model.

    boundary, probability and uncertainty are of models of two columns, density of one; projection of linear models.
    """
    from separatrix.cli.inputs import load_model

    require_ending(output, ENDINGS, what="a picture")
    require_free([output], force=force)
    if data is None and kind != "coefficients":
        raise typer.BadParameter(f"a picture of kind {kind} needs labelled rows.", param_hint="DATA")
    fitted = load_model(model)
    with noted() as warned:
        figure = _draw(PICTURES[kind], fitted, data, target)
        _save(figure, output)
    voice = Voice(as_json=as_json)
    voice.notes(warned)
    voice.say(f"Written: {output}")
    voice.finish({"kind": kind, "notes": warned, "files": {"picture": output}})


def _draw(picture: Picture, fitted: Any, data: str | None, target: str | None) -> Any:
    """The figure; matplotlib is told beforehand that there is no window to draw in."""
    from separatrix import plots

    _use_no_window()
    display = getattr(plots, picture.display)
    estimator = getattr(fitted, "estimator_", fitted)
    if data is None:
        return display.from_estimator(fitted).figure_
    X, y = _rows(fitted, data, target, needs_labels=picture.display != "CoefficientDisplay")
    _require_width(X, picture)
    if y is None:
        return display.from_estimator(estimator, X).figure_
    response = {} if picture.response is None else {"response": picture.response}
    return display.from_estimator(estimator, X, y, **response).figure_


def _rows(fitted: Any, data: str, target: str | None, *, needs_labels: bool) -> tuple[Any, Any]:
    """The numbers that the estimator is given, of the rows with a label, and the labels."""
    from separatrix.cli.inputs import open_data, read_rows, require_columns, target_of
    from separatrix.cli.scoring import Scorer

    labels = target_of(fitted, target)
    if labels is None and needs_labels:
        raise CommandError("data", "The model does not say which column it predicts. Name it: --target COL")
    scorer = Scorer(fitted, level=None, target=labels)
    table = open_data(data, scorer.categories)
    require_columns(table, scorer.inputs, why="the model needs")
    if not needs_labels or labels is None:
        return scorer.numbers(read_rows(table)), None
    require_columns(table, [labels], why="is the target")
    rows = read_rows(table)
    codes = scorer.codes(rows.column(labels))
    known = codes >= 0
    if not known.any():
        raise CommandError(
            "data", f"{table.path}: no row of {labels!r} is one of the model's classes. {scorer.marks.doubt}"
        )
    return scorer.numbers(rows.filter(known)), scorer.classes[codes[known]]


def _require_width(X: Any, picture: Picture) -> None:
    if picture.n_columns not in (None, X.shape[1]):
        raise CommandError(
            "data",
            f"This picture is of models of {picture.n_columns} columns of numbers; this one has {X.shape[1]}. Fit one "
            f"to {picture.n_columns} columns (--drop the others), or draw coefficients, reliability or projection.",
        )


def _use_no_window() -> None:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("Pictures need matplotlib: pip install 'separatrix[plots]'") from missing
    mpl.use("Agg")


def _save(figure: Any, output: str) -> None:
    """Whole or not at all: drawn in memory, then written beside its place and renamed."""
    import io

    from separatrix._writing import write_whole

    drawn = io.BytesIO()
    figure.savefig(drawn, format=output.rpartition(".")[2].lower(), dpi=150)
    with writing(output):
        write_whole(Path(output), drawn.getvalue())
