# SPDX-License-Identifier: BSD-3-Clause
"""The verbs under one name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from separatrix.cli import compare, datasets, demo, explain, export, fit, plot, predict, report
from separatrix.cli.console import Voice
from separatrix.cli.group import Verbs
from separatrix.cli.options import Json

__all__ = ["app", "command"]

CODES = (
    "[bold]Exit codes[/bold]  0 done, 1 unexpected error, 2 wrong usage, 3 bad data or file, 4 output exists or cannot "
    "be written, 130 stopped with Ctrl-C."
)
START = (
    "[bold]Start with[/bold]  separatrix demo, or separatrix fit DATA --target COL; separatrix VERB --help has "
    "examples. --debug anywhere shows where an error comes from."
)

app = typer.Typer(
    name="separatrix",
    cls=Verbs,
    help="Linear classification with honest probabilities: from a file to a decision.",
    epilog=f"{START}\n\n{CODES}",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    as_json: Json = False,
) -> None:
    """What to do where no verb is named."""
    if version:
        from separatrix import __version__

        voice = Voice(as_json=as_json)
        voice.say(f"separatrix {__version__}")
        voice.finish({"version": __version__})
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _paragraphs(verb: Any) -> str:
    """The docstring with each paragraph on one line: terminals differ in width, and typer keeps line breaks."""
    return "\n\n".join(" ".join(part.split()) for part in str(verb.__doc__).split("\n\n"))


for module, verb in (
    (fit, fit.fit),
    (compare, compare.compare),
    (predict, predict.predict),
    (explain, explain.explain),
    (report, report.report),
    (plot, plot.plot),
    (export, export.export),
    (datasets, datasets.datasets),
    (demo, demo.demo),
):
    app.command(help=_paragraphs(verb), epilog=module.EXAMPLES)(verb)


def command() -> Any:
    """Run the command line of this process."""
    return typer.main.get_command(app)()
