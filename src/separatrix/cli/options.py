# SPDX-License-Identifier: BSD-3-Clause
"""What is typed after a verb: the options that verbs share, and their text as values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

__all__ = [
    "Data",
    "Drop",
    "Force",
    "Json",
    "Level",
    "Models",
    "Positive",
    "Saved",
    "Seed",
    "Target",
    "TestShare",
    "Types",
    "examples",
    "model_names",
    "names_among",
    "nearest",
    "split_types",
]

TYPES = ("number", "boolean", "categorical", "date", "drop")
# Words to type for the models of a study, whose names are made to be read.
MODELS = {
    "prior": "prior only",
    "bayes": "naive Bayes",
    "linear": "linear discriminant",
    "quadratic": "quadratic discriminant",
    "logistic": "logistic (Bayesian)",
    "curved": "curved logistic (Bayesian)",
}


def _within(low: float, high: float) -> object:
    """A check that a number lies strictly between two others, which typer's own ranges do not have."""

    def check(value: float) -> float:
        if not low < value < high:
            raise typer.BadParameter(f"{value:g} is not between {low:g} and {high:g}.")
        return value

    return check


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A table: CSV, TSV, JSON lines, Parquet, Arrow, Excel, SQLite or DuckDB, plain or compressed; - is CSV "
        "from standard input, FILE::NAME a table or sheet of a file.",
        show_default=False,
    ),
]
Saved = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model that fit has saved, such as model.sx.", show_default=False)
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COL", help="The column to predict.", show_default=False)
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--types",
        metavar="COL=TYPE,...",
        help=f"What columns are, where the inference is wrong: {', '.join(TYPES)}.",
        show_default=False,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL", help="A column to leave out; may be repeated.", show_default=False),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--models",
        metavar="NAME,...",
        help=f"Only some of {', '.join(MODELS)}; by default all that suit the table.",
        show_default=False,
    ),
]
TestShare = Annotated[
    float,
    typer.Option("--test-share", metavar="SHARE", help="Share of rows held out to judge by.", min=0.01, max=0.5),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of the split into training and test rows.", min=0)]
Level = Annotated[
    float, typer.Option("--level", metavar="P", help="Probability that intervals hold.", callback=_within(0, 1))
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="The class that odds, effects and decisions are told for: of two by default the rarer; one of more is "
        "seen against all others.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on standard output.")]


def examples(*lines: str) -> str:
    """The end of a help text: commands to type, one in a line, as typer's rich help lays them out."""
    return "\n\n".join(["[bold]Examples[/bold]", *("  " + line.replace("[", "\\[") for line in lines)])


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence for a word that is not known: those it is near to, or all there are.

    Examples
    --------
    >>> nearest("lobster", ["loans", "lobsters"])
    "Did you mean 'lobsters'?"
    """
    from separatrix._text import did_you_mean

    return did_you_mean(word, known).strip()


def names_among(values: Iterable[str] | None, known: Iterable[str]) -> list[str]:
    """Names between commas, of an option that may be repeated; one that holds commas itself is not split."""
    names = set(known)
    parts = ([value] if value in names else value.split(",") for value in values or ())
    return [name.strip() for part in parts for name in part if name.strip()]


def model_names(values: Iterable[str] | None) -> tuple[str, ...]:
    """What was typed after ``--models`` as the names of the models."""
    names = names_among(values, MODELS.values())
    for name in names:
        if name not in MODELS and name not in MODELS.values():
            raise typer.BadParameter(f"there is no model {name!r}. {nearest(name, MODELS)}", param_hint="--models")
    return tuple(MODELS.get(name, name) for name in names)


def split_types(values: Iterable[str] | None) -> dict[str, str]:
    """``["age=number,zip=categorical"]`` as a mapping; names may hold commas and equal signs.

    Examples
    --------
    >>> split_types(["age=number,size, in mm=number", "a=b=date"])
    {'age': 'number', 'size, in mm': 'number', 'a=b': 'date'}
    """
    types: dict[str, str] = {}
    for value in values or ():
        begun = ""
        for part in value.split(","):
            name, equals, kind = (begun + part).rpartition("=")
            if equals and kind.strip().lower() in TYPES:
                types[name.strip()] = kind.strip().lower()
                begun = ""
            else:
                begun += part + ","
        if begun:
            raise typer.BadParameter(
                f"{begun[:-1]!r} is not COL=TYPE with a type among {', '.join(TYPES)}.", param_hint="--types"
            )
    return types
