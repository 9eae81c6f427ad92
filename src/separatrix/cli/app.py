# SPDX-License-Identifier: BSD-3-Clause
"""The typer application. Every error becomes one paragraph and an exit code; tracebacks are shown with ``--debug``."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from separatrix._text import first_few
from separatrix.cli import datasets, effects, explain, fit, predict  # noqa: F401  # importing a module registers its commands
from separatrix.cli.console import Printer, accept_any_text, discard, stream_errors, write
from separatrix.cli.errors import STANDARD, CommandError, UsageError, failure_of, written
from separatrix.cli.files import open_input
from separatrix.cli.layout import visible
from separatrix.cli.limits import require_address_space
from separatrix.cli.options import COMMANDS, Json

MAX_LISTED_COLUMNS = 20  # number of columns listed in the error of a missing target
EPILOG = (
    "[bold]Start with[/bold]  separatrix demo, or separatrix fit DATA --target COL. separatrix COMMAND --help shows "
    "examples; --debug shows the traceback of an error."
    "\n\n"
    "[bold]Exit codes[/bold]  0 success, 1 unexpected error, 2 wrong usage, 3 bad data or file, 4 output exists or "
    "cannot be written, 130 interrupted."
)


class ReadableHelp:
    """Help that shows neither the type of flags and arguments, nor braces around required arguments."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Parameters with the help option."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "argument" or param.is_flag:
                param.display_type_rich = lambda ctx: None  # <str> or <bool>; versions before 0.27 show none
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Words of the line that starts with "Usage"."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        try:
            with stream_errors():
                super().format_help(ctx, formatter)  # type: ignore[misc]
        except SystemExit as closed:  # rich exits with code 1 if a pipe is closed
            raise failure_of(BrokenPipeError()) from closed


class Command(ReadableHelp, TyperCommand):
    """Command with readable help, which is refused if the libraries would hang."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        require_address_space()
        return super().invoke(ctx)


class Commands(ReadableHelp, TyperGroup):
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
        accept_any_text()
        try:
            with stream_errors():
                code = super().main(words, prog_name or "separatrix", **others)
                sys.stdout.flush()  # Python ignores errors that occur when it flushes at exit
        except (Exception, KeyboardInterrupt) as error:
            failure = _usage(error, words) if isinstance(error, UsageError) else failure_of(error)
            code = failure.code
            _report(failure, as_json=as_json, debug=debug)
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


def _report(failure: CommandError, *, as_json: bool, debug: bool) -> None:
    """Print an error, as a document if standard output still works."""
    if debug and failure.trace:
        write(visible(failure.trace, keep="\n"), to_stderr=True)
    try:
        Printer(as_json=as_json).document(failure.document())
        with stream_errors():
            sys.stdout.flush()
    except (CommandError, BrokenPipeError):
        as_json = False
        if sys.stdout is not None:
            discard(sys.stdout)
    if not as_json and failure.kind != "closed":
        Printer(to_stderr=True).error(str(failure))


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
    return CommandError("usage", f"{message}{stop}{hint}{_columns_to_choose(error)} See {where} --help.")


def _columns_to_choose(error: Any) -> str:
    """Columns of the table, if the target is missing."""
    data = "" if error.ctx is None else error.ctx.params.get("data", "")
    if getattr(getattr(error, "param", None), "name", "") != "target" or not data or data == STANDARD:
        return ""
    try:
        columns = open_input(data, {}).columns
    except Exception:  # this table cannot be read; the next attempt, with a target, reports why
        return ""
    return f" The columns of {data} are {first_few(list(map(repr, columns)), MAX_LISTED_COLUMNS)}."


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


for name in ("fit", "compare", "predict", "explain", "effects", "report", "plot", "export", "datasets", "demo"):
    function, epilog = COMMANDS[name]
    # Join the lines of each paragraph, because typer keeps line breaks whatever the width of the terminal.
    help_text = "\n\n".join(" ".join(part.split()) for part in str(function.__doc__).split("\n\n"))
    app.command(cls=Command, help=help_text, epilog=epilog)(function)
