# SPDX-License-Identifier: BSD-3-Clause
"""The ``separatrix`` command. Needs ``pip install separatrix[app]``.

Commands: fit.py (fit, compare, report), predict.py, explain.py (explain, plot, export), datasets.py (datasets, demo).
Shared: app.py (the typer application), options.py (options), files.py (input and output files), console.py (printing
and progress), output.py (results as tables and as JSON), errors.py (exit codes and messages). NumPy is imported only
when a command needs it, so that ``separatrix --help`` is immediate.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of this process, and exit with a code of `errors`."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as missing:
        print(f"The separatrix command needs {missing.name}: pip install 'separatrix[app]'", file=sys.stderr)
        sys.exit(1)
    from separatrix.cli.app import app

    app()
