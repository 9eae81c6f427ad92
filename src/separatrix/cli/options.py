# SPDX-License-Identifier: BSD-3-Clause
"""Options shared by several commands, and functions that parse them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from os.path import isfile
from typing import Annotated, Any, TypeVar

import typer

from separatrix._text import did_you_mean

TYPES = ("number", "boolean", "categorical", "date", "text", "drop")
# Short names for --models.
MODELS = {
    "prior": "prior only",
    "bayes": "naive Bayes",
    "linear": "linear discriminant",
    "quadratic": "quadratic discriminant",
    "validated": "logistic (cross-validated)",
    "logistic": "logistic (Bayesian)",
    "curved": "curved logistic (Bayesian)",
    "interactions": "curved logistic with interactions (Bayesian)",
    "radial": "radial logistic (Bayesian)",
    "combination": "combination",
}

COMMANDS: dict[str, tuple[Callable[..., None], str]] = {}  # function and end of the help text, by name of the command
Command = TypeVar("Command", bound=Callable[..., Any])


def _check_level(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} is not between 0 and 1.")
    return value


def within(low: float, high: float = inf) -> Callable[[float | None], float | None]:
    """Callback that checks the range of an option; the help states it in words, unlike typer's ``[x>=0]``."""

    def check(value: float | None) -> float | None:
        if value is not None and not low <= value <= high:
            allowed = f"at least {low:g}" if high == inf else f"between {low:g} and {high:g}"
            raise typer.BadParameter(f"{value:g} is not {allowed}.")
        return value

    return check


def complete_from(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Completion of the last of some names that are separated by commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known if name.startswith(last) and name not in before.split(",")]

    return complete


def complete_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completion of columns of the table that the command line names."""
    return complete_from(_columns_of(ctx))(incomplete)


def complete_types(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completion of ``COL=TYPE``."""
    return complete_from([f"{name}={kind}" for name in _columns_of(ctx) for kind in TYPES])(incomplete)


def _columns_of(ctx: typer.Context) -> list[str]:
    from separatrix.cli.files import open_input

    # While an option has no value yet, typer leaves all arguments in ctx.args. A pipe could be read only once.
    given = [data for data in (ctx.params.get("data"), *ctx.args) if data and not data.endswith(".sx")]
    tables = [data for data in given if isfile(data.partition("::")[0])]
    try:
        return list(open_input(tables[0], {}).columns) if tables else []
    except Exception:  # the shell has no place for an error; the command itself reports it
        return []


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Table: CSV, TSV, JSON lines, Parquet, Arrow, Excel, SQLite or DuckDB, also compressed. FILE::NAME is a "
        "table or sheet in a file; - reads CSV from standard input.",
        show_default=False,
    ),
]
Saved = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model saved by fit, such as model.sx.", show_default=False)
]
column_option = partial(typer.Option, metavar="COL", show_default=False, autocompletion=complete_columns)
Target = Annotated[
    str,
    column_option(
        "--target",
        "-t",
        help="Column to predict.",
    ),
]
Labels = Annotated[
    str | None,
    column_option(
        "--target",
        "-t",
        help="Column of true labels; by default the target of the fit.",
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--types",
        metavar="COL=TYPE,...",
        help=f"Set the type of a column instead of inferring it: {', '.join(TYPES)}.",
        show_default=False,
        autocompletion=complete_types,
    ),
]
Drop = Annotated[
    list[str] | None,
    column_option(
        "--drop",
        help="Column to drop; may be repeated.",
    ),
]
WeightIfAny = Annotated[
    str | None,
    column_option(
        "--weight",
        help="Column of weights of the rows; by default that of the fit, if the table has it.",
    ),
]
Weight = Annotated[
    str | None,
    column_option(
        "--weight",
        help="Column of weights, which is no feature: a row of weight k counts as k copies of it.",
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--models",
        metavar="NAME,...",
        help=f"Models to compare: {', '.join(MODELS)}; by default all that suit the table.",
        show_default=False,
        autocompletion=complete_from(MODELS),
    ),
]
TestShare = Annotated[
    float,
    typer.Option(
        "--test-share",
        metavar="FRACTION",
        help="Fraction of rows held out for testing, from 0.01 to 0.5. Tables of up to 20,000 rows are cross-validated "
        "in 1 / FRACTION folds instead, if the time suffices.",
        callback=within(0.01, 0.5),
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="Random seed of the split into test rows or folds.", callback=within(0)),
]
Time = Annotated[
    float,
    typer.Option(
        "--time",
        metavar="SECONDS",
        help="Approximate time of the study. Models that would take too long are fitted to fewer rows or not tried.",
        callback=within(1),
    ),
]
Level = Annotated[
    float, typer.Option("--level", metavar="P", help="Probability level of intervals.", callback=_check_level)
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="Positive class, which odds, effects and decisions refer to. Default for two classes: the one "
        "that means yes (1, true, ja, ...), else the rarer one. With more classes, it is compared with all others.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output files.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on standard output.")]


def command(*examples: str) -> Callable[[Command], Command]:
    """Register a function as a command; the examples appear at the end of its help text."""
    lines = ["[bold]Examples[/bold]", *("  " + line.replace("[", "\\[") for line in examples)]

    def register(function: Command) -> Command:
        COMMANDS[function.__name__] = (function, "\n\n".join(lines))
        return function

    return register


def names_among(values: Iterable[str] | None, known: Iterable[str]) -> list[str]:
    """Split comma-separated names of an option that may be repeated, except known names that contain commas."""
    names = set(known)
    parts = ([value] if value in names else value.split(",") for value in values or ())
    return [name.strip() for part in parts for name in part if name.strip()]


def model_names(values: Iterable[str] | None) -> list[str] | None:
    """Names of the models of ``--models``; None for all."""
    names = names_among(values, MODELS.values())
    for name in names:
        if name not in MODELS and name not in MODELS.values():
            raise typer.BadParameter(f"there is no model {name!r}.{did_you_mean(name, MODELS)}", param_hint="--models")
    return [MODELS.get(name, name) for name in names] or None


def split_types(values: Iterable[str] | None) -> dict[str, str]:
    """Parse ``["age=number,zip=categorical"]`` into a mapping; names may contain commas and equal signs.

    >>> split_types(["age=number,size, in mm=number", "a=b=date"])
    {'age': 'number', 'size, in mm': 'number', 'a=b': 'date'}
    """
    types: dict[str, str] = {}
    for value in values or ():
        start = ""
        for part in value.split(","):
            name, equals, kind = (start + part).rpartition("=")
            if equals and kind.strip().lower() in TYPES:
                types[name.strip()] = kind.strip().lower()
                start = ""
            else:
                start += part + ","
        if start:
            raise typer.BadParameter(
                f"{start[:-1]!r} is not COL=TYPE with one of the types {', '.join(TYPES)}.", param_hint="--types"
            )
    return types
