# SPDX-License-Identifier: BSD-3-Clause
"""Optional libraries that are imported when one of their names is first used, so that `import separatrix` is fast."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class LazyModule(ModuleType):
    """A module that is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # doctest and inspect look for such names in every object
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    import torch
else:
    duckdb, torch = LazyModule("duckdb"), LazyModule("torch")
    pa, pc, pq = LazyModule("pyarrow"), LazyModule("pyarrow.compute"), LazyModule("pyarrow.parquet")
