# SPDX-License-Identifier: BSD-3-Clause
"""The ``separatrix`` command: from a file to a decision. Needs ``pip install separatrix[app]``.

Verbs are in files of their names; near ones share one (`compare` is in `fit`, `export` in `plot`, `demo` in
`datasets`). What they have in common is in a few more: `options` (what is typed), `files` (to read and to write),
`console` (what is said, and where), `render` and `document` (results as text and as JSON), `errors` (what goes wrong).
Nothing here imports NumPy before a verb has work to do, so that ``separatrix --help`` is immediate.
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
    from separatrix.cli.app import command

    command()
