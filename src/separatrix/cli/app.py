# SPDX-License-Identifier: BSD-3-Clause
"""The typer application. Every error becomes one paragraph and an exit code; tracebacks are shown with ``--debug``."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from separatrix.cli import datasets, explain, fit, predict  # noqa: F401  # importing a module registers its commands
from separatrix.cli.console import Printer
from separatrix.cli.errors import CommandError, UsageError, failure_of, written
from separatrix.cli.options import COMMANDS, Json

EPILOG = (
    "[bold]Start with[/bold]  separatrix demo, or separatrix fit DATA --target COL. separatrix COMMAND --help shows "
    "examples; --debug shows the traceback of an error."
    "\n\n"
    "[bold]Exit codes[/bold]  0 success, 1 unexpected error, 2 wrong usage, 3 bad data or file, 4 output exists or "
    "cannot be written, 130 interrupted."
)


class Commands(TyperGroup):
    """Command group that reports errors of this package; ``--debug`` is accepted anywhere before a bare ``--``."""

    def main(  # type: ignore[override]  # other arguments are passed on
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **others: Any
    ) -> Any:
        """Run a command line, and exit."""
        words = list(sys.argv[1:] if args is None else args)
        options = words[: words.index("--")] if "--" in words else words
        debug, as_json = "--debug" in options, "--json" in options
        words = [word for word in options if word != "--debug"] + words[len(options) :]
        place = next((i for i, word in enumerate(words) if not word.startswith("-")), 0)
        if "--json" in words[:place]:  # move the option behind the name of its command
            words = [*(word for word in words[:place] if word != "--json"), words[place], "--json", *words[place + 1 :]]
        others["standalone_mode"] = False
        try:
            code = super().main(words, prog_name or "separatrix", **others)
        except (CommandError, UsageError) as error:
            failure = error if isinstance(error, CommandError) else _usage(error, words)
            code = failure.code
            if debug and failure.trace:
                sys.stderr.write(failure.trace)
            if failure.kind == "closed":
                # The reader closed the pipe; without this line, Python reports an error when it flushes at exit.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            elif as_json:
                sys.stdout.write(json.dumps(failure.document(), indent=2, ensure_ascii=False) + "\n")
            else:
                Printer(to_stderr=True).text(Text.assemble(("Error: ", "bold red"), str(failure)))
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; all exceptions except those of typer become a `CommandError`.

        SIGTERM is handled like Ctrl-C, so that temporary files are removed.
        """

        def stop(signum: int, frame: Any) -> None:
            raise KeyboardInterrupt

        written.clear()
        is_main = threading.current_thread() is threading.main_thread()  # only the main thread may set signal handlers
        before = signal.signal(signal.SIGTERM, stop) if is_main else None
        try:
            return super().invoke(ctx)
        except (UsageError, typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise failure_of(error) from error
        finally:
            if is_main:
                signal.signal(signal.SIGTERM, before)


def _usage(error: Any, words: Sequence[str]) -> CommandError:
    """Usage error with the option that was probably meant, and the help command."""
    near = getattr(error, "possibilities", None)  # for an unknown option, the most similar first
    message = error.message if near else str(error.format_message()).strip().replace("Value error, ", "")
    command = None if error.ctx is None else error.ctx.command
    options = [name for option in getattr(command, "params", ()) for name in option.opts]
    one_dash = [f"-{word}" for word in words if len(word) > 2 and word[1] != "-" and f"-{word}" in options]
    stop = "" if message[-1:] in ".?" else "."
    meant = near[0] if near else f"{one_dash[0]}, with two dashes" if one_dash else ""
    hint = f" Did you mean {meant}?" if meant else ""
    where = error.ctx.command_path if error.ctx is not None else "separatrix"
    return CommandError("usage", f"{message}{stop}{hint} See {where} --help.")


app = typer.Typer(
    name="separatrix",
    cls=Commands,
    help="Linear classification with calibrated probabilities and intervals.",
    epilog=EPILOG,
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
    """Show the version or the help if no command is given."""
    if version:
        from separatrix import __version__

        printer = Printer(as_json=as_json)
        printer.text(f"separatrix {__version__}")
        printer.document({"version": __version__})
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for name in ("fit", "compare", "predict", "explain", "report", "plot", "export", "datasets", "demo"):
    function, epilog = COMMANDS[name]
    # Join the lines of each paragraph, because typer keeps line breaks whatever the width of the terminal.
    help_text = "\n\n".join(" ".join(part.split()) for part in str(function.__doc__).split("\n\n"))
    app.command(help=help_text, epilog=epilog)(function)
