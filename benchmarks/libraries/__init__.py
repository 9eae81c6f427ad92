# SPDX-License-Identifier: BSD-3-Clause
"""One adapter per library, one module per adapter.

A module has ``ENTRIES``: a `Library` for each line of a table, the library itself and, where it has several ways to
do a task, one for each, named "library way". An entry leads from the name of a task to a function of the data that
gets everything ready and returns the `Job` to be timed. A task that the library has no means for is left out, or
answers None for the data that it cannot take.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from benchmarks.objectives import Answer
from benchmarks.problems import Data

__all__ = ["LIBRARIES", "Job", "Library", "import_job", "load"]

LIBRARIES = ("separatrix", "sklearn", "glum", "skglm", "statsmodels", "numpy", "zeros")
OPTIONAL = frozenset({"glum", "skglm", "statsmodels"})  # measured where installed
_MODULES = {name: name if name == "zeros" else f"{name}_" for name in LIBRARIES}


@dataclass(frozen=True)
class Job:
    """``run`` is timed; ``read`` then takes the answer from what it returned, untimed."""

    run: Callable[[], Any]
    read: Callable[[Any], Answer | None]


Prepare = Callable[[Data], Job | None]


@dataclass(frozen=True)
class Library:
    """One line of a table: a library, or one way to use it."""

    name: str
    version: str
    tasks: Mapping[str, Prepare]


def load(names: Sequence[str] | None = None) -> list[Library]:
    """The entries of these libraries; without names, of all but the optional ones that are not installed."""
    if names is None:
        names = [name for name in LIBRARIES if name not in OPTIONAL or _is_installed(name)]
    return [entry for name in names for entry in _entries(name)]


def _is_installed(name: str) -> bool:
    """Whether a library is there; said aloud if it is not, because a table without it looks complete."""
    if find_spec(name) is not None:
        return True
    print(f"{name} is not installed and is left out; pip install -e '.[bench]' brings it.", file=sys.stderr)
    return False


def _entries(name: str) -> Sequence[Library]:
    try:
        module = importlib.import_module(f"benchmarks.libraries.{_MODULES[name]}")
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"The benchmark of {name} needs the module {missing.name!r}, which this Python does not have. "
            f"Install it with: pip install -e '.[bench]', or measure others: --libraries "
            f"{' '.join(other for other in LIBRARIES if other != name)}"
        ) from missing
    return module.ENTRIES  # type: ignore[no-any-return]  # a module found by its name has no types


def import_job(statement: str) -> Prepare:
    """A fresh interpreter that runs one import statement: what a user waits for at the prompt."""

    def prepare(data: Data) -> Job:
        return Job(lambda: subprocess.run([sys.executable, "-c", statement], check=True), lambda _: None)

    return prepare
