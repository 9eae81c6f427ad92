# SPDX-License-Identifier: BSD-3-Clause
"""The ``separatrix`` command. Needs ``pip install separatrix[app]``.

Commands: fit.py (fit, compare, report), predict.py, explain.py (explain, plot, export), effects.py, datasets.py
(datasets, demo). Shared: app.py (the typer application), options.py (options), files.py (input and output files),
console.py (printing and progress), output.py (results as tables and as JSON), errors.py (exit codes and messages),
limits.py (limits of memory). NumPy is imported only when a command needs it, so that ``separatrix --help`` is
immediate.
"""

from __future__ import annotations

import os
import sys
import threading
from _thread import interrupt_main

__all__ = ["main"]

LAST_STREAM = 2  # standard input, output and error are 0, 1 and 2


def main() -> None:
    """Run the command with the arguments of this process, and exit with a code of `errors`."""
    sys.unraisablehook = _repeat_interrupt
    _occupy_closed_streams()
    try:
        import rich
        import typer

        from separatrix.cli.app import app

        app()
    except ModuleNotFoundError as missing:
        print(f"The separatrix command needs {missing.name}: pip install 'separatrix[app]'", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:  # before the command has started, or again while it ends
        print("Error: Stopped.", file=sys.stderr)
        sys.exit(130)


def _occupy_closed_streams() -> None:
    """Open the null device for standard streams that are closed; otherwise the next file would get their number."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= LAST_STREAM:
        pass
    os.close(handle)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # type: ignore[unreachable]  # the types do not know closed streams


def _repeat_interrupt(ignored: sys.UnraisableHookArgs) -> None:
    """Raise a Ctrl-C again that Python has ignored, because it arrived in a callback of an import."""
    if ignored.exc_type is KeyboardInterrupt:
        threading.Timer(0.01, interrupt_main).start()
    else:
        sys.__unraisablehook__(ignored)
