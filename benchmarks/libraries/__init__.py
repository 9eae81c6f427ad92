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

__all__ = ["LIBRARIES", "OPTIONAL", "AbsentError", "Job", "Library", "import_job", "load"]

LIBRARIES = ("separatrix", "sklearn", "glum", "skglm", "statsmodels", "numpy", "zeros")
# Measured if installed; otherwise these tasks get a note instead of a time.
OPTIONAL = {
    "glum": ("logistic", "flat_logistic"),
    "skglm": ("lasso",),
    "statsmodels": ("flat_logistic", "probit"),
}
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


class AbsentError(Exception):
    """A library is not installed."""


def load(names: Sequence[str] | None = None) -> list[Library]:
    """Entries of these libraries; by default of all. The tasks of an optional library that is absent raise an error."""
    return [entry for name in names or LIBRARIES for entry in _entries(name)]


def _entries(name: str) -> Sequence[Library]:
    if name in OPTIONAL and find_spec(name) is None:
        return [Library(name, "", dict.fromkeys(OPTIONAL[name], _absent))]
    module = importlib.import_module(f"benchmarks.libraries.{_MODULES[name]}")
    return module.ENTRIES  # type: ignore[no-any-return]  # a module found by its name has no types


def _absent(data: Data) -> Job:
    raise AbsentError


def import_job(statement: str) -> Prepare:
    """A fresh interpreter that runs one import statement: what a user waits for at the prompt."""

    def prepare(data: Data) -> Job:
        return Job(lambda: subprocess.run([sys.executable, "-c", statement], check=True), lambda _: None)

    return prepare
