# SPDX-License-Identifier: BSD-3-Clause
"""One adapter per library, one module per adapter.

A module has ``NAME``, ``VERSION`` and ``TASKS``: from the name of a task to a function of the data that gets
everything ready and returns the `Job` to be timed. A task that the library has no means for is left out, or
answers None for the data that it cannot take.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.objectives import Answer
from benchmarks.problems import Data

__all__ = ["LIBRARIES", "Job", "Library", "import_job", "load"]

LIBRARIES = ("separatrix", "sklearn", "numpy", "zeros")
_MODULES = {"separatrix": "separatrix_", "sklearn": "sklearn_", "numpy": "numpy_", "zeros": "zeros"}


@dataclass(frozen=True)
class Job:
    """``run`` is timed; ``read`` then takes the answer from what it returned, untimed."""

    run: Callable[[], Any]
    read: Callable[[Any], Answer | None]


Prepare = Callable[[Data], Job | None]


@dataclass(frozen=True)
class Library:
    """An adapter, loaded."""

    name: str
    version: str
    tasks: Mapping[str, Prepare]


def load(names: Sequence[str]) -> list[Library]:
    """Import the adapters of these libraries; the error for one that is missing says how to go on."""
    return [_load(name) for name in names]


def _load(name: str) -> Library:
    try:
        module = importlib.import_module(f"benchmarks.libraries.{_MODULES[name]}")
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"The benchmark of {name} needs the module {missing.name!r}, which this Python does not have. "
            f"Install it with: pip install -e '.[bench]', or measure others: --libraries "
            f"{' '.join(other for other in LIBRARIES if other != name)}"
        ) from missing
    return Library(module.NAME, module.VERSION, module.TASKS)


def import_job(statement: str) -> Prepare:
    """A fresh interpreter that runs one import statement: what a user waits for at the prompt."""

    def prepare(data: Data) -> Job:
        return Job(lambda: subprocess.run([sys.executable, "-c", statement], check=True), lambda _: None)

    return prepare
