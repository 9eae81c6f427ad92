# SPDX-License-Identifier: BSD-3-Clause
"""The group of verbs: whatever ends one, the user gets a paragraph and an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from separatrix.cli.console import stderr
from separatrix.cli.errors import CommandError, UsageError, failure_of

__all__ = ["Verbs"]


class Verbs(TyperGroup):
    """Typer's group with this project's errors. ``--debug`` may stand anywhere before a bare ``--``."""

    def main(  # type: ignore[override]  # what is only handed on is not listed
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **others: Any
    ) -> Any:
        """Run a command line, and exit."""
        words = list(sys.argv[1:] if args is None else args)
        options = words[: words.index("--")] if "--" in words else words
        debug, as_json = "--debug" in options, "--json" in options
        words = [word for word in options if word != "--debug"] + words[len(options) :]
        others["standalone_mode"] = False
        try:
            code = super().main(words, prog_name or "separatrix", **others)
        except CommandError as failure:
            code = _show(failure, as_json=as_json, debug=debug)
        except UsageError as error:
            code = _show(_usage(error), as_json=as_json, debug=debug)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; anything that ends it becomes a `CommandError`, but for typer's own ways to end."""
        try:
            with _unwound_when_terminated():
                return super().invoke(ctx)
        except (UsageError, typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise failure_of(error) from error


def _usage(error: Any) -> CommandError:
    """The message, and where help is."""
    near = getattr(error, "possibilities", None)  # of an option that is not known
    message = error.message if near else str(error.format_message()).strip().replace("Value error, ", "")
    message += f". Did you mean {' or '.join(sorted(near))}?" if near else ""
    where = error.ctx.command_path if error.ctx is not None else "separatrix"
    stop = "" if message[-1:] in ".?" else "."
    return CommandError("usage", f"{message}{stop} See {where} --help.")


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
        stderr().print(Text.assemble(("Error: ", "bold red"), str(failure)))
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
