# SPDX-License-Identifier: BSD-3-Clause
"""The verbs under one name. Whatever ends one, the user gets a paragraph and an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from separatrix.cli import datasets, explain, fit, plot, predict, report
from separatrix.cli.console import Voice, put, stderr
from separatrix.cli.errors import CommandError, UsageError, failure_of, forget_written
from separatrix.cli.options import Json

__all__ = ["Verbs", "app", "command"]

CODES = (
    "[bold]Exit codes[/bold]  0 done, 1 unexpected error, 2 wrong usage, 3 bad data or file, 4 output exists or cannot "
    "be written, 130 stopped with Ctrl-C."
)
START = (
    "[bold]Start with[/bold]  separatrix demo, or separatrix fit DATA --target COL; separatrix VERB --help has "
    "examples. --debug anywhere shows where an error comes from."
)


class Verbs(TyperGroup):
    """Typer's group with this project's errors. ``--debug`` may stand anywhere before a bare ``--``."""

    def main(  # type: ignore[override]  # what is only handed on is not listed
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **others: Any
    ) -> Any:
        """Run a command line, and exit."""
        words = list(sys.argv[1:] if args is None else args)
        options = words[: words.index("--")] if "--" in words else words
        debug, as_json = "--debug" in options, "--json" in options
        words = _json_after_the_verb([word for word in options if word != "--debug"]) + words[len(options) :]
        others["standalone_mode"] = False
        try:
            code = super().main(words, prog_name or "separatrix", **others)
        except CommandError as failure:
            code = _show(failure, as_json=as_json, debug=debug)
        except UsageError as error:
            code = _show(_usage(error, words), as_json=as_json, debug=debug)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; anything that ends it becomes a `CommandError`, but for typer's own ways to end."""
        forget_written()
        try:
            with _unwound_when_terminated():
                return super().invoke(ctx)
        except (UsageError, typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise failure_of(error) from error


def _json_after_the_verb(words: list[str]) -> list[str]:
    """``--json`` may stand before the verb too, which is the one that knows it."""
    verb = next((i for i, word in enumerate(words) if not word.startswith("-")), None)
    if verb is None or "--json" not in words[:verb]:
        return words
    before = [word for word in words[:verb] if word != "--json"]
    return [*before, words[verb], "--json", *words[verb + 1 :]]


def _usage(error: Any, words: Sequence[str]) -> CommandError:
    """The message, the option that was probably meant, and where help is."""
    near = getattr(error, "possibilities", None)  # of an option that is not known
    message = error.message if near else str(error.format_message()).strip().replace("Value error, ", "")
    message += f". Did you mean {' or '.join(sorted(near))}?" if near else ""
    command = None if error.ctx is None else error.ctx.command
    options = [name for option in getattr(command, "params", ()) for name in option.opts]
    meant = [f"-{word}" for word in words if len(word) > 2 and word[1] != "-" and f"-{word}" in options]
    stop = "" if message[-1:] in ".?" else "."
    hint = f" Did you mean {meant[0]}, with two dashes?" if meant and not near else ""
    where = error.ctx.command_path if error.ctx is not None else "separatrix"
    return CommandError("usage", f"{message}{stop}{hint} See {where} --help.")


def _show(failure: CommandError, *, as_json: bool, debug: bool) -> int:
    """One paragraph on standard error, or a document on standard output; the trace where it is asked for."""
    from rich.text import Text

    if failure.kind == "closed":
        # The reader of a pipe has gone, and Python must not complain about it when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return failure.code
    if debug and failure.trace:
        sys.stderr.write(failure.trace)
    if as_json:
        sys.stdout.write(json.dumps(failure.document(), indent=2, ensure_ascii=False) + "\n")
    else:
        put(stderr(), Text.assemble(("Error: ", "bold red"), str(failure)))
    return failure.code


@contextmanager
def _unwound_when_terminated() -> Iterator[None]:
    """A request to terminate ends the work as Ctrl-C does, so that temporary files are removed."""

    def stop(signum: int, frame: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield  # where signals cannot be received, nor asked for
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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


for module in (fit, predict, explain, report, plot, datasets):
    for verb, shown in module.VERBS:
        app.command(help=_paragraphs(verb), epilog=shown)(verb)


def command() -> Any:
    """Run the command line of this process."""
    return typer.main.get_command(app)()
